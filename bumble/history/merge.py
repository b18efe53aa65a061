"""Merging two versions of an entity's file by its meaning: which rule for which file.

Each kind of file has rules for its values (`merge_rules`); texts are merged line by line, and where
both sides changed a line, git's conflict markers are left in. A file that can't be read as what it
should be is merged line by line as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from bumble.entity import companions
from bumble.history import merge_lines, merge_rules, merge_sections, merge_transcripts
from bumble.history.merge_lines import Merged
from bumble.history.merge_rules import Values
from bumble.history.merge_values import CLASHED, moment
from bumble.records import (
    forgotten,
    kinds,
    mapping_files,
    narrative,
    relationships,
    self_model,
    soma,
    state,
    topics,
)
from bumble.records.kinds import Kind
from bumble.text import markdown

DATED = f"record_{'0' * 26}"  # an id that has a time: the record's own may stand in its companion
Rules = Callable[[Values, Values, Values], dict[str, Any]]
Merge = Callable[[str, str, str], Merged]


def merge(path: str, base: str, current: str, incoming: str) -> Merged:
    """Join what both sides changed.

    Args:
        path: Where the file lies, below the entity folder or a folder above it.
        base: The text both sides began with; empty where there was none.
        current: One side.
        incoming: The other.
    """
    if current == incoming or incoming == base:
        return Merged(current, True)
    if current == base:
        return Merged(incoming, True)
    try:
        return _merger_for(path)(base, current, incoming)
    except ValueError:  # a side is not such a record
        return merge_lines.merge(base, current, incoming)


def _merger_for(path: str) -> Merge:
    parts = PurePosixPath(path).parts
    for number in reversed(range(len(parts))):  # the entity's folder may lie below the repository's
        inner = "/".join(parts[number:])
        kind = kinds.of_path(inner)
        if inner == forgotten.PATH:
            return merge_lines.merge_notes
        if record := companions.record_of(inner):
            return _companion_merger(kinds.of_path(record))
        if kind and PurePosixPath(kind.patterns[0]).suffix == PurePosixPath(path).suffix:
            merger = MERGERS.get(kind.name, merge_lines.merge)
            return _shown_merger(inner, merger) if inner in companions.SECTIONS else merger
    return merge_lines.merge


def _mapping_merger(read: Callable[[str], object], rules: Rules) -> Merge:
    """Return what merges a file without which nothing works: it never has markers afterwards."""

    def settled(base: Values, current: Values, incoming: Values) -> dict[str, Any]:
        return _settled(rules(base, current, incoming), current, incoming)

    def merge(base: str, current: str, incoming: str) -> Merged:
        readable = [text for text in (current, incoming) if _is_readable(read, text)]
        if len(readable) == 1:
            return Merged(readable[0], True)
        base = base if _is_readable(read, base) else ""
        return _merge_yaml((base, current, incoming), settled)

    return merge


def _shown_merger(path: str, merger: Merge) -> Merge:
    """Return what merges files of sections in either form: whole, or as their files show them."""

    def merge(base: str, current: str, incoming: str) -> Merged:
        sides = (base, current, incoming)
        if not any(map(companions.is_marked, sides)):
            return merger(*sides)
        pointed = any(companions.KEY in markdown.parse(side).meta for side in sides[1:])
        merged = merger(*(companions.opened(path, side) for side in sides))
        return Merged(companions.closed(path, merged.text, pointed=pointed), merged.clean)

    return merge


def _companion_merger(kind: Kind | None) -> Merge:
    """Return what merges companions: no markers are left in what nobody reads by eye."""
    name = kind.name if kind else ""
    return _mapping_merger(mapping_files.parse, BESIDE.get(name, merge_rules.origin))


def _is_readable(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


def _settled(wanted: Mapping[str, Any], current: Any, incoming: Any) -> dict[str, Any]:
    """Decide what no rule does: the value that sorts last, so that either side gives the same."""
    decided: dict[str, Any] = {}
    for key, value in wanted.items():
        sides = [side.get(key) for side in (current, incoming) if isinstance(side, Mapping)]
        if value is CLASHED:
            value = max(sides, key=repr)
        elif isinstance(value, Mapping):
            value = _settled(value, *sides) if len(sides) == 2 else value
        decided[key] = value
    return decided


def _record_merger(kind: Kind, rules: Rules) -> Merge:
    """Return what merges records of a kind; a side that is none is refused."""

    def merge(base: str, current: str, incoming: str) -> Merged:
        for text in (current, incoming):
            kind.parse(text, DATED)
        return _merge_document((base, current, incoming), rules)

    return merge


def _yaml_merger(kind: Kind, rules: Rules) -> Merge:
    """Return what merges records of a kind that are YAML; a side that is none is refused."""

    def merge(base: str, current: str, incoming: str) -> Merged:
        for text in (current, incoming):
            kind.parse(text, "record")
        return _merge_yaml((base, current, incoming), rules)

    return merge


def _merge_person(base: str, current: str, incoming: str) -> Merged:
    """Merge a portrait; of two that the entity wrote itself since then, the later comes first.

    One that was begun anew, by somebody who was forgotten and is met again, is of one side alone.
    """
    people = [relationships.parse(text, "person") for text in (base, current, incoming)]
    met = [person.first_met for person in people]
    if met[0] and met[1] and met[2] and met[1] != met[2] and met[0] in met[1:]:
        anew = incoming if met[1] == met[0] else current
        if max(met[1], met[2]) > met[0]:
            return Merged(anew, True)
    merged = _merge_document((base, current, incoming), merge_rules.person)
    times = [person.last_reflection for person in people]
    written = [person.provenance.by for person in people[1:]]
    if merged.clean or not all(written) or times[1] == times[2] or None in times[1:]:
        return merged
    earlier, later = sorted(people[1:], key=_written_at)
    text = _join_portraits(people[0].text, earlier.text, later.text)
    body = later.source.source[later.source.body_start :].replace(later.text, text, 1)
    texts = [person.source.source[: person.source.body_start] + body for person in people]
    return _merge_document((texts[0], texts[1], texts[2]), merge_rules.person)


def _join_portraits(base: str, earlier: str, later: str) -> str:
    """Return the later portrait with what only the other side learnt below its prose."""
    parts = [relationships.split_quotes(text) for text in (base, earlier, later)]
    base_lines, earlier_lines, later_lines = (prose.splitlines() for prose, _ in parts)
    more = [
        f"\n{line}" if line.startswith(">") else line  # a quote by form is a paragraph of its own
        for line in earlier_lines
        if line.strip() and line not in (*base_lines, *later_lines)
    ]
    quotes = sorted({quote for _, quotes in parts[1:] for quote in quotes})  # begin with their days
    return relationships.with_quotes("\n".join((*later_lines, *more)).strip(), quotes)


def _written_at(person: relationships.Relationship) -> float:
    """Return when a portrait was written, for comparing."""
    return person.last_reflection.timestamp() if person.last_reflection else 0.0


def _merge_narrative(base: str, current: str, incoming: str) -> Merged:
    for text in (current, incoming):
        narrative.parse(text)
    return _later_text(base, current, incoming)


def _merge_drawn(base: str, current: str, incoming: str) -> Merged:
    """Take the catalysts that were drawn later, all of them."""
    for text in (current, incoming):
        topics.parse(text, "topic")
    return _later_text(base, current, incoming)


def _later_text(base: str, current: str, incoming: str) -> Merged:
    """Take the story, or brief, that was told later, whole: two halves of two stories are none."""
    times = [moment(markdown.parse(text).meta.get("at")) for text in (current, incoming)]
    if times[0] is None or times[1] is None or times[0] == times[1]:
        return _merge_document((base, current, incoming), merge_rules.origin)
    return Merged(current if times[0] > times[1] else incoming, True)


def _merge_document(texts: tuple[str, str, str], rules: Rules) -> Merged:
    """Merge front matter by rules and the body by lines."""
    documents = [markdown.parse(text) for text in texts]
    bodies = [document.source[document.body_start :] for document in documents]
    below = merge_lines.merge(bodies[0], bodies[1], bodies[2])
    carrier = next((document for document in documents[1:] if document.meta_start), None)
    if carrier is None:
        return below
    metas = [document.source[document.meta_start : document.meta_end] for document in documents]
    above = _merge_yaml((metas[0], metas[1], metas[2]), rules)
    head = carrier.source[: carrier.meta_start] + above.text
    fence = carrier.source[carrier.meta_end : carrier.body_start]
    return Merged(head + fence + below.text, above.clean and below.clean)


def _merge_yaml(texts: tuple[str, str, str], rules: Rules) -> Merged:
    """Merge a mapping by rules, and what surrounds its values by lines.

    The values are put into all three texts first, so that only comments, order and what no rule
    decides are left to the lines.
    """
    read = [mapping_files.parse(text) for text in texts]
    wanted = rules(read[0].values, read[1].values, read[2].values)
    agreed = [_with_values(parsed.source or "", wanted) for parsed in read]
    merged = merge_lines.merge(agreed[0], agreed[1], agreed[2])
    if CLASHED in _leaves(wanted):
        return merged
    if merged.clean and _has_values(merged.text, wanted):
        return merged
    return Merged(agreed[1], True)


def _with_values(source: str, wanted: Mapping[str, Any]) -> str:
    """Return a text with the wanted values in it; those that clash stay as they are."""
    present = mapping_files.parse(source)
    gone = list(_missing_keys(present.values, wanted))
    return mapping_files.edited(present, _decided_values(wanted), gone).source or ""


def _decided_values(wanted: Mapping[str, Any]) -> dict[str, Any]:
    decided = {}
    for key, value in wanted.items():
        if isinstance(value, Mapping) and value:
            inner = _decided_values(value)
            if inner:
                decided[key] = inner
        elif value is not CLASHED:
            decided[key] = value
    return decided


def _missing_keys(
    present: Mapping[str, Any], wanted: Mapping[str, Any], above: Sequence[str] = ()
) -> Iterator[Sequence[str]]:
    for key, value in present.items():
        if key not in wanted:
            yield (*above, str(key))
        elif isinstance(value, Mapping) and isinstance(wanted[key], Mapping):
            yield from _missing_keys(value, wanted[key], (*above, str(key)))


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return [leaf for inner in value.values() for leaf in _leaves(inner)]
    return [value]


def _has_values(text: str, wanted: Mapping[str, Any]) -> bool:
    try:
        return mapping_files.parse(text).values == wanted
    except ValueError:
        return False


BESIDE: Mapping[str, Rules] = {  # of companions, by kind
    "knowledge": merge_rules.parts,
    "journal": merge_rules.parts,
    "scratch": merge_rules.parts,
    "working": merge_rules.parts,
    "belief": merge_rules.belief,
    "person": merge_rules.person,
    "episode": merge_rules.record,
    "dream": merge_rules.record,
    "automation": merge_rules.automation,
}
MERGERS: Mapping[str, Merge] = {  # by kind
    "soma": _mapping_merger(soma.parse, merge_rules.soma),
    "state": _mapping_merger(state.parse, merge_rules.state),
    "knowledge": merge_sections.knowledge,
    "journal": merge_sections.journal,
    "narrative": _merge_narrative,
    "handover": _later_text,
    "scratch": merge_lines.merge_notes,
    "topic": _merge_drawn,
    "working": merge_lines.union,
    "session": merge_transcripts.merge,
    "belief": _record_merger(kinds.BELIEF, merge_rules.belief),
    "person": _merge_person,
    "episode": _record_merger(kinds.EPISODE, merge_rules.record),
    "dream": _record_merger(kinds.DREAM, merge_rules.record),
    "reminder": _record_merger(kinds.REMINDER, merge_rules.reminder),
    "automation": _record_merger(kinds.AUTOMATION, merge_rules.automation),
    "project": _record_merger(kinds.PROJECT, merge_rules.project),
    "proposal": _record_merger(kinds.PROPOSAL, merge_rules.proposal),
    "self_model": _mapping_merger(self_model.parse, merge_rules.self_model),
    "anchor": _yaml_merger(kinds.ANCHOR, merge_rules.anchor),
}
