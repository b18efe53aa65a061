"""What somebody passes on in a message: mail, pages, code, what others wrote. Read, not said.

Whoever pastes a letter and asks what it wants has not said what it says. It shows by its form, in
any language: quoted lines, fences, rules above and below, the head of a mail, long quotation marks,
the marks of a model's own prompts, and what stands by itself under a line that ends with a colon
and speaks of nobody as "I". What is pasted without any of these is taken for the sender's own.
"""

from __future__ import annotations

import re

from bumble.text import stop_words

LEFT_OUT = "[…]"  # in place of what is passed on
QUOTED_CHARS = 60  # between quotation marks, from which it is no name, title or saying
PRESENTED_CHARS = 60  # under a line that ends with a colon
_FENCE = re.compile(
    r"^[ \t]*(`{3,}|~{3,})[^\n]*\n[\s\S]*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.MULTILINE
)
# From a rule to the next, or to the end; `----- Original Message -----` is one.
_RULED = re.compile(
    r"^[ \t]*([-=*_~])(?:[ \t]*\1){2,}[^\n]{0,60}\n[\s\S]*?"
    r"(?:^[ \t]*\1(?:[ \t]*\1){2,}[^\n]{0,60}$|\Z)",
    re.MULTILINE,
)
_LINES = re.compile(r"^[ \t]*[>|＞][^\n]*(?:\n|\Z)", re.MULTILINE)
# A mail's head: a line of a name, a colon and an address in brackets, and all from there on.
_MAIL = re.compile(r"^[^\W\d_][^:：\n]{0,30}[:：][^\n]*<[^\s<>@]+@[^\s<>@]+>[\s\S]*", re.MULTILINE)
_PAIRS = tuple(
    (pair[0], pair[1])
    for pair in ["“”", "„“", "„”", "«»", "»«", "「」", "『』", "‹›", "《》", '""']
)
_QUOTES = tuple(
    re.compile(rf"{opening}([^{opening}{closing}]{{{QUOTED_CHARS},}}){closing}")
    for opening, closing in _PAIRS
)
# The control tokens of models, and calls of tools written out, on a line of their own: all from
# there on.
_MARKUP = re.compile(
    r"^[ \t]*(?:<\|[^\s<>]{1,64}\|?>|\[/?INST\]|<</?SYS>>|<tool_call>"
    r"|\{\s*\"(?:tool_calls|actions)\")[\s\S]*",
    re.IGNORECASE | re.MULTILINE,
)
_PRESENTED = re.compile(rf"(?<=[:：])[ \t]*\n[ \t]*\n([\s\S]{{{PRESENTED_CHARS},}})\Z")
_OF_ONESELF = stop_words.SAYING_I | stop_words.SAYING_MY | stop_words.SAYING_ME


def own(text: str) -> str:
    """Return a message without what is passed on in it."""
    for pattern in (_FENCE, _MAIL, _RULED, _LINES, _MARKUP, *_QUOTES):
        text = pattern.sub(_left_out, text)
    return _PRESENTED.sub(_unless_own, text)


def is_in(text: str) -> bool:
    """Whether something is passed on in a message."""
    return own(text) != text


def _left_out(match: re.Match[str]) -> str:
    return LEFT_OUT + ("\n" if match[0].endswith("\n") else "")


def _unless_own(match: re.Match[str]) -> str:
    of_oneself = _OF_ONESELF.intersection(stop_words.words(match[1]))
    return match[0] if of_oneself else f"\n\n{LEFT_OUT}"
