"""Whatever lies in a file, comes from a model or stands in an export: it is read, or refused."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from bumble.records import kinds
from tests.support import damage, parsers
from tests.support.sweeps import turn

LONG_RUN, MOST_MB, MOST_SECONDS = 100_000, 1_000, 20


def test_damage_is_refused_in_words_or_read(tmp_path: Path) -> None:
    """Another damage at each commit; `just slow` tries a hundred thousand."""
    for name, reader in parsers.READERS.items():
        rng = random.Random(f"{turn()} {name}")
        came = reader.try_to(damage.damaged(rng.choice(reader.samples), rng), tmp_path)
        assert came in ("read", "refused"), name  # anything else has been raised


def test_what_is_whole_is_read(tmp_path: Path) -> None:
    for name, reader in parsers.READERS.items():
        for sample in reader.samples:
            assert reader.try_to(sample, tmp_path) == "read", name


def test_every_kind_of_record_is_among_the_readers() -> None:
    for kind in kinds.KINDS:
        assert {f"record {kind.name}", f"parse {kind.name}", f"merge {kind.name}"} <= set(
            parsers.READERS
        )


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_a_hundred_thousand_damaged_inputs_in_one_process() -> None:
    command = [sys.executable, "-m", "tests.support.fuzzing", str(LONG_RUN), "7"]
    place = Path(__file__).parents[2]
    ran = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2_000:]
    report = json.loads(ran.stdout)
    assert report["failures"] == []
    assert report["most_mb"] < MOST_MB
    assert report["slowest"][0] < MOST_SECONDS, report["slowest"]
