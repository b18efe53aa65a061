"""Doctor's checks of review: what waits, whether it is here, and whether more can be held back."""

from __future__ import annotations

from collections.abc import Iterator

from bumble.entity import review_branch
from bumble.entity.folder import Entity
from bumble.entity.settings import Settings
from bumble.errors import RecordInvalidError, ReviewError
from bumble.history.findings import Finding
from bumble.records import state
from bumble.runtime import review_queue


def check(entity: Entity, read: Settings | None) -> Iterator[Finding]:
    """Check what waits for its owner's word, and whether cycles can let more wait.

    Args:
        entity: The folder.
        read: Its settings; None if they can't be read.
    """
    cycles = ", ".join(read.config.git.review) if read else ""
    if read and cycles:
        try:
            review_branch.place_of(entity.root, cycles, trusted=read.trusted)
        except ReviewError as error:
            yield Finding("review-blocked", str(error).splitlines()[0], ".")
    try:
        waiting = review_queue.waiting(entity.root)
    except RecordInvalidError:  # a finding of its own
        return
    for name in waiting:
        if review_branch.find(entity.root, name):
            yield Finding(
                "review-waits", f"{name} waits for your word", state.PATH, fix="bumble review"
            )
        else:
            sentence = f"{name} waits in another clone, or its branch was deleted"
            yield Finding("review-gone", sentence, state.PATH, fix=f"bumble review reject {name}")
