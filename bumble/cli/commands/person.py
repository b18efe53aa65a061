"""`bumble person`: list, show, add, edit and forget the people the entity knows."""

from __future__ import annotations

import secrets
import shlex
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import asdict

from bumble.cli import commit, index_place, listing, output, text_input
from bumble.cli.command import DryRunOption, YesOption, group, looks_back, writes
from bumble.cli.commands import people
from bumble.cli.listing import when
from bumble.cli.opening import Opened
from bumble.entity import review_branch
from bumble.errors import RecordExistsError, RecordInvalidError
from bumble.files import git
from bumble.records import relationships

app = group()
NameArgument = people.PEOPLE.argument
people.PEOPLE.offers(app, looks_back, list="List the people it knows.")


@app.command()
@looks_back
def show(
    opened: Opened,
    name: NameArgument,
) -> None:
    """Show how the entity sees a person, and how the two stand."""
    from bumble.runtime import people as standings
    from bumble.runtime import spoken

    person = listing.Viewer(opened).seen(people.find(opened, name))
    language = spoken.by_person(
        opened.entity, opened.config.language, person.id, opened.shell.now()
    )
    bond = standings.standing(person, opened.shell.now())
    scores = asdict(person.scores).items()
    rows = [
        ("bond", bond.line),
        ("language", language + (", as set" if person.language else "")),
        ("names", ", ".join(person.names or (person.id,))),
        ("scores", ", ".join(f"{score} {value:.2f}" for score, value in scores)),
        ("talks", str(person.interaction_count)),
        ("met", when(person.first_met, opened)),
        ("last talk", when(person.last_interaction, opened)),
        ("reflected", when(person.last_reflection, opened)),
        ("dynamic", person.dynamic),
        ("topics", ", ".join(person.topics)),
        ("unresolved", "; ".join(person.unresolved)),
        *(("pending", note.text) for note in person.pending),
        ("drawn from", person.portrait_source),
    ]
    text = [f"# {person.name}", "", person.text or "No portrait yet."]
    silence = bond.silence
    health = {
        "stage": bond.stage,
        "health": round(bond.health, 4),
        "trajectory": bond.trajectory or None,
        "silence_seconds": None if silence is None else int(silence.total_seconds()),
    }
    people.PEOPLE.show(opened, person, (text, rows, ()), language=language, bond=health)


@app.command()
@writes
def add(
    opened: Opened,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the person is called.")],
    text: text_input.TextArgument = None,
    *,
    also: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Another name the person goes by; may be repeated."),
    ] = None,
    editor: text_input.EditorOption = False,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
) -> None:
    """Introduce somebody; TEXT is the portrait the entity begins with."""
    names = [text_input.one_line(label, "name") for label in (name, *(also or ()))]
    known = people.everybody(opened).records
    match = next(filter(None, (relationships.match(known, name) for name in names)), None)
    if match is not None:
        raise RecordExistsError(
            Path(relationships.path(match.id)),
            f"{match.name} is called that already. Change it with `bumble person edit`.",
        )
    for label in names:
        like = relationships.alike(known, label)
        if like is not None:
            question = f"{like.name} is known. Is {label} somebody else?"
            advice = f"Introduce them with --yes; if they are one, say {like.name}."
            commit.confirm(opened.shell, question, advice, yes=yes)
    person = relationships.new(names[0], opened.now)
    with text_input.collect(
        opened.shell, text, in_editor=editor, name=f"{person.id}.md", required=False
    ) as portrait:
        why = f"get to know {names[0]}"
        spelt = tuple(dict.fromkeys(names)) if also else None
        whole = relationships.plan_update(person, why, names=spelt, text=portrait or None)
        planned = [relationships.plan_new(person, why), whole]
        commit.commit(
            opened, "person add", planned, f"Added {names[0]}.", dry_run=dry_run, id=person.id
        )


people.PEOPLE.offers(
    app, edit="Edit a person's file in $VISUAL or $EDITOR: portrait, names, scores."
)


@app.command()
@writes
def forget(
    opened: Opened,
    name: NameArgument,
    *,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
) -> None:
    """Forget a person: what they said, their portrait, and what rests on it alone.

    The one command that rewrites conversations. What others share loses the name; what may still
    tell of them is named as undecided. Earlier versions in git are not touched.
    """
    from bumble.jobs.forgetting import forget
    from bumble.jobs.forgetting import forget as forgetting

    listing = people.everybody(opened)
    if listing.broken:
        raise typer.Exit(RecordInvalidError.exit_code)  # told already; nothing may be half done
    person = relationships.match(listing.records, name)
    names = (name, *(person.names if person else ()))
    person_id = person.id if person else people.id_of(opened, name)
    plan = forgetting.plan(opened.entity, person_id, names, opened.zone)
    caches = opened.shell.own_caches(opened.entity.root)
    if plan.changes and not dry_run:
        question = f"Forget {names[-1] if not person else person.name}: {plan.summary}?"
        commit.confirm(opened.shell, question, "Say --yes, or look first with --dry-run.", yes=yes)
        # first: after a kill nobody would come back to it
        forget.drop_caches(opened.entity, caches)
    sentence = f"Forgot {name}: {plan.summary}."
    key = secrets.token_hex(16)  # nobody may foresee it
    record = forgetting.plan_record(plan, opened.shell.now(), key) if plan.changes else None
    commit.commit(
        opened,
        "person forget",
        (*plan.changes, record),
        sentence,
        unchanged=f"Nothing to do: there is nothing of {name}.",
        dry_run=dry_run,
        id=person_id,
        counts=plan.counts,
        mentions=list(plan.mentions),
        undecided=[asdict(entry) for entry in plan.undecided],
    )
    if plan.changes and not dry_run:
        forget.drop_caches(opened.entity, caches)
        at = index_place.place_of(opened.entity, opened.config.index)
        identity = opened.identity
        for left in forget.scrub_traces(
            opened.entity, [plan], at, name=identity.name, zone=opened.zone
        ):
            output.say(left)
        _tell_of_copies(opened)
    for entry in plan.undecided:
        output.say(f"undecided: {entry.path}: {entry.reason}.")


def _tell_of_copies(opened: Opened) -> None:
    """Say what still holds the old bytes, and how git is made to drop them."""
    place = git.at(opened.entity.root)
    if place is None:
        output.say("Copies of the folder elsewhere still hold the old bytes.")
        return
    where = f"git -C {shlex.quote(str(place.repository.top))}"
    branch = (git.run(opened.entity.root, "branch", "--show-current") or "").strip() or "main"
    others = "".join(f" {one}" for one in review_branch.branches(opened.entity.root))
    output.say(
        "git's history still holds the old bytes. This begins it anew with the folder as it is,\n"
        "and drops all earlier versions; clones and servers have to be made anew, too:\n"
        f"    {where} checkout --orphan afresh && {where} commit -am 'begin anew' &&\n"
        f"    {where} branch -D {branch}{others} && {where} branch -m {branch} &&\n"
        f"    {where} reflog expire --expire=now --all && {where} gc --prune=now"
    )
