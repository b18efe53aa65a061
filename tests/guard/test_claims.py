from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bumble.guard import claims
from bumble.guard.verifier import ClaimSources
from bumble.text import words
from bumble.text.words import sentences


def unsupported(
    text: str, sources: Sequence[str], known_names: Sequence[str] = ()
) -> tuple[str, ...]:
    return tuple(claims.strange(text, sources, known_names, words.language(text, *sources)))


def bears(text: str, *known: str) -> bool:
    return ClaimSources(known=known, names=("Sam", "Biscuit")).bear(text)


SAID = ("Sam (Sunday 2026-05-24): My dog Biscuit is 3, and we moved to Lisbon in March.",)


@pytest.mark.parametrize(
    "text",
    [
        "Sam has a dog called Biscuit.",
        "Biscuit is Sam's dog.",
        "Sams dog Biscuit",  # a German genitive
        "The dog is three years old.",
        "Loves the dog.",  # a first word is no name for its capital alone
        "They moved to LISBON.",
        "He's fond of dogs.",
        "On May 24 Sam spoke of the dog.",
        "On 24 May 2026 Sam spoke of the dog.",
        "Sam said so on 24.05.2026.",
        "Sam said so on 2026-05-24.",
        "The Lisbon-based dog",
        "I think so, and so do you; Maybe.",
    ],
)
def test_what_was_said_is_supported(text: str) -> None:
    assert unsupported(text, SAID, known_names=("Ada", "Maybe")) == ()


@pytest.mark.parametrize(
    ("text", "made_up"),
    [
        ("Sam has a dog called Rex.", ("Rex",)),
        ("Rex is a dog.", ("Rex",)),
        ("Rex's bowl is empty.", ("Rex's",)),
        ("Anna Miller has a dog.", ("Anna", "Miller")),
        ("Greta plays chess.", ("Greta",)),
        ("Greta joue aux échecs.", ("Greta",)),
        ("NASA hired Sam.", ("NASA",)),
        ("The Porto-based dog", ("Porto-based",)),
        ("We asked Dr. Miller about Biscuit.", ("Miller",)),
    ],
)
def test_names_nobody_said_are_found(text: str, made_up: tuple[str, ...]) -> None:
    assert unsupported(text, SAID) == made_up


@pytest.mark.parametrize(
    "text",
    [
        "Biscuit is 4.",
        "Biscuit is four years old.",
        "Sam was born in 1984.",
        "Sam said so on May 25.",
        "Sam said so on 24 June.",
        "Sam said so on 2026-05-25.",
        "Sam spoke of four dogs.",
    ],
)
def test_numbers_and_dates_nobody_said_are_found(text: str) -> None:
    assert not bears(text, *SAID)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("Er arbeitet als Lehrer in Lissabon.", "Ich unterrichte in Lissabon."),
        ("Sam hat einen alten Hund.", "ich hab nen alten Köter, sagt Sam"),
        ("Sam mag die Katzen.", "Sam: Ich mag meine Katze."),
        ("Sie kommt am 24. Mai.", "Ich komme am 24. Mai."),
        ("Sie hat drei Kinder und heißt Eva.", "Ich bin Eva und habe 3 Kinder."),
        ("Vielleicht ist Sam am Hafen.", "ich bin wohl bald am Hafen"),
        ("Natürlich hat Sam einen Hund.", "klar hab ich nen Hund"),
    ],
)
def test_german_nouns_are_no_names(text: str, source: str) -> None:
    assert unsupported(text, [source], known_names=["Sam"]) == ()


