"""Doctor's checks around the folder: settings, index, weights, git, secrets.

Reads only. What is derived can be mended by `bumble doctor --fix`, the rest has its own command.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from bumble.entity import commits, create, git_operations, settings
from bumble.entity.folder import DERIVED, Entity
from bumble.errors import (
    FolderOutdatedError,
    IndexServerError,
    IndexUnusableError,
    SettingInvalidError,
    UnsafePathError,
    UsageError,
    UserError,
    WeightsMissingError,
)
from bumble.files import disk, git, gitdir
from bumble.history import clone
from bumble.history.findings import Finding
from bumble.index import sync
from bumble.index.place import Place
from bumble.llm import detect
from bumble.models.weights import store
from bumble.models.weights.catalog import Catalog, CatalogEntry
from bumble.text.words import one_line

OTHER_USERS = 0o077  # the permission bits of everybody else
REBUILD = "bumble index --rebuild"


def check_settings(
    entity_file: Path, user_file: Path, environ: Mapping[str, str]
) -> tuple[settings.Settings | None, list[Finding]]:
    """Read every layer of the settings by itself, so that one broken file does not hide another.

    Returns:
        The settings, or None if they can't be read; and what was found.
    """
    findings: list[Finding] = []
    for path in (entity_file, user_file):
        try:
            settings.load(path) if path == entity_file else settings.load(user_file=path)
        except UserError as error:
            name = path.name if path == entity_file else str(path)
            sentence, line = _split_place(str(error), path)
            is_old = isinstance(error, FolderOutdatedError)
            fix = "bumble migrate" if is_old else f"$EDITOR {shlex.quote(str(path))}"
            findings.append(Finding("settings-invalid", sentence, name, line, fix))
    try:
        settings.load(environ=environ)
        read = None if findings else settings.load(entity_file, user_file, environ)
    except UserError as error:  # each may be right by itself, but not together
        return None, [*findings, Finding("settings-invalid", str(error).splitlines()[0])]
    if read is None:
        return None, findings
    for warning in read.warnings:
        sentence, line = _split_place(warning, entity_file)
        fix = f"bumble config trust {shlex.quote(str(entity_file.parent))}"
        findings.append(Finding("settings-ignored", sentence, entity_file.name, line, fix))
    return read, findings


def _split_place(message: str, path: Path) -> tuple[str, int | None]:
    """Split the first line of a message into what it says and the line of the file it names."""
    sentence = message.splitlines()[0].removeprefix(str(path))
    number, _, rest = sentence.removeprefix(":").partition(":")
    if number.strip().isdigit():
        return rest.strip(), int(number)
    return sentence.removeprefix(":").strip(), None


def check_index(
    entity: Entity, wanted_model: str | None, place_of: Callable[[], Place]
) -> tuple[sync.IndexState | None, list[Finding]]:
    """Compare the index with the files.

    Args:
        entity: Whose index.
        wanted_model: The embedding model that would be used now; None: none.
        place_of: Says where it stands.

    Returns:
        How it stands, where that can be told, and what is wrong.
    """
    name = "memory.db"
    try:
        at = place_of()
        name = at.shown if at.server else name
        state = sync.state(entity, at, counts_orphans=True)
    except (IndexServerError, SettingInvalidError, UsageError) as error:
        return None, [Finding("index-server", str(error).splitlines()[0], name)]
    except (IndexUnusableError, UnsafePathError) as error:
        return None, [Finding("index-unusable", str(error).splitlines()[0], name, fix=REBUILD)]
    return state, list(_index_findings(state, name, wanted_model))


def _index_findings(
    state: sync.IndexState, name: str, wanted_model: str | None
) -> Iterator[Finding]:
    if state.server and state.server["unwalled"]:
        yield Finding(
            "index-role",
            f"the role {state.server['role']} passes the walls between entities by",
            name,
        )
    if not state.exists:
        yield Finding("index-missing", "there is no search index yet", name, fix="bumble index")
        return
    if state.words != state.chunks:
        yield Finding(
            "index-unusable",
            f"its words are those of {state.words:,} passages of {state.chunks:,}",
            name,
            fix=REBUILD,
        )
        return
    if state.orphans:
        yield Finding(
            "index-orphans",
            f"{state.orphans:,} rows belong to no file or passage",
            name,
            fix=REBUILD,
        )
    if state.stale:
        yield Finding(
            "index-stale",
            f"{state.stale:,} files have changed since the last search",
            name,
            fix="bumble index",
        )
    made_by = json.loads(state.identity).get("model", "") if state.identity else ""
    if wanted_model and made_by and made_by != wanted_model:
        yield Finding(
            "index-vectors",
            f"its vectors are {made_by}'s; the next search makes those of {wanted_model}",
            name,
            fix="bumble index",
        )
    elif wanted_model and state.waiting:
        yield Finding(
            "index-vectors",
            f"{state.waiting:,} passages have no vector yet: words alone find them",
            name,
            fix="bumble index",
        )


def embedding_model(wanted: Sequence[CatalogEntry], folder: Path) -> str | None:
    """Return which of some embedding models would be used, by its manifest; None: none."""
    return next(
        (entry.name for entry in wanted if (folder / entry.name / store.MANIFEST).is_file()), None
    )


def check_weights(
    wanted: Sequence[CatalogEntry], catalog: Catalog, folder: Path
) -> Iterator[Finding]:
    """Check the weights on this machine; a file that looks touched is hashed again.

    Args:
        wanted: The embedding models that the settings ask for.
        catalog: All models.
        folder: Where weights lie.
    """
    by_name = {entry.name: entry for entry in catalog}
    for stored in store.stored(folder):
        place = folder / stored.name
        if not stored.complete:
            yield Finding(
                "weights-unfinished",
                f"{stored.bytes / 1e6:,.0f} MB of it are here; pulling goes on from there",
                f"{place}{store.PART}",
                fix=f"bumble model pull {stored.name}",
            )
        elif stored.name in by_name:
            try:
                store.find(folder, by_name[stored.name])
            except WeightsMissingError as error:
                path, _, sentence = str(error).splitlines()[0].partition(": ")
                fix = f"bumble model pull {stored.name}"
                yield Finding("weights-damaged", sentence, path, fix=fix)
    if wanted and embedding_model(wanted, folder) is None:
        name = min(wanted, key=lambda entry: entry.bytes).name
        yield Finding(
            "weights-none",
            "no embedding model is here: words alone find things, not their meaning",
            str(folder),
            fix=f"bumble model pull {name}",
        )


def check_engine() -> Iterator[Finding]:
    """Tell whether models can run inside bumble here."""
    problem = detect.problem()
    if problem:
        what, *advice = problem.splitlines()
        yield Finding("engine-missing", " ".join((f"{what}.", *advice)))


def check_secrets(path: Path) -> Iterator[Finding]:
    """Tell whether others can read the user's keys."""
    if os.name == "posix" and path.exists() and path.stat().st_mode & OTHER_USERS:
        yield Finding(
            "secrets-open",
            "others on this machine can read your keys",
            str(path),
            fix=f"chmod 600 {shlex.quote(str(path))}",
        )


