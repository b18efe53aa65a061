from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from bumble.chat import loop, tool_list, workspace
from bumble.entity import changes, settings
from bumble.entity.changes import Change, ChangeSet
from bumble.entity.folder import Entity
from bumble.errors import RefusedError, UnsafePathError, UsageError, UserError
from bumble.llm.protocol import Action
from bumble.records import base
from bumble.records.base import Provenance
from bumble.runtime.runtime import Plan, Result

ENVIRON = {"PATH": "/usr/bin:/bin", "SECRET_KEY": "hunter2"}
TOOLS = settings.load().config.tools


@pytest.fixture
def ada(tmp_path: Path) -> Entity:
    entity = Entity(tmp_path / "ada")
    entity.workspace.mkdir(parents=True)
    return entity


def write(entity: Entity, path: str, text: str) -> None:
    change = workspace.plan_write(entity, path, text, base.BY_HAND)
    changes.apply(entity.root, ChangeSet("write", (change,)))


def test_what_is_written_can_be_read_and_listed(ada: Entity) -> None:
    (ada.workspace / ".gitkeep").touch()
    assert workspace.listing(ada, "", ()) == "(empty)"
    write(ada, "notes/tea.md", "Boil water.")
    assert workspace.read(ada, "notes/tea.md", ()) == "Boil water.\n"
    assert workspace.listing(ada, "", ()) == "notes/"
    assert workspace.listing(ada, "notes", ()) == "tea.md"


def test_what_was_written_with_one_person_is_not_there_for_another(ada: Entity) -> None:
    write(ada, "all.md", "For all.")
    bo = Provenance("chat", "m", ("msg_1",), "person", ("bo",))
    for path in ("gift.md", "secret/bow.md"):
        change = workspace.plan_write(ada, path, "In the garage.", bo)
        changes.apply(ada.root, ChangeSet("write", (change,)))
    assert (ada.workspace / "gift.md").read_text() == "In the garage.\n"
    assert workspace.names(ada, ("bo",)) == ["all.md", "gift.md", "secret/bow.md"]
    assert workspace.listing(ada, "", ("bo",)) == "all.md\ngift.md\nsecret/"
    assert workspace.read(ada, "gift.md", ("bo",)) == "In the garage.\n"
    for readers in (("sam",), ("bo", "sam")):
        assert workspace.names(ada, readers) == ["all.md"]
        assert workspace.listing(ada, "", readers) == "all.md"
        with pytest.raises(UsageError, match=r"there is no file gift\.md; there are: all\.md$"):
            workspace.read(ada, "gift.md", readers)
        with pytest.raises(UsageError, match="no folder secret"):
            workspace.listing(ada, "secret", readers)
    with pytest.raises(UsageError, match="the name is taken"):
        workspace.plan_write(ada, "gift.md", "Mine.", Provenance("chat", audience=("sam",)))
    # what tells for whom a file is can't be read: it is for nobody
    (ada.root / "sources" / "workspace" / "gift.md.yaml").write_text("audience: [")
    assert workspace.names(ada, ("bo",)) == ["all.md", "secret/bow.md"]


def test_for_whom_a_file_is_stays_so_whoever_it_is_written_with(ada: Entity) -> None:
    (ada.workspace / "list.md").write_text("Milk.")  # a person's own, for all
    bo = Provenance("chat", audience=("bo",))
    change = workspace.plan_write(ada, "list.md", "Milk, tea.", bo)
    changes.apply(ada.root, ChangeSet("write", (change,)))
    assert workspace.read(ada, "list.md", ("sam",)) == "Milk, tea.\n"
    both = Provenance("chat", audience=("bo", "sam"))
    change = workspace.plan_write(ada, "trip.md", "Friday.", both)
    changes.apply(ada.root, ChangeSet("write", (change,)))
    with pytest.raises(UsageError, match="the name is taken"):
        workspace.plan_write(ada, "trip.md", "A bow for Sam.", bo)


def test_a_file_may_be_named_as_people_name_it(ada: Entity) -> None:
    write(ada, "workspace/tea.md", "Boil water.")
    assert (ada.workspace / "tea.md").is_file()
    assert workspace.read(ada, "workspace/tea.md", ()) == "Boil water.\n"
    assert workspace.listing(ada, "workspace", ()) == "tea.md"
    (ada.workspace / "workspace").mkdir()
    assert workspace.listing(ada, "workspace", ()) == "(empty)"
    with pytest.raises(UnsafePathError):
        workspace.read(ada, "workspace/../../knowledge.md", ())


