from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tests.support.chatting import act, script
from tests.support.running import Run

# Before a file is replaced its bytes are compared twice, each time read anew: when the change is
# planned under the lock, and right before the new file takes its place.
CHECKS = 2


def opens(run: Run, *argv: str) -> Counter[str]:
    """Run a command; how often it opened each file, by name."""
    counted: Counter[str] = Counter()
    counting = True

    def hear(event: str, values: tuple[Any, ...]) -> None:  # stays until the process ends
        if counting and event == "open" and isinstance(values[0], str | os.PathLike):
            counted[Path(values[0]).name] += 1

    sys.addaudithook(hear)
    try:
        run.ok(*argv)
    finally:
        counting = False
    return counted


def test_a_turn_reads_each_file_once(full: Run) -> None:
    script(full, *[act("say", text="Hello Sam, it rains.")] * 2)
    full.ok("chat", "Hello, I am Sam.")
    counted = opens(full, "chat", "What do you know of Bo and the rain?")

    unchanged = ("entity.yaml", "bo.md", "knowledge.md", "ep_1.md", "bel_1.md", "journal.md")
    assert {name: counted[name] for name in unchanged} == dict.fromkeys(unchanged, 1)

    # the person who speaks, and the body: read once, changed by the turn; a record once more, to
    # part it into its two files
    assert counted["soma.yaml"] == 1 + CHECKS
    assert counted["sam.md"] == 2 + CHECKS

    # the transcript changes twice, and is read before and in between: what is said is added first,
    # by a change of one file, which is checked once; then the answer, with others
    assert counted["messages.jsonl"] == 2 + 1 + CHECKS

    # the ledger grows by each call of the model: the answer and the warming; its newest lines
    # are read before the first, and for the report behind it
    assert counted["calls.jsonl"] == 2 + 2
