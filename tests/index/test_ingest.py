from __future__ import annotations

from typing import TYPE_CHECKING

from bumble.index.ingest import kind_of, scan

if TYPE_CHECKING:
    from tests.support.notes import Notes


def test_every_kind_of_file_is_found_where_it_belongs(notes: Notes) -> None:
    expected = {
        "knowledge.md": "knowledge",
        "journal.md": "journal",
        "narrative.md": "narrative",
        "episodes/2026/05/ep_1.md": "episode",
        "beliefs/bel_1.md": "belief",
        "relationships/sam.md": "person",
        "skills/bread.md": "skill",
        "skills/tea/SKILL.md": "skill",
        "dreams/drm_1.md": "dream",
        "sessions/ses_1/messages.jsonl": "message",
    }
    for path in expected:
        notes.write(path, "x")
    assert {path: kind_of(path) for path in scan(notes.entity)} == expected


def test_what_is_no_record_is_passed_over(notes: Notes) -> None:
    for path in (
        "episodes/2026/05/.ep_1.md.abc.bumble-tmp",
        "episodes/2026/05/.hidden.md",
        "episodes/2026/05/notes.txt",
        "episodes/loose.md",
        "sessions/ses_1/handover.md",
        "sessions/ses_1/blobs/abc",
        "skills/tea/other.md",
        "workspace/knowledge.md",
    ):
        notes.write(path, "x")
    assert scan(notes.entity) == {}


def test_links_are_not_followed(notes: Notes) -> None:
    outside = notes.write("workspace/secret.md", "x")
    for path in ("episodes/2026/05/ep_1.md", "knowledge.md"):
        link = notes.root / path
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(outside)
    assert scan(notes.entity) == {}
