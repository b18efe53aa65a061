"""The system prompt of a new day, made and evaluated ahead by `tick` while nobody waits for it.

The overview of topics changes it once a day; a model in this process has to read all of it again.
"""

from __future__ import annotations

from dataclasses import dataclass

from bumble.agent import manner, turn
from bumble.context import topic_overview
from bumble.records import session_files
from bumble.runtime import people, spoken
from bumble.runtime.job import Condition, Due, JobResult
from bumble.runtime.runtime import Runtime


@dataclass(frozen=True)
class DayPrefix:
    """The overview of a day for the conversation that went on last with the owner."""

    session: str
    readers: tuple[str, ...]
    overview: str


def check(life: Runtime) -> Due[DayPrefix]:
    """Find whether the overview of this day has still to be made; asks no model."""
    wanted = Condition("wanted", str(life.config.prompt.topics).lower(), "prompt.topics", True)
    if not life.config.prompt.topics or not life.writes:
        return Due((wanted,), ())
    owner = people.owner_id(life.entity, life.identity)
    newest = session_files.newest(life.entity.sessions, owner)
    if newest is None:
        return Due((wanted,), ())
    readers = session_files.find(life.entity.sessions, newest.id).people
    made = topic_overview.stored_text(life, readers) is not None
    day = Condition("day", "made" if made else "new", "a new day", not made)
    if made:
        return Due((wanted, day), ())
    overview = topic_overview.make(life, readers)
    jobs = (DayPrefix(newest.id, readers, overview),) if overview else ()
    return Due((wanted, day), jobs)


def run(life: Runtime, job: DayPrefix) -> JobResult:
    """Evaluate the prompt of the day where the model may be asked, and keep its overview.

    Nothing of it is a record.
    """
    is_read_ahead = False
    if topic_overview.is_wanted(life):
        session = session_files.find(life.entity.sessions, job.session)
        owner = people.owner_id(life.entity, life.identity)
        is_read_ahead = manner.asks_model(life, spoken.language(life, session, owner))
        if is_read_ahead:
            life.model.warm(turn.next_request(life, session, owner, job.overview))
    topic_overview.keep(life, job.readers, job.overview)
    topics = job.overview.count("\n- ") + job.overview.startswith("- ")
    line = f"The overview of the day is made: {topics} topics."
    if is_read_ahead:
        line = f"The prompt of the day is ready, with {topics} topics."
    return JobResult("prefix: the topics of the day", tuple, (line,), {"topics": topics})
