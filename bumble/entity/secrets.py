"""Secrets that no memory may hold: patterns of keys, passwords and card numbers.

Finds what looks like one by its form. A password that is a plain word inside a sentence is not
found; an id of bumble's own is none, nor is an account number (IBAN), which every invoice shows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from bumble import patterns
from bumble.errors import RefusedError

HIDDEN = "[secret]"
# What a secret is called, in twelve languages; a word that means much else is not in it.
_CALLED = (
    r"(?:pass ?word|pass ?phrase|pass ?code|pwd|passwort|kennwort|mot de passe|mdp|contraseña"
    r"|contrasenya|parola d'ordine|senha|palavra-passe|wachtwoord|lösenord|adgangskode|hasło|heslo"
    r"|şifre|şifrem|пароль|パスワード|密码|密碼|(?:api|secret)[ _-]?key|access_key"
    r"|access[ _-]?token|auth[ _-]?token|(?:client|app|shared)[ _-]?secret)"
)
_PERHAPS = r"(?:token|secret)"  # "here is a secret: Mateo plays the oboe"
_TO = r"(?:for|to|of|on|für|zu|zum|zur|vom|von|pour|de|du|del|della|di|da|do|para|per)"
_OF = rf"(?:[ ]+{_TO}[ ]+\S+(?:[ ]+\S+)?)?"  # "for the bank"
_BE = r"(?:is|was|are|ist|war|lautet|é|è|es|est|era|c'est|jest|är|er|to|это|=|:)"
_IS = rf"[\"'`]?{_OF}\s*{_BE}\s*:?\s*[\"'“„«`]?"
# A number that is no key, a variable, a path, a call.
_NO_VALUE = r"(?!\d{1,5}\b|[$<{/]|[\w.]+\()"
_SETTING = (
    r"(?<![A-Z0-9_])(?:[A-Z0-9]{1,30}_){0,4}"
    r"(?:PASS(?:WORD)?|PWD|SECRET|TOKEN|(?:API|SECRET|ACCESS|PRIVATE|AUTH)_KEY)"
    r"(?!_(?:COUNT|LIMIT|RATE|ID|FILE|PATH|URL)\b)(?:_[A-Z0-9]{1,20})?"
)
_PATTERNS: tuple[tuple[str, str], ...] = (
    ("a private key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END|\Z)"),
    ("an API key", r"\b(?:sk|pk|rk)[-_](?:[A-Za-z0-9]+[-_])*[A-Za-z0-9]{16,}\b"),
    ("an access token", r"\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,})"),
    ("an access token", r"\b(?:xox[abeprs]-[\w-]{10,}|hf_\w{20,}|npm_\w{20,})"),
    ("an API key", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,}"),
    ("an access token", r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"),
    ("a password", rf"(?i)\b{_CALLED}\b[\"'`]?{_OF}\s*[:=：]\s*\S{{4,}}"),
    (
        "a password",  # as settings are called: clientSecret; but "user_token = get()"
        rf"(?i)(?<![\w-])[\w-]{{1,40}}?(?:{_CALLED}|{_PERHAPS})\b[\"'`]?\s*[:=]\s*{_NO_VALUE}"
        r"(?=\S*[\d!#$%&+@^~])\S{4,}",
    ),
    (
        "a password",  # likewise, of the environment: DB_PASS, API_KEY_PROD
        rf"{_SETTING}=[\"']?{_NO_VALUE}\S{{4,}}",
    ),
    ("an access token", r"(?i)\bauthorization[\"'`]?\s*[:=]\s*[\"'`]?bearer\s+[\w.~+/=-]{16,}"),
    (
        "a password",  # a word in quotation marks, behind "is"
        rf"(?i)\b{_CALLED}\b{_OF}\s*{_BE}\s*[\"“„«][^\s\"”“»]{{4,}}[\"”“»]",
    ),
    ("a password", r"(?:パスワード|密码|密碼)\s*(?:は|是|为|為|:|：)\s*[!-~]{4,}"),
    (
        "a password",  # what no plain word has: a digit, or a sign in the middle
        rf"(?i)\b{_CALLED}\b{_IS}(?=\S*(?:\d|\w[!#$%&*+@^~_/\\]))\S{{4,}}",
    ),
    (
        "a password",  # letters and digits, digits alone, or a sign in the middle
        rf"(?i)(?<!max )\b{_PERHAPS}\b{_IS}(?:(?=\S*\d)(?=\S*[a-z])(?!\S*:/)\S{{8,}}"
        r"|(?!\d{4}-\d\d-|\d\d?-\d\d?-\d{4})\d[\d-]{5,}(?![\w.]|[ ]+\w)"
        r"|(?=\S*\w[!#$%*^~]\w)\S{8,})",
    ),
    (
        "a PIN",
        r"(?im)\bpin(?:-?code|-?nummer|[ ]number|[ ]code)?\b"
        rf"{_OF}\s*(?:{_BE}\s*\d{{4,8}}\b|\d{{4,8}}\s*(?:[.,;!?)]|$))",
    ),
    ("a card's code", rf"(?i)\b(?:cvv2?|cvc2?)\b\s*(?:{_BE})?\s*\d{{3,4}}\b"),
    ("a login in an address", r"\b[a-z][a-z0-9+.-]*://[^\s/:@]+:[^\s/@]+@"),
)
_CARD = patterns.compile(r"(?<![\w-])\d(?:[ -]?\d){12,18}(?![\w-])")
_OWN_ID = patterns.compile(r"[a-z]+_[0-9A-Z]{26}")
_LONG = patterns.compile(r"(?<![\w/.-])[A-Za-z0-9_-]{28,}(?![\w/.-])")


def find_secret(text: str) -> str | None:
    """Return what a text holds that is to stay out of memory: "a password"; None if nothing."""
    return next((what for what, _, _ in _places(text)), None)


def redacted(text: str, *, but: str = "") -> str:
    """Return a text with what is secret in it left out, unless another text has that already."""
    for _, start, end in sorted(_places(text), key=lambda place: -place[1]):
        if text[start:end] not in but:
            text = text[:start] + HIDDEN + text[end:]
    return text


def refuse(*texts: str) -> None:
    """Refuse to write texts that hold a secret.

    Raises:
        RefusedError: If one does.
    """
    for what in filter(None, map(find_secret, texts)):
        raise RefusedError(
            f"The text holds what looks like {what}; nothing was changed.\n"
            "Secrets do not go into memory, where a prompt may show them: write it down without"
            " that. What has to be kept all the same, its owner writes into a file by hand."
        )


def _places(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield what is secret, and where; places that overlap are named once, the first."""
    spans: list[tuple[int, int]] = []
    for what, pattern, is_one in _SECRETS:
        for match in pattern.finditer(text):
            start, end = match.span()
            overlaps = any(start < other_end and other < end for other, other_end in spans)
            if not overlaps and is_one(match[0]):
                spans.append((start, end))
                yield what, start, end


def _is_card(text: str) -> bool:
    """Whether digits have the check digit of a card.

    Source:
        Luhn, "Computer for verifying numbers", US patent 2,950,048 (1960).
    """
    digits = [int(char) for char in text if char.isdigit()]
    doubled = [sum(divmod(digit * 2, 10)) for digit in digits[-2::-2]]
    return len(set(digits)) > 1 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _is_key(text: str) -> bool:
    """Whether a long run mixes cases and digits as no word does, and is no id of bumble's."""
    kinds = ["0" if char.isdigit() else "A" if char.isupper() else "a" for char in text]
    turns = sum(kind != other for kind, other in pairwise(kinds))
    is_mixed = len(set(kinds)) == 3 and turns >= len(text) // 3
    return is_mixed and not _OWN_ID.fullmatch(text)


# What is secret, how it looks, and what else has to hold of it.
_SECRETS: tuple[tuple[str, re.Pattern[str], Callable[[str], bool]], ...] = (
    *((what, patterns.compile(pattern), bool) for what, pattern in _PATTERNS),
    ("a card number", _CARD, _is_card),
    ("a key", _LONG, _is_key),
)
