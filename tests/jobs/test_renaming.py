from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bumble.entity.folder import Entity
from bumble.jobs import stretch
from bumble.jobs.renaming import Renaming
from bumble.llm.scripted import Reply
from bumble.records import base, beliefs, knowledge, relationships
from bumble.runtime.job import apply
from tests.support.living import ada, heard, known, model_of, runtime_of, write
from tests.support.stretches import belief, claim, fact, makes, seen

CALDER = ("sam", "My neighbour is called Calder. Calder keeps bees and comes on 6 November.")
CAWDOR = ("sam", "Sorry, he is called Cawdor, not Calder.")
IS = claim("Calder is Sam's neighbour.", "m1", rests=["My neighbour is called Calder"])
BEES = claim("Calder keeps bees.", "m1", rests=["Calder keeps bees"])
GRUFF = claim("Calder may be fond of sweet things.", "m1", rests=["bees"], inference=True)
RIGHT = claim("Sam's neighbour is called Cawdor, not Calder.", "m1", rests=["called Cawdor"])


@pytest.fixture
def entity(tmp_path: Path) -> Entity:
    made = ada(tmp_path)
    known(made, "Sam")
    return made


def lives(entity: Entity, line: tuple[str, str], answer: Reply, name: str) -> str:
    """Remember a talk; what the model was asked."""
    heard(entity, line, name=name)
    runtime = runtime_of(entity, answer)
    [job] = stretch.check(runtime).jobs
    apply(runtime, stretch.run(runtime, job))
    return model_of(runtime).requests[0].messages[-1].content


def told(entity: Entity) -> None:
    people = [seen("Calder", note=IS)]
    answer = makes(IS, knowledge=[fact("Calder", BEES)], beliefs=[belief(GRUFF)], people=people)
    lives(entity, CALDER, answer, "ses_1")


def put_right(entity: Entity, **values: Any) -> str:
    people = [seen("Cawdor", note=RIGHT, was="Calder", **values)]
    return lives(entity, CAWDOR, makes(RIGHT, people=people), "ses_2")


def test_a_name_put_right_leaves_one_person_and_their_page_says_it(entity: Entity) -> None:
    told(entity)
    asked = put_right(entity)
    assert "Calder: Calder is Sam's neighbour." in asked  # as what is known
    people = list(relationships.PERSON.readable(entity.relationships))
    assert [one.id for one in people] == ["cawdor", "sam"]
    cawdor = people[0]
    assert cawdor.names == ("Cawdor", "Calder")
    assert cawdor.text == f"Cawdor is Sam's neighbour.\n{RIGHT['text']}"
    assert all(cawdor.origin_of(line).by for line in cawdor.text.splitlines())
    assert cawdor.audience == ("sam",)
    assert not (entity.root / "sources/relationships/calder.yaml").exists()
    assert relationships.find(entity.relationships, "Calder").id == "cawdor"


def test_knowledge_and_beliefs_say_the_right_name_and_files_are_named_for_it(
    entity: Entity,
) -> None:
    told(entity)
    put_right(entity)
    section = knowledge.read(entity.knowledge).sections[-1]
    assert (section.title, section.text) == ("Cawdor", "Cawdor keeps bees.")
    assert section.provenance.audience == ("sam",)
    [held] = beliefs.BELIEF.readable(entity.beliefs)
    assert held.text == "Cawdor may be fond of sweet things."
    assert held.provenance.sources[0] == "ses_1"
    [path] = entity.beliefs.glob("*.md")
    assert path.name.startswith("cawdor-may-be") or path.stem == held.id
    texts = [file.read_text() for file in entity.root.glob("episodes/**/*.md")]
    assert any("Calder is Sam's neighbour" in text for text in texts)  # as it was told then


def test_what_others_were_told_keeps_the_name_they_heard(entity: Entity) -> None:
    told(entity)
    known(entity, "Kim")
    other = base.Provenance("distill", audience=("kim",))
    page = relationships.find(entity.relationships, "calder")
    note = relationships.PendingNote("Calder owes Kim money.", None, other)
    change = relationships.plan_update(page, "", pending=(note,))
    write(entity, change)
    put_right(entity)
    ids = {one.id for one in relationships.PERSON.readable(entity.relationships)}
    assert ids == {"calder", "cawdor", "kim", "sam"}


