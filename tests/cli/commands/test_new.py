from __future__ import annotations

import shlex
import shutil
import subprocess
import zoneinfo
from importlib.util import find_spec
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from bumble.entity import create, settings
from bumble.entity.folder import Entity
from bumble.records import journal, knowledge
from tests.support.running import Run

GIT = shutil.which("git")
ZONE = ("--timezone", "Europe/Lisbon")


@pytest.fixture
def place(run: Run, tmp_path: Path) -> Path:
    """A folder to make entities in, with no entity above it."""
    run.environ["USER"] = "sam"
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", folder, *words], capture_output=True, text=True, check=True)
    return done.stdout


def test_a_folder_is_made_that_every_store_reads(run: Run, place: Path) -> None:
    ran = run("new", "bee", *ZONE, cwd=place)
    assert ran.code == 0
    assert ran.out == f'Bee lives in {place}/bee\nSay hello: bumble chat -e bee "Hello"\n'
    entity = Entity(place / "bee")
    found = settings.load(entity.file)
    assert found.identity is not None
    assert (found.identity.name, found.identity.owner.name) == ("Bee", "Sam")
    assert found.warnings == ()
    assert [one.locked for one in knowledge.read(entity.knowledge).sections] == [True]
    assert journal.read(entity.journal, ZoneInfo("Europe/Lisbon")).entries == ()
    assert entity.workspace.is_dir()


@pytest.mark.parametrize("archetype", create.archetypes())
def test_every_archetype_speaks_in_its_own_voice(run: Run, place: Path, archetype: str) -> None:
    assert run("new", "bee", "--archetype", archetype, cwd=place).code == 0
    found = settings.load(place / "bee" / "entity.yaml").identity
    assert found is not None
    assert found.identity.archetype == archetype
    assert "I am Bee." in found.identity.monologue
    assert "$" not in found.identity.monologue + found.identity.voice


@pytest.mark.parametrize(
    "name",
    [
        "🐝",
        "👩‍🚀",
        "Zoë: \"the\" 'bee' #1",
        "$name $$ ${x} %s {y}",
        "yes",
        "12",
        "- x",
        "\\n",
        "名",
    ],
)
def test_any_name_is_told_as_it_was_given(run: Run, place: Path, name: str) -> None:
    ran = run("new", "bee", "--name", name, "--owner", f"{name}'s", cwd=place)
    assert ran.code == 0
    found = settings.load(place / "bee" / "entity.yaml").identity
    assert found is not None
    assert (found.name, found.owner.name) == (name, f"{name}'s")
    assert name in (place / "bee" / "README.md").read_text("utf-8")
    assert len(knowledge.read(place / "bee" / "knowledge.md").sections) == 1


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--name", "", "The name is empty"),
        ("--name", "\x1b[2J", "The name should be one line"),
        ("--name", "x" * 101, "The name should be at most"),
        ("--owner", "  ", "The owner's name is empty"),
        ("--archetype", "grumpy", "no archetype"),
        ("--timezone", "Mars/Olympus", "no time zone"),
        ("--timezone", "../../etc/passwd", "no time zone"),
        ("--timezone", "", "no time zone"),
    ],
)
def test_a_wrong_answer_makes_nothing(
    run: Run, place: Path, option: str, value: str, told: str
) -> None:
    ran = run("new", "bee", option, value, cwd=place)
    assert ran.code == 2
    assert told in ran.err
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("folder", ["CON", "🐝", "-dash", " a b ", "quo'te", "deep/er/bee"])
def test_any_name_of_a_folder_is_taken_and_the_next_command_finds_it(
    run: Run, place: Path, folder: str
) -> None:
    ran = run("new", *ZONE, "--", folder, cwd=place)
    assert ran.code == 0
    assert (place / folder / "entity.yaml").is_file()
    _, _, words = ran.out.partition("Say hello: bumble ")
    assert shlex.split(words) == ["chat", "-e", folder, "Hello"]
    assert run("config", "get", "name", "-e", folder, cwd=place).code == 0


