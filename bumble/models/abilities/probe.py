"""The probe: asks a model the cases of a language, one after the other, and counts what is right.

Temperature 0 and one seed, always in the same order: a second run gets the same answers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from bumble.errors import AnswerInvalidError
from bumble.llm.protocol import Completion, Model, Request
from bumble.models.abilities import probe_cases
from bumble.models.abilities.grading import KINDS
from bumble.models.abilities.probe_cases import Case
from bumble.models.abilities.results import LanguageResult

VERSION = 1  # of the cases, prompts and checks: what another measured is measured again
REASONING_TOKENS = 2048  # more room for a model that reasons though it is asked not to

Note = Callable[[LanguageResult], None]


def start(day: str, before: LanguageResult | None = None) -> LanguageResult:
    """Return the result to go on with: one of this version that was cut short, else a new one."""
    if before is not None and before.version == VERSION and not before.is_whole:
        return replace(before, at=day)
    return LanguageResult(VERSION, day, dict.fromkeys(KINDS, ""))


def left(language: str, result: LanguageResult) -> list[Case]:
    """Return the cases that have no answer yet."""
    cases: list[Case] = []
    for kind in KINDS:
        of_kind = [case for case in probe_cases.load(language) if case.kind == kind]
        cases += of_kind[len(result.answers[kind]) :]
    return cases


def run(
    model: Model,
    cases: Sequence[Case],
    result: LanguageResult,
    note: Note,
) -> LanguageResult:
    """Ask what is left of a language.

    Args:
        model: Who answers.
        cases: Those without an answer.
        result: What there is of answers.
        note: Hears of each case as it is answered, with the result up to there; it may raise.

    Raises:
        UserError: If the model can't be asked; answers that came were noted.
    """
    patient = _Patient(model)
    for case in cases:
        seconds, cpu_seconds = time.perf_counter(), time.process_time()
        is_right = case.is_right(patient.complete(case.request).text)
        result = replace(
            result,
            answers={**result.answers, case.kind: result.answers[case.kind] + str(int(is_right))},
            seconds=round(result.seconds + time.perf_counter() - seconds, 2),
            cpu_seconds=round(result.cpu_seconds + time.process_time() - cpu_seconds, 2),
        )
        note(result)
    return result


class _Patient:
    """Asks a model, with more room from then on if it spent all it had on reasoning."""

    def __init__(self, model: Model) -> None:
        self._model, self._more = model, 0

    def complete(self, request: Request) -> Completion:
        """Return the answer; one that can't be read is no text."""
        try:
            asked = replace(request, max_tokens=request.max_tokens + self._more)
            completion = self._model.complete(asked)
            if completion.finish_reason == "length" and not completion.text and not self._more:
                self._more = REASONING_TOKENS
                return self.complete(request)
        except AnswerInvalidError as error:
            return Completion(error.answer, "stop", self._model.name)
        return completion
