"""The crontab lines, or systemd units, that run `bumble tick`, and their installation.

A crontab is its owner's: of it only the block between the two lines that name this entity is
touched.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from bumble.errors import RefusedError, UserError
from bumble.files import disk

MINUTES = 10
TIMEOUT_SECONDS = 30
_BEGIN, _END = "# bumble begins: ", "# bumble ends: "
ELSEWHERE = "`bumble cron install` without --yes prints what another scheduler needs to run."
FIELDS = 5  # of a line of a crontab, before its command
CRONS = frozenset(("cron", "crond", "fcron", "dcron", "bcron", "systemd-cron"))
_NONE_YET = "no crontab"  # what `crontab -l` says where there is none


class Job(Struct, frozen=True):
    """The command that runs the ticks of one entity."""

    root: Path  # its folder, absolute
    name: str
    python: str  # absolute

    def __post_init__(self) -> None:
        if not (str(self.root) + self.python).isprintable():
            raise RefusedError(f"{str(self.root)!r}: no crontab can name such a folder")

    @property
    def arguments(self) -> tuple[str, ...]:
        """The program and its arguments; no module is taken from the folder it starts in."""
        return (self.python, "-P", "-m", "bumble", "-e", str(self.root), "tick")

    @property
    def unit(self) -> str:
        """What its systemd units are called."""
        digest = disk.sha256(str(self.root).encode())[:8]
        return f"bumble-{disk.file_name(self.name)[:40]}-{digest}"


def block(job: Job) -> str:
    """Return the lines of a crontab that run an entity's ticks."""
    command = shlex.join(job.arguments).replace("%", "\\%")  # cron takes % for the end of a line
    line = f"*/{MINUTES} * * * * {command}"
    return f"{_BEGIN}{job.root}\n{line}\n{_END}{job.root}\n"


def with_block(crontab: str, job: Job) -> str:
    """Return a crontab with an entity's block, at its end if it is new; all else stays."""
    lines, span = _split(crontab, job)
    if span is None:
        gap = "" if not crontab or crontab.endswith("\n") else "\n"
        return crontab + gap + block(job)
    return "".join([*lines[: span[0]], block(job), *lines[span[1] :]])


def without_block(crontab: str, job: Job) -> str:
    """Return a crontab without an entity's block; all else stays."""
    lines, span = _split(crontab, job)
    return crontab if span is None else "".join([*lines[: span[0]], *lines[span[1] :]])


def _split(crontab: str, job: Job) -> tuple[list[str], tuple[int, int] | None]:
    """Find an entity's block among the lines: the first of it, and the first behind it."""
    lines = crontab.splitlines(keepends=True)
    plain = [line.rstrip("\r\n") for line in lines]
    begin, end = f"{_BEGIN}{job.root}", f"{_END}{job.root}"
    if begin not in plain and end not in plain:
        return lines, None
    if plain.count(begin) != 1 or plain.count(end) != 1 or plain.index(begin) > plain.index(end):
        raise RefusedError(
            f"Your crontab has half a block of {job.root}; it was left as it is\n"
            f"Mend it with `crontab -e`: the block stands between `{begin}` and `{end}`."
        )
    return lines, (plain.index(begin), plain.index(end) + 1)


def read_crontab(environ: Mapping[str, str]) -> str:
    """Return the user's crontab; empty where there is none yet.

    Raises:
        UserError: If there is no cron, or it can't be read.
    """
    process = _run(["crontab", "-l"], environ)
    if process.returncode and _NONE_YET not in process.stderr.casefold():
        raise UserError(f"crontab -l: {process.stderr.strip() or process.returncode}")
    return "" if process.returncode else process.stdout


def write_crontab(text: str, environ: Mapping[str, str]) -> None:
    """Replace the user's crontab, or leave it as it was.

    Raises:
        UserError: If cron refuses it, or says it has it and has not.
    """
    before = read_crontab(environ)
    process = _run(["crontab", "-"], environ, text)
    after = read_crontab(environ)
    if process.returncode == 0 and all(line in after for line in text.splitlines()):
        return
    if after != before:
        _run(["crontab", "-"], environ, before)
    why = process.stderr.strip() or f"it ended with {process.returncode}, and has not kept it"
    raise UserError(f"crontab refused it, and is as it was: {why}")


def commands_in(crontab: str, job: Job) -> list[str]:
    """Return the lines of an entity's block that cron runs, as they stand there."""
    lines, span = _split(crontab, job)
    within = lines[slice(*span)] if span else []
    return [line.strip() for line in within if line.strip() and not line.lstrip().startswith("#")]


