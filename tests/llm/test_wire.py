"""What endpoints refuse and how they answer: each is learned, and no process repeats it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bumble.chat import tool_list
from bumble.errors import (
    AnswerInvalidError,
    BudgetSpentError,
    CredentialsError,
    ModelUnreachableError,
    UserError,
)
from bumble.llm import actions, structured
from bumble.llm.http_model import HttpModel, openai
from bumble.llm.protocol import Action, PromptMessage, Request, Tool, ToolResult
from bumble.llm.say_reader import SayReader
from bumble.llm.wire import HabitFile
from tests.support.fake_server import Exchange, FakeServer
from tests.support.openai_wire import CHAT, DONE, event, hello, says

REQUEST = Request([PromptMessage("system", "You are Ada."), PromptMessage("user", "Hi")])
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
TEXT = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}
TOOLS = (Tool("say", "speak", TEXT), Tool("recall", "search", TEXT), Tool("end_turn", "stop", TEXT))
TURN = replace(REQUEST, tools=TOOLS, schema=actions.schema([TOOLS]))
NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


def model_of(server: FakeServer, habits: HabitFile | None = None, **more: Any) -> HttpModel:
    return openai(f"{server.url}/v1", "m", sleep=lambda _: None, habits=habits, **more)


def refuses(*rules: tuple[Callable[[dict[str, Any]], bool], int, str]) -> Any:
    """Answer with each refusal whose rule a body breaks, else with a greeting."""

    def respond(exchange: Exchange) -> None:
        for breaks, status, message in rules:
            if breaks(exchange.body):
                exchange.json({"error": {"message": message}}, status)
                return
        hello()(exchange)

    return respond


TEMPERATURE = (
    lambda body: body.get("temperature", 1) != 1,
    400,
    "Unsupported value: 'temperature' does not support 0.7 with this model. Only the default (1) "
    "value is supported.",
)
MAX_TOKENS = (
    lambda body: "max_tokens" in body,
    400,
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
    "'max_completion_tokens' instead.",
)


@pytest.mark.parametrize(
    ("rules", "gone", "requests"),
    [
        ([TEMPERATURE], "temperature", 2),
        ([MAX_TOKENS], "max_tokens", 2),
        ([TEMPERATURE, MAX_TOKENS], "temperature", 3),
        (
            [
                (
                    lambda body: "stream_options" in body,
                    400,
                    "Unrecognized request argument supplied: stream_options",
                )
            ],
            "stream_options",
            2,
        ),
        ([(lambda body: "seed" in body, 422, "extra fields not permitted: seed")], "seed", 2),
    ],
)
def test_a_refused_parameter_is_left_out_from_then_on_in_the_next_process_too(
    server: FakeServer, tmp_path: Path, rules: Any, gone: str, requests: int
) -> None:
    server.routes[CHAT] = refuses(*rules)
    request = replace(REQUEST, seed=3)
    kept = HabitFile(tmp_path / "endpoints.json", "here#m", lambda: NOW)
    assert model_of(server, kept).complete(request).text == "Hello"
    assert len(server.seen) == requests
    assert model_of(server, kept).complete(request).text == "Hello"
    assert len(server.seen) == requests + 1
    assert gone not in server.seen[-1].body
    if MAX_TOKENS in rules:
        assert server.seen[-1].body["max_completion_tokens"] == REQUEST.max_tokens


def test_what_was_learned_is_forgotten_after_a_week(server: FakeServer, tmp_path: Path) -> None:
    server.routes[CHAT] = refuses(TEMPERATURE)
    path = tmp_path / "endpoints.json"
    model_of(server, HabitFile(path, "here#m", lambda: NOW)).complete(REQUEST)
    later = HabitFile(path, "here#m", lambda: NOW + timedelta(days=8))
    model_of(server, later).complete(REQUEST)
    assert "temperature" in server.seen[2].body


def calls(*named: tuple[str, dict[str, Any]], reason: str = "tool_calls") -> Any:
    parts = [
        event(
            {
                "tool_calls": [
                    {
                        "index": n,
                        "id": f"c{n}",
                        "type": "function",
                        "function": {"name": name, "arguments": ""},
                    }
                ]
            }
        )
        + b"".join(
            event({"tool_calls": [{"index": n, "function": {"arguments": piece}}]})
            for piece in pieces(json.dumps(arguments))
        )
        for n, (name, arguments) in enumerate(named)
    ]
    return says(*parts, event({}, reason), DONE)


def pieces(text: str) -> list[str]:
    return [text[n : n + 3] for n in range(0, len(text), 3)]


def test_native_tools_are_required_and_their_calls_are_actions(server: FakeServer) -> None:
    server.routes[CHAT] = calls(("say", {"text": "One\nmoment"}), ("recall", {"text": "bees"}))
    heard: list[str] = []
    completion = model_of(server).complete(TURN, heard.append)
    sent = server.seen[0].body
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["say", "recall", "end_turn"]
    assert (sent["tool_choice"], sent["parallel_tool_calls"]) == ("required", True)
    assert "response_format" not in sent
    assert [(one.name, one.arguments) for one in actions.parse(completion.text)] == [
        ("say", {"text": "One\nmoment"}),
        ("recall", {"text": "bees"}),
    ]
    assert actions.said_in("".join(heard)) == "One\nmoment" and len(heard) > 5
    assert actions.said_in(completion.text) == "One\nmoment"


def test_a_call_that_was_cut_off_is_never_run_half(server: FakeServer) -> None:
    part = {"index": 0, "id": "c", "function": {"name": "recall", "arguments": '{"text": "be'}}
    server.routes[CHAT] = says(event({"tool_calls": [part]}), event({}, "length"))
    completion = model_of(server).complete(TURN)
    assert completion.finish_reason == "length"
    with pytest.raises(AnswerInvalidError):
        actions.parse(completion.text)


def test_text_beside_calls_was_thought(server: FakeServer) -> None:
    part = {
        "index": 0,
        "id": "c",
        "function": {"name": "say", "arguments": '{"text": "Hello"}'},
    }
    server.routes[CHAT] = says(
        event({"content": "She greets me."}), event({"tool_calls": [part]}), event({}, "tool_calls")
    )
    completion = model_of(server).complete(TURN)
    assert actions.said_in(completion.text) == "Hello"
    assert completion.reasoning == completion.beside == "She greets me."


def part(name: str, arguments: str, index: int | None = 0, call_id: str = "") -> dict[str, Any]:
    function = {"arguments": arguments} | ({"name": name} if name else {})
    return {"id": call_id, "function": function} | ({} if index is None else {"index": index})


SPOKEN, SOUGHT = '{"text": "Hello"}', '{"text": "bees"}'


@pytest.mark.parametrize(
    "events",
    [
        [[part("recall", SOUGHT)], [part("say", SPOKEN)]],
        [[part("recall", SOUGHT), part("say", SPOKEN)]],
        [[part("recall", SOUGHT, None)], [part("say", SPOKEN, None)]],
        [[part("recall", SOUGHT, 0, "a")], [part("say", SPOKEN, 0, "b")]],
        [
            [part("recall", "", 0, "a"), part("say", "", 1, "b")],
            *(
                [part("", one, 0), part("", two, 1)]
                for one, two in zip(pieces(SOUGHT), pieces(SPOKEN), strict=True)
            ),
        ],
        [[part("recall", piece)] for piece in pieces(SOUGHT)] + [[part("say", SPOKEN)]],
        [
            [part("recall", "{}", 0, "a"), part("Say", " {}", 1, "b")],
            [part("", SOUGHT, 0), part("", SPOKEN, 1)],
        ],
        [[{"name": "recall", "parameters": json.loads(SOUGHT)}, {"name": "say", "input": SPOKEN}]],
    ],
)
def test_calls_are_told_apart_however_they_are_numbered(
    server: FakeServer, events: list[list[dict[str, Any]]]
) -> None:
    server.routes[CHAT] = says(
        *(event({"tool_calls": parts}) for parts in events), event({}, "stop")
    )
    heard: list[str] = []
    completion = model_of(server).complete(TURN, heard.append)
    assert [(one.name, one.arguments["text"]) for one in actions.parse(completion.text)] == [
        ("recall", "bees"),
        ("say", "Hello"),
    ]
    assert actions.said_in("".join(heard)) == "Hello"


def test_of_two_texts_whose_pieces_come_mixed_one_is_said_after_the_other(
    server: FakeServer,
) -> None:
    first, second = (pieces(json.dumps({"text": text})) for text in ("One bee.", "Two ants."))
    parts = [(n, one) for pair in zip(first, second, strict=False) for n, one in enumerate(pair)]
    parts += [(1, one) for one in second[len(first) :]]
    begins = [part("say", "", n, f"c{n}") for n in (0, 1)]
    server.routes[CHAT] = says(
        event({"tool_calls": begins}),
        *(event({"tool_calls": [part("", one, n)]}) for n, one in parts),
        event({}, "tool_calls"),
    )
    heard: list[str] = []
    completion = model_of(server).complete(TURN, heard.append)
    assert actions.spoken(completion.calls) == ["One bee.", "Two ants."]
    assert SayReader("".join(heard)).texts == ["One bee.", "Two ants."]


def test_text_beside_a_call_keeps_nobody_from_hearing_what_it_says(server: FakeServer) -> None:
    server.routes[CHAT] = says(
        event({"content": "She greets me."}),
        *(
            event({"content": " Hm.", "tool_calls": [part("say", piece)]})
            for piece in pieces(SPOKEN)
        ),
        event({}, "stop"),
    )
    reader, heard = SayReader(), list[str]()
    model_of(server).complete(TURN, lambda piece: heard.extend(dict(reader.feed(piece)).values()))
    assert heard[:2] == ["He", "llo"]


def test_halves_of_a_character_in_two_pieces_of_a_call_are_one(server: FakeServer) -> None:
    parts = [part("say", '{"text": "Bee \ud83d'), part("", '\udc1d!"}')]
    server.routes[CHAT] = says(
        *(event({"tool_calls": [one]}) for one in parts), event({}, "tool_calls")
    )
    assert actions.said_in(model_of(server).complete(TURN).text) == "Bee 🐝!"


def test_of_calls_that_were_cut_off_the_whole_ones_count(server: FakeServer) -> None:
    parts = [part("recall", '{"text": "be', 0), part("say", SPOKEN, 1)]
    server.routes[CHAT] = says(event({"tool_calls": parts}), event({}, "length"))
    completion = model_of(server).complete(TURN)
    assert [one.name for one in actions.parse(completion.text)] == ["say"]


@pytest.mark.parametrize("name", ["functions.say", "default_api:say", "say<|channel|>commentary"])
def test_a_name_with_something_around_it_is_that_tool_s(server: FakeServer, name: str) -> None:
    server.routes[CHAT] = calls((name, {"text": "Hello"}))
    heard: list[str] = []
    completion = model_of(server).complete(TURN, heard.append)
    assert actions.said_in("".join(heard[:-1])) == "Hello"
    (say,) = actions.parse(completion.text, TOOLS)
    assert (say.name, say.arguments) == ("say", {"text": "Hello"})


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('{"text": "I like "Bee" best.", "then": "nothing"}', 'I like "Bee" best.'),
        ('{"text": "a "bee", an "ant" too", "then": "nothing"}', 'a "bee", an "ant" too'),
        ('{"text": "„Bee“ or "bee"?", "then": "nothing"}', '„Bee“ or "bee"?'),
        ("{'text': 'It is a bee.'}", "It is a bee."),
        (json.dumps('{"text": "A bee."}'), "A bee."),
        ('{"message": "A bee."}', "A bee."),
        ('{"text": ["A bee.", "Or two."]}', "A bee.\nOr two."),
        ('{"arguments": {"text": "A bee."}}', "A bee."),
        ("A bee.", "A bee."),
        ('"Bee" is good.', '"Bee" is good.'),
    ],
)
def test_arguments_a_bit_off_are_what_was_meant(
    server: FakeServer, arguments: str, said: str
) -> None:
    parts = [part("say", arguments, 0, "a"), part("recall", SOUGHT, 1, "b")]
    server.routes[CHAT] = says(event({"tool_calls": parts}), event({}, "tool_calls"))
    tools = (tool_list.SAY, *TOOLS[1:])
    completion = model_of(server).complete(replace(TURN, tools=tools))
    say, recall = actions.parse(completion.text, tools)
    assert (say.arguments["text"], recall.arguments) == (said, {"text": "bees"})


def test_calls_of_one_function_and_refusals_are_read(server: FakeServer) -> None:
    called = {"content": None, "function_call": {"name": "say", "arguments": SPOKEN}}
    server.routes[CHAT] = lambda exchange: exchange.json(
        {"choices": [{"message": called, "finish_reason": "function_call"}]}
    )
    assert actions.said_in(model_of(server).complete(TURN).text) == "Hello"
    server.routes[CHAT] = says(
        event({"content": None, "refusal": "I'm sorry, "}), event({"refusal": "no."}, "stop")
    )
    assert model_of(server).complete(TURN).text == "I'm sorry, no."


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS", "model_length"])
def test_every_name_of_an_answer_that_reached_its_limit_is_known(
    server: FakeServer, reason: str
) -> None:
    server.routes[CHAT] = says(event({"content": "Once"}), event({}, reason), DONE)
    assert model_of(server).complete(REQUEST).finish_reason == "length"


def test_an_answer_that_ends_in_an_error_is_none(server: FakeServer) -> None:
    server.routes[CHAT] = says(event({"content": "Once"}), event({}, "error"))
    with pytest.raises(ModelUnreachableError, match="ended in an error"):
        model_of(server).complete(REQUEST)
    failed = {"message": {"content": ""}, "error": {"code": 502, "message": "Upstream blew up"}}
    server.routes[CHAT] = lambda exchange: exchange.json({"choices": [failed]})
    with pytest.raises(ModelUnreachableError, match="Upstream blew up"):
        model_of(server).complete(REQUEST)


def test_one_answer_is_told_once(server: FakeServer) -> None:
    both = [{"index": n, "delta": {"content": "Hel" + "lp" * n}} for n in (0, 1)]
    whole = {"index": 0, "delta": {}, "message": {"content": "Hello"}, "finish_reason": "stop"}
    server.routes[CHAT] = says(
        event({}, choices=both), event({"content": "lo"}), event({}, choices=[whole]), DONE
    )
    assert model_of(server).complete(REQUEST).text == "Hello"
    # whose parts say nothing has it whole at the end
    server.routes[CHAT] = says(event({"role": "assistant"}), event({}, choices=[whole]), DONE)
    assert model_of(server).complete(REQUEST).text == "Hello"


def test_a_stream_that_is_done_and_a_whole_body_need_no_other_end(server: FakeServer) -> None:
    server.routes[CHAT] = says(event({"content": "Hello"}), DONE)
    assert model_of(server).complete(REQUEST).text == "Hello"
    server.routes[CHAT] = lambda exchange: exchange.json(
        {"choices": [{"message": {"content": "Hello"}}]}
    )
    assert model_of(server).complete(REQUEST).text == "Hello"
    server.routes[CHAT] = says(DONE)
    with pytest.raises(ModelUnreachableError, match="before its end"):
        model_of(server).complete(REQUEST)


def test_calls_and_results_go_in_the_form_of_the_endpoint(server: FakeServer) -> None:
    server.routes[CHAT] = calls(("say", {"text": "Hello"}))
    recall = Action("call_1", "recall", {"text": "bees"})
    result = ToolResult("call_1", "<result>Bees hum.</result>")
    messages = (
        PromptMessage("system", "You are Ada."),
        PromptMessage("user", "Bees?"),
        PromptMessage("assistant", '{"actions": []}', bare="Let me see.", calls=(recall,)),
        PromptMessage("user", "…", bare="Now answer.", results=(result,)),
        PromptMessage("assistant", '{"actions": []}', bare="They hum."),
        PromptMessage("user", "Thanks"),
    )
    model_of(server).complete(replace(TURN, messages=messages))
    sent = server.seen[0].body["messages"]
    assert [one["role"] for one in sent] == [
        *("system", "user", "assistant", "tool", "assistant", "user", "assistant", "user"),
    ]
    call = sent[2]["tool_calls"][0]
    assert call["function"]["name"] == "recall"
    assert sent[3]["tool_call_id"] == call["id"]
    assert sent[3]["content"] == "<result>Bees hum.</result>"
    assert sent[4] == {"role": "assistant", "content": "Let me see."}
    assert sent[5] == {"role": "user", "content": "Now answer."}
    assert sent[6] == {"role": "assistant", "content": "They hum."}


@pytest.mark.parametrize("told", ["", "Now."])
def test_no_word_of_the_user_comes_right_after_a_result(server: FakeServer, told: str) -> None:
    server.routes[CHAT] = calls(("say", {"text": "Hello"}))
    recall = Action("call_1", "recall", {"text": "bees"})
    messages = (
        PromptMessage("user", "Bees?"),
        PromptMessage("assistant", "…", bare="", calls=(recall,)),
        PromptMessage("user", "…", bare=told, results=(ToolResult("call_1", "Bees hum."),)),
    )
    model_of(server).complete(replace(TURN, messages=messages))
    sent = server.seen[0].body["messages"]
    between = [("assistant", "…"), ("user", told)] if told else []
    assert [(one["role"], one.get("content")) for one in sent[2:]] == [
        ("tool", "Bees hum."),
        *between,
    ]


def test_a_result_without_its_call_and_a_call_without_its_result_are_whole_all_the_same(
    server: FakeServer,
) -> None:
    server.routes[CHAT] = calls(("say", {"text": "Hello"}))
    stray = PromptMessage("user", "…", bare="", results=(ToolResult("gone", "old"),))
    broken = PromptMessage("assistant", "…", bare="", calls=(Action("c", "recall", {}),))
    messages = (stray, broken, PromptMessage("user", "Hi"))
    model_of(server).complete(replace(TURN, messages=messages))
    sent = server.seen[0].body["messages"]
    assert [one["role"] for one in sent] == ["user", "assistant", "tool", "user"]
    assert sent[0]["content"] == "old"


def test_an_endpoint_that_refuses_tools_gets_the_schema_of_actions(
    server: FakeServer, tmp_path: Path
) -> None:
    answer = json.dumps({"actions": [{"tool": "say", "arguments": {"text": "Hello"}}]})

    def respond(exchange: Exchange) -> None:
        if "tools" in exchange.body:
            text = "registry.ollama.ai/library/m does not support tools"
            exchange.json({"error": {"message": text}}, 400)
        else:
            says(event({"content": answer}, "stop"))(exchange)

    server.routes[CHAT] = respond
    kept = HabitFile(tmp_path / "endpoints.json", "here#m", lambda: NOW)
    model = model_of(server, kept)
    assert model.native_tools
    turn = replace(TURN, toolless="You are Ada. Answer with JSON.")
    assert actions.said_in(model.complete(turn).text) == "Hello"
    assert server.seen[1].body["response_format"]["type"] == "json_schema"
    told = [one.body["messages"][0]["content"] for one in server.seen]
    assert told == ["You are Ada.", "You are Ada. Answer with JSON."]
    again = model_of(server, kept)
    assert again.native_tools  # once may be of the one answer
    again.complete(TURN)
    assert not again.native_tools
    again.complete(TURN)
    assert len(server.seen) == 5


def test_an_endpoint_that_does_not_know_required_is_asked_with_auto(server: FakeServer) -> None:
    def respond(exchange: Exchange) -> None:
        if exchange.body.get("tool_choice") == "required":
            exchange.json({"error": {"message": "tool_choice 'required' is not supported"}}, 400)
        else:
            calls(("say", {"text": "Hello"}))(exchange)

    server.routes[CHAT] = respond
    assert actions.said_in(model_of(server).complete(TURN).text) == "Hello"
    assert server.seen[-1].body["tool_choice"] == "auto"


def test_plain_text_is_speech_and_after_two_in_a_row_requests_go_by_schema(
    server: FakeServer,
) -> None:
    spoken = calls(("say", {"text": "Hello"}))
    model = model_of(server)
    for route in (hello(), spoken, hello(), hello()):
        server.routes[CHAT] = route
        completion = model.complete(TURN)
        assert "tools" in server.seen[-1].body
    assert [one.name for one in actions.parse(completion.text)] == ["say", "end_turn"]
    model.complete(TURN)
    assert server.seen[-1].body["response_format"]["type"] == "json_schema"


def test_a_call_that_an_endpoint_refuses_is_of_the_one_answer(server: FakeServer) -> None:
    failed = "Failed to call a function: it was not in request.tools"

    def respond(exchange: Exchange) -> None:
        if len(server.seen) in (1, 4):
            exchange.json({"error": {"message": failed, "code": "tool_use_failed"}}, 400)
        else:
            calls(("say", {"text": "Hello"}))(exchange) if "tools" in exchange.body else hello()(
                exchange
            )

    server.routes[CHAT] = respond
    model = model_of(server)
    for _ in range(4):
        assert actions.said_in(model.complete(TURN).text) == "Hello"
    assert ["tools" in one.body for one in server.seen] == [True, False, True, True, False, True]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            "<|channel|>analysis<|message|>User greets.<|end|><|start|>assistant<|channel|>final"
            "<|message|>Hello.",
            "Hello.",
        ),
        ("<thought>User greets me.</thought>Hello.", "Hello."),
        ("<reasoning>Hm.</reasoning>\n\nHello.", "Hello."),
        ("[THINK]Hm.[/THINK]Hello.", "Hello."),
        ("<|channel|>final<|message|>Hello.", "Hello."),
        ("Read `</thought>` aloud.", "Read `</thought>` aloud."),
    ],
)
def test_thought_of_every_family_is_kept_apart(server: FakeServer, content: str, said: str) -> None:
    server.routes[CHAT] = says(
        *(event({"content": piece}) for piece in pieces(content)), event({}, "stop")
    )
    heard: list[str] = []
    completion = model_of(server).complete(REQUEST, heard.append)
    assert completion.text == "".join(heard).strip() == said


def test_who_only_thinks_is_asked_once_more_with_room_and_without_thought(
    server: FakeServer,
) -> None:
    def respond(exchange: Exchange) -> None:
        if len(server.seen) == 1:
            says(event({"reasoning_content": "Hm, let me see"}), event({}, "length"))(exchange)
        else:
            hello()(exchange)

    server.routes[CHAT] = respond
    assert model_of(server).complete(replace(REQUEST, thinking=True)).text == "Hello"
    first, second = (one.body for one in server.seen)
    assert second["max_tokens"] > first["max_tokens"]
    assert second["chat_template_kwargs"] == {"enable_thinking": False}


@pytest.mark.parametrize(
    "content",
    [
        "{'a': 2, 'b': None}",
        '{"a": 2, // two\n "b": 1}',
        "{“a”: 2}",
        '"{\\"a\\": 2}"',
        '{"a": "2"}',
        "```json\n{'a': 2,}\n```",
        "Here you are:\n{a: 2}",
    ],
)
def test_json_as_models_write_it_is_read(content: str) -> None:
    assert structured.read(content, SCHEMA)["a"] == 2


@pytest.mark.parametrize(
    ("status", "error", "kind", "words"),
    [
        (
            429,
            {"message": "You exceeded your current quota", "code": "insufficient_quota"},
            BudgetSpentError,
            "nothing left to spend",
        ),
        (402, {"message": "Insufficient credits"}, BudgetSpentError, "nothing left to spend"),
        (
            403,
            {"message": "Country not supported", "code": "unsupported_country_region_territory"},
            ModelUnreachableError,
            "doesn't serve this country",
        ),
        (
            400,
            {"message": "The response was filtered", "code": "content_filter"},
            AnswerInvalidError,
            "content filter",
        ),
        (529, {"message": "Overloaded", "type": "overloaded_error"}, ModelUnreachableError, "busy"),
        (429, {"message": "Rate limit reached"}, ModelUnreachableError, "no more requests for now"),
    ],
)
def test_each_refusal_says_what_helps(
    server: FakeServer, status: int, error: dict[str, str], kind: type[UserError], words: str
) -> None:
    server.routes[CHAT] = lambda exchange: exchange.json({"error": error}, status)
    with pytest.raises(kind, match=words.replace("busy", "overloaded or down")):
        model_of(server, retries=0).complete(REQUEST)


def test_an_answer_that_was_not_streamed_is_read(server: FakeServer) -> None:
    message = {"role": "assistant", "content": "Hello\nyou"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    server.routes[CHAT] = lambda exchange: exchange.json({"choices": [choice]})
    assert model_of(server).complete(REQUEST).text == "Hello\nyou"


def test_the_cost_and_the_cache_are_told(server: FakeServer) -> None:
    usage = {
        "prompt_tokens": 2000,
        "completion_tokens": 40,
        "prompt_tokens_details": {"cached_tokens": 1800},
        "completion_tokens_details": {"reasoning_tokens": 30},
        "cost": 0.0021,
    }
    last = b"data: " + json.dumps({"choices": [], "usage": usage}).encode() + b"\n\n"
    server.routes[CHAT] = says(event({"content": "Hello"}, "stop"), last, DONE)
    counts = model_of(server).complete(REQUEST).usage
    assert (counts.prompt_tokens, counts.cached_tokens, counts.reasoning_tokens) == (2000, 1800, 30)
    assert counts.dollars == pytest.approx(0.0021)


def test_the_one_model_of_llama_server_is_known_by_any_name_with_its_size(
    server: FakeServer,
) -> None:
    meta = {"n_ctx": 4096, "n_params": 134_515_008}
    entry = {"id": "/models/smol.gguf", "owned_by": "llamacpp", "meta": meta}
    server.routes["/v1/models"] = lambda exchange: exchange.json({"data": [entry]})
    model = model_of(server)
    assert model.told.parameters == 134_515_008
    assert (model.told.names, model.told.window) == ((), (4096, "endpoint"))


def test_who_only_ever_thinks_is_an_unusable_answer(server: FakeServer) -> None:
    server.routes[CHAT] = says(event({"reasoning": "Hm"}), event({}, "stop"))
    with pytest.raises(AnswerInvalidError, match="said nothing") as caught:
        model_of(server).complete(REQUEST)
    assert caught.value.exit_code == 21
    assert len(server.seen) == 2


def test_a_template_without_a_word_of_the_system_gets_it_with_the_users_first(
    server: FakeServer, tmp_path: Path
) -> None:
    def told(body: dict[str, Any]) -> bool:
        return any(one["role"] == "system" for one in body["messages"])

    server.routes[CHAT] = refuses((told, 400, "System role not supported"))
    request = replace(
        REQUEST, messages=(PromptMessage("system", "You are Ada."), PromptMessage("user", "Hi."))
    )
    kept = HabitFile(tmp_path / "endpoints.json", "here#m", lambda: NOW)
    for requests in (2, 3):
        assert model_of(server, kept).complete(request).text == "Hello"
        assert len(server.seen) == requests
    sent = [(one["role"], one["content"]) for one in server.seen[-1].body["messages"]]
    assert sent == [("user", "You are Ada.\n\nHi.")]


def test_who_may_not_stream_and_who_fails_over_tools_is_asked_without(server: FakeServer) -> None:
    choice = {"message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}

    def respond(exchange: Exchange) -> None:
        if exchange.body.get("stream"):
            exchange.json({"error": {"message": "must be verified", "param": "stream"}}, 400)
        elif "tools" in exchange.body:
            exchange.json({"error": {"message": "tools param requires --jinja flag"}}, 500)
        else:
            exchange.json({"choices": [choice]})

    server.routes[CHAT] = respond
    assert model_of(server).complete(TURN).text == "Hello"
    assert "stream_options" not in server.seen[-1].body
    assert len(server.seen) == 3


@pytest.mark.parametrize(
    ("status", "body", "headers", "kind", "words"),
    [
        (400, [{"error": {"message": "API key not valid."}}], {}, CredentialsError, "another key"),
        (400, {"message": "Invalid model: m"}, {}, ModelUnreachableError, "does not have"),
        (200, {"detail": "Unauthorized"}, {}, CredentialsError, "Unauthorized"),
        (
            200,
            {"base_resp": {"status_msg": "insufficient balance"}, "choices": None},
            {},
            BudgetSpentError,
            "nothing left to spend",
        ),
        (
            429,
            {"message": "Wait."},
            {"retry_after": "3600"},
            ModelUnreachableError,
            "in 60 minutes",
        ),
        (429, {"message": "Wait."}, {"retry_after": "86400"}, ModelUnreachableError, "in 24 hours"),
        (429, {"message": "Wait."}, {"retry_after_ms": "90000"}, ModelUnreachableError, "in 90 s"),
        (
            429,
            {"error": {"message": "Wait.", "details": [{"retryDelay": "36.5s"}]}},
            {},
            ModelUnreachableError,
            "in 37 s",
        ),
        (403, {"error": "Used all available credits."}, {}, BudgetSpentError, "nothing left"),
        (403, {"error": "Violates usage guidelines."}, {}, AnswerInvalidError, "content filter"),
        (403, {"error": "Your region is restricted."}, {}, ModelUnreachableError, "this country"),
        (403, {"error": "The model is blocked."}, {}, ModelUnreachableError, "does not have"),
        (403, {"error": "Forbidden"}, {}, CredentialsError, "another key"),
        (400, {"error": "Incorrect API key provided"}, {}, CredentialsError, "another key"),
        (400, {"error": "API key expired."}, {}, CredentialsError, "another key"),
        (400, {"error": "input token count (9) exceeds 8"}, {}, BudgetSpentError, "does not fit"),
        (400, {"error": "maximum prompt length is 8"}, {}, BudgetSpentError, "does not fit"),
        (413, {}, {}, BudgetSpentError, "does not fit"),
        (400, {"error": "Content Exists Risk"}, {}, AnswerInvalidError, "content filter"),
        (400, {"error": "m is not a valid model ID"}, {}, ModelUnreachableError, "does not have"),
        (404, {"error": "Resource gone"}, {}, ModelUnreachableError, "does not have"),
        (
            404,
            {"error": "This model is only supported in v1/responses."},
            {},
            ModelUnreachableError,
            "has no talk with",
        ),
    ],
)
def test_what_another_try_would_not_help_is_asked_once_and_said(
    server: FakeServer,
    status: int,
    body: Any,
    headers: dict[str, str],
    kind: type[UserError],
    words: str,
) -> None:
    server.routes[CHAT] = lambda exchange: exchange.whole(
        json.dumps(body).encode(), "application/json", status, **headers
    )
    with pytest.raises(kind, match=words):
        model_of(server).complete(REQUEST)
    assert len(server.seen) == 1


def test_a_web_page_is_no_answer_and_json_is_one_whatever_it_is_called(server: FakeServer) -> None:
    server.routes[CHAT] = lambda exchange: exchange.whole(b"<!DOCTYPE html><p>")
    with pytest.raises(ModelUnreachableError, match="web page"):
        model_of(server).complete(REQUEST)
    whole = b'{"choices": [{"message": {"content": "Hello"}, "finish_reason": "stop"}]}'
    server.routes[CHAT] = lambda exchange: exchange.whole(whole)
    assert model_of(server).complete(REQUEST).text == "Hello"


@pytest.mark.parametrize("reason", ["refusal", "content_filter: PROHIBITED_CONTENT"])
def test_an_answer_that_was_held_back_says_so(server: FakeServer, reason: str) -> None:
    server.routes[CHAT] = says(event({}, reason), DONE)
    with pytest.raises(AnswerInvalidError, match="content filter"):
        model_of(server).complete(REQUEST)


def test_an_answer_without_a_word_at_its_longest_names_the_setting(server: FakeServer) -> None:
    server.routes[CHAT] = says(event({}, "length"), DONE)
    with pytest.raises(AnswerInvalidError, match="reflex_max_tokens"):
        model_of(server).complete(REQUEST)
    assert len(server.seen) == 2


def test_a_server_behind_the_edge_that_fails_is_down(server: FakeServer) -> None:
    server.routes[CHAT] = lambda exchange: exchange.json({"error": "unknown"}, 524)
    with pytest.raises(ModelUnreachableError, match="overloaded or down"):
        model_of(server, retries=0).complete(REQUEST)


def told_system(body: dict[str, Any]) -> bool:
    return any(one["role"] == "system" for one in body["messages"])


SAMPLING = '{"error": {"message": "\'temperature\' is not supported", "param": "temperature"}}'


@pytest.mark.parametrize(
    ("breaks", "status", "error"),
    [
        (told_system, 400, {"message": "Developer instruction is not enabled for models/m"}),
        (told_system, 500, {"message": "Only user and assistant roles are supported!"}),
        (
            told_system,
            400,
            {
                "message": "'messages[0].role' does not support 'system'",
                "param": "messages[0].role",
            },
        ),
        (
            lambda body: "temperature" in body,
            400,
            {"message": "Provider returned error", "code": 400, "metadata": {"raw": SAMPLING}},
        ),
        (
            lambda body: "seed" in body,
            200,
            {"message": "no", "param": "seed", "code": "unsupported_parameter"},
        ),
        (lambda body: "max_tokens" in body, 400, {"message": "Unknown parameter: 'maxTokens'"}),
        (
            lambda body: max(body.get("max_tokens", 0), body.get("max_completion_tokens", 0)) > 256,
            400,
            {"message": "max_tokens is too large: 512. This model supports at most 256 tokens."},
        ),
    ],
)
def test_what_a_server_refuses_in_words_of_its_own_is_left_out(
    server: FakeServer, breaks: Callable[[dict[str, Any]], bool], status: int, error: dict[str, Any]
) -> None:
    def respond(exchange: Exchange) -> None:
        if not breaks(exchange.body):
            hello()(exchange)
        elif status == 200:
            says(b"data: " + json.dumps({"error": error}).encode() + b"\n\n", DONE)(exchange)
        else:
            exchange.json({"error": error}, status)

    server.routes[CHAT] = respond
    request = replace(REQUEST, seed=3, max_tokens=512)
    assert model_of(server).complete(request).text == "Hello"
    assert len(server.seen) == 2


def test_a_choice_of_tools_that_is_refused_twice_leaves_the_tools(server: FakeServer) -> None:
    rule = (lambda body: "tool_choice" in body, 422, "tool_choice must be one of: REQUIRED, NONE")
    server.routes[CHAT] = refuses(rule)
    model_of(server).complete(TURN)
    assert "tools" in server.seen[-1].body
    assert len(server.seen) == 3


def test_a_failure_over_a_schema_and_one_to_stream_are_matters_of_form(server: FakeServer) -> None:
    choice = {"message": {"role": "assistant", "content": "{}"}, "finish_reason": "stop"}

    def respond(exchange: Exchange) -> None:
        if exchange.body.get("response_format", {}).get("type") == "json_schema":
            exchange.json({"error": {"message": "json_schema conversion failed"}}, 500)
        elif exchange.body.get("stream"):
            exchange.json({"detail": "Streaming is not supported for this deployment"}, 501)
        else:
            exchange.json({"choices": [choice]})

    server.routes[CHAT] = respond
    assert model_of(server).complete(replace(REQUEST, schema=SCHEMA)).text == "{}"
    assert len(server.seen) == 3
