"""How many planted facts a conversation still shows after it was compacted.

Long conversations, the same at every run: names, numbers, dates, decisions and tastes stand once
among small talk that has names, numbers and dates of its own. Eight are made from patterns, three
(--talks bench/data/compact) were written by hand, by somebody who did not know the code. Each is
compacted for a window of 4096 tokens, and may keep a fifth of its tokens; a fact survives when all
its telling words stand together in one line or message of what the model sees. What needs no model
is held against cutting the middle out and against random lines of the same length. Prints a table
and writes `bench/out/compact.json`.

With --model also the model's summary. Of what the flush drew, row `flush` counts what comes to mind
when the fact is asked for, `flush-all` all of it; with `recall` messages that left the view come to
mind too. A memory counts as a line.

With --locomo FILE, also the share of the words of LoCoMo's answers that the lines chosen from each
conversation hold, against random lines: people who talk, not patterns.

    uv run python bench/compact.py [--model NAME] [--rows summary,flush] [--talks FOLDER]
                                   [--first N] [--share S] [--embedder NAME] [--locomo FILE]
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import fmean
from typing import Any
from zoneinfo import ZoneInfo

from msgspec import Struct, field
from msgspec.structs import replace
from platformdirs import user_cache_path
from ruamel.yaml import YAML

from bumble.entity import settings
from bumble.entity.changes import ChangeSet
from bumble.entity.create import NewEntity
from bumble.errors import AnswerInvalidError
from bumble.guard import excerpt
from bumble.guard.excerpt import SpokenLine
from bumble.index.memory import Memory
from bumble.jobs import stretch
from bumble.llm import scripted
from bumble.llm.embedded import EmbeddedModel
from bumble.llm.protocol import Model
from bumble.llm.scripted import ScriptedModel
from bumble.models.embed.protocol import Embedder
from bumble.models.weights import catalog, embedders, store
from bumble.prompt import compact, system
from bumble.prompt import transcript as history
from bumble.prompt.compact import CompactJob
from bumble.recall import prompt_memories
from bumble.records import beliefs, knowledge, session_files, sessions, state
from bumble.records.sessions import Message, Session, ToolCall
from bumble.runtime import job
from bumble.runtime.runtime import Runtime
from bumble.text import stop_words, tokens
from bumble.text.words import sentences
from tests.support import newborns

OUT = Path(__file__).parent / "out"
CACHE = user_cache_path("bumble") / "weights"
NOON = datetime(2026, 5, 24, 12, tzinfo=UTC)
CONVERSATIONS, TURNS, FACTS, SEEDS = 8, 110, 20, 5
WINDOW_TOKENS, STABLE_TOKENS = 4096, 600
VIEW_TOKENS = int(WINDOW_TOKENS * 0.75) - STABLE_TOKENS
HEAD, TAIL = 2, 12  # messages that every way but the random lines leaves as they are

ROWS = {  # as --rows has them, and as the table does
    "whole": "whole conversation",
    "middle": "middle cut out",
    "random": "random lines",
    "ends": "ends + random lines",
    "prune": "prune only, newest",
    "excerpt": "excerpt (no model)",
    "summary": "summary + carried lines",
    "flush": "the same, flushed and recalled",
    "flush-all": "the same, all that was flushed",
    "recall": "flushed, with transcript recalled",
}

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
# Of each kind: what is said, what of it has to be there afterwards, and what asks for it.
KINDS: Mapping[str, tuple[tuple[str, tuple[str, ...], str], ...]] = {
    "name": (
        (
            "my neighbour across the hall is called {name} and comes from {place}",
            ("name", "place"),
            "What is my neighbour across the hall called, and where is that from?",
        ),
        (
            "the new colleague, {name}, moved here from {place}",
            ("name", "place"),
            "Who is the new colleague, and from where did they move here?",
        ),
        (
            "{name} is the vet we go to, down in {place}",
            ("name", "place"),
            "Who is the vet we go to, and where?",
        ),
    ),
    "number": (
        (
            "they want {number} euros for the {thing}",
            ("number", "thing"),
            "How much do they want for the {thing}?",
        ),
        (
            "the {thing} is locker number {number}, in case you need to remind me",
            ("number", "thing"),
            "Which locker number is the {thing}?",
        ),
        (
            "it turned out the {thing} weighs {number} kilos",
            ("number", "thing"),
            "How heavy is the {thing}?",
        ),
    ),
    "date": (
        (
            "the appointment for the {thing} is on {day} {month}",
            ("thing", "day", "month"),
            "When is the appointment for the {thing}?",
        ),
        (
            "{name} gets married on the {day}th of {month}",
            ("name", "day", "month"),
            "When does {name} get married?",
        ),
        (
            "we fly to {place} on {month} {day}",
            ("place", "day", "month"),
            "When do we fly to {place}?",
        ),
    ),
    "decision": (
        ("we talked it over and decided to {deed}", ("deed",), "What did we decide?"),
        ("so it's settled, I will {deed}", ("deed",), "What is settled that I will do?"),
        ("in the end I chose to {deed}, no way back", ("deed",), "What did I choose to do?"),
    ),
    "taste": (
        ("oh, and I really can't stand {taste}", ("taste",), "What can't I stand?"),
        (
            "I never told you, but {taste} is what I could eat every day",
            ("taste",),
            "What could I eat every day?",
        ),
        (
            "if you ever cook for me, leave out the {taste}",
            ("taste",),
            "If you cook for me, what should you leave out?",
        ),
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
FRIENDS = ("Tom", "Ana")
WEEKDAYS = ("Monday", "Tuesday", "Thursday", "Friday", "Sunday")


class Fact(Struct, frozen=True):
    """Something that was said once."""

    kind: str
    at: int  # position of its message
    words: tuple[str, ...]  # what has to be there
    question: str  # that asks for it


class Sample(Struct, frozen=True):
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
            text, words, question = _fact(rng, planted[turn], pools)
            facts.append(Fact(planted[turn], len(messages), words, question))
            parts.insert(rng.randint(0, len(parts)), text)
        messages.append(_message(len(messages), "user", " ".join(map(_sentence, parts))))
        if rng.random() < 0.1:
            messages += _looked(rng, len(messages))
        messages.append(_message(len(messages), "assistant", _small(rng, REPLIES)))
    return Sample(sessions.appended(sessions.new(f"ses_{seed}", NOON, "sam"), messages), (*facts,))


def written(path: Path) -> Sample:
    """Read a conversation that was written by hand: turns, and what was planted in them."""
    data = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    messages: list[Message] = []
    for said, answered in data["turns"]:
        told = _message(len(messages), "user", said)
        messages.append(replace(told, extra={"name": data["person"]}))
        messages.append(_message(len(messages), "assistant", answered))
    facts = [
        Fact(one["kind"], 2 * one["turn"], tuple(map(str, one["words"])), one["question"])
        for one in data["facts"]
    ]
    new = sessions.new(f"ses_{path.stem}", NOON, "sam")
    return Sample(sessions.appended(new, messages), (*facts,))


def _fact(
    rng: random.Random, kind: str, pools: Mapping[str, list[str]]
) -> tuple[str, tuple[str, ...], str]:
    pattern, keys, question = rng.choice(KINDS[kind])
    values = {"number": str(rng.randint(13, 990)), "day": str(rng.randint(4, 19))}
    values["month"] = rng.choice(MONTHS.split())
    values |= {name: pool[-1] for name, pool in pools.items()}
    for name in keys:
        if name in pools:
            pools[name].insert(0, pools[name].pop())  # one after the other, and round again
    telling = tuple(values[name] for name in keys)
    return pattern.format(**values), telling, question.format(**values)


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


def life_for(
    one: Sample,
    folder: Path,
    model: Model,
    share: float,
    embedder: Embedder | None = None,
    *,
    writes: bool,
) -> Runtime:
    """Wake somebody up who may keep a share of a conversation."""
    ratio = share * sum(map(cost, whole(one.session))) / WINDOW_TOKENS
    entity = newborns.created(folder, NewEntity("Ada", "curious", "Sam", "Europe/Lisbon"))
    flags = {
        "cognition.max_context_tokens": WINDOW_TOKENS,
        "cognition.history_compression.compaction_target_ratio": ratio,
    }
    loaded = settings.load(entity.file, flags=flags)
    if loaded.identity is None:
        raise TypeError("a newborn has an identity")
    zone = ZoneInfo("Europe/Lisbon")
    memory = Memory(
        entity,
        lambda: embedder,
        name="Ada",
        zone=zone,
        syncs=writes,
    )
    return Runtime(
        entity,
        loaded.identity,
        loaded.config,
        model,
        memory,
        lambda: NOON + timedelta(days=1),
        random.Random(1),
        writes=writes,
        local=isinstance(model, EmbeddedModel),
    )


def shown(session: Session) -> list[str]:
    """Return what the model sees of a conversation, message by message."""
    return [one.content for one in history.view(session, VIEW_TOKENS).messages]


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
        budget -= cost(line)
        if budget < 0:
            break
        chosen.append(line)
    return [*kept, *chosen]


def _lines(text: str) -> list[str]:
    return [line for line in re.split(r"(?<=[.!?])\s+|\n", text) if line.strip()]


def cost(text: str) -> int:
    """Estimate what a text takes, without what stands around a message."""
    return tokens.estimate(text) + 1


def survives(fact: Fact, view: View) -> bool:
    """Whether all that makes a fact stands in one line, or in one memory."""
    lines = [*(line for text in view.texts for line in _lines(text)), *view.memories(fact)]
    return any(all(_has(word, line) for word in fact.words) for line in lines)


def _has(word: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?:th)?(?!\w)", text, re.IGNORECASE) is not None


class View(Struct, frozen=True):
    """What a model sees of a conversation, and what it is given beside it."""

    texts: Sequence[str]
    always: Sequence[str] = ()  # memories that are there whatever is asked
    asked: Mapping[str, Sequence[str]] = field(default_factory=dict)  # those a question brings

    def memories(self, fact: Fact) -> Sequence[str]:
        """Return the memories that are there when a fact is asked for."""
        return (*self.always, *self.asked.get(fact.question, ()))

    @property
    def cost(self) -> int:
        """Estimate what it takes, on average of the questions."""
        found = [sum(map(cost, lines)) for lines in self.asked.values()] or [0]
        return sum(map(cost, (*self.texts, *self.always))) + round(fmean(found))


class Slept(Struct, frozen=True):
    """A conversation that was compacted where it lies, and what was distilled before that."""

    runtime: Runtime
    session: Session  # compacted
    drawn: tuple[str, ...]  # facts and beliefs
    problems: tuple[str, ...] = ()


def sleep(runtime: Runtime, one: Sample, *, flushes: bool) -> Slept:
    """Compact a conversation in its folder as `bumble compact` does."""
    talk = one.session
    new = sessions.new(talk.id, NOON, "sam")
    wait = state.plan_heard(state.read(runtime.entity.state), new, talk.messages[0].id, "")
    begun = (sessions.plan_start(new, ""), sessions.plan_append(new, talk.messages, ""))
    runtime.apply(ChangeSet("", (*begun, *([wait] if wait else []))))
    try:
        made = compact.run(runtime, CompactJob(talk, STABLE_TOKENS))
    except AnswerInvalidError as error:  # then nothing changes, and it counts as that
        return Slept(runtime, talk, (), (str(error).splitlines()[0],))
    problems: tuple[str, ...] = ()
    if flushes:
        made = stretch.flush(runtime, made, limit=None, note=lambda _: None)
        problems = tuple(line for line in made.lines if line.startswith("Nothing was distilled"))
    job.apply(runtime, made)
    runtime.memory.sync()
    book = knowledge.read(runtime.entity.knowledge)
    facts = [f"{one.title}: {one.text}" for one in book.sections if not one.locked]
    held = [one.text for one in beliefs.BELIEF.readable(runtime.entity.beliefs)]
    found = session_files.find(runtime.entity.sessions, talk.id)
    return Slept(runtime, found, (*facts, *held), problems)


def asked(slept: Slept, facts: Sequence[Fact], *, transcript: bool) -> View:
    """Return what is seen when each fact is asked for: the view, and what comes to mind.

    Args:
        slept: The conversation.
        facts: What is asked for.
        transcript: Whether messages that left the view come to mind too, not only memories.
    """
    runtime, talk = slept.runtime, slept.session
    unseen = history.view(talk, VIEW_TOKENS).unseen if transcript else ()
    found: dict[str, list[str]] = {}
    for fact in facts:
        at = runtime.now()
        message = Message("msg_zzzzz", at, "user", fact.question, speaker="sam", trust="owner")
        blocks = prompt_memories.blocks(
            runtime, sessions.appended(talk, [message]), "sam", "content", at, unseen
        )
        kept = system.fitting(blocks, runtime.config.prompt.preamble_max_tokens, keeps_first=True)
        lines = [line for block in kept for line in block.text.splitlines()]
        found[fact.question] = [line for line in lines if line.startswith("- ")]
    return View(shown(talk), asked=found)


def compacted(runtime: Runtime, one: Sample, **how: Any) -> list[str]:
    """Compact a conversation by the product's own code."""
    job = CompactJob(one.session, STABLE_TOKENS, **how)
    return shown(compact.make(runtime, job, lambda _: None).session)


