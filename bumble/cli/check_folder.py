"""Doctor's checks of the folder and around it: names, links, leftovers; index, git, weights, keys.

Reads only. What is derived can be mended by `bumble doctor --fix`, the rest has its own command. Of
the folder's files none is opened, locks excepted; `.git` is git's own and not looked into.
"""

from __future__ import annotations

import json
import os
import shlex
import unicodedata
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from bumble.cli import output
from bumble.entity import (
    changes,
    commits,
    create,
    git_operations,
    settings,
    uncommitted,
    write_ahead,
)
from bumble.entity.folder import DERIVED, ENTITY_FILE, PRIVATE, Entity
from bumble.errors import (
    FolderOutdatedError,
    IndexServerError,
    IndexUnusableError,
    SettingInvalidError,
    UnsafePathError,
    UsageError,
    UserError,
)
from bumble.files import disk, git, gitdir
from bumble.history import clone
from bumble.history.findings import Finding
from bumble.index import sync
from bumble.index.place import Place
from bumble.records import kinds
from bumble.text.words import counted, one_line

MOST_SHOWN = 20  # paths in a sentence
MEND = "bumble doctor --fix"
K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


def check_tree(entity: Entity) -> Iterator[Finding]:
    """Walk the folder and yield what is wrong with it, by path."""
    refused: list[OSError] = []
    for place, folders, names in os.walk(entity.root, onerror=refused.append):
        inside = Path(place).relative_to(entity.root).as_posix()
        prefix = "" if inside == "." else f"{inside}/"
        folders[:] = sorted(name for name in folders if name != ".git")
        entries = sorted([*folders, *names])
        spelt = ((unicodedata.normalize("NFC", name).casefold(), name) for name in entries)
        for first, name in twice(spelt):
            yield Finding(
                "name-clash",
                f"{first} is the same name on macOS and Windows: rename one of them",
                prefix + name,
            )
        for name in entries:
            if not disk.is_text(name):
                yield Finding(
                    "name-unread",
                    "its name is not UTF-8, so it is passed over: rename it",
                    disk.readable(prefix + name),
                )
            yield from _check_link(entity.root, prefix, name)
    for error in refused:
        yield Finding(
            "folder-unreadable",
            f"it can't be listed: {error.strerror}",
            Path(str(error.filename)).relative_to(entity.root).as_posix(),
        )


def twice(keyed: Iterable[tuple[K, T]]) -> Iterator[tuple[T, T]]:
    """Yield what has the key of something before it, behind the first that has it."""
    first: dict[K, T] = {}
    for key, one in keyed:
        if key in first:
            yield first[key], one
        first.setdefault(key, one)


def _check_link(root: Path, prefix: str, name: str) -> Iterator[Finding]:
    path = root / prefix / name
    target = os.path.realpath(path)
    is_inside = Path(target).is_relative_to(os.path.realpath(root)) and path.exists()
    if path.is_symlink() and not is_inside:
        yield Finding(
            "link-out",
            f"leads to {target}: nothing is read or written there",
            prefix + name,
            fix=f"rm {shlex.quote(str(path))}",
        )


def check_leftovers(entity: Entity) -> Iterator[Finding]:
    """Yield what killed writers left; while somebody writes nothing can be told from their work."""
    try:
        disk.settled(entity.root / write_ahead.FOLDER)
    except UnsafePathError:
        return  # what the link is, is said elsewhere
    if disk.is_locked(changes.lock_path(entity.root)):
        yield Finding(
            "lock-held",
            "another process is writing; what it leaves for a moment was not looked at",
            ".bumble/lock",
        )
        return
    left = write_ahead.leftovers(entity.root)
    for place in (*left.foreign, *uncommitted.foreign(entity.root)):
        if (paths := _targets(place)) is None:
            yield Finding(
                "change-unreadable",
                "a cut-off change can't be read: move it away",
                f"{entity.relative(place)}/{write_ahead.INTENT}",
                fix=f"mv {shlex.quote(str(place))} {shlex.quote(str(entity.private))}",
            )
            continue
        what = output.few([disk.readable(path[:200]) for path in paths], MOST_SHOWN)
        yield Finding(
            "change-foreign",
            f"a change another installation left half done, of {what or 'no file'}; if it is"
            " yours, take it over",
            entity.relative(place),
            fix="bumble doctor --adopt",
        )
    for folder in left.tracked:
        yield Finding(
            "change-tracked",
            "git brought a half-done change: nothing of it is used",
            entity.relative(folder),
            fix=f"git -C {shlex.quote(str(entity.root))} rm -r --cached {PRIVATE}",
        )
    for folder in left.own:
        yield Finding(
            "change-unfinished",
            "a change was cut off; the next command that writes finishes or drops it",
            entity.relative(folder),
            fix=MEND,
        )
    for relative in map(entity.relative, write_ahead.stray_files(entity.root)):
        yield Finding(
            "cache-stray" if relative.startswith(f"{PRIVATE}/") else "file-stray",
            "a temporary file of a killed writer; the file itself is whole",
            relative,
            fix=MEND,
        )


