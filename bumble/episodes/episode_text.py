"""The text of an episode: written by the model and checked, or a verbatim excerpt.

A model tells it; each of its sentences has to keep to what was said, and to who said it. Where too
little is left, the most telling messages stand as they were said, labelled as an excerpt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bumble import prompts
from bumble.errors import AnswerInvalidError
from bumble.grounding import claims, speakers, support
from bumble.llm import structured
from bumble.llm.protocol import Request
from bumble.records import episodes
from bumble.records.episodes import Telling
from bumble.records.sessions import Appraised, Message
from bumble.runtime import job_request
from bumble.runtime.job import NO_ANSWER
from bumble.runtime.runtime import Runtime
from bumble.text import stop_words, tokens

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
SHARED_LETTERS = 4  # two forms of one word begin alike


@dataclass(frozen=True)
class Scene:
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


@dataclass(frozen=True)
class TellingResult:
    """The text of an episode, by the model or as an excerpt, and why."""

    telling: Telling
    excerpt: str = ""  # why it is one; empty if the model told it
    answered: bool = True  # whether the model gave an answer, good or bad
    dropped: tuple[str, ...] = ()  # sentences of the model that were not kept

    @property
    def summary_source(self) -> str:
        """The episode's `summary_source`: empty if the model told it."""
        return episodes.EXCERPT if self.excerpt else ""


def tell(life: Runtime, scene: Scene) -> TellingResult:
    """Let the model tell what happened; never raises for want of an answer."""
    try:
        answer = structured.answer(life.model, _request(life, scene), _schema(life, scene))
    except NO_ANSWER as error:
        reason = f"no usable answer of a model ({type(error).__name__})"
        return TellingResult(excerpt(scene), reason, answered=isinstance(error, AnswerInvalidError))
    keeps = _keeper(scene)
    narrative, dropped = _sift("\n".join(answer["narrative"]), keeps, _rests_on(scene))
    reflection, dropped_too = _sift(str(answer["reflection"]), keeps, _adds_nothing(scene))
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
    limit = life.config.memory.episode_reflection_max_chars
    why = _fitting(reflection, limit) or felt(scene)
    return TellingResult(Telling(text, why), dropped=dropped)


def felt(scene: Scene) -> str:
    """Say by the appraisals what a stretch left behind, where no telling of it holds."""
    left = [appraisal for appraisal in scene.appraisals.values() if appraisal.emotion]
    strongest = max(left, key=lambda appraisal: appraisal.intensity, default=None)
    if strongest is None:
        return ""
    trigger = f": {strongest.trigger.rstrip('.')}" if strongest.trigger else ""
    return f"It left me {strongest.emotion}{trigger}."


def excerpt(scene: Scene) -> Telling:
    """Take the most telling messages as they were said, in their order."""
    messages = scene.spoken_messages

    def weight(message: Message) -> float:
        words = min(FULL_WORDS, len(set(stop_words.telling_words(message.text))))
        moved = scene.appraisals.get(message.id)
        points = sum(abs(point) for point in moved.points.values()) if moved else 0.0
        return (words + points) * (1.0 if message.role == "user" else 0.5)

    best = sorted(messages, key=weight, reverse=True)[:EXCERPT_LINES]
    return Telling("\n>\n".join(_quoted(scene, message) for message in messages if message in best))


def is_excerpt(scene: Scene, text: str) -> bool:
    """Whether a text holds nothing but messages as an excerpt has them: no hand has been on it."""
    lines = {">", "", *(_quoted(scene, message) for message in scene.spoken_messages)}
    return all(line.rstrip() in lines for line in text.splitlines())


def _quoted(scene: Scene, message: Message) -> str:
    line = " ".join(message.text.split())
    return f"> {scene.speaker(message)}: {tokens.cut(line, EXCERPT_TOKENS)}"


def _schema(life: Runtime, scene: Scene) -> dict[str, Any]:
    """Describe the answer; lists and lengths bound a small model that goes round in circles."""
    limit = min(REFLECTION_CHARS, life.config.memory.episode_reflection_max_chars + SLACK_CHARS)
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


def _request(life: Runtime, scene: Scene) -> Request:
    slots = {"people": scene.people, "day": scene.day, "conversation": transcript(scene)}
    return job_request.request(life, PURPOSE, slots, max_tokens=MAX_TOKENS, temperature=TEMPERATURE)


