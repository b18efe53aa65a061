from __future__ import annotations

import os
import shutil
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from bumble.bridges.imports import notes, source
from bumble.bridges.imports.items import ImportContext
from bumble.records import session_files
from tests.support import exports, importing
from tests.support.running import Run

BODY = "# Bread\n\nRye, 24 hours.\n"


@pytest.mark.parametrize(
    ("head", "meta"),
    [
        ("---\ntitle: no\ntags: [rye]\n---\n", {"title": "no", "tags": ["rye"]}),
        ("", {}),
    ],
)
def test_front_matter_is_read(head: str, meta: dict[str, object]) -> None:
    read, body = notes.split(head + BODY)
    assert read == meta
    assert body.strip() == BODY.strip()


@pytest.mark.parametrize(
    "text",
    [
        "---\n\nonly a rule above\n",
        "---\ntitle: [open\n---\nbody\n",
        "---\na: 1\na: 2\n---\nbody\n",
        '+++\ntitle = "no"\n+++\nbody\n',
        "---\nDear diary\n---\nbody\n",
        "---\n- rye\n- salt\n---\nbody\n",
    ],
)
def test_front_matter_that_cannot_be_read_is_text(text: str) -> None:
    read, body = notes.split(text)
    assert read == {}
    assert body.strip() == text.strip()


def test_notes_of_a_vault_are_read_and_what_is_no_text_is_named(tmp_path: Path) -> None:
    exports.folder(tmp_path, {".obsidian/app.json": "{}"})
    words = "Grüße aus Lübeck, der Schlüssel liegt unter der Matte."
    for name in ("utf-8", "utf-8-sig", "utf-16", "cp1252"):
        (tmp_path / f"{name}.md").write_bytes(words.encode(name))
    (tmp_path / "nul.md").write_bytes(b"\0\0")
    form, read = importing.read_in(tmp_path)
    assert (form, {text for _, _, text in importing.said(read)}) == (
        "obsidian",
        {f"# {name}\n\n{words}" for name in ("utf-8", "utf-8-sig")},
    )
    assert importing.left(read) == [
        "it is no text in UTF-8",
        "it is no text",
        "it is no text in UTF-8",
    ]


def test_a_link_is_told_of_and_what_other_programs_keep_is_not(tmp_path: Path) -> None:
    exports.folder(tmp_path, {"n.md": "The tide.\n", ".trash": "x", "a/.git": "x", ".bumble/x": ""})
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with source.opened(tmp_path) as opened:
        assert opened.names == ["n.md"]
        assert [(left.what, left.why) for left in opened.left_out] == [
            ("link", "a link, or no plain file")
        ]


