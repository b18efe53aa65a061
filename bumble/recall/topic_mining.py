"""Topics found without a model: people, titles, tags, links, and names and words that recur.

A word is a topic where people say it in several records on several days, more often than its
language has it by itself, in lumps or as a noun, and where they tell of themselves: what is spread
evenly over all days, or only said of what another tells ("your support"), is a manner of speaking;
so is what the entity says. Who is there is addressed, not spoken of. Pure; the same texts and the
same time give the same topics.

Source:
    Dunning, "Accurate methods for the statistics of surprise and coincidence" (1993), for how far a
    word stands out; Church & Gale, "Inverse document frequency" (1995), for residual IDF; Justeson
    & Katz, "Technical terminology" (1995), for what stands where nouns do.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from bumble import patterns
from bumble.guard import names
from bumble.index import form
from bumble.index.rows import IndexedText
from bumble.records import provenance
from bumble.text import stop_words, words

TopicType = Literal["person", "knowledge", "skill", "project", "tag", "link", "name", "word"]
Trend = Literal["rising", "steady", "falling", "dormant"]
BARE = ("name", "word")  # topics that nobody gave a title
LEAST_RECORDS, LEAST_DAYS = 3, 2  # in which a name or word recurs
TREND_DAYS, DORMANT_DAYS = 30, 60
STEADY_SHARE = 0.25  # how far two halves may differ and still be steady
LEAST_LETTERS = 3
LITTLE_WORDS = 300  # the commonest of a language
STANDS_OUT = 2.0  # times as often as the language has it
EVEN = 0.1  # what a title counts that is spread as chance would
NOUN_WEIGHT = 1.0  # of standing as a noun, beside coming in lumps
OWN_GROWTH = 2.0  # how it grows with how much oftener people say it of their own life
ONE_SHARE = 0.5  # of what tells of a title, from which one that holds its name is the same topic
TITLE_WEIGHT = 2.0  # what somebody named on purpose counts more
# What a word counts that comes up on less than a share of all days; on so many it is enough anyhow.
RARE_WEIGHT, RARE_SHARE, ENOUGH_DAYS = 0.5, 0.1, 4
NAME_SHARE = 0.5  # of its places inside sentences at which a name has a capital
CAPITAL_NOUNS = frozenset(("de", "lb"))  # languages that write every noun with one
ADJECTIVES_FIRST = frozenset(("de", "en", "nl"))  # that put what describes a noun before it
PARENT = " / "  # between a title and its child
_LINK = patterns.compile(r"\[\[([^\]|#\n]{1,80})(?:[|#][^\]\n]*)?\]\]")
_NOT_WORDS = patterns.compile(r"https?://\S+|\S+@\S+")
_WORD = patterns.compile(r"[^\W\d_][^\W_]*(?:[-'’][^\W_]+)*")
_ELIDED = patterns.compile(r"(l|d|un|(?:d|n)ell|all|dall|sull|qu)'(?=\w{3})", re.IGNORECASE)
_SENTENCE_START = patterns.compile(r"(?:^|[.!?…:\n])[\s\"'“”„«»(*-]*$")


class Text(IndexedText, frozen=True):
    """One record, in the fields by which topics are found in it."""

    language: str
    tags: tuple[str, ...] = ()  # that its record has, beside those in the text
    is_own: bool = False  # whether the entity wrote it: what it says often is its manner

    @property
    def is_quoted(self) -> bool:
        """Whether it was only read or imported."""
        return provenance.is_untrusted(self.trust)


class Title(Struct, frozen=True):
    """Something that has a name in the folder: a person, a section, a skill, a project."""

    name: str
    type: TopicType
    aliases: tuple[str, ...] = ()  # other names of it
    at: datetime | None = None  # when it was written, if that is known
    record: tuple[str, str] | None = None  # kind and id of what has this title, as a text's


class Topic(Struct, frozen=True):
    """What some records are about."""

    name: str
    type: TopicType
    frequency: int  # records that mention it
    trend: Trend
    last_seen: datetime | None
    texts: tuple[Text, ...]  # that mention it, oldest first
    score: float  # how much it stands out; the topics are in this order
    parent: str = ""  # the name of the topic it is part of
    children: tuple[str, ...] = ()
    keys: frozenset[tuple[str, ...]] = frozenset()  # its names, as stems

    def days_since(self, now: datetime) -> int | None:
        """Return the days since it was mentioned last; None where nothing says when."""
        return None if self.last_seen is None else max(0, (now - self.last_seen).days)


class _Candidate(Struct):
    """What may be a topic, while the texts are read."""

    name: str
    type: TopicType
    keys: set[tuple[str, ...]] = field(default_factory=set)
    texts: dict[int, int] = field(default_factory=dict)  # number of a text: mentions in it
    expected: float = 0.0  # mentions, by the language alone
    at: datetime | None = None
    titled: bool = True
    marked: bool = False  # a word that somebody also writes as a tag or a link
    present: int = 0  # texts of conversations in which this person talks themselves
    nouns: float = 1.0  # share of its places at which it stands as a noun does
    own: float = 1.0  # how much oftener than other words somebody says it of their own life

    def mention(self, number: int) -> None:
        self.texts[number] = self.texts.get(number, 0) + 1


class _Token(Struct):
    surface: str
    word: str  # case folded
    stem: str
    inside: bool  # of a sentence: a capital letter there means something
    joined: bool  # nothing but a space stands between it and the word before
    own: bool = False  # who says it tells of themselves in the sentence


def find(
    texts: Sequence[Text],
    titles: Iterable[Title],
    now: datetime,
    *,
    passing: Collection[str] = (),
) -> list[Topic]:
    """Find what some texts are about, what stands out most first.

    Args:
        texts: Of the records, oldest first.
        titles: What has a name in the folder.
        now: The present.
        passing: Words that tell nothing, folded, whoever says them.
    """
    read_texts = [_tokens(text) for text in texts]
    candidates = _titled(tuple(titles), texts, read_texts)
    taken = {key for candidate in candidates.values() for key in candidate.keys}
    _count_marks(candidates, texts)
    recurring = _recurring(texts, read_texts, frozenset(passing), taken)
    _join_marks(candidates, recurring)
    days = [text.at.astimezone(now.tzinfo).date() if text.at else None for text in texts]
    count = len({day for day in days if day})
    _leave_out_present(candidates.values(), texts)
    topics = [
        _topic(candidate, texts, days, count, now)
        for candidate in (*candidates.values(), *recurring)
    ]
    topics.sort(key=lambda topic: (-topic.score, topic.name.casefold(), topic.name))
    return _related(topics)


def joined(topics: Sequence[Topic], name: str) -> Topic:
    """Return several topics, what stands out most first, as one; what has a title leads."""
    first = min(topics, key=lambda topic: topic.type in BARE)
    texts = {(text.kind, text.id): text for topic in topics for text in topic.texts}
    seen = [topic.last_seen for topic in topics if topic.last_seen]
    return replace(
        first,
        name=name,
        frequency=len(texts),
        last_seen=max(seen, default=None),
        texts=tuple(sorted(texts.values(), key=lambda text: str(text.at or ""))),
        keys=frozenset().union(*(topic.keys for topic in topics)),
    )


def key_of(name: str, language: str = words.DEFAULT_LANGUAGE) -> tuple[str, ...]:
    """Return the stems of a name, by which its spellings are one."""
    parts = [word.casefold() for word in _WORD.findall(name)]
    rules = form.rules_of(language)
    while len(parts) > 1 and rules and parts[0] in rules.before_nouns:  # "The Alma" is Alma
        parts = parts[1:]
    return tuple(words.stem(part, language) for part in parts)


def holds(stems: Sequence[str], key: Sequence[str]) -> bool:
    """Whether a name stands among some words, both as stems."""
    return any(tuple(stems[place : place + len(key)]) == tuple(key) for place in range(len(stems)))


def _tokens(text: Text) -> list[_Token]:
    """Return the words of a text, and of each whether its sentence is of who says it."""
    rules = form.rules_of(text.language)
    sentences: list[list[_Token]] = [[]]
    for token in _words(text):
        if not token.inside:
            sentences.append([])
        sentences[-1].append(token)
    for sentence in sentences:
        is_own = rules is not None and any(
            token.word.partition("'")[0] in rules.first_person for token in sentence
        )
        for token in sentence:
            token.own = is_own
    return [token for sentence in sentences for token in sentence]


def _words(text: Text) -> Iterator[_Token]:
    line = _NOT_WORDS.sub(" ", _LINK.sub(" ", text.text))
    end = 0
    for match in _WORD.finditer(line):
        surface = match[0].replace("’", "'").removesuffix("'s")
        joined = line[end : match.start()] == " "
        inside = _SENTENCE_START.search(line[max(0, match.start() - 12) : match.start()]) is None
        if elided := _ELIDED.match(surface):  # "l'école"
            yield _Token(elided[1], elided[1].casefold(), elided[1].casefold(), inside, joined)
            surface, inside, joined = surface[elided.end() :], True, True
        word = surface.casefold()
        yield _Token(surface, word, words.stem(word, text.language), inside, joined)
        end = match.end()


def _titled(
    titles: Collection[Title], texts: Sequence[Text], read_texts: Sequence[Sequence[_Token]]
) -> dict[str, _Candidate]:
    """Return what has a name in the folder, with the texts that mention it."""
    candidates: dict[str, _Candidate] = {}
    named: dict[str, _Candidate] = {}  # by title
    languages = {text.language for text in texts} or {words.DEFAULT_LANGUAGE}
    for title in titles:
        keys = {
            key
            for code in languages
            for name in (title.name.rpartition(PARENT)[2], *title.aliases)
            if (key := key_of(name, code))
        }
        made = _Candidate(title.name, title.type, keys, at=title.at)
        same = candidates.get(title.name.casefold()) or _same(made, candidates.values())
        candidate = same or candidates.setdefault(title.name.casefold(), made)
        candidate.keys |= keys
        named[title.name.casefold()] = candidate
    starts: dict[str, list[tuple[tuple[str, ...], _Candidate]]] = defaultdict(list)
    for candidate in candidates.values():
        for key in candidate.keys:
            starts[key[0]].append((key, candidate))
    forms = list[tuple[_Candidate, str]]()
    people = [one for one in candidates.values() if one.type == "person"]
    owners = {title.record: named[title.name.casefold()] for title in titles if title.record}
    for number, (text, tokens) in enumerate(zip(texts, read_texts, strict=True)):
        stems = [token.stem for token in tokens]
        for place, stem in enumerate(stems):
            for key, candidate in starts.get(stem, ()):
                is_there = tuple(stems[place : place + len(key)]) == key
                if is_there and not _is_little(tokens[place], text.language):
                    candidate.mention(number)
            if spelt := _person(tokens[place], text.language, people):
                spelt.mention(number)
                forms.append((spelt, stem))
        owner = owners.get((text.kind, text.id))
        if owner is not None and number not in owner.texts:  # what stands under a title is about it
            owner.mention(number)
    for candidate, stem in forms:  # are no topics of their own
        candidate.keys.add((stem,))
    _join_titles(candidates)
    return candidates


def _person(token: _Token, language: str, people: Iterable[_Candidate]) -> _Candidate | None:
    """Return whose name a word is in another form, where names have several: "Bartkiem"."""
    may_be = token.inside and token.surface[:1].isupper()
    if not may_be or not names.inflects(language):
        return None
    whose = names.meant(token.surface, {one.name: one.name.split() for one in people})
    return next(
        (one for one in people if one.name in whose and (token.stem,) not in one.keys), None
    )


def _is_little(token: _Token, language: str) -> bool:
    """Whether a word in small letters is no noun, where these have capitals: "mal" is not Malte."""
    is_small = token.surface.islower() and language in CAPITAL_NOUNS
    return is_small and token.word in words.common(language, LITTLE_WORDS)


def _same(made: _Candidate, others: Iterable[_Candidate]) -> _Candidate | None:
    """Return what has a name of something already: `The Alma` is Alma; no two people are one."""
    return next(
        (
            one
            for one in others
            if PARENT not in made.name + one.name
            and not made.type == one.type == "person"
            and not made.keys.isdisjoint(one.keys)
        ),
        None,
    )


def _join_titles(candidates: dict[str, _Candidate]) -> None:
    """Let a title be one topic with one that it names, where most texts of that are of both.

    Of `Hens` and `Hen house` only the first is there, if what tells of hens tells of their house.
    """
    for name, long in list(candidates.items()):
        for short in list(candidates.values()):
            is_named = short is not long and any(
                len(key) < len(other) and holds(other, key)
                for key in short.keys
                for other in long.keys
            )
            both = len(long.texts.keys() & short.texts.keys())
            may_be_one = long.type != "person" and PARENT not in long.name + short.name
            if is_named and may_be_one and both and both >= ONE_SHARE * len(short.texts):
                short.keys |= long.keys
                del candidates[name]
                break


def _leave_out_present(candidates: Iterable[_Candidate], texts: Sequence[Text]) -> None:
    """Count where people are named who are there: that is how they are addressed."""
    present: Mapping[str, set[tuple[str, ...]]] = defaultdict(set)
    for text in texts:
        if text.session and text.speaker:
            present[text.session].add(key_of(text.speaker, text.language))
    for candidate in candidates:
        if candidate.type == "person":
            sessions = (texts[number].session for number in candidate.texts)
            candidate.present = sum(not candidate.keys.isdisjoint(present[at]) for at in sessions)


def _count_marks(candidates: dict[str, _Candidate], texts: Sequence[Text]) -> None:
    """Add `#tags` and `[[links]]`; one that has the name of something else is that."""
    by_key = {key: candidate for candidate in candidates.values() for key in candidate.keys}
    for number, text in enumerate(texts):
        written = words.tags_in(text.text)
        forms = set(map(words.folded_tag, written))
        written += [tag for tag in text.tags if tag not in forms]
        marks: list[tuple[str, TopicType]] = [(name, "tag") for name in written]
        marks += [(name.strip(), "link") for name in _LINK.findall(text.text)]
        for name, mark in marks:
            spellings = [key_of(way, text.language) for way in (name, name.replace("-", " "))]
            key = next((each for each in spellings if each in by_key), spellings[0])
            if not key:
                continue
            if key not in by_key:
                by_key[key] = candidates.setdefault(name.casefold(), _Candidate(name, mark, {key}))
            by_key[key].mention(number)


def _join_marks(candidates: dict[str, _Candidate], recurring: Iterable[_Candidate]) -> None:
    """Let a word that somebody also marks be one topic: it counts more, wherever it stands."""
    marks = {
        key: name
        for name, candidate in candidates.items()
        if candidate.type in ("tag", "link")
        for key in candidate.keys
    }
    for word in recurring:
        if not word.keys <= marks.keys():
            continue
        for name in {marks[key] for key in word.keys} & candidates.keys():
            mark = candidates.pop(name)
            word.type, word.marked = mark.type, True
            for number in mark.texts.keys() - word.texts.keys():
                word.texts[number] = mark.texts[number]


class _Word(_Candidate):
    """A word that recurs, and how its stem is used in all texts."""

    surfaces: Counter[str] = field(default_factory=Counter)
    as_noun: Counter[str] = field(default_factory=Counter)  # these, where it stands as a noun
    shares: dict[tuple[str, str], float] = field(default_factory=dict)  # by word and language
    places: int = 0
    uttered: int = 0  # places in messages, in a language whose "I" is known
    told: int = 0  # of these, in sentences in which somebody tells of themselves
    inside: int = 0  # places within a sentence
    capital: int = 0  # of these, with a capital letter

    @property
    def is_name(self) -> bool:
        """Whether it is written as a name is; where all nouns have a capital, no word is one."""
        listed = any(
            code in CAPITAL_NOUNS and words.is_listed(word, code) for word, code in self.shares
        )
        return self.capital > NAME_SHARE * self.inside and not listed


def _recurring(
    texts: Sequence[Text],
    read_texts: Sequence[Sequence[_Token]],
    passing: frozenset[str],
    taken: Collection[tuple[str, ...]],
) -> list[_Candidate]:
    """Return names and words that may be topics; stems of titles are taken already."""
    found: dict[str, _Word] = {}
    totals: Counter[str] = Counter()
    for number, (text, tokens) in enumerate(zip(texts, read_texts, strict=True)):
        totals[text.language] += len(tokens)
        tells = [_tells(token.word, text.language, passing) for token in tokens]
        for place, token in enumerate(tokens):
            is_little = _is_little(token, text.language)
            if is_little or not tells[place] or (token.stem,) in taken:
                continue
            word = found.setdefault(token.stem, _Word("", "word", {(token.stem,)}, titled=False))
            _note(word, token, text, number)
            if _is_noun(tokens, tells, place, text.language):
                word.as_noun[token.surface] += 1
    for word in found.values():
        word.expected = sum(share * totals[code] for (_, code), share in word.shares.items())
        word.nouns = 1.0 if word.is_name else word.as_noun.total() / word.places
        word.type = "name" if word.is_name else "word"
        counts = word.as_noun or word.surfaces
        # the commonest way to write it, the plainer of two that are as common
        name = min(counts, key=lambda name: (-counts[name], name.swapcase()))
        word.name = name[:1].upper() + name[1:]
    _weigh_own(found.values())
    return [word for word in found.values() if _recurs(word, texts)]


def _note(word: _Word, token: _Token, text: Text, number: int) -> None:
    mark = (token.word, text.language)
    word.mention(number)
    word.surfaces[token.surface] += 1
    word.shares[mark] = words.frequency(*mark)
    word.places += 1
    if text.speaker and form.rules_of(text.language):
        word.uttered += 1
        word.told += token.own
    word.inside += token.inside
    word.capital += token.inside and token.surface[:1].isupper()


def _is_noun(tokens: Sequence[_Token], tells: Sequence[bool], place: int, language: str) -> bool:
    """Whether a word stands where its language has its nouns."""
    if language in CAPITAL_NOUNS:
        return tokens[place].surface[:1].isupper()
    rules, first = form.rules_of(language), place
    if rules is None:
        return True
    if (
        language in ADJECTIVES_FIRST
    ):  # what stands between these and a noun is a part of its name, too
        while first and tokens[first].joined and tells[first - 1]:
            first -= 1
    return first > 0 and tokens[first].joined and tokens[first - 1].word in rules.before_nouns


def _weigh_own(found: Collection[_Word]) -> None:
    """Compare how often somebody says a word of their own life with how often they say any."""
    own = sum(word.told for word in found)
    if not own:
        return
    common = own / sum(word.uttered for word in found)
    for word in found:
        word.own = (word.told + 1) / (word.uttered * common + 1)


def _recurs(candidate: _Candidate, texts: Sequence[Text]) -> bool:
    said = [text for number in candidate.texts if not (text := texts[number]).is_own]
    days = {text.at.date() for text in said if text.at}
    return (
        len(said) >= LEAST_RECORDS
        and len(days) >= LEAST_DAYS
        and candidate.nouns > 0
        and sum(candidate.texts.values()) >= STANDS_OUT * candidate.expected
    )


def _tells(word: str, language: str, passing: Collection[str]) -> bool:
    """Whether a word tells what something is about."""
    folded, rules = words.folded(word), form.rules_of(language)
    return (
        (rules is None or word not in rules.before_nouns)
        and len(folded) >= LEAST_LETTERS
        and word not in stop_words.WORDS
        and word not in passing
        and folded not in passing
        and "'" not in word
    )


def _topic(
    candidate: _Candidate,
    texts: Sequence[Text],
    days: Sequence[date | None],
    count: int,
    now: datetime,
) -> Topic:
    numbers = sorted(candidate.texts)
    holders = tuple(texts[number] for number in numbers)
    seen = [text.at for text in holders if text.at] + ([candidate.at] if candidate.at else [])
    on = {days[number] for number in numbers} - {None}
    mentions = sum(candidate.texts.values())
    lumps = _residual_idf(len(on), mentions, count)
    frequency = len(numbers)
    out = max(math.log(max(mentions, 1) / max(candidate.expected, 0.01)), 0.0)
    # In lumps, or as a noun on all days: a theme of a life that comes up in each talk is one, too.
    shape = lumps + NOUN_WEIGHT * candidate.nouns
    score = frequency * out * shape * candidate.own**OWN_GROWTH
    if len(on) < min(ENOUGH_DAYS, math.ceil(RARE_SHARE * count)):
        score *= RARE_WEIGHT
    if candidate.marked:
        score *= TITLE_WEIGHT
    if candidate.titled:
        score = TITLE_WEIGHT * max(frequency - candidate.present, 0.5) * max(EVEN + lumps, 1)
    last = max(seen, default=None)
    return Topic(
        candidate.name,
        candidate.type,
        frequency,
        _trend([text.at for text in holders if text.at], last, now),
        last,
        holders,
        round(score, 6),
        candidate.name.rpartition(PARENT)[0],
        keys=frozenset(candidate.keys),
    )


def _residual_idf(days: int, mentions: int, count: int) -> float:
    """Return by how much fewer days mention something than chance would have it, in bits."""
    if not days or not count:
        return 0.0
    by_chance = 1 - math.exp(-mentions / count)
    return max(0.0, math.log2(by_chance * count / days))


def _trend(times: Sequence[datetime], last: datetime | None, now: datetime) -> Trend:
    """Compare the last days with as many before them."""
    if last is not None and (now - last).days >= DORMANT_DAYS:
        return "dormant"
    ages = [(now - at).total_seconds() / 86_400 for at in times]
    recent = sum(0 <= age < TREND_DAYS for age in ages)
    before = sum(TREND_DAYS <= age < 2 * TREND_DAYS for age in ages)
    if abs(recent - before) <= STEADY_SHARE * max(recent, before):
        return "steady"
    return "rising" if recent > before else "falling"


def _related(topics: Sequence[Topic]) -> list[Topic]:
    """Say of each topic which are part of it."""
    children: Mapping[str, list[str]] = defaultdict(list)
    for topic in topics:
        if topic.parent:
            children[topic.parent.casefold()].append(topic.name)
    return [
        replace(topic, children=tuple(sorted(children.get(topic.name.casefold(), ()))))
        for topic in topics
    ]
