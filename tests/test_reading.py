"""README and the pages for tasks can be read by somebody who knows nothing of bumble."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import mean

import pytest

from release.site import FENCE
from tests.support import pasting
from tests.support.pasting import ROOT

TASKS = sorted(ROOT / "docs" / f"{name}.md" for name in pasting.TASKS)
PAGES = [ROOT / "README.md", *TASKS]
MOST_LINES = {"README.md": 150, "log.md": 200}
MOST_TASK_LINES = 80
MOST_WORDS = 16  # of a sentence, in the mean
LONGEST = 32  # words of one sentence
# Words that only those know who know bumble, besides those of docs/words.md; never on these pages.
UNKNOWN = (
    *("shelf", "quarantine", "chunk", "passage", "vector", "calibrated", "handover", "ledger"),
    *("hormone", "cursor", "change set", "front matter", "preamble", "audience", "imprint"),
    *("upkeep", "appraisal", "distillation", "provenance", "salience", "tier", "runtime", "pass"),
)
TERMS = re.findall(r"^- \*\*(.+)\*\*: ", (ROOT / "docs/words.md").read_text("utf-8"), re.MULTILINE)
ENDINGS = {"e": "(e|es|ed|ing|ion)", "y": "(y|ies)", "": "(s|es|ed|ing)?"}
CODE = re.compile(r"`[^`]*`")
LINK = re.compile(r"\[([^\]]*)\]\(([^)]*)\)")


def pattern(term: str) -> re.Pattern[str]:
    """Return what finds a word in any of its forms."""
    last = term[-1] if term[-1] in "ey" else ""
    stem = term.removesuffix(last)
    return re.compile(rf"(?<![\w.-]){re.escape(stem)}{ENDINGS[last]}(?![\w-]|\.\w)", re.IGNORECASE)


def prose(page: Path) -> str:
    """Return a page without code, comments and tables."""
    text = FENCE.sub("", page.read_text("utf-8"))
    lines = [line for line in text.splitlines() if not line.startswith(("|", "<!--"))]
    return "\n".join(lines)


def sentences(page: Path) -> list[str]:
    """Return the sentences of a page: a heading and an item of a list end one, too."""
    text = re.sub(r"\n(?=[-#\n])", "\n\n", LINK.sub(r"\1", prose(page)))
    blocks = [" ".join(block.split()) for block in text.split("\n\n")]
    found = [one for block in blocks for one in re.split(r"(?<=[.!?:;])\s+", block.lstrip("-# "))]
    return [one for one in found if len(one.split()) > 2]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_sentences_are_short(page: Path) -> None:
    counts = {one: len(one.split()) for one in sentences(page)}
    assert mean(counts.values()) <= MOST_WORDS
    assert [one for one, count in counts.items() if count > LONGEST] == []


@pytest.mark.parametrize("page", [*PAGES, ROOT / "docs/log.md"], ids=lambda page: page.name)
def test_pages_are_short(page: Path) -> None:
    lines = page.read_text("utf-8").splitlines()
    assert len(lines) <= MOST_LINES.get(page.name, MOST_TASK_LINES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_term_stands_undefined(page: Path) -> None:
    said = CODE.sub("", prose(page))
    explained = " ".join(
        label for label, to in LINK.findall(said) if to.split("#")[0].endswith("words.md")
    )
    plain = LINK.sub(r"\1", said)
    used = [term for term in UNKNOWN if pattern(term).search(plain)]
    used += [
        term
        for term in TERMS
        if pattern(term).search(plain)
        and not re.search(rf"\b{term}\b[^.]*, a ", plain)
        and not pattern(term).search(explained)
    ]
    assert used == []
