from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from bumble.bridges.exports import memories
from bumble.bridges.report import life
from bumble.cli import app, completing
from bumble.entity import changes, commits, companions, write_ahead
from bumble.entity.changes import Change, ChangeSet, Version
from bumble.entity.commits import CommitPolicy
from bumble.entity.folder import Entity
from bumble.errors import RecordExistsError, RecordInvalidError
from bumble.files import disk
from bumble.history import log, lookup, merge, merge_texts, past, undo
from bumble.index import chunks, ingest
from bumble.index.memory import Memory
from bumble.jobs.forgetting import forget
from bumble.recall import survey, topic_questions
from bumble.records import (
    anchors,
    automations,
    base,
    beliefs,
    checks,
    dreams,
    episodes,
    fields,
    journal,
    kinds,
    knowledge,
    narrative,
    projects,
    proposals,
    questions,
    relationships,
    reminders,
    self_model,
    session_files,
    sessions,
    skills,
    topics,
    working,
)
from bumble.records.base import Provenance
from bumble.records.kind import Kind, Record, RecordKind
from bumble.records.provenance import Reader
from bumble.text import markdown
from tests.support import newborns, record_files
from tests.support.kills import every_call, forks, in_child
from tests.support.kind_samples import AT, BODY, SERVED, record
from tests.support.repository import git
from tests.support.sweeps import kill_steps, turns

ZONE = ZoneInfo("Europe/Berlin")
FROM_MODEL = Provenance("distill", "qwen3:4b", ("msg_1", "msg_2"), "person", ("sam",))


class Case(Struct, frozen=True):
    """One store: a record as it writes it, how it reads it, and an edit."""

    sample: str
    parse: Callable[[str, str], Any]
    text: Callable[[Any], str]
    edit: Callable[[Any], Change | None]
    touches: str  # the lines that the edit may change, as a pattern
    bad: str  # a text that is not such a record
    line: int  # where that is wrong


EPISODE = episodes.new(
    "ep_1",
    AT,
    0.62,
    "Sam told me of the sea.\n\nIt mattered: he was moved.",
    people=("sam", "ada"),
    imprints=(episodes.Imprint("curious", 0.5, "the sea, again: and more"),),
    soma="social 50%",
    session="ses_1",
    tags=("sea",),
    summary_source=episodes.EXCERPT,
    provenance=FROM_MODEL,
)
BELIEF = beliefs.new(
    "bel_1", "Sam likes the sea.", "preference", 0.6, AT, evidence=("msg_1",), provenance=FROM_MODEL
)
PERSON = relationships.new("Sam Fox", AT, provenance=FROM_MODEL)
DREAM = dreams.new("drm_1", AT, (("ep_1", "ep_2"),), ("a wave", "a door"), "What returns.", seed=7)
REMINDER = reminders.new(
    "rem_1", AT, "Tea.", repeat="0 9 * * 1", person="sam", deliver="session", provenance=FROM_MODEL
)
AUTOMATION = automations.AUTOMATION.new(
    "aut_1", "Look back.", FROM_MODEL, schedule="0 8 * * *", last=AT
)
CHECK = checks.new(
    "tea", "What does Sam drink?", person="sam", expect=("tea",), provenance=FROM_MODEL
)
TOPIC = topics.new(
    "Marzipan",
    (topics.Catalyst("Why is it hidden?", ("msg_1", "ep_1")), topics.Catalyst("Who likes it?")),
    AT,
    fingerprint="0123456789abcdef",
    provenance=FROM_MODEL,
)
QUESTION = questions.QUESTION.new("qst_1", "Where does Sam swim?", FROM_MODEL, at=AT)
ANCHOR = anchors.new(
    "The sea",
    "Sam was happy.",
    {"dopamine": 0.7, "cortisol": 0.1, "oxytocin": 0.6},
    AT,
    0.9,
    provenance=FROM_MODEL,
)
PROJECT = projects.plan_new(
    "The boat",
    {"next": ("sand it",), "people": ("sam",), "tags": ("water",)},
    "To sail.",
    "begin",
    provenance=FROM_MODEL,
)
BOAT = (PROJECT.data or b"").decode()
PROPOSAL = proposals.new(
    "evo_1",
    AT,
    100,
    {
        "traits": [proposals.Item("curiosity", "I asked.", ("ep_1",), 0.01)],
        "behaviours": [proposals.Item("I ask twice.", "It helped.", ("ep_1",))],
    },
    "+traits: {curiosity: 0.51}",
    provenance=FROM_MODEL,
)
SKILL = "---\nname: Boil an egg\ndescription: When somebody is hungry.\n---\n\nSix minutes.\n"
STORY = f"---\nat: {base.stamp(AT)}\nby: narrate\nfrom: [ep_1]\n---\n\nI began with a question.\n"
FACTS = (
    "# What I know\n\n## [locked] Who I am\n\nAda.\n\n## Sam\n"
    "<!-- {by: distill, from: [msg_1], trust: person} -->\n\nLikes the sea.\n\n## Last\n\nEnd.\n"
)
DIARY = "# Journal\n\n## 2026-05-24 05:12:47 #dream\n\nI dreamt.\n\n## not a date\n\nstill mine\n"
TALK = sessions.new("ses_1", AT, "sam").source + sessions.render(
    sessions.Message("msg_1", AT, "user", "Hi", speaker="sam", trust="owner")
)

