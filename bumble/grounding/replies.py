"""Whether a reply may be said: what small models get wrong that can be told without a model.

It says again what was said, gives a person's words back as its own, slips into another language,
into an assistant's phrases or a life with a body, denies what it was told, or names what nobody
did. Words by language stand in `languages/`, a file a language; an assistant's phrases count in
all of them. What no rule sees (nonsense, a missed point) passes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import cache
from importlib import resources

from msgspec import Struct, field

from bumble.grounding import claims, speakers
from bumble.text import phrase_lookup, stop_words, words, yaml_read

FOLDER = resources.files(__package__).joinpath("languages")
LEAST_WORDS = 4  # of a sentence that counts as said again: anybody says a shorter one
MOST_SHARED = 0.8  # of the words of two replies, from which they are one
MOST_ECHOED, LEAST_ECHOED = 0.7, 3  # share and number of telling words that were the person's
MOST_CHARS = 400
_HELLO = "hi|hello|hey|hallo|ola|oi|hola|ciao|salut|bonjour|dear|liebe|lieber"
_MARKUP = re.compile(
    r"```|https?://|</?\w+>|[{}<>|\\]|\[\w|\*\*|^[^\S\n]*(?:[-*#]|\d+\.)\s", re.MULTILINE
)
_GREETED = re.compile(rf"\b(?:{_HELLO}) $")
_CALLED = re.compile(r"\s*(?:$|[,.!?:;…)–—])")  # behind a name that somebody is called by
CONFUSED = "it takes for its own what another said"  # a rule
_SIGNS = re.compile(r"[^\w\s'-]")  # between the words of a phrase
_FORMAL_GERMAN = re.compile(r"(?<=[\w,] )(?:Sie|Ihnen|Ihre?[nmrs]?)\b")


class Situation(Struct, frozen=True):
    """What a reply is held against."""

    message: str  # what it answers
    language: str  # that is spoken
    entity: str  # its name
    person: str  # the name of who spoke
    statements: Sequence[str] = ()  # what people said in this conversation, the message included
    answers: Sequence[str] = ()  # what the entity said before, examples included
    sources: Sequence[str] = ()  # where names and numbers may come from, beside the statements
    is_question: bool = False  # whether saying that one doesn't know is an answer
    is_general: bool = False  # a question about the world, whose answer is new
    extra: Sequence[str] = field(default=())  # further names that need no source

    @property
    def names(self) -> tuple[str, ...]:
        """Names that need no source."""
        return (self.entity, self.person, *self.extra)


@cache
def _patterns(language: str) -> dict[str, re.Pattern[str]]:
    file = FOLDER.joinpath(f"{language}.yaml")
    if not file.is_file():
        return {}
    listed = yaml_read.parse_mapping(file.read_text(encoding="utf-8"))
    return {name: phrase_lookup.pattern(listing) for name, listing in listed.items() if listing}


@cache
def _languages() -> tuple[str, ...]:
    return tuple(sorted(file.name.removesuffix(".yaml") for file in FOLDER.iterdir()))


def problem(reply: str, situation: Situation) -> str | None:
    """Return why a reply may not be said; None if nothing speaks against it."""
    if not reply.strip():
        return "it is empty"
    return next((why for why, fails in _RULES if fails(reply, situation)), None)


def slip(reply: str, situation: Situation) -> str | None:
    """Return why a reply is no example for later ones, whoever made it; None if it may be."""
    return _first(reply, situation, ("it was said before", "an assistant's phrase"))


def after_work(reply: str, situation: Situation) -> str | None:
    """Return why words that follow work may not be said: what tools found is rightly said back."""
    if not reply.strip():
        return "it is empty"
    return slip(reply, situation) or _first(reply, situation, ("another language", CONFUSED))


def _first(reply: str, situation: Situation, rules: Collection[str]) -> str | None:
    return next((why for why, fails in _RULES if why in rules and fails(reply, situation)), None)


def _has(cue: str, reply: str, language: str) -> bool:
    pattern = _patterns(language).get(cue)
    plain = " ".join(_SIGNS.sub(" ", phrase_lookup.folded(reply)).split())
    return pattern is not None and pattern.search(plain) is not None


def _said_again(reply: str, situation: Situation) -> bool:
    own = stop_words.words(reply)
    sentences = {
        " ".join(tokens)
        for part in words.sentences(reply)
        if len(tokens := stop_words.words(part)) >= LEAST_WORDS
    }
    for before in situation.answers:
        tokens = stop_words.words(before)
        if own == tokens:
            return True
        both, either = set(own) & set(tokens), set(own) | set(tokens)
        if len(own) >= LEAST_WORDS and len(both) >= MOST_SHARED * len(either):
            return True
        if sentences and any(
            " ".join(stop_words.words(part)) in sentences for part in words.sentences(before)
        ):
            return True
    return False


def _echoes(reply: str, situation: Situation) -> bool:
    """Whether it says little but what the person just did."""
    own = words.stems(reply, situation.language)
    shared = own & words.stems(situation.message, situation.language)
    return len(shared) >= LEAST_ECHOED and len(shared) >= MOST_ECHOED * len(own)


def _confuses(reply: str, situation: Situation) -> bool:
    """Whether it takes for its own what a person said of themselves, or itself for the person."""
    stems = {words.stem(words.folded(name), situation.language) for name in situation.names}
    statements, code = situation.statements, situation.language
    for sentence in words.sentences(reply):
        if speakers.borrowed(sentence, statements, code) is not None:
            return True
        if speakers.confused(sentence, statements, situation.answers, stems, code):
            return True
    return _is_addressed_to_itself(reply, situation)


def _is_addressed_to_itself(reply: str, situation: Situation) -> bool:
    """Whether it calls the person by the entity's own name."""
    name = phrase_lookup.folded(situation.entity)
    if name == phrase_lookup.folded(situation.person):
        return False
    called = re.compile(
        rf"(?:^|[,!.] ?|\b(?:hi|hello|hey|hallo|ola|hola|ciao|salut|bonjour) ){name}[!,.?]"
    )
    return called.search(phrase_lookup.folded(reply)) is not None


