"""The kinds of record: for each where its files lie, how they are read, merged, forgotten, checked.

The one list of kinds. What walks over them asks here; where a higher room needs code for each kind
(passages of the index, a merge, words for a change), it has one table by kind, and the contract
test of the records holds that table complete.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, tzinfo
from functools import partial
from glob import escape
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from msgspec import Struct, field

from bumble.entity.folder import Entity
from bumble.files import disk
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
    record_view,
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
from bumble.records.record_view import RecordView

# How a person is forgotten in a kind of file:
# `lines`: the words of a transcript go, its lines stay; `beside`: goes with the transcript
# `file`: a file that is theirs alone goes, others lose the id, and the name in the entity's words
# `parts`: the same for the parts of a file; `portrait`: the person's own goes, and notes of them
# `values`: what waits of their talks goes; `listed`: nothing, but a name in it is shown
Forgetting = Literal["lines", "beside", "file", "parts", "portrait", "values", "listed"]
# What of a file goes into an archive for one reader, who may read what it holds: all or a part.
Bundling = Literal["whole", "parts", ""]
# How git merges it: with our driver by meaning, lines of both sides, or as any text.
Merging = Literal["bumble", "union", ""]


class Kind(Struct, frozen=True):
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
    claims: bool = False  # whether what a model wrote in it is told as true
    retells: bool = False  # whether it is made of other records, and tells nothing new
    of_now: bool = False  # whether it holds the present and nothing else
    explained: bool = False  # whether `why` explains it
    counted: bool = False  # whether `status` counts it
    page: str = ""  # what exports call a page of it (`type`, in OKF); empty: they have none
    bundled: Bundling = ""  # empty: an archive for one reader has nothing of it
    edit: str = ""  # the command that opens it; empty: an editor does

    @property
    def is_file(self) -> bool:
        """Whether there is only one file of it."""
        return "*" not in self.patterns[0]

    @property
    def is_lines(self) -> bool:
        """Whether it is notes of a line each, which git joins by itself."""
        return self.is_file and self.merging == "union"

    @property
    def folder(self) -> str:
        """The folder its files lie in; empty for one file at the top."""
        return "" if self.is_file else self.patterns[0].partition("/")[0]

    def paths(self, entity: Entity) -> list[Path]:
        """Return its files by name; what a link brings in from outside is passed over."""
        if self.is_file:
            path = entity.root / self.patterns[0]
            disk.settled(path)
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


KNOWLEDGE = Kind(
    "knowledge",
    "section of knowledge",
    "sections of knowledge",
    "knowledge",
    (knowledge.PATH,),
    knowledge.parse,
    record_view.of_knowledge,
    "parts",
    "bumble",
    file_name="knowledge",
    passages="knowledge",
    claims=True,
    explained=True,
    counted=True,
    page="Knowledge",
    bundled="parts",
    edit="bumble knowledge edit",
)
JOURNAL = Kind(
    "journal",
    "journal entry",
    "journal entries",
    "journal",
    (journal.PATH,),
    partial(journal.parse, zone=UTC),
    record_view.of_journal,
    "parts",
    "bumble",
    file_name="journal",
    passages="journal",
    explained=True,
    counted=True,
    page="Journal",
    bundled="parts",
    edit="bumble journal edit",
)
NARRATIVE = Kind(
    "narrative",
    "story",
    "stories",
    "narrative",
    (narrative.PATH,),
    narrative.parse,
    record_view.of_narrative,
    "file",
    "bumble",
    file_name="story",
    passages="narrative",
    retells=True,
    explained=True,
    page="Narrative",
    bundled="whole",
)
SOMA = Kind(
    "soma",
    "body",
    "bodies",
    "soma",
    (soma.PATH,),
    soma.parse,
    record_view.of_soma,
    "listed",
    "bumble",
    file_name="body",
    of_now=True,
)
STATE = Kind(
    "state",
    "bookkeeping",
    "bookkeeping",
    "state",
    (state.PATH,),
    state.parse,
    record_view.of_state,
    "values",
    "bumble",
    file_name="bookkeeping",
    of_now=True,
)
SCRATCH = Kind(
    "scratch",
    "scratch note",
    "scratch notes",
    "scratch",
    (scratch.PATH,),
    scratch.parse,
    record_view.of_scratch,
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
    record_view.of_working,
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
    record_view.of_episode,
    "file",
    "bumble",
    prefix=episodes.PREFIX,
    people_keys=("people", "audience"),
    text_keys=("imprints", "tags"),
    own_words=True,
    passages="episode",
    unasked=True,
    claims=True,
    explained=True,
    counted=True,
    page="Episode",
    bundled="whole",
    edit="bumble episode edit",
)
BELIEF = Kind(
    "belief",
    "belief",
    "beliefs",
    "beliefs",
    (f"{beliefs.FOLDER}/*.md",),
    beliefs.parse,
    record_view.of_belief,
    "file",
    "bumble",
    prefix=beliefs.PREFIX,
    passages="belief",
    unasked=True,
    claims=True,
    explained=True,
    counted=True,
    page="Belief",
    bundled="whole",
    edit="bumble belief edit",
)
PERSON = Kind(
    "person",
    "person",
    "people",
    "people",
    (f"{relationships.FOLDER}/*.md",),
    relationships.parse,
    record_view.of_person,
    "portrait",
    "bumble",
    text_keys=("dynamic", "topics", "unresolved"),
    passages="person",
    claims=True,
    explained=True,
    counted=True,
    page="Person",
    bundled="whole",
    edit="bumble person edit",
)
SKILL = Kind(
    "skill",
    "skill",
    "skills",
    "skills",
    (f"{skills.FOLDER}/*.md", f"{skills.FOLDER}/*/{skills.FOLDER_FILE}"),
    skills.parse,
    record_view.of_skill,
    "file",
    text_keys=("name", "description"),
    passages="skill",
    explained=True,
    counted=True,
    page="Skill",
    bundled="whole",
    edit="bumble skill edit",
)
DREAM = Kind(
    "dream",
    "dream",
    "dreams",
    "dreams",
    (f"{dreams.FOLDER}/*.md",),
    dreams.parse,
    record_view.of_dream,
    "file",
    "bumble",
    prefix=dreams.PREFIX,
    own_words=True,
    passages="dream",
    retells=True,
    explained=True,
    counted=True,
    page="Dream",
    bundled="whole",
)
TOPIC = Kind(
    "topic",
    "topic",
    "topics",
    "topics",
    (f"{topics.FOLDER}/*.md",),
    topics.parse,
    record_view.of_topic,
    "file",
    "bumble",
    text_keys=("name",),
    own_words=True,
    passages="topic",
    retells=True,
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
    record_view.of_reminder,
    "file",
    "bumble",
    prefix=reminders.PREFIX,
    people_keys=("for", "audience"),
    counted=True,
    bundled="whole",
)
AUTOMATION = Kind(
    "automation",
    "automation",
    "automations",
    "automations",
    (f"{automations.FOLDER}/*.md",),
    automations.parse,
    record_view.of_automation,
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
    record_view.of_check,
    "file",
    people_keys=("as", "audience"),
    text_keys=("ask", "expect", "never"),
    explained=True,
    counted=True,
    bundled="whole",
)
QUESTION = Kind(
    "question",
    "open question",
    "open questions",
    "questions",
    (f"{questions.FOLDER}/*.md",),
    questions.parse,
    record_view.of_question,
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
    record_view.of_anchor,
    "file",
    "bumble",
    text_keys=("label", "description"),
    explained=True,
    counted=True,
    bundled="whole",
)
PROJECT = Kind(
    "project",
    "project",
    "projects",
    "projects",
    (f"{projects.FOLDER}/*.md",),
    projects.parse,
    record_view.of_project,
    "file",
    "bumble",
    people_keys=("people", "audience"),
    text_keys=("title", "next", "tags"),
    passages="project",
    explained=True,
    counted=True,
    page="Project",
    bundled="whole",
    edit="bumble project edit",
)
PROPOSAL = Kind(
    "proposal",
    "proposal",
    "proposals",
    "proposals",
    (f"{proposals.FOLDER}/*.md",),
    proposals.parse,
    record_view.of_proposal,
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
    record_view.of_self_model,
    "listed",
    "bumble",
    file_name="view of its tools",
    of_now=True,
)
SESSION = Kind(
    "session",
    "conversation",
    "conversations",
    "sessions",
    (f"{sessions.FOLDER}/*/{sessions.FILE}",),
    sessions.parse,
    record_view.of_session,
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
    page="Conversation",
    bundled="whole",
)
HANDOVER = Kind(
    "handover",
    "conversation",
    "conversations",
    "handovers",
    (f"{sessions.FOLDER}/*/{session_files.HANDOVER}",),
    session_files.parse_handover,
    record_view.of_handover,
    "beside",
    "bumble",
)
KINDS = (  # in the order in which they are read and shown
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
