"""Doctor's checks of records: each can be read, and makes sense beside the others."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from functools import partial
from pathlib import Path
from typing import Any

from bumble import files
from bumble.entity.folder import Entity
from bumble.errors import RecordInvalidError, UnsafePathError
from bumble.records import (
    automations,
    base,
    beliefs,
    dreams,
    episodes,
    journal,
    knowledge,
    narrative,
    relationships,
    reminders,
    session_files,
    sessions,
    skills,
    soma,
    state,
)
from bumble.records.sessions import Session
from bumble.runtime import body_state
from bumble.text.markdown import Document
from bumble.text.yaml_edit import SourceError
from bumble.upkeep import schedule
from bumble.upkeep.check_sources import Sources
from bumble.upkeep.findings import Finding

AHEAD = timedelta(days=1)  # clocks of two machines differ, and so do people's time zones
MOST_LINES = 20  # of one transcript that are named; beyond, the file is none
_BEGIN, _END = re.compile(rb"^<{7} .*$", re.MULTILINE), re.compile(rb"^>{7} .*$", re.MULTILINE)
_BLOB_NAME = re.compile(r"[0-9a-f]{64}")
_EARLIER = re.compile(r"\.[0-9a-f]{12}\.\w+$")  # an earlier version, by `changes.history_path`
_REFERENCE = re.compile(r"[0-9a-f]{12,64}")
Dated = tuple[datetime, Callable[[], int | None]]  # a time, and how to find the line it is on
ProgressCallback = Callable[[int, int], object]  # how many files are done, of how many


@dataclass(frozen=True)
class CheckContext:
    """What every check of a record needs to know."""

    entity: Entity
    now: datetime
    zone: tzinfo


@dataclass(frozen=True)
class _File:
    path: Path
    kind: str
    edit: str  # the command that opens it


@dataclass(frozen=True)
class _Registry:
    """What is collected from all files and compared when the last is read."""

    names: dict[str, list[str]]  # portraits by the names they answer to
    sources: Sources


def check(context: CheckContext, report_progress: ProgressCallback) -> Iterator[Finding]:
    """Read every record and yield what is wrong, in the order of the files."""
    record_files = _list_files(context.entity)
    registry = _Registry(defaultdict(list), Sources())
    for number, file in enumerate(record_files):
        yield from _check_file(context, file, registry)
        report_progress(number + 1, len(record_files))
    yield from registry.sources.check()
    yield from _find_doubles(context.entity, record_files)
    yield from _find_same_people(registry.names)
    yield from _find_unread(context.entity, {file.path for file in record_files})


def count(entity: Entity) -> int:
    """Return how many files hold records."""
    return len(_list_files(entity))


def _list_files(entity: Entity) -> list[_File]:
    """Return every file of every store, with the command that mends it."""

    def files_of(kind: str, paths: Sequence[Path], edit: str = "") -> list[_File]:
        return [
            _File(
                path,
                kind,
                f"{edit} {shlex.quote(path.stem)}" if edit else _edit_command(entity, path),
            )
            for path in paths
        ]

    def file_of(kind: str, path: Path, edit: str = "") -> list[_File]:
        return [_File(path, kind, edit or _edit_command(entity, path))] if path.exists() else []

    skills_folder = entity.skills
    skill_files = [
        _File(path, "skill", f"bumble skill edit {shlex.quote(_skill_name(path))}")
        for path in skills.paths(skills_folder)
    ]
    handovers = sorted(entity.sessions.glob("*/handover.md"))
    return [
        *file_of("knowledge", entity.knowledge, "bumble knowledge edit"),
        *file_of("journal", entity.journal, "bumble journal edit"),
        *file_of("narrative", entity.narrative),
        *file_of("soma", entity.soma),
        *file_of("state", entity.state),
        *files_of("episode", episodes.paths(entity.episodes), "bumble episode edit"),
        *files_of("belief", beliefs.paths(entity.beliefs), "bumble belief edit"),
        *files_of("person", relationships.paths(entity.relationships), "bumble person edit"),
        *skill_files,
        *files_of("dream", dreams.paths(entity.dreams)),
        *files_of("reminder", reminders.paths(entity.reminders)),
        *files_of("automation", automations.paths(entity.automations)),
        *files_of("session", session_files.paths(entity.sessions)),
        *files_of("handover", handovers),
    ]


def _skill_name(path: Path) -> str:
    return path.parent.name if path.name == skills.FOLDER_FILE else path.stem


def _edit_command(entity: Entity, path: Path) -> str:
    return f"$EDITOR {shlex.quote(str(path))}" if path.is_relative_to(entity.root) else ""


def _check_file(context: CheckContext, file: _File, registry: _Registry) -> Iterator[Finding]:
    """Check one file."""
    relative = context.entity.relative(file.path)
    try:
        files.inside(context.entity.root, relative)
    except UnsafePathError:
        return  # the link is a finding of its own
    try:
        yield from _find_conflict(file, relative)
        for at, line in _read_times(context, file, relative, registry, findings := list[Finding]()):
            if at - context.now > AHEAD:
                sentence = f"{at.isoformat()} is more than a day from now"
                yield Finding("clock-ahead", sentence, relative, line(), file.edit)
        yield from findings
    except RecordInvalidError as error:
        yield Finding("record-invalid", error.problem, relative, error.line, file.edit)


def _find_conflict(file: _File, relative: str) -> Iterator[Finding]:
    try:
        data = files.read(file.path)
    except OSError as error:
        raise RecordInvalidError(file.path, f"can't be read: {error.strerror}") from error
    begin = _BEGIN.search(data)
    if begin and _END.search(data, begin.end()):
        line = data.count(b"\n", 0, begin.start()) + 1
        sentence = "the two sides of a merge stand here: keep one"
        yield Finding("conflict-marker", sentence, relative, line, file.edit)


def _read_times(
    context: CheckContext, file: _File, relative: str, registry: _Registry, also: list[Finding]
) -> list[Dated]:
    """Read a record and return its times; what else is wrong with it goes to `also`.

    Raises:
        RecordInvalidError: If it can't be read.
    """
    register = partial(registry.sources.record, path=relative, fix=file.edit)
    match file.kind:
        case "knowledge":
            book = knowledge.read(file.path)
            also += _check_sections(book, relative, file)
            for section in book.sections:
                origin = section.provenance
                register("", origin, origin.sources, line=partial(int, section.line))
            return []
        case "journal":
            entries = journal.read(file.path, context.zone).entries
            for entry in entries:
                origin = entry.provenance
                register("", origin, origin.sources, line=partial(int, entry.line))
            return [(entry.at, partial(int, entry.line)) for entry in entries]
        case "narrative":
            story = base.load(file.path, narrative.parse)
            register(
                "", story.provenance, story.provenance.sources, line=_line_finder(story.source)
            )
            return _list_times(story.source, at=story.at)
        case "soma":
            body_state.stored(file.path, soma.read(file.path))
            return []
        case "state":
            state.read(file.path)
            return []
        case "episode":
            episode = base.load(file.path, episodes.parse)
            named = (episode.session, *episode.provenance.sources)
            register(episode.id, episode.provenance, named, line=_line_finder(episode.source))
            return _list_times(episode.source, at=episode.at)
        case "belief":
            belief = base.load(file.path, beliefs.parse)
            again = belief.reinforced if belief.reinforced != belief.formed else None
            named = (*belief.evidence, *belief.provenance.sources)
            register(
                belief.id, belief.provenance, named, line=_line_finder(belief.source, "evidence")
            )
            return _list_times(belief.source, formed=belief.formed, reinforced=again)
        case "person":
            return _read_person(file, relative, registry)
        case "skill":
            skill = skills.load(file.path)
            register(
                "", skill.provenance, skill.provenance.sources, line=_line_finder(skill.source)
            )
            return []
        case "dream":
            dream = base.load(file.path, dreams.parse)
            named = (
                *(record_id for pair in dream.pairs for record_id in pair),
                *dream.provenance.sources,
            )
            register(dream.id, dream.provenance, named, line=_line_finder(dream.source, "pairs"))
            return _list_times(dream.source, at=dream.at)
        case "reminder":
            reminder = reminders.load(file.path)
            origin = reminder.provenance
            register(reminder.id, origin, origin.sources, line=_line_finder(reminder.source))
            if reminder.repeat:
                also += _check_schedule(reminder.repeat, reminder.source, "repeat", relative, file)
            return _list_times(reminder.source, delivered=reminder.delivered)  # `at` may lie ahead
        case "automation":
            automation = automations.load(file.path)
            origin = automation.provenance
            register(automation.id, origin, origin.sources, line=_line_finder(automation.source))
            also += _check_schedule(
                automation.schedule, automation.source, "schedule", relative, file
            )
            return _list_times(automation.source, last=automation.last)
        case "handover":
            brief = session_files.read_handover(context.entity.sessions, file.path.parent.name)
            if brief is not None:
                origin = base.provenance(brief.meta)
                register("", origin, origin.sources, line=_line_finder(brief))
            return []
    return _read_session(file, relative, registry, also)


def _line_finder(document: Document, key: str = "") -> Callable[[], int | None]:
    """Return how to find the line of a record that says what it rests on."""
    return lambda: (document.line_of(key) if key else None) or document.line_of("from") or 1


def _list_times(document: Document, **times: datetime | None) -> list[Dated]:
    return [(at, partial(document.line_of, key)) for key, at in times.items() if at is not None]


def _read_person(file: _File, relative: str, registry: _Registry) -> list[Dated]:
    person = base.load(file.path, relationships.parse)
    for name in {files.same_name(name) for name in (person.id, *person.names)}:
        registry.names[name].append(relative)
    origins = [
        (person.provenance, "from"),
        *((note.provenance, "pending") for note in person.pending),
    ]
    for origin, key in origins:
        line = _line_finder(person.source, key)
        registry.sources.record("", origin, origin.sources, relative, line, file.edit)
    return _list_times(
        person.source,
        first_met=person.first_met,
        last_interaction=person.last_interaction,
        last_reflection=person.last_reflection,
    )


def _check_schedule(
    expression: str, document: Document, key: str, relative: str, file: _File
) -> Iterator[Finding]:
    try:
        schedule.check(expression)
    except ValueError as error:
        line = document.line_of(key)
        yield Finding("schedule-invalid", str(error), relative, line, file.edit)


def _check_sections(book: knowledge.Knowledge, relative: str, file: _File) -> Iterator[Finding]:
    first: dict[str, knowledge.Section] = {}
    for section in book.sections:
        key = knowledge.key(section.title)
        if key in first:
            sentence = (
                f'"{section.title}" is there already, on line {first[key].line}: make them one'
            )
            yield Finding("section-twice", sentence, relative, section.line, file.edit)
        first.setdefault(key, section)


def _read_session(
    file: _File, relative: str, registry: _Registry, also: list[Finding]
) -> list[Dated]:
    """Read a transcript, naming each line that is not what it should be, not only the first."""
    source = base.read_text(file.path, max_bytes=session_files.MAX_TRANSCRIPT_BYTES)
    lines = source.split("\n")
    session: Session | None = None
    for _ in range(MOST_LINES):
        try:
            session = sessions.parse("\n".join(lines))
            break
        except SourceError as error:
            also.append(Finding("record-invalid", error.problem, relative, error.line, file.edit))
            if error.line in (None, 1) or not lines[(error.line or 1) - 1].strip():
                break
            lines[(error.line or 1) - 1] = ""
    if session is None:
        return []
    if session.torn_line is not None:
        sentence = "the line was cut off; it is passed over"
        also.append(Finding("line-torn", sentence, relative, session.torn_line))
    registry.sources.session(file.path.parent.name, session)
    also += _check_blobs(file.path.parent / "blobs", session, relative, lines)
    spoken = [(message.at, partial(_line_of, lines, message.id)) for message in session.messages]
    return [(session.at, partial(int, 1)), *spoken]


def _line_of(lines: Sequence[str], record_id: str) -> int | None:
    quoted = f'"{record_id}"'
    return next((number for number, line in enumerate(lines, 1) if quoted in line), None)


def _check_blobs(
    folder: Path, session: Session, relative: str, lines: Sequence[str]
) -> Iterator[Finding]:
    """Check that originals match their names, and that those that messages refer to exist."""
    blobs = sorted(path for path in folder.iterdir()) if folder.is_dir() else []
    place = f"{relative.rsplit('/', 1)[0]}/blobs"
    for path in blobs:
        if _BLOB_NAME.fullmatch(path.name) and files.sha256(files.read(path)) != path.name:
            sentence = "its bytes are not those it is named for: take it from a copy or from git"
            yield Finding("blob-damaged", sentence, f"{place}/{path.name}")
    names = [path.name for path in blobs]
    for message in session.messages:
        for reference in _list_references(message.extra):
            if not any(name.startswith(reference) for name in names):
                sentence = (
                    f"the original {reference[:12]} is not there: take it from a copy or from git"
                )
                yield Finding("blob-missing", sentence, relative, _line_of(lines, message.id))


def _list_references(extra: Any) -> list[str]:
    """Return the originals that a message names under `blob` or `blobs`."""
    named = [extra.get("blob"), *(blobs if isinstance(blobs := extra.get("blobs"), list) else ())]
    return [
        reference
        for reference in named
        if isinstance(reference, str) and _REFERENCE.fullmatch(reference)
    ]


def _find_doubles(entity: Entity, record_files: Sequence[_File]) -> Iterator[Finding]:
    """Find records that two files hold: an episode in two months, a skill in both forms."""
    first: dict[tuple[str, str], str] = {}
    for file in record_files:
        if file.kind not in ("episode", "skill"):
            continue
        key = (file.kind, _skill_name(file.path) if file.kind == "skill" else file.path.stem)
        relative = entity.relative(file.path)
        if key in first:
            sentence = f"{first[key]} holds this {file.kind} too: remove one of them"
            yield Finding("record-twice", sentence, relative)
        first.setdefault(key, relative)


def _find_same_people(names: dict[str, list[str]]) -> Iterator[Finding]:
    pairs = sorted({tuple(paths) for paths in names.values() if len(paths) > 1})
    for first, *later_paths in pairs:
        for other in later_paths:
            sentence = (
                f"{first} answers to a name of this person too: the first by file name is meant"
            )
            yield Finding("person-twice", sentence, other)


def _find_unread(entity: Entity, read_paths: set[Path]) -> Iterator[Finding]:
    """Find files in the folders of stores that none of them reads."""
    for folder in (
        entity.beliefs,
        entity.dreams,
        entity.episodes,
        entity.relationships,
        entity.reminders,
        entity.automations,
    ):
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path not in read_paths and not path.name.startswith("."):
                sentence = (
                    f"nothing reads it: files of `{folder.name}` lie elsewhere, or are named *.md"
                )
                yield Finding("file-unread", sentence, entity.relative(path))
    for folder, file in ((entity.sessions, sessions.FILE), (entity.skills, skills.FOLDER_FILE)):
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if path.is_dir() and not path.name.startswith(".") and not (path / file).exists():
                sentence = f"nothing reads this folder: it holds no {file}"
                yield Finding("file-unread", sentence, entity.relative(path))
    history = entity.root / ".history"
    for path in sorted(history.iterdir()) if history.is_dir() else ():
        if path.is_dir() or _EARLIER.search(path.name):
            continue  # what a model rewrote, as it was before
        sentence = "a cut-off change was to write this over your edit: compare them, then remove it"
        yield Finding("file-kept", sentence, entity.relative(path))
