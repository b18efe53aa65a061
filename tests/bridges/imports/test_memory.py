from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[3] / "bench" / "imports.py"


@pytest.mark.slow
def test_an_export_much_larger_than_what_may_be_held_is_imported() -> None:
    words = [str(BENCH), "--megabytes", "60", "--at-most", "130"]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
