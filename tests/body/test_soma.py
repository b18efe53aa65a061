from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from bumble.body import noise, soma
from bumble.body.affects import Affect
from bumble.body.bars import Bar, Bars
from bumble.body.config import BAR_NAMES, HORMONE_NAMES
from bumble.body.hormones import Hormones
from bumble.body.noise import Fragment
from bumble.body.soma import FeltLine, Soma
from bumble.text import yaml_edit
from tests.support.body_defaults import BORN, NOON, STIRRED, TEMPERAMENT, body

BERLIN = ZoneInfo("Europe/Berlin")

MOMENTS = st.datetimes(
    datetime(2000, 1, 1),
    datetime(2100, 1, 1),
    timezones=st.integers(-720, 840).map(lambda minutes: timezone(timedelta(minutes=minutes))),
)
SHARES = st.integers(0, 10_000).map(lambda n: n / 10_000)
LEVELS = st.integers(0, 1_000_000).map(lambda n: n / 10_000)
LINES = st.text("abcdefgh ", min_size=1).filter(str.strip).map(lambda text: " ".join(text.split()))
AUDIENCES = st.lists(st.sampled_from(["sam", "kim"]), max_size=2, unique=True).map(tuple)
SOMAS = st.builds(
    Soma,
    bars=st.builds(
        Bars,
        MOMENTS,
        st.fixed_dictionaries(dict.fromkeys(BAR_NAMES, st.builds(Bar, LEVELS, LEVELS))),
        st.dictionaries(st.sampled_from(["reach_out", "explore_something"]), MOMENTS),
    ),
    hormones=st.builds(
        Hormones, MOMENTS, st.fixed_dictionaries(dict.fromkeys(HORMONE_NAMES, SHARES))
    ),
    affects=st.lists(
        st.builds(Affect, st.sampled_from(["amused", "a-little-proud"]), SHARES, MOMENTS),
        max_size=3,
    ).map(tuple),
    noise=st.lists(
        st.builds(
            Fragment, LINES.filter(lambda text: len(text) < 200),
            st.sampled_from(["thought", "dream"]), SHARES, MOMENTS, AUDIENCES,
        ),
        max_size=3,
    ).map(tuple),
    noise_ticked_at=st.none() | MOMENTS,
    felt=st.none() | st.builds(FeltLine, LINES, MOMENTS, AUDIENCES),
)  # fmt: skip


@given(SOMAS)
@settings(deadline=None)
def test_a_body_survives_its_file(state: Soma) -> None:
    mapping = soma.to_mapping(state)
    assert soma.from_mapping(yaml_edit.parse_mapping(yaml_edit.dump(mapping))) == state
    assert soma.from_mapping(json.loads(json.dumps(mapping))) == state
    assert isinstance(mapping["hormones"], dict)
    mapping["hormones"]["x_mine"] = 2
    assert soma.from_mapping({"x_mine": [1], **mapping}) == state


def test_the_file_of_a_body_is_plain_and_every_value_has_its_time() -> None:
    state = replace(STIRRED, noise=STIRRED.noise[:1], noise_ticked_at=NOON)
    fired = soma.fire(state, "reach_out")
    noon = "2026-05-24T12:00:00+00:00"
    assert soma.to_mapping(fired) == {
        "bars": {
            "at": noon,
            "social": {"value": 60.0, "rest": 50.0},
            "curiosity": {"value": 74.4, "rest": 45.0},
            "creative": {"value": 40.0, "rest": 40.0},
            "tension": {"value": 15.0, "rest": 15.0},
            "comfort": {"value": 71.0, "rest": 65.0},
        },
        "impulses": {"reach_out": noon},
        "hormones": {"at": noon, "dopamine": 0.235, "cortisol": 0.02, "oxytocin": 0.2},
        "affects": [
            {"name": "amused", "intensity": 0.62, "at": noon},
            {"name": "a-little-proud", "intensity": 0.4, "at": noon},
        ],
        "felt": {"text": "a quick bright tug, like a kite", "at": noon, "audience": []},
        "noise": {
            "ticked_at": noon,
            "fragments": [
                {
                    "text": "the tide pulls at thoughts",
                    "kind": "dream",
                    "salience": 0.9,
                    "at": noon,
                }
            ],
        },
    }


