"""Deep recall: what is recalled where that is near enough, else a plan by the model.

Without a model that may write, and where its plan came to nothing, memory answers in quotes.

Knows nothing of who asks, nor of how the answer is shown or kept.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from bumble.errors import UserError
from bumble.fallback import sayings
from bumble.guard import verifier
from bumble.guard.speakers import Speakers
from bumble.index.search import Hit
from bumble.llm import prompts, structured
from bumble.llm.protocol import Request
from bumble.recall import memory_search
from bumble.recall.deep_recall import bounds
from bumble.recall.prompt_memories import QUOTED_FROM
from bumble.records import base, relationships
from bumble.records.kinds import INDEXED
from bumble.runtime.job import request
from bumble.runtime.runtime import Runtime
from bumble.text import stop_words, tokens, words

LEAST_BORNE = 0.6  # of the words of a sentence, in the cited places and the question together


def citation_problem(answer: str, cited: Sequence[Hit], question: str, names: Sequence[str]) -> str:
    """Return why an answer may not stand; empty if it may.

    Args:
        answer: What a model wrote.
        cited: The places it says it rests on.
        question: What was asked; its words need no source, its names and numbers do.
        names: Of the entity and of those it knows.
    """
    if not cited:
        return "it rests on no place"
    texts = [f"{source.speaker}: {source.text} {_date(source)}" for source in cited]
    borne = "\n".join((question, *texts))
    speakers = Speakers(names)
    for sentence in words.sentences(answer):
        reason = verifier.problem(sentence, texts, speakers, messages=[borne], least=LEAST_BORNE)
        if reason is not None:
            return reason
    return ""


def _date(source: Hit) -> str:
    return f"{source.at:%Y-%m-%d %d %B %A}" if source.at else ""


TAGS = ("question", "looks", "notes", "places", "lines")  # of the prompts
PURPOSE, PIECE = "deep_recall", "deep_recall_piece"
ANSWER_TOKENS, PIECE_TOKENS = 320, 96  # of one step, of one sub-call
LINE_TOKENS = 120  # of one place in a list
TEMPERATURE = 0.2
WINDOW_SHARE = 0.5  # of the window that places and notes may fill
MOST_WINDOW_TOKENS = 6_000  # however large the window is: a step has to be read in time
FINAL = "final"  # how a plan ends by itself
UNUSABLE = 2  # answers in a row that can't be read, before the plan ends
NUMBERS = {"type": "array", "items": {"type": "integer", "minimum": 1}, "maxItems": 20}
TEXT = {"type": "string", "maxLength": 600}
DAY = {"type": "string", "maxLength": 10}
PIECE_SCHEMA = {
    "type": "object",
    "properties": {"numbers": NUMBERS},
    "required": ["numbers"],
    "additionalProperties": False,
}


def _action(name: str, required: Mapping[str, Any], **optional: Any) -> Mapping[str, Any]:
    return {
        "type": "object",
        "properties": {"action": {"const": name}, **required, **optional},
        "required": ["action", *required],
        "additionalProperties": False,
    }


SCHEMA: Mapping[str, Any] = {
    "anyOf": [
        _action(
            "search",
            {"query": TEXT},
            kind={"enum": list(INDEXED)},
            people={"type": "array", "items": {"type": "string", "maxLength": 80}, "maxItems": 4},
            **{"from": DAY, "to": DAY},
        ),
        _action(
            "read",
            {"number": {"type": "integer", "minimum": 1}},
            around={"type": "integer", "minimum": 0, "maximum": bounds.MOST_AROUND},
        ),
        _action("note", {"text": TEXT, "from": NUMBERS}),
        _action(FINAL, {"answer": TEXT, "from": NUMBERS}),
    ]
}


class PlanOutcome(Struct, frozen=True):
    """What a plan came to."""

    answer: str  # in the model's words; empty: it has none that its places bear out
    cited: tuple[Hit, ...]
    trail: tuple[str, ...]  # a line a step
    ended: str  # FINAL, or why it ended before that


class _Board(Struct):
    """What a plan has in front of it."""

    places: list[Hit] = field(default_factory=list)  # number n is the n-th, from 1
    listed: list[int] = field(default_factory=list)  # in front of the model; newest last
    whole: set[int] = field(default_factory=set)  # that were read: their lines are not cut
    notes: list[str] = field(default_factory=list)
    noted: list[int] = field(default_factory=list)
    trail: list[str] = field(default_factory=list)

    def put(self, sources: Sequence[Hit]) -> list[int]:
        """Give places numbers; one that was there keeps its own, and gets what is new."""
        numbers = list(dict.fromkeys(self._number(source) for source in sources))
        self.listed += [number for number in numbers if number not in self.listed]
        return numbers

    def lines(self, room: int) -> list[str]:
        """Return the listed places as lines; beyond the room only the newest stay, and half of it.

        Half, since each time that the first line goes a model has to read all of them again.
        """
        lines = {
            number: _line(number, self.places[number - 1], whole=number in self.whole)
            for number in self.listed
        }
        if sum(map(_line_cost, lines.values())) > room:
            self.listed = _newest(lines, room // 2)
        return [lines[number] for number in self.listed]

    def _number(self, source: Hit) -> int:
        for number, place in enumerate(self.places, 1):
            if (place.kind, place.id) == (source.kind, source.id):
                self.places[number - 1] = replace(place, text=_united(place.text, source.text))
                return number
        self.places.append(source)
        return len(self.places)

    def cited(self, numbers: Sequence[int]) -> list[Hit]:
        """Return the places of some numbers; a number that none has is left out."""
        real = dict.fromkeys(number for number in numbers if 1 <= number <= len(self.places))
        return [self.places[number - 1] for number in real]


def _united(text: str, more: str) -> str:
    """Return two passages of one record as one text."""
    if more in text:
        return text
    return more if text in more else f"{text}\n…\n{more}"


def run_plan(reach: bounds.SearchScope, meter: bounds.Budget, question: str) -> PlanOutcome:
    """Let a model look until it answers or a limit is reached.

    Args:
        reach: What it may look at.
        meter: Asks the model.
        question: What is asked.
    """
    plan = _Plan(reach, meter, question)
    try:
        return plan.run()
    except bounds.SpentError as limit:
        ended = f"limit: {limit}"
    except UserError as problem:
        ended = f"the model failed: {str(problem).splitlines()[0]}"
    board = plan.board
    return PlanOutcome("", tuple(board.cited(board.noted)), tuple(board.trail), ended)


class _Plan:
    """One run."""

    def __init__(self, reach: bounds.SearchScope, meter: bounds.Budget, question: str) -> None:
        self.reach, self.meter, self.question = reach, meter, question
        self.board = _Board()
        runtime = reach.runtime
        self.people = _people(reach)
        known = [name for person in self.people for name in person.names]
        self.names = [runtime.identity.name, *known]
        window = int(runtime.window_tokens * WINDOW_SHARE / runtime.token_ratio)
        self.room = min(window, MOST_WINDOW_TOKENS)

    def run(self) -> PlanOutcome:
        unusable = 0
        while True:
            self.meter.begin_step()
            text = self.meter.ask(self._request())
            try:
                action = structured.read(text, SCHEMA)
            except ValueError as problem:
                unusable += 1
                self.board.trail.append(f"an answer that can't be read: {problem}"[:200])
                if unusable >= UNUSABLE:
                    raise bounds.SpentError("the model gave no action") from None
                continue
            unusable = 0
            if action["action"] == FINAL:
                outcome = self._final(action)
                if outcome is not None:
                    return outcome
                continue
            self._look(action)

    def _final(self, action: Mapping[str, Any]) -> PlanOutcome | None:
        """Return the outcome of an answer that holds; None: it doesn't, and the model is told."""
        cited, text = self.board.cited(action["from"]), words.one_line(str(action["answer"]))
        if not text and not action["from"]:
            self.board.trail.append("final: memory doesn't say it")
            return PlanOutcome("", (), tuple(self.board.trail), FINAL)
        unknown = [number for number in action["from"] if number > len(self.board.places)]
        problem = f"there is no place {unknown[0]}" if unknown else ""
        problem = problem or citation_problem(text, cited, self.question, self.names)
        if not problem:
            self.board.trail.append(f"final: {text}")
            return PlanOutcome(text, tuple(cited), tuple(self.board.trail), FINAL)
        self.board.trail.append(f"final: refused, {problem}: {text}")
        self.board.noted += [number for number in action["from"] if number not in unknown]
        return None

    def _look(self, action: Mapping[str, Any]) -> None:
        """Carry out a look; what is wrong with it stands in the trail, for the model to see."""
        try:
            numbers = self.board.put(self._sources(action))
        except (UserError, ValueError) as problem:
            self.board.trail.append(f"{_shown(action)}: failed, {str(problem).splitlines()[0]}")
            return
        if action["action"] == "note":
            self.board.notes.append(f"{words.one_line(str(action['text']))} {action['from']}")
            self.board.noted += action["from"]
        places = f"places {numbers}" if numbers else "nothing"
        if action["action"] == "read":
            self.board.whole.update(numbers)
        self.board.trail.append(f"{_shown(action)}: {places}")

    def _sources(self, action: Mapping[str, Any]) -> list[Hit]:
        kind = action["action"]
        if kind == "search":
            return [bounds.source_of(hit) for hit in self._search(action)]
        if kind == "read":
            wanted = self.board.cited([action["number"]])
            if not wanted:
                raise ValueError(f"there is no place {action['number']}")
            return self._helpful(self.reach.read(wanted[0], int(action.get("around", 0))))
        return self.board.cited(action["from"])

    def _search(self, action: Mapping[str, Any]) -> list[Any]:
        wanted = {str(name).casefold() for name in action.get("people", ())}
        people = [
            person.id
            for person in self.people
            if wanted & {name.casefold() for name in (*person.names, person.id)}
        ]
        before = _day(action.get("to"), self.reach)
        return self.reach.search(
            action["query"],
            kinds=[action["kind"]] if "kind" in action else (),
            people=people,
            after=_day(action.get("from"), self.reach),
            before=before + timedelta(days=1) if before else None,
        )

    def _helpful(self, sources: Sequence[Hit]) -> list[Hit]:
        """Return what was read; of more than the window holds, the lines that sub-calls name."""
        if sum(map(_cost, sources)) <= self.room // 2:
            return list(sources)
        helpful: list[Hit] = []
        parts = [part for source in sources for part in _parts(source)]
        for piece in tokens.packed(parts, _cost, self.room):
            lines = "\n".join(_line(n, source) for n, source in enumerate(piece, 1))
            slots = {
                "question": prompts.harmless(self.question, *TAGS),
                "lines": prompts.harmless(lines, *TAGS),
            }
            request = self._ask_for(PIECE, slots, PIECE_TOKENS, PIECE_SCHEMA)
            text = self.meter.ask(request, sub_call=True)
            try:
                numbers = structured.read(text, PIECE_SCHEMA)
            except ValueError:
                continue
            helpful += [piece[number - 1] for number in numbers["numbers"] if number <= len(piece)]
        return helpful

    def _request(self) -> Request:
        spent, config = self.meter.spent, self.meter.config
        left = config.steps - spent.steps
        slots = {
            "name": self.reach.runtime.identity.name,
            "question": prompts.harmless(self.question, *TAGS),
            "left": "This is the last step: end now." if left == 0 else f"{left} more steps.",
            "looks": prompts.harmless("\n".join(self.board.trail), *TAGS) or "(none yet)",
            "notes": prompts.harmless("\n".join(self.board.notes), *TAGS) or "(none)",
            "results": prompts.harmless("\n".join(self._lines()), *TAGS) or "(none yet)",
        }
        return self._ask_for(PURPOSE, slots, ANSWER_TOKENS, SCHEMA)

    def _lines(self) -> list[str]:
        """Return the places as lines, as far as the looks and the notes leave room."""
        looks = "\n".join((*self.board.trail, *self.board.notes))
        return self.board.lines(self.room - tokens.estimate(looks))

    def _ask_for(
        self, prompt: str, slots: Mapping[str, str], max_tokens: int, schema: Mapping[str, Any]
    ) -> Request:
        asked = request(
            self.reach.runtime,
            prompt,
            slots,
            max_tokens=max_tokens,
            temperature=TEMPERATURE,
            schema=schema,
        )
        return replace(asked, purpose=PURPOSE)


