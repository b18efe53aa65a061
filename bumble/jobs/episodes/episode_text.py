"""The text of an episode: written by the model and checked, a verbatim excerpt, or by form.

A model tells it; each of its sentences has to keep to what was said, and to who said it. Where too
little is left, the most telling messages stand as they were said, labelled as an excerpt. Where no
model is trusted to tell it, what is worth keeping is quoted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from bumble.errors import AnswerInvalidError
from bumble.fallback import sayings
from bumble.guard import origins, secrets, speakers, verifier
from bumble.guard.speakers import Speakers
from bumble.llm import prompts, structured
from bumble.llm.protocol import Request
from bumble.records import episodes
from bumble.records.episodes import Telling
from bumble.records.sessions import Appraised, Message
from bumble.runtime import job_request
from bumble.runtime.job import NO_ANSWER
from bumble.runtime.runtime import Runtime
from bumble.text import stop_words, tokens, words

PURPOSE = "remember"
TEMPERATURE = 0.3
CONVERSATION_TOKENS = 1200  # on a CPU, half a minute to read
MESSAGE_TOKENS = (200, 100, 50, 25)  # of one message: the first that lets all fit
NARRATIVE_SENTENCES, SENTENCE_CHARS = 6, 200
REFLECTION_CHARS = 300  # of one answer, whatever the settings allow
MAX_TOKENS = 420
SLACK_CHARS = 300  # beyond its limit a reflection is cut, not refused
LEAST_CHARS = 20  # of a narrative
EXCERPT_LINES, EXCERPT_TOKENS = 6, 60  # at most; of one line
FULL_WORDS = 20  # telling words beyond these make a message no more telling
_ASKED_ME = re.compile(r"\basked me\b", re.IGNORECASE)


class EpisodeScene(Struct, frozen=True):
    """A stretch of conversation, and who took part."""

    name: str  # the entity's
    names: Mapping[str, str]  # by person id
    messages: Sequence[Message]
    appraisals: Mapping[str, Appraised]  # by message id
    day: str  # "Sunday 24 May 2026"

    def speaker(self, message: Message) -> str:
        """Return the name of who said a message."""
        if message.role == "assistant":
            return self.name
        first = next(iter(self.names.values()), "Somebody")
        return self.names.get(message.speaker, first)

    @property
    def people(self) -> str:
        """Name everybody but the entity: `Sam and Kim`."""
        *other_names, last = self.names.values() or ["somebody"]
        return f"{', '.join(other_names)} and {last}" if other_names else last

    @property
    def spoken_messages(self) -> list[Message]:
        """The messages that were spoken, the tools' left out."""
        return [
            message for message in self.messages if message.role != "tool" and message.text.strip()
        ]


class TellingResult(Struct, frozen=True):
    """The text of an episode, by the model or as an excerpt, and why."""

    telling: Telling
    excerpt: str = ""  # why it is one; empty if the model told it
    answered: bool = True  # whether the model gave an answer, good or bad
    dropped: tuple[str, ...] = ()  # sentences of the model that were not kept
    by_form: bool = False  # whether it is quotes of what is worth keeping

    @property
    def summary_source(self) -> str:
        """The episode's `summary_source`: empty if the model told it."""
        return sayings.MARK if self.by_form else episodes.EXCERPT if self.excerpt else ""


def tell(runtime: Runtime, scene: EpisodeScene) -> TellingResult:
    """Let the model tell what happened; never raises for want of an answer."""
    try:
        answer = structured.answer(runtime.model, _request(runtime, scene), _schema(runtime, scene))
    except NO_ANSWER as error:
        reason = f"no usable answer of a model ({type(error).__name__})"
        return TellingResult(excerpt(scene), reason, answered=isinstance(error, AnswerInvalidError))
    narrative, dropped = _sift("\n".join(answer["narrative"]), _narrative_check(scene))
    reflection, dropped_too = _sift(str(answer["reflection"]), _reflection_check(scene))
    dropped += dropped_too
    text = " ".join(narrative[:NARRATIVE_SENTENCES])
    if len(text) < LEAST_CHARS:
        return TellingResult(
            excerpt(scene), "too little of what the model told was said", dropped=dropped
        )
    if scene.names and not any(name.casefold() in text.casefold() for name in scene.names.values()):
        return TellingResult(
            excerpt(scene), f"the model did not name {scene.people}", dropped=dropped
        )
    return TellingResult(
        Telling(text, _fitting(reflection, episodes.REFLECTION_MAX_CHARS)), dropped=dropped
    )


def excerpt(scene: EpisodeScene) -> Telling:
    """Take the most telling messages as they were said, in their order."""
    messages = scene.spoken_messages

    def weight(message: Message) -> float:
        count = min(FULL_WORDS, len(set(stop_words.telling_words(message.text))))
        moved = scene.appraisals.get(message.id)
        points = sum(abs(point) for point in moved.points.values()) if moved else 0.0
        return (count + points) * (1.0 if message.role == "user" else 0.5)

    best = sorted(messages, key=weight, reverse=True)[:EXCERPT_LINES]
    return Telling("\n>\n".join(_quoted(scene, message) for message in messages if message in best))


def is_excerpt(scene: EpisodeScene, text: str) -> bool:
    """Whether a text holds nothing but messages as an excerpt has them: no hand has been on it."""
    lines = {">", "", *(_quoted(scene, message) for message in scene.spoken_messages)}
    return all(line.rstrip() in lines for line in text.splitlines())


