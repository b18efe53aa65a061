"""`bumble cron`: install `bumble tick` in crontab or systemd; show, add, remove automations."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime
from difflib import unified_diff
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from bumble.cli import commit, crontab, listing, output, text_input
from bumble.cli.command import DryRunOption, YesOption, group, reads, writes
from bumble.cli.opening import Opened
from bumble.errors import RefusedError, UsageError
from bumble.files import git
from bumble.jobs import tick
from bumble.records import automations, base
from bumble.runtime import schedule

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
    opened: Opened,
) -> None:
    """Show what would run the ticks, what does, and the automations with their times."""
    job = _job(opened)
    lines = crontab.commands_in(_crontab(opened) or "", job)
    active = crontab.timer_runs(job, opened.shell.environ)
    last = next((run for run in tick.read(opened.entity.runs) if run.command == "tick"), None)
    listed = listing.readable(
        opened, automations.paths(opened.entity.automations), automations.load
    )
    data = {
        "crontab": crontab.block(job),
        "units": crontab.units(job),
        "scheduler": _scheduler(opened),
        "installed": {
            "crontab": bool(lines),
            "systemd": active,
        },
        "runs": lines + ([f"{job.unit}.timer"] if active else []),
        "problems": _problems(opened, job, lines, active=active),
        "last_tick": last.at.isoformat() if last else None,
        "automations": [_automation(opened, automation) for automation in listed.records],
    }
    output.result(opened.shell, "cron show", data, _shown(opened, data))
    listing.ended(listed)


def _problems(opened: Opened, job: crontab.Job, lines: Sequence[str], *, active: bool) -> list[str]:
    """Say why what is installed runs no tick."""
    anew = "`bumble cron install --yes` writes it anew"
    problems = []
    for line in lines:
        program = crontab.program_of(line)
        if Path(program).is_absolute() and not Path(program).exists():
            problems.append(f"the crontab runs {program}, which is gone; {anew}")
    if lines and crontab.daemon_runs() is False:
        problems.append("no cron runs on this machine, so nobody reads the crontab; start it")
    if crontab.has_units(job, _units(opened)) and not active:
        again = "`bumble cron install --with systemd --yes` starts it, `bumble cron remove` ends it"
        problems.append(f"{job.unit}.timer is written, but systemd does not run it; {again}")
    return problems


@app.command()
@reads
def install(
    opened: Opened,
    *,
    scheduler: WithOption = None,
    only_print: PrintOption = False,
    yes: YesOption = False,
) -> None:
    """Have the system run a tick every ten minutes; without --yes, print what that takes."""
    job, chosen = _job(opened), scheduler or _scheduler(opened)
    acts = yes and not only_print
    if chosen == "systemd":
        if acts:
            crontab.install_units(job, _units(opened), opened.shell.environ)
        text = [
            line
            for name, unit in crontab.units(job).items()
            for line in (f"# {_units(opened) / name}", unit)
        ]
    else:
        before = _crontab(opened)
        after = crontab.with_block(before or "", job)
        if acts:
            _replace(opened, before, after)
        text = [crontab.block(job)]
    _say(opened, "cron install", chosen, text, acts=acts, sentence=f"{chosen} runs the ticks now.")
    if acts:
        _offer_review(opened)


def _offer_review(opened: Opened) -> None:
    """Ask whether what an able model makes of talks at night waits for its owner."""
    from bumble.cli import registry, setting_files
    from bumble.cli.models import abilities
    from bumble.entity import settings

    shell, root = opened.shell, opened.entity.root
    if not shell.interactive or shell.json or opened.config.git.review or git.at(root) is None:
        return
    if not abilities.may_remember(opened, None):
        return
    if not output.agrees("Shall what it makes of your talks wait for your word?", default=True):
        return
    value = f"[{', '.join(registry.reviewed())}]"
    setting_files.edit(
        shell,
        setting_files.entitys(root),
        lambda source, file: settings.plan_set(source, "git.review", value, file=file),
        "set git.review",
        dry_run=False,
    )
    output.say("It waits: `bumble review` shows one after the other.")


@app.command()
@reads
def remove(
    opened: Opened,
    *,
    scheduler: WithOption = None,
    only_print: PrintOption = False,
    yes: YesOption = False,
) -> None:
    """Have the system run no tick any more; without --yes, print what that changes."""
    job = _job(opened)
    has_units = crontab.has_units(job, _units(opened))
    chosen = scheduler or ("systemd" if has_units else "crontab")
    acts = yes and not only_print
    text: list[str] = []
    if chosen == "systemd" and has_units:
        text = [str(_units(opened) / name) for name in crontab.units(job)]
        if acts:
            crontab.remove_units(job, _units(opened), opened.shell.environ)
    elif chosen == "crontab":
        before = _crontab(opened) or ""
        after = crontab.without_block(before, job)
        text = list(unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0))[3:]
        if acts and after != before:
            crontab.write_crontab(after, opened.shell.environ)
    if not text:
        output.result(opened.shell, "cron remove", {"changed": False}, "There is nothing of it.")
        return
    sentence = f"{chosen} runs no tick any more."
    _say(opened, "cron remove", chosen, text, acts=acts, sentence=sentence)


@app.command()
@writes
def add(
    opened: Opened,
    when: Annotated[str, typer.Argument(metavar="SCHEDULE", help='As "0 8 * * MON-FRI".')],
    prompt: text_input.TextArgument = None,
    *,
    editor: text_input.EditorOption = False,
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
    if len(automations.paths(opened.entity.automations)) >= automations.MOST:
        raise RefusedError(
            f"There are {automations.MOST} automations, the most there may be.\n"
            "Remove a file from `automations/` first."
        )
    with text_input.collect(opened.shell, prompt, in_editor=editor, name="automation.md") as text:
        automation = automations.new(
            base.new_id(automations.PREFIX, at, opened.shell.rng),
            when,
            text,
            at,
            provenance=base.Provenance(by="cron add", trust="owner"),
        )
        change = automations.plan_new(automation, f"do at {when}: {output.shorten(text, 50)}")
        first = listing.when(following, opened)
        sentence = f"{automations.path(automation.id)} runs first at {first}, with `bumble tick`."
        commit.commit(opened, "cron add", [change], sentence, dry_run=dry_run, id=automation.id)


def _job(opened: Opened) -> crontab.Job:
    return crontab.Job(opened.entity.root, opened.identity.name, sys.executable)


def _scheduler(opened: Opened) -> str:
    environ = opened.shell.environ
    if not crontab.available("crontab", environ) and crontab.available("systemctl", environ):
        return "systemd"
    return "crontab"


def _crontab(opened: Opened) -> str | None:
    """Return the user's crontab; None where there is no cron."""
    environ = opened.shell.environ
    return crontab.read_crontab(environ) if crontab.available("crontab", environ) else None


