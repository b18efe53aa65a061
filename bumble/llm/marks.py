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


OPENING, CLOSING = "<think>", "</think>"  # around a thought, in most templates
_THOUGHT = "(?:think|thinking|thought|reasoning|reflection)"
_PIPED = r"(?:think|thought|reasoning)\w{0,20}\|>"
# Harmony's channels (gpt-oss) begin with any that isn't `final`.
_MESSAGE = r"(?:\s*<\|constrain\|>\s*\w{1,20})?\s*<\|message\|>"
# Signs of a template around an answer, no part of it: its own turn, another's, what ends one.
_TURN = r"<(?:\|(?:im_start|start_header_id|start)\||start_of_turn)>"
_OWN = rf"{_TURN}(?:assistant|model)(?=\n|<|\s+to=|\Z)"
_OTHER = rf"{_TURN}(?:user|system|tool)\b|<\|(?:user|system|observation|ipython)\|>|\[INST\]"
_END = (
    r"<\|(?:end|return|endoftext|im_end|eot_id|end_of_text)\|>|<end_of_turn>"
    r"|<｜end▁of▁sentence｜>|<\|(?:begin|end)_of_solution\|>"
)
_SIGN = (  # any other, but those of calls, which are read later
    rf"(?!{_TURN})<[|｜](?!\w*(?:tool|function|call|python|channel|message|constrain))"
    r"[\w/▁]{1,40}[|｜]>|<(?:/s|s(?=>\s)|[be]os|special_\d+)>|\[/INST\]|\[e~\["
)
_WRAPPER = "(?:answer|response|output|final_answer)"
_TAG = patterns.compile(
    rf"(?P<opens><(?:seed:think|{_THOUGHT}(?:\s[^<>]{{0,60}})?)>|\[THINK\]|◁think▷"
    rf"|<\|(?!end)\w{{0,20}}{_PIPED}|<\|channel\|>(?:analysis|commentary){_MESSAGE}"
    r"|<\|channel>thought)"
    rf"|(?P<closes></(?:seed:think|{_THOUGHT})>|\[/THINK\]|◁/think▷"
    rf"|<\|(?:/|end)\w{{0,20}}{_PIPED}|<\|channel\|>final{_MESSAGE}|<channel\|>)"
    rf"|(?P<signs>(?:(?:{_OWN}|(?P<other>{_OTHER})|{_END}|{_SIGN})\s{{0,20}}+){{1,8}})"
    rf"|<(?P<wraps>{_WRAPPER})>(?=\s{{0,20}}[^\s<])|</(?P<unwraps>{_WRAPPER})>"
    r"|(?P<bare>(?-i:analysis(?=[A-Z])|assistantfinal))",  # Harmony's, without their signs
    re.IGNORECASE,
)
_ENDS = patterns.compile(_END, re.IGNORECASE)
_BARE, _BARE_END = "analysis", "assistantfinal"
_BARE_BEGUN = "|".join(one[:n] for one in (_BARE, _BARE_END) for n in range(len(one), 0, -1))
_ROLES = ("assistant to=", "model\n", "user ", "system ", "tool ")
# What may become one: a sign, a tag with more behind its name, a channel, a fence.
_BEGUN = patterns.compile(
    rf"(?:<[/|｜]?[\w:▁/]{{0,40}}[|｜]?|<{_THOUGHT}\s[^<>]{{0,60}}|<\|channel\|?>[^{{\n]{{0,60}}|<s>"
    rf"|<{_WRAPPER}>\s{{0,20}}|\[(?:/?[a-z]{{0,5}}|e~?)|◁/?\w{{0,5}}|(?<!`)`{{1,2}}"
    rf"|{_TURN}\w{{0,9}}(?:\s(?:t|to)?)?|(?-i:{_BARE_BEGUN}))\Z",
    re.IGNORECASE,
)
_LONGEST = 100
_QUOTES = frozenset("`'\"‘’“”„«»‹›")  # between two of them a tag is spoken of
_SENTENCE_ENDS = frozenset(".!?…。！？।؟")


