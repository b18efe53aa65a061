"""Ada under git, with a dream behind her."""

from __future__ import annotations

import subprocess
from pathlib import Path
from zoneinfo import ZoneInfo

from bumble.entity import commits
from bumble.entity.changes import ChangeSet
from bumble.entity.commits import CommitPolicy
from bumble.records import beliefs, dreams, journal, soma, state
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
    policy = CommitPolicy(True, "Ada", lambda: run.now, lambda _: None)
    commits.apply(run.entity.root, change_set, policy)


def dreamt(run: Run) -> None:
    """Let Ada have a body, then a dream that touches everything dreams touch."""
    empty = soma.read(run.entity.soma)
    born = soma.plan_write(empty, body(50.0, "an old thought"), "be born")
    write(run, ChangeSet("soma: be born", (born,) if born else ()))
    dream = dreams.new("drm_1", NOON, (("ep_1", "ep_2"),), ("a sea of bees",), "The hive hums.")
    belief = beliefs.new("bel_1", "Bees are kind", "dream_insight", 0.35, NOON)
    there = soma.read(run.entity.soma)
    planned = [
        dreams.plan_new(dream, "keep the dream"),
        journal.plan_add(NOON, "I dreamt of bees.", LISBON, "tell it", tags=("dream",)),
        beliefs.plan_new(belief, "believe it"),
        soma.plan_write(there, body(52.0, "an old thought", "a sea of bees"), "carry it"),
        state.plan_write(state.read(run.entity.state), {"dream": {"count": 1}}, "count it"),
    ]
    kept = tuple(one for one in planned if one is not None)
    write(run, ChangeSet("dream: a sea of bees", kept, (("Model", "script"), ("Evidence", "ep_1"))))
