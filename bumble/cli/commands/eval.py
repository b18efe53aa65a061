"""`bumble eval`: the owner's checks of what the entity knows; drafts of checks."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Annotated, Any
from xml.etree import ElementTree

import typer
from msgspec.structs import asdict, replace

from bumble.cli import listing, mind_checks, output, people, writing
from bumble.cli.command import (
    DryRunOption,
    LimitOption,
    SeedOption,
    YesOption,
    edits,
    group,
    shows,
)
from bumble.cli.opening import Opened
from bumble.cli.talk import conversation
from bumble.errors import RecordMissingError
from bumble.files import disk
from bumble.records import checks, session_files
from bumble.text import printable, words


def junit(suite: str, outcomes: Sequence[mind_checks.CheckOutcome]) -> bytes:
    """Write what checks came to as CI reads it."""
    failures = sum(not each.passes for each in outcomes)
    counts = {"tests": str(len(outcomes)), "failures": str(failures), "errors": "0"}
    root = ElementTree.Element("testsuites", counts)
    inner = ElementTree.SubElement(root, "testsuite", {"name": suite, **counts})
    for each in outcomes:
        where = {"classname": each.place, "name": each.check.id}
        element = ElementTree.SubElement(inner, "testcase", where)
        if why := _why(each):
            allowed = "".join(one for one in why if one in "\t\n" or one.isprintable())
            ElementTree.SubElement(element, "failure", {"message": allowed})  # what XML can hold
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'.encode()


HELP = """Check what the entity knows: what it finds, is shown and answers.

