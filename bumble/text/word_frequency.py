"""How common words are in a language by itself, against which the words of a life stand out.

From the lists of `wordfreq`: words that occur at least once in a million, in 40 languages. They are
read as they lie in the package, whose import takes longer than a turn may wait.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import msgpack

from bumble.text import words

RAREST = 1e-6  # share of a word that a language's list does not have
FORMAT = {"format": "cB", "version": 1}  # a list of words for each hundredth of a power of ten


@cache
def _folder() -> Path:
    spec = find_spec("wordfreq")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("wordfreq")
    return Path(next(iter(spec.submodule_search_locations))) / "data"


@cache
def _list(language: str) -> Mapping[str, float]:
    """Return the words of a language with their shares; of one without a list, of the default's."""
    file = _folder() / f"small_{language}.msgpack.gz"
    if not file.is_file():
        return _list(words.DEFAULT_LANGUAGE)
    header, *bins = msgpack.loads(gzip.decompress(file.read_bytes()))
    if header != FORMAT:
        raise ValueError(f"{file}: another version of wordfreq than this can read")
    return {word: 10 ** (-place / 100) for place, listed in enumerate(bins) for word in listed}


def share(word: str, language: str) -> float:
    """Return the share of a word among all words of its language, in [RAREST, 1].

    Args:
        word: Case folded.
        language: Its code, `de`.
    """
    return max(_list(language).get(word, 0.0), RAREST)


@cache
def common(language: str, count: int) -> frozenset[str]:
    """Return the commonest words of a language, folded: they stand in any talk."""
    ranked = sorted(_list(language).items(), key=lambda item: -item[1])
    return frozenset(words.folded(word) for word, _ in ranked[:count])


def is_listed(word: str, language: str) -> bool:
    """Whether a language has a word, so that a capital letter alone makes no name of it."""
    return word in _list(language)
