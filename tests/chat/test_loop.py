from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from bumble.chat import loop, speaker, tool_list
from bumble.chat.completion_gate import Gate
from bumble.entity import settings
from bumble.entity.config import LoopConfig
from bumble.errors import AnswerInvalidError, ModelUnreachableError
from bumble.llm.protocol import Action, Completion, OnText, PromptMessage, Request, Tool
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.runtime.runtime import Result

CONFIG = settings.load().config.cognition.loop
REQUEST = Request([PromptMessage("system", "You are Ada."), PromptMessage("user", "Hello")])


def act(*calls: tuple[str, Mapping[str, Any]]) -> str:
    return json.dumps({"actions": [{"tool": name, "arguments": args} for name, args in calls]})


def say(text: str) -> str:
    return act(("say", {"text": text}))


def recall(query: str) -> str:
    return act(("recall", {"query": query}))


def gate_of(model: ScriptedModel, *, judges: bool = False, message: str = "Hello") -> Gate:
    config = settings.load().config.cognition.gate
    return Gate(model, replace(config, judge="always" if judges else "never"), message)


def go(
    model: ScriptedModel,
    person: Person,
    config: LoopConfig = CONFIG,
    *,
    judges: bool = False,
) -> loop.LoopOutcome:
    return loop.run(
        model,
        REQUEST,
        tool_list.DECLARED,
        config,
        person.carry_out,
        person.hear,
        person="Sam",
        gate=gate_of(model, judges=judges),
    )


class Person:
    """Hears what is said, and runs every call with the same result."""

    def __init__(self, result: Result | None = None) -> None:
        self.heard = ""
        self.calls: list[Action] = []
        self.result = result or Result("Biscuit is a dog.")

    def hear(self, piece: str) -> None:
        self.heard += piece

    def carry_out(self, call: Action) -> Result:
        self.calls.append(call)
        return self.result


def run(
    replies: list[Reply], person: Person, message: str = "Hello"
) -> tuple[loop.LoopOutcome, ScriptedModel]:
    model = ScriptedModel(replies)
    done = loop.run(
        model,
        REQUEST,
        tool_list.DECLARED,
        CONFIG,
        person.carry_out,
        person.hear,
        person="Sam",
        gate=gate_of(model, message=message),
    )
    return done, model


def test_speech_ends_the_turn() -> None:
    person = Person()
    done, model = run([Reply(say("Hello Sam."))], person)
    assert (done.said, done.stopped, person.heard) == ("Hello Sam.", "done", "Hello Sam.")
    assert len(model.requests) == 1


SET = ("remind", {"text": "Call the vet", "at": "2026-05-24T18:00"})
PROMISE = ("say", {"text": "I'll remind you at six."})


@pytest.mark.parametrize(
    ("calls", "result", "requests"),
    [
        ([SET, PROMISE], Result("set for Sunday"), 1),
        ([SET, PROMISE], Result("failed: that is over", failed=True), 2),
        ([SET], Result("set for Sunday"), 2),
        ([("say", {**PROMISE[1], "then": "more"}), SET], Result("set for Sunday"), 2),
        ([("recall", {"query": "vet"}), PROMISE], Result("The vet is Dr Hay."), 2),
    ],
)
def test_what_was_said_beside_work_that_gives_nothing_back_ends_the_turn(
    calls: list[tuple[str, Mapping[str, Any]]], result: Result, requests: int
) -> None:
    replies = [Reply(act(*calls)), Reply(say("It is set, for Sunday at six."))]
    done, model = run(replies, Person(result), "Remind me, please.")
    assert len(model.requests) == requests
    assert done.stopped == "done"


def test_a_model_with_tools_of_its_own_gets_results_and_no_word_about_them() -> None:
    failed = Result("failed: the index is gone", failed=True)
    for result, is_told in ((Result("A dog."), False), (failed, True)):
        _, model = run([Reply(recall("Biscuit")), Reply(say("A dog."))], Person(result))
        last = model.requests[1].messages[-1]
        assert [result.text in each.text for each in last.results] == [True]
        assert ("These are the results" in last.results[0].text) == is_told
        assert not last.text
        assert "Hello" in last.content


