from __future__ import annotations

import re
from pathlib import Path

import pytest

import bumble
from bumble.cli.doctor import INDEX_CODES
from bumble.history.findings import CODES, Finding

PACKAGE = Path(bumble.__path__[0])


def used() -> set[str]:
    source = "".join(path.read_text() for path in PACKAGE.rglob("*.py"))
    return set(re.findall(r'(?:[Ff]inding\(\s*|code = )"([a-z-]+)"', source))


def test_every_code_is_found_by_some_check_and_no_other_is() -> None:
    assert used() == set(CODES)


def test_every_code_says_what_it_means_in_a_sentence() -> None:
    for code, known in CODES.items():
        assert re.fullmatch(r"[a-z]+(-[a-z]+)+", code)
        assert re.fullmatch(r"[A-Za-z.].{19,110}\.", known.meaning), code


def test_only_what_is_derived_or_left_over_is_mended() -> None:
    mends = {code for code, known in CODES.items() if known.mends}
    told = {"git-ignores", "git-attributes", "git-driver", "forgotten-back", "cache-stray"}
    by_git = {
        "git-cut-off",
        "git-uncommitted",
    }  # of the sides of a merge, only what git brought: none is promised
    assert mends == {*INDEX_CODES, "change-unfinished", "file-stray", *told, *by_git}


def test_finding_of_no_known_code_is_refused() -> None:
    with pytest.raises(ValueError, match="no code"):
        Finding("file-strange", "x")


def test_place_is_written_as_editors_take_it() -> None:
    assert Finding("record-invalid", "x", "journal.md", 3).where == "journal.md:3"
    assert Finding("record-invalid", "x", "journal.md").where == "journal.md"
