from __future__ import annotations

from pathlib import Path

import pytest

from bumble.entity import settings
from bumble.entity.config import PromptConfig
from bumble.entity.folder import Entity
from bumble.prompt import system
from bumble.prompt.system import BootstrapFile


def config(**values: object) -> PromptConfig:
    return settings.load(
        flags={f"prompt.{name}": value for name, value in values.items()}
    ).config.prompt


@pytest.fixture
def ada(tmp_path: Path) -> Entity:
    (tmp_path / "ada" / "working").mkdir(parents=True)
    return Entity(tmp_path / "ada")


def by_name(entity: Entity, **values: object) -> dict[str, BootstrapFile]:
    return {one.name: one for one in system.read_own_files(entity, config(**values))}


def test_a_file_that_is_too_long_is_cut_where_it_says_so(ada: Entity) -> None:
    (ada.root / "GENOME.md").write_text("rain " * 100)
    one = by_name(ada, bootstrap_max_chars=80)["GENOME.md"]
    assert one.status == "TRUNCATED"
    assert one.text.startswith("rain rain")
    assert one.text.endswith("[cut: GENOME.md has 499 characters]")
    assert (one.raw_chars, one.injected_chars) == (499, 80)


def test_all_files_together_have_a_cap_and_the_first_come_first(ada: Entity) -> None:
    for name in ("GENOME.md", "PROTOCOLS.md", "TOOLS.md"):
        (ada.root / name).write_text("x" * 60)
    found = by_name(ada, bootstrap_total_max_chars=100)
    assert found["GENOME.md"].status == "OK"
    assert (found["PROTOCOLS.md"].status, found["PROTOCOLS.md"].injected_chars) == ("TRUNCATED", 40)
    assert (found["TOOLS.md"].status, found["TOOLS.md"].injected_chars) == ("TRUNCATED", 0)
    assert sum(one.injected_chars for one in found.values()) <= 100


def test_the_order_is_the_configured_one(ada: Entity) -> None:
    (ada.root / "TOOLS.md").write_text("x" * 60)
    (ada.root / "GENOME.md").write_text("y" * 60)
    order = ["TOOLS.md", "GENOME.md"]
    found = system.read_own_files(ada, config(bootstrap_files=order, bootstrap_total_max_chars=60))
    assert [(one.name, one.status) for one in found] == [
        ("TOOLS.md", "OK"),
        ("GENOME.md", "TRUNCATED"),
    ]


def test_living_memory_is_capped_by_lines(ada: Entity) -> None:
    lines = [f"line {n}" for n in range(230)]
    (ada.root / system.LIVING_MEMORY).write_text("\n".join(lines))
    one = by_name(ada)[system.LIVING_MEMORY]
    assert one.status == "TRUNCATED"
    assert "line 199\n" in one.text
    assert "line 200" not in one.text
    assert "[cut: working/MEMORY.md has" in one.text


def test_a_link_out_of_the_folder_brings_nothing_in(ada: Entity, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("hunter2")
    (ada.root / "GENOME.md").symlink_to(tmp_path / "secret.md")
    assert by_name(ada)["GENOME.md"].status == "MISSING"
