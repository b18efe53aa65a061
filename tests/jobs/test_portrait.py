from __future__ import annotations

from bumble.jobs import portrait

OLD = "Sam mends old clocks in Lisbon.\nHis dog is Biscuit, his sister Ana.\nWe met in May 2024."


def test_a_portrait_is_refused_that_is_too_short_or_loses_too_much() -> None:
    half = OLD[: len(OLD) // 2]
    assert "too little" in portrait.refusal("", "Sam.", allow_shrink=True)
    assert "lose" in portrait.refusal(OLD, half, allow_shrink=False)
    assert portrait.refusal(OLD, half, allow_shrink=True) == ""
    outdated = OLD.replace("Lisbon", "Porto").replace("We met in May 2024.", "We have long met.")
    assert portrait.refusal(OLD, outdated, allow_shrink=False) == ""
    longer = "Bo bakes.\nBo sings."
    assert portrait.refusal("Bo bakes.", longer, allow_shrink=False) == ""


def test_what_holds_a_number_that_stands_nowhere_else_is_not_told_again() -> None:
    known = ["Ruth keeps a small bakery in Sankt Veit together with her nephew Tobi."]
    aged = "Ruth is 58 and keeps a small bakery in Sankt Veit with her nephew Tobi."
    assert not portrait.is_told(aged, known)
    assert not portrait.is_told(aged.replace("is 58 and ", "").replace("Tobi", "Max"), known)
    assert portrait.is_told(aged.replace("is 58 and ", ""), known)


def test_what_says_more_than_what_is_known_is_not_known() -> None:
    known = ["Pilar is allergic to nuts.", "Ines's parents Pilar is allergic to nuts."]
    assert portrait.is_told("Pilar is allergic to nuts.", known)
    assert not portrait.is_told("Pilar is Ines's mother and allergic to nuts.", known)
