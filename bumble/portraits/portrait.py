"""The text of a portrait: asked of the model, checked against what was said, own words.

A portrait is prose of the entity, a thought a line. Where no model could write one, the person's
own words stand under a heading of their own, until a good reflection takes their place.
Reads and writes no files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import cached_property
from typing import Any

from bumble.entity.config_memory import RelationalConfig
from bumble.errors import AnswerInvalidError
from bumble.grounding import claims, speakers, support
from bumble.index import terms
from bumble.llm import structured
from bumble.records.sessions import Message
from bumble.runtime import job_request
from bumble.runtime.runtime import Runtime
from bumble.text import markdown, stop_words

OWN_WORDS = "In their own words"
MAX_QUOTES = 8  # the newest stay
MAX_LINES, MAX_LINE_CHARS = 12, 200  # of a portrait as it is asked for
CUT_CHARS = 60  # a sentence as long as this has an end; a short one may do without
NEW_QUOTES = 3  # of one pass
QUOTE_CHARS = 200
QUOTE_FROM_CHARS = 12  # "ok" is nothing to quote
_ENDS = tuple(".!?…。！？।\"'”’»)")
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|„[^“”]*[“”]|«[^»]*»")
_WORD = re.compile(r"\w+(?:'\w+)*")
_FIRST = frozenset(
    (
        *("i", "i'm", "i've", "i'd", "i'll", "my", "mine", "me", "myself"),
        *("ich", "mein", "meine", "meinen", "meiner", "mir", "mich", "je", "j'ai", "mon", "ma"),
        *("mes", "moi", "yo", "mi", "mis", "eu", "meu", "minha"),
    )
)
_THIRD = frozenset(
    (
        *("he", "she", "they", "him", "her", "them", "his", "hers", "their", "theirs"),
        *("er", "sie", "ihm", "ihr", "ihn", "il", "elle", "lui", "él", "ella", "ele", "ela"),
    )
)
_MINE = frozenset(("my", "mein", "meine", "mon", "ma", "mi", "meu", "minha"))

EDITS: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "edits": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "op": {"enum": ["insert", "replace"]},
                    "line": {"type": "integer"},
                    "text": {"type": "string", "maxLength": 400},
                },
                "required": ["op", "line", "text"],
                "additionalProperties": False,
            },
            "maxItems": 6,
        }
    },
    "required": ["edits"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Material:
    """The texts and names that a portrait may rest on."""

    entity: str  # what the entity is called
    person: str  # what the person is called
    names: tuple[str, ...]  # all names that need no source
    statements: tuple[str, ...]  # by the person
    answered: tuple[str, ...]  # by the entity; no source: it may have been wrong
    sources: tuple[str, ...]  # beside `statements`: portrait so far, notes, episodes, dates

    @cached_property
    def source_terms(self) -> frozenset[str]:
        """The telling terms of all statements and sources."""
        return frozenset(
            term for text in (*self.statements, *self.sources) for term in terms.terms(text)
        )

    @cached_property
    def name_terms(self) -> frozenset[str]:
        """The terms that are names, which say nothing of a person."""
        called = (self.entity, self.person, *self.names)
        return frozenset(term for name in called for term in terms.terms(name))


@dataclass(frozen=True)
class CheckedText:
    """The sentences of a text that rest on the material, and those left out."""

    text: str
    dropped: tuple[str, ...]  # sentences, each with the reason


def ask(
    life: Runtime,
    purpose: str,
    slots: Mapping[str, str],
    schema: Mapping[str, Any],
    *,
    max_tokens: int,
    temperature: float,
) -> Any:
    """Ask the model once for JSON.

    Raises:
        AnswerInvalidError: If the answer was cut off or does not keep to the schema.
    """
    request = job_request.request(
        life, purpose, slots, max_tokens=max_tokens, temperature=temperature, schema=schema
    )
    completion = life.model.complete(request)
    if completion.finish_reason == "length":
        raise AnswerInvalidError(f"the answer was cut off at {max_tokens} tokens", completion.text)
    try:
        return structured.read(completion.text, schema)
    except ValueError as problem:
        raise AnswerInvalidError(f"no usable answer: {problem}", completion.text) from problem


def prose(person: str) -> dict[str, Any]:
    """Describe a portrait as it is asked for: what is known of a person, and how talking is.

    Each sentence has to begin with who it is about; a small model else takes over the person's "I".
    """
    about = {
        "type": "array",
        "items": structured.beginning_with((person,), MAX_LINE_CHARS),
        "minItems": 1,
        "maxItems": MAX_LINES,
    }
    return {
        "type": "object",
        "properties": {
            "about": about,
            "mine": structured.beginning_with(speakers.SAYS_I, MAX_LINE_CHARS),
        },
        "required": ["about", "mine"],
        "additionalProperties": False,
    }


def lines(answer: Mapping[str, Any]) -> list[str]:
    """Return the lines of an answer, those about the person first."""
    return [*answer["about"], answer["mine"]]


def checked(lines: Iterable[str], material: Material) -> CheckedText:
    """Keep the sentences that rest on the material, line by line; a line twice is kept once."""
    kept_lines: dict[str, str] = {}
    dropped: list[str] = []
    for line in lines:
        good = []
        for sentence in claims.sentences(_plain(line)):
            reason = problem(sentence, material)
            if reason:
                dropped.append(f"{sentence} ({reason})")
            else:
                good.append(sentence)
        text = " ".join(good)
        if text:
            kept_lines.setdefault(text.casefold(), text)
    return CheckedText("\n".join(kept_lines.values()), tuple(dropped))


def _plain(line: str) -> str:
    """Take away what makes a line a heading, a list item or a quote."""
    return re.sub(r"^\s*(?:[#>*+-]+|\d+[.:)])\s+", "", " ".join(line.split()))


def problem(sentence: str, material: Material) -> str:
    """Say why a sentence may not stand in the portrait; empty if it may."""
    sources = (*material.statements, *material.sources)
    if any(sentence in source for source in material.sources):
        return ""  # it stood there before
    says = support.own_words(sentence, (material.entity, *material.names))
    if not sentence.endswith(_ENDS) and (len(sentence) >= CUT_CHARS or not says):
        return "it was cut off"
    made_up = claims.unsupported(sentence, sources, (material.entity, *material.names))
    if made_up:
        return f"nobody said {', '.join(made_up)}"
    if _confuses(sentence, material):
        return f"that is {material.person}'s, not {material.entity}'s"
    words = _words(sentence)
    about = set(terms.terms(sentence)) - material.name_terms
    if about and not about & material.source_terms and words[:1] not in (["i"], ["ich"], ["je"]):
        return "nothing of it was said"
    names = (material.entity, *material.names)
    # an episode tells of many things; what belongs together stands in one sentence of it
    source_sentences = [
        ground for source in material.sources for ground in claims.sentences(source)
    ]
    if words[:1] != ["i"] and not support.is_borne_out(
        sentence, (*material.statements, *source_sentences), names
    ):
        return "most of it was not said, or not together"
    return ""


def _confuses(sentence: str, material: Material) -> bool:
    """Whether the entity says of itself what the person said of themselves."""
    words = _words(_QUOTED.sub(" ", sentence))
    if not _FIRST.intersection(words):
        return False
    own = [_words(text) for text in material.answered]
    for text in material.statements:
        run = _run(words, _words(text))
        if run and not any(_run(run, other) == run for other in own):
            return True
    named = material.name_terms.intersection(terms.terms(sentence))
    if named or _THIRD.intersection(words):
        return False
    about = set(terms.terms(sentence))
    return _resembles(about, material.statements) and not _resembles(about, material.answered)


def _run(words: Sequence[str], their_words: Sequence[str]) -> list[str]:
    """Return the longest stretch from "I" or "my" on that both have and that says something."""
    best: list[str] = []
    for n, word in enumerate(words):
        if word not in _FIRST:
            continue
        for start in (m for m, other in enumerate(their_words) if other == word):
            length = 0
            pairs = zip(words[n:], their_words[start:], strict=False)
            for own_word, other in pairs:
                if own_word != other:
                    break
                length += 1
            run = list(words[n : n + length])
            least = 2 if word in _MINE else 3
            says = any(token not in stop_words.WORDS and token not in _FIRST for token in run)
            if length >= least and says and length > len(best):
                best = run
    return best


def _resembles(about: set[str], texts: Iterable[str]) -> bool:
    """Whether somebody said something of themselves that is about the same."""
    for text in texts:
        for sentence in claims.sentences(text):
            if _FIRST.intersection(_words(sentence)):
                shared = about.intersection(terms.terms(sentence))
                if len(shared) >= 2 and len(shared) >= len(about) / 2:
                    return True
    return False


def _words(text: str) -> list[str]:
    return _WORD.findall(text.replace("’", "'").casefold())


def refusal(
    old: str, new: str, names: Sequence[str], config: RelationalConfig, *, allow_shrink: bool
) -> str:
    """Say why a new portrait may not take the place of the old one; empty if it may."""
    if len(new) < config.min_document_chars and len(new) <= len(old or new):
        return f"too little was usable: {len(new)} characters"
    lost = loss(old, new, names)
    if lost > config.max_loss_ratio and not allow_shrink:
        return f"it would lose {lost:.0%} of the portrait; --allow-shrink lets it"
    return ""


def loss(old: str, new: str, names: Sequence[str] = ()) -> float:
    """Tell how much of a portrait a new one loses, in [0, 1]: of its length, or of its facts.

    Facts are names, numbers and dates; a single one may go, for that is how one is corrected.
    """
    if not old:
        return 0.0
    shrunk = max(0.0, 1 - len(new) / len(old))
    facts = claims.unsupported(old, (), names)
    lost = claims.unsupported(old, (new,), names)
    return max(shrunk, len(lost) / len(facts) if len(lost) > 1 else 0.0)


def split(text: str) -> tuple[str, tuple[str, ...]]:
    """Split a portrait into its prose and the person's own words below it."""
    preamble, sections = markdown.sections(text)
    prose, quotes = preamble, list[str]()
    for section in sections:
        if section.title == OWN_WORDS:
            own = [line.strip() for line in markdown.lines(section.own)]
            quotes += [line for line in own if line.startswith(">")]
            rest = [line for line in own if line and not line.startswith(">")]
            prose += "".join(f"{line}\n" for line in rest) + section.tail
        else:
            prose += section.source
    return (prose.strip() if quotes else text), tuple(quotes)


