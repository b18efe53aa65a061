from __future__ import annotations

import json
import random
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from bumble.entity.changes import ChangeSet
from bumble.entity.folder import Entity
from bumble.errors import RecordMissingError
from bumble.guard import excerpt
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.prompt import compact, transcript
from bumble.prompt.compact import CompactJob
from bumble.recall import whole_record
from bumble.records import session_files, sessions
from bumble.records.sessions import Message, Session, ToolCall
from bumble.runtime import job
from bumble.runtime.runtime import Runtime
from bumble.text import tokens
from tests.support import newborns
from tests.support.lives import NOON, runtime_of
from tests.support.sweeps import examples

WINDOW = 4096


@pytest.fixture(scope="module")
def newborn(tmp_path_factory: pytest.TempPathFactory) -> Entity:
    folder = tmp_path_factory.mktemp("compact") / "ada"
    return newborns.ada(folder)


def small(entity: Entity, replies: list[Reply] | None = None) -> Runtime:
    return runtime_of(entity, ScriptedModel(replies or [], context_tokens=WINDOW))


def notes(**values: str) -> Reply:
    whole = dict.fromkeys(compact.HEADINGS, "") | values
    return Reply(json.dumps(whole), purpose="compact", always=True)


def said(n: int, text: str, role: str = "user", **more: Any) -> Message:
    at = NOON + timedelta(minutes=n)
    who = {"speaker": "sam", "extra": {"name": "Sam"}} if role == "user" else {}
    extra = {"extra": {"tool": "recall"}} if role == "tool" else {}
    return Message(f"msg_{n:05}", at, role, text, **{**who, **extra, **more})


def talk(messages: list[Message]) -> Session:
    return sessions.appended(sessions.new("ses_1", NOON, "sam"), messages)


def long_talk(turns: int = 60, words: int = 40) -> Session:
    rng = random.Random(3)
    filler = ["the", "day", "was", "nice", "and", "we", "went", "on", "with", "it", "as", "one"]
    messages = []
    for n in range(turns):
        chatter = " ".join(rng.choices(filler, k=words))
        fact = f" My cousin Ilse{n} lives at number {1000 + n}." if n % 10 == 5 else ""
        messages += [said(2 * n, chatter + "." + fact), said(2 * n + 1, "I see.", "assistant")]
    return talk(messages)


PARTS = st.lists(
    st.one_of(
        st.tuples(st.just("user"), st.integers(1, 900)),
        st.tuples(st.just("assistant"), st.integers(1, 900)),
        st.tuples(st.just("call"), st.integers(1, 3)),
    ),
    min_size=1,
    max_size=60,
)


def history_of(parts: list[tuple[str, int]]) -> Session:
    messages: list[Message] = []
    for kind, size in parts:
        n = len(messages)
        if kind != "call":
            messages.append(said(n, "word " * size, kind))
            continue
        calls = tuple(ToolCall(f"c{n}_{i}", "recall", {"query": "x"}) for i in range(size))
        messages.append(said(n, "", "assistant", tool_calls=calls))
        messages += [
            said(n + 1 + i, f"result {n} {i} " * 40, "tool", tool_call_id=call.id)
            for i, call in enumerate(calls)
        ]
    return talk(messages)


def orphans(parts: list[transcript.ViewPart], session: Session) -> list[str]:
    """Tool results that are shown without the call they answer."""
    shown = {part.id for part in parts}
    calls = {call.id for one in session.messages if one.id in shown for call in one.tool_calls}
    return [
        one.id
        for one in session.messages
        if one.role == "tool" and one.id in shown and one.tool_call_id not in calls
    ]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60))
