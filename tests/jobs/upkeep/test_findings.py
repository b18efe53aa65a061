from __future__ import annotations

import re
from pathlib import Path

import bumble
from bumble.cli.doctor import INDEX_CODES
from bumble.history.findings import CODES

PACKAGE = Path(bumble.__path__[0])


def used() -> set[str]:
    """Codes that are given, and of those that a table or a choice names which are known."""
    sources = {path: path.read_text() for path in PACKAGE.rglob("*.py")}
    source = "".join(sources.values())
    given = set(re.findall(r'(?:[Ff]inding\(\s*|code = )"([a-z-]+)"', source))
    named = source.replace(sources[PACKAGE / "history" / "findings.py"], "")
    return given | {code for code in CODES if f'"{code}"' in named}


def test_every_code_is_found_by_some_check_and_no_other_is() -> None:
    assert used() == set(CODES)


def test_only_what_is_derived_or_left_over_is_mended() -> None:
    mends = {code for code, known in CODES.items() if known.mends}
    told = {"git-ignores", "git-attributes", "git-driver", "forgotten-back", "cache-stray"}
    by_git = {
        "git-cut-off",
        "git-uncommitted",
    }  # of the sides of a merge, only what git brought: none is promised
    assert mends == {*INDEX_CODES, "change-unfinished", "file-stray", *told, *by_git}
