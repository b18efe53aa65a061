"""What a small model says, as it is let through: no assistant's phrase, no echo, no secret.

Its answer comes piece by piece and is said by whole sentences, so that what must not be said never
was.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import pairwise

from bumble import patterns
from bumble.chat.reply_writer import Turn
from bumble.chat.speaker import Say
from bumble.entity import secrets
from bumble.fallback import notices, quotes
from bumble.guard import claims, origins, values
from bumble.llm import actions
from bumble.llm.protocol import EnoughError
from bumble.runtime.runtime import Runtime
from bumble.text import stop_words, words

MOST_SENTENCES = 3
FIRST_LINE = 200  # characters after which no announcement is waited for
ANNOUNCES = (":", "：")
LEAST_AGAIN = 4  # words of what isn't said twice
LEAST_SAME = 4  # letters in a row that two spellings share
RETOLD = 0.8  # share of a sentence's words that somebody said in one message
SPELLED = 0.85  # of two texts' letters the same: they differ in their spelling alone
ROUNDS, ROUND_CHARS = 4, range(4, 80)  # how often the same is heard again, and how long that is
STOCK = 0.55  # calibrated similarity from which a sentence is an assistant's phrase
# What models say that were trained to assist, and no friend does; compared by meaning.
STOCK_PHRASES = (
    "Is there anything else I can help you with?",
    "Let me know if you need anything else.",
    "How can I assist you today?",
    "As an AI language model, I do not have feelings.",
    "I'm sorry, but I can't assist with that.",
    "Feel free to ask if you have any questions.",
)
TASKS = ("task", "ask_world", "calculate")
ACTIONS = ("{", "[", "```json")  # an answer that begins so may be JSON
SENTENCE_END = patterns.compile(r"(?<!\d)[.!?]\s|[。！？\n]")  # not behind "4." of a list
PLACEHOLDER = patterns.compile(r"\[[^\W\d_][\w '’-]*\]")  # "[Your Name]", which says nothing
LIST_SIGN = patterns.compile(r"\A\s*(?:\d+[.)]|[-*•])\s+")


class SentenceFilter:
    """Says an answer as it comes, by sentences or lines, while it holds no secret and goes on.

    It begins with no assistant's phrase, and gives no sentence back that somebody said; where there
    is nothing else, nothing is said. A small model that has said a long line before goes round in
    circles from there on.
    """

    def __init__(self, say: Say, runtime: Runtime, turn: Turn, notes: Sequence[str] = ()) -> None:
        """Begin an answer; `notes`: what was told before, beside the talk that goes on."""
        names = "|".join(map(re.escape, (runtime.identity.name, turn.heard.who.name)))
        self._say, self._embedder = say, runtime.memory.embedder
        self._reader = runtime.memory.reader
        # A small model writes a script.
        self._speaker = re.compile(rf"\A\s*(?:[-*•]\s+)?(?:{names})\s*:\s*")
        *before, last = [one.text for one in turn.heard.session.messages if one.role == "user"]
        self._before, self._asked = [*before, *notes], last
        self._does = turn.reading.said.has(*TASKS)
        self._wants = self._does or any(sign in last for sign in words.QUESTION_MARKS)
        self.said = self._held = self._given = ""

    def feed(self, piece: str) -> None:
        """Take a piece.

        Raises:
            EnoughError: If there is a secret in what came, or what was said before.
        """
        self._held += piece
        if size := _round(self._held):
            once = self._held[: len(self._held) - size * (ROUNDS - 1)]
            self._speak(len(once.rstrip().rpartition(" ")[0]))
            raise EnoughError
        if not self.said and "\n" not in self._held and len(self._held) < FIRST_LINE:
            return  # an announcement may come
        ends = [match.end() for match in SENTENCE_END.finditer(self._held)]
        if ends and (self.said or not self._held.lstrip().startswith(ACTIONS)):
            self._speak(ends[-1])

    def finish(self) -> None:
        """Say the rest; what came as JSON of actions is read as that."""
        if not self.said:
            self._held = actions.said_in(self._held).strip() or self._held.strip()
        self._speak(len(self._held))
        # alone it is an answer only where a text was asked for, and if it is less than the message
        is_part = len(self._given) < SPELLED * len(self._asked)
        if self._given and (self.said or (self._does and is_part)):
            self._tell(self._given)

    def _speak(self, end: int) -> None:
        ready, self._held = self._held[:end], self._held[end:]
        if not self.said:
            ready = self._speaker.sub("", ready)
            first, _, rest = ready.partition("\n")
            if rest and first.rstrip().endswith(ANNOUNCES):  # it only says what comes
                ready = rest
            ready = self._begun(ready.lstrip())
        starts = [0, *(match.end() for match in SENTENCE_END.finditer(ready)), len(ready)]
        parts = [ready[first:last] for first, last in pairwise(starts)]
        ready = ""
        for part in parts:
            if self._gives_back(part):
                continue
            self._given += part
            if not _is_of(self._asked, part):  # what is the message's waits for its own
                ready, self._given = ready + self._given, ""
        item = LIST_SIGN.sub("", ready).strip()
        again = len(item.split()) >= LEAST_AGAIN and item in self.said
        if again or secrets.find_secret(self.said + ready):
            raise EnoughError
        if ready and not PLACEHOLDER.fullmatch(item):
            self._tell(ready)

    def _gives_back(self, part: str) -> bool:
        """Whether a sentence is what somebody said; a text may hold what it was asked to say.

        What it was asked to do stands in none.
        """
        sentence = self._speaker.sub("", part).strip()
        if not stop_words.bare(sentence):
            return False
        if len(sentence.split()) < LEAST_AGAIN:
            own = [stop_words.bare(one) for text in self._before for one in words.sentences(text)]
            return stop_words.bare(sentence) in own or self._asks(sentence)
        is_whole = len(self._asked.split()) >= LEAST_AGAIN and _is_again(self._asked, sentence)
        told = any(quotes.is_in(sentence, one) for one in self._before)
        # who only tells something has no use for its words in another order
        there = [] if self._wants else [self._asked, *self._before]
        retells = origins.share(sentence, there) >= RETOLD
        return is_whole or told or retells or self._asks(sentence)

    def _asks(self, sentence: str) -> bool:
        """Whether a sentence is of the message, and asks for something there."""
        if self._reader is None or not quotes.is_in(sentence, self._asked):
            return False
        read = self._reader.read(sentence)
        return read.main in (*TASKS, *notices.QUESTIONS) and read.has(read.main)

    def _begun(self, text: str) -> str:
        """Return the beginning of an answer without an assistant's phrases."""
        while (first := next(iter(words.sentences(text)), "")) and self._is_stock(first):
            text = text[text.index(first) + len(first) :].lstrip()
        return text

    def _is_stock(self, text: str) -> bool:
        if self._embedder is None:
            return False
        phrases = {one: one for one in STOCK_PHRASES}
        return max(notices.likeness(self._embedder, text, phrases).values()) >= STOCK

    def _tell(self, text: str) -> None:
        self.said += text
        self._say(text)


