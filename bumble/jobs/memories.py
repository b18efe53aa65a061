"""Where the parts of an answer go: body, episode, knowledge, beliefs, portraits, journal.

Each part is kept by itself, by the functions that keep it wherever it comes from, and planned on
the files as they are. One file gets one change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bumble import patterns
from bumble.body import appraisal
from bumble.body.config import EMOTIONS
from bumble.entity import changes
from bumble.errors import RecordInvalidError, UserError
from bumble.fallback import quotes, sayings, templates
from bumble.guard import claims, corrections, verifier
from bumble.jobs import ask, episode, portrait, renaming, scene
from bumble.jobs.scene import KnownSentence, Scene, StretchJob
from bumble.recall import belief_strength
from bumble.records import base, episodes, journal, knowledge, provenance, relationships
from bumble.records import beliefs as held
from bumble.records.sessions import Message
from bumble.runtime import people, spoken
from bumble.runtime.job import JobPlan
from bumble.runtime.runtime import Runtime
from bumble.text import stop_words, titles, words

BY = "distill"
TAG = "distillation"
SAID, CORRECTED, INFERRED = 0.7, 0.9, 0.45  # confidence of a first mention
FELT, EPISODE, PORTRAITS, FACTS = "felt", "episode", "portraits", "facts"  # parts of an answer
EVERYTHING = frozenset((FELT, EPISODE, PORTRAITS, FACTS))


class LearntFact(Struct, frozen=True):
    """What is to stand in a section of knowledge."""

    title: str
    text: str
    cited: tuple[Message, ...]
    replaces: tuple[KnownSentence, ...] = ()  # of knowledge, no longer true
    ends: tuple[str, ...] = ()  # ids of beliefs, likewise
    named: str = ""  # what it is called where nothing else stays under its title

    @property
    def sentences(self) -> Iterator[str]:
        """What it says, each sentence with its title and without: "It stands in the hallway"."""
        for sentence in words.sentences(self.text):
            yield sentence
            yield f"{self.title} {sentence}"


class HeardOf(Struct, frozen=True):
    """What was told of somebody who isn't there."""

    name: str
    notes: tuple[ask.Sentence, ...] = ()
    gone: tuple[str, ...] = ()  # what was told before, and is no longer so
    cites: tuple[str, ...] = ()  # labels of the messages that say so
    was: str = ""  # the name they went by, where it was put right


class Memories(Struct, frozen=True):
    """What is to be stored of a stretch, made once and planned as often as need be."""

    at: datetime
    felt: tuple[Message, appraisal.Appraisal] | None = None
    episode: episodes.Episode | None = None
    passed_over: str = ""  # why no episode was made
    facts: tuple[LearntFact, ...] = ()
    claims: tuple[belief_strength.Claim, ...] = ()
    heard: tuple[HeardOf, ...] = ()  # of who is only spoken of
    diary: tuple[ask.Sentence, ...] = ()
    portraits: tuple[tuple[relationships.Relationship, portrait.PortraitUpdate], ...] = ()
    model: str = ""  # what wrote it; empty: it is quotes

    @property
    def notes(self) -> list[ask.Sentence]:
        """What was told of people who weren't there."""
        return [note for one in self.heard for note in one.notes]


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
    draft = replace(draft, answer=_lived(shown, draft.answer))
    at, whole = runtime.now(), draft.answer
    felt = _felt(shown, whole) if FELT in parts else None
    lived, passed_over = None, ""
    if EPISODE in parts:
        lived, passed_over = _episode(runtime, shown, job, draft, felt, at)
    drawn = tuple(_portraits(runtime, shown, whole, allow_shrink)) if PORTRAITS in parts else ()
    model = "" if draft.wording else runtime.model.name
    made = Memories(at, felt, lived, passed_over, portraits=drawn, model=model)
    if FACTS not in parts:
        return made
    facts = tuple(_facts(shown, whole))
    known = [sentence for fact in facts for sentence in fact.sentences]
    # a fact stands in one record: what knowledge says is no belief and no note beside it
    claims = tuple(_claims(runtime, shown, draft, known, at))
    known += [claim.text for claim in claims]
    heard = tuple(_heard(shown, whole, known, {person.name for person, _ in drawn}))
    known += [note.text for one in heard for note in one.notes]
    diary = tuple(each for each in whole.journal if not portrait.is_told(each.text, known))
    return replace(made, facts=facts, claims=claims, heard=heard, diary=diary)