@pytest.mark.parametrize(
    ("text", "made_up"),
    [
        ("Er ist Lehrer und wohnt in Hamburg.", "Hamburg"),
        ("Der Hund heißt Rex und ist alt.", "Rex"),
    ],
)
def test_german_names_are_checked(text: str, made_up: str) -> None:
    said = ["Ich bin Lehrer, mein Hund ist alt, ich komme am 24. Mai mit drei Kindern."]
    assert made_up in unsupported(text, said)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("They have 25 bees.", "We have twenty-five bees."),
        ("They have twenty-five bees.", "We have 25 bees."),
        ("They have 25 bees.", "We have twenty five bees."),
        ("It cost 1200 euros.", "It cost 1,200 euros."),
        ("It cost 1.200 euros.", "It cost 1200 euros."),
        ("It is 3,5 kg.", "It is 3.5kg"),
        ("He has 1 dog.", "I have a dog."),
        ("It was at 07:30.", "it was at 7:30"),
        ("It was on the 3rd of May.", "It was on the third of May."),
        ("Fue el 24 de mayo.", "el 24/05/2026"),
        ("Tem duas filhas.", "Tenho 2 filhas."),
        ("They have 3 cats.", "猫が三匹います"),
        ("They have 3 cats.", "猫が３匹います"),
    ],
)
def test_a_number_has_many_forms(text: str, source: str) -> None:
    assert bears(text, source)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("It is 35 kg.", "It is 3.5 kg."),
        ("We have 5 bees.", "twenty-five bees"),
        ("他有5只猫。", "我有4只猫"),
    ],
)
def test_another_number_is_another_number(text: str, source: str) -> None:
    assert not bears(text, source)


def test_a_month_counts_beside_a_day_in_languages_that_write_it_small() -> None:
    assert not bears("Fue el 24 de junio.", "el 24 de mayo")
    assert bears("She may come.", "she will come")


@pytest.mark.parametrize(
    ("text", "source", "made_up"),
    [
        ("Анна живёт в Лиссабоне.", "Я живу в Лиссабоне, меня зовут Анна.", ()),
        ("Кошка Анны живёт в Лиссабоне.", "Анна: Лиссабон хорош.", ()),
        ("Анна живёт в Москве.", "Анна: Лиссабон хорош.", ("Москве",)),
        ("Η Μαρία ζει στην Αθήνα.", "Μαρία: ζω στην Αθήνα", ()),
        ("Samは東京に住んでいる。", "Sam: 東京に住んでいます", ()),
        ("Bobは東京に住んでいる。", "Sam: 東京に住んでいます", ("Bob",)),
        ("لديه ٣ قطط", "عندي 3 قطط", ()),
    ],
)
def test_other_scripts(text: str, source: str, made_up: tuple[str, ...]) -> None:
    assert unsupported(text, [source]) == made_up


def test_sentences_end_at_stops_and_lines() -> None:
    assert sentences('He said "Go." Then he left! Why?\n- a list\n\n彼は来た。帰った。') == [
        'He said "Go."', "Then he left!", "Why?", "- a list", "彼は来た。", "帰った。",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "one",
    [
        "We asked Dr. Miller about it.",
        "It is on the 24. Mai.",
        "Fruit, e.g. apples, is good.",
        "J. R. Miller came.",
        "It costs 3.50 euros.",
    ],
)
def test_abbreviations_and_ordinals_end_no_sentence(one: str) -> None:
    assert sentences(one) == [one]


@given(st.text(max_size=200))
def test_any_text_supports_itself(text: str) -> None:
    assert unsupported(text, [text]) == ()


@pytest.mark.parametrize(
    ("said", "written", "strange"),
    [
        ("Mam męża Marka i córkę Julkę.", "Mężem Oli jest Marek, a Julce jest tu dobrze.", []),
        ("Mam męża Marka.", "Mężem Oli jest Marcin, a w domu jest Marta.", ["Marcin", "Marta"]),
        (
            "Byli jsme s Petrem a Zuzkou na chatě.",
            "Na chatu jel Petr a ke Zuzce i Zdenka.",
            ["Zdenka"],
        ),
        ("Olin Mikon kanssa saunassa.", "Saunassa oli Mikko, eikä siellä ollut Mauri.", ["Mauri"]),
        ("Мы едем на дачу с Петром.", "На дачу едут Пётр и Павел.", ["Павел"]),
        ("Io vivo con Marco.", "Oggi vive da solo con Marta.", ["Marta"]),  # one form alone
    ],
)
def test_a_name_may_stand_in_another_case_and_no_other_name_does(
    said: str, written: str, strange: list[str]
) -> None:
    language = words.language(written)
    assert claims.strange(written, [said], ["Ola"], language) == strange


def test_the_capitals_of_a_title_make_no_names() -> None:
    assert claims.strange("Wedding Plans and the Garden", ["We marry in May."], [], "en") == []
    assert claims.strange("Ruth met Margaret.", [], ["Ruth"], "en") == ["Margaret"]
    assert claims.strange("The plans of Margaret", ["We marry in May."], [], "en") == ["Margaret"]
