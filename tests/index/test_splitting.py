from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bumble.index.form import estimated_tokens, split

PARAGRAPHS = [f"This is paragraph {n}. " + "It goes on for a while. " * 12 for n in range(12)]


def test_the_line_of_a_piece_is_where_its_text_stands() -> None:
    text = "\n\n".join(PARAGRAPHS)
    for piece in split(text):
        assert text.split("\n")[piece.line].startswith(piece.text.split("\n")[0])


def test_a_short_sentence_at_the_seam_stands_on_both_sides() -> None:
    first, second = split("A long start of it all. " * 34 + "The key is blue. " + "More. " * 60)[:2]
    assert first.text.split(". ")[-1].rstrip(".") in second.text


def test_what_a_lead_refers_to_stands_with_it() -> None:
    quotes = [f"> Sam, {n} May: “{'the fair is on that day, and ' * 5}”" for n in range(12)]
    lead = "This is the newer word. Before that it was:"
    for n in range(1, 12):  # wherever the pieces end
        pieces = split("\n\n".join([*quotes[:n], lead, *quotes[n:]]))
        assert len(pieces) > 2
        both = [piece.text for piece in pieces if f"{quotes[n - 1]}\n\n{lead}" in piece.text]
        assert sum(lead in piece.text for piece in pieces) == len(both)


@given(st.text(alphabet=st.sampled_from("ab c.:\n!猫。\u0441"), max_size=4000))
def test_no_word_is_lost_and_no_piece_is_too_long(text: str) -> None:
    pieces = split(text, 40)
    assert all(estimated_tokens(piece.text) <= 40 for piece in pieces)
    assert set(text.split()) <= set(" ".join(piece.text for piece in pieces).split()) | {
        word for word in text.split() if estimated_tokens(word) > 20 or "。" in word
    }
