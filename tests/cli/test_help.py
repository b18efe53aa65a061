from __future__ import annotations

import pytest

from bumble.cli.app import BUG_EXIT_CODE, COMMANDS, SECTIONS
from tests.support.chatting import script
from tests.support.command_line import leaves
from tests.support.running import Run
from tests.support.sweeps import turns


def test_every_command_stands_in_one_section_of_the_help() -> None:
    assert sorted(name for names in SECTIONS.values() for name in names) == sorted(COMMANDS)


@pytest.mark.parametrize("argv", [("session", "--json", "list"), ("context", "json", "--json")])
def test_json_is_taken_everywhere(run: Run, argv: tuple[str, ...]) -> None:
    assert run.ok(*argv).json["schema"]


# What serves another program speaks its language; what settles a merge is git's.
ELSE = {("mcp",), ("git-merge",)}


@pytest.mark.parametrize(
    "words", turns(6, [(words,) for words in leaves() if words not in ELSE]), ids=" ".join
)
def test_every_command_answers_with_json_also_where_it_refuses(
    full: Run, words: tuple[str, ...]
) -> None:
    script(full, {"text": "{}", "always": True})
    for argv in ((*words, "--json"), (*words[:-1], "--json", words[-1])):
        ran = full(*argv)
        assert ran.code != BUG_EXIT_CODE, ran.err
        assert ran.json["schema"].startswith("bumble/")
