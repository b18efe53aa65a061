"""Replies where no model may write: code answers what it knows, quotes answer memory.

What a message is says the reader. Tasks go to the model with what was told of their matter, sums by
way of the model to code. Who only tells something hears a few words that claim nothing; a small
model's own are wrong there more often than not. Of the entity itself code says what is so. Other
questions the model answers, in a few sentences that are no assistant's and don't give the message
back. Each sentence that asks for something is answered by itself. The model's prompt is
short, in the language that is spoken: reading is what costs a small model its time, and what it is
told in another language it answers in that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import cache, partial
from itertools import pairwise

from msgspec.structs import replace

from bumble.chat import code_answers, memory_answer, route, short_reply
from bumble.chat.code_answers import CodeReply
from bumble.chat.loop import LoopOutcome, LoopStep
from bumble.chat.reply_writer import (
    Composed,
    Heard,
    Moment,
    Reading,
    Recalled,
    ReplyStream,
    Turn,
    WrittenReply,
)
from bumble.chat.speaker import PAUSE, Say
from bumble.chat.speech_filter import TASKS, AnswerFilter, SentenceFilter
from bumble.fallback import due_time, notices, quotes, templates
from bumble.guard import claims, corrections, values
from bumble.llm import prompts
from bumble.llm.protocol import Block, EnoughError, PromptMessage, Request
from bumble.models.embed.reader import MessageReading
from bumble.prompt import compact, preamble, system, transcript
from bumble.records import knowledge
from bumble.records.sessions import Session
from bumble.runtime import people, rules
from bumble.runtime.runtime import ProfileName, Runtime
from bumble.text import stop_words, tokens, words

PAGE, TASK_PAGE = "talk_{language}", "task_{language}"
MONOLOGUE_TOKENS = 24  # of who the entity is: how it speaks the examples show
ANSWER_TOKENS, TASK_TOKENS, SUM_TOKENS, PURPOSE_TOKENS = 90, 400, 60, 60
CHOICE_TOKENS = 4
TASK_TEMPERATURE = 0.3  # of a model that isn't sure of itself at its own
TASK_SEEN = 4  # messages just before a task, which it may be about
ASKS_MEMORY = ("ask_memory", "pry")
# What code or memory answers, each sentence by itself.
ASKED_OF_IT = (*ASKS_MEMORY, "ask_entity", "ask_name", "ask_known", "ask_talk")
ASKED = (
    *ASKED_OF_IT,
    *("remind", "ask_reminders", "cancel", "move", "forget"),
)
TOLD = ("tell", "confide")
LISTED = ("ask_known", "ask_talk")  # of those what code answers with all there is
SURELY = 2.0  # score from which a question surely is what it is read as
PERHAPS_NOT = 0.5  # score of a message up to which its sentences may say that it is no task
LEAST = 1.0  # score of what a sentence says, and of none does, the other way round
NO_QUESTIONS = (
    "task",
    "greet",
    "leave",
    "remind",
    "introduce",
)
PERHAPS, MAY_BE_TASK = -2.0, -3.5  # scores from which a sum is tried, and a task is one perhaps
SURELY_OTHERS = 6.0  # by which memory is asked more surely than one's own name
PERHAPS_ALL = -1.9  # likewise, and all is wanted that was told of whom a message names


def has(language: str) -> bool:
    """Whether there is a short prompt in a language."""
    return prompts.exists(PAGE.format(language=language))


def stable(runtime: Runtime, readers: Sequence[str], language: str = "") -> system.Stable:
    """Make the short prompt from an entity's files as they are: no tools, no story."""
    entity, identity = runtime.entity, runtime.identity
    language = language if has(language) else templates.FIRST
    own_files = tuple(system.read_own_files(entity, runtime.config.prompt))
    who = rules.own_identity(entity, identity).identity
    book = rules.own_book(entity, knowledge.readable(entity.knowledge))
    own = words.one_line(who.monologue)  # in another language it would mislead
    monologue = words.paragraph(tokens.leading(words.sentences(own), MONOLOGUE_TOKENS))
    parts = {
        "monologue": monologue if words.language(own, default=language) == language else "",
        "always": "\n".join(filter(None, (system.locked(book), system.files(own_files)))),
    }
    page = prompts.load(PAGE.format(language=language))
    (_, text), *turns = page.turns(name=identity.name, **parts)
    (_, bare), *_ = page.turns(name=identity.name, **dict.fromkeys(parts, ""))
    blocks = (Block("how to answer", bare), *(Block(name, part) for name, part in parts.items()))
    examples = tuple(PromptMessage(role, text) for role, text in turns)
    return system.Stable(text, blocks, own_files, examples=examples, plain=True)


