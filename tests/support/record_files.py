"""Records written by hand into an entity's folder, and what the doctor says of them."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from bumble.cli import check_records
from bumble.cli.opening import Opened
from bumble.cli.process import Shell
from bumble.entity import settings
from bumble.entity.config import Identity, Owner
from bumble.entity.folder import Entity
from bumble.history.findings import Finding

NOW = datetime(2026, 5, 24, 12, 0, tzinfo=UTC)


HEAD = {"type": "session", "id": "ses_1", "at": "2026-05-20T10:00:00+00:00", "by": "sam"}


def write(entity: Entity, path: str, text: str) -> None:
    file = entity.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def talk(entity: Entity, *rows: object) -> None:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in (HEAD, *rows)]
    write(entity, "sessions/ses_1/messages.jsonl", "".join(f"{line}\n" for line in lines))


def message(n: int, **more: object) -> dict[str, object]:
    at = "2026-05-20T10:00:01+00:00"
    return {"type": "message", "id": f"msg_{n}", "at": at, "role": "user", "text": "x", **more}


def found(entity: Entity, at: datetime = NOW, owner: str = "") -> list[Finding]:
    shell = Shell(environ={}, cwd=entity.root, now_given=at)
    identity = Identity(schema_version=1, name="Ada", owner=Owner(name=owner), timezone="UTC")
    opened = Opened(shell, entity, "", settings.load(), identity)
    return list(check_records.check(opened, lambda done, total: None))
