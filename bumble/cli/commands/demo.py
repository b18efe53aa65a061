"""`bumble demo`: a throw-away entity with a month behind it, made offline and without a model."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec import Struct

from bumble.cli import commit, new_entity, opening, output
from bumble.cli.command import plain
from bumble.cli.process import Shell
from bumble.entity import changes
from bumble.records import (
    base,
    beliefs,
    dreams,
    episodes,
    journal,
    knowledge,
    relationships,
    sessions,
)
from bumble.text import yaml_edit

LIFE = Path(__file__).parents[2] / "demo.yaml"
NAME, OWNER = "Ada", "Sam"
TRY = (
    'recall "what is the dog afraid of"',
    'why "Sam drinks green tea and no coffee."',
    "person show Sam",
    "journal show",
    'recall --as Bo "blue cup"',
    "log",
    "undo --last",
    "report ada.html",
)
VERBS = {  # of the commits, as the cycles name theirs
    "people": "reflect",
    "episodes": "remember",
    "knowledge": "distill",
    "beliefs": "distill",
    "journal": "journal",
    "dreams": "dream",
}


class DemoTalk(Struct, frozen=True):
    """A conversation of the month, with the ids of its messages."""

    person: str
    at: datetime
    messages: tuple[sessions.Message, ...]


@plain
def demo(
    shell: Shell,
    folder: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", help="The folder. Default: a new one of /tmp.")
    ] = None,
) -> None:
    """Make an entity with a month behind it, to try things on.

    Throw it away when you like. Its talks were written by hand. No model is asked, and nothing is
    fetched.
    """
    place = folder or Path(tempfile.mkdtemp(prefix="bumble-demo-")) / "ada"
    made = new_entity.make(
        shell, place, name=NAME, archetype="curious", owner=OWNER, timezone="UTC", asks=False
    )
    opened = opening.open_entity(shell, Path(made["folder"]))
    life = yaml_edit.parse_mapping(LIFE.read_text("utf-8"))
    for planned in _month(opened, life):
        commit.apply(opened, planned, trusts=False)
    tries = [f"bumble {line}" for line in TRY]
    where = f"export BUMBLE_ENTITY={shlex.quote(made['folder'])}"
    lines = [f"{NAME} lives in {made['folder']}, with a month behind her. Try:", f"  {where}"]
    lines += [f"  {line}" for line in tries]
    output.result(shell, "demo", {"folder": made["folder"], "try": tries}, lines)


def _month(opened: opening.Opened, life: Mapping[str, Any]) -> Iterator[changes.ChangeSet]:
    """Yield what happened, a change set each."""
    talks = [_talk(opened, entry, number) for number, entry in enumerate(life["talks"])]
    for told in talks:
        session_id = base.stable_id(sessions.PREFIX, told.at, "demo")
        session = sessions.new(session_id, told.at, told.person)
        change = sessions.plan_whole(session, told.messages, "a talk")
        yield changes.ChangeSet(f"chat: {told.person.title()} and {NAME}", (change,))
    for kind, make in MAKERS.items():
        for entry in life[kind]:
            if made := make(opened, entry, talks):
                yield changes.ChangeSet(f"{VERBS[kind]}: {_title(entry)}", (made,))


def _title(entry: Mapping[str, Any]) -> str:
    """Return what a commit says of an entry."""
    return str(entry.get("title") or entry.get("name") or output.shorten(entry["text"], 50))


def _at(opened: opening.Opened, entry: Mapping[str, Any]) -> datetime:
    midnight = opened.shell.now().replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight - timedelta(days=int(entry["day"])) + timedelta(hours=int(entry["hour"]))


def _talk(opened: opening.Opened, entry: Mapping[str, Any], number: int) -> DemoTalk:
    at, person = _at(opened, entry), str(entry["with"])
    messages = []
    for line, text in enumerate(entry["lines"]):
        own = line % 2 == 1
        said = at + timedelta(minutes=line)
        messages.append(
            sessions.Message(
                base.stable_id(sessions.MESSAGE_PREFIX, said, f"demo {number} {line}"),
                said,
                "assistant" if own else "user",
                text,
                "" if own else person,
                trust="entity" if own else "owner" if person == OWNER.lower() else "person",
                extra={} if own else {"name": person.title()},
            )
        )
    return DemoTalk(person, at, tuple(messages))


def _source(
    entry: Mapping[str, Any], talks: list[DemoTalk], by: str
) -> tuple[sessions.Message, base.Provenance]:
    number, line = entry["of"]
    told = talks[number]
    message = told.messages[line]
    return message, base.Provenance(by, "", (message.id,), message.trust, (told.person,))


def _episode(
    opened: opening.Opened, entry: Mapping[str, Any], talks: list[DemoTalk]
) -> changes.Change:
    message, origin = _source(entry, talks, "remember")
    made = episodes.new(
        base.stable_id(episodes.PREFIX, message.at, "demo"),
        message.at,
        entry["weight"],
        entry["text"],
        people=origin.audience,
        provenance=origin,
    )
    return episodes.plan_new(made, "remember")


def _belief(
    opened: opening.Opened, entry: Mapping[str, Any], talks: list[DemoTalk]
) -> changes.Change:
    message, origin = _source(entry, talks, "distill")
    belief_id = base.stable_id(beliefs.PREFIX, message.at, entry["text"])
    made = beliefs.new(
        belief_id, entry["text"], entry["kind"], entry["sure"], message.at, provenance=origin
    )
    return beliefs.plan_new(made, "believe")


def _section(
    opened: opening.Opened, entry: Mapping[str, Any], talks: list[DemoTalk]
) -> changes.Change | None:
    _, origin = _source(entry, talks, "distill")
    book = knowledge.read(opened.entity.knowledge)
    title, text = entry["title"], entry["text"]
    return knowledge.plan_set(book, title, text, "learn", by_entity=True, provenance=origin)


def _person(
    opened: opening.Opened, entry: Mapping[str, Any], talks: list[DemoTalk]
) -> changes.Change:
    message, origin = _source(entry, talks, "reflect")
    made = relationships.new(entry["name"], message.at, provenance=origin)
    met = [told for told in talks if told.person == made.id]
    whole = relationships.plan_update(
        made,
        "see",
        scores=relationships.Scores(**entry["scores"]),
        interaction_count=sum(len(told.messages) // 2 for told in met),
        last_interaction=met[-1].messages[-1].at,
        last_reflection=met[-1].messages[-1].at,
        text=entry["text"],
        provenance=origin,
    )
    text = (whole.data or b"").decode() if whole else ""
    return changes.write(relationships.path(made.id), text, None, "see")


def _entry(
    opened: opening.Opened, entry: Mapping[str, Any], talks: list[DemoTalk]
) -> changes.Change:
    at = _at(opened, entry)
    return journal.plan_add(
        at, entry["text"], UTC, "write", provenance=base.Provenance(by="reflect")
    )


def _dream(
    opened: opening.Opened, entry: Mapping[str, Any], talks: list[DemoTalk]
) -> changes.Change:
    at = _at(opened, entry)
    made = dreams.new(
        base.stable_id(dreams.PREFIX, at, "demo"), at, (), (entry["text"],), "", provenance=None
    )
    return dreams.plan_new(made, "dream")


MAKERS: Mapping[
    str, Callable[[opening.Opened, Mapping[str, Any], list[DemoTalk]], changes.Change | None]
] = {
    "people": _person,
    "episodes": _episode,
    "knowledge": _section,
    "beliefs": _belief,
    "journal": _entry,
    "dreams": _dream,
}
