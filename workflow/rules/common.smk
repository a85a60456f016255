"""Shared by all rules: the checked experiment, the allowed wildcards.

Input functions only; the package computes. Parameters never derive from `input`: Snakemake does not notice a change of these.
"""

import sys

from beirflow import SNAKEFILE, WORKFLOW
from beirflow.config.rule_inputs import gpu_share, one_of
from beirflow.config.load import load_experiment, search_for_classes
from beirflow.config.source_checks import input_path
from beirflow.core import layout
from beirflow.core.addresses import by_reference
from beirflow.core.digests import file_state
from beirflow.core.errors import BeirflowError
from beirflow.core.extensions import additions_to, shown_files, with_extensions
from beirflow.families.stage import RESULTS_OF_ONE, Task
from beirflow.run.code_version import calls
from beirflow.run.rule_job import Commands, shell_command, signed
from beirflow.run.undocumented import WorkflowRun

this_run = WorkflowRun(workflow)
# An audit presets the experiment of the audited results; run/undocumented.py.
preset = globals().get("preset_experiment")
search_for_classes(() if preset else this_run.trusted_folders)
try:
    input_path(str(WORKFLOW.parent))
    experiment = preset or load_experiment(config, **this_run.origin)
except BeirflowError as error:
    sys.exit(str(error))  # Snakemake would add lines of this file

config.update(experiment.config, mirrors=by_reference(experiment.config["mirrors"]))
gpu_threads, gpu_places = gpu_share(experiment, this_run.limits)
configured = this_run.options
# A parameter of each rule, and what the rule runs. Snakemake compares the latter, so nothing of a machine is in it.
command_of = Commands(rules, config, deploys=this_run.deploys, dry=this_run.is_dry).of
RUN_JOB = shell_command(hidden=this_run.hides_commands)


def job(rule, function, *functions, **makers):
    """Parameters of a rule: its command, and what it runs with the digest of its code (run/code_version.py)."""
    return calls(function, *functions, **makers) | {"command": command_of(rule)}


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


def of_every_run(pattern, datasets=experiment.chosen_datasets):
    """An input function: files of all configured systems and corpora, forums included; a plan without the rule lists none."""
    return lambda wildcards: expand(of_every_system(pattern), dataset=datasets)


# If results are in a bucket, jobs that read files of this machine run on this machine.
in_bucket = this_run.bucket is not None


def on_this_machine(path):
    """An input from the configuration or from this workflow: not in a bucket, unless it is a result."""
    return path if path.startswith(layout.RESULTS) else local(input_path(path))


def there_already(*patterns):
    """An input function: the files that exist when Snakemake starts; they are updated, but not made."""
    paths = [at(pattern) for pattern in patterns]
    return lambda wildcards: [path for path in paths if exists(this_run.path(path))]


def of_both(question):
    """An input function or a parameter: what a function says of the system and the dataset of a job."""
    return signed(lambda wildcards: question(wildcards.system, wildcards.dataset))


def of_system(question):
    return lambda wildcards: question(wildcards.system)


def of_dataset(question):
    return lambda wildcards: question(wildcards.dataset)


def from_task(question):
    """An input function or a parameter: what is asked of the experiment for a job."""
    return signed(lambda wildcards: question(Task(experiment, dict(wildcards.items()))))


def files_of(pattern):
    """An input function: the files of a pattern, of all chunks, blocks and expansions unless the job is about one."""
    return from_task(lambda task: task.all_files(pattern))


model_record = from_task(lambda task: task.files(layout.MODEL))


def read_by(stage):
    """The inputs of a stage; those of no pattern may be files of this machine."""

    def files(question):
        return from_task(lambda task: [*map(on_this_machine, question(task))])

    return {
        name: at(each) if isinstance(each, str) else files(each)
        for name, each in stage.inputs.items()
    }


def made_by(stage):
    """The outputs of a stage: candidates go once they are merged, and representations once they are searched, unless kept."""
    files = {name: at(each) for name, each in stage.outputs.items()}
    passing = files if stage.made == layout.CANDIDATES else {}
    if stage.represents and not config["keep_representations"]:
        passing = stage.makes
    if stage.updates:  # the job finds what is stored and reuses it
        return {name: update(file) for name, file in files.items()}
    return files | {name: temp(files[name]) for name in passing}


def threads_of(stage):
    """The threads of a job: those of jobs that compute on a GPU, a number, or what the experiment says."""
    if stage.gpu or stage.threads is None:
        return gpu_threads
    return from_task(stage.threads) if callable(stage.threads) else stage.threads


def constraints_of(stage, family):
    """The systems and the indexes whose files a stage makes."""
    names = experiment.systems_of(family.name)
    paths = [family.in_paths(experiment.systems[name].settings) for name in names]
    if stage.made in RESULTS_OF_ONE:
        paths = [{"system": name} for name in names]
    keys = {"system", "index"} & {*stage.wildcards}
    return {key: one_of(each[key] for each in paths) for key in keys}
