"""Who may meet which memory, and the tiers of trust: what is untrusted stays a quotation.

A text that is made of several memories reaches everybody whom its prompt, its diary entry or its
belief reaches. So it is made of what is for everyone and of what one and the same circle of people
may meet, and is for that circle; what came from elsewhere, by a tool or an import, stays out of it,
is quoted in prompts, and is never learnt on its own say-so.

The origin of a part of a file stands in a comment under its heading, or behind its line: one YAML
flow mapping, in the whole of the file only, which `companions` keeps beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from bumble.body.soma import is_open
from bumble.entity import companions
from bumble.records import base
from bumble.text import yaml_edit

Audience = tuple[str, ...]  # ids of people; empty: everyone
ITSELF = "wake"  # whom the entity talks with where it wakes for nobody
BY_FORM = "by form"  # behind what wrote a record, where no model did
UNTRUSTED = ("tool", "imported")  # tiers of what is read, not remembered


def is_untrusted(trust: str) -> bool:
    """Whether a text came by a tool or an import."""
    return trust in UNTRUSTED


def is_by_hand(origin: base.Provenance) -> bool:
    """Whether a person wrote a text: nothing names itself, nor was what did so lost."""
    return not (origin.by or is_untrusted(origin.trust))


def lowest_untrusted(trusts: Iterable[str]) -> str:
    """Return the lowest of some tiers if it is an untrusted one, else nothing."""
    lowest = base.lowest_trust(trusts)
    return lowest if is_untrusted(lowest) else ""


def within(origin: base.Provenance, circle: Audience) -> bool:
    """Whether a memory may go into a text for a circle."""
    return not is_untrusted(origin.trust) and is_open(origin.audience, circle)


def joined(audiences: Iterable[Audience]) -> Audience:
    """Return for whom a text is that is made of memories a circle may meet: who may meet all.

    Raises:
        ValueError: If there is nobody who may.
    """
    first, *others = [audience for audience in audiences if audience] or [()]
    found = tuple(one for one in first if all(one in other for other in others))
    if first and not found:
        raise ValueError("these memories are for nobody together")
    return found


class Reader(Struct, frozen=True):
    """Who is shown what an entity keeps: one person, or whoever may see everything."""

    id: str = ""  # empty: nothing is kept from them
    is_owner: bool = False  # who sees their own words to others, too, and talks with nobody

    def may_read(self, origin: base.Provenance) -> bool:
        """Whether they may be shown a text."""
        own = self.is_owner and (origin.trust == "owner" or origin.audience == (ITSELF,))
        return not self.id or own or base.may_read(origin.audience, (self.id,))


EVERYTHING = Reader(is_owner=True)
STRANGER = Reader("?")  # nobody has this id: only what is for everyone


def withheld(origin: base.Provenance) -> str:
    """Say in the place of a text that there is one, and for whom."""
    return f"(only for {', '.join(origin.audience) or 'others'}; --all shows it)"


def split_origin(text: str) -> tuple[base.Provenance, str]:
    """Return where a text says it comes from, and the text; a comment of another kind is text."""
    meta, rest = split_meta(text)
    return base.provenance(meta), rest


def split_meta(text: str) -> tuple[Mapping[str, Any], str]:
    """Return all that the comment of a text says of it, and the text."""
    comment = companions.BELOW.match(text)
    try:
        meta = yaml_edit.parse_mapping(comment[2]) if comment else {}
        base.provenance(meta)
    except ValueError:
        meta = {}
    return (meta, text[comment.end() :]) if comment and meta else ({}, text)


def lines_in(source: str) -> int:
    """Return how many lines of a section stand beside its file: the comment that was put in."""
    return int("\n<!--{" in source or "\r<!--{" in source)


def origin_comment(origin: base.Provenance | None, **more: Any) -> str:
    """Write the comment with its line end; nothing for what a person wrote."""
    meta = {**origin.meta(), **base.filled(more)} if origin else {}
    return f"{companions.comment(meta)}\n" if meta else ""


def with_origin_values(text: str, values: Mapping[str, Any]) -> str:
    """Return a text with some values in its first comment of that kind; other fields stay."""
    comment = companions.BELOW.search(text)
    if comment is None:
        return text
    meta = base.filled({**yaml_edit.parse_mapping(comment[2]), **values})
    return text[: comment.start(2)] + companions.inline(meta) + text[comment.end(2) :]


def harmless(text: str) -> str:
    """Show a comment that would pass for the text's origin, as the text that it is."""
    return text.replace("<", "&lt;", 1) if companions.BELOW.match(text) else text
