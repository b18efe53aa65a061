"""`bumble doctor`: the checks in their order, what they find, and what `--fix` puts right."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Annotated, Any

import typer
from msgspec import Struct
from msgspec.structs import replace

from bumble.cli import check_folder, check_records, command, index_place, output, process
from bumble.cli.models import weights
from bumble.cli.opening import Opened, locate, settle_git
from bumble.entity import changes, commits, config, settings, uncommitted
from bumble.entity.folder import Entity
from bumble.errors import LockedError, RecordInvalidError, UserError
from bumble.history import clone
from bumble.history.findings import Finding, guarded
from bumble.index.sync import IndexState
from bumble.jobs.forgetting import forget
from bumble.records import kinds
from bumble.text import moments, words

NOBODY = "bumble"  # who commits where the settings can't be read
HALF_MERGED = ("conflict-marker", "record-twice")  # what of these git brought, mending settles
INDEX_CODES = ("index-unusable", "index-orphans", "index-missing", "index-stale", "index-vectors")


class Checkup(Struct):
    """An entity that is looked at; it is not opened, which would finish what is half written."""

    opened: Opened  # as commands have it; with defaults where its settings can't be read
    is_readable: bool  # whether they can
    report_progress: check_records.ProgressCallback
    index: IndexState | None = None  # None if it can't be looked at
    findings: tuple[Finding, ...] = ()  # problems first, else in the order of the checks
    files: int = 0  # that hold records

    @property
    def problems(self) -> tuple[Finding, ...]:
        """The findings that are not mere notes."""
        return tuple(finding for finding in self.findings if finding.level == "problem")

    def has(self, *codes: str) -> bool:
        """Whether there is a finding of one of some codes."""
        return any(finding.code in codes for finding in self.findings)

    def check_index(self) -> list[Finding]:
        """Compare the index with the files."""
        here = weights.installed(self.opened.shell, weights.embedding_models(self.opened))
        self.index, found = check_folder.check_index(
            self.opened.entity,
            next((entry.name for entry in here), None),
            partial(index_place.place_of, self.opened),
        )
        return found


CHECKS: tuple[Callable[[Checkup], Iterable[Finding]], ...] = (
    lambda it: check_records.check(it.opened, it.report_progress),
    lambda it: check_records.check_prompt_files(it.opened.entity, it.opened.config.prompt),
    lambda it: check_records.check_rules(it.opened) if it.is_readable else (),
    lambda it: forget.check(it.opened.entity, it.opened.zone),
    lambda it: check_folder.check_tree(it.opened.entity),
    lambda it: check_folder.check_leftovers(it.opened.entity),
    Checkup.check_index,
    lambda it: check_folder.check_git(it.opened.entity, trusted=it.opened.settings.trusted),
)


def examine(
    shell: process.Shell,
    entity: Entity,
    report_progress: check_records.ProgressCallback = lambda done, total: None,
) -> Checkup:
    """Run every check; nothing is written, save which rules were found to be written here."""
    read, found = check_folder.check_settings(entity.file, shell.user_file, shell.environ)
    known = read or settings.load()
    identity = known.identity or config.Identity(
        schema_version=settings.SCHEMA_VERSION, name=NOBODY
    )
    opened = Opened(shell, replace(entity, approval=known.approval), "", known, identity)
    shell.entity_name = identity.name if read else None
    moments.HOME.set(opened.zone)
    checkup = Checkup(opened, read is not None, report_progress)
    found += [one for check in CHECKS for one in guarded(partial(check, checkup))]
    checkup.findings = tuple(
        sorted(dict.fromkeys(found), key=lambda finding: finding.level != "problem")
    )
    checkup.files = sum(len(list(kind.reachable(entity))) for kind in kinds.KINDS)
    return checkup


def mend(report: Checkup, lock_timeout: float | None, *, adopts: bool) -> bool:
    """Put right what can be; what can't be is a warning, and found again.

    Args:
        report: What was found.
        lock_timeout: Seconds to wait for another writer; None: what the settings say.
        adopts: Whether what another installation left half done is finished too.

    Returns:
        Whether nothing stood in the way.

    Raises:
        LockedError: If another process is writing.
    """
    opened, is_readable = report.opened, report.is_readable
    shell, root = opened.shell, opened.root
    wait = opened.config.limits.lock_timeout_seconds if lock_timeout is None else lock_timeout
    policy = replace(opened.commit_policy, autocommit=is_readable and opened.config.git.autocommit)
    try:
        settle_git(shell, root, timeout_seconds=wait)
        _mend_files(opened.entity, policy, wait, adopts=adopts)
        if report.has("git-cut-off", "git-uncommitted") or _is_half_merged(report):
            mended = clone.mend(root, policy, timeout_seconds=wait)
            if mended.lost:  # the notes of it go
                output.warn(shell, mended.sentence)
        if report.has("forgotten-back"):
            forget.forget_again(
                *(opened.entity, policy, shell.own_caches(root)),
                at=index_place.place_of(opened),
                zone=opened.zone,
                timeout_seconds=wait,
            )
        if is_readable and report.has(*INDEX_CODES):
            broken = report.has("index-unusable", "index-orphans")
            at = index_place.place_of(opened)
            index_place.synced(opened, weights.embedder(opened), at, rebuild=broken)
    except LockedError:
        raise
    except UserError as error:
        output.warn(shell, str(error))
        return False
    return True


def _mend_files(
    entity: Entity, policy: commits.CommitPolicy, timeout_seconds: float, *, adopts: bool
) -> None:
    """Finish or drop what a killed writer left, and tell git what it has to know."""
    changes.recover(entity.root, timeout_seconds=timeout_seconds)
    changes.sweep(entity.root, timeout_seconds=timeout_seconds)
    commits.catch_up(entity.root, policy, turns=True, timeout_seconds=timeout_seconds)
    if adopts:
        changes.adopt(entity.root, timeout_seconds=timeout_seconds)
        uncommitted.adopt(entity.root)
    missing = {finding.code for finding in check_folder.check_git(entity, trusted=policy.trusted)}
    if "git-driver" in missing:
        clone.install_driver(entity.root)
    for code, name, _, why in check_folder.TOLD:
        if code in missing:
            lines = check_folder.missing_lines(entity.root, name)
            named = changes.add(name, "".join(f"{line}\n" for line in lines), why)
            planned = changes.ChangeSet(f"doctor: {why}", (named,))
            commits.apply(entity.root, planned, policy, timeout_seconds=timeout_seconds)


@command.plain
def doctor(
    shell: process.Shell,
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
    entity: command.EntityOption = None,
    lock_timeout: command.LockTimeoutOption = None,
    now: command.NowOption = None,
) -> None:
    """Check every file of the entity, and mend what is derived.

    Without --fix nothing is written. Ends with exit code 12 if something is wrong.
    """
    shell.set_now(now)
    root, why = locate(shell, entity)  # not opened: that would finish what is left half written
    look = partial(examine, shell, Entity(root), partial(output.progress, "reading", shell.environ))
    before, went = look(), True
    report = before
    mends = any(finding.mends for finding in before.findings) or _is_half_merged(before)
    if adopt or (fix and mends):
        went = mend(before, lock_timeout, adopts=adopt)
        report = look()
    left = {(finding.code, finding.path) for finding in report.findings}
    mended = [finding for finding in before.findings if (finding.code, finding.path) not in left]
    aim = f"bumble -e {shlex.quote(str(root))} " if why == "--entity" else "bumble "
    output.result(
        shell, "doctor", _data(report, mended, aim), _lines(report, mended, aim, went=went)
    )
    if report.problems or not went:
        raise typer.Exit(RecordInvalidError.exit_code)


def _is_half_merged(report: Checkup) -> bool:
    """Whether git left something that merging by meaning settles."""
    return report.has(*HALF_MERGED) or clone.hears_again(report.opened.root)


def _lines(report: Checkup, mended: Sequence[Finding], aim: str, *, went: bool) -> Iterator[str]:
    yield from (f"mended: {_sentence(finding)}" for finding in mended)
    for finding in report.findings:
        head = "note: " if finding.level == "note" else ""
        yield f"{head}{_sentence(finding)} [{finding.code}]"
        if finding.fix:
            yield f"    {_aimed(finding.fix, aim)}"
    index = report.index
    if index and index.server:
        orphans = words.counted(index.orphans, "orphaned row")
        yield f"The index stands on {index_place.described(index.server)}, with {orphans}."
    problems = len(report.problems)
    read = f"{words.counted(report.files, 'file')} read"
    fine = "Nothing is wrong" if went else "--fix came to no end"
    yield f"{words.counted(problems, 'problem') if problems else fine}; {read}."


def _sentence(finding: Finding) -> str:
    return f"{finding.where}: {finding.sentence}" if finding.path else finding.sentence


def _aimed(fix: str, aim: str) -> str:
    """Name the entity in a command of ours, if this one had to."""
    return aim + fix.removeprefix("bumble ") if fix.startswith("bumble ") else fix


def _data(report: Checkup, mended: Sequence[Finding], aim: str) -> dict[str, Any]:
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

    index = report.index
    return {
        "clean": not report.problems,
        "findings": [data(finding) for finding in report.findings],
        "mended": [data(finding) for finding in mended],
        "files": report.files,
        "index": index
        and {
            "exists": index.exists,
            "passages": index.chunks,
            "orphans": index.orphans,
            "server": index.server and dict(index.server),
        },
    }
