"""Rules that decide by its wording whether a message is worth keeping, or leave it open.

They see the message alone, in the words of its language (`language_file`) and in what needs no
language: digits, question marks, quotation marks, laughing faces, length. Knows no model.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Literal

from msgspec import Struct

from bumble.choosing import feelings, introduction, language_file, phrases
from bumble.choosing.language_file import Language

MOST_CHARS = 2000  # of a message: what follows is pasted, not told
LEAST_CONFIDED_WORDS = 6  # shorter: "this is secret", which says nothing yet
LEAST_TOLD_WORDS = 2  # beside the request to be silent
TELLING_WORDS = 8  # of a message that surely tells something, whatever it asks
REQUESTED, CONFIDED, TOLD = "asked to keep", "told in confidence", "told"  # why it is kept
QUESTION, LAUGH, IMAGINED = "a question", "a laugh", "imagined"  # why it is not
LEAST_REQUESTED_WORDS = 3  # beside the request to keep it in mind
BARE_WORDS = 3  # beside the request, from which it may be about more than itself
_ANNOUNCES = re.compile(r"(?:[:…?]|\.\.+)\s*$")  # what ends so is about what comes next
MANY_WORDS = 14  # from here on something else may be told beside the weather
LEAD_WORDS = 3  # before a question, in its sentence: `hey ada, what …`
SHORT_QUESTION = 8  # words; asks, and tells nothing
FEW_WORDS = 4  # without a digit or somebody's own words that is no statement
KEEPS = 2  # points from which a message is kept: no model knows better (docs/log.md)
SURE = 3  # points from which it is kept though it laughs, if it is meant
SURE_LAUGHING = 5  # points from which what is told with a laugh may be meant
# What a model has to give the kept labels where a message has so few points: the more the rules
# see in a message, the less it says.
LEAST_SHARES = (0.6, 0.4)
LEAST_SHARE = 0.4  # of what is told with a laugh
TELLS_BESIDE = 3  # points of the rest, where only a part of a message is no statement
PARTIAL = frozenset({IMAGINED, "maybe", "a saying", "a task"})
ROLE_CHARS = 30  # between a thing and what it can't be: `the hoover has resigned`
LEAST_QUOTED = 0.35  # share of a message's words from which it is a quotation
Figure = Literal["date", "number"]
_FACES = re.compile("[😂🤣😹😆😜😝🤪💀🙃]|(?<!\\w)(?:[:;x]-?[dDpP]|[xX][dD]+)(?!\\w)")
_QUOTED = re.compile(
    r"[\"“”„«»]([^\"“”„«»]+)[\"“”„«»]|(?<!\w)['‘‚’‹]((?:[^'‘’›]|(?<=\w)['’](?=\w))+)['’‘›](?!\w)"
)
_SENTENCE_END = re.compile(r"[.?!]")
_PARTS = re.compile(r" [.?!,:] ")
_HA = re.compile(r"(?:^|[.!?…]\s+)ha\s*(?:[.!]|$)", re.IGNORECASE)  # a sentence of its own
_LETTERS = re.compile(r"[^\W\d_]+")
# Signs that don't stand behind a number; each run of them is looked at once.
_RUN_OF = r"(?:(?<=[^\d\s{0}])|(?<=[\d\s][{0}])|(?<=\A[{0}]))[{0}]+\s+|\n+"
_PART = re.compile(_RUN_OF.format(".?!;,"))
_SENTENCE = re.compile(_RUN_OF.format(".?!;"))
_TIME = re.compile(r"\b\d{1,2}\.\s?\d{0,2}\.?(?=\D|$)|\b\d{1,2}/\d{1,2}\b|\b\d{1,2}:\d{2}\b")


class Verdict(Struct, frozen=True):
    """What the rules say of a message."""

    keep: bool | None  # None: open
    why: str  # the rule
    leans: bool  # what stands where nobody else is asked
    least_share: float = LEAST_SHARE  # from which a model's word keeps what is open
    confided: bool = False
    hushes: Literal["", "before", "after"] = ""  # what beside itself it asks to be silent about
    feelings: tuple[str, ...] = ()
    corrects: bool = False  # whether it puts right what was said before
    fleeting: bool = False  # whether more speaks of the moment than of anything that lasts
    looks_up: bool = False  # whether it asks for what the speaker told
    asks: bool = False  # whether all of it is a question
    questions: bool = False  # whether a word of asking, or a question mark, stands in it
    marked: bool = False  # whether a question mark does
    laughs: bool = False  # whether somebody laughs in it
    figured: bool = False  # whether it says a number or an hour, and nobody laughs


class WordedMessage(Struct, frozen=True):
    """A message with what its wording shows, each looked up when it is asked for."""

    text: str
    line: str  # as phrases are matched in
    language: Language

    def has(self, cue: str) -> bool:
        """Whether a cue of the language shows."""
        return self.language.has(cue, self.line)

    @property
    def words(self) -> list[str]:
        """Its words and numbers."""
        return phrases.words(self.line)

    @property
    def has_digit(self) -> bool:
        """Whether it holds a digit."""
        return any(char.isdigit() for char in self.text)

    @property
    def laughs(self) -> bool:
        """Whether it laughs."""
        if _FACES.search(self.text) or self.has("laughs"):
            return True
        typed = _LETTERS.findall(self.text.casefold())
        syllables = set(self.language.laughing) - {"hi"}  # `hi hi` greets
        again = any(word == following and word in syllables for word, following in pairwise(typed))
        return again or _HA.search(self.text) is not None or any(map(self._is_laugh, typed))

    @property
    def puts_right(self) -> bool:
        """Whether something is different now; with a laugh, whether a date says so, too."""
        return self.has("changed") and (self.dated or not self.laughs)

    @property
    def means_it(self) -> bool:
        """Whether what is told with a laugh may be true."""
        if self.has("earnest") and (self.has("own") or self.has("kin")) and self.points >= 0:
            return True
        return self.puts_right or self.points >= (KEEPS if self.has("earnest") else SURE_LAUGHING)

    def _is_laugh(self, word: str) -> bool:
        """Whether a word is a syllable that is laughed, again and again: `hahahah`, `kkkk`."""
        letters = set(word)
        return any(
            letters == set(syllable) and len(word) >= len(syllable) + 2
            for syllable in self.language.laughing
        )

    @property
    def dated(self) -> bool:
        """Whether it names a day, a month, an hour or a time to come."""
        is_named = self.has("dates") or self.has("clock")
        return is_named or _TIME.search(self.text) is not None

    @property
    def asks(self) -> bool:
        """Whether all of it is a question."""
        if self._begins_asking and self.line.count(" . ") <= 2:
            beside = "?" in self.line and self.statement
            return not beside or self.points < (0 if self._is_of_self else KEEPS)
        return "?" in self.line and not self.statement

    @property
    def _begins_asking(self) -> bool:
        """Whether a sentence begins as a question does: `, which I like` is none."""
        before = (
            _SENTENCE_END.split(self.line[: match.start()])[-1]
            for match in self.language.hits("questions", self.line)
        )
        return any(
            len(phrases.words(lead)) <= LEAD_WORDS and not self._leads_from_somebody(lead)
            for lead in before
        )

    def _leads_from_somebody(self, lead: str) -> bool:
        """Whether words before a comma name what comes after it: `my landlord, who is …`."""
        return "," in lead and self.language.has("kin", f" {lead.strip()} ")

    @property
    def _is_of_self(self) -> bool:
        """Whether what it says beside a question is about the speaker."""
        row = f" . {self.statement} . "
        if len(phrases.words(row)) < FEW_WORDS:
            return False  # `have to write it down`
        return self.language.has("own", row) or self.language.has("kin", row)

    @property
    def statement(self) -> str:
        """The sentences of it that ask nothing."""
        return " ".join(
            part for part in re.findall(r"[^.?!]+[.?!]", self.line) if "?" not in part
        ).strip(" .!")

    @property
    def looks_up(self) -> bool:
        """Whether all of it asks for what one told of one's own: `what is my dog afraid of`."""
        return self.has("lookups") and "," not in self.line and self.line.count(" . ") <= 2

    @property
    def _wonders(self) -> bool:
        """Whether all of it asks who, what or when, shortly or of others.

        `When does Lena marry in June`; `how do I tell my wife that I lost my job` says much.
        """
        tells_beside = "?" in self.line and self.statement
        if not self.has("wondering") or "," in self.line or tells_beside:
            return False
        if len(self.words) <= SHORT_QUESTION and not self.has_digit:
            return True
        return not (self.has("own") or self.has("kin"))

    @property
    def tells_in_asking(self) -> bool:
        """Whether a question tells something: of the speaker, or much of anything.

        A name by itself is what is asked for.
        """
        if self.looks_up or self._wonders:
            return False
        if not any(map(self.has, ("life", "taste", "decided", "changed"))):
            return False
        return self.points >= (KEEPS if self.has("own") or self.has("kin") else KEEPS + 1)

    @property
    def absurd(self) -> bool:
        """Whether a thing, an animal or a leg does, in one sentence, what only people do."""
        return self._close("things", "roles") or self._close("creatures", "offices")

    def _close(self, first: str, second: str) -> bool:
        """Whether one cue stands shortly before another, with nobody of the speaker's between."""
        ends = [match.end() for match in self.language.hits(first, self.line)]
        starts = [match.start() for match in self.language.hits(second, self.line)]
        between = [
            self.line[end:start]
            for end in ends
            for start in starts
            if 0 < start - end <= ROLE_CHARS
        ]
        return any(
            not _PARTS.search(words) and not self.language.has("own", words) for words in between
        )

    @property
    def passes(self) -> bool:
        """Whether it is about a moment, and more than a word of it beside oneself is."""
        if self.points == -1 and self.has("own") and not self.has("passing"):
            return False
        return self.points < 0

    @property
    def quoted(self) -> float:
        """The share of its words that stand in quotation marks, rows of three and more."""
        rows = [len((a or b).split()) for a, b in _QUOTED.findall(self.text)]
        return sum(row for row in rows if row >= 3) / max(1, len(self.words))

    @property
    def reported(self) -> bool:
        """Whether it says what somebody else, a sign or a song says: `i work at the radio` not."""
        if self.quoted >= LEAST_QUOTED:
            return True
        of_self = (self.has("own") or self.has("kin")) and self.points >= SURE
        is_cited = self.quoted > 0 or " : " in self.line
        return self.has("reports") and (is_cited or not of_self)

    @property
    def points(self) -> int:
        """How much it has of what facts, plans and changes are told by, beside what it asks."""
        statement = self.statement if "?" in self.line else ""
        if statement:
            return WordedMessage(self.text, f". {statement} .", self.language).points
        of_self = self.has("own") or self.has("kin")
        told = sum(map(self.has, ("life", "names", "taste", "decided", "changed")))
        points = 2 * told + self.has("kin") + self.dated
        points += of_self * (self.has("lasting") + self.has_digit)
        fleeting = self.has("small") + (self.has("moments") and not told)
        return points - 2 * self.has("passing") - fleeting


