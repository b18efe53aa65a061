"""What holds for the whole suite: a newborn, commands on it, a fake server, the real weights."""

from __future__ import annotations

import atexit
import gc
import os
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import platformdirs
import pytest
from hypothesis import is_hypothesis_test, settings

from bumble.entity import changes
from bumble.entity.changes import ChangeSet
from bumble.entity.folder import Entity
from bumble.errors import WeightsMissingError
from bumble.models.embed import onnx
from bumble.models.weights import catalog
from bumble.models.weights.pull import pull
from bumble.models.weights.store import PullOptions
from bumble.records import beliefs, episodes, journal, knowledge, relationships, sessions, skills
from tests.support import newborns
from tests.support.fake_server import FakeServer
from tests.support.hanging import pytest_runtest_setup as pytest_runtest_setup  # a hook
from tests.support.running import NOON, Run, UseEditor
from tests.support.sweeps import EXAMPLES, WHOLE

# a shared machine is slow at times: what a property takes is measured in bench/
settings.register_profile("gate", deadline=None, max_examples=EXAMPLES)
settings.register_profile("whole", deadline=None, max_examples=100)
settings.load_profile("whole" if WHOLE else "gate")

# What a shell starts in the background ignores Ctrl-C, and so would all that the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The secret that marks what an installation writes lies in the user's state folder: not in the real
# one.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="bumble-tests-")
atexit.register(shutil.rmtree, os.environ["XDG_STATE_HOME"], ignore_errors=True)

# An onnxruntime session that is collected in a forked process waits for threads that aren't there.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=gc.disable)

# Thousands of folders are written and synced: in memory, where there is enough of it.
SHARED = Path("/dev/shm")
if SHARED.is_dir() and os.access(SHARED, os.W_OK) and shutil.disk_usage(SHARED).free > 4 << 30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(SHARED))

# Commands that tests start would compile six hundred modules each time, a second of CPU.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what has more examples in `just slow`."""
    for item in items:
        if is_hypothesis_test(getattr(item, "obj", None)):
            item.add_marker("property")


def pytest_collection_finish() -> None:
    """Spare the collector what is there to stay: half a million objects."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give a file's tests to one worker: what its fixtures made is made once."""
    from xdist.scheduler import LoadFileScheduling

    return LoadFileScheduling(config, log)


NEEDED = ("all-minilm-l6-v2", "multilingual-e5-small", "smollm2-135m")


@pytest.fixture(scope="session")
def weights_folder() -> Path:
    """A folder with the small real weights: BUMBLE_TEST_WEIGHTS, else where bumble keeps its own.

    Skips where no source gives them, but not in CI: there that is a failure.
    """
    default = platformdirs.user_cache_path("bumble") / "weights"
    folder = Path(os.environ.get("BUMBLE_TEST_WEIGHTS") or default)
    known = catalog.load()
    notes: list[str] = []
    means = PullOptions(environment=os.environ, note=notes.append)
    for name in NEEDED:
        try:
            pull(known.entry(name), folder, means)
        except WeightsMissingError as error:
            if os.environ.get("CI"):
                raise
            pytest.skip(f"the real weights can't be had here: {error}")
    return folder


OPENED = {name: lru_cache(maxsize=4)(getattr(onnx, name)) for name in ("_load_session", "Pieces")}


@pytest.fixture(autouse=True)
def real_weights_are_opened_once(request: pytest.FixtureRequest) -> Iterator[None]:
    """Open the real weights once for all commands of one process, where a test asks for them."""
    with pytest.MonkeyPatch.context() as patch:
        for name, load in OPENED.items() if "weights_folder" in request.fixturenames else ():
            patch.setattr(onnx, name, load)
        yield


@pytest.fixture
def ada(tmp_path: Path) -> Entity:
    """Ada, in a folder of the test's own."""
    return newborns.ada(tmp_path / "ada")


@pytest.fixture
def server() -> Iterator[FakeServer]:
    """A server of this machine that says what a test gives it to say."""
    fake = FakeServer()
    yield fake
    fake.close()


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment of a user with an empty home; nothing of the real one shows through."""
    home = tmp_path / "home"
    variables = {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "TMPDIR": str(tmp_path / "tmp"),
        "PATH": "",
    }
    (tmp_path / "tmp").mkdir()
    for name in ("BUMBLE_ENTITY", "VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        if name != "PATH":
            monkeypatch.setenv(name, value)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    return variables


@pytest.fixture
def entity(environ: dict[str, str], tmp_path: Path) -> Entity:
    """A folder with Ada in it, whose owner is the user of `environ`."""
    return newborns.ada(tmp_path / "ada")


@pytest.fixture
def run(
    entity: Entity,
    environ: dict[str, str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Run:
    """Run commands on Ada."""
    return Run(entity, environ, capsys, monkeypatch)


@pytest.fixture
def use_editor(environ: dict[str, str], tmp_path: Path) -> UseEditor:
    """Make a few lines of Python the user's editor; `file` is what it was opened on."""

    def use(code: str) -> None:
        script = tmp_path / "editor.py"
        head = "import sys\nfrom pathlib import Path\nfile = Path(sys.argv[1])\n"
        script.write_text(head + code, encoding="utf-8")
        environ["EDITOR"] = shlex.join([sys.executable, str(script)])

    return use


@pytest.fixture
def full(run: Run) -> Run:
    """Ada with one of everything."""
    newborns.once("one of everything", run.entity.root, lambda: fill(run.entity))
    return run


def fill(entity: Entity) -> None:
    """Put one record of each kind into a folder."""
    at = NOON
    known = knowledge.read(entity.knowledge)
    bo = relationships.new("Bo", at)
    told = sessions.Message("msg_1", at, "user", "Is it rain?", "sam")
    talk = sessions.new("ses_first", at, "sam")
    planned = [
        knowledge.plan_set(known, "Pets", "Sam has a cat that hates rain", "", by_entity=False),
        journal.plan_add(at, "It will rain.", ZoneInfo("Europe/Lisbon"), "", tags=("rain",)),
        skills.plan_set(
            [], "tea", "Tea on days of rain", "Boil water, not rain.", "", overwrite=False
        ),
        relationships.PERSON.plan_new(bo, ""),
        relationships.plan_update(bo, "", text="Bo likes rain."),
        beliefs.BELIEF.plan_new(beliefs.new("bel_1", "The rain stays", "world_fact", 0.8, at), ""),
        episodes.EPISODE.plan_new(
            episodes.new("ep_1", at, 0.5, "We ran through the rain", people=("bo",)), ""
        ),
        sessions.plan_start(talk, ""),
        sessions.plan_append(talk, [told], ""),
    ]
    changes.apply(entity.root, ChangeSet("", tuple(one for one in planned if one is not None)))
