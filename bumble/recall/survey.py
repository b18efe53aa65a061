"""What the memories of an entity are about: its topics, for some readers, and their overview.

Topics are counted in the index; the overview, which stands in the system prompt, is of their files.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from bumble.errors import IndexServerError, IndexUnusableError
from bumble.fallback import templates
from bumble.index import search
from bumble.index.memory import Memory
from bumble.index.rows import Row, unpacked
from bumble.llm import prompts
from bumble.recall import topic_mining
from bumble.records import (
    base,
    beliefs,
    journal,
    kinds,
    knowledge,
    projects,
    provenance,
    relationships,
    skills,
    topics,
)
from bumble.records.kind import Kind, RecordView
from bumble.records.topics import Catalyst, TopicFile
from bumble.runtime.runtime import Runtime
from bumble.text import stop_words, tokens, words

# What was made of other records by a model says nothing new of how often something comes up.
DERIVED = frozenset(kind.passages for kind in kinds.KINDS if kind.passages and kind.retells)
# What the entity writes in its own words, of what it heard.
OWN = frozenset(kind.passages for kind in kinds.KINDS if kind.passages and kind.own_words)
# What writes these says so by a tag, which tells nothing of what they are about.
TAGGED_BY_CYCLES = frozenset((journal.JOURNAL.passages,))


def mentions(memory: Memory, readers: Collection[str] | None = None) -> list[topic_mining.Text]:
    """Return every record that all of some people may meet, oldest first; None: every record.

    An index that can't be used has none.
    """
    try:
        with search.opened(memory.entity, memory.place) as index:
            rows = index.store.passages()
    except (IndexUnusableError, IndexServerError):
        return []
    of_file: dict[str, list[str]] = defaultdict(list)
    whole: dict[tuple[str, ...], list[Row]] = defaultdict(list)  # the passages of each record
    for row in rows:
        of_file[str(row[2])].append(str(row[5]))
        whole[row[:3]].append(row)
    languages = {path: words.language(" ".join(texts)) for path, texts in of_file.items()}
    is_talked_with = any(row[6] not in ("", memory.name) for row in rows)
    texts, rules = [], _rules(memory)
    for (kind, record, path), passages in whole.items():
        _, _, _, line, at, _, speaker, session, audience, trust, marked, active = passages[0]
        listed = unpacked(str(audience))
        told = kind not in DERIVED and (kind, record) not in rules
        told &= bool(active) or kind != beliefs.BELIEF.passages  # one put away is held no more
        if not (told and (readers is None or base.may_read(listed, readers))):
            continue
        texts.append(
            topic_mining.Text(
                kind,
                record,
                path,
                int(line),
                " ".join(str(passage[5]) for passage in passages),
                datetime.fromisoformat(str(at)) if at else None,
                listed,
                str(trust),
                str(session),
                str(speaker),
                language=languages[path],
                tags=() if kind in TAGGED_BY_CYCLES else unpacked(str(marked)),
                is_own=(is_talked_with and kind in OWN) or speaker == memory.name,
            )
        )
    return texts


def _rules(memory: Memory) -> set[tuple[str, str]]:
    """Name the locked sections, which say what is to be done and tell of nothing."""
    sections = knowledge.readable(memory.entity.knowledge).sections
    return {(knowledge.KNOWLEDGE.passages, section.title) for section in sections if section.locked}


# What has a title of its own, by the kind of its records.
TITLED: tuple[tuple[Kind, topic_mining.TopicType], ...] = (
    (knowledge.KNOWLEDGE, "knowledge"),
    (skills.SKILL, "skill"),
    (projects.PROJECT, "project"),
)
PASSING = 400  # of the commonest words of a language: they name no topic
NAMED = 1.0  # what a query adds to the relation of a topic that it names


class Survey(Struct, frozen=True):
    """The topics of an entity, what stands out most first, and the files of those that have one."""

    topics: tuple[topic_mining.Topic, ...]
    files: tuple[TopicFile, ...]

    def file_of(self, topic: topic_mining.Topic) -> TopicFile | None:
        """Return the file of a topic, by its name or another of its names."""
        slug = topics.slug_of(topic.name)
        own = next((file for file in self.files if file.id == slug), None)
        named = (file for file in self.files if topics.is_called(file, topic.name))
        alike = (file for file in self.files if topic_mining.key_of(file.name) in topic.keys)
        return own or next(named, None) or next(alike, None)

    def others(self, topic: topic_mining.Topic, own: TopicFile | None) -> tuple[TopicFile, ...]:
        """Return the files that a program drew of what is the same topic by now."""
        return tuple(
            file
            for file in self.files
            if (own is None or file.id != own.id)
            and file.provenance.by
            and topic_mining.key_of(file.name) in topic.keys
        )

    @property
    def joined(self) -> Survey:
        """The same, with topics of one file as one topic, called as a model has called them."""
        groups: dict[str, list[topic_mining.Topic]] = defaultdict(list)
        names: dict[str, str] = {}
        for topic in self.topics:
            file = self.file_of(topic)
            own = file.id if file and file.words else f"{topic.type} {topic.name}"
            groups[own].append(topic)
            names[own] = file.name if file and file.words else topic.name
        made = (topic_mining.joined(group, names[own]) for own, group in groups.items())
        return replace(self, topics=tuple(made))

    def catalysts(self, topic: topic_mining.Topic) -> tuple[Catalyst, ...]:
        """Return the questions that a topic keeps raising."""
        file = self.file_of(topic)
        return file.catalysts if file else ()

    def find(self, name: str) -> topic_mining.Topic | None:
        """Return the topic that somebody means by a name."""
        wanted = topics.slug_of(name)
        exact = (topic for topic in self.topics if topics.slug_of(topic.name) == wanted)
        key = topic_mining.key_of(name)
        alike = (topic for topic in self.topics if key in topic.keys)
        return next(exact, None) or next(alike, None)

    def related(self, query: str, hits: Sequence[search.Hit]) -> list[topic_mining.Topic]:
        """Return the topics in order of their relation to a query.

        Args:
            query: What is asked.
            hits: The records that fit it best; a topic is related by those that mention it.
        """
        scores = {(hit.kind, hit.id): hit.score for hit in hits}
        asked = topic_mining.key_of(query, words.language(query))

        def relation(topic: topic_mining.Topic) -> float:
            shared = sum(scores.get((text.kind, text.id), 0.0) for text in topic.texts)
            named = any(topic_mining.holds(asked, key) for key in topic.keys)
            return shared / math.sqrt(max(topic.frequency, 1)) + NAMED * named

        ranked = sorted(self.topics, key=relation, reverse=True)
        return [topic for topic in ranked if relation(topic) > 0]


def take(memory: Memory, now: datetime, readers: Collection[str] | None) -> Survey:
    """Find the topics of an entity in its index as it is.

    Args:
        memory: Whose.
        now: The present, in the entity's time zone.
        readers: Ids of all who will see it: what others said in private counts for nothing; None:
            everything counts.
    """
    topic_files = [
        file
        for file in topics.TOPIC.readable(memory.entity.topics)
        if readers is None or base.may_read(file.provenance.audience, readers)
    ]
    found = of_texts(memory, mentions(memory, readers), now, readers)
    return Survey(tuple(found), tuple(topic_files)).joined


def of_texts(
    memory: Memory,
    texts: Sequence[topic_mining.Text],
    now: datetime,
    readers: Collection[str] | None,
) -> list[topic_mining.Topic]:
    """Find the topics in some texts of an entity."""
    named = [*_people(memory, texts, readers), *titles(memory, readers)]
    return topic_mining.find(texts, named, now, passing=_passing(memory, texts))


def _people(
    memory: Memory, texts: Sequence[topic_mining.Text], readers: Collection[str] | None
) -> Iterator[topic_mining.Title]:
    """Name those whom the entity knows, and those who talk, by their full, first and last names."""
    titles = [
        topic_mining.Title(person.name, "person", tuple(person.names[1:]))
        for person in relationships.PERSON.readable(memory.entity.relationships)
        if readers is None or base.may_read(person.audience, readers)
    ]
    names = {name.casefold() for title in titles for name in (title.name, *title.aliases)}
    speakers = {text.speaker for text in texts if text.speaker and not text.is_quoted}
    titles += [
        topic_mining.Title(speaker, "person")
        for speaker in sorted(speakers - {memory.name})
        if speaker.casefold() not in names
    ]
    parts = Counter(part.casefold() for title in titles for part in _ends(title.name))
    for title in titles:
        alone = [part for part in _ends(title.name) if parts[part.casefold()] == 1]
        yield topic_mining.Title(title.name, title.type, (*title.aliases, *alone))


def _ends(name: str) -> set[str]:
    """Return the first and the last part of a name that has several."""
    parts = name.split()
    return {parts[0], parts[-1]} if len(parts) > 1 else set()


def titles(memory: Memory, readers: Collection[str] | None) -> Iterator[topic_mining.Title]:
    """Name what has a title of its own; a file that can't be read has none."""
    rules = _rules(memory)
    for kind, topic_type in TITLED:
        views, _ = base.load_all(kind.paths(memory.entity), partial(kind.read, zone=memory.zone))
        for view in (view for listed in views for view in listed):
            record = (kind.passages, view.id)
            if record not in rules and (
                readers is None or base.may_read(view.origin.audience, readers)
            ):
                meta = view.document.meta if view.document else {}
                named = (str(meta[key]) for key in ("title", "name") if meta.get(key))
                name = next(named, view.id)
                yield topic_mining.Title(name, topic_type, at=_time(view), record=record)


