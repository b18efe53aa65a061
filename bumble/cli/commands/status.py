"""`bumble status`: the entity, its model, how full its window is, what waits.

Looks only: no model is opened and nothing is fetched; a part that can't be read is a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from json import loads
from typing import Any, TypeVar

from msgspec.structs import asdict

from bumble.cli import body, command, index_place, listing, opening, output, people
from bumble.cli.models import abilities, chat_model, weights
from bumble.entity import git_operations, uncommitted
from bumble.errors import UserError
from bumble.files import git
from bumble.index import sync
from bumble.jobs import tick
from bumble.llm import detect, ledger
from bumble.models.weights import catalog as catalogs
from bumble.models.weights import choice, store
from bumble.prompt import transcript
from bumble.records import kinds, session_files, sessions, state
from bumble.runtime import review_queue, schedule
from bumble.text import printable, tokens, words

MEASURED_ON = "all-minilm-l6-v2"  # the embedding model that ranking weights were chosen on
T = TypeVar("T")
PEOPLE_LOOKED_AT = 5  # whose newest conversation is read for messages without an answer
UNREAD = "can't be read (see `bumble doctor`)"
# As JSON tells it, and as lines do, by name where it is another than the part's; empty: none.
Part = tuple[Any, str | Sequence[str | tuple[str, str]]]


@command.reads
def status(opened: opening.Opened) -> None:
    """Show which entity this is, which model answers, and how it is."""
    look, identity = Look(opened), opened.identity
    data: dict[str, Any] = {
        "root": str(opened.root),
        "why": opened.why,
        "name": identity.name,
        "owner": identity.owner.name or None,
        "timezone": identity.timezone,
        "archetype": identity.identity.archetype or None,
    }
    rows = [
        ("folder", f"{opened.root} ({opened.why})"),
        ("owner", identity.owner.name),
        ("time zone", identity.timezone),
    ]
    for key, name, part, unread in PARTS:
        nothing: Part = (None, unread)
        data[key], told = look.at(partial(part, look), nothing)
        lines = [told] if isinstance(told, str) else told
        rows += [(name, one) if isinstance(one, str) else one for one in lines]
    output.result(opened.shell, "status", data, [identity.name, *listing.details(rows)])


class Look:
    """What several parts look at, each once."""

    def __init__(self, opened: opening.Opened) -> None:
        self.opened = opened

    def at(self, look: Callable[[], T], otherwise: T) -> T:
        """Look at a part; if it can't be read, warn and go on."""
        try:
            return look()
        except UserError as error:
            output.warn(self.opened.shell, str(error))
            return otherwise

    @cached_property
    def infos(self) -> tuple[session_files.SessionInfo, ...]:
        """The conversations, the one that went on last at the end."""
        return people.talks(self.opened).records

    @cached_property
    def talks(self) -> list[sessions.Session]:
        """The newest conversation of each of the people who spoke last, the newest first."""
        newest = [info for info in self.infos[::-1] if info.imported is None]
        by_person = {info.by: info.id for info in reversed(newest)}
        chosen = [info.id for info in newest if by_person[info.by] == info.id][:PEOPLE_LOOKED_AT]
        wanted = [self.opened.entity.sessions / talk_id / sessions.FILE for talk_id in chosen]
        return [*listing.readable(self.opened, wanted[::-1], session_files.load).records][::-1]

    @cached_property
    def chosen(self) -> choice.Choice | None:
        """The model that would talk; None: none can be chosen."""
        return self.at(lambda: chat_model.choose_model(self.opened), None)

    @cached_property
    def facts(self) -> chat_model.Facts | None:
        """What is known of that model."""
        chosen = self.chosen
        return self.at(lambda: chat_model.look(self.opened, chosen), None) if chosen else None


def _model(look: Look) -> Part:
    """Say which model would talk, and what it lacks."""
    chosen, names = look.chosen, look.facts.names if look.facts else ()
    if chosen is None:
        return None, "none can be chosen"
    lacks = chat_model.missing(chosen, names) or None
    if chosen.backend == "embedded" and chosen.entry is not None:
        if problem := detect.problem():
            lacks = " · ".join(problem.splitlines())
        elif not (look.opened.shell.weights / chosen.entry.name / store.MANIFEST).is_file():
            lacks = f"it is fetched when you first chat, or by `bumble model pull {chosen.model}`"
    data = {
        "name": chosen.model,
        "backend": chosen.backend,
        "why": chosen.why,
        "url": printable.shown_url(chosen.url) or None,
        "lacks": lacks,
        "others": sorted(names),
    }
    line = f"{chosen.model} ({chosen.backend}; {chosen.why}){f': {lacks}' if lacks else ''}"
    return data, [line, ("it has", output.few(sorted(names), chat_model.SHOWN_NAMES))]


def _abilities(look: Look) -> Part:
    """Say how far the model is trusted, in the languages that are spoken."""
    if look.chosen is None or not weights.is_here(look.opened, look.chosen):
        return [], ""
    spoken = look.opened.spoken
    standings = abilities.standings(look.opened, look.chosen, spoken)
    known = [one for one in standings if one.language in spoken]
    return [asdict(one) | {"line": one.line} for one in known], [one.line for one in known]


