"""Fixtures that several test folders share; finished runs are shared, since each takes seconds.

Packages are imported where they are used: the process that hands tests out needs none, and tests of a GPU run on bare machines.
"""

import gc
import os
import shutil
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

# Two processes of tests on two cores, each with as many threads as cores, mostly wait for each other: by themselves without rest.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import pytest

import warm_jobs
from shared_folders import guarded, shared_folder, shared_results

if TYPE_CHECKING:
    from forger import Forger
    from results_maker import Made
    from workflow_runs import Workflow

with suppress(ModuleNotFoundError):
    from hypothesis import HealthCheck, settings

    # How long an example takes says something about the machine, and nothing about the code.
    # More examples than these: BEIRFLOW_EXAMPLES=1000 pytest tests/unit
    examples = int(os.environ.get("BEIRFLOW_EXAMPLES", "40"))
    settings.register_profile("beirflow", deadline=None, max_examples=examples, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("beirflow")


warm_jobs.forget_power_losses()


SLOWEST_FIRST = ("slurm", "workflow", "install", "faults", "audit", "gpu", "browser", "unit")
"""The folders of tests, so that no long file begins when all others have ended."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for garbage afterwards alone: what is imported is none, and to look through all of it takes a fifth of that time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(50_000)  # what tests leave behind is soon more than the usual 700, of which most is still in use


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the tests: slow folders first, so that workers end at the same time."""

    def place(item: pytest.Item) -> int:
        """Return the place of a test's folder; tests of extensions are among the short ones."""
        folder, name, *_ = item.path.relative_to(Path(__file__).parent).parts
        return SLOWEST_FIRST.index(name) if folder == "tests" else len(SLOWEST_FIRST)

    items.sort(key=place)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """No content of files in the names of tests: what is packed holds the time, and all processes must name tests alike."""
    return argname if isinstance(val, bytes) and len(val) > 40 else None


@pytest.fixture(autouse=True)
def no_secrets_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret is hidden in whatever its process shows, and tests share one."""
    monkeypatch.setattr("beirflow.core.addresses._known", set())


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a BERT with random weights: 2 layers, 32 dimensions, 64 positions, a token a word."""
    from tiny_bert import save_tiny_bert

    return shared_folder(tmp_path_factory, "models", lambda folder: save_tiny_bert(folder / "tiny-bert")) / "tiny-bert"


@pytest.fixture
def own_bert(tiny_bert: Path, tmp_path: Path) -> Path:
    """A copy of it that a test may change."""
    return Path(shutil.copytree(tiny_bert, tmp_path / "model"))


@pytest.fixture
def threads_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Encoding a table sets the number of threads of this process."""
    import torch

    monkeypatch.setenv("RAYON_NUM_THREADS", "1")
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a dataset of 30 documents and 4 queries."""
    from workflow_runs import small_dataset

    return shared_folder(tmp_path_factory, "data", lambda folder: small_dataset(folder / "small")) / "small"


@pytest.fixture
def workflow(tmp_path: Path, tiny_bert: Path, small: Path) -> "Workflow":
    """One system, one dataset in three chunks; nothing has run yet."""
    return _workflow(tmp_path, tiny_bert, small)


@pytest.fixture(scope="session")
def finished_once(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path, small: Path) -> "tuple[Workflow, str]":
    """The same after a whole run, and what Snakemake printed; not to be changed."""

    def make(folder: Path) -> None:
        """Write the results of the tiny workflow."""
        output = _workflow(folder, tiny_bert, small).run("results/summary.csv")
        (folder / "output.txt").write_text(output)

    folder = shared_folder(tmp_path_factory, "finished", make)
    return _workflow(folder, tiny_bert, small), (folder / "output.txt").read_text()


@pytest.fixture
def lexical(tmp_path: Path, small: Path) -> "Workflow":
    """The same with BM25 under the same name: for tests of the workflow, not of vectors, whose jobs start without torch."""
    return _lexical(tmp_path, small)


@pytest.fixture(scope="session")
def lexical_once(tmp_path_factory: pytest.TempPathFactory, small: Path) -> "Workflow":
    """The same after a whole run; not to be changed."""
    folder = shared_folder(tmp_path_factory, "lexical", lambda folder: _lexical(folder, small).run("results/summary.csv"))
    return _lexical(folder, small)


@pytest.fixture
def finished_lexical(lexical_once: "Workflow", tmp_path: Path) -> "Workflow":
    """A copy of that run that a test may change."""
    return lexical_once.copied(tmp_path / "finished")


@pytest.fixture
def finished(finished_once: "tuple[Workflow, str]", tmp_path: Path) -> "Workflow":
    """A copy of the finished run that a test may change."""
    return finished_once[0].copied(tmp_path / "finished")


def _lexical(folder: Path, dataset: Path) -> "Workflow":
    from workflow_runs import Workflow, config_of

    return Workflow(folder, config_of({"tiny": {"family": "lexical"}}, dataset))


def _workflow(folder: Path, model: Path, dataset: Path) -> "Workflow":
    from workflow_runs import Workflow, config_of, tiny_system

    return Workflow(folder, config_of({"tiny": tiny_system(model)}, dataset))


@pytest.fixture(scope="session")
def results_once(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> "Made":
    """Results of two systems on three datasets, for the tests that look at results; not to be changed."""
    from results_maker import audit_config, make_results

    return shared_results(
        tmp_path_factory, "results", lambda folder: make_results(folder / "results", audit_config(folder / "data", tiny_bert))
    )


@pytest.fixture(scope="session")
def original(results_once: "Made") -> "Iterator[Made]":
    """The same, for tests of the audit."""
    yield from guarded(results_once)


@pytest.fixture
def forger(original: "Made", tmp_path: Path) -> "Forger":
    """Results to forge, audited where sources and models are."""
    from forger import Forger

    return Forger.of(original, tmp_path)


@pytest.fixture(scope="session")
def original_report(results_once: "Made", tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Made]":
    """The same with a report."""
    from forger import Forger
    from results_maker import Made, make_report

    def make(folder: Path) -> "Made":
        """Write a report of the shared results."""
        forger = Forger.of(results_once, folder)
        make_report(forger.results, forger.experiment)
        return Made(forger.results, results_once.config)

    yield from guarded(shared_results(tmp_path_factory, "report", make))


@pytest.fixture
def reported(original_report: "Made", tmp_path: Path) -> "Forger":
    """Results with a report to forge."""
    from forger import Forger

    return Forger.of(original_report, tmp_path)


@pytest.fixture(scope="session")
def demo_results(tmp_path_factory: pytest.TempPathFactory) -> "Made":
    """Results of two lexical systems on a dataset of the demo, with the tables that compare systems; not to be changed."""
    from beirflow.config.load import load_experiment
    from beirflow.core import layout
    from results_maker import Made, run_rules

    def make(folder: Path) -> "Made":
        """Write the results of the kitchen without Snakemake."""
        kitchen = {"path": str(Path(__file__).parent / "tests/data/demo/kitchen")}
        systems, own = ["bm25", "bm25-multifield"], {"datasets": {"kitchen": kitchen}}
        config = {"systems": systems, "datasets": ["kitchen"], "top_k": 60, "cutoffs": [1, 10, 60], "custom": own}
        paths = [layout.SUMMARY, layout.SIGNIFICANCE, layout.COST, layout.SCORES]
        run_rules(folder / "results", load_experiment(config), paths)
        return Made(folder / "results", config)

    return shared_results(tmp_path_factory, "demo", make)
