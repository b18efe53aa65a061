"""An entity as it was at some time: what `--as-of` opens in the place of the folder of now."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from msgspec.structs import replace

from bumble.cli import output
from bumble.cli.opening import Opened
from bumble.entity.folder import Entity
from bumble.errors import NotAnEntityError, UsageError
from bumble.text import moments

if TYPE_CHECKING:
    from bumble.cli.past_folder import PastFolder

COMMIT_CHARS = 10


def moment_of(opened: Opened, text: str) -> datetime:
    """Read a day, which is meant with all its hours, or a time, in the entity's time zone.

    Raises:
        UsageError: If it is neither, or lies ahead.
    """
    zone, now = opened.zone, opened.shell.now()
    try:
        at = datetime.fromisoformat(text)
        day = date.fromisoformat(text) if len(text) <= len("2026-05-24") else None
    except ValueError:
        raise UsageError(
            f"--as-of {text}: neither a day like 2026-05-24 nor a time like 2026-05-24T03:12"
        ) from None
    if not moments.is_sane(at):
        raise UsageError(f"--as-of {text}: {moments.YEARS}")
    if day is not None:
        begin = datetime(day.year, day.month, day.day, tzinfo=zone)
        if begin > now:
            raise UsageError(f"--as-of {text}: that day has yet to come")
        return min(begin + timedelta(days=1) - timedelta(seconds=1), now)
    at = at if at.tzinfo else at.replace(tzinfo=zone)
    if at > now:
        raise UsageError(f"--as-of {text}: that has yet to come")
    return at


def open_past(opened: Opened, text: str) -> Opened:
    """Return the entity as it was; from here on, that time is the present of this process.

    Raises:
        UsageError: If the time is none, or lies ahead.
        UserError: If nothing can be told of that time.
    """
    from bumble.cli import past_folder
    from bumble.entity import settings
    from bumble.index import place

    shell, live = opened.shell, opened.entity
    moment = moment_of(opened, text)
    folder = past_folder.make(live, moment, shell.past(live.root), opened.zone)
    entity = Entity(folder.root, live.approval)
    # What was is for this process: its index lies beside it, and never on a server.
    flags = opened.settings.flags() | {"index.backend": "sqlite"}
    then = settings.load(entity.file, shell.user_file, shell.environ, flags, home=live.root)
    if then.identity is None:
        raise NotAnEntityError(folder.root)
    for warning in then.warnings:
        output.warn(shell, warning)
    shell.now_given, shell.entity_name = moment, then.identity.name
    donors = (place.of(live), *(place.of(Entity(other)) for other in folder.others))
    past = replace(
        opened,
        entity=entity,
        settings=then,
        identity=then.identity,
        donors=tuple(donor.database for donor in donors),
    )
    _tell(past, moment, folder)
    return past


def _tell(past: Opened, moment: datetime, folder: PastFolder) -> None:
    """Say what is shown, and how sure that is."""
    zone = past.zone
    when = f"{moment.astimezone(zone):%Y-%m-%d %H:%M}"
    if folder.commit is None:
        output.warn(
            past.shell,
            f"As of {when} by the records' own times, since there is no history ({folder.why}): "
            "what was changed or taken out since is not seen, nor how the body was.",
        )
        return
    at = f"{folder.commit.at.astimezone(zone):%Y-%m-%d %H:%M}"
    output.say(f"As of {when}: commit {folder.commit.id[:COMMIT_CHARS]} of {at}.")
