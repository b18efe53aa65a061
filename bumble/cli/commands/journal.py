"""`bumble journal`: list, show, search, add to and edit the diary, which only grows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from bumble.cli import commit, listing, output, text_input
from bumble.cli.commit import FromOption
from bumble.cli.entity_command import shows, writes
from bumble.cli.listing import LimitOption, Listing, SinceOption
from bumble.cli.opening import Opened
from bumble.cli.options import DryRunOption, TagOption
from bumble.cli.text_input import EditorOption, TextArgument
from bumble.errors import UsageError
from bumble.records import journal
from bumble.records.journal import JournalEntry
from bumble.text import stop_words
from bumble.text.words import one_line

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Read and write the diary.",
)
NONE = 'No entries. Write one with `bumble journal add "..."`.'
NO_MATCH = "No entry has these words."
EXCERPT_CHARS = 100
TAG = re.compile(r"[^\s#]+")


@app.command("list")
@shows
def list_(
    opened: Opened,
    *,
    since: SinceOption = None,
    tag: TagOption = None,
    limit: LimitOption = 20,
) -> None:
    """List entries, a line each, the newest last."""
    shown = _newest(_entries(opened, since, tag), limit)
    listing.show_list(opened, "journal list", shown, _data, _line, _empty(since, tag))


@app.command()
@shows
def show(
    opened: Opened,
    *,
    since: SinceOption = None,
    tag: TagOption = None,
    limit: LimitOption = 10,
) -> None:
    """Show entries, the newest last."""
    shown = _newest(_entries(opened, since, tag), limit)
    text = "\n\n".join(_whole(entry) for entry in shown.records)
    data = [_data(entry) for entry in shown.records]
    output.result(opened.shell, "journal show", data, [text] if text else [])
    if not data:
        output.say(_empty(since, tag))
    if shown.more:
        output.say(f"These are the newest {len(data)}; --limit N shows more.")


@app.command()
@shows
def search(
    opened: Opened,
    query: Annotated[list[str], typer.Argument(metavar="WORDS", help="Words an entry must have.")],
    *,
    since: SinceOption = None,
    tag: TagOption = None,
    limit: LimitOption = 20,
) -> None:
    """Find the entries that have all of some words, or words that begin so; the newest last."""
    text = " ".join(query)
    wanted = stop_words.telling_words(text) or stop_words.words(text)
    if not wanted:
        raise UsageError(f'"{text}" has no words to search for.')
    matching = [entry for entry in _entries(opened, since, tag) if _has(entry, wanted)]
    shown = _newest(matching, limit)

    def line(entry: JournalEntry) -> list[str]:
        place = f"{journal.PATH}:{entry.line}"
        return [place, f"{entry.at:%Y-%m-%d %H:%M}", _excerpt(entry, wanted[0])]

    listing.show_list(opened, "journal search", shown, _data, line, NO_MATCH)


@app.command()
@writes
def add(
    opened: Opened,
    text: TextArgument = None,
    *,
    tag: TagOption = None,
    editor: EditorOption = False,
    dry_run: DryRunOption = False,
) -> None:
    """Write an entry at the end of the diary."""
    tags = tuple(_tag(text) for text in tag or ())
    opened.within(opened.entity.journal)
    with text_input.collect(opened.shell, text, in_editor=editor, name=journal.PATH) as entry:
        zone, at = opened.zone, opened.shell.now()
        why = f"write in the journal: {output.shorten(entry, 50)}"
        change = journal.plan_add(at, entry, zone, why, tags=tags)
        sentence = f"Added an entry of {at.astimezone(zone):%Y-%m-%d %H:%M}."
        stamp = at.astimezone(zone).isoformat(timespec="seconds")
        commit.commit(opened, "journal add", [change], sentence, dry_run=dry_run, at=stamp)


@app.command()
@writes
def edit(
    opened: Opened,
    *,
    source: FromOption = None,
    dry_run: DryRunOption = False,
) -> None:
    """Edit the diary's file in $VISUAL or $EDITOR: nothing but you ever changes an entry."""
    commit.edit(
        opened,
        "journal edit",
        journal.PATH,
        lambda text: journal.parse(text, zone=opened.zone),
        source=source,
        dry_run=dry_run,
    )


def _entries(opened: Opened, since: str | None, tags: Sequence[str] | None) -> list[JournalEntry]:
    """Return the entries that are wanted, the newest last."""
    file = opened.within(opened.entity.journal)
    start = listing.moment(since, opened, "--since") if since is not None else None
    wanted = {_tag(tag).casefold() for tag in tags or ()}
    written = journal.read(file, opened.zone).entries
    entries = map(listing.Viewer(opened).seen, written)
    return sorted(
        (
            entry
            for entry in entries
            if (start is None or entry.at >= start)
            and wanted <= {tag.casefold() for tag in entry.tags}
        ),
        key=lambda entry: entry.at,
    )


def _newest(entries: Sequence[JournalEntry], limit: int) -> Listing[JournalEntry]:
    return Listing(tuple(entries[-limit:]), broken=0, more=len(entries) > limit)


def _empty(since: str | None, tags: Sequence[str] | None) -> str:
    return "No such entries." if since or tags else NONE


def _tag(text: str) -> str:
    tag = text_input.one_line(text, "tag").removeprefix("#")
    if not TAG.fullmatch(tag):
        raise UsageError(f'"{text}" is no tag: a tag is one word, without `#` inside.')
    return tag


def _has(entry: JournalEntry, wanted: Sequence[str]) -> bool:
    words = stop_words.words(f"{entry.text} {' '.join(entry.tags)}")
    return all(any(word.startswith(part) for word in words) for part in wanted)


def _excerpt(entry: JournalEntry, word: str) -> str:
    """Return the text around the first place a word stands."""
    line = one_line(entry.text)
    at = max(0, line.casefold().find(word) - EXCERPT_CHARS // 3)
    start = 0 if len(line) <= EXCERPT_CHARS else line.rfind(" ", 0, at + 1) + 1
    return ("…" if start else "") + output.shorten(line[start:], EXCERPT_CHARS)


def _line(entry: JournalEntry) -> list[str]:
    marks = " ".join(f"#{tag}" for tag in entry.tags)
    return [f"{entry.at:%Y-%m-%d %H:%M}", output.shorten(f"{entry.text} {marks}")]


def _heading(entry: JournalEntry) -> str:
    marks = "".join(f" #{tag}" for tag in entry.tags)
    return f"## {entry.at:%Y-%m-%d %H:%M}{marks}"


def _whole(entry: JournalEntry) -> str:
    origin = listing.origin(entry.provenance)
    return f"{_heading(entry)}\n\n{entry.text}".rstrip() + (f"\n\n  {origin}" if origin else "")


def _data(entry: JournalEntry) -> dict[str, Any]:
    return {
        "at": entry.at.isoformat(timespec="seconds"),
        "tags": list(entry.tags),
        "text": entry.text,
        "line": entry.line,
        "provenance": entry.provenance.meta(),
    }
