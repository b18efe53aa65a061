"""`bumble status`: the entity, its model, how full its window is, what waits.

Looks only: no model is opened and nothing is fetched; a part that can't be read is a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from json import loads
from typing import TYPE_CHECKING, Any, TypeVar

import typer
from msgspec.structs import asdict

from bumble.cli import body_view, index_place, listing, opening, output, people
from bumble.cli.entity_command import reads
from bumble.cli.models import chat_model, weights
from bumble.cli.opening import Opened
from bumble.entity import commits, git_operations
from bumble.errors import UserError
from bumble.files import git
from bumble.llm import detect
from bumble.models.weights import store
from bumble.records import kinds, session_files, sessions, state
from bumble.records.kind import Kind
from bumble.records.session_files import SessionInfo
from bumble.runtime import cursors, review_queue
from bumble.text import urls

if TYPE_CHECKING:
    from bumble.cli.models.chat_model import Facts
    from bumble.models.weights.catalog import CatalogEntry
    from bumble.models.weights.choice import Choice
    from bumble.records.session_files import SessionInfo
    from bumble.records.sessions import Session


app = typer.Typer(rich_markup_mode=None)
MEASURED_ON = "all-minilm-l6-v2"  # the embedding model that ranking weights were chosen on
T = TypeVar("T")
PEOPLE_LOOKED_AT = 5  # whose newest conversation is read for messages without an answer


@app.command()
@reads
def status(
    opened: Opened,
) -> None:
    """Show which entity this is, which model answers, and how it is."""
    paths = session_files.paths(opened.entity.sessions)
    infos = listing.readable(opened, paths, session_files.read_info).records
    talks = _newest_conversations(opened, infos)
    chosen = _or(opened, lambda: chat_model.choose_model(opened), None)
    facts = _or(opened, lambda: chat_model.look(opened, chosen), None) if chosen else None
    data = {
        "root": str(opened.entity.root),
        "why": opened.why,
        "name": opened.identity.name,
        "owner": opened.identity.owner.name or None,
        "timezone": opened.identity.timezone,
        "archetype": opened.identity.identity.archetype or None,
        "model": _model(opened, chosen, facts),
        "abilities": _or(opened, lambda: _abilities(opened, chosen), None),
        "embedding": _embedding(opened),
        "window": _or(opened, lambda: _window(opened, facts, talks[0] if talks else None), None),
        "last_session": _last(talks[0]) if talks else None,
        "mood": _or(opened, lambda: _mood(opened), None),
        "pending": _or(opened, lambda: _pending(opened), None),
        "due": _or(opened, lambda: _due(opened), None),
        "imports": listing.imports(infos),
        "unanswered": [message for talk in talks for message in _unanswered(talk)],
        "today": _today(opened),
        "uncommitted": _uncommitted(opened),
        "review": _or(opened, lambda: list(review_queue.waiting(opened.entity.root)), None),
        "not_obeyed": [rule.name for rule in opening.rules_from_elsewhere(opened)],
        "counts": _counts(opened),
        "index": _index(opened),
    }
    output.result(opened.shell, "status", data, _lines(opened, data))


def _or(opened: Opened, look: Callable[[], T], otherwise: T) -> T:
    """Look at a part; if it can't be read, warn and go on."""
    try:
        return look()
    except UserError as error:
        output.warn(opened.shell, str(error))
        return otherwise


def _newest_conversations(opened: Opened, infos: Sequence[SessionInfo]) -> list[Session]:
    """Read the newest conversation of each of the people who spoke last, the newest first."""
    lived = [info for info in infos if info.imported is None]
    newest = session_files.by_recency(lived, opened.shell.now())[::-1]
    by_person = {info.by: info.id for info in reversed(newest)}
    chosen = [info.id for info in newest if by_person[info.by] == info.id][:PEOPLE_LOOKED_AT]
    wanted = [opened.entity.sessions / talk_id / sessions.FILE for talk_id in chosen]
    return list(listing.readable(opened, wanted[::-1], session_files.load).records)[::-1]


