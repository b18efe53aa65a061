"""Small passes for tests: they write a line into the journal for each word that waits in a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bumble.entity import changes
from bumble.entity.changes import Change
from bumble.llm.protocol import PromptMessage, Request
from bumble.runtime.job import Condition, Due, JobResult, Pass
from bumble.runtime.runtime import Runtime

WAITING = "workspace/waiting.txt"


def words(runtime: Runtime, name: str) -> list[str]:
    """Return what waits for a pass: the lines of the file that begin with its name."""
    file = runtime.entity.root / WAITING
    lines = file.read_text().splitlines() if file.exists() else []
    return [line.split(" ", 1)[1] for line in lines if line.startswith(f"{name} ")]


def wait(runtime: Runtime, *lines: str) -> None:
    """Let words wait, each as "pass word"."""
    file = runtime.entity.root / WAITING
    file.parent.mkdir(exist_ok=True)
    file.write_text("".join(f"{line}\n" for line in lines))


def small(name: str, before: Callable[[str], None] | None = None, *, thinks: bool = False) -> Pass:
    """Make a pass.

    Args:
        name: Of the pass.
        before: Called with the word before it is done.
        thinks: Whether it asks the model.
    """

    def check(runtime: Runtime) -> Due[str]:
        found = tuple(words(runtime, name))
        return Due((Condition("waiting", str(len(found)), "at least 1", bool(found)),), found)

    def run(runtime: Runtime, word: str) -> JobResult:
        if before is not None:
            before(word)
        if thinks:
            runtime.model.complete(Request([PromptMessage("user", word)], purpose=name))

        def plan() -> Sequence[Change | None]:
            file = runtime.entity.root / WAITING
            old = file.read_text()
            new = old.replace(f"{name} {word}\n", "", 1)
            if new == old:
                return []
            return [
                changes.add("journal.md", f"{name} {word}\n", name),
                changes.write(WAITING, new, old, name),
            ]

        return JobResult(f"{name}: {word}", plan, (word,))

    return Pass(name, check, run, thinks=thinks)
