"""The names in a text that a model wrote, and which of them nobody gave."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from bumble import patterns
from bumble.guard import caseless, names, number_words, values
from bumble.text import stop_words, words

# Scripts without spaces have no words to compare; a Latin name inside them is one.
_LETTER = rf"(?:(?![{stop_words.UNSPACED}])[\w{stop_words.MARKS}])"
_WORD = patterns.compile(rf"{_LETTER}+(?:(?:['’.\-]|(?<=\d)[,/](?=\d)){_LETTER}+)*")
_GENITIVE = patterns.compile(r"'s?\Z")
_JOINTS = patterns.compile(r"[-.'/]")
# A first word before one of these is whom or what its sentence is about.
_VERBS = """
is was has had will would can could does did and lives likes loves works wants said says told ist
war hat hatte wird heißt mag wohnt lebt und é era tem mora gosta e es tiene vive y est était habite
aime et
"""
_VERB = frozenset(_VERBS.split())
# Before a German noun, in whatever case: articles, and what stands in their place.
_ARTICLE_FORMS = "der die das dem den des als am im zum zur vom beim ins ans"
_ARTICLE_STEMS = (
    "ein kein mein dein sein ihr unser euer eur dies jed jen manch solch welch all viel"
)
ARTICLES = frozenset(
    stem + ending for stem in _ARTICLE_STEMS.split() for ending in ("", "e", "en", "er", "es", "em")
) | {*_ARTICLE_FORMS.split()}
_INFLECTIONS = ("e", "en", "er", "es", "em")  # of an adjective before its noun
_MADE = patterns.compile(r"(?:ed|ing|ly|less|ful|ness|s)\Z")  # endings of rare English words
_NO_NAME = stop_words.WORDS | frozenset(["dr", "mr", "mrs", "ms", "prof", "sr", "sra", "hr", "fr"])
# A name in another language, and what is made of it, begin alike: Lisbon, Lisboa; Germany, German.
SHARED_LETTERS = 5
_ENOUGH = 4  # words, which show their language whatever is spoken around them
_STEM, _NAME = "~", "^"  # mark a stem and what may be a name among the forms of a source


@lru_cache(maxsize=512)
def _source_forms(source: str, language: str) -> frozenset[str]:
    """Return the forms of a source that a name may match: words, stems, parts, names."""
    plain = [words.folded(word) for word in _WORD.findall(source)]
    parts = [part for word in plain for part in (word, *_JOINTS.split(word)) if part]
    stems = (f"{_STEM}{words.stem(part, language)}" for part in parts)
    is_small = source.islower()
    called = (
        f"{_NAME}{words.folded(names.bare(word))}"
        for word in _WORD.findall(source)
        if word[0].isupper() or is_small
    )
    return frozenset((*parts, *stems, *called))


class _Sentence(Struct, frozen=True):
    tokens: Sequence[str]
    plain: Sequence[str]
    language: str
    unspaced: bool  # whether part of it is in a script without spaces
    titled: bool  # whether it has capitals throughout, as a title may: they show nothing


def _read(sentence: str, language: str) -> _Sentence:
    tokens = _WORD.findall(sentence)
    if not language or len(tokens) >= _ENOUGH:
        language = words.language(sentence, default=language)
    plain = [words.folded(token) for token in tokens]
    telling = [token for token, word in zip(tokens, plain, strict=True) if word not in _NO_NAME]
    is_sentence = sentence.rstrip("\"'”’»)").endswith((".", "!", "?", "…"))
    shown = is_sentence or language == "de" or any(token[0].islower() for token in telling)
    unspaced = stop_words.is_unspaced(sentence)
    return _Sentence(tokens, plain, language, unspaced, not shown)


def claims(text: str, language: str = "") -> list[str]:
    """Return the words of a text that are to be taken for names."""
    code = language or words.language(text)
    return [
        word
        for sentence in (_read(part, code) for part in words.sentences(text))
        for n, word in enumerate(sentence.tokens)
        if word[0].isupper() and _is_name(sentence, n)
    ]


def _is_name(sentence: _Sentence, n: int) -> bool:
    """Whether a word with a capital letter is to be taken for a name."""
    word = sentence.plain[n]
    if {word, _GENITIVE.sub("", word)} & _NO_NAME:
        return False
    number, *more = word.split("-")
    if more and number_words.value(number, sentence.language) is not None:  # "Nine-year-old"
        return False
    if sentence.titled and words.is_listed(word, sentence.language):
        return False
    if n > 0:
        return not (sentence.language == "de" and _follows_article(sentence, n))
    everyday = words.common(sentence.language, _EVERYDAY)
    is_own = word in everyday and _is_own(sentence.tokens[0].casefold(), sentence.language)
    if is_own and any(one[0].isupper() or one in _SUBJECTS for one in sentence.tokens[2:3]):
        return False  # "Vielleicht war sie"
    following = sentence.tokens[1].casefold() if len(sentence.tokens) > 1 else ""
    return (  # a first word has a capital in any case
        sum(char.isupper() for char in sentence.tokens[0]) > 1
        or _GENITIVE.search(word) is not None
        or sentence.unspaced
        or following in _VERB
        or _may_be_first_name(word, sentence.language)
    )


def _may_be_first_name(word: str, language: str) -> bool:
    """Whether a first word is hardly one of its language's own: Greta, Gareth, pizza."""
    if language == "en" and _MADE.search(word):
        return False
    if language not in _TOLD_APART and not all(words.is_listed(word, code) for code in _OTHERS):
        return False
    return not _is_own(word, language) and word not in words.common(language, _COMMONEST)


