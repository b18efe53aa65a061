"""Where the parts of an answer go: body, episode, knowledge, beliefs, portraits, journal.

Each part is kept by itself, by the functions that keep it wherever it comes from, and planned on
the files as they are. One file gets one change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from datetime import datetime
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from bumble.body import appraisal
from bumble.body.config import EMOTIONS
from bumble.entity import changes
from bumble.errors import UserError
from bumble.fallback import sayings
from bumble.guard import verifier
from bumble.jobs import ask, episode, portrait
from bumble.jobs.scene import Scene
from bumble.jobs.segments import StretchJob
from bumble.recall import belief_strength
from bumble.records import base, episodes, journal, knowledge, relationships
from bumble.records import beliefs as held
from bumble.records.provenance import BY_FORM
from bumble.records.sessions import Message
from bumble.runtime import people
from bumble.runtime.job import JobPlan
from bumble.runtime.runtime import Runtime
from bumble.text import stop_words, words

Kind = Literal["knowledge", "relational", "belief"]

BY = "distill"
INFERENCE = "inference"
TAG = "distillation"
SAME_SHARE = 0.5  # of the telling words of the shorter sentence: both speak of one thing


class ExtractedItem(Struct, frozen=True):
    """One fact, belief or note that a model found in a stretch."""

    kind: Kind
    text: str
    cited: tuple[int, ...]  # numbers of messages
    title: str = ""  # of knowledge
    category: str = ""  # of a belief
    confidence: float = 0.0  # of a belief
    person: str = ""  # whom a note is about, by name
    inference: bool = False  # whether it says more than the messages do
    replaces: tuple[str, ...] = ()  # sentences of knowledge that are no longer true
    verdicts: Mapping[str, belief_strength.Verdict] = {}  # of a belief: on those held, by id
    quoted: bool = False  # whether it is words that were said, and no model's
    puts_right: str = ""  # id of the message that a quoted correction takes the place of


def claim(
    runtime: Runtime, shown: Scene, item: ExtractedItem, at: datetime
) -> belief_strength.Claim:
    return belief_strength.Claim(
        id=base.new_id(held.PREFIX, at, runtime.rng),
        text=item.text,
        category=item.category,
        confidence=item.confidence,
        evidence=shown.ids(item.cited),
        # how the entity came by it: told of it, or as one who looks on
        origin=INFERENCE
        if item.inference
        else "conversation"
        if shown.session.imported is None
        else "observation",
        provenance=_provenance(runtime, shown, item.cited, item),
        # a correction is the person's own word on it; else it is a model's reading of what was said
        by="user" if item.category == belief_strength.CORRECTION else "extracted",
        verdicts=item.verdicts,
    )


def _provenance(
    runtime: Runtime, shown: Scene, cited: Sequence[int], item: ExtractedItem | None = None
) -> base.Provenance:
    is_quoted = item is not None and item.quoted
    older = (item.puts_right,) if item is not None and item.puts_right else ()
    return base.Provenance(
        by=f"{BY} {BY_FORM}" if is_quoted else BY,
        model="" if is_quoted else runtime.model.name,
        sources=(shown.session.id, *shown.ids(cited), *older),
        trust=shown.trust(cited),
        audience=shown.session.people,
    )


def plan_items(
    runtime: Runtime,
    shown: Scene,
    items: Sequence[ExtractedItem],
    claims: Sequence[belief_strength.Claim],
    diary: str,
    at: datetime,
) -> JobPlan:
    """Plan to store what a stretch left, with the reasons for what may not be stored."""
    facts = [item for item in items if item.kind == "knowledge"]
    section, refused = _plan_facts(runtime, shown, facts) if facts else (None, ())
    planned: list[changes.Change | None] = [section]
    planned += _plan_notes(runtime, shown, [one for one in items if one.kind == "relational"], at)
    planned += belief_strength.plan_claims(runtime, claims, at) if claims else []
    if diary:
        origin, why = _provenance(runtime, shown, shown.places), "what stays"
        planned.append(
            journal.plan_add(at, diary, runtime.zone, why, tags=(TAG,), provenance=origin)
        )
    return JobPlan(planned, refused)


def _plan_facts(
    runtime: Runtime, shown: Scene, facts: Sequence[ExtractedItem]
) -> tuple[changes.Change | None, tuple[str, ...]]:
    refused = list[str]()
    before = knowledge.read(runtime.entity.knowledge)
    book, last = before, None
    for item in facts:
        section = knowledge.find(book, item.title)
        try:
            _may_correct(shown, item, section)
            change = knowledge.plan_set(
                book,
                item.title,
                _with(section.text, item) if section else item.text,
                f"know about {item.title}",
                by_entity=True,
                provenance=joined(_provenance(runtime, shown, item.cited, item), section),
            )
        except UserError as error:
            refused.append(f"{item.title}: {str(error).splitlines()[0]}")
            continue
        if change is not None and change.data is not None:
            book, last = knowledge.parse(change.data.decode()), change
    return whole(before, last), tuple(refused)


def whole(before: knowledge.Knowledge, last: changes.Change | None) -> changes.Change | None:
    """Make one change of several to one file: the last, on what was read first."""
    if last is None or last.data is None:
        return None
    keeps = before.source is not None
    first = changes.write(last.path, last.data.decode(), before.source, last.why)
    return changes.Change(first.path, first.why, first.data, first.read, keeps=keeps)


def _may_correct(
    shown: Scene, item: ExtractedItem, section: knowledge.KnowledgeSection | None
) -> None:
    """Refuse to let somebody change what others were told, or a guest what the owner wrote.

    Raises:
        UserError: If so.
    """
    if section is None:
        return
    audience = section.provenance.audience
    if audience and not set(shown.session.people) <= set(audience):
        raise UserError("a section of that title belongs to a talk with others")
    own = [n for n in item.cited if shown.is_persons(n)]
    spoken_trust, written_trust = shown.trust(own), section.provenance.trust or "owner"
    if written_trust == "owner" and spoken_trust not in ("owner", ""):
        raise UserError("the owner's word stands there")


def joined(new: base.Provenance, section: knowledge.KnowledgeSection | None) -> base.Provenance:
    """Return where a corrected section comes from: what stays in it keeps its evidence."""
    if section is None or not section.provenance.sources:
        return new
    old = section.provenance
    sources = tuple(dict.fromkeys((*old.sources, *new.sources)))
    trust = base.lowest_trust((old.trust, new.trust))
    return base.Provenance(new.by, new.model, sources, trust, old.audience and new.audience)


def _with(old: str, item: ExtractedItem) -> str:
    """Return a section's text with an item; quotes stand one below the other, newest first.

    A quote that the new ones name again, behind what may put it right, stands there alone.
    """
    if not item.quoted:
        return corrected(old, item.text, item.replaces)
    kept = [row for row in old.split("\n\n") if row.strip() and row not in item.text]
    return "\n\n".join((item.text, *kept))


def corrected(old: str, new: str, replaced: Sequence[str] = ()) -> str:
    """Return a section's text with a correction, where the first stood that gives way to it.

    Sentences that the new text says nothing about stay, so that one remark does not wipe out all
    that was known; where none gives way, it stands below them.

    Args:
        old: The section's text.
        new: What is to stand in it.
        replaced: Sentences that are known to give way.
    """
    fresh, rows, is_placed = words.sentences(new), list[str](), False
    for line in old.splitlines():
        row = list[str]()
        for sentence in words.sentences(line):
            if sentence not in replaced and not any(_same_thing(sentence, n) for n in fresh):
                row.append(sentence)
            elif not is_placed:
                row.append(new)
                is_placed = True
        rows += [" ".join(row)] if row or not line.strip() else []
    return "\n".join(rows if is_placed else (*rows, new))


def _same_thing(sentence: str, other: str) -> bool:
    language = words.language(sentence, other)
    stems, other_stems = words.stems(sentence, language), words.stems(other, language)
    least = min(len(stems), len(other_stems))
    return least == 0 or len(stems & other_stems) >= SAME_SHARE * least


def _plan_notes(
    runtime: Runtime, shown: Scene, notes: Sequence[ExtractedItem], at: datetime
) -> list[changes.Change | None]:
    if not notes:
        return []
    planned: list[changes.Change | None] = []
    everybody = list(relationships.read(runtime.entity.relationships))
    for name in dict.fromkeys(note.person for note in notes):
        their_notes = [note for note in notes if note.person == name]
        file = relationships.match(everybody, name)
        if file is None and relationships.alike(everybody, name):
            continue  # whether they are one, nobody is here to say
        origin = base.Provenance(by=BY, sources=(shown.session.id,), audience=shown.session.people)
        person = file or relationships.new(name, at, provenance=origin)
        waiting = [
            relationships.PendingNote(note.text, at, _provenance(runtime, shown, note.cited))
            for note in their_notes
        ]
        planned.append(people.plan_noted(person, waiting, known=file is not None))
    return planned


SAID, CORRECTED, INFERRED = 0.7, 0.9, 0.45  # confidence of a first mention
WORLD_FACT = "world_fact"
FACT: Literal["knowledge"] = "knowledge"  # the kind of an item
SAID_AGAIN = 0.8  # of the telling words of the longer of two sentences, which are one fact then
FELT, EPISODE, PORTRAITS, FACTS = "felt", "episode", "portraits", "facts"  # parts of an answer
EVERYTHING = frozenset((FELT, EPISODE, PORTRAITS, FACTS))


class Memories(Struct, frozen=True):
    """What is to be stored of a stretch, made once and planned as often as need be."""

    at: datetime
    felt: tuple[Message, appraisal.Appraisal] | None = None
    episode: episodes.Episode | None = None
    passed_over: str = ""  # why no episode was made
    items: tuple[ExtractedItem, ...] = ()  # facts and notes
    claims: tuple[belief_strength.Claim, ...] = ()
    diary: str = ""
    portraits: tuple[tuple[relationships.Relationship, portrait.PortraitUpdate], ...] = ()
    model: str = ""  # what wrote it; empty: it is quotes


def of(
    runtime: Runtime,
    shown: Scene,
    job: StretchJob,
    draft: ask.Draft,
    parts: Set[str],
    *,
    allow_shrink: bool = False,
) -> Memories:
    """Make what is to be stored of an answer.

    Args:
        runtime: Whose memories.
        shown: The stretch.
        job: The same, to be remembered.
        draft: The answer, without the sentences that don't stand.
        parts: What is to be made of it.
        allow_shrink: Whether a portrait may lose more than `portrait.MOST_LOSS`.
    """
    at, whole = runtime.now(), draft.answer
    felt = _felt(runtime, shown, whole) if FELT in parts else None
    episode, passed_over = None, ""
    if EPISODE in parts:
        episode, passed_over = _episode(runtime, shown, job, draft, felt, at)
    drawn = tuple(_portraits(runtime, shown, whole, allow_shrink)) if PORTRAITS in parts else ()
    model = "" if draft.wording else runtime.model.name
    made = Memories(at, felt, episode, passed_over, portraits=drawn, model=model)
    if FACTS not in parts:
        return made
    told = {person.name for person, _ in drawn}
    items = _once(tuple(_items(shown, whole, told, is_quoted=draft.wording is not None)))
    return replace(
        made,
        items=tuple(item for item in items if item.kind != "belief"),
        claims=tuple(claim(runtime, shown, item, at) for item in items if item.kind == "belief"),
        diary=ask.joined([each for each in whole.journal if not _is_told(each.text, items)]),
    )


# the body


def _felt(
    runtime: Runtime, shown: Scene, whole: ask.StretchAnswer
) -> tuple[Message, appraisal.Appraisal] | None:
    """Return what the stretch did to the body, beside the last message that somebody said."""
    said = [message for message in shown.messages if message.role == "user" and message.text]
    try:
        assessment = appraisal.parse(dict(whole.appraisal))
    except ValueError:
        return None
    if not said:
        return None
    stands = _standing(shown)
    imprint = assessment.imprint
    if imprint is not None and not stands(imprint.trigger):
        imprint = replace(imprint, trigger="")
    felt = assessment.felt if stands(assessment.felt) else ""
    # affects are shown to everybody: what somebody said must not become one
    theirs = {word for message in said for word in stop_words.words(message.text)} - set(EMOTIONS)
    named = tuple(name for name in assessment.affects if not theirs & set(name.split("-")))
    return said[-1], replace(assessment, felt=felt, imprint=imprint, affects=named)


def _standing(shown: Scene) -> Callable[[str], bool]:
    """Return what tells whether a line names nothing that nobody gave."""
    return lambda line: verifier.check_prose(line, shown.sources).verdict != "mend"


# the episode


def _episode(
    runtime: Runtime,
    shown: Scene,
    job: StretchJob,
    draft: ask.Draft,
    felt: tuple[Message, appraisal.Appraisal] | None,
    at: datetime,
) -> tuple[episodes.Episode | None, str]:
    """Make the episode of a stretch; None, with the reason, where it matters too little."""
    if episodes.locate(runtime.entity.episodes, episode.id_of(job)):
        return None, "it is remembered already"
    whole, is_quoted = draft.answer, draft.wording is not None
    if is_quoted and not whole.narrative:
        return None, "nothing in it is worth keeping"
    session = shown.session
    if felt is not None:
        line = episode.felt_line(at, *felt, "")
        session = replace(session, appraisals={**session.appraisals, felt[0].id: line})
    weight = episode.weigh(runtime, session, job)
    threshold = runtime.config.memory.episode_significance_threshold
    if weight.total < threshold:
        return None, weight.sentence(threshold)
    told, source = telling(shown, whole, is_quoted=is_quoted)
    spoken = [one for one in shown.messages if one.role != "tool" and one.text.strip()]
    if is_quoted:
        cited = {label for sentence in whole.narrative for label in sentence.cites}
        spoken = [shown.messages[n - 1] for n in shown.numbers(list(cited))]
    origin = base.Provenance(
        by=f"{episode.PURPOSE} {BY_FORM}" if is_quoted else episode.PURPOSE,
        model="" if source else runtime.model.name,
        sources=(session.id, *(message.id for message in spoken)),
        trust=base.lowest_trust(message.trust for message in spoken),
        audience=episode.audience(session, job.messages),
    )
    inferences = tuple(each.text for each in whole.narrative if each.inference)
    made = episode.episode_of(runtime, session, job, weight, told, source, origin, inferences)
    return made, ""


def telling(
    shown: Scene, whole: ask.StretchAnswer, *, is_quoted: bool
) -> tuple[episodes.Telling, str]:
    """Return the text of an episode with its `summary_source`; an excerpt, where nothing stands."""
    if not whole.narrative:
        told = episode.excerpt(shown.messages, shown.speaker, shown.session.appraisals)
        return told, episodes.EXCERPT
    given = ask.joined(whole.title).rstrip(".")
    named = (given, *(fact.title for fact in whole.knowledge), shown.day)
    title = f"# {next(filter(None, named))}\n\n"
    if is_quoted:
        lines = "\n\n".join(sentence.text for sentence in whole.narrative)
        return episodes.Telling(f"{title}{lines}"), sayings.MARK
    reflection = _fitting(whole.reflection, episodes.REFLECTION_MAX_CHARS)
    return episodes.Telling(f"{title}{ask.joined(whole.narrative)}", reflection), ""


def _fitting(paragraphs: Sequence[Sequence[ask.Sentence]], most: int) -> str:
    """Join as many sentences as fit."""
    kept: list[list[ask.Sentence]] = []
    for paragraph in paragraphs:
        kept.append([])
        for sentence in paragraph:
            kept[-1].append(sentence)
            if len(ask.joined_lines(kept, "\n\n")) > most:
                kept[-1].pop()
                return ask.joined_lines(list(filter(None, kept)), "\n\n")
    return ask.joined_lines(kept, "\n\n")


# knowledge, beliefs, notes


def _items(
    shown: Scene, whole: ask.StretchAnswer, told: set[str], *, is_quoted: bool
) -> Iterator[ExtractedItem]:
    """Yield what is to be known, believed and noted; an inference is believed, not known."""
    for fact in whole.knowledge:
        replaced = [shown.known[label] for label in fact.replaces if label in shown.known]
        title = replaced[0].title if replaced else fact.title
        said = [sentence for sentence in fact.sentences if not sentence.inference]
        if said:
            yield ExtractedItem(
                FACT,
                "\n\n".join(each.text for each in said) if is_quoted else ask.joined(said),
                shown.numbers([label for sentence in said for label in sentence.cites]),
                title=title,
                replaces=tuple(each.text for each in replaced),
                quoted=is_quoted,
            )
        for sentence in fact.sentences:
            if sentence.inference:
                yield _believed(shown, sentence, WORLD_FACT)
    for opinion in whole.beliefs:
        verdicts: dict[str, belief_strength.Verdict] = {
            shown.beliefs[label].id: "contradicts"
            for label in opinion.contradicts
            if label in shown.beliefs
        }
        if opinion.puts_right:
            verdicts |= {
                belief.id: "contradicts"
                for belief in shown.beliefs.values()
                if opinion.puts_right in belief.evidence
            }
        for label in opinion.confirms:
            if label in shown.beliefs:
                verdicts[shown.beliefs[label].id] = "same"
        for sentence in opinion.sentences:
            item = _believed(shown, sentence, opinion.category, verdicts)
            yield replace(item, quoted=is_quoted, puts_right=opinion.puts_right)
    for likeness in whole.people:
        for sentence in likeness.note:
            if likeness.person not in told:
                yield ExtractedItem(
                    "relational",
                    sentence.text,
                    shown.numbers(sentence.cites),
                    person=likeness.person,
                )


def _once(items: Sequence[ExtractedItem]) -> tuple[ExtractedItem, ...]:
    """Let a fact stand in one record: what knowledge says is no belief and no note beside it.

    A belief that says something of another one, or only infers, is more than its sentence.
    """
    facts = [item for item in items if item.kind == FACT]
    beliefs = [
        item
        for item in items
        if item.kind == "belief"
        and (item.inference or item.verdicts or item.puts_right or not _is_told(item.text, facts))
    ]
    notes = [
        item
        for item in items
        if item.kind == "relational" and not _is_told(item.text, (*facts, *beliefs))
    ]
    return (*facts, *beliefs, *notes)


def _is_told(sentence: str, items: Iterable[ExtractedItem]) -> bool:
    """Whether an item says what a sentence says, in other words at most here and there."""
    language = words.language(sentence)
    said = words.stems(sentence, language)
    told = ((item.title, text) for item in items for text in words.sentences(item.text))
    # "It stands in the hallway" under "The piano" tells where the piano stands
    texts = (way for title, text in told for way in (text, f"{title} {text}"))
    stems = (words.stems(text, language) for text in texts)
    return any(len(said & there) >= SAID_AGAIN * max(len(said), len(there)) for there in stems)


def _believed(
    shown: Scene,
    sentence: ask.Sentence,
    category: str,
    verdicts: Mapping[str, belief_strength.Verdict] | None = None,
) -> ExtractedItem:
    confidence = CORRECTED if category == belief_strength.CORRECTION else SAID
    return ExtractedItem(
        "belief",
        sentence.text,
        shown.numbers(sentence.cites),
        category=category,
        confidence=INFERRED if sentence.inference else confidence,
        inference=sentence.inference,
        verdicts=verdicts or {},
    )


# portraits


def _portraits(
    runtime: Runtime, shown: Scene, whole: ask.StretchAnswer, allow_shrink: bool
) -> Iterator[tuple[relationships.Relationship, portrait.PortraitUpdate]]:
    """Yield the portraits that were written anew, each judged."""
    facts = [item for item in _items(shown, whole, set(), is_quoted=False) if item.kind == FACT]
    for person in shown.portraits.values():
        of_them = (one for one in whole.people if relationships.match([person], one.person))
        likeness = next(of_them, None)
        if likeness is None:
            continue
        # without what knowledge says from now on; what stood in it may stay
        lines = [
            [each for each in line if each.text in person.text or not _is_told(each.text, facts)]
            for line in likeness.portrait
        ]
        text = ask.joined_lines(list(filter(None, lines)), "\n")
        if not text:
            continue
        scored = portrait.read_scores(likeness.scores, _standing(shown))
        yield (
            person,
            portrait.judged(runtime, person, "rewrite", text, scored, allow_shrink=allow_shrink),
        )


# storing


def plan(runtime: Runtime, shown: Scene, memories: Memories) -> JobPlan:
    """Plan to store memories in the files as they are now, with what may not be stored."""
    planned: list[changes.Change | None] = []
    touched: set[str] = set()
    late: list[str] = []
    for person, update in memories.portraits:
        now = people.find_person(runtime, person.id)
        if portrait.is_edited(person, now):
            late.append(f"{person.name}: the portrait was edited meanwhile; it stays as it is")
        elif update.good:
            own = [message for message in shown.messages if message.speaker == person.id]
            given = portrait.PortraitMaterial(
                person, portrait.notes(person), own, session=shown.session.id
            )
            planned.append(portrait.plan(runtime, "reflect", given, update, memories.at))
            touched.add(person.id)
    stored = plan_items(
        runtime, shown, memories.items, memories.claims, memories.diary, memories.at
    )
    planned += stored.changes
    noted = {change.path for change in stored.changes if change is not None}
    if memories.felt is not None:
        message, assessment = memories.felt
        ended = shown.messages[-1].at
        planned += episode.plan_felt(
            runtime, shown.session, message, assessment, ended, memories.at, memories.model
        )
        if message.speaker not in touched and relationships.path(message.speaker) not in noted:
            planned.append(people.plan_felt(runtime, message.speaker, assessment.points))
    if memories.episode and not episodes.locate(runtime.entity.episodes, memories.episode.id):
        why = f"remember a conversation of {shown.session.id}"
        planned.append(episodes.plan_new(memories.episode, why))
    return JobPlan(planned, (*stored.late, *late))
