"""Open questions: what was looked for in memory and not found, one Markdown file each.

Layout: `questions/<id>.md`; the body is the question. One that is answered goes. Knows nothing of
searching, or of who takes a question up.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from bumble.entity.changes import Change
from bumble.records import base
from bumble.records.base import Provenance
from bumble.text import markdown
from bumble.text.markdown import Document
from bumble.text.words import folded, one_line

PREFIX = "qst"
FOLDER = "questions"


class OpenQuestion(Struct, frozen=True):
    """One question that memory had no answer to."""

    id: str  # `qst_<ULID>`, the file's stem
    at: datetime  # when it was looked for
    text: str
    provenance: Provenance
    source: Document  # the file as it stands; edits splice its lines

    def asks(self, text: str, audience: tuple[str, ...]) -> bool:
        """Whether it is the same question, of the same people."""
        same = folded(one_line(self.text)) == folded(one_line(text))
        return same and set(self.provenance.audience) == set(audience)


def parse(source: str, stem: str) -> OpenQuestion:
    """Read a question from the text of its file; `source.text` gives the same bytes back."""
    document = markdown.parse(source)
    if not document.body:
        raise ValueError("there is no question below the front matter")
    at = base.field(document.meta, "at", datetime)
    return OpenQuestion(stem, at, document.body, base.provenance(document.meta), document)


def new(question_id: str, at: datetime, text: str, provenance: Provenance) -> OpenQuestion:
    """Make a question that is not in the folder yet; `plan_new` puts it there.

    Raises:
        ValueError: If the text is empty.
    """
    meta = {"at": base.stamp(at)} | provenance.meta()
    return parse(markdown.render(meta, one_line(text)).text, question_id)


def path(question_id: str) -> str:
    """Return where a question lies, relative to the entity folder."""
    return f"{FOLDER}/{question_id}.md"


def read(folder: Path) -> Iterator[OpenQuestion]:
    """Yield every open question, oldest first; broken files are passed over."""
    readable, _ = base.load_all(base.paths(folder, "*.md"), lambda file: base.load(file, parse))
    yield from readable


def plan_new(question: OpenQuestion, why: str) -> Change:
    """Plan to put a new question into the folder."""
    return base.plan_new(path(question.id), question.source, why)


def plan_answered(question: OpenQuestion, why: str) -> Change:
    """Plan to remove a question that has an answer now."""
    return base.plan_remove(path(question.id), question.source, why)
