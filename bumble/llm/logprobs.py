"""The candidates for the first token of an answer, as a backend lists them: text to logarithm."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from typing import Any

MOST = 20  # that OpenAI, vLLM and Ollama give at most; the first two refuse to be asked for more


def by_text(candidates: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return what each text has of probability, as its natural logarithm.

    Tokens that read the same (pieces of one character do) count together. One without a text ends
    the answer and is no text of it.
    """
    shares: dict[str, float] = {}
    for text, logarithm in candidates:
        if text and not math.isnan(logarithm):
            shares[text] = shares.get(text, 0.0) + math.exp(min(0.0, logarithm))
    return {text: math.log(min(1.0, share)) for text, share in shares.items() if share > 0}


def read(value: Any) -> dict[str, float]:
    """Read the `logprobs` of a choice in OpenAI's form; they inform, nothing more.

    Returns:
        The candidates for the first of its tokens, with the token itself where a grammar took one
        from further down; none of what can't be read.
    """
    content = value.get("content") if isinstance(value, dict) else None
    first = content[0] if isinstance(content, list) and content else None
    listed = first.get("top_logprobs") if isinstance(first, dict) else None
    if not isinstance(listed, list):
        return {}
    shares = by_text(pair for entry in listed if (pair := _pair(entry)) is not None)
    taken = _pair(first)
    return shares if taken is None else by_text([taken]) | shares


def _pair(entry: Any) -> tuple[str, float] | None:
    if not isinstance(entry, Mapping):
        return None
    text, logarithm = entry.get("token"), entry.get("logprob")
    if not isinstance(text, str) or isinstance(logarithm, bool):
        return None
    if not isinstance(logarithm, int | float) or not abs(logarithm) < sys.float_info.max:
        return None  # JSON may hold a whole number that is no float
    return text, float(logarithm)
