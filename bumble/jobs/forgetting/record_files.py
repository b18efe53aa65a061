"""Forgetting in files of records: what is theirs alone goes, others lose the id, words and name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from bumble.entity import changes, companions
from bumble.history import review as proposed
from bumble.jobs import episode
from bumble.jobs.forgetting.draft import ForgettingDraft
from bumble.records import (
    base,
    episodes,
    fields,
    journal,
    kinds,
    narrative,
    provenance,
    relationships,
    session_files,
    sessions,
    soma,
    state,
    working,
)
from bumble.records.kind import Kind, RecordView, rewritten
from bumble.runtime import audiences, review_queue
from bumble.text import markdown


def forget_files(draft: ForgettingDraft, kind: Kind, path: Path) -> None:
    """Remove a file that is theirs alone; another loses the id, their words and the name."""
    (view,), relative = draft.views[path], draft.entity.relative(path)
    if relative in draft.planned or view.document is None:
        return
    goes = draft.is_own(view) or _is_named_for_them(draft, kind, view)
    document = None if goes else without_words(draft, kind, view)
    if document is None:
        draft.add(changes.delete(relative, view.document.text, "forget it"), kind.plural)
        return
    edit = base.plan_edit(relative, view.document, document, "forget a name")
    draft.add(edit, f"{kind.plural} with the name")
    told = path.stem.removesuffix(kind.stem(path)) if kind.prefix else ""
    if edit is not None and re.search(r"[^\W\d_]", told):
        record = kind.parse(document.text, kind.stem(path))
        if base.file_stem(record.filed_as, record.id) != path.stem:  # it still tells what it told
            _name_anew(draft, kind, relative, view.document, document)


WORKSPACE = "files of the workspace"


def forget_workspace(draft: ForgettingDraft) -> None:
    """Remove the files that the entity wrote in talks with them alone; a person's own stay."""
    for path in sorted(draft.entity.workspace.rglob("*")):
        relative = draft.entity.relative(path)
        if path.is_symlink() or not path.is_file() or not companions.of(path)[1]:
            continue
        whole = companions.read(draft.entity.root, relative) or b""
        text = whole.decode(errors="replace")
        origin = base.provenance(companions.commented(text) or {})
        if draft.is_own(RecordView(relative, text, origin, origin.sources)):
            digest = companions.digest(relative, whole)
            draft.add(changes.Change(relative, "forget it", None, digest), WORKSPACE)


def _is_named_for_them(draft: ForgettingDraft, kind: Kind, view: RecordView) -> bool:
    """Whether a program called a file by their name: what is left of it is drawn anew."""
    is_made = kind.name in audiences.NAMED_BY_WORDS and bool(view.origin.by)
    return is_made and draft.is_past(view.at) and draft.is_named(view.id)


def _name_anew(
    draft: ForgettingDraft,
    kind: Kind,
    relative: str,
    before: markdown.Document,
    after: markdown.Document,
) -> None:
    """Name a file by its id alone: what its name tells may be of them."""
    place = PurePosixPath(relative)
    plain = str(place.with_stem(kind.stem(place)))
    draft.planned[relative] = changes.delete(relative, before.text, "forget a name")
    draft.planned[plain] = changes.write(plain, after.text, None, "forget a name")
    draft.moved[relative] = plain


def follow_moved(draft: ForgettingDraft) -> None:
    """Let the links to files that are named anew lead there."""
    for kind in (narrative.NARRATIVE, working.WORKING, journal.JOURNAL):
        for path in kind.paths(draft.entity) if draft.moved else ():
            relative, old = draft.entity.relative(path), base.read_text(path)
            change = draft.planned.get(relative)
            text = old if change is None else (change.data or b"").decode()
            new = text
            for was, now in draft.moved.items():
                new = new.replace(was, now)
            if new != text:
                draft.planned[relative] = changes.write(relative, new, old, "forget a name")


def without_words(draft: ForgettingDraft, kind: Kind, view: RecordView) -> markdown.Document | None:
    """Return a file that others share without what was theirs; None if nothing is left of it."""
    if view.document is None or not draft.is_past(view.at):
        return view.document
    document = without_id(draft, kind, view.document)
    if provenance.is_by_hand(view.origin):
        return document
    near = draft.touches(view)
    document = _without_named(draft, kind, document, near=near)
    left = _messages_without(draft, view) if kind is episodes.EPISODE and near else None
    if left is not None:
        # tell an episode as an excerpt of what the others said; None if they said nothing
        others = [one for one in left if one.role == "user" and one.text.strip()]
        if not others:
            return None
        values = {"summary_source": episodes.EXCERPT, "model": None, "inferences": None}
        told = episode.excerpt(others, lambda one: str(one.extra.get("name") or one.speaker))
        return base.with_values(document, values).with_body(draft.replace_names(told.text))
    body = draft.scrub(document.body, near=near)
    if body == document.body:
        return document
    return document.with_body(body) if body.strip() or kind is relationships.PERSON else None


