from __future__ import annotations

from pathlib import Path

import pytest

from bumble.body.config import EMOTIONS, NEUTRAL
from bumble.entity.folder import Entity
from bumble.forms import forms


@pytest.mark.parametrize("language", ["de", "en", "es", "fr", "it", "pt"])
def test_each_language_words_everything(language: str, tmp_path: Path) -> None:
    memory = forms.load(language, tmp_path).memory
    assert set(memory.emotions) <= set(EMOTIONS)
    assert set(memory.left) == set(EMOTIONS) - {NEUTRAL}
    assert memory.passing
    assert len({*memory.months}) == 12
    assert memory.quote.format(name="Kim", date="x", words="y") != memory.quote


def test_a_language_without_a_file_is_worded_in_english(tmp_path: Path) -> None:
    assert forms.load("nl", tmp_path) == forms.load("en", tmp_path)


def test_the_entitys_own_wordings_go_first_key_by_key(ada: Entity) -> None:
    (ada.root / "forms").mkdir()
    (ada.root / "forms/de.yaml").write_text('memory: {account: "Von {name}"}\n', encoding="utf-8")
    ours, own = forms.load("de", ada.root / "elsewhere"), forms.load("de", ada.root)
    assert own.memory.account == "Von {name}"
    assert own.memory.confidences == ours.memory.confidences
    assert forms.load("en", ada.root).memory.account == "What {name} told me"


def test_a_language_that_only_the_owner_words_starts_from_english(ada: Entity) -> None:
    (ada.root / "forms").mkdir()
    (ada.root / "forms/nl.yaml").write_text('memory: {spoken: "Wat gezegd is"}\n')
    memory = forms.load("nl", ada.root).memory
    assert (memory.spoken, memory.subject) == ("Wat gezegd is", "What it was about")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("memory: [", "not valid YAML"),
        ("memory:\n  account: Von {nmae}\n", "de.yaml:2: `memory.account` must be"),
        ("memory: {months: [Jan]}", "`memory.months` must be"),
        ("memory: {tells: x}", "`memory.tells` is not known"),
        ("other: {}", "`other` is not known"),
    ],
)
def test_a_broken_file_is_left_out_and_that_is_said_once(
    ada: Entity, text: str, problem: str
) -> None:
    (ada.root / "forms").mkdir()
    (ada.root / "forms/de.yaml").write_text(text, encoding="utf-8")
    heard: list[str] = []
    for _ in range(2):
        memory = forms.load("de", ada.root, heard.append).memory
    assert memory.account == "Was {name} mir erzählt hat"
    assert len(heard) == 1
    assert problem in heard[0]


def test_a_link_that_leads_out_brings_nothing_in(ada: Entity, tmp_path: Path) -> None:
    (tmp_path / "de.yaml").write_text("memory: {account: x}")
    (ada.root / "forms").mkdir()
    (ada.root / "forms/de.yaml").symlink_to(tmp_path / "de.yaml")
    assert forms.load("de", ada.root).memory.account == "Was {name} mir erzählt hat"
