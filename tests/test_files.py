from __future__ import annotations

import os
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bumble.errors import FolderUnwritableError, UnsafePathError
from bumble.files import disk


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o277])
def test_a_new_file_is_its_owners_and_a_replaced_one_keeps_its_mode(
    tmp_path: Path, umask: int
) -> None:
    path, old = tmp_path / "new" / "x", os.umask(umask)
    try:
        disk.write_atomic(path, b"1")
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700
        path.chmod(0o604)
        disk.write_atomic(path, b"2")
        assert path.stat().st_mode & 0o777 == 0o604
        disk.write_atomic(path, b"3", mode=0o600)
        assert path.stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(old)


def test_a_file_where_a_folder_should_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    with pytest.raises(FolderUnwritableError, match=r"a/b\.md"):
        disk.write_atomic(tmp_path / "a" / "b.md", b"x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(FolderUnwritableError):
        disk.write_atomic(tmp_path / "folder", b"x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "folder"]


@pytest.mark.parametrize("path", ["", ".", "a", "a/b.md", "a/../b", "..a", "a..b/c", "ä/🐝"])
def test_a_path_inside_is_taken(path: str, tmp_path: Path) -> None:
    assert disk.inside(tmp_path, path).is_relative_to(tmp_path)


@pytest.mark.parametrize(
    "path", ["..", "../x", "a/../../x", "/", "/etc", "C:x", "c:\\x", "\\\\host\\x", "a\0", "//x"]
)
def test_a_path_that_leads_out_is_refused(path: str, tmp_path: Path) -> None:
    with pytest.raises(UnsafePathError):
        disk.inside(tmp_path, path)


def test_a_link_is_followed_before_it_is_judged(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "in").mkdir(parents=True)
    (root / "out").symlink_to(tmp_path)
    (root / "near").symlink_to(root / "in")
    (root / "ring").symlink_to(root / "ring")
    assert disk.inside(root, "near/x") == root / "in" / "x"
    with pytest.raises(UnsafePathError):
        disk.inside(root, "out/x")
    (tmp_path / "door").symlink_to(root)  # the folder itself may be reached by a link
    assert disk.inside(tmp_path / "door", "in/x") == root / "in" / "x"


TITLES = st.text(max_size=60) | st.sampled_from(
    [
        "",
        " ",
        ".",
        "..",
        "CON",
        "con ",
        "Com1",
        "nul.md",
        "a/b",
        "a\\b",
        "../../x",
        "🐝",
        "🐝🐝",
        "é",
    ]
)


@given(TITLES)
def test_a_file_name_is_safe_on_every_system(title: str) -> None:
    name = disk.file_name(title)
    assert name and unicodedata.category(name[0])[0] in "LMN"
    assert not set(name) & set('/\\:*?"<>|. \0')
    assert len(name.encode()) <= 100
    assert name.split(".")[0] not in disk.RESERVED_NAMES
    assert name == unicodedata.normalize("NFC", name) == disk.file_name(title)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Straße", "STRASSE"),
        ("Zoë", "Zoe\u0308"),
        ("Ａｄａ", "ada"),
        ("a-b", "a  b"),
        ("ﬁn", "fin"),
        ("O'Brien", "O’Brien"),
        ("O'Brien", "Oʼbrien"),
        ("O'Brien", "O´Brien"),
        ("D‘Angelo", "d`angelo"),
        ("İbrahim", "ibrahim"),
        ("IŞIK", "Işık"),
        ("أحمد", "احمد"),
        ("آمنة", "امنة"),
        ("مؤمن", "مومن"),
        ("أحـمد", "احمد"),
        ("ا\u0654حمد", "احمد"),
        ("Anne\u2011Marie", "Anne-Marie"),
    ],
)
def test_spellings_of_one_name_are_the_same(one: str, other: str) -> None:
    assert disk.same_name(one) == disk.same_name(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Zoë", "Zoe"),
        ("Łukasz", "Lukasz"),
        ("Jørgen", "Jorgen"),
        ("Пётр", "Петр"),
        ("علي", "على"),
        ("O'Brien", "OBrien"),
        ("Renée", "Renee"),
    ],
)
def test_names_that_differ_by_marks_are_alike_and_not_the_same(one: str, other: str) -> None:
    assert disk.same_name(one) != disk.same_name(other)
    assert disk.without_marks(one) == disk.without_marks(other)


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such pipes")
@pytest.mark.parametrize("through_link", [False, True])
def test_no_file_takes_the_place_of_a_device_or_a_pipe(tmp_path: Path, through_link: bool) -> None:
    pipe, link, staged = tmp_path / "pipe", tmp_path / "link", tmp_path / "staged"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    staged.write_text("text")
    place = link if through_link else pipe
    with pytest.raises(FolderUnwritableError, match="it is no plain file"):
        disk.write_atomic(place, b"text")
    with pytest.raises(FolderUnwritableError, match="it is no plain file"):
        disk.move(staged, place)
    assert pipe.is_fifo()
    assert link.is_symlink()
    assert sorted(tmp_path.iterdir()) == [link, pipe, staged]


@pytest.mark.skipif(os.name == "nt", reason="links are not counted there")
def test_a_file_is_elsewhere_only_if_a_name_of_it_is_outside(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "in").mkdir(parents=True)
    disk.enclose(root)
    (root / "a").write_text("x")
    (root / "in" / "b").hardlink_to(root / "a")
    assert not disk.is_elsewhere(root / "a")
    (tmp_path / "c").hardlink_to(root / "a")
    assert disk.is_elsewhere(root / "a")


def test_a_walk_goes_in_order_and_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "b" / "deep").mkdir(parents=True)
    for name in ("b/deep/x", "b/y", "a", "no"):
        (tmp_path / name).write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "b")
    walked = disk.walked(tmp_path, lambda inner: inner.name != "no")
    assert list(map(str, walked)) == ["a", "link", "b/y", "b/deep/x"]