def _follows_article(sentence: _Sentence, n: int) -> bool:
    """Whether an article stands before a noun, with adjectives between them or without."""
    before = n - 1
    while before >= 0 and _may_be_adjective(sentence, before):
        before -= 1
    if before < 0:
        return False
    counts = (number_words.value(sentence.plain[before], "de") or 0) > 1
    return counts or sentence.plain[before] in ARTICLES


def _may_be_adjective(sentence: _Sentence, n: int) -> bool:
    word = sentence.plain[n]
    may_be = sentence.tokens[n][0].islower() and word.endswith(_INFLECTIONS)
    return may_be and word not in stop_words.WORDS | ARTICLES


def _occurs(
    word: str, source_forms: frozenset[str], language: str, *, inflects: bool = False
) -> bool:
    """Whether a word stands in the sources, in this form or another."""
    plain = words.folded(word)
    bare = _GENITIVE.sub("", plain)
    if source_forms & {plain, bare, plain.removesuffix("s")}:
        return True
    if len([part for part in _JOINTS.split(bare) if part]) > 1:
        marked = [part for part in _JOINTS.split(word) if part and not part[0].islower()]
        return all(_occurs(part, source_forms, language, inflects=inflects) for part in marked)
    if inflects and any(
        form[0] == _NAME and names.are_one(bare, form[1:]) for form in source_forms
    ):
        return True
    stem = _STEM + words.stem(bare, language)
    least = len(_STEM) + SHARED_LETTERS
    is_long = len(stem) >= len(_STEM) + _SHARED or bare.endswith(stem.removeprefix(_STEM))
    return (is_long and stem in source_forms) or any(
        words.akin(stem, form, least) for form in source_forms
    )


