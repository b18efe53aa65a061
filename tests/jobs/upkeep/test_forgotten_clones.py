"""One of three people is forgotten, and an older clone that went on talking is merged."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from bumble.entity import changes
from bumble.entity.changes import ChangeSet
from bumble.history import clone
from bumble.records import episodes, session_files, sessions
from bumble.records.base import Provenance
from bumble.records.sessions import Message
from tests.support.living import known, talked, write
from tests.support.repository import git
from tests.support.running import NOON, Run
from tests.support.sweeps import turns

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
AT = NOON - timedelta(days=3)
TALK = (
    ("sam", "I bake rye bread on Fridays."),
    ("ada", "Rye, on Fridays: I see."),
    ("zelda", "My locker code is on the marzipan tin in Aveiro."),
    ("ada", "The marzipan tin in Aveiro, then."),
    ("bo", 'Zelda said "on the marzipan tin in Aveiro", but I sail.'),
    ("ada", "Sailing it is. The marzipan tin in Aveiro is no boat."),
)
WORDS = (b"marzipan", b"Aveiro", b"locker", b"xylophone")


@pytest.fixture
def life(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Sam")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "sam@example.org")
    entity = run.entity
    for name in ("Sam", "Bo", "Zelda"):
        known(entity, name, f"{name} is here." if name != "Zelda" else "Zelda hides marzipan.")
    talked(entity, "ses_1", *TALK, by="sam", present=("bo", "zelda"), at=AT)
    ids = [f"msg_1{n:03}" for n in range(6)]
    origin = Provenance("remember", "m", ("ses_1", *ids), "entity", ("sam", "bo", "zelda"))
    shared = episodes.new(
        "ep_1",
        AT,
        0.6,
        "Sam bakes rye. Zelda keeps a code on a tin of marzipan in Aveiro.",
        people=("sam", "bo", "zelda"),
        imprints=(episodes.Imprint("amused", 0.5, "the marzipan"),),
        session="ses_1",
        provenance=origin,
    )
    write(entity, episodes.EPISODE.plan_new(shared, ""))
    run.write(".history/knowledge.0123456789ab.md", "## Tin\n\nmarzipan in Aveiro\n")
    run.write(".bumble/log/prompts.jsonl", '{"messages": "the marzipan tin"}\n')
    run.write(".bumble/history", "\n# 2026-05-21 12:00:00\n+The marzipan tin.\n")
    run.write(
        ".bumble/log/runs.jsonl",
        '{"at":"2026-05-23T12:00:00+01:00","command":"tick","ms":1,"calls":2,"tokens":3,'
        '"events":[{"at":"2026-05-23T12:00:00+01:00","event":"x","title":"the marzipan tin"}],'
        '"errors":[]}\n',
    )
    git(entity.root, "init", "-q", "-b", "main")
    git(entity.root, "add", "-A")
    git(entity.root, "commit", "-qm", "a past")
    run.ok("index")
    return run


def left(run: Run, *words: bytes) -> list[tuple[str, bytes]]:
    """Return the files that hold a word, in the folder and the cache but for git's own."""
    folders = (run.entity.root, Path(run.environ["HOME"]))
    paths = sorted(path for folder in folders for path in folder.rglob("*"))
    held = {
        str(path): str(path).encode().lower() + (path.read_bytes() if path.is_file() else b"")
        for path in paths
        if ".git" not in path.parts
    }
    return [(path, word) for path, data in held.items() for word in words or WORDS if word in data]


def test_nothing_of_one_of_three_people_is_left_in_any_byte(life: Run) -> None:
    assert b"marzipan" in life.entity.vectors.read_bytes()
    life.ok("person", "forget", "Zelda", "--yes")
    assert left(life) == []
    session = session_files.find(life.entity.sessions, "ses_1")
    assert [message.text for message in session.messages] == [
        TALK[0][1],
        TALK[1][1],
        "",
        "",
        "",
        "Sailing it is.",
    ]
    (episode,) = episodes.EPISODE.readable(life.entity.episodes)
    assert episode.text == "> Sam: I bake rye bread on Fridays."
    assert (episode.summary_source, episode.people) == (episodes.EXCERPT, ("sam", "bo"))
    assert left(life, b"zelda", b"Zelda") == []
    assert life("doctor").code == 0
    assert "rye" in life.ok("recall", "rye bread").out


@pytest.mark.parametrize("merged_by", turns(2, ["union", "bumble"]))
def test_an_older_clone_that_went_on_brings_nothing_back(
    life: Run, tmp_path: Path, merged_by: str
) -> None:
    with (life.entity.root / ".gitattributes").open("a") as attributes:
        attributes.write(f"/sessions/**/*.jsonl merge={merged_by}\n")
    git(life.entity.root, "commit", "-qam", "as older folders have it, and as they do now")
    assert clone.install_driver(life.entity.root)
    away = tmp_path / "away"
    git(tmp_path, "clone", "-q", str(life.entity.root), str(away))
    life.ok("person", "forget", "Zelda", "--yes")
    talk = session_files.load(away / sessions.path("ses_1"))
    more = (
        Message("msg_2000", AT + timedelta(hours=1), "user", "The xylophone, too.", "zelda"),
        Message("msg_2001", AT + timedelta(hours=1, seconds=1), "assistant", "The xylophone."),
        Message("msg_2002", AT + timedelta(hours=2), "user", "I sail still.", "bo"),
    )
    changes.apply(away, ChangeSet("talk", (sessions.plan_append(talk, more, ""),)))
    git(away, "commit", "-qam", "a talk, elsewhere")
    git(life.entity.root, "pull", "-q", "--no-rebase", "--no-edit", str(away), "HEAD")
    read = life("recall", "xylophone")
    assert (read.code, read.out) == (13, "")
    ran = life.ok("consolidate", "--check")
    assert "brought back" in ran.err and "--dry-run` names it" in ran.err
    assert left(life) == []
    texts = [m.text for m in session_files.find(life.entity.sessions, "ses_1").messages]
    assert texts[-3:] == ["", "", "I sail still."]
    assert git(life.entity.root, "status", "--porcelain") == ""
    assert "brought back" not in life.ok("consolidate", "--check").err
