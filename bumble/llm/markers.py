"""Control tokens of chat templates in a text, made harmless.

An engine reads them in any text it is given, so whoever gets `<|im_end|>` into a message can end it
and begin one of the system's. Here they are broken: a thin space behind the first sign makes plain
text of them, that stays readable. Every `PromptMessage` passes through `plain`; a model whose
vocabulary is at hand adds the tokens of its own. What nobody can see in a text, but a model can
read, goes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

BREAK = "\u2009"  # in no token, and white space to every tokenizer, so that breaking ends here

# Llama 2 and what came of it, Gemma, Qwen, DeepSeek, GLM, Command R, Seed, Nemotron, T5, MiniMax.
_ANGLED = (
    *("s", "sys", "system", "inst", "bos", "eos", "unk", "pad", "mask", "sep", "cls", "sop", "eop"),
    *("begin_of_sentence", "beginning_of_sentence", "end_of_sentence", "eod"),
    *("bos_token", "eos_token", "eod_token", "pad_token", "unk_token", "mask_token", "cls_token"),
    *("start_of_turn", "end_of_turn", "start_of_image", "end_of_image", "image_soft_token"),
    *("think", "thinking", "tools", "tool_call", "tool_calls", "tool_response", "tool_responses"),
    *("arg_key", "arg_value", "function_call", "function_response", "__media__"),
    *(r"seed:[\w:]+", r"minimax:[\w:]+", r"unused_?\d+", r"special_\d+", r"extra_id_\d+"),
    *(r"reserved_\w+", r"fim_\w+"),
    # StarCoder's, which SmolLM took over.
    *("filename", "file_sep", "repo_?name", "gh_stars", r"issue_\w+", r"jupyter_\w+"),
    *(r"commit_\w+", "empty_output"),
)
_SQUARED = (  # Mistral's, GLM's
    *("inst", "system_prompt", "available_tools", "tool_results", "tool_content", "tool_calls"),
    *("model_settings", "think", "args", "call_id", "img", "img_break", "img_end", "audio"),
    *("begin_audio", "transcribe", "prefix", "middle", "suffix", "gmask", "smask", "mask"),
    r"control_\d+",
)
# Each takes the first sign alone and looks at the rest: marks that overlap are all broken.
_USUAL = re.compile(
    "|".join(
        (
            # ChatML, Llama 3, Phi, Harmony, Kimi: `<|name|>`; Gemma 4: `<|name>`, `<name|>`;
            # DeepSeek in full width. A tokenizer may fold full width into ASCII before it looks.
            r"[<＜](?=[|｜][^\s<>＜＞]{1,64}[>＞])",
            r"[<＜](?=[/／]?\w{1,64}[|｜][>＞])",
            rf"[<＜](?=[/／]?(?:{'|'.join(_ANGLED)})[>＞])",
            r"<(?=</?sys>>)",
            rf"[\[［](?=/?(?:{'|'.join(_SQUARED)})[\]］])",
            r"\[(?=\|[^\s\[\]]{1,64}\|\])",  # EXAONE
            r"\](?=~!?b[\[\]])|\[(?=e~\[)",  # MiniMax
        )
    ),
    re.IGNORECASE,
)


# Characters without a form of their own, in which whole sentences are hidden: tags, but for those
# that make a flag; runs of what joins, parts or varies others, longer than any emoji or word has.
_FLAG = "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{2,6}\U000e007f"
_UNSEEN = re.compile(
    f"({_FLAG})|[\U000e0000-\U000e007f]+"
    "|[\u00ad\u180b-\u180e\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]{3,}"
)


def plain(text: str, own: re.Pattern[str] | None = None) -> str:
    """Return a text in which no control token is left; what is broken already stays as it is.

    Args:
        text: Anything that goes into a message.
        own: The tokens of the model in use, as `pattern` makes them.
    """
    text = _UNSEEN.sub(lambda match: match[1] or "", text)
    text = _USUAL.sub(_broken, text)
    return text if own is None else own.sub(_broken, text)


def pattern(tokens: Iterable[str]) -> re.Pattern[str] | None:
    """Match those of a vocabulary's control tokens that are not among the usual ones.

    Returns:
        For `plain`; None if the usual ones are all.
    """
    rest = sorted(token for token in tokens if len(token) > 1 and plain(token) == token)
    if not rest:
        return None
    return re.compile("|".join(f"{re.escape(key[0])}(?={re.escape(key[1:])})" for key in rest))


def _broken(match: re.Match[str]) -> str:
    return match.group() + BREAK
