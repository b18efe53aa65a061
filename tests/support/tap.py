"""A listener in front of the engine's own: keeps the bytes of every request, and hands it on.

But what takes a model long, reading a prompt and answering, it does itself, at once.
"""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from bumble.llm.engine import Engine
from tests.support import openai_wire

SAID = '{"actions":[{"tool":"say","arguments":{"text":"Yes."}}]}'
ANSWERS = {
    openai_wire.CHAT: openai_wire.event({"content": SAID}, "stop") + openai_wire.DONE,
    "/completion": b"{}",
}
Asked = list[tuple[str, bytes]]  # path and body, oldest first


@contextmanager
def tapped(patch: pytest.MonkeyPatch) -> Iterator[Asked]:
    """Lead what this process asks its engine through a server that keeps it."""
    asked: Asked = []
    engines: list[Engine] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

        def do_GET(self) -> None:
            self._hand_on(b"")

        def do_POST(self) -> None:
            self._hand_on(self.rfile.read(int(self.headers["Content-Length"])))

        def _hand_on(self, body: bytes) -> None:
            asked.append((self.path, body))
            if self.path in ANSWERS:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(ANSWERS[self.path])
                return
            said = {**self.headers, "Connection": "close"}
            lines = [f"{name}: {value}\r\n" for name, value in said.items()]
            head = f"{self.command} {self.path} HTTP/1.1\r\n{''.join(lines)}\r\n".encode()
            engine = engines[-1]
            with socket.create_connection((engine._host, engine._port)) as onward:
                onward.sendall(head + body)
                with suppress(OSError):  # who asked has gone
                    while piece := onward.recv(1 << 16):
                        self.wfile.write(piece)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()

    def connect(self: Engine, timeout_seconds: float | None) -> http.client.HTTPConnection:
        engines.append(self)
        return http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=timeout_seconds)

    patch.setattr(Engine, "_connect", connect)
    yield asked
    server.shutdown()
    server.server_close()
