"""What holds for every test."""

from __future__ import annotations

from hypothesis import settings

# a shared machine is slow at times: what a property takes is measured in bench/
settings.register_profile("bumble", deadline=None)
settings.load_profile("bumble")
