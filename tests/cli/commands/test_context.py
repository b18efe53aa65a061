from __future__ import annotations

import json

import pytest

from bumble.chat import context_report
from bumble.cli.commands.context import SAMPLE
from bumble.cli.talk import conversation
from tests.support import chatting, looking
from tests.support.chatting import act, script
from tests.support.running import Run


@pytest.fixture
def ada(run: Run) -> Run:
    """Ada, who was talked to once."""
    script(run, act("say", text="Hello Sam."), act("say", text="Rain it is."))
    run.ok("chat", "I like the rain on the roof.")
    return run


def test_before_anything_was_sent_it_is_an_estimate(run: Run) -> None:
    before = looking.truths(run)
    data = run.ok("context", "list", "--json").data
    assert (data["version"], data["source"]) == (context_report.VERSION, "estimate")
    assert data["prompt_tokens"] is None
    assert data["history_messages"] == 0
    assert "nothing" not in run.ok("context", "list").out
    assert looking.truths(run) == before


def test_every_part_of_the_last_request_is_listed(ada: Run) -> None:
    ada.write("GENOME.md", "I like tea.")
    out = ada.ok("context", "list", "--estimate").out
    for told in (
        "Context breakdown",
        f"Workspace: {ada.entity.workspace}",
        "System prompt (estimate): ",
        "- GENOME.md: OK | raw 11 chars (~2 tok) | injected 11 chars (~2 tok)",
        "- PROTOCOLS.md: MISSING |",
        "Skills list: 0 chars",
        "Tools: say, think, ",
        "Allowed by the owner: deep_recall",
        "Answer schema (JSON): ",
        "Attached files, in that: 0 chars",
        "Wrapping by the backend: 0 bytes around texts and schema, ~",
        "Conversation: ",
        "Session tokens: ",
        "Total sent: ",
    ):
        assert told in out


def test_a_file_that_is_cut_says_so(ada: Run) -> None:
    ada.write("GENOME.md", "x" * 30_000)
    out = ada.ok("context", "list", "--estimate").out
    assert "- GENOME.md: TRUNCATED | raw 30,000 chars (~7,500 tok) | injected 20,000 chars" in out


def test_the_last_run_is_reported_until_something_else_is_asked_for(ada: Run) -> None:
    run = ada.ok("context", "json").data
    assert (run["source"], run["history_messages"]) == ("run", 0)
    assert run["prompt_tokens"]
    for words in (["--estimate"], ["-m", "Hi"], ["--as", "Kim"]):
        assert ada.ok("context", "json", *words).data["source"] == "estimate"
    assert ada.ok("context", "json", "--estimate").data["history_messages"] == 2
    assert ada.ok("context", "json", "--as", "Kim").data["history_messages"] == 0


def test_each_conversation_has_the_report_of_its_last_request(ada: Run) -> None:
    first = ada.ok("session", "list", "--json").data[0]["id"]
    ada.ok("chat", "--new-session", "And the sun?")
    assert ada.ok("context", "json").data["session"] != first
    for end in (first, first[-8:]):
        report = ada.ok("context", "json", "--session", end).data
        assert (report["session"], report["source"]) == (first, "run")
    guessed = ada.ok("context", "json", "--session", first, "--estimate").data
    assert (guessed["session"], guessed["history_messages"]) == (first, 2)
    prompt = ada.ok("context", "prompt", "--session", first, "-m", "Hm").out
    assert "I like the rain on the roof." in prompt
    assert "And the sun?" not in prompt
    assert ada("context", "json", "--session", "ses_nowhere").code == 1


def test_of_many_conversations_the_newest_reports_are_kept(
    ada: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "MOST_REPORTS", 2)
    script(ada, *(act("say", text=f"Yes {n}.") for n in range(5)))
    for n in range(4):
        ada.ok("chat", "--new-session", f"Number {n}?")
    assert len(list(ada.file(".bumble/cache/reports").iterdir())) == 2
    last = ada.ok("session", "list", "--json").data[0]["id"]
    assert ada.ok("context", "json", "--session", last).data["source"] == "run"


def test_what_is_estimated_is_what_the_next_turn_sends(ada: Run) -> None:
    text = "Why does rain feel like home?"
    now = "2026-05-24T13:00:00+01:00"
    guessed = ada.ok("context", "json", "-m", text, "--now", now).data
    ada.ok("chat", text, "--now", now)
    sent = ada.ok("context", "json").data
    assert sent["source"] == "run"
    counted = {"source", "at", "prompt_tokens", "cached_tokens", "total_tokens"}
    assert {k: v for k, v in guessed.items() if k not in counted} == {
        k: v for k, v in sent.items() if k not in counted
    }


def test_directives_and_files_of_a_message_count_as_they_do_in_a_chat(ada: Run) -> None:
    ada.write("plan.md", "Roof first, then the radio.")
    text = "/think on What comes after the roof, by @plan.md ?"
    now = "2026-05-24T13:00:00+01:00"
    guessed = ada.ok("context", "prompt", "--json", "-m", text, "--now", now).data["messages"]
    size = ada.ok("context", "json", "-m", text, "--now", now).data["total_bytes"]
    assert "Roof first, then the radio." in guessed[-1]["content"]
    assert "/think" not in guessed[-1]["content"]
    ada.ok("chat", text, "--now", now)
    sent = json.loads(ada.text(".bumble/cache/last_request.json"))
    assert [one["content"] for one in guessed] == [content for _, content in sent]
    assert ada.ok("context", "json").data["total_bytes"] == size
    assert ada("context", "json", "-m", "/think").code == 2


