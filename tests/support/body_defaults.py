"""A few bodies to test with."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec.structs import replace

from bumble.body import bars, soma
from bumble.body.affects import Affect
from bumble.body.bars import Bar, Bars
from bumble.body.config import FeltMemoryConfig, Temperament
from bumble.body.noise import Fragment
from bumble.body.soma import FeltLine, Soma

NOON = datetime(2026, 5, 24, 12, 0, tzinfo=UTC)
TEMPERAMENT, MEMORY = Temperament(), FeltMemoryConfig()
BORN: Soma = soma.birth(NOON, TEMPERAMENT)


def bars_at(at: datetime = NOON, /, **values: float) -> Bars:
    """Make bars with some values set and the resting points of birth."""
    born = bars.birth(at, TEMPERAMENT)
    set_to = {name: Bar(value, born.levels[name].rest) for name, value in values.items()}
    return replace(born, levels={**born.levels, **set_to})


def body(**values: float) -> Soma:
    """Make a body at noon with some bars set."""
    return replace(BORN, bars=bars_at(**values))


STIRRED = replace(
    body(social=85, curiosity=74.4, comfort=71),
    affects=(Affect("amused", 0.62, NOON), Affect("a-little-proud", 0.4, NOON)),
    noise=(
        Fragment("the tide pulls at thoughts", "dream", 0.9, NOON),
        Fragment("was it about something else underneath", "thought", 0.4, NOON),
        Fragment("bees do not queue", "thought", 0.4, NOON),
    ),
    felt=FeltLine("a quick bright tug, like a kite", NOON),
)
