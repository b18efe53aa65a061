"""`bumble doctor`: the checks in their order, what they find, and what `--fix` puts right."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import tzinfo
from functools import partial
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import typer
from msgspec import Struct

from bumble.cli import (
    check_machine,
    check_records,
    check_tree,
    index_place,
    output,
    setting_files,
)
from bumble.cli.command import EntityOption, LockTimeoutOption, NowOption, plain
from bumble.cli.models import weights
from bumble.cli.opening import Opened, locate, settle_git
from bumble.cli.process import Shell
from bumble.entity import changes, commits, review_branch
from bumble.entity.folder import Entity
from bumble.entity.settings import Settings
from bumble.errors import LockedError, RecordInvalidError, ReviewError, UserError
from bumble.history import clone
from bumble.history.findings import Finding, guarded
from bumble.index import place
from bumble.index.sync import IndexState
from bumble.jobs.forgetting import forget
from bumble.models.weights.catalog import CatalogEntry
from bumble.records import relationships, state
from bumble.runtime import review_queue
from bumble.text import words

DEFAULT_LOCK_TIMEOUT_SECONDS = 10.0
HALF_MERGED = ("conflict-marker", "record-twice")  # what of these git brought, mending settles
INDEX_CODES = ("index-unusable", "index-orphans", "index-missing", "index-stale", "index-vectors")
_NAMED = (
    ("git-ignores", ".gitignore", "name what is derived"),
    ("git-attributes", ".gitattributes", "name what is merged by meaning"),
)


class Checkup(Struct):
    """An entity that is looked at; it is not opened, which would finish what is half written."""

    shell: Shell
    entity: Entity
    report_progress: check_records.ProgressCallback
    settings: Settings | None = None  # None if they can't be read
    index: IndexState | None = None  # None if it can't be looked at

    @property
    def opened(self) -> Opened | None:
        """The entity as commands have it; None where its settings can't be read."""
        read = self.settings
        identity = read.identity if read else None
        return Opened(self.shell, self.entity, "", read, identity) if read and identity else None

    @property
    def zone(self) -> tzinfo:
        """The entity's time zone; UTC where its settings can't be read."""
        return self.opened.zone if self.opened else ZoneInfo("UTC")

    @property
    def trusted(self) -> bool:
        """Whether its folder is trusted."""
        return self.settings is not None and self.settings.trusted

    @property
    def index_at(self) -> place.Place:
        """Where the index stands; in the folder, where the settings can't be read."""
        read = self.settings
        return (
            index_place.place_of(self.entity, read.config.index) if read else place.of(self.entity)
        )

    @property
    def embedders(self) -> list[CatalogEntry]:
        """The embedding models that the settings ask for, the best first."""
        catalog, opened = weights.catalog_of(self.shell), self.opened
        if opened is None:
            return catalog.of_kind("embedding")
        return weights.embedding_models(opened, catalog, weights.embedded_by(opened))

    def check_settings(self) -> list[Finding]:
        """Read the settings, for all checks that follow."""
        shell = self.shell
        files = (self.entity.file, shell.user_file)
        self.settings, found = check_machine.check_settings(*files, shell.environ)
        return found

    def check_records(self) -> Iterator[Finding]:
        """Read every record."""
        owner = self.opened.identity.owner.name if self.opened else ""
        context = check_records.CheckContext(
            self.entity, self.shell.now(), self.zone, relationships.person_id(owner or "you")
        )
        return check_records.check(context, self.report_progress)

    def check_index(self) -> list[Finding]:
        """Compare the index with the files."""
        model = check_machine.embedding_model(self.embedders, self.shell.weights)
        at = partial(getattr, self, "index_at")
        self.index, found = check_machine.check_index(self.entity, model, at)
        return found

    def check_abilities(self) -> Iterator[Finding]:
        """Find languages that are spoken, and that the model isn't known to write."""
        from bumble.cli.models import abilities, chat_model

        if self.opened is None:
            return
        try:
            chosen = chat_model.choose_model(self.opened)
            if not weights.is_here(self.opened, chosen):
                return
            codes = self.opened.spoken
            standings = abilities.standings(self.opened, chosen, codes)
        except UserError:  # other checks say what is in the way
            return
        for one in standings:
            if one.language in codes and "write" not in (one.talk, one.memory):
                said, fix = f"{chosen.model}, {one.line}", "bumble model probe"
                can_be_probed = Finding("model-unprobed", said, fix=fix)
                yield can_be_probed if one.can_be_probed else Finding("model-unable", said)


