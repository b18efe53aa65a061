from __future__ import annotations

from pathlib import Path

import pytest

from bumble.entity import changes
from bumble.entity.changes import ChangeSet
from bumble.errors import RecordInvalidError, UsageError
from bumble.records import skills
from bumble.records.base import Provenance
from bumble.records.skills import Skill


def set_skill(root: Path, name: str, text: str = "text", **more: bool) -> None:
    there = list(skills.SKILL.readable(root / "skills"))
    change = skills.plan_set(
        there, name, f"about {name}", text, "learn", overwrite=more.get("overwrite", False)
    )
    if change:
        changes.apply(root, ChangeSet("learn", (change,)))


def find(root: Path, name: str) -> Skill:
    skill = skills.SKILL.match(skills.SKILL.readable(root / "skills"), name)
    assert skill is not None
    return skill


def test_a_skill_is_a_file_of_its_own_found_in_any_spelling(tmp_path: Path) -> None:
    set_skill(tmp_path, "Boil an Egg")
    assert [path.name for path in skills.SKILL.files(tmp_path / "skills")] == ["boil-an-egg.md"]
    for name in ("boil an egg", "BOIL-AN-EGG", "Boil  an_egg"):
        assert find(tmp_path, name).text == "text"
    assert skills.SKILL.match(skills.SKILL.readable(tmp_path / "skills"), "Boil an eg") is None


@pytest.mark.parametrize("name", ["../../x", "CON", "🐝", "a/b", "..", "x" * 300, "Ünïcode 汉字"])
def test_any_name_makes_a_safe_file_inside_the_folder(name: str, tmp_path: Path) -> None:
    set_skill(tmp_path, name)
    (file,) = skills.SKILL.files(tmp_path / "skills")
    assert file.parent == tmp_path / "skills"
    assert find(tmp_path, name).name == name


def test_the_folder_form_is_read_and_edited_in_place(tmp_path: Path) -> None:
    file = tmp_path / "skills" / "egg" / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\nname: Egg\nlicense: MIT # theirs\n---\nold\n")
    set_skill(tmp_path, "egg", "new", overwrite=True)
    assert file.read_text() == (
        "---\nname: Egg\nlicense: MIT # theirs\ndescription: about egg\n---\nnew\n"
    )
    assert find(tmp_path, "EGG").path == "skills/egg/SKILL.md"
    file.write_text("---\nname: [\n---\n")
    with pytest.raises(RecordInvalidError, match=r"SKILL\.md:\d"):
        skills.SKILL.load(file)
    assert list(skills.SKILL.readable(tmp_path / "skills")) == []


def test_an_overwritten_skill_says_who_wrote_it_now() -> None:
    by_model = skills.SKILL.parse(
        "---\nname: Egg\nby: distill\nmodel: m\nmine: 1\n---\nold\n", "egg"
    )
    origin = Provenance("update_skill", trust="entity")
    change = skills.plan_set(
        [by_model], "egg", "d", "new", "learn", overwrite=True, provenance=origin
    )
    assert change is not None and change.data is not None
    after = skills.SKILL.parse(change.data.decode(), "egg")
    assert after.provenance == origin
    assert after.source.meta["mine"] == 1


@pytest.mark.parametrize(("name", "text"), [("", "x"), (" ", "x"), ("x", " ")])
def test_a_skill_without_name_or_text_is_refused(name: str, text: str) -> None:
    with pytest.raises(UsageError):
        skills.plan_set([], name, "", text, "learn", overwrite=False)


def test_a_link_that_leads_out_of_the_folder_is_no_skill(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    secret = "---\nname: Secret\ndescription: of this machine\n---\n\nx\n"
    (outside / "secret.md").write_text(secret)
    (outside / "deep" / "SKILL.md").write_text(secret)
    folder = tmp_path / "ada" / "skills"
    folder.mkdir(parents=True)
    (folder / "own.md").write_text("---\nname: Own\n---\n\nx\n")
    (folder / "linked.md").symlink_to(outside / "secret.md")
    (folder / "deep").symlink_to(outside / "deep")
    (folder / "again.md").symlink_to(folder / "own.md")
    assert [skill.id for skill in skills.SKILL.readable(folder)] == ["again", "own"]
