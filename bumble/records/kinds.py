"""The kinds of record: for each where its files lie, how they are read, merged, forgotten, checked.

The one list of kinds. What walks over them asks here; where a higher room needs code for each kind
(passages of the index, a merge, words for a change), it has one table by kind, and the contract
test of the records holds that table complete.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from functools import partial
from glob import escape
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from bumble import files
from bumble.entity.folder import Entity
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
    scratch,
    self_model,
    session_files,
    sessions,
    skills,
    soma,
    state,
    topics,
    working,
)
from bumble.records.base import BY_HAND, Provenance
from bumble.records.sessions import Session
from bumble.text import markdown
from bumble.text.markdown import Document

JOURNAL_STAMP = "%Y-%m-%d %H:%M:%S"
# How a person is forgotten in a kind of file:
# `lines`: the words of a transcript go, its lines stay; `beside`: goes with the transcript
# `file`: a file that is theirs alone goes, others lose the id, and the name in the entity's words
# `parts`: the same for the parts of a file; `portrait`: the person's own goes, and notes of them
# `values`: what waits of their talks goes; `listed`: nothing, but a name in it is shown
Forgetting = Literal["lines", "beside", "file", "parts", "portrait", "values", "listed"]
# How git merges it: with our driver by meaning, lines of both sides, or as any text.
Merging = Literal["bumble", "union", ""]


@dataclass(frozen=True)
class RecordView:
    """One record in the fields that all kinds share."""

    id: str  # a title, for knowledge; a time, for the journal
    text: str
    origin: Provenance = BY_HAND
    sources: tuple[str, ...] = ()  # ids of all it rests on
    people: tuple[str, ...] = ()  # ids of those who took part, or whom it is for
    at: datetime | None = None  # when it was written, said or lived
    line: int | None = None  # of the file, from 1, where it begins
    source: str = ""  # its part of the file, byte for byte, where the file holds several
    document: Document | None = None  # the whole file, where it holds one record
    sources_key: str = "from"  # the key of the front matter that says what it rests on
    times: Mapping[str, datetime] = field(default_factory=dict)  # by key: those that have passed
    schedules: Mapping[str, str] = field(default_factory=dict)  # by key: cron expressions
    notes: tuple[RecordView, ...] = ()  # of a portrait: what waits to be worked into it

    def line_of(self, *keys: str) -> int | None:
        """Return the line of the first of some keys that the record has, else where it begins."""
        if self.document is None:
            return self.line
        lines = (self.document.line_of(key) for key in keys)
        return next((line for line in lines if line is not None), 1)


@dataclass(frozen=True)
class Kind:
    """What the rest of the code has to know of one kind of record."""

    name: str  # as `--kind` takes it: `belief`
    singular: str  # of its records, for people
    plural: str
    key: str  # of its count in JSON
    patterns: tuple[str, ...]  # its files, relative to the entity's folder; one without `*`: a file
    parse: Callable[[str, str], Any]  # text and stem of a file; ValueError if it is none
    read: Callable[[Path, tzinfo], Sequence[RecordView]]  # RecordInvalidError if it is none
    forgetting: Forgetting
    merging: Merging = ""
    prefix: str = ""  # of ids that are made for its records
    inner_prefixes: Mapping[str, str] = field(default_factory=dict)  # of ids within, by what has it
    people_keys: tuple[str, ...] = ("audience",)  # keys of a file that list ids of people
    text_keys: tuple[str, ...] = ()  # keys of the front matter that hold words, not ids
    own_words: bool = False  # the entity wrote it, even if the file does not say so
    file_name: str = ""  # what its only file is called in a list of changes
    passages: str = ""  # the kind its passages have in the index; empty: it is not searched
    unasked: bool = False  # whether it comes to mind without being asked for
    explained: bool = False  # whether `why` explains it
    counted: bool = False  # whether `status` counts it
    edit: str = ""  # the command that opens it; empty: an editor does

    @property
    def is_file(self) -> bool:
        """Whether there is only one file of it."""
        return "*" not in self.patterns[0]

    @property
    def folder(self) -> str:
        """The folder its files lie in; empty for one file at the top."""
        return "" if self.is_file else self.patterns[0].partition("/")[0]

    def paths(self, entity: Entity) -> list[Path]:
        """Return its files by name; what a link brings in from outside is passed over."""
        if self.is_file:
            path = entity.root / self.patterns[0]
            files.settled(path)
            return [path] if path.exists() else []
        return self._glob(entity, [pattern.partition("/")[2] for pattern in self.patterns])

    def locate(self, entity: Entity, stem: str) -> list[Path]:
        """Return its files of a stem; more than one only where a person has made them."""
        if self.is_file or not stem or "/" in stem or stem.startswith("."):
            return []
        return self._glob(
            entity, [_of_stem(pattern.partition("/")[2], stem) for pattern in self.patterns]
        )

    def _glob(self, entity: Entity, patterns: Sequence[str]) -> list[Path]:
        folder = entity.root / self.folder
        paths = [path for pattern in patterns for path in base.paths(folder, pattern)]
        return sorted(paths, key=lambda path: (self.stem(path), path.name))

    @property
    def folder_file(self) -> str:
        """The name that all its files have that lie in a folder each; empty if none do."""
        names = [PurePosixPath(pattern).name for pattern in self.patterns if not self.is_file]
        return next((name for name in names if "*" not in name), "")

    def stem(self, path: Path) -> str:
        """Return what a file is named for: its stem, or its folder where all have one name."""
        return path.parent.name if path.name == self.folder_file else path.stem


def _of_stem(pattern: str, stem: str) -> str:
    """Put a stem in the place of the last `*`."""
    head, _, tail = pattern.rpartition("*")
    return f"{head}{escape(stem)}{tail}"


def of_path(path: str) -> Kind | None:
    """Return the kind of a file by its path in the entity's folder, or else by its first folder."""
    place = PurePosixPath(path)
    for kind in KINDS:
        for pattern in kind.patterns:
            if len(place.parts) == pattern.count("/") + 1 and place.match(pattern):
                return kind
    top = place.parts[0] if len(place.parts) > 1 else ""
    return next((kind for kind in KINDS if top and kind.folder == top), None)


