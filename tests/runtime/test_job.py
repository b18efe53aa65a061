from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bumble.entity.changes import Change
from bumble.history import log
from bumble.records import journal, state
from bumble.runtime import job
from bumble.runtime.job import JobResult
from tests.support.living import NOON, ada, runtime_of
from tests.support.repository import begun, subjects


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_commit_that_only_moves_cursors_on_says_which_job_did_it(tmp_path: Path) -> None:
    entity = ada(tmp_path)
    begun(entity.root)
    runtime = runtime_of(entity)
    values = iter(({"consolidate": {"count": 1}}, {"consolidate": {"count": 2}}))

    def moved() -> Change | None:
        return state.plan_write(state.read(entity.state), next(values), "memory is in order")

    def thought() -> tuple[Change | None, ...]:
        entry = journal.plan_add(NOON, "I wonder.", runtime.zone, "think")
        return moved(), entry

    job.apply(runtime, JobResult("consolidate: memory is in order", lambda: (moved(),)))
    job.apply(runtime, JobResult("consolidate: a thought", thought))
    assert subjects(entity.root) == [
        "consolidate: a thought",
        "consolidate: memory is in order",
        "start",
    ]
    assert [one.cycle for one in log.read(entity.root)] == ["consolidate", "consolidate", ""]