def talks_and_looks(n: int) -> str:
    return act(("say", {"text": f"I look at {n}."}), ("recall", {"query": f"number {n}"}))


def test_a_model_that_always_calls_tools_is_stopped_at_the_cap() -> None:
    done, model = run([Reply(talks_and_looks(n)) for n in range(40)], Person())
    assert done.stopped == "step_cap"
    assert len(model.requests) == max(6, min(25, 6 + CONFIG.max_tool_rounds))


@pytest.mark.parametrize(
    ("call", "failed", "requests"),
    [
        (("web_search", {"q": "dog"}), True, 3),
        (("think", {"text": "A dog."}), False, 3),
        (("recall", {"query": "dog"}), False, 5),
    ],
)
def test_a_model_that_comes_to_nothing_new_is_not_asked_for_ever(
    call: tuple[str, Mapping[str, Any]], failed: bool, requests: int
) -> None:
    result = Result("there is no such tool" if failed else "A dog.", failed=failed)
    done, model = run([Reply(act(call))] * 9, Person(result))
    assert (done.stopped, len(model.requests)) == ("unfinished", requests)
    assert done.is_silent
    assert "recall" not in json.dumps(model.requests[-1].schema)


class Beside(ScriptedModel):
    """Has written something beside its first answer."""

    def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        completion = super().complete(request, on_text)
        return replace(completion, beside="A dog!") if len(self.requests) == 1 else completion


LOOKS, STOPS = recall("dog"), act(("end_turn", {}))


@pytest.mark.parametrize(
    ("replies", "said"),
    [
        ([STOPS], "A dog!"),
        ([LOOKS, STOPS], "A dog!"),
        ([LOOKS, ""], "A dog!"),
        ([LOOKS, say("Biscuit.")], "Biscuit."),
        ([say("Biscuit.")], "Biscuit."),
        ([act(("wait", {}))], ""),
    ],
)
def test_text_beside_calls_is_the_answer_where_no_other_comes(
    replies: list[str], said: str
) -> None:
    person, model = Person(), Beside([Reply(reply) for reply in replies])
    done = go(model, person)
    assert done.said == person.heard == said
    assert len(model.requests) == len(replies)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('{"text": "I like "Biscuit" best."}', 'I like "Biscuit" best.'),
        ('{"text": "It is "true", really."}', 'It is "true", really.'),
        ('{"message": "Biscuit."}', "Biscuit."),
        ('"Biscuit."', "Biscuit."),
    ],
)
def test_what_could_not_be_read_while_it_came_is_said_at_its_end(arguments: str, said: str) -> None:
    person = Person()
    answer = f'{{"actions": [{{"tool": "say", "arguments": {arguments}}}]}}'
    done, model = run([Reply(answer)], person)
    assert done.said == person.heard == said
    assert len(model.requests) == 1


def test_what_is_read_otherwise_as_a_whole_is_said_once() -> None:
    person = Person()
    answer = (
        r"""{"actions": [{"tool": "say", "arguments": {"text": "In C:\users, 'he' says" so"}}]}"""
    )
    done, _ = run([Reply(answer)], person)
    assert person.heard.count("users") == done.said.count("users") == 1


def test_the_fourth_identical_call_is_refused() -> None:
    person = Person()
    done, _ = run([*[Reply(recall("dog"))] * 4, Reply(say("Enough."))], person)
    assert len(person.calls) == 3
    assert done.steps[3].results[0].failed
    assert done.said == "Enough."


def test_plain_text_is_speech() -> None:
    person = Person()
    done, _ = run([Reply("Just words.")], person)
    assert done.said == person.heard == "Just words."
    assert done.stopped == "done"


def test_an_answer_that_is_cut_off_keeps_what_was_said() -> None:
    person = Person()
    cut = '{"actions": [{"tool": "say", "arguments": {"text": "It was a dark and'
    rest = Reply(say("stormy night."))
    done, model = run([Reply(cut, finish_reason="length"), rest], person)
    assert "You were cut off there." in model.requests[1].messages[-1].content
    assert done.said == person.heard == "It was a dark and stormy night."
    assert done.stopped == "done"


