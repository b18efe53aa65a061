"""What an entity remembers as pages: titles, texts, what each rests on; for one reader or for all.

Whoever an export is for gets what they might meet in a talk, and no more. Knows no format.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo
from itertools import groupby
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from bumble import patterns
from bumble.entity.folder import Entity
from bumble.entity.secrets import redacted
from bumble.errors import RecordInvalidError
from bumble.files import disk
from bumble.recall.prompt_memories import QUOTED_FROM
from bumble.records import (
    base,
    beliefs,
    dreams,
    episodes,
    journal,
    kinds,
    narrative,
    provenance,
    relationships,
    session_files,
    sessions,
    skills,
)
from bumble.records.kind import Kind, RecordView
from bumble.text import markdown, titles
from bumble.text.words import one_line, shorten

TITLE_CHARS = 80


class Page(Struct, frozen=True):
    """A memory as it is read outside."""

    kind: Kind
    id: str
    title: str
    text: str  # Markdown, without secrets
    path: str  # within the export, without an ending
    view: RecordView
    description: str = ""
    names: tuple[str, ...] = ()  # of a person


class Pages(Struct):
    """The memories of an entity that a reader may know."""

    pages: list[Page] = field(default_factory=list)
    places: dict[str, str] = field(default_factory=dict)  # path and anchor, by the id of a memory
    titles: dict[str, str] = field(default_factory=dict)  # what a link to a place says
    unread: list[str] = field(default_factory=list)  # paths of files that can't be read
    withheld: int = 0  # memories that are not for the reader

    def add(self, page: Page) -> None:
        """Take a page in, under a path that no other has."""
        self.pages.append(page)
        self.places.setdefault(page.id, page.path)
        self.titles[page.path] = page.title


def collect(entity: Entity, zone: tzinfo, name: str, reader: provenance.Reader) -> Pages:
    """Read what a reader may know of an entity.

    Args:
        entity: Whose memories.
        zone: In which its days end.
        name: What it is called.
        reader: For whom.
    """
    pages = Pages()
    for kind in kinds.KINDS:
        for path in kind.paths(entity) if kind.page else ():
            try:
                _read(kind, path, zone, name, reader, pages)
            except (RecordInvalidError, OSError):
                pages.unread.append(entity.relative(path))
    return pages


def _read(
    kind: Kind, path: Path, zone: tzinfo, name: str, reader: provenance.Reader, pages: Pages
) -> None:
    for view in kind.read(path, zone):
        if not reader.may_read(view.origin):
            pages.withheld += 1
            continue
        if kind is journal.JOURNAL and dreams.is_link(view.text):
            continue  # the dream is a page of its own
        place = f"{kind.key}/{_stem(kind, view, path)}"
        while place in pages.titles:
            place += "-2"
        if kind is session_files.SESSION:
            _add_session(path, view, place, name, pages)
        else:
            pages.add(_page(kind, path, view, place))


def _stem(kind: Kind, view: RecordView, path: Path) -> str:
    """Return what a page is named: as the record's own file, where it has one that a link takes."""
    if kind is journal.JOURNAL:
        return f"{view.at:%Y-%m-%d-%H%M%S}"
    if not kind.prefix or not base.is_id(view.id):
        return disk.file_name(view.id)
    return (
        path.stem if kind is not session_files.SESSION and _PLAIN.fullmatch(path.stem) else view.id
    )


def quotation(origin: base.Provenance, text: str) -> str:
    """Mark a text that is no memory of the entity's own; any other stays as it is."""
    if not provenance.is_untrusted(origin.trust):
        return text
    lines = "\n".join(f"> {line}".rstrip() for line in text.splitlines())
    return f"Not its own memory, but quoted from {QUOTED_FROM[origin.trust]}:\n\n{lines}"


def _page(kind: Kind, path: Path, view: RecordView, place: str) -> Page:
    title, description, names, text = view.id, "", tuple[str, ...](), view.text
    head = titles.heading(text) if kind in (episodes.EPISODE, dreams.DREAM) else ""
    if head:
        title, text = head, text.strip().partition("\n")[2].strip()
    if kind is relationships.PERSON:
        person = relationships.PERSON.load(path)
        title, names, description = person.name, person.names, person.dynamic
    elif kind is skills.SKILL:
        skill = skills.SKILL.load(path)
        title, description = skill.name, skill.description
    elif (kind is journal.JOURNAL or kind is dreams.DREAM) and not head:
        title = f"{kind.singular.capitalize()} of {view.at:%Y-%m-%d %H:%M}"
    elif kind is narrative.NARRATIVE:
        title, text = "The story so far", narrative.uncited(text)
    elif (kind is episodes.EPISODE or kind is beliefs.BELIEF) and not head:
        told = episodes.telling(text).narrative if kind is episodes.EPISODE else text
        title = shorten(one_line(told).lstrip("#> "), TITLE_CHARS, at_word=True) or view.id
    return Page(
        kind,
        view.id,
        redacted(one_line(title)),
        redacted(text),
        place,
        view,
        redacted(one_line(description)),
        names,
    )


