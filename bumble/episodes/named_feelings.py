"""What a message did to the body by rule: only what it names, feelings of who says it.

Which emotion a word names stands in the wordings of its language. Nothing is felt that nobody
named, no line says what it felt like, and what gave rise to an imprint is quoted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bumble.body.affects import FeltImprint
from bumble.body.appraisal import TRIGGER_MAX_CHARS, Appraisal
from bumble.body.config import BAR_NAMES, POSITIVE
from bumble.choosing import quotes
from bumble.choosing.by_form import Wording
from bumble.records.notices import Notice
from bumble.records.sessions import Message
from bumble.text import stop_words, words

INTENSITY = 0.5  # of a feeling of which nobody said how strong it is
# By how many points a person's feeling moves the bars: it brings near, and it is shared.
BRIGHT: Mapping[str, float] = {"social": 2, "comfort": 2, "tension": -1}
DARK: Mapping[str, float] = {"social": 2, "comfort": -2, "tension": 3}


def appraisal(message: Message, notice: Notice, wording: Wording) -> Appraisal | None:
    """Say what a message did to the body; None where it names no feeling that the body knows."""
    emotion = _emotion(notice.feelings, wording)
    if not emotion:
        return None
    moved = BRIGHT if emotion in POSITIVE else DARK
    points = {name: moved.get(name, 0.0) for name in BAR_NAMES}
    room = TRIGGER_MAX_CHARS - len(quotes.marked("", wording.forms))
    said_words = words.shorten(_sentence(message.text, notice.feelings), room, at_word=True)
    trigger = quotes.marked(said_words, wording.forms)
    return Appraisal(points, (), "", FeltImprint(emotion, INTENSITY, trigger))


def _emotion(feelings: Iterable[str], wording: Wording) -> str:
    """Return the emotion that the first of some words names; empty if none does."""
    emotions = {
        words.stem(word, wording.language): emotion
        for emotion, row in wording.forms.emotions.items()
        for word in stop_words.words(row)
    }
    stems = (
        words.stem(word, wording.language) for text in feelings for word in stop_words.words(text)
    )
    return next((emotions[stem] for stem in stems if stem in emotions), "")


def _sentence(text: str, feelings: Iterable[str]) -> str:
    """Return the sentence that names a feeling."""
    sentences = words.sentences(text)
    holding = (
        sentence
        for sentence in sentences
        if any(feeling.casefold() in sentence.casefold() for feeling in feelings)
    )
    return next(holding, sentences[0] if sentences else text)
