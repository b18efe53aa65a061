"""Reflex or deliberate: how much a message is thought about, by its form or by what it is.

For a model that thinks for itself the form decides, in any language: code, files, numbers, length.
For others what the reader says of it. Each rule has an id and says how sure it is. And what a turn
may cost: room in the context window, tokens of an answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from bumble import patterns
from bumble.llm.protocol import PromptMessage, Request
from bumble.models.embed.reader import MessageReading
from bumble.prompt import transcript
from bumble.prompt.system import Stable
from bumble.records.sessions import Session
from bumble.runtime.runtime import ProfileName, Runtime
from bumble.text import stop_words, tokens

GREETING = patterns.compile(
    r"(hi|hello|hey|yo|hiya|howdy|morning|evening|good (morning|evening|night|day|afternoon)|sup"
    r"|thanks?( you)?|thx|ok(ay)?|bye|goodbye|see you|gn|hallo|moin|servus|salut|bonjour|hola|ciao"
    r"|olá|hej|привет|你好|こんにちは)( (there|you|all|everyone|again))?[\s!.,?~🙂👋]*",
    re.IGNORECASE,
)
# Code, names of files, addresses: marks that stand in no small talk.
TECHNICAL = patterns.compile(
    r"```|`[^`]+`|https?://|\w+\(.*\)|[{};]\s*$|[<>]=?|=>|->|\b\w+\.(?:py|js|ts|md|txt|csv|json|ya?ml"
    r"|html?|css|sh|sql|rs|go|c|cpp|java|pdf|docx?|xlsx?|png|jpe?g)\b|(?:^|\s)[~./\\]+/\S|@\w+[./]\w"
)
QUESTION = patterns.compile("[?？؟]")
DIGIT = patterns.compile(r"\d+")
GREETING_CHARS = 4  # shorter input is a reflex
QUESTION_CHARS = 80  # a question shorter than this, and calm, is a reflex
LONG_INPUT_CHARS = 200  # longer input is thought about
SLANG_CHARS = 120  # longer talk without a question is in doubt
REACTION_CHARS = 18  # a reaction up to here is a reflex, whatever it holds
DOUBT = -1.5  # how far below a cut-off a message still gets thought
WEIGHTY = (
    *("task", "ask_world", "ask_memory", "ask_entity", "pry", "remind", "remember", "correct"),
    *("confide", "calculate", "ask_known", "ask_talk"),
)

LEAST_ANSWER_TOKENS = 64  # however full the window is
LEAST_HISTORY_TOKENS = 256  # however long the stable part, or what is attached
WINDOW_SHARE = 0.75  # of the context window that stable part and history may fill


class Route(Struct, frozen=True):
    """Where a message goes, by which rule, and how sure that is."""

    profile: ProfileName
    rule: str
    confidence: float  # in [0, 1]


class Profile(Struct, frozen=True):
    """How much a turn may cost."""

    max_tokens: int
    thinking: bool
    temperature: float
    preamble_max_tokens: int


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


def by_reading(text: str, reading: MessageReading) -> Route:
    """Decide by what a message is: work, questions, weight and what is kept get thought."""
    if _is_sound(text.strip()):
        return Route("reflex", "greeting", 0.95)
    named = [each for each in WEIGHTY if reading.scores.get(each, DOUBT - 1) > DOUBT]
    if named:
        surest = max(named, key=lambda intent: reading.scores[intent])
        return Route("deliberate", surest, 0.8)
    if reading.heavy:
        return Route("deliberate", "heavy", 0.75)
    if reading.keep > DOUBT and not reading.has("greet", "leave"):
        return Route("deliberate", "kept", 0.6)
    return Route("reflex", reading.main, 0.6)


def _is_sound(message: str) -> bool:
    """Whether a message is a greeting of any language, or too short to say anything."""
    letters = sum(3 if stop_words.is_unspaced(char) else 1 for char in message)
    return letters < GREETING_CHARS or GREETING.fullmatch(message) is not None


def profile(runtime: Runtime, name: ProfileName) -> Profile:
    """Return what a turn may cost that is worth so much thought.

    A reflex gets less of what is recalled only where reading that takes its time.
    """
    named, reflex = runtime.config.llm.temperature, name == "reflex"
    cognition, prompt = runtime.config.cognition, runtime.config.prompt
    return Profile(
        max_tokens=cognition.reflex_max_tokens if reflex else cognition.deliberate_max_tokens,
        thinking=not reflex and cognition.deliberate_thinking,
        temperature=runtime.temperature if named is None else named,
        preamble_max_tokens=(
            prompt.preamble_reflex_max_tokens
            if reflex and runtime.local
            else prompt.preamble_max_tokens * runtime.times_recalled
        ),
    )


def history(runtime: Runtime, stable: Stable) -> int:
    """Return the tokens that stored history may take; the same for every profile."""
    room = int(runtime.window_tokens * WINDOW_SHARE / runtime.token_ratio)
    return max(LEAST_HISTORY_TOKENS, room - stable.tokens)


def view(
    runtime: Runtime, session: Session, stable: Stable, before: str = "", taken: int = 0
) -> transcript.View:
    """Return what of a conversation is shown, beside so many tokens that are taken."""
    most = max(LEAST_HISTORY_TOKENS, history(runtime, stable) - taken)
    return transcript.view(session, most, before=before, plain=stable.plain)


def fitting(runtime: Runtime, request: Request) -> Request:
    """Let an answer be no longer than the window still holds."""
    most = min(request.max_tokens, room(runtime, request.messages))
    return replace(request, max_tokens=max(LEAST_ANSWER_TOKENS, most))


def room(runtime: Runtime, messages: Sequence[PromptMessage]) -> int:
    """Estimate what the window still holds beside a prompt."""
    used = sum(tokens.estimate_message(one.content) for one in messages)
    return runtime.window_tokens - int(runtime.token_ratio * used)