def read(runtime: Runtime, heard: Heard, language: str, asked: ProfileName | None) -> Reading:
    """Have the reader say what a message is; without one nothing is known of it."""
    reader = runtime.memory.reader
    plain = Reading(language, route.Route("reflex", "plain", 1.0))
    if reader is None:
        return plain
    text = heard.message.text
    plain = replace(plain, said=notices.read(runtime, heard.session, heard.message))
    head, _, behind = text.partition(": ")
    is_task = plain.said.score("task") > SURELY
    may_be = is_task or (plain.said.keep <= 0 and not plain.said.has("task"))
    order = reader.read(f"{head}:") if behind and may_be else MessageReading()
    if order.main == "task" and order.scores["task"] > SURELY:
        # what stands behind it is to be translated, and asks for nothing itself
        return replace(plain, said=order, asked=((f'{head}: "{behind}"', order),))
    parts = words.sentences(text)
    if not parts[1:] or notices.says_when(plain.said):
        return plain
    read = {part: reader.read(part, before) for before, part in pairwise(("", *parts))}
    return _narrowed(plain, read)


def _narrowed(whole: Reading, parts: Mapping[str, MessageReading]) -> Reading:
    """Return the reading of a message of several sentences, of which some may ask for something.

    Read by itself, each shows more surely what it asks for, and where it ends; the whole may speak
    against it, and each against the whole. What is told beside them is kept all the same.

    Args:
        whole: The message as one.
        parts: Its sentences as they are read by themselves.
    """
    said = whole.said

    def asks(one: MessageReading, name: str) -> bool:
        doubt = min(0.0, said.score(name))
        return one.score(name) + (doubt if name in ASKED_OF_IT else 2 * doubt) > 0

    asking = {part: one for part, one in parts.items() if one.main in ASKED and asks(one, one.main)}
    if said.main == "remind":  # "will you remind me?" by itself may ask for a list
        asking = {part: one for part, one in asking.items() if one.main != "ask_reminders"}
    most = {name: max(one.score(name) for one in parts.values()) for name in ASKED}
    none = {name for name, score in most.items() if said.score(name) + score <= 0}
    is_wish = said.main == "remind" and "remind" not in none
    if is_wish and all(one.has("remind") for one in asking.values()):
        return replace(whole, said=replace(said, when=_when(whole, parts)))
    rest = [one for part, one in parts.items() if part not in asking]
    wants = [(one, name) for one in rest for name in TASKS if one.main == name or said.has(name)]
    does = {name for one, name in wants if asks(one, name)}
    if does or not asking:
        unsure = [name for name in TASKS if said.score(name) <= PERHAPS_NOT]
        own = {name: said.score(name) for name in (*none, *unsure)}
        scores = {name: min(-LEAST, score) for name, score in own.items()}
        scores |= {name: max(LEAST, said.score(name)) for name in does}
        return replace(whole, said=replace(said, scores={**said.scores, **scores}))
    part = max(asking, key=lambda each: max(asking[each].scores.values()))
    # who says who they are is greeted, whatever they ask for beside it
    asked = {part: one for part, one in parts.items() if part in asking or one.introduced}
    return replace(whole, said=asking[part], asked=tuple(asked.items()))


