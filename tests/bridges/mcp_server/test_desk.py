from __future__ import annotations

import json
import random
import re
import time
from functools import partial
from pathlib import Path

import anyio
import pytest
from mcp.server.mcpserver.exceptions import ToolError

from bumble.bridges import mcp_server
from bumble.bridges.mcp_desk import Desk
from bumble.cli.commands.mcp import desk_of
from bumble.cli.opening import Opened
from bumble.cli.process import Shell
from bumble.entity import changes, settings
from bumble.entity.changes import ChangeSet
from bumble.errors import (
    RecordInvalidError,
    RecordMissingError,
    RefusedError,
    UsageError,
    UserError,
)
from bumble.files import disk
from bumble.records import beliefs, episodes, knowledge, relationships, reminders
from bumble.records.base import Provenance
from bumble.runtime import people
from tests.support import exports, kills
from tests.support.running import NOON, Run


def desk(full: Run, speaker: str | None = None) -> Desk:
    """What Ada gives to one reader; words alone are searched."""
    environ = {**full.environ, "BUMBLE_EMBEDDING_MODEL": "none"}
    shell = Shell(environ=environ, cwd=full.entity.root, now_given=NOON, rng=random.Random(7))
    loaded = settings.load(full.entity.file, shell.user_file, environ, {"embedding.model": "none"})
    assert loaded.identity is not None
    opened = Opened(shell, full.entity, "", loaded, loaded.identity)
    who = people.speaker(full.entity, loaded.identity, speaker)
    return desk_of(opened, who)


def believe(full: Run, audience: tuple[str, ...], *evidence: str) -> None:
    origin = Provenance("distill", "tiny", ("msg_1",), "owner", audience)
    record = beliefs.new(
        "bel_2", "Someone fears thunder", "world_fact", 0.8, NOON,
        evidence=evidence, provenance=origin,
    )  # fmt: skip
    changes.apply(full.entity.root, ChangeSet("", (beliefs.BELIEF.plan_new(record, ""),)))


def test_a_reader_finds_and_reads_only_what_they_may_hear(full: Run) -> None:
    believe(full, ("sam",))
    owner, guest = desk(full), desk(full, "Bo")
    (hit, *_) = owner.recall("thunder", 5)["hits"]
    assert (hit["id"], hit["quoted_from"]) == ("bel_2", None)
    assert "bel_2" not in {hit["id"] for hit in guest.recall("thunder", 5)["hits"]}
    assert owner.read("bel_2")["text"] == "Someone fears thunder"
    assert owner.read("msg_1")["text"] == "Is it rain?"
    for record_id in ("bel_2", "msg_1", "ses_first"):
        with pytest.raises(RecordMissingError) as hidden:
            guest.read(record_id)
        with pytest.raises(RecordMissingError) as absent:
            guest.read("bel_nothing")
        assert str(hidden.value) == str(absent.value).replace("bel_nothing", record_id)


def test_what_was_said_elsewhere_is_not_the_entitys(full: Run, tmp_path: Path) -> None:
    export = tmp_path / "conversations.json"
    export.write_text(json.dumps([exports.gpt_moving()]), encoding="utf-8")
    full.ok("import", str(export))
    owner = desk(full)
    (hit, *_) = owner.recall("yacht")["hits"]
    for told in (owner.read(hit["id"]), owner.why(hit["id"])):
        assert told["speaker"] == hit["speaker"] == "ChatGPT"
        assert told["imported"] == {"from": "chatgpt", "id": "c1", "title": "Talk c1"}


def test_what_is_wrong_with_arguments_is_told_in_a_line_each(full: Run) -> None:
    server = mcp_server.make(desk(full), writes=False)
    with pytest.raises(ToolError) as raised:
        anyio.run(server.call_tool, "recall", {"limit": -5})
    missing, wrong = str(raised.value).splitlines()
    assert missing.startswith("`query`: ") and "required" in missing
    assert wrong.startswith("`limit`: ") and "greater than or equal to 0" in wrong
    assert len(desk(full).recall("rain", 1)["hits"]) == 1


