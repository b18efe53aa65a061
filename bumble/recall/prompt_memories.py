"""What is recalled for a message without a model: which hits go in the prompt, worded how.

Chooses and words memories for a prompt; ranking them is the index's. `find` is the one search: what
a message brings to mind, what the tool `recall` answers and what `bumble recall` shows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from itertools import takewhile, zip_longest

from bumble.entity import secrets
from bumble.entity.folder import Entity
from bumble.errors import RecordMissingError
from bumble.fallback import quotes
from bumble.index.search import Hit
from bumble.llm import prompts
from bumble.llm.protocol import Block
from bumble.recall import memory_search, whole_record
from bumble.records import (
    base,
    episodes,
    kinds,
    knowledge,
    projects,
    provenance,
    session_files,
    sessions,
    skills,
)
from bumble.records.relationships import Relationship
from bumble.runtime import people, rules
from bumble.runtime.runtime import Result, Runtime
from bumble.text import stop_words, tokens, words

LAST_MESSAGES = 3  # that together bring to mind what the newest alone does not
JUST_BEFORE, JUST_BEFORE_TOKENS = 5, 75  # memories they may bring, and how much of each
MOST_SKILLS, SKILL_CHARS = 3, 900  # recalled for one message, and how much of each
SKILLS_LOOKED_AT = 9  # passages, of which several may be of one
MEMORY_TOKENS = 80  # of one memory in the preamble
RESULTS = 6  # of a search that was asked for, and whatever else answers it
RESULT_TOKENS = 250  # of one memory that was asked for
SECTION_TOKENS = 250
MOST_QUESTIONS = 3  # of a message, each of which is looked up by itself
MOST_PROJECTS, PROJECT_TOKENS = 2, 150  # of a message, and of each
RETOLD = ("episode", "belief")  # kinds of what the entity tells in its own words
QUOTED_FROM = {"tool": "what a tool gave", "imported": "a text that was imported or passed on"}
NOTHING = "Nothing comes to mind."
UNSEARCHED = "Memory can't be searched now; what it holds is not known."
FADED = "[faded] "  # before a memory that only came because it was looked for
MOST_SPOKEN_OF, SPOKEN_OF_TOKENS = 3, 120  # of those a message names, and of each
COMPANY_TOKENS = 60  # of each who is there
SHARED, SHARED_LOOKED_AT = ("knowledge", "belief", "episode"), 4  # that may tell all of one


def blocks(
    runtime: Runtime,
    session: sessions.Session,
    person: str,
    mood: str,
    at: datetime,
    unseen: Sequence[str] = (),
    told: str = "",
) -> list[Block]:
    """Return what comes to mind in a mood, most useful first.

    What anybody who takes part may not meet is left out. What was only read (of trust `tool` or
    `imported`) stands in tags of its own. `unseen` are the messages of the conversation itself that
    its view does not hold; what stands in `told`, which the prompt has anyway, comes to mind no
    more.
    """
    search = memory_search.Search(
        session.people,
        mood,
        at,
        session.id,
        unseen,
        asker=session.messages[-1].speaker or session.by,
        asking=memory_search.last_turn(session),
    )
    book = _book(runtime)
    shown: set[tuple[str, str]] = set()
    return [
        *_relationships(runtime, session, person, at),
        *_knowledge(runtime, search, session, book, shown),
        *_spoken_of(runtime, session),
        *_memories(runtime, search, session, book, shown, told),
        *_projects(runtime.entity, session),
        *_skills(runtime, search, session),
        *_just_before(runtime, search, session, book, shown),
        *_else_known(runtime, session, book, shown),
    ]


def _relationships(
    runtime: Runtime, session: sessions.Session, person: str, at: datetime
) -> list[Block]:
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
    told = base.told_at(record.provenance)  # what stands elsewhere may be newer
    day = f", as of {told.astimezone(runtime.zone):%Y-%m-%d}" if told and record.text else ""
    heading = f"What you know of {prompts.harmless(record.name)}{day}:"
    text = tokens.cut("\n".join(lines), budget) if budget else ""
    return _blocks("relationship", heading, [(record.provenance.trust, text)] if text else [])


def _scalar(runtime: Runtime, person: Relationship, at: datetime) -> list[str]:
    """Say in numbers how the two stand, where no portrait is kept that says it in words."""
    scores = person.scores
    if runtime.config.memory.relational.enabled or not person.source.meta.get("scores"):
        return []
    stage = people.standing(person, at).stage
    numbers = f"familiarity {scores.familiarity:.0%}, warmth {scores.warmth:.0%}"
    return [f"- how you stand: {stage}, {numbers}, trust {scores.trust:.0%}"]


def _company(runtime: Runtime, session: sessions.Session, at: datetime) -> list[Block]:
    """Say a line of each who is there: of a portrait only what all of them may hear."""
    most = runtime.config.memory.relational.max_context_tokens
    line_tokens = min(COMPANY_TOKENS, most // len(session.people))
    lines, told = [], set[str]()
    for person_id in session.people:
        person = people.readable_person(runtime, person_id)
        if person is None:
            lines.append(("", f"- {person_id}: you have just met"))
            continue
        standing = people.standing(person, at)
        about = _shared(runtime, person, session.people)
        told, about = {*told, about}, f": {about}" if about and about not in told else ""
        turns = words.counted(person.interaction_count, "turn")
        text = f"- {person.name} ({standing.stage}, {turns} so far){about}"
        lines.append((person.provenance.trust, tokens.cut(text, max(1, line_tokens - 1))))
    return _blocks("relationship", "Who is here:", lines)


def _shared(runtime: Runtime, person: Relationship, readers: Sequence[str]) -> str:
    """Say what all of some people may know of one: the page, else what names them."""
    if page := _page(person, readers):
        return page
    hits = runtime.memory.search(
        person.name, kinds=SHARED, limit=SHARED_LOOKED_AT, audience=readers
    )
    name_words = set(stop_words.words(person.name))
    gave_way = memory_search.superseded(runtime.entity, runtime.now())
    return "; ".join(
        words.one_line(content(hit))
        for hit in hits
        if hit.id not in gave_way
        and not provenance.is_untrusted(hit.trust)
        and name_words <= set(stop_words.words(hit.text))
    )


def _page(person: Relationship, readers: Sequence[str]) -> str:
    """Say what all of some people may know of one: the portrait, and what they were told."""
    told = [person.text if base.may_read(person.audience, readers) else person.for_all]
    for note in reversed(person.pending):
        tier, audience = note.provenance.trust, note.provenance.audience
        if base.may_read(audience, readers) and not provenance.is_untrusted(tier):
            told.append(f"{_hearsay(tier, audience, readers)}{note.text}")
    return secrets.redacted(" ".join(filter(None, map(quotes.plain, told))))


def _spoken_of(runtime: Runtime, session: sessions.Session) -> list[Block]:
    """Say what all here may know of those who are named and aren't there: their pages alone do."""
    readers, lines = session.people, list[tuple[str, str]]()
    for person in people.named(runtime, session.messages[-1].text, readers)[:MOST_SPOKEN_OF]:
        if text := _page(person, readers):
            text = _cut(text, SPOKEN_OF_TOKENS, whole_record.reference("person", person.id))
            lines.append((person.provenance.trust, f"- {person.name}: {text}"))
    return _blocks("spoken of", "Whom that is about:", lines)


