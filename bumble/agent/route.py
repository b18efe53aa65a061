"""Reflex or deliberate: the rules that decide how much a message is thought about.

What its words show is `route_words`; without a file of its language its shape decides. The first
rule that fits decides; each has an id and says how sure it is. Pure functions.
"""

from __future__ import annotations

import re

from msgspec import Struct

from bumble.agent import route_words
from bumble.agent.route_words import Look
from bumble.runtime.runtime import ProfileName
from bumble.text import stop_words, words

HEAVY_MOODS = frozenset({"melancholy", "anxious", "affectionate"})
GREETING = re.compile(
    r"(hi|hello|hey|yo|hiya|howdy|morning|evening|good (morning|evening|night|day|afternoon)|sup"
    r"|thanks?( you)?|thx|ok(ay)?|bye|goodbye|see you|gn|hallo|moin|servus|salut|bonjour|hola|ciao"
    r"|olá|hej|привет|你好|こんにちは)( (there|you|all|everyone|again))?[\s!.,?~🙂👋]*",
    re.IGNORECASE,
)
# Code, names of files, addresses: marks that stand in no small talk.
TECHNICAL = re.compile(
    r"```|`[^`]+`|https?://|\w+\(.*\)|[{};]\s*$|[<>]=?|=>|->|\b\w+\.(?:py|js|ts|md|txt|csv|json|ya?ml"
    r"|html?|css|sh|sql|rs|go|c|cpp|java|pdf|docx?|xlsx?|png|jpe?g)\b|(?:^|\s)[~./\\]+/\S|@\w+[./]\w"
)
QUESTION = re.compile("[?？؟]")
DIGIT = re.compile(r"\d+")
GREETING_CHARS = 4  # shorter input is a reflex
QUESTION_CHARS = 80  # a question shorter than this, and calm, is a reflex
QUESTION_MAX_INTENSITY = 0.6  # emotional intensity up to which a question is calm
LONG_INPUT_CHARS = 200  # longer input is thought about
SLANG_CHARS = 120  # longer talk without a question is in doubt
REACTION_CHARS = 18  # a reaction up to here is a reflex, whatever it holds
SHORT_WORDS = 6  # of a question that nothing weighs
CUE_WORDS = 9  # of a question that is light by a word of it
MOST_LIGHT_WORDS = 5  # of a statement without a cue that is light nevertheless
FEW_WORDS = 2  # of a message that says too little to be of weight unless a word shows it
UNKNOWN_WORDS = 3  # of a message whose language has no file and that is light nevertheless


class Route(Struct, frozen=True):
    """Where a message goes, by which rule, and how sure that is."""

    profile: ProfileName
    rule: str
    confidence: float  # in [0, 1]


def by_form(text: str) -> Route:
    """Decide by the form of a message alone, in any language: for a model that thinks for itself.

    What has code, a file, an address, several lines or numbers in it, and what is long, is worth
    thought.
    """
    message = text.strip()
    if _is_sound(message):
        return Route("reflex", "greeting", 0.95)
    if TECHNICAL.search(message) or "\n" in message:
        return Route("deliberate", "technical", 0.8)
    if len(message) > LONG_INPUT_CHARS:
        return Route("deliberate", "long_input", 0.75)
    asks = QUESTION.search(message) is not None
    if not asks and len(message) <= REACTION_CHARS:
        return Route("reflex", "reaction", 0.7)
    if asks and (len(message) >= QUESTION_CHARS or DIGIT.search(message)):
        return Route("deliberate", "long_question", 0.6)
    if len(message) > SLANG_CHARS or len(DIGIT.findall(message)) > 1:
        return Route("deliberate", "doubt", 0.35)
    return Route("reflex", "short_question" if asks else "small_talk", 0.6)


def demands(text: str) -> bool:
    """Whether a message is about code, a file or an address: then work may be wanted."""
    return TECHNICAL.search(text) is not None