def _people(reach: bounds.SearchScope) -> list[relationships.Relationship]:
    paths = relationships.paths(reach.runtime.entity.relationships)
    return base.load_all(paths, lambda file: base.load(file, relationships.parse))[0]


def _day(text: Any, reach: bounds.SearchScope) -> datetime | None:
    """Read a day.

    Raises:
        ValueError: If it is none.
    """
    if not text:
        return None
    return datetime.fromisoformat(str(text)).replace(tzinfo=reach.base.at.tzinfo or UTC)


def _shown(action: Mapping[str, Any]) -> str:
    rest = {key: value for key, value in action.items() if key != "action"}
    return f"{action['action']} {json.dumps(rest, ensure_ascii=False)}"


def _line(number: int, source: Hit, *, whole: bool = False) -> str:
    when = f" ({source.at:%Y-%m-%d %a})" if source.at else ""
    origin = QUOTED_FROM.get(source.trust, "")
    quoted = f" [quoted from {origin}]" if origin else ""
    who = f" {source.speaker}:" if source.speaker else ""
    text = words.one_line(source.text)
    text = text if whole else tokens.cut(text, LINE_TOKENS)
    return f"[{number}] {source.kind}{when}{quoted}{who} {text}"


def _line_cost(line: str) -> int:
    return tokens.estimate(line) + 1


