"""Where speech that was cut off goes on: what stands between its two parts, if anything.

A cut may come inside a word. A model that goes on may repeat the end, or begin without the blank
that belongs there.
"""

from __future__ import annotations

from bumble.text import words

MOST_REPEATED = 80  # characters of the end that are looked for at the beginning of what follows
LEAST_REPEATED = 12  # fewer may be chance, unless they are the whole last word


def is_open(text: str) -> bool:
    """Whether the beginning of what follows is too short yet to decide by."""
    return not text.strip() or (len(text) < MOST_REPEATED and len(text.split()) < 2)


def joined(before: str, text: str, language: str) -> str:
    """Return what follows as it belongs behind what was said, the blank between them included.

    Args:
        before: What was said, to where it was cut.
        text: The beginning of what follows, at least its first word.
        language: That is spoken, `de`.
    """
    for length in range(min(MOST_REPEATED, len(before), len(text)), 0, -1):
        is_word = length == len(before) or not before[-length - 1].isalnum()
        if before.endswith(text[:length]) and (length >= LEAST_REPEATED or _is_end(before, length)):
            return text[length:] if is_word else text
    if not before or before[-1].isspace() or text[:1].isspace():
        return text
    last, first = _last_word(before), _first_word(text)
    if not last or not first:
        return text if not last or not text[:1].isalnum() else f" {text}"
    return text if _is_one_word(last, first, language) else f" {text}"


def _is_end(before: str, length: int) -> bool:
    """Whether so many characters are just the last word, or what there is of it."""
    return length > 1 and len(_last_word(before)) == length


def _last_word(text: str) -> str:
    end = len(text)
    while end and text[end - 1].isalnum():
        end -= 1
    return text[end:]


def _first_word(text: str) -> str:
    end = 0
    while end < len(text) and text[end].isalnum():
        end += 1
    return text[:end]


def _is_one_word(last: str, first: str, language: str) -> bool:
    """Whether two pieces are one word rather than two, by how common each of them is."""
    whole = (last + first).casefold()
    if words.is_listed(whole, language):
        apart = min(
            words.frequency(last.casefold(), language),
            words.frequency(first.casefold(), language),
        )
        return words.frequency(whole, language) > apart or apart <= words.RAREST
    return not all(words.is_listed(part.casefold(), language) for part in (last, first))
