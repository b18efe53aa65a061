from __future__ import annotations

from datetime import UTC

from bumble.cli.commands import eval as evaluation
from bumble.entity.folder import Entity
from bumble.records.checks import Check
from tests.support import record_files

HEAD = "category: preference\nconfidence: 0.5\nformed: 2026-05-23T03:12:47Z\nby: distill\n"


def drafts(entity: Entity, *people: str) -> list[Check]:
    return list(evaluation.drafted(entity, people or ("sam", "kim"), UTC))


def believe(entity: Entity, text: str, more: str = "") -> None:
    record_files.write(entity, "beliefs/bel_1.md", f"---\n{HEAD}{more}---\n\n{text}\n")


def test_a_number_that_no_date_has_is_asked_for_before_a_rare_word(entity: Entity) -> None:
    believe(entity, "Miras Elternabend am 18. Mai 2026 in der Grundschule kostet 180 Euro.")

    [check] = drafts(entity)

    assert check.ask == "Miras Elternabend am 18. Mai 2026 in der Grundschule kostet … Euro."
    assert (check.any_of, check.person) == (("180",), "sam")
    assert check.provenance.sources == ("bel_1",)


def test_a_section_is_asked_for_by_its_title(entity: Entity) -> None:
    text = (
        "## Rex\n<!-- {by: distill, from: [msg_1]} -->\n\nRex is a poodle.\n\n## Mine\n\nBy hand.\n"
    )
    record_files.write(entity, "knowledge.md", text)

    [check] = drafts(entity)

    assert (check.ask, check.any_of) == ("Rex", ("poodle",))
    assert check.provenance.sources == ("msg_1",)


def test_what_one_may_hear_is_asked_of_another_too(entity: Entity) -> None:
    believe(entity, "Kim owes 9300 euro to the old bank.", "audience: [kim]\n")

    own, strange = drafts(entity)

    assert (own.person, own.any_of, own.never) == ("kim", ("9300",), ())
    assert (strange.person, strange.any_of, strange.never) == ("sam", (), ("9300",))
    assert own.provenance.audience == strange.provenance.audience == ("kim",)