def _book(runtime: Runtime) -> knowledge.Knowledge:
    path = runtime.entity.knowledge
    return runtime.read_or(lambda: knowledge.read(path), None) or knowledge.readable(path)


def _knowledge(
    runtime: Runtime,
    search: memory_search.Search,
    session: sessions.Session,
    book: knowledge.Knowledge,
    shown: set[tuple[str, str]],
) -> list[Block]:
    text, most = session.messages[-1].text, knowledge.RECALLED_SECTIONS
    hits = _unasked(runtime, search, book, text, ("knowledge",), most)
    # a long message is near to nothing that it names
    said = words.unaddressed(text, runtime.identity.name)
    named = knowledge.named(book, said, session.people, people.names_of(runtime, session.people))
    near = [hit.id for hit in hits]
    titles = dict.fromkeys((*near[: most - 1], *(one.title for one in named[:1]), *near))
    return _sections(runtime, "What you know:", session, book, tuple(titles)[:most], shown)


def _else_known(
    runtime: Runtime,
    session: sessions.Session,
    book: knowledge.Knowledge,
    shown: set[tuple[str, str]],
) -> list[Block]:
    """Say the rest of what is known where it is little; what comes to mind goes before it."""
    whole = knowledge.newest(book, session.people, runtime.times_recalled)
    titles = (one.title for one in whole if ("knowledge", one.title) not in shown)
    return _sections(runtime, "What else you know:", session, book, titles, shown)


