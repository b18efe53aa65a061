"""A model's reasoning (`<think>`), kept apart from what it says.

Knows the marks that models put around it, each family its own; backends that send reasoning in a
field of its own run their text through this all the same, because servers differ and change.
"""

from __future__ import annotations

import re

# Pairs of marks: what opens the reasoning, what ends it. Harmony's channels (gpt-oss) begin with
# any that isn't `final`; Gemma 4 has channels of one sign each.
_PAIRS = (
    *((f"<{name}>", f"</{name}>") for name in ("think", "thinking", "thought", "reasoning")),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
    ("<|channel|>commentary<|message|>", "<|channel|>final<|message|>"),
    ("<|channel>thought", "<channel|>"),
)
OPENING = tuple(dict.fromkeys(mark for mark, _ in _PAIRS))
CLOSING = tuple(dict.fromkeys(mark for _, mark in _PAIRS))
# Signs of a template around an answer: no part of it, wherever they stand.
_SIGNS = (
    *("<|start|>assistant", "<|end|>", "<|return|>", "<|begin_of_solution|>"),
    "<|end_of_solution|>",
)
_SUPPLIED = ("</think>", "</thinking>")  # a template may have opened these
TAGS = (*OPENING, *CLOSING, *_SIGNS)
_TAG = re.compile("|".join(re.escape(tag) for tag in sorted(TAGS, key=len, reverse=True)))
_LONGEST = max(map(len, TAGS))


class ThinkFilter:
    """Splits a text that comes in pieces into what is visible and what is reasoning.

    However the text is cut into pieces, `text` and `reasoning` come out the same. What may still
    become a tag is held back, so a piece of a tag is never shown.
    """

    def __init__(self, *, opened: bool = False) -> None:
        """Start outside a think block, or inside one whose opening tag the template supplied."""
        self._visible: list[str] = []
        self._hidden: list[str] = []
        self.unopened = False  # a block was closed that was never opened: the template opens it
        self._inside = opened
        self._held = ""
        self._resumed = False  # a tag has just been taken out of the visible text

    @property
    def text(self) -> str:
        """All that is visible so far."""
        return "".join(self._visible)

    @property
    def reasoning(self) -> str:
        """All that is not."""
        return "".join(self._hidden)

    def feed(self, piece: str) -> str:
        """Take the next piece; return the part of it (and of what was held) that may be shown."""
        held = self._held + piece
        shown, at = [], 0
        for match in _TAG.finditer(held):
            shown.append(self._keep(held[at : match.start()]))
            at = match.end()
            if match.group() not in _SIGNS:
                self._turn(match.group())
        cut = len(held) - _tag_start_length(held[at:])
        shown.append(self._keep(held[at:cut]))
        self._held = held[cut:]
        return "".join(shown)

    def finish(self) -> str:
        """End the text; return what was held back after all."""
        shown, self._held = self._keep(self._held), ""
        return shown

    def _turn(self, mark: str) -> None:
        closing = mark in CLOSING
        if mark in _SUPPLIED and not self._inside:
            # What came before was reasoning. It may have been shown already; it is never stored.
            self.unopened = True
            self._hidden += self._visible
            self._visible = []
        self._inside = not closing
        self._resumed = True

    def _keep(self, text: str) -> str:
        if self._inside:
            self._hidden.append(text)
            return ""
        if not self._visible:
            text = text.lstrip()  # templates put blank lines after the closing tag
        if text and self._resumed:
            # What stood around a block must not join into a tag: `<<think></think>think>`.
            before = "".join(self._visible[-_LONGEST:])
            text = " " + text if _tag_start_length(before) else text
            self._resumed = False
        self._visible += [text] if text else []
        return text


def _tag_start_length(text: str) -> int:
    """Count the characters at the end that may be the start of a tag."""
    for start in range(max(0, len(text) - _LONGEST + 1), len(text)):
        if text[start] in "<[" and any(tag.startswith(text[start:]) for tag in TAGS):
            return len(text) - start
    return 0