def score(samples: Sequence[Sample], ways: Mapping[str, Callable[[Sample], Sequence[View]]]) -> Any:
    """Count for each way what survives; a way may give several views, whose mean counts."""
    rows: dict[str, list[dict[str, float]]] = {name: [] for name in ways}
    for one in samples:
        before = sum(map(cost, whole(one.session)))
        last = len(one.session.messages) - TAIL
        for name, way in ways.items():
            for view in way(one):
                kept = {fact: survives(fact, view) for fact in one.facts}
                row = {"all": fmean(kept.values()), "tokens": view.cost / before}
                inside = [kept[fact] for fact in one.facts if HEAD <= fact.at < last]
                row["middle"] = fmean(inside)
                for kind in KINDS:
                    row[kind] = fmean(kept[fact] for fact in one.facts if fact.kind == kind)
                rows[name].append(row)
            print(f"{one.session.id}, {name}: {rows[name][-1]['all']:.0%}", file=sys.stderr)
    return {
        name: {key: round(fmean(row[key] for row in found), 3) for key in found[0]}
        for name, found in rows.items()
    }


def locomo(path: Path, share: float) -> dict[str, dict[str, float]]:
    """Tell which share of the answers' words is in the lines chosen from each conversation."""
    rows: dict[str, list[float]] = {"random lines": [], "excerpt (no model)": []}
    for one in json.loads(path.read_text(encoding="utf-8")):
        talk = one["conversation"]
        parts = sorted((int(key[8:]), key) for key in talk if re.fullmatch(r"session_\d+", key))
        turns = [turn for _, key in parts for turn in talk[key]]
        lines = [
            SpokenLine("", turn["speaker"], text)
            for turn in turns
            for text in sentences(turn["text"])
        ]
        answers = [
            words
            for asked in one["qa"]
            if (words := set(stop_words.telling_words(str(asked.get("answer", "")))))
        ]
        budget = int(share * sum(cost(str(line)) + excerpt.LINE_TOKENS for line in lines))
        chosen = [" ".join(map(str, excerpt.choose(lines, budget)))]
        rows["excerpt (no model)"] += _answered(chosen, answers)
        chance = []
        for seed in range(SEEDS):
            left, some = budget, []
            for line in random.Random(seed).sample(lines, len(lines)):
                left -= cost(str(line)) + excerpt.LINE_TOKENS
                if left < 0:
                    break
                some.append(str(line))
            chance.append(" ".join(some))
        rows["random lines"] += _answered(chance, answers)
    return {name: {"answer words": round(fmean(found), 3)} for name, found in rows.items()}