CASES = {
    "episodes": Case(
        EPISODE.source.text,
        episodes.EPISODE.parse,
        lambda one: one.source.text,
        lambda one: episodes.plan_dormant(Entity(Path("ada")), one, dormant=True, why="faded"),
        r"(dormant|faded):",
        "---\nat: 2026-05-24T03:12:47Z\nsignificance: 7\n---\n\nx\n",
        3,
    ),
    "beliefs": Case(
        BELIEF.source.text,
        beliefs.BELIEF.parse,
        lambda one: one.source.text,
        lambda one: beliefs.plan_update(one, "said again", confidence=0.7, evidence=("msg_9",)),
        r"confidence:|evidence:|\s*- ",
        "---\ncategory: preference\nconfidence: 0.5\nformed: yesterday\n---\n\nx\n",
        4,
    ),
    "relationships": Case(
        PERSON.source.text + "\nI met Sam by the sea.\n",
        relationships.PERSON.parse,
        lambda one: one.source.text,
        lambda one: relationships.plan_met(one, AT + timedelta(hours=1), "talked"),
        r"interaction_count:|last_interaction:|first_met:",
        "---\nnames: [Sam]\nscores:\n  warmth: 3\n---\n",
        4,
    ),
    "reminders": Case(
        REMINDER.source.text,
        reminders.REMINDER.parse,
        lambda one: one.source.text,
        lambda one: reminders.plan_delivered(one, AT, AT + timedelta(days=7), "said"),
        r"at:|delivered:",
        "---\nat: 2026-05-24T03:12:47Z\ndeliver: pigeon\n---\n\nx\n",
        3,
    ),
    "automations": Case(
        AUTOMATION.source.text,
        automations.AUTOMATION.parse,
        lambda one: one.source.text,
        lambda one: automations.plan_ran(one, AT + timedelta(days=1), 5, "ran", enabled=False),
        r"last:|failures:|enabled:",
        "---\nschedule: 0 8 * * *\nfailures: many\n---\n\nx\n",
        3,
    ),
    "checks": Case(
        CHECK.source.text,
        checks.CHECK.parse,
        lambda check: check.source.text,
        lambda _: None,
        r"$^",
        "ask: What?\nexpect: [tea]\nk: many\n",
        3,
    ),
    "questions": Case(
        QUESTION.source.text,
        questions.QUESTION.parse,
        lambda question: question.source.text,
        lambda _: None,
        r"$^",
        "---\nat: yesterday\n---\n\nWhere?\n",
        2,
    ),
    "projects": Case(
        BOAT,
        projects.PROJECT.parse,
        lambda project: project.source.text,
        lambda project: projects.plan_edit(
            project, {"status": projects.DONE, "next": ("varnish",)}, None, "go on"
        ),
        r"status:|next:|\s*- ",
        BOAT.replace("status: active", "status: sunk"),
        3,
    ),
    "proposals": Case(
        PROPOSAL.source.text,
        proposals.PROPOSAL.parse,
        lambda proposal: proposal.source.text,
        lambda proposal: proposals.plan_decided(proposal, "applied", AT, "the owner agrees"),
        r"status:|decided:",
        "---\nat: 2026-05-24T03:12:47Z\ntraits: [{text: a, change: 0.5}]\n---\n",
        3,
    ),
    "self_model": Case(
        SERVED,
        self_model.parse,
        lambda file: file.source,
        lambda file: self_model.plan_used(file, [], AT, "served"),
        r"$^",
        "tools:\n  recall:\n    used: often\n    last: 2026-05-24T03:12:47Z\n",
        3,
    ),
    "anchors": Case(
        ANCHOR.source.text,
        anchors.ANCHOR.parse,
        lambda anchor: anchor.source.text,
        lambda anchor: anchors.plan_recalled(
            replace(anchor, recalled=0), AT, "felt again", stirred=True
        ),
        r"recalled:|last_recalled:|stirred:",
        "label: x\nat: 2026-05-24T03:12:47Z\nhormones: {dopamine: 7, cortisol: 0, oxytocin: 0}\n",
        3,
    ),
    "dreams": Case(
        DREAM.source.text,
        dreams.DREAM.parse,
        lambda one: one.source.text,
        lambda _: None,
        r"$^",
        "---\nat: 2026-05-24T03:12:47Z\npairs: [ep_1]\n---\n",
        3,
    ),
    "topics": Case(
        TOPIC.source.text,
        topics.TOPIC.parse,
        lambda topic: topic.source.text,
        lambda topic: topics.plan_draw(
            topic,
            topics.new(
                "Marzipan",
                (topics.Catalyst("Why now?", ("msg_2",)),),
                AT + timedelta(days=1),
                fingerprint="fedcba9876543210",
                provenance=FROM_MODEL,
            ),
            "draw",
        ),
        r"at:|fingerprint:|lines:|  h[0-9a-f]{12}:|- |a line by hand|<!-- note",
        "---\nat: noon\n---\n\n- Why?\n",
        2,
    ),
    "skills": Case(
        SKILL,
        skills.SKILL.parse,
        lambda one: one.source.text,
        lambda one: skills.plan_set(
            [one], "boil an egg", one.description, "Seven minutes.", "better", overwrite=True
        ),
        r"Six|Seven|a line by hand|<!-- note",
        "---\nname: [a]\n---\n\nx\n",
        2,
    ),
    "narrative": Case(
        STORY,
        narrative.NARRATIVE.parse,
        lambda one: one.source.text,
        lambda one: narrative.plan_tell(
            one, "I went on.", AT, Provenance("narrate", sources=("ep_1",)), "told"
        ),
        r"I |at:|a line by hand|<!-- note",
        "---\nby: x\nat: noon\n---\n\nx\n",
        3,
    ),
    "knowledge": Case(
        FACTS,
        knowledge.parse,
        lambda one: one.preamble + "".join(part.source for part in one.sections),
        lambda one: knowledge.plan_set(one, "sam", "Left.", "heard", by_entity=True),
        r"Likes|Left|<!-- \{by|a line by hand|<!-- note",
        "---\na: 1\n\n## x\n",
        1,
    ),
    "journal": Case(
        DIARY,
        partial(journal.parse, zone=ZONE),
        lambda one: one.preamble + "".join(entry.source for entry in one.entries),
        lambda _: None,
        r"$^",
        "---\na: 1\n\n## x\n",
        1,
    ),
    "mappings": Case(
        BODY,
        base.parse_mapping,
        lambda one: one.source,
        lambda one: base.plan_mapping("soma.yaml", one, {"bars": {"social": 61}}, "ebb"),
        r"bars:|\s+social:",
        "a: 1\nb: [\n",
        3,
    ),
    "sessions": Case(
        TALK,
        sessions.parse,
        lambda one: one.source,
        lambda _: None,
        r"$^",
        TALK + '{"type":"message","id":"msg_2"\n' + TALK.splitlines()[1] + "\n",
        3,
    ),
}
every_store = pytest.mark.parametrize("name", CASES)
stores_in_turn = pytest.mark.parametrize("name", turns(2, CASES))
HAND = "# by hand", "x_mine: {a: [1.10, yes]}  # keep", ""


