from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from bumble.entity.config import PricesConfig
from bumble.entity.folder import Entity
from bumble.llm.http_model import openai as connect_openai
from bumble.llm.protocol import Completion, OnText, Request
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.recall import deep_recall as deep
from bumble.recall.deep_recall import Recollection
from bumble.recall.memory_search import Search
from bumble.records.kinds import RECALLED
from bumble.runtime.runtime import Runtime
from tests.support.fake_server import FakeServer
from tests.support.sweeps import turns
from tests.support.turns import NOON, runtime_of, say, talk

QUESTION = "Which animals does Sam keep on the roof and in the cellar?"


def step(answer: str = "", places: Sequence[int] = (), *looks: Mapping[str, Any]) -> Reply:
    given = {"answer": answer, "from": list(places), "look": list(looks)}
    return Reply(json.dumps(given), purpose="deep_recall")


def look(*looks: Mapping[str, Any]) -> Reply:
    return step("", (), *looks)


def told(entity: Entity, *texts: str) -> Runtime:
    """An entity that was told some things, each in a conversation of its own."""
    runtime = runtime_of(entity, ScriptedModel([say("I see.") for _ in texts]))
    for text in texts:
        talk(runtime, text, new=True)
    return runtime


@pytest.fixture
def roof(ada: Entity) -> Runtime:
    return told(
        ada,
        "My bees live on the roof of the old bakery.",
        "In the cellar I keep three toads, Una, Dos and Tre.",
        "The weather was grey all week.",
    )


def asked(
    runtime: Runtime,
    *replies: Reply,
    question: str = QUESTION,
    readers: Sequence[str] = ("sam",),
    **options: Any,
) -> tuple[Recollection, ScriptedModel]:
    model = ScriptedModel(replies)
    runtime.memory.sync()
    search = Search(tuple(readers), "calm", NOON)
    return deep.recall(replace(runtime, model=model), search, question, **options), model


def test_a_plan_looks_and_answers_with_what_it_rests_on(roof: Runtime) -> None:
    result, model = asked(
        roof,
        look({"query": "grey weather"}, {"query": "toads cellar", "people": ["Sam"]}),
        step(
            "Sam keeps bees on the roof, three toads in the cellar.",
            [number_of(roof, "bees"), number_of(roof, "toads")],
        ),
    )
    assert result.way == "plan", result
    assert result.answer.startswith("Sam keeps bees")
    assert {source.kind for source in result.sources} == {"message"}
    assert all("bees" in source.text or "toads" in source.text for source in result.sources)
    assert len(result.trail) == 3
    assert result.trail[0] in model.requests[1].messages[-1].content
    assert result.spent.steps == 2
    assert result.spent.tokens > 0


def number_of(runtime: Runtime, word: str) -> int:
    """The number under which a plan knows a place that the question finds."""
    runtime.memory.sync()
    hits = runtime.memory.search(QUESTION, kinds=RECALLED, limit=10, audience=("sam",), faded=True)
    return next(n for n, hit in enumerate(hits, 1) if word in hit.text)


def test_what_is_read_stands_there_with_what_was_said_around_it(ada: Entity) -> None:
    runtime = told(ada, f"Our hike: {'then a steep path through wet larches, ' * 30} up to Brenta.")
    _, model = asked(
        runtime,
        look({"read": 1}),
        step("Brenta.", [1]),
        question="What was the hut of the hike through larches called?",
    )
    shown = [request.messages[-1].content for request in model.requests]
    assert ["Brenta" in text for text in shown] == [False, True]
    assert "Ada: I see." in shown[1]


def test_a_look_at_no_day_is_told_and_the_others_are_made(roof: Runtime) -> None:
    result, _ = asked(roof, look({"query": "roof", "from": "sometime"}, {"query": "toads"}), step())
    assert "failed" in result.trail[0]
    assert "places" in result.trail[1]
    assert result.is_miss


@pytest.mark.parametrize(
    ("answer", "places"),
    [
        ("Sam keeps bees on the roof.", [99]),  # no such place
        ("Sam keeps four wolves in Paris.", [1]),  # nobody said so
        ("Sam keeps bees on the roof.", []),  # rests on nothing
    ],
)
def test_an_answer_that_its_places_do_not_bear_out_is_refused(
    roof: Runtime, answer: str, places: list[int]
) -> None:
    result, model = asked(
        roof,
        step(answer, places),
        Reply("{}", purpose="deep_recall", always=True),
    )
    assert result.way == "recall"
    assert result.answer == ""
    assert "refused" in model.requests[1].messages[-1].content
    assert any("bees" in source.text for source in result.sources)


@pytest.mark.parametrize("again", [step("Sam keeps wolves in Paris.", [1]), look({"read": 1})])
def test_a_step_that_was_taken_before_ends_the_plan(roof: Runtime, again: Reply) -> None:
    result, model = asked(roof, replace(again, always=True))
    assert len(model.requests) == 2
    assert result.ended == "limit: one step was taken twice"
    assert any("bees" in source.text for source in result.sources)
    if "Paris" in str(again.text):
        assert "these places don't say" in model.requests[1].messages[-1].content


