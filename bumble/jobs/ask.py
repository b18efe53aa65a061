"""Asking what a stretch of talk comes to: one request, its sentences checked, what fails sent back.

A sentence that fails goes back once, together with the others that failed, each with its reason
and the messages it cites, without the rest of the talk. What fails again is dropped, and marked as
asked in vain, so that it is not sent back when a later pass writes it once more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count, pairwise
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import asdict, replace

from bumble.body import appraisal
from bumble.fallback import notices, quotes, sayings
from bumble.files import disk
from bumble.guard import corrections, names, values, verifier
from bumble.jobs import portrait, scene
from bumble.llm import protocol, structured
from bumble.recall.belief_strength import CORRECTION
from bumble.records import beliefs, episodes, relationships, sessions
from bumble.runtime import review_queue
from bumble.runtime.job import (
    NO_ANSWER,
    array,
    cache_id,
    choice,
    closed,
    messages,
    request,
    text,
    vain,
)
from bumble.runtime.runtime import Runtime
from bumble.text import stop_words, titles, words

CATEGORIES = tuple(each for each in beliefs.CATEGORIES if each != beliefs.DREAM_INSIGHT)
SENTENCE_CHARS, QUOTE_CHARS, TITLE_CHARS = 300, 120, titles.MAX_CHARS
SENTENCES, FACTS, BELIEFS = 10, 8, 6  # at most: of a telling, of knowledge, of beliefs
PORTRAIT_CHARS, JOURNAL_CHARS = 3200, 800  # 800 tokens of a portrait
T = TypeVar("T")


class Sentence(Struct, frozen=True):
    """One sentence of an answer."""

    place: str  # of it in the answer: `s3`
    text: str
    claims: bool = False  # whether it tells of the world or a person; else it is a reading
    cites: tuple[str, ...] = ()  # labels of messages: `m2`, `h3`
    rests_on: tuple[str, ...] = ()  # words of these messages
    inference: bool = False
    is_counted: bool = False  # whether it is an inference only as it follows by counting
    is_story: bool = False  # whether it tells what happened: what was answered, too


class TitledFact(Struct, frozen=True):
    """What is to stand under a title of knowledge."""

    title: str
    sentences: tuple[Sentence, ...]
    replaces: tuple[str, ...] = ()  # labels of what is known or believed, in whose place it comes


class StretchBelief(Struct, frozen=True):
    """Something that may become a belief."""

    category: str
    sentences: tuple[Sentence, ...]  # one, or none once it was dropped
    confirms: tuple[str, ...] = ()  # labels of beliefs held
    contradicts: tuple[str, ...] = ()
    puts_right: str = ""  # id of the message that it takes the place of, where that is known


class PersonView(Struct, frozen=True):
    """How the entity sees somebody, and what it learnt of them."""

    person: str  # name
    portrait: tuple[tuple[Sentence, ...], ...] = ()  # by line; empty: it stays as it is
    scores: Mapping[str, Any] = {}  # as the model gave them
    note: tuple[Sentence, ...] = ()
    replaces: tuple[str, ...] = ()  # labels of known sentences that the note takes the place of
    was: str = ""  # the name they went by, where somebody put it right


class StretchAnswer(Struct, frozen=True):
    """All that a model makes of a stretch."""

    appraisal: Mapping[str, Any] = {}
    title: tuple[Sentence, ...] = ()
    narrative: tuple[Sentence, ...] = ()
    reflection: tuple[tuple[Sentence, ...], ...] = ()  # by paragraph
    knowledge: tuple[TitledFact, ...] = ()
    beliefs: tuple[StretchBelief, ...] = ()
    people: tuple[PersonView, ...] = ()
    journal: tuple[Sentence, ...] = ()


def schema(
    known: Sequence[str],
    held: Sequence[str],
    reflection_chars: int,
) -> dict[str, Any]:
    """Describe the answer.

    Args:
        known: Labels of known sentences.
        held: Labels of beliefs.
        reflection_chars: The longest reflection.
    """
    episode = {
        "title": text(TITLE_CHARS),
        "narrative": array(_claim(), SENTENCES, least=1),
        "reflection": text(reflection_chars),
    }
    fact = {
        "title": text(TITLE_CHARS),
        "replaces": _labels([*known, *held]),
        "sentences": array(_claim(), 4, least=1),
    }
    opinion = {
        "category": choice(CATEGORIES),
        "claim": _claim(),
        "confirms": _labels(held),
        "contradicts": _labels(held),
    }
    person = {
        "person": text(TITLE_CHARS),
        "portrait": text(PORTRAIT_CHARS),
        "scores": portrait.SCORED,
        "note": {"anyOf": [_claim(), {"type": "null"}]},
        "replaces": _labels(known),
        "was": text(TITLE_CHARS),
    }
    return closed(
        {
            "appraisal": appraisal.form(),
            "episode": closed(episode),
            "knowledge": array(closed(fact), FACTS),
            "beliefs": array(closed(opinion), BELIEFS),
            "people": array(closed(person), 4),
            "journal": text(JOURNAL_CHARS),
        }
    )


def _claim() -> dict[str, Any]:
    return closed(
        {
            "text": text(SENTENCE_CHARS),
            "cites": array({"type": "string"}, MOST_CITED),
            "rests_on": array(text(QUOTE_CHARS), 3),
            "inference": {"type": "boolean"},
        }
    )


def _labels(labels: Sequence[str]) -> dict[str, Any]:
    """Describe a list of labels; a wrong one is sent back by itself, not the whole answer."""
    return array({"type": "string"}, min(MOST_CITED, len(labels)))


def read(data: Mapping[str, Any]) -> StretchAnswer:
    """Read an answer that keeps to its schema."""
    places = count(1)

    def prose(text: str) -> tuple[Sentence, ...]:
        return tuple(Sentence(f"s{next(places)}", part) for part in words.sentences(text))

    def lines(text: str) -> tuple[tuple[Sentence, ...], ...]:
        return tuple(prose(line) for line in text.splitlines() if line.strip())

    def claimed(raw: Mapping[str, Any] | None) -> tuple[Sentence, ...]:
        if raw is None or not raw["text"].strip():
            return ()
        return (_claimed(f"s{next(places)}", raw),)

    def claims(raw_list: Sequence[Mapping[str, Any]]) -> tuple[Sentence, ...]:
        return tuple(sentence for raw in raw_list for sentence in claimed(raw))

    def told(raw_list: Sequence[Mapping[str, Any]]) -> tuple[Sentence, ...]:
        return tuple(replace(sentence, is_story=True) for sentence in claims(raw_list))

    episode = data["episode"]
    return StretchAnswer(
        data["appraisal"],
        prose(words.one_line(episode["title"]))[:1],
        told(episode["narrative"]),
        lines(episode["reflection"]),
        tuple(
            TitledFact(
                words.one_line(raw["title"]), claims(raw["sentences"]), tuple(raw["replaces"])
            )
            for raw in data["knowledge"]
        ),
        tuple(
            StretchBelief(
                raw["category"],
                claimed(raw["claim"]),
                tuple(raw["confirms"]),
                tuple(raw["contradicts"]),
            )
            for raw in data["beliefs"]
        ),
        tuple(
            PersonView(
                words.one_line(raw["person"]),
                lines(raw["portrait"]),
                raw["scores"] or {},
                claimed(raw["note"]),
                tuple(raw["replaces"]),
                words.one_line(raw["was"]),
            )
            for raw in data["people"]
        ),
        prose(data["journal"]),
    )


def _claimed(place: str, raw: Mapping[str, Any]) -> Sentence:
    return Sentence(
        place,
        words.one_line(raw["text"]),
        True,
        tuple(raw.get("cites", ())),
        tuple(raw.get("rests_on", ())),
        bool(raw.get("inference")),
    )


def mended(sentence: Sentence, raw: Mapping[str, Any]) -> Sentence:
    """Return a sentence as it came again."""
    again = _claimed(sentence.place, raw)
    again = replace(again, is_story=sentence.is_story)
    return again if sentence.claims else Sentence(sentence.place, again.text)


def sifted(part: T, become: Callable[[Sentence], Sentence | None]) -> T:
    """Return an answer, or a part of it, with each sentence as it becomes; None drops it."""
    if isinstance(part, Sentence):
        return become(part)  # type: ignore[return-value]  # dropped by the tuple it stands in
    if isinstance(part, tuple):
        new = (sifted(value, become) for value in part)
        return tuple(value for value in new if value is not None and value != ())  # type: ignore[return-value]
    if isinstance(part, Struct):
        return type(part)(**{name: sifted(value, become) for name, value in asdict(part).items()})
    return part


def joined(parts: Sequence[Sentence]) -> str:
    """Join sentences to a text."""
    return words.paragraph(sentence.text for sentence in parts)


PURPOSE, MEND = "stretch", "mend"
MOST_CITED = 6  # labels that one sentence names
STORY_TOKENS = 2400  # of what an answer says besides portraits, facts and beliefs
MEND_TOKENS = 1500


class Dropped(Struct, frozen=True):
    """A sentence that is not kept, and why."""

    text: str
    why: str


class Draft(Struct, frozen=True):
    """What a model makes of a stretch, each sentence of it checked."""

    answer: StretchAnswer = StretchAnswer()
    dropped: tuple[Dropped, ...] = ()
    mended: int = 0  # sentences that stand the second time
    wording: sayings.Wording | None = None  # of quotes; None: a model wrote it
    noticed: notices.Noticed = notices.NOTHING  # what was read of its messages


# By place: what does not stand, and why.
Failed = dict[str, tuple[Sentence, verifier.SourceVerdict]]


def draw(runtime: Runtime, shown: scene.Scene) -> Draft:
    """Ask a model, and keep what stands on its sources.

    Raises:
        AnswerInvalidError: If nothing of its answer can be read.
        ModelUnreachableError: If none answers; likewise what else stands in its way.
    """
    people, facts = runtime.config.memory.relational, runtime.config.memory.distillation
    question = request(
        runtime,
        PURPOSE,
        scene.slots(runtime, shown),
        max_tokens=STORY_TOKENS + people.reflection_max_tokens + facts.max_extract_tokens,
        temperature=people.reflection_temperature if people.enabled else facts.temperature,
    )
    form = schema(list(shown.known), list(shown.beliefs), episodes.REFLECTION_MAX_CHARS)
    whole = read(structured.answer(runtime.model, question, form))
    refused = vain(runtime)
    whole, strangers = _recognized(runtime, shown, whole)
    answer, failed = _held(whole, shown)
    if not failed:
        answer = _replacing(answer, whole, shown)
        return Draft(answer, strangers, noticed=_corrections(runtime, shown, answer))
    # what was refused before isn't sent back
    new = {name: pair for name, pair in failed.items() if mark(pair[0].text) not in refused}
    again = _asked_again(runtime, question, new, shown) if new else {}
    merged = sifted(whole, lambda one: again.get(one.place) if one.place in failed else one)
    answer, failed_again = _held(merged, shown)
    lost = {name: pair for name, pair in failed.items() if name not in again} | failed_again
    dropped = tuple(Dropped(sentence.text, finding.why) for sentence, finding in lost.values())
    answer = _replacing(answer, whole, shown)
    return Draft(
        answer,
        (*strangers, *dropped),
        len(again) - len(failed_again),
        noticed=_corrections(runtime, shown, answer),
    )


def _corrections(runtime: Runtime, shown: scene.Scene, answer: StretchAnswer) -> notices.Noticed:
    """Note which messages put an earlier one right: of this talk, or of what was known before."""
    new = dict[str, sessions.Notice]()

    def note(last: sessions.Message, older: str) -> None:
        notice = new.get(last.id) or shown.session.notices.get(last.id)
        notice = notice or sessions.Notice(runtime.now(), last.id, keep=True, why="correct")
        if older != last.id and older not in notice.corrects:
            new[last.id] = replace(notice, keep=True, corrects=(*notice.corrects, older))

    def gives_way(text: str, to: sessions.Message) -> float:
        return corrections.replaces(text, to.text, to.at, to.speaker)

    def said(sentences: Iterable[Sentence]) -> list[sessions.Message]:
        labels = [label for one in sentences for label in one.cites]
        return [one for one in shown.cited(labels) if one.role == "user"]

    for opinion in answer.beliefs:
        if opinion.category == CORRECTION and len(cited := said(opinion.sentences)) > 1:
            *before, last = cited
            like, _, older = max((gives_way(one.text, last), one.at, one.id) for one in before)
            if like >= 0:  # else each has another value of something else
                note(last, older)
    for fact in answer.knowledge:
        for known in (shown.known[label] for label in fact.replaces if label in shown.known):
            for one in said(fact.sentences):  # which gives another value for what was known
                is_later = known.told is None or known.told < one.at
                is_other = gives_way(known.text, one) >= corrections.ENOUGH
                if known.cites and is_later and is_other:
                    note(one, known.cites[-1])
    return notices.Noticed(new=(*new.values(),))


NUMBER = "#"  # among the stems of a text: it has some number


def _replacing(answer: StretchAnswer, whole: StretchAnswer, shown: scene.Scene) -> StretchAnswer:
    """Let what is known stand where what was to take its place is not kept, or only believed.

    Of several sentences, some of which are kept, it goes where these say all that the others did
    of it. What follows by counting is known where it replaces what it was counted from.

    Args:
        answer: What stands of an answer.
        whole: The answer as it came.
        shown: The stretch.
    """
    there = {label: one.text for label, one in shown.known.items()}
    there |= {label: one.text for label, one in shown.beliefs.items()}
    language = words.language(*(one.text for one in shown.messages))

    def stems(*texts: str) -> set[str]:
        read = (values.read(text, language).numbers for text in texts)
        numbers = {NUMBER for found in read for number in found if number.claimed}
        return numbers.union(*(words.stems(text, language) for text in texts))

    def replacing(fact: TitledFact, before: TitledFact) -> TitledFact:
        sentences = tuple(
            replace(one, inference=one.inference and not (fact.replaces and one.is_counted))
            for one in fact.sentences
        )
        said = [one for one in sentences if not one.inference]

        def is_gone(name: str) -> bool:
            # a belief goes for what is only believed, too
            standing = sentences if name in shown.beliefs else said
            kept = {one.place: one.text for one in standing}  # mended, it may have lost its number
            lost = [one.text for one in before.sentences if kept.get(one.place) != one.text]
            alone = stems(*lost) - stems(*shown.names.values(), *(one.text for one in standing))
            return bool(standing) and alone.isdisjoint(stems(there.get(name, "")))

        return replace(fact, sentences=sentences, replaces=tuple(filter(is_gone, fact.replaces)))

    facts = map(replacing, answer.knowledge, whole.knowledge)
    return replace(answer, knowledge=tuple(facts))


def _recognized(
    runtime: Runtime, shown: scene.Scene, whole: StretchAnswer
) -> tuple[StretchAnswer, tuple[Dropped, ...]]:
    """Leave out of an answer the people who neither spoke nor are known, and of whom nobody spoke.

    Who alone is called so but for marks is meant: Inés by Ines. Whose name is written in another
    script is called as they call themselves; a name that was said is theirs of whom it was said,
    whatever it sounds like.
    """
    everybody = list(relationships.PERSON.readable(runtime.entity.relationships))
    there = (shown.entity, *shown.names.values())
    people_said = [
        one for one in shown.sources.window if one.id in shown.labels and not one.is_hearsay
    ]
    spoken = "\n".join(one.text for one in people_said)
    told = "\n".join((spoken, *shown.sources.known))

    def is_recorded(name: str) -> bool:
        return relationships.match(everybody, name) is not None

    def called(name: str) -> str:
        if is_recorded(name):
            return name
        alike = [one for one in there if names.sound_alike(name, one)]
        for said in people_said:
            is_theirs = said.who in alike or name.startswith(f"{said.who} ")  # their whole name
            if is_theirs and names.introduces(said.text, name):
                return said.who
        if _is_in(name, told):
            return name
        return next((one for one in alike if not _is_in(one, spoken)), name)

    def meant(name: str) -> str:
        """Return the name of the one person of this circle who is called so but for marks."""
        plain = disk.without_marks(name)
        spelt = {one.person for one in whole.people if disk.without_marks(one.person) == plain}
        like = relationships.alike(shown.acquaintances(everybody), name)
        return like[0].name if len(like) == len(spelt) == 1 else name

    people, dropped = list[PersonView](), list[Dropped]()
    whole_text = "\n".join((*shown.sources.texts, *there))
    for view in whole.people:
        name = called(view.person if view.was else meant(view.person))
        if shown.tells_of_forgotten(name):
            dropped.append(Dropped(name, FORGOTTEN.why))
        elif is_recorded(name) or _is_in(name, whole_text):
            people.append(replace(view, person=name))
        else:
            dropped.append(Dropped(name, "nobody here is called so"))
    return replace(whole, people=tuple(people)), tuple(dropped)


def _is_in(name: str, text: str) -> bool:
    """Whether a part of a name is in a text, in any form."""
    said = words.folded(text)
    heard = list(map(names.bare, stop_words.WORD.findall(said)))
    return any(
        part in said if part.upper() == part else any(names.are_one(part, one) for one in heard)
        for part in map(names.bare, stop_words.WORD.findall(words.folded(name)))
    )


def _held(whole: StretchAnswer, shown: scene.Scene) -> tuple[StretchAnswer, Failed]:
    """Part the sentences of an answer into those that stand and those that don't."""
    failed: Failed = {}

    def become(sentence: Sentence) -> Sentence | None:
        finding = _found(sentence, shown)
        if finding.verdict == "mend":
            failed[sentence.place] = (sentence, finding)
            return None
        return replace(
            sentence,
            inference=sentence.claims and finding.verdict == "inference",
            is_counted=finding == verifier.COUNTED,
        )

    return sifted(whole, become), failed


