"""The whole body at one moment: how time and events move it, and its form in `soma.yaml`.

Joins bars, hormones, affects and noise. Reading the present is `advance`, which changes nothing
that is stored: the caller keeps the old state until something happened that is worth writing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, tzinfo
from typing import Any

from msgspec import Struct, defstruct
from msgspec.structs import astuple, replace

from bumble.body import affects, bars, hormones, noise
from bumble.body.affects import Affect, Mood
from bumble.body.bars import Bar, Bars
from bumble.body.config import BAR_NAMES, HORMONE_NAMES, Temperament
from bumble.body.hormones import Hormones
from bumble.body.noise import Fragment
from bumble.text import schema

DECIMALS = 4  # of a stored value; finer than anything shown


# In the file the time of bars and of hormones stands beside their levels.
_BARS: Any = defstruct("Bars", [("at", schema.Moment), *((name, Bar) for name in BAR_NAMES)])
_HORMONES: Any = defstruct(
    "Hormones", [("at", schema.Moment), *((name, schema.Share) for name in HORMONE_NAMES)]
)


class FeltLine(Struct, frozen=True):
    """What the last appraisal said it felt like."""

    text: str  # one line
    at: schema.Moment
    audience: tuple[str, ...] = ()  # ids of those who may meet it in a prompt; empty: everyone


class Soma(Struct, frozen=True):
    """The body, every value with the time it was true."""

    bars: Bars
    hormones: Hormones
    affects: tuple[Affect, ...]
    noise: tuple[Fragment, ...]  # oldest first
    noise_ticked_at: datetime | None  # when a thought was last asked for
    felt: FeltLine | None

    @property
    def at(self) -> datetime:
        """The time this state stands for."""
        return self.bars.at

    @property
    def mood(self) -> Mood:
        """The feeling that stands out."""
        return affects.mood(self.bars)

    @property
    def intensity(self) -> float:
        """How strongly anything is felt, in [0, 1]: the mood or the strongest affect."""
        return max([self.mood.intensity, *(affect.intensity for affect in self.affects)])


class _Noise(Struct, frozen=True):
    """The thoughts in the file."""

    fragments: tuple[Fragment, ...] | None = None
    ticked_at: schema.Moment | None = None


class _File(Struct, frozen=True):
    """What soma.yaml holds."""

    bars: _BARS
    hormones: _HORMONES
    impulses: Mapping[str, schema.Moment] | None = None
    affects: tuple[Affect, ...] | None = None
    felt: FeltLine | None = None
    noise: _Noise = _Noise()


def birth(at: datetime, temperament: Temperament) -> Soma:
    """Give a new entity its body."""
    return Soma(bars.birth(at, temperament), hormones.birth(at), (), (), None, None)


def advance(soma: Soma, now: datetime, tz: tzinfo, temperament: Temperament) -> Soma:
    """Bring the whole body to `now`, in the entity's time zone.

    How often this is called makes no difference; a clock that goes back sets only the time.
    """
    return replace(
        soma,
        bars=bars.advance(soma.bars, now, tz, temperament),
        hormones=hormones.advance(soma.hormones, now),
        affects=affects.faded(soma.affects, now),
    )


def apply_event(soma: Soma, event: str) -> Soma:
    """Let something that happened move bars and hormones; advance the body to its time first."""
    return replace(
        soma,
        bars=bars.nudge(soma.bars, bars.EVENTS.get(event, {})),
        hormones=hormones.nudge(soma.hormones, hormones.EVENTS.get(event, {})),
    )


def fire(soma: Soma, impulse: str) -> Soma:
    """Act on an impulse that is ready: pay for it, start its cooldown, feel it."""
    fired = replace(soma, bars=bars.fire(soma.bars, impulse))
    return replace(fired, hormones=hormones.nudge(soma.hormones, hormones.EVENTS["impulse"]))


def hear(soma: Soma, fragments: tuple[Fragment, ...]) -> Soma:
    """Take fragments into the noise, each refused or not on its own."""
    ring = soma.noise
    for each in fragments:
        ring = noise.push(ring, each)
    return replace(soma, noise=ring)


def shown_to(soma: Soma, people: Collection[str]) -> Soma:
    """Return the body as some people may meet it in a prompt.

    What it felt like with others, and thoughts that began with what they said, are left out; how
    the body is belongs to nobody.
    """
    felt = soma.felt if soma.felt and is_open(soma.felt.audience, people) else None
    fragments = tuple(each for each in soma.noise if is_open(each.audience, people))
    return replace(soma, felt=felt, noise=fragments)


def is_open(audience: Collection[str], people: Collection[str]) -> bool:
    """Tell whether all of these people may meet something; without any, whether everyone may."""
    return not audience or (bool(people) and set(people) <= set(audience))


def to_mapping(soma: Soma) -> dict[str, object]:
    """Write the body in plain types, as soma.yaml holds it; values are rounded to 4 decimals."""
    return {
        "bars": {
            "at": soma.bars.at.isoformat(),
            **{
                name: {"value": _rounded(bar.value), "rest": _rounded(bar.rest)}
                for name, bar in soma.bars.levels.items()
            },
        },
        "impulses": {name: at.isoformat() for name, at in soma.bars.fired.items()},
        "hormones": {
            "at": soma.hormones.at.isoformat(),
            **{name: _rounded(level) for name, level in soma.hormones.levels.items()},
        },
        "affects": [
            {"name": each.name, "intensity": _rounded(each.intensity), "at": each.at.isoformat()}
            for each in soma.affects
        ],
        # the audience is written also when it is empty, or the one of an earlier line would stay
        "felt": felt_mapping(soma.felt),
        "noise": {
            "ticked_at": soma.noise_ticked_at.isoformat() if soma.noise_ticked_at else None,
            "fragments": [
                {
                    "text": each.text,
                    "kind": each.kind,
                    "salience": _rounded(each.salience),
                    "at": each.at.isoformat(),
                    **({"audience": list(each.audience)} if each.audience else {}),
                }
                for each in soma.noise
            ],
        }
        if soma.noise_ticked_at or soma.noise
        else None,
    }


def felt_mapping(felt: FeltLine | None) -> dict[str, object] | None:
    """Return what was felt as it is stored and shown; None where nothing was."""
    if felt is None:
        return None
    return {"text": felt.text, "at": felt.at.isoformat(), "audience": list(felt.audience)}


def from_mapping(mapping: object) -> Soma:
    """Read the body from what soma.yaml holds; fields it does not know are passed over.

    `bars` and `hormones` must be there; anything else that is absent is empty.

    Raises:
        ValueError: Naming the field whose value will not do.
    """
    file = schema.build(_File, mapping, deep=True)
    return Soma(
        bars=Bars(
            at=file.bars.at,
            levels={name: getattr(file.bars, name) for name in BAR_NAMES},
            fired=file.impulses or {},
        ),
        hormones=Hormones(
            file.hormones.at, {name: getattr(file.hormones, name) for name in HORMONE_NAMES}
        ),
        affects=tuple(replace(one, name=affects.slug(one.name)) for one in file.affects or ()),
        noise=tuple(noise.fragment(*astuple(one)) for one in file.noise.fragments or ()),
        noise_ticked_at=file.noise.ticked_at,
        felt=file.felt,
    )


def _rounded(value: float) -> float:
    return round(value, DECIMALS)
