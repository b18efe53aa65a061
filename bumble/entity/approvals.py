"""Which rules of a folder count: those written on this installation, and those its owner approved.

A rule is a text that the entity obeys, or by which it acts unasked; it is known by its hash. What
stands in the user's own config is approved. Of the rest a rule is its owner's where the folder was
made here or is trusted, and no commit that came from elsewhere holds it: git's reflog, which no
fetch writes, says which were made here. What was found out, a note in the user's state folder
keeps. A rule that came from elsewhere waits: an edit of it is no approval.
The same reflog tells whether git brought anything since the folder was last looked through. Looking
means reading every file, so it is done only then, or while git waits for a merge to be settled.
Knows nothing of what rules there are.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bumble import patterns
from bumble.entity import installation
from bumble.entity.folder import PRIVATE, Approval
from bumble.errors import HistoryUnreadableError, UnsafePathError
from bumble.files import disk, git, gitdir

FOLDER = "approvals"  # of this installation: a note for each folder
HERE = f"{PRIVATE}/here"  # a word by which a folder made here is known where it is moved to
DIGEST_CHARS = 32  # of 64: 128 bits
MOST_KEPT = 2_000  # hashes of a folder; the oldest go
OBJECT = patterns.compile("[0-9a-f]{40,64}")
MADE_HERE = ("commit: ", "commit (initial): ", "commit (amend): ")  # a commit, in the reflog
BEGUN = ("clone: ", "commit (initial): ")  # how a reflog begins that is whole

COUNTS, WRITTEN_HERE, WAITS, UNSURE = "counts", "written here", "waits", "unsure"  # verdicts


class Rule(Struct, frozen=True):
    """A text that the entity obeys, or by which it acts by itself."""

    name: str  # "knowledge.md: Evil rule"; what edits of it have in common
    file: str  # relative to the folder
    summary: str  # for its owner to look at
    digest: str


Held = Callable[[str, bytes], Iterable[str]]  # the hashes of the rules in a version of a file


class Note(Struct, frozen=True):
    """What is known of a folder."""

    made_here: bool = False
    ours: tuple[str, ...] = ()  # hashes of what was written here
    waiting: dict[str, str] = {}  # what was not: hash by name
    asked: tuple[str, ...] = ()  # hashes of what its owner was asked about


def rule(name: str, file: str, summary: str, *parts: object) -> Rule:
    """Make a rule of all that decides what it says."""
    text = repr((name, *parts)).encode(errors="surrogatepass")
    return Rule(name, file, summary, disk.sha256(text)[:DIGEST_CHARS])


def begin(root: Path) -> None:
    """Note that a folder is made here, so that what is written in it is its owner's."""
    disk.write_cache(root / HERE, secrets.token_hex().encode())
    _write(root, Note(made_here=True))


def forget(root: Path) -> None:
    """Note that a folder comes from elsewhere, whatever lay in its place before."""
    _write(root, Note())


def are_new(root: Path, rules: Sequence[Rule]) -> bool:
    """Whether the owner was not asked about some rules yet; they are now."""
    note = _read(root)
    new = [one.digest for one in rules if one.digest not in note.asked]
    if new:
        _write(root, replace(note, asked=(*note.asked, *new)[-MOST_KEPT:]))
    return bool(new)


def pending(
    approval: Approval | None, rules: Sequence[Rule], held: Held, *, whole: bool = False
) -> list[Rule]:
    """Return the rules that don't count, and note which were written here.

    Args:
        approval: What the user's config says of the folder; None: everything counts.
        rules: Some of those that stand in it.
        held: Tells the rules in a version of a file.
        whole: Whether these are all.
    """
    if approval is None:
        return []
    note = _read(approval.home)
    unsure = {one.file for one in rules if _judge(one, approval, note, None) == UNSURE}
    brought = _brought(approval.home, unsure, held)
    judged = [(one, _judge(one, approval, note, brought)) for one in rules]
    named = note.waiting if whole else {one.name for one in rules}
    others = {name: digest for name, digest in note.waiting.items() if name not in named}
    ours = (one.digest for one, verdict in judged if verdict == WRITTEN_HERE)
    found = replace(
        note,
        ours=(*note.ours, *ours)[-MOST_KEPT:],
        waiting=others | {one.name: one.digest for one, verdict in judged if verdict == WAITS},
    )
    if found != note:
        _write(approval.home, found)
    return [one for one, verdict in judged if verdict in (WAITS, UNSURE)]


def _judge(one: Rule, approval: Approval, note: Note, brought: Collection[str] | None) -> str:
    """Return whether a rule counts, by the first of these that holds.

    Args:
        one: The rule.
        approval: What the user's config says of the folder.
        note: What is known of it.
        brought: Hashes of what came from elsewhere; None: nobody can say, or nobody was asked.
    """
    verdicts = (
        (one.digest in approval.digests, COUNTS),
        (not (note.made_here or approval.is_listed), WAITS),
        (one.digest in note.ours, COUNTS),
        (one.name in note.waiting, WAITS),  # an edit of what came from elsewhere is no approval
        (brought is None, UNSURE),  # it doesn't count, and is asked about the next time
        (one.digest in (brought or ()), WAITS),
    )
    return next((verdict for holds, verdict in verdicts if holds), WRITTEN_HERE)


def _brought(root: Path, paths: Collection[str], held: Held) -> frozenset[str] | None:
    """Return the hashes of what commits from elsewhere hold in some files; None: nobody can say."""
    place = git.at(root) if paths else None
    if place is None:
        return frozenset()
    if place.repository.under_way:
        return None
    versions = _from_elsewhere(place, sorted(paths))
    try:
        contents = git.blobs(root, [blob for _, blob in versions]) if versions else []
    except HistoryUnreadableError:
        return None
    if versions is None or None in contents:
        return None
    pairs = zip(versions, contents, strict=True)
    return frozenset(digest for (path, _), data in pairs if data for digest in held(path, data))


