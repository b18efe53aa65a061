"""How long the suite waits for a test that does not end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.sweeps import turns

SETTINGS = "[pytest]\ntimeout = 9\nfaulthandler_timeout = 1\nfaulthandler_exit_on_timeout = true\n"
ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(("limit", "passes"), turns(2, [(20, True), (0.5, False)]))
def test_a_test_is_ended_when_its_own_time_is_over(
    tmp_path: Path, limit: float, passes: bool
) -> None:
    (tmp_path / "pytest.ini").write_text(SETTINGS)
    # signals are held back, as in C: only the watchdog is left to end it
    (tmp_path / "test_long.py").write_text(
        "import pytest, signal, time\n\n"
        f"@pytest.mark.timeout({limit})\n"
        "def test_long():\n"
        "    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})\n"
        "    time.sleep(3)\n"
    )
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "tests.support.hanging", str(tmp_path)]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode == 0) is passes, done.stdout + done.stderr
    assert ("Timeout (0:00:01)!" in done.stderr) is not passes
