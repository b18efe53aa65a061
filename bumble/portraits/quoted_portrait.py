"""A portrait by form: what somebody told, in their words; in confidence apart, with for whom.

Text in, text out. New quotes stand above the earlier ones, what puts a word right directly above
that word; every line that is there stays, byte for byte.
"""

from __future__ import annotations

from collections.abc import Sequence

from bumble.choosing import quotes
from bumble.choosing.by_form import Saying, Wording
from bumble.text import markdown


def amended(
    text: str, person: str, sayings: Sequence[Saying], listeners: Sequence[str], wording: Wording
) -> str:
    """Return a portrait with sayings that it does not hold yet.

    Args:
        text: The portrait as it is; may be empty.
        person: What the person is called.
        sayings: By them, oldest first.
        listeners: What those are called who heard them, the entity left out.
        wording: How it is worded.
    """
    forms = wording.forms
    for saying in sayings:
        line = quotes.line(saying.quote, forms)
        if line in text.splitlines() or _is_there(text, saying):
            continue
        older = quotes.line(saying.older, forms) if saying.older else None
        if older in text.splitlines() and not saying.notice.confided:
            text = _above(text, older, f"{line}\n\n{forms.newer}\n\n")
        elif saying.notice.confided:
            note = forms.audience.format(people=", ".join(listeners))
            text = _under(text, forms.confidences.format(name=person), note, wording.line(saying))
        else:
            text = _under(text, forms.account.format(name=person), "", wording.line(saying))
    return text


def _is_there(text: str, saying: Saying) -> bool:
    """Whether a quote of the same words stands there: somebody said it again."""
    start = f"{quotes.MARK}{saying.quote.name}"
    return any(
        row.startswith(start) and quotes.is_in(saying.quote.words, row) for row in text.splitlines()
    )


def _above(text: str, line: str, new: str) -> str:
    """Put something above a line."""
    rows = markdown.lines(text)
    newline = markdown.newline_of(text)
    place = next(n for n, row in enumerate(rows) if row.rstrip("\r\n") == line)
    return "".join([*rows[:place], new.replace("\n", newline), *rows[place:]])


def _under(text: str, title: str, note: str, new: str) -> str:
    """Put something on top of a section, below its note; at the end, if there is no such section.

    Confidences for other people than those the note names get a section of their own.
    """
    heading, newline = f"## {title}", markdown.newline_of(text)
    rows = markdown.lines(text)
    bare = [row.rstrip() for row in rows]
    for place, row in enumerate(bare):
        if row != heading:
            continue
        behind = next((n for n in range(place + 1, len(bare)) if bare[n]), len(bare))
        if not note:
            return _inserted(rows, place + 1, new, newline)
        if behind < len(bare) and bare[behind] == note:
            return _inserted(rows, behind + 1, new, newline)
    block = "\n\n".join(filter(None, [heading, note, new])).replace("\n", newline)
    gap = "" if not text else newline if text.endswith(newline) else newline * 2
    return f"{text}{gap}{block}"


def _inserted(rows: Sequence[str], place: int, new: str, newline: str) -> str:
    """Put a paragraph in at a line."""
    before = "".join(rows[:place])
    behind = "".join(rows[place:])
    if not before.endswith(("\n", "\r")):
        before += newline
    gap = "" if behind.startswith(("\n", "\r")) else newline
    return f"{before}{newline}{new.replace(chr(10), newline)}{newline}{gap}{behind}".rstrip("\r\n")
