"""Talks where clocks go wrong: back, ahead, and apart on two machines."""

from __future__ import annotations

import copy
import os
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from bumble.entity.folder import Entity
from bumble.llm import scripted
from bumble.llm.protocol import Completion, OnText, Request
from bumble.llm.scripted import ScriptedModel
from bumble.records import session_files, sessions, state
from bumble.records.sessions import Session
from tests.support import chatting, clones, kills
from tests.support.repository import git
from tests.support.running import NOON, Run
from tests.support.sweeps import turns

YEARS = timedelta(days=3653)
APART = [
    timedelta(minutes=-5),
    timedelta(minutes=4),
    timedelta(hours=-5),
    timedelta(hours=5),
    YEARS,
]


def tell(run: Run, text: str, *more: str) -> Session:
    """Say something, and see to it that this was answered; return the conversation."""
    heard = f"I heard: {text}"
    chatting.script(run, {**chatting.act("say", text=heard), "contains": text})
    data = run.ok("chat", "--as", "Sam", "--json", *more, text).data
    assert data["reply"] == heard
    talk = session_files.find(run.entity.sessions, data["session"])
    assert [message.text for message in talk.messages[-2:]] == [text, heard]
    assert not talk.unanswered
    return talk


@pytest.mark.parametrize("apart", turns(2, APART))
def test_what_is_said_now_is_answered_whatever_the_clock_said_before(
    run: Run, apart: timedelta
) -> None:
    tell(run, "It rains.")
    run.now += apart
    tell(run, "Now it snows.")
    run.now = NOON + timedelta(minutes=30)
    last = tell(run, "Now the sun shines.")
    assert tell(run, "And now?").id == last.id


@pytest.mark.parametrize("apart", turns(5, APART))
def test_two_machines_whose_clocks_differ_each_get_an_answer(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, apart: timedelta
) -> None:
    here, there = machines(run, tmp_path, monkeypatch)
    there.now += apart
    texts = [f"line {n}." for n in range(8)]
    for n, text in enumerate(texts):
        side = (here, there)[n % 4 // 2]
        tell(side, text, "--session", "ses_1")
        if n % 2:
            for one in (side, here, there):
                ran = one("sync", "--push")
                assert ran.code == 0, ran
    talks = [session_files.find(one.entity.sessions, "ses_1") for one in (here, there)]
    assert talks[0].source == talks[1].source
    assert [one.text for one in talks[0].messages if one.text in texts] == texts


def machines(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Run, Run]:
    """Two machines that an entity lives on, and a server between them."""
    if shutil.which("git") is None:
        pytest.skip("needs git")
    root = clones.begun(run, monkeypatch).entity.root
    git(tmp_path, "clone", "-q", "--bare", str(root), "server")
    git(root, "remote", "add", "origin", str(tmp_path / "server"))
    git(root, "push", "-qu", "origin", "main")
    (tmp_path / "away").mkdir()
    git(tmp_path / "away", "clone", "-q", str(tmp_path / "server"), "ada")
    there = copy.copy(run)
    there.entity, there.environ = Entity(tmp_path / "away" / "ada"), dict(run.environ)
    return run, there


def test_one_date_in_2036_delays_nothing_that_is_due(run: Run) -> None:
    run.ok("remind", "add", "Tea", "--cron", "0 9 * * *")
    run.write(
        "automations/aut_a.md",
        '---\nschedule: "0 9 * * *"\nlast: 2036-05-24T09:00:00+01:00\n---\n\nLook around.\n',
    )
    chatting.script(run, {"purpose": "chat", "text": "Hello.", "always": True})
    run.ok("config", "set", "cognition.gate.enabled", "false")
    run.now += YEARS
    run.ok("tick")
    run.ok("chat", "--as", "Sam", "It rains.")
    run.now = NOON + timedelta(days=1)
    run.ok("chat", "--as", "Sam", "Hello again.")
    assert "2036" not in run.text("soma.yaml")
    assert "at: 2026-05-26" in next(run.file("reminders").glob("*.md")).read_text()
    run.now += timedelta(days=1)
    dream = run("tick", "--check", "--json").data["dream"]
    assert {gate["name"]: gate["passes"] for gate in dream["gates"]}["silence"]
    run.ok("tick")
    assert "last: 2026-05-26" in run.text("automations/aut_a.md")
    assert state.read(run.entity.state).get("handover") is None


class Killed(ScriptedModel):
    """A model at whose n-th call the process is gone."""

    def __init__(self, *given: object, **more: object) -> None:
        super().__init__(*given, **more)  # type: ignore[arg-type]
        self.left = int(os.environ["KILLED_AT"])

    def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        self.left -= 1
        if self.left < 0:
            os._exit(9)
        return super().complete(request, on_text)


@kills.forks
@pytest.mark.parametrize("calls", [0, 1, 2])
def test_a_kill_at_any_call_before_the_first_answer_loses_no_message(
    run: Run, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    chatting.talk(run, [("sam", "I bake."), ("ada", "Good.")] * 4, "ses_old")
    run.now += timedelta(hours=20)
    chatting.script(run, chatting.act("recall", query="bake"), chatting.act("recall", query="I"))
    monkeypatch.setenv("KILLED_AT", str(calls))
    monkeypatch.setattr(scripted, "ScriptedModel", Killed)

    def chat() -> None:
        run("chat", "--as", "Sam", "Are you there?")

    assert kills.in_child(chat) == 9
    newest = session_files.newest(run.entity.sessions, "sam", run.now)
    assert newest is not None and newest.id != "ses_old"
    talk = session_files.load(run.file(sessions.path(newest.id)))
    assert [message.text for message in talk.unanswered] == ["Are you there?"]


def test_a_present_without_an_offset_is_in_the_zone_of_the_entity(run: Run) -> None:
    zoned = run.text("entity.yaml").replace("Europe/Lisbon", "Asia/Tokyo")
    run.write("entity.yaml", zoned)
    run.ok("remind", "add", "--at", "2026-11-10T09:00", "--deliver", "journal", "Hens")
    due = ("status", "--json", "--now")
    assert run.ok(*due, "2026-11-10T08:59").data["due"]["reminders"] == 0
    assert run.ok(*due, "2026-11-10T09:00").data["due"]["reminders"] == 1
