"""`bumble log`, `diff`, `undo`, `why`: what became part of an entity, and where it comes from."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import PurePosixPath
from typing import Annotated, Any

import typer
from msgspec.structs import replace

from bumble.cli import command, listing, opening, output, people, writing
from bumble.entity import commits
from bumble.entity.changes import Version, wholes
from bumble.errors import RecordMissingError, RefusedError, UsageError
from bumble.history import log as commit_log
from bumble.history import lookup
from bumble.history import undo as undoing
from bumble.history import why as explaining
from bumble.jobs import tick
from bumble.records import kinds, relationships, sessions
from bumble.records.provenance import Reader, withheld
from bumble.runtime import audiences
from bumble.text import words


def look(opened: opening.Opened) -> commits.Waiting:
    """See to it that there is a history, and that it holds what was written last.

    Returns:
        What it does not hold yet all the same.

    Raises:
        HistoryMissingError: If there is none.
        HistoryClosedError: If it belongs to somebody else.
    """
    commit_log.require(opened.root)
    return commits.catch_up(
        *(opened.root, opened.commit_policy),
        timeout_seconds=opened.config.limits.lock_timeout_seconds,
    )


def seen(opened: opening.Opened, found: Sequence[commit_log.Commit]) -> list[commit_log.Commit]:
    """Return commits as whoever looks may see them: of some only what made them, and when."""
    reader = listing.reader(opened)
    if not reader.id:
        return list(found)
    return [_seen(each, reader, commit_log.versions(opened.root, each)) for each in found]


def _seen(
    commit: commit_log.Commit, reader: Reader, versions: Sequence[Version]
) -> commit_log.Commit:
    if (hidden := audiences.hides(reader, versions, lines=False)) is None:
        return commit
    touched = tuple(
        audiences.named(path, audiences.hides(reader, [version]))
        for path, version in zip(commit.touched, versions, strict=True)
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
        "files": list(commit.touched),
        "holds": commit_log.list_kinds(commit.touched),
        "undone": commit.id in undone,
    }


def commit_line(
    opened: opening.Opened, commit: commit_log.Commit, undone: Collection[str] = ()
) -> list[str]:
    """Return a commit as the cells of a line."""
    told = sentence(commit.title, commit.touched, commit.trailer("Model"))
    marks = " [undone]" if commit.id in undone else ""
    return [commit.short, listing.when(commit.at, opened), f"{told}{marks}"]


def sentence(title: str, paths: Sequence[str], model: str) -> str:
    """Say what a commit is, or would be: its title, what it holds, and who wrote that."""
    more = "; ".join(filter(None, [commit_log.list_kinds(paths), model]))
    return f"{output.shorten(title, 70)} ({more})" if more else output.shorten(title, 70)


def pathspecs(opened: opening.Opened, what: str) -> tuple[list[str], bool]:
    """Return the pathspecs that a word of the user's stands for, and whether it is there.

    It may be a file, a person or an id, of which it is not known whether there is such a record.
    """
    root = opened.root
    for base in (root, opened.shell.cwd):
        place = base / what
        if place.exists() and place.resolve().is_relative_to(root):
            return [f":(literal){place.resolve().relative_to(root).as_posix()}"], True
    if person := relationships.match(people.everybody(opened).records, what):
        return [f":(literal){relationships.PERSON.path(person.id)}"], True
    return commit_log.pathspecs(what), False


def actions(versions: Sequence[Version], reader: Reader) -> list[dict[str, Any]]:
    """Return what changed in some files as data, as far as a reader may see it."""
    return [
        {
            "path": audiences.named(version.path, audiences.hides(reader, [version])),
            "holds": commit_log.kind_names(version.path)[0],
            "action": writing.action(version.before, version.after),
            "said": commit_log.describe(version, reader),
        }
        for version in _renamed(versions)
        if version.before != version.after
    ]


def _renamed(versions: Sequence[Version]) -> Iterator[Version]:
    """Yield what changed in some files; a record whose file was named anew is one change."""
    gone = {_id_of(each.path): each for each in versions if each.after is None}
    come = {_id_of(each.path) for each in versions if each.before is None}
    for each in versions:
        old = gone.get(_id_of(each.path)) if each.before is None else None
        if old is not None:
            yield Version(each.path, old.before, each.after)
        elif each.after is not None or _id_of(each.path) not in come:
            yield each


def _id_of(path: str) -> str:
    """Return the id of a record that has one, else the path itself."""
    kind = kinds.of_path(path)
    return kind.stem(PurePosixPath(path)) if kind is not None and kind.prefix else path


def action_lines(changes: Sequence[dict[str, Any]]) -> list[str]:
    """Return what changed as lines; the file is named where the lines do not speak of it."""
    shown: list[str] = []
    for change in changes:
        first = next(iter(change["said"]), "")  # none where only blank lines came or went
        plain = change["holds"] in ("file", "settings") or not first
        head = [f"{change['path']}:"] if plain or first[:1] in "@+-" else []
        shown += [f"  {row}" for row in [*head, *change["said"]]]
    return shown


LINES_SHOWN = 60  # of what an undo changes; an import is long
PASSED_SHOWN = 5


@command.shows
def log(
    opened: opening.Opened,
    what: Annotated[
        str | None,
        typer.Argument(metavar="[WHAT]", help="Only what touched this file, id or person."),
    ] = None,
    *,
    cycle: Annotated[
        str, typer.Option(metavar="NAME", help="Only what this made: dream, distill, chat, …")
    ] = "",
    limit: command.LimitOption = 20,
) -> None:
    """Show what became part of the entity, and when."""
    look(opened)
    if failing := tick.failing(opened.entity.runs, opened.zone):
        output.warn(opened.shell, failing)
    (wanted, is_there), root = pathspecs(opened, what) if what else ([], True), opened.root
    found = seen(opened, commit_log.read(root, limit=limit, cycle=cycle, wanted=wanted))
    if what and not (found or cycle or is_there):
        raise RecordMissingError("record, file or person with a history", what)
    undone = undoing.taken_back(commit_log.read(root, cycle=undoing.UNDO))
    line, data = partial(commit_line, opened, undone=undone), partial(commit_data, undone=undone)
    listing.show_list(
        opened, "log", listing.Listing(tuple(found)), data, line, "Nothing in the history fits."
    )


@command.shows
def diff(
    opened: opening.Opened,
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[WHAT]",
            help="A commit, `last`, or a file, id or person: the last commit that touched it. "
            "Default: what is not committed yet.",
        ),
    ] = None,
) -> None:
    """Show what changed, in memories rather than lines."""
    look(opened)
    meant = [_meant(opened, what)] if what else []
    versions = [one for each in meant for one in commit_log.versions(opened.root, each)]
    rows = actions(
        versions if meant else commit_log.uncommitted(opened.root), listing.reader(opened)
    )
    shown = seen(opened, meant)
    head = [" ".join(commit_line(opened, each)) for each in shown]
    data = {"commit": commit_data(shown[0]) if shown else None, "changes": rows}
    output.result(opened.shell, "diff", data, [*head, *action_lines(rows)])
    if not (meant or rows):
        output.say("Nothing has changed since the last commit; `bumble diff last` shows that one.")


def _meant(opened: opening.Opened, what: str) -> commit_log.Commit:
    """Return the commit that a word of the user's stands for.

    Raises:
        RecordMissingError: If there is none.
    """
    if what != listing.LAST:
        with suppress(RecordMissingError):
            return commit_log.find(opened.root, what)
    wanted = [] if what == listing.LAST else pathspecs(opened, what)[0]
    if not (found := commit_log.read(opened.root, limit=1, wanted=wanted)):
        raise RecordMissingError("commit, record or person", what)
    return found[0]


@command.writes
def undo(
    opened: opening.Opened,
    what: Annotated[
        str | None,
        typer.Argument(metavar="[ID]", help="A commit, as `bumble log` shows it, or a record."),
    ] = None,
    *,
    last: Annotated[
        bool, typer.Option("--last", help="The newest change; conversations are passed over.")
    ] = False,
    cycle: Annotated[
        str, typer.Option(metavar="NAME", help="The newest of this kind: stretch, dream, …")
    ] = "",
    force: Annotated[
        bool, typer.Option("--force", help="Take back what came of a conversation, too.")
    ] = False,
    dry_run: command.DryRunOption = False,
) -> None:
    """Take back one change.

    Its files become what they were, in a commit of its own. What was written to them since stays,
    or the undo is refused with exit code 13. Conversations stay word for word, but for those that
    an import brought.
    """
    if sum((what is not None, last, bool(cycle))) != 1:
        raise UsageError("Say what to undo: an ID from `bumble log`, --last, or --cycle NAME.")
    waiting, root = look(opened), opened.root
    chosen = undoing.choose(root, what, last=last, cycle=cycle, waiting=waiting)
    over = undoing.passed_over(root, chosen) if last else []
    shown = seen(opened, [commit for commit, _ in over])
    passed = [(commit, why) for commit, (_, why) in zip(shown, over, strict=True)]
    hand = next((commit for commit, _ in passed if not (commit.cycle or commit.is_merge)), None)
    if hand:
        raise RefusedError(
            f'Newer is "{hand.title}" ({hand.short}), which bumble did not make.\n'
            f"`git -C {shlex.quote(str(root))} revert {hand.short}` takes that back; "
            f"`bumble undo {chosen.short}` what bumble did last."
        )
    if gone := next((commit for commit, why in passed if why == undoing.FORGOTTEN), None):
        raise RefusedError(
            f'Newer is "{gone.title}" ({gone.short}), which --last takes for no change.\n'
            f"`bumble undo {gone.short}` brings back who was forgotten; "
            f"`bumble undo {chosen.short}` takes back what was changed before."
        )
    plan = undoing.plan(root, chosen, force=force)
    changes = plan.change_set.changes
    rows = actions(wholes(root, changes), listing.reader(opened))
    if changes and not dry_run:
        # what comes back may be what a pull once brought
        writing.apply(opened, plan.change_set, trusts=False)
    (undone,) = seen(opened, [chosen])
    title = f'"{undone.title}" ({undone.short})'
    data = {
        "changed": bool(changes) and not dry_run,
        "dry_run": dry_run,
        "undoes": commit_data(undone),
        "changes": rows,
        "stays": list(plan.stays),
        "passed_over": [commit_data(newer) | {"why": why} for newer, why in passed],
    }
    told = list(action_lines(rows))
    more = [f"  and {len(told) - LINES_SHOWN} lines more"] if len(told) > LINES_SHOWN else []
    lines = (
        [f"Would undo {title}:" if dry_run else f"Undid {title}:", *told[:LINES_SHOWN], *more]
        if changes
        else [f"Nothing of {title} is to be taken back."]
    )
    output.result(opened.shell, "undo", data, lines)
    for newer, why in passed[:PASSED_SHOWN]:
        output.say(f'passed over: "{newer.title}" ({newer.short}): {why}')
    if len(passed) > PASSED_SHOWN:
        output.say(f"passed over: {len(passed) - PASSED_SHOWN} more, as `bumble log` shows them")
    for kept_file in plan.stays:
        output.say(f"left as it is: {kept_file}")
    if changes and dry_run:
        output.say("Nothing was written: --dry-run.")


GONE = "not here any more: forgotten, or not merged yet"
COMMIT_CHARS = 10
MOST_NAMED = 4
NAMED_BY_WORDS = ("knowledge", *audiences.NAMED_BY_WORDS)  # what their ids are made of


@command.shows
def why(
    opened: opening.Opened,
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="WHAT",
            help="An id, a beginning or an end of one, a title, a name, a time; or words that "
            "something says.",
        ),
    ],
    *,
    kind: Annotated[
        str | None, typer.Option("--kind", metavar="KIND", help="What kind of record is meant.")
    ] = None,
) -> None:
    """Show where something it holds comes from.

    A belief, a section of knowledge, a portrait and its notes, an episode, a dream, an entry of the
    journal, the narrative, a skill, a topic, a project, a line of working memory, a message: who or
    what wrote it, and all it rests on, down to the words that were said. Of a
    sentence, the messages that say it: the nearest first.
    """
    query = writing.text_of(what)
    kind = kind and listing.choice("kind of record", kind, lookup.KINDS)
    shelf = lookup.Library(opened.entity, name=opened.identity.name, zone=opened.zone)
    viewer = listing.Viewer(opened)
    item, *others = _explained(shelf, query, kind, viewer)
    node = _seen_node(viewer, explaining.explain(shelf, item))
    data = {
        **_data(node),
        "missing": list(node.missing),
        "also_in": [{"kind": other.kind, "id": other.id} for other in others],
    }
    output.result(opened.shell, "why", data, list(_tree(opened, viewer, node)))
    if others:
        names = output.few([f"{other.kind} {other.id}" for other in others], MOST_NAMED)
        output.say(f"The words stand in {names}, too: --kind chooses.")
    if node.missing:
        verb = "is" if len(node.missing) == 1 else "are"
        output.say(f"{words.counted(len(node.missing), 'source')} {verb} {GONE}.")


def _seen_node(viewer: listing.Viewer, node: explaining.SourceNode) -> explaining.SourceNode:
    """Return a record with what it rests on, each as it may be seen, and as its commits may."""
    item, origin = node.item, node.item.origin
    named = item.id if item.kind in NAMED_BY_WORDS else ""
    path = viewer.named(item.path, origin)
    seen = replace(viewer.seen(item), path=path, id=viewer.text(named, origin) or item.id)
    edits = {
        name: edit and replace(edit, title=viewer.text(edit.title, origin))
        for name, edit in (("written", node.written), ("changed", node.changed))
    }
    below = tuple(_seen_node(viewer, each) for each in node.rests_on)
    return replace(node, item=seen, rests_on=below, **edits)


def _explained(
    shelf: lookup.Library, query: str, kind: str | None, viewer: listing.Viewer
) -> list[lookup.LibraryRecord]:
    """Return the record that is meant, or those that hold the sentence."""
    try:
        return [shelf.look_up(query, kind, viewer.may_see)]
    except RecordMissingError:
        if not (records := explaining.find(shelf, query, kind, viewer.may_see)):
            raise
    return records


def _tree(
    opened: opening.Opened,
    viewer: listing.Viewer,
    node: explaining.SourceNode,
    first: str = "",
    rest: str = "",
) -> Iterator[str]:
    """Draw a record and what it rests on; the lines below the first are set in by `rest`."""
    yield f"{first}{_head(opened, node)}"
    bar = "│ " if node.rests_on else "  "
    for line in _body(opened, viewer, node, whole=not first or node.item.kind == "message"):
        yield f"{rest}{bar}{line}".rstrip()
    for n, below in enumerate(node.rests_on, 1):
        last = n == len(node.rests_on)
        head, inner = f"{rest}{'└─' if last else '├─'} ", f"{rest}{'   ' if last else '│  '}"
        yield from _tree(opened, viewer, below, head, inner)


def _head(opened: opening.Opened, node: explaining.SourceNode) -> str:
    item = node.item
    if not node.resolved:
        return f"{item.id}: {GONE}"
    when = listing.when(item.at, opened) if item.at else ""
    place = f"{item.path}:{item.line}" if item.line else item.path
    return "  ".join(filter(None, (f"{item.kind} {item.id}", when, place)))


def _body(
    opened: opening.Opened, viewer: listing.Viewer, node: explaining.SourceNode, *, whole: bool
) -> Iterator[str]:
    """Tell what stands in a record, and who or what wrote it."""
    item = node.item
    if not node.resolved:
        return
    if node.again:
        yield f"{output.shorten(item.text)} (told above)"
        return
    text = item.sentence or (item.text if whole else output.shorten(item.text, 160))
    who = f"{item.speaker}: " if item.speaker else ""
    yield from f"{who}{text}".splitlines()
    told = (
        "written by hand" if item.by_hand else "",
        viewer.origin(item.origin),
        sessions.told_origin(item.imported) if item.imported else "",
    )
    yield from (f"  {part}" for part in told if part)
    for verb, edit in (("committed", node.written), ("last changed", node.changed)):
        if edit:
            when = listing.when(edit.at, opened)
            yield f"  {verb} {when} by {edit.by} as {edit.id[:COMMIT_CHARS]}: {edit.title}"
            yield from (f"    {key}: {value}" for key, value in edit.trailers)


def _data(node: explaining.SourceNode) -> dict[str, Any]:
    item = node.item
    return {
        **item.data(),
        "resolved": node.resolved,
        "sentence": item.sentence or None,
        "audience": list(item.origin.audience),
        "by_hand": node.resolved and item.by_hand,
        "again": node.again,
        "written": _edit_data(node.written),
        "changed": _edit_data(node.changed),
        "rests_on": [_data(below) for below in node.rests_on],
    }


def _edit_data(edit: commit_log.Commit | None) -> dict[str, Any] | None:
    return (
        None
        if edit is None
        else {
            "commit": edit.id,
            "at": edit.at.isoformat(),
            "author": edit.by,
            "subject": edit.title,
            "trailers": [list(pair) for pair in edit.trailers],
        }
    )
