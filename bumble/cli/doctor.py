"""`bumble doctor`: check every file of the entity, and mend what is derived."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bumble.cli import index, output, records, weights
from bumble.cli.opening import Opened, locate, shell_of
from bumble.cli.options import EntityOption, JsonOption, LockTimeoutOption, NowOption
from bumble.cli.shell import Shell
from bumble.entity.commits import Keeping
from bumble.entity.folder import Entity
from bumble.errors import LockedError, RecordInvalidError, UserError

if TYPE_CHECKING:
    from bumble.upkeep.doctor import DoctorInput, DoctorReport
    from bumble.upkeep.findings import Finding

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
    from bumble.upkeep.doctor import DoctorInput

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
    )
    before = report = _examined(shell, inputs)
    if report.settings and report.settings.identity:
        shell.entity_name = report.settings.identity.name
    if adopt or (fix and any(finding.mends for finding in before.findings)):
        _mend(shell, inputs, why, before, lock_timeout, adopts=adopt)
        report = _examined(shell, inputs)
    left = {(one.code, one.path) for one in report.findings}
    mended = [one for one in before.findings if (one.code, one.path) not in left]
    aim = f"bumble -e {shlex.quote(str(root))} " if why == "--entity" else "bumble "
    output.result(shell, "doctor", _data(report, mended, aim), _lines(report, mended, aim))
    if report.problems:
        raise typer.Exit(RecordInvalidError.exit_code)


def _examined(shell: Shell, inputs: DoctorInput) -> DoctorReport:
    from bumble.upkeep import doctor as room

    bar = output.Progress("reading", shell.environ)
    try:
        return room.examine(inputs, bar)
    finally:
        bar.done()


def _mend(
    shell: Shell,
    inputs: DoctorInput,
    why: str,
    found: DoctorReport,
    lock_timeout: float | None,
    *,
    adopts: bool,
) -> None:
    """Put right what can be; what can't be is a warning, and found again."""
    from bumble.upkeep import doctor as room

    limits = found.settings.config.limits if found.settings else None
    waits = limits.lock_timeout_seconds if limits else DEFAULT_LOCK_TIMEOUT_SECONDS
    try:
        room.mend_files(
            inputs.entity,
            _keeping(shell, found),
            timeout_seconds=waits if lock_timeout is None else lock_timeout,
            adopts=adopts,
        )
        if any(one.code in room.INDEX_CODES for one in found.findings):
            _mend_index(shell, inputs, why, found)
    except LockedError:
        raise
    except UserError as error:
        output.warn(shell, str(error))


def _keeping(shell: Shell, found: DoctorReport) -> Keeping:
    """Return how commits are made; none where the settings can't be read."""
    autocommit = found.settings.config.git.autocommit if found.settings else False
    name = shell.entity_name or "bumble"
    return Keeping(
        autocommit,
        name,
        shell.now,
        lambda text: output.warn(shell, text),
        found.settings.trusted if found.settings else False,
    )


def _mend_index(shell: Shell, inputs: DoctorInput, why: str, found: DoctorReport) -> None:
    if found.settings is None or found.settings.identity is None:
        output.warn(shell, "The index was left as it is: mend the settings first.")
        return
    opened = Opened(shell, inputs.entity, why, found.settings, found.settings.identity)
    broken = any(one.code in ("index-unusable", "index-orphans") for one in found.findings)
    index.synced(opened, weights.embedder(opened), None, rebuild=broken)


def _lines(report: DoctorReport, mended: Sequence[Finding], aim: str) -> list[str]:
    lines = [f"mended: {_told(one)}" for one in mended]
    for one in report.findings:
        head = "note: " if one.level == "note" else ""
        lines.append(f"{head}{_told(one)} [{one.code}]")
        if one.fix:
            lines.append(f"    {_aimed(one.fix, aim)}")
    problems = len(report.problems)
    read = f"{records.counted(report.files, 'file')} read"
    lines.append(
        f"{records.counted(problems, 'problem') if problems else 'Nothing is wrong'}; {read}."
    )
    return lines


def _told(one: Finding) -> str:
    return f"{one.where}: {one.sentence}" if one.path else one.sentence


def _aimed(fix: str, aim: str) -> str:
    """Name the entity in a command of ours, if this one had to."""
    return aim + fix.removeprefix("bumble ") if fix.startswith("bumble ") else fix


def _data(report: DoctorReport, mended: Sequence[Finding], aim: str) -> dict[str, Any]:
    def data(one: Finding) -> dict[str, Any]:
        return {
            "code": one.code,
            "level": one.level,
            "path": one.path or None,
            "line": one.line,
            "said": one.sentence,
            "fix": _aimed(one.fix, aim) if one.fix else None,
            "mends": one.mends,
        }

    return {
        "clean": not report.problems,
        "findings": [data(one) for one in report.findings],
        "mended": [data(one) for one in mended],
        "files": report.files,
        "versions": dict(report.versions),
    }
