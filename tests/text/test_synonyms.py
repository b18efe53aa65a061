from __future__ import annotations

from collections import Counter

import pytest

from bumble.choosing import language_file
from bumble.text import synonyms, words, yaml_read

CODES = language_file.codes()


def rows(language: str) -> list[list[str]]:
    source = synonyms.FOLDER.joinpath(f"{language}.yaml").read_text(encoding="utf-8")
    return [[word.strip() for word in row.split(",")] for row in yaml_read.parse(source)]


@pytest.mark.parametrize("language", CODES)
def test_every_group_has_single_words_and_each_stands_in_one(language: str) -> None:
    listed = [word for row in rows(language) for word in row]

    assert all(len(row) > 1 for row in rows(language))
    assert not [word for word in listed if " " in word]
    assert [word for word, count in Counter(listed).items() if count > 1] == []


@pytest.mark.parametrize(
    ("language", "asked", "told"),
    [
        ("en", "mother", "mammy"),
        ("de", "mutter", "mutti"),
        ("es", "madre", "mamá"),
        ("fr", "médecin", "toubib"),
        ("it", "padre", "babbo"),
        ("pt", "trabalho", "trampo"),
    ],
)
def test_what_people_say_for_one_thing_has_one_stem(language: str, asked: str, told: str) -> None:
    assert synonyms.stem(asked, language) == synonyms.stem(told, language)
    assert synonyms.stem("bumble", language) == words.stem("bumble", language)


def test_a_language_without_a_file_has_no_groups() -> None:
    assert synonyms.groups("nl") == {}