def route(
    text: str,
    language: str = words.DEFAULT_LANGUAGE,
    *,
    automation: bool = False,
    mood: str = "neutral",
    intensity: float = 0.0,
) -> Route:
    """Decide by the rules.

    Args:
        text: What was said.
        language: In which, `de`.
        automation: Whether no person said it.
        mood: The entity's mood.
        intensity: How charged the moment is, in [0, 1].
    """
    message = text.strip()
    if automation:
        return Route("deliberate", "automation", 1.0)
    if _is_sound(message):
        return Route("reflex", "greeting", 0.95)
    look = Look(message, language)
    if look.is_technical:
        return Route("deliberate", "technical", 0.75)
    calm = intensity < QUESTION_MAX_INTENSITY
    if not route_words.has(language):
        return _unknown(look, calm=calm)
    return (
        _weighty(look)
        or _light(look, mood=mood, calm=calm)
        or _doubtful(look, mood=mood, calm=calm)
    )


def _is_sound(message: str) -> bool:
    """Whether a message is a greeting of any language, or too short to say anything."""
    letters = sum(3 if stop_words.UNSPACED_SIGN.match(char) else 1 for char in message)
    return letters < GREETING_CHARS or GREETING.fullmatch(message) is not None


def _unknown(look: Look, *, calm: bool) -> Route:
    """Decide without words: what is short and has no number is light, and doubt gets thought."""
    is_short = look.count <= UNKNOWN_WORDS and len(look.text) < QUESTION_CHARS
    if look.laughs or not look.count:
        return Route("reflex", "small_talk", 0.5)
    has_digit = any(char.isdigit() for char in look.text)
    if is_short and calm and not has_digit and not stop_words.UNSPACED_SIGN.search(look.text):
        return Route("reflex", "short_question" if look.asks else "small_talk", 0.4)
    return Route("deliberate", "unknown_language", 0.35)


def _weighty(look: Look) -> Route | None:
    """Return where a message goes that shows weight or work."""
    if look.is_heavy:
        return Route("deliberate", "heavy", 0.75)
    if look.is_reaction:
        return Route("reflex", "reaction", 0.7)
    if look.asks_of_self:
        return Route("deliberate", "self_or_files", 0.8)
    if look.is_task:
        return Route("deliberate", "task", 0.75)
    return None


def _light(look: Look, *, mood: str, calm: bool) -> Route | None:
    """Return where a message goes that asks for thought or shows that it needs none."""
    is_short = look.count <= CUE_WORDS and len(look.text) < QUESTION_CHARS
    if look.asks and look.is_light and is_short and calm and not look.is_deep:
        return Route("reflex", "short_question", 0.7)
    if look.is_deep:
        return Route("deliberate", "depth", 0.7)
    if look.asks or mood in HEAVY_MOODS:
        return None
    if look.laughs or look.is_light:
        return Route("reflex", "small_talk", 0.6)
    return None


def _doubtful(look: Look, *, mood: str, calm: bool) -> Route:
    """Decide by length, and by whom a message speaks of."""
    if look.asks:
        if look.count <= SHORT_WORDS and len(look.text) < QUESTION_CHARS and calm:
            return Route("reflex", "short_question", 0.6)
        return Route("deliberate", "long_question", 0.5)
    if mood in HEAVY_MOODS:
        return Route("deliberate", "heavy_mood", 0.6)
    if len(look.text) > LONG_INPUT_CHARS:
        return Route("deliberate", "long_input", 0.75)
    if look.count > FEW_WORDS and not look.tells and look.is_personal:
        return Route("deliberate", "personal", 0.35)
    has_digit = any(char.isdigit() for char in look.text)
    if not look.tells and (has_digit or look.count > MOST_LIGHT_WORDS):
        return Route("deliberate", "doubt", 0.35)
    return Route("reflex", "small_talk", 0.5 if len(look.text) <= SLANG_CHARS else 0.35)
