"""What an embedder learns once from texts that bumble brings along, whichever embedder it is.

For embedders that come from wheels it lies in `learned/`; any other learns it on a machine, which
keeps it in its cache. The texts of a lesson lie in a folder a writer, a file a language.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
from collections.abc import Callable, Iterator
from functools import cached_property
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, BinaryIO, Generic, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import astuple

from bumble import files
from bumble.embed.protocol import Embedder, EmbedderIdentity
from bumble.errors import FolderUnwritableError
from bumble.runtime.runtime import Runtime
from bumble.text import yaml_read
from bumble.text.words import DEFAULT_LANGUAGE

FOLDER = resources.files(__package__)
LEARNED = FOLDER.joinpath("learned")
_HERE: dict[str, Any] = {}  # learned or read by this process, by name of the file


class Writable(Protocol):
    """What is learned."""

    def write(self, file: BinaryIO) -> None:
        """Write it, so that the lesson's `read` gives the same."""


T = TypeVar("T", bound=Writable)


def understands(embedder: Embedder, language: str) -> bool:
    """Whether an embedder can learn from texts of a language, and be asked about them."""
    return embedder.multilingual or language == DEFAULT_LANGUAGE


class Lesson(Struct, Generic[T], frozen=True, dict=True):
    """Something to learn from texts."""

    folder: str  # of its texts, and part of the names of files
    what: str  # is learned, as somebody is told who waits
    version: Callable[[], str]  # changes with what is made of the texts
    learn: Callable[[Embedder], T]
    read: Callable[[BinaryIO], T]

    @cached_property
    def digest(self) -> str:
        """What changes with the texts."""
        texts = (file.read_text(encoding="utf-8") for _, file in self._files())  # line ends: git's
        return hashlib.sha256("".join(texts).encode()).hexdigest()

    def _files(self) -> Iterator[tuple[str, Traversable]]:
        """Yield the writers and their files, in order."""
        for folder in sorted(FOLDER.joinpath(self.folder).iterdir(), key=lambda at: at.name):
            for file in sorted(folder.iterdir(), key=lambda at: at.name):
                if file.name.endswith(".yaml"):
                    yield folder.name, file

    def rows(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Yield the texts, each with its writer and language.

        Raises:
            ValueError: If a file holds something else than a list of mappings.
        """
        for writer, file in self._files():
            listed = yaml_read.parse(file.read_text(encoding="utf-8"))
            if not isinstance(listed, list) or not all(isinstance(row, dict) for row in listed):
                raise ValueError(f"{self.folder}/{writer}/{file.name} should be a list of mappings")
            for row in listed:
                yield writer, file.name.removesuffix(".yaml"), row

    def filename(self, identity: EmbedderIdentity) -> str:
        """Name the file of what an embedder learned from the texts as they are."""
        learned_from = f"{astuple(identity)} {self.version()} {self.digest}"
        digest = hashlib.sha256(learned_from.encode()).hexdigest()[:16]
        return f"{identity.model}-{identity.dimensions}-{self.folder}-{digest}.npz"

    def known(self, embedder: Embedder, runtime: Runtime, *, learns: bool) -> T | None:
        """Return what an embedder has learned, by this process or before; None: nothing yet.

        Args:
            embedder: With weights.
            runtime: Whose machine's cache may have it.
            learns: Whether it learns now what it has not learned yet, which takes minutes: never
                while somebody waits for an answer.
        """
        name = self.filename(embedder.identity)
        if name not in _HERE:
            learned = self._before(name, runtime)
            if learned is None and learns:
                runtime.tell(f"{embedder.identity.model} learns once, from examples, {self.what}")
                learned = self.learn(embedder)
                self._keep(name, learned, runtime)
            if learned is None:
                return None
            _HERE[name] = learned
        known: T = _HERE[name]
        return known

    def _before(self, name: str, runtime: Runtime) -> T | None:
        shipped = LEARNED.joinpath(name)
        if shipped.is_file():
            return self.read(io.BytesIO(shipped.read_bytes()))
        data = files.read_cache(runtime.learned / name) if runtime.learned else None
        if data is not None:
            with contextlib.suppress(ValueError):  # of a process that was killed, or by a hand
                return self.read(io.BytesIO(data))
        return None

    def _keep(self, name: str, learned: T, runtime: Runtime) -> None:
        """Keep what was learned; without a folder to write to it is learned again."""
        if runtime.learned is None:
            return
        file = io.BytesIO()
        learned.write(file)
        with contextlib.suppress(OSError, FolderUnwritableError):
            files.make_folder(runtime.learned)
            files.write_atomic(runtime.learned / name, file.getvalue())