def judge(text: str, code: str) -> Verdict:
    """Judge a message by its wording.

    Args:
        text: What somebody said.
        code: The language they speak: `de`.
    """
    language = language_file.load(code)
    text = text[:MOST_CHARS]
    wording = WordedMessage(text, language.line(text), language)
    confided = is_confided(wording)
    keep, why = _decided(wording, confided=confided)
    points = wording.points
    is_told = 0 <= points < len(LEAST_SHARES) and not wording.laughs
    return Verdict(
        keep,
        why,
        leans=points >= KEEPS if keep is None else keep,
        least_share=LEAST_SHARES[points] if is_told else LEAST_SHARE,
        confided=confided,
        hushes=hushes(wording),
        feelings=feelings.named(text, wording.line, language),
        corrects=wording.puts_right and not wording.asks,
        fleeting=points < 0,
        looks_up=wording.looks_up,
        asks=wording.asks,
        questions="?" in wording.line or wording.has("questions"),
        marked="?" in wording.line,
        laughs=wording.laughs,
        figured=(wording.has_digit or wording.has("clock")) and not wording.laughs,
    )


def asks_of_own(text: str, code: str) -> bool:
    """Whether a message asks, and tells nothing, of its speaker or somebody near to them."""
    language = language_file.load(code)
    wording = WordedMessage(text, language.line(text), language)
    if not wording.asks or wording.tells_in_asking:
        return False
    return wording.looks_up or wording.has("own") or wording.has("kin")


