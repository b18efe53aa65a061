"""`bumble show`, `report`: a life as it is read, on one screen or as a page for a browser."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec.structs import replace

from bumble.bridges.exports import destination
from bumble.bridges.report import page
from bumble.bridges.report.life import IMPORTED, Collector, Life, LifeEntry, Portrait, shown
from bumble.cli import body, command, listing, output, people
from bumble.cli.opening import Opened
from bumble.errors import (
    HistoryClosedError,
    HistoryMissingError,
    HistoryUnreadableError,
    RecordMissingError,
    RefusedError,
    UsageError,
    UserError,
)
from bumble.fallback import quotes
from bumble.files import disk
from bumble.history import log
from bumble.jobs import tick
from bumble.recall import memory_search
from bumble.records import beliefs, dreams, episodes, journal, relationships, session_files
from bumble.records.provenance import Reader, withheld
from bumble.text import stop_words, words

TODAY, WEEK = "today", "week"
WIDTH = 78
MOST, PERSON_MOST = 8, 5  # of a kind
TEXT_CHARS = 220  # of one memory
HEADS = {  # in this order
    session_files.SESSION.name: "Talked",
    IMPORTED: "Imported",
    episodes.EPISODE.name: "What happened",
    journal.JOURNAL.name: "In its diary",
    beliefs.BELIEF.name: "What it has come to believe",
    dreams.DREAM.name: "What it dreamt",
}


@command.shows
def show(
    opened: Opened,
    what: Annotated[
        str, typer.Argument(metavar="[today|week|PERSON]", help="A time, or somebody it knows.")
    ] = TODAY,
) -> None:
    """Read today, this week or a person, on one screen.

    What was talked, what happened, what it wrote, believed and dreamt; or how it sees somebody, and
    what the two lived lately.
    """
    now = opened.now
    if failing := tick.failing(opened.entity.runs, opened.zone):
        output.warn(opened.shell, failing)
    try:
        person = None if what in (TODAY, WEEK) else people.find(opened, what)
    except RecordMissingError as error:
        error.args = (f"{error}\nOf times there are {TODAY} and {WEEK}.",)
        raise
    life = _collected(opened, listing.reader(opened), lambda done, total: None)
    dreamt = {entry.text for entry in life.of(dreams.DREAM)}
    gave_way = memory_search.superseded(opened.entity, now)
    life.entries[beliefs.BELIEF.name] = [
        entry
        for entry in life.of(beliefs.BELIEF)
        if entry.text not in dreamt
        and not (entry.record and (entry.record.archived or entry.record.id in gave_way))
    ]
    if person is not None:
        seen = next((one for one in life.people if one.id == person.id), None)
        data, lines = _person(life, person, seen, withheld(listing.origin_of(person)), now.year)
    else:
        first = now.date() if what == TODAY else now.date() - timedelta(days=6)
        data, lines = _span(opened, life, first, now)
    output.result(opened.shell, "show", {"what": what, **data}, lines)


def _collected(
    opened: Opened, reader: Reader, progress: Callable[[float, float | None], None]
) -> Life:
    """Read a life as somebody may know it; what can't be read is left out, and that is said."""
    life = Collector(opened.entity, opened.zone, opened.identity.name, reader).collect(progress)
    for path in life.unread:
        output.warn(opened.shell, f"{path} can't be read and was left out: `bumble doctor`.")
    return life


def _span(
    opened: Opened, life: Life, first: date, now: datetime
) -> tuple[dict[str, Any], Iterable[str]]:
    found = {
        kind: [
            entry for entry in life.entries.get(kind, []) if first <= entry.at.date() <= now.date()
        ]
        for kind in HEADS
    }
    data = {kind: [_data(entry) for entry in entries] for kind, entries in found.items()}
    today = f"{now:%A}, {now.day} {now:%B %Y}"
    head = today if first == now.date() else f"The week up to {today}"
    lines = [f"{opened.identity.name}: {head}"]
    if not any(found.values()):
        how = f'Say something: `bumble chat "Hello {opened.identity.name}"`.'
        if talks := life.entries.get(session_files.SESSION.name):
            last = _day(talks[0].at)
            how = f"The last talk was on {last}: `bumble show week`, `bumble show NAME`."
        lines += ["", "Nothing yet.", how]
    dated = any(entry.at.date() != now.date() for entries in found.values() for entry in entries)
    for kind, title in HEADS.items():
        lines += _section(title, found[kind], life.names, now.year if dated else None)
    return {"from": f"{first}", "to": f"{now.date()}", **data}, lines


