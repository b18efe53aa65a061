"""The manner of a turn: streamed, drawn and checked, with tools, or by fixed form.

Decided by what the model can be trusted with in the language that is spoken, and by the words of
the message.
"""

from __future__ import annotations

from typing import Literal

from bumble.agent import acts, outside_tools
from bumble.choosing import rules
from bumble.context import short
from bumble.forms import forms
from bumble.records.sessions import Session
from bumble.runtime.runtime import ProfileName, Runtime

# `stream`: an able model answers as it goes. Below that nothing is said before it was checked:
# `draw` asks the short prompt a few times, `tools` the whole one; `form` asks nothing.
Manner = Literal["stream", "draw", "tools", "form"]


def of(runtime: Runtime, session: Session, code: str, asked: ProfileName | None) -> Manner:
    """Decide how the last message of a conversation is answered.

    Args:
        runtime: Whose turn.
        session: With the message.
        code: Of the language that is spoken.
        asked: How much thought the person asked for.
    """
    tier = runtime.abilities.tier("talk", code)
    if tier == "write":
        return "stream"
    if tier == "none":
        return "form"
    text = session.messages[-1].text
    # what somebody asks to keep in mind is kept anyway, by rule
    called_for = rules.beside_request(text, code) or text
    # what they told is recalled by form: `when must I leave, for the diary`
    looks_up = acts.of(text, code) == "recall" and not acts.names_file(text)
    needs_own = acts.needs_tools(called_for, code) and not looks_up
    if asked == "deliberate" or needs_own or outside_tools.called_for(runtime, session):
        return "tools"
    return "draw" if short.has(code) else "form"


def asks_model(runtime: Runtime, code: str) -> bool:
    """Whether a plain turn in a language may ask the model, and its beginning be read ahead.

    Where forms do better in every act, nothing is drawn.
    """
    tier = runtime.abilities.tier("talk", code)
    if tier == "choose":
        return short.has(code) and bool(
            forms.load(code, runtime.entity.root, runtime.tell).talk.draws
        )
    return tier == "write"