def _lived(shown: Scene, answer: ask.StretchAnswer) -> ask.StretchAnswer:
    """Return an answer whose episode tells nothing that was only passed on: that is believed."""

    def is_own(one: ask.Sentence) -> bool:
        rests_on = (*shown.cited(one.cites), *shown.repeated(one.text))
        return not any(map(scene.is_passed_on, rests_on))

    reflection = (tuple(filter(is_own, part)) for part in answer.reflection)
    narrative = tuple(filter(is_own, answer.narrative))
    return replace(answer, narrative=narrative, reflection=tuple(filter(None, reflection)))


def _heard(
    shown: Scene, whole: ask.StretchAnswer, known: Sequence[str], drawn: Set[str]
) -> Iterator[HeardOf]:
    """Yield what was told of people, and what of it was told before."""
    for seen in whole.people:
        was = seen.was if shown.stands(seen.person) else ""
        if seen.person not in drawn and (seen.note or was):
            new = tuple(each for each in seen.note if not portrait.is_told(each.text, known))
            gone = tuple(one.text for one in shown.told(seen.replaces) if seen.note)
            yield HeardOf(seen.person, new, gone, _cites(seen.note), was)
    for fact in whole.knowledge:  # what stands in knowledge from now on, stood on somebody's page
        for one in shown.told(fact.replaces):
            yield HeardOf(one.title, gone=(one.text,), cites=_cites(fact.sentences))


def _trust(messages: Iterable[Message]) -> str:
    return base.lowest_trust(one.trust for one in messages)


def _cites(sentences: Sequence[ask.Sentence]) -> tuple[str, ...]:
    return tuple(label for sentence in sentences for label in sentence.cites)


# knowledge


def _provenance(
    runtime: Runtime,
    shown: Scene,
    cited: Sequence[Message],
    *,
    is_quoted: bool = False,
    older: Sequence[str] = (),
) -> base.Provenance:
    return base.Provenance(
        by=f"{BY} {provenance.BY_FORM}" if is_quoted else BY,
        model="" if is_quoted else runtime.model.name,
        sources=(shown.session.id, *(one.id for one in cited), *older),
        trust=_trust(cited),
        audience=shown.session.people,
    )


def _facts(shown: Scene, whole: ask.StretchAnswer) -> Iterator[LearntFact]:
    """Yield what is to be known; an inference is believed, not known."""
    for fact in whole.knowledge:
        known = [shown.known[label] for label in fact.replaces if label in shown.known]
        cited = shown.cited(_cites(fact.sentences))
        said = [sentence for sentence in fact.sentences if not sentence.inference]
        # what was said later stands: this talk is of before
        title = knowledge.key(fact.title)
        of_it = [
            *known,
            *(one for one in shown.known.values() if knowledge.key(one.title) == title),
        ]
        later = [one for one in of_it if one.told and cited and one.told > cited[-1].at]
        replaced = [each for each in known if not (each.person or each in later)]
        is_put_back = any(one in later for one in known)
        said = [
            one for one in said if not any(_gives_way(one, each, is_put_back) for each in later)
        ]
        text = ask.joined(said)
        # named for what is kept of it: a title may be the beginning of what was dropped
        given = fact.title
        if not shown.stands(given):
            given = titles.without(given, verifier.strangers(given, shown.sources))
        title = titles.named(given, text) or titles.begun(text)
        if said:
            yield LearntFact(
                replaced[0].title if replaced else title,
                text,
                shown.cited(_cites(said)),
                tuple(replaced),
                tuple(one.id for label, one in shown.beliefs.items() if label in fact.replaces),
                title,
            )