@given(PARTS, st.booleans())
def test_compaction_parts_no_result_from_its_call_and_leaves_the_ends_as_they_were(
    newborn: Entity, parts: list[tuple[str, int]], only_prune: bool
) -> None:
    runtime, session = small(newborn), history_of(parts)
    job = CompactJob(session, 500, only_prune=only_prune, use_model=False)
    made = compact.make(runtime, job, lambda _: None)
    config = runtime.config.cognition.history_compression
    before, after = transcript.shown(session), transcript.shown(made.session)
    assert not orphans(after, made.session)
    head = config.compaction_protect_first_n
    if any(one.kind == "summary" for one in made.records):
        assert [one.message for one in after[:head]] == [one.message for one in before[:head]]
        last = before[-config.compaction_protect_last_n :]
        assert [one.message for one in after[-len(last) :]] == [one.message for one in last]
    order = [one.id for one in session.messages]
    kept = [one.id for one in after if one.role != "summary"]
    assert kept == [one for one in order if one in set(kept)]
    size = compact.measure(runtime, made.session, 500)
    outcome = compact.run(runtime, job)
    assert outcome.data["fits"] == (size.history <= size.target)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(40))
@given(PARTS)
def test_pruning_twice_changes_nothing_the_second_time(
    newborn: Entity, parts: list[tuple[str, int]]
) -> None:
    runtime, session = small(newborn), history_of(parts)
    once = compact.make(runtime, CompactJob(session, 0, only_prune=True), lambda _: None)
    again = compact.make(runtime, CompactJob(once.session, 0, only_prune=True), lambda _: None)
    assert again.records == []


def test_the_lines_that_say_most_keep_more_facts_than_random_lines_of_the_same_length() -> None:
    lines = excerpt.lines(list(long_talk().messages), {}, "Ada")
    budget = sum(tokens.estimate(str(line)) for line in lines) // 5
    chosen = " ".join(map(str, excerpt.choose(lines, budget)))
    found = sum(f"number {1000 + n}" in chosen for n in range(60))
    assert found == 6
    rng, at_random, used = random.Random(1), [], 0
    for line in rng.sample(lines, len(lines)):
        used += tokens.estimate(str(line))
        if used > budget:
            break
        at_random.append(str(line))
    assert sum(f"number {1000 + n}" in " ".join(at_random) for n in range(60)) < found


def test_a_summary_has_all_headings_and_carries_what_it_left_out(newborn: Entity) -> None:
    runtime = small(newborn, [notes(goal="Sam wants to talk.")])
    made = compact.make(runtime, CompactJob(long_talk(), 500), lambda _: None)
    (text,) = [one.summary for one in made.records if one.kind == "summary"]
    for heading in compact.HEADINGS.values():
        assert f"## {heading}\n" in text
    assert "Sam wants to talk." in text
    assert "Ilse5 lives at number 1005" in text
    assert compact.measure(runtime, made.session, 500).history <= int(WINDOW * 0.2)


def test_a_summary_may_not_add_a_name_that_nobody_said(newborn: Entity) -> None:
    runtime = small(newborn, [notes(goal="Sam wants to talk. Sam met Bartholomew in Vienna.")])
    made = compact.make(runtime, CompactJob(long_talk(), 500), lambda _: None)
    text = made.records[-1].summary
    assert "Sam wants to talk." in text
    assert "Bartholomew" not in text


def test_an_earlier_summary_is_updated_and_what_it_carried_stays(newborn: Entity) -> None:
    runtime = small(newborn, [notes(decisions="Sam decided to go on.")])
    first = compact.make(runtime, CompactJob(long_talk(), 500), lambda _: None).session
    at = len(first.messages)
    more = [said(at + n, f"And the weather was dull on that day {n}, as ever.") for n in range(60)]
    second = compact.make(runtime, CompactJob(sessions.appended(first, more), 500), lambda _: None)
    asked = runtime.model.requests[-1].messages[-1].content  # type: ignore[attr-defined]
    assert "Sam decided to go on." in asked
    text = second.records[-1].summary
    assert "number 1005" in text
    assert sum(part.role == "summary" for part in transcript.shown(second.session)) == 1