def check_review(entity: Entity, read: Settings | None) -> Iterator[Finding]:
    """Check what waits for its owner's word, and whether cycles can let more wait.

    Args:
        entity: The folder.
        read: Its settings; None if they can't be read.
    """
    cycles = ", ".join(read.config.git.review) if read else ""
    if read and cycles:
        try:
            review_branch.place_of(entity.root, cycles, trusted=read.trusted)
        except ReviewError as error:
            yield Finding("review-blocked", str(error).splitlines()[0], ".")
    try:
        waiting = review_queue.waiting(entity.root)
    except RecordInvalidError:  # a finding of its own
        return
    for name in waiting:
        if review_branch.find(entity.root, name):
            waits = f"{name} waits for your word"
            yield Finding("review-waits", waits, state.PATH, fix="bumble review")
        else:
            yield Finding(
                "review-gone",
                f"{name} waits in another clone, or its branch was deleted",
                state.PATH,
                fix=f"bumble review reject {name}",
            )


CHECKS: tuple[Callable[[Checkup], Iterable[Finding]], ...] = (
    Checkup.check_settings,
    Checkup.check_records,
    lambda it: check_records.check_prompt_files(it.entity, it.settings),
    lambda it: check_records.check_rules(it.entity, it.settings),
    lambda it: forget.check(it.entity, it.zone),
    lambda it: check_tree.check(it.entity),
    lambda it: check_tree.check_leftovers(it.entity),
    Checkup.check_index,
    lambda it: check_machine.check_git(it.entity, trusted=it.trusted),
    lambda it: check_review(it.entity, it.settings),
    lambda it: check_machine.check_weights(
        it.embedders, weights.catalog_of(it.shell), it.shell.weights
    ),
    lambda it: check_machine.check_engine(),
    lambda it: check_machine.check_secrets(it.shell.secrets_file),
)
MORE_CHECKS = (*CHECKS, Checkup.check_abilities)  # which may have to ask a server


class DoctorReport(Struct, frozen=True):
    """The findings of all checks."""

    checkup: Checkup
    findings: tuple[Finding, ...]  # problems first, else in the order of the checks
    files: int  # that hold records

    @property
    def problems(self) -> tuple[Finding, ...]:
        """The findings that are not mere notes."""
        return tuple(finding for finding in self.findings if finding.level == "problem")

    def has(self, *codes: str) -> bool:
        """Whether there is a finding of one of some codes."""
        return any(finding.code in codes for finding in self.findings)


def examine(
    shell: Shell,
    entity: Entity,
    report_progress: check_records.ProgressCallback,
    checks: Iterable[Callable[[Checkup], Iterable[Finding]]] = CHECKS,
) -> DoctorReport:
    """Run every check; nothing is written, save which rules were found to be written here."""
    checkup = Checkup(shell, entity, report_progress)
    found = [finding for check in checks for finding in guarded(partial(check, checkup))]
    ordered = sorted(dict.fromkeys(found), key=lambda finding: finding.level != "problem")
    return DoctorReport(checkup, tuple(ordered), check_records.count(entity))


def mend(report: DoctorReport, lock_timeout: float | None, *, adopts: bool) -> bool:
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
    checkup, read = report.checkup, report.checkup.settings
    shell, root = checkup.shell, checkup.entity.root
    wait = read.config.limits.lock_timeout_seconds if read else DEFAULT_LOCK_TIMEOUT_SECONDS
    wait = wait if lock_timeout is None else lock_timeout
    policy = setting_files.policy_of(shell, read, unread=False)
    try:
        settle_git(shell, root, timeout_seconds=wait)
        mend_files(checkup.entity, policy, timeout_seconds=wait, adopts=adopts)
        if report.has(*HALF_MERGED, "git-cut-off"):
            clone.mend(root, policy, timeout_seconds=wait)
        if report.has("forgotten-back"):
            forget.forget_again(
                checkup.entity,
                policy,
                shell.own_caches(root),
                at=checkup.index_at,
                zone=checkup.zone,
                timeout_seconds=wait,
            )
        if report.has(*INDEX_CODES):
            _mend_index(report)
    except LockedError:
        raise
    except UserError as error:
        output.warn(shell, str(error))
        return False
    return True


