"""The texts in which topics are looked for: each record of the index once, with who may meet it.

Reads the index as it is; knows nothing of topics.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime

from msgspec import Struct

from bumble.errors import IndexServerError, IndexUnusableError
from bumble.index import search
from bumble.index.memory import Memory
from bumble.index.rows import Row, unpacked
from bumble.records import base, kinds, provenance
from bumble.text import words

# What was made of other records by a model says nothing new of how often something comes up.
DERIVED = frozenset(kind.passages for kind in kinds.KINDS if kind.passages and kind.retells)
# What writes these says so by a tag, which tells nothing of what they are about.
TAGGED_BY_CYCLES = frozenset((kinds.JOURNAL.passages,))


class Text(Struct, frozen=True):
    """One record, in the fields by which topics are found in it."""

    kind: str  # of its passages: `message`
    id: str
    path: str
    line: int
    at: datetime | None
    text: str
    language: str
    speaker: str  # of a message, as shown
    session: str
    audience: tuple[str, ...]
    trust: str
    tags: tuple[str, ...] = ()  # that its record has, beside those in the text

    @property
    def is_quoted(self) -> bool:
        """Whether it was only read or imported."""
        return provenance.is_untrusted(self.trust)


def read(memory: Memory, readers: Collection[str] | None = None) -> list[Text]:
    """Return every record that all of some people may meet, oldest first; None: every record.

    An index that can't be used has none.
    """
    try:
        with search.opened(memory.entity, memory.place) as index:
            rows = index.store.passages()
    except (IndexUnusableError, IndexServerError):
        return []
    of_file: dict[str, list[str]] = defaultdict(list)
    whole: dict[tuple[str, ...], list[str]] = defaultdict(list)
    first: dict[tuple[str, ...], Row] = {}
    for row in rows:
        of_file[str(row[2])].append(str(row[5]))
        whole[row[:3]].append(str(row[5]))
        first.setdefault(row[:3], row)
    languages = {path: words.language(" ".join(texts)) for path, texts in of_file.items()}
    texts = []
    for key, (
        kind,
        record,
        path,
        line,
        at,
        _,
        speaker,
        session,
        audience,
        trust,
        tags,
    ) in first.items():
        text = " ".join(whole[key])
        listed = unpacked(str(audience))
        if kind in DERIVED or not (readers is None or base.may_read(listed, readers)):
            continue
        texts.append(
            Text(
                str(kind),
                str(record),
                str(path),
                int(line),
                datetime.fromisoformat(str(at)) if at else None,
                text,
                languages[str(path)],
                str(speaker),
                str(session),
                listed,
                str(trust),
                () if kind in TAGGED_BY_CYCLES else unpacked(str(tags)),
            )
        )
    return texts
