"""The commits of an entity's folder: what each touched, and what changed in it: a firmer belief.

The words of a change are those of the kind of its file; what can't be read as a record is shown as
lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import MAXYEAR, UTC, datetime, timedelta, timezone
from pathlib import Path, PurePosixPath

from msgspec import Struct

from bumble import patterns
from bumble.entity import companions
from bumble.entity.changes import Version
from bumble.entity.folder import ENTITY_FILE
from bumble.entity.uncommitted import CYCLE
from bumble.errors import (
    HistoryClosedError,
    HistoryMissingError,
    RecordMissingError,
)
from bumble.files import git
from bumble.records import base, kinds, soma
from bumble.records.kind import changed_lines
from bumble.records.provenance import EVERYTHING, Reader, withheld
from bumble.runtime import audiences

UNDOES = "Undoes"  # the trailer that names the commit an undo took back
FIELDS = ("%H", "%h", "%ad", "%an", "%P", "%s", "%b")
FORMAT = "".join(f"{field}%x00" for field in FIELDS)  # the one sign that no commit can hold
WALK = ("-z", "--no-renames", "--relative", "--no-color", "--encoding=UTF-8", "--date=raw")

_SPECIAL = patterns.compile(r"[][.*+?(){}^$|\\]")  # what git would not take by the letter


class Commit(Struct, frozen=True):
    """One entry of the history."""

    id: str  # the whole hash
    short: str
    at: datetime
    by: str
    parents: tuple[str, ...]
    title: str
    body: tuple[str, ...]  # lines, without the trailers
    trailers: tuple[tuple[str, str], ...]
    touched: tuple[str, ...]  # the files it made, changed or removed, relative to the entity

    @property
    def cycle(self) -> str:
        """What made it: `dream`, `chat`, `knowledge set`; empty if a person did."""
        return self.trailer(CYCLE)

    @property
    def is_merge(self) -> bool:
        """Whether it only brings together what others hold, which are to be taken back then."""
        return len(self.parents) > 1 and not self.cycle

    def trailer(self, name: str) -> str:
        """Return the first value of a trailer; empty without one."""
        return next((value for key, value in self.trailers if key == name), "")


def require(root: Path) -> None:
    """See to it that there is a history.

    Raises:
        HistoryMissingError: If there is none.
        HistoryClosedError: If it belongs to somebody else.
    """
    place = git.at(root)
    if place is None:
        raise HistoryMissingError(root)
    if place.foreign:
        raise HistoryClosedError(root, place.foreign, place.advice)
    answer = place.call("rev-parse", "--verify", "--quiet", "HEAD")
    if answer.code == git.NOT_INSTALLED:
        raise HistoryMissingError(root, "git is not installed here", "Install it, and try again.")
    if answer.code != 0:
        why = answer.why if answer.err else "nothing has been committed yet"
        raise HistoryMissingError(root, why, "It begins with the next change.")


def read(
    root: Path,
    *,
    limit: int | None = None,
    cycle: str = "",
    wanted: Sequence[str] = (),
    since: str = "HEAD",
    options: Sequence[str] = (),
) -> list[Commit]:
    """Return commits that touch the folder, the newest first.

    Args:
        root: Of the entity.
        limit: How many at most.
        cycle: Only those of this kind, or of one whose name begins with it.
        wanted: Only those that touch a file of these pathspecs.
        since: The newest to look at.
        options: Further ones of git's, which choose by what was done to these files; what else
            a commit touched is then left out.

    Raises:
        HistoryUnreadableError: If git gives up.
    """
    # git would look for what the options name in all the files of a commit
    chosen = [*(options or ["--full-diff"])]
    if limit is not None:
        chosen += [f"--max-count={limit}"]
    if cycle:
        named = escaped(" ".join(cycle.split()))  # a line end would begin another pattern
        chosen += ["--extended-regexp", f"--grep=^{CYCLE}: (.* and )?{named}"]
    chosen += [f"--format={FORMAT}", "--name-status", *WALK, since]
    rows = git.answer(root, "log", *chosen, "--", *(wanted or ["."])).split("\0")
    return list(_commits(rows))


def escaped(text: str) -> str:
    """Return an expression that fits a text alone."""
    return _SPECIAL.sub(r"\\\g<0>", text)


def _commits(rows: Sequence[str]) -> Iterator[Commit]:
    """Read what git prints: for each commit its fields, an end, and what it did to which file.

    Records stand in the place of their companions.
    """
    at = 0
    while at + len(FIELDS) < len(rows):
        fields = rows[at : at + len(FIELDS)]
        at += len(FIELDS) + 1
        first = at
        while at + 1 < len(rows) and len(rows[at].strip()) == 1:  # a letter; a hash is longer
            at += 2
        paths = (companions.record_of(path) or path for path in rows[first + 1 : at : 2])
        id_, short, when, by, parents, title, message = fields
        ids, told = tuple(parents.split()), _message(message)
        touched = tuple(dict.fromkeys(paths))
        yield Commit(id_, short, moment(when), by, ids, title, *told, touched)


def moment(raw: str) -> datetime:
    """Read the time of a commit, as git has it: seconds, and the zone; any may stand there."""
    seconds, _, zone = raw.partition(" ")
    try:
        hours, minutes = int(zone[:3]), int(f"{zone[:1]}{zone[3:]}")
        at = datetime.fromtimestamp(int(seconds), timezone(timedelta(hours=hours, minutes=minutes)))
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC)
    return at if at.year < MAXYEAR else datetime.fromtimestamp(0, UTC)


def _message(text: str) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Split a message's body into its lines and the trailers of its last paragraph."""
    parts = text.strip().split("\n\n")
    pairs = [line.partition(": ") for line in parts[-1].splitlines()]
    if not all(colon and " " not in key for key, colon, _ in pairs):
        return tuple(text.strip().splitlines()), ()
    lines = tuple("\n".join(parts[:-1]).strip().splitlines())
    return lines, tuple((key, value) for key, _, value in pairs)


