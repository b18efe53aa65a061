from __future__ import annotations

from typing import get_args

import pytest

from bumble.cli import registry
from bumble.entity.config import ReviewedCycle
from bumble.runtime.job import Pass


def test_what_may_wait_for_review_is_what_the_jobs_say() -> None:
    assert sorted(get_args(ReviewedCycle)) == sorted(registry.reviewed())
    assert len(set(registry.reviewed())) == len(registry.reviewed())


@pytest.mark.parametrize("job", registry.everything(), ids=lambda job: job.name)
def test_a_job_that_may_wait_for_review_is_called_as_its_commits_are(job: Pass) -> None:
    assert not (job.reviewed and job.written_as is not None)
