from __future__ import annotations

import pytest

from tests.support.chatting import act, script
from tests.support.postgres import free_port
from tests.support.running import Run


@pytest.fixture
def ada(run: Run) -> Run:
    script(run, act("say", text="Tell me more."))
    run.ok("config", "set", "cognition.gate.enabled", "false")
    run.ok("chat", "I play the violin in Porto.")
    return run


def in_the_way(run: Run) -> None:
    """Let a folder stand where the index belongs."""
    (run.entity.root / "memory.db").unlink(missing_ok=True)
    run.file("memory.db").mkdir()


def test_a_talk_goes_on_where_the_index_cannot_be_written(ada: Run) -> None:
    in_the_way(ada)
    ran = ada.ok("chat", "And the violin in Porto?")
    assert ran.out == "Tell me more.\n"
    assert ran.err.count("warning: ") == 1
    assert "warning: nothing was recalled: " in ran.err
    assert "memory.db: could not be written" in ran.err


def test_a_talk_goes_on_while_the_server_of_the_index_is_away(ada: Run) -> None:
    pytest.importorskip("psycopg")
    ada.environ["BUMBLE_INDEX_URL"] = f"postgresql://sam@127.0.0.1:{free_port()}/life"
    ran = ada.ok("chat", "And the violin in Porto?")
    assert ran.out == "Tell me more.\n"
    assert ran.err.count("warning: ") == 1
    assert "warning: nothing was recalled: " in ran.err
    assert "does not answer" in ran.err


def test_tools_that_search_say_that_they_can_not(ada: Run) -> None:
    in_the_way(ada)
    script(
        ada,
        act("recall", query="violin"),
        act("deep_recall", question="Where is the violin?"),
        act("say", text="I can't look it up now."),
    )
    ada.ok("chat", "/think Where do I play the violin?")
    session = next(ada.file("sessions").glob("*/messages.jsonl")).read_text()
    assert "Memory can't be searched now" in session
    assert "Nothing comes to mind" not in session
    assert not list(ada.file("questions").glob("*"))


def test_a_check_of_an_answer_says_that_memory_was_not_asked(ada: Run) -> None:
    in_the_way(ada)
    script(ada, act("say", text="In Porto."))
    ada.write("checks/violin.yaml", "ask: Where do I play?\nexpect: [Porto]\nof: [answer]\n")
    assert "violin: nothing was recalled: " in ada("eval", "--of", "answer").err
