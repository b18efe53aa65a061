from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bumble.bridges.report.life import Collector
from bumble.entity import changes
from bumble.entity.folder import Entity
from bumble.jobs import ask, consolidate, portrait, scene, stretch
from bumble.jobs.forgetting import forget
from bumble.llm import openai_format, prompts
from bumble.llm.ledger import Budgeted, DaySpending, Limits
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.recall import memory_search
from bumble.recall.memory_search import Search
from bumble.records import (
    beliefs,
    episodes,
    forgotten,
    journal,
    knowledge,
    relationships,
    sessions,
    state,
)
from bumble.records.base import Provenance
from bumble.records.provenance import Reader
from bumble.records.relationships import PendingNote, Scores
from bumble.runtime import people as meetings
from bumble.runtime import review_queue
from bumble.runtime.job import JobResult, apply, messages, vain
from bumble.runtime.runtime import Runtime
from bumble.text import titles
from tests.support.absent_model import Leaving
from tests.support.living import NOON, ada, heard, known, model_of, runtime_of, talked, write
from tests.support.repository import git
from tests.support.stretches import belief, claim, fact, makes, mends, seen

DOG = ("sam", "I have a dog called Biscuit, and he has eaten six slippers.")
TEA = ("sam", "I prefer tea to coffee, by the way.")
HAS_DOG = claim("Sam has a dog, Biscuit.", "m1", rests=["a dog called Biscuit"])
LIKES_TEA = claim("Sam likes tea better than coffee.", "m3", rests=["I prefer tea to coffee"])
OWN = Provenance("reflect", audience=("sam",))
HAS_SHED = claim("Sam builds a shed.", "m1", rests=["The shed is to be"])
INVENTED = claim("Sam has a cat called Mitzi.", "m1", rests=["a dog called Biscuit"])


@pytest.fixture
def entity(tmp_path: Path) -> Entity:
    made = ada(tmp_path)
    known(made, "Sam")
    return made


def dealt(entity: Entity, *replies: Reply, **values: Any) -> tuple[Runtime, JobResult]:
    runtime = runtime_of(entity, *replies, **values)
    [job] = stretch.check(runtime).jobs
    return runtime, apply(runtime, stretch.run(runtime, job))


def sections(entity: Entity) -> dict[str, str]:
    book = knowledge.read(entity.knowledge)
    return {one.title: one.text for one in book.sections if not one.locked}


def test_one_answer_goes_where_each_part_belongs_and_the_cursor_moves(entity: Entity) -> None:
    heard(entity, DOG, TEA)
    runtime, outcome = dealt(
        entity,
        makes(
            HAS_DOG,
            title="Biscuit and the slippers",
            reflection="I laughed. I wonder what the slippers meant to Sam.",
            felt={"felt": "I am amused.", "bars": {"social": 3}},
            knowledge=[fact("Sam's dog", HAS_DOG)],
            beliefs=[belief(LIKES_TEA)],
            people=[seen("Sam", "Sam laughs about what Biscuit does.\nI like that in Sam.")],
            journal="Six slippers.",
        ),
    )
    assert len(model_of(runtime).requests) == 1
    [episode] = episodes.EPISODE.readable(entity.episodes)
    assert episode.text.startswith("# Biscuit and the slippers\n\nSam has a dog, Biscuit.")
    assert episode.telling.reflection == "I laughed. I wonder what the slippers meant to Sam."
    assert sections(entity) == {"Sam's dog": "Sam has a dog, Biscuit."}
    [held] = beliefs.BELIEF.readable(entity.beliefs)
    assert (held.text, held.evidence) == (LIKES_TEA["text"], ("msg_1002",))
    assert (held.confidence, held.origin) == (0.7, "conversation")
    sam = relationships.find(entity.relationships, "sam")
    assert sam.text == "Sam laughs about what Biscuit does.\nI like that in Sam."
    assert sam.scores == Scores(0.3, 0.6, 0.6, 0.0, 0.5)
    assert journal.read(entity.journal, runtime.zone).entries[-1].text == "Six slippers."
    assert state.waiting(state.read(entity.state)) == {}
    assert not stretch.check(runtime, force=True).jobs
    assert dict(outcome.trailers)["Model"] == "scripted"


def test_what_fails_goes_back_once_with_the_reason_and_the_rest_stands(entity: Entity) -> None:
    heard(entity, DOG, TEA)
    again = {"place": "s2", "text": "Sam has a pet.", "cites": ["m1"], "rests_on": ["I have a dog"]}
    runtime, outcome = dealt(
        entity, makes(HAS_DOG, INVENTED, reflection="I was glad."), mends(again)
    )
    [episode] = episodes.EPISODE.readable(entity.episodes)
    told = "Sam has a dog, Biscuit. Sam has a pet."
    assert episode.telling.narrative == told
    back = model_of(runtime).requests[1].messages[-1].content
    assert "Sam has a cat called Mitzi.\n  nobody said Mitzi" in back
    assert HAS_DOG["text"] not in back
    assert DOG[1] in back and TEA[1] not in back  # only what it cites
    assert (outcome.data["mended"], outcome.data["dropped"]) == (1, [])
    assert all(openai_format.is_strict(one.schema or {}) for one in model_of(runtime).requests)
    assert not vain(runtime)


def test_what_an_answer_is_to_is_shown_where_a_sentence_of_it_is_mended(entity: Entity) -> None:
    heard(entity, DOG, TEA)
    of_tea = claim("Sam has a cat called Mitzi.", "m3", rests=[TEA[1]])
    runtime, _ = dealt(entity, makes(HAS_DOG, of_tea), mends())
    back = model_of(runtime).requests[1].messages[-1].content
    assert "nobody said Mitzi" in back
    assert "Ada: I see.\n[m3]" in back and DOG[1] not in back


def test_who_is_gone_before_it_mends_a_sentence_has_told_the_others(entity: Entity) -> None:
    heard(entity, DOG)
    runtime = runtime_of(entity)
    leaving = Leaving([makes(HAS_DOG, INVENTED)])
    runtime = replace(runtime, model=Budgeted(leaving, Limits(None, None, DaySpending)))
    [job] = stretch.check(runtime).jobs
    apply(runtime, stretch.run(runtime, job))
    [episode] = episodes.EPISODE.readable(entity.episodes)
    assert (episode.telling.narrative, len(leaving.requests)) == (HAS_DOG["text"], 2)


def test_a_talk_over_several_days_is_shown_with_them(entity: Entity) -> None:
    session = heard(entity, DOG, TEA)
    later = [
        replace(one, at=one.at + timedelta(hours=n * 10)) for n, one in enumerate(session.messages)
    ]
    runtime = runtime_of(entity, makes(HAS_DOG))
    shown = scene.gather(runtime, replace(session, messages=tuple(later)), later)
    lines = scene.conversation(runtime, shown, {one.id for one in later}).splitlines()
    assert [line for line in lines if line.startswith("(")] == ["(Monday 25 May 2026)"]
    assert shown.day not in "".join(lines)