_OTHERS = ("en", "de", "es", "fr", "it", "pt", "pl", "sv", "fi")
_PLURAL_SHARE = 0.1  # of a noun's, at least, how common its plural is
_OWN_SHARE = 4.0  # times as common in its own language as in any other
_COMMON = 5e-6  # share of a noun that is known without another form of it
_ADJECTIVES = ("ig", "lich", "los", "haft", "voll")  # made of a noun
_ENDINGS = ("en", "es", "e", "n", "s")
_VOWELS = (("a", "ä"), ("o", "ö"), ("u", "ü"))
# English adjectives of lands, by how the land and its language begin, here and elsewhere.
_LANDS = {
    "american": "usa state ameri",
    "brazilian": "brazi brasi",
    "british": "brit engl uk",
    "chinese": "chin cin",
    "croatian": "croat kroat hrvat",
    "czech": "czech tschech tchec",
    "danish": "denm dane dani",
    "dutch": "holl neth nied ned",
    "english": "engl ingl angl",
    "finnish": "finl finn suom",
    "french": "fran fren",
    "german": "germ deut alem alle tede",
    "greek": "gree grie grec",
    "hungarian": "hung ungar magyar",
    "irish": "irel irla iris",
    "italian": "ital wlos",
    "japanese": "japa giapp",
    "norwegian": "norw norv",
    "polish": "pola pole pols polo",
    "portuguese": "portu",
    "romanian": "roman ruman",
    "russian": "russ rus",
    "scottish": "scot scho",
    "spanish": "spai span espa spag",
    "swedish": "swed schwed sued sver",
    "swiss": "swit schwei suis sviz",
    "turkish": "turk",
    "ukrainian": "ukra",
    "welsh": "wale wels",
}
_SHARED, _END_LETTERS = 4, 4  # letters that words share of which one is derived; of their ends
_COMMON_PARTS = 8000  # words of a language that are parts of a rare noun
_BEFORE_NAME = patterns.compile(  # a noun has its article, and stands beside no other
    r"(?:\b(?:in|aus|nach|bei|von)|(?<=[\w,] )([A-ZÄÖÜ][\wäöüß]*[^\Ws])) ([A-ZÄÖÜ][\wäöüß]+)"
)
_COMMONEST = 500  # words, of which hardly one is a name
_EVERYDAY = 1000  # likewise, of those that are its language's own
_SUBJECTS = frozenset(("er", "sie", "es", "ich", "wir", "man"))  # behind a verb
_TOLD_APART = ("en", "de")  # whose own words are seldom another language's
_TITLED = patterns.compile(r"\b(?:dr\.|herrn?|frau) (\w+)")
_JOINED = patterns.compile(r"(?=\b(\w+) (?:und|oder) (\w+))")  # what is beside a name is one, too
_MOST_COMMON = 2000  # words, from which no name is derived
_TOWNS = ("ingen", "hausen", "kirchen", "furt")
_MAKING_NOUNS = ("ung", "heit", "keit", "schaft", "nis", "tion", "tät")  # endings of German nouns
_PLACES = ("burg", "berg", "dorf", "stadt", "heim", "hausen", "ingen", "kirchen", "bach", "furt")
_LEAST_BEFORE, _LEAST_LETTERS = 3, 4  # of a compound: before its last noun, and of that


def strange(
    text: str, grounds: Sequence[str], known_names: Sequence[str], language: str
) -> list[str]:
    """Return the names in a text that stand in none of its sources.

    Args:
        text: What a model wrote.
        grounds: What it may rest on.
        known_names: That need no source.
        language: Of the text, `de`.
    """
    first = {
        words.folded(sentence.split()[0].strip("\"'“„«(")) for sentence in words.sentences(text)
    }
    placed = _placed(text, known_names) if language == "de" else set[str]()
    claimed = dict.fromkeys(word for word in claims(text, language) if len(word) > 1)
    sources = (*grounds, *known_names) if claimed else ()
    said = frozenset[str]().union(*(_source_forms(source, language) for source in sources))
    inflects = names.inflects(words.language(text, *grounds, default=""))

    def is_noun(word: str) -> bool:
        may_be = language == "de" or words.folded(word) in first
        return may_be and word.casefold() not in placed and _is_noun(word.casefold(), language)

    found = [
        word
        for word in claimed
        if not _occurs(word, said, language, inflects=inflects)
        and not values.is_told(words.folded(names.bare(word)), text, language)
        and not _is_derived(word, grounds, language)
        and not is_noun(word)
    ]
    parts = [part for name in known_names for part in name.split()]
    return [
        word
        for word in (*found, *caseless.strange(text, (*grounds, *known_names)))
        if not any(names.sound_alike(word, part) for part in parts)
    ]


