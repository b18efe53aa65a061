"""`bumble doctor`: an entity looked over, and what can be mended put right."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from bumble.cli import index_place, listing, output
from bumble.cli.command import EntityOption, LockTimeoutOption, NowOption, plain
from bumble.cli.doctor import checkup
from bumble.cli.opening import locate
from bumble.cli.process import Shell
from bumble.entity.folder import Entity
from bumble.errors import RecordInvalidError
from bumble.history.findings import Finding


@plain
def doctor(
    shell: Shell,
    *,
    fix: Annotated[
        bool,
        typer.Option("--fix", help="Mend what is derived or left over; never what a file says."),
    ] = False,
    adopt: Annotated[
        bool,
        typer.Option(
            "--adopt",
            help="Mend, and finish what another installation left half done in .bumble: in a "
            "folder that you copied while it was being written.",
        ),
    ] = False,
    entity: EntityOption = None,
    lock_timeout: LockTimeoutOption = None,
    now: NowOption = None,
) -> None:
    """Check every file of the entity, and mend what is derived.

    Without --fix nothing is written. Ends with exit code 12 if something is wrong.
    """
    shell.set_now(now)
    root, why = locate(shell, entity)  # not opened: that would finish what is left half written
    before = report = _examined(shell, Entity(root))
    mends = any(finding.mends for finding in before.findings) or before.has(checkup.HALF_MERGED)
    if adopt or (fix and mends):
        checkup.mend(before, lock_timeout, adopts=adopt)
        report = _examined(shell, Entity(root))
    left = {(finding.code, finding.path) for finding in report.findings}
    mended = [finding for finding in before.findings if (finding.code, finding.path) not in left]
    aim = f"bumble -e {shlex.quote(str(root))} " if why == "--entity" else "bumble "
    output.result(shell, "doctor", _data(report, mended, aim), _lines(report, mended, aim))
    if report.problems:
        raise typer.Exit(RecordInvalidError.exit_code)


def _examined(shell: Shell, entity: Entity) -> checkup.DoctorReport:
    bar = output.Progress("reading", shell.environ)
    try:
        report = checkup.examine(shell, entity, bar, checkup.MORE_CHECKS)
    finally:
        bar.clear()
    if opened := report.checkup.opened:
        shell.entity_name = opened.identity.name
    return report


def _lines(report: checkup.DoctorReport, mended: Sequence[Finding], aim: str) -> list[str]:
    lines = [f"mended: {_sentence(finding)}" for finding in mended]
    for finding in report.findings:
        head = "note: " if finding.level == "note" else ""
        lines.append(f"{head}{_sentence(finding)} [{finding.code}]")
        if finding.fix:
            lines.append(f"    {_aimed(finding.fix, aim)}")
    index = report.checkup.index
    if index and index.server:
        orphans = listing.counted(index.orphans, "orphaned row")
        on = index_place.described(index.server)
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


def _data(report: checkup.DoctorReport, mended: Sequence[Finding], aim: str) -> dict[str, Any]:
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

    index = report.checkup.index
    return {
        "clean": not report.problems,
        "findings": [data(finding) for finding in report.findings],
        "mended": [data(finding) for finding in mended],
        "files": report.files,
        "versions": dict(report.versions),
        "index": index
        and {
            "exists": index.exists,
            "passages": index.chunks,
            "orphans": index.orphans,
            "server": index.server and dict(index.server),
        },
    }
