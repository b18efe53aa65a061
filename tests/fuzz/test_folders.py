"""Real commands on damaged folders: no traceback, nothing written over that can't be read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
MOST_MB = 1_000


def damaged(count: int, seed: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.support.damaged_folders", str(count), str(seed)]
    place = Path(__file__).parents[2]
    ran = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2_000:]
    report: dict[str, Any] = json.loads(ran.stdout)
    return report


@pytest.mark.parametrize(
    "count", [2, pytest.param(500, marks=[pytest.mark.slow, pytest.mark.timeout(7_200)])]
)
def test_commands_on_damaged_folders_say_what_is_wrong(count: int) -> None:
    report = damaged(count, 3)
    assert report["failures"] == []
    assert report["most_mb"] < MOST_MB