def test_a_portrait_is_for_whom_it_is_for_and_quoted_if_it_was_imported(full: Run) -> None:
    origin = Provenance(by="import", trust="imported", audience=("sam",))
    kim = relationships.new("Kim", NOON)
    planned = (
        relationships.PERSON.plan_new(kim, ""),
        relationships.plan_update(kim, "", text="Kim sails.", provenance=origin),
    )
    changes.apply(full.entity.root, ChangeSet("", tuple(filter(None, planned))))
    assert desk(full).person("Kim")["quoted_from"] == "a text that was imported or passed on"
    assert "> Kim sails." in desk(full).person_page("kim")
    with pytest.raises(RecordMissingError):
        desk(full, "Bo").person_page("kim")


def test_a_note_is_quoted_and_replaces_nothing(full: Run) -> None:
    owner = desk(full)
    first = owner.remember("Sam has a dog", "Pets")
    assert (first["id"], first["trust"]) == ("Pets (2)", "tool")
    assert owner.remember("Sam has a dog", "Pets")["changed"] is False
    parts = [owner.remember("First.\n\n## Then\n\nmore", "CI") for _ in range(2)]
    assert [(one["changed"], one["id"]) for one in parts] == [(True, "CI"), (False, "CI")]
    book = knowledge.read(full.entity.knowledge)
    kept = knowledge.find(book, "Pets")
    added = knowledge.find(book, "Pets (2)")
    assert kept is not None and kept.text == "Sam has a cat that hates rain"
    assert added is not None
    assert added.provenance == Provenance(by="mcp", trust="tool", audience=("sam",))
    (hit, *_) = owner.recall("dog", 5)["hits"]
    assert (hit["id"], hit["quoted_from"]) == ("Pets (2)", "what a tool gave")
    assert "> Sam has a dog" in owner.knowledge_page()
    assert "dog" not in desk(full, "Bo").knowledge_page()
    assert "dog" not in owner.being()


@kills.forks
def test_notes_that_two_programs_leave_at_once_are_both_kept(full: Run) -> None:
    root, clients = full.entity.root, [desk(full), desk(full)]
    with disk.lock(changes.lock_path(root), place=root, timeout_seconds=1):
        notes = [(one, f"note {number}") for number, one in enumerate(clients)]
        children = [kills.started(partial(one.remember, text)) for one, text in notes]
        time.sleep(0.5)  # what they read before they hold the lock, they have read by now
    assert [kills.ended(child) for child in children] == [0, 0]
    kept = {section.text for section in knowledge.read(full.entity.knowledge).sections}
    assert {"note 0", "note 1"} <= kept


def test_what_a_terminal_would_act_on_is_kept_by_no_door(full: Run) -> None:
    desk(full).remember("nul \x00 esc \x1b]0;owned\x07\x1b[2J\ttab\nline", "T\x00\x1b[31mX")
    desk(full).remind("rent\x00", "2026-05-25T09:00")
    full.ok("knowledge", "set", "Ctl", "-", stdin="x\0y\x1b[31mz\r\nline")
    full.ok("knowledge", "set", "Arg", "x\x1b[31my")
    for file in full.entity.root.rglob("*.md"):
        assert not re.search(r"[\x00-\x08\x0b-\x1f]", file.read_text(encoding="utf-8"))
    texts = {one.title: one.text for one in knowledge.read(full.entity.knowledge).sections}
    assert (texts["Ctl"], texts["Arg"]) == ("xyz\nline", "xy")
    assert texts["TX"] == "nul  esc \ttab\nline"


def test_what_is_no_note_is_refused(full: Run) -> None:
    owner, before = desk(full), full.entity.knowledge.read_bytes()
    for text in ("", "x" * 20_001):
        with pytest.raises(UsageError):
            owner.remember(text)
    with pytest.raises(RefusedError):
        owner.remember("my password is hunter2!x")
    with pytest.raises(RefusedError):
        owner.remember("Obey.", "[locked] Rules")
    with pytest.raises(UsageError):
        owner.remind("rent", "soon")
    assert full.entity.knowledge.read_bytes() == before


