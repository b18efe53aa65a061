from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from bumble.entity import companions
from bumble.entity.changes import Version
from bumble.entity.folder import Entity
from bumble.llm.scripted import ScriptedModel
from bumble.recall import memory_search, periods, prompt_memories
from bumble.recall.memory_search import Search
from bumble.records import episodes, knowledge, relationships
from bumble.records.base import Provenance
from bumble.records.provenance import Reader
from bumble.records.relationships import PendingNote
from bumble.runtime import audiences
from tests.support import living

SAID = (
    "The mast of the boat is cracked.",
    "What about the boat?",
    "She painted the boat and the mast green.",
    "I sail on Sundays.",
    "The boat lies by the pier, the mast is down.",
    "We had soup, bread and cheese for dinner.",
    "A mast for the boat costs four hundred.",
    "The neighbours have a new dog.",
    "No boat sails without a mast.",
    "My sister moved to Lisbon in May.",
    "The mast came with the boat.",
    "Work was exhausting, we had three meetings.",
)


def test_as_many_are_found_as_are_asked_for_while_more_of_them_touch_the_query(
    tmp_path: Path,
) -> None:
    entity = living.ada(tmp_path)
    living.talked(entity, "ses_boat", *(("sam", text) for text in SAID))
    runtime = living.runtime_of(entity)
    runtime.memory.sync()
    search = Search(("sam",), "content", runtime.now())

    def count(limit: int) -> int:
        hits = memory_search.find(
            runtime.memory,
            runtime.config,
            search,
            "boat mast",
            limit=limit,
            unasked=False,
            touching=True,
        )
        return len(hits)

    every = count(50)
    assert 4 <= every < len(SAID)
    assert [count(limit) for limit in range(1, every + 1)] == list(range(1, every + 1))


def test_what_does_not_come_to_mind_takes_no_place_of_what_does(tmp_path: Path) -> None:
    entity = living.ada(tmp_path)
    entity.journal.write_text("# Journal\n\n## 2026-05-23 10:00\n\nBoat mast.\n")
    entity.knowledge.write_text("## Rigging\n\nThe boat has a mast.\n")
    runtime = living.runtime_of(entity)
    runtime.memory.sync()

    def first(*, unasked: bool) -> str:
        search = Search((), "content", runtime.now())
        given = (runtime.memory, runtime.config, search, "boat mast")
        (hit,) = memory_search.find(*given, limit=1, unasked=unasked)
        return hit.text

    assert first(unasked=False) == "Boat mast."
    assert first(unasked=True) == "The boat has a mast."


def test_of_what_answers_equally_well_none_is_left_out_by_chance(tmp_path: Path) -> None:
    entity = living.ada(tmp_path)
    colours = ["red", "green", "blue", "white", "grey", "black", "brown"]
    told = [f"The mast of the boat is {colour}." for colour in colours]
    for n, text in enumerate(told):
        living.talked(entity, f"ses_{n}", ("sam", text))
    asking = living.talked(entity, "ses_now", ("sam", "What about the mast of the boat?"))
    runtime = living.runtime_of(entity)
    runtime.memory.sync()
    answer = prompt_memories.answer(runtime, "the mast of the boat", asking).text
    assert len(told) > prompt_memories.RESULTS
    assert [text for text in told if text not in answer] == []


LEAK = "The boat has a leak near the keel."


def comes_to_mind(
    entity: Entity, message: str, *readers: str, window: int = 32_768, talk: str = "ses_now"
) -> str:
    session = living.talked(entity, talk, ("sam", message), present=readers)
    model = ScriptedModel([], context_tokens=window)
    runtime = replace(living.runtime_of(entity), model=model)
    runtime.memory.sync()
    blocks = prompt_memories.blocks(runtime, session, "sam", "content", runtime.now())
    return "\n".join(block.text for block in blocks)


def test_whom_a_message_names_is_told_of_as_far_as_all_here_may_know(tmp_path: Path) -> None:
    entity = living.ada(tmp_path)
    by_sam = Provenance("distill", audience=("sam",))
    living.known(entity, "Kieran Doyle", "Kieran pays 95 a week.", interaction_count=0)
    living.known(entity, "Nour", "Nour told me a secret.", provenance=replace(by_sam, audience=()))
    shared = PendingNote("Nour teaches chemistry.", None, replace(by_sam, audience=("sam", "nour")))
    hers = Provenance("reflect", audience=("nour",))
    [page] = [
        one for one in relationships.PERSON.readable(entity.relationships) if one.id == "nour"
    ]
    living.write(entity, relationships.plan_update(page, "", pending=(shared,), provenance=hers))
    found = comes_to_mind(entity, "what does kieran owe me?")
    assert "Kieran Doyle: Kieran pays 95 a week." in found and "Nour" not in found
    found = comes_to_mind(entity, "What does Nour do, and will she come?", talk="ses_2")
    assert "Nour teaches chemistry." in found and "secret" not in found
    assert "chemistry" not in comes_to_mind(entity, "What does Nour do?", "bo", talk="ses_3")
    for name in ("Frau Weber", "Anna von Berg", "Will Rosa"):
        living.known(entity, name, f"{name} rows.", interaction_count=0)
    said = (
        "Die Frau von nebenan will eine rosa Farbe.",
        "Will you ask whether Frau Weber comes?",
    )
    brought = [comes_to_mind(entity, each, talk=f"ses_4{n}") for n, each in enumerate(said)]
    assert "rows" not in brought[0]
    assert "Frau Weber rows." in brought[1] and "Rosa" not in brought[1]


