"""Two clones that go on in one record whose rules look at what stands in its companion."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from bumble.entity.folder import Entity
from bumble.history import clone, merge
from bumble.records import narrative, relationships, topics
from bumble.records.base import Provenance
from tests.support import clones
from tests.support.living import write
from tests.support.repository import git
from tests.support.running import NOON, Run

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

MINE = Provenance(by="reflect", sources=("ses_1", "msg_1"))


def two(run: Run, monkeypatch: pytest.MonkeyPatch, change: Callable[[Entity, int], object]) -> Path:
    """Let two clones go on, each by itself, from what both have; the other one's is pushed."""
    root = clones.begun(run, monkeypatch).entity.root
    away = root.with_name("away")
    change(run.entity, 0)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "what both have")
    git(root, "clone", "-q", "--bare", str(root), str(root.with_name("server")))
    git(root, "remote", "add", "origin", str(root.with_name("server")))
    git(root, "push", "-qu", "origin", "main")
    git(root, "clone", "-q", str(root.with_name("server")), str(away))
    for number, folder in enumerate((root, away), 1):
        change(Entity(folder), number)
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", f"day {number}")
    git(away, "push", "-q")
    return root


def sam(entity: Entity) -> relationships.Relationship:
    file = entity.root / relationships.PERSON.path("sam")
    if not file.exists():
        write(entity, relationships.PERSON.plan_new(relationships.new("Sam", NOON), ""))
    return relationships.PERSON.load(file)


def updated(entity: Entity, number: int, **values: object) -> None:
    one = sam(entity)
    counted = {"interaction_count": one.interaction_count + 1}
    write(entity, relationships.plan_update(one, "", **{**counted, **values}))  # type: ignore[arg-type]


def lived(entity: Entity, number: int) -> None:
    line = f"- {number} May: [it](../episodes/ep_{number}.md)" if number else "We met."
    origin = Provenance(by="remember by form", sources=(f"ep_{number}",))
    updated(entity, number, **relationships.unportrayed(sam(entity), line, origin))


def drawn(entity: Entity, number: int) -> None:
    later = NOON + timedelta(days=number)
    text = ("Old.", "One.", "Two.")[number]
    lines = {relationships.line_key(text): MINE}
    updated(entity, number, text=text, lines=lines, last_reflection=later, provenance=MINE)


def told(entity: Entity, number: int) -> None:
    old, words = narrative.read(entity.root / narrative.PATH), ("old", "left", "right")[number]
    text = f"The {words} one begins.\n\nA middle that all tell.\n\nThe {words} one ends."
    at = NOON + timedelta(days=number)
    origin = Provenance(by="narrate", sources=(f"ep_{number}",), trust="entity")
    write(entity, narrative.plan_tell(old, text, at, origin, "", fingerprint=words))


def asked(entity: Entity, number: int) -> None:
    file = entity.root / topics.TOPIC.path("rain")
    old = topics.TOPIC.load(file) if file.exists() else None
    questions = [topics.Catalyst(f"What of {n}?", (f"ep_{number}",)) for n in ("it", number)]
    at = NOON + timedelta(days=number)
    new = topics.new("Rain", questions, at, fingerprint=f"f{number}", provenance=MINE)
    write(entity, topics.plan_draw(old, new, ""))


def whole(run: Run, path: str, head: str) -> None:
    """Check that a text is one side's, and so is what stands beside it."""
    for name in (path, f"sources/{path.removesuffix('.md')}.yaml"):
        assert run.text(name) == git(run.entity.root, "show", f"{head}:{name}") + "\n"


def test_two_pages_that_nobody_drew_have_the_links_of_both(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    two(run, monkeypatch, lived)
    run.ok("sync", "--push")
    found = sam(run.entity)
    links = "\n".join(f"- {day} May: [it](../episodes/ep_{day}.md)" for day in (2, 1))
    assert found.source.body == f"We met.\n\n{links}"
    assert (found.text, len(found.lines or {}), found.interaction_count) == ("", 3, 3)
    assert git(run.entity.root, "status", "--porcelain") == ""
    assert "lines" not in run.text(relationships.PERSON.path("sam"))


def test_of_two_portraits_the_later_comes_first(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    two(run, monkeypatch, drawn)
    run.ok("sync", "--push")
    found = sam(run.entity)
    assert found.text == "Two.\nOne."
    assert [found.origin_of(line).by for line in ("Two.", "One.")] == ["reflect", "reflect"]


def test_who_was_forgotten_in_one_clone_and_met_anew_brings_nothing_of_before(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(entity: Entity, number: int) -> None:
        if number == 1:
            for place in ("relationships/sam.md", "sources/relationships/sam.yaml"):
                (entity.root / place).unlink()
            anew = relationships.new("Sam", NOON + timedelta(days=9))
            write(entity, relationships.PERSON.plan_new(anew, ""))
            updated(entity, number)
        else:
            drawn(entity, number)

    two(run, monkeypatch, change)
    run.ok("sync")

    whole(run, "relationships/sam.md", "HEAD^1")


@pytest.mark.parametrize(("change", "path"), [(told, narrative.PATH), (asked, "topics/rain.md")])
@pytest.mark.parametrize("knows_how", [True, False])
def test_of_two_texts_made_apart_the_later_is_taken_whole(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Entity, int], object],
    path: str,
    *,
    knows_how: bool,
) -> None:
    root = two(run, monkeypatch, change)
    if knows_how:
        run.ok("sync", "--push")
    else:
        assert clone.install_driver(root)
        with pytest.raises(Exception, match="git"):
            git(root, "pull", "-q", "--rebase")
        run.ok("consolidate", "--check")
        git(root, "-c", "core.editor=true", "rebase", "--continue")
    whole(run, path, "origin/main")
    assert git(root, "status", "--porcelain") == ""


def test_two_portraits_by_hand_wait_for_their_owner(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(entity: Entity, number: int) -> None:
        if not number:
            drawn(entity, 0)
        file = entity.root / relationships.PERSON.path("sam")
        file.write_text(
            file.read_text().replace("Old.", f"By hand {number}." if number else "Old.")
        )

    two(run, monkeypatch, change)
    assert run("sync").code == 13
    assert "<<<<<<< ours\nBy hand 1.\n=======\nBy hand 2.\n" in run.text("relationships/sam.md")


def test_a_side_that_is_no_portrait_is_merged_by_lines() -> None:
    sides = [f"---\nnames: [Sam]\nfirst_met: {one}\n---\n\nIt.\n\n{one}\n" for one in ("a", "b")]
    before = sides[0].replace("\n\na\n", "\n\nc\n").replace("met: a", "met: c")
    assert not merge.merge_alone("relationships/sam.md", before, *sides).clean
    longer = before.replace("It.", "It.\n\nMore.\n\n")
    assert merge.merge_alone("relationships/sam.md", before, longer, before).text == longer


@pytest.mark.parametrize("path", ["sources/narrative.yaml", "sources/relationships/sam.yaml"])
def test_what_stands_beside_is_merged_alone(path: str) -> None:
    before, *sides = "at: 2026-05-01\n", "at: 2026-05-02\n", "at: 2026-05-03\n"
    assert merge.merge_alone(path, before, *sides).clean