@pytest.mark.parametrize(
    ("path", "value", "place"),
    [
        ("bars", None, "bars.at"),
        ("bars.at", "yesterday", "bars.at"),
        ("bars.at", "2026-05-24T12:00:00", "bars.at"),
        ("bars.at", 20260524, "bars.at"),
        ("bars.social", 50, "bars.social"),
        ("bars.social.value", 101, "bars.social.value"),
        ("bars.social.value", "high", "bars.social.value"),
        ("bars.tension.rest", -1, "bars.tension.rest"),
        ("impulses", {"reach_out": "soon"}, "impulses.reach_out"),
        ("hormones.cortisol", 1.5, "hormones.cortisol"),
        ("hormones.cortisol", float("nan"), "hormones.cortisol"),
        ("affects", {"amused": 1}, "affects"),
        ("affects", [{"name": "amused", "intensity": 2, "at": "x"}], r"affects\[0\].intensity"),
        ("affects", [{"name": "?!", "intensity": 1, "at": "x"}], r"affects\[0\].name"),
        ("felt.text", 3, "felt.text"),
        ("felt.audience", "sam", "felt.audience"),
        ("noise.ticked_at", "now", "noise.ticked_at"),
        ("noise.fragments", [{"text": "x"}], r"noise.fragments\[0\].kind"),
        ("noise", ["x"], "noise"),
    ],
)
def test_a_bad_value_is_refused_by_its_field(path: str, value: object, place: str) -> None:
    mapping: Any = soma.to_mapping(STIRRED)
    *parents, last = path.split(".")
    inner = mapping
    for parent in parents:
        inner = inner[parent]
    inner[last] = value
    with pytest.raises(ValueError, match=f"`{place}`"):
        soma.from_mapping(mapping)


@pytest.mark.parametrize(
    ("audience", "people", "is_open"),
    [
        ((), (), True),
        ((), ("kim",), True),
        (("sam",), ("sam",), True),
        (("sam", "kim"), ("sam",), True),
        (("sam",), ("kim",), False),
        (("sam",), ("sam", "kim"), False),
        (("sam",), (), False),
    ],
)
def test_what_was_felt_with_somebody_is_shown_to_them_alone(
    audience: tuple[str, ...], people: tuple[str, ...], *, is_open: bool
) -> None:
    private = noise.fragment("bees do not queue", "thought", 0.4, NOON, audience)
    state = replace(STIRRED, felt=FeltLine("a tug", NOON, audience), noise=(*BORN.noise, private))
    shown = soma.shown_to(state, people)
    assert (shown.felt is not None, bool(shown.noise)) == (is_open, is_open)
    assert (shown.bars, shown.affects) == (state.bars, state.affects)


def test_time_moves_every_part_and_only_once() -> None:
    later = NOON + timedelta(hours=3)
    once = soma.advance(STIRRED, later, BERLIN, TEMPERAMENT)
    assert soma.advance(once, later, BERLIN, TEMPERAMENT) == once
    assert once.at == once.hormones.at == later
    assert once.bars.value("social") < STIRRED.bars.value("social")
    assert [affect.name for affect in once.affects] == ["amused", "a-little-proud"]
    assert once.affects[0].intensity == pytest.approx(0.62 / 4)
    assert (once.noise, once.felt) == (STIRRED.noise, STIRRED.felt)


def test_a_fired_impulse_costs_its_bar_and_lifts_dopamine() -> None:
    fired = soma.fire(body(social=90), "reach_out")
    assert fired.bars.value("social") == 65
    assert fired.hormones.levels["dopamine"] == pytest.approx(0.235)
    assert fired.bars.fired == {"reach_out": NOON}
