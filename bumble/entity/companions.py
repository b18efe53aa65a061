"""Companions: what a record's file leaves out, in `sources/`, a YAML file a record.

`knowledge.md` says that Dot keeps hens; `sources/knowledge.yaml` says who wrote that, and on whose
words it rests. What reads or writes a record knows one text, the whole: all fields in front, the
origin of a part in a comment under its heading, or behind its line. This module alone knows that
two files hold it: `joined` makes the whole of both, `split` both of the whole. Who may meet a text
always stands in the record itself, so that a lost companion opens nothing: what it leaves counts as
the least trusted there is. A file of the workspace holds its text alone: without a companion it is
a person's, and for everybody.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bumble import patterns
from bumble.files import disk
from bumble.text import markdown, merge_marks, words, yaml_edit

FOLDER = "sources"
LEAST = "imported"  # the trust of what has lost its companion
NOTHING = "{}\n"  # the companion of a record that a program wrote, where there is no more to say
KEY = "sources"  # of the front matter of a file of parts: where its companion lies
# What has a companion, by file or folder: kinds whose files have ids, and those named for titles.
BY_ID = frozenset(
    ("episodes", "beliefs", "dreams", "reminders", "automations", "evolution", "questions")
)
BY_TITLE = frozenset(("narrative.md", "relationships", "skills", "topics", "projects"))
_ORIGIN = ("model", "from", "trust")
# The fields that stand there, of whatever kind a record is: what a program keeps of it. All others
# stay in the record.
BESIDE_IT = frozenset(
    (
        *(*_ORIGIN, "fingerprint", "summary_source", "session", "seed", "bypassed", "became"),
        *("significance", "imprints", "soma", "tries", "faded", "inferences", "pairs"),
        *("category", "confidence", "formed", "reinforced", "evidence", "source", "contradicts"),
        "words",
        *("interaction_count", "last_interaction", "last_reflection", "last_scored"),
        *(
            "scores",
            "previous_health",
            "reviewed_at_count",
            "pending",
            "dynamic",
            "topics",
            "unresolved",
            "portrait_source",  # of earlier versions
        ),
        *("lines", "last", "failures", "interactions", "traits", "behaviours", "curiosity"),
    )
)
OF_ID = frozenset(("by", "tags"))  # fields that do only where the file has an id
OF_TITLE = frozenset(("at",))  # and only where it has none
BY_SENTENCE = "by_sentence"  # of a part: what each sentence of it rests on, by its key
FILES = "workspace/"  # files of any form, whose whole begins with the comment
SECTIONS = ("knowledge.md", "journal.md")  # files of parts: a heading each
PARTED = (*SECTIONS, "working/scratch.md", "working/MEMORY.md")  # the last two of a line each
# of a file that nobody made by hand: what a program alone writes
MADE = frozenset(("by", "fingerprint", "interaction_count", "last_interaction", *_ORIGIN))
NAMED_BY_ID = patterns.compile(r"(?s:.*-)?([a-z]+_[0-9A-HJKMNP-TV-Z]{26})")  # the stem of a file
_ENTRY = patterns.compile(r"([A-Za-z_][\w-]*|\"[^\"]*\"|'[^']*')[ \t]*:(?:[ \t\r\n]|\Z)")
_ONLY = patterns.compile(r"[ \t]+\[only for ([^\[\]\r\n]+)\](?=[ \t]*(?:#+[ \t]*)?(?:\r|\n|\Z))")
_END = patterns.compile(r"(?:[ \t]+#+)?[ \t]*(?:(?:\r\n|\r|\n).*)?\Z", re.DOTALL)  # of a heading
COMMENT = patterns.compile(r"<!--[ \t]*(\{.*\})[ \t]*-->")
# the same below a heading, on lines of its own
BELOW = patterns.compile(rf"([\r\n]*){COMMENT.pattern}[ \t]*(?:\r\n|\r|\n|\Z)")
_ITEM = "- "
# between the fields of a record and those that stand beside it
_MARK = patterns.compile(rf"^({re.escape(markdown.BESIDE)}[\r\n]+)", re.MULTILINE)


class RecordFiles(Struct, frozen=True):
    """A record as its two files hold it."""

    text: str
    companion: str | None  # None: it needs none


def place(path: str) -> str | None:
    """Return where the companion of a record lies; None: its kind has none."""
    if path.startswith(FILES):
        return f"{FOLDER}/{path}.yaml"
    has = path in PARTED or path.partition("/")[0] in BY_ID | BY_TITLE
    return f"{FOLDER}/{path.removesuffix('.md')}.yaml" if has and path.endswith(".md") else None


def record_of(path: str) -> str | None:
    """Return the record whose companion a path is; None: it is no companion's."""
    if not path.startswith(f"{FOLDER}/") or not path.endswith(".yaml"):
        return None
    record = path.removeprefix(f"{FOLDER}/").removesuffix(".yaml")
    record = record if record.startswith(FILES) else f"{record}.md"
    return record if place(record) == path else None


