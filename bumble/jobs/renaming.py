"""A name put right: what a circle of people told under the wrong name says the right one.

"He is called Cawdor, not Calder" makes no second person. Their page gets the name, and keeps the
other one behind it; knowledge and beliefs that say it are written anew. What happened (episodes,
the diary, talks) stays as it was told. Asks no model.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence, Set

from msgspec import Struct
from msgspec.structs import replace

from bumble.entity import changes, folder
from bumble.records import base, knowledge, relationships
from bumble.records import beliefs as held
from bumble.runtime import people
from bumble.text import stop_words, words, yaml_edit


class Renaming(Struct, frozen=True):
    """A name that somebody put right."""

    was: str
    name: str
    circle: tuple[str, ...]  # ids of who heard it: what others were told stays

    def reworded(self, text: str) -> str:
        """Return a text with the right name, but where a sentence has both."""
        old = re.compile(stop_words.name_pattern(self.was, "s?"))
        return "".join(
            part if self.name in part else old.sub(self.name, part)
            for line in text.splitlines(keepends=True)
            for part in _parts(line)
        )

    def is_of(self, origin: base.Provenance) -> bool:
        """Whether a program wrote a text for the circle."""
        return bool(origin.by) and set(origin.audience) == set(self.circle)


def _parts(line: str) -> Iterator[str]:
    """Yield the sentences of a line with what stands between them."""
    end = 0
    for sentence in words.sentences(line):
        at = line.find(sentence, end)
        if at >= 0:
            yield line[end:at]
            yield sentence
            end = at + len(sentence)
    yield line[end:]


def known_as(
    renaming: Renaming, everybody: Sequence[relationships.Relationship]
) -> relationships.Relationship | None:
    """Return who was called by the wrong name; None: nobody, or somebody who spoke here."""
    person = relationships.match(everybody, renaming.was)
    if person is None or person.interaction_count or renaming.circle != person.audience:
        return None
    told = relationships.heard(person, renaming.circle)
    return person if set(person.pending) <= set(told) else None


def renamed(renaming: Renaming, person: relationships.Relationship) -> relationships.Relationship:
    """Return a person under the right name, with their page as it says it; not in the folder."""
    name, lines = renaming.reworded(person.name), dict(person.lines or {})
    name = renaming.name if name == person.name else name
    rows = []
    for row in person.text.splitlines():
        mark = lines.pop(relationships.line_key(row), None)
        rows.append(renaming.reworded(row) if mark else row)
        lines |= {relationships.line_key(rows[-1]): mark} if mark else {}
    document = base.with_values(
        person.source,
        {
            "names": list(dict.fromkeys((name, *person.names))),
            "lines": {key: yaml_edit.Row(mark.meta()) for key, mark in lines.items()} or None,
        },
    ).with_body("\n".join(rows))
    return relationships.PERSON.of(document, relationships.person_id(name))


def plan_person(
    renaming: Renaming,
    person: relationships.Relationship,
    there: relationships.Relationship | None,
    notes: Sequence[relationships.PendingNote],
    gone: Collection[str],
) -> Iterator[changes.Change | None]:
    """Plan to call a person by the right name, which names their file, too.

    Args:
        renaming: The name.
        person: As they were known.
        there: Who has the right name already, a second page of the same person; None: nobody.
        notes: What else is told of them.
        gone: What was told of them, and is no longer so.
    """
    why = f"{renaming.was} is {renaming.name}"
    gone = {*gone, *map(renaming.reworded, gone)}
    old, new = (relationships.PERSON.place(person), renamed(renaming, person))
    if there is not None and there.id != person.id:
        told = [
            replace(note, text=renaming.reworded(note.text))
            for note in relationships.heard(person, renaming.circle)
        ]
        names = tuple(dict.fromkeys((*there.names, *person.names)))
        yield changes.delete(old, person.source.text, why)
        yield people.plan_noted(there, (*told, *notes), gone, known=True, names=names)
        return
    noted = people.plan_noted(new, notes, gone, known=False)
    data = noted.data if noted else None
    text = data.decode() if data else new.source.text
    if new.id != person.id:
        yield changes.delete(old, person.source.text, why)
    before = person.source.text if new.id == person.id else None
    yield replace(
        changes.write(relationships.PERSON.path(new.id), text, before, why), keeps=bool(before)
    )


def in_knowledge(renamings: Sequence[Renaming], book: knowledge.Knowledge) -> knowledge.Knowledge:
    """Let sections and their titles say the right names."""
    for one in renamings:
        for section in book.sections:
            if section.locked or not one.is_of(section.provenance):
                continue
            text, title = one.reworded(section.text), one.reworded(section.title)
            origin = section.provenance.reworded(section.text, text)
            book = knowledge.with_section(
                book, section.title, text, by_entity=True, provenance=origin
            )
            if title != section.title and knowledge.find(book, title) is None:
                book = knowledge.retitled(book, section.title, title, by_entity=True)
    return book


def plan_beliefs(
    renamings: Sequence[Renaming], entity: folder.Entity, taken: Set[str]
) -> Iterator[changes.Change]:
    """Plan to let beliefs say the right names, which their files are named for.

    Args:
        renamings: The names.
        entity: Whose beliefs.
        taken: Paths that change otherwise.
    """
    for belief in held.BELIEF.readable(entity.beliefs):
        path, text = held.BELIEF.place(belief), belief.text
        for one in renamings:
            text = one.reworded(text) if one.is_of(belief.provenance) else text
        if text == belief.text or path in taken:
            continue
        made = held.BELIEF.of(belief.source.with_body(text), belief.id)
        made = replace(made, stem=base.file_stem(made.filed_as, made.id))
        why = f"say it of {', '.join(one.name for one in renamings)}"
        if held.BELIEF.place(made) != path:
            yield changes.delete(path, belief.source.text, why)
            yield changes.write(held.BELIEF.place(made), made.source.text, None, why)
        elif (change := base.plan_edit(path, belief.source, made.source, why)) is not None:
            yield change
