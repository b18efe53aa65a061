"""Asking what a stretch of talk comes to: one request, its sentences checked, what fails sent back.

A sentence that fails goes back once, with the reason, together with the others that failed; what
fails again is dropped, and marked in `state.yaml`, so that it is not sent back when a later pass
writes it once more.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bumble.fallback.notices import NOTHING, Noticed
from bumble.fallback.sayings import Wording
from bumble.guard import verifier
from bumble.guard.verifier import CitedClaim, SourceVerdict
from bumble.jobs import answer, scene
from bumble.jobs.answer import Sentence, StretchAnswer
from bumble.jobs.scene import Scene
from bumble.llm import structured
from bumble.llm.protocol import PromptMessage, Request
from bumble.records import base, episodes, state
from bumble.records.mapping_files import MappingFile
from bumble.runtime import job_request
from bumble.runtime.job import NO_ANSWER
from bumble.runtime.runtime import Runtime
from bumble.text import stop_words, words

PURPOSE, MEND = "stretch", "mend"
STORY_TOKENS = 2400  # of what an answer says besides portraits, facts and beliefs
MEND_TOKENS = 1500
REFUSED = "refused"  # in state.yaml: by mark, when the last was said that a sentence could rest on
MOST_REFUSED = 400  # marks that are kept; the oldest go


class Dropped(Struct, frozen=True):
    """A sentence that is not kept, and why."""

    text: str
    why: str


class Draft(Struct, frozen=True):
    """What a model makes of a stretch, each sentence of it checked."""

    answer: StretchAnswer
    dropped: tuple[Dropped, ...] = ()
    mended: int = 0  # sentences that stand the second time
    wording: Wording | None = None  # of quotes; None: a model wrote it
    noticed: Noticed = NOTHING  # what was read of its messages


class _Sifted(Struct, frozen=True):
    """An answer with the sentences that stand, and the findings on those that don't."""

    answer: StretchAnswer
    failed: Mapping[str, tuple[Sentence, SourceVerdict]]  # by place


def draw(runtime: Runtime, shown: Scene) -> Draft:
    """Ask a model, and keep what stands on its sources.

    Raises:
        AnswerInvalidError: If nothing of its answer can be read.
        ModelUnreachableError: If none answers; likewise what else stands in its way.
    """
    people, facts = runtime.config.memory.relational, runtime.config.memory.distillation
    request = job_request.request(
        runtime,
        PURPOSE,
        scene.slots(runtime, shown),
        max_tokens=STORY_TOKENS + people.reflection_max_tokens + facts.max_extract_tokens,
        temperature=people.reflection_temperature if people.enabled else facts.temperature,
    )
    data = structured.answer(runtime.model, request, _schema(runtime, shown))
    whole = answer.read(data)
    refused = state.read(runtime.entity.state).get(REFUSED, default={})
    first = _sifted(whole, shown, refused)
    if not first.failed:
        return Draft(first.answer)
    old, new = _parted(first, refused)
    again = _asked_again(runtime, request, data, new, shown) if new else {}
    become = {sentence.place: sentence for sentence in again.values()}
    merged = answer.sifted(whole, lambda each: _merged(each, first.failed, become))
    second = _sifted(merged, shown, refused)
    lost = {place: pair for place, pair in new.items() if place not in again}
    lost |= {**second.failed, **old}
    dropped = tuple(Dropped(sentence.text, finding.why) for sentence, finding in lost.values())
    return Draft(second.answer, dropped, len(become) - len(second.failed))


def _schema(runtime: Runtime, shown: Scene) -> dict[str, Any]:
    labels = (list(shown.labels), list(shown.known), list(shown.beliefs))
    return answer.schema(*labels, episodes.REFLECTION_MAX_CHARS)


