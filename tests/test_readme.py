"""Every block of README.md and of the pages for tasks works, pasted in order into one shell."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from bumble.llm import detect
from tests.support import ollama_wire, openai_wire, pasting
from tests.support.fake_server import FakeServer
from tests.support.pasting import DONE, ROOT

README = ROOT / "README.md"
ELSEWHERE = ("key", "ollama")  # blocks that ask another model; each has a home of its own
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (shutil.which("bash") and shutil.which("git")), reason="no bash or no git"
    ),
]


@pytest.fixture
def home(environ: dict[str, str]) -> Path:
    """A home in which blocks are pasted."""
    pasting.prepare(Path(environ["HOME"]))
    return Path(environ["HOME"])


def test_every_block_works_when_pasted_in_order(
    home: Path, tmp_path: Path, environ: dict[str, str]
) -> None:
    blocks = [text for mark, text in pasting.blocks(README) if mark not in ELSEWHERE]
    assert len(blocks) > 5
    ran = pasting.paste(blocks, home, {**environ, **pasting.scripted(tmp_path)})
    assert ran.returncode == 0, f"{ran.stdout[-2000:]}\n{ran.stderr[-4000:]}"
    assert ran.stdout.endswith(f"{DONE}\n")
    assert "\n# Jo Miller\n" in ran.stdout  # as git calls whoever it belongs to


@pytest.mark.parametrize("name", pasting.TASKS)
def test_every_block_of_a_page_for_a_task_works(
    name: str, home: Path, tmp_path: Path, environ: dict[str, str]
) -> None:
    blocks = [text for _, text in pasting.blocks(ROOT / "docs" / f"{name}.md")]
    begin = ["export BUMBLE_ENTITY=~/ada", 'bumble new ~/ada --owner Sam && bumble chat "Hello."']
    ran = pasting.paste([*begin, *blocks], home, {**environ, **pasting.scripted(tmp_path)})
    assert ran.returncode == 0, f"{ran.stdout[-2000:]}\n{ran.stderr[-4000:]}"
    assert ran.stdout.endswith(f"{DONE}\n")


@pytest.mark.parametrize("mark", ELSEWHERE)
def test_the_ways_that_need_a_model_elsewhere_work(
    mark: str, home: Path, environ: dict[str, str], server: FakeServer
) -> None:
    said = openai_wire.calls([{"tool": "say", "arguments": {"text": "I am Ada."}}])
    server.routes["/v1/chat/completions"] = openai_wire.says(
        openai_wire.event(said, "tool_calls"), openai_wire.usage(), openai_wire.DONE
    )
    name = (detect.provider_named("openai") or pytest.fail("no openai")).model
    server.routes["/v1/models"] = lambda asked: asked.json({"data": [{"id": name}]})
    server.routes["/api/tags"] = lambda asked: asked.json({"models": [{"name": "llama3.2:latest"}]})
    server.routes["/api/show"] = lambda asked: asked.json({"model_info": {}})
    text = json.dumps({"actions": [{"tool": "say", "arguments": {"text": "I am Ada."}}]})
    server.routes["/api/chat"] = ollama_wire.says(ollama_wire.part(text), ollama_wire.END)
    address = {
        "key": {"BUMBLE_LLM_BASE_URL": f"{server.url}/v1", "BUMBLE_LLM_MODEL": name},
        "ollama": {"BUMBLE_LLM_OLLAMA_URL": server.url},
    }[mark]
    (block,) = (text for found, text in pasting.blocks(README) if found == mark)
    ran = pasting.paste([block], home, {**environ, **address})
    assert ran.returncode == 0, f"{ran.stdout[-2000:]}\n{ran.stderr[-4000:]}"
    assert "I am Ada." in ran.stdout
    keys = {asked.headers.get("authorization") for asked in server.asked("/v1/chat/completions")}
    assert keys == ({f"Bearer {pasting.KEY}"} if mark == "key" else set())
