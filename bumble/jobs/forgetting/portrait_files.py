"""Forgetting in portraits: the person's own goes; those of others lose lines and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bumble.jobs.forgetting import record_files
from bumble.jobs.forgetting.draft import ForgettingDraft
from bumble.records import base, kinds, relationships
from bumble.records.kind import Kind, RecordView
from bumble.text import markdown
from bumble.text.markdown import Document


def forget(draft: ForgettingDraft, kind: Kind) -> None:
    """Remove their portrait, and what the notes in those of others hold of them alone."""
    for path, views in draft.views[kind.name]:
        relative = draft.entity.relative(path)
        for view in views:
            if view.document is None:
                continue
            if view.id == draft.person and draft.is_past(view.times.get("first_met")):
                change = base.plan_remove(relative, view.document, "forget the portrait")
                draft.add(change, "portrait")
                continue
            if view.id == draft.person:
                continue  # they have been met anew
            marks = relationships.of(view.document, view.id).lines
            if marks is None:
                document = record_files.without_words(draft, kind, view) or view.document
            else:
                document = _without_lines(draft, kind, view, view.document, marks)
            document = _without_notes(draft, document, view.notes)
            edit = base.plan_edit(relative, view.document, document, "forget notes")
            draft.add(edit, "files with notes")


def _without_lines(
    draft: ForgettingDraft,
    kind: Kind,
    view: RecordView,
    document: Document,
    marks: Mapping[str, base.Provenance],
) -> Document:
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
        messages = {name for name in sources if kinds.of_id(name) != kinds.SESSION.name} or sources
        if messages and messages <= draft.gone:
            continue
        new = draft.scrub(line, near=not draft.gone.isdisjoint(sources))
        if new.strip():
            rows.append(new)
            left[relationships.line_key(new)] = raw[key]
    rows_text = "".join(rows)
    if rows_text.rstrip() != document.body:
        document = base.with_values(document, {"lines": left}).with_body(rows_text)
    document = record_files.without_id(draft, kind, document)
    for key in kind.text_keys:
        value = document.meta.get(key)
        if value is None:
            continue
        if (new_value := draft.scrub_values(value, near=draft.touches(view))) != value:
            document = base.with_values(document, {key: new_value or None})
    return document


def _without_notes(
    draft: ForgettingDraft, document: Document, notes: Sequence[RecordView]
) -> Document:
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
