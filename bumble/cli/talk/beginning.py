"""What comes before a talk's first message: the owner's name."""

from __future__ import annotations

import shlex
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from bumble.cli import newborn, opening, output, setting_files
from bumble.cli.models import weights
from bumble.entity import config, settings
from bumble.fallback import notices
from bumble.files import disk
from bumble.records import relationships, session_files
from bumble.text import words

if TYPE_CHECKING:
    from bumble.cli.talk.conversation import Conversation

OWNER_NAME = "owner.name"


def introduce(talk: Conversation, text: str, *, yes: bool = False) -> None:
    """Let the owner be called as a message says, if that is agreed to.

    A model that writes minds names by itself, but for the first of all messages, by which the
    owner is known; later ones never wait for a reader to be loaded.
    """
    before = sum(message.role == "user" for message in talk.session.messages)
    if not talk.runtime.writes or talk.person.trust != "owner" or before > notices.MOST_BEFORE:
        return
    able = talk.runtime.abilities().tier("talk", words.language(text)) == "write"
    if able and not is_first(talk.opened):
        return
    # without a model that writes it reads the message anyway, and may have to be fetched for that
    reads = weights.reader_here(talk.opened) if able else talk.runtime.memory.reader
    opened = with_name(
        talk.opened, reads.read(text, begins=True).introduced if reads else "", yes=yes
    )
    if opened is not talk.opened:
        talk.name_owner(opened)


def with_name(opened: opening.Opened, introduced: str, *, yes: bool) -> opening.Opened:
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


def _new_name(opened: opening.Opened, name: str) -> str:
    """Return a name that nobody has yet; empty for any other."""
    if not name or disk.same_name(name) == disk.same_name(opened.identity.name):
        return ""
    said = opened.identity.owner.name not in ("", newborn.user_name(opened.shell))
    if said and not is_first(opened):
        return ""
    if _is_part(name, opened.identity.owner.name) or _is_part(opened.identity.owner.name, name):
        return ""
    people = relationships.PERSON.readable(opened.entity.relationships)
    return "" if relationships.match(people, name) else name


def is_first(opened: opening.Opened) -> bool:
    """Whether nobody has said anything yet."""
    return next(session_files.infos(opened.entity.sessions), None) is None


def _is_part(name: str, whole: str) -> bool:
    """Whether a name is another, or one of its words: who says `Sam Miller` may be known as Sam."""
    return disk.same_name(name) in map(disk.same_name, (whole, *whole.split()))
