from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.chatting import act, script
from tests.support.fake_server import FakeServer
from tests.support.reading import with_weights
from tests.support.running import ABLE, Run
from tests.support.sweeps import in_turn
from tests.support.terminal import Terminal

TEXT = "I want to know how things work and what they are like from the inside."


@pytest.fixture
def at_terminal(run: Run) -> Callable[..., Terminal]:
    """Start a command at a terminal, on Ada."""
    script(run, act("say", text=TEXT))

    def start(*argv: str, **options: Any) -> Terminal:
        return Terminal([*argv, "-e", str(run.entity.root)], run.environ, **options)

    return start


def test_a_terminal_shows_what_is_waited_for_and_then_who_speaks(
    at_terminal: Callable[..., Terminal],
) -> None:
    terminal = at_terminal("chat", "Hello there", columns=24)
    assert terminal.finish() == 0
    signs = ("one moment …", "Ada wakes …", "Ada listens …", "Ada reads about", "Ada> I want")
    places = [terminal.text.find(part) for part in signs]
    assert places == sorted(places)
    assert places[0] >= 0, terminal.text
    answer = "".join(terminal.left).split()
    assert "".join(answer) == f"Ada> {TEXT}".replace(" ", "")


def test_json_and_a_pipe_get_what_they_got_while_the_terminal_shows_signs(
    at_terminal: Callable[..., Terminal],
) -> None:
    piped = at_terminal("chat", "Hello there", columns=24, piped=True)
    assert piped.finish() == 0
    assert piped.out == f"{TEXT}\n"
    assert "Ada wakes …" in piped.text
    assert [line for line in piped.left if line] == []


@in_turn(1, 4)  # a second model is loaded for it
def test_a_question_stands_on_a_line_of_its_own(
    run: Run, at_terminal: Callable[..., Terminal], weights_folder: Path
) -> None:
    may = {"abilities": {"talk": {"any": "choose"}, "memory": {"any": "choose"}}}
    script(run, may, act("say", text=TEXT))
    with_weights(run, weights_folder)
    terminal = at_terminal("chat", "Hello, I'm Mira.", anew=True)
    terminal.wait_for("[Y/n]")
    terminal.type("y\n")
    assert terminal.finish() == 0
    (question,) = (line for line in terminal.left if "[Y/n]" in line)
    assert question.startswith("Ada takes you for Sam.")


def test_ctrl_c_takes_the_sign_away(run: Run, server: FakeServer) -> None:
    server.routes["/v1/chat/completions"] = lambda exchange: exchange.hang(server)
    environ = {
        **run.environ,
        **ABLE,
        "BUMBLE_LLM_BASE_URL": f"{server.url}/v1",
        "BUMBLE_LLM_MODEL": "slow",
        "BUMBLE_EMBEDDING_MODEL": "none",
    }
    terminal = Terminal(["chat", "-e", str(run.entity.root), "Hello"], environ)
    terminal.wait_for("Ada reads about")
    terminal.type("\x03")
    assert terminal.finish() == 130
    assert not any("Ada reads" in line for line in terminal.left)


@pytest.mark.parametrize("sign", ["Ada listens", "Ada reads about"])
def test_ctrl_c_from_enter_on_keeps_what_was_said_and_the_talk(
    run: Run, server: FakeServer, sign: str
) -> None:
    server.routes["/v1/chat/completions"] = lambda exchange: exchange.hang(server)
    environ = {
        **run.environ,
        **ABLE,
        "BUMBLE_LLM_BASE_URL": f"{server.url}/v1",
        "BUMBLE_LLM_MODEL": "slow",
        "BUMBLE_EMBEDDING_MODEL": "none",
    }
    terminal = Terminal(["chat", "-e", str(run.entity.root)], environ)
    terminal.wait_for("Sam>")
    terminal.type("I had soup today.\r")
    terminal.wait_for(sign)
    terminal.type("\x03")
    terminal.wait_for("what was said is kept")
    terminal.wait_for("Sam>")
    terminal.type("/quit\r")
    assert terminal.finish() == 0
    (talk,) = run.file("sessions").glob("*/messages.jsonl")
    assert "I had soup today." in talk.read_text(encoding="utf-8")
