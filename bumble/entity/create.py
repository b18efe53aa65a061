"""Making a new entity folder: what is copied from the template, and its archetype.

Knows the template and the archetypes; asks nobody anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from string import Template

from msgspec import Struct
from msgspec.structs import asdict

from bumble.entity import changes, write_ahead
from bumble.entity.folder import ENTITY_FILE
from bumble.errors import RecordExistsError
from bumble.files import disk
from bumble.text import yaml_edit

# Files that would change how this package itself is treated if they kept their names here.
RENAMED = {"gitignore": ".gitignore", "gitattributes": ".gitattributes"}


class NewEntity(Struct, frozen=True):
    """What a new entity is told about itself."""

    name: str
    archetype: str  # a key of `archetypes()`
    owner: str
    timezone: str  # IANA name


@cache
def archetypes() -> Mapping[str, Mapping[str, str]]:
    """Return the starting points: name to {monologue, voice}, with `$name` still in them."""
    return yaml_edit.parse_mapping(Path(__file__).with_name("archetypes.yaml").read_text("utf-8"))


def template_folder() -> Path:
    """Return the folder that is copied: in the installed package, or beside it in a checkout."""
    package = Path(__file__).parents[1]
    installed = package / "entity-template"
    return installed if installed.is_dir() else package.parent / "entity-template"


def plan(newborn: NewEntity, folder: Path | None = None) -> changes.ChangeSet:
    """Plan every file of a new entity; a folder that has a README keeps its own.

    Raises:
        KeyError: If there is no such archetype.
    """
    # the values of the slots by file type: as they are in Markdown, quoted in YAML
    texts = {
        key: Template(text).substitute(name=newborn.name)
        for key, text in archetypes()[newborn.archetype].items()
    }
    plain = asdict(newborn)
    quoted = {key: yaml_edit.inline(value) for key, value in plain.items()}
    indented = {
        key: "\n".join(f"    {line}" for line in text.strip().splitlines())
        for key, text in texts.items()
    }
    slots = {".md": {**plain, **texts}, ".yaml": {**quoted, **indented}}
    template = template_folder()
    # whether the folder says what it is already, in a file of any ending
    there = folder.iterdir() if folder is not None and folder.is_dir() else ()
    has_readme = any(path.name.casefold().partition(".")[0] == "readme" for path in there)
    planned = []
    for path in sorted(template.rglob("*")):
        if not path.is_file() or (path.name == "README.md" and has_readme):
            continue
        relative = path.relative_to(template).as_posix()
        text = path.read_text(encoding="utf-8")
        if relative == ENTITY_FILE or path.suffix == ".md":
            text = Template(text).substitute(slots[path.suffix])
        name = RENAMED.get(relative, relative)
        planned.append(changes.Change(name, f"make {newborn.name}", text.encode()))
    # entity.yaml last: a folder is an entity from the moment it has one
    planned.sort(key=lambda change: change.path == ENTITY_FILE)
    return changes.ChangeSet(f"new: {newborn.name}", tuple(planned))


def write(root: Path, planned: changes.ChangeSet) -> None:
    """Write the files of a new entity, none of which may be there.

    What was killed while it made the same is finished.

    Raises:
        RecordExistsError: If one is.
    """
    if write_ahead.leftovers(root).own:
        changes.recover(root)
        if all(disk.read_if_there(root / one.path) == one.data for one in planned.changes):
            return
    if (root / ENTITY_FILE).exists():
        raise RecordExistsError(root / ENTITY_FILE, "An entity lives there. Choose another folder.")
    for change in planned.changes:
        path = disk.inside(root, change.path)
        if path.exists():
            raise RecordExistsError(path, "Nothing has been written. Choose another folder.")
    changes.apply(root, planned)