def test_what_was_sent_back_in_vain_is_not_sent_back_again(entity: Entity) -> None:
    heard(entity, DOG)
    runtime, outcome = dealt(entity, makes(HAS_DOG, INVENTED), mends())
    assert len(model_of(runtime).requests) == 2
    assert vain(runtime) == [ask.mark(INVENTED["text"])]
    heard(entity, TEA, name="ses_2", at=NOON - timedelta(minutes=50))
    runtime, outcome = dealt(entity, makes(INVENTED))
    assert len(model_of(runtime).requests) == 1
    assert [one["text"] for one in outcome.data["dropped"]] == [INVENTED["text"]]


def test_a_title_that_comes_back_alone_is_mended_by_the_talk(entity: Entity) -> None:
    heard(entity, DOG)
    again = {"place": "s1", "text": "Biscuit", "cites": [], "rests_on": []}
    runtime, _ = dealt(entity, makes(HAS_DOG, title="Mitzi the cat"), mends(again))
    assert DOG[1] in model_of(runtime).requests[1].messages[-1].content
    [episode] = episodes.EPISODE.readable(entity.episodes)
    assert episode.text.startswith("# Biscuit")


def test_what_fails_twice_is_dropped_and_not_sent_back_by_a_later_pass(entity: Entity) -> None:
    heard(entity, DOG)
    still = {**INVENTED, "place": "s2"}
    _, outcome = dealt(entity, makes(HAS_DOG, INVENTED), mends(still))
    assert [one["text"] for one in outcome.data["dropped"]] == [INVENTED["text"]]
    heard(entity, DOG, name="ses_2", at=NOON - timedelta(minutes=50))
    runtime, outcome = dealt(entity, makes(HAS_DOG, INVENTED))
    assert [one.purpose for one in model_of(runtime).requests] == ["stretch"]
    assert [one["text"] for one in outcome.data["dropped"]] == [INVENTED["text"]]
    heard(entity, ("sam", "My cat is called Mitzi."), name="ses_3", at=NOON - timedelta(minutes=40))
    said = claim(INVENTED["text"], "m1", rests=["My cat is called Mitzi"])
    _, outcome = dealt(entity, makes(said))
    assert outcome.data["dropped"] == []  # it was said since


def test_where_the_second_answer_fails_the_rest_is_kept_all_the_same(entity: Entity) -> None:
    heard(entity, DOG)
    _, outcome = dealt(entity, makes(HAS_DOG, INVENTED))
    assert [one["text"] for one in outcome.data["dropped"]] == [INVENTED["text"]]
    assert len(list(episodes.EPISODE.readable(entity.episodes))) == 1


def test_what_goes_beyond_the_words_is_marked_and_believed_less(entity: Entity) -> None:
    heard(entity, DOG)
    guess = claim("Sam lets Biscuit do as he likes.", "m1", rests=["six slippers"], inference=True)
    _, outcome = dealt(entity, makes(HAS_DOG, guess, knowledge=[fact("Biscuit", HAS_DOG, guess)]))
    assert f"believed, not known: {guess['text']}" in str(outcome.lines)
    assert sections(entity) == {"Biscuit": HAS_DOG["text"]}
    [held] = beliefs.BELIEF.readable(entity.beliefs)
    assert (held.text, held.origin, held.confidence) == (guess["text"], "inference", 0.45)
    [episode] = episodes.EPISODE.readable(entity.episodes)
    assert episode.source.meta["inferences"] == [guess["text"]]


SIX = claim("Biscuit has eaten six slippers.", "m1", rests=["eaten six slippers"])
SEVEN = claim("Seven of them were eaten, not six.", "m1", rests=["seven slippers, not six"])


def counted_again(
    entity: Entity, *known: Any, readers: str, title: str, replaces: str
) -> tuple[JobResult, str]:
    """Tell of slippers, open what is known of them by hand, and put their number right.

    Returns:
        What came of it, and what was asked.
    """
    heard(entity, DOG)
    dealt(entity, makes(SIX, knowledge=[fact("Slippers", *known)]))
    shown = entity.knowledge.read_text()
    entity.knowledge.write_text(shown.replace(" [only for sam]", readers))
    line = ("sam", "By the way it was seven slippers, not six.")
    heard(entity, line, name="ses_2", at=NOON - timedelta(minutes=50))
    runtime = runtime_of(entity)
    [job] = stretch.check(runtime).jobs
    model = ScriptedModel([makes(SEVEN, knowledge=[fact(title, SEVEN, replaces=[replaces])])])
    done = apply(runtime, stretch.run(replace(runtime, model=model), job))
    return done, model.requests[0].messages[-1].content


def test_what_was_put_right_takes_the_place_of_the_older_sentence(entity: Entity) -> None:
    done, asked = counted_again(entity, HAS_DOG, SIX, readers="", title="The count", replaces="k2")
    assert "“Slippers” of knowledge.md was for everybody, and is only for some now" in done.late
    assert f"k2: Slippers: {SIX['text']}" in asked
    assert sections(entity) == {"Slippers": f"{HAS_DOG['text']} {SEVEN['text']}"}


def test_what_others_know_as_well_stays_and_that_is_told(entity: Entity) -> None:
    done, _ = counted_again(
        entity, SIX, readers=" [only for bo, sam]", title="Zurek slippers", replaces="k1"
    )
    assert f"stays, for others may know it, too: Slippers: {SIX['text']}" in done.late
    assert {*sections(entity)} == {"Slippers", "Slippers (Sam)"}
    assert {*sections(entity).values()} == {SIX["text"], SEVEN["text"]}


SIZES = ("sam", "The waist is 68 cm, the skirt 62 cm long. Neuza comes to lunch on Sunday.")
SIZE = claim("The waist is 68 cm and the skirt 62 cm.", "m1", rests=["waist is 68 cm"])
LUNCH = claim("Neuza comes to lunch on Sunday.", "m1", rests=["Neuza comes to lunch"])


def fitted(
    entity: Entity, *new: Any, replaces: list[str], again: Sequence[Any] = ()
) -> dict[str, str]:
    """Tell of a dress and a visit, then make facts of what is said of both a day later."""
    heard(entity, SIZES)
    dealt(entity, makes(SIZE, knowledge=[fact("Dress", SIZE), fact("Visit", LUNCH)]))
    line = ("sam", "The waist is 66 cm now, the skirt 5 cm shorter. Neuza is ill, no lunch.")
    heard(entity, line, name="ses_2", at=NOON - timedelta(minutes=50))
    runtime = runtime_of(entity)
    [job] = stretch.check(runtime).jobs
    looking = ScriptedModel([makes("We talked.")])
    stretch.run(replace(runtime, model=looking), job)
    shown = looking.requests[0].messages[-1].content
    text = {"Dress": SIZE["text"], "Visit": LUNCH["text"]}
    label = {
        name: re.search(rf"(k\d): {name}: {re.escape(said)}", shown)[1]  # type: ignore[index]
        for name, said in text.items()
    }
    learnt = fact("Dress", *new, replaces=[label[name] for name in replaces])
    answers = ScriptedModel([makes("We talked.", knowledge=[learnt]), *map(mends, again)])
    apply(runtime, stretch.run(replace(runtime, model=answers), job))
    return sections(entity)


