"""Catalysts drawn: which topics need questions, what they are drawn from, and the drawing.

A model writes them from mentions of all eras of a topic, and what it makes up is left out. Where no
model is trusted to write, and where nothing of its own can be used, they are questions that people
really asked about the topic, quoted.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import pairwise
from typing import Any

from msgspec import Struct

from bumble.entity.changes import Change
from bumble.fallback import quotes, sayings, templates
from bumble.fallback.quotes import Quote
from bumble.fallback.sayings import Wording
from bumble.guard import secrets, verifier
from bumble.guard.speakers import Speakers
from bumble.llm import prompts, structured
from bumble.recall import survey, topic_mining
from bumble.recall.topic_mining import Text, Topic
from bumble.records import base, kinds, topics
from bumble.records.base import Provenance
from bumble.records.provenance import BY_FORM
from bumble.records.topics import Catalyst, TopicFile
from bumble.runtime import job_request, people
from bumble.runtime.job import Condition, Due, JobResult, traced
from bumble.runtime.runtime import Runtime
from bumble.text import tokens, words

PURPOSE = "catalysts"
TOPICS = 20  # that stand out most have catalysts
LEAST, MOST = 3, 5  # catalysts of a topic
OF_ERA = 3  # mentions drawn from each third of a topic's life
MENTION_TOKENS = 80
QUESTION_CHARS = 240
ANSWER_TOKENS = 600
TEMPERATURE = 0.5
LEAST_TELLING = 2  # words of a question that tell something beside the topic
# What a question may come from: records with an id of their own.
DRAWN_FROM = tuple(
    kind.passages for kind in kinds.KINDS if kind.passages and kind.prefix and not kind.retells
)
_QUESTION = re.compile(r"[?？؟;]\s*[\"'”»)]*\Z")


class Drawing(Struct, frozen=True):
    """The catalysts of one topic, to be drawn."""

    at: datetime
    topic: Topic
    sample: tuple[Text, ...]  # oldest first
    asked: tuple[Catalyst, ...]  # what people really asked, quoted
    before: TopicFile | None
    fingerprint: str
    wording: Wording | None  # None: the model may write


def check(runtime: Runtime, *, name: str = "", force: bool = False) -> Due[Drawing]:
    """Find the topics whose catalysts are to be drawn, or drawn anew; asks no model.

    Args:
        runtime: Whose.
        name: This topic alone, whether or not it stands out.
        force: Whether those are drawn too whose mentions are what they were.
    """
    runtime.memory.sync()
    circle = (people.owner_id(runtime.entity, runtime.identity),)
    texts = [text for text in survey.mentions(runtime.memory, circle) if not text.is_quoted]
    at = runtime.now()
    all_topics = survey.of_texts(runtime.memory, texts, at, circle)
    taken = survey.Survey(tuple(all_topics), tuple(topics.read(runtime.entity.topics)))
    topic = taken.find(name) if name else None
    recurring = [each for each in all_topics if each.frequency >= topic_mining.LEAST_RECORDS]
    wanted = ([topic] if topic else []) if name else recurring[:TOPICS]
    wording = sayings.of_owner(runtime)
    drawings = [
        drawing
        for topic in wanted
        if (drawing := _drawing(runtime, at, topic, taken.file_of(topic), wording)) is not None
        and (force or drawing.before is None or drawing.before.fingerprint != drawing.fingerprint)
    ]
    count = Condition("topics", str(len(wanted)), "at least 1", bool(wanted))
    news = "nothing new" if not drawings else f"{len(drawings)} to draw"
    return Due((count, Condition("mentions", news, "new ones", bool(drawings))), tuple(drawings))


def _drawing(
    runtime: Runtime, at: datetime, topic: Topic, before: TopicFile | None, wording: Wording | None
) -> Drawing | None:
    """Prepare the catalysts of a topic; None where there is nothing to draw them from.

    A file of the owner's hand stays as it is.
    """
    if before is not None and not before.provenance.by:
        return None
    sample = tuple(_sample([text for text in topic.texts if text.kind in DRAWN_FROM]))
    asked = tuple(_asked(runtime, topic, wording))
    if not sample or (wording is not None and not asked):
        return None
    drawn_from = [f"{text.id} {text.text}" for text in sample] if wording is None else []
    drawn_from += [f"{catalyst.sources} {catalyst.text}" for catalyst in asked]
    digest = hashlib.sha256("\n".join(drawn_from).encode("utf-8", "replace")).hexdigest()
    return Drawing(at, topic, sample, asked, before, digest[:16], wording)


def _eras(texts: Sequence[Text]) -> list[Sequence[Text]]:
    """Split the texts of a topic, oldest first, into its first, middle and last third."""
    bounds = [round(len(texts) * part / 3) for part in range(4)]
    return [texts[start:end] for start, end in pairwise(bounds)]


def _sample(texts: Sequence[Text]) -> Iterator[Text]:
    """Draw mentions from each era: by the hash of their ids, so that new ones change few."""
    dated = [text for text in texts if text.at is not None]
    for era in _eras(dated):
        drawn = set(sorted({text.id for text in era}, key=_order)[:OF_ERA])
        yield from (text for text in era if text.id in drawn)


def _order(record_id: str) -> str:
    return hashlib.sha256(record_id.encode()).hexdigest()


def _asked(runtime: Runtime, topic: Topic, wording: Wording | None) -> Iterator[Catalyst]:
    """Yield questions that people asked about a topic, quoted, from all its eras."""
    texts = [
        text
        for text in topic.texts
        if text.kind == kinds.SESSION.passages
        and text.speaker not in ("", runtime.identity.name)
        and text.at is not None
        and _question(topic, text)
    ]
    chosen: dict[str, tuple[Text, str]] = {}
    rounds = [sorted(era, key=lambda text: _order(text.id)) for era in _eras(texts)]
    for place in range(MOST):
        for era in rounds:
            if place < len(era) and len(chosen) < MOST:
                question = _question(topic, era[place])
                chosen.setdefault(question.casefold(), (era[place], question))
    for text, question in sorted(chosen.values(), key=lambda pair: str(pair[0].at)):
        yield Catalyst(_quoted(runtime, text, question, wording), (text.id,))


def _question(topic: Topic, text: Text) -> str:
    """Return the question of a message that is about a topic; empty if it asks none."""
    for sentence in words.sentences(text.text):
        stems = topic_mining.key_of(sentence, text.language)
        is_about = any(survey.holds(stems, key) for key in topic.keys)
        telling = words.stems(sentence, text.language) - {
            part for key in topic.keys for part in key
        }
        if (
            _QUESTION.search(sentence)
            and is_about
            and len(telling) >= LEAST_TELLING
            and len(sentence) <= QUESTION_CHARS
            and secrets.find_secret(sentence) is None
        ):
            return words.one_line(sentence)
    return ""


def _quoted(runtime: Runtime, text: Text, question: str, wording: Wording | None) -> str:
    """Word a question as a quote, in the fixed form of its language."""
    worded = wording.template if wording else templates.load(text.language)
    at = (text.at or runtime.now()).astimezone(runtime.zone)
    quote = Quote(text.id, text.speaker, at, question, text.trust)
    return quotes.line(quote, worded).removeprefix(quotes.MARK)


def run(runtime: Runtime, job: Drawing) -> JobResult:
    """Draw the catalysts of a topic.

    Raises:
        AnswerInvalidError: If the model's answer can't be used.
    """
    if job.wording is not None:
        return _outcome(runtime, job, job.asked, 0, by_model=False)
    return drawn(runtime, job, *_ask(runtime, job))


def _ask(runtime: Runtime, job: Drawing) -> tuple[tuple[Catalyst, ...], int]:
    """Have a model write them.

    Returns:
        What may stand, and how many may not.
    """
    labels = labelled(job)
    slots = {
        "name": runtime.identity.name,
        "topic": job.topic.name,
        "mentions": prompts.tagged("mentions", mentioned(runtime, labels)),
        "least": str(LEAST),
        "most": str(MOST),
    }
    request = job_request.request(
        runtime, PURPOSE, slots, max_tokens=ANSWER_TOKENS, temperature=TEMPERATURE
    )
    answer = structured.answer(runtime.model, request, schema(list(labels)))
    return standing(runtime, job, labels, answer["questions"])


def labelled(job: Drawing, prefix: str = "") -> dict[str, Text]:
    """Return the mentions of a topic by the short names that a model cites them with."""
    return {f"{prefix}m{number}": text for number, text in enumerate(job.sample, 1)}


def mentioned(runtime: Runtime, labels: Mapping[str, Text]) -> str:
    """Write out mentions, one a line."""
    return "\n".join(f"{label}: {_line(runtime, text)}" for label, text in labels.items())


def standing(
    runtime: Runtime, job: Drawing, labels: Mapping[str, Text], entries: Sequence[Mapping[str, Any]]
) -> tuple[tuple[Catalyst, ...], int]:
    """Leave out of some questions what names anything that nobody named.

    Returns:
        What may stand, and how many may not.
    """
    speakers = Speakers((runtime.identity.name, job.topic.name, *(t.speaker for t in job.sample)))
    grounds = [_line(runtime, text) for text in job.sample]
    catalysts: dict[str, Catalyst] = {}
    for entry in entries:
        question = words.one_line(entry["question"])
        ids = dict.fromkeys(labels[label].id for label in entry["uses"] if label in labels)
        if (
            ids
            and _QUESTION.search(question)
            and verifier.problem(question, grounds, speakers) is None
            and secrets.find_secret(question) is None
        ):
            catalysts.setdefault(question.casefold(), Catalyst(question, tuple(ids)))
    return tuple(catalysts.values()), len(entries) - len(catalysts)


def drawn(
    runtime: Runtime,
    job: Drawing,
    catalysts: Sequence[Catalyst],
    dropped: int,
    beside: Sequence[Sequence[str]] = (),
) -> JobResult:
    """Return the drawing of a topic; `beside` are audiences of what else its model was shown."""
    kept = catalysts or job.asked
    if not kept:
        why = f"{job.topic.name} raises no question."
        data: dict[str, Any] = {"topic": job.topic.name, "catalysts": [], "dropped": dropped}
        return JobResult(f"{PURPOSE}: none", tuple, (why,), data, ran=False, in_vain=True)
    return _outcome(runtime, job, kept, dropped, by_model=bool(catalysts), beside=beside)


def schema(labels: Sequence[str]) -> dict[str, Any]:
    """Return what an answer looks like; each question says first what it rests on."""
    return {
        "type": "object",
        "properties": {"questions": questions(labels)},
        "required": ["questions"],
        "additionalProperties": False,
    }


def questions(labels: Sequence[str]) -> dict[str, Any]:
    """Describe the questions of one topic."""
    label = {"type": "string", "enum": list(labels)}
    question = {
        "type": "object",
        "properties": {
            "uses": {"type": "array", "items": label, "minItems": 1, "maxItems": len(labels)},
            "question": {"type": "string", "minLength": 8, "maxLength": QUESTION_CHARS},
        },
        "required": ["uses", "question"],
        "additionalProperties": False,
    }
    return {"type": "array", "items": question, "minItems": 0, "maxItems": MOST}


def _line(runtime: Runtime, text: Text) -> str:
    day = f"({text.at.astimezone(runtime.zone):%Y-%m-%d}) " if text.at else ""
    who = f"{text.speaker}: " if text.speaker else ""
    return f"{day}{who}{tokens.cut(quotes.plain(text.text), MENTION_TOKENS)}"


def _outcome(
    runtime: Runtime,
    job: Drawing,
    catalysts: Sequence[Catalyst],
    dropped: int,
    *,
    by_model: bool,
    beside: Sequence[Sequence[str]] = (),
) -> JobResult:
    sources = tuple(dict.fromkeys(id_ for catalyst in catalysts for id_ in catalyst.sources))
    cited = [text for text in job.topic.texts if text.id in sources]
    model = runtime.model.name if by_model else ""
    made = topics.new(
        job.topic.name,
        catalysts,
        job.at,
        fingerprint=job.fingerprint,
        summary_source="" if by_model else sayings.MARK,
        provenance=Provenance(
            by=PURPOSE if by_model else f"{PURPOSE} {BY_FORM}",
            model=model,
            sources=sources,
            trust=base.lowest_trust(text.trust for text in cited),
            audience=_audience([*(text.audience for text in cited), *beside]),
        ),
    )
    verb = "Drew" if by_model else "Quoted"
    count = f"{len(catalysts)} question{'' if len(catalysts) == 1 else 's'}"
    lines = [f"{verb} {count} that {job.topic.name} keeps raising."]
    if dropped:
        lines.append(f"Left out {dropped} with names or numbers nobody gave.")
    data: Mapping[str, Any] = {
        "topic": job.topic.name,
        "catalysts": [catalyst.text for catalyst in catalysts],
        "dropped": dropped,
        "summary_source": made.summary_source or "model",
    }
    return JobResult(
        title=f"{PURPOSE}: {words.one_line(job.topic.name)}",
        plan=partial(_plan, runtime, job, made),
        lines=tuple(lines),
        data=data,
        trailers=traced(sources, model),
        asked=job.wording is None,
    )


def _audience(audiences: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return who may meet all of some texts; empty: everyone."""
    listed = [set(audience) for audience in audiences if audience]
    return tuple(sorted(set.intersection(*listed))) if listed else ()


def _plan(runtime: Runtime, job: Drawing, drawn: TopicFile) -> Sequence[Change | None]:
    """Plan to write a topic, unless somebody has edited it in the meantime: the edit stays."""
    path = runtime.entity.root / topics.path(job.before.id if job.before else drawn.id)
    now = base.load(path, topics.parse) if path.is_file() else None
    if (now.source.text if now else None) != (job.before.source.text if job.before else None):
        return ()
    return (topics.plan_draw(now, drawn, f"questions that {job.topic.name} keeps raising"),)
