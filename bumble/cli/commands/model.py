"""`bumble model`: list, show, pull and remove the weights that bumble runs itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec import Struct
from msgspec.structs import asdict, replace

from bumble.cli import command, listing, opening, output, writing
from bumble.cli.models import abilities, model_view, weights
from bumble.cli.process import Shell
from bumble.errors import (
    UsageError,
    WeightsMissingError,
)
from bumble.files import disk
from bumble.llm import detect
from bumble.models.weights import choice, own_models, store
from bumble.models.weights.catalog import (
    CatalogEntry,
    FileSource,
    Hub,
    Local,
)
from bumble.text import yaml_edit

app = command.group()


ShownArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME]",
        help="The model, as llm.model takes it. Default: the one that talks.",
    ),
]


class ModelState(Struct, frozen=True):
    """How a model stands on this machine."""

    entry: CatalogEntry
    here: store.Installed | None
    problem: str  # why what lies here can't be used; empty if it can, or nothing does
    unfinished_bytes: int  # that an unfinished pull has brought

    @property
    def word(self) -> str:
        """Say it for a list."""
        if self.here or self.problem:
            return self.problem or "here"
        part = output.size(self.unfinished_bytes)
        whole = output.size(self.entry.bytes)
        return f"unfinished: {part} of {whole}" if self.unfinished_bytes else ""


@app.command("list")
@command.plain
def list_(shell: Shell) -> None:
    """List the models bumble knows, and which are here."""
    catalog, memory = weights.catalog_of(shell), weights.memory_mb()
    states, known = [_state(shell, entry) for entry in catalog], {entry.name for entry in catalog}
    unknown = [one for one in sorted(_sizes(shell).items()) if one[0] not in known]
    rows = [_row(state, memory) for state in states]
    data = {
        "folder": str(shell.weights),
        "models": rows,
        "unknown": [{"name": name, "bytes": size} for name, size in unknown],
    }
    output.result(shell, "model list", data, output.table(list(map(_cells, states, rows))))
    for name, size in () if shell.json else unknown:
        output.say(
            f"{shell.weights / name}: {output.size(size)} of no model in the catalog; "
            f"`bumble model remove {name}` deletes it."
        )


def _row(state: ModelState, memory: int | None) -> dict[str, Any]:
    entry = state.entry
    return {
        "name": entry.name,
        "kind": entry.kind,
        "summary": entry.summary,
        "licence": entry.licence,
        "bytes": entry.bytes,
        "context_tokens": entry.context_tokens,
        "memory_mb": entry.memory_mb,
        "fits": memory is None or entry.memory_mb <= memory,
        "here": state.here is not None,
        "problem": state.problem or None,
        "unfinished_bytes": state.unfinished_bytes,
    }


def _cells(state: ModelState, row: Mapping[str, Any]) -> list[str]:
    entry, wants = state.entry, f"wants {state.entry.memory_mb / 1000:g} GB of memory"
    word = state.word or ("" if row["fits"] else wants)
    context = f"{entry.context_tokens:,} tokens"
    return [entry.name, entry.kind, output.size(entry.bytes), context, entry.licence, word]


def _state(shell: Shell, entry: CatalogEntry) -> ModelState:
    here, problem = None, ""
    try:
        here = store.find(shell.weights, entry)
    except WeightsMissingError as error:
        output.warn(shell, str(error))
        problem = "damaged"
    lying = [
        files_here for files_here in store.stored(shell.weights) if files_here.name == entry.name
    ]
    if here is None and not problem and any(item.complete for item in lying):
        problem = "another version"
    return ModelState(entry, here, problem, sum(item.bytes for item in lying if not item.complete))


def _sizes(shell: Shell) -> Counter[str]:
    """Return how many bytes lie here, by model."""
    sizes = Counter[str]()
    for item in store.stored(shell.weights):
        sizes[item.name] += item.bytes
    return sizes


@app.command()
@command.plain
def show(
    shell: Shell,
    name: ShownArgument = None,
    *,
    entity: command.EntityOption = None,
) -> None:
    """Show all that is known of a model: where it runs, its window, what it is trusted with."""
    opened = opening.configured(shell, entity, llm__model=name)
    chosen = model_view.meant(opened, name)
    own = _shown(opened, chosen, chosen.entry) if chosen.entry else None
    output.result(shell, "model show", *(own or model_view.shown(opened, chosen)))


def _shown(
    opened: opening.Configured, chosen: choice.Choice, entry: CatalogEntry
) -> tuple[dict[str, Any], list[str]]:
    """Return what is known of a model of the catalog: as data, and as lines."""
    shell = opened.shell
    state, trusted = _state(shell, entry), model_view.trusted(opened, chosen)
    here, facts = state.here, dict(state.here.facts) if state.here else {}
    manner = entry.embedding or entry.chat
    run = asdict(manner) if manner else {}
    probed = abilities.result_of(shell, chosen) if entry.kind == "chat" else None
    data = {
        **{key: getattr(entry, key) for key in ("name", "kind", "summary", "licence", "bytes")},
        "context_tokens": entry.context_tokens,
        "memory_mb": entry.memory_mb,
        "files": [
            {
                "name": file.name,
                "bytes": file.bytes,
                "sha256": file.sha256,
                "path": str(shell.weights / entry.name / file.name),
                "sources": [_source(source) for source in file.sources],
            }
            for file in entry.files
        ],
        "run": run,
        "abilities": probed and model_view.probed_data(probed),
        "trusted": [asdict(one) for one in trusted],
        "here": here is not None,
        "came_from": here.source if here else None,
        "measured": facts,
        "problem": state.problem or None,
        "unfinished_bytes": state.unfinished_bytes,
    }
    told = {
        name: value for name, value in facts.items() if not isinstance(value, list)
    }  # no vector
    rows = [
        ("kind", entry.kind),
        ("licence", entry.licence),
        ("size", f"{output.size(entry.bytes)} ({entry.bytes:,} bytes)"),
        ("context", f"{entry.context_tokens:,} tokens"),
        ("memory", f"{entry.memory_mb:,} MB to run at ease"),
        ("here", f"{here.place}, from {here.source}" if here else state.word or "no"),
        *((name, yaml_edit.inline(value)) for name, value in (run | told).items()),
        *(("trusted with", one.line) for one in trusted),
        *(model_view.probed_rows(probed) if probed else ()),
    ]
    lines = [f"{entry.name}: {entry.summary}", *output.table(rows, indent="  ")]
    for file in (*filter(None, [entry.ingredient]), *entry.files):
        lines += [
            f"{file.name}: {file.bytes:,} bytes",
            f"  sha256 {file.sha256}",
            *(f"  {number}. {_source(source)}" for number, source in enumerate(file.sources, 1)),
        ]
    return data, lines


def _source(source: FileSource) -> str:
    """Name a source, one on the hub in full."""
    return (
        f"{source} @ {source.revision}: {source.path}" if isinstance(source, Hub) else f"{source}"
    )


@app.command()
@command.plain
def probe(
    shell: Shell,
    name: ShownArgument = None,
    *,
    language: Annotated[
        list[str] | None,
        typer.Option(
            "--language",
            "-l",
            metavar="CODE",
            help="In this language, like de; again for more. Default: those spoken, else all.",
        ),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Measure anew what was measured already.")
    ] = False,
    entity: command.EntityOption = None,
    yes: command.YesOption = False,
) -> None:
    """Measure what a model can be trusted with: to write, to choose, or nothing.

    Short cases in each language, whose answers a program checks. What is done is kept, whenever
    you stop it; the next run goes on from there.
    """
    model_view.probe_model(shell, entity, name, language or [], again=again, yes=yes)


@app.command()
@command.plain
def pull(
    shell: Shell,
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="The models.")] = None,
    *,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="PATH", help="Take the files from here, and nothing from the network."
        ),
    ] = None,
    yes: command.YesOption = False,
    dry_run: command.DryRunOption = False,
) -> None:
    """Fetch the weights of models, and check them.

    NAME is one of the catalog; `hf:OWNER/REPOSITORY[:FILE]` for any GGUF on the hub, by its file
    or quantisation, else what fits into memory; or the path of a GGUF file, which stays where it
    is. What came so is kept in your own models.yaml with its hash, and held to that.
    """
    catalog = weights.catalog_of(shell)
    wanted = _some(names, [entry.name for entry in catalog])
    for name in wanted:
        if not _is_own(name):
            catalog.entry(name)
    own = shell.path(source) if source else None
    if own is not None and not own.exists():
        raise UsageError(f"--from {own}: there is no such file or folder.")
    if own is not None and any(map(_is_own, wanted)):
        raise UsageError(
            "--from is for models of the catalog: `bumble model pull FILE` needs none."
        )
    results = [
        _adopted(shell, name, dry_run=dry_run)
        if own_models.is_file_name(name)
        else _pull(shell, name, own, yes=yes, dry_run=dry_run)
        for name in wanted
    ]
    for name, result in zip(wanted, results, strict=True):
        if _is_own(name) and result["place"]:
            output.say(f"Talk with it: bumble chat --model {result['name']}")
    lines = [f"{result['name']}: {result['result']}" for result in results]
    output.result(shell, "model pull", {"models": results}, lines)
    if dry_run:
        output.say("Nothing was fetched: --dry-run.")


def _some(names: Sequence[str] | None, offered: Sequence[str]) -> list[str]:
    """Return the names that were given, each once."""
    if not names:
        raise UsageError(f"Name the models: {', '.join(offered)}.")
    return list(dict.fromkeys(names))


def _pull(shell: Shell, name: str, own: Path | None, *, yes: bool, dry_run: bool) -> dict[str, Any]:
    """Fetch a model of the catalog, or what the user named on the hub."""
    on_hub = name.startswith(own_models.HUB)
    entry = weights.on_hub(shell, name) if on_hub else weights.catalog_of(shell).entry(name)
    if here := _state(shell, entry).here:
        return _pulled(entry, "is here already", here)
    if on_hub:
        output.say(f"{_source(entry.sources[0])}\nsha256 {entry.files[0].sha256}")
    if dry_run:
        offer = None if own else weights.offer_of(shell, [entry])
        told = f"{entry.name} from {own}" if own else weights.told(offer) if offer else ""
        return _pulled(entry, f"would fetch {told}" if told else "no source has it", None)
    if entry.kind == "chat" and not on_hub and (problem := detect.problem()):
        output.warn(shell, problem)  # they may be meant for another machine
    if own:  # a file that is on this machine already needs no leave
        fetched = weights.bring(shell, _only_from_here(entry), own)
    elif on_hub:
        fetched = weights.fetch_own(shell, entry, yes=yes)
    else:
        fetched = weights.fetch(shell, [entry], yes=yes)
    return _pulled(entry, f"fetched from {fetched.source}", fetched)


def _is_own(name: str) -> bool:
    return name.startswith(own_models.HUB) or own_models.is_file_name(name)


def _adopted(shell: Shell, name: str, *, dry_run: bool) -> dict[str, Any]:
    """Make a model of a file on this machine."""
    if dry_run:
        there = "would read it" if shell.path(Path(name)).is_file() else "there is no such file"
        return {"name": name, "result": there, "bytes": 0, "place": None}
    entry, path = weights.adopt(shell, name, anew=True)
    return _pulled(entry, f"reads {path}", store.require(shell.weights, entry))


def _pulled(entry: CatalogEntry, result: str, here: store.Installed | None) -> dict[str, Any]:
    return {
        "name": entry.name,
        "result": result,
        "bytes": entry.bytes,
        "place": str(here.place) if here else None,
        "licence": entry.licence,
        "sha256": entry.files[0].sha256,
        "source": _source(entry.sources[0]),
    }


def _only_from_here(entry: CatalogEntry) -> CatalogEntry:
    """Leave a model the sources that lie on this machine."""
    local_sources = [
        tuple(source for source in file.sources if isinstance(source, Local))
        for file in entry.files
    ]
    pairs = zip(entry.files, local_sources, strict=True)
    return replace(entry, files=tuple(replace(file, sources=some) for file, some in pairs))


@app.command()
@command.plain
def remove(
    shell: Shell,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="The models, or other folders."),
    ] = None,
    *,
    yes: command.YesOption = False,
    dry_run: command.DryRunOption = False,
) -> None:
    """Delete the weights of models from this machine."""
    catalog_names = [entry.name for entry in weights.catalog_of(shell)]
    sizes = _sizes(shell)
    wanted = _some(names, list(sizes) or catalog_names)
    for name in wanted:
        if name not in sizes and name not in catalog_names:
            raise listing.missing("model", name, [*sizes, *catalog_names])
    present = [name for name in wanted if name in sizes]
    size = output.size(sum(sizes[name] for name in present))
    if present and not dry_run:
        writing.confirm(
            shell,
            f"Delete {', '.join(present)} ({size}) from {shell.weights}?",
            "Say --yes to delete without being asked.",
            yes=yes,
        )
        for name in present:
            with disk.translate_os_errors(shell.weights / name):
                store.remove(shell.weights, name)
    told = f"{'Would delete' if dry_run else 'Deleted'} {', '.join(present)}: {size}."
    removed = [{"name": name, "bytes": sizes[name]} for name in present]
    data = {"removed": removed, "dry_run": dry_run}
    output.result(
        shell, "model remove", data, told if present else "Nothing to do: nothing is here."
    )