@st.composite
def edited_by_hand(draw: st.DrawFn, sample: str) -> str:
    """A record after a person was at it: comments, fields of their own, blank lines, line ends."""
    if sample.startswith("{"):  # JSON lines take no comments
        extra = draw(st.lists(st.sampled_from(["", '{"type":"mood","at":1,"x":[1.10]}', "  "])))
        return sample + "".join(f"{line}\n" for line in extra)
    is_yaml = not sample.startswith(("---", "#"))
    lines, out, inside, owned = markdown.lines(sample), [], False, set[str]()
    for number, line in enumerate(lines):
        fence = line.strip() == "---" and number < 12
        if is_yaml or (inside and not fence):
            if re.match(r"\w", line) and draw(st.booleans()):
                hand = draw(st.sampled_from(HAND))
                if not (hand.startswith("x_") and owned):
                    owned |= {hand} if hand.startswith("x_") else set()
                    out.append(f"{hand}\n")
            if re.match(r"\w+: [^{\[|\"]*$", line) and draw(st.booleans()):
                line = line.rstrip("\n").replace(": ", ":   ", 1) + "  # mine\n"
        out.append(line)
        inside = (not inside) if fence else inside
        if not (inside or is_yaml) and not line.strip() and draw(st.booleans()):
            out.append(draw(st.sampled_from(["\n", "a line by hand\n\n", "<!-- note -->\n\n"])))
    text = "".join(out) + draw(st.sampled_from(["", "\n", "\n\n"]))
    text = text.replace("\n", "\r\n") if draw(st.booleans()) else text
    return draw(st.sampled_from([text, text.rstrip("\r\n"), "\ufeff" + text]))