FORGOTTEN = verifier.SourceVerdict("mend", "it names somebody whom I was to forget")


def _found(sentence: Sentence, shown: scene.Scene) -> verifier.SourceVerdict:
    if shown.tells_of_forgotten(sentence.text):
        return FORGOTTEN
    if not sentence.claims:
        return verifier.check_prose(sentence.text, shown.sources)
    cites = sentence.cites
    if not sentence.is_story:
        cites = tuple(label for label in cites if not label.startswith(verifier.OWN))
    claim = verifier.CitedClaim(sentence.text, cites, sentence.rests_on, sentence.inference)
    return verifier.check(claim, shown.sources)


def _asked_again(
    runtime: Runtime, question: protocol.Request, failed: Failed, shown: scene.Scene
) -> dict[str, Sentence]:
    """Send sentences back with the reasons and what they cite; what comes again, by place."""
    # the messages that sentences can be mended by: those cited, and quoted as reasons
    found = set[str]()
    for sentence, finding in failed.values():
        if sentence.claims:
            found.update(one.id for one in shown.cited(sentence.cites) or shown.messages)
        found.update(one.id for one in shown.messages if one.text in finding.why)
    # what an answer is to tells what it says, and what is said to it, what I answered
    beside = list(pairwise(shown.messages))
    found |= {one.id for one, answer in beside if answer.id in found} | {
        one.id for asked, one in beside if asked.id in found and one.role == "assistant"
    }
    # readings cite nothing: where only these are sent back, any message may mend them
    found = found or {one.id for one in shown.messages}
    slots = {
        "name": shown.entity,
        "reasons": portrait.inside(_sent_back(*pair) for pair in failed.values()),
        "messages": scene.conversation(runtime, shown, found),
    }
    asked = replace(
        question,
        messages=messages(MEND, slots),
        purpose=MEND,
        max_tokens=MEND_TOKENS,
        cache_id=cache_id(MEND),
    )
    # describe the sentences that were sent back, as they may come again
    places = list(failed)
    again = {"place": choice(places), **_claim()["properties"]}
    schema = closed({"mended": array(closed(again), len(places))})
    try:
        raw_list = structured.answer(runtime.model, asked, schema)["mended"]
    except NO_ANSWER:
        return {}
    return {
        raw["place"]: mended(failed[raw["place"]][0], raw)
        for raw in raw_list
        if raw["text"].strip()
    }


