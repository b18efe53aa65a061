"""How many planted facts a conversation still shows after it was compacted.

Long conversations, the same at every run: names, numbers, dates, decisions and tastes stand once
among small talk that has names, numbers and dates of its own. Each is compacted for a window of
4096 tokens, of which the conversation may keep a fifth; a fact survives when all its telling words
stand together in one line or message of what the model sees. What needs no model is held against
cutting the middle out and against random lines of the same length. Prints a table and writes
`bench/out/compact.json`.

    uv run python bench/compact.py [--model NAME] [--first N]
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import fmean
from typing import Any
from zoneinfo import ZoneInfo

from platformdirs import user_cache_path

from bumble.body import parameters
from bumble.cycles import compact, history
from bumble.cycles.compact import Job
from bumble.cycles.life import Life
from bumble.embed.hashing import HashingEmbedder
from bumble.entity import create, settings
from bumble.entity.create import Newborn
from bumble.errors import AnswerInvalidError
from bumble.index.memory import Memory
from bumble.llm import tokens
from bumble.llm.embedded import EmbeddedModel
from bumble.llm.protocol import Model
from bumble.llm.scripted import ScriptedModel
from bumble.models import catalog, store
from bumble.stores import sessions
from bumble.stores.sessions import Message, Session, ToolCall

OUT = Path(__file__).parent / "out"
NOON = datetime(2026, 5, 24, 12, tzinfo=UTC)
CONVERSATIONS, TURNS, FACTS, SEEDS = 8, 110, 20, 5
WINDOW_TOKENS, STABLE_TOKENS = 4096, 600
HEAD, TAIL = 2, 12  # messages that every way but the random lines leaves as they are

NAMES = "Ilse Bruno Marta Teodor Hanne Rafael Oksana Piet Noor Silvan Greta Amadou Yuki Leonor"
PLACES = "Porto Ghent Tartu Bergen Cork Malmö Trieste Lyon Gdansk Kyoto Basel Faro Utrecht Split"
MONTHS = "January February March April June July August September October November"
THINGS = "boiler violin kayak bicycle printer accordion telescope greenhouse sofa loom lathe tent"
TASTES = "coriander liquorice rhubarb anchovies marzipan beetroot aniseed turnips olives sardines"
DEEDS = (
    "sell the piano",
    "paint the hallway ochre",
    "cancel the gym",
    "adopt the greyhound",
    "move the workshop upstairs",
    "learn welding",
    "skip the reunion",
    "plant quinces",
)
# Of each kind: what is said, and what of it has to be there afterwards.
KINDS: Mapping[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "name": (
        ("my neighbour across the hall is called {name} and comes from {place}", ("name", "place")),
        ("the new colleague, {name}, moved here from {place}", ("name", "place")),
        ("{name} is the vet we go to, down in {place}", ("name", "place")),
    ),
    "number": (
        ("they want {number} euros for the {thing}", ("number", "thing")),
        (
            "the {thing} is locker number {number}, in case you need to remind me",
            ("number", "thing"),
        ),
        ("it turned out the {thing} weighs {number} kilos", ("number", "thing")),
    ),
    "date": (
        ("the appointment for the {thing} is on {day} {month}", ("thing", "day", "month")),
        ("{name} gets married on the {day}th of {month}", ("name", "day", "month")),
        ("we fly to {place} on {month} {day}", ("place", "day", "month")),
    ),
    "decision": (
        ("we talked it over and decided to {deed}", ("deed",)),
        ("so it's settled, I will {deed}", ("deed",)),
        ("in the end I chose to {deed}, no way back", ("deed",)),
    ),
    "taste": (
        ("oh, and I really can't stand {taste}", ("taste",)),
        ("I never told you, but {taste} is what I could eat every day", ("taste",)),
        ("if you ever cook for me, leave out the {taste}", ("taste",)),
    ),
}
SMALL = (
    "slept {n} hours or so and feel like a stone",
    "had {n} coffees before noon, that can't be healthy",
    "the bus was {n} minutes late again, as every {weekday}",
    "it is {n} degrees outside and the sky is grey",
    "I walked around the block for {n} minutes to clear my head",
    "{friend} sent another one of those cat videos",
    "{friend} and I just sat around and talked about nothing much",
    "nothing new here, really, the same as on {weekday}",
    "I keep looking out of the window instead of working",
    "do you ever get bored of all this, or is it always fresh for you",
    "dinner was fine, pasta again, I am not very inventive",
    "anyway, that is how the day goes, one thing and then another",
    "there was some music in the street and it made me smile for a bit",
    "I should really tidy up here, but not today, maybe on {weekday}",
    "I watched {n} episodes of that series and remember none of them",
    "work was long and the meeting had {n} people in it who all said the same",
)
REPLIES = (
    "I know that feeling. What would help?",
    "That sounds like a slow {weekday}.",
    "Ha, {n} is a lot. I would have stopped before.",
    "Tell me more, I am listening.",
    "It is always a little different with you.",
    "Then let us take it slowly today.",
    "I like how you say that.",
    "And how did {friend} take it?",
)
FRIENDS, WEEKDAYS = ["Tom", "Ana"], ["Monday", "Tuesday", "Thursday", "Friday", "Sunday"]


@dataclass(frozen=True)
class Fact:
    """Something that was said once."""

    kind: str
    at: int  # position of its message
    words: tuple[str, ...]  # what has to be there


@dataclass(frozen=True)
class Sample:
    """A conversation, and what was planted in it."""

    session: Session
    facts: tuple[Fact, ...]


def sample(seed: int) -> Sample:
    """Make a conversation."""
    rng = random.Random(seed)
    pools = {
        name: rng.sample(words, len(words))
        for name, words in (
            ("name", NAMES.split()),
            ("place", PLACES.split()),
            ("thing", THINGS.split()),
            ("taste", TASTES.split()),
            ("deed", list(DEEDS)),
        )
    }
    turns = sorted(rng.sample(range(1, TURNS - 1), FACTS))
    kinds = [*KINDS] * (FACTS // len(KINDS))
    rng.shuffle(kinds)
    planted = dict(zip(turns, kinds, strict=True))
    messages: list[Message] = []
    facts: list[Fact] = []
    for turn in range(TURNS):
        parts = [_small(rng, SMALL) for _ in range(rng.randint(1, 3))]
        if turn in planted:
            text, words = _fact(rng, planted[turn], pools)
            facts.append(Fact(planted[turn], len(messages), words))
            parts.insert(rng.randint(0, len(parts)), text)
        messages.append(_message(len(messages), "user", " ".join(map(_sentence, parts))))
        if rng.random() < 0.1:
            messages += _looked(rng, len(messages))
        messages.append(_message(len(messages), "assistant", _small(rng, REPLIES)))
    return Sample(sessions.appended(sessions.new(f"ses_{seed}", NOON, "sam"), messages), (*facts,))


def _fact(
    rng: random.Random, kind: str, pools: Mapping[str, list[str]]
) -> tuple[str, tuple[str, ...]]:
    pattern, keys = rng.choice(KINDS[kind])
    values = {"number": str(rng.randint(13, 990)), "day": str(rng.randint(4, 19))}
    values["month"] = rng.choice(MONTHS.split())
    values |= {name: pool[-1] for name, pool in pools.items()}
    for name in keys:
        if name in pools:
            pools[name].insert(0, pools[name].pop())  # one after the other, and round again
    return pattern.format(**values), tuple(values[name] for name in keys)


def _small(rng: random.Random, patterns: Sequence[str]) -> str:
    return rng.choice(patterns).format(
        n=rng.randint(2, 40), weekday=rng.choice(WEEKDAYS), friend=rng.choice(FRIENDS)
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _looked(rng: random.Random, at: int) -> list[Message]:
    """A search that found something of no use."""
    call = ToolCall(f"c{at}", "recall", {"query": "the day"})
    asks = _message(at, "assistant", "", tool_calls=(call,))
    found = " ".join(_sentence(_small(rng, SMALL)) for _ in range(4))
    told = {"extra": {"tool": "recall"}, "tool_call_id": call.id}
    return [asks, _message(at + 1, "tool", found, **told)]


def _message(n: int, role: str, text: str, **more: Any) -> Message:
    who: dict[str, Any] = {"speaker": "sam", "extra": {"name": "Sam"}} if role == "user" else {}
    at = NOON + timedelta(minutes=n)
    return Message(f"msg_{n:05}", at, role, text, **{**who, **more})


def life_of(folder: Path, model: Model) -> Life:
    """Wake somebody up who has nothing but this conversation."""
    entity = create.create(folder, Newborn("Ada", "curious", "Sam", "Europe/Lisbon"))
    loaded = settings.load(entity.file, flags={"cognition.max_context_tokens": WINDOW_TOKENS})
    if loaded.identity is None:
        raise TypeError("a newborn has an identity")
    zone, values = ZoneInfo("Europe/Lisbon"), loaded.values
    memory = Memory(
        entity, HashingEmbedder, name="Ada", zone=zone, config=loaded.config.recall, syncs=False
    )
    return Life(
        entity,
        loaded.identity,
        loaded.config,
        parameters.read(values["soma"], values["memory"], values["recall"]),
        model,
        memory,
        lambda: NOON + timedelta(days=1),
        random.Random(1),
        writes=False,
    )


def shown(session: Session) -> list[str]:
    """Return what the model sees of a conversation, message by message."""
    budget = int(WINDOW_TOKENS * 0.75) - STABLE_TOKENS
    return [one.content for one in history.view(session, budget).messages]


def whole(session: Session) -> list[str]:
    """Return all of a conversation as the model would see it."""
    return [part.message.content for part in history.shown(session)]


def middle_out(session: Session, budget: int) -> list[str]:
    """Keep both ends, as much of either."""
    texts = whole(session)
    kept: list[int] = []
    order = [
        n for pair in zip(range(len(texts)), reversed(range(len(texts))), strict=True) for n in pair
    ]
    for n in dict.fromkeys(order):
        budget -= cost(texts[n])
        if budget < 0:
            break
        kept.append(n)
    return [texts[n] for n in sorted(kept)]


def random_lines(session: Session, budget: int, seed: int, *, ends: bool) -> list[str]:
    """Keep lines by chance; with `ends`, those that compaction protects are kept first."""
    texts = whole(session)
    kept = [*texts[:HEAD], *texts[-TAIL:]] if ends else []
    rest = texts[HEAD:-TAIL] if ends else texts
    lines = [line for text in rest for line in _lines(text)]
    budget -= sum(map(cost, kept))
    chosen = []
    for line in random.Random(seed).sample(lines, len(lines)):
        budget -= tokens.estimate(line) + 1
        if budget < 0:
            break
        chosen.append(line)
    return [*kept, *chosen]


def _lines(text: str) -> list[str]:
    return [line for line in re.split(r"(?<=[.!?])\s+|\n", text) if line.strip()]


def cost(text: str) -> int:
    """Estimate what a message takes."""
    return tokens.estimate_message(text)


def survives(fact: Fact, texts: Sequence[str]) -> bool:
    """Whether all that makes a fact stands in one line."""
    lines = [line for text in texts for line in _lines(text)]
    return any(all(_has(word, line) for word in fact.words) for line in lines)


def _has(word: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?:th)?(?!\w)", text, re.IGNORECASE) is not None


def compacted(life: Life, one: Sample, **how: Any) -> list[str]:
    """Compact a conversation by the product's own code."""
    job = Job(one.session, STABLE_TOKENS, **how)
    return shown(compact.make(life, job, lambda _: None).session)


