"""A kind of record, declared once: its fields, its files, and all that follows from them.

A record that has a file of its own is a `Record`: a frozen struct whose fields are the keys of the
front matter, each with its type, its default and the rule by which two sides of it are joined. What
reads, writes, merges, tells, forgets and checks records walks over that declaration; a special case
is a method of the record. Knows no kind by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from difflib import unified_diff
from glob import escape
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar

from msgspec import Struct, field, structs

from bumble.entity import changes
from bumble.entity.folder import Entity
from bumble.errors import UnsafePathError
from bumble.files import disk
from bumble.records import base, fields
from bumble.text import markdown, yaml_edit

# How a person is forgotten in a kind of file:
# `lines`: the words of a transcript go, its lines stay; `beside`: goes with the transcript
# `file`: a file that is theirs alone goes, others lose the id, and the name in the entity's words
# `parts`: the same for the parts of a file; `portrait`: the person's own goes, and notes of them
# `values`: what waits of their talks goes; `listed`: nothing, but a name in it is shown
Forgetting = Literal["lines", "beside", "file", "parts", "portrait", "values", "listed"]
# How git merges it: with our driver by meaning, lines of both sides, or as any text.
Merging = Literal["bumble", "union", ""]
Told = Iterator[str]  # lines for a log
MAX_TEXT_LINES = 12  # of a text, in a log
R = TypeVar("R", bound="Record")


class RecordView(Struct, frozen=True):
    """One record in the fields that all kinds share."""

    id: str  # a title, for knowledge; a time, for the journal
    text: str
    origin: base.Provenance = base.BY_HAND
    sources: tuple[str, ...] = ()  # ids of all it rests on
    people: tuple[str, ...] = ()  # ids of those who took part, or whom it is for
    at: datetime | None = None  # when it was written, said or lived
    line: int | None = None  # of the file, from 1, where it begins
    source: str = ""  # its part of the file, byte for byte, where the file holds several
    document: markdown.Document | None = None  # the whole file, where it holds one record
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


def rewritten(text: str, views: Iterable[RecordView], become: Callable[[RecordView], str]) -> str:
    """Return the text of a file with each of its parts as it becomes; all other bytes stay."""
    pieces, end = list[str](), 0
    for view in views:
        start = text.index(view.source, end)
        pieces += [text[end:start], become(view)]
        end = start + len(view.source)
    return "".join((*pieces, text[end:]))


def unite(*lists: Iterable[str]) -> tuple[str, ...]:
    """Join lists of ids, each id once, the empty ones left out."""
    return tuple(dict.fromkeys(record_id for part in lists for record_id in part if record_id))


class About(Struct, frozen=True, kw_only=True):
    """What the fields of a record don't say of it.

    In words `{0}` is the record; of one that changed it is what that was, and `{1}` what it is.
    """

    headline: str = "{0.id}"  # what a log calls one that came or went
    added: str = "new"  # before that of one that came
    gone: str = "gone:"  # and of one that went
    quoted: str = "told"  # the attribute that it quotes of a new one; empty: none
    changed: str = "{0.id}"  # what it calls one that changed
    retold: str = ""  # what it says of new words; empty: it shows none
    words: str = "text"  # the attribute that has these
    found: str = "from"  # the key that says what it rests on
    schedule: str = ""  # the field that is a cron expression
    unsaid: str = ""  # what is wrong with one that has no text; empty: nothing
    defaults_to_id: str = ""  # the attribute that is its id where nothing else is said
    filed_as: str = ""  # what its file is named for, before its id
    when: str = "at"  # the attribute that says when it was written, said or lived
    # keys of which the side counts that is newer, each with the key of the time that says so;
    # where neither side has that time, the rule of the field
    of_newer: Mapping[str, str] = {}


class Record(Struct, frozen=True, kw_only=True):
    """A record that has a file of its own."""

    ABOUT: ClassVar[About] = About()

    id: Annotated[str, fields.GIVEN]
    stem: Annotated[str, fields.GIVEN]  # of its file: its id, or what it tells and its id
    provenance: Annotated[base.Provenance, fields.GIVEN]
    source: Annotated[
        markdown.Document, fields.GIVEN
    ]  # the file as it stands; edits splice its lines

    @property
    def audience(self) -> tuple[str, ...]:
        """Who may meet it in a prompt; empty: everyone."""
        return self.provenance.audience

    @classmethod
    def drawn(cls, document: markdown.Document, record_id: str) -> Mapping[str, Any]:
        """Return the values that no key alone says."""
        return {}

    def check(self) -> None:
        """Raise `ValueError` where its values don't go together."""
        if self.ABOUT.unsaid and not self.source.body:
            raise ValueError(self.ABOUT.unsaid)

    @classmethod
    def merged(
        cls, base: fields.Values, current: fields.Values, incoming: fields.Values
    ) -> dict[str, Any]:
        """Return what the values of two sides become."""
        taken = {
            key: fields.of_side(key, last)
            for key, time in cls.ABOUT.of_newer.items()
            if (last := fields.newer(current, incoming, time)).get(time) is not None
        }
        return fields.mapping(base, current, incoming, {**cls.rules(), **taken})

    @classmethod
    def rules(cls) -> dict[str, fields.Rule]:
        """Return by key how each value is merged."""
        own = {one.how.name: one.how.merge for one in fields.declared(cls) if one.how.stored}
        return {**fields.ORIGIN, **own}

    @property
    def told(self) -> str:
        """What it says, in words."""
        return getattr(self, "text", self.source.body)

    @property
    def when(self) -> datetime | None:
        """When it was written, said or lived."""
        return getattr(self, self.ABOUT.when, None)

    @property
    def rests_on(self) -> tuple[str, ...]:
        """Ids of what it rests on, beside those of its provenance."""
        return ()

    @property
    def concerned(self) -> tuple[str, ...]:
        """Ids of those who took part, or whom it is for."""
        return getattr(self, "people", ())

    @property
    def notes(self) -> tuple[RecordView, ...]:
        """What waits to be worked into it."""
        return ()

    @property
    def filed_as(self) -> str:
        """What its file is named for, before its id; empty: it is named by its id."""
        return self.ABOUT.filed_as.format(self)

    @property
    def headline(self) -> str:
        """What a log calls it, behind "new" or "gone:"."""
        return self.ABOUT.headline.format(self)

    @property
    def quoted(self) -> str:
        """What a log quotes of a new one."""
        return str(getattr(self, self.ABOUT.quoted, ""))

    def changes_since(self, old: Any) -> Told:
        """Yield what a log says of its change, field by field."""
        head = self.ABOUT.changed.format(old, self)
        for one in fields.declared(type(self)):
            was, now = getattr(old, one.name), getattr(self, one.name)
            yield from (f"{head}{line}" for line in (one.how.said(was, now) if was != now else ()))
        if self.ABOUT.retold:
            was, now = (getattr(one, self.ABOUT.words) for one in (old, self))
            yield from told_anew(self.ABOUT.retold.format(old, self), was, now)

    def view(self) -> RecordView:
        """Show it in the fields that all kinds share; its line is the first of its text."""
        document, schedule = self.source, getattr(self, self.ABOUT.schedule, "")
        behind = document.source[document.body_start :]
        blank = behind[: len(behind) - len(behind.lstrip("\r\n"))].count("\n")
        line = document.body_line + (blank if document.body else 0)
        keyed = [(one.how.name, one) for one in fields.declared(type(self)) if one.is_past]
        times = {key: getattr(self, one.name) for key, one in keyed}
        return RecordView(
            self.id,
            self.told,
            self.provenance,
            unite(self.rests_on, self.provenance.sources),
            tuple(filter(None, self.concerned)),
            self.when,
            line if document.lines_above else 1,
            document=document,
            sources_key=self.ABOUT.found,
            times={key: at for key, at in times.items() if at and key in document.meta},
            schedules={self.ABOUT.schedule: schedule} if schedule else {},
            notes=self.notes,
        )


