"""Replies by fixed form: the act of a message, its words in quotation marks, what is remembered.

A reply is one wording of each part that the language's forms have for the act, none of them among
the last replies. In a language without forms the entity only quotes. Asks no model.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime
from itertools import permutations, product

from msgspec import Struct

from bumble.agent import acts
from bumble.choosing import rules
from bumble.context.statements import Excerpt
from bumble.forms.forms import Forms, Parts
from bumble.grounding import claims
from bumble.text import passed_on, stop_words, words

LATEST = 6  # replies none of whose wordings is taken again
MOST_WORDS, MOST_CHARS = 20, 140  # of a message that is quoted whole
# What of a long message is quoted: what a comma that cuts it off, the root of the count of its
# words and a point of the rules for keeping count.
MID_SENTENCE, LENGTH, POINT = -6, 3, 4
QUOTE_CHARS = 240  # of what is remembered
# Acts whose replies a model may take for examples of how to speak: the others refuse, or quote.
SPEAKS = frozenset(
    (
        "greeting",
        "thanks",
        "goodbye",
        "wellbeing",
        *acts.OF_ITSELF,
        "confided",
        "heavy",
        "bad",
        "good",
    )
) | {"joke", "hypothetical", "telling"}
_GREETED = ("self", "wellbeing", "telling", "plan", "good")  # with a greeting before, if greeted
GOES_ON = "telling"  # the act whose last part fits behind any reply
_ENDS, _CLOSING = (".", "!", "?", "…"), "”“»' "  # of a sentence; marks behind its end
_CLAUSE = re.compile(r"(?<=[.!?…;])(?<!\d\.)\s+|,\s+")  # `3. Stock` is no end
_SLOT = re.compile(r"\{\w+\}")
_QUOTE_BEFORE = re.compile(r"(\{(?:said|quote)\})(?=\s)")
_CALLED = re.compile(r",? ?\{who\}")


class FormScene(Struct, frozen=True):
    """What a reply by form is made from."""

    message: str
    language: str
    wordings: Forms | None  # None: there are none in this language
    person: str  # id of who spoke
    who: str  # what they are called; empty: no name is known
    name: str  # the entity's
    at: datetime  # in the entity's time zone
    quotes: Sequence[Excerpt]  # what answers the message
    earlier: Sequence[str]  # the entity's replies, oldest first
    nearest: Sequence[Excerpt] = ()  # without quotes, what comes nearest to an answer
    people: AbstractSet[str] = frozenset()  # parts of the names of those it knows, folded
    story: Sequence[str] = ()  # what it says of itself, in the words of its owner


class FormReply(Struct, frozen=True):
    """A reply, and the act it is worded for."""

    text: str
    act: str


def compose(act: acts.Act, scene: FormScene, rng: random.Random) -> FormReply:
    """Word a reply to a message.

    Args:
        act: What the message is.
        scene: Who spoke, and what is remembered.
        rng: Chooses among wordings.
    """
    if scene.wordings is None:
        return _quoted_alone(scene)
    worder = _Worder(scene, scene.wordings, rng)
    return worder.unheard(_worded(act, scene, scene.wordings, worder))


def _worded(act: acts.Act, scene: FormScene, wordings: Forms, worder: _Worder) -> FormReply:
    if act == "prying":  # what answers it somebody else said openly
        by_others = [each for each in scene.quotes if each.speaker not in ("", scene.person)]
        return worder.remembered(by_others) if by_others else worder.reply("prying")
    if act in ("recall", "question") and scene.quotes:
        return worder.remembered(scene.quotes)
    of_somebody = act == "recall" or (act == "question" and names_somebody(scene))
    nearest = scene.nearest or scene.quotes[:1]
    if nearest and (of_somebody or act == "opinion"):
        return worder.nearest(nearest)
    if of_somebody:
        return worder.reply("unknown")
    if act == "knows" and not scene.who:
        return worder.reply("self")
    reply = worder.reply(act)
    if act in _GREETED and acts.greets(scene.message, scene.language):
        hello = worder.worded(wordings.talk.acts["greeting"][:1], {})
        return FormReply(f"{hello} {reply.text}", act)
    return reply


def finished(scene: FormScene, rng: random.Random, *, failed: bool) -> FormReply:
    """Word what came of work with tools whose own answer could not be used."""
    if scene.wordings is None:
        return _quoted_alone(scene)
    worder = _Worder(scene, scene.wordings, rng)
    return worder.unheard(worder.reply("tried" if failed else "done"))


def names_somebody(scene: FormScene) -> bool:
    """Whether a question is about somebody by name: that is remembered, or not known.

    In German every noun has a capital letter, so there only known names tell.
    """
    own = {words.folded(part) for name in (scene.name, scene.who) for part in name.split()}
    for word in map(words.folded, stop_words.words(scene.message)):
        if not {word, word.removesuffix("s").removesuffix("'")}.isdisjoint(scene.people - own):
            return True
    if scene.language == "de":
        return False
    message = scene.message[:1].lower() + scene.message[1:]
    return bool(claims.unsupported(message, (), (scene.name, scene.who), scene.language))


def _quoted_alone(scene: FormScene) -> FormReply:
    if scene.quotes:
        return FormReply("\n".join(f"“{_short(quote.text)}”" for quote in scene.quotes), "told_me")
    return FormReply(f"“{gist(scene.message, scene.language)}”", "telling")


def gist(message: str, language: str) -> str:
    """Return a message on one line, or of a long one the words that tell most, as they stand.

    What somebody passes on in it is not theirs, and left out.

    Args:
        message: What was said.
        language: The language it is in: `de`.
    """
    own = passed_on.own(message).replace(passed_on.LEFT_OUT, "")
    line = words.one_line(own).rstrip(" :") or words.one_line(message)
    if len(line) <= MOST_CHARS and len(line.split()) <= MOST_WORDS:
        return line.rstrip(".")
    between = [
        match
        for match in _CLAUSE.finditer(line)
        if not words.ends_in_abbreviation(line[: match.end()])
    ]
    ends = [match.start() for match in between]
    starts = [0, *(match.end() for match in between)]
    rows = {
        line[start:end]: _weight(line[start:end], language)
        + MID_SENTENCE * (line[:start].endswith(", ") + line[end:].startswith(","))
        for first, start in enumerate(starts)
        for end in [*ends, len(line)][first:]
        if len(line[start:end].split()) <= MOST_WORDS
    }
    best = max(rows, key=rows.__getitem__, default=line)
    return words.shorten(best.rstrip(".,;"), MOST_CHARS, at_word=True)


def _weight(clauses: str, language: str) -> float:
    """Say how much a row of clauses tells: its words, numbers more, and what is kept most."""
    numbers = len(re.findall(r"\d+", clauses))
    told = rules.points(clauses, language)
    return LENGTH * math.sqrt(len(clauses.split())) + 3 * numbers + POINT * told


def _tokens(text: str) -> tuple[str, ...]:
    """Return what makes two replies the same: their words, however written."""
    return tuple(stop_words.words(text))


def _closed(text: str) -> str:
    return text if text.rstrip(_CLOSING).endswith(_ENDS) else f"{text}."


def _short(text: str) -> str:
    return words.shorten(text, QUOTE_CHARS, at_word=True)


class _Worder:
    """Chooses wordings for one reply."""

    def __init__(self, scene: FormScene, wordings: Forms, rng: random.Random) -> None:
        self.scene, self.wordings, self.rng = scene, wordings, rng
        self.heard = {_tokens(reply): n for n, reply in enumerate(scene.earlier)}

    def unheard(self, reply: FormReply) -> FormReply:
        """Return a reply that was never said before: with what it answers, and more, behind it.

        Where all of that was said too, the one that was said longest ago.
        """
        if _tokens(reply.text) not in self.heard:
            return reply
        said = self._marked(gist(self.scene.message, self.scene.language))
        more = [wording for wording in self.wordings.talk.acts[GOES_ON][-1] if wording]
        self.rng.shuffle(more)
        quoted = [] if said in reply.text else [said]
        pairs = (f"{first} {second}" for first, second in permutations(more, 2))
        tails = [*quoted, *more, *(f"{said} {wording}" for wording in more), *pairs]
        longer = [f"{_closed(reply.text)} {tail}" for tail in tails]
        best = min(longer, key=lambda text: self.heard.get(_tokens(text), -1))
        return FormReply(best, reply.act)

    def reply(self, act: str) -> FormReply:
        slots = {
            "said": self._marked(gist(self.scene.message, self.scene.language)),
            **self._clock(),
        }
        parts = self.wordings.talk.acts[act]
        if act in ("self", "likes") and self.scene.story:
            *first, _ = parts
            parts = (*first, tuple(self.scene.story))
        return FormReply(self.worded(parts, slots), act)

    def remembered(self, quotes: Sequence[Excerpt]) -> FormReply:
        first, *more = quotes
        act = "noted" if not first.speaker else "told_by"
        if first.speaker == self.scene.person:
            act = "told_me"
        parts = [self.worded(self.wordings.talk.acts[act], self._of(first))]
        for quote in more:
            before = "before" if quote.at and quote.speaker == first.speaker else act
            before = "noted" if not quote.speaker else before
            parts.append(self.worded(self.wordings.talk.acts[before], self._of(quote)))
        return FormReply(" ".join([*map(_closed, parts[:-1]), parts[-1]]), act)

    def nearest(self, quotes: Sequence[Excerpt]) -> FormReply:
        acts_of = ("nearest", *("or" for _ in quotes[1:]))
        parts = [
            self.worded(self.wordings.talk.acts[act], self._of(quote))
            for act, quote in zip(acts_of, quotes, strict=True)
        ]
        return FormReply(" ".join([*map(_closed, parts[:-1]), parts[-1]]), "nearest")

    def worded(self, parts: Parts, slots: Mapping[str, str]) -> str:
        """Return one wording of each part, filled, such as was not said lately."""
        named = {"who": self.scene.who, "name": self.scene.name, **slots}
        each = [self._usable(part) for part in parts]
        texts = [" ".join(filter(None, chosen)) for chosen in product(*each)]
        self.rng.shuffle(texts)

        def filled(text: str) -> str:
            text = _QUOTE_BEFORE.sub(r"\1.", text)  # what is quoted has no full stop of its own
            text = _SLOT.sub(lambda match: named.get(match[0][1:-1], ""), text)
            return text[:1].upper() + text[1:]

        best = min(
            texts, key=lambda text: (_tokens(filled(text)) in self.heard, *self._lately(text))
        )
        return filled(best)

    def _usable(self, part: Sequence[str]) -> Sequence[str]:
        """Return the wordings of a part; nobody is called by a name that isn't known."""
        if self.scene.who:
            return part
        return list(dict.fromkeys(_CALLED.sub("", wording) for wording in part))

    def _lately(self, text: str) -> tuple[int, int]:
        """Say how much of a wording the entity said before: lately, then ever."""
        pieces = [piece.strip() for piece in _SLOT.split(text)]
        pieces = [part for piece in pieces for part in words.sentences(piece) if len(part) > 2]
        latest = self.scene.earlier[-LATEST:]
        lately = sum(piece in reply for piece in pieces for reply in latest)
        ever = sum(piece in reply for piece in pieces for reply in self.scene.earlier)
        return lately, ever

    def _clock(self) -> dict[str, str]:
        return {"time": f"{self.scene.at:%H:%M}", "day": weekday(self.wordings, self.scene.at)}

    def _of(self, quote: Excerpt) -> dict[str, str]:
        when = "" if quote.at is None else self._when(quote.at)
        return {
            "quote": self._marked(_short(quote.text)),
            "when": when,
            "who": quote.name,
        }

    def _when(self, at: datetime) -> str:
        local, here = at.astimezone(self.scene.at.tzinfo), self.scene.at
        days = (here.date() - local.date()).days
        form = self.wordings.talk.at
        if days in (0, 1):
            return form.yesterday if days else form.today
        return form.date.format(date=day(self.wordings, local.date(), here.year))

    def _marked(self, text: str) -> str:
        opening, closing = self.wordings.memory.quotation_marks
        return f"{opening}{text}{closing}"


def day(wordings: Forms, when: date, year: int) -> str:
    """Write a day, with its year if that is another than the present one."""
    memory = wordings.memory
    month = memory.months[when.month - 1]
    if when.year == year:
        return memory.day.format(day=when.day, month=month)
    return memory.date.format(day=when.day, month=month, year=when.year)


def weekday(wordings: Forms, at: datetime) -> str:
    """Write a day with its weekday: Monday, 9 November."""
    return f"{wordings.talk.weekdays[at.weekday()]}, {day(wordings, at.date(), at.year)}"