def _embedding(look: Look) -> Part:
    """Say which embedding model would be used; None: words alone find things."""
    opened, wanted = look.opened, look.opened.config.embedding.model
    unnamed: list[catalogs.CatalogEntry] = []
    named = look.at(lambda: weights.embedding_models(opened), unnamed)
    here = next((one for one in weights.installed(opened.shell, named) if one.embedding), None)
    if here is None or here.embedding is None:
        return None, "none: words alone find things, not their meaning"
    widths, asked = here.embedding.dimensions, opened.config.memory.embedding_dimensions
    data = {
        "name": here.name,
        "dimensions": asked if asked in widths else widths[0],
        "why": "the best that is here" if wanted == "auto" else "embedding.model",
    }
    elsewhere = f"; what counts in ranking was chosen on {MEASURED_ON}"
    line = "{name}, {dimensions} dimensions ({why})".format(**data)
    return data, line + elsewhere * (here.name != MEASURED_ON)


def _window(look: Look) -> Part:
    """Estimate how full the window is before the next message."""
    facts, talk = look.facts, look.talks[0] if look.talks else None
    limit = facts.used if facts else look.opened.config.cognition.max_context_tokens
    always = chat_model.stable_tokens(look.opened, talk)
    view = transcript.view(talk, max(256, limit - always)) if talk else transcript.View((), 0)
    shown = sum(tokens.estimate_message(message.content) for message in view.messages)
    full = round((always + shown) / limit, 4)
    data = {
        "tokens": limit,
        "stable_tokens": always,
        "history_tokens": shown,
        "left_out_messages": view.left_out,
        "full": full,
        "estimated": True,
        "model_tokens": facts.window if facts else None,
        "source": facts.window_source if facts else None,
        "line": facts.window_line if facts else None,
    }
    left_out = words.counted(view.left_out, "older message")
    line = (
        f"{full:.0%} full: about {always + shown:,} of {limit:,} tokens"
        f" ({always:,} always, {shown:,} of the last talk)"
    )
    line += f", {left_out} left out" if view.left_out else ""
    return data, [("it takes", facts.window_line if facts else ""), line]


def _last(look: Look) -> Part:
    if not look.talks:
        imported = sum(info.imported is not None for info in look.infos)
        lived = len(session_files.SESSION.paths(look.opened.entity)) - imported
        return None, UNREAD if lived else 'none yet; begin with `bumble chat "Hello"`'
    talk, called = look.talks[0], people.names(look.opened)
    count = sum(message.role != "tool" for message in talk.messages)
    data = {
        "id": talk.id,
        "at": talk.at.isoformat(),
        "last_at": talk.last_at.isoformat(),
        "people": list(talk.people),
        "messages": count,
        "ended": talk.ended.isoformat() if talk.ended else None,
    }
    names = ", ".join(called.get(person, person) for person in talk.people)
    said = f"{words.counted(count, 'message')}{', ended' if talk.ended else ''} ({talk.id})"
    return data, f"{listing.when(talk.last_at, look.opened)} with {names}, {said}"


def _unanswered(look: Look) -> Part:
    waiting = [(talk, message) for talk in look.talks for message in talk.unanswered]
    data = [
        {
            "session": talk.id,
            "id": message.id,
            "at": message.at.isoformat(),
            "person": message.speaker or talk.by,
            "text": message.text,
        }
        for talk, message in waiting
    ]
    return data, [
        f"{listing.when(message.at, look.opened)} {output.shorten(message.text, 60)}"
        for _, message in waiting
    ]


def _today(look: Look) -> Part:
    """Say what today has cost up to now."""
    opened = look.opened
    spent = ledger.today(opened.entity.ledger, opened.shell.now(), opened.zone)
    limit, cost = opened.config.limits.tokens_per_day, round(spent.dollars, 6)
    counts = {"calls": spent.calls, "tokens": spent.tokens, "tokens_per_day": limit}
    most = f" of {limit:,}" if limit is not None else ""
    costs = f", {output.dollars(cost)}" if cost else ""
    calls = words.counted(spent.calls or 0, "model call")
    line = f"{calls}, {spent.tokens or 0:,}{most} tokens{costs}"
    return {**counts, "dollars": cost}, line if spent.calls or limit is not None else ""


def _mood(look: Look) -> Part:
    mood = body.look(look.opened)[0].mood
    line = body.with_strength(mood.name, mood.intensity)
    return {"name": mood.name, "intensity": round(mood.intensity, 4)}, line


def _pending(look: Look) -> Part:
    """Count the conversations of which something has still to be made."""
    opened = look.opened
    ids = {path.parent.name for path in session_files.paths(opened.entity.sessions)}
    count = len(ids & set(state.waiting(state.read(opened.within(opened.entity.state)))))
    line = f"{words.counted(count, 'talk')} of which nothing is remembered yet"
    return count, line if count else ""


