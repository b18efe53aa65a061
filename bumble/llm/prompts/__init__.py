"""Loading prompts: one Markdown file each in this folder, with slots, roles and tags.

A file's front matter says what the prompt is for, who uses it, its slots and the shape of the
answer. There is no logic in a prompt: loops and choices are Python.

A prompt is one text, or several messages: `<!-- user -->` and `<!-- assistant -->`, each on a line
of its own, begin one; what stands before the first is the system's. Instructions and worked
examples come first and the same every time, what differs comes last: a model that keeps what it
has evaluated on disk then reads only that.

What came from outside enters a prompt through `tagged`, or through `harmless` where the tag stands
in the prompt's own text: data inside a tag that nothing in it can close.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from string import Template
from typing import Literal

from msgspec import Struct

from bumble import patterns
from bumble.text import markdown

FOLDER = Path(__file__).parent
Role = Literal["system", "user", "assistant"]

TAGS = ("memory", "file", "result")  # the tags of data that the system prompt names
# Brackets that a reader takes for `<` and `[`, and what he does not see between them and a name.
_ANGLES, _SQUARES = "<＜﹤‹〈⟨", "\\[［【〔"
_BRACKETS = frozenset(_ANGLES + _SQUARES)
_UNSEEN = r"[\s\\/⁄∕／\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]*"
_PART = patterns.compile(r"^<!-- (user|assistant) -->\n", re.MULTILINE)
_SECTION = patterns.compile(f"[{_SQUARES}](?={_UNSEEN}turn{_UNSEEN}context)", re.IGNORECASE)


class Prompt(Struct, frozen=True):
    """A prompt with slots to fill."""

    name: str
    slots: tuple[str, ...]
    text: str

    def fill(self, **values: str) -> str:
        """Return the text with every slot filled.

        Raises:
            ValueError: If a slot is not given, or a value has no slot.
        """
        if set(values) != set(self.slots):
            raise ValueError(f"prompt {self.name}: takes {self.slots}, was given {tuple(values)}")
        return Template(self.text).substitute(values)

    def turns(self, **values: str) -> tuple[tuple[Role, str], ...]:
        """Return the messages with every slot filled: who speaks, and the text.

        Raises:
            ValueError: If a slot is not given, or a value has no slot.
        """
        self.fill(**values)  # says what is wrong with the values
        system, *parts = _PART.split(self.text)
        if not parts:
            return (("user", Template(system).substitute(values)),)
        roles: list[Role] = [
            "system",
            *("user" if role == "user" else "assistant" for role in parts[::2]),
        ]
        filled = (Template(text.strip()).substitute(values) for text in [system, *parts[1::2]])
        return tuple(zip(roles, filled, strict=True))


def exists(name: str) -> bool:
    """Whether there is a prompt of a name."""
    return FOLDER.joinpath(f"{name}.md").is_file()


@cache
def load(name: str) -> Prompt:
    """Read a prompt of this package; a test sees to it that its slots are those in its text."""
    document = markdown.parse(FOLDER.joinpath(f"{name}.md").read_text(encoding="utf-8"))
    return Prompt(name, tuple(document.meta["slots"]), document.body)


def tagged(tag: str, text: str, attributes: str = "") -> str:
    """Wrap outside text so that it is data.

    Args:
        tag: The tag's name, in ASCII.
        text: What somebody or something else wrote.
        attributes: What stands behind the name, with a space before it: ` trust="imported"`.
    """
    return f"<{tag}{attributes}>\n{harmless(text, tag)}\n</{tag}>"


def listed(tag: str, lines: Iterable[str], mark: str = "") -> str:
    """Wrap lines so that they are data; nothing, where there are none."""
    text = "\n".join(f"{mark}{line}" for line in lines)
    return tagged(tag, text) if text else ""


def harmless(text: str, *tags: str) -> str:
    """Return outside text that can end no tag of data, and begin none.

    The bracket of such a tag becomes `&lt;` or `(`; everything else stays as it is. What would
    begin a message of its own is broken where messages are made (`llm/marks`).

    Args:
        text: What somebody or something else wrote.
        tags: The tags it is going to stand in, beside those of every prompt.
    """
    if _BRACKETS.isdisjoint(text):
        return text
    return _SECTION.sub("(", _opening(frozenset((*TAGS, *tags))).sub("&lt;", text))


@cache
def _opening(tags: frozenset[str]) -> re.Pattern[str]:
    """Match the bracket before a tag, however its name is spaced or spelt."""
    # each letter in full width, too
    spelt = (
        [f"[{re.escape(sign)}{chr(ord(sign) + 0xFEE0)}]" for sign in tag] for tag in sorted(tags)
    )
    names = "|".join(map(_UNSEEN.join, spelt))
    return re.compile(f"[{_ANGLES}](?={_UNSEEN}(?:{names})(?![\\w-]))", re.IGNORECASE)
