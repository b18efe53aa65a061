"""Whatever lies in a file, comes from a model or stands in an export: it is read, or refused."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bumble.records import kinds
from tests.support import damage, parsers

LONG_RUN, MOST_MB, MOST_SECONDS = 100_000, 1_000, 20


@pytest.mark.parametrize("name", parsers.READERS)
@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 1 << 64))
def test_damage_is_refused_in_words_or_read(name: str, seed: int) -> None:
    rng = random.Random(seed)
    reader = parsers.READERS[name]
    with tempfile.TemporaryDirectory() as place:
        came = reader.try_to(damage.damaged(rng.choice(reader.samples), rng), Path(place))
    assert came in ("read", "refused")  # anything else has been raised


@pytest.mark.parametrize("name", parsers.READERS)
def test_what_is_whole_is_read(name: str, tmp_path: Path) -> None:
    reader = parsers.READERS[name]
    for sample in reader.samples:
        assert reader.try_to(sample, tmp_path) == "read"


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
