"""Which texts say what a sentence says: the share of its words in one, the nearest first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from bumble.guard import values
from bumble.text import stop_words, words


def own_words(sentence: str, names: Iterable[str] = (), language: str = "") -> set[str]:
    """Return the stems of the words of a sentence that say something.

    Args:
        sentence: What a model wrote.
        names: Of those who took part; they say nothing by themselves.
        language: Of the sentence; by default as its stop words tell.
    """
    code = language or words.language(sentence)
    called = {stem for name in names for stem in words.stems(name, code)}
    return words.stems(sentence, code) - called


def share(
    sentence: str, sources: Iterable[str], names: Iterable[str] = (), language: str = ""
) -> float:
    """Return the share of a sentence's words that stand in the one source that has most of them.

    Args:
        sentence: What a model wrote.
        sources: Messages, each on its own.
        names: Of those who took part; they say nothing by themselves.
        language: Of the sentence; by default as its stop words tell, or those of the sources.

    Returns:
        In [0, 1]; 1 for a sentence that says nothing that counts.
    """
    texts = list(sources)
    code = language or words.language(sentence, *texts)
    own = own_words(sentence, names, code)
    if not own:
        return 1.0
    return max((len(own & words.stems(text, code)) / len(own) for text in texts), default=0.0)


LEAST_WORDS, REPEATED = 3, 0.5  # of a sentence that repeats a text: its words, their share
TOGETHER = 4  # sentences that one may join


def repeats(text: str, read: str, others: Sequence[str]) -> bool:
    """Whether a sentence of a text, or all of it, says what stands close together in another.

    Args:
        text: What a model wrote.
        read: What it may have that from.
        others: What people said; who says more of that repeats nothing.
    """
    code = words.language(text, read)
    there = [words.stems(one, code) for one in words.sentences(read)]
    starts = range(max(1, len(there) - TOGETHER + 1))
    close = [set[str]().union(*there[n : n + TOGETHER]) for n in starts]
    said = [words.stems(one, code) for one in others]
    for sentence in (*words.sentences(text), text):
        own = words.stems(sentence, code)
        found, theirs = (max((len(own & one) for one in each), default=0) for each in (close, said))
        if len(own) >= LEAST_WORDS and found >= REPEATED * len(own) and found > theirs:
            return True
    return False


MOST = 3  # texts that one sentence is traced to
LEAST_GAIN = 0.2  # of the weight of its words: what a further text has to add
NUMBERS_WEIGHT = 2  # a number is what is put right


def nearest(
    sentence: str, texts: Sequence[str], names: Iterable[str] = (), language: str = ""
) -> tuple[int, ...]:
    """Return the places of the texts that a sentence can be traced to, the nearest first.

    A text that it quotes, or that holds it, goes before all others. Else each text counts by the
    words it shares with the sentence, those that few texts have the most, and a further one only
    by what the nearer ones lack.

    Args:
        sentence: Any.
        texts: Each on its own.
        names: Of those who took part, which alone show nothing.
        language: Of the texts; by default as their stop words tell.

    Returns:
        At most MOST; none if no text has any of its telling words.
    """
    quoted = [place for place, text in enumerate(texts) if _quotes(sentence, text)]
    if quoted:
        return tuple(quoted[:MOST])
    code = language or words.language(sentence, *texts)
    called = tuple(names)
    wanted = own_words(sentence, called, code)
    shared = [wanted & words.stems(text, code) for text in texts]
    spread = Counter(stem for stems in shared for stem in stems)
    weights = {
        stem: (NUMBERS_WEIGHT if values.is_value(stem) else 1) / spread[stem]
        for stem in wanted
        if spread[stem]
    }
    places: list[int] = []
    missing, least = set(weights), LEAST_GAIN * sum(weights.values())
    while missing and len(places) < MOST:
        gains = [sum(weights[stem] for stem in stems & missing) for stems in shared]
        best = max(range(len(texts)), key=lambda place: (gains[place], -place))
        if gains[best] <= 0 or (places and gains[best] < least):
            break
        places.append(best)
        missing -= shared[best]
    return tuple(places)


def _quotes(sentence: str, text: str) -> bool:
    """Whether one holds the words of the other, in their order, and these tell something."""
    own, other = (f" {' '.join(stop_words.words(one))} " for one in (sentence, text))
    shorter, longer = sorted((own, other), key=len)
    return bool(stop_words.telling_words(shorter)) and shorter in longer