def read(root: Path, path: str) -> bytes | None:
    """Return the whole of a record, or the bytes of what is none; None: there is no such file."""
    data = disk.read_if_there(disk.inside(root, path))
    return None if data is None else encoded(joined(path, decoded(data), _beside(root, path)))


def _beside(root: Path, path: str) -> str | None:
    """Return the companion of a record; None: it has none."""
    there = left_behind(root, path) or place(path)
    data = disk.read_if_there(disk.inside(root, there)) if there else None
    return None if data is None else decoded(data)


def left_behind(root: Path, path: str) -> str | None:
    """Return the companion that a record had before somebody renamed or moved its file.

    It has the same id at the end of its name, and no other record to go with.
    """
    beside, match = place(path), NAMED_BY_ID.fullmatch(PurePosixPath(path).stem)
    if beside is None or match is None or (root / beside).exists():
        return None
    top = root / FOLDER / path.partition("/")[0]
    found = (file.relative_to(root).as_posix() for file in top.rglob(f"*{match[1]}.yaml"))
    return next((one for one in found if not (root / (record_of(one) or one)).exists()), None)


def of(file: Path) -> tuple[Path, str]:
    """Return the companion of a record's file, and its text; the record, and nothing: it has none.

    Where somebody renamed the record, the companion is not named.
    """
    root = disk.enclosing(file)
    beside = place(file.relative_to(root).as_posix()) if root is not None else None
    if root is None or beside is None:
        return file, ""
    return root / beside, decoded(disk.read_if_there(root / beside))


def whole(path: str, data: bytes | None, companion: bytes | None) -> bytes | None:
    """Return the whole of a record from the bytes of its two files."""
    if data is None:
        return None
    return encoded(joined(path, decoded(data), None if companion is None else decoded(companion)))


def is_lost(root: Path, path: str) -> bool:
    """Whether a record should have a companion, and has none that can be read."""
    data = disk.read_if_there(disk.inside(root, path))
    if place(path) is None or data is None:
        return False
    there = _beside(root, path)
    if there is not None:
        return _mapping(there) is None
    try:
        document = markdown.parse(decoded(data))
        return KEY in document.meta if path in PARTED else _is_lost(path, document.front)
    except yaml_edit.SourceError:
        return False


def orphans(root: Path) -> list[Path]:
    """Return the companions whose records are not there: somebody removed those."""
    found = sorted((root / FOLDER).rglob("*.yaml"))
    named = [(file, record_of(file.relative_to(root).as_posix())) for file in found]
    alone = [(file, record) for file, record in named if record and not (root / record).exists()]
    return [file for file, record in alone if not _renamed(root, record)]


def _renamed(root: Path, record: str) -> bool:
    """Whether a record that has an id is there under another name, and has no other companion."""
    match = NAMED_BY_ID.fullmatch(PurePosixPath(record).stem)
    here = (root / record.partition("/")[0]).rglob(f"*{match[1]}.md") if match else ()
    return any(left_behind(root, file.relative_to(root).as_posix()) for file in here)


