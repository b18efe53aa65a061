"""What came of an import: how much of each kind, and what was left out and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field
from msgspec.structs import asdict

from bumble.bridges.imports.items import LeftOut

EXAMPLES = 5  # of what was left out for a reason
MAX_REASONS = 50  # what a broken file says may differ each time


class Passed(Struct):
    """All that was left out for one reason."""

    why: str
    broken: bool
    is_block: bool = False  # pieces of messages are counted
    count: int = 0
    examples: list[str] = field(default_factory=list)


class ImportReport(Struct):
    """The counts of an import."""

    new: int = 0  # conversations
    grown: int = 0
    unchanged: int = 0
    older: int = 0  # than was asked for
    messages: int = 0
    blocks: int = 0  # pieces of messages that were taken, also of those that are there already
    facts: int = 0
    skills: int = 0
    same: int = 0  # facts and skills that say so already
    persona: list[str] = field(default_factory=list)  # what was set: `identity.monologue`
    secrets: int = 0  # texts in which one was hidden
    left_out: dict[str, Passed] = field(default_factory=dict)

    @property
    def changed(self) -> bool:
        """Whether anything was written."""
        return bool(self.new or self.grown or self.facts or self.skills or self.persona)

    @property
    def read(self) -> bool:
        """Whether anything could be read."""
        return self.changed or bool(self.unchanged or self.older or self.same)

    @property
    def broken(self) -> int:
        """How many things should have been readable and were not."""
        return sum(passed.count for passed in self.left_out.values() if passed.broken)

    @property
    def blocks_left_out(self) -> int:
        """How many pieces of messages were not taken."""
        return sum(passed.count for passed in self.left_out.values() if passed.is_block)

    def leave(self, item: LeftOut) -> None:
        """Note what was left out."""
        why = item.why
        if why not in self.left_out and len(self.left_out) >= MAX_REASONS:
            why = "further kinds of blocks" if item.is_block else "further problems"
        passed = self.left_out.setdefault(why, Passed(why, item.broken, item.is_block))
        passed.count += item.count
        if len(passed.examples) < EXAMPLES and item.what:
            passed.examples.append(item.what[:160])

    def data(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "conversations": {
                "new": self.new,
                "grown": self.grown,
                "unchanged": self.unchanged,
                "older": self.older,
            },
            "messages": self.messages,
            "blocks": {"taken": self.blocks, "left_out": self.blocks_left_out},
            "facts": self.facts,
            "skills": self.skills,
            "same": self.same,
            "persona": self.persona,
            "secrets": self.secrets,
            "left_out": [asdict(passed) for passed in self.left_out.values()],
        }

    def lines(self) -> Iterator[str]:
        """Yield it for people."""
        if self.new or self.grown:
            grown = f", {self.grown:,} that went on" if self.grown else ""
            yield f"  {_count(self.new, 'conversation')}{grown}: {_count(self.messages, 'message')}"
        if self.facts:
            yield f"  {_count(self.facts, 'section')} of knowledge, quoted as imported"
        if self.skills:
            yield f"  {_count(self.skills, 'skill')}, quoted as imported"
        if self.persona:
            yield f"  who it is: {', '.join(self.persona)}"
        if self.unchanged or self.same:
            there = self.unchanged + self.same
            yield f"  {there:,} already there, unchanged"
        if self.older:
            yield f"  {_count(self.older, 'conversation')} older than --from"
        if self.secrets:
            yield f"  secrets were hidden in {_count(self.secrets, 'text')}"
        for passed in sorted(self.left_out.values(), key=lambda passed: not passed.broken):
            shown = ", ".join(passed.examples)
            more = " …" if passed.count > len(passed.examples) else ""
            yield f"  left out: {passed.count:,} × {passed.why} ({shown}{more})"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
