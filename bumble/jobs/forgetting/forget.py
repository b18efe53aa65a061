"""Forgetting a person: everything they said, what was answered, and all that rests on it alone.

What others wrote or said stays theirs, but for sentences that quote; what a program can't decide
is named. Everything is one change set, and `returned` plans it once more for what a merge or
an import brought back. Git's history is not touched.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta, tzinfo
from functools import partial
from itertools import pairwise
from pathlib import Path

from msgspec import Struct, field, structs

from bumble.entity import changes, commits, companions, review_branch, uncommitted
from bumble.entity.changes import Change, ChangeSet
from bumble.entity.folder import Entity
from bumble.errors import IndexServerError, RecordInvalidError
from bumble.files import disk
from bumble.guard import names
from bumble.history.findings import Finding
from bumble.index import place, sync
from bumble.jobs.forgetting import draft, record_files, transcripts
from bumble.jobs.forgetting.draft import ForgettingDraft, PersonSpeech
from bumble.records import (
    base,
    forgotten,
    jsonl,
    kinds,
    provenance,
    relationships,
    session_files,
    skills,
)
from bumble.records.kind import Forgetting as Way
from bumble.records.kind import Kind, RecordView
from bumble.records.sessions import Session
from bumble.runtime import review_queue
from bumble.text import stop_words, words, yaml_edit, yaml_read

STILL_NAMED = "it still has the name, in words that are a person's to edit"
NAMED_BEFORE = "the name is gone from it; whether its words still tell of them is yours to see"
RESTS_IN_PART = "it rests in part on what is forgotten"
FILE_NAMED = "its file is named for them"
ONLY_THEIRS = "a person wrote it for them alone"
STILL_QUOTED = "it has words of theirs"
SHARED_NAME = "it has a name that may be somebody else's; `bumble person forget` takes a name, too"
ONE = {  # of what is counted: how its label begins
    **{kind.plural: kind.singular for kind in kinds.KINDS},
    "messages": "message",
    "places": "place",
    "files": "file",
    "earlier versions": "earlier version",
    "pages": "page",
}
_LARGEST_LOOKED_INTO = 4_000_000  # of files that no kind of record reads, in bytes


class Undecided(Struct, frozen=True):
    """A file that stays and may still tell of the person: somebody has to look at it."""

    path: str
    kind: str  # name of a kind of record, or `settings`
    reason: str


def find_undecided(draft: ForgettingDraft, shared: Collection[str]) -> Iterator[Undecided]:
    """Find what stays and may still tell of them, with what speaks for that.

    Args:
        draft: What is forgotten.
        shared: Names of theirs that another page answers to.
    """
    entity = draft.entity
    yield from _judge(draft, entity.file, "settings", (), shared)
    for kind in kinds.KINDS:
        named = () if kind is relationships.PERSON else shared
        for path in kind.paths(entity):
            yield from _judge(draft, path, kind.name, draft.views.get(path, ()), named)
    for path in _other_files(draft):
        yield from _judge(draft, path, "file", (), shared)


def _other_files(draft: ForgettingDraft) -> Iterator[Path]:
    """Yield the files that no kind of record reads, those of the workspace among them."""
    entity = draft.entity
    read = {path for kind in kinds.KINDS for path in kind.paths(entity)} | {entity.file}
    derived = {".git", ".bumble", str(changes.HISTORY)}
    derived_names = ("memory.db", forgotten.PATH)
    for path in sorted(entity.root.rglob("*")):
        place = path.relative_to(entity.root)
        beside = len(place.parts) > 2 and place.parts[2] == "blobs"  # looked at with the transcript
        if beside or path in read or not derived.isdisjoint(place.parts):
            continue
        record = companions.record_of(place.as_posix())
        is_companion = record is not None and (entity.root / record).is_file()  # read with it
        is_strange = path.is_symlink() or not path.is_file()
        if is_companion or is_strange or place.name.startswith(derived_names):
            continue
        if path.stat().st_size <= _LARGEST_LOOKED_INTO:
            yield path


def _judge(
    draft: ForgettingDraft,
    path: Path,
    kind: str,
    views: Sequence[RecordView],
    shared: Collection[str],
) -> Iterator[Undecided]:
    there = draft.entity.relative(path)
    relative = draft.moved.get(there, there)
    change, old = draft.planned.get(relative), companions.read(draft.entity.root, there) or b""
    data = old if change is None else change.data
    if data is None:
        return
    new = data.decode(errors="replace")
    reasons = {
        STILL_NAMED: draft.is_named(new),
        STILL_QUOTED: draft.speech.quotes(new),
        NAMED_BEFORE: bool(views) and draft.is_named(old.decode(errors="replace")),
        RESTS_IN_PART: any(
            draft.gone & set(view.sources) for view in views if not draft.is_own(view)
        ),
        ONLY_THEIRS: any(
            set(view.origin.audience) == {draft.person} and not draft.is_own(view) for view in views
        ),
        SHARED_NAME: any(
            match[0] not in stop_words.WORDS
            for one in shared
            for match in re.finditer(rf"\b{re.escape(one)}\b", new, re.IGNORECASE)
        )
        or _has_form(new, draft.names),
        FILE_NAMED: bool(views)
        and kind != "person"
        and f"-{draft.person}-" in f"-{skills.SKILL.stem(path)}-",
    }
    reason = next((text for text, holds in reasons.items() if holds), None)
    if reason:
        yield Undecided(relative, kind, reason)


def _has_form(text: str, called: Iterable[str]) -> bool:
    """Whether a text has a name in another form: "Wilczka" of Wilczek."""
    if not names.inflects(words.language(text)):
        return False
    parts = {words.folded(part) for name in called for part in name.split()}
    spelt = {words.folded(word) for word in stop_words.WORD.findall(text) if word[0].isupper()}
    return any(names.are_one(part, word) for part in parts for word in spelt - parts)


HISTORY = str(changes.HISTORY)


def forget_earlier_versions(draft: ForgettingDraft) -> None:
    """Remove earlier versions kept in `.history/`: of files that change, and what tells of them."""
    for path in companions.orphans(draft.entity.root):
        text = (disk.read_if_there(path) or b"").decode(errors="replace")
        if draft.tells_of(text) or any(one in text for one in draft.gone):
            draft.remove(path, "sources of what is gone")
    history = draft.entity.root / HISTORY
    changed = {*draft.planned, relationships.PERSON.path(draft.person)}
    for path in filter(Path.is_file, sorted(history.rglob("*"))):
        place = path.relative_to(history)
        original = _original(place).as_posix()
        cut_off = place.name.partition(".")[2]  # what a kill kept from being written
        text = (disk.read_if_there(path) or b"").decode(errors="replace")
        holds = (
            original in changed
            or path.suffix == ".zip"  # the folder before a migration: packed, and whole
            or cut_off in {Path(changed_path).name for changed_path in changed}
            or draft.tells_of(text)
        )
        if holds:
            draft.remove(path, "earlier versions")


def _original(version: Path) -> Path:
    """Return of which file something in `.history/` is an earlier version."""
    return version.with_name(f"{version.stem.rsplit('.', 1)[0]}{version.suffix}")


class Forgetting(Struct, frozen=True):
    """The changes that forget a person."""

    changes: tuple[Change, ...]
    counts: Mapping[str, int]  # of records by kind
    undecided: tuple[Undecided, ...]
    names: tuple[str, ...] = ()  # the person's id, and what they are called
    ids: frozenset[str] = frozenset()  # of all that goes
    speech: PersonSpeech = draft.SILENT  # theirs alone
    last: datetime | None = None  # when they last said something; None: never
    shared: Mapping[str, str] = {}  # names that stay where they stand: who else answers to each

    def tells_of(self, text: str) -> bool:
        """Whether a text names them, or holds words that only they said."""
        named = any(
            re.search(stop_words.name_pattern(name), text, re.IGNORECASE)
            for name in self.names
            if name
        )
        return named or self.speech.echoes(text)

    @property
    def mentions(self) -> tuple[str, ...]:
        """Files that still hold a name and are a person's to edit."""
        return tuple(entry.path for entry in self.undecided if entry.reason == STILL_NAMED)

    @property
    def summary(self) -> str:
        """The counts on one line: `2 episodes, 1 portrait`."""
        return ", ".join(
            f"{number} {_one(label) if number == 1 else label}"
            for label, number in self.counts.items()
            if number
        )


