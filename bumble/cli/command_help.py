"""What commands get beyond typer's own: an example in their help, near names, plain values."""

from __future__ import annotations

import json
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import typer

from bumble.cli import completing
from bumble.text.printable import argument

EXAMPLES = {
    "anchor add": 'bumble anchor add calm "The evening by the sea."',
    "belief add": 'bumble belief add "Sam drinks green tea."',
    "belief contradict": "bumble belief contradict 3EJ2AZ --with last",
    "catalysts": "bumble catalysts --dry-run",
    "catalyze": 'bumble catalyze "what became of the boat"',
    "chat": 'bumble chat "My dog is called Biscuit."',
    "compact": "bumble compact --dry-run",
    "completion": "source <(bumble completion bash)",
    "config": "bumble config show",
    "config get": "bumble config get llm.model",
    "git-merge": "bumble git-merge BASE OURS THEIRS journal.md",
    "config set": "bumble config set --user llm.model ollama:llama3.2",
    "config show": "bumble config show --origin",
    "config unset": "bumble config unset --user llm.model",
    "consolidate": "bumble consolidate --check",
    "cron": "bumble cron install --yes",
    "cron add": 'bumble cron add "0 8 * * *" "Write down what today may bring."',
    "cron install": "bumble cron install --yes",
    "cron remove": "bumble cron remove --yes",
    "deep-recall": 'bumble deep-recall "how did Sam come to have a dog"',
    "diff": "bumble diff last",
    "distill": "bumble distill --session HGJZAA",
    "dream": "bumble dream --check",
    "episode add": 'bumble episode add "We found the old boat."',
    "eval": "bumble eval",
    "eval draft": "bumble eval draft",
    "evolve": "bumble evolve --check",
    "expand": "bumble expand 1f0c2d3e4a5b",
    "export": "bumble export --to markdown ~/ada-notes",
    "import": "bumble import ~/Downloads/chatgpt-export.zip",
    "journal": "bumble journal show",
    "journal add": 'bumble journal add "The first evening."',
    "journal search": "bumble journal search evening",
    "knowledge": "bumble knowledge show",
    "knowledge set": 'bumble knowledge set Tea "Sam drinks green tea."',
    "log": "bumble log",
    "mcp": "bumble mcp --print-config claude-code",
    "model pull": "bumble model pull qwen3.5-4b",
    "model remove": "bumble model remove qwen3.5-4b",
    "model probe": "bumble model probe",
    "model show": "bumble model show",
    "new": "bumble new ~/ada",
    "noise": "bumble noise",
    "person": "bumble person show Sam",
    "person add": 'bumble person add Bo "Sam\'s brother."',
    "person forget": "bumble person forget Bo --dry-run",
    "petri": "bumble petri",
    "project add": 'bumble project add "The boat"',
    "recall": 'bumble recall "what is the dog afraid of"',
    "reflect": "bumble reflect Sam --check",
    "remind": 'bumble remind add --in 2h "Call the vet"',
    "remind add": 'bumble remind add --in 2h "Call the vet"',
    "report": "bumble report ~/ada.html",
    "review": "bumble review",
    "review accept": "bumble review accept --all",
    "review reject": "bumble review reject --all",
    "review show": "bumble review show",
    "route": 'bumble route "Why is the sky blue?"',
    "session show": "bumble session show HGJZAA",
    "skill set": 'bumble skill set bread "Let it rest for a night."',
    "soma": "bumble soma",
    "sync": "bumble sync --push",
    "tick": "bumble tick --settle -v",
    "undo": "bumble undo --last",
    "wake": "bumble wake --check",
    "why": 'bumble why "My dog is called Biscuit"',
}
MOST_MEANT = 3  # commands that are suggested
WANTED = {  # what people type for commands of other names
    **dict.fromkeys(("ask", "say", "talk"), "chat"),
    **dict.fromkeys(("find", "search", "memory", "memories"), "recall"),
    **dict.fromkeys(("init", "create"), "new"),
    **dict.fromkeys(("remember", "learn"), "knowledge set"),
    **dict.fromkeys(("settings", "setting"), "config"),
    "backup": "export",
    "body": "soma",
    "check": "doctor",
    "help": "--help",
    "history": "log",
    "models": "model list",
    "people": "person list",
    "schedule": "cron",
    "setup": "new",
    "sleep": "dream",
    "topics": "petri",
    "sources": "why",
    "diary": "journal",
}


def prepare(command: Any, path: str, option: Any) -> None:
    """Let a command, and those below it, take --json and be quick, and show its example."""
    if not any("--json" in param.opts for param in command.params):
        command.params.append(option)
    if path in EXAMPLES:
        command.epilog = f"Example: {EXAMPLES[path]}"
    quicken(command)
    for name, below in getattr(command, "commands", {}).items():
        prepare(below, f"{path} {name}", option)


def nearest(typed: str) -> list[str]:
    """Name the commands that somebody may have meant, the likeliest first."""
    paths = {path for path in json.loads(completing.WORDS.read_bytes())["commands"] if path}
    last = {path.split()[-1] for path in paths}
    close = [typed, *get_close_matches(typed, last | set(WANTED))]
    meant = [
        *(WANTED[word] for word in close if word in WANTED),
        *(word for word in close if word in paths),
        *sorted(path for word in close for path in paths if path.endswith(f" {word}")),
    ]
    if typed in last or typed in WANTED:
        meant = [path for path in meant if path.endswith(typed) or path == WANTED.get(typed)]
    return list(dict.fromkeys(meant))[:MOST_MEANT]


def quicken(command: Any) -> Any:
    """Let the parameters of a command take plain values as they are."""
    listed = command.get_params  # the option --help is only made when it is asked for these

    def get_params(ctx: Any) -> list[Any]:
        params: list[Any] = listed(ctx)
        for param in params:
            if getattr(param, "_runtime_param", 0) is None:  # where typer keeps its adapter
                param._runtime_param = _Plain()
        return params

    command.get_params = get_params
    return command


class _Plain:
    """Stands where typer's adapter would, and makes way for it when that is needed."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Turn what was typed into what the command takes."""
        wanted = param.type_descriptor.annotation
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if wanted is Path:  # the name of a file may be any bytes
            if value == "":  # of an unset variable; it would mean the folder here
                raise typer.BadParameter("it is empty", ctx=ctx, param=param)
            return Path(value)
        try:
            if wanted is str:
                return argument(value)
            if wanted == list[str]:
                return list(map(argument, value))
        except ValueError:  # it would be stored, and no later command could read it
            raise typer.BadParameter("it is not UTF-8 text", ctx=ctx, param=param) from None
        if wanted in (int, float) and type(value) is wanted and value == param.default:
            return value
        param._runtime_param = None
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)
