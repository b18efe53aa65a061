"""Whether a sentence of a model stands on its sources: the ids it cites, their words, names, time.

A claim is about the world or a person: it cites messages and names the words in them that it rests
on. Its names stand in what was said or in what is known. A number or date stands in a message it
cites that bears on the sentence: that shares its subject, and counts the same thing. What a newer
message says of the same subject replaces what older ones said. Prose is the entity's own reading,
and is held to names, numbers and dates alone. No share of words in common is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal
from itertools import chain, combinations, pairwise
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from bumble.entity import secrets
from bumble.guard import claims, clauses, clock, corrections, names, number_words, origins, values
from bumble.guard.clauses import Source, Subject, shares
from bumble.guard.corrections import may_be
from bumble.guard.values import Number, ReadText
from bumble.index import form
from bumble.text import languages, stop_words, words

Verdict = Literal["keep", "inference", "mend"]
_SURE = 20  # from here on hardly a number is the product of others by chance
_FEW_THINGS = (2, 3, 4)  # that may be named one by one
_ABOUT_THEN = Decimal("0.25")  # hours
# Before them: who says "two fees" tells how many there are, who says "the two" doesn't.
_THE = frozenset(["the", "die", "den", "les", "los", "las", "le", "gli"])
OWN = "a"  # before the number of an answer of the entity: `a4`
_SAY_I = frozenset(["en", "de", "nl", "sv", "da", "no"])  # languages that say it by a word
FEW = 3  # messages that a sentence cites, each of which is taken to bear on it
ONLY, ONLY_SHARE = 1.2, 0.4  # of its words, in what was asked or imagined; told, at most
# Weight of words of one message that only the entity said: from which on they tell something, how
# many times that of what the cited messages say of it, and enough by themselves.
ENTITYS_OWN, ENTITYS_TIMES, ENTITYS_MOST = 0.6, 4, 1.2
ANSWER_WORDS = 3  # of a clause that answers the question before it
ENOUGH_CHARS = 30  # of what was said, to be sure of its language
_OLDEST = 120
# Words before a round number that stands for one near it.
_ABOUTS = """
about almost nearly around over under roughly etwa fast rund knapp gut uber mitte anfang ende
circa ca casi unos presque environ zo'n zon quasi quase bijna ongeveer
"""
# Verbs of telling, which say nothing that was told, folded.
_TELLINGS = """
told tells said says asked asks mentioned erzahlte erzahlt erzahlen sagte fragte berichtete dit
raconte demande dijo conto pregunto disse perguntou detto raccontato chiesto vertelde zei vroeg
"""
_TELLING = frozenset(_TELLINGS.split())
_ABOUT = frozenset(_ABOUTS.split())
_NEAR_SHARE, _NEAR_YEARS = Decimal("0.1"), Decimal(9)
_SHORT_YEAR = 10  # a year of two digits, from which on
_THOUSAND = 1000


class Said(Struct, frozen=True):
    """One message."""

    id: str
    at: datetime
    who: str  # their name
    text: str
    is_hearsay: bool = False  # the entity said it of something that it had read


class CitedClaim(Struct, frozen=True):
    """A sentence about the world or a person, as a model wrote it."""

    text: str
    cites: tuple[str, ...]  # ids of messages
    rests_on: tuple[str, ...] = ()  # words of those messages
    inference: bool = False  # whether it goes beyond these words


class SourceVerdict(Struct, frozen=True):
    """What becomes of a sentence, and why it can't stay as it is."""

    verdict: Verdict
    why: str = ""  # for the model that is to mend it


class ClaimSources(Struct, frozen=True):
    """What the sentences about a stretch of talk may rest on."""

    window: tuple[Said, ...] = ()
    known: tuple[str, ...] = ()  # sentences that are remembered already
    names: tuple[str, ...] = ()  # that need no source: of those who took part, and the entity
    zone: tzinfo = UTC
    # Its name: what it said itself bears out only numbers and dates of what it tells of itself.
    entity: str = ""

    @property
    def texts(self) -> list[str]:
        """All that was said, and is known; not what somebody passed on."""
        own = words.folded(self.entity)
        said = (one for one in self.window if not one.is_hearsay or words.folded(one.who) == own)
        return [*(each.text for each in said), *self.known]

    def bear(self, text: str) -> bool:
        """Whether prose holds nothing that nobody gave."""
        return check_prose(text, self).verdict != "mend"

    def sound(self, sentences: Iterable[str]) -> list[str]:
        """Return the sentences that may stand."""
        return list(filter(self.bear, sentences))


