from __future__ import annotations

import pytest

from bumble.errors import RecordInvalidError
from tests.support import looking
from tests.support.running import Run

LIVED = """\
bars:
  at: 2026-05-24T12:00:00+01:00
  social: {value: 85, rest: 50}
  curiosity: {value: 74, rest: 45}
  creative: {value: 40, rest: 40}
  tension: {value: 15, rest: 15}
  comfort: {value: 71, rest: 65}
hormones: {at: '2026-05-24T12:00:00+01:00', dopamine: 0.6, cortisol: 0.02, oxytocin: 0.2}
affects:
- {name: amused, intensity: 0.62, at: '2026-05-24T12:00:00+01:00'}
felt: {text: a quick bright tug, at: '2026-05-24T12:00:00+01:00', audience: [sam]}
noise:
  ticked_at: 2026-05-24T12:00:00+01:00
  fragments:
  - {text: the tide pulls, kind: dream, salience: 0.9, at: '2026-05-24T03:00:00+01:00'}
"""
HOUR_LATER = "2026-05-24T13:00:00+01:00"


@pytest.fixture
def ada(run: Run) -> Run:
    """Ada, on a machine without models."""
    return looking.without_models(run)


@pytest.fixture
def lived(ada: Run) -> Run:
    """Ada, stirred at noon."""
    ada.write("soma.yaml", LIVED)
    return ada


def test_a_newborn_has_a_body(ada: Run) -> None:
    data = ada.ok("soma", "--json").data
    assert data["stored_at"] is None
    assert data["age_seconds"] is None
    assert data["bars"]["social"] == {"value": 50.0, "rest": 50.0}
    assert (data["tier"], data["affects"], data["felt"], data["noise"]) == ("quiet", [], None, [])
    assert "nothing has moved it yet" in ada.ok("soma").out
    assert not ada.file("soma.yaml").exists()


def test_the_body_is_drawn_as_it_is_now(lived: Run) -> None:
    out = lived.ok("soma", "--now", "2026-05-24T12:00:00+01:00").out
    assert "social     ███████████████┃██████████░░░░   85  rest 50" in out
    assert "tension    ████┃" in out
    for line in (
        "mood      content (0.47)",
        "feelings  amused (0.62)",
        "felt      a quick bright tug (2026-05-24 12:00)",
        "hormones  dopamine 0.60 (DOMINANT), cortisol 0.02 (baseline), oxytocin 0.20 (baseline)",
        "tone      be enthusiastic and celebrate wins",
        "urges     reach out",
        "torn      settle or search",
        "noise     [dream] the tide pulls",
    ):
        assert line in out
    assert "last written 20" in out


def test_the_present_is_computed_and_nothing_written(lived: Run) -> None:
    before = looking.truths(lived)
    now = lived.ok("soma", "--json", "--now", "2026-05-24T12:00:00+01:00").data
    later = lived.ok("soma", "--json", "--now", HOUR_LATER).data
    assert later["age_seconds"] == 3600
    assert later["bars"]["social"]["value"] < now["bars"]["social"]["value"]
    assert later["affects"][0]["intensity"] == pytest.approx(0.62 * 0.5 ** (60 / 90), abs=1e-4)
    assert later["hormones"]["dopamine"]["level"] == pytest.approx(0.15 + 0.45 / 4, abs=1e-4)
    assert looking.truths(lived) == before


def test_a_tick_writes_the_present_exactly_once(lived: Run) -> None:
    shown = lived.ok("soma", "--json", "--now", HOUR_LATER).data
    assert lived.ok("soma", "tick", "--now", HOUR_LATER).out == ""
    written = looking.truths(lived)
    again = lived.ok("soma", "tick", "--now", HOUR_LATER, "--json").data
    assert again["ran"] is False
    assert looking.truths(lived) == written
    after = lived.ok("soma", "--json", "--now", HOUR_LATER).data
    assert after["stored_at"] == HOUR_LATER
    for name, bar in shown["bars"].items():
        assert after["bars"][name]["value"] == pytest.approx(bar["value"], abs=0.01)
    assert lived("soma", "tick", "--now", HOUR_LATER, "--exit-code").code == 4


@pytest.mark.parametrize("words", [["soma"], ["soma", "tick"], ["noise"], ["noise", "tick"]])
def test_a_broken_file_is_named_with_its_field_and_left_alone(lived: Run, words: list[str]) -> None:
    lived.write("soma.yaml", LIVED.replace("value: 85", "value: much"))
    before = looking.truths(lived)
    ran = lived(*words)
    assert ran.code == RecordInvalidError.exit_code
    assert "soma.yaml" in ran.err
    assert "bars.social.value" in ran.err
    assert looking.truths(lived) == before