def score(
    samples: Sequence[Sample], ways: Mapping[str, Callable[[Sample], list[list[str]]]]
) -> Any:
    """Count for each way what survives; a way may give several views, whose mean counts."""
    table: dict[str, dict[str, float]] = {}
    for name, way in ways.items():
        rows = []
        for one in samples:
            before = sum(map(cost, whole(one.session)))
            last = len(one.session.messages) - TAIL
            for texts in way(one):
                kept = {fact: survives(fact, texts) for fact in one.facts}
                row = {"all": fmean(kept.values()), "tokens": sum(map(cost, texts)) / before}
                inside = [kept[fact] for fact in one.facts if HEAD <= fact.at < last]
                row["middle"] = fmean(inside)
                for kind in KINDS:
                    row[kind] = fmean(kept[fact] for fact in one.facts if fact.kind == kind)
                rows.append(row)
        table[name] = {key: round(fmean(row[key] for row in rows), 3) for key in rows[0]}
    return table


def open_model(name: str) -> Model:
    """Open weights that are on this machine."""
    entry = catalog.load().entry(name)
    weights = store.require(user_cache_path("bumble") / "weights", entry)
    return EmbeddedModel(
        weights.weights,
        name=name,
        sha256=entry.files[0].sha256,
        context_tokens=WINDOW_TOKENS,
        cache_dir=None,
        cache_limit_bytes=0,
    )


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="", help="also let this model summarise; it is slow")
    parser.add_argument("--first", type=int, default=CONVERSATIONS, help="so many conversations")
    arguments = parser.parse_args()
    samples = [sample(seed) for seed in range(1, arguments.first + 1)]
    with tempfile.TemporaryDirectory() as folder:
        life = life_of(Path(folder) / "ada", ScriptedModel([], context_tokens=WINDOW_TOKENS))
        excerpts = {one.session.id: compacted(life, one, use_model=False) for one in samples}
        budgets = {name: sum(map(cost, texts)) for name, texts in excerpts.items()}

        def chance(one: Sample, *, ends: bool) -> list[list[str]]:
            budget = budgets[one.session.id]
            return [random_lines(one.session, budget, n, ends=ends) for n in range(SEEDS)]

        ways: dict[str, Callable[[Sample], list[list[str]]]] = {
            "whole conversation": lambda one: [whole(one.session)],
            "middle cut out": lambda one: [middle_out(one.session, budgets[one.session.id])],
            "random lines": lambda one: chance(one, ends=False),
            "ends + random lines": lambda one: chance(one, ends=True),
            "prune only, newest": lambda one: [compacted(life, one, only_prune=True)],
            "excerpt (no model)": lambda one: [excerpts[one.session.id]],
        }
        failed: list[str] = []
        if arguments.model:
            able = life_of(Path(folder) / "bo", open_model(arguments.model))

            def told(one: Sample) -> list[list[str]]:
                try:
                    return [compacted(able, one)]
                except AnswerInvalidError as error:  # then nothing changes, and it counts as that
                    failed.append(f"{one.session.id}: {str(error).splitlines()[0]}")
                    return [shown(one.session)]

            ways["summary + carried lines"] = told
        table = score(samples, ways)
    columns = ("tokens", "all", "middle", *KINDS)
    print("  ".join(["".ljust(24), *(column.rjust(8) for column in columns)]))
    for name, row in table.items():
        print("  ".join([name.ljust(24), *(f"{row[column]:8.1%}" for column in columns)]))
    for line in failed:
        print(f"no summary: {line}")
    OUT.mkdir(exist_ok=True)
    report = {"model": arguments.model or None, "conversations": len(samples), "table": table}
    report |= {"turns": TURNS, "facts": FACTS, "window": WINDOW_TOKENS, "failed": failed}
    (OUT / "compact.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
