"""Where a record comes from stands beside it: what is read is the same, whatever is lost."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bumble.entity import changes, companions
from bumble.entity.changes import ChangeSet
from bumble.entity.folder import Entity
from bumble.history import merge
from bumble.jobs.forgetting import forget
from bumble.records import base, beliefs, journal, kinds, knowledge, relationships
from bumble.records.base import Provenance
from bumble.records.kind import Kind
from bumble.text import markdown, yaml_edit
from tests.support import record_files
from tests.support.kind_samples import record
from tests.support.living import NOON, known, talked
from tests.support.running import Run

FROM = Provenance("distill", "m", ("msg_1",), "person", ("sam",))
TEXT = "I hide marzipan."
ID = "bel_01KQREV9W031BS9QW8JTRT29W6"
WHOLE = """---
category: preference
confidence: 0.7
formed: 2026-05-01T10:00:00Z
by: distill
from: [ses_1, msg_1]
trust: owner
audience: [sam]
---

Sam likes the sea.
"""
FACTS = """Facts.

## [locked] Rules

Be kind.

## Wrist
<!-- {by: distill, from: [msg_1], trust: person, audience: [mara]} -->

It hurts.

## Mine

By hand.
"""
HAS = [kind for kind in kinds.KINDS if companions.place(record(kind.name, TEXT)[0])]
every_kind = pytest.mark.parametrize("kind", HAS, ids=lambda kind: kind.name)


def pair(path: str, text: str) -> tuple[str, str]:
    made = companions.split(path, text)
    assert made.companion is not None
    return made.text, made.companion


@every_kind
def test_a_record_says_the_same_in_two_files_and_shows_six_lines_at_most(kind: Kind) -> None:
    path, text = record(kind.name, TEXT)
    shown, beside = pair(path, text)
    whole = companions.joined(path, shown, beside)
    assert companions.split(path, whole, shown, beside) == companions.RecordFiles(shown, beside)
    assert companions.digest(path, whole.encode()) == companions.digest(path, text.encode())
    document = markdown.parse(shown)
    assert shown.count("\n", document.meta_start, document.meta_end) <= 6
    assert "<!--" not in shown
    assert "distill" not in shown or "by" in document.meta
    assert kind.parse(shown, ID)


@every_kind
def test_a_lost_companion_leaves_the_least_trust_and_opens_nothing(
    kind: Kind, entity: Entity
) -> None:
    path, text = record(kind.name, TEXT)
    file = entity.root / path.replace("_1.md", f"_{ID[4:]}.md")
    path = entity.relative(file)
    changed = changes.write(path, text, (base.read_text(file) if file.exists() else None), "x")
    changes.apply(entity.root, ChangeSet("x", (changed,)))
    before = [view.origin for view in kind.read(file, UTC) if view.origin.by]
    (entity.root / str(companions.place(path))).unlink()
    after = [view.origin for view in kind.read(file, UTC) if view.origin.audience]
    assert len(before) == len(after)
    assert [origin.audience for origin in after] == [origin.audience for origin in before]
    assert {origin.trust for origin in after} <= {companions.LEAST}
    assert kind is relationships.PERSON or before


@pytest.mark.parametrize("broken", ["", "a: [", "- x\n", "<<<<<<< ours\nby: x\n>>>>>>> theirs\n"])
def test_a_companion_that_is_none_counts_as_lost(broken: str) -> None:
    path = beliefs.BELIEF.path(ID)
    shown, _ = pair(path, WHOLE)
    belief = beliefs.BELIEF.parse(companions.joined(path, shown, broken or None), ID)
    assert (belief.text, belief.audience) == ("Sam likes the sea.", ("sam",))
    assert belief.provenance.trust == companions.LEAST


def test_facts_hold_no_comment_and_say_who_alone_may_meet_them() -> None:
    shown, beside = pair(knowledge.PATH, FACTS)
    assert "<!--" not in shown
    assert "## Wrist [only for mara]\n\nIt hurts.\n" in shown
    assert "\n## Mine\n\nBy hand.\n" in shown
    assert yaml_edit.parse_mapping(beside) == {
        "Wrist": {"by": "distill", "from": ["msg_1"], "trust": "person"}
    }


def test_an_edited_section_keeps_its_origin_and_a_new_one_is_the_hands() -> None:
    shown, beside = pair(knowledge.PATH, FACTS)
    edited = shown.replace("It hurts.", "It hurts less.") + "\n## Knee\n\nSore.\n"
    read = knowledge.parse(companions.joined(knowledge.PATH, edited, beside))
    wrist, knee = knowledge.find(read, "wrist"), knowledge.find(read, "Knee")
    assert wrist is not None and knee is not None
    assert (wrist.text, wrist.provenance.by) == ("It hurts less.", "distill")
    assert wrist.provenance.audience == ("mara",)
    assert knee.provenance == base.BY_HAND


def test_an_origin_without_a_name_is_that_of_no_section() -> None:
    text = "# Known\n\n## Wrist\n\nIt hurts.\n"
    joined = companions.joined(knowledge.PATH, text, '"": {for: [mara]}\n')
    assert joined == text


def test_a_section_for_a_name_that_no_mark_holds_is_least_trusted_without_a_companion() -> None:
    part = '## Wrist\n<!-- {audience: ["b, c"]} -->\n\nIt hurts.\n'
    lost = f"---\nsources: sources/knowledge.yaml\n---\n\n{part}"
    (wrist,) = knowledge.parse(companions.joined(knowledge.PATH, lost, None)).sections
    assert (wrist.provenance.audience, wrist.provenance.trust) == (("b, c",), companions.LEAST)
    (hand,) = knowledge.parse(companions.joined(knowledge.PATH, part, None)).sections
    assert hand.provenance.trust == ""


def test_what_an_editor_put_first_stays_where_all_fields_go() -> None:
    path = beliefs.BELIEF.path(ID)
    shown, beside = pair(path, "\ufeff" + WHOLE.replace("audience: [sam]\n", ""))
    assert shown == "\ufeffSam likes the sea.\n"
    whole = companions.joined(path, shown, beside)
    assert companions.split(path, whole, shown, beside) == companions.RecordFiles(shown, beside)


def test_what_a_hand_put_in_front_stays_there_and_goes_before_the_companion() -> None:
    path = beliefs.BELIEF.path(ID)
    shown, beside = pair(path, WHOLE)
    by_hand = shown.replace("audience", "confidence: 0.7 # sure\ncategory: correction\naudience")
    belief = beliefs.BELIEF.parse(companions.joined(path, by_hand, beside), ID)
    assert belief.category == "correction"
    change = beliefs.plan_update(belief, "x", confidence=0.8)
    assert change is not None and change.data is not None
    made = companions.split(path, change.data.decode(), by_hand, beside)
    assert made.text == by_hand.replace("0.7", "0.8")
    assert "category" not in str(made.companion)


def test_two_sides_are_merged_in_each_of_the_two_files() -> None:
    path = beliefs.BELIEF.path(ID)
    shown, beside = pair(path, WHOLE)
    place = str(companions.place(path))
    ours = beside.replace("[ses_1, msg_1]", "[ses_1, msg_1, msg_2]")
    theirs = beside.replace("[ses_1, msg_1]", "[ses_1, msg_1, msg_3]").replace("owner", "tool")
    merged = merge.merge(place, beside, ours, theirs)
    values = yaml_edit.parse_mapping(merged.text)
    assert merged.clean
    assert values["from"] == ["ses_1", "msg_1", "msg_2", "msg_3"]
    assert values["trust"] == "tool"
    surer = beside.replace("0.7", "0.8")
    assert (
        yaml_edit.parse_mapping(merge.merge(place, beside, surer, beside).text)["confidence"] == 0.8
    )
    both = merge.merge(path, shown, shown, shown.replace("the sea", "the open sea"))
    assert both.clean and "open sea" in both.text


def test_sections_of_two_sides_are_merged_as_their_files_show_them() -> None:
    head = "---\nsources: sources/{}.yaml\n---\n\nMine.\n\n"
    diary = head.format("journal")
    day = "## 2026-05-2{} 14:12:47 #a [only for sam]\n\nDay {}.\n\n"
    ours, theirs = diary + day.format(4, 4), diary + day.format(3, 3) + day.format(5, 5)
    merged = merge.merge("journal.md", diary, ours, theirs)
    assert merged.clean
    assert merged.text.rstrip() == (diary + "".join(day.format(n, n) for n in (3, 4, 5))).rstrip()
    facts = head.format("knowledge") + "## Knee [only for sam, bo]\n\nIt hurts.\n"
    narrower, longer = facts.replace("sam, bo", "sam"), facts.replace("hurts.", "hurts a lot.")
    merged = merge.merge(knowledge.PATH, facts, narrower, longer)
    assert merged.clean
    assert merged.text == longer.replace("sam, bo", "sam")


def test_a_change_writes_both_files_and_a_removal_takes_both(entity: Entity) -> None:
    belief = beliefs.BELIEF.parse(WHOLE, ID)
    changes.apply(entity.root, ChangeSet("x", (beliefs.BELIEF.plan_new(belief, "x"),)))
    path = beliefs.BELIEF.path(ID)
    beside = entity.root / str(companions.place(path))
    read = base.load(entity.root / path, beliefs.BELIEF.parse)
    assert "by:" not in (entity.root / path).read_text() and "by: distill" in beside.read_text()
    change = beliefs.plan_update(read, "x", evidence=("msg_9",))
    assert change is not None
    shown = (entity.root / path).read_bytes()
    changes.apply(entity.root, ChangeSet("x", (change,)))
    assert (entity.root / path).read_bytes() == shown and "msg_9" in beside.read_text()
    read = base.load(entity.root / path, beliefs.BELIEF.parse)
    changes.apply(entity.root, ChangeSet("x", (beliefs.BELIEF.plan_forget(read, "x"),)))
    assert not beside.exists() and not (entity.root / path).exists()


@pytest.mark.parametrize("name", ["ada", "bea"])
def test_the_files_of_a_record_are_written_as_they_are_read(name: str) -> None:
    root = Path(__file__).resolve().parents[2] / "examples" / name
    for beside in (root / companions.FOLDER).rglob("*.yaml"):
        companion = beside.relative_to(root).as_posix()
        path = str(companions.record_of(companion))
        files = [(root / path).read_bytes(), beside.read_bytes()]
        written = companions.parted(path, companions.read(root, path), *files)
        assert written == list(zip((path, companion), files, strict=True))


def parts() -> Iterator[str]:
    yield from ("## A\n", "## A ##\n\nb\n", "A\n---\n\nb\n", "```\n## no\n```\n", "- a\n", "x")


@given(st.lists(st.sampled_from([*parts(), FACTS, "\r\n## B\r\n\r\nc\r\n"]), max_size=6))
def test_any_text_of_sections_comes_back(pieces: list[str]) -> None:
    text = "".join(pieces)
    made = companions.split(knowledge.PATH, text)
    whole = companions.joined(knowledge.PATH, made.text, made.companion)
    again = companions.split(knowledge.PATH, whole, made.text, made.companion)
    assert again == made
    try:
        old, new = knowledge.parse(text), knowledge.parse(whole)
    except ValueError:
        return
    assert [(one.title, one.text, one.provenance) for one in old.sections] == [
        (one.title, one.text, one.provenance) for one in new.sections
    ]


def held(entity: Entity) -> Iterator[tuple[str, str]]:
    found = record_files.found(entity, NOON)
    return ((one.code, one.path) for one in found)


def test_a_renamed_record_keeps_its_companion_which_is_named_alike_by_the_next_change(
    entity: Entity,
) -> None:
    (entity.beliefs / f"the-sea-{ID}.md").parent.mkdir(exist_ok=True)
    said = changes.write(f"beliefs/the-sea-{ID}.md", WHOLE, None, "believe")
    changes.apply(entity.root, ChangeSet("believe", (said,)))
    new = f"beliefs/water-{ID}.md"
    (entity.root / said.path).rename(entity.root / new)
    (renamed,) = beliefs.BELIEF.readable(entity.beliefs)
    assert (renamed.provenance.trust, renamed.confidence) == ("owner", 0.7)
    assert not {"source-lost", "source-alone"} & {code for code, _ in held(entity)}
    change = beliefs.plan_update(renamed, "confirm", confidence=0.8)
    assert change is not None
    changes.apply(entity.root, ChangeSet("confirm", (replace(change, path=new),)))
    beside = [path.name for path in (entity.root / "sources/beliefs").iterdir()]
    assert beside == [f"water-{ID}.yaml"]
    (again,) = beliefs.BELIEF.readable(entity.beliefs)
    assert (again.provenance.trust, again.confidence) == ("owner", 0.8)


def test_doctor_names_what_has_lost_its_companion_and_a_companion_alone(entity: Entity) -> None:
    belief = beliefs.BELIEF.parse(WHOLE, ID)
    known = knowledge.plan_set(
        knowledge.read(entity.knowledge), "Sea", "Salt.", "x", by_entity=True, provenance=FROM
    )
    assert known is not None
    changes.apply(entity.root, ChangeSet("x", (beliefs.BELIEF.plan_new(belief, "x"), known)))
    assert not {"source-lost", "source-alone"} & {code for code, _ in held(entity)}
    path = beliefs.BELIEF.path(ID)
    (entity.root / str(companions.place(path))).unlink()
    (entity.root / str(companions.place(knowledge.PATH))).write_text("a: [")
    stray = entity.root / "sources" / "beliefs" / "bel_9.yaml"
    stray.write_text("by: distill\n")
    broken = ("record-invalid", str(companions.place(knowledge.PATH)))
    assert {("source-lost", path), broken} <= set(held(entity))
    assert ("source-alone", "sources/beliefs/bel_9.yaml") in set(held(entity))


def test_a_wrong_value_is_named_where_it_stands(entity: Entity) -> None:
    change = beliefs.BELIEF.plan_new(beliefs.BELIEF.parse(WHOLE, ID), "x")
    changes.apply(entity.root, ChangeSet("x", (change,)))
    beside = entity.root / str(companions.place(beliefs.BELIEF.path(ID)))
    beside.write_text(beside.read_text().replace("confidence: 0.7", "confidence: 2"))
    found = record_files.found(entity, NOON, "sam")
    (one,) = (finding for finding in found if finding.code == "record-invalid")
    assert (one.path, one.line) == (entity.relative(beside), 2)
    assert str(beside) in one.fix


def test_who_is_forgotten_is_in_no_companion_even_in_one_alone(entity: Entity) -> None:
    known(entity, "Sam", "Sam sails.")
    known(
        entity, "Bo", "Bo bakes.", pending=(relationships.PendingNote("Sam owes him.", NOON, FROM),)
    )
    talked(entity, "ses_1", ("sam", "I hide marzipan."), ("ada", "Oh."))
    stray = entity.root / "sources" / "beliefs" / "bel_9.yaml"
    stray.parent.mkdir(parents=True, exist_ok=True)
    stray.write_text("by: distill\nfrom: [msg_1000]\n")
    plan = forget.plan(entity, "sam", ["Sam"], UTC)
    changes.apply(entity.root, ChangeSet("x", plan.changes))
    left = {file: file.read_text() for file in (entity.root / "sources").rglob("*.yaml")}
    assert stray not in left
    assert not [file for file, text in left.items() if "Sam" in text or "sam" in text.split()]


def test_a_hand_edit_of_the_shown_text_is_written_with_its_companion(run: Run) -> None:
    belief = beliefs.BELIEF.parse(WHOLE, ID)
    changes.apply(run.entity.root, ChangeSet("x", (beliefs.BELIEF.plan_new(belief, "x"),)))
    path = beliefs.BELIEF.path(ID)
    beside = run.text(str(companions.place(path)))
    new = run.entity.root / "new.md"
    new.write_text(run.text(path).replace("the sea", "the open sea"))
    run.ok("belief", "edit", ID, "--from", str(new))
    assert run.text(path) == new.read_text()
    assert run.text(str(companions.place(path))) == beside


def test_two_entries_of_one_minute_and_one_text_keep_an_origin_each(entity: Entity) -> None:
    for who in ("sam", "mara"):
        origin = Provenance("stretch", "m", (f"msg_{who}",), "person", (who,))
        added = journal.plan_add(NOON, "A good day.", UTC, "x", provenance=origin)
        changes.apply(entity.root, ChangeSet("x", (added,)))
    read = journal.read(entity.journal, UTC).entries
    assert [one.provenance.sources for one in read] == [("msg_sam",), ("msg_mara",)]