def check_git(entity: Entity, *, trusted: bool = False) -> Iterator[Finding]:
    """Check what git is told about the folder; nothing of it is asked where there is no git."""
    root = entity.root
    place = _repository(root, trusted=trusted)
    if isinstance(place, Finding):
        yield place
        return
    yield from _find_under_way(root, place)
    yield from _find_uncommitted(root, place)
    fix = "bumble doctor --fix"
    if missing := missing_lines(root, ".gitignore"):
        said = f"it does not name {', '.join(missing)}"
        yield Finding("git-ignores", said, ".gitignore", fix=fix)
    if missing := missing_lines(root, ".gitattributes"):
        said = f"it lacks {'; '.join(missing)}"
        yield Finding("git-attributes", said, ".gitattributes", fix=fix)
    if not clone.has_driver(root):
        yield Finding(
            "git-driver",
            "git has not been told how to merge these files by meaning",
            ".",
            fix="bumble doctor --fix",
        )
    tracked = git.run(root, "ls-files", "--", *DERIVED)
    if tracked:
        yield Finding(
            "git-tracked",
            "git keeps it, though it is derived; take it out of the index",
            tracked.splitlines()[0],
            fix=f"git -C {shlex.quote(str(root))} rm -r --cached --ignore-unmatch "
            + " ".join(DERIVED),
        )


