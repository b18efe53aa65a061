from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta

from tests.support.looking import episode
from tests.support.running import Run


def test_a_dry_run_on_a_folder_half_a_year_old_ends(run: Run) -> None:
    long_ago = datetime.now(UTC) - timedelta(days=180)
    for day in range(5):
        at = (long_ago + timedelta(days=day)).isoformat(timespec="seconds")
        episode(run, f"{day}", f"We walked to the mill, day {day}.", at=at, significance=0.3)
    environ = {**os.environ, **run.environ, "BUMBLE_EMBEDDING_MODEL": "none"}
    command = [sys.executable, "-m", "bumble", "tick", "--dry-run"]
    ran = subprocess.run(
        command, cwd=run.entity.root, env=environ, capture_output=True, text=True, timeout=120
    )
    assert ran.returncode in (0, 20), ran.stderr  # 20: no model is here to be asked
    assert "consolidate" in ran.stdout
