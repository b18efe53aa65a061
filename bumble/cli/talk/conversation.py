"""Opening an entity to talk: person, session, servers; answering, warming; the owner's name."""

from __future__ import annotations

import json
import shlex
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from functools import partial
from itertools import takewhile

from msgspec.structs import replace

from bumble.chat import context_report, participants, plain_reply, reminders, turn
from bumble.chat.reply_writer import Heard, ReplyStream, Turn
from bumble.cli import index_place, newborn, output, people, registry, run_job, setting_files
from bumble.cli.commands import mcp
from bumble.cli.models import abilities, chat_model, weights
from bumble.cli.opening import Opened
from bumble.entity import config, settings
from bumble.errors import FileChangedError, UserError
from bumble.fallback import notices
from bumble.files import disk
from bumble.jobs import stretch, tick
from bumble.llm.protocol import Request
from bumble.llm.scripted import AbsentModel
from bumble.models.weights.choice import Choice
from bumble.prompt import compact
from bumble.records import relationships, session_files, sessions
from bumble.runtime import body_state, locks
from bumble.runtime.job import apply
from bumble.runtime.people import Person, speaker
from bumble.runtime.runtime import ProfileName, Runtime
from bumble.text import tokens, words


def beginning(runtime: Runtime, session: sessions.Session, person: str) -> Request | None:
    """Return what the next request of a conversation will begin with.

    None where evaluating it ahead gains nothing: a server minds its own cache, a model that may not
    talk isn't asked, and incognito nothing is kept.
    """
    if not (runtime.local and runtime.writes):
        return None
    return turn.next_request(runtime, session, person)


LAST_REQUEST = "last_request.json"
LAST_REPORT = "last_report.json"
REPORTS, MOST_REPORTS = "reports", 50  # of the last request of each conversation


