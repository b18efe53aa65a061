from __future__ import annotations

import tarfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from bumble.entity.folder import Entity
from tests.support.chatting import act, script
from tests.support.running import Run

DATA = Path(__file__).parents[1] / "data"


@pytest.mark.parametrize("archive", sorted(DATA.glob("entity-*.tar.gz")), ids=lambda p: p.name)
def test_a_folder_of_an_earlier_version_is_opened_and_goes_on(
    archive: Path, run: Run, tmp_path: Path
) -> None:
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path / "old", filter="data")
    after = datetime(2026, 12, 1, tzinfo=UTC)  # all that it lived
    old = replace(run, entity=Entity(tmp_path / "old" / "ada"), now=after)
    script(old, act("say", text="I do."))
    talks = {path: path.read_bytes() for path in old.entity.sessions.rglob("messages.jsonl")}
    assert len(talks) == 2
    old.ok("migrate")
    assert "Biscuit" in old.ok("recall", "what is the dog called").out
    old.ok("doctor")  # after the index was made anew
    assert old.ok("status", "--json").data["name"] == "Ada"
    for command in ("belief", "skill", "remind", "project", "session"):
        assert old.ok(command, "list", "--json").data
    assert "I do." in old.ok("chat", "Do you remember me?").out
    old.ok("doctor")
    assert all(path.read_bytes().startswith(before) for path, before in talks.items())
