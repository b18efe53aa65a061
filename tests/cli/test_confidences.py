"""What is told in confidence, and every command that shows: by the owner, and by who told it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import typer
from msgspec.structs import replace

from bumble.body.config import HORMONE_NAMES
from bumble.chat import workspace
from bumble.cli import app
from bumble.entity.changes import Change, ChangeSet
from bumble.history import clone
from bumble.records import (
    anchors,
    beliefs,
    dreams,
    episodes,
    journal,
    knowledge,
    narrative,
    projects,
    relationships,
    reminders,
    sessions,
    skills,
    soma,
)
from bumble.records.base import Provenance
from bumble.records.relationships import PendingNote
from bumble.records.sessions import Message
from tests.support.chatting import act, script
from tests.support.command_line import leaves
from tests.support.reading import with_weights
from tests.support.repository import body, git, write
from tests.support.running import NOON, Run

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
ZONE = ZoneInfo("Europe/Lisbon")
BO_ONLY = Provenance("distill", "m", ("msg_bo",), "person", ("bo",))
SECRET = re.compile(r"lighthouse(\w+)", re.IGNORECASE)  # one word for each place it may lie in
# Every command that has --all, with words that ask for what Bo told; below what it shows with it.
SHOWING = {
    ("anchor", "list"): ("anchor",),
    ("anchor", "remove", "Lighthouseanchor", "--dry-run"): ("anchor",),
    ("anchor", "show", "Lighthouseanchor"): ("anchor",),
    ("belief", "list"): ("belief",),
    ("belief", "show", "bel_1"): ("belief",),
    ("context", "list"): (),
    ("context", "detail"): (),
    ("context", "json"): (),
    ("context", "prompt", "--session", "ses_bo"): ("message",),
    ("diff", "last"): ("skill",),
    ("diff", "HEAD~1"): (
        "belief",
        "episode",
        "knowledge",
        "journal",
        "portrait",
        "message",
        "file",
        "name",
    ),
    ("episode", "list"): ("episode",),
    ("episode", "remove", "ep_1", "--dry-run"): ("episode",),
    ("episode", "list", "--tag", "lighthousetag"): ("tag",),
    ("episode", "show", "ep_1"): ("episode", "tag", "imprint"),
    ("eval", "draft", "--dry-run"): ("knowledge",),
    ("journal", "list"): ("journal",),
    ("journal", "search", "lighthousejournal"): ("journal",),
    ("journal", "show"): ("journal",),
    ("knowledge", "list"): ("title", "knowledge"),
    ("knowledge", "show"): ("title", "knowledge"),
    ("knowledge", "set", "Zoo", "A lion.", "--dry-run"): (),
    ("log",): ("title",),
    ("log", "bo"): ("title",),
    ("noise",): ("noise",),
    ("person", "forget", "bo", "--dry-run"): ("belief", "knowledge", "message", "portrait"),
    ("person", "list"): ("dynamic",),
    ("person", "show", "bo"): ("portrait", "dynamic", "topics", "pending"),
    ("project", "list"): ("step",),
    ("project", "show", "Lighthouseproject"): ("step", "why"),
    ("recall", "lighthousebelief secret"): ("belief",),
    ("recall", "--plain", "lighthousebelief secret"): ("belief",),
    ("recall", "--person", "bo", "lighthousebelief secret"): ("belief",),
    ("remind", "list"): ("reminder",),
    ("remind", "remove", "rem_1", "--dry-run"): ("reminder",),
    ("report", "-"): ("belief", "episode", "journal", "portrait", "message", "dream"),
    ("session", "list"): (),
    ("session", "show", "ses_bo"): ("message", "brief", "call"),
    ("show", "bo"): ("portrait", "dynamic"),
    ("skill", "list"): ("skill",),
    ("skill", "remove", "Lighthouseskill", "--dry-run"): ("skill",),
    ("skill", "show", "Lighthouseskill"): ("skill",),
    ("soma",): ("felt", "noise"),
    ("why", "ep_1"): ("episode",),
    ("why", "bel_1"): ("belief", "message"),
    ("why", "bo"): ("portrait", "pending"),
    ("why", "msg_bo"): ("message",),
}
# What the owner decides on, or edits, is shown to them whole; a section that isn't for them isn't
# there, and a cycle tells what it made (both below).
OTHERS = (
    *("belief edit", "episode edit", "knowledge edit", "person edit", "skill edit"),
    *("knowledge remove", "review accept", "review reject", "review show"),
)
CYCLES = (
    *("catalysts", "compact", "consolidate", "distill", "dream", "evolve", "narrate", "noise tick"),
    *("reflect", "remind run", "soma tick", "tick", "wake"),
)


def secret(place: str) -> str:
    return f"The secret is lighthouse{place}."


def put(run: Run, title: str, *planned: Change | None) -> None:
    write(run, ChangeSet(title, tuple(change for change in planned if change is not None)))


@pytest.fixture
def ada(run: Run) -> Run:
    """Ada under git, to whom Bo has told something in every place it may lie in."""
    run.environ["BUMBLE_EMBEDDING_MODEL"] = "none"
    script(run, *(act("say", text="I see.") for _ in range(3)))
    run.environ["BUMBLE_LLM_ABILITIES_TALK"] = "{any: none}"  # what is made, is made by form
    run.environ["BUMBLE_LLM_ABILITIES_MEMORY"] = "{any: none}"
    root = run.entity.root
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.name", "Sam")
    git(root, "config", "user.email", "sam@example.org")
    clone.install_driver(root)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "start")
    run.ok("knowledge", "set", "Pets", "A dog.")
    known = knowledge.read(run.entity.knowledge)
    bo = relationships.new("Bo", NOON, provenance=BO_ONLY)
    called = sessions.ToolCall("c1", "update_knowledge", {"body": secret("call")})
    talk = sessions.new("ses_bo", NOON, "bo")
    said = Message("msg_bo", NOON, "user", secret("message"), "bo", trust="person")
    heard = Message("msg_ada", NOON, "assistant", secret("message"), tool_calls=(called,))
    imprint = episodes.Imprint("joy", 0.5, secret("imprint"))
    episode = episodes.new(
        "ep_1",
        NOON,
        0.9,
        secret("episode"),
        people=("bo",),
        provenance=BO_ONLY,
        tags=("lighthousetag",),
        imprints=(imprint,),
        session="ses_bo",
    )
    belief = beliefs.new("bel_1", secret("belief"), "world_fact", 0.9, NOON, provenance=BO_ONLY)
    project = projects.plan_new(
        "Lighthouseproject", {"next": ("lighthousestep",)}, secret("why"), ""
    )
    thoughts = body(50.0, secret("noise"))
    thoughts["noise"]["fragments"][0]["audience"] = ["bo"]  # type: ignore[index]
    thoughts["felt"] = {"text": secret("felt"), "at": NOON.isoformat(), "audience": ["bo"]}
    thoughts["affects"] = [{"name": "calm", "intensity": 0.5, "at": NOON.isoformat()}]
    feeling = anchors.new(
        "Lighthouseanchor",
        secret("anchor"),
        dict.fromkeys(HORMONE_NAMES, 0.5),
        NOON,
        0.9,
        provenance=BO_ONLY,
    )
    put(
        run,
        f"remember: {secret('title')}",
        sessions.plan_start(talk, ""),
        sessions.plan_append(talk, [said, heard], ""),
        relationships.PERSON.plan_new(bo, ""),
        relationships.plan_update(
            bo,
            "",
            dynamic=secret("dynamic"),
            topics=("lighthousetopics",),
            pending=(PendingNote(secret("pending"), NOON, BO_ONLY),),
            text=secret("portrait"),
        ),
        episodes.EPISODE.plan_new(episode, ""),
        beliefs.BELIEF.plan_new(belief, ""),
        knowledge.plan_set(
            known, "Lighthousetitle", secret("knowledge"), "", by_entity=False, provenance=BO_ONLY
        ),
        journal.plan_add(NOON, secret("journal"), ZONE, "", provenance=BO_ONLY),
        dreams.DREAM.plan_new(
            dreams.new("drm_1", NOON, (), (secret("dream"),), secret("dream"), provenance=BO_ONLY),
            "",
        ),
        narrative.plan_tell(None, secret("story"), NOON, BO_ONLY, ""),
        soma.plan_write(soma.read(run.entity.soma), thoughts, ""),
        anchors.ANCHOR.plan_new(feeling, ""),
        reminders.REMINDER.plan_new(
            reminders.new(
                "rem_1",
                NOON.replace(year=2030),
                secret("reminder"),
                person="bo",
                provenance=BO_ONLY,
            ),
            "",
        ),
        project,
        workspace.plan_write(
            run.entity, "lighthousename.md", secret("file"), replace(BO_ONLY, by="chat")
        ),
    )
    front = "---\nby: distill\ntrust: person\naudience: [bo]\nat: 2026-05-24T12:00:00Z\n---\n"
    run.write("sessions/ses_bo/handover.md", f"{front}\n{secret('brief')}\n")
    where = run.file("projects/lighthouseproject.md")
    where.write_text(where.read_text().replace("---\n", "---\naudience: [bo]\n", 1))
    git(root, "add", "-A")
    git(root, "commit", "-q", "--amend", "--no-edit")
    put(
        run,
        "skill: write one",
        skills.plan_set(
            [], "Lighthouseskill", "how", secret("skill"), "", overwrite=False, provenance=BO_ONLY
        ),
    )
    return run


def found(run: Run, *words: str) -> set[str]:
    """Return the places whose secret a command tells; what was asked for is no answer."""
    ran = run(*words)
    assert ran.code == 0, ran.err
    asked = " ".join(words).casefold()
    places = {place.casefold() for place in SECRET.findall(ran.out + ran.err)}
    return {place for place in places if f"lighthouse{place}" not in asked}


def test_the_owner_is_shown_that_there_is_something_and_what_with_all(ada: Run) -> None:
    leaks, missing = {}, {}
    for words, places in SHOWING.items():  # none of them writes: one folder does for all
        leaks[words] = found(ada, *words)
        if words != ("report", "-"):
            leaks[words] |= found(ada, *words, "--json")
        asked = " ".join(words).casefold()
        shown = {place for place in places if f"lighthouse{place}" not in asked}
        missing[words] = shown - found(ada, *words, "--all")
    assert {words: places for words, places in leaks.items() if places} == {}
    assert {words: places for words, places in missing.items() if places} == {}


def test_what_an_undo_passes_over_is_not_told(ada: Run) -> None:
    bel = beliefs.new("bel_7", secret("title"), "world_fact", 0.9, NOON, provenance=BO_ONLY)
    put(ada, f"distill: {secret('title')}", beliefs.BELIEF.plan_new(bel, ""))
    ada.ok("undo", "--last")
    ran = ada.ok("undo", "--last", "--dry-run")
    assert "passed over" in ran.err and "undone already" in ran.err
    assert "lighthousetitle" not in ran.out + ran.err


def test_a_secret_can_not_be_guessed_by_asking_for_its_words(ada: Run) -> None:
    for words in (
        ("recall", "lighthousebelief"),
        ("recall", "--plain", "lighthousebelief"),
        ("journal", "search", "lighthousejournal"),
        ("episode", "list", "--tag", "lighthousetag"),
    ):
        told = ada.ok(*words)
        nothing = ada.ok(*(word.replace("lighthouse", "towerless") for word in words))
        assert (told.out, told.err) == (nothing.out, nothing.err)
    assert ada("knowledge", "show", "Lighthousetitle").code != 0
    assert ada("why", "The secret is lighthousebelief").code != 0


def test_a_title_that_others_told_alone_is_nobody_elses_to_change(ada: Run) -> None:
    before = ada.text("knowledge.md")
    assert ada("knowledge", "remove", "Lighthousetitle", "--yes").code != 0
    assert ada.text("knowledge.md") == before
    ada.ok("knowledge", "set", "Lighthousetitle", "A tower of mine.")
    assert ada.text("knowledge.md").startswith(before.rstrip())
    ada.ok("knowledge", "set", "Lighthousetitle", "My own tower.")
    assert "My own tower." in ada.ok("knowledge", "show", "Lighthousetitle (Sam)").out
    ada.ok("knowledge", "remove", "Lighthousetitle", "--yes", "--all")
    assert secret("knowledge") not in ada.text("knowledge.md")


def test_what_nothing_bears_out_is_told_to_whom_it_is_for(ada: Run) -> None:
    text = "Bo bought a lighthousejunk for nine thousand."
    made_up = beliefs.new("bel_8", text, "world_fact", 0.9, NOON, provenance=BO_ONLY)
    put(ada, "", beliefs.BELIEF.plan_new(made_up, ""))
    assert found(ada, "eval") | found(ada, "eval", "--json") == set()
    assert found(ada, "eval", "--all") == {"junk"}
    ada.ok("eval", "draft")
    assert {"junk", "knowledge"} <= set(SECRET.findall(ada("eval", "--all").out))
    told = [ada(*words).out for words in (("eval",), ("log", "--json"), ("eval", "--json"))]
    assert SECRET.findall("".join(told)) == []


def test_no_suggestion_and_no_lines_around_a_change_tell_it(ada: Run) -> None:
    for words in (("why", "Lighthousetitl"), ("skill", "show", "Lighthouseskil")):
        assert "Did you mean" not in ada(*words).err
        assert "Did you mean" in ada(*words, "--all").err
    text = ada.text("knowledge.md")
    ada.write("knowledge.md", f"{text}\n## Kite [only for bo]\n\n{secret('knowledge')}\n")
    assert found(ada, "knowledge", "set", "Zoo", "A lion.", "--dry-run") == set()


def test_that_there_is_something_is_said(ada: Run) -> None:
    for words in (("belief", "list"), ("soma",), ("session", "show", "ses_bo"), ("log",)):
        assert "(only for bo; --all shows it)" in ada.ok(*words).out
    assert "--all" in ada.ok("recall", "dog").err


def test_what_a_cycle_made_of_it_is_not_told(ada: Run, weights_folder: Path) -> None:
    with_weights(ada, weights_folder)
    ada.ok("chat", "--as", "Bo", "Between us: I am engaged to Albatrossia, nobody knows yet.")
    later = ("--now", "2026-06-01T12:00:00+01:00")
    for more in (("--dry-run",), ()):
        ran = ada.ok("tick", "-v", "--settle", *later, *more)
        assert "stretch" in ran.out
        assert "only for bo" in ran.out
        assert "Albatross" not in ran.out + ran.err
    assert "Albatross" in ada.ok("episode", "list", "--all").out


def test_every_command_with_all_is_in_the_table() -> None:
    root = typer.main.get_command(app.app)

    def has_all(words: tuple[str, ...]) -> bool:
        command = root
        for word in words:
            command = command.get_command(None, word)  # type: ignore[attr-defined]
        return any("--all" in option.opts for option in command.params)

    asked = {" ".join(words) for words in leaves() if has_all(words)}
    tabled = {name for name in asked for words in SHOWING if " ".join(words).startswith(name)}
    assert asked - tabled - {*OTHERS, *CYCLES} == set()