def find(root: Path, name: str) -> Commit:
    """Return the commit of a hash, or of the beginning of one.

    Raises:
        RecordMissingError: If there is none.
    """
    plain = name.strip()
    if plain and not plain.startswith("-"):
        answer = git.call(root, "rev-parse", "--verify", "--quiet", f"{plain}^{{commit}}")
        if answer.code == 0:
            commits = read(root, limit=1, since=answer.text.strip())
            if commits and commits[0].id == answer.text.strip():
                return commits[0]
    raise RecordMissingError("commit", name)


def pathspecs(name: str) -> list[str]:
    """Return what names the file of a record, wherever it lies, by its id or the end of it.

    A few letters, which may be the end of any, are the whole of a name.
    """
    plain = "".join(f"[{char}]" if char in "*?[]\\" else char for char in name)
    plain = f"*{plain}" if len(name) >= base.SHORTEST_END else plain
    return [f":(glob,icase)**/{plain}.*", f":(glob,icase)**/{plain}/**"]


def versions(root: Path, commit: Commit) -> list[Version]:
    """Return the files a commit touched, as they were before it and after."""
    before = commit.parents[0] if commit.parents else "0" * 40
    sides = [wholes(root, commit.touched, rev) for rev in (before, commit.id)]
    return [Version(path, *pair) for path, *pair in zip(commit.touched, *sides, strict=True)]


def wholes(root: Path, paths: Sequence[str], revision: str) -> list[bytes | None]:
    """Return the whole of some records as they were in a commit, each None where it was not."""
    pairs = [(path, companions.place(path) or path) for path in paths]
    data = git.blobs(root, [f"{revision}:./{name}" for pair in pairs for name in pair])
    return [companions.whole(path, data[2 * n], data[2 * n + 1]) for n, path in enumerate(paths)]


def uncommitted(root: Path) -> list[Version]:
    """Return the files that differ from the last commit, new ones included.

    Raises:
        HistoryUnreadableError: If git can't tell.
    """
    changed = git.answer(
        root, "--no-optional-locks", "diff", "--name-only", *WALK, "HEAD", "--", "."
    )
    new = git.answer(root, "ls-files", "--others", "--exclude-standard", "-z", "--", ".")
    names = {*changed.split("\0"), *new.split("\0")} - {""}
    paths = sorted({companions.record_of(name) or name for name in names})
    return [
        Version(path, before, companions.read(root, path) if (root / path).is_file() else None)
        for path, before in zip(paths, wholes(root, paths, "HEAD"), strict=True)
        if (root / path).is_file() or before is not None
    ]


SETTINGS = ("settings", "settings")
WORKSPACE = ("file of the workspace", "files of the workspace")
OTHER = ("file", "files")
# what a file holds, for one and for several, in the order of a list
NAMES = (
    *((kind.file_name, kind.file_name) for kind in kinds.KINDS if kind.file_name),
    SETTINGS,
    *((kind.singular, kind.plural) for kind in kinds.KINDS if not kind.file_name),
    WORKSPACE,
    OTHER,
)
BODY_WORDS = ("body:", "feels ", "no longer feels ")  # what lines begin with that quote nobody


def kind_names(path: str) -> tuple[str, str]:
    """Return what a file holds, for one and for several; the same where there is only one."""
    kind = kinds.of_path(path)
    if kind is not None:
        return (kind.file_name,) * 2 if kind.file_name else (kind.singular, kind.plural)
    if path == ENTITY_FILE:
        return SETTINGS
    return WORKSPACE if path.startswith("workspace/") else OTHER


def list_kinds(paths: Sequence[str]) -> str:
    """Say what some files hold: `1 episode, body, 2 beliefs`."""
    counts = Counter(map(kind_names, paths))
    return ", ".join(
        name[0] if name[0] == name[1] else f"{counts[name]} {name[counts[name] > 1]}"
        for name in sorted(counts, key=NAMES.index)
    )


def describe(version: Version, reader: Reader = EVERYTHING) -> list[str]:
    """Say what changed in a file, one line a change or a few; of the rest that it did."""
    hidden, some = audiences.hides(reader, [version]), audiences.seen(reader, version)
    told = _described(some) if some.before != some.after else []
    if hidden is None:
        return told
    if kinds.of_path(version.path) is soma.SOMA:
        told = [line for line in _described(version) if line.startswith(BODY_WORDS)]
    name = PurePosixPath(audiences.named(version.path, hidden)).stem
    return [*told, f"{kind_names(version.path)[0]} {name}: {withheld(hidden)}"]


def _described(version: Version) -> list[str]:
    before, after = (
        None if data is None else data.decode(errors="replace")
        for data in (version.before, version.after)
    )
    kind, lines = kinds.of_path(version.path), list[str]()
    if kind is not None:
        with suppress(ValueError):  # not such a record, before or after
            lines = list(kind.tell(PurePosixPath(version.path), before, after))
    return lines or list(changed_lines(before, after))
