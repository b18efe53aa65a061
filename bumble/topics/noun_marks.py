"""What shows by language that a word names a thing, and whose: the words that stand before it.

A noun follows an article, a possessive or a preposition; how something is spoken of follows "is" or
"so"; and who tells of their own life says "I" and "my". General knowledge of each language, fitted
to nobody's texts. A language that is not here has no such test.
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
    others: frozenset[str] = frozenset()  # before what is no noun: "so tough", "they help"
    own: frozenset[str] = frozenset()  # of who tells of themselves: "I", "my", "we"


def _marks(
    text: str, *, adjectives_first: bool, capital: bool = False, others: str = "", own: str = ""
) -> NounMarks:
    return NounMarks(
        frozenset(text.split()),
        adjectives_first,
        capital,
        frozenset(others.split()),
        frozenset(own.split()),
    )


BY_LANGUAGE: Mapping[str, NounMarks] = {
    "en": _marks(
        "a an the my your his her its our their some any this these those no every each another"
        " of for in on with about from at by into through during",
        adjectives_first=True,
        others="is are was were be been being am isn't aren't wasn't it's that's i'm you're he's"
        " she's we're they're what's so very really too super pretty quite more most feel feels"
        " feeling felt get gets getting got stay stays staying stayed seem seems"
        " i you he she it we they who to can could will would should may might must let's don't"
        " doesn't didn't can't won't couldn't not i'll we'll you'll i'd we'd always never",
        own="i my mine we our ours",
    ),
    "de": _marks(
        "",
        adjectives_first=True,
        capital=True,
        own="ich mir mich mein meine meinem meinen meiner meines wir uns unser unsere unserem"
        " unseren unserer",
    ),
    "nl": _marks(
        "de het een mijn je jouw zijn haar ons onze hun deze die dit dat geen elke van voor in op"
        " met over uit bij naar",
        adjectives_first=True,
        others="is was waren ben bent heel erg zo zeer te meer meest echt ik jij je hij ze we wij"
        " jullie kan kun kunnen zal zullen wil willen moet moeten niet",
        own="ik mijn we wij ons onze",
    ),
    "fr": _marks(
        "le la les l un une des du de d mon ma mes ton ta tes son sa ses notre nos votre vos leur"
        " leurs ce cet cette ces au aux en dans sur avec pour chez par chaque",
        adjectives_first=False,
        others="est sont était étaient suis es être c'est très trop si plus assez vraiment"
        " tellement je j tu il elle on nous vous ils elles me te se ne pas peux peut veux veut dois"
        " doit faut",
        own="je j mon ma mes nous notre nos",
    ),
    "es": _marks(
        "el la los las un una unos unas del de al mi mis tu tus su sus nuestro nuestra nuestros"
        " nuestras este esta estos estas ese esa cada en con sobre por para",
        adjectives_first=False,
        others="es son era eran fue soy eres ser está están estoy muy tan más demasiado bastante yo"
        " tú él ella nosotros ellos me te se nos no puedo puede quiero quiere debo debe que",
        own="yo me mi mis nosotros nos nuestro nuestra nuestros nuestras",
    ),
    "it": _marks(
        "il lo la i gli le l un uno una del dello della dei degli delle dell di al allo alla ai"
        " agli alle all nel nello nella nei negli nelle nell sul sulla sull dal dalla dall mio mia"
        " miei mie tuo tua suo sua nostro nostra questo questa ogni in con per",
        adjectives_first=False,
        others="è sono era erano sei essere sta sto molto troppo così più tanto davvero"
        " io tu lui lei noi voi loro mi ti si ci vi non posso può voglio vuole devo deve che",
        own="io mi mio mia miei mie noi ci nostro nostra nostri nostre",
    ),
    "pt": _marks(
        "o a os as um uma uns umas do da dos das de no na nos nas ao à aos às meu minha meus minhas"
        " teu tua seu sua seus suas nosso nossa este esta esse essa cada em com sobre por pelo pela"
        " para",
        adjectives_first=False,
        others="é são era eram foi sou és ser está estão estou muito tão mais demais bastante"
        " eu tu você ele ela nós eles elas me te se não posso pode quero quer devo deve que",
        own="eu me meu minha meus minhas nós nos nosso nossa nossos nossas",
    ),
}
