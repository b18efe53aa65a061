"""An answer as it is said: on a terminal behind a name, in lines that end between words.

Elsewhere its bare text, as it comes. Text between fences (```) keeps its lines.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Mapping

from bumble.app import output
from bumble.text.cells import cells

FENCES = ("```", "~~~")
WIDE = ("W", "F")  # letters that take two cells; a line may end between any two of them
TAB_CELLS = 8


class Speech:
    """Says one answer, piece by piece."""

    def __init__(self, name: str, environ: Mapping[str, str], *, always: bool = False) -> None:
        """Prepare to speak.

        Args:
            name: Of who speaks, before the answer on a terminal.
            environ: Names the kind of terminal; what a dumb one is for breaks lines by itself.
            always: Whether the name stands there elsewhere, too.
        """
        terminal = sys.stdout is not None and sys.stdout.isatty()
        self._head = f"{name}> " if terminal or always else ""
        self._wraps = terminal and environ.get("TERM") != "dumb"
        self._column, self._space, self._word = 0, "", ""
        self._line, self._fenced = "", False

    def __call__(self, text: str) -> None:
        """Say a piece; where lines are broken, a word waits until it is whole."""
        head, self._head = self._head, ""
        if not self._wraps:
            output.piece(head + text)
            return
        self._column += cells(output.clean(head))
        output.piece(head + "".join(map(self._taken, output.clean(text))))

    def end(self) -> None:
        """Say what still waits."""
        if self._word or self._space:
            output.piece(self._flushed())

    def _taken(self, char: str) -> str:
        """Take a character; return what can be shown of those before it, and it."""
        if char == "\n":
            shown = self._flushed() + char
            self._fenced ^= self._line.lstrip().startswith(FENCES)
            self._column, self._line = 0, ""
            return shown
        self._line += char
        if char.isspace() and char != "\xa0":
            shown = self._flushed() if self._word else ""
            self._space += char
            return shown
        shown = self._flushed() if self._word and _breaks_before(char) else ""
        self._word += char
        return shown

    def _flushed(self) -> str:
        """Return the word that waits with the space before it, or on a new line."""
        space, word = self._space, self._word
        self._space = self._word = ""
        begins, length = self._after(space), cells(word)
        width = output.columns(sys.stdout)
        if begins + length > width and word and not self._fenced and self._column:
            self._column = length if length <= width else length % width
            return f"\n{word}"
        self._column = begins + length
        return space + word

    def _after(self, space: str) -> int:
        """Return the column behind what stands on the line and some space."""
        column = self._column
        for char in space:
            column += TAB_CELLS - column % TAB_CELLS if char == "\t" else cells(char)
        return column


def _breaks_before(char: str) -> bool:
    """Tell whether a line may end before a character of a word: a letter of a wide script."""
    return char.isalpha() and unicodedata.east_asian_width(char) in WIDE
