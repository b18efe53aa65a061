"""Settings in force: defaults < the user's file < entity.yaml < environment < flags.

Every value is typed and says where it came from. Knows nothing of what a setting does.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_origin

from msgspec import Struct
from msgspec.structs import astuple, replace

from bumble.entity import approvals, folder_trust, layers
from bumble.entity.config import OWNERS, YOURS, Config, Identity, defaults
from bumble.entity.folder import ENTITY_FILE, Approval
from bumble.entity.layers import Layer, Plain
from bumble.errors import (
    FolderNewerError,
    FolderOutdatedError,
    NotAnEntityError,
    SettingInvalidError,
    UsageError,
    UserError,
)
from bumble.files import disk
from bumble.text import merge_marks, printable, schema, yaml_edit
from bumble.text.words import one_line

ACTING = ("wake", "tools")  # sections by which an entity acts by itself
ACTING_RULE = f"{ENTITY_FILE}: {', '.join(ACTING)}"
SCHEMA_VERSION = 3  # of the folder, as entity.yaml names it


class Settings(Struct, frozen=True):
    """All settings as they are now."""

    config: Config
    identity: Identity | None  # None without an entity
    values: Mapping[str, Any]  # the merged layers as plain data, by section
    layers: tuple[Layer, ...]  # the later wins
    warnings: tuple[str, ...]
    trusted: bool = False  # whether what came with the entity's folder may reach beyond it
    approval: Approval | None = None  # what the user's file says of the folder's rules
    rules: tuple[approvals.Rule, ...] = ()  # in entity.yaml

    def get(self, key: str) -> Any:
        """Return a setting or a section as plain data, to be shown: without passwords.

        Raises:
            UsageError: If there is none of that name.
        """
        return printable.masked(layers.value_at(self.values, _path(key, self.values)))

    def origin(self, key: str) -> str:
        """Say where a value is from: `default`, `entity.yaml:14`, `environment BUMBLE_…`, `flag`.

        Raises:
            UsageError: If there is no setting of that name.
        """
        return self._origin(_path(key, self.values))

    def flat(self) -> Iterator[tuple[str, Any, str]]:
        """Yield every setting in the order of the defaults: dotted key, value, origin.

        The values are to be shown: passwords in addresses are not among them.
        """
        for keys, value in layers.leaves(self.values):
            yield ".".join(keys), printable.masked(value), self._origin(keys)

    def flags(self) -> dict[str, object]:
        """Return what flags of the command override: dotted key to value."""
        return {
            ".".join(keys): value
            for layer in self.layers
            if layer.kind == "flag"
            for keys, value in layers.leaves(layer.values)
        }

    def _origin(self, keys: schema.Keys) -> str:
        holders = (layer for layer in reversed(self.layers) if layer.depth(keys) == len(keys))
        return next(holders).origin(keys)


def load(
    entity_file: Path | None = None,
    user_file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
    *,
    home: Path | None = None,
    acts: bool = True,
) -> Settings:
    """Read every layer, hold each against its types, and put the later over the earlier.

    Args:
        entity_file: An entity's `entity.yaml`; None where there is no entity.
        user_file: The user's own config; it need not exist.
        environ: The environment; only names that begin with `BUMBLE_` count.
        flags: Dotted key to value, as the command line gave them.
        home: The folder whose trust counts, where the entity file is a copy of what it held.
        acts: Whether what entity.yaml says of acting unasked counts.

    Raises:
        NotAnEntityError: If the entity file is not there.
        SettingInvalidError: If a file or the environment has a name or value that is no setting.
        UsageError: If a flag has.
    """
    every = [Layer("default", defaults())]
    trusted: folder_trust.Trusted = {}
    identity: Identity | None = None
    warnings: list[str] = []
    if user_file is not None:
        plain, source = _parsed(user_file, _bytes(user_file) or b"")
        trusted = folder_trust.folders(plain.pop(folder_trust.KEY, None), str(user_file))
        users, warnings = _layer(user_file, plain, source, name=str(user_file))
        every.append(users)
    if entity_file is not None:
        raw = _bytes(entity_file)
        if raw is None:
            raise NotAnEntityError(entity_file.parent)
        identity, own, ignored = entity_layer(entity_file, raw)
        warnings += ignored
        found = [identity_rule(identity), *acting(own.values)]
        if not acts:
            own = replace(own, values=layers.without(own.values, [(name,) for name in ACTING]))
        every.append(own)
    every.append(Layer("environment", layers.from_environment(environ or {}, warnings.append)))
    every.append(Layer("flag", layers.from_flags(flags or {})))
    if entity_file is None:
        return _assemble(tuple(every), identity, tuple(warnings))
    home = home or entity_file.parent
    every, doubts = _as_trusted(every, own, entity_file, home, trusted)
    assembled = _assemble(tuple(every), identity, (*warnings, *doubts))
    as_it_is = folder_trust.doubt(trusted, home, own.values) is None
    approval = folder_trust.approval(trusted, home) if user_file else None
    return replace(assembled, trusted=as_it_is, approval=approval, rules=tuple(found))


def rules(values: Mapping[str, Any]) -> list[approvals.Rule]:
    """Return the rules in an entity.yaml, read as plain data.

    Raises:
        ValueError: If it does not say who the entity is.
    """
    plain = layers.without(values, folder_trust.marked(values, OWNERS))
    plain = layers.without(plain, layers.found(plain))
    own = {key: plain[key] for key in schema.fields(Identity) if key in plain}
    return [identity_rule(schema.build(Identity, own)), *acting(plain)]


def identity_rule(identity: Identity) -> approvals.Rule:
    """Return the rule that says who an entity is, and whose."""
    who = identity.identity
    told = (*astuple(replace(who, traits={})), sorted(who.traits.items()), identity.owner.name)
    shown = (f"belongs to {identity.owner.name or 'nobody'}", *who.behaviours, *who.curiosity)
    parts = map(one_line, (*shown, who.monologue, who.voice))
    summary = " ".join(part if part.endswith(".") else f"{part}." for part in parts if part)
    return approvals.rule(f"{ENTITY_FILE}: identity", ENTITY_FILE, summary, *told)


def acting(values: Mapping[str, Any]) -> list[approvals.Rule]:
    """Return the rule by which an entity.yaml has the entity act, if it does."""
    told = {name: values[name] for name in ACTING if values.get(name)}
    return [approvals.rule(ACTING_RULE, ENTITY_FILE, yaml_edit.inline(told), told)] if told else []


def _as_trusted(
    every: list[Layer], own: Layer, path: Path, home: Path, trusted: folder_trust.Trusted
) -> tuple[list[Layer], list[str]]:
    """Take out what does not count in an entity's folder, and say so.

    Args:
        every: All of them.
        own: The one that is the entity's own.
        path: Of its entity.yaml.
        home: The folder whose trust counts.
        trusted: The folders that the user trusts, as they were.
    """
    asking = [
        folder_trust.marked(layer.values, YOURS)
        if layer is own
        else folder_trust.starting(layer.values)
        for layer in every
    ]
    doubt = folder_trust.doubt(trusted, home, own.values) if any(asking) else None
    if doubt is None:
        return every, []
    left, warnings = [], []
    for layer, ignored in zip(every, asking, strict=True):
        left.append(replace(layer, values=layers.without(layer.values, ignored)))
        for keys in ignored:
            is_own = layer is own
            place = layers.place(str(path), layer.source, keys) if is_own else layer.origin(keys)
            warnings.append(folder_trust.warning(place, keys, home, doubt, is_own=is_own))
    return left, warnings


def _assemble(
    every: tuple[Layer, ...], identity: Identity | None, warnings: tuple[str, ...]
) -> Settings:
    nothing: Plain = {}
    values = functools.reduce(layers.merge, (layer.values for layer in every), nothing)
    try:
        config = schema.build(Config, values)
    except schema.ValueProblem as problem:
        keys = problem.keys
        deepest = max(reversed(every[1:]), key=lambda layer: layer.depth(keys))
        raise SettingInvalidError(deepest.origin(keys), str(problem)) from problem
    return Settings(config, identity, values, every, warnings)


def entity_layer(path: Path, raw: bytes) -> tuple[Identity, Layer, list[str]]:
    """Read entity.yaml: who it is, the settings in it, and what to say of those no folder makes.

    Raises:
        SettingInvalidError: If it can't be read as that.
    """
    plain, source = _parsed(path, raw)
    identity = _take_identity(path, plain, source)
    layer, warnings = _layer(path, plain, source, name=path.name)
    ignored = folder_trust.marked(layer.values, OWNERS)
    warnings += [
        f"{layers.place(str(path), source, keys)}: `{'.'.join(keys)}` is ignored: only your own "
        "config may set it, with --user"
        for keys in ignored
    ]
    return identity, replace(layer, values=layers.without(layer.values, ignored)), warnings


def _take_identity(path: Path, plain: Plain, source: str) -> Identity:
    """Take out of entity.yaml what is not a setting, and read it."""
    own = {key: plain.pop(key) for key in list(plain) if key in schema.fields(Identity)}
    plain.pop(layers.NOTES, None)
    if folder_trust.KEY in plain:
        raise _invalid(path, source, (folder_trust.KEY,), "a folder can't trust itself")
    version = own.get("schema_version")
    if type(version) is int and version > SCHEMA_VERSION:
        place = layers.place(str(path), source, ("schema_version",))
        raise FolderNewerError(place, version, SCHEMA_VERSION)
    if type(version) is int and 0 < version < SCHEMA_VERSION:
        raise FolderOutdatedError(path.parent, version, SCHEMA_VERSION)
    try:
        return schema.build(Identity, own)
    except schema.ValueProblem as problem:
        raise _invalid(path, source, problem.keys, layers.sentence(problem)) from problem


def _bytes(path: Path) -> bytes | None:
    """Read a file; None where there is none."""
    try:
        return disk.read_if_there(path)
    except OSError as error:
        raise UserError(f"{path}: could not be read: {error.strerror}") from error


def _parsed(path: Path, raw: bytes) -> tuple[Plain, str]:
    source = ""
    try:
        source = raw.decode("utf-8")
        return yaml_edit.parse_mapping(source), source
    except UnicodeDecodeError as error:
        raise SettingInvalidError(str(path), "is not UTF-8 text") from error
    except yaml_edit.SourceError as error:
        if marks := merge_marks.line_of(source):
            problem = "a merge is open: its two sides stand here; keep one, then `git add` it"
            advice = "`bumble doctor` says how to go on, and how to take the merge back."
            raise SettingInvalidError(f"{path}:{marks}", problem, advice) from error
        raise invalid(str(path), error) from error


def _layer(path: Path, plain: Plain, source: str, *, name: str) -> tuple[Layer, list[str]]:
    """Return what a file sets, and what to say of settings in it that are gone."""
    retired = layers.found(plain)
    warnings = [
        layers.warning(layers.place(str(path), source, keys), keys, is_users=name != ENTITY_FILE)
        for keys in retired
    ]
    plain = layers.without(plain, retired)
    try:
        schema.check(Config, plain)
    except schema.ValueProblem as problem:
        raise _invalid(path, source, problem.keys, layers.sentence(problem)) from problem
    return Layer("file", plain, name, source), warnings


def _invalid(path: Path, source: str, keys: schema.Keys, problem: str) -> SettingInvalidError:
    return SettingInvalidError(layers.place(str(path), source, keys), problem)


def _path(key: str, values: Mapping[str, Any]) -> schema.Keys:
    keys = tuple(key.split("."))
    if Layer("default", values).depth(keys) == len(keys):
        return keys
    try:
        schema.at(Config, keys)
    except schema.UnknownKeyProblem as problem:
        raise UsageError(layers.sentence(problem)) from problem
    raise UsageError(f"`{key}` is not set")  # an entry of a mapping that nobody made


def plan_set(source: str, key: str, value_text: str, *, file: str = "entity.yaml") -> str:
    """Return the text of a config file with one setting changed or added.

    Args:
        source: The file's text.
        key: Dotted, as `memory.max_recall_results`; in an entity.yaml also its name and the like.
        value_text: As typed: text as it is, all else as YAML.
        file: The file's name, for errors.

    Raises:
        UsageError: If the key is unknown, a section, or takes no such value.
        SettingInvalidError: If the file can't be changed in place.
    """
    keys, root = _find(key)
    try:
        return yaml_edit.set_value(source, keys, layers.parse_value(keys, value_text, root=root))
    except schema.ValueProblem as problem:
        raise UsageError(layers.sentence(problem)) from problem
    except yaml_edit.SourceError as error:
        raise invalid(file, error) from error


def plan_unset(source: str, key: str, *, file: str = "entity.yaml") -> str:
    """Return the text without one setting, so that the layer below shows again.

    Raises:
        UsageError: If the key is unknown.
        SettingInvalidError: If the file can't be changed in place.
    """
    keys = tuple(key.split("."))
    gone = layers.reason(keys)
    if not gone and _find(key)[1] is Identity:
        raise UsageError(f"`{key}` is part of who the entity is; set it instead")
    try:
        return layers.removed(source, keys) if gone else yaml_edit.remove(source, keys)
    except yaml_edit.SourceError as error:
        raise invalid(file, error) from error


def _find(key: str) -> tuple[schema.Keys, type]:
    keys = tuple(key.split("."))
    root = Identity if keys[0] in schema.fields(Identity) else Config
    try:
        kind = schema.at(root, keys)
    except schema.ValueProblem as problem:
        raise UsageError(layers.sentence(problem)) from problem
    above = schema.bare(schema.at(root, keys[:-1]))[0]
    if schema.is_section(kind) and get_origin(above) is not Mapping:  # what has a name is set whole
        names = ", ".join(schema.fields(schema.bare(kind)[0]))
        raise UsageError(f"`{key}` is a section; name one of its settings: {names}")
    return keys, root


def invalid(file: str, error: yaml_edit.SourceError) -> SettingInvalidError:
    """Return the error of a file of settings that can't be changed in place."""
    place = file if error.line is None else f"{file}:{error.line}"
    return SettingInvalidError(place, error.problem)


