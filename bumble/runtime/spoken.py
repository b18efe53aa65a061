"""Which language a person speaks in a conversation."""

from __future__ import annotations

from bumble.records.sessions import Session
from bumble.runtime.runtime import Runtime
from bumble.text import words

LATEST_MESSAGES = 8  # of the person, which tell their language


def language(life: Runtime, session: Session, person: str) -> str:
    """Return the code of the language somebody speaks, `de`, by their latest messages.

    Args:
        life: Whose conversation.
        session: The conversation, with the message that is to be answered.
        person: Id of who speaks.
    """
    texts = [message.text for message in session.messages if message.speaker == person]
    return words.language(" ".join(texts[-LATEST_MESSAGES:]))
