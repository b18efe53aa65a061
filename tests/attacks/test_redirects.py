"""A key and a prompt go to the address they are meant for; a password in it is never shown."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bumble.errors import ModelUnreachableError, UsageError
from bumble.llm.http_model import HttpModel
from bumble.llm.http_model import ollama as connect_ollama
from bumble.llm.http_model import openai as connect_openai
from bumble.llm.protocol import PromptMessage, Request
from bumble.models.weights import hub
from bumble.models.weights.catalog import Hub
from bumble.models.weights.store import PullOptions
from tests.support import ollama_wire, openai_wire
from tests.support.fake_server import Exchange, FakeServer, Respond
from tests.support.running import Run

REQUEST = Request([PromptMessage("user", "My secret is the sea.")])
STATUSES = [301, 302, 303, 307, 308]


@pytest.fixture
def thief() -> Iterator[FakeServer]:
    fake = FakeServer()
    yield fake
    fake.close()


def sends_on(target: str, status: int) -> Respond:
    def respond(exchange: Exchange) -> None:
        handler = exchange._handler
        handler.send_response(status)
        handler.send_header("Location", target)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return respond


def openai(url: str, key: str | None = "sk-mine") -> HttpModel:
    return connect_openai(f"{url}/v1", "m", api_key=key, sleep=lambda _: None)


def ollama(url: str, key: str | None = "sk-mine") -> HttpModel:
    return connect_ollama("m", host=url, api_key=key, sleep=lambda _: None)


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("connect", [openai, ollama])
@pytest.mark.parametrize("key", ["sk-mine", None])
def test_no_redirect_to_another_port_is_followed(
    server: FakeServer, thief: FakeServer, connect: Any, status: int, key: str | None
) -> None:
    for path in ("/v1/chat/completions", "/v1/models", "/props", *OLLAMAS):
        server.routes[path] = sends_on(f"{thief.url}{path}", status)
    model = connect(server.url, key)
    _ = model.context_tokens
    with pytest.raises(ModelUnreachableError, match="sends requests on to") as caught:
        model.complete(REQUEST)
    assert thief.url in str(caught.value) and "sk-mine" not in str(caught.value)
    assert not thief.seen


OLLAMAS = ("/api/chat", "/api/show", "/api/ps")


@pytest.mark.parametrize("connect", [openai, ollama])
def test_another_name_or_scheme_of_the_same_host_is_another_place(
    server: FakeServer, connect: Any
) -> None:
    for target in (server.url.replace("127.0.0.1", "localhost"), server.url.replace("p:", "ps:")):
        for path in ("/v1/chat/completions", *OLLAMAS):
            server.routes[path] = sends_on(f"{target}/elsewhere", 307)
        with pytest.raises(ModelUnreachableError, match="sends requests on to"):
            connect(server.url).complete(REQUEST)
    assert not server.asked("/elsewhere")


def test_a_redirect_within_the_same_server_is_followed_with_the_key(server: FakeServer) -> None:
    server.routes["/v1/chat/completions"] = sends_on("/v2/chat", 308)
    server.routes["/v2/chat"] = openai_wire.hello()
    assert openai(server.url).complete(REQUEST).text == "Hello"
    (asked,) = server.asked("/v2/chat")
    assert asked.headers["authorization"] == "Bearer sk-mine"
    server.routes["/api/chat"] = sends_on(f"{server.url}/api/talk", 307)
    server.routes["/api/talk"] = ollama_wire.says(ollama_wire.part("Hi"), ollama_wire.END)
    assert ollama(server.url).complete(REQUEST).text == "Hi"


@pytest.mark.parametrize("status", STATUSES)
def test_weights_are_fetched_from_elsewhere_without_the_token(
    server: FakeServer,
    thief: FakeServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    status: int,
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_mine")

    def gives(exchange: Exchange) -> None:
        exchange.start("application/octet-stream", length=4)
        exchange._handler.wfile.write(b"GGUF")

    path = "/me/mine/resolve/main/model.gguf"
    server.routes[path] = sends_on(f"{thief.url}/store", status)
    thief.routes["/store"] = gives
    monkeypatch.setattr(hub, "refusal", lambda *_: None)  # asks with HEAD
    source = Hub("me/mine", "main", "model.gguf")
    hub.fetch(source, tmp_path / "part", 4, PullOptions(endpoint=server.url), lambda _: None)
    assert (tmp_path / "part").read_bytes() == b"GGUF"
    assert server.asked(path)[0].headers["authorization"] == "Bearer hf_mine"
    assert "authorization" not in thief.seen[0].headers


@pytest.mark.parametrize("connect", [openai, ollama])
def test_a_password_in_the_address_is_sent_and_not_shown(server: FakeServer, connect: Any) -> None:
    def echo(exchange: Exchange) -> None:
        exchange.json({"error": f"no: {exchange.headers['authorization']} hunter:2"}, 401)

    for path in ("/v1/chat/completions", "/api/chat"):
        server.routes[path] = echo
    url = server.url.replace("//", "//sam:hunter%3A2@")
    with pytest.raises(Exception, match="wants another key") as caught:
        connect(url, None).complete(REQUEST)
    assert "hunter" not in str(caught.value)
    expected = base64.b64encode(b"sam:hunter:2").decode()
    assert server.seen[-1].headers["authorization"] == f"Basic {expected}"


def test_no_command_prints_the_password(run: Run, server: FakeServer) -> None:
    secret = "hunter2"
    url = server.url.replace("//", f"//sam:{secret}@") + "/v1"
    shown: list[str] = []

    def look(*args: str) -> None:
        ran = run(*args)
        assert ran.code != 70, ran.err
        shown.append(ran.out + ran.err)

    look("config", "set", "--user", "llm.base_url", url, "--dry-run")
    look("config", "set", "--user", "llm.base_url", url)
    look("config", "set", "llm.base_url", url)  # not trusted there: a warning
    look("status")
    look("config", "set", "--user", "llm.model", "m")
    run.environ["BUMBLE_EMBEDDING_MODEL"] = "none"
    for json_too in ((), ("--json",)):
        for command in (
            ("config", "show", "--origin"),
            ("config", "get", "llm.base_url"),
            ("config", "get", "llm"),
            ("config", "trust", str(run.entity.root)),
            ("status",),
            ("doctor",),
            ("model", "list"),
            ("context",),
            ("chat", "Hi"),
        ):
            look(*command, *json_too)
    assert server.seen  # it was asked, and refused
    assert "sam:***@" in "".join(shown)
    assert secret not in "".join(shown)
    ledger = run.entity.ledger
    assert not ledger.exists() or secret not in ledger.read_text()
    assert json.dumps(secret) not in "".join(shown)


@pytest.mark.parametrize("url", ["http://sam:pw@[::1", "http://sam:pw@host:port/v1"])
def test_what_is_no_address_is_refused_without_its_password(url: str) -> None:
    for connect in (openai, ollama):
        with pytest.raises(UsageError, match="no address") as caught:
            connect(url)
        assert "pw" not in str(caught.value)
