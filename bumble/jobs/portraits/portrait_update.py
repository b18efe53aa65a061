"""Drafting a portrait and writing it to the person's file, for reflection and deep review.

A draft of the model is held against the guards; what may be written is put into the person's file,
beside the scores. A portrait that somebody edited meanwhile is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from bumble.entity.changes import Change
from bumble.errors import AnswerInvalidError
from bumble.fallback import sayings
from bumble.jobs.portraits import line_origins, portrait
from bumble.jobs.portraits.line_origins import LineSource
from bumble.jobs.portraits.portrait import Material
from bumble.jobs.portraits.scores import PortraitScores
from bumble.records import base, relationships
from bumble.records.base import Provenance
from bumble.records.kind import unite
from bumble.records.provenance import is_untrusted
from bumble.records.relationships import PendingNote, Relationship
from bumble.runtime import people
from bumble.runtime.runtime import Runtime

VERBS = {
    "rewrite": "written anew",
    "review": "reviewed",
    sayings.MARK: "amended by form",
}


class PortraitDraft(Struct, frozen=True):
    """The text of a portrait as the model wrote it, checked against the material."""

    text: str | None  # without what rested on nothing; None: nothing was left
    dropped: tuple[str, ...] = ()  # sentences, each with the reason
    scored: PortraitScores | None = None  # what came with it


class PortraitUpdate(Struct, frozen=True):
    """A new portrait with its scores, judged and not yet written."""

    mode: str  # rewrite, review or form
    text: str
    good: bool  # False: the model's was not usable, the old one stays
    mark: str  # `portrait_source`
    refused: str  # why it was not usable
    dropped: tuple[str, ...]
    scored: PortraitScores | None
    unread_scores: bool = False  # they were asked for, and could not be read


def notes(person: Relationship) -> list[PendingNote]:
    """Return the notes that may go into a portrait, which the person may meet in a prompt."""
    return [
        note
        for note in person.pending
        if base.may_read(note.provenance.audience, (person.id,))
        and not is_untrusted(note.provenance.trust)
    ]


def draw(
    runtime: Runtime,
    person: Relationship,
    material: Material,
    mode: str,
    ask: Callable[[str], PortraitDraft],
    *,
    allow_shrink: bool,
) -> PortraitUpdate:
    """Let the model write a portrait, and check it.

    Args:
        runtime: Whose portrait.
        person: As it was read.
        material: What it may rest on.
        mode: For the report.
        ask: Takes the prose of the portrait so far, asks the model once.
        allow_shrink: Whether it may lose more than `portrait.MOST_LOSS`.

    Raises:
        ModelUnreachableError: If no model answers.
    """
    prose, _ = relationships.split_quotes(person.text)
    refused, draft = "", PortraitDraft(None)
    try:
        draft = ask(prose)
    except AnswerInvalidError as error:
        refused = str(error).split("\n")[0]
    return judged(runtime, person, material.names, mode, draft, refused, allow_shrink=allow_shrink)


def judged(
    runtime: Runtime,
    person: Relationship,
    names: Sequence[str],
    mode: str,
    draft: PortraitDraft,
    refused: str = "",
    *,
    allow_shrink: bool,
) -> PortraitUpdate:
    """Tell whether a draft may take the place of a portrait; the owner's own lines stay in it."""
    config = runtime.config.memory.relational
    prose, _ = relationships.split_quotes(person.text)
    if draft.text is not None:
        draft = replace(draft, text=line_origins.with_owners(draft.text, person, prose))
    if draft.text is None:
        refused = refused or "nothing in the answer rested on what was said"
    elif draft.text != prose:
        refused = portrait.refusal(prose, draft.text, names, allow_shrink=allow_shrink)
    if draft.text is None or refused:
        return PortraitUpdate(
            mode, person.text, False, person.portrait_source, refused, draft.dropped, None
        )
    text, mark = (person.text, person.portrait_source) if draft.text == prose else (draft.text, "")
    scored = draft.scored if config.score_derivation else None
    unread = config.score_derivation and scored is None
    return PortraitUpdate(mode, text, True, mark, "", draft.dropped, scored, unread)


def is_edited(before: Relationship | None, now: Relationship | None) -> bool:
    """Whether somebody changed the portrait since it was given to the model."""
    return (before.text if before else "") != (now.text if now else "")


def plan(
    runtime: Runtime,
    person: Relationship,
    update: PortraitUpdate,
    origin: Provenance,
    sources: Sequence[LineSource],
    more: Mapping[str, Any],
) -> Change | None:
    """Plan to write a portrait and its scores into the person's file as it is now.

    Args:
        runtime: Whose folder.
        person: As it was given to the model; a stub where there was no file.
        update: The new portrait and its scores.
        origin: Of the new text.
        sources: What its new lines may rest on.
        more: Further values for `relationships.plan_update`.
    """
    record = people.find_person(runtime, person.id)
    now = record or person
    values = dict(more)
    if runtime.config.memory.relational.flush_to_disk and update.text != now.text:
        new = origin if update.good else replace(origin, model="")  # a quote is no model's
        marks = line_origins.marked(person, update.text, new, sources)
        ids = unite(*(mark.sources for mark in marks.values()))
        values |= {
            "text": update.text,
            "lines": marks,
            "portrait_source": update.mark,
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
    if change is None:
        return None
    if record is None:
        return Change(change.path, change.why, change.data)
    return replace(change, keeps=bool(record.text) and "text" in values)


def origin(
    runtime: Runtime,
    by: str,
    person: Relationship,
    update: PortraitUpdate,
    sources: Sequence[str],
    trusts: Sequence[str],
) -> Provenance:
    """Say where a portrait comes from; only its person may meet it in a prompt."""
    return Provenance(
        by=by,
        model=runtime.model.name if update.good else person.provenance.model,
        sources=tuple(sources) or person.provenance.sources,
        trust=base.lowest_trust(filter(None, [person.provenance.trust, *trusts])),
        audience=(person.id,),
    )


def lines(person: Relationship, update: PortraitUpdate) -> Iterator[str]:
    """Say in lines for a person what an update changes."""
    if not update.good:
        yield f"{person.name}: {update.refused}; the portrait stays"
    elif update.text == person.text:
        yield f"{person.name}: nothing new"
    else:
        verb = VERBS[update.mode]
        yield f"{person.name}: portrait {verb}, {len(update.text.split())} words"
    if update.dropped:
        yield f"  left out, for want of evidence: {len(update.dropped)}"
        yield from (f"  - {sentence}" for sentence in update.dropped)
    if update.scored is not None:
        scores = update.scored.scores
        yield f"  familiarity {scores.familiarity:.2f}, warmth {scores.warmth:.2f}"
    if update.unread_scores:
        yield "  the scores could not be read; they stay as they were"


def data(person: Relationship, update: PortraitUpdate) -> dict[str, Any]:
    """Return what an update changes, for JSON."""
    return {
        "person": person.id,
        "mode": update.mode,
        "changed": update.text != person.text,
        "refused": update.refused,
        "dropped": list(update.dropped),
        "scores": None if update.scored is None else asdict(update.scored.scores),
    }