def _when(whole: Reading, parts: Mapping[str, MessageReading]) -> str:
    """Return the time of a reminder: that of the sentence which says what it is for.

    An hour that this lacks may stand behind it, but not before: there a clock rings.
    """
    said, texts = whole.said, list(parts)
    place = next((n for n, part in enumerate(texts) if said.what and said.what in part), None)
    own = "" if place is None else parts[texts[place]].when
    if place is None or own in said.when:  # which has all of it, and more
        return said.when
    hours = values.read(said.when, whole.language).numbers
    is_behind = any(said.when in part for part in texts[place + 1 :])
    lacks_hour = not values.read(own, whole.language).numbers
    return f"{own}\n{said.when}" if lacks_hour and hours and is_behind else own


def recall(
    runtime: Runtime, heard: Heard, moment: Moment, reading: Reading, *, compacts: bool
) -> Recalled:
    """Gather the short prompt and the conversation; memory is searched if it is to answer."""
    session = heard.session
    always = stable(runtime, session.people, reading.language)
    system.say_unreadable(runtime, always.files)
    if compacts:
        session, _ = compact.make_room(runtime, session, always.tokens)
    return Recalled(session, always, route.view(runtime, session, always, heard.message.id))


def compose(
    runtime: Runtime, heard: Heard, moment: Moment, reading: Reading, recalled: Recalled
) -> Composed:
    """Make the request that a draft begins with."""
    template, at = templates.load(reading.language), runtime.now()
    today = template.today.format(day=quotes.weekday(at, template, year=True), time=f"{at:%H:%M}")
    blocks = [Block("now", f"({today})")]
    if heard.attached:
        blocks.append(Block(preamble.ATTACHED, heard.attached, trust="imported"))
    message = transcript.render(heard.message, plain=True).content
    last = "\n".join((*(block.text for block in blocks), message))
    messages = (*recalled.stable.messages, *transcript.with_last(recalled.seen.messages, last))
    request = _request(runtime, recalled.session, messages, ANSWER_TOKENS)
    return Composed(route.fitting(runtime, request), tuple(blocks))


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


def generate(runtime: Runtime, turn: Turn, voice: ReplyStream) -> WrittenReply:
    """Answer: by code, by memory, by the model as far as it is trusted, else by a template."""
    template = templates.load(turn.reading.language)
    outcome = LoopOutcome()
    asked = [_only(turn, *one) for one in turn.reading.asked]
    try:
        replies = [_answered(runtime, one, template, outcome, voice) for one in asked or [turn]]
    except KeyboardInterrupt:
        outcome.stopped = "interrupted"
        return WrittenReply(outcome)
    worded = [reply for reply in replies if reply is not None]
    if any(said.introduced for _, said in turn.reading.asked):  # who is new has told nothing yet
        worded = [one for one in worded if one.text != template.unknown] or worded
    return _said(outcome, worded, voice.say) if worded else WrittenReply(outcome)


def _answered(
    runtime: Runtime,
    turn: Turn,
    template: templates.Templates,
    outcome: LoopOutcome,
    voice: ReplyStream,
) -> CodeReply | None:
    """Return what answers a message, or a sentence of one; None: the model has said it."""
    said = turn.reading.said
    may_draft = runtime.abilities().tier("talk", turn.reading.language) != "none"
    if may_draft and said.has("remind"):
        turn = _with_purpose(runtime, turn, outcome)
    if short_reply.introduces(turn, runtime):
        return CodeReply(short_reply.welcome(runtime, turn, template), "introduce")
    if said.main == "ask_entity" and said.has("ask_entity"):  # surely
        return CodeReply(short_reply.of_itself(runtime, turn, template), "ask_entity")
    reply = code_answers.answer(runtime, turn.heard, turn.reading, template)
    if reply is not None and not _may_be_told(runtime, turn, reply.about):
        return reply
    if may_draft:
        voice.sign()
    with voice.breakable() if may_draft else nullcontext():
        reply = _remembered(runtime, turn, template, outcome if may_draft else None, reply)
        if may_draft and reply is None:
            reply = _summed(runtime, turn, template, outcome)
        if may_draft and reply is None and _spoken(runtime, turn, outcome, voice.say):
            return None
    if reply is None and _is_task(turn):
        return CodeReply(template.cannot, "task")
    return reply or CodeReply(short_reply.worded(runtime, turn, template), said.main)


