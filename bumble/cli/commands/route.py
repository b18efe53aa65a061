"""`bumble route`: whether a message is a reflex or is thought about, and by which rule."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bumble.chat import route as router
from bumble.cli import output, runtimes, text_input
from bumble.cli.entity_command import reads
from bumble.cli.opening import Opened
from bumble.errors import UsageError
from bumble.fallback import sayings
from bumble.runtime import people, spoken
from bumble.text import languages

app = typer.Typer(rich_markup_mode=None)


@app.command()
@reads
def route(
    opened: Opened,
    text: Annotated[
        list[str],
        typer.Argument(metavar="TEXT", help="What is said; `-` reads it from standard input."),
    ],
) -> None:
    """See whether a message is a reflex or is thought about.

    Says by which rule, and how sure that is; no model is asked.
    """
    message = text_input.standard_input() if text == ["-"] else " ".join(text)
    if not message.strip():
        raise UsageError("There is nothing to route: the message is empty.")
    with runtimes.open_runtime(opened, "route", needs_model=False) as runtime:
        owner = people.owner_id(runtime.entity, runtime.identity)
        before = spoken.by_person(runtime.entity, runtime.config.language, owner, runtime.now())
        language = languages.spoken([message], before) or before
        able = sayings.for_talk(runtime, language) is None
        reader = None if able else runtime.memory.reader
        decision = (
            router.by_reading(message, reader.read(message)) if reader else router.by_form(message)
        )
    data: dict[str, Any] = {
        "profile": decision.profile,
        "rule": decision.rule,
        "confidence": decision.confidence,
    }
    line = f"{decision.profile}, by the rule {decision.rule} (confidence {decision.confidence:.2f})"
    output.result(opened.shell, "route", data, line)