def _sent_back(sentence: Sentence, finding: verifier.SourceVerdict) -> str:
    kind = f"claim, cites {', '.join(sentence.cites)}" if sentence.claims else "reading"
    return f"{sentence.place} ({kind}): {sentence.text}\n  {finding.why}"


def mark(text: str) -> str:
    """Identify a sentence, however its words are spaced and written."""
    return review_queue.mark(" ".join(stop_words.words(words.folded(text))))


# By how many points a person's news moves the bars, and the emotion and intensity that it leaves.
HEAVY: Mapping[str, float] = {"social": 2, "comfort": -2, "tension": 3}
GLAD: Mapping[str, float] = {"social": 2, "comfort": 2, "tension": -1}
LEFT = {
    ("heavy", 1): ("concerned", 0.5),
    ("heavy", 2): ("melancholy", 0.7),
    ("glad", 1): ("content", 0.4),
    ("glad", 2): ("content", 0.6),
}


def draw_quotes(runtime: Runtime, shown: scene.Scene, wording: sayings.Wording) -> Draft:
    """Make what a stretch comes to of what people said in it; asks no model."""
    noticed = notices.notices(runtime, shown.session, shown.messages)
    kept = sayings.sayings(runtime, shown.session, shown.messages, noticed)
    label_of = shown.label_of
    kept = [
        saying
        for saying in kept
        if saying.message.id in label_of and not shown.tells_of_forgotten(saying.message.text)
    ]
    places = count(1)

    def sentence(text: str, saying: sayings.Saying) -> Sentence:
        return Sentence(f"s{next(places)}", text, True, (label_of[saying.message.id],))

    older = {saying.older.message for saying in kept if saying.older}
    shown_sayings = [saying for saying in kept if saying.message.id not in older]
    several = len({each.quote.name for each in shown_sayings}) > 1
    narrative = tuple(sentence(wording.line(each, named=several), each) for each in shown_sayings)
    answer = StretchAnswer(
        appraisal=_appraisal(shown.messages, noticed, wording),
        title=(Sentence("title", wording.title(kept)),) if kept else (),
        narrative=narrative,
        # each word that puts an earlier one right speaks against what rests on that
        beliefs=tuple(
            StretchBelief(
                CORRECTION,
                (sentence(quotes.plain(quotes.line(saying.quote, wording.template)), saying),),
                puts_right=saying.older.message,
            )
            for saying in kept
            if saying.older is not None
        ),
    )
    return Draft(answer, wording=wording, noticed=noticed)


def _appraisal(
    messages: Sequence[sessions.Message], noticed: notices.Noticed, wording: sayings.Wording
) -> dict[str, Any]:
    """Say what the weightiest of some messages did to the body; nothing, where none weighs."""
    weighed = [
        (level, kind, message)
        for message in messages
        if (notice := noticed.of.get(message.id)) is not None
        for kind, level in (("heavy", notice.heavy), ("glad", notice.glad))
        if level and (kind == "heavy" or not notice.heavy)  # dread is no joy, whatever it may be
    ]
    if not weighed:
        return {"bars": {}}
    level, kind, message = max(weighed, key=lambda each: each[0])
    moved = HEAVY if kind == "heavy" else GLAD
    emotion, intensity = LEFT[kind, level]
    trigger = quotes.marked(quotes.words_of(message.text), wording.template)
    return {
        "bars": dict(moved),
        "imprint": {"emotion": emotion, "intensity": intensity, "trigger": trigger},
    }
