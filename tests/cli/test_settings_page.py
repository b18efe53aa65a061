from __future__ import annotations

from pathlib import Path

from bumble.cli.pages import settings_page
from bumble.entity import defaults
from bumble.entity.config import Config
from bumble.text import schema

ROWS = list(settings_page.explanations(defaults.FILE.read_text("utf-8")))


def test_the_page_says_what_the_defaults_say() -> None:
    place = Path(__file__).parents[2] / "docs" / "settings.md"
    assert place.read_text("utf-8") == settings_page.page()


def test_each_setting_is_explained() -> None:
    commented = {keys for keys, _, comment in ROWS if comment}
    on_one_line = {keys for keys, value, comment in ROWS if value and comment}
    unexplained = [
        ".".join(keys)
        for keys, kind in schema.walk(Config)
        if keys and not schema.is_section(kind)
        if keys not in commented and keys[:-1] not in on_one_line
    ]
    assert unexplained == []


def test_a_comment_may_go_on_below_its_line() -> None:
    source = "a:\n  b: 1  # first\n     # second\n  c:  # of these\n    - {d: 2}\n"
    assert list(settings_page.explanations(source)) == [
        (("a",), "", ""),
        (("a", "b"), "1", "first second"),
        (("a", "c"), "", "of these"),
        (("a", "c"), "{d: 2}", ""),
    ]
