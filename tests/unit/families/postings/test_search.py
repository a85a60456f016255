"""The compiled sums of scipy come alone, or with all of it where they are not found."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from beirflow.families.postings import search

ALONE = f"""
import sys
from {search.__name__} import SUMS, sums_of_scipy
sums_of_scipy().csc_matvec
print({{name for name in sys.modules if name.startswith("scipy")}} == {{SUMS}})
import scipy.sparse  # works behind it
print((scipy.sparse.eye_array(2) @ [1, 2]).tolist())
"""


def test_sums_are_imported_without_the_rest_of_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(search.__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", ALONE], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["True", "[1.0, 2.0]"]
    monkeypatch.setattr(search, "PathFinder", SimpleNamespace(find_spec=lambda *_: None))
    assert search.sums_of_scipy.__wrapped__().csc_matvec
