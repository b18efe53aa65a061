"""Reflex or deliberate: how much a message is worth thinking about, decided by rules.

The first rule that fits decides; each has an id and says how sure it is. Pure functions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from bumble.entity.config import RouterConfig

ProfileName = Literal["reflex", "deliberate"]
HEAVY_MOODS = frozenset({"melancholy", "anxious", "affectionate"})
GREETING = re.compile(
    r"(hi|hello|hey|yo|hiya|howdy|morning|evening|good (morning|evening|night|day|afternoon)|sup"
    r"|thanks?( you)?|thx|ok(ay)?|bye|goodbye|see you|gn|hallo|moin|servus|salut|bonjour|hola|ciao"
    r"|olá|привет|你好|こんにちは)( (there|you|all|everyone|again))?[\s!.,?~🙂👋]*",
    re.IGNORECASE,
)
SELF = re.compile(
    r"\b(who are you|what are you|your name|what can you|can you (do|read|write|run|search|open)"
    r"|your (memory|memories|skills|tools|files|folder|workspace|abilities)|files?|folder"
    r"|workspace|remember|recall|journal|knowledge)\b",
    re.IGNORECASE,
)
DEPTH = re.compile(
    r"\b(why|meaning|feel|feels|feeling|felt|afraid|scared|love|loves|loved|death|die|dead|dying"
    r"|exist|existence|philosophy)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Route:
    """Where a message goes, by which rule, and how sure that is."""

    profile: ProfileName
    rule: str
    confidence: float  # in [0, 1]


def route(
    text: str,
    config: RouterConfig,
    *,
    automation: bool = False,
    mood: str = "neutral",
    intensity: float = 0.0,
) -> Route:
    """Decide by the rules.

    Args:
        text: What was said.
        config: Lengths and limits of the rules.
        automation: Whether no person said it.
        mood: The entity's mood.
        intensity: How charged the moment is, in [0, 1].
    """
    said = text.strip()
    if automation:
        return Route("deliberate", "automation", 1.0)
    if len(said) < config.greeting_chars or GREETING.fullmatch(said):
        return Route("reflex", "greeting", 0.95)
    if SELF.search(said):
        return Route("deliberate", "self_or_files", 0.8)
    calm = intensity < config.question_max_intensity
    if "?" in said and len(said) < config.question_chars and calm and not DEPTH.search(said):
        return Route("reflex", "short_question", 0.6)
    if DEPTH.search(said):
        return Route("deliberate", "depth", 0.7)
    if mood in HEAVY_MOODS:
        return Route("deliberate", "heavy_mood", 0.6)
    if len(said) > config.long_input_chars:
        return Route("deliberate", "long_input", 0.75)
    return Route("reflex", "small_talk", 0.5 if len(said) <= config.slang_chars else 0.35)
