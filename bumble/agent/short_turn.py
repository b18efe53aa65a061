"""A turn on the short prompt: what is recalled stands bare, in the language that is spoken."""

from __future__ import annotations

from bumble.agent import reply_by_form, route, turn_budget
from bumble.agent.manner import Manner
from bumble.agent.participants import Person
from bumble.agent.turn_record import Turn
from bumble.context import (
    compact,
    prompt_files,
    recalled,
    remembered,
    short,
    transcript,
    working_memory,
)
from bumble.context.statements import Excerpt
from bumble.context.system import Block, Stable
from bumble.forms import forms
from bumble.forms.forms import Forms
from bumble.llm.protocol import PromptMessage, Request
from bumble.records import provenance
from bumble.records.sessions import Session
from bumble.runtime.runtime import Runtime
from bumble.text import tokens
from bumble.text.words import one_line

ANSWER_TOKENS = 90  # two short sentences, in any language
MEMORY_TOKENS = 60  # of each
FIRST_TURNS, MOST_NEWS, NEWS_TOKENS = 2, 2, 30  # of a talk that see what goes on; lines; of each


def prepare(
    runtime: Runtime,
    session: Session,
    who: Person,
    manner: Manner,
    language: str,
    *,
    compacts: bool,
) -> Turn:
    """Make the request that answers the last message of a session.

    Args:
        runtime: Whose turn.
        session: With the message.
        who: Who said it.
        manner: `draw`, or `form`, which asks nothing.
        language: That is spoken.
        compacts: Whether a conversation that is too long is compacted first.
    """
    said = session.messages[-1]
    stable = stable_part(runtime, language)
    prompt_files.say_unreadable(runtime, stable.files)
    if compacts:
        session, _ = compact.make_room(runtime, session, stable.tokens)
    seen = transcript.view(
        session, turn_budget.history(runtime, stable), before=said.id, plain=True
    )
    wordings = forms.load(language, runtime.entity.root, runtime.tell)
    quotes = remembered.near(runtime, session, language)
    blocks = _blocks(runtime, wordings, quotes, _going_on(runtime, session, quotes, language))
    message = transcript.render(said, plain=True).content
    last = "\n".join((*(block.text for block in blocks), message))
    messages = (*stable.messages, *transcript.with_last(seen.messages, last))
    decided = route.Route("reflex", manner, 1.0)
    asked = turn_budget.fitting(runtime, request(runtime, session, messages))
    return Turn(
        session, who, decided, stable, blocks, seen, asked, manner=manner, language=language
    )


def stable_part(runtime: Runtime, language: str) -> Stable:
    """Make the short prompt from the files as they are."""
    return short.stable(runtime.entity, runtime.identity, runtime.config.prompt, language)


def _blocks(
    runtime: Runtime, wordings: Forms, quotes: list[Excerpt], going_on: list[str]
) -> tuple[Block, ...]:
    """Say what day it is, and what comes to mind."""
    at, talk = runtime.now(), wordings.talk
    today = talk.today.format(day=reply_by_form.weekday(wordings, at), time=f"{at:%H:%M}")
    blocks = [Block("now", f"({today})")]
    lines = [f"- {line}" for line in (*map(_line, quotes), *going_on)]
    if lines:
        blocks.append(Block("memories", "\n".join((talk.remembers, *lines))))
    return tuple(blocks)


def _going_on(
    runtime: Runtime, session: Session, quotes: list[Excerpt], language: str
) -> list[str]:
    """Return in few words what goes on: the projects that are named, and as a talk begins, news.

    Nothing that comes to mind anyway, or was said in this talk.
    """
    lines = [
        f"{project.title}: {next(iter(project.steps), project.why)}"
        for project in recalled.named_projects(runtime.entity, session)
        if not provenance.is_untrusted(project.provenance.trust)
    ]
    if sum(message.role == "user" for message in session.messages) <= FIRST_TURNS:
        said = {message.id for message in session.messages}
        lines += [
            line.text
            for line in working_memory.current(runtime, session.people, language)
            if not said & set(line.origin.sources)
            and not any(quote.text in line.text for quote in quotes)
        ][:MOST_NEWS]
    return [tokens.cut(one_line(line), NEWS_TOKENS) for line in lines]


def _line(quote: Excerpt) -> str:
    when = f"({quote.at:%Y-%m-%d}) " if quote.at else ""
    who = f"{quote.name}: " if quote.name else ""
    newer = f"{one_line(quote.newer)} " if quote.newer else ""
    return f"{newer}{when}{who}{tokens.cut(quote.text, MEMORY_TOKENS)}"


def request(runtime: Runtime, session: Session, messages: tuple[PromptMessage, ...]) -> Request:
    """Make the request of a draft: bare text, no schema."""
    named = runtime.config.llm.temperature
    return Request(
        messages=messages,
        purpose="chat",
        max_tokens=ANSWER_TOKENS,
        temperature=runtime.temperature if named is None else named,
        seed=runtime.rng.randrange(2**31),
        cache_id=session.id if runtime.writes else None,
        cache_family=str(runtime.entity.root) if runtime.writes else None,
    )
