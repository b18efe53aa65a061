from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bumble.chat import able_reply
from bumble.entity import changes
from bumble.entity.changes import ChangeSet
from bumble.entity.folder import Entity
from bumble.errors import AnswerInvalidError
from bumble.jobs import narrate
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.records import beliefs, dreams, narrative, relationships
from bumble.records.base import Provenance
from bumble.runtime import job
from bumble.runtime.job import JobResult
from tests.support.nights import NIGHT, dreamer, newborn, remember, runtime_of, truth
from tests.support.story import TOLD, telling


def told(
    entity: Entity, *replies: Reply, force: bool = False, settings: Mapping[str, Any] | None = None
) -> JobResult:
    runtime = runtime_of(entity, list(replies) or [telling()], overrides=settings)
    found = narrate.check(runtime, force=force)
    assert found.due
    outcome = narrate.run(runtime, found.jobs[0])
    job.apply(runtime, outcome)
    return outcome


def the_story(entity: Entity) -> narrative.Narrative:
    found = narrative.read(entity.narrative)
    assert found is not None
    return found


def asked(entity: Entity, **more: Any) -> str:
    model = ScriptedModel([telling()])
    runtime = runtime_of(entity, model, overrides=more)
    narrate.run(runtime, narrate.check(runtime).jobs[0])
    return model.requests[0].messages[-1].content


@pytest.fixture
def ada(tmp_path: Path) -> Entity:
    return dreamer(tmp_path)


def test_the_story_answers_four_questions_and_cites_its_episodes(ada: Entity) -> None:
    outcome = told(ada)
    found = the_story(ada)
    assert outcome.trailers[-1] == ("Model", "scripted")
    assert re.sub(r"\d{4}-\d\d-\d\d", "DAY", found.text).startswith(
        "Sam and I planted tomatoes, and a storm came. "
        "([DAY](episodes/2026/05/ep_01.md), [DAY](episodes/2026/05/ep_02.md))"
        "\n\nIt matters to me that "
    )
    for target in re.findall(r"\]\(([^)]+)\)", found.text):
        assert (ada.root / target).is_file()
    assert "#" not in found.text  # a story is prose, in whatever language it is told
    assert found.provenance.sources == ("ep_01", "ep_02", "ep_03", "ep_04", "ep_06")
    assert (found.provenance.by, found.provenance.model) == ("narrate", "scripted")


def test_twice_in_a_row_the_second_asks_nothing_and_changes_no_byte(ada: Entity) -> None:
    told(ada)
    before = truth(ada.root)
    later = runtime_of(ada, at=NIGHT + timedelta(days=200))
    assert not narrate.check(later).due
    assert truth(ada.root) == before


def test_the_prompt_keeps_the_limits_and_takes_what_matters_most(tmp_path: Path) -> None:
    entity = newborn(tmp_path / "ada")
    for n in range(30):
        remember(entity, n, f"Memory number{n}.", 40 - n, significance=0.3 + n / 100)
    for n in range(20):
        belief = beliefs.new(f"bel_{n:02}", f"Claim {n}x.", "preference", 0.1 + n / 40, NIGHT)
        changes.apply(entity.root, ChangeSet("", (beliefs.BELIEF.plan_new(belief, ""),)))
    text = asked(entity)
    assert "[e22]" in text
    assert "[e23]" not in text
    assert "Memory number29." in text
    assert "Memory number7." not in text
    assert text.count("Claim ") == 14
    assert "Claim 5x." not in text


# for whom


def secrets_of_bo(entity: Entity) -> None:
    remember(entity, 50, "Bo told me of the diamond.", 2, audience=("bo",), significance=1.0)
    remember(entity, 51, "Bo and Sam spoke of the emerald.", 2, audience=("bo", "sam"))
    for_bo = Provenance(audience=("bo",))
    bo = relationships.new("Bo", NIGHT, provenance=for_bo)
    claim = "Bo has a diamond."
    belief = beliefs.new("bel_bo", claim, "world_fact", 0.9, NIGHT, provenance=for_bo)
    dream = dreams.new("drm_1", NIGHT, (), ("a diamond hums",), "", provenance=for_bo)
    dreamt = dreams.DREAM.plan_new(dream, "")
    planned = [relationships.PERSON.plan_new(bo, ""), beliefs.BELIEF.plan_new(belief, ""), dreamt]
    changes.apply(entity.root, ChangeSet("", tuple(planned)))
    there = relationships.find(entity.relationships, "bo")
    change = relationships.plan_update(there, "", text="Bo keeps a diamond.")
    assert change is not None
    changes.apply(entity.root, ChangeSet("", (change,)))


def test_what_others_told_in_private_is_not_in_the_story(ada: Entity) -> None:
    secrets_of_bo(ada)
    text = asked(ada)
    assert "diamond" not in text
    assert "emerald" in text  # Sam was there
    assert "tomatoes" in text


