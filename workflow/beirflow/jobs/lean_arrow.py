"""Arrow without pandas, for jobs that do not use it.

pyarrow imports pandas before it makes its first array, since what it is given might be a Series: a quarter of a second in a job.
"""

import sys
from importlib.abc import MetaPathFinder

import pyarrow as pa


def without_pandas() -> None:
    """Let pyarrow see no pandas, unless a module has imported it; later conversions to data frames still work."""
    if "pandas" in sys.modules:
        return
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([], pa.int64()).to_numpy()  # each of the two looks for it once
    finally:
        sys.meta_path.remove(finder)


class _NoPandas(MetaPathFinder):
    """Finds that pandas is not installed, and leaves every other module to the finders behind it."""

    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError(fullname)