@stores_in_turn
@given(data=st.data())
def test_a_record_gives_its_bytes_back_whatever_a_person_did(
    name: str, data: st.DataObject
) -> None:
    case = CASES[name]
    source = data.draw(edited_by_hand(case.sample))
    assert case.text(case.parse(source, "x")) == source


@stores_in_turn
@given(data=st.data())
def test_an_edit_changes_its_own_lines_and_no_others(name: str, data: st.DataObject) -> None:
    case = CASES[name]
    source = data.draw(edited_by_hand(case.sample))
    change = case.edit(case.parse(source, "x"))
    if change is None or change.data is None:
        return
    new = change.data.decode()
    assert without(case.touches, source) == without(case.touches, new)
    assert ("\r\n" in new) == ("\r\n" in source)
    again = case.edit(case.parse(new, "x"))  # counters apart, the same edit again is no edit
    assert again is None or name == "relationships"
    kept = [line for line in source.splitlines() if "mine" in line and not case_line(case, line)]
    assert [line for line in new.splitlines() if line in kept] == kept


def case_line(case: Case, line: str) -> bool:
    return re.match(case.touches, line) is not None


def without(pattern: str, text: str) -> list[str]:
    lines = (line for line in text.splitlines() if line.strip())
    return [line for line in lines if not re.match(pattern, line.removeprefix("\ufeff"))]


@every_store
def test_a_bad_file_is_an_error_that_names_file_and_line(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    file = tmp_path / "bad.md"
    file.write_text(case.bad)
    stamp = file.stat().st_mtime_ns
    with pytest.raises(RecordInvalidError) as caught:
        base.load(file, case.parse)
    assert str(caught.value).startswith(f"{file}:{case.line}: ")
    assert caught.value.exit_code == 12
    assert (file.read_text(), file.stat().st_mtime_ns) == (case.bad, stamp)


@every_store
@pytest.mark.parametrize(
    ("data", "line"), [(b"---\nat: \xff\n---\n", 2), (b"\xfe\xff", 1), (b"a: 1\nb: \xe9\n", 2)]
)
def test_bytes_that_are_no_text_are_an_error_with_a_line(
    name: str, data: bytes, line: int, tmp_path: Path
) -> None:
    file = tmp_path / "bad.md"
    file.write_bytes(data)
    with pytest.raises(RecordInvalidError, match=rf"bad\.md:{line}: not UTF-8.*save it as"):
        base.load(file, CASES[name].parse)


@every_store
def test_a_file_of_fifty_megabytes_is_refused_at_once(name: str, tmp_path: Path) -> None:
    file = tmp_path / "large.md"
    with file.open("wb") as stream:
        stream.truncate(50_000_000)
    with pytest.raises(RecordInvalidError, match="50 MB"):
        base.load(file, CASES[name].parse)


@pytest.mark.parametrize(
    "change",
    [
        episodes.EPISODE.plan_new(EPISODE, "remember"),
        beliefs.BELIEF.plan_new(BELIEF, "believe"),
        relationships.PERSON.plan_new(PERSON, "meet"),
        dreams.DREAM.plan_new(DREAM, "dream"),
        questions.QUESTION.plan_new(QUESTION, "miss"),
        checks.CHECK.plan_new(CHECK, "ask"),
        topics.plan_draw(None, TOPIC, "draw"),
        anchors.ANCHOR.plan_new(ANCHOR, "feel"),
        PROJECT,
        proposals.PROPOSAL.plan_new(PROPOSAL, "grow"),
        skills.plan_set([], "Boil an egg", "d", "text", "learn", overwrite=True),
        narrative.plan_tell(None, "story", AT, FROM_MODEL, "tell"),
        knowledge.plan_set(knowledge.Knowledge("", (), None), "a", "b", "learn", by_entity=True),
        sessions.plan_start(sessions.new("ses_1", AT, "sam"), "talk"),
        base.plan_mapping("soma.yaml", base.MappingFile({}, None), {"a": 1}, "live"),
    ],
    ids=lambda change: change.path,
)
def test_a_new_record_never_overwrites_another(change: Change, tmp_path: Path) -> None:
    file = tmp_path / change.path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("by hand\n")
    with pytest.raises(RecordExistsError):
        changes.apply(tmp_path, ChangeSet("new", (change,)))
    assert file.read_text() == "by hand\n"
    file.unlink()
    made = changes.apply(tmp_path, ChangeSet("new", (change,)))
    beside = companions.place(change.path)
    assert made[0] == file
    assert set(made[1:]) <= {tmp_path / str(beside)}


def test_reading_changes_no_file(tmp_path: Path) -> None:
    planned = (
        episodes.EPISODE.plan_new(EPISODE, "x"),
        beliefs.BELIEF.plan_new(BELIEF, "x"),
        relationships.PERSON.plan_new(PERSON, "x"),
        dreams.DREAM.plan_new(DREAM, "x"),
        journal.plan_add(AT, "text", ZONE, "x"),
    )
    changes.apply(tmp_path, ChangeSet("all", planned))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}
    assert [one.id for one in episodes.EPISODE.readable(tmp_path / "episodes")] == ["ep_1"]
    assert [one.id for one in beliefs.BELIEF.readable(tmp_path / "beliefs")] == ["bel_1"]
    assert [one.id for one in relationships.PERSON.readable(tmp_path / "relationships")] == [
        "sam-fox"
    ]
    assert [one.id for one in dreams.DREAM.readable(tmp_path / "dreams")] == ["drm_1"]
    assert len(journal.read(tmp_path / "journal.md", ZONE).entries) == 1
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files} == before
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == sorted(files)


