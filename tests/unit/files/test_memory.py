"""Memory that was freed is used again without a page fault."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest
from beirflow.files import memory

WORKFLOW = Path(memory.__file__).parents[2]
ROUNDS = """
import resource
from beirflow.files.memory import keep_freed_memory
{}
for _ in range(2):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    blocks = [b"x" * (24 << 20) for _ in range(3)]
    del blocks
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be told")
def test_freed_memory_stays_with_the_process() -> None:
    fresh, kept = (
        int(subprocess.check_output([sys.executable, "-c", ROUNDS.format(each)], cwd=WORKFLOW))
        for each in ("", "keep_freed_memory()")
    )
    assert fresh > 100 > kept
