"""The one search: what a message brings to mind, what `recall` answers to whoever asks.

`find` gives the best of a search as they stand now: without beliefs that gave way, with what was
put right since. What comes to mind by itself has to be near; what was asked for has to touch the
question, and `answers` says which of it answers. Ranking is the index's; knows nothing of prompts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, tzinfo
from functools import cache, partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bumble.body import affects
from bumble.body.config import FeltMemoryConfig
from bumble.entity import secrets
from bumble.entity.config import Config
from bumble.entity.folder import Entity
from bumble.errors import RecordInvalidError, UserError
from bumble.fallback import quotes, templates
from bumble.files import disk
from bumble.guard import values
from bumble.index import chunks
from bumble.index.memory import Memory
from bumble.index.rerank import RerankTurn
from bumble.index.rows import Period
from bumble.index.search import Factor, Hit
from bumble.recall import belief_strength, periods
from bumble.records import base, beliefs, episodes, kinds, knowledge, session_files, sessions, state
from bumble.records.kinds import RECALLED
from bumble.records.provenance import BY_FORM
from bumble.runtime import body_state, rules
from bumble.runtime.runtime import Runtime
from bumble.text import stop_words, words

IMPRINTS = "imprints"  # in the front matter; a file without it need not be parsed
CORRECTS = b'"corrects"'  # in the transcript of a talk in which something was put right
MOST_NEWER = 3  # words on one memory
LATEST_TALKS = 50  # of those that nothing was kept of yet


# What somebody said later about the same thing: the id of that, and its words, quoted.
NewerWord = tuple[str, str]


def beside(
    entity: Entity,
    hits: Sequence[Hit],
    readers: Sequence[str],
    zone: tzinfo | None,
    *,
    once: bool = False,
) -> list[Hit]:
    """Put before each memory the newest words on it that its readers may meet.

    Args:
        entity: Whose memories.
        hits: The memories.
        readers: Ids of all who will read them.
        zone: Of the days that are named.
        once: Whether a word that stands there is no memory of its own beside it.
    """
    newer = _noticed(entity, hits, readers, zone) if hits else {}
    for older, word in (_kept(entity, readers) if hits else {}).items():
        newer.setdefault(older, []).append(word)
    words_of = {hit.id: _words_on(entity, hit, newer) for hit in hits} if newer else {}
    # which stand before what they put right
    told = {name for each in words_of.values() for name, _ in each if once}
    left = (hit for hit in hits if hit.id not in told or words_of[hit.id])
    return [_with_newer(hit, words_of.get(hit.id, ())) for hit in left]


def _noticed(
    entity: Entity, hits: Sequence[Hit], readers: Sequence[str], zone: tzinfo | None
) -> dict[str, list[NewerWord]]:
    """Return the corrections in talks of which nothing was kept yet, and in those of the hits.

    In another talk stands what put right what knowledge rests on.
    """
    newer, waiting = dict[str, list[NewerWord]](), list[str]()
    with suppress(UserError):  # doctor says so; what is remembered is found all the same
        waiting = list(state.waiting(state.read(entity.state)))[-LATEST_TALKS:]
    found = {hit.id for hit in hits if hit.kind == "message"}
    sections = knowledge.readable(entity.knowledge).sections if found else ()
    told = [
        *(name for hit in hits for name in (hit.session, *sources(entity, hit))),
        *sorted(
            name
            for section in sections
            if not found.isdisjoint(section.provenance.sources)
            for name in section.provenance.sources
            if name.startswith(sessions.PREFIX)
        )[-LATEST_TALKS:],
    ]
    of_hits = (name for name in told if name.startswith(sessions.PREFIX) and base.is_id(name))
    names = sorted({*waiting, *of_hits})  # by time: the newest word stands
    paths = (entity.sessions / name / sessions.FILE for name in names)
    corrected = (path for path in paths if CORRECTS in (disk.read_cache(path) or b""))
    for session in session_files.talks(corrected):
        for message in session.messages if base.may_read(session.people, readers) else ():
            notice = session.notices.get(message.id)
            if (
                notice
                and notice.keep
                and notice.corrects
                and secrets.find_secret(message.text) is None
            ):
                template = templates.load(words.language(message.text))
                line = quotes.plain(quotes.line(quotes.of(message, zone), template))
                # a reader tells which are likely, the likeliest first
                sure = notice.corrects if notice.share is None else notice.corrects[:1]
                for older in sure:
                    newer.setdefault(older, []).append((message.id, line))
    return newer


def _kept(entity: Entity, readers: Sequence[str]) -> dict[str, NewerWord]:
    """Return the corrections that some people may meet, by the message each puts right."""
    newer = {}
    for belief in beliefs.BELIEF.readable(entity.beliefs):
        origin = belief.provenance
        cited = [name for name in origin.sources if name.startswith(sessions.MESSAGE_PREFIX)]
        if (
            belief.category == belief_strength.CORRECTION
            and origin.by.endswith(BY_FORM)
            and len(cited) == 2
            and not belief.archived
            and base.may_read(origin.audience, readers)
        ):
            newer[cited[1]] = (cited[0], belief.text)
    return newer


def _words_on(
    entity: Entity, hit: Hit, newer: Mapping[str, Sequence[NewerWord]]
) -> list[NewerWord]:
    """Return the newest words on a memory, oldest first: each may put another part of it right."""
    cited = sources(entity, hit)
    found, looked = dict[str, str](), [*cited]
    for older in looked:
        new = {name: line for name, line in newer.get(older, ()) if name not in looked}
        found |= new
        looked += new
    return sorted(found.items())[-MOST_NEWER:]


def _with_newer(hit: Hit, newer: Sequence[NewerWord]) -> Hit:
    if not newer:
        return hit
    told = " ".join(line for _, line in newer)
    return replace(hit, newer=quotes.since(told, templates.load(words.language(told))))


def sources(entity: Entity, hit: Hit) -> tuple[str, ...]:
    """Return the ids of the messages that a memory quotes; none of a text that may not be read."""
    if hit.id.startswith(sessions.MESSAGE_PREFIX):
        return (hit.id,)
    if hit.kind != "episode":
        return ()
    try:
        return base.load(entity.root / hit.path, episodes.EPISODE.parse).provenance.sources
    except RecordInvalidError:
        return ()


KNOWLEDGE_THRESHOLD = 0.3  # likeness a section needs
# What was asked for may be less near than what comes unasked: of 401 answers in long talks four
# were farther, of what foreign questions found in a small folder all was (docs/log.md).
TOUCHING = 0.6
WORDS_SHARE = 0.5  # of the words asked for, with which a hit of any nearness touches
LOOKED_AT, MOST_ANSWERS = 20, 10  # of a question: among these, and at most so many of them
# Chosen on `bench/precision.py` with two embedders; nearness is calibrated for each.
ANSWER_NEARNESS, ANSWER_SHARE = 0.25, 0.65  # that an answer needs, and of the nearest's
PERIOD_NEARNESS = 0.3  # what the time that a question names is worth
COME_TO_MIND = (*kinds.UNASKED, "knowledge")  # of all that is searched for a message


class Search(Struct, frozen=True):
    """The conversation that a search is for: who meets what it finds, in which mood, and when."""

    readers: Sequence[str]  # ids of all who take part: what others said in private is left out
    mood: str
    at: datetime
    outside: str = ""  # a session that is in the prompt anyway
    unseen: Sequence[str] = ()  # ids of its messages that are not
    people: Sequence[str] = ()  # ids; what is about, or with, at least one of them; empty: all
    tags: Sequence[str] = ()  # what has all of these; empty: everything
    sessions: Sequence[str] = ()  # the messages of these sessions alone
    after: datetime | None = None  # only what is from then or newer
    before: datetime | None = None  # only what is older, or has no time
    period: Period | None = None  # that the question names; None: as it reads
    asker: str = ""  # id of who asks; empty: the only reader, else whoever is not the entity
    asking: RerankTurn | None = (
        None  # what asks, where it is said already: it is no answer to itself
    )


def search_of(runtime: Runtime, readers: Sequence[str], **more: Any) -> Search:
    """Return a search for some people now, in the mood that the entity is in."""
    at = runtime.now()
    return Search(readers, body_state.read(runtime, at).mood.name, at, **more)


def last_turn(session: sessions.Session) -> RerankTurn | None:
    """Return the turn of the last message of a person, which asks what is searched for."""
    roles = [message.role for message in chunks.turns(session)]
    if "user" not in roles:
        return None
    return RerankTurn(sessions.path(session.id), len(roles) - 1 - roles[::-1].index("user"))


def find(
    memory: Memory,
    config: Config,
    search: Search,
    query: str,
    *,
    kinds: Sequence[str] = (),
    limit: int,
    unasked: bool = True,
    faded: bool | None = None,
    newer: bool = True,
    touching: bool = False,
) -> list[Hit]:
    """Find what a query brings to mind, best first.

    What has faded comes to mind when it is asked for and nothing else answers.

    Args:
        memory: What is searched.
        config: Thresholds, and how beliefs fade.
        search: Who meets it, in which mood.
        query: What was said, or asked.
        kinds: Kinds of record; empty: all but what answers nothing.
        limit: At most this many.
        unasked: Whether only what comes to mind by itself counts, before the best are taken.
        faded: Whether what has faded counts too; None: where nothing else answers.
        newer: Whether the newest word on each stands before it.
        touching: Whether what has nothing to do with the query, and beliefs that gave way, are
            left out before the best are taken.
    """
    asked = len(set(stop_words.telling_words(query)))
    only = search.readers[0] if len(search.readers) == 1 else ""
    period = search.period or period_of(memory, search, query)
    held = cache(partial(_held, memory.entity))

    def fits(hit: Hit) -> bool:
        if unasked and not comes_to_mind(hit, config):
            return False
        if not touching:
            return True
        within = period is not None and period.weight(hit.at) > 0
        is_of_it = within or touches(hit, config, asked)
        return is_of_it and bool(_believed([hit], held, search.at))

    def look(*, with_faded: bool) -> list[Hit]:
        found = memory.search(
            query,
            kinds=kinds or RECALLED,
            limit=limit,
            audience=search.readers,
            people=search.people,
            tags=search.tags,
            sessions=search.sessions,
            outside=search.outside,
            unseen=search.unseen,
            asker=chunks.spoken_name(search.asker or only),
            asking=search.asking,
            factor=_imprint_factor(memory.entity, config.memory, search.mood, search.at),
            faded=with_faded,
            after=search.after,
            before=search.before,
            fits=fits if touching or unasked else None,
            period=period,
        )
        return _without_waiting(memory.entity, found)

    hits = look(with_faded=bool(faded))
    wants_faded = faded is None and not unasked and not any(is_near(hit, config) for hit in hits)
    if wants_faded and memory.has_faded():
        woken = [  # what has faded and does answer, before what is awake and does not
            hit
            for hit in look(with_faded=True)
            if hit.faded and is_near(hit, config) and not _put_to_sleep(memory.entity, hit)
        ]
        hits = [*woken, *hits][:limit]
    # as they stand now: without what gave way, with what was put right since
    believed = _believed(hits, held, search.at)
    if not newer:
        return believed
    return beside(memory.entity, believed, search.readers, search.at.tzinfo)


class QuestionHits(Struct, frozen=True):
    """What a question finds, and which of it answers."""

    hits: tuple[Hit, ...]  # best first, what only touches the question among it
    answers: tuple[Hit, ...]
    near: int  # so many others are near, too
    period: Period | None = None  # that the question names


def answers(
    memory: Memory,
    config: Config,
    search: Search,
    query: str,
    *,
    kinds: Sequence[str] = (),
    limit: int | None = None,
) -> QuestionHits:
    """Find what answers a question: as near as the nearest, or nearly, and near at all.

    What is from the time that a question names needs less, and what has all of its words nothing.
    With a limit the best so many answer, however near they are.
    """
    period = period_of(memory, search, query)
    hits = find(
        memory,
        config,
        replace(search, period=period),
        query,
        kinds=kinds,
        limit=limit or LOOKED_AT,
        unasked=False,
        touching=True,
    )
    if limit:
        return QuestionHits(tuple(hits), tuple(hits), 0, period)
    hits = [hit for hit in hits if stop_words.bare(hit.text) != stop_words.bare(query)]
    clear = [_clearness(hit, period) for hit in hits]
    telling = (  # what asks itself tells nothing: it is nearer to a question than its answer is
        own
        for own, hit in zip(clear, hits, strict=True)
        if not (hit.kind == "message" and hit.text.rstrip().endswith(words.QUESTION_MARKS))
    )
    least = ANSWER_SHARE * max(telling, default=0.0)
    if any(hit.parts.shares for hit in hits):  # by words alone there is no nearness
        least = max(least, ANSWER_NEARNESS)
    chosen = [
        hit
        for hit, clearness in zip(hits, clear, strict=True)
        if clearness >= least or hit.parts.complete
    ][:MOST_ANSWERS]
    others = sum(hit not in chosen and is_near(hit, config) for hit in hits)
    return QuestionHits(tuple(hits), tuple(chosen), others, period)


def _clearness(hit: Hit, period: Period | None) -> float:
    """Say how clearly a hit answers: by its nearness, without vectors by its words."""
    nearness = hit.parts.nearness
    own = hit.parts.bm25 if nearness is None else nearness
    return own + PERIOD_NEARNESS * (period.weight(hit.at) if period else 0)


def period_of(memory: Memory, search: Search, query: str) -> Period | None:
    """Return the time that a question names, with the days around it; None: it names none.

    What happened, and when, has to be looked up for "around her birthday".
    """
    named = periods.read(query, search.at)
    if named or not periods.is_around(query):
        return named
    event = memory.search(query, kinds=RECALLED, limit=1, audience=search.readers)
    if not event or event[0].at is None:
        return None
    told = event[0].at
    days = [
        datetime.combine(day, told.timetz())
        for day in _named_days(event[0].text, told.date(), search.at.date())
    ]
    nearest = min(days, key=lambda day: abs(day - told), default=told)
    # the last that it may tell of, else the one that was nearest when it was told
    lately = [day for day in days if told - periods.AFTER <= day <= search.at + periods.AFTER]
    return periods.around(max(lately, default=nearest))


def _named_days(text: str, told: date, today: date) -> set[date]:
    """Return the days that the one date in a text may be; several dates say nothing."""
    read = values.read(text, words.language(text))
    if len(read.times.dated) != 1:
        return set()
    years = {int(number.value) for number in read.numbers if number.value in values.YEARS}
    near = [date(year, 7, 1) for year in years] or [told, today]
    days = {day for one in near for dated in read.times.dated for day in values.near(one, *dated)}
    return {day for day in days if not years or day.year in years}


def _put_to_sleep(entity: Entity, hit: Hit) -> bool:
    """Whether a person has put a memory to sleep, which stays so."""
    try:
        return hit.kind == "episode" and not episodes.find(entity, hit.id).faded
    except UserError:  # gone or broken since it was indexed
        return True


def comes_to_mind(hit: Hit, config: Config) -> bool:
    """Whether a hit enters a prompt that nobody asked for it in."""
    return hit.kind in COME_TO_MIND and not hit.faded and is_near(hit, config)


def is_near(hit: Hit, config: Config) -> bool:
    """Whether a hit is near enough to come to mind by itself; without vectors, words must do."""
    nearness = hit.parts.nearness
    return nearness is None or nearness >= threshold(hit, config)


def touches(hit: Hit, config: Config, asked: int) -> bool:
    """Whether a hit has anything to do with what was asked: by meaning, or by its own words.

    Args:
        hit: What was found.
        config: The threshold of what comes to mind by itself.
        asked: How many telling words the question has.
    """
    nearness = hit.parts.nearness
    if nearness is None or nearness >= TOUCHING * threshold(hit, config):
        return True
    text = stop_words.folded(hit.text)
    own = sum(stop_words.folded(term) in text for term in hit.parts.matched)
    return own > 0 and own >= WORDS_SHARE * asked


def threshold(hit: Hit, config: Config) -> float:
    """Return the nearness from which a hit comes to mind by itself."""
    return KNOWLEDGE_THRESHOLD if hit.kind == "knowledge" else config.recall.preamble_threshold


def superseded(entity: Entity, at: datetime) -> frozenset[str]:
    """Return the ids of the beliefs that gave way to others."""
    held = _held(entity)
    return frozenset(
        name for name, belief in held.items() if belief_strength.superseded(belief, held, at)
    )


def _held(entity: Entity) -> dict[str, beliefs.Belief]:
    return {belief.id: belief for belief in beliefs.BELIEF.readable(entity.beliefs)}


def _believed(
    hits: Sequence[Hit], held: Callable[[], Mapping[str, beliefs.Belief]], at: datetime
) -> list[Hit]:
    """Leave out beliefs that gave way to others, and say of which the entity is unsure."""
    found = [(hit, held().get(hit.id) if hit.kind == "belief" else None) for hit in hits]
    return [
        replace(hit, text=f"{hit.text} (unsure)") if belief and _is_unsure(belief, at) else hit
        for hit, belief in found
        if belief is None or not belief_strength.superseded(belief, held(), at)
    ]


def _is_unsure(belief: beliefs.Belief, at: datetime) -> bool:
    return belief_strength.strength(belief, at) < belief_strength.UNSURE_BELOW


def _without_waiting(entity: Entity, hits: Sequence[Hit]) -> list[Hit]:
    """Leave out locked sections that came from elsewhere, until their owner approves them."""
    if not any(hit.kind == "knowledge" for hit in hits):
        return list(hits)
    book = knowledge.readable(entity.knowledge)
    own = rules.own_book(entity, book).sections
    waiting = {section.title for section in book.sections if section not in own}
    return [hit for hit in hits if hit.kind != "knowledge" or hit.id not in waiting]


# how charged episodes weigh more: imprints against the present mood


class ImprintShare(Struct, frozen=True):
    """What one imprint of an episode adds, and what that is made of."""

    emotion: str
    intensity: float
    trigger: str
    affinity: float  # of the present mood with the emotion; 1 counts nothing
    decay: float  # what its age has left of it, in [0, 1]
    share: float  # before cap and weight


class ImprintWeight(Struct, frozen=True):
    """What all imprints of an episode do to its relevance."""

    shares: tuple[ImprintShare, ...]
    age_days: float
    factor: float


def _imprint_factor(
    entity: Entity, memory: FeltMemoryConfig, mood: str, at: datetime
) -> Factor | None:
    """Return what to multiply the relevance of a hit by; None where imprints count nothing.

    Args:
        entity: Whose episodes.
        memory: Weight and half-life.
        mood: The mood now.
        at: The present.
    """
    if not memory.imprint_recall_weight:
        return None

    def of(hit: Hit) -> float:
        own = imprint_weight(entity, memory, mood, at, hit)
        return own.factor if own else 1.0

    return Factor(of, 1 + memory.imprint_recall_weight * affects.IMPRINT_CAP)


def imprint_weight(
    entity: Entity, memory: FeltMemoryConfig, mood: str, at: datetime, hit: Hit
) -> ImprintWeight | None:
    """Return what the imprints of a hit do to it; None if it is no episode, or has none."""
    episode = _charged(entity, hit) if hit.kind == "episode" else None
    if episode is None:
        return None
    felt, age = episode.imprints, max(0.0, (at - episode.at).total_seconds())
    decay = math.exp2(-age / memory.imprint_decay_half_life_seconds)
    counted = affects.imprint_shares(felt, mood, age, memory)
    shares = tuple(
        ImprintShare(
            imprint.emotion,
            imprint.intensity,
            imprint.trigger,
            affects.affinity(mood, imprint.emotion),
            decay,
            share,
        )
        for imprint, share in zip(felt, counted, strict=True)
    )
    return ImprintWeight(shares, age / 86_400, affects.imprint_factor(felt, mood, age, memory))


def _charged(entity: Entity, hit: Hit) -> episodes.Episode | None:
    """Read the episode of a hit, if it has imprints; one that is gone or broken since has none."""
    path = entity.root / hit.path
    try:
        if IMPRINTS not in base.read_text(path):
            return None
        episode = base.load(path, episodes.EPISODE.parse)
    except RecordInvalidError:
        return None
    return episode if episode.imprints else None
