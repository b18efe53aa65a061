from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bumble.abilities.tiers import Abilities
from bumble.agent import acts
from bumble.choosing import answers, examples, learning, notice, rules
from bumble.choosing.examples import Example, Worth
from bumble.choosing.learning import Lesson
from bumble.choosing.rules import Verdict
from bumble.embed import likeness
from bumble.entity.folder import Entity
from bumble.index.memory import Memory
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.records.notices import Notice
from bumble.runtime import runner
from bumble.runtime.runner import Pass
from bumble.runtime.runtime import Runtime
from bumble.weights import catalog, embedders
from tests.support.turns import runtime_of, say, stored, talk
from tests.support.weighted import embedder

PASS = Pass("notice", notice.check, notice.run)
SHIPPED = ("all-minilm-l6-v2", "multilingual-e5-small")
EXAMPLES = examples.load()
LESSONS: tuple[Lesson[Any], ...] = (examples.LESSON, answers.LESSON)
ENGLISH = [example for example in EXAMPLES if example.language == "en"]


@pytest.fixture
def runtime(ada: Entity) -> Runtime:
    """Whose model would call all a joke, if it were asked."""
    model = ScriptedModel([say("I see."), Reply("joke", purpose="notice", always=True)])
    before = runtime_of(ada, model)
    memory = Memory(
        ada, embedder, name="Ada", zone=before.zone, config=before.config.recall, syncs=True
    )
    return replace(before, memory=memory, abilities=Abilities())


@pytest.fixture
def learned(runtime: Runtime) -> Runtime:
    """Whose embedder has learned from the examples, and whose model is asked nothing."""
    examples.worth(runtime, "learns", "en", learns=True)
    return replace(runtime, abilities=Abilities(unmeasured="none"))


def noticed(runtime: Runtime, text: str) -> Notice:
    talk(runtime, text)
    list(runner.settle(runtime, (PASS,)))
    (notice_,) = stored(runtime.entity).notices.values()
    return notice_


def first(fits: Callable[[Example, Verdict], bool]) -> str:
    return next(
        example.text for example in ENGLISH if fits(example, rules.judge(example.text, "en"))
    )


def dry(example: Example, verdict: Verdict) -> bool:
    """Whether it is a dry joke whose wording would keep it."""
    is_told = verdict.why == rules.TOLD and not (verdict.corrects or verdict.confided)
    return is_told and example.kind == "joke_deadpan"


def test_every_example_says_what_is_right_and_none_stands_there_twice() -> None:
    assert len({(example.text, example.language) for example in EXAMPLES}) == len(EXAMPLES) > 5000
    wrong = [example for example in EXAMPLES if example.kind.startswith("joke") and example.keep]
    assert wrong == []
    languages = Counter(example.language for example in EXAMPLES)
    many = {language for language, count in languages.items() if count > 500}
    assert many == {"de", "en", "es", "fr", "it", "pt"}
    assert min(languages.values()) > 40


@pytest.mark.parametrize("name", SHIPPED)
def test_what_these_embedders_learned_is_shipped(name: str) -> None:
    entry = catalog.load().entry(name)
    assert entry.embedding is not None
    identity = embedders.identity(entry, entry.embedding.dimensions[0])
    for lesson in LESSONS:
        shipped = learning.LEARNED.joinpath(lesson.filename(identity))
        assert shipped.is_file(), f"uv run python -m bench.choosing --learn --embedder {name}"


def test_nothing_that_nobody_opens_is_shipped() -> None:
    assert len(list(learning.LEARNED.iterdir())) == len(SHIPPED) * len(LESSONS)


def test_what_rules_leave_open_is_kept_if_it_is_like_what_is_kept(runtime: Runtime) -> None:
    text = first(lambda example, verdict: verdict.keep is None and example.keep is True)
    result = noticed(runtime, text)
    assert (result.keep, result.why) == (True, notice.EXAMPLES)
    assert result.share is not None
    assert result.share > 0.5
    assert result.extra == {"model": "hashing"}


def test_what_rules_leave_open_is_dropped_if_it_is_like_the_rest(runtime: Runtime) -> None:
    text = first(lambda example, verdict: verdict.keep is None and example.kind == "chat")
    result = noticed(runtime, text)
    assert (result.keep, result.why) == (False, notice.EXAMPLES)


def test_a_dry_joke_is_dropped_though_its_wording_would_keep_it(runtime: Runtime) -> None:
    text = first(dry)
    result = noticed(runtime, text)
    assert (result.keep, result.why) == (False, notice.JOKE)


@pytest.mark.parametrize("before", ["Between you and me, nobody may know this: ", "Remember: "])
def test_what_is_confided_or_asked_to_be_kept_is_never_taken_for_a_joke(
    runtime: Runtime, before: str
) -> None:
    text = first(dry)
    assert noticed(runtime, before + text).keep


def test_what_asks_for_what_was_told_is_not_kept(runtime: Runtime) -> None:
    def asks(example: Example, verdict: Verdict) -> bool:
        return verdict.why == rules.TOLD and example.kind == "ask_memory"

    result = noticed(runtime, first(asks))
    assert (result.keep, result.why) == (False, notice.ASKS)


