"""A turn below the tier `write`: code answers what it knows, quotes answer memory, a model drafts.

What a message is says the reader. Tasks go to the model as they are. Any other draft is short, cut
sentence by sentence, and said only if nothing speaks against it; else a template of a few words
stands there, which claims nothing. A message is never given back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext

from msgspec.structs import replace

from bumble.chat import code_answers, commit, memory_answer, route
from bumble.chat.code_answers import CodeReply
from bumble.chat.commit import Turn
from bumble.chat.loop import Breakable, LoopOutcome, LoopStep, Say
from bumble.chat.participants import Person
from bumble.entity.config import Identity, PromptConfig
from bumble.entity.folder import Entity
from bumble.fallback import notices, quotes, templates
from bumble.fallback.templates import Templates
from bumble.guard import secrets
from bumble.llm import actions, prompts
from bumble.llm.protocol import Completion, PromptMessage, Request
from bumble.models.embed.reader import MessageReading
from bumble.prompt import compact, prompt_files, system, transcript
from bumble.prompt.system import Block, Stable
from bumble.records.sessions import Session
from bumble.runtime import rules
from bumble.runtime.runtime import Runtime
from bumble.text import tokens, words
from bumble.text.words import one_line

PAGE = "talk_{language}"
MONOLOGUE_TOKENS = 24  # of who the entity is: how it speaks the examples show


def has(language: str) -> bool:
    """Whether there is a short prompt in a language."""
    return prompts.exists(PAGE.format(language=language))


def stable(entity: Entity, identity: Identity, config: PromptConfig, language: str) -> Stable:
    """Make the short prompt from an entity's files as they are."""
    own_files = tuple(prompt_files.read(entity, config))
    who = rules.own_identity(entity, identity).identity
    book = rules.own_book(entity, system.readable_book(entity))
    parts = {
        "monologue": _monologue(one_line(who.monologue), language),
        "always": "\n".join(filter(None, (system.locked(book), system.files(own_files)))),
    }
    page = prompts.load(PAGE.format(language=language))
    (_, text), *turns = page.turns(name=identity.name, **parts)
    (_, bare), *_ = page.turns(name=identity.name, **dict.fromkeys(parts, ""))
    blocks = (Block("how to answer", bare), *(Block(name, part) for name, part in parts.items()))
    return Stable(text, blocks, own_files, examples=_messages(turns))


def _monologue(text: str, language: str) -> str:
    """Return what the entity is, for a prompt in a language; in another one it would mislead."""
    alike = words.language(text, default=language) == language
    return _within(text, MONOLOGUE_TOKENS) if alike else ""


def _within(text: str, limit_tokens: int) -> str:
    """Keep the first sentences of a text, as many as fit; the first is always there."""
    first, *more = words.sentences(text) or [""]
    for sentence in more:
        if tokens.estimate(f"{first} {sentence}") > limit_tokens:
            break
        first = f"{first} {sentence}"
    return first


def _messages(turns: Sequence[tuple[prompts.Role, str]]) -> tuple[PromptMessage, ...]:
    return tuple(PromptMessage(role, text) for role, text in turns)


ANSWER_TOKENS, TASK_TOKENS = 90, 400
DRAWS = 2
MOST_SENTENCES = 3
STOCK = 0.55  # calibrated similarity from which a sentence is an assistant's phrase
# What models say that were trained to assist, and no friend does; compared by meaning.
STOCK_PHRASES = (
    "Is there anything else I can help you with?",
    "Let me know if you need anything else.",
    "How can I assist you today?",
    "As an AI language model, I do not have feelings.",
    "Feel free to ask if you have any questions.",
)
ASKS_MEMORY = ("ask_memory", "pry")
QUESTION = ("?", "？", "؟")
TASKS = ("task", "ask_world", "calculate")
_ENDS = (".", "!", "?", "…", "”", "“", '"', ")", "»", "。", "！", "？")
_OWN_NAME = r"\A\s*{name}\s*:\s*"
Sign = Callable[[], None]  # shows the person that something is going on


def asks_model(runtime: Runtime, code: str) -> bool:
    """Whether a turn in a language may ask the model, so that its prompt may be read ahead."""
    return runtime.abilities.tier("talk", code) != "none"


