"""Results of a probe: which cases a model got right, by language and kind; their files.

One JSON file a model, named by the hash of its weights or of its address. Those of the catalog's
weights that were probed ship with bumble; what is measured here lies in the user's state folder,
and counts before them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import asdict

from bumble.files import disk
from bumble.models.abilities import tiers
from bumble.models.abilities.tiers import KINDS, LEAST_CASES, Abilities, Answers

SHIPPED = Path(__file__).parent / "shipped"
SCHEMA = 1  # of the files
OF_WEIGHTS = "sha256:"  # how the identity of weights begins


class LanguageResult(Struct, frozen=True):
    """What a model did with the cases of one language."""

    version: int  # of the probe
    at: str  # the day, as ISO has it
    answers: Answers  # by kind: `1` for each case that was right, `0` for each that was not
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    @property
    def is_whole(self) -> bool:
        """Whether there are enough answers of every kind to tell a tier by."""
        return all(len(self.answers.get(kind, "")) >= LEAST_CASES for kind in KINDS)


class ModelResult(Struct, frozen=True):
    """What a model did, by language."""

    identity: str  # `sha256:…` of weights, else address and name
    model: str  # as people call it
    languages: Mapping[str, LanguageResult] = field(default_factory=dict)

    def abilities(self) -> Abilities:
        """Return the tiers that follow; a language that was not probed to its end has none."""
        measured = {
            (purpose, code): tier
            for code, result in self.languages.items()
            if result.is_whole
            for purpose, tier in tiers.tiers(result.answers).items()
        }
        return Abilities(measured=measured)


def load(identity: str, model: str, folder: Path) -> ModelResult:
    """Return all that is known of a model: what ships, and over it what was measured here.

    Args:
        identity: The model's.
        model: As people call it.
        folder: Where results of this machine lie.
    """
    shipped = _read(SHIPPED / _file_name(identity), identity)
    here = own(identity, folder)
    whole = {code: result for code, result in here.items() if result.is_whole}
    return ModelResult(identity, model, {**here, **shipped, **whole})


def own(identity: str, folder: Path) -> dict[str, LanguageResult]:
    """Return what was measured on this machine, to its end or not."""
    return _read(folder / _file_name(identity), identity)


def save(result: ModelResult, folder: Path) -> Path:
    """Write the file of a model, all of it or nothing."""
    data = {
        "schema": SCHEMA,
        "identity": result.identity,
        "model": result.model,
        "languages": {code: asdict(one) for code, one in sorted(result.languages.items())},
    }
    path = folder / _file_name(result.identity)
    disk.write_atomic(path, f"{json.dumps(data, indent=2, ensure_ascii=False)}\n".encode())
    return path


def _file_name(identity: str) -> str:
    if identity.startswith(OF_WEIGHTS):
        return f"{identity.removeprefix(OF_WEIGHTS)}.json"
    return f"{hashlib.sha256(identity.encode()).hexdigest()}.json"


def _read(path: Path, identity: str) -> dict[str, LanguageResult]:
    """Read the results in a file; one that is damaged holds none: a probe makes it anew."""
    raw = disk.read_cache(path)
    try:
        data = json.loads(raw) if raw else {}
        if data.get("schema") != SCHEMA or data.get("identity") != identity:
            return {}
        return {str(code): _result(entry) for code, entry in data["languages"].items()}
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError, RecursionError):
        return {}


def _result(entry: Mapping[str, Any]) -> LanguageResult:
    answers = {kind: str(entry["answers"].get(kind, "")) for kind in KINDS}
    return LanguageResult(
        int(entry["version"]),
        str(entry["at"]),
        answers,
        float(entry["seconds"]),
        float(entry["cpu_seconds"]),
    )