def _one(label: str) -> str:
    """Return what one is called of what is counted under a label."""
    spelt = (label.replace(many, one, 1) for many, one in ONE.items() if label.startswith(many))
    return next(spelt, label)


def plan(
    entity: Entity,
    person: str,
    names: Sequence[str],
    zone: tzinfo,
    *,
    entry: forgotten.Forgotten | None = None,
    until: datetime | None = None,
) -> Forgetting:
    """Plan to forget a person; a second time there is nothing left to plan.

    Args:
        entity: Whose memory.
        person: Their id.
        names: What they are called; each is looked for in any case. One that another page answers
            to is never theirs alone: it is neither looked for nor kept in mind.
        zone: The entity's time zone.
        entry: Of the forgetting that is done once more: what they said to an entity that knew of
            it stays, and what has an id of it goes, whoever it is from.
        until: What is of later, and no message, stays; None: nothing does.

    Raises:
        RecordInvalidError: If a file can't be read: nothing may be forgotten by half.
    """
    called = tuple(dict.fromkeys(name.strip() for name in names if name.strip()))
    shared = _shared(entity, person, called)
    # parts of their names that no other page has: where they stand, somebody has to look
    everybody = relationships.PERSON.readable(entity.relationships)
    parts = relationships.short_names(everybody).get(person, ())
    spelt = tuple(name for name in called if name not in shared)
    gone = set(entry.ids) if entry else set()
    draft = ForgettingDraft(entity, person, spelt, zone, entry, until, gone)
    transcripts.hear(draft)
    for path in session_files.SESSION.paths(entity):  # an episode is told anew of what is left
        transcripts.forget(draft, path)
    for kind, path in _read_views(draft):
        if kind.forgetting in FORGETTERS:
            FORGETTERS[kind.forgetting](draft, kind, path)
    record_files.forget_workspace(draft)
    record_files.forget_body(draft)
    record_files.follow_moved(draft)
    forget_earlier_versions(draft)
    return Forgetting(
        tuple(draft.planned.values()),
        dict(draft.counts),
        # "Maltes Farbe" may be Malte's; Carlos is not Carlo
        tuple(find_undecided(draft, (*shared, *parts, *(f"{name}s" for name in spelt)))),
        (person, *spelt),
        frozenset(draft.gone),
        draft.speech,
        draft.last,
        shared,
    )


