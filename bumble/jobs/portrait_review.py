"""The deep review of one person: when it is due, and what it reads.

Consolidation calls it. Only material that involves the person is in the prompt: their messages,
episodes with them, notes about them that they may meet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from bumble.errors import AnswerInvalidError
from bumble.fallback import sayings
from bumble.guard import verifier
from bumble.guard.verifier import ClaimSources, Said
from bumble.jobs import portrait
from bumble.jobs.portrait import PortraitMaterial, PortraitScores, PortraitUpdate
from bumble.records import base, episodes, relationships, session_files
from bumble.records.episodes import Episode
from bumble.records.provenance import is_untrusted
from bumble.records.relationships import PendingNote, Relationship
from bumble.records.sessions import Message
from bumble.runtime import job_request, people, review_queue
from bumble.runtime.job import Condition, Due, JobPlan, JobResult, traced
from bumble.runtime.runtime import Runtime
from bumble.text import tokens, words
from bumble.text.words import one_line

MESSAGE_TOKENS = 200  # of one message
MAX_LINES, MAX_LINE_CHARS = 12, 200  # of a portrait as it is asked for


def between(messages: Iterable[Message]) -> Iterable[tuple[Message, str]]:
    """Yield messages, each with the id of the person who spoke it or whom it answers."""
    turned_to = ""
    for message in messages:
        turned_to = message.speaker if message.role == "user" else turned_to
        yield message, turned_to


def worded(runtime: Runtime, message: Message) -> str:
    """Word a message so that a small model knows whose "I" it is; empty for one without words."""
    text = tokens.cut(one_line(message.text), MESSAGE_TOKENS)
    if not text or message.role == "tool":
        return ""
    if message.role == "assistant":
        return f'I answered: "{text}"'
    return f'{message.extra.get("name") or message.speaker} said: "{text}"'


NOTES = 8  # waiting notes that a review reads
EPISODE_SHARE = 0.5  # of the room beside the portrait; the rest is for what was said
EPISODE_TOKENS = 160  # of one episode


class DeepReviewJob(Struct, frozen=True):
    """One person whose portrait is reviewed."""

    person: str
    marks: tuple[str, ...] = ()  # of how far the talks with them have come


class ReviewMaterial(PortraitMaterial, frozen=True):
    """What the review of one person reads."""

    talk: Sequence[str] = ()  # the lines of both, in order


def has_notes(runtime: Runtime, person: str) -> bool:
    """Whether notes or own words wait in the file of somebody, and a model may work them in."""
    record = people.find_person(runtime, person)
    waits = record and (portrait.notes(record) or relationships.split_quotes(record.text)[1])
    return bool(waits) and sayings.of_person(runtime, person) is None


def check(runtime: Runtime, only: str = "") -> Due[DeepReviewJob]:
    """Find the people of whom there is enough that is new; `only` somebody is due in any case."""
    if only:
        named = Condition("asked for", only, "somebody", True)
        return Due((named,), (DeepReviewJob(only),))
    config = runtime.config.memory.relational
    least = config.deep_review_min_new_interactions
    acquaintances = list(relationships.read(runtime.entity.relationships))
    new = [(one, one.interaction_count - one.reviewed_at_count) for one in acquaintances]
    jobs = tuple(
        DeepReviewJob(
            one.id, (review_queue.mark("portrait", one.id, str(one.interaction_count // least)),)
        )
        for one, count in new
        if count >= least and sayings.of_person(runtime, one.id) is None  # else there's no prose
    )
    most = max((count for _, count in new), default=0)
    on = config.enabled and config.deep_review_on_consolidation
    conditions = (
        Condition("deep review", str(on).lower(), "deep_review_on_consolidation", on),
        Condition("new talks", str(most), f"at least {least}", bool(jobs)),
    )
    return Due(conditions, jobs)


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
    update = portrait.judged(
        runtime, person, "review", text, scored, dropped, refused, allow_shrink=allow_shrink
    )
    verb = "look again at" if update.good else "nothing usable came of another look at"
    return JobResult(
        f"reflect: {verb} {person.name}",  # by the name of that cycle it can be held back
        partial(_plan, runtime, reading, update),
        tuple(portrait.told(person, update)),
        portrait.update_data(person, update),
        traced(reading.ids, runtime.model.name if update.good else ""),
        in_vain=not update.good,
    )


def _read(runtime: Runtime, person: Relationship) -> ReviewMaterial:
    """Choose what the review reads: notes, then episodes, and what was said in the room left."""
    config = runtime.config.memory.relational
    waiting = portrait.notes(person)[:NOTES]
    left = config.deep_review_max_tokens - tokens.estimate(person.text)
    left -= tokens.estimate(_noted(waiting))
    chosen_episodes = _episodes(runtime, person, int(left * EPISODE_SHARE))
    left -= sum(tokens.estimate(_text_of(episode)) for episode in chosen_episodes)
    statements, talk = _talk(runtime, person, left)
    return ReviewMaterial(person, waiting, statements, chosen_episodes, talk=talk)


def _noted(notes: Sequence[PendingNote]) -> str:
    return "\n".join(f"- {note.text}" for note in notes)


def _sources(runtime: Runtime, reading: ReviewMaterial) -> ClaimSources:
    """Return what a sentence of the portrait may rest on."""
    person = reading.person
    prose, quotes = relationships.split_quotes(person.text)
    days = (f"{one.at.astimezone(runtime.zone):%A %d %B %Y %m}" for one in reading.episodes)
    told = (f"{day}: {one.text}" for day, one in zip(days, reading.episodes, strict=True))
    said = (Said(one.id, one.at, person.name, one.text) for one in reading.messages)
    return ClaimSources(
        tuple(said),
        (prose, *quotes, *(note.text for note in reading.notes), *told),
        (runtime.identity.name, person.id, *person.names),
        runtime.zone,
    )


def _ask(
    runtime: Runtime, reading: ReviewMaterial
) -> tuple[str | None, PortraitScores | None, tuple[str, ...]]:
    """Ask for the portrait, and drop what nothing that was read bears out."""
    config, person = runtime.config.memory.relational, reading.person
    prose, quotes = relationships.split_quotes(person.text)
    slots = {
        "person": person.name,
        "portrait": portrait.inside(prose),
        "notes": portrait.inside(_noted(reading.notes)),
        "episodes": portrait.inside("\n".join(map(_text_of, reading.episodes))),
        "talk": portrait.inside("\n".join((*quotes, *reading.talk))),
    }
    answer = job_request.answer(
        runtime,
        "review",
        slots,
        schema(),
        max_tokens=config.reflection_max_tokens,
        temperature=config.reflection_temperature,
    )
    sources, dropped = _sources(runtime, reading), list[str]()

    def stands(sentence: str) -> bool:
        why = "" if sentence in prose else verifier.check_prose(sentence, sources).why
        dropped.extend([f"{sentence} ({why})"] if why else [])
        return not why

    lines = [
        " ".join(filter(stands, words.sentences(one_line(line))))
        for line in (*answer["about"], answer["mine"])
    ]
    text = "\n".join(dict.fromkeys(filter(None, lines)))
    scored = portrait.read_scores(answer.get("scores", {}), stands)
    return text or None, scored, tuple(dropped)


def schema() -> dict[str, Any]:
    """Describe a portrait as it is asked for: what is known of a person, and how talking is."""
    line = {"type": "string", "maxLength": MAX_LINE_CHARS}
    about = {"type": "array", "items": line, "minItems": 1, "maxItems": MAX_LINES}
    asked = job_request.closed({"about": about, "mine": line})
    asked["properties"]["scores"] = portrait.SCHEMA  # not all of them come with every answer
    return asked


def _plan(runtime: Runtime, reading: ReviewMaterial, update: PortraitUpdate) -> JobPlan:
    """Write the portrait, unless somebody has edited it meanwhile."""
    person = reading.person
    now = people.find_person(runtime, person.id)
    if now is None or portrait.is_edited(person, now):
        edited = f"{person.name}: the portrait was edited meanwhile; it stays as it is"
        return JobPlan((), (edited,))
    # not the count of now: a talk in between is yet to be looked at
    count = person.interaction_count
    return JobPlan((portrait.plan(runtime, "review", reading, update, runtime.now(), count),))


def _episodes(runtime: Runtime, person: Relationship, budget_tokens: int) -> list[Episode]:
    """Return what happened with a person, told to them: the weightiest that fit, oldest first."""
    shared_episodes = [
        episode
        for episode in episodes.read(runtime.entity.episodes)
        if person.id in episode.people
        and base.may_read(episode.audience, (person.id,))
        and not is_untrusted(episode.provenance.trust)
    ]
    chosen: list[Episode] = []
    for episode in sorted(shared_episodes, key=lambda episode: (-episode.significance, episode.id)):
        cost = tokens.estimate(_text_of(episode))
        if cost <= budget_tokens:
            chosen.append(episode)
            budget_tokens -= cost
    return sorted(chosen, key=lambda episode: episode.at)


def _text_of(episode: Episode) -> str:
    text = tokens.cut(one_line(episode.text), EPISODE_TOKENS)
    return f"- {episode.at:%Y-%m-%d}: {text}"


def _talk(
    runtime: Runtime, person: Relationship, budget_tokens: int
) -> tuple[list[Message], Sequence[str]]:
    """Return the newest of what a person and the entity said to each other, oldest first."""
    statements, lines = list[Message](), list[str]()
    infos = [
        info
        for info in session_files.infos(runtime.entity.sessions)
        if person.id in (info.by, *info.present)
    ]
    for info in reversed(session_files.by_recency(infos, runtime.now())):
        session = session_files.find(runtime.entity.sessions, info.id)
        for message, turned_to in reversed(list(between(session.messages))):
            line = worded(runtime, message) if turned_to == person.id else ""
            if not line:
                continue
            budget_tokens -= tokens.estimate(line)
            if budget_tokens < 0:
                return statements[::-1], lines[::-1]
            lines.append(line)
            statements += [message] if message.role == "user" else []
    return statements[::-1], lines[::-1]
