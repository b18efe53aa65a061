from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bumble.cli.commands import cron
from tests.support import looking
from tests.support.running import Run

CRONTAB = """#!/bin/sh
place={place}
case "$1" in
-l) if [ -f "$place" ]; then /bin/cat "$place"; else echo "no crontab for sam" >&2; exit 1; fi ;;
-) /bin/cat > "$place" ;;
esac
"""
SYSTEMCTL = '#!/bin/sh\necho "$@" >> {place}\n'

REFUSING = """#!/bin/sh
echo "$@" >> {place}
case "$2" in daemon-reload) echo "Failed to connect to bus" >&2; exit 1 ;; esac
"""


def program(run: Run, tmp_path: Path, name: str, source: str) -> Path:
    """Put a program on the PATH; returns the file it works on."""
    place, folder = tmp_path / f"{name}.kept", tmp_path / "bin"
    folder.mkdir(exist_ok=True)
    script = folder / name
    script.write_text(source.format(place=place))
    script.chmod(0o755)
    run.environ["PATH"] = str(folder)
    return place


def test_nothing_is_installed_without_yes(run: Run, tmp_path: Path) -> None:
    place = program(run, tmp_path, "crontab", CRONTAB)
    ran = run.ok("cron", "install")
    assert f"-m bumble -e {run.entity.root} tick" in ran.out
    assert "--yes does it" in ran.err
    assert not place.exists()


def test_it_is_installed_once_and_removed_without_a_trace(run: Run, tmp_path: Path) -> None:
    place = program(run, tmp_path, "crontab", CRONTAB)
    place.write_text("0 5 * * * backup\n")
    run.ok("cron", "install", "--yes")
    once = place.read_text()
    run.ok("cron", "install", "--yes")
    assert place.read_text() == once
    assert once.startswith("0 5 * * * backup\n# bumble begins: ")
    assert run.ok("cron", "show", "--json").data["installed"]["crontab"]
    assert "-*/10" in run.ok("cron", "remove").out
    assert place.read_text() == once
    run.ok("cron", "remove", "--yes")
    assert place.read_text() == "0 5 * * * backup\n"
    assert "nothing of it" in run.ok("cron", "remove", "--yes").out


def test_timers_of_systemd_where_there_is_no_cron(run: Run, tmp_path: Path) -> None:
    place = program(run, tmp_path, "systemctl", SYSTEMCTL)
    units = Path(run.environ["XDG_CONFIG_HOME"]) / "systemd" / "user"
    assert "OnCalendar" in run.ok("cron", "install").out
    assert not units.exists()
    run.ok("config", "set", "name", "Zoë 小明")
    run.ok("cron", "install", "--yes")
    names = sorted(path.name for path in units.iterdir())
    assert all(name.isascii() for name in names)  # systemd takes no others
    assert [name.rsplit(".")[-1] for name in names] == ["service", "timer"]
    assert run.ok("cron", "show", "--json").data["installed"]["systemd"]
    run.ok("cron", "remove", "--yes")
    assert list(units.iterdir()) == []
    assert place.read_text().splitlines() == [
        "--user daemon-reload",
        "--user daemon-reload",
        f"--user enable --now {names[1]}",
        f"--user disable --now {names[1]}",
        "--user daemon-reload",
    ]


def test_what_really_runs_is_shown(run: Run, tmp_path: Path) -> None:
    place = program(run, tmp_path, "crontab", CRONTAB)
    assert "last tick: never" in run.ok("cron", "show").out
    run.ok("cron", "install", "--yes")
    gone = place.read_text().replace(f" {sys.executable} ", " /gone/python ")
    place.write_text(gone)
    shown = run.ok("cron", "show", "--json").data
    assert shown["runs"] == [f"*/10 * * * * /gone/python -P -m bumble -e {run.entity.root} tick"]
    place.write_text(gone.replace("*/10", "# */10"))
    assert not run.ok("cron", "show", "--json").data["installed"]["crontab"]
    looking.without_models(run)
    run.ok("tick")
    assert run.ok("cron", "show", "--json").data["last_tick"].startswith("2026-05-24T12:")


