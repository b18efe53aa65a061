"""What the model of an entity can be trusted with: measured, overruled by settings, or scripted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from bumble.abilities import results
from bumble.abilities.tiers import (
    ABLE,
    PURPOSES,
    Abilities,
    LateAbilities,
    Purpose,
    Tier,
    overruled,
)
from bumble.app import output
from bumble.app.model_choice import choose_model
from bumble.entity.config import AbilitiesConfig
from bumble.entity.folder import ENTITY_FILE
from bumble.errors import RecordInvalidError, UserError
from bumble.text import schema, urls

if TYPE_CHECKING:
    from bumble.app.opening import Opened
    from bumble.weights.choice import Choice


def of(opened: Opened, chosen: Choice | None) -> LateAbilities:
    """Return what the model of an entity can be trusted with, looked up once it is asked for.

    Args:
        opened: The entity.
        chosen: The model; None: what the settings choose.
    """
    return LateAbilities(look=lambda: _look(opened, chosen))


def _look(opened: Opened, chosen: Choice | None) -> Abilities:
    try:
        chosen = chosen or choose_model(opened)
        measured = measured_of(opened, chosen)
    except UserError:
        measured = Abilities()  # whoever asks the model hears why there is none
    return _as_wanted(opened, measured)


def measured_of(opened: Opened, chosen: Choice) -> Abilities:
    """Return what a probe measured of a model, or a script says of its own."""
    if chosen.script is not None:
        return _scripted(opened, chosen)
    name = identity(chosen)
    return results.load(name, chosen.model, opened.shell.abilities).abilities()


def identity(chosen: Choice) -> str:
    """Return by what the results of a model are kept: the hash of its weights, else where it is."""
    if chosen.entry is not None:
        return f"{results.OF_WEIGHTS}{chosen.entry.files[0].sha256}"
    return f"{urls.shown(chosen.url).rstrip('/')}#{chosen.model}"


def _scripted(opened: Opened, chosen: Choice) -> Abilities:
    from bumble.app import models
    from bumble.llm import scripted

    path = models.script_of(opened, chosen)
    listed = scripted.abilities(path)
    if listed is None:
        return ABLE
    try:
        schema.check(AbilitiesConfig, listed)
    except schema.ValueProblem as problem:
        raise RecordInvalidError(path, f"abilities: {problem}") from problem
    return overruled(ABLE, cast("Mapping[Purpose, Mapping[str, Tier]]", listed))


def _as_wanted(opened: Opened, measured: Abilities) -> Abilities:
    """Put the settings over what was measured; a folder that isn't trusted may only lower it."""
    config = opened.config.llm.abilities
    wanted: dict[Purpose, Mapping[str, Tier]] = {"talk": config.talk, "memory": config.memory}
    of_folder = [
        (purpose, code)
        for purpose in PURPOSES
        for code in wanted[purpose]
        if not opened.settings.trusted
        and _place(opened, purpose, code).startswith(f"{ENTITY_FILE}:")
    ]
    abilities = overruled(measured, wanted, of_folder)
    for purpose, code in of_folder:
        if abilities.tier(purpose, code) != wanted[purpose][code]:
            output.warn(
                opened.shell,
                f"{_place(opened, purpose, code)}: `llm.abilities.{purpose}.{code}` is ignored: it "
                "trusts the model with more than was measured.\n"
                f"If you trust what is in it: bumble config trust {opened.entity.root}",
            )
    return abilities


def _place(opened: Opened, purpose: Purpose, code: str) -> str:
    return opened.settings.origin(f"llm.abilities.{purpose}.{code}")
