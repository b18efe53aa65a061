"""Replies of a model that narrates a life."""

from __future__ import annotations

import json
from typing import Any

from bumble.llm.scripted import Reply

TOLD: dict[str, Any] = {
    "happening": {"uses": ["e1", "e2"], "text": "Sam and I planted tomatoes, and a storm came."},
    "matters": {"uses": ["e3"], "text": "It matters to me that Sam could cry about his brother."},
    "changed": {"uses": ["e4", "e6"], "text": "I argue more gently than I did about zero."},
    "wants": {"uses": [], "text": "I want to hear a fugue, and the bread to rise at last."},
}


def telling(**parts: str) -> Reply:
    told = {name: TOLD[name] | ({"text": parts[name]} if name in parts else {}) for name in TOLD}
    return Reply(json.dumps(told), purpose="narrate", always=True)
