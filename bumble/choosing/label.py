"""One label a message: how likely a model holds it to be worth keeping.

The label itself is right about half of the time, what the candidates for its first token have
together is not: a fact, a plan and a change are kept, whichever of them it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from bumble.llm.protocol import Completion, Model, Request
from bumble.runtime import job_request
from bumble.text import tokens
from bumble.text.words import one_line

PURPOSE = "notice"
KEPT = ("fact", "plan", "change")
LABELS = (*KEPT, "joke", "if", "question", "chat")
CANDIDATES = 30  # for the first token; fewer are told by some services
MAX_TOKENS = 150  # of the message, as the model is shown it


def share(model: Model, text: str) -> float | None:
    """Ask how likely a message is worth keeping; None if the answer is no label.

    Raises:
        ModelUnreachableError: If nothing answers.
        CredentialsError: If the service wants another key.
        WeightsMissingError: If the model is not there.
    """
    slots = {"message": tokens.cut(one_line(text), MAX_TOKENS)}
    shares = of_first_token(model.complete(request(PURPOSE, slots)), LABELS)
    return sum(shares.get(label, 0.0) for label in KEPT) if shares else None


def request(prompt: str, slots: Mapping[str, str]) -> Request:
    """Make the request for one token of a prompt; what comes before its last message is evaluated
    once, in whatever process."""
    return Request(
        messages=job_request.messages(prompt, slots),
        purpose=prompt,
        max_tokens=1,
        temperature=0.0,
        top_logprobs=CANDIDATES,
        cache_id=job_request.cache_id(prompt),
    )


def of_first_token(answer: Completion, choices: Sequence[str]) -> Mapping[str, float]:
    """Return what each choice has of the probability of all choices; empty if it is none of them.

    A candidate stands for the one choice that begins with it. A backend that tells no
    probabilities has chosen by its text.
    """
    probabilities = {text: math.exp(value) for text, value in answer.first_logprobs.items()}
    sums: dict[str, float] = {}
    for text, probability in (probabilities or {answer.text: 1.0}).items():
        begun = text.strip().casefold()
        meant = [choice for choice in choices if begun and _begins(choice, begun)]
        if len(meant) == 1:
            sums[meant[0]] = sums.get(meant[0], 0.0) + probability
    total = sum(sums.values())
    return {choice: value / total for choice, value in sums.items()} if total else {}


def _begins(choice: str, begun: str) -> bool:
    return choice.startswith(begun) or begun.startswith(choice)
