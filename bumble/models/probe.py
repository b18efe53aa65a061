"""The probe: asks a model the cases of a language, one after the other, and counts what is right.

Temperature 0 and one seed, always in the same order: a second run gets the same answers.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import cycle
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bumble.errors import AnswerInvalidError
from bumble.llm import structured
from bumble.llm.protocol import Model, PromptMessage, Request, Role
from bumble.models.tiers import KINDS, Kind, LanguageResult
from bumble.text import stop_words, words, yaml_read
from bumble.text.schema import choice, closed


def holds(text: str, pattern: str) -> bool:
    """Whether one of the words of a text begins as a pattern says; case and accents don't count."""
    return bool(pattern) and bool(re.search(rf"\b(?:{words.folded(pattern)})", words.folded(text)))


def is_fact(text: str, right: str, wrong: str) -> bool:
    """Whether a text has what is right, and nothing of what can't be."""
    return holds(text, right) and not holds(text, wrong)


def is_of(text: str, right: str, wrong: str, own: Collection[str], other: Collection[str]) -> bool:
    """Whether a text tells a fact of the right one of two.

    Args:
        text: The answer.
        right: What the fact is told by.
        wrong: What the fact of the other one is told by.
        own: Pronouns of whom the fact belongs to, seen from whoever answers.
        other: Pronouns of the other one: a sentence with these alone is of the wrong one.
    """
    if not is_fact(text, right, wrong):
        return False
    telling = [sentence for sentence in words.sentences(text) if holds(sentence, right)]
    return all(_has(sentence, own) or not _has(sentence, other) for sentence in telling)


def _has(sentence: str, pronouns: Collection[str]) -> bool:
    return any(word in pronouns for word in stop_words.words(sentence))


def is_in(text: str, language: str, message: str) -> bool:
    """Whether a reply is in a language, and more than what it replies to."""
    is_echo = _letters(text) in _letters(message)
    return not is_echo and words.language(text, default="") == language


def _letters(text: str) -> str:
    return " ".join(re.findall(r"\w+", words.folded(text)))


def is_filled(text: str, schema: Mapping[str, Any], right: Mapping[str, str]) -> bool:
    """Whether an answer satisfies a schema, and its fields say what is right."""
    try:
        value = structured.read(text, schema)
    except ValueError:
        return False
    return all(holds(str(value[name]), pattern) for name, pattern in right.items())


FOLDER = Path(__file__).parent / "cases"
PURPOSE = "probe"
SEED = 1
REPLY_TOKENS, FACT_TOKENS, FORM_TOKENS = 40, 24, 64

Cases = Iterator["Case"]


class Case(Struct, frozen=True):
    """Something to ask a model, and what tells whether the answer is right."""

    kind: Kind
    request: Request
    is_right: Callable[[str], bool]  # of the text that is answered


