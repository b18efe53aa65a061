"""Trust of what was only read: quoted in prompts, never learnt on its own say-so.

A turn that has read text of tools or imports may still write down what the person says; not what
the text says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bumble.grounding import claims
from bumble.records import base
from bumble.records.sessions import Message
from bumble.text import stop_words

QUOTED = ("tool", "imported")  # what such a text says is read, not remembered
# Tools over the entity's own memory; what any other tool gives is text from outside.
MEMORY_TOOLS = frozenset(
    {
        "recall",
        "update_knowledge",
        "write_journal",
        "list_skills",
        "read_skill",
        "update_skill",
        "working_memory_note",
    }
)
LEAST_SHARE = 0.6  # of the telling words of a text, when it is held to be what somebody said
ENDING = 3  # letters at the end in which two forms of a word may differ, and the fewest that stay


def is_quoted(trust: str) -> bool:
    """Whether a text is quoted in prompts."""
    return trust in QUOTED


def quoted(trusts: Iterable[str]) -> str:
    """Return the lowest of some tiers if it is quoted, else nothing."""
    lowest = base.lowest_trust(trusts)
    return lowest if is_quoted(lowest) else ""


def of_result(tool: str, trust: str = "") -> str:
    """Return the tier of what a tool gave, `trust` being the lowest among what it found."""
    return quoted((trust,)) if tool in MEMORY_TOOLS else base.lowest_trust(("tool", trust))


def read_in(messages: Iterable[Message]) -> set[str]:
    """Return the quoted tiers of what tools gave in a conversation."""
    found = {
        of_result(str(one.extra.get("tool", "")), str(one.extra.get("origin", "")))
        for one in messages
        if one.role == "tool"
    }
    return found - {""}


def was_said(text: str, said: Sequence[str], known: Sequence[str]) -> bool:
    """Whether a text says no more than somebody did, in whatever form.

    Args:
        text: What is to be written down.
        said: The person's messages.
        known: Names that need not have been said.
    """
    if claims.unsupported(text, said, known):
        return False
    names = set(stop_words.words(" ".join(known)))
    words = [word for word in stop_words.telling_words(text) if word not in names]
    heard = set(stop_words.words(" ".join(said)))
    stems = [word[: max(ENDING, len(word) - ENDING)] for word in words]
    found = sum(any(other.startswith(stem) for other in heard) for stem in stems)
    return found >= LEAST_SHARE * len(words)
