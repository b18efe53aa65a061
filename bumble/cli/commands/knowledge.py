"""`bumble knowledge`: list, show, set, rename, remove and edit durable facts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec.structs import replace

from bumble.cli import commit, listing, output, text_input
from bumble.cli.commit import FromOption
from bumble.cli.entity_command import looks_back, writes
from bumble.cli.listing import Listing
from bumble.cli.opening import Opened
from bumble.cli.options import DryRunOption, YesOption
from bumble.cli.text_input import EditorOption, TextArgument
from bumble.errors import SectionLockedError, UsageError
from bumble.records import knowledge
from bumble.records.knowledge import Knowledge, KnowledgeSection
from bumble.text.yaml_edit import SourceError

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Look at and change durable facts.",
)
TitleArgument = Annotated[
    str, typer.Argument(metavar="TITLE", help="The heading of the section, in any case.")
]
ForceOption = Annotated[
    bool, typer.Option("--force-locked", help="Change it even if it is locked.")
]
NONE = 'No knowledge. Add some with `bumble knowledge set TITLE "..."`.'


@app.command("list")
@looks_back
def list_(
    opened: Opened,
) -> None:
    """List the sections."""
    sections = Listing(_read(opened).sections, broken=0, more=False)

    def line(section: KnowledgeSection) -> list[str]:
        lock = "locked" if section.locked else ""
        return [section.title, lock, output.shorten(section.text, 60)]

    listing.show_list(opened, "knowledge list", sections, _data, line, NONE)


@app.command()
@looks_back
def show(
    opened: Opened,
    title: Annotated[
        str | None, typer.Argument(metavar="[TITLE]", help="Of one section. Default: all.")
    ] = None,
) -> None:
    """Show a section, or all."""
    whole, viewer = _read(opened), listing.Viewer(opened)
    book = replace(whole, sections=tuple(map(viewer.seen, whole.sections)))
    if title is not None:
        section = _find(book, title)
        output.result(opened.shell, "knowledge show", _data(section), _text(section))
        return
    text = "\n\n".join("\n".join(_text(section)) for section in book.sections)
    data = [_data(section) for section in book.sections]
    output.result(opened.shell, "knowledge show", data, [text] if text else [])
    if not data:
        output.say(NONE)


@app.command("set")
@writes
def set_(
    opened: Opened,
    title: TitleArgument,
    text: TextArgument = None,
    *,
    editor: EditorOption = False,
    locked: Annotated[
        bool, typer.Option("--locked", help="Make a section that the entity may not change.")
    ] = False,
    force_locked: ForceOption = False,
    dry_run: DryRunOption = False,
) -> None:
    """Write a section, or correct the one of this title."""
    title = text_input.one_line(title, "title")
    book = _read(opened)
    section = knowledge.find(book, title)
    _guard(section, force_locked=force_locked)  # before anything is typed
    if section is not None and locked and not section.locked:
        raise UsageError(
            f'"{section.title}" is there already, and not locked.\n'
            f'Lock it with `bumble knowledge rename "{section.title}" "[locked] {section.title}"`.'
        )
    heading = f"{knowledge.MARKER} {title}" if locked and section is None else title
    _write(
        opened, book, heading, text, in_editor=editor, force_locked=force_locked, dry_run=dry_run
    )


@app.command()
@writes
def rename(
    opened: Opened,
    title: TitleArgument,
    new_title: Annotated[str, typer.Argument(metavar="NEW", help="Its new heading.")],
    *,
    force_locked: ForceOption = False,
    dry_run: DryRunOption = False,
) -> None:
    """Give a section another title; a locked one stays locked."""
    new_title = text_input.one_line(new_title, "title")
    book = _read(opened)
    section = _find(book, title)
    why = f'rename "{section.title}" to "{new_title}"'
    change = knowledge.plan_rename(
        book, section.title, new_title, why, by_entity=False, force_locked=force_locked
    )
    sentence = f'"{section.title}" is now "{new_title}".'
    commit.commit(opened, "knowledge rename", [change], sentence, dry_run=dry_run, title=new_title)


@app.command()
@writes
def remove(
    opened: Opened,
    title: TitleArgument,
    *,
    yes: YesOption = False,
    force_locked: ForceOption = False,
    dry_run: DryRunOption = False,
) -> None:
    """Take a section out."""
    book = _read(opened)
    section = _find(book, title)
    change = knowledge.plan_remove(
        book,
        section.title,
        f'forget "{section.title}"',
        by_entity=False,
        force_locked=force_locked,
    )
    what, place = f'the section "{section.title}"', f"{knowledge.PATH}:{section.line}"
    commit.confirm_removal(opened, what, place, yes=yes, dry_run=dry_run)
    sentence = f'Removed "{section.title}".'
    commit.commit(
        opened, "knowledge remove", [change], sentence, dry_run=dry_run, title=section.title
    )


@app.command()
@writes
def edit(
    opened: Opened,
    title: Annotated[
        str | None, typer.Argument(metavar="[TITLE]", help="Of one section. Default: the file.")
    ] = None,
    *,
    source: FromOption = None,
    force_locked: ForceOption = False,
    dry_run: DryRunOption = False,
) -> None:
    """Edit a section, or the whole file, in $VISUAL or $EDITOR."""
    if title is not None:
        if source is not None:
            raise UsageError(
                "--from takes the whole file; for one section: `bumble knowledge set`."
            )
        book = _read(opened)
        section = _find(book, title)
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

    def guard(before: str, after: str) -> None:
        if not force_locked:
            _keeps_locked(before, after)

    commit.edit(
        opened,
        "knowledge edit",
        knowledge.PATH,
        knowledge.parse,
        source=source,
        dry_run=dry_run,
        guard=guard,
    )


def _write(
    opened: Opened,
    book: Knowledge,
    title: str,
    text: list[str] | None,
    *,
    in_editor: bool,
    force_locked: bool,
    dry_run: bool,
) -> None:
    existing = knowledge.find(book, title)
    before = existing.text if existing else ""
    with text_input.collect(
        opened.shell, text, in_editor=in_editor, name=knowledge.PATH, before=before
    ) as body:
        shown = existing.title if existing else knowledge.unmarked(title)[0]
        why = f'{"correct" if existing else "learn"} "{shown}"'
        change = knowledge.plan_set(
            book, title, body, why, by_entity=False, force_locked=force_locked
        )
        sentence = f'{"Changed" if existing else "Added"} "{shown}".'
        unchanged = f'Nothing to do: "{shown}" says so already.'
        commit.commit(
            opened,
            "knowledge set",
            [change],
            sentence,
            unchanged=unchanged,
            dry_run=dry_run,
            title=shown,
        )


def _read(opened: Opened) -> Knowledge:
    return knowledge.read(opened.within(opened.entity.knowledge))


def _find(book: Knowledge, title: str) -> KnowledgeSection:
    section = knowledge.find(book, title)
    if section is None:
        titles = [section.title for section in book.sections]
        raise listing.missing("section", title, titles)
    return section


def _guard(section: KnowledgeSection | None, *, force_locked: bool) -> None:
    if section is not None and section.locked and not force_locked:
        raise SectionLockedError(Path(knowledge.PATH), section.title, section.line)


def _keeps_locked(before: str, after: str) -> None:
    """Refuse an edit that changes or drops a locked section, or unlocks it."""
    try:
        sections = knowledge.parse(before).sections
    except SourceError:  # the edit is what mends it
        return
    left = [section.source.rstrip() for section in knowledge.parse(after).sections]
    for section in sections:
        if section.locked and section.source.rstrip() not in left:
            raise SectionLockedError(Path(knowledge.PATH), section.title, section.line)


def _text(section: KnowledgeSection) -> list[str]:
    lock = f"{knowledge.MARKER} " if section.locked else ""
    origin = listing.origin(section.provenance)
    return [f"## {lock}{section.title}", "", section.text, *(["", f"  {origin}"] if origin else [])]


def _data(section: KnowledgeSection) -> dict[str, Any]:
    return {
        "title": section.title,
        "locked": section.locked,
        "text": section.text,
        "line": section.line,
        "provenance": section.provenance.meta(),
    }