class Kind(Struct, frozen=True, kw_only=True):
    """What the rest of the code has to know of one kind of record."""

    name: str  # as `--kind` takes it: `belief`
    singular: str  # of its records, for people
    plural: str
    key: str  # of its count in JSON
    patterns: tuple[str, ...]  # its files, relative to the entity's folder; one without `*`: a file
    forgetting: Forgetting
    # What a `RecordKind` does by itself: text and stem of a file to a record, ValueError if it is
    # none; a file to views, RecordInvalidError; values of two sides to one; lines for a log.
    parser: Callable[[str, str], Any] | None = None
    viewer: Callable[[Path, tzinfo], Sequence[RecordView]] | None = None
    joiner: Callable[[fields.Values, fields.Values, fields.Values], dict[str, Any]] = fields.origin
    teller: Callable[[str | None, str | None], Told] | None = None
    merging: Merging = ""
    paired: bool = False  # whether a text of two sides is merged by what stands beside each
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
    page: bool = False  # whether exports have pages of it
    edit: str = ""  # the command that opens it; empty: an editor does

    def parse(self, source: str, stem: str) -> Any:
        """Read what the text of a file holds; ValueError if that is none of it."""
        return self.parser(source, stem) if self.parser else None

    def read(self, path: Path, zone: tzinfo) -> Sequence[RecordView]:
        """Read the records of a file in the fields that all kinds share."""
        if self.viewer is None:  # it shows none, and is read for what is wrong with it
            base.load(path, self.parse)
            return ()
        return self.viewer(path, zone)

    def join(
        self, base: fields.Values, current: fields.Values, incoming: fields.Values
    ) -> dict[str, Any]:
        """Return what the values of two sides become."""
        return self.joiner(base, current, incoming)

    def tell(self, path: PurePosixPath, before: str | None, after: str | None) -> Told:
        """Yield what a log says of a change of a file; nothing: its lines are shown."""
        return self.teller(before, after) if self.teller else iter(())

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

    @property
    def suffix(self) -> str:
        """The ending of its files' names."""
        return PurePosixPath(self.patterns[0]).suffix

    def paths(self, entity: Entity) -> list[Path]:
        """Return its files by name; what a link brings in from outside is passed over."""
        if self.is_file:
            path = entity.root / self.patterns[0]
            disk.settled(path)
            return [path] if path.exists() else []
        return self.files(entity.root / self.folder)

    def reachable(self, entity: Entity) -> list[Path]:
        """Return the same; none where a link leads out of the folder."""
        try:
            return self.paths(entity)
        except UnsafePathError:
            return []

    def files(self, folder: Path) -> list[Path]:
        """Return the files in the kind's folder, by name: ids begin with their time."""
        return self._glob(folder, [pattern.partition("/")[2] for pattern in self.patterns])

    def locate(self, entity: Entity, stem: str) -> list[Path]:
        """Return its files of a stem; more than one only where a person has made them."""
        if self.is_file or not stem or "/" in stem or stem.startswith("."):
            return []
        inner = (pattern.partition("/")[2].rpartition("*") for pattern in self.patterns)
        told = "*" if self.prefix else ""  # what may stand before an id
        named = [f"{head}{told}{escape(stem)}{tail}" for head, _, tail in inner]
        paths = self._glob(entity.root / self.folder, named)
        return [path for path in paths if self.stem(path) == stem]

    def _glob(self, folder: Path, patterns: Sequence[str]) -> list[Path]:
        paths = [path for pattern in patterns for path in base.paths(folder, pattern)]
        return sorted(paths, key=lambda path: (self.stem(path), path.name))

    @property
    def folder_file(self) -> str:
        """The name that all its files have that lie in a folder each; empty if none do."""
        names = [pattern.rpartition("/")[2] for pattern in self.patterns if not self.is_file]
        return next((name for name in names if "*" not in name), "")

    def stem(self, path: PurePosixPath | Path) -> str:
        """Return the id of a file's record, or what it is named for: its stem, or its folder."""
        stem = path.parent.name if path.name == self.folder_file else path.stem
        return base.id_of(stem) if self.prefix else stem


