"""Whether a text of a model keeps to what was said: names, words, sentence splitting.

Names, numbers and dates are what a small model makes up and what does the harm; a sentence that
holds one which nobody said is not kept. Needs no model. Capital letters mark names where a script
has them; in German, which writes every noun with one, a noun behind an article is none. What no
capital letter and no digit marks is not checked.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from bumble.grounding import numbers
from bumble.text import stop_words

# Scripts without spaces have no words to compare; a Latin name inside them is one.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_SIGNS = re.compile(f"[{_UNSPACED}]")
_LETTER = rf"(?:(?![{_UNSPACED}])\w)"
_WORD = re.compile(rf"{_LETTER}+(?:(?:['’.\-]|(?<=\d)[,/](?=\d)){_LETTER}+)*")
_END = re.compile(r"(?:[.!?…]+[\"'”’»)]*(?=\s)|[。！？]+[」』”]*|\n)\s*")
_NO_END = re.compile(
    r"(?:\b(?:[^\W\d_]|dr|mr|mrs|ms|st|prof|sr|sra|dra|hr|fr|bzw|usw|ca|vs|nr|e\.g|i\.e)"
    r"|\b\d{1,2})\.\s*\Z",
    re.IGNORECASE,
)
_GENITIVE = re.compile(r"'s?\Z")
_JOINTS = re.compile(r"[-.'/]")
# A first word before one of these is whom or what its sentence is about.
_VERBS = """
is was has had will would can could does did and lives likes loves works wants said says told ist
war hat hatte wird heißt mag wohnt lebt und é era tem mora gosta e es tiene vive y est était habite
aime et
"""
_ARTICLES = """
der die das dem den des ein eine einen einem einer eines kein keine keinen mein meine meinen meinem
meiner dein deine deinen deiner sein seine seinen seinem seiner ihr ihre ihren ihrem ihrer unser
unsere im am zum zur vom beim als ins ans viele
"""
_VERB = frozenset(_VERBS.split())
_ARTICLE = frozenset(_ARTICLES.split())
_NO_NAME = stop_words.WORDS | frozenset(["dr", "mr", "mrs", "ms", "prof", "sr", "sra", "hr", "fr"])
_GERMAN = frozenset(stop_words.GERMAN.split())
_OTHERS = frozenset(
    " ".join((stop_words.ENGLISH, stop_words.FRENCH, stop_words.SPANISH, stop_words.OTHERS)).split()
)
_SHARED_PREFIX = 5  # letters that two forms of one word have in common at least
_SHARED_PREFIX_INFLECTED = 3  # where names are inflected: Анна, Анны


def sentences(text: str) -> list[str]:
    """Split a text into sentences, at full stops and line ends."""
    parts, start = [], 0
    for end in _END.finditer(text):
        before, behind = text[start : end.end()], text[end.end() :]
        if "\n" not in end[0] and _goes_on(before, behind):
            continue
        parts.append(before)
        start = end.end()
    return [part.strip() for part in (*parts, text[start:]) if part.strip()]


def _goes_on(before: str, behind: str) -> bool:
    """Whether a full stop ends an abbreviation or an ordinal, not the sentence."""
    if behind[:1].islower():
        return before.rstrip().endswith(".")
    if not _NO_END.search(before):
        return False
    following = _WORD.match(behind)
    if before.rstrip()[-2:-1].isdigit():  # "am 24. Mai", but not "She is 24. Then ..."
        return following is not None and numbers.month(_plain(following[0])) is not None
    return not before.rstrip().endswith(" I.")


def unsupported(
    text: str, sources: Iterable[str], known_names: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return the names, numbers and dates in a text that occur in none of its sources.

    Args:
        text: What a model wrote.
        sources: What it may rest on: the messages, with the times and names they carry.
        known_names: Names that need no source: the entity's own, those of the people who took part.
    """
    source_forms = {form for source in (*sources, *known_names) for form in _forms(source)}
    return tuple(dict.fromkeys(word for word in claims(text) if not _occurs(word, source_forms)))


