"""Stop words by language, the words of a text, and the telling words among them.

A query rarely says which language it is in, so all languages are left out together: the few words
that mean something in another language (`die`, `van`) cost less than the rest bring.
"""

from __future__ import annotations

import re
import unicodedata

from bumble import patterns

_LISTS = {
    "en": """
a about above after again all also am an and any are aren't as at be because been before being below
ain't between both but by can can't cannot could couldn't did didn't do does doesn't doing don't
down during each few for from further had hadn't has hasn't have haven't having he her here hers
herself him himself his how i i'd i'll i'm i've if in into is isn't it it's its itself just let
let's me more most my myself no nor not now of off on once only or other our ours ourselves out over
own please same she should shouldn't so some such than that that's the their theirs them themselves
then there there's these they this those through to too under until up us very was wasn't we were
weren't what what's when where which while who whom why will with won't would wouldn't you you're
your yours yourself yourselves
""",
    "de": """
aber als am an auch auf aus bei bin bis bist da das dass dein deine dem den der des dich die dies
diese diesem diesen dieser dieses dir doch du ein eine einem einen einer eines er es euch für haben
hat hatte hier ich ihm ihn ihr ihre im in ist ja jetzt kann kein keine man mein meine mich mir mit
nach nicht noch nur ob oder ohne sehr sein seine sich sie sind so soll über um und uns unser vom
von vor war waren was wann wenn wer werden wie wir wird wo zu zum zur
""",
    "fr": """
au aux avec ce ces cette dans de des du elle elles en est et eux il ils je la le les leur leurs lui
ma mais me mes moi mon ne nos notre nous on ou où par pas plus pour qu que qui sa sans se ses son
sont sur ta te tes toi ton tu un une vos votre vous être était
""",
    "es": """
al como con cual cuando de del desde donde el ella ellas ellos en entre era es esa ese eso esta
este esto ha hasta hay la las le les lo los más me mi mis muy nos o para pero por porque que qué
quien se ser si sí sin sobre son su sus también te tu tus un una unas uno unos y ya yo
""",
    "it": """
a al che chi ci con cui da dal dalla degli dei del della delle di e gli ho il in io la le lo loro
lui ma me mi nei nel nella noi non per perché più quale quando quello questa questo se sei si sono
sua sul sulla suo te ti tra tuo un una uno voi
""",
    "pt": """
a ao aos as até com como da das de do dos e ela ele em entre eu foi isso mais mas me meu minha na
nas no nos num numa não o os ou para pela pelo por quando que quem se sem seu si sua são também te
tu um uma uns você
""",
    "nl": """
aan al als ben dat de deze die dit een en er geen had heb hebben heeft het hij hoe ik in is je kan
maar me met mij mijn naar niet nog nu of om onder ons ook op over te tot uit van veel voor waar was
wat we wel werd wij wordt ze zich zij zijn zo
""",
}
OF_LANGUAGE = {code: frozenset(text.split()) for code, text in _LISTS.items()}
WORDS = frozenset[str]().union(*OF_LANGUAGE.values())
_CONTRACTED = {word.replace("'", ""): word for word in OF_LANGUAGE["en"] if "'" in word}
_FIRST_PERSON = """
i i'm i've i'd i'll my mine our me myself
ich mein meine meinem meinen meiner meines mich mir
je j'ai mon ma mes moi
yo mi mis
io mio mia miei mie
eu meu minha meus minhas mim
ik mijn mij
"""
FIRST_PERSON = frozenset(_FIRST_PERSON.split())  # how people speak of themselves
# Signs that belong to the letter before them, which `\w` leaves out: vowels, points.
_OF_INDIA = "".join(  # ten scripts in the same order
    f"\\u{block:04x}-\\u{block + 3:04x}\\u{block + 0x3A:04x}-\\u{block + 0x4F:04x}"
    f"\\u{block + 0x51:04x}-\\u{block + 0x57:04x}\\u{block + 0x62:04x}\\u{block + 0x63:04x}"
    for block in range(0x900, 0xE00, 0x80)
)
MARKS = (
    r"\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    rf"{_OF_INDIA}\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u17b4-\u17d3"
)
LETTER = rf"(?:[^\W\d_]|[{MARKS}])"
INSIDE = patterns.compile(rf"(?:[^\W_]|[{MARKS}]){{2}}")  # two signs of one word
_PART = rf"[^\W_]+(?:[{MARKS}]+[^\W_]*)*"
WORD = patterns.compile(rf"{_PART}(?:['’]{_PART})*")  # "don't" is one
WORD_PART = patterns.compile(r"[^\W_]+")  # "don't" is two
# Scripts that put no spaces between words, as a character class has them.
UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    r"\U00020000-\U0003ffff"
)
UNSPACED_SIGN = patterns.compile(f"[{UNSPACED}]")
_SCRIPT_ENDS = patterns.compile(
    rf"(?<=[{UNSPACED}])(?=[^\W\d_{UNSPACED}])|(?<=[^\W\d_{UNSPACED}])(?=[{UNSPACED}])"
)
HIRAGANA = patterns.compile(r"[\u3040-\u309fー]+\Z")  # what grammar and greetings are written in
_LETTER_OF_WORDS = rf"(?![{UNSPACED}])[\w{MARKS}]"
# What stands behind a name of few signs in Japanese, before one, and behind one in Korean.
_BEHIND = "[のとはがもやをにへでさくちよねだなじ君様氏]|から|先生"
_BEFORE = "(?![のとはがもやをにへで])[\u3041-\u309f]"
_KOREAN = "은는이가을를의에와과도야아랑한께님씨로만부까하라네입처보들인였"
_LONGER = f"(?!{_BEHIND})[\u3041-\u309f\u3400-\u9fff々]"
# What a name looks like, and what before and behind makes it a part of a longer word.
_BESIDE = (
    (patterns.compile("[ァ-ヺー-ヿ]+"), "[ァ-ヺー-ヿ]", "[ァ-ヺー-ヿ]"),  # エマ in シネマ
    (patterns.compile("[\u3400-\u9fff]"), "[\u3400-\u9fff々]", _LONGER),  # 健 in 健康
    # まり in 始まり and つまり, りん in りんご; but 田中さくら
    (patterns.compile("[\u3041-\u309f]{1,2}"), rf"{_BEFORE}|[\u3400-\u9fff々]", _LONGER),
    (patterns.compile("[\u3041-\u309f]+"), _BEFORE, _LONGER),
    (patterns.compile("[\u3400-\u9fff]+"), "(?!)", "[子美恵香奈江代郎]"),  # 由美 in 由美子
    (patterns.compile(f".*[{UNSPACED}].*"), "(?!)", "(?!)"),
    (patterns.compile("[가-힣 ]+"), _LETTER_OF_WORDS, f"(?![{_KOREAN}])[가-힣]"),  # 엠마는
    (patterns.compile("(?s:.*)"), _LETTER_OF_WORDS, _LETTER_OF_WORDS),
)
_INITIALS = 3  # letters and full stops from which on the last full stop may be left out


