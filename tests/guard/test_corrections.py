from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bumble.guard import clauses, corrections, verifier
from bumble.guard.verifier import CitedClaim, ClaimSources, Said

AT = datetime(2027, 2, 1, 19, tzinfo=UTC)


def verdict(sentence: str, *said: str, cites: tuple[str, ...] = ("m1",)) -> tuple[str, str]:
    """Hold a sentence to messages of one person, a day apart."""
    window = tuple(Said(f"m{n}", AT + timedelta(n), "Ona", text) for n, text in enumerate(said, 1))
    rests = tuple(one.text for one in window if one.id in cites)
    found = verifier.check(CitedClaim(sentence, cites, rests), ClaimSources(window, ("Ada",)))
    return found.verdict, found.why


@pytest.mark.parametrize(
    ("sentence", "older", "newer"),
    [
        (
            "They get the keys on 22 February.",
            "we get the keys on the 22nd",
            "keys on the 24th, the lawyer rang",
        ),
        ("Ona rehearses in Leeds.", "the rehearsal is in Leeds", "rehearsal is in Sheffield now"),
        (
            "Ona has eleven blades to mend.",
            "11 blades to do on this boat",
            "12 blades, they added one",
        ),
        ("Lena leitet das Labor.", "meine Chefin heißt Lena Vogt", "nicht Lena, Lene Vogt"),
        ("Der Umzug ist am 30. Mai.", "Umzug am 30. Mai", "der Umzug ist am 31."),
        ("El viaje es el 28 de mayo.", "el viaje es el 28 de mayo", "el viaje es el 30 de mayo"),
        (
            "The inspection is on Tuesday 9 February.",
            "Mr Pugh inspects us on Tuesday 9 February",
            "Pugh emailed. can't do Tuesday, it's Wednesday now",
        ),
        ("Der Hanomag ist von 1952.", "der Hanomag ist Baujahr 52", "Hanomag: 1954, nicht 52"),
        ("Milan hat im März Prüfung.", "Milan hat Prüfung im März", "Prüfung ist am 5. April"),
    ],
)
def test_a_newer_value_in_the_same_place_replaces_the_older(
    sentence: str, older: str, newer: str
) -> None:
    assert verdict(sentence, older)[0] != "mend"
    refused, why = verdict(sentence, older, newer)
    assert refused == "mend"
    assert newer in why


@pytest.mark.parametrize(
    ("sentence", "older", "newer"),
    [
        ("Ona's dog is three.", "my dog is three", "my boss is thirty and never late"),
        ("They get the keys on 22 February.", "keys on the 22nd", "mum comes on the 24th"),
        ("Ona's car costs £460.", "the car is £460", "no, as I said, 460 plus vat, 552 in all"),
        (
            "The inspection was set for Tuesday 9 February, then moved to Wednesday.",
            "Mr Pugh inspects us on Tuesday 9 February",
            "Pugh emailed. can't do Tuesday, it's Wednesday now",
        ),
        ("Ona bought six planks.", "i bought six planks", "ate two eggs, read nine pages"),
        ("Der Umzug ist am 30. Mai.", "Umzug am 30. Mai", "jetzt sind wir 26. der Chor wächst"),
        (
            "Iker works in Triana.",
            "iker works in triana",
            "if i were rich iker would live in barbate",
        ),
        ("Ona works for Dag in Leeds.", "i work for dag in leeds", "dag came over, we sat in hull"),
    ],
)
def test_a_value_of_something_else_replaces_nothing(sentence: str, older: str, newer: str) -> None:
    assert verdict(sentence, older, newer)[0] != "mend"


def test_a_sentence_that_tells_both_values_stands() -> None:
    said = ("the recital is on 14 June", "the recital is on 21 June")
    both = "The recital was put off from 14 to 21 June."
    assert verdict(both, *said, cites=("m1", "m2"))[0] != "mend"
    assert verdict("Ona first named 14 June for the recital.", *said)[0] != "mend"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("should we buy a second caravan for the seaside?", "asked"),
        ("if we won the lottery we would buy a caravan by the seaside", "imagined"),
    ],
)
def test_what_was_only_asked_or_imagined_is_not_told(text: str, why: str) -> None:
    assert why in verdict("Ona bought a caravan at the seaside.", text)[1]
    assert verdict("Ona wonders about a caravan at the seaside.", text)[0] != "mend"


@pytest.mark.parametrize(
    "text", ["la librería de María está en la avenida", "a Maria disse que tem classe"]
)
def test_a_noun_that_looks_like_a_conditional_is_told(text: str) -> None:
    language = "es" if "está" in text else "pt"
    assert not clauses.is_unreal(text, language)


def test_what_only_the_entity_said_is_not_told() -> None:
    window = (
        Said("m1", AT, "Ona", "hail took most of the sorghum"),
        Said("m2", AT + timedelta(minutes=1), "Ada", "The stones were like golf balls, I guess."),
    )
    claim = CitedClaim("Hail as large as golf balls took the sorghum.", ("m1",), ("hail took",))
    found = verifier.check(claim, ClaimSources(window, ("Ada",), entity="Ada"))
    assert (found.verdict, "only Ada said" in found.why) == ("mend", True)


def test_what_follows_by_arithmetic_is_an_inference() -> None:
    said = ("they want 8 bowls at 85 pounds each",)
    assert verdict("The bowls bring Ona 680 pounds.", *said)[0] == "inference"
    assert verdict("The bowls bring Ona 690 pounds.", *said)[0] == "mend"


@pytest.mark.parametrize(
    ("known", "text", "says"),
    [
        ("Zofia uczy geografii w liceum w Toruniu.", "Zofia uczy geografii w liceum.", True),
        ("Odete sings.", "Odete sings.", True),
        ("Odete is eighty.", "Odete sings.", False),
        ("Odete sings in a choir.", "Odete sings on Sundays.", False),
        ("Kim's daughter paints.", "Kim paints.", False),
        ("Kim goes to school no longer.", "Kim goes to school.", False),
    ],
)
def test_a_fact_that_stands_there_in_full_adds_nothing(known: str, text: str, says: bool) -> None:
    assert corrections.says_all(known, text) is says
