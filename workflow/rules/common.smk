"""What all rules share: the package on the path, the checked experiment, the names that wildcards may take.

Input functions and parameters stand here; what they compute is in the package, where it is tested.
"""

import sys

sys.path.insert(0, f"{workflow.basedir}/workflow")

import re
from dataclasses import asdict

from beirflow.jobs.array_task import become_own_task
from beirflow.jobs.code_version import code_version
from beirflow.files.errors import BeirflowError
from beirflow.experiment.experiment import load_experiment
from beirflow.models.model_files import model_files

become_own_task(sys.argv)
try:
    experiment = load_experiment(config)
except BeirflowError as error:
    raise WorkflowError(str(error)) from None

config.update(experiment.config)
gpu_threads, gpu_places = experiment.gpu_share(workflow.global_resources)


wildcard_constraints:
    system="|".join(map(re.escape, experiment.systems)),
    dataset="|".join(map(re.escape, experiment.datasets)),
    row="|".join(map(re.escape, experiment.rows_of_forums)),
    chunk=r"\d+",


def archive_md5(wildcards):
    return experiment.md5(wildcards.archive)


def local_model_files(wildcards):
    return [str(path) for path in model_files(experiment.systems[wildcards.system])]


def system_settings(wildcards):
    return asdict(experiment.systems[wildcards.system])


def source_files(wildcards):
    return experiment.source_files(wildcards.dataset)


def source_folder(wildcards):
    return experiment.folder(wildcards.dataset)


# Without `input`: Snakemake does not notice a change of parameters that are derived from it.
def corpus_settings(wildcards):
    return experiment.corpus_settings(wildcards.dataset)


def query_encoding(wildcards):
    return experiment.encoding(wildcards.system, unused="document_prefix")


def document_encoding(wildcards):
    return experiment.encoding(wildcards.system, unused="query_prefix")


def search_settings(wildcards):
    return experiment.search_settings(wildcards.system, wildcards.dataset)


def forum_means(wildcards):
    pattern = "<results>/metrics/{system}/{forum}.json"
    forums = experiment.rows_of_forums[wildcards.row]
    return expand(pattern, forum=forums, allow_missing=True)


def chunk_files(pattern, shared=False):
    """An input function: files of all chunks of a dataset, in order; if shared, of the one whose vectors it takes over."""

    def files(wildcards):
        dataset = wildcards.dataset
        name = experiment.shared_with(dataset) if shared else dataset
        chunks = range(experiment.chunks(name)) if name else []
        patterns = pattern if name else []
        return expand(patterns, other=name, chunk=chunks, allow_missing=True)

    return files
