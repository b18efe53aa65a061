"""What comes to mind in a consolidation, in one request: questions of topics, and stray thoughts.

All that is shown together may be met by the owner, and what comes of it is for nobody who may not
meet all of it. Where no model may write, each is done by itself, by form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from bumble.fallback import sayings
from bumble.jobs.sleep import stray_thoughts
from bumble.jobs.sleep.stray_thoughts import StrayThoughtsJob
from bumble.llm import prompts, structured
from bumble.recall import topic_questions
from bumble.recall.topic_mining import Text
from bumble.recall.topic_questions import Drawing
from bumble.runtime import body_state, job_request, people
from bumble.runtime.job import Due, JobPlan, JobResult, traced
from bumble.runtime.runtime import Runtime

PURPOSE = "musings"
TOPICS = 6  # of one request; the others have their turn the next time
MAX_TOKENS, TEMPERATURE = 1200, 0.7


class MusingsJob(Struct, frozen=True):
    """The topics that need questions, and the thoughts that are due."""

    drawings: tuple[Drawing, ...]
    thoughts: StrayThoughtsJob | None


def check(runtime: Runtime) -> Due[MusingsJob]:
    """Find what there is to muse about; asks no model."""
    if sayings.of_owner(runtime) is not None:
        return Due((), ())
    drawings, thoughts = topic_questions.check(runtime), stray_thoughts.check(runtime)
    think = thoughts.due and (drawings.due or stray_thoughts.has_seeds(runtime))
    job = MusingsJob(drawings.jobs[:TOPICS], thoughts.jobs[0] if think else None)
    return Due((), (job,) if job.drawings or job.thoughts else ())


def run(runtime: Runtime, job: MusingsJob) -> JobResult:
    """Ask for the questions of some topics and for a few thoughts; writes no file.

    Raises:
        AnswerInvalidError: If the model's answer can't be used.
    """
    at = runtime.now()
    soma = body_state.read(runtime, at)
    owner = (people.owner_id(runtime.entity, runtime.identity),)
    seeds = stray_thoughts.choose(runtime, soma, at, owner if job.drawings else None)
    labels = {n: topic_questions.labelled(each, f"t{n}") for n, each in enumerate(job.drawings, 1)}
    slots = stray_thoughts.shown(runtime, soma, seeds) | {
        "name": runtime.identity.name,
        "topics": _topics(runtime, job, labels),
    }
    request = job_request.request(
        runtime, PURPOSE, slots, max_tokens=MAX_TOKENS, temperature=TEMPERATURE
    )
    answer = structured.answer(runtime.model, request, schema(labels))
    shown = [text.audience for each in labels.values() for text in each.values()]
    shown += [piece.audience for piece in seeds.pieces]
    results = [
        topic_questions.drawn(
            runtime,
            each,
            *topic_questions.standing(runtime, each, labels[n], answer[f"t{n}"]),
            shown,
        )
        for n, each in enumerate(job.drawings, 1)
    ]
    if job.thoughts is not None:
        thoughts = [str(text) for text in answer["thoughts"]]
        results.append(
            stray_thoughts.heard(runtime, job.thoughts, soma, at, seeds, thoughts, None, PURPOSE)
        )
    return _together(runtime, results)


def schema(labels: Mapping[int, Mapping[str, Text]]) -> dict[str, Any]:
    """Return what an answer looks like: questions by topic, and thoughts."""
    fields = {f"t{n}": topic_questions.questions(list(each)) for n, each in labels.items()}
    fields["thoughts"] = stray_thoughts.SCHEMA["properties"]["thoughts"]
    return {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }


def _topics(runtime: Runtime, job: MusingsJob, labels: Mapping[int, Mapping[str, Text]]) -> str:
    blocks = [
        f"t{n}: {prompts.harmless(each.topic.name)}\n"
        + prompts.tagged("mentions", topic_questions.mentioned(runtime, labels[n]))
        for n, each in enumerate(job.drawings, 1)
    ]
    return "\n".join(blocks) or "(no topic)"


def _together(runtime: Runtime, results: Sequence[JobResult]) -> JobResult:
    """Make one result of several, in one change set."""

    def plan() -> JobPlan:
        plans = [result.whole_plan() for result in results]
        late = tuple(line for each in plans for line in each.late)
        return JobPlan([change for each in plans for change in each.changes], late)

    trailers = dict.fromkeys(pair for result in results for pair in result.trailers)
    return JobResult(
        title=f"{PURPOSE}: what came to mind",
        plan=plan,
        lines=tuple(line for result in results for line in result.lines),
        data={"done": [result.report for result in results]},
        trailers=tuple(trailers) or traced([], runtime.model.name),
    )
