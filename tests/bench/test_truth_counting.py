from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from bench import truth_counting, truth_living
from bench.truth_counting import MemoryEntry
from tests.support.planted import MESSAGES, lived, turn


def test_a_fact_needs_all_of_its_texts_and_one_variant_in_one_entry() -> None:
    whole = MemoryEntry("beliefs/a.md", "Mira must not eat nuts.")
    halves = (MemoryEntry("a", "Mira is six."), MemoryEntry("b", "Nuts are bad."))

    assert truth_counting.count(lived(whole)).shares["facts kept"] == (1, 3)  # one was corrected
    assert truth_counting.count(lived(*halves)).shares["facts kept"] == (0, 3)


def test_of_a_correction_both_are_there_and_the_newer_comes_first() -> None:
    both = MemoryEntry("a", "2 july, not 30 june")
    asked = {"n": 0, "text": "when?", "person": "Ana", "reply": "", "hits": []}
    newer, older = "no, the fair is on 2 july", "(2026-06-01) Ana: fair is on the 30 june"
    asked["prompt"] = [f"It is 30 june.\n- {newer}. Before that: {older}"]

    counts = truth_counting.count(lived(both, questions=[asked]))

    assert counts.shares["corrections: both there"] == (1, 1)
    assert counts.shares["corrections: newer first in a prompt"] == (1, 1)
    for wrong in (f"- {older}\n- {newer}", f"2 july\n- {older}"):
        asked["prompt"] = [wrong]
        counts = truth_counting.count(lived(both, questions=[asked]))
        assert counts.shares["corrections: newer first in a prompt"] == (0, 1)


def test_a_joke_in_memory_is_counted() -> None:
    counts = truth_counting.count(lived(MemoryEntry("a", "The cuckoo has left.")))

    assert counts.shares["jokes kept"] == (1, 1)


def test_a_confidence_crosses_where_another_gets_it() -> None:
    safe = {"n": 0, "text": "is she well?", "person": "Bo", "reply": "Yes.", "hits": ["nothing"]}
    safe |= {"prompt": ["a prompt"]}
    leak = safe | {"reply": "She owes 9300.", "prompt": ["she owes 9300"]}
    known = leak | {"text": "does she owe 9300?"}

    counts = truth_counting.count(lived(questions=[safe, leak, known]))

    assert counts.shares["confidences crossed: replies"] == (1, 3)
    assert counts.shares["confidences crossed: prompts"] == (1, 3)
    assert counts.shares["confidences crossed: searches"] == (0, 3)


def test_retrieval_and_answer_are_told_apart() -> None:
    turns = [turn(message["i"]) for message in MESSAGES]
    turns[5] |= {"prompt": ["(2026-02-12) how old am i", "you are 12"], "reply": "No idea."}

    counts = truth_counting.count(lived(turns=turns))

    assert counts.shares["questions in talks: in the prompt"] == (1, 1)
    assert counts.shares["questions in talks: answered"] == (0, 1)
    turns[5]["prompt"] = ["how old am i"]
    counts = truth_counting.count(lived(turns=turns))
    assert counts.shares["questions in talks: in the prompt"] == (0, 1)


@pytest.mark.parametrize(
    ("reply", "newer_first"),
    [
        ("On 3 May: “it is the 28th”. Before that: “it is the 21st”", True),
        ("On 1 May: “it is the 21st”. Later: “it is the 28th”", False),
        ("It is the 28th.", False),
        ("It is the 21st.", False),
    ],
)
def test_both_words_may_be_named_the_newer_first(reply: str, newer_first: bool) -> None:
    asked = {"reply": reply, "expect": ["28th"], "stale": ["21st"]}
    assert truth_counting.names_newer_first(asked) is newer_first


@pytest.mark.parametrize(
    ("reply", "rule"),
    [
        ("Hey Ada! How was it?", "greets itself"),
        ("Hallo Ada, schön.", "greets itself"),
        ("Good evening Ada, thank you for sitting down.", "greets itself"),
        ("Hey Ana! How was it?", ""),
        ("I am Ana, and I drive.", "says it is somebody else"),
        ("Ich heiße Bo.", "says it is somebody else"),
        ("I am Ada.", ""),
        ("Mira has a nut allergy!", "says the message as its own"),
        ("You wrote: “mira has a nut allergy”.", ""),
        ("Noted: “I am Ana, 69, and I drew maps”.", ""),
    ],
)
def test_roles_are_confused_by_rule(reply: str, rule: str) -> None:
    assert truth_counting.confuses_roles(turn(0, reply), "Ada", ["Ana", "Bo"]) == rule