def _gives_way(sentence: ask.Sentence, later: KnownSentence, is_put_back: bool) -> bool:
    """Whether a sentence gives another value for what was said after it, or says it again.

    Where the model would put that back, what has most of its words does, too; else it has to be of
    the same people.
    """
    language = words.language(sentence.text, later.text)
    named, others = (
        {words.stem(words.folded(one), language) for one in claims.claims(text, language)}
        for text in (sentence.text, later.text)
    )
    at = later.told or datetime.min.replace(tzinfo=UTC)
    like = corrections.replaces(sentence.text, later.text, at, "")
    is_one = like >= corrections.ENOUGH or portrait.is_told(sentence.text, [later.text])
    if not is_put_back:
        return is_one and named == others
    rest = words.stems(sentence.text, language) - named
    shared = rest & words.stems(later.text, language)
    return is_one or len(rest) <= 1 or 2 * len(shared) > len(rest)


def _plan_facts(
    runtime: Runtime, shown: Scene, memories: Memories, renamings: Sequence[renaming.Renaming]
) -> tuple[changes.Change | None, tuple[str, ...], list[LearntFact]]:
    """Plan to write facts; with what is told of that, and those that are kept."""
    told, kept = list[str](), list[LearntFact]()
    before = book = knowledge.read(runtime.entity.knowledge)
    replaced, why = 0, ""
    for fact in memories.facts:
        title = knowledge.own_title(
            book,
            fact.title,
            ", ".join(sorted(shown.names.values())),
            partial(_may_correct, shown, fact),
        )
        origin = _provenance(runtime, shown, fact.cited)
        try:
            after, count = _with_fact(shown, book, fact, title, origin)
        except UserError as error:
            told.append(f"not written: {title}: {str(error).splitlines()[0]}")
            continue
        kept.append(fact)
        why = why if after is book else f"know about {title}"
        book, replaced = after, replaced + count
    if replaced:
        told.append(f"{words.counted(replaced, 'sentence')} of knowledge replaced")
    for new, one in ((fact, each) for fact in kept for each in fact.replaces):
        there = knowledge.find(book, one.title)
        if there and one.text not in new.text and one.text in words.sentences(there.text):
            told.append(f"stays, for others may know it, too: {one.title}: {one.text}")
    told += [f"“{title}” {knowledge.NARROWED}" for title in knowledge.narrowed(before, book)]
    after = renaming.in_knowledge(renamings, book)
    why = why if after is book else f"{renamings[-1].was} is {renamings[-1].name}"
    return knowledge.plan(before, after, why, keeps=bool(before.source)), tuple(told), kept


def _with_fact(
    shown: Scene, book: knowledge.Knowledge, fact: LearntFact, title: str, origin: base.Provenance
) -> tuple[knowledge.Knowledge, int]:
    """Return knowledge with a fact, and how many sentences gave way to it.

    Args:
        shown: The stretch that tells it.
        book: All sections.
        fact: What is to be known.
        title: Of the section in which it is to stand.
        origin: Where it comes from.

    Raises:
        UserError: If it can't stand there.
    """
    section, count = knowledge.find(book, title), 0
    text = _with(section.text, fact) if section else fact.text
    origin = knowledge.joined(origin, section, text)
    after = knowledge.with_section(book, title, text, by_entity=True, provenance=origin)
    if section is not None and after is not book:
        count = knowledge.lost(section.text, text)
        is_own = section.provenance.by and text == fact.text  # its title was of what is gone
        if is_own and knowledge.find(after, fact.named) is None:
            with suppress(UserError):  # what can be no title gives it none
                after = knowledge.retitled(after, title, fact.named, by_entity=True)
    for other in dict.fromkeys(one.title for one in fact.replaces):
        there = knowledge.find(after, other)
        if there is not None and not there.locked and other != fact.title:
            after, lost = _without_replaced(shown, after, fact, there, origin.audience)
            count += lost
    return after, count


