"""What is recalled for a message without a model: which hits go in the prompt, worded how.

Chooses and words memories for a prompt; ranking them is the index's. `find` is the one search: what
a message brings to mind, what the tool `recall` answers and what `bumble recall` shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from bumble.entity.config import Config
from bumble.entity.folder import Entity
from bumble.errors import RecordMissingError, UserError
from bumble.fallback import quotes
from bumble.index import chunks
from bumble.index.memory import Memory
from bumble.index.rerank import RerankTurn
from bumble.index.rows import Filter
from bumble.index.search import Hit
from bumble.llm import prompts
from bumble.prompt import expand, system
from bumble.prompt.system import Block
from bumble.recall import belief_strength, emotion_weight, newer_words, whole_record
from bumble.records import (
    base,
    episodes,
    kinds,
    knowledge,
    projects,
    provenance,
    sessions,
    skills,
)
from bumble.records import beliefs as store
from bumble.records.kinds import RECALLED
from bumble.records.knowledge import Knowledge
from bumble.records.projects import Project
from bumble.records.relationships import Relationship
from bumble.records.sessions import Session
from bumble.runtime import body_state, people, rules
from bumble.runtime.runtime import Runtime
from bumble.text import stop_words, tokens, words
from bumble.text.words import one_line

LAST_MESSAGES = 3  # that together bring to mind what the newest alone does not
JUST_BEFORE, JUST_BEFORE_TOKENS = 5, 75  # memories they may bring, and how much of each
MOST_SKILLS, SKILL_CHARS = 3, 900  # recalled for one message, and how much of each
KNOWLEDGE_THRESHOLD = 0.3  # likeness a section needs
MEMORY_TOKENS = 80  # of one memory in the preamble
RESULTS = 6  # of a search that was asked for
RESULT_TOKENS = 250  # of one memory that was asked for
CONTEXT_TURNS = 2  # what was said just before helps to find skills
SECTION_TOKENS = 250
MOST_PROJECTS, PROJECT_TOKENS = 2, 150  # of a message, and of each
QUOTED_FROM = {"tool": "what a tool gave", "imported": "a text that was imported"}
NOTHING = "Nothing comes to mind."
UNSEARCHED = "Memory can't be searched now; what it holds is not known."
FADED = "[faded] "  # before a memory that only came because it was looked for
# What was asked for may be less near than what comes unasked: of 401 answers in long talks four
# were farther, of what foreign questions found in a small folder all was (docs/log.md).
TOUCHING = 0.6
WORDS_SHARE = 0.5  # of the words asked for, with which a hit of any nearness touches
COMPANY_TOKENS = 60  # of each who is there
COME_TO_MIND = (*kinds.UNASKED, "knowledge")  # of all that is searched for a message
SHARED, SHARED_LOOKED_AT = ("knowledge", "belief", "episode"), 4  # that may tell all of one


def blocks(
    runtime: Runtime,
    session: Session,
    person: str,
    mood: str,
    at: datetime,
    unseen: Sequence[str] = (),
) -> list[Block]:
    """Return what comes to mind in a mood, most useful first.

    What anybody who takes part may not meet is left out. What was only read (of trust `tool` or
    `imported`) stands in tags of its own. `unseen` are the messages of the conversation itself that
    its view does not hold.
    """
    search = Search(
        session.people,
        mood,
        at,
        session.id,
        unseen,
        asker=_asker(session),
        asking=last_turn(session),
    )
    book = _book(runtime)
    shown: set[tuple[str, str]] = set()
    return [
        *_relationships(runtime, session, person, at),
        *_knowledge(runtime, search, session, book, shown),
        *_memories(runtime, search, session, book, shown),
        *_projects(runtime.entity, session),
        *_skills(runtime.entity, session),
        *_just_before(runtime, search, session, book, shown),
    ]


def _relationships(runtime: Runtime, session: Session, person: str, at: datetime) -> list[Block]:
    """Say what the entity knows of those it talks with; in company one line a person."""
    if len(session.people) > 1:
        return _company(runtime, session, at)
    record = people.readable_person(runtime, person)
    if record is None or not base.may_read(record.audience, session.people):
        return []
    budget = runtime.config.memory.relational.max_context_tokens
    lines = [
        *([f"- {quotes.plain(record.text)}"] if record.text else []),
        *([f"- between you: {record.dynamic}"] if record.dynamic else []),
        *_scalar(runtime, record, at),
        *(f"- still open: {topic}" for topic in record.unresolved),
    ]
    heading = f"What you know of {prompts.harmless(record.name)}:"
    tier = record.provenance.trust
    return _blocks("relationship", heading, [(tier, line) for line in _within(lines, budget)])


def _scalar(runtime: Runtime, person: Relationship, at: datetime) -> list[str]:
    """Say in numbers how the two stand, where no portrait is kept that says it in words."""
    scores = person.scores
    if runtime.config.memory.relational.enabled or not person.source.meta.get("scores"):
        return []
    stage = people.standing(person, at).stage
    numbers = f"familiarity {scores.familiarity:.0%}, warmth {scores.warmth:.0%}"
    return [f"- how you stand: {stage}, {numbers}, trust {scores.trust:.0%}"]


def _within(lines: Sequence[str], budget_tokens: int) -> list[str]:
    """Keep lines as far as a budget goes; the one that does not fit is cut."""
    fitting: list[str] = []
    for text in lines:
        if budget_tokens <= 0:
            break
        fitting.append(tokens.cut(text, budget_tokens))
        budget_tokens -= tokens.estimate(fitting[-1]) + 1
    return fitting


def _company(runtime: Runtime, session: Session, at: datetime) -> list[Block]:
    """Say a line of each who is there: of a portrait only what all of them may hear."""
    most = runtime.config.memory.relational.max_context_tokens
    line_tokens = min(COMPANY_TOKENS, most // len(session.people))
    lines = []
    for person_id in session.people:
        person = people.readable_person(runtime, person_id)
        if person is None:
            lines.append(("", f"- {person_id}: you have just met"))
            continue
        standing = people.standing(person, at)
        about = _shared(runtime, person, session.people)
        about = f": {about}" if about else ""
        talks = f"{person.interaction_count} talk{'' if person.interaction_count == 1 else 's'}"
        text = f"- {person.name} ({standing.stage}, {talks} so far){about}"
        lines.append((person.provenance.trust, tokens.cut(text, max(1, line_tokens - 1))))
    return _blocks("relationship", "Who is here:", lines)


def _shared(runtime: Runtime, person: Relationship, readers: Sequence[str]) -> str:
    """Say what all of some people may know of one: the portrait, else what names them."""
    if person.text and base.may_read(person.audience, readers):
        return quotes.plain(person.text)
    hits = runtime.memory.search(
        person.name, kinds=SHARED, limit=SHARED_LOOKED_AT, audience=readers
    )
    name_words = set(stop_words.words(person.name))
    gave_way = _superseded(runtime.entity, runtime.now())
    return "; ".join(
        one_line(hit.text)
        for hit in hits
        if hit.id not in gave_way
        and not provenance.is_untrusted(hit.trust)
        and name_words <= set(stop_words.words(hit.text))
    )


def _book(runtime: Runtime) -> Knowledge:
    return runtime.read_or(lambda: knowledge.read(runtime.entity.knowledge), knowledge.EMPTY)


def _knowledge(
    runtime: Runtime, search: Search, session: Session, book: Knowledge, shown: set[tuple[str, str]]
) -> list[Block]:
    text = session.messages[-1].text
    hits = _unasked(runtime, search, book, text, ("knowledge",), knowledge.RECALLED_SECTIONS)
    lines = []
    for hit in hits:
        section = knowledge.find(book, hit.id)
        if section is None:
            continue
        tier, mark = section.provenance.trust, _hearsay(section.provenance.trust)
        reference = whole_record.reference(hit.kind, section.title)
        text = _cut(section.text, SECTION_TOKENS, reference)
        lines.append((tier, f"- {mark}{section.title}: {text}"))
        shown.add((hit.kind, hit.id))
    return _blocks("knowledge", "What you know:", lines)


def _memories(
    runtime: Runtime, search: Search, session: Session, book: Knowledge, shown: set[tuple[str, str]]
) -> list[Block]:
    limit = runtime.config.memory.max_recall_results
    hits = _unasked(runtime, search, book, session.messages[-1].text, kinds.UNASKED, limit)
    shown |= {(hit.kind, hit.id) for hit in hits}
    lines = [(hit.trust, f"- {line(hit, MEMORY_TOKENS)}") for hit in hits]
    return _blocks("memories", "What comes to mind:", lines)


def _asker(session: Session) -> str:
    """Return who speaks to the entity now, as the index names speakers."""
    return chunks.spoken_name(session.messages[-1].speaker or session.by)


def _just_before(
    runtime: Runtime, search: Search, session: Session, book: Knowledge, shown: set[tuple[str, str]]
) -> list[Block]:
    """Say what the last few messages together bring to mind, if the newest alone brings little.

    "And how old is he?" says nothing by itself.
    """
    texts = [message.text for message in session.messages if message.role == "user"]
    texts = texts[-LAST_MESSAGES:]
    room = JUST_BEFORE - len(shown)
    if room <= 0 or len(texts) < 2:
        return []
    query = "\n".join(texts)
    hits = _unasked(runtime, search, book, query, COME_TO_MIND, JUST_BEFORE)
    new = [hit for hit in hits if (hit.kind, hit.id) not in shown]
    lines = [(hit.trust, f"- {line(hit, JUST_BEFORE_TOKENS)}") for hit in new[:room]]
    return _blocks("just before", "And of what was said just before:", lines)


def _projects(entity: Entity, session: Session) -> list[Block]:
    """Say how the projects stand that the message is about, and no others."""
    lines = [
        (project.provenance.trust, f"- {_line(project.text, PROJECT_TOKENS)}")
        for project in named_projects(entity, session)
    ]
    return _blocks("projects", "What is being worked on:", lines)


def named_projects(entity: Entity, session: Session) -> list[Project]:
    """Return the projects that the last message is about, as far as all here may meet them."""
    message = session.messages[-1].text
    about = [
        project
        for project in projects.readable(entity.projects)
        if project.status != projects.DONE
        and base.may_read(project.provenance.audience, session.people)
        and any(words.names(label, message) for label in (project.title, *project.tags))
    ]
    return about[:MOST_PROJECTS]


def _skills(entity: Entity, session: Session) -> list[Block]:
    recent = " ".join(message.text for message in session.messages[-1 - CONTEXT_TURNS :])
    readable = [
        skill
        for skill in rules.obeyed(entity, skills.read(entity.skills), rules.of_skill)
        if base.may_read(skill.provenance.audience, session.people)
    ]
    hits = skills.query(readable, recent, limit=MOST_SKILLS)
    lines = [
        (
            hit.skill.provenance.trust,
            f"- {hit.skill.name}: {skills.excerpt(hit.skill.text, SKILL_CHARS)}",
        )
        for hit in hits
    ]
    return _blocks("skills", "[Procedural memory that may help right now]", lines)


def _blocks(name: str, heading: str, lines: Sequence[tuple[str, str]]) -> list[Block]:
    """Make the blocks of some lines, each with its tier: what is remembered, then quotations."""
    own = [text for tier, text in lines if not provenance.is_untrusted(tier)]
    parts = []
    if own:
        inside = prompts.tagged("memory", "\n".join(own))
        parts.append(Block(name, f"{heading}\n{inside}"))
    for tier, origin in QUOTED_FROM.items():
        quoted = [text for line_tier, text in lines if line_tier == tier]
        if quoted:
            inside = prompts.tagged("memory", "\n".join(quoted), f' trust="{tier}"')
            text = f"Not your own memory, but quoted from {origin}:\n{inside}"
            parts.append(Block(f"{name}, {tier}", text, tier))
    return parts


class Search(Struct, frozen=True):
    """The conversation that a search is for: who meets what it finds, in which mood, and when."""

    readers: Sequence[str]  # ids of all who take part: what others said in private is left out
    mood: str
    at: datetime
    outside: str = ""  # a session that is in the prompt anyway
    unseen: Sequence[str] = ()  # ids of its messages that are not
    people: Sequence[str] = ()  # ids; what is about, or with, at least one of them; empty: all
    tags: Sequence[str] = ()  # what has all of these; empty: everything
    sessions: Sequence[str] = ()  # the messages of these sessions alone
    after: datetime | None = None  # only what is from then or newer
    before: datetime | None = None  # only what is older, or has no time
    asker: str = ""  # who asks, as shown; empty: whoever is not the entity
    asking: RerankTurn | None = (
        None  # what asks, where it is said already: it is no answer to itself
    )


def last_turn(session: Session) -> RerankTurn | None:
    """Return the turn of the last message of a person, which asks what is searched for."""
    roles = [message.role for message in chunks.turns(session)]
    if "user" not in roles:
        return None
    return RerankTurn(sessions.path(session.id), len(roles) - 1 - roles[::-1].index("user"))


def find(
    memory: Memory,
    config: Config,
    search: Search,
    query: str,
    *,
    kinds: Sequence[str] = (),
    limit: int,
    unasked: bool = True,
    faded: bool | None = None,
    newer: bool = True,
    touching: bool = False,
) -> list[Hit]:
    """Find what a query brings to mind, best first.

    What has faded comes to mind when it is asked for and nothing else answers.

    Args:
        memory: What is searched.
        config: Thresholds, and how beliefs fade.
        search: Who meets it, in which mood.
        query: What was said, or asked.
        kinds: Kinds of record; empty: all but what answers nothing.
        limit: At most this many.
        unasked: Whether only what comes to mind by itself counts, before the best are taken.
        faded: Whether what has faded counts too; None: where nothing else answers.
        newer: Whether the newest word on each stands before it.
        touching: Whether what has nothing to do with the query, and beliefs that gave way, are
            left out before the best are taken.
    """
    asked = len(set(stop_words.telling_words(query)))
    gave_way = cache(lambda: _superseded(memory.entity, search.at))

    def fits(hit: Hit) -> bool:
        if unasked and not comes_to_mind(hit, config):
            return False
        if not touching:
            return True
        return touches(hit, config, asked) and not (hit.kind == "belief" and hit.id in gave_way())

    def look(*, with_faded: bool) -> list[Hit]:
        found = memory.search(
            query,
            kinds=kinds or RECALLED,
            limit=limit,
            audience=search.readers,
            people=search.people,
            tags=search.tags,
            sessions=search.sessions,
            outside=search.outside,
            unseen=search.unseen,
            asker=search.asker,
            asking=search.asking,
            factor=emotion_weight.factor(memory.entity, config.memory, search.mood, search.at),
            faded=with_faded,
            after=search.after,
            before=search.before,
            fits=fits if touching or unasked else None,
        )
        return _without_waiting(memory.entity, found)

    hits = look(with_faded=bool(faded))
    wants_faded = faded is None and not unasked and not _answers(hits, config)
    if wants_faded and memory.has_faded():
        hits = _with_faded(memory.entity, config, hits, look(with_faded=True))[:limit]
    if not newer:
        return _believed(memory.entity, hits, search.at)
    return standing(memory.entity, config, search, hits)


def standing(entity: Entity, config: Config, search: Search, hits: Sequence[Hit]) -> list[Hit]:
    """Return hits as they stand now: without what gave way, with what was put right since."""
    believed = _believed(entity, hits, search.at)
    return newer_words.beside(entity, believed, search.readers, search.at.tzinfo)


def scan(
    memory: Memory,
    config: Config,
    search: Search,
    fits: Callable[[Hit], bool],
    *,
    kinds: Sequence[str] = (),
    limit: int,
) -> list[Hit]:
    """Find the first passages that fit, oldest first, faded ones too: nothing ranks them."""
    only = Filter(
        kinds=tuple(kinds),
        people=tuple(search.people),
        tags=tuple(search.tags),
        audience=tuple(search.readers),
        sessions=tuple(search.sessions),
        not_session=search.outside,
        unseen=tuple(search.unseen),
        after=search.after,
        before=search.before,
        dormant=True,
    )
    return _believed(memory.entity, memory.scan(only, fits, limit), search.at)


def _answers(hits: Sequence[Hit], config: Config) -> bool:
    """Whether some of what was found is near; without vectors, anything answers."""
    return any(is_near(hit, config) for hit in hits)


def _with_faded(
    entity: Entity, config: Config, hits: Sequence[Hit], among_faded: Sequence[Hit]
) -> list[Hit]:
    """Put what has faded and does answer before what is awake and does not.

    What a person has put to sleep stays asleep.
    """
    answers = [
        hit
        for hit in among_faded
        if hit.faded and is_near(hit, config) and not _put_to_sleep(entity, hit)
    ]
    return [*answers, *hits]


def _put_to_sleep(entity: Entity, hit: Hit) -> bool:
    try:
        return hit.kind == "episode" and not episodes.find(entity.episodes, hit.id).faded
    except UserError:  # gone or broken since it was indexed
        return True


def comes_to_mind(hit: Hit, config: Config) -> bool:
    """Whether a hit enters a prompt that nobody asked for it in."""
    return hit.kind in COME_TO_MIND and not hit.faded and is_near(hit, config)


def is_near(hit: Hit, config: Config) -> bool:
    """Whether a hit is near enough to come to mind by itself; without vectors, words must do."""
    nearness = hit.parts.nearness
    return nearness is None or nearness >= threshold(hit, config)


def touches(hit: Hit, config: Config, asked: int) -> bool:
    """Whether a hit has anything to do with what was asked: by meaning, or by its own words.

    Args:
        hit: What was found.
        config: The threshold of what comes to mind by itself.
        asked: How many telling words the question has.
    """
    nearness = hit.parts.nearness
    if nearness is None or nearness >= TOUCHING * threshold(hit, config):
        return True
    text = stop_words.folded(hit.text)
    own = sum(stop_words.folded(term) in text for term in hit.parts.matched)
    return own > 0 and own >= WORDS_SHARE * asked


def threshold(hit: Hit, config: Config) -> float:
    """Return the nearness from which a hit comes to mind by itself."""
    if hit.kind == "knowledge":
        return KNOWLEDGE_THRESHOLD
    return config.recall.preamble_threshold


def _superseded(entity: Entity, at: datetime) -> frozenset[str]:
    """Return the ids of the beliefs that gave way to others."""
    by_id = {belief.id: belief for belief in store.readable(entity.beliefs)}
    return frozenset(
        name for name, belief in by_id.items() if belief_strength.superseded(belief, by_id, at)
    )


def _believed(entity: Entity, hits: Sequence[Hit], at: datetime) -> list[Hit]:
    """Leave out beliefs that gave way to others, and say of which the entity is unsure."""
    if not any(hit.kind == "belief" for hit in hits):
        return list(hits)
    by_id = {belief.id: belief for belief in store.readable(entity.beliefs)}
    standing: list[Hit] = []
    for hit in hits:
        belief = by_id.get(hit.id) if hit.kind == "belief" else None
        if belief is None:
            standing.append(hit)
        elif not belief_strength.superseded(belief, by_id, at):
            unsure = belief_strength.strength(belief, at) < belief_strength.UNSURE_BELOW
            standing.append(replace(hit, text=f"{hit.text} (unsure)") if unsure else hit)
    return standing


def _without_waiting(entity: Entity, hits: Sequence[Hit]) -> list[Hit]:
    """Leave out locked sections that came from elsewhere, until their owner approves them."""
    if not any(hit.kind == "knowledge" for hit in hits):
        return list(hits)
    book = system.readable_book(entity)
    own = rules.own_book(entity, book).sections
    waiting = {section.title for section in book.sections if section not in own}
    return [hit for hit in hits if hit.kind != "knowledge" or hit.id not in waiting]


def _unasked(
    runtime: Runtime, search: Search, book: Knowledge, query: str, kinds: Sequence[str], limit: int
) -> list[Hit]:
    """Find what comes to mind by itself and the prompt does not hold anyway."""
    hits = find(runtime.memory, runtime.config, search, query, kinds=kinds, limit=limit)
    return _beside_prompt(book, hits)


def _beside_prompt(book: Knowledge, hits: Sequence[Hit]) -> list[Hit]:
    """Leave out the sections that stand in every prompt."""
    always = {("knowledge", section.title) for section in book.sections if system.always(section)}
    return [hit for hit in hits if (hit.kind, hit.id) not in always]


def line(hit: Hit, limit_tokens: int) -> str:
    """Word a memory: when, and what was said, by whom, or happened; what puts it right first."""
    when = f"({hit.at:%Y-%m-%d}) " if hit.at else ""
    who = f"{hit.speaker}: " if hit.speaker else _hearsay(hit.trust)
    reference = whole_record.reference(hit.kind, hit.id)
    begins, ends = hit.ordinal == 0, not hit.goes_on
    text = _cut(content(hit), limit_tokens, reference, begins=begins, ends=ends)
    newer = f"{quotes.plain(hit.newer)} " if hit.newer else ""
    return f"{newer}{when}{who}{FADED if hit.faded else ''}{text}"


def content(hit: Hit) -> str:
    """Return what a memory says; of an episode, what happened rather than why it mattered."""
    if hit.kind != "episode":
        return hit.text
    parts = episodes.telling(hit.text)
    return parts.narrative or parts.reflection


def _hearsay(tier: str) -> str:
    """Mark what somebody other than the owner has said; a message names its speaker anyway."""
    return "[hearsay] " if tier == "person" else ""


def _cut(
    text: str, limit_tokens: int, reference: str, *, begins: bool = True, ends: bool = True
) -> str:
    """Return a text on one line; where it is not all, with what the rest can be asked for by.

    Args:
        text: A record, or a passage of it.
        limit_tokens: What it may take.
        reference: Of the record.
        begins: Whether the record begins with it.
        ends: Whether the record ends with it.
    """
    head = _line(text, limit_tokens)
    is_cut = head != quotes.plain(text)
    if begins and ends and not is_cut:
        return head
    before, after = "" if begins else "… ", "" if ends or is_cut else " …"
    return f"{before}{head}{after} [ref {reference}]"


def _line(text: str, limit_tokens: int) -> str:
    return tokens.cut(quotes.plain(text), limit_tokens)


class RecalledAnswer(Struct, frozen=True):
    """What memory answers to the entity's own question."""

    text: str
    is_memory: bool = False  # whether anything came to mind
    trust: str = ""  # the lowest tier among the memories, if it is a quoted one


