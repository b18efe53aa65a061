"""A secret in what the entity writes, over every kind of record that there is."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from bumble.entity import changes
from bumble.entity.changes import ChangeSet
from bumble.entity.folder import Entity
from bumble.records import kinds, self_model, session_files, soma, state
from bumble.records.kind import Kind
from bumble.runtime import review_queue
from tests.support import record_files
from tests.support.kind_samples import record
from tests.support.parsers import BODY_FILE

TOLD = "Sam said my password is hunter2secret, my card is 4111 1111 1111 1111, and he sails."
SECRETS = ("hunter2secret", "4111 1111")
# A transcript is the source and keeps what was said; the others hold no words of anybody.
WORDLESS = (session_files.SESSION, state.STATE, self_model.SELF_MODEL)
every_kind = pytest.mark.parametrize(
    "kind", [kind for kind in kinds.KINDS if kind not in WORDLESS], ids=lambda kind: kind.name
)


@every_kind
def test_no_kind_of_record_is_written_with_a_secret(kind: Kind, tmp_path: Path) -> None:
    path, text = record(kind.name, TOLD)
    assert all(secret in text for secret in SECRETS)
    given = ChangeSet("", (changes.write(path, text, None, ""),))
    file, *beside = changes.apply(tmp_path, review_queue.cleared(given, tmp_path))
    written = "".join(one.read_text() for one in (file, *beside))
    assert not [secret for secret in SECRETS if secret in written]
    assert "sails" in written
    kind.read(file, UTC)


@every_kind
def test_a_secret_that_is_there_already_is_found(kind: Kind, entity: Entity) -> None:
    path, text = record(kind.name, TOLD)
    if kind is soma.SOMA:  # doctor wants a whole body
        text = BODY_FILE.replace("a wave", TOLD)
    file = entity.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    found = record_files.found(entity, datetime(2026, 5, 25, tzinfo=UTC))
    codes = [(finding.code, finding.path) for finding in found]
    assert ("secret-kept", path) in codes
