"""`bumble eval`: the owner's checks of what the entity knows, what they come to, drafts of them.

A check is held against what a memory search brings, against the next prompt or an answer. No check
asks how much of what models wrote nothing bears out, and what of a compacted talk is still within
reach.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import tzinfo
from itertools import chain, islice
from pathlib import Path, PurePosixPath
from statistics import fmean
from typing import Annotated, Any
from xml.etree import ElementTree

import typer
from msgspec import Struct
from msgspec.structs import replace

from bumble.cli import listing, output, people, writing
from bumble.cli.command import DryRunOption, LimitOption, SeedOption, YesOption, edits, group, shows
from bumble.cli.opening import Opened
from bumble.cli.talk import conversation
from bumble.entity.folder import Entity
from bumble.errors import RecordInvalidError, RecordMissingError
from bumble.files import disk
from bumble.guard import origins, values, verifier
from bumble.history import lookup
from bumble.prompt import transcript
from bumble.recall import memory_search
from bumble.records import (
    base,
    checks,
    dreams,
    kinds,
    knowledge,
    relationships,
    session_files,
    sessions,
)
from bumble.records.kind import RecordView
from bumble.text import printable, stop_words, words


def junit(suite: str, outcomes: Sequence[CheckOutcome]) -> bytes:
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
    return bytes(ElementTree.tostring(root, encoding="UTF-8", xml_declaration=True)) + b"\n"


app = group(opens=True)
FAILED_EXIT_CODE = 1
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
    """Check what the entity knows: what it finds, is shown and answers.

    Makes the checks in `checks/`. `recall` and `prompt` ask no model; `answer` does, in a talk that
    leaves no trace. Ends with exit code 1 if a check fails.
    """
    parts = filter(None, map(str.strip, of.split(",")))
    named = [listing.choice("place", name, checks.PLACES) for name in parts]
    places = [place for place in checks.PLACES if place in named]
    opened.shell.set_seed(seed)
    listed = listing.readable(opened, checks.CHECK.files(opened.entity.checks), checks.CHECK.load)
    wanted = [
        replace(check, places=tuple(place for place in places if place in check.places))
        for check in listed.records
        if check.enabled
    ]
    _tell(opened, list(_outcomes(opened, wanted, yes=yes)), listed, junit_file, places)


def _tell(
    opened: Opened,
    outcomes: Sequence[CheckOutcome],
    listed: listing.Listing[checks.Check],
    junit_file: Path | None,
    places: Sequence[str],
) -> None:
    """Print what all checks came to, and end with the exit code that says so."""
    viewer = listing.Viewer(opened)
    outcomes = [_seen(viewer, each) for each in outcomes]
    names = [opened.identity.name, *people.names(opened).values()]
    unborne, written = not_borne_out(opened.entity, names, opened.zone)
    summary = summarize(outcomes, len(unborne) / written if written else None)
    junk = [
        {"path": viewer.named(path, origin), "text": viewer.text(text, origin)}
        for path, text, origin in unborne
    ]
    if junit_file is not None:
        report = junit(f"bumble eval {opened.identity.name}", outcomes)
        disk.write_atomic(opened.shell.path(junit_file), report)
    data = {
        "checks": [_data(each) for each in outcomes],
        "summary": summary,
        "junk": junk,
    }
    output.result(opened.shell, "eval", data, list(_lines(outcomes, summary, junk)))
    if not listed.records and not listed.broken:
        output.say(
            "No checks yet. `bumble eval draft` writes some, checks/NAME.yaml takes your own."
        )
    elif not outcomes and listed.records:
        asked = " or ".join(places)
        output.say(
            f"Nothing was asked: of {words.counted(len(listed.records), 'check')} none that is"
            f" enabled says `of: {asked}`; --of chooses among {', '.join(checks.PLACES)}."
        )
    listing.ended(listed)
    if not all(each.passes for each in outcomes):
        raise typer.Exit(FAILED_EXIT_CODE)


def _outcomes(
    opened: Opened, wanted: Sequence[checks.Check], *, yes: bool
) -> Iterator[CheckOutcome]:
    """Make checks, those of one person after another."""
    by_person: dict[str, list[checks.Check]] = {}
    for check in wanted:
        try:
            # a check whose person nobody knows is a problem: asked by nobody, it would leak nowhere
            person = people.known(opened, check.person) if check.person else opened.owner_id
            by_person.setdefault(person, []).append(check)
        except RecordMissingError as error:
            for place in check.places:
                yield replace(outcome(check, place, ()), problem=words.one_line(str(error)))
    for person, theirs in by_person.items():
        if looked := [one for one in theirs if {*one.places}.intersection(checks.WITHOUT_MODEL)]:
            yield from _looked(opened, person, looked)
        if answered := [one for one in theirs if checks.ANSWER in one.places]:
            yield from _answered(opened, person, answered, yes=yes)


def _looked(opened: Opened, person: str, theirs: Sequence[checks.Check]) -> Iterator[CheckOutcome]:
    """Make the checks that need no model."""
    newest = session_files.newest(opened.entity.sessions, person, opened.shell.now())
    session = session_files.find(opened.entity.sessions, newest.id) if newest else None
    with conversation.open_to_look(opened, person) as talk:
        talk.runtime.memory.sync(lambda *_: None)
        for check in theirs:
            if checks.RECALL in check.places:
                hits = memory_search.find(
                    talk.runtime.memory,
                    talk.runtime.config,
                    memory_search.search_of(talk.runtime, (talk.person.id,)),
                    check.ask,
                    limit=check.k,
                    unasked=False,
                )
                yield outcome(check, checks.RECALL, [hit.text for hit in hits])
            if checks.PROMPT in check.places:
                talk.begin(session_id=None, new=True)
                yield outcome(check, checks.PROMPT, [_prompt(talk, check)])
                if session is not None and covers(session, check):
                    talk.begin(session_id=session.id, new=False)
                    yield outcome(check, COMPACTED, [_prompt(talk, check)])


def _prompt(talk: conversation.Conversation, check: checks.Check) -> str:
    """Return the request that would answer a question, without the question."""
    messages = talk.look(check.ask).composed.request.messages
    return "\n".join(message.content for message in messages).replace(check.ask, " ")


def _answered(
    opened: Opened, person: str, theirs: Sequence[checks.Check], *, yes: bool
) -> Iterator[CheckOutcome]:
    """Make the checks of answers, each in a talk of its own that leaves no trace."""
    with conversation.open_to_talk(opened, person, yes=yes, writes=False) as talk:
        for check in theirs:
            talk.begin(session_id=None, new=True)
            answered = talk.answer(check.ask, lambda _: None).outcome
            if reason := talk.runtime.memory.unusable:
                output.warn(opened.shell, f"{check.id}: nothing was recalled: {reason}")
            if answered.problem is not None:  # silence would be no leak, and no answer
                raise answered.problem
            yield outcome(check, checks.ANSWER, [answered.said])


def _seen(viewer: listing.Viewer, outcome: CheckOutcome) -> CheckOutcome:
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
        id=PurePosixPath(viewer.named(checks.CHECK.path(check.id), origin)).stem,
        ask=viewer.text(check.ask, origin),
        any_of=viewer.texts(check.any_of, origin),
        all_of=viewer.texts(check.all_of, origin),
    )


def _why(outcome: CheckOutcome) -> str:
    """Say why a check failed; empty if it did not."""
    if outcome.problem:
        return f"{checks.CHECK.path(outcome.check.id)}: {outcome.problem}"
    check, parts = outcome.check, []
    if not outcome.met:
        wanted = [" or ".join(check.any_of), " and ".join(check.all_of)]
        parts.append(f"not there: {'; '.join(filter(None, wanted))}")
    if outcome.forbidden:
        parts.append(f"must not be there: {', '.join(outcome.forbidden)}")
    return "; ".join(parts)


def _data(outcome: CheckOutcome) -> dict[str, Any]:
    check = outcome.check
    return {
        "check": check.id,
        "path": checks.CHECK.path(check.id),
        "ask": check.ask,
        "as": check.person or None,
        "of": outcome.place,
        "passes": outcome.passes,
        "rank": outcome.rank if outcome.place == checks.RECALL else None,
        "forbidden": list(outcome.forbidden),
        "why": _why(outcome) or None,
    }


def _lines(
    outcomes: Sequence[CheckOutcome],
    summary: Summary,
    junk: Sequence[dict[str, str]],
) -> Iterator[str]:
    rows = [
        [
            "ok" if each.passes else "fails",
            each.place,
            each.check.id,
            _why(each)
            or (f"rank {each.rank}" if each.place == checks.RECALL and each.rank else ""),
        ]
        for each in outcomes
    ]
    yield from output.table([[printable.clean(cell) for cell in row] for row in rows])
    shares = [
        [f"{summary[key]:.2f}", name] for key, name in NAMES.items() if summary[key] is not None
    ]
    if shares:
        yield from [""] * bool(rows)
        yield from output.table(shares)
    yield from (printable.clean(f"  {each['path']}: {each['text']}") for each in junk)


@app.command()
@edits
def draft(opened: Opened, *, limit: LimitOption = 20, dry_run: DryRunOption = False) -> None:
    """Write checks from knowledge, beliefs and episodes, to keep or to drop.

    A draft leaves one telling word out of what the entity holds and expects it back; what not
    everybody may hear is asked as somebody else too. Remove a file to drop it, or set `enabled:
    false` in it, so that it is not drafted again. Asks no model.
    """
    met = (one.id for one in people.everybody(opened).records if one.is_acquainted)
    drafts = drafted(opened.entity, list(dict.fromkeys((opened.owner_id, *met))), opened.zone)
    made = list(islice(drafts, min(limit, sys.maxsize)))
    seen = [_seen_check(listing.Viewer(opened), check) for check in made]
    writing.commit(
        opened,
        "eval draft",
        [checks.CHECK.plan_new(check, f"{len(made)} checks") for check in made],
        "\n".join(f"{checks.CHECK.path(check.id)}: {check.ask}" for check in seen),
        unchanged="Nothing to draft: all that can be asked is asked already.",
        dry_run=dry_run,
        checks=[check.id for check in seen],
    )


COMPACTED = "compacted"  # the prompt of the very talk whose beginning was summarised
MARKS = "-*+>[] "  # of lists and quotes
LEAST_SHARE = 0.3  # of the words of a sentence, in what it rests on: with less it is not of that


class CheckOutcome(Struct, frozen=True):
    """What a check came to in one place."""

    check: checks.Check
    place: str  # one of checks.PLACES, or COMPACTED
    met: bool  # what is expected is there
    rank: int | None  # of the first text that holds any of it, from 1; None: none does
    forbidden: tuple[str, ...]  # what is there and must not be
    problem: str = ""  # why it could not be made

    @property
    def passes(self) -> bool:
        """Whether all is as it should be."""
        return self.met and not (self.forbidden or self.problem)


Summary = Mapping[str, float | None]  # what all checks came to, in [0, 1]; None: nothing was asked


def outcome(check: checks.Check, place: str, texts: Sequence[str]) -> CheckOutcome:
    """Hold a check against some memories, best first, or against one text."""
    whole = "\n".join(texts)
    ranks = (
        rank
        for rank, text in enumerate(texts, 1)
        if any(checks.holds(text, wanted) for wanted in check.expected)
    )
    return CheckOutcome(
        check, place, check.is_met(whole), next(ranks, None), check.forbidden_in(whole)
    )


def covers(session: sessions.Session, check: checks.Check) -> bool:
    """Whether what is expected was said in a talk where now only its summary is shown."""
    summary = transcript.standing(session)
    covered = transcript.covered_messages(session, summary) if summary else ()
    told_in = {
        message.id
        for message in session.messages
        if any(checks.holds(message.text, wanted) for wanted in check.expected)
    }
    return bool(told_in) and told_in <= {message.id for message in covered}


def not_borne_out(
    entity: Entity, names: Sequence[str], zone: tzinfo
) -> tuple[list[tuple[str, str, base.Provenance]], int]:
    """Hold every sentence that a model wrote as true against what it rests on.

    Args:
        entity: Whose memory.
        names: Of the entity first, and of people; they need not have been said.
        zone: The entity's time zone.

    Returns:
        The file, the text and the origin of each that nothing said bears out; and of how many.
    """
    library = lookup.Library(entity, name=names[0], zone=zone)
    found, written = [], 0
    for item in (one for kind in kinds.KINDS if kind.claims for one in library.items(kind)):
        # what came to mind in a dream nobody has to have said
        if item.origin.model and not any(
            one.startswith(f"{dreams.DREAM.prefix}_") for one in item.sources
        ):
            said = tuple(_said(library, item))
            sources = verifier.ClaimSources(said, names=tuple(names), zone=zone)
            texts = ["\n".join(one.text for one in said)]
            lines = _unmarked(item.text).splitlines()
            sentences = chain.from_iterable(map(words.sentences, lines))
            for sentence in (one for one in sentences if item.origin.of_sentence(one).model):
                written += 1
                is_of_them = origins.share(sentence, texts, names) >= LEAST_SHARE
                if not is_of_them or verifier.check_prose(sentence, sources) != verifier.KEPT:
                    found.append((item.path, sentence, item.origin))
    return found, written


def _said(library: lookup.Library, item: lookup.LibraryRecord) -> Iterator[verifier.Said]:
    """Yield the messages that a record rests on, through others too, each once."""
    seen, waiting = {item.id}, list(item.sources)
    while waiting:
        if (record_id := waiting.pop()) in seen:
            continue
        seen.add(record_id)
        with suppress(RecordInvalidError):  # doctor tells of it
            source, talk = library.source(record_id), library.messages.session(record_id)
            waiting += [message.id for message in talk.messages] if talk else []
            waiting += source.sources if source else ()
            if source and source.kind == lookup.MESSAGE and source.at:
                yield verifier.Said(source.id, source.at, source.speaker, source.text)


def summarize(outcomes: Sequence[CheckOutcome], junk_rate: float | None) -> Summary:
    """Sum up what all checks came to."""
    expecting = [each for each in outcomes if each.check.expected]
    searched = [each for each in expecting if each.place == checks.RECALL]
    guarded = [each for each in outcomes if each.check.never]
    return {
        "recall_at_k": _mean([each.met for each in searched]),
        "mrr": _mean([1 / each.rank if each.rank else 0 for each in searched]),
        "in_prompt": _mean([each.met for each in expecting if each.place == checks.PROMPT]),
        "answered": _mean([each.passes for each in expecting if each.place == checks.ANSWER]),
        "leak_rate": _mean([bool(each.forbidden) for each in guarded]),
        "compaction_survival": _mean([each.met for each in expecting if each.place == COMPACTED]),
        "junk_rate": junk_rate,
    }


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


BY = "eval draft"
# A portrait is how the entity sees somebody, which no check can ask for.
DRAFTED = tuple(kind for kind in kinds.KINDS if kind.claims and kind is not relationships.PERSON)
GAP = "…"
LEAST_WORDS = 3  # left in a question
LEAST_LETTERS, LEAST_DIGITS = 4, 3  # of a word, and of a number; a prompt has days and hours
MAX_ASK_CHARS = 200

NAME_WORDS = 6  # of a question, in the name of its file


# What the entity holds, its first sentence, and whether it is a section of knowledge: then its
# title asks for it, and it rests on what it names.
Source = tuple[RecordView, str, bool]


def drafted(entity: Entity, people: Sequence[str], zone: tzinfo) -> Iterator[checks.Check]:
    """Yield checks for what the entity holds; those whose file is there already are left out.

    Args:
        entity: Whose memory.
        people: Ids of all who talk with it, the owner first.
        zone: The entity's time zone.
    """
    there = {path.stem for path in checks.CHECK.files(entity.checks)}
    sources = list(_sources(entity, zone))
    frequency = Counter(
        word for _, sentence, _ in sources for word in set(stop_words.telling_words(sentence))
    )
    for source in sources:
        for check in _checks(source, people, frequency):
            if check.id not in there:
                there.add(check.id)
                yield check


def _sources(entity: Entity, zone: tzinfo) -> Iterator[Source]:
    for kind in DRAFTED:
        for path in kind.paths(entity):
            for view in kind.read(path, zone):
                sentences = words.sentences(_unmarked(view.text))
                if sentences and (view.origin.by or kind.own_words):
                    yield view, sentences[0], kind is knowledge.KNOWLEDGE


def _unmarked(text: str) -> str:
    """Return a text without its headings and the marks of its lines."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return "\n".join(line.lstrip(MARKS) for line in lines)


