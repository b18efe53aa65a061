"""`bumble review`, `evolve`: what cycles propose, and its owner has to accept or reject."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

import typer

from bumble.cli import command, history, listing, opening, output, run_job, writing
from bumble.entity import changes, review_branch
from bumble.entity.folder import ENTITY_FILE
from bumble.errors import RefusedError, ReviewError, UsageError, UserError
from bumble.history import review as reviewing
from bumble.jobs import evolve as cycle
from bumble.records import base, fields, knowledge, proposals, provenance
from bumble.runtime import review_queue as held
from bumble.runtime import rules

app = command.group(opens=True)
NamesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[ID]...", help="Of proposals, or an end of one. Default: the only one."
    ),
]
AllOption = Annotated[bool, typer.Option("--all", help="All that wait and were made here.")]
PLANS = {"accept": reviewing.plan_accept, "reject": reviewing.plan_reject}
NONE = "Nothing waits for review."


@app.callback(invoke_without_command=True)
@command.reads
def review(opened: opening.Opened) -> None:
    """See what cycles propose, and accept or reject it.

    By itself it lists them, the newest last. Cycles that the setting git.review names write onto
    branches of their own; nothing of that is in a prompt or found before it is accepted. It is
    shown whole, with what others told in confidence: who decides has to read it.
    """
    _list(opened)


def _list(opened: opening.Opened) -> None:
    """List what waits: who proposed what, when and why. The newest is last."""

    def line(proposal: reviewing.HeldProposal) -> list[str]:
        model = proposal.commit.trailer("Model") if proposal.commit else ""
        paths = [version.path for version in proposal.versions]
        told = history.sentence(proposal.title, paths, model)
        decide = "not made here: accept or reject it by its whole name"
        if proposal.commit is None:
            decide = "decide in the clone that made it; if that is gone, reject it by its name"
        mark = "" if proposal.is_own else f" [{decide}]"
        return [proposal.name, listing.when(proposal.at, opened), f"{told}{mark}"]

    everything = listing.Listing(tuple(_waiting(opened)))
    listing.show_list(opened, "review list", everything, partial(_data, opened), line, NONE)


app.command("list")(command.reads(_list))


@app.command()
@command.reads
def show(
    opened: opening.Opened,
    names: NamesArgument = None,
    *,
    every: AllOption = False,
) -> None:
    """Show proposals in memories rather than lines: what each would change, why, and from what."""
    chosen = reviewing.choose(_waiting(opened), names or (), every=every)
    data, whole = partial(_data, opened), partial(_whole, opened)
    listing.show_list(
        opened, "review show", listing.Listing(tuple(chosen)), data, whole, NONE, whole=True
    )


def _whole(opened: opening.Opened, proposal: reviewing.HeldProposal) -> list[str]:
    data = _data(opened, proposal)
    head = f"{proposal.name}, {listing.when(proposal.at, opened)}: {proposal.title}"
    rows = [
        ("by", data["model"] or ""),
        ("from", ", ".join(data["evidence"])),
        ("why", "; ".join(data["why"])),
        ("beware", "" if proposal.is_own else "this installation did not make it"),
        *(("a rule", text) for text in data["rules"]),
    ]
    return [head, *listing.details(rows), *history.action_lines(data["changes"])]


@app.command()
@command.writes
def accept(
    opened: opening.Opened,
    names: NamesArgument = None,
    *,
    every: AllOption = False,
    dry_run: command.DryRunOption = False,
) -> None:
    """Write proposals into the folder, as commits of their own.

    They are merged by meaning: what was written to the same files since stays, or the proposal is
    refused with exit code 13. `bumble undo` takes an accepted one back.
    """
    _decide(opened, "accept", names, every=every, dry_run=dry_run)


@app.command()
@command.writes
def reject(
    opened: opening.Opened,
    names: NamesArgument = None,
    *,
    every: AllOption = False,
    dry_run: command.DryRunOption = False,
) -> None:
    """Drop proposals: nothing of them is written, and they are not made again."""
    _decide(opened, "reject", names, every=every, dry_run=dry_run)


def _decide(
    opened: opening.Opened,
    verb: str,
    names: Sequence[str] | None,
    *,
    every: bool,
    dry_run: bool,
) -> None:
    """Accept or reject one proposal after the other; one that is refused keeps no other back."""
    root = opened.entity.root
    done: list[dict[str, Any]] = []
    refused: list[UserError] = []
    lines: list[str] = []
    before = knowledge.readable(opened.entity.knowledge)
    proposals_waiting = _waiting(opened)
    for proposal in reviewing.choose(proposals_waiting, names or (), every=every):
        try:
            decision = PLANS[verb](root, proposal)
            written = [one for one in decision.change_set.changes if not held.stays(one.path)]
            versions = changes.wholes(root, written)
            if not dry_run:
                writing.apply(opened, decision.change_set, trusts=False)
        except RefusedError as error:
            refused.append(error)
            continue
        rows = history.actions(versions, provenance.EVERYTHING)
        done.append(_data(opened, proposal) | {"changes": rows, "stays": list(decision.stays)})
        title = f"{proposal.name} ({proposal.title})"
        told = f"Would {verb} {title}" if dry_run else f"{verb.title()}ed {title}"
        lines += [
            f"{told}:" if rows or decision.stays else f"{told}.",
            *history.action_lines(rows),
            *(f"  left as it is: {path}" for path in decision.stays),
        ]
    if not dry_run:
        opening.rules_from_elsewhere(opened)  # looked at while their branches are there
        held.sweep(root, timeout_seconds=opened.config.limits.lock_timeout_seconds)
        if verb == "accept":
            opening.forget_again(opened, brought_by="What was accepted")
    for title in knowledge.narrowed(before, knowledge.readable(opened.entity.knowledge)):
        output.warn(opened.shell, f"“{title}” {knowledge.NARROWED}")
    if refused and not done:
        raise refused[0]
    for refusal in refused:
        output.warn(opened.shell, str(refusal))
    data = {"dry_run": dry_run, f"{verb}ed": done, "refused": list(map(str, refused))}
    output.result(opened.shell, f"review {verb}", data, lines)
    if every and (others := [one for one in proposals_waiting if not one.is_own]):
        output.say(f"Passed over: {reviewing.passed_over(others)}.")
    if not done:
        output.say(NONE)
    elif dry_run:
        output.say("Nothing was written: --dry-run.")
    if refused:
        raise typer.Exit(refused[0].exit_code)


def _waiting(opened: opening.Opened) -> list[reviewing.HeldProposal]:
    """Return what waits, and say where the setting can't be obeyed."""
    root, cycles = opened.entity.root, ", ".join(opened.config.git.review)
    if cycles:
        try:
            review_branch.place_of(root, cycles, trusted=opened.settings.trusted)
        except ReviewError as error:
            output.warn(opened.shell, str(error))
    return reviewing.waiting(root)


