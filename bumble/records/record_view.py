"""Records in the fields that all kinds share: how the files of each kind are read as views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from bumble.records import (
    anchors,
    automations,
    base,
    beliefs,
    checks,
    dreams,
    episodes,
    journal,
    knowledge,
    narrative,
    projects,
    proposals,
    questions,
    relationships,
    reminders,
    scratch,
    self_model,
    session_files,
    skills,
    soma,
    state,
    topics,
    working,
)
from bumble.records.base import BY_HAND, Provenance
from bumble.records.sessions import Session
from bumble.text import markdown
from bumble.text.markdown import Document

JOURNAL_STAMP = "%Y-%m-%d %H:%M:%S"


class RecordView(Struct, frozen=True):
    """One record in the fields that all kinds share."""

    id: str  # a title, for knowledge; a time, for the journal
    text: str
    origin: Provenance = BY_HAND
    sources: tuple[str, ...] = ()  # ids of all it rests on
    people: tuple[str, ...] = ()  # ids of those who took part, or whom it is for
    at: datetime | None = None  # when it was written, said or lived
    line: int | None = None  # of the file, from 1, where it begins
    source: str = ""  # its part of the file, byte for byte, where the file holds several
    document: Document | None = None  # the whole file, where it holds one record
    sources_key: str = "from"  # the key of the front matter that says what it rests on
    times: Mapping[str, datetime] = field(default_factory=dict)  # by key: those that have passed
    schedules: Mapping[str, str] = field(default_factory=dict)  # by key: cron expressions
    notes: tuple[RecordView, ...] = ()  # of a portrait: what waits to be worked into it

    def line_of(self, *keys: str) -> int | None:
        """Return the line of the first of some keys that the record has, else where it begins."""
        if self.document is None:
            return self.line
        lines = (self.document.line_of(key) for key in keys)
        return next((line for line in lines if line is not None), 1)


def unite(*lists: Sequence[str]) -> tuple[str, ...]:
    """Join lists of ids, each id once, the empty ones left out."""
    return tuple(dict.fromkeys(record_id for part in lists for record_id in part if record_id))


def _whole(
    record_id: str,
    document: Document,
    at: datetime | None = None,
    *,
    sources: tuple[str, ...] = (),
    people: tuple[str, ...] = (),
    sources_key: str = "from",
    times: Mapping[str, datetime | None] | None = None,
    schedules: Mapping[str, str] | None = None,
    notes: tuple[RecordView, ...] = (),
) -> tuple[RecordView, ...]:
    """Show a record that has a file of its own; its line is the first of its text."""
    origin = base.provenance(document.meta)
    behind = document.source[document.body_start :]
    blank = behind[: len(behind) - len(behind.lstrip("\r\n"))].count("\n")
    view = RecordView(
        id=record_id,
        text=document.body,
        origin=origin,
        sources=unite(sources, origin.sources),
        people=tuple(filter(None, people)),
        at=at,
        line=document.body_line + (blank if document.body else 0),
        document=document,
        sources_key=sources_key,
        times={key: value for key, value in (times or {}).items() if value is not None},
        schedules={key: value for key, value in (schedules or {}).items() if value},
        notes=notes,
    )
    return (view,)


def of_episode(path: Path, _: tzinfo) -> Sequence[RecordView]:
    episode = base.load(path, episodes.parse)
    return _whole(
        episode.id,
        episode.source,
        episode.at,
        sources=(episode.session,),
        people=episode.people,
        times={"at": episode.at},
    )


def of_belief(path: Path, _: tzinfo) -> Sequence[RecordView]:
    belief = base.load(path, beliefs.parse)
    dream = belief.origin.removeprefix("dream:") if belief.origin.startswith("dream:") else ""
    confirmed = belief.reinforced if belief.reinforced != belief.formed else None
    return _whole(
        belief.id,
        belief.source,
        belief.formed,
        sources=(*belief.evidence, *belief.provenance.sources, dream),
        sources_key="evidence",
        times={"formed": belief.formed, "reinforced": confirmed},
    )


def of_dream(path: Path, _: tzinfo) -> Sequence[RecordView]:
    dream = base.load(path, dreams.parse)
    pairs = tuple(episode_id for pair in dream.pairs for episode_id in pair)
    return _whole(
        dream.id,
        dream.source,
        dream.at,
        sources=pairs,
        sources_key="pairs",
        times={"at": dream.at},
    )


def of_person(path: Path, _: tzinfo) -> Sequence[RecordView]:
    person = base.load(path, relationships.parse)
    notes = tuple(
        RecordView(
            id=f"{person.id}, note {number}",
            text=note.text,
            origin=note.provenance,
            sources=note.provenance.sources,
            at=note.at,
            document=person.source,
            sources_key="pending",
        )
        for number, note in enumerate(person.pending, 1)
    )
    return _whole(
        person.id,
        person.source,
        person.last_reflection,
        times={
            "first_met": person.first_met,
            "last_interaction": person.last_interaction,
            "last_reflection": person.last_reflection,
        },
        notes=notes,
    )


def of_skill(path: Path, _: tzinfo) -> Sequence[RecordView]:
    skill = skills.load(path)
    return _whole(skill.slug, skill.source)


def of_reminder(path: Path, _: tzinfo) -> Sequence[RecordView]:
    reminder = reminders.load(path)
    return _whole(
        reminder.id,
        reminder.source,
        reminder.at,
        people=(reminder.person,),
        times={"delivered": reminder.delivered},  # `at` may lie ahead
        schedules={"repeat": reminder.repeat},
    )


def of_automation(path: Path, _: tzinfo) -> Sequence[RecordView]:
    automation = automations.load(path)
    return _whole(
        automation.id,
        automation.source,
        automation.last,
        times={"last": automation.last},
        schedules={"schedule": automation.schedule},
    )


def of_check(path: Path, _: tzinfo) -> Sequence[RecordView]:
    check = checks.load(path)
    view = RecordView(
        id=check.id,
        text="\n".join((check.ask, *check.expected, *check.never)),
        origin=check.provenance,
        sources=check.provenance.sources,
        people=(relationships.person_id(check.person),) if check.person else (),
        line=1,
        document=check.source,
    )
    return (view,)


def of_topic(path: Path, _: tzinfo) -> Sequence[RecordView]:
    topic = base.load(path, topics.parse)
    sources = unite(*(catalyst.sources for catalyst in topic.catalysts))
    times = {"at": topic.at}
    return _whole(topic.id, topic.source, topic.at, sources=sources, times=times)


def of_question(path: Path, _: tzinfo) -> Sequence[RecordView]:
    question = base.load(path, questions.parse)
    return _whole(question.id, question.source, question.at, times={"at": question.at})


def of_anchor(path: Path, _: tzinfo) -> Sequence[RecordView]:
    anchor = anchors.load(path)
    view = RecordView(
        id=anchor.id,
        text=f"{anchor.label}\n{anchor.description}".rstrip(),
        origin=anchor.provenance,
        sources=anchor.provenance.sources,
        at=anchor.at,
        line=1,
        document=anchor.source,
        times={"at": anchor.at}
        | ({"last_recalled": anchor.last_recalled} if anchor.last_recalled else {}),
    )
    return (view,)


def of_project(path: Path, _: tzinfo) -> Sequence[RecordView]:
    project = projects.load(path)
    (view,) = _whole(project.id, project.source, people=project.people)
    return (replace(view, text=project.text),)


def of_proposal(path: Path, _: tzinfo) -> Sequence[RecordView]:
    proposal = proposals.load(path)
    sources = unite(*(item.sources for item in proposal.items))
    (view,) = _whole(
        proposal.id, proposal.source, proposal.at, sources=sources, times={"at": proposal.at}
    )
    text = "\n".join(f"{item.text}: {item.reason}" for item in proposal.items)
    return (replace(view, text=text),)


def of_self_model(path: Path, _: tzinfo) -> Sequence[RecordView]:
    self_model.read(path)
    return ()


def of_narrative(path: Path, _: tzinfo) -> Sequence[RecordView]:
    story = base.load(path, narrative.parse)
    return _whole("narrative", story.source, story.at, times={"at": story.at})


def of_handover(path: Path, _: tzinfo) -> Sequence[RecordView]:
    brief = base.load(path, session_files.parse_handover)
    return _whole(path.parent.name, brief, base.field(brief.meta, "at", datetime))


def of_knowledge(path: Path, _: tzinfo) -> Sequence[RecordView]:
    return [
        RecordView(
            id=section.title,
            text=section.text,
            origin=section.provenance,
            sources=section.provenance.sources,
            line=section.line,
            source=section.source[: len(section.source) - len(section.tail)],
        )
        for section in knowledge.read(path).sections
    ]


def of_journal(path: Path, zone: tzinfo) -> Sequence[RecordView]:
    return [
        RecordView(
            id=f"{entry.at:{JOURNAL_STAMP}}",
            text=entry.text,
            origin=entry.provenance,
            sources=entry.provenance.sources,
            at=entry.at,
            line=entry.line,
            source=entry.source,
            times={"at": entry.at},
        )
        for entry in journal.read(path, zone).entries
    ]


def of_scratch(path: Path, _: tzinfo) -> Sequence[RecordView]:
    views = []
    for number, line in enumerate(markdown.lines(base.read_text(path)), 1):
        if line.startswith(scratch.MARK):
            origin = scratch.origin(line)
            text = scratch.shown(line).strip()
            line_id = f"{path.stem}, line {number}"
            views.append(
                RecordView(line_id, text, origin, origin.sources, line=number, source=line)
            )
    return views


def of_working(path: Path, _: tzinfo) -> Sequence[RecordView]:
    return [
        RecordView(
            f"{line.section}, line {line.number}".removeprefix(", "),
            line.text,
            line.origin,
            line.origin.sources,
            line=line.number,
            source=line.source,
        )
        for line in working.parse(base.read_text(path))
    ]


def of_session(path: Path, _: tzinfo) -> Sequence[RecordView]:
    return (of_open_session(session_files.load(path)),)


def of_open_session(session: Session) -> RecordView:
    """Show a conversation as one record."""
    count, people = len(session.messages), session.people
    text = f"{count} message{'' if count == 1 else 's'} with {', '.join(people)}"
    origin = Provenance(audience=people)
    return RecordView(session.id, text, origin, people=people, at=session.at, line=1)


def of_soma(path: Path, _: tzinfo) -> Sequence[RecordView]:
    soma.read(path)
    return ()


def of_state(path: Path, _: tzinfo) -> Sequence[RecordView]:
    state.read(path)
    return ()