def test_detail_ranks_the_parts_and_shows_the_budget(ada: Run) -> None:
    for n in range(33):
        ada.write(f"skills/way-{n:02}.md", f"---\ndescription: {'w' * (n + 1)}\n---\n\nGo.\n")
    out = ada.ok("context", "detail", "--estimate").out
    top = out.split("Top skills (prompt entry size):\n")[1].split("\n\n")[0].splitlines()
    assert top[0].startswith("- way-32: ")
    assert top[-1] == "... (+3 more)"
    assert len(top) == 31
    for told in ("Top tools (schema size):", "Before the message, by block:", "Token budget:"):
        assert told in out
    for row in ("Base overhead", "Conversation per turn (typical)", "A tool's result (typical)"):
        assert f"- {row} " in out


def test_what_the_owner_allows_is_told(ada: Run) -> None:
    ada.ok("config", "set", "tools.files", "true")
    out = ada.ok("context", "list", "--estimate").out
    assert "list_files, read_file, write_file" in out
    ada.write("plan.md", "Roof first.")
    listed = ada.ok("context", "list", "-m", "See @plan.md").out
    assert "Attached files, in that: 0 chars" not in listed
    assert "Attached files, in that: " in listed


def test_detail_says_whether_the_last_conversations_brief_is_in_the_prompt(run: Run) -> None:
    script(run)
    assert "Brief of the last conversation: none\n" in run.ok("context", "detail").out
    chatting.talk(run, [("sam", "The radio is torn."), ("ada", "Oh.")], "ses_1")
    brief = "---\nat: 2026-05-24T10:00:00+01:00\nby: handover\n---\n\n## Open\nThe radio.\n"
    run.write("sessions/ses_1/handover.md", brief)
    chatting.talk(run, [("sam", "Hello")], "ses_2")
    later = run.file("sessions/ses_2/messages.jsonl")
    later.write_text(later.read_text().replace("T10:", "T11:"))
    out = run.ok("context", "detail", "-m", "And the radio?").out
    unknown = "ses_1, likeness unknown without an embedding model: in the prompt"
    assert f"Brief of the last conversation: {unknown}\n" in out
    found = run.ok("context", "json").data["handover"]
    assert (found["session"], found["likeness"], found["fits"]) == ("ses_1", None, True)


def test_the_prompt_is_printed_word_for_word(ada: Run) -> None:
    out = ada.ok("context", "prompt", "-m", "Do you like tea?").out
    assert out.startswith("--- system ---\n")
    assert "Sam: I like the rain on the roof." in out
    assert "Do you like tea?" in out.split("--- user ---")[-1]
    data = ada.ok("context", "prompt", "--json").data
    assert data["messages"][-1]["content"].endswith(SAMPLE)
    assert data["schema"]


def test_a_conversation_that_will_be_compacted_is_announced(run: Run) -> None:
    chatting.long_talk(run)
    run.ok("config", "set", "cognition.max_context_tokens", "4096")
    script(run)
    assert "The next message compacts the conversation first" in run.ok("context", "list").out


def test_a_stored_report_of_another_version_is_made_anew(ada: Run) -> None:
    ada.write(".bumble/cache/last_report.json", '{"version": 0}')
    assert ada.ok("context", "json").data["source"] == "estimate"


@pytest.mark.parametrize("text", ["", "{", "[]"])
def test_a_stored_report_that_is_damaged_is_made_anew(ada: Run, text: str) -> None:
    ada.write(".bumble/cache/last_report.json", text)
    ada.write(".bumble/cache/last_request.json", text)
    assert ada.ok("context", "json").data["source"] == "estimate"


def test_looking_changes_no_truth_file(ada: Run) -> None:
    before = looking.truths(ada)
    for words in (["list", "-m", "Hi"], ["detail"], ["json"], ["prompt"]):
        ada.ok("context", *words)
    assert looking.truths(ada) == before


def test_a_name_that_is_no_name_is_refused(ada: Run) -> None:
    assert ada("context", "list", "--as", "").code == 2


def test_scratch_notes_are_counted(ada: Run) -> None:
    assert "Scratch notes" not in ada.ok("context", "list", "--estimate").out
    ada.write("working/scratch.md", "- one\n- two\n")
    told = "Scratch notes: 2 in working/scratch.md"
    assert told in ada.ok("context", "list", "--estimate").out


def test_where_it_lives_and_how_it_stands_in_numbers_is_in_the_prompt(run: Run) -> None:
    run.write("script.yaml", "- text: Fine.\n  always: true\n")
    run.ok("config", "set", "llm.model", f"script:{run.file('script.yaml')}")
    run.ok("config", "set", "memory.relational.enabled", "false")
    run.ok("chat", "I went to the sea today, and it was cold.")
    system, *_, last = run.ok("context", "prompt", "--json").data["messages"]
    home = run.entity.root.name
    assert f"your memory is the files of a folder, {home}/." in system["content"]
    assert "- how you stand: forming, familiarity 2%, warmth 50%, trust 50%" in last["content"]
