from __future__ import annotations

import pytest

from bumble.records import checks
from bumble.records.base import Provenance


def test_a_list_is_met_by_any_and_both_can_be_named() -> None:
    check = checks.CHECK.parse("ask: Which?\nexpect: [nine, 9]\n", "x")
    both = checks.CHECK.parse("ask: Which?\nexpect: {all: [Rex, dog], any: nine}\n", "x")

    assert check.is_met("He is 9.")
    assert check.is_met("NINE!")
    assert not check.is_met("He is 19.")
    assert both.is_met("Rex is a dog of nine years")
    assert not both.is_met("Rex is nine")
    assert not both.is_met("Rex is a dog")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("expect: [a]\n", "`ask` is missing"),
        ("ask: ' '\nexpect: [a]\n", "`ask` should be a question"),
        ("ask: a\n", "`expect` is missing"),
        ("ask: a\nexpect: {some: [a]}\n", "`any` and `all`, not `some`"),
        ("ask: a\nexpect: [[a]]\n", "`expect` should be texts"),
        ("ask: a\nexpect: ['']\n", "`expect` should be texts"),
        ("ask: a\nexpect: a\nof: mind\n", "`of` should be of recall, prompt, answer, not `mind`"),
        ("ask: a\nexpect: a\nk: 0\n", "`k` should be 1 or more"),
    ],
)
def test_what_checks_nothing_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        checks.CHECK.parse(text, "x")


def test_a_new_check_reads_back() -> None:
    origin = Provenance(by="eval draft", sources=("bel_1",), audience=("sam",))

    check = checks.new("tea", "What?", person="sam", never=("coffee",), provenance=origin)

    again = checks.CHECK.parse(check.source.text, "tea")
    assert (again.ask, again.person, again.never) == ("What?", "sam", ("coffee",))
    assert again.provenance == origin
