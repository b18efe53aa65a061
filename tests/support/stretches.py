"""Answers about a stretch of talk, for a scripted model that may write."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from bumble.llm.protocol import Completion, OnText, Request
from bumble.llm.scripted import Reply, ScriptedModel

CALM = {"social": 0, "curiosity": 0, "creative": 0, "tension": 0, "comfort": 0}
NOTHING_FELT = {
    "felt": "",
    "affects": [],
    "imprint": {"emotion": "neutral", "intensity": 0, "trigger": ""},
    "bars": CALM,
}
SCORES = {"familiarity": 0.3, "warmth": 0.6, "trust": 0.6, "tension": 0.0, "investment": 0.5}
NOTES = {"dynamic": "easy", "topics": [], "unresolved": []}
_SPOKEN = re.compile(r"^\[(m\d+)\] [\d:]+ [^:]+: (.+)$", re.MULTILINE)


def claim(
    text: str, *cites: str, rests: Sequence[str] = (), inference: bool = False
) -> dict[str, Any]:
    """Say something of the world; without words that it rests on, `Citing` cites the whole talk."""
    return {"text": text, "cites": list(cites), "rests_on": list(rests), "inference": inference}


def fact(title: str, *claims: dict[str, Any], replaces: Sequence[str] = ()) -> dict[str, Any]:
    return {"title": title, "replaces": list(replaces), "sentences": list(claims)}


def belief(
    said: dict[str, Any],
    category: str = "preference",
    confirms: Sequence[str] = (),
    contradicts: Sequence[str] = (),
) -> dict[str, Any]:
    verdicts = {"confirms": list(confirms), "contradicts": list(contradicts)}
    return {"category": category, "claim": said, **verdicts}


def seen(
    person: str,
    portrait: str = "",
    note: Any = None,
    replaces: Sequence[str] = (),
    was: str = "",
    **scores: Any,
) -> dict[str, Any]:
    given = {**SCORES, **NOTES, **scores} if portrait else None
    said = {"note": note, "replaces": list(replaces), "was": was}
    return {"person": person, "portrait": portrait, "scores": given, **said}


def makes(
    *narrative: Any,
    title: str = "",
    reflection: str = "",
    felt: dict[str, Any] | None = None,
    knowledge: Sequence[Any] = (),
    beliefs: Sequence[Any] = (),
    people: Sequence[Any] = (),
    journal: str = "",
    always: bool = False,
) -> Reply:
    """Make the answer about a stretch; sentences may be bare texts."""
    told = [claim(each) if isinstance(each, str) else each for each in narrative]
    moved = felt or {}
    answer = {
        "appraisal": {**NOTHING_FELT, **moved, "bars": {**CALM, **moved.get("bars", {})}},
        "episode": {
            "title": title,
            "narrative": told or [claim("We talked.")],
            "reflection": reflection,
        },
        "knowledge": list(knowledge),
        "beliefs": list(beliefs),
        "people": list(people),
        "journal": journal,
    }
    return Reply(json.dumps(answer), purpose="stretch", always=always)


def mends(*again: dict[str, Any], always: bool = False) -> Reply:
    empty = {"cites": [], "rests_on": [], "inference": False}
    return Reply(
        json.dumps({"mended": [empty | each for each in again]}), purpose="mend", always=always
    )


class Citing(ScriptedModel):
    """A scripted model that cites for its claims all that was said, in words of the talk."""

    def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
        completion = super().complete(request, on_text)
        if request.purpose != "stretch":
            return completion
        try:
            answer = json.loads(completion.text)
        except ValueError:
            return completion
        talk = request.messages[-1].content.rpartition("<talk>")[2]
        spoken = _SPOKEN.findall(talk.partition("</talk>")[0])
        _cite(answer, [label for label, _ in spoken], [text for _, text in spoken[:1]])
        return replace(completion, text=json.dumps(answer))


def _cite(part: Any, labels: list[str], rests: list[str]) -> None:
    if isinstance(part, dict) and "rests_on" in part:
        part["cites"] = part["cites"] or labels
        part["rests_on"] = part["rests_on"] or [" ".join(each.split()[:5]) for each in rests]
    for each in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        _cite(each, labels, rests)
