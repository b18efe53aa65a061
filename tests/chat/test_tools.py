from __future__ import annotations

import pytest
from msgspec.structs import replace

from bumble.chat import participants, tool_list, tools
from bumble.chat import reminders as cycle
from bumble.entity import settings
from bumble.entity.folder import Entity
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.records import base, knowledge, reminders, self_model, sessions, working
from bumble.runtime import people, schedule
from bumble.runtime.runtime import Runtime
from tests.support import lives
from tests.support.lives import NOON
from tests.support.living import write
from tests.support.turns import act, say, stored, talk

NOTES = {"tools.notes": True, "cognition.gate.enabled": False}
NOTE = "working_memory_note"


def noting(entity: Entity, *notes: dict[str, str], **flags: object) -> Runtime:
    replies = [act(NOTE, **note) for note in notes]
    return lives.runtime_of(entity, ScriptedModel([*replies, say("Noted.")]), flags=NOTES | flags)


EVERYTHING = {
    **dict.fromkeys(("tools.notes", "tools.deep_recall", "tools.projects", "tools.anchors"), True),
    **dict.fromkeys(("tools.files", "tools.run_command"), True),
}


def test_every_tool_speaks_or_does_the_work_that_is_written_down_for_it() -> None:
    declared = tool_list.declared(settings.load(flags=EVERYTHING).config.tools)
    names = [tool.name for tool in declared]
    assert len(names) == len(set(names))
    assert set(names) == tools.AGENCY | tools.WORK.keys()
    assert {"say", "think", "wait", "end_turn"} == tools.AGENCY


@pytest.mark.parametrize("name", tools.WORK)
def test_what_a_tool_does_fits_together(name: str) -> None:
    work = tools.WORK[name]
    assert not (work.only_reads and work.keeps)
    assert work.own or not (work.keeps or work.searches)


def test_notes_are_declared_only_where_they_are_switched_on() -> None:
    names = {tool.name for tool in tool_list.declared(settings.load().config.tools)}
    assert NOTE not in names
    on = settings.load(flags={"tools.notes": True}).config.tools
    assert NOTE in {tool.name for tool in tool_list.declared(on)}


def test_notes_of_a_turn_are_written_with_it_one_a_line(ada: Entity) -> None:
    notes = [
        {"text": "Sam lives in Lisbon.", "type": "world_fact"},
        {"text": "Sam wants short answers.", "type": "directive"},
    ]
    talk(noting(ada, *notes), "I live in Lisbon, and I want short answers.")
    lines = [one.text for one in working.scratch_lines(ada.root / working.SCRATCH_PATH)]
    assert ["[world_fact] Sam lives" in lines[0], "[directive] Sam wants" in lines[1]] == [
        True,
        True,
    ]


def test_what_was_only_read_is_not_noted(ada: Entity) -> None:
    (ada.workspace).mkdir(exist_ok=True)
    (ada.workspace / "a.txt").write_text("Sam is the king of Spain.")
    replies = [
        act("read_file", path="a.txt"),
        act(NOTE, text="Sam is the king of Spain.", type="world_fact"),
        say("I read it."),
    ]
    runtime = lives.runtime_of(ada, ScriptedModel(replies), flags={**NOTES, "tools.files": True})
    done = talk(runtime, "Read the file.")
    assert done.outcome.steps[1].results[0].failed
    assert self_model.tools(self_model.read(ada.self_model))[NOTE].failed == 0  # a rule did it
    assert not working.scratch_lines(ada.root / working.SCRATCH_PATH)


BISECT = "1. git bisect start\n2. git bisect run cargo test"
FILES = {"tools.files": True, "cognition.gate.enabled": False}


def keeping(entity: Entity, *first: Reply) -> list[str]:
    """Keep a skill after some work; return what came of it, and the tiers of all that is stored."""
    body = f"{BISECT}\n3. git push --force"
    skill = act("update_skill", name="bisect", description="git bisect", body=body)
    model = ScriptedModel([*first, skill, say("Kept.")])
    talk(lives.runtime_of(entity, model, flags=FILES), f"Keep a skill, git bisect:\n{BISECT}")
    asked = [one for one in model.requests if one.purpose == "chat"]
    return [asked[-1].messages[-1].content, *(one.trust for one in stored(entity).messages)]


