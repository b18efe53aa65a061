"""Foreign changes in the workspace, times at the ends of the years, keys in addresses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bumble.entity import changes
from bumble.errors import RefusedError, UserError
from bumble.files import disk
from tests.support.chatting import script
from tests.support.running import Run

ID = "0123456789abcdef"


def lay(root: Path, *paths: str) -> None:
    """Leave a half-done change as an attacker would."""
    folder = root / ".bumble" / "intents" / ID
    folder.mkdir(parents=True)
    steps = [
        {"path": path, "before": None, "after": disk.sha256(b"evil\n"), "staged": str(number)}
        for number, path in enumerate(paths)
    ]
    for number in range(len(paths)):
        (folder / str(number)).write_text("evil\n")
    (folder / "intent.json").write_text(json.dumps({"title": "chat", "steps": steps}))


@pytest.mark.parametrize("name", [".gitmodules", ".gitattributes", "HEAD", "a/HEAD", "GI7EBA~1"])
def test_no_adopted_change_writes_what_is_gits_into_the_workspace(run: Run, name: str) -> None:
    lay(run.entity.root, "workspace/config", f"workspace/{name}")
    with pytest.raises(UserError):
        changes.adopt(run.entity.root)
    assert not (run.entity.workspace / name).exists()
    assert not (run.entity.workspace / "config").exists()


def test_nor_into_a_folder_of_it_that_git_takes_for_a_repository(run: Run) -> None:
    run.write("workspace/a/HEAD", "ref: refs/heads/main\n")
    lay(run.entity.root, "workspace/a/config")
    with pytest.raises(RefusedError):
        changes.adopt(run.entity.root)
    assert not run.file("workspace/a/config").exists()


def test_doctor_lists_what_a_foreign_change_would_write(run: Run) -> None:
    lay(run.entity.root, *(f"workspace/{number}.txt" for number in range(25)))
    told = run("doctor").out
    assert "workspace/0.txt, workspace/1.txt" in told
    assert "and 5 more" in told


@pytest.mark.parametrize("zone", ["Europe/Lisbon", "Pacific/Kiritimati"])
@pytest.mark.parametrize("now", ["1000-01-01T00:00:00+00:00", "2999-12-31T23:59:00+00:00"])
def test_a_time_at_the_end_of_the_years_is_one_in_no_zone(run: Run, now: str, zone: str) -> None:
    script(run, "Hello.")
    text = run.text("entity.yaml")
    lines = [line for line in text.splitlines() if not line.startswith("timezone")]
    run.write("entity.yaml", "\n".join([*lines, f"timezone: {zone}", ""]))
    before = run.state()
    for words in (("journal", "add", "Rain."), ("chat", "Hi.")):
        assert run(*words, "--now", now).code in (2, 12)
    assert run.state() == before


def test_no_command_shows_a_key_in_an_address(run: Run) -> None:
    run.environ["BUMBLE_LLM_BASE_URL"] = "http://127.0.0.1:9/v1?key=canary"
    run.environ["BUMBLE_LLM_MODEL"] = "x"
    for words in (("status",), ("status", "--json"), ("config", "show"), ("chat", "Hi.")):
        ran = run(*words)
        assert "canary" not in ran.out + ran.err
