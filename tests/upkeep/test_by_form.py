"""Memories of an entity whose model may not write, read as its owner reads them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from bumble.abilities.tiers import Abilities
from bumble.choosing import notice
from bumble.context import compact, handover, recalled, remembered, summary
from bumble.context.recalled import Search
from bumble.entity.changes import ChangeSet
from bumble.entity.folder import Entity
from bumble.episodes import appraise, remember, retell
from bumble.facts import distill
from bumble.history.merge import merge
from bumble.portraits import deep_review, reflect
from bumble.records import (
    beliefs,
    dreams,
    episodes,
    journal,
    knowledge,
    narrative,
    relationships,
    session_files,
)
from bumble.records.base import Provenance
from bumble.runtime import body_state, runner
from bumble.runtime.job import apply
from bumble.runtime.runner import Pass
from bumble.runtime.runtime import Runtime
from bumble.sleep import dream, narrate, stray_thoughts
from bumble.upkeep import jobs
from bumble.upkeep.lookup import Library
from bumble.upkeep.why import GitHistory, explain
from tests.support.living import known
from tests.support.noticing import SORRY, Line, all_of, by_form, talked

AT = datetime(2026, 11, 9, 12, tzinfo=ZoneInfo("Europe/Lisbon"))
LATER = AT + timedelta(hours=9)
GERMAN = (
    Line("Sam", "hab ne tochter, Fenja, die ist 9 und spielt Handball"),
    Line("Sam", "und was meinst du dazu?", keep=False),
    Line("Sam", "ich bin so traurig wegen der katze", keep=False, feelings=("traurig",)),
    Line("Sam", "Das Turnier von Fenja ist am 14. November in Kiel."),
)
ENGLISH = (
    Line("Kim", "my sister Ottoline teaches cello in Ghent"),
    Line("Kim", "ha ha, what a day it was", keep=False),
    Line("Kim", "don't tell Sam, but i quit my job at the harbour office", confided=True),
    Line("Kim", "i am scared of the exam in Ghent", feelings=("scared",)),
)
CORRECTED = Line("Sam", "nee, das Turnier von Fenja ist erst am 21.", corrects=("msg_a3",))


def runtime_after(entity: Entity, session_id: str, lines: Sequence[Line]) -> Runtime:
    talked(entity, session_id, AT, lines)
    runtime = by_form(entity, LATER)
    runtime.memory.sync()
    return runtime


def settled(runtime: Runtime) -> None:
    for kind in jobs.AFTER_TURN:
        all_of(runtime, kind)


def body(text: str) -> str:
    return text.partition("\n---\n")[2].strip()


def test_an_episode_is_quotes_under_words_of_them(ada: Entity) -> None:
    runtime = runtime_after(ada, "ses_a", GERMAN)
    all_of(runtime, Pass("remember", remember.check, remember.run))
    [episode] = episodes.read(ada.episodes)
    assert episode.text == (
        "# Fenja, Handball, Kiel\n\n"
        "> Sam, 9. November: „hab ne tochter, Fenja, die ist 9 und spielt Handball“\n\n"
        "> Sam, 9. November: „Das Turnier von Fenja ist am 14. November in Kiel.“"
    )
    assert (episode.summary_source, episode.provenance.by) == ("form", "remember by form")
    assert episode.provenance.model == ""
    assert episode.provenance.sources == ("ses_a", "msg_a0", "msg_a3")
    assert episode.audience == ("sam",)
    assert not retell.check(runtime).jobs


def test_a_talk_with_nothing_worth_keeping_leaves_nothing(ada: Entity) -> None:
    before = set(ada.root.rglob("*.md"))
    runtime = runtime_after(ada, "ses_a", [replace(line, keep=False) for line in GERMAN[:2]])
    settled(runtime)
    all_of(runtime, Pass("handover", handover.check, handover.run))
    assert set(ada.root.rglob("*.md")) == before
    assert not remember.check(runtime).jobs


def test_the_body_is_moved_by_named_feelings_alone(ada: Entity) -> None:
    before = known(ada, "Sam").scores
    runtime = runtime_after(ada, "ses_a", GERMAN)
    all_of(runtime, Pass("appraise", appraise.check, appraise.run))
    [line] = session_files.find(ada.sessions, "ses_a").appraisals.values()
    assert (line.message, line.emotion, line.felt) == ("msg_a2", "melancholy", "")
    assert line.trigger == "„ich bin so traurig wegen der katze“"
    assert line.points["comfort"] < 0 < line.points["tension"]
    assert body_state.read(runtime, runtime.now()).affects == ()
    assert relationships.find(ada.relationships, "sam").scores == before  # sorrow told is no harm
    assert body_state.read(runtime, runtime.now()).felt is None


def test_where_nobody_names_a_feeling_the_body_stays_as_it_is(ada: Entity) -> None:
    runtime = runtime_after(ada, "ses_a", GERMAN[:2])
    before = ada.soma.read_bytes() if ada.soma.exists() else b""
    all_of(runtime, Pass("appraise", appraise.check, appraise.run))
    assert (ada.soma.read_bytes() if ada.soma.exists() else b"") == before
    assert not session_files.find(ada.sessions, "ses_a").appraisals


def test_a_portrait_is_what_somebody_told_with_confidences_apart(ada: Entity) -> None:
    runtime = runtime_after(ada, "ses_b", ENGLISH)
    all_of(runtime, Pass("reflect", reflect.check, reflect.run))
    kim = relationships.find(ada.relationships, "kim")
    assert kim.text == (
        "## What Kim told me\n\n"
        "> Kim, 9 November 2026: “i am scared of the exam in Ghent”\n\n"
        "> Kim, 9 November 2026: “my sister Ottoline teaches cello in Ghent”\n\n"
        "## What Kim told me in confidence\n\n"
        "Only for: Kim.\n\n"
        "> Kim, 9 November 2026: “don't tell Sam, but i quit my job at the harbour office”"
    )
    assert (kim.portrait_source, kim.provenance.by) == ("form", "reflect by form")
    assert kim.provenance.sources == ("ses_b", "msg_b0", "msg_b2", "msg_b3")
    assert kim.audience == ("kim",)
    assert kim.last_scored is None


def test_amending_keeps_what_the_owner_wrote_byte_for_byte(ada: Entity) -> None:
    settled(runtime_after(ada, "ses_a", GERMAN))
    file = ada.root / "relationships/sam.md"
    own = file.read_bytes().replace(
        b"> Sam, 9. November 2026: \xe2\x80\x9ehab", b"Mein Patenkind!  \n\n> Sam, im Herbst: hab"
    )
    file.write_bytes(own + b"\n\n## Notizen\n\n- mag  Tee\n")
    before = body(file.read_text("utf-8"))
    talked(ada, "ses_c", LATER, [CORRECTED])
    settled(by_form(ada, LATER + timedelta(hours=9)))
    after = body(file.read_text("utf-8"))
    assert after == before.replace(
        "> Sam, 9. November 2026: „Das Turnier",
        "> Sam, 9. November 2026: „nee, das Turnier von Fenja ist erst am 21.“\n\n"
        "Das ist das Neuere. Davor hieß es:\n\n> Sam, 9. November 2026: „Das Turnier",
    )


def test_facts_are_sections_under_words_that_were_said(ada: Entity) -> None:
    runtime = runtime_after(ada, "ses_a", GERMAN)
    [outcome] = all_of(runtime, Pass("distill", distill.check, distill.run))
    sections = [part for part in knowledge.read(ada.knowledge).sections if not part.locked]
    assert [(part.title, part.text) for part in sections] == [
        (
            "Tochter, Fenja, Handball",
            "> Sam, 9. November 2026: „hab ne tochter, Fenja, die ist 9 und spielt Handball“",
        ),
        (
            "Fenja, Kiel, Turnier",
            "> Sam, 9. November 2026: „Das Turnier von Fenja ist am 14. November in Kiel.“",
        ),
    ]
    origin = sections[0].provenance
    assert (origin.by, origin.model, origin.sources) == ("distill by form", "", ("ses_a", "msg_a0"))
    assert (origin.trust, origin.audience) == ("owner", ("sam",))
    [entry] = journal.read(ada.journal, runtime.zone).entries[-1:]
    assert entry.text == (
        "Sam hat mir erzählt:\n\n"
        "> „hab ne tochter, Fenja, die ist 9 und spielt Handball“\n\n"
        "> „Das Turnier von Fenja ist am 14. November in Kiel.“"
    )
    assert not list(beliefs.read(ada.beliefs))
    assert ("Model", "scripted") not in outcome.trailers


def test_whom_somebody_speaks_of_by_name_gets_a_file_with_what_was_said(ada: Entity) -> None:
    settled(runtime_after(ada, "ses_a", GERMAN))
    fenja = relationships.find(ada.relationships, "Fenja")
    assert [note.text for note in fenja.pending] == [
        "Sam, 9. November 2026: „hab ne tochter, Fenja, die ist 9 und spielt Handball“"
    ]
    origin = fenja.pending[0].provenance
    assert (origin.by, origin.model, origin.sources) == ("distill by form", "", ("ses_a", "msg_a0"))
    assert (origin.trust, origin.audience, fenja.text) == ("owner", ("sam",), "")
    talked(
        ada, "ses_c", LATER, [Line("Sam", "Meine Tochter Fenja lernt Geige, meine Tante Sam nicht")]
    )
    settled(by_form(ada, LATER + timedelta(hours=9)))
    assert len(relationships.find(ada.relationships, "fenja").pending) == 2
    assert sorted(person.id for person in relationships.read(ada.relationships)) == ["fenja", "sam"]


def test_what_is_said_again_is_kept_once(ada: Entity) -> None:
    settled(runtime_after(ada, "ses_a", GERMAN))
    before = (ada.knowledge.read_bytes(), (ada.root / "relationships/sam.md").read_bytes())
    talked(ada, "ses_c", LATER, [replace(GERMAN[0], text=GERMAN[0].text.upper() + "!")])
    settled(by_form(ada, LATER + timedelta(hours=9)))
    assert (ada.knowledge.read_bytes(), (ada.root / "relationships/sam.md").read_bytes()) == before


def test_a_correction_stands_above_what_it_corrects(ada: Entity) -> None:
    settled(runtime_after(ada, "ses_a", GERMAN))
    talked(ada, "ses_c", LATER, [CORRECTED])
    settled(by_form(ada, LATER + timedelta(hours=9)))
    newer = "> Sam, 9. November 2026: „nee, das Turnier von Fenja ist erst am 21.“"
    older = "> Sam, 9. November 2026: „Das Turnier von Fenja ist am 14. November in Kiel.“"
    section = knowledge.find(knowledge.read(ada.knowledge), "Fenja, Kiel, Turnier")
    assert section is not None
    assert section.text == f"{newer}\n\nDas ist das Neuere. Davor hieß es:\n\n{older}"
    assert section.provenance.sources == ("ses_a", "msg_a3", "ses_c", "msg_c0")
    [belief] = beliefs.read(ada.beliefs)
    assert (belief.category, belief.text) == ("correction", newer.removeprefix("> "))
    told = list(episodes.read(ada.episodes))[-1].text
    assert told.index("erst am 21") < told.index("Davor hieß es") < told.index("am 14.")


@pytest.mark.parametrize(
    ("newer", "pairs"),
    [
        (Line("Sam", "laut Turnierplan geht es erst am 21. los", corrects=("msg_a3",)), True),
        (Line("Sam", "der Bus fährt erst am 21.", corrects=("msg_a3",)), False),
        (replace(CORRECTED, text="Fenja soll es nicht hören: ich ziehe um.", confided=True), False),
        (replace(CORRECTED, confided=True), True),
    ],
)
def test_a_correction_has_a_word_of_what_it_stands_above(
    ada: Entity, newer: Line, pairs: bool
) -> None:
    settled(runtime_after(ada, "ses_a", GERMAN))
    talked(ada, "ses_c", LATER, [newer])
    settled(by_form(ada, LATER + timedelta(hours=9)))
    section = knowledge.find(knowledge.read(ada.knowledge), "Fenja, Kiel, Turnier")
    assert section is not None
    assert ("Davor hieß es" in section.text) is pairs


def test_what_comes_to_mind_of_a_note_stands_behind_what_puts_it_right(ada: Entity) -> None:
    settled(runtime_after(ada, "ses_a", GERMAN))
    talked(ada, "ses_c", LATER, [CORRECTED])
    settled(by_form(ada, LATER + timedelta(hours=9)))
    asks = Line("Sam", "Turnier von Fenja am 14. November in Kiel")
    session = talked(ada, "ses_d", LATER + timedelta(days=1), [asks])
    runtime = by_form(ada, LATER + timedelta(days=1))
    runtime.memory.sync()
    session = replace(session, messages=session.messages[:1])
    quotes = remembered.near(runtime, session, "de")
    old = [quote for quote in quotes if "14. November" in quote.text]
    assert old, quotes
    assert all("erst am 21.“ Davor:" in quote.newer for quote in old)
    assert not [quote for quote in quotes if "Das ist das Neuere" in quote.text]
    assert [f"{quote.newer} {quote.text}".count("14. November") for quote in quotes] == [1]


@pytest.mark.parametrize(
    ("keep", "why", "comes"),
    [
        (True, "told", True),
        (False, "a laugh", False),
        (False, "a question", False),
        (False, "imagined", True),  # it may have been a fact
    ],
)
def test_what_surely_tells_nothing_does_not_come_to_mind(
    ada: Entity, *, keep: bool, why: str, comes: bool
) -> None:
    joke = Line("Sam", "das Turnier in Kiel gewinnt mein Hamster, haha", keep=keep, why=why)
    talked(ada, "ses_a", AT, [joke])
    asks = Line("Sam", "Turnier in Kiel, Hamster")
    session = talked(ada, "ses_d", LATER + timedelta(days=1), [asks])
    runtime = by_form(ada, LATER + timedelta(days=1))
    runtime.memory.sync()
    session = replace(session, messages=session.messages[:1])
    assert bool(remembered.near(runtime, session, "de")) is comes


@pytest.mark.parametrize("kept", [True, False])
def test_recall_says_which_is_newer(ada: Entity, *, kept: bool) -> None:
    """As soon as it is noticed, whether or not a belief was made of it yet."""
    settled(runtime_after(ada, "ses_a", GERMAN))
    talked(ada, "ses_c", LATER, [CORRECTED])
    runtime = by_form(ada, LATER + timedelta(hours=9))
    if kept:
        settled(runtime)
    assert any(beliefs.read(ada.beliefs)) is kept
    runtime.memory.sync()
    search = Search(("sam",), "content", runtime.now())
    hits = recalled.find(
        runtime.memory,
        runtime.config,
        search,
        "Turnier Kiel",
        kinds=("message",),
        limit=9,
        unasked=False,
    )
    old = next(hit for hit in hits if hit.id == "msg_a3")
    newer = "Sam, 9. November 2026: „nee, das Turnier von Fenja ist erst am 21.“ Davor:"
    assert old.newer == newer
    shown = recalled.line(old, 90)
    assert shown.index(newer) < shown.index(old.text[:20]), "the newer word comes first"
    strangers = replace(search, readers=("kim",))
    hits = recalled.find(
        runtime.memory, runtime.config, strangers, "Turnier", limit=9, unasked=False
    )
    assert not any("Turnier" in hit.text for hit in hits)


def test_a_broken_state_ends_no_search(ada: Entity) -> None:
    talked(ada, "ses_a", AT, GERMAN)
    runtime = by_form(ada, LATER)
    runtime.memory.sync()
    ada.state.write_text("sessions: [broken")
    search = Search(("sam",), "content", runtime.now())
    hits = recalled.find(runtime.memory, runtime.config, search, "Turnier", limit=9, unasked=False)
    assert any("Turnier" in hit.text for hit in hits)


def test_what_only_may_put_right_has_a_word_of_it(ada: Entity) -> None:
    settled(runtime_after(ada, "ses_a", GERMAN))
    talked(ada, "ses_c", LATER, [replace(CORRECTED, text="der Bus fährt erst am 21.")])
    runtime = by_form(ada, LATER + timedelta(hours=9))
    runtime.memory.sync()
    [old] = recalled.find(
        runtime.memory,
        runtime.config,
        Search(("sam",), "content", runtime.now()),
        "Das Turnier von Fenja ist am 14. November in Kiel.",
        kinds=("message",),
        limit=1,
        unasked=False,
    )
    assert (old.id, old.newer) == ("msg_a3", "")


def test_a_correction_among_others_leaves_what_they_have_not_heard(ada: Entity) -> None:
    settled(runtime_after(ada, "ses_a", GERMAN))
    talked(ada, "ses_c", LATER, [CORRECTED], present=("kim",))
    settled(by_form(ada, LATER + timedelta(hours=9)))
    for section in knowledge.read(ada.knowledge).sections:
        if "kim" in section.provenance.audience:
            assert "14. November" not in section.text
    for episode in episodes.read(ada.episodes):
        assert "kim" not in episode.audience or "14. November" not in episode.text


def test_a_correction_told_to_fewer_makes_a_section_of_its_own(ada: Entity) -> None:
    talked(ada, "ses_a", AT, GERMAN, present=("kim",))
    settled(by_form(ada, LATER))
    before = {part.title: part.source for part in knowledge.read(ada.knowledge).sections}
    talked(ada, "ses_c", LATER, [CORRECTED])
    settled(by_form(ada, LATER + timedelta(hours=9)))
    after = knowledge.read(ada.knowledge).sections
    [new] = [part for part in after if part.title not in before]
    assert {part.title: part.text for part in after if part.title in before} == {
        part.title: part.text for part in after if part.title != new.title
    }
    assert new.provenance.audience == ("sam",)
    assert new.text.index("erst am 21") < new.text.index("14. November")
    assert new.provenance.sources == ("ses_c", "msg_c0", "msg_a3")


def test_a_guest_does_not_put_the_owner_right_in_their_section(ada: Entity) -> None:
    talked(ada, "ses_a", AT, GERMAN, present=("kim",))
    settled(by_form(ada, LATER))
    section = knowledge.find(knowledge.read(ada.knowledge), "Fenja, Kiel, Turnier")
    talked(ada, "ses_c", LATER, [replace(CORRECTED, name="Kim")], present=("sam",))
    settled(by_form(ada, LATER + timedelta(hours=9)))
    assert section is not None
    now = knowledge.find(knowledge.read(ada.knowledge), "Fenja, Kiel, Turnier")
    assert now is not None
    assert now.text == section.text


def test_nothing_the_entity_said_is_quoted(ada: Entity) -> None:
    runtime = runtime_after(ada, "ses_b", ENGLISH)
    settled(runtime)
    for kind in jobs.AFTER:
        all_of(runtime, kind)
    for file in ada.root.rglob("*"):
        if file.is_file() and file.suffix in (".md", ".yaml"):
            text = file.read_text("utf-8")
            assert "Zelda" not in text, file
            assert SORRY not in text, file


def test_what_holds_a_secret_is_not_quoted(ada: Entity) -> None:
    runtime = runtime_after(ada, "ses_b", [Line("Kim", "my password is: Tulip!Garden77, keep it")])
    settled(runtime)
    assert not any("Tulip" in file.read_text("utf-8") for file in ada.root.rglob("*.md"))


def test_a_brief_quotes_what_is_worth_keeping_and_what_was_asked_last(ada: Entity) -> None:
    runtime = runtime_after(ada, "ses_a", [*GERMAN, Line("Sam", "kommst du mit?", keep=False)])
    handing_over = Pass("handover", handover.check, handover.run)
    assert not handing_over.check(runtime).due  # the talk has still to be remembered
    settled(runtime)
    all_of(runtime, handing_over)
    document = session_files.read_handover(ada.sessions, "ses_a")
    assert document is not None
    assert document.body == (
        "## Worum es ging\n\nFenja, Handball, Kiel\n\n"
        "## Was gesagt wurde\n\n"
        "> Sam, 9. November: „hab ne tochter, Fenja, die ist 9 und spielt Handball“\n\n"
        "> Sam, 9. November: „Das Turnier von Fenja ist am 14. November in Kiel.“\n\n"
        "## Was gefragt wurde\n\n> Sam, 9. November: „kommst du mit?“"
    )
    assert document.meta["by"] == "handover by form"
    assert "model" not in document.meta


def test_a_summary_is_what_people_said_kept_things_first(ada: Entity) -> None:
    session = talked(ada, "ses_b", AT, [*ENGLISH, *ENGLISH[:2]])
    runtime = by_form(ada, LATER)
    [job] = compact.check(runtime, session, 0).jobs
    made = compact._summary_input(runtime, session, (0, 6), 60)
    text = summary.excerpt_text(runtime, made)
    assert text.startswith("From what was said before, word for word:\n- Kim: ")
    assert "Ottoline" in text
    assert "Zelda" not in text
    again = replace(made, earlier=text, new=())
    assert summary.excerpt_text(runtime, again) == text
    assert job.session is session


def test_the_story_is_a_quote_of_each_memory_and_keeps_what_stands_there(ada: Entity) -> None:
    runtime = runtime_after(ada, "ses_a", GERMAN)
    settled(runtime)
    [job] = narrate.check(runtime).jobs
    apply(runtime, narrate.run(runtime, job))
    story = narrative.read(ada.narrative)
    assert story is not None
    [episode] = episodes.read(ada.episodes)
    line = "9. November 2026, Sam: „hab ne tochter, Fenja, die ist 9 und spielt Handball“"
    assert story.text == f"## Was mir erzählt wurde\n\n- {line} ({episode.id})"
    assert (story.summary_source, story.provenance.by) == ("form", "narrate by form")
    ada.narrative.write_text(ada.narrative.read_text("utf-8") + "\nFenja ist toll!\n")
    talked(ada, "ses_c", LATER, [Line("Sam", "ich fahre im Mai mit Fenja nach Rostock")])
    later = by_form(ada, LATER + timedelta(hours=9))
    settled(later)
    [job] = narrate.check(later).jobs
    apply(later, narrate.run(later, job))
    told = narrative.read(ada.narrative)
    assert told is not None
    assert told.text.startswith(f"{story.text}\n\nFenja ist toll!\n- 9. November 2026, Sam: „ich")


def test_a_dream_sets_two_quotes_side_by_side(ada: Entity) -> None:
    settled(runtime_after(ada, "ses_a", GERMAN))
    talked(
        ada,
        "ses_c",
        AT + timedelta(days=4),
        [Line("Sam", "mein Onkel Bert hat jetzt Bienen in Ulm")],
    )
    runtime = by_form(ada, AT + timedelta(days=5))
    settled(runtime)
    [job] = dream.check(runtime, force=True, seed=3).jobs
    outcome = dream.run(runtime, job)
    apply(runtime, outcome)
    [night] = dreams.read(ada.dreams)
    [fragment] = night.fragments
    assert sorted(fragment.split(" Und daneben: ")) == [
        "Sam: „hab ne tochter, Fenja, die ist 9 und spielt Handball“",
        "Sam: „mein Onkel Bert hat jetzt Bienen in Ulm“",
    ]
    assert (night.thread, night.provenance.by, night.provenance.model) == ("", "dream by form", "")
    assert not list(beliefs.read(ada.beliefs))


def test_a_dream_by_form_passes_over_what_a_model_told(ada: Entity) -> None:
    settled(runtime_after(ada, "ses_a", GERMAN))
    bees = Line("Sam", "mein Onkel Bert hat jetzt Bienen in Ulm")
    talked(ada, "ses_c", AT + timedelta(days=4), [bees])
    runtime = by_form(ada, AT + timedelta(days=9))
    settled(runtime)
    origin = Provenance("remember", "scripted", (), "owner", ("sam",))
    for days in (2, 6, 8):  # they weigh more
        told = episodes.new(
            f"ep_told{days}", AT + timedelta(days=days), 1.0, "Wir sahen das Meer.",
            people=("sam",), provenance=origin,
        )  # fmt: skip
        runtime.apply(ChangeSet("", (episodes.plan_new(told, ""),)))
    [job] = dream.check(runtime, force=True, seed=3).jobs
    assert dream.run(runtime, job).ran


def test_a_stray_thought_is_a_quote_for_those_who_heard_it(ada: Entity) -> None:
    runtime = runtime_after(ada, "ses_b", ENGLISH[:1])
    settled(runtime)
    [job] = stray_thoughts.check(runtime).jobs
    apply(runtime, stray_thoughts.run(runtime, job))
    [thought] = body_state.read(runtime, runtime.now()).noise
    # in the language of the owner, who has not spoken yet
    assert thought.text == "Kim: “my sister Ottoline teaches cello in Ghent”"
    assert thought.audience == ("kim",)


def test_no_portrait_is_reviewed_where_no_model_may_write_one(ada: Entity) -> None:
    settled(runtime_after(ada, "ses_a", GERMAN))
    sam = relationships.find(ada.relationships, "sam")
    change = relationships.plan_update(sam, "", interaction_count=99)
    runtime = by_form(ada, LATER)
    assert change is not None
    runtime.apply(ChangeSet("", (change,)))
    assert not deep_review.check(runtime).jobs
    assert deep_review.check(replace(runtime, abilities=Abilities("write"))).jobs


def test_why_leads_from_a_quote_to_its_message(ada: Entity) -> None:
    settled(runtime_after(ada, "ses_a", GERMAN))
    library = Library(ada, name="Ada", zone=AT.tzinfo)  # type: ignore[arg-type]
    item = library.look_up("Fenja, Kiel, Turnier", "knowledge")
    node = explain(library, item, GitHistory(ada.root))
    assert [each.item.id for each in node.walk()][1:] == ["ses_a", "msg_a3"]
    assert not node.missing


def test_a_short_talk_counts_with_those_before_it(ada: Entity) -> None:
    talked(ada, "ses_a", AT, GERMAN[:1])
    runtime = by_form(ada, LATER)
    assert not distill.check(runtime).due
    for n, name in enumerate(("ses_b", "ses_c", "ses_d")):
        talked(ada, name, AT + timedelta(minutes=10 * n + 10), GERMAN[:1])
    assert distill.check(runtime).due


@pytest.mark.parametrize("tier", ["none", "choose", "write"])
def test_a_model_that_writes_is_asked_as_ever(ada: Entity, tier: str) -> None:
    talked(ada, "ses_a", AT, GERMAN)
    runtime = replace(by_form(ada, LATER), abilities=Abilities(tier))  # type: ignore[arg-type]
    if tier == "write":
        with pytest.raises(AssertionError, match="the model was asked: stretch"):
            settled(runtime)
    else:
        settled(runtime)


def test_what_a_correction_puts_right_is_looked_for_in_earlier_talks_too(ada: Entity) -> None:
    settled(runtime_after(ada, "ses_a", GERMAN))
    text = "nee, ich hab mich vertan, das Turnier von Fenja ist erst am 21."
    session = talked(ada, "ses_c", LATER, [Line("Sam", text, noticed=False)])
    runtime = by_form(ada, LATER + timedelta(hours=9))
    notices, _ = notice.of(runtime, session, session.messages)
    assert notices["msg_c0"].corrects[0] == "msg_a3"


def test_portraits_of_two_clones_keep_the_quotes_of_both(ada: Entity) -> None:
    settled(runtime_after(ada, "ses_a", GERMAN))
    file = ada.root / "relationships/sam.md"
    sides = [file.read_text("utf-8")]
    state_before = {path: path.read_bytes() for path in ada.root.rglob("*.md")}
    for n, text in enumerate(("ich lerne jetzt Cello", "ich habe ein Boot in Kappeln"), 1):
        for path, data in state_before.items():
            path.write_bytes(data)
        talked(ada, f"ses_n{n}", LATER, [Line("Sam", text)])
        settled(by_form(ada, LATER + timedelta(hours=9 + n)))
        sides.append(file.read_text("utf-8"))
    merged = merge("relationships/sam.md", sides[0], sides[1], sides[2])
    assert merged.clean
    paragraphs = body(merged.text).split("\n\n")
    for said_words in ("ich lerne jetzt Cello", "ich habe ein Boot in Kappeln", GERMAN[0].text):
        [quote] = [each for each in paragraphs if said_words in each]
        assert quote.count("\n") == 0


def test_what_is_said_under_the_same_words_stands_above_what_was_said_before(ada: Entity) -> None:
    settled(runtime_after(ada, "ses_a", GERMAN))
    text = "Das Turnier von Fenja in Kiel ist jetzt am 21."
    talked(ada, "ses_c", LATER, [Line("Sam", text)])
    settled(by_form(ada, LATER + timedelta(hours=9)))
    section = knowledge.find(knowledge.read(ada.knowledge), "Fenja, Kiel, Turnier")
    assert section is not None
    assert section.text == (
        f"> Sam, 9. November 2026: „{text}“\n\n"
        "> Sam, 9. November 2026: „Das Turnier von Fenja ist am 14. November in Kiel.“"
    )


def test_what_asks_no_model_counts_against_no_limit_of_a_turn(ada: Entity) -> None:
    talked(ada, "ses_a", AT, [replace(line, noticed=False) for line in GERMAN])
    runtime = by_form(ada, LATER)
    ran = [each.name for each in runner.settle(runtime, jobs.AFTER_TURN, limit=1)]
    assert set(ran) == {"notice", "appraise", "remember", "reflect", "distill", "handover"}


def test_a_portrait_by_form_waits_for_no_gap(ada: Entity) -> None:
    for n in range(3):
        at = AT + timedelta(minutes=10 * n)
        talked(ada, f"ses_n{n}", at, [Line("Sam", f"ich habe {n + 4} Schafe in Husum und Kiel")])
    all_of(by_form(ada, LATER), Pass("reflect", reflect.check, reflect.run))
    assert relationships.find(ada.relationships, "sam").text.count("Schafe") == 3
