"""The check whether a turn may end: rules, then the model as judge; mere announcements.

Looks at all the person was shown. What is plain is decided by rules; what is not, by a judge: the
model itself, asked for one word and a reason. What was shown is never taken back, so the gate can
only ask for more, and only so often.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import starmap

from msgspec import Struct

from bumble.chat import route
from bumble.chat.tools import KEEPS
from bumble.entity.config import GateConfig
from bumble.errors import UserError
from bumble.llm import prompts, structured
from bumble.llm.protocol import Action, Model, PromptMessage, Request
from bumble.runtime.runtime import Result
from bumble.text.schema import choice, closed
from bumble.text.words import one_line

PREVIEWS, PREVIEW_CHARS = 8, 280  # outputs of tools that are seen, and how much of each
JUDGE_TOKENS = 64  # longest answer of the judge
VERDICT_DONE, VERDICT_CONTINUE = "DONE", "CONTINUE"
SILENT = "the person has heard nothing yet"
ANNOUNCES = "this only announces something"
CHATTER_CHARS = 120  # what announces work and does none is short, and trails off
TRAILS_OFF = ("…", "...", ":", "：", "。。。")
SCHEMA = closed(
    {
        "verdict": choice([VERDICT_DONE, VERDICT_CONTINUE]),
        "missing": {"type": "string", "maxLength": 120},
    }
)


class Gate(Struct, frozen=True):
    """Decides about one turn."""

    model: Model
    config: GateConfig
    message: str  # what the person said
    give_up: Callable[[], None] = lambda: None  # called when the model can't judge
    is_heard: bool = True  # whether somebody listens
    may_be_silent: bool = False  # whether the message may be for somebody else

    def missing(
        self, reply: str, done: Sequence[tuple[Action, Result]], *, says_all: bool = False
    ) -> str:
        """Say what is missing before the turn may end; empty: nothing is.

        Args:
            reply: All the person was shown in this turn.
            done: What was called in it, oldest first, and what came of each.
            says_all: Whether the model has said with its words that no work is behind them.
        """
        work = done[-PREVIEWS:]
        if not self.config.enabled:
            return ""
        if not reply.strip():
            return SILENT if self.is_heard else ""
        if is_chatter(reply) and all(result.failed for _, result in work):
            return ANNOUNCES
        doubts = self.config.judge == "auto" and self._doubts(reply, work, says_all=says_all)
        if doubts or self.config.judge == "always":
            return self._judged(reply, work)
        return ""

    def _doubts(self, reply: str, work: Sequence[tuple[Action, Result]], *, says_all: bool) -> bool:
        """Whether work was demanded or has something to tell, and the reply is short; or failed."""
        if any(result.failed for _, result in work):
            return True
        if work:
            tells = not (says_all or all(starmap(is_told, work)))
        else:
            tells = bool(route.TECHNICAL.search(self.message))
        return tells and len(reply.strip()) < CHATTER_CHARS

    def _judged(self, reply: str, work: Sequence[tuple[Action, Result]]) -> str:
        name = "judge_grounding" if work else "judge_action"
        slots = {
            "message": prompts.harmless(self.message, "message"),
            "said": prompts.harmless(reply, "reply"),
        }
        if work:
            lines = (
                f"- {call.name}{' (failed)' if result.failed else ''}: "
                + one_line(result.text)[:PREVIEW_CHARS]
                for call, result in work
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


def is_told(call: Action, result: Result) -> bool:
    """Whether a call has come to nothing that the entity didn't know when it made it."""
    return call.name in KEEPS and not result.failed


def is_chatter(reply: str) -> bool:
    """Whether a text only announces: it is short and trails off."""
    text = reply.strip()
    return len(text) < CHATTER_CHARS and text.endswith(TRAILS_OFF)