def _without_replaced(
    shown: Scene,
    book: knowledge.Knowledge,
    fact: LearntFact,
    section: knowledge.KnowledgeSection,
    audience: Sequence[str],
) -> tuple[knowledge.Knowledge, int]:
    """Return knowledge without what a fact replaces in another section; with how much that is.

    What more people may meet than the fact stays: they are told of nothing in its place.
    """
    text = knowledge.corrected(section.text, "", [one.text for one in fact.replaces])
    lost, readers = knowledge.lost(section.text, text), section.provenance.audience
    is_for_them = not audience or (readers and base.may_read(audience, readers))
    if not (lost and is_for_them and _may_correct(shown, fact, section)):
        return book, 0
    if all(line.startswith("#") for line in text.split("\n") if line.strip()):
        return knowledge.without(book, section.title, by_entity=True), lost
    return knowledge.with_section(
        book, section.title, text, by_entity=True, provenance=section.provenance
    ), lost


def _may_correct(shown: Scene, fact: LearntFact, section: knowledge.KnowledgeSection) -> bool:
    """Whether somebody may change a section: not what others were told, nor the owner's word."""
    spoken_trust, written_trust = _trust(fact.cited), section.provenance.trust or "owner"
    is_theirs = knowledge.is_of(section, shown.session.people)
    may = is_theirs and (written_trust != "owner" or spoken_trust in ("owner", ""))
    return may or section.locked  # which is refused, under whatever title


def _plan_ended(
    runtime: Runtime, shown: Scene, facts: Sequence[LearntFact]
) -> Iterator[changes.Change]:
    """Plan to archive the beliefs in whose place facts come, of what was told to these people.

    What somebody wrote by hand stays, and the owner's word but for the owner's.
    """
    if not any(fact.ends for fact in facts):
        return
    for belief in held.BELIEF.readable(runtime.entity.beliefs):
        origin = belief.provenance
        trusts = [_trust(fact.cited) for fact in facts if belief.id in fact.ends]
        may = any(not base.is_lower(trust, origin.trust) for trust in trusts)
        theirs = origin.audience and set(origin.audience) <= set(shown.session.people)
        if may and theirs and origin.by:
            change = held.plan_update(belief, "what is known has replaced it", archived=True)
            yield from filter(None, (change,))


def _with(old: str, fact: LearntFact) -> str:
    """Return a section's text with a fact, without what it names as replaced."""
    gone = [one.text for one in fact.replaces]
    there = [one for one in words.sentences(old) if one not in gone]
    told = words.sentences(fact.text)
    new = [one for one in told if not any(corrections.says_all(each, one) for each in there)]
    if not new and there == words.sentences(old):
        return old
    return knowledge.corrected(old, words.paragraph(new), gone)


def _plan_heard(
    runtime: Runtime, shown: Scene, heard: Sequence[HeardOf], at: datetime
) -> tuple[list[changes.Change | None], list[str]]:
    """Plan to write what was told of people, each of whom has one file; with what is unclear."""
    everybody = list(relationships.PERSON.readable(runtime.entity.relationships))
    planned, unclear = list[changes.Change | None](), list[str]()
    right = {
        old.id: _called(each.name, {}, everybody)
        for each in _renamings(shown, heard, everybody)
        if (old := renaming.known_as(each, everybody))
    }
    called = [_called(one.name, right, everybody) for one in heard]
    for name in dict.fromkeys(called):
        own = [one for one, other in zip(heard, called, strict=True) if other == name]
        file = relationships.match(everybody, name)
        renamings = _renamings(shown, own, everybody)
        old = renaming.known_as(renamings[0], everybody) if renamings else None
        like = relationships.alike(shown.acquaintances(everybody), name)
        if file is None and old is None and like:  # whom they mean, nobody is here to say
            unclear.append(f"not written: {name}: is it {' or '.join(one.name for one in like)}?")
            continue
        notes = [
            relationships.PendingNote(
                note.text, at, _provenance(runtime, shown, shown.cited(note.cites))
            )
            for one in own
            for note in one.notes
        ]
        if file is None and old is None and not notes:
            continue
        cited = shown.cited([label for one in own for label in one.cites])
        origin = base.Provenance(by=BY, sources=(shown.session.id,), audience=shown.session.people)
        met = min((one.at for one in cited), default=at)
        person = file or old or relationships.new(name, met, provenance=origin)
        named = {text for one in own for text in one.gone}
        gone = _gone(shown, person, named, cited)
        if old is None:
            planned.append(people.plan_noted(person, notes, gone, known=file is not None))
        else:
            planned += renaming.plan_person(renamings[0], old, file, notes, gone)
    return planned, unclear