def is_unspaced(text: str) -> bool:
    """Whether a text has a sign of a script that puts no spaces between words."""
    return not text.isascii() and UNSPACED_SIGN.search(text) is not None


def name_pattern(name: str, ending: str = "") -> str:
    """Return a pattern for where a name stands in a text, and is no part of a longer word.

    As far as its script shows that: a long name of kanji may stand anywhere. However it is spelt:
    "R.B." is `R.B` and `r-b`, too, as titles and file names have it.

    Args:
        name: As it is called.
        ending: A pattern for what may stand behind it in its word.
    """
    _, before, behind = next(row for row in _BESIDE if row[0].fullmatch(name))
    first, *rest = re.split(r"([\s.'’_-]+)", name.rstrip(".")) if name.strip(".") else [name]
    spelt = re.escape(first) + "".join(
        (r"(?:\.[\s'’_-]?|[\s_-])" if "." in joint else r"[\s'’_-]") + re.escape(part)
        for joint, part in zip(rest[::2], rest[1::2], strict=True)
    )
    if name.endswith("."):  # "M.", but not "I'm"
        spelt += r"\." if len(name) < _INITIALS else r"\.?+"
    return rf"(?<!{before}){spelt}(?={ending}(?!{behind}|[{MARKS}]))"


def words(text: str) -> list[str]:
    """Return the words of a text, case folded; scripts without spaces as pairs of characters."""
    if text.isascii():
        return WORD.findall(text.lower())
    parts: list[str] = []
    plain = unicodedata.normalize("NFKC", text).casefold()
    plain = _SCRIPT_ENDS.sub(" ", plain) if is_unspaced(plain) else plain  # 和子を onsen に
    for word in WORD.findall(plain):
        if is_unspaced(word):
            parts += [word] if len(word) == 1 else [word[n : n + 2] for n in range(len(word) - 1)]
        else:
            parts.append(word.replace("’", "'"))
    return parts


def bare(text: str) -> str:
    """Return the words of a text alone, one blank between: however it is spaced and pointed."""
    return " ".join(words(text))


def with_apostrophes(text: str) -> str:
    """Put back the apostrophes that people leave out of English; in small letters: "i'm"."""
    return WORD.sub(lambda word: _CONTRACTED.get(word[0], word[0]), text.lower())


def telling_words(text: str) -> list[str]:
    """Return the words of a text without stop words."""
    return [word for word in words(text) if word not in WORDS]


def folded(word: str) -> str:
    """Return a word without case, accents and the apostrophe's other form."""
    if word.isascii():
        return word.lower()
    plain = unicodedata.normalize("NFKD", word.replace("’", "'")).casefold()
    return "".join(char for char in plain if not unicodedata.combining(char))