def _summed(
    runtime: Runtime, turn: Turn, template: templates.Templates, outcome: LoopOutcome
) -> CodeReply | None:
    """Return the result of a sum: the model writes the sum, which is worked out here."""
    if not _may_sum(turn):
        return None
    said, text = turn.reading.said, turn.heard.message.text
    written = _asked(runtime, turn, outcome, "sum", text, SUM_TOKENS)
    result = code_answers.worked_out(written, text, turn.reading.language)
    is_sum = result or (said.main in TASKS and said.has("calculate"))  # never guessed
    return CodeReply(result or template.cannot, "calculate") if is_sum else None


def _with_purpose(runtime: Runtime, turn: Turn, outcome: LoopOutcome) -> Turn:
    """Return a turn with what a reminder is for, as the model copies it or the reader marks it.

    Of one sentence all is taken from the one to the other; a time, and what asks to be reminded,
    is nothing to think of.
    """
    said, heard = turn.reading.said, turn.heard
    text = heard.message.text
    if notices.says_when(said) and (wish := notices.wish(runtime, heard.session, heard.message)):
        text = wish.message.text
    copied = _asked(runtime, turn, outcome, "remind", text, PURPOSE_TOKENS).strip(" .\"'“”„")
    reader = runtime.memory.reader
    is_request = reader is not None and reader.read(copied).main == "remind"
    is_none = is_request or bool(due_time.before(copied, turn.reading.language)[0])
    if is_none:
        copied = ""
    # a whole sentence is marked where the reader knows no better
    marked = "" if said.what in words.sentences(text) else said.what
    found = sorted((text.casefold().find(one.casefold()), one) for one in (copied, marked) if one)
    found = [(start, one) for start, one in found if start >= 0]
    what = next((one for one in (copied, marked) if one in dict(found).values()), text)
    if not (what == copied or is_none or what.split()[1:]):  # of a text that it didn't understand
        what = text
    elif found:
        (start, _), (last, end) = found[0], found[-1]
        both = text[start : max(last + len(end), start + len(found[0][1]))]
        what = both if len(words.sentences(both)) == 1 else what
    return replace(turn, reading=replace(turn.reading, said=replace(said, what=what)))


def _only(turn: Turn, text: str, said: MessageReading) -> Turn:
    """Return a turn as if only a part of the last message had been said."""
    *before, last = turn.heard.session.messages
    session = replace(turn.heard.session, messages=(*before, replace(last, text=text)))
    heard, reading = replace(turn.heard, session=session), replace(turn.reading, said=said)
    return replace(turn, heard=heard, reading=reading)


def _is_task(turn: Turn) -> bool:
    """Whether something is to be done; what is told beside that is kept all the same.

    Who puts something right asks for nothing beside it.
    """
    said = turn.reading.said
    asks = said.main in TASKS or (said.has(*TASKS) and not said.has("correct"))
    return asks or bool(turn.heard.attached)


