"""Whatever kills a cycle, and wherever: what it did is there as a whole, or not at all.

A kill -9 leaves the folder as it is at that moment, and nothing else. So each cycle runs once, with
a copy of the folder made after every call that changes a file and after every git command; each
copy is what a process that died there would have left. (Processes are really killed in the tests of
`changes`, `commits`, dreams and reminders.)
"""

from __future__ import annotations

import random
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct, field

from bumble.cli import registry
from bumble.entity import approvals, changes, git_operations, uncommitted
from bumble.entity.folder import Entity
from tests.support import living, mind, month, nights
from tests.support.fake_server import FakeServer
from tests.support.kills import every_call
from tests.support.month import Stretch
from tests.support.nights import NIGHT
from tests.support.repository import git, subjects
from tests.support.sweeps import WHOLE, sampled, stride, turns

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

EVENING = NIGHT - timedelta(hours=7)  # long enough ago for a brief to be handed over
NOT_THAT_NIGHT = {  # and why
    "notice": "where the model may write it is not asked",
    **dict.fromkeys(
        ("appraise", "remember", "reflect", "distill"), "where the model may write, stretch does it"
    ),
    "noise": "where the model may write, a consolidation asks for thoughts",
    "evolve": "comes after a hundred exchanges; `evolve --force` is among the commands",
    "wake": "off until the owner switches it on",
}
PASSES = tuple(each.name for each in registry.everything() if each.name not in NOT_THAT_NIGHT)
COMMANDS = {
    "narrate": "morning",
    "compact": "long",
    "soma tick": "evening",
    "evolve --force": "morning",
    "anchor recall sea": "morning",
    "project done boat": "morning",
    "undo --cycle dream": "morning",
    "person forget Sam --yes": "morning",
}
BRIEF = """---
schedule: "0 1 * * *"
---
Say what tomorrow is for.
"""


class Night(Struct):
    """A night, pass by pass: a copy of the folder before the first of each kind."""

    ada: Stretch
    place: Path
    stages: dict[str, Path] = field(default_factory=dict)

    def keep(self, name: str) -> None:
        """Copy the folder as it is now."""
        # fewer files to copy; these days are long past, and the reflog says whose they are
        git(self.ada.entity.root, "-c", "gc.reflogExpire=never", "gc", "-q")
        self.stages[name] = self.place / name
        shutil.copytree(self.ada.entity.root, self.stages[name], symlinks=True)

    def at(self, folder: Path) -> Stretch:
        """Return the life in another folder, which is made here, too."""
        approvals.begin(folder)
        return Stretch(Entity(folder), self.ada.server, self.ada.environ, random.Random(3))


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Night]:
    """Ada after an evening with Sam, and every pass of the night that follows."""
    place = tmp_path_factory.mktemp("night")
    with pytest.MonkeyPatch.context() as patch, mind.serving() as server:
        _at_home(patch, place / "home")
        night = Night(_evening(place, server), place / "stages")
        night.keep("evening")
        while True:
            night.keep("next")
            done = night.ada.data(NIGHT, "tick", "--limit", "1")["done"]
            name = done[0]["pass"] if done else "morning"
            if name not in night.stages:
                night.stages[name] = night.stages["next"].rename(place / "stages" / name)
            shutil.rmtree(night.stages.pop("next"), ignore_errors=True)
            if not done:
                break
        lines = [("sam", f"Number {n}: {'word ' * 600}") for n in range(40)]
        living.talked(night.ada.entity, "ses_long", *lines, at=NIGHT - timedelta(hours=2))
        git(night.ada.entity.root, "add", "-A")
        git(night.ada.entity.root, "commit", "-qm", "a long talk")
        night.ada.ok(NIGHT, "index")
        night.keep("long")
        assert night.ada.findings == []
        yield night


def _at_home(patch: pytest.MonkeyPatch, home: Path) -> None:
    patch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        patch.delenv(name, raising=False)
    for who in ("AUTHOR", "COMMITTER"):
        patch.setenv(f"GIT_{who}_NAME", "Sam")
        patch.setenv(f"GIT_{who}_EMAIL", "sam@example.org")


def _evening(place: Path, server: FakeServer) -> Stretch:
    """Make Ada, who has some memories and has talked with Sam; nothing of it is settled."""
    ada = month.born(place / "ada", server, place / "home", git=True)
    ada.ok(EVENING, "config", "set", "limits.settle", "later")
    for n, text in enumerate(nights.TEXTS[:4], 1):
        nights.remember(ada.entity, n, text, 13 - 2 * n)
    ada.entity.automations.mkdir(exist_ok=True)
    (ada.entity.automations / "aut_plan.md").write_text(BRIEF)
    for n, line in enumerate(month.SAM[0].split("|") + month.SAM[1].split("|")[:1]):
        ada.ok(EVENING + timedelta(minutes=n), "chat", "--as", "Sam", f"{line}.")
    ada.ok(EVENING, "remind", "add", "Tea", "--in", "1h", "--deliver", "journal")
    ada.ok(EVENING, "anchor", "add", "sea")
    ada.ok(EVENING, "project", "add", "boat")
    git(ada.entity.root, "add", "-A")
    git(ada.entity.root, "commit", "-qm", "an evening")
    shutil.rmtree(ada.entity.root / ".git" / "hooks")
    return ada


