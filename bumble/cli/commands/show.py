"""`bumble show`: today, this week or a person, as its owner reads it: one screen, no ids."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from typing import Annotated, Any

import typer

from bumble.bridges.report.life import Collector, Life, LifeEntry, Portrait
from bumble.cli import listing, output, people
from bumble.cli.entity_command import shows
from bumble.cli.opening import Opened
from bumble.records import kinds
from bumble.records.provenance import withheld

app = typer.Typer(rich_markup_mode=None)
TODAY, WEEK = "today", "week"
WIDTH = 78
MOST, PERSON_MOST = 8, 5  # of a kind
TEXT_CHARS = 220  # of one memory
HEADS = {  # in this order
    kinds.SESSION.name: "Talked",
    kinds.EPISODE.name: "What happened",
    kinds.JOURNAL.name: "In its diary",
    kinds.BELIEF.name: "What it has come to believe",
    kinds.DREAM.name: "What it dreamt",
}
WhatArgument = Annotated[
    str, typer.Argument(metavar="[today|week|PERSON]", help="A time, or somebody it knows.")
]


@app.command()
@shows
def show(opened: Opened, what: WhatArgument = TODAY) -> None:
    """Read today, this week or a person, on one screen.

    What was talked, what happened, what it wrote, believed and dreamt; or how it sees somebody, and
    what the two lived lately.
    """
    zone = opened.zone
    now = opened.shell.now().astimezone(zone)
    person = None if what in (TODAY, WEEK) else people.find(opened, what)
    reader = listing.reader(opened)
    collector = Collector(opened.entity, zone, opened.identity.name, reader, now)
    life = collector.collect(lambda done, total: None)
    for path in life.unread:
        output.warn(opened.shell, f"{path} can't be read and was left out: `bumble doctor`.")
    if person is not None:
        seen = next((one for one in life.people if one.id == person.id), None)
        data, lines = _person(life, seen, withheld(listing.origin_of(person)))
    else:
        first = now.date() if what == TODAY else now.date() - timedelta(days=6)
        data, lines = _span(opened, life, first, now)
    output.result(opened.shell, "show", {"what": what, **data}, lines)


def _span(
    opened: Opened, life: Life, first: date, now: datetime
) -> tuple[dict[str, Any], Iterator[str]]:
    found = {
        kind: [
            entry for entry in life.entries.get(kind, []) if first <= entry.at.date() <= now.date()
        ]
        for kind in HEADS
    }
    data = {kind: [_data(entry) for entry in entries] for kind, entries in found.items()}
    today = f"{now:%A}, {now.day} {now:%B %Y}"
    head = today if first == now.date() else f"The week up to {today}"
    lines = _told(opened, life, found, f"{opened.identity.name}: {head}", now)
    return {"from": f"{first}", "to": f"{now.date()}", **data}, lines


def _told(
    opened: Opened, life: Life, found: dict[str, list[LifeEntry]], head: str, now: datetime
) -> Iterator[str]:
    yield head
    if not any(found.values()):
        talks = life.of(kinds.SESSION)
        yield ""
        yield "Nothing yet."
        if talks:
            day = _day(talks[0].at)
            yield f"The last talk was on {day}: `bumble show week`, `bumble show NAME`."
        else:
            yield f'Say something: `bumble chat "Hello {opened.identity.name}"`.'
    names = {who.id: who.name for who in life.people}
    dated = any(entry.at.date() != now.date() for entries in found.values() for entry in entries)
    for kind, title in HEADS.items():
        yield from _section(title, found[kind], names, dated=dated)


def _person(life: Life, who: Portrait | None, hidden: str) -> tuple[dict[str, Any], Iterator[str]]:
    if who is None:
        return {"person": None}, iter([hidden])
    found = {
        kind: [entry for entry in life.entries.get(kind, []) if who.id in entry.people]
        for kind in HEADS
    }
    data = {
        "person": {"name": who.name, "names": list(who.names), "text": who.text}
        | {"dynamic": who.dynamic or None, "unresolved": list(who.unresolved)},
        **{kind: [_data(entry) for entry in entries] for kind, entries in found.items()},
    }
    return data, _portrait(who, found)


def _portrait(who: Portrait, found: dict[str, list[LifeEntry]]) -> Iterator[str]:
    talked = f", last talked on {_day(who.last_interaction)}" if who.last_interaction else ""
    yield f"{', also '.join((who.name, *who.names))}{talked}"
    for line in filter(None, (who.dynamic, *who.text.splitlines())):
        yield from _wrapped(line)
    if who.unresolved:
        yield from _wrapped(f"Open between them: {'; '.join(who.unresolved)}")
    for kind in (kinds.EPISODE.name, kinds.BELIEF.name):
        yield from _section(HEADS[kind], found[kind][:PERSON_MOST], {}, dated=True)
    if not (who.text or any(found.values())):
        yield "  Nothing yet but the name."


def _section(
    title: str, entries: Sequence[LifeEntry], names: dict[str, str], *, dated: bool
) -> Iterator[str]:
    """Tell of the newest memories of a kind, the oldest of them first."""
    if entries:
        yield ""
        yield title
    for entry in reversed(entries[:MOST]):
        when = f"{entry.at.day:2} {entry.at:%b}" if dated else f"{entry.at:%H:%M}"
        talked = [names.get(who, who) for who in entry.people] if entry.kind == "session" else []
        text = f"with {', '.join(talked)}: {_text(entry)}" if talked else _text(entry)
        yield from _wrapped(text, f"  {when}  ")
    if len(entries) > MOST:
        yield f"  and {len(entries) - MOST} more"


def _text(entry: LifeEntry) -> str:
    head, _, rest = entry.text.partition("\n")
    told = f"{head.lstrip('# ')}: {rest}" if head.startswith("#") and rest else entry.text
    plain = " ".join(told.replace("> ", "").split())
    text = entry.title if entry.title and entry.kind == "session" else plain
    return output.shorten(text or "; ".join(entry.fragments), TEXT_CHARS)


def _wrapped(text: str, head: str = "  ") -> list[str]:
    later = " " * len(head)
    return textwrap.wrap(text, WIDTH, initial_indent=head, subsequent_indent=later) or [head]


def _day(at: datetime) -> str:
    return f"{at.day} {at:%B %Y}"


def _data(entry: LifeEntry) -> dict[str, Any]:
    return {
        "at": entry.at.isoformat(timespec="seconds"),
        "text": entry.text or "; ".join(entry.fragments),
        "title": entry.title or None,
        "people": list(entry.people),
    }
