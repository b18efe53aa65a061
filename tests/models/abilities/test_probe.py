from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from bumble.errors import ModelUnreachableError
from bumble.llm.protocol import Completion, OnText, Request
from bumble.llm.scripted import Reply, ScriptedModel
from bumble.models import probe, tiers
from bumble.models.tiers import KINDS, LEAST_CASES, LanguageResult
from tests.support import able

LANGUAGES = ["de", "en", "es", "fr", "it", "pt"]


def unheard(result: LanguageResult) -> None:
    """Nobody watches."""


def probed(language: str, *replies: Reply) -> LanguageResult:
    started = probe.start("2026-11-23")
    cases = probe.left(language, started)
    return probe.run(ScriptedModel(replies), cases, started, unheard)


def rights(result: LanguageResult) -> dict[str, int]:
    return {kind: answers.count("1") for kind, answers in result.answers.items()}


def test_there_are_cases_of_every_kind_in_six_languages() -> None:
    assert probe.languages() == LANGUAGES
    for language in LANGUAGES:
        kinds = [case.kind for case in probe.load(language)]
        assert min(kinds.count(kind) for kind in KINDS) >= LEAST_CASES
        assert sorted(kinds, key=KINDS.index) == kinds
        assert {len(able.cases(language)[key]) for key in ("language", "schema")} == {12}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_model_that_can_do_all_of_it_writes(language: str) -> None:
    result = probed(language, *able.replies(language))
    assert {"".join(sorted(set(answers))) for answers in result.answers.values()} == {"1"}
    assert tiers.tiers(result.answers) == {"talk": "write", "memory": "write"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_model_that_says_back_what_it_hears_is_not_asked(language: str) -> None:
    class Echo(ScriptedModel):
        def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
            return Completion(" ".join(one.content for one in request.messages[1:]), "stop", "x")

    started = probe.start("2026-11-23")
    result = probe.run(Echo([]), probe.left(language, started), started, unheard)
    assert rights(result)["language"] == 0
    assert tiers.tiers(result.answers)["talk"] == "none"


def test_a_model_that_takes_the_others_part_does_not_write() -> None:
    wrong = [
        replace(reply, text=f"I think my {reply.text}") if "boat" not in reply.text else reply
        for reply in able.replies("en")
    ]
    result = probed("en", *wrong)
    assert rights(result)["whose_i"] < 10
    assert tiers.tiers(result.answers)["talk"] != "write"


def test_what_is_done_is_noted_and_gone_on_with() -> None:
    class Leaving(ScriptedModel):
        def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
            if len(self.requests) == 30:
                raise ModelUnreachableError("gone")
            return super().complete(request, on_text)

    noted: list[LanguageResult] = []
    started = probe.start("2026-11-23")
    with pytest.raises(ModelUnreachableError):
        probe.run(
            Leaving(able.replies("en")),
            probe.left("en", started),
            started,
            noted.append,
        )
    assert sum(rights(noted[-1]).values()) == len(noted) == 30
    again = probe.start("2026-11-24", noted[-1])
    whole = probe.run(ScriptedModel(able.replies("en")), probe.left("en", again), again, unheard)
    assert whole.is_whole
    assert (len(noted) + len(probe.left("en", again)), whole.at) == (66, "2026-11-24")


def test_a_model_that_reasons_all_the_same_gets_room_for_it() -> None:
    class Reasoning(ScriptedModel):
        def complete(self, request: Request, on_text: OnText | None = None) -> Completion:
            completion = super().complete(request, on_text)
            if request.max_tokens < 1000:
                return replace(completion, text="", reasoning="Well", finish_reason="length")
            return completion

    model = Reasoning(able.replies("en"))
    started = probe.start("2026-11-23")
    result = probe.run(model, probe.left("en", started), started, unheard)
    assert tiers.tiers(result.answers)["talk"] == "write"
    assert len([one for one in model.requests if one.max_tokens < 1000]) == 1


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("You are allergic to walnuts.", True),
        ("Walnuts!", True),
        ("I am allergic to walnuts.", False),
        ("I know that you are allergic to walnuts.", True),
        ("You told me of whales and walnuts.", False),
        ("You are allergic to cats.", False),
    ],
)
def test_whose_it_is_shows_in_the_pronouns_of_the_sentence(text: str, right: bool) -> None:
    first, second = frozenset({"i", "my"}), frozenset({"you", "your"})
    assert probe.is_of(text, "walnut", "whale", own=second, other=first) == right


def test_an_answer_in_the_form_must_say_what_is_right() -> None:
    schema = {
        "type": "object",
        "properties": {"day": {"enum": ["Monday", "Friday"]}},
        "required": ["day"],
    }
    assert probe.is_filled(json.dumps({"day": "Friday"}), schema, {"day": "friday"})
    assert not probe.is_filled(json.dumps({"day": "Monday"}), schema, {"day": "friday"})
    assert not probe.is_filled("Friday", schema, {"day": "friday"})
