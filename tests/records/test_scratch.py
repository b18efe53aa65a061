from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from bumble.entity import changes
from bumble.entity.changes import ChangeSet
from bumble.errors import UsageError
from bumble.records import working
from bumble.records.base import Provenance

AT = datetime(2026, 5, 24, 12, tzinfo=UTC)
ORIGIN = Provenance(by="chat", sources=("ses_1", "msg_1"), trust="owner", audience=("sam",))


def note(root: Path, text: str, kind: str = "directive") -> None:
    zone = ZoneInfo("Europe/Lisbon")
    change = working.plan_note(AT, kind, text, zone, ORIGIN, "note")
    changes.apply(root, ChangeSet("note", (change,)))


def test_a_note_is_one_line_that_says_when_what_and_from_where(tmp_path: Path) -> None:
    note(tmp_path, "Sam wants\n short answers.")
    (line,) = working.scratch_lines(tmp_path / working.SCRATCH_PATH)
    assert line.source.startswith("- 2026-05-24 13:00 [directive] Sam wants short answers. <!--{")
    assert line.text == "2026-05-24 13:00 [directive] Sam wants short answers."
    assert line.origin == ORIGIN


def test_notes_are_added_and_what_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "working").mkdir()
    (tmp_path / working.SCRATCH_PATH).write_text("# Mine\n- by hand, without an end")
    note(tmp_path, "One.")
    note(tmp_path, "Two.", "world_fact")
    text = (tmp_path / working.SCRATCH_PATH).read_text()
    assert "\n---\n\n# Mine\n- by hand, without an end\n- 2026-05-24" in text
    assert "<!--" not in text
    assert len(working.scratch_lines(tmp_path / working.SCRATCH_PATH)) == 3


@pytest.mark.parametrize(
    ("text", "kind"), [("", "directive"), ("  \n", "directive"), ("x", "rumour")]
)
def test_what_is_no_note_is_refused(tmp_path: Path, text: str, kind: str) -> None:
    with pytest.raises(UsageError):
        note(tmp_path, text, kind)
    assert working.scratch_lines(tmp_path / working.SCRATCH_PATH) == ()


def test_a_folder_of_that_name_holds_no_notes(tmp_path: Path) -> None:
    (tmp_path / working.SCRATCH_PATH).mkdir(parents=True)
    assert working.scratch_lines(tmp_path / working.SCRATCH_PATH) == ()
