"""What is made of a stretch where no model may write: quotes, kept like a model's answer."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from bumble.entity.folder import Entity
from bumble.fallback import sayings
from bumble.jobs import stretch
from bumble.llm.scripted import Reply
from bumble.models.tiers import Abilities
from bumble.records import beliefs, episodes, knowledge, relationships, session_files, sessions
from bumble.records.base import Provenance
from bumble.records.provenance import BY_FORM
from bumble.runtime import body_state, people
from bumble.runtime.job import Pass
from tests.support.lives import NOON
from tests.support.living import runtime_of, write
from tests.support.noticing import Line, all_of, by_form, talked
from tests.support.stretches import claim, fact, makes

PASS = Pass(stretch.NAME, stretch.check, stretch.run)
HENS, LESS = "I keep three hens", "only two hens left, the fox took Pickle"
OVER = timedelta(hours=3)


def settled(entity: Entity, *lines: Line, name: str = "ses_1", days: int = 0) -> None:
    at = NOON + timedelta(days=days)
    talked(entity, name, at, lines)
    all_of(by_form(entity, at + OVER), PASS)


def test_what_is_worth_keeping_stands_in_an_episode_alone_as_it_was_said(ada: Entity) -> None:
    settled(ada, Line("Sam", HENS), Line("Sam", "nice weather", keep=False))
    (episode,) = episodes.EPISODE.readable(ada.episodes)
    assert episode.text == f"# Sam\n\n> {HENS}"
    assert episode.provenance.by.endswith(BY_FORM)
    assert episode.provenance.sources[1:] == ("msg_10",)
    assert episode.provenance.model == ""
    assert all(HENS not in one.text for one in knowledge.read(ada.knowledge).sections)


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("Three hens", "Three hens"),
        ("hens.", "Hens"),
        ("The keeping of hens", "The keeping of hens"),
        ("The fox", "Sam"),  # nobody said it
        ("I keep three hens, and a fox took one of them", "Sam"),  # no title
        ("", "Sam"),
        ("Three", "Sam"),  # no matter, nor is "Friday"
        ("I", "Sam"),
    ],
)
def test_a_model_that_may_not_write_names_quotes_in_their_own_words(
    ada: Entity, answer: str, title: str
) -> None:
    session = talked(ada, "ses_1", NOON, [Line("Sam", HENS)])
    runtime = runtime_of(ada, Reply(answer), at=NOON + OVER)
    met = sayings.met(runtime, session, "sam")
    write(ada, people.plan_met(runtime, "sam", "Sam", NOON, session, met))
    all_of(replace(runtime, abilities=lambda: Abilities(unmeasured="choose")), PASS)
    (episode,) = episodes.EPISODE.readable(ada.episodes)
    assert episode.text == f"# {title}\n\n> {HENS}"
    is_named = title != "Sam"
    assert bool(episode.provenance.model) is is_named
    page = (ada.relationships / "sam.md").read_text()
    assert (f": [{title}](" in page) is is_named


def test_what_was_only_quoted_is_read_by_the_first_model_that_writes(ada: Entity) -> None:
    settled(ada, Line("Sam", HENS), Line("Sam", "nice weather", keep=False))
    asked = claim("Sam keeps three hens.", "m1", rests=[HENS])
    answer = makes(asked, title="Hens", knowledge=[fact("Hens", asked)])
    able = runtime_of(ada, answer, at=NOON + 2 * OVER)
    [made] = all_of(able, PASS)
    assert "1 fact" in made.lines[0]
    (section,) = (one for one in knowledge.read(ada.knowledge).sections if not one.locked)
    assert section.text == "Sam keeps three hens."
    (episode,) = episodes.EPISODE.readable(ada.episodes)
    assert episode.text == "# Hens\n\nSam keeps three hens.", made.lines
    assert not stretch.check(able).jobs
    assert "quoted" not in ada.state.read_text()


@pytest.mark.parametrize(
    "note", ["\nThe red one is called Dot.\n", "\n> The red one is called Dot.\n"]
)
def test_quotes_that_a_hand_has_been_at_give_way_to_nothing(ada: Entity, note: str) -> None:
    settled(ada, Line("Sam", HENS))
    (path,) = episodes.EPISODE.paths(ada)
    path.write_text(f"{path.read_text()}{note}")
    asked = claim("Sam keeps three hens.", "m1", rests=[HENS])
    answer = makes(asked, title="Hens", knowledge=[fact("Hens", asked)])
    all_of(runtime_of(ada, answer, at=NOON + 2 * OVER), PASS)
    (episode,) = episodes.EPISODE.readable(ada.episodes)
    assert episode.text == f"# Sam\n\n> {HENS}\n{note.rstrip()}"


def test_no_title_says_what_was_denied(ada: Entity) -> None:
    talked(ada, "ses_1", NOON, [Line("Sam", "I am not pregnant, but I bought a kettle.")])
    runtime = runtime_of(ada, Reply("I am pregnant"), at=NOON + OVER)
    all_of(replace(runtime, abilities=lambda: Abilities(unmeasured="choose")), PASS)
    (episode,) = episodes.EPISODE.readable(ada.episodes)
    assert episode.text.startswith("# Sam\n")


def test_the_page_of_whom_nobody_drew_says_when_they_met_and_leads_to_what_they_lived(
    ada: Entity,
) -> None:
    session = talked(ada, "ses_1", NOON, [Line("Sam", HENS)])
    runtime = by_form(ada, NOON + OVER)
    met = sayings.met(runtime, session, "sam")
    write(ada, people.plan_met(runtime, "sam", "Sam", NOON, session, met))
    page = ada.relationships / "sam.md"
    assert page.read_text().endswith("---\n\nWe met on 24 May 2026.\n")
    all_of(runtime, PASS)
    settled(ada, Line("Sam", LESS), name="ses_2", days=1)
    first, second = sorted(episodes.EPISODE.readable(ada.episodes), key=lambda one: one.at)
    assert page.read_text().partition("---\n\n")[2] == (
        "We met on 24 May 2026.\n\n"
        f"- {episodes.link(second, '../', '25 May 2026')}\n"
        f"- {episodes.link(first, '../', '24 May 2026')}\n"
    )
    sam = relationships.find(ada.relationships, "sam")
    assert (sam.text, sam.view().text) == ("", "")  # no prompt and no search finds it
    drawn = relationships.plan_update(sam, "", text="Sam keeps hens.", lines={})
    write(ada, drawn)
    assert page.read_text().endswith("---\n\nSam keeps hens.\n")
    settled(ada, Line("Sam", "I sold the kettle"), name="ses_3", days=2)
    assert page.read_text().endswith("---\n\nSam keeps hens.\n")


def test_heavy_news_moves_the_body_and_nothing_else_does(ada: Entity) -> None:
    settled(ada, Line("Sam", "my mother died", heavy=2), Line("Sam", HENS))
    (felt,) = session_files.load(ada.sessions / "ses_1" / sessions.FILE).appraisals.values()
    assert (felt.emotion, felt.points["tension"]) == ("melancholy", 3)
    runtime = by_form(ada, NOON + OVER)
    before = body_state.read(runtime, runtime.now())
    settled(ada, Line("Sam", "I bought a kettle"), name="ses_2", days=0)
    assert body_state.read(runtime, runtime.now()).felt == before.felt


def test_nothing_is_made_of_talk_in_which_nothing_is_worth_keeping(ada: Entity) -> None:
    settled(ada, Line("Sam", "hello there", keep=False))
    assert list(episodes.EPISODE.readable(ada.episodes)) == []
    assert stretch.check(by_form(ada, NOON + OVER)).jobs == ()


def test_what_is_said_in_company_is_for_those_who_heard_it(ada: Entity) -> None:
    talked(ada, "ses_1", NOON, [Line("Sam", HENS)], present=("kim",))
    all_of(by_form(ada, NOON + OVER), PASS)
    (episode,) = episodes.EPISODE.readable(ada.episodes)
    assert set(episode.provenance.audience) == {"sam", "kim"}


def test_where_several_speak_each_quote_says_who(ada: Entity) -> None:
    settled(ada, Line("Sam", HENS), Line("Kim", LESS))
    (episode,) = episodes.EPISODE.readable(ada.episodes)
    assert episode.text == f"# Sam, Kim\n\n> Sam: {HENS}\n\n> Kim: {LESS}"


@pytest.mark.parametrize("kept", [True, False])
def test_a_secret_is_quoted_nowhere(ada: Entity, *, kept: bool) -> None:
    settled(ada, Line("Sam", "my key is sk-abcdefghijklmnopqrstuvwxyz123456", keep=kept))
    assert all("sk-abc" not in each.text for each in episodes.EPISODE.readable(ada.episodes))
    assert "sk-abc" not in ada.knowledge.read_text()


def test_a_correction_stands_above_what_it_may_put_right(ada: Entity) -> None:
    settled(ada, Line("Sam", HENS))
    settled(ada, Line("Sam", LESS, corrects=("msg_10",)), name="ses_2", days=1)
    *_, text = (each.text for each in episodes.EPISODE.readable(ada.episodes))
    assert text.count(HENS) == 1
    assert text.index(LESS) < text.index("Before that") < text.index(HENS)
    assert not list(beliefs.BELIEF.readable(ada.beliefs))  # the episode says it, and says it once


def test_what_puts_right_what_a_belief_rests_on_speaks_against_that_belief(ada: Entity) -> None:
    settled(ada, Line("Sam", HENS))
    origin = Provenance("distill", "m", ("ses_1", "msg_10"), "owner", ("sam",))
    three = beliefs.new(
        "bel_1",
        "Sam has three hens.",
        "world_fact",
        0.6,
        NOON,
        evidence=("msg_10",),
        provenance=origin,
    )
    write(ada, beliefs.BELIEF.plan_new(three, ""))
    settled(ada, Line("Sam", LESS, corrects=("msg_10",)), name="ses_2", days=1)
    now = {one.id: one for one in beliefs.BELIEF.readable(ada.beliefs)}
    (other,) = now.keys() - {"bel_1"}
    assert now["bel_1"].confidence < 0.6
    assert now[other].category == "correction"
