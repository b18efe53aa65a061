"""Every command, killed from outside at its calls: nothing is lost, and nothing is half."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.support import kill_sweep

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(10_800),
    pytest.mark.skipif(sys.platform != "linux", reason="needs LD_PRELOAD"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="needs a compiler for C"),
    pytest.mark.skipif(shutil.which("git") is None, reason="needs git"),
]
MOST_KILLS = 2_000


def test_two_thousand_deaths_lose_nothing(tmp_path: Path) -> None:
    ran = kill_sweep.main_with_library(MOST_KILLS, tmp_path)
    assert ran.returncode == 0
    report = json.loads(ran.stdout)
    total = report["total"]
    assert total["kills"] <= MOST_KILLS
    assert report["examples"] == []
