"""Agents' memories as neighbours: the files that Claude Code, OpenClaw, Hermes and Letta read.

They know no audiences: whatever is in them, whoever talks with that agent may hear. What was not
said by somebody the entity trusts stays a quotation there too. docs/imports.md names the versions
of the formats.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from bumble.bridges.exports.memories import Page, Pages, headed, is_told, quotation
from bumble.bridges.imports.agents import ABOUT, INDEX, PERSONA, SEPARATOR, SOUL
from bumble.entity.config import Identity
from bumble.entity.secrets import redacted
from bumble.files import disk
from bumble.records import beliefs, kinds, knowledge
from bumble.records.kind import Kind
from bumble.text import markdown
from bumble.text.words import one_line, shorten

INDEX_LINES, INDEX_BYTES = 200, 25_000  # of its index that Claude Code reads at the start
MEMORY_CHARS, ABOUT_CHARS = 2_200, 1_375  # that Hermes takes
DESCRIPTION_CHARS = 150
TYPES = {kinds.BELIEF.name: "user", kinds.PROJECT.name: "project"}  # else "reference"


class AgentFiles(Struct):
    """The files for an agent, and how much had no room in them."""

    texts: dict[str, str] = field(default_factory=dict)
    left_out: int = 0

    def add(self, path: str, text: str, **meta: Any) -> None:
        """Take a file in; an empty one is none."""
        if text.strip():
            self.texts[path] = (
                markdown.render(meta, text.strip()).text if meta else f"{text.strip()}\n"
            )


class Self(Struct, frozen=True):
    """Whose memories go to an agent, and what of them."""

    identity: Identity
    owner: str  # id of the person it belongs to
    pages: Pages

    def of(self, *wanted: Kind) -> list[Page]:
        """Return the memories of some kinds, without its instructions and what it put away."""
        return [
            page
            for page in self.pages.pages
            if page.kind in wanted and page.text.strip() and not _stays(page)
        ]

    @property
    def soul(self) -> str:
        """Who the entity is."""
        persona = self.identity.identity
        parts = (persona.monologue.strip(), persona.voice.strip())
        return redacted(self.identity.named("\n\n".join(filter(None, parts))))

    def about(self) -> list[str]:
        """Say what is known of the owner, a paragraph each: their portrait, then beliefs."""
        portraits = [quoted(page) for page in self.of(kinds.PERSON) if page.id == self.owner]
        return portraits + [quoted(page) for page in self.of(kinds.BELIEF)]

    def days(self) -> Mapping[str, str]:
        """Return what happened, by day."""
        texts: dict[str, list[str]] = {}
        for page in sorted(
            self.of(kinds.EPISODE, kinds.JOURNAL), key=lambda page: str(page.view.at)
        ):
            told = headed(page, "##", quoted(page))
            texts.setdefault(f"{page.view.at:%Y-%m-%d}", []).append(told)
        return {day: "\n\n".join(told) for day, told in texts.items()}

    def sections(self, *wanted: Kind) -> str:
        """Return memories under a heading each."""
        shown = (page for page in self.of(*wanted) if page.id != self.owner)
        return "\n\n".join(headed(page, "##", quoted(page)) for page in shown)


def _stays(page: Page) -> bool:
    """Whether a memory is what its owner tells it to do, or a belief put away, or only dreamt."""
    if page.kind is kinds.KNOWLEDGE:
        _, is_locked = knowledge.unmarked(page.view.source.lstrip("# ").partition("\n")[0])
        return is_locked
    meta = page.view.document.meta if page.view.document is not None else {}
    return bool(meta.get("archived")) or meta.get("category") == beliefs.DREAM_INSIGHT


def quoted(page: Page) -> str:
    """Return the text of a memory; as a quotation where it is not the entity's own."""
    return quotation(page.view.origin, page.text.strip())


def _add_skills(made: AgentFiles, own: Self) -> None:
    for page in own.of(kinds.SKILL):
        stem = disk.file_name(page.title)
        made.add(
            f"skills/{stem}/SKILL.md", quoted(page), name=page.title, description=page.description
        )


