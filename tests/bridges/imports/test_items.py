"""Every block of an export is taken, or named and counted among what is left out."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bumble.bridges.imports import items
from bumble.bridges.imports.items import ImportedTalk, Item, LeftOut
from tests.support.importing import read_in, said
from tests.support.running import Run
from tests.support.sweeps import examples

CASES = Path(__file__).parents[2] / "data" / "imports"
WORDS = st.text("abc é\n{[", max_size=8)
ODD = st.none() | st.booleans() | st.integers() | WORDS
ID = st.sampled_from(["a", "b", "c", "d", "e"])
KINDS = st.sampled_from(
    [
        *("text", "multimodal_text", "code", "execution_output", "thoughts", "reasoning_recap"),
        *("system_error", "tether_quote", "user_editable_context", "super_widget", "image_new"),
        *("image_asset_pointer", "audio_transcription", "audio_asset_pointer", "hologram"),
    ]
)
PART = ODD | st.fixed_dictionaries(
    {"content_type": KINDS}, optional={"text": WORDS, "asset_pointer": st.just("sediment://a")}
)
GPT_MESSAGE = ODD | st.fixed_dictionaries(
    {
        "author": st.fixed_dictionaries(
            {"role": st.sampled_from(["user", "assistant", "tool", "system", "critic"])}
        ),
        "content": ODD
        | st.fixed_dictionaries(
            {"content_type": KINDS},
            optional={"parts": st.lists(PART, max_size=4) | ODD, "text": WORDS, "thoughts": ODD},
        ),
        "create_time": st.none() | st.integers(1_700_000_000, 1_700_000_009),
        "recipient": st.sampled_from(
            ["all", "python", "bio", "web.run", "canmore.create_textdoc", "canmore.update_textdoc"]
        ),
        "metadata": st.fixed_dictionaries(
            {},
            optional={
                "attachments": st.lists(
                    st.fixed_dictionaries({"id": ID, "name": WORDS}), max_size=2
                ),
                "is_visually_hidden_from_conversation": st.booleans(),
                "async_task_type": st.just("research"),
            },
        ),
    }
)
GPT_NODE = st.fixed_dictionaries({"parent": st.none() | ID, "message": GPT_MESSAGE})
GPT_TALK = st.fixed_dictionaries(
    {
        "id": ID,
        "create_time": st.just(1_700_000_000),
        "mapping": st.dictionaries(ID, GPT_NODE, min_size=1, max_size=5),
        "current_node": st.none() | ID,
    }
)
CLAUDE_BLOCK = ODD | st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            ["text", "thinking", "tool_use", "tool_result", "voice_note", "image", "aura"]
        )
    },
    optional={
        "text": WORDS,
        "name": st.sampled_from(
            ["artifacts", "repl", "web_search", "recipe_display_v0", "memory_user_edits"]
        ),
        "input": st.fixed_dictionaries(
            {}, optional={"content": WORDS, "new_str": WORDS, "code": WORDS}
        ),
        "id": ID,
        "tool_use_id": ID,
        "content": WORDS | st.lists(st.fixed_dictionaries({"text": WORDS}), max_size=2),
    },
)
CLAUDE_MESSAGE = ODD | st.fixed_dictionaries(
    {"sender": st.sampled_from(["human", "assistant"])},
    optional={
        "uuid": ID,
        "parent_message_uuid": ID,
        "created_at": st.just("2026-01-01T10:00:00Z"),
        "text": WORDS,
        "content": st.lists(CLAUDE_BLOCK, max_size=4) | ODD,
        "attachments": st.lists(
            st.fixed_dictionaries({"file_name": WORDS, "extracted_content": WORDS}), max_size=2
        ),
        "files": st.lists(st.fixed_dictionaries({"file_uuid": ID, "file_name": WORDS}), max_size=2),
    },
)
CLAUDE_TALK = st.fixed_dictionaries(
    {
        "uuid": ID,
        "name": WORDS,
        "created_at": st.just("2026-01-01T10:00:00Z"),
        "chat_messages": st.lists(CLAUDE_MESSAGE, max_size=5),
    }
)
GROK_RESPONSE = st.fixed_dictionaries(
    {"sender": st.sampled_from(["human", "ASSISTANT"])},
    optional={
        "message": ODD,
        "file_attachments": st.lists(WORDS, max_size=2),
        "thinking_trace": WORDS,
        "web_search_results": st.lists(st.just({"url": "x"}), max_size=2),
        "error": WORDS,
    },
)
GROK_TALK = st.fixed_dictionaries(
    {
        "conversation": st.fixed_dictionaries({"id": ID, "title": WORDS}),
        "responses": st.lists(st.fixed_dictionaries({"response": GROK_RESPONSE}), max_size=4),
    }
)


def is_there(value: Any) -> bool:
    return bool(value.strip()) if isinstance(value, str) else value not in (None, {}, [])


def of_gpt(talk: dict[str, Any]) -> int:
    return sum(_gpt_message(node["message"]) for node in talk["mapping"].values())


def _gpt_message(message: Any) -> int:
    if not isinstance(message, dict):
        return bool(message)
    content = message["content"] if isinstance(message["content"], dict) else {}
    parts = content.get("parts") if isinstance(content.get("parts"), list) else []
    own = [part for part in parts or [] if is_there(part)]
    rest = {key: value for key, value in content.items() if key != "content_type" and value}
    if not parts and rest:
        own = [content]
    shown = {part.get("asset_pointer") for part in own if isinstance(part, dict)}
    attached = message["metadata"].get("attachments", [])
    return len(own) + sum(f"sediment://{one['id']}" not in shown for one in attached)


def of_claude(talk: dict[str, Any]) -> int:
    return sum(_claude_message(message) for message in talk["chat_messages"])


def _claude_message(message: Any) -> int:
    if not isinstance(message, dict):
        return bool(message)
    content = message.get("content")
    own = [one for one in content if one] if isinstance(content, list) else []
    texts = [one for one in own if isinstance(one, dict) and one["type"] == "text"]
    empty = [one for one in texts if not one.get("text", "").strip()]
    words = len(texts) == len(empty) and bool(message.get("text", "").strip())
    files = {one["file_uuid"] for one in message.get("files", [])}
    return len(own) - len(empty) + words + len(message.get("attachments", [])) + len(files)


def of_grok(talk: dict[str, Any]) -> int:
    return sum(
        is_there(one.get("message")) * bool(one.get("message"))
        + len(one.get("file_attachments", []))
        + bool(one.get("thinking_trace"))
        + len(one.get("web_search_results", []))
        + bool(one.get("error"))
        for one in (response["response"] for response in talk["responses"])
    )


def counted(read: list[Item]) -> tuple[int, int]:
    """Return how many blocks were taken, and how many left out with their reason."""
    taken = sum(
        turn.blocks for item in read if isinstance(item, ImportedTalk) for turn in item.turns
    )
    left = [item for item in read if isinstance(item, LeftOut) and item.is_block]
    assert all(item.why and item.count > 0 for item in left)
    return taken, sum(item.count for item in left)


def check(name: str, data: Any, form: str, blocks_there: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text(json.dumps(data), encoding="utf-8")
        _, read = read_in(path, form)
    assert [item for item in read if isinstance(item, LeftOut) and item.broken] == []
    taken, left = counted(read)
    assert taken + left == blocks_there


@settings(max_examples=examples(60))
@given(talks=st.lists(GPT_TALK, min_size=1, max_size=3))
def test_the_counts_add_up_for_any_export_of_chatgpt(talks: list[dict[str, Any]]) -> None:
    check("conversations.json", talks, "chatgpt", sum(map(of_gpt, talks)))


@settings(max_examples=examples(60))
@given(talks=st.lists(CLAUDE_TALK, min_size=1, max_size=3))
def test_the_counts_add_up_for_any_export_of_claude(talks: list[dict[str, Any]]) -> None:
    check("conversations.json", talks, "claude", sum(map(of_claude, talks)))


@settings(max_examples=examples(40))
@given(talks=st.lists(GROK_TALK, min_size=1, max_size=3))
def test_the_counts_add_up_for_any_export_of_grok(talks: list[dict[str, Any]]) -> None:
    data = {"conversations": talks}
    check("prod-grok-backend.json", data, "grok", sum(map(of_grok, talks)))


COUNTS: dict[str, Callable[[dict[str, Any]], int]] = {"chatgpt": of_gpt, "claude": of_claude}


@pytest.mark.parametrize("form", COUNTS)
def test_the_report_of_a_command_adds_up_too(run: Run, form: str) -> None:
    path = CASES / f"{form}-conversations.json"
    there = sum(map(COUNTS[form], json.loads(path.read_text("utf-8"))))
    for _ in range(2):  # the second finds all of it there already
        told = run.ok("import", str(path), "--json").data["blocks"]
        assert told["taken"] + told["left_out"] == there
    assert "left out: " in run.ok("import", str(path)).out


def test_an_artifact_is_taken_of_whatever_branch_and_one_answer_of_the_last() -> None:
    _, read = read_in(CASES / "claude-conversations.json")
    assert said(read)[1:] == [
        ("other", "pasted text", "A long pasted text about my tax return 2025."),
        ("other", "Claude", "[document: Letter]\n\nDear landlord, ..."),
        ("other", "Claude", "Second try"),
    ]
    assert [(item.why, item.count) for item in read if isinstance(item, LeftOut)] == [
        (items.ASIDE, 1)
    ]


def test_code_its_output_and_pictures_are_taken_in_their_place(tmp_path: Path) -> None:
    shown = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1"}
    drawn = {**shown, "asset_pointer": "", "metadata": {"dalle": {"prompt": "A tide"}}}
    nodes = {
        "1": (
            "user",
            [shown, "What is this?"],
            {"attachments": [{"id": "file-1", "name": "t.png"}]},
        ),
        "2": ("tool", [drawn, "DALL-E displayed 1 image."], {}),
    }
    mapping: dict[str, Any] = {
        key: {
            "parent": str(int(key) - 1) if key != "1" else None,
            "message": {
                "author": {"role": role},
                "content": {"content_type": "multimodal_text", "parts": parts},
                "metadata": meta,
            },
        }
        for key, (role, parts, meta) in nodes.items()
    }
    for key, role, recipient, kind, text in (
        ("3", "assistant", "python", "code", "print(1)"),
        ("4", "tool", "all", "execution_output", "1"),
    ):
        content = {"content_type": kind, "language": "python", "text": text}
        head = {"author": {"role": role}, "recipient": recipient}
        mapping[key] = {"parent": str(int(key) - 1), "message": {**head, "content": content}}
    talk = {"id": "c", "create_time": 1_700_000_000, "mapping": mapping, "current_node": "4"}
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([talk]))
    assert [text for _, _, text in said(read_in(path)[1])] == [
        "[picture: t.png]\n\nWhat is this?",
        "[picture: A tide]",
        "```python\nprint(1)\n```",
        "[output]\n```\n1\n```",
    ]
