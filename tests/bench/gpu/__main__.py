"""Entry point of ``python tests/bench/gpu``."""

import sys
from pathlib import Path

if __name__ == "__main__":
    repository = Path(__file__).parents[3]
    sys.path[:1] = [str(repository / "tests"), str(repository / "src")]
    from bench.gpu.command_line import main

    sys.exit(main(sys.argv[1:]))
