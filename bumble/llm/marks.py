"""Marks that models and their templates put into a text: control tokens, and around reasoning."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bumble import patterns
from bumble.text.printable import whole

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
_NAMES = ("think", "thinking", "thought", "reasoning")
_PAIRS = (
    *((f"<{name}>", f"</{name}>") for name in _NAMES),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
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
    # what ends a turn, where a server lets it through
    *("<|endoftext|>", "<|im_end|>", "<|eot_id|>", "<|end_of_text|>", "<end_of_turn>"),
    "<｜end▁of▁sentence｜>",
)
TAGS = (*OPENING, *CLOSING, *_SIGNS)
_ATTRIBUTED = rf"<(?:{'|'.join(_NAMES)})\s[^<>]{{0,60}}"
_LOWER = tuple(tag.lower() for tag in TAGS)
_ENDS = frozenset(tag.lower() for tag in (*CLOSING, *_SIGNS))
_TAG = patterns.compile(
    f"{'|'.join(re.escape(tag) for tag in sorted(TAGS, key=len, reverse=True))}|{_ATTRIBUTED}>",
    re.IGNORECASE,
)
_BEGUN = patterns.compile(_ATTRIBUTED, re.IGNORECASE)  # a tag with more behind its name
_LONGEST = max(80, *map(len, TAGS))
_QUOTES = frozenset("`'\"‘’“”„«»‹›")  # between two of them a tag is spoken of


class ThinkFilter:
    """Splits a text that comes in pieces into what is visible and what is reasoning.

    A thought stands first: an opening tag within the text is text, and so are those behind it. What
    stands before a closing tag without an opening one was thought, too: the template opened it.

    However the text is cut into pieces, `text` and `reasoning` come out the same. What may still
    become a tag, or half a character, is held back, so a piece of one is never shown.
    """

    def __init__(self, *, opened: bool = False) -> None:
        """Start outside a think block, or inside one that the template is supposed to open."""
        self._visible: list[str] = []
        self._hidden: list[str] = []
        self.unopened = False  # a block was closed that was never opened: the template opens it
        self.is_open = self._supposed = opened  # whether what comes is thought
        self._may_open = True  # nothing but blanks since the beginning, or the last mark
        self._strips = False  # templates put blank lines around their tags
        self._tells = False  # the text is one about tags
        self._held = self._last = ""

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
        return self._read(self._held + piece)

    def finish(self, *, is_whole: bool = True) -> str:
        """End the text; return what was held back after all.

        Args:
            is_whole: Whether it wasn't cut off: the end of a thought would have come.
        """
        shown = self._read(self._held, ends=True)
        if self._supposed and is_whole:
            self._visible, self._hidden = self._hidden, []
            return self.text
        return shown

    def _read(self, held: str, *, ends: bool = False) -> str:
        shown, at, cut = [], 0, len(held)
        for match in _TAG.finditer(held):
            start, end = match.span()
            if (held[start - 1] if start else self._last) in _QUOTES:
                if end == len(held) and not ends:
                    cut = start
                    break
                if held[end : end + 1] in _QUOTES:
                    continue
            shown.append(self._keep(held[at:start]))
            at = start
            if self._turns(match[0].lower()):
                at, shown = end, shown if self._visible else []
        else:
            cut -= 0 if ends else _tag_start_length(held[at:])
        shown.append(self._keep(held[at:cut]))
        self._held = held[cut:]
        return "".join(shown)

    def _turns(self, mark: str) -> bool:
        """Begin or end a thought at a mark; return whether it is no part of the text."""
        if mark in _ENDS:
            if not self.is_open and mark not in _SIGNS:
                if self._tells:
                    return False
                # What came before was reasoning. It may have been shown; it is never stored.
                self.unopened = self.unopened or bool(self.text.strip())
                self._hidden += self._visible
                self._visible = []
            self.is_open = self._supposed = False
        elif self.is_open or self._may_open:
            if not self._strips:
                self._visible = []  # blanks
            self.is_open, self._supposed = True, False
        else:
            self._tells = True
            return False
        self._may_open = self._strips = True
        self._last = ""
        return True

    def _keep(self, text: str) -> str:
        text = str(whole(text))
        self._last = text[-1:] or self._last
        if self.is_open:
            self._hidden.append(text)
            return ""
        if self._strips and not self._visible:
            text = text.lstrip()
        self._may_open = self._may_open and not text.strip()
        self._visible += [text] if text else []
        return text


def unthought(text: str) -> str:
    """Return what is visible of a text."""
    thinking = ThinkFilter()
    thinking.feed(text)
    thinking.finish()
    return thinking.text


def _tag_start_length(text: str) -> int:
    """Count the characters at the end that may be the start of a tag, or half of one."""
    for start in range(max(0, len(text) - _LONGEST + 1), len(text)):
        if text[start] in "<[◁" and (
            any(tag.startswith(text[start:].lower()) for tag in _LOWER)
            or _BEGUN.fullmatch(text, start)
        ):
            return len(text) - start
    return int("\ud800" <= text[-1:] <= "\udbff")