def test_a_sum_of_what_is_known_is_known_and_each_label_counts_in_its_section(
    entity: Entity,
) -> None:
    new = claim(
        "The waist is 66 cm and the skirt 57 cm; Neuza is ill.", "m1", rests=["5 cm shorter"]
    )
    after = fitted(entity, new, replaces=["Dress", "Visit"])
    assert after == {"Dress": new["text"]}
    assert not list(beliefs.BELIEF.readable(entity.beliefs))


def test_what_follows_by_counting_takes_the_place_of_what_it_was_counted_from(
    entity: Entity,
) -> None:
    half = claim("The waist is 33 cm on each side.", "m1", rests=["waist is 66 cm"])
    assert fitted(entity, half, replaces=["Dress"])["Dress"] == half["text"]
    assert not list(beliefs.BELIEF.readable(entity.beliefs))


def test_what_lost_its_number_when_it_was_mended_replaces_no_number(entity: Entity) -> None:
    wrong = claim("The waist is 44 cm.", "m1", rests=["waist is 66 cm"])
    again = {
        "place": "s2",
        "text": "Sam told of it.",
        "cites": ["m1"],
        "rests_on": ["waist is 66 cm"],
    }
    after = fitted(entity, wrong, replaces=["Dress"], again=[again])
    assert after["Dress"].startswith(SIZE["text"])


def test_what_only_a_dropped_or_inferred_sentence_would_replace_stays(entity: Entity) -> None:
    new = claim("The waist is 66 cm.", "m1", rests=["waist is 66 cm"])
    lost = claim("Neuza is ill at the lunch in Paris.", "m1", rests=["Neuza is ill"])
    guess = claim("The skirt falls well.", "m1", rests=["5 cm shorter"], inference=True)
    after = fitted(entity, new, lost, guess, replaces=["Dress", "Visit"])
    assert after == {"Dress": f"{SIZE['text']}\n{new['text']}", "Visit": LUNCH["text"]}


@pytest.mark.parametrize(
    ("audience", "more", "left"),
    [((), "", LUNCH["text"]), (("sam",), "", None), (("sam",), "\n\n### Wine", None)],
)
def test_what_replaces_is_for_all_who_knew_and_no_heading_stays_alone(
    entity: Entity, audience: tuple[str, ...], more: str, left: str | None
) -> None:
    mine = Provenance(by="distill", sources=("ses_0",), trust="owner", audience=audience)
    there = {"Health": "Neuza has good health.", "Visit": LUNCH["text"] + more}
    entity.knowledge.write_text(
        "\n".join(knowledge.new_section(title, text, mine) for title, text in there.items())
    )
    heard(entity, ("sam", "Neuza is ill, her health is bad. No Sunday visit, no lunch for Neuza."))
    ill = claim("Neuza is ill.", "m1", rests=["Neuza is ill"])
    dealt(entity, makes(ill, knowledge=[fact("Health", ill, replaces=["k1", "k2"])]))
    told = {"Health": "Neuza is ill."}
    assert sections(entity) == (told | {"Visit": left} if left else told)


@pytest.mark.parametrize("line", ["On 18 May I ran 6 miles.", "I ran 6 miles, not 8."])
def test_of_what_is_known_only_goes_what_was_named(entity: Entity, line: str) -> None:
    ran = claim("On 15 May Sam ran 8 miles.", "m1", rests=["I ran 8 miles"])
    heard(entity, ("sam", "On 15 May I ran 8 miles."))
    dealt(entity, makes(ran, knowledge=[fact("Running log", ran)]))
    heard(entity, ("sam", line), name="ses_2", at=NOON - timedelta(minutes=50))
    new = claim("Sam ran 6 miles.", "m1", rests=[line])
    _, outcome = dealt(entity, makes(new, knowledge=[fact("Running log", new)]))
    assert sections(entity) == {"Running log": f"{ran['text']}\n{new['text']}"}
    assert "replaced" not in outcome.told


def test_what_a_stretch_names_is_known_in_it_however_much_else_it_speaks_of(
    entity: Entity,
) -> None:
    waist = "The waist of the dress is 66, the hem of the dress 57, and the sleeve of it 60."
    other = "".join(f"## Dress, hem {n}\n\nThe hem and waist of dress {n}.\n\n" for n in range(4))
    entity.knowledge.write_text(f"{other}## Choir\n\nThey sing on 13 December.\n")
    heard(entity, ("sam", waist), ("sam", "And the choir moved, to the 20th."))
    runtime = runtime_of(entity)
    [job] = stretch.check(runtime).jobs
    model = ScriptedModel([makes(claim("They sing on 20 December.", "m2", rests=["to the 20th"]))])
    stretch.run(replace(runtime, model=model), job)
    assert ": Choir: They sing on 13 December." in model.requests[0].messages[-1].content


@pytest.mark.parametrize(
    ("origin", "archived"),
    [
        (Provenance(by="distill", trust="person", audience=("sam",)), True),
        (Provenance(by="distill", trust="person"), False),  # others hold it, too
        (Provenance(audience=("sam",)), False),  # by hand
    ],
)
def test_what_is_known_takes_the_place_of_a_belief(
    entity: Entity, origin: Provenance, archived: bool
) -> None:
    guess = ("bel_1", "Sam will get a dog one day.", "world_fact", 0.5, NOON)
    write(entity, beliefs.BELIEF.plan_new(beliefs.new(*guess, provenance=origin), ""))
    heard(entity, DOG)
    dealt(entity, makes(HAS_DOG, knowledge=[fact("Biscuit", HAS_DOG, replaces=["b1"])]))
    [held] = beliefs.BELIEF.readable(entity.beliefs)
    assert held.archived is archived
    assert sections(entity) == {"Biscuit": HAS_DOG["text"]}


def test_a_belief_goes_for_what_is_only_believed_in_its_place(entity: Entity) -> None:
    origin = Provenance(by="distill", trust="person", audience=("sam",))
    guess = ("bel_1", "Biscuit has teeth for slippers until he is old.", "world_fact", 0.5, NOON)
    write(entity, beliefs.BELIEF.plan_new(beliefs.new(*guess, provenance=origin), ""))
    heard(entity, DOG)
    after = claim("Biscuit loves slippers until he is old.", "m1", rests=["six slippers"])
    after["inference"] = True
    new = fact("Biscuit", HAS_DOG, after, replaces=["b1"])
    dealt(entity, makes(HAS_DOG, knowledge=[new]))
    held = {one.text: one.archived for one in beliefs.BELIEF.readable(entity.beliefs)}
    assert held == {guess[1]: True, after["text"]: False}