def points(text: str, code: str) -> int:
    """Return how much a text has of what facts, plans and changes are told by."""
    language = language_file.load(code)
    return WordedMessage(text, language.line(text), language).points


def figures(text: str, code: str) -> frozenset[Figure]:
    """Return which kinds of figure a text has: dates, and numbers that are none."""
    language = language_file.load(code)
    wording = WordedMessage(text, language.line(text), language)
    has_number = any(char.isdigit() for char in _TIME.sub(" ", text))
    kinds: dict[Figure, bool] = {"date": wording.dated, "number": has_number}
    return frozenset(kind for kind, is_there in kinds.items() if is_there)


def _decided(wording: WordedMessage, *, confided: bool) -> tuple[bool | None, str]:
    if confided and len(wording.words) >= LEAST_CONFIDED_WORDS and confides(wording):
        return True, CONFIDED
    if is_requested(wording):
        return True, REQUESTED
    for why, veto in VETOES:
        if veto(wording):
            # what follows from what is imagined is imagined, too
            between = _SENTENCE if why == IMAGINED else _PART
            rest = _without(wording, veto, between) if why in PARTIAL else None
            if rest is not None and rest.points >= TELLS_BESIDE:
                return _decided(rest, confided=confided)
            return False, why
    if wording.points >= KEEPS and not wording.laughs:
        return True, TOLD
    if wording.points >= SURE and wording.has("earnest"):
        return True, TOLD
    return None, "open"


