"""Whose "I" it is: words of one speaker that a text gives to another.

Small models take over what somebody told them: after "I have a dog" they say "my dog" of
themselves. A sentence in which the entity claims for itself what a person said of themselves is
not kept. Knows the first person of a few languages; elsewhere it finds nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

from bumble.text import stop_words, words

_IN_TALK = """
admire answer answered appreciate ask asked care explained feel feeling feelings felt find found
glad happy hear heard hope hoped imagine know learned listened mentioned noticed offered promised
realised realized remember remembered replied response said say shared sorry suggested talked tell
thank thanked think thought thoughts told trust understand understood wonder wondered
antworte antwortete danke dankte denke dachte gedacht erinnere erinnerte erkläre erklärte erwähnte
erzähle erzählte erzählt frage fragte gefragt freue freute froh fühle fühlte gefühl gefühle glaube
glaubte hoffe hoffte höre hörte gehört meine meinte merke merkte sage sagte gesagt verstehe verstand
vertraue weiß wusste wundere wunderte
"""
# Words with which one says why something mattered; no fact is among them.
FELT_WORDS = """
important matter mattered mean means meant meaningful feel felt feeling feelings glad happy sad
sorry moved touched
touching care cares cared worry worried concern concerned trust trusted close closer closeness warm
warmth tender hope hopeful understand understood listen listened share shared sharing comfort
comforted relief relieved proud grateful gratitude curious interest interested interesting excited
exciting remember reminded reminds shows showed learn learned learnt know knowing want wanted wish
love loves loved better good nice kind special deeply really because conversation moment life
someone people much little thing things time told tell talk talked first
berührt berührte berührend besonders bewegt bewegte dankbar froh gern gespräch gut hoffnung
interessant jemand leben lernen liebe moment nah nähe neugierig schön sorge sorgen stolz teilen
teilte traurig trost verstanden vertrauen warm wärme weil wichtig wirklich zeigt zeigte zuhören
"""
_OF_SOMETHING = """
enjoy enjoyed hate hated like liked love loved need needed want wanted wish wished
brauche hab habe hasse liebe liebte mag mochte möchte will wollte wünsche
"""
FIRST_PERSON = stop_words.SAYING_I | stop_words.SAYING_MY
_TO_ANOTHER = """
you your yours du dein deine deinem deinen deiner dir tu ton ta tes vous votre vos tuo tua teu tua
su sus jouw jij
"""
TO_ANOTHER = frozenset(_TO_ANOTHER.split())
# What anybody does in a conversation: two who both do it have not been taken for each other.
IN_TALK = frozenset(stop_words.words(_IN_TALK))
# Say nothing of their own: "I love sailing" is about sailing.
EMPTY = stop_words.WORDS | frozenset(stop_words.words(_OF_SOMETHING))
REACH = 4  # words between "I" and what it is said of: "I have got a small dog"
_QUOTED = re.compile(r"\"[^\"]*\"|“[^“”]*”|«[^«»]*»|„[^„“”]*[“”]|(?<!\w)['‘][^'‘’]*['’](?!\w)")


class Speakers(Struct, frozen=True):
    """Who took part in what a sentence is about, and what they said of themselves."""

    names: Sequence[str] = ()  # what needs no source, and says nothing by itself
    entity: str = ""  # whose "I" it is
    statements: Mapping[str, Sequence[str]] = field(default_factory=dict)  # of people, by name
    accounts: Sequence[str] = ()  # by the entity, of other people

    @property
    def all_names(self) -> tuple[str, ...]:
        """The names of everybody."""
        return tuple(filter(None, (self.entity, *self.statements, *self.names)))

    def teller(self, sentence: str) -> str | None:
        """Return who of those who said something a sentence begins with."""
        start = sentence.casefold()
        names = (name for name, texts in self.statements.items() if texts)
        return next((name for name in names if start.startswith(name.casefold())), None)


def borrowed(sentence: str, statements: Iterable[str], language: str = "") -> str | None:
    """Return what a sentence claims in the first person that people said of themselves.

    Args:
        sentence: Of the entity, about itself; what stands in quotation marks is not its own.
        statements: What people said.
        language: Of the sentence; by default as its stop words tell.

    Returns:
        The word that is another's ("dog"); None if there is none.
    """
    texts = list(statements)
    code = language or words.language(sentence, *texts)
    stems = {words.stem(word, code) for text in texts for run in _claims(text) for word in run}
    return _claimed(_QUOTED.sub(" ", sentence), stems, code)


def taken_over(sentence: str, accounts: Iterable[str], language: str = "") -> str | None:
    """Return what a sentence claims in the first person that is told of somebody else.

    Args:
        sentence: Of the entity, about itself.
        accounts: What it rests on, told by the entity: `Sam told me that his dog was ill`.
        language: Of the sentence; by default as its stop words tell.

    Returns:
        The word that is another's ("dog"); None if there is none.
    """
    texts = list(accounts)
    code = language or words.language(sentence, *texts)
    own = {words.stem(run[0], code) for text in texts for run in _claims(text)}
    stems = {stem for text in texts for stem in words.stems(text, code)}
    return _claimed(sentence, stems - own, code)


def _claimed(sentence: str, stems: set[str], language: str) -> str | None:
    """Return the first word that a sentence claims and whose stem is among some."""
    first_words = (run[0] for run in _claims(sentence))
    return next((word for word in first_words if words.stem(word, language) in stems), None)


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
    runs = []
    for sentence in words.sentences(text):
        tokens = stop_words.words(sentence)
        for n, token in enumerate(tokens):
            after = tokens[n + 1 : n + 1 + REACH] if token in FIRST_PERSON else []
            run = [word.removesuffix("'s") for word in after if word not in EMPTY]
            if run and run[0] not in IN_TALK:
                runs.append(run)
    return runs