def _placed(text: str, known_names: Sequence[str]) -> set[str]:
    """Return the words of a German text that stand where names do, and have no forms of nouns."""
    known = {part.casefold() for name in known_names for part in name.split()}
    pairs = [pair for joined in _JOINED.findall(text.casefold()) for pair in (joined, joined[::-1])]
    placed = {
        *(sentence.split()[0].strip("\"'“„«(") for sentence in words.sentences(text)),
        *(word for other, word in pairs if other in known),
        *(
            word
            for noun, word in _BEFORE_NAME.findall(text)
            if not noun or _is_noun(noun.casefold(), "de")
        ),
    }
    folded = {word.casefold() for word in placed}
    bare = {
        word
        for word in folded
        if words.is_listed(word, "de") and not (_has_forms(word) or word.endswith(_MAKING_NOUNS))
    }
    return bare.union(_TITLED.findall(text.casefold()))


def _is_derived(word: str, grounds: Sequence[str], language: str) -> bool:
    """Whether a source has a word of the same beginning: Sweden, swedish."""
    plain, common = words.folded(word), words.common(language, _MOST_COMMON)
    lands = tuple(_LANDS.get(plain, "").split())
    return any(
        (lands and other.startswith(lands))
        or (
            other not in common
            and (shared := words.shared_start(plain, other)) >= _SHARED
            and max(len(plain), len(other)) - shared < min(shared, _END_LETTERS + 1)
        )
        for ground in grounds
        for other in map(words.folded, stop_words.WORD.findall(ground))
    )


def _is_noun(word: str, language: str) -> bool:
    """Whether a language has a word as its own, by itself or at the end of a compound."""
    if language == "de" and word.endswith(_TOWNS):
        return False
    if _is_own(word, language) or (language == "de" and word.endswith(_MAKING_NOUNS)):
        return True
    if language != "de" or word.endswith(_PLACES):
        return False
    ends = range(_LEAST_BEFORE, len(word) - _LEAST_LETTERS + 1)
    parts = [(word[:start], word[start:]) for start in ends]
    if words.is_listed(word, language):  # a rare noun, if its parts are common ones
        common = words.common("de", _COMMON_PARTS)
        return any(
            common.issuperset((words.folded(before.removesuffix("s")), words.folded(behind)))
            for before, behind in parts
        )
    return any(_is_own(behind, language) for _, behind in parts)


def _is_own(word: str, language: str) -> bool:
    """Whether a word is much more common in its language than elsewhere, and no place there."""
    if not words.is_listed(word, language):
        return False
    share = words.frequency(word, language)
    elsewhere = (words.frequency(word, other) for other in _OTHERS if other != language)
    if language == "de" and any(
        words.frequency(form, language) > _PLURAL_SHARE * share for form in _plurals(word)
    ):
        return True
    if share < _OWN_SHARE * max(elsewhere):
        return False
    return (
        language != "de"
        or share > _COMMON
        or any(words.is_listed(form, language) for form in _forms(word))
    )


def _plurals(word: str) -> set[str]:
    """Return how several of a German noun are called, and what is like it; a name has neither."""
    round_ = {new.join(word.rsplit(old, 1)) for old, new in _VOWELS if old in word}
    forms = {one + ending for one in round_ for ending in ("", "e", "er")}
    return {
        form
        for form in (*forms, *(word + ending for ending in ("e", "en", "n", "ern", *_ADJECTIVES)))
        if words.is_listed(form, "de")
    }


def _forms(word: str) -> set[str]:
    """Return other forms a German noun may have; a name has none of them."""
    bare = {word.removesuffix(ending) for ending in _ENDINGS}
    stems = bare | {new.join(stem.rsplit(old, 1)) for stem in bare for old, new in _VOWELS}
    return {stem + ending for stem in stems for ending in ("", *_ENDINGS)} - {word}


def _has_forms(word: str) -> bool:
    """Whether a German noun has a form beside its genitive: tears have one, a town has none."""
    forms = _forms(word) | _plurals(word)
    return any(words.is_listed(form, "de") for form in forms if form != f"{word}s")
