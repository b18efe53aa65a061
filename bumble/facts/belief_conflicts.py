"""Whether a new claim says the same as a belief or contradicts it: by judge, by negation words.

Both legs of the search name the nearest beliefs; a model judges them in one call. Without it, only
what is both near in meaning and nearly the same words counts as the same, and nothing contradicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase
from typing import Any

import numpy as np
from msgspec.structs import replace

from bumble.embed import calibrate
from bumble.embed.protocol import Embedder
from bumble.facts import beliefs
from bumble.facts.beliefs import Claim, Verdict
from bumble.grounding import grounded
from bumble.grounding.speakers import Speakers
from bumble.llm import structured
from bumble.records import beliefs as store
from bumble.records.beliefs import Belief
from bumble.runtime import job_request
from bumble.runtime.job import NO_ANSWER
from bumble.runtime.runtime import Runtime
from bumble.text import stop_words, words

PURPOSE = "judge_beliefs"
MAX_TOKENS, TEMPERATURE = 300, 0.1
NEAR = 0.8  # calibrated similarity of two wordings of one claim, at least
PERCENTILE = 99  # of the entity's own pairs: where all is about one thing, all is alike
LEAST_PAIRS, MOST_SAMPLED = 45, 60
SHARED_WORDS = 0.6  # of the telling words of two claims that nobody has judged
RELATED_WORDS, RELATED = 2, 0.5  # what a contradiction needs, or a small model's verdict is noise
_NEGATIONS = """
not no never nobody nothing without nicht kein keine nie não nunca no sin ne pas jamais
"""
_NEGATION = frozenset(_NEGATIONS.split())


def weigh(runtime: Runtime, claims: Sequence[Claim]) -> list[Claim]:
    """Return the claims with verdicts on the beliefs near them.

    The index has to be up to date. Asks the model once, if there is anything near.
    """
    held = {belief.id: belief for belief in store.read(runtime.entity.beliefs)}
    nearest = [_nearest(runtime, claim, held) for claim in claims]
    new = [not any(beliefs.repeats(claim, belief) for belief in held.values()) for claim in claims]
    asked = [near if is_new else {} for near, is_new in zip(nearest, new, strict=True)]
    verdicts = _judged(runtime, claims, asked, held)
    limit = _limit(runtime, list(held.values()))
    weighed = []
    for claim, near, judged in zip(claims, asked, verdicts, strict=True):
        sure = {
            name: verdict
            for name, verdict in judged.items()
            if verdict == "same" or _related(claim, held[name], near[name])
        }
        for name, likeness in near.items():
            if name not in sure and _same(claim, held[name], likeness, limit):
                sure[name] = "same"
        weighed.append(replace(claim, verdicts=sure))
    return weighed


def _nearest(runtime: Runtime, claim: Claim, held: dict[str, Belief]) -> dict[str, float | None]:
    """Return the ids of the beliefs nearest to a claim, with their calibrated similarity."""
    hits = runtime.memory.search(
        claim.text,
        kinds=("belief",),
        limit=runtime.config.memory.beliefs.neighbours,
        audience=claim.provenance.audience,
    )
    return {
        hit.id: hit.parts.calibrated
        for hit in hits
        if hit.id in held and beliefs.may_meet(claim.provenance.audience, held[hit.id])
    }


def _judged(
    runtime: Runtime,
    claims: Sequence[Claim],
    nearest: Sequence[dict[str, float | None]],
    held: dict[str, Belief],
) -> list[dict[str, Verdict]]:
    """Ask the model about all claims at once; without its answer nothing is judged."""
    names = list(dict.fromkeys(name for near in nearest for name in near))
    verdicts: list[dict[str, Verdict]] = [{} for _ in claims]
    if not names:
        return verdicts
    numbered = dict(enumerate(names, 1))
    letters = ascii_lowercase[: len(claims)]
    slots = {
        "held": "\n".join(f"{n}. {_line(held[name].text)}" for n, name in numbered.items()),
        "claims": "\n".join(
            f"{a}. {_line(claim.text)}" for a, claim in zip(letters, claims, strict=True)
        ),
    }
    request = job_request.request(
        runtime, PURPOSE, slots, max_tokens=MAX_TOKENS, temperature=TEMPERATURE
    )
    try:
        answer = structured.answer(runtime.model, request, _schema(letters, len(names)))
    except NO_ANSWER:
        return verdicts
    for pair in answer["pairs"]:
        n, name = letters.index(pair["new"]), numbered[pair["held"]]
        if pair["verdict"] != "unrelated" and name in nearest[n]:
            verdicts[n].setdefault(name, pair["verdict"])
    return verdicts


def _line(text: str) -> str:
    return words.one_line(text).replace("<", "‹")


def _schema(letters: str, count: int) -> dict[str, Any]:
    pair = {
        "type": "object",
        "properties": {
            "new": {"enum": list(letters)},
            "held": {"enum": list(range(1, count + 1))},
            "verdict": {"enum": ["same", "contradicts", "unrelated"]},
        },
        "required": ["new", "held", "verdict"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"pairs": {"type": "array", "items": pair, "maxItems": 12}},
        "required": ["pairs"],
        "additionalProperties": False,
    }


def _related(claim: Claim, belief: Belief, likeness: float | None) -> bool:
    """Whether two claims are near enough that one may contradict the other."""
    stems, other_stems = _stems(claim, belief)
    return len(stems & other_stems) >= RELATED_WORDS or (likeness or 0.0) >= RELATED


def _same(claim: Claim, belief: Belief, likeness: float | None, limit: float) -> bool:
    """Whether a claim that nobody judged is a belief in nearly the same words."""
    if belief.category != claim.category or (likeness is not None and likeness < limit):
        return False
    stems, other_stems = _stems(claim, belief)
    return (
        len(stems & other_stems) >= SHARED_WORDS * len(stems | other_stems)
        and _negated(claim.text) == _negated(belief.text)
        and grounded.check(claim.text, [belief.text], Speakers()) is None
        and grounded.check(belief.text, [claim.text], Speakers()) is None
    )


def _stems(claim: Claim, belief: Belief) -> tuple[set[str], set[str]]:
    language = words.language(claim.text, belief.text)
    return words.stems(claim.text, language), words.stems(belief.text, language)


def _negated(text: str) -> bool:
    tokens = stop_words.words(text)
    return any(token in _NEGATION or "n't" in token for token in tokens)


def _limit(runtime: Runtime, held: Sequence[Belief]) -> float:
    """Return the calibrated similarity from which two claims are near, for this entity."""
    embedder = runtime.memory.embedder
    sample = [belief.text for belief in held if not belief.archived][-MOST_SAMPLED:]
    pairs = len(sample) * (len(sample) - 1) // 2
    if embedder is None or pairs < LEAST_PAIRS:
        return NEAR
    return max(NEAR, _percentile(embedder, sample))


def _percentile(embedder: Embedder, texts: Sequence[str]) -> float:
    vectors = embedder.embed_documents(texts)
    cosines = (vectors @ vectors.T)[np.triu_indices(len(texts), 1)]
    likeness = calibrate.similarity(cosines, embedder.unrelated_cosine)
    return float(np.percentile(likeness, PERCENTILE))
