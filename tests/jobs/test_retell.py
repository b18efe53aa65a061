from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from bumble.entity.folder import Entity
from bumble.jobs import stretch
from bumble.llm.scripted import Reply
from bumble.records import episodes
from bumble.records.episodes import Episode
from bumble.runtime import job
from bumble.runtime.job import Pass, apply
from bumble.runtime.runtime import Runtime
from tests.support import newborns
from tests.support.remembering import DOG, FOUND, GLAD, OURS, held, tells
from tests.support.stretches import Citing
from tests.support.turns import NOON, Clock, runtime_of

GOOD = "Sam told me that his dog Biscuit ran away at the lighthouse. Biscuit ran away."
DAY = "Sunday 24 May 2026"
JUNK = "Sam gave Biscuit to Maria in 1987."


@pytest.fixture
def ada(tmp_path: Path) -> Entity:
    """Ada with an excerpt."""
    made = newborns.ada(tmp_path / "ada")
    held(made, NOON, ("Sam", DOG, OURS), ("Sam", FOUND, GLAD))
    for _ in range(stretch.TRIES):
        list(job.settle(living(made), [Pass("stretch", stretch.check, stretch.run)], None))
    assert the_one(made).summary_source == "excerpt"
    return made


def living(entity: Entity, *replies: Reply) -> Runtime:
    clock = Clock()
    clock.at = NOON + timedelta(hours=1)
    return runtime_of(entity, Citing(replies), clock)


def the_one(entity: Entity) -> Episode:
    (one,) = episodes.read(entity.episodes)
    return one


def retold(runtime: Runtime) -> list[job.Settled]:
    return list(
        job.settle(runtime, [Pass("excerpts", stretch.check_excerpts, stretch.retell)], None)
    )


def test_an_excerpt_is_told_later_and_then_no_more(ada: Entity) -> None:
    before = the_one(ada)
    (one,) = retold(living(ada, tells(GOOD, "I was moved.")))
    assert one.outcome is not None
    assert one.outcome.trailers == (("Evidence", before.session), ("Model", "scripted"))
    after = the_one(ada)
    assert (after.telling.narrative, after.telling.reflection) == (
        f"# {DAY}\n\n{GOOD}",
        "I was moved.",
    )
    assert (after.summary_source, after.provenance.model) == ("", "scripted")
    assert after.provenance.sources == before.provenance.sources
    assert (after.audience, after.significance) == (before.audience, before.significance)
    assert not stretch.check_excerpts(living(ada)).due


def test_what_a_model_cannot_tell_is_tried_twice(ada: Entity) -> None:
    before = the_one(ada)
    for tries in (1, 2):
        runtime = living(ada, tells(JUNK))
        (job,) = stretch.check_excerpts(runtime).jobs
        apply(runtime, stretch.retell(runtime, job))
        assert (the_one(ada).text, the_one(ada).tries) == (before.text, tries)
    assert not stretch.check_excerpts(living(ada)).due
    assert the_one(ada).summary_source == "excerpt"


def test_an_edit_before_or_during_the_pass_stays(ada: Entity) -> None:
    runtime = living(ada, tells(GOOD))
    (job,) = stretch.check_excerpts(runtime).jobs
    outcome = stretch.retell(runtime, job)
    (file,) = episodes.paths(ada.episodes)
    file.write_text(file.read_text().replace("afraid", "frightened"))
    assert apply(runtime, outcome).written == []
    assert "frightened" in the_one(ada).text
    assert not stretch.check_excerpts(runtime).due  # nor later: a hand was on it


def test_an_excerpt_whose_conversation_is_gone_stays(ada: Entity) -> None:
    shutil.rmtree(ada.sessions)
    assert not stretch.check_excerpts(living(ada)).due


def test_a_path_in_a_file_leads_nowhere(ada: Entity) -> None:
    (file,) = (ada.root / "sources" / "episodes").rglob("*.yaml")
    text = file.read_text()
    file.write_text(text.replace("session: ses_", "session: ../sessions/ses_"))
    assert file.read_text() != text
    assert not stretch.check_excerpts(living(ada)).due
