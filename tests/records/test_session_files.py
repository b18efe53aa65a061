from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bumble.entity import changes
from bumble.entity.changes import ChangeSet
from bumble.errors import RecordInvalidError, RecordMissingError
from bumble.files import disk
from bumble.records import session_files, sessions
from bumble.records.base import Provenance
from bumble.records.sessions import End, Message

AT = datetime(2026, 5, 24, 3, 12, 47, tzinfo=UTC)


def write(root: Path, name: str, by: str, minutes: int, *more: sessions.Record) -> Path:
    at = AT + timedelta(minutes=minutes)
    talk = sessions.new(name, AT, by)
    message = Message(f"msg_{name}", at, "user", "héllo", speaker=by)
    planned = (
        sessions.plan_start(talk, "begin"),
        sessions.plan_append(talk, [message, *more], "say"),
    )
    changes.apply(root, ChangeSet("chat", planned))
    return root / sessions.path(name)


def test_a_listing_tells_when_each_was_last_used(tmp_path: Path) -> None:
    write(tmp_path, "ses_1", "sam", 5)
    file = write(tmp_path, "ses_2", "kim", 9, End(AT + timedelta(minutes=10)))
    one, two = session_files.infos(tmp_path / "sessions")
    assert (one.id, one.by, one.last_at, one.ended) == (
        "ses_1",
        "sam",
        AT + timedelta(minutes=5),
        False,
    )
    assert (two.last_at, two.ended) == (AT + timedelta(minutes=10), True)
    assert two.size_bytes == file.stat().st_size


def test_the_newest_session_of_a_person_is_the_one_last_spoken_in(tmp_path: Path) -> None:
    for name, by, minutes in (("ses_1", "sam", 30), ("ses_2", "sam", 7), ("ses_3", "kim", 60)):
        write(tmp_path, name, by, minutes)
    found = session_files.newest(tmp_path / "sessions", "sam", AT)
    assert found is not None and found.id == "ses_1"
    assert session_files.newest(tmp_path / "sessions", "lee", AT) is None
    assert session_files.newest(tmp_path / "none", "sam", AT) is None


def test_a_line_that_was_cut_off_in_a_character_is_passed_over(tmp_path: Path) -> None:
    file = write(tmp_path, "ses_1", "sam", 5)
    file.write_bytes(file.read_bytes() + '{"type":"message","text":"é'.encode()[:-1])
    talk = session_files.load(file)
    assert (len(talk.messages), talk.torn_line) == (1, 3)
    assert session_files.read_info(file).last_at == AT + timedelta(minutes=5)
    message = Message("msg_9", AT + timedelta(hours=1), "user", "on")
    before = file.read_bytes()
    changes.apply(tmp_path, ChangeSet("go on", (sessions.plan_append(talk, [message], "say"),)))
    assert file.read_bytes().startswith(before)
    again = session_files.load(file)
    assert ([one.text for one in again.messages], again.torn_line) == (["héllo", "on"], None)


def test_bytes_that_are_no_text_in_a_broken_line_are_an_error_with_a_line(tmp_path: Path) -> None:
    file = write(tmp_path, "ses_1", "sam", 5)
    file.write_bytes(file.read_bytes() + b'{"type":"x\xff\n{"type":"end"}\n')
    with pytest.raises(RecordInvalidError, match=r"messages\.jsonl:3: not a line of JSON"):
        session_files.load(file)


@pytest.mark.parametrize("first", [b"", b"{}\n", b"nonsense\n", b"[1]\n", b'{"type":"session"}\n'])
def test_a_file_that_is_no_transcript_is_named_and_keeps_no_other_from_a_listing(
    first: bytes, tmp_path: Path
) -> None:
    write(tmp_path, "ses_2", "sam", 5)
    file = tmp_path / "sessions" / "ses_1" / sessions.FILE
    file.parent.mkdir()
    file.write_bytes(first)
    with pytest.raises(RecordInvalidError, match=r"messages\.jsonl:1"):
        session_files.read_info(file)
    assert [one.id for one in session_files.infos(tmp_path / "sessions")] == ["ses_2"]


def test_a_session_is_found_by_its_id_alone(tmp_path: Path) -> None:
    write(tmp_path, "ses_01AB", "sam", 5)
    folder = tmp_path / "sessions"
    assert session_files.find(folder, "ses_01AB").id == "ses_01AB"
    for name in ("1ab", "", "../ses_01AB", "ses_09"):
        with pytest.raises(RecordMissingError):
            session_files.find(folder, name)


def test_a_thousand_sessions_are_listed_without_reading_them(tmp_path: Path) -> None:
    head = sessions.new("ses_x", AT, "sam").source
    body = sessions.render(Message("msg_1", AT, "user", "x" * 400)) * 200
    for n in range(1000):
        file = tmp_path / f"ses_{n:04}" / sessions.FILE
        file.parent.mkdir()
        file.write_text(head + body)
    start = time.perf_counter()
    assert len(list(session_files.infos(tmp_path))) == 1000
    assert time.perf_counter() - start < 20  # in a second; in minutes, were it quadratic


def test_an_original_is_kept_once_and_given_back_exactly(tmp_path: Path) -> None:
    data = b"\x00long tool output\xff" * 100
    digest, change = session_files.plan_blob("ses_1", data, "cut")
    assert digest == disk.sha256(data)
    assert len(changes.apply(tmp_path, ChangeSet("cut", (change,)))) == 1
    assert changes.apply(tmp_path, ChangeSet("cut", (change,))) == []
    folder = tmp_path / "sessions"
    assert session_files.read_blob(folder, "ses_1", digest[:12]) == data
    assert session_files.read_blob(folder, "ses_1", digest.upper()) == data
    for reference in (digest[:11], "0" * 12, "", "../messages.jsonl"):
        with pytest.raises(RecordMissingError):
            session_files.read_blob(folder, "ses_1", reference)
    (folder / "ses_1" / "blobs" / digest).write_bytes(b"other")
    with pytest.raises(RecordInvalidError, match="named for"):
        session_files.read_blob(folder, "ses_1", digest)


def test_a_handover_brief_is_written_and_read(tmp_path: Path) -> None:
    folder, origin = tmp_path / "sessions", Provenance("handover", "m", ("msg_1",))
    assert session_files.read_handover(folder, "ses_1") is None
    change = session_files.plan_handover("ses_1", None, "# Open\n\nThe sea.", AT, origin, "end")
    assert change is not None
    changes.apply(tmp_path, ChangeSet("end", (change,)))
    brief = session_files.read_handover(folder, "ses_1")
    assert brief is not None and brief.text == "# Open\n\nThe sea."
    assert brief.provenance.sources == ("msg_1",)
    assert session_files.plan_handover("ses_1", brief, brief.text, AT, origin, "end") is None
