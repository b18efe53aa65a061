"""What an entity's folder can make run, each with a hash: what its owner trusts.

That is the settings that reach beyond the folder, reminders with a command and automations that are
on, with the files of the folder that a command names; and programs that its repository's own config
names. What these load in turn is not looked at.
Knows nothing of who trusts what.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec import Struct

from bumble.entity.folder import ENTITY_FILE, Entity
from bumble.files import disk, git, gitdir
from bumble.files.gitdir import Repository
from bumble.text import markdown
from bumble.text.words import one_line

INCLUDED = re.compile(rb"(?im)^\s*path\s*=(.*)$")  # in git's config
DIGEST_CHARS = 32  # of 64: 128 bits
PLACES = frozenset([ENTITY_FILE, "reminders", "automations"])
WORDS = re.compile(r"[\s=;:,'\"|&<>(){}]+")  # between the words of a line for a shell


class Runnable(Struct, frozen=True):
    """One file of the folder, as far as it makes something run."""

    path: str  # relative to the folder
    summary: str  # what is run, for its owner to look at
    digest: str


def concerns(paths: Iterable[str]) -> bool:
    """Tell whether a change of some files, relative to the folder, may change what can run."""
    return any(PurePosixPath(path).parts[0] in PLACES for path in paths)


def read(root: Path, reaching: Mapping[str, Any]) -> list[Runnable]:
    """Return what a folder can make run.

    Args:
        root: The folder.
        reaching: The settings of its entity.yaml that reach beyond it, by dotted key.
    """
    entity = Entity(root)
    items = [_settings(root, reaching)] if reaching else []
    repository = gitdir.find(root)
    if repository is not None and repository.settings_mention(git.NAMING):
        items.append(_repository(repository))
    notes = [_reminder(entity, file) for file in _notes(entity.reminders)]
    notes += [_automation(entity, file) for file in _notes(entity.automations)]
    return items + [item for item in notes if item is not None]


def _settings(root: Path, reaching: Mapping[str, Any]) -> Runnable:
    texts = [text for value in reaching.values() for text in _texts(value)]
    summary = ", ".join(reaching)
    return _runnable(ENTITY_FILE, summary, reaching, _named(root, root, texts))


def _repository(repository: Repository) -> Runnable:
    """Return what the config of a repository may make run, with the files that it includes."""
    texts = [_bytes(place) for place in repository.configs]
    for place, text in zip(repository.configs, tuple(texts), strict=True):
        paths = (os.fsdecode(match[1]).strip().strip('"') for match in INCLUDED.finditer(text))
        texts += [_bytes(place.parent / disk.expanded(Path(path))) for path in paths]
    return _runnable(".git/config", "programs that git's config names", texts)


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes() if file.is_file() else b""
    except (OSError, ValueError):
        return b""


def _reminder(entity: Entity, file: Path) -> Runnable | None:
    """Return what a reminder runs, whether it is to come or was said; None: nothing."""
    document, path = _document(file), entity.relative(file)
    if document is None:
        return _unreadable(path, file)
    if "command" not in document.meta:
        return None
    command = document.meta["command"]
    words = list(_texts(command))
    named = _named(entity.root, entity.workspace, words)
    return _runnable(path, " ".join(words), command, document.body, named)


def _automation(entity: Entity, file: Path) -> Runnable | None:
    """Return what an automation asks for; None if it is off."""
    document, path = _document(file), entity.relative(file)
    if document is None:
        return _unreadable(path, file)
    if document.meta.get("enabled") is False:
        return None
    summary = one_line(document.body)
    return _runnable(path, summary, document.meta.get("schedule"), document.body)


def _runnable(path: str, summary: str, *parts: object) -> Runnable:
    text = repr((path, *parts))
    digest = disk.sha256(text.encode(errors="surrogatepass"))[:DIGEST_CHARS]
    return Runnable(path, summary, digest)


def _unreadable(path: str, file: Path) -> Runnable | None:
    """Return a note that can't be read, which a single letter may make one that can."""
    try:
        return _runnable(path, "can't be read", disk.sha256(file.read_bytes()))
    except OSError:
        return None


def _notes(folder: Path) -> Iterator[Path]:
    """Yield the notes of a folder that bumble would read."""
    with suppress(OSError):
        for file in sorted(folder.glob("*.md")):
            if file.is_file() and file.stat().st_size <= markdown.MAX_BYTES:
                yield file


def _document(file: Path) -> markdown.Document | None:
    """Return a note, its front matter read; None if it can't be."""
    try:
        document = markdown.parse(file.read_bytes().decode())
        return document if isinstance(document.meta, Mapping) else None
    except (OSError, ValueError):
        return None


def _texts(value: object) -> Iterator[str]:
    """Yield the texts in a value of YAML, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _texts(inner)


def _named(root: Path, folder: Path, texts: Sequence[str]) -> dict[str, str]:
    """Return the files below a root that a command in one of its folders names, hashed."""
    top = os.path.abspath(root)  # noqa: PTH100  (a link is named for where it lies)
    digests: dict[str, str] = {}
    for word in [word for text in texts for word in (text, *WORDS.split(text)) if word]:
        with suppress(OSError, ValueError):
            place = os.path.abspath(folder / word)  # noqa: PTH100
            path = Path(place)
            if place.startswith(top + os.sep) and path.is_file():
                leads_to = os.path.relpath(os.path.realpath(path), os.path.realpath(root))
                digest = disk.sha256(path.read_bytes())
                digests[path.relative_to(top).as_posix()] = f"{leads_to} {digest}"
    return digests
