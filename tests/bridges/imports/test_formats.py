from __future__ import annotations

import base64
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

from bumble.bridges.imports import card, formats, items
from bumble.bridges.imports.items import OTHER, PERSON, ImportedPersona, LeftOut, Recipe
from bumble.entity.create import NewEntity
from bumble.errors import ImportInvalidError
from tests.support import exports, newborns
from tests.support.importing import facts, left, read_in, said, talks


def test_each_format_shows_by_its_content(tmp_path: Path) -> None:
    made = exports.every(tmp_path)
    assert set(made) == set(formats.BY_NAME)
    assert {name: read_in(path)[0] for name, path in made.items()} == {name: name for name in made}


def test_what_is_no_format_is_an_error_that_names_them(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(ImportInvalidError, match="chatgpt, claude"):
        read_in(tmp_path / "notes.txt")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("# A")
    with pytest.raises(ImportInvalidError, match="--format obsidian"):
        read_in(tmp_path / "notes")
    bea = newborns.created(tmp_path / "bea", NewEntity("Bea", "curious", "Sam", "UTC")).root
    with pytest.raises(ImportInvalidError, match="it is an entity itself"):
        read_in(bea)
    assert set(left(read_in(bea, "obsidian")[1])) == {"files that bumble wrote itself"}
    with pytest.raises(ImportInvalidError, match="No such file"):
        read_in(tmp_path / "absent.zip")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ImportInvalidError, match="nothing in it"):
        read_in(tmp_path / "empty")


def test_a_file_that_breaks_off_says_so(tmp_path: Path) -> None:
    (tmp_path / "card.json").write_text(json.dumps(exports.card())[:60])
    with pytest.raises(ImportInvalidError, match="no JSON: "):
        read_in(tmp_path / "card.json")
    whole = exports.zipped(tmp_path / "whole.zip", **{"conversations.json": [exports.gpt_moving()]})
    (tmp_path / "cut.zip").write_bytes(whole.read_bytes()[:100])
    with pytest.raises(ImportInvalidError, match="breaks off or is damaged"):
        read_in(tmp_path / "cut.zip")
    book = exports.as_json(tmp_path / "book.json", {"spec": "lorebook_v3", "data": {"entries": 7}})
    assert left(read_in(book)[1], broken=True) == ["a lorebook without entries"]


def test_chatgpt_shows_the_branch_shown_last_and_nothing_internal(tmp_path: Path) -> None:
    message = exports.gpt_message
    talk = exports.gpt_talk(
        "c9",
        message("1", "system", "You are ChatGPT."),
        message("2", "user", "Custom", content={"content_type": "user_editable_context"}),
        message("3", "user", {"content_type": "image_asset_pointer"}, "What is this?"),
        message("4", "assistant", content={"content_type": "thoughts", "thoughts": []}),
        message("5", "assistant", "search('x')", recipient="web"),
        message("6", "tool", "result"),
        message(
            "7", "assistant", content={"content_type": "code", "language": "python", "text": "1"}
        ),
        message("8", "assistant", "Sam has a cat.", recipient="bio"),
        message(
            "9", "assistant", "hidden", metadata={"is_visually_hidden_from_conversation": True}
        ),
        message("10", "assistant", "A cat.", at=None, metadata={"model_slug": "gpt-6"}),
    )
    talk["mapping"]["side"] = {
        "id": "side",
        "parent": "3",
        "message": message("side", "assistant", "Another answer."),
    }
    _, read = read_in(exports.as_json(tmp_path / "conversations.json", [talk]))
    assert said(read) == [
        (PERSON, "", "[picture]\n\nWhat is this?"),
        (OTHER, "ChatGPT", "```python\n1\n```"),
        (OTHER, "ChatGPT", "(to its memory) Sam has a cat."),
        (OTHER, "ChatGPT", "A cat."),
    ]
    assert talks(read)[0].turns[-1].model == "gpt-6"
    aside = {item.why: item.count for item in read if isinstance(item, LeftOut)}
    assert aside == {
        items.SYSTEM: 1,
        items.CALLS: 1,
        items.RESULTS: 1,
        items.HIDDEN: 1,
        items.ASIDE: 1,
    }


def test_chatgpt_circles_end_and_one_bad_conversation_ends_nothing(tmp_path: Path) -> None:
    circle = exports.gpt_moving()
    circle["mapping"]["1"]["parent"] = "4"
    secret = {**exports.gpt_moving(), "is_do_not_remember": True}
    bad: list[Any] = [{"title": "x"}, 7, {"id": "e", "mapping": {}}, {"id": "f", "mapping": [1]}]
    good = {**exports.gpt_moving(), "id": "ok", "conversation_id": "ok"}
    _, read = read_in(
        exports.as_json(tmp_path / "conversations.json", [circle, *bad, secret, good])
    )
    assert [talk.id for talk in talks(read)] == ["c1", "ok"]
    assert len(left(read, broken=True)) == 4
    assert "conversations that were not to be remembered" in left(read)