def _sections(
    runtime: Runtime,
    heading: str,
    session: sessions.Session,
    book: knowledge.Knowledge,
    titles: Iterable[str],
    shown: set[tuple[str, str]],
) -> list[Block]:
    lines = []
    for title in titles:
        section = knowledge.find(book, title)
        if section is None:
            continue
        tier, origin = section.provenance.trust, section.provenance
        mark = _hearsay(tier, origin.audience, session.people)
        reference = whole_record.reference("knowledge", section.title)
        text = _cut(section.text, SECTION_TOKENS, reference)
        told = base.told_at(origin)  # of two that differ, the newer holds
        when = f"({told.astimezone(runtime.zone):%Y-%m-%d}) " if told else ""
        if not all(origin.of_sentence(one).by for one in words.sentences(section.text)):
            when = ""  # a hand was at it since, who knows when
        lines.append((tier, f"- {when}{mark}{section.title}: {text}"))
        shown.add(("knowledge", title))
    return _blocks("knowledge", heading, lines)


def _memories(
    runtime: Runtime,
    search: memory_search.Search,
    session: sessions.Session,
    book: knowledge.Knowledge,
    shown: set[tuple[str, str]],
    told: str,
) -> list[Block]:
    limit, there = runtime.config.memory.max_recall_results, f" {stop_words.bare(told)} "
    hits = _unasked(runtime, search, book, session.messages[-1].text, kinds.UNASKED, limit)
    hits = [hit for hit in hits if hit.newer or f" {stop_words.bare(hit.text)} " not in there]
    hits = _told_once(runtime, hits, set())
    shown |= {(hit.kind, hit.id) for hit in hits}
    lines = [(hit.trust, f"- {line(runtime, hit, MEMORY_TOKENS, session.people)}") for hit in hits]
    return _blocks("memories", "What comes to mind:", lines)


def _told_once(runtime: Runtime, hits: Sequence[Hit], shown: Collection[str]) -> list[Hit]:
    """Leave out what tells of a message that is there itself: an episode, an answer."""
    there = {*shown, *(hit.id for hit in hits)}
    return [hit for hit in hits if there.isdisjoint(_told(runtime, hit))]


def _told(runtime: Runtime, hit: Hit) -> tuple[str, ...]:
    """Return the ids of the messages that a memory only tells of, or answers."""
    if hit.kind == "episode":
        return memory_search.sources(runtime.entity, hit)
    if hit.speaker != runtime.identity.name:
        return ()
    file = runtime.entity.sessions / hit.session / sessions.FILE
    nothing: tuple[sessions.Message, ...] = ()
    talk = runtime.read_or(lambda: session_files.load(file).messages, nothing)
    before = takewhile(lambda message: message.id != hit.id, talk)
    return tuple(message.id for message in before if message.role == "user")[-1:]


def _just_before(
    runtime: Runtime,
    search: memory_search.Search,
    session: sessions.Session,
    book: knowledge.Knowledge,
    shown: set[tuple[str, str]],
) -> list[Block]:
    """Say what the last few messages together bring to mind, if the newest alone brings little.

    "And how old is he?" says nothing by itself.
    """
    query, room = _latest(session), JUST_BEFORE - len(shown)
    if room <= 0 or query == session.messages[-1].text:
        return []
    hits = _unasked(runtime, search, book, query, memory_search.COME_TO_MIND, JUST_BEFORE)
    hits = _told_once(runtime, hits, {name for _, name in shown})
    new = [hit for hit in hits if (hit.kind, hit.id) not in shown]
    most, readers = JUST_BEFORE_TOKENS, session.people
    shown |= {(hit.kind, hit.id) for hit in new[:room]}
    lines = [(hit.trust, f"- {line(runtime, hit, most, readers)}") for hit in new[:room]]
    return _blocks("just before", "What the talk so far brings to mind:", lines)