def test_a_program_that_never_ends_is_waited_for_no_longer(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cron, "TIMEOUT_SECONDS", 0.1)
    program(run, tmp_path, "crontab", "#!/bin/sh\nexec /bin/sleep 9\n")
    ran = run("cron", "install", "--yes")
    assert ran.code == 1
    assert "crontab -l did not end within 0.1 seconds\n" in ran.err


def test_an_automation_is_a_file_and_is_shown_with_its_next_time(run: Run) -> None:
    made = run.ok("cron", "add", "0 8 * * 7", "Look back at the week", "--json").data
    assert run.text(f"automations/{made['id']}.md").startswith('---\nschedule: "0 8 * * 7"\n')
    (shown,) = run.ok("cron", "show", "--json").data["automations"]
    assert (shown["next"], shown["enabled"]) == ("2026-05-31T08:00:00+01:00", True)
    assert "next 2026-05-31 08:00" in run.ok("cron", "show").out
    due = ("--now", "2026-06-01T09:05")
    (shown,) = run.ok("cron", "show", "--json", *due).data["automations"]
    assert shown["next"] == "2026-05-31T08:00:00+01:00"
    assert "due since 2026-05-31 08:00" in run.ok("cron", "show", *due).out


@pytest.mark.parametrize("when", ["0 8 * *", "0 8 * * 9"])
def test_a_schedule_that_is_none_adds_nothing(run: Run, when: str) -> None:
    ran = run("cron", "add", when, "Look")
    assert ran.code == 2
    assert "is no schedule" in ran.err
    assert not run.file("automations").exists()


def test_doctor_names_a_schedule_that_is_none_and_a_file_that_is_no_reminder(run: Run) -> None:
    run.write("automations/x.md", "---\nschedule: 0 8 * * 9\n---\n\nLook.\n")
    run.write("reminders/rem_1.md", "---\nat: tomorrow\n---\n\nTea.\n")
    run.write("reminders/note.txt", "x\n")
    found = run("doctor", "--json").data["findings"]
    places = {(one["code"], one["path"], one["line"]) for one in found}
    assert ("schedule-invalid", "automations/x.md", 2) in places
    assert ("record-invalid", "reminders/rem_1.md", 2) in places
    assert ("file-unread", "reminders/note.txt", None) in places


def test_an_install_that_systemd_refuses_leaves_nothing_behind(run: Run, tmp_path: Path) -> None:
    program(run, tmp_path, "systemctl", REFUSING)
    units = Path(run.environ["XDG_CONFIG_HOME"]) / "systemd" / "user"
    ran = run("cron", "install", "--yes")
    assert ran.code == 1
    assert "Failed to connect to bus\nNothing was installed." in ran.err
    assert not units.parent.exists()
    shown = run.ok("cron", "show", "--json").data
    assert (shown["installed"], shown["problems"]) == ({"crontab": False, "systemd": False}, [])


def test_what_crontab_says_where_it_refuses_is_told(run: Run, tmp_path: Path) -> None:
    program(run, tmp_path, "crontab", CRONTAB.replace("/bin/cat >", "echo disk full >&2; exit 1 #"))
    ran = run("cron", "install", "--yes")
    assert ran.code == 1
    assert "crontab refused it: disk full" in ran.err


def test_a_folder_that_is_gone_leaves_the_crontab_and_keys_of_the_shell_are_named(
    run: Run, tmp_path: Path
) -> None:
    place = program(run, tmp_path, "crontab", CRONTAB)
    run.environ["OPENAI_API_KEY"] = "sk-x"
    assert "OPENAI_API_KEY" in run.ok("cron", "install", "--yes").err
    assert "OPENAI_API_KEY" in run.ok("cron", "show").out
    gone = run.entity.root.rename(tmp_path / "moved")
    ran = run("-e", str(run.entity.root), "cron", "remove", "--yes", cwd=gone)
    assert (ran.code, "bumble" in place.read_text()) == (0, False)
