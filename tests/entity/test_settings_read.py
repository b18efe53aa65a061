from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import bumble
from bumble.body.config import Temperament
from bumble.entity.config import Config
from bumble.text import schema

PACKAGE = Path(bumble.__file__).parent
TYPES = {PACKAGE / "body/config.py", PACKAGE / "entity/config.py"}
TYPES |= {PACKAGE / "entity/config_memory.py"}


def sections(kind: Any) -> Iterator[Any]:
    """Yield every section of the settings, those inside mappings and lists too."""
    base = schema.bare(kind)[0]
    if schema.is_section(base):
        yield base
    inner = schema.fields(base).values() if schema.is_section(base) else get_args(base)
    for below in inner:
        yield from sections(below)


SECTIONS = {section.__name__: schema.fields(section) for section in sections(Config)}
HOW_MANY = Counter(name for names in SECTIONS.values() for name in names)


def section_name(kind: Any) -> str | None:
    """Name the section that a setting is, or that its entries are."""
    return next((section.__name__ for section in sections(kind)), None)


# Names of the documents that bumble began with: their comments say "no effect".
RETIRED = {"reflection_min_gap_seconds", "amendment_mode_threshold"}


class Reads(ast.NodeVisitor):
    """The settings that a module reads: by section where that shows, and by name alone."""

    def __init__(self) -> None:
        self.fields: set[tuple[str, str]] = set()
        self.names: set[str] = set()
        self.variables: dict[str, str] = {}

    def visit_arg(self, node: ast.arg) -> None:
        self._annotate(node.arg, node.annotation)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._annotate(getattr(node.target, "id", ""), node.annotation)
        self.generic_visit(node)

    def _annotate(self, name: str, annotation: ast.AST | None) -> None:
        for part in ast.walk(annotation) if annotation else ():
            if isinstance(part, ast.Name) and part.id in SECTIONS:
                self.variables[name] = part.id

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        pairs: list[tuple[ast.expr, ast.expr]] = [(target, node.value) for target in node.targets]
        for target, value in pairs:
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs += zip(target.elts, value.elts, strict=False)
            elif isinstance(target, ast.Name) and (section := self.section(value)):
                self.variables[target.id] = section

    def visit_For(self, node: ast.For) -> None:
        self._iterate(node.target, node.iter)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self._iterate(node.target, node.iter)
        self.generic_visit(node)

    def _iterate(self, target: ast.expr, over: ast.expr) -> None:
        section = self.section(over)
        for part in ast.walk(target) if section else ():
            if isinstance(part, ast.Name) and section:
                self.variables[part.id] = section

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.generic_visit(node)
        self.names.add(node.attr)
        if section := self.section(node.value):
            self.fields.add((section, node.attr))

    def section(self, node: ast.AST) -> str | None:
        """Name the section that an expression is."""
        if isinstance(node, ast.Name):
            return self.variables.get(node.id)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return self.section(node.func.value)  # of `items()` and the like
        if isinstance(node, ast.Subscript):
            return self.section(node.value)
        if not isinstance(node, ast.Attribute):
            return None
        if above := self.section(node.value):
            kind = SECTIONS[above].get(node.attr)
            return section_name(kind) if kind else None
        if node.attr == "config":
            of_self = isinstance(node.value, ast.Name) and node.value.id == "self"
            return self.variables.get("config") if of_self else "Config"
        kinds = [kinds[node.attr] for kinds in SECTIONS.values() if node.attr in kinds]
        return section_name(kinds[0]) if len(kinds) == 1 else None


def test_each_setting_is_read_by_some_code() -> None:
    fields: set[tuple[str, str]] = set()
    names: set[str] = set()
    for path in sorted(set(PACKAGE.rglob("*.py")) - TYPES):
        reads = Reads()
        tree = ast.parse(path.read_text("utf-8"))
        reads.visit(tree)
        reads.visit(tree)  # a comprehension names its variable after it is used
        fields |= reads.fields
        names |= reads.names
    unread = [
        f"{section}.{name}"
        for section, kinds in SECTIONS.items()
        for name in kinds
        if section != Temperament.__name__  # whose fields are read by the names of bars
        and (section, name) not in fields
        and not (HOW_MANY[name] == 1 and name in names)
    ]
    assert [name for name in unread if name.rpartition(".")[2] not in RETIRED] == []