def prepare(
    runtime: Runtime,
    session: Session,
    who: Person,
    language: str,
    *,
    compacts: bool,
    attached: str = "",
) -> Turn:
    """Make the request that a draft for the last message of a session begins with.

    Args:
        runtime: Whose turn.
        session: With the message.
        who: Who said it.
        language: That is spoken.
        compacts: Whether a conversation that is too long is compacted first.
        attached: Files that go with the message, as data.
    """
    said = session.messages[-1]
    stable = stable_part(runtime, language)
    prompt_files.say_unreadable(runtime, stable.files)
    if compacts:
        session, _ = compact.make_room(runtime, session, stable.tokens)
    seen = transcript.view(session, commit.history(runtime, stable), before=said.id, plain=True)
    template, at = templates.load(language), runtime.now()
    today = template.today.format(day=code_answers.weekday(at, template), time=f"{at:%H:%M}")
    blocks = [Block("now", f"({today})")]
    if attached:
        blocks.append(Block("attached", attached, trust="imported"))
    message = transcript.render(said, plain=True).content
    last = "\n".join((*(block.text for block in blocks), message))
    messages = (*stable.messages, *transcript.with_last(seen.messages, last))
    asked = commit.fitting(runtime, _request(runtime, session, messages, ANSWER_TOKENS))
    decided = route.Route("reflex", "plain", 1.0)
    turn = Turn(session, who, decided, stable, tuple(blocks), seen, asked)
    turn.manner, turn.language = "plain", language
    return turn


def stable_part(runtime: Runtime, language: str) -> Stable:
    """Make the short prompt from the files as they are."""
    known = language if has(language) else templates.FIRST
    return stable(runtime.entity, runtime.identity, runtime.config.prompt, known)


def _request(
    runtime: Runtime, session: Session, messages: Sequence[PromptMessage], max_tokens: int
) -> Request:
    named = runtime.config.llm.temperature
    return Request(
        messages=tuple(messages),
        purpose="chat",
        max_tokens=max_tokens,
        temperature=runtime.temperature if named is None else named,
        seed=runtime.rng.randrange(2**31),
        cache_id=session.id if runtime.writes else None,
        cache_family=str(runtime.entity.root) if runtime.writes else None,
    )


def answer(
    runtime: Runtime,
    turn: Turn,
    say: Say,
    *,
    sign: Sign = lambda: None,
    breakable: Breakable = nullcontext,
) -> LoopOutcome:
    """Answer the message of a turn.

    Args:
        runtime: Whose turn.
        turn: As it was prepared.
        say: Hears the answer, whole: it is looked through for secrets first.
        sign: Called before the model is asked.
        breakable: Encloses what the person may break off.
    """
    template = templates.load(turn.language)
    reading = _reading(runtime, turn)
    outcome = LoopOutcome()
    known = _known(runtime, turn, reading, template)
    if known is not None:
        return _said(turn, outcome, known, say)
    may_ask = asks_model(runtime, turn.language)
    is_task = reading.has(*TASKS) or any(block.name == "attached" for block in turn.blocks)
    try:
        if may_ask:
            sign()
            with breakable():
                ask = _worked if is_task else _drafted
                if ask(runtime, turn, outcome, say):
                    return outcome
    except KeyboardInterrupt:
        outcome.stopped = "interrupted"
        return outcome
    about = "task" if is_task else reading.main
    text = template.cannot if is_task else _worded(turn, reading, template, runtime)
    return _said(turn, outcome, CodeReply(text, about), say)


def _reading(runtime: Runtime, turn: Turn) -> MessageReading:
    reader = runtime.memory.reader
    return notices.read(reader, turn.session, turn.message) if reader else MessageReading()


def _known(
    runtime: Runtime, turn: Turn, reading: MessageReading, template: Templates
) -> CodeReply | None:
    """Return what needs no model; None where it does."""
    if reading.introduced:
        return CodeReply(_hello(reading.introduced, template, runtime), "introduce")
    by_code = code_answers.answer(runtime, turn, reading, template)
    if by_code is not None:
        return by_code
    asks = reading.main in ASKS_MEMORY
    if not asks and not (reading.main == "tell" and turn.message.text.rstrip().endswith(QUESTION)):
        return None
    told = memory_answer.heard(runtime, turn.session)
    found = memory_answer.answer(runtime, turn.session, told)
    if not found:
        return CodeReply(template.unknown, "ask_memory") if asks else None
    rows = [quotes.line(each, template).removeprefix(quotes.MARK) for each in found]
    return CodeReply("\n".join((template.told, *rows)), "ask_memory")


