"""`bumble config`: see, set and unset settings; trust a folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from operator import eq
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from bumble.cli import opening, output, process, setting_files, writing
from bumble.cli.command import DryRunOption, EntityOption, LockTimeoutOption, group, plain
from bumble.cli.models import chat_model, weights
from bumble.entity import folder_trust, layers, settings
from bumble.entity.config import OWNERS, Identity
from bumble.entity.folder import ENTITY_FILE
from bumble.errors import NotAnEntityError, UsageError, UserError
from bumble.llm import detect, scripted
from bumble.records import journal, kind
from bumble.runtime import rules
from bumble.text import printable, schema, yaml_edit

app = group()


KeyArgument = Annotated[
    str,
    typer.Argument(metavar="KEY", help="The setting, as in llm.model."),
]
UserOption = Annotated[
    bool, typer.Option("--user", help="In your own config, for all entities; not in entity.yaml.")
]
OF_THE_MODEL = ("llm.model", "llm.provider", "llm.base_url")  # what decides who is asked
Row = tuple[str, Any, str]  # dotted key, value, origin


@app.command()
@plain
def show(
    shell: process.Shell,
    key: Annotated[
        str | None,
        typer.Argument(metavar="[KEY]", help="A setting or a section. Default: all."),
    ] = None,
    *,
    origin: Annotated[
        bool, typer.Option("--origin", "--effective", help="Say where each value comes from.")
    ] = False,
    entity: EntityOption = None,
) -> None:
    """Show the settings in force."""
    rows = list(_rows(opening.configured(shell, entity, reads=True).settings, key))
    lines = [_line(row, origin=origin) for row in rows]
    output.result(shell, "config show", [_data(row) for row in rows], lines)
    if origin and not shell.json:
        hint = "" if shell.user_file.exists() else ", which is not there yet"
        output.say(f"Your own settings are in {shell.user_file}{hint}.")


def _line(row: Row, *, origin: bool) -> str:
    key, value, where = row
    return f"{key}: {yaml_edit.inline(value)}" + (f"  # {where}" if origin else "")


def _data(row: Row) -> dict[str, Any]:
    return dict(zip(("key", "value", "origin"), row, strict=True))


@app.command()
@plain
def get(
    shell: process.Shell,
    key: KeyArgument,
    *,
    entity: EntityOption = None,
) -> None:
    """Print the value of a setting."""
    rows = list(_rows(opening.configured(shell, entity, reads=True).settings, key))
    data: Any = [_data(row) for row in rows]
    lines = [_line(row, origin=False) for row in rows]
    if [row[0] for row in rows] == [key]:
        data, whole = data[0], rows[0][1]
        lines = [whole if isinstance(whole, str) else yaml_edit.inline(whole)]
    output.result(shell, "config get", data, lines)


def _rows(loaded: settings.Settings, key: str | None) -> Iterator[Row]:
    """Yield the settings below a key."""
    if key is None:
        yield from loaded.flat()
        return
    if key.split(".")[0] in schema.fields(Identity):
        yield from _identity_rows(loaded, key)
        return
    value = loaded.get(key)
    if not (isinstance(value, Mapping) and value):
        yield key, value, loaded.origin(key)
        return
    yield from (row for row in loaded.flat() if row[0].startswith(f"{key}."))


def _identity_rows(loaded: settings.Settings, key: str) -> Iterator[Row]:
    """Yield what entity.yaml says of who the entity is, which is no setting."""
    if loaded.identity is None:
        raise UsageError(f"`{key}` is part of who an entity is, and there is none here.")
    try:
        schema.at(Identity, tuple(key.split(".")))
    except schema.ValueProblem as problem:
        raise UsageError(layers.sentence(problem)) from problem
    source = next(layer.source for layer in loaded.layers if layer.name == ENTITY_FILE)
    for keys, value in layers.leaves(msgspec.to_builtins(loaded.identity)):
        name = ".".join(keys)
        if f"{name}.".startswith(f"{key}."):
            yield name, value, layers.place(ENTITY_FILE, source, keys)


@app.command("set", context_settings={"ignore_unknown_options": True})  # a value may be -1
@plain
def set_(
    shell: process.Shell,
    key: KeyArgument,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="Text as it is; all else as YAML.")],
    *,
    user: UserOption = False,
    entity: EntityOption = None,
    dry_run: DryRunOption = False,
    lock_timeout: LockTimeoutOption = None,
) -> None:
    """Change a setting of the entity, or one of your own."""

    def plan(source: str) -> str:
        planned = settings.plan_set(source, key, value, file=str(place.path))
        if not user:
            for keys in folder_trust.marked(yaml_edit.parse_mapping(planned), OWNERS):
                if all(map(eq, keys, key.split("."))):  # one lies in the other, or is it
                    raise UsageError(
                        f"`{'.'.join(keys)}` would not count in a folder: only your own config may"
                        " set it. Add --user."
                    )
        return planned

    if key == "name":
        writing.one_line(value, "name")
    if key == "schema_version":
        raise UsageError("`schema_version` says how the folder is made; bumble itself raises it.")
    place = _place(shell, entity, key, user=user)
    before, after = setting_files.edit(
        shell, place, plan, f"config: set {key}", dry_run=dry_run, lock_timeout=lock_timeout
    )
    if key in OF_THE_MODEL and not dry_run:
        _check_model(shell, entity, key, user=user)
    if (
        key == "timezone"
        and after != before
        and place.root
        and (place.root / journal.PATH).exists()
    ):
        kept = f"{journal.PATH} keeps its times as they stand there, and is read in the new zone"
        output.warn(shell, f"{kept}; all else shows the same moments by the new clock")
    _report(shell, "config set", place, key, before, after, folder=entity, dry_run=dry_run)


def _check_model(shell: process.Shell, entity: Path | None, key: str, *, user: bool) -> None:
    """Say what is wrong with the model that is set now, as far as that can be told."""
    try:
        opened = opening.without_entity(shell) if user else opening.configured(shell, entity)
        chosen = chat_model.choose_model(opened)
        facts = chat_model.look(opened, chosen)
        if chosen.script is not None:
            scripted.read(chat_model.script_of(opened, chosen))
    except UserError as error:
        output.warn(shell, str(error))
        return
    if problem := chat_model.missing(chosen, facts.names):
        output.warn(shell, f"{chosen.model}: {problem}")
    config, known = opened.config.llm, detect.provider_named(opened.config.llm.provider)
    if key == "llm.provider" and known and config.base_url:
        output.warn(
            shell,
            f"llm.base_url is {printable.shown_url(config.base_url)}, and goes before "
            f"llm.provider.\n"
            f"Take it out: bumble config unset {'--user ' if user else ''}llm.base_url",
        )
    elif known and config.model == weights.AUTO:
        output.say(f"{chosen.model} talks: {chosen.why}.")


@app.command()
@plain
def unset(
    shell: process.Shell,
    key: KeyArgument,
    *,
    user: UserOption = False,
    entity: EntityOption = None,
    dry_run: DryRunOption = False,
    lock_timeout: LockTimeoutOption = None,
) -> None:
    """Take a setting out of a file, so that the value below it shows again."""
    place = _place(shell, entity, key, user=user)
    before, after = setting_files.edit(
        shell,
        place,
        partial(settings.plan_unset, key=key, file=str(place.path)),
        f"config: unset {key}",
        dry_run=dry_run,
        lock_timeout=lock_timeout,
    )
    _report(shell, "config unset", place, key, before, after, folder=entity, dry_run=dry_run)


def _place(
    shell: process.Shell, folder: Path | None, key: str, *, user: bool
) -> setting_files.SettingsFile:
    """Return the file that is meant."""
    if user and key.split(".")[0] in schema.fields(Identity):
        raise UsageError(f"`{key}` is part of who an entity is, not of your own config.")
    if user:
        return setting_files.users(shell)
    try:
        return setting_files.entitys(opening.locate(shell, folder)[0])
    except NotAnEntityError as error:
        error.args = (f"{error}\nTo set it for all entities, in your own config, add --user.",)
        raise


def _report(
    shell: process.Shell,
    command: str,
    place: setting_files.SettingsFile,
    key: str,
    before: str,
    after: str,
    *,
    folder: Path | None,
    dry_run: bool,
) -> None:
    """Print what came of an edit, and say why it does not count if it does not."""
    changed = after != before
    data = {"key": key, "file": str(place.path), "changed": changed, "dry_run": dry_run}
    if dry_run:
        lines = [printable.masked(line) for line in kind.changed_lines(before, after)]
        nothing = "Nothing to do: it says so already."
        output.result(shell, command, data | {"diff": lines}, lines or nothing)
        output.say("Nothing was written: --dry-run.")
        return
    loaded = _in_force(shell, place, folder)
    shell.entity_name = loaded.identity.name if loaded.identity else None
    try:
        row = next(iter(_rows(loaded, key)))
    except UsageError:  # an entry of a mapping, that nobody makes now
        row = (key, None, "not set")
    setting_files.warn_if_idle(shell, loaded, place, key, row[2])
    told = f"{'' if changed else 'Nothing to do: '}{_line(row, origin=True)}"
    output.result(shell, command, data | {"value": row[1], "origin": row[2]}, told)


def _in_force(
    shell: process.Shell, place: setting_files.SettingsFile, folder: Path | None
) -> settings.Settings:
    """Read the settings as they count now: an entity's go before the user's own, where one is."""
    if place.root is None:
        with suppress(UserError):  # none is meant, or its file can't be read
            file = opening.locate(shell, folder)[0] / ENTITY_FILE
            return settings.load(file, shell.user_file, shell.environ)
    return setting_files.load(shell, place)


@app.command("trust")
@plain
def trust_(
    shell: process.Shell,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The entity folder.")],
    *,
    dry_run: DryRunOption = False,
) -> None:
    """Let an entity, as it is now, run programs, reach beyond its folder, and obey its rules.

    Shows what that lets it do. When something of it is new or changed, by a pull or by hand, it is
    asked again; your own bumble commands renew the trust, and rules that you write here need none.
    """
    root, _ = opening.locate(shell, folder)
    what = setting_files.to_trust(shell, root)  # what can't be read is not trusted
    changed = setting_files.trust(shell, root, what.digests, dry_run=dry_run)
    verb = "Trusted already" if not changed else "Would trust" if dry_run else "Trusted"
    runs = {item.file: item.summary for item in what.runnable if item.file != ENTITY_FILE}
    obeyed = [rule for rule in what.rules if rule.file not in runs]
    lines = [
        f"{verb}: {root}",
        *(f"  {key}: {yaml_edit.inline(value)}" for key, value in what.settings.items()),
        *(f"  {path}: {' '.join(summary.split())}" for path, summary in runs.items()),
        *(f"  {rules.line(rule)}" for rule in obeyed),
    ]
    data = {
        "folder": str(root),
        "changed": changed,
        "dry_run": dry_run,
        "counts": what.settings,
        "runs": runs,
        "obeys": {rule.name: rule.summary for rule in obeyed},
    }
    output.result(shell, "config trust", data, lines)
