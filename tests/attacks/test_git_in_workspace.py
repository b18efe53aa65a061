"""Nothing that git reads gets into the workspace, where its owner's `git status` would obey it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bumble.chat import workspace
from bumble.entity.folder import Entity
from bumble.errors import UserError
from bumble.records import base
from tests.support.chatting import act, script
from tests.support.running import Run

EVIL = "[core]\n\tfsmonitor = touch /tmp/owned\n"
SPELLINGS = [
    ".git",
    ".GIT",
    ".Git",
    ".git.",
    ".git ",
    ".git . .",
    ".git::$INDEX_ALLOCATION",
    ".git:x",
    ".g\u200cit",
    ".gi\u200dt",
    "\ufeff.git",
    ".g\u202eit",
    "\uff0egit",  # a wide dot
    "\u2024\uff47\uff49\uff54",  # compatible letters
    "git~1",
    "GIT~1",
    "GIT~2",
]


def written(entity: Entity) -> list[str]:
    places = (path.relative_to(entity.workspace) for path in entity.workspace.rglob("*"))
    return sorted(place.as_posix() for place in places if place.name != ".gitkeep")


def write(run: Run, *files: tuple[str, str]) -> str:
    """Let a model write files, one after the other, and return what it was results."""
    run.environ["BUMBLE_TOOLS_FILES"] = "true"
    calls = [act("write_file", path=path, text=text) for path, text in files]
    script(run, *calls, act("say", text="Done."))
    run("chat", "Write it.")
    (talk,) = run.entity.sessions.rglob("messages.jsonl")
    return talk.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["{}/config", "project/{}/hooks/post-checkout", "{}"])
def test_no_path_has_a_part_of_gits(entity: Entity, name: str) -> None:
    for git in SPELLINGS:
        with pytest.raises(UserError):
            workspace.plan_write(entity, name.format(git), EVIL, base.BY_HAND)


def test_a_link_does_not_lead_into_a_repository(entity: Entity) -> None:
    (entity.workspace / "project/.git").mkdir(parents=True)
    (entity.workspace / "link").symlink_to("project/.git")
    with pytest.raises(UserError):
        workspace.plan_write(entity, "link/config", EVIL, base.BY_HAND)


def test_nothing_is_written_into_a_bare_repository(entity: Entity) -> None:
    (entity.workspace / "bare").mkdir()
    (entity.workspace / "bare/HEAD").write_text("ref: refs/heads/main\n")
    for name in ("bare/config", "bare/hooks/x", "bare/objects/info/alternates"):
        with pytest.raises(UserError):
            workspace.plan_write(entity, name, EVIL, base.BY_HAND)


def test_the_model_is_told_and_nothing_is_there(run: Run) -> None:
    results = write(
        run,
        (".git/config", EVIL),
        (".GIT/HEAD", "ref: refs/heads/main\n"),
        ("HEAD", "ref: refs/heads/main\n"),
        ("tea.md", "Boil water."),
    )
    assert results.count("are git's, and not written by a tool") == 1  # HEAD
    assert results.count("it leads to what is git's own") == 2
    assert written(run.entity) == ["tea.md"]
    assert not Path("/tmp/owned").exists()