def test_what_three_near_memories_say_is_the_answer(
    ada: Entity, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "The green lantern hangs over the door"
    runtime = told(ada, f"{text}.", f"{text}!", f"{text}, yes.")
    monkeypatch.setattr(deep, "ENOUGH", 0.4)  # the hashing embedder finds them less alike
    result, model = asked(runtime, question=text)
    assert (result.way, model.requests) == ("recall", [])
    assert sum("lantern" in source.text for source in result.sources) == 3


def test_nothing_of_what_was_said_in_private_is_reached(roof: Runtime) -> None:
    result, model = asked(
        roof,
        look({"query": "toads cellar"}, {"read": 1}),
        step(),
        readers=("kim",),
    )
    assert result.is_miss
    assert "Una" not in str(model.requests)


def test_what_has_faded_is_found(ada: Entity) -> None:
    file = ada.root / "episodes/2026/05/ep_1.md"
    file.parent.mkdir(parents=True)
    head = "at: 2026-05-01T10:00:00Z\nsignificance: 1.0\ndormant: true\nfaded: 1.0"
    file.write_text(f"---\n{head}\n---\n\nA zeppelin landed in the orchard.\n")
    runtime = told(ada, "Hello.")
    result, _ = asked(runtime, question="What landed in the orchard?", calls=0)
    assert result.sources[0].id == "ep_1"


@pytest.mark.parametrize(
    ("scope", "found"), [("current_session", False), ("recent_sessions", True), ("all", True)]
)
def test_a_scope_bounds_what_is_reached(roof: Runtime, scope: Any, found: bool) -> None:
    result, _ = asked(roof, question="toads in the cellar", scope=scope, calls=0)
    assert any("toads" in source.text for source in result.sources) == found


class Endless:
    """A model that never ends: it looks again and again, or talks without a stop."""

    name, context_tokens = "endless", 8192

    def __init__(self, give: Callable[[Request], str], clock: list[float]) -> None:
        self.give, self.clock = give, clock
        self.calls = self.prompts = self.written = 0

    def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        self.calls += 1
        self.prompts += sum(len(message.content) // 4 for message in request.messages)
        text = self.give(request)
        pieces = itertools.repeat("talk ") if text == "…" else [text]
        for piece in pieces:
            self.written += len(piece) // 4
            self.clock[0] += 0.5
            if on_text is not None:
                on_text(piece)
        return Completion(text, "stop", self.name)

    def warm(self, request: Request) -> None:
        """Nothing."""

    def request_bytes(self, request: Request) -> int:
        return 0

    def close(self) -> None:
        """Nothing."""


def looks(asked: Request) -> str:
    """Look again, and read all there is."""
    words = f"bees roof {len(asked.messages[-1].content)}"  # no step twice
    again = [{"query": words}, *({"read": n} for n in (1, 2))]
    return json.dumps({"answer": "", "from": [], "look": again})


LIMITS: list[dict[str, Any]] = [
    {},
    {"steps": 3},
    {"max_tokens": 3000},
    {"max_tokens": 0},
    {"max_dollars": 0.004},
    {"max_dollars": 0.0},
    {"step_seconds": 4},
]
MANNERS = ("looks", "talks", "rambles")


@pytest.mark.parametrize(("limits", "manner"), turns(4, itertools.product(LIMITS, MANNERS)))
def test_a_model_that_never_ends_exceeds_nothing(
    ada: Entity, limits: dict[str, Any], manner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_text = "The bees on the roof. " + "Honey flows over the roof tiles. " * 800
    runtime = told(ada, long_text)
    config = replace(runtime.config.recall.deep, **limits)
    recall_config = replace(runtime.config.recall, deep=config)
    prices = PricesConfig(prompt=1.0, completion=4.0)
    settings = replace(
        runtime.config, recall=recall_config, llm=replace(runtime.config.llm, prices=prices)
    )
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    give = {"looks": looks, "talks": lambda _: "…", "rambles": lambda _: "no JSON " * 50}[manner]
    model = Endless(give, clock)
    runtime.memory.sync()
    result = deep.recall(
        replace(runtime, model=model, config=settings),
        Search(("sam",), "calm", NOON),
        "Where do the bees live?",
    )
    assert result.way == "recall"
    assert result.sources
    spent = result.spent
    assert spent.steps <= config.steps
    assert model.calls == spent.steps
    assert model.prompts + model.written <= spent.tokens <= config.max_tokens
    assert spent.dollars is not None
    assert spent.dollars <= config.max_dollars


def test_a_server_that_says_nothing_ends_with_its_step(
    roof: Runtime, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.routes["/v1/chat/completions"] = lambda exchange: exchange.hang(server)
    silent = connect_openai(f"{server.url}/v1", "tiny", context_tokens=8192)
    deep_config = replace(roof.config.recall.deep, step_seconds=0.5)
    config = replace(roof.config, recall=replace(roof.config.recall, deep=deep_config))
    roof.memory.sync()
    started = time.monotonic()
    result = deep.recall(
        replace(roof, model=silent, config=config), Search(("sam",), "calm", NOON), QUESTION
    )
    assert time.monotonic() - started < 10
    assert (result.way, result.ended) == ("recall", "limit: a step took 0.5 s")
    assert result.sources
    assert result.spent.steps == 1


@pytest.mark.parametrize("calls", [2, 5])
def test_a_budget_of_calls_is_kept(ada: Entity, calls: int) -> None:
    runtime = told(ada, "The bees on the roof. " + "Honey flows over the roof tiles. " * 1500)
    model = Endless(looks, [0.0])
    runtime.memory.sync()
    search = Search(("sam",), "calm", NOON)
    deep.recall(replace(runtime, model=model), search, "Where do the bees live?", calls=calls)
    assert model.calls == calls
