"""The owner's program whose output tells the entity about this machine: time limit, length.

It is named by `prompt.host_command`, which counts only from the owner's own config or a folder they
trust. Whatever goes wrong with it is said and costs no answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bumble.chat import programs
from bumble.llm import prompts

TIMEOUT_SECONDS = 2  # the person waits for it
MAX_CHARS = 400


def describe(
    command: Sequence[str], folder: Path, environ: Mapping[str, str], also: Sequence[str] = ()
) -> tuple[str, str]:
    """Run the program in a folder.

    Args:
        command: Program and arguments.
        folder: Where it runs.
        environ: Of the person.
        also: Variables of it that a program gets besides the usual ones.

    Returns:
        What it printed, worded for a prompt, and what the person should hear; either may be empty.
    """
    if not command:
        return "", ""
    result = programs.run(
        command,
        folder=folder,
        environ=programs.environment(environ, also),
        timeout_seconds=TIMEOUT_SECONDS,
        errors=False,
    )
    if result.failed:
        problem = result.problem or f"ended with {result.code}"
        return "", f"prompt.host_command: {command[0]} {problem}"
    text = result.output[:MAX_CHARS]
    return (f"About this machine:\n{prompts.tagged('result', text)}" if text else ""), ""
