from __future__ import annotations

from datetime import timedelta

from bumble.entity.folder import Entity
from bumble.jobs import episode, stretch
from bumble.llm.scripted import ScriptedModel
from tests.support.remembering import DOG, OURS, held
from tests.support.turns import NOON, Clock, runtime_of


def test_an_excerpt_is_short_and_prefers_what_says_most(ada: Entity) -> None:
    turns = [("Sam", "ok", "hm")] * 10
    held(ada, NOON, ("Sam", DOG, OURS), ("Sam", "word " * 2000, "yes"), *turns)
    clock = Clock()
    clock.at = NOON + timedelta(hours=2)
    runtime = runtime_of(ada, ScriptedModel([]), clock)
    (job,) = stretch.check(runtime).jobs
    lines = episode.excerpt(job.messages, lambda one: one.speaker.title()).text.splitlines()
    assert f"> Sam: {DOG}" in lines
    assert len([line for line in lines if line != ">"]) == episode.EXCERPT_LINES
    assert max(map(len, lines)) < 270
