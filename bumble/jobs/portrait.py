"""The portrait of a person: judged and written, of a talk; and the deep review of one person."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from bumble import patterns
from bumble.entity.changes import Change
from bumble.errors import AnswerInvalidError
from bumble.fallback import sayings
from bumble.guard import origins, verifier
from bumble.records import (
    base,
    episodes,
    kind,
    knowledge,
    provenance,
    relationships,
    session_files,
    sessions,
    state,
)
from bumble.records.episodes import Episode
from bumble.runtime import people, review_queue
from bumble.runtime.job import Condition, Due, JobPlan, JobResult, ask, closed, traced
from bumble.runtime.runtime import Runtime
from bumble.text import markdown, moments, stop_words, tokens, words

_GAPS = patterns.compile(r"(?<![ \t])(?:[ \t]*(?:\r\n|\r|\n)){3,}")


class LineSource(Struct, frozen=True):
    """A text that a line may rest on, with what it stands for."""

    text: str
    ids: tuple[str, ...]  # of the conversation and the messages, or of a record


class PortraitMaterial(Struct, frozen=True):
    """What a portrait is drawn from."""

    person: relationships.Relationship  # as it was read
    notes: Sequence[relationships.PendingNote]  # that wait to be worked into it
    messages: Sequence[sessions.Message]  # theirs
    episodes: Sequence[Episode] = ()
    session: str = ""  # id of the conversation, where it is one
    talk: Sequence[str] = ()  # the lines of both, in order, for a review

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of what it rests on."""
        told, said = (one.id for one in self.episodes), (one.id for one in self.messages)
        return kind.unite([self.session], told, said)

    @property
    def lines(self) -> list[LineSource]:
        """What a line may rest on."""
        own = (self.session,) if self.session else ()
        return [
            *(LineSource(one.text, (one.id,)) for one in self.episodes),
            *(LineSource(one.text, (*own, one.id)) for one in self.messages),
            *(LineSource(one.text, one.provenance.sources) for one in self.notes),
        ]

    @property
    def trust(self) -> str:
        """The lowest trust of it, and of the portrait before."""
        trusts = [self.person.provenance.trust, *(one.trust for one in self.messages)]
        trusts += [one.provenance.trust for one in self.episodes]
        trusts += [one.provenance.trust for one in self.notes]
        return base.lowest_trust(filter(None, trusts))


def marked(
    person: relationships.Relationship,
    text: str,
    origin: base.Provenance,
    sources: Sequence[LineSource],
) -> dict[str, base.Provenance]:
    """Say of each line of a new portrait where it comes from, by `relationships.line_key`.

    Args:
        person: As they were, with the portrait so far.
        text: The new portrait.
        origin: Of what the pass wrote; for its audience the whole portrait answers.
        sources: What the pass was given, oldest first.
    """
    old = relationships.text_lines(person.text)
    stay = set(map(relationships.line_key, old))
    given = [*sources, *(LineSource(line, person.origin_of(line).sources) for line in old)]
    marks: dict[str, base.Provenance] = {}
    for line in relationships.text_lines(text):
        key = relationships.line_key(line)
        if key not in stay:
            marks[key] = _traced(line, replace(origin, audience=()), given, person)
        elif not person.origin_of(line).by and not person.audience:
            marks[key] = relationships.FOR_ALL
        elif (before := person.origin_of(line)) != base.BY_HAND:
            marks[key] = replace(before, audience=())
    return marks


def _traced(
    line: str,
    origin: base.Provenance,
    sources: Sequence[LineSource],
    person: relationships.Relationship,
) -> base.Provenance:
    """Say which of its sources a new line rests on; all of the pass, where none shows."""
    names = (person.id, *person.names)
    parts = [] if line.startswith("#") else words.sentences(line)
    texts = [source.text for source in sources]
    places = dict.fromkeys(place for part in parts for place in origins.nearest(part, texts, names))
    ids = tuple(dict.fromkeys(name for place in places for name in sources[place].ids))
    return replace(origin, sources=ids or origin.sources)


