"""Says an answer while it comes: nothing twice, nothing in circles, no word torn apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from bumble import patterns
from bumble.llm.protocol import EnoughError
from bumble.llm.say_reader import SayReader
from bumble.text import words

Say = Callable[[str], None]
MOST_REPEATED = 80  # characters of the end that are looked for at the beginning of what follows
LEAST_REPEATED = 12  # fewer may be chance, unless they are the whole last word
_LAST_WORD, _FIRST_WORD = patterns.compile(r"[^\W_]+\Z"), patterns.compile(r"[^\W_]+")
CIRCLE_REACH = 8_000  # characters, from the end, in which an answer may go round
FENCE = "```"
# The end of an answer, and how often it may stand there; in code, where tables are, oftener.
CIRCLE_CHARS, CIRCLE_TIMES, TABLE_TIMES = 40, 12, 80
PAUSE = "\n\n"  # between two things said


def is_open(text: str) -> bool:
    """Whether the beginning of what follows is too short yet to decide by."""
    return not text.strip() or (len(text) < MOST_REPEATED and len(text.split()) < 2)


def joined(before: str, text: str, language: str) -> str:
    """Return what follows as it belongs behind what was said, the blank between them included.

    Args:
        before: What was said, to where it was cut.
        text: The beginning of what follows, at least its first word.
        language: That is spoken, `de`.
    """
    last = _LAST_WORD.search(before)
    least = len(last[0]) if last and len(last[0]) > 1 else LEAST_REPEATED
    for length in range(min(MOST_REPEATED, len(before), len(text)), 0, -1):
        is_word = length == len(before) or not before[-length - 1].isalnum()
        if before.endswith(text[:length]) and (length >= LEAST_REPEATED or length == least):
            return text[length:] if is_word else text
    first = _FIRST_WORD.match(text)
    if not last or not first:  # a blank is there, or a sign
        return text
    return text if _is_one_word(last[0], first[0], language) else f" {text}"


def _is_one_word(last: str, first: str, language: str) -> bool:
    """Whether two pieces are one word rather than two, by how common each of them is."""
    whole = (last + first).casefold()
    if words.is_listed(whole, language):
        apart = min(
            words.frequency(last.casefold(), language),
            words.frequency(first.casefold(), language),
        )
        return words.frequency(whole, language) > apart or apart <= words.RAREST
    return not all(words.is_listed(part.casefold(), language) for part in (last, first))


class _Text(Struct):
    """A text that an answer says."""

    came: str = ""  # it, as far as it has come
    said: str = ""  # what of it was said


class Speaker:
    """Streams what is said: set apart from what was said before, or right behind what was cut off.

    What is word for word an earlier text is not said again, so that the beginning of one that may
    become so waits. An answer that goes round in circles is ended: it would fill its budget with
    one sentence.
    """

    def __init__(
        self, say: Say, each: list[str], before: str, *, goes_on: bool, language: str
    ) -> None:
        """Begin an answer.

        Args:
            say: Hears it.
            each: Texts that were said in this turn, which are not said again; grows.
            before: All that was said by earlier answers of this turn.
            goes_on: Whether it continues that, where it was cut off.
            language: That is spoken.
        """
        self.reader = SayReader()
        self.say, self.each, self.before, self.language = say, each, before, language
        self.goes_on = goes_on
        self.texts: list[_Text] = []

    def feed(self, piece: str) -> None:
        for place, text in self.reader.feed(piece):
            self._take(place, text)
        said = self.texts[-1].said if self.texts else ""
        end, far = said[-CIRCLE_CHARS:], said[-CIRCLE_REACH:]
        times = TABLE_TIMES if said.count(FENCE) % 2 else CIRCLE_TIMES
        if len(end) == CIRCLE_CHARS and far.count(end) >= times:
            raise EnoughError

    def _take(self, place: int, piece: str) -> None:
        """Take a piece of the last text, or the beginning of the next."""
        if place == len(self.texts):
            self._begin(ends=True)
            self.texts.append(_Text())
        text = self.texts[-1]
        text.came += piece
        if not text.said:
            self._begin()
        elif piece:
            text.said += piece  # first: a signal right behind what is shown takes none of it away
            self.say(piece)

    def _begin(self, *, ends: bool = False) -> None:
        """Say the last text as far as it has come, where nothing of it was said.

        Args:
            ends: Whether it is all there.
        """
        *before, text = self.texts or [_Text()]
        earlier = [*(one.came for one in before), *self.each]
        goes_on = self.goes_on and not before
        waits = (goes_on and is_open(text.came)) or any(
            one.startswith(text.came) for one in earlier
        )
        is_heard = text.said or not text.came.strip() or text.came in earlier
        if is_heard or (waits and not ends):
            return
        new = joined(self.before, text.came, self.language) if goes_on else text.came
        if new:
            is_first = goes_on or not (self.before or any(one.said for one in before))
            text.said = new
            self.say(new if is_first else PAUSE + new)

    def finish(self, spoken: Sequence[str] | None = None) -> str:
        """Return what was said; a blank at the beginning of what goes on belongs to it.

        Args:
            spoken: What the answer says, now that it is read as a whole: what did not come is said
                now; None: it was broken off.
        """
        read, self.reader = self.reader.texts, SayReader()  # which is over
        whole = read if spoken is None else spoken
        ends = [
            min((one for one in whole if one.startswith(came)), key=len, default=None)
            if came
            else ""
            for came in read[: len(self.texts)]
        ]
        for text, came, end in zip(self.texts, read, ends, strict=False):
            if end and text.came != came:  # a thought was heard too, but isn't kept
                text.came, text.said = "", end
            elif end and text is self.texts[-1]:
                self._take(len(self.texts) - 1, end.removeprefix(came))
        # what came in a form that is read otherwise as a whole was heard all the same
        for one in [one for one in whole if one not in ends][ends.count(None) :]:
            self._take(len(self.texts), one)
        self._begin(ends=True)
        self.each += [*(text.came for text in self.texts), *(spoken or ())]
        said = PAUSE.join(text.said for text in self.texts if text.said)
        return said.rstrip() if self.goes_on and said.strip() else said.strip()
