"""What the entity writes by itself: cleared of secrets, and held back where its owner wants that.

The gate that every change of memory passes keeps out what is secret in the new texts, and looks at
nothing else: what a person wrote into a file by hand is theirs. Transcripts are the source and keep
what was said; what the entity made of it, summaries and feelings, is looked at there too.

A set of a cycle that `git.review` names becomes a proposal, on a branch of its own. What says how
far the cycle has come stays in the folder, so that nothing is asked for twice:

    review:
      waiting:
        dream-1f0c3a5e: 2026-05-24T03:10:00+01:00
      dealt:
        9c0b1d3e5f7a9b2c: 2026-05-24

`dealt` are marks of what a proposal was about, for work that is found in the records themselves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Any

from msgspec.structs import replace

from bumble.entity import changes, commits, companions, review_branch, secrets
from bumble.entity.changes import Change, ChangeSet
from bumble.errors import ChangeUnfinishedError, UserError
from bumble.files.git import Git
from bumble.records import base, jsonl, kinds, session_files, sessions, state
from bumble.text import markdown, printable

SECTION, WAITING, DEALT = "review", "waiting", "dealt"
MOST_DEALT = 2_000  # marks; the oldest go
MARK_CHARS = 16
CONSOLIDATE = "consolidate"  # its sets name their part behind it: `consolidate: narrate: …`
STRETCH = "stretch"  # one set of what these three name, which an owner may hold back by each
PORTRAIT = "reflect"
OF_STRETCH = ("remember", PORTRAIT, "distill")
HELD_BACK = "It waits for your word: `bumble review`."


def cycles_of(title: str) -> set[str]:
    """Return the cycles that a change set is of, by its title."""
    first, _, rest = title.partition(": ")
    if first == STRETCH:
        return {STRETCH, *OF_STRETCH}
    found = {first, rest.partition(": ")[0]} if first == CONSOLIDATE else {first}
    # a portrait seen again rests on the same talks: it doesn't go round their review
    return found | {STRETCH} if PORTRAIT in found else found


def is_held(change_set: ChangeSet, cycles: Sequence[str]) -> bool:
    """Whether a change set waits for its owner's word, by the setting `git.review`."""
    if cycles_of(change_set.title).isdisjoint(cycles):
        return False
    return not all(stays(change.path) for change in change_set.changes)


def stays(path: str) -> bool:
    """Whether a file is written at once: conversations, and how far the cycles have come."""
    return path == state.PATH or path.startswith(f"{sessions.FOLDER}/")


def propose(
    root: Path, change_set: ChangeSet, policy: commits.CommitPolicy, *, timeout_seconds: float
) -> list[Path]:
    """Put a change set on a branch of its own, and note in the folder that it waits there.

    Returns:
        The files that were written all the same.

    Raises:
        ReviewError: If there is no such branch to be had.
        UserError: As `changes.apply` does.
    """
    cycle = change_set.title.partition(":")[0]
    place = review_branch.place_of(root, cycle, trusted=policy.trusted)
    name = f"{cycle.replace(' ', '-')}-{token_hex(4)}"
    held = tuple(change for change in change_set.changes if not stays(change.path))
    make = partial(_begin, root, place, name, replace(change_set, changes=held), policy)
    made = commits.history(root, policy)
    noted = ChangeSet(f"{SECTION}: {name} waits", _noted(root, change_set, name, policy))
    try:
        return changes.apply(
            root, noted, timeout_seconds=timeout_seconds, history=made, before=make
        )
    except ChangeUnfinishedError:  # the next process will finish it
        raise
    except UserError:
        review_branch.drop(root, [name])
        raise


def _begin(
    root: Path, place: Git, name: str, proposed: ChangeSet, policy: commits.CommitPolicy
) -> None:
    """Make the branch, and take away those that a killed process made and nothing speaks of."""
    review_branch.drop(root, stray(root))
    review_branch.make(root, place, name, proposed, policy)


def sweep(root: Path, *, timeout_seconds: float) -> None:
    """Take away the branches that nothing speaks of, decided or of a killed process."""
    if stray(root):
        with changes.held(root, timeout_seconds=timeout_seconds):
            review_branch.drop(root, stray(root))


def stray(root: Path) -> list[str]:
    """Return the branches of which nothing says that they wait, on no branch of the owner's."""
    names = set(review_branch.names(root)) - set(waiting(root))
    return sorted(review_branch.named_nowhere(root, state.PATH, names)) if names else []