class Deaths(Struct):
    """The folders that a process would have left that died at each of its writes."""

    root: Path
    place: Path
    found: list[Path] = field(default_factory=list)
    seen: object = None
    busy: bool = False
    number: int = 0  # of the changes so far

    def look(self, *_: object) -> None:
        """Copy the folder, if anything in it has changed since the last look."""
        if self.busy:
            return  # this is our own copying
        self.busy = True
        now = self._signature()
        if now != self.seen:
            self.seen = now
            self.number += 1
            first, step = stride(4)
            if (self.number - first) % step == 0:
                self.found.append(self.place / f"{len(self.found):03}")
                shutil.copytree(self.root, self.found[-1], symlinks=True)
        self.busy = False

    def _signature(self) -> object:
        stats = ((path, path.lstat()) for path in sorted(self.root.rglob("*")))
        return [(path, stat.st_ino, stat.st_size, stat.st_mtime_ns) for path, stat in stats]

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look after every call that changes a file, and after every program that is run."""
        real = subprocess.run

        def run(*words: Any, **options: Any) -> Any:
            self.busy = True  # a program that was started goes on when its caller dies
            done = real(*words, **options)
            self.busy = False
            self.look()
            return done

        with pytest.MonkeyPatch.context() as patch, every_call(self.look):
            patch.setattr(subprocess, "run", run)
            yield


def _remains(folder: Path) -> tuple[object, ...]:
    """Tell what a death left, besides the truth: history, notes, and how many derived files."""
    places = Counter(path.parent for path in (folder / ".bumble").rglob("*") if path.is_file())
    derived = sorted((str(place.relative_to(folder)), n) for place, n in places.items())
    noted = tuple(one.title for one in uncommitted.notes(folder))
    status = git(folder, "status", "--porcelain")
    return (*subjects(folder), noted, status, *derived)


def _go_on(left: Stretch, history: list[str]) -> None:
    """Let the next commands run: they catch up with the history, and nothing is wrong then."""
    root = left.entity.root
    code, _, warned = left.run(NIGHT, "index")
    is_cut_off = bool(git_operations.cut_off(root))  # the next command that writes ends it
    assert code == 0
    assert bool(warned) == is_cut_off
    if subjects(root) != history or uncommitted.notes(root) or is_cut_off:
        left.ok(NIGHT, "remind", "add", "later", "--in", "5d")
        assert subjects(root)[1:] == history
    assert git(root, "status", "--porcelain") == ""
    assert "Nothing is wrong" in left.run(NIGHT, "doctor")[1]
    assert left.findings == []


def test_every_job_of_that_night_is_among_those_that_are_killed(night: Night) -> None:
    assert set(night.stages) - {"evening", "morning", "long"} == set(PASSES)


@sampled
@pytest.mark.parametrize("name", turns(9, [*PASSES, *COMMANDS]))
def test_a_death_at_any_write_leaves_all_of_it_or_nothing(
    night: Night, tmp_path: Path, name: str
) -> None:
    stage = COMMANDS.get(name, name)
    # what asks no model doesn't count: beside a limit of one there would be another pass
    one = ["--settle-only"] if name == "handover" else ["--limit", "1"]
    words = name.split() if name in COMMANDS else ["tick", *one]
    shutil.copytree(night.stages[stage], tmp_path / "ada", symlinks=True)
    ada = night.at(tmp_path / "ada")
    before, told = ada.truth(), subjects(ada.entity.root)
    deaths = Deaths(ada.entity.root, tmp_path / "deaths")
    with deaths.watching():
        code, _, _ = ada.run(NIGHT, *words)
    after, now = ada.truth(), subjects(ada.entity.root)
    assert code == 0
    assert len(now) == len(told) + 1
    ends: dict[object, bool] = {}
    for folder in deaths.found:
        left = night.at(folder)
        changes.recover(folder)  # what every command begins with
        truth = left.truth()
        assert truth in (before, after), folder
        kind = (truth == after, _remains(folder))
        if kind not in ends:
            ends[kind] = truth == after
            _go_on(left, now if truth == after else told)
        shutil.rmtree(folder)
    assert set(ends.values()) == {True, False} if WHOLE else ends