class Evidence(Struct, frozen=True):
    """A sentence with what it may rest on: made once, for all checks."""

    claim: CitedClaim
    sources: ClaimSources
    people: tuple[str, ...]  # names that need no source
    cited: Sequence[Said]  # what it cites of what may bear it out, a yes with its question
    sentence: Subject
    heard: Sequence[Source]  # what is known, and all that may bear it out, the oldest first
    given: Sequence[Source]  # likewise, of what was said only what it has to rest on
    reckoned: Sequence[Number]  # its numbers that nobody gave


KEPT = SourceVerdict("keep")
COUNTED = SourceVerdict("inference", "it follows by counting")


def check(claim: CitedClaim, sources: ClaimSources) -> SourceVerdict:
    """Tell whether a claim stands on the messages it cites."""
    evidence = _evidence(claim, sources, cites=True)
    found = _verdict(evidence, OF_CLAIMS)
    goes_beyond = (
        claim.inference
        or not evidence.sentence.cites
        or any(one.is_hearsay for one in evidence.cited)
    )
    return SourceVerdict("inference") if found.verdict != "mend" and goes_beyond else found


def check_prose(text: str, sources: ClaimSources, *, outdated: bool = True) -> SourceVerdict:
    """Tell whether prose holds no name, number or date that nobody gave.

    Args:
        text: Of any number of sentences.
        sources: What it may rest on.
        outdated: Whether what was put right since doesn't stand, either.
    """
    wanted = OF_PROSE if outdated else OF_PROSE[:-1]
    if numbers := number_words.whole(text):  # a title of no other words is of no language
        language = words.language(*(one.text for one in sources.window))
        given = (values.read(one, language) for one in sources.texts)
        if any(one.value in numbers for read in given for one in read.numbers):
            return KEPT
    for sentence in words.sentences(text):
        evidence = _evidence(CitedClaim(sentence, ()), sources, cites=False)
        if (found := _verdict(evidence, wanted)).verdict == "mend":
            return found
    return KEPT


def strangers(text: str, sources: ClaimSources) -> list[str]:
    """Return the names in prose that nobody gave."""
    language = words.language(text, *sources.texts)
    people = (*sources.names, *(each.who for each in sources.window))
    return claims.strange(text, sources.texts, people, language)


def _evidence(claim: CitedClaim, sources: ClaimSources, *, cites: bool) -> Evidence:
    """Read a sentence with its sources; `cites`: whether it is a claim, not a reading."""
    own, window = words.folded(sources.entity), sources.window
    # What it did itself, the entity tells. Else it says that something is so: then it has to have
    # been told, not only asked or imagined. What the entity asked, somebody's answer does.
    is_told = cites and not _is_of_itself(claim, sources)

    def bears(one: Said) -> bool:
        is_own = words.folded(one.who) == own
        if one.is_hearsay and (is_told or not is_own):
            return one.id in claim.cites  # what was read, or passed on, bears out what cites it
        return not (is_told and is_own)

    said = list(filter(bears, window))
    before = {one.id: asked.text for asked, one in pairwise(window)}
    cited = [  # a yes says what was asked right before it
        replace(one, text=clauses.with_question(before.get(one.id, ""), one.text))
        for one in said
        if one.id in claim.cites
    ]
    rests = cited if is_told else said
    people = (*sources.names, *(each.who for each in window))
    language = words.language(claim.text, *(each.text for each in rests), *sources.known)
    read = values.read(_without_months(claim.text, people, language), language)
    sentence = Subject(
        claim.text, read, read.content - clauses.stems_of(people, language), language, is_told
    )
    spoken = words.language(*(each.text for each in (*rests, *said)), default=language)
    ids = {each.id for each in rests}

    def sources_of(messages: Iterable[Said]) -> Iterator[Source]:
        yield from (Source(one, "", values.read(one, language)) for one in sources.known)
        for each in sorted(messages, key=lambda one: one.at):
            yield Source(
                each.text,
                words.folded(each.who),
                values.read(each.text, spoken),
                each.at.astimezone(sources.zone),
                each.id in ids,
            )

    heard, given = list(sources_of(said)), list(sources_of(rests))
    return Evidence(
        claim, sources, people, cited, sentence, heard, given, list(_not_given(sentence, given))
    )