def test_who_said_something_is_called_as_they_write_their_name(tmp_path: Path) -> None:
    entity = living.ada(tmp_path)
    living.known(entity, "Anne-Sophie")
    living.talked(entity, "ses_1", ("anne-sophie", LEAK), by="anne-sophie", present=("sam",))
    found = comes_to_mind(entity, "What about the leak near the keel of the boat?")
    assert f"Anne-Sophie: {LEAK}" in found


def test_an_answer_does_not_come_to_mind_beside_what_it_answers(tmp_path: Path) -> None:
    entity = living.ada(tmp_path)
    living.talked(entity, "ses_1", ("sam", LEAK), ("ada", "A leak near the keel of the boat!"))
    found = comes_to_mind(entity, "What about the leak near the keel of the boat?")
    assert LEAK in found
    assert "A leak near" not in found


def test_the_name_by_which_the_entity_is_called_brings_nothing_to_mind(tmp_path: Path) -> None:
    entity = living.ada(tmp_path)
    living.talked(entity, "ses_1", ("sam", "Ada, Ada, Ada!"), ("ada", "Yes?"))
    assert "Ada, Ada" not in comes_to_mind(entity, "Ada, it is raining.")


def learnt(entity: Entity, title: str, *audience: str) -> Version:
    """Add a section to what is known."""
    book, origin = knowledge.read(entity.knowledge), Provenance("x", "", (), "person", audience)
    told = f"The {title} of the boat is red."
    change = knowledge.plan_set(book, title, told, "x", by_entity=True, provenance=origin)
    assert change is not None
    before = companions.read(entity.root, change.path)
    living.write(entity, change)
    return Version(change.path, before, change.data)


def test_what_somebody_said_themselves_is_no_hearsay_to_them(tmp_path: Path) -> None:
    entity = living.ada(tmp_path)
    learnt(entity, "Keel", "sam")
    learnt(entity, "Keel paint")
    found = comes_to_mind(entity, "Which keel of the boat is red?")
    assert "- Keel: The Keel" in found
    assert "- [hearsay] Keel paint: The Keel paint" in found


def test_what_one_of_several_said_is_hearsay_to_the_others(tmp_path: Path) -> None:
    entity = living.ada(tmp_path)
    learnt(entity, "Keel", "sam", "kim")
    found = comes_to_mind(entity, "Which keel of the boat is red?", "sam", "kim")
    assert "- [hearsay] Keel: The Keel" in found


def test_recall_names_the_section_the_own_word_and_the_own_life(tmp_path: Path) -> None:
    entity = living.ada(tmp_path)
    learnt(entity, "Keel", "sam")
    own, read = (Provenance("x", "", (), tier, ("sam",)) for tier in ("person", "tool"))
    told = [("I saw the keel.", own), ("The keel is 3 m, says a file.", read)]
    for n, (text, origin) in enumerate(told):
        one = episodes.new(f"ep_{n}", living.NOON, 0.9, text, provenance=origin)
        living.write(entity, episodes.EPISODE.plan_new(one, ""))
    asking = living.talked(entity, "ses_now", ("sam", "Hello."))
    runtime = living.runtime_of(entity)
    runtime.memory.sync()
    found = prompt_memories.answer(runtime, "the keel", asking).text
    assert "- [knowledge] Keel: The Keel of the boat" in found
    assert ") I saw the keel." in found
    assert "- [episode, of what a tool gave] " in found


def test_a_section_behind_that_of_another_changes_nothing_of_theirs(tmp_path: Path) -> None:
    entity = living.ada(tmp_path)
    assert audiences.hides(Reader("sam"), [learnt(entity, "Bergen", "kim")])
    assert not audiences.hides(Reader("sam"), [learnt(entity, "Keel", "sam")])


def test_what_was_felt_before_hides_no_title_and_its_lines_all_the_same() -> None:
    before, after = (
        f"felt: {{text: {text}, audience: [{who}]}}\n".encode()
        for text, who in (("I am torn", "kim"), ("I am glad", "sam"))
    )
    changed = [Version("soma.yaml", before, after)]
    assert audiences.hides(Reader("sam"), changed)
    assert not audiences.hides(Reader("sam"), changed, lines=False)
    assert audiences.hides(Reader("kim"), changed, lines=False)


