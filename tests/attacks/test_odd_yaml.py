from __future__ import annotations

import time

import pytest

from bumble.text import yaml_edit
from bumble.text.yaml_edit import SourceError
from tests.support.running import Run

MERGES = "a0: &a0 {k: v}\n" + "".join(
    f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 40)
)
ALIASES = "a0: &a0 [x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("%x", 2),
        ("1\na: 2", 3),
        ("!!bool x", 2),
        ('!!int ""', 2),
        ("!!float abc", 2),
        ("!!set {b, c}", 2),
        ("!!omap [b: c]", 2),
        ("!!binary aGVsbG8=", 2),
        ("9" * 5000, 2),
        ("0x" + "f" * 5000, 2),
        ('"\\UFFFFFFFF"', 2),
        ("\x07", 2),
        ("[" * 200_000, 2),
        ("{a: " * 2000, 2),
        ("\n" + "".join(" " * depth + "a:\n" for depth in range(2, 300)), 101),
        ("&b [*b]", None),
        (MERGES[4:], None),
        (ALIASES[4:], None),
        ("['x', " + "1, " * 300_000 + "1]", 1),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_can_not_be_read_is_an_error_of_a_line(value: str, line: int | None) -> None:
    started = time.monotonic()
    with pytest.raises(SourceError) as caught:
        yaml_edit.parse_mapping(f"b: 1\na: {value}\n")
    assert caught.value.line == line if line else caught.value.line
    assert len(str(caught.value)) < 300
    assert time.monotonic() - started < 30


def test_half_a_character_is_no_text_and_two_halves_are_one() -> None:
    assert yaml_edit.parse('a: "\\ud83d\\ude00"\nb: "x\\ud800"\n') == {"a": "😀", "b": "x\ufffd"}


@pytest.mark.parametrize(
    ("value", "command"),
    [("%x", "status"), ("{a: 1, a: 2}", "config"), ("[" * 2000, "recall")],
)
def test_settings_that_can_not_be_read_name_file_and_line(
    run: Run, value: str, command: str
) -> None:
    text = run.text("entity.yaml").partition("\nx: {}")[0] + "\n"
    run.write("entity.yaml", f"{text}x:\n  note: {value}\n")
    words = {"config": ("config", "show"), "recall": ("recall", "rain")}.get(command, (command,))
    ran = run(*words)
    assert ran.code == 12
    assert f"entity.yaml:{text.count(chr(10)) + 2}: " in ran.err
    assert run.text("entity.yaml").startswith(text)
