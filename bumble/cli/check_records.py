"""Doctor's checks of records: each can be read, and makes sense beside the others."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path, PurePosixPath

from msgspec import Struct, field

from bumble import patterns
from bumble.cli import opening, output
from bumble.cli.check_folder import MEND, twice
from bumble.entity import companions, secrets
from bumble.entity.config import PromptConfig
from bumble.entity.folder import Entity
from bumble.errors import HalfMergedError, RecordInvalidError, UnsafePathError, UserError
from bumble.files import disk
from bumble.history.findings import Finding
from bumble.prompt import system
from bumble.records import (
    base,
    journal,
    kinds,
    knowledge,
    relationships,
    session_files,
    sessions,
    soma,
)
from bumble.records.kind import Kind, RecordView, unite
from bumble.runtime import body_state, people, rules, schedule
from bumble.text import markdown, moments, yaml_edit

MOST_NAMED = 3  # sources that one finding names


class _Derived(Struct, frozen=True):
    """A record that names sources, or people."""

    view: RecordView
    path: str
    fix: str

    def finding(self, code: str, sentence: str, *keys: str) -> Finding:
        """Return a finding that names the line of the first of some keys."""
        return Finding(code, sentence, self.path, self.view.line_of(*keys), self.fix)


class Sources(Struct):
    """What all files together say: the provenance of every record by its id, and who names whom."""

    origins: dict[str, base.Provenance] = field(
        default_factory=dict
    )  # by id: source trust and audience
    derived: list[_Derived] = field(default_factory=list)
    people: set[str] = field(default_factory=set)  # ids of all whom a portrait or a talk knows
    # portraits by the names they answer to
    names: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def record(self, record_id: str, view: RecordView, path: str, fix: str) -> None:
        """Take a record in.

        Args:
            record_id: By which others may name it; empty if none does.
            view: What it rests on, and whom it names.
            path: Relative to the entity's folder.
            fix: The command that opens it.
        """
        if record_id:
            self.origins[record_id] = view.origin
        if view.sources or view.people or view.origin.audience:
            self.derived.append(_Derived(view, path, fix))

    def session(self, session_id: str, session: sessions.Session) -> None:
        """Take a conversation in, with all its messages."""
        people = session.people
        self.people.update(people)
        self.origins[session_id] = base.Provenance(audience=people)
        for message in session.messages:
            self.origins[message.id] = base.Provenance(trust=message.trust, audience=people)
        for summary in session.compactions:
            self.origins[summary.id] = base.Provenance(audience=people)

    def check(self) -> Iterator[Finding]:
        """Compare the trust and audience of every record with those of its sources."""
        for record in self.derived:
            view = record.view
            if gone := [name for name in view.sources if name not in self.origins]:
                yield record.finding(
                    "source-missing",
                    f"it rests on {output.few(gone, MOST_NAMED)}, which is not here: forgotten, or"
                    " not merged",
                    view.sources_key,
                    "from",
                )
            if view.origin.trust or view.origin.model:  # else a person vouches for it
                yield from self._check_tiers(record)
            yield from self._check_people(record)

    def _check_tiers(self, record: _Derived) -> Iterator[Finding]:
        view, origin = record.view, record.view.origin
        source_origins = {name: self.origins[name] for name in view.sources if name in self.origins}
        raised = [
            name
            for name, source in source_origins.items()
            if origin.trust and base.is_lower(source.trust, origin.trust)
        ]
        if raised:
            lowest = base.lowest_trust(source_origins[name].trust for name in raised)
            yield record.finding(
                "trust-raised",
                f"it claims the trust `{origin.trust}`, but {output.few(raised, MOST_NAMED)} has"
                f" `{lowest}`",
                view.sources_key,
                "from",
            )
        narrower = [
            name
            for name, source in source_origins.items()
            if (
                bool(source.audience)
                and not (origin.audience and set(origin.audience) <= set(source.audience))
            )
        ]
        if narrower:
            who = ", ".join(origin.audience) or "everyone"
            private = ", ".join(source_origins[narrower[0]].audience)
            yield record.finding(
                "audience-wider",
                f"{who} may meet it, but {output.few(narrower, MOST_NAMED)} is only for {private}",
                view.sources_key,
                "from",
            )

    def _check_people(self, record: _Derived) -> Iterator[Finding]:
        """Find whom nothing knows any more: `person forget` leaves no id behind, a copy may."""
        listed = unite(record.view.people, record.view.origin.audience)
        strangers = [person for person in listed if person not in self.people]
        ids = {person: self._id_of(person) for person in strangers}
        if called := [f"{ids[person]} for {person}" for person in strangers if ids[person]]:
            yield record.finding(
                "person-missing",
                f"people stand here by their ids: write {', '.join(called)}",
                "people",
                "for",
                "audience",
            )
        if unknown := [person for person in strangers if not ids[person]]:
            yield record.finding(
                "person-missing",
                f"it names {output.few(unknown, MOST_NAMED)}, whom no portrait and no conversation"
                " knows: forgotten, or not merged",
                "people",
                "for",
                "audience",
            )

    def _id_of(self, name: str) -> str:
        """Return the id of the only one who is called, or linked to, so; empty if there is none."""
        wanted = disk.same_name(name.strip("[]").partition("|")[0])
        portraits = {Path(path).stem for path in self.names.get(wanted, ())}
        found = portraits or {one for one in self.people if disk.same_name(one) == wanted}
        return found.pop() if len(found) == 1 else ""


MOST_LINES = 20  # of one transcript that are named; beyond, the file is none
_BLOB_NAME = patterns.compile(r"[0-9a-f]{64}")
# Of an earlier version, as a change set keeps it.
_EARLIER = patterns.compile(r"\.[0-9a-f]{12}\.\w+$")
_REFERENCE = patterns.compile(r"[0-9a-f]{12,64}")
# The times of a file, each with how to find the line it is on; and what else is found.
_Reading = tuple[Sequence[tuple[datetime, Callable[[], int | None]]], Sequence[Finding]]
ProgressCallback = Callable[[int, int], object]  # how many files are done, of how many


class _File(Struct, frozen=True):
    path: Path
    kind: Kind
    edit: str  # the command that opens it


def check(opened: opening.Opened, report_progress: ProgressCallback) -> Iterator[Finding]:
    """Read every record and yield what is wrong, in the order of the files."""
    entity = opened.entity
    record_files = [
        _File(path, kind, _edit_command(entity, kind, path))
        for kind in kinds.KINDS
        for path in kind.reachable(entity)
    ]
    # by the settings alone: the files that say more may be those that can't be read
    owner = relationships.person_id(opened.identity.owner.name or people.UNNAMED)
    sources = Sources(people={owner, *(path.stem for path in relationships.PERSON.paths(entity))})
    for number, file in enumerate(record_files):
        yield from _check_file(opened, file, sources)
        report_progress(number + 1, len(record_files))
    yield from sources.check()
    yield from _find_doubles(entity, record_files)
    pairs = sorted({tuple(paths) for paths in sources.names.values() if len(paths) > 1})
    for first, *later_paths in pairs:
        for other in later_paths:
            yield Finding(
                "person-twice",
                f"{first} answers to a name of this person too: the first by file name is meant",
                other,
            )
    yield from _find_alone(entity, record_files)
    yield from _find_unread(entity, {file.path for file in record_files})


def _find_alone(entity: Entity, record_files: Sequence[_File]) -> Iterator[Finding]:
    """Find companions without a record; of the only record without one it says how they meet."""
    root, lone = entity.root, defaultdict[str, list[str]](list)
    for relative in (entity.relative(file.path) for file in record_files):
        beside = companions.place(relative)
        if beside and not ((root / beside).exists() or companions.left_behind(root, relative)):
            lone[PurePosixPath(beside).parts[1]].append(relative)
    alone = [PurePosixPath(entity.relative(path)) for path in companions.orphans(root)]
    tops = Counter(path.parts[1] for path in alone)
    for path in alone:
        told, fix = "what it is about went, or has another name: name it alike, or remove it", ""
        records = lone[path.parts[1]]
        if len(records) == tops[path.parts[1]] == 1:
            record, record_id = PurePosixPath(records[0]), base.id_of(path.stem)
            told = f"is it of {record}, which has none? Name them alike, or remove it"
            old, new = path, PurePosixPath(companions.place(str(record)) or "")
            if kinds.of_id(record_id):
                old, new = record, record.with_stem(f"{record.stem}-{record_id}")
            elif old.name == new.name:  # of a skill its folder has the name
                old, new = old.parent, new.parent
            fix = f"mv {' '.join(shlex.quote(str(root / one)) for one in (old, new))}"
        yield Finding("source-alone", told, str(path), fix=fix)


def check_prompt_files(entity: Entity, config: PromptConfig) -> Iterator[Finding]:
    """Find the files of every prompt that can't be read, save those that hold records."""
    for own_file in system.read_own_files(entity, config):
        if own_file.problem and kinds.of_path(own_file.name) is None:
            yield Finding(
                "record-invalid",
                own_file.problem.partition("\n")[0].partition(": ")[2],
                own_file.name,
            )