def _add_session(path: Path, view: RecordView, place: str, name: str, pages: Pages) -> None:
    session = session_files.load(path)
    imported = session.imported or {}
    title = one_line(str(imported.get("title", ""))) or f"Conversation of {session.at:%Y-%m-%d}"
    text = "\n\n".join(transcript(session, name))
    place = f"{place}/{Path(sessions.FILE).stem}"
    pages.add(Page(session_files.SESSION, session.id, redacted(title), redacted(text), place, view))
    for message in session.messages:
        at = pages.places.setdefault(message.id, f"{pages.places[session.id]}#{message.id}")
        pages.titles[at] = redacted(f"{message.called(name)}, {message.at:%Y-%m-%d %H:%M}")


def transcript(session: sessions.Session, name: str) -> Iterator[str]:
    """Yield what was said, each message under a heading that is its id."""
    for message in session.messages:
        if message.role == "tool" or not message.text.strip():
            continue
        quoted = "\n".join(f"> {line}".rstrip() for line in message.text.strip().splitlines())
        head = f"**{message.called(name)}**, {message.at:%Y-%m-%d %H:%M}"
        yield f"## {message.id}\n\n{head}\n\n{quoted}"


def _is_told(page: Page) -> bool:
    """Whether a page is called for its beginning, so that a heading would say it twice."""
    begins = one_line(page.text).lstrip("#> ").startswith(page.title.rstrip("… "))
    return page.kind in (episodes.EPISODE, beliefs.BELIEF) and begins


def headed(page: Page, mark: str, text: str) -> str:
    """Return what a page says below its title, whose headings stand deeper than a second."""
    text = text if mark == "#" else markdown.contained(text)
    return text if _is_told(page) else f"{mark} {page.title}\n\n{text}".strip()


_PLAIN = patterns.compile(r"[\w-]+")  # names that mean nothing in a link
_LOADS = patterns.compile(r"!(?=\[)|<(?=[A-Za-z/!?])|%%|\[(?=\[)|\](?=\])")
_NO_LINK = str.maketrans({"|": "-", "[": "(", "]": ")", "#": " ", "^": " ", "\\": " "})


def copy(pages: Pages, name: str) -> dict[str, str]:
    """Return the files of the copy by their names.

    Args:
        pages: The memories.
        name: What the entity is called.
    """
    texts = {f"{page.path}.md": _copied(page, pages) for page in pages.pages}
    texts["Home.md"] = _home(pages, name)
    return texts


def inert(text: str) -> str:
    """Return a text in which nothing is loaded, run or linked."""
    return _LOADS.sub(lambda match: "".join(f"\\{mark}" for mark in match[0]), text)


def link(place: str, title: str) -> str:
    """Write a link to a page, shown as a title."""
    return f"[[{place}|{title.translate(_NO_LINK).strip() or place}]]"


def _copied(page: Page, pages: Pages) -> str:
    meta: dict[str, Any] = base.filled(
        {
            "aliases": list(dict.fromkeys((page.title, *page.names))),
            "tags": [page.kind.name],
            "date": f"{page.view.at:%Y-%m-%d}" if page.view.at else "",
            "trust": page.view.origin.trust,
        }
    )
    about = f"*{page.description}*\n\n" if page.description else ""
    parts = [inert(headed(page, "#", f"{about}{page.text}"))]
    people, sources = (
        [
            link(pages.places[one], pages.titles[pages.places[one]])
            for one in ids
            if one in pages.places
        ]
        for ids in (page.view.people, page.view.sources)
    )
    if people:
        parts.append(f"With {', '.join(people)}.")
    if sources:
        parts.append("## Rests on\n\n" + "\n".join(f"- {source}" for source in sources))
    return markdown.render(meta, "\n\n".join(part for part in parts if part)).text


def _home(pages: Pages, name: str) -> str:
    """List the pages by their kinds."""
    lines = [f"# {inert(name)}"]
    for kind, group in groupby(pages.pages, key=lambda page: page.kind):
        links = (f"- {link(page.path, page.title)}" for page in group)
        lines += ["", f"## {kind.plural.capitalize()}", "", *links]
    return "\n".join(lines) + "\n"
