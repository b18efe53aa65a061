"""What holds for the whole suite, and the real weights, pulled once by bumble's own code."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile
from pathlib import Path

import platformdirs
import pytest
from hypothesis import settings

from bumble.errors import WeightsMissingError
from bumble.weights import catalog
from bumble.weights.pull import pull
from bumble.weights.sources import Means

# a shared machine is slow at times: what a property takes is measured in bench/
settings.register_profile("bumble", deadline=None)
settings.load_profile("bumble")

# What a shell starts in the background ignores Ctrl-C, and so would all that the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The secret that marks what an installation writes lies in the user's state folder: not in the real
# one.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="bumble-tests-")
atexit.register(shutil.rmtree, os.environ["XDG_STATE_HOME"], ignore_errors=True)

NEEDED = ("all-minilm-l6-v2", "smollm2-135m")


@pytest.fixture(scope="session")
def weights_folder() -> Path:
    """A folder with the small real weights: BUMBLE_TEST_WEIGHTS, else where bumble keeps its own.

    Skips where no source gives them, but not in CI: there that is a failure.
    """
    default = platformdirs.user_cache_path("bumble") / "weights"
    folder = Path(os.environ.get("BUMBLE_TEST_WEIGHTS") or default)
    known = catalog.load()
    notes: list[str] = []
    means = Means(environment=os.environ, note=notes.append)
    for name in NEEDED:
        try:
            pull(known.entry(name), folder, means)
        except WeightsMissingError as error:
            if os.environ.get("CI"):
                raise
            pytest.skip(f"the real weights can't be had here: {error}")
    return folder
