"""Ada, who belongs to Sam and lives in Lisbon: made once a process, and copied."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from bumble.entity import approvals, create
from bumble.entity.create import NewEntity
from bumble.entity.folder import Entity

Make = Callable[[Path], Entity]
PLACE = Path(tempfile.mkdtemp(prefix="bumble-newborn-"))
atexit.register(shutil.rmtree, PLACE, ignore_errors=True)


def created(folder: Path, newborn: NewEntity) -> Entity:
    """Write a new entity into a folder, as the command does that makes one."""
    root = folder.resolve()
    create.write(root, create.plan(newborn, root))
    approvals.begin(root)
    return Entity(root)


@cache
def _made(owner: str, zone: str) -> Path:
    place = Path(tempfile.mkdtemp(dir=PLACE))
    return created(place / "ada", NewEntity("Ada", "curious", owner, zone)).root


@cache
def _kept(make: Make) -> Path:
    return make(Path(tempfile.mkdtemp(dir=PLACE)) / "ada").root


def copy(make: Make, root: Path) -> Entity:
    """Put into a folder what a function makes of one: it is made once a process."""
    shutil.copytree(_kept(make), root, symlinks=True)
    approvals.begin(root)
    return Entity(root)


_lived: dict[str, Path] = {}


def once(name: str, root: Path, live: Callable[[], object]) -> None:
    """Let a folder hold what is lived in it: lived once a process, and copied from then on."""
    if name in _lived:
        shutil.rmtree(root)
        shutil.copytree(_lived[name], root, symlinks=True)
        approvals.begin(root)
        return
    live()
    _lived[name] = Path(tempfile.mkdtemp(dir=PLACE)) / "lived"
    shutil.copytree(root, _lived[name], symlinks=True)


def ada(root: Path, owner: str = "Sam", zone: str = "Europe/Lisbon") -> Entity:
    """Put Ada into a folder, as somebody who was made there."""
    shutil.copytree(_made(owner, zone), root)
    approvals.begin(root)
    return Entity(root)
