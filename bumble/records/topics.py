"""Topic files: the questions that a topic keeps raising (its catalysts), and what they rest on.

Layout: `topics/<slug>.md`, a list line a question. Which records each came from stands in `lines`,
by a hash of its words, or in brackets behind it, as earlier versions have it. Knows nothing of how
topics are found or questions are drawn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, ClassVar

from msgspec import Struct, structs

from bumble import patterns
from bumble.entity import changes, companions
from bumble.files import disk
from bumble.records import base, kind
from bumble.records.fields import JOINED
from bumble.text import markdown, words

REGISTERS = ("explore", "continuity", "reference")  # how what questions point to is chosen
_LINE = patterns.compile(r"[-*]\s+(?P<text>.*?)(?:\s+\((?P<ids>\w+_\w+(?:,\s*\w+_\w+)*)\))?")
_OWN = (*base.ORIGIN_KEYS, "fingerprint", "words", "summary_source", "lines")


class Catalyst(Struct, frozen=True):
    """A question that a topic keeps raising."""

    text: str
    sources: tuple[str, ...] = ()  # ids of the records it came from
    line: int = 1  # of the file, from 1


class TopicFile(kind.Record, frozen=True, kw_only=True):
    """The catalysts of one topic."""

    ABOUT: ClassVar[kind.About] = kind.About(headline="topic {0.name}")

    name: str
    at: datetime | None = None  # when they were drawn; None: a person wrote the file
    catalysts: tuple[Catalyst, ...]
    fingerprint: str = ""  # of what they were drawn from
    words: Annotated[tuple[str, ...], JOINED]  # that people say for it, if they are no name of it

    @classmethod
    def drawn(cls, document: markdown.Document, record_id: str) -> Mapping[str, Any]:
        """Read the catalysts; a topic without a name is called as its file."""
        name = base.field(document.meta, "name", str, "").strip() or _called(record_id)
        return {"name": name, "catalysts": tuple(_catalysts(document))}

    @property
    def rests_on(self) -> tuple[str, ...]:
        return kind.unite(*(catalyst.sources for catalyst in self.catalysts))


def _called(slug: str) -> str:
    """Return what a topic is called by its file alone."""
    name = slug.replace("-", " ")
    return name[:1].upper() + name[1:]


def _catalysts(document: markdown.Document) -> Iterator[Catalyst]:
    body, lines = document.source[document.body_start :], document.meta.get("lines")
    beside = lines if isinstance(lines, Mapping) else {}
    for number, row in enumerate(body.splitlines(), document.body_line):
        match = _LINE.fullmatch(row.strip())
        if match and match["text"]:
            ids = tuple(re.findall(r"\w+", match["ids"] or ""))
            own = base.texts(beside, companions.key_of(match["text"]))
            yield Catalyst(match["text"], ids or own, number)


TOPIC = kind.RecordKind(
    name="topic",
    singular="topic",
    plural="topics",
    key="topics",
    patterns=("topics/*.md",),
    record=TopicFile,
    forgetting="file",
    merging="bumble",
    paired=True,
    text_keys=("name",),
    own_words=True,
    passages="topic",
    retells=True,
    explained=True,
    counted=True,
)


def slug_of(name: str) -> str:
    """Return the name of a topic's file."""
    return disk.file_name(name)


def new(
    name: str,
    catalysts: Sequence[Catalyst],
    at: datetime,
    *,
    fingerprint: str = "",
    words_for_it: Sequence[str] = (),
    provenance: base.Provenance | None = None,
) -> TopicFile:
    """Make a topic that is not in the folder yet; `plan_draw` puts it there."""
    slug = slug_of(name)
    return TOPIC.new(
        slug,
        "\n".join(
            (
                f"# {words.one_line(name)}\n",
                *(f"- {words.one_line(each.text)}" for each in catalysts),
            )
        ),
        provenance,
        name="" if name == _called(slug) else name,
        at=at,
        fingerprint=fingerprint,
        words=tuple(words_for_it),
        lines={
            companions.key_of(words.one_line(each.text)): list(each.sources) for each in catalysts
        },
    )


def is_called(topic: TopicFile, name: str) -> bool:
    """Whether people say some word for a topic."""
    return slug_of(name) in map(slug_of, (topic.name, *topic.words))


def plan_called(topic: TopicFile, more: Sequence[str], why: str) -> changes.Change | None:
    """Plan to keep further words that people say for a topic."""
    said = tuple(word for word in dict.fromkeys((*topic.words, *more)) if word != topic.name)
    return TOPIC.plan_edit(topic, {"words": said or None}, why)


def plan_draw(old: TopicFile | None, drawn: TopicFile, why: str) -> changes.Change | None:
    """Plan to put a topic's new catalysts into its file; fields that we don't know stay."""
    if old is None:
        return TOPIC.plan_new(drawn, why)
    values = {key: value for key, value in drawn.source.meta.items() if key != "name"}
    gone = {key: None for key in _OWN if key not in values}
    is_same = old.catalysts == tuple(structs.replace(each, line=0) for each in drawn.catalysts)
    body = None if is_same else drawn.source.body
    change = TOPIC.plan_edit(old, values | gone, why, body=body)
    return structs.replace(change, keeps=True) if change else None
