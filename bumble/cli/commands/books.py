"""`bumble knowledge`, `journal`: durable facts and the diary, a file of sections each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec.structs import replace

from bumble import patterns
from bumble.cli import command, listing, output, people, writing
from bumble.cli.opening import Opened
from bumble.entity import companions
from bumble.errors import FileChangedError, SectionLockedError, UsageError
from bumble.records import base, journal, knowledge
from bumble.text import stop_words, yaml_edit

app = command.group()
TitleArgument = Annotated[
    str, typer.Argument(metavar="TITLE", help="The heading of the section, in any case.")
]
ForceOption = Annotated[
    bool, typer.Option("--force-locked", help="Change it even if it is locked.")
]
NONE = 'No knowledge. Add some with `bumble knowledge set TITLE "..."`.'


def _text(opened: Opened, section: knowledge.KnowledgeSection) -> list[str]:
    lock = f"{knowledge.MARKER} " if section.locked else ""
    origin = listing.Viewer(opened).origin(section.provenance)
    return [f"## {lock}{section.title}", "", section.text, *(["", f"  {origin}"] if origin else [])]


def _data(section: knowledge.KnowledgeSection) -> dict[str, Any]:
    return {
        "title": section.title,
        "locked": section.locked,
        "text": section.text,
        "line": section.line,
        "provenance": section.provenance.meta(),
    }


@app.command("list")
@command.looks_back
def list_(opened: Opened) -> None:
    """List the sections."""

    listing.show_list(
        opened,
        "knowledge list",
        listing.Listing(_read(opened).sections),
        _data,
        lambda section: [
            section.title,
            "locked" if section.locked else "",
            output.shorten(output.plain(section.text), 60),
        ],
        NONE,
    )


@app.command()
@command.looks_back
def show(
    opened: Opened,
    title: Annotated[
        str | None, typer.Argument(metavar="[TITLE]", help="Of one section. Default: all.")
    ] = None,
) -> None:
    """Show a section, or all."""
    book = _read(opened)
    if title is None:
        sections = listing.Listing(book.sections)
        listing.show_list(
            opened, "knowledge show", sections, _data, partial(_text, opened), NONE, whole=True
        )
        return
    section = _find(opened, book, title)
    output.result(opened.shell, "knowledge show", _data(section), _text(opened, section))


@app.command("set")
@command.edits
def set_(
    opened: Opened,
    title: TitleArgument,
    text: writing.TextArgument = None,
    *,
    editor: writing.EditorOption = False,
    locked: Annotated[
        bool, typer.Option("--locked", help="Make a section that the entity may not change.")
    ] = False,
    force_locked: ForceOption = False,
    dry_run: command.DryRunOption = False,
) -> None:
    """Write a section, or correct the one of this title.

    A title that ends with `[only for Bo]` makes one that Bo alone, and you, may meet.
    """
    title, people_named = companions.only_for(writing.one_line(title, "title"))
    audience = tuple(people.find(opened, name).id for name in people_named)
    book = _read(opened)
    # under which the owner writes: what others told alone stays theirs
    viewer, name = listing.Viewer(opened), opened.identity.owner.name or opened.owner_id
    title = knowledge.clean(
        knowledge.own_title(book, title, name, lambda there: viewer.may_see(there.provenance))
    )
    section = knowledge.find(book, title)
    _guard(section, force_locked=force_locked)  # before anything is typed
    if section is not None and audience and set(audience) != set(section.provenance.audience):
        whom = ", ".join(section.provenance.audience) or "everybody"
        raise UsageError(
            f'"{section.title}" is there already, for {whom}.\n'
            "Give this another title, or say in the file whom that is for: `bumble knowledge edit`."
        )
    if section is not None and locked and not section.locked:
        raise UsageError(
            f'"{section.title}" is there already, and not locked.\n'
            f"Lock it in the file: `## {knowledge.MARKER} {section.title}`."
        )
    _write(
        opened,
        book,
        f"{knowledge.MARKER} {title}" if locked and section is None else title,
        text,
        audience=audience,
        in_editor=editor,
        force_locked=force_locked,
        dry_run=dry_run,
    )


@app.command()
@command.edits
def remove(
    opened: Opened,
    title: TitleArgument,
    *,
    yes: command.YesOption = False,
    force_locked: ForceOption = False,
    dry_run: command.DryRunOption = False,
) -> None:
    """Take a section out."""
    book = _read(opened)
    section = _find(opened, book, title)
    left = knowledge.without(book, section.title, by_entity=False, force_locked=force_locked)
    change = knowledge.plan(book, left, f'forget "{section.title}"')
    writing.confirm(
        opened.shell,
        f'Remove the section "{section.title}" ({knowledge.PATH}:{section.line})?',
        "Remove it with --yes.",
        yes=yes or dry_run,
    )
    writing.commit(
        opened,
        "knowledge remove",
        [change],
        f'Removed "{section.title}".',
        dry_run=dry_run,
        title=section.title,
    )


@app.command()
@command.edits
def edit(
    opened: Opened,
    title: Annotated[
        str | None, typer.Argument(metavar="[TITLE]", help="Of one section. Default: the file.")
    ] = None,
    *,
    source: writing.FromOption = None,
    force_locked: ForceOption = False,
    dry_run: command.DryRunOption = False,
) -> None:
    """Edit a section, or the whole file, in $VISUAL or $EDITOR."""
    if title is not None:
        if source is not None:
            raise UsageError(
                "--from takes the whole file; for one section: `bumble knowledge set`."
            )
        book = _read(opened)
        section = _find(opened, book, title)
        _guard(section, force_locked=force_locked)
        _write(
            opened,
            book,
            section.title,
            None,
            in_editor=True,
            force_locked=force_locked,
            dry_run=dry_run,
        )
        return
    writing.edit(
        opened,
        "knowledge edit",
        knowledge.PATH,
        knowledge.parse,
        source=source,
        dry_run=dry_run,
        guard=None if force_locked else _keeps_locked,
    )


def _write(
    opened: Opened,
    book: knowledge.Knowledge,
    title: str,
    text: list[str] | None,
    *,
    audience: tuple[str, ...] = (),
    in_editor: bool,
    force_locked: bool,
    dry_run: bool,
) -> None:
    existing = knowledge.find(book, title)
    with writing.collect(
        *(opened.shell, text),
        in_editor=in_editor,
        name=knowledge.PATH,
        before=existing.text if existing else "",
        instead="give the text to `bumble knowledge set`, as an argument or on standard input",
    ) as body:
        shown = existing.title if existing else knowledge.unmarked(title)[0]
        while True:
            change = knowledge.plan_set(
                book,
                title,
                body,
                f'{"correct" if existing else "learn"} "{shown}"',
                by_entity=False,
                force_locked=force_locked,
                provenance=base.Provenance(trust="owner", audience=audience) if audience else None,
            )
            try:
                writing.commit(
                    opened,
                    "knowledge set",
                    [change],
                    f'{"Changed" if existing else "Added"} "{shown}".',
                    unchanged=f'Nothing to do: "{shown}" says so already.',
                    dry_run=dry_run,
                    title=shown,
                )
                return
            except FileChangedError:
                book = _read(opened)
                there = knowledge.find(book, title)
                if (there and there.source.strip()) != (existing and existing.source.strip()):
                    raise  # else somebody wrote another section


def _read(opened: Opened) -> knowledge.Knowledge:
    return knowledge.read(opened.within(opened.entity.knowledge))


def _find(opened: Opened, book: knowledge.Knowledge, title: str) -> knowledge.KnowledgeSection:
    """Return the section of a title, if it is for whoever looks; else there is none."""
    viewer = listing.Viewer(opened)
    own = [section for section in book.sections if viewer.may_see(section.provenance)]
    section = knowledge.find(replace(book, sections=tuple(own)), knowledge.said(title))
    if section is None:
        raise listing.missing("section", title, [section.title for section in own])
    return section


def _guard(section: knowledge.KnowledgeSection | None, *, force_locked: bool) -> None:
    if section is not None and section.locked and not force_locked:
        raise SectionLockedError(Path(knowledge.PATH), section.title, section.line)


def _keeps_locked(before: str, after: str) -> None:
    """Refuse an edit that changes or drops a locked section, or unlocks it."""
    try:
        sections = knowledge.parse(before).sections
    except yaml_edit.SourceError:  # the edit is what mends it
        return
    left = [section.source.rstrip() for section in knowledge.parse(after).sections]
    for section in sections:
        if section.locked and section.source.rstrip() not in left:
            raise SectionLockedError(Path(knowledge.PATH), section.title, section.line)


journal_app = command.group()
NO_ENTRIES = 'No entries. Write one with `bumble journal add "..."`.'
TAG = patterns.compile(r"[^\s#]+")


@journal_app.command("list")
@command.shows
def list_entries(
    opened: Opened,
    *,
    since: listing.SinceOption = None,
    tag: command.TagOption = None,
    limit: listing.LimitOption = 20,
) -> None:
    """List entries, a line each, the newest last."""
    shown = _entries(opened, since, tag, limit)
    listing.show_list(opened, "journal list", shown, _journal_data, _line, NO_ENTRIES)


@journal_app.command("show")
@command.shows
def show_entries(
    opened: Opened,
    *,
    since: listing.SinceOption = None,
    tag: command.TagOption = None,
    limit: listing.LimitOption = 10,
) -> None:
    """Show entries, the newest last."""
    shown = _entries(opened, since, tag, limit)
    whole = partial(_whole, opened)
    listing.show_list(opened, "journal show", shown, _journal_data, whole, NO_ENTRIES, whole=True)


@journal_app.command()
@command.shows
def search(
    opened: Opened,
    query: Annotated[list[str], typer.Argument(metavar="WORDS", help="Words an entry must have.")],
    *,
    since: listing.SinceOption = None,
    tag: command.TagOption = None,
    limit: listing.LimitOption = 20,
) -> None:
    """Find the entries that have all of some words, or words that begin so; the newest last."""
    text = " ".join(query)
    wanted = stop_words.telling_words(text) or stop_words.words(text)
    if not wanted:
        raise UsageError(f'"{text}" has no words to search for.')
    listing.show_list(
        opened,
        "journal search",
        _entries(opened, since, tag, limit, wanted),
        _journal_data,
        lambda entry: [f"{journal.PATH}:{entry.line}", *_line(entry)],
        NO_ENTRIES,
    )


@journal_app.command()
@command.writes
def add(
    opened: Opened,
    text: writing.TextArgument = None,
    *,
    tag: command.TagOption = None,
    editor: writing.EditorOption = False,
    dry_run: command.DryRunOption = False,
) -> None:
    """Write an entry at the end of the diary."""
    tags = tuple(_tag(text) for text in tag or ())
    opened.within(opened.entity.journal)
    with writing.collect(opened.shell, text, in_editor=editor, name=journal.PATH) as entry:
        at = opened.now
        writing.commit(
            opened,
            "journal add",
            [journal.plan_add(at, entry, opened.zone, output.shorten(entry, 50), tags=tags)],
            f"Added an entry of {at:%Y-%m-%d %H:%M}.",
            dry_run=dry_run,
            at=at.isoformat(timespec="seconds"),
        )


@journal_app.command("edit")
@command.writes
def edit_journal(
    opened: Opened,
    *,
    source: writing.FromOption = None,
    dry_run: command.DryRunOption = False,
) -> None:
    """Edit the diary's file in $VISUAL or $EDITOR: nothing but you ever changes an entry."""
    writing.edit(
        opened,
        "journal edit",
        journal.PATH,
        lambda text: journal.parse(text, zone=opened.zone),
        source=source,
        dry_run=dry_run,
    )


