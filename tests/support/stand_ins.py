"""Stand-ins for models that tests can't fetch: GGUF files of a family's form, with random weights.

Architecture, kind of tokenizer, control tokens and chat template are the family's; all sizes are
tiny. What a stand-in says is chosen: its layers add noise to what a table of pairs says should
follow a token, and the noise is too small to change an answer at temperature 0. So it thinks where
its template lets it, and stops; everything else about it (evaluating, caches, grammars) is real.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from gguf import MODEL_ARCH, MODEL_TENSOR, TENSOR_NAMES, GGUFWriter, TokenType
from msgspec import Struct, field

from bumble.llm.embedded import EmbeddedModel

DATA = Path(__file__).parents[1] / "data"
WIDTH, HEADS, HEAD_WIDTH, FEED_FORWARD = 64, 2, 32, 96
NOISE = 0.02  # of the weights of the layers

# In the turns that Google's documentation of Gemma 3 describes; the system's words head the user's.
GEMMA_TEMPLATE = r"""
{{- bos_token }}
{%- set head = '' -%}
{%- if messages[0]['role'] == 'system' -%}
    {%- set head = messages[0]['content'] + '\n\n' -%}
    {%- set messages = messages[1:] -%}
{%- endif -%}
{%- for message in messages -%}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}
        {{- raise_exception('Conversation roles must alternate user/assistant/...') -}}
    {%- endif -%}
    {%- set name = 'model' if message['role'] == 'assistant' else message['role'] -%}
    {{- '<start_of_turn>' + name + '\n' + (head if loop.first else '') -}}
    {{- message['content'] | trim + '<end_of_turn>\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{- '<start_of_turn>model\n' -}}
{%- endif -%}
"""


class Family(Struct, frozen=True):
    """What a family of models has of its own."""

    architecture: MODEL_ARCH
    tokenizer: str  # as GGUF names its kind
    tokens: Sequence[tuple[str, TokenType]]
    template: str
    end: str  # of a turn
    follows: dict[str, str]  # which token comes after which
    layers: int = 2
    keys: Mapping[str, int | float] = field(
        default_factory=dict
    )  # of its architecture, beside the usual
    merges: Sequence[str] = ()
    pre: str = "default"  # how its tokenizer cuts a text into words
    begins: str = ""  # the token before every text


def chain(*tokens: str) -> dict[str, str]:
    """Let each token follow the one before it."""
    return dict(pairwise(tokens))


def _byte_signs() -> list[str]:
    """Return the 256 signs that stand for bytes in vocabularies that came of GPT-2."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte) if byte in plain else chr(next(others)) for byte in range(256)]


_SIGNS = _byte_signs()
LINE, LINES = _SIGNS[10], _SIGNS[10] * 2  # how a line break and an empty line are written

QWEN3 = Family(
    MODEL_ARCH.QWEN3,
    "gpt2",
    [
        *((sign, TokenType.NORMAL) for sign in (*_SIGNS, LINES)),
        *((f"<|{name}|>", TokenType.CONTROL) for name in ("endoftext", "im_start", "im_end")),
        *(
            (token, TokenType.USER_DEFINED)
            for token in ("<tool_call>", "</tool_call>", "<think>", "</think>")
        ),
    ],
    (DATA / "qwen3.jinja").read_text(encoding="utf-8"),
    "<|im_end|>",
    # After the empty block of the template it answers; where there is none it thinks first.
    chain(LINE, "<think>", "h", "m", "</think>", LINES, "Y", "e", "s", ".", "<|im_end|>"),
    merges=[f"{LINE} {LINE}"],
    pre="qwen2",
)
GEMMA3 = Family(
    MODEL_ARCH.GEMMA3,
    "llama",
    [
        *((token, TokenType.CONTROL) for token in ("<pad>", "<eos>", "<bos>")),
        ("<unk>", TokenType.UNKNOWN),
        *((f"<0x{byte:02X}>", TokenType.BYTE) for byte in range(256)),
        *((token, TokenType.CONTROL) for token in ("<start_of_turn>", "<end_of_turn>")),
        *((token, TokenType.USER_DEFINED) for token in ("\n\n", "<b>", "</b>")),
        *((sign, TokenType.NORMAL) for sign in ("▁", "\n", *map(chr, range(33, 127)))),
    ],
    GEMMA_TEMPLATE,
    "<end_of_turn>",
    chain("\n", "Y", "e", "s", ".", "<end_of_turn>"),
    layers=6,  # the sixth looks back at everything, the others at what is near
    keys={"attention.sliding_window": 64, "rope.freq_base": 1e6},
    begins="<bos>",
)


def write(path: Path, family: Family, *, context_tokens: int) -> Path:
    """Write a stand-in.

    Args:
        path: The GGUF file.
        family: What it stands in for.
        context_tokens: The window that the file says it was trained for.
    """
    writer = GGUFWriter(path, gguf.MODEL_ARCH_NAMES[family.architecture])
    _describe(writer, family, context_tokens)
    _name_tokens(writer, family)
    for name, values in _weights(family):
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _describe(writer: GGUFWriter, family: Family, context_tokens: int) -> None:
    writer.add_context_length(context_tokens)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(family.layers)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(1)
    writer.add_key_length(HEAD_WIDTH)
    writer.add_value_length(HEAD_WIDTH)
    writer.add_layer_norm_rms_eps(1e-6)
    for name, value in family.keys.items():
        key = f"{gguf.MODEL_ARCH_NAMES[family.architecture]}.{name}"
        if isinstance(value, float):
            writer.add_float32(key, value)
        else:
            writer.add_uint32(key, value)


def _name_tokens(writer: GGUFWriter, family: Family) -> None:
    tokens = [token for token, _ in family.tokens]
    writer.add_tokenizer_model(family.tokenizer)
    writer.add_tokenizer_pre(family.pre)
    writer.add_token_list(tokens)
    writer.add_token_types([kind for _, kind in family.tokens])
    if family.merges:
        writer.add_token_merges(list(family.merges))
    else:
        writer.add_token_scores([-float(number) for number in range(len(tokens))])
        writer.add_add_space_prefix(False)
    writer.add_eos_token_id(tokens.index(family.end))
    writer.add_add_bos_token(bool(family.begins))
    if family.begins:
        writer.add_bos_token_id(tokens.index(family.begins))
    writer.add_chat_template(family.template)


def _weights(family: Family) -> list[tuple[str, Any]]:
    """Return names and values of all tensors, each output row a copy of what it should follow."""
    random = np.random.default_rng(0)
    tokens = [token for token, _ in family.tokens]
    queries, values = HEADS * HEAD_WIDTH, HEAD_WIDTH
    embedding = random.normal(size=(len(tokens), WIDTH)).astype(np.float32)
    output = 0.1 * random.normal(size=embedding.shape)
    for before, after in family.follows.items():
        output[tokens.index(after)] += embedding[tokens.index(before)]
    shapes: dict[MODEL_TENSOR, tuple[int, ...]] = {
        MODEL_TENSOR.ATTN_Q: (queries, WIDTH),
        MODEL_TENSOR.ATTN_K: (values, WIDTH),
        MODEL_TENSOR.ATTN_V: (values, WIDTH),
        MODEL_TENSOR.ATTN_OUT: (WIDTH, queries),
        MODEL_TENSOR.FFN_GATE: (FEED_FORWARD, WIDTH),
        MODEL_TENSOR.FFN_UP: (FEED_FORWARD, WIDTH),
        MODEL_TENSOR.FFN_DOWN: (WIDTH, FEED_FORWARD),
    }
    made: list[tuple[str, Any]] = [
        ("token_embd.weight", embedding),
        ("output.weight", output.astype(np.float32)),
        ("output_norm.weight", np.ones(WIDTH, np.float32)),
    ]
    for tensor in gguf.MODEL_TENSORS[family.architecture]:
        name = TENSOR_NAMES[tensor]
        if not name.startswith("blk."):
            continue
        for layer in range(family.layers):
            if tensor in shapes:
                value = NOISE * random.normal(size=shapes[tensor])
            elif tensor in (MODEL_TENSOR.ATTN_Q_NORM, MODEL_TENSOR.ATTN_K_NORM):
                value = np.ones(HEAD_WIDTH)
            else:  # behind a layer, a norm would undo that its weights are small
                behind = tensor in (MODEL_TENSOR.ATTN_POST_NORM, MODEL_TENSOR.FFN_POST_NORM)
                value = np.full(WIDTH, NOISE if behind else 1.0)
            made.append((f"{name.format(bid=layer)}.weight", value.astype(np.float32)))
    return made


def count_tokens(model: EmbeddedModel, text: str) -> int:
    """Count the tokens of a text as the weights do, without those of a chat template."""
    body = {"content": text, "add_special": False, "parse_special": False}
    return len(model._loaded().ask("/tokenize", body)["tokens"])