def _person(
    life: Life, person: relationships.Relationship, who: Portrait | None, hidden: str, year: int
) -> tuple[dict[str, Any], Iterable[str]]:
    names = re.compile("|".join(map(stop_words.name_pattern, person.names or (person.id,))))
    found = {
        kind: [
            entry if person.id in entry.people else _about(entry, names)
            for entry in life.entries.get(kind, [])
            if person.id in entry.people
            or (entry.kind != session_files.SESSION.name and names.search(entry.text))
        ]
        for kind in HEADS
    }
    shared = {kind: [_data(entry) for entry in entries] for kind, entries in found.items()}
    if who is None:  # how it sees them is for others; what was shared is not
        return {"person": None, **shared}, [person.name, f"  {hidden}", *_lived(found, year)]
    told = who.record
    data = {
        "person": {"name": told.name, "names": list(told.names[1:]), "text": told.text}
        | {"heard": list(who.notes)}
        | {"dynamic": told.dynamic or None, "unresolved": list(told.unresolved)},
        **shared,
    }
    return data, _portrait(who, found, year)


def _about(entry: LifeEntry, names: re.Pattern[str]) -> LifeEntry:
    """Return a memory with the sentences of it that name somebody."""
    is_titled = entry.text.startswith("#")
    head, _, rest = entry.text.partition("\n") if is_titled else ("", "", entry.text)
    naming = [sentence for sentence in words.sentences(rest) if names.search(sentence)]
    return replace(entry, text=f"{head}\n{words.paragraph(naming)}".strip()) if naming else entry


def _portrait(who: Portrait, found: dict[str, list[LifeEntry]], year: int) -> Iterator[str]:
    person = who.record
    last = person.last_interaction
    talked = f", last talked on {_day(last)}" if last else ""
    yield f"{', also '.join((person.name, *person.names[1:]))}{talked}"
    told = person.text.splitlines() or who.notes  # of whom it only heard
    for line in filter(None, (person.dynamic, *told)):
        yield from _wrapped(line)
    if person.unresolved:
        yield from _wrapped(f"Open between them: {'; '.join(person.unresolved)}")
    yield from _lived(found, year)
    if not (told or any(found.values())):
        yield "  Nothing yet but the name."


def _lived(found: dict[str, list[LifeEntry]], year: int) -> Iterator[str]:
    for kind in (episodes.EPISODE.name, beliefs.BELIEF.name):
        yield from _section(HEADS[kind], found[kind][:PERSON_MOST], {}, year)


def _section(
    title: str, entries: Sequence[LifeEntry], names: dict[str, str], year: int | None
) -> Iterator[str]:
    """Tell of the newest memories of a kind, the oldest of them first.

    Args:
        title: Of the kind.
        entries: The newest first.
        names: What people are called.
        year: The present one, which no day says; None: all are of today, and hours are said.
    """
    yield from ("", title) if entries else ()
    if len(entries) > MOST:
        yield f"  {len(entries) - MOST} earlier: `bumble report` has them all."
    for entry in reversed(entries[:MOST]):
        day = f"{entry.at.day:2} {entry.at:%b}{f' {entry.at.year}' * (entry.at.year != year)}"
        when = f"{entry.at:%H:%M}" if year is None else day
        company = entry.people if entry.kind == "session" and not entry.apart else ()
        talked = [names.get(who, who) for who in company]
        first, *more = _texts(entry)
        yield from _wrapped(f"with {', '.join(talked)}: " * bool(talked) + first, f"  {when}  ")
        for text in more:
            yield from _wrapped(text, " " * (len(when) + 4))


