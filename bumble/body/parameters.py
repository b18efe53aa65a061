"""All numbers of the body in one value, read from the settings.

A field's name is the setting's name: `SomaConfig.bars` is `soma.bars`, and so on down. Knows
neither where the settings come from nor their defaults.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from bumble.body import fields
from bumble.body.affects import AffinityConfig, ImprintConfig
from bumble.body.appraisal import AppraisalConfig
from bumble.body.ebb import EbbConfig
from bumble.body.endocrine import EndocrineConfig
from bumble.body.familiarity import ScalarConfig
from bumble.body.significance import FadingConfig, SignificanceConfig
from bumble.body.soma import SomaConfig

T = TypeVar("T")


@dataclass(frozen=True)
class BodyConfig:
    """All parameters of the body and of what it leaves in memory."""

    soma: SomaConfig  # soma.bars, soma.hormones, soma.affects, soma.noise
    appraisal: AppraisalConfig  # soma.appraisal
    ebb: EbbConfig  # soma.ebb
    endocrine: EndocrineConfig  # soma.endocrine
    imprint: ImprintConfig  # memory.imprint_*
    affinity: AffinityConfig  # recall.affinity
    significance: SignificanceConfig  # memory.significance
    fading: FadingConfig  # memory.memory_decay_rate and its neighbours
    scalar: ScalarConfig  # memory.relational.scalar


def read(soma: object, memory: object, recall: object) -> BodyConfig:
    """Read the parameters from the settings' sections `soma`, `memory` and `recall`.

    Settings of other rooms in the same sections are passed over.

    Raises:
        ValueError: Naming the setting that is missing or will not do.
    """
    body, memories = fields.section(soma, "soma"), fields.section(memory, "memory")
    recalls = fields.section(recall, "recall")
    relational = fields.section(fields.entry(memories, "relational", "memory"), "memory.relational")
    return BodyConfig(
        soma=build(SomaConfig, body, "soma"),
        appraisal=build(AppraisalConfig, fields.entry(body, "appraisal", "soma"), "soma.appraisal"),
        ebb=build(EbbConfig, fields.entry(body, "ebb", "soma"), "soma.ebb"),
        endocrine=build(EndocrineConfig, fields.entry(body, "endocrine", "soma"), "soma.endocrine"),
        imprint=build(ImprintConfig, memories, "memory", prefix="imprint_"),
        affinity=build(
            AffinityConfig, fields.entry(recalls, "affinity", "recall"), "recall.affinity"
        ),
        significance=build(
            SignificanceConfig,
            fields.entry(memories, "significance", "memory"),
            "memory.significance",
        ),
        fading=build(FadingConfig, memories, "memory"),
        scalar=build(
            ScalarConfig,
            fields.entry(relational, "scalar", "memory.relational"),
            "memory.relational.scalar",
        ),
    )


def build(cls: type[T], value: object, place: str, *, prefix: str = "") -> T:
    """Make a configuration dataclass of a mapping, field by field.

    Args:
        cls: A dataclass of numbers, text, tuples, mappings and dataclasses.
        value: The mapping; keys that are no field are passed over.
        place: Its dotted path, for errors.
        prefix: What the settings' names have before the field's name.
    """
    mapping, hints = fields.section(value, place), get_type_hints(cls)
    arguments = {}
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]  # T is always a dataclass
        key = prefix + field.name
        setting = fields.entry(mapping, key, place)
        arguments[field.name] = _convert(hints[field.name], setting, f"{place}.{key}")
    try:
        return cls(**arguments)
    except ValueError as problem:
        raise ValueError(f"{place}: {problem}") from None


def _convert(hint: Any, value: object, place: str) -> object:
    origin, inner = get_origin(hint), get_args(hint)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return build(hint, value, place)
    if origin is tuple:
        listed = enumerate(fields.items(value, place))
        return tuple(_convert(inner[0], each, f"{place}[{index}]") for index, each in listed)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        section = fields.section(value, place)
        return {key: _convert(inner[1], each, f"{place}.{key}") for key, each in section.items()}
    if hint is bool:
        if not isinstance(value, bool):
            raise ValueError(f"`{place}` is not true or false: {value!r}")
        return value
    if hint is int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"`{place}` is not a whole number: {value!r}")
        return value
    if hint is float:
        return fields.number(value, place)
    if hint is str:
        return fields.text(value, place)
    raise TypeError(f"no setting can hold {hint!r}")