def _noted(
    root: Path, change_set: ChangeSet, name: str, policy: commits.CommitPolicy
) -> tuple[Change, ...]:
    """Plan what is written at once, with the proposal in the list of those that wait."""
    at_once = [change for change in change_set.changes if stays(change.path)]
    moved = next((change for change in at_once if change.path == state.PATH), None)
    others = tuple(change for change in at_once if change is not moved)
    file = state.read(root / state.PATH)
    if moved is not None and moved.data is not None:
        file = state.parse(moved.data.decode())
    now = base.stamp(policy.clock())
    marks = dict.fromkeys(change_set.marks, now[:10])
    gone = [(SECTION, DEALT, one) for one in state.oldest(_mapping(file, DEALT), marks, MOST_DEALT)]
    values = {SECTION: {WAITING: {name: now}, **({DEALT: marks} if marks else {})}}
    noted = state.plan_write(file, values, "it waits for review", remove=gone)
    if noted is None or moved is None:
        return (*others, *filter(None, [noted]))
    return (*others, replace(noted, read=moved.read))


def waiting(root: Path) -> dict[str, datetime]:
    """Return the names of what waits, the oldest first, with when each was proposed.

    Raises:
        RecordInvalidError: If `state.yaml` can't be read.
    """
    listed = _mapping(state.read(root / state.PATH), WAITING)
    named = {
        name: base.field(listed, name, datetime)
        for name in listed
        if review_branch.NAME.fullmatch(name)
    }
    return dict(sorted(named.items(), key=lambda pair: pair[1]))


def plan_decided(root: Path, name: str, why: str) -> Change | None:
    """Plan to take a proposal out of the list; the marks of what it was about stay."""
    file = state.read(root / state.PATH)
    there = _mapping(file, WAITING)
    if name not in there:
        return None
    alone, bare = len(there) == 1, not _mapping(file, DEALT)
    keys = [SECTION, *([] if alone and bare else [WAITING]), *([] if alone else [name])]
    return state.plan_write(file, {}, why, remove=[keys])


def dealt(root: Path) -> frozenset[str]:
    """Return the marks of all that proposals were about, decided or not."""
    return frozenset(_mapping(state.read(root / state.PATH), DEALT))


def mark(*parts: str) -> str:
    """Return the mark of something that a proposal may be about; it names nobody."""
    return hashlib.sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()[:MARK_CHARS]


def _mapping(file: base.MappingFile, key: str) -> Mapping[str, Any]:
    found = file.get(SECTION, key, default={})
    return found if isinstance(found, Mapping) else {}


_SAID = ("message", "session")  # lines of a transcript that hold what was said


def cleared(change_set: ChangeSet, root: Path) -> ChangeSet:
    """Return a change set whose new texts hold no secret.

    Args:
        change_set: What the entity wants written.
        root: Of the entity.
    """
    # hashes of texts that others in the set were planned on
    renamed: dict[str | None, str | None] = {}
    changes = []
    for change in change_set.changes:
        new = _cleared(change, root)
        if new.data is not None and new.data != change.data and not change.adds:
            told, new_digest = (companions.digest(one.path, one.data) for one in (change, new))
            renamed[told] = new_digest
        if new.read in renamed:
            new = replace(new, read=renamed[new.read])
        changes.append(replace(new, why=secrets.redacted(new.why)))
    return replace(change_set, title=secrets.redacted(change_set.title), changes=tuple(changes))


def _cleared(change: Change, root: Path) -> Change:
    kind = kinds.of_path(change.path)
    if change.data is None or kind is None or change.by_hash:
        return change
    text = change.data.decode(errors="surrogateescape")
    if secrets.find_secret(text) is None:
        return change
    old = b"" if change.adds else companions.read(root, change.path) or b""
    earlier = old.decode(errors="surrogateescape")

    def clear(part: str) -> str:
        return secrets.redacted(part, but=earlier)

    if kind is session_files.SESSION:
        new = _clear_lines(text, clear)
    elif change.path.endswith(".yaml"):
        file = base.parse_mapping(text)
        new = base.edited_mapping(file, printable.each_text(file.values, clear)).source or ""
    else:
        new = _clear_document(text, clear)
    return replace(change, data=new.encode(errors="surrogateescape"))


def _clear_lines(text: str, clear: Callable[[str], str]) -> str:
    """Clear what the entity made of a conversation; what was said stands as it was."""
    lines = []
    for line in text.split("\n"):
        data = jsonl.loose(line)
        new = data if data.get("type") in _SAID else printable.each_text(data, clear)
        lines.append(line if new == data else jsonl.dumped(new).rstrip("\n"))
    return "\n".join(lines)


def _clear_document(text: str, clear: Callable[[str], str]) -> str:
    """Clear front matter by its values, and the text below."""
    document = markdown.parse(text)
    for key, value in document.meta.items():
        if (new := printable.each_text(value, clear)) != value:
            document = document.with_meta(key, value=new)
    at = document.body_start
    return document.source[:at] + clear(document.source[at:])