def _goes_on(runtime: Runtime, turn: Turn) -> bool:
    """Whether a message goes on with the task the model just did: it puts that right, or is unsure.

    "A bit shorter" looks like a correction; what one of a fact changes, the text has to say, too.
    """
    seen, said = turn.recalled.seen.messages, turn.reading.said
    if not seen or seen[-1].role != "assistant":
        return False
    if max(said.scores.values(), default=-1.0) <= 0:
        return True
    reader = runtime.memory.reader
    if said.main != "correct" or reader is None:
        return False
    own = [one.text for one in turn.heard.session.messages[:-1] if one.role == "user"]
    before = (reader.read(text).main for text in reversed(own))
    return next((main for main in before if main != "correct"), "") in TASKS


def _spoken(runtime: Runtime, turn: Turn, outcome: LoopOutcome, say: Say) -> bool:
    """Let the model do a task, or answer what is asked of the entity; whether anything was said.

    What it says is heard sentence by sentence.
    """
    said, asked = turn.reading.said, turn.heard.message.text
    asks = any(sign in asked for sign in words.QUESTION_MARKS)
    wants = turn.heard.is_question or (said.main == "joke" and asks)  # a laugh would be no answer
    if _is_task(turn) or _is_in_doubt(said) or _goes_on(runtime, turn):
        request, notes = _task(runtime, turn)
        heard = SentenceFilter(say, runtime, turn, notes)
    elif wants and has(turn.reading.language) and not (said.heavy and said.main in TOLD):
        request = turn.composed.request
        heard = AnswerFilter(say, runtime, turn)
    else:  # "how does one go on?" of who confides asks for no answer
        return False
    try:
        outcome.completions.append(runtime.model.complete(request, heard.feed))
        heard.finish()
    except EnoughError:  # a secret, or said before: what comes behind it is not wanted either
        pass
    finally:  # what was heard until it was broken off is kept
        if heard.said.strip():
            outcome.steps.append(LoopStep(heard.said.strip(), (), ()))
    return bool(heard.said.strip())


def _may_be_told(runtime: Runtime, turn: Turn, about: str) -> bool:
    """Whether memory may know more than code of what a message asks about.

    Who asks when something is may seem to ask for the time, and who asks what was told of somebody
    for all that was.
    """
    said, text = turn.reading.said, turn.heard.message.text
    if about == "ask_name":  # "what is the name of my doctor?"
        return said.score("ask_memory") - said.scores[about] > SURELY_OTHERS
    if about not in LISTED:
        return about == "ask_time"
    own = {*runtime.identity.name.split(), *turn.heard.who.called.split()}
    names_others = bool({*claims.claims(text, turn.reading.language)} - own)
    if about == "ask_talk" and values.read(text, turn.reading.language).times.are_there:
        return False  # of that day
    return said.main != about and (said.scores[about] <= SURELY or names_others)


def _remembered(
    runtime: Runtime,
    turn: Turn,
    template: templates.Templates,
    outcome: LoopOutcome | None,
    by_code: CodeReply | None,
) -> CodeReply | None:
    """Return what was told that answers a message, if it asks for that; else what code says.

    Which question it is shows in its words less surely than in whether something that was told
    answers it; that the model says. `outcome`: of the model; None: it may not be asked.
    """
    heard, said = turn.heard, turn.reading.said
    in_doubt = outcome is not None and (_is_in_doubt(said) or _goes_on(runtime, turn))
    asks = _asks_memory(runtime, turn) and not in_doubt
    if not (asks or _may_ask(turn, judged=outcome is not None)):
        return by_code

    answers = None if outcome is None else cache(partial(_answers, runtime, turn, outcome))
    told = memory_answer.heard(runtime, heard.session)
    found = memory_answer.answer(
        runtime,
        heard.session,
        told,
        asks=asks,
        lists=said.score("ask_known") > PERHAPS_ALL,
        answers=answers,
    )
    book = knowledge.readable(runtime.entity.knowledge)
    is_drawn = any(section.provenance.model for section in book.sections)
    kept = memory_answer.written(runtime, heard.session, answers) if is_drawn or not found else None
    # what a model made of all that was said before it, where nothing newer answers
    is_newer = kept is not None and kept[2] is not None and all(one.at <= kept[2] for one in found)
    if kept is not None and is_newer:  # of whom nobody asks it is no answer
        asker = (heard.who.id,)
        named, asked = (
            {one.id for one in people.named(runtime, text, asker)}
            for text in (kept[1], heard.message.text)
        )
        is_newer = named <= asked
    if found and not is_newer:
        rows = [_quoted(each, heard, template) for each in found]
        return CodeReply("\n".join((template.told, *rows)), "ask_memory")
    if kept:
        parts = filter(None, (kept[0], quotes.marked(kept[1], template)))
        return CodeReply(": ".join(parts), "ask_memory")
    surely = asks and (said.has(*ASKS_MEMORY, "ask_world") or heard.is_question)
    return CodeReply(template.unknown, "ask_memory") if surely and not by_code else by_code


