from __future__ import annotations

from bumble.records.base import Provenance
from bumble.runtime import audiences

HIDDEN = Provenance(audience=("mara",))


def test_a_file_that_is_named_for_what_it_tells_is_named_by_its_id_to_others() -> None:
    record_id = "ep_01M69K1840MBH51DWEYZWA04ZT"
    path = f"episodes/2026/10/31-maras-left-hand-{record_id}.md"
    assert audiences.named(path, None) == path
    assert audiences.named(path, HIDDEN) == f"episodes/2026/10/{record_id}.md"
    talk = "sessions/ses_01M69K1840Q1QSJ97MGYJ3979B/messages.jsonl"
    assert audiences.named(talk, HIDDEN) == talk
    assert audiences.named("topics/hens.md", HIDDEN) == "topics/only-for-mara.md"