def _said(turn: Turn, outcome: LoopOutcome, reply: CodeReply, say: Say) -> LoopOutcome:
    """Say what no model wrote; it is no example of how to speak."""
    say(reply.text)
    outcome.steps.append(LoopStep(reply.text, (), ()))
    outcome.beside += [reply.plan] if reply.plan else []
    turn.worded, turn.slip = reply.about, "no model wrote it"
    return outcome


def _hello(name: str, template: Templates, runtime: Runtime) -> str:
    hello = template.hello.format(who=f" {name}" if name else "")
    return f"{hello} {template.self.format(name=runtime.identity.name)}"


def _worded(turn: Turn, reading: MessageReading, template: Templates, runtime: Runtime) -> str:
    """Return a few words that claim nothing; in a language without a file an honest line."""
    who = "" if turn.person.name.casefold() == "you" else f" {turn.person.name}"
    if reading.has("greet"):
        return _hello(who.strip(), template, runtime) if not who else template.hello.format(who=who)
    if reading.has("leave"):
        return template.bye.format(who=who)
    if reading.has("ask_entity"):
        return template.self.format(name=runtime.identity.name)
    if reading.heavy:
        return template.sorry
    if reading.glad:
        return template.glad
    if reading.keep > 0 or reading.has("remember", "confide", "correct"):
        return template.noted
    return template.laugh if reading.has("joke") else template.see


# what the model says


def _worked(runtime: Runtime, turn: Turn, outcome: LoopOutcome, say: Say) -> bool:
    """Let the model do a task; its answer is said as it comes."""
    page = prompts.load("task").fill(name=runtime.identity.name)
    asked = turn.request.messages[-1].content
    messages = (PromptMessage("system", page), PromptMessage("user", asked))
    request = commit.fitting(
        runtime, replace(_request(runtime, turn.session, messages, TASK_TOKENS), cache_id=None)
    )
    completion = runtime.model.complete(request)
    outcome.completions.append(completion)
    text = _bare(completion, runtime.identity.name)
    if not text or secrets.find_secret(text):
        return False
    say(text)
    outcome.steps.append(LoopStep(text, (), ()))
    return True


def _drafted(runtime: Runtime, turn: Turn, outcome: LoopOutcome, say: Say) -> bool:
    """Let the model draft a reply; the first that nothing speaks against is said."""
    if not has(turn.language):
        return False
    for _ in range(DRAWS):
        request = replace(turn.request, seed=runtime.rng.randrange(2**31))
        completion = runtime.model.complete(request)
        outcome.completions.append(completion)
        draft = trimmed(_bare(completion, runtime.identity.name), completion, runtime)
        why = problem(draft, turn)
        if why is None:
            say(draft)
            outcome.steps.append(LoopStep(draft, (), ()))
            return True
        turn.refused.append(why)
    return False


def _bare(completion: Completion, name: str) -> str:
    text = actions.said_in(completion.text).strip() or completion.text.strip()
    return re.sub(_OWN_NAME.format(name=re.escape(name)), "", text)


def trimmed(text: str, completion: Completion, runtime: Runtime) -> str:
    """Return the first whole sentences of a draft that are no assistant's phrases."""
    parts = words.sentences(words.one_line(text))
    if completion.finish_reason == "length" and parts and not parts[-1].endswith(_ENDS):
        parts = parts[:-1]
    embedder = runtime.memory.embedder
    if embedder is not None and parts:
        stock = embedder.embed_documents(list(STOCK_PHRASES)) @ embedder.embed_documents(parts).T
        usual = embedder.unrelated_cosine
        near = ((stock - usual) / (1 - usual)).max(axis=0)
        parts = [part for part, likeness in zip(parts, near, strict=True) if likeness < STOCK]
    return " ".join(parts[:MOST_SENTENCES])


def problem(draft: str, turn: Turn) -> str | None:
    """Say why a draft can't be said; None: it can."""
    if not draft:
        return "nothing is left of it"
    if what := secrets.find_secret(draft):
        return f"it holds {what}"
    if quotes.is_in(draft, turn.message.text) or quotes.is_in(turn.message.text, draft):
        return "it gives the message back"
    if words.language(draft, default=turn.language) != turn.language:
        return "another language"
    said_before = {one.text for one in turn.session.messages if one.role == "assistant"}
    return "it was said before" if draft in said_before else None