def _shared(entity: Entity, person: str, names: Sequence[str]) -> dict[str, str]:
    """Return which of somebody's names another page answers to, each with who that is."""
    pages = (
        base.load(path, relationships.PERSON.parse) for path in relationships.PERSON.paths(entity)
    )
    others = [page for page in pages if page.id != person]
    found = ((name, relationships.match(others, name)) for name in names)
    return {name: other.name for name, other in found if other}


def plan_record(plan: Forgetting, now: datetime, key: str) -> Change:
    """Plan to keep in mind whom a plan forgets, so that no merge and no import brings them back.

    Args:
        plan: What is forgotten.
        now: The present.
        key: Of the hashes of their names, hexadecimal, made of chance.
    """
    at = max(now, plan.last) if plan.last else now  # of two machines one may be ahead
    return forgotten.plan_add(at, plan.names, plan.ids, key, "keep in mind what is forgotten")


def _read_views(draft: ForgettingDraft) -> list[tuple[Kind, Path]]:
    """Read every record but the transcripts, and find all that goes: one may rest on another.

    Returns:
        The files that were read: another process may add some meanwhile.
    """
    read = [
        (kind, path, kind.read(path, draft.zone))
        for kind in kinds.KINDS
        if kind is not session_files.SESSION
        for path in kind.paths(draft.entity)
    ]
    draft.views = {path: views for _, path, views in read}
    named = [view for kind, _, views in read if kind.prefix for view in views]
    while more := {view.id for view in named if draft.is_own(view)} - draft.gone:
        draft.gone |= more
    return [(kind, path) for kind, path, _ in read]


