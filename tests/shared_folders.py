"""Folders that are made by whichever of the processes of tests needs them first, and shared by all."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock

from warm_jobs import PROCESS

if TYPE_CHECKING:
    from results_maker import Made


def shared_folder(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder of that name, which is not to be changed."""
    here = factory.getbasetemp()
    folder = (here.parent if PROCESS in os.environ else here) / f"once-{name}"
    with FileLock(folder.with_suffix(".lock")):
        if not (folder / "made").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            (folder / "made").touch()
    return folder


def shared_results(factory: pytest.TempPathFactory, name: str, make: "Callable[[Path], Made]") -> "Made":
    """Results in a folder of that name, which are not to be changed; their making leaves this process as it was."""
    import torch

    from results_maker import Made

    def make_with_one_thread(folder: Path) -> None:
        threads = torch.get_num_threads()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("RAYON_NUM_THREADS", "1")
            made = make(folder)
        torch.set_num_threads(threads)
        (folder / "made.json").write_text(json.dumps([str(made.results), made.config]))

    results, config = json.loads((shared_folder(factory, name, make_with_one_thread) / "made.json").read_text())
    return Made(Path(results), config)


def guarded(made: "Made") -> Iterator["Made"]:
    """Yield results; a test that changes a file of theirs in place makes the session fail."""
    from beirflow.core.digests import file_digest

    before = {path: file_digest(path) for path in made.results.rglob("*") if path.is_file()}
    yield made
    assert {path: file_digest(path) for path in made.results.rglob("*") if path.is_file()} == before
