from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from tests.support import forked
from tests.support.looking import episode, truths, without_models
from tests.support.running import Run
from tests.support.sweeps import turns

FAR = (
    "0001-01-01T00:00:00+14:00",
    "0999-12-31T00:00:00+00:00",
    "3000-01-01T00:00:00+00:00",
    "9999-12-31T23:59:59-14:00",
)
READING = (
    ("status",),
    ("doctor",),
    ("recall", "rain"),
    ("context", "list"),
    ("tick", "--dry-run"),
    ("episode", "list"),
    ("session", "list"),
    ("remind", "list"),
    ("soma",),
    ("journal", "list"),
)
ZONES = ("UTC+25", "UTC-24:59:59", "UTC+167", ":", "../../x", "A" * 5000)


@pytest.fixture
def quiet(full: Run) -> Run:
    return without_models(full)


@pytest.mark.parametrize("at", turns(3, FAR))
def test_a_record_of_such_a_year_names_file_and_line_and_stops_nothing_else(
    quiet: Run, at: str
) -> None:
    episode(quiet, "far", "It rained.", at=at)
    quiet.write("reminders/rem_far.md", f"---\nat: {at}\nrepeat: 0 9 * * *\n---\n\nTea\n")
    quiet.write("automations/far.md", f"---\nschedule: 0 9 * * *\nlast: {at}\n---\n\nLook.\n")
    quiet.write("dreams/drm_far.md", f"---\nat: {at}\n---\n\nrain\n")
    codes = {words[0]: quiet(*words).code for words in READING}
    complain = ("doctor", "tick", "episode", "remind")
    assert codes == {words[0]: 12 if words[0] in complain else 0 for words in READING}
    ran = quiet("doctor")
    for path in ("episodes/2026/05/ep_far.md:2", "reminders/rem_far.md:2", "automations/far.md:3"):
        assert path in ran.out
    assert "times lie between the years 1000 and 2999" in ran.out


@pytest.mark.parametrize("at", turns(3, FAR))
def test_no_talk_is_had_and_nothing_written_in_such_a_year(quiet: Run, at: str) -> None:
    before = truths(quiet)
    refused = [
        quiet("tick", "--now", at),
        quiet("chat", "Hi", "--now", at),
        quiet("episode", "add", "It rained.", "--at", at),
        quiet("remind", "add", "Tea", "--at", at),
        quiet("remind", "add", "Tea", "--in", "99999999d"),
        quiet("remind", "add", "Tea", "--in", "999999d"),
    ]
    assert [one.code for one in refused] == [2] * 6
    assert truths(quiet) == before


@pytest.mark.parametrize(("path", "at"), turns(4, product(["soma.yaml", "state.yaml"], FAR)))
def test_a_clock_of_such_a_year_names_file_and_line(quiet: Run, path: str, at: str) -> None:
    quiet.ok("soma", "tick")
    if path == "soma.yaml":
        quiet.write(path, f"{quiet.text(path)}felt: {{text: calm, at: {at}}}\n")
        line = quiet.text(path).count("\n")
    else:
        quiet.write(path, f"consolidate:\n  at: {at}\n  count: 1\n")
        line = 2
    ran = quiet("tick", "--check")
    assert "automations" in ran.out
    assert f"{path}:{line}: " in ran.err
    assert f"{path}:{line}" in quiet("doctor").out.replace("soma.yaml: ", "soma.yaml:")
    assert quiet("status").code in (0, 12)


@pytest.mark.parametrize("zone", turns(6, ZONES))
def test_a_clock_with_an_offset_that_there_is_not_tells_the_time(run: Run, zone: str) -> None:
    environ = {**os.environ, **run.environ, "TZ": zone, "BUMBLE_EMBEDDING_MODEL": "none"}
    for words in (("status",), ("tick", "--check"), ("status", "--now", "2026-05-24T12:00")):
        command = forked.bumble(words, environ)
        ran = subprocess.run(
            **command, cwd=run.entity.root, capture_output=True, text=True, timeout=60
        )
        assert ran.returncode in (0, 20), ran.stderr


def test_a_dry_run_on_a_folder_half_a_year_old_ends(run: Run) -> None:
    long_ago = datetime.now(UTC) - timedelta(days=180)
    for day in range(5):
        at = (long_ago + timedelta(days=day)).isoformat(timespec="seconds")
        episode(run, f"{day}", f"We walked to the mill, day {day}.", at=at, significance=0.3)
    run.environ["BUMBLE_EMBEDDING_MODEL"] = "none"
    run.now = datetime.now(UTC)
    ran = run("tick", "--dry-run")
    assert ran.code in (0, 20), ran.err  # 20: no model is here to be asked
    assert "consolidate" in ran.out
