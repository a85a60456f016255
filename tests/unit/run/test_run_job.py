"""A job begins with what must not be imported in its middle."""

import subprocess
import sys

SCRIPT = """
import builtins, sys
import beirflow.run.run_job
import pyarrow, numpy
plain, later = builtins.__import__, []
def noting(name, *others, **more):
    later.extend([name] if name.partition(".")[0] == "pandas" and name not in sys.modules else [])
    return plain(name, *others, **more)
builtins.__import__ = noting
pyarrow.array(numpy.arange(3))
print("pandas" in sys.modules, later)
"""


def test_arrow_imports_nothing_more_in_a_job_since_it_would_lose_a_signal_meanwhile() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout == "True []\n"
