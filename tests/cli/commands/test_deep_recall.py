from __future__ import annotations

import pytest

from tests.support import looking
from tests.support.running import Run


@pytest.fixture
def ada(run: Run) -> Run:
    """Ada, who was told of bees in one conversation and of toads in another; no model."""
    looking.without_models(run)
    looking.session(run, "one", ("sam", "My bees live on the roof."), ("", "High up!"))
    looking.session(run, "two", ("sam", "Three toads live in the cellar."), ("", "Oh!"), day=21)
    looking.session(run, "kim", ("kim", "My ferrets live in the attic."), by="kim")
    return run


def open_questions(run: Run) -> list[str]:
    return [path for path in run.state() if path.startswith("questions/")]


QUESTION = "Which animals live on the roof and in the cellar?"


def test_both_places_are_quoted_with_where_they_stand(ada: Run) -> None:
    out = ada.ok("deep-recall", QUESTION, "--budget-calls", "0").out
    assert "word for word" in out
    assert "Sam, 2026-05-20, msg_one0: “My bees live on the roof.”" in out
    assert "sessions/ses_two/messages.jsonl:2" in out
    assert "ferrets" not in out


def test_a_miss_is_kept_as_a_question_until_something_answers_it(ada: Run) -> None:
    question = "Where did grandmother learn Portuguese?"
    missed = ada.ok("deep-recall", question, "--budget-calls", "0", "--dry-run", "--json")
    assert (missed.data["found"], open_questions(ada)) == (False, [])
    ada.ok("deep-recall", question, "--budget-calls", "0")
    ada.ok("deep-recall", question, "--budget-calls", "0")
    (kept,) = open_questions(ada)
    assert question in ada.text(kept)
    assert "audience: [sam]" in ada.text(kept)
    looking.session(ada, "new", ("sam", "Grandmother did learn Portuguese in Porto."), day=22)
    found = ada.ok("deep-recall", question, "--budget-calls", "0")
    assert "Porto" in found.out
    assert open_questions(ada) == []


def test_what_it_spent_and_might_is_shown(ada: Run) -> None:
    ran = ada.ok("deep-recall", QUESTION, "--budget-calls", "0", "--explain")
    for line in ("steps    0 of 15", "of 30 in one step", "of 60,000"):
        assert line in ran.out