def _sifted(whole: StretchAnswer, shown: Scene, refused: Mapping[str, Any]) -> _Sifted:
    """Part the sentences of an answer into those that stand and those that don't."""
    failed: dict[str, tuple[Sentence, SourceVerdict]] = {}

    def become(sentence: Sentence) -> Sentence | None:
        finding = _found(sentence, shown)
        if _is_barred(sentence, shown, refused):
            finding = SourceVerdict("mend", "it was refused before")
        if finding.verdict == "mend":
            failed[sentence.place] = (sentence, finding)
            return None
        return replace(sentence, inference=sentence.claims and finding.verdict == "inference")

    return _Sifted(answer.sifted(whole, become), failed)


def _is_barred(sentence: Sentence, shown: Scene, refused: Mapping[str, Any]) -> bool:
    """Whether a sentence was refused, and nothing it rests on was said since."""
    name = mark(sentence.text)
    if name not in refused:
        return False
    numbers = shown.numbers(sentence.cites) or shown.window.numbers
    newest = max(shown.messages[n - 1].at for n in numbers)
    return newest <= base.field(refused, name, datetime)


def _found(sentence: Sentence, shown: Scene) -> SourceVerdict:
    if not sentence.claims:
        return verifier.check_prose(sentence.text, shown.sources)
    claim = CitedClaim(sentence.text, sentence.cites, sentence.rests_on, sentence.inference)
    return verifier.check(claim, shown.sources)


def _merged(
    sentence: Sentence,
    failed: Mapping[str, tuple[Sentence, SourceVerdict]],
    become: Mapping[str, Sentence],
) -> Sentence | None:
    return become.get(sentence.place) if sentence.place in failed else sentence


def _asked_again(
    runtime: Runtime,
    request: Request,
    data: Any,
    failed: Mapping[str, tuple[Sentence, SourceVerdict]],
    shown: Scene,
) -> dict[str, Sentence]:
    """Send sentences back with the reasons; what comes again, by place."""
    reasons = "\n".join(
        f"{place} ({'claim' if sentence.claims else 'reading'}): {sentence.text}\n  {finding.why}"
        for place, (sentence, finding) in failed.items()
    )
    written = json.dumps(data, ensure_ascii=False)
    back = job_request.messages(MEND, {"reasons": reasons.replace("$", "$$")})
    turns = (*request.messages, PromptMessage("assistant", written), *back)
    asked = replace(request, messages=turns, purpose=MEND, max_tokens=MEND_TOKENS)
    schema = answer.mended_schema(list(failed), list(shown.labels))
    try:
        raw_list = structured.answer(runtime.model, asked, schema)["mended"]
    except NO_ANSWER:
        return {}
    return {
        raw["place"]: answer.mended(failed[raw["place"]][0], raw)
        for raw in raw_list
        if raw["text"].strip()
    }


# what was refused


def mark(text: str) -> str:
    """Identify a sentence, however its words are spaced and written."""
    bare = " ".join(stop_words.words(words.folded(text)))
    return hashlib.sha256(bare.encode("utf-8", "replace")).hexdigest()[:16]


def _parted(
    sifted: _Sifted, refused: Mapping[str, Any]
) -> tuple[dict[str, tuple[Sentence, SourceVerdict]], dict[str, tuple[Sentence, SourceVerdict]]]:
    """Part what failed into what was refused before, which isn't sent back, and the rest."""
    old = {place: pair for place, pair in sifted.failed.items() if mark(pair[0].text) in refused}
    return old, {place: pair for place, pair in sifted.failed.items() if place not in old}


def refused_values(
    file: MappingFile, dropped: Sequence[Dropped], at: datetime
) -> tuple[dict[str, Any], list[Sequence[str]]]:
    """Return the marks to add to `state.yaml`, and the keys of those that go."""
    if not dropped:
        return {}, []
    new = {mark(each.text): base.stamp(at) for each in dropped}
    there = file.get(REFUSED, default={})
    oldest = sorted((name for name in there if name not in new), key=lambda name: str(there[name]))
    over = max(0, len(oldest) + len(new) - MOST_REFUSED)
    return {REFUSED: new}, [(REFUSED, name) for name in oldest[:over]]
