"""What a model says a turn did to the body: the schema, its limits, and how it is applied.

Holds the schema of the answer, not the prompt and not the call. An answer that cannot be used is
a `ValueError`; the caller then leaves the body as it is.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from bumble.body import affects, bars, hormones
from bumble.body.affects import NAME_MAX_CHARS, Imprint
from bumble.body.config import BAR_NAMES, EMOTIONS, NEUTRAL
from bumble.body.significance import appraisal_strength
from bumble.body.soma import FeltLine, Soma
from bumble.text import schema
from bumble.text.words import shorten

FELT_MAX_CHARS = 200  # of the line that says what it felt like
MAX_POINTS = 10  # most that one turn may move a bar, either way
MAX_AFFECTS = 8  # feelings that one turn may give
AFFECT_BASE = 0.4  # intensity of a feeling where no bar moved
AFFECT_SLOPE = 0.5  # what a full appraisal adds to that
PLACE = "appraisal"  # of an answer that can't be used, in its error
TRIGGER_MAX_CHARS = 120  # of what an imprint says gave rise to it


class _Answer(Struct, frozen=True):
    """What a model says."""

    bars: Mapping[str, float]
    affects: tuple[str, ...] | None = None
    felt: str = ""
    imprint: Imprint | None = None


class Appraisal(Struct, frozen=True):
    """What one turn did to the body."""

    points: Mapping[str, float]  # by bar, each within ± MAX_POINTS; all five are there
    affects: tuple[str, ...]  # slugs, none twice
    felt: str  # one line, may be empty
    imprint: Imprint | None  # None when nothing is left behind


def form() -> dict[str, object]:
    """Describe the answer as JSON Schema, for constrained decoding; all of it is required.

    Points are whole numbers, because grammars keep only those within bounds.
    """
    points = {"type": "integer", "minimum": -MAX_POINTS, "maximum": MAX_POINTS}
    imprint = {
        "emotion": schema.choice(EMOTIONS),
        "intensity": {"type": "number", "minimum": 0, "maximum": 1},
        "trigger": {"type": "string", "maxLength": TRIGGER_MAX_CHARS},
    }
    return schema.closed(
        {
            # words first: a small model that begins with numbers answers with zeros
            "felt": {"type": "string", "maxLength": FELT_MAX_CHARS},
            "affects": {
                "type": "array",
                "items": {"type": "string", "maxLength": NAME_MAX_CHARS},
                "maxItems": MAX_AFFECTS,
            },
            "imprint": schema.closed(imprint),
            "bars": schema.closed(dict.fromkeys(BAR_NAMES, points)),
        }
    )


def parse(answer: object) -> Appraisal:
    """Read a decoded answer: numbers are clamped, lists and lines cut, unknown fields passed over.

    A bar that is left out is not moved; `felt`, `affects` and `imprint` may be missing.

    Raises:
        ValueError: If `bars` is missing or a value has the wrong type.
    """
    whole = schema.build(_Answer, answer, (PLACE,), deep=True)
    points = {
        name: min(MAX_POINTS, max(-MAX_POINTS, whole.bars.get(name, 0.0))) for name in BAR_NAMES
    }
    named = map(affects.slug, whole.affects or ())
    return Appraisal(
        points=points,
        affects=tuple(dict.fromkeys(filter(None, named)))[:MAX_AFFECTS],
        felt=shorten(whole.felt, FELT_MAX_CHARS),
        imprint=_imprint(whole.imprint),
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
    intensity = (AFFECT_BASE + AFFECT_SLOPE * appraisal_strength(appraisal.points)) * left
    points = {name: value * left for name, value in appraisal.points.items()}
    return replace(
        soma,
        bars=bars.nudge(soma.bars, points),
        hormones=hormones.apply_bar_deltas(soma.hormones, points),
        affects=affects.feel(soma.affects, appraisal.affects, intensity, soma.at),
        felt=FeltLine(appraisal.felt, soma.at, audience) if appraisal.felt else soma.felt,
    )


def _imprint(said: Imprint | None) -> Imprint | None:
    emotion = said.emotion.strip().casefold() if said else NEUTRAL
    if emotion not in EMOTIONS:
        raise ValueError(f"`imprint.emotion` is not one of {', '.join(EMOTIONS)}: {emotion!r}")
    intensity = min(1.0, max(0.0, said.intensity)) if said else 0.0
    if said is None or emotion == NEUTRAL or intensity == 0:
        return None
    return Imprint(emotion, intensity, shorten(said.trigger, TRIGGER_MAX_CHARS))
