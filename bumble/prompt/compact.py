"""Compaction: when a conversation is too long, and how it is shown shorter; nothing is lost.

In the order of what it costs: very long messages are cut, old tool results cleared, and the middle
summarised; what of that was not distilled yet is so first (`Runtime.flush`). Each step adds a line
to the transcript that says how a stretch is shown from now on (`transcript` computes the view); the
stretch itself stays, and an undo takes the line back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from bumble.fallback import sayings
from bumble.guard import excerpt
from bumble.guard.verifier import ClaimSources
from bumble.llm import prompts
from bumble.prompt import transcript
from bumble.records import base, sessions
from bumble.runtime import people
from bumble.runtime.job import NO_ANSWER, Condition, Due, JobResult, Stretch, apply, ask, closed
from bumble.runtime.runtime import Runtime
from bumble.text import tokens
from bumble.text.words import one_line, paragraph, sentences

HEADINGS = {
    "goal": "Goal",
    "constraints": "Constraints",
    "progress": "Progress",
    "decisions": "Decisions",
    "emotional_context": "Emotional Context",
    "critical_context": "Critical Context",
    "next_steps": "Next Steps",
}
TOLD_SHARE = 0.4  # of the budget, for what the model tells; the rest is carried word for word
READ_SHARE = 1.5  # of the budget, what an embedded model reads: all of it would take many minutes
TEMPERATURE = 0.2
PIECE_TOKENS = 1500  # of conversation in one question
LEAST_CHARS = 80  # under a heading
KEY_TOKENS = 12  # of an answer, for a heading's name and what stands around it
WORTH = 3.0  # weight of a line that is worth keeping, beside another
LINE_MARK = "- "  # before a line that is carried word for word


class SummaryInput(Struct, frozen=True):
    """The messages a summary has to stand for, and its budget."""

    earlier: str  # the summary before it; empty if there is none
    new: tuple[sessions.Message, ...]  # messages that no summary has stood for yet
    budget_tokens: int
    wording: sayings.Wording | None = None  # where no model is trusted to write
    worth: frozenset[str] = frozenset()  # ids of the messages that are worth keeping


def summarize(runtime: Runtime, summary_input: SummaryInput, note: Callable[[str], None]) -> str:
    """Let the model summarise the messages, piece by piece, each answer updating the one before.

    Of a long conversation an embedded model gets only the lines that say most, for on two cores it
    reads some thirty tokens a second.

    Raises:
        AnswerInvalidError: If an answer can't be used, and not at the second try either.
    """
    names, own = people.called(runtime), runtime.identity.name
    lines = excerpt.lines(summary_input.new, names, own)
    if runtime.local:
        most = int(summary_input.budget_tokens * READ_SHARE)
        lines = excerpt.choose(lines, most, summary_input.earlier)
    most = min(PIECE_TOKENS, runtime.window_tokens // 2)
    pieces = tokens.packed(map(str, lines), lambda line: tokens.estimate(line) + 1, most)
    room = int(summary_input.budget_tokens * TOLD_SHARE)
    values = earlier = _read(summary_input.earlier)
    for n, piece in enumerate(pieces, 1):
        note(f"summarising part {n} of {len(pieces)}")
        text = "\n".join(tokens.cut(line, most) for line in piece)
        values = _ask(runtime, values, text, room)
    told = (*map(str, lines), *earlier.values())
    grounds = ClaimSources(known=told, names=(own, *names.values()))
    checked = {name: paragraph(grounds.sound(sentences(text))) for name, text in values.items()}
    return _whole(runtime, summary_input, checked)


def excerpt_text(runtime: Runtime, summary_input: SummaryInput) -> tuple[str, Mapping[str, Any]]:
    """Let the lines that say most stand for the rest, behind what a model told before.

    Returns:
        The summary, and what its record says of it: what it is made of.
    """
    source = {"summary_source": sayings.MARK if summary_input.wording else EXCERPT}
    if summary_input.wording is not None and not any(_read(summary_input.earlier).values()):
        # let what people said stand for the rest, first what is worth keeping
        own, head = runtime.identity.name, summary_input.wording.template.summary
        earlier = [line for line in _carried(summary_input.earlier, own) if line.speaker != own]
        spoken_messages = [message for message in summary_input.new if message.role == "user"]
        new = [
            replace(line, weight=WORTH if line.message in summary_input.worth else line.weight)
            for line in excerpt.lines(spoken_messages, people.called(runtime), own)
        ]
        budget = summary_input.budget_tokens - tokens.estimate(head)
        chosen = excerpt.choose([*earlier, *new], budget)
        return "\n".join([head, *(f"{LINE_MARK}{line}" for line in chosen)]), source
    return _whole(runtime, summary_input, _read(summary_input.earlier)), source


def _whole(runtime: Runtime, summary_input: SummaryInput, values: Mapping[str, str]) -> str:
    """Render a summary; lines, new ones or carried before, go word for word as far as they fit."""
    left = summary_input.budget_tokens - tokens.estimate(render(values))
    own = runtime.identity.name
    candidates = [
        *_carried(summary_input.earlier, own),
        *excerpt.lines(summary_input.new, people.called(runtime), own),
    ]
    lines = excerpt.choose(candidates, left, " ".join(values.values()))
    carried = "\n".join(f"{LINE_MARK}{line}" for line in lines)
    critical = "\n".join(filter(None, (values["critical_context"], carried)))
    return render({**values, "critical_context": critical})


def render(values: Mapping[str, str]) -> str:
    """Write the seven headings, those with nothing under them too."""
    return "\n".join(f"## {title}\n{values[name] or '-'}" for name, title in HEADINGS.items())


def _read(text: str) -> dict[str, str]:
    """Read a rendered summary back, without the lines it carries word for word."""
    values = dict.fromkeys(HEADINGS, "")
    current = None
    for line in text.splitlines():
        name = next((key for key, title in HEADINGS.items() if line == f"## {title}"), None)
        if name:
            current = name
        elif current and line != "-" and not line.startswith(LINE_MARK):
            values[current] = f"{values[current]}\n{line}".strip()
    return values


def _carried(text: str, own_name: str) -> list[excerpt.SpokenLine]:
    """Return the lines that an earlier summary carried word for word."""
    pairs = [
        line[len(LINE_MARK) :].partition(": ")
        for line in text.splitlines()
        if line[:2] == LINE_MARK
    ]
    return [
        excerpt.SpokenLine("", who, wording, excerpt.OWN_WEIGHT if who == own_name else 1.0)
        for who, colon, wording in pairs
        if colon
    ]


def _ask(runtime: Runtime, earlier: Mapping[str, str], piece: str, room: int) -> dict[str, str]:
    chars = max(LEAST_CHARS, room * 4 // len(HEADINGS))
    slots = {
        "earlier": render(earlier) if any(earlier.values()) else "(there is none yet)",
        "conversation": prompts.harmless(piece, "conversation", "notes"),
        "most": str(chars),
    }
    limit = len(HEADINGS) * (chars // 2 + KEY_TOKENS)  # so that no language is cut off
    schema = closed({key: {"type": "string", "maxLength": chars} for key in HEADINGS})
    answer = ask(runtime, "compact", slots, schema, max_tokens=limit, temperature=TEMPERATURE)
    return {name: one_line(str(answer[name])) for name in HEADINGS}


LEAST_GAIN = 0.05  # a pass that gains less is the last
TOOL_RESULT_TOKENS, MESSAGE_TOKENS = 4096, 2048  # to which older ones are cut, without a model
MOST_MESSAGES = 320  # more: the lines that say most stand for the middle, without a model
KEPT = {"user": 4, "assistant": 4, "tool": 2}  # newest of each role that are never cut
SMALL_THRESHOLD, SMALL_FULL = 0.70, 0.85  # the preset for windows of a few thousand tokens
SMALL_WORDS, SMALL_FULL_WORDS = 500, 200
TOKENS_PER_WORD = 1.05  # as estimated, of the short words and many names of such lines
LEAST_SUMMARY_TOKENS = 150
FRAME_TOKENS = tokens.estimate_message(transcript.framed(""))  # around a summary
CLEAR_BATCH = 6  # old tool results are cleared that many at once, so that the prefix seldom moves

EXCERPT = "excerpt"  # in the record of a summary without a model
DID = {
    "summary": "summarised",
    EXCERPT: "cut down to the lines that say most",
    sayings.MARK: "cut down to what people said",
    "prune": "old tool results cleared",
    "cut": "long texts cut",
}

Listener = Callable[[str], None]


class CompactJob(Struct, frozen=True):
    """A conversation to compact, and how."""

    session: sessions.Session
    stable_tokens: int  # of what stands before the conversation in every request
    only_prune: bool = False
    use_model: bool = True  # False: the lines that say most, instead of a summary
    falls_back: bool = False  # whether those lines do where the model gives nothing usable


class ContextSize(Struct, frozen=True):
    """The estimated length of the next request, and the limits it is held against."""

    stable: int
    history: int
    window: int
    threshold: int  # total from which it is too long
    target: int  # of the history, once it was compacted
    messages: int  # that are shown
    ratio: float = 1.0  # of these numbers to plain estimates
    summary_most: int | None = None  # what a summary may take, a plain estimate; None: as it fits

    @property
    def room(self) -> int:
        """The target as a plain estimate."""
        return int(self.target / self.ratio)

    @property
    def total(self) -> int:
        """Everything before the next message."""
        return self.stable + self.history

    @property
    def long(self) -> bool:
        """Whether the next request takes too many tokens."""
        return self.total > self.threshold

    @property
    def full(self) -> bool:
        """Whether the conversation has to be compacted: many messages are too, however short."""
        return self.long or self.messages > MOST_MESSAGES


class CompactionSteps(Struct):
    """The records a compaction has made so far, and the conversation as they show it."""

    session: sessions.Session  # as it is once the records are in the transcript
    records: list[sessions.Compaction] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    passes: int = 0

    def add(self, record: sessions.Compaction | None) -> None:
        """Add a record, if there is one, and show the conversation with it."""
        if record is not None:
            self.records.append(record)
            self.session = sessions.appended(self.session, [record])


def measure(runtime: Runtime, session: sessions.Session, stable_tokens: int) -> ContextSize:
    """Estimate the next request without a model."""
    config = runtime.config.cognition.history_compression
    window = runtime.window_tokens
    small = config.preset == "small"
    ratio = SMALL_THRESHOLD if small else config.compaction_threshold_ratio
    parts = transcript.shown(session)
    learnt = runtime.token_ratio
    history_tokens = int(
        learnt * sum(tokens.estimate_message(part.message.content) for part in parts)
    )
    limit, stable = int(window * ratio), int(stable_tokens * learnt)
    target, summary_most = int(window * config.compaction_target_ratio), None
    if small:
        full = stable + history_tokens > window * SMALL_FULL
        summary_most = int((SMALL_FULL_WORDS if full else SMALL_WORDS) * TOKENS_PER_WORD)
        target = min(limit // 2, summary_most + target)
    return ContextSize(
        stable,
        history_tokens,
        window,
        limit,
        target,
        len(parts),
        learnt,
        summary_most,
    )


def check(
    runtime: Runtime, session: sessions.Session | None, stable_tokens: int
) -> Due[CompactJob]:
    """Tell whether a conversation is too long; asks no model, writes nothing."""
    config = runtime.config.cognition.history_compression
    enabled = Condition("enabled", str(config.enabled).lower(), "true", config.enabled)
    if session is None:
        return Due((enabled, Condition("conversation", "none", "one", False)), ())
    size = measure(runtime, session, stable_tokens)
    length = Condition(
        "length",
        f"~{size.total} tokens, {size.total / size.window:.0%} of {size.window}"
        f" (always {size.stable}, conversation {size.history} in {size.messages} messages)",
        f"over {size.threshold}, or over {MOST_MESSAGES} messages",
        size.full,
    )
    return Due((enabled, length), (CompactJob(session, stable_tokens),))


def run(runtime: Runtime, job: CompactJob, note: Listener = lambda _: None) -> JobResult:
    """Compact a conversation.

    Raises:
        AnswerInvalidError: If the model's summary can't be used; nothing is to change then.
        ModelUnreachableError: If there is no model.
    """
    return _outcome(runtime, job, make(runtime, job, note))


def _outcome(runtime: Runtime, job: CompactJob, steps: CompactionSteps) -> JobResult:
    """Report the steps, and plan to write their records."""
    before = measure(runtime, job.session, job.stable_tokens)
    after = measure(runtime, steps.session, job.stable_tokens)
    kinds = [DID[record.extra.get("summary_source", record.kind)] for record in steps.records]
    fits = after.history <= after.target
    is_done = fits and not job.only_prune
    nothing = "it is short enough as it is" if is_done else "nothing could be made shorter"
    did = ", ".join(dict.fromkeys(kinds)) or nothing
    headline = f"~{before.history} tokens of conversation became ~{after.history}: {did}"
    data = {
        "session": job.session.id,
        "before_tokens": before.history,
        "after_tokens": after.history,
        "target_tokens": after.target,
        "fits": fits,
        "passes": steps.passes,
        "records": [
            {"id": record.id, "kind": record.kind, "first": record.first, "last": record.last}
            for record in steps.records
        ],
        "notes": steps.notes,
    }

    def plan() -> list[Any]:
        why = "show the conversation shorter"
        return [sessions.plan_append(job.session, steps.records, why)] if steps.records else []

    last = next((record.last for record in reversed(steps.records) if record.kind == "summary"), "")
    return JobResult(
        f"compact: {job.session.id}",
        plan,
        (headline, *steps.notes, *(() if fits else ("still longer than wanted",))),
        data,
        summarised=Stretch(steps.session.id, last) if last else None,
    )


def make(runtime: Runtime, job: CompactJob, note: Listener) -> CompactionSteps:
    """Work out the steps, cheapest first, until the conversation fits."""
    config, steps = runtime.config.cognition.history_compression, CompactionSteps(job.session)
    steps.add(cut_long(runtime, steps.session))
    if job.only_prune or not _fits(runtime, steps, job):
        steps.add(prune(runtime, steps.session, protect=config.compaction_protect_last_n))
    while not job.only_prune and steps.passes < config.compaction_max_passes:
        if _fits(runtime, steps, job) or not _pass(runtime, job, steps, note):
            break
    steps.add(leave_out(runtime, steps.session))
    return steps


def _fits(runtime: Runtime, steps: CompactionSteps, job: CompactJob) -> bool:
    size = measure(runtime, steps.session, job.stable_tokens)
    return size.history <= size.target


def _pass(runtime: Runtime, job: CompactJob, steps: CompactionSteps, note: Listener) -> bool:
    """Summarise once more, with a shorter tail each time; whether it was worth it."""
    size = measure(runtime, steps.session, job.stable_tokens)
    bounds = boundaries(runtime, steps.session.messages, size.room // 2 >> steps.passes)
    if bounds is None:
        return False
    stored = steps.session.messages
    protected = [*stored[: bounds[0]], *stored[bounds[1] :]]
    budget = max(LEAST_SUMMARY_TOKENS, size.room - _cost(protected) - FRAME_TOKENS)
    if size.summary_most is not None:
        budget = min(budget, size.summary_most)
    summary_input = _summary_input(runtime, steps.session, bounds, budget)
    text, extra = _summary(runtime, job, steps, summary_input, note)
    ends = (stored[bounds[0]], stored[bounds[1] - 1])
    record = _record(runtime, "summary", ends, summary=text, extra=extra)
    steps.passes += 1
    shorter = measure(runtime, sessions.appended(steps.session, [record]), job.stable_tokens)
    gained = size.history - shorter.history
    if gained > 0:  # a summary as long as what it stands for is none
        steps.add(record)
    return gained > 0 and gained >= size.history * LEAST_GAIN


def _summary_input(
    runtime: Runtime, session: sessions.Session, bounds: tuple[int, int], budget: int
) -> SummaryInput:
    """Collect what a summary has to cover: an earlier one, and the messages behind it."""
    earlier = transcript.standing(session)
    stretch = session.messages[bounds[0] : bounds[1]]
    covered = (
        {message.id for message in transcript.covered_messages(session, earlier)}
        if earlier
        else set()
    )
    text = earlier.summary if earlier else ""
    new = tuple(message for message in stretch if message.id not in covered)
    worth = frozenset(line.message for line in session.notices.values() if line.keep)
    return SummaryInput(text, new, budget, sayings.wording(runtime, session, stretch), worth)


def _summary(
    runtime: Runtime,
    job: CompactJob,
    steps: CompactionSteps,
    summary_input: SummaryInput,
    note: Listener,
) -> tuple[str, Mapping[str, Any]]:
    if job.use_model and summary_input.wording is None:
        try:
            return summarize(runtime, summary_input, note), {"model": runtime.model.name}
        except NO_ANSWER as error:
            if not job.falls_back:
                raise
            steps.notes.append(f"no summary: {str(error).splitlines()[0]}")
    return excerpt_text(runtime, summary_input)


def boundaries(
    runtime: Runtime, stored: Sequence[sessions.Message], tail_tokens: int, least_tail: int = 0
) -> tuple[int, int] | None:
    """Find the middle that a summary may stand for.

    A call of a tool and its results stay on one side.

    Args:
        runtime: Whose settings say how many at either end are protected.
        stored: All messages.
        tail_tokens: What the protected end may take beyond its least number of messages.
        least_tail: That number, where it is more than the settings have.

    Returns:
        Its first position and the one behind its last; None if it is shorter than two messages.
    """
    config, start = runtime.config.cognition.history_compression, _head(runtime, stored)
    end = max(start, len(stored) - max(least_tail, config.compaction_protect_last_n))
    used = _cost(stored[end:])
    while end > start and used + _cost(stored[end - 1 : end]) <= tail_tokens:
        end -= 1
        used += _cost(stored[end : end + 1])
    while start < end < len(stored) and stored[end].role == "tool":  # not apart from its call
        end -= 1
    return (start, end) if end - start >= 2 else None


def _head(runtime: Runtime, stored: Sequence[sessions.Message]) -> int:
    """Return where the protected beginning ends: behind the results of its calls."""
    config = runtime.config.cognition.history_compression
    at = min(config.compaction_protect_first_n, len(stored))
    return next((n for n in range(at, len(stored)) if stored[n].role != "tool"), len(stored))


def _covered(session: sessions.Session, kind: str) -> set[str]:
    """Return the ids of the messages that compactions of a kind are about."""
    records = (record for record in session.compactions if record.kind == kind)
    return {one.id for each in records for one in transcript.covered_messages(session, each)}


def prune(
    runtime: Runtime, session: sessions.Session, *, protect: int = 0, least: int = 1
) -> sessions.Compaction | None:
    """Clear old tool results, if there are so many: all but the newest, and no protected ones."""
    stored, head = session.messages, _head(runtime, session.messages)
    results = [message for message in stored if message.role == "tool"]
    ends = (*stored[:head], *stored[max(head, len(stored) - protect) :])
    kept = {one.id for one in (*ends, *results[-KEPT["tool"] :])} | _covered(session, "prune")
    # a note would be no shorter than what is short
    long = (one for one in results if len(one.text) > transcript.NOTE_CHARS)
    old = [one for one in long if one.id not in kept]
    return _record(runtime, "prune", (old[0], old[-1])) if len(old) >= least else None


def cut_long(runtime: Runtime, session: sessions.Session) -> sessions.Compaction | None:
    """Cut very long messages outside the recent ones."""
    limits, cut_ids = (MESSAGE_TOKENS, TOOL_RESULT_TOKENS), _covered(session, "cut")
    head, end = _head(runtime, session.messages), _recent(session.messages, *KEPT)
    long = [
        message
        for message in session.messages[head:end]
        if message.id not in cut_ids
        and tokens.estimate(message.text) > limits[message.role == "tool"]
    ]
    return _record(runtime, "cut", (long[0], long[-1]), limits) if long else None


def leave_out(runtime: Runtime, session: sessions.Session) -> sessions.Compaction | None:
    """Leave out the middle of a conversation of very many messages, without a model.

    The lines that say most stand for it, as in any summary. Half of what is allowed stays, so that
    the beginning of the prompt does not move at every turn.
    """
    stored = session.messages
    if len(transcript.shown(session)) <= MOST_MESSAGES:
        return None
    least = max(MOST_MESSAGES // 2, len(stored) - _recent(stored, "user", "assistant"))
    bounds = boundaries(runtime, stored, 0, least)
    if bounds is None:
        return None
    share = runtime.config.cognition.history_compression.compaction_target_ratio
    budget = int(_cost(stored[slice(*bounds)]) * share)
    summary_input = _summary_input(runtime, session, bounds, max(LEAST_SUMMARY_TOKENS, budget))
    text, extra = excerpt_text(runtime, summary_input)
    ends = (stored[bounds[0]], stored[bounds[1] - 1])
    return _record(runtime, "summary", ends, summary=text, extra=extra)


def _recent(stored: Sequence[sessions.Message], *roles: str) -> int:
    """Return where the newest messages of some roles begin, which are never cut."""
    places = [[n for n, one in enumerate(stored) if one.role == role] for role in roles]
    ends = zip(roles, places, strict=True)
    return min((there[-KEPT[role] :][0] for role, there in ends if there), default=len(stored))


def _record(
    runtime: Runtime,
    kind: str,
    ends: tuple[sessions.Message, sessions.Message],
    limits: tuple[int, int] = (0, 0),
    *,
    summary: str = "",
    extra: Mapping[str, Any] = {},
) -> sessions.Compaction:
    """Make the record of how the messages between two are shown from now on."""
    at = runtime.now()
    name = base.new_id(sessions.COMPACTION_PREFIX, at, runtime.rng)
    return sessions.Compaction(name, at, summary, ends[0].id, ends[1].id, kind, *limits, extra)


def _cost(stored: Sequence[sessions.Message]) -> int:
    return sum(tokens.estimate_message(transcript.render(message).content) for message in stored)


def make_room(
    runtime: Runtime, session: sessions.Session, stable_tokens: int
) -> tuple[sessions.Session, JobResult | None]:
    """Compact a conversation before its next turn, if it has to be.

    Nothing here fails a turn: where the model gives no summary, the lines that say most stand for
    the middle. With an embedded model they do so from the start (`history_compression.summary`):
    it would read for minutes while somebody waits. What leaves the view is distilled first, no
    more of it than after any turn; the rest waits for the next pass.

    Returns:
        The conversation as it is then, and what was done.
    """
    config = runtime.config.cognition.history_compression
    if not config.enabled:
        return session, None
    tells = not runtime.local if config.summary == "auto" else config.summary == "model"
    job = CompactJob(session, stable_tokens, use_model=tells, falls_back=True)
    if _is_worth_it(runtime, session, measure(runtime, session, stable_tokens)):
        steps = make(runtime, job, lambda _: None)
    else:
        steps = CompactionSteps(session)
        steps.add(leave_out(runtime, steps.session))
        steps.add(prune(runtime, steps.session, least=CLEAR_BATCH))
    if not steps.records:
        return session, None
    outcome = _outcome(runtime, job, steps)
    if runtime.writes:
        if runtime.flush is not None:
            limit = runtime.config.limits.passes_per_turn if tells else 0
            outcome = runtime.flush(runtime, outcome, limit)
        apply(runtime, outcome)
    return steps.session, outcome


def _is_worth_it(runtime: Runtime, session: sessions.Session, size: ContextSize) -> bool:
    """Whether a conversation is too long, and enough is new that a summary can stand for.

    Where its protected ends alone are too long, each turn would have it summarised again.
    """
    earlier = transcript.standing(session)
    if not size.long or earlier is None:
        return size.long
    bounds = boundaries(runtime, session.messages, size.room // 2)
    return (
        bounds is not None
        and _cost(_summary_input(runtime, session, bounds, 0).new) >= size.room // 2
    )