def with_owners(text: str, person: relationships.Relationship) -> str:
    """Put the lines that a person wrote back on top of a portrait that was written without them."""
    own = "".join(  # headings and blank lines among them
        line
        for line in markdown.lines(person.text)
        if not line.strip() or not person.origin_of(line).by
    )
    keys = set(map(relationships.line_key, relationships.text_lines(own)))
    if keys <= set(map(relationships.line_key, relationships.text_lines(text))):
        return text
    rest = [line for line in text.split("\n") if relationships.line_key(line) not in keys]
    return "\n".join([_GAPS.sub("\n\n", own).strip(), *rest])


SAID_AGAIN = 0.8  # of the telling words of what is known: with so many it says the same


def is_told(sentence: str, known: Iterable[str]) -> bool:
    """Whether a sentence says nothing that isn't known already, and nearly all of that."""
    language = words.language(sentence)
    said = words.stems(sentence, language)
    stems = (words.stems(text, language) for text in known)
    return any(said <= there and len(said) >= SAID_AGAIN * len(there) for there in stems)


def untold(
    lines: Sequence[Sequence[str]], person: relationships.Relationship, known: Sequence[str]
) -> str:
    """Return a portrait without what is known elsewhere: a fact stands in one record.

    What stood in it before may stay, and so does all of it where little else would be left; where
    nothing is, there is no portrait.

    Args:
        lines: The sentences of each of its lines.
        person: Whose it is, with the portrait so far.
        known: What is known of them.
    """
    own = [[one for one in line if one in person.text or not is_told(one, known)] for line in lines]
    whole, left = (
        "\n".join(dict.fromkeys(filter(None, map(words.paragraph, part)))) for part in (lines, own)
    )
    return left if not left or len(left) * 2 > len(whole) else whole


LEAST_CHARS = 40  # a shorter portrait is no portrait; a sign of a script without spaces says more
MOST_LOSS = 0.30  # a rewrite that loses more is refused


def refusal(old: str, new: str, *, allow_shrink: bool) -> str:
    """Say why a new portrait may not take the place of the old one; empty if it may."""
    weight = sum(3 if stop_words.is_unspaced(char) else 1 for char in new)
    if weight < LEAST_CHARS and len(new) <= len(old or new):
        return f"too little was usable: {len(new)} characters"
    lost = 1 - len(new) / max(1, len(old))
    if lost > MOST_LOSS and not allow_shrink:
        return f"it would lose {lost:.0%} of the portrait; --allow-shrink lets it"
    return ""


def inside(rows: Iterable[str]) -> str:
    """Join lines so that they end no tag that they stand in."""
    return "\n".join(rows).replace("</", "‹/") or "(nothing)"


MAX_TOPICS, MAX_UNRESOLVED, MAX_CHARS = 5, 3, 120
_NAMES = relationships.Scores.__struct_fields__
_TEXTS = {"type": "array", "items": {"type": "string", "maxLength": MAX_CHARS}}

FIELDS: Mapping[str, Any] = {
    **{name: {"type": "number"} for name in _NAMES},
    "dynamic": {"type": "string", "maxLength": MAX_CHARS},
    "topics": {**_TEXTS, "maxItems": MAX_TOPICS},
    "unresolved": {**_TEXTS, "maxItems": MAX_UNRESOLVED},
}
SCORED: Mapping[str, Any] = {"anyOf": [closed(FIELDS), {"type": "null"}]}  # of a stretch
SCORES: Mapping[str, Any] = {**closed(FIELDS), "required": list(_NAMES)}


class PortraitScores(Struct, frozen=True):
    """The scores and notes that come with a portrait; where one is None, the old stays."""

    scores: relationships.Scores
    dynamic: str | None
    topics: tuple[str, ...] | None
    unresolved: tuple[str, ...] | None


