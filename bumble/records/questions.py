"""Open questions: what was looked for in memory and not found, one Markdown file each.

Layout: `questions/<id>.md`; the body is the question. One that is answered goes. Knows nothing of
searching, or of who takes a question up.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar

from bumble.records import fields
from bumble.records.kind import About, Record, RecordKind
from bumble.text.words import folded, one_line


class OpenQuestion(Record, frozen=True, kw_only=True):
    """One question that memory had no answer to."""

    ABOUT: ClassVar[About] = About(
        unsaid="there is no question below the front matter",
        headline="question {0.id}",
        added="open",
        gone="answered",
    )

    at: datetime  # when it was looked for
    text: Annotated[str, fields.BODY]

    def asks(self, text: str, audience: tuple[str, ...]) -> bool:
        """Whether it is the same question, of the same people."""
        same = folded(one_line(self.text)) == folded(one_line(text))
        return same and set(self.provenance.audience) == set(audience)


QUESTION = RecordKind(
    name="question",
    singular="open question",
    plural="open questions",
    key="questions",
    patterns=("questions/*.md",),
    record=OpenQuestion,
    forgetting="file",
    prefix="qst",
    explained=True,
    counted=True,
)