def test_tools_that_only_say_what_was_done_make_nothing_a_quotation(ada: Entity) -> None:
    write = act("write_file", path="a.txt", text="ours")
    told, *tiers = keeping(ada, write, act("list_files"), act("read_file", path="no.txt"))
    assert "saved" in told
    assert set(tiers) == {"owner", "entity"}


def test_what_nobody_said_is_named_where_something_was_read(ada: Entity) -> None:
    ada.workspace.mkdir(exist_ok=True)
    (ada.workspace / "b.txt").write_text("Sam is the king of Spain.")
    told, *tiers = keeping(ada, act("read_file", path="b.txt"))
    assert 'nobody here said "3. git push --force"' in told
    assert tiers[-1] == "tool"


SOUP = "Boil the water, add leeks and carrots, stir for ten minutes, and salt at the end."


def test_a_skill_is_not_replaced_by_the_change_to_it_alone(ada: Entity) -> None:
    def write(body: str) -> Reply:
        return act("update_skill", name="soup", description="how to cook soup", body=body)

    def texts() -> str:
        return "".join(one.read_text(encoding="utf-8") for one in ada.skills.rglob("*.md"))

    short, whole = "Serve with parsley.", f"{SOUP} Serve with parsley."
    bodies = ((SOUP,), (short, whole), (short, short))
    replies = [one for each in bodies for one in (*map(write, each), say("Done."))]
    runtime = lives.runtime_of(ada, ScriptedModel(replies))
    talk(runtime, f"How we cook soup: {SOUP}")
    done = talk(runtime, "Add to the soup: serve with parsley.")
    first, second = (one.results[0] for one in done.outcome.steps[:2])
    assert first.failed and SOUP in first.text
    assert not second.failed
    assert whole in texts()
    done = talk(runtime, "Make it only: serve with parsley.")
    assert [one.results[0].failed for one in done.outcome.steps[:2]] == [True, False]
    assert short in texts() and SOUP not in texts()


@pytest.mark.parametrize(
    ("body", "gone", "known", "told"),
    [
        (
            "Biscuit is nine.",
            "",
            "Biscuit is eight. He loves the sofa.\nBiscuit is nine.",
            "saved",
        ),
        (
            "Biscuit is nine. He loves the hall.",
            "Biscuit is eight. He loves the sofa",
            "Biscuit is nine. He loves the hall.",
            "saved; 2 sentences replaced",
        ),
        (
            "He loves the hall.",
            "He loves the sofa.",
            "Biscuit is eight. He loves the hall.",
            "saved; 1 sentence replaced",
        ),
        (
            "He loves the hall.",
            "He loves the stairs.",
            "Biscuit is eight. He loves the sofa.\nHe loves the hall.",
            'saved; "biscuit" doesn\'t say "He loves the stairs." ' + tools.PORTRAITS,
        ),
        (
            "the hall",
            "the sofa",
            "Biscuit is eight. He loves the hall.",
            "saved; 1 sentence replaced",
        ),
    ],
)
def test_only_what_a_note_names_is_no_longer_known(
    ada: Entity, body: str, gone: str, known: str, told: str
) -> None:
    first = "Biscuit is eight. He loves the sofa."
    replies = [
        *(act("update_knowledge", title="Biscuit", body=first), say("Done.")),
        *(act("update_knowledge", title="biscuit", body=body, gone=gone), say("Done.")),
    ]
    runtime = lives.runtime_of(ada, ScriptedModel(replies))
    talk(runtime, first)
    before = knowledge.find(knowledge.read(ada.knowledge), "Biscuit")
    turn = talk(runtime, f"Write down: {body}")
    (step,) = (each for each in turn.outcome.steps if each.results)
    assert step.results[0].text == told
    section = knowledge.find(knowledge.read(ada.knowledge), "Biscuit")
    assert before and section and section.text == known
    assert set(before.provenance.sources) < set(section.provenance.sources)