def _without_named(
    draft: ForgettingDraft, kind: Kind, document: markdown.Document, *, near: bool
) -> markdown.Document:
    """Take their words and the name out of what the front matter says in words."""
    for key in kind.text_keys:
        value = document.meta.get(key)
        if value is not None and (new := draft.scrub_values(value, near=near)) != value:
            document = base.with_values(document, {key: new or None})
    return document


def _messages_without(draft: ForgettingDraft, view: RecordView) -> list[sessions.Message] | None:
    """Return what an episode was told of as it is without them; None if it is not here."""
    if view.origin.by != episode.PURPOSE or view.document is None:
        return None
    session_id = episodes.EPISODE.of(view.document, view.id).session
    path = draft.entity.root / sessions.path(session_id)
    if not base.is_id(session_id) or not path.is_file():
        return None
    change = draft.planned.get(sessions.path(session_id))
    source = change.data.decode(errors="surrogateescape") if change and change.data else None
    session = sessions.parse(source) if source else session_files.load(path)
    return [message for message in session.messages if message.id in view.sources]


def without_id(
    draft: ForgettingDraft, kind: Kind, document: markdown.Document
) -> markdown.Document:
    """Take a person out of a record's lists of ids; what was for them alone opens to nobody."""
    for key in kind.people_keys:
        listed = base.texts(document.meta, key)
        left = [person_id for person_id in listed if person_id != draft.person]
        if left != list(listed) and (left or key != "audience"):
            document = base.with_values(document, {key: left or None})
    return document


def forget_parts(draft: ForgettingDraft, kind: Kind, path: Path) -> None:
    """Take out of a file the parts that are theirs alone; all other bytes but the name's stay."""
    old = base.read_text(path)
    new = rewritten(old, draft.views[path], partial(_strip_part, draft))
    if new != old:
        change = changes.write(draft.entity.relative(path), new, old, f"forget {kind.plural}")
        draft.add(change, f"files of {kind.plural}")


def _strip_part(draft: ForgettingDraft, view: RecordView) -> str:
    """Take a person out of what others heard too; the words of a hand stay as they are."""
    if draft.is_own(view):
        return ""
    text, audience = view.source, list(view.origin.audience)
    if not draft.is_past(view.at):
        return text
    left = [person_id for person_id in audience if person_id != draft.person]
    if left and left != audience:
        text = provenance.with_origin_values(text, {"audience": left})
    if provenance.is_by_hand(view.origin):
        return text
    near = draft.touches(view)
    if text.startswith(working.NOTE_MARK):  # a line that is a note of its own
        repeats = draft.speech.echoes if near or draft.is_named(text) else draft.speech.quotes
        return "" if repeats(view.text) else draft.replace_names(text)
    lines = markdown.lines(text)
    # lines that are its heading, or say where it comes from
    is_head = [line.startswith(("#", "<!--")) or not line.strip() for line in lines]
    head = is_head.index(False) if False in is_head else len(lines)
    body = draft.scrub("".join(lines[head:]), near=near)
    above = draft.replace_names("".join(lines[:head]))
    if view.origin.said:  # nobody is to try keys of what is gone
        said = view.origin.reworded("".join(lines[head:]), body).meta()
        kept = {companions.BY_SENTENCE: said.get(companions.BY_SENTENCE)}
        above = provenance.with_origin_values(above, kept)
    return above + body if body.strip() else ""


def forget_portrait(draft: ForgettingDraft, kind: Kind, path: Path) -> None:
    """Remove their portrait, or what the notes in that of another hold of them alone."""
    (view,), relative = draft.views[path], draft.entity.relative(path)
    if view.document is None:
        return
    if view.id == draft.person:
        met, until = view.times.get("first_met"), draft.until
        if until is None or (met and met < until.replace(microsecond=0)):  # else it is of later
            gone = changes.delete(relative, view.document.text, "forget the portrait")
            draft.add(gone, "portrait")
        return
    marks = relationships.PERSON.of(view.document, view.id).lines
    document = (
        without_words(draft, kind, view) or view.document
        if marks is None
        else _without_lines(draft, kind, view, view.document, marks)
    )
    document = _without_notes(draft, document, view.notes)
    if _is_empty(draft, view, document):  # of somebody of whom they alone have told
        gone = changes.delete(relative, view.document.text, "forget the page")
        draft.add(gone, "pages of those they told of")
        return
    edit = base.plan_edit(relative, view.document, document, "forget notes")
    draft.add(edit, "files with notes")


