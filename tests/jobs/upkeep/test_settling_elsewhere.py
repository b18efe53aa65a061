from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bumble.entity.folder import Entity
from bumble.runtime import locks

SETTLES = """
import sys, time
from pathlib import Path
from bumble.entity.folder import Entity
from bumble.runtime import locks
with locks.hold_work(Entity(Path(sys.argv[1])), stoppable=True, told_in=Path(sys.argv[2])):
    print("at work", flush=True)
    time.sleep(60)
"""


def test_a_talk_with_another_entity_stops_what_settles_on_this_machine(
    ada: Entity, tmp_path: Path
) -> None:
    told_in = tmp_path / "settling"
    command = [sys.executable, "-c", SETTLES, str(ada.root), str(told_in)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as work:
        assert work.stdout is not None
        assert work.stdout.readline() == "at work\n"
        locks.stop_all_settling(told_in)
        assert work.wait(20) != 0


def test_what_an_entity_that_has_gone_left_is_cleared(tmp_path: Path) -> None:
    (tmp_path / "sign").write_text(f"{tmp_path / 'gone'}\n", encoding="utf-8")
    locks.stop_all_settling(tmp_path)
    assert not list(tmp_path.iterdir())
