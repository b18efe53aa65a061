"""The rooms of the house in the order of imports, and what stands in their modules."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TypeGuard

from msgspec import Struct

import bumble

PACKAGE = Path(bumble.__file__).parent

# An import points up this list, or to a module of the same room.
ROOMS = (
    "errors",
    "patterns",
    "files",
    "text",
    "body",
    "entity",
    "records",
    "llm",
    "models",
    "index",
    "guard",
    "runtime",
    "fallback",
    "prompt",
    "recall",
    "chat",
    "history",
    "jobs",
    "bridges",
    "cli",
    "__main__",
)


class Module(Struct, frozen=True):
    """What one module imports, prints and defines."""

    path: Path
    imports: tuple[str, ...]
    first: tuple[str, ...]  # of these, what is imported before anything in it runs
    inner: tuple[tuple[str, int], ...]  # libraries that functions import, and at which line
    prints: tuple[int, ...]  # lines
    classes: tuple[str, ...]  # public ones

    @property
    def name(self) -> str:
        """Its name as it is imported."""
        parts = ["bumble", *self.path.relative_to(PACKAGE).with_suffix("").parts]
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def room(self) -> str:
        """The room it lies in."""
        return room(self.name)


def room(module: str) -> str:
    """Return the room of a module, by its name."""
    return module.split(".")[1] if "." in module else "__init__"


@cache
def modules() -> tuple[Module, ...]:
    """Read every module of the package, once a process."""
    return tuple(_read(path) for path in sorted(PACKAGE.rglob("*.py")))


def _imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield what is imported: of the package also each name, which may be a module."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module.partition(".")[0] == "bumble":
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
            yield node.module


def _read(path: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    nodes = list(_statements(tree))
    functions = [n for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    inner = (n for each in functions for n in _statements(each))
    return Module(
        path,
        tuple(_imported(nodes)),
        tuple(_imported(tree.body)),
        tuple((_library(n), n.lineno) for n in inner if isinstance(n, ast.Import | ast.ImportFrom)),
        tuple(n.lineno for n in ast.walk(tree) if _prints(n)) if "print(" in text else (),
        tuple(
            n.name for n in tree.body if isinstance(n, ast.ClassDef) and not n.name.startswith("_")
        ),
    )


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements below a node: a tenth of all that stands there."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(node, field, ()):
            if isinstance(inner, ast.stmt):
                yield inner
            yield from _statements(inner)


def _library(node: ast.Import | ast.ImportFrom) -> str:
    name = node.names[0].name if isinstance(node, ast.Import) else node.module or ""
    library = name.partition(".")[0]
    return f"{name}.{node.names[0].name}" if library == "bumble" else library


def _prints(node: ast.AST) -> TypeGuard[ast.Call]:
    if not isinstance(node, ast.Call):
        return False
    return isinstance(node.func, ast.Name) and node.func.id == "print"
