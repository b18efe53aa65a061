"""Scratch notes: one line each in `working/scratch.md`, jotted down in a turn for later.

    - 2026-05-24 12:00 [directive] Sam wants short answers. <!-- {by: chat, from: [ses_1]} -->

The newest stand before each message; they are not searched. Putting memory in order moves them to
the journal.
Knows nothing of models or prompts.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo
from pathlib import Path

from bumble.entity import changes
from bumble.errors import UsageError
from bumble.records import base, provenance
from bumble.records.fields import parts
from bumble.records.kind import Kind, RecordView
from bumble.text import markdown
from bumble.text.words import one_line

PATH = "working/scratch.md"
KINDS = ("experience", "directive", "world_fact", "mental_model")
MARK = "- "


def parse(source: str, stem: str = "") -> list[str]:
    """Return the notes in the text of the file, oldest first, a line each."""
    return [line for line in source.splitlines() if line.startswith(MARK)]


def lines(file: Path) -> list[str]:
    """Return the notes, oldest first; none if there is no file."""
    return parse(base.read_text(file)) if file.is_file() else []


def origin(line: str) -> base.Provenance:
    """Return where a note says it comes from; nothing for one that a person wrote."""
    at = line.rfind("<!--")
    return provenance.split_origin(line[at:])[0] if at >= 0 else base.Provenance()


def shown(line: str) -> str:
    """Return a note without where it comes from."""
    at = line.rfind("<!--")
    return line[:at].rstrip() if at >= 0 and origin(line).by else line


def without_notes(text: str) -> str:
    """Return what is left of the file's text without its notes, byte for byte."""
    kept = [line for line in text.splitlines(keepends=True) if not line.startswith(MARK)]
    text = "".join(kept)
    return text if markdown.parse(text).body else ""  # where its companion lies is no text


def _views(path: Path, _: tzinfo) -> Sequence[RecordView]:
    return [
        RecordView(
            f"{path.stem}, line {number}",
            shown(line).strip(),
            origin(line),
            origin(line).sources,
            line=number,
            source=line,
        )
        for number, line in enumerate(markdown.lines(base.read_text(path)), 1)
        if line.startswith(MARK)
    ]


SCRATCH = Kind(
    name="scratch",
    singular="scratch note",
    plural="scratch notes",
    key="scratch",
    patterns=(PATH,),
    parser=parse,
    viewer=_views,
    joiner=parts,
    forgetting="parts",
    merging="union",
    file_name="scratch notes",
    explained=True,
    counted=True,
)


def plan_add(
    at: datetime, kind: str, text: str, zone: tzinfo, origin: base.Provenance, why: str
) -> changes.Change:
    """Plan to add a note at the end; what is there stays, byte for byte.

    Args:
        at: When it is written.
        kind: One of KINDS.
        text: Becomes one line.
        zone: The entity's time zone.
        origin: Where it comes from.
        why: For the change set.

    Raises:
        UsageError: If the text is empty, or of no such kind.
    """
    note = one_line(text)
    if not note:
        raise UsageError("A note needs a text.")
    if kind not in KINDS:
        raise UsageError(f"A note is one of {', '.join(KINDS)}, not {kind}.")
    shown = note.replace("<!--", "&lt;!--")  # the only comment in the line is its origin
    head = f"{MARK}{at.astimezone(zone):%Y-%m-%d %H:%M} [{kind}]"
    return changes.add(PATH, f"{head} {shown} {provenance.origin_comment(origin)}", why)
