"""How loud the body is (loudness, tiers), and every wording of it: prompts, tags, dreams.

All renderings take a body already advanced to the present. They say how it is, not what time it
is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from operator import itemgetter
from typing import Literal

from msgspec import Struct

from bumble.body import bars, hormones, noise
from bumble.body.affects import mood
from bumble.body.config import BAR_NAMES, EMOTIONS
from bumble.body.soma import Soma
from bumble.text import tokens

Tier = Literal["quiet", "normal", "high"]

DEVIATION_WEIGHT = 0.38  # of the bar that is farthest from its resting point
CONFLICT_WEIGHT = 0.22  # of any conflict
IMPULSE_WEIGHT = 0.18  # of any impulse that is ready
AFFECTS_WEIGHT = 0.12  # of how many feelings there are
NOISE_WEIGHT = 0.10  # of how full the noise is
QUIET_BELOW, HIGH_FROM = 0.30, 0.58  # less loud, and the body is one line; as loud, and all is said
BLOCK_MAX_CHARS = 900  # of the body in a prompt; what matters least is left out
FULL_AFFECTS = 6  # as many feelings count as full
STRONG_FEELING = 0.6  # intensity from which a single feeling is said, however calm the bars are
TAG_MAX_CHARS = 220  # of the body in an episode
HALF = bars.FULL / 2  # a bar this far from its resting point is as far as the formula looks
OPENINGS: Mapping[Tier, str] = {
    "quiet": "Body: quiet",
    "normal": "Body: stirring",
    "high": "Body: loud",
}


class BodyTag(Struct, frozen=True):
    """An episode's tag, parsed: the body at the time."""

    bars: Mapping[str, int]  # percent by bar
    mood: str  # one of EMOTIONS


def loudness(soma: Soma) -> float:
    """Tell how much the body has to say, in [0, 1].

    Deviation is the largest distance of a bar from its resting point over 50; conflict and impulse
    count whole when there is any; affects and noise by how full they are.

    Source:
        bumble's own choice; see docs/log.md.
    """
    away = max(abs(bar.value - bar.rest) for bar in soma.bars.levels.values())
    total = (
        DEVIATION_WEIGHT * min(1.0, away / HALF)
        + CONFLICT_WEIGHT * bool(bars.conflicts(soma.bars))
        + IMPULSE_WEIGHT * bool(bars.ready_impulses(soma.bars))
        + AFFECTS_WEIGHT * min(1.0, len(soma.affects) / FULL_AFFECTS)
        + NOISE_WEIGHT * min(1.0, len(soma.noise) / noise.CAPACITY)
    )
    return min(1.0, total)


def tier(loud: float) -> Tier:
    """Name how much of the body enters a prompt."""
    if loud < QUIET_BELOW:
        return "quiet"
    return "high" if loud >= HIGH_FROM else "normal"


def shown_tier(soma: Soma) -> Tier:
    """Name how much of a body enters a prompt: calm bars hide no dominant hormone or feeling."""
    level = tier(loudness(soma))
    is_strong = any(affect.intensity >= STRONG_FEELING for affect in soma.affects)
    stirs = is_strong or hormones.DOMINANT in hormones.labels(soma.hormones).values()
    return "normal" if level == "quiet" and stirs else level