@pytest.mark.parametrize("name", ["README.md", "Readme.rst", "readme"])
def test_a_readme_that_is_there_stays(run: Run, place: Path, name: str) -> None:
    (place / "bee").mkdir()
    (place / "bee" / name).write_text("mine\n")
    assert run("new", "bee", cwd=place).code == 0
    readmes = [path for path in (place / "bee").iterdir() if "readme" in path.name.lower()]
    assert [(path.name, path.read_text()) for path in readmes] == [(name, "mine\n")]
    if GIT:
        assert name not in git(place / "bee", "ls-files").splitlines()


@pytest.mark.parametrize("folder", ["file", "file/below"])
def test_a_file_in_the_way_stays(run: Run, place: Path, folder: str) -> None:
    (place / "file").write_text("mine")
    ran = run("new", folder, cwd=place)
    assert ran.code == 13
    assert f"{place}/file is a file" in ran.err
    assert (place / "file").read_text() == "mine"


@pytest.mark.parametrize("name", ["knowledge.md", "entity.yaml", ".gitignore"])
def test_a_file_that_would_be_overwritten_stops_it_all(run: Run, place: Path, name: str) -> None:
    (place / "bee").mkdir()
    (place / "bee" / name).write_text("mine")
    ran = run("new", "bee", cwd=place)
    assert ran.code == 13
    assert name in ran.err
    assert [path.name for path in (place / "bee").iterdir()] == [name]
    assert (place / "bee" / name).read_text() == "mine"


@pytest.mark.skipif(GIT is None, reason="needs git")
def test_git_looks_after_the_folder_and_sees_no_derived_file(run: Run, place: Path) -> None:
    data = run("new", "bee", "--json", cwd=place).data
    assert data["repository"] == str(place / "bee")
    run("config", "set", "llm.model", "x", "-e", "bee", cwd=place)
    assert git(place / "bee", "status", "--short", "--untracked-files=all") == ""
    told = git(place / "bee", "log", "--format=%s").splitlines()
    assert told == ["config: set llm.model", "new: Bee"]
    assert sorted(git(place / "bee", "ls-files").splitlines()) == [
        *(".gitattributes", ".gitignore", "README.md", "entity.yaml", "knowledge.md"),
        "workspace/.gitkeep",
    ]
    assert git(place / "bee", "check-attr", "merge", "journal.md").endswith("merge: bumble\n")
    assert "git-merge %O %A %B %P" in git(place / "bee", "config", "merge.bumble.driver")


def test_inside_another_entity_it_is_made_with_a_warning(run: Run) -> None:
    ran = run("new", "inner", "--no-git")
    assert ran.code == 0
    assert f"lies inside another entity, {run.entity.root}" in ran.err


def test_at_a_terminal_it_asks_and_asks_again_after_a_wrong_answer(run: Run, place: Path) -> None:
    answers = "Zoë\ngrumpy\nsardonic\nSam\nMars/Olympus\nEurope/Rome\n"
    run("new", "bee", "--json", stdin=answers, terminal=True, cwd=place)
    identity = settings.load(place / "bee" / "entity.yaml").identity
    assert identity is not None
    assert identity.name == "Zoë"
    assert identity.identity.archetype == "sardonic"
    assert (identity.owner.name, identity.timezone) == ("Sam", "Europe/Rome")


@pytest.mark.skipif(find_spec("tzdata") is not None, reason="a time zone database is installed")
def test_a_machine_without_time_zones_says_what_it_lacks(run: Run, place: Path) -> None:
    zoneinfo.reset_tzpath([])
    zoneinfo.ZoneInfo.clear_cache()
    try:
        ran = run("new", "bee", cwd=place)
    finally:
        zoneinfo.reset_tzpath()
    assert ran.code == 1
    assert "tzdata" in ran.err
    assert list(place.iterdir()) == []