def _latest(session: sessions.Session) -> str:
    """Return the last few messages of people, together."""
    texts = [message.text for message in session.messages if message.role == "user"]
    return "\n".join(texts[-LAST_MESSAGES:])


def _projects(entity: Entity, session: sessions.Session) -> list[Block]:
    """Say how the projects stand that the last message is about, as far as all here may know."""
    message = session.messages[-1].text
    lines = [
        (project.provenance.trust, f"- {_line(project.text, PROJECT_TOKENS)}")
        for project in projects.PROJECT.readable(entity.projects)
        if project.status != projects.DONE
        and base.may_read(project.provenance.audience, session.people)
        and any(words.names(label, message) for label in (project.title, *project.tags))
    ]
    return _blocks("projects", "What is being worked on:", lines[:MOST_PROJECTS])


def _skills(
    runtime: Runtime, search: memory_search.Search, session: sessions.Session
) -> list[Block]:
    """Say how to do what the last message is about, or the last few together."""
    entity, last = runtime.entity, session.messages[-1].text
    obeyed = rules.obeyed(entity, skills.SKILL.readable(entity.skills), rules.of_skill)
    there = {
        one.id: one for one in obeyed if base.may_read(one.provenance.audience, session.people)
    }
    near = dict.fromkeys(
        hit.id
        for query in (dict.fromkeys((last, _latest(session))) if there else ())
        for hit in memory_search.find(
            *(runtime.memory, runtime.config, search, query),
            kinds=("skill",),
            limit=SKILLS_LOOKED_AT,
            unasked=False,
        )
        if hit.id in there and memory_search.is_near(hit, runtime.config)
    )
    found = [there[name] for name in near][:MOST_SKILLS]
    lines = [
        (one.provenance.trust, f"- {one.name}: {tokens.cut_chars(one.text, SKILL_CHARS)}")
        for one in found
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
            text = f"Quoted from {origin}, or what you made of that:\n{inside}"
            parts.append(Block(f"{name}, {tier}", text, tier))
    return parts


def _unasked(
    runtime: Runtime,
    search: memory_search.Search,
    book: knowledge.Knowledge,
    query: str,
    kinds: Sequence[str],
    limit: int,
) -> list[Hit]:
    """Find what comes to mind by itself and the prompt does not hold anyway.

    Of several questions each brings something. What was only asked tells nothing: it comes last.
    """
    asked = words.unaddressed(query, runtime.identity.name)
    parts = list(filter(_is_question, words.sentences(asked)))[:MOST_QUESTIONS]
    several = parts if len(parts) > 1 else []
    found = [
        memory_search.find(
            *(runtime.memory, runtime.config, search, one),
            kinds=kinds,
            limit=2 * limit,
            newer=False,
        )
        for one in (asked, *several)
    ]
    taken = {  # in turn, each once
        (hit.kind, hit.id): hit for hits in zip_longest(*found) for hit in hits if hit is not None
    }
    hits = _beside_prompt(book, sorted(taken.values(), key=_only_asks))
    zone = search.at.tzinfo
    return memory_search.beside(runtime.entity, hits[:limit], search.readers, zone, once=True)


def _is_question(sentence: str) -> bool:
    return sentence.endswith(words.QUESTION_MARKS)


def _only_asks(hit: Hit) -> bool:
    """Whether a message is made of questions alone."""
    return hit.kind == "message" and all(map(_is_question, words.sentences(hit.text)))


def _beside_prompt(book: knowledge.Knowledge, hits: Sequence[Hit]) -> list[Hit]:
    """Leave out the sections that stand in every prompt."""
    always = {
        ("knowledge", section.title) for section in book.sections if knowledge.always(section)
    }
    return [hit for hit in hits if (hit.kind, hit.id) not in always]


def line(runtime: Runtime, hit: Hit, limit_tokens: int, readers: Sequence[str]) -> str:
    """Word a memory: when, and what was said, by whom, or happened; what puts it right first.

    What is known has its title, by which the entity can correct it; what was said elsewhere, where.
    """
    when = f"({hit.at:%Y-%m-%d}) " if hit.at else ""
    elsewhere = session_files.from_elsewhere(runtime.entity.root / hit.path) if hit.speaker else ""
    name = people.spelt(runtime, hit.speaker)
    told = f"{name}, {elsewhere}" if elsewhere else name
    who = f"{told}: " if told else _hearsay(hit.trust, hit.audience, readers)
    who += f"{hit.id}: " if hit.kind == knowledge.KNOWLEDGE.passages else ""
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


def _hearsay(tier: str, audience: Collection[str], readers: Collection[str]) -> str:
    """Mark what somebody other than the owner has said, unless they alone are here.

    A message names its speaker anyway.
    """
    is_theirs = len({*readers}) == 1 and {*readers} <= {*audience}  # whoever heard it, or said it
    return "[hearsay] " if tier == "person" and not is_theirs else ""


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


def answer(
    runtime: Runtime, query: str, session: sessions.Session, unseen: Sequence[str] = ()
) -> Result:
    """Answer the entity's own question to its memory; see `blocks` for what is unseen."""
    search = question_of(runtime, session, unseen)
    found = memory_search.answers(runtime.memory, runtime.config, search, query)
    # Of what answers equally well a fixed number would leave out some by chance.
    hits = [hit for rank, hit in enumerate(found.hits) if rank < RESULTS or hit in found.answers]
    return worded(runtime, hits, session.people)


def question_of(
    runtime: Runtime, session: sessions.Session, unseen: Sequence[str]
) -> memory_search.Search:
    """Return the search that the entity makes itself in a conversation."""
    return memory_search.search_of(
        runtime,
        session.people,
        outside=session.id,
        unseen=unseen,
        asking=memory_search.last_turn(session),
    )


def worded(runtime: Runtime, hits: Sequence[Hit], readers: Sequence[str]) -> Result:
    """Word what came to mind for the entity that asked for it, in a talk with some people."""
    hits = _beside_prompt(_book(runtime), hits)
    if not hits:
        return Result(UNSEARCHED if runtime.memory.unusable else NOTHING)
    lines = []
    for hit in hits:
        kind = hit.kind
        if provenance.is_untrusted(hit.trust):
            is_own = kind in RETOLD or hit.speaker == runtime.identity.name  # what it made of that
            kind = f"{kind}, of" if is_own else "not a memory, quoted from"
            kind += f" {QUOTED_FROM[hit.trust]}"
        lines.append(f"- [{kind}] {line(runtime, hit, RESULT_TOKENS, readers)}")
    trust = provenance.lowest_untrusted(hit.trust for hit in hits)
    return Result("\n".join(lines), found=True, trust=trust)


def whole(runtime: Runtime, reference: str, session: sessions.Session) -> Result:
    """Return the whole of what this conversation or a memory in it was shown cut or cleared.

    Raises:
        RecordMissingError: If nothing that all who take part may meet has such a reference.
    """
    try:
        text = whole_record.original(runtime.entity, reference, session)
    except RecordMissingError as problem:
        try:
            view = whole_record.find(runtime.entity, runtime.zone, reference, session.people)
        except RecordMissingError:
            raise problem from None
        return Result(view.text, trust=provenance.lowest_untrusted((view.origin.trust, "tool")))
    # said here, and by whoever speaks now; else it may be what somebody or a tool gave
    heard = ("", next((one.speaker for one in reversed(session.messages) if one.speaker), ""))
    own = [one.trust for one in session.messages if one.text == text and one.speaker in heard]
    passed = ("imported",) if words.passes_on(text) else ()
    return Result(text, trust=provenance.lowest_untrusted((*own, *passed) if own else ("tool",)))
