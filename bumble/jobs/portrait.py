"""Judging the draft of a portrait and writing it to the person's file, of a talk or a review.

What a model drew is checked where it was asked for; here a draft that loses too much is refused,
the owner's own lines stay in it, and each line is marked with where it comes from. A portrait that
somebody edited meanwhile is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from bumble.entity.changes import Change
from bumble.fallback import sayings
from bumble.guard import claims, origins
from bumble.records import base, relationships
from bumble.records.base import Provenance
from bumble.records.episodes import Episode
from bumble.records.kind import unite
from bumble.records.provenance import is_untrusted
from bumble.records.relationships import PendingNote, Relationship, Scores
from bumble.records.sessions import Message
from bumble.runtime import people
from bumble.runtime.runtime import Runtime
from bumble.text import markdown, words
from bumble.text.words import one_line

HEADING = "#"
_GAPS = re.compile(r"(?<![ \t])(?:[ \t]*(?:\r\n|\r|\n)){3,}")


class LineSource(Struct, frozen=True):
    """A text that a line may rest on, with what it stands for."""

    text: str
    ids: tuple[str, ...]  # of the conversation and the messages, or of a record


class PortraitMaterial(Struct, frozen=True):
    """What a portrait is drawn from."""

    person: Relationship  # as it was read
    notes: Sequence[PendingNote]  # that wait to be worked into it
    messages: Sequence[Message]  # theirs
    episodes: Sequence[Episode] = ()
    session: str = ""  # id of the conversation, where it is one

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of what it rests on."""
        return unite([self.session], *([one.id] for one in (*self.episodes, *self.messages)))

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
        records = (self.person, *self.episodes, *self.notes)
        trusts = [one.provenance.trust for one in records] + [one.trust for one in self.messages]
        return base.lowest_trust(filter(None, trusts))


def marked(
    person: Relationship, text: str, origin: Provenance, sources: Sequence[LineSource]
) -> dict[str, Provenance]:
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
    marks: dict[str, Provenance] = {}
    for line in relationships.text_lines(text):
        key = relationships.line_key(line)
        if key not in stay:
            marks[key] = _traced(line, replace(origin, audience=()), given, person)
        elif (before := person.origin_of(line)).by:
            marks[key] = replace(before, audience=())
    return marks


def _traced(
    line: str, origin: Provenance, sources: Sequence[LineSource], person: Relationship
) -> Provenance:
    """Say which of its sources a new line rests on; all of the pass, where none shows."""
    names = (person.id, *person.names)
    parts = [] if line.startswith(HEADING) else words.sentences(line)
    texts = [source.text for source in sources]
    places = dict.fromkeys(place for part in parts for place in origins.nearest(part, texts, names))
    ids = tuple(dict.fromkeys(name for place in places for name in sources[place].ids))
    return replace(origin, sources=ids or origin.sources)


def with_owners(text: str, person: Relationship, prose: str) -> str:
    """Put the lines that a person wrote back on top of a portrait that was written without them."""
    present = set(map(relationships.line_key, relationships.text_lines(text)))
    own = "".join(  # headings and blank lines among them
        line for line in markdown.lines(prose) if not line.strip() or not person.origin_of(line).by
    )
    keys = set(map(relationships.line_key, relationships.text_lines(own)))
    if keys <= present:
        return text
    rest = [line for line in text.split("\n") if relationships.line_key(line) not in keys]
    return "\n".join([_GAPS.sub("\n\n", own).strip(), *rest])


LEAST_CHARS = 40  # a shorter portrait is no portrait
MOST_LOSS = 0.30  # a rewrite that loses more is refused


def refusal(old: str, new: str, names: Sequence[str], *, allow_shrink: bool) -> str:
    """Say why a new portrait may not take the place of the old one; empty if it may."""
    if len(new) < LEAST_CHARS and len(new) <= len(old or new):
        return f"too little was usable: {len(new)} characters"
    lost = loss(old, new, names)
    if lost > MOST_LOSS and not allow_shrink:
        return f"it would lose {lost:.0%} of the portrait; --allow-shrink lets it"
    return ""