def of_id(record_id: str) -> str:
    """Return what has a generated id, or a beginning of one: a kind's name, `message`, `summary`.

    Empty if the id shows none.
    """
    return next((name for name, mark in PREFIXES.items() if record_id.startswith(f"{mark}_")), "")


def unite(*lists: Sequence[str]) -> tuple[str, ...]:
    """Join lists of ids, each id once, the empty ones left out."""
    return tuple(dict.fromkeys(record_id for part in lists for record_id in part if record_id))


def _whole(
    record_id: str,
    document: Document,
    at: datetime | None = None,
    *,
    sources: tuple[str, ...] = (),
    people: tuple[str, ...] = (),
    sources_key: str = "from",
    times: Mapping[str, datetime | None] | None = None,
    schedules: Mapping[str, str] | None = None,
    notes: tuple[RecordView, ...] = (),
) -> tuple[RecordView, ...]:
    """Show a record that has a file of its own; its line is the first of its text."""
    origin = base.provenance(document.meta)
    behind = document.source[document.body_start :]
    blank = behind[: len(behind) - len(behind.lstrip("\r\n"))].count("\n")
    view = RecordView(
        id=record_id,
        text=document.body,
        origin=origin,
        sources=unite(sources, origin.sources),
        people=tuple(filter(None, people)),
        at=at,
        line=document.body_line + (blank if document.body else 0),
        document=document,
        sources_key=sources_key,
        times={key: value for key, value in (times or {}).items() if value is not None},
        schedules={key: value for key, value in (schedules or {}).items() if value},
        notes=notes,
    )
    return (view,)


