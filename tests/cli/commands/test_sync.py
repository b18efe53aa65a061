from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from bumble.history import remote
from bumble.records import kinds, session_files, sessions
from tests.support import clones, every_kind
from tests.support.clones import check_whole, lived
from tests.support.kind_samples import record
from tests.support.repository import git
from tests.support.running import Run
from tests.support.sweeps import turns

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def life(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    return clones.begun(run, monkeypatch)


@pytest.fixture
def away(life: Run, tmp_path: Path) -> Path:
    """Another clone, and the server between both."""
    root = life.entity.root
    git(tmp_path, "clone", "-q", "--bare", str(root), "server")
    git(root, "remote", "add", "origin", str(tmp_path / "server"))
    git(root, "push", "-qu", "origin", "main")
    git(tmp_path, "clone", "-q", str(tmp_path / "server"), "away")
    lived(tmp_path / "away", 2)
    git(tmp_path / "away", "push", "-q")
    return tmp_path / "away"


def renamed_on_both_sides(root: Path, away: Path) -> None:
    """Give an entity another name in each clone; the other one's is pushed."""
    for place, name in ((root, "Ivy"), (away, "Eve")):
        file = place / "entity.yaml"
        file.write_text(file.read_text().replace("name: Ada", f"name: {name}", 1))
    git(away, "commit", "-qam", "Eve")
    git(away, "push", "-q")


def test_two_clones_are_brought_together_and_nothing_is_pushed_unasked(
    life: Run, away: Path
) -> None:
    lived(life.entity.root, 1)
    before = git(away, "ls-remote", "origin", "main")
    assert life.ok("sync", "--json").data["merged"] == 1
    assert " of this clone to be pushed; --push does it." in life.ok("sync").out
    check_whole(life)
    assert git(life.entity.root, "status", "--porcelain") == ""
    assert git(away, "ls-remote", "origin", "main") == before
    assert life.ok("sync", "--push", "--json").data == {
        "merged": 0,
        "mended": [],
        "locked_changed": [],
        "not_obeyed": [],
        "pushed": True,
        "problems": [],
    }
    git(away, "pull", "-q", "--ff-only")
    assert (away / sessions.path("ses_1")).read_text().count("Line 1.") == 1


def test_settings_of_the_users_own_merges_and_pushes_are_not_obeyed(life: Run, away: Path) -> None:
    lived(life.entity.root, 1)
    mine = {"merge.ff": "only", "merge.verifySignatures": "true", "push.gpgSign": "true"}
    for key, value in (mine | {"branch.main.mergeOptions": "--no-commit"}).items():
        git(life.entity.root, "config", key, value)
    assert life.ok("sync", "--push", "--json").data["pushed"]
    check_whole(life)


def test_what_git_is_told_to_ignore_is_named_and_an_entity_without_its_file_not_uploaded(
    life: Run, tmp_path: Path
) -> None:
    root = life.entity.root
    git(root, "rm", "-q", "--cached", "entity.yaml", "knowledge.md")
    git(root, "commit", "-qm", "out")
    (root / ".git" / "info" / "exclude").write_text("entity.yaml\nknowledge.md\n")
    assert "[git-hides]" in life.ok("doctor").out
    refused = life("sync", "--setup", str(tmp_path / "new"), "--yes")
    assert (refused.code, (tmp_path / "new").exists()) == (13, False)
    assert "entity.yaml is not committed" in refused.err


def test_a_shallow_clone_gets_what_the_merge_needs(life: Run, away: Path, tmp_path: Path) -> None:
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{tmp_path / 'server'}", str(shallow))
    lived(shallow, 3)
    lived(away, 4)
    git(away, "push", "-q")
    ran = life("-e", str(shallow), "sync")
    assert ran.code == 0, ran.err
    talk = session_files.load(shallow / sessions.path("ses_1"))
    assert [m.text for m in talk.messages][2:] == ["Line 2.", "Line 3.", "Line 4."]


@pytest.mark.parametrize(
    "setting",
    [
        *("core.sshCommand", "remote.origin.uploadpack", "merge.evil.driver"),
        *("core.alternateRefsCommand", "http.saveCookies", "fetch.bundleURI"),
    ],
)
def test_no_program_of_the_repositorys_own_config_runs(
    life: Run, away: Path, tmp_path: Path, setting: str
) -> None:
    lived(life.entity.root, 1)
    lent = life.entity.root / ".git" / "objects" / "info" / "alternates"
    lent.write_text(f"{away / '.git' / 'objects'}\n")
    git(life.entity.root, "config", setting, f"touch {tmp_path / 'ran'};false")
    ran = life("sync")
    assert (ran.code, setting.lower() in ran.err) == (13, True)
    assert not (tmp_path / "ran").exists()


def test_what_keeps_git_from_it_is_said(life: Run, away: Path, tmp_path: Path) -> None:
    git(life.entity.root, "checkout", "-q", "--detach")
    assert "no branch is checked out" in life("sync").err
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))
        assert "git is not installed here" in life("sync").err


