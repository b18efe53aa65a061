"""A bundle of the Open Knowledge Format: each memory a file, with its sources and who verified it.

Source: Open Knowledge Format 0.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from bumble.bridges.exports.memories import Page, Pages
from bumble.bridges.imports.notes import OKF_VERSION
from bumble.recall.belief_strength import fades_on
from bumble.records import base, beliefs, kinds
from bumble.records.provenance import Reader
from bumble.text import markdown

PRODUCER = "bumble"


def bundle(pages: Pages, name: str, owner: str, reader: Reader, now: datetime) -> dict[str, str]:
    """Return the files of a bundle by their names.

    Args:
        pages: The memories.
        name: What the entity is called.
        owner: Id of the person it belongs to.
        reader: For whom it is; what it says of others stays out.
        now: The present.
    """
    texts = {}
    for page in pages.pages:
        meta = _meta(page, pages, owner)
        if not reader.id and (own := _own_meta(page)):
            meta[PRODUCER] = dict(own)
        texts[f"{page.path}.md"] = markdown.render(meta, _body(page)).text
    texts["index.md"] = _index(pages, name)
    texts["log.md"] = f"# Log\n\n## {now:%Y-%m-%d}\n\n* Written by bumble from what it holds.\n"
    return texts


def _body(page: Page) -> str:
    return "" if page.kind is kinds.BELIEF and page.text == page.description else page.text


def _meta(page: Page, pages: Pages, owner: str) -> dict[str, Any]:
    origin, values = page.origin, _own_meta(page)
    actor = f"{PRODUCER}/{origin.model or origin.by}" if origin.by or origin.model else ""
    generated = base.filled({"by": actor, "at": base.stamp(page.at) if page.at else ""})
    is_owners = page.kind is kinds.BELIEF and origin.trust == "owner"
    is_owners |= page.kind is kinds.KNOWLEDGE and not actor
    verified = {"by": f"human:{owner}"} | ({"at": base.stamp(page.at)} if page.at else {})
    return base.filled(
        {
            "type": page.kind.page,
            "title": page.title,
            "description": page.description,
            "tags": _tags(page, values),
            "sources": [
                {"resource": _resource(source, pages), "id": source}
                for source in page.sources
                if source in pages.places
            ],
            "generated": generated if actor else {},
            "verified": verified if is_owners else {},
            "status": "deprecated" if values.get("archived") else "stable",
            "stale_after": _stale_after(page),
            "id": page.id,
        }
    )


def _stale_after(page: Page) -> str:
    """Return the day from which a belief counts as faded; empty if it never will, or has."""
    if page.kind is not kinds.BELIEF or page.view is None or page.view.document is None:
        return ""
    day = fades_on(beliefs.of(page.view.document, page.id))
    return f"{day:%Y-%m-%d}" if day else ""


def _own_meta(page: Page) -> Mapping[str, Any]:
    """Return the front matter of the entity's own file."""
    document = page.view.document if page.view is not None else None
    return document.meta if document is not None else {}


def _tags(page: Page, values: Mapping[str, Any]) -> list[str]:
    category = values.get("category")
    return [category] if isinstance(category, str) else []


def _resource(source: str, pages: Pages) -> str:
    path, mark, anchor = pages.places[source].partition("#")
    return f"/{path}.md{mark}{anchor}"


def _index(pages: Pages, name: str) -> str:
    lines = ["---", f'okf_version: "{OKF_VERSION}"', "---", "", f"# What {_plain(name)} remembers"]
    kind = None
    for page in pages.pages:
        if page.kind is not kind:
            kind = page.kind
            lines += ["", f"## {kind.plural.capitalize()}", ""]
        text = f" - {_plain(page.description)}" if page.description else ""
        lines.append(f"* [{_plain(page.title)}](/{page.path}.md){text}")
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """Return a line that opens no link and closes none."""
    for mark in "\\[]<>`":
        text = text.replace(mark, f"\\{mark}")
    return text
