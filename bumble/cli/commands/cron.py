"""`bumble cron`: ticks in crontab or systemd; automations shown and added."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from msgspec import Struct

from bumble.cli import listing, opening, output, writing
from bumble.cli.command import DryRunOption, EntityOption, YesOption, group, plain, reads, writes
from bumble.cli.process import Shell
from bumble.entity import installation
from bumble.errors import RecordInvalidError, RefusedError, UsageError, UserError
from bumble.files import disk
from bumble.jobs import tick
from bumble.llm import detect
from bumble.records import automations, base, kind
from bumble.runtime import schedule

MINUTES = 10
TIMEOUT_SECONDS = 30
_BEGIN, _END = "# bumble begins: ", "# bumble ends: "
ELSEWHERE = "`bumble cron install` without --yes prints what another scheduler needs to run."
FROM_SHELL = (  # variables that say where files lie, or which model is asked
    *("BUMBLE_WEIGHTS", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"),
    *("BUMBLE_LLM_MODEL", "BUMBLE_LLM_PROVIDER", "BUMBLE_LLM_BASE_URL"),
)
_NONE_YET = "no crontab"  # what `crontab -l` says where there is none


class Job(Struct, frozen=True):
    """The ticks of one entity, as the system is to run them."""

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
        return f"bumble-{self.digest}"

    @property
    def digest(self) -> str:
        """What its folder is known by in the names of units."""
        return disk.sha256(str(self.root).encode())[:8]


def block(job: Job) -> str:
    """Return the lines of a crontab that run an entity's ticks."""
    line = f"*/{MINUTES} * * * * {shlex.join(job.arguments)}"
    line = line.replace("%", "\\%")  # else it ends a line
    return f"{_BEGIN}{job.root}\n{line}\n{_END}{job.root}\n"


def with_block(crontab: str, job: Job, text: str) -> str:
    """Return a crontab with a text as an entity's block, else at its end; the rest stays."""
    lines, span = _split(crontab, job)
    if span is None:
        gap = "" if not (crontab and text) or crontab.endswith("\n") else "\n"
        return crontab + gap + text
    return "".join([*lines[: span[0]], text, *lines[span[1] :]])


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
    """Return the user's crontab; empty where there is none yet, or no cron.

    Raises:
        UserError: If it can't be read.
    """
    if not available("crontab", environ):
        return ""
    process = _run(["crontab", "-l"], environ)
    if process.returncode and _NONE_YET not in process.stderr.casefold():
        raise UserError(f"crontab -l: {process.stderr.strip() or process.returncode}")
    return "" if process.returncode else process.stdout


def change_crontab(job: Job, text: str, environ: Mapping[str, str], *, writes: bool) -> list[str]:
    """Make a text an entity's block in the user's crontab.

    Returns:
        The lines that change.

    Raises:
        UserError: If cron refuses it.
    """
    before = read_crontab(environ)
    after = with_block(before, job, text)
    if writes and after != before:
        process = _run(["crontab", "-"], environ, after)
        if process.returncode:
            raise UserError(f"crontab refused it: {process.stderr.strip() or process.returncode}")
    return list(kind.changed_lines(before, after, context=0))[1:]


def units(job: Job) -> dict[str, str]:
    """Return the systemd units of an entity's ticks, by file name."""
    command = " ".join(map(_quoted, job.arguments))
    unit = f"[Unit]\nDescription=bumble tick for {job.name.replace('%', '%%')}\n\n"
    service = f"[Service]\nType=oneshot\nExecStart={command}\nNice=10\n"
    timer = f"[Timer]\nOnCalendar=*:0/{MINUTES}\nPersistent=true\n\n"
    return {
        f"{job.unit}.service": unit + service,
        f"{job.unit}.timer": f"{unit}{timer}[Install]\nWantedBy=timers.target\n",
    }