def check_rules(opened: opening.Opened) -> Iterator[Finding]:
    """Find the rules that came from elsewhere, and that the owner has not approved."""
    listed = rules.read(opened.entity, opened.settings)
    for rule in rules.pending(opened.entity, listed, whole=True):
        yield Finding(
            "rule-elsewhere",
            f"not obeyed: {rules.line(rule)}",
            rule.file,
            fix=f"bumble config trust {shlex.quote(str(opened.root))}",
        )


def _edit_command(entity: Entity, kind: Kind, path: Path) -> str:
    if not kind.edit:
        return _in_editor(path) if path.is_relative_to(entity.root) else ""
    return kind.edit if kind.is_file else f"{kind.edit} {shlex.quote(kind.stem(path))}"


def _in_editor(path: Path) -> str:
    return f"$EDITOR {shlex.quote(str(path))}"


def _check_file(opened: opening.Opened, file: _File, sources: Sources) -> Iterator[Finding]:
    """Yield what is wrong with a file; of one that can't be read, that alone."""
    entity, now = opened.entity, opened.now
    relative = entity.relative(file.path)
    try:
        disk.inside(entity.root, relative)
    except UnsafePathError:
        return  # the link is a finding of its own
    try:
        times, findings = _read(opened, file, relative, sources)
        if ahead := [(at, line) for at, line in times if moments.is_ahead(at, now)]:
            last, (_, line) = max(at for at, _ in ahead), ahead[0]
            many = f"{len(ahead)} times, the last {last.isoformat()}, lie"
            told = f"{last.isoformat()} lies" if len(ahead) == 1 else many
            told += " more than a day ahead: a clock was wrong, there or here; it may stay so"
            yield Finding("clock-ahead", told, relative, line())
        yield from findings
        yield from _find_secret(file, relative)
        if companions.is_lost(entity.root, relative):
            beside, text = companions.of(file.path)
            base.of_text(text, beside, base.parse_mapping)  # says what is wrong with it
            yield Finding(
                "source-lost",
                f"{entity.relative(beside)} is gone: it counts as least trusted of all",
                relative,
                None,
                file.edit,
            )
    except RecordInvalidError as error:
        code = "conflict-marker" if isinstance(error, HalfMergedError) else "record-invalid"
        fix = file.edit if error.path == file.path else _in_editor(error.path)
        yield Finding(code, error.problem, entity.relative(error.path), error.line, fix)
    except (UserError, OSError) as error:  # one that can't be looked at hides no other
        yield Finding("record-invalid", str(error).splitlines()[0], relative, None, file.edit)


