"""A copy for reading: Markdown with wikilinks, which Obsidian shows as a graph.

Nothing in it loads anything: pictures and HTML in what was said are shown as text.
"""

from __future__ import annotations

import re
from typing import Any

from bumble.bridges.exports.memories import Page, Pages
from bumble.records import base, kinds
from bumble.text import markdown

HOME = "Home"
_LOADS = re.compile(r"!(?=\[)|<(?=[A-Za-z/!?])|%%|\[(?=\[)|\](?=\])")
_NO_LINK = str.maketrans({"|": "-", "[": "(", "]": ")", "#": " ", "^": " ", "\\": " "})


def copy(pages: Pages, name: str) -> dict[str, str]:
    """Return the files of the copy by their names.

    Args:
        pages: The memories.
        name: What the entity is called.
    """
    titles = {page.path: page.title for page in pages.pages}
    texts = {f"{page.path}.md": _page(page, pages, titles) for page in pages.pages}
    texts[f"{HOME}.md"] = _home(pages, name)
    return texts


def inert(text: str) -> str:
    """Return a text in which nothing is loaded, run or linked."""
    return _LOADS.sub(lambda match: "".join(f"\\{mark}" for mark in match[0]), text)


def link(place: str, title: str) -> str:
    """Write a link to a page, shown as a title."""
    return f"[[{place}|{title.translate(_NO_LINK).strip() or place}]]"


def _page(page: Page, pages: Pages, titles: dict[str, str]) -> str:
    meta: dict[str, Any] = base.filled(
        {
            "aliases": list(dict.fromkeys((page.title, *page.names))),
            "tags": [page.kind.name],
            "date": f"{page.at:%Y-%m-%d}" if page.at else "",
            "trust": page.origin.trust,
        }
    )
    parts = [f"# {inert(page.title)}", inert(page.text)]
    if page.description and page.kind is not kinds.BELIEF:
        parts.insert(1, f"*{inert(page.description)}*")
    people = [person for person in page.people if person in pages.places]
    if people:
        linked = (link(pages.places[one], titles[pages.places[one]]) for one in people)
        parts.append(f"With {', '.join(linked)}.")
    sources = [source for source in page.sources if source in pages.places]
    if sources:
        lines = (f"- {_linked(pages.places[source], titles)}" for source in sources)
        parts.append("## Rests on\n\n" + "\n".join(lines))
    return markdown.render(meta, "\n\n".join(part for part in parts if part)).text


def _linked(place: str, titles: dict[str, str]) -> str:
    return link(place, titles[place.partition("#")[0]])


def _home(pages: Pages, name: str) -> str:
    lines = [f"# {inert(name)}"]
    kind = None
    for page in pages.pages:
        if page.kind is not kind:
            kind = page.kind
            lines += ["", f"## {kind.plural.capitalize()}", ""]
        lines.append(f"- {link(page.path, page.title)}")
    return "\n".join(lines) + "\n"