def _answers(runtime: Runtime, turn: Turn, outcome: LoopOutcome, told: str) -> bool:
    """Whether something that was told answers a message, as the model judges."""
    asked = f"Told: {told}\nAsked: {words.one_line(turn.heard.message.text)}"
    judged = _asked(runtime, turn, outcome, "answers", asked, CHOICE_TOKENS)
    return judged.strip().casefold().startswith("yes")


def _quoted(quote: quotes.Quote, heard: Heard, template: templates.Templates) -> str:
    """Word a quote that answers; whose own words it has needs no name."""
    if quote.name != heard.message.called():
        return quotes.line(quote, template).removeprefix(quotes.MARK)
    day = quotes.day(quote.at, template, year=quote.at.year != heard.message.at.year)
    return f"{day}: {quotes.marked(quote.words, template)}"


def _asks_memory(runtime: Runtime, turn: Turn) -> bool:
    """Whether a message asks for what was told, as far as its words show.

    What looks told or confided may end as a question, and then does. Of somebody it has met, no
    model knows anything.
    """
    main = turn.reading.said.main
    if main == "ask_world":
        return _names_somebody(runtime, turn)
    return main in ASKS_MEMORY or (main in TOLD and turn.heard.is_question and _may_ask(turn))


def _names_somebody(runtime: Runtime, turn: Turn) -> bool:
    """Whether a message names somebody it has met; "will" in small letters is nobody's name."""
    text, language = turn.heard.message.text, turn.reading.language
    known = {part for name in people.names(runtime)[1:] for part in name.split()}
    common = words.common(language, corrections.COMMON_WORDS)
    rare = {part.casefold() for part in known if words.folded(part) not in common}
    said = {word.strip("¿¡?!.,;:'’\"") for word in text.split()}
    return bool(known & said) or not rare.isdisjoint(stop_words.words(text))


def _is_in_doubt(reading: MessageReading) -> bool:
    """Whether a message that seems to ask for what was told may as well be a task."""
    task, asks = reading.score("task"), reading.score(reading.main)
    is_near = task > MAY_BE_TASK and (asks < SURELY or task > asks - SURELY)
    return reading.main in ASKS_MEMORY and is_near


def _may_ask(turn: Turn, *, judged: bool = False) -> bool:
    """Whether a message may ask for what was told, though it isn't surely read so.

    `judged`: whether what is found is looked at, so that a question of any kind may be one.
    """
    reading = turn.reading.said
    if reading.keep > 0 or reading.has(*NO_QUESTIONS):
        return False
    asks = reading.main in notices.QUESTIONS
    others = max(reading.score(name) for name in ("ask_world", "ask_entity"))
    if others > SURELY and not reading.has(*ASKS_MEMORY):
        return False
    if judged and asks:
        return True
    unsure = asks and max(reading.scores.values(), default=-1.0) <= 0
    return others <= 0 and (unsure or turn.heard.is_question or reading.main == "ask_time")


