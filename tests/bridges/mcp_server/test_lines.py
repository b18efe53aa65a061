from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.running import Run
from tests.support.served import process
from tests.support.sweeps import turns

PARSE, REQUEST = -32700, -32600
HELLO = {"capabilities": {}, "clientInfo": {"name": "by hand", "version": "1"}}


def line(request_id: object, method: object = "ping", **more: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, **more}).encode()


def hello(version: object, request_id: str = "hello") -> bytes:
    return line(request_id, "initialize", params={"protocolVersion": version, **HELLO})


def recall(text: str) -> bytes:
    return line(1, "tools/call", params={"name": "recall", "arguments": {"query": text}})


def answers(full: Run, *sent: bytes) -> list[dict[str, Any]]:
    """What a client of raw lines gets, until a last ping shows that the server went on."""
    server = process(full, BUMBLE_EMBEDDING_MODEL="none")
    given = b"\n".join([*sent, line("last"), b""])
    done = subprocess.run(**server, input=given, stdout=subprocess.PIPE, check=True, timeout=120)
    got = [json.loads(text) for text in done.stdout.splitlines()]
    assert {"jsonrpc": "2.0", "id": "last", "result": {}} in got
    return [answer for answer in got if answer["id"] not in ("last", "hello")]


FAULTS: list[tuple[bytes, object, int]] = [  # those of many bytes are made where they are sent
    (b"hello", None, PARSE),
    (b'{"jsonrpc":"2.0","id":1,"method":"pi', None, PARSE),
    (b'{"method":"ping","params":{"id":7,},"jsonrpc":"2.0","id":"one"}', None, PARSE),
    (line(1, jsonrpc="1.0"), 1, REQUEST),
    (b'{"id":1,"method":"ping"}', 1, REQUEST),
    (b'{"jsonrpc":"2.0","id":1}', 1, REQUEST),
    (line(1, 5), 1, REQUEST),
    (line(1, params=[1]), 1, REQUEST),
    (line(None), None, REQUEST),
    (line(1.5), None, REQUEST),
    (line([1]), None, REQUEST),
    (line(request_id=True), None, REQUEST),
    (b'{"jsonrpc":"2.0","id":01,"method":"ping"}', None, PARSE),
    (b"5", None, REQUEST),
    (b"[]", None, REQUEST),
    (b"{}", None, REQUEST),
    (b"[5]", None, REQUEST),
]


def test_what_is_no_request_gets_an_error_and_the_server_goes_on(full: Run) -> None:
    deep = line(1, params={"a": "DEEP"}).replace(b'"DEEP"', b"[" * 100_000 + b"]" * 100_000)
    long = b"x" * 33_000_000
    large = [(deep, None, PARSE), (long, None, REQUEST), (recall(long.decode()), None, REQUEST)]
    faults = [*large, *FAULTS]
    got = answers(full, hello("2025-06-18"), *(fault for fault, _, _ in faults))
    assert [(answer["id"], answer["error"]["code"]) for answer in got] == [
        (request_id, code) for _, request_id, code in faults
    ]


@pytest.mark.parametrize("version", turns(4, ["1999-01-01", "2999-01-01", "\ud800", 5]))
def test_an_unknown_version_and_a_request_before_it_are_answered(
    full: Run, version: object
) -> None:
    early, first = answers(full, line(1, "tools/list"), hello(version, "first"))
    assert (early["id"], early["error"]["code"]) == (1, -32602)
    assert first["id"] == "first"
    assert ("result" in first) is isinstance(version, str)


def test_halves_of_characters_in_a_file_end_nothing(full: Run) -> None:
    (session,) = (path for path in full.entity.root.rglob("*.jsonl") if _says(path, "Is it rain?"))
    text = session.read_text(encoding="utf-8")
    session.write_text(text.replace("Is it rain?", "Is it rain \\ud800?"), encoding="utf-8")
    read = line(1, "tools/call", params={"name": "read", "arguments": {"id": "msg_1"}})
    (got,) = answers(full, hello("2025-06-18"), read)
    assert got["result"]["structuredContent"]["text"] == "Is it rain \ufffd?"


def _says(path: Path, text: str) -> bool:
    return text in path.read_text(encoding="utf-8")
