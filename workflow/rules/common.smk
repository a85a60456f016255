"""Shared by all rules: the checked experiment, the allowed wildcards.

Input functions only; the package computes. Parameters never derive from `input`: Snakemake does not notice a change of these.
"""

import sys

from beirflow import SNAKEFILE, WORKFLOW
from beirflow.config.asked import one_of
from beirflow.config.load import load_experiment, search_for_classes
from beirflow.config.source_checks import input_path
from beirflow.core import layout
from beirflow.core.addresses import by_reference
from beirflow.core.digests import file_state
from beirflow.core.errors import BeirflowError
from beirflow.core.extensions import additions_to, with_extensions
from beirflow.run.code_version import calls
from beirflow.run.rule_job import Commands
from beirflow.run.undocumented import WorkflowRun

this_run = WorkflowRun(workflow)
# An audit states the experiment of the audited results; run/undocumented.py.
stated = globals().get("stated_experiment")
search_for_classes(() if stated else this_run.trusted_folders)
try:
    input_path(str(WORKFLOW.parent))
    experiment = stated or load_experiment(config, **this_run.origin)
except BeirflowError as error:
    sys.exit(str(error))  # Snakemake would add lines of this file

config.update(experiment.config, mirrors=by_reference(experiment.config["mirrors"]))
gpu_threads, gpu_places = experiment.gpu_share(this_run.limits)
# All configured systems, in the order of the configuration, on all configured corpora, forums included.
corpora = {"system": experiment.chosen_systems, "dataset": experiment.chosen_datasets}
configured = this_run.options
# A parameter of each rule, and what the rule runs. Snakemake compares the latter, so nothing of a machine is in it.
command_of = Commands(
    rules, config, own_python=this_run.deploys, dry=this_run.is_dry
).of
RUN_JOB = "{params.command} {threads} {log:q}"


# All wildcards, before any rule: with files in a bucket, Snakemake forgets the constraints of a rule if more follow.
wildcard_constraints:
    system=one_of(experiment.systems),
    dataset=one_of(experiment.datasets),
    row=one_of(experiment.rows_of_forums),
    chunk=r"\d+",
    block=r"\d+",
    analyzer=one_of(experiment.expansions.indexes),
    expansion=r"[A-Za-z0-9_-]+",
    dimensions=rf"\d+|{layout.ALL_DIMENSIONS}",


def at(pattern):
    """A pattern of layout.py below <results>/."""
    return pattern.below(layout.RESULTS)


def of_every_system(pattern):
    """Files of all configured systems, for the dataset of a job."""
    return expand(at(pattern), system=experiment.chosen_systems, allow_missing=True)


# If results are in a bucket, jobs that read files of this machine run on this machine.
in_bucket = this_run.bucket is not None


def on_this_machine(path):
    """An input from the configuration or from this workflow: not in a bucket, unless it is a result."""
    return path if path.startswith(layout.RESULTS) else local(input_path(path))


def kept(pattern, keep):
    """The same for an output that Snakemake deletes once no job needs it, unless the configuration keeps it."""
    return at(pattern) if keep else temp(at(pattern))


def there_already(*patterns):
    """An input function: the files that exist when Snakemake starts; they are updated, but not made."""
    paths = [at(pattern) for pattern in patterns]
    return lambda wildcards: [path for path in paths if exists(this_run.path(path))]


def named_by(pattern):
    """An input function: a file whose path contains settings of the system, such as its analyzer or its encoder."""

    def file(wildcards):
        own = experiment.in_paths(wildcards.system, wildcards.dataset)
        return at(pattern).format(**dict(wildcards.items()) | own)

    return file


def of_both(question, *more):
    """An input function or a parameter: what a function says of the system and the dataset of a job."""
    return lambda wildcards: question(wildcards.system, wildcards.dataset, *more)


def of_system(question, *more):
    return lambda wildcards: question(wildcards.system, *more)


def of_dataset(question):
    return lambda wildcards: question(wildcards.dataset)


model_record = of_both(experiment.model_record)
first_stages = of_system(experiment.first_stages)
added = of_system(experiment.expansions.of_system)


def files_of(pattern, **values):
    """An input function: files of a pattern, with the values that functions give for names in it, in order."""

    def files(wildcards):
        names = {name: value(wildcards) for name, value in values.items()}
        return expand(at(pattern), **names, allow_missing=True)

    return files


def chunks(wildcards):
    return range(experiment.chunks(wildcards.dataset))


def query_blocks(wildcards):
    return range(experiment.query_blocks(wildcards.dataset))


def added_to_index(wildcards):
    return experiment.expansions.of_index(wildcards.analyzer)


def shared_files(pattern, of_other=True):
    """An input function: a file, or one per chunk, of the dataset with shared texts; none without such a dataset."""

    def files(wildcards):
        other = experiment.shared_with(wildcards.dataset, wildcards.get("system"))
        chunks = range(experiment.chunks(other)) if other else []
        names = dict(wildcards.items()) | ({"dataset": other} if of_other else {})
        found = [at(pattern).format(**names | {"chunk": chunk}) for chunk in chunks]
        return list(dict.fromkeys(found))

    return files


def has_ranges(wildcards):
    return experiment.variant(wildcards.system)["vectors"] == "int8"