def digest(path: str, data: bytes | None) -> str | None:
    """Return the SHA-256 of what a record says, whichever of its fields stand beside it."""
    if data is None:
        return None
    if place(path) is not None:
        pair = split(path, decoded(data))
        # a field that somebody put in front comes later than one that was always beside it
        beside = "".join(sorted(entry for _, entry in _entries(pair.companion or "")))
        data = encoded(joined(path, pair.text, beside or pair.companion))
    return disk.sha256(data)


def of_file(file: Path, text: str) -> str:
    """Return the whole of a record whose file was read."""
    root = disk.enclosing(file)
    if root is None:
        return text
    path = file.relative_to(root).as_posix()
    return joined(path, text, _beside(root, path))


def parted(
    path: str, data: bytes | None, now: bytes | None = None, beside: bytes | None = None
) -> list[tuple[str, bytes | None]]:
    """Return what the files of a record become, by path.

    Args:
        path: Of the record.
        data: The whole, as it is to be; None: it goes.
        now: Its file as it stands.
        beside: Its companion as it stands.
    """
    companion = place(path)
    if companion is None:
        return [(path, data)]
    if data is None:
        return [(path, None), (companion, None)]
    shown, there = (None if old is None else decoded(old) for old in (now, beside))
    pair = split(path, decoded(data), shown, there)
    new = None if pair.companion is None else encoded(pair.companion)
    return [(path, encoded(pair.text)), (companion, new)]


def decoded(data: bytes | None) -> str:
    """Return the text of a file, whatever its bytes; empty where there is none."""
    return (data or b"").decode(errors="surrogateescape")


def encoded(text: str) -> bytes:
    """Return the bytes of a text that was `decoded`."""
    return text.encode(errors="surrogateescape")


def joined(path: str, text: str, companion: str | None) -> str:
    """Return the whole of a record; a broken one is returned as its file has it."""
    if place(path) is None or merge_marks.line_of(text) is not None:
        return text
    try:
        values = _mapping(companion)
        if path.startswith(FILES):
            return f"{comment(values)}\n{text}" if values else text
        if path in PARTED:
            return _with_origins(path, text, values)
        return _with_fields(path, text, companion if values else None if values is None else "")
    except yaml_edit.SourceError:  # whoever reads it says what is wrong
        return text


def _mapping(companion: str | None) -> Mapping[str, Any] | None:
    """Read a companion; None where there is none that can be read."""
    if companion is None or merge_marks.line_of(companion) is not None:
        return None
    try:
        return yaml_edit.parse_mapping(companion)
    except yaml_edit.SourceError:
        return None


def split(
    path: str, text: str, now: str | None = None, companion: str | None = None
) -> RecordFiles:
    """Return what the two files of a record are to hold.

    Args:
        path: Of the record.
        text: The whole.
        now: Its file as it stands: what a person put there stays there.
        companion: The other, which stays byte for byte where it says the same.
    """
    try:
        if path.startswith(FILES):
            meta, first = commented(text), text.find("\n") + 1
            if not meta or "by" not in meta:  # a person's
                return RecordFiles(text, None)
            return RecordFiles(text[first:], _kept(yaml_edit.dump(meta), companion))
        if path in PARTED:
            return _without_origins(path, text, companion)
        return _without_fields(path, text, now, companion)
    except yaml_edit.SourceError:
        return RecordFiles(text, companion)


def is_made(path: str, text: str) -> bool:
    """Whether a program wrote a file, or some of it."""
    if path in PARTED:
        return COMMENT.search(text) is not None
    return not MADE.isdisjoint(_keys(markdown.parse(text).front))


# Records with front matter


def _with_fields(path: str, text: str, companion: str | None) -> str:
    """Put the fields of the companion behind those of the record, below a line that says so."""
    document = markdown.parse(text)
    own = _keys(document.front)
    if companion is None:
        companion = f"trust: {LEAST}\n" if _is_lost(path, document.front) else ""
    fields = "".join(entry for key, entry in _entries(companion) if key not in own)
    if not fields.strip() or not _is_block(document.front):
        return text
    newline = markdown.newline_of(text)
    fields = f"{markdown.BESIDE}\n{fields.rstrip()}\n".replace("\r\n", "\n").replace("\n", newline)
    if not document.meta_start:
        fence, at = markdown.FENCE + newline, document.body_start
        return f"{text[:at]}{fence}{fields}{fence}{text[at:]}"
    return text[: document.meta_end] + fields + text[document.meta_end :]


