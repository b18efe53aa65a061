from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from bumble.cli.check_records import Sources
from bumble.entity.folder import Entity
from bumble.records import sessions
from bumble.records.base import Provenance
from bumble.records.kind import RecordView
from bumble.records.sessions import Message
from tests.support.record_files import found, message, talk, write
from tests.support.running import NOON


@pytest.fixture
def entity(tmp_path: Path) -> Entity:
    return Entity(tmp_path)


def taken(*rows: tuple[str, Provenance, Sequence[str]]) -> list[str]:
    """Return the codes of what is found in records that were taken in."""
    sources = Sources(people={"kim"})
    said = Message("msg_1", NOON, "user", "x", "sam", trust="owner")
    read = Message("msg_2", NOON, "tool", "x", trust="tool")
    talked = sessions.new("ses_1", NOON, "sam")
    sources.session("ses_1", sessions.appended(talked, [said, read]))
    for record_id, origin, named in rows:
        view = RecordView(record_id, "", origin, tuple(named), line=1)
        sources.record(record_id, view, f"{record_id}.md", "")
    return [one.code for one in sources.check()]


@pytest.mark.parametrize(
    ("origin", "named", "codes"),
    [
        (Provenance("x", trust="owner", audience=("sam",)), ("msg_1", "ses_1"), []),
        (Provenance("x", trust="tool", audience=("sam",)), ("msg_2",), []),
        (Provenance("x", trust="owner", audience=("sam",)), ("msg_1", "msg_2"), ["trust-raised"]),
        (Provenance("x", trust="owner"), ("msg_1",), ["audience-wider"]),
        (Provenance("x", model="m"), ("ses_1",), ["audience-wider"]),
        (Provenance("x", trust="owner", audience=("sam", "kim")), ("msg_1",), ["audience-wider"]),
        (Provenance("x", trust="owner"), ("msg_9",), ["source-missing"]),
        (Provenance("belief add"), ("msg_1",), []),
        (Provenance("x", audience=("kim", "bo")), (), ["person-missing"]),
        (Provenance(), ("msg_2",), []),
    ],
)
def test_a_record_is_held_against_what_it_rests_on(
    origin: Provenance, named: Sequence[str], codes: list[str]
) -> None:
    assert taken(("bel_1", origin, named)) == codes


def test_what_rests_on_a_derived_record_is_held_against_that() -> None:
    private = Provenance("x", trust="person", audience=("sam",))
    assert taken(("ep_1", private, ("ses_1",)), ("bel_1", private, ("ep_1",))) == []
    open_ = Provenance("x", trust="owner")
    codes = taken(("ep_1", private, ("ses_1",)), ("bel_1", open_, ("ep_1",)))
    assert codes == ["trust-raised", "audience-wider"]


def test_every_store_is_held_against_its_sources(entity: Entity) -> None:
    head = "by: x\nmodel: m\nfrom: [msg_9]\ntrust: owner\n"
    at = "2026-05-20T10:00:00+00:00"
    belief = f"category: preference\nconfidence: 0.5\nformed: {at}\nevidence: [msg_9]\n"
    comment = "<!-- {by: x, model: m, from: [msg_9]} -->"
    write(entity, "beliefs/bel_1.md", f"---\n{belief}---\n\nTea.\n")
    write(entity, "episodes/2026/05/ep_1.md", f"---\nat: {at}\nsignificance: 0.5\n{head}---\n\nx\n")
    write(entity, "dreams/drm_1.md", f"---\nat: {at}\npairs: [[ep_1, msg_9]]\n---\n\nx\n")
    write(entity, "relationships/kim.md", f"---\n{head}pending:\n- text: x\n  from: [msg_8]\n---\n")
    write(entity, "skills/tea.md", f"---\nname: Tea\n{head}---\n\nBoil.\n")
    write(entity, "narrative.md", f"---\n{head}---\n\nOnce.\n")
    write(entity, "knowledge.md", f"# x\n\n## Tea\n{comment}\n\nHot.\n")
    write(entity, "journal.md", f"## 2026-05-20 10:00:00\n{comment}\n\nHot.\n")
    places = {(one.path, one.line) for one in found(entity) if one.code == "source-missing"}
    assert places == {
        ("beliefs/bel_1.md", 5),
        ("episodes/2026/05/ep_1.md", 6),
        ("dreams/drm_1.md", 3),
        ("relationships/kim.md", 4),
        ("relationships/kim.md", 6),
        ("skills/tea.md", 5),
        ("narrative.md", 4),
        ("knowledge.md", 3),
        ("journal.md", 1),
    }
    talk(entity, message(9), {"type": "appraisal", "at": at, "message": "msg_9", "points": {}})
    left = [one for one in found(entity) if one.code == "source-missing"]
    assert [one.path for one in left] == ["relationships/kim.md"]


def test_ten_thousand_records_take_well_under_a_second() -> None:
    sources = Sources()
    origin = Provenance("x", trust="owner")
    for n in range(10_000):
        named = [f"ep_{n - 1}", f"ep_{n // 2}"] if n else []
        view = RecordView(f"ep_{n}", "", origin, tuple(named), line=1)
        sources.record(view.id, view, "x.md", "")
    started = time.process_time()
    assert list(sources.check()) == []
    assert time.process_time() - started < 1
