"""The whole body at one moment: how time and events move it, and its form in `soma.yaml`.

Joins bars, hormones, affects and noise. Reading the present is `advance`, which changes nothing
that is stored: the caller keeps the old state until something happened that is worth writing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, tzinfo

from msgspec import Struct
from msgspec.structs import replace

from bumble.body import affects, bars, fields, hormones, noise
from bumble.body.affects import Affect
from bumble.body.bars import FULL, Bar, Bars
from bumble.body.config import BAR_NAMES, HORMONE_NAMES, Temperament
from bumble.body.hormones import Hormones
from bumble.body.noise import Fragment

DECIMALS = 4  # of a stored value; finer than anything shown
IMPULSE_EVENT = "impulse"  # what an impulse that fires does to the hormones


class FeltLine(Struct, frozen=True):
    """What the last appraisal said it felt like."""

    text: str  # one line
    at: datetime  # timezone-aware
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
    """Let something that happened move bars and hormones; advance the body to its time first.

    Raises:
        ValueError: If neither table knows the event.
    """
    events = {*bars.EVENTS, *hormones.EVENTS}
    if event not in events:
        raise ValueError(f"`{event}` is not an event; the events are {', '.join(sorted(events))}")
    return replace(
        soma,
        bars=bars.apply_event(soma.bars, event),
        hormones=hormones.apply_event(soma.hormones, event),
    )


def fire(soma: Soma, impulse: str) -> Soma:
    """Act on an impulse that is ready: pay for it, start its cooldown, feel it."""
    fired = replace(soma, bars=bars.fire(soma.bars, impulse))
    return replace(fired, hormones=hormones.apply_event(soma.hormones, IMPULSE_EVENT))


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
        "felt": _felt_mapping(soma.felt) if soma.felt else None,
        "noise": _noise_mapping(soma) if soma.noise_ticked_at or soma.noise else None,
    }


def _felt_mapping(felt: FeltLine) -> dict[str, object]:
    # the audience is written also when it is empty, or the one of an earlier line would stay
    return {"text": felt.text, "at": felt.at.isoformat(), "audience": list(felt.audience)}


def _noise_mapping(soma: Soma) -> dict[str, object]:
    return {
        "ticked_at": soma.noise_ticked_at.isoformat() if soma.noise_ticked_at else None,
        "fragments": [_fragment_mapping(each) for each in soma.noise],
    }


def _fragment_mapping(held: Fragment) -> dict[str, object]:
    audience = {"audience": list(held.audience)} if held.audience else {}
    return {
        "text": held.text,
        "kind": held.kind,
        "salience": _rounded(held.salience),
        "at": held.at.isoformat(),
        **audience,
    }


def from_mapping(mapping: object) -> Soma:
    """Read the body from what soma.yaml holds; fields it does not know are passed over.

    `bars` and `hormones` must be there; anything else that is absent is empty.

    Raises:
        ValueError: Naming the field whose value will not do.
    """
    whole = fields.section(mapping, "soma")
    sounds = fields.section(whole.get("noise") or {}, "noise")
    ticked_at, felt = sounds.get("ticked_at"), whole.get("felt")
    return Soma(
        bars=_read_bars(whole),
        hormones=_read_hormones(whole),
        affects=tuple(
            _read_affect(each, f"affects[{index}]")
            for index, each in enumerate(fields.items(whole.get("affects"), "affects"))
        ),
        noise=tuple(
            _read_fragment(each, f"noise.fragments[{index}]")
            for index, each in enumerate(fields.items(sounds.get("fragments"), "noise.fragments"))
        ),
        noise_ticked_at=None if ticked_at is None else fields.moment(ticked_at, "noise.ticked_at"),
        felt=None if felt is None else _read_felt(felt),
    )


def _read_bars(whole: Mapping[str, object]) -> Bars:
    section = fields.section(fields.entry(whole, "bars", ""), "bars")
    levels = {}
    for name in BAR_NAMES:
        place = f"bars.{name}"
        bar = fields.section(fields.entry(section, name, "bars"), place)
        value = fields.number(fields.entry(bar, "value", place), f"{place}.value", 0, FULL)
        rest = fields.number(fields.entry(bar, "rest", place), f"{place}.rest", 0, FULL)
        levels[name] = Bar(value, rest)
    fired = fields.section(whole.get("impulses") or {}, "impulses")
    return Bars(
        at=fields.moment(fields.entry(section, "at", "bars"), "bars.at"),
        levels=levels,
        fired={name: fields.moment(at, f"impulses.{name}") for name, at in fired.items()},
    )


def _read_hormones(whole: Mapping[str, object]) -> Hormones:
    section = fields.section(fields.entry(whole, "hormones", ""), "hormones")
    at = fields.moment(fields.entry(section, "at", "hormones"), "hormones.at")
    levels = {
        name: fields.number(fields.entry(section, name, "hormones"), f"hormones.{name}", 0, 1)
        for name in HORMONE_NAMES
    }
    return Hormones(at, levels)


def _read_affect(value: object, place: str) -> Affect:
    section = fields.section(value, place)
    name = fields.text(fields.entry(section, "name", place), f"{place}.name")
    if not affects.slug(name):
        raise ValueError(f"`{place}.name` holds no word: {name!r}")
    return Affect(
        affects.slug(name),
        fields.number(fields.entry(section, "intensity", place), f"{place}.intensity", 0, 1),
        fields.moment(fields.entry(section, "at", place), f"{place}.at"),
    )


def _read_felt(value: object) -> FeltLine:
    section = fields.section(value, "felt")
    text = fields.text(fields.entry(section, "text", "felt"), "felt.text")
    at = fields.moment(fields.entry(section, "at", "felt"), "felt.at")
    return FeltLine(text, at, _read_audience(section, "felt"))


def _read_fragment(value: object, place: str) -> Fragment:
    section = fields.section(value, place)
    text = fields.text(fields.entry(section, "text", place), f"{place}.text")
    kind = fields.text(fields.entry(section, "kind", place), f"{place}.kind")
    salience = fields.number(fields.entry(section, "salience", place), f"{place}.salience", 0, 1)
    at = fields.moment(fields.entry(section, "at", place), f"{place}.at")
    try:
        return noise.fragment(text, kind, salience, at, _read_audience(section, place))
    except ValueError as problem:
        raise ValueError(f"`{place}`: {problem}") from None


def _read_audience(section: Mapping[str, object], place: str) -> tuple[str, ...]:
    listed = fields.items(section.get("audience"), f"{place}.audience")
    return tuple(fields.text(each, f"{place}.audience") for each in listed)


def _rounded(value: float) -> float:
    return round(value, DECIMALS)
