"""The act of a message, by the words of its language: news, a question, a joke, a correction.

What a reply without a model is worded for. The words stand in `languages/`, a file a language;
where there is none, every message tells something. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Literal

from msgspec import Struct

from bumble.choosing import language_file, rules
from bumble.choosing.rules import Verdict
from bumble.text import phrase_lookup, stop_words, yaml_read
from bumble.text.phrase_lookup import Patterns

FOLDER = resources.files(__package__).joinpath("languages")
Act = Literal[
    "greeting",
    "thanks",
    "goodbye",
    "wellbeing",
    "self",
    "likes",
    "origin",
    "knows",
    "clock",
    "recall",
    "prying",
    "opinion",
    "question",
    "request",
    "confided",
    "heavy",
    "bad",
    "good",
    "joke",
    "correction",
    "hypothetical",
    "plan",
    "telling",
]
# What is asked of the entity itself: who it is, what it likes, where it is from, whom it knows.
OF_ITSELF: tuple[Act, ...] = ("self", "likes", "origin", "knows")
_FACES: Mapping[str, re.Pattern[str]] = {  # mean the same in every language
    "joke": re.compile("[😂🤣😹😆😜😝🤪]"),
    "good": re.compile("[🎉🥳😍🥰🤩🎊❤💖😊]"),
    "bad": re.compile("[😢😭💔😞😔😟😩😡🤒🤕☹]"),
}
_QUESTION_MARK = re.compile("[?？؟]")
_CLAUSE_END = re.compile(r"(?<=[?？؟!])\s*|[.…,;:]+(?=\s|$)|\n")
_OPENING = "¿¡ "  # marks before the first word
_NUMBER = re.compile(r"\d")
_FILE = re.compile(
    r"(?<![\w-])[\w-]+\.(?:txt|md|pdf|csv|json|ya?ml|py|log|html?|docx?|ics|toml)\b", re.IGNORECASE
)
JOKES = ("a jest", "a riddle", rules.LAUGH)  # as the rules for keeping call them
SHORT, BRIEF = 6, 10  # words of a message that only greets; that only asks how one is
MOST_ASKED = 14  # words of a question without a question mark
MUCH = 3  # telling words beside a question that make it the lesser part
NEGATED = 2  # words between a negation and what it turns round


class Cues(Struct, frozen=True):
    """The words of one language by which acts show."""

    patterns: Mapping[str, re.Pattern[str]]

    def has(self, cue: str, text: str) -> bool:
        """Whether words of a cue stand in a folded text, or a face that means the same."""
        return self.last(cue, text) >= 0

    def begins(self, cue: str, text: str) -> bool:
        """Whether a folded text begins with words of a cue."""
        return self.patterns[cue].match(text.lstrip(_OPENING)) is not None

    def last(self, cue: str, text: str) -> int:
        """Return where a cue last stands in a folded text; -1: nowhere, or turned round."""
        places = [match.start() for match in self.patterns[cue].finditer(text)]
        places = [place for place in places if not self._negated(text[:place])]
        if cue in _FACES:
            places += [match.start() for match in _FACES[cue].finditer(text)]
        return max(places, default=-1)

    def _negated(self, before: str) -> bool:
        nearest = " ".join(re.split(r"[.,;!?]", before)[-1].split()[-NEGATED:])
        return self.patterns["negation"].search(nearest) is not None


@cache
def cues(language: str) -> Cues | None:
    """Read the words of a language; None if there is no file of it."""
    file = FOLDER.joinpath(f"{language}.yaml")
    if not file.is_file():
        return None
    listed = yaml_read.parse_mapping(file.read_text(encoding="utf-8"))
    mended = language_file.load(language).spelled
    return Cues(
        Patterns(
            {
                name: phrase_lookup.source([*map(mended, listing)])
                for name, listing in listed.items()
            }
        )
    )


def _plain(text: str, language: str) -> str:
    """Return a text as cues are looked up in it."""
    return phrase_lookup.folded(language_file.load(language).spelled(text))


def of(text: str, language: str, *, asks: bool | None = None) -> Act:
    """Return what a message is, as its words tell; of several acts the gravest.

    Args:
        text: The message.
        language: Its code: `de`.
        asks: Whether it asks for what its speaker told, where somebody knows better than the words.
    """
    listed = cues(language)
    if listed is None:
        return "recall" if asks or _QUESTION_MARK.search(text) else "telling"
    plain = _plain(text, language)
    parts = [part for part in _CLAUSE_END.split(plain) if part.strip()]
    verdict = rules.judge(text, language)
    asking = [part for part in parts if _asks(part, listed)]
    if asks is False:
        sure = (
            part for part in asking if _QUESTION_MARK.search(part) or listed.has("recall", part)
        )
        asking = list(sure)
    elif verdict.asks and not asking:
        asking = [part for part in parts if not listed.begins("tells", part)]
    told = " ; ".join(part for part in parts if part not in asking)
    recalls = asks or listed.has("recall", " ; ".join(asking))
    if (verdict.confided or listed.has("confided", told)) and not recalls:
        return "confided"
    if _is_heavy(told, listed):
        return "heavy"
    if verdict.why == rules.REQUESTED:
        return "plan"
    if asks:
        return "recall"
    if len(plain.split()) <= BRIEF + SHORT:
        for act in OF_ITSELF:
            if listed.has(act, plain):
                return act
    if verdict.looks_up and asks is None:
        return "recall"
    if listed.begins("hypothetical", plain):
        return "hypothetical"
    if len(stop_words.telling_words(told)) >= MUCH:
        asking = [part for part in asking if not _keeps_in_touch(part, listed)]
    if asking:
        act = _question(plain, " ; ".join(asking), listed)
        return "question" if act == "recall" and asks is False else act
    if verdict.keep is not True and _takes_leave(parts, listed):
        return "goodbye"
    return _courtesy(plain, listed) or _statement(plain, parts, listed, verdict)


def has_word_of_asking(text: str, language: str) -> bool:
    """Whether a word by which questions begin stands anywhere in a message."""
    listed = cues(language)
    if _QUESTION_MARK.search(text) or listed is None:
        return True
    return listed.patterns["asks"].search(_plain(text, language)) is not None


def _takes_leave(parts: Sequence[str], listed: Cues) -> bool:
    """Whether the end of a message takes leave, whatever is told before it."""
    last = [part.strip(" .!") for part in parts[-2:]]
    if any(listed.patterns["parting"].fullmatch(part) for part in last):
        return True
    return any(len(part.split()) <= SHORT and listed.has("goodbye", part) for part in last[-1:])


def _keeps_in_touch(clause: str, listed: Cues) -> bool:
    """Whether a question only asks how one is, as people do before they tell something."""
    is_short = len(clause.split()) <= SHORT
    return is_short and (listed.has("wellbeing", clause) or listed.begins("greeting", clause))


def _is_heavy(told: str, listed: Cues) -> bool:
    """Whether somebody has died or is in great need; a battery may die too."""
    return listed.has("heavy", told) or any(
        listed.has("dies", part) and listed.has("beloved", part) for part in told.split(";")
    )


def _asks(clause: str, listed: Cues) -> bool:
    if listed.begins("tells", clause):
        return False
    if _QUESTION_MARK.search(clause):
        return True
    if listed.begins("relative", clause):
        return False
    count = len(clause.split())
    recalls = count <= MOST_ASKED and listed.has("recall", clause)
    if recalls and listed.patterns["asks"].search(clause):
        return True  # `the surveyor again which day`
    return count <= MOST_ASKED and not clause.endswith("!") and _begins_asking(clause, listed)


def _begins_asking(clause: str, listed: Cues) -> bool:
    """Whether a word of asking comes first, or behind words that lead to it: `until when`."""
    start = 0
    while not listed.patterns["asks"].match(clause, start):
        lead = listed.patterns["leads"].match(clause, start)
        if lead is None:
            return False
        start = lead.end() + len(clause[lead.end() :]) - len(clause[lead.end() :].lstrip())
    return True


def _question(plain: str, asked: str, listed: Cues) -> Act:
    """Return what a question is: by all that is said, and whether of the speaker by it alone."""
    count = len(plain.split())
    if listed.has("recall", plain):
        return "recall"
    if listed.has("clock", plain) and count <= BRIEF and _is_of_now(plain, listed):
        return "clock"
    if listed.has("wellbeing", plain) and count <= BRIEF:
        return "wellbeing"
    for act in ("opinion", "request"):
        if listed.has(act, asked):
            return act
    if listed.has("advice", asked) and not listed.has("number", asked):
        return "opinion"  # `when must I be there` is none: that was told
    of_somebody = listed.has("own", asked) or listed.has("absent", asked)
    return "recall" if of_somebody else "question"


def _is_of_now(plain: str, listed: Cues) -> bool:
    """Whether a question for the time is for that alone, not for when something is."""
    for cue in ("clock", "present", "greeting", "recall"):
        plain = listed.patterns[cue].sub(" ", plain)
    return not stop_words.telling_words(plain)


def _courtesy(plain: str, listed: Cues) -> Act | None:
    """Return what a short message is that only keeps in touch."""
    count = len(plain.split())
    if count > BRIEF or listed.has("bad", plain) or listed.has("good", plain):
        return None
    if listed.has("goodbye", plain):
        return "goodbye"
    if listed.has("thanks", plain):
        return "thanks"
    if listed.has("wellbeing", plain) and count <= SHORT:
        return "wellbeing"
    return "greeting" if listed.begins("greeting", plain) and count <= SHORT + 1 else None


def _statement(plain: str, parts: Sequence[str], listed: Cues, verdict: Verdict) -> Act:
    if any(listed.begins("request", part) for part in parts):
        return "request"
    deadpan = verdict.why == "absurd" and not listed.has("bad", plain)
    noted = verdict.leans if verdict.keep is None else verdict.keep
    # what is worth keeping is meant, however much somebody laughs
    laughs = listed.has("joke", plain) and not verdict.corrects and not noted
    if laughs or verdict.why in JOKES or deadpan:
        return "joke"
    is_imagined = listed.has("hypothetical", plain) and verdict.keep is not True
    if verdict.why == rules.IMAGINED or is_imagined:
        return "hypothetical"
    if listed.has("correction", plain):
        return "correction"
    dated = listed.has("time", plain) or _NUMBER.search(plain) is not None
    if verdict.corrects and dated:
        return "correction"
    if news := _news(plain, listed):
        return news
    if verdict.corrects:
        return "correction"
    return (
        "plan" if noted or (dated and verdict.keep is None and not verdict.fleeting) else "telling"
    )


def _news(plain: str, listed: Cues) -> Literal["good", "bad"] | None:
    """Return whether something good or bad is told; of both the later, if one is set against it.

    Where the dead are spoken of nothing is good news, not a birthday either.
    """
    bad, good = listed.last("bad", plain), listed.last("good", plain)
    if good >= 0 > bad and listed.has("solemn", plain):
        return None
    if bad >= 0 and good >= 0:
        turns = listed.patterns["contrast"].search(plain, min(bad, good), max(bad, good))
        if turns is None and listed.has("pride", plain):
            return "good"
        return "bad" if bad > good else "good"
    if max(bad, good) >= 0:
        return "bad" if bad >= 0 else "good"
    # what is good, but for a word that turns it round
    return "bad" if listed.patterns["good"].search(plain) else None


def greets(text: str, language: str) -> bool:
    """Whether a message begins with a greeting."""
    listed = cues(language)
    return listed is not None and listed.begins("greeting", _plain(text, language))


def needs_tools(text: str, language: str) -> bool:
    """Whether a message asks for what only a tool can do: it names a file, or such work.

    Such a word counts where it begins a clause, or in a clause that asks: somebody who tells that
    they `write down every ship that goes by` wants nothing done.
    """
    if names_file(text):
        return True
    listed = cues(language)
    if listed is None:
        return False
    parts = [part.lstrip(_OPENING) for part in _CLAUSE_END.split(_plain(text, language))]
    return any(
        listed.begins("tools", part)
        or (listed.has("tools", part) and (listed.begins("request", part) or _asks(part, listed)))
        for part in parts
    )


def names_file(text: str) -> bool:
    """Whether a message names a file."""
    return _FILE.search(text) is not None


def asks_number(text: str, language: str) -> bool:
    """Whether a message asks for a number, a day or a time: `he paled when I came` doesn't."""
    return _shows("number", " ".join(asking(text, language)) or text, language)


