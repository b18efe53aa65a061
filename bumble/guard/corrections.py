"""What was put right: which newer message gives another value in the place of one of a sentence.

A value of a sentence (a number, a day, a name) has a place: the clause that gave it, and what the
sentence says of it. A newer clause with another value of the same kind takes that place if both
have enough words in common, the rarer the surer, and it is of little else, says "now" or is cited
for nothing; so does one that denies the value ("not six", "net de Hamann").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from datetime import datetime
from decimal import Decimal
from functools import partial
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from bumble import patterns
from bumble.guard import claims, clauses, values
from bumble.guard.clauses import Clause, Source, Subject, Ties
from bumble.guard.names import are_one, inflects
from bumble.guard.values import Number, Times
from bumble.text import stop_words, words

ENOUGH = 1.1  # of what ties a newer value to an older one's place
LARGE = 100  # from here on a number with any word behind it may be an amount of money
MOST_RATIO, NEAR_RATIO = (
    2,
    Decimal("1.5"),
)  # between a number and what replaces it without being denied
_POUNDS = frozenset(["pound", "pfund"])  # of money, or of beans
COMMON_WORDS = 3000  # of a language, none of which is a name
# How much a tie counts: by the clause that gave the older value, by those beside it, and by those
# beside the newer one; "now", in full where something else ties them.
BY_OLD, BY_OLD_NEAR, BY_NEAR, NOW, NOW_FROM = 0.6, 0.3, 0.4, 0.8, 0.2
# How a word begins by which somebody asks to be reminded, folded.
_REMIND = ("remind", "erinner", "rappel", "recuerda", "ricorda", "lembra", "herinner")
FOR_NOTHING = 0.9  # that the sentence cites the newer message, and has nothing from it
OF_LITTLE_ELSE = 0.6  # share of a clause's words
MOST_TIED, ELSEWHERE = 2.0, 0.5
DENIED, DENIED_RARE = 0.8, 1.2  # a value, a name or large number
DENIES = 1.3  # that a message denies a number which was told
LEAST_TIE = 0.01
OF_THE_SAME = 0.5  # tie between two messages
BARE, BY_BARE = 0.5, 0.8  # weight of a clause's own words; how much its neighbours tie it then
NAME_OF_DAY = 0.5  # how much a name ties days: much happens to one person
SAME_UNIT, SAME_KIND, OTHER_UNIT = 0.8, 0.4, 1.0
OTHER_MONTH = 0.5
_NAME = patterns.compile(r"\b[^\W\d_a-zß-ÿ][^\W\d_]+")


Found = tuple[bool, float, float | None]  # of a place: whether it gives it, denied, rival


class Value(Struct, frozen=True):
    """A value of a sentence."""

    kind: str
    stem: str  # of its own word, which ties nothing; empty: it has none
    look: Callable[[Clause, Source], Found]


class ValuePlace(Struct, frozen=True):
    """A clause that was said, and what it says of a value."""

    message: int  # which it stands in
    number: int  # of the clause, of all that were said, in their order
    source: Source
    clause: Clause
    gives: bool  # whether it gives the value
    denied: float  # how surely it denies it by itself; 0: it doesn't
    rival: float | None  # how alike the most like of other values is; None: there is none


def newer(subject: Subject, sources: Sequence[Source]) -> str:
    """Return the message that has put right what a sentence says; empty: none has.

    Args:
        subject: The sentence.
        sources: What is known and what was said, oldest first.
    """
    best = max(scored(subject, sources), default=(0.0, 0))
    return sources[best[1]].text if best[0] >= ENOUGH else ""


def replaces(earlier: str, text: str, at: datetime, who: str) -> float:
    """Return how surely a text gives another value in the place of one that was told before.

    Args:
        earlier: What was told before.
        text: What is told now.
        at: When that is.
        who: Whoever tells it.
    """
    language = words.language(earlier, text)
    read = values.read(earlier, language)
    denied = (" ".join(clause.denied) for clause in clauses.of(text, language))
    not_so = {number.value for each in denied for number in values.read(each, language).numbers}
    if not_so & {number.value for number in read.numbers}:  # "460, not 640"
        return DENIES
    subject = Subject(earlier, read, read.content, language)
    told = Source(text, who, values.read(text, language), at)
    pair = (Source(earlier, who, read, at), told)
    return max(scored(subject, pair, in_talk=False), default=(0.0, 0))[0]


def says_all(known: str, text: str) -> bool:
    """Whether a sentence begins with all that another says, and takes nothing of it back."""
    told, there = clauses.tokens_of(text), clauses.tokens_of(known)
    more = there[len(told) :]
    return there[: len(told)] == told and not clauses.tells_of_change(more, words.language(known))


def scored(
    subject: Subject, sources: Sequence[Source], *, in_talk: bool = True
) -> Iterator[tuple[float, int]]:
    """Yield how surely a newer message replaces a value of a sentence, and which one it is.

    `in_talk`: whether they are a whole talk, and no two of which one may put the other right.
    """
    if clauses.tells_of_change(clauses.tokens_of(subject.text), subject.language):
        return
    told = list(_values(subject, sources))
    said = [
        (n, source, clause)
        for n, source in enumerate(sources)
        for clause in clauses.of(source.text, subject.language)
    ]
    found = [
        [
            ValuePlace(n, number, source, clause, *value.look(clause, source))
            for number, (n, source, clause) in enumerate(said)
        ]
        for value in told
    ]
    names = set(_names(subject))
    # Whoever cites a message knows what stands before it.
    since = max((n for n, one in enumerate(sources) if one.is_cited and subject.cites), default=0)
    # Messages that it has something from, by value.
    given = [[one.message for one in places if one.gives] for places in found]
    drawn_on = {n for each in given for n in each}
    told_of = drawn_on if subject.cites else {*range(len(sources))}  # prose cites all there is
    for value, places, own in zip(told, found, given, strict=True):
        first, last = (own[0], own[-1]) if own else (len(sources), -1)
        known = {
            each[0]
            for other, each in zip(told, given, strict=True)
            if other.kind == value.kind and each and (not own or each[0] > first)
        }
        of_name = NAME_OF_DAY if value.kind in ("day", "name") else 1.0
        about = subject.subjects - {value.stem}
        ours = Ties({stem: of_name if stem in names else 1.0 for stem in about})
        others = {n for each in given if each is not own for n in each}
        denied_in = {one.message for one in places if one.denied}
        for like, n in _replacing(ours, _with_denials(places, others), told_of, in_talk=in_talk):
            is_for_nothing = sources[n].is_cited and n not in drawn_on and n > first
            like += FOR_NOTHING * (subject.cites and is_for_nothing)
            if value.kind == "name" and n <= last and n not in denied_in:
                continue
            if n >= since and n not in known:
                yield like, n


def _replacing(
    ours: Ties, places: Sequence[ValuePlace], drawn_on: Set[int], *, in_talk: bool
) -> Iterator[tuple[float, int]]:
    """Yield how surely clauses deny a value, or replace one that was said before them.

    In a talk a thing is named beside many days: "remind me of the exam on Monday". There another
    value replaces one in a clause that is of little else, or says "now", or is cited for nothing.
    """
    given = [one for one in places if one.gives]
    for one in places:
        if one.denied and one.source.at and (not given or one.number > given[0].number):
            tie = _tie(ours, one.clause)
            since = (each.clause.weights for each in given if each.number > one.number)
            stands = any(clauses.tie(ours, each) >= max(tie, LEAST_TIE) for each in since)
            if not stands and (one.source.is_cited or given):
                yield one.denied + min(MOST_TIED, tie), one.message
    if not given:
        return
    cited = [one for one in given if one.source.is_cited]
    first = max(cited or given, key=lambda one: (_tie(ours, one.clause), one.number))
    repeated = [one for one in given if one.number > first.number]
    *_, old = (first, *(one for one in repeated if clauses.tie(ours, one.clause.weights)))
    by_old = dict.fromkeys(old.clause.near, BY_OLD_NEAR)
    ties = Ties(by_old | dict.fromkeys(old.clause.weights, BY_OLD) | ours.own)
    for one in places:
        # "it's the 17th now, it was the 10th": else the last word of a message holds
        is_later = one.message > old.message or one.number > old.number or one.clause.is_now
        is_newer = is_later and one.message >= old.message and one.source.at is not None
        is_real = not (one.clause.is_asked or one.clause.is_unreal or _reminds(one.clause))
        is_for_nothing = one.source.is_cited and one.message not in drawn_on
        is_meant = not in_talk or one.clause.is_now or is_for_nothing
        is_meant = is_meant or _share(ties, one.clause) >= OF_LITTLE_ELSE
        if one.rival is not None and not one.gives and is_newer and is_real and is_meant:
            yield one.rival + _strength(ours, ties, old, one), one.message


def _reminds(clause: Clause) -> bool:
    """Whether a clause says when somebody is to be reminded: that is the time of nothing else."""
    return any(token.startswith(_REMIND) for token in clause.tokens)


def _with_denials(places: Sequence[ValuePlace], drawn_on: Set[int]) -> list[ValuePlace]:
    """Return what clauses say of a value, with those that give it beside another and deny it.

    "Wednesday, not Monday" and "he can't on Tuesday, it's Wednesday now" do so surely where the
    message that gave the value was of the same, and the sentence has nothing else from the newer.
    """
    first = next((one.message for one in places if one.gives), len(places))

    def weights(message: int) -> dict[str, float]:
        own = (one.clause.weights for one in places if one.message == message)
        return {stem: weight for each in own for stem, weight in each.items()}

    def is_denied(place: ValuePlace) -> bool:
        beside = places[max(0, place.number - 1) : place.number + 2]
        rivals = [
            one
            for one in beside
            if one.message == place.message and (one.rival or 0) > 0 and not one.gives
        ]
        is_over = place.gives and place.clause.denies and any(one.clause.is_now for one in rivals)
        if not (is_over or (place.denied and rivals)):
            return False
        return clauses.tie(Ties(weights(first)), weights(place.message)) > OF_THE_SAME

    return [
        replace(one, gives=False, denied=DENIED_RARE)
        if one.message > first and one.message not in drawn_on and is_denied(one)
        else one
        for one in places
    ]


def _share(ties: Ties, clause: Clause) -> float:
    """Return the share of a clause's words that are tied to others, by their weights."""
    tied = sum(weight * min(1.0, ties[stem]) for stem, weight in clause.weights.items() if weight)
    return tied / (sum(clause.weights.values()) or 1.0)