def test_a_folder_that_is_not_there_is_answered_with_what_is(ada: Entity) -> None:
    write(ada, "tea.md", "Boil water.")
    with pytest.raises(UsageError, match=r"no folder notes; there are: tea\.md"):
        workspace.listing(ada, "notes", ())


def test_files_are_named_with_those_in_folders_but_no_deeper_and_no_hidden_ones(
    ada: Entity,
) -> None:
    assert workspace.names(ada, ()) == []
    for name in (".gitkeep", "b.txt", "house/offer.txt", "house/.draft", "house/old/x.txt"):
        file = ada.workspace / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")
    assert workspace.names(ada, ()) == ["b.txt", "house/offer.txt", "house/old"]
    assert workspace.names(Entity(ada.root / "nobody"), ()) == []


def test_what_a_file_held_before_can_still_be_read(ada: Entity) -> None:
    write(ada, "tea.md", "Boil water.")
    write(ada, "tea.md", "Boil milk.")
    (kept,) = (ada.root / ".history").rglob("*.md")
    assert kept.read_text() == "Boil water.\n"


@pytest.mark.parametrize("path", ["../entity.yaml", "/etc/passwd", "a/../../knowledge.md", "C:\\x"])
def test_no_path_leads_out(ada: Entity, path: str) -> None:
    with pytest.raises(UnsafePathError):
        workspace.read(ada, path, ())
    with pytest.raises(UnsafePathError):
        workspace.plan_write(ada, path, "x", base.BY_HAND)


def test_a_program_runs_in_the_workspace_without_the_owners_environment(ada: Entity) -> None:
    code = "import os; print(os.getcwd()); print(sorted(os.environ))"
    text = workspace.run(ada, f'{sys.executable} -c "{code}"', TOOLS, ENVIRON)
    assert text.startswith("exit 0\n")
    assert str(ada.workspace) in text
    assert "SECRET_KEY" not in text


def test_a_program_that_is_given_nothing_reads_from_no_file(ada: Entity) -> None:
    code = "import os, stat; print(stat.S_ISCHR(os.fstat(0).st_mode))"  # `rg` would search a file
    assert workspace.run(ada, f'{sys.executable} -c "{code}"', TOOLS, ENVIRON) == "exit 0\nTrue"


def test_a_program_that_takes_too_long_is_killed_with_all_it_started(ada: Entity) -> None:
    mark = ada.workspace / "alive"
    (ada.workspace / "child.py").write_text("import time; time.sleep(1.2); open('alive', 'w')")
    (ada.workspace / "slow.py").write_text(
        "import subprocess, sys, time\n"
        "subprocess.Popen([sys.executable, 'child.py'])\n"
        "time.sleep(30)\n"
    )
    soon = replace(TOOLS, command_timeout_seconds=0.5)
    with pytest.raises(RefusedError, match="longer than"):
        workspace.run(ada, f"{sys.executable} slow.py", soon, ENVIRON)
    time.sleep(1.4)
    assert not mark.exists()


def test_files_and_programs_are_off_unless_the_owner_allows_them() -> None:
    config = settings.load().config.tools
    names = {tool.name for tool in tool_list.declared(config)}
    assert not names & {"read_file", "write_file", "list_files", "run_command"}
    allowed = settings.load(flags={"tools.files": True}).config.tools
    assert {"read_file", "write_file"} <= {tool.name for tool in tool_list.declared(allowed)}


CALL = Action("1", "any", {})


def writing(path: str, *, adds: bool = False) -> Plan:
    return lambda: Change(path, "write", b"text", adds=adds)


def calls(*results: Result) -> Callable[[Action], Result]:
    left = iter(results)
    return loop.once_a_file(lambda _: next(left))


def test_a_file_is_written_by_one_call() -> None:
    call = calls(
        Result("kept", plans=(writing("a.md"),)),
        Result("kept", plans=(writing("b.md"),)),
        Result("kept", plans=(writing("a.md"),)),
    )
    assert [call(CALL).failed for _ in range(3)] == [False, False, True]


@pytest.mark.parametrize("command", ["", "no-such-program-here", "echo 'open"])
def test_a_command_that_cannot_start_says_why(ada: Entity, command: str) -> None:
    with pytest.raises(UserError):
        workspace.run(ada, command, TOOLS, ENVIRON)
