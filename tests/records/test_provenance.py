from __future__ import annotations

import pytest

from bumble.body.soma import is_open
from bumble.records import provenance


@pytest.mark.parametrize(
    ("audience", "circle", "fits"),
    [
        ((), (), True),
        ((), ("ruth",), True),
        (("ruth",), (), False),
        (("ruth", "tobi"), ("ruth",), True),
        (("tobi",), ("ruth",), False),
        (("ruth",), ("ruth", "tobi"), False),
    ],
)
def test_a_circle_meets_what_all_of_it_may_read(
    audience: tuple[str, ...], circle: tuple[str, ...], fits: bool
) -> None:
    assert is_open(audience, circle) is fits


def test_what_is_made_of_memories_is_for_who_may_read_them_all() -> None:
    assert provenance.joined([(), ("ruth", "tobi"), ("tobi", "ruth")]) == ("ruth", "tobi")
    assert provenance.joined([("ruth", "tobi"), (), ("ruth",)]) == ("ruth",)
    assert provenance.joined([(), ()]) == ()