def test_two_pages_of_one_person_become_one(entity: Entity) -> None:
    told(entity)
    lives(entity, ("sam", "Cawdor sings."), makes(people=[seen("Cawdor", note=SINGS)]), "ses_9")
    assert len(list(relationships.PERSON.readable(entity.relationships))) == 3
    put_right(entity)
    cawdor, _ = relationships.PERSON.readable(entity.relationships)
    assert cawdor.names == ("Cawdor", "Calder")
    lines = ["Cawdor sings.", "Cawdor is Sam's neighbour.", RIGHT["text"]]
    assert cawdor.text.splitlines() == lines


SINGS = claim("Cawdor sings.", "m1", rests=["Cawdor sings"])


def test_what_was_put_right_takes_the_place_of_the_line(entity: Entity) -> None:
    comes = claim("Calder comes on 6 November.", "m1", rests=["comes on 6 November"])
    lives(entity, CALDER, makes(people=[seen("Calder", note=comes)]), "ses_1")
    lives(entity, CALDER, makes(people=[seen("Calder", note=BEES)]), "ses_3")
    later = claim("Calder comes on 9 November.", "m1", rests=["comes on 9 November"])
    line = ("sam", "Calder comes on 9 November after all.")
    named = makes(people=[seen("Calder", note=later, replaces=["k1"])])
    lives(entity, line, named, "ses_4")
    page = relationships.find(entity.relationships, "calder")
    assert page.text.splitlines() == [later["text"], BEES["text"]]
    wasps = claim("Calder keeps wasps.", "m1", rests=["Calder keeps wasps"])
    line = ("sam", "Calder keeps wasps, I got that wrong.")
    answer = makes(people=[seen("Calder", note=wasps, replaces=["k2"])])
    asked = lives(entity, line, answer, "ses_5")
    assert "k2: Calder: Calder keeps bees." in asked
    page = relationships.find(entity.relationships, "calder")
    assert page.text.splitlines() == [later["text"], wasps["text"]]
    assert any((entity.root / ".history").rglob("calder*"))


def test_a_line_by_hand_gives_way_to_nothing(entity: Entity) -> None:
    told(entity)
    path = entity.root / relationships.PERSON.path("calder")
    path.write_text(path.read_text() + "Calder comes on 6 November, he says.\n")
    later = claim("Calder comes on 9 November.", "m1", rests=["comes on 9 November"])
    line = ("sam", "Calder comes on 9 November after all.")
    lives(entity, line, makes(people=[seen("Calder", note=later)]), "ses_4")
    text = relationships.find(entity.relationships, "calder").text
    assert "Calder comes on 6 November, he says." in text and later["text"] in text


def test_a_name_put_right_in_japanese_is_right_inside_of_sentences() -> None:
    renaming = Renaming("沢田先生", "澤田先生", ())
    told = renaming.reworded("沢田先生は師匠だ。師匠の沢田先生に会う。")
    assert told == "澤田先生は師匠だ。師匠の澤田先生に会う。"


def test_a_name_put_right_and_a_fact_in_place_of_a_note_on_the_page_are_one_change(
    entity: Entity,
) -> None:
    told(entity)
    line = ("sam", "He is called Cawdor, not Calder, and he is my neighbour's brother.")
    brother = claim("Cawdor is Sam's neighbour's brother.", "m1", rests=["neighbour's brother"])
    heard(entity, line, name="ses_2")
    runtime = runtime_of(
        entity,
        makes(
            RIGHT,
            people=[seen("Cawdor", note=RIGHT, was="Calder")],
            knowledge=[fact("Cawdor", brother, replaces=["k1", "k2"])],
        ),
    )
    [job] = stretch.check(runtime).jobs
    apply(runtime, stretch.run(runtime, job))
    asked = model_of(runtime).requests[0].messages[-1].content
    assert "k2: " in asked
    cawdor = relationships.find(entity.relationships, "Cawdor")
    assert cawdor.names == ("Cawdor", "Calder")
    assert "is Sam's neighbour.\n" not in cawdor.text
    assert not (entity.relationships / "calder.md").exists()
