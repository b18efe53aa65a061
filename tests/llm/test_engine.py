"""The embedded engine takes the cores this process may use, no more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bumble.llm import engine
from bumble.models.weights import catalog, store


@pytest.mark.skipif(sys.platform != "linux", reason="no affinity to set on this system")
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core: nothing to hold back from")
def test_a_process_held_to_one_core_takes_one_thread() -> None:
    code = (
        "import os; from bumble.llm import engine\n"
        "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "print(engine._allowed_cores())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"


@pytest.mark.skipif(sys.platform != "linux", reason="no affinity to set on this system")
def test_a_process_that_may_use_every_core_leaves_the_count_to_the_engine() -> None:
    if len(os.sched_getaffinity(0)) < (os.cpu_count() or 1):
        pytest.skip("these tests themselves are held to some cores")
    assert engine._allowed_cores() is None


@pytest.mark.weights
def test_an_engine_that_is_closed_as_soon_as_it_is_open_ends(weights_folder: Path) -> None:
    weights = store.require(weights_folder, catalog.load().entry("smollm2-135m")).weights
    code = (
        "import sys; from pathlib import Path; from bumble.llm.engine import Engine, Setup\n"
        "for _ in range(12): Engine(Setup(Path(sys.argv[1]), 512, None, None)).close()"
    )
    done = subprocess.run([sys.executable, "-c", code, str(weights)], timeout=120)
    assert done.returncode == 0


def test_threads_of_the_engine_do_not_spin_while_they_wait() -> None:
    assert os.environ["OMP_WAIT_POLICY"]  # set before the library is loaded, or by the user
