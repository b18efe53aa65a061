from __future__ import annotations

import pytest

from tests.support.running import Run

DIARY = """Things I wrote down.

## 2026-05-01 09:00:00 #dream #sea

The tide came in twice.

## 2026-05-03 21:30:00

Sam asked about the kettle.

## 2026-05-02 08:00:00 #Sea

A gull stole the bread.
"""


@pytest.fixture
def diary(run: Run) -> Run:
    run.write("journal.md", DIARY)
    return run


def test_an_entry_is_added_at_the_end_and_nothing_else_moves(diary: Run) -> None:
    diary.ok("journal", "add", "--tag", "rain", "-t", "#night", "It poured.")
    assert diary.text("journal.md") == (
        DIARY + "\n## 2026-05-24 12:01 #rain #night\n\nIt poured.\n"
    )


def test_an_entry_may_come_on_standard_input(run: Run) -> None:
    run.ok("journal", "add", stdin="One.\n\n## Two\n")
    assert [one["text"] for one in run.ok("journal", "show", "--json").data] == ["One.\n\n### Two"]


@pytest.mark.parametrize(
    ("options", "days"),
    [
        (["--since", "2026-05-02"], ["02", "03"]),
        (["--since", "2026-05-02T08:00:01"], ["03"]),
        (["--since", "2026-05-02T09:00+02:00"], ["02", "03"]),
        (["--tag", "SEA"], ["01", "02"]),
        (["--tag", "#sea", "--tag", "dream"], ["01"]),
        (["--tag", "moon"], []),
    ],
)
def test_entries_are_chosen_by_day_and_tag(diary: Run, options: list[str], days: list[str]) -> None:
    for command in ("show", "list"):
        found = diary.ok("journal", command, *options, "--json").data
        assert [one["at"][8:10] for one in found] == days


def test_search_finds_entries_with_all_the_words(diary: Run) -> None:
    ran = diary.ok("journal", "search", "the", "KETTLE", "ask")
    assert ran.out == "journal.md:7  2026-05-03 21:30  Sam asked about the kettle.\n"
    assert diary.ok("journal", "search", "kettle gull").out == ""
    assert len(diary.ok("journal", "search", "sea", "--json").data) == 2


@pytest.mark.parametrize("tag", ["", "two words", "a#b", "#"])
def test_a_tag_is_one_word(run: Run, tag: str) -> None:
    before = run.state()
    assert run("journal", "add", "Hm.", "--tag", tag).code == 2
    assert run.state() == before


def test_a_diary_that_would_grow_too_long_is_refused(run: Run) -> None:
    run.write("journal.md", "# Diary\n\n## 2026-05-01 09:00\n\n" + "x" * 3_900_000)
    before = run.state()
    assert run("journal", "add", stdin="x" * 200_000).code == 13
    assert run.state() == before