def test_why_nothing_was_made_shorter_is_told_truly(newborn: Entity) -> None:
    long, short = "The day was nice and we went on with it. " * 60, "Yes."
    session = talk([said(n, short if n in (2, 3, 4) else long) for n in range(17)])
    outcome = compact.run(small(newborn), CompactJob(session, 500, use_model=False))
    assert not outcome.data["records"]
    assert outcome.data["fits"] is False
    assert outcome.lines[1:] == ("still longer than wanted",)
    brief = talk([said(0, short)])
    outcome = compact.run(small(newborn), CompactJob(brief, 500))
    assert outcome.lines[0].endswith("it is short enough as it is")
    assert outcome.data["fits"] is True


def test_compaction_can_be_taken_back_and_the_transcript_never_loses_a_line(ada: Entity) -> None:
    runtime, session = small(ada, [notes(goal="Talk.")]), long_talk()
    start = sessions.plan_start(session, "")
    runtime.apply(ChangeSet("begin", (start,)))
    outcome = compact.run(runtime, CompactJob(session, 500))
    job.apply(runtime, outcome)
    (file,) = session_files.paths(ada.sessions)
    assert file.read_text().startswith(session.source)
    compacted = session_files.load(file)
    assert len(transcript.shown(compacted)) < len(transcript.shown(session))
    back = compacted
    for one in reversed(compacted.compactions):
        back = sessions.appended(back, [sessions.Undo(NOON + timedelta(days=1), one.id)])
    assert [one.message for one in transcript.shown(back)] == [
        one.message for one in transcript.shown(session)
    ]


def test_what_was_cut_or_cleared_can_be_read_whole(newborn: Entity) -> None:
    call = ToolCall("c1", "recall", {"query": "bees"})
    long = "The hive hums. " * 3000
    stored = [
        said(0, "Hello"),
        said(1, "Hello.", "assistant"),
        said(2, long),
        said(3, "", "assistant", tool_calls=(call,)),
        said(4, "Bees were mentioned in May. " * 20, "tool", tool_call_id="c1"),
        *[said(5 + n, "yes", "user" if n % 2 else "assistant") for n in range(20)],
    ]
    runtime = small(newborn)
    assert compact.KEPT["tool"] == 2
    extra = [
        message
        for n in range(2)
        for message in (
            said(30 + 2 * n, "", "assistant", tool_calls=(ToolCall(f"d{n}", "recall", {}),)),
            said(31 + 2 * n, "none", "tool", tool_call_id=f"d{n}"),
        )
    ]
    session = talk([*stored, *extra])
    made = compact.make(runtime, CompactJob(session, 0, only_prune=True), lambda _: None)
    shown = "\n".join(part.message.content for part in transcript.shown(made.session))
    assert "Bees were mentioned" not in shown
    assert transcript.CLEARED in shown
    for text in (long, "Bees were mentioned in May. " * 20):
        name = session_files.reference(text)
        assert name in shown
        assert whole_record.original(newborn, name, made.session) == text
    with pytest.raises(RecordMissingError):
        whole_record.original(newborn, "0123456789ab", made.session)


def test_old_results_are_cleared_in_batches_so_that_the_prefix_seldom_moves(
    newborn: Entity,
) -> None:
    runtime, session, moved = small(newborn), talk([said(0, "Hi"), said(1, "Hi.", "assistant")]), 0
    before: list[Any] = []
    for n in range(24):
        call = ToolCall(f"c{n}", "recall", {"query": str(n)})
        at = len(session.messages)
        session = sessions.appended(
            session,
            [
                said(at, "", "assistant", tool_calls=(call,)),
                said(at + 1, f"result {n} " * 40, "tool", tool_call_id=call.id),
            ],
        )
        batch = compact.prune(runtime, session, least=compact.CLEAR_BATCH)
        if batch is not None:
            session = sessions.appended(session, [batch])
        now = [part.message for part in transcript.shown(session)]
        moved += any(old != new for old, new in zip(before, now, strict=False))
        before = now
    results = [part for part in transcript.shown(session) if part.role == "tool"]
    assert 1 < moved <= 24 // compact.CLEAR_BATCH
    assert all(transcript.CLEARED not in part.message.content for part in results[-2:])
    assert transcript.CLEARED in results[1].message.content


