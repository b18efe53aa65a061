"""`bumble doctor`: check every file of the entity; `--fix` mends what is derived."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec.structs import replace

from bumble.cli import index_place, listing, output
from bumble.cli.models import weights
from bumble.cli.opening import Opened, locate, shell_of
from bumble.cli.options import EntityOption, JsonOption, LockTimeoutOption, NowOption
from bumble.cli.process import Shell
from bumble.entity.commits import CommitPolicy
from bumble.entity.folder import Entity
from bumble.errors import LockedError, RecordInvalidError, UserError
from bumble.history.findings import Finding

if TYPE_CHECKING:
    from bumble.cli.doctor.checkup import DoctorInput, DoctorReport
    from bumble.cli.models.abilities import ModelStanding

HALF_MERGED = "conflict-marker"  # what of these git brought, `--fix` settles
app = typer.Typer(rich_markup_mode=None)
DEFAULT_LOCK_TIMEOUT_SECONDS = 10.0
FixOption = Annotated[
    bool,
    typer.Option("--fix", help="Mend what is derived or left over; never what a file says."),
]
AdoptOption = Annotated[
    bool,
    typer.Option(
        "--adopt",
        help="Mend, and finish what another installation left half done in .bumble: in a folder "
        "that you copied while it was being written.",
    ),
]


@app.command()
def doctor(
    ctx: typer.Context,
    *,
    fix: FixOption = False,
    adopt: AdoptOption = False,
    entity: EntityOption = None,
    lock_timeout: LockTimeoutOption = None,
    now: NowOption = None,
    json: JsonOption = False,
) -> None:
    """Check every file of the entity, and mend what is derived.

    Without --fix nothing is written. Ends with exit code 12 if something is wrong.
    """
    from bumble.cli.doctor.checkup import DoctorInput

    shell = shell_of(ctx)
    shell.set_now(now)
    root, why = locate(shell, entity)  # not opened: that would finish what is left half written
    catalog = weights.catalog_of(shell)
    inputs = DoctorInput(
        Entity(root),
        shell.now(),
        shell.environ,
        shell.user_file,
        shell.secrets_file,
        shell.weights,
        catalog,
        index_place.place_of,
        weights.embedders_of(shell, Entity(root), catalog),
    )
    before = report = _examined(shell, inputs)
    if report.settings and report.settings.identity:
        shell.entity_name = report.settings.identity.name
    mends = any(finding.mends or finding.code == HALF_MERGED for finding in before.findings)
    if adopt or (fix and mends):
        _mend(shell, inputs, why, before, lock_timeout, adopts=adopt)
        report = _examined(shell, inputs)
    left = {(finding.code, finding.path) for finding in report.findings}
    mended = [finding for finding in before.findings if (finding.code, finding.path) not in left]
    aim = f"bumble -e {shlex.quote(str(root))} " if why == "--entity" else "bumble "
    output.result(shell, "doctor", _data(report, mended, aim), _lines(report, mended, aim))
    if report.problems:
        raise typer.Exit(RecordInvalidError.exit_code)


def _examined(shell: Shell, inputs: DoctorInput) -> DoctorReport:
    from bumble.cli.doctor import checkup

    bar = output.Progress("reading", shell.environ)
    try:
        report = checkup.examine(inputs, bar)
    finally:
        bar.clear()
    return replace(report, findings=(*report.findings, *_abilities(shell, inputs, report)))


def _abilities(shell: Shell, inputs: DoctorInput, report: DoctorReport) -> list[Finding]:
    """Find languages that are spoken, and that the model isn't known to write."""
    from bumble.cli import runtimes
    from bumble.cli.models import abilities, chat_model
    from bumble.runtime import spoken

    if report.settings is None or report.settings.identity is None:
        return []
    opened = Opened(shell, inputs.entity, "", report.settings, report.settings.identity)
    try:
        chosen = chat_model.choose_model(opened)
        if not weights.is_here(opened, chosen):
            return []
        with runtimes.open_runtime(opened, "doctor", needs_model=False) as runtime:
            codes = spoken.latest(runtime)
        trusted = abilities.standings(opened, chosen, codes)
    except UserError:  # other checks say what is in the way
        return []
    return [
        _unable(chosen.model, one)
        for one in trusted
        if one.language in codes and "write" not in (one.talk, one.memory)
    ]


def _unable(model: str, standing: ModelStanding) -> Finding:
    if standing.can_be_probed:
        return Finding("model-unprobed", f"{model}, {standing.line}", fix="bumble model probe")
    return Finding("model-unable", f"{model}, {standing.line}")


