"""The relationship scores, read off a portrait by a second, small call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from bumble.errors import AnswerInvalidError
from bumble.grounding import grounded
from bumble.grounding.speakers import Speakers
from bumble.portraits import portrait
from bumble.portraits.portrait import Material
from bumble.records.relationships import Scores
from bumble.runtime.runtime import Runtime
from bumble.text.words import one_line

MAX_TOKENS = 300
MAX_TOPICS, MAX_UNRESOLVED, MAX_CHARS = 5, 3, 120
_NAMES = Scores.__struct_fields__
_TEXTS = {"type": "array", "items": {"type": "string", "maxLength": MAX_CHARS}}

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        **{name: {"type": "number"} for name in _NAMES},
        "dynamic": {"type": "string", "maxLength": MAX_CHARS},
        "topics": {**_TEXTS, "maxItems": MAX_TOPICS},
        "unresolved": {**_TEXTS, "maxItems": MAX_UNRESOLVED},
    },
    "required": list(_NAMES),
    "additionalProperties": False,
}


class PortraitScores(Struct, frozen=True):
    """The scores and notes read off a portrait; where one is None, the old stays."""

    scores: Scores
    dynamic: str | None
    topics: tuple[str, ...] | None
    unresolved: tuple[str, ...] | None


def derive(runtime: Runtime, person: str, text: str, material: Material) -> PortraitScores | None:
    """Ask for the scores of a portrait; None if what came could not be read."""
    slots = {"person": person, "portrait": portrait.inside(text)}
    config = runtime.config.memory.relational
    try:
        answer = portrait.ask(
            runtime,
            "scores",
            slots,
            SCHEMA,
            max_tokens=MAX_TOKENS,
            temperature=config.score_temperature,
        )
    except AnswerInvalidError:
        return None
    sources = (text, *material.statements, *material.sources)
    dynamic = _grounded([answer.get("dynamic", "")], sources, material, strictly=False)
    return PortraitScores(
        Scores(**{name: min(1.0, max(0.0, float(answer[name]))) for name in _NAMES}),
        dynamic[0] if dynamic else None,
        _listed(answer, "topics", sources, material),
        _listed(answer, "unresolved", sources, material),
    )


def _listed(
    answer: Mapping[str, Any], name: str, sources: Sequence[str], material: Material
) -> tuple[str, ...] | None:
    if name not in answer:
        return None
    return tuple(_grounded(answer[name], sources, material, strictly=True))


def _grounded(
    texts: Sequence[str], sources: Sequence[str], material: Material, *, strictly: bool
) -> list[str]:
    """Keep the texts that add nothing and, strictly, speak of something that was said."""
    speakers = Speakers((material.entity, *material.names))
    spoken = {stem for source in sources for stem in material.stems(source)}
    kept_texts: dict[str, str] = {}
    for text in texts:
        line = one_line(text)
        about = material.stems(line) - material.name_stems
        reason = grounded.check(line, sources, speakers, material.language, messages=sources)
        if line and reason is None and (about & spoken or not strictly):
            kept_texts.setdefault(line.casefold(), line)
    return list(kept_texts.values())
