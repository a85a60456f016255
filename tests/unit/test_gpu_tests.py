"""The tests of a GPU are collected on a machine that has only what computes there."""

import builtins
from pathlib import Path
from typing import Any

import pyarrow.parquet  # noqa: F401 (as the next two: the fork has it)
import pytest
import torch  # noqa: F401
import transformers  # noqa: F401

from forks import forget, run_in_fork

TESTS = Path(__file__).parents[1]
MISSING = {"faiss", "hypothesis", "jsonschema", "matplotlib", "orjson", "pynvml", "pytrec_eval", "rocrate", "snakemake"}


def collect() -> None:
    """Collect the tests with a Python that does not find these packages."""
    forget(*MISSING, "beirflow", "tests", *(path.stem for path in TESTS.rglob("*.py")))
    there = builtins.__import__

    def only_what_is_there(name: str, *more: Any, **named: Any) -> Any:
        if name.partition(".")[0] in MISSING and not (more[3:] or [named.get("level", 0)])[0]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return there(name, *more, **named)

    builtins.__import__ = only_what_is_there
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "--override-ini=addopts=--import-mode=importlib"]
    raise SystemExit(pytest.main(["--collect-only", *options, str(TESTS / "gpu")]))


def test_tests_of_a_gpu_need_torch_transformers_numpy_pyarrow_tqdm_and_pytest() -> None:
    done = run_in_fork(collect)
    assert done.returncode == 0, done.stdout
    assert len([line for line in done.stdout.splitlines() if "_cuda.py::" in line]) > 50