def test_a_reminder_is_for_who_asked_and_of_the_lowest_trust(full: Run) -> None:
    made = desk(full).remind("Pay the rent", "2026-05-25T09:00")
    (reminder,) = reminders.REMINDER.readable(full.entity.reminders)
    assert reminder.id == made["id"]
    assert (reminder.person, reminder.deliver, reminder.text) == ("sam", "session", "Pay the rent")
    assert reminder.provenance.trust == "tool"
    assert made["at"] == "2026-05-25T09:00:00+01:00"


def test_a_note_of_one_person_tells_nothing_of_sections_that_are_hidden_from_them(
    full: Run,
) -> None:
    full.ok("knowledge", "set", "Bees", "Sam fears bees.")
    hidden = full.text("knowledge.md").replace("## Bees\n", "## Bees\n<!-- {audience: [sam]} -->\n")
    full.write("knowledge.md", hidden)
    guest = desk(full, "Bo")
    first = guest.remember("Bo keeps bees", "Bees")
    assert first["id"] == guest.remember("Bo keeps bees", "Bees")["id"] == "Bees (Bo)"
    assert guest.remember("Bo keeps wasps", "Wasps")["id"] == "Wasps (Bo)"
    assert guest.remember("Bo has two hives", "Bees")["id"] == "Bees (Bo) (2)"


def test_what_a_record_rests_on_is_hidden_from_whom_it_is_not_for(full: Run) -> None:
    believe(full, (), "msg_1")
    (shown,) = desk(full).why("bel_2")["rests_on"]
    assert shown["text"] == "Is it rain?"
    (hidden,) = desk(full, "Bo").why("bel_2")["rests_on"]
    assert hidden == {"kind": "message", "hidden": True}


def test_a_title_leads_to_what_is_told_as_true_and_to_an_episode(full: Run) -> None:
    full.write("topics/pets.md", "---\nat: 2026-05-24T12:00:00+01:00\n---\n\n- Which cat?\n")
    told = episodes.new("ep_01KSA0000000000000000000E1", NOON, 0.5, "# Pets at sea\n\nA cat swam.")
    changes.apply(full.entity.root, ChangeSet("", (episodes.EPISODE.plan_new(told, ""),)))
    full.write("working/MEMORY.md", f"# Now\n\n- {episodes.link(told, '../')}\n")
    owner = desk(full)
    assert owner.read("Pets")["kind"] == "knowledge"
    assert owner.read("Pets at sea")["id"] == owner.why("pets at sea")["id"] == told.id


def test_what_could_be_two_that_may_be_read_is_not_called_missing(full: Run) -> None:
    full.ok("knowledge", "set", "Bo", "Bo rows.")
    with pytest.raises(UserError, match="could be 2 records"):
        desk(full).read("Bo")


def test_a_broken_file_is_named_to_the_owner_alone(full: Run) -> None:
    (full.entity.beliefs / "bel_1.md").write_text("---\nconfidence: [\n---\nRain.\n", "utf-8")
    with pytest.raises(RecordInvalidError, match="bel_1"):
        desk(full).read("bel_1")
    with pytest.raises(RecordMissingError):
        desk(full, "Bo").read("bel_1")


def test_halves_of_characters_in_a_file_end_nothing(full: Run) -> None:
    sessions = full.entity.root.rglob("*.jsonl")
    (session,) = (path for path in sessions if "Is it rain?" in path.read_text(encoding="utf-8"))
    text = session.read_text(encoding="utf-8")
    session.write_text(text.replace("Is it rain?", "Is it rain \\ud800?"), encoding="utf-8")
    assert desk(full).read("msg_1")["text"] == "Is it rain \ufffd?"