def _time(view: RecordView) -> datetime | None:
    """Return when a record was written, else when the newest was of what it rests on."""
    rests_on = (base.time_of(source) for source in view.origin.sources)
    return view.at or max((at for at in rests_on if at), default=None)


def _passing(memory: Memory, texts: Sequence[topic_mining.Text]) -> frozenset[str]:
    """Return the words that tell nothing in the languages of some texts, folded."""
    passing = {words.folded(part) for part in memory.name.split()}
    for language in {text.language for text in texts}:
        template = templates.load(language)
        passing |= {words.folded(word) for word in (*template.months, *template.weekdays)}
        passing |= words.common(language, PASSING)
    return frozenset(passing)


MOST_TAGS = 8


def tags_of(memory: Memory, texts: Sequence[str], readers: Collection[str]) -> tuple[str, ...]:
    """Return the tags of what was said.

    Args:
        memory: Whose titles of knowledge, skills and projects count.
        texts: What people said.
        readers: Ids of all who may meet the episode: a title that one may not know is no tag.
    """
    written = [tag for text in texts for tag in words.tags_in(text)]
    language = words.language(" ".join(texts))
    stems = [topic_mining.key_of(text, language) for text in texts]
    named = []
    for title in titles(memory, readers):
        own = title.name.rpartition(topic_mining.PARENT)[2]
        key = topic_mining.key_of(own, language)
        tells = stop_words.telling_words(own)
        if key and tells and any(topic_mining.holds(each, key) for each in stems):
            named.append(own)
    return words.distinct_tags((*written, *named))[:MOST_TAGS]


MOST_TOKENS = 1500  # of the overview
TOPICS, CATALYSTS = 20, 3  # in it, those drawn last; and of each topic


def overview(runtime: Runtime, readers: Sequence[str]) -> str:
    """Return which questions keep coming up, for a talk of some people; empty where none do.

    Read from the topic files alone, so that a prompt keeps its bytes until questions are drawn.
    """
    config = runtime.config.prompt
    if not config.topics or runtime.window_tokens < config.topics_min_window_tokens:
        return ""
    drawn = [
        file
        for file in topics.TOPIC.readable(runtime.entity.topics)
        if file.catalysts
        and base.may_read(file.provenance.audience, readers)
        and not provenance.is_untrusted(file.provenance.trust)
    ]
    drawn.sort(key=lambda file: file.at or runtime.now(), reverse=True)
    lines = [
        f"- {words.one_line(file.name)}: "
        + " | ".join(words.one_line(each.text) for each in file.catalysts[:CATALYSTS])
        for file in drawn[:TOPICS]
    ]
    return prompts.tagged("memory", "\n".join(tokens.leading(lines, MOST_TOKENS))) if lines else ""