def bring(away: Path, path: str, make: Callable[[Path], object]) -> None:
    """Let the other clone push something in the place of a file."""
    file = away / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    make(file)
    git(away, "add", "-fA")
    git(away, "commit", "-qm", "odd")
    git(away, "push", "-q")


def folder(file: Path) -> None:
    file.mkdir()
    (file / "x.md").write_text("x\n")


@pytest.mark.parametrize(
    ("path", "make", "why"),
    turns(
        3,
        [
            ("knowledge.md", lambda file: file.symlink_to("/etc/hostname"), "a link"),
            ("episodes/x.md", lambda file: file.symlink_to("../journal.md"), "a link"),
            ("knowledge.md", folder, "a folder of a file"),
            ("beliefs", lambda file: file.write_text("x"), "a folder's place"),
            (".bumble/lock", lambda file: file.write_text("x"), "each clone's own"),
            ("entity.yaml", lambda file: file.write_text("name: A\n"), "is missing"),
            ("entity.yaml", lambda file: file.write_bytes(b"name: \xff"), "not UTF-8"),
            ("soma.yaml", lambda file: file.write_text("bars: {a: b: c}\n"), "soma.yaml ("),
            ("state.yaml", lambda file: file.write_text("- 1\n"), "state.yaml ("),
        ],
    ),
)
def test_what_no_clone_commits_is_refused_before_anything_is_merged(
    life: Run, away: Path, path: str, make: Callable[[Path], object], why: str
) -> None:
    bring(away, path, make)
    before = git(life.entity.root, "rev-parse", "HEAD")
    done = life("sync")
    assert (done.code, why in done.err, f"{path}" in done.err) == (13, True, True), done.err
    assert git(life.entity.root, "rev-parse", "HEAD") == before
    assert "Nothing is wrong" in life.ok("doctor").out


def empty(place: Path) -> Path:
    """Make a place to push to, with nothing in it."""
    git(place.parent, "init", "-q", "--bare", "-b", "main", str(place))
    return place


def test_one_command_sets_a_place_up_and_says_what_goes_there(life: Run, tmp_path: Path) -> None:
    server = empty(tmp_path / "server")
    life.entity.soma.write_text(f"{life.text('soma.yaml')}x_mine: 1\n")  # by hand, not committed
    refused = life("sync", "--setup", str(server))
    assert refused.code == 13
    assert "1 conversation" in refused.err and "all earlier versions" in refused.err
    assert git(server, "for-each-ref") == ""  # nobody said yes
    assert git(life.entity.root, "remote") == ""
    done = life.ok("sync", "--setup", str(server), "--yes", "--json").data
    assert done["uploaded"]["records"]["session"] == 1
    assert git(server, "rev-parse", "main") == git(life.entity.root, "rev-parse", "HEAD")
    assert life.ok("sync", "--push", "--json").data["pushed"]
    life.ok("sync", "--setup", str(server), "--yes")  # the same again
    git(tmp_path, "clone", "-q", str(server), "away")
    assert "x_mine: 1" in (tmp_path / "away" / "soma.yaml").read_text()
    lived(tmp_path / "away", 2)
    git(tmp_path / "away", "push", "-q")
    assert life.ok("sync", "--json").data["merged"] == 1