def _without_months(text: str, people: Iterable[str], language: str) -> str:
    """Return a text without the names that are months as well: "11 for Jun"."""
    months = values.calendar_words(language).months
    for part in {part for name in people for part in name.split()}:
        if words.folded(part) in months:
            is_date = (
                r"(?<!\d )(?<!\d\. )(?<!\dth )(?<!\dst )(?<!\dnd )(?<!\drd )(?<! de )(?<! of )"
            )
            text = re.sub(rf"{is_date}\b{re.escape(part)}\b(?! \d)", "…", text)
    return text


def _verdict(
    evidence: Evidence, checks: Sequence[tuple[Callable[[Evidence], str], str]]
) -> SourceVerdict:
    """Return all that checks find in a sentence: what is mended by half fails again."""
    entity, reasons = evidence.sources.entity, list[str]()
    for find, why in checks:
        if found := find(evidence):
            reasons.append(why.format(found, entity=entity))
            if find is _wrong_citation:  # on it all else rests
                break
    if reasons:
        return SourceVerdict("mend", "; ".join(reasons))
    if all(_is_sum(one, evidence.sentence, evidence.given) for one in evidence.reckoned):
        return KEPT
    return COUNTED


def _wrong_citation(evidence: Evidence) -> str:
    there = {one.id for one in evidence.sources.window}
    if not evidence.cited or not there.issuperset(evidence.claim.cites):
        return "cites no message that a person said in this conversation"
    has_words = any(rests.strip() for rests in evidence.claim.rests_on)
    return "" if has_words else "does not name the words that it rests on"


def _misquoted(evidence: Evidence) -> str:
    said = _apart(" ".join(one.text for one in evidence.cited))
    wrong = (one for one in evidence.claim.rests_on if _apart(one) not in said)
    return next((f'"{one}"' for one in wrong), "")


def _apart(text: str) -> str:
    """Write words between blanks; of "l'eparina" both are: a run may begin behind the first."""
    bare = stop_words.bare(clauses.ELIDED.sub(r"\1 ", text))
    return f" {bare} "


def _only_the_entity_said(evidence: Evidence) -> str:
    """Return the words of a sentence that only the entity said; empty: they tell nothing of it.

    Names tell whom it is about. What it asked and somebody answered is told by the answer.
    """
    claim, cited, window = evidence.claim, evidence.cited, evidence.sources.window
    answered = (asked for asked, _ in _answered(evidence))
    language = words.language(claim.text, *(one.text for one in window))
    called = clauses.stems_of((*evidence.people, *claims.claims(claim.text, language)), language)
    spoken = " ".join(one.text for one in cited)
    if len(spoken) < ENOUGH_CHARS:  # what else they said tells its language
        speakers = {one.who for one in cited}
        spoken = " ".join(one.text for one in window if one.who in speakers)
    tongues = {languages.language(claim.text), languages.language(spoken)}
    # surely: of words in two none are the same
    if not evidence.sentence.cites or ("" not in tongues and len(tongues) > 1):
        return ""
    tokens = clauses.tokens_of(claim.text)
    whole = {words.stem(token, language): token for token in tokens}
    weights = clauses.weigh(tokens, language).items()
    told = {stem: weight for stem, weight in weights if stem not in called}
    said = _stems([*(one.text for one in evidence.heard), *answered], language)
    shared = _stems((one.text for one in cited), language)
    by_them = sum(weight for stem, weight in told.items() if shares([stem], shared))
    enough = min(ENTITYS_MOST, max(ENTITYS_OWN, by_them * ENTITYS_TIMES))
    telling = {words.stem(word, language) for word in _TELLING}
    for one in window:
        if words.folded(one.who) == words.folded(evidence.sources.entity):
            own = _stems([one.text], language)
            only = [stem for stem in told if stem in own and not shares([stem], said)]
            only = [stem for stem in only if stem not in telling]
            if sum(told[stem] for stem in only) >= enough:
                return ", ".join(whole[stem] for stem in only)
    return ""