def _mend(
    shell: Shell,
    inputs: DoctorInput,
    why: str,
    report: DoctorReport,
    lock_timeout: float | None,
    *,
    adopts: bool,
) -> None:
    """Put right what can be; what can't be is a warning, and found again."""
    from bumble.cli.doctor import checkup
    from bumble.history import clone
    from bumble.jobs.forgetting import returned

    limits = report.settings.config.limits if report.settings else None
    waits = limits.lock_timeout_seconds if limits else DEFAULT_LOCK_TIMEOUT_SECONDS
    try:
        checkup.mend_files(
            inputs.entity,
            _keeping(shell, report),
            timeout_seconds=waits if lock_timeout is None else lock_timeout,
            adopts=adopts,
        )
        if any(finding.code in (HALF_MERGED, "git-cut-off") for finding in report.findings):
            clone.mend(
                inputs.entity.root,
                _keeping(shell, report),
                timeout_seconds=waits if lock_timeout is None else lock_timeout,
            )
        if any(finding.code == "forgotten-back" for finding in report.findings):
            returned.forget_again(
                inputs.entity,
                _keeping(shell, report),
                shell.own_caches(inputs.entity.root),
                at=inputs.index_at(report.settings),
                zone=checkup.zone_of(report.settings),
                timeout_seconds=waits if lock_timeout is None else lock_timeout,
            )
        if any(finding.code in checkup.INDEX_CODES for finding in report.findings):
            _mend_index(shell, inputs, why, report)
    except LockedError:
        raise
    except UserError as error:
        output.warn(shell, str(error))


def _keeping(shell: Shell, report: DoctorReport) -> CommitPolicy:
    """Return how commits are made; none where the settings can't be read."""
    autocommit = report.settings.config.git.autocommit if report.settings else False
    name = shell.entity_name or "bumble"
    return CommitPolicy(
        autocommit,
        name,
        shell.now,
        lambda text: output.warn(shell, text),
        report.settings.trusted if report.settings else False,
    )


def _mend_index(shell: Shell, inputs: DoctorInput, why: str, report: DoctorReport) -> None:
    if report.settings is None or report.settings.identity is None:
        output.warn(shell, "The index was left as it is: mend the settings first.")
        return
    opened = Opened(shell, inputs.entity, why, report.settings, report.settings.identity)
    broken = any(finding.code in ("index-unusable", "index-orphans") for finding in report.findings)
    at = index_place.place_of(opened.entity, opened.config.index)
    index_place.synced(opened, weights.embedder(opened), at, rebuild=broken)


def _lines(report: DoctorReport, mended: Sequence[Finding], aim: str) -> list[str]:
    lines = [f"mended: {_sentence(finding)}" for finding in mended]
    for finding in report.findings:
        head = "note: " if finding.level == "note" else ""
        lines.append(f"{head}{_sentence(finding)} [{finding.code}]")
        if finding.fix:
            lines.append(f"    {_aimed(finding.fix, aim)}")
    if report.index and report.index.server:
        orphans = listing.counted(report.index.orphans, "orphaned row")
        on = index_place.described(report.index.server)
        lines.append(f"The index stands on {on}, with {orphans}.")
    problems = len(report.problems)
    read = f"{listing.counted(report.files, 'file')} read"
    lines.append(
        f"{listing.counted(problems, 'problem') if problems else 'Nothing is wrong'}; {read}."
    )
    return lines


def _sentence(finding: Finding) -> str:
    return f"{finding.where}: {finding.sentence}" if finding.path else finding.sentence


def _aimed(fix: str, aim: str) -> str:
    """Name the entity in a command of ours, if this one had to."""
    return aim + fix.removeprefix("bumble ") if fix.startswith("bumble ") else fix


def _data(report: DoctorReport, mended: Sequence[Finding], aim: str) -> dict[str, Any]:
    def data(finding: Finding) -> dict[str, Any]:
        return {
            "code": finding.code,
            "level": finding.level,
            "path": finding.path or None,
            "line": finding.line,
            "said": finding.sentence,
            "fix": _aimed(finding.fix, aim) if finding.fix else None,
            "mends": finding.mends,
        }

    return {
        "clean": not report.problems,
        "findings": [data(finding) for finding in report.findings],
        "mended": [data(finding) for finding in mended],
        "files": report.files,
        "versions": dict(report.versions),
        "index": report.index
        and {
            "exists": report.index.exists,
            "passages": report.index.chunks,
            "orphans": report.index.orphans,
            "server": report.index.server and dict(report.index.server),
        },
    }
