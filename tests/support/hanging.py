"""When a test that hangs in C is ended: later, where it may take longer than others."""

from __future__ import annotations

import faulthandler

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Wait for a test as long as its own mark `timeout` says, and as long again as for others.

    pytest ends every test at `faulthandler_timeout`, whatever a mark says: one that may take an
    hour would be ended after minutes.
    """
    marker = item.get_closest_marker("timeout")
    usual = float(item.config.getini("faulthandler_timeout") or 0)
    if marker is None or not marker.args or not usual:
        return
    seconds = float(marker.args[0])
    if seconds > usual:
        place = item.config.stash[fault_handler_stderr_fd_key]
        faulthandler.dump_traceback_later(seconds + usual, file=place, exit=True)
