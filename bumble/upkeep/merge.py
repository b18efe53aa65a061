"""Merging two versions of a file of an entity by meaning, as git asks for it.

Each kind of file has rules for its values (`merge_rules`); texts are merged line by line, and where
both sides changed a line, git's conflict markers are left in. A file that can't be read as what it
should be is merged line by line as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from bumble import markdown
from bumble.body import soma as body
from bumble.cycles import portrait
from bumble.stores import (
    automations,
    beliefs,
    dreams,
    episodes,
    mappings,
    narrative,
    relationships,
    reminders,
)
from bumble.upkeep import merge_lines, merge_rules, merge_sections
from bumble.upkeep.merge_lines import Merged
from bumble.upkeep.merge_rules import Values
from bumble.upkeep.merge_values import CLASHED, moment

Rules = Callable[[Values, Values, Values], dict[str, Any]]
Merge = Callable[[str, str, str], Merged]


def merge(path: str, base: str, ours: str, theirs: str) -> Merged:
    """Join what both sides changed.

    Args:
        path: Where the file lies, below the entity folder or a folder above it.
        base: The text both sides began with; empty where there was none.
        ours: One side.
        theirs: The other.
    """
    if ours == theirs or theirs == base:
        return Merged(ours, True)
    if ours == base:
        return Merged(theirs, True)
    try:
        return _kind(path)(base, ours, theirs)
    except ValueError:  # a side is not such a record
        return merge_lines.merge(base, ours, theirs)


def _kind(path: str) -> Merge:
    place = PurePosixPath(path)
    if place.name in BY_NAME:
        return BY_NAME[place.name]
    folders = [one for one in place.parts[:-1] if one in BY_FOLDER]
    return BY_FOLDER[folders[-1]] if folders and place.suffix == ".md" else merge_lines.merge


def _soma(base: str, ours: str, theirs: str) -> Merged:
    for text in (ours, theirs):
        body.from_mapping(mappings.parse(text).values)
    return _yaml((base, ours, theirs), merge_rules.soma)


def _state(base: str, ours: str, theirs: str) -> Merged:
    return _yaml((base, ours, theirs), merge_rules.state)


def _checked(parse: Callable[[str, str], object], rules: Rules) -> Merge:
    """Return what merges records of a kind; a side that is none is refused."""

    def merge(base: str, ours: str, theirs: str) -> Merged:
        for text in (ours, theirs):
            parse(text, "record")
        return _document((base, ours, theirs), rules)

    return merge


def _person(base: str, ours: str, theirs: str) -> Merged:
    """Merge a portrait; of two that the entity wrote itself since then, the later comes first."""
    people = [relationships.parse(text, "person") for text in (base, ours, theirs)]
    merged = _document((base, ours, theirs), merge_rules.person)
    told = [one.last_reflection for one in people]
    written = [one.provenance.by for one in people[1:]]
    if merged.clean or not all(written) or told[1] == told[2] or None in told[1:]:
        return merged
    earlier, later = sorted(people[1:], key=_written_at)
    text = _both_told(people[0].text, earlier.text, later.text)
    body = later.source.source[later.source.body_start :].replace(later.text, text, 1)
    texts = [one.source.source[: one.source.body_start] + body for one in people]
    return _document((texts[0], texts[1], texts[2]), merge_rules.person)


def _both_told(base: str, earlier: str, later: str) -> str:
    """Return the later portrait with what only the other side learnt below its prose."""
    parts = [portrait.split(text) for text in (base, earlier, later)]
    known, learnt, stands = (prose.splitlines() for prose, _ in parts)
    more = [line for line in learnt if line.strip() and line not in (*known, *stands)]
    quotes = sorted({quote for _, quotes in parts[1:] for quote in quotes})  # begin with their days
    return portrait.joined("\n".join((*stands, *more)).strip(), quotes)


def _written_at(person: relationships.Relationship) -> float:
    """Return when a portrait was written, for comparing."""
    return person.last_reflection.timestamp() if person.last_reflection else 0.0


def _narrative(base: str, ours: str, theirs: str) -> Merged:
    for text in (ours, theirs):
        narrative.parse(text)
    return _told_later(base, ours, theirs)


def _told_later(base: str, ours: str, theirs: str) -> Merged:
    """Take the story, or brief, that was told later, whole: two halves of two stories are none."""
    told = [moment(markdown.parse(text).meta.get("at")) for text in (ours, theirs)]
    if told[0] is None or told[1] is None or told[0] == told[1]:
        return _document((base, ours, theirs), merge_rules.origin)
    return Merged(ours if told[0] > told[1] else theirs, True)


def _document(texts: tuple[str, str, str], rules: Rules) -> Merged:
    """Merge front matter by rules and the body by lines."""
    found = [markdown.parse(text) for text in texts]
    bodies = [one.source[one.body_start :] for one in found]
    below = merge_lines.merge(bodies[0], bodies[1], bodies[2])
    carrier = next((one for one in found[1:] if one.meta_start), None)
    if carrier is None:
        return below
    metas = [one.source[one.meta_start : one.meta_end] for one in found]
    above = _yaml((metas[0], metas[1], metas[2]), rules)
    head = carrier.source[: carrier.meta_start] + above.text
    fence = carrier.source[carrier.meta_end : carrier.body_start]
    return Merged(head + fence + below.text, above.clean and below.clean)


def _yaml(texts: tuple[str, str, str], rules: Rules) -> Merged:
    """Merge a mapping by rules, and what surrounds its values by lines.

    The values are put into all three texts first, so that only comments, order and what no rule
    decides are left to the lines.
    """
    read = [mappings.parse(text) for text in texts]
    wanted = rules(read[0].values, read[1].values, read[2].values)
    agreed = [_agreed(one.source or "", wanted) for one in read]
    merged = merge_lines.merge(agreed[0], agreed[1], agreed[2])
    if CLASHED in _leaves(wanted):
        return merged
    if merged.clean and _holds(merged.text, wanted):
        return merged
    return Merged(agreed[1], True)


def _agreed(source: str, wanted: Mapping[str, Any]) -> str:
    """Return a text with the wanted values in it; those that clash stay as they are."""
    there = mappings.parse(source)
    gone = list(_gone(there.values, wanted))
    return mappings.edited(there, _decided(wanted), gone).source or ""


def _decided(wanted: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for key, value in wanted.items():
        if isinstance(value, Mapping) and value:
            inner = _decided(value)
            if inner:
                found[key] = inner
        elif value is not CLASHED:
            found[key] = value
    return found


def _gone(
    there: Mapping[str, Any], wanted: Mapping[str, Any], above: Sequence[str] = ()
) -> Iterator[Sequence[str]]:
    for key, value in there.items():
        if key not in wanted:
            yield (*above, str(key))
        elif isinstance(value, Mapping) and isinstance(wanted[key], Mapping):
            yield from _gone(value, wanted[key], (*above, str(key)))


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return [leaf for inner in value.values() for leaf in _leaves(inner)]
    return [value]


def _holds(text: str, wanted: Mapping[str, Any]) -> bool:
    try:
        return mappings.parse(text).values == wanted
    except ValueError:
        return False


BY_NAME: Mapping[str, Merge] = {
    "soma.yaml": _soma,
    "state.yaml": _state,
    "knowledge.md": merge_sections.knowledge,
    "journal.md": merge_sections.journal,
    "narrative.md": _narrative,
    "handover.md": _told_later,
}
BY_FOLDER: Mapping[str, Merge] = {
    "beliefs": _checked(beliefs.parse, merge_rules.belief),
    "relationships": _person,
    "episodes": _checked(episodes.parse, merge_rules.record),
    "dreams": _checked(dreams.parse, merge_rules.record),
    "reminders": _checked(reminders.parse, merge_rules.reminder),
    "automations": _checked(automations.parse, merge_rules.automation),
}