def _tie(ties: Ties, clause: Clause) -> float:
    return clauses.tie(ties, clause.weights) + BY_NEAR * clauses.tie(ties, clause.near)


def _strength(ours: Ties, ties: Ties, old: ValuePlace, new: ValuePlace) -> float:
    """Return how surely a clause is of what an older one, and a sentence, are about."""
    clause = new.clause
    if new.message > old.message:
        by_near = BY_BARE if sum(clause.beside.values()) < BARE else BY_NEAR
        beside = clauses.tie(ties, clause.beside)
        tied = beside + by_near * clauses.tie(ties, {**clause.weights, **clause.near})
        return min(MOST_TIED, tied) + NOW * clause.is_now * min(1.0, tied / NOW_FROM)
    own = clauses.tie(ours, clause.weights)
    if clause.is_now and new.number == old.number + 1:  # "on the 10th, but now it's the 17th"
        return NOW + own
    return own - clauses.tie(ours, old.clause.weights) - ELSEWHERE - NOW * old.clause.is_now


# values of each kind


def _values(subject: Subject, sources: Sequence[Source]) -> Iterator[Value]:
    times, language = subject.read.times, subject.language
    told = [one for one in subject.read.numbers if one.value > 1]
    is_of_date = times.dated or times.full_months
    for number in told:
        if number.value in times.days_of_month or (is_of_date and number.value in values.YEARS):
            continue
        look = partial(_look_for_number, number, told, subject.read.content)
        yield Value("number", "", look)
    told_on = {(one.at.month, one.at.day) for one in sources if one.is_cited and one.at}
    for field in ("dated", "ordinals", "full_weekdays", "full_months"):
        if wanted := getattr(times, field):
            day = Times(full_weekdays=times.full_weekdays)
            for one in wanted - told_on:  # what happened on the day it was told stays so
                looked_for = replace(day, **{field: frozenset([one])})
                yield Value("day", "", partial(_look_for_day, looked_for))
            break
    tokens = clauses.tokens_of(subject.text)
    known = words.common(language, COMMON_WORDS) | stop_words.WORDS | {*tokens}
    first_said = {
        token: source for source in reversed(sources) for token in clauses.tokens_of(source.text)
    }
    for stem, word in _names(subject).items():
        joints = {joint for joint, token in pairwise(tokens) if token == word}
        beside = joints & stop_words.WORDS - claims.ARTICLES
        look = partial(_look_for_name, word, language, beside, known, first_said, len(sources) > 2)
        yield Value("name", stem, look)