def test_an_answer_that_goes_round_in_circles_is_ended() -> None:
    person = Person()
    again = "I am here for you, Sam, whatever happens. "
    done, model = run([Reply(say("Oh Sam! " + again * 60)), Reply(say("More."))], person)
    assert done.stopped == "repeating"
    assert done.said == person.heard.strip()
    assert done.said.startswith("Oh Sam! I am here for you")
    assert done.said.count("whatever happens") <= speaker.CIRCLE_TIMES + 1
    assert len(model.requests) == 1


def test_a_table_in_code_repeats_itself_and_is_whole() -> None:
    table = "```rust\n[\n" + ("    " + "0x00, " * 16 + "\n") * 16 + "]\n```\nPut your values in."
    done, _ = run([Reply(say(table))], Person())
    assert (done.stopped, done.said) == ("done", table)
    endless = "```\n" + "    nop it, and once more the same thing\n" * 400
    done, _ = run([Reply(say(endless))], Person())
    assert done.stopped == "repeating"


def test_what_was_said_before_a_tool_ran_is_not_said_again_beside_something_new() -> None:
    person = Person()
    first = act(("say", {"text": "I look."}), ("recall", {"query": "dog"}))
    second = act(("say", {"text": "I look."}), ("say", {"text": "Biscuit."}))
    done, _ = run([Reply(first), Reply(second)], person)
    assert person.heard == done.said == "I look.\n\nBiscuit."


def test_what_is_the_beginning_of_another_text_of_its_answer_is_said_as_well() -> None:
    person = Person()
    both = act(("say", {"text": "Yes, and it is blue."}), ("say", {"text": "Yes"}))
    done, _ = run([Reply(both)], person)
    assert person.heard == done.said == "Yes, and it is blue.\n\nYes"


class Interrupted(ScriptedModel):
    """Says half of its answer; then the person presses Ctrl-C."""

    def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        def stop(piece: str) -> None:
            if on_text:
                on_text(piece)
            if "half" in "".join(heard):
                raise KeyboardInterrupt
            heard.append(piece)

        heard: list[str] = []
        return super().complete(request, stop)


def test_an_interrupt_keeps_what_was_heard() -> None:
    person = Person()
    model = Interrupted([Reply(say("This is half of what I had to tell you."))])
    done = loop.run(
        model,
        REQUEST,
        tool_list.DECLARED,
        CONFIG,
        person.carry_out,
        person.hear,
        person="Sam",
        gate=gate_of(model),
    )
    assert done.stopped == "interrupted"
    assert done.said
    assert done.said == person.heard.strip()


@pytest.mark.parametrize("rounds", [0, 16])
def test_the_cap_follows_the_rounds_within_its_bounds(rounds: int) -> None:
    person = Person()
    model = ScriptedModel([Reply(talks_and_looks(n)) for n in range(40)])
    config = replace(CONFIG, max_tool_rounds=rounds)
    loop.run(
        model,
        REQUEST,
        tool_list.DECLARED,
        config,
        person.carry_out,
        person.hear,
        person="Sam",
        gate=gate_of(model),
    )
    assert len(model.requests) == max(6, min(25, 6 + rounds))


def judge(verdict: str, missing: str = "") -> Reply:
    return Reply(json.dumps({"verdict": verdict, "missing": missing}), purpose="judge")


def chat(text: str, **more: Any) -> Reply:
    return Reply(text, purpose="chat", **more)


def test_a_model_that_always_calls_tools_ends_with_speech_when_its_rounds_are_used_up() -> None:
    person = Person()
    model = ScriptedModel(
        [
            *[chat(recall(f"number {n}")) for n in range(2)],
            chat(say("I could not find it.")),
        ]
    )
    done = go(model, person, replace(CONFIG, max_tool_rounds=2))
    assert (done.said, done.stopped) == ("I could not find it.", "done")
    last = model.requests[-1].schema
    assert last is not None
    assert "recall" not in json.dumps(last)
    assert "recall" in json.dumps(model.requests[0].schema)


def test_a_model_that_says_nothing_is_asked_so_often_and_no_more() -> None:
    person = Person()
    model = ScriptedModel([chat(act(("end_turn", {})), always=True)])
    done = go(model, person)
    assert done.stopped == "unfinished"
    assert len(model.requests) == 1 + gate_of(model).config.max_continues
    assert done.missing == ["the person has heard nothing yet"] * len(model.requests)


