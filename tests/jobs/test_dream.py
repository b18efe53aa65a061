from __future__ import annotations

import json
import os
import random
import signal
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bumble.body import ebb, noise
from bumble.body import soma as body
from bumble.chat import participants, turn
from bumble.chat.reply_writer import Heard, ReplyStream
from bumble.entity import changes
from bumble.entity.changes import ChangeSet
from bumble.entity.folder import Entity
from bumble.errors import ModelUnreachableError
from bumble.jobs import dream
from bumble.llm import structured
from bumble.llm.protocol import FinishReason
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.records import base, beliefs, dreams, episodes, journal, questions, state
from bumble.records.base import Provenance
from bumble.runtime import body_state, job, people
from tests.support import living
from tests.support.kills import every_call, forks, in_child
from tests.support.nights import (
    IMAGES,
    LISBON,
    NIGHT,
    ON,
    TEXTS,
    WROTE,
    dreamer,
    dreamt,
    newborn,
    night,
    remember,
    runtime_of,
    spoken,
    truth,
)
from tests.support.sweeps import kill_steps


@pytest.fixture
def ada(tmp_path: Path) -> Entity:
    return dreamer(tmp_path)


def only_dream(entity: Entity) -> dreams.Dream:
    (found,) = dreams.DREAM.readable(entity.dreams)
    return found


# what a dream becomes


def test_the_diary_leads_to_the_dream_and_does_not_tell_it_again(tmp_path: Path) -> None:
    entity = newborn(tmp_path / "ada")
    for n in range(4):
        remember(entity, n, TEXTS[n], 9 - 2 * n, audience=())
    entity.journal.write_bytes(b"# Journal\n")
    thread = "awareness moves in tides — sometimes the pull is felt before the wave arrives"
    night(entity, reply=Reply(dreamt(thread=thread)))
    assert entity.journal.read_bytes().decode() == (
        "---\nsources: sources/journal.yaml\n---\n\n"
        "# Journal\n"
        "\n"
        "## 2026-05-24 03:12\n"
        "\n"
        "[awareness moves in tides — sometimes the pull is felt before the wave arrives]"
        f"(dreams/2026-05-24-{only_dream(entity).id}.md)\n"
    )
    (entry,) = journal.read(entity.journal, UTC).entries
    assert entry.provenance == Provenance("dream", "scripted", (only_dream(entity).id,), "entity")


def test_a_dream_is_called_for_what_it_shows_else_for_the_memories_that_met(
    tmp_path: Path,
) -> None:
    for number, (own, title) in enumerate(
        [("The fugue in the bread", "The fugue in the bread"), ("", "Whales · Norway")]
    ):
        entity = newborn(tmp_path / str(number))
        remember(entity, 1, f"# Whales\n\n{TEXTS[1]}", 9)
        remember(entity, 2, f"# Norway\n\n{TEXTS[2]}", 5)
        night(entity, reply=Reply(dreamt(title=own)))
        found = only_dream(entity)
        assert found.title == title
        assert f"[{found.thread}]({dreams.DREAM.place(found)})" in entity.journal.read_text()
        assert f"\n# {title}\n" in (entity.root / dreams.DREAM.place(found)).read_text()


def test_a_dream_is_found_once_though_the_diary_has_its_thought(ada: Entity) -> None:
    night(ada)
    memory = runtime_of(ada).memory
    memory.sync()
    found = memory.search("what will not rise", kinds=("dream", "journal"), limit=9)
    assert {hit.kind for hit in found} == {"dream"}


def test_a_dream_becomes_diary_belief_noise_record_and_state(ada: Entity) -> None:
    outcome = night(ada)
    found = only_dream(ada)
    assert found.provenance.trust == "entity"
    assert found.fragments == tuple(outcome.data["fragments"])
    assert found.thread == "what will not rise is what leaves"
    assert not found.bypassed
    assert found.at == NIGHT
    (belief,) = beliefs.BELIEF.readable(ada.beliefs)
    assert (belief.category, belief.confidence) == ("dream_insight", 0.35)
    assert belief.origin == f"dream:{found.id}"
    assert belief.text == found.thread
    assert found.became == ("journal", belief.id, "noise")
    (entry,) = journal.read(ada.journal, LISBON).entries
    assert entry.tags == ("dream", "consolidation")
    runtime = runtime_of(ada)
    held = body_state.read(runtime, NIGHT).noise
    assert [one.kind for one in held] == ["dream", "dream"]
    assert noise.line(held[0]) == f"[dream] {found.fragments[0]}"
    assert set(found.provenance.sources) == {one for pair in found.pairs for one in pair}
    assert state.read(ada.state).get("dream", "count") == 1


