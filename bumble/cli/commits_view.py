"""How `log`, `diff` and `undo` show a commit, and how a commit is named."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from msgspec.structs import replace

from bumble.cli import listing, output
from bumble.cli.listing import readable, when
from bumble.cli.opening import Opened
from bumble.entity import commits
from bumble.entity.changes import Version
from bumble.entity.commits import Waiting
from bumble.history import describe, log
from bumble.history.log import Commit
from bumble.records import relationships
from bumble.records.provenance import Reader, withheld
from bumble.runtime import audiences


def look(opened: Opened) -> Waiting:
    """See to it that there is a history, and that it holds what was written last.

    Returns:
        What it does not hold yet all the same.

    Raises:
        HistoryMissingError: If there is none.
        HistoryClosedError: If it belongs to somebody else.
    """
    log.require(opened.entity.root)
    timeout = opened.config.limits.lock_timeout_seconds
    return commits.catch_up(opened.entity.root, opened.commit_policy, timeout_seconds=timeout)


def seen(opened: Opened, commits: Sequence[Commit]) -> list[Commit]:
    """Return commits as whoever looks may see them: of some only what made them, and when."""
    reader, root = listing.reader(opened), opened.entity.root
    if not reader.id:
        return list(commits)
    return [_seen(each, reader, log.versions(root, each)) for each in commits]


def _seen(commit: Commit, reader: Reader, versions: Sequence[Version]) -> Commit:
    hidden = audiences.hides(reader, versions)
    if hidden is None:
        return commit
    touched = tuple(
        replace(each, path=audiences.named(each.path, audiences.hides(reader, [version])))
        for each, version in zip(commit.touched, versions, strict=True)
    )
    made_by = commit.title.partition(":")[0] if ":" in commit.title else commit.cycle or "commit"
    return replace(commit, title=f"{made_by}: {withheld(hidden)}", body=(), touched=touched)


def data(commit: Commit, undone: Collection[str] = ()) -> dict[str, Any]:
    """Return a commit as JSON tells it, with the kinds of memories in its files."""
    return {
        "id": commit.short,
        "commit": commit.id,
        "at": commit.at.isoformat(),
        "title": commit.title,
        "cycle": commit.cycle or None,
        "model": commit.trailer("Model") or None,
        "evidence": [value for key, value in commit.trailers if key == "Evidence"],
        "why": list(commit.body),
        "by": commit.by,
        "files": [file.path for file in commit.touched],
        "holds": describe.list_kinds([file.path for file in commit.touched]),
        "undone": commit.id in undone,
    }


def line(opened: Opened, commit: Commit, undone: Collection[str] = ()) -> list[str]:
    """Return a commit as the cells of a line."""
    holds = describe.list_kinds([file.path for file in commit.touched])
    more = "; ".join(filter(None, [holds, commit.trailer("Model")]))
    marks = " [undone]" if commit.id in undone else ""
    title = output.shorten(commit.title, 70)
    sentence = f"{title}{marks} ({more})" if more else f"{title}{marks}"
    return [commit.short, when(commit.at, opened), sentence]


def wanted(opened: Opened, what: str) -> list[str]:
    """Return the pathspecs that a word of the user's stands for: a file, a person, an id."""
    root = opened.entity.root
    for base in (root, opened.shell.cwd):
        place = base / what
        if place.exists() and place.resolve().is_relative_to(root):
            return [f":(literal){place.resolve().relative_to(root).as_posix()}"]
    folder = opened.entity.relationships
    ids = {path.stem: path for path in relationships.paths(folder)}
    listing = readable(
        opened, list(ids.values()), lambda path: relationships.find(folder, path.stem)
    )
    person = relationships.match(listing.records, what)
    return [f":(literal){relationships.path(person.id)}"] if person else log.pathspecs(what)


def actions(versions: Sequence[Version], reader: Reader) -> list[dict[str, Any]]:
    """Return what changed in some files as data, as far as a reader may see it."""
    return [
        {
            "path": audiences.named(version.path, audiences.hides(reader, [version])),
            "holds": describe.kind_names(version.path)[0],
            "action": _action(version),
            "said": describe.describe(version, reader),
        }
        for version in versions
        if version.before != version.after
    ]


def _action(version: Version) -> str:
    if version.before is None:
        return "make"
    return "remove" if version.after is None else "change"


def lines(changes: Sequence[dict[str, Any]]) -> list[str]:
    """Return what changed as lines; the file is named where the lines do not speak of it."""
    shown: list[str] = []
    for change in changes:
        first = next(iter(change["said"]), "")  # none where only blank lines came or went
        plain = change["holds"] in ("file", "settings") or not first
        head = [f"{change['path']}:"] if plain or first[:1] in "@+-" else []
        shown += [f"  {row}" for row in [*head, *change["said"]]]
    return shown
