"""Run one function of ours, as ``bench.child`` does, in a process that keeps freed memory, as that of a job does."""

import sys

from beirflow.core.memory import keep_freed_memory
from bench.child import main

if __name__ == "__main__":
    keep_freed_memory()
    main(*sys.argv[1:])
