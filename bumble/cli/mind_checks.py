"""The owner's checks of what the entity knows: what they come to, and what no check asks.

A check is held against what a memory search brings, against the next prompt or an answer; whoever
opens a model hands these texts over. No check asks how much of what models wrote nothing bears
out, and what of a compacted talk is still within reach.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import tzinfo
from statistics import fmean

from msgspec import Struct

from bumble.entity.folder import Entity
from bumble.errors import RecordInvalidError
from bumble.files import disk
from bumble.guard import origins, verifier
from bumble.history import lookup
from bumble.prompt import transcript
from bumble.recall import memory_search
from bumble.records import base, checks, dreams, kinds
from bumble.records.kind import Kind, RecordView
from bumble.records.sessions import Session
from bumble.runtime import body_state
from bumble.runtime.runtime import Runtime
from bumble.text import words
from bumble.text.stop_words import telling_words

COMPACTED = "compacted"  # the prompt of the very talk whose beginning was summarised
MARKS = "-*+>[] "  # of lists and quotes
LEAST_SHARE = 0.3  # of the words of a sentence, in what it rests on: with less it is not of that


class CheckOutcome(Struct, frozen=True):
    """What a check came to in one place."""

    check: checks.Check
    place: str  # one of checks.PLACES, or COMPACTED
    met: bool  # what is expected is there
    rank: int | None  # of the first text that holds any of it, from 1; None: none does
    forbidden: tuple[str, ...]  # what is there and must not be
    problem: str = ""  # why it could not be made

    @property
    def passes(self) -> bool:
        """Whether all is as it should be."""
        return self.met and not (self.forbidden or self.problem)


class WrittenStatement(Struct, frozen=True):
    """A sentence that a model wrote as true."""

    path: str
    text: str
    origin: base.Provenance  # of the record that says it
    borne_out: bool  # by something that was said


class Summary(Struct, frozen=True):
    """What all checks came to, in [0, 1]; None where nothing was asked."""

    recall_at_k: float | None
    mrr: float | None  # mean reciprocal rank, of memories
    in_prompt: float | None
    answered: float | None
    leak_rate: float | None  # of those that say what must never be there
    compaction_survival: float | None
    junk_rate: float | None  # of what models wrote


def outcome(check: checks.Check, place: str, texts: Sequence[str]) -> CheckOutcome:
    """Hold a check against some memories, best first, or against one text."""
    whole = "\n".join(texts)
    ranks = (
        rank
        for rank, text in enumerate(texts, 1)
        if any(checks.holds(text, wanted) for wanted in check.expected)
    )
    return CheckOutcome(
        check, place, check.is_met(whole), next(ranks, None), check.forbidden_in(whole)
    )


def search(runtime: Runtime, person_id: str, check: checks.Check) -> list[str]:
    """Return the memories that the question finds for who asks it, best first."""
    at = runtime.now()
    mood = body_state.mood(runtime, body_state.read(runtime, at)).name
    hits = memory_search.find(
        runtime.memory,
        runtime.config,
        memory_search.Search((person_id,), mood, at),
        check.ask,
        limit=check.k,
        unasked=False,
    )
    return [hit.text for hit in hits]


def covers(session: Session, check: checks.Check) -> bool:
    """Whether what is expected was said in a talk where now only its summary is shown."""
    summary = transcript.standing(session)
    covered = transcript.covered_messages(session, summary) if summary else ()
    hidden = {message.id for message in covered}
    told_in = {
        message.id
        for message in session.messages
        if any(checks.holds(message.text, wanted) for wanted in check.expected)
    }
    return bool(told_in) and told_in <= hidden


def statements(entity: Entity, names: Sequence[str], zone: tzinfo) -> list[WrittenStatement]:
    """Return every sentence that a model wrote as true, held against what it rests on.

    Args:
        entity: Whose memory.
        names: Of the entity first, and of people; they need not have been said.
        zone: The entity's time zone.
    """
    library = lookup.Library(entity, name=names[0], zone=zone)
    listed = []
    for item in (one for kind in kinds.KINDS if kind.claims for one in library.items(kind)):
        # what came to mind in a dream nobody has to have said
        if item.origin.model and not any(
            one.startswith(f"{dreams.PREFIX}_") for one in item.sources
        ):
            said = tuple(_said(library, item))
            sources = verifier.ClaimSources(said, names=tuple(names), zone=zone)
            texts = ["\n".join(one.text for one in said)]
            for sentence in _sentences(item.text):
                is_of_them = origins.share(sentence, texts, names) >= LEAST_SHARE
                stands = is_of_them and verifier.check_prose(sentence, sources) == verifier.KEPT
                listed.append(WrittenStatement(item.path, sentence, item.origin, stands))
    return listed


def _said(library: lookup.Library, item: lookup.LibraryRecord) -> Iterator[verifier.Said]:
    """Yield the messages that a record rests on, through others too, each once."""
    seen, waiting = {item.id}, list(item.sources)
    while waiting:
        if (record_id := waiting.pop()) in seen:
            continue
        seen.add(record_id)
        with suppress(RecordInvalidError):  # doctor tells of it
            source, talk = library.source(record_id), library.messages.session(record_id)
            waiting += [message.id for message in talk.messages] if talk else []
            waiting += source.sources if source else ()
            if source and source.kind == lookup.MESSAGE and source.at:
                yield verifier.Said(source.id, source.at, source.speaker, source.text)


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a record; headings are none."""
    for line in _unmarked(text).splitlines():
        yield from words.sentences(line)