def test_what_is_like_a_confidence_is_one_whatever_its_words(runtime: Runtime) -> None:
    def confided(example: Example, verdict: Verdict) -> bool:
        return not verdict.confided and example.kind == "confidence" and verdict.keep is not False

    result = noticed(runtime, first(confided))
    assert (result.keep, result.confided, result.why) == (True, True, rules.CONFIDED)


def like(**likeness: float) -> Worth:
    return Worth(**dict.fromkeys(examples.CLASSES, -0.9) | likeness, embedder="e5")


@pytest.mark.parametrize(
    ("worth", "is_kept"),
    [(like(keep=0.1), True), (like(keep=-0.9), False), (like(keep=0.1, imagined=0.1), False)],
)
def test_what_rules_keep_for_its_wording_is_dropped_if_it_is_like_no_fact(
    worth: Worth, is_kept: bool
) -> None:
    told = Verdict(keep=True, why=rules.TOLD, leans=True)
    assert notice.decided(told, notice.of_worth(worth, told)).keep is is_kept
    confided = replace(told, why=rules.CONFIDED, confided=True)
    assert notice.decided(confided, notice.of_worth(worth, confided)).keep


def test_what_a_word_speaks_against_is_kept_if_it_is_surely_like_what_is_kept() -> None:
    verdict = Verdict(keep=False, why="passing", leans=False)
    worth = like(keep=0.9)
    assert notice.decided(verdict, notice.of_worth(worth, verdict)).keep
    assert not notice.decided(verdict, notice.of_worth(replace(worth, keep=0.4), verdict)).keep
    imagined = replace(verdict, why=rules.IMAGINED)
    assert not notice.decided(imagined, notice.of_worth(worth, imagined)).keep


def test_what_is_told_with_a_laugh_is_sooner_held_for_a_joke() -> None:
    told = Verdict(keep=None, why="open", leans=True)
    worth = like(keep=0.7, joke=-0.2)
    assert notice.decided(told, notice.of_worth(worth, told)).keep
    laughing = replace(told, laughs=True)
    assert notice.decided(laughing, notice.of_worth(worth, laughing)).why == notice.JOKE
    laughed = replace(laughing, keep=False, why=rules.LAUGH)
    assert not notice.decided(laughed, notice.of_worth(replace(worth, joke=-0.9), laughed)).keep


def test_what_is_surely_a_joke_is_none_that_corrects_but_may_be_confided_in_earnest() -> None:
    worth = like(joke=0.9)
    corrects = Verdict(keep=True, why=rules.TOLD, leans=True, corrects=True)
    assert notice.decided(corrects, notice.of_worth(worth, corrects)).why == notice.JOKE
    confided = Verdict(keep=True, why=rules.CONFIDED, leans=True, confided=True)
    assert notice.decided(confided, notice.of_worth(worth, confided)).keep
    laughing = replace(confided, laughs=True)
    assert not notice.decided(laughing, notice.of_worth(worth, laughing)).keep
    requested = replace(confided, confided=False, why=rules.REQUESTED)
    assert notice.decided(requested, notice.of_worth(worth, requested)).keep


def test_what_is_surely_imagined_is_no_confidence_for_one_of_its_words() -> None:
    verdict = Verdict(keep=True, why=rules.CONFIDED, leans=True, confided=True)
    worth = like(imagined=0.6)
    assert notice.decided(verdict, notice.of_worth(worth, verdict)).why == notice.NOTHING
    confided = replace(worth, confided=0.2)
    assert notice.decided(verdict, notice.of_worth(confided, verdict)).keep


@pytest.mark.parametrize(
    ("worth", "text", "asks"),
    [
        (like(asked=-0.15, keep=-0.5), "when does it start", True),
        (like(asked=-0.15, keep=0.1), "when does it start", None),  # told beside a word of asking
        (like(asked=-0.15, keep=0.1), "when does it start?", True),
        (like(asked=-0.5), "when does it start?", None),
        (like(asked=-0.9), "when does it start?", False),
        (like(asked=0.3, keep=-0.5), "the day it starts", True),
        (like(asked=0.3, keep=-0.5), "it starts on the 4th", None),
        (like(asked=0.6, keep=-0.5), "say which of the 4 it is", True),
    ],
)
def test_what_is_like_a_fact_asks_nothing_without_a_question_mark(
    worth: Worth, text: str, asks: bool | None
) -> None:
    verdict = rules.judge(text, "en")
    assert worth.asks(verdict, questions=verdict.questions) is asks


JENNY = "Jenny told me at the party that she found it too loud"


@pytest.mark.parametrize(
    ("told", "text", "acts_of_it"),
    [
        (JENNY, "did jenny say anything about me after the party?", ("prying",)),
        (JENNY, "what time does aunt carol's train get in on friday?", ("unknown", "nearest")),
        ("", "Can I tell you what Bo must not get wind of? I booked us a week.", ("confided",)),
        ("", "the lock is 2816, so if I ever ask you at 5 in the morning that is why", ("plan",)),
        ("", "where do i park at work again haha, been round twice", ("unknown",)),
    ],
)
def test_a_message_is_answered_by_its_wording_and_what_it_is_like_together(
    learned: Runtime, told: str, text: str, acts_of_it: tuple[str, ...]
) -> None:
    if told:
        talk(learned, told)
    assert talk(learned, text).worded in acts_of_it