def _answered(texts: Sequence[str], answers: Sequence[set[str]]) -> list[float]:
    return [
        len(words & heard) / len(words)
        for text in texts
        for heard in [set(stop_words.words(text))]
        for words in answers
    ]


def open_model(name: str) -> Model:
    """Open weights that are on this machine, or a file of answers (`script:FILE`)."""
    backend, _, rest = name.rpartition(":")
    if backend == "script":
        return ScriptedModel(scripted.read(Path(rest)), context_tokens=WINDOW_TOKENS)
    entry = catalog.load().entry(rest)
    weights = store.require(CACHE, entry)
    return EmbeddedModel(
        weights.weights,
        name=rest,
        sha256=entry.files[0].sha256,
        context_tokens=WINDOW_TOKENS,
        cache_dir=None,
        cache_limit_bytes=0,
    )


def open_embedder(name: str) -> Embedder | None:
    """Open an embedding model that is on this machine; with `none`, words alone are searched."""
    return None if name == "none" else embedders.open_embedder(CACHE, catalog.load().entry(name))


def without_model(
    samples: Sequence[Sample], folder: Path, share: float
) -> dict[str, Callable[[Sample], Sequence[View]]]:
    """Return the ways that need no model; those by chance get the length of the excerpt."""
    none = ScriptedModel([], context_tokens=WINDOW_TOKENS)
    lives = {
        one.session.id: life_for(
            one, folder / f"looks at {one.session.id}", none, share, writes=False
        )
        for one in samples
    }
    excerpts = {
        one.session.id: compacted(lives[one.session.id], one, use_model=False) for one in samples
    }
    budgets = {name: sum(map(cost, texts)) for name, texts in excerpts.items()}

    def chance(one: Sample, *, ends: bool) -> Sequence[View]:
        budget = budgets[one.session.id]
        return [View(random_lines(one.session, budget, n, ends=ends)) for n in range(SEEDS)]

    return {
        "whole": lambda one: [View(whole(one.session))],
        "middle": lambda one: [View(middle_out(one.session, budgets[one.session.id]))],
        "random": lambda one: chance(one, ends=False),
        "ends": lambda one: chance(one, ends=True),
        "prune": lambda one: [View(compacted(lives[one.session.id], one, only_prune=True))],
        "excerpt": lambda one: [View(excerpts[one.session.id])],
    }