def test_what_bumble_wrote_into_a_vault_is_nobodys_own_words(run: Run, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    exports.folder(vault, {".obsidian/app.json": "{}", "Tide.md": "The tide was high.\n"})
    run.ok("belief", "add", "Sam drinks green tea.")
    run.ok("export", "--to", "markdown", str(vault / "Ada"))
    run.ok("new", str(vault / "Kit"))
    _, read = importing.read_in(vault)
    assert [text for _, _, text in importing.said(read)] == ["# Tide\n\nThe tide was high.\n"]
    assert set(importing.left(read)) == {"files that bumble wrote itself"}
    assert "1 note: 1 message" in run.ok("import", str(vault)).out
    assert "imported from obsidian: Tide" in run.ok("session", "list").out


BOAT = "---\ndate: 2025-03-01\n---\nThe boat lies at berth {}.\n"


def a_vault(place: Path, **files: str) -> Path:
    texts = {f"{name.replace('__', '/')}.md": text for name, text in files.items()}
    return exports.folder(place, {".obsidian/app.json": "{}", **texts})


def notes_of(run: Run) -> dict[str, list[str]]:
    """Return the titles of all imported notes, with their wordings."""
    talks = map(session_files.load, session_files.paths(run.entity.sessions))
    return {
        str((talk.imported or {})["title"]): [message.text for message in talk.messages]
        for talk in talks
    }


def test_an_edited_note_takes_the_place_of_its_old_wording(run: Run, tmp_path: Path) -> None:
    run.environ["BUMBLE_EMBEDDING_MODEL"] = "none"
    place = a_vault(tmp_path / "mini", Boat=BOAT.format(11), Tea="Green.\n")
    run.ok("import", str(place))
    (place / "Boat.md").write_text(BOAT.format(47))
    edited = run.now
    os.utime(place / "Boat.md", (edited.timestamp(),) * 2)
    assert "1 that went on: 1 message" in run.ok("import", str(place)).out
    found = run.ok("recall", "berth", "--json").data["hits"]
    [hit] = [one for one in found if "berth" in one["text"]]
    assert ("berth 47" in hit["text"], hit["at"][:10]) == (True, "2025-03-01")
    assert len(notes_of(run)["Boat"]) == 2
    assert "Nothing new" in run.ok("import", str(place)).out
    (place / "Boat.md").write_text(BOAT.format(11))
    for later, told in ((-60, "Nothing new"), (60, "1 that went on")):  # an old copy; taken back
        os.utime(place / "Boat.md", (edited.timestamp() + later,) * 2)
        assert (later, told in run.ok("import", str(place)).out) == (later, True)


def test_a_note_comes_in_once_wherever_it_lies(run: Run, tmp_path: Path) -> None:
    place = a_vault(tmp_path / "vault", Boat=BOAT.format(11), Tea="Green.\n", Log__May="Rain.\n")
    run.ok("import", str(place))
    place = place.rename(tmp_path / "Moje notatki")
    assert "3 already there" in run.ok("import", str(place)).out
    for part in ("Log", "Boat.md"):
        command = ("import", str(place / part), "--format", "obsidian")
        assert "1 already there" in run.ok(*command).out
    (place / "Boat.md").rename(place / "Log" / "Ship.md")
    run.ok("import", str(place))
    assert sorted(notes_of(run)) == ["May", "Ship", "Tea"]
    (place / "Log" / "Ship.md").write_text(BOAT.format(47))
    run.ok("import", str(place))
    assert sorted(notes_of(run)) == ["May", "Ship", "Tea"]
    assert "berth 47" in notes_of(run)["Ship"][-1]
    before = [path.read_bytes() for path in session_files.paths(run.entity.sessions)]
    shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path, place.name)
    assert "3 already there" in run.ok("import", str(tmp_path / "packed.zip")).out
    assert [path.read_bytes() for path in session_files.paths(run.entity.sessions)] == before


def test_front_matter_is_kept_and_its_tags_are_tags(run: Run, tmp_path: Path) -> None:
    run.environ["BUMBLE_EMBEDDING_MODEL"] = "none"
    head = "tags: [praca, powieść]\naliases: [The Keeper]\nrating: 4\ndone:\ndate: 2025-03-01"
    long = f"---\n{head}\n---\n# Keeper\n\n{'It rains at the mole. ' * 90}A lighthouse burns.\n"
    card = "---\ntags: people, Kraków\nphone: {home: 12, work: 13}\n---\n"
    run.ok("import", str(a_vault(tmp_path / "vault", Latarnik=long, Ewa=card)))
    for words, tag in (("lighthouse", "praca"), ("The Keeper", "powieść"), ("phone", "kraków")):
        assert "Nothing found" not in run.ok("recall", words, "-t", tag).out
    [told] = notes_of(run)["Latarnik"]
    front = "tags: #praca, #powieść\naliases: The Keeper\nrating: 4\n"
    assert told.startswith(f"# Keeper\n\n{front}\nIt rains")
    assert "phone: {home: 12, work: 13}" in notes_of(run)["Ewa"][0]


@pytest.mark.parametrize(
    ("given", "at"),
    [
        ("2025-03-01", "2025-03-01T12:00"),
        ("20250301", "2025-03-01T12:00"),
        ("2025-02-03T10:00", "2025-02-03T10:00"),
        ("2025-02-03T10:00Z", "2025-02-03T05:00"),
        ("2025-02-30", ""),
        ("3.5.2025", ""),
        ("'{{date}}'", ""),
    ],
)
def test_a_date_without_a_zone_is_in_the_entitys(tmp_path: Path, given: str, at: str) -> None:
    zone = ZoneInfo("America/New_York")
    place = a_vault(tmp_path, Boat=f"---\ndate: {given}\n---\nBerth 11.\n")
    os.utime(place / "Boat.md", (0, 1_700_000_000))
    with source.opened(place) as files:
        read = list(notes.read_vault(files, ImportContext(zone, str)))
    [talk] = importing.talks(read)
    changed = datetime.fromtimestamp(1_700_000_000, zone)
    assert talk.at == (datetime.fromisoformat(at).replace(tzinfo=zone) if at else changed)
    assert ("dates that can't be read" in importing.left(read)) is not bool(at)
    assert (f"date: {given}".replace("'", "") in talk.turns[0].text) is not bool(at)


