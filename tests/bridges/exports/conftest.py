"""An entity that the tests of exports take out of its folder."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.exports import SAID, TALK
from tests.support.running import Run


@pytest.fixture
def lived(run: Run) -> Run:
    """An entity with a talk, what it learnt of that, and what only Bo may know."""
    lines: list[dict[str, Any]] = [
        {"type": "session", "id": TALK, "at": "2026-05-20T10:00:00+01:00", "by": "sam"},
        {
            "type": "message",
            "id": SAID,
            "at": "2026-05-20T10:00:01+01:00",
            "role": "user",
            "speaker": "sam",
            "text": "I love <img src=http://a/b> the sea.",
        },
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    run.write(f"sessions/{TALK}/messages.jsonl", text)
    run.write(
        "beliefs/bel_01KSA0000000000000000000B1.md",
        f"---\ncategory: preference\nconfidence: 0.8\nformed: 2026-05-20T10:00:02+01:00\n"
        f"evidence: [{SAID}]\nby: distill\nmodel: m\ntrust: owner\n---\n\nSam loves the sea.\n",
    )
    run.write(
        "beliefs/bel_01KSA0000000000000000000B2.md",
        "---\ncategory: world_fact\nconfidence: 0.8\nformed: 2026-05-20T10:00:02+01:00\n"
        "audience: [bo]\n---\n\nBo hides the gold.\n",
    )
    run.write(
        "relationships/sam.md", "---\nnames: [Sam, Sammy]\naudience: [sam]\n---\n\nA sailor.\n"
    )
    run.write("relationships/bo.md", "---\nnames: [Bo]\naudience: [bo]\n---\n\nA pirate.\n")
    hidden = "<!-- {audience: [bo]} -->"
    run.write("knowledge.md", f"## Tea [[x]]|`y`\n\nGreen.\n\n## Map\n{hidden}\n\nThe cave.\n")
    run.write(
        "journal.md",
        f"## 2026-05-20 11:00:00\n\nRain.\n\n## 2026-05-21 11:00:00\n{hidden}\n\nGold.\n",
    )
    run.write(
        "skills/knots.md", "---\nname: Knots\ndescription: rope, bowline\n---\n\nTwice round.\n"
    )
    run.write("workspace/list.txt", "gold\n")
    return run
