"""An entity as it was: from git, and by its records' own times."""

from __future__ import annotations

import os
import shutil
import zipfile
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bumble.cli import earlier
from bumble.errors import HistoryUnreadableError, PastMissingError
from bumble.files.disk import TEMPORARY_SUFFIX
from bumble.history import past
from tests.support import looking, newborns
from tests.support.living import known, talked
from tests.support.repository import git
from tests.support.running import NOON, Run
from tests.support.sweeps import turns

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
DAY = timedelta(days=1)
FORMATS = Path(__file__).parents[2] / "data" / "formats"


@pytest.fixture
def life(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Ada under git, who learnt of tea, then met Bo, then corrected what she knows of pets."""
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Sam")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "sam@example.org")
        monkeypatch.setenv(f"GIT_{who}_DATE", (NOON - 9 * DAY).isoformat())
    looking.without_models(run)
    newborns.once("learnt of tea", run.entity.root, lambda: live(run))
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.delenv(f"GIT_{who}_DATE", raising=False)
    return at(run, 0)


def live(run: Run) -> None:
    git(run.entity.root, "init", "-q", "-b", "main")
    git(run.entity.root, "add", "-A")
    git(run.entity.root, "commit", "-qm", "born")
    for who in ("AUTHOR", "COMMITTER"):
        run.monkeypatch.delenv(f"GIT_{who}_DATE")
    at(run, -5).ok("belief", "add", "Sam likes tea")
    at(run, -4).ok("person", "add", "Bo", "Bo sails to Aveiro.")
    at(run, -3).ok("knowledge", "set", "Pets", "A dog called Biscuit.")
    at(run, -2).ok("episode", "add", "It hailed on the garden.")
    at(run, -1).ok("knowledge", "set", "Pets", "A cat called Rex.")


def at(run: Run, days: int) -> Run:
    run.now = NOON + days * DAY
    return run


def day(days: int) -> str:
    return f"{NOON + days * DAY:%Y-%m-%d}"


def cache(run: Run) -> Path:
    return Path(run.environ["XDG_CACHE_HOME"]) / "bumble" / "past"


def folders(run: Run) -> list[Path]:
    return sorted(cache(run).glob("*/*"))


def texts(data: Any) -> str:
    return str(data)


@needs_git
@pytest.mark.parametrize(
    ("argv", "word", "first"),
    [
        (["belief", "list"], "tea", -5),
        (["person", "list"], "Bo", -4),
        (["person", "show", "bo"], "Aveiro", -4),
        (["knowledge", "list"], "Biscuit", -3),
        (["knowledge", "show", "Pets"], "Biscuit", -3),
        (["episode", "list"], "hailed", -2),
        (["recall", "dog"], "Biscuit", -3),
        (["context", "prompt", "-m", "What of Biscuit the dog?"], "called Biscuit", -3),
    ],
)
def test_each_look_shows_what_was_there_that_day(
    life: Run, argv: list[str], word: str, first: int
) -> None:
    before = life(*argv, "--as-of", day(first - 1), "--json")
    then = life.ok(*argv, "--as-of", day(first), "--json")
    assert before.code == 1 or word not in texts(before.json["data"])
    assert word in texts(then.data)
    assert "warnings" in then.json and then.json["entity"] == "Ada"


@needs_git
def test_what_was_corrected_since_is_as_it_was(life: Run) -> None:
    assert "Rex" in life.ok("knowledge", "show", "Pets").out
    then = life.ok("knowledge", "show", "Pets", "--as-of", day(-2))
    assert "Biscuit" in then.out and "Rex" not in then.out
    assert f"As of {day(-2)} 23:59: commit " in then.err
    hits = life.ok("recall", "Rex", "--as-of", day(-2), "--json").data["hits"]
    assert hits == []


@needs_git
def test_the_body_and_ages_are_those_of_that_time(life: Run) -> None:
    then = life.ok("soma", "--as-of", f"{day(-2)}T10:00").out
    assert f"{day(-2)} 10:00" in then
    bo = life.ok("person", "show", "bo", "--as-of", day(-4), "--json").data
    assert bo["first_met"].startswith(day(-4))


@needs_git
def test_looking_back_changes_nothing_in_the_folder(life: Run) -> None:
    life.ok("recall", "tea")
    before = {path: stamp for path, stamp in life.state().items() if ".bumble" not in path}
    life.ok("recall", "tea", "--as-of", day(-3))
    life.ok("context", "list", "--as-of", day(-3))
    life.ok("soma", "--as-of", day(-3))
    after = {path: stamp for path, stamp in life.state().items() if ".bumble" not in path}
    assert after == before
    assert git(life.entity.root, "status", "--porcelain") == ""


@needs_git
def test_the_cache_is_its_owners_alone_and_used_again(life: Run) -> None:
    life.ok("recall", "tea", "--as-of", day(-3))
    (folder,) = folders(life)
    assert folder.name.startswith(git(life.entity.root, "rev-parse", "HEAD~2^{tree}"))
    for path in [cache(life), *cache(life).rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path
    life.ok("belief", "list", "--as-of", day(-3))
    assert folders(life) == [folder]


@needs_git
def test_the_cache_is_bounded_and_leaves_what_is_in_use(
    life: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(earlier, "MOST_FOLDERS", 2)
    for days in (-5, -4, -3):
        life.ok("belief", "list", "--as-of", day(days))
    assert len(folders(life)) == 3  # each was used just now
    for folder in folders(life):
        os.utime(folder, (1, 1))
    life.ok("belief", "list", "--as-of", day(-2))
    assert len(folders(life)) == 2


@needs_git
@pytest.mark.parametrize(
    ("when", "code", "says"),
    [
        ("yesterday", 2, "neither a day"),
        ("2026-13-01", 2, "neither a day"),
        ("", 2, "neither a day"),
        ("0001-01-01", 2, "year"),
        ("2031-01-01", 2, "yet to come"),
        (f"{day(0)}T23:00", 2, "yet to come"),
        ("2001-01-01", 1, "its history begins at"),
        ("1960-01-01", 1, "its history begins at"),
    ],
)
def test_a_time_that_is_none_is_a_sentence(life: Run, when: str, code: int, says: str) -> None:
    ran = life("belief", "list", "--as-of", when)
    assert (ran.code, ran.out) == (code, "")
    assert says in ran.err


@needs_git
def test_a_shallow_clone_says_what_it_lacks(life: Run, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth=1", life.entity.root.as_uri(), str(clone))
    ran = life("belief", "list", "--as-of", day(-4), cwd=clone)
    assert ran.code == 1
    assert "git fetch --unshallow" in ran.err


@needs_git
def test_a_broken_tree_is_a_sentence_and_leaves_nothing_half_made(life: Run) -> None:
    blob = git(life.entity.root, "rev-parse", "HEAD~2:knowledge.md")
    lost = life.entity.root / ".git" / "objects" / blob[:2] / blob[2:]
    lost.unlink()
    ran = life("belief", "list", "--as-of", day(-3))
    assert ran.code == 12
    assert "git can't read all of its history" in ran.err
    assert folders(life) == []


@needs_git
def test_links_and_git_files_of_a_tree_are_left_out(life: Run, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("the secret\n")
    (life.entity.root / "beliefs" / "bel_link.md").symlink_to(secret)
    (life.entity.root / "narrative.md").symlink_to(secret)
    git(life.entity.root, "add", "-A")
    git(life.entity.root, "commit", "-qm", "links", "--date", life.now.isoformat())
    life.now += 400 * DAY  # git took the time of this machine
    life.ok("belief", "list", "--as-of", f"{life.now - DAY:%Y-%m-%d}")
    for folder in folders(life):
        assert not any(path.is_symlink() for path in folder.rglob("*"))
    assert not any(
        b"the secret" in path.read_bytes() for path in cache(life).rglob("*") if path.is_file()
    )


@needs_git
def test_hooks_and_filters_of_the_repository_do_not_run(life: Run, tmp_path: Path) -> None:
    ran_file = tmp_path / "ran"
    git(life.entity.root, "config", "filter.evil.smudge", f"touch {ran_file}; cat")
    git(life.entity.root, "config", "core.fsmonitor", f"touch {ran_file}")
    (life.entity.root / ".git" / "info" / "attributes").write_text("* filter=evil\n")
    life.ok("knowledge", "list", "--as-of", day(-3))
    assert not ran_file.exists()


@needs_git
def test_a_talk_of_somebody_forgotten_is_not_told_again(life: Run) -> None:
    zelda = ("zelda", "My code is on the marzipan tin.")
    known(life.entity, "Zelda")
    talked(life.entity, "ses_1", zelda, ("ada", "I see."), by="zelda", at=NOON - 6 * DAY)
    at(life, 1).ok("belief", "add", "It rains")  # which commits what lies there
    git(life.entity.root, "add", "-A")
    git(life.entity.root, "commit", "-qm", "a talk")
    at(life, 900)
    then = f"{NOON + 800 * DAY:%Y-%m-%d}"
    assert life.ok("recall", "marzipan", "--all", "--plain", "--as-of", then, "--json").data["hits"]
    life.ok("person", "forget", "Zelda", "--yes")
    ran = life.ok("recall", "marzipan", "--all", "--plain", "--as-of", then, "--json")
    assert ran.data["hits"] == []
    for path in cache(life).rglob("*"):
        assert not path.is_file() or b"marzipan" not in path.read_bytes(), path


@needs_git
def test_an_entity_below_the_top_of_a_repository_is_found_there(life: Run, tmp_path: Path) -> None:
    top = tmp_path / "house"
    (top / "attic").mkdir(parents=True)
    (top / "cellar.txt").write_text("wine\n")
    git(top, "init", "-q", "-b", "main")
    git(top, "add", "-A")
    git(top, "commit", "-qm", "a house", f"--date={(NOON - 20 * DAY).isoformat()}")
    folder = top / "attic" / "ada"
    shutil.copytree(life.entity.root, folder, ignore=shutil.ignore_patterns(".git", ".bumble"))
    git(top, "add", "-A")
    git(top, "commit", "-qm", "moved in")
    life.now += 900 * DAY
    ran = life("belief", "list", "--as-of", f"{life.now - DAY:%Y-%m-%d}", cwd=folder)
    assert ran.code == 0 and "tea" in ran.out
    (shown,) = folders(life)
    assert not (shown / "cellar.txt").exists() and (shown / "entity.yaml").is_file()


@needs_git
@pytest.mark.parametrize("lost", ["HEAD^{tree}", "HEAD:attic"])
def test_a_lost_tree_is_not_taken_for_a_time_before_the_entity_was_there(
    life: Run, tmp_path: Path, lost: str
) -> None:
    top, folder = tmp_path / "house", tmp_path / "house" / "attic" / "ada"
    folder.mkdir(parents=True)
    git(top, "init", "-q", "-b", "main")
    git(top, "commit", "-q", "--allow-empty", "-m", "a house")
    with pytest.raises(PastMissingError, match="attic/ada/ was not in the repository yet"):
        past.find(folder, NOON + 9999 * DAY)
    (folder / "entity.yaml").write_text("name: Ada\n")
    git(top, "add", "-A")
    git(top, "commit", "-qm", "moved in")
    tree = git(top, "rev-parse", lost)
    (top / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    with pytest.raises(HistoryUnreadableError):
        past.find(folder, NOON + 9999 * DAY)


def test_without_git_the_records_own_times_tell(run: Run) -> None:
    looking.without_models(run)
    at(run, -5).ok("belief", "add", "Sam likes tea")
    at(run, -3).ok("belief", "add", "Sam likes oak")
    at(run, -3).ok("journal", "add", "A day of oak.")
    known(run.entity, "Bo", "Bo sails.")
    talk = [("bo", "The tide is low."), ("ada", "I see.")]
    talked(run.entity, "ses_1", *talk, by="bo", at=NOON - 4 * DAY)
    talked(run.entity, "ses_2", ("bo", "The tide is high."), by="bo", at=NOON - 2 * DAY)
    at(run, 0)
    before = {path: stamp for path, stamp in run.state().items() if ".bumble" not in path}
    ran = run.ok("belief", "list", "--as-of", day(-4), "--json")
    assert "tea" in texts(ran.data) and "oak" not in texts(ran.data)
    assert "by the records' own times" in ran.json["warnings"][0]
    hits = run.ok("recall", "tide", "--all", "--plain", "--as-of", day(-3), "--json").data["hits"]
    assert {hit["session"] for hit in hits} == {"ses_1"}
    assert run.ok("recall", "oak", "--as-of", day(-4), "--json").data["hits"] == []
    assert run.ok("soma", "--as-of", day(-4)).code == 0
    after = {path: stamp for path, stamp in run.state().items() if ".bumble" not in path}
    assert after == before


@pytest.fixture
def migrated(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Ada of format 1 under git since May, brought to the present format in December."""
    looking.without_models(run)
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Sam")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "sam@example.org")
        monkeypatch.setenv(f"GIT_{who}_DATE", "2026-12-01T12:00:00+00:00")
    run.now = datetime.fromisoformat("2026-12-01T12:00:00+00:00")
    newborns.once("migrated", run.entity.root, lambda: migrate(run))
    return run


def migrate(run: Run) -> None:
    root = run.entity.root
    shutil.rmtree(root)
    with zipfile.ZipFile(FORMATS / "1.zip") as archive:
        archive.extractall(root)
    text = run.text("entity.yaml").replace("soma:\n", "soma:\n  ebb: {tag_max_chars: 12}\n", 1)
    run.write("entity.yaml", text)
    for who in ("AUTHOR", "COMMITTER"):
        run.monkeypatch.setenv(f"GIT_{who}_DATE", "2026-06-01T12:00:00+01:00")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "a life of format 1")
    for who in ("AUTHOR", "COMMITTER"):
        run.monkeypatch.setenv(f"GIT_{who}_DATE", "2026-12-01T12:00:00+00:00")
    run.ok("migrate")