class Conversation:
    """A conversation with an entity, open for as long as this process goes on with it."""

    def __init__(
        self,
        opened: Opened,
        runtime: Runtime,
        person: Person,
        choice: Choice | None,
        present: Sequence[Person] = (),
    ) -> None:
        self.opened, self.runtime, self.person, self.choice = opened, runtime, person, choice
        self.present = present  # who else hears it
        self.session: sessions.Session
        self.is_new = self.joins = True  # whether it goes on with one that another has begun
        self.last: Turn | None = None
        self.delivery = (
            participants.NOTHING
        )  # reminders that were shown, to be stored with the next message
        self.spent: dict[str, float] = {}  # seconds by what they went into
        self._warming: threading.Thread | None = None  # asks the model alone until it has ended
        self._stop = threading.Event()  # ends it

    def begin(self, *, session_id: str | None, new: bool) -> None:
        """Choose the conversation."""
        at, self.joins = self.runtime.clock(), not new
        self.session, self.is_new = participants.open_session(
            self.runtime,
            self.person,
            at,
            session_id=session_id,
            new=new,
            present=self.present,
        )

    def warm_ahead(self) -> None:
        """Evaluate what the next request begins with, until something is asked of the model."""
        self.end_warming()
        if (request := beginning(self.runtime, self.session, self.person.id)) is None:
            return
        self._stop.set()
        self._warm(replace(request, stop=self._stop))  # loads the model, and is stopped at once
        self._stop = threading.Event()
        wanted = replace(request, stop=self._stop)
        self._warming = threading.Thread(
            target=self._warm, args=(wanted,), daemon=True, name="warming"
        )
        self._warming.start()

    def _warm(self, request: Request) -> None:
        with suppress(UserError):  # the message itself will meet it, and say so
            self.runtime.model.warm(request)

    def end_warming(self) -> None:
        """Let go of the model: one thread asks it at a time."""
        self._stop.set()
        if self._warming is not None:
            self._warming.join()
        self._warming = None

    def introduce(self, text: str, *, yes: bool = False) -> None:
        """Let the owner be called as a message says, if that is agreed to.

        A model that writes minds names by itself, but for the first of all messages, by which the
        owner is known; later ones never wait for a reader to be loaded.
        """
        before = sum(message.role == "user" for message in self.session.messages)
        if not self.runtime.writes or self.person.trust != "owner" or before > notices.MOST_BEFORE:
            return
        able = self.runtime.abilities().tier("talk", words.language(text)) == "write"
        if able and not people.is_first(self.opened):
            return
        # without a model that writes it reads the message anyway, and may have to be fetched for it
        reads = weights.reader_here(self.opened) if able else self.runtime.memory.reader
        name = reads.read(text, begins=True).introduced if reads else ""
        opened = _with_name(self.opened, name, yes=yes)
        if opened is not self.opened:  # go on with the owner under another name
            self.opened, self.runtime = opened, replace(self.runtime, identity=opened.identity)
            self.person = speaker(opened.entity, opened.identity, None)
            self.begin(session_id=None, new=not self.joins)

    def answer(
        self,
        text: str,
        say: Callable[[str], None],
        *,
        think: bool | None = None,
        typed: bool = False,
    ) -> Turn:
        """Store what was said, and answer it; who settles in the background makes way.

        Args:
            text: What was said.
            say: Hears the answer as it comes.
            think: Whether to think about it first; None: as the rules say.
            typed: Whether the person typed it; then `@path` in it is a file of theirs.
        """
        with self.opened.shell.stops.held():  # what was said is stored, whatever comes
            self.end_warming()
            if not self.runtime.writes:
                return self._answer(text, say, think, typed=typed)
            with locks.hold_turn(self.opened.entity):
                _make_room(self.opened)
                return self._answer(text, say, think, typed=typed)

    def _answer(
        self, text: str, say: Callable[[str], None], think: bool | None, *, typed: bool
    ) -> Turn:
        stops = self.opened.shell.stops
        thinking = output.Thinking(self.opened.identity.name, say, self.opened.shell.environ)
        thinking.wait("listens")
        turn.refuse_too_long(self.runtime, self.session, self.person.id, text)
        last_spoke = self._last_spoke()
        heard = self._listen(text)
        self.session, self.is_new = heard, False
        with self._timed("recall"), stops.open():
            abilities.say_once(self.opened, self.runtime, self.choice, heard, self.person.id)
            self._sync()
            attached = self._attached(text) if typed else participants.Attached()
            message = Heard(heard, self.person, last_spoke, attached.text, attached.notes)
            prepared = turn.prepare(self.runtime, message, asked=_profile_name(think))
        thinking.wait(self._reading(prepared))
        with self._timed("answer"):
            heard_by = ReplyStream(thinking.speak, thinking.begin, stops.open)
            self.last = turn.answer(self.runtime, prepared, heard_by)
            self.session = self.last.session
        thinking.complain()
        return self.last

    def _reading(self, prepared: Turn) -> str:
        """Say what comes before the first word: weights that are loaded, and tokens to be read."""
        size = sum(tokens.estimate(one.content) for one in prepared.composed.request.messages)
        reads = f"reads about {size:,} tokens"
        wakes = self.choice is not None and self.choice.backend == "embedded" and not self.last
        return f"wakes {self.runtime.model.name} and {reads}" if wakes else reads

    def _listen(self, text: str) -> sessions.Session:
        """Store what was said, behind the reminders that were just shown."""
        listen = partial(
            participants.listen,
            *(self.runtime, self.session, self.is_new, self.person, text),
            joins=self.joins,
            listeners=self.present,
        )
        delivery, self.delivery = self.delivery, participants.NOTHING
        try:
            return listen(delivery=delivery)
        except FileChangedError:
            if not delivery.changes:
                raise
            return listen()  # another talk, or a hand, was faster with one of them

    def _attached(self, text: str) -> participants.Attached:
        """Read the files a message points to; only the owner's are."""
        is_owners = self.person.trust == "owner"
        cwd = self.opened.shell.cwd
        return participants.read_attached(text, cwd) if is_owners else participants.Attached()

    def unheard(self) -> list[str]:
        """Return what the entity has said by itself since the person last spoke, and says now."""
        self.delivery = reminders.for_talk(self.runtime, self.session)
        said = takewhile(lambda message: message.unprompted, reversed(self.session.messages))
        return [one.text for one in (*reversed([*said]), *self.delivery.messages)]

    def compact(self, note: Callable[[str], None]) -> Sequence[str]:
        """Show the conversation shorter from now on; say what was done."""
        if self.is_new:
            return ["Nothing was said yet."]
        if not self.runtime.writes:
            return ["Nothing may be written in this conversation."]
        self.end_warming()
        stable = turn.stable_of(self.runtime, self.session, self.person.id)
        job = compact.CompactJob(self.session, stable.tokens, falls_back=True)
        outcome = compact.run(self.runtime, job, note)
        outcome = stretch.flush(self.runtime, outcome, limit=None, note=note)
        apply(self.runtime, outcome)
        self.session = session_files.find(self.opened.entity.sessions, self.session.id)
        return outcome.lines

    def look(self, text: str, *, think: bool | None = None) -> Turn:
        """Build the request that would answer a typed message; nothing is sent or written."""
        heard = participants.listen(self.runtime, self.session, self.is_new, self.person, text)
        self._sync()
        message = Heard(heard, self.person, self._last_spoke(), self._attached(text).text)
        return turn.prepare(self.runtime, message, compacts=False, asked=_profile_name(think))

    def finish(self, done: Turn) -> None:
        """Evaluate ahead what the next request will begin with; keep this one for comparing."""
        if not self.runtime.writes or done.reply.outcome.stopped in ("interrupted", "failed"):
            return
        # keep the last request of this machine, for --debug-prefix; it lies with the caches
        place = self.opened.entity.private / "cache" / LAST_REQUEST
        data = [[one.role, one.content] for one in done.composed.request.messages]
        disk.write_cache(place, json.dumps(data).encode())
        told = context_report.to_data(context_report.of(self.runtime, done, "run"))
        report = json.dumps(told).encode()
        disk.write_cache(place.with_name(LAST_REPORT), report)
        reports = place.parent / REPORTS
        disk.write_cache(reports / f"{done.session.id}.json", report)
        by_time = sorted(reports.glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
        for old in by_time[:-MOST_REPORTS]:
            disk.remove(old)
        if done.writer is plain_reply or not done.reply.outcome.completions:
            return  # nothing was evaluated, or nothing that the next turn begins with
        with self._timed("warm"):
            self.runtime.model.warm(turn.stored_request(self.runtime, done))

    def _sync(self) -> None:
        bar = partial(output.progress, "indexing", self.opened.shell.environ)
        self.runtime.memory.sync_or_go_without(lambda what, at, of: bar(at, of))
        if report := self.runtime.memory.report:
            index_place.tell_unreadable(self.opened, report.problems)

    def _last_spoke(self) -> datetime | None:
        if self.session.messages:
            return self.session.last_at
        folder, now = self.opened.entity.sessions, self.runtime.now()
        newest = session_files.newest(folder, self.person.id, now)
        return newest.last_at if newest else None

    @contextmanager
    def _timed(self, what: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.spent[what] = time.perf_counter() - started

    def status(self) -> list[str]:
        """Say who talks with whom, by which model."""
        names = [self.person.name, *(one.name for one in self.present)]
        session = "not begun" if self.is_new else self.session.id
        why = self.choice.why if self.choice else "none could be opened"
        return [
            f"{self.opened.identity.name} in {self.opened.entity.root}",
            f"with {', '.join(names)}, conversation {session}",
            f"{self.runtime.model.name} ({why}), window {self.runtime.window_tokens} tokens",
        ]

    def switch_model(self, name: str) -> None:
        """Go on with another model, until this process ends.

        Raises:
            UserError: If there is none of that name; then the old one stays.
        """
        opened = self.opened.with_settings(llm__model=name)
        chosen, runtime = _model(opened, yes=False, writes=self.runtime.writes)
        self.end_warming()
        self.runtime.model.close()
        self.opened, self.choice = opened, chosen
        self.runtime = replace(runtime, memory=self.runtime.memory, outside=self.runtime.outside)

    def state(self) -> list[str]:
        """Say how full the model's window is before the next message, and how the entity feels."""
        stable = turn.stable_of(self.runtime, self.session, self.person.id)
        size = compact.measure(self.runtime, self.session, stable.tokens)
        told = f"{size.total / size.window:.0%} full: about {size.total:,} tokens"
        mood = body_state.read(self.runtime, self.runtime.now()).mood
        return [
            f"{told} ({size.stable:,} always, {size.history:,} of this conversation)",
            f"mood: {mood.name} ({mood.intensity:.2f})",
        ]

    def report(self) -> context_report.ContextReport | None:
        """Say what the last request was made of: of this process, else of this conversation."""
        own = self.last and context_report.of(self.runtime, self.last, "run")
        return own or last_report(self.opened, self.session.id)

    def prefix_report(self, done: Turn) -> str:
        """Say how much of this request the one before had already, and where they part."""
        if not (before := last_request(self.opened)):
            return "prefix: there is no earlier request to compare with"
        now = [(one.role, one.content) for one in done.composed.request.messages]
        same = words.shared_start(before, now)
        shared = sum(len(content.encode()) for _, content in now[:same])
        if same in (len(before), len(now)):
            return (
                f"prefix: {shared} bytes shared; nothing differs up to the end of the shorter one"
            )
        (_, old), (role, new) = before[same], now[same]
        first = words.shared_start(old.encode(), new.encode())
        part = "stable block" if role == "system" else f"{role} message"
        return f"prefix: {shared + first} bytes shared; first differs in the {part}, byte {first}"

    def pending(self) -> dict[str, int]:
        """Return how many jobs of each pass are due; passes without any are left out."""
        waiting: dict[str, int] = {}
        for each in registry.AFTER_TURN if self.runtime.writes else ():
            with suppress(UserError):  # a broken file is told of by the pass itself, or by doctor
                if (due := each.check(self.runtime)).due:
                    waiting[each.name] = len(due.jobs)
        return waiting

    def describe(self) -> list[str]:
        """Say what waits, and where it is done: a line, or none."""
        if not (waiting := self.pending()):
            return []
        limits = self.opened.config.limits
        mode = limits.settle if limits.passes_per_turn else "later"
        where = {"background": "in the background", "wait": "now", "later": "by `bumble tick`"}
        listed = ", ".join(f"{name} {count}" for name, count in waiting.items())
        return [f"[waiting: {listed}; settled {where[mode]}]"]

    def after_answer(self) -> bool:
        """Settle what the last answer left, if that is to be waited for.

        Returns:
            Whether it is to be settled in the background, once this process let go of its model.
        """
        opened, limits = self.opened, self.opened.config.limits
        if limits.settle == "later" or not limits.passes_per_turn or not self.pending():
            return False
        if limits.settle == "background":
            return opened.shell.spawn is not None
        used = len(self.last.reply.outcome.completions) if self.last else 0
        left = max(0, limits.calls_per_turn - used)
        runtime = replace(
            self.runtime, model=chat_model.budgeted(opened, self.runtime.model, calls=left)
        )
        passes = tick.run(runtime, "settle", registry.AFTER_TURN, limits.passes_per_turn)
        try:
            with locks.hold_work(opened.entity) as free:
                if not free:
                    return False
                output.say("settling (Ctrl-C leaves it for later) …")
                for settled in passes:
                    if settled.problem is not None:
                        output.warn(opened.shell, f"{settled.name} waits: {settled.problem}")
        except KeyboardInterrupt:
            output.say("interrupted: the rest is left for later")
        return False


def _profile_name(think: bool | None) -> ProfileName | None:
    return None if think is None else "deliberate" if think else "reflex"


def last_request(opened: Opened) -> list[tuple[str, str]]:
    """Return role and content of each message of the last request; nothing if it is not kept."""
    try:
        return [(str(role), str(content)) for role, content in opened.cached(LAST_REQUEST) or ()]
    except (TypeError, ValueError):
        return []  # damaged: it is only a cache


def last_report(opened: Opened, session_id: str = "") -> context_report.ContextReport | None:
    """Return the report of the last request, or of the last in a conversation; None: not kept."""
    found = opened.cached(f"{REPORTS}/{session_id}.json" if session_id else LAST_REPORT)
    return context_report.from_data(found) if isinstance(found, dict) else None


def _model(opened: Opened, *, yes: bool, writes: bool) -> tuple[Choice, Runtime]:
    """Choose and open the model that talks, and what works with it."""
    chosen = chat_model.choose_model(opened, yes=yes)
    backend = chat_model.open_model(opened, chosen, writes=writes)
    model = chat_model.recorded(opened, backend, "chat", writes=writes)
    return chosen, run_job.make_runtime(opened, chosen, model, yes=yes, writes=writes, talks=True)


def _make_room(opened: Opened) -> None:
    """Stop who settles; a model elsewhere answers a chat besides, so what it was asked is kept."""
    if chat_model.works_here(opened):
        locks.stop_settling(opened.entity)


@contextmanager
def open_to_talk(
    opened: Opened,
    speaker: str | None,
    *,
    yes: bool,
    writes: bool = True,
    present: Sequence[str] = (),
) -> Iterator[Conversation]:
    """Open everything a conversation needs, and close it behind it."""
    person = people.speaking(opened, speaker)
    others = [people.speaking(opened, name) for name in present]
    if writes:  # at once: what settles takes the time that opening a model needs
        _make_room(opened)
    chosen, runtime = _model(opened, yes=yes, writes=writes)
    if writes and opened.config.tools.servers:  # those of the owner's config
        outside = mcp.servers(opened.config, opened.shell, partial(output.warn, opened.shell))
        runtime = replace(runtime, outside=outside)
    talk = Conversation(opened, runtime, person, chosen, others)
    try:
        yield talk
    finally:
        if talk.runtime.outside:
            talk.runtime.outside.close()
        talk.end_warming()
        talk.runtime.model.close()  # it may be another by now


@contextmanager
def open_to_look(
    opened: Opened, speaker: str | None, session_id: str | None = None
) -> Iterator[Conversation]:
    """Open what a request is built from; no weights are fetched, and nothing is written."""
    person = people.speaking(opened, speaker)
    chosen, model = None, None
    try:
        chosen = chat_model.choose_model(opened)
        model = chat_model.open_model(opened, chosen, writes=False)
    except UserError as error:  # a request can be built for a model that is not there
        model = AbsentModel(error)
    with closing(model):
        runtime = run_job.make_runtime(opened, chosen, model, yes=False, writes=False, talks=True)
        runtime.memory.syncs = True  # derived files may be brought up to date by looking
        talk = Conversation(opened, runtime, person, chosen)
        talk.begin(session_id=session_id, new=False)
        yield talk


def in_background(opened: Opened) -> None:
    """Start a process that settles; it has the time and the seed of this one."""
    shell = opened.shell
    if shell.spawn is None:
        return
    arguments = ["-e", str(opened.entity.root), "tick", "--settle-only"]
    if shell.now_given is not None:
        arguments += ["--now", shell.now_given.isoformat()]
    if shell.seed is not None:
        arguments += ["--seed", str(shell.seed)]
    try:
        shell.spawn(arguments)
    except OSError as error:
        output.warn(shell, f"what the answer left is done later: {error.strerror or error}")


OWNER_NAME = "owner.name"


def _with_name(opened: Opened, introduced: str, *, yes: bool) -> Opened:
    """Return the entity with the owner's name as a message gives it, if that is agreed to.

    At a terminal the person is asked; elsewhere, and with --yes, they are told how: who somebody is
    no option knows. Who has none but the account's name is called as they say: nothing is lost.
    Who has a name isn't asked again: from then on there is a first message. That of the account
    alone is none, for whoever is called `root` says who they are when it suits them.

    Args:
        opened: The entity.
        introduced: The name by which somebody introduces themselves; empty where nobody does.
        yes: Whether every question is answered with yes.
    """
    if not (name := _new_name(opened, introduced)):
        return opened
    owner, entity = opened.identity.owner.name or "nobody", opened.identity.name
    is_named = owner not in ("nobody", config.NAMELESS, opened.shell.account_name if yes else "")
    asks = not yes and opened.shell.interactive
    if is_named and not asks:
        place = shlex.quote(str(opened.root))
        command = f"bumble config set -e {place} {OWNER_NAME} {shlex.quote(name)}"
        output.say(f"{entity} takes you for {owner}. If it belongs to {name}: {command}")
        return opened
    question = f"{entity} takes you for {owner}. Are you {name}, whom it belongs to?"
    if asks and not output.agrees(question, default=True):
        return opened
    own = setting_files.entitys(opened.root)
    plan = partial(settings.plan_set, key=OWNER_NAME, value_text=name, file=str(own.path))
    setting_files.edit(opened.shell, own, plan, f"new: the owner is {name}", dry_run=False)
    identity = replace(opened.identity, owner=replace(opened.identity.owner, name=name))
    output.say(f"{entity} knows you as {name} from now on; {OWNER_NAME} in entity.yaml says so.")
    return replace(opened, identity=identity)


def _new_name(opened: Opened, name: str) -> str:
    """Return a name that nobody has yet; empty for any other."""
    if not name or _is_part(opened.identity.name, name):  # "moin mira, ich bin uwe"
        return ""
    said = opened.identity.owner.name not in ("", newborn.user_name(opened.shell))
    if said and not people.is_first(opened):
        return ""
    if _is_part(name, opened.identity.owner.name) or _is_part(opened.identity.owner.name, name):
        return ""
    known = relationships.PERSON.readable(opened.entity.relationships)
    return "" if relationships.match(known, name) else name


def _is_part(name: str, whole: str) -> bool:
    """Whether a name is another, or one of its words: who says `Sam Miller` may be known as Sam."""
    return disk.same_name(name) in map(disk.same_name, (whole, *whole.split()))
