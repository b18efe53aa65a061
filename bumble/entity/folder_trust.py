"""Which entity folders may use settings that reach beyond them and make programs run.

An entity may arrive by clone. Then its entity.yaml can't point the user's key at its own address,
start programs or ask other servers: such settings count only in folders that the user's own config
lists, as they were when the user looked at them. Where something that can run is new since then,
by a pull or a hand, it is asked again.

What can run, each with a hash: the settings that reach beyond the folder, with the files of it that
they name; automations that are on; and programs that the config of its repository names. What
these load in turn is not looked at.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from bumble import patterns
from bumble.entity.approvals import Rule, rule
from bumble.entity.config import YOURS, Config
from bumble.entity.folder import ENTITY_FILE, Approval, Entity
from bumble.entity.layers import Layer, value_at
from bumble.errors import SettingInvalidError
from bumble.files import disk, git, gitdir
from bumble.text import markdown, schema, yaml_edit
from bumble.text.words import one_line

INCLUDED = patterns.compile(rb"(?im)^\s*path\s*=(.*)$")  # in git's config
GIT_CONFIG = ".git/config"
PLACES = frozenset([ENTITY_FILE, "automations"])
WORDS = patterns.compile(r"[\s=;:,'\"|&<>(){}]+")  # between the words of a line for a shell


def concerns(paths: Iterable[str]) -> bool:
    """Tell whether a change of some files, relative to the folder, may change what can run."""
    return any(PurePosixPath(path).parts[0] in PLACES for path in paths)


def read(root: Path, reaching: Mapping[str, Any]) -> list[Rule]:
    """Return what a folder can make run.

    Args:
        root: The folder.
        reaching: The settings of its entity.yaml that reach beyond it, by dotted key.
    """
    entity = Entity(root)
    items = []
    if reaching:
        named = _named(root, [text for value in reaching.values() for text in _texts(value)])
        items.append(rule(ENTITY_FILE, ENTITY_FILE, ", ".join(reaching), reaching, named))
    repository = gitdir.find(root)
    if repository is not None and repository.settings_mention(git.NAMING):
        # what the config of a repository may make run, with the files that it includes
        configs = [gitdir.content(place) or b"" for place in repository.configs]
        for place, text in zip(repository.configs, tuple(configs), strict=True):
            paths = (os.fsdecode(match[1]).strip().strip('"') for match in INCLUDED.finditer(text))
            files = (place.parent / disk.expanded(Path(path)) for path in paths)
            configs += [gitdir.content(file) or b"" for file in files]
        items.append(rule(GIT_CONFIG, GIT_CONFIG, "programs that git's config names", configs))
    notes = (_note(entity, file) for file in _notes(entity.automations))
    return items + [item for item in notes if item is not None]


def _note(entity: Entity, file: Path) -> Rule | None:
    """Return what an automation asks; None: nothing, for it is off."""
    document, path = _document(file), entity.relative(file)
    if document is None:  # a single letter may make it one that can be read
        data = gitdir.content(file)
        return rule(path, path, "can't be read", disk.sha256(data)) if data else None
    meta, body = document.meta, document.body
    is_off = meta.get("enabled") is False
    return None if is_off else rule(path, path, one_line(body), meta.get("schedule"), body)


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


def _named(root: Path, texts: Sequence[str]) -> dict[str, str]:
    """Return the files below a root that a command in it names, hashed."""
    top = os.path.abspath(root)  # noqa: PTH100  (a link is named for where it lies)
    digests: dict[str, str] = {}
    for word in [word for text in texts for word in (text, *WORDS.split(text)) if word]:
        with suppress(OSError, ValueError):
            place = os.path.abspath(root / word)  # noqa: PTH100
            path = Path(place)
            if place.startswith(top + os.sep) and path.is_file():
                leads_to = os.path.relpath(os.path.realpath(path), os.path.realpath(root))
                digest = disk.sha256(path.read_bytes())
                digests[path.relative_to(top).as_posix()] = f"{leads_to} {digest}"
    return digests


KEY = "trusted"  # in the user's config: folder to the hashes of what can run there
# What starts programs in the folder counts only where that is trusted, whoever set it.
PROGRAMS: tuple[schema.Keys, ...] = (
    ("prompt", "host_command"),
    ("tools", "run_command"),
)

Trusted = Mapping[str, frozenset[str]]  # folder, in full, to hashes
SHOWN = 5  # files, in a warning


def folders(listed: object, place: str) -> Trusted:
    """Read the trusted folders from the value under `trusted` in the user's config.

    Raises:
        SettingInvalidError: If it is no mapping of absolute paths to hashes.
    """
    hashes = listed or {}
    if not isinstance(hashes, Mapping) or not all(
        isinstance(path, str) and Path(path).is_absolute() and isinstance(seen, list)
        for path, seen in hashes.items()
    ):
        problem = f"`{KEY}` must name folders, each path in full, as `bumble config trust` does"
        raise SettingInvalidError(place, problem)
    return {os.path.realpath(path): frozenset(map(str, seen)) for path, seen in hashes.items()}


def approval(trusted: Trusted, folder: Path) -> Approval:
    """Return what the user's config says of a folder; what lies below a trusted one is not."""
    real = os.path.realpath(folder)
    return Approval(folder, real in trusted, trusted.get(real, frozenset()))


def plan(source: str, folder: Path, seen: Collection[str]) -> str:
    """Return the text of the user's config with a folder among the trusted.

    Args:
        source: The text as it is.
        folder: Which.
        seen: The hashes of what can run there.
    """
    return yaml_edit.set_value(source, (KEY, os.path.realpath(folder)), sorted(seen))


def reaching(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of an entity.yaml that count only where the folder is trusted."""
    return {".".join(keys): value_at(values, keys) for keys in marked(values, YOURS)}


def marked(values: Mapping[str, Any], mark: str) -> list[schema.Keys]:
    """Name those settings of a file that have a mark."""
    return [keys for keys, kind in schema.of_values(Config, values) if mark in schema.bare(kind)[1]]


def starting(values: Mapping[str, Any]) -> list[schema.Keys]:
    """Name the settings that let programs start."""
    layer = Layer("file", values)
    return [keys for keys in PROGRAMS if layer.depth(keys) == len(keys) and value_at(values, keys)]


def doubt(trusted: Trusted, folder: Path, values: Mapping[str, Any]) -> str | None:
    """Say why what a folder can make run does not count; None: it is trusted as it is.

    Args:
        trusted: The folders that are trusted, as they were.
        folder: The entity's.
        values: Its entity.yaml.
    """
    approved = approval(trusted, folder)
    if not approved.is_listed:
        return "If you trust what is in it"
    runnable = read(folder, reaching(values))
    changed = [item for item in runnable if item.digest not in approved.digests]
    if not changed:
        return None
    paths = ", ".join(item.file for item in changed[:SHOWN]) + (", …" if changed[SHOWN:] else "")
    return f"You trusted it before this was new or changed: {paths}. If you still do"


def warning(place: str, keys: schema.Keys, folder: Path, why: str, *, is_own: bool) -> str:
    """Say that a setting was ignored, and what makes it count.

    Args:
        place: Where it stands.
        keys: Its name.
        folder: The entity's.
        why: As `doubt` says it.
        is_own: Whether the folder makes it; else the user's own settings let programs start.
    """
    ignored = f"ignored in {folder}: programs run only in folders that you trust"
    if is_own:
        ignored = "ignored, because it reaches beyond this folder"
    return f"{place}: `{'.'.join(keys)}` is {ignored}. {why}: bumble config trust {folder}"
