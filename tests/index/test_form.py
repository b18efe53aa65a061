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