def _is_about_them(reply: str, situation: Situation) -> bool:
    """Whether it speaks of the person as of somebody else: by name, and not to call them."""
    name, plain = phrase_lookup.folded(situation.person), phrase_lookup.folded(reply)
    if not name or name == phrase_lookup.folded(situation.entity):
        return False
    return any(
        not _CALLED.match(plain[place.end() :]) and not _GREETED.search(plain[: place.start()])
        for place in re.finditer(rf"\b{re.escape(name)}\b", plain)
    )


def _other_language(reply: str, situation: Situation) -> bool:
    telling = [part for part in words.sentences(reply) if len(part.split()) >= LEAST_WORDS]
    return any(
        words.language(part, default=situation.language) != situation.language
        for part in (reply, *telling)
    ) or any(ord(char) > 0x24F and char.isalpha() for char in reply)


def _assists(reply: str, situation: Situation) -> bool:
    return any(_has("assistant", reply, language) for language in _languages())


def _lives(reply: str, situation: Situation) -> bool:
    """Whether it tells of a body, a house or people of its own."""
    if _has("lives", reply, situation.language):
        return True
    allowed = _patterns(situation.language).get("mine")
    tokens = stop_words.words(reply)
    following = (
        tokens[n + 1] if n + 1 < len(tokens) else ""
        for n, token in enumerate(tokens)
        if token in _MY
    )
    return allowed is not None and any(
        allowed.fullmatch(words.folded(word)) is None for word in following
    )


# "our" is what both have: a talk
_MY = stop_words.SAYING_MY - {"our"}


def _denies(reply: str, situation: Situation) -> bool:
    return not situation.is_question and _has("denial", reply, situation.language)


def _invents(reply: str, situation: Situation) -> bool:
    if situation.is_general:
        return False
    sources = (*situation.statements, *situation.sources, *situation.answers[-2:])
    return bool(claims.unsupported(reply, sources, situation.names, situation.language))


def _is_formal(reply: str, situation: Situation) -> bool:
    if _has("formal", situation.message, situation.language):
        return False
    if situation.language == "de" and _FORMAL_GERMAN.search(situation.message) is None:
        return _FORMAL_GERMAN.search(reply) is not None
    return situation.language != "de" and _has("formal", reply, situation.language)


_RULES: tuple[tuple[str, Callable[[str, Situation], bool]], ...] = (
    ("it is no speech", lambda reply, _: _MARKUP.search(reply) is not None),
    ("it is too long", lambda reply, _: len(reply) > MOST_CHARS),
    ("it was said before", _said_again),
    ("an assistant's phrase", _assists),
    ("another language", _other_language),
    (CONFUSED, _confuses),
    ("it speaks of the person as of another", _is_about_them),
    ("it tells of a body", _lives),
    ("it only says back what was said", _echoes),
    ("it denies what was said", _denies),
    ("it is formal", _is_formal),
    ("a name or number that nobody gave", _invents),
)