def _names(subject: Subject) -> dict[str, str]:
    """Return the names in a sentence, by their stems."""
    common = words.common(subject.language, COMMON_WORDS)
    names = {words.folded(word) for word in claims.claims(subject.text, subject.language)}
    first = next(iter(clauses.tokens_of(subject.text)), "")
    return {
        words.stem(word, subject.language): word
        for word in map(words.folded, _NAME.findall(subject.text))
        if (word in names or word == first)
        and word not in common
        and words.stem(word, subject.language) in subject.subjects
    }


def _look_for_number(
    number: Number, told: Sequence[Number], about: frozenset[str], clause: Clause, _: Source
) -> Found:
    same = [
        one
        for one in clause.read.numbers
        if _stands_for(one, number) and may_be(number, one, loosely=True)
    ]
    denied = [one for one in same if one.word in clause.denied]
    rivals = [
        _likeness(number, one, about)
        for one in clause.read.numbers
        if number.claimed
        and one.claimed
        and one.word not in clause.denied
        and (one.value not in values.YEARS or number.value >= LARGE)
        and one.value not in clause.read.times.ordinals
        and not any(one.equals(own) for own in told)
        and may_be(number, one, loosely=False)
    ]
    how = DENIED_RARE if number.value >= LARGE else DENIED
    gives = len(same) > len(denied)
    return gives, how if denied else 0.0, max(rivals, default=None)