def _newest(lines: dict[int, str], room: int) -> list[int]:
    """Return the numbers of the last lines that have room, in their order; of one at least."""
    numbers: list[int] = []
    for number, line in reversed(lines.items()):
        room -= _line_cost(line)
        if room < 0:
            break
        numbers.insert(0, number)
    return numbers or list(lines)[-1:]


def _cost(source: Hit) -> int:
    return tokens.estimate(source.text) + LINE_TOKENS // 8


def _parts(source: Hit) -> list[Hit]:
    """Cut a long text into lines of which each is a place of its own, for sub-calls to choose."""
    text, size = words.one_line(source.text), LINE_TOKENS * 4 - 8
    if len(text) <= size:
        return [source]
    parts, rest = [], text
    while rest:
        cut = rest.rfind(" ", 0, size) if len(rest) > size else len(rest)
        cut = cut if cut > 0 else size
        parts.append(replace(source, text=rest[:cut].strip()))
        rest = rest[cut:].strip()
    return parts


ENOUGH = 0.8  # likeness from which three memories are the answer, without a plan
ENOUGH_HITS = 3  # so many ordinary hits that are near are the answer
QUOTES = 10  # places of an answer in quotes
Way = Literal["recall", "plan"]


class Recollection(Struct, frozen=True):
    """What a deep recall came to."""

    question: str
    scope: bounds.Scope
    way: Way
    answer: str  # in a model's words, borne out by the sources; empty: the sources answer
    sources: tuple[Hit, ...]  # what it rests on; empty: a miss
    trail: tuple[str, ...]  # what was done, a line a step
    ended: str  # why it ended
    spent: bounds.RecollectionSpending = field(default_factory=bounds.RecollectionSpending)

    @property
    def is_miss(self) -> bool:
        """Whether nothing answers the question."""
        return not self.sources