def summarize(outcomes: Sequence[CheckOutcome], told: Sequence[WrittenStatement]) -> Summary:
    """Sum up what all checks came to."""
    expecting = [each for each in outcomes if each.check.expected]
    searched = [each for each in expecting if each.place == checks.RECALL]
    guarded = [each for each in outcomes if each.check.never]
    return Summary(
        recall_at_k=_mean([each.met for each in searched]),
        mrr=_mean([1 / each.rank if each.rank else 0 for each in searched]),
        in_prompt=_mean([each.met for each in expecting if each.place == checks.PROMPT]),
        answered=_mean([each.passes for each in expecting if each.place == checks.ANSWER]),
        leak_rate=_mean([bool(each.forbidden) for each in guarded]),
        compaction_survival=_mean([each.met for each in expecting if each.place == COMPACTED]),
        junk_rate=_mean([not each.borne_out for each in told]),
    )


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


BY = "eval draft"
# A portrait is how the entity sees somebody, which no check can ask for.
DRAFTED = tuple(kind for kind in kinds.KINDS if kind.claims and kind is not kinds.PERSON)
GAP = "…"
LEAST_WORDS = 3  # left in a question
LEAST_LETTERS = 4  # of a word that is no number
MAX_ASK_CHARS = 200

NAME_WORDS = 6  # of a question, in the name of its file


class _Source(Struct, frozen=True):
    """Something the entity holds, as a check asks for it."""

    kind: Kind
    view: RecordView
    sentence: str
    titled: bool  # whether its title asks for it


def draft(entity: Entity, people: Sequence[str], zone: tzinfo) -> Iterator[checks.Check]:
    """Yield checks for what the entity holds; those whose file is there already are left out.

    Args:
        entity: Whose memory.
        people: Ids of all it knows, the owner first.
        zone: The entity's time zone.
    """
    there = {path.stem for path in checks.paths(entity.checks)}
    sources = list(_sources(entity, zone))
    frequency = Counter(word for each in sources for word in set(telling_words(each.sentence)))
    for source in sources:
        for check in _checks(source, people, frequency):
            if check.id not in there:
                there.add(check.id)
                yield check


def _sources(entity: Entity, zone: tzinfo) -> Iterator[_Source]:
    for kind in DRAFTED:
        for path in kind.paths(entity):
            for view in kind.read(path, zone):
                sentences = words.sentences(_unmarked(view.text))
                if sentences and (view.origin.by or kind.own_words):
                    yield _Source(kind, view, sentences[0], kind is kinds.KNOWLEDGE)


def _unmarked(text: str) -> str:
    """Return a text without its headings and the marks of its lines."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return "\n".join(line.lstrip(MARKS) for line in lines)


def _checks(
    source: _Source, people: Sequence[str], frequency: Counter[str]
) -> Iterator[checks.Check]:
    """Yield the check of a sentence, and one for a person who may not hear it."""
    wanted = _most_telling(source, frequency)
    if not wanted:
        return
    ask = _question(source, wanted)
    if len(telling_words(ask)) < LEAST_WORDS and not source.titled:
        return
    view = source.view
    rests_on = view.sources if source.kind is kinds.KNOWLEDGE else (view.id,)
    audience = view.origin.audience
    asker = next((person for person in people if base.may_read(audience, (person,))), "")
    origin = base.Provenance(by=BY, sources=rests_on, trust=view.origin.trust, audience=audience)
    name = disk.file_name(" ".join(telling_words(ask)[:NAME_WORDS]))
    if asker:
        yield checks.new(name, ask, person=asker, expect=(wanted,), provenance=origin)
    stranger = next((one for one in people if not base.may_read(audience, (one,))), "")
    if stranger:
        yield checks.new(
            f"{name}-not-{stranger}", ask, person=stranger, never=(wanted,), provenance=origin
        )


def _most_telling(source: _Source, frequency: Counter[str]) -> str:
    """Return the word of a sentence that tells most: a number, else a rare and long one."""
    in_title = set(telling_words(source.view.id)) if source.titled else set()
    candidates = [
        word
        for word in telling_words(source.sentence)
        if word not in in_title and (word[:1].isdigit() or len(word) >= LEAST_LETTERS)
    ]
    return max(
        candidates,
        key=lambda word: (word[:1].isdigit(), -frequency[word], len(word)),
        default="",
    )


def _question(source: _Source, wanted: str) -> str:
    if source.titled:
        return source.view.id
    pattern = re.compile(rf"(?<!\w){re.escape(wanted)}(?!\w)", re.IGNORECASE)
    return words.shorten(pattern.sub(GAP, source.sentence), MAX_ASK_CHARS, at_word=True)
