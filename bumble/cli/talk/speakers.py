"""Who is meant by a name on the command line; at a terminal an unclear one is asked about."""

from __future__ import annotations

from bumble.chat import participants
from bumble.chat.participants import Person
from bumble.cli import output
from bumble.cli.opening import Opened
from bumble.errors import NameUnclearError


def person(opened: Opened, name: str | None) -> Person:
    """Return who is called so: somebody known, somebody new, the owner where None is.

    Raises:
        NameUnclearError: If it is that of somebody known but for its marks, and nobody says who.
    """
    try:
        return participants.person(opened.entity, opened.identity, name)
    except NameUnclearError as unclear:
        shell, question = opened.shell, f"Is {unclear.name} the same as {unclear.known}?"
        asks = shell.interactive and not shell.json
        if not asks or not output.agrees(question, default=False):
            raise
        return participants.person(opened.entity, opened.identity, unclear.known)
