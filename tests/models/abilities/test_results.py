from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from bumble.models import probe, tiers
from bumble.models.tiers import (
    ANY,
    KINDS,
    Abilities,
    LanguageResult,
    ModelResult,
    overruled,
)
from bumble.models.weights import catalog

ALL = dict.fromkeys(KINDS, "1" * 12)
RESULT = LanguageResult(1, "2026-11-23", ALL, 90.5, 170.25)


def test_what_was_measured_is_read_as_it_was_written(tmp_path: Path) -> None:
    result = ModelResult("http://x#m", "m", {"de": RESULT})
    tiers.save(result, tmp_path)
    assert tiers.load("http://x#m", "m", tmp_path) == result
    assert tiers.load("http://x#other", "m", tmp_path).languages == {}


@pytest.mark.parametrize("damage", [b"", b"[]", b'{"schema": 1}', b"\xff", b"[" * 9999])
def test_a_damaged_file_holds_nothing(tmp_path: Path, damage: bytes) -> None:
    path = tiers.save(ModelResult("http://x#m", "m", {"de": RESULT}), tmp_path)
    path.write_bytes(damage)
    assert tiers.load("http://x#m", "m", tmp_path).languages == {}


def test_what_is_measured_here_counts_before_what_ships_once_it_is_whole(tmp_path: Path) -> None:
    identity = f"sha256:{catalog.load().entry('smollm2-135m').files[0].sha256}"
    half = replace(RESULT, answers={**ALL, "facts": ""})
    tiers.save(ModelResult(identity, "x", {"de": RESULT, "en": half}), tmp_path)
    abilities = tiers.load(identity, "x", tmp_path).abilities()
    assert abilities.tier("talk", "de") == "write"
    assert abilities.tier("talk", "en") == "none"


@pytest.mark.parametrize(
    ("name", "languages"),
    [
        ("qwen2.5-coder-1.5b", ["de", "en", "es", "fr", "it", "pt"]),
        ("smollm2-135m", ["de", "en", "es", "fr", "it", "pt"]),
    ],
)
def test_weights_of_the_catalog_that_were_probed_ship_with_their_results(
    name: str, languages: list[str], tmp_path: Path
) -> None:
    identity = f"sha256:{catalog.load().entry(name).files[0].sha256}"
    shipped = tiers.load(identity, name, tmp_path)
    assert sorted(shipped.languages) == languages
    assert {result.version for result in shipped.languages.values()} == {probe.VERSION}
    assert all(result.is_whole for result in shipped.languages.values())
    abilities = shipped.abilities()
    assert abilities.tier("talk", "de") != "write"
    if name == "smollm2-135m":
        assert {abilities.tier("talk", code) for code in shipped.languages} == {"none"}


@pytest.mark.parametrize(
    ("wrong", "talk", "memory"),
    [
        ({}, "write", "write"),
        ({"language": 1, "facts": 1, "schema": 1}, "write", "write"),
        ({"unknown": 2}, "choose", "write"),
        ({"whose_i": 2}, "choose", "none"),
        ({"whose_i": 6}, "choose", "none"),
        ({"whose_i": 7}, "none", "none"),
        ({"language": 7}, "none", "write"),
        ({"facts": 2}, "write", "none"),
        ({"schema": 2}, "write", "none"),
    ],
)
def test_tiers_follow_from_how_many_of_a_kind_were_wrong(
    wrong: dict[str, int], talk: str, memory: str
) -> None:
    answers = {kind: ("0" * wrong.get(kind, 0)).ljust(12, "1") for kind in KINDS}
    assert tiers.tiers(answers) == {"talk": talk, "memory": memory}


def test_a_tier_is_that_of_the_language_else_of_any_else_of_what_was_not_measured() -> None:
    abilities = Abilities(measured={("talk", "de"): "none", ("memory", ANY): "write"})
    assert abilities.tier("talk", "de") == "none"
    assert abilities.tier("talk", "en") == "choose"
    assert abilities.tier("memory", "en") == "write"


def test_what_may_only_lower_gives_no_trust() -> None:
    measured = Abilities(measured={("talk", "de"): "none", ("talk", "en"): "write"})
    wanted = overruled(measured, {"talk": {ANY: "choose"}}, [("talk", ANY)])
    assert [wanted.tier("talk", code) for code in ("de", "en", "fr")] == [
        "none",
        "choose",
        "choose",
    ]
