"""Forgetting in `state.yaml` and in the body: what waits of their talks, thoughts and feelings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bumble.history import review as proposed
from bumble.jobs.forgetting.draft import ForgettingDraft, time_of
from bumble.records import base, soma, state
from bumble.records.kinds import Kind
from bumble.runtime import cursors, review_queue


def forget_state(draft: ForgettingDraft, kind: Kind) -> None:
    """Take out what waits of their talks, and what is proposed for review and tells of them."""
    file = state.read(draft.entity.state)
    remove: list[list[str]] = []
    waiting = cursors.waiting(file)
    remove += [[cursors.SECTION, name] for name in waiting if name in draft.gone]
    distilled = file.get("distill", default={})
    remove += [["distill", record_id] for record_id in distilled if record_id in draft.gone]
    telling = [
        proposal.name
        for proposal in proposed.waiting(draft.entity.root)
        if any(
            draft.is_named(text) or draft.speech.echoes(text)
            for text in (proposal.title, *proposal.added)
        )
    ]
    remove += [[review_queue.SECTION, review_queue.WAITING, name] for name in telling]
    if remove:
        draft.add(state.plan_write(file, {}, "forget what waits", remove=remove), "places in state")


def forget_body(draft: ForgettingDraft) -> None:
    """Take the thoughts and feelings out of the body that are of them."""
    file = soma.read(draft.entity.soma)
    values: dict[str, Any] = {}
    remove: list[list[str]] = []
    thoughts = file.get("noise", "fragments", default=[])
    if isinstance(thoughts, list):
        left = [entry for entry in map(_thought_without(draft), thoughts) if entry is not None]
        if left != thoughts:
            values["noise"] = {"fragments": left}
    felt = file.get("felt")
    if isinstance(felt, Mapping) and _thought_without(draft)(felt) != felt:
        remove.append(["felt"])
    if values or remove:
        change = soma.plan_write(file, values, "forget a thought", remove=remove)
        draft.add(change, "places in the body")


def _thought_without(draft: ForgettingDraft) -> Callable[[Any], Any]:
    """Return what makes a thought or a feeling be without them: None if nothing is left."""

    def stripped(entry: Any) -> Any:
        if not isinstance(entry, Mapping) or not draft.is_past(time_of(entry)):
            return entry
        audience = base.texts(entry, "audience")
        if set(audience) == {draft.person}:
            return None
        new = draft.scrub_values(dict(entry), near=draft.person in audience)
        if any(not new[key] and entry[key] for key in entry):
            return None
        if draft.person in audience:
            new["audience"] = [name for name in audience if name != draft.person]
        return new

    return stripped