def _due(look: Look) -> Part:
    """Count the reminders and automations whose time has come."""
    opened, now = look.opened, look.opened.now
    waiting, _, broken = schedule.due_reminders(opened.entity, now)
    given = (opened.entity, opened.identity, opened.config)
    said = sum(schedule.waits_for(*given, one, now) is None for one in waiting)
    ready, _, unread = schedule.due_automations(opened.entity, now, opened.zone)
    counts = {"reminders": said, "automations": len(ready)}
    parts = [words.counted(count, name[:-1]) for name, count in counts.items() if count]
    lost = len(broken) + len(unread)
    told = [f"{', '.join(parts)}; `bumble tick` does them"] if parts else []
    return counts, "; ".join([*told, *([f"{lost} {UNREAD}"] if lost else [])])


def _uncommitted(look: Look) -> Part:
    """Say what is written and waits for git, and why; None where nothing does."""
    waiting, place = uncommitted.notes(look.opened.root), git.at(look.opened.root)
    if not waiting or place is None:
        return None, ""
    whys = [
        f"{name} is under way; finish it first" for name in [place.repository.under_way] if name
    ]
    locks = git_operations.locks(place.repository)
    whys += [f"{lock} is there: another git is at work, or was killed" for lock in locks]
    titles, why = [note.title for note in waiting], next(iter(whys), None)
    told = f"{words.counted(len(titles), 'change')} not in git yet"
    data = {"count": len(titles), "titles": titles, "why": why}
    return data, f"{told}: {why or 'the next change takes it along'}"


def _review(look: Look) -> Part:
    names = list(review_queue.waiting(look.opened.root))
    return names, f"{words.counted(len(names), 'proposal')}: `bumble review`" if names else ""


def _not_obeyed(look: Look) -> Part:
    names = [rule.name for rule in opening.rules_from_elsewhere(look.opened)]
    return names, ", ".join(names)


def _counts(look: Look) -> Part:
    """Count what there is by its files, without reading them; None for a file that is broken."""
    counts = {kind.key: _count(look, kind) for kind in kinds.KINDS if kind.counted}
    parts = [
        f"{count:,} {kind.singular if count == 1 else kind.plural}"
        for kind in kinds.KINDS
        if (count := counts.get(kind.key))
    ]
    return counts, ", ".join(parts) or "nothing yet"


def _count(look: Look, kind: kinds.Kind) -> int | None:
    paths, zone = kind.paths(look.opened.entity), look.opened.zone
    if not kind.is_file:
        return len(paths)
    return look.at(lambda: sum(len(kind.read(path, zone)) for path in paths), None)


def _index(look: Look) -> Part:
    """Say how the index stands to the files, and which model made its vectors."""
    opened, problem, found = look.opened, None, sync.IndexState(exists=False)
    try:
        found = sync.state(opened.entity, index_place.place_of(opened))
    except UserError as error:
        problem = str(error)
    made_by = loads(found.identity) if found.identity else {}
    data = {
        **{
            name: each
            for name, each in asdict(found).items()
            if name not in ("identity", "orphans")
        },
        "embedding": made_by.get("model"),
        "dimensions": made_by.get("dimensions"),
        "problem": problem,
    }
    behind, broken = (words.counted(n, "file") for n in (found.stale, found.problems))
    parts = [
        f"on {index_place.described(found.server)}" if found.server else "",
        words.counted(found.chunks, "passage"),
        f"{behind} behind" if found.stale else "up to date",
        f"{found.waiting:,} without a vector" if found.waiting else "",
        f"{broken} unreadable (see `bumble doctor`)" if found.problems else "",
    ]
    if not found.exists:
        parts = [parts[0], "not made yet; the first search makes it"]
    return data, problem.replace("\n", " ") if problem else ", ".join(filter(None, parts))


# Key in JSON, name in text, what looks, and what is said where it can't be read.
PARTS: tuple[tuple[str, str, Callable[[Look], Part], str], ...] = (
    ("model", "model", _model, ""),
    ("abilities", "trusted with", _abilities, ""),
    ("embedding", "embedding", _embedding, ""),
    ("window", "window", _window, ""),
    ("last_session", "last talk", _last, ""),
    ("unanswered", "unanswered", _unanswered, ""),
    ("today", "today", _today, ""),
    ("mood", "mood", _mood, UNREAD),
    ("pending", "pending", _pending, UNREAD),
    ("due", "due", _due, UNREAD),
    (
        "failing",
        "failing",
        lambda look: (
            (line := tick.failing(look.opened.entity.runs, look.opened.zone)) or None,
            line,
        ),
        "",
    ),
    ("uncommitted", "to commit", _uncommitted, ""),
    ("review", "to review", _review, ""),
    ("not_obeyed", "not obeyed", _not_obeyed, ""),
    ("imports", "imported", lambda look: listing.imports(look.infos), ""),
    ("counts", "remembers", _counts, ""),
    ("index", "index", _index, ""),
)