def _without(
    wording: WordedMessage, veto: Callable[[WordedMessage], bool], between: re.Pattern[str]
) -> WordedMessage | None:
    """Return a message without the parts that a rule is about; None if nothing else is left."""
    parts = [
        WordedMessage(part, wording.language.line(part), wording.language)
        for part in between.split(wording.text)
        if part.strip()
    ]
    left = [part.text for part in parts if not veto(part)]
    if not left or len(left) == len(parts):
        return None
    text = ". ".join(left)
    return WordedMessage(text, wording.language.line(text), wording.language)


VETOES: tuple[tuple[str, Callable[[WordedMessage], bool]], ...] = (
    ("a jest", lambda wording: wording.has("jests")),
    ("absurd", lambda wording: wording.absurd),
    ("a riddle", lambda wording: wording.has("riddles")),
    (IMAGINED, lambda wording: wording.has("imagined")),
    ("maybe", lambda wording: wording.has("maybe")),
    ("a quotation", lambda wording: wording.reported),
    ("a saying", lambda wording: wording.has("sayings")),
    ("a task", lambda wording: wording.has("tasks")),
    ("a name", lambda wording: introduction.is_bare(wording.text)),
    (QUESTION, lambda wording: wording.asks and not wording.tells_in_asking),
    (LAUGH, lambda wording: wording.laughs and not wording.means_it),
    ("passing", lambda wording: wording.passes and len(wording.words) <= MANY_WORDS),
    (
        "few words",
        lambda wording: (
            len(wording.words) <= FEW_WORDS
            and not wording.has_digit
            and not wording.has("own")
            and wording.points < KEEPS
        ),
    ),
)


def is_requested(wording: WordedMessage) -> bool:
    """Whether somebody asks to keep in mind what they say, and means it."""
    if not wording.has("requested") or wording.laughs or wording.has("jests") or wording.absurd:
        return False
    rest = wording.language.patterns["requested"].sub(" ", wording.line)
    return len(phrases.words(rest)) >= LEAST_REQUESTED_WORDS


def beside_request(text: str, code: str) -> str:
    """Return what a message says beside the request to keep it in mind; empty without one."""
    language = language_file.load(code)
    text = text[:MOST_CHARS]
    wording = WordedMessage(text, language.line(text), language)
    return language.patterns["requested"].sub(" ", wording.line) if is_requested(wording) else ""


def is_confided(wording: WordedMessage) -> bool:
    """Whether a message is told in confidence, and tells something.

    `Don't tell me` and its like are no request to be silent; `don't tell him` by itself is about
    what was said elsewhere.
    """
    told = _told_in_confidence(wording)
    if told is None:
        return False
    return len(wording.words) >= TELLING_WORDS or told >= LEAST_TOLD_WORDS


def confides(wording: WordedMessage) -> bool:
    """Whether what is told in confidence is about the speaker or somebody near, or tells much.

    `Keep it down, the soufflé is in the oven` is neither.
    """
    return wording.has("own") or wording.has("kin") or wording.points > 0


def hushes(wording: WordedMessage) -> Literal["", "before", "after"]:
    """Return where that lies which a message asks to be silent about, if not in itself.

    `This stays between us:` is about what comes next, `tell nobody` about what came before.
    """
    told = _told_in_confidence(wording)
    if told is None:
        return ""
    if _ANNOUNCES.search(wording.text):
        return "after"
    return "before" if told <= BARE_WORDS and wording.points < KEEPS else ""


def _told_in_confidence(wording: WordedMessage) -> int | None:
    """Count the words beside a request to be silent; None without one."""
    if not wording.has("confided") or wording.quoted >= LEAST_QUOTED:
        return None
    rest = wording.language.beside("confided", wording.line)
    return len(phrases.words(wording.language.patterns["confided"].sub(" ", rest)))