def _find_secret(file: _File, relative: str) -> Iterator[Finding]:
    """Name the first line of a file that holds a secret; transcripts are the source and may."""
    if file.kind is session_files.SESSION:
        return
    shown, whole = base.read_shown(file.path), base.read_text(file.path)
    lines: list[tuple[int | None, str]] = [*enumerate(markdown.lines(shown), 1)]
    for number, line in (*lines, *((None, row) for row in markdown.lines(whole))):
        if what := secrets.find_secret(line):
            yield Finding(
                "secret-kept",
                f"it holds what looks like {what}; git keeps it too",
                relative,
                number,
                file.edit,
            )
            return


def _read(opened: opening.Opened, file: _File, relative: str, sources: Sources) -> _Reading:
    """Read a file's records, and enter them into the sources.

    Raises:
        RecordInvalidError: If it can't be read.
    """
    if file.kind is session_files.SESSION:
        return _read_session(file, relative, sources)
    if file.kind is soma.SOMA:
        body_state.stored(file.path, soma.read(file.path))
    views = file.kind.read(file.path, opened.zone)
    sections = views if file.kind is knowledge.KNOWLEDGE else ()
    findings = [
        Finding(
            "section-twice",
            f'"{section.id}" is there already, on line {first.line}: make them one',
            relative,
            section.line,
            file.edit,
        )
        for first, section in twice((knowledge.key(one.id), one) for one in sections)
    ]
    undated = journal.undated(base.read_shown(file.path)) if file.kind is journal.JOURNAL else ()
    findings += [
        Finding(
            "heading-undated",
            f'"{title}" is no day as the diary has them: what stands below it counts to the entry'
            " above, if there is one. Write `## 2026-05-24`, or `###` for a part of an entry",
            relative,
            line,
            file.edit,
        )
        for line, title in undated
    ]
    documents = [view.document for view in views if view.document is not None]
    if file.kind is relationships.PERSON:
        stem = file.path.stem
        listed = [name for one in documents for name in file.kind.of(one, stem).names]
        for name in set(map(disk.same_name, (stem, *listed))):
            sources.names[name].append(relative)
    for view in views:
        for part in (view, *view.notes):
            name = part.id if part is view and file.kind.prefix else ""
            sources.record(name, part, relative, file.edit)
        findings += _check_schedules(view, relative, file)
    times = [(at, partial(view.line_of, key)) for view in views for key, at in view.times.items()]
    return times, findings


