"""The completion gate: whether a turn may end.

Looks at all the person was shown. What is plain is decided by rules that need no language; what is
not, by a judge: the model itself, asked for one word and a reason. What was shown is never taken
back, so the gate can only ask for more, and only so often.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bumble import prompts
from bumble.entity.config import GateConfig
from bumble.errors import UserError
from bumble.llm import structured
from bumble.llm.protocol import Message, Model, Request
from bumble.text.words import one_line

DONE, CONTINUE = "DONE", "CONTINUE"
CHATTER_CHARS = 120  # what announces work and does none is short, and trails off
TRAILS_OFF = ("…", "...", ":", "：", "。。。")
SCHEMA = {
    "type": "object",
    "properties": {
        "verdict": {"enum": [DONE, CONTINUE]},
        "missing": {"type": "string", "maxLength": 120},
    },
    "required": ["verdict", "missing"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Work:
    """One tool that did work in the turn."""

    name: str
    preview: str  # the beginning of its result
    failed: bool


@dataclass(frozen=True)
class Gate:
    """Decides about one turn."""

    model: Model
    config: GateConfig
    message: str  # what the person said
    judges: bool  # whether the model is asked where the rules can't tell

    def missing(self, said: str, work: Sequence[Work]) -> str:
        """Say what is missing before the turn may end; empty: nothing is.

        Args:
            said: All the person was shown in this turn.
            work: The tools that did something, oldest first.
        """
        if not self.config.enabled:
            return ""
        if not said.strip():
            return "the person has heard nothing yet"
        if is_chatter(said) and not any(not one.failed for one in work):
            return "this only announces something"
        return self._judged(said, work) if self.judges else ""

    def _judged(self, said: str, work: Sequence[Work]) -> str:
        name = "judge_grounding" if work else "judge_action"
        slots = {
            "message": prompts.harmless(self.message, "message"),
            "said": prompts.harmless(said, "reply"),
        }
        if work:
            lines = (
                f"- {one.name}{' (failed)' if one.failed else ''}: {one.preview}" for one in work
            )
            slots["results"] = prompts.harmless("\n".join(lines), "results")
        request = Request(
            messages=(Message("user", prompts.load(name).fill(**slots)),),
            purpose="judge",
            max_tokens=self.config.judge_max_tokens,
            temperature=0.0,
        )
        try:
            answer = structured.answer(self.model, request, SCHEMA)
        except UserError:
            return ""  # a judge that can't say, or is not there, holds nobody up
        if answer["verdict"] == DONE:
            return ""
        return one_line(answer["missing"]) or "what was asked for is not done"


def is_chatter(said: str) -> bool:
    """Whether a text only announces: it is short and trails off."""
    text = said.strip()
    return len(text) < CHATTER_CHARS and text.endswith(TRAILS_OFF)
