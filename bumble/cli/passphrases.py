"""Passphrases of archives: typed by the person or from the environment, never from an argument."""

from __future__ import annotations

from bumble.cli import output
from bumble.cli.process import Shell
from bumble.errors import UsageError

VARIABLE = "BUMBLE_EXPORT_PASSPHRASE"


def ask(shell: Shell, *, new: bool) -> str:
    """Return a passphrase.

    Args:
        shell: The process.
        new: Whether it is chosen now, and typed twice.

    Raises:
        UsageError: If nobody gives one.
    """
    given = shell.environ.get(VARIABLE, "")
    if given:
        return given
    if not shell.interactive:
        raise UsageError(f"There is no passphrase.\nGive one in ${VARIABLE}, or on a terminal.")
    return output.asked("Passphrase", hide_input=True, confirmation_prompt=new)
