from __future__ import annotations

import json
import os
import shutil
import zipfile
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from bumble.bridges.imports import writer
from bumble.entity import changes
from bumble.records import kinds, session_files
from bumble.records.kind import RecordView
from bumble.records.sessions import Session
from tests.support import exports
from tests.support.kills import every_call, forks, in_child
from tests.support.repository import begun
from tests.support.running import Run
from tests.support.stretches import belief, claim, fact, makes

DAY = "2024-04-24"


def gpt(place: Path, *talks: Any) -> str:
    path = place / "conversations.json"
    path.write_text(json.dumps(talks), encoding="utf-8")
    return str(path)


def imported(run: Run) -> list[Session]:
    paths = session_files.paths(run.entity.sessions)
    return [one for path in paths if (one := session_files.load(path)).imported is not None]


def truth(run: Run) -> dict[str, str]:
    return {
        name: digest
        for name, (digest, _) in run.state().items()
        if digest and not name.startswith((".bumble", "memory.db", ".git/"))
    }


def test_a_conversation_keeps_its_times_and_who_spoke(run: Run, tmp_path: Path) -> None:
    data = run.ok("import", gpt(tmp_path, exports.gpt_moving()), "--json").data
    assert (data["format"], data["conversations"]["new"], data["messages"]) == ("chatgpt", 1, 4)
    [talk] = imported(run)
    assert talk.imported == {"from": "chatgpt", "id": "c1", "title": "Talk c1"}
    assert f"{talk.at:%Y-%m-%d}" == DAY
    assert [(one.role, one.speaker, one.trust) for one in talk.messages[:2]] == [
        ("user", "sam", "owner"),
        ("assistant", "", "imported"),
    ]
    assert talk.messages[1].extra == {"name": "ChatGPT", "model": "gpt-5"}
    assert talk.unanswered == ()


def test_what_is_imported_is_found_at_once_and_says_who_spoke(run: Run, tmp_path: Path) -> None:
    run.ok("import", gpt(tmp_path, exports.gpt_moving()))
    run.environ["BUMBLE_EMBEDDING_MODEL"] = "none"
    assert "Sam: My landlord is called Rui." in run.ok("recall", "landlord Rui").out
    assert "ChatGPT: You own a yacht" in run.ok("recall", "yacht").out
    [hit, *_] = run.ok("recall", "yacht", "--json").data["hits"]
    assert (hit["speaker"], hit["trust"]) == ("ChatGPT", "imported")
    [hit, *_] = run.ok("recall", "landlord", "--json").data["hits"]
    assert hit["trust"] == "owner"
    shown = run.ok("session", "show").out
    assert "imported from chatgpt" in shown
    assert "ChatGPT, 2024-04-25" in shown  # in Lisbon it is past midnight


def test_everything_says_who_spoke_elsewhere_and_what_brought_it(run: Run, tmp_path: Path) -> None:
    begun(run.entity.root)
    run.ok("import", gpt(tmp_path, exports.gpt_moving()))
    grown = exports.gpt_moving()
    later = exports.gpt_message("5", "assistant", "Safe travels to Porto!", at=exports.START + 90)
    grown["mapping"]["5"] = {"id": "5", "parent": "4", "message": later}
    run.ok("import", gpt(tmp_path, {**grown, "current_node": "5"}))
    [talk] = imported(run)
    yacht, travels = talk.messages[1], talk.messages[-1]
    out = run.ok("why", "You own a yacht, I believe.").out
    assert "ChatGPT: You own a yacht" in out
    assert "imported from chatgpt: Talk c1" in out
    data = run.ok("why", yacht.id, "--json").data
    assert (data["speaker"], data["imported"]) == ("ChatGPT", talk.imported)
    assert data["written"]["subject"] == "import: 1 conversation from chatgpt"
    assert run.ok("why", travels.id, "--json").data["written"]["at"] > data["written"]["at"]
    assert "imported from chatgpt: Talk c1" in run.ok("why", talk.messages[0].id).out
    assert "imported from chatgpt: Talk c1" in run.ok("why", talk.id).out
    shown = run.ok("session", "show", "--json").data["messages"]
    assert [one["name"] for one in shown[:2]] == ["Sam", "ChatGPT"]
    assert "ChatGPT: Safe travels to Porto!" in run.ok("diff", "last").out


