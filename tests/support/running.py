"""Running commands in a process of their own: its home, clock, chance and standard input."""

from __future__ import annotations

import hashlib
import io
import json
import random
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct, field

from bumble.cli.app import main
from bumble.cli.process import Shell
from bumble.entity.folder import Entity

NOON = datetime.fromisoformat("2026-05-24T12:00:00+01:00")


class Ran(Struct, frozen=True):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The whole answer of `--json`."""
        return json.loads(self.out)

    @property
    def data(self) -> Any:
        """What the answer of `--json` is about."""
        return self.json["data"]


class Terminal(io.TextIOWrapper):
    """Standard input with somebody at it."""

    def isatty(self) -> bool:
        return True


# Models that tests serve may write, unless a test says otherwise; a script says it itself.
ABLE = {
    "BUMBLE_LLM_ABILITIES_TALK": "{any: write}",
    "BUMBLE_LLM_ABILITIES_MEMORY": "{any: write}",
}


class Run(Struct):
    """Runs commands on one entity, a minute after another."""

    entity: Entity
    environ: dict[str, str]
    capsys: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch
    rng: random.Random = field(default_factory=lambda: random.Random(7))
    now: datetime = NOON

    def __call__(
        self, *argv: str, stdin: str | bytes = b"", terminal: bool = False, cwd: Path | None = None
    ) -> Ran:
        """Run `bumble ARGV`; on a terminal, standard input is what the person types."""
        self.now += timedelta(minutes=1)
        scripted = self.environ.get("BUMBLE_LLM_MODEL", "").startswith("script:")
        environ = self.environ if scripted else {**ABLE, **self.environ}
        shell = Shell(
            environ=environ, cwd=cwd or self.entity.root, now_given=self.now, rng=self.rng
        )
        data = io.BytesIO(stdin.encode() if isinstance(stdin, str) else stdin)
        kind = Terminal if terminal else io.TextIOWrapper
        with self.monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", kind(data, encoding="utf-8"))
            patch.setattr(sys.stderr, "isatty", lambda: terminal)
            self.capsys.readouterr()
            code = main(list(argv), shell)
        out, err = self.capsys.readouterr()
        return Ran(code, out, err)

    def ok(self, *argv: str, stdin: str | bytes = b"", terminal: bool = False) -> Ran:
        """Run a command that should do what it is told."""
        ran = self(*argv, stdin=stdin, terminal=terminal)
        assert ran.code == 0, ran.err
        return ran

    def file(self, path: str) -> Path:
        """Return a file of the entity folder."""
        return self.entity.root / path

    def text(self, path: str) -> str:
        """Read a file of the entity folder."""
        return self.file(path).read_bytes().decode()

    def write(self, path: str, text: str) -> Path:
        """Write a file of the entity folder as a person would."""
        file = self.file(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
        return file

    def state(self) -> dict[str, tuple[str, int]]:
        """Return hash and time of every file of the folder."""
        return {
            path.relative_to(self.entity.root).as_posix(): (
                hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
                path.stat().st_mtime_ns,
            )
            for path in self.entity.root.rglob("*")
        }


UseEditor = Callable[
    [str], None
]  # takes Python that is given `file`, and may `raise SystemExit(1)`
