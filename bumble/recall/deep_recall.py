"""Deep recall: what is recalled where that is near enough, else a plan by the model, within limits.

The model answers by numbered places, or says first what it would look for or read whole; an answer
is held to the places that it cites. Without a model that may write, and where its plan came to
nothing, memory answers in quotes.

Knows nothing of who asks, nor of how the answer is shown or kept.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, timedelta
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from bumble.entity.config import DeepRecallConfig
from bumble.errors import LimitReachedError, RefusedError, UserError
from bumble.fallback import sayings
from bumble.guard import verifier
from bumble.index import chunks
from bumble.index.search import Hit
from bumble.llm import prompts
from bumble.llm.protocol import Completion, EnoughError, OnText, Request, Usage, Wrapper
from bumble.recall import memory_search, prompt_memories, whole_record
from bumble.records import base, relationships, session_files
from bumble.runtime.job import array, ask, closed
from bumble.runtime.runtime import Runtime
from bumble.text import moments, stop_words, tokens, words

Scope = Literal["current_session", "recent_sessions", "all_sessions", "all"]
RECENT = 5  # conversations
RESULTS = 10  # of a search
AROUND = 8  # messages on either side of one that is read
ENOUGH = 0.8  # likeness from which three memories are the answer, without a plan
ENOUGH_HITS = 3  # so many ordinary hits that are near are the answer
QUOTES = 10  # places of an answer in quotes
MESSAGES = (whole_record.MESSAGE,)
NOWHERE = ("-",)  # no conversation has this id


class RecollectionSpending(Struct, frozen=True):
    """What a deep recall has spent."""

    steps: int = 0
    tokens: int = 0
    dollars: float | None = None  # None: prices are not known
    longest_step_seconds: float = 0.0


class Recollection(Struct, frozen=True):
    """What a deep recall came to."""

    question: str
    scope: Scope
    way: Literal["recall", "plan"]
    answer: str  # in a model's words, borne out by the sources; empty: the sources answer
    sources: tuple[Hit, ...]  # what it rests on; empty: a miss
    trail: tuple[str, ...]  # what was done, a line a look
    ended: str  # why it ended
    spent: RecollectionSpending = field(default_factory=RecollectionSpending)

    @property
    def is_miss(self) -> bool:
        """Whether nothing answers the question."""
        return not self.sources


def recall(
    runtime: Runtime,
    search: memory_search.Search,
    question: str,
    scope: Scope = "all",
    *,
    current: str = "",
    calls: int | None = None,
) -> Recollection:
    """Look as deep as it takes, within what the settings allow.

    Args:
        runtime: Whose memory, and whose model.
        search: Who asks, and which conversation is in front of them anyway.
        question: What is asked.
        scope: How far to look.
        current: Id of the conversation that goes on; by default the newest.
        calls: Calls of the model at most; None: as the settings say.

    Raises:
        RefusedError: If memory can't be searched.
    """
    reach = _reach(runtime, search, scope, current)
    hits = reach.search(question)
    if runtime.memory.unusable:  # else the miss would be kept as a question that nothing answers
        raise RefusedError(prompt_memories.UNSEARCHED)
    near = [hit for hit in hits if (hit.parts.calibrated or 0.0) >= ENOUGH]
    if len(near) >= ENOUGH_HITS:
        sources = tuple(map(source_of, near))
        return Recollection(question, scope, "recall", "", sources, (), "near enough")
    if not sayings.may_write(runtime, question) or calls == 0:
        why = "no call was allowed" if calls == 0 else "the model may not write"
        return _in_quotes(reach, question, scope, why)
    plan = _Plan(reach, question, hits, calls)
    try:
        answer, cited = plan.run()
        trail = tuple(plan.trail)
        return Recollection(question, scope, "plan", answer, cited, trail, FINAL, plan.meter.spent)
    except LimitReachedError as limit:
        ended = f"limit: {str(limit).splitlines()[0]}"
    except UserError as problem:
        ended = f"the model failed: {str(problem).splitlines()[0]}"
    rest = _in_quotes(reach, question, scope, ended)
    return replace(rest, trail=tuple(plan.trail), spent=plan.meter.spent)


def _in_quotes(reach: Reach, question: str, scope: Scope, why: str) -> Recollection:
    """Answer by what is recalled; what has nothing to do with the question is a miss."""
    hits = reach.search(question, limit=QUOTES + 1)
    asked = len(set(stop_words.telling_words(question)))
    touched = any(memory_search.touches(hit, reach.runtime.config, asked) for hit in hits)
    said = [hit for hit in hits if words.one_line(hit.text) != words.one_line(question)]
    sources = tuple(map(source_of, said[:QUOTES])) if touched else ()
    return Recollection(question, scope, "recall", "", sources, (), why)


def source_of(hit: Hit) -> Hit:
    """Return a hit as a place that an answer may rest on: with all that its passage says."""
    return replace(hit, text=f"{hit.newer} {prompt_memories.content(hit)}".lstrip())


# what may be looked at


class Reach(Struct, frozen=True):
    """What one deep recall may look at."""

    runtime: Runtime
    base: memory_search.Search  # whoever asks, when, and outside of which conversation
    kinds: tuple[str, ...] = ()  # empty: all

    def search(self, query: str, *, limit: int = RESULTS, **bounds: Any) -> list[Hit]:
        """Find by words and meaning, best first; faded memories too. `bounds` are of a `Search`."""
        return memory_search.find(
            self.runtime.memory,
            self.runtime.config,
            replace(self.base, **bounds),
            query,
            kinds=self.kinds,
            limit=limit,
            unasked=False,
            faded=True,
        )

    def read(self, source: Hit) -> list[Hit]:
        """Read a record whole; of a conversation what was said around it, too."""
        if source.kind == whole_record.MESSAGE:
            return self._around(source)
        runtime = self.runtime
        view = whole_record.read(runtime.entity, runtime.zone, source.kind, source.id, source.path)
        if view is None or not base.may_read(view.origin.audience, self.base.readers):
            return []
        return [replace(source, text=view.text)]

    def _around(self, source: Hit) -> list[Hit]:
        session = next(session_files.talks([self.runtime.entity.root / source.path]), None)
        if session is None or not base.may_read(session.people, self.base.readers):
            return []
        messages, name = chunks.turns(session), self.runtime.identity.name
        place = next((n for n, one in enumerate(messages) if one.id == source.id), None)
        if place is None:
            return []
        return [
            replace(
                source,
                id=one.id,
                line=0,
                text=one.text,
                at=one.at,
                speaker=chunks.spoken_name(one.speaker) or one.called(name),
                audience=session.people,
                trust=one.trust,
                session=session.id,
            )
            for one in messages[max(0, place - AROUND) : place + AROUND + 1]
        ]


def _reach(runtime: Runtime, search: memory_search.Search, scope: Scope, current: str) -> Reach:
    """Return what may be looked at in a scope; `current`: the conversation that goes on."""
    if scope == "all":
        return Reach(runtime, search)
    if scope == "all_sessions":
        return Reach(runtime, search, MESSAGES)
    infos = session_files.infos(runtime.entity.sessions)
    newest = [info.id for info in reversed(session_files.by_recency(infos, runtime.now()))]
    known = list(dict.fromkeys(filter(None, (current, *newest))))
    chosen = known[: RECENT if scope == "recent_sessions" else 1]
    return Reach(runtime, replace(search, sessions=tuple(chosen) or NOWHERE), MESSAGES)


# what may be spent


LEAST_ANSWER_TOKENS = 32
MARGIN = 1.25  # on what a prompt is estimated to take: no estimate may break a limit
MILLION = 1_000_000


class _Metered(Wrapper):
    """A model that is asked within limits, and counts."""

    def __init__(self, runtime: Runtime, config: DeepRecallConfig) -> None:
        super().__init__(runtime.model)
        self._ratio, self._config = runtime.token_ratio, config
        self._prices = runtime.config.llm.prices
        is_known = self._prices.prompt is not None or self._prices.completion is not None
        self.spent = RecollectionSpending(dollars=0.0 if is_known else None)

    @property
    def left(self) -> int:
        """The steps that may still be taken."""
        return self._config.steps - self.spent.steps

    def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        """Answer one step.

        Raises:
            LimitReachedError: If a limit is reached, before or while it answers.
        """
        config, spent = self._config, self.spent
        if not self.left:
            raise LimitReachedError(f"{config.steps} steps were taken")
        texts = sum(tokens.estimate_message(message.content) for message in request.messages)
        told = texts + tokens.estimate(request.schema_text)
        prompt = int(told * self._ratio * MARGIN) + 1  # rather too much than too little
        most = min(request.max_tokens, config.max_tokens - spent.tokens - prompt)
        most = min(most, self._payable(prompt, most))
        if most < LEAST_ANSWER_TOKENS:
            raise LimitReachedError(f"{spent.tokens} tokens: too little is left")
        self.spent = replace(spent, steps=spent.steps + 1)
        began, heard = time.monotonic(), list[str]()

        def listen(piece: str) -> None:
            heard.append(piece)
            if sum(map(len, heard)) // 4 >= most:  # not every backend keeps to its limit
                raise EnoughError

        bounded = replace(request, max_tokens=most, seconds=config.step_seconds)
        completion = Completion("", "length", self.name)
        try:
            completion = super().complete(bounded, listen)
        except EnoughError:
            completion = replace(completion, text="".join(heard))
        written = min(most, len(completion.text) // 4 + 1)
        self._count(completion.usage, prompt, written, time.monotonic() - began)
        return completion

    def _cost(self, prompt: int, written: int) -> float:
        prices = self._prices
        return (prompt * (prices.prompt or 0) + written * (prices.completion or 0)) / MILLION

    def _payable(self, prompt: int, most: int) -> int:
        """Return how many tokens of an answer to a prompt can be paid, `most` where all can."""
        left = self._config.max_dollars - (self.spent.dollars or 0.0) - self._cost(prompt, 0)
        each = self._cost(0, 1)
        return most if left >= most * each else int(left / each) if each else 0

    def _count(self, usage: Usage, prompt: int, written: int, seconds: float) -> None:
        """Count what a step took, and end what takes too long.

        Raises:
            LimitReachedError: If this step has taken its time.
        """
        prompt, spent, cost = usage.prompt_tokens or prompt, self.spent, usage.dollars
        if cost is None and spent.dollars is not None:
            cost = self._cost(prompt, written)
        dollars = spent.dollars if cost is None else (spent.dollars or 0.0) + cost
        self.spent = replace(
            spent,
            tokens=spent.tokens + prompt + written,
            dollars=dollars,
            longest_step_seconds=round(max(spent.longest_step_seconds, seconds), 3),
        )
        if seconds >= self._config.step_seconds:
            raise LimitReachedError(f"a step took {self._config.step_seconds:g} s")


# the plan


TAGS = ("question", "looks", "places")  # of the prompt
PURPOSE = "deep_recall"
ANSWER_TOKENS = 400
PLACE_TOKENS, READ_TOKENS = 120, 1500  # of one place in a list, and of one that was read
TEMPERATURE = 0.2
WINDOW_SHARE = 0.5  # of the window that places and looks may fill
MOST_WINDOW_TOKENS = 6_000  # however large the window is: a step has to be read in time
FINAL = "final"  # how a plan ends by itself
LOOKS = 3  # in one step
NUMBER = {"type": "integer", "minimum": 1}
TEXT = {"type": "string", "maxLength": 600}
DAY = {"type": "string", "maxLength": 10}
NAMES = array({"type": "string", "maxLength": 80}, 4)
SEARCH = {
    **closed({"query": TEXT, "people": NAMES, "from": DAY, "to": DAY}),
    "required": ["query"],
}
SCHEMA = closed(
    {
        "answer": TEXT,
        "from": array(NUMBER, 20),
        "look": array({"anyOf": [SEARCH, closed({"read": NUMBER})]}, LOOKS),
    }
)


class _Plan:
    """One run: the places that were found, by number, and what was done."""

    def __init__(self, reach: Reach, question: str, hits: Sequence[Hit], calls: int | None) -> None:
        runtime = reach.runtime
        config = runtime.config.recall.deep
        steps = config.steps if calls is None else min(config.steps, calls)
        self.reach, self.question = reach, question
        self.meter = _Metered(runtime, replace(config, steps=steps))
        self.trail: list[str] = []
        self._places: list[Hit] = []  # number n is the n-th, from 1
        self._whole: set[int] = set()  # numbers of those that were read
        self._people = relationships.PERSON.readable(runtime.entity.relationships)
        window = int(runtime.window_tokens * WINDOW_SHARE / runtime.token_ratio)
        self._room = min(window, MOST_WINDOW_TOKENS)
        for hit in hits:
            self._number(source_of(hit))

    def run(self) -> tuple[str, tuple[Hit, ...]]:
        """Look until there is an answer; return it with the places it rests on, or nothing.

        Raises:
            LimitReachedError: If a limit is reached.
            UserError: If the model fails.
        """
        steps = list[Mapping[str, Any]]()
        while True:
            given = self._asked()
            if given in steps:  # nothing new would come of it
                raise LimitReachedError("one step was taken twice")
            steps.append(given)
            answer = words.one_line(given["answer"])
            if not answer and not given["look"]:
                self.trail.append("memory doesn't say it")
                return "", ()
            problem = self._problem(answer, given["from"]) if answer else ""
            if answer and not problem:
                self.trail.append(f"answer: {answer}")
                return answer, tuple(self._cited(given["from"]))
            if problem:
                self.trail.append(f"refused, {problem}: {answer}")
            for look in given["look"]:
                self._look(look)

    def _cited(self, numbers: Sequence[int]) -> list[Hit]:
        """Return the places of some numbers; a number that none has is left out."""
        real = dict.fromkeys(number for number in numbers if number <= len(self._places))
        return [self._places[number - 1] for number in real]

    def _problem(self, answer: str, numbers: Sequence[int]) -> str:
        """Return why an answer may not stand on the places of some numbers; empty if it may."""
        if unknown := [number for number in numbers if number > len(self._places)]:
            return f"there is no place {unknown[0]}"
        cited, runtime = self._cited(numbers), self.reach.runtime
        if not cited:
            return "it rests on no place"
        names = (runtime.identity.name, *(name for one in self._people for name in one.names))
        said = (verifier.Said(one.id, one.at, one.speaker, one.text) for one in cited if one.at)
        known = tuple(one.text for one in cited if not one.at)
        sources = verifier.ClaimSources(tuple(said), known, names, runtime.zone)
        why = verifier.check_prose(answer, sources).why
        return why.replace("nobody said", "these places don't say", 1)  # others may

    def _look(self, look: Mapping[str, Any]) -> None:
        """Carry out a look; what is wrong with it stands in the trail, for the model to see."""
        shown = json.dumps(look, ensure_ascii=False)
        try:
            if "read" in look:
                found = [
                    one for place in self._cited([look["read"]]) for one in self.reach.read(place)
                ]
            else:
                found = [source_of(hit) for hit in self._searched(look)]
        except ValueError as problem:
            self.trail.append(f"{shown}: failed, {problem}")
            return
        numbers = list(dict.fromkeys(map(self._number, found)))
        if "read" in look:
            self._whole.update(numbers)
        self.trail.append(f"{shown}: {f'places {numbers}' if numbers else 'nothing'}")

    def _searched(self, look: Mapping[str, Any]) -> list[Hit]:
        """Search as a look wants it.

        Raises:
            ValueError: If a day is none.
        """
        wanted = {name.casefold() for name in look.get("people", ())}
        people = tuple(
            person.id
            for person in self._people
            if wanted & {name.casefold() for name in (*person.names, person.id)}
        )
        days, zone = (look.get(end) for end in ("from", "to")), self.reach.base.at.tzinfo or UTC
        after, before = (moments.local(day, zone) if day else None for day in days)
        until = before + timedelta(days=1) if before else None
        return self.reach.search(look["query"], people=people, after=after, before=until)

    def _number(self, source: Hit) -> int:
        """Give a place its number; one that was there keeps its own, and gets what is new."""
        for number, place in enumerate(self._places, 1):
            if (place.kind, place.id) == (source.kind, source.id):
                more = place.text if source.text in place.text else source.text
                united = more if place.text in more else f"{place.text}\n…\n{more}"
                self._places[number - 1] = replace(place, text=united)
                return number
        self._places.append(source)
        return len(self._places)

    def _asked(self) -> Mapping[str, Any]:
        left = self.meter.left - 1
        trail = "\n".join(self.trail)
        places = self._lines(self._room - tokens.estimate(trail))
        slots = {
            "name": self.reach.runtime.identity.name,
            "question": prompts.harmless(self.question, *TAGS),
            "left": f"{left} more steps." if left else "This is the last step: answer now.",
            "looks": prompts.harmless(trail, *TAGS) or "(none yet)",
            "places": prompts.harmless("\n".join(places), *TAGS) or "(none)",
        }
        runtime = replace(self.reach.runtime, model=self.meter)
        given: Mapping[str, Any] = ask(
            runtime, PURPOSE, slots, SCHEMA, max_tokens=ANSWER_TOKENS, temperature=TEMPERATURE
        )
        return given

    def _lines(self, room: int) -> list[str]:
        """Return the places as lines, the newest where there is no room for all; one at least."""
        lines = [
            _line(number, place, READ_TOKENS if number in self._whole else PLACE_TOKENS)
            for number, place in enumerate(self._places, 1)
        ]
        newest = tokens.packed(reversed(lines), lambda line: tokens.estimate(line) + 1, room)[:1]
        return [line for group in newest for line in reversed(group)]


def _line(number: int, source: Hit, limit_tokens: int) -> str:
    when = f" ({source.at:%Y-%m-%d %a})" if source.at else ""
    origin = prompt_memories.QUOTED_FROM.get(source.trust, "")
    quoted = f" [quoted from {origin}]" if origin else ""
    who = f" {source.speaker}:" if source.speaker else ""
    text = tokens.cut(words.one_line(source.text), limit_tokens)
    return f"[{number}] {source.kind}{when}{quoted}{who} {text}"