# How each way of forgetting is done, but that of transcripts; of `listed` nothing is changed, a
# name in it is shown.
FORGETTERS: Mapping[Way, Callable[[ForgettingDraft, Kind, Path], None]] = {
    "beside": record_files.forget_files,
    "file": record_files.forget_files,
    "parts": record_files.forget_parts,
    "portrait": record_files.forget_portrait,
    "values": record_files.forget_state,
}


_STILL_THERE = (
    "The files have forgotten. What the server holds of it is deleted, and its space freed, by the"
    " next search or `bumble index` that reaches it."
)


def drop_caches(entity: Entity, caches: Iterable[Path]) -> None:
    """Remove what is kept for speed, and the prompts that are kept: it may hold what was said.

    Args:
        entity: Who forgets.
        caches: The folders of the user's cache that hold something of this entity, and of no other.
    """
    disk.clear(entity.private / "cache")
    disk.remove(entity.prompts)  # it holds all that was said
    disk.remove(entity.typed)  # and that what they said at this terminal
    for folder in caches:
        disk.clear(folder)


def scrub_traces(
    entity: Entity, plans: Sequence[Forgetting], at: place.Place, *, name: str, zone: tzinfo
) -> tuple[str, ...]:
    """Take a person out of the ledgers, the notes of commits that wait, and the index.

    Args:
        entity: Who forgets.
        plans: What was forgotten.
        at: Where its index stands. One that it left behind in the folder forgets, too.
        name: What the entity is called.
        zone: Its time zone.

    Returns:
        What may still be left of it.

    Raises:
        IndexServerError: If the server of the index does not answer; the next sync deletes the
            rows there.
    """

    def tells(text: str) -> bool:
        return any(plan.tells_of(text) for plan in plans)

    for path in (entity.ledger, entity.runs):
        _scrub_ledger(path, tells)
    uncommitted.reword(entity.root, tells)
    review_branch.drop(
        entity.root, review_queue.stray(entity.root)
    )  # what told of them waits no more
    shred = partial(sync.sync, entity, None, name=name, zone=zone, shreds=True)
    remains: tuple[str, ...] = ()
    if entity.vectors.exists():
        remains += shred(where=place.of(entity)).notes
    if at.server:
        server = structs.replace(at, local=None)  # nothing stands in for it: it has to forget
        sync.owe_sweep(entity)
        try:
            if at.server.there(entity):
                remains += shred(where=server).notes
            else:
                disk.remove(entity.private / sync.SWEEP)
        except IndexServerError as error:
            problem = str(error).splitlines()[0].removeprefix(f"{at.shown}: ")
            raise IndexServerError(at.shown, problem, _STILL_THERE) from error
    return remains


def _scrub_ledger(path: Path, tells: Callable[[str], bool]) -> None:
    """Drop the lines of a ledger that tell of them; its sums of the day are smaller by these."""
    lines = (disk.read_if_there(path) or b"").splitlines(keepends=True)
    left = [line for line in lines if not tells(line.decode(errors="replace"))]
    if len(left) < len(lines):
        disk.write_atomic(path, b"".join(left))


NOBODY = "?"  # in the place of an id that is not known: no id is like it


