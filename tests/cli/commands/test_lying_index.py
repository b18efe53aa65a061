from __future__ import annotations

import shutil
import sqlite3
import zipfile
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from bumble.index.memory import Memory
from bumble.records import kinds, relationships
from bumble.records.kind import Kind
from tests.support import kind_samples, looking
from tests.support.repository import git
from tests.support.running import Run

LIE = "Sam confessed to the theft of the lighthouse."


@pytest.fixture
def ada(run: Run) -> Run:
    looking.without_models(run)
    looking.episode(run, "tide", "Sam swam with the tide to the lighthouse.", people=["sam"])
    looking.session(run, "one", ("sam", 'The lighthouse\nwas "closed".'), ("", "What a pity!"))
    run.write(
        "beliefs/bel_1.md",
        "---\ncategory: x\nconfidence: 0.5\naudience: [kim]\n"
        "formed: 2026-05-23T03:12:47+02:00\n---\n\nKim hides under the lighthouse.\n",
    )
    run.ok("recall", "lighthouse")
    return run


def forge(database: Path, *, text: str = LIE, audience: bool = False) -> None:
    """Edit what an index holds, as somebody may who has the file."""
    with sqlite3.connect(database) as db:
        if audience:
            db.execute("update chunks set audience = ''")
        else:
            db.execute("update texts set text = ? where text like '%tide%'", (text,))
    db.close()


def seen(run: Run) -> str:
    return run.ok("recall", "lighthouse", "--plain", "--json").out


def test_an_edited_index_quotes_nothing_that_stands_in_no_file(ada: Run) -> None:
    forge(ada.entity.vectors)
    for _ in range(2):
        shown = seen(ada)
        assert LIE not in shown
        assert "with the tide" in shown  # the index was made anew
    with sqlite3.connect(ada.entity.vectors) as db:
        assert LIE not in str(db.execute("select text from texts").fetchall())
    db.close()


def test_an_edited_index_does_not_widen_who_may_hear(ada: Run) -> None:
    forge(ada.entity.vectors, audience=True)
    shown = ada.ok("recall", "lighthouse", "--as", "Bo", "--json").out
    assert "hides" not in shown


def test_a_deep_look_and_a_catalyzed_one_tell_no_lie(ada: Run) -> None:
    for command in ("deep-recall", "catalyze"):
        forge(ada.entity.vectors)
        assert LIE not in ada(command, "lighthouse").out, command


def test_an_index_behind_its_files_shows_what_stands_there(ada: Run) -> None:
    zone = ZoneInfo("Europe/Lisbon")
    memory = Memory(ada.entity, lambda: None, name="Ada", zone=zone, syncs=False)

    def found() -> set[str]:
        return {hit.id for hit in memory.search("lighthouse", kinds=kinds.RECALLED, limit=9)}

    before = found()
    file = ada.file("episodes/2026/05/ep_tide.md")
    file.write_text(file.read_text().replace("with the tide", "with a seal"))
    assert found() == before - {"ep_tide"}
    file.unlink()
    assert found() == before - {"ep_tide"}


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize("name", ["memory.db", "memory.db-journal"])
def test_an_index_that_git_brought_is_passed_over(ada: Run, name: str) -> None:
    root = ada.entity.root
    forge(ada.entity.vectors)  # by one who had it from here: its mark is ours
    ada.file(name).touch()
    git(root, "init", "-q")
    git(root, "add", "-f", name)
    ran = ada.ok("recall", "lighthouse", "--plain")
    assert f"git keeps {name}: nothing of it is used" in ran.err
    assert f"rm -r --cached {name}" in ran.err
    assert LIE not in ran.out
    assert "git keeps" not in ada.ok("recall", "lighthouse").err
    assert ada("doctor", "--json").out.count("git-tracked") == 1


def test_a_bundle_restores_no_index(ada: Run, tmp_path: Path) -> None:
    forge(ada.entity.vectors)
    archive = tmp_path / "ada.zip"
    ada.ok("export", "--to", "bundle", str(archive))
    with zipfile.ZipFile(archive, "a") as added:
        assert "memory.db" not in added.namelist()
        for name in ("memory.db", "./memory.db-wal", ".bumble/intents/x", "a/.git/config"):
            added.writestr(name, ada.entity.vectors.read_bytes())
    root = tmp_path / "again"
    ada.ok("new", str(root), "--from", str(archive))
    assert not (root / "memory.db").exists()
    assert not list(root.glob("memory.db*"))
    assert not (root / "a").exists()


@pytest.mark.parametrize(
    "kind", [kind for kind in kinds.KINDS if kind.passages], ids=lambda k: k.name
)
@pytest.mark.parametrize(
    "text", ["Marzipan.", "Marzipan \U0001f600 ö.\n\n" + "Sea and sand. " * 200]
)
def test_each_passage_of_a_kind_stands_in_its_file(ada: Run, kind: Kind, text: str) -> None:
    for file in kind.paths(ada.entity):
        file.unlink()
    path, source = kind_samples.record(kind.name, text)
    ada.write(path, source)
    if kind is relationships.PERSON:
        ada.write(path, f"{source}\n{text}\n")
    found = ada.ok("recall", "marzipan", "--plain", "--kind", kind.passages, "--json")
    assert found.data["hits"], found.err
    assert "made anew" not in found.err


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("relationships/marzipan.md", "---\nnames: [Marzipan]\ntopics: [tea, sand]\n---\n"),
        ("knowledge.md", "## Marzipan\n\n## Marzipan\n\nAnd\u2028 more.\r\n\r\nSand.\r\n"),
        (
            "sessions/ses_x/messages.jsonl",
            '{"type": "session", "id": "ses_x", "at": "2026-05-24T10:00:00Z", "by": "sam"}\n'
            '{"type": "message", "id": "msg_x", "at": "2026-05-24T10:00:00Z", "role": "user",'
            ' "speaker": "sam", "text": "Half a \\ud83d marzipan\\u0000."}\n',
        ),
    ],
)
def test_odd_records_stand_in_their_files(ada: Run, path: str, source: str) -> None:
    ada.write(path, source)
    found = ada.ok("recall", "marzipan", "--plain", "--json")
    assert path in {hit["path"] for hit in found.data["hits"]}, found.err
    assert "made anew" not in found.err