def answer(
    runtime: Runtime, query: str, session: Session, unseen: Sequence[str] = ()
) -> RecalledAnswer:
    """Answer the entity's own question to its memory; see `blocks` for what is unseen."""
    search = question_of(runtime, session, unseen)
    hits = find(
        runtime.memory,
        runtime.config,
        search,
        query,
        limit=RESULTS,
        unasked=False,
        touching=True,
    )
    return worded(runtime, hits)


def question_of(runtime: Runtime, session: Session, unseen: Sequence[str]) -> Search:
    """Return the search that the entity makes itself in a conversation."""
    at = runtime.now()
    mood = body_state.mood(runtime, body_state.read(runtime, at)).name
    return Search(session.people, mood, at, session.id, unseen, asking=last_turn(session))


def worded(runtime: Runtime, hits: Sequence[Hit]) -> RecalledAnswer:
    """Word what came to mind for the entity that asked for it."""
    hits = _beside_prompt(_book(runtime), hits)
    if not hits:
        return RecalledAnswer(UNSEARCHED if runtime.memory.unusable else NOTHING)
    lines = []
    for hit in hits:
        kind = hit.kind
        if provenance.is_untrusted(hit.trust):
            kind = f"not a memory, quoted from {QUOTED_FROM[hit.trust]}"
        lines.append(f"- [{kind}] {line(hit, RESULT_TOKENS)}")
    trust = provenance.lowest_untrusted(hit.trust for hit in hits)
    return RecalledAnswer("\n".join(lines), is_memory=True, trust=trust)


def whole(runtime: Runtime, reference: str, session: Session) -> RecalledAnswer:
    """Return the whole of what this conversation or a memory in it was shown cut or cleared.

    Raises:
        RecordMissingError: If nothing that all who take part may meet has such a reference.
    """
    try:
        return RecalledAnswer(expand.original(runtime.entity, reference, session))
    except RecordMissingError as problem:
        try:
            view = whole_record.find(runtime.entity, runtime.zone, reference, session.people)
        except RecordMissingError:
            raise problem from None
    return RecalledAnswer(view.text, trust=provenance.lowest_untrusted((view.origin.trust,)))
