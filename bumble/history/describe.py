"""Changes of files in the entity's terms: a new memory, a firmer belief, a moved body.

Takes a file before and after; what it cannot read as a record it shows as lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC
from difflib import unified_diff
from pathlib import PurePosixPath
from typing import Any, TypeVar

from msgspec.structs import asdict

from bumble.entity.changes import Version
from bumble.entity.folder import ENTITY_FILE
from bumble.records import (
    anchors,
    automations,
    beliefs,
    checks,
    dreams,
    episodes,
    journal,
    kinds,
    knowledge,
    mapping_files,
    narrative,
    projects,
    proposals,
    questions,
    relationships,
    reminders,
    sessions,
    skills,
)
from bumble.records.provenance import EVERYTHING, Reader, withheld
from bumble.runtime import audiences
from bumble.text import markdown
from bumble.text.words import one_line

T = TypeVar("T")
Describer = Callable[[str, str | None, str | None], Iterator[str]]

SETTINGS = ("settings", "settings")
WORKSPACE = ("file of the workspace", "files of the workspace")
OTHER = ("file", "files")
# what a file holds, for one and for several, in the order of a list
NAMES = (
    *((kind.file_name, kind.file_name) for kind in kinds.KINDS if kind.file_name),
    SETTINGS,
    *((kind.singular, kind.plural) for kind in kinds.KINDS if not kind.file_name),
    WORKSPACE,
    OTHER,
)
MAX_TEXT_LINES = 12
BODY_WORDS = ("body:", "feels ", "no longer feels ")  # what lines begin with that quote nobody


def kind_names(path: str) -> tuple[str, str]:
    """Return what a file holds, for one and for several; the same where there is only one."""
    kind = kinds.of_path(path)
    if kind is not None:
        return (kind.file_name,) * 2 if kind.file_name else (kind.singular, kind.plural)
    if path == ENTITY_FILE:
        return SETTINGS
    return WORKSPACE if path.startswith("workspace/") else OTHER


def list_kinds(paths: Sequence[str]) -> str:
    """Say what some files hold: `1 episode, body, 2 beliefs`."""
    counts: dict[tuple[str, str], int] = {}
    for path in paths:
        counts[kind_names(path)] = counts.get(kind_names(path), 0) + 1
    phrases = []
    for name in sorted(counts, key=NAMES.index):
        is_alone = name[0] == name[1]
        phrases.append(name[0] if is_alone else f"{counts[name]} {name[counts[name] > 1]}")
    return ", ".join(phrases)


def describe(version: Version, reader: Reader = EVERYTHING) -> list[str]:
    """Say what changed in a file, one line a change or a few; of the rest that it did."""
    hidden = audiences.hides(reader, [version])
    if hidden is None:
        return _described(version)
    kind, some = kinds.of_path(version.path), Version(version.path, None, None)
    if kind is not None and kind.name in audiences.SECTIONED:
        before, after = (
            audiences.without(version.path, data, reader)
            for data in (version.before, version.after)
        )
        some = Version(version.path, before, after)
    told = _described(some) if some.before != some.after else []
    if kind is kinds.SOMA:
        told = [line for line in _described(version) if line.startswith(BODY_WORDS)]
    name = PurePosixPath(audiences.named(version.path, hidden)).stem
    return [*told, f"{kind_names(version.path)[0]} {name}: {withheld(hidden)}"]


def _described(version: Version) -> list[str]:
    texts = [
        None if data is None else data.decode(errors="replace")
        for data in (version.before, version.after)
    ]
    place = PurePosixPath(version.path)
    kind = kinds.of_path(version.path)
    describer = DESCRIBERS[kind.name] if kind else _describe_lines
    try:
        lines = list(describer(place.stem, texts[0], texts[1]))
    except ValueError:  # not such a record, before or after
        lines = list(_describe_lines(place.stem, texts[0], texts[1]))
    return lines or list(_describe_lines(place.stem, texts[0], texts[1]))


def _describe_lines(name: str, before: str | None, after: str | None) -> Iterator[str]:
    old, new = ((text or "").splitlines() for text in (before, after))
    yield from list(unified_diff(old, new, lineterm="", n=1))[2:]


def _quoted(text: str, mark: str = "  ") -> Iterator[str]:
    rows = text.splitlines()
    yield from (f"{mark}{row}".rstrip() for row in rows[:MAX_TEXT_LINES])
    if len(rows) > MAX_TEXT_LINES:
        yield f"{mark}… {len(rows) - MAX_TEXT_LINES} more lines"


def _describe_text(what: str, before: str, after: str) -> Iterator[str]:
    if before != after:
        yield what
        yield from _quoted(before, "- ")
        yield from _quoted(after, "+ ")


def _describe_episode(name: str, before: str | None, after: str | None) -> Iterator[str]:
    old, new = (_parse(episodes.parse, name, text) for text in (before, after))
    if new is None or old is None:
        episode = new or old
        if episode is not None:
            people = f" with {', '.join(episode.people)}" if episode.people else ""
            yield f"{_new_or_gone(old)} episode {name}, {episode.at:%Y-%m-%d %H:%M}{people}"
            yield from _quoted(episode.text)
        return
    if old.dormant != new.dormant:
        yield f"episode {name} {'left recall' if new.dormant else 'is back in recall'}"
    yield from _describe_text(f"episode {name} told anew", old.text, new.text)


def _parse(parse: Callable[[str, str], T], name: str, text: str | None) -> T | None:
    return None if text is None else parse(text, name)


def _new_or_gone(old: object) -> str:
    return "new" if old is None else "gone:"


def _describe_belief(name: str, before: str | None, after: str | None) -> Iterator[str]:
    old, new = (_parse(beliefs.parse, name, text) for text in (before, after))
    if new is None or old is None:
        belief = new or old
        if belief is not None:
            yield f"{_new_or_gone(old)} belief {name} ({belief.category}, {belief.confidence:.2f})"
            yield from _quoted(belief.text)
        return
    head = f'belief {name} "{one_line(old.text)[:60]}"'
    if old.confidence != new.confidence:
        yield f"{head}: confidence {old.confidence:.2f} -> {new.confidence:.2f}"
    for what, was, now in (
        ("evidence", old.evidence, new.evidence),
        ("contradicts", old.contradicts, new.contradicts),
    ):
        added, lost = (
            [record_id for record_id in now if record_id not in was],
            [record_id for record_id in was if record_id not in now],
        )
        marks = [
            *(f"+{record_id}" for record_id in added),
            *(f"-{record_id}" for record_id in lost),
        ]
        if marks:
            yield f"{head}: {what} {' '.join(marks)}"
    if old.archived != new.archived:
        yield f"{head}: {'archived' if new.archived else 'active again'}"
    yield from _describe_text(f"belief {name} says", old.text, new.text)


def _describe_person(name: str, before: str | None, after: str | None) -> Iterator[str]:
    old, new = (_parse(relationships.parse, name, text) for text in (before, after))
    if new is None or old is None:
        person = new or old
        if person is not None:
            yield f"{_new_or_gone(old)} person {person.name} ({name})"
            yield from _quoted(person.text)
        return
    if old.interaction_count != new.interaction_count:
        yield f"{new.name}: interactions {old.interaction_count} -> {new.interaction_count}"
    for key, was in asdict(old.scores).items():
        now = getattr(new.scores, key)
        if was != now:
            yield f"{new.name}: {key} {was:.2f} -> {now:.2f}"
    for note in new.pending:
        if note.text not in [earlier.text for earlier in old.pending]:
            yield f"{new.name}: to think about: {note.text}"
    if old.names != new.names:
        yield f"{new.name}: called {', '.join(new.names)}"
    yield from _describe_text(f"{new.name}: portrait", old.text, new.text)


def _describe_knowledge(name: str, before: str | None, after: str | None) -> Iterator[str]:
    old, new = (
        {knowledge.key(section.title): section for section in knowledge.parse(text or "").sections}
        for text in (before, after)
    )
    for key in dict.fromkeys((*old, *new)):
        was, now = old.get(key), new.get(key)
        if was is None and now is not None:
            yield f'new knowledge "{now.title}"'
            yield from _quoted(now.text)
        elif was is not None and now is None:
            yield f'gone: knowledge "{was.title}"'
            yield from _quoted(was.text)
        elif was is not None and now is not None:
            if (was.title, was.locked) != (now.title, now.locked):
                yield f'knowledge "{was.title}" is now "{now.title}"{" [locked]" * now.locked}'
            yield from _describe_text(f'knowledge "{now.title}"', was.text, now.text)


def _describe_journal(name: str, before: str | None, after: str | None) -> Iterator[str]:
    old, new = (journal.parse(text or "", zone=UTC).entries for text in (before, after))
    was, now = [entry.source.strip() for entry in old], [entry.source.strip() for entry in new]
    for mark, entries, other_texts in (("journal", new, was), ("gone: journal", old, now)):
        for entry in entries:
            if entry.source.strip() not in other_texts:
                tags = "".join(f" #{tag}" for tag in entry.tags)
                yield f"{mark} {entry.at:%Y-%m-%d %H:%M}{tags}"
                yield from _quoted(entry.text)


def _describe_dream(name: str, before: str | None, after: str | None) -> Iterator[str]:
    old, new = (_parse(dreams.parse, name, text) for text in (before, after))
    dream = new or old
    if dream is not None and (old is None or new is None):
        yield f"{_new_or_gone(old)} dream {name}, {dream.at:%Y-%m-%d %H:%M}"
        yield from _quoted(
            "\n".join([*(f"- {row}" for row in dream.fragments), dream.thread]).strip()
        )


def _describe_session(name: str, before: str | None, after: str | None) -> Iterator[str]:
    old, new = (
        sessions.parse(text).messages if text is not None else () for text in (before, after)
    )
    old_ids = {message.id for message in old}
    for message in new:
        if message.id not in old_ids and message.text:
            yield f"{message.speaker or message.role}: {' '.join(message.text.split())[:200]}"
    left = {message.id for message in new}
    for message in old:
        if message.id not in left:
            yield f"gone: {message.speaker or message.role}: {' '.join(message.text.split())[:200]}"


def _describe_soma(name: str, before: str | None, after: str | None) -> Iterator[str]:
    old, new = (mapping_files.parse(text or "").values for text in (before, after))
    moves = [
        *_describe_moves(_bars(old), _bars(new)),
        *_describe_moves(_hormones(old), _hormones(new)),
    ]
    if moves:
        yield f"body: {', '.join(moves)}"
    was, now = (_items(values.get("affects"), "name") for values in (old, new))
    yield from (f"feels {name}" for name in now if name not in was)
    yield from (f"no longer feels {name}" for name in was if name not in now)
    was, now = (
        _items(values["noise"].get("fragments"), "text")
        if isinstance(values.get("noise"), dict)
        else []
        for values in (old, new)
    )
    yield from (f"on its mind: {text}" for text in now if text not in was)
    yield from (f"off its mind: {text}" for text in was if text not in now)
    felt = new.get("felt")
    if isinstance(felt, Mapping) and felt != old.get("felt"):
        yield f"felt: {felt.get('text')}"


def _bars(values: Mapping[str, Any]) -> dict[str, float]:
    bars = values.get("bars")
    inner = bars if isinstance(bars, Mapping) else {}
    return {
        key: bar["value"] for key, bar in inner.items() if isinstance(bar, dict) and "value" in bar
    }


def _hormones(values: Mapping[str, Any]) -> dict[str, float]:
    hormones = values.get("hormones")
    inner = hormones if isinstance(hormones, Mapping) else {}
    return {key: level for key, level in inner.items() if isinstance(level, int | float)}


def _describe_moves(old: Mapping[str, float], new: Mapping[str, float]) -> Iterator[str]:
    for key in dict.fromkeys((*old, *new)):
        was, now = old.get(key), new.get(key)
        if was is None and now is not None:
            yield f"{key} {now:.4g}"
        elif was is not None and now is not None and f"{was:.4g}" != f"{now:.4g}":
            yield f"{key} {was:.4g} -> {now:.4g}"


def _items(value: Any, key: str) -> list[str]:
    entries = value if isinstance(value, list) else []
    return [str(entry[key]) for entry in entries if isinstance(entry, dict) and key in entry]


def _describe_state(name: str, before: str | None, after: str | None) -> Iterator[str]:
    yield "bookkeeping of the cycles"


def _describe_narrative(name: str, before: str | None, after: str | None) -> Iterator[str]:
    old, new = (narrative.parse(text).text if text is not None else "" for text in (before, after))
    rows = [markdown.lines(text) for text in (old, new)]
    changed = [row.rstrip() for row in list(unified_diff(rows[0], rows[1], n=0))[3:]]
    if changed:
        yield "the story it tells of itself"
        yield from (row for row in changed if not row.startswith("@@"))


def _describe_skill(name: str, before: str | None, after: str | None) -> Iterator[str]:
    if before is None or after is None:
        skill = skills.parse(after or before or "", name)
        yield f"{_new_or_gone(before)} skill {skill.name}: {skill.description}"


def _describe_reminder(name: str, before: str | None, after: str | None) -> Iterator[str]:
    old, new = (_parse(reminders.parse, name, text) for text in (before, after))
    reminder = new or old
    if reminder is not None and (old is None or new is None):
        person = f" for {reminder.person}" if reminder.person else ""
        yield f"{_new_or_gone(old)} reminder {name}, {reminder.at:%Y-%m-%d %H:%M}{person}"
        yield from _quoted(reminder.text)


def _describe_automation(name: str, before: str | None, after: str | None) -> Iterator[str]:
    old, new = (_parse(automations.parse, name, text) for text in (before, after))
    automation = new or old
    if automation is not None and (old is None or new is None):
        yield f"{_new_or_gone(old)} automation {name}, {automation.schedule}"
        yield from _quoted(automation.prompt)


def _describe_check(name: str, before: str | None, after: str | None) -> Iterator[str]:
    old, new = (_parse(checks.parse, name, text) for text in (before, after))
    if new is None or old is None:
        check = new or old
        if check is not None:
            yield f"{_new_or_gone(old)} check {name}: {check.ask}"
        return
    yield from _describe_lines(name, before, after)


def _describe_question(name: str, before: str | None, after: str | None) -> Iterator[str]:
    old, new = (_parse(questions.parse, name, text) for text in (before, after))
    question = new or old
    if question is not None and (old is None or new is None):
        yield f"{'open' if old is None else 'answered'} question {name}"
        yield from _quoted(question.text)


def _describe_anchor(name: str, before: str | None, after: str | None) -> Iterator[str]:
    old, new = (_parse(anchors.parse, name, text) for text in (before, after))
    if new is None or old is None:
        anchor = new or old
        if anchor is not None:
            yield f'{_new_or_gone(old)} anchor "{anchor.label}"'
            yield from _quoted(anchor.description)
        return
    if old.recalled != new.recalled:
        yield f'anchor "{new.label}": recalled {old.recalled} -> {new.recalled} times'
    yield from _describe_text(f'anchor "{new.label}" says', old.description, new.description)


def _describe_project(name: str, before: str | None, after: str | None) -> Iterator[str]:
    old, new = (_parse(projects.parse, name, text) for text in (before, after))
    if new is None or old is None:
        project = new or old
        if project is not None:
            yield f"{_new_or_gone(old)} project {project.title} ({project.status})"
            yield from _quoted(project.why)
        return
    if old.status != new.status:
        yield f"project {new.title}: {old.status} -> {new.status}"
    yield from (f"project {new.title}: next {step}" for step in new.steps if step not in old.steps)
    yield from (
        f"project {new.title}: no longer next {step}" for step in old.steps if step not in new.steps
    )
    yield from _describe_text(f"project {new.title}: why", old.why, new.why)


def _describe_proposal(name: str, before: str | None, after: str | None) -> Iterator[str]:
    old, new = (_parse(proposals.parse, name, text) for text in (before, after))
    if new is None or old is None:
        proposal = new or old
        if proposal is not None:
            yield f"{_new_or_gone(old)} proposal {name}"
            yield from _quoted("\n".join(f"{item.text}: {item.reason}" for item in proposal.items))
        return
    if old.status != new.status:
        yield f"proposal {name}: {old.status} -> {new.status}"


def _describe_self_model(name: str, before: str | None, after: str | None) -> Iterator[str]:
    yield "how its tools have served"


DESCRIBERS: Mapping[str, Describer] = {  # by kind
    "episode": _describe_episode,
    "belief": _describe_belief,
    "person": _describe_person,
    "dream": _describe_dream,
    "session": _describe_session,
    "skill": _describe_skill,
    "reminder": _describe_reminder,
    "automation": _describe_automation,
    "check": _describe_check,
    "topic": _describe_lines,
    "question": _describe_question,
    "anchor": _describe_anchor,
    "project": _describe_project,
    "proposal": _describe_proposal,
    "self_model": _describe_self_model,
    "knowledge": _describe_knowledge,
    "journal": _describe_journal,
    "narrative": _describe_narrative,
    "soma": _describe_soma,
    "state": _describe_state,
    "scratch": _describe_lines,
    "working": _describe_lines,
    "handover": _describe_lines,
}
