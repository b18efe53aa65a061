from __future__ import annotations

import base64
import json
import re
import zipfile
from pathlib import Path

import pytest

from bumble.bridges.imports import card
from tests.support import exports
from tests.support.exports import SAID, TALK, texts
from tests.support.running import Run

SECRET = "AKIAIOSFODNN7EXAMPLE"


def tree(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not {".git", ".bumble"} & set(path.relative_to(root).parts)
    }


def test_a_bundle_makes_the_same_folder_again(lived: Run, tmp_path: Path) -> None:
    lived.write(".bumble/key", "x")
    lived.write("memory.db", "x")
    lived.write("own notes/ä.md", "of the owner\n")
    archive, again = tmp_path / "a.zip", tmp_path / "again"
    data = lived.ok("export", "--to", "bundle", str(archive), "--json").data
    assert (data["left_out"], data["hidden"]) == ({}, [])
    lived.ok("new", str(again), "--from", str(archive))
    lived.file("memory.db").unlink()
    assert tree(again) == tree(lived.entity.root)
    first = archive.read_bytes()
    lived.ok("export", "--to", "bundle", str(archive), "--force")
    assert archive.read_bytes() == first
    assert archive.stat().st_mode & 0o777 == 0o600


def test_a_bundle_hides_a_secret_and_says_where(lived: Run, tmp_path: Path) -> None:
    lived.write("note.md", f"The key is {SECRET}.\n")
    lived.write(".env", f"KEY={SECRET}\n")
    told = lived.ok("export", "--to", "bundle", str(tmp_path / "a.zip"))
    assert "note.md: a secret in it was left out." in told.err
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        whole = {name: archive.read(name).decode() for name in archive.namelist()}
    assert SECRET not in "".join(whole.values()) and ".env" not in whole
    assert lived("export", "--to", "bundle", str(tmp_path / "b"), "--for", "Sam").code == 2


@pytest.mark.parametrize("form", ["markdown", "card"])
def test_a_person_gets_what_they_may_know(lived: Run, tmp_path: Path, form: str) -> None:
    place = tmp_path / {"card": "out.json"}.get(form, "out")
    lived.ok("export", "--to", form, str(place), "--for", "Sam")
    files = texts(place) if place.is_dir() else {"": place.read_text()}
    whole = json.dumps(files, ensure_ascii=False)
    assert not re.search(r"(?i)gold|pirate|cave|\bbo\b", whole)
    assert "Green." in whole
    if form != "card":
        assert "Sam loves the sea." in whole
        assert "A sailor." in whole


def test_a_card_tells_only_what_is_for_everybody(lived: Run, tmp_path: Path) -> None:
    lived.ok("export", "--to", "card", str(tmp_path / "a.json"))
    book = json.loads((tmp_path / "a.json").read_text())["data"]["character_book"]
    assert [(entry["name"], entry["constant"]) for entry in book["entries"]] == [
        ("Tea [[x]]|`y`", True),
        ("Knots", False),
    ]
    assert "sailor" not in (tmp_path / "a.json").read_text()


def test_every_link_of_the_reading_copy_leads_to_a_page(lived: Run, tmp_path: Path) -> None:
    place = tmp_path / "copy"
    lived.ok("export", "--to", "markdown", str(place))
    pages = texts(place)
    links = [
        target
        for text in pages.values()
        for target in re.findall(r"(?<!\\)\[\[([^|\]]+)\|[^|\[\]]+\]\]", text)
    ]
    assert links
    assert {f"{target.partition('#')[0]}.md" for target in links} <= set(pages)
    assert f"sessions/{TALK}/messages#{SAID}" in links
    whole = "".join(pages.values())
    assert not re.search(r"(?<!\\)<img", whole)


def test_what_is_there_is_never_lost(lived: Run, tmp_path: Path) -> None:
    place = tmp_path / "copy"
    lived.ok("export", "--to", "markdown", str(place))
    assert lived("export", "--to", "markdown", str(place)).code == 13
    (place / ".obsidian").mkdir()
    (place / ".obsidian/app.json").write_text("{}")
    lived.ok("export", "--to", "markdown", str(place), "--force")
    assert (place / ".obsidian/app.json").exists()
    (place / "mine.md").write_text("mine")
    assert lived("export", "--to", "markdown", str(place), "--force").code == 13
    assert (place / "mine.md").read_text() == "mine"
    (place / "mine.md").unlink()
    for name in (".mine.bumble-tmp", "notes/.obsidian"):
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text("mine")
        assert lived("export", "--to", "markdown", str(place), "--force").code == 13
        (place / name).unlink()
    (page,) = list(place.glob("people/*.md"))[:1] or list(place.glob("*/*.md"))[:1]
    page.parent.rename(tmp_path / "aside")
    page.parent.symlink_to(tmp_path / "aside")
    assert lived("export", "--to", "markdown", str(place), "--force").code == 13
    other = tmp_path / "other"
    other.mkdir()
    (other / "a").write_text("a")
    assert lived("export", "--to", "openclaw", str(other), "--force").code == 13
    assert lived("export", "--to", "bundle", str(other), "--force").code == 13
    for inside in (lived.entity.root, lived.entity.root / "x", lived.entity.root.parent):
        assert lived("export", "--to", "openclaw", str(inside), "--force").code == 13
    assert not [path for path in tmp_path.iterdir() if "bumble-tmp" in path.name]


