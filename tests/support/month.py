"""A stretch of a life, lived through the real commands: talks by day, a tick each half hour.

Writes down what every tick did, and afterwards holds the folder against what must be true of it.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import random
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from msgspec import Struct, field

from bumble.cli.app import main
from bumble.cli.process import Shell
from bumble.entity.folder import Entity
from bumble.jobs import tick
from bumble.llm import ledger
from bumble.records import (
    beliefs,
    dreams,
    episodes,
    journal,
    knowledge,
    narrative,
    relationships,
    session_files,
    soma,
    state,
)
from bumble.records.dreams import Dream
from bumble.records.sessions import Message
from tests.support import forked, mind
from tests.support.fake_server import Exchange, FakeServer

LISBON = ZoneInfo("Europe/Lisbon")
START = datetime(2026, 5, 1, tzinfo=LISBON)
HALF_HOUR = timedelta(minutes=30)
SETTLING = "settling (Ctrl-C leaves it for later) …\n"
HEARD = re.compile(r"^\w+ said in the meantime: .*\n?", re.MULTILINE)  # what it left for somebody
DREAM_HOURS, SILENCE, DREAMS_A_DAY = range(6), timedelta(hours=1), 2
SAM = (
    "My sister plays the cello in Porto|My sister practises until midnight|I love music in halls",
    "My boat leaks at the stern|My boat needs new planks before June|I prefer oak to pine",
    "My neighbour keeps nine bees' nests|My neighbour sells honey at church|I like bitter honey",
    "My grandfather died on Tuesday|My grandfather built clocks in Faro|I want to keep his watch",
    "My garden drowned in the storm|My tomatoes rot on the ground|I hope for a dry week",
    "My choir sings Bach in autumn|My choir lost two tenors|I need a quiet voice beside me",
    "My bicycle was stolen at the station|My bicycle had a green saddle|I walk to work now",
    "My brother won the chess cup|My brother trains with a robot|I admire patient people",
    "My kitchen smells of cardamom|My kitchen has one blue wall|I bake bread on Sundays",
    "My cat is afraid of thunder|My cat hides under the piano|I play softly for the animal",
    "My office moves to Braga|My office closes for a month|I prefer trains to motorways",
    "My roof lost eleven tiles|My roof must hold until winter|I fear ladders a little",
    "My mother learns Finnish|My mother writes letters to Turku|I like her handwriting",
    "My radio receives ships|My radio once caught Iceland|I listen before sleeping",
    "My knee hurts on stairs|My knee was cut open in March|I swim instead of running",
    "My daughter draws whales|My daughter wants a submarine|I keep every drawing",
    "My lamp flickers at dusk|My lamp came from a theatre|I repair things slowly",
    "My uncle prints maps|My uncle walked across Spain|I collect old atlases",
    "My well ran dry in July|My well is older than the house|I need a deeper pump",
    "My teacher returned from Goa|My teacher cooks with tamarind|I miss her stories",
)
BO = (
    "My horse refuses the bridge|My horse trusts only children|I ride before breakfast",
    "My novel has no ending|My novel grew a second villain|I write in the bath",
    "My telescope shows Saturn|My telescope weighs forty kilos|I love clear frost",
    "My cousin is afraid of lifts|My cousin climbs nineteen floors|I carry his parcels",
    "My vineyard caught mildew|My vineyard faces the north|I prefer white grapes",
    "My drum kit broke a window|My drum kit sleeps in the barn|I need thicker curtains",
    "My passport expired in Oslo|My passport has a torn page|I hate airports",
    "My goat won a ribbon|My goat eats newspapers|I like her stubbornness",
    "My lighthouse is for sale|My lighthouse lost its lens|I want to live by water",
    "My aunt deals in buttons|My aunt bought a carousel|I want to paint the horses",
)


class Moment(Struct, frozen=True):
    """Something that happens: a tick, or somebody says something."""

    at: datetime
    person: str = ""  # empty: a tick
    text: str = ""


class Stretch(Struct):
    """A stretch of life in a folder, and what was seen of it."""

    entity: Entity
    server: FakeServer
    environ: dict[str, str]
    rng: random.Random = field(default_factory=lambda: random.Random(7))
    findings: list[str] = field(default_factory=list)
    ticks: int = 0
    repeated: int = 0  # ticks that were made twice
    turns: Counter[date] = field(default_factory=Counter)

    def run(self, at: datetime, *argv: str) -> tuple[int, str, str]:
        """Run a command at a time; returns its code and what it printed."""
        seed = random.Random(self.rng.getrandbits(32))
        shell = Shell(self.environ, self.entity.root, self.entity.root, now_given=at, rng=seed)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(list(argv), shell)
        return code, out.getvalue(), err.getvalue()

    def ok(self, at: datetime, *argv: str) -> str:
        """Run a command that should do what it is told."""
        code, out, err = self.run(at, *argv)
        err = HEARD.sub("", err.replace(SETTLING, ""))
        if code or err:
            self.findings.append(f"{at:%m-%d %H:%M} {' '.join(argv)[:60]}: {code} {err.strip()}")
        return out

    def data(self, at: datetime, *argv: str) -> Any:
        """Run a command and read what it answers."""
        return json.loads(self.ok(at, *argv, "--json"))["data"]

    def live(self, moments: list[Moment]) -> None:
        """Let things happen."""
        for one in moments:
            if one.person:
                self.turns[one.at.date()] += 1
                self.ok(one.at, "chat", "--as", one.person, one.text)
            else:
                self.tick(one.at)

    def tick(self, at: datetime) -> None:
        """Tick; where that did something, and now and then, once more, which may do nothing."""
        self.ticks += 1
        done = self.data(at, "tick")["done"]
        if done or self.rng.random() < 0.1:
            self.repeated += 1
            before, asked = self.truth(), self.calls
            again = self.data(at, "tick")["done"]
            changed = [name for name, text in self.truth().items() if before.get(name) != text]
            if again or changed or self.calls != asked:
                names = [one["title"] for one in again]
                self.findings.append(f"{at:%m-%d %H:%M} ticked twice: {names} {changed}")

    def truth(self) -> dict[str, str]:
        """Return the hash of every truth file."""
        return {
            str(path.relative_to(self.entity.root)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(self.entity.root.rglob("*"))
            if path.is_file()
            and not {".bumble", ".git", "memory.db"}.intersection(
                path.relative_to(self.entity.root).parts
            )
        }

    @property
    def calls(self) -> int:
        """How often a model was asked anything."""
        asked = ledger.read_newest(self.entity.ledger)
        return sum(one.finish_reason not in ("warm", "skipped") for one in asked)

    def dreamt(self) -> list[Dream]:
        """Return the dreams, oldest first."""
        return list(dreams.DREAM.readable(self.entity.dreams))

    def messages(self) -> list[Message]:
        """Return all that was said."""
        paths = session_files.paths(self.entity.sessions)
        return [one for path in paths for one in session_files.load(path).messages]

    def at_once(self, at: datetime, commands: list[list[str]]) -> list[tuple[int, str]]:
        """Run commands in processes of their own, all together; codes, and what went wrong."""
        words = [["-e", str(self.entity.root), *argv, "--now", at.isoformat()] for argv in commands]
        nowhere, pipe = subprocess.DEVNULL, subprocess.PIPE
        started = [
            subprocess.Popen(
                **forked.bumble(argv, self.environ), stdout=nowhere, stderr=pipe, text=True
            )
            for argv in words
        ]
        told = [process.communicate(timeout=100)[1] for process in started]
        return [(process.returncode, text) for process, text in zip(started, told, strict=True)]

    def check(self, end: datetime, *, clones: bool = False, rivals: bool = False) -> None:
        """Hold the folder against what must be true of it.

        Args:
            end: The present.
            clones: Whether dreams came together here that knew nothing of each other.
            rivals: Whether several processes thought about the same things at once; what they
                wrote is one of each all the same.
        """
        self.findings += _rules(self.dreamt(), sorted(one.at for one in self.messages()))
        self.findings += [] if clones else _pairs(self.entity, self.dreamt())
        self.findings += _doubles(self.entity)
        self.findings += [] if rivals else _asked_again(self.server.seen)
        read_everything(self.entity)
        report = self.data(end, "doctor")
        wrong = [one for one in report["findings"] if one["level"] != "note"]
        self.findings += [f"doctor: {one}" for one in wrong]


def moments(
    days: int, *, talks: int, by_day: timedelta = HALF_HOUR, by_night: timedelta = HALF_HOUR
) -> Iterator[Moment]:
    """Yield what happens on some days, in order.

    Args:
        days: How many.
        talks: On how many of them, from the first on, people talk.
        by_day: How often it ticks outside the hours of dreams.
        by_night: How often it ticks within them.
    """
    planned = []
    for at in (START + n * HALF_HOUR for n in range(days * 48)):
        every = by_night if at.hour in DREAM_HOURS else by_day
        if not (at - START) % every:
            planned.append(Moment(at))
    for day in range(talks):
        at = START + timedelta(days=day)
        evening = at + timedelta(hours=(18, 23, 9, 21)[day % 4], minutes=40)
        planned += _talk("Sam", evening, SAM[day % len(SAM)])
        if day % 2:
            noon = at + timedelta(hours=12, minutes=5)
            planned += _talk("Bo", noon, BO[day // 2 % len(BO)])
        if day % 5 == 3:  # somebody who can't sleep
            night = at + timedelta(days=1, hours=1, minutes=10)
            planned += _talk("Bo", night, "My night is long|I count the bells")
    yield from sorted(planned, key=lambda one: (one.at, one.person))


def _talk(person: str, at: datetime, lines: str) -> list[Moment]:
    said = [f"Hello Ada, it is {at:%A} the {at.day}.", *(f"{one}." for one in lines.split("|"))]
    return [Moment(at + timedelta(minutes=3 * n), person, one) for n, one in enumerate(said)]


def _rules(found: list[Dream], said: list[datetime]) -> Iterator[str]:
    """Hold the dreams against the gates."""
    days = Counter(one.at.astimezone(LISBON).date() for one in found)
    yield from (f"{n} dreams on {day}" for day, n in days.items() if n > DREAMS_A_DAY)
    for one in found:
        if one.at.astimezone(LISBON).hour not in DREAM_HOURS:
            yield f"{one.id} at {one.at}: outside the hours"
        # who speaks in the very second of a dream may have come just after it
        if any(one.at - SILENCE < at < one.at for at in said):
            yield f"{one.id} at {one.at}: while somebody talked"


def _pairs(entity: Entity, found: list[Dream]) -> Iterator[str]:
    """Yield pairs that were dreamt again although others were left."""
    there = list(episodes.EPISODE.readable(entity.episodes))
    before = set[frozenset[str]]()
    for one in found:
        now = {frozenset(pair) for pair in one.pairs}
        known = [each for each in there if each.at <= one.at]
        fresh = sum(
            frozenset((a.id, b.id)) not in before
            for n, a in enumerate(known)
            for b in known[n + 1 :]
            if b.at - a.at >= timedelta(hours=24) and a.people == b.people
        )
        if now & before and fresh > len(now):
            yield f"{one.id}: {len(now & before)} pairs again, {fresh} others were left"
        before |= now


def _asked_again(seen: list[Exchange]) -> Iterator[str]:
    """Yield what the mind was asked twice."""
    asked = Counter(json.dumps(one.body["messages"]) for one in seen if one.body)
    yield from (f"asked {n} times: {text[-300:]}" for text, n in asked.items() if n > 1)


def _doubles(entity: Entity) -> Iterator[str]:
    """Yield whatever was written twice."""
    told = Counter(
        message
        for one in episodes.EPISODE.readable(entity.episodes)
        for message in one.provenance.sources
        if message.startswith("msg_")
    )
    yield from (f"{message} is in {n} episodes" for message, n in told.items() if n > 1)
    entries = Counter((one.at, one.text) for one in journal.read(entity.journal, LISBON).entries)
    yield from (f"{n} times in the journal: {one}" for one, n in entries.items() if n > 1)
    held = beliefs.BELIEF.readable(entity.beliefs)  # what two people said is not joined
    believed = Counter((one.text, one.provenance.audience) for one in held)
    yield from (f"{n} times believed: {one}" for one, n in believed.items() if n > 1)
    known = Counter(one.title for one in knowledge.read(entity.knowledge).sections)
    yield from (f"{n} times known: {one}" for one, n in known.items() if n > 1)


def read_everything(entity: Entity) -> None:
    """Read every file as what it is; raises where one is not."""
    for store in (
        episodes.EPISODE.readable(entity.episodes),
        beliefs.BELIEF.readable(entity.beliefs),
    ):
        list(store)
    list(relationships.PERSON.readable(entity.relationships))
    journal.read(entity.journal, LISBON)
    narrative.read(entity.narrative)
    soma.read(entity.soma)
    state.read(entity.state)


def by_day(lived: Stretch) -> list[dict[str, Any]]:
    """Tell what each day cost, from the two ledgers, and what it left."""
    rows: dict[date, dict[str, Any]] = {}

    def row(at: datetime) -> dict[str, Any]:
        day = at.astimezone(LISBON).date()
        zeros = dict.fromkeys(("turns", "calls", "of_chat", "tokens", "episodes", "runs"), 0)
        return rows.setdefault(day, {"day": f"{day:%m-%d}", **zeros, "dreams": []})

    for call in ledger.read_newest(lived.entity.ledger):
        if call.finish_reason not in ("warm", "skipped"):
            one = row(call.at)
            one["calls"] += 1
            one["of_chat"] += call.purpose in ("chat", "judge", "route")
            one["tokens"] += (call.prompt_tokens or 0) + (call.completion_tokens or 0)
    for run in tick.read(lived.entity.runs):
        row(run.at)["runs"] += bool(run.events)
    for episode in episodes.EPISODE.readable(lived.entity.episodes):
        row(episode.at)["episodes"] += 1
    for dream in lived.dreamt():
        row(dream.at)["dreams"].append(f"{dream.at.astimezone(LISBON):%H:%M}")
    for day, turns in lived.turns.items():
        rows[day]["turns"] = turns
    return [rows[day] for day in sorted(rows)]


def purposes(entity: Entity) -> dict[str, tuple[int, int]]:
    """Return calls and tokens by purpose."""
    found: dict[str, tuple[int, int]] = {}
    for call in ledger.read_newest(entity.ledger):
        calls, tokens = found.get(call.purpose, (0, 0))
        more = (call.prompt_tokens or 0) + (call.completion_tokens or 0)
        if call.finish_reason not in ("warm", "skipped"):
            found[call.purpose] = calls + 1, tokens + more
    return found


def born(folder: Path, server: FakeServer, home: Path, *, git: bool) -> Stretch:
    """Make Ada, who dreams, with `bumble new`."""
    environ = {"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin", **mind.environ(server)}
    lived = Stretch(Entity(folder), server, environ)
    shell = Shell(environ, folder.parent, now_given=START)
    words = ["new", str(folder), "--name", "Ada", "--owner", "Sam", "--timezone", "Europe/Lisbon"]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        code = main(words if git else [*words, "--no-git"], shell)
    if code:
        lived.findings.append(f"new: {code}")
    settings = {"soma.dreams.enabled": "true", "embedding.model": "none", "limits.settle": "wait"}
    for name, value in settings.items():
        lived.ok(START, "config", "set", name, value)
    return lived
