"""`bumble why`: where something the entity holds comes from, down to what was said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer
from msgspec.structs import replace

from bumble.cli import listing, output
from bumble.cli.command import shows
from bumble.cli.opening import Opened
from bumble.errors import RecordMissingError, UsageError
from bumble.history import lookup
from bumble.history import why as explaining
from bumble.history.log import Commit
from bumble.runtime import audiences

GONE = "not here any more: forgotten, or not merged yet"
COMMIT_CHARS = 10
MOST_NAMED = 4
NAMED_BY_WORDS = ("knowledge", *audiences.NAMED_BY_WORDS)  # what their ids are made of


@shows
def why(
    opened: Opened,
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="WHAT",
            help="An id, a beginning or an end of one, a title, a name, a time; words of a "
            "sentence; or NAME:LINE, a line of a portrait, or PATH:LINE.",
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
    query = " ".join(what).strip()
    if not query:
        raise UsageError("There is nothing to look for: the id is empty.")
    if kind is not None and kind not in lookup.KINDS:
        near = listing.missing("kind of record", kind, lookup.KINDS)
        raise UsageError(f"{near}\nThere are {', '.join(lookup.KINDS)}.")
    shelf = lookup.Library(opened.entity, name=opened.identity.name, zone=opened.zone)
    viewer = listing.Viewer(opened)
    item, *others = _meant(shelf, query, kind, viewer)
    node = _seen(viewer, explaining.explain(shelf, item, explaining.GitHistory(opened.entity.root)))
    data = {
        **_data(node),
        "missing": list(node.missing),
        "also_in": [{"kind": other.kind, "id": other.id} for other in others],
    }
    output.result(opened.shell, "why", data, list(_tree(opened, node)))
    if others:
        names = ", ".join(f"{other.kind} {other.id}" for other in others[:MOST_NAMED])
        more = ", …" if len(others) > MOST_NAMED else ""
        output.say(f"The words stand in {names}{more}, too: --kind chooses.")
    if node.missing:
        verb = "is" if len(node.missing) == 1 else "are"
        output.say(f"{listing.counted(len(node.missing), 'source')} {verb} {GONE}.")


def _seen(viewer: listing.Viewer, node: explaining.SourceNode) -> explaining.SourceNode:
    """Return a record with what it rests on, each as it may be seen, and as its commits may."""
    item, origin = node.item, node.item.origin
    named = item.id if item.kind in NAMED_BY_WORDS else ""
    path = audiences.named(item.path, None if viewer.may_see(origin) else origin)
    seen = replace(viewer.seen(item), path=path, id=viewer.text(named, origin) or item.id)
    edits = {
        name: edit and replace(edit, title=viewer.text(edit.title, origin))
        for name, edit in (("written", node.written), ("changed", node.changed))
    }
    below = tuple(_seen(viewer, each) for each in node.rests_on)
    return replace(node, item=seen, rests_on=below, **edits)


def _meant(
    shelf: lookup.Library, query: str, kind: str | None, viewer: listing.Viewer
) -> list[lookup.LibraryRecord]:
    """Return the record that is meant, or those that hold the sentence."""
    try:
        return [shelf.look_up(query, kind)]
    except RecordMissingError:
        found = explaining.find(shelf, query, kind)
        records = [record for record in found if viewer.may_see(record.origin)]
        if not records:
            raise
    return records


def _tree(
    opened: Opened, node: explaining.SourceNode, first: str = "", rest: str = ""
) -> Iterator[str]:
    """Draw a record and what it rests on; the lines below the first are set in by `rest`."""
    yield f"{first}{_head(opened, node)}"
    bar = "│ " if node.rests_on else "  "
    for line in _body(opened, node, whole=not first or node.item.kind == "message"):
        yield f"{rest}{bar}{line}".rstrip()
    for n, below in enumerate(node.rests_on, 1):
        last = n == len(node.rests_on)
        yield from _tree(
            opened, below, f"{rest}{'└─' if last else '├─'} ", f"{rest}{'   ' if last else '│  '}"
        )


def _head(opened: Opened, node: explaining.SourceNode) -> str:
    item = node.item
    if not node.resolved:
        return f"{item.id}: {GONE}"
    when = listing.when(item.at, opened) if item.at else ""
    place = f"{item.path}:{item.line}" if item.line else item.path
    return "  ".join(filter(None, (f"{item.kind} {item.id}", when, place)))


def _body(opened: Opened, node: explaining.SourceNode, *, whole: bool) -> Iterator[str]:
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
    yield from filter(None, (f"  {line}" if line else "" for line in _origin(item)))
    yield from (f"  {line}" for line in _edits(opened, node))


def _origin(item: lookup.LibraryRecord) -> Iterator[str]:
    origin = item.origin
    if item.by_hand:
        yield "written by hand"
    elif origin.by:
        yield f"written by {origin.by}" + (f", with {origin.model}" if origin.model else "")
    elif origin.model:
        yield f"said with {origin.model}"
    sentence = f"trust {origin.trust}" if origin.trust else ""
    audience = f"only for {', '.join(origin.audience)}" if origin.audience else ""
    yield "; ".join(filter(None, (sentence, audience)))


def _edits(opened: Opened, node: explaining.SourceNode) -> Iterator[str]:
    for verb, edit in (("committed", node.written), ("last changed", node.changed)):
        if edit:
            when = listing.when(edit.at, opened)
            yield f"{verb} {when} by {edit.by} as {edit.id[:COMMIT_CHARS]}: {edit.title}"
            yield from (f"  {key}: {value}" for key, value in edit.trailers)


def _data(node: explaining.SourceNode) -> dict[str, Any]:
    item = node.item
    return {
        "kind": item.kind or None,
        "id": item.id,
        "resolved": node.resolved,
        "text": item.text,
        "sentence": item.sentence or None,
        "at": item.at.isoformat() if item.at else None,
        "path": item.path or None,
        "line": item.line,
        "speaker": item.speaker or None,
        "by": item.origin.by or None,
        "model": item.origin.model or None,
        "trust": item.origin.trust or None,
        "audience": list(item.origin.audience),
        "by_hand": node.resolved and item.by_hand,
        "again": node.again,
        "written": _edit_data(node.written),
        "changed": _edit_data(node.changed),
        "rests_on": [_data(below) for below in node.rests_on],
    }


def _edit_data(edit: Commit | None) -> dict[str, Any] | None:
    if edit is None:
        return None
    return {
        "commit": edit.id,
        "at": edit.at.isoformat(),
        "author": edit.by,
        "subject": edit.title,
        "trailers": [list(pair) for pair in edit.trailers],
    }
