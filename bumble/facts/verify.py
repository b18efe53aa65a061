"""Which extracted items the messages bear out: reasons to drop one, and the judge's call.

An item whose names, numbers and dates its messages do not hold is dropped, with the reason; so is
what no person said, what rests on a tool's or an imported text, and what holds a secret.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from bumble import prompts
from bumble.facts.extract import PURPOSE as DISTILL
from bumble.facts.extract import SELF_INSIGHT, ExtractedItem, Extraction, Options
from bumble.facts.extract_window import Window
from bumble.grounding import claims, grounded, secrets
from bumble.llm import structured
from bumble.llm.protocol import Model, Request
from bumble.runtime import job_request
from bumble.runtime.job import NO_ANSWER
from bumble.text import stop_words, words

PURPOSE = "judge_evidence"
MAX_TOKENS = 60
REACH = 4  # messages back or on that a name may come from: small models count badly, and
# "Nine years old" answers "How old is Rex?"
SHARED_LETTERS = 4  # of two words that may be of one family: bake, baker
SHORT_WORDS = 8  # of an answer that is a yes to the question before it
_YES_WORDS = """
yes yeah yep right exactly correct true ja genau stimmt sim sí si oui sì
"""
_YES = frozenset(_YES_WORDS.split())


class Rejected(Struct, frozen=True):
    """An extracted item that is not kept, with the reason."""

    item: ExtractedItem
    reason: str


def check(
    window: Window,
    items: Iterable[ExtractedItem],
    known_sections: Mapping[str, str],
    *,
    others_alone: bool = False,
) -> tuple[list[ExtractedItem], list[Rejected]]:
    """Keep the items that their messages bear out.

    Args:
        window: The messages.
        items: What the model drew from them.
        known_sections: Texts by title; a correction may repeat what its section says already.
        others_alone: Whether notes on those who speak are left out: their reflections have them.

    Returns:
        The items that stay, with the messages that complete their evidence, and the others.
    """
    kept_items: list[ExtractedItem] = []
    rejected: list[Rejected] = []
    for item in items:
        whole, reason = _checked(window, item, known_sections.get(item.title, ""))
        if not reason and others_alone and item.person in window.speakers:
            reason = f"a reflection has seen to {item.person}"
        if not reason and any(
            (kept_item.kind, kept_item.text) == (item.kind, item.text) for kept_item in kept_items
        ):
            reason = "it is there twice"
        if reason:
            rejected.append(Rejected(item, reason))
        else:
            kept_items.append(whole)
    return kept_items, rejected


def _checked(window: Window, item: ExtractedItem, before: str) -> tuple[ExtractedItem, str]:
    """Return an item with its evidence complete, and why it is not kept: "" if it is."""
    if not item.text or (item.kind == "knowledge" and not item.title):
        return item, "it says nothing"
    if not item.cited or not all(1 <= n <= len(window.messages) for n in item.cited):
        return item, "it names no message, or one that is not there"
    if not all(window.is_evidence(n) for n in item.cited):
        return item, "it rests on a tool's or an imported text"
    own = [n for n in item.cited if window.is_persons(n)]
    if not own and item.category != SELF_INSIGHT:
        return item, "no person said it"
    if item.kind == "relational" and not _is_somebody(window, item.person):
        return item, f'"{item.person}" is nobody who speaks or is named there'
    if what := secrets.find_secret(f"{item.title}\n{item.text}"):
        return item, f"it holds {what}"
    if secrets.HIDDEN in f"{item.title}{item.text}":
        return item, "it holds a place where a secret was"
    if copied := _copied(window, f"{item.title} {item.text}", before):
        return item, f"nobody said {', '.join(copied)}: it is the prompt's example"
    cited, missing = _completed(window, item, before)
    if missing:
        return item, f"nobody said {', '.join(missing)}"
    if own and not _in_their_words(window, item, own):
        return item, "it shares no word with what they said"
    if window.was_read_in and not _is_said(window, item, before):
        return item, "it was only read, and nobody there said so"
    return replace(item, cited=cited), ""


def _is_somebody(window: Window, name: str) -> bool:
    """Whether somebody of a name speaks in a window, or a person names them there."""
    if name in window.speakers:
        return True
    said = [window.messages[n - 1].text for n in window.numbers if window.is_persons(n)]
    named = {word for text in said for word in claims.claims(text) if word.isalpha()}
    parts = name.split()
    return name != window.entity and bool(parts) and all(part in named for part in parts)


def _completed(
    window: Window, item: ExtractedItem, before: str
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Add the messages near those cited that hold a name the item takes from them.

    Those before them first; of those after them only what people said.
    """
    known_names = [window.entity, *window.speakers, before]
    texts = [item.text, item.person]

    def missing(numbers: Sequence[int]) -> tuple[str, ...]:
        sources = [window.source(n) for n in numbers]
        return tuple(
            word for text in texts for word in claims.unsupported(text, sources, known_names)
        )

    cited = list(item.cited)
    lacking = missing(cited)
    first, last = min(item.cited), max(item.cited)
    before_them = range(last - 1, max(0, first - 1 - REACH), -1)
    after_them = range(last + 1, min(len(window.messages), last + REACH) + 1)
    for n in (*before_them, *(n for n in after_them if window.is_persons(n))):
        if not lacking:
            break
        # the entity's question may say of whom, never how many
        may = window.is_persons(n) or (
            window.is_evidence(n) and not any(char.isdigit() for word in lacking for char in word)
        )
        if may and n not in cited and len(remainder := missing([*cited, n])) < len(lacking):
            cited.append(n)
            lacking = remainder
    return tuple(sorted(set(cited))), lacking