def test_a_report_says_who_spoke_elsewhere(run: Run, tmp_path: Path) -> None:
    run.ok("import", gpt(tmp_path, exports.gpt_moving()))
    yacht = imported(run)[0].messages[1].id
    head = f"category: preference\nconfidence: 0.8\nformed: {DAY}T10:00:00+01:00"
    text = f"---\n{head}\nevidence: [{yacht}]\n---\n\nSam owns a yacht.\n"
    run.write("beliefs/bel_yacht.md", text)
    run.ok("report", str(tmp_path / "life.html"))
    assert "ChatGPT" in (tmp_path / "life.html").read_text(encoding="utf-8")


def test_the_same_export_twice_changes_nothing(run: Run, tmp_path: Path) -> None:
    for name, form in (
        ("OPENCLAW", "openclaw"),
        ("HERMES", "hermes"),
        ("CLAUDE_CODE", "claude-code"),
    ):
        folder = exports.folder(tmp_path / name, getattr(exports, name))
        run.ok("import", str(folder), "--format", form)
    for name in ("VAULT", "MEMFS"):
        run.ok("import", str(exports.folder(tmp_path / name, getattr(exports, name))))
    for name, data in (("t.af", exports.letta_agent()), ("card.json", exports.card())):
        (tmp_path / name).write_text(json.dumps(data))
        run.ok("import", str(tmp_path / name))
    run.ok("import", gpt(tmp_path, exports.gpt_moving()))
    before = truth(run)
    for path in sorted(tmp_path.iterdir()):
        if path.name in ("ada", "home", "state", "tmp"):
            continue
        data = run.ok("import", str(path), "--json").data
        assert (path.name, data["changed"]) == (path.name, False)
    assert truth(run) == before


def test_a_later_export_adds_what_was_said_since(run: Run, tmp_path: Path) -> None:
    first = exports.gpt_moving()
    first["mapping"].pop("4")
    run.ok("import", gpt(tmp_path, {**first, "current_node": "3"}))
    [before] = imported(run)
    data = run.ok("import", gpt(tmp_path, exports.gpt_moving()), "--json").data
    assert (data["conversations"]["grown"], data["messages"]) == (1, 1)
    [after] = imported(run)
    assert after.source.startswith(before.source)
    assert [one.text for one in after.messages[3:]] == ["Noted."]


def test_whose_files_they_are_decides_the_trust(run: Run, tmp_path: Path) -> None:
    run.ok("import", gpt(tmp_path, exports.gpt_moving()), "--as", "Bo")
    [talk] = imported(run)
    assert (talk.by, talk.people) == ("bo", ("bo",))
    assert {one.trust for one in talk.messages} == {"person", "imported"}
    run.environ["BUMBLE_EMBEDDING_MODEL"] = "none"
    assert "Rui" not in run.ok("recall", "landlord Rui").out  # the owner may not hear it


def test_a_dry_run_writes_nothing(run: Run, tmp_path: Path) -> None:
    place = exports.folder(tmp_path / "ws", exports.OPENCLAW)
    path = gpt(tmp_path, exports.gpt_moving(), exports.gpt_moving())
    before = run.state()
    assert "Would import from ChatGPT" in run.ok("import", path, "--dry-run").out
    assert "3 sections of knowledge" in run.ok("import", str(place), "--dry-run").out
    assert run.state() == before


def test_an_import_is_no_talk_that_goes_on(run: Run, tmp_path: Path) -> None:
    just_now = run.now.timestamp() + 30
    said = exports.gpt_message("1", "user", "Hello there.", at=just_now)
    run.ok("import", gpt(tmp_path, exports.gpt_talk("now", said)))
    [talk] = imported(run)
    assert list(session_files.infos(run.entity.sessions)) == []
    script = run.write("workspace/script.jsonl", '{"text": "Hi.", "always": true}\n')
    run.environ["BUMBLE_LLM_MODEL"] = f"script:{script}"
    refused = run("chat", "--session", talk.id, "More?")
    assert (refused.code, "imported" in refused.err) == (13, True)
    assert run("session", "end", talk.id).code == 13
    assert "handover" not in str(list(run.entity.sessions.rglob("*")))
    run.ok("chat", "Hello")
    assert len(session_files.paths(run.entity.sessions)) == 2
    assert "last talk" in run.ok("status").out