def test_notes_of_one_path_in_two_vaults_are_two_and_so_are_copies(
    run: Run, tmp_path: Path
) -> None:
    run.ok("import", str(a_vault(tmp_path / "home", Inbox="Milk.\n")))
    run.ok("import", str(a_vault(tmp_path / "work", Inbox="Invoices.\n")))
    run.ok("import", str(a_vault(tmp_path / "home", Copy="Milk.\n")))
    talks = [session_files.load(one) for one in session_files.paths(run.entity.sessions)]
    said = sorted(message.text for talk in talks for message in talk.messages)
    assert said == ["# Copy\n\nMilk.\n", "# Inbox\n\nInvoices.\n", "# Inbox\n\nMilk.\n"]


def test_two_notes_never_become_one(run: Run, tmp_path: Path) -> None:
    run.environ["BUMBLE_EMBEDDING_MODEL"] = "none"
    first, second = "Lisbon was rainy and Bea broke her arm.\n", "Oslo was cold, I sold the boat.\n"
    for year, text in (("2024", first), ("2025", second)):
        place = exports.folder(tmp_path / f"Journal.{year}", {"January.md": text})
        assert "1 note: 1" in run.ok("import", str(place), "--format", "obsidian").out
    for top, text in (("home", first), ("work", second)):
        run.ok("import", str(a_vault(tmp_path / top / "Notes", Inbox=text)))
    for top in ("home", "work"):
        assert "Nothing new" in run.ok("import", str(tmp_path / top / "Notes")).out
    assert "Bea" in run.ok("recall", "Who broke her arm?").out
    talks = [session_files.load(one) for one in session_files.paths(run.entity.sessions)]
    assert [len(talk.messages) for talk in talks] == [1, 1, 1, 1]


def test_what_lies_beside_an_import_has_not_moved(run: Run, tmp_path: Path) -> None:
    place = a_vault(tmp_path / "v", daily__Jan="Swam one kilometre.\n")
    run.ok("import", str(place))
    a_vault(place, daily__12__Dec="Swam one kilometre.\n")
    run.ok("import", str(place / "daily" / "12"), "--format", "obsidian")
    assert sorted(notes_of(run)) == ["Dec", "Jan"]


def test_a_note_that_is_copied_back_ends_no_import(run: Run, tmp_path: Path) -> None:
    text = "---\ncreated: 2026-01-01\n---\nRain.\n"
    place = a_vault(tmp_path / "v", daily__a=text)
    run.ok("import", str(place))
    (place / "archive").mkdir()
    (place / "daily" / "a.md").rename(place / "archive" / "a.md")
    run.ok("import", str(place))
    a_vault(place, daily__a=text, new="Sun.\n")
    assert "2 notes: 2" in run.ok("import", str(place)).out
    assert "Nothing new" in run.ok("import", str(place)).out
    talks = [session_files.load(one) for one in session_files.paths(run.entity.sessions)]
    assert len({message.id for talk in talks for message in talk.messages}) == 3


def test_a_note_of_somebody_who_was_forgotten_is_left_out(run: Run, tmp_path: Path) -> None:
    place = a_vault(tmp_path / "v", a="---\ncreated: 2026-01-01\n---\nRain.\n")
    run.ok("import", "--as", "Bea", str(place))
    run.ok("person", "forget", "Bea", "--yes")
    assert "somebody who was forgotten" in run.ok("import", str(place)).out


def test_a_note_that_is_named_anew_keeps_its_day(run: Run, tmp_path: Path) -> None:
    place = exports.folder(tmp_path / "v", {".obsidian/a": "", "2026-01-01.md": "Swam far.\n"})
    run.ok("import", str(place))
    (place / "2026-01-01.md").rename(place / "2026-01-01 swim.md")
    run.ok("import", str(place))
    [talk] = map(session_files.load, session_files.paths(run.entity.sessions))
    assert {f"{message.at:%Y-%m-%d}" for message in talk.messages} == {"2026-01-01"}


def test_a_moved_note_stays_known_however_long_it_grows(run: Run, tmp_path: Path) -> None:
    place = a_vault(tmp_path / "v", daily__a="It rains at the mole.\n")
    run.ok("import", str(place))
    (place / "archive").mkdir()
    note = (place / "daily" / "a.md").rename(place / "archive" / "a.md")
    run.ok("import", str(place))
    for count in (8000, 8001):
        note.write_text("It rains at the mole.\n" * count)
        assert "1 that went on" in run.ok("import", str(place)).out
