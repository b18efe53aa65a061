from __future__ import annotations

import pytest

from tests.support.running import Run
from tests.support.sweeps import turns

BROKEN = "---\nat: [unclosed\n---\n\nbroken\n"
PLAIN = ("knowledge.md", "GENOME.md", "working/MEMORY.md", "working/scratch.md")  # any text is one
NAMED_ELSEWHERE = ("relationships/bo", "skills/", "reminders/")  # by `doctor`


PATHS = (
    "relationships/sam.md",
    "relationships/bo.md",
    "skills/tea.md",
    "beliefs/bel_1.md",
    "episodes/2026/05/ep_1.md",
    "narrative.md",
    "knowledge.md",
    "soma.yaml",
    "state.yaml",
    "reminders/rem_1.md",
    "GENOME.md",
    "working/MEMORY.md",
    "working/scratch.md",
)


@pytest.mark.parametrize("path", turns(4, PATHS))
def test_a_file_that_a_hand_has_broken_stops_no_talk_and_stays_untouched(
    run: Run, path: str
) -> None:
    run.write("script.yaml", "- text: Fine.\n  always: true\n")
    run.ok("config", "set", "llm.model", f"script:{run.file('script.yaml')}")
    run.ok("chat", "I am Sam, and I like tea.")
    broken = BROKEN.encode() if path not in PLAIN else b"\xff\xfe## Pets\n"
    file = run.write(path, "")
    file.write_bytes(broken)
    said = ""
    for text in ("Do you remember me, and Bo, and the tea?", "And again?"):
        ran = run.ok("chat", text)
        assert ran.out == "Fine.\n"
        said += ran.err
    assert file.read_bytes() == broken
    if not path.startswith(NAMED_ELSEWHERE):
        assert file.name in said
    assert run("doctor").code == 12
    assert run("context", "list", "-m", "Hi").code == 0


def test_a_belief_that_is_none_holds_up_no_learning(run: Run) -> None:
    run.ok("belief", "add", "Sam drinks tea.")
    run.write("beliefs/sam-likes-plums.md", "Sam likes plums.\n")
    assert "waits" not in run.ok("consolidate", "--dry-run").err
    assert "`formed` is missing: it should be a day or a time, such as 2" in run("doctor").out


def test_a_page_that_lacks_what_it_needs_is_said_once(run: Run) -> None:
    run.write("script.yaml", "- text: Fine.\n  always: true\n")
    run.ok("config", "set", "llm.model", f"script:{run.file('script.yaml')}")
    page = run.write("beliefs/Untitled.md", "")
    asked = (("recall", "tea"), ("chat", "Hello."))
    assert ["Untitled" in run(*each).err for each in (*asked, *asked)] == [True, *[False] * 3]
    assert "1 file unreadable" in run.ok("status").out
    page.unlink()
    run("recall", "tea")
    run.write("beliefs/Untitled.md", "")
    assert ["Untitled" in run(*each).err for each in asked] == [True, False]


def test_a_time_by_hand_without_an_offset_is_in_the_entity_s_zone(run: Run) -> None:
    run.ok("config", "set", "timezone", "Europe/Berlin")
    run.write("reminders/boat.md", "---\nat: 2026-12-01 10:00\n---\n\nThe boat.\n")
    run.write("beliefs/Fish.md", "---\nformed: 1952-03-17\n---\n\nSam likes fish.\n")
    assert run.ok("doctor").code == 0
    (due,) = run.ok("remind", "list", "--json").data
    assert due["at"] == "2026-12-01T10:00:00+01:00"
    (held,) = run.ok("belief", "list", "--json").data
    assert held["formed"] == "1952-03-17T00:00:00+01:00"
    assert "Sam likes fish." in run.ok("recall", "fish").out
    run.ok("config", "set", "timezone", "Asia/Tokyo")
    hits = run.ok("recall", "fish", "--json").data["hits"]
    assert [hit["at"] for hit in hits] == ["1952-03-17T00:00:00+09:00"]


@pytest.mark.parametrize(
    ("path", "head"),
    [
        ("relationships/sam.md", "---\nnames: [Sam]\n---\n\n"),
        ("knowledge.md", "## Tea\n\n"),
        ("GENOME.md", ""),
        ("working/MEMORY.md", "# Memory\n\n"),
    ],
)
def test_a_file_with_both_sides_of_a_merge_is_left_out_of_the_prompt_and_named(
    run: Run, path: str, head: str
) -> None:
    run.write("script.yaml", "- text: Fine.\n  always: true\n")
    run.ok("config", "set", "llm.model", f"script:{run.file('script.yaml')}")
    run.ok("chat", "I am Sam.")
    sides = "<<<<<<< HEAD\nSam likes oolong.\n=======\nSam likes assam.\n>>>>>>> theirs\n"
    run.write(path, f"{head}{sides}")
    asked = ("-m", "Hello, what tea do I like?")
    assert "oolong" not in run.ok("context", "prompt", *asked).out
    ran = run.ok("chat", "Hello, what tea do I like?")
    assert f"{run.file(path).name}:{head.count(chr(10)) + 1}: the two sides of a merge" in ran.err
    run.write(path, f"{head}Sam likes oolong.\n")
    assert "oolong" in run.ok("context", "prompt", *asked).out