@pytest.mark.parametrize("one", [EPISODE, BELIEF, PERSON])
def test_what_a_model_wrote_says_so(one: Any) -> None:
    assert one.provenance == FROM_MODEL
    assert {"by": "distill", "model": "qwen3:4b", "from": ["msg_1", "msg_2"]}.items() <= (
        one.source.meta.items()
    )
    assert one.audience == ("sam",)


def test_ids_of_two_clones_never_collide_and_sort_by_time() -> None:
    made = [
        base.new_id("ep", AT + timedelta(milliseconds=n), random.Random(seed))
        for n in range(200)
        for seed in (1, 2)
    ]
    assert len(set(made)) == 400
    assert [identifier[:13] for identifier in made] == sorted(i[:13] for i in made)
    assert all(base.is_id(identifier) for identifier in made)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_what_two_clones_add_merges_without_a_conflict(tmp_path: Path) -> None:
    def git(place: Path, *arguments: str) -> None:
        who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *who, *arguments], cwd=place, check=True, capture_output=True)

    def live(place: Path, who: int) -> None:
        rng, at = random.Random(who), AT + timedelta(minutes=who)
        talk = sessions.parse((place / sessions.path("ses_1")).read_text())
        message = sessions.Message(base.new_id("msg", at, rng), at, "user", f"from {who}")
        planned = (
            episodes.EPISODE.plan_new(episodes.new(base.new_id("ep", at, rng), at, 0.5, "x"), "x"),
            beliefs.BELIEF.plan_new(
                beliefs.new(base.new_id("bel", at, rng), "x", "preference", 0.5, at), "x"
            ),
            journal.plan_add(at, f"entry {who}", ZONE, "x"),
            sessions.plan_append(talk, [message], "x"),
        )
        changes.apply(place, ChangeSet("live", planned))
        git(place, "add", "-A")
        git(place, "commit", "-qm", f"live {who}")

    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    git(one, "init", "-q", "-b", "main")
    (one / ".gitattributes").write_text("journal.md merge=union\n*.jsonl merge=union\n")
    (one / ".gitignore").write_text(".bumble/\n")
    changes.apply(
        one,
        ChangeSet(
            "begin",
            (
                sessions.plan_start(sessions.new("ses_1", AT, "sam"), "x"),
                journal.plan_add(AT, "first", ZONE, "x"),
            ),
        ),
    )
    git(one, "add", "-A")
    git(one, "commit", "-qm", "begin")
    git(tmp_path, "clone", "-q", str(one), str(other))
    live(other, 2)
    live(one, 1)
    git(one, "pull", "-q", "--no-rebase", "--no-edit", str(other), "main")
    assert len(list(episodes.EPISODE.readable(one / "episodes"))) == 2
    assert len(list(beliefs.BELIEF.readable(one / "beliefs"))) == 2
    texts = [entry.text for entry in journal.read(one / "journal.md", ZONE).entries]
    assert sorted(texts) == ["entry 1", "entry 2", "first"]
    talk = sessions.parse((one / sessions.path("ses_1")).read_text())
    assert [message.text for message in talk.messages] == ["from 1", "from 2"]


# what each kind of record answers to those who walk over the kinds


HELD = "I hide marzipan."
every_kind = pytest.mark.parametrize("kind", kinds.KINDS, ids=lambda kind: kind.name)
kinds_in_turn = pytest.mark.parametrize("kind", turns(4, kinds.KINDS), ids=lambda kind: kind.name)


@pytest.fixture
def entity(tmp_path: Path) -> Entity:
    return newborns.ada(tmp_path / "ada", "Bo", "Europe/Berlin")


def put(entity: Entity, kind: Kind, text: str = HELD, *audience: str) -> Path:
    """Write a record into the folder, with the conversation that a brief lies beside."""
    for name in ("session", kind.name) if kind.name == "handover" else (kind.name,):
        path, source = record(name, text, audience or ("sam",))
        file = entity.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)
    return file


