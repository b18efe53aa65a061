"""Writing what was read of other programs' files into an entity, batch by batch.

Conversations become transcripts with their own times; facts and skills are kept as quotations.
Ids are made of the ids where a thing comes from, so that what is there already is passed over, and
an import that was cut off is finished by running it again. Knows no format.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bumble.bridges.imports import card
from bumble.bridges.imports.items import (
    PERSON,
    Fact,
    ImportedPersona,
    ImportedTalk,
    ImportedTurn,
    ImportReport,
    Item,
    LeftOut,
    Recipe,
)
from bumble.entity import changes, folder, secrets
from bumble.errors import RecordInvalidError, UserError
from bumble.records import (
    base,
    forgotten,
    knowledge,
    session_files,
    sessions,
    skills,
)
from bumble.runtime.people import Person
from bumble.text import markdown, moments, printable, stop_words
from bumble.text.words import one_line, shorten

BY = "import"
TRUST = "imported"
BATCH_FILES, BATCH_BYTES = 64, 6_000_000  # of a change set, which is a commit
MAX_TEXT_CHARS = 400_000  # of one message
MAX_TRANSCRIPT_BYTES = 48_000_000
MAX_TITLE_CHARS, MAX_DESCRIPTION_CHARS, MAX_ID_CHARS = 120, 1000, 200
MAX_SHOWN_CHARS = 60  # of a title in the report
TOO_LARGE = f"conversations larger than {MAX_TRANSCRIPT_BYTES:,} bytes"
FORGOTTEN = "conversations of somebody who was forgotten"  # and so unnamed
CHANGED = "changed"  # when the file of a wording was, which orders them
ALIKE = 1 / 3  # of a note's words, and it is another's edit
ID_TAIL = 16  # letters of an id that say what it is, not when


class _Placed(Struct, frozen=True):
    """A turn with the id and the time that it has here."""

    id: str
    at: datetime
    turn: ImportedTurn


class Importer:
    """Takes what was read, an item at a time, and writes it."""

    def __init__(
        self,
        entity: folder.Entity,
        speaker: Person,
        form: str,
        apply: Callable[[changes.ChangeSet], object],
        now: datetime,
        since: datetime | None = None,
    ) -> None:
        """Look at what is there already.

        Args:
            entity: Into which.
            speaker: Whose files these are.
            form: The format's name.
            apply: Writes a change set.
            now: The present.
            since: Conversations that ended before are passed over.
        """
        self.entity, self.speaker, self.form = entity, speaker, form
        self.apply, self.now, self.since = apply, now, since
        self.report = ImportReport()
        self._planned: list[changes.Change] = []
        self._bytes = 0
        # the conversations that were imported before, each with whose it is, by its origin
        self._there = {
            str(info.imported.get("id")): (info.id, info.by)
            for info in session_files.imports(entity.sessions)
            if info.imported and info.imported.get("from") == form
        }
        self._elsewhere: dict[str, list[tuple[str, str]]] | None = (
            None  # notes that lie there no more
        )
        self._forgotten = forgotten.read(entity.root)
        self._book = self._book_read = knowledge.read(entity.knowledge)
        self._facts: dict[str, str] = {}  # the sources of sections to be added, by their titles
        self._skills = list(skills.SKILL.readable(entity.skills))
        self._what = ""  # is being taken, in a few words
        self._titles: dict[str, int] = {}  # how many of this import have a title, by its key

    def take(self, item: Item) -> None:
        """Plan what an item asks for; writes when a batch is full."""
        # the first of what an item is called, without a secret
        names = (getattr(item, key, "") for key in ("title", "name", "what", "id"))
        self._what = shorten(
            secrets.redacted(one_line(next(filter(None, names), ""))), MAX_SHOWN_CHARS
        )
        broken = self.report.broken
        match item:
            case ImportedTalk():
                self._talk(item)
            case Fact():
                self._fact(item)
            case Recipe():
                self._recipe(item)
            case ImportedPersona():
                self._persona(item)
            case LeftOut():
                self.report.leave(item)
        self.report.read |= not isinstance(item, LeftOut) and self.report.broken == broken
        if len(self._planned) >= BATCH_FILES or self._bytes >= BATCH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what is planned."""
        if self._facts:
            self._add_facts()
        planned = list(self._planned)
        if self._book.source != self._book_read.source and self._book.source is not None:
            why = "what another assistant knew"
            book = changes.write(knowledge.PATH, self._book.source, self._book_read.source, why)
            planned.append(book)
        if planned:
            count = sum(change.path.startswith(f"{sessions.FOLDER}/") for change in planned)
            what = f"{count} conversation{'s' * (count != 1)}" if count else "what was known"
            self.apply(changes.ChangeSet(f"{BY}: {what} from {self.form}", tuple(planned)))
        self._book_read = self._book
        self._planned, self._bytes = [], 0

    def _plan(self, change: changes.Change) -> None:
        self._planned.append(change)
        self._bytes += len(change.data or b"")

    def _talk(self, talk: ImportedTalk) -> None:
        title = self._safe(one_line(talk.title))[:MAX_TITLE_CHARS]
        key = self._key_of_note(talk, _key(talk.id)) if talk.beside else _key(talk.id)
        placed = self._placed(talk, key)
        turns = [one.turn for one in placed] if placed else talk.turns
        count = sum(turn.blocks for turn in turns)
        if placed and self.since is not None and placed[-1].at < self.since:
            self.report.older += 1
            left: LeftOut | None = LeftOut(title or key, "conversations older than --from")
        elif left := self._take_talk(talk, title, key, placed):
            self.report.leave(left)
        if left is None:
            self.report.blocks += count
        elif count:
            inside = {"why": f"in {left.why}", "count": count, "is_block": True, "broken": False}
            self.report.leave(replace(left, **inside))

    def _take_talk(
        self, talk: ImportedTalk, title: str, key: str, placed: Sequence[_Placed]
    ) -> LeftOut | None:
        """Plan a conversation; say why it is left out, nothing where it isn't."""
        if not placed:
            why = "conversations without a time" if talk.turns else "conversations without words"
            return LeftOut(title or key, why, broken=bool(talk.turns))
        there, whose = self._there.get(key, ("", ""))
        why = f"a conversation: {shorten(title, 60)}" if title else "a conversation"
        if there and whose != self.speaker.id:
            why = f"conversations that are here as {whose}'s: undo that import first"
            return LeftOut(title or key, why) if whose else LeftOut("", FORGOTTEN)
        if there and self._is_planned(there):
            self.flush()
        try:
            if there:
                return self._go_on(there, key, title, placed, why)
            return self._begin(key, title, placed, why)
        except RecordInvalidError as error:
            why = f"conversations whose file can't be read: {error.problem}"
            return LeftOut(error.path.parent.name, why, broken=True)

    def _begin(self, key: str, title: str, placed: Sequence[_Placed], why: str) -> LeftOut | None:
        messages = [self._message(one) for one in placed]
        name = f"{self.form}:{key}"
        session_id = base.stable_id(sessions.PREFIX, placed[0].at, name)
        count = 1
        # taken by a note that has moved on, or by what was forgotten
        while (is_planned := self._is_planned(session_id)) or self._file(session_id).exists():
            if not (is_planned or session_files.read_info(self._file(session_id)).by):
                return LeftOut("", FORGOTTEN)
            count += 1
            session_id = base.stable_id(sessions.PREFIX, placed[0].at, f"{name} #{count}")
        if count > 1:
            messages = [
                replace(
                    one, id=base.stable_id(sessions.MESSAGE_PREFIX, one.at, f"{one.id} #{count}")
                )
                for one in messages
            ]
        origin = base.filled({"from": self.form, "id": key, "title": title})
        session = sessions.new(session_id, messages[0].at, self.speaker.id, imported=origin)
        change = sessions.plan_start(session, why, messages)
        if len(change.data or b"") > MAX_TRANSCRIPT_BYTES:
            return LeftOut(title or key, TOO_LARGE, broken=True)
        self._there[key] = session_id, self.speaker.id
        self.report.new += 1
        self.report.messages += len(messages)
        self._plan(change)
        return None

    def _is_planned(self, session_id: str) -> bool:
        return sessions.path(session_id) in {change.path for change in self._planned}

    def _file(self, session_id: str) -> Path:
        return self.entity.root / sessions.path(session_id)

    def _key_of_note(self, talk: ImportedTalk, place: str) -> str:
        """Return the key of a note: its place, numbered where other notes have lain there before.

        The conversation of a note that has lain elsewhere is found at this place from now on.
        """
        if place not in self._there and (there := self._moved(talk, place)):
            self._there[place] = there, self.speaker.id
        text, number, key = secrets.redacted(talk.turns[-1].text), 1, place
        while key in self._there and not self._may_be(text, key):
            number += 1
            key = f"{place}#{number}"
        return key

    def _may_be(self, text: str, key: str) -> bool:
        """Whether a text may be another wording of the note of a key; True where none can tell."""
        there, whose = self._there[key]
        file = self._file(there)
        if whose != self.speaker.id or (self._is_planned(there) and not file.exists()):
            return True
        found = session_files.talks([file])
        wordings = [message.text for session in found for message in session.messages]
        return not wordings or any(_is_alike(text, wording) for wording in wordings)

    def _moved(self, talk: ImportedTalk, key: str) -> str:
        """Return the conversation of their note that lay elsewhere and says the same; else nothing.

        It lay where the import is from; or in a vault of another name, in a file of this name.
        """
        if self._elsewhere is None:
            self._elsewhere = {}
            here = {*map(_key, talk.beside)}
            own = {
                one: name
                for name, (one, by) in self._there.items()
                if by == self.speaker.id and not here & {name, name.rpartition("#")[0]}
            }
            for session in session_files.talks(map(self._file, sorted(own))):
                for message in session.messages[-1:]:
                    said = self._elsewhere.setdefault(_without_title(message.text), [])
                    said.append((own[session.id], session.id))
        text = _without_title(secrets.redacted(talk.turns[-1].text))
        same = self._elsewhere.get(text, []) if text else []
        vault, _, place = key.partition("/")
        file = place.rpartition("/")[2]
        for name, there in reversed(same):
            other, _, lay = name.partition("/")
            if name.startswith(talk.below) or (other != vault and lay.rpartition("/")[2] == file):
                same.remove((name, there))
                return there
        return ""

    def _go_on(
        self, session_id: str, key: str, title: str, placed: Sequence[_Placed], why: str
    ) -> LeftOut | None:
        """Add what was said since the last import, and where a note lies now."""
        if not self._file(session_id).exists():  # of a dry run
            self.report.grown += 1
            self.report.messages += len(placed)
            return None
        session = session_files.load(self._file(session_id))
        known = {message.id[-ID_TAIL:]: message.id for message in session.messages}
        new, before = list[sessions.Message](), ""
        for one in placed:
            if one.turn.changed is not None:
                new += self._reworded(session, one)
            elif one.id[-ID_TAIL:] not in known:
                new.append(replace(self._message(one), after=before))
            before = known.get(one.id[-ID_TAIL:], one.id)
        origin = session.imported or {}
        moved = {**origin, "id": key, "title": title}
        lines = [sessions.Moved(self.now, moved)] if origin.get("id") != key else []
        change = sessions.plan_append(session, [*lines, *new], why)
        size = len(session.source.encode("utf-8", "replace")) + len(change.data or b"")
        if new and size > MAX_TRANSCRIPT_BYTES:
            return LeftOut(session_id, TOO_LARGE, broken=True)
        self.report.unchanged += not new
        self.report.grown += bool(new)
        self.report.messages += len(new)
        if lines or new:
            self._plan(change)
        return None

    def _reworded(self, session: sessions.Session, one: _Placed) -> Iterator[sessions.Message]:
        """Yield a note as it is now, if it isn't its last wording, or an older one come back."""
        text, [*earlier, last] = secrets.redacted(one.turn.text), session.messages
        is_last = text == last.text or one.id[-ID_TAIL:] == last.id[-ID_TAIL:]
        changed = self._time(one.turn.changed) or one.at
        before = base.field(last.extra, CHANGED, datetime, last.at)
        is_old = changed <= before and text in [message.text for message in earlier]
        if not (is_last or is_old):
            message = self._message(one)
            if message.id in {said.id for said in session.messages}:  # a wording that came back
                name = f"{one.id} {base.stamp(changed)}"
                message = replace(message, id=base.stable_id(sessions.MESSAGE_PREFIX, one.at, name))
            edit = {CHANGED: base.stamp(changed), sessions.REPLACES: last.id}
            yield replace(message, extra={**message.extra, **edit})

    def _placed(self, talk: ImportedTalk, key: str) -> list[_Placed]:
        """Give turns their ids and times; one without a time has that of the one before it."""
        is_edit = key in self._there and not talk.is_dated  # its file says when it was
        times = [
            self._time(turn.changed if is_edit else None) or self._time(turn.at)
            for turn in talk.turns
        ]
        at = self._time(talk.at) or next(filter(None, times), None)
        if at is None and any((talk.at, *(turn.at for turn in talk.turns))):
            at = self._time(self.now)  # a clock was wrong
        if at is None:
            return []
        at = min(at, next(filter(None, times), None) or at)
        placed, seen = [], dict[str, int]()
        for turn, time in zip(talk.turns, times, strict=True):
            at = max(at, time or at)  # the order in which they stand is that in which they were
            seen[turn.id] = seen.get(turn.id, 0) + 1
            turn_key = turn.id if seen[turn.id] == 1 else f"{turn.id} #{seen[turn.id]}"
            name = f"{self.form}:{key}:{turn_key}"
            placed.append(_Placed(base.stable_id(sessions.MESSAGE_PREFIX, at, name), at, turn))
        return placed

    def _time(self, at: datetime | None) -> datetime | None:
        if at is None or moments.is_ahead(at, self.now):
            return None
        return at.astimezone(UTC).replace(microsecond=at.microsecond // 1000 * 1000)

    def _message(self, placed: _Placed) -> sessions.Message:
        turn, text = placed.turn, placed.turn.text
        if len(text) > MAX_TEXT_CHARS:
            self.report.leave(
                LeftOut(text[:40], f"the rest of texts longer than {MAX_TEXT_CHARS:,} characters")
            )
            text = text[:MAX_TEXT_CHARS] + "\n[… cut at the import]"
        name = self._safe(one_line(turn.name))[:MAX_TITLE_CHARS]
        extra = base.filled({"name": name, "model": one_line(turn.model)[:MAX_TITLE_CHARS]})
        message = sessions.Message(
            placed.id,
            placed.at,
            "assistant",
            self._safe(text),
            trust=TRUST,
            extra=extra,
        )
        if turn.by == PERSON:
            own, extra = self.speaker, {"name": self.speaker.name}
            said = replace(message, role="user", speaker=own.id, trust=own.trust, extra=extra)
            # note of a message by somebody who was forgotten before that they are met anew
            before = [entry for entry in self._forgotten if entry.at < said.at]
            anew = forgotten.met_after(before, said.speaker, str(said.extra.get("name", "")))
            return replace(said, extra={**said.extra, **anew})
        return message

    def _safe(self, text: str) -> str:
        """Return a text without secrets, and count it if it had one."""
        if secrets.find_secret(text) is None:
            return text
        self.report.secrets.append(self._what)
        return secrets.redacted(text)

    def _origin(self, *, public: bool) -> base.Provenance:
        return base.Provenance(by=BY, trust=TRUST, audience=() if public else (self.speaker.id,))

    def _unique(self, title: str) -> str:
        """Return a title that no other of this import has, the same at every import."""
        key = knowledge.key(title)
        self._titles[key] = self._titles.get(key, 0) + 1
        return title if self._titles[key] == 1 else f"{title} {self._titles[key]}"

    def _fact(self, fact: Fact) -> None:
        title = self._unique(shorten(knowledge.said(self._safe(fact.title)), MAX_TITLE_CHARS))
        there = knowledge.find(self._book, title)
        if there is not None and there.provenance.by != BY:
            self.report.leave(LeftOut(title, "sections whose title is there already"))
            return
        text, origin = self._safe(fact.text), self._origin(public=fact.public)
        try:
            if there is None:
                self._facts[title] = knowledge.new_section(title, text, origin)
                self._bytes += len(text)
            else:
                told = (self._book, title, text)
                self._revise(knowledge.with_section(*told, by_entity=True, provenance=origin), 1)
        except UserError as error:
            self.report.leave(LeftOut(title, str(error).splitlines()[0]))

    def _revise(self, book: knowledge.Knowledge, count: int) -> None:
        """Take sections into the book, if they say anything new."""
        if book is self._book:
            self.report.same += count
        else:
            self._book = book
            self.report.facts += count

    def _add_facts(self) -> None:
        """Add the sections that are new, all at once; if they don't fit, those that do."""
        facts, self._facts = self._facts, {}
        try:
            self._revise(knowledge.with_added(self._book, list(facts.values())), len(facts))
        except UserError:
            for title, section in facts.items():
                try:
                    self._revise(knowledge.with_added(self._book, [section]), 1)
                except UserError as error:
                    self.report.leave(LeftOut(title, str(error).splitlines()[0]))

    def _recipe(self, recipe: Recipe) -> None:
        name = self._unique(shorten(self._safe(one_line(recipe.name)), MAX_TITLE_CHARS))
        text = self._safe(recipe.text)
        if not name.strip() or not text.strip() or len(text) > markdown.MAX_BYTES // 4:
            self.report.leave(LeftOut(name, "skills without a name or a text, or far too long"))
            return
        description = self._safe(one_line(recipe.description))[:MAX_DESCRIPTION_CHARS]
        there = skills.SKILL.match(self._skills, name)
        if there is not None and there.provenance.by != BY:
            self.report.leave(LeftOut(name, "skills whose name is there already"))
            return
        origin = self._origin(public=True)
        why = f"the skill {shorten(name, 60)}"
        change = skills.plan_set(
            self._skills, name, description, text, why, overwrite=True, provenance=origin
        )
        if change is None or change.data is None:
            self.report.same += 1
        elif there is None and (
            (self.entity.root / change.path).exists()
            or change.path in {planned.path for planned in self._planned}
        ):
            self.report.leave(LeftOut(name, "skills whose file is there already"))
        else:
            self._plan(change)
            self.report.skills += 1

    def _persona(self, found: ImportedPersona) -> None:
        text = replace(
            found,
            monologue=self._safe(found.monologue),
            voice=self._safe(found.voice),
            greeting=self._safe(found.greeting),
            card=printable.each_text(found.card, self._safe),
        )
        self.flush()
        who = self.speaker.id
        for change in card.plan_persona(self.entity, text, self.now, who, self.report):
            self._plan(change)


def _key(talk_id: str) -> str:
    """Return the id that a conversation has where it comes from, short enough to be kept."""
    is_long = len(talk_id) > MAX_ID_CHARS
    return hashlib.sha256(talk_id.encode("utf-8", "replace")).hexdigest() if is_long else talk_id


def _without_title(text: str) -> str:
    """Return what a note says below its title, by which it is known where it is named anew."""
    title, _, below = text.partition("\n")
    return below.strip() if title.startswith("# ") else text.strip()


def _is_alike(text: str, other: str) -> bool:
    """Whether a note may be another's edit: a good part of the shorter one's words is in both."""
    one, two = (
        set(map(stop_words.folded, stop_words.telling_words(_without_title(each))))
        for each in (text, other)
    )
    fewer = min(len(one), len(two))
    return not fewer or len(one & two) >= fewer * ALIKE


def run(items: Iterable[Item], importer: Importer) -> ImportReport:
    """Import everything that a reader yields."""
    for item in items:
        importer.take(item)
    importer.flush()
    return importer.report
