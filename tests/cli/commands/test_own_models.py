from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from bumble.models.weights import catalog
from tests.support import stand_ins
from tests.support.running import ABLE, Run
from tests.support.serving import FakeHub, hub, repository
from tests.support.stand_ins import GEMMA3, QWEN3, chain
from tests.support.sweeps import turns

TALKS = chain('"', "s", "q", ".", '"') | chain("}", "]")  # of the actions, say; and there "sq."
BEES = {one.architecture: replace(one, follows=TALKS) for one in (QWEN3, GEMMA3)}
QWEN, GEMMA = BEES.values()
REPO = "me/Bee-GGUF"
FILE = "Bee-Q4_K_M.gguf"
URL = f"/{REPO}/resolve/c0ffee/{FILE}"


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bee") / FILE
    return stand_ins.write(path, QWEN, context_tokens=40960)


@pytest.fixture
def fake(run: Run, weights: Path) -> Iterator[FakeHub]:
    content = weights.read_bytes()
    with hub({URL: content}) as served:
        served.repositories[REPO] = repository(REPO, {FILE: content})
        run.environ["HF_ENDPOINT"] = served.endpoint
        run.environ |= ABLE
        run.environ |= {"BUMBLE_EMBEDDING_MODEL": "none", "BUMBLE_LIMITS_SETTLE": "later"}
        run.environ |= {"BUMBLE_COGNITION_LOOP_MAX_TOOL_ROUNDS": "0"}
        run.environ |= {"BUMBLE_COGNITION_GATE_JUDGE": "never"}
        run.environ["BUMBLE_LLM_PROBE_URLS"] = "[]"
        run.environ["BUMBLE_LLM_OLLAMA_URL"] = "http://127.0.0.1:1"
        yield served


def talk(run: Run, model: str) -> subprocess.CompletedProcess[str]:
    """Talk in a process of its own: the engine can't open two vocabularies in one."""
    return subprocess.run(
        [sys.executable, "-m", "bumble", "chat", "--model", model, "Is it a bee?"],
        env={**os.environ, **run.environ, "BUMBLE_ENTITY": str(run.entity.root)},
        capture_output=True,
        text=True,
        check=False,
    )


def own(run: Run) -> Path:
    return Path(run.environ["XDG_CONFIG_HOME"]) / "bumble" / "models.yaml"


def place(run: Run, name: str) -> Path:
    return Path(run.environ["XDG_CACHE_HOME"]) / "bumble" / "weights" / name


def test_a_model_of_the_hub_is_shown_fetched_kept_and_talked_with(run: Run, fake: FakeHub) -> None:
    ran = run.ok("model", "pull", f"hf:{REPO}", "--yes")
    sha256 = hashlib.sha256(fake.files[URL]).hexdigest()
    for fact in (REPO, "c0ffee", sha256, "apache-2.0", "--model bee-q4_k_m"):
        assert fact in ran.out + ran.err
    (entry,) = [one for one in catalog.load(own(run)) if one.name == "bee-q4_k_m"]
    assert (entry.licence, entry.context_tokens) == ("apache-2.0", 40960)
    assert entry.chat is not None
    assert entry.chat.thinking == "switch"  # so its template says
    assert entry.files[0].sha256 == sha256
    said = talk(run, "bee-q4_k_m")
    assert "sq." in said.stdout, said.stderr


def test_a_catalog_that_cannot_be_read_is_left_as_it_is(run: Run, fake: FakeHub) -> None:
    own(run).parent.mkdir(parents=True, exist_ok=True)
    own(run).write_text("schema: 1\nmodels: {", encoding="utf-8")
    assert run("model", "pull", f"hf:{REPO}", "--yes").code == 12
    assert own(run).read_text("utf-8") == "schema: 1\nmodels: {"


@pytest.mark.parametrize("family", turns(2, [QWEN, GEMMA]), ids=["qwen3", "gemma3"])
def test_a_file_on_this_machine_talks_and_stays_where_it_is(
    run: Run, fake: FakeHub, tmp_path: Path, family: stand_ins.Family
) -> None:
    blob = tmp_path / ".ollama" / "models" / "blobs" / f"sha256-{'ab' * 32}"
    blob.parent.mkdir(parents=True)
    stand_ins.write(blob, family, context_tokens=40960)
    first = talk(run, str(blob))
    assert "sq." in first.stdout, first.stderr
    assert "once, for its hash" in first.stderr
    (entry,) = [one for one in catalog.load(own(run)) if one.summary.startswith("Your own")]
    assert entry.name == "sha256-abababababab"
    assert place(run, entry.name).joinpath("model.gguf").samefile(blob)
    assert "once, for its hash" not in talk(run, str(blob)).stderr
    run.ok("model", "remove", entry.name, "--yes")
    assert blob.is_file()


def test_a_file_that_became_another_is_taken_only_when_pulled_again(
    run: Run, fake: FakeHub, weights: Path, tmp_path: Path
) -> None:
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(weights.read_bytes())
    run.ok("model", "pull", str(mine))
    stand_ins.write(mine, GEMMA, context_tokens=32768)
    ran = run("chat", "--model", str(mine), "Is it a bee?")
    assert ran.code == 20
    assert f"bumble model pull {mine}" in ran.err
    run.ok("model", "pull", str(mine))
    assert catalog.load(own(run)).entry("mine").context_tokens == 32768


@pytest.mark.parametrize(
    ("content", "code", "problem"),
    [(None, 2, "no such file"), (b"", 20, "can't be read"), (b"PK zip", 20, "whole GGUF file")],
)
def test_what_is_no_model_is_an_error_that_names_it(
    run: Run, fake: FakeHub, tmp_path: Path, content: bytes | None, code: int, problem: str
) -> None:
    path = tmp_path / "x.gguf"
    if content is not None:
        path.write_bytes(content)
    ran = run("chat", "--model", str(path), "Hello")
    assert (ran.code, str(path) in ran.err, problem in ran.err) == (code, True, True)
    assert not own(run).exists()


def test_a_folder_of_an_entity_names_no_file_of_this_machine(
    run: Run, fake: FakeHub, weights: Path
) -> None:
    settings = run.entity.root / "entity.yaml"
    named = settings.read_text("utf-8") + f"\nllm:\n  model: {weights}\n"
    settings.write_text(named, encoding="utf-8")
    ran = run("chat", "Hello")
    assert ran.code == 2
    assert "not for a folder" in ran.err
    assert not own(run).exists()


@pytest.mark.parametrize("is_here", [True, False])
def test_another_hash_the_second_time_is_an_error(run: Run, fake: FakeHub, is_here: bool) -> None:
    run.ok("model", "pull", f"hf:{REPO}", "--yes")
    before = own(run).read_text("utf-8")
    if not is_here:
        run.ok("model", "remove", "bee-q4_k_m", "--yes")
    other = fake.files[URL] + b"more"
    fake.repositories[REPO] = repository(REPO, {FILE: other}, commit="beef")
    fake.files[URL.replace("c0ffee", "beef")] = other
    ran = run("model", "pull", f"hf:{REPO}", "--yes")
    assert ran.code == 20
    assert hashlib.sha256(other).hexdigest() in ran.err
    assert "another file than the one first pulled" in ran.err
    assert own(run).read_text("utf-8") == before
    assert len(fake.asked) == 1
    run.ok("model", "pull", "bee-q4_k_m", "--yes")  # what it was held to can still be had
