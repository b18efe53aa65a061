from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime

import pytest

from bumble.records import session_files
from bumble.records.sessions import Message
from bumble.text import yaml_edit
from tests.support.chatting import act, script
from tests.support.running import Run
from tests.support.servers import bad, good, list_servers


def messages(full: Run, role: str) -> list[Message]:
    """What somebody said in the newest conversation."""
    info = session_files.newest(full.entity.sessions, "sam", datetime.now(UTC))
    assert info is not None
    talk = session_files.find(full.entity.sessions, info.id)
    return [message for message in talk.messages if message.role == role]


def test_the_entity_uses_a_tool_of_another_program(full: Run) -> None:
    list_servers(full, {"weather": good()})
    script(full, act("weather__forecast", city="Rome", days=2), act("say", text="Rain in Rome."))
    ran = full.ok("chat", "Please ask weather about Rome.")
    assert "Rain in Rome." in ran.out
    (result,) = messages(full, "tool")
    assert (result.text, result.trust) == ("Rome: rain for 2 days, 9 C", "tool")
    assert messages(full, "assistant")[-1].trust == "tool", "what follows is no better"


def test_guests_and_what_lies_in_the_folder_start_nothing(full: Run) -> None:
    marker = full.entity.root.parent / "started"
    command = [sys.executable, "-c", f"open({str(marker)!r}, 'w')"]
    script(full, act("say", text="Hello."), act("say", text="Hello."))
    list_servers(full, {"weather": {"command": command}})
    full.ok("chat", "--as", "Bo", "Please ask weather.")
    assert not marker.exists()
    list_servers(full, {})
    there = full.text("entity.yaml")
    entry = {"weather": {"command": command}}
    full.write("entity.yaml", yaml_edit.set_value(there, ("tools", "servers"), entry))
    full.ok("config", "trust", str(full.entity.root))
    ran = full.ok("chat", "Please ask weather.")
    assert not marker.exists()
    assert "`tools.servers` is ignored: only your own config may set it, with --user" in ran.err


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no such signal")
def test_an_interrupt_ends_the_talk_and_every_server(full: Run) -> None:
    marker = full.entity.root.parent / "gone"
    list_servers(full, {"odd": {"command": bad("odd", marker), "timeout_seconds": 60}})
    script(full, act("odd__hang"), act("say", text="Never said."))
    command = [sys.executable, "-P", "-m", "bumble", "-e", str(full.entity.root), "chat"]
    with subprocess.Popen([*command, "Please ask odd."], env=full.environ) as talk:
        for _ in range(600):
            if marker.exists():
                break
            time.sleep(0.1)
        pid = int(marker.read_text())
        talk.send_signal(signal.SIGINT)
        assert talk.wait(20) == 130
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_secret_goes_to_no_other_program(full: Run) -> None:
    list_servers(full, {"weather": good()})
    script(full, act("weather__forecast", city="my password is hunter2!x"), act("say", text="No."))
    full.ok("chat", "Please ask weather.")
    (result,) = messages(full, "tool")
    assert result.text.startswith("failed:")


@pytest.mark.parametrize(
    "entry", ["{command: []}", "{tools: [x]}", "{command: [x], env: {}}", "{command: x}"]
)
def test_an_entry_that_is_none_is_named_with_its_line(full: Run, entry: str) -> None:
    list_servers(full, {})
    ran = full("config", "set", "--user", "tools.servers.weather", entry)
    assert ran.code != 0 and "tools.servers" in ran.err
    assert full("config", "set", "--user", "tools.servers", "{Bad Name: {command: [x]}}").code != 0
