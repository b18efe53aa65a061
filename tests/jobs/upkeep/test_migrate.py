"""A folder that an older bumble made is brought to the present format: whole, or not at all."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from bumble.entity import changes, companions
from bumble.entity.settings import SCHEMA_VERSION
from bumble.files import disk
from tests.support.kills import every_call
from tests.support.repository import git, subjects
from tests.support.running import Run
from tests.support.sweeps import sampled, some

FORMATS = Path(__file__).parents[2] / "data" / "formats"
KEPT = sorted(int(path.stem) for path in FORMATS.glob("*.zip"))
MADE = ("entity.yaml", ".gitattributes", ".gitignore")  # what a format is made of
CACHES = (".git", ".bumble", ".history", "memory.db")
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def truth(root: Path) -> dict[str, bytes]:
    """Return every file that is no cache."""
    inside = ((path, path.relative_to(root)) for path in sorted(root.rglob("*")))
    return {
        place.as_posix(): path.read_bytes()
        for path, place in inside
        if path.is_file() and place.parts[0] not in CACHES
    }


@pytest.fixture
def older(run: Run) -> Callable[[int], Run]:
    """Put a kept folder of a format where the entity of a run is."""

    def unpacked(version: int) -> Run:
        shutil.rmtree(run.entity.root)
        with zipfile.ZipFile(FORMATS / f"{version}.zip") as archive:
            archive.extractall(run.entity.root)
        return run

    return unpacked


def test_a_folder_of_every_earlier_format_is_kept() -> None:
    assert list(range(1, SCHEMA_VERSION)) == KEPT


@pytest.mark.parametrize("version", KEPT)
def test_an_older_folder_is_refused_until_it_is_migrated(
    older: Callable[[int], Run], version: int
) -> None:
    run = older(version)
    before = truth(run.entity.root)
    refused = run("status")
    assert refused.code == 12
    assert "bumble migrate" in refused.err
    assert f"format {version} to {SCHEMA_VERSION}" in run.ok("migrate", "--check").out
    assert truth(run.entity.root) == before
    run.ok("migrate")
    after = truth(run.entity.root)
    for name in before.keys() - set(MADE):
        says = companions.digest(name, before[name])
        beside = after.get(str(companions.place(name)))
        assert companions.digest(name, companions.whole(name, after[name], beside)) == says, name
        assert (after[name] == before[name]) == (beside is None), name
    assert "<!--" not in run.text("knowledge.md").replace("<!-- with a note -->", "")
    assert run("doctor").code == 0
    assert run.ok("recall", "boat").out
    assert run.ok("migrate", "--json").data["changed"] is False
    assert truth(run.entity.root) == after


@pytest.mark.parametrize("version", KEPT)
def test_what_it_was_is_an_archive_where_git_has_not_all_of_it(
    older: Callable[[int], Run], version: int, tmp_path: Path
) -> None:
    run = older(version)
    before = truth(run.entity.root)
    backup = run.ok("migrate", "--json").data["backup"]
    with zipfile.ZipFile(run.entity.root / backup) as archive:
        archive.extractall(tmp_path / "again")
    assert truth(tmp_path / "again") == before
    assert run("doctor").code == 0


@needs_git
@pytest.mark.parametrize("version", KEPT)
def test_in_git_it_is_a_tag_and_the_migration_a_commit(
    older: Callable[[int], Run], version: int, tmp_path: Path
) -> None:
    run = older(version)
    root = run.entity.root
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "-c", "user.name=Sam", "-c", "user.email=sam@example.org", "commit", "-qm", "life")
    git(root, "config", "tag.gpgSign", "true")
    for key in ("core.editor", "gpg.program"):
        git(root, "config", key, f"touch {tmp_path / 'ran'};false")
    run.ok("migrate")
    assert not (tmp_path / "ran").exists()
    assert subjects(root) == [f"migrate: format {SCHEMA_VERSION}", "life"]
    assert git(root, "log", "-1", "--format=%s", f"bumble-format-{version}") == "life"
    assert git(root, "status", "--porcelain") == ""


def test_what_a_hand_wrote_stays_byte_for_byte(older: Callable[[int], Run]) -> None:
    run = older(2)
    before = truth(run.entity.root)
    run.ok("migrate")
    after = truth(run.entity.root)
    by_hand = ("bel_hand.md", "launch.md", "varnish.md", "alma.md", "README.md")
    hands = [name for name in before if name.endswith(by_hand) and not name.startswith("topics/")]
    assert len(hands) == len(by_hand)
    assert {name: after[name] for name in hands} == {name: before[name] for name in hands}
    section = b"\n## By hand\n\nA hand wrote   this,  <!-- with a note --> and no program.\n"
    assert after["knowledge.md"].endswith(section)


def test_it_waits_for_another_writer_as_long_as_it_is_told(older: Callable[[int], Run]) -> None:
    run = older(1)
    before = truth(run.entity.root)
    with disk.lock(changes.lock_path(run.entity.root), place=run.entity.root, timeout_seconds=1):
        refused = run("migrate", "--lock-timeout", "0.1")
    assert (refused.code, "--lock-timeout" in refused.err) == (11, True)
    assert truth(run.entity.root) == before


def test_settings_that_are_gone_go_and_the_rest_stays(older: Callable[[int], Run]) -> None:
    run = older(1)
    text = run.text("entity.yaml").replace("soma:\n", "soma:\n  ebb: {tag_max_chars: 12}\n", 1)
    run.write("entity.yaml", f"{text}memory:\n  memory_decay_scale: 2  # slow\n")
    lines = run.ok("migrate").out
    assert "soma.ebb.tag_max_chars: 12" in lines
    assert "memory.memory_decay_scale: 2" in lines
    assert run.ok("config", "show", "soma.dreams.enabled").out.strip().endswith("true")
    assert "decay_scale" not in run.text("entity.yaml")
    assert "# notes of your own" in run.text("entity.yaml")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("schema_version: 1", "schema_version: 99", "newer bumble (format 99)"),
        ("schema_version: 1", "schema_version: one", "whole number"),
        ("schema_version: 1", "schema_version: 0", "whole number"),
        ("schema_version: 1", "schema_version: [", "entity.yaml"),
        ("name: Ada", "nmae: Ada", "`name` is missing"),
        ("settle: wait", "setle: wait", "limits.settle"),
    ],
)
def test_what_can_not_be_read_is_left_as_it_is(
    older: Callable[[int], Run], old: str, new: str, sentence: str
) -> None:
    run = older(1)
    run.write("entity.yaml", run.text("entity.yaml").replace(old, new))
    before = truth(run.entity.root)
    refused = run("migrate")
    assert refused.code == 12
    assert sentence in refused.err
    assert truth(run.entity.root) == before


def begin_anew(root: Path, folder: Path) -> None:
    shutil.rmtree(root)
    shutil.copytree(folder, root, symlinks=True)


@sampled
def test_a_death_at_any_write_leaves_the_old_format_or_the_new(
    older: Callable[[int], Run], tmp_path: Path
) -> None:
    run = older(1)
    root, aside, deaths = run.entity.root, tmp_path / "aside", tmp_path / "deaths"
    before = truth(root)
    shutil.copytree(root, aside, symlinks=True)
    with every_call(lambda n, done: None) as count:
        run.ok("migrate")
    after = truth(root)
    assert count[0] > len(MADE)
    chosen = set(some(range(1, count[0] + 1), 3))

    def look(n: int, done: bool) -> None:
        if done and n in chosen:
            chosen.remove(n)  # copying makes calls, too
            shutil.copytree(root, deaths / f"{n:03}", symlinks=True)

    begin_anew(root, aside)
    with every_call(look):
        run.ok("migrate")
    assert not chosen
    for folder in sorted(deaths.iterdir()):
        begin_anew(root, folder)
        run.ok("migrate")
        assert truth(root) == after
        run.ok("doctor", "--fix")  # what a killed writer left of an archive goes
        assert run("doctor").code == 0
    assert before != after
