from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from bumble.embed import likeness
from bumble.embed.hashing import HashingEmbedder
from bumble.embed.likeness import Class, Likeness

HARBOUR = [f"the boat {word} in the harbour" for word in ("sails", "sinks", "waits", "leaks")]
KITCHEN = [f"grandma {word} soup in her kitchen" for word in ("boils", "eats", "spills", "salts")]
EMBEDDER = HashingEmbedder()


def learned() -> Likeness:
    members = np.array([True] * 4 + [False] * 4)
    vectors = EMBEDDER.embed_documents(HARBOUR + KITCHEN)
    return likeness.fit(vectors, {"harbour": Class(members, ~members)})


def of(known: Likeness, text: str) -> float:
    return known.of(EMBEDDER.embed_query(text))["harbour"]


def test_what_resembles_the_members_is_told_from_what_resembles_the_others() -> None:
    known = learned()
    assert of(known, "a boat turns in the harbour") > 0.3
    assert of(known, "grandma boils soup in the kitchen") < -0.3


def test_examples_are_known_again() -> None:
    known = learned()
    assert all(of(known, text) > 0.5 for text in HARBOUR)
    assert all(of(known, text) < -0.5 for text in KITCHEN)


def test_what_a_class_is_not_told_from_says_nothing() -> None:
    members, others = (np.array([n in chosen for n in range(8)]) for chosen in ((0, 1), (4, 5)))
    vectors = EMBEDDER.embed_documents(HARBOUR + KITCHEN)
    weights = likeness.fit(vectors, {"harbour": Class(members, others)}).weights["harbour"]
    assert [bool(weight) for weight in weights] == list(members | others)


def test_a_few_members_weigh_as_much_as_many_others() -> None:
    members = np.array([True] + [False] * 24)
    texts = [HARBOUR[0], *(f"{text} {n}" for n in range(6) for text in KITCHEN)]
    known = likeness.fit(EMBEDDER.embed_documents(texts), {"harbour": Class(members, ~members)})
    assert of(known, "a boat sails in the harbour again") > 0


def test_a_file_gives_the_same() -> None:
    known, file = learned(), io.BytesIO()
    known.write(file)
    file.seek(0)
    again = likeness.read(file)
    assert of(again, "a boat at sea") == of(known, "a boat at sea")


def test_a_file_of_before_is_read() -> None:
    known, file = learned(), io.BytesIO()
    classes: dict[str, Any] = {f"class_{name}": each for name, each in known.weights.items()}
    arrays: dict[str, NDArray[Any]] = {
        "mean": known.mean,
        "examples": known.examples,
        "scale": np.array(known.scale),
    }
    np.savez_compressed(file, allow_pickle=False, **arrays, **classes)
    file.seek(0)
    assert of(likeness.read(file), "a boat at sea") == of(known, "a boat at sea")


@given(st.binary(max_size=60), st.integers(0, 400))
def test_a_damaged_file_is_no_likeness(more: bytes, cut: int) -> None:
    file = io.BytesIO()
    learned().write(file)
    for data in (more, file.getvalue()[:cut] + more):
        with pytest.raises(ValueError, match=r"."):
            likeness.read(io.BytesIO(data))
