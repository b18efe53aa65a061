"""What exports hold since 2026, by the descriptions of those who read real ones; made up here."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bumble.bridges.imports import items
from bumble.bridges.imports.items import ImportedPersona, ImportedTalk, Item, LeftOut
from bumble.errors import ImportInvalidError
from tests.support import exports
from tests.support.importing import read_in, said

ENTITY = '\ue200entity\ue202["city","Porto","a city in Portugal"]\ue201'
LINK = "\ue200url\ue202the ferry\ue202https://example.org/ferry\ue201"
CITED = " \ue200cite\ue202turn0search0\ue202turn0news3\ue201"


def left(read: list[Item]) -> Counter[str]:
    return Counter({item.why: item.count for item in read if isinstance(item, LeftOut)})


def test_a_name_or_a_link_that_chatgpt_shows_as_a_card_keeps_its_words(tmp_path: Path) -> None:
    text = f"Go to {ENTITY} by {LINK}, or{ENTITY.replace('[', 'x')}.{CITED}"
    talk = exports.gpt_talk("c1", exports.gpt_message("1", "assistant", text))
    _, read = read_in(exports.as_json(tmp_path / "conversations.json", [talk]))
    assert said(read)[0][2] == (
        "Go to Porto by [the ferry](https://example.org/ferry), "
        'orx"city","Porto","a city in Portugal"].'
    )


def of_claude(*blocks: dict[str, Any]) -> dict[str, Any]:
    message = {"uuid": "m1", "sender": "assistant", "created_at": "2026-06-01T10:00:00Z"}
    talk = {"uuid": "t1", "name": "Soup", "created_at": "2026-06-01T10:00:00Z"}
    return {**talk, "chat_messages": [{**message, "content": list(blocks)}]}


def test_what_claude_noted_and_spoke_is_taken_and_its_cards_are_counted(tmp_path: Path) -> None:
    talk = of_claude(
        {
            "type": "tool_use",
            "name": "memory_user_edits",
            "input": {"command": "add", "control": "Sam is vegan"},
        },
        {"type": "tool_use", "name": "recipe_display_v0", "input": {"title": "Caldo verde"}},
        {"type": "voice_note", "transcript": "Thank you."},
    )
    talk["summary"] = "**Conversation Overview** A soup."
    _, read = read_in(exports.as_json(tmp_path / "conversations.json", [talk]))
    [(_, _, text)] = said(read)
    assert text == "(to its memory) Sam is vegan\n\nThank you."
    assert left(read) == {"summaries that Claude made of conversations": 1, items.CALLS: 1}


def test_a_talk_of_claude_that_is_refused_is_counted_once(tmp_path: Path) -> None:
    talk = of_claude({"type": "text", "text": "Hello."})
    del talk["uuid"]
    talk["summary"] = "A hello."
    _, read = read_in(exports.as_json(tmp_path / "conversations.json", [talk]))
    assert left(read) == {"a conversation without an id": 1}


def test_takeout_of_gemini_is_read_by_what_each_record_is(tmp_path: Path) -> None:
    def record(title: str, answer: str = "", of: str = "Gemini Apps") -> dict[str, Any]:
        head = {"header": of, "title": title, "time": "2026-07-01T10:00:00Z", "products": [of]}
        return {**head, "safeHtmlItem": [{"html": f"<p>{answer}</p>"}] if answer else []}

    records = [
        record("Asked what is a tide", "The sea moves."),
        record("Said good night"),
        record("Was ist Ebbe?", "Das Meer geht.", "Gemini-Apps"),
        record("Created a canvas"),
        record("Searched for boots", "x", "Search"),
    ]
    _, read = read_in(exports.as_json(tmp_path / "MyActivity.json", records))
    assert sorted(text for *_, text in said(read)) == [
        *("Das Meer geht.", "The sea moves.", "Was ist Ebbe?", "good night", "what is a tide"),
    ]
    assert left(read) == {"records that are no prompt": 1, "records of other services": 1}


def test_a_page_of_gemini_is_read_as_its_json_is(tmp_path: Path) -> None:
    page = exports.gemini_page(
        ("Cleared previous feedback", "Sep 2, 2026, 1:26:27 PM PDT<br>"),
        (
            "Prompted A boat?<br>1 file.",
            "Sep 2, 2026, 12:12:52\u202fPM PDT<br><p>A <b>sloop</b>.</p>",
        ),
        ("Prompted Of wood?", "2 Smarch 2026, 25:99 XYZ<br><p>Of oak.</p>"),
    )
    place = "Takeout/Mes activités/Applications Gemini/MonActivité.html"
    form, read = read_in(exports.folder(tmp_path, {place: page, "archive_browser.html": "<p>"}))
    assert (form, said(read)) == (
        "gemini",
        [("person", "", "A boat?\n1 file."), ("other", "Gemini", "A sloop.")],
    )
    [talk] = [item for item in read if isinstance(item, ImportedTalk)]
    assert talk.at == datetime(2026, 9, 2, 19, 12, 52, tzinfo=UTC)
    assert left(read) == {
        "records that are no prompt": 1,
        "a record without a time": 1,
        "files that hold no conversations": 1,
    }


def test_a_page_in_another_language_loses_only_the_word_for_asking(tmp_path: Path) -> None:
    page = exports.gemini_page(("Pokyn&nbsp;Kde je loď?", "1. 12. 2026 10:00:00 SEČ<br>Tady."))
    search = exports.gemini_page(("Searched for&nbsp;boats", "Sep 2, 2026"), product="Search")
    _, read = read_in(exports.folder(tmp_path, {"a.html": page, "b/MyActivity.html": search}))
    assert [text for *_, text in said(read)] == ["Kde je loď?", "Tady."]
    assert left(read)["a record without a time"] == 1


def test_what_only_looks_like_an_export_is_not_taken_for_one(tmp_path: Path) -> None:
    agent = {**exports.letta_agent(), "tools": [{"json_schema": {"mapping": {"type": "object"}}}]}
    assert read_in(exports.as_json(tmp_path / "tools.af", agent))[0] == "letta"
    raw = {"chat_messages": [{"message_id": 1, "fragments": []}]}
    with pytest.raises(ImportInvalidError, match="no format that bumble knows"):
        read_in(exports.as_json(tmp_path / "conversations.json", raw))


def test_a_folder_of_archives_says_which_to_import(tmp_path: Path) -> None:
    exports.zipped(tmp_path / "packed.zip", conversations_json=[exports.gpt_moving()])
    with pytest.raises(ImportInvalidError, match="in it is packed; import that"):
        read_in(tmp_path)


def test_what_lies_beside_the_notes_of_a_memory_folder_is_named(tmp_path: Path) -> None:
    texts = {**exports.MEMFS, "system/picture.png": "x", "skills/tea/SKILL.md": "Boil water."}
    _, read = read_in(exports.folder(tmp_path, texts))
    assert left(read) == {"files that are no Markdown": 1}


def test_talks_of_exports_that_gave_them_no_ids_are_kept_apart(tmp_path: Path) -> None:
    told = [exports.gpt_talk("x", exports.gpt_message(f"m{n}", "user", f"{n}")) for n in "ab"]
    for number, talk in enumerate(told):
        talk["create_time"] += number
        for key in ("id", "conversation_id"):
            talk.pop(key, None)
    _, read = read_in(exports.as_json(tmp_path / "conversations.json", told))
    assert len({item.id for item in read if isinstance(item, ImportedTalk)}) == 2


def test_a_card_that_says_nothing_but_its_name_is_one(tmp_path: Path) -> None:
    card = {"spec": "chara_card_v2", "data": {"name": "Ada", "description": ""}}
    _, [persona] = read_in(exports.as_json(tmp_path / "ada.json", card))
    assert isinstance(persona, ImportedPersona) and persona.name == "Ada"
