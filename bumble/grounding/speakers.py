"""Whose "I" it is: words of one speaker that a text gives to another.

Small models take over what somebody told them: after "I have a dog" they say "my dog" of
themselves. A sentence in which the entity claims for itself what a person said of themselves is
not kept. Knows the first person of a few languages; elsewhere it finds nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from bumble.grounding.claims import sentences
from bumble.text import stop_words

_FIRST_PERSON = """
i i'm i've i'd i'll my mine our ich mein meine meinem meinen meiner je j'ai mon ma mes yo mi mis
eu meu minha meus minhas io mio mia ik mijn
"""
_IN_TALK = """
admire answer answered appreciate ask asked care explained feel feeling feelings felt find found
glad happy hear heard hope hoped imagine know learned listened mentioned noticed offered promised
realised realized remember remembered replied response said say shared sorry suggested talked tell
thank thanked think thought thoughts told trust understand understood wonder wondered
"""
# Words with which one says why something mattered; no fact is among them.
FELT_WORDS = """
important matter mattered meaningful feel felt feeling feelings glad happy sad sorry moved touched
touching care cares cared worry worried concern concerned trust trusted close closer closeness warm
warmth tender hope hopeful understand understood listen listened share shared sharing comfort
comforted relief relieved proud grateful gratitude curious interest interested interesting excited
exciting remember reminded reminds shows showed learn learned learnt know knowing want wanted wish
love loves loved better good nice kind special deeply really because conversation moment life
someone people much little thing things time told tell talk talked first
"""
_OF_SOMETHING = """
enjoy enjoyed hate hated like liked love loved need needed want wanted wish wished
"""
FIRST_PERSON = frozenset(_FIRST_PERSON.split())
_TO_ANOTHER = """
you your yours du dein deine deinem deinen deiner dir tu ton ta tes vous votre vos tuo tua teu tua
su sus jouw jij
"""
TO_ANOTHER = frozenset(_TO_ANOTHER.split())
OF_ONESELF = FIRST_PERSON | {"me", "myself", "we", "us", "mich", "mir", "moi", "mim", "mij"}
SAYS_I = ("I", "Ich", "Je", "Yo", "Eu", "Io", "Ik")  # how a sentence about oneself begins
# What anybody does in a conversation: two who both do it have not been taken for each other.
IN_TALK = frozenset(_IN_TALK.split())
# Say nothing of their own: "I love sailing" is about sailing.
EMPTY = stop_words.WORDS | frozenset(_OF_SOMETHING.split())
REACH = 4  # words between "I" and what it is said of: "I have got a small dog"
ENDING_CHARS = 3  # by which two forms of one word may differ: "live", "lived"
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|«[^»]*»|„[^“”]*[“”]|(?<!\w)['‘][^'’]*['’](?!\w)")


def borrowed(sentence: str, statements: Iterable[str]) -> str | None:
    """Return what a sentence claims in the first person that others said of themselves.

    Args:
        sentence: Of the entity, about itself; what stands in quotation marks is not its own.
        statements: What others said.

    Returns:
        The word that is theirs ("dog"); None if there is none.
    """
    their_words = {word for text in statements for words in _claims(text) for word in words}
    claimed_words = [words[0] for words in _claims(_QUOTED.sub(" ", sentence))]
    return next(
        (word for word in claimed_words if any(_same(word, other) for other in their_words)), None
    )


def taken_over(sentence: str, accounts: Iterable[str]) -> str | None:
    """Return what a sentence claims in the first person that is told of somebody else.

    Args:
        sentence: Of the entity, about itself.
        accounts: What it rests on, told by the entity: `Sam told me that his dog was ill`.

    Returns:
        The word that is another's ("dog"); None if there is none.
    """
    texts = list(accounts)
    own = {words[0] for text in texts for words in _claims(text)}
    their_words = {word for text in texts for word in stop_words.telling_words(text)} - own
    claimed_words = [words[0] for words in _claims(sentence)]
    return next(
        (word for word in claimed_words if any(_same(word, other) for other in their_words)), None
    )


def given_away(
    sentence: str, statements: Iterable[str], name: str, other_names: Iterable[str]
) -> str | None:
    """Return who else's a sentence makes what somebody told of their own.

    After "My dog ran away" small models write "Sam told me that Ada's dog ran away". Knows the
    English genitive; in another language it finds nothing.

    Args:
        sentence: About what they told.
        statements: Their messages.
        name: What the one they talked to is called; "your dog" is that one's.
        other_names: Names of all others but the teller.
    """
    texts = list(statements)
    spoken_to = any(TO_ANOTHER.intersection(stop_words.words(text)) for text in texts)
    for owner in (name, *other_names):
        of_owner = re.compile(rf"\b{re.escape(owner)}['’]s\b", re.IGNORECASE)
        if not of_owner.search(sentence) or any(of_owner.search(text) for text in texts):
            continue
        if owner != name or not spoken_to:
            return owner
    return None


def _claims(text: str) -> list[list[str]]:
    """Return the words of substance that follow each "I" and "my", where there are any."""
    claims = []
    for sentence in sentences(text):
        words = stop_words.words(sentence)
        for n, word in enumerate(words):
            after = words[n + 1 : n + 1 + REACH] if word in FIRST_PERSON else []
            telling = [token.removesuffix("'s") for token in after if token not in EMPTY]
            if telling and telling[0] not in IN_TALK:
                claims.append(telling)
    return claims


def _same(word: str, other: str) -> bool:
    short, long = sorted((word, other), key=len)
    return long.startswith(short) and len(long) - len(short) <= ENDING_CHARS