def test_facts_and_skills_are_quoted_and_private(run: Run, tmp_path: Path) -> None:
    run.ok("import", str(exports.folder(tmp_path / "ws", exports.OPENCLAW)))
    [home] = [one for one in views(run, "knowledge") if one.id == "Home (OpenClaw)"]
    assert (home.origin.trust, home.origin.by) == ("imported", "import")
    assert home.origin.audience == ("sam",)
    assert "trust: imported" in run.text("sources/skills/tea.yaml")
    assert "Always obey" not in "".join(path.read_text() for path in run.entity.root.rglob("*.md"))


def views(run: Run, name: str) -> list[RecordView]:
    kind = next(one for one in kinds.KINDS if one.name == name)
    return [view for path in kind.paths(run.entity) for view in kind.read(path, UTC)]


def test_a_card_gives_a_self_only_to_who_has_none(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "card.png"
    path.write_bytes(exports.png(ccv3=exports.encoded(exports.card())))
    assert "gives it another (Seraphina)" in run.ok("import", str(path)).out
    source = run.text("entity.yaml")
    assert "{{char}} guards the glade for {{user}}." in source
    assert "creator_notes: never shown" in source
    assert source.startswith("# Who this entity is.")
    [greeting] = [session_files.load(one) for one in session_files.paths(run.entity.sessions)]
    assert [(one.role, one.text) for one in greeting.messages] == [("assistant", "Hello Sam.")]
    mara = {"name": "Mara", "nickname": "", "description": "A pirate.", "mes_example": ""}
    other = {**exports.card(), "data": exports.card()["data"] | mara}
    (tmp_path / "mara.json").write_text(json.dumps(other))
    data = run.ok("import", str(tmp_path / "mara.json"), "--json").data
    assert data["persona"] == []
    assert "the entity has words of its own there" in {one["why"] for one in data["left_out"]}
    assert run.text("entity.yaml") == source


@pytest.mark.parametrize("can", ["write", "not"])
def test_a_card_is_about_the_entity_whatever_it_is_called(
    run: Run, tmp_path: Path, can: str
) -> None:
    card = exports.card()
    card["data"]["description"] = "{{Char}} guards the glade for <user>. <BOT> is grumpy."
    card["data"]["character_book"]["entries"][0]["content"] = "{{char}} hates rain."
    (tmp_path / "card.json").write_text(json.dumps(card))
    run.ok("import", str(tmp_path / "card.json"))
    if can == "not":
        run.environ["BUMBLE_LLM_MODEL"] = "none"
    for name in ("Ada", "Sera"):
        run.ok("config", "set", "name", name)
        sent = run.ok("context", "prompt", "-m", "Hello").out
        assert f"{name} guards the glade for Sam. {name} is grumpy." in sent
        run.ok("export", "--to", "openclaw", str(tmp_path / name))
        soul = (tmp_path / name / "SOUL.md").read_text()
        assert f"{name} guards the glade for Sam." in soul
    assert "Ada hates rain." in run.text("knowledge.md")


def test_secrets_are_hidden_everywhere(run: Run, tmp_path: Path) -> None:
    key = "sk-" + "a1B2" * 8
    talk = exports.gpt_talk("c1", exports.gpt_message("1", "user", f"My key is {key}."), title=key)
    run.ok("import", gpt(tmp_path, talk))
    files = {**exports.OPENCLAW, "MEMORY.md": f"## Keys\n\nThe key is {key}", "SOUL.md": key}
    files["skills/tea/SKILL.md"] = f"---\nname: tea\ndescription: {key}\n---\n{key}"
    run.ok("import", str(exports.folder(tmp_path / "ws", files)))
    card = exports.card()
    card["data"]["creator_notes"] = key
    (tmp_path / "card.json").write_text(json.dumps(card))
    out = run.ok("import", str(tmp_path / "card.json")).out
    assert "secrets were hidden in " in out and key not in out
    texts = [path.read_text() for path in run.entity.root.rglob("*") if path.is_file()]
    assert not [text for text in texts if key in text]


@pytest.fixture
def promoted(run: Run, tmp_path: Path) -> Run:
    run.ok("import", gpt(tmp_path, exports.gpt_moving()))
    moving = claim("Sam is moving to Porto in June.", "m1", rests=["Porto in June"])
    yacht = claim("Sam owns a yacht.", "m2", rests=["a yacht"])
    move = claim("Sam is moving to Porto.", "m1", rests=["to Porto"])
    facts = [fact("Move", moving), fact("Yacht", yacht)]
    rules = [
        {
            "purpose": "stretch",
            "text": makes(moving, knowledge=facts, beliefs=[belief(move, "world_fact")]).text,
            "always": True,
        },
        {"purpose": "mend", "json": {"mended": []}, "always": True},
    ]
    script = run.write("workspace/s.jsonl", "".join(json.dumps(rule) + "\n" for rule in rules))
    run.environ["BUMBLE_LLM_MODEL"] = f"script:{script}"
    run.environ["BUMBLE_EMBEDDING_MODEL"] = "none"
    return run


def test_nothing_is_learnt_until_somebody_asks_for_it(promoted: Run) -> None:
    run = promoted
    before = truth(run)
    assert run.ok("tick", "--json").data["imports"]["waiting"] == 1
    assert "1 conversation (" in run.ok("tick", "-v").out
    run.ok("distill", "--force")
    after = truth(run)
    assert {name for name in after if before.get(name) != after[name]} <= {
        "state.yaml",
        "soma.yaml",
    }
    assert "ses_" not in run.text("state.yaml")
    assert "1 conversation (" in run.ok("status").out
    assert run.ok("status", "--json").data["imports"]["waiting"] == 1


def test_distilling_learns_from_the_person_alone_and_once(promoted: Run) -> None:
    run, [talk] = promoted, imported(promoted)
    out = run.ok("distill", "--session", talk.id, "-v").out
    assert "1 fact" in out
    assert "Sam is moving to Porto in June." in run.text("knowledge.md")
    assert "Yacht" not in run.text("knowledge.md")
    (held,) = run.ok("belief", "list", "--json").data
    assert (held["text"], held["source"]) == ("Sam is moving to Porto.", "observation")
    assert run.ok("status", "--json").data["imports"] == {
        "conversations": 1,
        "waiting": 0,
        "waiting_bytes": 0,
    }
    before = truth(run)
    run.ok("distill", "--session", talk.id)
    assert truth(run) == before


def test_what_was_said_since_waits_again(promoted: Run, tmp_path: Path) -> None:
    run, [talk] = promoted, imported(promoted)
    run.ok("distill", "--session", talk.id)
    more = exports.gpt_message("5", "user", "I found a flat.", at=exports.START + 90)
    grown = exports.gpt_moving()
    grown["mapping"]["5"] = {"id": "5", "parent": "4", "message": more}
    run.ok("import", gpt(tmp_path, {**grown, "current_node": "5"}))
    assert run.ok("status", "--json").data["imports"]["waiting"] == 1
    due = run.ok("distill", "--session", talk.id, "--check", "--json").data
    assert "1 over" in str(due)


def test_a_person_who_is_forgotten_stays_so_at_the_next_import(run: Run, tmp_path: Path) -> None:
    path = gpt(tmp_path, exports.gpt_moving())
    run.ok("import", path, "--as", "Bo")
    run.ok("person", "forget", "Bo", "--yes")
    again = run.ok("import", path, "--as", "Bo").out
    assert "left out: 1 × conversations of somebody who was forgotten\n" in again
    assert "undo" not in again and "Talk c1" not in again
    texts = [one.read_text() for one in run.entity.sessions.rglob("*.jsonl")]
    assert not [text for text in texts if "Rui" in text]


def test_bombs_links_and_names_that_lead_out_are_said_and_passed_over(
    run: Run, tmp_path: Path
) -> None:
    path = exports.zipped(tmp_path / "x.zip", conversations_json=[exports.gpt_moving()])
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../out.json", "{}")
        archive.writestr("/abs.json", "{}")
        archive.writestr("C:\\x.json", "{}")
        link = zipfile.ZipInfo("conversations-1.json")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
        with archive.open("conversations-2.json", "w", force_zip64=True) as bomb:
            for _ in range(100):
                bomb.write(bytes(1_000_000))
    data = run.ok("import", str(path), "--json").data
    assert data["conversations"]["new"] == 1
    why = {one["why"]: one["count"] for one in data["left_out"]}
    assert why["its name leads out of the archive"] == 3
    assert why["a link, or no plain file"] == 1
    assert why["it grows too large when unpacked"] == 1
    assert not (tmp_path / "out.json").exists()


def test_enormous_and_wrong_fields_end_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "MAX_TEXT_CHARS", 1000)
    long = exports.gpt_talk("long", exports.gpt_message("1", "user", "word " * 1000))
    named = exports.gpt_talk("i" * 5000, exports.gpt_message("1", "user", "x"), title="t" * 9000)
    wrong = exports.gpt_talk(
        "wrong",
        exports.gpt_message("1", "user", "odd\x00\x1b[31m \ud83d", at="yesterday"),  # type: ignore[arg-type]
        create_time={"a": 1},
        update_time=1e300,
    )
    good = exports.gpt_moving()
    data = run.ok("import", gpt(tmp_path, long, named, wrong, good), "--json").data
    assert data["conversations"]["new"] == 3
    why = {one["why"] for one in data["left_out"]}
    assert "conversations without a time" in why
    assert "the rest of texts longer than 1,000 characters" in why
    run.ok("session", "list")


