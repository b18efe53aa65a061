"""Catalysts drawn: which topics need questions, what they are drawn from, and the drawing.

A model that may write does, from mentions of all eras of a topic; what it makes up is left out, and
a topic of which nothing is left has none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bumble import patterns
from bumble.entity import changes, secrets
from bumble.fallback import quotes, sayings
from bumble.guard.verifier import ClaimSources
from bumble.llm import prompts
from bumble.recall import survey, topic_mining
from bumble.records import base, kinds, topics
from bumble.runtime import people, review_queue
from bumble.runtime.job import Condition, Due, JobResult, array, choice, closed, traced
from bumble.runtime.runtime import Runtime
from bumble.text import tokens, words

PURPOSE = "catalysts"
TOPICS = 20  # that stand out most have catalysts
MOST = 5  # catalysts of a topic
OF_ERA = 3  # mentions drawn from each third of a topic's life
MENTION_TOKENS = 80
QUESTION_CHARS = 240
# What a question may come from: records with an id of their own.
DRAWN_FROM = tuple(
    kind.passages for kind in kinds.KINDS if kind.passages and kind.prefix and not kind.retells
)
_QUESTION = patterns.compile(r"[?？؟;]\s*[\"'”»)]*\Z")


class Drawing(Struct, frozen=True):
    """The catalysts of one topic, to be drawn."""

    at: datetime
    topic: topic_mining.Topic
    sample: tuple[topic_mining.Text, ...]  # oldest first
    before: topics.TopicFile | None
    fingerprint: str
    others: tuple[topics.TopicFile, ...] = ()  # that give way to it

    @property
    def has_title(self) -> bool:
        """Whether it is called for what it is: by its owner, or by a model before."""
        return self.topic.type not in topic_mining.BARE or bool(self.before and self.before.words)

    @property
    def is_due(self) -> bool:
        """Whether it was never drawn, twice, or of something else."""
        drawn = self.before.fingerprint if self.before else None
        return drawn != self.fingerprint or bool(self.others)

    @property
    def mark(self) -> str:
        """Identify the topic with these mentions.

        A bare word, and what has raised no question yet, by the power of two of their number: one
        more is no reason to ask again.
        """
        is_new = self.topic.type == "word" or self.before is None
        mentions = f"{self.topic.frequency.bit_length()}" if is_new else self.fingerprint
        return review_queue.mark("topic", self.topic.name, mentions)


def check(runtime: Runtime, *, name: str = "", force: bool = False) -> Due[Drawing]:
    """Find the topics whose catalysts are to be drawn, or drawn anew; asks no model.

    Args:
        runtime: Whose.
        name: This topic alone, whether or not it stands out.
        force: Whether those are drawn too whose mentions are what they were.
    """
    if sayings.of_owner(runtime) is not None:
        return Due((Condition("model", "may not write", "may write", passes=False),), ())
    runtime.memory.sync()
    circle = (people.owner_id(runtime.entity, runtime.identity),)
    texts = [text for text in survey.mentions(runtime.memory, circle) if not text.is_quoted]
    at = runtime.now()
    found = tuple(survey.of_texts(runtime.memory, texts, at, circle))
    taken = survey.Survey(found, tuple(topics.TOPIC.readable(runtime.entity.topics))).joined
    topic = taken.find(name) if name else None
    recurring = [each for each in taken.topics if each.frequency >= topic_mining.LEAST_RECORDS]
    wanted = ([topic] if topic else []) if name else recurring[:TOPICS]
    drawings = [
        drawing
        for topic in wanted
        if (drawing := _drawing(at, topic, taken)) is not None and (force or drawing.is_due)
    ]
    count = Condition("topics", str(len(wanted)), "at least 1", bool(wanted))
    news = "nothing new" if not drawings else f"{len(drawings)} to draw"
    return Due((count, Condition("mentions", news, "new ones", bool(drawings))), tuple(drawings))


def _drawing(at: datetime, topic: topic_mining.Topic, taken: survey.Survey) -> Drawing | None:
    """Prepare the catalysts of a topic; None where there is nothing to draw them from.

    A file of the owner's hand stays as it is.
    """
    before = taken.file_of(topic)
    if before is not None and not before.provenance.by:
        return None
    sample = tuple(_sample(topic))
    if not sample:
        return None
    return Drawing(at, topic, sample, before, _digest(sample), taken.others(topic, before))


def _digest(sample: Iterable[topic_mining.Text]) -> str:
    return review_queue.mark(*(f"{text.id} {text.text}" for text in sample))


def named(
    drawings: Sequence[Drawing], names: Sequence[str]
) -> list[tuple[Drawing, tuple[int, ...], tuple[str, ...]]]:
    """Let what is one thing be one drawing, called for that thing.

    Args:
        drawings: Some topics.
        names: What a model calls each; what has a title keeps it, what is no thing has none.

    Returns:
        Of each thing its drawing, the places of what it was made of, and the words for it.
    """
    own = [
        one.topic.name if one.has_title else name for one, name in zip(drawings, names, strict=True)
    ]
    things: dict[str, list[int]] = {}
    for place in sorted(range(len(own)), key=lambda place: not drawings[place].has_title):
        if own[place]:
            things.setdefault(topics.slug_of(own[place]), []).append(place)
    nothing = [(one, (), ()) for one, name in zip(drawings, own, strict=True) if not name]
    return [*(_thing(drawings, places, own[places[0]]) for places in things.values()), *nothing]


def _thing(
    drawings: Sequence[Drawing], places: Sequence[int], name: str
) -> tuple[Drawing, tuple[int, ...], tuple[str, ...]]:
    parts = [drawings[place] for place in places]
    files = {file.id: file for one in parts for file in (one.before, *one.others) if file}
    before = files.pop(topics.slug_of(name), None)
    said = dict.fromkeys(
        word
        for word in (*(one.topic.name for one in parts), *(before.words if before else ()))
        if topics.slug_of(word) != topics.slug_of(name)
    )
    topic = topic_mining.joined([one.topic for one in parts], name)
    whole = replace(
        parts[0],
        topic=topic,
        sample=tuple({text.id: text for one in parts for text in one.sample}.values()),
        fingerprint=_digest(_sample(topic)),
        before=before,
        others=tuple(files.values()),
    )
    return whole, tuple(places), tuple(said)


def _sample(topic: topic_mining.Topic) -> Iterator[topic_mining.Text]:
    """Draw mentions from each era, by the hash of their ids, and the last: it may answer much."""
    dated = [text for text in topic.texts if text.kind in DRAWN_FROM and text.at is not None]
    last = {text.id for text in dated[-1:]}
    for start, end in pairwise(round(len(dated) * part / 3) for part in range(4)):
        era = dated[start:end]
        by_hash = sorted({text.id for text in era}, key=lambda id_: sha256(id_.encode()).digest())
        drawn = last.union(by_hash[:OF_ERA])
        yield from (text for text in era if text.id in drawn)


def labelled(jobs: Sequence[Drawing]) -> dict[str, topic_mining.Text]:
    """Return what mentions some topics, each once, by the short names that a model cites."""
    texts = {text.id: text for job in jobs for text in job.sample}
    oldest_first = sorted(texts.values(), key=lambda text: (str(text.at or ""), text.id))
    return {f"m{number}": text for number, text in enumerate(oldest_first, 1)}


def labels_of(job: Drawing, labels: Mapping[str, topic_mining.Text]) -> list[str]:
    """Return the short names of what mentions a topic."""
    own = {text.id for text in job.sample}
    return [label for label, text in labels.items() if text.id in own]


def mentioned(
    runtime: Runtime, jobs: Sequence[Drawing], labels: Mapping[str, topic_mining.Text]
) -> str:
    """Write out what mentions some topics, one a line: of a record the sentences that do."""
    keys = {key for job in jobs for key in job.topic.keys}
    lines = (f"{label}: {_line(runtime, text, keys)}" for label, text in labels.items())
    return prompts.tagged("mentions", "\n".join(lines))


def _standing(
    runtime: Runtime,
    job: Drawing,
    labels: Mapping[str, topic_mining.Text],
    entries: Sequence[Mapping[str, Any]],
) -> tuple[tuple[topics.Catalyst, ...], int]:
    """Return the questions that name nothing of their own, and how many do."""
    names = (runtime.identity.name, job.topic.name, *(text.speaker for text in job.sample))
    told = tuple(_line(runtime, text, job.topic.keys) for text in labels.values())
    sources = ClaimSources(known=told, names=names)
    catalysts: dict[str, topics.Catalyst] = {}
    for entry in entries:
        question = words.one_line(entry["question"])
        # what connects a topic with another may stand in a mention of that alone
        ids = dict.fromkeys(labels[label].id for label in entry["uses"] if label in labels)
        if (
            ids
            and _QUESTION.search(question)
            and sources.bear(question)
            and secrets.find_secret(question) is None
        ):
            catalysts.setdefault(question.casefold(), topics.Catalyst(question, tuple(ids)))
    return tuple(catalysts.values()), len(entries) - len(catalysts)


def questions(labels: Sequence[str]) -> dict[str, Any]:
    """Describe the questions of one topic."""
    label = choice(labels)
    question = closed(
        {
            "uses": array(label, len(labels), least=1),
            "question": {"type": "string", "minLength": 8, "maxLength": QUESTION_CHARS},
        }
    )
    return array(question, MOST)


def _line(runtime: Runtime, text: topic_mining.Text, keys: Collection[tuple[str, ...]]) -> str:
    day = f"({text.at.astimezone(runtime.zone):%Y-%m-%d}) " if text.at else ""
    who = f"{text.speaker}: " if text.speaker else ""
    whole = quotes.plain(text.text)
    naming = [
        sentence
        for sentence in (() if text.speaker else words.sentences(whole))
        if any(
            topic_mining.holds(topic_mining.key_of(sentence, text.language), key) for key in keys
        )
    ]
    return f"{day}{who}{tokens.cut(' '.join(naming) or whole, MENTION_TOKENS)}"


def drawn(
    runtime: Runtime,
    job: Drawing,
    labels: Mapping[str, topic_mining.Text],
    entries: Sequence[Mapping[str, Any]],
    shown: Sequence[Sequence[str]],
    words_for_it: Sequence[str] = (),
) -> JobResult:
    """Return the drawing of a topic.

    Args:
        runtime: Whose.
        job: The topic.
        labels: What its model was shown of mentions, by their short names.
        entries: The questions that it gave.
        shown: The audiences of all that it was shown.
        words_for_it: What people say for it, beside its name.
    """
    name, model = job.topic.name, runtime.model.name
    catalysts, dropped = _standing(runtime, job, labels, entries)
    data: Mapping[str, Any] = {
        "topic": name,
        "catalysts": [catalyst.text for catalyst in catalysts],
        "dropped": dropped,
    }
    if not catalysts:
        why = f"{name} raises no question."
        return JobResult(f"{PURPOSE}: none", tuple, (why,), data, ran=False, vain=(job.mark,))
    sources = tuple(dict.fromkeys(id_ for catalyst in catalysts for id_ in catalyst.sources))
    cited = [text for text in labels.values() if text.id in sources]
    listed = [set(each) for each in (*(text.audience for text in cited), *shown) if each]
    made = topics.new(
        name,
        catalysts,
        job.at,
        fingerprint=job.fingerprint,
        words_for_it=words_for_it,
        provenance=base.Provenance(
            by=PURPOSE,
            model=model,
            sources=sources,
            trust=base.lowest_trust(text.trust for text in cited),
            audience=tuple(sorted(set.intersection(*listed))) if listed else (),  # for all
        ),
    )
    lines = [f"Drew {words.counted(len(catalysts), 'question')} that {name} keeps raising."]
    if dropped:
        lines.append(f"Left out {dropped} with names or numbers nobody gave.")
    return JobResult(
        title=f"{PURPOSE}: {words.one_line(name)}",
        plan=partial(_plan, runtime, job, made),
        lines=tuple(lines),
        data=data,
        trailers=traced(sources, model),
    )


def _plan(
    runtime: Runtime, job: Drawing, drawn: topics.TopicFile
) -> Sequence[changes.Change | None]:
    """Plan to write a topic, unless somebody has edited it in the meantime: the edit stays.

    Its file is named for it; one that was drawn of it under another name gives way.
    """
    old = (job.before, *job.others) if job.before else job.others
    there = {
        one.id: base.load(path, topics.TOPIC.parse)
        for one in old
        if (path := _file(runtime, one.id)).is_file()
    }
    if any(one.id not in there or there[one.id].source.text != one.source.text for one in old):
        return ()
    why = f"questions that {job.topic.name} keeps raising"
    now = there.pop(drawn.id, None)
    gone = (
        changes.delete(topics.TOPIC.path(one.id), one.source.text, why) for one in there.values()
    )
    if now is None and (path := _file(runtime, drawn.id)).is_file():
        # what has a file of its own is drawn anew once it is known to be meant by these words
        known = base.load(path, topics.TOPIC.parse)
        return (topics.plan_called(known, drawn.words, why), *gone) if known.provenance.by else ()
    return (topics.plan_draw(now, drawn, why), *gone)


def _file(runtime: Runtime, topic_id: str) -> Path:
    return runtime.entity.root / topics.TOPIC.path(topic_id)