@pytest.mark.parametrize("reason", ["length", "stop"])
def test_an_answer_that_was_cut_off_is_asked_for_again_and_no_half_line_of_it_is_kept(
    ada: Entity, reason: FinishReason
) -> None:
    whole = dreamt("a lake of bread", "every moon is a dog", "somebody asks for bread")
    for end in ("somebody asks", "what will not ri"):
        torn = Reply(whole[: whole.index(end) + len(end)], finish_reason=reason, purpose="dream")
        runtime = runtime_of(ada, [torn, WROTE], overrides=ON)
        outcome = dream.run(runtime, dream.check(runtime).jobs[0])
        assert outcome.data["fragments"] == list(IMAGES)
        torn = replace(torn, always=True)
        runtime = runtime_of(ada, [torn], overrides=ON)
        assert not dream.run(runtime, dream.check(runtime).jobs[0]).ran


def test_too_much_is_cut_and_what_is_copied_from_the_example_is_left_out(ada: Entity) -> None:
    rows = [f"image {n} {'of water ' * 60}" for n in range(9)]
    answer = json.loads(dreamt(*rows, "- * every window I open is the same wet street"))
    read = dream.read_dream(structured.fitted(answer | {"thread": "and on " * 200}, dream.schema()))
    assert len(read.fragments) == dream.MAX_FRAGMENTS
    assert max(map(len, read.fragments)) <= dream.FRAGMENT_MAX_CHARS
    assert len(read.thread) <= dream.THREAD_MAX_CHARS
    copied = json.loads(dreamt("every window I open is the same wet street", "- a\nlake", "***"))
    assert dream.read_dream(copied).fragments == ("a lake",)


def wondered(entity: Entity, text: str, *audience: str) -> questions.OpenQuestion:
    origin = Provenance("deep-recall", trust="owner", audience=audience)
    question = questions.QUESTION.new(f"qst_{len(text)}", text, origin, at=NIGHT)
    changes.apply(entity.root, ChangeSet("x", (questions.QUESTION.plan_new(question, "miss"),)))
    return question


def test_a_dream_turns_over_what_memory_had_no_answer_to(ada: Entity) -> None:
    secret = wondered(ada, "Where does Kim keep the spare key?", "kim")
    open_one = wondered(ada, "Where did the boat come from?", "sam")
    runtime = runtime_of(ada, [WROTE], overrides=ON)
    outcome = dream.run(runtime, dream.check(runtime).jobs[0])
    asked = runtime.model.requests[0].messages[-1].content  # type: ignore[attr-defined]
    assert "Where did the boat come from?" in asked
    assert "spare key" not in asked
    assert outcome.data["question"] == open_one.id
    job.apply(runtime, outcome)
    assert open_one.id in only_dream(ada).provenance.sources
    assert {one.id for one in questions.QUESTION.readable(ada.questions)} == {
        open_one.id,
        secret.id,
    }


def test_what_is_dreamt_of_private_talk_is_for_the_same_people(ada: Entity) -> None:
    night(ada)
    assert only_dream(ada).provenance.audience == ("sam",)
    (belief,) = beliefs.BELIEF.readable(ada.beliefs)
    assert belief.audience == ("sam",)
    (entry,) = journal.read(ada.journal, LISBON).entries
    assert entry.audience == ("sam",)
    assert "audience" not in entry.text
    soma = body_state.read(runtime_of(ada), NIGHT)
    assert soma.noise
    assert body.shown_to(soma, ("sam",)).noise == soma.noise
    for readers in [("bo",), ("sam", "bo"), ()]:
        assert body.shown_to(soma, readers).noise == ()


def test_memories_of_two_people_never_meet_in_one_dream(tmp_path: Path) -> None:
    entity = newborn(tmp_path / "ada")
    for n in range(8):
        remember(
            entity, n, f"{TEXTS[n % 6]} {n}", 20 - 2 * n, audience=("sam",) if n % 2 else ("bo",)
        )
    for evening in range(6):
        night(entity, NIGHT + timedelta(days=evening))
    for found in dreams.DREAM.readable(entity.dreams):
        people = {episodes.find(entity, one).audience for pair in found.pairs for one in pair}
        assert people == {found.provenance.audience}