def _replace(opened: Opened, before: str | None, after: str) -> None:
    if after != before:
        crontab.write_crontab(after, opened.shell.environ)


def _units(opened: Opened) -> Path:
    """Return where a user's systemd units lie."""
    config = opened.shell.environ.get("XDG_CONFIG_HOME")
    return (Path(config) if config else Path.home() / ".config") / "systemd" / "user"


def _say(
    opened: Opened, command: str, chosen: str, text: Sequence[str], *, acts: bool, sentence: str
) -> None:
    data = {"changed": acts, "with": chosen, "text": list(text)}
    output.result(opened.shell, command, data, [line.rstrip("\n") for line in text])
    output.say(sentence if acts else NOT_YET)


def _automation(opened: Opened, automation: automations.Automation) -> dict[str, Any]:
    following: datetime | None = None
    problem = None
    try:
        zone, now = opened.zone, opened.shell.now()
        following = (
            schedule.following(automation.schedule, now, zone) if automation.enabled else None
        )
    except ValueError as error:
        problem = str(error)
    return {
        "id": automation.id,
        "schedule": automation.schedule,
        "enabled": automation.enabled,
        "failures": automation.failures,
        "last": automation.last.isoformat() if automation.last else None,
        "next": following.isoformat() if following else None,
        "problem": problem,
        "prompt": automation.prompt,
    }


def _shown(opened: Opened, data: dict[str, Any]) -> list[str]:
    installed = [name for name, is_installed in data["installed"].items() if is_installed]
    lines = [f"ticks: run by {' and '.join(installed)}"] if installed else []
    lines += [f"  {line}" for line in data["runs"]]
    if not installed:
        lines = ["ticks: run by nothing yet; `bumble cron install --yes` has this done:"]
        texts = data["units"].values() if data["scheduler"] == "systemd" else [data["crontab"]]
        lines += [f"  {line}".rstrip() for text in texts for line in text.splitlines()]
    lines += [f"problem: {problem}" for problem in data["problems"]]
    lines.append(f"last tick: {_when(opened, data['last_tick']) if data['last_tick'] else 'never'}")
    if not data["automations"]:
        return [*lines, 'automations: none; `bumble cron add "0 8 * * *" "…"` makes one']
    rows = [
        [
            automation["id"],
            automation["schedule"],
            automation["problem"]
            or (
                f"next {_when(opened, automation['next'])}"
                if automation["enabled"]
                else "switched off"
            ),
            output.shorten(automation["prompt"], 50),
        ]
        for automation in data["automations"]
    ]
    return [*lines, "automations:", *output.table(rows, indent="  ")]


def _when(opened: Opened, at: str) -> str:
    return listing.when(datetime.fromisoformat(at), opened)
