"""Topic files: the questions that a topic keeps raising (its catalysts), and what they rest on.

Layout: `topics/<slug>.md`, a list line a question, behind it the ids of the records it came from.
Knows nothing of how topics are found or questions are drawn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bumble.entity.changes import Change
from bumble.files import disk
from bumble.records import base
from bumble.records.base import Provenance
from bumble.text import markdown, words
from bumble.text.markdown import Document

FOLDER = "topics"
_LINE = re.compile(r"[-*]\s+(?P<text>.*?)(?:\s+\((?P<ids>\w+_\w+(?:,\s*\w+_\w+)*)\))?")
_OWN = ("by", "model", "from", "trust", "audience", "fingerprint", "summary_source")


class Catalyst(Struct, frozen=True):
    """A question that a topic keeps raising."""

    text: str
    sources: tuple[str, ...] = ()  # ids of the records it came from
    line: int = 1  # of the file, from 1


class TopicFile(Struct, frozen=True):
    """The catalysts of one topic."""

    id: str  # the file's stem
    name: str
    at: datetime | None  # when they were drawn; None: a person wrote the file
    catalysts: tuple[Catalyst, ...]
    fingerprint: str  # of what they were drawn from
    summary_source: str  # `form`: quoted, no model wrote them
    provenance: Provenance
    source: Document  # the file as it stands; edits splice its lines


def parse(source: str, stem: str) -> TopicFile:
    """Read a topic from the text of its file; `source.text` gives the same bytes back."""
    return of(markdown.parse(source), stem)


def of(document: Document, slug: str) -> TopicFile:
    """Read a topic from its document."""
    meta = document.meta
    return TopicFile(
        id=slug,
        name=base.field(meta, "name", str, "").strip() or slug.replace("-", " "),
        at=None if meta.get("at") is None else base.field(meta, "at", datetime),
        catalysts=tuple(_catalysts(document)),
        fingerprint=base.field(meta, "fingerprint", str, ""),
        summary_source=base.field(meta, "summary_source", str, ""),
        provenance=base.provenance(meta),
        source=document,
    )


def _catalysts(document: Document) -> Iterator[Catalyst]:
    body = document.source[document.body_start :]
    for number, row in enumerate(body.splitlines(), document.body_line):
        match = _LINE.fullmatch(row.strip())
        if match and match["text"]:
            ids = re.findall(r"\w+", match["ids"] or "")
            yield Catalyst(match["text"], tuple(ids), number)


def slug_of(name: str) -> str:
    """Return the name of a topic's file."""
    return disk.file_name(name)


def new(
    name: str,
    catalysts: Sequence[Catalyst],
    at: datetime,
    *,
    fingerprint: str = "",
    summary_source: str = "",
    provenance: Provenance | None = None,
) -> TopicFile:
    """Make a topic that is not in the folder yet; `plan_draw` puts it there."""
    values = {"name": name, "at": base.stamp(at)} | (provenance or Provenance()).meta()
    values |= base.filled({"fingerprint": fingerprint, "summary_source": summary_source})
    return of(markdown.render(values, _body(catalysts)), slug_of(name))


def _body(catalysts: Sequence[Catalyst]) -> str:
    rows = []
    for catalyst in catalysts:
        cited = f" ({', '.join(catalyst.sources)})" if catalyst.sources else ""
        rows.append(f"- {words.one_line(catalyst.text)}{cited}")
    return "\n".join(rows)


def path(slug: str) -> str:
    """Return where a topic lies, relative to the entity folder."""
    return f"{FOLDER}/{slug}.md"


def paths(folder: Path) -> list[Path]:
    """Return the files of all topics, by name."""
    return base.paths(folder, "*.md")


def read(folder: Path) -> Iterator[TopicFile]:
    """Yield every topic that has a file and can be read, by name; doctor names the others."""
    readable, _ = base.load_all(paths(folder), lambda file: base.load(file, parse))
    yield from readable


def plan_draw(old: TopicFile | None, drawn: TopicFile, why: str) -> Change | None:
    """Plan to put a topic's new catalysts into its file; fields that we don't know stay."""
    if old is None:
        return base.plan_new(path(drawn.id), drawn.source, why)
    gone = {key: None for key in _OWN if key in old.source.meta and key not in drawn.source.meta}
    values = {key: value for key, value in drawn.source.meta.items() if key != "name"}
    document = base.with_values(old.source, values | gone)
    if old.catalysts != tuple(replace(each, line=0) for each in drawn.catalysts):
        document = document.with_body(drawn.source.body)
    change = base.plan_edit(path(old.id), old.source, document, why)
    return replace(change, keeps=True) if change else None