def _targets(place: Path) -> list[str] | None:
    """Return the files that an intent or a note is about; None: it is an intent beyond reading."""
    intent = place / write_ahead.INTENT
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        if place.is_dir():
            return [str(step["path"]) for step in json.loads(disk.read(intent))["steps"]]
        return list(map(str, json.loads(json.loads(disk.read(place))["note"])["after"]))
    return None if place.is_dir() else []


REBUILD = "bumble index --rebuild"
# What doctor calls what a file of git's lacks, that file, and why it is mended.
TOLD = (
    ("git-ignores", ".gitignore", "it does not name", "name what is derived"),
    ("git-attributes", ".gitattributes", "it lacks", "name what is merged by meaning"),
)


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
    for warning in read.warnings if read else ():
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
            f"changed since the last search: {counted(state.stale, 'file')}",
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


def check_git(entity: Entity, *, trusted: bool = False) -> Iterator[Finding]:
    """Check what git is told about the folder; nothing of it is asked where there is no git."""
    root = entity.root
    place = _repository(root, trusted=trusted)
    if isinstance(place, Finding):
        yield place
        return
    yield from _find_under_way(root, place)
    yield from _find_uncommitted(root, place)
    yield from _find_hidden(root, place)
    for code, name, lacks, _ in TOLD:
        if missing := missing_lines(root, name):
            yield Finding(code, f"{lacks} {'; '.join(missing)}", name, fix=MEND)
    if not clone.has_driver(root):
        yield Finding(
            "git-driver",
            "git has not been told how to merge these files by meaning",
            ".",
            fix=MEND,
        )
    if tracked := git.run(root, "ls-files", "--", *DERIVED):
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
    if (place := git.at(root)) is None:
        return Finding(
            "git-none",
            "it is in no git repository, so it has no history",
            ".",
            fix=f"git -C {shlex.quote(str(root))} init",
        )
    if place.foreign:
        return Finding(
            "git-foreign",
            f"{place.foreign} belongs to somebody else, so its history is not read",
            ".",
            fix=place.advice.strip("`"),
        )
    if place.trap:
        return Finding("git-trap", f"{place.trap} is no plain file; git would wait for it", ".")
    if place.outside_repository and not trusted:
        return Finding(
            "git-strays",
            place.outside_repository,
            ".",
            fix=f"bumble config trust {shlex.quote(str(root))}",
        )
    return place


def _find_under_way(root: Path, place: git.Git) -> Iterator[Finding]:
    """Find what git was cut off in, by bumble's own note; and what the owner began or left."""
    if cut_off := git_operations.cut_off(root):
        yield Finding("git-cut-off", git_operations.warning(cut_off.values()), ".", fix=MEND)
        return
    git_here = f"git -C {shlex.quote(str(root))}"
    if under_way := place.repository.under_way:
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
            yield Finding(
                "git-locked",
                f"{lock} keeps commits back: another git is at work, or was killed; if none is,"
                " remove it",
                ".",
                fix=f"rm {shlex.quote(str(lock))}",
            )


def _find_uncommitted(root: Path, place: git.Git) -> Iterator[Finding]:
    """Find what bumble wrote and has not committed."""
    noted = {path for note in uncommitted.notes(root) for path in note.after}
    changed = (commits.changed(place) & noted) | {*clone.taken_back(root)} if noted else set()
    if changed:
        more = f", and {len(changed) - 1} more" if len(changed) > 1 else ""
        yield Finding(
            "git-uncommitted",
            f"not committed yet{more}: the next command that writes does it",
            sorted(changed)[0],
            fix=MEND,
        )


def _find_hidden(root: Path, place: git.Git) -> Iterator[Finding]:
    """Find records that git is told to ignore: they have no history, and no clone has them."""
    if place.repository.folder != place.repository.top and not git.tracked(root, ENTITY_FILE):
        return
    options = ("--others", "--ignored", "--exclude-standard", "-z")
    paths = place.call("ls-files", *options).text.split("\0")
    if hidden := sorted(path for path in paths if path == ENTITY_FILE or kinds.of_path(path)):
        more = f", and {len(hidden) - 1} more like it" if len(hidden) > 1 else ""
        yield Finding(
            "git-hides",
            f"git is told to ignore it{more}: it has no history, and no clone has it",
            hidden[0],
            fix=f"git -C {shlex.quote(str(root))} check-ignore -v {shlex.quote(hidden[0])}",
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