def test_the_same_request_tells_what_a_belief_confirms_and_contradicts(entity: Entity) -> None:
    for name, text in (("bel_1", "Sam is fond of tea."), ("bel_2", "Sam prefers coffee to tea.")):
        origin = Provenance(by="distill", trust="owner", audience=("sam",))
        held = beliefs.new(name, text, "preference", 0.6, NOON, provenance=origin)
        write(entity, beliefs.BELIEF.plan_new(held, ""))
    heard(entity, DOG, TEA)
    runtime = runtime_of(entity)
    [job] = stretch.check(runtime).jobs
    stretch.run(replace(runtime, model=(looking := ScriptedModel([makes(HAS_DOG)]))), job)
    asked = looking.requests[0].messages[-1].content
    label = {text: f"b{n}" for n in (1, 2) for text in ("fond", "coffee") if f"b{n}: " in asked
             and text in asked.split(f"b{n}: ")[1].splitlines()[0]}  # fmt: skip
    verdicts = belief(LIKES_TEA, confirms=[label["fond"]], contradicts=[label["coffee"]])
    answering = ScriptedModel([makes(HAS_DOG, beliefs=[verdicts])])
    apply(runtime, stretch.run(replace(runtime, model=answering), job))
    assert len(answering.requests) == 1
    after = {one.id: one for one in beliefs.BELIEF.readable(entity.beliefs)}
    assert set(after) == {"bel_1", "bel_2"}
    assert after["bel_1"].confidence > 0.6 > after["bel_2"].confidence
    assert after["bel_2"].contradicts == ("bel_1",)


def test_among_several_nobody_sees_the_portrait_of_one_and_notes_wait(entity: Entity) -> None:
    known(entity, "Kim", "Kim is afraid of the sea.")
    heard(entity, DOG, ("kim", "I like your dog."), present=("kim",))
    note = claim("Sam is patient with Biscuit.", "m1", rests=["six slippers"], inference=True)
    people = [seen("Sam", "Sam is patient.", note), seen("Kim", "Kim is here.")]
    runtime, _ = dealt(entity, makes(HAS_DOG, people=people))
    assert "afraid of the sea" not in model_of(runtime).requests[0].messages[-1].content
    assert relationships.find(entity.relationships, "kim").text == "Kim is afraid of the sea."
    [waiting] = relationships.find(entity.relationships, "sam").pending
    assert waiting.text == note["text"]
    assert set(waiting.provenance.audience) == {"sam", "kim"}


def test_somebody_is_known_from_when_they_were_spoken_of(entity: Entity) -> None:
    session = heard(entity, ("sam", "My aunt Rosa sings."))
    note = claim("Rosa, Sam's aunt, sings.", "m1", rests=["aunt Rosa sings"])
    dealt(entity, makes(note, people=[seen("Rosa", note=note)]))
    rosa = relationships.find(entity.relationships, "rosa")
    assert rosa.first_met == session.messages[0].at < NOON


def test_who_alone_is_called_so_but_for_marks_is_meant(entity: Entity) -> None:
    known(entity, "Inés")
    note = claim("Ines is Sam's wife.", "m1", rests=["Ines is my wife"])
    heard(entity, ("sam", "Ines is my wife."))
    dealt(entity, makes(note, people=[seen("Ines", note=note)]))
    [held] = relationships.find(entity.relationships, "Inés").pending
    assert (held.text, held.provenance.audience) == (note["text"], ("sam",))
    known(entity, "Inès")
    heard(entity, ("sam", "Ines is my wife."), name="ses_2", at=NOON - timedelta(minutes=50))
    _, outcome = dealt(entity, makes(note, people=[seen("Ines", note=note)]))
    assert "not written: Ines: is it Inès or Inés?" in outcome.told


def test_two_names_that_differ_by_marks_in_one_message_are_two_people(entity: Entity) -> None:
    known(entity, "Inés")
    wife = claim("Ines is Sam's wife.", "m1", rests=["Ines is my wife"])
    boss = claim("Inès is Sam's boss.", "m1", rests=["Inès is my boss"])
    heard(entity, ("sam", "Ines is my wife. Inès is my boss."))
    people = [seen("Ines", note=wife), seen("Inès", note=boss)]
    _, outcome = dealt(entity, makes(wife, boss, people=people))
    assert not relationships.find(entity.relationships, "Inés").pending
    assert "not written: Ines: is it Inés?" in outcome.told


def test_whom_only_others_know_is_nobody_of_a_like_name(entity: Entity) -> None:
    known(entity, "Inés")
    path = entity.root / relationships.PERSON.place(
        relationships.find(entity.relationships, "Inés")
    )
    path.write_text(path.read_text().replace("---\n", "---\naudience: [bo]\n", 1))
    wife = claim("Ines is Sam's wife.", "m1", rests=["Ines is my wife"])
    heard(entity, ("sam", "Ines is my wife."))
    dealt(entity, makes(wife, people=[seen("Ines", note=wife)]))
    assert not relationships.find(entity.relationships, "Inés").pending
    assert relationships.find(entity.relationships, "Ines").text == wife["text"]


def test_nobody_is_known_who_neither_spoke_nor_was_spoken_of(entity: Entity) -> None:
    heard(entity, ("sam", "My aunt sings."))
    note = claim("The aunt sings.", "m1", rests=["aunt sings"])
    _, outcome = dealt(
        entity, makes(note, people=[seen("Rosa", note=note), seen("由紀", note=note)])
    )
    assert [one.id for one in relationships.PERSON.readable(entity.relationships)] == ["sam"]
    assert "nobody here is called so: Rosa" in "\n".join(outcome.lines)


def test_whose_name_is_written_in_another_script_gets_the_portrait(entity: Entity) -> None:
    known(entity, "ヌール")
    heard(entity, ("ヌール", "أنا نور. I love coffee."), by="ヌール")
    drawn = seen("نور", portrait="نور says that coffee is loved, and says so again and again.")
    dealt(entity, makes(people=[drawn]))
    assert "coffee" in relationships.find(entity.relationships, "ヌール").text


@pytest.mark.parametrize(
    ("said", "is_theirs"),
    [
        ("Моя сестра Марина любит кофе.", False),
        ("Moran любит кофе.", False),
        ("Я Марина, люблю кофе.", True),
        ("Люблю кофе.", True),
    ],
)
def test_a_name_is_theirs_of_whom_it_was_said_whatever_it_sounds_like(
    entity: Entity, said: str, is_theirs: bool
) -> None:
    known(entity, "Moran")
    heard(entity, ("moran", said), by="moran")
    drawn = seen("Марина", portrait="Люблю слушать про кофе, и хочется слушать ещё и ещё.")
    dealt(entity, makes(people=[drawn]))
    assert ("кофе" in relationships.find(entity.relationships, "Moran").text) == is_theirs