def _entries(
    opened: Opened,
    since: str | None,
    tags: Sequence[str] | None,
    limit: int,
    words: Sequence[str] = (),
) -> listing.Listing[journal.JournalEntry]:
    """Return the newest of the entries that are wanted, the newest last."""
    file = opened.within(opened.entity.journal)
    start = listing.moment(since, opened, "--since") if since is not None else None
    wanted = {_tag(tag).casefold() for tag in tags or ()}
    entries = [*map(listing.Viewer(opened).seen, journal.read(file, opened.zone).entries)]
    found = [
        entry
        for entry in entries
        if (start is None or entry.at >= start)
        and wanted <= {tag.casefold() for tag in entry.tags}
        and _has(entry, words)
    ]
    newest = sorted(found, key=lambda entry: entry.at)[-limit:]
    return listing.Listing(tuple(newest), more=len(found) > limit, others=len(entries) - len(found))


def _tag(text: str) -> str:
    tag = writing.one_line(text, "tag").removeprefix("#")
    if not TAG.fullmatch(tag):
        raise UsageError(f'"{text}" is no tag: a tag is one word, without `#` inside.')
    return tag


def _has(entry: journal.JournalEntry, wanted: Sequence[str]) -> bool:
    words = stop_words.words(f"{entry.text} {' '.join(entry.tags)}")
    return all(any(word.startswith(part) for word in words) for part in wanted)


def _marks(entry: journal.JournalEntry) -> str:
    """Return the tags that a person gave it."""
    return "" if entry.provenance.by else "".join(f" #{tag}" for tag in entry.tags)


def _line(entry: journal.JournalEntry) -> list[str]:
    told = f"{output.plain(entry.text)}{_marks(entry)}"
    return [f"{entry.at:%Y-%m-%d %H:%M}", output.shorten(told)]


def _whole(opened: Opened, entry: journal.JournalEntry) -> list[str]:
    origin = listing.Viewer(opened).origin(entry.provenance)
    told = f"## {entry.at:%Y-%m-%d %H:%M}{_marks(entry)}\n\n{output.unlinked(entry.text)}".rstrip()
    return [told, "", f"  {origin}"] if origin else [told]


def _journal_data(entry: journal.JournalEntry) -> dict[str, Any]:
    return {
        "at": entry.at.isoformat(timespec="seconds"),
        "tags": list(entry.tags),
        "text": entry.text,
        "line": entry.line,
        "provenance": entry.provenance.meta(),
    }