class ThinkFilter:
    """Splits a text that comes in pieces into what is visible and what is reasoning.

    A thought stands first, or last, behind a whole sentence: any other opening tag is text, and so
    are those behind it. What stands before a closing tag without an opening one was thought, too:
    the template opened it. Signs of a template are left out at both ends, and so is the turn of
    somebody else that the model made up; within the text, and in code, they are spoken of.

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
        self._is_over = False  # somebody else's turn began
        self._aside: list[str] = []  # a thought behind a sentence, unless text follows it
        self._wrapper = ""  # the tag around the answer
        self._fences = 0  # seen outside of thoughts: code stands behind an odd number
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
        if self._aside and self.is_open:  # it never ended, so it was none
            text, self._aside = "".join(self._aside), []
            self.is_open, self._tells = False, True
            shown += self._shown(text)
        self._hidden += self._aside
        self._aside = []
        if self._supposed and is_whole:
            self._visible, self._hidden = self._hidden, []
            return self.text
        return shown

    def _read(self, held: str, *, ends: bool = False) -> str:
        shown, at, cut = [], 0, len(held)
        for match in _TAG.finditer(held):
            start, end = match.span()
            is_quoted = (held[start - 1] if start else self._last) in _QUOTES
            if not ends and (
                (end == len(held) and (is_quoted or match["signs"]))
                or (match["signs"] and _goes_on(held[end:]))
            ):
                cut = start
                break
            if is_quoted and held[end : end + 1] in _QUOTES and end < len(held):
                continue
            shown.append(self._keep(held[at:start]))
            at = start
            if self._turns(match, is_last=end == len(held)):
                at, shown = end, shown if self._visible else []
        else:
            cut -= 0 if ends else _begun_length(held[at:])
        shown.append(self._keep(held[at:cut]))
        self._held = held[cut:]
        return "".join(shown)

    def _turns(self, match: re.Match[str], *, is_last: bool) -> bool:
        """Take a mark; return whether it is no part of the text."""
        mark = match[0]
        if self._is_over:
            return True
        if match["signs"]:
            return self._signs(match, is_last=is_last)
        if match["wraps"]:
            is_first = self._strips and self._may_open and not self.is_open
            self._wrapper = match["wraps"] if is_first else self._wrapper
            return is_first
        if match["unwraps"]:
            is_own = match["unwraps"] == self._wrapper
            self._wrapper = "" if is_own else self._wrapper
            return is_own
        if match["bare"] and mark != _BARE_END:
            is_first = self._may_open and not (self._strips or self.is_open or self._visible)
            self.is_open = self._supposed = self.is_open or is_first
            return False
        # behind a whole sentence, or another thought there, one may begin
        is_behind = bool(self._aside) or (
            not self._may_open and "".join(self._visible[-9:]).rstrip()[-1:] in _SENTENCE_ENDS
        )
        if match["closes"] or match["bare"]:
            if match["bare"] and not self._supposed:
                return False
            if not self.is_open and not self._aside:
                if self._tells:
                    return False
                # What came before was reasoning. It may have been shown; it is never stored.
                self.unopened = self.unopened or bool(self.text.strip())
                self._hidden += self._visible
                self._visible = []
        elif is_behind and not (self.is_open or self._tells or self._fences % 2):
            self._aside.append(mark)
            self.is_open = True
            return True
        elif self.is_open or self._may_open:
            if not self._strips:
                self._visible = []  # blanks
        else:
            self._tells = True
            return False
        self.is_open, self._supposed = match["opens"] is not None, False
        if self._aside:
            self._aside.append(mark)
            return True
        self._may_open = self._strips = True
        self._last = ""
        return True

    def _signs(self, match: re.Match[str], *, is_last: bool) -> bool:
        """Take signs of a template; return whether they are no part of the text."""
        mark, ends = match[0], _ENDS.match(match[0]) is not None
        if self._tells or (self._fences % 2 and not self.is_open):
            return False
        if self.is_open:
            if ends and not (self._supposed or self._aside):
                self.is_open, self._may_open, self._strips = False, True, True
            return ends
        if self._may_open and not self._visible:
            self._tells = match["other"] is not None
            self._strips = not self._tells
            return not self._tells
        if is_last:
            return not ("</s>" in mark.casefold() and re.search(r"<s[\s>]", self.text, re.I))
        self._is_over = match["other"] is not None and match.start("other") > match.start()
        self._tells = not (ends or self._is_over) and "|" in mark
        self._may_open = self._strips = ends
        return ends or self._is_over

    def _keep(self, text: str) -> str:
        text = str(whole(text)) if not self._is_over else ""
        self._last = text[-1:] or self._last
        if self._aside:
            self._aside.append(text)
            if self.is_open or not text.strip():
                return ""
            text, self._aside, self._tells = "".join(self._aside), [], True  # it was none
            return self._shown(text)
        if self.is_open:
            self._hidden.append(text)
            return ""
        if self._strips and not self._visible:
            text = text.lstrip()
        return self._shown(text)

    def _shown(self, text: str) -> str:
        self._may_open = self._may_open and not text.strip()
        self._fences += text.count("```")
        self._visible += [text] if text else []
        return text


def unthought(text: str) -> str:
    """Return what is visible of a text."""
    thinking = ThinkFilter()
    thinking.feed(text)
    thinking.finish()
    return thinking.text


def _goes_on(text: str) -> bool:
    """Whether what stands behind signs may become one more, or the name of whose turn it is."""
    return _begun_length(text) == len(text) or any(one.startswith(text) for one in _ROLES)


def _begun_length(text: str) -> int:
    """Count the characters at the end that may be the start of a tag, or half of one."""
    begun = _BEGUN.search(text, max(0, len(text) - _LONGEST))
    if begun is not None:
        return len(text) - begun.start()
    return int("\ud800" <= text[-1:] <= "\udbff")
