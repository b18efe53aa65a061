from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import ollama_wire, openai_wire
from tests.support.fake_server import FakeServer
from tests.support.own_models import CONTENT, entry
from tests.support.running import Run
from tests.support.terminal import Terminal

SAYS = json.dumps({"actions": [{"tool": "say", "arguments": {"text": "Hello Sam."}}]})
LEAVES = "what you say, and what is remembered for it, goes to"
OFFERED = [
    "Which model shall talk?",
    "  1  qwen3:4b of Ollama: on this machine, which nothing leaves, 2.5 GB",
    "  2  phi-4 of a server: on this machine, which nothing leaves",
    "  3  tiny inside bumble: on this machine, which nothing leaves, 115 kB to be fetched once,"
    " MIT",
    f"  4  gpt-oss:120b-cloud of Ollama: {LEAVES} Ollama's cloud, which may cost money",
    f"  5  gpt-5.4-mini of OpenAI: {LEAVES} api.openai.com, at its prices, by your OPENAI_API_KEY",
    f"  6  claude-sonnet-5-5 of Anthropic: {LEAVES} api.anthropic.com, at its prices,"
    " by your ANTHROPIC_API_KEY",
]
NEW = ("new", "bee", "--name", "Bee", "--archetype", "curious", "--owner", "Sam")


def serve(server: FakeServer, parameters: int = 4 * 10**9) -> None:
    """Let a server be Ollama, and one that speaks OpenAI's form."""
    models = [{"name": "qwen3:4b", "size": 2_500_000_000}, {"name": "gpt-oss:120b-cloud"}]
    info = {"general.parameter_count": parameters, "qwen3.context_length": 40960}
    server.routes["/api/tags"] = lambda exchange: exchange.json({"models": models})
    server.routes["/api/show"] = lambda exchange: exchange.json({"model_info": info})
    server.routes["/api/chat"] = ollama_wire.says(ollama_wire.part(SAYS), ollama_wire.END)
    listed = {"data": [{"id": "phi-4"}, {"id": "nomic-embed"}]}
    server.routes["/v1/models"] = lambda exchange: exchange.json(listed)
    events = (openai_wire.event({"content": SAYS}, "stop"), openai_wire.usage(), openai_wire.DONE)
    server.routes[openai_wire.CHAT] = openai_wire.says(*events)


@pytest.fixture
def owner(run: Run, server: FakeServer) -> Run:
    """An owner with servers, keys and weights at hand, who has said nothing about a model."""
    serve(server)
    config = Path(run.environ["XDG_CONFIG_HOME"]) / "bumble"
    config.mkdir(parents=True)
    (config / "weights.bin").write_bytes(CONTENT)
    (config / "models.yaml").write_text(f"schema: 1\nmodels:{entry('tiny', 'file: weights.bin')}")
    run.environ |= {
        "BUMBLE_LLM_OLLAMA_URL": server.url,
        "BUMBLE_LLM_PROBE_URLS": f"[{server.url}/v1]",
        "BUMBLE_EMBEDDING_MODEL": "none",
        "BUMBLE_LIMITS_SETTLE": "later",
        "OPENAI_API_KEY": "sk-secret",
        "ANTHROPIC_API_KEY": "sk-ant-secret",
    }
    return run


def kept(run: Run) -> str:
    file = Path(run.environ["XDG_CONFIG_HOME"]) / "bumble" / "config.yaml"
    return file.read_text("utf-8") if file.exists() else ""


def asked_lines(text: str) -> list[str]:
    lines = text.replace("\r\n", "\n").split("\n")
    plain = [line.split("\x1b[2K")[-1] for line in lines]
    return [line for line in plain if line in OFFERED]


def test_a_first_talk_at_a_terminal_asks_once_which_model_and_says_what_each_means(
    owner: Run, server: FakeServer
) -> None:
    before = owner.text("entity.yaml")
    terminal = Terminal(["chat", "-e", str(owner.entity.root), "Hello"], owner.environ, columns=200)
    terminal.wait_for("By number, 1 to 6 [1]:")
    terminal.type("\r")
    terminal.wait_for("Kept in ")
    terminal.wait_for("Hello Sam.")
    assert terminal.finish() == 0
    assert asked_lines(terminal.text) == OFFERED
    assert "secret" not in terminal.text
    assert kept(owner) == 'llm:\n  model: "ollama:qwen3:4b"\n'
    assert owner.text("entity.yaml") == before
    assert all("authorization" not in exchange.headers for exchange in server.seen)
    again = owner.ok("chat", "--new-session", "Hello again", terminal=True)
    assert "Which model" not in again.err


