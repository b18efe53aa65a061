"""The entry point: `python -m bumble` and the `bumble` command, and Ctrl-C while it loads."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress

COMPLETE = "--complete"
# numpy's matrix products are small here: threads would spin longer than they work (a message read
# takes 7 ms of CPU by one thread, 110 by two).
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# A command makes some 100,000 objects and keeps them: to look through them, however seldom, takes a
# twentieth of its time.
OBJECTS_BETWEEN_LOOKS = 250_000


def main() -> None:
    """Run the command line of this process, and end it."""
    _speak_utf8()
    gc.set_threshold(OBJECTS_BETWEEN_LOOKS, *gc.get_threshold()[1:])
    _have_streams()
    try:
        if sys.argv[1:2] == [COMPLETE]:  # a shell asks at every Tab: nothing else is loaded
            from bumble.cli import completing

            sys.exit(completing.main(sys.argv[2:]))
        from bumble.cli.process import hide_environment

        hide_environment()
        from bumble.cli.app import main as run

        _end(run(sys.argv[1:]))
    except KeyboardInterrupt:  # before the command line was there to see to it
        sys.exit(130)


def _end(code: int) -> None:
    """End the process: to take apart all that is left in it takes a twentieth of its time."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)  # nothing of ours waits for Python's own end


def _speak_utf8() -> None:
    """Begin anew in Python's UTF-8 mode where the locale says otherwise.

    Names of files, the words of a commit and what is typed are UTF-8 wherever they are read again.
    """
    other = not sys.flags.utf8_mode and sys.getfilesystemencoding() != "utf-8"
    if other and os.name == "posix" and sys.executable:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606


def _have_streams() -> None:
    """Open what was closed before bumble began: nothing comes from there, nothing goes there.

    Else the next file that is opened, the index perhaps, would be taken for standard output.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            nowhere = os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
        if getattr(sys, name) is None:
            stream = os.fdopen(number, "r" if number == 0 else "w", closefd=False)
            setattr(sys, name, stream)


if __name__ == "__main__":
    main()