def _checks(
    source: Source, people: Sequence[str], frequency: Counter[str]
) -> Iterator[checks.Check]:
    """Yield the check of a sentence, and one for a person who may not hear it."""
    view, sentence, is_section = source
    in_title = set(stop_words.telling_words(view.id)) if is_section else set()
    candidates = [
        word
        for word in stop_words.telling_words(sentence)
        if word not in in_title
        and len(word) >= (LEAST_DIGITS if word.isdigit() else LEAST_LETTERS)
        and not (word.isdecimal() and int(word) in values.YEARS)
    ]
    if not candidates:
        return
    # what tells most is a number, else a rare and long word
    wanted = max(candidates, key=lambda word: (word.isdigit(), -frequency[word], len(word)))
    left = re.sub(stop_words.name_pattern(wanted), GAP, sentence, flags=re.IGNORECASE)
    ask = view.id if is_section else words.shorten(left, MAX_ASK_CHARS, at_word=True)
    if len(stop_words.telling_words(ask)) < LEAST_WORDS and not is_section:
        return
    rests_on = view.sources if is_section else (view.id,)
    audience = view.origin.audience
    asker = next((person for person in people if base.may_read(audience, (person,))), "")
    origin = base.Provenance(by=BY, sources=rests_on, trust=view.origin.trust, audience=audience)
    name = disk.file_name(" ".join(stop_words.telling_words(ask)[:NAME_WORDS]))
    if asker:
        yield checks.new(name, ask, person=asker, expect=(wanted,), provenance=origin)
    if stranger := next((one for one in people if not base.may_read(audience, (one,))), ""):
        yield checks.new(
            f"{name}-not-{stranger}", ask, person=stranger, never=(wanted,), provenance=origin
        )
