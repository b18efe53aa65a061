from __future__ import annotations

import pytest

from bumble.choosing import spoken_of


@pytest.mark.parametrize(
    ("language", "text", "names"),
    [
        ("en", "My sister Lena lives in Bonn.", ["Lena"]),
        (
            "en",
            "I had lunch with my older brother, Tom, and our neighbour Priya.",
            ["Tom", "Priya"],
        ),
        ("en", "My boss is called Anne-Marie and my son's name is Ole.", ["Anne-Marie", "Ole"]),
        ("en", "Lena is my sister, and my sister’s husband Karl cooks.", ["Lena", "Karl"]),
        ("en", "My best friend Jo’s car broke down.", ["Jo"]),
        ("de", "Meine kleine Schwester Lena wohnt in Bonn.", ["Lena"]),
        ("de", "Ich war mit meinem Bruder Peter bei unserer Tante Ilse.", ["Peter", "Ilse"]),
        ("de", "Mein Chef heißt Murat. Lena ist meine Nichte.", ["Murat", "Lena"]),
        ("de", "hab ne tochter, Fenja, die ist 9 und spielt Handball", ["Fenja"]),
        ("en", "I have a twin brother called Otto and a daughter, Ines.", ["Otto", "Ines"]),
        ("fr", "Ma sœur aînée Léa et mon frère Luc, ils s'entendent.", ["Léa", "Luc"]),
        ("fr", "Ma voisine s'appelle Odile.", ["Odile"]),
        ("es", "Mi hermana mayor Ana y mi vecino se llama Íñigo.", ["Ana", "Íñigo"]),
        ("it", "Mia sorella Giulia lavora con il mio amico Enzo.", ["Giulia", "Enzo"]),
        (
            "pt",
            "A minha irmã mais velha Rita mora no Porto; o meu chefe chama-se Zé.",
            ["Rita", "Zé"],
        ),
    ],
)
def test_somebody_is_named_by_what_they_are_to_the_speaker(
    language: str, text: str, names: list[str]
) -> None:
    assert list(spoken_of.names_in(text, language)) == names


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "My sister lives in Bonn."),
        ("en", "My dog Biscuit is afraid of the sea."),
        ("en", "My boss Friday night, well."),
        ("en", "my sister I love dearly"),
        ("en", "I have a sister, Bonn is her town."),
        ("en", "Coffee is my best friend."),
        ("en", "She is my sister. This is my mother."),
        ("en", "My brother CALLED ME."),
        ("en", "Is my friend’s dog Rex ill?"),
        ("de", "Hat mein Chef Urlaub genehmigt?"),
        ("de", "Gestern hatte meine Tochter Geburtstag, und mein Sohn Fieber."),
        ("de", "Mein Bruder studiert Medizin. Weil mein Bruder Klavier spielt."),
        ("de", "Heute hat meine Frau Chorprobe oder Besprechung."),
        ("fr", "Ma sœur habite à Lyon. C'est mon frère."),
        ("es", "Mi hermano vive en Madrid. Mi madre Dios mío."),
        ("xx", "My sister Lena lives in Bonn."),
    ],
)
def test_nobody_is_named_by_what_only_has_a_capital_letter(language: str, text: str) -> None:
    assert spoken_of.names_in(text, language) == ()
