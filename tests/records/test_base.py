from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bumble.entity import changes
from bumble.entity.changes import ChangeSet
from bumble.entity.folder import Entity
from bumble.errors import RecordMissingError
from bumble.records import base, beliefs, dreams, episodes, narrative, state
from bumble.records.base import Provenance

AT = datetime(2026, 5, 24, 3, 12, 47, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "kind", "problem"),
    [
        (None, str, "missing"),
        (5, str, "should be text"),
        (True, int, "a whole number"),
        ("5", float, "a number"),
        (1, bool, "true or false"),
        ("x", list, "a list"),
        ([], dict, "a mapping"),
        ("2026-05-24", datetime, "no UTC offset"),
        ("noon", datetime, "should be a time"),
    ],
)
def test_a_field_of_another_kind_says_what_it_should_be(
    value: object, kind: type, problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        base.field({"a": value}, "a", kind)


def test_the_lowest_trust_is_that_of_the_least_trusted() -> None:
    assert base.lowest_trust(["owner", "tool", "person"]) == "tool"
    assert base.lowest_trust(["owner"]) == "owner"
    assert base.lowest_trust([]) == ""
    with pytest.raises(ValueError, match="one of owner"):
        Provenance(trust="god")


def test_an_episode_lies_where_its_time_says_and_is_found_where_a_person_put_it(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "episodes"
    one = episodes.new("ep_1", AT, 0.5, "text", summary_source=episodes.EXCERPT)
    changes.apply(tmp_path, ChangeSet("x", (episodes.EPISODE.plan_new(one, "x"),)))
    assert (folder / "2026" / "05" / "ep_1.md").is_file()
    (folder / "2025" / "01").mkdir(parents=True)
    (folder / "2026" / "05" / "ep_1.md").rename(folder / "2025" / "01" / "ep_1.md")
    moved = episodes.find(Entity(tmp_path), "ep_1")
    asleep = episodes.plan_dormant(Entity(tmp_path), moved, dormant=True, why="asked")
    assert asleep is not None and asleep.path == "episodes/2025/01/ep_1.md"
    changes.apply(tmp_path, ChangeSet("x", (asleep,)))
    assert episodes.find(Entity(tmp_path), "ep_1").dormant
    for name in ("ep_2", "../../x", "*", ""):
        with pytest.raises(RecordMissingError):
            episodes.find(Entity(tmp_path), name)


def test_a_file_is_named_for_what_it_tells_and_found_by_its_id(tmp_path: Path) -> None:
    folder, record_id = tmp_path / "episodes", base.stable_id("ep", AT, "x")
    one = episodes.new(record_id, AT, 0.5, "# Mara’s left hand: Łódź/..\n\nIt is slow.")
    changes.apply(tmp_path, ChangeSet("x", (episodes.EPISODE.plan_new(one, "x"),)))
    (file,) = folder.glob("2026/05/*.md")
    assert file.name == f"{AT:%d}-maras-left-hand-łódź-{record_id}.md"
    assert episodes.find(Entity(tmp_path), record_id).stem == file.stem
    renamed = file.rename(file.with_name(f"her-hand-{record_id}.md"))
    again = episodes.find(Entity(tmp_path), record_id)
    asleep = episodes.plan_dormant(Entity(tmp_path), again, dormant=True, why="asked")
    assert asleep is not None and asleep.path.endswith(renamed.name)
    assert base.file_stem("word " * 40, record_id).count("word-") == 11
    told = "Whatever stands in the way of the hens was only waiting to be taken off its hinges"
    assert base.file_stem(told, record_id).endswith(f"-hens-was-only-waiting…-{record_id}")
    assert base.file_stem("Words", "by-hand") == "by-hand"
    for said in ("प्रिया-की-ख़बर", "வணக்கம்", "สวัสดีครับ"):  # vowels are signs on their letters
        assert base.file_stem(said.replace("-", " "), record_id) == f"{said}-{record_id}"


def test_a_dormant_episode_wakes_to_the_bytes_it_had(tmp_path: Path) -> None:
    one = episodes.new("ep_1", AT, 0.5, "text")
    asleep = episodes.plan_dormant(Entity(tmp_path), one, dormant=True, why="faded")
    assert asleep is not None and asleep.data is not None
    record = episodes.EPISODE.parse(asleep.data.decode(), "ep_1")
    assert record.dormant
    awake = episodes.plan_dormant(Entity(tmp_path), record, dormant=False, why="asked")
    assert awake is not None and awake.data == one.source.text.encode()
    assert episodes.plan_dormant(Entity(tmp_path), one, dormant=False, why="asked") is None


def test_a_belief_is_never_quite_certain_and_lists_its_evidence_once() -> None:
    one = beliefs.new("bel_1", "x", "preference", 1.0, AT, evidence=("msg_1",))
    assert one.confidence == beliefs.MAX_CONFIDENCE
    change = beliefs.plan_update(
        one,
        "again",
        confidence=0.8,
        at=AT + timedelta(days=1),
        evidence=("msg_2", "msg_1"),
        contradicts=("bel_2",),
        archived=True,
    )
    assert change is not None and change.data is not None
    new = beliefs.BELIEF.parse(change.data.decode(), "bel_1")
    assert new.evidence == ("msg_1", "msg_2")
    assert (new.confidence, new.contradicts, new.archived) == (0.8, ("bel_2",), True)
    assert (new.formed, new.reinforced) == (AT, AT + timedelta(days=1))
    back = beliefs.plan_update(new, "held after all", archived=False)
    assert back is not None and b"status" not in (back.data or b"")
    assert beliefs.plan_update(new, "nothing", evidence=("msg_1",), archived=True) is None


@pytest.mark.parametrize(
    "line", ["category: mood", "confidence: 2", "source: rumour", "status: gone", "trust: god"]
)
def test_a_belief_with_an_unknown_value_is_refused(line: str) -> None:
    key = line.split(":")[0]
    meta = {"category": "preference", "confidence": "0.5", "formed": "2026-05-24T00:00:00Z"}
    rows = "\n".join(f"{name}: {value}" for name, value in meta.items() if name != key)
    with pytest.raises(ValueError, match=key):
        beliefs.BELIEF.parse(f"---\n{rows}\n{line}\n---\n\nx\n", "bel_1")


def test_a_dream_reads_back_as_it_was_dreamt() -> None:
    dream = dreams.new(
        "drm_1",
        AT,
        (("ep_1", "ep_2"),),
        ("a wave\nof ## glass", "- a door"),
        "# What\nreturns.",
        became=("journal", "bel_1"),
        seed=7,
        bypassed=("quiet",),
    )
    again = dreams.DREAM.parse(dream.source.text, "drm_1")
    assert again == dream
    assert again.fragments == ("a wave of ## glass", "- a door")
    assert again.thread == "What returns."
    assert (again.pairs, again.became, again.seed) == ((("ep_1", "ep_2"),), ("journal", "bel_1"), 7)


def test_the_story_told_again_changes_nothing(tmp_path: Path) -> None:
    assert narrative.read(tmp_path / "narrative.md") is None
    origin = Provenance("narrate", "m", ("ep_1",))
    first = narrative.plan_tell(None, "I am.", AT, origin, "tell")
    assert first is not None
    changes.apply(tmp_path, ChangeSet("tell", (first,)))
    story = narrative.read(tmp_path / "narrative.md")
    assert story is not None and (story.text, story.at, story.provenance) == ("I am.", AT, origin)
    later = AT + timedelta(days=1)
    assert narrative.plan_tell(story, " I am.\n", later, origin, "tell") is None
    assert narrative.plan_tell(story, "I was.", later, origin, "tell") is not None


STATE = "# cursors\ndistill: {cursor: msg_1}   # an id\n\npending:\n  - ep_1\nx: yes\ncount: 3\n"


def test_state_changes_only_what_differs() -> None:
    old = base.parse_mapping(STATE)
    assert old.get("distill", "cursor") == "msg_1"
    assert old.get("none", "such", default=5) == 5
    change = state.plan_write(
        old, {"distill": {"cursor": "msg_2", "at": "x"}, "pending": ["ep_1", "ep_2"]}, "moved on"
    )
    assert change is not None and change.data is not None
    assert change.data.decode() == STATE.replace(
        "{cursor: msg_1}", "{cursor: msg_2, at: x}"
    ).replace("- ep_1\n", "- ep_1\n  - ep_2\n")
    same = {"count": 3, "distill": {"cursor": "msg_1"}, "pending": ["ep_1"]}
    assert state.plan_write(old, same, "same") is None


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 10**400])
def test_a_number_can_be_calculated_with(value: float) -> None:
    with pytest.raises(ValueError, match="calculated with"):
        base.field({"a": value}, "a", float)


def test_a_new_file_of_bookkeeping_says_first_what_it_is() -> None:
    change = state.plan_write(base.MappingFile({}, None), {"dream": {"count": 1}}, "x")
    assert change is not None and change.data is not None
    assert change.data.decode() == f"# {state.HEAD}\ndream: {{count: 1}}\n"


@pytest.mark.parametrize(
    ("category", "named"), [(beliefs.DREAM_INSIGHT, "dreamt Rain waits."), ("", "Rain waits.")]
)
def test_a_belief_that_was_only_dreamt_is_named_so(category: str, named: str) -> None:
    held = beliefs.new("bel_1", "Rain waits.", category or beliefs.WORLD_FACT, 0.4, AT)
    assert held.filed_as == named


def test_a_text_was_told_last_when_the_newest_message_that_it_rests_on_was_said() -> None:
    rng, at = random.Random(1), datetime(2026, 12, 1, 9, tzinfo=UTC)
    ids = [base.new_id("msg", at + timedelta(days=n), rng) for n in (0, 3, 1)]
    origin = base.Provenance(sources=("ses_1", *ids))
    assert base.told_at(origin) == at + timedelta(days=3)
    assert base.told_at(base.Provenance(sources=("by hand",))) is None