def asks_again(text: str, language: str) -> bool:
    """Whether a message asks in words for what was told: `what was it again`."""
    return _shows("recall", " ".join(asking(text, language)), language)


def asks_advice(text: str, language: str) -> bool:
    """Whether a message asks what somebody should, may or can do."""
    return _shows("advice", text, language)


def tells_number(text: str, language: str) -> bool:
    """Whether a message names a number, a day or a time."""
    return _shows("time", text, language) or _NUMBER.search(text) is not None


def _shows(cue: str, text: str, language: str) -> bool:
    """Whether words of a cue stand in a message, turned round or not."""
    listed = cues(language)
    return listed is not None and listed.patterns[cue].search(_plain(text, language)) is not None


def asked(text: str, language: str) -> str:
    """Return what a message asks, without the words of asking; all of it where none shows."""
    listed = cues(language)
    if listed is None:
        return text
    about = " ".join(asking(text, language))
    for cue in ("recall", "asks"):
        about = listed.patterns[cue].sub(" ", about)
    if stop_words.telling_words(about):
        return about
    return listed.patterns["recall"].sub(" ", _plain(text, language))


def asking(text: str, language: str) -> list[str]:
    """Return the clauses of a message that ask, as cues are matched in."""
    listed = cues(language)
    if listed is None:
        return []
    clauses = _CLAUSE_END.split(_plain(text, language))
    return [clause for clause in clauses if clause.strip() and _asks(clause, listed)]
