"""Reflex or deliberate: the rules and word lists that decide how much a message is thought about.

The first rule that fits decides; each has an id and says how sure it is. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from bumble import prompts
from bumble.entity.config import RouterConfig
from bumble.llm.protocol import Message, Model, Request
from bumble.runtime.job import NO_ANSWER
from bumble.runtime.runtime import ProfileName

CLASSES: Mapping[str, ProfileName] = {
    "CHAT": "reflex",
    "GROUNDED": "deliberate",
    "EXACT": "deliberate",
    "DEEP": "deliberate",
}
SLANG = frozenset({"lol", "lmao", "omg", "bruh", "haha", "idk", "btw", "tbh", "jaja", "kkk", "mdr"})
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
    message = text.strip()
    if automation:
        return Route("deliberate", "automation", 1.0)
    if len(message) < config.greeting_chars or GREETING.fullmatch(message):
        return Route("reflex", "greeting", 0.95)
    if SELF.search(message):
        return Route("deliberate", "self_or_files", 0.8)
    calm = intensity < config.question_max_intensity
    if (
        "?" in message
        and len(message) < config.question_chars
        and calm
        and not DEPTH.search(message)
    ):
        return Route("reflex", "short_question", 0.6)
    if DEPTH.search(message):
        return Route("deliberate", "depth", 0.7)
    if mood in HEAVY_MOODS:
        return Route("deliberate", "heavy_mood", 0.6)
    if len(message) > config.long_input_chars:
        return Route("deliberate", "long_input", 0.75)
    return Route("reflex", "small_talk", 0.5 if len(message) <= config.slang_chars else 0.35)


def decide(
    model: Model | None,
    text: str,
    config: RouterConfig,
    *,
    automation: bool = False,
    mood: str = "neutral",
    intensity: float = 0.0,
) -> Route:
    """Decide by the rules, and where they are unsure by the model.

    Args:
        model: None leaves it to the rules.
        text: What was said.
        config: Lengths and limits.
        automation: Whether no person said it.
        mood: The entity's mood.
        intensity: How charged the moment is, in [0, 1].
    """
    decision = route(text, config, automation=automation, mood=mood, intensity=intensity)
    unsure = decision.confidence < config.escalation_threshold
    if model is None or not config.classifier or not unsure or is_light(text, config):
        return decision
    return classify(model, text, config)


def is_light(text: str, config: RouterConfig) -> bool:
    """Whether a message is slang or a reaction, which are never worth a question."""
    message = text.strip()
    if len(message) <= config.reaction_chars:
        return True
    words = {word.casefold() for word in re.findall(r"\w+", message)}
    return len(message) <= config.slang_chars and bool(words & SLANG)


def classify(model: Model, text: str, config: RouterConfig) -> Route:
    """Ask the model for one word; an answer that can't be read, or none, gets thought."""
    request = Request(
        messages=(
            Message(
                "user", prompts.load("classify").fill(message=prompts.harmless(text, "message"))
            ),
        ),
        purpose="route",
        max_tokens=config.classifier_max_tokens,
        temperature=config.classifier_temperature,
        schema={"enum": list(CLASSES)},
    )
    try:
        answer = model.complete(request).text
    except NO_ANSWER:
        return Route("deliberate", "classifier_failed", 0.5)
    named = [name for name in CLASSES if name in answer.upper()]
    if len(named) != 1:
        return Route("deliberate", "classifier_unreadable", 0.5)
    return Route(CLASSES[named[0]], f"classifier_{named[0].lower()}", 0.7)
