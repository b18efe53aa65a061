"""Hiding this process's environment and memory from the programs that it starts.

On Linux a process can read the environment another of the same user was started with, in
`/proc/<pid>/environ`: keys among it. That block is overwritten here, after each variable has been
copied to where nobody looks, so that git, the editor and pip go on getting theirs.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

SET_DUMPABLE = 4  # of prctl(2)
LOADERS = b"LD_"  # the loader keeps pointers to these; there are no keys in them


def hide_environment() -> None:
    """Overwrite the environment this process was started with, and close its memory to others.

    Where the system is another, or refuses, everything stays as it is.
    """
    if sys.platform != "linux":
        return
    import ctypes

    with contextlib.suppress(OSError, AttributeError, ValueError):
        libc = ctypes.CDLL(None)
        # root may still look; all others of the same user may not, nor is there a core dump
        libc.prctl(SET_DUMPABLE, 0, 0, 0, 0)
        entries = ctypes.POINTER(ctypes.c_void_p).in_dll(libc, "environ")
        before = _addresses(entries)
        texts = {address: ctypes.string_at(address) for address in before}
        for text in texts.values():
            name, _, value = text.partition(b"=")
            if name and not name.startswith(LOADERS):
                os.putenv(name, value)  # a copy elsewhere, which the list points to from now on
        for address in before - _addresses(entries):
            ctypes.memset(address, 0, len(texts[address]))


def _addresses(entries: Any) -> set[int]:
    """Return where the variables lie that a list of pointers names, which ends with none."""
    addresses: set[int] = set()
    position = 0
    while address := entries[position]:
        addresses.add(int(address))
        position += 1
    return addresses
