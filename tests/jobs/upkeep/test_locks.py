from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from bumble.entity.folder import Entity
from bumble.llm.scripted import ScriptedModel
from bumble.runtime import locks, spoken
from bumble.text import moments
from tests.support.turns import NOON, Clock, runtime_of, say, talk

WORK = (
    "import sys, time\nfrom pathlib import Path\nfrom bumble.entity.folder import Entity\n"
    "from bumble.runtime import locks\n"
    "stoppable = sys.argv[2] == 'yes'\n"
    "with locks.hold_work(Entity(Path(sys.argv[1])), stoppable=stoppable) as free:\n"
    "    print(free, flush=True)\n    time.sleep(60)\n"
)
posix = pytest.mark.skipif(os.name == "nt", reason="needs signals")


def worker(entity: Entity, *, stoppable: bool) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", WORK, str(entity.root), "yes" if stoppable else "no"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "True\n"
    return process


@posix
def test_who_settles_is_stopped_at_once_and_its_place_is_free(ada: Entity) -> None:
    process = worker(ada, stoppable=True)
    with locks.hold_work(ada) as free:
        assert not free
    started = time.monotonic()
    assert locks.stop_settling(ada)
    assert time.monotonic() - started < 2
    assert process.wait(5) == -signal.SIGTERM
    with locks.hold_work(ada) as free:
        assert free


@posix
def test_who_waits_for_another_works_once_it_has_ended(ada: Entity) -> None:
    process = worker(ada, stoppable=False)
    threading.Timer(0.5, process.kill).start()
    with locks.hold_work(ada, seconds=20) as free:
        assert free
    process.wait(5)


@posix
def test_a_tick_is_left_alone(ada: Entity) -> None:
    process = worker(ada, stoppable=False)
    try:
        assert locks.stop_settling(ada)
        assert process.poll() is None
        with locks.hold_work(ada) as free:
            assert not free
    finally:
        process.kill()
        process.wait(5)


@posix
def test_an_id_that_a_killed_process_left_is_nobodys(ada: Entity) -> None:
    process = worker(ada, stoppable=True)
    process.kill()
    process.wait(5)
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        (ada.private / locks.SETTLING_PID).write_text(f"{bystander.pid}\n")
        assert locks.stop_settling(ada)
        time.sleep(0.1)
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait(5)


@posix
def test_who_works_takes_away_the_id_that_a_killed_process_left(ada: Entity) -> None:
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    ada.private.mkdir(exist_ok=True)
    (ada.private / locks.SETTLING_PID).write_text(f"{bystander.pid}\n")
    process = worker(ada, stoppable=False)
    try:
        assert locks.stop_settling(ada)
        assert bystander.poll() is None
    finally:
        for one in (process, bystander):
            one.kill()
            one.wait(5)


def is_talking(entity: Entity, now: datetime) -> bool:
    last = spoken.last_said(entity, now, unprompted=False)
    return last is not None and moments.gap(last, now) < locks.RECENT


def test_who_spoke_within_a_minute_is_still_talking(ada: Entity) -> None:
    clock = Clock()
    assert not is_talking(ada, NOON)
    talk(runtime_of(ada, ScriptedModel([say("Hello.")]), clock), "Hi.")
    (ada.sessions / "ses_broken").mkdir()
    (ada.sessions / "ses_broken" / "messages.jsonl").write_text("{}\n")
    assert is_talking(ada, clock.at)
    assert is_talking(ada, clock.at + timedelta(seconds=59))
    assert not is_talking(ada, clock.at + timedelta(seconds=61))
    assert not is_talking(ada, clock.at - timedelta(days=1))
    assert Path(ada.root).exists()