def test_nothing_is_noted_that_is_not_kept(learned: Runtime) -> None:
    def noted(example: Example, verdict: Verdict) -> bool:
        return dry(example, verdict) and acts.of(example.text, "en", asks=False) == "plan"

    assert talk(learned, first(noted)).worded == "telling"


def test_a_message_is_answered_as_what_it_is_like(learned: Runtime) -> None:
    def unseen(example: Example, verdict: Verdict) -> bool:
        is_statement = acts.of(example.text, "en") in ("telling", "plan")
        return example.kind == "ask_memory" and is_statement

    talk(learned, "my exam is on the 4th of may, in the town hall")
    turn = talk(learned, first(unseen))
    assert turn.worded in ("told_me", "nearest", "unknown", "told_before")


def test_an_embedder_without_weights_is_not_asked(ada: Entity) -> None:
    assert (
        examples.worth(
            runtime_of(ada, ScriptedModel([])), "my sister Lena is a vet", "en", learns=True
        )
        is None
    )


def test_an_embedder_that_knows_english_alone_is_asked_about_nothing_else(runtime: Runtime) -> None:
    embedder().multilingual = False
    try:
        assert examples.worth(runtime, "my sister Lena is a vet", "en", learns=True) is not None
        assert (
            examples.worth(runtime, "meine Schwester Lena ist Tierärztin", "de", learns=True)
            is None
        )
    finally:
        embedder().multilingual = True


def test_a_machine_learns_once(runtime: Runtime, tmp_path: Path) -> None:
    heard: list[str] = []
    learning._HERE.clear()
    assert examples.worth(runtime, "my sister Lena is a vet", "en", learns=False) is None
    runtime = replace(runtime, learned=tmp_path / "learned", tell=heard.append)
    place = tmp_path / "learned" / examples.LESSON.filename(embedder().identity)
    text = "my sister Lena is a vet"
    values = []
    for data in (None, None, b"damaged"):  # learns, reads, learns again
        if data is not None:
            place.write_bytes(data)
        learning._HERE.clear()
        embedder().texts = 0
        values.append((examples.worth(runtime, text, "en", learns=True), embedder().texts > 1))
    assert [learned for _, learned in values] == [True, False, True]
    assert len({worth for worth, _ in values}) == 1
    assert len(heard) == 2
    assert "learns once" in heard[0]


@pytest.mark.weights
def test_with_real_weights_facts_are_kept_and_dry_jokes_are_not(weights_folder: Path) -> None:
    real = embedders.open_embedder(weights_folder, catalog.load().entry(SHIPPED[0]))
    file = learning.LEARNED.joinpath(examples.LESSON.filename(real.identity))
    known = likeness.read(io.BytesIO(file.read_bytes()))
    facts = [
        "I grew up on a barge, my dad was a lock keeper",
        "Penny has been allergic to wasps since she was nine",
        "we finally bought the house on Mill Lane",
    ]
    jokes = [
        "The kettle has asked for a raise and wants to speak to the union.",
        "I hereby appoint the cat to the supreme court, hearings begin after lunch.",
        "My houseplants held elections and I lost.",
    ]
    kept = [examples.of(known, real, text) for text in facts]
    dropped = [examples.of(known, real, text) for text in jokes]
    plain = rules.judge("it is open", "en")
    assert [(worth.keeps(plain), worth.is_joke(plain)) for worth in kept] == [(True, False)] * 3
    assert [(worth.keeps(plain), worth.is_joke(plain)) for worth in dropped] == [(False, True)] * 3


def test_a_digit_speaks_for_a_fact_and_against_a_joke() -> None:
    said = Worth(
        keep=-0.3, joke=0.1, confided=-1, asked=-1, changed=-1, imagined=-1, prying=-1, embedder=""
    )
    plain, figured = rules.judge("it is open", "en"), rules.judge("bin day is the 4th", "en")
    assert said.keeps(figured)
    assert not said.keeps(plain)
    assert said.is_joke(plain)
    assert not said.is_joke(figured)
    assert not replace(said, imagined=0.0).keeps(figured), "what would be has numbers, too"
    assert not rules.judge("the 4th, my bin resigned haha", "en").figured


def test_what_its_wording_tells_is_no_joke_if_it_is_like_what_is_kept() -> None:
    told, plain = rules.judge("my sister Dana lives in Kiel", "en"), rules.judge("open", "en")
    assert told.why == rules.TOLD
    said = Worth(
        keep=-0.2, joke=0.1, confided=-1, asked=-1, changed=-1, imagined=-1, prying=-1, embedder=""
    )
    assert said.is_joke(plain)
    assert not said.is_joke(told)
    assert replace(said, keep=-0.5).is_joke(told)
