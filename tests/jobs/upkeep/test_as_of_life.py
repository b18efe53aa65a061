"""A life under git, looked back on: what `recall --as-of` says is what `recall` said then."""

from __future__ import annotations

import json
import shutil
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support import month
from tests.support.fake_server import FakeServer
from tests.support.month import BO, SAM, START, Stretch

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
QUERIES = ("my sister plays the cello", "a boat that leaks", "what does the horse do")
TOLD = ("id", "path", "line", "text", "score", "rank")


def recalled(lived: Stretch, at: datetime, query: str, *options: str) -> list[Any]:
    code, out, err = lived.run(at, "recall", query, *options, "--json")
    assert code == 0, err
    return [{key: hit[key] for key in TOLD} for hit in json.loads(out)["data"]["hits"]]


def live(lived: Stretch, days: int, *, talks_every: int, hour: int, dates: int = 10) -> None:
    """Tick once a day, talk now and then; look back from the end on what was recalled."""
    answers: dict[datetime, list[Any]] = {}
    lines = [line for pair in zip(SAM, BO, strict=False) for line in pair]
    for day in range(days):
        if day % talks_every == 0:
            number = day // talks_every
            text = f"{lines[number % len(lines)].split('|')[0]}."
            at = START + timedelta(days=day, hours=18)
            lived.ok(at, "chat", "--as", ("Sam", "Bo")[number % 2], text)
        at = START + timedelta(days=day + 1, hours=hour)
        lived.ok(at, "tick")
        if day % (days // dates) == 0 and len(answers) < dates:
            at += timedelta(minutes=5)
            answers[at] = recalled(lived, at, QUERIES[len(answers) % len(QUERIES)])
    assert lived.findings == []
    assert len(answers) == dates and sum(map(bool, answers.values())) > dates / 3
    end = START + timedelta(days=days + 2)
    for number, (at, hits) in enumerate(answers.items()):
        query = QUERIES[number % len(QUERIES)]
        assert recalled(lived, end, query, "--as-of", at.isoformat()) == hits, at


def test_eight_days_looked_back_on_are_as_they_were(
    tmp_path: Path, home: Path, served: FakeServer
) -> None:
    live(month.born(tmp_path / "ada", served, home, git=True), 8, talks_every=2, hour=12, dates=4)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_year_looked_back_on_is_as_it_was(tmp_path: Path, home: Path, served: FakeServer) -> None:
    live(month.born(tmp_path / "ada", served, home, git=True), 365, talks_every=30, hour=12)