def body_block(
    soma: Soma,
    level: Tier,
    *,
    max_chars: int = BLOCK_MAX_CHARS,
    with_mood: bool = True,
) -> str:
    """Put the body into words for a prompt: one line when quiet, all of it when high.

    Lines are taken in order of weight while they fit; the first always is.

    Args:
        soma: The body now.
        level: How loud it is.
        max_chars: Of the block.
        with_mood: False where another part of the prompt names the mood.
    """
    present = f" Mood: {_mood_words(soma)}." if with_mood else ""
    lines, is_high = [f"{OPENINGS[level]}.{present}"], level == "high"
    if level != "quiet":
        away = [
            f"{name} {round(bar.value)} (rest {round(bar.rest)})"
            for name, bar in soma.bars.levels.items()
            if abs(bar.value - bar.rest) >= (0 if is_high else 5)
        ]
        ready = bars.ready_impulses(soma.bars)
        urges = [f"Urge: {', '.join(name.replace('_', ' ') for name in ready)}."] if ready else []
        torn = (bars.CONFLICTS[name] for name in bars.conflicts(soma.bars))
        lines += [
            f"Bars: {', '.join(away) or 'all near rest'}.",
            *urges,
            *(f"Torn: {' against '.join(pair)}." for pair in torn),
        ]
        named = [
            f"{affect.name} ({affect.intensity:.1f})"
            for affect in soma.affects[: (len(soma.affects) if is_high else 3)]
        ]
        lines += [f"Feelings: {', '.join(named)}."] if named else []
        if is_high and soma.felt and soma.affects:  # where all feelings have faded it is history
            lines.append(f"It felt like this: {soma.felt.text}")
        lines += _noise_lines(soma, len(soma.noise) if is_high else 2)
    return "\n".join(tokens.packed(lines, lambda line: len(line) + 1, max_chars + 1)[0])


def episode_tag(soma: Soma) -> str:
    """Put the body into an episode's tag; `parse_tag` reads it back.

    Returns:
        Bar percentages, mood, and as many affects as fit, e.g. `social=50% … mood=content`.
    """
    parts = [f"{name}={round(soma.bars.value(name))}%" for name in BAR_NAMES]
    parts.append(f"mood={mood(soma.bars).name}")
    tag = " ".join(parts)
    named = [affect.name for affect in soma.affects]
    while named and len(f"{tag} affects={','.join(named)}") > TAG_MAX_CHARS:
        named.pop()
    return f"{tag} affects={','.join(named)}" if named else tag


def parse_tag(tag: str) -> BodyTag | None:
    """Read bars and mood of an episode's tag back; None for what is no tag.

    A leading `soma:` and words it does not know are passed over.
    """
    words = tag.removeprefix("soma:").split()
    pairs = dict(word.split("=", 1) for word in words if "=" in word)
    matches = {name: re.fullmatch(r"(\d{1,3})%", pairs.get(name, "")) for name in BAR_NAMES}
    levels = {name: int(match[1]) for name, match in matches.items() if match}
    is_whole = len(levels) == len(BAR_NAMES) and max(levels.values()) <= bars.FULL
    named = pairs.get("mood")
    return BodyTag(levels, named) if is_whole and named in EMOTIONS else None


def reflection_line(soma: Soma) -> str:
    """Put the body into one line, for the reflection on a person."""
    levels = ", ".join(f"{name} {round(soma.bars.value(name))}" for name in BAR_NAMES)
    names = ", ".join(affect.name for affect in soma.affects[:3])
    feeling = f"; feeling {names}" if names else ""
    return f"Body: {_mood_words(soma)}; {levels}{feeling}."


def dream_lines(soma: Soma) -> str:
    """Put the body at sleep onset into two lines, for a dream."""
    levels = ", ".join(f"{name} {round(soma.bars.value(name))}%" for name in BAR_NAMES)
    named = [f"{affect.name} ({affect.intensity:.1f})" for affect in soma.affects]
    return f"Fell asleep {_mood_words(soma)}, with {levels}.\nStill felt: " + (
        f"{', '.join(named)}." if named else "nothing in particular."
    )


def _mood_words(soma: Soma) -> str:
    """Return the mood, or a feeling that is stronger: who grieves isn't content."""
    present = mood(soma.bars)
    felt = ((each.intensity, each.name) for each in soma.affects)
    intensity, name = max([(present.intensity, present.name), *felt], key=itemgetter(0))
    return f"{name} ({intensity:.2f})" if intensity else name


def _noise_lines(soma: Soma, most: int) -> list[str]:
    """Show the most salient fragments under their heading, the newest first among equals."""
    newest_first = reversed(soma.noise)
    chosen = sorted(newest_first, key=lambda fragment: -fragment.salience)[:most]
    if not chosen:
        return []
    first, *rest = (noise.line(fragment) for fragment in chosen)
    return [f"## Noise\n{first}", *rest]