def test_a_card_comes_back_as_it_was(run: Run, tmp_path: Path) -> None:
    run.write(
        "entity.yaml",
        "schema_version: 3\nname: Seraphina\nowner: {name: Sam}\n",
    )
    original = exports.card()
    (tmp_path / "in.json").write_text(json.dumps(original))
    run.ok("import", str(tmp_path / "in.json"))
    run.ok("export", "--to", "card", str(tmp_path / "out.png"))
    image = (tmp_path / "out.png").read_bytes()
    back = dict(card.from_png(image)[0]["data"])
    back.pop("modification_date")
    entries = back["character_book"]["entries"]
    wanted = original["data"]
    assert (
        entries[: len(wanted["character_book"]["entries"])] == wanted["character_book"]["entries"]
    )
    added = [entry["name"] for entry in entries[len(wanted["character_book"]["entries"]) :]]
    assert not [name for name in added if "Glade" in name]
    for key, value in wanted.items():
        if key != "character_book":
            assert (key, back[key]) == (key, value)
    older = {key: json.loads(base64.b64decode(text)) for key, text in card._png_texts(image)}
    assert older["chara"]["spec"] == "chara_card_v2"
    assert "@@" not in json.dumps(older["chara"])
    assert "nickname" not in older["chara"]["data"]


def test_a_card_whose_names_were_filled_in_before_comes_back_as_it_was(
    run: Run, tmp_path: Path
) -> None:
    original = exports.card()
    (tmp_path / "in.json").write_text(json.dumps(original))
    run.ok("import", str(tmp_path / "in.json"))
    head, mark, kept = run.text("entity.yaml").partition("\nx:")
    filled = head.replace("{{char}}", "Sera").replace("{{user}}", "Sam") + mark + kept
    run.write("entity.yaml", filled)
    again = run.ok("import", str(tmp_path / "in.json"), "--json").data
    assert "the entity has words of its own there" not in {one["why"] for one in again["left_out"]}
    assert run.text("entity.yaml") == filled
    run.ok("export", "--to", "card", str(tmp_path / "out.json"))
    back = json.loads((tmp_path / "out.json").read_text())["data"]
    for key in ("description", "personality", "scenario", "system_prompt", "mes_example"):
        assert (key, back[key]) == (key, original["data"][key])


def test_a_picture_of_ones_own_carries_the_card_and_nothing_else(run: Run, tmp_path: Path) -> None:
    (tmp_path / "me.png").write_bytes(exports.png(place=b"home", chara=b"old"))
    run.ok("export", "--to", "card", str(tmp_path / "a.png"), "--picture", str(tmp_path / "me.png"))
    image = (tmp_path / "a.png").read_bytes()
    assert set(dict(card._png_texts(image))) == {"chara", "ccv3"}
    assert card.from_png(image)[0]["spec"] == "chara_card_v3"
    bad = run("export", "--to", "card", str(tmp_path / "b.png"), "--picture", "entity.yaml")
    assert bad.code == 2


def test_an_archive_holds_nothing_private_of_the_machine(lived: Run, tmp_path: Path) -> None:
    lived.write("workspace/.env", f"KEY={SECRET}\n")
    lived.write("workspace/id_rsa", "x")
    lived.write("workspace/.git/config", "x")
    lived.write("note.md", f"The key is {SECRET}.\n")
    lived.file("link").symlink_to("/etc/hostname")
    archive = tmp_path / "a.zip"
    data = lived.ok("export", "--to", "bundle", str(archive), "--json").data
    assert set(data["left_out"]) == {"workspace/.env", "workspace/id_rsa", "link"}
    assert data["hidden"] == ["note.md"]
    with zipfile.ZipFile(archive) as members:
        names = members.namelist()
        assert SECRET.encode() not in b"".join(members.read(name) for name in names)
    assert not [name for name in names if ".git/" in name or ".bumble" in name]
