from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bumble.chat import mcp_link, mcp_servers
from bumble.chat.mcp_servers import Servers
from bumble.entity.config import ServerConfig
from tests.support.hostile_server import tool
from tests.support.servers import GOOD, bad, environ

Start = Callable[..., Servers]
SDK = ServerConfig(GOOD, variables=("PYTHONPATH",))  # two seconds to load


@pytest.fixture
def weather(tmp_path: Path) -> ServerConfig:
    """A good server of few lines."""
    tools = [tool("forecast"), tool("poem"), tool("flood_town", annotations={})]
    told = tmp_path / "told.json"
    told.write_text(json.dumps({"tools": tools, "results": {"flood_town": "Rome is under water"}}))
    words = (sys.executable, "-m", "tests.support.told_server", str(told))
    return ServerConfig(words, ("PYTHONPATH",))


@pytest.fixture
def said() -> list[str]:
    """What the person hears of servers."""
    return []


@pytest.fixture
def start(tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Makes servers that are ended with the test."""
    monkeypatch.setattr(mcp_link, "END_SECONDS", 0.2)
    made: list[Servers] = []

    def make(config: Mapping[str, ServerConfig], **more: str) -> Servers:
        given = {**environ(), "HOME": str(tmp_path), **more}
        secrets = tmp_path / "secrets.yaml"
        made.append(Servers(config, given, secrets, said.append, lambda: mcp_link))
        return made[-1]

    yield make
    for servers in made:
        servers.close()


def hostile(way: str, seconds: float = 30.0) -> ServerConfig:
    return ServerConfig(tuple(bad(way)), timeout_seconds=seconds)


def names(servers: Servers, text: str = "so?") -> list[str]:
    return [tool.name for tool in servers.offered(text)]


def test_tools_are_those_that_only_look_unless_the_owner_lists_them(
    start: Start, said: list[str], weather: ServerConfig
) -> None:
    servers = start({"weather": weather})
    assert names(servers) == ["weather__forecast", "weather__poem"]
    listed = ServerConfig(weather.command, ("PYTHONPATH",), tools=("flood_town", "gone"))
    servers = start({"weather": listed})
    assert names(servers) == ["weather__flood_town"]
    assert said == ["the MCP server weather has no such tool as gone"]
    assert servers.call("weather__flood_town", {"town": "Rome"}).text == "Rome is under water"
    assert servers.call("weather__forecast", {"city": "Rome"}).failed


def test_what_a_server_answers_is_text_and_what_it_refuses_a_failure(start: Start) -> None:
    servers = start({"weather": SDK})
    servers.offered("so?")
    assert servers.call("weather__forecast", {"city": "Rome", "unit": "F"}).text == (
        "Rome: rain for 1 days, 9 F"
    )
    refused = servers.call("weather__forecast", {"town": 7})
    assert refused.failed and "city" in refused.text
    assert not servers.call("weather__forecast", {"city": "Rome"}).failed, "it is still there"


BAD = {
    "dead": "has ended: ModuleNotFoundError: no such thing",
    "silent": "did not answer within 1 s",
    "endless": "sent more than anyone reads, and was stopped",
    "garbage": "sent more than anyone reads, and was stopped",
    "unreadable": "answered in a form that can't be read",
}


def test_a_bad_server_is_a_sentence_and_the_others_are_there(
    start: Start, said: list[str], weather: ServerConfig
) -> None:
    bad = {way: hostile(way, 1.0 if way == "silent" else 30.0) for way in BAD}
    servers = start({**bad, "weather": weather})
    assert "weather__forecast" in names(servers)
    assert sorted(said) == [f"the MCP server {way} {BAD[way]}" for way in sorted(BAD)]
    began = time.monotonic()
    assert "weather__forecast" in names(servers)
    assert time.monotonic() - began < 1, "they are not tried again at once"
    assert len(said) == len(BAD)


@pytest.mark.parametrize(
    ("tool", "sentence"),
    [
        ("hang", "did not answer within 2 s"),
        ("burst", "sent more than anyone reads, and was stopped"),
        ("nonsense", "answered in a form that can't be read"),
    ],
)
def test_a_call_that_goes_wrong_is_a_failed_result(start: Start, tool: str, sentence: str) -> None:
    servers = start({"odd": hostile("odd", 2.0 if tool == "hang" else 30.0)})
    servers.offered("so?")
    result = servers.call(f"odd__{tool}", {})
    assert (result.failed, result.text) == (True, f"failed: odd {sentence}")
    assert servers.call(f"odd__{tool}", {}).text == f"failed: odd__{tool} is not there any more"


@pytest.mark.skipif(sys.platform == "win32", reason="looks at processes as Unix lists them")
def test_all_that_was_started_is_ended(start: Start, weather: ServerConfig) -> None:
    mine = f"{os.getpid()}"
    others = _below(mine)  # a server of another test, which lives as long as they all
    servers = start({"odd": hostile("stubborn"), "weather": weather})
    servers.offered("so?")
    started = _below(mine) - others
    assert len(started) >= 3
    servers.close()
    assert not _below(mine) & started


def _below(parent: str) -> set[str]:
    """Return the ids of all processes that a process has started, and those that they have."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid=,stat="], capture_output=True, text=True)
    rows: list[Any] = [line.split() for line in listed.stdout.splitlines()]
    below: set[str] = set()
    above = {parent}
    while above:
        above = {pid for pid, over, state in rows if over in above and state[0] != "Z"} - below
        below |= above
    return below


def test_a_program_that_is_not_there_is_a_sentence(start: Start, said: list[str]) -> None:
    servers = start({"gone": ServerConfig(("/no/such/program",))})
    assert names(servers) == []
    why = "could not be started: /no/such/program: No such file or directory"
    assert said == [f"the MCP server gone {why}"]


def test_no_two_tools_are_called_alike_and_every_name_is_one_that_endpoints_take() -> None:
    given = [("fs", name) for name in ("a.b", "a/b", "a_b", "long" * 16, "long" * 16 + "er")]
    names = [mcp_servers.known_as(*one) for one in [*given, ("a", "b__c"), ("a__b", "c")]]
    assert len({*names}) == len(names)
    assert all(len(name) <= 64 and name.replace("-", "_").isidentifier() for name in names)
