from __future__ import annotations

import pytest

from bumble.errors import RefusedError
from bumble.records import relationships
from tests.support.chatting import act, script
from tests.support.running import Run


@pytest.fixture
def ada(run: Run) -> Run:
    script(run, *(act("say", text="Hello.") for _ in range(4)))
    return run


def known(run: Run) -> list[str]:
    return sorted(path.stem for path in relationships.PERSON.files(run.entity.relationships))


@pytest.mark.parametrize(
    ("first", "later"), [("O'Brien", "O’Brien"), ("ibrahim", "İbrahim"), ("أحمد", "احمد")]
)
def test_spellings_of_one_name_are_one_person(ada: Run, first: str, later: str) -> None:
    ada.ok("chat", "--as", first, "Hi.")
    ada.ok("chat", "--as", later, "It is me.")
    assert len(known(ada)) == 1
    assert ada.ok("person", "show", later, "--json").data["interaction_count"] == 2
    assert ada("person", "add", later).code == RefusedError.exit_code
    assert ada.ok("recall", "Hi", "--as", later, "--json").data["hits"]
    ada.ok("person", "forget", later, "--yes")
    assert known(ada) == []


@pytest.mark.parametrize(
    "words",
    [
        ("chat", "--as", "Zoe", "Hi."),
        ("chat", "--with", "Zoe", "Hi."),
        ("recall", "--as", "Zoe", "Hi."),
        ("recall", "--person", "Zoe", "Hi."),
        ("petri", "--as", "Zoe"),
        ("deep-recall", "--as", "Zoe", "Hi?"),
        ("remind", "add", "--for", "Zoe", "--in", "1h", "Call."),
        ("import", "--as", "Zoe", "."),
        ("mcp", "--as", "Zoe"),
        ("context", "prompt", "--as", "Zoe"),
        ("episode", "add", "--person", "Zoe", "We met."),
        ("person", "add", "Zoe"),
    ],
)
def test_a_name_that_differs_by_marks_is_refused_with_both_names(
    ada: Run, words: tuple[str, ...]
) -> None:
    ada.ok("chat", "--as", "Zoë", "Hi.")
    before = ada.state()
    ran = ada(*words)
    assert ran.code == RefusedError.exit_code, ran.err
    assert "Zoë" in ran.err
    assert "Zoe" in ran.err
    assert {path: state for path, state in ada.state().items() if path in before} == before
    assert known(ada) == ["zoë"]


def test_two_people_of_one_normal_form_are_told_apart_by_their_letters(run: Run) -> None:
    for name, file in (("O'Brien", "o-brien-1"), ("O’Brien", "o-brien-2")):
        run.write(f"relationships/{file}.md", f"---\nnames: [{name}]\n---\n\nIt is {file}.\n")
    for name, file in (("O'Brien", "o-brien-1"), ("O’Brien", "o-brien-2")):
        assert f"It is {file}." in run.ok("person", "show", name).out