@pytest.mark.parametrize(
    ("sentence", "person", "is_quote"),
    [
        ("Ana said: “mira has a nut allergy”.", "", True),
        ("2026-06-15: \"Mira has a nut allergy\"", "ana", True),
        ("Ana: mira has a nut allergy", "", True),
        ("mira has a nut allergy", "ana", True),
        ("mira has a nut allergy", "bo", False),
        ("Bo said: “mira has a nut allergy”.", "", False),
        ("mira has a nut allergy", "", False),  # who says so?
        ("Ana said: “mira has a cat”.", "", False),
        ("“nut allergy”, she whispered.", "ana", False),  # too little to be a quote
        ("Ana told me at length, while we sat in the kitchen and she wept, “mira has a nut"
         " allergy”.", "", False),
    ],
)  # fmt: skip
def test_a_quote_of_the_right_person_is_supported(
    sentence: str, person: str, is_quote: bool
) -> None:
    entry = MemoryEntry("relationships/x.md", sentence, person)

    assert truth_counting.is_quote(sentence, entry, lived()) is is_quote


def test_statements_are_what_stands_outside_of_conversations(tmp_path: Path) -> None:
    files = {
        "sessions/ses_1/notes.md": "Said in a talk.\n",
        "knowledge.md": "# Facts\n\n## Mira\n<!-- {by: distill} -->\n\nEats no nuts. Is six.\n",
        "beliefs/bel_1.md": "---\nat: 2026-06-30T10:00:00Z\ncategory: preference\n---\n\n- A.\n",
        "relationships/ana.md": "---\nunresolved: [how the tests went]\n---\n\nAna is tired.\n",
        "skills/egg.md": "Six minutes.\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    entries = truth_counting.memory(tmp_path)

    told = {(entry.person, *each) for entry in entries for each in entry.sentences()}
    assert told == {
        ("", "Mira", "Eats no nuts."),
        ("", "Mira", "Is six."),
        ("", "", "A."),
        ("ana", "", "Ana is tired."),
        ("ana", "", "how the tests went"),
    }
    assert not truth_counting.holds(entries[1].text, {"any": ["06-30"]})


def test_costs_are_shared_among_messages() -> None:
    call = {"prompt_tokens": 100, "cached_tokens": 40, "completion_tokens": 10}
    chat = {"seconds": {"first_token": [3.5]}}
    turns = [turn(0, calls=[call], chat=chat), turn(1)]

    costs = truth_counting.costs(turns)

    assert (costs.reply_cpu_seconds, costs.passes_cpu_seconds) == (2.0, 4.0)
    assert costs.reply_tokens == (30.0, 5.0)
    assert costs.passes_tokens == (0.0, 0.0)
    assert costs.first_word_seconds == {1: 3.5}
    assert costs.command_seconds == {1: 1.0, 2: 1.0}


def test_raw_outputs_are_read_without_what_was_there_from_birth(tmp_path: Path) -> None:
    for folder in (truth_living.NEWBORN, truth_living.FOLDER):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "knowledge.md").write_text("## Always\n\nBe kind.\n")
    with (tmp_path / truth_living.FOLDER / "knowledge.md").open("a") as file:
        file.write("\n## New\n\nMira is six.\n")
    plan = next(truth_living.LIVES.glob("*.yaml"))
    shutil.copyfile(plan, tmp_path / truth_living.PLAN)
    (tmp_path / truth_living.TURNS).write_text(json.dumps(turn(0)) + "\n")

    seen = truth_counting.read(tmp_path)

    assert [entry.text for entry in seen.entries] == ["## New\n\nMira is six."]
    assert len(seen.life.messages) == len(seen.turns) == 1  # it was stopped after the first
    shutil.rmtree(tmp_path / truth_living.FOLDER)
    assert not truth_counting.read(tmp_path).entries