def languages() -> list[str]:
    """Return the languages there are cases in."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def load(language: str) -> list[Case]:
    """Return the cases of a language, kind by kind; those that begin alike lie together."""
    data = _read(language)
    return [
        *_whose_i(data),
        *_stays(data, language),
        *_unknown(data),
        *_schema(data),
        *_facts(data),
    ]


@cache
def _read(language: str) -> Mapping[str, Any]:
    return yaml_read.parse_mapping((FOLDER / f"{language}.yaml").read_text(encoding="utf-8"))


def _request(
    system: str,
    *turns: str,
    tokens: int,
    schema: Mapping[str, Any] | None = None,
) -> Request:
    """Ask with a system prompt, and messages of a person and the model in turn."""
    roles: Iterator[Role] = cycle(("user", "assistant"))
    said = (PromptMessage(role, text) for role, text in zip(roles, turns, strict=False))
    return Request(
        (PromptMessage("system", system), *said),
        purpose=PURPOSE,
        schema=schema,
        max_tokens=tokens,
        temperature=0.0,
        seed=SEED,
    )


def _whose_i(data: Mapping[str, Any]) -> Cases:
    model, person = frozenset(data["first_person"]), frozenset(data["second_person"])
    for talk in data["whose_i"]:
        mine, yours = talk["mine"], talk["yours"]
        for asked, rest, own, other in ((mine, yours, person, model), (yours, mine, model, person)):
            question, right, *barred = asked
            wrong = "|".join((rest[1], *barred))
            yield Case(
                "whose_i",
                _request(data["talk"], talk["sam"], talk["ada"], question, tokens=REPLY_TOKENS),
                partial(is_of, right=right, wrong=wrong, own=own, other=other),
            )


def _stays(data: Mapping[str, Any], language: str) -> Cases:
    for message in data["language"]:
        yield Case(
            "language",
            _request(data["talk"], message, tokens=REPLY_TOKENS),
            partial(is_in, language=language, message=message),
        )


def _unknown(data: Mapping[str, Any]) -> Cases:
    signs = data["unsure"]
    for talk in data["unknown"]:
        question, right = talk["known"]
        yield Case(
            "unknown",
            _request(data["talk"], talk["sam"], data["heard"], question, tokens=REPLY_TOKENS),
            partial(is_fact, right=right, wrong=signs),
        )
        for question in talk["unknown"]:
            yield Case(
                "unknown",
                _request(data["talk"], talk["sam"], data["heard"], question, tokens=REPLY_TOKENS),
                partial(holds, pattern=signs),
            )


def _schema(data: Mapping[str, Any]) -> Cases:
    names = sorted({who for _, who, *_ in data["schema"]})
    fields = {
        "who": choice(names),
        "day": choice(data["days"]),
        "what": {"type": "string", "maxLength": 80},
    }
    schema = closed(fields)
    system = f"{data['fill']}\n{json.dumps(schema, ensure_ascii=False)}"
    for message, *values in data["schema"]:
        yield Case(
            "schema",
            _request(system, message, tokens=FORM_TOKENS, schema=schema),
            partial(is_filled, schema=schema, right=dict(zip(fields, values, strict=True))),
        )


def _facts(data: Mapping[str, Any]) -> Cases:
    for part in data["facts"]:
        for question, right, wrong in part["questions"]:
            asked = f"{part['window']}\n{question}"
            yield Case(
                "facts",
                _request(data["read"], asked, tokens=FACT_TOKENS),
                partial(is_fact, right=right, wrong=wrong),
            )


VERSION = 1  # of the cases, prompts and checks: what another measured is measured again
REASONING_TOKENS = 2048  # more room for a model that reasons though it is asked not to

Note = Callable[[LanguageResult], None]


def start(day: str, before: LanguageResult | None = None) -> LanguageResult:
    """Return the result to go on with: one of this version that was cut short, else a new one."""
    if before is not None and before.version == VERSION and not before.is_whole:
        return replace(before, at=day)
    return LanguageResult(VERSION, day, dict.fromkeys(KINDS, ""))


def left(language: str, result: LanguageResult) -> list[Case]:
    """Return the cases that have no answer yet."""
    cases = load(language)
    of_kinds = {kind: [case for case in cases if case.kind == kind] for kind in KINDS}
    return [case for kind in KINDS for case in of_kinds[kind][len(result.answers[kind]) :]]


def run(
    model: Model,
    cases: Sequence[Case],
    result: LanguageResult,
    note: Note,
) -> LanguageResult:
    """Ask what is left of a language.

    Args:
        model: Who answers.
        cases: Those without an answer.
        result: What there is of answers.
        note: Hears of each case as it is answered, with the result up to there; it may raise.

    Raises:
        UserError: If the model can't be asked; answers that came were noted.
    """
    more = 0
    for case in cases:
        seconds, cpu_seconds = time.perf_counter(), time.process_time()
        answer, more = _answered(model, case.request, more)
        is_right = case.is_right(answer)
        result = replace(
            result,
            answers={**result.answers, case.kind: result.answers[case.kind] + str(int(is_right))},
            seconds=round(result.seconds + time.perf_counter() - seconds, 2),
            cpu_seconds=round(result.cpu_seconds + time.process_time() - cpu_seconds, 2),
        )
        note(result)
    return result


def _answered(model: Model, request: Request, more: int) -> tuple[str, int]:
    """Return an answer, and how many more tokens than asked for it and those after it may take.

    A model that spent all it had on reasoning gets more; what can't be read is no text.
    """
    try:
        completion = model.complete(replace(request, max_tokens=request.max_tokens + more))
    except AnswerInvalidError as error:
        return error.answer, more
    if completion.finish_reason == "length" and not completion.text and not more:
        return _answered(model, request, REASONING_TOKENS)
    return completion.text, more
