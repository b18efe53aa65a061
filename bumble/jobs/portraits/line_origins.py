"""Where each line of a portrait comes from: the messages that say it, through every amendment.

A line that stays keeps its mark, one that a person wrote stays theirs, and a new one is traced to
what the pass was given. Pure: reads and writes no files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from bumble.guard import origins
from bumble.records import relationships
from bumble.records.base import Provenance
from bumble.records.relationships import Relationship
from bumble.records.sessions import Message
from bumble.text import markdown, words

HEADING = "#"
_GAPS = re.compile(r"(?<![ \t])(?:[ \t]*(?:\r\n|\r|\n)){3,}")


class LineSource(Struct, frozen=True):
    """A text that a line may rest on, with what it stands for."""

    text: str
    ids: tuple[str, ...]  # of the conversation and the messages, or of a record


def of_messages(session_id: str, messages: Iterable[Message]) -> list[LineSource]:
    """Return what was said in a conversation as sources."""
    ids = (session_id,) if session_id else ()
    return [LineSource(message.text, (*ids, message.id)) for message in messages]


def marked(
    person: Relationship, text: str, origin: Provenance, sources: Sequence[LineSource]
) -> dict[str, Provenance]:
    """Say of each line of a new portrait where it comes from, by `relationships.line_key`.

    Args:
        person: As they were, with the portrait so far.
        text: The new portrait.
        origin: Of what the pass wrote; for its audience the whole portrait answers.
        sources: What the pass was given, oldest first.
    """
    old = relationships.text_lines(person.text)
    stay = {relationships.line_key(line) for line in old}
    given = [*sources, *(LineSource(line, person.origin_of(line).sources) for line in old)]
    marks: dict[str, Provenance] = {}
    for line in relationships.text_lines(text):
        key = relationships.line_key(line)
        if key not in stay:
            marks[key] = _traced(line, replace(origin, audience=()), given, person)
        elif (before := person.origin_of(line)).by:
            marks[key] = replace(before, audience=())
    return marks


def _traced(
    line: str, origin: Provenance, sources: Sequence[LineSource], person: Relationship
) -> Provenance:
    """Say which of its sources a new line rests on; all of the pass, where none shows."""
    names = (person.id, *person.names)
    parts = [] if line.startswith(HEADING) else words.sentences(line)
    texts = [source.text for source in sources]
    places = dict.fromkeys(place for part in parts for place in origins.nearest(part, texts, names))
    ids = tuple(dict.fromkeys(name for place in places for name in sources[place].ids))
    return replace(origin, sources=ids or origin.sources)


def owners(person: Relationship, prose: str) -> list[str]:
    """Return the lines of a portrait that a person wrote, headings and blank lines left in."""
    return [
        line for line in markdown.lines(prose) if not line.strip() or not person.origin_of(line).by
    ]


def with_owners(text: str, person: Relationship, prose: str) -> str:
    """Put the lines of a person back on top of a portrait that was written without them."""
    present = {relationships.line_key(line) for line in relationships.text_lines(text)}
    own = "".join(owners(person, prose))
    keys = {relationships.line_key(line) for line in relationships.text_lines(own)}
    if keys <= present:
        return text
    rest = [line for line in text.split("\n") if relationships.line_key(line) not in keys]
    return "\n".join([_GAPS.sub("\n\n", own).strip(), *rest])