def test_the_page_of_somebody_spoken_of_says_it_until_they_speak_themselves(
    entity: Entity,
) -> None:
    heard(entity, ("sam", "My aunt Rosa sings."))
    sings = claim("Rosa, Sam's aunt, sings.", "m1", rests=["aunt Rosa sings"])
    dealt(entity, makes(sings, people=[seen("Rosa", note=sings)]))
    heard(entity, ("sam", "Rosa fears the sea."), name="ses_2", at=NOON - timedelta(minutes=50))
    fears = claim("Rosa fears the sea.", "m1", rests=["Rosa fears the sea"])
    runtime, _ = dealt(entity, makes(fears, people=[seen("Rosa", note=fears)]))
    rosa = relationships.find(entity.relationships, "rosa")
    assert rosa.text == f"{sings['text']}\n{fears['text']}"
    assert (rosa.audience, rosa.pending) == (("sam",), ())
    assert rosa.origin_of(fears["text"]).sources[0] == "ses_2"
    session = heard(entity, ("rosa", "Hello, I am Rosa."), name="ses_3")
    write(entity, meetings.plan_met(runtime, "rosa", "Rosa", NOON, session, "We met."))
    rosa = relationships.find(entity.relationships, "rosa")
    assert (rosa.text, rosa.audience, rosa.first_met) == ("", ("rosa",), NOON)
    assert [(one.text, one.provenance.audience) for one in rosa.pending] == [
        (sings["text"], ("sam",)),
        (fears["text"], ("sam",)),
    ]
    assert rosa.apart == rosa.pending
    runtime.memory.sync()
    search = Search(("sam",), "content", NOON)
    for readers, told in ((("sam",), True), (("rosa",), False), (("sam", "rosa"), False)):
        given = replace(search, readers=readers)
        hits = memory_search.find(
            *(runtime.memory, runtime.config, given, "Rosa sea"),
            kinds=("person",),
            limit=5,
            unasked=False,
        )
        assert any(fears["text"] in hit.text for hit in hits) is told
    life = Collector(entity, UTC, "Ada", Reader("sam", is_owner=True)).collect(lambda _, __: None)
    (shown,) = [one for one in life.people if one.id == "rosa"]
    assert (shown.record.text, shown.notes) == ("", (sings["text"], fears["text"]))
    theirs = Collector(entity, UTC, "Ada", Reader("rosa")).collect(lambda _, __: None)
    assert all(not one.notes for one in theirs.people)


def test_a_page_written_by_hand_keeps_its_lines_when_its_person_speaks(entity: Entity) -> None:
    by_hand = "---\nnames: [Rosa]\naudience: [sam]\n---\n\nMy favourite aunt.\n"
    (entity.relationships / "rosa.md").write_text(by_hand)
    heard(entity, ("sam", "My aunt Rosa sings."))
    sings = claim("Rosa, Sam's aunt, sings.", "m1", rests=["aunt Rosa sings"])
    runtime, _ = dealt(entity, makes(sings, people=[seen("Rosa", note=sings)]))
    rosa = relationships.find(entity.relationships, "rosa")
    assert rosa.text == f"My favourite aunt.\n{sings['text']}"
    session = heard(entity, ("rosa", "Hello, I am Rosa."), name="ses_3")
    write(entity, meetings.plan_met(runtime, "rosa", "Rosa", NOON, session, "We met."))
    rosa = relationships.find(entity.relationships, "rosa")
    assert (rosa.text, rosa.audience) == ("My favourite aunt.", ("sam",))


def test_a_portrait_takes_in_the_notes_and_none_that_loses_much_is_taken(entity: Entity) -> None:
    waiting = PendingNote("Sam sings.", NOON, Provenance(audience=("sam",)))
    sam = relationships.find(entity.relationships, "sam")
    long = "Sam lives by the river in Lisbon.\nSam builds clocks.\nI like to listen to Sam."
    write(entity, relationships.plan_update(sam, "", text=long, pending=(waiting,), provenance=OWN))
    heard(entity, DOG)
    _, outcome = dealt(
        entity,
        makes(HAS_DOG, people=[seen("Sam", "Sam has a dog that is called Biscuit, I hear.")]),
    )
    assert "it would lose" in outcome.data["portraits"][0]["refused"]
    assert relationships.find(entity.relationships, "sam").text == long
    heard(entity, DOG, name="ses_2", at=NOON - timedelta(minutes=50))
    dealt(entity, makes(HAS_DOG, people=[seen("Sam", f"{long}\nSam sings.")]))
    after = relationships.find(entity.relationships, "sam")
    assert (after.text, after.pending) == (f"{long}\nSam sings.", ())


def test_a_portrait_that_waits_for_review_is_not_drawn_once_more(entity: Entity) -> None:
    heard(entity, DOG)
    drawn = [seen("Sam", "Sam is at ease with me.\nHe likes his dog more than his slippers.")]
    [sam] = relationships.PERSON.readable(entity.relationships)
    write(entity, relationships.plan_update(sam, "", interaction_count=3))
    runtime = runtime_of(entity, makes(HAS_DOG, people=drawn))

    def due() -> set[str]:
        return {step.part.name for step in consolidate.check(runtime, force=True).jobs}

    assert "portraits" in due()
    [job] = stretch.check(runtime).jobs
    _, proposed = stretch.run(runtime, job).planned()
    dealt = {
        review_queue.SECTION: {review_queue.DEALT: dict.fromkeys(proposed.marks, "2026-05-24")}
    }
    write(entity, state.plan_write(state.read(entity.state), dealt, ""))
    assert "portraits" not in due()


def test_what_was_only_dreamt_is_shown_as_no_belief(entity: Entity) -> None:
    for n, category in enumerate(("dream_insight", "world_fact")):
        text = f"A dog with slippers, {category}."
        one = beliefs.new(f"bel_{n}", text, category, 0.6, NOON, provenance=OWN)
        write(entity, beliefs.BELIEF.plan_new(one, ""))
    heard(entity, DOG)
    runtime, _ = dealt(entity, makes(HAS_DOG))
    asked = model_of(runtime).requests[0].messages[-1].content
    assert "b1: A dog with slippers, world_fact." in asked
    assert "dream_insight" not in asked


