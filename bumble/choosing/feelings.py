"""Feelings that a message names of its speaker: their own words, nobody else's, not denied.

A word counts where it follows "I am", "makes me" and their like (`feels`), or begins a sentence,
with nothing but words of strength between (`strengths`): so `I'm so glad she isn't sad` names one.
A feeling that no word names is nobody's to tell.
"""

from __future__ import annotations

import re
from functools import lru_cache

from bumble.choosing import phrases
from bumble.choosing.language_file import Language

_BEFORE_CHARS = 200  # of a feeling's word: where its subject stands, if anywhere
_DENIED_WORDS = 3  # before "I am": how far a "not" reaches
_CLAUSE = re.compile(r" [.?!:,\"()] ")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def named(text: str, line: str, language: Language) -> tuple[str, ...]:
    """Return the words of a message that name a feeling of its speaker.

    Args:
        text: The message as it was typed.
        line: The same as phrases are matched in.
        language: Whose words.
    """
    folded = [
        match[0]
        for words, frames in (("feelings", "feels"), ("pangs", "holds"))
        for match in language.hits(words, line)
        if _is_own(line, match.start(), frames, language)
    ]
    folded += [match[0] for match in language.hits("felt", line) if _stands(line, match, language)]
    return tuple(dict.fromkeys(filter(None, (_typed(text, each, language) for each in folded))))


def _is_own(line: str, start: int, frames: str, language: Language) -> bool:
    """Whether a feeling's word belongs to the speaker, by what stands before it."""
    whole = line[max(0, start - _BEFORE_CHARS) : start]
    before = _without_strengths(whole, language)
    if _asks(line, start):
        return False
    if before.rstrip()[-1:] in ".?!":
        return not language.has("not_feeling", whole[len(before) - 1 :]) and _begins(
            line, start, language
        )
    end = len(before.rstrip())
    starts = [match.start() for match in language.hits(frames, before) if match.end() == end]
    if not starts:
        return False
    near = _CLAUSE.split(before[: min(starts)])[-1].split()[-_DENIED_WORDS:]
    return not language.has("not_feeling", f" {' '.join(near)} {whole[min(starts) :]} ")


def _without_strengths(before: str, language: Language) -> str:
    """Take words of strength, and feelings beside this one, off the end of what stands before."""
    while True:
        end = len(before.rstrip(" ,"))
        cues = ("feelings", "pangs") if "," in before[end:] else ("feelings", "pangs", "strengths")
        starts = [
            match.start()
            for cue in cues
            for match in language.hits(cue, before)
            if match.end() == end
        ]
        if not starts:
            return before
        before = before[: min(starts)]


def _begins(line: str, start: int, language: Language) -> bool:
    """Whether a sentence that begins with a feeling speaks of nobody else."""
    rest = re.split(r" [.?!] ", line[start:])[0]
    return not language.has("kin", f" {rest} ")


def _stands(line: str, match: re.Match[str], language: Language) -> bool:
    clause = _CLAUSE.split(line[: match.end()])[-1]
    behind = line[match.end() :].split()[:2]
    denied = language.has("not_feeling", f" {clause} ")
    return not denied and not any(language.has("not_feeling", f" {word} ") for word in behind)


def _asks(line: str, start: int) -> bool:
    end = re.search(r" [.?!] ", line[start:])
    return end is not None and "?" in end[0]


def _typed(text: str, folded: str, language: Language) -> str:
    """Return the words of a message that a folded row of words was."""
    rest = " ".join(word for word in folded.split() if not language.has("own", f" {word} "))
    folded = rest or folded
    count = len(folded.split())
    spans = list(_WORD.finditer(text))
    for first in range(len(spans)):
        for last in range(first, min(len(spans), first + count)):
            row = text[spans[first].start() : spans[last].end()]
            if _folded(row, language.joins) == folded:
                return row
    return ""


@lru_cache(maxsize=1024)
def _folded(row: str, joins: bool) -> str:
    return phrases.line(row, joins=joins).strip(" .")