def _check_schedules(view: RecordView, relative: str, file: _File) -> Iterator[Finding]:
    for key, expression in view.schedules.items():
        try:
            schedule.check(expression)
        except ValueError as error:
            line = view.document.line_of(key) if view.document else None
            yield Finding("schedule-invalid", str(error), relative, line, file.edit)


def _read_session(file: _File, relative: str, sources: Sources) -> _Reading:
    """Read a transcript, naming each line that is not what it should be, not only the first."""
    lines = base.read_text(file.path, max_bytes=session_files.MAX_TRANSCRIPT_BYTES).split("\n")
    session: sessions.Session | None = None
    findings: list[Finding] = []
    for _ in range(MOST_LINES):
        try:
            session = sessions.parse("\n".join(lines))
            break
        except yaml_edit.SourceError as error:
            findings.append(
                Finding("record-invalid", error.problem, relative, error.line, file.edit)
            )
            if error.line in (None, 1) or not lines[(error.line or 1) - 1].strip():
                break
            lines[(error.line or 1) - 1] = ""
    if session is None:
        return [], findings
    if session.torn_line is not None:
        findings.append(
            Finding(
                "line-torn",
                "the line was cut off; it is passed over",
                relative,
                session.torn_line,
            )
        )
    sources.session(file.path.parent.name, session)
    findings += _check_blobs(file.path.parent / "blobs", session, relative, lines)
    spoken = [(message.at, partial(_line_of, lines, message.id)) for message in session.messages]
    return [(session.at, partial(int, 1)), *spoken], findings


def _line_of(lines: Sequence[str], record_id: str) -> int | None:
    return next((number for number, line in enumerate(lines, 1) if f'"{record_id}"' in line), None)


def _check_blobs(
    folder: Path, session: sessions.Session, relative: str, lines: Sequence[str]
) -> Iterator[Finding]:
    """Check that originals match their names, and that those that messages refer to exist."""
    blobs = sorted(folder.iterdir()) if folder.is_dir() else []
    for path in blobs:
        if _BLOB_NAME.fullmatch(path.name) and disk.sha256(disk.read(path)) != path.name:
            yield Finding(
                "blob-damaged",
                "its bytes are not those it is named for: take it from a copy or from git",
                f"{relative.rsplit('/', 1)[0]}/blobs/{path.name}",
            )
    for message in session.messages:
        listed = message.extra.get("blobs")
        named = [message.extra.get("blob"), *(listed if isinstance(listed, list) else ())]
        for reference in (one for one in named if isinstance(one, str)):
            lost = not any(path.name.startswith(reference) for path in blobs)
            if lost and _REFERENCE.fullmatch(reference):
                yield Finding(
                    "blob-missing",
                    f"the original {reference[:12]} is not there: take it from a copy or from git",
                    relative,
                    _line_of(lines, message.id),
                )


def _find_doubles(entity: Entity, record_files: Sequence[_File]) -> Iterator[Finding]:
    """Find records that two files hold: an episode in two months, a skill in both forms."""
    keyed = (((file.kind.name, file.kind.stem(file.path)), file) for file in record_files)
    for first, file in twice(keyed):
        holds = f"{entity.relative(first.path)} holds this {file.kind.name} too"
        advice, fix = ("make them one", MEND) if file.kind.prefix else ("remove one of them", "")
        yield Finding("record-twice", f"{holds}: {advice}", entity.relative(file.path), fix=fix)


def _find_unread(entity: Entity, read_paths: set[Path]) -> Iterator[Finding]:
    """Find files in the folders of stores that none of them reads."""
    in_folders = [kind for kind in kinds.KINDS if not kind.is_file and kind.forgetting != "beside"]
    for kind in sorted(in_folders, key=lambda kind: kind.folder):
        folder, name = entity.root / kind.folder, kind.folder_file
        why = f"nothing reads it: files of `{folder.name}` are {' or '.join(kind.patterns)}"
        paths = [path for path in folder.rglob("*") if path.is_file() and path not in read_paths]
        if name:
            why = f"nothing reads this folder: it holds no {name}"
            places = folder.iterdir() if folder.is_dir() else ()
            # an empty one is what an undo leaves
            paths = [
                one
                for one in places
                if one.is_dir() and not (one / name).exists() and any(one.iterdir())
            ]
        for path in sorted(path for path in paths if not path.name.startswith(".")):
            yield Finding("file-unread", why, entity.relative(path))
    history = entity.root / ".history"
    for path in sorted(history.iterdir()) if history.is_dir() else ():
        if path.is_file() and not _EARLIER.search(path.name):  # what a model rewrote, as it was
            yield Finding(
                "file-kept",
                "a cut-off change was to write this over your edit: compare them, then remove it",
                entity.relative(path),
            )
