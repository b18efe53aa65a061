"""Whether an answer rests on the places it cites: that they exist, and what they say."""

from __future__ import annotations

from collections.abc import Sequence

from bumble.guard import verifier
from bumble.guard.speakers import Speakers
from bumble.recall.deep_recall.reach import RecollectionSource
from bumble.text import words

LEAST_BORNE = 0.6  # of the words of a sentence, in the cited places and the question together


def problem(
    answer: str, cited: Sequence[RecollectionSource], question: str, names: Sequence[str]
) -> str:
    """Return why an answer may not stand; empty if it may.

    Args:
        answer: What a model wrote.
        cited: The places it says it rests on.
        question: What was asked; its words need no source, its names and numbers do.
        names: Of the entity and of those it knows.
    """
    if not cited:
        return "it rests on no place"
    texts = [f"{source.speaker}: {source.text} {_date(source)}" for source in cited]
    borne = "\n".join((question, *texts))
    speakers = Speakers(names)
    for sentence in words.sentences(answer):
        reason = verifier.problem(sentence, texts, speakers, messages=[borne], least=LEAST_BORNE)
        if reason is not None:
            return reason
    return ""


def _date(source: RecollectionSource) -> str:
    return f"{source.at:%Y-%m-%d %d %B %A}" if source.at else ""
