from __future__ import annotations

import pytest

from bumble.cli.commands.context import SAMPLE
from tests.support import chatting
from tests.support.chatting import act, script
from tests.support.running import Run


@pytest.fixture
def ada(run: Run) -> Run:
    """Ada, who was talked to once."""
    script(run, act("say", text="Hello Sam."), act("say", text="Rain it is."))
    run.ok("chat", "I like the rain on the roof.")
    return run


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


def test_the_last_run_is_reported_until_something_else_is_asked_for(ada: Run) -> None:
    run = ada.ok("context", "json").data
    assert (run["source"], run["history_messages"]) == ("run", 0)
    assert run["prompt_tokens"]
    for words in (["--estimate"], ["-m", "Hi"], ["--as", "Kim"]):
        assert ada.ok("context", "json", *words).data["source"] == "estimate"
    assert ada.ok("context", "json", "--estimate").data["history_messages"] == 2
    assert ada.ok("context", "json", "--as", "Kim").data["history_messages"] == 0


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


def test_the_prompt_is_printed_word_for_word(ada: Run) -> None:
    out = ada.ok("context", "prompt", "-m", "Do you like tea?").out
    assert out.startswith("--- system ---\n")
    assert "Sam: I like the rain on the roof." in out
    assert "Do you like tea?" in out.split("--- user ---")[-1]
    data = ada.ok("context", "prompt", "--json").data
    assert data["messages"][-1]["content"].endswith(SAMPLE)
    assert data["schema"]


@pytest.mark.parametrize("text", ["", "{", "[]"])
def test_a_stored_report_that_is_damaged_is_made_anew(ada: Run, text: str) -> None:
    ada.write(".bumble/cache/last_report.json", text)
    ada.write(".bumble/cache/last_request.json", text)
    assert ada.ok("context", "json").data["source"] == "estimate"


def test_where_it_lives_and_how_it_stands_in_numbers_is_in_the_prompt(run: Run) -> None:
    run.write("script.yaml", "- text: Fine.\n  always: true\n")
    run.ok("config", "set", "llm.model", f"script:{run.file('script.yaml')}")
    run.ok("config", "set", "memory.relational.enabled", "false")
    run.ok("chat", "I went to the sea today, and it was cold.")
    system, *_, last = run.ok("context", "prompt", "--json").data["messages"]
    home = run.entity.root.name
    assert f"your memory is the files of a folder, {home}/." in system["content"]
    assert "- how you stand: forming, familiarity 2%, warmth 50%, trust 50%" in last["content"]


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
