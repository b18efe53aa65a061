from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Respond = Callable[["Exchange"], None]


class Exchange:
    """One request to the fake server, and the means to answer it badly."""

    def __init__(self, handler: BaseHTTPRequestHandler, body: Any) -> None:
        self.path = handler.path
        self.headers = {name.lower(): value for name, value in handler.headers.items()}
        self.body = body
        self._handler = handler

    def json(self, value: Any, status: int = 200) -> None:
        self.whole(json.dumps(value).encode(), "application/json", status)

    def whole(
        self, data: bytes, kind: str = "text/event-stream", status: int = 200, **headers: str
    ) -> None:
        self.start(kind, status, length=len(data), **headers)
        self._handler.wfile.write(data)

    def start(
        self,
        kind: str = "text/event-stream",
        status: int = 200,
        *,
        length: int = -1,
        **headers: str,
    ) -> None:
        self._handler.send_response(status)
        self._handler.send_header("Content-Type", kind)
        for name, value in headers.items():
            self._handler.send_header(name.replace("_", "-"), value)
        if length >= 0:
            self._handler.send_header("Content-Length", str(length))
        else:
            self._handler.send_header("Transfer-Encoding", "chunked")
        self._handler.end_headers()

    def chunk(self, data: bytes) -> None:
        self._handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self._handler.wfile.flush()

    def end(self) -> None:
        self._handler.wfile.write(b"0\r\n\r\n")

    def cut(self) -> None:
        self._handler.close_connection = True
        self._handler.wfile.flush()

    def hang(self, server: FakeServer) -> None:
        """Say nothing until the client goes away or the test ends."""
        self._handler.connection.settimeout(0.05)
        while not server.ended.is_set():
            try:
                if not self._handler.connection.recv(1):
                    server.left.set()
                    return
            except TimeoutError:
                continue
            except OSError:
                server.left.set()
                return


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that are gone: what commands print is looked at."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class FakeServer:
    """A server on this machine that answers as a test tells it."""

    def __init__(self) -> None:
        self.routes: dict[str, Respond] = {}
        self.seen: list[Exchange] = []
        self.ended = threading.Event()
        self.left = threading.Event()  # a client has gone while it was hung
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # a body waits 40 ms behind its head for an answer else

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

            def do_GET(self) -> None:
                outer.answer(self)

            def do_POST(self) -> None:
                outer.answer(self)

        self._http = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get("Content-Length") or 0)
        body = json.loads(handler.rfile.read(length)) if length else None
        exchange = Exchange(handler, body)
        self.seen.append(exchange)
        respond = self.routes.get(exchange.path)
        try:
            if respond is None:
                exchange.json({"error": {"message": "no such page"}}, 404)
            else:
                respond(exchange)
        except OSError:
            self.left.set()

    def asked(self, path: str) -> list[Exchange]:
        return [exchange for exchange in self.seen if exchange.path == path]

    def close(self) -> None:
        self.ended.set()
        self._http.shutdown()
        self._http.server_close()
