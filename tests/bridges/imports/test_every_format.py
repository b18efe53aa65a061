from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bumble.bridges.imports import formats
from tests.support import exports
from tests.support.running import Run
from tests.support.sweeps import turns

# What each export says, and a word of the person's, of another program's, or of a file's.
FINDS = {
    "chatgpt": ("landlord Rui", "My landlord is called Rui."),
    "claude": ("rye bread", "I bake rye bread on Sundays."),
    "gemini": ("giraffe", "how tall is a giraffe"),
    "grok": ("oboe", "I play the oboe."),
    "letta": ("bees", "I keep bees."),
    "card": ("wolves", "Wolves wait."),
    "lorebook": ("wolves", "Wolves wait."),
    "openclaw": ("clocks", "Sam mends clocks."),
    "hermes": ("garden gate", "The garden gate sticks."),
    "claude-code": ("Sam uses uv", "Sam uses uv."),
    "obsidian": ("quince tree", "I planted a quince tree."),
}


def truth(run: Run) -> dict[str, Any]:
    return {
        name: state
        for name, state in run.state().items()
        if not name.startswith((".bumble", "memory.db", ".git"))
    }


@pytest.mark.parametrize("form", turns(4, list(formats.BY_NAME)))
def test_it_is_looked_at_imported_found_and_not_imported_twice(
    run: Run, tmp_path: Path, form: str
) -> None:
    run.environ["BUMBLE_EMBEDDING_MODEL"] = "none"
    path = str(exports.every(tmp_path)[form])
    before = truth(run)
    looked = run.ok("import", path, "--dry-run", "--json").data
    assert (looked["format"], looked["dry_run"], looked["changed"]) == (form, True, True)
    assert truth(run) == before
    done = run.ok("import", path, "--json").data
    assert {**done, "dry_run": True} == looked
    query, text = FINDS[form]
    hits = run.ok("recall", query, "--json").data["hits"]
    assert any(text in hit["text"] for hit in hits), hits
    after = truth(run)
    again = run.ok("import", path)
    assert "Nothing new to import." in again.out
    assert truth(run) == after
    assert run("doctor").code == 0
