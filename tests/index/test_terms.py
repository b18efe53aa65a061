from __future__ import annotations

import pytest

from bumble.index.terms import terms


def test_inflections_of_a_word_are_one_term() -> None:
    assert terms("She was running with her dogs") == terms("runs dog")


def test_stop_words_are_no_terms() -> None:
    assert terms("What did you do with it?") == []


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


def test_letters_of_other_scripts_next_to_each_other_are_told_apart() -> None:
    assert "2024" in terms("東京2024年")


def test_an_emoji_is_a_term() -> None:
    assert terms("good 🐝!") == ["good", "🐝"]


def test_words_with_vowel_signs_stay_whole() -> None:
    assert terms("हिन्दी") == ["हिन्दी"]


def test_encoded_data_is_no_term() -> None:
    assert terms("QUJD" * 50 + " tide") == ["tide"]


def test_the_parts_of_an_id_are_terms() -> None:
    assert terms("ep_01JX") == ["ep", "01jx"]