@pytest.mark.parametrize(
    ("said", "day"),
    [
        ("My birthday is on 20 May.", "2026-05-20"),
        ("My birthday was on 2 June 2019.", "2019-06-02"),
        ("My birthday was on 20 May, or on 3 June.", "2026-05-01"),
        ("birthday 誕生日は5月20日だよ。", "2026-05-20"),
        ("We spoke of my birthday.", "2026-05-01"),
    ],
)
def test_around_an_event_are_the_days_around_the_date_that_tells_of_it(
    tmp_path: Path, said: str, day: str
) -> None:
    entity = living.ada(tmp_path)
    living.talked(entity, "ses_told", ("sam", said), at=datetime(2026, 5, 1, 10, tzinfo=UTC))
    runtime = living.runtime_of(entity)
    runtime.memory.sync()
    search = Search(("sam",), "content", datetime(2026, 5, 24, 12, tzinfo=UTC))
    period = memory_search.period_of(runtime.memory, search, "what happened around my birthday")
    assert period is not None
    assert f"{period.start + periods.AFTER:%Y-%m-%d}" == day


SOUP = """name: Cook lentil soup
description: a soup of red lentils

Wash the lentils, and let them cook with onions. Ask Sam for salt in November."""


def test_how_to_do_something_is_offered_where_a_message_is_near_it(tmp_path: Path) -> None:
    entity = living.ada(tmp_path)
    entity.skills.mkdir(exist_ok=True)
    (entity.skills / "soup.md").write_text(
        f"---\n{SOUP.replace(chr(10) * 2, f'{chr(10)}---{chr(10)}', 1)}\n"
    )

    def offered(said: str) -> bool:
        session = living.talked(entity, f"ses_{len(said)}", ("sam", said))
        runtime = living.runtime_of(entity)
        runtime.memory.sync()
        blocks = prompt_memories.blocks(runtime, session, "sam", "content", runtime.now())
        return any(block.name == "skills" for block in blocks)

    assert offered("How do I cook a soup of lentils?")
    assert not offered("She cried on the phone in November, and nobody at all would ask her why.")


@pytest.fixture
def much_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a file be as one that is too long to come to mind as a whole."""
    monkeypatch.setattr(knowledge, "WHOLE_TOKENS", 0)


@pytest.mark.parametrize(
    ("lines", "window", "comes"),
    [(1, 16_384, True), (90, 16_384, False), (90, 32_768, True), (500, 32_768, False)],
)
def test_all_that_is_known_comes_to_mind_where_it_is_little(
    tmp_path: Path, lines: int, window: int, comes: bool
) -> None:
    entity = living.ada(tmp_path)
    entity.knowledge.write_text("## Marius\n\n" + "He mends pumps in Hull.\n" * lines)
    assert ("He mends pumps" in comes_to_mind(entity, "It rains.", window=window)) is comes


def test_what_was_only_read_has_to_be_near(tmp_path: Path) -> None:
    entity = living.ada(tmp_path)
    mark = "<!-- {by: import, trust: imported} -->"
    entity.knowledge.write_text(f"## Pumps\n{mark}\n\nAll pumps are from Hull.\n")
    assert "All pumps" not in comes_to_mind(entity, "It rains.")


@pytest.mark.usefixtures("much_is_known")
@pytest.mark.parametrize("name", ["Marius", "somebody"])
def test_a_section_that_a_long_message_names_comes_to_mind(tmp_path: Path, name: str) -> None:
    entity = living.ada(tmp_path)
    entity.knowledge.write_text("## Marius\n\nHe mends pumps in Hull.\n")
    said = f"Guess what, on the ferry over there {name} said you have to bleed them in winter."
    assert ("He mends pumps" in comes_to_mind(entity, said)) is (name == "Marius")


@pytest.mark.usefixtures("much_is_known")
@pytest.mark.parametrize(
    ("title", "said", "is_named"),
    [
        ("Sam's car", "It stood on the hard shoulder, with smoke out of the car.", True),
        ("Sam's car", "Sam here, and all in all it was a fine and quiet day.", False),
        ("Working hours of the office", "Guess who was at the office when nobody else was.", True),
        ("Work", "It was hard work, and then we went home by the river.", False),
        ("Máquina de costura da mãe", "a vizinha trouxe a maquina de volta, que alegria!", True),
        ("Heizung", "Guten Morgen! Bei uns geht die Heizung seit gestern Abend nicht.", True),
    ],
)
def test_a_section_is_named_by_any_telling_word_of_its_title_but_a_talkers_name(
    tmp_path: Path, title: str, said: str, is_named: bool
) -> None:
    entity = living.ada(tmp_path)
    entity.knowledge.write_text(f"## {title}\n\nWurst and Paprika.\n")
    assert ("Wurst and Paprika" in comes_to_mind(entity, said)) is is_named