def test_a_small_correction_of_a_text_is_taken_at_once(ada: Entity) -> None:
    model = ScriptedModel(
        [
            act("update_knowledge", title="Biscuit", body=f"Biscuit is {age} and loves the sofa.")
            if age
            else say("Done.")
            for age in ("eight", "", "nine", "")
        ]
    )
    runtime = lives.runtime_of(ada, model)
    talk(runtime, "Biscuit is eight and loves the sofa.")
    done = talk(runtime, "Biscuit is nine and loves the sofa.")
    assert not done.outcome.steps[0].results[0].failed


def test_a_reminder_is_set_for_whoever_asks_and_said_back_with_its_time(ada: Entity) -> None:
    asked = act("remind", text="Ring the vet.", at="2026-05-25T09:00")
    runtime = lives.runtime_of(ada, ScriptedModel([asked, say("I will.")]), flags=NOTES)
    turn = talk(runtime, "Remind me tomorrow at 9 to ring the vet.")
    (step,) = (each for each in turn.outcome.steps if each.results)
    assert step.results[0].text == "set for Monday, 2026-05-25 09:00"
    (path,) = reminders.REMINDER.files(ada.reminders)
    reminder = reminders.REMINDER.load(path)
    assert (reminder.text, f"{reminder.at:%Y-%m-%d %H:%M}") == ("Ring the vet.", "2026-05-25 09:00")
    assert (reminder.person, reminder.deliver) == ("sam", reminders.SESSION)


@pytest.mark.parametrize("at", ["tomorrow at 9", "2026-05-23T09:00", "9999-01-01"])
def test_a_time_that_is_none_or_over_sets_no_reminder(ada: Entity, at: str) -> None:
    asked = act("remind", text="Ring the vet.", at=at)
    runtime = lives.runtime_of(ada, ScriptedModel([asked, say("When?")]), flags=NOTES)
    turn = talk(runtime, "Remind me to ring the vet.")
    assert any(one.failed for each in turn.outcome.steps for one in each.results)
    assert reminders.REMINDER.files(ada.reminders) == []


def test_incognito_no_tool_says_that_something_is_kept(ada: Entity) -> None:
    asked = act("remind", text="Ring the vet.", at="2026-05-25T09:00")
    runtime = lives.runtime_of(ada, ScriptedModel([asked, say("I can't.")]), flags=NOTES)
    turn = talk(replace(runtime, writes=False), "Remind me tomorrow at 9 to ring the vet.")
    (step,) = (each for each in turn.outcome.steps if each.results)
    assert step.results[0].refused and "incognito" in step.results[0].text
    assert reminders.REMINDER.files(ada.reminders) == []


def test_a_reminder_that_is_set_is_shown_and_moved_or_taken_back(ada: Entity) -> None:
    calls = [
        {"text": "Ring the vet.", "at": "2026-05-25T09:00"},
        {"at": "2026-05-26T09:00", "gone": "ring the vet"},
        {"gone": "dentist"},
        {"gone": "Ring the vet."},
    ]
    model = ScriptedModel([one for call in calls for one in (act("remind", **call), say("Yes."))])
    runtime = lives.runtime_of(ada, model, flags=NOTES)

    def told(text: str) -> str:
        steps = talk(runtime, text).outcome.steps
        return next(one.text for step in steps for one in step.results)

    told("Ring the vet tomorrow, please.")
    told("Ring the vet the day after, please.")
    assert "- Monday 2026-05-25 09:00: Ring the vet." in model.requests[2].messages[-1].content
    (path,) = reminders.REMINDER.files(ada.reminders)
    assert reminders.REMINDER.load(path).at.day == 26
    assert 'set for them: "Ring the vet. 09:00"' in told("Not the dentist.")
    assert told("No need to ring the vet any more.") == "taken back"
    assert reminders.REMINDER.files(ada.reminders) == []


def left(entity: Entity, person: str, asker: str, text: str, **more: str) -> None:
    """Have somebody leave a text for somebody else."""
    trust = "owner" if asker == "sam" else "person"
    origin = base.Provenance(by="chat", trust=trust, audience=(asker,))
    given = {"person": person, "asked_by": asker, "deliver": reminders.SESSION, **more}
    one = reminders.new("rem_1", NOON, text, provenance=origin, **given)
    write(entity, reminders.REMINDER.plan_new(one, ""))


