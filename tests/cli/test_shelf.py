from __future__ import annotations

import pytest

from bumble.records import anchors, beliefs, episodes, kinds, projects, reminders, skills
from tests.support.running import Run

# What adds a record, its kind, and the command that lists it.
ADDED = [
    (("episode", "add", "We found the old boat."), episodes.EPISODE, "episode"),
    (("belief", "add", "Sam drinks green tea."), beliefs.BELIEF, "belief"),
    (("remind", "add", "Call the vet", "--in", "2h"), reminders.REMINDER, "remind"),
    (("anchor", "add", "calm", "The evening by the sea."), anchors.ANCHOR, "anchor"),
    (("project", "add", "The boat", "--next", "Paint it"), projects.PROJECT, "project"),
    (("skill", "set", "bread", "Let it rest.", "-d", "How it is made"), skills.SKILL, "skill"),
]


@pytest.mark.parametrize(("argv", "kind", "group"), ADDED, ids=lambda one: str(one)[:20])
def test_what_is_added_lies_where_its_kind_lies_and_is_listed(
    run: Run, argv: tuple[str, ...], kind: kinds.Kind, group: str
) -> None:
    added = run.ok(*argv, "--json").data
    made = [one["path"] for one in added["changes"] if one["action"] == "make"]
    records = [path for path in made if not path.startswith("sources/")]
    assert [kinds.of_path(path) for path in records] == [kind]
    assert [path.name for path in kind.paths(run.entity)] == [records[0].rsplit("/", 1)[-1]]
    assert len(run.ok(group, "list", "--json").data) == 1


@pytest.mark.parametrize(("argv", "kind", "group"), ADDED, ids=lambda one: str(one)[:20])
def test_what_is_shown_says_what_the_files_say_and_goes_with_its_removal(
    run: Run, argv: tuple[str, ...], kind: kinds.Kind, group: str
) -> None:
    run.ok(*argv)
    listed = run.ok(group, "list", "--json").data[0]
    named = listed.get("label") or listed.get("title") or listed.get("name") or "last"
    if group == "remind":
        assert run("remind", "show", named).code == 2  # a list says all of it
    else:
        shown = run.ok(group, "show", named, "--json").data
        assert {**shown, **listed} == shown
        assert "provenance" in shown
    if group == "project":
        return  # it is ended, not removed
    removed = run.ok(group, "remove", named, "--yes", "--json").data
    assert removed["changes"][0]["action"] == "remove"
    assert kind.paths(run.entity) == []


@pytest.mark.parametrize("ending", ["", ".md"])
def test_a_record_is_named_by_its_file_too(run: Run, ending: str) -> None:
    added = run.ok("belief", "add", "Sam drinks green tea.", "--json").data
    [file] = beliefs.BELIEF.paths(run.entity)
    assert file.stem != added["id"]  # it begins with words
    assert run.ok("belief", "show", file.stem + ending, "--json").data["id"] == added["id"]


@pytest.mark.parametrize(
    ("argv", "kind", "group"),
    [added for added in ADDED if added[2] != "project"],  # that is ended, not removed
    ids=lambda one: str(one)[:20],
)
def test_a_record_that_cannot_be_read_is_removed_all_the_same(
    run: Run, argv: tuple[str, ...], kind: kinds.Kind, group: str
) -> None:
    run.ok(*argv)
    [file] = kind.paths(run.entity)
    file.write_bytes(b"---\n{{: : :\n---\n\xff\xfe")
    assert run.ok(group, "remove", kind.stem(file), "--yes", "--json").data["changed"]
    assert [*kind.paths(run.entity), *run.entity.root.glob("sources/*/*.yaml")] == []
