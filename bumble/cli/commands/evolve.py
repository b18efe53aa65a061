"""`bumble evolve`: small changes the entity proposes of itself, which its owner applies or not."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from bumble.cli import commit, listing, output, run_job
from bumble.cli.entity_command import runs_job
from bumble.cli.opening import Opened
from bumble.cli.run_job import JobFlags
from bumble.entity import changes
from bumble.entity.folder import ENTITY_FILE
from bumble.errors import RefusedError, UsageError
from bumble.jobs import evolve
from bumble.records import base, proposals
from bumble.records.proposals import Proposal

app = typer.Typer(rich_markup_mode=None)
ShowOption = Annotated[bool, typer.Option("--show", help="Show the proposals, as diffs.")]
ApplyOption = Annotated[
    str | None, typer.Option("--apply", metavar="ID", help="Write a proposal into entity.yaml.")
]
RejectOption = Annotated[
    str | None, typer.Option("--reject", metavar="ID", help="Put a proposal aside.")
]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Look back also before a hundred interactions.")
]
NONE = "No proposals. One comes every hundred interactions."


@app.command()
@runs_job
def command(
    opened: Opened,
    flags: JobFlags,
    *,
    show: ShowOption = False,
    apply: ApplyOption = None,
    reject: RejectOption = None,
    force: ForceOption = False,
) -> None:
    """Look back on a hundred interactions, and propose small changes of who it is.

    Nothing changes before --apply.
    """
    if show + (apply is not None) + (reject is not None) > 1:
        raise UsageError("Give one of --show, --apply and --reject.")
    if show:
        _show(opened)
    elif apply is not None:
        _apply(opened, _find(opened, apply), dry_run=flags.dry_run)
    elif reject is not None:
        _reject(opened, _find(opened, reject), dry_run=flags.dry_run)
    else:
        _propose(opened, flags, force=force)


def _propose(opened: Opened, flags: JobFlags, *, force: bool) -> None:
    from bumble.cli import runtimes

    with runtimes.open_runtime(opened, "evolve", yes=flags.yes) as runtime:
        run_job.carry_out(
            opened, runtime, "evolve", partial(evolve.check, force=force), evolve.run, flags
        )


def _show(opened: Opened) -> None:
    """Print all proposals, the open ones as what they would change now."""
    paths = proposals.paths(opened.entity.evolution)
    everything = listing.readable(opened, paths, proposals.load)
    source = base.read_text(opened.entity.file)
    lines = [line for each in everything.records for line in _lines(opened, each, source)]
    data = [_data(each, source) for each in everything.records]
    output.result(opened.shell, "evolve", data, lines[:-1])
    if not everything.records:
        output.say(NONE)
    listing.ended(everything)


def _lines(opened: Opened, proposal: Proposal, source: str) -> list[str]:
    """Show a proposal: its reasons, who may meet what it rests on, and its diff."""
    lines = [f"{proposal.id}, {listing.when(proposal.at, opened)}, {proposal.status}"]
    for item in proposal.items:
        change = f" {item.change:+.2g}" if item.change else ""
        lines.append(f"  {item.text}{change}: {item.reason} ({', '.join(item.sources)})")
    if proposal.status == proposals.OPEN:
        audience = ", ".join(proposal.provenance.audience)
        if audience:
            lines.append(f"  It rests on what is only for {audience}; applied, all may read it.")
        lines += evolve.difference(source, _applied(proposal, source)).splitlines()
    return [*lines, ""]


def _apply(opened: Opened, proposal: Proposal, *, dry_run: bool) -> None:
    """Write a proposal into entity.yaml as it is now."""
    if proposal.status == proposals.APPLIED:
        raise RefusedError(f"{proposal.id} is applied already; `bumble undo` takes it back.")
    source = base.read_text(opened.entity.file)
    after = _applied(proposal, source)
    why = f"apply {proposal.id}"
    edit = changes.write(ENTITY_FILE, after, source, why) if after != source else None
    noted = proposals.plan_decided(
        proposal, proposals.APPLIED, opened.shell.now().astimezone(opened.zone), why
    )
    sentence = f"Applied {proposal.id}: {len(proposal.items)} small changes in {ENTITY_FILE}."
    commit.commit(opened, "evolve", [edit, noted], sentence, dry_run=dry_run, id=proposal.id)


def _reject(opened: Opened, proposal: Proposal, *, dry_run: bool) -> None:
    if proposal.status == proposals.APPLIED:
        raise RefusedError(f"{proposal.id} is applied already; `bumble undo` takes it back.")
    at = opened.shell.now().astimezone(opened.zone)
    planned = [proposals.plan_decided(proposal, proposals.REJECTED, at, f"reject {proposal.id}")]
    sentence = f"Rejected {proposal.id}; {ENTITY_FILE} stays as it is."
    commit.commit(opened, "evolve", planned, sentence, dry_run=dry_run, id=proposal.id)


def _applied(proposal: Proposal, source: str) -> str:
    return evolve.applied(source, evolve.items_of(proposal))


def _find(opened: Opened, proposal_id: str) -> Proposal:
    by_id: dict[str, Path] = {
        proposals.PROPOSAL.stem(path): path for path in proposals.paths(opened.entity.evolution)
    }
    return proposals.load(opened.within(listing.pick(by_id, proposal_id, "proposal")))


def _data(proposal: Proposal, source: str) -> dict[str, Any]:
    is_open = proposal.status == proposals.OPEN
    return {
        "id": proposal.id,
        "at": proposal.at.isoformat(),
        "status": proposal.status,
        "traits": [item.meta() for item in proposal.traits],
        "behaviours": [item.meta() for item in proposal.behaviours],
        "curiosity": [item.meta() for item in proposal.topics],
        "diff": evolve.difference(source, _applied(proposal, source)) if is_open else "",
        "provenance": proposal.provenance.meta(),
    }
