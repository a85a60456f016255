"""Entry point of ``python tests/bench``."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])
    from bench.command_line import main

    sys.exit(main(sys.argv[1:]))
