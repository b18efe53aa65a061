from __future__ import annotations

from pathlib import Path

import pytest

from bumble.entity import changes, layers
from bumble.entity.config import defaults
from tests.support.running import Run

ALL = [".".join(keys) for keys, _ in layers.leaves(defaults())]


@pytest.fixture
def user_file(run: Run) -> Path:
    return Path(run.environ["XDG_CONFIG_HOME"]) / "bumble" / "config.yaml"


def test_show_lists_every_setting_with_its_value(run: Run) -> None:
    run.environ |= {"BUMBLE_LLM_ABILITIES_TALK": "{}", "BUMBLE_LLM_ABILITIES_MEMORY": "{}"}
    lines = run.ok("config", "show").out.splitlines()
    assert [line.split(": ")[0] for line in lines] == ALL
    assert "llm.model: auto" in lines
    data = run.ok("config", "show", "--json").data
    assert {"key": "llm.temperature", "value": None, "origin": "default"} in data


@pytest.mark.parametrize("option", ["--origin", "--effective"])
def test_show_says_where_each_value_comes_from(run: Run, user_file: Path, option: str) -> None:
    run.write("entity.yaml", run.text("entity.yaml") + "llm:\n  model: one\n")
    line = run.text("entity.yaml").splitlines().index("  model: one") + 1
    user_file.parent.mkdir(parents=True)
    user_file.write_text("llm:\n  temperature: 0.5\n", encoding="utf-8")
    run.environ["BUMBLE_LLM_CONTEXT_TOKENS"] = "4096"
    ran = run.ok("config", "show", "llm", option)
    assert f"llm.model: one  # entity.yaml:{line}\n" in ran.out
    assert f"llm.temperature: 0.5  # {user_file}:2\n" in ran.out
    assert "llm.context_tokens: 4096  # environment BUMBLE_LLM_CONTEXT_TOKENS\n" in ran.out
    assert 'llm.base_url: ""  # default\n' in ran.out
    assert str(user_file) in ran.err


@pytest.mark.parametrize(
    "words", [["show", "llm.modle"], ["get", "llm.modle"], ["set", "llm.modle", "x"],
              ["unset", "llm.modle"], ["set", "--user", "llm.modle", "x"]],
)  # fmt: skip
def test_an_unknown_key_names_the_nearest(run: Run, words: list[str]) -> None:
    before = run.state()
    ran = run("config", *words)
    assert ran.code == 2
    assert "did you mean `llm.model`?" in ran.err
    assert run.state() == before


def test_an_unknown_key_in_a_file_is_an_error_with_line_and_nearest_name(run: Run) -> None:
    run.write("entity.yaml", run.text("entity.yaml") + "llm:\n  modle: one\n")
    line = run.text("entity.yaml").count("\n")
    ran = run("config", "show")
    assert ran.code == 12
    assert f"entity.yaml:{line}" in ran.err
    assert "did you mean `llm.model`?" in ran.err


def test_set_changes_its_line_and_keeps_the_rest(run: Run) -> None:
    run.write(
        "entity.yaml",
        run.text("entity.yaml") + "\n# mine\nllm:  # who talks\n  model: one   # small\n",
    )
    before = run.text("entity.yaml")
    ran = run.ok("config", "set", "llm.model", "two")
    assert run.text("entity.yaml") == before.replace("model: one ", "model: two ")
    assert ran.out.startswith("llm.model: two  # entity.yaml:")


def test_set_and_unset_leave_the_file_of_a_newborn_as_it_was(run: Run) -> None:
    before = run.text("entity.yaml")
    run.ok("config", "set", "memory.max_recall_results", "5")
    assert run.ok("config", "get", "memory.max_recall_results").out == "5\n"
    ran = run.ok("config", "unset", "memory.max_recall_results")
    assert "# default" in ran.out
    assert run.text("entity.yaml").startswith(before)
    assert (
        run.ok("config", "get", "memory.max_recall_results", "--json").data["origin"] == "default"
    )


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("llm.temperature", "hot", "number"),
        ("llm.temperature", "3", "2"),
        ("llm.temperature", "-1", "0"),
        ("memory.max_recall_results", "1.5", "whole number"),
        ("cognition.gate.enabled", "perhaps", "true or false"),
        ("timezone", "Mars/Olympus", "time zone"),
        ("llm", "x", "section"),
        ("cognition.history_compression.compaction_target_ratio", "0.99", "must be below"),
        ("schema_version", "2", "schema_version"),
        ("x", "y", "not a setting"),
        ("x.foo", "y", "not a setting: `x` is for notes of your own"),
        ("memory.embedding_dimensions", "100", "256"),
        ("name", " ", "The name is empty"),
        ("tools.servers.x", "{command: [echo]}", "Add --user"),
        ("trusted", "[/]", "not a setting"),
    ],
)
def test_a_value_that_cannot_be_is_refused(run: Run, key: str, value: str, said: str) -> None:
    before = run.state()
    ran = run("config", "set", key, value)
    assert ran.code == 2
    assert said in ran.err
    assert run.state() == before


def test_set_can_mend_what_can_not_be_read(run: Run) -> None:
    run.write("entity.yaml", run.text("entity.yaml") + "llm:\n  temperature: hot\n")
    assert run("config", "show").code == 12
    run.ok("config", "set", "llm.temperature", "1")
    assert run.ok("config", "get", "llm.temperature").out == "1\n"


