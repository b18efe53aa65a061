from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bumble.app.speech import Speech, cells
from tests.support.chatting import act, script
from tests.support.running import Run


class Screen(io.StringIO):
    """Standard output that is a terminal."""

    def isatty(self) -> bool:
        return True


def spoken(monkeypatch: pytest.MonkeyPatch, text: str, *, width: int = 20, piece: int = 3) -> str:
    """Say a text in pieces on a terminal; return what stands there."""
    screen = Screen()
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(sys, "stdout", screen)
    speech = Speech("Ada")
    for start in range(0, len(text), piece):
        speech(text[start : start + piece])
    speech.end()
    return screen.getvalue()


TEXT = "I want to know how things work and what they are like from the inside."


@pytest.mark.parametrize("piece", [1, 3, 100])
def test_lines_of_a_terminal_end_between_words(monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    lines = spoken(monkeypatch, TEXT, piece=piece).split("\n")
    assert lines[0] == "Ada> I want to know"
    assert all(len(line) <= 20 for line in lines)
    assert " ".join(lines) == f"Ada> {TEXT}"


def test_own_lines_code_and_long_words_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "Look:\n```\nfor one in everything_there_is: print(one)\n```\nSo."
    assert spoken(monkeypatch, code) == f"Ada> {code}"
    url = "https://example.com/a/very/long/path"
    assert spoken(monkeypatch, f"See {url} now.") == f"Ada> See\n{url}\nnow."


def test_wide_signs_break_where_they_have_to(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = spoken(monkeypatch, "我想知道事物是如何运作的以及它们的内在是什么样子").split("\n")
    assert all(cells(line) <= 20 for line in lines)
    assert len(lines) > 2


def test_elsewhere_the_answer_is_bare(run: Run) -> None:
    script(run, act("say", text=TEXT))
    assert run.ok("chat", "Hello").out == f"{TEXT}\n"


@pytest.mark.skipif(shutil.which("script") is None, reason="no script(1) to make a terminal")
def test_a_terminal_shows_what_is_waited_for_and_then_who_speaks(
    run: Run, tmp_path: Path, environ: dict[str, str]
) -> None:
    script(run, act("say", text=TEXT))
    root = run.entity.root
    command = f"{sys.executable} -m bumble chat -e {root} 'Hello there'"
    ran = subprocess.run(
        ["script", "-qec", command, "/dev/null"],
        env={**os.environ, **run.environ, "PATH": os.environ["PATH"], "TERM": "xterm"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    shown = ran.stdout
    places = [shown.find(part) for part in ("Ada wakes …", "Ada reads about", "Ada> I want")]
    assert places == sorted(places)
    assert places[0] >= 0, shown
