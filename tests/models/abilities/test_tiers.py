from __future__ import annotations

from bumble.models.abilities.tiers import ABLE, ANY, Abilities, LateAbilities, overruled


def test_a_tier_is_that_of_the_language_else_of_any_else_of_what_was_not_measured() -> None:
    abilities = Abilities(measured={("talk", "de"): "none", ("memory", ANY): "write"})
    assert abilities.tier("talk", "de") == "none"
    assert abilities.tier("talk", "en") == "choose"
    assert abilities.tier("memory", "en") == "write"


def test_abilities_are_looked_up_once_and_only_when_asked_for() -> None:
    looks: list[int] = []

    def look() -> Abilities:
        looks.append(1)
        return ABLE

    late = LateAbilities(look=look)
    assert looks == []
    assert [late.tier("talk", "de"), late.tier("memory", "en")] == ["write", "write"]
    assert looks == [1]


def test_what_may_only_lower_gives_no_trust() -> None:
    measured = Abilities(measured={("talk", "de"): "none", ("talk", "en"): "write"})
    wanted = overruled(measured, {"talk": {ANY: "choose"}}, [("talk", ANY)])
    assert [wanted.tier("talk", code) for code in ("de", "en", "fr")] == [
        "none",
        "choose",
        "choose",
    ]