def read_scores(raw: Mapping[str, Any], stands: Callable[[str], bool]) -> PortraitScores | None:
    """Read the scores of a portrait; None if there are none.

    Args:
        raw: As a model gave them.
        stands: Whether a line of them names nothing that nobody gave.
    """
    if not raw or not set(_NAMES) <= set(raw):
        return None
    dynamic = _standing([raw.get("dynamic", "")], stands)
    return PortraitScores(
        relationships.Scores(**{name: min(1.0, max(0.0, float(raw[name]))) for name in _NAMES}),
        dynamic[0] if dynamic else None,
        tuple(_standing(raw["topics"], stands)) if "topics" in raw else None,
        tuple(_standing(raw["unresolved"], stands)) if "unresolved" in raw else None,
    )


def _standing(texts: Sequence[str], stands: Callable[[str], bool]) -> list[str]:
    lines = {
        line.casefold(): line for text in texts if (line := words.one_line(text)) and stands(line)
    }
    return list(lines.values())


VERBS = {"rewrite": "written anew", "review": "reviewed"}


class PortraitUpdate(Struct, frozen=True):
    """A new portrait with its scores, judged and not yet written."""

    mode: str  # one of VERBS
    text: str
    good: bool  # False: the model's was not usable, the old one stays
    refused: str  # why it was not usable
    dropped: tuple[str, ...]
    scored: PortraitScores | None
    unread_scores: bool = False  # they were asked for, and could not be read


def notes(person: relationships.Relationship) -> list[relationships.PendingNote]:
    """Return the notes that may go into a portrait, which the person may meet in a prompt.

    What others heard as well waits for them, too, and is given to one reflection.
    """
    last = person.last_reflection
    return [
        note
        for note in person.pending
        if base.may_read(note.provenance.audience, (person.id,))
        and not provenance.is_untrusted(note.provenance.trust)
        and not (_is_for_others(note, person) and last and note.at and note.at <= last)
    ]


def _is_for_others(note: relationships.PendingNote, person: relationships.Relationship) -> bool:
    return not {*note.provenance.audience} <= {person.id}


def judged(
    runtime: Runtime,
    person: relationships.Relationship,
    mode: str,
    text: str | None,
    scored: PortraitScores | None = None,
    dropped: tuple[str, ...] = (),
    refused: str = "",
    *,
    allow_shrink: bool,
) -> PortraitUpdate:
    """Tell whether a draft may take the place of a portrait; the owner's own lines stay in it.

    Args:
        runtime: Whose.
        person: As they are.
        mode: How it was drawn, one of `VERBS`.
        text: Without what rested on nothing; None: nothing was left.
        scored: What came with it.
        dropped: Sentences that were left out, each with the reason.
        refused: Why there is none.
        allow_shrink: Whether it may lose more than `MOST_LOSS`.
    """
    if text is None:
        refused = refused or "nothing in the answer rested on what was said"
    else:
        text = with_owners(text, person)
        shrinks = refusal(person.text, text, allow_shrink=allow_shrink)
        refused = "" if text == person.text else shrinks
    if text is None or refused:
        return PortraitUpdate(mode, person.text, False, refused, dropped, None)
    derives = runtime.config.memory.relational.score_derivation
    unread = derives and scored is None
    return PortraitUpdate(mode, text, True, "", dropped, scored if derives else None, unread)


def is_edited(before: relationships.Relationship, now: relationships.Relationship | None) -> bool:
    """Whether somebody changed the portrait, or took it away, since it was given to the model."""
    return now is None or before.text != now.text