def _called(
    name: str, right: Mapping[str, str], everybody: Sequence[relationships.Relationship]
) -> str:
    """Return the one name of whoever is meant: each has one change.

    Args:
        name: As they are called.
        right: The names that were put right, by the ids of those who have them.
        everybody: Who is known.
    """
    person = relationships.match(everybody, name)
    return right.get(person.id, person.name) if person else name


def _renamings(
    shown: Scene, heard: Iterable[HeardOf], everybody: Sequence[relationships.Relationship]
) -> list[renaming.Renaming]:
    """Return the names that were put right of somebody who is known by the wrong one."""
    circle = shown.session.people
    found = (renaming.Renaming(one.was, one.name, circle) for one in heard if one.was)
    return [one for one in found if renaming.known_as(one, everybody)]


def _gone(
    shown: Scene,
    person: relationships.Relationship,
    named: Set[str],
    cited: Sequence[Message],
) -> set[str]:
    """Return what is named of what the same people told of somebody: the owner's word stays."""
    spoken_trust = _trust(cited)
    return {
        one.text
        for one in relationships.heard(person, shown.session.people)
        if (one.provenance.trust != "owner" or spoken_trust == "owner") and one.text in named
    }


# the body


def _felt(shown: Scene, whole: ask.StretchAnswer) -> tuple[Message, appraisal.Appraisal] | None:
    """Return what the stretch did to the body, beside the last message that somebody said."""
    said = [message for message in shown.messages if message.role == "user" and message.text]
    try:
        assessment = appraisal.parse(dict(whole.appraisal))
    except ValueError:
        return None
    imprint = assessment.imprint
    if imprint is not None and not shown.stands(imprint.trigger):
        imprint = replace(imprint, trigger="")
    felt = assessment.felt if shown.stands(assessment.felt) else ""
    # affects are shown to everybody: what somebody said must not become one
    theirs = {word for message in said for word in stop_words.words(message.text)} - set(EMOTIONS)
    named = tuple(name for name in assessment.affects if not theirs & set(name.split("-")))
    return said[-1], replace(assessment, felt=felt, imprint=imprint, affects=named)


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
    whole, is_quoted = draft.answer, draft.wording is not None
    there = _quotes(runtime, episode.id_of(job))
    if (is_quoted or there is None) and episodes.EPISODE.locate(runtime.entity, episode.id_of(job)):
        return None, "it is remembered already"
    if is_quoted and not whole.narrative:
        return None, "nothing in it is worth keeping"
    if all(shown.tells_of_forgotten(one.text) for one in shown.labels.values()):
        return None, "it is of somebody who was to be forgotten"
    session = shown.session
    if felt is not None:
        line = episode.felt_line(at, *felt, "")
        session = replace(session, appraisals={**session.appraisals, felt[0].id: line})
    weight = episode.weigh(runtime, session, job)
    threshold = runtime.config.memory.episode_significance_threshold
    if there is not None:  # it is as much as it was, and what tells the same is no less new
        weight = replace(weight, shares={"before": max(weight.total, there.significance)})
    if weight.total < threshold:
        return None, weight.why_too_little(threshold)
    named = ""
    if draft.wording is not None:
        lines = (quotes.plain(sentence.text) for sentence in whole.narrative)
        named = sayings.named(runtime, draft.wording, "\n".join(lines))
    told, source = telling(shown, whole, named, is_quoted=is_quoted)
    if there is not None and source == episodes.EXCERPT:
        return None, "it is remembered already"
    rests = () if source == episodes.EXCERPT else whole.narrative  # an excerpt is of all
    cited = shown.cited(_cites(rests))
    drawn = shown.repeated(told.text)
    grounds = (*shown.grounds(one.cites for one in rests), *drawn)
    trust = _trust(cited if is_quoted else grounds)
    spoken = (
        cited
        if is_quoted
        else tuple(  # what was only read is named where it is told
            one
            for one in shown.messages
            if one.role != "tool"
            and one.text.strip()
            and (one in grounds or not provenance.is_untrusted(one.trust))
        )
    )
    origin = base.Provenance(
        by=f"{episode.PURPOSE} {provenance.BY_FORM}" if is_quoted else episode.PURPOSE,
        model=runtime.model.name if named or not source else "",
        sources=(session.id, *(message.id for message in spoken)),
        trust=base.lowest_trust((trust, "" if is_quoted else "entity")),
        audience=episode.audience(session, job.messages),
    )
    inferences = tuple(each.text for each in whole.narrative if each.inference)
    return episode.episode_of(runtime, session, job, weight, told, source, origin, inferences), ""