def _copied(window: Window, text: str, before: str = "") -> list[str]:
    """Return the words that a text has from the examples of the prompt alone.

    In a long stretch of small talk a small model writes down what the examples say.
    """
    spoken_texts = [*_texts(window, window.numbers), before]
    example_words = prompts.load(DISTILL).example_words
    copied = " ".join(word for word in stop_words.words(text) if word in example_words)
    return _unspoken(copied, spoken_texts) if copied else []


def _in_their_words(window: Window, item: ExtractedItem, own: Sequence[int]) -> bool:
    """Whether an item takes up a word of what people said, or they said yes to it."""
    names = {word for name in (window.entity, *window.speakers) for word in stop_words.words(name)}
    if len(own) == 1 and _says_yes(window, own[0]):
        return True
    telling = [word for word in stop_words.telling_words(item.text) if word not in names]
    return not telling or len(_unspoken(" ".join(telling), _texts(window, own))) < len(telling)


def _unspoken(text: str, spoken_texts: Sequence[str]) -> list[str]:
    """Return the words of a text that no spoken one has, in any form or of the same beginning."""
    language = words.language(text, *spoken_texts)
    spoken_stems = {
        words.stem(word, language) for spoken in spoken_texts for word in stop_words.words(spoken)
    }
    stems = {word: words.stem(word, language) for word in stop_words.words(text)}
    return [
        word
        for word in stop_words.words(text)
        if not any(_alike(stems[word], other) for other in spoken_stems)
    ]


def _alike(stem: str, other: str) -> bool:
    return stem == other or words.akin(stem, other, SHARED_LETTERS)


def _texts(window: Window, numbers: Iterable[int]) -> list[str]:
    return [window.messages[n - 1].text for n in numbers]


def _is_said(window: Window, item: ExtractedItem, before: str) -> bool:
    """Whether an item says no more than people did in a window; what is known may stay in it."""
    said = [window.messages[n - 1].text for n in window.numbers if window.is_persons(n)]
    names = (window.entity, *window.speakers, item.person, before)
    return grounded.was_said(item.text, said, [name for name in names if name])


def _says_yes(window: Window, number: int) -> bool:
    answer = stop_words.words(window.messages[number - 1].text)
    return len(answer) <= SHORT_WORDS and bool(_YES & set(answer))


def judge(
    model: Model, window: Window, items: Sequence[ExtractedItem], options: Options
) -> tuple[list[ExtractedItem], list[Rejected]]:
    """Let a model tell which items the messages say; without an answer all of them stay."""
    if not items:
        return [], []
    statements = "\n".join(f"{n}. {item.text}" for n, item in enumerate(items, 1))
    slots = {
        "messages": prompts.harmless(window.text(options.budget_chars), "messages"),
        "statements": prompts.harmless(statements, "statements"),
    }
    numbers = {"type": "array", "items": {"enum": list(range(1, len(items) + 1))}}
    schema = {"type": "object", "properties": {"said": numbers}, "required": ["said"]}
    request = Request(
        job_request.messages(PURPOSE, slots),
        purpose=PURPOSE,
        cache_id=job_request.cache_id(PURPOSE),
        max_tokens=MAX_TOKENS,
        temperature=0.1,
    )
    try:
        said_numbers = set(structured.answer(model, request, schema)["said"])
    except NO_ANSWER:
        return list(items), []
    return (
        [item for n, item in enumerate(items, 1) if n in said_numbers],
        [
            Rejected(item, "judged not to be said")
            for n, item in enumerate(items, 1)
            if n not in said_numbers
        ],
    )


def journal(window: Window, extraction: Extraction) -> str:
    """Return what of the diary entry the messages bear out."""
    sources = [window.source(n) for n in window.numbers if window.is_evidence(n)]
    entry = grounded.supported(extraction.journal, sources, [window.entity, *window.speakers])
    if secrets.find_secret(entry) or secrets.HIDDEN in entry or _copied(window, entry):
        return ""
    return entry
