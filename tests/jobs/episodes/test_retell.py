from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from bumble.entity.folder import Entity
from bumble.jobs import stretch
from bumble.jobs.episodes import retell
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.records import episodes
from bumble.records.episodes import Episode
from bumble.runtime import runner
from bumble.runtime.job import apply
from bumble.runtime.runner import Pass
from bumble.runtime.runtime import Runtime
from tests.support import newborns
from tests.support.remembering import DOG, FOUND, GLAD, OURS, held, retells
from tests.support.turns import NOON, Clock, runtime_of

GOOD = "Sam told me that his dog Biscuit ran away at the lighthouse. Biscuit ran away."
JUNK = "I have a dog called Biscuit."


@pytest.fixture
def ada(tmp_path: Path) -> Entity:
    """Ada with an excerpt."""
    made = newborns.ada(tmp_path / "ada")
    held(made, NOON, ("Sam", DOG, OURS), ("Sam", FOUND, GLAD))
    for _ in range(stretch.TRIES):
        list(runner.settle(living(made), [Pass("stretch", stretch.check, stretch.run)], None))
    assert the_one(made).summary_source == "excerpt"
    return made


def living(entity: Entity, *replies: Reply) -> Runtime:
    clock = Clock()
    clock.at = NOON + timedelta(hours=1)
    return runtime_of(entity, ScriptedModel(replies), clock)


def the_one(entity: Entity) -> Episode:
    (one,) = episodes.read(entity.episodes)
    return one


def retold(runtime: Runtime) -> list[runner.Settled]:
    return list(runner.settle(runtime, [Pass("retell", retell.check, retell.run)], None))


def test_an_excerpt_is_told_later_and_then_no_more(ada: Entity) -> None:
    before = the_one(ada)
    (one,) = retold(living(ada, retells(GOOD, "I was moved.")))
    assert one.outcome is not None
    assert one.outcome.trailers == (("Evidence", before.session), ("Model", "scripted"))
    after = the_one(ada)
    assert (after.telling.narrative, after.telling.reflection) == (GOOD, "I was moved.")
    assert (after.summary_source, after.provenance.model) == ("", "scripted")
    assert after.provenance.sources == before.provenance.sources
    assert (after.audience, after.significance) == (before.audience, before.significance)
    assert not retell.check(living(ada)).due


def test_what_a_model_cannot_tell_is_tried_twice(ada: Entity) -> None:
    before = the_one(ada)
    for tries in (1, 2):
        runtime = living(ada, retells(JUNK))
        (job,) = retell.check(runtime).jobs
        apply(runtime, retell.run(runtime, job))
        assert (the_one(ada).text, the_one(ada).tries) == (before.text, tries)
    assert not retell.check(living(ada)).due
    assert the_one(ada).summary_source == "excerpt"


def test_an_edit_before_or_during_the_pass_stays(ada: Entity) -> None:
    runtime = living(ada, retells(GOOD))
    (job,) = retell.check(runtime).jobs
    outcome = retell.run(runtime, job)
    (file,) = episodes.paths(ada.episodes)
    file.write_text(file.read_text().replace("afraid", "frightened"))
    assert apply(runtime, outcome).written == []
    assert "frightened" in the_one(ada).text
    assert not retell.check(runtime).due  # nor later: a hand was on it


def test_an_excerpt_whose_conversation_is_gone_stays(ada: Entity) -> None:
    shutil.rmtree(ada.sessions)
    assert not retell.check(living(ada)).due


def test_a_path_in_a_file_leads_nowhere(ada: Entity) -> None:
    (file,) = (ada.root / "sources" / "episodes").rglob("*.yaml")
    text = file.read_text()
    file.write_text(text.replace("session: ses_", "session: ../sessions/ses_"))
    assert file.read_text() != text
    assert not retell.check(living(ada)).due
