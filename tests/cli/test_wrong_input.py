"""What was typed wrong is said in a sentence, by every command that takes such a thing."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from tests.support.running import Run

# What takes a path; `PATH` stands for it.
TAKES_PATH = [
    ("knowledge", "list", "-e", "PATH"),
    ("status", "-e", "PATH"),
    ("new", "PATH"),
    ("new", "child", "--from", "PATH"),
    ("chat", "-e", "PATH", "--new", "Hello."),
    ("import", "PATH"),
    ("export", "--to", "card", "x.json", "--picture", "PATH"),
    ("export", "--to", "markdown", "PATH/out"),
    ("report", "PATH/out.html"),
    ("knowledge", "edit", "--from", "PATH"),
    ("model", "pull", "all-minilm-l6-v2", "--from", "PATH"),
    ("eval", "--junit", "PATH/x.xml"),
]


def with_path(words: tuple[str, ...], path: str) -> list[str]:
    return [word.replace("PATH", path) for word in words]


@pytest.mark.parametrize("words", TAKES_PATH, ids=" ".join)
def test_a_ring_of_links_leads_nowhere(run: Run, words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "ring").symlink_to("ring")
    before = run.state()
    ran = run(*with_path(words, str(tmp_path / "ring")))
    assert ran.code in (1, 2, 10, 12, 13, 20)
    assert ran.err.startswith("error: ")
    assert "ring" in ran.err
    assert run.state() == before


def test_what_looks_like_an_option_is_not_taken_for_a_command(run: Run) -> None:
    ran = run("--", "--foo")
    assert ran.code == 2 and "No such option: --foo" in ran.err
    ran = run("--", "foo")
    assert ran.code == 2 and "no command 'foo'" in ran.err


def test_a_home_is_the_same_to_every_command(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    run.environ["BUMBLE_LLM_MODEL"] = f"script:{tmp_path}/script.jsonl"
    (tmp_path / "script.jsonl").write_text('"Hello."\n"Hello again."\n')
    run.environ["BUMBLE_EMBEDDING_MODEL"] = "none"
    for _ in range(2):  # the shell leaves the ~ of `--entity=~/ada` as it is
        assert run("chat", "--entity=~/cleo", "--new", "--yes", "Hello.").code == 0
    run.ok("knowledge", "list", "--entity=~/cleo")
    assert (tmp_path / "home" / "cleo" / "entity.yaml").is_file()


@pytest.mark.parametrize(
    "words",
    [
        ("knowledge", "show", "LONG"),
        ("journal", "list", "--since", "LONG"),
        ("status", "--now", "LONG"),
        ("LONG",),
        ("session", "list", "--limit", "LONG"),
        ("status", "-e", "LONG"),
        ("import", "LONG"),
        ("knowledge", "edit", "--from", "LONG"),
    ],
    ids=" ".join,
)
def test_what_is_far_too_long_is_not_said_again_in_full(run: Run, words: tuple[str, ...]) -> None:
    ran = run(*(word.replace("LONG", "x" * 90_000) for word in words), "--json")
    assert ran.code in (1, 2, 10, 12)
    assert len(ran.err) < 3000
    assert len(ran.out) < 3000
    assert ran.json["error"]["message"] in ran.err


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such pipes")
@pytest.mark.parametrize(
    "words",
    [
        ("eval", "--junit", "PATH"),
        ("report", "PATH", "--force"),
        ("export", "--to", "card", "PATH", "--force"),
        ("export", "--to", "markdown", "PATH", "--force"),
        ("export", "--to", "bundle", "PATH", "--force"),
        ("new", "PATH"),
    ],
    ids=" ".join,
)
def test_no_command_puts_a_file_in_the_place_of_a_device(
    run: Run, words: tuple[str, ...], tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    ran = run(*with_path(words, str(tmp_path / "pipe.json")))
    assert ran.code in (1, 13)
    assert ran.err.startswith("error: ")
    assert (tmp_path / "pipe.json").is_fifo()


def test_a_file_without_an_end_is_too_long(run: Run) -> None:
    run.write("knowledge.md", "## Pets\n\nA cat.\n")
    ran = run("knowledge", "edit", "--from", "/dev/zero")
    assert ran.code == 2
    assert "longer than" in ran.err


@pytest.mark.parametrize("limit", ["2147483648", "9" * 18, "9" * 30])
def test_more_than_there_is_is_all(full: Run, limit: str) -> None:
    full.environ["BUMBLE_EMBEDDING_MODEL"] = "none"
    every = (("recall", "rain"), ("recall", "rain", "--plain"), ("session", "list"))
    for words in (*every, ("eval", "draft", "--dry-run")):
        assert full.ok(*words, "--limit", limit, "--json").data


def test_a_name_that_nothing_has_says_what_lists_those_there_are(full: Run) -> None:
    for words, listed in (
        (("knowledge", "show", "Nothing at all"), "knowledge list"),
        (("session", "show", "a\nb"), "session list"),
        (("model", "show", "zzz"), "model list"),
        (("petri", "zzz"), "petri"),
    ):
        ran = full(*words)
        assert ran.code == 1
        assert ran.err.count("\n") == 2
        assert f"\n`bumble {listed}` shows what there is.\n" in ran.err
        assert full.ok(*listed.split()).code == 0
    assert "shows what there is" not in full("knowledge", "show", "Pet").err  # that is near


@pytest.mark.parametrize("word", ["x", "//", "//:", "?key", "a:", "@"])
def test_a_long_value_of_a_setting_is_refused_in_a_moment(run: Run, word: str) -> None:
    begun = time.process_time()
    assert run("config", "set", "llm.temperature", word * 50_000).code == 2
    assert time.process_time() - begun < 5


def test_no_command_takes_a_broken_config_of_ones_own_for_a_bug(run: Run) -> None:
    own = Path(run.environ["XDG_CONFIG_HOME"]) / "bumble" / "config.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("a: [b\n")
    for words in (
        ("config", "trust", "."),
        ("config", "set", "--user", "llm.temperature", "0.5"),
        ("config", "unset", "--user", "llm.temperature"),
        ("config", "show"),
        ("status",),
    ):
        ran = run(*words)
        assert ran.code == 12, words
        assert f"{own}:2: not valid YAML" in ran.err
    assert own.read_text() == "a: [b\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("session", "list", "--limit", "many"), "it should be a valid integer"),
        (("session", "list", "--limit", "0"), "it should be greater than or equal to 1"),
        (("cron", "install", "--with", "at"), "'at' is not one of 'crontab', 'systemd'."),
    ],
)
def test_a_value_of_the_wrong_kind_is_told_in_plain_words(
    run: Run, words: tuple[str, ...], message: str
) -> None:
    ran = run(*words)
    assert ran.code == 2
    assert f": {message}\n" in ran.err
