from __future__ import annotations

from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bumble.errors import RecordInvalidError
from bumble.index import chunks, terms
from bumble.index.chunks import Chunk
from bumble.index.form import estimated_tokens, split

if TYPE_CHECKING:
    from tests.support.notes import Notes


def read(kind: str, path: Path) -> list[Chunk]:
    return chunks.read(kind, path, name="Ada", zone=UTC)


def test_a_turn_is_embedded_as_what_was_said_by_whom_and_when(notes: Notes) -> None:
    path = notes.session("a", [("sam-miller", "I moved to Lisbon."), ("Ada", "How is it?")])
    assert [chunk.embedded for chunk in read("message", path)] == [
        "(1 May 2026) Sam Miller said: I moved to Lisbon.",
        "(1 May 2026) Ada said: How is it?",
    ]


def test_a_turn_is_found_by_the_two_turns_before_it_and_no_more(notes: Notes) -> None:
    turns = [("sam", "tide"), ("Ada", "harbour"), ("sam", "lantern"), ("Ada", "yes")]
    last = read("message", notes.session("a", turns))[-1]
    assert {"lantern", "harbour"} <= set(last.around)
    assert "tide" not in last.around


def test_the_vector_of_a_turn_leans_on_the_turns_before_it(notes: Notes) -> None:
    first, second = read("message", notes.session("a", [("sam", "tide"), ("Ada", "yes")]))
    assert first.recipe == ((first.hash, 1.0),)
    assert second.recipe == ((second.hash, 1.0), (first.hash, chunks.AROUND_WEIGHTS[0]))


def test_a_reply_that_code_made_is_not_found_before_what_it_quotes(notes: Notes) -> None:
    said = [("sam", "My dog is called Biscuit."), ("sam", "What did I tell you?")]
    path = notes.session("a", [*said, ("Ada", "You told me: my dog is called Biscuit.")])
    lines = path.read_text().rstrip("\n").split("\n")
    path.write_text("\n".join([*lines[:-1], lines[-1][:-1] + ', "example": false}']) + "\n")
    assert [chunk.text for chunk in read("message", path)] == [text for _, text in said]


def test_those_who_took_part_are_the_audience_of_a_turn(notes: Notes) -> None:
    path = notes.session("a", [("sam", "hello"), ("kim", "hi")])
    assert {chunk.audience for chunk in read("message", path)} == {("sam", "kim")}


def test_a_long_episode_becomes_chunks_with_their_own_lines(notes: Notes) -> None:
    body = "\n\n".join(f"Part {n}. " + "It rained on the harbour. " * 20 for n in range(6))
    path = notes.episode("1", body)
    found = read("episode", path)
    assert [chunk.ordinal for chunk in found] == list(range(len(found)))
    lines = path.read_text().split("\n")
    assert len(found) > 2
    assert all(lines[chunk.line - 1].startswith(chunk.text[:10]) for chunk in found)


def test_a_section_of_knowledge_is_found_by_its_title(notes: Notes) -> None:
    path = notes.write("knowledge.md", "# Facts\n\n## [locked] Boiling point\n\nIt is 100 °C.\n")
    (chunk,) = read("knowledge", path)
    assert (chunk.record, chunk.line, chunk.text) == ("Boiling point", 5, "It is 100 °C.")
    assert "boil" in chunk.terms


def test_a_skill_a_person_a_belief_and_a_story_are_chunks(notes: Notes) -> None:
    skill = "---\nname: Bake bread\ndescription: Dough and heat\n---\n\nKnead it.\n"
    meta = "category: preference\nconfidence: 0.5\nformed: 2026-05-01T00:00:00+00:00\n"
    belief = f"---\n{meta}---\n\nSam likes tea.\n"
    person = "---\nnames: [Sam Miller]\n---\n\nKind.\n"
    one = read("skill", notes.write("skills/bread/SKILL.md", skill))[0]
    other = read("belief", notes.write("beliefs/bel_1.md", belief))[0]
    sam = read("person", notes.write("relationships/sam.md", person))[0]
    story = read("narrative", notes.write("narrative.md", "I began in May.\n"))[0]
    assert (one.record, one.embedded) == ("bread", "Bake bread: Dough and heat\nKnead it.")
    assert (other.record, other.text) == ("bel_1", "Sam likes tea.")
    assert (sam.people, sam.embedded) == (("sam",), "Sam Miller\nKind.")
    assert story.text == "I began in May."


def test_a_file_that_cannot_be_read_is_an_error_with_its_line(notes: Notes) -> None:
    path = notes.write("episodes/2026/05/ep_1.md", "---\nat: [\n---\n\nx\n")
    with pytest.raises(RecordInvalidError) as caught:
        read("episode", path)
    assert str(path) in str(caught.value)


def test_each_turn_is_indexed_in_its_language(notes: Notes) -> None:
    texts = ("gestern war ich mit meinen Schwestern am See", "ok", "I love my sisters and cats")
    chunks_read = read("message", notes.session("a", [("sam", text) for text in texts]))
    assert [chunk.language for chunk in chunks_read] == ["de", "de", "en"]
    assert set(terms.terms("Schwester", "de")) <= set(chunks_read[0].terms)
    assert "sister" in chunks_read[2].terms


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