def plan(
    runtime: Runtime,
    by: str,
    given: PortraitMaterial,
    update: PortraitUpdate,
    at: datetime,
    count: int | None = None,
) -> Change | None:
    """Plan to write a portrait and its scores into the person's file as it is now.

    Args:
        runtime: Whose folder.
        by: What drew it.
        given: What it was drawn from.
        update: The new portrait and its scores.
        at: When it was drawn.
        count: How many talks it has taken in; None: all there are.
    """
    person = given.person
    now = people.find_person(runtime, person.id) or person
    origin = base.Provenance(
        by=by,
        model=runtime.model.name if update.good else person.provenance.model,
        sources=given.ids or person.provenance.sources,
        trust=given.trust,
        audience=(person.id,),  # only its person may meet it in a prompt
    )
    worked_in: dict[str, Any] = {
        "pending": tuple(
            note for note in now.pending if note not in given.notes or _is_for_others(note, person)
        ),
        "last_reflection": at,
        "reviewed_at_count": now.interaction_count if count is None else count,
    }
    values = worked_in if update.good else {}
    if runtime.config.memory.relational.flush_to_disk and update.text != now.text:
        new = origin if update.good else replace(origin, model="")  # a quote is no model's
        marks = marked(person, update.text, new, given.lines)
        ids = kind.unite(*(mark.sources for mark in marks.values()))
        values |= {
            "text": update.text,
            "lines": marks,
            "provenance": replace(origin, sources=ids or origin.sources),
        }
    if update.scored is not None:
        values |= {
            "scores": update.scored.scores,
            "dynamic": update.scored.dynamic,
            "topics": update.scored.topics,
            "unresolved": update.scored.unresolved,
            "last_scored": runtime.now(),
        }
        if now.source.meta.get("scores"):
            values["previous_health"] = people.health(now.scores)
    change = relationships.plan_update(now, f"see {person.name} as it is now", **values)
    return replace(change, keeps=bool(now.text) and "text" in values) if change else None


def told(person: relationships.Relationship, update: PortraitUpdate) -> Iterator[str]:
    """Say in lines for a person what an update changes."""
    if not update.good:
        yield f"{person.name}: {update.refused}; the portrait stays"
    elif update.text == person.text:
        yield f"{person.name}: nothing new"
    else:
        yield f"{person.name}: portrait {VERBS[update.mode]}, {words.extent(update.text)}"
    if update.dropped:
        yield f"  left out, for want of evidence: {len(update.dropped)}"
        yield from (f"  - {sentence}" for sentence in update.dropped)
    if update.scored is not None:
        scores = update.scored.scores
        yield f"  familiarity {scores.familiarity:.2f}, warmth {scores.warmth:.2f}"
    if update.unread_scores:
        yield "  the scores could not be read; they stay as they were"


def update_data(person: relationships.Relationship, update: PortraitUpdate) -> dict[str, Any]:
    """Return what an update changes, for JSON."""
    return {
        "person": person.id,
        "mode": update.mode,
        "changed": update.text != person.text,
        "refused": update.refused,
        "dropped": list(update.dropped),
        "scores": None if update.scored is None else asdict(update.scored.scores),
    }


MESSAGE_TOKENS = 200  # of one message
MAX_LINES, MAX_LINE_CHARS = 12, 400  # of a portrait as it is asked for


def between(messages: Iterable[sessions.Message]) -> Iterable[tuple[sessions.Message, str]]:
    """Yield messages, each with the id of the person who spoke it or whom it answers."""
    turned_to = ""
    for message in messages:
        turned_to = message.speaker if message.role == "user" else turned_to
        yield message, turned_to


def worded(message: sessions.Message) -> str:
    """Word a message so that a small model knows whose "I" it is; empty for one without words."""
    text = tokens.cut(words.one_line(message.text), MESSAGE_TOKENS)
    if not text or message.role == "tool":
        return ""
    if message.role == "assistant":
        return f'I answered: "{text}"'
    return f'{message.called()} said: "{text}"'


NOTES = 8  # waiting notes that a review reads
EPISODE_SHARE = 0.5  # of the room beside the portrait; the rest is for what was said
EPISODE_TOKENS = 160  # of one episode


class DeepReviewJob(Struct, frozen=True):
    """One person whose portrait is reviewed."""

    person: str
    marks: tuple[str, ...] = ()  # of how far the talks with them have come


def has_notes(runtime: Runtime, person: str) -> bool:
    """Whether notes wait in the file of somebody, and a model may work them in."""
    record = people.find_person(runtime, person)
    return bool(record and notes(record)) and writes(runtime, person).passes


def writes(runtime: Runtime, person: str) -> Condition:
    """Return the condition of a portrait: that the model may write in the language of somebody."""
    passes = sayings.of_person(runtime, person) is None
    value = "may write" if passes else "keeps what is said word for word"
    return Condition("model", value, "one that may write a portrait", passes)