def _model(opened: Opened, chosen: Choice | None, facts: Facts | None) -> dict[str, Any] | None:
    """Say which model would talk, and what it lacks."""
    if chosen is None:
        return None
    names = facts.names if facts else ()
    lacks = chat_model.missing(chosen, names) or None
    if chosen.backend == "embedded" and chosen.entry is not None:
        if problem := detect.problem():
            lacks = " · ".join(problem.splitlines())
        elif not (opened.shell.weights / chosen.entry.name / store.MANIFEST).is_file():
            lacks = f"it is fetched when you first chat, or by `bumble model pull {chosen.model}`"
    return {
        "name": chosen.model,
        "backend": chosen.backend,
        "why": chosen.why,
        "url": urls.shown(chosen.url) or None,
        "lacks": lacks,
        "others": sorted(names),
    }


def _abilities(opened: Opened, chosen: Choice | None) -> list[dict[str, str]]:
    """Say how far the model is trusted, in the languages that are spoken."""
    from bumble.cli import runtimes
    from bumble.cli.models import abilities
    from bumble.runtime import spoken

    if chosen is None or not weights.is_here(opened, chosen):
        return []
    with runtimes.open_runtime(opened, "status", needs_model=False) as runtime:
        codes = spoken.latest(runtime)
    trusted = abilities.standings(opened, chosen, codes)
    return [asdict(one) | {"line": one.line} for one in trusted if one.language in codes]


def _embedding(opened: Opened) -> dict[str, Any] | None:
    """Say which embedding model would be used; None: words alone find things."""
    wanted = opened.config.embedding.model
    if wanted == "none":
        return None
    catalog = weights.catalog_of(opened.shell)
    before = weights.embedded_by(opened)
    unnamed: list[CatalogEntry] = []
    named = _or(opened, lambda: weights.embedding_models(opened, catalog, before), unnamed)
    here = weights.installed(opened.shell, named)
    if not here or here[0].embedding is None:
        return None
    widths, asked = here[0].embedding.dimensions, opened.config.memory.embedding_dimensions
    why = "the best that is here" if wanted == "auto" else "embedding.model"
    return {
        "name": here[0].name,
        "dimensions": asked if asked in widths else widths[0],
        "why": why,
    }


def _window(opened: Opened, facts: Facts | None, talk: Session | None) -> dict[str, Any]:
    """Estimate how full the window is before the next message."""
    from bumble.prompt import transcript
    from bumble.text import tokens

    limit = facts.used if facts else opened.config.cognition.max_context_tokens
    always = chat_model.stable_tokens(opened, talk)
    view = transcript.view(talk, max(256, limit - always)) if talk else transcript.View((), 0)
    tokens_shown = sum(tokens.estimate_message(message.content) for message in view.messages)
    return {
        "tokens": limit,
        "stable_tokens": always,
        "history_tokens": tokens_shown,
        "left_out_messages": view.left_out,
        "full": round((always + tokens_shown) / limit, 4),
        "estimated": True,
        "model_tokens": facts.window if facts else None,
        "source": facts.window_source if facts else None,
        "line": facts.window_line if facts else None,
    }


def _last(talk: Session) -> dict[str, Any]:
    return {
        "id": talk.id,
        "at": talk.at.isoformat(),
        "last_at": talk.last_at.isoformat(),
        "people": list(talk.people),
        "messages": sum(message.role != "tool" for message in talk.messages),
        "ended": talk.ended.isoformat() if talk.ended else None,
    }


def _unanswered(talk: Session) -> list[dict[str, Any]]:
    return [
        {
            "session": talk.id,
            "id": message.id,
            "at": message.at.isoformat(),
            "person": message.speaker or talk.by,
            "text": message.text,
        }
        for message in talk.unanswered
    ]


def _today(opened: Opened) -> dict[str, Any]:
    """Say what today has cost up to now."""
    from bumble.llm import ledger

    spent = ledger.today(opened.entity.ledger, opened.shell.now(), opened.zone)
    limit = opened.config.limits.tokens_per_day
    counts = {"calls": spent.calls, "tokens": spent.tokens, "tokens_per_day": limit}
    return {**counts, "dollars": round(spent.dollars, 6)}


