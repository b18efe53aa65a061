from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from bumble.errors import WeightsMissingError
from bumble.models.embed import pieces
from bumble.models.embed.pieces import Pieces
from bumble.models.weights import catalog

WORDPIECE = catalog.BUNDLED / "bert-base-uncased.tokenizer.json"
MARKS = ["<s>", "<pad>", "</s>", "<unk>"]
SCORED = [f"▁{word}" for word in ("the", "tide", "a", "lantern", "", "be")]
SCORED += ["t", "h", "e", "th", "he", "tide", "ide", "lan", "tern", "n", "a", "i", "d", "▁t", "▁la"]
TEXTS = st.lists(
    st.text("abdehilnrt▁#é中 -.\u0301", max_size=30)
    | st.lists(st.sampled_from(["the", "tides", "Lanterns", "beside", "x", "<mask>"])).map(
        " ".join
    ),
    min_size=1,
    max_size=3,
)


def unigram(folder: Path) -> Path:
    vocabulary = [*MARKS, *(f"#{n}" for n in range(pieces.HEAD)), *SCORED, "<mask>"]
    added = [
        {"id": vocabulary.index(text), "content": text, "special": True}
        | dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        for text in (*MARKS, "<mask>")
    ]
    marks: Any = [{"SpecialToken": {"id": text, "type_id": 0}} for text in ("<s>", "</s>")]
    text: Any = {"Sequence": {"id": "A", "type_id": 0}}
    file = folder / "tokenizer.json"
    file.write_text(
        json.dumps(
            {
                "version": "1.0",
                "added_tokens": added,
                "normalizer": {"type": "NFKC"},
                "pre_tokenizer": {
                    "type": "Metaspace", "replacement": "▁", "prepend_scheme": "always",
                    "split": True,
                },
                "post_processor": {
                    "type": "TemplateProcessing",
                    "single": [marks[0], text, marks[1]],
                    "pair": [marks[0], text, marks[1]],
                    "special_tokens": {
                        name: {"id": name, "ids": [MARKS.index(name)], "tokens": [name]}
                        for name in ("<s>", "</s>")
                    },
                },
                "model": {
                    "type": "Unigram",
                    "unk_id": 3,
                    "vocab": [[each, -float(n % 7) - 1] for n, each in enumerate(vocabulary)],
                    "byte_fallback": False,
                },
            }
        )
    )  # fmt: skip
    return file


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return WORDPIECE, unigram(tmp_path_factory.mktemp("unigram"))


@given(TEXTS)
def test_a_part_of_a_vocabulary_reads_as_the_whole(
    files: tuple[Path, Path], texts: list[str]
) -> None:
    for file in files:
        whole = Tokenizer.from_file(str(file))
        whole.no_padding()
        whole.enable_truncation(20)
        read = Pieces(file, 20)
        for got, wanted in zip(read.encode_batch(texts), whole.encode_batch(texts), strict=True):
            assert (list(got.ids), list(got.offsets)) == (wanted.ids, wanted.offsets)
            assert list(got.special_tokens_mask) == wanted.special_tokens_mask
            assert list(map(read.text_of, got.ids)) == list(map(whole.id_to_token, wanted.ids))


def test_who_reads_much_or_often_builds_all(files: tuple[Path, Path]) -> None:
    read = Pieces(files[1], 20)
    for _ in range(pieces.FEW_TIMES):
        read.encode_batch(["the tide"])
        assert "_whole" not in vars(read)
    read.encode_batch(["the tide"])
    assert "_whole" in vars(read)
    long = Pieces(files[1], 20)
    long.encode_batch(["the tide " * pieces.FEW_CHARACTERS])
    assert "_whole" in vars(long)


def test_a_vocabulary_of_words_is_built_whole(files: tuple[Path, Path]) -> None:
    read = Pieces(files[0], 20)
    read.encode_batch(["the tide"])
    assert "_whole" in vars(read)


def test_what_is_no_tokenizer_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(b"\xff{")
    with pytest.raises(WeightsMissingError, match=r"tokenizer\.json"):
        Pieces(tmp_path / "tokenizer.json", 20)
