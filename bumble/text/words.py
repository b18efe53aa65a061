"""Texts as sentences, words as stems: what each room compares and shortens texts by.

Two words are forms of one if they have the same stem, by the Snowball stemmer of their language:
that of the letters outside the Latin script, else the one that a text is in. How common a word is
comes from the lists of `wordfreq` (words that occur at least once in a million, in 40 languages),
which are read as they lie in the package: its import takes longer than a turn may wait.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Any

import Stemmer

from bumble import patterns
from bumble.text import languages, stop_words
from bumble.text.stop_words import folded as folded

DEFAULT_LANGUAGE = "en"
QUESTION_MARKS = ("?", "？", "؟")
MONTHS = (
    "january jan januar janvier enero janeiro",
    "february feb februar fevrier febrero fevereiro fev",
    "march mar marz mars marzo marco",
    "april apr avril abril abr",
    "may mai mayo maio",
    "june jun juni juin junio junho",
    "july jul juli juillet julio julho",
    "august aug aout agosto ago",
    "september sep sept septembre septiembre setembro",
    "october oct okt oktober octobre octubre outubro",
    "november nov novembre noviembre novembro",
    "december dec dez dezember decembre diciembre dezembro",
)
NAMING_WORDS = 2  # of a label that a text has to have, to be about what it names
OWN_LETTERS = 2  # at the end of stems that begin alike
_MONTH_NAMES = frozenset(" ".join(MONTHS).split())
_SCRIPTS = (  # the stemmers of languages that their letters tell, by the ranges of these
    ("ru", range(0x400, 0x530)),
    ("el", range(0x370, 0x400)),
    ("hy", range(0x530, 0x590)),
    ("ar", range(0x600, 0x700)),
    ("hi", range(0x900, 0x980)),
    ("ta", range(0xB80, 0xC00)),
)
# Snowball's German stems keep these: "wohnt" beside "wohn" of "wohne", "annas" beside "anna".
GERMAN_ENDING = patterns.compile(r"(?:(?<=\w{3})e?t|(?<=\w{3}[aio])s)\Z")
_LETTER_RUN = patterns.compile(r"[^\W\d_]+")
_FULL_WIDTH = patterns.compile(r"[。！？」』]\Z")
AROUND = 200  # characters on each side of a full stop
_SMALL_STARTS = 2  # behind full stops: from here on they are no abbreviations
_END = patterns.compile(r"(?:[.!?…]+[\"'”’»)]*(?=\s)|[。！？]+[」』”]*|\n)\s*")
# A long line that no sign ends, no heading and no item, and the letter below it.
_WRAPPED = patterns.compile(r"(?m)^([^\W_][^\n]{40,}[\w,])\n(?=(\w))")
_NO_END = patterns.compile(
    r"(?:\b(?:[^\W\d_]|dr|mr|mrs|ms|st|prof|sr|sra|dra|hr|fr|bzw|usw|etc|ca|vs|nr|e\.g|i\.e"
    r"|ul|św|godz|tzw|tj|płk|inż|mgr|dott|avv|mme|mlle|bd|tél|avda|pza|dña|núm|pág|blvd|evtl|ggf"
    r"|bspw|mevr|dhr|tlf|ул|стр)"
    r"|\b\d{1,2})\.\s*\Z",
    re.IGNORECASE,
)

# What a letter and a full stop may end a sentence behind: a name ("site B."), an hour, a measure
# ("0.4 m.") or an article ("an h."). "R. B.", "z. B." and "p. 12" don't.
_LETTER = patterns.compile(r"(?:(?<!\.)(?<!\.\s)\b[A-Z]|\b[ap]\.?\s?m)\.\s*\Z")
_MEASURE = patterns.compile(
    r"(?:\d\s?[mglhs]|\b(?:an?|uma?|un[ae]?|eine?[mnr]?|een)\s[a-z])\.\s*\Z"
)
_DECIMAL = patterns.compile(
    r"(?:\d[.,]\d+\s?[mghsCFL]|\d{3}\s?[gm]|°\s?[CF])\.\s*\Z"
)  # before any sentence
# How people begin a sentence, and no name begins that stands behind an initial: "J. Will Smith".
_BEGIN = """
a after and are as at because before but could did does for from he her here his how i if in is it
its my next on our she since that the their there these they this those then today tomorrow we what
when where which while who why with would yesterday you your
aber auf bei das der die ein eine er es gestern heute ich ihr ihre im jetzt meine mit nach oder sie
und wenn wir
avec ce ces cette demain dans elle elles et hier il ils je les mais mes nous puis quand une vous
cuando despues ella ellas ellos en es esta este manana mi nos pero por se una y
domani gli ieri nella non oggi poi quando questa questo sono
amanha as com depois ela ele em eu foi hoje meu minha ontem os um uma
gisteren het hij ik maar mijn vandaag wij zij
"""
_BEGINNINGS = frozenset(_BEGIN.split())

# `im 2. Stock`; behind `am` it may be a day, which ends a sentence as well
_COUNTED = patterns.compile(
    r"\b(?:im|der|die|das|dem|des|ins|beim)\s+\d{1,2}\.\s*\Z", re.IGNORECASE
)


def sentences(text: str) -> list[str]:
    """Split a text into sentences, at full stops and line ends."""
    parts, start = [], 0
    capitals = _writes_capitals(text)
    for end in _END.finditer(text):
        place = end.end()
        # what is far from the full stop tells nothing of it
        before, behind = text[max(start, place - AROUND) : place], text[place : place + AROUND]
        if "\n" not in end[0] and _goes_on(before, behind, capitals=capitals):
            continue
        parts.append(text[start:place])
        start = place
    return [part.strip() for part in (*parts, text[start:]) if part.strip()]


def unwrapped(text: str) -> str:
    """Join the lines of a paragraph that an editor broke within a sentence."""
    return _WRAPPED.sub(lambda at: f"{at[1]} " if at[2].islower() else at[0], text)


def _writes_capitals(text: str) -> bool:
    """Whether whoever wrote a text begins sentences with a capital letter."""
    first = _LETTER_RUN.search(text)
    if first is not None and first[0][0].islower():
        return False
    starts = [
        text[end.end()]
        for end in _END.finditer(text[:-1])
        if not ends_in_abbreviation(text[max(0, end.end() - AROUND) : end.end()])
    ]
    small = sum(map(str.islower, starts))
    return small < _SMALL_STARTS or small < sum(map(str.isupper, starts))


def _goes_on(before: str, behind: str, *, capitals: bool) -> bool:
    """Whether a full stop ends an abbreviation or an ordinal, not the sentence."""
    if capitals and behind[:1].islower():
        return before.rstrip().endswith(".")
    if not ends_in_abbreviation(before):
        return False
    if _COUNTED.search(before):
        return True
    if before.rstrip()[-2:-1].isdigit():  # "am 24. Mai", but not "She is 24. Then ..."
        following = _LETTER_RUN.match(behind)
        return following is not None and folded(following[0]) in _MONTH_NAMES
    return not (before.rstrip().endswith(" I.") or _ends_in_letter(before, behind))


def _ends_in_letter(before: str, behind: str) -> bool:
    """Whether a letter and its full stop end a sentence, and are no initial or abbreviation."""
    first = _LETTER_RUN.match(behind)
    if first is None or not first[0][0].isupper():
        return False
    begins = folded(first[0]) in _BEGINNINGS and not behind.startswith(".", first.end())
    if _DECIMAL.search(before):  # German writes what is measured behind it, too
        return begins or languages.language(before + behind) != "de"
    return begins and bool(_MEASURE.search(before) or _LETTER.search(before))


def ends_in_abbreviation(text: str) -> bool:
    """Whether a text ends in an abbreviation or an ordinal and its full stop: `my boss Mr.`."""
    return _NO_END.search(text) is not None


def language(*texts: str, default: str = DEFAULT_LANGUAGE) -> str:
    """Return the language, `de`, of the first of some texts in which it is clear."""
    return next(filter(None, map(languages.language, texts)), default)


@lru_cache(maxsize=16384)
def stem(word: str, language: str) -> str:
    """Return what all forms of a word have in common.

    Args:
        word: Case folded, as `stop_words.words` gives it.
        language: Its code: `de`. One that Snowball has no stemmer for, or none: English.
    """
    first = ord(word[:1] or " ")
    code = next((code for code, letters in _SCRIPTS if first in letters), language)
    stemmed: str = _stemmer(code).stemWord(word.removesuffix("'s").removesuffix("'"))
    return folded(GERMAN_ENDING.sub("", stemmed) if code == "de" else stemmed)


@lru_cache(maxsize=64)
def _stemmer(code: str) -> Stemmer.Stemmer:
    try:
        return Stemmer.Stemmer(code)
    except KeyError:
        return Stemmer.Stemmer(DEFAULT_LANGUAGE)


def stems(text: str, language: str) -> set[str]:
    """Return the stems of the words of a text that are no stop words."""
    return {stem(word, language) for word in stop_words.telling_words(text)}


def names(label: str, text: str) -> bool:
    """Whether a text has the words of a label in any form: two of the telling ones, or all."""
    code = language(text, label)
    own = stems(label, code)
    return bool(own) and len(own & stems(text, code)) >= min(NAMING_WORDS, len(own))


def unaddressed(text: str, name: str) -> str:
    """Return a message without the name by which it addresses somebody, as all others may."""
    called = stop_words.name_pattern(name)
    if stop_words.is_unspaced(name):  # which may be another word: a season, a sea
        called += r"(?=さん|ちゃん|[、，,。!！?？\s]|\Z)"
    return re.sub(called, "", text) if name else text


def akin(stem: str, other: str, shared_letters: int) -> bool:
    """Whether two stems begin alike: `bake` and `baker`, `lisbon` and `lisboa`."""
    length = max(shared_letters, max(len(stem), len(other)) - OWN_LETTERS)
    return min(len(stem), len(other)) >= length and stem[:length] == other[:length]


def shared_start(word: Iterable[object], other: Iterable[object]) -> int:
    """Count the letters that two words begin with alike; or bytes, or messages."""
    pairs = zip(word, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def counted(number: int, what: str, many: str = "") -> str:
    """Say how many of something there are; `many`: what these are called, if not by an s."""
    return f"{number:,} {what if number == 1 else many or f'{what}s'}"


def extent(text: str) -> str:
    """Say how long a text is, in words; in characters where its script puts no spaces between."""
    if stop_words.is_unspaced(text):
        return counted(sum(char.isalnum() for char in text), "character")
    return counted(len(text.split()), "word")


def paragraph(parts: Iterable[str]) -> str:
    """Join sentences; behind one that ends in 。 stands no space."""
    spaced = (part if _FULL_WIDTH.search(part) else f"{part} " for part in parts)
    return "".join(spaced).removesuffix(" ")


def one_line(text: str) -> str:
    """Return a text with every run of whitespace as one space."""
    return " ".join(text.split())


def shorten(text: str, max_chars: int, *, at_word: bool = False) -> str:
    """Return a text on one line, cut to a length, at a word if asked for, the cut marked."""
    line = one_line(text)
    if len(line) <= max_chars:
        return line
    head = line[: max_chars - 1]
    return (head.rsplit(" ", 1)[0].rstrip(" ,;:") if at_word else head.rstrip()) + "…"


def frequencies() -> Path:
    """Return the folder of the lists of `wordfreq`."""
    return languages.package_folder("wordfreq") / "data"


RAREST = 1e-6  # share of a word that a language's list does not have
FORMAT = {"format": "cB", "version": 1}  # a list of words for each hundredth of a power of ten


def packed(file: str) -> Any:
    """Read what a file of `wordfreq` holds."""
    import msgpack  # most commands ask for no frequency

    return msgpack.loads(gzip.decompress((frequencies() / file).read_bytes()), strict_map_key=False)


@cache
def listed(language: str) -> Mapping[str, float]:
    """Return the words of a language with their shares; of one without a list, of the default's."""
    file = f"small_{language}.msgpack.gz"
    if not (frequencies() / file).is_file():
        return listed(DEFAULT_LANGUAGE)
    header, *bins = packed(file)
    if header != FORMAT:
        raise ValueError(f"{file}: another version of wordfreq than this can read")
    return {word: 10 ** (-place / 100) for place, row in enumerate(bins) for word in row}