def contents(entity: Entity) -> str:
    return "\n".join(
        path.read_text()
        for path in sorted(entity.root.rglob("*"))
        if path.is_file() and path != entity.file and ".git" not in path.parts
    )


@every_kind
def test_a_kind_knows_its_files(kind: Kind, entity: Entity) -> None:
    file = put(entity, kind)
    assert kind.paths(entity) == [file]
    assert kinds.of_path(entity.relative(file)) is kind
    assert kind.is_file or kind.locate(entity, kind.stem(file)) == [file]
    assert write_ahead.target(entity.root, entity.relative(file)) == file


@every_kind
def test_a_kind_shows_what_its_records_hold_and_who_may_meet_them(
    kind: Kind, entity: Entity
) -> None:
    file = put(entity, kind)
    kind.parse(file.read_text(), kind.stem(file))
    views = [note for view in kind.read(file, ZONE) for note in (view.notes or (view,))]
    if kind.of_now:
        assert views == []
        return
    assert views[0].origin.audience == ("sam",)
    assert HELD in views[0].text or kind.name == "session"
    assert views[0].id
    assert kinds.of_id(views[0].id) == (kind.name if kind.prefix else "") or kind.name == "handover"


@every_kind
def test_a_kind_is_indexed_where_it_has_passages(kind: Kind, entity: Entity) -> None:
    file = put(entity, kind)
    path = entity.relative(file)
    assert (ingest.kind_of(path) if path in ingest.scan(entity) else "") == kind.passages
    if kind.passages:
        passages = chunks.read(kind.passages, file, name="Ada", zone=ZONE)
        assert {passage.kind for passage in passages} == {kind.passages}


@every_kind
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_git_merges_a_kind_as_it_says(kind: Kind, entity: Entity) -> None:
    path = entity.relative(put(entity, kind))
    subprocess.run(["git", "init", "-q"], cwd=entity.root, check=True)
    command = ["git", "check-attr", "merge", "--", path]
    said = subprocess.run(command, cwd=entity.root, check=True, capture_output=True, text=True)
    assert said.stdout.rsplit(" ", 1)[1].strip() == (kind.merging or "unspecified")
    assert bool(kind.merging) == (merge.merger_of(kind) is not merge_texts.merge_lines)


@every_kind
def test_what_two_sides_made_of_a_record_is_one_again_or_names_its_clash(kind: Kind) -> None:
    path, before = record(kind.name, HELD)
    ours, theirs = (record(kind.name, text)[1] for text in ("It was Sam who sang.", "We sailed."))
    assert merge.merge(path, before, ours, before) == merge_texts.Merged(ours, True)
    assert merge.merge(path, before, before, theirs) == merge_texts.Merged(theirs, True)
    assert merge.merge(path, before, ours, ours) == merge_texts.Merged(ours, True)
    sides = merge.merge(path, before, ours, theirs), merge.merge(path, before, theirs, ours)
    assert sides[0].clean == sides[1].clean
    for side in sides:
        assert side.clean == ("<<<<<<<" not in side.text)
        if side.clean:
            kind.parse(side.text, PurePosixPath(path).stem)


OTHERS = ("2026-05-25T03:12:47Z", "2026-05-26T03:12:47Z"), (3, 5), (["a"], ["b"]), ("a", "b")
record_kinds = [kind for kind in kinds.KINDS if isinstance(kind, RecordKind)]


@pytest.mark.parametrize("kind", record_kinds, ids=lambda kind: kind.name)
@pytest.mark.parametrize("pair", OTHERS, ids=str)
def test_what_a_declared_field_becomes_of_two_sides_is_the_same_either_way(
    kind: RecordKind[Any], pair: tuple[object, object]
) -> None:
    before = kind.parse(record(kind.name, HELD)[1], "ep_1").source.meta
    declared: type[Record] = kind.record
    for one in fields.declared(declared):
        sides = ({**before, one.how.name: value} for value in pair)
        mine, theirs = sides
        assert kind.join(before, mine, theirs) == kind.join(before, theirs, mine), one.name


@every_kind
def test_a_change_of_a_kind_is_told_in_its_words(kind: Kind, entity: Entity) -> None:
    file = put(entity, kind)
    path = entity.relative(file)
    assert kind.is_lines != (isinstance(kind, RecordKind) or kind.teller is not None)
    assert log.describe(Version(path, None, file.read_bytes()))
    assert log.list_kinds([path]) in (kind.file_name, f"1 {kind.singular}")


@every_kind
def test_what_a_kind_holds_of_one_person_alone_is_forgotten(kind: Kind, entity: Entity) -> None:
    put(entity, kind)
    plan = forget.plan(entity, "sam", ["Sam"], ZONE)
    changes.apply(entity.root, ChangeSet("forget", plan.changes))
    if kind.forgetting != "listed":
        assert "marzipan" not in contents(entity)
        assert "sam" not in contents(entity)