def _said(outcome: LoopOutcome, replies: Sequence[CodeReply], say: Say) -> WrittenReply:
    """Say what no model wrote, each thing once; it is no example of how to speak."""
    lines: list[str] = []
    for line in (line for reply in replies for line in reply.text.splitlines()):
        if not any(line in other for other in lines):
            lines.append(line)
    text = "\n".join(lines)
    say(PAUSE + text if outcome.steps else text)  # behind what the model has said
    outcome.steps.append(LoopStep(text, (), ()))
    outcome.beside += [reply.plan for reply in replies if reply.plan]
    return WrittenReply(outcome, worded=replies[0].about, slip="no model wrote it")


# what the model says


def _task(runtime: Runtime, turn: Turn) -> tuple[Request, Sequence[str]]:
    """Make the request that has a task done, and return what was told of its matter, too.

    That stands there as notes: what code said to it isn't shown, and a small model says again
    whatever stands in its place.
    """
    done, loose = _talked(turn.recalled.seen.messages[-TASK_SEEN:])
    session = turn.heard.session
    near, text = list[str](), turn.heard.message.text
    if text.endswith('"') and text in dict(turn.reading.asked):  # it brings what it is about
        done, loose = [], []
    else:
        heard = memory_answer.heard(runtime, session)
        secret = heard.confided()  # a letter to somebody else is no place for it
        loose = [one for one in loose if not any(text in one for text in secret)]
        near = [one.words for one in memory_answer.answer(runtime, session, heard, asks=False)]
        near = [words for words in near if not any(words in one for one in (*loose, *secret))]
    told = "\n".join(f"- {words.one_line(each)}" for each in (*near, *loose))
    told = f"<told>\n{told}\n</told>\n" if told else ""
    task = "\n".join(filter(None, (told, turn.heard.attached, turn.heard.message.text)))
    # examples in another language are answered in that
    name = TASK_PAGE.format(language=turn.reading.language)
    name = name if prompts.exists(name) else "task"
    page = prompts.load(name).turns(name=runtime.identity.name)
    examples = (PromptMessage(role, text) for role, text in page)
    messages = (*examples, *done, PromptMessage("user", task))
    request = _request(runtime, turn.recalled.session, messages, TASK_TOKENS)
    if runtime.config.llm.temperature is None:
        request = replace(request, temperature=TASK_TEMPERATURE)
    request = replace(request, cache_id=request.cache_id and name)
    return route.fitting(runtime, request), (*near, *loose)


def _talked(seen: Sequence[PromptMessage]) -> tuple[list[PromptMessage], list[str]]:
    """Part messages into those that the model answered, with its answers, and all others."""
    done: list[PromptMessage] = []
    loose: list[str] = []
    for n, one in enumerate(seen):
        if any(each.role == "assistant" for each in (one, *seen[n + 1 : n + 2])):
            done.append(one)
        else:
            loose.append(one.content)
    return done, loose


def _may_sum(turn: Turn) -> bool:
    """Whether a message may ask for a sum; what the model makes of one that doesn't fails."""
    reading, text = turn.reading.said, turn.heard.message.text
    score, is_task = reading.score("calculate"), _is_task(turn)
    if score <= (MAY_BE_TASK if is_task else PERHAPS) or (reading.keep > 0 and not is_task):
        return False
    return sum(number.claimed for number in values.read(text, turn.reading.language).numbers) > 1


def _asked(
    runtime: Runtime, turn: Turn, outcome: LoopOutcome, name: str, text: str, most: int
) -> str:
    """Ask the model about a text, by a prompt of examples, without chance.

    What of it is evaluated once is the same in every conversation.
    """
    page = prompts.load(name).turns()
    messages = (*(PromptMessage(role, text) for role, text in page), PromptMessage("user", text))
    request = _request(runtime, turn.recalled.session, messages, most)
    request = replace(request, temperature=0.0, cache_id=request.cache_id and name)
    completion = runtime.model.complete(route.fitting(runtime, request))
    outcome.completions.append(completion)
    return completion.text