def _uncommitted(opened: Opened) -> dict[str, Any] | None:
    """Say what is written and waits for git, and why; None where nothing does."""
    waiting = commits.notes(opened.entity.root)
    place = git.at(opened.entity.root)
    if not waiting or place is None:
        return None
    locks = git_operations.locks(place.repository)
    under_way = place.repository.under_way
    why = f"{under_way} is under way; finish it first" if under_way else ""
    if not why and locks:
        why = f"{locks[0]} is there: another git is at work, or was killed"
    return {"count": len(waiting), "titles": [note.title for note in waiting], "why": why or None}


def _mood(opened: Opened) -> dict[str, Any]:
    mood = body_view.look(opened).mood
    return {"name": mood.name, "intensity": round(mood.intensity, 4)}


def _pending(opened: Opened) -> int:
    """Count the conversations of which something has still to be made."""
    ids = {path.parent.name for path in session_files.paths(opened.entity.sessions)}
    file = state.read(opened.within(opened.entity.state))
    return len(ids & set(cursors.waiting(file)))


def _due(opened: Opened) -> dict[str, int]:
    """Count the reminders and automations whose time has come."""
    from bumble.cli import runtimes
    from bumble.jobs import automations, reminders

    with runtimes.open_runtime(opened, "status", needs_model=False) as runtime:
        return {
            "reminders": len(reminders.check(runtime).jobs),
            "automations": len(automations.check(runtime).jobs),
        }


def _counts(opened: Opened) -> dict[str, int | None]:
    """Count what there is by its files, without reading them; None for a file that is broken."""
    return {kind.key: _count(opened, kind) for kind in kinds.KINDS if kind.counted}


def _count(opened: Opened, kind: Kind) -> int | None:
    paths = kind.paths(opened.entity)
    if not kind.is_file:
        return len(paths)
    zone = opened.zone
    return _or(opened, lambda: sum(len(kind.read(path, zone)) for path in paths), None)


def _index(opened: Opened) -> dict[str, Any]:
    """Say how the index stands to the files, and which model made its vectors."""
    from bumble.index import sync

    problem, state = None, sync.IndexState(exists=False)
    try:
        state = sync.state(opened.entity, index_place.place_of(opened.entity, opened.config.index))
    except UserError as error:
        problem = str(error)
    made_by = loads(state.identity) if state.identity else {}
    return {
        **{name: value for name, value in asdict(state).items() if name != "identity"},
        "embedding": made_by.get("model"),
        "dimensions": made_by.get("dimensions"),
        "problem": problem,
    }


def _lines(opened: Opened, data: dict[str, Any]) -> list[str]:
    """Write it for people."""
    rows = [
        ("folder", f"{data['root']} ({data['why']})"),
        ("owner", data["owner"] or ""),
        ("time zone", data["timezone"]),
        ("model", _model_line(data["model"])),
        ("it has", chat_model.listed(tuple(data["model"]["others"])) if data["model"] else ""),
        *(("trusted with", one["line"]) for one in data["abilities"] or ()),
        ("embedding", _embedding_line(data["embedding"])),
        ("it takes", (data["window"] or {}).get("line") or ""),
        ("window", _window_line(data["window"])),
        ("last talk", _last_line(opened, data["last_session"], _lived(data))),
        *(("unanswered", _unanswered_line(opened, message)) for message in data["unanswered"]),
        ("today", _today_line(data["today"])),
        ("mood", _mood_line(data["mood"])),
        ("pending", _pending_line(data["pending"])),
        ("due", _due_line(data["due"])),
        ("to commit", _uncommitted_line(data["uncommitted"])),
        ("to review", _review_line(data["review"])),
        ("not obeyed", ", ".join(data["not_obeyed"])),
        ("imported", listing.imports_line(data["imports"])),
        ("remembers", _counts_line(data["counts"])),
        ("index", _index_line(data["index"])),
    ]
    return [data["name"], *listing.details(rows)]


def _model_line(model: dict[str, Any] | None) -> str:
    if model is None:
        return "none can be chosen"
    lacks = f": {model['lacks']}" if model["lacks"] else ""
    return f"{model['name']} ({model['backend']}; {model['why']}){lacks}"


def _embedding_line(embedding: dict[str, Any] | None) -> str:
    if embedding is None:
        return "none: words alone find things, not their meaning"
    told = f"{embedding['name']}, {embedding['dimensions']} dimensions ({embedding['why']})"
    if embedding["name"] == MEASURED_ON:
        return told
    return f"{told}; what counts in ranking was chosen on {MEASURED_ON}"


