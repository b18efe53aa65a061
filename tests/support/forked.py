"""`bumble ARGV` as a process of its own, forked from the test's: a Python anew takes a second more.

Not where what a process starts with is what counts, nor where this one may have loaded an engine.
"""

from __future__ import annotations

import atexit
import importlib
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bumble.__main__ import main
from bumble.cli.app import COMMANDS

LOADED = ("cli.talk.conversation", "cli.models.chat_model", "llm.http_model", "jobs.tick")
MOST_FILES = 65_536


def bumble(
    argv: Sequence[str],
    environ: Mapping[str, str],
    *,
    before: Callable[[], object] | None = None,
    loaded: Sequence[str] = LOADED,
) -> dict[str, Any]:
    """Return what has `subprocess` run a command, as its own keywords do all else.

    Args:
        argv: What follows `bumble`.
        environ: All its variables.
        before: Called in the process before anything else.
        loaded: The modules that it finds there.
    """
    if not hasattr(os, "fork"):
        return {"args": [sys.executable, "-P", "-m", "bumble", *argv], "env": environ}
    places = (COMMANDS[word][0].rpartition(".")[0] for word in argv if word in COMMANDS)
    for place in places:
        importlib.import_module(f".{place}", "bumble.cli.commands")
    for name in loaded:
        importlib.import_module(f"bumble.{name}")

    def work() -> None:
        try:
            if before is not None:
                before()
            os._exit(_lived(argv, environ))
        except BaseException:
            traceback.print_exc()
            os._exit(70)

    return {"args": [sys.executable], "preexec_fn": work}


def _lived(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Be the command from its beginning to its end, in a process that was this test's."""
    os.closerange(3, MOST_FILES)  # with them the pipe by which `subprocess` waits for a program
    atexit._clear()
    os.environ.clear()
    os.environ.update(environ)
    tempfile.tempdir = None
    sys.argv = ["bumble", *argv]
    sys.stdin, sys.stdout, sys.stderr = (_stream(number) for number in range(3))
    sys.unraisablehook, sys.excepthook = sys.__unraisablehook__, sys.__excepthook__
    time.tzset()
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # as Python begins
        signal.signal(number, signal.SIG_IGN)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def _stream(number: int) -> Any:
    mode, errors = ("r", "strict") if number == 0 else ("w", "backslashreplace")
    is_shown = number == 2 or os.isatty(number)
    buffering = 1 if is_shown and number else -1
    return os.fdopen(number, mode, buffering, encoding="utf-8", errors=errors, closefd=False)
