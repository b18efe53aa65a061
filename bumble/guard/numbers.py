"""Numbers and months as people write them: `3` and `three`, `24 May` and `2026-05-24`.

All words are given case folded and without accents. A number is the form `#3`, a month `@5`.
Knows the small numbers and the months of English, German, French, Spanish and Portuguese.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from decimal import Decimal

from bumble.text.words import MONTHS

_NUMBERS = {
    1: "one first once a an ein eine einen einem einer un una uno um uma une premier primero "
    "erste ersten erster",
    2: "two second twice zwei deux dos dois duas both beide both",
    3: "three third thrice drei dritte dritten dritter drittes trois tres",
    4: "four fourth vier quatre cuatro quatro",
    5: "five fifth funf cinq cinco",
    6: "six sixth sechs seis",
    7: "seven seventh sieben siebte siebten sept siete sete",
    8: "eight eighth acht huit ocho oito",
    9: "nine ninth neun neuf nueve nove",
    10: "ten tenth zehn dix diez dez",
    11: "eleven eleventh elf onze once",
    12: "twelve twelfth zwolf douze doce doze dozen dutzend",
    13: "thirteen dreizehn treize trece treze",
    14: "fourteen vierzehn quatorze catorce catorze",
    15: "fifteen funfzehn quinze quince",
    16: "sixteen sechzehn seize dieciseis dezesseis dezasseis",
    17: "seventeen siebzehn diecisiete dezassete dezessete",
    18: "eighteen achtzehn dieciocho dezoito",
    19: "nineteen neunzehn diecinueve dezanove dezenove",
    20: "twenty zwanzig vingt veinte vinte",
    30: "thirty dreissig trente treinta trinta",
    40: "forty vierzig quarante cuarenta quarenta",
    50: "fifty funfzig cinquante cincuenta cinquenta",
    60: "sixty sechzig soixante sesenta sessenta",
    70: "seventy siebzig setenta",
    80: "eighty achtzig ochenta oitenta",
    90: "ninety neunzig noventa",
    100: "hundred hundert cent cien cem",
    1000: "thousand tausend mille mil",
}
_OF_WORD = {word: value for value, words in _NUMBERS.items() for word in words.split()}
_OF_MONTH = {word: n for n, words in enumerate(MONTHS, 1) for word in words.split()}
# These mean something else more often, in one language or another: they support, but claim nothing.
_OFTEN_OTHERWISE = """
second twice third both beide dos once elf neuf sept seize dix sieben cent mil mille quince hundred
thousand hundert tausend dozen dutzend
"""
_AMBIGUOUS = frozenset((_NUMBERS[1] + _OFTEN_OTHERWISE).split())
_GERMAN = re.compile(r"(\w{3,6})und(\w{5,8})")  # einundzwanzig
_ORDINAL_ENDING = re.compile(r"(?<=\w)(?:ste[nrsm]?|te[nrsm]?|th)\Z")
_DATE = re.compile(r"(\d{1,4})[-./](\d{1,2})[-./](\d{1,4})")
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_THOUSANDS = re.compile(r"[.,](?=\d{3}(?!\d))")
_TENS = range(20, 100, 10)
_NEAR = 2  # words between a day and its month: "24 de mayo"


def find_forms(words: Sequence[str]) -> Iterator[str]:
    """Yield the numbers and months that a text gives, in every form it may be asked for."""
    before: Decimal | None = None
    for word in words:
        value = _value(word)
        if value is not None:
            yield _form(value)
            if before is not None and before in _TENS and value < 10:
                yield _form(before + value)
        if word in _OF_MONTH:
            yield f"@{_OF_MONTH[word]}"
        if date := _DATE.search(word):
            yield from _of_date(*date.groups())
        before = value


def _of_date(first: str, second: str, third: str) -> Iterator[str]:
    """Yield what a date gives: 2026-05-24 no number 5; of 05/06/2026 each may be the month."""
    days = [third] if len(first) > 2 else [first, second]
    months = [second] if len(first) > 2 else [first, second]
    yield f"#{int(first if len(first) > 2 else third)}"
    yield from (f"#{int(day)}" for day in days)
    yield from (f"@{int(month)}" for month in months)


def find_forms_in_signs(text: str) -> Iterator[str]:
    """Yield the numbers that single signs stand for, in scripts without spaces: 三."""
    for char in text:
        if unicodedata.category(char) == "Lo" and (number := unicodedata.numeric(char, None)):
            yield f"#{number:g}"


def claims(words: Sequence[str], n: int, *, capital: bool) -> bool:
    """Whether a word names an amount or a month that its text should not have made up."""
    word = words[n]
    if any(char.isdigit() for char in word):
        return True
    if word in _OF_MONTH:
        near = (*words[max(0, n - _NEAR) : n], *words[n + 1 : n + 2])
        dated = any(char.isdigit() for other in near for char in other)
        return dated or (capital and n > 0)
    return _value(word) is not None and word not in _AMBIGUOUS


def needed(word: str) -> list[tuple[str, ...]]:
    """Return what has to be found for a word: every item, each in one of its forms."""
    if word in _OF_MONTH:
        return [(f"@{_OF_MONTH[word]}", word)]
    if date := _DATE.fullmatch(word):
        return [(f"#{part}", f"@{part}") for part in map(int, date.groups())]
    value = _value(word)
    return [] if value is None else [(_form(value),)]


def value(word: str) -> Decimal | None:
    """Return the number a word stands for, in digits, as a word or as an ordinal; None: none.

    Args:
        word: Case folded and without accents.
    """
    found = _value(word)
    if found is None and (stem := _ORDINAL_ENDING.sub("", word)) != word:
        found = _value(stem) if len(stem) > 2 else None
    for large in ("tausend", "hundert"):  # dreihundertzwanzig
        before, joint, behind = word.partition(large)
        if found is None and joint and (before or behind):
            times, more = (value(part) if part else None for part in (before, behind))
            if (times is None) == (not before) and (more is None) == (not behind):
                found = (times or Decimal(1)) * _OF_WORD[large] + (more or Decimal(0))
    if found is None and (joined := _GERMAN.fullmatch(word)):
        unit, tens = (_OF_WORD.get(part, 0) for part in joined.groups())
        found = Decimal(tens + unit) if unit < 10 and tens in _TENS else None
    return found


def _form(value: Decimal) -> str:
    return f"#{value.normalize():f}"


def _value(word: str) -> Decimal | None:
    """Return the number a word stands for: its digits, or what it says."""
    if digits := _DIGITS.match(word):
        if _DATE.fullmatch(word):
            return None
        plain = _THOUSANDS.sub("", digits[0]).replace(",", ".")
        return Decimal(plain if plain.count(".") <= 1 else plain.replace(".", ""))
    if word in _OF_WORD:
        return Decimal(_OF_WORD[word])
    tens, joint, unit = word.partition("-")
    if joint and _OF_WORD.get(tens) in _TENS and _OF_WORD.get(unit, 10) < 10:
        return Decimal(_OF_WORD[tens] + _OF_WORD[unit])
    return None
