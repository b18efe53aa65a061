"""Two clones of one entity, each with days and nights of its own; and a night that is undone."""

from __future__ import annotations

import json
import random
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from bumble.entity.folder import Entity
from bumble.records import beliefs, episodes, journal, relationships, soma
from tests.support import month
from tests.support.fake_server import FakeServer
from tests.support.month import Stretch
from tests.support.nights import NIGHT, lived
from tests.support.repository import git

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def ada(tmp_path: Path, home: Path, served: FakeServer, monkeypatch: pytest.MonkeyPatch) -> Stretch:
    """Ada under git, with a past to dream of."""
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Sam")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "sam@example.org")
    ada = month.born(tmp_path / "ada", served, home, git=True)
    lived(ada.entity)
    git(ada.entity.root, "add", "-A")
    git(ada.entity.root, "commit", "-qm", "a past")
    assert ada.findings == []
    return ada


def ids(found: Stretch) -> set[str]:
    paths = found.entity.root.rglob("*.md")
    return {path.stem for path in paths if path.stem.split("_")[0] in ("ep", "bel", "drm")}


def entries(found: Stretch) -> list[str]:
    return [one.text for one in journal.read(found.entity.journal, month.LISBON).entries]


def kinds(found: Stretch, query: str) -> set[str]:
    hits = json.loads(found.run(NIGHT, "recall", "-n", "20", query, "--json")[1])["data"]["hits"]
    return {one["kind"] for one in hits}


def live_a_day(found: Stretch, person: str, lines: str, days: int) -> None:
    at = NIGHT + timedelta(days=days, hours=9)
    for n, line in enumerate(lines.split("|")):
        found.ok(at + timedelta(minutes=3 * n), "chat", "--as", person, f"{line}.")
    found.tick(at + timedelta(hours=2))
    found.tick(NIGHT + timedelta(days=days + 1))


@pytest.mark.slow  # tests/history merges every kind of record of two lives, by real git
def test_two_clones_live_through_different_days_and_merge_without_a_conflict(
    ada: Stretch, tmp_path: Path
) -> None:
    away = Stretch(Entity(tmp_path / "away"), ada.server, ada.environ, random.Random(8))
    git(tmp_path, "clone", "-q", str(ada.entity.root), str(away.entity.root))
    away.ok(NIGHT, "config", "trust", str(away.entity.root))
    away.ok(NIGHT, "doctor", "--fix")
    before = ids(ada)
    live_a_day(ada, "Sam", month.SAM[1], 0)
    live_a_day(away, "Sam", month.SAM[6], 1)
    live_a_day(away, "Bo", month.BO[1], 2)
    assert (ada.findings, away.findings) == ([], [])
    told, counts = [ids(ada) - before, ids(away) - before], [entries(ada), entries(away)]
    for one in (ada, away):
        kinds = {name.split("_")[0] for name in ids(one) - before}
        assert kinds == {"ep", "bel", "drm"}
    git(ada.entity.root, "pull", "-q", "--no-rebase", "--no-edit", str(away.entity.root), "HEAD")
    assert git(ada.entity.root, "status", "--porcelain") == ""
    assert ids(ada) == before | told[0] | told[1]
    assert set(entries(ada)) == set(counts[0]) | set(counts[1])
    people = {one.id: one for one in relationships.PERSON.readable(ada.entity.relationships)}
    assert people["sam"].interaction_count == 6
    assert "boat" in people["sam"].text
    assert "bicycle" in people["sam"].text
    assert "novel" in people["bo"].text
    said = {one.text for one in ada.messages()}
    assert {f"{one}." for one in (month.SAM[1] + "|" + month.SAM[6]).split("|")} < said
    ada.check(NIGHT + timedelta(days=4), clones=True)
    ada.tick(NIGHT + timedelta(days=4))
    ada.ok(NIGHT + timedelta(days=4), "narrate")
    asked = next(str(one.body) for one in ada.server.seen[::-1] if "'happening'" in str(one.body))
    told_of = [word for word in ("boat", "bicycle", "novel") if word in asked]
    assert told_of == ["boat", "bicycle"]  # of both days; what Bo told is not for Sam's ears
    assert ada.findings == []


def test_undo_of_a_dream_takes_it_out_of_journal_beliefs_noise_and_recall(ada: Stretch) -> None:
    before = ada.truth()
    ada.ok(NIGHT, "dream")
    (dream,) = ada.dreamt()
    (belief,) = [
        one
        for one in beliefs.BELIEF.readable(ada.entity.beliefs)
        if one.category == "dream_insight"
    ]
    changed = {name for name, text in ada.truth().items() if before.get(name) != text}
    assert {"journal.md", "soma.yaml", "state.yaml"} < changed
    assert belief.id in ada.run(NIGHT, "recall", belief.text, "--json")[1]
    body = soma.read(ada.entity.soma)
    assert [one["kind"] for one in body.get("noise", "fragments")] == ["dream", "dream"]
    code, _, _ = ada.run(NIGHT + timedelta(minutes=1), "undo", "--cycle", "dream")
    assert code == 0
    after = ada.truth()
    left = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    assert left == {"state.yaml"}  # a dream that was undone is not dreamt again at once
    found = ada.run(NIGHT, "recall", belief.text, "--json")[1]
    assert belief.id not in found
    assert dream.id not in found
    ada.check(NIGHT + timedelta(minutes=2))
    assert ada.findings == []
    assert list(episodes.EPISODE.readable(ada.entity.episodes))


def test_undo_of_a_dream_leaves_the_thoughts_that_came_after_it(ada: Stretch) -> None:
    ada.ok(NIGHT - timedelta(hours=2), "soma", "tick")  # a body, without a thought so far
    ada.ok(NIGHT, "dream")
    ada.ok(NIGHT, "noise", "tick")
    thoughts = soma.read(ada.entity.soma).get("noise", "fragments")
    assert [one["kind"] for one in thoughts] == ["dream", "dream", "thought"]
    dreamt = ada.dreamt()[0].fragments[0]
    assert "dream" in kinds(ada, dreamt)
    assert ada.run(NIGHT, "undo", "--cycle", "dream")[0] == 0
    left = soma.read(ada.entity.soma).get("noise", "fragments")
    assert left == thoughts[2:]
    assert not {"journal", "belief", "dream"} & kinds(ada, dreamt)
    ada.check(NIGHT)
    assert ada.findings == []


def test_undo_of_a_distill_takes_back_what_it_learnt_and_recall_follows(ada: Stretch) -> None:
    ada.ok(NIGHT, "config", "set", "limits.settle", "later")
    for n, line in enumerate((month.SAM[1] + "|" + month.SAM[6]).split("|")):
        ada.ok(NIGHT + timedelta(minutes=n), "chat", "--as", "Sam", f"{line}.")
    at = NIGHT + timedelta(hours=1)
    before = ada.truth()
    ada.ok(at, "distill")
    assert "knowledge" in kinds(ada, "boat stern")
    assert ada.run(at, "undo", "--cycle", "stretch")[0] == 0
    after = ada.truth()
    left = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    # What was said stays said; only what the stretch made of it goes.
    kept = {name for name in left if name.startswith(".history/") or name.endswith(".jsonl")}
    assert left - kept == {"state.yaml"}
    assert not {"knowledge", "journal"} & kinds(ada, "boat stern")
    asked = ada.calls
    ada.ok(at, "distill")
    assert ada.calls == asked  # what was dealt with is not done again
    ada.check(at)
    assert ada.findings == []
