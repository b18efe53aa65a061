"""A tokenizer of which only as much is built as the texts at hand need.

To build a vocabulary of 250,000 pieces takes a second. What is no part of any word of a text can
become none of its tokens, so without it the tokens are the same. A vocabulary of another kind, as
BERT's of 30,000 pieces, is built whole: that takes 25 ms.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path

import msgspec
from msgspec import Raw, Struct
from tokenizers import Tokenizer

from bumble.errors import WeightsMissingError

FEW_CHARACTERS = 4_000  # of texts: for more all is built
FEW_TIMES = 8  # that a part is built; then all of it is
LONGEST = 256  # signs of a word; for one that is longer all is built
HEAD = 16  # pieces at the beginning of a vocabulary that stay where they are: the marks


class Tokens(Struct, frozen=True):
    """What a text becomes."""

    ids: Sequence[int]  # of pieces of the whole vocabulary
    special_tokens_mask: Sequence[int]  # 1 for a mark
    offsets: Sequence[tuple[int, int]]  # where each stands in the text

    def __len__(self) -> int:
        """Count them."""
        return len(self.ids)


class _Scored(Struct, array_like=True, gc=False):
    """A piece of a unigram vocabulary; its id is its place."""

    text: str
    score: float


class _Added(Struct):
    content: str


class _Model(Struct):
    type: str = ""
    unk_id: int | None = None
    byte_fallback: bool = False


class Pieces:
    """A tokenizer, as a file holds it."""

    def __init__(self, path: Path, max_tokens: int) -> None:
        """Read the file; nothing is built yet.

        Args:
            path: A `tokenizer.json`; its own truncation and padding are overruled.
            max_tokens: How many of a text count.

        Raises:
            WeightsMissingError: If it can't be read.
        """
        self._max_tokens = max_tokens
        try:
            self._source = path.read_bytes()
            self._fields = msgspec.json.decode(self._source, type=dict[str, Raw])
            self._model = msgspec.json.decode(self._fields["model"], type=dict[str, Raw])
            self._told = msgspec.json.decode(self._fields["model"], type=_Model)
            added = msgspec.json.decode(self._fields["added_tokens"], type=list[_Added])
        except (OSError, ValueError, KeyError, msgspec.MsgspecError) as error:
            raise WeightsMissingError(f"{path}: the tokenizer can't be read: {error}") from error
        self._marks = frozenset(token.content for token in added)
        self._times = FEW_TIMES  # that a part may still be built
        self._texts: dict[int, str] = {}  # of the pieces that came of one

    def encode_batch(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the tokens of texts."""
        tokenizer, places = self._part(texts) or (self._whole, None)
        found = list[Tokens]()
        for each in tokenizer.encode_batch(texts):
            ids = [places[piece] for piece in each.ids] if places else each.ids
            found.append(Tokens(ids, each.special_tokens_mask, each.offsets))
            if places:
                self._texts |= {
                    piece: tokenizer.id_to_token(own) or ""
                    for piece, own in zip(ids, each.ids, strict=True)
                }
        return found

    def text_of(self, piece: int) -> str:
        """Return what a piece of a text that was read says, as the vocabulary writes it."""
        known = self._texts.get(piece)
        return (self._whole.id_to_token(piece) or "") if known is None else known

    def _built(self, source: bytes) -> Tokenizer:
        tokenizer = Tokenizer.from_buffer(source)
        tokenizer.no_padding()
        tokenizer.enable_truncation(self._max_tokens)
        return tokenizer

    @cached_property
    def _whole(self) -> Tokenizer:
        self._times = 0
        self.__dict__.pop("_vocabulary", None)  # many times the size of its file
        return self._built(self._source)

    @cached_property
    def _empty(self) -> Tokenizer | None:
        """One of marks alone; None where what a vocabulary does with texts isn't known."""
        if self._told.type != "Unigram" or self._told.byte_fallback:
            return None
        empty = self._of(self._vocabulary[:HEAD])
        is_known = max(self._told.unk_id or 0, *empty.encode("").ids, 0) < HEAD
        return empty if is_known and empty.pre_tokenizer else None

    @cached_property
    def _vocabulary(self) -> list[_Scored]:
        return msgspec.json.decode(self._model["vocab"], type=list[_Scored])

    @cached_property
    def _least(self) -> float:
        """The least score: by it a sign that is in no piece is weighed."""
        return min((one.score for one in self._vocabulary), default=0.0)

    def _part(self, texts: Sequence[str]) -> tuple[Tokenizer, Sequence[int]] | None:
        """Build what is needed for texts, and say which pieces its own are.

        None where all is to be built.
        """
        is_marked = any(mark in text for mark in self._marks for text in texts)
        is_much = sum(map(len, texts)) > FEW_CHARACTERS
        if not self._times or is_marked or is_much or self._empty is None:
            return None
        self._times -= 1
        normal, words = self._empty.normalizer, set[str]()
        for text in texts:
            plain = normal.normalize_str(text) if normal else text
            words |= {word for word, _ in self._empty.pre_tokenizer.pre_tokenize_str(plain)}
        if max(map(len, words), default=0) > LONGEST:
            return None
        kept, every, least = parts(words) | self._marks, self._vocabulary, self._least
        places = [
            n for n, one in enumerate(every) if one.text in kept or n < HEAD or one.score == least
        ]
        return self._of([every[n] for n in places]), places

    def _of(self, vocabulary: list[_Scored]) -> Tokenizer:
        """Build the tokenizer of a vocabulary."""
        model = {**self._model, "vocab": vocabulary}
        return self._built(msgspec.json.encode({**self._fields, "model": model}))


def parts(words: Collection[str]) -> set[str]:
    """Return all that words can be taken apart to."""
    return {
        word[start:end]
        for word in words
        for start in range(len(word))
        for end in range(start + 1, len(word) + 1)
    }