def test_a_story_of_private_talk_is_for_the_owner_alone(ada: Entity) -> None:
    told(ada)
    assert the_story(ada).provenance.audience == ("sam",)

    def stable(*readers: str) -> str:
        return able_reply.stable(runtime_of(ada), readers).text

    assert "planted tomatoes, and a storm came.\n" in stable("sam")
    assert "ep_01" not in stable("sam")
    for readers in [("bo",), ("sam", "bo"), ()]:
        assert "tomatoes" not in stable(*readers)


def test_dreams_may_colour_the_story_but_prove_nothing(ada: Entity) -> None:
    dreamt = dreams.new("drm_1", NIGHT, (), ("Zanzibar hums",), "")
    changes.apply(ada.root, ChangeSet("", (dreams.DREAM.plan_new(dreamt, ""),)))
    insight = beliefs.new("bel_9", "Zanzibar sings", beliefs.DREAM_INSIGHT, 0.9, NIGHT)
    changes.apply(ada.root, ChangeSet("", (beliefs.BELIEF.plan_new(insight, ""),)))
    assert "<dreams>\n- Zanzibar hums\n</dreams>" in asked(ada)
    assert "Zanzibar sings" not in asked(ada)
    outcome = told(ada, telling(wants="I want to hear a fugue. I was in Zanzibar once."))
    assert outcome.data["dropped_sentences"] == 1
    assert "Zanzibar" not in the_story(ada).text


# guards


def test_sentences_with_what_nobody_said_are_left_out(ada: Entity) -> None:
    text = "Sam and I planted tomatoes. Margaret came in 1987. A storm took the power."
    outcome = told(ada, telling(happening=text))
    assert "Sam and I planted tomatoes. A storm took the power." in the_story(ada).text
    assert "Margaret" not in the_story(ada).text
    assert outcome.data["dropped_sentences"] == 1


def again(**parts: str) -> Reply:
    told = {name: {"uses": [], "text": text} for name, text in parts.items()}
    return Reply(json.dumps(told), purpose="narrate", contains="<refused>")


def test_what_was_refused_goes_back_once_with_the_reason(ada: Entity) -> None:
    mended = again(wants="I want to hear a fugue with Sam.")
    model = ScriptedModel([mended, telling(wants="Margaret wants the Eiffel Tower.")])
    runtime = runtime_of(ada, model)
    outcome = narrate.run(runtime, narrate.check(runtime).jobs[0])
    job.apply(runtime, outcome)
    back = model.requests[1].messages[-1].content
    assert "wants: Margaret wants the Eiffel Tower. (nobody said" in back
    assert "I want to hear a fugue with Sam." in the_story(ada).text
    assert (len(model.requests), outcome.data["dropped_sentences"]) == (2, 0)


def test_a_part_of_which_nothing_stands_is_left_out_by_itself(ada: Entity) -> None:
    outcome = told(ada, telling(wants="I wish that we saw the Eiffel Tower."))
    assert "Eiffel" not in the_story(ada).text
    assert "tomatoes" in the_story(ada).text
    assert outcome.data["dropped_sentences"] == 1


def old_story(entity: Entity, text: str = "I was small. " * 60) -> bytes:
    told_before = narrative.plan_tell(
        narrative.read(entity.narrative), text, NIGHT, Provenance(by="narrate"), ""
    )
    assert told_before is not None
    changes.apply(entity.root, ChangeSet("", (told_before,)))
    return entity.narrative.read_bytes()


@pytest.mark.parametrize(
    "reply",
    [
        Reply("I can't.", always=True),
        Reply(json.dumps(TOLD)[:-60], finish_reason="length", always=True),
        Reply(json.dumps({"happening": TOLD["happening"]}), always=True),
        telling(**dict.fromkeys(TOLD, "Margaret wants the Eiffel Tower.")),
        telling(),  # far shorter than what is there
    ],
    ids=["no JSON", "cut off", "parts missing", "invented", "too short"],
)
def test_a_telling_that_will_not_do_keeps_the_story(ada: Entity, reply: Reply) -> None:
    before = old_story(ada)
    with pytest.raises(AnswerInvalidError):
        told(ada, reply)
    assert ada.narrative.read_bytes() == before


def test_comments_and_fields_of_the_owner_stay(ada: Entity) -> None:
    ada.narrative.write_text("---\n# mine\nmood: blue\n---\n\nI was.\n")
    told(ada)
    text = ada.narrative.read_text()
    assert text.startswith("---\n# mine\nmood: blue\n")
    assert "tomatoes" in text


# without a usable model


def test_a_story_is_never_longer_than_the_limit(ada: Entity) -> None:
    long = "The storm was loud and the bread was flat. " * 200
    told(ada, telling(happening=long))
    assert len(narrative.uncited(the_story(ada).text).split()) <= narrate.MOST_WORDS
