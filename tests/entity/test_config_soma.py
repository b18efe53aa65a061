from __future__ import annotations

import dataclasses
from typing import Any, get_args, get_type_hints

from bumble.body import parameters
from bumble.body.affects import EMOTIONS
from bumble.body.bars import BAR_NAMES
from bumble.body.hormones import HORMONE_NAMES
from bumble.entity import config_soma, schema, settings
from bumble.entity.config_soma import BarName, HormoneName


def test_the_body_reads_its_parameters_from_these_settings() -> None:
    loaded = settings.load(flags={"soma.bars.levels.social.initial": 12.0})
    values = loaded.values
    read = parameters.read(values["soma"], values["memory"], values["recall"])
    assert read.soma.bars.levels["social"].initial == 12.0
    assert read.imprint.recall_weight == loaded.config.memory.imprint_recall_weight


def test_a_section_has_the_fields_that_the_body_knows_and_no_others() -> None:
    pairs = {
        kind.__name__: kind
        for kind in _sections(parameters.BodyConfig)
        if hasattr(config_soma, kind.__name__) and kind.__name__ != "SomaConfig"
    }
    assert len(pairs) > 10
    for name, theirs in pairs.items():
        ours = schema.fields(getattr(config_soma, name))
        assert list(ours) == [field.name for field in dataclasses.fields(theirs)], name


def test_bars_hormones_and_moods_have_the_bodys_names() -> None:
    assert get_args(BarName) == BAR_NAMES
    assert get_args(HormoneName) == tuple(HORMONE_NAMES)
    assert {mood.mood for mood in settings.load().config.soma.affects.moods} <= set(EMOTIONS)


def _sections(kind: Any) -> list[Any]:
    """Find every dataclass that a dataclass of the body is made of."""
    found = [kind]
    for hint in get_type_hints(kind).values():
        for below in (hint, *get_args(hint)):
            if dataclasses.is_dataclass(below):
                found += _sections(below)
    return found