NEUTRAL = 0.5  # of a trait that nobody has set
DECIMALS = 4
MOST_TOPICS = 40  # of curiosity, in all


def evolved(
    source: str, traits: Mapping[str, float], behaviours: Sequence[str], curiosity: Sequence[str]
) -> str:
    """Return the text with traits moved, and with new behaviours and topics of curiosity.

    Args:
        source: The text of entity.yaml.
        traits: By how much each is to change; it stays in [0, 1].
        behaviours: To be added; what is there already is not.
        curiosity: Likewise; beyond 40 in all there are no more.

    Raises:
        SourceError: If the text can't be changed in place.
    """
    persona = _mapping(yaml_edit.parse_mapping(source).get("identity"))
    present = _mapping(persona.get("traits"))
    for name, change in traits.items():
        level = present.get(name, NEUTRAL)
        moved = round(min(1.0, max(0.0, float(level) + change)), DECIMALS)
        if moved != level:
            source = yaml_edit.set_value(source, ("identity", "traits", name), moved)
    for key, texts, most in (
        ("behaviours", behaviours, None),
        ("curiosity", curiosity, MOST_TOPICS),
    ):
        listed = list(persona.get(key) or [])
        joined = _joined(listed, texts)[:most] if most is None or len(listed) < most else listed
        if joined != listed:
            source = yaml_edit.set_value(source, ("identity", key), joined)
    return source


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _joined(listed: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Add to a list what it has not yet, whatever the case."""
    joined = list(listed)
    for text in map(one_line, texts):
        if text.casefold() not in (str(there).casefold() for there in joined):
            joined.append(text)
    return joined