def _quoted(scene: EpisodeScene, message: Message) -> str:
    line = tokens.cut(secrets.redacted(words.one_line(message.text)), EXCERPT_TOKENS)
    return f"> {scene.speaker(message)}: {line}"


def _schema(runtime: Runtime, scene: EpisodeScene) -> dict[str, Any]:
    """Describe the answer; lists and lengths bound a small model that goes round in circles."""
    limit = min(REFLECTION_CHARS, episodes.REFLECTION_MAX_CHARS + SLACK_CHARS)
    names = tuple(scene.names.values())
    sentence: dict[str, Any] = {"type": "string", "maxLength": SENTENCE_CHARS}
    if names:
        sentence = structured.beginning_with(names, SENTENCE_CHARS)
    return {
        "type": "object",
        "properties": {
            "narrative": {
                "type": "array",
                "items": sentence,
                "minItems": 1,
                "maxItems": NARRATIVE_SENTENCES,
            },
            "reflection": structured.beginning_with(speakers.SAYS_I, limit),
        },
        "required": ["narrative", "reflection"],
        "additionalProperties": False,
    }


def _request(runtime: Runtime, scene: EpisodeScene) -> Request:
    slots = {"people": scene.people, "day": scene.day, "conversation": transcript(scene)}
    return job_request.request(
        runtime, PURPOSE, slots, max_tokens=MAX_TOKENS, temperature=TEMPERATURE
    )


def transcript(scene: EpisodeScene) -> str:
    """Write out who said what, so that no "I" is left without its owner."""
    for limit in MESSAGE_TOKENS:
        lines = [_spoken(scene, message, limit) for message in scene.messages]
        text = "\n".join(line for line in lines if line)
        if tokens.estimate(text) <= CONVERSATION_TOKENS:
            break
    return prompts.harmless(text, "conversation")


def _spoken(scene: EpisodeScene, message: Message, limit_tokens: int) -> str:
    text = words.one_line(message.text).replace('"', "'")
    if message.role == "tool" or not text:
        used = ", ".join(call.name for call in message.tool_calls)
        return f"I used {used}." if used else ""
    who = "I answered" if message.role == "assistant" else scene.speaker(message)
    verb = "" if message.role == "assistant" else " said"
    return f'{who}{verb}: "{tokens.cut(text, limit_tokens)}"'


def _speakers(scene: EpisodeScene) -> Speakers:
    statements: dict[str, list[str]] = {name: [] for name in scene.names.values()}
    for message in scene.spoken_messages:
        if message.role == "user":
            statements.setdefault(scene.speaker(message), []).append(message.text)
    return Speakers((scene.day,), scene.name, statements)


def _narrative_check(scene: EpisodeScene) -> Callable[[str], bool]:
    """Return what tells whether a sentence says what one message says, and who said it.

    What somebody told must stand in a message of theirs, outside of its questions: not in what the
    entity answered, nor in what they only asked.
    """
    participants = _speakers(scene)
    sources = [message.text for message in scene.spoken_messages]
    answers = [message.text for message in scene.spoken_messages if message.role != "user"]
    their_texts = [text for texts in participants.statements.values() for text in texts]
    names = (scene.name, *scene.names.values())

    def messages(sentence: str) -> list[str]:
        if _ASKED_ME.search(sentence):
            return [text for text in their_texts if "?" in text]
        teller = participants.teller(sentence)
        texts = participants.statements.get(teller or "", ()) or their_texts
        statements = [_without_questions(text) for text in texts]
        return statements if teller else [*statements, *answers]

    def stands(sentence: str) -> bool:
        if sentence.endswith("?"):
            return False  # a question of the conversation, without who asked it
        if not origins.own_words(sentence, names):
            return False  # "Sam asked how I was" is nothing to remember
        reason = verifier.problem(sentence, sources, participants, messages=messages(sentence))
        return reason is None

    return stands


def _without_questions(text: str) -> str:
    return " ".join(
        sentence for sentence in words.sentences(text) if not sentence.endswith(("?", "？"))
    )


def _reflection_check(scene: EpisodeScene) -> Callable[[str], bool]:
    """Return what tells whether a sentence says only how something said was felt."""
    sources = [message.text for message in scene.spoken_messages]
    everything = ["\n".join(sources)]

    def stands(sentence: str) -> bool:
        if not speakers.OF_ONESELF.intersection(stop_words.words(sentence)):
            return False
        reason = verifier.problem(
            sentence, sources, _speakers(scene), messages=everything, least=1.0
        )
        return reason is None

    return stands


def _sift(text: str, stands: Callable[[str], bool]) -> tuple[list[str], tuple[str, ...]]:
    """Part the sentences of a text into those that are kept and those that are not."""
    kept_sentences: list[str] = []
    dropped = []
    for raw in words.sentences(text):
        sentence = re.sub(r"^[#>*\-\s]+", "", raw)
        if not sentence or sentence in kept_sentences:
            continue
        if stands(sentence):
            kept_sentences.append(sentence)
        else:
            dropped.append(sentence)
    return kept_sentences, tuple(dropped)


def _fitting(sentences: Sequence[str], max_chars: int) -> str:
    """Join as many sentences as fit."""
    text = ""
    for sentence in sentences:
        longer = f"{text} {sentence}".strip()
        if len(longer) > max_chars:
            break
        text = longer
    return text
