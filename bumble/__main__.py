"""`python -m bumble`, and the `bumble` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line of this process."""
    try:
        from bumble.cli.hiding import hide_environment

        hide_environment()
        from bumble.cli.app import main as run

        sys.exit(run(sys.argv[1:]))
    except KeyboardInterrupt:  # before the command line was there to see to it
        sys.exit(130)


if __name__ == "__main__":
    main()