def _is_lost(path: str, front: str) -> bool:
    """Whether a program wrote a record, which has no companion and doesn't say the rest itself."""
    own = _keys(front)
    is_made = NAMED_BY_ID.fullmatch(PurePosixPath(path).stem) is not None or "by" in own
    return is_made and own.isdisjoint({*_fields(path)} - {"by"})


def _fields(path: str) -> frozenset[str]:
    return BESIDE_IT | (OF_ID if path.partition("/")[0] in BY_ID else OF_TITLE)


def _is_block(front: str) -> bool:
    """Whether lines can be added to a mapping: it is no `{…}`, and begins in the first column."""
    first = next((line for line in front.splitlines() if line.strip() and line[0] != "#"), "")
    return not first or _ENTRY.match(first) is not None


def _entries(block: str) -> list[tuple[str, str]]:
    """Split a mapping into its keys, each with its lines; comments between them have no key."""
    entries: list[tuple[str, str]] = []
    for line in markdown.lines(block):
        if match := _ENTRY.match(line):
            entries.append((match[1].strip("\"'"), line))
        elif entries and entries[-1][0] and line[0] in " \t-\r\n":
            entries[-1] = (entries[-1][0], entries[-1][1] + line)
        else:
            entries.append(("", line))
    return entries


def _keys(block: str) -> set[str]:
    return {key for key, _ in _entries(block) if key}


def _without_fields(path: str, text: str, now: str | None, companion: str | None) -> RecordFiles:
    """Take the fields that belong beside a record out of its front matter.

    They stand below the line that says so; a new record has them among its own.
    """
    document = markdown.parse(text)
    above, mark, below = (*_MARK.split(document.front, 1), "", "")[:3]
    names = _fields(path)
    moved = names - _put_in_front(now)
    left = "".join(entry for key, entry in _entries(above) if key not in moved)
    left += "".join(entry for key, entry in _entries(below) if key and key not in names)
    beside = "".join(entry for key, entry in _entries(below) if not key or key in names)
    beside += "".join(entry for key, entry in _entries(above) if key in moved)
    beside = beside.replace("\r\n", "\n")
    if not _says_the_same(above + below, left, beside):
        return RecordFiles(text.replace(mark, "", 1), None)  # lines of a form that nobody can move
    head, body = text[: document.meta_start], text[document.body_start :]
    shown = head + left + text[document.meta_end :]
    if document.meta_start and not left:  # all of it stands beside it: no fences are left
        shown = head.rstrip("\r\n").removesuffix(markdown.FENCE)
        shown += body.lstrip("\r\n") if above else body
    if not beside and _is_lost(path, left):
        return RecordFiles(shown, NOTHING)
    return RecordFiles(shown, _kept(beside, companion))


def _put_in_front(now: str | None) -> set[str]:
    """Return the keys in front of a record as it stands: a hand may have put them there."""
    with suppress(yaml_edit.SourceError):  # one that can't be read is about to be mended
        return _keys(markdown.parse(now or "").front)
    return set()


def _says_the_same(whole: str, *parts: str) -> bool:
    with suppress(yaml_edit.SourceError):
        front, beside = map(yaml_edit.parse_mapping, parts)
        return {**front, **beside} == yaml_edit.parse_mapping(whole)
    return False


def _kept(new: str, old: str | None) -> str | None:
    """Return a companion's text; the old one where it says the same, comments included."""
    if not new.strip():
        return None
    return old if old is not None and _mapping(old) == yaml_edit.parse_mapping(new) else new


# Files of parts


def comment(meta: Mapping[str, Any], *, inserted: bool = False) -> str:
    """Write where a part comes from."""
    return f"<!--{inline(meta)}-->" if inserted else f"<!-- {inline(meta)} -->"


