"""Ada, who belongs to Sam and lives in Lisbon: made once a process, and copied."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from bumble.entity import approvals, create
from bumble.entity.create import NewEntity
from bumble.entity.folder import Entity

PLACE = Path(tempfile.mkdtemp(prefix="bumble-newborn-"))
atexit.register(shutil.rmtree, PLACE, ignore_errors=True)


@cache
def _made(owner: str, zone: str) -> Path:
    place = Path(tempfile.mkdtemp(dir=PLACE))
    return create.create(place / "ada", NewEntity("Ada", "curious", owner, zone)).root


def ada(root: Path, owner: str = "Sam", zone: str = "Europe/Lisbon") -> Entity:
    """Put Ada into a folder, as somebody who was made there."""
    shutil.copytree(_made(owner, zone), root)
    approvals.begin(root)
    return Entity(root)
