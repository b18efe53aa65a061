"""The short prompt: who the entity is and eight examples, in the language that is spoken.

For a model that may choose but not write: reading is what costs such a model its time, and what
it is told in another language than the one spoken it answers in that. No tools, no rules of the
house, no story: what a plain turn needs. The stable part is a function of files alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from bumble.entity.config import Identity, PromptConfig
from bumble.entity.folder import Entity
from bumble.llm import prompts
from bumble.llm.protocol import PromptMessage
from bumble.prompt import prompt_files, system
from bumble.prompt.system import Block, Stable
from bumble.runtime import rules
from bumble.text import tokens, words
from bumble.text.words import one_line

NAME = "talk_{language}"
MONOLOGUE_TOKENS = 24  # of who the entity is: how it speaks the examples show


def has(language: str) -> bool:
    """Whether there is a short prompt in a language."""
    return prompts.exists(NAME.format(language=language))


def stable(entity: Entity, identity: Identity, config: PromptConfig, language: str) -> Stable:
    """Make the short prompt from an entity's files as they are."""
    own_files = tuple(prompt_files.read(entity, config))
    who = rules.own_identity(entity, identity).identity
    book = rules.own_book(entity, system.readable_book(entity))
    parts = {
        "monologue": _monologue(one_line(who.monologue), language),
        "always": "\n".join(filter(None, (system.locked(book), system.files(own_files)))),
    }
    page = prompts.load(NAME.format(language=language))
    (_, text), *turns = page.turns(name=identity.name, **parts)
    (_, bare), *_ = page.turns(name=identity.name, **dict.fromkeys(parts, ""))
    blocks = (Block("how to answer", bare), *(Block(name, part) for name, part in parts.items()))
    return Stable(text, blocks, own_files, examples=_messages(turns))


def _monologue(text: str, language: str) -> str:
    """Return what the entity is, for a prompt in a language; in another one it would mislead."""
    alike = words.language(text, default=language) == language
    return _within(text, MONOLOGUE_TOKENS) if alike else ""


def _within(text: str, limit_tokens: int) -> str:
    """Keep the first sentences of a text, as many as fit; the first is always there."""
    first, *more = words.sentences(text) or [""]
    for sentence in more:
        if tokens.estimate(f"{first} {sentence}") > limit_tokens:
            break
        first = f"{first} {sentence}"
    return first


def _messages(turns: Sequence[tuple[prompts.Role, str]]) -> tuple[PromptMessage, ...]:
    return tuple(PromptMessage(role, text) for role, text in turns)
