"""Episode files: what happened, one Markdown file each, with imprints.

Layout: `episodes/<year>/<month>/<id>.md`. Ids start with the time, so sorting by name sorts by
time. Knows nothing of models or ranking.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar

from msgspec import Struct

from bumble.body.affects import Imprint as Imprint
from bumble.entity.changes import Change
from bumble.entity.folder import Entity
from bumble.errors import RecordMissingError
from bumble.records import base
from bumble.records.fields import BODY, JOINED, Key, joined, unit
from bumble.records.kind import About, Record, RecordKind
from bumble.text import markdown, titles

REFLECTION_MAX_CHARS = 1500  # longest text of why it mattered
UNKNOWN = 0.5  # how much it mattered, where nothing says so
EXCERPT = "excerpt"  # the value of `summary_source` where it is quotes alone


class Telling(Struct, frozen=True):
    """The text of an episode in its two parts."""

    narrative: str  # what happened
    reflection: str = ""  # why it mattered, to the entity; empty: nobody has said yet

    @property
    def text(self) -> str:
        """The body of the file; `telling` takes it apart again."""
        own = (markdown.BREAK, self.reflection) if self.reflection else ()
        return "\n\n".join(filter(None, (self.narrative, *own)))


def _imprints(meta: Mapping[str, Any], key: str) -> tuple[Imprint, ...]:
    """Read what was felt."""
    listed = base.field(meta, key, list, [])
    if not all(isinstance(item, dict) for item in listed):
        raise ValueError(f"`{key}` should be a list of {{emotion, intensity, trigger}}")
    return tuple(
        Imprint(
            base.field(item, "emotion", str),
            base.unit(item, "intensity"),
            base.field(item, "trigger", str, ""),
        )
        for item in listed
    )


class Episode(Record, frozen=True, kw_only=True):
    """One remembered event."""

    ABOUT: ClassVar[About] = About(changed="episode {0.id}", retold="episode {0.id} told anew")

    at: datetime  # when it began; timezone-aware
    significance: Annotated[float, Key(read=unit(UNKNOWN))]  # when it happened, in [0, 1]
    people: Annotated[tuple[str, ...], JOINED]  # ids of those who took part
    imprints: Annotated[tuple[Imprint, ...], Key(read=_imprints, merge=joined)]
    soma: str = ""  # the body at the time as a tag, empty if unknown
    session: str = ""  # id of the conversation it is a stretch of; empty if none
    tags: Annotated[tuple[str, ...], JOINED]  # what it is about, in a word each, without `#`
    summary_source: str = ""  # `excerpt`: cut from the transcript, no model has told it yet
    dormant: Annotated[
        bool, Key(said=lambda _, now: [" left recall" if now else " is back in recall"])
    ] = False  # found by search, not by recall
    # dormant because it faded, not because a person wanted it
    faded: Annotated[bool, Key(read=lambda meta, key: meta.get(key) is not None)]
    text: Annotated[str, BODY]  # Markdown, without surrounding blank lines; its whole telling

    @property
    def rests_on(self) -> tuple[str, ...]:
        return (self.session,)

    @property
    def is_unnamed(self) -> bool:
        """Whether it is of quotes that no model has named."""
        return bool(self.summary_source) and not self.provenance.model

    @property
    def filed_as(self) -> str:
        told = titles.heading(self.text) or self.text.partition("\n")[0]
        return f"{self.at:%d} {' '.join(self.people) if self.is_unnamed or not told else told}"

    @property
    def headline(self) -> str:
        people = f" with {', '.join(self.people)}" if self.people else ""
        return f"episode {self.id}, {self.at:%Y-%m-%d %H:%M}{people}"

    @property
    def telling(self) -> Telling:
        """What happened, and why it mattered."""
        return telling(self.text)


def title(episode: Episode) -> str:
    """Return what an episode is called: its heading, else its day."""
    return titles.heading(episode.text) or f"{episode.at:%Y-%m-%d}"


def link(episode: Episode, up: str = "", called: str = "") -> str:
    """Write a link to an episode; `up` leads from where it stands to the folder."""
    called = re.sub(r"[\[\]\\]", "", called or title(episode))
    return f"[{called}]({up}{EPISODE.place(episode)})"


def telling(text: str) -> Telling:
    """Take the text of an episode, or a passage of it, apart at its last break."""
    lines = text.splitlines()
    found = [n for n, line in enumerate(lines) if line.rstrip() == markdown.BREAK]
    if not found:
        return Telling(text.strip())
    narrative, reflection = lines[: found[-1]], lines[found[-1] + 1 :]
    return Telling("\n".join(narrative).strip(), "\n".join(reflection).strip())


EPISODE = RecordKind(
    name="episode",
    singular="episode",
    plural="episodes",
    key="episodes",
    patterns=("episodes/*/*/*.md",),
    record=Episode,
    forgetting="file",
    merging="bumble",
    prefix="ep",
    people_keys=("people", "audience"),
    text_keys=("imprints", "tags", "inferences"),
    own_words=True,
    passages="episode",
    unasked=True,
    claims=True,
    explained=True,
    counted=True,
    page=True,
    edit="bumble episode edit",
)


def new(
    episode_id: str,
    at: datetime,
    significance: float,
    text: str,
    *,
    people: tuple[str, ...] = (),
    imprints: tuple[Imprint, ...] = (),
    soma: str = "",
    session: str = "",
    tags: tuple[str, ...] = (),
    summary_source: str = "",
    inferences: tuple[str, ...] = (),
    provenance: base.Provenance | None = None,
) -> Episode:
    """Make an episode that is not in the folder yet; `plan_new` puts it there."""
    felt = [
        {"emotion": one.emotion, "intensity": round(one.intensity, 4)}
        | base.filled({"trigger": one.trigger})
        for one in imprints
    ]
    return EPISODE.new(
        episode_id,
        text,
        provenance,
        at=at,
        significance=round(significance, 4),
        people=people,
        imprints=felt,
        soma=soma,
        session=session,
        tags=tags,
        summary_source=summary_source,
        inferences=inferences,  # sentences of it that say more than was said
    )


def find(entity: Entity, episode_id: str) -> Episode:
    """Read one episode, wherever below its folder a person has put it.

    Raises:
        RecordMissingError: If there is none of that id.
    """
    files = EPISODE.locate(entity, episode_id)
    if not files:
        known = map(EPISODE.stem, EPISODE.paths(entity))
        raise RecordMissingError("episode", episode_id, base.nearest(episode_id, known))
    return EPISODE.load(files[0])


def plan_dormant(entity: Entity, episode: Episode, *, dormant: bool, why: str) -> Change | None:
    """Plan to take an episode that has faded out of recall, or back in when it matters more.

    What a person has put to sleep has no mark of that, and stays asleep.
    """
    mark = episode.significance if dormant else None
    document = base.with_values(episode.source, {"dormant": dormant or None, "faded": mark})
    files = EPISODE.locate(entity, episode.id)
    path = entity.relative(files[0]) if files else EPISODE.place(episode)
    return base.plan_edit(path, episode.source, document, why)