@pytest.mark.parametrize(
    ("switch", "path"),
    [
        ("write_journal", "journal.md"),
        ("write_beliefs", "beliefs"),
        ("inject_noise", "soma.yaml"),
    ],
)
def test_each_switch_off_leaves_its_file_alone(ada: Entity, switch: str, path: str) -> None:
    before = {name: data for name, data in truth(ada.root).items() if name.startswith(path)}
    night(ada, settings={f"soma.dreams.{switch}": False})
    after = {name: data for name, data in truth(ada.root).items() if name.startswith(path)}
    assert after == before
    assert len(only_dream(ada).became) == 2


def test_a_dream_that_was_dreamt_before_is_not_taken_again(ada: Entity) -> None:
    night(ada)
    first, [believed] = only_dream(ada), list(beliefs.BELIEF.readable(ada.beliefs))
    outcome = night(ada, at=NIGHT + timedelta(days=1))
    assert not outcome.ran
    assert "wrote an earlier dream once more" in outcome.lines[0]
    assert only_dream(ada) == first
    assert list(beliefs.BELIEF.readable(ada.beliefs)) == [believed]


def test_an_answer_without_any_dream_is_remembered_as_none(ada: Entity) -> None:
    before = truth(ada.root)
    outcome = night(ada, reply=Reply("I am only a language model.", always=True))
    assert not outcome.ran
    after = truth(ada.root)
    assert after.pop("state.yaml") != before.pop("state.yaml", b"")
    assert after == before
    assert dream.check(runtime_of(ada, overrides=ON)).conditions[2].passes is False  # cooldown


def test_the_prompt_holds_pairs_body_and_name(ada: Entity) -> None:
    model = ScriptedModel([WROTE])
    runtime = runtime_of(ada, model, overrides=ON)
    outcome = dream.run(runtime, dream.check(runtime).jobs[0])
    (request,) = model.requests
    text = request.messages[-1].content
    assert request.temperature == 1.15
    assert request.max_tokens == 500
    assert "You are Ada." in text
    assert "Fell asleep" in text
    for pair in outcome.data["pairs"]:
        for one in pair:
            assert episodes.find(ada, one).text in text
    assert "May 2026)" in text


# what is dreamt of


def test_nothing_to_dream_of_waits_half_an_hour(tmp_path: Path) -> None:
    entity = newborn(tmp_path / "ada")
    remember(entity, 1, "One memory.", 3)
    model = ScriptedModel([])
    runtime = runtime_of(entity, model, overrides=ON)
    outcome = dream.run(runtime, dream.check(runtime).jobs[0])
    job.apply(runtime, outcome)
    assert model.requests == []
    assert not outcome.ran
    early = runtime_of(entity, at=NIGHT + timedelta(minutes=29), overrides=ON)
    assert not dream.check(early).due
    assert dream.check(runtime_of(entity, at=NIGHT + timedelta(minutes=30), overrides=ON)).due
    remember(entity, 2, "Another.", 9)
    night(entity, NIGHT + timedelta(minutes=30))
    assert state.read(entity.state).get("dream", "empty_at") is None


def test_force_goes_past_the_gates_and_says_so(ada: Entity) -> None:
    spoken(ada, NIGHT)
    outcome = night(
        ada, NIGHT + timedelta(hours=9), force=True, settings={"soma.dreams.enabled": False}
    )
    assert outcome.data["forced"] is True
    assert outcome.data["bypassed"] == ["enabled", "hours"]
    assert any("enabled, hours" in line for line in outcome.lines)
    assert only_dream(ada).bypassed == ("enabled", "hours")


def test_of_two_dreams_at_once_one_is_kept(ada: Entity) -> None:
    lives = [runtime_of(ada, [WROTE], overrides=ON, seed=n) for n in (1, 2)]
    outcomes = [dream.run(life, dream.check(life).jobs[0]) for life in lives]
    for life, outcome in zip(lives, outcomes, strict=True):
        job.apply(life, outcome)
    assert only_dream(ada).id == outcomes[0].data["id"]
    assert len(journal.read(ada.journal, LISBON).entries) == 1


def test_who_speaks_while_it_dreams_wakes_it_and_nothing_of_the_dream_is_kept(ada: Entity) -> None:
    runtime = runtime_of(ada, [WROTE], overrides=ON)
    outcome = dream.run(runtime, dream.check(runtime).jobs[0])
    spoken(ada, NIGHT)
    before = truth(ada.root)
    outcome = job.apply(runtime, outcome)
    assert outcome.written == []
    assert truth(ada.root) == before
    assert outcome.late == ("Not kept: silence: 0 s, wants at least 3600 s.",)
    assert not outcome.ran