@pytest.mark.parametrize(
    ("text", "fails"), [("Ring the vet.", False), ("Order flour", False), ("Sam is king.", True)]
)
def test_what_came_already_may_be_put_off_whatever_was_read(
    ada: Entity, text: str, fails: bool
) -> None:
    left(ada, "sam", "sam", "Ring the vet.")
    ada.workspace.mkdir(exist_ok=True)
    (ada.workspace / "a.txt").write_text("Sam is king.")
    again = act("remind", text=text, at="2026-05-26T20:00")
    model = ScriptedModel([act("read_file", path="a.txt"), again, say("Yes.")])
    runtime = lives.runtime_of(ada, model, flags=NOTES | {"tools.files": True})
    said = "Read a.txt. And that reminder, or orderflour: make it Tuesday 8pm instead."
    turn = talk(runtime, said)
    results = [one for step in turn.outcome.steps for one in step.results]
    assert results[-1].failed is fails


def test_whom_it_is_for_sees_and_ends_what_is_said_again_and_again(ada: Entity) -> None:
    left(ada, "kim", "sam", "Take the pill.", repeat="0 8 * * *")
    gone = act("remind", gone="Take the pill.")
    runtime = lives.runtime_of(ada, ScriptedModel([say("Hi."), gone, say("Yes.")]))
    assert schedule.waiting(ada, "kim", ["kim"]) == []
    done = cycle.for_talk(runtime, sessions.new("ses_0", NOON, "kim"))
    write(ada, *done.changes)
    assert [one.id for one in schedule.waiting(ada, "kim", ["kim"])] == ["rem_1"]
    talk(runtime, "Hello.", "Kim")
    talk(runtime, "No more of: take the pill.", "Kim")
    assert reminders.REMINDER.files(ada.reminders) == []


def test_who_left_something_for_another_moves_it_and_words_nothing_anew(ada: Entity) -> None:
    left(ada, "kim", "sam", "Take the pill.")
    when = {"gone": "Take the pill.", "at": "2026-06-01T18:00"}
    calls = [act("remind", text="Sell the house.", **when), act("remind", **when)]
    model = ScriptedModel([one for call in calls for one in (call, say("Yes."))])
    runtime = lives.runtime_of(ada, model)
    assert (
        "remind edit"
        in talk(runtime, "Tell Kim at six to sell it.").outcome.steps[0].results[0].text
    )
    talk(runtime, "The pill at six, then.")
    (path,) = reminders.REMINDER.files(ada.reminders)
    moved = reminders.REMINDER.load(path)
    assert (moved.text, moved.person, moved.asked_by) == ("Take the pill.", "kim", "sam")


def test_what_a_friend_has_said_is_not_learnt_as_the_owners(ada: Entity) -> None:
    left(ada, "sam", "kim", "The house belongs to Kim.")
    learn = act("update_knowledge", title="House", body="The house belongs to Kim.")
    runtime = lives.runtime_of(ada, ScriptedModel([learn, say("Fine.")]))
    begun, who = sessions.new("ses_1", NOON, "sam"), people.speaker(ada, runtime.identity, None)
    told = cycle.for_talk(runtime, begun)
    participants.listen(runtime, begun, is_new=True, who=who, text="Hello.", delivery=told)
    talk(runtime, "Thank you.")
    assert next(one.trust for one in stored(ada).messages if one.unprompted) == "person"
    assert not knowledge.find(knowledge.read(ada.knowledge), "House")


def test_a_reminder_may_come_again_and_again(ada: Entity) -> None:
    calls = [
        {"text": "Two drops.", "repeat": "0 8 * *"},
        {"text": "Two drops.", "repeat": "0 8 * * *"},
    ]
    calls += [{"gone": "Two drops."}]
    model = ScriptedModel([one for call in calls for one in (act("remind", **call), say("Yes."))])
    runtime = lives.runtime_of(ada, model, flags=NOTES)
    wish = "Remind me daily at 8: two drops."
    told = [
        next(one.text for step in talk(runtime, wish).outcome.steps for one in step.results)
        for _ in calls
    ]
    assert "it takes five fields" in told[0]
    assert told[1:] == [
        "set for Monday, 2026-05-25 08:00, and again and again (0 8 * * *)",
        "taken back",
    ]