def _episode(path: Path, _: tzinfo) -> Sequence[RecordView]:
    episode = base.load(path, episodes.parse)
    return _whole(
        episode.id,
        episode.source,
        episode.at,
        sources=(episode.session,),
        people=episode.people,
        times={"at": episode.at},
    )


def _belief(path: Path, _: tzinfo) -> Sequence[RecordView]:
    belief = base.load(path, beliefs.parse)
    dream = belief.origin.removeprefix("dream:") if belief.origin.startswith("dream:") else ""
    confirmed = belief.reinforced if belief.reinforced != belief.formed else None
    return _whole(
        belief.id,
        belief.source,
        belief.formed,
        sources=(*belief.evidence, *belief.provenance.sources, dream),
        sources_key="evidence",
        times={"formed": belief.formed, "reinforced": confirmed},
    )


def _dream(path: Path, _: tzinfo) -> Sequence[RecordView]:
    dream = base.load(path, dreams.parse)
    pairs = tuple(episode_id for pair in dream.pairs for episode_id in pair)
    return _whole(
        dream.id,
        dream.source,
        dream.at,
        sources=pairs,
        sources_key="pairs",
        times={"at": dream.at},
    )


def _person(path: Path, _: tzinfo) -> Sequence[RecordView]:
    person = base.load(path, relationships.parse)
    notes = tuple(
        RecordView(
            id=f"{person.id}, note {number}",
            text=note.text,
            origin=note.provenance,
            sources=note.provenance.sources,
            at=note.at,
            document=person.source,
            sources_key="pending",
        )
        for number, note in enumerate(person.pending, 1)
    )
    return _whole(
        person.id,
        person.source,
        person.last_reflection,
        times={
            "first_met": person.first_met,
            "last_interaction": person.last_interaction,
            "last_reflection": person.last_reflection,
        },
        notes=notes,
    )


def _skill(path: Path, _: tzinfo) -> Sequence[RecordView]:
    skill = skills.load(path)
    return _whole(skill.slug, skill.source)


def _reminder(path: Path, _: tzinfo) -> Sequence[RecordView]:
    reminder = reminders.load(path)
    return _whole(
        reminder.id,
        reminder.source,
        reminder.at,
        people=(reminder.person,),
        times={"delivered": reminder.delivered},  # `at` may lie ahead
        schedules={"repeat": reminder.repeat},
    )


def _automation(path: Path, _: tzinfo) -> Sequence[RecordView]:
    automation = automations.load(path)
    return _whole(
        automation.id,
        automation.source,
        automation.last,
        times={"last": automation.last},
        schedules={"schedule": automation.schedule},
    )


def _check(path: Path, _: tzinfo) -> Sequence[RecordView]:
    check = checks.load(path)
    view = RecordView(
        id=check.id,
        text="\n".join((check.ask, *check.expected, *check.never)),
        origin=check.provenance,
        sources=check.provenance.sources,
        people=(relationships.person_id(check.person),) if check.person else (),
        line=1,
        document=check.source,
    )
    return (view,)


def _topic(path: Path, _: tzinfo) -> Sequence[RecordView]:
    topic = base.load(path, topics.parse)
    sources = unite(*(catalyst.sources for catalyst in topic.catalysts))
    times = {"at": topic.at}
    return _whole(topic.id, topic.source, topic.at, sources=sources, times=times)


def _question(path: Path, _: tzinfo) -> Sequence[RecordView]:
    question = base.load(path, questions.parse)
    return _whole(question.id, question.source, question.at, times={"at": question.at})


