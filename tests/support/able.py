"""What a model that can do everything answers to the cases of the probe, made of the cases."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ruamel.yaml import YAML

from bumble.llm.scripted import Reply
from bumble.models import probe


def cases(language: str) -> Any:
    """Read the file of a language."""
    return YAML(typ="safe", pure=True).load(probe.FOLDER / f"{language}.yaml")


def replies(*languages: str) -> list[Reply]:
    """Answer every case of some languages rightly, again and again."""
    return [reply for language in languages for reply in _replies(cases(language))]


def _replies(data: Any) -> Iterator[Reply]:
    for talk in data["whose_i"]:
        yield _reply(talk["mine"][0], _first(talk["mine"][1]))
        yield _reply(talk["yours"][0], _first(talk["yours"][1]))
    for message in data["language"]:
        yield _reply(message, data["talk"])
    for talk in data["unknown"]:
        yield _reply(talk["known"][0], _first(talk["known"][1]))
        for question in talk["unknown"]:
            yield _reply(question, f"... {_first(data['unsure'])}.")
    for message, who, day, what in data["schema"]:
        filled = {"who": who, "day": day, "what": _first(what)}
        yield _reply(message, json.dumps(filled, ensure_ascii=False))
    for part in data["facts"]:
        for question, right, _ in part["questions"]:
            yield _reply(question, _first(right))


def _reply(asked: str, text: str) -> Reply:
    return Reply(text, "probe", contains=asked, always=True)


def _first(pattern: str) -> str:
    return str(pattern).split("|")[0].replace("\\b", "")
