"""An entity folder, the commands run on it, and what they leave of it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bumble.cli.app import main
from bumble.cli.shell import Shell

NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
State = dict[str, tuple[int, int, bytes]]


@dataclass
class Outcome:
    """What a command said."""

    code: int
    out: str
    err: str

    @property
    def answer(self) -> Any:
        """The whole of its JSON."""
        return json.loads(self.out)

    @property
    def data(self) -> Any:
        """The result in its JSON."""
        return self.answer["data"]


@dataclass
class Folder:
    """An entity's folder and the machine around it."""

    root: Path
    capsys: pytest.CaptureFixture[str]
    environ: dict[str, str] = field(default_factory=dict)

    def run(self, *argv: str, cwd: Path | None = None, **environ: str) -> Outcome:
        """Run a command in this folder."""
        shell = Shell({**self.environ, **environ}, cwd or self.root, now_given=NOW)
        self.capsys.readouterr()
        code = main(argv, shell)
        said = self.capsys.readouterr()
        return Outcome(code, said.out, said.err)

    def write(self, path: str, text: str | bytes) -> Path:
        """Write a file as a person would."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return file

    def episode(self, stem: str, text: str, **meta: Any) -> Path:
        """Write an episode."""
        front: Mapping[str, Any] = {"at": "2026-05-24T03:12:47+02:00", "significance": 0.5, **meta}
        lines = "".join(f"{key}: {json.dumps(value)}\n" for key, value in front.items())
        return self.write(f"episodes/2026/05/ep_{stem}.md", f"---\n{lines}---\n\n{text}\n")

    def session(self, stem: str, *turns: tuple[str, str], by: str = "sam") -> Path:
        """Write a transcript; the speaker "" is the entity."""
        head = {"type": "session", "id": f"ses_{stem}", "at": "2026-05-20T10:00:00+00:00", "by": by}
        rows: list[dict[str, Any]] = [head]
        for n, (speaker, text) in enumerate(turns):
            who = {"role": "user", "speaker": speaker} if speaker else {"role": "assistant"}
            at = f"2026-05-20T10:{n:02}:00+00:00"
            rows.append({"type": "message", "id": f"msg_{stem}{n}", "at": at, **who, "text": text})
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        return self.write(f"sessions/ses_{stem}/messages.jsonl", lines)

    def state(self, *, derived: bool) -> State:
        """Return every file and folder with its times and bytes; derived ones if asked."""
        found = {}
        for path in (self.root, *sorted(self.root.rglob("*"))):
            name = path.relative_to(self.root).as_posix()
            is_derived = name.startswith((".bumble", "memory.db"))
            if name.startswith(".git/") or (not derived and (is_derived or name == ".")):
                continue
            stat = path.lstat()
            data = path.read_bytes() if path.is_file() else b""
            found[name] = (stat.st_mtime_ns, 0 if path.is_dir() else stat.st_ctime_ns, data)
        return found


def make(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Folder:
    """Make an entity by `bumble new`, on a machine without settings, weights or servers."""
    for name in ("CONFIG", "CACHE", "STATE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    environ = {
        "BUMBLE_WEIGHTS": str(tmp_path / "weights"),
        "BUMBLE_LLM_MODEL": "qwen3-1.7b",  # named, so that no server is asked
        "BUMBLE_EMBEDDING_MODEL": "none",
    }
    folder = Folder(tmp_path / "ada", capsys, environ)
    made = folder.run(
        *("new", "ada", "--name", "Ada", "--owner", "Sam", "--timezone", "Europe/Lisbon"),
        cwd=tmp_path,
    )
    assert made.code == 0, made.err
    os.utime(folder.root / "knowledge.md", ns=(0, 0))  # settled: no clock can touch it twice
    return folder
