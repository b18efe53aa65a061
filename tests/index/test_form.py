from __future__ import annotations

import pytest

from bumble.index import form


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


def test_a_text_that_does_not_tell_is_in_the_language_of_what_it_stands_in() -> None:
    assert form.language("Kalimba!", "de") == "de"
    assert form.language("Kalimba!") == form.FIRST


def test_questions_count_by_their_share_of_the_words() -> None:
    assert form.form("Who was it?", "en").asks == 1
    assert form.form("It was Kim.", "en").asks == 0
    assert form.form("It was Kim. Who else?", "en").asks == pytest.approx(0.4)
    assert form.form("See https://example.com/?q=1 for it.", "en").asks == 0
    assert form.form("!", "en").asks == 0