def with_model(
    slept: Callable[[Sample], Slept],
) -> dict[str, Callable[[Sample], Sequence[View]]]:
    """Return the ways that need a model; all of them look at one compaction."""

    def drawn(one: Sample) -> Sequence[View]:
        found = slept(one)
        return [View(shown(found.session), always=found.drawn)]

    return {
        "summary": lambda one: [View(shown(slept(one).session))],
        "flush": lambda one: [asked(slept(one), one.facts, transcript=False)],
        "flush-all": drawn,
        "recall": lambda one: [asked(slept(one), one.facts, transcript=True)],
    }


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="", help="also let this model summarise; it is slow")
    parser.add_argument("--rows", default="", help=f"only these: {', '.join(ROWS)}")
    parser.add_argument("--embedder", default="all-minilm-l6-v2", help="for what is recalled")
    parser.add_argument("--talks", type=Path, default=None, help="conversations written by hand")
    parser.add_argument("--first", type=int, default=CONVERSATIONS, help="so many conversations")
    parser.add_argument("--share", type=float, default=0.2, help="of a conversation that is kept")
    parser.add_argument("--locomo", type=Path, default=None, help="a file of LoCoMo's form")
    arguments = parser.parse_args()
    wanted = arguments.rows.split(",") if arguments.rows else [*ROWS]
    if unknown := [name for name in wanted if name not in ROWS]:
        parser.error(f"no such row: {', '.join(unknown)}; there are {', '.join(ROWS)}")
    if arguments.talks:
        samples = [written(path) for path in sorted(arguments.talks.glob("*.yaml"))]
    else:
        samples = [sample(seed) for seed in range(1, CONVERSATIONS + 1)]
    samples = samples[: arguments.first]
    problems: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        ways = without_model(samples, Path(folder), arguments.share)
        if arguments.model:
            model, flushes = open_model(arguments.model), bool({"flush", "flush-all"} & {*wanted})
            embedder = open_embedder(arguments.embedder)
            done: dict[str, Slept] = {}

            def slept(one: Sample) -> Slept:
                name = one.session.id
                if name not in done:
                    place = Path(folder) / name
                    runtime = life_for(one, place, model, arguments.share, embedder, writes=True)
                    print(f"{name}: {arguments.model} tells it", file=sys.stderr)
                    done[name] = sleep(runtime, one, flushes=flushes)
                    problems.extend(f"{name}: {line}" for line in done[name].problems)
                return done[name]

            ways |= with_model(slept)
        table = score(samples, {ROWS[name]: ways[name] for name in wanted if name in ways})
    columns = ("tokens", "all", "middle", *KINDS)
    print("  ".join(["".ljust(34), *(column.rjust(8) for column in columns)]))
    for name, row in table.items():
        print("  ".join([name.ljust(34), *(f"{row[column]:8.1%}" for column in columns)]))
    for line in problems:
        print(line)
    answered = locomo(arguments.locomo, arguments.share) if arguments.locomo else {}
    for name, row in answered.items():
        print(f"LoCoMo, {name}: {row['answer words']:.1%} of the answers' words")
    OUT.mkdir(exist_ok=True)
    report = {"model": arguments.model or None, "conversations": len(samples), "table": table}
    report |= {"share": arguments.share, "locomo": answered}
    report |= {"turns": TURNS, "facts": FACTS, "window": WINDOW_TOKENS, "failed": problems}
    (OUT / "compact.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