def transcript(scene: Scene) -> str:
    """Write out who said what, so that no "I" is left without its owner."""
    for limit in MESSAGE_TOKENS:
        lines = [_spoken(scene, message, limit) for message in scene.messages]
        text = "\n".join(line for line in lines if line)
        if tokens.estimate(text) <= CONVERSATION_TOKENS:
            break
    return prompts.harmless(text, "conversation")


def _spoken(scene: Scene, message: Message, limit_tokens: int) -> str:
    text = " ".join(message.text.split()).replace('"', "'")
    if message.role == "tool" or not text:
        used = ", ".join(call.name for call in message.tool_calls)
        return f"I used {used}." if used else ""
    who = "I answered" if message.role == "assistant" else scene.speaker(message)
    verb = "" if message.role == "assistant" else " said"
    return f'{who}{verb}: "{tokens.cut(text, limit_tokens)}"'


def _keeper(scene: Scene) -> Callable[[str], bool]:
    """Return what tells whether a sentence keeps to what was said, and to who said it."""
    sources = [message.text for message in scene.spoken_messages]
    known_names = (scene.name, scene.day, *scene.names.values())
    their_texts = [message.text for message in scene.spoken_messages if message.role == "user"]

    def keeps(sentence: str) -> bool:
        if claims.unsupported(sentence, sources, known_names):
            return False
        return speakers.borrowed(sentence, their_texts) is None

    return keeps


def _rests_on(scene: Scene) -> Callable[[str], bool]:
    """Return what tells whether a sentence says what one message says.

    What somebody told must stand in a message of theirs, outside of its questions: not in what the
    entity answered, nor in what they only asked.
    """
    names = (scene.name, *scene.names.values())
    their_messages = [message for message in scene.spoken_messages if message.role == "user"]
    answers = [message.text for message in scene.spoken_messages if message.role != "user"]
    asked = [message.text for message in their_messages if "?" in message.text]

    def sources(sentence: str) -> list[str]:
        if _ASKED_ME.search(sentence):
            return asked
        first = sentence.casefold()
        who = [
            message
            for message in their_messages
            if first.startswith(scene.speaker(message).casefold())
        ]
        statements = [_without_questions(message.text) for message in who or their_messages]
        return statements if who else [*statements, *answers]

    def rests(sentence: str) -> bool:
        if sentence.endswith("?"):
            return False  # a question of the conversation, without who asked it
        if _given_away(scene, sentence):
            return False
        says = support.own_words(sentence, names)  # "Sam asked how I was" is nothing to remember
        return bool(says) and support.is_borne_out(sentence, sources(sentence), names)

    return rests


def _given_away(scene: Scene, sentence: str) -> bool:
    """Whether what somebody told of their own has become another's."""
    their_messages = [message for message in scene.spoken_messages if message.role == "user"]
    first = sentence.casefold()
    teller = next((n for n in scene.names.values() if first.startswith(n.casefold())), None)
    if teller is None:
        return False
    their_texts = [message.text for message in their_messages if scene.speaker(message) == teller]
    other_names = [name for name in scene.names.values() if name != teller]
    return speakers.given_away(sentence, their_texts, scene.name, other_names) is not None


def _without_questions(text: str) -> str:
    return " ".join(
        sentence for sentence in claims.sentences(text) if not sentence.endswith(("?", "？"))
    )


def _adds_nothing(scene: Scene) -> Callable[[str], bool]:
    """Return what tells whether a sentence says only how something said was felt."""
    name_stems = {word for name in (scene.name, *scene.names.values()) for word in _stems(name)}
    spoken_stems = {word for message in scene.spoken_messages for word in _stems(message.text)}

    def adds_nothing(sentence: str) -> bool:
        own = _stems(sentence) - name_stems - _FELT_STEMS
        is_own = speakers.OF_ONESELF.intersection(stop_words.words(sentence))
        return bool(is_own) and own <= spoken_stems

    return adds_nothing


def _stems(text: str) -> set[str]:
    words = (word for word in stop_words.telling_words(text) if word not in speakers.IN_TALK)
    return {word[:SHARED_LETTERS] for word in words}


_FELT_STEMS = frozenset(_stems(speakers.FELT_WORDS))


def _sift(
    text: str, keeps: Callable[[str], bool], rests: Callable[[str], bool]
) -> tuple[list[str], tuple[str, ...]]:
    """Part the sentences of a text into those that are kept and those that are not."""
    kept_sentences: list[str] = []
    dropped = []
    for raw in claims.sentences(text):
        sentence = re.sub(r"^[#>*\-\s]+", "", raw)
        if not sentence or sentence in kept_sentences:
            continue
        if keeps(sentence) and rests(sentence):
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
