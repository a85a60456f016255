"""Arrow is told that there is no pandas; it computes the same, and a process can still use both."""

import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[3] / "workflow"

WITHOUT = """
import sys
from beirflow.jobs.lean_arrow import without_pandas
without_pandas()
without_pandas()
import numpy as np, pyarrow as pa
assert pa.array(np.arange(3)).to_numpy().tolist() == pa.array([0, 1, 2]).to_pylist()
assert pa.array(["a", None]).to_numpy(zero_copy_only=False).tolist() == ["a", None]
assert "pandas" not in sys.modules, "it was imported"
import pandas as pd
table = pa.table({"a": ["x", "y"]})
assert pa.Table.from_pandas(table.to_pandas(), preserve_index=False).to_pydict() == table.to_pydict()
assert pa.array(pd.Series([1.0, 2.0])).to_pylist() == [1, 2]
"""


def test_arrow_makes_and_reads_arrays_without_pandas_and_data_frames_with_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], env={"PYTHONPATH": str(PACKAGE)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
