"""`python -m bumble`, and the `bumble` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line of this process."""
    from bumble.cli.app import main as run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
