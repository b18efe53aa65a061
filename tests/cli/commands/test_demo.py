from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from bumble.cli import newborn
from bumble.entity.folder import Entity
from bumble.llm import ledger
from tests.support.running import Run


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_it_makes_a_month_offline_and_all_it_says_to_try_works(run: Run, tmp_path: Path) -> None:
    run.environ["BUMBLE_EMBEDDING_MODEL"] = "none"
    run.environ["GIT_AUTHOR_NAME"] = run.environ["GIT_COMMITTER_NAME"] = "Sam"
    made = run.ok("demo", str(tmp_path / "month"), "--json").data
    assert made["try"] == [f"bumble {line}" for line in newborn.TRY]
    life = ("-e", made["folder"])
    assert "Nothing is wrong" in run.ok("doctor", *life).out
    for line in newborn.TRY:
        assert run("--entity", made["folder"], *shlex.split(line), cwd=tmp_path).code == 0, line
    assert "afraid of the sea" in run.ok("recall", *life, "what is the dog afraid of").out
    told = run.ok("why", *life, "Sam drinks green tea and no coffee.").out
    assert "Sam: I drink green tea now, no more coffee." in told
    assert "blue cup" not in run.ok("recall", *life, "blue cup").out  # Bo's secret
    assert "blue cup" in run.ok("recall", *life, "--as", "Bo", "blue cup").out
    assert "gone: dream" in run.ok("diff", *life, "last").out
    assert list(ledger.read_newest(Entity(Path(made["folder"])).ledger)) == []
    assert run("demo", made["folder"]).code == 13  # it overwrites nothing