def frequency(word: str, language: str) -> float:
    """Return the share of a word among all words of its language, in [RAREST, 1].

    Args:
        word: Case folded.
        language: Its code, `de`.
    """
    return max(listed(language).get(word, 0.0), RAREST)


@cache
def common(language: str, count: int) -> frozenset[str]:
    """Return the commonest words of a language, folded: they stand in any talk."""
    ranked = sorted(listed(language).items(), key=lambda item: -item[1])
    return frozenset(folded(word) for word, _ in ranked[:count])


def is_listed(word: str, language: str) -> bool:
    """Whether a language has a word, so that a capital letter alone makes no name of it."""
    return word in listed(language)


HASHTAG = patterns.compile(r"(?<![\w#&/])#([^\W\d_][\w/-]*)")


def tags_in(text: str) -> list[str]:
    """Return the tags that stand in a text, without `#`, as they are written."""
    return HASHTAG.findall(text)


def folded_tag(tag: str) -> str:
    """Return a tag as it is compared: no `#`, capitals or accents, `-` in the place of spaces."""
    return "-".join(folded(tag.strip().lstrip("#")).split())


def distinct_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Return tags without `#`, each once, as the first of its form is written."""
    by_form: dict[str, str] = {}
    for tag in tags:
        by_form.setdefault(folded_tag(tag), tag.strip().lstrip("#").strip())
    return tuple(tag for form, tag in by_form.items() if form)


LEFT_OUT = "[…]"  # in place of what is passed on
QUOTED_CHARS = 60  # between quotation marks, from which it is no name, title or saying
PRESENTED_CHARS = 60  # under a line that ends with a colon
# A line of what somebody has to buy: it is no text of others.
_LISTED = patterns.compile(r"[ \t]*(?:[-*•+]|\d{1,2}[.)])[ \t]+(?:\S{1,20}(?:[ \t]+|\Z)){1,5}\Z")
_FENCE = patterns.compile(
    r"^[ \t]*(`{3,}|~{3,})[^\n]*\n[\s\S]*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.MULTILINE
)
# From a rule to the next, or to the end; `----- Original Message -----` is one.
_RULED = patterns.compile(
    r"^[ \t]*([-=*_~])(?:[ \t]*\1){2,}[^\n]{0,60}\n[\s\S]*?"
    r"(?:^[ \t]*\1(?:[ \t]*\1){2,}[^\n]{0,60}$|\Z)",
    re.MULTILINE,
)
# A row of a table ends with the sign that it begins with, and is nobody's quotation.
_LINES = patterns.compile(r"^[ \t]*(?!\|[^\n]*\|[ \t]*$)[>|＞][^\n]*(?:\n|\Z)", re.MULTILINE)
# A mail's head: a line of a name, a colon and an address in brackets, and all from there on.
_MAIL = patterns.compile(
    r"^[^\W\d_][^:：\n]{0,30}[:：][^\n]*<[^\s<>@]+@[^\s<>@]+>[\s\S]*", re.MULTILINE
)
_PAIRS = tuple(
    (pair[0], pair[1])
    for pair in ["“”", "„“", "„”", "«»", "»«", "「」", "『』", "‹›", "《》", '""']
)
_QUOTES = tuple(
    patterns.compile(rf"{opening}([^{opening}{closing}]{{{QUOTED_CHARS},}}){closing}")
    for opening, closing in _PAIRS
)
# The control tokens of models, and calls of tools written out, on a line of their own: all from
# there on.
_MARKUP = patterns.compile(
    r"^[ \t]*(?:<\|[^\s<>]{1,64}\|?>|\[/?INST\]|<</?SYS>>|<tool_call>"
    r"|\{\s*\"(?:tool_calls|actions)\")[\s\S]*",
    re.IGNORECASE | re.MULTILINE,
)
_PRESENTED = patterns.compile(rf"(?<=[:：])[ \t]*\n[ \t]*\n([\s\S]{{{PRESENTED_CHARS},}})\Z")


def own_words(text: str) -> str:
    """Return a message without what is passed on in it."""
    return parted(text)[0]


def parted(text: str) -> tuple[str, str]:
    """Part a message into the words of who wrote it, and what they pass on in it."""
    passed: list[str] = []

    def left_out(match: re.Match[str]) -> str:
        passed.append(match[0].strip())
        return LEFT_OUT + ("\n" if match[0].endswith("\n") else "")

    for pattern in (_FENCE, _MAIL, _RULED, _LINES, _MARKUP, *_QUOTES):
        text = pattern.sub(left_out, text)
    presented = _PRESENTED.search(text)
    if presented and not _is_own(presented[1]):
        passed.append(presented[1])
        text = f"{text[: presented.start()]}\n\n{LEFT_OUT}"
    return text, "\n".join(passed)


def passes_on(text: str) -> bool:
    """Whether something is passed on in a message."""
    return own_words(text) != text


def _is_own(text: str) -> bool:
    """Whether somebody speaks of themself in a text, or it is what they have to buy."""
    of_oneself = stop_words.FIRST_PERSON.intersection(stop_words.words(text))
    return bool(of_oneself) or all(map(_LISTED.match, text.splitlines()))