def test_another_writer_is_waited_for_as_long_as_said(run: Run) -> None:
    from bumble.files import disk

    root = run.entity.root
    with disk.lock(changes.lock_path(root), place=root, timeout_seconds=1):
        ran = run("config", "set", "llm.model", "x", "--lock-timeout", "0")
    assert ran.code == 11
    assert "llm:" not in run.text("entity.yaml")


def test_a_link_in_place_of_the_users_file_stays_one(run: Run, user_file: Path) -> None:
    real = Path(run.environ["HOME"]) / "dotfiles" / "bumble.yaml"
    for folder in (real.parent, user_file.parent):
        folder.mkdir(parents=True)
    real.write_text("# mine\n", encoding="utf-8")
    user_file.symlink_to(real)
    run.ok("config", "set", "llm.model", "one", "--user")
    assert user_file.is_symlink()
    assert real.read_text() == "# mine\nllm:\n  model: one\n"


def test_what_only_the_users_config_may_set_is_not_written_into_a_folder(run: Run) -> None:
    before = run.text("entity.yaml")
    refused = run("config", "set", "index.url", "postgresql://me:secret@db.example/life")
    assert (refused.code, "Add --user" in refused.err) == (2, True)
    assert "secret" not in refused.err
    assert run.text("entity.yaml") == before
    run.ok("config", "set", "--user", "index.fallback", "local")


def test_a_folder_names_no_script_outside_of_it(run: Run, tmp_path: Path) -> None:
    outside = tmp_path / "script.yaml"
    outside.write_text("[Hello.]\n")
    for named in (f"script:{outside}", "script:../script.yaml", "script:gone.yaml"):
        assert "warning: " in run.ok("config", "set", "llm.model", named).err
        assert run("chat", "Hi").code != 0
    run.ok("config", "set", "--user", "llm.model", f"script:{outside}")
    run.write("script.yaml", "[Hello.]\n")
    run.ok("config", "set", "llm.model", "script:script.yaml")
    assert "Hello." in run.ok("chat", "Hi").out


def test_an_endpoint_counts_only_where_the_folder_is_trusted(run: Run, user_file: Path) -> None:
    address = "https://api.example/v1"
    ran = run.ok("config", "set", "llm.base_url", address)
    assert "bumble config trust" in ran.err
    assert run.ok("config", "get", "llm.base_url").out == "\n"
    ran = run.ok("config", "trust", str(run.entity.root))
    assert f"llm.base_url: {address}" in ran.out.replace('"', "")
    assert str(run.entity.root) in user_file.read_text()
    assert run.ok("config", "get", "llm.base_url").out == f"{address}\n"
    assert not run.ok("config", "trust", ".", "--json").data["changed"]
    user_file.write_text("")
    assert run.ok("config", "get", "llm.base_url").out == "\n"


def test_get_knows_who_the_entity_is(run: Run, tmp_path: Path) -> None:
    assert run.ok("config", "get", "name").out == "Ada\n"
    assert run.ok("config", "get", "owner.name", "--json").data["value"] == "Sam"
    assert "owner.name: Sam" in run.ok("config", "get", "owner").out
    assert run("config", "get", "owner.nme").code == 2
    ran = run("config", "get", "name", cwd=tmp_path)
    assert ran.code == 2
    assert "there is none here" in ran.err


def test_a_users_setting_that_an_entity_has_its_own_of_is_shown_as_it_counts(run: Run) -> None:
    run.ok("config", "set", "memory.max_recall_results", "4")
    ran = run.ok("config", "set", "--user", "memory.max_recall_results", "9")
    assert ran.out.startswith("memory.max_recall_results: 4  # entity.yaml:")
    assert "another place decides `memory.max_recall_results` all the same: entity" in ran.err
    ran = run.ok("config", "unset", "--user", "memory.max_recall_results", "--json")
    assert (ran.data["changed"], ran.data["value"]) == (True, 4)
    run.write("entity.yaml", "name: [\n")
    assert ": 9  #" in run.ok("config", "set", "--user", "memory.max_recall_results", "9").out


def test_user_settings_need_no_entity(run: Run, user_file: Path, tmp_path: Path) -> None:
    assert run("config", "set", "llm.model", "one", cwd=tmp_path).code == 10
    assert "--user" in run("config", "set", "llm.model", "one", cwd=tmp_path).err
    assert run("config", "set", "llm.model", "one", "--user", cwd=tmp_path).code == 0
    assert user_file.read_text() == "llm:\n  model: one\n"
    assert run("config", "get", "llm.model", cwd=tmp_path).out == "one\n"
    assert run.ok("config", "get", "llm.model").out == "one\n"
    run.ok("config", "unset", "llm.model", "--user")
    assert run.ok("config", "get", "llm.model").out == "auto\n"


def test_what_a_newer_bumble_made_names_what_helps_and_nothing_that_fails_likewise(
    run: Run,
) -> None:
    line = next(row for row in run.text("entity.yaml").splitlines() if "schema_version" in row)
    run.write("entity.yaml", run.text("entity.yaml").replace(line, "schema_version: 99"))
    ran = run("status")
    assert ran.code == 12 and "was made by a newer bumble (format 99)" in ran.err
    assert "Install that one" in ran.err and "config show" not in ran.err


def test_another_time_zone_says_what_becomes_of_the_diary(run: Run) -> None:
    assert run.ok("config", "set", "timezone", "Asia/Tokyo").err == ""
    run.ok("journal", "add", "It rains.")
    before = run.text("journal.md")
    assert "keeps its times as they stand" in run.ok("config", "set", "timezone", "UTC").err
    assert run.text("journal.md") == before
