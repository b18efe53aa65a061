from __future__ import annotations

from typing import Any

import pytest

from bumble.prompt import compact
from tests.support import chatting, looking
from tests.support.chatting import script
from tests.support.running import Run
from tests.support.stretches import claim, makes

NOTES: dict[str, Any] = {
    "purpose": "compact",
    "json": dict.fromkeys(compact.HEADINGS, "") | {"goal": "Sam wants company."},
    "always": True,
}


@pytest.fixture
def long(run: Run) -> Run:
    """Ada with a conversation that is too long for her model."""
    chatting.long_talk(run)
    run.ok("config", "set", "cognition.max_context_tokens", "4096")
    script(run, NOTES)
    return run


def shown(run: Run) -> str:
    return run.ok("context", "prompt").out


def test_check_prints_the_numbers_and_writes_nothing(long: Run) -> None:
    before = looking.truths(long)
    out = long.ok("compact", "--check").out
    assert "of 4096" in out
    assert "over 3072" in out
    assert out.endswith("due: 1 to do\n")
    data = long.ok("compact", "--check", "--json").data
    assert data["due"] is True
    assert [gate["name"] for gate in data["gates"]] == ["enabled", "length"]
    assert looking.truths(long) == before


def test_a_short_conversation_is_not_due(run: Run) -> None:
    script(run)
    chatting.talk(run, [("sam", "Hi"), ("ada", "Hello")])
    before = looking.truths(run)
    assert run("compact", "--check", "--exit-code").code == 4
    assert run("compact", "--exit-code").code == 4
    assert "Nothing to do: length: " in run.ok("compact", "-v").out
    assert looking.truths(run) == before


def test_a_summary_stands_for_the_middle_and_the_transcript_keeps_every_line(long: Run) -> None:
    place = "sessions/ses_long/messages.jsonl"
    before = long.text(place)
    [done] = long.ok("compact", "--json").data["done"]
    assert done["fits"] is True
    assert done["after_tokens"] <= done["target_tokens"] < done["before_tokens"]
    assert long.text(place).startswith(before)
    prompt = shown(long)
    assert "Sam wants company." in prompt
    assert "Ilse lives in Porto" in prompt
    assert "240 euros" in prompt
    assert "with this and that and then some more, day 40." not in prompt
    assert long("compact", "--exit-code").code == 4


HEARD = claim("Sam and I talked.", "m1", rests=["a"])
NOTHING: dict[str, Any] = {"purpose": "stretch", "text": makes(HEARD).text, "always": True}
MENDED: dict[str, Any] = {"purpose": "mend", "json": {"mended": []}, "always": True}


@pytest.fixture
def waiting(long: Run) -> Run:
    """The same, and nothing of it was distilled."""
    script(long, NOTES, NOTHING, MENDED)
    long.write("state.yaml", "sessions:\n  ses_long: {distill: msg_00000}\n")
    return long


def test_what_leaves_the_view_is_distilled_first(waiting: Run) -> None:
    [done] = waiting.ok("compact", "--json").data["done"]
    assert sum(one["messages"] for one in done["flush"]) > 100
    assert waiting.text("state.yaml").count("msg_00000") == 0
    again = waiting.ok("compact", "--force", "--json").data["done"]
    assert all(one["flush"] == [] for one in again)


def test_the_numbers_pruning_and_undo_need_no_model(long: Run) -> None:
    looking.without_models(long)
    long.ok("compact", "--check")
    long.ok("compact", "--prune-only")
    assert long.ok("compact", "--no-model", "--json").data["ran"] is True
    long.ok("compact", "--undo")


def test_a_dry_run_tells_of_the_flush_and_asks_nothing(waiting: Run) -> None:
    before = looking.truths(waiting)
    assert "is distilled (`bumble distill --dry-run`)" in waiting.ok("compact", "--dry-run").out
    assert looking.truths(waiting) == before