# Around the words of a quote: who said them, and when.
_QUOTED = patterns.compile(r"\A[^:“”\"«„]{1,60}[:：] ?[“«„\"「]? ?|[”»“\"」]\Z")


def _quotes(runtime: Runtime, episode_id: str) -> episodes.Episode | None:
    """Return an episode of quotes alone, which a model's telling may take the place of."""
    there = episodes.EPISODE.locate(runtime.entity, episode_id)
    try:
        lived = episodes.EPISODE.load(there[0]) if there else None
    except RecordInvalidError:
        return None
    if lived is None or not lived.provenance.by.endswith(provenance.BY_FORM):
        return None
    between = {templates.load(language).newer for language in templates.languages()}
    rows = [row for row in lived.text.splitlines() if row.strip() and row not in between]
    talk = episode.conversation(runtime, lived.session)
    said = [one.text for one in talk.messages] if talk else []

    def is_quote(row: str) -> bool:
        parts = _QUOTED.sub("", row.removeprefix(quotes.MARK)).split("…")
        is_said = any(all(quotes.is_in(part, one) for part in parts) for one in said)
        return row.startswith(quotes.MARK) and is_said

    return lived if all(row.startswith("# ") or is_quote(row) for row in rows) else None


def telling(
    shown: Scene, whole: ask.StretchAnswer, named: str = "", *, is_quoted: bool
) -> tuple[episodes.Telling, str]:
    """Return the text of an episode with its `summary_source`; an excerpt, where nothing stands."""
    if not whole.narrative:
        kept = [one for one in shown.messages if not shown.tells_of_forgotten(one.text)]
        cut = episode.excerpt(kept, shown.speaker, shown.session.appraisals)
        return cut, episodes.EXCERPT
    given = named or ask.joined(whole.title)
    if is_quoted:
        lines = "\n\n".join(sentence.text for sentence in whole.narrative)
        return episodes.Telling(f"# {given}\n\n{lines}"), sayings.MARK
    told = ask.joined(whole.narrative)
    of_facts = [one.title for one in whole.knowledge if one.sentences]
    sound = filter(shown.stands, filter(None, of_facts))
    title = next(filter(None, (titles.named(one, told) for one in (given, *sound))), "")
    reflection = _fitting(whole.reflection, episodes.REFLECTION_MAX_CHARS)
    return episodes.Telling(f"# {title}\n\n{told}" if title else told, reflection), ""


def _fitting(paragraphs: Sequence[Sequence[ask.Sentence]], most: int) -> str:
    """Join as many sentences as fit."""
    ends = [(n, end) for n, part in enumerate(paragraphs) for end in range(1, len(part) + 1)]
    cuts = ((*paragraphs[:n], paragraphs[n][:end]) for n, end in reversed(ends))
    texts = ("\n\n".join(map(ask.joined, cut)) for cut in cuts)
    return next((text for text in texts if len(text) <= most), "")


# beliefs