def _data(opened: opening.Opened, proposal: reviewing.HeldProposal) -> dict[str, Any]:
    names = opened.config.prompt.bootstrap_files
    commit = proposal.commit
    return {
        "id": proposal.name,
        "at": proposal.at.isoformat(),
        "title": proposal.title,
        "here": commit is not None,
        "branch": f"{review_branch.FOLDER}/{proposal.name}",
        "commit": commit.id if commit else None,
        "cycle": commit.cycle if commit else None,
        "model": (commit.trailer("Model") if commit else "") or None,
        "evidence": [v for key, v in commit.trailers if key == "Evidence"] if commit else [],
        "why": list(commit.body) if commit else [],
        "own": proposal.is_own,
        "rules": [rules.line(rule) for rule in rules.brought(proposal.versions, names)],
        "changes": history.actions(proposal.versions, provenance.EVERYTHING),
    }


@command.runs_job
def evolve(
    opened: opening.Opened,
    flags: command.JobFlags,
    *,
    show: Annotated[bool, typer.Option("--show", help="Show the proposals, as diffs.")] = False,
    apply: Annotated[
        str | None, typer.Option("--apply", metavar="ID", help="Write a proposal into entity.yaml.")
    ] = None,
    reject: Annotated[
        str | None, typer.Option("--reject", metavar="ID", help="Put a proposal aside.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Look back also before a hundred interactions.")
    ] = False,
) -> None:
    """Look back on a hundred interactions, and propose small changes of who it is.

    Nothing changes before --apply.
    """
    if show + (apply is not None) + (reject is not None) > 1:
        raise UsageError("Give one of --show, --apply and --reject.")
    if show:
        _show(opened)
    elif apply is not None:
        _settle(opened, apply, proposals.APPLIED, dry_run=flags.dry_run)
    elif reject is not None:
        _settle(opened, reject, proposals.REJECTED, dry_run=flags.dry_run)
    else:
        run_job.perform(opened, flags, "evolve", partial(cycle.check, force=force), cycle.run)