def _is_empty(draft: ForgettingDraft, view: RecordView, document: markdown.Document) -> bool:
    """Whether nothing is left on a page that was for them alone."""
    page = relationships.PERSON.of(document, view.id)
    is_theirs = view.origin.audience == (draft.person,) and draft.is_past(view.at)
    return is_theirs and not (page.text or page.pending or page.interaction_count)


def _without_lines(
    draft: ForgettingDraft,
    kind: Kind,
    view: RecordView,
    document: markdown.Document,
    marks: Mapping[str, base.Provenance],
) -> markdown.Document:
    """Forget in a portrait line by line: what rests on them alone goes, a person's own stays."""
    if not draft.is_past(view.at):
        return document
    raw = base.field(document.meta, "lines", dict, {})
    left, rows = dict[str, Any](), list[str]()
    for line in markdown.lines(document.body):
        key = relationships.line_key(line)
        mark = marks.get(key)
        if mark is None or not line.strip():
            rows.append(line)
            continue
        sources = set(mark.sources)
        messages = {
            name for name in sources if kinds.of_id(name) != session_files.SESSION.name
        } or sources
        if messages and messages <= draft.gone:
            continue
        new = draft.scrub(line, near=not draft.gone.isdisjoint(sources))
        if mark.by.endswith(provenance.BY_FORM) and new != line:
            continue  # a link: what it leads to has another name now
        if new.strip():
            rows.append(new)
            left[relationships.line_key(new)] = raw[key]
    rows_text = "".join(rows)
    if rows_text.rstrip() != document.body:
        document = base.with_values(document, {"lines": left}).with_body(rows_text)
    document = without_id(draft, kind, document)
    return _without_named(draft, kind, document, near=draft.touches(view))


def _without_notes(
    draft: ForgettingDraft, document: markdown.Document, notes: Sequence[RecordView]
) -> markdown.Document:
    raw = base.field(document.meta, "pending", list, [])
    left = []
    for note, value in zip(notes, raw, strict=True):
        if draft.is_own(note):
            continue
        text = draft.scrub(note.text, near=draft.touches(note)) if note.origin.by else note.text
        if not text.strip():
            continue
        audience = [person_id for person_id in note.origin.audience if person_id != draft.person]
        new = {**value, "text": text} if text != note.text else value
        is_listed = draft.person in note.origin.audience
        left.append({**new, "audience": audience} if is_listed else new)
    return document if left == raw else base.with_values(document, {"pending": left or None})


def forget_state(draft: ForgettingDraft, _: Kind, path: Path) -> None:
    """Take out what waits of their talks, and what is proposed for review and tells of them."""
    file = state.read(path)
    remove: list[list[str]] = []
    remove += [[state.SECTION, name] for name in state.waiting(file) if name in draft.gone]
    remove += [[state.QUOTED, name] for name in state.quoted(file) if name in draft.gone]
    distilled = file.get("distill", default={})
    remove += [["distill", record_id] for record_id in distilled if record_id in draft.gone]
    telling = [
        proposal.name
        for proposal in proposed.waiting(draft.entity.root)
        if any(map(draft.tells_of, (proposal.title, *proposal.added)))
    ]
    remove += [[review_queue.SECTION, review_queue.WAITING, name] for name in telling]
    if remove:
        draft.add(state.plan_write(file, {}, "forget what waits", remove=remove), "places in state")


def forget_body(draft: ForgettingDraft) -> None:
    """Take the thoughts and feelings out of the body that are of them."""
    file = soma.read(draft.entity.soma)
    values: dict[str, Any] = {}
    remove: list[list[str]] = []
    thoughts = file.get("noise", "fragments", default=[])
    if isinstance(thoughts, list):
        found = (_thought_without(draft, entry) for entry in thoughts)
        left = [entry for entry in found if entry is not None]
        if left != thoughts:
            values["noise"] = {"fragments": left}
    felt = file.get("felt")
    if isinstance(felt, Mapping) and _thought_without(draft, felt) != felt:
        remove.append(["felt"])
    if values or remove:
        change = soma.plan_write(file, values, "forget a thought", remove=remove)
        draft.add(change, "places in the body")


def _thought_without(draft: ForgettingDraft, entry: Any) -> Any:
    """Return a thought or a feeling without them: None if nothing is left."""
    if not isinstance(entry, Mapping) or not draft.is_past(fields.moment(entry.get("at"))):
        return entry
    audience = base.texts(entry, "audience")
    if set(audience) == {draft.person}:
        return None
    new = draft.scrub_values(dict(entry), near=draft.person in audience)
    if any(not new[key] and entry[key] for key in entry):
        return None
    if draft.person in audience:
        new["audience"] = [name for name in audience if name != draft.person]
    return new
