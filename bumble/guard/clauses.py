"""What was said, clause by clause: its values and telling words, what it denies, asks or imagines.

How much a word ties two clauses together is how rare it is in its language. Denials and words of
the present are closed classes; what is only imagined shows in the form of its verb.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache, lru_cache
from itertools import pairwise

from msgspec import Struct

from bumble import patterns
from bumble.guard import values
from bumble.guard.values import ReadText, Times
from bumble.text import stop_words, words

_DENIALS = {
    "en": "not no never nobody nothing none without neither nor cannot nae",
    "de": "nicht net ned nich kein keine keinen keiner koi koa nie niemand nichts ohne",
    "fr": "pas non jamais personne rien sans aucun aucune",
    "es": "no nunca nadie nada sin ningun ninguna",
    "it": "non no mai nessuno niente senza nessuna",
    "pt": "nao nunca ninguem nada sem nenhum nenhuma",
    "nl": "niet geen nooit niemand niets zonder",
    "sv": "inte ej ingen inget inga utan aldrig",
    "da": "ikke ingen intet uden aldrig",
    "no": "ikke ingen intet uten aldri",
    "pl": "nie nigdy nikt nic bez zaden",
    "cs": "ne neni nikdy nikdo nic bez zadny",
    "ro": "nu niciodata nimeni nimic fara",
    "fi": "ei en et emme ette eivat",
    "tr": "degil yok hic",
    "ru": "не нет никогда никто ничего без",
}
_DENIAL = {code: frozenset(row.split()) for code, row in _DENIALS.items()}
# Before a thing: "no fish", "kein Boule" puts no name right.
_NO_SUCH = """
kein keine keinen keiner koi koa aucun aucune ningun ninguna nessuna nenhum nenhuma geen ingen inget
inga intet zaden zadny
"""
_OF_THINGS = frozenset(_NO_SUCH.split())
# "Don't mention the 350", "vergiss nicht den Zahnarzt": who forbids it denies nothing.
_FORBIDDEN = """
forget mention vergiss vergesst sag erwahn fala fale falar contar esquece esqueca esquecer digas
cuentes olvides olvide olvidar dimenticare dimentica oublie oublier oubliez vergeet zeg
"""
_UNSAID = frozenset(_FORBIDDEN.split())
_BEHIND = ("de", "nl")  # languages whose denial stands behind what is forbidden
_OR = frozenset(["or", "nor", "by", "oder", "ou", "o", "of"])
# What stands behind one of these, and behind these words that go with it, is not so.
_CONTRASTS = {
    "instead": "of",
    "rather": "than",
    "plutot": "que",
    "lieu": "de du des",
    "vez": "de do da",
    "lugar": "de del",
    "invece": "di del",
    "plaats": "van",
    "statt": "",
    "anstatt": "",
    "ipv": "",
    "used": "to",
}
_NOWS = (
    "now jetzt jetz nun maintenant finalement ahora adesso agora nu teraz ted acum nyt теперь simdi"
)
_NOW = frozenset(_NOWS.split())
_FORMER = """
first originally initially formerly once zuerst erst anfangs ursprunglich fruher vorher
abord initialement inicialmente primero inizialmente primeiro eerst aanvankelijk
"""
FORMERLY = frozenset(_FORMER.split())
_FROM_TO = {
    "en": frozenset(["from", "to"]),
    "de": frozenset(["von", "auf"]),
    "nl": frozenset(["van", "naar"]),
}
_CHANGE = frozenset(
    ["changed", "moved", "switched", "shifted", "raised", "cut", "postponed", "put"]
)
_MORE = frozenset(["more", "longer", "mehr", "plus", "mas", "piu", "mais", "meer"])
# Behind "he'd" it is "had", not "would".
_ENDS = "[^e]ed|[ektv]en|ought|old|one|aid|eard|ade|eft|ost|met|ept|elt"
_PAST = rf"(?:(?:already|always|just|never|\w+ly) )?(?:had|\w*(?:{_ENDS})\b)"
_UNREAL = {
    "en": (  # "set it up so I'd stop": what for
        r"would|wouldn't"
        r"|(?:(?<!so )(?<!so that )|(?=\w+'d (?:love|like|have|rather|prefer)\b))"
        rf"(?:i|we|he|she|they)'d(?! {_PAST})"
        r"|wish\w*|imagin\w*|dream\w*|if"
    ),
    "de": r"würd\w*|wär\w*|hätt\w*|könnt\w*|tät\w*|wenn|träum\w*",
    "fr": r"si|(?:ser|aur|fer|ir|pourr|voudr|devr|viendr|saur|verr)(?:ais|ait|ions|iez|aient)",
    "es": (  # "claro que si", "por si", "ni siquiera", "cuando quieras"
        r"(?<!claro )(?<!que )(?<!por )si"
        r"|(?:(?<!cuando )(?<!como )(?<!donde )|(?!quier))(?!siquiera\b|cualquiera\b)\w+iera\w*"
        r"|(?:i|se|tend|hab|pod|pond|sald|vend|ha|di|quer|sab)ría\w*"
    ),
    # "Priscilla se lo riprende", "il gatto se l'è mangiato": a verb's own
    "it": (
        r"se(?! ne\b)(?!(?<=  se) l[oi] (?!z|s[^aeiou]))(?!(?<=\w se) l'(?:è|ha)\b)"
        r"|\w+r(?:ei|esti|ebbe|emmo|este|ebbero)"
    ),
    "pt": (  # "se chama", "vai se casar": a verb's own
        r"(?<!vai )(?<!vou )(?<!vão )(?<!quer )(?<!quero )(?<!para )(?<!pra )(?<!de )(?<!pode )"
        r"se (?:n[ãa]o |tudo )?(?:eu|tu|voc[êe]s?|vcs?|el[ea]s?|a gente|um dia|\w*[aeio]r)"
        r"(?:em|mos)?|(?:fo|tive|houve|vie|pude|soube|quise|fize)sse\w*|(?:i|se|te|fa|di|tra)ria\w*"
    ),
    "nl": r"als|zou\w*",
}
# "I promised her I would come": what is to come, seen from then.
_TOLD_BEFORE = patterns.compile(
    r"(\b(?:said|told|promised|swore|knew|agreed|decided|announced|warned|heard|wrote|mentioned)\b"
    r"(?:(?!\b(?:if|wish|imagin))[^.!?;])*?)(?:\bwould(?:n't)?\b|'d\b)"
)
# Forms of an infinitive that is commoner than they are: a noun such as "librería" has none.
_BY_INFINITIVE = {
    "fr": ((r"(\w{2,}r)(?:ais|ait|ions|iez|aient)", ("", "e")),),
    "es": ((r"(\w{2,}[aei]r)ía(?:s|mos|is|n)?", ("",)),),
    "pt": ((r"(\w{2,}[aei]r)ia(?:s|m|mos)?", ("",)), (r"(\w+[aei])sse(?:s|m|mos)?", ("r",))),
}
_HEDGES = """
ask asks asked wonder wonders wondered whether would could might may wish wishes consider
considers considering imagines imagined dreams dreamt dreamed likes hopes thinks thought
joked fragt fragte uberlegt erwagt ob wurde konnte mochte will wollte traumt denkt
wunscht demande demandait voudrait aimerait pregunta pregunto duda quiere querria chiede vorrebbe
pergunta queria vraagt zou wil preguntado preguntaba chiesto chiedeva perguntado perguntava
gevraagd
"""
_ASKING = 4  # words of a question that is more than a tag, and of a statement before it
# How a statement begins, in languages whose order of words tells it from a question.
_STATEMENTS = {
    "en": "i we he she they it my our his her their the this that there mum mom dad im ive ill",
    "de": """
    ich wir er sie es man mein meine unser unsere der die das den dem am im heute morgen gestern
    """,
}
_BEGINS = {code: frozenset(row.split()) for code, row in _STATEMENTS.items()}
HEDGES = frozenset(_HEDGES.split())
HEDGED = frozenset(_UNREAL)  # languages whose words for telling of a question or a wish are known
# How an answer begins that takes over what was asked.
_YES = patterns.compile(
    r"\W*(?:yes|ye[ap]|yeah|yup|aye|exactly|correct|that['’]?s right|jaa?|jawohl|jep|genau|stimmt"
    r"|richtig|oui|ouais|exact(?:ement)?|bien sûr|sí|claro|exacto|esatto|certo|sim|klopt|zeker|igen"
    r"|evet|kyllä|joo|ναι|да|так|כן|نعم|हाँ|हां|はい|うん|是的?|对|嗯|네|응|s[iì]|tak|ano|da|jo)"
    r"(?=\W*\Z|\s?[,.!、。！])",
    re.IGNORECASE,
)
_LATER_CAPITAL = patterns.compile(r"(?<=[\w,] )[A-ZÀ-Þ][a-zß-ÿ]+")  # Kieran is no "-iera"
ELIDED = patterns.compile(  # l'ultima, dell'affitto, qu'il; not n'aime, whose sense it turns
    r"\b([cdjlmst]|un|qu|\w*ll)['’](?=\w\w)", re.IGNORECASE
)
_ELIDING = ("fr", "it")
_CONTRACTED = patterns.compile(r"n'?t\Z")
_SHORT = 3  # letters of a word
_BESIDE = 2  # clauses before and behind one that tell what it is of
_REACH = 4  # words on each side of a value that tell what it is of
_RARE, _COMMON = 5.0, 3.0  # powers of ten that a word is rarer than all words by
SHARED_LETTERS = 5  # at the beginning of two words of one family
_TOKEN = patterns.compile(rf"\d+(?:[.,]\d+)*|{stop_words.WORD.pattern}")
_SENTENCE = patterns.compile(r"(?:[^.!?。！？\n]|\.(?=\d))+[.!?。！？\n]*")
_BUT = patterns.compile(r"\b(?:but|aber|sondern|mais|pero|sino|ma|mas|maar)\b", re.IGNORECASE)
_CLAUSE = patterns.compile(
    rf"[;!?()–—\n。！？、，；]|(?<!\d)[,:]|[,:](?!\d)|\.(?!\d)|{_BUT.pattern}", re.IGNORECASE
)

Weights = Mapping[str, float]  # of stems, in [0, 1]


class Source(Struct, frozen=True):
    """A message, or a sentence that is known, as it was read."""

    text: str
    who: str  # folded; empty: it is known
    read: ReadText
    at: datetime | None = None  # None: it is known, and says its days in full
    is_cited: bool = False


class Subject(Struct, frozen=True):
    """A sentence to be held against its sources."""

    text: str
    read: ReadText
    subjects: frozenset[str]  # what it is about: its telling words, without names of speakers
    language: str
    cites: bool = True  # whether it names what it rests on; else it is the entity's own reading


class Clause(Struct, frozen=True):
    """A clause of what was said."""

    read: ReadText
    tokens: tuple[str, ...]
    weights: Weights  # how much each telling word ties it to another clause
    near: Weights  # likewise of the clauses beside it
    beside: Weights  # of its words, those that stand near a value
    denied: tuple[str, ...]  # telling words behind a denial
    denies: bool  # whether it has a denial
    times_near: Times  # named here or beside it
    is_now: bool
    is_asked: bool
    is_unreal: bool


@lru_cache(maxsize=1024)
def of(text: str, language: str) -> tuple[Clause, ...]:
    """Return the clauses of a text."""
    said = list[tuple[str, bool]]()
    for sentence in _SENTENCE.findall(values.with_days(text)):
        parts = [part for part in _CLAUSE.split(sentence) if part.strip()]
        is_asked = sentence.rstrip().endswith(words.QUESTION_MARKS)
        # "she is odd lately, has she told you anything?": more than "is that so?" is asked there
        asks_last = is_asked and len(tokens_of("".join(parts[-1:]))) >= _ASKING
        said += [
            (part, is_asked and not (asks_last and n < len(parts) and _states(part, language)))
            for n, part in enumerate(parts, 1)
        ]
    tokens = [tuple(tokens_of(part)) for part, _ in said]
    weights = [weigh(part, language) for part in tokens]
    read = [values.read(part, language) for part, _ in said]
    found = []
    for n, (part, is_asked) in enumerate(said):
        around = slice(max(0, n - _BESIDE), n + 1 + _BESIDE)
        near = {stem: weight for row in weights[around] for stem, weight in row.items()}
        found.append(
            Clause(
                read[n],
                tokens[n],
                weights[n],
                {stem: weight for stem, weight in near.items() if stem not in weights[n]},
                weigh(_beside_values(tokens[n]), language),
                denied(tokens[n], language),
                any(denies(token, language) for token in tokens[n]),
                values.joined_times([one.times for one in read[around]]),
                bool(_NOW.intersection(tokens[n])),
                is_asked,
                is_unreal(part, language),
            )
        )
    return tuple(found)


def _states(clause: str, language: str) -> bool:
    """Whether a clause is surely no question, by its first word."""
    tokens = tokens_of(clause)
    first = tokens[0].partition("'")[0] if len(tokens) >= _ASKING else ""
    return first in _BEGINS.get(language, ())


def tokens_of(text: str) -> list[str]:
    """Return the words and numbers of a text, folded."""
    return [words.folded(token) for token in _TOKEN.findall(values.plain(text))]


def weigh(tokens: Iterable[str], language: str) -> dict[str, float]:
    """Return how much each telling word says of what is meant, by its stem: rare ones the most."""
    empty = _empty(language)
    return {
        words.stem(token, language): min(1.0, max(0.0, (rarity - _COMMON) / (_RARE - _COMMON)))
        for token, bare in ((token, _without_article(token, language)) for token in tokens)
        if bare not in empty and token[0].isalpha() and not values.is_value(token)
        if len(token) > _SHORT or words.is_listed(token, language)  # dialect's little words
        for rarity in (-math.log10(words.frequency(bare, language)),)
    }


def _without_article(token: str, language: str) -> str:
    return ELIDED.sub("", token) if language in _ELIDING else token


@cache
def _empty(language: str) -> frozenset[str]:
    """Return the words of a language that tell nothing, folded as tokens are."""
    return frozenset(map(words.folded, stop_words.OF_LANGUAGE.get(language, stop_words.WORDS)))


def stems_of(texts: Iterable[str], language: str) -> set[str]:
    """Return the stems of all words of some texts, folded."""
    return {words.stem(token, language) for text in texts for token in tokens_of(text)}


def _beside_values(tokens: Sequence[str]) -> set[str]:
    return {
        token
        for n, value in enumerate(tokens)
        if values.is_value(value)
        for token in tokens[max(0, n - _REACH) : n + _REACH + 1]
    }


def denies(token: str, language: str) -> bool:
    """Whether a word denies: by itself, or at its end."""
    if language != "en" or not _CONTRACTED.search(token):
        return token in _DENIAL.get(language, ())
    return _CONTRACTED.sub("n't", token) in stop_words.WORDS


def denied(tokens: Sequence[str], language: str) -> tuple[str, ...]:
    """Return the telling words that stand right behind a denial, and values a word further."""
    empty = stop_words.WORDS | _MORE
    found: list[str] = []
    for start, token in enumerate(tokens):
        following = tokens[start + 1 : start + 2]
        is_answer = start == 0 and not _MORE.intersection(following)
        if (language, token) == ("fr", "non") and is_answer and "mais" not in tokens:
            continue  # "non Brioche!!" puts right
        if (language, token) == ("en", "no") and (
            is_answer or any(map(values.is_value, following))
        ):
            continue  # "no the 10.4 was …", "at no 42"
        beside = (
            tokens[max(0, start - 2) : start] if language in _BEHIND else tokens[start + 1 :][:2]
        )
        unsaid = _UNSAID.intersection(beside)
        if unsaid or not (denies(token, language) or _contrasts(tokens, start)):
            continue
        behind = [n for n in range(start + 1, len(tokens)) if tokens[n] not in empty][:2]
        first, second = ([values.is_value(tokens[n]) for n in behind] + [False, False])[:2]
        if not first and (token in _OF_THINGS or (language, token) == ("en", "no")):
            continue
        # "not 5 June", "not 2 or 3" deny both, "it wasn't 624 it was 645" the first alone
        both = second and (not first or _OR.issuperset(tokens[behind[0] + 1 : behind[1]]))
        found += [tokens[n] for n in behind[: 1 + both]]
    return tuple(found)


def _contrasts(tokens: Sequence[str], place: int) -> bool:
    """Whether what stands behind a word is what is not so: "instead of", "statt"."""
    following = _CONTRASTS.get(tokens[place])
    behind = tokens[place + 1] if place + 1 < len(tokens) else ""
    return following is not None and (not following or behind.split("'")[0] in following.split())


def with_question(asked: str, answer: str) -> str:
    """Return an answer with what a yes takes over: the question right before it, as a statement.

    One that denies anything, asks, or goes on with "but" takes nothing over.
    """
    question = (words.sentences(asked) or [""])[-1]
    if not question.endswith(words.QUESTION_MARKS) or not _YES.match(answer):
        return answer
    language = words.language(asked, answer)
    clause = _CLAUSE.split(answer)[0]
    takes_back = _BUT.search(answer) or answer.rstrip().endswith(words.QUESTION_MARKS)
    is_denied = any(denies(token, language) for token in tokens_of(f"{clause} {question}"))
    return answer if takes_back or is_denied else f"{question[:-1]}. {answer}"


def tells_of_change(tokens: Sequence[str], language: str) -> bool:
    """Whether a sentence says itself what is not so, or was so: "it was moved from 12 to 14"."""
    before = {token for token, value in pairwise(tokens) if values.is_value(value)}
    is_span = language == "en" and _CHANGE.isdisjoint(tokens)  # "open from 9 to 5"
    if not is_span and _FROM_TO.get(language, before | {""}) <= before:
        return True
    return any(
        denies(token, language) or token in FORMERLY or _contrasts(tokens, n)
        for n, token in enumerate(tokens)
    )


def is_unreal(text: str, language: str) -> bool:
    """Whether a verb is of what is only imagined, or a condition is named."""
    plain = _LATER_CAPITAL.sub("", text).casefold().replace("’", "'")
    form = _UNREAL.get(language)
    told = _TOLD_BEFORE.sub(r"\1", plain) if language == "en" else plain
    if form and re.search(rf"(?<!\w)(?:{form})(?!\w)", told):
        return True
    return language in _BY_INFINITIVE and any(
        _is_conditional(token, language) for token in stop_words.WORD.findall(plain)
    )


@lru_cache(maxsize=4096)
def _is_conditional(token: str, language: str) -> bool:
    """Whether a word is a regular verb's form for what is not so: "compraría", "falasse"."""
    return any(
        words.frequency(found[1] + ending, language) > words.frequency(token, language)
        for form, endings in _BY_INFINITIVE[language]
        if (found := re.fullmatch(form, token))
        for ending in endings
    )


def shares(own: Iterable[str], other: Iterable[str]) -> bool:
    """Whether two sets of stems have a word in common, in whatever form."""
    others = set(other)
    return any(stem in others or any(akin(stem, one) for one in others) for stem in own)


@lru_cache(maxsize=65536)
def akin(stem: str, other: str) -> bool:
    """Whether two stems are of one family, or one is a part of the other: `plank`, `deckplank`."""
    short, long = sorted((stem, other), key=len)
    inside = len(short) >= SHARED_LETTERS and short in long
    return inside or words.akin(stem, other, SHARED_LETTERS)


class Ties(dict[str, float]):
    """How much each word ties to a clause or a sentence: its telling ones, and what is akin."""

    def __init__(self, own: Weights) -> None:
        self.own = {stem: weight for stem, weight in own.items() if weight}
        super().__init__(self.own)

    def __missing__(self, stem: str) -> float:
        akin_to = (weight for one, weight in self.own.items() if akin(one, stem))
        self[stem] = found = max(akin_to, default=0.0)
        return found


def tie(ties: Ties, weights: Weights) -> float:
    """Return how much ties two clauses together: the words that both have, by their weights."""
    return sum(weight * ties[stem] for stem, weight in weights.items() if weight)
