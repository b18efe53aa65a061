"""What a program of the owner's tells the entity about this machine.

It is named by `prompt.host_command`, which counts only from the owner's own config or a folder they
trust. Whatever goes wrong with it is said and costs no answer.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from bumble import prompts

TIMEOUT_SECONDS = 2  # the person waits for it
MAX_CHARS = 400


def told(command: Sequence[str], folder: Path, environ: Mapping[str, str]) -> tuple[str, str]:
    """Run the program in a folder.

    Returns:
        What it printed, worded for a prompt, and what the person should hear; either may be empty.
    """
    if not command:
        return "", ""
    try:
        done = subprocess.run(
            list(command),
            cwd=folder,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            check=True,
        )
    except subprocess.CalledProcessError as error:
        return "", f"prompt.host_command: {command[0]} ended with {error.returncode}"
    except subprocess.TimeoutExpired:
        return "", f"prompt.host_command: {command[0]} took longer than {TIMEOUT_SECONDS} s"
    except OSError as error:
        return "", f"prompt.host_command: {command[0]}: {error.strerror}"
    text = done.stdout.decode(errors="replace").strip()[:MAX_CHARS]
    return (f"About this machine:\n{prompts.tagged('result', text)}" if text else ""), ""
