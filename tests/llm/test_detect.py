from __future__ import annotations

import subprocess
import sys
import time

from bumble.llm import detect
from bumble.llm.detect import Address
from tests.support.fake_server import FakeServer

NOWHERE = "http://127.0.0.1:9"


def test_a_server_with_chat_models_is_found_and_listed(server: FakeServer) -> None:
    server.routes["/api/tags"] = lambda exchange: exchange.json(
        {"models": [{"name": "nomic-embed-text:latest"}, {"name": "qwen3:4b"}]}
    )
    server.routes["/v1/models"] = lambda exchange: exchange.json({"data": [{"id": "ada"}]})
    addresses = [Address("Ollama", "ollama", server.url), Address("x", "openai", server.url)]
    first, second = detect.servers(addresses, timeout_seconds=20)
    assert (first.models, first.base_url) == (("qwen3:4b",), server.url)
    assert (second.models, second.base_url) == (("ada",), f"{server.url}/v1")


def test_ollama_tells_by_which_digest_it_knows_a_model(server: FakeServer) -> None:
    listed = [{"name": "qwen3:4b", "digest": "abc"}, {"name": "m:latest", "digest": "def"}]
    server.routes["/api/tags"] = lambda exchange: exchange.json({"models": listed})
    names = ("qwen3:4b", "m", "other")
    assert [detect.digest(server.url, name, timeout_seconds=20) for name in names] == [
        "abc",
        "def",
        "",
    ]
    assert detect.digest(NOWHERE, "m") == ""


def test_a_port_that_hangs_costs_little_time(server: FakeServer) -> None:
    server.routes["/v1/models"] = lambda exchange: exchange.hang(server)
    started = time.monotonic()
    addresses = [Address(str(number), "openai", server.url) for number in range(3)]
    assert detect.servers(addresses, timeout_seconds=1.0) == ()
    assert time.monotonic() - started < 2.5  # asked at once, not one after the other


def test_probing_imports_no_sdk() -> None:
    code = (
        "import sys; from bumble.llm import detect; detect.servers(()); "
        "print([name for name in ('openai', 'ollama', 'httpx', 'httpx2') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
