"""How `log`, `diff`, `undo` and `review` show commits, and how a commit is named."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from bumble.cli import listing, output, people
from bumble.cli.opening import Opened
from bumble.entity import commits, companions
from bumble.entity.changes import Change, Version
from bumble.history import describe
from bumble.history import log as commit_log
from bumble.records import relationships
from bumble.records.provenance import Reader, withheld
from bumble.runtime import audiences


def look(opened: Opened) -> commits.Waiting:
    """See to it that there is a history, and that it holds what was written last.

    Returns:
        What it does not hold yet all the same.

    Raises:
        HistoryMissingError: If there is none.
        HistoryClosedError: If it belongs to somebody else.
    """
    commit_log.require(opened.root)
    timeout = opened.config.limits.lock_timeout_seconds
    return commits.catch_up(opened.root, opened.commit_policy, timeout_seconds=timeout)


def seen(opened: Opened, found: Sequence[commit_log.Commit]) -> list[commit_log.Commit]:
    """Return commits as whoever looks may see them: of some only what made them, and when."""
    reader = listing.reader(opened)
    if not reader.id:
        return list(found)
    return [_seen(each, reader, commit_log.versions(opened.root, each)) for each in found]


def _seen(
    commit: commit_log.Commit, reader: Reader, versions: Sequence[Version]
) -> commit_log.Commit:
    hidden = audiences.hides(reader, versions)
    if hidden is None:
        return commit
    touched = tuple(
        replace(each, path=audiences.named(each.path, audiences.hides(reader, [version])))
        for each, version in zip(commit.touched, versions, strict=True)
    )
    made_by = commit.title.partition(":")[0] if ":" in commit.title else commit.cycle or "commit"
    return replace(commit, title=f"{made_by}: {withheld(hidden)}", body=(), touched=touched)


def commit_data(commit: commit_log.Commit, undone: Collection[str] = ()) -> dict[str, Any]:
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


def commit_line(
    opened: Opened, commit: commit_log.Commit, undone: Collection[str] = ()
) -> list[str]:
    """Return a commit as the cells of a line."""
    holds = describe.list_kinds([file.path for file in commit.touched])
    more = "; ".join(filter(None, [holds, commit.trailer("Model")]))
    marks = " [undone]" if commit.id in undone else ""
    title = output.shorten(commit.title, 70)
    sentence = f"{title}{marks} ({more})" if more else f"{title}{marks}"
    return [commit.short, listing.when(commit.at, opened), sentence]


def pathspecs(opened: Opened, what: str) -> list[str]:
    """Return the pathspecs that a word of the user's stands for: a file, a person, an id."""
    root = opened.root
    for base in (root, opened.shell.cwd):
        place = base / what
        if place.exists() and place.resolve().is_relative_to(root):
            return [f":(literal){place.resolve().relative_to(root).as_posix()}"]
    person = relationships.match(people.everybody(opened).records, what)
    return [f":(literal){relationships.path(person.id)}"] if person else commit_log.pathspecs(what)


def versions_of(opened: Opened, changes: Sequence[Change]) -> list[Version]:
    """Return planned changes as what the files were, and are to be."""
    before = partial(companions.read, opened.root)
    return [Version(change.path, before(change.path), change.data) for change in changes]


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


def action_lines(changes: Sequence[dict[str, Any]]) -> list[str]:
    """Return what changed as lines; the file is named where the lines do not speak of it."""
    shown: list[str] = []
    for change in changes:
        first = next(iter(change["said"]), "")  # none where only blank lines came or went
        plain = change["holds"] in ("file", "settings") or not first
        head = [f"{change['path']}:"] if plain or first[:1] in "@+-" else []
        shown += [f"  {row}" for row in [*head, *change["said"]]]
    return shown
