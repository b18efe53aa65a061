from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from bumble.entity.folder import Entity
from bumble.llm import detect, engine, gguf
from bumble.models.weights import catalog, store
from tests.support.sweeps import WHOLE, sampled, turns

ERROR = "libgomp.so.1: cannot open shared object file: No such file or directory"


def test_a_library_that_is_not_there_names_its_package() -> None:
    assert "apt-get install libgomp1" in detect.advice(ERROR, "linux")
    assert detect.advice("invalid ELF header", "linux") == ""
    assert "Visual C++" in detect.advice("DLL load failed", "win32")


def test_here_it_opens() -> None:
    pytest.importorskip("xllamacpp")
    assert detect.problem() == ""


def bumble(
    tmp_path: Path, environ: dict[str, str], engine: str, *argv: str
) -> subprocess.CompletedProcess[str]:
    """Run bumble on a machine whose engine is this module."""
    package = tmp_path / "lib"
    package.mkdir(exist_ok=True)
    (package / "xllamacpp.py").write_text(engine)
    around = {**os.environ, **environ, "PYTHONPATH": str(package), "PATH": os.environ["PATH"]}
    around["BUMBLE_LLM_PROBE_URLS"] = "[]"
    words = [sys.executable, "-m", "bumble", *argv]
    return subprocess.run(words, env=around, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("engine", "told"),
    turns(
        2,
        [
            (f"raise ImportError({ERROR!r})", "can't be opened: libgomp.so.1: cannot open"),
            ("raise ModuleNotFoundError('xllamacpp')", "it has no wheel for this system"),
        ],
    ),
)
def test_nothing_is_fetched_for_an_engine_that_cannot_be_opened(
    tmp_path: Path, environ: dict[str, str], entity: Entity, engine: str, told: str
) -> None:
    root = str(entity.root)
    ran = bumble(tmp_path, environ, engine, "chat", "-e", root, "--yes", "Hello")
    assert ran.returncode == 20
    assert told in ran.stderr
    assert "Fetching" not in ran.stderr
    assert not (Path(environ["XDG_CACHE_HOME"]) / "bumble" / "weights").exists()
    assert told in bumble(tmp_path, environ, engine, "status", "-e", root).stdout


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
@sampled
def test_an_engine_that_is_closed_as_soon_as_it_is_open_ends(weights_folder: Path) -> None:
    weights = store.require(weights_folder, catalog.load().entry("smollm2-135m")).weights
    times = 6 if WHOLE else 2
    code = (
        "import sys; from pathlib import Path; from bumble.llm.engine import Engine\n"
        f"for _ in range({times}): Engine(Path(sys.argv[1]), 512, None, None).close()"
    )
    done = subprocess.run([sys.executable, "-c", code, str(weights)], timeout=120)
    assert done.returncode == 0


def test_threads_of_the_engine_do_not_spin_while_they_wait() -> None:
    assert os.environ["OMP_WAIT_POLICY"]  # set before the library is loaded, or by the user


STRING, INT64, ARRAY = 8, 11, 9
HUGE = 2**62
KEY = struct.pack("<Q", 1) + b"k"
LISTS = (struct.pack("<IIQ", ARRAY, INT64, HUGE), struct.pack("<IQ", STRING, 2 * HUGE))


@pytest.mark.parametrize("value", LISTS)
def test_a_length_beyond_what_a_file_can_have_is_refused(tmp_path: Path, value: bytes) -> None:
    weights = tmp_path / "m.gguf"
    weights.write_bytes(struct.pack("<4sIQQ", b"GGUF", 3, 0, 2) + KEY + value + KEY)
    with pytest.raises(ValueError, match="damaged"):
        gguf.context_tokens(weights)