@needs_git
@pytest.mark.parametrize(
    "argv",
    turns(
        3,
        [
            ["recall", "boat"],
            ["belief", "list"],
            ["person", "list"],
            ["episode", "list"],
            ["knowledge", "list"],
            ["soma"],
            ["context", "list"],
        ],
    ),
)
def test_a_day_before_the_migration_is_shown_in_the_present_format(
    migrated: Run, argv: list[str]
) -> None:
    then = migrated.ok(*argv, "--as-of", "2026-07-01", "--json")
    assert then.data
    assert then.json["entity"] == "Ada"
    before = {name: stamp for name, stamp in migrated.state().items() if ".bumble" not in name}
    assert migrated.ok(*argv, "--as-of", "2026-07-01").out
    after = {name: stamp for name, stamp in migrated.state().items() if ".bumble" not in name}
    assert after == before
    assert git(migrated.entity.root, "status", "--porcelain") == ""


@needs_git
def test_whoever_was_forgotten_stays_so_before_the_migration(migrated: Run) -> None:
    assert migrated.ok("person", "show", "bo", "--as-of", "2026-07-01").out
    migrated.ok("person", "forget", "Bo", "--yes")
    assert migrated("person", "show", "bo", "--as-of", "2026-07-01").code == 1


@needs_git
@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("schema_version: 99", "newer bumble (format 99)"),
        ("schema_version: one", "whole number"),
        ("schema_version: [", "read: entity.yaml:"),
    ],
)
def test_a_day_whose_format_is_none_is_a_sentence(
    migrated: Run, line: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = migrated.text("entity.yaml")
    for number, text in enumerate((good.replace("schema_version: 3", line), good), 2):
        migrated.write("entity.yaml", text)
        for who in ("AUTHOR", "COMMITTER"):
            monkeypatch.setenv(f"GIT_{who}_DATE", f"2026-12-0{number}T12:00:00+00:00")
        git(migrated.entity.root, "commit", "-qam", f"{number}")
    migrated.now += 30 * DAY
    ran = migrated("belief", "list", "--as-of", "2026-12-02")
    assert ran.code == 1
    assert says in ran.err
    assert TEMPORARY_SUFFIX not in ran.err and folders(migrated) == []


@needs_git
def test_who_is_to_be_forgotten_in_a_file_that_cannot_be_read_is_not_shown(life: Run) -> None:
    life.write("beliefs/bel_broken.md", "---\n[\n---\n\nBo sails.\n")
    git(life.entity.root, "add", "-A")
    git(life.entity.root, "commit", "-qm", "broken")
    (life.entity.root / "beliefs" / "bel_broken.md").unlink()
    at(life, 900).ok("person", "forget", "Bo", "--yes")
    ran = life("belief", "list", "--as-of", f"{NOON + 800 * DAY:%Y-%m-%d}")
    assert ran.code == 1
    assert "beliefs/bel_broken.md of then can't be read" in ran.err
    assert folders(life) == []