def test_the_lines_that_say_most_come_behind_what_a_model_told_before(newborn: Entity) -> None:
    runtime = small(newborn, [notes(goal="Sam wants to find a cousin")])
    told = compact.make(runtime, CompactJob(long_talk(), 500), lambda _: None).session
    more = [
        said(1000 + n, f"Bo has number {2000 + n}. And so" + " really" * 60 + ".")
        for n in range(60)
    ]
    job = CompactJob(sessions.appended(told, more), 500, use_model=False)
    after = transcript.standing(compact.make(runtime, job, lambda _: None).session)
    assert after is not None
    assert after.extra == {"summary_source": "excerpt"}
    assert "## Goal\nSam wants to find a cousin\n" in after.summary
    assert "Bo has number" in after.summary


def short_talk(messages: int) -> Session:
    fact = {100: "My cousin Ilse lives at number 1005."}
    roles = ("user", "assistant")
    return talk([said(n, fact.get(n, "yes"), roles[n % 2]) for n in range(messages)])


def test_very_many_short_messages_are_left_out_in_the_middle_without_a_model(
    ada: Entity,
) -> None:
    session = short_talk(322)
    model = ScriptedModel([], context_tokens=100_000)
    runtime = runtime_of(ada, model, flags={"cognition.max_context_tokens": 100_000})
    runtime.apply(ChangeSet("begin", (sessions.plan_start(session, ""),)))
    assert compact.check(runtime, session, 0).due
    after, outcome = compact.make_room(runtime, session, 0)
    assert outcome is not None
    assert model.requests == []
    parts = transcript.shown(after)
    assert len(parts) < 322 // 2 + 4
    whole = transcript.shown(session)
    assert parts[:2] == whole[:2]
    assert parts[-160:] == whole[-160:]
    assert "number 1005" in "".join(part.message.content for part in parts)
    assert compact.make_room(runtime, after, 0) == (after, None)


def test_as_many_messages_as_are_allowed_stay_byte_for_byte(newborn: Entity) -> None:
    model = ScriptedModel([], context_tokens=100_000)
    runtime = runtime_of(newborn, model, flags={"cognition.max_context_tokens": 100_000})
    session = short_talk(320)
    assert compact.make_room(runtime, session, 0) == (session, None)


def small_preset(entity: Entity, replies: list[Reply] | None = None) -> Runtime:
    flags = {"cognition.history_compression.preset": "small"}
    return runtime_of(entity, ScriptedModel(replies or [], context_tokens=WINDOW), flags=flags)


@pytest.mark.parametrize(("stable", "words"), [(500, 500), (2200, 200)])
def test_the_preset_for_small_windows_bounds_the_words_of_a_summary(
    newborn: Entity, stable: int, words: int
) -> None:
    runtime, session = (
        small_preset(newborn, [notes(goal="Sam wants to talk.")]),
        talk(
            [
                said(n, f"On day {n} I met Ilse{n} at number {1000 + n} of the road.")
                for n in range(90)
            ]
        ),
    )
    size = compact.measure(runtime, session, stable)
    assert (size.total > WINDOW * 0.85) == (words == 200)
    made = compact.make(runtime, CompactJob(session, stable), lambda _: None)
    text = next(one.summary for one in made.records if one.kind == "summary")
    assert words // 3 < len(text.split()) <= words
    after = compact.measure(runtime, made.session, stable)
    assert after.history <= after.target


def test_a_conversation_whose_ends_fill_the_window_is_not_summarised_at_every_turn(
    ada: Entity,
) -> None:
    runtime, session = small(ada), talk([said(n, f"Day {n}. " + "word " * 150) for n in range(24)])
    sessions_made = []
    for n in range(24, 44):
        session = sessions.appended(session, [said(n, f"Day {n}. " + "word " * 150)])
        before = len(session.compactions)
        session, _ = compact.make_room(replace(runtime, writes=False), session, 500)
        sessions_made.append(len(session.compactions) - before)
        assert compact.measure(runtime, session, 500).long  # its protected ends alone are too long
    assert 1 <= sum(map(bool, sessions_made)) <= 10