@every_kind
def test_what_a_kind_shares_loses_the_person_and_is_named_as_undecided(
    kind: Kind, entity: Entity
) -> None:
    file = put(entity, kind, "It was Sam who sang.", "bo", "sam")
    plan = forget.plan(entity, "sam", ["Sam"], ZONE)
    changes.apply(entity.root, ChangeSet("forget", plan.changes))
    assert not re.search(r"\bsam\b", contents(entity))
    if kind.name not in ("state", "handover"):  # state holds no words; a brief goes with the talk
        assert file.exists()
        undecided = {(entry.path, entry.kind) for entry in plan.undecided}
        assert (entity.relative(file), kind.name) in undecided
    assert forget.plan(entity, "sam", ["Sam"], ZONE).changes == ()


@every_kind
def test_doctor_reads_a_kind_and_finds_whom_nothing_knows(kind: Kind, entity: Entity) -> None:
    file = put(entity, kind, HELD, "bo", "ghost")
    at = AT + timedelta(days=1)
    strangers = [
        finding.path
        for finding in record_files.found(entity, at, "bo")
        if finding.code == "person-missing"
    ]
    knows_them = kind.name in ("session", "handover")  # the talk itself was with them
    assert strangers == ([] if knows_them or kind.of_now else [entity.relative(file)])
    file.write_bytes(b"\xff")
    broken = [
        finding.path
        for finding in record_files.found(entity, at, "bo")
        if finding.code == "record-invalid"
    ]
    assert broken == [entity.relative(file)]


@every_kind
def test_why_finds_a_kind_by_its_id(kind: Kind, entity: Entity) -> None:
    file = put(entity, kind)
    assert (kind.name in lookup.KINDS) == kind.explained
    if kind.explained:
        view = kind.read(file, ZONE)[0]
        item = lookup.Library(entity, name="Ada", zone=ZONE).item(kind.name, view.id)
        assert item is not None
        assert (item.id, item.path) == (view.id, entity.relative(file))


NAMED = {
    "knowledge": "Tea",
    "journal": "2026-05-24 05:12",
    "person": "Kim",
    "narrative": "narrative",
    "scratch": "hide marz",
    "working": HELD,
    "skill": "Tea",
    "topic": "Tea",
    "check": "tea",
    "anchor": "Tea",
    "project": "Tea",
    "session": "ses_1",
}


@pytest.mark.parametrize(
    "kind", [kind for kind in kinds.KINDS if kind.explained], ids=lambda kind: kind.name
)
def test_why_finds_a_kind_by_what_a_person_types(kind: Kind, entity: Entity) -> None:
    file = put(entity, kind)
    shelf = lookup.Library(entity, name="Ada", zone=ZONE)
    item = shelf.look_up(NAMED.get(kind.name, file.stem), kind.name if kind.name in NAMED else None)
    assert (item.kind, item.path) == (kind.name, entity.relative(file))


@every_kind
def test_an_export_has_pages_of_a_kind_that_says_so(kind: Kind, entity: Entity) -> None:
    put(entity, kind)
    pages = memories.collect(entity, ZONE, "Ada", Reader("sam"))
    of_kind = [page for page in pages.pages if page.kind is kind]
    assert bool(of_kind) == kind.page
    texts = memories.copy(pages, "Ada")
    assert all(f"tags: [{kind.name}]\n" in texts[f"{page.path}.md"] for page in of_kind)


@every_kind
def test_a_topic_is_looked_for_in_a_kind_that_does_not_retell(kind: Kind, entity: Entity) -> None:
    file = put(entity, kind)
    if kind is relationships.PERSON:  # who has only notes has no passages
        file.write_text(f"{file.read_text()}\n{HELD}\n")
    memory = Memory(entity, lambda: None, name="Ada", zone=ZONE)
    memory.sync()
    path = entity.relative(file)
    looked_at = {text.kind for text in survey.mentions(memory) if text.path == path}
    assert looked_at == ({kind.passages} if kind.passages and not kind.retells else set())
    assert looked_at or kind.passages not in topic_questions.DRAWN_FROM


@every_kind
def test_what_holds_only_the_present_is_in_no_folder_of_earlier(
    kind: Kind, entity: Entity, tmp_path: Path
) -> None:
    path = entity.relative(put(entity, kind))
    past.copy_by_times(entity, tmp_path / "then", AT + timedelta(days=9), ZONE)
    assert (tmp_path / "then" / path).exists() != kind.of_now


