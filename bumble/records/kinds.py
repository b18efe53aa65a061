"""The list of the kinds of record, and the kind of a path or an id.

Each kind is declared where its records are read and written, in `records/NAME.py`; what walks over
them asks here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC
from pathlib import Path, PurePosixPath

from bumble.entity import companions
from bumble.entity.folder import Entity
from bumble.errors import UserError
from bumble.records import (
    anchors,
    automations,
    base,
    beliefs,
    checks,
    dreams,
    episodes,
    journal,
    knowledge,
    narrative,
    projects,
    proposals,
    questions,
    relationships,
    reminders,
    self_model,
    session_files,
    skills,
    soma,
    state,
    topics,
    working,
)
from bumble.records.kind import Kind as Kind

KINDS: tuple[Kind, ...] = (  # in the order in which they are read and shown
    *(knowledge.KNOWLEDGE, journal.JOURNAL, relationships.PERSON, narrative.NARRATIVE),
    *(soma.SOMA, state.STATE, self_model.SELF_MODEL, working.SCRATCH, working.WORKING),
    *(episodes.EPISODE, beliefs.BELIEF, skills.SKILL, dreams.DREAM, topics.TOPIC),
    *(reminders.REMINDER, automations.AUTOMATION, checks.CHECK, anchors.ANCHOR, projects.PROJECT),
    *(proposals.PROPOSAL, questions.QUESTION),
    *(session_files.SESSION, session_files.HANDOVER),
)
# Where the one file of a kind lies, and the folders of the others.
FILES = frozenset(pattern for kind in KINDS if kind.is_file for pattern in kind.patterns)
FOLDERS = frozenset(kind.folder for kind in KINDS if not kind.is_file) | {
    PurePosixPath(path).parts[0] for path in FILES if "/" in path
}
BY_NAME: Mapping[str, Kind] = {kind.name: kind for kind in KINDS}
PREFIXES: Mapping[str, str] = {
    name: prefix
    for kind in KINDS
    for name, prefix in {kind.name: kind.prefix, **kind.inner_prefixes}.items()
    if prefix
}
INDEXED = tuple(kind.passages for kind in KINDS if kind.passages)
# What a search looks through that names no kind: a question that a topic raises answers nothing.
RECALLED = tuple(passages for passages in INDEXED if passages != topics.TOPIC.passages)
UNASKED = tuple(kind.passages for kind in KINDS if kind.unasked)


def of_path(path: str) -> Kind | None:
    """Return the kind of a file by its path in the entity's folder, or else by its first folder."""
    place = PurePosixPath(path)
    for kind in KINDS:
        for pattern in kind.patterns:
            if len(place.parts) == pattern.count("/") + 1 and place.match(pattern):
                return kind
    top = place.parts[0] if len(place.parts) > 1 else ""
    return next((kind for kind in KINDS if top and kind.folder == top), None)


def readable(root: Path, paths: Iterable[str]) -> set[str]:
    """Return which of some files hold a record that can be read, or are the companion of one."""
    if not (wanted := {path: companions.record_of(path) or path for path in paths}):
        return set()
    entity = Entity(root)
    files = {
        entity.relative(file): (kind, file) for kind in KINDS for file in kind.reachable(entity)
    }

    def is_read(record: str) -> bool:
        kind, file = files[record]
        if file.is_symlink():  # no clone takes one
            return False
        try:
            kind.read(file, UTC)
        except (UserError, OSError):
            return False
        return True

    return {path for path, record in wanted.items() if record in files and is_read(record)}


def of_id(record_id: str) -> str:
    """Return what has a generated id, or a beginning of one: a kind's name, `message`, `summary`.

    Empty if the id shows none.
    """
    return next((name for name, mark in PREFIXES.items() if record_id.startswith(f"{mark}_")), "")


def by_part(wanted: str, ids: Iterable[str]) -> list[str]:
    """Return the ids that begin so, if a generated one does; else those that end so.

    An end is a word of the id, `tea` of `bel_tea`, or `base.SHORTEST_END` letters and more.
    """
    part = wanted.casefold()
    if of_id(wanted):
        return [one for one in ids if one.casefold().startswith(part)]
    ends = (f"-{part}", f"_{part}", *([part] if len(part) >= base.SHORTEST_END else ()))
    return [one for one in ids if part and one.casefold().endswith(ends)]
