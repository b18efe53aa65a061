"""Text as a terminal or a page may show it: without what would act, deceive or hide."""

from __future__ import annotations

import re

# Escape sequences and control characters that a terminal would act on; tab and newline are text.
CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|[\x00-\x08\x0b-\x1f]"
)
# Characters that delete, command or turn the text around them, or are nothing at all; plain
# direction marks and joiners, which words and emoji are written with, are none of them.
DECEIVING = re.compile(r"[\x7f-\x9f\u200b\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")


def clean(text: str) -> str:
    """Take out what a terminal would act on, and show what would deceive its reader."""
    return escaped(CONTROL.sub("", text.replace("\r\n", "\n")))


def escaped(text: str) -> str:
    """Write what would deceive a reader by its number; inside JSON it means the same."""
    return DECEIVING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
