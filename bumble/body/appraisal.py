"""What a model says a turn did to the body: the schema, its limits, and how it is applied.

Holds the schema of the answer, not the prompt and not the call. An answer that cannot be used is
a `ValueError`; the caller then leaves the body as it is.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from bumble.body import affects, fields, hormones
from bumble.body import bars as bars_module
from bumble.body.affects import NAME_MAX_CHARS, FeltImprint
from bumble.body.config import BAR_NAMES, EMOTIONS, NEUTRAL
from bumble.body.significance import appraisal_strength
from bumble.body.soma import FeltLine, Soma
from bumble.text.words import shorten

FELT_MAX_CHARS = 200  # of the line that says what it felt like
MAX_POINTS = 10  # most that one turn may move a bar, either way
MAX_AFFECTS = 8  # feelings that one turn may give
AFFECT_BASE = 0.4  # intensity of a feeling where no bar moved
AFFECT_SLOPE = 0.5  # what a full appraisal adds to that
TRIGGER_MAX_CHARS = 120  # of what an imprint says gave rise to it


class Appraisal(Struct, frozen=True):
    """What one turn did to the body."""

    points: Mapping[str, float]  # by bar, each within ± MAX_POINTS; all five are there
    affects: tuple[str, ...]  # slugs, none twice
    felt: str  # one line, may be empty
    imprint: FeltImprint | None  # None when nothing is left behind


def schema() -> dict[str, object]:
    """Describe the answer as JSON Schema, for constrained decoding; all of it is required.

    Points are whole numbers, because grammars keep only those within bounds.
    """
    points = {"type": "integer", "minimum": -MAX_POINTS, "maximum": MAX_POINTS}
    imprint = {
        "emotion": {"type": "string", "enum": list(EMOTIONS)},
        "intensity": {"type": "number", "minimum": 0, "maximum": 1},
        "trigger": {"type": "string", "maxLength": TRIGGER_MAX_CHARS},
    }
    return _closed(
        {
            # words first: a small model that begins with numbers answers with zeros
            "felt": {"type": "string", "maxLength": FELT_MAX_CHARS},
            "affects": {
                "type": "array",
                "items": {"type": "string", "maxLength": NAME_MAX_CHARS},
                "maxItems": MAX_AFFECTS,
            },
            "imprint": _closed(imprint),
            "bars": _closed(dict.fromkeys(BAR_NAMES, points)),
        }
    )


def parse(answer: object) -> Appraisal:
    """Read a decoded answer: numbers are clamped, lists and lines cut, unknown fields passed over.

    A bar that is left out is not moved; `felt`, `affects` and `imprint` may be missing.

    Raises:
        ValueError: If `bars` is missing or a value has the wrong type.
    """
    whole = fields.section(answer, "appraisal")
    moved = fields.section(fields.entry(whole, "bars", ""), "bars")
    points = {}
    for name in BAR_NAMES:
        value = fields.number(moved.get(name, 0), f"bars.{name}")
        points[name] = min(MAX_POINTS, max(-MAX_POINTS, value))
    named = [
        affects.slug(fields.text(each, f"affects[{index}]"))
        for index, each in enumerate(fields.items(whole.get("affects"), "affects"))
    ]
    return Appraisal(
        points=points,
        affects=tuple(dict.fromkeys(filter(None, named)))[:MAX_AFFECTS],
        felt=shorten(fields.text(whole.get("felt", ""), "felt"), FELT_MAX_CHARS),
        imprint=_imprint(whole.get("imprint")),
    )


def apply(
    soma: Soma,
    appraisal: Appraisal,
    *,
    left: float = 1.0,
    audience: tuple[str, ...] = (),
) -> Soma:
    """Let an appraisal move bars, hormones and affects; advance the body to its time first.

    Args:
        soma: The body at that time.
        appraisal: What the turn did.
        left: The share of it that has not ebbed away since the turn, in [0, 1].
        audience: Who may meet the felt line in a prompt; empty: everyone.
    """
    strength = appraisal_strength(appraisal.points)
    intensity = (AFFECT_BASE + AFFECT_SLOPE * strength) * left
    points = {name: value * left for name, value in appraisal.points.items()}
    return replace(
        soma,
        bars=bars_module.nudge(soma.bars, points),
        hormones=hormones.apply_bar_deltas(soma.hormones, points),
        affects=affects.feel(soma.affects, appraisal.affects, intensity, soma.at),
        felt=FeltLine(appraisal.felt, soma.at, audience) if appraisal.felt else soma.felt,
    )


def _imprint(value: object) -> FeltImprint | None:
    if value is None:
        return None
    section = fields.section(value, "imprint")
    emotion = fields.text(fields.entry(section, "emotion", "imprint"), "imprint.emotion")
    if (emotion := emotion.strip().casefold()) not in EMOTIONS:
        raise ValueError(f"`imprint.emotion` is not one of {', '.join(EMOTIONS)}: {emotion!r}")
    raw_intensity = fields.number(
        fields.entry(section, "intensity", "imprint"), "imprint.intensity"
    )
    trigger = fields.text(section.get("trigger", ""), "imprint.trigger")
    intensity = min(1.0, max(0.0, raw_intensity))
    if emotion == NEUTRAL or intensity == 0:
        return None
    return FeltImprint(emotion, intensity, shorten(trigger, TRIGGER_MAX_CHARS))


def _closed(properties: dict[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
