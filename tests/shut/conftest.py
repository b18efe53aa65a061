"""A newborn entity and a process with a home of its own, as the commands' tests have them."""

from tests.cli.conftest import entity, environ, full, newborn, run

__all__ = ["entity", "environ", "full", "newborn", "run"]