def _mend_index(report: DoctorReport) -> None:
    opened = report.checkup.opened
    if opened is None:
        output.warn(report.checkup.shell, "The index was left as it is: mend the settings first.")
        return
    broken = report.has("index-unusable", "index-orphans")
    index_place.synced(opened, weights.embedder(opened), report.checkup.index_at, rebuild=broken)


def mend_files(
    entity: Entity, policy: commits.CommitPolicy, *, timeout_seconds: float, adopts: bool = False
) -> None:
    """Finish or drop what a killed writer left, and tell git what it has to know.

    Args:
        entity: The folder.
        policy: How commits are made.
        timeout_seconds: How long to wait for another writer.
        adopts: Whether what another installation left half done is finished too.

    Raises:
        LockedError: If another process is writing.
        RecordInvalidError: If the record of a cut-off change can't be read.
        FolderUnwritableError: If the system refuses a write.
    """
    changes.recover(entity.root, timeout_seconds=timeout_seconds)
    changes.sweep(entity.root, timeout_seconds=timeout_seconds)
    commits.catch_up(entity.root, policy, turns=True, timeout_seconds=timeout_seconds)
    if adopts:
        changes.adopt(entity.root, timeout_seconds=timeout_seconds)
        commits.adopt_notes(entity.root)
    missing = {finding.code for finding in check_machine.check_git(entity, trusted=policy.trusted)}
    if "git-driver" in missing:
        clone.install_driver(entity.root)
    for code, name, why in _NAMED:
        if code in missing:
            lines = check_machine.missing_lines(entity.root, name)
            named = changes.add(name, "".join(f"{line}\n" for line in lines), why)
            planned = changes.ChangeSet(f"doctor: {why}", (named,))
            commits.apply(entity.root, planned, policy, timeout_seconds=timeout_seconds)


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
    before, went = _examined(shell, Entity(root)), True
    report = before
    mends = any(finding.mends for finding in before.findings) or before.has(*HALF_MERGED)
    if adopt or (fix and mends):
        went = mend(before, lock_timeout, adopts=adopt)
        report = _examined(shell, Entity(root))
    left = {(finding.code, finding.path) for finding in report.findings}
    mended = [finding for finding in before.findings if (finding.code, finding.path) not in left]
    aim = f"bumble -e {shlex.quote(str(root))} " if why == "--entity" else "bumble "
    lines = _lines(report, mended, aim, went=went)
    output.result(shell, "doctor", _data(report, mended, aim), lines)
    if report.problems or not went:
        raise typer.Exit(RecordInvalidError.exit_code)


def _examined(shell: Shell, entity: Entity) -> DoctorReport:
    bar = output.Progress("reading", shell.environ)
    try:
        report = examine(shell, entity, bar, MORE_CHECKS)
    finally:
        bar.clear()
    if opened := report.checkup.opened:
        shell.entity_name = opened.identity.name
    return report


def _lines(report: DoctorReport, mended: Sequence[Finding], aim: str, *, went: bool) -> list[str]:
    lines = [f"mended: {_sentence(finding)}" for finding in mended]
    for finding in report.findings:
        head = "note: " if finding.level == "note" else ""
        lines.append(f"{head}{_sentence(finding)} [{finding.code}]")
        if finding.fix:
            lines.append(f"    {_aimed(finding.fix, aim)}")
    index = report.checkup.index
    if index and index.server:
        orphans = words.counted(index.orphans, "orphaned row")
        lines.append(f"The index stands on {index_place.described(index.server)}, with {orphans}.")
    problems = len(report.problems)
    read = f"{words.counted(report.files, 'file')} read"
    fine = "Nothing is wrong" if went else "--fix came to no end"
    lines.append(f"{words.counted(problems, 'problem') if problems else fine}; {read}.")
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

    index = report.checkup.index
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
