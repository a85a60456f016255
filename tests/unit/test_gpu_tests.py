"""The tests of a GPU are collected on a machine that has only what computes there."""

import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]

PLUGIN = """
import builtins

there = builtins.__import__
MISSING = {"faiss", "hypothesis", "jsonschema", "matplotlib", "orjson", "pynvml", "pytrec_eval", "rocrate", "snakemake"}


def only_what_is_there(name, globals=None, locals=None, fromlist=(), level=0):
    if level == 0 and name.partition(".")[0] in MISSING:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return there(name, globals, locals, fromlist, level)


builtins.__import__ = only_what_is_there
"""


def test_tests_of_a_gpu_need_torch_transformers_numpy_pyarrow_tqdm_and_pytest(tmp_path: Path) -> None:
    (tmp_path / "bare_machine.py").write_text(PLUGIN)
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:hypothesispytest",
        "-p",
        "bare_machine",
        "--override-ini=addopts=--import-mode=importlib",
    ]
    command = [sys.executable, "-m", "pytest", "--collect-only", *options, "tests/gpu"]
    done = subprocess.run(command, cwd=REPOSITORY, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert len([line for line in done.stdout.splitlines() if "_cuda.py::" in line]) > 50