class RecordKind(Kind, Generic[R], frozen=True, kw_only=True):
    """A kind whose records have a file each."""

    record: type[R]
    named_by: tuple[str, ...] = ("id",)  # the attributes by which a person names one

    def match(self, records: Iterable[R], name: str) -> R | None:
        """Return the record of a name; case, spaces and hyphens do not count."""
        wanted, everything = disk.same_name(name), list(records)
        named = ((getattr(one, part), one) for part in self.named_by for one in everything)
        return next((one for spelling, one in named if disk.same_name(spelling) == wanted), None)

    def parse(self, source: str, stem: str = "") -> R:
        """Read a record from the text of its file; `source.text` gives the same bytes back."""
        read = markdown.of_yaml if self.suffix == ".yaml" else markdown.parse
        return self.of(read(source), stem)

    def of(self, document: markdown.Document, stem: str) -> R:
        """Read a record from its document, and the stem of its file."""
        meta = document.meta
        record_id = base.id_of(stem) if self.prefix else stem.partition("/")[0]
        drawn = dict(self.record.drawn(document, record_id))
        values = {
            one.name: document.body if one.how is fields.BODY else one.read(meta)
            for one in fields.declared(self.record)
            if one.name not in drawn and (one.how.stored or one.how is fields.BODY)
        } | drawn
        if name := self.record.ABOUT.defaults_to_id:
            values[name] = values[name] or record_id
        origin = base.provenance(meta)
        made = self.record(id=record_id, stem=stem, provenance=origin, source=document, **values)
        made.check()
        return made

    def new(
        self, record_id: str, body: str, provenance: base.Provenance | None, **values: object
    ) -> R:
        """Make a record that is not in the folder yet: its values by key, the empty left out."""
        meta = base.filled({key: fields.written(value) for key, value in values.items()})
        meta |= (provenance or base.BY_HAND).meta()
        if self.suffix == ".yaml":
            return self.of(markdown.of_yaml(yaml_edit.dump(meta)), record_id)
        made = self.of(markdown.render(meta, body), record_id)
        told = made.filed_as
        return structs.replace(made, stem=base.file_stem(told, record_id)) if told else made

    def load(self, file: Path) -> R:
        """Read the record in a file; RecordInvalidError if it is none."""
        return base.load(file, lambda source, _: self.parse(source, self.named(file)))

    def named(self, file: PurePosixPath | Path) -> str:
        """Return the stem of a record by its file: with its folder, where all have one name."""
        of_folder = f"{file.parent.name}/" if file.name == self.folder_file else ""
        return f"{of_folder}{file.stem}"

    def readable(self, folder: Path) -> list[R]:
        """Return every record that can be read, by name: one broken file stops no talk or job."""
        return base.load_all(self.files(folder), self.load)[0]

    def read(self, path: Path, zone: tzinfo) -> Sequence[RecordView]:
        """Read the record of a file in the fields that all kinds share."""
        return (self.load(path).view(),)

    def join(
        self, base: fields.Values, current: fields.Values, incoming: fields.Values
    ) -> dict[str, Any]:
        """Return what the values of two sides become."""
        return self.record.merged(base, current, incoming)

    def tell(self, path: PurePosixPath, before: str | None, after: str | None) -> Told:
        """Yield what a log says of a change of a record."""
        stem = self.named(path)
        old, new = (None if text is None else self.parse(text, stem) for text in (before, after))
        if old is not None and new is not None:
            yield from new.changes_since(old)
        elif (one := new or old) is not None:
            yield f"{one.ABOUT.added if old is None else one.ABOUT.gone} {one.headline}"
            yield from quoted(one.quoted)

    def path(self, stem: str) -> str:
        """Return where a file lies, relative to the entity folder."""
        return f"{self.folder}/{stem}{self.suffix}"

    def place(self, record: R) -> str:
        """Return where the file of a record lies that nobody has moved, in the entity folder."""
        is_by_month = self.patterns[0] == f"{self.folder}/*/*/*{self.suffix}"
        month = f"{record.when:%Y/%m}/" if is_by_month and record.when else ""
        return self.path(f"{month}{record.stem}")

    def plan_new(self, record: R, why: str) -> changes.Change:
        """Plan to put a new record into the folder."""
        return changes.write(self.place(record), record.source.text, None, why)

    def plan_edit(
        self, record: R, values: Mapping[str, Any], why: str, *, body: str | None = None
    ) -> changes.Change | None:
        """Plan to change some values by key, None takes one out, and the body; all else stays."""
        stored = {key: fields.written(value) for key, value in values.items()}
        document = base.with_values(record.source, stored)
        document = document if body is None else document.with_body(body)
        return base.plan_edit(self.place(record), record.source, document, why)

    def plan_forget(self, record: R, why: str) -> changes.Change:
        """Plan to remove a record's file."""
        return changes.delete(self.place(record), record.source.text, why)


# Words for a log


def quoted(text: str, mark: str = "  ") -> Told:
    """Yield the first lines of a text, each behind a mark."""
    rows = text.splitlines()
    yield from (f"{mark}{row}".rstrip() for row in rows[:MAX_TEXT_LINES])
    if len(rows) > MAX_TEXT_LINES:
        yield f"{mark}… {len(rows) - MAX_TEXT_LINES} more lines"


def told_anew(what: str, before: str, after: str) -> Told:
    """Yield the lines of a text that went, and those that came."""
    if before != after:
        yield what
        rows = [text.splitlines() for text in (before, after)]
        yield from quoted("\n".join(row for row in rows[0] if row not in rows[1]), "- ")
        yield from quoted("\n".join(row for row in rows[1] if row not in rows[0]), "+ ")


def changed_lines(before: str | None, after: str | None, context: int = 1) -> Told:
    """Yield the lines that differ, with some around them."""
    old, new = ((text or "").splitlines() for text in (before, after))
    yield from list(unified_diff(old, new, lineterm="", n=context))[2:]