def _stands_for(one: Number, number: Number) -> bool:
    """Whether a number is another, or a year's last two digits."""
    is_year = number.value in values.YEARS and not one.kind
    return one.equals(number) or (is_year and one.value == number.value % 100)


def _likeness(number: Number, other: Number, about: frozenset[str]) -> float:
    """Return how surely two numbers count the same."""
    like = 0.0
    if other.kind == number.kind == "thing" and other.unit == number.unit:
        like = SAME_UNIT
    elif other.kind == number.kind and number.kind not in ("", "thing"):
        like = SAME_KIND
    is_other = other.unit not in ("", number.unit) and not clauses.shares([other.unit], about)
    if is_other and number.kind != "money":
        like -= OTHER_UNIT
    small, large = sorted((number.value, other.value))
    if small >= LARGE and large < small * NEAR_RATIO:
        like += SAME_KIND
    return like - (large > MOST_RATIO * small)


def may_be(number: Number, other: Number, *, loosely: bool) -> bool:
    """Whether two numbers can count the same: days no euros, and years no planks."""
    if number.kind == other.kind == "time":
        return number.unit_days == other.unit_days or number.equals(other)
    if number.kind == "thing" and other.ordinal and not number.ordinal:
        return False
    kinds = {number.kind, other.kind}
    if len(kinds) == 1 or "" in kinds or ("clock" in kinds and number.equals(other)):
        return True
    if kinds == {"money", "thing"}:  # "890 warm", "1250,50 reais"
        of_weight = loosely and not {number.unit, other.unit}.isdisjoint(_POUNDS)
        return of_weight or (number if number.kind == "thing" else other).value >= LARGE
    return loosely and kinds == {"time", "thing"}


def is_denied(number: Number, subject: Subject) -> bool:
    """Whether a sentence itself denies a number of it: "eight, not seven"."""
    found = clauses.of(subject.text, subject.language)
    return any(number.word in clause.denied for clause in found)


def _look_for_day(wanted: Times, clause: Clause, source: Source) -> Found:
    times = clause.read.times
    denied = values.read(" ".join(clause.denied), words.DEFAULT_LANGUAGE)
    denies = bool(
        wanted.days_of_month.intersection(one.value for one in denied.numbers)
        or wanted.full_weekdays & denied.times.weekdays
        or wanted.full_months & denied.times.months
    )
    given = set(times.dated)
    if source.at is not None:
        months = clause.times_near.months | {one.month for one in values.around(source.at.date())}
        given |= {(month, day) for month in months for day in times.ordinals}
        week = values.days_of(Times(weekdays=times.full_weekdays), source.at)
        given |= {(one.month, one.day) for one in week}
    gives = bool(
        given & wanted.dated
        or wanted.ordinals & {day for _, day in given}
        or wanted.full_weekdays & times.weekdays
        or wanted.full_months & times.months
    )
    return gives and not denies, DENIED * denies, _rival_day(wanted, clause)


def _rival_day(wanted: Times, clause: Clause) -> float | None:
    times = clause.read.times
    if wanted.full_months:
        others = times.full_months | {month for month, _ in times.dated}
        return SAME_KIND if others - wanted.full_months else None
    if times.full_weekdays & wanted.full_weekdays:
        return None  # one of two days that the sentence names
    months, others = {month for month, _ in wanted.dated}, clause.times_near.months
    if months and others and not months & others:
        return SAME_KIND - OTHER_MONTH
    if times.dated or times.ordinals:
        return SAME_KIND
    return SAME_KIND / 2 if times.full_weekdays else None


def _look_for_name(
    word: str,
    language: str,
    joints: Set[str],
    known: Set[str],
    first_said: Mapping[str, Source],
    in_talk: bool,
    clause: Clause,
    source: Source,
) -> Found:
    """Return what a clause says of a name.

    In a whole talk another one beside it puts it right only where the clause says "now".
    """
    is_same = are_one if inflects(language) else str.__eq__
    stands = any(is_same(word, token) for token in clause.tokens)
    denies = any(is_same(word, one) for one in clause.denied)
    has_rival = (clause.is_now or not in_talk) and any(
        joint in joints and first_said.get(token) is source
        for joint, token in pairwise(("", *clause.tokens))
        if token[0].isalpha() and token not in known and token not in clause.denied
    )
    gives = stands and not denies
    return gives, DENIED_RARE * denies, SAME_KIND if has_rival else None