END, SPEECH = act(("end_turn", {})), act(("say", {"text": "The dog is fine."}))


@pytest.mark.parametrize(
    ("replies", "stopped"),
    [
        ([END], "silent"),
        ([act(("recall", {"query": "dog"})), END, SPEECH], "done"),  # it has looked for an answer
        (["", SPEECH], "done"),  # a backend that failed says nothing, too
        (["   ", SPEECH], "done"),
    ],
)
def test_in_company_it_may_end_its_turn_without_a_word(replies: list[str], stopped: str) -> None:
    model = ScriptedModel(list(map(chat, replies)))
    person, gate = Person(), replace(gate_of(model), may_be_silent=True)
    given = (model, REQUEST, tool_list.DECLARED, CONFIG, person.carry_out, person.hear)
    done = loop.run(*given, person="Sam", gate=gate)
    assert (done.stopped, done.is_silent) == (stopped, False)


def test_a_promise_without_work_is_sent_back_and_what_was_shown_stays() -> None:
    person = Person(Result("saved"))
    model = ScriptedModel(
        [
            chat(act(("say", {"text": "I will save that for you."}), ("end_turn", {}))),
            judge("CONTINUE", "saving it"),
            chat(act(("update_skill", {"name": "tea", "description": "d", "body": "b"}))),
            chat(say("It is saved.")),
            judge("DONE"),
        ]
    )
    done = go(model, person, judges=True)
    assert [call.name for call in person.calls] == ["update_skill"]
    assert person.heard == "I will save that for you.\n\nIt is saved."
    assert (done.stopped, done.missing) == ("done", ["saving it"])
    assert "Not done yet: saving it" in model.requests[2].messages[-1].content


def test_a_model_that_only_promises_ends_flagged() -> None:
    person = Person()
    model = ScriptedModel(
        [
            chat(say("On my way with that!")),
            chat(say("Really, soon.")),
            chat(say("Any minute.")),
            Reply(judge("CONTINUE", "doing it").text, purpose="judge", always=True),
        ]
    )
    done = go(model, person, judges=True)
    assert done.stopped == "unfinished"
    assert len(done.missing) == 1 + gate_of(model).config.max_continues


@pytest.mark.parametrize(
    ("declared", "advice"),
    [
        ((*tool_list.DECLARED, *tool_list.FILES), loop.LONG_ADVICE),
        (tool_list.DECLARED, loop.SHORT_ADVICE),
    ],
)
def test_an_answer_that_is_cut_off_goes_on_and_gets_advice_it_can_follow_at_the_third_time(
    declared: tuple[Tool, ...], advice: str
) -> None:
    model = ScriptedModel(
        [chat(f"Part {n} of a very long text", finish_reason="length") for n in range(9)]
    )
    person = Person()
    gate = gate_of(model)
    done = loop.run(
        model, REQUEST, declared, CONFIG, person.carry_out, person.hear, person="Sam", gate=gate
    )
    assert done.stopped == "length"
    told = [request.messages[-1].content for request in model.requests]
    assert len(told) == 1 + loop.LENGTH_STOPS
    assert [advice in one for one in told] == [False, False, False, True]


def test_broken_json_is_told_and_not_run() -> None:
    person = Person()
    broken = chat('{"actions":[{"tool":"recall","arguments":{"query":', always=True)
    model = ScriptedModel([broken])
    done = go(model, person)
    assert (done.stopped, done.said) == ("unreadable", "")
    assert isinstance(done.problem, AnswerInvalidError)
    assert len(model.requests) == 2
    assert model.requests[1].messages[-1].content == loop.UNREADABLE
    assert person.calls == []


def test_what_was_said_and_done_before_broken_json_is_kept() -> None:
    person = Person(Result("saved"))
    model = ScriptedModel(
        [
            chat(act(("write_journal", {"text": "Sam came."}))),
            chat('{"actions":[{"tool":"say", nothing', always=True),
        ]
    )
    done = go(model, person)
    assert done.stopped == "unreadable"
    assert [call.name for step in done.steps for call in step.calls] == ["write_journal"]