def inline(meta: Mapping[str, Any]) -> str:
    """Write a mapping on one line that ends no comment."""
    text = yaml_edit.inline(meta)
    if "--" in text or ">" in text:
        text = json.dumps(meta).replace("-", r"\u002d").replace(">", r"\u003e")
    return text


def commented(text: str) -> Mapping[str, Any] | None:
    """Read the comment that a text begins with; None where it is none of that kind."""
    match = COMMENT.match(text)
    return None if match is None else _mapping(match[1])


def _with_origins(path: str, text: str, origins: Mapping[str, Any] | None) -> str:
    """Put what the companion says of each part below its heading, or behind its line."""
    lost = origins is None and KEY in markdown.parse(text).meta
    entries = {key: said for key, said in (origins or {}).items() if key and isinstance(said, dict)}
    same = {disk.same_name(key): key for key in entries if path in SECTIONS}
    parts, pieces = _parts(path, text), list[str]()
    left = entries.keys() - {key for part in parts for key in (part.key, part.name)}
    for part in parts:
        keys = (part.key, part.name, same.get(disk.same_name(part.name)) if same else None)
        said: Mapping[str, Any] = next(
            (entries[key] for key in keys if key in entries),
            _renamed_part(part, [entries[key] for key in sorted(left)]),
        )
        if lost and part.name and not (part.is_locked or part.meta.keys() - {"audience"}):
            said = {"trust": LEAST}
        meta = {**said, **part.meta}
        pieces.append(part.whole(meta) if part.is_marked or meta != part.meta else part.text)
    return "".join(pieces)