class AnswerFilter(SentenceFilter):
    """Says the first sentences of an answer: no assistant's phrase, nor what was asked.

    Of whom it names it says no number, either, that nobody gave: "Timo is 14" is made up.
    """

    def _tell(self, text: str) -> None:
        """Say what a friend may say.

        Raises:
            EnoughError: If enough was said.
        """
        for sentence in words.sentences(text):
            is_own = not (quotes.is_in(sentence, self._asked) or self._is_stock(sentence))
            if is_own and not self._counts(sentence):
                super()._tell(f" {sentence}" if self.said else sentence)
            if len(words.sentences(self.said)) >= MOST_SENTENCES:
                raise EnoughError

    def _counts(self, sentence: str) -> bool:
        """Whether a sentence has a number that nobody gave of whom it names."""
        language = words.language(sentence, self._asked)
        if not claims.claims(sentence, language):
            return False
        texts = (self._asked, *self._before)
        given = [one for text in texts for one in values.read(text, language).numbers]
        return any(
            one.claimed and not any(one.equals(other) for other in given)
            for one in values.read(sentence, language).numbers
        )


def _is_of(said: str, sentence: str) -> bool:
    """Whether the words of a sentence are of what was said, but for their spelling."""
    told, own = stop_words.bare(said), stop_words.bare(sentence)
    blocks = SequenceMatcher(None, told, own, autojunk=False).get_matching_blocks()
    same = sum(block.size for block in blocks if block.size >= LEAST_SAME)
    return bool(own) and same >= SPELLED * len(own)


def _is_again(said: str, sentence: str) -> bool:
    """Whether a sentence holds what was said, or is it but for its spelling."""
    if quotes.is_in(said, sentence):
        return True
    alike = SequenceMatcher(None, stop_words.bare(said), stop_words.bare(sentence))
    return alike.quick_ratio() >= SPELLED and alike.ratio() >= SPELLED


def _round(text: str) -> int:
    """Return how long the words are that a text ends in again and again; 0: it doesn't."""
    for size in ROUND_CHARS:
        last = text[-size:]
        if any(map(str.isalpha, last)) and text.endswith(last * ROUNDS):
            return size
    return 0
