from __future__ import annotations

from bumble.prompt import transcript
from bumble.recall import whole_record
from bumble.records import session_files
from tests.support import chatting, looking
from tests.support.running import Run

LONG = "The hive hums.\n" * 400


def test_the_whole_text_comes_back_byte_for_byte(run: Run) -> None:
    chatting.talk(run, [("sam", "Hello"), ("sam", LONG), ("ada", "Bees.")])
    name = session_files.reference(LONG)
    before = looking.truths(run)
    data = run.ok("expand", name, "--json").data
    assert data == {"ref": name, "text": LONG}
    assert run.ok("expand", name).out == f"{LONG}\n"
    for spelt in (f"[{name}]", f"ref {name}", name.upper()):
        assert run.ok("expand", spelt, "--json").data["text"] == LONG
    assert looking.truths(run) == before


TOLD = "green tea in the tin " * 20  # more than a note takes


def test_what_was_cleared_from_the_prompt_can_be_read_whole(run: Run) -> None:
    lines = [("sam", "Hi"), ("ada", "Hello"), ("sam", "Tea?"), ("tool", TOLD)]
    lines += [("tool", f"result {n}") for n in range(4)]
    chatting.talk(run, [*lines, *[("sam", "yes"), ("ada", "yes")] * 10])
    run.ok("compact", "--prune-only")
    run.environ["BUMBLE_LLM_ABILITIES_TALK"] = "{any: write}"  # what is short has no results
    shown = run.ok("context", "prompt").out
    name = session_files.reference(TOLD)
    assert "green tea" not in shown
    assert f'{transcript.CLEARED} recall "tea", ref {name}' in shown
    assert run.ok("expand", name).out == f"{TOLD}\n"


def test_a_memory_that_a_prompt_shows_cut_can_be_read_whole(run: Run) -> None:
    looking.episode(run, "hive", f"The hive hums. {LONG}\nThe queen is called Vera.")
    name = whole_record.reference("episode", "ep_hive")
    assert run.ok("expand", name).out.endswith("The queen is called Vera.\n")
