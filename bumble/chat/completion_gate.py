"""The check whether a turn may end: rules, then the model as judge; mere announcements.

Looks at all the person was shown. What is plain is decided by rules; what is not, by a judge: the
model itself, asked for one word and a reason. What was shown is never taken back, so the gate can
only ask for more, and only so often.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct

from bumble.chat import route
from bumble.entity.config import GateConfig
from bumble.errors import UserError
from bumble.llm import prompts, structured
from bumble.llm.protocol import Model, PromptMessage, Request
from bumble.text.words import one_line

JUDGE_TOKENS = 64  # longest answer of the judge
VERDICT_DONE, VERDICT_CONTINUE = "DONE", "CONTINUE"
SILENT = "the person has heard nothing yet"
ANNOUNCES = "this only announces something"
CHATTER_CHARS = 120  # what announces work and does none is short, and trails off
TRAILS_OFF = ("…", "...", ":", "：", "。。。")
SCHEMA = {
    "type": "object",
    "properties": {
        "verdict": {"enum": [VERDICT_DONE, VERDICT_CONTINUE]},
        "missing": {"type": "string", "maxLength": 120},
    },
    "required": ["verdict", "missing"],
    "additionalProperties": False,
}


class ToolUse(Struct, frozen=True):
    """One tool that did work in the turn."""

    name: str
    preview: str  # the beginning of its result
    failed: bool
    tells: bool = True  # whether it gave more than that it was done


Judges = Literal["always", "in doubt", "never"]


class Gate(Struct, frozen=True):
    """Decides about one turn."""

    model: Model
    config: GateConfig
    message: str  # what the person said
    judges: Judges  # when the model is asked
    give_up: Callable[[], None] = lambda: None  # called when the model can't judge

    def missing(self, reply: str, work: Sequence[ToolUse]) -> str:
        """Say what is missing before the turn may end; empty: nothing is.

        Args:
            reply: All the person was shown in this turn.
            work: The tools that did something, oldest first.
        """
        if not self.config.enabled:
            return ""
        if not reply.strip():
            return SILENT
        if is_chatter(reply) and not any(not step.failed for step in work):
            return ANNOUNCES
        if self.judges == "always" or (self.judges == "in doubt" and self._doubts(reply, work)):
            return self._judged(reply, work)
        return ""

    def _doubts(self, reply: str, work: Sequence[ToolUse]) -> bool:
        """Whether work was demanded or has something to tell, and the reply is short; or failed."""
        if any(step.failed for step in work):
            return True
        if len(reply.strip()) >= CHATTER_CHARS:
            return False
        return any(step.tells for step in work) if work else route.demands(self.message)

    def _judged(self, reply: str, work: Sequence[ToolUse]) -> str:
        name = "judge_grounding" if work else "judge_action"
        slots = {
            "message": prompts.harmless(self.message, "message"),
            "said": prompts.harmless(reply, "reply"),
        }
        if work:
            lines = (
                f"- {step.name}{' (failed)' if step.failed else ''}: {step.preview}"
                for step in work
            )
            slots["results"] = prompts.harmless("\n".join(lines), "results")
        request = Request(
            messages=(PromptMessage("user", prompts.load(name).fill(**slots)),),
            purpose="judge",
            max_tokens=JUDGE_TOKENS,
            temperature=0.0,
        )
        try:
            answer = structured.answer(self.model, request, SCHEMA)
        except UserError:
            self.give_up()
            return ""  # a judge that can't say, or is not there, is none
        if answer["verdict"] == VERDICT_DONE:
            return ""
        return one_line(answer["missing"]) or "what was asked for is not done"


def is_chatter(reply: str) -> bool:
    """Whether a text only announces: it is short and trails off."""
    text = reply.strip()
    return len(text) < CHATTER_CHARS and text.endswith(TRAILS_OFF)
