"""Excerpt episodes get a text by the model at the next consolidation; how many tries."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from bumble.entity.changes import Change
from bumble.errors import RecordInvalidError
from bumble.fallback import sayings
from bumble.jobs.episodes import episode_text, remember
from bumble.jobs.episodes.episode_text import EpisodeScene
from bumble.records import base, episodes
from bumble.records.episodes import Episode
from bumble.runtime.job import Condition, Due, JobResult, traced
from bumble.runtime.runtime import Runtime
from bumble.text import tokens
from bumble.text.words import one_line

MAX_TRIES = 2  # answers that could not be used; then it stays an excerpt


class RetellJob(Struct, frozen=True):
    """An episode that is an excerpt, and the conversation to tell it from."""

    episode: Episode
    scene: EpisodeScene


def check(runtime: Runtime) -> Due[RetellJob]:
    """Find the excerpts whose conversation is still there, the oldest first."""
    jobs = tuple(_jobs(runtime))
    value = f"{len(jobs)} not told yet"
    return Due((Condition("excerpts", value, "at least 1", bool(jobs)),), jobs)


def _jobs(runtime: Runtime) -> Iterator[RetellJob]:
    for path in episodes.paths(runtime.entity.episodes):
        try:
            if episodes.EXCERPT not in base.read_text(path):  # most files: not worth parsing
                continue
            episode = base.load(path, episodes.parse)
            if episode.summary_source == episodes.EXCERPT and episode.tries < MAX_TRIES:
                scene = _scene(runtime, episode)
                if scene and episode_text.is_excerpt(scene, episode.text):
                    yield RetellJob(episode, scene)
        except RecordInvalidError:  # `doctor` names it; the others go on
            continue


def _scene(runtime: Runtime, episode: Episode) -> EpisodeScene | None:
    """Return what an excerpt was cut from; None if that is gone, or no model may tell it."""
    session, wanted = remember.conversation(runtime, episode.session), episode.provenance.sources
    if session is None:
        return None
    messages = [message for message in session.messages if message.id in wanted]
    if not messages or sayings.wording(runtime, session, messages) is not None:
        return None  # nobody who may tell it
    return remember.scene_of(runtime, session, messages)


def run(runtime: Runtime, job: RetellJob) -> JobResult:
    """Let the model tell an excerpt; writes no file."""
    episode = job.episode
    result = episode_text.tell(runtime, job.scene)
    data = {
        "episode": episode.id,
        "told": not result.excerpt,
        "why_not": result.excerpt or None,
        "dropped_sentences": list(result.dropped),
    }
    if result.excerpt:
        return JobResult(
            title=f"remember: {episode.id} stays an excerpt",
            plan=lambda: [_planned_try(runtime, episode)] if result.answered else [],
            lines=(f"{episode.id} stays an excerpt: {result.excerpt}",),
            data=data,
        )
    title = tokens.cut(one_line(result.telling.narrative), remember.LINE_TOKENS)
    origin = replace(episode.provenance, by=episode_text.PURPOSE, model=runtime.model.name)

    def plan() -> list[Change | None]:
        if not _untouched(runtime, episode):
            return []
        folder, why = runtime.entity.episodes, "an excerpt is told"
        return [episodes.plan_retell(folder, episode, result.telling.text, origin, why)]

    return JobResult(
        title=f"remember: {title}",
        plan=plan,
        lines=(f"Told {episode.id}: {title}",),
        data=data,
        trailers=traced([episode.session], runtime.model.name),
    )


def _planned_try(runtime: Runtime, episode: Episode) -> Change | None:
    if not _untouched(runtime, episode):
        return None
    return episodes.plan_tried(runtime.entity.episodes, episode, "no model could tell it")


def _untouched(runtime: Runtime, episode: Episode) -> bool:
    """Whether the file is as it was read: what a person edited meanwhile is theirs."""
    file = episodes.locate(runtime.entity.episodes, episode.id)
    return file is not None and base.read_text(file) == episode.source.text
