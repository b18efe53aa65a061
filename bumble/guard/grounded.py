"""The check: whether somebody really said what a sentence says, and if not, why not.

A sentence that a model wrote may hold no name, number or date that nobody gave, take nothing that
a person said of themselves for its own or for another's, and, where its messages are given, has to
say mostly what one of them says.
"""

from __future__ import annotations

from collections.abc import Sequence

from bumble.guard import claims, support
from bumble.guard.speakers import Speakers, borrowed, given_away, taken_over
from bumble.text import stop_words, words

LEAST_WORDS = 4  # telling ones of a sentence that one message has to say; a title has fewer
LEAST_SAID = 0.6  # of the words of a text that somebody is held to have said, in whatever form


def check(
    sentence: str,
    sources: Sequence[str],
    speakers: Speakers,
    language: str = "",
    *,
    messages: Sequence[str] | None = None,
    least: float = support.LEAST_SHARE,
) -> str | None:
    """Return why a sentence may not stand; None if it may.

    Args:
        sentence: What a model wrote.
        sources: Texts that its names, numbers and dates may come from.
        speakers: Who took part.
        language: Of the sentence: `de`; by default as its stop words tell, or those of the sources.
        messages: Texts one of which has to say most of it; None: none has to.
        least: The share of its words that this one holds, in [0, 1].
    """
    code = language or words.language(sentence, *sources)
    names = speakers.all_names
    if strange := claims.unsupported(sentence, sources, names, code):
        return f"nobody said {', '.join(strange)}"
    if reason := _not_theirs(sentence, speakers, code):
        return reason
    if messages is not None and not support.is_borne_out(
        sentence, messages, names, code, least=least
    ):
        return "most of it was not said, or not together"
    return None


def _not_theirs(sentence: str, speakers: Speakers, language: str) -> str | None:
    statements = [text for texts in speakers.statements.values() for text in texts]
    word = borrowed(sentence, statements, language) or taken_over(
        sentence, speakers.accounts, language
    )
    if word is not None:
        return f"\"{word}\" is another's, not {speakers.entity or 'the entity'}'s"
    teller = speakers.teller(sentence)
    if teller is None:
        return None
    other_names = [name for name in speakers.statements if name != teller]
    owner = given_away(sentence, speakers.statements[teller], speakers.entity, other_names)
    return owner and f"what {teller} told of their own is made {owner}'s"


def supported(text: str, sources: Sequence[str], names: Sequence[str] = ()) -> str:
    """Return the sentences of a text that hold no name, number or date of their own."""
    speakers = Speakers(names)
    return " ".join(
        sentence
        for sentence in words.sentences(text)
        if check(sentence, sources, speakers, words.language(sentence, text, *sources)) is None
    )


def was_said(text: str, statements: Sequence[str], known_names: Sequence[str]) -> bool:
    """Whether a text says no more than somebody did, in whatever form; every word counts.

    Args:
        text: What is to be written down.
        statements: The person's messages.
        known_names: Names that need not have been said.
    """
    if check(text, statements, Speakers(known_names)) is not None:
        return False
    all_said = "\n".join(statements)
    if support.share(text, [all_said], known_names, every_word=True) < LEAST_SAID:
        return False
    # words from here and there can be put together to say what nobody did
    return all(
        support.share(part, statements, known_names, every_word=True) >= LEAST_SAID
        for part in words.sentences(text)
        if len(stop_words.telling_words(part)) >= LEAST_WORDS
    )
