"""Marks that models and their templates put into a text: control tokens, and around reasoning."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bumble import patterns

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
# What stands behind a first sign. That alone is taken: marks that overlap are all broken.
_BEHIND = (
    # ChatML, Llama 3, Phi, Harmony, Kimi: `<|name|>`; Gemma 4: `<|name>`, `<name|>`;
    # DeepSeek in full width. A tokenizer may fold full width into ASCII before it looks.
    ("[<＜]", r"[|｜][^\s<>＜＞]{1,64}[>＞]"),
    ("[<＜]", r"[/／]?\w{1,64}[|｜][>＞]"),
    ("[<＜]", rf"[/／]?(?:{'|'.join(_ANGLED)})[>＞]"),
    ("<", "</?sys>>"),
    (r"[\[［]", rf"/?(?:{'|'.join(_SQUARED)})[\]］]"),
    (r"\[", r"\|[^\s\[\]]{1,64}\|\]"),  # EXAONE
    (r"\]", r"~!?b[\[\]]"),  # MiniMax, and the next
    (r"\[", r"e~\["),
)
_USUAL = patterns.compile(  # the signs come first: a text is run through for them alone
    rf"[<＜\[［\]](?:{'|'.join(f'(?<={sign})(?={rest})' for sign, rest in _BEHIND)})",
    re.IGNORECASE,
)


# Characters without a form of their own, in which whole sentences are hidden: tags, but for those
# that make a flag; runs of what joins, parts or varies others, longer than any emoji or word has.
_FLAG = "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{2,6}\U000e007f"
_UNSEEN = patterns.compile(
    f"({_FLAG})|[\U000e0000-\U000e007f]+"
    "|[\u00ad\u180b-\u180e\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]{3,}"
)


def plain(text: str, own: re.Pattern[str] | None = None) -> str:
    """Return a text in which no control token is left; what is broken already stays as it is.

    Args:
        text: Anything that goes into a message.
        own: The tokens of the model in use, as `pattern` makes them.
    """
    if not text.isascii():
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


# Pairs of marks: what opens the reasoning, what ends it. Harmony's channels (gpt-oss) begin with
# any that isn't `final`; Gemma 4 has channels of one sign each.
_PAIRS = (
    *((f"<{name}>", f"</{name}>") for name in ("think", "thinking", "thought", "reasoning")),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
    ("<|channel|>commentary<|message|>", "<|channel|>final<|message|>"),
    ("<|channel>thought", "<channel|>"),
)
OPENING = tuple(dict.fromkeys(mark for mark, _ in _PAIRS))
CLOSING = tuple(dict.fromkeys(mark for _, mark in _PAIRS))
# Signs of a template around an answer: no part of it, wherever they stand.
_SIGNS = (
    *("<|start|>assistant", "<|end|>", "<|return|>", "<|begin_of_solution|>"),
    "<|end_of_solution|>",
)
_SUPPLIED = ("</think>", "</thinking>")  # a template may have opened these
TAGS = (*OPENING, *CLOSING, *_SIGNS)
_TAG = patterns.compile("|".join(re.escape(tag) for tag in sorted(TAGS, key=len, reverse=True)))
_LONGEST = max(map(len, TAGS))


class ThinkFilter:
    """Splits a text that comes in pieces into what is visible and what is reasoning.

    However the text is cut into pieces, `text` and `reasoning` come out the same. What may still
    become a tag is held back, so a piece of a tag is never shown.
    """

    def __init__(self, *, opened: bool = False) -> None:
        """Start outside a think block, or inside one whose opening tag the template supplied."""
        self._visible: list[str] = []
        self._hidden: list[str] = []
        self.unopened = False  # a block was closed that was never opened: the template opens it
        self._inside = opened
        self._held = ""
        self._resumed = False  # a tag has just been taken out of the visible text

    @property
    def text(self) -> str:
        """All that is visible so far."""
        return "".join(self._visible)

    @property
    def reasoning(self) -> str:
        """All that is not."""
        return "".join(self._hidden)

    def feed(self, piece: str) -> str:
        """Take the next piece; return the part of it (and of what was held) that may be shown."""
        held = self._held + piece
        shown, at = [], 0
        for match in _TAG.finditer(held):
            shown.append(self._keep(held[at : match.start()]))
            at = match.end()
            if match.group() not in _SIGNS:
                self._turn(match.group())
        cut = len(held) - _tag_start_length(held[at:])
        shown.append(self._keep(held[at:cut]))
        self._held = held[cut:]
        return "".join(shown)

    def finish(self) -> str:
        """End the text; return what was held back after all."""
        shown, self._held = self._keep(self._held), ""
        return shown

    def _turn(self, mark: str) -> None:
        closing = mark in CLOSING
        if mark in _SUPPLIED and not self._inside:
            # What came before was reasoning. It may have been shown already; it is never stored.
            self.unopened = True
            self._hidden += self._visible
            self._visible = []
        self._inside = not closing
        self._resumed = True

    def _keep(self, text: str) -> str:
        if self._inside:
            self._hidden.append(text)
            return ""
        if not self._visible:
            text = text.lstrip()  # templates put blank lines after the closing tag
        if text and self._resumed:
            # What stood around a block must not join into a tag: `<<think></think>think>`.
            before = "".join(self._visible[-_LONGEST:])
            text = " " + text if _tag_start_length(before) else text
            self._resumed = False
        self._visible += [text] if text else []
        return text


def _tag_start_length(text: str) -> int:
    """Count the characters at the end that may be the start of a tag."""
    for start in range(max(0, len(text) - _LONGEST + 1), len(text)):
        if text[start] in "<[" and any(tag.startswith(text[start:]) for tag in TAGS):
            return len(text) - start
    return 0
