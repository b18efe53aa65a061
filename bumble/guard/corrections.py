"""What was put right: which newer message gives another value in the place of one of a sentence.

A value of a sentence (a number, a day, a name) stands in a clause of what was said. A newer clause
takes its place if it is tied to the sentence and to that clause by enough words, the rarer the
surer, and denies the value ("not six", "net de Hamann") or has another one of the same kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import partial
from itertools import pairwise

from msgspec import Struct

from bumble.guard import claims, clauses, values
from bumble.guard.clauses import Clause, Source, Subject, Weights
from bumble.guard.values import Number, Times
from bumble.text import stop_words, words

ENOUGH, DENIED = 0.8, 0.75  # of what ties a newer clause to a place; what a denial counts of it
SAME_KIND, SAME_UNIT, LEAST_TIE = 0.4, 0.75, 0.01
# What a word of the older clause counts, of one beside it, and one beside the newer.
BY_OLD, BY_OLD_NEAR, BY_NEAR = 0.6, 0.3, 0.4
NOW, NOW_FROM = 0.6, 0.2  # what "now" counts, in full where something else ties them so much
CITED = 0.3  # that the sentence itself names the newer message as one that it rests on
MARGIN = 0.2  # by which a newer value must be tied better to another older one, to be of that
LARGE = 100  # from here on a number with any word behind it may be an amount of money
MOST_RATIO = 2  # between a number and what replaces it without being denied
COMMON_WORDS = 3000  # of a language, none of which is a name
_VARIANT_LETTERS = 3  # that two spellings of one name begin with
_NAME = re.compile(r"\b[^\W\d_a-zß-ÿ][^\W\d_]+")


class Value(Struct, frozen=True):
    """A value of a sentence, and what a clause says of it."""

    gives: Callable[[Clause, Source], bool]
    denied: Callable[[Clause], bool]
    rival: Callable[[Clause, Source], float]  # how alike another one of its kind is; 0: it has none
    is_rare: bool = False  # whether it denotes the same thing wherever it stands


def newer(subject: Subject, sources: Sequence[Source]) -> str:
    """Return the message that has put right what a sentence says; empty: none has.

    Args:
        subject: The sentence.
        sources: What is known and what was said, oldest first.
    """
    if clauses.tells_of_change(clauses.tokens_of(subject.text), subject.language):
        return ""
    read = [clauses.of(one.text, subject.language) for one in sources]
    told = list(_values(subject, sources))
    here = [
        any(value.gives(clause, source) for value in told for clause in part)
        for part, source in zip(read, sources, strict=True)
    ]
    best = max(
        (one for value in told for one in _replacing(value, subject, sources, read, here)),
        default=(0.0, 0),
    )
    return sources[best[1]].text if best[0] > 0 else ""


def _replacing(
    value: Value,
    subject: Subject,
    sources: Sequence[Source],
    read: Sequence[Sequence[Clause]],
    here: Sequence[bool],
) -> Iterator[tuple[float, int]]:
    """Yield how surely newer messages replace a value, and which they are.

    Args:
        value: Of the sentence.
        subject: The sentence.
        sources: What is known and what was said, oldest first.
        read: Their clauses.
        here: Of each, whether it gives a value of the sentence: then it has none in its place.
    """
    given = [
        (n, k)
        for n, part in enumerate(read)
        for k, clause in enumerate(part)
        if value.gives(clause, sources[n])
    ]
    if not given:
        return
    last = max(given)
    old = read[last[0]][last[1]]
    ties = dict.fromkeys(old.near, BY_OLD_NEAR) | dict.fromkeys(old.weights, BY_OLD)
    ties |= dict.fromkeys(subject.subjects, 1.0)
    for n in range(last[0], len(sources)):
        for k, new in enumerate(read[n]):
            if sources[n].at is None or (n, k) <= last or new.is_asked or new.is_unreal:
                continue
            tied, at_once = _tie(ties, new), n == last[0]
            if here[n] and not at_once:
                continue
            if value.denied(new) and not at_once:
                yield tied + (ENOUGH if value.is_rare else DENIED) - ENOUGH + LEAST_TIE, n
            elif (like := value.rival(new, sources[n])) and (new.is_now or not at_once):
                now = NOW * new.is_now * min(1.0, tied / NOW_FROM)
                older = (each for part in read[:n] for each in part if each is not old)
                if not any(
                    _tie(dict.fromkeys(each.weights, 1.0), new) > tied + MARGIN
                    for each in older
                    if value.rival(each, sources[n])
                ):
                    cited = CITED * (sources[n].is_cited and not at_once)
                    yield like + tied + now + cited - ENOUGH, n


def _tie(ties: Weights, clause: Clause) -> float:
    return clauses.tie(ties, clause.weights) + BY_NEAR * clauses.tie(ties, clause.near)


def _values(subject: Subject, sources: Sequence[Source]) -> Iterator[Value]:
    times = subject.read.times
    days = {*times.ordinals, *(day for _, day in times.dated)}
    told = [one for one in subject.read.numbers if one.value > 1]
    for number in told:
        is_listed = values.are_listed(subject.text, number)
        if number.value not in values.YEARS and number.value not in days and not is_listed:
            yield Value(
                partial(_gives_number, number),
                partial(_denies_number, number),
                partial(_rival_number, number, told),
                is_rare=number.value >= LARGE,
            )
    if times.dated or times.ordinals or times.full_weekdays:
        yield Value(
            partial(_gives_day, times), partial(_denies_day, times), partial(_rival_day, times)
        )
    yield from _named(subject, sources)


def _named(subject: Subject, sources: Sequence[Source]) -> Iterator[Value]:
    tokens = clauses.tokens_of(subject.text)
    known = words.common(subject.language, COMMON_WORDS) | stop_words.WORDS | {*tokens}
    first_said = {
        token: source for source in reversed(sources) for token in clauses.tokens_of(source.text)
    }
    for word in _names(subject):
        joints = {joint for joint, token in pairwise(tokens) if token == word}
        joints &= stop_words.WORDS - claims.ARTICLES
        look = partial(_rival_name, word, joints, known, first_said)
        yield Value(partial(_gives_name, word), partial(_denies_name, word), look, is_rare=True)


def _names(subject: Subject) -> set[str]:
    """Return the names in a sentence."""
    common = words.common(subject.language, COMMON_WORDS)
    names = {words.folded(word) for word in claims.claims(subject.text, subject.language)}
    first = next(iter(clauses.tokens_of(subject.text)), "")
    return {
        word
        for word in map(words.folded, _NAME.findall(subject.text))
        if (word in names or word == first)
        and word not in common
        and words.stem(word, subject.language) in subject.subjects
        and not claims.is_noun(word, subject.language)
    }


def _gives_number(number: Number, clause: Clause, _: Source) -> bool:
    return any(
        one.equals(number) and one.word not in clause.denied and may_be(number, one, loosely=True)
        for one in clause.read.numbers
    )


def _denies_number(number: Number, clause: Clause) -> bool:
    return any(one.equals(number) and one.word in clause.denied for one in clause.read.numbers)


def _rival_number(number: Number, told: Sequence[Number], clause: Clause, _: Source) -> float:
    likes = (
        SAME_UNIT if number.unit and one.unit == number.unit else SAME_KIND
        for one in clause.read.numbers
        if number.claimed
        and one.claimed
        and one.word not in clause.denied
        and one.value not in clause.read.times.ordinals
        and (one.value not in values.YEARS or number.value >= LARGE)
        and not any(one.equals(own) for own in told)
        and (one.kind == number.kind or min(one.value, number.value) >= LARGE)
        and (one.unit in ("", number.unit) or number.kind == "money")
        and may_be(number, one, loosely=False)
        and max(one.value, number.value) <= MOST_RATIO * min(one.value, number.value)
    )
    return max(likes, default=0.0)


def may_be(number: Number, other: Number, *, loosely: bool) -> bool:
    """Whether two numbers can count the same: days no euros, and years no planks."""
    if number.kind == other.kind == "time":
        return number.unit_days == other.unit_days or number.equals(other)
    if number.kind == "thing" and other.ordinal and not number.ordinal:
        return False
    kinds = {number.kind, other.kind}
    if "" in kinds or ("clock" in kinds and number.hours & other.hours):
        return True
    if len(kinds) == 1:
        return True
    if kinds == {"money", "thing"}:  # "890 warm"
        return other.kind == "thing" and other.value >= LARGE
    return loosely and kinds == {"time", "thing"}


def is_denied(number: Number, subject: Subject) -> bool:
    """Whether a sentence itself denies a number of it: "eight, not seven"."""
    found = clauses.of(subject.text, subject.language)
    return any(number.word in clause.denied for clause in found)


def _gives_day(wanted: Times, clause: Clause, source: Source) -> bool:
    times = clause.read.times
    given = set(times.dated)
    if source.at is not None:
        months = clause.times_near.months | {one.month for one in values.around(source.at.date())}
        given |= {(month, day) for month in months for day in times.ordinals}
        week = values.days_of(Times(weekdays=times.full_weekdays), source.at)
        given |= {(one.month, one.day) for one in week}
    return not _denies_day(wanted, clause) and bool(
        given & wanted.dated
        or wanted.ordinals & {day for _, day in given}
        or wanted.full_weekdays & times.weekdays
    )


def _denies_day(wanted: Times, clause: Clause) -> bool:
    denied = values.read(" ".join(clause.denied), words.DEFAULT_LANGUAGE)
    days = {*wanted.ordinals, *(day for _, day in wanted.dated)}
    return bool(
        days.intersection(one.value for one in denied.numbers)
        or wanted.full_weekdays & denied.times.weekdays
    )


def _rival_day(wanted: Times, clause: Clause, source: Source) -> float:
    times = clause.read.times
    months, others = {month for month, _ in wanted.dated}, clause.times_near.months
    if _gives_day(wanted, clause, source) or (months and others and not months & others):
        return 0.0
    named = times.dated or times.ordinals or (wanted.full_weekdays and times.full_weekdays)
    return SAME_KIND if named else 0.0


def _gives_name(word: str, clause: Clause, _: Source) -> bool:
    return word in clause.tokens and word not in clause.denied


def _denies_name(word: str, clause: Clause) -> bool:
    stands = word in clause.tokens
    return any(word == one or (not stands and _is_variant(word, one)) for one in clause.denied)


def _rival_name(
    word: str,
    joints: Set[str],
    known: Set[str],
    first_said: Mapping[str, Source],
    clause: Clause,
    source: Source,
) -> float:
    """Say whether a clause spells a name anew, or has a new one where it stood: "in Sheffield"."""
    likes = (
        SAME_UNIT if _is_variant(token, word) else SAME_KIND
        for joint, token in pairwise(("", *clause.tokens))
        if token[0].isalpha() and token not in known and token not in clause.denied
        if _is_variant(token, word) or (joint in joints and first_said.get(token) is source)
    )
    return max(likes, default=0.0)


def _is_variant(token: str, word: str) -> bool:
    """Whether two words are spellings of one name that differ at their end, other than by an s."""
    token, word = (one.removesuffix("s").removesuffix("'") for one in (token, word))
    if token == word or min(len(token), len(word)) <= _VARIANT_LETTERS:
        return False
    shared = words.shared_start(token, word)
    return shared >= _VARIANT_LETTERS and max(len(token), len(word)) - shared == 1
