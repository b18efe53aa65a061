"""Automations: which are due, and what comes of one that is run, written into the journal.

One turn each, thought about as any other, with the owner as the one it is done for. What was missed
because the machine was off runs once, and, as with anacron, not again on the same day, where that
day has one time. What a model says that may not write is no diary.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

from bumble.chat import able_reply, commit, loop, route, tool_list, tools
from bumble.entity.changes import Change
from bumble.errors import AnswerInvalidError
from bumble.fallback import sayings
from bumble.llm import prompts
from bumble.llm.protocol import Action, PromptMessage, Request, Tool
from bumble.records import automations, base, journal, sessions
from bumble.runtime import people, schedule
from bumble.runtime.job import Condition, Due, JobResult
from bumble.runtime.runtime import Plan, Result, Runtime
from bumble.text.words import one_line, shorten


def check(runtime: Runtime) -> Due[automations.Automation | Path]:
    """Find the automations whose time has come; then the files that are none."""
    ready, known, broken = schedule.due_automations(runtime.entity, runtime.now(), runtime.zone)
    told = f"{len(ready)} of {known}" + (f", {len(broken)} can't be read" if broken else "")
    return Due((Condition("due", told, "at least 1", bool(ready or broken)),), (*ready, *broken))


LATE = timedelta(hours=1)  # from here on what ran was missed; before, a tick was not at once
MOST_FAILURES = 5  # in a row, before one is switched off
TAG, TITLE_CHARS, WHEN = "automation", 60, "%A %d %B %Y, %H:%M"


def run(runtime: Runtime, job: automations.Automation | Path) -> JobResult:
    """Do what an automation asks for; an unusable answer counts as a failure of it.

    Raises:
        RecordInvalidError: If the file is no automation.
        UserError: If no model answers: it is tried again.
    """
    at = runtime.now()
    automation = automations.AUTOMATION.load(job) if isinstance(job, Path) else job
    # says so if its schedule is none
    schedule.runs_next(runtime.entity, automation, at, runtime.zone)
    wanted = schedule.newest(automation.schedule, at, runtime.zone)
    ran = _stands_for(automation, wanted, at, runtime.zone)
    try:
        done = _think(runtime, automation, at, wanted)
        if done.problem is not None:
            raise done.problem
        said, failed = done.said, done.stopped not in ("done", "length") or not done.said
        served = partial(commit.plan_tools, runtime, done, at)
        writes: list[Plan] = [served, *([] if failed else done.plans)]
    except AnswerInvalidError as error:
        said, failed, writes = str(error).splitlines()[0], True, []
    failures = automation.failures + 1 if failed else 0
    off = failures >= MOST_FAILURES
    if failed:
        lines = [f"{automation.id} failed, {failures} in a row: {said or 'nothing was said'}"]
        lines += [f"{automation.id} is switched off; `enabled: true` in its file"] if off else []
    else:
        lines = [f"{automation.id}: {said}"]
    why = f"do {automation.id}"

    def plan() -> Sequence[Change | None]:
        file = runtime.entity.root / automations.AUTOMATION.path(automation.id)
        now = automations.AUTOMATION.load(file) if file.exists() else None
        if now is None or now.last != automation.last:
            return []  # it was taken away, or another process did it
        origin = _origin(runtime, automation)
        diary = None  # what a model says that may not write is none
        if not failed and sayings.of_owner(runtime) is None:
            diary = journal.plan_add(at, said, runtime.zone, why, tags=(TAG,), provenance=origin)
        noted = automations.plan_ran(now, ran, failures, why, enabled=now.enabled and not off)
        return [diary, noted, *(write() for write in writes)]

    return JobResult(
        f"automation: {shorten(one_line(automation.prompt), TITLE_CHARS, at_word=True)}",
        plan,
        tuple(lines),
        {"automation": automation.id, "failed": failed, "failures": failures, "said": said},
        (("Evidence", automation.id), ("Model", runtime.model.name)),
    )


def _stands_for(
    automation: automations.Automation, wanted: datetime, at: datetime, zone: ZoneInfo
) -> datetime:
    """Return the time for which a run stands; of an earlier day's, this day's only time, too."""
    upcoming = schedule.following(automation.schedule, at, zone)
    if at - wanted < LATE or not wanted.date() < at.astimezone(zone).date() == upcoming.date():
        return at
    later = schedule.following(automation.schedule, upcoming, zone)
    return at if later.date() == upcoming.date() else upcoming


def _think(
    runtime: Runtime, automation: automations.Automation, at: datetime, wanted: datetime
) -> loop.LoopOutcome:
    """Let the model act on a task that was wanted at some time, with the tools of a turn."""
    owner = people.speaker(runtime.entity, runtime.identity, None)
    # never written: what was said before is searched, this talk is nobody's
    talk = sessions.new(base.new_id(sessions.PREFIX, at, runtime.rng), at, owner.id)
    context = tools.context_of(runtime, talk, _origin(runtime, automation), TAG)

    def carry_out(call: Action) -> Result:
        if call.name == tool_list.COMMAND.name and not runtime.writes:
            return Result("failed: no program is run in a dry run", failed=True)
        return tools.run(call.name, call.arguments, context)

    asked = prompts.load("automation").fill(
        now=f"It is {at:{WHEN}}; this was to be done on {wanted:{WHEN}}.",
        owner=owner.name,
        prompt=automation.prompt.replace("</task", "< /task"),
    )
    readers = (people.owner_id(runtime.entity, runtime.identity),)
    return loop.act(
        runtime,
        request_alone(runtime, TAG, asked, readers, tool_list.declared(runtime.config.tools)),
        tool_list.declared(runtime.config.tools),
        runtime.config.cognition.loop,
        carry_out,
        person=owner.name,
        task=automation.prompt,
        fits=partial(route.fitting, runtime),
    )


def _origin(runtime: Runtime, automation: automations.Automation) -> base.Provenance:
    return base.Provenance(
        by=TAG,
        model=runtime.model.name,
        sources=(automation.id,),
        trust="entity",
        audience=(people.owner_id(runtime.entity, runtime.identity),),
    )


def request_alone(
    runtime: Runtime, purpose: str, asked: str, readers: Sequence[str], declared: Sequence[Tool]
) -> Request:
    """Ask for what the entity does where nobody talks with it: thought about, with some tools."""
    profile = route.profile(runtime, "deliberate")
    stable = able_reply.stable(runtime, readers).text
    return Request(
        messages=(PromptMessage("system", stable), PromptMessage("user", asked)),
        purpose=purpose,
        schema=loop.schema(declared),
        max_tokens=profile.max_tokens,
        temperature=profile.temperature,
        thinking=profile.thinking,
        seed=runtime.rng.getrandbits(31),
        cache_family=str(runtime.entity.root),
    )
