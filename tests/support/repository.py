"""Ada under git, with a dream behind her."""

from __future__ import annotations

import shutil
import subprocess
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from bumble.entity import commits
from bumble.entity.changes import ChangeSet
from bumble.entity.commits import CommitPolicy
from bumble.entity.folder import Entity
from bumble.records import beliefs, dreams, journal, soma, state
from tests.support import newborns
from tests.support.running import NOON, Run

LISBON = ZoneInfo("Europe/Lisbon")


def git(folder: Path, *words: str) -> str:
    """Run git, which should do what it is told."""
    done = subprocess.run(["git", "-C", folder, *words], capture_output=True, text=True, check=True)
    return done.stdout.rstrip("\n")


def subjects(folder: Path) -> list[str]:
    """Return the titles of all commits, the newest first."""
    return git(folder, "log", "--format=%s").splitlines()


def bars(social: float) -> dict[str, object]:
    """Return the bars of a body at noon."""
    names = ("social", "curiosity", "creative", "tension", "comfort")
    levels = {name: {"value": social if name == "social" else 50.0, "rest": 50.0} for name in names}
    return {"at": NOON.isoformat(), **levels}


def body(social: float, *thoughts: str) -> dict[str, object]:
    """Return a body at noon."""
    kept = [
        {"text": text, "kind": "dream", "salience": 0.5, "at": NOON.isoformat()}
        for text in thoughts
    ]
    levels = {"dopamine": 0.2, "cortisol": 0.1, "oxytocin": 0.3}
    noise = {"ticked_at": NOON.isoformat(), "fragments": kept}
    return {"bars": bars(social), "hormones": {"at": NOON.isoformat(), **levels}, "noise": noise}


def write(run: Run, change_set: ChangeSet) -> None:
    """Write a change set as a cycle does."""
    _write(run.entity, run.now, change_set)


def _write(entity: Entity, now: datetime, change_set: ChangeSet) -> None:
    commits.apply(entity.root, change_set, CommitPolicy(True, "Ada", lambda: now, lambda _: None))


def begun(root: Path) -> None:
    """Let Sam put a folder under git."""
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.name", "Sam")
    git(root, "config", "user.email", "sam@example.org")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "start")


def after_a_dream(run: Run) -> Run:
    """Put Ada under git, a dream behind her, where the entity of a run is."""
    shutil.rmtree(run.entity.root)
    newborns.copy(_after_a_dream, run.entity.root)
    return run


def _after_a_dream(root: Path) -> Entity:
    entity = newborns.ada(root)
    begun(root)
    _dreamt(entity, NOON)
    return entity


def dreamt(run: Run) -> None:
    """Let Ada have a body, then a dream that touches everything dreams touch."""
    _dreamt(run.entity, run.now)


def _dreamt(entity: Entity, now: datetime) -> None:
    empty = soma.read(entity.soma)
    born = soma.plan_write(empty, body(50.0, "an old thought"), "be born")
    _write(entity, now, ChangeSet("soma: be born", (born,) if born else ()))
    dream = dreams.new("drm_1", NOON, (("ep_1", "ep_2"),), ("a sea of bees",), "The hive hums.")
    belief = beliefs.new("bel_1", "Bees are kind", "dream_insight", 0.35, NOON)
    there = soma.read(entity.soma)
    planned = [
        dreams.DREAM.plan_new(dream, "keep the dream"),
        journal.plan_add(NOON, "I dreamt of bees.", LISBON, "tell it", tags=("dream",)),
        beliefs.BELIEF.plan_new(belief, "believe it"),
        soma.plan_write(there, body(52.0, "an old thought", "a sea of bees"), "carry it"),
        state.plan_write(state.read(entity.state), {"dream": {"count": 1}}, "count it"),
    ]
    kept = tuple(one for one in planned if one is not None)
    _write(
        entity,
        now,
        ChangeSet("dream: a sea of bees", kept, (("Model", "script"), ("Evidence", "ep_1"))),
    )
