"""Doctor's checks of sources: they are still there, and no audience is too wide.

Takes what `check_records` has read anyway: each record is read once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from bumble.records import base
from bumble.records.base import Provenance
from bumble.records.sessions import Session
from bumble.upkeep.findings import Finding

MOST_NAMED = 3  # sources that one finding names


@dataclass(frozen=True)
class _Derived:
    """A record that names sources."""

    origin: Provenance
    sources: tuple[str, ...]
    path: str
    line: Callable[[], int | None]
    fix: str


@dataclass
class Sources:
    """The provenance of every record by its id, and the records that name sources."""

    origins: dict[str, Provenance] = field(default_factory=dict)  # by id: source trust and audience
    derived: list[_Derived] = field(default_factory=list)

    def record(
        self,
        record_id: str,
        origin: Provenance,
        sources: Iterable[str],
        path: str,
        line: Callable[[], int | None],
        fix: str,
    ) -> None:
        """Take a record in.

        Args:
            record_id: By which others may name it; empty if none does.
            origin: Its provenance.
            sources: Ids of all it rests on.
            path: Relative to the entity's folder.
            line: Finds the line a finding should name.
            fix: The command that opens it.
        """
        if record_id:
            self.origins[record_id] = origin
        named = tuple(dict.fromkeys(source for source in sources if source))
        if named:
            self.derived.append(_Derived(origin, named, path, line, fix))

    def session(self, session_id: str, session: Session) -> None:
        """Take a conversation in, with all its messages."""
        people = session.people
        self.origins[session_id] = Provenance(audience=people)
        for message in session.messages:
            self.origins[message.id] = Provenance(trust=message.trust, audience=people)
        for summary in session.compactions:
            self.origins[summary.id] = Provenance(audience=people)

    def check(self) -> Iterator[Finding]:
        """Compare the trust and audience of every record with those of its sources."""
        for record in self.derived:
            gone = [name for name in record.sources if name not in self.origins]
            if gone:
                sentence = (
                    f"it rests on {_named(gone)}, which is not here: forgotten, or not merged"
                )
                yield Finding("source-missing", sentence, record.path, record.line(), record.fix)
            if record.origin.trust or record.origin.model:  # else a person vouches for it
                yield from self._check_tiers(record)

    def _check_tiers(self, record: _Derived) -> Iterator[Finding]:
        source_origins = {
            name: self.origins[name] for name in record.sources if name in self.origins
        }
        raised = [
            name
            for name, source in source_origins.items()
            if record.origin.trust and base.is_lower(source.trust, record.origin.trust)
        ]
        if raised:
            lowest = base.lowest_trust(source_origins[name].trust for name in raised)
            sentence = (
                f"it claims the trust `{record.origin.trust}`, but {_named(raised)} has `{lowest}`"
            )
            yield Finding("trust-raised", sentence, record.path, record.line(), record.fix)
        narrower = [
            name for name, source in source_origins.items() if _is_wider(record.origin, source)
        ]
        if narrower:
            who = ", ".join(record.origin.audience) or "everyone"
            private = ", ".join(source_origins[narrower[0]].audience)
            sentence = f"{who} may meet it, but {_named(narrower)} is only for {private}"
            yield Finding("audience-wider", sentence, record.path, record.line(), record.fix)


def _is_wider(origin: Provenance, source: Provenance) -> bool:
    """Whether somebody may meet a record who may not meet what it rests on."""
    return bool(source.audience) and not (
        origin.audience and set(origin.audience) <= set(source.audience)
    )


def _named(ids: list[str]) -> str:
    more = f" and {len(ids) - MOST_NAMED} more" if len(ids) > MOST_NAMED else ""
    return ", ".join(ids[:MOST_NAMED]) + more