def program_of(command: str) -> str:
    """Return the program that a line of a crontab runs."""
    try:
        words = shlex.split(command.replace("\\%", "%"))
    except ValueError:
        return ""
    return words[FIELDS] if len(words) > FIELDS else ""


def daemon_runs(processes: Path = Path("/proc")) -> bool | None:
    """Whether a process of this machine reads crontabs; None where that can't be told."""
    if not (processes / "1").is_dir():  # no Linux, or no look at the processes
        return None
    names = set()
    for place in processes.glob("[0-9]*/comm"):
        with suppress(OSError):  # it has ended since
            names.add(place.read_text(encoding="utf-8", errors="replace").strip())
    return bool(names & CRONS)


def units(job: Job) -> dict[str, str]:
    """Return the systemd units of an entity's ticks, by file name."""
    command = " ".join(_quoted(word) for word in job.arguments)
    what = f"Description=bumble tick for {job.name.replace('%', '%%')}"
    service = f"[Unit]\n{what}\n\n[Service]\nType=oneshot\nExecStart={command}\nNice=10\n"
    timer = (
        f"[Unit]\n{what}\n\n[Timer]\nOnCalendar=*:0/{MINUTES}\nPersistent=true\n\n"
        "[Install]\nWantedBy=timers.target\n"
    )
    return {f"{job.unit}.service": service, f"{job.unit}.timer": timer}


def _quoted(word: str) -> str:
    """Quote a word of an ExecStart line, where % and $ have meanings of their own."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("%", "%%").replace("$", "$$") + '"'


def install_units(job: Job, folder: Path, environ: Mapping[str, str]) -> None:
    """Write an entity's units and start its timer; if that fails, all is as it was.

    Raises:
        UserError: If systemd refuses.
    """
    wants = folder / "timers.target.wants"
    new_folders = [place for place in (wants, *wants.parents) if not place.exists()]
    before = {name: disk.read_if_there(folder / name) for name in units(job)}
    try:
        for name, text in units(job).items():
            disk.write_atomic(folder / name, text.encode())
        _systemctl(environ, "daemon-reload")
        _systemctl(environ, "enable", "--now", f"{job.unit}.timer")
    except UserError as error:
        for name, data in before.items():
            if data is None:
                disk.remove(folder / name)
                (wants / name).unlink(missing_ok=True)
            else:
                disk.write_atomic(folder / name, data)
        for place in new_folders:
            with suppress(OSError):  # systemd has not made it, or has put something else there
                place.rmdir()
        raise UserError(f"{error}\nNothing was installed. {ELSEWHERE}") from error


def remove_units(job: Job, folder: Path, environ: Mapping[str, str]) -> None:
    """Stop an entity's timer and remove its units.

    Raises:
        UserError: If systemd refuses.
    """
    _systemctl(environ, "disable", "--now", f"{job.unit}.timer")
    for name in units(job):
        disk.remove(folder / name)
    _systemctl(environ, "daemon-reload")


def has_units(job: Job, folder: Path) -> bool:
    """Whether an entity's timer is there."""
    return (folder / f"{job.unit}.timer").exists()


def timer_runs(job: Job, environ: Mapping[str, str]) -> bool:
    """Whether systemd runs an entity's timer now."""
    if not available("systemctl", environ):
        return False
    asked = ["systemctl", "--user", "is-active", "--quiet", f"{job.unit}.timer"]
    return _run(asked, environ).returncode == 0


def available(program: str, environ: Mapping[str, str]) -> bool:
    """Whether a program can be run."""
    return shutil.which(program, path=environ.get("PATH", "")) is not None


def _systemctl(environ: Mapping[str, str], *arguments: str) -> None:
    process = _run(["systemctl", "--user", *arguments], environ)
    if process.returncode:
        raise UserError(f"systemctl --user {' '.join(arguments)}: {process.stderr.strip()}")


def _run(
    command: Sequence[str], environ: Mapping[str, str], text: str = ""
) -> subprocess.CompletedProcess[str]:
    program = shutil.which(command[0], path=environ.get("PATH", ""))
    if program is None:
        raise UserError(f"There is no {command[0]} on this machine\n{ELSEWHERE}")
    try:
        return subprocess.run(
            [program, *command[1:]],
            input=text,
            capture_output=True,
            text=True,
            encoding="utf-8",
            env=dict(environ),
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        told = f"{' '.join(command)} did not end within {TIMEOUT_SECONDS} seconds"
        raise UserError(f"{told}\n{ELSEWHERE}") from error
