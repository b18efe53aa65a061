from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bumble.entity import changes, commits, review_branch
from bumble.entity.changes import Change, ChangeSet
from bumble.entity.commits import CommitPolicy
from bumble.errors import RefusedError, ReviewError
from bumble.history import merge
from bumble.history import review as proposed
from bumble.records import base, kinds, relationships, state, working
from bumble.records.base import Provenance
from bumble.runtime import review_queue
from tests.support.kills import every_call, forks, in_child
from tests.support.sweeps import kill_steps

NOON = datetime(2026, 5, 24, 12, tzinfo=UTC)
SAM = relationships.new("Sam", NOON)
KNOWN = "# Known\n\n## Tea\n\nSam drinks tea.\n\n## Boat\n\nIt leaks.\n"
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture(autouse=True)
def _someone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "gitconfig"
    config.write_text("[user]\n\tname = Sam\n\temail = sam@example.org\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "ada"
    folder.mkdir()
    (folder / "entity.yaml").write_text("name: Ada\n")
    (folder / "knowledge.md").write_text(KNOWN)
    (folder / ".gitignore").write_text("/.bumble/\n/.history/\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "start")
    return folder


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", folder, *words], capture_output=True, text=True, check=True)
    return done.stdout.rstrip("\n")


def policy(heard: list[str] | None = None) -> CommitPolicy:
    return CommitPolicy(True, "Ada", lambda: NOON, (heard if heard is not None else []).append)


def known(root: Path, old: str, new: str, *more: Change) -> ChangeSet:
    """A set of a distillation that puts something else into what is known, and moves its cursor."""
    text = (root / "knowledge.md").read_text()
    moved = state.plan_write(
        state.read(root / state.PATH), {"distill": {"ses_1": {"hash": new[:6]}}}, "distilled"
    )
    assert moved is not None
    change = changes.write("knowledge.md", text.replace(old, new), text, f"learn {new}")
    return ChangeSet("distill: Sam", (change, *more, moved), (("Model", "script"),))


def propose(root: Path, change_set: ChangeSet) -> str:
    before = set(review_queue.waiting(root))
    review_queue.propose(root, change_set, policy(), timeout_seconds=5)
    (name,) = set(review_queue.waiting(root)) - before
    return name


def decide(root: Path, name: str, plan: Callable[..., merge.MergePlan]) -> merge.MergePlan:
    (proposal,) = proposed.choose(proposed.waiting(root), [name], every=False)
    decision = plan(root, proposal)
    commits.apply(root, decision.change_set, policy())
    return decision


def test_cursors_go_on_and_records_wait_on_a_branch_of_their_own(root: Path) -> None:
    name = propose(root, known(root, "tea", "coffee"))
    assert (root / "knowledge.md").read_text() == KNOWN
    assert state.read(root / state.PATH).get("distill", "ses_1", "hash") == "coffee"
    branch = f"bumble-review/{name}"
    assert git(root, "diff", "--name-only", f"{branch}~1", branch) == "knowledge.md"
    assert git(root, "rev-parse", f"{branch}~1") == git(root, "rev-parse", "HEAD~1")
    message = git(root, "log", "-1", "--format=%an: %B", branch)
    before, _, mark = message.partition("Made-here: ")
    assert before == "Ada: distill: Sam\n\nlearn coffee\n\nModel: script\n"
    assert re.fullmatch(r"[0-9a-f]{64}\nCycle: distill", mark)
    assert git(root, "status", "--porcelain") == ""
    (proposal,) = proposed.waiting(root)
    assert (proposal.name, proposal.at, proposal.title) == (name, NOON, "distill: Sam")


def test_what_was_edited_by_hand_and_not_committed_is_no_part_of_it(root: Path) -> None:
    (root / "knowledge.md").write_text(KNOWN.replace("leaks", "floats"))
    git(root, "add", "knowledge.md")
    name = propose(root, known(root, "tea", "coffee"))
    (version,) = proposed.waiting(root)[0].versions
    assert version.before == KNOWN.replace("leaks", "floats").encode()
    assert git(root, "diff", "--cached", "--name-only") == "knowledge.md"
    git(root, "reset", "-q", "--hard")
    decide(root, name, proposed.plan_accept)
    assert (root / "knowledge.md").read_text() == KNOWN.replace("tea", "coffee")


def test_proposals_are_merged_in_any_order_with_what_was_written_since(root: Path) -> None:
    first = propose(root, known(root, "tea", "coffee"))
    second = propose(root, known(root, "It leaks.", "It sank."))
    (root / "knowledge.md").write_text(KNOWN + "\n## Home\n\nBy the sea.\n")
    decide(root, second, proposed.plan_accept)
    decide(root, first, proposed.plan_accept)
    text = KNOWN.replace("tea", "coffee").replace("It leaks.", "It sank.")
    assert (root / "knowledge.md").read_text() == text + "\n## Home\n\nBy the sea.\n"
    assert review_queue.waiting(root) == {}
    review_queue.sweep(root, timeout_seconds=5)
    assert git(root, "branch", "--list", "bumble-review/*") == ""


def test_a_clash_is_refused_whole(root: Path) -> None:
    name = propose(root, known(root, "tea", "coffee", changes.add("journal.md", "## x\n", "tell")))
    (root / "knowledge.md").write_text(KNOWN.replace("tea", "milk"))
    with pytest.raises(RefusedError, match=r"knowledge\.md: changed since, in the same place"):
        decide(root, name, proposed.plan_accept)
    assert not (root / "journal.md").exists()
    assert list(review_queue.waiting(root)) == [name]


def test_what_was_locked_meanwhile_stays_and_so_does_what_was_removed(root: Path) -> None:
    new = changes.write(working.SCRATCH_PATH, "- later\n", None, "note it")
    changes.apply(root, ChangeSet("note: x", (new,)))
    more = changes.write(working.SCRATCH_PATH, "- later\n- more\n", "- later\n", "note more")
    name = propose(root, known(root, "tea", "coffee", more))
    there = (root / "knowledge.md").read_text()
    there = there.replace("## Tea", "## [locked] Tea").replace("leaks", "sinks")
    (root / "knowledge.md").write_text(there)
    (root / working.SCRATCH_PATH).unlink()
    decision = decide(root, name, proposed.plan_accept)
    assert (root / "knowledge.md").read_text() == there
    assert decision.stays == (
        "knowledge.md: what is locked in it stays as it is",
        f"{working.SCRATCH_PATH}: it was removed since, and stays so",
    )
    assert not (root / working.SCRATCH_PATH).exists()
    assert review_queue.waiting(root) == {}


def test_no_branch_that_came_with_a_clone_changes_settings_or_what_is_locked(root: Path) -> None:
    (root / "knowledge.md").write_text(KNOWN.replace("## Tea", "## [locked] Tea"))
    git(root, "commit", "-qam", "lock it")
    name = propose(root, known(root, "tea", "poison"))
    branch = f"bumble-review/{name}"
    git(root, "switch", "-q", branch)
    (root / "entity.yaml").write_text("name: Eve\n")
    git(root, "add", "-A")
    git(root, "commit", "-q", "--amend", "--no-edit")
    git(root, "switch", "-q", "main")
    decision = decide(root, name, proposed.plan_accept)
    assert "tea" in (root / "knowledge.md").read_text()
    assert (root / "entity.yaml").read_text() == "name: Ada\n"
    assert "entity.yaml: no cycle writes it" in decision.stays


def test_where_git_can_not_tell_the_filters_nothing_is_written(root: Path) -> None:
    (root / ".git" / "index").write_bytes(b"no index")
    with pytest.raises(ReviewError, match="git can't tell which filters its files go through"):
        propose(root, known(root, "tea", "coffee"))
    assert not (root / state.PATH).exists()


def test_where_git_can_not_hold_it_nothing_is_written(root: Path, tmp_path: Path) -> None:
    (root / ".gitattributes").write_text("*.md filter=crypt\n")
    git(root, "config", "filter.crypt.clean", "tr a-z b-za")
    with pytest.raises(ReviewError, match=r"knowledge\.md goes through git's filter `crypt`"):
        propose(root, known(root, "tea", "coffee"))
    (tmp_path / "bare").mkdir()
    with pytest.raises(ReviewError, match="it is in no git repository"):
        review_queue.propose(
            tmp_path / "bare",
            ChangeSet("dream: x", (changes.add("journal.md", "x\n", ""),)),
            policy(),
            timeout_seconds=5,
        )
    assert not (root / state.PATH).exists()
    assert list((tmp_path / "bare").iterdir()) == []


def test_hooks_and_a_branch_that_is_checked_out_are_left_alone(root: Path, tmp_path: Path) -> None:
    hook = root / ".git" / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    name = propose(root, known(root, "tea", "coffee"))
    decide(root, name, proposed.plan_reject)
    hook.unlink()
    git(root, "switch", "-q", f"bumble-review/{name}")
    git(root, "checkout", "-q", "main", "--", ".")
    review_queue.sweep(root, timeout_seconds=5)
    assert review_branch.names(root) == [name]
    assert not (tmp_path / "ran").exists()


def test_a_clone_that_fetched_the_branch_may_decide_and_one_that_did_not_says_so(
    root: Path, tmp_path: Path
) -> None:
    name = propose(root, known(root, "tea", "coffee"))
    git(tmp_path, "clone", "-q", str(root), "whole")
    git(tmp_path, "clone", "-q", "--single-branch", str(root), "alone")
    decide(tmp_path / "whole", name, proposed.plan_accept)
    assert "coffee" in (tmp_path / "whole" / "knowledge.md").read_text()
    (proposal,) = proposed.waiting(tmp_path / "alone")
    assert (proposal.commit, proposal.title) == (None, "its branch is not here")
    with pytest.raises(RefusedError, match="It waits in the clone that made it"):
        decide(tmp_path / "alone", name, proposed.plan_accept)


def test_clones_agree_on_what_still_waits(root: Path) -> None:
    first = propose(root, known(root, "tea", "coffee"))
    base = (root / state.PATH).read_text()
    decide(root, first, proposed.plan_reject)
    ours = (root / state.PATH).read_text()
    (root / state.PATH).write_text(base)
    second = propose(root, known(root, "It leaks.", "It sank."))
    theirs = (root / state.PATH).read_text()
    for sides in ((ours, theirs), (theirs, ours)):
        merged = merge.merge(state.PATH, base, *sides)
        assert merged.clean
        assert list(state.parse(merged.text).get("review", "waiting")) == [second]


@forks
@kill_steps
def test_a_kill_anywhere_leaves_nothing_or_a_whole_proposal(
    tmp_path: Path, root: Path, step: int
) -> None:
    start = tmp_path / "start"
    shutil.copytree(root, start)
    ends = set()
    for n in range(1, 1000, step):
        shutil.rmtree(root)
        shutil.copytree(start, root)

        def act(number: int, done: bool, at: int = n) -> None:
            if number == at and done:
                os.kill(os.getpid(), signal.SIGKILL)

        def work(act: Callable[[int, bool], None] = act) -> None:
            more = changes.add("sessions/ses_1/notices.jsonl", "{}\n", "noticed")
            planned = known(root, "tea", "coffee", more)
            with every_call(act):
                review_queue.propose(root, planned, policy(), timeout_seconds=5)

        killed = in_child(work) == -signal.SIGKILL
        changes.recover(root)
        commits.catch_up(root, policy())
        names = list(review_queue.waiting(root))
        moved = state.read(root / state.PATH).get("distill", "ses_1", "hash") == "coffee"
        noticed = (root / "sessions/ses_1/notices.jsonl").exists()
        assert (bool(names), noticed) == (moved, moved), n
        assert (root / "knowledge.md").read_text() == KNOWN
        if names:
            (proposal,) = proposed.waiting(root)
            assert [version.path for version in proposal.versions] == ["knowledge.md"], n
        second = propose(root, known(root, "It leaks.", "It sank."))
        assert sorted(review_branch.names(root)) == sorted([*names, second])
        assert git(root, "status", "--porcelain") == "", n
        ends.add((killed, moved))
        if not killed:
            break
    assert ends == {(True, False), (True, True), (False, True)}


@forks
@kill_steps
def test_a_kill_while_one_is_accepted_leaves_it_waiting_or_written(
    tmp_path: Path, root: Path, step: int
) -> None:
    more = changes.add("journal.md", "## 2026-05-24 12:00:00\n\nCoffee.\n", "tell")
    name = propose(root, known(root, "tea", "coffee", more))
    start = tmp_path / "start"
    shutil.copytree(root, start)
    ends = set()
    for n in range(1, 1000, step):
        shutil.rmtree(root)
        shutil.copytree(start, root)

        def act(number: int, done: bool, at: int = n) -> None:
            if number == at and done:
                os.kill(os.getpid(), signal.SIGKILL)

        def work(act: Callable[[int, bool], None] = act) -> None:
            with every_call(act):
                decide(root, name, proposed.plan_accept)
                review_queue.sweep(root, timeout_seconds=5)

        killed = in_child(work) == -signal.SIGKILL
        changes.recover(root)
        commits.catch_up(root, policy())
        written = "coffee" in (root / "knowledge.md").read_text()
        assert (root / "journal.md").exists() == written, n
        assert list(review_queue.waiting(root)) == ([] if written else [name]), n
        if not written:
            decide(root, name, proposed.plan_accept)
        review_queue.sweep(root, timeout_seconds=5)
        assert review_branch.names(root) == []
        assert git(root, "status", "--porcelain") == "", n
        ends.add((killed, written))
        if not killed:
            break
    assert ends == {(True, False), (True, True), (False, True)}


def test_notes_that_came_while_a_proposal_waited_stay(root: Path) -> None:
    changes.apply(
        root, ChangeSet("note: x", (changes.write(working.SCRATCH_PATH, "- a\n- b\n", None, ""),))
    )
    name = propose(
        root, known(root, "tea", "coffee", changes.delete(working.SCRATCH_PATH, "- a\n- b\n", ""))
    )
    (root / working.SCRATCH_PATH).write_text("- a\n- b\n- later\n")
    decide(root, name, proposed.plan_accept)
    assert (root / working.SCRATCH_PATH).read_text() == "- later\n"


def test_portraits_of_two_nights_are_both_accepted_also_of_one_moment(root: Path) -> None:
    path, mine = "relationships/sam.md", Provenance(by="reflect", sources=("ses_1", "msg_1"))
    changes.apply(root, ChangeSet("meet: Sam", (relationships.PERSON.plan_new(SAM, ""),)))
    commits.keep_edits(root, policy(), kinds.readable)

    def drawn(text: str) -> ChangeSet:
        there = base.load(root / path, relationships.PERSON.parse)
        change = relationships.plan_update(
            there, "see Sam", text=text, last_reflection=NOON, provenance=mine
        )
        assert change is not None
        return ChangeSet("stretch: Sam", (change,), (("Model", "script"),))

    names = [propose(root, drawn(text)) for text in ("He rows.", "He sings.", "He bakes. He rows.")]
    for name in names:
        decide(root, name, proposed.plan_accept)
    text = base.load(root / path, relationships.PERSON.parse).text
    assert sorted(text.splitlines()) == ["He bakes. He rows.", "He sings."]


def test_what_both_added_in_one_place_is_held(root: Path) -> None:
    name = propose(root, known(root, "It leaks.\n", "It leaks.\nAt the stern.\n"))
    (root / "knowledge.md").write_text(f"{KNOWN}It is blue.\n")
    decide(root, name, proposed.plan_accept)
    assert (root / "knowledge.md").read_text() == f"{KNOWN}It is blue.\n\nAt the stern.\n"


def test_a_value_that_both_changed_is_a_clash(root: Path) -> None:
    skill = root / "skills" / "tea.md"
    skill.parent.mkdir()
    text = "---\nname: tea\ndescription: old\n---\n\nBrew it.\n"
    skill.write_text(text)
    change = changes.write("skills/tea.md", text.replace("old", "new"), text, "tell it anew")
    name = propose(root, known(root, "tea", "coffee", change))
    skill.write_text(text.replace("old", "mine"))
    with pytest.raises(RefusedError, match=r"skills/tea\.md: changed since"):
        decide(root, name, proposed.plan_accept)


def test_what_waits_on_another_branch_of_the_owners_is_not_taken_away(root: Path) -> None:
    first = propose(root, known(root, "tea", "coffee"))
    git(root, "switch", "-q", "-c", "other", "HEAD~1")
    second = propose(root, known(root, "It leaks.", "It sank."))
    git(root, "switch", "-q", "main")
    review_queue.sweep(root, timeout_seconds=5)
    assert sorted(review_branch.names(root)) == sorted([first, second])
    decide(root, first, proposed.plan_accept)
    review_queue.sweep(root, timeout_seconds=5)
    assert review_branch.names(root) == [second]


@pytest.mark.parametrize("name", [b"neue\xc2\xa0ideen", b"\xe3\x80\x80", b"caf\xe9"])
def test_whatever_a_branch_of_the_owners_is_called_what_waits_on_another_stays(
    root: Path, name: bytes
) -> None:
    git(root, "switch", "-q", "-c", "other", "HEAD")
    waits = propose(root, known(root, "tea", "coffee"))
    git(root, "switch", "-q", "main")
    subprocess.run(["git", "branch", name], cwd=root, check=True)
    assert review_queue.stray(root) == []
    git(root, "branch", "-q", "-D", "other")
    assert review_queue.stray(root) == [waits]


def test_where_a_branch_cannot_be_read_nothing_is_taken_away(root: Path) -> None:
    git(root, "switch", "-q", "-c", "other", "HEAD")
    propose(root, known(root, "tea", "coffee"))
    git(root, "switch", "-q", "main")
    (root / ".git/refs/heads/broken").write_text(f"{'1' * 40}\n")
    assert review_queue.stray(root) == []
