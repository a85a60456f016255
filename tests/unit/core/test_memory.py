"""Memory that was freed is used again without a page fault."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from beirflow.core import memory

WORKFLOW = Path(memory.__file__).parents[2]
ROUNDS = """
import resource
{}
for _ in range(2):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    blocks = [b"x" * (24 << 20) for _ in range(3)]
    del blocks
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""

IN_A_JOB = """
from types import SimpleNamespace
from beirflow.run.job import job
with job(SimpleNamespace(log=["logs/audit.log"], wildcards=[], params={}, output=[])):
    pass
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be told")
def test_freed_memory_stays_with_the_process_and_with_every_job(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(WORKFLOW)}
    fresh, kept, in_a_job = (
        int(subprocess.check_output([sys.executable, "-c", ROUNDS.format(each)], env=environment, cwd=tmp_path))
        for each in ("", "from beirflow.core.memory import keep_freed_memory; keep_freed_memory()", IN_A_JOB)
    )
    assert fresh > 100 > kept
    assert in_a_job < 100