def supported(text: str, sources: Sequence[str], known_names: Sequence[str] = ()) -> str:
    """Return the sentences of a text that hold no name, number or date of their own."""
    kept_sentences = [
        sentence for sentence in sentences(text) if not unsupported(sentence, sources, known_names)
    ]
    return " ".join(kept_sentences)


def _forms(source: str) -> Iterator[str]:
    """Yield the forms of a source that a claim may match: words, their parts, numbers, months."""
    words = [_plain(word) for word in _WORD.findall(source)]
    for word in words:
        yield word
        yield _GENITIVE.sub("", word)
        yield from _JOINTS.split(word)
    yield from numbers.find_forms(words)
    yield from numbers.find_forms_in_signs(source)


@dataclass(frozen=True)
class _Sentence:
    words: Sequence[str]
    plain: Sequence[str]
    german: bool
    unspaced: bool  # whether part of it is in a script without spaces


def _read(sentence: str) -> _Sentence:
    words = _WORD.findall(sentence)
    plain = [_plain(word) for word in words]
    german = sum(word in _GERMAN and word not in _OTHERS for word in plain)
    other = sum(word in _OTHERS and word not in _GERMAN for word in plain)
    return _Sentence(words, plain, german > other, _SIGNS.search(sentence) is not None)


def claims(text: str) -> list[str]:
    """Return the words that say something checkable: amounts, months, names."""
    claim_words = []
    for sentence in map(_read, sentences(text)):
        for n, word in enumerate(sentence.words):
            capital = word[0].isupper()
            if numbers.claims(sentence.plain, n, capital=capital) or (
                capital and _is_name(sentence, n)
            ):
                claim_words.append(word)
    return claim_words


def _is_name(sentence: _Sentence, n: int) -> bool:
    """Whether a word with a capital letter is to be taken for a name."""
    word = sentence.plain[n]
    if {word, _GENITIVE.sub("", word)} & _NO_NAME:
        return False
    if n > 0:
        return not (sentence.german and _follows_article(sentence, n))
    following = sentence.words[1].casefold() if len(sentence.words) > 1 else ""
    return (  # a first word has a capital in any case
        sum(char.isupper() for char in sentence.words[0]) > 1
        or _GENITIVE.search(word) is not None
        or sentence.unspaced
        or following in _VERB
    )


def _follows_article(sentence: _Sentence, n: int) -> bool:
    """Whether an article stands before a noun, with adjectives between them or without."""
    before = n - 1
    while before >= 0 and _may_be_adjective(sentence, before):
        before -= 1
    return before >= 0 and sentence.plain[before] in _ARTICLE


def _may_be_adjective(sentence: _Sentence, n: int) -> bool:
    return sentence.words[n][0].islower() and sentence.plain[n] not in stop_words.WORDS


def _occurs(word: str, source_forms: set[str]) -> bool:
    """Whether a word stands in the sources, in this form or another of the same stem."""
    plain = _plain(word)
    if plain in source_forms or _GENITIVE.sub("", plain) in source_forms:
        return True
    needed = numbers.needed(plain)
    if needed:
        return all(any(form in source_forms for form in either) for either in needed)
    parts = [part for part in _JOINTS.split(_GENITIVE.sub("", plain)) if part]
    if len(parts) > 1:
        marked = [part for part in _JOINTS.split(word) if part and not part[0].islower()]
        return all(_occurs(part, source_forms) for part in marked)
    if (
        plain.endswith("s") and plain[:-1] in source_forms
    ):  # the genitive of names without apostrophe
        return True
    least = _SHARED_PREFIX if plain.isascii() else _SHARED_PREFIX_INFLECTED
    stem = plain[: max(least, len(plain) - 3)]
    return len(plain) >= least and any(other.startswith(stem) for other in source_forms)


def _plain(word: str) -> str:
    """Return a word without case, accents and the genitive's other apostrophe."""
    folded = unicodedata.normalize("NFKD", word.replace("’", "'")).casefold()
    return "".join(char for char in folded if not unicodedata.combining(char))