def _anchor(path: Path, _: tzinfo) -> Sequence[RecordView]:
    anchor = anchors.load(path)
    view = RecordView(
        id=anchor.id,
        text=f"{anchor.label}\n{anchor.description}".rstrip(),
        origin=anchor.provenance,
        sources=anchor.provenance.sources,
        at=anchor.at,
        line=1,
        document=anchor.source,
        times={"at": anchor.at}
        | ({"last_recalled": anchor.last_recalled} if anchor.last_recalled else {}),
    )
    return (view,)


def _project(path: Path, _: tzinfo) -> Sequence[RecordView]:
    project = projects.load(path)
    (view,) = _whole(project.id, project.source, people=project.people)
    return (replace(view, text=project.text),)


def _proposal(path: Path, _: tzinfo) -> Sequence[RecordView]:
    proposal = proposals.load(path)
    sources = unite(*(item.sources for item in proposal.items))
    (view,) = _whole(
        proposal.id, proposal.source, proposal.at, sources=sources, times={"at": proposal.at}
    )
    text = "\n".join(f"{item.text}: {item.reason}" for item in proposal.items)
    return (replace(view, text=text),)


def _self_model(path: Path, _: tzinfo) -> Sequence[RecordView]:
    self_model.read(path)
    return ()


def _narrative(path: Path, _: tzinfo) -> Sequence[RecordView]:
    story = base.load(path, narrative.parse)
    return _whole("narrative", story.source, story.at, times={"at": story.at})


def _handover(path: Path, _: tzinfo) -> Sequence[RecordView]:
    brief = base.load(path, session_files.parse_handover)
    return _whole(path.parent.name, brief, base.field(brief.meta, "at", datetime))


def _knowledge(path: Path, _: tzinfo) -> Sequence[RecordView]:
    return [
        RecordView(
            id=section.title,
            text=section.text,
            origin=section.provenance,
            sources=section.provenance.sources,
            line=section.line,
            source=section.source[: len(section.source) - len(section.tail)],
        )
        for section in knowledge.read(path).sections
    ]


def _journal(path: Path, zone: tzinfo) -> Sequence[RecordView]:
    return [
        RecordView(
            id=f"{entry.at:{JOURNAL_STAMP}}",
            text=entry.text,
            origin=entry.provenance,
            sources=entry.provenance.sources,
            at=entry.at,
            line=entry.line,
            source=entry.source,
            times={"at": entry.at},
        )
        for entry in journal.read(path, zone).entries
    ]


def _scratch(path: Path, _: tzinfo) -> Sequence[RecordView]:
    views = []
    for number, line in enumerate(markdown.lines(base.read_text(path)), 1):
        if line.startswith(scratch.MARK):
            origin = scratch.origin(line)
            text = scratch.shown(line).strip()
            line_id = f"{path.stem}, line {number}"
            views.append(
                RecordView(line_id, text, origin, origin.sources, line=number, source=line)
            )
    return views


def _working(path: Path, _: tzinfo) -> Sequence[RecordView]:
    return [
        RecordView(
            f"{line.section}, line {line.number}".removeprefix(", "),
            line.text,
            line.origin,
            line.origin.sources,
            line=line.number,
            source=line.source,
        )
        for line in working.parse(base.read_text(path))
    ]


def _session(path: Path, _: tzinfo) -> Sequence[RecordView]:
    return (session_view(session_files.load(path)),)


def session_view(session: Session) -> RecordView:
    """Show a conversation as one record."""
    count, people = len(session.messages), session.people
    text = f"{count} message{'' if count == 1 else 's'} with {', '.join(people)}"
    origin = Provenance(audience=people)
    return RecordView(session.id, text, origin, people=people, at=session.at, line=1)


def _soma(path: Path, _: tzinfo) -> Sequence[RecordView]:
    soma.read(path)
    return ()


def _state(path: Path, _: tzinfo) -> Sequence[RecordView]:
    state.read(path)
    return ()