class _Back(Struct):
    """What is here of somebody who was forgotten."""

    names: list[str] = field(default_factory=list)
    returned: bool = False  # there is something that has to go
    speaks: bool = False  # said to an entity that did not know of it: in a clone, or before
    met: datetime | None = None  # when they said something to one that did, at first
    new: bool = False  # a program began their page since
    by_hand: bool = False  # their page is a person's: nobody has met them yet, and it stays

    def until(self, entry: forgotten.Forgotten) -> datetime | None:
        """Return until when what is no message of theirs goes; None: all of it does."""
        if self.met is not None:  # whose clock may be behind
            return min(entry.at, self.met - SECOND)
        return entry.at if self.by_hand or (self.new and not self.speaks) else None


def plan_again(entity: Entity, zone: tzinfo, *, of: datetime | None = None) -> Forgetting:
    """Plan to forget once more what a merge, an import or a copy brought back.

    Args:
        entity: Whose memory.
        zone: Its time zone.
        of: The time that the folder shows; None: the present.

    Raises:
        RecordInvalidError: If a file can't be read: nothing may be forgotten by half.
    """
    planned: dict[str, Change] = {}
    counts: Counter[str] = Counter()
    undecided: list[Undecided] = []
    for entry in forgotten.read(entity.root):
        for person, back in _returned(entity, entry, zone, of or entry.at).items():
            until = entry.at if person == NOBODY else back.until(entry)
            more = plan(entity, person, back.names, zone, entry=entry, until=until)
            if planned.keys().isdisjoint(change.path for change in more.changes):
                planned |= {change.path: change for change in more.changes}
                counts.update(more.counts)
                undecided += more.undecided if more.changes else ()
        if of is None:
            left = {change.path: change for change in _earlier_versions(entity, entry)}
            counts["earlier versions"] += len(left.keys() - planned.keys())
            planned |= left
    return Forgetting(tuple(planned.values()), dict(counts), tuple(undecided))


def _earlier_versions(entity: Entity, entry: forgotten.Forgotten) -> Iterator[Change]:
    """Plan to remove earlier versions that name somebody who was forgotten on another machine.

    Of their names only hashes are known, so each word is looked up, and each two. What names them
    still, or again, is by hand.
    """
    history = entity.root / HISTORY

    def names_them(path: Path) -> bool:
        said = stop_words.WORD.findall((disk.read_if_there(path) or b"").decode(errors="replace"))
        both = (" ".join(pair) for pair in pairwise(said))
        return any(map(entry.is_named, {*said, *both} - stop_words.WORDS))

    for path in filter(Path.is_file, sorted(history.rglob("*"))):
        if names_them(path) and not names_them(entity.root / _original(path.relative_to(history))):
            yield Change(entity.relative(path), "forget it", None, disk.sha256(disk.read(path)))


def _returned(
    entity: Entity, entry: forgotten.Forgotten, zone: tzinfo, of: datetime
) -> dict[str, _Back]:
    """Return whom of the forgotten the folder holds something of again.

    A page is theirs by its id alone: another may go by a name of theirs. Where only messages or
    records are back, without their names, the id is NOBODY.
    """
    found: defaultdict[str, _Back] = defaultdict(_Back)
    for path in session_files.SESSION.paths(entity):
        _hear(session_files.load(path), entry, found)
    for path in relationships.PERSON.paths(entity):
        person = base.load(path, relationships.PERSON.parse)
        if entry.is_named(person.id):
            back = found[person.id]
            back.names += person.names
            since = (back.until(entry) or entry.at).replace(microsecond=0)  # as pages have it
            back.by_hand = person.first_met is None and of >= entry.at
            back.new = person.first_met is not None and person.first_met >= since
            back.returned |= not (back.new or back.by_hand)
    of_ids = (kind for kind in kinds.KINDS if kind.prefix and kind is not session_files.SESSION)
    if any(kind.stem(path) in entry.ids for kind in of_ids for path in kind.paths(entity)):
        found[NOBODY].returned = True
    owner = _owner(entity)  # who stays that goes on adding to it, without a message
    for name in _listed(entity, zone):
        if entry.is_named(name) and not entry.is_named(owner) and found[name].until(entry) is None:
            found[name].returned = True
    returned = {person: back for person, back in found.items() if back.returned}
    if len(returned) > 1:
        returned.pop(NOBODY, None)  # their ids go with the first of them
    return returned


