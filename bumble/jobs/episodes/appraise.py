"""Appraising a stretch of conversation: what it did to the body, as a rule says.

A stretch is what waits of one conversation, up to a pause or to the length of an episode: usually
the turn that just was. Where a model may write, `bumble/jobs/` asks it, and moves the body by the
same functions. Whatever comes of it, the cursor moves behind the stretch.

An appraisal that comes late moves the body by what would be left of it: as much as is left of an
affect, which halves every 90 minutes. Later than its last trace it is noted in the transcript,
where the episode finds it, and the body stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import asdict

from bumble.body import affects, appraisal
from bumble.body.appraisal import Appraisal
from bumble.body.circadian import seconds_between
from bumble.body.soma import Soma
from bumble.entity.changes import Change
from bumble.fallback import sayings
from bumble.records import sessions
from bumble.records.base import Provenance
from bumble.records.sessions import Appraised, Message, Session
from bumble.runtime import anchor_recall, body_state, cursors
from bumble.runtime.runtime import Runtime
from bumble.text import words

KEY: cursors.Key = (cursors.APPRAISE,)
QUOTE_CHARS, LABEL_CHARS = 200, 60  # of the anchor that a charged turn makes


def _name(message: Message) -> str:
    return str(message.extra.get("name") or message.speaker or "somebody")


def effects(assessment: Appraisal) -> str:
    """Say in a line what an appraisal does."""
    points = ", ".join(f"{bar} {points:+g}" for bar, points in assessment.points.items() if points)
    parts = [points or "nothing moved", ", ".join(assessment.affects), assessment.felt]
    return "; ".join(filter(None, parts))


def data(assessment: Appraisal) -> dict[str, object]:
    """Return the same for JSON."""
    imprint = assessment.imprint
    return {
        "points": dict(assessment.points),
        "affects": list(assessment.affects),
        "felt": assessment.felt,
        "imprint": asdict(imprint) if imprint else None,
    }


def plan_felt(
    runtime: Runtime,
    session: Session,
    assessments: Sequence[tuple[Message, Appraisal]],
    ended: datetime,
    at: datetime,
    model: str = "",
) -> list[Change | None]:
    """Plan to note some appraisals in the transcript, and to let what is left of them be felt.

    Args:
        runtime: Whose body.
        session: The conversation as it is now.
        assessments: Each with the message that it is noted beside.
        ended: When the talk that they are of was over.
        at: The present.
        model: What made them; empty: a rule.
    """
    left = _left(seconds_between(ended, at))
    lines = [line(at, message, assessment, model) for message, assessment in assessments]
    noted = sessions.plan_append(session, lines, "note what it did to the body")

    def move(soma: Soma) -> Soma:
        for _, assessment in assessments:
            soma = appraisal.apply(soma, assessment, left=left, audience=session.people)
        return soma

    if not left:
        return [noted]
    moved = body_state.plan(runtime, at, move, "what was said moved the body")
    soma = move(body_state.read(runtime, at))
    return [noted, moved, *_anchored(runtime, session, soma, assessments, left)]


def _anchored(
    runtime: Runtime,
    session: Session,
    soma: Soma,
    assessments: Sequence[tuple[Message, Appraisal]],
    left: float,
) -> list[Change | None]:
    """Plan the anchor of a charged turn: its words are those that were said, never a model's."""
    charged = [(each.imprint, message) for message, each in assessments if each.imprint]
    if not charged:
        return []
    imprint, message = max(charged, key=lambda pair: pair[0].intensity)
    origin = Provenance(
        by=cursors.APPRAISE,
        sources=(message.id,),
        trust=message.trust,
        audience=session.people,
    )
    quote = f'{_name(message)}: "{words.shorten(message.text, QUOTE_CHARS)}"'
    label = words.shorten(imprint.trigger, LABEL_CHARS)
    strength = imprint.intensity * left
    return anchor_recall.plan_charged(runtime, soma, label, quote, strength, origin)


def line(at: datetime, message: Message, assessment: Appraisal, model: str) -> Appraised:
    """Return the line of a transcript that says what a message did to the body."""
    imprint = assessment.imprint
    emotion = (imprint.emotion, imprint.intensity, imprint.trigger) if imprint else ("", 0.0, "")
    extra = {"model": model} if model else {"source": sayings.MARK}
    return Appraised(at, message.id, assessment.points, assessment.felt, *emotion, extra=extra)


def _left(age_seconds: float) -> float:
    """Tell which share of an appraisal is left, in [0, 1]; 0 where no affect would be left."""
    left: float = 0.5 ** (max(0.0, age_seconds) / 60 / affects.HALF_LIFE_MINUTES)
    return left if left >= affects.FORGET_BELOW else 0.0
