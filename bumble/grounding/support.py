"""Whether a sentence says what one message says, in other words: the share of its words.

A small model joins what was said here with what was said there, and makes up the rest. Most of the
words of a sentence must therefore stand in a single message, and half of each of its parts; those
that only tell how something was felt or said count neither way. Needs no model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from bumble.grounding import speakers
from bumble.index import terms

LEAST_SHARE = 0.75  # of the words of a sentence, in one message
PART_SHARE, PART_WORDS = 0.5, 2  # of a part of it that has so many words of its own
_PART = re.compile(r"[,;:–—]\s")
# What joins a sentence, in whatever way it is said.
_JOINING = """
named called name plans planned plan going wants want has have had having does did is was works
working mentioned explained added also now currently recently still today yesterday tomorrow soon
whether spoke easy open kindly friendly friend between other others slight each comfortable well
much enjoy
"""
_SAYING = " ".join(sorted(speakers.IN_TALK))
NEUTRAL = frozenset(terms.terms(" ".join((speakers.FELT_WORDS, _JOINING, _SAYING))))


def own_words(sentence: str, names: Iterable[str] = ()) -> set[str]:
    """Return the words of a sentence that say something, as stems."""
    called = {term for name in names for term in terms.terms(name)}
    return set(terms.terms(sentence)) - called - NEUTRAL


def share(sentence: str, sources: Iterable[str], names: Iterable[str] = ()) -> float:
    """Return the share of a sentence's words that stand in the one source that has most of them.

    Args:
        sentence: What a model wrote.
        sources: Messages, each on its own.
        names: Of those who took part; they say nothing by themselves.

    Returns:
        In [0, 1]; 1 for a sentence that says only how something was felt.
    """
    own = own_words(sentence, names)
    if not own:
        return 1.0
    return max((len(own & set(terms.terms(text))) / len(own) for text in sources), default=0.0)


def is_borne_out(sentence: str, sources: Iterable[str], names: Iterable[str] = ()) -> bool:
    """Whether enough of a sentence, and of each part between commas, stands in one source."""
    called = tuple(names)
    parts = [part for part in _PART.split(sentence) if len(own_words(part, called)) >= PART_WORDS]
    return any(
        share(sentence, (text,), called) >= LEAST_SHARE
        and all(share(part, (text,), called) >= PART_SHARE for part in parts)
        for text in sources
    ) or not own_words(sentence, called)
