from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import bumble
from bumble.entity.config import Config
from bumble.text import schema

PACKAGE = Path(bumble.__file__).parent
TYPES = {"config.py", "config_memory.py", "retired.py"}
SOURCES = [path.read_text("utf-8") for path in PACKAGE.rglob("*.py") if path.name not in TYPES]
HOW_MANY = Counter(keys[-1] for keys, _ in schema.walk(Config) if keys)
BY_NAME = {"levels"}  # of the bars, read by their names
# Names of the documents that bumble began with: their comments say "no effect".
WITHOUT_EFFECT = {"reflection_min_gap_seconds", "amendment_mode_threshold"}


def is_read(keys: schema.Keys) -> bool:
    """Whether a module reads the field; of a name that others have, too, one with its section."""
    section = "" if HOW_MANY[keys[-1]] == 1 else keys[-2]
    return any(
        re.search(rf"\.{keys[-1]}\b", source) and re.search(rf"\b{section}\b", source)
        for source in SOURCES
    )


def test_each_setting_is_read_by_some_code() -> None:
    unread = [
        ".".join(keys)
        for keys, kind in schema.walk(Config)
        if len(keys) > 1 and not schema.is_section(kind) and not BY_NAME & set(keys)
        if not is_read(keys)
    ]
    assert {name.rpartition(".")[2] for name in unread} == WITHOUT_EFFECT
