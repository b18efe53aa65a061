from __future__ import annotations

import re
from pathlib import Path

from bumble.cli import reference
from tests.support.rooms import ROOMS, modules

DOCS = Path(__file__).parent.parent / "docs"
PAGE = (DOCS / "architecture.md").read_text(encoding="utf-8")


def test_every_module_stands_in_the_tree_with_its_own_first_line() -> None:
    assert reference.with_tree(PAGE) == PAGE
    files = reference.PACKAGE.rglob("*.py")
    modules = [path for path in files if not path.stem.startswith("__")]
    assert len(re.findall(r"^- `\w+\.py` \S", PAGE, re.MULTILINE)) == len(modules)


def test_every_module_that_the_page_names_is_there() -> None:
    prose = PAGE.partition("<!-- tree -->")[0]
    named = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]*(?:\.[a-z]+)*)", prose)) - {
        "sources/",
        "release/",
    }
    package, missing = reference.PACKAGE, []
    for name in sorted(named):
        plain = name.partition(".")[0]
        if not ((package / name).exists() or (package / f"{plain}.py").exists()):
            missing.append(name)
    assert [name for name in missing if not name.startswith(("tests/", "bench/"))] == []


def test_every_file_of_the_package_that_a_page_names_is_there() -> None:
    missing = []
    for page in (*DOCS.glob("*.md"), *DOCS.parent.glob("*.md")):
        for name in re.findall(r"`bumble/([\w./]+)`", page.read_text(encoding="utf-8")):
            stands_for = re.sub(r"\b(xx|NAME|CODE)\b|(?<=_)xx\b", "*", name)
            if page.name != "CHANGELOG.md" and not any(reference.PACKAGE.glob(stands_for)):
                missing.append(f"{page.name}: {name}")
    assert missing == []


def test_the_rooms_are_listed_in_the_order_of_imports() -> None:
    table = PAGE.partition("## Rooms")[2].partition("## Words")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    names = [name.strip("`/ ") for row in rows for name in row.split(",")]
    assert names == [room for room in ROOMS if room != "__main__"]


def test_the_fullest_room_can_be_overlooked() -> None:
    for init in reference.PACKAGE.rglob("__init__.py"):
        if init.parent.name != "commands":  # one file a command
            assert len(list(init.parent.glob("*.py"))) <= 40, init.parent


def test_a_public_class_has_a_name_of_its_own() -> None:
    files: dict[str, list[str]] = {}
    for module in modules():
        for name in module.classes:
            files.setdefault(name, []).append(module.path.name)
    assert {name: paths for name, paths in files.items() if len(paths) > 1} == {}