def test_a_portrait_edited_meanwhile_stays_and_the_rest_is_kept(entity: Entity) -> None:
    heard(entity, DOG)
    runtime = runtime_of(
        entity, makes(HAS_DOG, people=[seen("Sam", "Sam has a dog, and knows how to laugh.")])
    )
    [job] = stretch.check(runtime).jobs
    outcome = stretch.run(runtime, job)
    file = entity.relationships / "sam.md"
    file.write_text(f"{file.read_text()}\nBy hand.\n")
    told = apply(runtime, outcome).told
    assert any("edited meanwhile" in line for line in told)
    assert relationships.find(entity.relationships, "sam").text == "By hand."
    assert len(list(episodes.EPISODE.readable(entity.episodes))) == 1


def test_what_was_put_right_in_a_talk_is_recalled_with_what_put_it_right(entity: Entity) -> None:
    shed, wider = "The shed is to be 8 feet by 6.", "Make that 8 by 7, and no, the bike is green."
    heard(entity, ("sam", shed), ("sam", wider))
    right = claim("The shed is to be 8 feet by 7, not 6.", "m1", "m3", rests=["Make that 8 by 7"])
    shed_fact = fact("Shed", claim("The shed is 8 by 7.", "m3", rests=["8 by 7"]))
    bike = claim("Sam's bike is green.", "m3", rests=["the bike is green"])
    corrections = [belief(one, "correction") for one in (right, bike)]
    told = makes(HAS_SHED, knowledge=[shed_fact], beliefs=corrections)
    runtime, _ = dealt(entity, told)
    # of what is known already there is none
    assert [one.text for one in beliefs.BELIEF.readable(entity.beliefs)] == [bike["text"]]
    search = memory_search.search_of(runtime, ("sam",))
    memory = runtime.memory
    memory.sync()
    found = memory_search.find(
        memory, runtime.config, search, shed, kinds=("message",), limit=5, unasked=False
    )
    newer = {hit.text: hit.newer for hit in found}
    assert wider in newer[shed] and not newer[wider]


def test_what_was_answered_is_told_by_what_cites_the_answer(entity: Entity) -> None:
    kept = "Spokojnie, Bartek nie usłyszy tego ode mnie."
    talked(
        entity, "ses_1", ("sam", "Kupuję mu nowy strug na gwiazdkę, tylko cicho."), ("ada", kept)
    )
    write(
        entity, state.plan_write(state.read(entity.state), {"sessions": {"ses_1": "msg_1000"}}, "")
    )
    answered = "Odpowiedziałem, że Bartek nie usłyszy tego ode mnie."
    own = claim(answered, "a2", rests=["Bartek nie usłyszy tego ode mnie"])
    knows = claim("Bartek nie usłyszy tego ode mnie.", "m1", "a2", rests=["tylko cicho"])
    dealt(entity, makes(own, knowledge=[fact("Strug", knows)]), mends())
    [episode] = episodes.EPISODE.readable(entity.episodes)
    assert episode.text == answered and sections(entity) == {}


def test_what_was_put_right_in_a_later_talk_is_recalled_with_that(entity: Entity) -> None:
    shed, wider = "The shed is to be 8 feet by 6.", "The shed will be 8 by 7 after all."
    heard(entity, ("sam", shed), TEA)
    first = claim("The shed is 8 feet by 6.", "m1", rests=["8 feet by 6"])
    dealt(entity, makes(first, knowledge=[fact("Shed", first)]))
    heard(entity, ("sam", wider), DOG, name="ses_2", at=NOON)
    second = claim("The shed is 8 feet by 7.", "m1", rests=["8 by 7"])
    answer = makes(second, knowledge=[fact("Shed", second, replaces=["k1"])])
    runtime, _ = dealt(entity, answer, at=NOON + timedelta(hours=3))
    assert sections(entity) == {"Shed": "The shed is 8 feet by 7."}
    search = memory_search.search_of(runtime, ("sam",))
    runtime.memory.sync()
    (hit, *_) = memory_search.find(
        runtime.memory, runtime.config, search, shed, kinds=("message",), limit=1, unasked=False
    )
    assert hit.text == shed and wider in hit.newer


def test_what_somebody_passes_on_is_believed_as_that_and_never_as_their_word(
    entity: Entity,
) -> None:
    recipe = "My babcia's recipe, please keep it:\n\n500 g of flour, 200 g of honey.\nBake 12 min."
    session = heard(entity, ("sam", f"{recipe} She turns 88 on 21 December."), TEA)
    flour = claim("The recipe takes 500 g of flour.", "h2", rests=["500 g of flour"])
    age = claim("Sam's grandmother turns 88 on 21 December.", "h2", rests=["She turns 88"])
    own = claim("Sam's recipe takes 500 g of flour.", "m1", rests=["recipe, please keep it"])
    gave = claim("Sam gave me a recipe.", "m1", rests=["recipe, please keep it"])
    drawn = [seen("Sam", "Sam gives me what is dear to the family, and asks me to keep it.")]
    # one that tells of the text is believed, and makes no quotation of all that was lived
    told = makes(gave, own, flour, knowledge=[fact("Gingerbread", flour, age)], people=drawn)
    runtime, outcome = dealt(entity, told, mends())
    asked = model_of(runtime).requests[0].messages[-1].content
    assert "[h2] 12:00 passed on by" in asked and "Bake 12 min" in asked
    assert [one["text"] for one in outcome.data["dropped"]] == [own["text"]]
    held = {one.text: one.provenance for one in beliefs.BELIEF.readable(entity.beliefs)}
    assert held.keys() == {flour["text"], age["text"]}
    assert {one.trust for one in held.values()} == {"imported"}
    [episode] = episodes.EPISODE.readable(entity.episodes)
    assert episode.provenance.trust == "entity"
    assert episode.telling.narrative.endswith(f"\n\n{gave['text']}")
    assert session.messages[0].id in held[flour["text"]].sources
    assert relationships.find(entity.relationships, "sam").provenance.trust != "imported"


def test_what_others_heard_too_waits_for_them_beside_a_portrait_of_one(entity: Entity) -> None:
    both = PendingNote("Sam sings in a choir.", NOON, Provenance("distill", audience=("bo", "sam")))
    sam = relationships.find(entity.relationships, "sam")
    write(entity, relationships.plan_update(sam, "", pending=(both,)))
    heard(entity, DOG)
    drawn = "Sam sings in a choir.\nSam has a dog, Biscuit, and laughs about him with me."
    runtime, _ = dealt(entity, makes(HAS_DOG, people=[seen("Sam", drawn)]))
    after = relationships.find(entity.relationships, "sam")
    assert "(note) Sam sings" in model_of(runtime).requests[0].messages[-1].content
    assert (after.text, after.pending) == (drawn, (both,))
    assert portrait.notes(after) == []  # it is in the portrait already


def test_no_job_is_shown_a_secret() -> None:
    talk = "[m1] 10:00 Sam: PIN: 48213, Password:\n[m2] 10:05 Ana: I see"
    [_, asked] = messages("mend", {"name": "Ada", "reasons": "", "messages": talk})
    assert "48213" not in asked.content and "[secret]" in asked.content
    assert "[m2] 10:05 Ana" in asked.content


