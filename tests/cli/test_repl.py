from __future__ import annotations

import json

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from bumble.cli.commands import chat
from bumble.cli.talk import repl
from tests.support import chatting
from tests.support.chatting import act, script
from tests.support.running import Ran, Run

PLAIN = "I had soup for lunch today."


@pytest.fixture
def ada(run: Run) -> Run:
    script(run, act("say", text="Hello Sam."), act("say", text="Yes."), act("say", text="Good."))
    run.ok("config", "set", "cognition.gate.enabled", "false")
    return run


def typed(run: Run, *lines: str, argv: tuple[str, ...] = ()) -> Ran:
    """Hold a conversation at the terminal."""
    with (
        create_pipe_input() as pipe,
        create_app_session(input=pipe, output=DummyOutput()),
    ):
        pipe.send_text("".join(f"{line}\r" for line in (*lines, "/quit")))
        ran = run("chat", *argv, terminal=True)
    assert ran.code == 0, ran.err
    return ran


def said(run: Run) -> list[str]:
    """What the person said, as it was stored."""
    talks = (
        run.ok("session", "show", "--all", "--json").data if run.file("sessions").is_dir() else None
    )
    messages = talks["messages"] if talks else []
    return [one["text"] for one in messages if one["role"] == "user"]


def calls(run: Run) -> list[dict[str, object]]:
    """What the ledger says of the requests of the conversation."""
    lines = run.entity.ledger.read_text().splitlines()
    return [one for line in lines if (one := json.loads(line))["purpose"] == "chat"]


def test_what_is_typed_is_answered_and_stored(ada: Run) -> None:
    assert "Ada> Hello Sam." in typed(ada, PLAIN).out
    assert said(ada) == [PLAIN]


@pytest.mark.parametrize("text", ["/frobnicate", "/tmp/plan is broken", "/", "/statusx now"])
def test_unknown_slash_text_is_reported_and_not_sent(ada: Run, text: str) -> None:
    ran = typed(ada, text)
    assert "nothing was sent." in ran.err
    assert ran.out == ""
    assert not list(ada.file("sessions").glob("*/messages.jsonl"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("/status", "bumble status"),
        ("/context", "bumble context list"),
        ("/compact", "bumble compact"),
        ("/model qwen3-4b", "bumble config set llm.model"),
        ("/context detail", "bumble context list"),
        ("/frobnicate now", "There is no command /frobnicate; nothing was sent."),
        ("/", "nothing was sent"),
        ("/think", "a directive alone needs a conversation"),
    ],
)
def test_slash_text_as_one_message_is_reported_and_not_sent(ada: Run, text: str, told: str) -> None:
    ran = ada("chat", text)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert not list(ada.file("sessions").glob("*/messages.jsonl"))


def test_every_command_of_a_conversation_has_a_counterpart_outside_of_it() -> None:
    assert set(chat.ELSEWHERE) == set(repl.COMMANDS)


def test_another_model_goes_on_with_the_conversation_until_it_ends(ada: Run) -> None:
    first = ada.environ["BUMBLE_LLM_MODEL"]
    script(ada, act("say", text="I am another."))
    other = ada.entity.root.parent / "other.jsonl"
    other.write_text((other.parent / "script.jsonl").read_text())
    script(ada, act("say", text="Hello Sam."))
    ran = typed(ada, PLAIN, f"/model script:{other}", PLAIN, "/model", "/model nonesuch-9b")
    assert "Ada> Hello Sam." in ran.out
    assert "Ada> I am another." in ran.out
    assert "Until you leave; to keep it: bumble config set llm.model script:" in ran.err
    assert "nonesuch-9b" in ran.err
    assert said(ada) == [PLAIN, PLAIN]
    assert [call["model"] for call in calls(ada)] == [first, f"script:{other}"]
    assert ada.ok("status", "--json").data["model"]["name"] == first


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("/context detail", "Token budget"),
        ("/usage tokens", "Each answer says what it cost from now on."),
        ("/think max", "/think is on until the next conversation."),
        ("/context everything", "/context takes detail or list. Nothing was sent."),
        ("/compact hard", "/compact stands alone. Nothing was sent."),
    ],
)
def test_a_command_takes_its_words_with_it(ada: Run, text: str, told: str) -> None:
    ran = typed(ada, PLAIN, text)
    assert told.casefold() in ran.err.casefold()
    assert said(ada) == [PLAIN]


def test_a_directive_inside_a_message_is_a_hint_for_it_alone_and_is_taken_out(ada: Run) -> None:
    typed(ada, "I had soup /think harder for lunch today.", PLAIN)
    assert said(ada) == [PLAIN, PLAIN]
    assert [one["max_tokens"] for one in calls(ada)] == [4096, 512]


def test_verbose_and_reasoning_show_what_went_on(ada: Run) -> None:
    script(
        ada,
        act("recall", query="soup"),
        act("say", text="Soup.") | {"reasoning": "He likes soup."},
        act("say", text="Yes."),
    )
    ran = typed(ada, "/verbose", "/reasoning on", PLAIN, "/verbose off", "/reasoning off", PLAIN)
    assert ran.err.count("[reflex, by the rule small_talk]") == 1
    assert '[recall {"query": "soup"}: ' in ran.err
    assert ran.err.count("[reasoning: He likes soup.]") == 1


def test_a_shortcut_inside_the_owners_message_is_carried_out_and_taken_out(ada: Run) -> None:
    ran = typed(ada, "Hello /status there, Ada.")
    assert "window 32768 tokens" in ran.err
    assert said(ada) == ["Hello there, Ada."]


def test_one_tool_round_then_an_answer_with_the_tools_still_declared(ada: Run) -> None:
    script(ada, act("recall", query="soup"), act("recall", query="lunch"), act("say", text="Soup."))
    data = ada.ok("chat", "--max-tool-rounds", "1", "--json", PLAIN).data
    assert [step["calls"] for step in data["steps"]] == [["recall"], ["recall"], []]
    shown = ada.ok("session", "show", "--json").data["messages"]
    results = [one["text"] for one in shown if one["role"] == "tool"]
    assert ["refused: no tool may be used any more" in one for one in results] == [False, True]
    system = ada.ok("context", "prompt", "--json").data["messages"][0]["content"]
    assert "- recall(query, register)" in system
    assert ada("chat", "--max-tool-rounds", "17", PLAIN).code == 2


def test_compact_shows_the_conversation_shorter(ada: Run) -> None:
    place = chatting.long_talk(ada)
    ada.ok("config", "set", "cognition.max_context_tokens", "4096")
    before = ada.text(place)
    ran = typed(ada, "/compact")
    assert "tokens of conversation became" in ran.err
    assert ada.text(place).startswith(before)
    assert '"type":"compaction"' in ada.text(place)[len(before) :].replace(" ", "")
    assert "Nothing was said yet." in typed(ada, "/new", "/compact").err


def test_status_model_usage_and_context_tell(ada: Run) -> None:
    ran = typed(ada, "/context", "/usage", PLAIN, "/status", "/model", "/usage", "/context", "/me")
    assert ran.err.count("Nothing has been sent yet.") == 2
    for told in ("conversation ses_", "window 32768 tokens", "before the message:", "Total sent:"):
        assert told in ran.err
    assert said(ada) == [PLAIN]