def recall(
    runtime: Runtime,
    search: memory_search.Search,
    question: str,
    scope: bounds.Scope = "all",
    *,
    current: str = "",
    calls: int | None = None,
    stopwatch: Callable[[], float] = time.monotonic,
) -> Recollection:
    """Look as deep as it takes, within what the settings allow.

    Args:
        runtime: Whose memory, and whose model.
        search: Who asks, and which conversation is in front of them anyway.
        question: What is asked.
        scope: How far to look.
        current: Id of the conversation that goes on; by default the newest.
        calls: Calls of the model at most; None: as the settings say.
        stopwatch: Counts seconds from anywhere.
    """
    around = bounds.of_scope(runtime, search, scope, current)
    ordinary = _ordinary(around, question)
    if ordinary:
        return Recollection(question, scope, "recall", "", ordinary, (), "near enough")
    if not sayings.may_write(runtime, question) or calls == 0:
        why = "no call was allowed" if calls == 0 else "the model may not write"
        return _in_quotes(around, question, scope, why)
    meter = _meter(runtime, calls, stopwatch)
    outcome = run_plan(around, meter, question)
    if outcome.ended == FINAL:
        return Recollection(
            question,
            scope,
            "plan",
            outcome.answer,
            outcome.cited,
            outcome.trail,
            outcome.ended,
            meter.spent,
        )
    rest = _in_quotes(around, question, scope, outcome.ended)
    there = {(one.kind, one.id, one.text) for one in rest.sources}
    noted = [one for one in outcome.cited if (one.kind, one.id, one.text) not in there]
    return replace(
        rest,
        sources=(*noted, *rest.sources)[:QUOTES],
        trail=outcome.trail,
        spent=meter.spent,
    )


def _meter(runtime: Runtime, calls: int | None, stopwatch: Callable[[], float]) -> bounds.Budget:
    """Return what counts the model's calls, and ends them at the limits."""
    config = runtime.config.recall.deep
    if calls is not None:
        config = replace(
            config, steps=min(config.steps, calls), sub_calls=min(config.sub_calls, calls)
        )
    return bounds.Budget(
        runtime.model,
        config,
        runtime.config.llm.prices,
        calls=calls,
        token_ratio=runtime.token_ratio,
        stopwatch=stopwatch,
    )


def _ordinary(around: bounds.SearchScope, question: str) -> tuple[Hit, ...]:
    """Return what plain recall finds, if enough of it is near; else nothing."""
    hits = around.search(question)
    near = [hit for hit in hits if (hit.parts.calibrated or 0.0) >= ENOUGH]
    return tuple(bounds.source_of(hit) for hit in near) if len(near) >= ENOUGH_HITS else ()


def _in_quotes(
    around: bounds.SearchScope, question: str, scope: bounds.Scope, why: str
) -> Recollection:
    """Answer by what is recalled; what has nothing to do with the question is a miss."""
    hits = around.search(question, limit=QUOTES + 1)
    asked = len(set(stop_words.telling_words(question)))
    touched = any(memory_search.touches(hit, around.runtime.config, asked) for hit in hits)
    said = [hit for hit in hits if words.one_line(hit.text) != words.one_line(question)]
    sources = tuple(bounds.source_of(hit) for hit in said[:QUOTES]) if touched else ()
    return Recollection(question, scope, "recall", "", sources, (), why)
