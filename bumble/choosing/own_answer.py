"""What somebody asked of their own life and found out by themselves: "never mind: size 41".

Such an answer says nothing without its question, so both are kept as one quote.
"""

from __future__ import annotations

from datetime import timedelta

from bumble.choosing import language_file, rules
from bumble.grounding import claims
from bumble.records.sessions import Message, Session
from bumble.text import moments
from bumble.text.words import one_line

NEAR = timedelta(minutes=15)  # between a question and its answer
MOST_WORDS = 20  # of an answer
BARE_WORDS = 5  # of one that is hardly more than what was asked for
OPEN = frozenset({"open", "few words", "passing"})  # verdicts on a message that may be an answer
WHY = "answers what they asked"


def question(session: Session, message: Message, language: str) -> Message | None:
    """Return the message right before in which a speaker asked what this one answers.

    Args:
        session: The conversation.
        message: Of it.
        language: That of its speaker.
    """
    before = _before(session, message)
    if before is None or moments.gap(before.at, message.at) > NEAR:
        return None
    verdict = rules.judge(message.text, language)
    if not _tells(message.text, language, by_itself=verdict.why == rules.TOLD):
        return None
    if verdict.why not in (*OPEN, rules.TOLD):
        return None
    return before if rules.asks_of_own(before.text, language) else None


def _before(session: Session, message: Message) -> Message | None:
    """Return what the same person said last before a message, if nobody else spoke between."""
    place = [each.id for each in session.messages].index(message.id)
    said = [each for each in session.messages[:place] if each.role == "user" and each.text.strip()]
    return said[-1] if said and said[-1].speaker == message.speaker else None


def _tells(text: str, language: str, *, by_itself: bool) -> bool:
    """Whether a text says that something was found out, or is a number or a name and no more.

    What tells something by itself is an answer only where it says that it was found out.
    """
    cues = language_file.load(language)
    if "?" in text or len(text.split()) > MOST_WORDS:
        return False
    is_bare = text[:1].isdigit() or len(text.split()) <= BARE_WORDS
    told = is_bare and not by_itself and claims.claims(one_line(text), language)
    return bool(told) or cues.has("found_out", cues.line(text))
