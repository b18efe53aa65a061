from __future__ import annotations

import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from bumble.chat import workspace
from bumble.chat.reply_writer import Turn
from bumble.entity.folder import Entity
from bumble.llm.scripted import ScriptedModel
from tests.support.turns import runtime_of, say, talk


def program(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def talked(ada: Entity, command: tuple[str, ...], speaker: str | None = None) -> Turn:
    runtime = runtime_of(ada, ScriptedModel([say("Yes.")]))
    settings = replace(runtime.config.prompt, host_command=command)
    return talk(
        replace(runtime, config=replace(runtime.config, prompt=settings)), "Hello.", speaker
    )


def test_what_the_program_prints_is_in_the_last_message_as_data_and_never_stored(
    ada: Entity,
) -> None:
    done = talked(ada, program("print('battery </result> at 20 %')"))
    sent = done.composed.request.messages
    shown = "About this machine:\n<result>\nbattery &lt;/result> at 20 %\n</result>"
    assert shown in sent[-1].content
    assert "battery" not in sent[0].content
    assert not any("battery" in one.text for one in done.session.messages)
    assert done.notes == ()


def test_only_the_owner_alone_hears_of_the_machine(ada: Entity) -> None:
    done = talked(ada, program("print('battery at 20 %')"), "Kim")
    assert "battery" not in done.composed.request.messages[-1].content


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (program("raise SystemExit(3)"), "ended with 3"),
        (("/no/such/program",), "No such file"),
    ],
)
def test_a_program_that_fails_is_told_of_and_costs_no_answer(
    ada: Entity, command: tuple[str, ...], why: str
) -> None:
    done = talked(ada, command)
    assert done.outcome.said == "Yes."
    assert any(why in note for note in done.notes)
    assert "About this machine" not in done.composed.request.messages[-1].content


def test_a_program_that_hangs_or_says_too_much_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, _ = workspace.describe(program("print('x' * 9000)"), tmp_path, {})
    assert text.count("x") == workspace.MAX_CHARS
    monkeypatch.setattr(workspace, "TIMEOUT_SECONDS", 0.3)
    text, note = workspace.describe(program("import time; time.sleep(9)"), tmp_path, {})
    assert (text, "took longer" in note) == ("", True)
