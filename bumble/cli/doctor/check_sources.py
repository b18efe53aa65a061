"""Doctor's checks of sources: they are still there, and no audience is too wide.

Takes what `check_records` has read anyway: each record is read once.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from bumble.history.findings import Finding
from bumble.records import base
from bumble.records.base import Provenance
from bumble.records.kind import RecordView, unite
from bumble.records.sessions import Session

MOST_NAMED = 3  # sources that one finding names


class _Derived(Struct, frozen=True):
    """A record that names sources, or people."""

    view: RecordView
    path: str
    fix: str

    def finding(self, code: str, sentence: str, *keys: str) -> Finding:
        """Return a finding that names the line of the first of some keys."""
        return Finding(code, sentence, self.path, self.view.line_of(*keys), self.fix)


class Sources(Struct):
    """The provenance of every record by its id, and the records that name sources."""

    origins: dict[str, Provenance] = field(default_factory=dict)  # by id: source trust and audience
    derived: list[_Derived] = field(default_factory=list)
    people: set[str] = field(default_factory=set)  # ids of all whom a portrait or a talk knows

    def record(self, record_id: str, view: RecordView, path: str, fix: str) -> None:
        """Take a record in.

        Args:
            record_id: By which others may name it; empty if none does.
            view: What it rests on, and whom it names.
            path: Relative to the entity's folder.
            fix: The command that opens it.
        """
        if record_id:
            self.origins[record_id] = view.origin
        if view.sources or view.people or view.origin.audience:
            self.derived.append(_Derived(view, path, fix))

    def session(self, session_id: str, session: Session) -> None:
        """Take a conversation in, with all its messages."""
        people = session.people
        self.people.update(people)
        self.origins[session_id] = Provenance(audience=people)
        for message in session.messages:
            self.origins[message.id] = Provenance(trust=message.trust, audience=people)
        for summary in session.compactions:
            self.origins[summary.id] = Provenance(audience=people)

    def check(self) -> Iterator[Finding]:
        """Compare the trust and audience of every record with those of its sources."""
        for record in self.derived:
            view = record.view
            gone = [name for name in view.sources if name not in self.origins]
            if gone:
                sentence = (
                    f"it rests on {_named(gone)}, which is not here: forgotten, or not merged"
                )
                yield record.finding("source-missing", sentence, view.sources_key, "from")
            if view.origin.trust or view.origin.model:  # else a person vouches for it
                yield from self._check_tiers(record)
            yield from self._check_people(record)

    def _check_tiers(self, record: _Derived) -> Iterator[Finding]:
        view, origin = record.view, record.view.origin
        source_origins = {name: self.origins[name] for name in view.sources if name in self.origins}
        raised = [
            name
            for name, source in source_origins.items()
            if origin.trust and base.is_lower(source.trust, origin.trust)
        ]
        if raised:
            lowest = base.lowest_trust(source_origins[name].trust for name in raised)
            sentence = f"it claims the trust `{origin.trust}`, but {_named(raised)} has `{lowest}`"
            yield record.finding("trust-raised", sentence, view.sources_key, "from")
        narrower = [name for name, source in source_origins.items() if _is_wider(origin, source)]
        if narrower:
            who = ", ".join(origin.audience) or "everyone"
            private = ", ".join(source_origins[narrower[0]].audience)
            sentence = f"{who} may meet it, but {_named(narrower)} is only for {private}"
            yield record.finding("audience-wider", sentence, view.sources_key, "from")

    def _check_people(self, record: _Derived) -> Iterator[Finding]:
        """Find whom nothing knows any more: `person forget` leaves no id behind, a copy may."""
        listed = unite(record.view.people, record.view.origin.audience)
        strangers = [person for person in listed if person not in self.people]
        if strangers:
            sentence = (
                f"it names {_named(strangers)}, whom no portrait and no conversation knows: "
                "forgotten, or not merged"
            )
            yield record.finding("person-missing", sentence, "people", "for", "audience")


def _is_wider(origin: Provenance, source: Provenance) -> bool:
    """Whether somebody may meet a record who may not meet what it rests on."""
    return bool(source.audience) and not (
        origin.audience and set(origin.audience) <= set(source.audience)
    )


def _named(ids: list[str]) -> str:
    more = f" and {len(ids) - MOST_NAMED} more" if len(ids) > MOST_NAMED else ""
    return ", ".join(ids[:MOST_NAMED]) + more
