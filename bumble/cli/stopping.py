"""Ctrl-C, a kill, a terminal that closes: signals that stop a command in good order.

Each raises KeyboardInterrupt, but not while what was answered is being kept: there it is noted, and
takes effect where the model is asked next, or once all is stored. Windows knows no SIGHUP.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
_SHELLS_BASE = 128  # shells tell of a signal by 128 and its number


class Stops:
    """What told this process to stop, and whether that may take effect right now."""

    def __init__(self) -> None:
        self.received: int | None = None  # the signal, until it has taken effect
        self.ending: int | None = None  # the signal that ends the process, whatever it does yet
        self._keeping = self._held = False  # `open` lets go of the second only

    @property
    def exit_code(self) -> int | None:
        """The exit code of a process that was told to end."""
        return None if self.ending is None else _SHELLS_BASE + self.ending

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Take the signals, but for those that the process was started to ignore (`nohup`)."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, *_ENDING)}
        handled = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
        try:
            for number in handled:
                signal.signal(number, self._take)
            yield
        finally:
            for number in handled:
                signal.signal(number, before[number] or signal.SIG_DFL)

    def _take(self, number: int, frame: FrameType | None) -> None:
        if number in _ENDING:
            self.ending = number
        self.received = number
        if not self._held:
            self._strike()

    def _strike(self) -> None:
        """Let what was received take effect."""
        self._held = self._keeping  # once: what comes now must not break the keeping of it
        self.received = None
        raise KeyboardInterrupt

    @contextmanager
    def held(self) -> Iterator[None]:
        """Only note what comes, but for what `open` encloses."""
        self._keeping = self._held = True
        try:
            yield
        finally:
            self._keeping = self._held = False

    @contextmanager
    def open(self) -> Iterator[None]:
        """Let a signal take effect here, and one that came before."""
        self._held = False
        try:
            if self.received is not None:
                self._strike()
            yield
        finally:
            self._held = True

    def obey(self) -> None:
        """Let a signal take effect that came while it could not.

        Raises:
            KeyboardInterrupt: If there is one.
        """
        if self.received is not None or self.ending is not None:
            self.received = None
            raise KeyboardInterrupt
