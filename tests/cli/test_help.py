from __future__ import annotations

from pathlib import Path

import pytest

import bumble
from bumble.cli import man_page, reference
from bumble.cli.app import COMMANDS, SECTIONS
from tests.support.running import Run

DOCS = Path(bumble.__file__).parent.parent / "docs"


def test_every_command_stands_in_one_section_of_the_help(run: Run) -> None:
    assert sorted(name for names in SECTIONS.values() for name in names) == sorted(COMMANDS)
    shown = run.ok("--help").out
    assert [title for title in SECTIONS if f"\n{title}:\n" in shown] == list(SECTIONS)


def test_what_is_generated_says_what_the_code_does() -> None:
    stale = [
        place.name
        for place, text in reference.pages(DOCS).items()
        if place.read_text(encoding="utf-8") != text
    ]
    assert stale == []


def test_the_man_page_names_every_command_and_begins_no_line_by_chance() -> None:
    page = man_page.page(reference.MEANINGS)
    for name in COMMANDS:
        assert f".SS bumble {name}".replace("-", r"\-") in page
    requests = {line.split()[0] for line in page.splitlines() if line.startswith((".", "'"))}
    assert requests == {".TH", ".SH", ".SS", ".TP", ".B", ".BR"}


@pytest.mark.parametrize("argv", [("session", "--json", "list"), ("context", "json", "--json")])
def test_json_is_taken_everywhere(run: Run, argv: tuple[str, ...]) -> None:
    assert run.ok(*argv).json["schema"]
