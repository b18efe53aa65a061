"""Answers that are held back until they were checked: drawn, by tools, or by form.

For a model that may choose but not write. What is drawn is checked without a model; the first
draft that nothing speaks against is said, and if there is none, a form.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import nullcontext

from msgspec.structs import replace

from bumble.agent import acts, reply_by_form, tools
from bumble.agent.acts import Act
from bumble.agent.loop import Breakable, LoopOutcome, LoopStep
from bumble.agent.reply_by_form import FormReply, FormScene
from bumble.agent.turn_record import Turn
from bumble.choosing import examples, introduction, notice, rules
from bumble.choosing.examples import Worth
from bumble.choosing.notice import Decision
from bumble.choosing.rules import Verdict
from bumble.context import remembered, statements
from bumble.context.statements import Question
from bumble.forms import forms
from bumble.grounding import replies
from bumble.grounding.replies import Situation
from bumble.llm import actions
from bumble.llm.protocol import Completion
from bumble.records import session_files
from bumble.runtime import rules as own_rules
from bumble.runtime.runtime import Runtime
from bumble.text import stop_words, words

TO_KEEP = "whether something was kept is said by form"
DRAWS = 3  # drafts of one reply
EARLIER_TALKS = 60  # conversations whose replies are not said again
MOST_SENTENCES = 3
STORY_CHARS = 160  # of a sentence about the entity that is said whole
ASKS_MEMORY: tuple[Act, ...] = ("recall", "question", "prying")
MAY_PRY: tuple[Act, ...] = ("recall", "question", "opinion", "wellbeing", "telling")
ASKS = (*ASKS_MEMORY, *acts.OF_ITSELF, "opinion", "clock", "wellbeing")
TELLS: tuple[Act, ...] = ("telling", "plan", "good", "bad", "heavy", "correction")
MAY_BE_CONFIDED: tuple[Act, ...] = ("telling", "plan", "good", "bad", "hypothetical", "request")
Sign = Callable[[], None]  # shows the person that something is going on
_OWN_NAME = r"\A\s*{name}\s*:\s*"
_ENDS = (".", "!", "?", "…", "”", "“", '"', ")", "»")


def answer(
    runtime: Runtime, turn: Turn, *, sign: Sign = lambda: None, breakable: Breakable = nullcontext
) -> LoopOutcome:
    """Answer by drafts or by form; nothing is shown yet.

    Args:
        runtime: Whose turn.
        turn: As it was prepared.
        sign: Called before the model is asked.
        breakable: Encloses what the person may break off.
    """
    act = act_of(runtime, turn)
    here = scene(runtime, turn, act)
    outcome = LoopOutcome()
    if turn.manner == "draw" and _is_drawn(act, here):
        sign()
        try:
            with breakable():
                if draft := _drawn(runtime, turn, act, outcome):
                    outcome.steps.append(LoopStep(draft, (), ()))
                    return outcome
        except KeyboardInterrupt:
            outcome.stopped = "interrupted"
            return outcome
    _say(turn, outcome, reply_by_form.compose(act, here, runtime.rng))
    return outcome


def checked(runtime: Runtime, turn: Turn, outcome: LoopOutcome) -> LoopOutcome:
    """Return what a turn with tools came to, its last words by form if they can't be said."""
    if outcome.stopped in ("interrupted", "failed") or not outcome.steps:
        return outcome
    act = act_of(runtime, turn)
    steps = outcome.steps
    results = [result for step in steps for result in step.results]
    names = [call.name for step in steps for call in step.calls]
    called, keeping = set(names), tools.KEEPERS & set(names)
    done = {name for name, result in zip(names, results, strict=True) if not result.failed}
    held = situation(runtime, turn, act, tuple(result.text for result in results))
    check = replies.after_work if results else replies.problem
    # of what it should keep a small model says that it did, or answers it as if it were asked
    why = TO_KEEP if keeping else check(outcome.said, held)
    if why is None:
        return outcome
    turn.refused.append(why)
    outcome.steps = [replace(step, said="") for step in outcome.steps]
    here = scene(runtime, turn, act)
    failed = bool(called) and done.isdisjoint(keeping or called)
    if failed or not called <= tools.READ_ONLY | tools.SEARCHES:
        reply = reply_by_form.finished(here, runtime.rng, failed=failed)
    else:
        reply = reply_by_form.compose(act, here, runtime.rng)
    _say(turn, outcome, reply)
    return outcome


