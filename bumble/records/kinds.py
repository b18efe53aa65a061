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
from bumble.records.anchors import ANCHOR
from bumble.records.automations import AUTOMATION
from bumble.records.beliefs import BELIEF
from bumble.records.checks import CHECK
from bumble.records.dreams import DREAM
from bumble.records.episodes import EPISODE
from bumble.records.journal import JOURNAL
from bumble.records.kind import Kind
from bumble.records.knowledge import KNOWLEDGE
from bumble.records.narrative import NARRATIVE
from bumble.records.projects import PROJECT
from bumble.records.proposals import PROPOSAL
from bumble.records.questions import QUESTION
from bumble.records.relationships import PERSON
from bumble.records.reminders import REMINDER
from bumble.records.self_model import SELF_MODEL
from bumble.records.session_files import HANDOVER_KIND as HANDOVER
from bumble.records.session_files import SESSION_KIND as SESSION
from bumble.records.skills import SKILL
from bumble.records.soma import SOMA
from bumble.records.state import STATE
from bumble.records.topics import TOPIC
from bumble.records.working import SCRATCH, WORKING

__all__ = [
    "ANCHOR",
    "AUTOMATION",
    "BELIEF",
    "BY_NAME",
    "CHECK",
    "DREAM",
    "EPISODE",
    "FILES",
    "FOLDERS",
    "HANDOVER",
    "INDEXED",
    "JOURNAL",
    "KINDS",
    "KNOWLEDGE",
    "NARRATIVE",
    "PERSON",
    "PREFIXES",
    "PROJECT",
    "PROPOSAL",
    "QUESTION",
    "RECALLED",
    "REMINDER",
    "SCRATCH",
    "SELF_MODEL",
    "SESSION",
    "SKILL",
    "SOMA",
    "STATE",
    "TOPIC",
    "UNASKED",
    "WORKING",
    "Kind",
    "of_id",
    "of_path",
    "readable",
]

KINDS: tuple[Kind, ...] = (  # in the order in which they are read and shown
    *(KNOWLEDGE, JOURNAL, PERSON, NARRATIVE, SOMA, STATE, SELF_MODEL, SCRATCH, WORKING),
    *(EPISODE, BELIEF, SKILL, DREAM, TOPIC, REMINDER, AUTOMATION, CHECK, ANCHOR, PROJECT),
    *(PROPOSAL, QUESTION, SESSION, HANDOVER),
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
RECALLED = tuple(passages for passages in INDEXED if passages != TOPIC.passages)
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