def loss(old: str, new: str, names: Sequence[str] = ()) -> float:
    """Tell how much of a portrait a new one loses, in [0, 1]: of its length, or of its facts.

    Facts are names, numbers and dates; a single one may go, for that is how one is corrected.
    """
    if not old:
        return 0.0
    shrunk = max(0.0, 1 - len(new) / len(old))
    facts = claims.unsupported(old, (), names)
    lost = claims.unsupported(old, (new,), names)
    return max(shrunk, len(lost) / len(facts) if len(lost) > 1 else 0.0)


def inside(text: str) -> str:
    """Return outside text as it stands in a prompt's tags: it can't close them."""
    return text.replace("</", "< /") or "(nothing)"


MAX_TOPICS, MAX_UNRESOLVED, MAX_CHARS = 5, 3, 120
_NAMES = Scores.__struct_fields__
_TEXTS = {"type": "array", "items": {"type": "string", "maxLength": MAX_CHARS}}

FIELDS: Mapping[str, Any] = {
    **{name: {"type": "number"} for name in _NAMES},
    "dynamic": {"type": "string", "maxLength": MAX_CHARS},
    "topics": {**_TEXTS, "maxItems": MAX_TOPICS},
    "unresolved": {**_TEXTS, "maxItems": MAX_UNRESOLVED},
}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": FIELDS,
    "required": list(_NAMES),
    "additionalProperties": False,
}


class PortraitScores(Struct, frozen=True):
    """The scores and notes that come with a portrait; where one is None, the old stays."""

    scores: Scores
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
        Scores(**{name: min(1.0, max(0.0, float(raw[name]))) for name in _NAMES}),
        dynamic[0] if dynamic else None,
        tuple(_standing(raw["topics"], stands)) if "topics" in raw else None,
        tuple(_standing(raw["unresolved"], stands)) if "unresolved" in raw else None,
    )


def _standing(texts: Sequence[str], stands: Callable[[str], bool]) -> list[str]:
    lines = {line.casefold(): line for text in texts if (line := one_line(text)) and stands(line)}
    return list(lines.values())


VERBS = {
    "rewrite": "written anew",
    "review": "reviewed",
    sayings.MARK: "amended by form",
}


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


def judged(
    runtime: Runtime,
    person: Relationship,
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
    prose, _ = relationships.split_quotes(person.text)
    if text is None:
        refused = refused or "nothing in the answer rested on what was said"
    else:
        text = with_owners(text, person, prose)
        if text != prose:
            names = (person.id, *person.names)
            refused = refusal(prose, text, names, allow_shrink=allow_shrink)
    if text is None or refused:
        return PortraitUpdate(
            mode, person.text, False, person.portrait_source, refused, dropped, None
        )
    text, mark = (person.text, person.portrait_source) if text == prose else (text, "")
    derives = runtime.config.memory.relational.score_derivation
    unread = derives and scored is None
    return PortraitUpdate(mode, text, True, mark, "", dropped, scored if derives else None, unread)


def is_edited(before: Relationship | None, now: Relationship | None) -> bool:
    """Whether somebody changed the portrait since it was given to the model."""
    return (before.text if before else "") != (now.text if now else "")


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
    person, record = given.person, people.find_person(runtime, given.person.id)
    now = record or person
    origin = Provenance(
        by=by,
        model=runtime.model.name if update.good else person.provenance.model,
        sources=given.ids or person.provenance.sources,
        trust=given.trust,
        audience=(person.id,),  # only its person may meet it in a prompt
    )
    values: dict[str, Any] = {}
    if update.good:
        values = {
            "pending": tuple(note for note in now.pending if note not in given.notes),
            "last_reflection": at,
            "reviewed_at_count": now.interaction_count if count is None else count,
        }
    if runtime.config.memory.relational.flush_to_disk and update.text != now.text:
        new = origin if update.good else replace(origin, model="")  # a quote is no model's
        marks = marked(person, update.text, new, given.lines)
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


def told(person: Relationship, update: PortraitUpdate) -> Iterator[str]:
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


def update_data(person: Relationship, update: PortraitUpdate) -> dict[str, Any]:
    """Return what an update changes, for JSON."""
    return {
        "person": person.id,
        "mode": update.mode,
        "changed": update.text != person.text,
        "refused": update.refused,
        "dropped": list(update.dropped),
        "scores": None if update.scored is None else asdict(update.scored.scores),
    }