def _claims(
    runtime: Runtime, shown: Scene, draft: ask.Draft, known: Sequence[str], at: datetime
) -> Iterator[belief_strength.Claim]:
    """Yield what is to be believed.

    What says something of another belief, or only infers, is more than its sentence.
    """
    whole, is_quoted = draft.answer, draft.wording is not None
    facts = [each for fact in whole.knowledge for each in fact.sentences]
    for sentence in (each for each in facts if each.inference):
        origin = _provenance(runtime, shown, shown.cited(sentence.cites))
        yield _claim(runtime, shown, sentence, held.WORLD_FACT, at, origin)
    for opinion in whole.beliefs:
        verdicts = _verdicts(shown, opinion)
        older = (opinion.puts_right,) if opinion.puts_right else ()
        tells = opinion.category in (held.WORLD_FACT, belief_strength.CORRECTION)
        for sentence in opinion.sentences:
            # a quote is the episode's to tell, and speaks for itself alone where it puts right
            is_fact = is_quoted or portrait.is_told(sentence.text, known)
            is_fact |= tells and any(_rest_on_the_same(sentence, fact) for fact in facts)
            is_fact |= opinion.category == belief_strength.CORRECTION and any(
                _is_of_same_word(shown, sentence, fact) for fact in facts
            )
            if sentence.inference or verdicts or not is_fact:
                origin = _provenance(
                    runtime, shown, shown.cited(sentence.cites), is_quoted=is_quoted, older=older
                )
                yield _claim(runtime, shown, sentence, opinion.category, at, origin, verdicts)


def _rest_on_the_same(one: ask.Sentence, other: ask.Sentence) -> bool:
    """Whether two sentences tell of the same words of the same message: they are one fact.

    A quote rests on all of its message.
    """
    own, others = ({stop_words.bare(text) for text in each.rests_on} for each in (one, other))
    return not set(one.cites).isdisjoint(other.cites) and (own == others or bool(own & others))


def _is_of_same_word(shown: Scene, one: ask.Sentence, other: ask.Sentence) -> bool:
    """Whether two sentences rest on the same last message, and are about the same."""
    language = words.language(one.text, other.text)
    names = words.stems(" ".join(shown.names.values()), language)
    about = words.stems(one.text, language) & words.stems(other.text, language) - names
    return bool(about) and shown.cited(one.cites)[-1:] == shown.cited(other.cites)[-1:]


def _verdicts(shown: Scene, opinion: ask.StretchBelief) -> dict[str, belief_strength.Verdict]:
    """Return what an opinion says of beliefs held, by id."""
    verdicts: dict[str, belief_strength.Verdict] = {}
    for label, belief in shown.beliefs.items():
        puts_right = opinion.puts_right and opinion.puts_right in belief.evidence
        if label in opinion.confirms:
            verdicts[belief.id] = "same"
        elif label in opinion.contradicts or puts_right:
            verdicts[belief.id] = "contradicts"
    return verdicts


def _claim(
    runtime: Runtime,
    shown: Scene,
    sentence: ask.Sentence,
    category: str,
    at: datetime,
    origin: base.Provenance,
    verdicts: Mapping[str, belief_strength.Verdict] = {},
) -> belief_strength.Claim:
    is_correction = category == belief_strength.CORRECTION
    told = "conversation" if shown.session.imported is None else "observation"
    return belief_strength.Claim(
        id=base.new_id(held.BELIEF.prefix, at, runtime.rng),
        text=sentence.text,
        category=category,
        confidence=INFERRED if sentence.inference else (CORRECTED if is_correction else SAID),
        evidence=tuple(one.id for one in shown.cited(sentence.cites)),
        # how the entity came by it: told of it, or as one who looks on
        origin="inference" if sentence.inference else told,
        provenance=origin,
        # a correction is the person's own word on it; else it is a model's reading of what was said
        by="user" if is_correction else "extracted",
        verdicts=verdicts,
    )


# portraits