def _answered(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """Yield what stands right before the messages that a sentence cites, each with its answer."""
    for asked, answer in pairwise(evidence.sources.window):
        if answer.id in evidence.claim.cites and not asked.is_hearsay:
            yield asked.text, answer.text


def _stems(texts: Iterable[str], language: str) -> set[str]:
    return {stem for one in texts for stem in clauses.weigh(clauses.tokens_of(one), language)}


def _secret(evidence: Evidence) -> str:
    hidden = secrets.HIDDEN in evidence.claim.text
    return secrets.find_secret(evidence.claim.text) or (
        "a place where a secret was" if hidden else ""
    )


def _strangers(evidence: Evidence) -> str:
    grounds = [one.text for one in (*evidence.heard, *evidence.given)]
    people, text, language = evidence.people, evidence.claim.text, evidence.sentence.language
    # an answer of which the sentence has something takes over the names before its question;
    # those within it only a yes does
    grounds += [
        " ".join(one for one in words.sentences(asked) if not one.endswith(words.QUESTION_MARKS))
        for asked, answer in _answered(evidence)
        if asked.rstrip().endswith(words.QUESTION_MARKS)
        and not any(clauses.denies(token, language) for token in clauses.tokens_of(answer))
        and shares(evidence.sentence.subjects, _stems([answer], language))
    ]
    strange = claims.strange(text, grounds, people, language)
    as_it_stands = names.elsewhere(strange, people) if strange else ()
    hint = f" (write names as they stand: {', '.join(as_it_stands)})" if as_it_stands else ""
    return ", ".join(strange) + hint


def _made_up(evidence: Evidence) -> str:
    sentence, given = evidence.sentence, evidence.given
    strange = (
        number.word
        for number in evidence.reckoned
        if not (_follows(number, sentence, given) or _are_counted(number, sentence, given))
    )
    return _strange_time(sentence, given) or next(strange, "")


def _put_right(evidence: Evidence) -> str:
    own = words.folded(evidence.sources.entity)  # what it says itself puts nothing right
    theirs = [one for one in evidence.heard if one.at is None or one.who != own]
    newer = corrections.newer(evidence.sentence, theirs)
    # what was counted rests on each of its messages
    counts_it = any(one.at and one.text.endswith(newer) for one in evidence.given)
    return "" if evidence.reckoned and counts_it else newer


def _is_of_itself(claim: CitedClaim, sources: ClaimSources) -> bool:
    """Whether a sentence tells what the entity did, thought or said.

    Where a verb alone may say "I", as in most languages, it does if it cites an answer.
    """
    tokens = clauses.tokens_of(claim.text)
    language = words.language(claim.text, *(one.text for one in sources.window))
    people = {words.folded(part) for name in sources.names for part in name.split()}
    cites_answer = any(label.startswith(OWN) for label in claim.cites)
    if cites_answer and language not in _SAY_I and people.isdisjoint(tokens[:1]):
        return True
    rules = form.rules_of(language)
    says_i = rules is not None and not rules.i.isdisjoint(tokens)
    return says_i or tokens[:1] == [words.folded(sources.entity)]


def _only_how(evidence: Evidence) -> str:
    """Return how what a sentence states was said, if it was only asked or imagined."""
    sentence, sources = evidence.sentence, (one for one in evidence.given if one.at)
    if not sentence.cites or sentence.language not in clauses.HEDGED:
        return ""  # "Kasia zapytała, skąd Nadia wiedziała"
    if not clauses.HEDGES.isdisjoint(clauses.tokens_of(sentence.text)):
        return ""
    if clauses.is_unreal(sentence.text, sentence.language):
        return ""  # a condition is told as one
    ours = clauses.Ties(dict.fromkeys(sentence.subjects, 1.0))
    read = [
        clauses.of(_with_answers(one.text, ours, sentence), sentence.language) for one in sources
    ]
    stating = (part for part in read if not any(one.is_asked or one.is_unreal for one in part))
    stated = (clauses.tie(ours, clause.weights) for part in stating for clause in part)
    if max(stated, default=0.0) >= ONLY * ONLY_SHARE:
        return ""  # another message states it, or something of it
    told = {"": 0.0, "asked": 0.0, "imagined": 0.0}
    for clause in chain.from_iterable(read):
        mood = "asked" if clause.is_asked else "imagined" if clause.is_unreal else ""
        told[mood] = max(told[mood], clauses.tie(ours, clause.weights))
    mood = max(told, key=lambda name: told[name])
    if mood == "asked" and _rests_on_what_is_told(evidence):
        return ""
    return mood if told[mood] >= ONLY and told[""] < told[mood] * ONLY_SHARE else ""


def _rests_on_what_is_told(evidence: Evidence) -> bool:
    """Whether all the words that a sentence names stand beside questions, not in them."""
    parts = (part for one in evidence.cited for part in words.sentences(one.text))
    told = _apart(" ".join(part for part in parts if not part.endswith(words.QUESTION_MARKS)))
    rests_on = [_apart(one) for one in evidence.claim.rests_on if one.strip()]
    own = _stems([evidence.claim.text], evidence.sentence.language)
    own -= clauses.stems_of(evidence.people, evidence.sentence.language)
    is_of_it = not own.isdisjoint(_stems(rests_on, evidence.sentence.language))
    return is_of_it and all(one in told for one in rests_on)


def _with_answers(text: str, ours: clauses.Ties, sentence: Subject) -> str:
    """Return a message with each question stated that its own speaker answers right behind it.

    By a yes, or in a few words of which the sentence has something: "Guess who called? My ex."
    """
    parts = words.sentences(text)
    for n, (asked, answer) in enumerate(pairwise(parts)):
        if not asked.endswith(words.QUESTION_MARKS) or answer.endswith(words.QUESTION_MARKS):
            continue
        said, *more = clauses.of(answer, sentence.language) or (None,)
        if said is None or said.denies or said.is_unreal:
            continue
        is_of_it = clauses.tie(ours, said.weights) > 0 or any(
            one.equals(other) for one in said.read.numbers for other in sentence.read.numbers
        )
        is_short = len(said.tokens) <= ANSWER_WORDS and is_of_it
        # "yeah, right" is no yes
        is_yes = not more and clauses.with_question(asked, answer) != answer
        if is_short or is_yes:
            parts[n] = f"{asked[:-1]}."
    return " ".join(parts)


# What each finds refuses a sentence; nothing found: it may stand.
OF_PROSE = (
    (_secret, "it holds {}"),
    (_strangers, "nobody said {}"),
    (_made_up, "nobody said {} of it"),
    (_only_how, "it was only {}"),
    (_put_right, 'it was put right since: "{}"'),
)
OF_CLAIMS = (
    (_wrong_citation, "it {}"),
    (_misquoted, "the messages it cites do not say {}"),
    (_only_the_entity_said, "only {entity} said {}"),
    *OF_PROSE,
)


# numbers


def _not_given(sentence: Subject, sources: Sequence[Source]) -> Iterator[Number]:
    """Yield the numbers of a sentence that nobody gave."""
    for number in sentence.read.numbers:
        is_read = number_words.value(number.word, sentence.language) is not None
        if not (number.claimed and is_read) or corrections.is_denied(number, sentence):
            continue
        if not sentence.cites and (number.alone or not _is_of_told(number, sentence, sources)):
            continue  # "a place that only two people know", "du neuf": its own figure
        if not _is_given(number, sentence, sources):
            yield number


def _are_counted(number: Number, sentence: Subject, sources: Sequence[Source]) -> bool:
    """Whether a few things were named one by one: "the two fees", of which no source has a number.

    Who says "two fees" tells how many there are; "the two" are those that were spoken of, and so
    are "two fees: …", which follow.
    """
    tokens = clauses.tokens_of(sentence.text)
    place = tokens.index(number.word) if number.word in tokens else 0
    if number.value not in _FEW_THINGS:
        return False
    listed = rf"\b{re.escape(number.word)} \w+: "
    is_listed = number.kind == "thing" and re.search(listed, sentence.text, re.IGNORECASE)
    return bool(is_listed or not _THE.isdisjoint(tokens[max(0, place - 1) : place])) and not any(
        other.kind == "thing" and clauses.akin(other.unit, number.unit)
        for source in sources
        for other in source.read.numbers
    )


def _is_of_told(number: Number, sentence: Subject, sources: Sequence[Source]) -> bool:
    """Whether anybody spoke of the things that a number counts, or their number is known."""
    if number.kind != "thing" or not number.unit:
        return True
    return any(
        shares([number.unit], clause.read.content)
        for one in sources
        for clause in clauses.of(one.text, sentence.language)
        if one.at is not None or clause.read.numbers
    )


def _bearing(sentence: Subject, sources: Sequence[Source]) -> list[Source]:
    """Return the sources that share the subject of a sentence; few that are cited all do."""
    few = _are_few(sources)
    return [
        one
        for one in sources
        if (few and one.at is not None) or shares(sentence.subjects, one.read.content)
    ]


def _are_few(sources: Sequence[Source]) -> bool:
    """Whether so few messages are cited that each must bear on the sentence."""
    return sum(source.at is not None for source in sources) <= FEW


def _is_given(number: Number, sentence: Subject, sources: Sequence[Source]) -> bool:
    """Whether a source that bears on a sentence gives a number of it, of the same thing."""
    if number.kind == "clock" and _is_hour_of(number, sources):
        return True
    is_year = number.value in values.YEARS and number.kind in ("", "thing")
    if is_year and _is_year_given(number, sources):
        return True
    few = not sentence.cites or _are_few(sources)
    may_be_day = sentence.cites or not number.unit
    return any(
        any(
            one.equals(number)
            and may_be(number, one, loosely=few)
            and (few or not one.unit or clauses.akin(one.unit, number.unit))
            for one in read.numbers
        )
        or (may_be_day and number.value in read.times.days_of_month)
        for read in _read(number, sentence, sources)
    ) or (
        number.value in sentence.read.times.ordinals
        and number.value in {day.day for day in _given_days(sentence, sources, vaguely=False)}
    )


def _is_hour_of(number: Number, sources: Sequence[Source]) -> bool:
    """Whether messages were written at a time of day, or about it if no time is named at all.

    When each was written is shown to whoever retells it.
    """
    said = [one for one in sources if one.at]
    if not any(each.kind == "clock" or each.hours for one in said for each in one.read.numbers):
        shown = {f"{one.at.hour}:{one.at.minute:02}" for one in said if one.at}
        if number.word.replace(".", ":").replace("h", ":").lstrip("0") in shown:
            return True
    told = any(one.hours for source in sources for one in source.read.numbers)
    written = (one.at.hour + Decimal(one.at.minute) / 60 for one in sources if one.at)
    half = clock.HALF_DAY
    far = (abs(hour - one) % half for hour in written for one in number.hours)
    return not told and any(min(one, half - one) <= _ABOUT_THEN for one in far)


def _read(number: Number, sentence: Subject, sources: Sequence[Source]) -> Iterator[ReadText]:
    """Yield what bears on a number: few messages whole, else the clauses about what it counts.

    On a number of the entity's own reading bears all that was said.
    """
    if not sentence.cites or _are_few(sources):
        bearing = _bearing(sentence, sources) if sentence.cites else sources
        yield from (source.read for source in bearing)
        return
    about = {number.unit} if number.kind == "thing" else sentence.subjects
    for source in sources:
        for clause in clauses.of(source.text, sentence.language):
            if shares(about, clause.weights):
                yield clause.read


def _is_year_given(number: Number, sources: Sequence[Source]) -> bool:
    year = number.value
    return any(
        one.value == year or (not one.kind and one.value == year % 100 and one.value >= _SHORT_YEAR)
        for source in sources
        for one in source.read.numbers
    ) or any(source.at is not None and abs(int(year) - source.at.year) <= 1 for source in sources)


def _follows(number: Number, sentence: Subject, sources: Sequence[Source]) -> bool:
    """Whether a number follows by counting from what the sources give of the same kind."""
    few = _are_few(sources)
    bearing = _bearing(sentence, sources)
    given = [
        one
        for source in bearing
        for one in (*source.read.numbers, *(sentence.read.numbers if few else ()))
        if one.claimed and one.value not in {number.value, *source.read.times.ordinals}
    ]
    if any(one.value >= _THOUSAND for one in (number, *given)):  # "20 thousand, and we've got 63"
        bare = [one for one in given if one.value < _THOUSAND and one.kind in ("", "thing")]
        scaled = [replace(one, value=one.value * _THOUSAND, kind="") for one in bare]
        if any(one.value == number.value for one in scaled):  # "8,200, and no less than eight"
            return True
    at = [source.at for source in bearing if source.at is not None]
    if (number.kind != "money" and number.value in _by_years(number, given, at)) or (
        number.unit_days >= 1 and number.value in _by_days(number, bearing, few=few)
    ):
        return True
    pairs = list(combinations({(one.value, one.kind, one.unit): one for one in given}.values(), 2))
    if few and any(_is_one_less(number, one) for one in given):
        return True
    derived = {
        *_by_sums(number, pairs),
        *_by_parts(number, given),
        *_by_products(number, pairs),
    }
    near = {one.value for one in given if may_be(number, one, loosely=True)}
    return number.value in derived or _is_about(number, sentence, derived | near)


def _is_sum(number: Number, sentence: Subject, sources: Sequence[Source]) -> bool:
    """Whether a number is what a cited one and another one of the same make, or leave.

    Of the same is what is told in one clause, or in two with a word of the sentence. A small one
    may be so by chance: there all three have to count one thing that is named.
    """
    bearing = _bearing(sentence, sources)

    def is_named(one: Number) -> bool:
        return number.value >= _SURE or number.kind == one.kind == "thing"

    alike = [
        (one, source.at is not None, frozenset(clause.weights))
        for source in bearing
        for clause in clauses.of(source.text, sentence.language)
        for one in clause.read.numbers
        if one.claimed and _count_alike(number, one) and is_named(one)
    ]
    pairs = [
        (one, other)
        for (one, is_cited, told), (other, other_cited, beside) in combinations(alike, 2)
        if (is_cited or other_cited) and (told == beside or told & beside & sentence.subjects)
    ]
    return number.value in set(_by_sums(number, pairs))


def _is_one_less(number: Number, other: Number) -> bool:
    """Whether a number leaves out one of a bare count: "we are three", two others; "50 in May"."""
    is_count = other.kind == "" and number.value > 1 and not number.value % 1
    return is_count and number.value == other.value - 1


def _by_years(number: Number, given: Sequence[Number], at: Sequence[datetime]) -> Iterator[Decimal]:
    """Yield ages, spans and years that follow from years and numbers of years."""
    years = {one.value for one in given if one.value in values.YEARS and one.kind != "money"}
    years |= {Decimal(each.year) for each in at}
    spans = {one.value for one in given if one.unit_days == values.YEAR_DAYS}
    ages = {one.value for one in given if one.kind in ("", "thing") and 1 < one.value < _OLDEST}
    if number.kind != "thing":
        for one, other in combinations(years, 2):
            span = abs(one - other)
            yield from (span, round(span / 10) * Decimal(10) if span % 10 in (1, 9) else span)
    for year in years if number.value in values.YEARS else ():
        for span in spans:
            yield from (year - span, year + span)
    since = {abs(one - other) for one, other in combinations(years, 2)}
    for age in ages:
        for span in spans | since:
            yield from (abs(age - span), age + span)


def _by_days(number: Number, sources: Sequence[Source], *, few: bool) -> Iterator[Decimal]:
    """Yield how many units of time lie between days that are named, or make up others."""
    days = {
        day
        for source in sources
        if source.at is not None
        for day in (source.at.date(), *values.days_of(source.read.times, source.at))
    }
    unit = Decimal(number.unit_days)
    if number.unit_days == values.UNIT_DAYS["month"]:
        named = {month for source in sources for month in source.read.times.full_months}
        named |= {each.at.month for each in sources if few and each.at is not None}
        for apart in (abs(one - other) for one, other in combinations(named, 2)):
            yield from (Decimal(apart), Decimal(12 - apart))
    for one, other in combinations(sorted(days), 2) if few else ():
        if (span_days := (other - one).days) < values.YEAR_DAYS:
            yield Decimal(round(span_days / unit))
    told = [one for source in sources for one in source.read.numbers if one.kind == "time"]
    spans = [one.value * Decimal(one.unit_days) / unit for one in told if one.unit_days]
    for span in spans:
        yield from (span, Decimal(int(span)), Decimal(round(span)))  # three decades and one
    # five days, and then three weeks
    yield from (one_span + other_span for one_span, other_span in combinations(spans, 2))


def _by_sums(number: Number, pairs: Sequence[tuple[Number, Number]]) -> Iterator[Decimal]:
    """Yield sums and differences of two numbers that count the same."""
    for one, other in pairs:
        timed = {one.kind, other.kind} & {"time", "clock"}
        if _count_alike(one, other) or (number.kind == "money" and not timed):
            yield from (one.value + other.value, abs(one.value - other.value))


def _count_alike(one: Number, other: Number) -> bool:
    """Whether two numbers can be added: planks to planks, and to what stands there bare."""
    if one.kind == other.kind == "thing":
        return one.unit == other.unit or clauses.akin(one.unit, other.unit)
    return may_be(one, other, loosely=False)


def _by_parts(number: Number, given: Sequence[Number]) -> Iterator[Decimal]:
    """Yield halves and quarters of numbers, what they make twice, and in the months of a year."""
    for one in given:
        if number.value >= _SURE and may_be(number, one, loosely=True):  # there and back
            yield one.value * 2
        if one.value >= 10 and may_be(number, one, loosely=True):
            yield from (one.value / 2, one.value / 4, one.value * 12)


def _by_products(number: Number, pairs: Sequence[tuple[Number, Number]]) -> Iterator[Decimal]:
    """Yield what so many of something make together, one of them, and shares in per cent."""
    for one, other in pairs:
        if values.PERCENT in (one.unit, other.unit):
            share = one.value * other.value / 100
            yield from (share, (other if one.unit == values.PERCENT else one).value - share)
            continue
        small, large = sorted((one.value, other.value))
        if not small:
            continue
        if number.kind == "money" or number.value >= _SURE:
            yield from (small * large, large / small)


def _is_about(number: Number, sentence: Subject, given: Iterable[Decimal]) -> bool:
    """Whether a round number stands for one near it, by a word that says so."""
    tokens = clauses.tokens_of(sentence.text)
    word = number.word.split("-")[0]
    if word not in tokens:
        return False
    place, is_round = tokens.index(word), not number.value % 10
    most = number.value * _NEAR_SHARE
    most = max(most, _NEAR_YEARS) if is_round else most
    return not _ABOUT.isdisjoint(tokens[max(0, place - 3) : place]) and any(
        abs(one - number.value) <= most and (is_round or one % 1)  # "good six metres": 6.2
        for one in given
    )


# dates


def _strange_time(sentence: Subject, sources: Sequence[Source]) -> str:
    """Return the date, month or weekday of a sentence that no source gives; empty: none."""
    times = sentence.read.times
    if not (times.dated or times.full_months or times.full_weekdays):
        return ""
    is_all = not sentence.cites or _are_few(sources)
    given = sources if is_all else _bearing(sentence, sources)
    days = _given_days(sentence, given)
    for month, day in sorted(times.dated):
        if not any((one.month, one.day) == (month, day) for one in days):
            return f"{day} {date(2000, month, 1):%B}"
    named = {month for source in given for month in source.read.times.months}
    if strange := times.full_months - named - {one.month for one in days}:
        return f"{date(2000, min(strange), 1):%B}"
    weekdays = {one for source in given for one in source.read.times.weekdays}
    weekdays |= {one.weekday() for one in _given_days(sentence, given, vaguely=False)}
    if strange := times.full_weekdays - weekdays:
        return f"{date(2000, 1, 3 + min(strange)):%A}"
    return ""


def _given_days(sentence: Subject, sources: Sequence[Source], *, vaguely: bool = True) -> set[date]:
    """Return the days that sources give of what a sentence is about."""
    days, named = set[date](), set[date]()  # all, and those by day and month
    months = {month for source in sources for month in source.read.times.months}
    any_year = datetime(2000, 1, 1, tzinfo=UTC)
    last = max((one.at for one in sources if one.at), default=any_year)
    for source in sources:
        if source.at is None:
            days |= values.days_of(source.read.times, any_year)
            if vaguely and shares(sentence.subjects, source.read.content):  # "the day after that"
                for month, day in source.read.times.dated:
                    named |= values.near(last.date(), month, day)
            continue
        days |= values.days_of(source.read.times, source.at, vaguely=vaguely)
        if not any(last < 0 for _, last in source.read.times.offsets):
            days |= values.today_of(source.at)
        for clause in clauses.of(source.text, sentence.language) if vaguely else ():
            start = values.days_of(clause.times_near, source.at) or values.today_of(source.at)
            days |= values.days_by_span(clause.read.times, start)
        ordinals = {int(one.value) for one in source.read.numbers if one.ordinal}
        given = {(month, day) for day in source.read.times.ordinals | ordinals for month in months}
        for month, day in source.read.times.dated | given:
            named |= values.near(source.at.date(), month, day)
    days |= named
    if vaguely and _are_few(sources):  # "they put it off by a week"
        told = (span for source in sources for span in source.read.times.spans)
        spans = {span for span in told if span < values.SPAN_LIMIT}
        days |= {day + timedelta(span) for day in named for span in spans}
        days |= {day - timedelta(span) for day in named for span in spans}
    return days


LEAST_SAID = 0.6  # of the words of a sentence that somebody is held to have said, in whatever form


def was_said(text: str, sources: ClaimSources) -> bool:
    """Whether each sentence says no more than one of its sources does; every word counts.

    But for numbers and days, which are held to what was said as they are written out.
    """
    return sources.bear(text) and all(
        origins.share(values.without(part), sources.texts, sources.names) >= LEAST_SAID
        for part in words.sentences(text)
    )
