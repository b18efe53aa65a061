"""Which words stand before a noun, by language: by them a thing is told from how it is spoken of.

General knowledge of each language, fitted to nobody's texts. A language that is not here has no
such test.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class NounMarks:
    """How nouns show in one language."""

    words: frozenset[str]  # articles, possessives, prepositions
    adjectives_first: bool  # whether what describes a noun stands between these and it
    capital: bool = False  # whether nouns have a capital letter, which is all that is needed


def _marks(text: str, *, adjectives_first: bool, capital: bool = False) -> NounMarks:
    return NounMarks(frozenset(text.split()), adjectives_first, capital)


BY_LANGUAGE: Mapping[str, NounMarks] = {
    "en": _marks(
        "a an the my your his her its our their some any this these those no every each another"
        " of for in on with about from at by into through during",
        adjectives_first=True,
    ),
    "de": _marks("", adjectives_first=True, capital=True),
    "nl": _marks(
        "de het een mijn je jouw zijn haar ons onze hun deze die dit dat geen elke van voor in op"
        " met over uit bij naar",
        adjectives_first=True,
    ),
    "fr": _marks(
        "le la les l un une des du de d mon ma mes ton ta tes son sa ses notre nos votre vos leur"
        " leurs ce cet cette ces au aux en dans sur avec pour chez par chaque",
        adjectives_first=False,
    ),
    "es": _marks(
        "el la los las un una unos unas del de al mi mis tu tus su sus nuestro nuestra nuestros"
        " nuestras este esta estos estas ese esa cada en con sobre por para",
        adjectives_first=False,
    ),
    "it": _marks(
        "il lo la i gli le l un uno una del dello della dei degli delle dell di al allo alla ai"
        " agli alle all nel nello nella nei negli nelle nell sul sulla sull dal dalla dall mio mia"
        " miei mie tuo tua suo sua nostro nostra questo questa ogni in con per",
        adjectives_first=False,
    ),
    "pt": _marks(
        "o a os as um uma uns umas do da dos das de no na nos nas ao à aos às meu minha meus minhas"
        " teu tua seu sua seus suas nosso nossa este esta esse essa cada em com sobre por pelo pela"
        " para",
        adjectives_first=False,
    ),
}
