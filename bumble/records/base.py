"""What every kind of record shares: ids, typed fields, provenance, loading a file; YAML mappings.

A record is a frozen struct that keeps the `Document` it was read from; an edit gives a new
record whose document differs in the lines it changes, and in no others.
"""

from __future__ import annotations

import hashlib
import math
import os
import random
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from difflib import get_close_matches
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from bumble.entity import changes, companions
from bumble.errors import HalfMergedError, RecordInvalidError, UnsafePathError
from bumble.files import disk
from bumble.text import markdown, merge_marks, moments, stop_words, words, yaml_edit

T = TypeVar("T")

ULID_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_REQUIRED: Any = object()
_KINDS: Mapping[type, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a mapping",
}
TRUSTS = ("owner", "person", "entity", "tool", "imported")  # from the most to the least trusted
SHORTEST_END = 6  # letters of an id that may stand for the whole of it


class Provenance(Struct, frozen=True):
    """Where a text comes from. All empty: a person wrote it into the file, for everyone."""

    by: str = ""  # what wrote it: `distill`, `dream`, `knowledge add`
    model: str = ""
    sources: tuple[str, ...] = ()  # ids of the messages, episodes or dreams it rests on
    trust: str = ""  # one of TRUSTS, or empty
    audience: tuple[str, ...] = ()  # ids of the people who may meet it in a prompt; empty: everyone
    # what each sentence that a program wrote rests on, by `companions.sentence_key`; empty: all of
    # it on `sources`
    said: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def __post_init__(self) -> None:
        if self.trust and self.trust not in TRUSTS:
            raise ValueError(f"`trust` should be one of {', '.join(TRUSTS)}, not `{self.trust}`")

    def meta(self) -> dict[str, Any]:
        """Return the fields as a record holds them, the empty ones left out."""
        values = {
            "by": self.by,
            "model": self.model,
            "from": list(self.sources),
            "trust": self.trust,
            "audience": list(self.audience),
            companions.BY_SENTENCE: {key: list(ids) for key, ids in self.said},
        }
        return {key: value for key, value in values.items() if value}

    def of_sentence(self, sentence: str) -> Provenance:
        """Say where sentences come from; what a program's text had not is a person's own."""
        if not self.said:
            return self
        there = dict(self.said)
        keys = map(companions.sentence_key, words.sentences(words.unwrapped(sentence)))
        ids = [there[key] for key in keys if key in there]
        if not ids:
            return Provenance(audience=self.audience)
        return replace(self, sources=tuple(dict.fromkeys(chain.from_iterable(ids))))

    def reworded(self, before: str, after: str) -> Provenance:
        """Return the same of a text that a program changed here and there, as names are.

        Sentences that stay keep what they rest on, and so do changed ones, in their order; where
        some became one, or are gone, what is changed rests on all of theirs.
        """
        old, new = (words.sentences(words.unwrapped(text)) for text in (before, after))
        stays = [one for one in old if one in new]
        was, changed = (
            [one for one in own if one not in others] for own, others in ((old, new), (new, old))
        )
        there, key = dict(self.said), companions.sentence_key
        rests_on = [there.get(key(one), ()) for one in was]
        if len(was) != len(changed):
            rests_on = [tuple(dict.fromkeys(chain.from_iterable(rests_on)))] * len(changed)
        found = {key(one): there.get(key(one), ()) for one in stays}
        found |= {key(one): ids for one, ids in zip(changed, rests_on, strict=True)}
        return replace(self, said=tuple((one, ids) for one, ids in found.items() if ids))


BY_HAND = Provenance()
ORIGIN_KEYS = ("by", "model", "from", "trust", "audience")  # by which a record holds its values


def provenance(meta: Mapping[str, Any]) -> Provenance:
    """Read where a record comes from."""
    said = meta.get(companions.BY_SENTENCE)
    return Provenance(
        by=field(meta, "by", str, ""),
        model=field(meta, "model", str, ""),
        sources=texts(meta, "from"),
        trust=field(meta, "trust", str, ""),
        audience=texts(meta, "audience"),
        said=tuple((key, texts(said, key)) for key in said) if isinstance(said, dict) else (),
    )


def lowest_trust(trusts: Iterable[str]) -> str:
    """Return the least trusted of some origins: what is derived from them all is worth no more."""
    return max(trusts, key=lambda trust: TRUSTS.index(trust) if trust else 0, default="")


def may_read(audience: Collection[str], readers: Iterable[str]) -> bool:
    """Tell whether all of some people may meet a text in a prompt; no audience is everyone."""
    return not audience or all(reader in audience for reader in readers)


