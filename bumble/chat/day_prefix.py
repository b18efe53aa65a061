"""The system prompt of a new day, made and evaluated ahead by `tick` while nobody waits for it.

The overview of topics changes it once a day; a model in this process has to read all of it again.
"""

from __future__ import annotations

from msgspec import Struct

from bumble.chat import turn
from bumble.recall import survey
from bumble.records import session_files
from bumble.runtime import people
from bumble.runtime.job import Condition, Due, JobResult
from bumble.runtime.runtime import Runtime


class DayPrefix(Struct, frozen=True):
    """The overview of a day for the conversation that went on last with the owner."""

    session: str
    readers: tuple[str, ...]
    overview: str


def check(runtime: Runtime) -> Due[DayPrefix]:
    """Find whether the overview of this day has still to be made; asks no model."""
    wanted = Condition("wanted", str(runtime.config.prompt.topics).lower(), "prompt.topics", True)
    if not runtime.config.prompt.topics or not runtime.writes:
        return Due((wanted,), ())
    owner = people.owner_id(runtime.entity, runtime.identity)
    newest = session_files.newest(runtime.entity.sessions, owner, runtime.now())
    if newest is None:
        return Due((wanted,), ())
    readers = session_files.find(runtime.entity.sessions, newest.id).people
    made = survey.stored_overview(runtime, readers) is not None
    day = Condition("day", "made" if made else "new", "a new day", not made)
    if made:
        return Due((wanted, day), ())
    overview = survey.make_overview(runtime, readers)
    jobs = (DayPrefix(newest.id, readers, overview),) if overview else ()
    return Due((wanted, day), jobs)


def run(runtime: Runtime, job: DayPrefix) -> JobResult:
    """Evaluate the prompt of the day where the model may be asked, and keep its overview.

    Nothing of it is a record.
    """
    is_read_ahead = False
    if survey.wants_overview(runtime):
        session = session_files.find(runtime.entity.sessions, job.session)
        owner = people.owner_id(runtime.entity, runtime.identity)
        request = turn.next_request(runtime, session, owner, job.overview)
        is_read_ahead = request is not None
        if request is not None:
            runtime.model.warm(request)
    survey.keep_overview(runtime, job.readers, job.overview)
    topics = job.overview.count("\n- ") + job.overview.startswith("- ")
    line = f"The overview of the day is made: {topics} topics."
    if is_read_ahead:
        line = f"The prompt of the day is ready, with {topics} topics."
    return JobResult("prefix: the topics of the day", tuple, (line,), {"topics": topics})
