"""Merging two versions of an entity's file by its meaning: which rule for which file.

Each kind says what its values become (`Kind.join`); texts are merged line by line, and where
both sides changed a line, git's conflict markers are left in. A file that can't be read as what it
should be is merged line by line as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bumble.entity import companions
from bumble.entity.changes import ChangeSet
from bumble.guard import clauses
from bumble.history import merge_texts
from bumble.records import (
    base,
    episodes,
    fields,
    forgotten,
    kinds,
    narrative,
    relationships,
    topics,
)
from bumble.records.kind import Kind, RecordKind
from bumble.text import markdown, stop_words, titles, words

DATED = f"record_{'0' * 26}"  # an id that has a time: the record's own may stand in its companion
Rules = Callable[[fields.Values, fields.Values, fields.Values], dict[str, Any]]
Merge = Callable[[str, str, str], merge_texts.Merged]


class MergePlan(Struct, frozen=True):
    """What was written once, or taken back, planned on the files as they are now."""

    change_set: ChangeSet
    stays: tuple[str, ...] = ()  # files that stay as they are, each with why


def merge(path: str, base: str, current: str, incoming: str) -> merge_texts.Merged:
    """Join what both sides changed.

    Args:
        path: Where the file lies, below the entity folder or a folder above it.
        base: The text both sides began with; empty where there was none.
        current: One side.
        incoming: The other.

    Returns:
        What they become, in the line ends of `current`: git may have another form of the same text.
    """
    if current == base:
        return merge_texts.Merged(incoming, True)
    sides = [text.replace("\r\n", "\n") for text in (base, current, incoming)]
    if sides[2] in sides[:2]:
        return merge_texts.Merged(current, True)
    if sides[0] == sides[1]:
        merged = merge_texts.Merged(sides[2], True)
    else:
        try:
            merged = _merger_for(path)(*sides)
        except ValueError:  # a side is not such a record
            merged = merge_texts.merge_lines(*sides)
    return replace(merged, text=merged.text.replace("\n", markdown.newline_of(current)))


def in_lf(data: bytes | None) -> bytes | None:
    """Return a file as git keeps it, whatever its line ends: what two versions are compared in."""
    return data and data.replace(b"\r\n", b"\n")


def merge_alone(path: str, base: str, current: str, incoming: str) -> merge_texts.Merged:
    """Join the sides of one file, as git has them; a whole that takes two files is left apart."""
    merged, (inner, kind) = merge(path, base, current, incoming), _placed(path)
    is_whole = kind is not None and kind.paired and not companions.record_of(inner)
    if is_whole and kind is relationships.PERSON:  # only of somebody who is met again
        try:
            is_whole = _begun_anew(_people(base, current, incoming)) is not None
        except ValueError:  # a side is no portrait
            is_whole = False
    return merge_texts.apart(current, incoming) if merged.clean and is_whole else merged


def _merger_for(path: str) -> Merge:
    inner, kind = _placed(path)
    if inner == forgotten.PATH:
        return merge_texts.merge_notes
    if companions.record_of(inner):  # no markers are left in what nobody reads by eye
        return partial(_merge_mapping, base.parse_mapping, kind.join if kind else fields.origin)
    merger = merger_of(kind) if kind else merge_texts.merge_lines
    return partial(_merge_shown, inner, merger) if inner in companions.SECTIONS else merger


def _placed(path: str) -> tuple[str, Kind | None]:
    """Return where a file lies in the entity's folder, and of what kind it or its record is.

    That folder may lie below the repository's.
    """
    parts = PurePosixPath(path).parts
    for number in reversed(range(len(parts))):
        inner = "/".join(parts[number:])
        record = companions.record_of(inner)
        kind = kinds.of_path(record or inner)
        if record or inner == forgotten.PATH or (kind and inner.endswith(kind.suffix)):
            return inner, kind
    return path, None


def merger_of(kind: Kind) -> Merge:
    """Return what merges the files of a kind."""
    if not kind.merging:
        return merge_texts.merge_lines
    values = partial(_merge_mapping, kind.parse, kind.join)
    records = partial(_merge_records, kind)
    return SPECIAL.get(kind.name, records if isinstance(kind, RecordKind) else values)


def _merge_mapping(
    read: Callable[[str, str], object], rules: Rules, base: str, current: str, incoming: str
) -> merge_texts.Merged:
    """Merge a file without which nothing works: it never has markers afterwards."""
    readable = [text for text in (current, incoming) if _is_readable(read, text)]
    if len(readable) == 1:
        return merge_texts.Merged(readable[0], True)
    sides = (base if _is_readable(read, base) else "", current, incoming)
    return _merge_yaml(sides, lambda *values: _settled(rules(*values), *values[1:]))


def _merge_shown(
    path: str, merger: Merge, base: str, current: str, incoming: str
) -> merge_texts.Merged:
    """Merge a file of sections in either form: whole, or as its file shows it."""
    sides = (base, current, incoming)
    if not any(map(companions.is_marked, sides)):
        return merger(*sides)
    pointed = any(companions.KEY in markdown.parse(side).meta for side in sides[1:])
    merged = merger(*(companions.joined(path, side, companions.NOTHING) for side in sides))
    return replace(merged, text=companions.closed(path, merged.text, pointed=pointed))


def _is_readable(read: Callable[[str, str], object], text: str) -> bool:
    try:
        read(text, "")
    except ValueError:
        return False
    return True


def _settled(wanted: Mapping[str, Any], current: Any, incoming: Any) -> dict[str, Any]:
    """Decide what no rule does: the value that sorts last, so that either side gives the same."""
    decided: dict[str, Any] = {}
    for key, value in wanted.items():
        sides = [side.get(key) for side in (current, incoming) if isinstance(side, Mapping)]
        if value is fields.CLASHED:
            value = max(sides, key=repr)
        elif isinstance(value, Mapping):
            value = _settled(value, *sides) if len(sides) == 2 else value
        decided[key] = value
    return decided


def _merge_records(kind: Kind, base: str, current: str, incoming: str) -> merge_texts.Merged:
    """Merge records of a kind; a side that is none is refused."""
    for text in (current, incoming):
        kind.parse(text, DATED)
    merge_values = _merge_yaml if kind.suffix == ".yaml" else _merge_document
    return merge_values((base, current, incoming), kind.join)


def _merge_episode(base: str, current: str, incoming: str) -> merge_texts.Merged:
    """Merge an episode; of two tellings of one talk, made apart, one counts whole."""
    texts = [base, current, incoming]
    told = [episodes.EPISODE.parse(text, DATED) for text in texts if text.strip()]
    if len(told) == 2:
        whole = max((titles.heading(one.text), one.text) for one in told)[1]
        texts[1:] = [one.source.with_body(whole).text for one in told]
    return _merge_document(texts, episodes.EPISODE.join)


def _merge_person(base: str, current: str, incoming: str) -> merge_texts.Merged:
    """Merge a portrait; of two that the entity wrote itself since then, the later comes first.

    One that was begun anew, by somebody who was forgotten and is met again, is of one side alone.
    """
    people = _people(base, current, incoming)
    if (anew := _begun_anew(people)) is not None:
        return merge_texts.Merged(anew, True)
    merged = _merge_drawn(
        _people(*(person.source.with_body(person.text).text for person in people))
    )
    both = relationships.PERSON.parse(merged.text, "person") if merged.clean else None
    if both is None or both.text:
        return merged
    page = relationships.plan_update(both, "", **relationships.joined_page(*people[1:]))
    return merge_texts.Merged((page.data or b"").decode(), True) if page else merged


def _people(*texts: str) -> list[relationships.Relationship]:
    return [relationships.PERSON.parse(text, "person") for text in texts]


def _begun_anew(people: Sequence[relationships.Relationship]) -> str | None:
    """Return the side of somebody who is met again; None: neither is."""
    met = [person.first_met for person in people]
    if not (met[0] and met[1] and met[2]) or met[1] == met[2] or met[0] not in met[1:]:
        return None
    anew = people[2 if met[1] == met[0] else 1]
    return anew.source.text if max(met[1], met[2]) > met[0] else None


def _merge_drawn(people: Sequence[relationships.Relationship]) -> merge_texts.Merged:
    """Merge the portraits, without what stands in for one."""
    base, current, incoming = (person.source.text for person in people)
    join = relationships.PERSON.join
    merged = _merge_document((base, current, incoming), join)
    times = [person.last_reflection for person in people]
    written = [person.provenance.by for person in people[1:]]
    if merged.clean or not all(written) or {times[0], None} & set(times[1:]):  # by hand since
        return merged
    # two of one night stand in an order that is the same whichever side merges
    earlier, later = sorted(people[1:], key=lambda one: (one.last_reflection, one.text))
    text = _join_portraits(people[0].text, earlier.text, later.text)
    body = later.source.source[later.source.body_start :].replace(later.text, text, 1)
    texts = [person.source.source[: person.source.body_start] + body for person in people]
    return _merge_document(texts, join)


def _join_portraits(base: str, earlier: str, later: str) -> str:
    """Return the later portrait with what only the other side learnt below its prose.

    Of two lines of which one has every sentence of the other, that one stands.
    """
    base_lines, later_lines = base.splitlines(), later.splitlines()
    more = [
        f"\n{line}" if line.startswith(">") else line  # a quote by form is a paragraph of its own
        for line in earlier.splitlines()
        if line.strip() and line not in (*base_lines, *later_lines) and not _says(later_lines, line)
    ]
    return "\n".join((*(line for line in later_lines if not _says(more, line)), *more)).strip()


def _says(lines: Sequence[str], line: str) -> bool:
    """Whether some of some lines say each sentence of a line, word for word, whatever is added."""
    language = words.language(*lines, line)

    def read(text: str) -> tuple[str, set[str]]:
        denials = {one for one in clauses.tokens_of(text) if clauses.denies(one, language)}
        return f" {stop_words.bare(text)} ", denials

    told = [read(one) for one in words.sentences(line) if not one.endswith(words.QUESTION_MARKS)]
    there = [read(one) for each in lines for one in words.sentences(each)]
    return (
        len(told) == len(words.sentences(line)) > 0
        and not line.startswith("#")
        and all(
            any(said in own and denials == others for own, others in there)
            for said, denials in told
        )
    )


def _merge_later(
    parse: Callable[[str, str], object], base: str, current: str, incoming: str
) -> merge_texts.Merged:
    """Take the text that was made later, whole: two halves of stories are none."""
    for text in (current, incoming):
        parse(text, DATED)
    times = [fields.moment(markdown.parse(text).meta.get("at")) for text in (current, incoming)]
    if times[0] is None or times[1] is None or times[0] == times[1]:
        return _merge_document((base, current, incoming), fields.origin)
    return merge_texts.Merged(current if times[0] > times[1] else incoming, True)


def _merge_document(texts: Sequence[str], rules: Rules) -> merge_texts.Merged:
    """Merge front matter by rules and the body by lines."""
    documents = [markdown.parse(text) for text in texts]
    below = merge_texts.merge_lines(*(one.source[one.body_start :] for one in documents))
    carrier = next((document for document in documents[1:] if document.meta_start), None)
    if carrier is None:
        return below
    above = _merge_yaml([one.front for one in documents], rules)
    head = carrier.source[: carrier.meta_start] + above.text
    fence = carrier.source[carrier.meta_end : carrier.body_start]
    text, is_clean = head + fence + below.text, above.clean and below.clean
    return merge_texts.Merged(text, is_clean, below.stands)


def _merge_yaml(texts: Sequence[str], rules: Rules) -> merge_texts.Merged:
    """Merge a mapping by rules, and what surrounds its values by lines.

    The values are put into all three texts first, so that only comments, order and what no rule
    decides are left to the lines.
    """
    read = [base.parse_mapping(text) for text in texts]
    wanted = rules(*(parsed.values for parsed in read))
    agreed = [_with_values(parsed.source or "", wanted) for parsed in read]
    merged = merge_texts.merge_lines(*agreed)
    if _decided(wanted) != wanted or (merged.clean and _has_values(merged.text, wanted)):
        return merged
    return merge_texts.Merged(agreed[1], True)


def _with_values(source: str, wanted: Mapping[str, Any]) -> str:
    """Return a text with the wanted values in it; those that clash stay as they are."""
    present = base.parse_mapping(source)
    gone = list(_missing_keys(present.values, wanted))
    return base.edited_mapping(present, _decided(wanted), gone).source or ""


def _decided(wanted: Any) -> Any:
    """Return a value without what clashes in it; of a mapping of which nothing is left, none."""
    if not isinstance(wanted, Mapping):
        return wanted
    decided = {key: _decided(inner) for key, inner in wanted.items() if inner is not fields.CLASHED}
    return {key: inner for key, inner in decided.items() if inner != {} or not wanted[key]}


def _missing_keys(
    present: Mapping[str, Any], wanted: Mapping[str, Any], above: Sequence[str] = ()
) -> Iterator[Sequence[str]]:
    for key, value in present.items():
        if key not in wanted:
            yield (*above, str(key))
        elif isinstance(value, Mapping) and isinstance(wanted[key], Mapping):
            yield from _missing_keys(value, wanted[key], (*above, str(key)))


def _has_values(text: str, wanted: Mapping[str, Any]) -> bool:
    try:
        return base.parse_mapping(text).values == wanted
    except ValueError:
        return False


SPECIAL: Mapping[str, Merge] = {  # of kinds whose files are more than their values and lines
    "knowledge": merge_texts.knowledge,
    "journal": merge_texts.journal,
    "narrative": partial(_merge_later, narrative.NARRATIVE.parse),
    "handover": partial(_merge_later, lambda text, _: markdown.parse(text)),
    "topic": partial(_merge_later, topics.TOPIC.parse),
    "scratch": merge_texts.merge_notes,
    "working": merge_texts.merge_union,
    "session": merge_texts.transcript,
    "person": _merge_person,
    "episode": _merge_episode,
}