def _renamed_part(part: _Part, left: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the origin of a part whose heading a hand changed: its sentences are known by it."""
    told = words.sentences(words.unwrapped(part.rest)) if part.name else []
    there = {sentence_key(one) for one in told}
    named = (one for one in left if len(there & {*(one.get(BY_SENTENCE) or ())}) * 2 > len(there))
    return next(named, {})


def _without_origins(path: str, text: str, companion: str | None) -> RecordFiles:
    parts = _parts(path, text)
    names = Counter(part.name for part in parts)
    found, pieces = dict[str, Any](), list[str]()
    for part in parts:
        meta = dict(part.meta)
        pieces.append(part.shown(tuple(meta.pop("audience", ()) or ())))
        if meta:
            found[part.name if names[part.name] == 1 else part.key] = yaml_edit.Row(meta)
    shown = _pointed("".join(pieces), place(path) or "", needed=bool(found))
    return RecordFiles(shown, _kept(yaml_edit.dump(found), companion))


def _parts(path: str, text: str) -> list[_Part]:
    """Split a file into its parts; of two that say one thing the second has another key."""
    parts, seen = list[_Part](), Counter[str]()
    for part in _sectioned(text) if path in SECTIONS else _lined(text):
        key = f"{part.name} {key_of(part.rest)}"
        seen[key] += 1
        parts.append(replace(part, key=key if seen[key] == 1 else f"{key} {seen[key]}"))
    return parts


def closed(path: str, text: str, *, pointed: bool) -> str:
    """Return a file of sections as its file shows it.

    Args:
        path: Of the file.
        text: With comments that say who may meet a section, and nothing else.
        pointed: Whether its front matter says where its companion lies.
    """
    return _pointed(split(path, text).text, place(path) or "", needed=pointed)


def only_for(title: str) -> tuple[str, tuple[str, ...]]:
    """Split a title into what it says, and who alone may meet its section by the mark behind it."""
    mark = _ONLY.search(title)
    people = mark[1].split(",") if mark else ()
    return _ONLY.sub("", title, count=1), tuple(name.strip() for name in people)


def is_marked(text: str) -> bool:
    """Whether a section says in its heading who alone may meet it: the form of a file."""
    return any(_ONLY.search(line) for line in text.splitlines() if line.startswith("#"))


def _pointed(text: str, companion: str, *, needed: bool) -> str:
    """Have the front matter of a file say where its companion lies, if it needs one."""
    document = markdown.parse(text)
    if needed and document.meta.get(KEY) != companion:
        return document.with_meta(KEY, value=companion).text
    if not needed and KEY in document.meta:
        if set(document.meta) == {KEY}:
            return text[document.body_start :].lstrip("\r\n")
        return document.without_meta(KEY).text
    return text


class _Part(Struct, frozen=True):
    """A part of a file: its heading, or its line, where it comes from, and the rest of it."""

    text: str  # byte for byte
    name: str = ""  # what it is known by: its heading without marks, or its words
    head: str = ""  # up to where the comment stands, byte for byte, without who may meet it
    note: str = ""  # the comment, with its line end below a heading
    rest: str = ""
    meta: Mapping[str, Any] = {}  # what the comment says, and the mark of who alone may meet it
    is_marked: bool = False  # whether there is such a mark
    is_locked: bool = False
    # what its origin is kept under where another has its name, too: by the words below it
    key: str = ""

    def whole(self, meta: Mapping[str, Any]) -> str:
        """Return the part with its origin in it."""
        note = comment(meta, inserted=not self.note or self.note.startswith("<!--{"))
        if self._is_line:
            return f"{self.head.rstrip(' ')} {note}{self.rest}"
        newline = markdown.newline_of(self.head)
        head = self.head if self.head.endswith(("\r", "\n")) else self.head + newline
        return f"{head}{note}{newline}{self.rest}"

    def shown(self, only: tuple[str, ...]) -> str:
        """Return the part as its file shows it: with a mark of who alone may meet it."""
        if not only:
            return (self.head.rstrip(" ") if self._is_line and self.note else self.head) + self.rest
        if any(re.search(r"[,\[\]\r\n]|^\s|\s$", who) for who in only):
            return self.whole({"audience": list(only)})
        end = _END.search(self.head)
        at = end.start() if end else len(self.head)
        tail = self.head[at:] if self.head[at:].strip(" ") else ""
        return f"{self.head[:at]} [only for {', '.join(only)}]{tail}{self.rest}"

    @property
    def _is_line(self) -> bool:
        return self.head.startswith(_ITEM)


def key_of(text: str) -> str:
    """Return what a text is known by, however its words are spaced: `h` and 12 digits."""
    return "h" + hashlib.sha256(" ".join(text.split()).encode(errors="replace")).hexdigest()[:12]


def sentence_key(sentence: str) -> str:
    """Return what a sentence is known by, as an item of a list too."""
    return key_of(sentence.lstrip("-*+ "))


def _sectioned(text: str) -> Iterator[_Part]:
    """Split a file at its headings; what stands before the first is a part without a name."""
    start = markdown.parse(text).body_start
    preamble, sections = markdown.sections(text[start:])
    yield _Part(text[:start] + preamble, head=text[:start] + preamble)
    for one in sections:
        (head, only), (title, _) = only_for(one.heading), only_for(one.title)
        own, note = one.source[len(one.heading) :], ""
        match = BELOW.match(own)
        said = _mapping(match[2]) if match else None
        if match and said is not None:
            head, note = head + match[1], own[len(match[1]) : match.end()]
            own = own[match.end() :]
        locked = re.match(r"\s*\\?\[\s*locked", title, re.IGNORECASE) is not None
        meta = _marked(said or {}, only)
        yield _Part(one.source, title.strip(), head, note, own, meta, bool(only), locked)


def _lined(text: str) -> Iterator[_Part]:
    for line in markdown.lines(text):
        if not line.startswith(_ITEM):
            yield _Part(line, head=line)
            continue
        end = line.rstrip("\r\n")
        at = end.rfind("<!--")
        said = commented(end[at:]) if at >= 0 else None
        words, note = (end[:at], end[at:]) if said is not None else (end, "")
        words, only = only_for(words)
        head = words.rstrip(" ") if only and not note else words
        meta = _marked(said or {}, only)
        yield _Part(line, key_of(words), head, note, line[len(end) :], meta, bool(only))


def _marked(meta: Mapping[str, Any], only: tuple[str, ...]) -> Mapping[str, Any]:
    """Return what is said of a part, its mark included."""
    return {**meta, "audience": list(only)} if only else meta
