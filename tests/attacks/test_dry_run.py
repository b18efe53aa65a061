from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from bumble.entity.folder import Entity
from bumble.llm.scripted import ScriptedModel
from bumble.runtime import job
from bumble.runtime.job import Condition, Due, JobResult, Pass
from bumble.runtime.runtime import Runtime
from tests.support.looking import episode
from tests.support.running import Run
from tests.support.turns import runtime_of


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


def test_a_job_that_names_the_time_is_planned_once_where_nothing_is_written(
    entity: Entity,
) -> None:
    runtime = replace(runtime_of(entity, ScriptedModel([])), writes=False)
    planned: list[datetime] = []

    def check(runtime: Runtime) -> Due[datetime]:
        return Due((Condition("due", "always", "always", passes=True),), (runtime.now(),))

    def run(runtime: Runtime, job: datetime) -> JobResult:
        planned.append(job)
        return JobResult("always due", lambda: ())

    always = Pass("always", check, run, thinks=False)

    def apply(runtime: Runtime, outcome: JobResult) -> JobResult:
        return replace(outcome, written=[Path("planned")])

    seen = job.settle(runtime, [always], None, apply)
    assert len(list(islice(seen, 5))) == len(planned) == 1