def _window_line(window: dict[str, Any] | None) -> str:
    if window is None:
        return ""
    used = window["stable_tokens"] + window["history_tokens"]
    sentence = (
        f"{window['full']:.0%} full: about {used:,} of {window['tokens']:,} tokens"
        f" ({window['stable_tokens']:,} always, {window['history_tokens']:,} of the last talk)"
    )
    if window["left_out_messages"]:
        sentence += f", {listing.counted(window['left_out_messages'], 'older message')} left out"
    return sentence


def _lived(data: dict[str, Any]) -> int:
    """Return how many conversations there are that were had here."""
    return int(data["counts"]["sessions"]) - int(data["imports"]["conversations"])


def _last_line(opened: Opened, last: dict[str, Any] | None, lived: int) -> str:
    if last is None and lived:
        return "can't be read (see `bumble doctor`)"
    if last is None:
        return 'none yet; begin with `bumble chat "Hello"`'
    called = people.names(opened)
    names = ", ".join(called.get(person, person) for person in last["people"])
    at = listing.when(listing.moment(last["last_at"], opened, "last_at"), opened)
    count = listing.counted(last["messages"], "message")
    return f"{at} with {names}, {count}{', ended' if last['ended'] else ''} ({last['id']})"


def _unanswered_line(opened: Opened, message: dict[str, Any]) -> str:
    at = listing.when(listing.moment(message["at"], opened, "at"), opened)
    return f"{at} {output.shorten(message['text'], 60)}"


def _today_line(today: dict[str, Any]) -> str:
    calls, tokens, limit = today["calls"], today["tokens"], today["tokens_per_day"]
    if not calls and limit is None:
        return ""
    most = f" of {limit:,}" if limit is not None else ""
    cost = f", {output.dollars(today['dollars'])}" if today["dollars"] else ""
    return f"{listing.counted(calls or 0, 'model call')}, {tokens or 0:,}{most} tokens{cost}"


def _uncommitted_line(uncommitted: dict[str, Any] | None) -> str:
    if uncommitted is None:
        return ""
    sets = listing.counted(uncommitted["count"], "change")
    why = uncommitted["why"] or "the next change takes it along"
    return f"{sets} not in git yet: {why}"


def _review_line(names: list[str] | None) -> str:
    return f"{listing.counted(len(names), 'proposal')}: `bumble review`" if names else ""


def _mood_line(mood: dict[str, Any] | None) -> str:
    if mood is None:
        return "can't be read (see `bumble doctor`)"
    return f"{mood['name']} ({mood['intensity']:.2f})" if mood["intensity"] else mood["name"]


def _pending_line(pending: int | None) -> str:
    """Say how many conversations wait to be remembered."""
    if pending is None:
        return "can't be read (see `bumble doctor`)"
    talks = "talk" if pending == 1 else "talks"
    return f"{pending} {talks} of which nothing is remembered yet" if pending else ""


def _due_line(due: dict[str, int] | None) -> str:
    if due is None:
        return "can't be read (see `bumble doctor`)"
    parts = [listing.counted(count, name.removesuffix("s")) for name, count in due.items() if count]
    return f"{', '.join(parts)}; `bumble tick` does them" if parts else ""


def _counts_line(counts: dict[str, int | None]) -> str:
    parts = [
        f"{count:,} {kind.singular if count == 1 else kind.plural}"
        for kind in kinds.KINDS
        if (count := counts.get(kind.key))
    ]
    return ", ".join(parts) or "nothing yet"


def _index_line(index: dict[str, Any]) -> str:
    if index["problem"]:
        return str(index["problem"]).replace("\n", " ")
    on = f"on {index_place.described(index['server'])}, " if index["server"] else ""
    if not index["exists"]:
        return f"{on}not made yet; the first search makes it"
    parts = [on + listing.counted(index["chunks"], "passage")]
    parts.append(
        f"{listing.counted(index['stale'], 'file')} behind" if index["stale"] else "up to date"
    )
    if index["waiting"]:
        parts.append(f"{index['waiting']:,} without a vector")
    if index["problems"]:
        parts.append(
            f"{listing.counted(index['problems'], 'file')} unreadable (see `bumble doctor`)"
        )
    return ", ".join(parts)
