"""The order of doctor's checks, and `--fix`: which findings are mended, and how.

`examine` looks, `mend_files` puts right what killed writers left and what git has to be told.
Neither touches what a record says. Bringing the index up to date needs an embedder, so it is the
caller's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

from msgspec import Struct

from bumble.cli.doctor import check_machine, check_records, check_tree
from bumble.cli.doctor.check_records import CheckContext, ProgressCallback
from bumble.entity import changes, commits, git_operations, review_branch
from bumble.entity.changes import ChangeSet
from bumble.entity.commits import CommitPolicy
from bumble.entity.config import IndexConfig
from bumble.entity.folder import Entity
from bumble.entity.settings import Settings
from bumble.errors import RecordInvalidError, ReviewError
from bumble.files import disk, git
from bumble.history import driver
from bumble.history.findings import Finding, guarded
from bumble.index import place
from bumble.index.place import Place
from bumble.index.sync import IndexState
from bumble.jobs.forgetting import returned
from bumble.models.weights.catalog import Catalog, CatalogEntry
from bumble.records import relationships, state
from bumble.runtime import review_queue


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
            yield Finding(
                "review-waits", f"{name} waits for your word", state.PATH, fix="bumble review"
            )
        else:
            sentence = f"{name} waits in another clone, or its branch was deleted"
            yield Finding("review-gone", sentence, state.PATH, fix=f"bumble review reject {name}")


INDEX_CODES = ("index-unusable", "index-orphans", "index-missing", "index-stale", "index-vectors")
_NAMED = (
    ("git-ignores", ".gitignore", "name what is derived"),
    ("git-attributes", ".gitattributes", "name what is merged by meaning"),
)


class DoctorInput(Struct, frozen=True):
    """What the checks read: an entity, and what of this machine concerns it."""

    entity: Entity
    now: datetime
    environ: Mapping[str, str]
    user_file: Path  # the user's own settings
    secrets_file: Path  # the user's keys
    weights: Path  # the folder of weights
    catalog: Catalog
    index_place: Callable[[Entity, IndexConfig], Place]  # where settings have an index stand
    embedders: Callable[[Settings], Sequence[CatalogEntry]]  # that settings ask for, best first

    def index_at(self, read: Settings | None) -> Place:
        """Return where the index stands; in the folder, where the settings can't be read."""
        return self.index_place(self.entity, read.config.index) if read else place.of(self.entity)


class DoctorReport(Struct, frozen=True):
    """The findings of all checks."""

    findings: tuple[Finding, ...]  # problems first, else in the order of the checks
    settings: Settings | None  # None if they can't be read
    files: int  # that hold records
    versions: Mapping[str, str | None]  # of what runs here
    index: IndexState | None  # None if it can't be looked at

    @property
    def problems(self) -> tuple[Finding, ...]:
        """The findings that are not mere notes."""
        return tuple(finding for finding in self.findings if finding.level == "problem")


def examine(inputs: DoctorInput, report_progress: ProgressCallback) -> DoctorReport:
    """Run every check; nothing is written, save which rules were found to be written here.

    Args:
        inputs: What to check.
        report_progress: Hears how far it is.
    """
    entity = inputs.entity
    read, findings = check_machine.check_settings(entity.file, inputs.user_file, inputs.environ)
    wanted = inputs.embedders(read) if read else inputs.catalog.of_kind("embedding")
    model = check_machine.embedding_model(wanted, inputs.weights)
    context = CheckContext(entity, inputs.now, zone_of(read), _owner(read))
    index: list[IndexState | None] = [None]

    def check_index() -> Sequence[Finding]:
        index[0], found = check_machine.check_index(entity, model, partial(inputs.index_at, read))
        return found

    prompt = partial(check_records.check_prompt_files, entity, read.config.prompt) if read else list
    trusted = read.trusted if read else False
    checks: tuple[Callable[[], Iterable[Finding]], ...] = (
        partial(check_records.check, context, report_progress),
        prompt,
        partial(check_records.check_rules, entity, read) if read else list,
        partial(returned.check, entity, context.zone),
        partial(check_tree.check, entity),
        partial(check_tree.check_leftovers, entity),
        check_index,
        partial(check_machine.check_git, entity, trusted=trusted),
        partial(check_review, entity, read),
        partial(check_machine.check_weights, wanted, inputs.catalog, inputs.weights),
        check_machine.check_engine,
        partial(check_machine.check_secrets, inputs.secrets_file),
    )
    for check in checks:
        findings += guarded(check)
    findings = sorted(dict.fromkeys(findings), key=lambda finding: finding.level != "problem")
    return DoctorReport(
        tuple(findings), read, check_records.count(entity), check_machine.versions(), index[0]
    )


def zone_of(read: Settings | None) -> tzinfo:
    """Return the entity's time zone; UTC where its settings can't be read."""
    zone_name = read.identity.timezone if read and read.identity else "UTC"
    return ZoneInfo(zone_name)


def _owner(read: Settings | None) -> str:
    name = read.identity.owner.name if read and read.identity else ""
    return relationships.person_id(name or "you")


def mend_files(
    entity: Entity, policy: CommitPolicy, *, timeout_seconds: float, adopts: bool = False
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
    place = git.at(entity.root, trusted=policy.trusted)
    if place is not None and git_operations.cut_off(entity.root):
        wait = timeout_seconds
        with disk.lock(changes.lock_path(entity.root), place=entity.root, timeout_seconds=wait):
            git_operations.settle(entity.root, place)
    changes.recover(entity.root, timeout_seconds=timeout_seconds)
    changes.sweep(entity.root, timeout_seconds=timeout_seconds)
    commits.catch_up(entity.root, policy, turns=True, timeout_seconds=timeout_seconds)
    if adopts:
        changes.adopt(entity.root, timeout_seconds=timeout_seconds)
        commits.adopt_notes(entity.root)
    missing = {finding.code for finding in check_machine.check_git(entity, trusted=policy.trusted)}
    if "git-driver" in missing:
        driver.install(entity.root)
    for code, name, why in _NAMED:
        if code in missing:
            lines = check_machine.missing_lines(entity.root, name)
            named = changes.add(name, "".join(f"{line}\n" for line in lines), why)
            planned = ChangeSet(f"doctor: {why}", (named,))
            commits.apply(entity.root, planned, policy, timeout_seconds=timeout_seconds)
