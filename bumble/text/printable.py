"""Text as it can be stored and shown: whole, without what would act, deceive or tell a password."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from bumble import patterns

# Escape sequences and control characters that a terminal would act on; tab and line ends are text.
_SEQUENCES = r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)"
CONTROL = patterns.compile(rf"{_SEQUENCES}|[\x00-\x08\x0b\x0c\x0e-\x1f]")
# Characters that delete, command or turn the text around them, or are nothing at all; plain
# direction marks and joiners, which words and emoji are written with, are none of them.
DECEIVING = patterns.compile(r"[\x7f-\x9f\u200b\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")


def clean(text: str) -> str:
    """Take out what a terminal would act on, and show what would deceive its reader."""
    return escaped(CONTROL.sub("", text.replace("\r\n", "\n")).replace("\r", ""))


def escaped(text: str) -> str:
    """Write what would deceive a reader by its number; inside JSON it means the same."""
    return DECEIVING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


HALF = patterns.compile("[\ud800-\udfff]")


def each_text(value: Any, change: Callable[[str], str]) -> Any:
    """Return a text, or a JSON value with every text in it, keys too, changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {each_text(key, change): each_text(item, change) for key, item in value.items()}
    return [each_text(one, change) for one in value] if isinstance(value, list | tuple) else value


def whole(value: Any) -> Any:
    """Return a text, or a JSON value with all its texts, as it may come into a record.

    Halves of characters are replaced, and what a terminal would act on is left out: git and grep
    take a file that holds it for a binary one.
    """
    return each_text(value, _whole)


def _whole(text: str) -> str:
    mended = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return str(CONTROL.sub("", mended))


def argument(value: str) -> str:
    """Return what was typed on the command line, whatever the locale says of its bytes.

    Raises:
        ValueError: If it is not UTF-8.
    """
    return os.fsencode(value).decode() if HALF.search(value) else value


# Addresses may hold a password: `https://sam:secret@host`.
_OPENING = r"(?:[a-zA-Z][a-zA-Z0-9+.-]*:)?//"
_USER = patterns.compile(rf"^({_OPENING})?([^/?#]*)@")
_PASSWORD = patterns.compile(r"(//[^\s/?#:@\"']*):[^\s/?#\"']*@")
_KEY = patterns.compile(
    r"([?&][\w.-]*(?:key|token|secret|password|sig|signature)=)[^&#\s\"']+", re.I
)


def bare_url(url: str) -> str:
    """Return an address without the name and password in it."""
    return _USER.sub(r"\1", url)


def shown_url(url: str) -> str:
    """Return an address without the name and password in it, and with `***` for keys."""
    return masked(bare_url(url))  # type: ignore[no-any-return]


def is_loopback(url: str) -> bool:
    """Say whether an address leads to this machine, where no proxy belongs in between."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False  # no address
    return host == "localhost" or host == "::1" or host.startswith("127.")


def url_login(url: str) -> str:
    """Return `name:password` as it stands in an address; empty if there is none."""
    match = _USER.match(url)
    return match.group(2) if match else ""


def masked(value: Any) -> Any:
    """Return a text, or plain data, with `***` for every password and key of an address in it."""
    return each_text(value, lambda text: _KEY.sub(r"\1***", _PASSWORD.sub(r"\1:***@", text)))
