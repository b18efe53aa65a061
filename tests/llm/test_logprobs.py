from __future__ import annotations

import math
from typing import Any

import pytest

from bumble.llm import logprobs


def entry(token: Any, logprob: Any, *listed: Any) -> dict[str, Any]:
    return {"token": token, "logprob": logprob, "top_logprobs": list(listed)}


def test_tokens_that_read_the_same_count_together_and_the_end_is_no_text() -> None:
    shares = logprobs.by_text([("\ufffd", math.log(0.25)), ("", -0.1), ("\ufffd", math.log(0.5))])
    assert shares == pytest.approx({"\ufffd": math.log(0.75)})


def test_a_token_that_a_grammar_took_from_further_down_is_a_candidate_too() -> None:
    read = logprobs.read({"content": [entry("no", -5.5, entry("No", -0.5), entry("The", -1.0))]})
    assert read == pytest.approx({"No": -0.5, "The": -1.0, "no": -5.5})


@pytest.mark.parametrize(
    "value",
    [
        *(None, [], "x", {}, {"content": None}, {"content": []}, {"content": [3]}),
        {"content": [{"token": "a", "logprob": -1.0}]},
        {"content": [entry("a", None, entry(3, -1.0), entry("b", "x"), entry("c", True), None)]},
        {"content": [entry("a", float("nan"), entry("b", float("-inf")))]},
    ],
)
def test_what_cannot_be_read_gives_no_candidate(value: Any) -> None:
    assert logprobs.read(value) == {}
