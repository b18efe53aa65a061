"""Addresses shown without their passwords (`https://sam:secret@host`).

Knows nothing of servers or settings.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from bumble.text.printable import each_text

_OPENING = r"(?:[a-zA-Z][a-zA-Z0-9+.-]*:)?//"
_USER = re.compile(rf"^({_OPENING})?([^/?#]*)@")
_PASSWORD = re.compile(r"(//[^\s/?#:@\"']*):[^\s/?#\"']*@")
_KEY = re.compile(r"([?&][\w.-]*(?:key|token|secret|password|sig|signature)=)[^&#\s\"']+", re.I)


def bare(url: str) -> str:
    """Return an address without the name and password in it."""
    return _USER.sub(r"\1", url)


def shown(url: str) -> str:
    """Return an address without the name and password in it, and with `***` for keys."""
    return masked(bare(url))  # type: ignore[no-any-return]


def is_loopback(url: str) -> bool:
    """Say whether an address leads to this machine, where no proxy belongs in between."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False  # no address
    return host == "localhost" or host == "::1" or host.startswith("127.")


def login(url: str) -> str:
    """Return `name:password` as it stands in an address; empty if there is none."""
    match = _USER.match(url)
    return match.group(2) if match else ""


def masked(value: Any) -> Any:
    """Return a text, or plain data, with `***` for every password and key of an address in it."""
    return each_text(value, lambda text: _KEY.sub(r"\1***", _PASSWORD.sub(r"\1:***@", text)))