def _quoted(word: str) -> str:
    """Quote a word of an ExecStart line, where % and $ have meanings of their own."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("%", "%%").replace("$", "$$") + '"'


def unit_files(job: Job, folder: Path) -> list[Path]:
    """Return the units that are there, whatever the entity was called when they were written."""
    return sorted(folder.glob(f"bumble-*{job.digest}*.*"))


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
    if (program := shutil.which(command[0], path=environ.get("PATH", ""))) is None:
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


app = group()
WithOption = Annotated[
    Literal["crontab", "systemd"] | None,
    typer.Option("--with", help="What runs it. Default: crontab if there is one."),
]
PrintOption = Annotated[
    bool, typer.Option("--print", help="Print what would be done; the default without --yes.")
]
NOT_YET = "Nothing was changed: --yes does it."


@app.command()
@reads
def show(
    opened: opening.Opened,
) -> None:
    """Show what would run the ticks, what does, and the automations with their times."""
    job = Job(opened.root, opened.identity.name, sys.executable)
    crontab, span = _split(read_crontab(opened.shell.environ), job)
    lines = [line.strip() for line in crontab[slice(*span)]] if span else []
    lines = [line for line in lines if line and not line.startswith("#")]  # that cron runs
    has_units = bool(unit_files(job, _units(opened.shell)))
    last = next((run for run in tick.read(opened.entity.runs) if run.command == "tick"), None)
    listed = listing.readable(
        opened, automations.AUTOMATION.files(opened.entity.automations), automations.AUTOMATION.load
    )
    data = {
        "crontab": block(job),
        "units": units(job),
        "scheduler": _scheduler(opened),
        "installed": {"crontab": bool(lines), "systemd": has_units},
        "runs": lines + ([f"{job.unit}.timer"] if has_units else []),
        "problems": [
            *(_lacking(opened) if lines or has_units else ()),
            *filter(None, [tick.failing(opened.entity.runs, opened.zone)]),
        ],
        "last_tick": last.at.isoformat() if last else None,
        "automations": [_automation(opened, automation) for automation in listed.records],
    }
    output.result(opened.shell, "cron show", data, _shown(opened, data, last.at if last else None))
    listing.ended(listed)


def _lacking(opened: opening.Opened) -> list[str]:
    """Say what only this shell knows, and no tick that the system runs."""
    shell, config = opened.shell, opened.config.llm
    known = detect.provider_named(config.provider)
    keys = (config.api_key_env, known.key if known else "")
    told = [key for key in keys if key and not installation.secret(key, {}, shell.secrets_file)]
    names = [name for name in (*told, *FROM_SHELL) if shell.environ.get(name)]
    advice = f"keys belong in {shell.secrets_file}, settings in `bumble config set --user`"
    sentence = f"only this shell has {', '.join(names)}, and the ticks have none of it: {advice}"
    return [sentence] if names else []


@app.command()
@reads
def install(
    opened: opening.Opened,
    *,
    scheduler: WithOption = None,
    only_print: PrintOption = False,
    yes: YesOption = False,
) -> None:
    """Have the system run a tick every ten minutes; without --yes, print what that takes."""
    yes = yes and not only_print
    job = Job(opened.root, opened.identity.name, sys.executable)
    chosen = scheduler or _scheduler(opened)
    environ, folder = opened.shell.environ, _units(opened.shell)
    text = [block(job)]
    if chosen == "systemd":
        text = [line for name, unit in units(job).items() for line in (f"# {folder / name}", unit)]
        if yes:
            try:
                _systemctl(environ, "daemon-reload")
            except UserError as error:  # it isn't there: nothing is written
                raise UserError(f"{error}\nNothing was installed. {ELSEWHERE}") from error
            for name, unit in units(job).items():
                disk.write_atomic(folder / name, unit.encode())
            _systemctl(environ, "daemon-reload")
            _systemctl(environ, "enable", "--now", f"{job.unit}.timer")
    elif yes:
        change_crontab(job, block(job), environ, writes=True)
    done = f"{chosen} runs the ticks now." if yes else NOT_YET
    _say(opened.shell, "cron install", chosen, text, done, changed=yes)
    for lack in _lacking(opened):
        output.warn(opened.shell, lack)


@app.command()
@plain
def remove(
    shell: Shell,
    *,
    scheduler: WithOption = None,
    only_print: PrintOption = False,
    yes: YesOption = False,
    entity: EntityOption = None,
) -> None:
    """Have the system run no tick of a folder, which may be gone; without --yes, print how."""
    yes = yes and not only_print
    named = entity or shell.entity
    root = shell.real_path(named) if named else opening.locate(shell, None)[0]
    job = Job(root, "", sys.executable)
    files = unit_files(job, _units(shell))
    chosen = scheduler or ("systemd" if files else "crontab")
    if chosen == "systemd":
        text = list(map(str, files))
        if yes and files:
            timers = [file.name for file in files if file.suffix == ".timer"]
            _systemctl(shell.environ, "disable", "--now", *timers)
            for file in files:
                disk.remove(file)
            _systemctl(shell.environ, "daemon-reload")
    else:
        text = change_crontab(job, "", shell.environ, writes=yes)
    done = "" if not text else f"{chosen} runs no tick any more." if yes else NOT_YET
    _say(shell, "cron remove", chosen, text, done, changed=yes and bool(text))


@app.command()
@writes
def add(
    opened: opening.Opened,
    when: Annotated[str, typer.Argument(metavar="SCHEDULE", help='As "0 8 * * MON-FRI".')],
    prompt: writing.TextArgument = None,
    *,
    editor: writing.EditorOption = False,
    dry_run: DryRunOption = False,
) -> None:
    """Add an automation: what the entity does by itself at set times, into its journal.

    It is a file in `automations/`: edit it, switch it off with `enabled: false`, or remove it.
    """
    at = opened.now
    try:
        following = schedule.following(when, at, opened.zone)
    except ValueError as error:
        raise UsageError(str(error)) from error
    if len(automations.AUTOMATION.files(opened.entity.automations)) >= automations.MOST:
        raise RefusedError(
            f"There are {automations.MOST} automations, the most there may be.\n"
            "Remove a file from `automations/` first."
        )
    with writing.collect(opened.shell, prompt, in_editor=editor, name="automation.md") as text:
        automation = automations.AUTOMATION.new(
            base.new_id(automations.AUTOMATION.prefix, at, opened.shell.rng),
            text,
            base.Provenance(by="cron add", trust="owner"),
            schedule=when,
            last=at,
        )
        change = automations.AUTOMATION.plan_new(
            automation, f"do at {when}: {output.shorten(text, 50)}"
        )
        place = automations.AUTOMATION.path(automation.id)
        writing.commit(
            opened,
            "cron add",
            [change],
            f"{place} runs first at {listing.when(following, opened)}, with `bumble tick`.",
            dry_run=dry_run,
            id=automation.id,
        )


def _scheduler(opened: opening.Opened) -> str:
    environ = opened.shell.environ
    if not available("crontab", environ) and available("systemctl", environ):
        return "systemd"
    return "crontab"


def _units(shell: Shell) -> Path:
    """Return where a user's systemd units lie."""
    config = shell.environ.get("XDG_CONFIG_HOME")
    return (Path(config) if config else disk.expanded(Path("~/.config"))) / "systemd" / "user"