def test_what_the_entity_said_itself_is_no_evidence(entity: Entity) -> None:
    session = talked(entity, "ses_1", DOG, ("ada", "Rex of Vienna was just so."))
    file = state.read(entity.state)
    write(entity, state.plan_heard(file, session, session.messages[0].id, ""))
    own = claim("Rex lived in Vienna.", "m2", rests=["Rex of Vienna"])
    _, outcome = dealt(entity, makes(HAS_DOG, knowledge=[fact("Rex", own)]))
    assert sections(entity) == {}
    assert "no message that a person said" in outcome.data["dropped"][0]["reason"]


@pytest.mark.parametrize(
    ("title", "text", "named"),
    [
        ("Hens", "Dot keeps hens.", "Hens"),
        ("“Frank's visit”.", "Frank came.", "Frank's visit"),
        ("Stand, coriander, tastes", "Kim can't stand coriander; it tastes of soap.", "Coriander"),
        ("Granddaughter, shes", "She's my granddaughter.", "Granddaughter"),
        ("taste, coriander, soap", "Coriander is soap. No coriander.", "Coriander"),
        ("Lisbon, in spring", "Kim goes to Lisbon.", "Lisbon, in spring"),
        (
            "The boat, the keel and what is left to do",
            "x",
            "The boat, the keel and what is left to do",
        ),
        ("  ", "x", ""),
    ],
)
def test_a_title_names_one_thing(title: str, text: str, named: str) -> None:
    assert titles.named(title, text) == named


def test_a_fact_told_once_stands_in_one_record(entity: Entity) -> None:
    heard(entity, DOG, TEA)
    dealt(
        entity,
        makes(
            "We talked.",
            knowledge=[fact("Sam's dog", HAS_DOG)],
            beliefs=[belief(HAS_DOG), belief(LIKES_TEA)],
            people=[
                seen(
                    "Sam",
                    "Sam has a dog, Biscuit.\nI like how Sam laughs about it, and for how long.",
                    HAS_DOG,
                )
            ],
            journal="Sam has a dog, Biscuit. Six slippers!",
        ),
    )
    assert sections(entity) == {"Sam's dog": "Sam has a dog, Biscuit."}
    assert [one.text for one in beliefs.BELIEF.readable(entity.beliefs)] == [LIKES_TEA["text"]]
    [sam] = relationships.PERSON.readable(entity.relationships)
    assert (sam.text, sam.pending) == (
        "I like how Sam laughs about it, and for how long.",
        (),
    )
    [entry] = journal.read(entity.journal, UTC).entries
    assert entry.text == "Six slippers!"


LAUGHS = "犬のことを笑いながら話してくれた。それが嬉しかった。"


@pytest.mark.parametrize(
    ("drawn", "kept"),
    [
        (f"Sam has a dog, Biscuit.\n{LAUGHS}", LAUGHS),  # short, but two sentences
        ("Sam has a dog, Biscuit.\nI like Sam's laugh.", ""),
    ],
)
def test_of_a_portrait_goes_what_is_known_but_not_the_most_of_it(
    entity: Entity, drawn: str, kept: str
) -> None:
    heard(entity, DOG)
    people = [seen("Sam", drawn)]
    dealt(entity, makes("We talked.", knowledge=[fact("Sam's dog", HAS_DOG)], people=people))
    [sam] = relationships.PERSON.readable(entity.relationships)
    assert sam.text.replace(" ", "") == (kept or drawn).replace(" ", "")


def test_a_title_is_no_beginning_of_what_was_dropped(entity: Entity) -> None:
    heard(entity, DOG, TEA)
    born = claim("Sam was born in Zanzibar in 1901.", "m1", rests=["nothing of it"])
    facts = [
        {**fact("Sam was born in", born), "title": "Sam was born in"},
        {**fact("Sam has a", HAS_DOG), "title": "Sam has a"},
    ]
    dealt(entity, makes("", HAS_DOG, knowledge=facts), mends())
    assert sections(entity) == {"Sam has a dog": HAS_DOG["text"]}
    (episode,) = episodes.EPISODE.readable(entity.episodes)
    assert episodes.title(episode) == "Sam has a dog"


def test_who_is_forgotten_leaves_no_word_on_the_page_of_somebody_they_spoke_of(
    entity: Entity,
) -> None:
    heard(entity, ("sam", "My aunt Rosa sings."))
    sings = claim("Rosa, Sam's aunt, sings.", "m1", rests=["aunt Rosa sings"])
    dealt(entity, makes(sings, people=[seen("Rosa", note=sings)]))
    plan = forget.plan(entity, "sam", ["Sam"], UTC)
    changes.apply(entity.root, changes.ChangeSet("forget", plan.changes))
    files = [file for file in entity.root.rglob("*.*") if file.is_file() and file.suffix != ".db"]
    texts = [file.read_text(errors="replace") for file in files]
    assert texts
    assert not any("sings" in text for text in texts)


def test_a_title_that_others_took_costs_nobody_a_fact(entity: Entity) -> None:
    bos = Provenance("distill", "m", ("msg_bo",), "person", ("bo",))
    book, text = knowledge.read(entity.knowledge), "Bo has a dog, Rex."
    write(entity, knowledge.plan_set(book, "Dog", text, "", by_entity=True, provenance=bos))
    heard(entity, DOG)
    dealt(entity, makes(HAS_DOG, knowledge=[fact("Dog", HAS_DOG)]))
    assert sections(entity) == {"Dog": text, "Dog (Sam)": "Sam has a dog, Biscuit."}
    book = knowledge.read(entity.knowledge)
    write(entity, knowledge.plan_set(book, "[locked] Pets", "Feed them.", "", by_entity=False))
    heard(entity, DOG, name="ses_2", at=NOON - timedelta(minutes=50))
    _, outcome = dealt(entity, makes(HAS_DOG, knowledge=[fact("Pets", HAS_DOG)]))
    assert "not written: Pets: " in "\n".join(outcome.told)


def test_what_two_were_told_stays_theirs_where_one_of_them_tells_more(entity: Entity) -> None:
    book = knowledge.read(entity.knowledge)
    both = Provenance("distill", audience=("sam", "bo"))
    text = "Biscuit is a dog of Bo's."
    write(entity, knowledge.plan_set(book, "Biscuit", text, "", by_entity=True, provenance=both))
    heard(entity, DOG)
    dealt(entity, makes(HAS_DOG, knowledge=[fact("Biscuit", HAS_DOG)]))
    found = {one.text: one.provenance.audience for one in knowledge.read(entity.knowledge).sections}
    assert set(found[text]) == {"sam", "bo"}
    assert found[HAS_DOG["text"]] == ("sam",)