def test_a_hand_edit_while_it_dreams_stays(ada: Entity) -> None:
    runtime = runtime_of(ada, [WROTE], overrides=ON)
    outcome = dream.run(runtime, dream.check(runtime).jobs[0])
    ada.state.write_text("# mine\nnote: keep\n")
    ada.journal.write_text("by hand")
    job.apply(runtime, outcome)
    assert "note: keep" in ada.state.read_text()
    assert "by hand\n\n## 2026" in ada.journal.read_text()


def test_a_model_that_is_away_changes_nothing(ada: Entity) -> None:
    class Away(ScriptedModel):
        def complete(self, *_: Any, **__: Any) -> Any:
            raise ModelUnreachableError("nobody is there")

    before = truth(ada.root)
    runtime = runtime_of(ada, Away([]), overrides=ON)
    with pytest.raises(ModelUnreachableError):
        dream.run(runtime, dream.check(runtime).jobs[0])
    assert truth(ada.root) == before


@forks
@kill_steps
@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
def test_a_kill_at_any_call_leaves_a_whole_dream_or_none(
    ada: Entity, done: bool, step: int
) -> None:
    runtime = runtime_of(ada, [WROTE], overrides=ON)
    planned = dream.run(runtime, dream.check(runtime).jobs[0]).planned()[1]
    assert len(planned.changes) == 5
    before = truth(ada.root)
    after = _applied(ada, planned, before)
    ends = set()
    for n in range(1, 400, step):
        _reset(ada.root, before)

        def act(number: int, is_done: bool, at: int = n) -> None:
            if number == at and is_done == done:
                os.kill(os.getpid(), signal.SIGKILL)

        def work_(kill: Any = act) -> None:
            with every_call(kill):
                changes.apply(ada.root, planned)

        if in_child(work_) == 0:
            break
        changes.recover(ada.root)
        assert truth(ada.root) in (before, after), n
        ends.add(truth(ada.root) == after)
    assert ends == {True, False}


def _applied(entity: Entity, planned: ChangeSet, before: dict[str, bytes]) -> dict[str, bytes]:
    changes.apply(entity.root, planned)
    after = truth(entity.root)
    _reset(entity.root, before)
    return after


def _reset(root: Path, before: dict[str, bytes]) -> None:
    for name in truth(root):
        (root / name).unlink()
    for name, data in before.items():
        (root / name).write_bytes(data)


def test_the_last_dream_is_the_one_made_last_whatever_the_clocks_said(ada: Entity) -> None:
    ahead = NIGHT.replace(year=2036)
    wrong = dreams.new(base.new_id(dreams.DREAM.prefix, ahead, random.Random(1)), ahead, (), (), "")
    living.write(ada, dreams.DREAM.plan_new(wrong, ""))
    assert night(ada).data["id"] > wrong.id
    assert [one.at.year for one in dreams.DREAM.readable(ada.dreams)] == [2036, NIGHT.year]


def test_a_private_dream_enters_the_prompt_of_those_it_is_for_alone(
    ada: Entity, monkeypatch: pytest.MonkeyPatch
) -> None:
    night(ada)
    monkeypatch.setattr(ebb, "QUIET_BELOW", 0.0)
    monkeypatch.setattr(ebb, "HIGH_FROM", 0.0)
    loud = {"prompt.body_max_tokens": 400}
    answer = {"actions": [{"tool": "say", "arguments": {"text": "Hm."}}]}
    for seed, (speaker, is_theirs) in enumerate((("Sam", True), ("Bo", False))):
        model = ScriptedModel([Reply(json.dumps(answer))])
        runtime = runtime_of(ada, model, NIGHT + timedelta(hours=6), overrides=loud, seed=seed)
        who = people.speaker(ada, runtime.identity, speaker)
        session, is_new = participants.open_session(runtime, who, runtime.clock(), new=True)
        heard = participants.listen(
            runtime, session, is_new, who, "I have been wondering about it all. " * 8
        )
        runtime.memory.sync()
        turn.answer(runtime, turn.prepare(runtime, Heard(heard, who)), ReplyStream(lambda _: None))
        text = "".join(one.content for one in model.requests[0].messages)
        assert "Bars: " in text
        assert ("[dream] i plant whales" in text) == is_theirs
        assert ("rise" in text) <= is_theirs
