from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bumble.portraits import amend
from bumble.portraits.amend import LineEdit

LINE = st.text(st.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp")), max_size=12)
TEXTS = st.lists(LINE, max_size=30).map("\n".join)
EDITS = st.lists(
    st.builds(
        LineEdit, st.sampled_from(["insert", "replace"]), st.integers(-2, 35), st.text(max_size=12)
    ),
    max_size=12,
)
BO = "Bo is a baker.\nBo likes rain.\nBo has a dog."


@given(TEXTS, EDITS, st.integers(0, 8))
def test_untouched_lines_stay_in_their_order(text: str, edits: list[LineEdit], most: int) -> None:
    done = amend.apply(text, edits, most)
    replaced = {edit.line for edit in done.applied if edit.op == "replace"}
    kept = [line for n, line in enumerate(amend.numbered(text), 1) if n not in replaced]
    left = iter(amend.numbered(done.text))
    assert all(line in left for line in kept)


@given(TEXTS, EDITS, st.integers(0, 8))
def test_no_more_lines_are_touched_than_allowed(
    text: str, edits: list[LineEdit], most: int
) -> None:
    done = amend.apply(text, edits, most)
    before, after = amend.numbered(text), amend.numbered(done.text)
    assert len(done.applied) <= most
    assert len(done.applied) + len(done.refused) == len(edits)
    assert len(after) - len(before) == sum(edit.op == "insert" for edit in done.applied)


@given(TEXTS, EDITS)
def test_nothing_applied_changes_no_byte(text: str, edits: list[LineEdit]) -> None:
    assert amend.apply(text, edits, 0).text == text


def test_edits_count_lines_as_they_were_before_any_edit() -> None:
    edits = [LineEdit("insert", 1, "Bo rises early."), LineEdit("replace", 3, "Bo has two dogs.")]
    assert amend.apply(BO, edits, 6).text == (
        "Bo is a baker.\nBo rises early.\nBo likes rain.\nBo has two dogs."
    )


def test_a_line_can_go_on_top_and_at_the_end() -> None:
    edits = [LineEdit("insert", 0, "Bo and I met."), LineEdit("insert", 3, "Bo sings.")]
    assert amend.apply(BO, edits, 6).text == f"Bo and I met.\n{BO}\nBo sings."


def test_line_ends_of_the_text_are_kept() -> None:
    done = amend.apply("One.\r\nTwo.", [LineEdit("insert", 2, "Three.")], 6)
    assert done.text == "One.\r\nTwo.\r\nThree."


def test_what_cannot_be_is_refused_with_its_reason() -> None:
    edits = [
        LineEdit("replace", 4, "No such line."),
        LineEdit("replace", 0, "Nor this."),
        LineEdit("insert", 1, "  "),
        LineEdit("insert", 1, "bo LIKES rain."),
        LineEdit("replace", 1, "Bo bakes."),
        LineEdit("replace", 1, "Bo cooks."),
    ]
    done = amend.apply(BO, edits, 6)
    assert [edit.text for edit in done.applied] == ["Bo bakes."]
    assert [why for _, why in done.refused] == [
        "there is no line 4",
        "there is no line 0",
        "it is empty",
        amend.THERE_ALREADY,
        "line 1 was replaced already",
    ]


def test_a_quarter_of_the_lines_or_six_may_be_touched() -> None:
    assert amend.limit(BO, 0.25, 6) == 6
    assert amend.limit("\n\n".join(f"Line {n}." for n in range(40)), 0.25, 6) == 10