def claude_code(own: Self) -> AgentFiles:
    """Write the memory folder of a project: an index, and a note a memory."""
    made, lines = AgentFiles(), ["# Memory", ""]
    for page in own.of(kinds.PERSON, kinds.BELIEF, kinds.KNOWLEDGE, kinds.PROJECT):
        stem = _free(made, _slug(page.title))
        kind = "user" if page.id == own.owner else TYPES.get(page.kind.name, "reference")
        told = _described(page)
        made.add(f"{stem}.md", quoted(page), name=stem, description=told, metadata={"type": kind})
        is_whole = is_told(page)
        line = f"- [{told}]({stem}.md)" if is_whole else f"- [{page.title}]({stem}.md): {told}"
        size = sum(len(each.encode()) + 1 for each in (*lines, line))
        if len(lines) < INDEX_LINES and size <= INDEX_BYTES:
            lines.append(line)
        else:
            made.left_out += 1
    made.add(INDEX, "\n".join(lines))
    return made


def _described(page: Page) -> str:
    """Say what a memory is about: its beginning."""
    return shorten(one_line(page.text), DESCRIPTION_CHARS, at_word=True)


def _slug(title: str) -> str:
    return "-".join(re.findall(r"\w+", title.casefold()))[:60] or "note"


def _free(made: AgentFiles, stem: str) -> str:
    names = (stem, *(f"{stem}-{number}" for number in range(2, len(made.texts) + 3)))
    return next(name for name in names if f"{name}.md" not in made.texts)


def openclaw(own: Self) -> AgentFiles:
    """Write a workspace."""
    made = AgentFiles()
    made.add(SOUL[0], f"# SOUL.md\n\n{own.soul}")
    made.add(SOUL[1], f"# IDENTITY.md\n\n- **Name:** {redacted(own.identity.name)}")
    called = redacted(own.identity.owner.name or "you")
    made.add(ABOUT, "\n\n".join((f"# USER.md\n\n- **Name:** {called}", *own.about())))
    made.add(INDEX, f"# MEMORY.md\n\n{own.sections(kinds.KNOWLEDGE, kinds.PERSON, kinds.PROJECT)}")
    for day, text in own.days().items():
        made.add(f"memory/{day}.md", f"# {day}\n\n{text}")
    made.add("DREAMS.md", own.sections(kinds.DREAM))
    _add_skills(made, own)
    return made


def hermes(own: Self) -> AgentFiles:
    """Write the files of a home: as many entries as it takes, the first ones first."""
    made = AgentFiles()
    made.add(SOUL[0], own.soul)
    known = [
        f"{page.title}: {one_line(quoted(page))}"
        for page in own.of(kinds.KNOWLEDGE, kinds.PERSON, kinds.PROJECT)
        if page.id != own.owner
    ]
    for name, most, entries in (
        (INDEX, MEMORY_CHARS, known), (ABOUT, ABOUT_CHARS, map(one_line, own.about()))
    ):  # fmt: skip
        kept = list(_within(made, entries, most))
        made.add(f"memories/{name}", SEPARATOR.join(kept))
    _add_skills(made, own)
    return made


def _within(made: AgentFiles, entries: Iterable[str], most: int) -> Iterator[str]:
    size = 0
    for entry in entries:
        if size + len(entry) + len(SEPARATOR) > most:
            made.left_out += 1
            continue
        size += len(entry) + len(SEPARATOR)
        yield entry


def letta(own: Self) -> AgentFiles:
    """Write a memory folder: what is always in the prompt in `system/`, the rest beside it."""
    made = AgentFiles()
    about = "\n\n".join(
        (f"Their name is {redacted(own.identity.owner.name or 'you')}.", *own.about())
    )
    made.add(f"system/{PERSONA}.md", own.soul, description="Who I am.")
    made.add("system/human.md", about, description="Whom I belong to, and what I know of them.")
    for page in own.of(kinds.KNOWLEDGE, kinds.PERSON, kinds.PROJECT):
        if page.id != own.owner:
            told, text = _described(page), headed(page, "#", quoted(page))
            made.add(f"reference/{_slug(page.title)}.md", text, description=told)
    for day, text in own.days().items():
        made.add(f"days/{day}.md", f"# {day}\n\n{text}", description=f"What happened on {day}.")
    _add_skills(made, own)
    return made


WRITERS: Mapping[str, Callable[[Self], AgentFiles]] = {
    "claude-code": claude_code,
    "openclaw": openclaw,
    "hermes": hermes,
    "letta": letta,
}
