from __future__ import annotations

import pytest

from bumble.index import form
from bumble.index.terms import of_query, terms


def test_inflections_of_a_word_are_one_term() -> None:
    assert terms("She was running with her dogs") == terms("runs dog")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Café", "cafe"),
        ("ＡＢＣ", "abc"),
        ("don’t", "don't"),
        ("Straße", "STRASSE"),
        ("é", "e\u0301"),
    ],
)
def test_spellings_of_one_word_give_the_same_terms(one: str, other: str) -> None:
    assert terms(f"x1 {one}") == terms(f"x1 {other}")


def test_russian_words_are_stemmed_and_keep_their_letters() -> None:
    assert terms("любимые книги") == terms("любимая книга")
    assert terms("синий") != terms("синии́")


@pytest.mark.parametrize("word", ["東京", "カメラ", "猫", "กรุงเทพ"])
def test_a_word_is_found_inside_text_without_spaces(word: str) -> None:
    assert set(terms(word)) <= set(terms(f"昨日{word}に行った"))


@pytest.mark.parametrize(
    ("language", "text", "other"),
    [
        ("de", "die Katzen wohnten in den Häusern", "eine Katze wohnt im Haus"),
        ("de", "Annas Geburtstage", "Anna, Geburtstag"),
        ("es", "canté canciones", "canta una canción"),
        ("fr", "les grandes maisons", "une grande maison"),
        ("it", "le gatte dormivano", "la gatta dormiva"),
        ("pt", "os gatos dormiam", "um gato dormia"),
        ("sv", "flickorna", "flicka"),
    ],
)
def test_words_are_stemmed_by_the_language_of_their_text(
    language: str, text: str, other: str
) -> None:
    assert terms(text, language) == terms(other, language) != []


def test_a_query_has_the_terms_of_each_language_there_is() -> None:
    assert [*of_query("Wie heißen die Katzen?", {"de": 5})] == ["heiss", "katz"]
    both = [*of_query("Wie heißen die Katzen?", {"de": 5, "en": 3})]
    assert both[:2] == ["heiss", "katz"]
    assert set(both) == {"heiss", "katz", "heissen", "katzen"}
    assert not of_query("Wo ist er?", {"de": 5, "en": 3})
    assert of_query("cats", {}) == {"cat": 1}


def test_a_word_is_asked_for_as_often_as_it_is_said_however_many_languages_have_it() -> None:
    assert of_query("Radio, Radio!", {"de": 5, "en": 3}) == {"radio": 2}


def test_pairs_of_characters_are_looked_for_and_one_alone_where_it_is_all() -> None:
    assert [*of_query("東京タワー", {})] == ["東京", "京タ", "タワ", "ワー"]
    assert [*of_query("猫", {})] == ["猫"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("مُحَمَّد", "محمد"),
        ("أحمد", "احمد"),
        ("العـــربية", "العربية"),
        ("مدرسة", "المدرسة"),
        ("שָׁלוֹם", "שלום"),
        ("לימון חמוץ", "לימון חמוץ"),
    ],
)
def test_arabic_and_hebrew_are_found_with_points_and_without(one: str, other: str) -> None:
    assert terms(one) == terms(other) != []


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("I went to the market with my brother.", "en"),
        ("Ich war mit meinem Bruder auf dem Markt.", "de"),
        ("Je suis allé au marché avec mon frère.", "fr"),
        ("Fui al mercado con mi hermano.", "es"),
        ("Sono andato al mercato con mio fratello.", "it"),
        ("Eu fui ao mercado com o meu irmão.", "pt"),
    ],
)
def test_a_language_is_told_by_its_common_words_and_its_own_person_seen(
    text: str, language: str
) -> None:
    assert form.language(text) == language
    assert form.form(text, language).own
