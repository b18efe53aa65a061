"""A file of each kind of record, as the entity writes it."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache

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
    self_model,
    sessions,
    soma,
    state,
    topics,
    working,
)
from bumble.records.base import Provenance

AT = datetime(2026, 5, 24, 3, 12, 47, tzinfo=UTC)
SERVED = (
    "tools:\n  recall:\n    used: 3\n    failed: 1\n    last: 2026-05-24T03:12:47Z\n"
    "plain:\n  a: 1\n"
)
BODY = (
    "at: 2026-05-24T03:12:47Z\nbars: {social: 50, comfort: 65}\nnoise:\n  - wave\nplain:\n  a: 1\n"
)


def record(name: str, text: str, audience: tuple[str, ...] = ("sam",)) -> tuple[str, str]:
    """A file of a kind, with what the entity wrote for some people: its path and its text."""
    return records(text, audience)[name]


@cache
def records(text: str, audience: tuple[str, ...]) -> dict[str, tuple[str, str]]:
    """A file of each kind, by its name."""
    origin = Provenance("distill", "m", (), "person", audience)
    comment = f"<!-- {{by: distill, trust: person, audience: [{', '.join(audience)}]}} -->"
    head = "".join(f"{key}: {value}\n" for key, value in origin.meta().items()).replace("'", "")
    talk = sessions.new("ses_1", AT, audience[0], audience[1:])
    spoken = sessions.Message("msg_1", AT, "user", text, audience[0], trust="owner")
    episode = episodes.new("ep_1", AT, 0.5, text, provenance=origin)
    belief = beliefs.new("bel_1", text, "preference", 0.5, AT, provenance=origin)
    note = relationships.PendingNote(text, AT, origin)
    portrait = relationships.plan_update(relationships.new("Kim", AT), "", pending=(note,))
    dream = dreams.new("drm_1", AT, (), (text,), "", provenance=origin)
    reminder = reminders.new("rem_1", AT, text, provenance=origin)
    automation = automations.AUTOMATION.new("aut_1", text, origin, schedule="0 8 * * *", last=AT)
    work = projects.plan_new("Tea", {}, text, "begin", provenance=origin)
    assert work.data is not None
    grown = {"behaviours": [proposals.Item(text, "It helped.", ("msg_9",))]}
    proposal = proposals.new("evo_1", AT, 100, grown, f"+- {text}", provenance=origin)
    levels = dict.fromkeys(("dopamine", "cortisol", "oxytocin"), 0.5)
    anchor = anchors.new("Tea", text, levels, AT, 1.0, provenance=origin)
    check = checks.new("tea", "What is it?", expect=(text,), provenance=origin)
    topic = topics.new("Tea", (topics.Catalyst(text),), AT, provenance=origin)
    question = questions.QUESTION.new("qst_1", text, origin, at=AT)
    assert portrait is not None and portrait.data is not None
    return {
        "knowledge": (
            knowledge.PATH,
            f"# Facts\n\n## Tea\n{comment}\n\n{text}\n\n## Last\n\nEnd\n",
        ),
        "journal": (journal.PATH, f"## 2026-05-24 05:12:47\n{comment}\n\n{text}\n"),
        "narrative": (narrative.PATH, f"---\n{head}---\n\n{text}\n"),
        "soma": (soma.PATH, BODY.replace("wave", text)),
        "state": (state.PATH, "sessions:\n  ses_1: msg_1\n"),
        "working": (working.PATH, f"## Bond\n\n- {text} {comment}\n"),
        "scratch": (working.SCRATCH_PATH, f"- 2026-05-24 12:00 [experience] {text} {comment}\n"),
        "episode": ("episodes/2026/05/ep_1.md", episode.source.text),
        "belief": ("beliefs/bel_1.md", belief.source.text),
        "person": ("relationships/kim.md", portrait.data.decode()),
        "skill": ("skills/tea/SKILL.md", f"---\nname: Tea\ndescription: d\n{head}---\n\n{text}\n"),
        "dream": ("dreams/drm_1.md", dream.source.text),
        "reminder": ("reminders/rem_1.md", reminder.source.text),
        "automation": ("automations/aut_1.md", automation.source.text),
        "check": ("checks/tea.yaml", check.source.text),
        "topic": ("topics/tea.md", topic.source.text),
        "question": ("questions/qst_1.md", question.source.text),
        "project": ("projects/tea.md", work.data.decode()),
        "proposal": ("evolution/evo_1.md", proposal.source.text),
        "self_model": (self_model.PATH, SERVED.replace("recall", f'"{text}"')),
        "anchor": ("anchors/tea.yaml", anchor.source.text),
        "session": (sessions.path("ses_1"), talk.source + sessions.render(spoken)),
        "handover": (
            "sessions/ses_1/handover.md",
            f"---\nat: {base.stamp(AT)}\n{head}---\n\n{text}\n",
        ),
    }