def check(runtime: Runtime, only: str = "") -> Due[DeepReviewJob]:
    """Find the people of whom there is enough that is new; `only` somebody is due in any case."""
    if only:
        return Due((Condition("asked for", only, "somebody", True),), (DeepReviewJob(only),))
    config = runtime.config.memory.relational
    least = config.deep_review_min_new_interactions
    acquaintances = list(relationships.PERSON.readable(runtime.entity.relationships))
    new = [(one, one.interaction_count - one.reviewed_at_count) for one in acquaintances]
    jobs = tuple(
        DeepReviewJob(one.id, (mark(runtime, one),))
        for one, count in new
        if count >= least and writes(runtime, one.id).passes
    )
    most = max((count for _, count in new), default=0)
    on = config.enabled and config.deep_review_on_consolidation
    conditions = (
        Condition("deep review", str(on).lower(), "deep_review_on_consolidation", on),
        Condition("new talks", str(most), f"at least {least}", bool(jobs)),
    )
    return Due(conditions, jobs)


def mark(runtime: Runtime, person: relationships.Relationship) -> str:
    """Return the mark of a portrait after so many talks: one that waits is not drawn once more."""
    least = runtime.config.memory.relational.deep_review_min_new_interactions
    return review_queue.mark("portrait", person.id, str(person.interaction_count // least))


def run(runtime: Runtime, job: DeepReviewJob, *, allow_shrink: bool = False) -> JobResult:
    """Look at one person again; ask the model, write nothing.

    Raises:
        ModelUnreachableError: If no model answers.
        RecordMissingError: If the person's file has gone meanwhile.
    """
    person = relationships.find(runtime.entity.relationships, job.person)
    reading = _read(runtime, person)
    try:
        text, scored, dropped = _ask(runtime, reading)
        refused = ""
    except AnswerInvalidError as error:
        text, scored, dropped = None, None, ()
        refused = str(error).split("\n")[0]
    update = judged(
        runtime, person, "review", text, scored, dropped, refused, allow_shrink=allow_shrink
    )
    verb = "look again at" if update.good else "nothing usable came of another look at"
    return JobResult(
        f"reflect: {verb} {person.name}",  # by the name of that cycle it can be held back
        partial(_plan, runtime, reading, update),
        tuple(told(person, update)),
        update_data(person, update),
        traced(reading.ids, runtime.model.name if update.good else ""),
        vain=() if update.good else job.marks,
    )


def _read(runtime: Runtime, person: relationships.Relationship) -> PortraitMaterial:
    """Choose what the review reads: notes, then episodes, and what was said in the room left."""
    waiting = notes(person)[:NOTES]
    left = runtime.config.memory.relational.deep_review_max_tokens - tokens.estimate(person.text)
    left -= tokens.estimate(_noted(waiting))
    chosen_episodes = _episodes(runtime, person, int(left * EPISODE_SHARE))
    left -= sum(tokens.estimate(_text_of(episode)) for episode in chosen_episodes)
    statements, talk = _talk(runtime, person, left)
    return PortraitMaterial(person, waiting, statements, chosen_episodes, talk=talk)


def _noted(notes: Sequence[relationships.PendingNote]) -> str:
    return "\n".join(f"- {note.text}" for note in notes)


def _sources(runtime: Runtime, reading: PortraitMaterial) -> verifier.ClaimSources:
    """Return what a sentence of the portrait may rest on."""
    person = reading.person
    days = (f"{one.at.astimezone(runtime.zone):%A %d %B %Y %m}" for one in reading.episodes)
    told = (f"{day}: {one.text}" for day, one in zip(days, reading.episodes, strict=True))
    return verifier.ClaimSources(
        tuple(verifier.Said(one.id, one.at, person.name, one.text) for one in reading.messages),
        (person.text, *(note.text for note in reading.notes), *told),
        (runtime.identity.name, person.id, *person.names),
        runtime.zone,
    )


def _ask(
    runtime: Runtime, reading: PortraitMaterial
) -> tuple[str | None, PortraitScores | None, tuple[str, ...]]:
    """Ask for the portrait, and drop what nothing that was read bears out."""
    config, person = runtime.config.memory.relational, reading.person
    answer = ask(
        runtime,
        "review",
        {
            "person": person.name,
            "portrait": inside([person.text]),
            "notes": inside([_noted(reading.notes)]),
            "episodes": inside(map(_text_of, reading.episodes)),
            "talk": inside(reading.talk),
        },
        schema(),
        max_tokens=config.reflection_max_tokens,
        temperature=config.reflection_temperature,
    )
    sources, dropped = _sources(runtime, reading), list[str]()
    book = knowledge.readable(runtime.entity.knowledge)
    shared = (one for one in book.sections if base.may_read(one.provenance.audience, (person.id,)))
    known = [part for one in shared for part in words.sentences(one.text)]

    def stands(sentence: str) -> bool:
        # of a long time's talks much puts right something else
        why = verifier.check_prose(sentence, sources, outdated=False).why
        why = "" if sentence in person.text else why
        dropped.extend([f"{sentence} ({why})"] if why else [])
        return not why

    lines = [
        list(filter(stands, words.sentences(words.one_line(line))))
        for line in (*answer["about"], answer["mine"])
    ]
    text = untold(lines, person, known)
    return text or None, read_scores(answer.get("scores", {}), stands), tuple(dropped)


def schema() -> dict[str, Any]:
    """Describe a portrait as it is asked for: what is known of a person, and how talking is."""
    line = {"type": "string", "maxLength": MAX_LINE_CHARS}
    about = {"type": "array", "items": line, "minItems": 1, "maxItems": MAX_LINES}
    asked = closed({"about": about, "mine": line})
    asked["properties"]["scores"] = SCORES  # not all of them come with every answer
    return asked


def _plan(runtime: Runtime, reading: PortraitMaterial, update: PortraitUpdate) -> JobPlan:
    """Write the portrait, unless somebody has edited it meanwhile."""
    person = reading.person
    if is_edited(person, people.find_person(runtime, person.id)):
        edited = f"{person.name}: the portrait was edited meanwhile; it stays as it is"
        return JobPlan((), (edited,))
    # not the count of now: a talk in between is yet to be looked at
    count = person.interaction_count
    return JobPlan((plan(runtime, "review", reading, update, runtime.now(), count),))


def _episodes(
    runtime: Runtime, person: relationships.Relationship, budget_tokens: int
) -> list[Episode]:
    """Return what happened with a person, told to them: the weightiest that fit, oldest first."""
    shared_episodes = [
        episode
        for episode in episodes.EPISODE.readable(runtime.entity.episodes)
        if person.id in episode.people
        and base.may_read(episode.audience, (person.id,))
        and not provenance.is_untrusted(episode.provenance.trust)
    ]
    chosen: list[Episode] = []
    for episode in sorted(shared_episodes, key=lambda one: (-one.significance, one.id)):
        cost = tokens.estimate(_text_of(episode))
        if cost <= budget_tokens:
            chosen.append(episode)
            budget_tokens -= cost
    return sorted(chosen, key=lambda episode: episode.at)


def _text_of(episode: Episode) -> str:
    return f"- {episode.at:%Y-%m-%d}: {tokens.cut(words.one_line(episode.text), EPISODE_TOKENS)}"


def _talk(
    runtime: Runtime, person: relationships.Relationship, budget_tokens: int
) -> tuple[list[sessions.Message], Sequence[str]]:
    """Return the newest of what a person and the entity said to each other, oldest first."""
    statements, lines = list[sessions.Message](), list[tuple[datetime, str]]()
    folder, now = runtime.entity.sessions, runtime.now()
    for session in session_files.latest(
        folder, now, lambda info: person.id in (info.by, *info.present)
    ):
        spoken = between(map(state.own_words, session.messages))
        for message, turned_to in reversed(list(spoken)):
            line = worded(message) if turned_to == person.id else ""
            if not line:
                continue
            budget_tokens -= tokens.estimate(line)
            if budget_tokens < 0:
                return statements[::-1], moments.by_day(lines[::-1], runtime.zone)
            lines.append((message.at, line))
            statements += [message] if message.role == "user" else []
    return statements[::-1], moments.by_day(lines[::-1], runtime.zone)