def _say(
    shell: Shell, command: str, chosen: str, text: Sequence[str], done: str, *, changed: bool
) -> None:
    lines = [line.rstrip("\n") for line in text] or "There is nothing of it."
    output.result(shell, command, {"changed": changed, "with": chosen, "text": list(text)}, lines)
    if done:
        output.say(done)


def _automation(opened: opening.Opened, automation: automations.Automation) -> dict[str, Any]:
    at, problem = None, None
    if automation.enabled:
        try:
            at = schedule.runs_next(opened.entity, automation, opened.now, opened.zone).isoformat()
        except RecordInvalidError as error:
            problem = str(error)
    return {
        "id": automation.id,
        "schedule": automation.schedule,
        "enabled": automation.enabled,
        "failures": automation.failures,
        "last": automation.last.isoformat() if automation.last else None,
        "next": at,
        "problem": problem,
        "prompt": automation.prompt,
    }


def _shown(opened: opening.Opened, data: dict[str, Any], last: datetime | None) -> list[str]:
    installed = [name for name, is_installed in data["installed"].items() if is_installed]
    lines = [f"ticks: run by {' and '.join(installed)}"] if installed else []
    lines += [f"  {line}" for line in data["runs"]]
    if not installed:
        lines = ["ticks: run by nothing yet; `bumble cron install --yes` has this done:"]
        texts = data["units"].values() if data["scheduler"] == "systemd" else [data["crontab"]]
        lines += [f"  {line}".rstrip() for text in texts for line in text.splitlines()]
    lines += [
        *(f"problem: {problem}" for problem in data["problems"]),
        f"last tick: {listing.when(last, opened)}",
    ]
    if not data["automations"]:
        return [*lines, 'automations: none; `bumble cron add "0 8 * * *" "…"` makes one']
    rows = [
        [one["id"], one["schedule"], _state(opened, one), output.shorten(one["prompt"], 50)]
        for one in data["automations"]
    ]
    return [*lines, "automations:", *output.table(rows, indent="  ")]


def _state(opened: opening.Opened, automation: Mapping[str, Any]) -> str:
    if not automation["next"]:
        return str(automation["problem"] or "switched off")
    at = datetime.fromisoformat(automation["next"])
    return f"{'due since' if at <= opened.now else 'next'} {listing.when(at, opened)}"
