"""The cases of the probe: requests by language and kind, each with a check of what is answered.

One YAML file a language, `cases/xx.yaml`; English says what stands where.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from itertools import cycle
from pathlib import Path
from typing import Any

from msgspec import Struct
from ruamel.yaml import YAML

from bumble.llm.protocol import PromptMessage, Request, Role
from bumble.models.abilities import answer_checks
from bumble.models.abilities.grading import Kind

FOLDER = Path(__file__).parent / "cases"
NAME = re.compile(r"^name: (.+)$", re.MULTILINE)
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


def name(language: str) -> str:
    """Return what a language is called in English; its code, where there are no cases in it."""
    if language not in languages():
        return language
    # of a file of 200 lines one is wanted, by commands that have no time to read it all
    found = NAME.search((FOLDER / f"{language}.yaml").read_text(encoding="utf-8"))
    return found[1] if found else language


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
    loaded: Mapping[str, Any] = YAML(typ="safe", pure=True).load(FOLDER / f"{language}.yaml")
    return loaded


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
                partial(answer_checks.is_of, right=right, wrong=wrong, own=own, other=other),
            )


def _stays(data: Mapping[str, Any], language: str) -> Cases:
    for message in data["language"]:
        yield Case(
            "language",
            _request(data["talk"], message, tokens=REPLY_TOKENS),
            partial(answer_checks.is_in, language=language, message=message),
        )


def _unknown(data: Mapping[str, Any]) -> Cases:
    signs = data["unsure"]
    for talk in data["unknown"]:
        question, right = talk["known"]
        yield Case(
            "unknown",
            _request(data["talk"], talk["sam"], data["heard"], question, tokens=REPLY_TOKENS),
            partial(answer_checks.is_fact, right=right, wrong=signs),
        )
        for question in talk["unknown"]:
            yield Case(
                "unknown",
                _request(data["talk"], talk["sam"], data["heard"], question, tokens=REPLY_TOKENS),
                partial(answer_checks.holds, pattern=signs),
            )


def _schema(data: Mapping[str, Any]) -> Cases:
    names = sorted({who for _, who, *_ in data["schema"]})
    fields = {
        "who": {"enum": names},
        "day": {"enum": data["days"]},
        "what": {"type": "string", "maxLength": 80},
    }
    schema = {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }
    system = f"{data['fill']}\n{json.dumps(schema, ensure_ascii=False)}"
    for message, *values in data["schema"]:
        yield Case(
            "schema",
            _request(system, message, tokens=FORM_TOKENS, schema=schema),
            partial(
                answer_checks.is_filled, schema=schema, right=dict(zip(fields, values, strict=True))
            ),
        )


def _facts(data: Mapping[str, Any]) -> Cases:
    for part in data["facts"]:
        for question, right, wrong in part["questions"]:
            asked = f"{part['window']}\n{question}"
            yield Case(
                "facts",
                _request(data["read"], asked, tokens=FACT_TOKENS),
                partial(answer_checks.is_fact, right=right, wrong=wrong),
            )
