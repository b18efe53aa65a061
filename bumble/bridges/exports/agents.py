"""Agents' memories as neighbours: the files that OpenClaw and Letta read.

They know no audiences: whatever is in them, whoever talks with that agent may hear. What was not
said by somebody the entity trusts stays a quotation there too. docs/imports.md names the versions
of the formats.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct, field

from bumble.bridges.exports.memories import Page, Pages, headed, quotation
from bumble.bridges.imports.agents import ABOUT, INDEX, PERSONA, SOUL
from bumble.entity.config import Identity
from bumble.entity.secrets import redacted
from bumble.files import disk
from bumble.records import (
    beliefs,
    dreams,
    episodes,
    journal,
    kind,
    knowledge,
    projects,
    relationships,
    skills,
)
from bumble.text import markdown, words

DESCRIPTION_CHARS = 150


class AgentFiles(Struct):
    """Whose memories go to an agent, the files as they are made, and what of them is in these."""

    identity: Identity
    owner: str  # id of the person it belongs to
    pages: Pages
    texts: dict[str, str] = field(default_factory=dict)  # by path
    taken: set[str] = field(default_factory=set)  # paths of the pages that the form has a place for

    def add(self, path: str, text: str, **meta: Any) -> None:
        """Take a file in; an empty one is none."""
        if text.strip():
            self.texts[path] = (
                markdown.render(meta, text.strip()).text if meta else f"{text.strip()}\n"
            )

    def free(self, stem: str) -> str:
        """Return the path of a note that is not there yet, without its ending."""
        names = (stem, *(f"{stem}-{number}" for number in range(2, len(self.texts) + 3)))
        return next(name for name in names if f"{name}.md" not in self.texts)

    def quoted(self, page: Page) -> str:
        """Return the text of a memory; as a quotation where it is not the entity's own."""
        self.taken.add(page.path)
        return quotation(page.view.origin, page.text.strip())

    def of(self, *wanted: kind.Kind, of_owner: bool = False) -> list[Page]:
        """Return the memories of some kinds, without its instructions and what it put away.

        The portrait of its owner is the one there is with `of_owner`, and else none.
        """
        return [
            page
            for page in self.pages.pages
            if page.kind in wanted and page.text.strip() and not _stays(page)
            if (page.kind is relationships.PERSON and page.id == self.owner) == of_owner
        ]

    @property
    def soul(self) -> str:
        """Who the entity is."""
        persona = self.identity.identity
        parts = (persona.monologue.strip(), persona.voice.strip())
        return redacted(self.identity.named("\n\n".join(filter(None, parts))))

    def about(self) -> list[Page]:
        """Return what is known of the owner: their portrait, then beliefs."""
        return self.of(relationships.PERSON, of_owner=True) + self.of(beliefs.BELIEF)

    def days(self) -> Mapping[str, str]:
        """Return what happened, by day."""
        texts: dict[str, list[str]] = {}
        for page in sorted(
            self.of(episodes.EPISODE, journal.JOURNAL), key=lambda page: str(page.view.at)
        ):
            told = headed(page, "##", self.quoted(page))
            texts.setdefault(f"{page.view.at:%Y-%m-%d}", []).append(told)
        return {day: "\n\n".join(told) for day, told in texts.items()}

    def sections(self, *wanted: kind.Kind) -> str:
        """Return memories under a heading each."""
        return "\n\n".join(headed(page, "##", self.quoted(page)) for page in self.of(*wanted))


def _stays(page: Page) -> bool:
    """Whether a memory is what its owner tells it to do, or a belief put away, or only dreamt."""
    if page.kind is knowledge.KNOWLEDGE:
        _, is_locked = knowledge.unmarked(page.view.source.lstrip("# ").partition("\n")[0])
        return is_locked
    meta = page.view.document.meta if page.view.document is not None else {}
    return bool(meta.get("archived")) or meta.get("category") == beliefs.DREAM_INSIGHT


def _add_skills(own: AgentFiles) -> None:
    for page in own.of(skills.SKILL):
        path = f"skills/{disk.file_name(page.title)}/SKILL.md"
        own.add(path, own.quoted(page), name=page.title, description=page.description)


def _slug(title: str) -> str:
    return "-".join(re.findall(r"\w+", title.casefold()))[:60] or "note"


def openclaw(own: AgentFiles) -> None:
    """Write a workspace."""
    own.add(SOUL[0], f"# SOUL.md\n\n{own.soul}")
    own.add(SOUL[1], f"# IDENTITY.md\n\n- **Name:** {redacted(own.identity.name)}")
    called = redacted(own.identity.owner.name or "you")
    own.add(
        ABOUT, "\n\n".join((f"# USER.md\n\n- **Name:** {called}", *map(own.quoted, own.about())))
    )
    known = own.sections(knowledge.KNOWLEDGE, relationships.PERSON, projects.PROJECT)
    own.add(INDEX, f"# MEMORY.md\n\n{known}")
    for day, text in own.days().items():
        own.add(f"memory/{day}.md", f"# {day}\n\n{text}")
    own.add("DREAMS.md", own.sections(dreams.DREAM))
    _add_skills(own)


def letta(own: AgentFiles) -> None:
    """Write a memory folder: what is always in the prompt in `system/`, the rest beside it."""
    called = f"Their name is {redacted(own.identity.owner.name or 'you')}."
    about = "\n\n".join((called, *map(own.quoted, own.about())))
    own.add(f"system/{PERSONA}.md", own.soul, description="Who I am.")
    own.add("system/human.md", about, description="Whom I belong to, and what I know of them.")
    for page in own.of(knowledge.KNOWLEDGE, relationships.PERSON, projects.PROJECT):
        path, text = own.free(f"reference/{_slug(page.title)}"), own.quoted(page)
        begins = words.shorten(words.one_line(page.text), DESCRIPTION_CHARS, at_word=True)
        own.add(f"{path}.md", headed(page, "#", text), description=begins)
    for day, text in own.days().items():
        own.add(f"days/{day}.md", f"# {day}\n\n{text}", description=f"What happened on {day}.")
    _add_skills(own)


WRITERS: Mapping[str, Callable[[AgentFiles], None]] = {
    "openclaw": openclaw,
    "letta": letta,
}
