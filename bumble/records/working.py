"""Working memory: living notes for the coming days, by section, and scratch notes of turns.

In `working/MEMORY.md`:

    ## Bond

    - Sam trusts me with his plans. <!-- {by: dream, from: [ep_1], audience: [sam]} -->

The dream rewrites its own lines, which say so; whatever else stands in the file is its owner's and
stays. In `working/scratch.md`, jotted down in a turn for later:

    - 2026-05-24 12:00 [directive] Sam wants short answers. <!-- {by: chat, from: [ses_1]} -->

The newest stand before each message; they are not searched. Putting memory in order moves them to
the journal. Knows nothing of models or prompts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, tzinfo
from pathlib import Path

from msgspec import structs

from bumble.body.soma import is_open
from bumble.entity import changes
from bumble.errors import UsageError
from bumble.records import base, provenance
from bumble.records.fields import parts
from bumble.records.kind import Kind, RecordView
from bumble.text import markdown, words

PATH = "working/MEMORY.md"
BY = "dream"  # who writes the lines that a rewrite replaces
SECTIONS = (  # and what each is for
    "Phenotype",  # how I am now
    "Bond",  # whom I am close to
    "Niche",  # what I am for
    "Active Context",  # what goes on these days
    "Pointers",  # links to records
    "Curiosity Gaps",  # what I want to find out
    "Emerging Skills",  # what I am getting better at
)
HEADING = "## "
TITLE = "# Working memory\n"


class MemoryLine(RecordView, frozen=True, kw_only=True):
    """One line of working memory, its text without its mark and its origin."""

    section: str  # the title above it; empty: none


def parse(source: str, stem: str = "") -> tuple[MemoryLine, ...]:
    """Return the lines in the text of the file; prose between them is nobody's record."""
    section, lines = "", []
    for number, row in enumerate(markdown.lines(markdown.parse_parts(source).text), 1):
        if row.startswith(HEADING):
            section = row.removeprefix(HEADING).strip()
        elif row.startswith(NOTE_MARK):
            told, origin = split_note(row.rstrip("\r\n"))
            lines.append(
                MemoryLine(
                    id=f"{section or stem}, line {number}",
                    text=told.removeprefix(NOTE_MARK).strip(),
                    origin=origin,
                    sources=origin.sources,
                    line=number,
                    source=row,
                    section=section,
                )
            )
    return tuple(lines)


def read(file: Path) -> str:
    """Return the text of the file; empty where there is none."""
    text = base.read_text(file) if file.is_file() else ""
    base.of_text(text, file, parse)
    return text


def _views(path: Path, _: tzinfo) -> Sequence[RecordView]:
    return parse(base.read_text(path), path.stem)


WORKING = Kind(
    name="working",
    singular="line of working memory",
    plural="lines of working memory",
    key="working_memory",
    patterns=(PATH,),
    parser=parse,
    viewer=_views,
    joiner=parts,
    forgetting="parts",
    merging="union",
    file_name="working memory",
    explained=True,
    counted=True,
)


def own(source: str) -> tuple[MemoryLine, ...]:
    """Return the lines that a dream wrote."""
    return tuple(line for line in parse(source) if line.origin.by == BY)


def shown(source: str, readers: Collection[str]) -> str:
    """Return the text as some people's prompt may hold it, without origins.

    Lines that one of them may not meet, and such as were only read somewhere, are left out; so are
    the titles above nothing.
    """
    rows: list[str] = []
    for row in source[markdown.parse(source).body_start :].splitlines():
        if row.startswith(HEADING) and rows and rows[-1].startswith(HEADING):
            rows.pop()
        if row.startswith(NOTE_MARK):
            row, origin = split_note(row)
            if provenance.is_untrusted(origin.trust) or not is_open(origin.audience, readers):
                continue
        if row.strip():
            rows.append(row)
    while rows and rows[-1].startswith(HEADING):
        rows.pop()
    return "\n".join(rows)


