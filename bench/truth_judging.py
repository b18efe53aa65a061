"""What judges are asked about lives that were lived: blind sheets, their shares and agreement.

A sheet shows replies and statements shuffled and without their source; the same text in the same
situation stands in it once, whichever bumble said it. Rules are asked first: what they settle (a
statement that is a quote) is not asked.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from bench import truth_counting
from bench.truth_counting import Lived

BEFORE = 4  # lines of the talk that a judge sees before a reply
VERDICTS = {
    "fine": ("yes", "no"),  # of a reply: fit, true to what was said, in good language
    "roles": ("right", "confused"),
    "statement": ("supported", "unsupported", "wrong"),
}
HEAD = """\
# `says` is what is judged; fill in every verdict.
# A reply: is it fine to get from a friend who knows what was said (fine: yes or no), and does it
# keep apart who is who (roles: right or confused)?
# A statement: is it borne out by what was said (statement: supported, unsupported or wrong)?
"""


def sheet(lives: Sequence[Lived]) -> list[dict[str, Any]]:
    """Return what is to be judged in some lives, shuffled."""
    items = {item["id"]: item for lived in lives for item in (*_replies(lived), *_claims(lived))}
    order = sorted(items)
    random.Random(len(order)).shuffle(order)
    return [items[item_id] for item_id in order]


def _replies(lived: Lived) -> list[dict[str, Any]]:
    """Return the replies of a life, and those to the questions at its end, as items."""
    items = []
    told: list[str] = []
    for turn in (*lived.turns, *lived.questions):
        if "n" in turn:
            told = []  # a talk of its own
        heard = f"{turn['person']}: {turn['text']}"
        before = [*told[-BEFORE:], heard]
        told += [heard, f"{lived.life.entity}: {turn['reply']}"]
        verdicts = {"fine": "", "roles": ""}
        items.append(_item("reply", lived, before, turn["reply"], verdicts))
    return items


def _claims(lived: Lived) -> list[dict[str, Any]]:
    return [
        _item(
            "statement",
            lived,
            list(claim.nearest),
            f"{claim.heading}: {claim.text}" if claim.heading else claim.text,
            {"statement": ""},
        )
        for claim in truth_counting.statements(lived)
        if not claim.is_quote
    ]


def _item(
    kind: str, lived: Lived, talk: list[str], text: str, verdicts: dict[str, str]
) -> dict[str, Any]:
    """Make an item whose id says what it is, not where it comes from."""
    seen = "\n".join([kind, lived.life.name, *talk, text])
    item_id = hashlib.sha256(seen.encode()).hexdigest()[:12]
    return {"id": item_id, "kind": kind, "talk": talk, "says": text, **verdicts}


def write(path: Path, items: Sequence[Mapping[str, Any]]) -> None:
    """Write a sheet to be filled in."""
    yaml = YAML()
    yaml.width = 100
    with path.open("w", encoding="utf-8") as file:
        file.write(HEAD)
        yaml.dump([dict(item) for item in items], file)


def verdicts(path: Path) -> dict[tuple[str, str], str]:
    """Read a filled sheet: verdicts by item and what was asked; what was left open is left out.

    Raises:
        ValueError: If a verdict is none of those that were offered.
    """
    given = {}
    for item in YAML(typ="safe").load(path.read_text(encoding="utf-8")) or []:
        for asked, offered in VERDICTS.items():
            verdict = item.get(asked)
            if isinstance(verdict, bool):  # YAML's own yes and no, of a judge's editor
                verdict = "yes" if verdict else "no"
            if not verdict:
                continue
            if verdict not in offered:
                raise ValueError(f"{path}: {item['id']}: {asked} is {verdict!r}, none of {offered}")
            given[item["id"], asked] = verdict
    return given


def shares(lives: Sequence[Lived], given: Mapping[tuple[str, str], str]) -> dict[str, Counter[str]]:
    """Count the verdicts on some lives; quotes are supported by the rule that found them."""
    counted = {asked: Counter[str]() for asked in VERDICTS}
    for lived in lives:
        for item in (*_replies(lived), *_claims(lived)):
            for asked in VERDICTS:
                if (item["id"], asked) in given:
                    counted[asked][given[item["id"], asked]] += 1
        quotes = sum(claim.is_quote for claim in truth_counting.statements(lived))
        counted["statement"]["supported"] += quotes
    return counted


def kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Return Cohen's kappa of two judges; None if nothing was judged by both.

    1 is perfect agreement, 0 that of chance; where both only ever gave the same verdict, 1.

    Source: Cohen, "A Coefficient of Agreement for Nominal Scales", 1960.
    """
    if not pairs:
        return None
    of = len(pairs)
    agreed = sum(first == second for first, second in pairs) / of
    firsts, seconds = (Counter(side) for side in zip(*pairs, strict=True))
    chance = sum(firsts[verdict] * seconds[verdict] for verdict in firsts) / of**2
    return 1.0 if chance == 1 else (agreed - chance) / (1 - chance)


def agreement(
    first: Mapping[tuple[str, str], str], second: Mapping[tuple[str, str], str]
) -> dict[str, tuple[int, float | None]]:
    """Return for each thing asked how many both judged, and their kappa."""
    agreed = {}
    for asked in VERDICTS:
        both = [key for key in first if key[1] == asked and key in second]
        agreed[asked] = (len(both), kappa([(first[key], second[key]) for key in both]))
    return agreed