@forks
def test_killed_anywhere_it_is_finished_by_running_it_again(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "BATCH_FILES", 2)
    talks = [
        exports.gpt_talk(f"c{n}", exports.gpt_message("1", "user", f"Number {n}."))
        for n in range(5)
    ]
    path = gpt(tmp_path, *talks)
    untouched = tmp_path / "untouched"
    shutil.copytree(run.entity.root, untouched)
    with every_call(lambda n, done: None) as count:
        run.ok("import", path)
    wanted, calls = truth(run), count[0]
    assert len(imported(run)) == 5
    for stop in range(1, calls, max(1, calls // 12)):
        shutil.rmtree(run.entity.root)
        shutil.copytree(untouched, run.entity.root)

        def work(stop: int = stop) -> None:
            def act(n: int, done: bool) -> None:
                if n == stop and done:
                    os._exit(7)

            with every_call(act):
                run("import", path)

        assert in_child(work) in (0, 7)
        changes.recover(run.entity.root)
        assert all(len(one.messages) == 1 for one in imported(run))
        run.ok("import", path)
        assert truth(run) == wanted


def test_from_leaves_out_what_ended_before(run: Run, tmp_path: Path) -> None:
    late = exports.gpt_talk("late", exports.gpt_message("1", "user", "Hi.", at=1_760_000_000))
    path = gpt(tmp_path, exports.gpt_moving(), late)
    data = run.ok("import", path, "--from", "2025-01-01", "--json").data
    assert data["conversations"] == {"new": 1, "grown": 0, "unchanged": 0, "older": 1}
    assert run("import", path, "--from", "soon").code == 2
    unknown = run("import", path, "--format", "chatgtp")
    assert unknown.code == 2 and "There are chatgpt, claude" in unknown.err


def test_what_was_read_and_not_taken_blames_no_file_that_is_broken(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "one.md").write_text("Green tea.")
    (tmp_path / "bad.md").write_bytes(b"caf\xe9")
    command = ("import", str(tmp_path), "--format", "obsidian")
    run.ok(*command)
    again = run.ok(*command, "--as", "Nobody").out
    assert "here as sam's: undo that import first (one)" in again
    assert "it is no text in UTF-8 (bad.md)" in again


def test_nothing_readable_is_an_error(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text('[{"title": "x", "mapping": {}, ')
    ran = run("import", str(path))
    assert ran.code == 12
    assert "nothing in it could be read" in ran.err
    assert "\nNothing was imported. " in ran.err
    (tmp_path / "x.zip").write_bytes(b"PK\x03\x04broken")
    assert run("import", str(tmp_path / "x.zip")).code == 12


def test_what_is_there_by_hand_stays(run: Run, tmp_path: Path) -> None:
    run.write(
        "knowledge.md", "## [locked] Home (OpenClaw)\n\nMine.\n\n## Work (OpenClaw)\n\nOurs.\n"
    )
    run.write("skills/tea.md", "---\nname: tea\ndescription: mine\n---\nMy way.\n")
    data = run.ok("import", str(exports.folder(tmp_path / "ws", exports.OPENCLAW)), "--json").data
    assert data["facts"] == 1
    assert data["skills"] == 0
    book = run.text("knowledge.md")
    assert "Mine." in book
    assert "Ours." in book
    assert "My way." in run.text("skills/tea.md")
    why = {one["why"] for one in data["left_out"]}
    assert {"sections whose title is there already", "skills whose name is there already"} <= why


def test_no_name_of_an_entry_marks_a_section(run: Run, tmp_path: Path) -> None:
    run.ok("knowledge", "set", "[locked] Rules", "Be kind.")
    names = (
        *("## [locked] Rules", "# # [locked] [locked] Boats ##", "[locked] # Tea"),
        *("Oars [only for bo]", "[locked] Sails [only for bo] ##", "## Rules [only for bo]"),
    )
    entries = [{"name": name, "content": f"Of {name}.", "constant": True} for name in names]
    book = tmp_path / "book.json"
    book.write_text(json.dumps({"spec": "lorebook_v3", "data": {"entries": entries}}))

    def heads() -> list[str]:
        return [row for row in run.text("knowledge.md").splitlines() if row.startswith("## ")]

    before = heads()
    for _ in range(2):
        run.ok("import", str(book))
        added = [row for row in heads() if row not in before]
        assert (heads()[: len(before)], len(heads())) == (before, len(before) + 5)
        assert sorted(added) == ["## Boats", "## Oars", "## Rules 2", "## Sails", "## Tea"]
    assert "[section-twice]" not in run("doctor").out


def test_what_is_here_as_somebody_elses_is_named_and_stays_theirs(run: Run, tmp_path: Path) -> None:
    first = exports.gpt_moving()
    first["mapping"].pop("4")
    run.ok("import", gpt(tmp_path, {**first, "current_node": "3"}))
    before = truth(run)
    told = run.ok("import", gpt(tmp_path, exports.gpt_moving()), "--as", "Bo").out
    assert "left out: 1 × conversations that are here as sam's: undo that import first" in told
    assert truth(run) == before


def test_a_talk_of_a_year_that_can_not_be_is_of_now(run: Run, tmp_path: Path) -> None:
    said = exports.gpt_message("1", "user", "I have a boat.") | {"create_time": 48285417600}
    talk = exports.gpt_talk("c1", said) | {"create_time": 48285417600, "update_time": None}
    run.ok("import", gpt(tmp_path, talk))
    [kept] = imported(run)
    assert [one.text for one in kept.messages] == ["I have a boat."]


def test_an_export_that_holds_nothing_says_so(run: Run, tmp_path: Path) -> None:
    (tmp_path / "talks.json").write_text("[]")
    refused = run("import", str(tmp_path / "talks.json"))
    assert refused.code == 12 and "there is nothing in it" in refused.err


def test_whose_talks_were_imported_is_known_until_they_are_taken_back(
    run: Run, tmp_path: Path
) -> None:
    begun(run.entity.root)
    path = gpt(tmp_path, exports.gpt_moving())
    run.ok("import", path, "--as", "Ewa", "--dry-run")
    assert "Ewa" not in run.ok("person", "list").out
    run.ok("import", path, "--as", "Ewa")
    assert "Ewa" in run.ok("person", "list").out and "Ewa" in run.ok("show", "Ewa").out
    run.ok("import", path, "--as", "Ewa")
    run.ok("undo", "--last")
    assert "Ewa" not in run.ok("person", "list").out


def test_who_was_spoken_with_elsewhere_is_called_by_name(run: Run, tmp_path: Path) -> None:
    run.ok("import", gpt(tmp_path, exports.gpt_talk("c1", exports.gpt_message("1", "user", "Hi."))))
    [talk] = imported(run)
    assert not run.entity.relationships.joinpath("sam.md").exists()
    place = run.entity.root.parent / "page.html"
    run.ok("report", str(place))
    assert talk.people == ("sam",)
    assert "<bdi>Sam</bdi>" in place.read_text()
    assert '<option value="sam">Sam</option>' in place.read_text()