Makes the checks in `checks/`. `recall` and `prompt` ask no model; `answer` does, in a talk that
leaves no trace. Ends with exit code 1 if a check fails.
"""
app = group(opens=True, said=HELP)
FAILED_EXIT_CODE = 1
DRAFTS = 20
NONE = "No checks yet. `bumble eval draft` writes some, checks/NAME.yaml takes your own."
NAMES = {  # of what all checks come to, in the order of the list
    "recall_at_k": "found by a search",
    "mrr": "mean reciprocal rank",
    "in_prompt": "in the prompt",
    "answered": "answered",
    "leak_rate": "what must not be there, there",
    "compaction_survival": "in the prompt of a compacted talk",
    "junk_rate": "of what models wrote, borne out by nothing",
}


@app.callback(invoke_without_command=True)
@shows
def eval_(
    opened: Opened,
    *,
    of: Annotated[
        str,
        typer.Option(
            "--of", metavar="PLACES", help="Where to look, with commas between; answers cost most."
        ),
    ] = ",".join(checks.WITHOUT_MODEL),
    junit_file: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write a report for CI.")
    ] = None,
    seed: SeedOption = None,
    yes: YesOption = False,
) -> None:
    """Make the checks, and tell what they came to."""
    parts = filter(None, map(str.strip, of.split(",")))
    named = [listing.choice("place", name, checks.PLACES) for name in parts]
    places = [place for place in checks.PLACES if place in named]
    opened.shell.set_seed(seed)
    listed = listing.readable(opened, checks.paths(opened.entity.checks), checks.load)
    wanted = [check for check in listed.records if check.enabled]
    _tell(opened, list(_outcomes(opened, wanted, places, yes=yes)), listed, junit_file)


def _tell(
    opened: Opened,
    outcomes: Sequence[mind_checks.CheckOutcome],
    listed: listing.Listing[checks.Check],
    junit_file: Path | None,
) -> None:
    """Print what all checks came to, and end with the exit code that says so."""
    viewer = listing.Viewer(opened)
    outcomes = [_seen(viewer, each) for each in outcomes]
    names = [opened.identity.name, *people.names(opened).values()]
    told = mind_checks.statements(opened.entity, names, opened.zone)
    summary = mind_checks.summarize(outcomes, told)
    junk = [
        {"path": viewer.named(one.path, one.origin), "text": viewer.text(one.text, one.origin)}
        for one in told
        if not one.borne_out
    ]
    if junit_file is not None:
        report = junit(f"bumble eval {opened.identity.name}", outcomes)
        disk.write_atomic(opened.shell.path(junit_file), report)
    data = {
        "checks": [_data(each) for each in outcomes],
        "summary": asdict(summary),
        "junk": junk,
    }
    output.result(opened.shell, "eval", data, list(_lines(outcomes, summary, junk)))
    if not listed.records and not listed.broken:
        output.say(NONE)
    listing.ended(listed)
    if not all(each.passes for each in outcomes):
        raise typer.Exit(FAILED_EXIT_CODE)


def _outcomes(
    opened: Opened, wanted: Sequence[checks.Check], places: Sequence[str], *, yes: bool
) -> Iterator[mind_checks.CheckOutcome]:
    """Make checks, those of one person after another."""
    by_person: dict[str, list[checks.Check]] = {}
    for check in wanted:
        try:
            by_person.setdefault(_person(opened, check), []).append(check)
        except RecordMissingError as error:
            for place in places:
                if place in check.places:
                    made = mind_checks.outcome(check, place, ())
                    yield replace(made, problem=words.one_line(str(error)))
    for person, theirs in by_person.items():
        yield from _looked(opened, person, theirs, places)
        if checks.ANSWER in places and any(checks.ANSWER in check.places for check in theirs):
            yield from _answered(opened, person, theirs, yes=yes)


def _person(opened: Opened, check: checks.Check) -> str:
    """Return the id of who asks.

    Raises:
        RecordMissingError: If nobody is called that: what nobody asks would leak nowhere.
    """
    if not check.person:
        return opened.owner_id
    person, names = people.id_of(opened, check.person), people.names(opened)
    if person not in names and not _newest(opened, person):
        raise listing.missing("person", check.person, names.values())
    return person


def _newest(opened: Opened, person: str) -> session_files.SessionInfo | None:
    return session_files.newest(opened.entity.sessions, person, opened.shell.now())


def _looked(
    opened: Opened, person: str, theirs: Sequence[checks.Check], places: Sequence[str]
) -> Iterator[mind_checks.CheckOutcome]:
    """Make the checks that need no model."""
    if not {*places}.intersection(checks.WITHOUT_MODEL):
        return
    newest = _newest(opened, person)
    session = session_files.find(opened.entity.sessions, newest.id) if newest else None
    with conversation.open_to_look(opened, person) as talk:
        talk.runtime.memory.sync(lambda *_: None)
        for check in theirs:
            if checks.RECALL in places and checks.RECALL in check.places:
                memories = mind_checks.search(talk.runtime, talk.person.id, check)
                yield mind_checks.outcome(check, checks.RECALL, memories)
            if checks.PROMPT in places and checks.PROMPT in check.places:
                talk.begin(session_id=None, new=True)
                yield mind_checks.outcome(check, checks.PROMPT, [_prompt(talk, check)])
                if session is not None and mind_checks.covers(session, check):
                    talk.begin(session_id=session.id, new=False)
                    yield mind_checks.outcome(check, mind_checks.COMPACTED, [_prompt(talk, check)])


def _prompt(talk: conversation.Conversation, check: checks.Check) -> str:
    """Return the request that would answer a question, without the question."""
    messages = talk.look(check.ask).composed.request.messages
    return "\n".join(message.content for message in messages).replace(check.ask, " ")


def _answered(
    opened: Opened, person: str, theirs: Sequence[checks.Check], *, yes: bool
) -> Iterator[mind_checks.CheckOutcome]:
    """Make the checks of answers, each in a talk of its own that leaves no trace."""
    talking: AbstractContextManager[conversation.Conversation]
    talking = conversation.open_to_talk(opened, person, yes=yes, writes=False)
    with talking as talk:
        for check in theirs:
            if checks.ANSWER in check.places:
                talk.begin(session_id=None, new=True)
                answered = talk.answer(check.ask, lambda _: None).outcome
                if reason := talk.runtime.memory.unusable:
                    output.warn(opened.shell, f"{check.id}: nothing was recalled: {reason}")
                if answered.problem is not None:  # silence would be no leak, and no answer
                    raise answered.problem
                yield mind_checks.outcome(check, checks.ANSWER, [answered.said])


def _seen(viewer: listing.Viewer, outcome: mind_checks.CheckOutcome) -> mind_checks.CheckOutcome:
    """Return what a check came to as whoever looks may see it."""
    check = _seen_check(viewer, outcome.check)
    forbidden = viewer.texts(outcome.forbidden, outcome.check.provenance)
    problem = viewer.text(outcome.problem, outcome.check.provenance)
    return replace(outcome, check=check, forbidden=forbidden, problem=problem)


def _seen_check(viewer: listing.Viewer, check: checks.Check) -> checks.Check:
    """Return a check as whoever looks may see it: its name is made of its words."""
    origin = check.provenance
    return replace(
        check,
        id=PurePosixPath(viewer.named(checks.path(check.id), origin)).stem,
        ask=viewer.text(check.ask, origin),
        any_of=viewer.texts(check.any_of, origin),
        all_of=viewer.texts(check.all_of, origin),
    )


def _why(outcome: mind_checks.CheckOutcome) -> str:
    """Say why a check failed; empty if it did not."""
    if outcome.problem:
        return f"{checks.path(outcome.check.id)}: {outcome.problem}"
    check, parts = outcome.check, []
    if not outcome.met:
        wanted = [" or ".join(check.any_of), " and ".join(check.all_of)]
        parts.append(f"not there: {'; '.join(filter(None, wanted))}")
    if outcome.forbidden:
        parts.append(f"must not be there: {', '.join(outcome.forbidden)}")
    return "; ".join(parts)


def _data(outcome: mind_checks.CheckOutcome) -> dict[str, Any]:
    check = outcome.check
    return {
        "check": check.id,
        "path": checks.path(check.id),
        "ask": check.ask,
        "as": check.person or None,
        "of": outcome.place,
        "passes": outcome.passes,
        "rank": outcome.rank if outcome.place == checks.RECALL else None,
        "forbidden": list(outcome.forbidden),
        "why": _why(outcome) or None,
    }


def _lines(
    outcomes: Sequence[mind_checks.CheckOutcome],
    summary: mind_checks.Summary,
    junk: Sequence[dict[str, str]],
) -> Iterator[str]:
    rows = []
    for each in outcomes:
        rank = f"rank {each.rank}" if each.place == checks.RECALL and each.rank else ""
        verdict = "ok" if each.passes else "fails"
        rows.append([verdict, each.place, each.check.id, _why(each) or rank])
    yield from output.table([[printable.clean(cell) for cell in row] for row in rows])
    values = asdict(summary)
    shares = [
        [f"{values[key]:.2f}", name] for key, name in NAMES.items() if values[key] is not None
    ]
    if shares:
        yield from [""] * bool(rows)
        yield from output.table(shares)
    yield from (printable.clean(f"  {each['path']}: {each['text']}") for each in junk)


@app.command()
@edits
def draft(opened: Opened, *, limit: LimitOption = DRAFTS, dry_run: DryRunOption = False) -> None:
    """Write checks from knowledge, beliefs and episodes, to keep or to drop.

    A draft leaves one telling word out of what the entity holds and expects it back; what not
    everybody may hear is asked as somebody else too. Remove a file to drop it, or set `enabled:
    false` in it, so that it is not drafted again. Asks no model.
    """
    everybody = dict.fromkeys((opened.owner_id, *people.names(opened)))
    drafts = mind_checks.draft(opened.entity, list(everybody), opened.zone)
    made = list(islice(drafts, min(limit, sys.maxsize)))
    seen = [_seen_check(listing.Viewer(opened), check) for check in made]
    writing.commit(
        opened,
        "eval draft",
        [checks.plan_new(check, f"{len(made)} checks") for check in made],
        "\n".join(f"{checks.path(check.id)}: {check.ask}" for check in seen),
        unchanged="Nothing to draft: all that can be asked is asked already.",
        dry_run=dry_run,
        checks=[check.id for check in seen],
    )