def act_of(runtime: Runtime, turn: Turn) -> Act:
    """Return what the message of a turn is: by its words, and by messages that it is like."""
    text, language = turn.message.text, turn.language
    worth = examples.worth(runtime, text, language, learns=False)
    act = acts.of(text, language)
    if worth is None:
        return act
    verdict = rules.judge(text, language)
    may_ask = act == "request" or acts.has_word_of_asking(text, language)
    asks = worth.asks(verdict, questions=may_ask and act != "correction")
    decision = notice.decided(verdict, notice.of_worth(worth, verdict))
    tells = decision.keep and not (verdict.marked or acts.asking(text, language))
    act = acts.of(text, language, asks=False if tells else asks)
    if act == "request" and verdict.keep and introduction.name_in(text):
        return "plan"  # `my name is Ruth, I taught for 34 years, please excuse my typing`
    if verdict.laughs and act in ASKS_MEMORY and worth.is_joke(verdict):
        is_meant = worth.asked > worth.joke or acts.asks_again(text, language)
        if verdict.why in acts.JOKES or not is_meant:
            return "joke"  # what somebody asked in it
    if decision.confided and decision.keep:
        return "confided"  # though it begins with `can I tell you something`
    if worth.pries and act in MAY_PRY and not (tells or acts.asks_number(text, language)):
        return "prying"
    if worth.is_confided and act in MAY_BE_CONFIDED:
        return "confided"
    return _as_kept(act, worth, decision, verdict)


def _as_kept(act: Act, worth: Worth, decision: Decision, verdict: Verdict) -> Act:
    """Return the act of a message by what is held of it: nothing is noted that is not kept."""
    if decision.keep:
        is_noted = act == "hypothetical" or (act == "telling" and verdict.figured)
        return "plan" if is_noted else act
    if act not in TELLS:
        return act
    if decision.why == notice.JOKE and verdict.laughs:
        return "telling" if act == "heavy" else "joke"
    if worth.is_surely_imagined:
        return "hypothetical"
    is_jest = act == "correction" and decision.why == notice.JOKE
    return "telling" if act == "plan" or is_jest else act


def _say(turn: Turn, outcome: LoopOutcome, reply: FormReply) -> None:
    outcome.steps.append(LoopStep(reply.text, (), ()))
    outcome.stopped = "done"
    turn.worded = reply.act
    if reply.act not in reply_by_form.SPEAKS:
        turn.slip = "it quotes or refuses"


def _is_drawn(act: Act, here: FormScene) -> bool:
    """Whether the model is asked first: in some acts forms are the better choice."""
    if here.wordings is None or here.quotes or here.nearest:
        return False
    if act == "question" and reply_by_form.names_somebody(here):
        return False  # it would be made up
    return act in here.wordings.talk.draws


def _drawn(runtime: Runtime, turn: Turn, act: Act, outcome: LoopOutcome) -> str:
    """Return the first draft that nothing speaks against; empty if there is none."""
    held = situation(runtime, turn, act)
    for _ in range(DRAWS):
        request = replace(turn.request, seed=runtime.rng.randrange(2**31))
        completion = runtime.model.complete(request)
        outcome.completions.append(completion)
        draft = tidied(completion, runtime.identity.name)
        why = replies.problem(draft, held)
        if why is None:
            return draft
        turn.refused.append(why)
    return ""


