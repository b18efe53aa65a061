"""A hub, a package index and catalog entries made of a few bytes, for the tests of pulling."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from bumble.models.weights.catalog import CatalogEntry, ChatRun, FileSource, Hub, WeightsFile

CONTENT = b"the weights of a model " * 5000
HUB = Hub("me/model", "abc", "model.gguf")
CHAT = ChatRun(thinking="none", temperature=0.5)


def entry(*files: tuple[str, bytes, tuple[FileSource, ...]], name: str = "tiny") -> CatalogEntry:
    """A chat model of the given files: name, content, sources."""
    made = tuple(
        WeightsFile(file, len(content), hashlib.sha256(content).hexdigest(), sources)
        for file, content, sources in files
    )
    return CatalogEntry(name, "chat", "A test", "MIT", 100, 1, made, chat=CHAT)


def wheel(folder: Path, name: str, version: str, members: dict[str, bytes]) -> Path:
    """Write a wheel that pip accepts."""
    folder.mkdir(exist_ok=True)
    stem = f"{name.replace('-', '_')}-{version}"
    path = folder / f"{stem}-py3-none-any.whl"
    about = f"{stem}.dist-info"
    texts = {
        "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "RECORD": "",
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
        for file, text in texts.items():
            archive.writestr(f"{about}/{file}", text)
    return path


def index_environment(folder: Path) -> dict[str, str]:
    """The environment in which pip knows only the wheels of a folder."""
    return {
        "PATH": os.environ.get("PATH", ""),
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(folder),
        "PIP_CONFIG_FILE": os.devnull,
    }


def repository(
    name: str, files: dict[str, bytes], licence: str = "apache-2.0", commit: str = "c0ffee"
) -> dict[str, Any]:
    """What a hub says of a repository with such files, all of them large enough for its LFS."""
    siblings = [
        {
            "rfilename": path,
            "size": len(content),
            "blobId": "0",
            "lfs": {
                "sha256": hashlib.sha256(content).hexdigest(),
                "size": len(content),
                "pointerSize": 135,
            },
        }
        for path, content in files.items()
    ]
    return {
        "id": name,
        "modelId": name,
        "sha": commit,
        "tags": ["gguf", f"license:{licence}"],
        "siblings": [{"rfilename": "README.md", "size": 3, "blobId": "1"}, *siblings],
    }


class FakeHub(Struct):
    """What a fake hub holds and how it behaves; and what it was asked for."""

    files: dict[str, bytes]  # by path of the URL
    endpoint: str = ""
    ranges: bool = True
    cut_after: list[int] = field(default_factory=list)  # the next answers drop after these bytes
    stall: tuple[int, threading.Event] | None = None  # answers rest after so many bytes
    repositories: dict[str, Any] = field(default_factory=dict)  # what the hub says of them, by name
    statuses: dict[str, int] = field(default_factory=dict)  # answers to paths that begin so
    moved: dict[str, str] = field(default_factory=dict)  # the path that a path leads to
    silent: bool = False  # takes the connection and never answers
    asked: list[str | None] = field(default_factory=list)  # the Range of each GET
    heads: list[str] = field(default_factory=list)  # the path of each HEAD


@contextmanager
def hub(files: dict[str, bytes]) -> Iterator[FakeHub]:
    """Serve files as a model hub does, on a port of this machine."""
    fake = FakeHub(files)
    leave = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            fake.heads.append(self.path)
            if fake.silent:
                leave.wait(30)
                return
            self.send_response(self.refused() or (200 if self.path in fake.files else 404))
            self.end_headers()

        def refused(self) -> int | None:
            statuses = fake.statuses.items()
            return next((code for start, code in statuses if self.path.startswith(start)), None)

        def tell(self, path: str) -> None:
            name = path.removeprefix("/api/models/")
            about = fake.repositories.get(name) or {"error": "Repository not found"}
            content = about if isinstance(about, bytes) else json.dumps(about).encode()
            self.send_response(200 if name in fake.repositories else 404)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if status := self.refused():
                self.send_error(status)
                return
            if path in fake.moved:
                self.send_response(307)
                self.send_header("Location", fake.moved[path])
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            if path.startswith("/api/models/"):
                self.tell(path)
                return
            wanted = self.headers.get("Range")
            fake.asked.append(wanted)
            content = fake.files.get(self.path)
            start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
            if content is None or (fake.ranges and start and start >= len(content)):
                self.send_error(404 if content is None else 416)
                return
            partial = bool(start) and fake.ranges
            content = content[start:] if partial else content
            self.send_response(206 if partial else 200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            cut = fake.cut_after.pop(0) if fake.cut_after else len(content)
            if fake.stall:
                self.wfile.write(content[: fake.stall[0]])
                fake.stall[1].wait(30)
                return
            self.wfile.write(content[:cut])

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    fake.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield fake
    finally:
        leave.set()
        server.shutdown()
        server.server_close()
