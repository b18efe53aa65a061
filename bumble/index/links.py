"""Which texts each catalyst points to: their likeness, kept in `memory.db` beside the vectors.

A catalyst is a question in the file of a topic. Only what is new is compared, so a turn costs one
product of few rows. Knows nothing of queries.
"""

from __future__ import annotations

import numpy as np

from bumble.index.store import Store
from bumble.records import kinds

DEPTH = 30  # texts that a catalyst points to
_CATALYST = f"kind = '{kinds.TOPIC.passages}'"


def refresh(database: Store) -> int:
    """Compare new texts with all catalysts, and new catalysts with all texts. Returns how many."""
    if not database.passing(_CATALYST):
        return 0
    new = database.unlinked()
    if not new:
        return 0
    catalysts = database.with_vector(_CATALYST)
    rows: list[tuple[int, int, float]] = []
    for catalyst in (key for key in catalysts if key in new):
        vector = database.vectors([catalyst])[0]
        nearest = database.nearest(vector, DEPTH, f"not ({_CATALYST})")
        rows += [(catalyst, chunk, cosine) for chunk, cosine in nearest]
    settled = [key for key in catalysts if key not in new]
    texts = sorted(new - set(catalysts))
    if settled and texts:
        likeness = database.vectors(settled) @ database.vectors(texts).T
        for place, catalyst in enumerate(settled):
            best = np.argsort(-likeness[place], kind="stable")[:DEPTH]
            rows += [(catalyst, texts[n], round(float(likeness[place][n]), 6)) for n in best]
    with database.transaction():
        database.put_links(rows, sorted(new))
        database.trim_links(settled, DEPTH)
    return len(new)