KNOWLEDGE = Kind(
    "knowledge",
    "section of knowledge",
    "sections of knowledge",
    "knowledge",
    (knowledge.PATH,),
    knowledge.parse,
    _knowledge,
    "parts",
    "bumble",
    file_name="knowledge",
    passages="knowledge",
    explained=True,
    counted=True,
    edit="bumble knowledge edit",
)
JOURNAL = Kind(
    "journal",
    "journal entry",
    "journal entries",
    "journal",
    (journal.PATH,),
    partial(journal.parse, zone=UTC),
    _journal,
    "parts",
    "bumble",
    file_name="journal",
    passages="journal",
    explained=True,
    counted=True,
    edit="bumble journal edit",
)
NARRATIVE = Kind(
    "narrative",
    "story",
    "stories",
    "narrative",
    (narrative.PATH,),
    narrative.parse,
    _narrative,
    "file",
    "bumble",
    file_name="story",
    passages="narrative",
    explained=True,
)
SOMA = Kind(
    "soma",
    "body",
    "bodies",
    "soma",
    (soma.PATH,),
    soma.parse,
    _soma,
    "listed",
    "bumble",
    file_name="body",
)
STATE = Kind(
    "state",
    "bookkeeping",
    "bookkeeping",
    "state",
    (state.PATH,),
    state.parse,
    _state,
    "values",
    "bumble",
    file_name="bookkeeping",
)
SCRATCH = Kind(
    "scratch",
    "scratch note",
    "scratch notes",
    "scratch",
    (scratch.PATH,),
    scratch.parse,
    _scratch,
    "parts",
    "union",
    file_name="scratch notes",
    explained=True,
    counted=True,
)
WORKING = Kind(
    "working",
    "line of working memory",
    "lines of working memory",
    "working_memory",
    (working.PATH,),
    working.parse,
    _working,
    "parts",
    "union",
    file_name="working memory",
    explained=True,
    counted=True,
)
EPISODE = Kind(
    "episode",
    "episode",
    "episodes",
    "episodes",
    (f"{episodes.FOLDER}/*/*/*.md",),
    episodes.parse,
    _episode,
    "file",
    "bumble",
    prefix=episodes.PREFIX,
    people_keys=("people", "audience"),
    text_keys=("imprints", "tags"),
    own_words=True,
    passages="episode",
    unasked=True,
    explained=True,
    counted=True,
    edit="bumble episode edit",
)
BELIEF = Kind(
    "belief",
    "belief",
    "beliefs",
    "beliefs",
    (f"{beliefs.FOLDER}/*.md",),
    beliefs.parse,
    _belief,
    "file",
    "bumble",
    prefix=beliefs.PREFIX,
    passages="belief",
    unasked=True,
    explained=True,
    counted=True,
    edit="bumble belief edit",
)
PERSON = Kind(
    "person",
    "person",
    "people",
    "people",
    (f"{relationships.FOLDER}/*.md",),
    relationships.parse,
    _person,
    "portrait",
    "bumble",
    text_keys=("dynamic", "topics", "unresolved"),
    passages="person",
    explained=True,
    counted=True,
    edit="bumble person edit",
)
SKILL = Kind(
    "skill",
    "skill",
    "skills",
    "skills",
    (f"{skills.FOLDER}/*.md", f"{skills.FOLDER}/*/{skills.FOLDER_FILE}"),
    skills.parse,
    _skill,
    "file",
    text_keys=("name", "description"),
    passages="skill",
    explained=True,
    counted=True,
    edit="bumble skill edit",
)
DREAM = Kind(
    "dream",
    "dream",
    "dreams",
    "dreams",
    (f"{dreams.FOLDER}/*.md",),
    dreams.parse,
    _dream,
    "file",
    "bumble",
    prefix=dreams.PREFIX,
    own_words=True,
    passages="dream",
    explained=True,
    counted=True,
)
TOPIC = Kind(
    "topic",
    "topic",
    "topics",
    "topics",
    (f"{topics.FOLDER}/*.md",),
    topics.parse,
    _topic,
    "file",
    "bumble",
    text_keys=("name",),
    own_words=True,
    passages="topic",
    explained=True,
    counted=True,
)
REMINDER = Kind(
    "reminder",
    "reminder",
    "reminders",
    "reminders",
    (f"{reminders.FOLDER}/*.md",),
    reminders.parse,
    _reminder,
    "file",
    "bumble",
    prefix=reminders.PREFIX,
    people_keys=("for", "audience"),
    counted=True,
)
AUTOMATION = Kind(
    "automation",
    "automation",
    "automations",
    "automations",
    (f"{automations.FOLDER}/*.md",),
    automations.parse,
    _automation,
    "file",
    "bumble",
    prefix=automations.PREFIX,
    counted=True,
)
CHECK = Kind(
    "check",
    "check",
    "checks",
    "checks",
    (f"{checks.FOLDER}/*.yaml",),
    checks.parse,
    _check,
    "file",
    people_keys=("as", "audience"),
    text_keys=("ask", "expect", "never"),
    explained=True,
    counted=True,
)
QUESTION = Kind(
    "question",
    "open question",
    "open questions",
    "questions",
    (f"{questions.FOLDER}/*.md",),
    questions.parse,
    _question,
    "file",
    prefix=questions.PREFIX,
    explained=True,
    counted=True,
)
ANCHOR = Kind(
    "anchor",
    "anchor",
    "anchors",
    "anchors",
    (f"{anchors.FOLDER}/*.yaml",),
    anchors.parse,
    _anchor,
    "file",
    "bumble",
    text_keys=("label", "description"),
    explained=True,
    counted=True,
)
PROJECT = Kind(
    "project",
    "project",
    "projects",
    "projects",
    (f"{projects.FOLDER}/*.md",),
    projects.parse,
    _project,
    "file",
    "bumble",
    people_keys=("people", "audience"),
    text_keys=("title", "next", "tags"),
    passages="project",
    explained=True,
    counted=True,
    edit="bumble project edit",
)
PROPOSAL = Kind(
    "proposal",
    "proposal",
    "proposals",
    "proposals",
    (f"{proposals.FOLDER}/*.md",),
    proposals.parse,
    _proposal,
    "file",
    "bumble",
    prefix=proposals.PREFIX,
    text_keys=("traits", "behaviours", "curiosity"),
    own_words=True,
    explained=True,
    counted=True,
)
SELF_MODEL = Kind(
    "self_model",
    "view of its tools",
    "views of its tools",
    "self_model",
    (self_model.PATH,),
    self_model.parse,
    _self_model,
    "listed",
    "bumble",
    file_name="view of its tools",
)
SESSION = Kind(
    "session",
    "conversation",
    "conversations",
    "sessions",
    (f"{sessions.FOLDER}/*/{sessions.FILE}",),
    sessions.parse,
    _session,
    "lines",
    "bumble",
    prefix=sessions.PREFIX,
    inner_prefixes={
        "message": sessions.MESSAGE_PREFIX,
        "summary": sessions.COMPACTION_PREFIX,
    },
    people_keys=("by", "with"),
    passages="message",
    unasked=True,
    explained=True,
    counted=True,
)
HANDOVER = Kind(
    "handover",
    "conversation",
    "conversations",
    "handovers",
    (f"{sessions.FOLDER}/*/{session_files.HANDOVER}",),
    session_files.parse_handover,
    _handover,
    "beside",
    "bumble",
)
KINDS = (  # in the order in which they are read and shown
    *(KNOWLEDGE, JOURNAL, PERSON, NARRATIVE, SOMA, STATE, SELF_MODEL, SCRATCH, WORKING),
    *(EPISODE, BELIEF, SKILL, DREAM, TOPIC, REMINDER, AUTOMATION, CHECK, ANCHOR, PROJECT),
    *(PROPOSAL, QUESTION, SESSION, HANDOVER),
)
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