def _repository(root: Path, *, trusted: bool) -> git.Git | Finding:
    """Return the repository of a folder, or what keeps git from being looked at."""
    if not git.installed():
        return Finding("git-missing", "git is not installed, so the folder has no history")
    place = git.at(root)
    if place is None:
        sentence = "it is in no git repository, so it has no history"
        return Finding("git-none", sentence, ".", fix=f"git -C {shlex.quote(str(root))} init")
    if place.foreign:
        sentence = f"{place.foreign} belongs to somebody else, so its history is not read"
        return Finding("git-foreign", sentence, ".", fix=place.advice.strip("`"))
    if place.trap:
        sentence = f"{place.trap} is no plain file; git would wait for it"
        return Finding("git-trap", sentence, ".")
    if place.outside_repository and not trusted:
        fix = f"bumble config trust {shlex.quote(str(root))}"
        return Finding("git-strays", place.outside_repository, ".", fix=fix)
    return place


def _find_under_way(root: Path, place: git.Git) -> Iterator[Finding]:
    """Find what git was cut off in, by bumble's own note; and what the owner began or left."""
    cut_off = git_operations.cut_off(root)
    if cut_off:
        yield Finding(
            "git-cut-off", git_operations.warning(cut_off.values()), ".", fix="bumble doctor --fix"
        )
        return
    git_here = f"git -C {shlex.quote(str(root))}"
    under_way = place.repository.under_way
    if under_way:
        on, back = gitdir.ENDINGS[under_way]
        yield Finding(
            "git-under-way",
            f"{under_way} is under way, and nothing is committed until it ends: settle what is in "
            f"conflict and go on with `{git_here} {on}`, or take it back",
            ".",
            fix=f"{git_here} {back}",
        )
    for lock in git_operations.locks(place.repository):
        if not git_operations.is_at_work(lock):
            sentence = f"{lock} keeps commits back: another git is at work, or was killed; if none"
            yield Finding(
                "git-locked", f"{sentence} is, remove it", ".", fix=f"rm {shlex.quote(str(lock))}"
            )


def _find_uncommitted(root: Path, place: git.Git) -> Iterator[Finding]:
    """Find what bumble wrote and has not committed."""
    noted = {path for note in commits.notes(root) for path in note.after}
    changed = commits.changed(place) & noted if noted else set()
    if changed:
        more = f", and {len(changed) - 1} more" if len(changed) > 1 else ""
        yield Finding(
            "git-uncommitted",
            f"not committed yet{more}: the next command that writes does it",
            sorted(changed)[0],
            fix="bumble doctor --fix",
        )


def missing_lines(root: Path, name: str) -> list[str]:
    """Return the lines of the template that a file of git's lacks, however they are spelt."""
    try:
        text = disk.read(root / name).decode(errors="replace")
    except (OSError, UnsafePathError):
        text = ""
    return missing_rules(text, name)


def missing_rules(text: str, name: str) -> list[str]:
    """Return the lines of the template that the text of a file of git's lacks."""
    template = (create.template_folder() / name.removeprefix(".")).read_text(encoding="utf-8")
    present_lines = {_plain(line) for line in text.splitlines()}
    rules = (line for line in template.splitlines() if line.strip() and not line.startswith("#"))
    return [rule for rule in rules if _plain(rule) not in present_lines]


def _plain(line: str) -> str:
    return one_line(line).strip("/").removeprefix("**/")