def _owner(entity: Entity) -> str:
    """Return the name of the entity's owner; empty where its file names nobody."""
    with suppress(RecordInvalidError, OSError, yaml_edit.SourceError):
        owner = yaml_read.parse_mapping(base.read_text(entity.file)).get("owner")
        return str(owner.get("name") or "") if isinstance(owner, dict) else ""
    return ""


def _hear(session: Session, entry: forgotten.Forgotten, found: defaultdict[str, _Back]) -> None:
    """Find what somebody who was forgotten says in a conversation."""
    if jsonl.doubles(jsonl.read(session.source)[0]):
        found[NOBODY].returned = True
    for message in session.messages:
        speaker = transcripts.speaker(session, message)
        if transcripts.is_emptied(message):
            continue
        if entry.is_named(speaker):
            back = found[speaker]
            back.names.append(str(message.extra.get("name") or ""))
            is_met = entry.is_met_after(message)
            back.met = min(filter(None, (back.met, message.at if is_met else None)), default=None)
            back.speaks |= not is_met
            back.returned |= not is_met
        elif message.id in entry.ids:
            found[NOBODY].returned = True


def _listed(entity: Entity, zone: tzinfo) -> set[str]:
    """Return the ids of all whom a record is of or for, but for those that a person wrote.

    One that can't be read names nobody.
    """
    listed = set[str]()
    for kind in kinds.KINDS:
        if kind in (relationships.PERSON, session_files.SESSION):  # looked at before
            continue
        for path in kind.paths(entity):
            with suppress(RecordInvalidError):
                views = [
                    one for one in kind.read(path, zone) if not provenance.is_by_hand(one.origin)
                ]
                listed |= {one for view in views for one in (*view.origin.audience, *view.people)}
    return listed


MOST_ROUNDS, SECOND = 20, timedelta(seconds=1)
TITLE = "person forget: what a merge brought back"


def check(entity: Entity, zone: tzinfo) -> Iterator[Finding]:
    """Yield what is here again though it was forgotten."""
    try:
        again = plan_again(entity, zone)
    except RecordInvalidError as error:
        if error.path.name == forgotten.PATH:
            yield Finding("record-invalid", error.problem, forgotten.PATH, error.line)
        return  # another file is a finding of its own
    for change in again.changes:
        sentence = "what was forgotten is here again"
        yield Finding("forgotten-back", sentence, change.path, fix="bumble doctor --fix")


def forget_again(
    entity: Entity,
    policy: commits.CommitPolicy,
    caches: Iterable[Path],
    *,
    at: place.Place,
    zone: tzinfo,
    timeout_seconds: float,
) -> Forgetting:
    """Forget what is back, in the folder and around it.

    Args:
        entity: Who forgets.
        policy: How commits are made.
        caches: The folders of the user's cache that hold something of this entity alone.
        at: Where its index stands.
        zone: Its time zone.
        timeout_seconds: How long to wait for another writer.

    Returns:
        What was done; without changes if nothing was back.

    Raises:
        RecordInvalidError: If a file can't be read: nothing may be forgotten by half.
    """
    done = Forgetting((), {}, ())
    for _ in range(MOST_ROUNDS):  # what two people share is done for one after the other
        more = plan_again(entity, zone)
        if not more.changes:
            break
        done = more
        change_set = ChangeSet(TITLE, done.changes)
        commits.apply(entity.root, change_set, policy, timeout_seconds=timeout_seconds)
        drop_caches(entity, caches)
        scrub_traces(entity, [done], at, name=policy.name, zone=zone)
    return done
