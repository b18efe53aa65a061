from __future__ import annotations

import subprocess
from datetime import UTC
from pathlib import Path

import pytest

from bumble.cli import check_folder
from bumble.entity.folder import Entity
from bumble.history.findings import Finding
from bumble.index import place, sync
from bumble.index.sqlite import open_to_write
from tests.support.hashing import HashingEmbedder


@pytest.fixture
def entity(tmp_path: Path) -> Entity:
    root = tmp_path / "ada"
    root.mkdir()
    (root / "entity.yaml").write_text("schema_version: 3\nname: Ada\n")
    (root / "knowledge.md").write_text("## Tea\n\nGreen.\n\n## Rain\n\nWet.\n")
    return Entity(root)


def codes(found: list[Finding]) -> list[str]:
    return [one.code for one in found]


def indexed(entity: Entity, embedder: HashingEmbedder | None) -> None:
    sync.sync(entity, embedder, name="Ada", zone=UTC)


def check_index(entity: Entity, wanted: str | None = None) -> list[Finding]:
    return check_folder.check_index(entity, wanted, lambda: place.of(entity))[1]


def test_one_broken_layer_does_not_hide_another(entity: Entity, tmp_path: Path) -> None:
    user = tmp_path / "config.yaml"
    user.write_text("x: [\n")
    entity.file.write_text("schema_version: 3\nname: Ada\n\nrecal: {}\n")
    read, found = check_folder.check_settings(
        entity.file, user, {"BUMBLE_LIMITS_LOCK_TIMEOUT_SECONDS": "many"}
    )
    assert read is None
    assert codes(found) == ["settings-invalid"] * 3
    assert [(one.path, one.line) for one in found[:2]] == [("entity.yaml", 4), (str(user), 2)]
    assert "`recal` is not a setting" in found[0].sentence
    assert "BUMBLE_LIMITS_LOCK_TIMEOUT_SECONDS" in found[2].sentence


def test_a_folder_of_an_older_format_names_the_command_that_migrates_it(
    entity: Entity, tmp_path: Path
) -> None:
    entity.file.write_text("schema_version: 1\nname: Ada\n")
    _, [found] = check_folder.check_settings(entity.file, tmp_path / "config.yaml", {})
    assert found.fix == "bumble migrate"


def test_vectors_of_another_model_are_found(entity: Entity) -> None:
    indexed(entity, HashingEmbedder(64))
    assert codes(check_index(entity, "all-minilm-l6-v2")) == ["index-vectors"]


def test_rows_of_no_file_are_found(entity: Entity) -> None:
    indexed(entity, None)
    database = open_to_write(entity.vectors)
    with database.transaction():
        database.run("delete from files")
    database.close()
    assert "index-orphans" in codes(check_index(entity))


def test_words_of_more_passages_than_there_are_are_found(entity: Entity) -> None:
    indexed(entity, None)
    database = open_to_write(entity.vectors)
    with database.transaction():
        database.run("delete from chunks where line > 5")
        database.run("delete from texts where id not in (select id from chunks)")
    database.close()
    found = check_index(entity)
    assert codes(found) == ["index-unusable"]
    assert found[0].fix == "bumble index --rebuild"


def test_folder_below_a_repository_is_under_git(entity: Entity) -> None:
    assert codes(list(check_folder.check_git(entity))) == ["git-none"]
    subprocess.run(["git", "init", "-q", str(entity.root.parent)], check=True)
    found = codes(list(check_folder.check_git(entity)))
    assert found == ["git-ignores", "git-attributes", "git-driver"]


def test_missing_vectors_are_found_only_if_some_are_wanted(entity: Entity) -> None:
    indexed(entity, None)
    assert codes(check_index(entity, "hashing")) == ["index-vectors"]
    assert check_index(entity, None) == []
