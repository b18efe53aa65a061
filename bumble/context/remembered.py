"""What answers a question without a model: the words that were said or written down, quoted.

Chooses quotes; wording them is a form's work. What the entity said itself is no source, nor is a
question of somebody's.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from bumble.context import recalled
from bumble.context.recalled import Search
from bumble.index import chunks
from bumble.index.search import Hit
from bumble.records import provenance
from bumble.records.sessions import Session
from bumble.runtime import body_state, people
from bumble.runtime.runtime import Runtime
from bumble.text.words import one_line

SEARCHED = 12  # hits that are looked through
KINDS = ("message", "knowledge")
CLOSE = 0.85  # of the best hit's score, from which another may be the answer as well
MOST_QUOTES = 2


@dataclass(frozen=True)
class Quote:
    """Words that were said or written down."""

    text: str
    at: datetime | None
    speaker: str = ""  # id of the person; empty: it stands in the entity's own notes
    name: str = ""  # of the person


def quotes(life: Runtime, session: Session, *, asks: bool) -> list[Quote]:
    """Return what answers the last message of a conversation, the newest first.

    Args:
        life: Whose memory.
        session: With the message; what was said in it before counts too.
        asks: Whether the message asks for a memory, so that what is less near may answer it.
    """
    said = session.messages[-1]
    at = life.now()
    mood = body_state.mood(life, body_state.read(life, at)).name
    search = Search(session.people, mood, at, asker=chunks.spoken_name(said.speaker))
    hits = recalled.find(
        life.memory,
        life.config,
        life.body,
        search,
        said.text,
        kinds=KINDS,
        limit=SEARCHED,
        unasked=not asks,
    )
    told = [hit for hit in hits if _tells(life, hit, said.id)]
    best = [hit for hit in told[:MOST_QUOTES] if hit.score >= CLOSE * told[0].score]
    return [_quote(life, hit) for hit in sorted(best, key=_newest, reverse=True)]


def _newest(hit: Hit) -> float:
    return hit.at.timestamp() if hit.at else 0.0


def _tells(life: Runtime, hit: Hit, asked: str) -> bool:
    """Whether a hit may answer: somebody's statement, and not the question itself."""
    if hit.id == asked or provenance.is_untrusted(hit.trust):
        return False
    if hit.kind == "message":
        return hit.speaker != life.identity.name and not hit.text.rstrip().endswith(("?", "？"))
    return True


def _quote(life: Runtime, hit: Hit) -> Quote:
    text = one_line(hit.text)
    if hit.kind != "message":
        return Quote(text, hit.at)
    person = next(iter(hit.people), "") if len(hit.people) == 1 else _speaker_id(hit)
    known = people.find_person(life, person) if person else None
    return Quote(text, hit.at, person, known.name if known else hit.speaker)


def _speaker_id(hit: Hit) -> str:
    return next((one for one in hit.people if chunks.spoken_name(one) == hit.speaker), "")