def test_a_yes_to_the_entity_carries_what_it_asked(entity: Entity) -> None:
    asked = [("sam", "My exam is soon."), ("ada", "Is it on 4 May?"), ("sam", "Yes, in town.")]
    asked.append(("ada", "Good luck."))
    session = talked(entity, "ses_1", *asked)
    file = state.read(entity.state)
    write(entity, state.plan_heard(file, session, session.messages[0].id, ""))
    exam = claim("Sam's exam is on 4 May.", "m1", "m3", rests=["My exam", "Yes"])
    _, outcome = dealt(entity, makes(exam))
    assert outcome.data["dropped"] == []


def test_what_the_entity_read_is_cited_as_hearsay_and_believed_less(entity: Entity) -> None:
    told = [("sam", "Have a look at this leaflet: […]"), ("ada", "The ferry leaves at 9 there.")]
    session = talked(entity, "ses_1", *told)
    place = entity.sessions / "ses_1" / sessions.FILE
    place.write_text(place.read_text().replace('"entity"', '"imported"'))
    file = state.read(entity.state)
    write(entity, state.plan_heard(file, session, session.messages[0].id, ""))
    ferry = claim("The leaflet says that the ferry leaves at 9.", "h2", rests=["leaves at 9"])
    wrong = claim("The leaflet says that the ferry leaves at 6.", "h2", rests=["leaves at"])
    showed = claim("Sam showed me a leaflet.", "m1", rests=["this leaflet"])
    runtime, outcome = dealt(entity, makes(showed, knowledge=[fact("Ferry", ferry, wrong)]))
    assert "[h2] 12:00 Ada: The ferry" in model_of(runtime).requests[0].messages[-1].content
    assert [one["text"] for one in outcome.data["dropped"]] == [wrong["text"]]
    assert sections(entity) == {}
    [held] = beliefs.BELIEF.readable(entity.beliefs)
    assert (held.text, held.confidence) == (ferry["text"], 0.45)
    assert held.provenance.trust == "imported"
    [episode] = episodes.EPISODE.readable(entity.episodes)
    assert episode.provenance.trust == "entity"  # it rests on what Sam said


def test_what_is_said_below_a_long_paste_is_shown(entity: Entity) -> None:
    said = f"Look: {'10:15 lag 8120 ' * 2000} The release is on 27 November now."
    session = talked(entity, "ses_1", ("sam", said), ("ada", "I see."))
    file = state.read(entity.state)
    write(entity, state.plan_heard(file, session, session.messages[0].id, ""))
    runtime, _ = dealt(entity, makes())
    shown = model_of(runtime).requests[0].messages[-1].content
    assert "Look: 10:15" in shown and "27 November now." in shown


def test_the_prompt_tells_the_limits_of_the_schema() -> None:
    form = ask.schema(["k1"], ["b1"], episodes.REFLECTION_MAX_CHARS)["properties"]
    told = prompts.load("stretch").turns(**dict.fromkeys(prompts.load("stretch").slots, ""))[0][1]
    fact_form = form["knowledge"]["items"]["properties"]
    for name, most, field in (
        ("knowledge", "at most eight", form["knowledge"]),
        ("sentences", "one to four claims", fact_form["sentences"]),
        ("beliefs", "at most six", form["beliefs"]),
        ("people", "at most four", form["people"]),
        ("narrative", "one to ten claims", form["episode"]["properties"]["narrative"]),
    ):
        assert re.search(rf'"{name}": [^".]*{most}', told), name
        words = ("four", "six", "eight", "ten")
        assert (4, 6, 8, 10)[words.index(most.split()[2])] == field["maxItems"], name


@pytest.mark.parametrize(
    ("title", "named"), [("Workshop", "Workshop"), ("［locked］ Dog", "Clamps"), ("~", "Clamps")]
)
def test_a_section_of_which_nothing_stays_is_named_for_what_takes_its_place(
    entity: Entity, title: str, named: str
) -> None:
    book = knowledge.read(entity.knowledge)
    old = (book, "Clamps", "The clamps stay on until Tuesday.", "")
    write(entity, knowledge.plan_set(*old, by_entity=True, provenance=OWN))
    heard(entity, DOG, ("sam", "I took the clamps off."))
    off = claim("Sam took the clamps off.", "m3", rests=["took the clamps off"])
    dealt(entity, makes(off, knowledge=[fact(title, off, replaces=["k1"])]))
    assert sections(entity) == {named: "Sam took the clamps off."}


def test_under_review_a_talk_is_left_for_a_day_to_the_clone_that_heard_it(
    entity: Entity, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Sam")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "sam@example.org")
    heard(entity, DOG, name="ses_1")
    git(entity.root, "init", "-qb", "main")
    git(entity.root, "add", "-A")
    git(entity.root, "commit", "-qm", "chat")
    git(tmp_path, "clone", "-q", str(entity.root), "away")
    away = Entity(tmp_path / "away")
    heard(away, TEA, name="ses_2")  # and not committed yet

    def due(place: Entity, *review: str, **values: Any) -> list[str]:
        runtime = runtime_of(place, git__review=[*review], **values)
        return [job.session_id for job in stretch.check(runtime).jobs]

    assert due(entity, "stretch") == ["ses_1"]
    assert due(away) == ["ses_1", "ses_2"]
    assert due(away, "stretch") == ["ses_2"]
    assert due(away, "stretch", at=NOON + timedelta(days=1)) == ["ses_1", "ses_2"]
    git(away.root, "add", "-A")
    git(away.root, "commit", "-qm", "chat")
    git(entity.root, "commit", "-q", "--allow-empty", "-m", "more")
    git(away.root, "pull", "-q", "--rebase")
    assert due(away, "stretch") == ["ses_2"]
    git(away.root, "reflog", "expire", "--expire=now", "--all")
    assert due(away, "stretch") == ["ses_1", "ses_2"]


def test_a_talk_of_before_brings_nobody_back_whom_the_entity_was_to_forget(entity: Entity) -> None:
    known(entity, "Calder", "Calder sold Sam a boat.")
    heard(entity, ("sam", "Calder came by about the boat, please forget him."), TEA)
    plan = forget.plan(entity, "calder", ["Calder"], UTC)
    entry = forgotten.plan_add(NOON, plan.names, plan.ids, "00ff", "")
    write(entity, *plan.changes, entry)
    came = claim("Calder came by about the boat.", "m1", rests=["came by about the boat"])
    boat = claim("Somebody came by about Sam's boat.", "m1", rests=["about the boat"])
    note = seen("Calder", note=came)
    answer = makes(boat, came, knowledge=[fact("Boat", came)], people=[note])
    dealt(entity, answer, mends())
    [episode] = episodes.EPISODE.readable(entity.episodes)
    assert episode.text == "Somebody came by about Sam's boat."
    assert sections(entity) == {} and not (entity.relationships / "calder.md").exists()
