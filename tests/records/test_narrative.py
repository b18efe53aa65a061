from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bumble.records import narrative
from bumble.records.base import Provenance

AT = datetime(2026, 5, 24, 3, 12, 47, tzinfo=UTC)
CITED = "## What matters\n\nThe sea. (ep_01, ep_02)\n\nRain (a lot). (ep_03)"
LINKED = (
    "The sea. ([2026-05-13](episodes/2026/05/ep_01.md), ep_02)\n\n- [1 May](episodes/a.md): rain."
)


def story(sources: tuple[str, ...] = (), audience: tuple[str, ...] = ()) -> narrative.Narrative:
    origin = Provenance("narrate", sources=sources, audience=audience)
    change = narrative.plan_tell(None, CITED, AT, origin, "tell", fingerprint="f1")
    assert change is not None
    assert change.data is not None
    return narrative.NARRATIVE.parse(change.data.decode())


def test_a_prompt_shows_no_ids() -> None:
    shown = narrative.told_to(story(), ("sam",))
    assert shown == "## What matters\n\nThe sea.\n\nRain (a lot)."
    assert narrative.uncited(LINKED) == "The sea.\n\n- 1 May: rain."


@pytest.mark.parametrize(
    ("readers", "told"),
    [(("sam",), True), (("bo",), False), (("sam", "bo"), False), ((), False)],
)
def test_a_story_for_some_is_told_to_nobody_else(readers: tuple[str, ...], told: bool) -> None:
    assert bool(narrative.told_to(story(audience=("sam",)), readers)) == told
    assert narrative.told_to(story(), readers)


def test_what_no_longer_holds_leaves_the_front_matter() -> None:
    old = story(audience=("sam",), sources=("ep_01",))
    change = narrative.plan_tell(old, "New.", AT, Provenance("narrate"), "tell", fingerprint="f2")
    assert change is not None
    assert change.data is not None
    new = narrative.NARRATIVE.parse(change.data.decode())
    assert (new.provenance.audience, new.provenance.sources) == ((), ())
    assert new.fingerprint == "f2"


def test_values_keep_the_order_they_had_when_the_story_was_made() -> None:
    old = narrative.NARRATIVE.parse("Mine.\n")
    change = narrative.plan_tell(old, "New.", AT, Provenance("narrate"), "tell", fingerprint="f2")
    assert change is not None
    assert change.data is not None
    made = list(story().source.meta)
    assert list(narrative.NARRATIVE.parse(change.data.decode()).source.meta) == made
