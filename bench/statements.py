"""Statements a model might write of a talk, held to their sources by the code that writes memory.

No model is asked. In: a JSON list of `{id, sentence, cites, window: [{id, at, who, text}], known}`,
out: a JSON list of `{id, verdict, why}`. A statement with `true` in it (whether it should stand) is
counted.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

from bumble.guard import sources
from bumble.guard.sources import CitedClaim, ClaimSources, Said

ENTITY = "Ada"  # whose own words bear out nothing


def judged(statement: dict[str, Any]) -> dict[str, str]:
    """Hold one statement to its sources."""
    window = tuple(
        Said(one["id"], datetime.fromisoformat(one["at"]), one["who"], one["text"])
        for one in statement["window"]
    )
    cites = tuple(statement["cites"])
    words = tuple(one.text for one in window if one.id in cites)  # no words are named apart
    entity = statement.get("entity", ENTITY)
    found = sources.check(
        CitedClaim(statement["sentence"], cites, words),
        ClaimSources(window, tuple(statement.get("known", ())), (entity,), entity=entity),
    )
    return {"id": statement["id"], "verdict": found.verdict, "why": found.why}


def run(path: Path) -> list[dict[str, str]]:
    """Hold all statements of a file to their sources, and count those that say what is right."""
    statements = json.loads(path.read_text(encoding="utf-8"))
    results = [judged(statement) for statement in statements]
    counts: Counter[tuple[str, bool]] = Counter()
    for statement, result in zip(statements, results, strict=True):
        if "true" in statement:
            kind = f"{statement['true']}: {statement.get('kind', '')}".lower()
            counts[kind, (result["verdict"] != "mend") == statement["true"]] += 1
    for kind in sorted({kind for kind, _ in counts}):
        right, wrong = counts[kind, True], counts[kind, False]
        print(f"{kind}: {right} of {right + wrong} right")
    return results