@every_kind
def test_a_kind_is_in_the_report_or_left_out_on_purpose(kind: Kind) -> None:
    left_out = {  # of what exports have pages of
        "knowledge": "facts, which are looked up and no part of a life",
        "skill": "how something is done",
        "project": "what is under way, which changes by the hour",
    }
    places_of_their_own = (relationships.PERSON, narrative.NARRATIVE)
    is_shown = kind in (*life.READ, session_files.SESSION)
    assert is_shown == (kind.page and kind.name not in left_out)
    assert (kind in life.ON_TIMELINE) == (is_shown and kind not in places_of_their_own)


@every_kind
def test_a_kind_with_a_list_names_the_command_that_shows_it(kind: Kind) -> None:
    commands = json.loads(completing.WORDS.read_bytes())["commands"]
    if f"{kind.name} list" in commands:
        assert app.LISTED_BY[kind.name] == f"{kind.name} list"
    assert app.LISTED_BY.get(kind.name, "petri") in commands


@every_kind
def test_a_shell_offers_the_names_of_a_kind(
    kind: Kind, entity: Entity, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = put(entity, kind)
    words = json.loads(completing.WORDS.read_bytes())
    named = [] if kind.is_file else [kind.stem(file)]
    named = ["Tea", "Last"] if kind is knowledge.KNOWLEDGE else named
    assert completing.values(kind.name, words, str(entity.root)) == named
    found = completing.values("id", words, str(entity.root))
    assert set(named) <= set(found) or not (kind.prefix and kind.explained)


@every_kind
def test_a_case_above_keeps_the_bytes_of_every_kind(kind: Kind) -> None:
    parsers = {case.parse for case in CASES.values()}
    by_line = ("scratch", "working")  # added and spliced a line at a time
    as_others = ("journal", "handover", "soma", "state")  # sections, documents and mappings
    assert {kind.parse, kind.parser} & parsers or kind.name in (*by_line, *as_others)


def test_working_memory_keeps_the_bytes_of_what_no_dream_wrote() -> None:
    own = "<!-- {by: dream, from: [ep_1], audience: [sam]} -->"
    page = f"# Working memory\n\nMine.\n\n## Bond\n\n- By hand.\n- Near. {own}\n\n## Mine\n\nx\n"
    before = working.rendered(page, {})
    assert before.splitlines()[:7] == page.replace(f"- Near. {own}\n", "").splitlines()[:7]
    assert "## Mine\n\nx\n" in before
    assert working.rendered(before, {}) == before


@every_kind
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_change_of_a_kind_is_undone(kind: Kind, entity: Entity) -> None:
    git(entity.root, "init", "-q", "-b", "main")
    git(entity.root, "config", "user.name", "Sam")
    git(entity.root, "config", "user.email", "sam@example.org")
    if kind is session_files.HANDOVER:
        put(entity, session_files.SESSION)
    git(entity.root, "add", "-A")
    git(entity.root, "commit", "-qm", "start")
    path, text = record(kind.name, HELD)
    there = disk.read_if_there(entity.root / path)
    planned = changes.write(path, text, None if there is None else there.decode(), "x")
    policy = CommitPolicy(True, "Ada", lambda: AT, lambda text: pytest.fail(text))
    commits.apply(entity.root, ChangeSet("dream: x", (planned,)), policy)
    (commit,) = [commit for commit in log.read(entity.root) if commit.cycle == "dream"]
    plan = undo.plan(entity.root, commit, force=True)
    changes.apply(entity.root, plan.change_set)
    stays = kind.name in ("session", "state")
    assert (disk.read_if_there(entity.root / path) == there) != stays
    assert bool(plan.stays) == stays


@forks
@kinds_in_turn
@kill_steps
def test_a_kill_at_any_write_leaves_all_of_a_record_or_nothing(
    kind: Kind, step: int, entity: Entity
) -> None:
    path, text = record(kind.name, HELD)
    pair = [entity.root / name for name in (path, companions.place(path)) if name]
    before = [disk.read_if_there(file) for file in pair]
    there = companions.read(entity.root, path)
    planned = changes.write(path, text, None if there is None else there.decode(), "x")
    wanted = companions.digest(path, text.encode())

    def held() -> str | None:
        return companions.digest(path, companions.read(entity.root, path))

    for n in range(1, 400, step):

        def act(number: int, done: bool, at: int = n) -> None:
            if number == at and done:
                os.kill(os.getpid(), signal.SIGKILL)

        def work(act: Callable[[int, bool], None] = act) -> None:
            with every_call(act):
                changes.apply(entity.root, ChangeSet("x", (planned,)))

        if in_child(work) == 0:
            break
        changes.recover(entity.root)
        assert held() in (companions.digest(path, there), wanted), n
        for file, data in zip(pair, before, strict=True):
            if data is None:
                file.unlink(missing_ok=True)
            else:
                file.write_bytes(data)
    changes.recover(entity.root)
    assert held() == wanted
