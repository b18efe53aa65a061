"""What is heard, stored and done of answers that an endpoint gives as text."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from bumble.chat import loop, tool_list
from bumble.chat.completion_gate import Gate
from bumble.entity import settings
from bumble.llm.http_model import HttpModel, openai
from bumble.llm.protocol import Action, PromptMessage, Request
from bumble.runtime.runtime import Result
from tests.support.fake_server import Exchange, FakeServer, Respond
from tests.support.openai_wire import CHAT, event, says

REQUEST = Request([PromptMessage("system", "You are Ada."), PromptMessage("user", "A dog!")])
NAME = "Biscuit is a good name."
THOUGHT = "SECRET user has a dog"


class Talk:
    """One turn, with what the person heard and what was done."""

    def __init__(self, server: FakeServer) -> None:
        self.heard = ""
        self.calls: list[Action] = []
        self.model: HttpModel = openai(f"{server.url}/v1", "m", sleep=lambda _: None)

    def hear(self, piece: str) -> None:
        self.heard += piece

    def carry_out(self, call: Action) -> Result:
        self.calls.append(call)
        return Result("noted")

    def turn(self) -> loop.LoopOutcome:
        config = settings.load().config.cognition
        return loop.run(
            self.model,
            REQUEST,
            tool_list.DECLARED,
            config.loop,
            self.carry_out,
            self.hear,
            person="Sam",
            gate=Gate(self.model, replace(config.gate, judge="never"), "A dog!"),
        )


def answer(content: str, size: int, reason: str = "stop") -> Respond:
    """Answer with a text, in pieces of a length."""
    pieces = [content[at : at + size] for at in range(0, len(content), size)]
    return says(*(event({"content": one}) for one in pieces), event({}, reason))


def answers(server: FakeServer, content: str, size: int) -> None:
    server.routes[CHAT] = answer(content, size)


SAY = json.dumps({"text": NAME})
FACT = {"title": "Biscuit", "body": "Biscuit is Sam's dog."}
CALLS = [  # each says the same
    f'<tool_call>\n{{"name": "say", "arguments": {SAY}}}\n</tool_call>',
    f'<tool_call>\n{{"name": "say", "arguments": {json.dumps(SAY)}}}\n</tool_call>',
    f"<tool_call>\n<function=say>\n<parameter=text>\n{NAME}\n</parameter>\n</function>\n</tool_call>",
    f"<function=say>{SAY}</function>",
    f"<function=say>{{'text': '{NAME}'}}</function>",
    f"<tool_call>say\n<arg_key>text</arg_key>\n<arg_value>{NAME}</arg_value>\n</tool_call>",
    '<minimax:tool_call>\n<invoke name="say">\n<parameter name="text">'
    f"{NAME}</parameter>\n</invoke>\n</minimax:tool_call>",
    f'[TOOL_CALLS][{{"name": "say", "arguments": {SAY}}}]',
    f"[TOOL_CALLS]say[ARGS]{SAY}",
    f'{{"name": "say", "parameters": {SAY}}}',
    f'```json\n{{"name": "say", "parameters": {SAY}}}\n```',
    f'<|python_tag|>{{"name": "say", "parameters": {SAY}}}',
    f"<|channel|>commentary to=functions.say <|constrain|>json<|message|>{SAY}<|call|>",
    f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant<|channel|>commentary "
    f"to=functions.say<|message|>{SAY}<|call|>",
    f"<|start|>assistant to=functions.say<|channel|>commentary json<|message|>{SAY}<|call|>",
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>say\n"
    f"```json\n{SAY}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.say:0<|tool_call_argument_begin|>"
    f"{SAY}<|tool_call_end|><|tool_calls_section_end|>",
    f'say("{NAME}")',
    f'[say(text="{NAME}")]',
    json.dumps({"text": NAME, "then": "nothing"}),
    f'{{"type": "function", "name": "say", "parameters": {SAY}}}',
    f'{{"type": "function", "function": {{"name": "say", "parameters": {SAY}}}}}',
    f'{{"tool_calls": [{{"name": "say", "arguments": {SAY}}}]}}',
    '{"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", '
    f'"function": {{"name": "say", "arguments": {json.dumps(SAY)}}}}}]}}',
    f'<tool_call>{{"arguments": {SAY}, "name": "say"}}</tool_call>',
    f"<tool_call>\n{{'name': 'say', 'arguments': {{'text': '{NAME}'}}}}\n</tool_call>",
    f'I will answer.\n```json\n{{"name": "say", "arguments": {SAY}}}\n```',
    f'<|tool_call>call:say{{text:<|"|>{NAME}<|"|>}}<tool_call|>',
    f'<|tool_call_start|>[say(text="{NAME}")]<|tool_call_end|>',
    f'<|START_ACTION|>[{{"tool_name": "say", "parameters": {SAY}}}]<|END_ACTION|>',
    f'{{"say": {SAY}}}',
    f'```tool_code\nprint(default_api.say(text="{NAME}"))\n```',
    '<｜DSML｜function_calls>\n<｜DSML｜invoke name="say">\n<｜DSML｜parameter name="text" '
    f'string="true">{NAME}</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
    f'{{"actions": [{{"name": "say", "arguments": {SAY}}}]}}',
    json.dumps({"response": NAME}),
    json.dumps({"role": "assistant", "content": NAME}),
]


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize("content", CALLS)
def test_a_call_written_as_text_is_a_call(server: FakeServer, content: str, size: int) -> None:
    answers(server, content, size)
    talk = Talk(server)
    done = talk.turn()
    assert done.said == talk.heard == NAME and len(done.steps) == 1


@pytest.mark.parametrize(
    "content",
    [
        f'Let me note that.\n<tool_call>\n{{"name": "update_knowledge", "arguments": '
        f'{json.dumps(FACT)}}}\n</tool_call>\n<tool_call>\n{{"name": "say", "arguments": {SAY}}}\n'
        "</tool_call>",
        f'[update_knowledge(title="{FACT["title"]}", body="{FACT["body"]}"), say("{NAME}")]',
        "<tool_call>\n<function=update_knowledge>\n<parameter=title>\nBiscuit\n</parameter>\n"
        f"<parameter=body>\n{FACT['body']}\n</parameter>\n</function>\n</tool_call>\n"
        f"<tool_call>\n<function=say>\n<parameter=text>\n{NAME}\n</parameter>\n</function>\n"
        "</tool_call>",
    ],
)
def test_written_calls_are_done_in_their_order(server: FakeServer, content: str) -> None:
    answers(server, content, 7)
    talk = Talk(server)
    assert talk.turn().said == talk.heard == NAME
    assert [(call.name, call.arguments) for call in talk.calls] == [("update_knowledge", FACT)]


@pytest.mark.parametrize(
    "begin",
    [
        '<tool_call>\n{"name": "%s", "arguments": {"%s": "Biscuit is',
        '{"name": "%s", "parameters": {"%s": "Biscuit is',
        '{"type": "function", "name": "%s", "parameters": {"%s": "Biscuit is',
        '<|tool_call>call:%s{%s:<|"|>Biscuit is',
        "<tool_call>\n<function=%s>\n<parameter=%s>\nBiscuit is",
        '[TOOL_CALLS]%s[ARGS]{"%s": "Biscuit is',
    ],
)
@pytest.mark.parametrize(
    ("tool", "name"), [("say", "text"), ("write_journal", "text"), ("update_knowledge", "title")]
)
def test_a_written_call_that_was_cut_off_is_said_on_and_never_done_half(
    server: FakeServer, begin: str, tool: str, name: str
) -> None:
    def respond(exchange: Exchange) -> None:
        is_first = len(server.asked(CHAT)) == 1
        rest = " a good name." if tool == "say" else NAME
        first = answer(begin % (tool, name), 5, "length")
        (first if is_first else answer(rest, 5))(exchange)

    server.routes[CHAT] = respond
    talk = Talk(server)
    assert talk.turn().said == talk.heard == NAME
    assert not talk.calls


def test_who_breaks_off_a_written_call_hears_nothing_of_it(server: FakeServer) -> None:
    class Impatient(Talk):
        def carry_out(self, call: Action) -> Result:
            raise KeyboardInterrupt

    answers(server, f"<function=update_knowledge>{json.dumps(FACT)}</function>", 5)
    talk = Impatient(server)
    done = talk.turn()
    assert (done.stopped, done.said, talk.heard) == ("interrupted", "", "")


THOUGHTS = [
    f"{THOUGHT}</think>\n\n{NAME}",
    f"<think>{THOUGHT}</think>\n\n{NAME}",
    f'<think type="x">{THOUGHT}</think>{NAME}',
    f"<THINK>{THOUGHT}: `</think>` ends it</THINK>{NAME}",
    f"◁think▷{THOUGHT}◁/think▷{NAME}",
    json.dumps(
        {"actions": [{"tool": "say", "arguments": {"text": f"<think>{THOUGHT}</think>\n\n{NAME}"}}]}
    ),
]


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("content", THOUGHTS)
def test_no_thought_is_heard_or_stored(server: FakeServer, content: str, size: int) -> None:
    answers(server, content, size)
    talk = Talk(server)
    assert talk.turn().said == talk.heard == NAME


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    "content",
    [
        "Some models wrap it in a `<think>` tag, which the client hides. " + NAME,
        "It ends with `</think>`, and then the answer follows. " + NAME,
        "So:\n\n```xml\n<think>\nHm.\n</think>\nHello\n```\n" + NAME,
        '```json\n{"name": "Biscuit", "kind": "dog"}\n```\nThat is it as JSON.',
        '{"name": "Biscuit", "kind": "dog"}',
        "[Biscuit wags] Hello there.",
        '{"name": "recall", "kind": "song", "of": {"query": "x"}}',
        '{"response": "ok", "code": 200}',
        '```json\n{"response": "ok"}\n```',
        'As JSON:\n```json\n{"text": "Biscuit"}\n```',
        '{"role": "user", "content": "Biscuit"}',
        '[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}]',
        '{"say": "moo", "legs": 4}',
        '{"tool_calls": []}',
        "{'name': 'say', 'arguments': {'text': {1, 2}}}",
        "{1, 2}",
        '{"type": "function", "function": {"name": "feed", "parameters": {"type": "object"}}}',
        '<tool_call>\n{"name": "web_search", "arguments": {"q": "say"}}\n</tool_call>',
        "Write <tool_call>, then say {what} to do.",
        "Write `<tool_call>` and a name, as say or recall, and {braces}.",
        "So:\n\n```\n<tool_call>\n"
        '{"name": "recall", "arguments": {"query": "x"}}\n</tool_call>\n```\nThat recalls.',
        'print("say")',
        'In Python:\n```python\nengine.say("Hi")\n```',
        'It looks so:\n```json\n{"name": "recall", "arguments": {"query": "x"}}\n```',
        'Struck out: <s class="x">Biscuit</s>',
    ],
)
def test_what_only_tells_of_tags_or_data_is_said_whole(
    server: FakeServer, content: str, size: int
) -> None:
    answers(server, content, size)
    talk = Talk(server)
    assert talk.turn().said == talk.heard == content


def test_a_call_says_no_thought(server: FakeServer) -> None:
    text = f"<think>{THOUGHT}</think>\n\n{NAME}"
    arguments = json.dumps({"text": text, "then": "nothing"}).replace("<", "\\u003c")
    first = {"index": 0, "id": "c", "function": {"name": "say", "arguments": arguments[:20]}}
    rest = {"index": 0, "function": {"arguments": arguments[20:]}}
    server.routes[CHAT] = says(
        event({"tool_calls": [first]}), event({"tool_calls": [rest]}), event({}, "tool_calls")
    )
    talk = Talk(server)
    assert talk.turn().said == talk.heard == NAME


def test_a_thought_in_a_call_that_its_template_opened_is_not_stored_and_heard_once_at_most(
    server: FakeServer,
) -> None:
    arguments = json.dumps({"text": f"{THOUGHT}</think>\n\n{NAME}", "then": "nothing"})
    parts = [
        {"index": 0, "id": "c", "function": {"name": "say", "arguments": arguments[:9]}},
        *({"index": 0, "function": {"arguments": sign}} for sign in arguments[9:]),
    ]
    server.routes[CHAT] = says(
        *(event({"tool_calls": [one]}) for one in parts), event({}, "tool_calls")
    )
    talk = Talk(server)
    assert talk.turn().said == NAME
    talk.heard = ""
    assert talk.turn().said == talk.heard == NAME


@pytest.mark.parametrize("kind", ["reasoning", "thinking"])
def test_a_part_that_is_no_text_is_not_said(server: FakeServer, kind: str) -> None:
    parts = [{"type": kind, "text": THOUGHT}, {"type": "text", "text": NAME}]
    server.routes[CHAT] = says(event({"content": parts}, "stop"))
    talk = Talk(server)
    done = talk.turn()
    assert done.said == talk.heard == NAME
    assert done.completions[0].reasoning == THOUGHT


def test_a_template_that_opens_thoughts_is_known_from_its_first_answer_on(
    server: FakeServer,
) -> None:
    answers(server, f"{THOUGHT}</think>\n\n{NAME}", 3)
    talk = Talk(server)
    texts: list[str] = []
    for _ in range(2):
        talk.heard = ""
        texts.append(talk.model.complete(REQUEST, talk.hear).text)
    assert texts == [NAME, NAME] and talk.heard == NAME
    answers(server, NAME, 3)  # it didn't think
    assert talk.model.complete(REQUEST).text == NAME


def test_halves_of_characters_in_two_pieces_are_one(server: FakeServer) -> None:
    server.routes[CHAT] = says(
        event({"content": "Good dog \ud83d"}), event({"content": "\udc36!"}, "stop")
    )
    talk = Talk(server)
    assert talk.turn().said == talk.heard == "Good dog 🐶!"
