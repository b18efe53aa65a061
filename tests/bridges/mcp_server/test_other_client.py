from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.running import Run
from tests.support.served import READING, command, truth

CLIENT = "chuk-mcp==0.9.4"  # own code from the wire up
UV = shutil.which("uv") or ""
AROUND = dict(os.environ)  # before the surroundings of a test are taken away
SCRIPT = Path(__file__).resolve().parents[2] / "support" / "other_mcp_client.py"


@pytest.mark.slow
@pytest.mark.skipif(not UV, reason="no uv to install the client with")
@pytest.mark.parametrize("version", ["2025-06-18", "2024-11-05"])
def test_a_client_of_other_makers_reads_all_and_changes_nothing(full: Run, version: str) -> None:
    full.ok("config", "set", "embedding.model", "none")
    before = truth(full)
    alone = [UV, "run", "-q", "--no-project", "--isolated", "--with", CLIENT, "python"]
    done = subprocess.run(
        [*alone, str(SCRIPT), version, *command(full)],
        env={**AROUND, **full.environ, "PATH": AROUND["PATH"], "UV_CACHE_DIR": cache()},
        capture_output=True,
        text=True,
        check=False,
    )
    if not done.stdout and "chuk-mcp" in done.stderr and "Traceback" not in done.stderr:
        pytest.skip(f"the client could not be had: {done.stderr.strip()[-200:]}")
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert (seen["version"], seen["tools"]) == (version, READING)
    assert seen["recall"]["hits"][0]["id"] == "Pets"
    assert seen["refused"] is True
    assert "Sam has a cat" in seen["knowledge"]
    assert seen["prompt"].startswith("You are Ada.")
    assert truth(full) == before


def cache() -> str:
    """Where uv keeps what it fetched: the home of a test is empty."""
    done = subprocess.run(
        [UV, "cache", "dir"], env=AROUND, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()
