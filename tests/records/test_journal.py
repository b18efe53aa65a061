from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bumble.entity import changes
from bumble.entity.changes import ChangeSet
from bumble.errors import UsageError
from bumble.records import journal
from bumble.records.base import Provenance

AT = datetime(2026, 5, 24, 1, 12, 47, tzinfo=UTC)
ZONE = ZoneInfo("Europe/Berlin")


def added(folder: Path, text: str, *tags: str) -> None:
    change = journal.plan_add(AT, text, ZONE, "note", tags=tags)
    changes.apply(folder, ChangeSet("note", (change,)))


def test_an_entry_is_headed_by_the_entity_s_own_time(tmp_path: Path) -> None:
    (tmp_path / "journal.md").write_text("# Journal\n")
    added(tmp_path, "I dreamt.", "dream", "#consolidation", "two words")
    assert (tmp_path / "journal.md").read_text() == (
        "# Journal\n\n## 2026-05-24 03:12 #dream #consolidation #two-words\n\nI dreamt.\n"
    )
    entry = journal.read(tmp_path / "journal.md", ZONE).entries[0]
    assert entry.at == AT.replace(second=0)
    assert entry.tags == ("dream", "consolidation", "two-words")
    assert (entry.text, entry.line) == ("I dreamt.", 3)


@given(st.lists(st.text("ab#\n`~<!->= \t[]", max_size=30), min_size=1, max_size=4))
def test_what_is_there_never_changes_and_each_text_stays_one_entry(texts: list[str]) -> None:
    source = "# Journal\r\n\r\n## 2026-01-01 00:00:00\r\nby hand"
    wanted = 1
    for text in texts:
        try:
            change = journal.plan_add(AT, text, ZONE, "note")
        except UsageError:
            continue
        assert change.adds and change.data is not None
        longer = source + ("" if source.endswith("\n") else "\n") + change.data.decode()
        assert longer.startswith(source)
        source, wanted = longer, wanted + 1
    found = journal.parse(source, zone=ZONE)
    assert len(found.entries) == wanted
    assert found.preamble + "".join(entry.source for entry in found.entries) == source


@pytest.mark.parametrize(
    ("heading", "hour", "text"),
    [
        ("2026-05-24 3:12 pm", 15, "It rains."),
        ("2026-05-24 12:30 am", 0, "It rains."),
        ("2026-05-24 3:12 P.M.", 15, "It rains."),
        ("2026-05-24 20:05 Uhr", 20, "It rains."),
        ("2026-05-24 8:05 – Kim", 8, "Kim\n\nIt rains."),
        ("2026-05-24: Birthday", 0, "Birthday\n\nIt rains."),
    ],
)
def test_a_heading_is_read_with_its_hour_and_its_words(heading: str, hour: int, text: str) -> None:
    [entry] = journal.parse(f"## {heading}\n\nIt rains.\n", zone=UTC).entries
    assert (entry.at.hour, entry.text) == (hour, text)


@pytest.mark.parametrize(
    "heading",
    [
        "## 2026-02-31 00:00:00",
        "## notes",
        "### 2026-05-24 03:12:47",
        "## 2026-05-24 03:12+02:00",
        "    ## 2026-05-24 03:12:47",
    ],
)
def test_a_heading_of_another_form_belongs_to_the_entry_it_stands_in(heading: str) -> None:
    source = f"## 2026-05-24 03:12:47\n\nfirst\n\n{heading}\n\nmore\n\n## 2026-05-25 00:00:00\nx\n"
    entries = journal.parse(source, zone=ZONE).entries
    assert [entry.line for entry in entries] == [1, 9]
    assert entries[0].text == f"first\n\n{heading}\n\nmore"


@pytest.mark.parametrize(
    ("heading", "hour"),
    [
        ("2026-05-24", "00:00"),
        ("2026-05-24 18:10 #home", "18:10"),
        ("2026-05-24T18:10", "18:10"),
        ("2026-05-24 8:05", "08:05"),
        ("[[2026-05-24]]", "00:00"),
        ("[[2026-05-24|yesterday]], 18:10", "18:10"),
    ],
)
def test_by_hand_a_day_or_a_minute_is_time_enough(heading: str, hour: str) -> None:
    (entry,) = journal.parse(f"# Mine\n\n## {heading}\n\nIt rained.\n", zone=ZONE).entries
    assert f"{entry.at:%Y-%m-%d %H:%M:%S}" == f"2026-05-24 {hour}:00"
    assert entry.text == "It rained."


def test_where_an_entry_comes_from_stands_under_its_heading(tmp_path: Path) -> None:
    origin = Provenance("chat", "m>--", ("msg_1",), "owner", ("sam",))
    change = journal.plan_add(AT, "Sam told me.", ZONE, "note", provenance=origin)
    changes.apply(tmp_path, ChangeSet("note", (change,)))
    with (tmp_path / "journal.md").open("a") as file:
        file.write("\n## by hand\n\nMore.\n")
    (entry,) = journal.read(tmp_path / "journal.md", ZONE).entries
    assert entry.provenance == origin
    assert entry.audience == ("sam",)
    assert entry.text == "Sam told me.\n\n## by hand\n\nMore."


@pytest.mark.parametrize(
    "heading", ["2026-05-24 Sunday", "2026-05-24, Sunday #home", "2026-05-24 18:10 Sunday"]
)
def test_what_stands_behind_the_day_is_part_of_the_entry(heading: str) -> None:
    (entry,) = journal.parse(f"## {heading}\n\nIt rained.\n", zone=ZONE).entries
    assert entry.text == "Sunday\n\nIt rained."
    assert entry.tags == (("home",) if "#" in heading else ())


@pytest.mark.parametrize(
    ("title", "is_named"),
    [("# Diary", False), ("# Diary of 2026", False), ("# 20.11.2026", True), ("## Diary", True)],
)
def test_a_heading_without_a_day_that_is_read_is_named_with_its_line(
    title: str, *, is_named: bool
) -> None:
    source = (
        f"---\nby: me\n---\n{title}\n\n## 20.11.2026\n\nRain.\n\n## 2026-11-24 Tuesday\n\n"
        "### At noon\n\n# 2026-11-25\n\n## 25. November 2026\n"
    )
    found = [(4, title.lstrip("# "))] * is_named
    found += [(6, "20.11.2026"), (14, "2026-11-25"), (16, "25. November 2026")]
    assert list(journal.undated(source)) == found