def test_a_call_that_is_cut_off_each_time_ends_at_the_length_and_is_never_run() -> None:
    person = Person()
    cut = '{"actions":[{"tool":"write_journal","arguments":{"text":"' + "It was long. " * 200
    model = ScriptedModel([chat(cut, always=True, finish_reason="length")])
    done = go(model, person)
    assert (done.stopped, person.calls) == ("length", [])
    assert len(model.requests) == 1 + loop.LENGTH_STOPS
    told = model.requests[-1].messages
    assert told[-1].content == loop.CUT_CALL
    assert len(told[-2].content) <= loop.UNREAD_CHARS  # it need not be read again to be written


class Failing(ScriptedModel):
    """Answers so often; then nothing answers any more, or the person presses Ctrl-C."""

    def __init__(self, replies: list[Reply], problem: BaseException) -> None:
        super().__init__(replies)
        self.problem = problem

    def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        if not self._left:
            raise self.problem
        return super().complete(request, on_text)


def test_what_was_heard_and_done_before_the_model_failed_is_kept() -> None:
    person = Person()
    gone = ModelUnreachableError("it has gone")
    model = Failing([chat(say("I look it up…")), chat(recall("dog"))], gone)
    done = go(model, person)
    assert (done.stopped, done.problem, done.said) == ("failed", gone, "I look it up…")
    assert [call.name for call in done.steps[1].calls] == ["recall"]


def test_an_interrupt_while_a_tool_runs_keeps_the_steps_before() -> None:
    class Impatient(Person):
        def carry_out(self, call: Action) -> Result:
            if call.arguments == {"query": "two"}:
                raise KeyboardInterrupt
            return super().carry_out(call)

    done = go(ScriptedModel([chat(recall("one")), chat(recall("two"))]), Impatient())
    assert done.stopped == "interrupted"
    assert [call.arguments for step in done.steps for call in step.calls] == [{"query": "one"}]


def test_tools_that_only_read_run_beside_each_other_and_answer_in_order() -> None:
    both = threading.Barrier(2, timeout=5)

    class Together(Person):
        def carry_out(self, call: Action) -> Result:
            if call.name == "recall":
                both.wait()  # breaks unless the other one has begun
            return Result(f"about {call.arguments['query']}")

    model = ScriptedModel(
        [
            chat(act(("recall", {"query": "one"}), ("recall", {"query": "two"}))),
            chat(say("Found.")),
        ]
    )
    done = go(model, Together())
    assert [result.text for result in done.steps[0].results] == ["about one", "about two"]


def test_tools_that_write_wait_for_each_other() -> None:
    running: list[str] = []

    class Watching(Person):
        def carry_out(self, call: Action) -> Result:
            assert running == []
            running.append(call.name)
            time.sleep(0.01)
            running.clear()
            return Result("written")

    model = ScriptedModel(
        [
            chat(act(("write_journal", {"text": "a"}), ("write_journal", {"text": "b"}))),
            chat(say("Written.")),
        ]
    )
    assert go(model, Watching()).said == "Written."


@pytest.mark.parametrize(
    ("message", "found", "answered"),
    [
        ("What is Biscuit?", True, True),
        ("バスケットは何？", True, True),
        ("What is Biscuit?", False, False),
        ("Tell me of Biscuit.", True, False),
    ],
)
def test_a_question_is_to_be_answered_from_the_memories_that_were_found(
    message: str, found: bool, answered: bool
) -> None:
    person = Person(Result("- [knowledge] Biscuit is a dog.", found=found))
    _, model = run([chat(recall("Biscuit")), chat(say("A dog."))], person, message)
    last = model.requests[1].messages[-1].content
    assert message in last
    assert ("Now you know it. Tell Sam" in last) == answered


def test_one_tool_round_gives_one_batch_and_then_speech_with_the_same_prompt() -> None:
    person = Person()
    model = ScriptedModel([Reply(recall("soup")), Reply(recall("more")), Reply(say("Soup."))])
    done = go(model, person, replace(CONFIG, max_tool_rounds=1))
    assert [call.arguments for call in person.calls] == [{"query": "soup"}]
    assert (done.stopped, done.said) == ("done", "Soup.")
    first, second, third = model.requests
    assert first.messages[0] == second.messages[0] == third.messages[0]
    assert "recall" in json.dumps(first.schema)
    assert "recall" not in json.dumps(second.schema)


