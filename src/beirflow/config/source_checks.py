"""Checks of the datasets of a configuration on this machine: that they exist, can be read, and are large enough."""

import re
from collections.abc import Iterator, Set
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from beirflow.config.experiment import Experiment
from beirflow.core.errors import ConfigError
from beirflow.core.extensions import commands
from beirflow.data.catalogue.dataset import Dataset
from beirflow.data.catalogue.own_datasets import place_in
from beirflow.data.catalogue.schema import Problems
from beirflow.data.sources.forms import HubForm

WITHOUT_DATASETS = {"help", "estimate", "try", "audit", "clean_representations"}
WITHOUT_DATASETS |= {name for name, command in commands().items() if not command.makes_results}
"""Targets that read no dataset; for any other, there must be a copy of each."""


def check_sources(experiment: Experiment, problems: Problems) -> None:
    """Check the folder of datasets, and every dataset of a run that is on this machine."""
    config, data_dir = experiment.config, None
    with disk_in_words(problems, "data_dir", config["data_dir"]):
        data_dir = None if config["data_dir"] is None else Path(config["data_dir"]).expanduser()
        if data_dir is not None and not data_dir.is_dir():
            allowed = f"expected an existing folder, or null to download; there is no {data_dir.absolute()}"
            problems.add("data_dir", config["data_dir"], allowed)
    unusable = any(line.startswith("data_dir:") for line in problems.lines)
    for dataset in map(experiment.datasets.__getitem__, dict.fromkeys(dataset for _, dataset in experiment.needed_runs)):
        if dataset.path is None and unusable:
            continue
        if isinstance(dataset.form, HubForm):
            continue
        in_data_dir = dataset.path in (None, data_dir and place_in(str(data_dir), dataset.whole_row))
        key = "data_dir" if in_data_dir else f"custom.datasets.{dataset.whole_row}.path"
        value = config["data_dir"] if in_data_dir else dataset.path
        with disk_in_words(problems, key, value):
            if problem := _source_problem(experiment, dataset):
                problems.add(key, value, problem)
            else:
                _check_size(experiment, dataset, key, problems)
    _check_samples(experiment, problems)


def check_copies(experiment: Experiment, command: Set[str], problems: Problems) -> None:
    """Check that there is a copy of each dataset that the user alone can have, unless the words of a command ask for no dataset.

    These words, since Snakemake reads its rules before its targets. Afterwards it would take a summary of other datasets, from
    an earlier run, for finished: a file whose rule fails for lack of a copy counts as an input.
    """
    for dataset in dict.fromkeys(dataset for _, dataset in experiment.needed_runs) if not command & WITHOUT_DATASETS else ():
        try:
            experiment.source_files(dataset)
        except ConfigError as error:
            problems.add("datasets", experiment.datasets[dataset].row, str(error))


def _check_size(experiment: Experiment, dataset: Dataset, key: str, problems: Problems) -> None:
    """Check that a corpus on this machine has documents, and no fewer than its sample."""
    documents, sample = experiment.source_documents(dataset.name), dataset.sample_documents
    if documents == 0:
        problems.add(key, dataset.path, "the corpus is empty; expected at least one document")
    elif documents and sample and sample > documents:
        problems.add("datasets", dataset.row, f"{dataset.whole_name} has fewer documents, {documents:,}; choose a smaller sample")


def _check_samples(experiment: Experiment, problems: Problems) -> None:
    """Check that samples of queries are not larger than all datasets of which they are drawn, as far as these are known."""
    small, sampled = dict[str, int](), 0
    for row, names in experiment.chosen_rows.items():
        sample = experiment.datasets[names[0]].sample_queries
        if sample is not None:
            sampled += 1
            with suppress(ConfigError, OSError):  # an unreadable source is reported elsewhere
                counts = [experiment.judged_queries(name) for name in names]
                if all(count is not None and count < sample for count in counts):
                    small[row] = max(filter(None, counts))
    # Of many datasets, some may have fewer queries than a sample of all.
    for row, most in small.items() if len(small) == sampled else ():
        problems.add("datasets", row, f"the dataset has fewer judged queries, {most:,}; choose a smaller sample")


def _source_problem(experiment: Experiment, dataset: Dataset) -> str | None:
    """Return why the source of a dataset cannot be read, as far as a look at its files can tell; None if it can."""
    folder = experiment.folder(dataset.name)
    if dataset.path is not None and not Path(folder or "").exists():
        what = "a file" if dataset.form else "a folder or a .zip"
        return f"expected {what}, and there is no {Path(folder or '').absolute()}"
    if folder is None:
        return None  # where only the user can have a copy, the rule that reads it refuses; it can be estimated
    if problem := _problem_with_path(folder):
        return problem
    for path in experiment.source_files(dataset.name):
        with Path(path).open("rb"):
            pass  # a file that can be opened can be read
    return None


def input_path(path: str) -> str:
    """Return a path that a rule has as an input. Raise ConfigError if Snakemake would interpret a part of it."""
    if problem := _problem_with_path(path):
        raise ConfigError(f"{path}: {problem}")
    return path


def _problem_with_path(path: str) -> str | None:
    sign = re.search(r"[{}<>\n]", path)
    return f"Snakemake interprets {sign[0]!r} in a path; rename the folder, or name a link to it" if sign else None


@contextmanager
def disk_in_words(problems: Problems, key: str, value: Any) -> Iterator[None]:
    """Note refusals of the disk, such as a folder of another user or the home of nobody."""
    try:
        yield
    except ConfigError as error:
        problems.add(key, value, str(error))
    except (OSError, RuntimeError) as error:
        problems.add(key, value, f"it cannot be read ({error}); let the user who runs this read it, or name another")
