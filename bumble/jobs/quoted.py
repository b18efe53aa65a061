"""What is made of a stretch where no model may write: quotes of what is worth keeping.

The same answer as a model gives, so that all that keeps it is shared: what moved the body by the
reader's score, the episode of quotes, knowledge in the words of who told it, and a belief for each
word that puts an earlier one right. Nothing is guessed, nothing needs to be checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from bumble.fallback import notices, quotes, sayings
from bumble.fallback.notices import Noticed
from bumble.fallback.sayings import Saying, Wording
from bumble.jobs.ask import Draft, Sentence, StretchAnswer, StretchBelief, TitledFact
from bumble.jobs.scene import Scene
from bumble.recall.belief_strength import CORRECTION
from bumble.records.sessions import Message
from bumble.runtime.runtime import Runtime

# By how many points a person's news moves the bars, and the emotion and intensity that it leaves.
HEAVY: Mapping[str, float] = {"social": 2, "comfort": -2, "tension": 3}
GLAD: Mapping[str, float] = {"social": 2, "comfort": 2, "tension": -1}
LEFT = {
    ("heavy", 1): ("concerned", 0.5),
    ("heavy", 2): ("melancholy", 0.7),
    ("glad", 1): ("content", 0.4),
    ("glad", 2): ("content", 0.6),
}


def draw(runtime: Runtime, shown: Scene, wording: Wording) -> Draft:
    """Make what a stretch comes to of what people said in it; asks no model."""
    noticed = notices.notices(runtime, shown.session, shown.messages)
    kept = sayings.sayings(runtime, shown.session, shown.messages, noticed)
    label_of = {shown.messages[n - 1].id: label for label, n in shown.labels.items()}
    kept = [saying for saying in kept if saying.message.id in label_of]
    places = count(1)

    def sentence(text: str, saying: Saying) -> Sentence:
        return Sentence(f"s{next(places)}", text, True, (label_of[saying.message.id],))

    older = {saying.older.message for saying in kept if saying.older}
    shown_sayings = [saying for saying in kept if saying.message.id not in older]
    narrative = tuple(sentence(wording.line(each, year=False), each) for each in shown_sayings)
    title = (Sentence("title", wording.title(kept)),) if kept else ()
    answer = StretchAnswer(
        appraisal=_appraisal(shown.messages, noticed, wording),
        title=title,
        narrative=narrative,
        knowledge=tuple(_facts(shown_sayings, wording, sentence)),
        beliefs=tuple(_corrections(kept, wording, sentence)),
    )
    return Draft(answer, wording=wording, noticed=noticed)


def _appraisal(messages: Sequence[Message], noticed: Noticed, wording: Wording) -> dict[str, Any]:
    """Say what the weightiest of some messages did to the body; nothing, where none weighs."""
    weighed = [
        (level, kind, message)
        for message in messages
        if (notice := noticed.of.get(message.id)) is not None
        for kind, level in (("heavy", notice.heavy), ("glad", notice.glad))
        if level
    ]
    if not weighed:
        return {"bars": {}}
    level, kind, message = max(weighed, key=lambda each: each[0])
    moved = HEAVY if kind == "heavy" else GLAD
    emotion, intensity = LEFT[kind, level]
    trigger = quotes.marked(quotes.words_of(message.text), wording.template)
    return {
        "bars": dict(moved),
        "imprint": {"emotion": emotion, "intensity": intensity, "trigger": trigger},
    }


def _facts(kept: Sequence[Saying], wording: Wording, sentence: Any) -> list[TitledFact]:
    """Put what each person told under their name and the month, the newest first.

    What it may put right stands behind it: which message that is was found by its meaning, and
    nothing goes on a guess.
    """
    titled: dict[str, list[Saying]] = {}
    for saying in reversed(kept):  # the newest first
        titled.setdefault(_title(saying, wording), []).append(saying)
    return [
        TitledFact(title, tuple(sentence(wording.line(each), each) for each in told))
        for title, told in titled.items()
    ]


def _title(saying: Saying, wording: Wording) -> str:
    at, name = saying.quote.at, saying.quote.name
    has_months = "{month}" in wording.template.date
    month = wording.template.months[at.month - 1] if has_months else f"{at:%m}"
    return f"{name}, {month} {at.year}"


def _corrections(kept: Sequence[Saying], wording: Wording, sentence: Any) -> list[StretchBelief]:
    """Believe each word that puts an earlier one right; it speaks against what rests on that."""
    return [
        StretchBelief(
            CORRECTION,
            (sentence(quotes.plain(quotes.line(saying.quote, wording.template)), saying),),
            puts_right=saying.older.message,
        )
        for saying in kept
        if saying.older is not None
    ]