def _show(opened: opening.Opened) -> None:
    """Print all proposals, the open ones as what they would change now."""
    everything = listing.readable(
        opened, proposals.PROPOSAL.files(opened.entity.evolution), proposals.PROPOSAL.load
    )
    source = base.read_text(opened.entity.file)
    lines = [line for each in everything.records for line in _lines(opened, each, source)]
    data = [_evolve_data(each, source) for each in everything.records]
    output.result(opened.shell, "evolve", data, lines[:-1])
    if not everything.records:
        output.say("No proposals. One comes every hundred interactions.")
    listing.ended(everything)


def _lines(opened: opening.Opened, proposal: proposals.Proposal, source: str) -> list[str]:
    """Show a proposal: its reasons, who may meet what it rests on, and its diff."""
    lines = [f"{proposal.id}, {listing.when(proposal.at, opened)}, {proposal.status}"]
    for item in proposal.items:
        change = f" {item.change:+.2g}" if item.change else ""
        lines.append(f"  {item.text}{change}: {item.reason} ({', '.join(item.sources)})")
    if proposal.status == proposals.OPEN:
        if audience := ", ".join(proposal.provenance.audience):
            lines.append(f"  It rests on what is only for {audience}; applied, all may read it.")
        lines += cycle.difference(source, _applied(proposal, source)).splitlines()
    return [*lines, ""]


def _settle(opened: opening.Opened, proposal_id: str, status: str, *, dry_run: bool) -> None:
    """Write a proposal into entity.yaml as it is now, or put it aside."""
    by_id = {
        proposals.PROPOSAL.stem(path): path
        for path in proposals.PROPOSAL.files(opened.entity.evolution)
    }
    proposal = proposals.PROPOSAL.load(opened.within(listing.pick(by_id, proposal_id, "proposal")))
    if proposal.status == proposals.APPLIED:
        raise RefusedError(f"{proposal.id} is applied already; `bumble undo` takes it back.")
    why, edit = f"reject {proposal.id}", None
    sentence = f"Rejected {proposal.id}; {ENTITY_FILE} stays as it is."
    if status == proposals.APPLIED:
        source, why = base.read_text(opened.entity.file), f"apply {proposal.id}"
        after = _applied(proposal, source)
        edit = changes.write(ENTITY_FILE, after, source, why) if after != source else None
        sentence = f"Applied {proposal.id}: {len(proposal.items)} small changes in {ENTITY_FILE}."
    noted = proposals.plan_decided(proposal, status, opened.now, why)
    writing.commit(opened, "evolve", [edit, noted], sentence, dry_run=dry_run, id=proposal.id)


def _applied(proposal: proposals.Proposal, source: str) -> str:
    return cycle.applied(source, cycle.items_of(proposal))


def _evolve_data(proposal: proposals.Proposal, source: str) -> dict[str, Any]:
    is_open = proposal.status == proposals.OPEN
    return {
        "id": proposal.id,
        "at": proposal.at.isoformat(),
        "status": proposal.status,
        "traits": [fields.write_struct(item) for item in proposal.traits],
        "behaviours": [fields.write_struct(item) for item in proposal.behaviours],
        "curiosity": [fields.write_struct(item) for item in proposal.topics],
        "diff": cycle.difference(source, _applied(proposal, source)) if is_open else "",
        "provenance": proposal.provenance.meta(),
    }