def rendered(source: str, lines: Mapping[str, Sequence[tuple[str, base.Provenance]]]) -> str:
    """Return the text with other lines in the place of those that a dream wrote.

    Args:
        source: The file as it stands; empty: there is none.
        lines: Text and origin of each new line, by section, in order.
    """
    parts: dict[str, list[str]] = {"": []}
    section = ""
    for row in markdown.lines(source or TITLE):
        if row.startswith(HEADING):
            section = row.removeprefix(HEADING).strip()
            parts.setdefault(section, [])
        if not (row.startswith(NOTE_MARK) and split_note(row)[1].by == BY):
            parts[section].append(row)
    for title in SECTIONS:
        _add(parts.setdefault(title, [f"{HEADING}{title}\n"]), lines.get(title, ()))
    texts = ["".join(rows).rstrip("\n") for rows in parts.values()]
    return "\n\n".join(text for text in texts if text) + "\n"


def _add(rows: list[str], lines: Sequence[tuple[str, base.Provenance]]) -> None:
    while rows and not rows[-1].strip():
        rows.pop()
    if not rows[-1].endswith("\n"):
        rows[-1] += "\n"
    if lines and rows[-1].startswith(HEADING):
        rows.append("\n")
    for text, origin in lines:
        plain = words.one_line(text).replace("<!--", "&lt;!--")  # the only comment is its origin
        rows.append(f"{NOTE_MARK}{plain} {provenance.origin_comment(origin)}")


def plan_rewrite(
    source: str, lines: Mapping[str, Sequence[tuple[str, base.Provenance]]], why: str
) -> changes.Change | None:
    """Plan to put other lines in the place of those that a dream wrote; None if nothing changes.

    The version before is kept.
    """
    text = rendered(source, lines)
    if text == source:
        return None
    return structs.replace(changes.write(PATH, text, source or None, why), keeps=bool(source))


SCRATCH_PATH = "working/scratch.md"
NOTE_KINDS = ("experience", "directive", "world_fact", "mental_model")
NOTE_MARK = "- "


def scratch_lines(file: Path) -> tuple[MemoryLine, ...]:
    """Return the notes, oldest first; none if there is no file."""
    return base.load(file, parse) if file.is_file() else ()


def split_note(line: str) -> tuple[str, base.Provenance]:
    """Split a note into what it says and where it comes from; a person's has no such mark."""
    at = line.rfind("<!--")
    origin = provenance.split_origin(line[at:])[0] if at >= 0 else base.Provenance()
    return line[:at].rstrip() if origin.by else line, origin


def without_notes(text: str) -> str:
    """Return what is left of the file's text without its notes, byte for byte."""
    text = "".join([line for line in markdown.lines(text) if not line.startswith(NOTE_MARK)])
    return text if markdown.parse(text).body else ""  # where its companion lies is no text


SCRATCH = Kind(
    name="scratch",
    singular="scratch note",
    plural="scratch notes",
    key="scratch",
    patterns=(SCRATCH_PATH,),
    parser=parse,
    viewer=_views,
    joiner=parts,
    forgetting="parts",
    merging="union",
    file_name="scratch notes",
    explained=True,
    counted=True,
)


def plan_note(
    at: datetime, kind: str, text: str, zone: tzinfo, origin: base.Provenance, why: str
) -> changes.Change:
    """Plan to add a note at the end; what is there stays, byte for byte.

    Args:
        at: When it is written.
        kind: One of NOTE_KINDS.
        text: Becomes one line.
        zone: The entity's time zone.
        origin: Where it comes from.
        why: For the change set.

    Raises:
        UsageError: If the text is empty, or of no such kind.
    """
    note = words.one_line(text)
    if not note:
        raise UsageError("A note needs a text.")
    if kind not in NOTE_KINDS:
        raise UsageError(f"A note is one of {', '.join(NOTE_KINDS)}, not {kind}.")
    shown = note.replace("<!--", "&lt;!--")  # the only comment in the line is its origin
    head = f"{NOTE_MARK}{at.astimezone(zone):%Y-%m-%d %H:%M} [{kind}]"
    return changes.add(SCRATCH_PATH, f"{head} {shown} {provenance.origin_comment(origin)}", why)
