"""Whether two words are forms of one name: the same but for an ending.

Names have cases in most languages: Marek, Marka, Markiem; Julka, Julce; Mikko, Mikon; Пётр, Петром.
What of a name stays is its consonants: a vowel before the last may flee, the last may soften, a
double one may become single. What comes behind them as an ending begins with a vowel, and has only
consonants that endings have. Knows no names, and no endings of any language; how people say who
they are it knows in some.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache

from bumble import patterns
from bumble.text import stop_words, words

# Languages whose names have no form but a genitive.
_UNCHANGING = stop_words.OF_LANGUAGE.keys() | {"ca", "da", "no", "sv"}
_VOWEL = "aeiouyąęıаеиоуыэюяьіїєаεηιουω"
_DOUBLE = patterns.compile(r"(.)\1+")
_FLEEING = patterns.compile(rf"(?<=[^{_VOWEL}])(?:ie|[eoео])([^{_VOWEL}])\Z")
_BASE = patterns.compile(rf"[{_VOWEL}]{{0,2}}[sσ]?")  # how the name itself may end
_ENDING = patterns.compile(rf"[{_VOWEL}][{_VOWEL}hjlmnsvwвлмнсх]{{0,3}}")
_BEHIND_VOWEL = patterns.compile(r"[lnstv][^\W\d_]{0,3}")  # Venlasta, Annával
# What a last consonant becomes before one vowel.
_SOFTENED = (
    ("k", "c"), ("h", "z"), ("g", "z"), ("g", "dz"), ("t", "ci"), ("d", "dzi"), ("r", "rz"),
    ("к", "ц"), ("г", "з"), ("х", "с"),
)  # fmt: skip
_LEAST, _SHORT = 2, 3  # letters that stay; of a stem whose ending has no more than two letters


# Endings that make a name longer by more than a letter: z Adamem, Robertowi, Marille, Zoltannal.
_CASE = patterns.compile(r"k?(?:i?em|owi|ovi|om|ом|ем|ой|[lst]l[ae]|lta|ss?[at]a|n[ae]k|v[ae]l)")


def bare(word: str) -> str:
    """Return a name without what stands behind its apostrophe: Ayşe'nin."""
    start, _, _ = word.replace("’", "'").partition("'")
    return start if len(start) >= _LEAST else word


def inflects(language: str) -> bool:
    """Whether a language has names in several forms; of one that isn't known, it may."""
    return language not in _UNCHANGING


@lru_cache(maxsize=65536)
def are_one(name: str, other: str) -> bool:
    """Whether two words, folded, are forms of one name in a language that has several."""
    if name == other:
        return True
    if name[:1] != other[:1]:
        return False
    one, two = (_DOUBLE.sub(r"\1", word.replace("ł", "l")) for word in (name, other))
    return one == two or _is_form(one, two) or _is_form(two, one)


def _is_form(form: str, name: str) -> bool:
    """Whether a word is made of a name by an ending in the place of its own."""
    for stem in {name, _FLEEING.sub(r"\1", name)}:
        shared = words.shared_start(stem, form)
        own, ending = stem[shared:], form[shared:]
        is_long = len(ending) > max(2, shared * 2 - _SHORT)
        if shared < _LEAST or is_long or not _BASE.fullmatch(own):
            continue
        if stem[shared - 1] in _VOWEL and not own and _BEHIND_VOWEL.fullmatch(ending):
            return True
        if not ending or _ENDING.fullmatch(ending):
            return True
    return form[-1:] in _VOWEL and any(
        form[:-1].endswith(soft)
        and (hardened := form[: -1 - len(soft)] + hard) == name[: len(hardened)]
        and _ENDING.fullmatch(name[len(hardened) :])
        for hard, soft in _SOFTENED
    )


def meant(word: str, called: Mapping[str, Iterable[str]]) -> set[str]:
    """Return whose name a word is, maybe in another form: theirs that it is nearest to.

    Args:
        word: As it was said.
        called: The names of each, by whatever tells them apart.
    """
    form, far = words.folded(word), dict[str, int]()
    for one, spellings in called.items():
        for name in map(words.folded, spellings):
            shared = words.shared_start(name, form)
            longer, ending = len(form) - len(name), form[shared:]
            if (longer <= 1 or _CASE.fullmatch(ending)) and are_one(name, form):
                apart = 2 * (len(name) + len(form) - 2 * shared)
                # "Jany" is of Jana before it is of Jan
                apart -= 3 if not longer and apart else 0
                far[one] = min(apart, far.get(one, apart))
    return {one for one, apart in far.items() if apart == min(far.values())}


# What a name's letters are called begins with their consonant, or with a vowel before it: NOON, EN.
_CALLED = patterns.compile(
    r"LETTER (?:SMALL )?(?:FINAL )?(?!TEH MARBUTA)(?:[AEIOU](?=\w\b))?([B-DF-HJ-NP-TV-Z])"
)
_HEARD_AS = str.maketrans("cqlvxzj", "kkrbkss", "wyh")  # what drifts from script to script
_NO_VOWELS = str.maketrans("", "", "aeiou'’- ")


@lru_cache(maxsize=4096)
def _consonants(name: str) -> tuple[str, str]:
    """Return the script of a name, and its consonants as most scripts have them."""
    letters = [char for char in unicodedata.normalize("NFC", name) if char.isalpha()]
    called = [unicodedata.name(char, "") for char in letters]
    script = called[0].split()[0] if called else ""
    if script == "LATIN":
        return script, words.folded(name).translate(_HEARD_AS).translate(_NO_VOWELS)
    found = [match[1].lower() for each in called if (match := _CALLED.search(each))]
    return script, "".join(found).translate(_HEARD_AS)


def sound_alike(name: str, other: str) -> bool:
    """Whether two names in different scripts may be one: ヌール, نور, Nour."""
    (script, sounds), (others_script, others) = map(_consonants, (name, other))
    return script != others_script and len(sounds) >= _LEAST and sounds == others


# What people say right before their own name.
_I_AM = (
    "i am|i['’]m|my name is|ich bin|ich heiße|je suis|je m['’]appelle|soy|me llamo|sono|mi chiamo"
    "|sou|me chamo|ik ben|jestem|я|меня зовут|είμαι|με λένε|אני|أنا|انا|اسمي|मैं|मेरा नाम"
    "|私は|僕は|我是|我叫|나는|저는"
)


def introduces(text: str, name: str) -> bool:
    """Whether whoever says a text calls themselves by a name: أنا نور."""
    end = "" if stop_words.is_unspaced(name) else rf"(?!{stop_words.LETTER}|['’]s\b)"
    said = rf"(?<!\w)(?:{_I_AM})\s*{re.escape(name)}{end}"
    return re.search(said, text, re.IGNORECASE) is not None


def elsewhere(strange: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return the names that are in another script than some words, which may be theirs."""
    scripts = {_consonants(word)[0] for word in strange}
    return [name for name in dict.fromkeys(known) if _consonants(name)[0] not in scripts]
