"""What `--help` adds to typer's own: an example first, the words explained last, near names.

An example that isn't listed is made of what a command must be given.
"""

from __future__ import annotations

import json
from difflib import get_close_matches
from typing import Any

from bumble.cli import completing
from bumble.cli.pages import terms

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
    "config set": "bumble config set --user llm.model ollama:llama3.2",
    "config show": "bumble config show --origin",
    "config unset": "bumble config unset --user llm.model",
    "consolidate": "bumble consolidate --check",
    "cron": "bumble cron install --yes",
    "cron add": 'bumble cron add "0 8 * * *" "Write down what today may bring."',
    "cron install": "bumble cron install --yes",
    "cron remove": "bumble cron remove --yes",
    "deep-recall": 'bumble deep-recall "how did Sam come to have a dog"',
    "demo": "bumble demo",
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
    "knowledge rename": 'bumble knowledge rename Tea "What Sam drinks"',
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
SAMPLES = {  # of what must be given, by the command's first word or by the argument
    "anchor": "calm",
    "knowledge": "Tea",
    "person": "Sam",
    "project": '"The boat"',
    "skill": "bread",
    "folder": "~/ada",
}
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


def example(path: str, command: Any) -> str:
    """Return how a command is called, as somebody would."""
    if path in EXAMPLES:
        return EXAMPLES[path]
    if hasattr(command, "commands") and not command.invoke_without_command:
        return f"bumble {path} list"
    group = path.split()[0]
    given = [
        SAMPLES.get(group) or SAMPLES.get(param.name, "last")
        for param in command.params
        if param.param_type_name == "argument" and param.required
    ]
    return " ".join(["bumble", path, *given])


def words(path: str, command: Any, ctx: Any) -> list[tuple[str, str]]:
    """Return the words of a command's help that need a sentence, each with it."""
    shown = [param.get_help_record(ctx) for param in command.params if param.expose_value]
    said = [path, command.help or "", *(record[1] for record in shown if record)]
    return terms.explained("\n".join(said))


def explain(command: Any, path: str) -> Any:
    """Let the help of a command, and of those below it, begin with an example."""
    written = command.format_help

    def format_help(ctx: Any, formatter: Any) -> None:
        formatter.write(f"Example: {example(path, command)}\n\n")
        written(ctx, formatter)
        if found := words(path, command, ctx):
            with formatter.section("Words"):
                formatter.write_dl(found)

    command.format_help = format_help
    for name, below in getattr(command, "commands", {}).items():
        explain(below, f"{path} {name}")
    return command


def nearest(typed: str) -> list[str]:
    """Name the commands that somebody may have meant, the likeliest first."""
    paths = {path for path in json.loads(completing.WORDS.read_bytes())["commands"] if path}
    last = {path.split()[-1] for path in paths}
    close = [typed, *get_close_matches(typed, last | set(WANTED))]
    meant = [WANTED[word] for word in close if word in WANTED]
    meant += [word for word in close if word in paths]
    meant += sorted(path for word in close for path in paths if path.endswith(f" {word}"))
    if typed in last or typed in WANTED:
        meant = [path for path in meant if path.endswith(typed) or path == WANTED.get(typed)]
    return list(dict.fromkeys(meant))[:MOST_MEANT]