def test_the_same_effect_three_times_leaves_only_speech() -> None:
    person = Person(Result("saved"))
    model = ScriptedModel(
        [
            *[
                chat(act(("update_knowledge", {"title": f"Sam {n}", "body": "A nurse."})))
                for n in range(3)
            ],
            chat(say("I have written it down.")),
        ]
    )
    done = go(model, person)
    assert (done.said, len(person.calls)) == ("I have written it down.", 3)
    assert "update_knowledge" not in json.dumps(model.requests[3].schema)


TOOLS_OFFERED = ("with a tool", "use a tool", "with the same tool")
NO_TOOL = "No tool may be used any more"


@pytest.mark.parametrize("failed", [False, True])
def test_the_last_nudge_offers_no_tool_and_those_before_it_do(failed: bool) -> None:
    person = Person(Result("failed: no" if failed else "a note", failed=failed))
    model = ScriptedModel([chat(recall("soup")), chat(recall("tea")), chat(say("Soup."))])
    go(model, person, replace(CONFIG, max_tool_rounds=2))
    before, last = (request.messages[-1].content for request in model.requests[1:])
    assert any(offer in before for offer in TOOLS_OFFERED)
    assert NO_TOOL not in before
    assert not any(offer in last for offer in TOOLS_OFFERED)
    assert NO_TOOL in last
    assert ("recall failed: say so." in last) == failed


def test_a_model_that_is_sent_back_when_no_tool_is_left_is_not_sent_to_a_tool() -> None:
    person = Person(Result("a note"))
    model = ScriptedModel(
        [chat(recall("soup")), chat(act(("end_turn", {}))), chat(say("Nothing, sorry."))]
    )
    done = go(model, person, replace(CONFIG, max_tool_rounds=1))
    last = model.requests[-1].messages[-1].content
    assert last.startswith("Not done yet: the person has heard nothing yet")
    assert NO_TOOL in last
    assert not any(offer in last for offer in TOOLS_OFFERED)
    assert done.stopped == "done"


def announce(text: str) -> str:
    return act(("say", {"text": text, "then": "more"}))


@pytest.mark.parametrize("text", ["Let me check that for you.", "Ich schaue gleich nach."])
def test_what_a_model_says_that_it_has_still_to_do_it_does_in_the_same_turn(text: str) -> None:
    person = Person()
    replies = [announce(text), recall("dog"), act(("say", {"text": "Biscuit.", "then": "nothing"}))]
    done, model = run([Reply(reply) for reply in replies], person)
    assert (done.said, done.stopped) == (f"{text}\n\nBiscuit.", "done")
    assert [call.name for call in person.calls] == ["recall"]
    assert "only announces" in model.requests[1].messages[-1].content


def test_who_only_announces_is_sent_back_a_few_times_and_the_turn_says_so() -> None:
    done, model = run([Reply(announce(f"I will, {n}.")) for n in range(9)], Person())
    assert (done.stopped, len(done.missing)) == ("unfinished", len(model.requests))
    assert len(model.requests) == settings.load().config.cognition.gate.max_continues + 1


@pytest.mark.parametrize("then", [["nothing"], {}, 7])
def test_what_comes_next_in_no_word_at_all_ends_no_turn(then: object) -> None:
    person = Person()
    done, _ = run([Reply(act(("say", {"text": "Hello Sam.", "then": then})))], person)
    assert (done.said, done.stopped, person.heard) == ("Hello Sam.", "done", "Hello Sam.")


def test_only_native_speech_tells_whether_work_follows_and_none_where_no_tool_may_be_used() -> None:
    for speech_only, keys in ((False, {"text", "then"}), (True, {"text"})):
        offered = loop.offered(tool_list.DECLARED, speech_only=speech_only)
        (say,) = [tool for tool in offered if tool.name == "say"]
        assert set(say.parameters["properties"]) == keys
    assert '"then"' not in json.dumps(loop.schema(tool_list.DECLARED))
