from __future__ import annotations

import json
import signal
import subprocess
import sys
import tomllib
from typing import Any

import anyio
import pytest

from bumble import bridges
from tests.support.running import Run
from tests.support.served import READING, command, process, truth
from tests.support.sweeps import turns


async def _look_at_all(full: Run, mode: Any) -> tuple[str, dict[str, Any]]:
    with full.capsys.disabled():  # it keeps the stderr that it finds
        from mcp.client.client import Client  # a second and a half: not of every worker
        from mcp.client.stdio import StdioServerParameters

    program, *arguments = command(full)
    server = StdioServerParameters(command=program, args=arguments, env=full.environ)
    async with Client(server, mode=mode) as client:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == READING
        assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
        for name in ("remember", "remind"):
            refused = await client.call_tool(name, {"text": "x", "at": "2026-05-25"})
            assert refused.is_error
        texts: dict[str, Any] = {}
        for name, given in (
            ("recall", {"query": "cat"}),
            ("read", {"id": "ep_1"}),
            ("why", {"id": "bel_1"}),
            ("person", {"name": "Bo"}),
            ("whoami", {}),
        ):
            texts[name] = (await client.call_tool(name, given)).structured_content
        for uri in ("knowledge", "journal/2026-05-24", "person/bo", "episode/ep_1"):
            (page,) = (await client.read_resource(f"bumble://{uri}")).contents
            texts[uri] = getattr(page, "text", "")
        (said,) = (await client.get_prompt("be")).messages
        texts["be"] = getattr(said.content, "text", "")
        assert client.protocol_version is not None
        return client.protocol_version, texts


@pytest.mark.parametrize(
    ("mode", "version"), turns(2, [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
)
def test_a_client_of_either_era_reads_all_and_changes_nothing(
    full: Run, mode: str, version: str
) -> None:
    full.ok("config", "set", "embedding.model", "none")
    before = truth(full)
    spoken, texts = anyio.run(_look_at_all, full, mode)
    assert spoken == version
    assert texts["recall"]["hits"][0]["id"] == "Pets"
    assert texts["read"]["text"] == texts["episode/ep_1"] == "We ran through the rain"
    assert texts["why"]["id"] == "bel_1"
    assert texts["person"]["text"] == "Bo likes rain."
    assert (texts["whoami"]["name"], texts["whoami"]["reader"]["id"]) == ("Ada", "sam")
    assert "Sam has a cat" in texts["knowledge"]
    assert "It will rain." in texts["journal/2026-05-24"]
    assert "Bo likes rain." in texts["person/bo"]
    assert texts["be"].startswith("You are Ada.")
    assert truth(full) == before


def test_plain_lines_of_an_old_client_are_answered_and_nothing_else_is_printed(full: Run) -> None:
    hello = {
        "protocolVersion": "2024-11-05",
        "capabilities": {},
        "clientInfo": {"name": "by hand", "version": "1"},
    }
    sent: list[dict[str, object]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    ]
    server = subprocess.Popen(
        **process(full, "--write"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdin is not None and server.stdout is not None
    with server:
        for message in sent:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        server.stdin.flush()
        first, second = (json.loads(server.stdout.readline()) for _ in range(2))
        server.stdin.close()
        assert server.stdout.read() == ""
    assert server.returncode == 0
    assert (first["id"], first["result"]["protocolVersion"]) == (1, "2024-11-05")
    names = [tool["name"] for tool in second["result"]["tools"]]
    assert names == [*READING, "remember", "remind"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no such signal")
def test_an_interrupt_ends_it_while_its_input_is_open(full: Run) -> None:
    program = command(full)
    pipe = subprocess.PIPE
    with subprocess.Popen(program, stdin=pipe, stdout=pipe, env=full.environ, text=True) as server:
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write('{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        server.stdin.flush()
        assert json.loads(server.stdout.readline())["id"] == 1
        server.send_signal(signal.SIGINT)
        assert server.wait(30) == -signal.SIGINT


def test_the_config_of_a_client_starts_the_server_from_any_folder(full: Run) -> None:
    wanted = command(full, "--as", "Bo", "--write")
    for client in ("claude-code", "claude-desktop", "cursor", "vscode"):
        printed = full.ok("mcp", "--print-config", client, "--as", "Bo", "--write").out
        ((_, servers),) = json.loads(printed).items()
        assert [servers["bumble-ada"]["command"], *servers["bumble-ada"]["args"]] == wanted
    printed = full.ok("mcp", "--print-config", "codex", "--as", "Bo", "--write").out
    entry = tomllib.loads(printed)["mcp_servers"]["bumble-ada"]
    assert [entry["command"], *entry["args"]] == wanted
    assert full("mcp", "--print-config", "vscod").code != 0


def test_without_the_library_it_says_what_to_install(
    full: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "bumble.bridges.mcp_server", raising=False)
    monkeypatch.delattr(bridges, "mcp_server", raising=False)  # another test may have loaded it
    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    ran = full("mcp")
    assert ran.code == 1
    assert "pip install 'bumble-entity[mcp]'" in ran.err