def joined(prose: str, quotes: Sequence[str]) -> str:
    """Put a portrait together again, with the newest of the quotes."""
    if not quotes:
        return prose
    words = "\n".join((f"## {OWN_WORDS}", "", *quotes[-MAX_QUOTES:]))
    return f"{prose}\n\n{words}" if prose else words


def quoted(messages: Iterable[Message], zone: tzinfo) -> tuple[str, ...]:
    """Return what a person said that is worth keeping as it was said, oldest first."""
    candidates = [message for message in messages if len(message.text.strip()) >= QUOTE_FROM_CHARS]
    longest = sorted(candidates, key=lambda message: -len(message.text))[:NEW_QUOTES]
    chosen = (
        (message.at.astimezone(zone), message.text) for message in candidates if message in longest
    )
    return tuple(f'> {at:%Y-%m-%d}: "{_cut(text)}"' for at, text in chosen)


def _cut(text: str) -> str:
    line = " ".join(text.split()).replace('"', "'")
    return line if len(line) <= QUOTE_CHARS else line[: QUOTE_CHARS - 1].rstrip() + "…"


def days(moments: Iterable[datetime]) -> Iterator[str]:
    """Yield days in words, so that a date in a portrait has a source."""
    yield from dict.fromkeys(f"{at:%A} {at.day} {at:%B %Y %m}" for at in moments)


def inside(text: str) -> str:
    """Return outside text as it stands in a prompt's tags: it can't close them."""
    return text.replace("</", "< /") or "(nothing)"