@pytest.mark.parametrize(
    ("answer", "settings"),
    [
        ("2", {"llm.model": "phi-4", "llm.provider": "none"}),
        ("3", {"llm.model": "tiny", "llm.base_url": ""}),
        ("9\nx\n6", {"llm.model": "claude-sonnet-5-5", "llm.provider": "anthropic"}),
    ],
)
def test_new_asks_too_and_keeps_the_answer_in_the_users_own_config(
    owner: Run, tmp_path: Path, answer: str, settings: dict[str, str]
) -> None:
    argv = (*NEW, "--timezone", "Europe/Lisbon")
    ran = owner(*argv, stdin=f"{answer}\n", terminal=True, cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert asked_lines(ran.err) == OFFERED
    assert ran.err.count("There are 1, 2, 3, 4, 5, 6.") == answer.count("\n")
    for key, value in settings.items():
        assert owner.ok("config", "get", key).out.strip() == value
    folder = "".join(
        path.read_text("utf-8", "replace")
        for path in (tmp_path / "bee").rglob("*")
        if path.is_file() and ".git" not in path.parts
    )
    assert "claude" not in folder
    assert "secret" not in kept(owner)


def test_a_server_of_this_machine_gets_no_key_that_nobody_meant_for_it(
    owner: Run, server: FakeServer, tmp_path: Path
) -> None:
    owner(*NEW, "--timezone", "Europe/Lisbon", stdin="2\n", terminal=True, cwd=tmp_path)
    owner.ok("chat", "Hello")
    assert server.asked(openai_wire.CHAT)
    assert all("authorization" not in exchange.headers for exchange in server.seen)


@pytest.mark.parametrize(
    ("argv", "more", "terminal"),
    [
        (("chat", "--yes", "Hello"), {}, True),
        (("chat", "Hello"), {}, False),
        (("chat", "--json", "Hello"), {}, True),
        (("chat", "--incognito", "Hello"), {}, True),
        (("chat", "Hello"), {"BUMBLE_LLM_MODEL": "ollama:qwen3:4b"}, True),
    ],
)
def test_who_has_said_it_or_can_not_be_asked_is_not(
    owner: Run, argv: tuple[str, ...], more: dict[str, str], terminal: bool
) -> None:
    owner.environ |= more
    ran = owner.ok(*argv, terminal=terminal)
    assert "Which model" not in ran.err
    assert "Hello Sam." in ran.out
    assert kept(owner) == ""


def test_where_there_is_one_way_only_nothing_is_asked(owner: Run, server: FakeServer) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        del owner.environ[name]
    owner.environ["BUMBLE_LLM_OLLAMA_URL"] = "http://127.0.0.1:1"
    owner.environ["BUMBLE_LLM_PROBE_URLS"] = "[]"
    ran = owner("chat", "Hello", stdin="n\n", terminal=True)
    assert "Which model" not in ran.err
    assert "Fetch tiny" in ran.err


def sentences(ran: Any) -> list[str]:
    lines = [line for line in ran.err.split("\n") if line and not line.startswith("\r")]
    return [line for line in lines if not line.endswith("is thinking …")]


def test_what_one_reads_who_moves_from_a_small_model_to_an_endpoint(
    owner: Run, server: FakeServer
) -> None:
    serve(server, parameters=1_500_000_000)
    for purpose in ("TALK", "MEMORY"):
        owner.environ[f"BUMBLE_LLM_ABILITIES_{purpose}"] = "{}"
    owner.ok("config", "set", "--user", "llm.model", "ollama:qwen3:4b")
    small = owner.ok("chat", "My dog is called Biscuit and he is afraid of the sea.")
    assert sentences(small) == [
        "qwen3:4b is a small model, so it isn't trusted to write English unchecked: what you tell"
        " it is kept in your own words, and it says little.",
        "A larger one of that server: `bumble config set llm.model ollama:NAME`.",
    ]
    assert sentences(owner.ok("chat", "We went to the beach together on Sunday.")) == []
    owner.ok("config", "set", "--user", "llm.base_url", f"{server.url}/v1")
    moved = owner.ok("config", "set", "--user", "llm.model", "phi4")
    assert sentences(moved) == ["warning: phi4: the endpoint does not list it; did you mean phi-4?"]
    assert sentences(owner.ok("config", "set", "--user", "llm.model", "phi-4")) == []
    able = owner.ok("chat", "My dog is called Biscuit and he is afraid of the sea.")
    assert (able.out, sentences(able)) == ("Hello Sam.\n", [])
    status = owner.ok("status").out
    why = "not probed; its endpoint doesn't say that it is small"
    assert f"English: talk write, memory write ({why})" in status
    assert "16,384 tokens (as others of its family; the endpoint doesn't tell)" in status


def test_without_its_key_a_provider_is_sent_nothing_and_nothing_is_made(
    run: Run, tmp_path: Path
) -> None:
    run.environ["BUMBLE_LLM_PROVIDER"] = "openai"
    made = run("chat", "-e", str(tmp_path / "eve"), "--new", "--yes", "Hi")
    asked = run("chat", "Hi")
    for ran in (made, asked):
        assert ran.code == 23
        assert "No key for OpenAI: OPENAI_API_KEY is not set." in ran.err
    assert not (tmp_path / "eve").exists()
    assert "OPENAI_API_KEY, not set" in run.ok("model", "show").out