def _portraits(
    runtime: Runtime, shown: Scene, whole: ask.StretchAnswer, allow_shrink: bool
) -> Iterator[tuple[relationships.Relationship, portrait.PortraitUpdate]]:
    """Yield the portraits that were written anew, each judged."""
    facts = [text for fact in _facts(shown, whole) for text in fact.sentences]
    for person in shown.portraits.values():
        of_them = (one for one in whole.people if relationships.match([person], one.person))
        likeness = next(of_them, None)
        if likeness is None:
            continue
        lines = [[each.text for each in line] for line in likeness.portrait]
        text = portrait.untold(lines, person, facts)
        if not text:
            continue
        scored = portrait.read_scores(likeness.scores, shown.stands)
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
        if portrait.is_edited(person, people.find_person(runtime, person.id)):
            late.append(f"{person.name}: the portrait was edited meanwhile; it stays as it is")
        elif update.good:
            own = [message for message in shown.messages if message.speaker == person.id]
            given = portrait.PortraitMaterial(
                person, portrait.notes(person), own, session=shown.session.id
            )
            planned.append(portrait.plan(runtime, "reflect", given, update, memories.at))
            touched.add(person.id)
    everybody = list(relationships.PERSON.readable(runtime.entity.relationships))
    renamings = _renamings(shown, memories.heard, everybody)
    section, told, kept = _plan_facts(runtime, shown, memories, renamings)
    noted, unclear = _plan_heard(runtime, shown, memories.heard, memories.at)
    planned += [section, *noted]
    claims = memories.claims
    planned += belief_strength.plan_claims(runtime, claims, memories.at) if claims else ()
    taken = {change.path for change in planned if change is not None}
    archived = [one for one in _plan_ended(runtime, shown, kept) if one.path not in taken]
    planned += archived
    taken |= {change.path for change in archived}
    planned += renaming.plan_beliefs(renamings, runtime.entity, taken) if renamings else ()
    if memories.diary:
        drawn = shown.repeated(" ".join(one.text for one in memories.diary))
        grounds = (*shown.grounds(one.cites for one in memories.diary), *drawn)
        origin = _provenance(runtime, shown, grounds)
        origin = replace(origin, trust=base.lowest_trust((origin.trust, "entity")))
        planned.append(
            journal.plan_add(
                shown.messages[-1].at,  # "today" in it is the talk's
                ask.joined(memories.diary),
                runtime.zone,
                "what stays",
                tags=(TAG,),
                provenance=origin,
            )
        )
    touched |= {PurePosixPath(change.path).stem for change in noted if change is not None}
    if memories.felt is not None:
        message, assessment = memories.felt
        ended = shown.messages[-1].at
        planned += episode.plan_felt(
            runtime, shown.session, message, assessment, ended, memories.at, memories.model
        )
    planned += _plan_pages(runtime, shown, memories, touched)
    if memories.episode:
        planned.append(_plan_episode(runtime, memories.episode))
    return JobPlan(planned, (*told, *unclear, *late))


def _plan_episode(runtime: Runtime, lived: episodes.Episode) -> changes.Change | None:
    """Plan to remember an episode: quotes give way to it, in the file to which links lead."""
    why = f"remember a conversation of {lived.session}"
    there = episodes.EPISODE.locate(runtime.entity, lived.id)
    if not there:
        return episodes.EPISODE.plan_new(lived, why)
    if (old := _quotes(runtime, lived.id)) is None:
        return None  # another process was quicker, or a hand has been at it
    origin = {**lived.provenance.meta(), "audience": list(old.provenance.audience) or None}
    more = {"summary_source": None, "inferences": lived.source.meta.get("inferences")}
    document = base.with_values(old.source, {**origin, **more}).with_body(lived.source.body)
    change = base.plan_edit(runtime.entity.relative(there[0]), old.source, document, why)
    return replace(change, keeps=True) if change else None


def _plan_pages(
    runtime: Runtime, shown: Scene, memories: Memories, touched: Set[str]
) -> Iterator[changes.Change | None]:
    """Plan what a stretch does to the bonds, and the links of the pages that have no portrait.

    Args:
        runtime: Whose memory.
        shown: The stretch.
        memories: What is stored of it.
        touched: The people whose files have a change already.
    """
    lived, felt = memories.episode, memories.felt
    speaker = felt[0].speaker if felt else ""
    everybody = dict.fromkeys((*(lived.people if lived else ()), *filter(None, [speaker])))
    for person in (one for one in everybody if one not in touched):
        record = people.readable_person(runtime, person)
        if record is None:
            continue
        page: dict[str, Any] = {}
        if lived is not None:
            link = sayings.lived(lived, spoken.mostly(runtime, shown.session, person))
            by = f"{episode.PURPOSE} {provenance.BY_FORM}"
            origin = base.Provenance(by=by, sources=(lived.id,), audience=lived.audience)
            page = people.plan_lived(record, f"{relationships.ITEM}{link}", origin)
        points = felt[1].points if felt and person == speaker else {}
        yield people.plan_felt(runtime, record, points, page)