def is_lower(trust: str, other: str) -> bool:
    """Whether a text is less to be trusted than another; one without a tier is a person's own."""
    return TRUSTS.index(trust or TRUSTS[0]) > TRUSTS.index(other or TRUSTS[0])


def plan_edit(
    path: str, before: markdown.Document, after: markdown.Document, why: str
) -> changes.Change | None:
    """Plan to replace what was read; None when nothing differs."""
    return changes.write(path, after.text, before.text, why) if after.text != before.text else None


def with_values(document: markdown.Document, values: Mapping[str, Any]) -> markdown.Document:
    """Return a document with some values of its front matter changed; None takes a key out."""
    for key, value in values.items():
        gone = value is None
        document = document.without_meta(key) if gone else document.with_meta(key, value=value)
    return document


def filled(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record's values without the empty ones."""
    return {key: value for key, value in values.items() if value not in (None, "", [], {}, ())}


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the name a person may have meant; case does not count."""
    spelt = {one.casefold(): one for one in names}
    return next((spelt[one] for one in get_close_matches(name.casefold(), spelt, 1)), None)


def new_id(prefix: str, at: datetime, rng: random.Random) -> str:
    """Make an id that sorts by time and does not collide across clones: `ep_01J…`.

    Source:
        The ULID specification: 48 bits of milliseconds, 80 of chance, in Crockford's base 32.
    """
    return _ulid(prefix, at, rng.randbytes(10))


def stable_id(prefix: str, at: datetime, key: str) -> str:
    """Make the id that something from elsewhere has here, the same however often it is made.

    Args:
        prefix: Of the kind.
        at: When it was; before 1970, as if then.
        key: What it is called where it comes from, unique there.
    """
    return _ulid(prefix, at, hashlib.sha256(key.encode("utf-8", "replace")).digest()[:10])


def _ulid(prefix: str, at: datetime, tail: bytes) -> str:
    milliseconds = max(0, int(at.timestamp() * 1000))
    number = int.from_bytes(milliseconds.to_bytes(6, "big") + tail, "big")
    digits = (ULID_DIGITS[number >> place & 31] for place in range(125, -1, -5))
    return f"{prefix}_{''.join(digits)}"


def time_of(record_id: str) -> datetime | None:
    """Return the time in an id; None if it is not one that a program made."""
    digits = record_id.rpartition("_")[2].upper()
    if len(digits) != 26 or set(digits) - set(ULID_DIGITS):
        return None
    number = 0
    for digit in digits[:10]:
        number = number * 32 + ULID_DIGITS.index(digit)
    try:
        return datetime.fromtimestamp(number / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def told_at(origin: Provenance) -> datetime | None:
    """Return when something was told last that a text rests on; None: that isn't known."""
    return max(filter(None, map(time_of, origin.sources)), default=None)


def is_id(text: str) -> bool:
    """Whether a text can be an id: letters, digits, `_` and `-`, so that it names one file."""
    return re.fullmatch(r"[\w-]+", text) is not None


CUT = "…"  # in a file's name, where a sentence breaks off
MAX_FILE_WORDS = 60  # characters of what a file's name tells


def id_of(stem: str) -> str:
    """Return the id that the stem of a file ends with, behind what it tells; else the stem."""
    match = companions.NAMED_BY_ID.fullmatch(stem)
    return match[1] if match else stem


def file_stem(told: str, record_id: str) -> str:
    """Name a file for what it tells, and its id behind that: `06-the-hairpin-ep_01J…`.

    An id that no program made is a name already. Of what is too long for a name the first clause is
    one; what breaks off within it says so.
    """
    if companions.NAMED_BY_ID.fullmatch(record_id) is None:
        return record_id
    plain = unicodedata.normalize("NFC", re.sub(r"(?<=\w)['’](?=\w)", "", told.casefold()))
    clause = re.split(r"[,;:.!?]\s", plain)[0]
    plain = plain if len(plain) < MAX_FILE_WORDS else clause
    said = re.findall(rf"[^\W_](?:[^\W_]|[{stop_words.MARKS}])*", plain)
    taken = [*said[:1]]
    for word in said[1:]:
        if sum(map(len, taken)) + len(taken) + len(word) >= MAX_FILE_WORDS:
            while taken[-1] in stop_words.WORDS and len(taken) > 1:  # it breaks off at a thing
                taken.pop()
            taken[-1] += CUT
            break
        taken.append(word)
    return "-".join((*(word[:MAX_FILE_WORDS] for word in taken), record_id))


def field(meta: Mapping[str, Any], name: str, kind: type[T], default: T = _REQUIRED) -> T:
    """Return a value of a record, checked for its type.

    Args:
        meta: The record's mapping.
        name: The key.
        kind: `str`, `int`, `float` (an int will do), `bool`, `list`, `dict` or `datetime` (ISO 8601
            text; without an offset it is in the entity's time zone).
        default: What a missing or empty value counts as; without one it is an error.

    Raises:
        ValueError: If it is missing without a default, or of another type.
    """
    value = meta.get(name)
    if value is None:
        if default is _REQUIRED:
            form = _KINDS.get(kind, "a day or a time, such as 2026-05-24 or 2026-05-24T12:00")
            raise ValueError(f"`{name}` is missing: it should be {form}")
        return default
    if kind is datetime:
        return cast("T", moments.read(value, name, moments.HOME.get()))
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:  # JSON may hold a whole number of any length
            number = math.inf
        if not math.isfinite(number):
            raise ValueError(f"`{name}` should be a number that can be calculated with")
        return cast("T", number)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(
            f"`{name}` should be {_KINDS.get(kind, kind.__name__)}, not `{str(value)[:60]}`"
        )
    return value


def unit(meta: Mapping[str, Any], name: str, default: float = _REQUIRED) -> float:
    """Return a number of a record that must lie in [0, 1]."""
    value = field(meta, name, float, default)
    if not 0 <= value <= 1:
        raise ValueError(f"`{name}` should lie between 0 and 1, not {value:g}")
    return value


def texts(meta: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return a list of texts of a record; missing is empty, a single text is a list of one."""
    value = meta.get(name)
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"`{name}` should be a list of texts")
    return tuple(value)


def stamp(at: datetime) -> str:
    """Write a time as records hold it: seconds, with offset."""
    return at.isoformat(timespec="seconds")


def paths(folder: Path, pattern: str) -> list[Path]:
    """Return the files of a folder that match a pattern, in order of their names.

    What a link brings in from outside the folder is passed over: a folder that arrives by clone
    must not put other files of this machine into a prompt. So is what has no name in UTF-8.
    """
    try:
        top = os.path.realpath(disk.settled(folder))
    except UnsafePathError:  # the folder itself is such a link
        return []
    found = [os.fspath(folder)]
    for part in pattern.split("/"):
        found = [path for place in found for path in _matching(place, part, top)]
    return list(map(Path, found))


def _matching(folder: str, pattern: str, top: str) -> Iterator[str]:
    """Yield what lies in a folder under a name of a pattern, and below a top one."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            is_meant = fnmatchcase(entry.name, pattern) and disk.is_text(entry.name)
            if is_meant and (
                not entry.is_symlink() or Path(os.path.realpath(entry.path)).is_relative_to(top)
            ):
                yield entry.path


def read_text(path: Path, *, max_bytes: int = markdown.MAX_BYTES, errors: str = "strict") -> str:
    """Read a file as UTF-8, line ends untouched; of a record, its companion is read with it.

    Args:
        path: The file.
        max_bytes: How large it may be.
        errors: What becomes of bytes that are not UTF-8, as `bytes.decode` has it.

    Raises:
        RecordInvalidError: If it is not UTF-8, too large, half merged, or can't be read.
    """
    return companions.of_file(path, read_shown(path, max_bytes=max_bytes, errors=errors))


def read_shown(path: Path, *, max_bytes: int = markdown.MAX_BYTES, errors: str = "strict") -> str:
    """Read what the file of a record holds itself, as `read_text` does."""
    try:
        data = disk.read(path, most=max_bytes + 1)
        if len(data) > max_bytes:
            size = path.stat().st_size
            told = f"{size / 1e6:.0f} MB; bumble reads such files up to {max_bytes / 1e6:.0f} MB"
            raise RecordInvalidError(path, told)
        text = data.decode(errors=errors)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RecordInvalidError(
            path, f"not UTF-8 text: byte {data[error.start]:#04x}; save it as UTF-8", line
        ) from error
    except OSError as error:
        raise RecordInvalidError(path, f"can't be read: {error.strerror}") from error
    if marks := merge_marks.line_of(text):
        raise HalfMergedError(path, marks)
    return text


def load(
    path: Path,
    parse: Callable[[str, str], T],
    *,
    max_bytes: int = markdown.MAX_BYTES,
    errors: str = "strict",
) -> T:
    """Read the record in a file; its stem is the record's name.

    Raises:
        RecordInvalidError: If the file does not hold such a record, naming file and line.
    """
    return of_text(read_text(path, max_bytes=max_bytes, errors=errors), path, parse)


def of_text(source: str, path: Path, parse: Callable[[str, str], T]) -> T:
    """Read the record in the text of a file.

    Raises:
        RecordInvalidError: If the text does not hold such a record, naming file and line.
    """
    if path.suffix == ".md" and (marks := merge_marks.line_of(source)):
        raise HalfMergedError(path, marks)
    try:
        return parse(source, path.stem)
    except yaml_edit.SourceError as error:
        raise RecordInvalidError(path, error.problem, error.line or 1) from error
    except ValueError as error:
        raise RecordInvalidError(*_place_of(source, path, str(error))) from error


def load_or(file: Path, parse: Callable[[str, str], T], empty: T) -> T:
    """Read the record in a file; one that is not there counts as an empty one.

    Raises:
        RecordInvalidError: If the file does not hold such a record.
    """
    return load(file, parse) if file.exists() else empty


def load_all(paths: Iterable[Path], read: Callable[[Path], T]) -> tuple[list[T], list[Path]]:
    """Return the records that can be read, and the files that can't: one holds up no other."""
    found: list[T] = []
    broken: list[Path] = []
    for path in paths:
        try:
            found.append(read(path))
        except RecordInvalidError:
            broken.append(path)
    return found, broken


def _place_of(source: str, path: Path, problem: str) -> tuple[Path, str, int]:
    """Find file and line of the key that a problem names in backquotes; the first, if none has."""
    key = problem.split("`")[1] if problem.count("`") >= 2 else ""
    try:
        line = markdown.parse(source).line_of(key) if key else None
    except ValueError:
        line = None
    if line is not None or not key:
        return path, problem, line or 1
    # it stands deeper, in a list or in a mapping on one line, or beside the record
    for file, text in ((path, source.partition(markdown.BESIDE)[0]), companions.of(path)):
        if match := re.search(rf"(?<!\w){re.escape(key)}\s*:", text):
            return file, problem, text.count("\n", 0, match.start()) + 1
    return path, problem, 1


class MappingFile(Struct, frozen=True):
    """A YAML file as it was read."""

    values: Mapping[str, Any]
    source: str | None  # the text of the file; None: there was none

    def get(self, *keys: str, default: Any = None) -> Any:
        """Return the value under some keys, or the default where there is none."""
        value: Any = self.values
        for key in keys:
            if not isinstance(value, Mapping) or value.get(key) is None:
                return default
            value = value[key]
        return value

    def line_of(self, problem: str) -> int | None:
        """Return the line of the key that a problem names in backquotes: `bars.social`."""
        keys = problem.split("`")[1].split(".") if problem.count("`") > 1 else []
        return yaml_edit.line_of(self.source or "", keys)


def parse_mapping(source: str, stem: str = "") -> MappingFile:
    """Read a mapping from the text of its file.

    Raises:
        SourceError: If it is not a YAML mapping.
    """
    return MappingFile(yaml_edit.parse_mapping(source), source)


def read_mapping(
    file: Path, parse: Callable[[str, str], MappingFile] = parse_mapping
) -> MappingFile:
    """Read the file; none at all counts as an empty mapping."""
    return load_or(file, parse, MappingFile({}, None))


def edited_mapping(
    old: MappingFile, values: Mapping[str, Any], remove: Iterable[Sequence[str]] = ()
) -> MappingFile:
    """Return the file with some values changed; what is not named stays, byte for byte.

    Args:
        old: As it was read.
        values: What is to differ; a mapping in it goes into the mapping that is there key by key.
        remove: Keys to take out, each a path of keys.
    """
    source = old.source or ""
    for keys in remove:
        source = yaml_edit.remove(source, keys)
    for keys, value in _leaves(values, yaml_edit.parse_mapping(source)):
        source = yaml_edit.set_value(source, keys, value)
    return MappingFile(yaml_edit.parse_mapping(source), source)


def _leaves(
    values: Mapping[str, Any], there: Any, above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in values.items():
        below = there.get(key) if isinstance(there, Mapping) else None
        if isinstance(value, Mapping) and value and isinstance(below, Mapping) and below:
            yield from _leaves(value, below, (*above, key))
        elif value != below or type(value) is not type(below):
            yield (*above, key), value


def plan_mapping(
    path: str,
    old: MappingFile,
    values: Mapping[str, Any],
    why: str,
    remove: Iterable[Sequence[str]] = (),
    *,
    head: str = "",
) -> changes.Change | None:
    """Plan to change some values and leave the rest of the file; None when nothing differs.

    Args:
        path: Of the file.
        old: As it was read.
        values: What is to differ, nested as in the file; lists are replaced as a whole.
        why: For the change set.
        remove: Keys to take out, each a path of keys: `[["affects", "joy"]]`.
        head: What a new file says first, to whoever opens it.
    """
    new = edited_mapping(old, values, remove).source or ""
    if new and old.source is None:
        new = f"# {head}\n{new}"
    return changes.write(path, new, old.source, why) if new != (old.source or "") else None