def tidied(completion: Completion, name: str) -> str:
    """Return a draft without the entity's name before it, in whole sentences, not too many."""
    text = actions.said_in(completion.text).strip() or completion.text.strip()
    text = re.sub(_OWN_NAME.format(name=re.escape(name)), "", text)
    parts = words.sentences(words.one_line(text))
    if completion.finish_reason == "length" and parts and not parts[-1].endswith(_ENDS):
        parts = parts[:-1]
    return " ".join(parts[:MOST_SENTENCES])


def scene(runtime: Runtime, turn: Turn, act: Act) -> FormScene:
    """Gather what a reply by form is made from."""
    code, root = turn.language, runtime.entity.root
    wordings = forms.load(code, root, runtime.tell) if forms.has(code, root) else None
    question = Question(
        acts.asked(turn.message.text, code),
        code,
        whole=turn.message.text,
        number=acts.asks_number(turn.message.text, code),
        of_memory=act in ASKS_MEMORY,
        asks=lambda text: acts.of(text, code) in ASKS,
        counts=lambda text: acts.tells_number(text, code),
    )
    memory = remembered.Answer()
    if act in ASKS_MEMORY or acts.asks_advice(turn.message.text, code):
        memory = remembered.answer(runtime, turn.session, question)
    owner_unnamed = turn.person.name.casefold() == "you"
    return FormScene(
        message=turn.message.text,
        language=code,
        wordings=wordings,
        person=turn.person.id,
        who="" if owner_unnamed else turn.person.name,
        name=runtime.identity.name,
        story=_own_words(runtime, code),
        at=runtime.now(),
        quotes=memory.quotes,
        nearest=memory.nearest,
        earlier=earlier_replies(runtime, turn),
        people=statements.names(runtime),
    )


def _own_words(runtime: Runtime, language: str) -> tuple[str, ...]:
    """Return what the owner let the entity say of itself, where that is in a language."""
    who = own_rules.own_identity(runtime.entity, runtime.identity).identity
    text = words.one_line(who.monologue)
    speaks = not (stop_words.SAYING_I | stop_words.SAYING_MY).isdisjoint(stop_words.words(text))
    if not speaks or words.language(text, default="") != language:
        return ()
    parts = [part for part in words.sentences(text) if runtime.identity.name not in part]
    return tuple(part for part in parts if len(part) <= STORY_CHARS)


def earlier_replies(runtime: Runtime, turn: Turn) -> list[str]:
    """Return what the entity said in this conversation and those before, oldest first.

    To whomever it was: of this only the wordings count that are not taken again.
    """
    folder, own = runtime.entity.sessions, turn.session.id
    infos = (info for info in session_files.infos(folder) if info.id != own)
    others = session_files.by_recency(infos, runtime.now())
    talks = [session_files.find(folder, info.id) for info in others[-EARLIER_TALKS:]]
    return [
        message.text
        for talk in (*talks, turn.session)
        for message in talk.messages
        if message.role == "assistant" and message.text
    ]


def situation(runtime: Runtime, turn: Turn, act: Act, found: tuple[str, ...] = ()) -> Situation:
    """Gather what a reply is held against.

    Args:
        runtime: Whose turn.
        turn: With its request.
        act: What the message is.
        found: What tools gave.
    """
    users = [one for one in turn.session.messages if one.role == "user"]
    examples = [one.content for one in turn.stable.examples if one.role == "assistant"]
    who = runtime.identity
    return Situation(
        message=turn.message.text,
        language=turn.language,
        entity=who.name,
        person=turn.person.name,
        statements=tuple(one.text for one in users),
        answers=(*examples, *earlier_replies(runtime, turn)),
        sources=(turn.request.messages[-1].content, turn.stable.text, *found),
        is_question=act in (*ASKS, "request"),
        # in German names don't show, so a question may be about somebody
        is_general=act == "question" and turn.language != "de",
        extra=(who.owner.name,) if who.owner.name else (),
    )
