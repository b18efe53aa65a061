"""The body as commands show it: read and brought to the present; no model, nothing written."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from bumble.body import affects
from bumble.body.soma import Soma, advance, birth
from bumble.cli.opening import Opened
from bumble.records import soma
from bumble.runtime import body_state

if TYPE_CHECKING:
    from bumble.body.noise import Fragment


class Presence(Struct, frozen=True):
    """A body at the present."""

    soma: Soma
    stored_at: datetime | None  # when the values of its file were true; None: not written yet

    @property
    def mood(self) -> affects.Mood:
        """The feeling that stands out."""
        return affects.mood(self.soma.bars)


def look(opened: Opened) -> Presence:
    """Read the body from its file and bring it to the present.

    Raises:
        RecordInvalidError: If the file does not hold a body.
    """
    temperament, zone = opened.config.soma.bars.levels, opened.zone
    place = opened.within(opened.entity.soma)
    stored = body_state.stored(place, soma.read(place))
    at = opened.now
    if stored is None:
        return Presence(birth(at, temperament), None)
    return Presence(advance(stored, at, zone, temperament), stored.at)


def fragment_data(held: Fragment) -> dict[str, Any]:
    """Return a stray thought as data."""
    return {
        "text": held.text,
        "kind": held.kind,
        "salience": held.salience,
        "at": held.at.isoformat(),
        "audience": list(held.audience),
    }
