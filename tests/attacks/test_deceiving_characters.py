"""Characters that delete, command or turn what stands around them."""

from __future__ import annotations

import pytest

from bumble.text import printable
from tests.support.chatting import act, script
from tests.support.running import Run

BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
DECEIVING = [
    "\x7f",
    "\x80",
    "\x85",
    "\x9b31m",
    "\x9d0;title\x9c",
    "\x9f",
    "\u200b",
    "\u2060",
    "\ufeff",
    *BIDI,
]
PLAIN = [
    "می\u200cخواهم",  # a joiner, in a word
    "क्\u200dष",
    "👩\u200d👩\u200d👧 🏳\ufe0f\u200d🌈",
    "\u200eabc\u200f \u061cשלום",  # plain direction marks
    "é ü ñ 漢字 🐝",
]


@pytest.mark.parametrize("flags", [[], ["--json"]], ids=["text", "json"])
def test_what_deceives_is_shown_by_its_number(run: Run, flags: list[str]) -> None:
    text = f"before {' and '.join(DECEIVING)} behind"
    script(run, act("say", text=text))
    answered = run.ok("chat", "Hi.", *flags)
    run.write("journal.md", f"# Diary\n\n## 2026-05-24 12:00\n\n{text}\n")
    run.write("knowledge.md", f"## A{DECEIVING[0]}B\n\n{text}\n")
    rans = [
        answered,
        run.ok("session", "show", *flags),
        run.ok("knowledge", "list", *flags),
        run.ok("recall", "before", *flags),
        run("person", "show", text, *flags),
        run(text, *flags),
    ]
    for ran in rans:
        for heard in (ran.out, ran.err):
            assert not {bad[0] for bad in DECEIVING} & set(heard)
    assert all(f"\\u{ord(bad[0]):04x}" in answered.out for bad in DECEIVING)
    if flags:
        assert answered.data["reply"] == text


@pytest.mark.parametrize("flags", [[], ["--json"]], ids=["text", "json"])
def test_joiners_and_direction_marks_stay(run: Run, flags: list[str]) -> None:
    text = " ".join(PLAIN)
    script(run, act("say", text=text))
    assert text in run.ok("chat", "Hi.", *flags).out
    assert text in run.ok("session", "show", *flags).out


def test_escape_sequences_are_taken_out_whole() -> None:
    assert printable.clean("a\x1b[31mb\x1b]0;title\x07c\x00\r\nd\te") == "abc\nd\te"
