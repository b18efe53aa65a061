from __future__ import annotations

import pytest

from tests.support.chatting import script
from tests.support.running import Run

LONG = "I went along the river and then home again, and it was a fine day, as far as days go." * 2


def test_the_rule_and_how_sure_it_is_are_told(run: Run) -> None:
    said = run.ok("route", "Why", "do", "people", "dream?").out
    assert said == "reflex, by the rule short_question (confidence 0.60)\n"
    data = run.ok("route", "hello", "--json").data
    assert data == {"profile": "reflex", "rule": "greeting", "confidence": 0.95}


def test_in_doubt_it_is_thought_about_and_a_setting_of_earlier_is_said_to_be_gone(run: Run) -> None:
    script(run, {"purpose": "route", "text": "CHAT", "always": True})
    run.environ["BUMBLE_COGNITION_ROUTER_CLASSIFIER"] = "true"
    ran = run.ok("route", LONG, "--json")
    assert (ran.data["profile"], ran.data["rule"]) == ("deliberate", "doubt")
    assert "BUMBLE_COGNITION_ROUTER_CLASSIFIER: it is no setting any more: in doubt" in ran.err


@pytest.mark.parametrize(("words", "stdin"), [([""], ""), (["  "], ""), (["-"], "\n")])
def test_an_empty_message_is_refused(run: Run, words: list[str], stdin: str) -> None:
    ran = run("route", *words, stdin=stdin)
    assert ran.code == 2
    assert "the text is empty" in ran.err
    assert run("route").code == 2
