"""What `--help` adds to typer's own: an example first, the words explained last, near names.

An example that isn't listed is made of what a command must be given.
"""

from __future__ import annotations

import json
import re
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import typer

from bumble.cli import completing
from bumble.text.printable import argument

GROUPS = {
    "Whom you talk to": {
        "entity": "the one you talk to, made of the files in one folder.",
        "owner": "the person an entity belongs to.",
        "archetype": "a ready-made character that a new entity can begin with.",
        "session": "one conversation, kept word for word.",
        "incognito": "a talk that leaves no trace in the folder.",
    },
    "What it keeps": {
        "knowledge": "facts that it is shown in every talk.",
        "episode": "what it remembers of one stretch of talk.",
        "belief": "something it holds to be true, with how sure it is and what that rests on.",
        "portrait": "how it sees a person, and how the two get along.",
        "journal": "its diary.",
        "skill": "a note on how something is done.",
        "project": "something that is worked on over days, with its next step.",
        "topic": "something that several memories are about.",
        "catalyst": "a question that a topic keeps raising.",
    },
    "What it does between talks": {
        "cycle": "one kind of work on its memories between talks, such as a dream.",
        "stretch": "what was said without a long pause; so is the work on it called, too.",
        "tick": "one look at the clock: what is due is done, and nothing else.",
        "automation": "a task that it does by itself at set times.",
        "appraise": "to note what a talk made it feel.",
        "distill": "to draw facts, beliefs and notes from what was said.",
        "reflect": "to think about the people it talked with.",
        "consolidate": "to put memories in order, and let go of what has faded.",
        "narrate": "to tell its own story anew.",
        "dream": "to mix memories at night and write down what comes of it.",
        "wake": "to begin something by itself while nobody is there.",
        "evolve": "to propose small changes of who it is.",
        "settle": "to do at once what talks have left to be done.",
        "gate": "a condition that must hold before work between talks may begin.",
        "proposal": "a change that waits until you accept it.",
    },
    "How it is": {
        "soma": "its body as numbers: how lively, tense or content it is now.",
        "anchor": "a state of its body that has a name, to come back to.",
        "noise": "stray thoughts that come without a reason.",
        "reflex": "an answer given at once, without thinking it over first.",
    },
    "How it finds things": {
        "petri": "the list of topics, found by counting, without a model.",
        "catalyze": "to search memory by way of the questions its topics raise.",
        "index": "what memories are found by; it is made from the files, again at any time.",
        "embedding": "a text as numbers, by which texts of like meaning are found.",
    },
    "Models and other programs": {
        "prompt": "all the text a model is shown before it answers.",
        "compact": "to show a model a long talk in fewer words; nothing of it is lost.",
        "token": "a piece of a word; models count text in these.",
        "context window": "the most text a model can be shown at once.",
        "weights": "the file that a model of this machine consists of.",
        "GGUF": "a kind of file in which models are passed around.",
        "probe": "a short test of what a model can be trusted with.",
        "MCP": "a protocol by which programs such as Claude Code use each other's tools.",
        "remote": "a copy of the folder elsewhere, which git knows by name.",
        "clone": "a copy of the folder that git can bring together with this one.",
    },
}
TERMS = {term: text for group in GROUPS.values() for term, text in group.items()}
_ENDINGS = {"e": "(e|es|ed|ing|ion)", "y": "(y|ies)", "": "(s|es|ed|ing)?"}


def pattern(term: str) -> re.Pattern[str]:
    """Return what finds a word in any of its forms."""
    last = term[-1] if term[-1] in "ey" else ""
    stem = term.removesuffix(last)
    return re.compile(rf"(?<![\w.-]){re.escape(stem)}{_ENDINGS[last]}(?![\w-]|\.\w)", re.IGNORECASE)


def explained(text: str) -> list[tuple[str, str]]:
    """Return the words of a text that need a sentence, each with it, in the order of the page."""
    return [(term, said) for term, said in TERMS.items() if pattern(term).search(text)]


def page() -> str:
    """Return docs/words.md."""
    lines = [
        "# Words",
        "",
        "Written by `python -m bumble.cli.reference docs`; do not edit by hand.",
        "`bumble COMMAND --help` explains the words it uses in the same sentences.",
    ]
    for title, group in GROUPS.items():
        terms = (f"- **{term}**: {text}" for term, text in group.items())
        lines += ["", f"## {title}", "", *terms]
    return "\n".join(lines) + "\n"


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
    return explained("\n".join(said))


def prepare(command: Any, path: str, option: Any) -> None:
    """Let a command, and those below it, take --json and be quick.

    Its help begins with an example, and ends with the words it uses.
    """
    if not any("--json" in param.opts for param in command.params):
        command.params.append(option)
    written = quicken(command).format_help

    def format_help(ctx: Any, formatter: Any) -> None:
        formatter.write(f"Example: {example(path, command)}\n\n")
        written(ctx, formatter)
        if found := words(path, command, ctx):
            with formatter.section("Words"):
                formatter.write_dl(found)

    command.format_help = format_help
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


def _text(value: Any, param: Any, ctx: Any) -> Any:
    """Refuse what is no text: it would be stored, and no later command could read it."""
    try:
        if isinstance(value, str):
            return argument(value)
        if isinstance(value, list | tuple):
            return type(value)(
                argument(element) if isinstance(element, str) else element for element in value
            )
    except ValueError:
        raise typer.BadParameter("it is not UTF-8 text", ctx=ctx, param=param) from None
    return value


class _Plain:
    """Stands where typer's adapter would, and makes way for it when that is needed."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Turn what was typed into what the command takes."""
        wanted, info = param.type_descriptor.annotation, param.type_descriptor.parameter_info
        many = param.multiple or param.nargs == -1
        if value is None:
            return () if many else None
        if wanted is not Path:  # the name of a file may be any bytes
            value = _text(value, param, ctx)
        if not (info.parser or info.exists or info.resolve_path):
            if wanted is str and type(value) is str:
                return value
            if (
                wanted is Path and value == ""
            ):  # of an unset variable; it would mean the folder here
                raise typer.BadParameter("it is empty", ctx=ctx, param=param)
            if wanted is Path and isinstance(value, str | Path) and not many:
                return Path(value)
            if wanted == list[str] and not isinstance(value, str):
                return list(value)
        if wanted in (int, float) and type(value) is wanted and value == param.default:
            return value
        param._runtime_param = None
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)
