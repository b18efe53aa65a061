"""Every cycle a second time at the same hour: nothing is left to do."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from bumble.cli import completing
from bumble.entity import approvals
from bumble.entity.folder import Entity
from tests.support import living, mind, month
from tests.support.fake_server import Exchange
from tests.support.month import Stretch
from tests.support.nights import NIGHT, lived
from tests.support.sweeps import turns

EVENING = NIGHT - timedelta(hours=6)
NOTHING_TO_DO = {  # that evening, and why
    "evolve": "comes after a hundred exchanges",
    "migrate": "the folder has this version's format",
    "wake": "off until the owner switches it on",
}
COMMANDS = json.loads(completing.WORDS.read_bytes())["commands"]
CYCLES = tuple(  # whatever can be asked whether it is due
    name
    for name, takes in COMMANDS.items()
    if "--check" in takes["options"] and name not in NOTHING_TO_DO
)


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stretch]:
    """Ada with all kinds of work waiting, copied for each test."""
    folder = tmp_path_factory.mktemp("past")
    with pytest.MonkeyPatch.context() as patch, mind.serving() as server:
        patch.setenv("HOME", str(folder / "home"))
        for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
            patch.delenv(name, raising=False)
        ada = month.born(folder / "ada", server, folder / "home", git=False)
        ada.ok(EVENING, "config", "set", "limits.settle", "later")
        lived(ada.entity)
        for n, line in enumerate(month.SAM[0].split("|") + month.SAM[1].split("|")):
            ada.ok(EVENING + timedelta(minutes=n), "chat", "--as", "Sam", f"{line}.")
        ada.ok(EVENING, "remind", "add", "Tea", "--in", "1h", "--deliver", "journal")
        assert ada.findings == []
        yield ada


@pytest.mark.parametrize("command", turns(2, CYCLES))
def test_a_second_run_changes_no_byte_and_calls_no_model(
    past: Stretch, tmp_path: Path, command: str
) -> None:
    ada = Stretch(Entity(tmp_path / "ada"), past.server, past.environ)
    shutil.copytree(past.entity.root, ada.entity.root)
    approvals.begin(ada.entity.root)
    if command == "compact":  # nothing to do before a conversation is long
        lines = [("sam", f"Number {n}: {'word ' * 120}") for n in range(200)]
        living.talked(ada.entity, "ses_long", *lines, at=NIGHT - timedelta(hours=2))
    fresh = ada.truth()
    ada.rng = random.Random(1)
    ada.ok(NIGHT, *command.split())
    first, asked = ada.truth(), ada.calls
    assert first != fresh
    ada.ok(NIGHT, *command.split())
    assert [name for name, text in ada.truth().items() if first.get(name) != text] == []
    assert set(ada.truth()) == set(first)
    assert ada.calls == asked
    assert ada.findings == []


@pytest.mark.parametrize("command", NOTHING_TO_DO)
def test_what_is_left_out_above_has_nothing_to_do(
    past: Stretch, tmp_path: Path, command: str
) -> None:
    ada = Stretch(Entity(tmp_path / "ada"), past.server, past.environ)
    shutil.copytree(past.entity.root, ada.entity.root)
    approvals.begin(ada.entity.root)
    before, asked = ada.truth(), ada.calls
    ada.ok(NIGHT, *command.split())
    assert (ada.truth(), ada.calls) == (before, asked)


def test_a_crowd_of_cycles_and_two_chats_lose_nothing_and_double_nothing(
    past: Stretch, tmp_path: Path
) -> None:
    ada = Stretch(Entity(tmp_path / "ada"), past.server, past.environ)
    shutil.copytree(past.entity.root, ada.entity.root)
    approvals.begin(ada.entity.root)
    words = [one.split() for one in CYCLES]
    words += [["chat", "--as", "Sam", "I prefer tea to rain."]]
    words += [["chat", "--as", "Bo", "My goat won a ribbon."]]
    assert ada.at_once(NIGHT, words) == [(0, "")] * len(words)
    assert ada.ok(NIGHT + timedelta(minutes=5), "tick", "--settle", "-v")
    ada.check(NIGHT + timedelta(minutes=5), rivals=True)
    assert ada.findings == []
    said = [one.text for one in ada.messages()]
    assert sorted(one for one in said if "tea" in one or "goat" in one)[:2] == [
        "I prefer tea to rain.",
        "My goat won a ribbon.",
    ]
    assert said.count("I prefer tea to rain.") == said.count("My goat won a ribbon.") == 1
    assert ada.entity.journal.read_text(encoding="utf-8").count("\nReminder") == 1
    assert len(ada.dreamt()) <= 1  # one that was dreamt before anybody spoke


def test_who_speaks_while_it_dreams_wakes_it(past: Stretch, tmp_path: Path) -> None:
    ada = Stretch(Entity(tmp_path / "ada"), past.server, past.environ)
    shutil.copytree(past.entity.root, ada.entity.root)
    approvals.begin(ada.entity.root)
    said: list[tuple[int, str]] = []

    def speaking(exchange: Exchange) -> None:
        if not said and "asleep and dreaming" in str(exchange.body):
            said.append((-1, ""))
            said[:] = ada.at_once(NIGHT, [["chat", "--as", "Bo", "My goat won a ribbon."]])
        mind.respond(exchange)

    past.server.routes[mind.CHAT] = speaking
    try:
        told = ada.ok(NIGHT, "dream", "-v")
    finally:
        past.server.routes[mind.CHAT] = mind.respond
    assert said == [(0, "")]
    assert "Not kept: silence: " in told
    assert ada.dreamt() == []
    assert ada.findings == []