def _texts(entry: LifeEntry) -> list[str]:
    """Return what is told of a memory: of quotes each by itself, those that still hold."""
    is_named = entry.title and entry.kind == "session"
    text = (entry.title if is_named else entry.text) or " ".join(entry.marks)
    parts = [part for part in text.split("\n\n") if part.strip()]
    if not any(part.startswith(quotes.MARK) for part in parts):
        return [words.shorten(output.plain(text), TEXT_CHARS, at_word=True)]
    # between a word and the older one that it puts right stands a sentence
    remarks = [n for n, part in enumerate(parts) if not part.startswith((quotes.MARK, "#"))]
    told = [part for n, part in enumerate(parts) if not {n, n - 1} & {*remarks}]
    told = ["\n".join(told[:2]), *told[2:]]  # the title leads to the first
    each = max(TEXT_CHARS // len(told), WIDTH)
    return [words.shorten(output.plain(part), each, at_word=True) for part in told]


def _wrapped(text: str, head: str = "  ") -> list[str]:
    later = " " * len(head)
    return textwrap.wrap(text, WIDTH, initial_indent=head, subsequent_indent=later) or [head]


def _day(at: datetime) -> str:
    return f"{at.day} {at:%B %Y}"


def _data(entry: LifeEntry) -> dict[str, Any]:
    return {
        "at": entry.at.isoformat(timespec="seconds"),
        "text": entry.text,
        "title": entry.title or None,
        "people": list(entry.people),
    }


STDOUT = Path("-")


@command.shows
def report(
    opened: Opened,
    dest: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", help="The page to make; - prints it. By default NAME-report.html."
        ),
    ] = None,
    *,
    person: Annotated[
        str | None,
        typer.Option("--for", metavar="PERSON", help="Only what this person may know."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a file that is no report.")
    ] = False,
) -> None:
    """Make a page of its life, for a browser.

    It shows what happened, who it knows, what it believes and why.

    One file that loads nothing and sends nothing: at first the little that tells most, then all of
    it, people, beliefs down to what was said, dreams, a timeline. An earlier report is replaced.
    """
    if dest == STDOUT and opened.shell.json:
        raise UsageError("The page goes where --json would print: name a FILE.")
    target = None if dest == STDOUT else _target(opened, dest)
    if target is not None:
        _check(target, opened.root, force=force)
    reader = (
        Reader(people.find(opened, person).id) if person is not None else listing.reader(opened)
    )
    name = opened.identity.name
    progress = partial(output.progress, f"Reading {name}'s memories", opened.shell.environ)
    life = _collected(opened, reader, progress)
    moments, present = (_history(opened), _present(opened)) if reader.is_owner else ([], None)
    who = "" if reader.is_owner else life.names.get(reader.id, shown(reader.id))
    moved = page.body_of(life.of(episodes.EPISODE), moments, present)
    text = page.render(page.LifeReport(shown(name), who, opened.now, life, moved))
    if target is None:
        output.piece(text)
        return
    data = text.encode("utf-8", "replace")
    destination.put_file(target, data)
    _tell(opened, life, target, len(data), reader)


def _target(opened: Opened, dest: Path | None) -> Path:
    """Return where the page goes: by default into the folder one is in, or beside the entity's."""
    if dest is not None:
        return Path(os.path.abspath(opened.shell.path(dest)))  # noqa: PTH100  (no link)
    place = Path(os.path.realpath(opened.shell.cwd))
    home = Path(os.path.realpath(opened.root))
    place = home.parent if place == home or home in place.parents else place
    return place / f"{disk.file_name(opened.identity.name)}-report.html"


def _check(target: Path, root: Path, *, force: bool) -> None:
    is_ours = False
    with suppress(OSError):
        is_ours = page.is_report(disk.read(target, most=page.HEAD_BYTES))
    if target.is_file() and not (is_ours or force):
        raise RefusedError(
            f"{target} is there already, and is no report\n"
            "`--force` replaces it; nothing was written."
        )
    destination.check(target, root, force=True)


def _history(opened: Opened) -> list[page.BodyMoment]:
    """Return the body by the history of its file.

    Only the owner gets it: when it moved, others talked.
    """
    try:
        log.require(opened.root)
        return page.history(opened.root, opened.zone)
    except HistoryMissingError:
        return []
    except (HistoryClosedError, HistoryUnreadableError) as error:
        output.warn(opened.shell, f"The history was left out: {error}")
        return []


def _present(opened: Opened) -> page.BodyMoment | None:
    """Return the body at present; None where nothing has moved it, or its file can't be read."""
    try:
        soma, stored_at = body.look(opened)
    except UserError as error:
        output.warn(opened.shell, f"The present body was left out: {error}")
        return None
    return page.BodyMoment(soma.at, page.levels(soma)) if stored_at else None


def _tell(opened: Opened, life: Life, target: Path, size: int, reader: Reader) -> None:
    counts = {kind: len(entries) for kind, entries in sorted(life.entries.items())}
    data = {
        "to": str(target),
        "for": None if reader.is_owner else reader.id,
        "bytes": size,
        "counts": {**counts, "person": len(life.people)},
        "withheld": life.withheld,
        "unread": life.unread,
    }
    memories = f"{life.count:,} memor{'y' if life.count == 1 else 'ies'}"
    lines = [f"Wrote {target}", f"  {memories}, {output.size(size)}"]
    if life.withheld:
        whose = "only for others; --all shows them" if reader.is_owner else "not for them to know"
        lines.append(f"  {life.withheld:,} left out: {whose}")
    output.result(opened.shell, "report", data, lines)
