"""An answer as it is said: on a terminal behind a name, in lines that end between words.

A word stands there as it comes; one that grows over the end of its line is taken to the next.
Elsewhere its bare text, as it comes. Text between fences (```) keeps its lines.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Mapping

from bumble.cli import output
from bumble.text.cells import cells

FENCES = ("```", "~~~")
WIDE = ("W", "F")  # letters that take two cells; a line may end between any two of them
TAB_CELLS = 8
NO_BREAK_SPACE = "\xa0"


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
        self._column = 0  # where the last whole word ended
        self._space = self._word = ""  # what came after it
        self._shown = 0  # how many characters of that stand there already
        self._line, self._fenced = "", False

    def __call__(self, text: str) -> None:
        """Say a piece."""
        head, self._head = self._head, ""
        if not self._wraps:
            output.piece(head + text)
            return
        self._column += cells(output.clean(head))
        whole = "".join(map(self._taken, output.clean(text)))
        output.piece(head + whole + self._begun())

    def _taken(self, char: str) -> str:
        """Take a character; return what was not shown of the word before it, and line ends."""
        if char == "\n":
            shown = self._ended() + char
            self._fenced ^= self._line.lstrip().startswith(FENCES)
            self._column, self._line = 0, ""
            return shown
        self._line += char
        if char.isspace() and char != NO_BREAK_SPACE:
            shown = self._ended() if self._word else ""
            self._space += char
            return shown
        shown = self._ended() if self._word and _breaks_before(char) else ""
        self._word += char
        return shown

    def _ended(self) -> str:
        """Return what was not shown of a word that is whole."""
        shown = self._begun()
        self._column = self._after(self._space) + cells(self._word)
        self._space, self._word, self._shown = "", "", 0
        return shown

    def _begun(self) -> str:
        """Return what was not shown of a word, with the space before it, or on a new line."""
        most = output.columns(sys.stdout) - 1  # some terminals go on by themselves behind the last
        ends = self._after(self._space) + cells(self._word)
        line_end = ""
        if ends > most and self._word and self._column and not self._fenced:
            if self._shown:
                output.take_back(self._column)
            line_end, self._space, self._column, self._shown = "\n", "", 0, 0
        text = self._space + self._word
        rest, self._shown = text[self._shown :], len(text)
        return line_end + rest

    def _after(self, space: str) -> int:
        """Return the column behind what stands on the line and some space."""
        column = self._column
        for char in space:
            column += TAB_CELLS - column % TAB_CELLS if char == "\t" else cells(char)
        return column


def _breaks_before(char: str) -> bool:
    """Tell whether a line may end before a character of a word: a letter of a wide script."""
    return char.isalpha() and unicodedata.east_asian_width(char) in WIDE
