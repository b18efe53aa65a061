"""An answer as it is said: on a terminal behind a name, in lines that end between words.

Elsewhere its bare text, as it comes. Text between fences (```) keeps its lines.
"""

from __future__ import annotations

import shutil
import sys
import unicodedata

from bumble.app import output

FENCE = "```"
WIDE = ("W", "F")  # characters that take two cells


class Speech:
    """Says one answer, piece by piece."""

    def __init__(self, name: str, *, always: bool = False) -> None:
        """Prepare to speak.

        Args:
            name: Of who speaks, before the answer on a terminal.
            always: Whether it stands there elsewhere, too.
        """
        terminal = sys.stdout is not None and sys.stdout.isatty()
        self._width = shutil.get_terminal_size().columns if terminal else 0
        self._head = f"{name}> " if terminal or always else ""
        self._column, self._space, self._word = 0, "", ""
        self._line, self._fenced = "", False

    def __call__(self, text: str) -> None:
        """Say a piece; at the end of a terminal's line a word that isn't whole yet waits."""
        head, self._head = self._head, ""
        if not self._width:
            output.piece(head + text)
            return
        self._column += cells(head)
        output.piece(head + "".join(map(self._taken, output.clean(text))))

    def end(self) -> None:
        """Say what still waits."""
        if self._word or self._space:
            output.piece(self._flushed())

    def _taken(self, char: str) -> str:
        if char == "\n":
            said = self._flushed() + char
            self._fenced ^= self._line.lstrip().startswith(FENCE)
            self._column, self._line = 0, ""
            return said
        self._line += char
        if char.isspace():
            said = self._flushed() if self._word else ""
            self._space += char
            return said
        before = self._flushed() if self._word and cells(char) > 1 else ""
        self._word += char
        return before

    def _flushed(self) -> str:
        """Return the word that waits with the space before it, or on a new line."""
        space, word = self._space, self._word
        self._space = self._word = ""
        length = cells(word)
        if self._column + len(space) + length > self._width > 0 and not self._fenced and word:
            broken = "\n" if self._column else ""
            self._column = length if length <= self._width else length % self._width
            return broken + word
        self._column += len(space) + length
        return space + word


def cells(text: str) -> int:
    """Return how many cells of a terminal a text takes."""
    return sum(
        0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in WIDE)
        for char in text
    )