def test_a_place_that_holds_something_else_is_left_as_it_is(life: Run, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q", "-b", "main")
    (other / "x").write_text("x")
    git(other, "add", "-A")
    git(other, "commit", "-qm", "another beginning")
    git(tmp_path, "clone", "-q", "--bare", str(other), "server")
    ran = life("sync", "--setup", str(tmp_path / "server"), "--yes")
    assert (ran.code, "another beginning" in ran.err) == (13, True)
    assert git(life.entity.root, "remote") == ""
    assert git(tmp_path / "server", "log", "--format=%s") == "another beginning"
    ran = life("sync", "--setup", str(tmp_path / "gone/ada.git"), "--yes")
    assert (ran.code, "Does " in ran.err, git(life.entity.root, "remote")) == (13, True, "")


def test_a_place_that_is_not_there_yet_is_made(life: Run, tmp_path: Path) -> None:
    new = tmp_path / "ada.git"
    told = life("sync", "--setup", str(new))
    assert (told.code, "a new folder" in told.err, new.exists()) == (13, True, False)
    life.ok("sync", "--setup", str(new), "--yes")
    assert git(new, "rev-parse", "main") == git(life.entity.root, "rev-parse", "HEAD")
    assert new.stat().st_mode & 0o077 == 0


@contextmanager
def web(folder: Path) -> Iterator[str]:
    """Serve a folder's files to anybody, as a git server of the oldest form does."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as served:
        Thread(target=served.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{served.server_port}"
        served.shutdown()


def test_a_place_that_anybody_can_read_is_refused(life: Run, tmp_path: Path) -> None:
    server = empty(tmp_path / "server")
    git(server, "update-server-info")
    with web(tmp_path) as address:
        ran = life("sync", "--setup", f"{address}/server", "--yes")
        assert (ran.code, "anybody can read" in ran.err) == (13, True)
        assert git(life.entity.root, "remote") == ""
        assert "anybody can read" not in life("sync", "--setup", f"{address}/gone", "--yes").err


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("git@example.org:sam/ada.git", "https://example.org/sam/ada.git"),
        ("ssh://git@example.org:22/sam/ada.git", "https://example.org/sam/ada.git"),
        ("https://sam:key@example.org/ada.git", "https://example.org/ada.git"),
        ("/srv/ada.git", ""),
        ("file:///srv/ada.git", ""),
    ],
)
def test_whether_anybody_can_read_it_is_looked_for_on_the_web(text: str, asked: str) -> None:
    assert remote.on_the_web(text) == asked


def test_a_locked_section_that_another_clone_changed_is_named(life: Run, away: Path) -> None:
    life.ok("knowledge", "set", "Vows", "Never share confidences.", "--locked")
    life.ok("sync", "--push")
    git(away, "pull", "-q", "--ff-only")
    file = away / "knowledge.md"
    file.write_text(file.read_text().replace("## [locked] Vows", "## Vows"))
    git(away, "commit", "-qam", "unlock")
    git(away, "push", "-q")
    done = life.ok("sync", "--json")
    assert done.data["locked_changed"] == ["Vows"]
    assert "locked section “Vows”" in done.err
    assert life.ok("sync", "--json").data["locked_changed"] == []


def test_a_section_renamed_here_and_changed_there_is_one_and_what_went_on_one_side_is_named(
    life: Run, away: Path
) -> None:
    root = life.entity.root
    life.ok("sync")
    book = root / "knowledge.md"
    stay = "## Stay\n\nBo comes on Sunday. Sam fetches him. He gets the room.\n"
    book.write_text(f"{stay}\n## Bins\n\nTuesday.\n\n## Flat\n\nSmall.\n")
    life.ok("sync", "--push")
    git(away, "pull", "-q")
    there = away / "knowledge.md"
    there.write_text(
        book.read_text().replace("fetches him", "fetches Bo").replace("Tues", "Wednes")
    )
    git(away, "commit", "-qam", "by hand")
    git(away, "push", "-q")
    renamed = book.read_text().replace("## Stay", "## Bo")
    book.write_text(renamed.replace("## Bins\n\nTuesday.\n\n", ""))
    ran = life.ok("sync")
    assert "“Bins” of knowledge.md was changed in one clone" in ran.err and "“Bo”" not in ran.err
    both = stay.replace("## Stay", "## Bo").replace("fetches him", "fetches Bo")
    assert book.read_text() == f"{both}\n## Bins\n\nWednesday.\n\n## Flat\n\nSmall.\n"
    assert "knowledge.md was changed" not in life.ok("sync").err


@pytest.mark.parametrize(
    ("name", "where"),
    [("knowledge.md", "“Yard” of knowledge.md"), ("relationships/bo.md", "relationships/bo.md")],
)
def test_a_sentence_that_one_took_out_or_moved_and_the_other_changed_is_named(
    life: Run, away: Path, name: str, where: str
) -> None:
    life.ok("sync")
    head = "" if name == "knowledge.md" else "---\nname: Bo\n---\n"
    page = life.write(
        name, f"{head}## Yard\n\nIt lies in Bremen.\n\nHe began in 1946.\n\n## Ships\n\nMany.\n"
    )
    life.ok("sync", "--push")
    git(away, "pull", "-q")
    there = away / name
    there.write_text(there.read_text().replace("1946", "1947"))
    git(away, "commit", "-qam", "by hand")
    git(away, "push", "-q")
    moved = "\nHe began in 1946.\n"
    page.write_text(page.read_text().replace(moved, "") + f"\n## Beginnings\n{moved}")
    ran = life.ok("sync")
    assert f"warning: {where} was changed in one clone where the other took something" in ran.err
    assert "1947" in page.read_text()
    assert "was changed" not in life.ok("sync").err


def test_another_remote_is_not_replaced(life: Run, away: Path, tmp_path: Path) -> None:
    ran = life("sync", "--setup", str(empty(tmp_path / "second")), "--yes")
    assert (ran.code, "has a remote already" in ran.err) == (13, True)
    assert "would go" not in ran.err  # nobody is asked first


def test_what_was_edited_by_hand_is_committed_and_a_settled_merge_brought_to_its_end(
    life: Run, away: Path
) -> None:
    root = life.entity.root
    renamed_on_both_sides(root, away)
    said = life("sync", "--push")  # both changed the name
    assert (said.code, "both sides of it stand in entity.yaml" in said.err) == (13, True)
    assert f"`git -C {root} merge --abort` takes it back." in said.err
    assert "othing has been written" not in said.err
    assert git(root, "log", "-1", "--format=%s").strip() == "by hand: entity.yaml"
    again = life("sync")  # nothing is settled yet
    assert (again.code, "`bumble doctor` says how to go on" in again.err) == (12, True)
    git(root, "checkout", "--ours", "--", "entity.yaml")
    git(root, "add", "entity.yaml")
    life.entity.journal.write_text("## 2026-05-24 20:00\n\nEdited beside.\n")
    assert "finish it first" in life.ok("belief", "add", "The boat is red.").err
    done = life.ok("sync", "--push", "--json")
    assert (done.data["pushed"], done.data["merged"]) == (True, 2)
    assert "finish it first" not in done.err
    assert git(root, "status", "--porcelain") == ""
    assert "name: Ivy" in life.text("entity.yaml")


def test_a_record_of_any_kind_that_a_hand_made_or_renamed_goes_along(life: Run, away: Path) -> None:
    root, made = life.entity.root, list[str]()
    life.ok("sync", "--push")
    for kind in kinds.KINDS:
        if kind.forgetting != "beside" and not (root / record(kind.name, "Oak.")[0]).exists():
            made.append(str(every_kind.place(root, kind, "Oak.").relative_to(root)))
    life.write("sources/projects/new.yaml", "trust: owner\n")  # its record was not written
    life.write("projects/notes.txt", "mine")
    assert life.ok("sync", "--push", "--json").data["pushed"]
    assert git(root, "status", "--porcelain", "-uall").split() == [
        *("??", "projects/notes.txt"),
        *("??", "sources/projects/new.yaml"),
    ]
    assert len(made) > 10
    (project,) = [path for path in made if path.startswith("projects/")]
    (root / project).rename(root / "projects/garden.md")
    life.ok("sync", "--push")
    life.ok("-e", str(away), "sync")
    assert not [path for path in made if path != project and not (away / path).exists()]
    assert (away / "projects/garden.md").exists() and not (away / project).exists()


def test_a_new_file_that_is_no_record_is_named_and_waits(life: Run, away: Path) -> None:
    root = life.entity.root
    life.write("reminders/plants.md", "---\nat: soon\n---\n\nWater the plants.\n")
    (root / "projects").mkdir()
    (root / "projects/link.md").symlink_to("../journal.md")
    said = life("sync", "--push")
    assert (said.code, "reminders/plants.md:2" in said.out) == (12, True)
    assert "?? reminders/plants.md" in git(root, "status", "--porcelain", "-uall")
    assert "?? projects/link.md" in git(root, "status", "--porcelain", "-uall")
