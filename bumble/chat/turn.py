"""One turn as a line: listen → read → recall → compose → generate → check → commit.

1. listen: the message is stored (`participants.listen`): nothing asks a model before that
2. read: who writes the reply is chosen, `Reading` and `Moment` are made
3. recall: what the conversation and memory hold for it
4. compose: the request
5. generate: the model acts and speaks (`loop`), or a form stands for it (`plain_reply`)
6. check: before a turn may end (`completion_gate`), before a draft is said (`plain_reply`)
7. commit: reply and writes of the tools together (`commit`)

Each step takes frozen values (`reply_writer`) and gives one.
Nobody holds the entity's lock while the model thinks.
"""

from __future__ import annotations

from msgspec.structs import replace

from bumble.chat import able_reply, commit, plain_reply, route
from bumble.chat.reply_writer import Heard, Moment, ReplyStream, ReplyWriter, Turn
from bumble.errors import UsageError
from bumble.llm.protocol import Request
from bumble.prompt.system import Stable
from bumble.records.sessions import Session
from bumble.runtime import body_state, spoken
from bumble.runtime.runtime import ProfileName, Runtime
from bumble.text import tokens


def writer_of(runtime: Runtime, language: str) -> ReplyWriter:
    """Return who writes replies in a language; asked once a turn, and carried in it."""
    return able_reply if runtime.abilities().tier("talk", language) == "write" else plain_reply


def refuse_too_long(runtime: Runtime, session: Session, person: str, text: str) -> None:
    """Refuse a message that no prompt has room for, before it is stored.

    Raises:
        UsageError: If it is one, and a model would have to read it whole.
    """
    size, window = int(tokens.estimate(text) * runtime.token_ratio), runtime.window_tokens
    reads_it = writer_of(runtime, spoken.language(runtime, session, person)) is able_reply
    if reads_it and size > window * route.WINDOW_SHARE:
        most, name = runtime.model.context_tokens or window, runtime.model.name
        allows = f"`cognition.max_context_tokens` allows ({name} could read {most:,})"
        reads = allows if most > window else f"{name} reads at once"
        files = "" if runtime.config.tools.files else ", once `tools.files` is true"
        raise UsageError(
            f"The message has about {size:,} tokens; of {window:,} that {reads}, some hold what "
            "comes before.\nNothing was stored. Say it in parts, or put it into a file in "
            f"workspace/, of which it can read a part at a time{files}."
        )


def prepare(
    runtime: Runtime, heard: Heard, *, compacts: bool = True, asked: ProfileName | None = None
) -> Turn:
    """Read, recall and compose: the turn up to the request that answers its message.

    Args:
        runtime: Whose turn.
        heard: The message.
        compacts: Whether a conversation that is too long is compacted first, if need be by the
            model; False only looks.
        asked: How much thought was asked for; None: as the rules say.
    """
    language = spoken.language(runtime, heard.session, heard.who.id)
    writer = writer_of(runtime, language)
    said = heard.message
    before = body_state.read(runtime, said.at)
    stirring = body_state.stir(runtime, before, said.text, heard.session.people, said.at)
    moved = stirring.move(before) if stirring else before
    moment = Moment(body_state.events(runtime, [body_state.HEARD])(moved), stirring)
    reading = writer.read(runtime, heard, language, asked)
    recalled = writer.recall(runtime, heard, moment, reading, compacts=compacts)
    composed = writer.compose(runtime, heard, moment, reading, recalled)
    return Turn(writer, heard, moment, reading, recalled, composed)


def answer(runtime: Runtime, turn: Turn, voice: ReplyStream) -> Turn:
    """Have the reply written and said, and commit what came of it."""
    return commit.commit(runtime, replace(turn, reply=turn.writer.generate(runtime, turn, voice)))


def stable_of(runtime: Runtime, session: Session, person: str) -> Stable:
    """Make what the next turn of a conversation begins with; see `ReplyWriter.stable`."""
    code = spoken.language(runtime, session, person)
    return writer_of(runtime, code).stable(runtime, session.people, code)


def next_request(runtime: Runtime, session: Session, person: str) -> Request | None:
    """Return what the next request of a conversation begins with; None if none will be asked."""
    code = spoken.language(runtime, session, person)
    writer = writer_of(runtime, code)
    if writer is plain_reply:  # few of its turns ask the model
        return None
    stable = writer.stable(runtime, session.people, code)
    return Request(
        messages=(*stable.messages, *route.view(runtime, session, stable).messages),
        purpose="warm",
        max_tokens=1,
        cache_id=session.id,
        cache_family=str(runtime.entity.root),
    )


def stored_request(runtime: Runtime, turn: Turn) -> Request:
    """Return the prompt as the next turn will begin: what is worth evaluating ahead."""
    stable = turn.recalled.stable
    messages = (*stable.messages, *route.view(runtime, turn.session, stable).messages)
    return replace(turn.composed.request, messages=messages, purpose="warm")