def test_claude_keeps_attached_files_apart_from_what_was_said(tmp_path: Path) -> None:
    memories = [{"conversations_memory": "Sam bakes.", "project_memories": {"p1": "A shop."}}]
    project = {
        "uuid": "p1",
        "name": "Shop",
        "description": "My bakery",
        "prompt_template": "",
        "docs": [{"uuid": "d1", "filename": "plan.md", "content": "Buy flour."}],
        "created_at": "2025-01-01T00:00:00Z",
    }
    path = exports.zipped(
        tmp_path / "c.zip",
        conversations_json=[exports.claude_talk()],
        memories_json=memories,
        projects__p1_json=project,
    )
    _, read = read_in(path)
    assert said(read) == [
        (PERSON, "", "My bakery"),
        (OTHER, "plan.md", "Buy flour."),
        (PERSON, "", "I bake rye bread on Sundays.\n\n[file: recipe.txt]\n[file: loaf.jpg]"),
        (OTHER, "recipe.txt", "Sam hates rye bread."),
        (OTHER, "Claude", "Lovely."),
    ]
    assert facts(read) == {
        "What Claude remembered": "Sam bakes.",
        "What Claude remembered of Shop": "A shop.",
    }


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("form", ["json", "png", "charx"])
def test_a_card_of_any_version_and_form_is_the_same_character(
    tmp_path: Path, version: int, form: str
) -> None:
    data = exports.card(version)
    path = tmp_path / f"card.{form}"
    if form == "json":
        exports.as_json(path, data)
    elif form == "png":
        old = exports.encoded({**exports.card(1), "name": "Old"})
        keyword = "ccv3" if version == 3 else "chara"
        path.write_bytes(exports.png(**{"chara": old, keyword: exports.encoded(data)}))
    else:
        exports.zipped(path, card_json=data, assets__icon="x")
    name, read = read_in(path)
    assert name == "card"
    [persona] = [item for item in read if isinstance(item, ImportedPersona)]
    start = "" if version == 1 else "Speak softly.\n\n"
    said = "{{char}} guards the glade for {{user}}."
    assert persona.monologue == f"{start}{said}\n\npatient\n\nA forest."
    assert persona.voice == "{{char}}: Hm.\n\n{{char}}: Ah."
    assert persona.greeting == "Hello {{user}}."
    assert "never shown" not in persona.monologue + persona.voice
    assert dict(persona.card) == (data if version == 1 else data["data"])
    if version > 1:
        assert facts(read) == {"glade (Glade)": "The glade is safe."}
        assert Recipe("wolf (Glade)", "wolf, wolves", "Wolves wait.") in read
        assert "entries that are switched off" in left(read)


CARD = json.dumps(exports.card(3), ensure_ascii=False)
CODED = base64.b64encode(CARD.encode())


@pytest.mark.parametrize(
    "text",
    [
        b"\xef\xbb\xbf" + CARD.encode(),
        b"\n".join(CODED[at : at + 76] for at in range(0, len(CODED), 76)) + b"\n",
        base64.urlsafe_b64encode(CARD.encode()).rstrip(b"="),
        b"data:application/json;base64," + CODED,
        CODED + b"==",
    ],
    ids=["bom", "lines", "url", "data", "padding"],
)
@pytest.mark.parametrize("kind", [b"tEXt", b"zTXt", b"iTXt"])
def test_a_card_is_read_in_any_envelope(kind: bytes, text: bytes) -> None:
    inside = {
        b"tEXt": b"CCV3\0" + text,
        b"zTXt": b"ccv3\0\0" + zlib.compress(text),
        b"iTXt": b"ccv3\0\1\0en\0Card\0" + zlib.compress(text),
    }[kind]
    chunk = struct.pack(">I", len(inside)) + kind + inside + b"\0\0\0\0"
    assert card.parse(card.from_png(exports.PNG + chunk)[0]).name == "Seraphina"


def test_a_card_that_would_grow_beyond_measure_is_none() -> None:
    inside = b"ccv3\0\0" + zlib.compress(b" " * 50_000_000)
    chunk = struct.pack(">I", len(inside)) + b"zTXt" + inside + b"\0\0\0\0"
    with pytest.raises(ValueError, match="can't be decoded"):
        card.from_png(exports.PNG + chunk)
