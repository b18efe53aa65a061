"""Forgetting a person: everything they said, what was answered, and all that rests on it alone.

What others wrote or said stays theirs, but for sentences that quote; what a program can't decide
is named. Everything is one change set, and `brought_back` plans it once more for what a merge or
an import brought back. Git's history is not touched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, tzinfo

from msgspec import Struct

from bumble.entity.changes import Change
from bumble.entity.folder import Entity
from bumble.jobs.forgetting import draft, earlier_versions, record_files, transcripts, undecided
from bumble.jobs.forgetting.draft import ForgettingDraft, PersonSpeech
from bumble.jobs.forgetting.undecided import STILL_NAMED, Undecided
from bumble.records import forgotten, kinds
from bumble.records.forgotten import Forgotten
from bumble.records.kind import Forgetting as Way
from bumble.records.kind import Kind


class Forgetting(Struct, frozen=True):
    """The changes that forget a person."""

    changes: tuple[Change, ...]
    counts: Mapping[str, int]  # of records by kind
    undecided: tuple[Undecided, ...]
    names: tuple[str, ...] = ()  # the person's id, and what they are called
    ids: frozenset[str] = frozenset()  # of all that goes
    speech: PersonSpeech = draft.SILENT  # theirs alone
    last: datetime | None = None  # when they last said something; None: never

    def tells_of(self, text: str) -> bool:
        """Whether a text names them, or holds words that only they said."""
        named = any(
            re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE)
            for name in self.names
            if name
        )
        return named or self.speech.echoes(text)

    @property
    def mentions(self) -> tuple[str, ...]:
        """Files that still hold a name and are a person's to edit."""
        return tuple(entry.path for entry in self.undecided if entry.reason == STILL_NAMED)

    @property
    def summary(self) -> str:
        """The counts on one line: `2 episodes, 1 portrait`."""
        return ", ".join(f"{number} {kind}" for kind, number in self.counts.items() if number)


def plan(
    entity: Entity,
    person: str,
    names: Sequence[str],
    zone: tzinfo,
    *,
    entry: Forgotten | None = None,
    until: datetime | None = None,
) -> Forgetting:
    """Plan to forget a person; a second time there is nothing left to plan.

    Args:
        entity: Whose memory.
        person: Their id.
        names: What they are called; each is looked for in any case.
        zone: The entity's time zone.
        entry: Of the forgetting that is done once more: what they said to an entity that knew of
            it stays, and what has an id of it goes, whoever it is from.
        until: What is of later, and no message, stays; None: nothing does.

    Raises:
        RecordInvalidError: If a file can't be read: nothing may be forgotten by half.
    """
    spelt = tuple(dict.fromkeys(name.strip() for name in names if name.strip()))
    gone = set(entry.ids) if entry else set()
    draft = ForgettingDraft(entity, person, spelt, zone, entry, until, gone)
    transcripts.hear(draft)
    transcripts.forget(draft, kinds.SESSION)
    _read_views(draft)
    for kind in kinds.KINDS:
        if kind is not kinds.SESSION:  # first: what goes with it decides of the others
            FORGETTERS[kind.forgetting](draft, kind)
    record_files.forget_body(draft)
    earlier_versions.forget(draft)
    return Forgetting(
        tuple(draft.planned.values()),
        dict(draft.counts),
        tuple(undecided.find(draft)),
        (person, *spelt),
        frozenset(draft.gone),
        draft.speech,
        draft.last,
    )


def plan_record(plan: Forgetting, now: datetime, key: str) -> Change:
    """Plan to keep in mind whom a plan forgets, so that no merge and no import brings them back.

    Args:
        plan: What is forgotten.
        now: The present.
        key: Of the hashes of their names, hexadecimal, made of chance.
    """
    at = max(now, plan.last) if plan.last else now  # of two machines one may be ahead
    return forgotten.plan_add(at, plan.names, plan.ids, key, "keep in mind what is forgotten")


def _read_views(draft: ForgettingDraft) -> None:
    """Read every record but the transcripts, and find all that goes: one may rest on another."""
    for kind in kinds.KINDS:
        if kind is not kinds.SESSION:
            draft.views[kind.name] = [
                (path, kind.read(path, draft.zone)) for path in kind.paths(draft.entity)
            ]
    named = [
        view
        for kind in kinds.KINDS
        if kind.prefix
        for _, views in draft.views.get(kind.name, ())
        for view in views
    ]
    while more := {view.id for view in named if draft.is_own(view)} - draft.gone:
        draft.gone |= more


def _leave(draft: ForgettingDraft, kind: Kind) -> None:
    """Change nothing: a name in it is shown."""


# how each way of forgetting is done
FORGETTERS: Mapping[Way, Callable[[ForgettingDraft, Kind], None]] = {
    "lines": transcripts.forget,
    "beside": record_files.forget_files,
    "file": record_files.forget_files,
    "parts": record_files.forget_parts,
    "portrait": record_files.forget_portrait,
    "values": record_files.forget_state,
    "listed": _leave,
}