def _from_elsewhere(place: git.Git, paths: Sequence[str]) -> list[tuple[str, str]] | None:
    """Return the versions of some files in commits from elsewhere; None if git can't say."""
    # made in this folder, by hand or by bumble; no merge is one
    own = {made for made, what in _reflog(place.repository) if what.startswith(MADE_HERE)}
    rows = (gitdir.content(place.repository.private / "FETCH_HEAD") or b"").decode(errors="replace")
    names = (row.partition("\t")[0] for row in rows.splitlines())
    # what the last fetch brought, be it on a branch or not
    fetched = [name for name in names if OBJECT.fullmatch(name)][: git.MAX_NAMES]
    named = {place.repository.prefix + path: path for path in paths}
    found: dict[tuple[str, str], None] = {}
    for start in range(0, len(paths), git.MAX_NAMES):
        result = place.call(
            *("--literal-pathspecs", "log", "--format=%H", "--root", "-m", "--no-renames", "--raw"),
            *("-z", "--no-relative", "--no-abbrev", "--ignore-missing", "--exclude=refs/stash"),
            *("--all", *fetched, "--", *paths[start : start + git.MAX_NAMES]),
        )
        if result.code != 0:
            return None
        is_own = False
        words = iter(result.text.split("\0"))
        for word in words:  # the name of a commit, or what became of a file, and which
            about = word.strip("\n")
            if not about.startswith(":"):
                is_own = about in own
            elif (name := next(words)) in named and not is_own:
                found[named[name], about.split(" ")[3]] = None
    return [(path, blob) for path, blob in found if set(blob) != {"0"}]


def is_from_elsewhere(root: Path, path: str) -> bool:
    """Whether all commits that wrote a file came from other clones; False where nobody can say."""
    place = git.at(root)
    rows = _reflog(place.repository) if place else []
    if place is None or not (rows and rows[0][1].startswith(BEGUN)):
        return False  # git's log of this folder is off, or cut
    own = {made for made, what in rows if what.startswith(MADE_HERE) or "(pick): " in what}
    commits = place.call("--literal-pathspecs", "log", "--format=%H", "--", path).text.split()
    return bool(commits) and own.isdisjoint(commits)


def _reflog(repository: gitdir.Repository, start: int = 0) -> list[tuple[str, str]]:
    """Return what git has noted of this folder, the oldest first: the commit, and how it came."""
    log = gitdir.content(repository.private / "logs/HEAD", start=start) or b""
    rows = (line.partition("\t") for line in log.decode(errors="replace").split("\n"))
    return [(about.split(" ")[1], what) for about, _, what in rows if " " in about]


def _names(root: Path) -> list[str]:
    """Return the names of a folder's note: by its place, and by its own word where it has one."""
    place = os.path.realpath(root).encode(errors="surrogatepass")
    known = filter(None, (place, disk.read_cache(root / HERE)))
    return [f"{FOLDER}/{disk.sha256(one)[:DIGEST_CHARS]}.json" for one in known]


def _read(root: Path) -> Note:
    kept = (installation.kept(name) for name in _names(root))
    with suppress(ValueError, RecursionError):  # what is no JSON, or no UTF-8
        return msgspec.json.decode(next(filter(None, kept), b"{}"), type=Note)
    return Note()


def _write(root: Path, note: Note) -> None:
    """Keep a note; where that can't be done, all is looked up anew each time."""
    for name in _names(root):
        installation.keep(name, json.dumps(msgspec.to_builtins(note)).encode())


MAPPINGS = ("soma.yaml", "state.yaml")  # nothing works while these can't be read
MARK = b"<<<<<<< "
SEEN = f"{PRIVATE}/seen"  # how long git's log of HEAD was when all it brought was looked through
MOST_UNSEEN = 500  # lines of that log that are read with every command
UNMERGED = "AUTO_MERGE"  # git leaves it until what conflicted is committed, after a stash too


def may_be_half_merged(root: Path, repository: gitdir.Repository) -> bool:
    """Whether git has brought something since the last look, or is in the middle of that."""
    return (
        is_open(repository)
        or _has_moved(root, repository)
        or any(_has_marks(root / name) for name in MAPPINGS)
    )


def is_open(repository: gitdir.Repository) -> bool:
    """Whether git waits for somebody to settle what it could not merge."""
    return bool(repository.under_way) or (repository.private / UNMERGED).exists()


def _has_moved(root: Path, repository: gitdir.Repository) -> bool:
    """Whether git's log of HEAD has more since the last look than commits that were made here."""
    new = unseen(root, repository)
    # but for commits that were made here, on what was here before
    moved = any(not what.startswith(("commit:", "commit (initial):")) for _, what in new)
    if not moved and len(new) > MOST_UNSEEN:
        note_look(root, repository)
    return moved


def unseen(root: Path, repository: gitdir.Repository) -> list[tuple[str, str]]:
    """Return what git has noted of this folder since the last look, as `_reflog` does."""
    mark = (disk.read_cache(root / SEEN) or b"").strip()
    start = int(mark) if mark.isdigit() else 0
    return _reflog(repository, start)


def note_look(root: Path, repository: gitdir.Repository) -> None:
    """Remember that all that git has brought by now was looked through."""
    log = gitdir.content(repository.private / "logs" / "HEAD") or b""
    disk.write_cache(root / SEEN, str(len(log)).encode())


def _has_marks(path: Path) -> bool:
    """Whether a file holds the two sides of a merge; a link that leads out is not looked behind."""
    with suppress(UnsafePathError, OSError):
        return MARK in (disk.read_if_there(path) or b"")
    return False
