"""Checks of a configuration with valid syntax: names, and impossible combinations."""

import importlib.util
from collections.abc import Collection, Iterable, Mapping, Set
from pathlib import Path
from typing import Any

from beirflow.config.configuration import KEYS
from beirflow.config.dependencies import check_dependencies, check_run_files, check_tuning
from beirflow.config.experiment import Experiment
from beirflow.config.families import FAMILIES
from beirflow.config.main_measure import cutoff_of, name_of
from beirflow.config.source_checks import check_sources, disk_in_words
from beirflow.config.systems import absent_systems, catalogue_systems, instead_of
from beirflow.core.addresses import has_other_variables, shown
from beirflow.core.errors import ConfigError
from beirflow.core.extensions import extensions
from beirflow.data.catalogue.catalogue import Catalogue
from beirflow.data.catalogue.choice import check_own_names, corpora_named
from beirflow.data.catalogue.dataset import Dataset, check_shared_texts
from beirflow.data.catalogue.own_datasets import names_in
from beirflow.data.catalogue.schema import Problems, choices, nearest
from beirflow.data.sources.forms import HubForm, SamplesForm
from beirflow.ranking.measures.all_measures import MEASURES
from beirflow.run.undocumented import PlannedJob

MODULES: Mapping[str, tuple[str, ...]] = {
    "models": ("torch", "transformers", "tokenizers"),
    "onnx": ("onnx", "onnxruntime"),
    "sentence-transformers": ("sentence_transformers",),
    "faiss": ("faiss",),
}
"""By extra of beirflow, what its packages are imported as."""


def check_names(
    config: Mapping[str, Any],
    catalogue: Catalogue,
    systems: Iterable[str],
    rows: Mapping[str, tuple[Dataset, ...]],
    wrong_rows: Collection[str],
    problems: Problems,
) -> None:
    """Check that every name is defined, and defined once; ``wrong_rows`` are datasets that have a problem already."""
    for name in systems:
        if name in {**catalogue_systems(), **absent_systems()}:
            problems.add(f"custom.systems.{name}", name, "the catalogue has a system of this name; choose another")
    check_own_names(rows, catalogue, problems)
    known_systems = [*catalogue_systems(), *systems]
    for i, name in enumerate(config["systems"]):
        if name not in known_systems:
            problems.add(f"systems.{i}", name, instead_of(name, known_systems, "; or define it under custom.systems"))
    known_rows = {**catalogue.known_datasets, **rows}
    for i, name in enumerate([] if config["datasets"] == "all" else config["datasets"]):
        if corpora_named(name, known_rows) is None and not any(f"{name}.".startswith(f"{each}.") for each in wrong_rows):
            problems.add(f"datasets.{i}", name, _allowed_datasets(name, known_rows, catalogue, names_in(config["data_dir"])))


def _allowed_datasets(name: str, rows: Mapping[str, tuple[Dataset, ...]], catalogue: Catalogue, folders: Iterable[str]) -> str:
    """Return the datasets that can replace an unknown one, folders of data_dir included."""
    newer, (whole, _, part) = catalogue.newer, name.rpartition(".")
    first = whole if whole in newer.collections else name.partition(".")[0]
    if part.startswith("self-matches-") and (corpora := corpora_named(whole, rows)):
        now, instead = ("dropped", "kept") if corpora[0].drop_self_matches else ("kept", "dropped")
        return f"in {whole}, self matches are {now} anyway; allowed are {whole} and {whole}.self-matches-{instead}"
    if whole in rows and part.startswith(("sample-", "documents-")):
        return (
            f"a sample of {whole} has a whole number of at least 1 behind it, as in {whole}.sample-50 or {whole}.documents-1000"
        )
    if whole in rows:
        usual = rows[whole][0]
        splits = ", ".join(f"{whole}.{each}" for each in usual.other_splits)
        return f"{whole} is evaluated on {usual.split}; " + (
            f"its other splits are {splits}" if splits else "it has no other splits"
        )
    if first in newer.collections and name not in newer.collections:
        return choices(name, newer.collections[first].members)
    others = [row for row in rows if row not in newer.members]
    known = dict.fromkeys([*others, "all", *newer.collections, *folders])
    return f"{choices(name, known)}; or define it under custom.datasets"


def check_baseline(config: Mapping[str, Any], problems: Problems) -> None:
    """Check that the others can be compared with a system that has results."""
    chosen = config["systems"]
    if config["baseline"] not in (None, *chosen):
        allowed = f"allowed are null and the configured systems, {', '.join(chosen)}{nearest(config['baseline'], chosen)}"
        problems.add("baseline", config["baseline"], allowed)


def check_secrets(systems: Mapping[str, Any], problems: Problems) -> None:
    """Check that no argument of a class is a secret: arguments are recorded, and only secrets are left to the environment."""
    for name, entry in systems.items():
        for key, value in (entry.get("arguments") or {}).items():
            if shown({key: value}) != {key: value}:
                allowed = "arguments are recorded; write ${NAME} for a password, key or token, and set that environment variable"
                problems.add(f"custom.systems.{name}.arguments.{key}", shown({key: value})[key], allowed)
            elif has_other_variables(key, value):
                allowed = "${NAME} is for secrets only: in an address, not as its host, or in an argument such as api_key"
                problems.add(f"custom.systems.{name}.arguments.{key}", value, allowed)


def check_combinations(experiment: Experiment, problems: Problems) -> None:
    """Check that the definitions can be used together."""
    config = experiment.config
    if "results" in (config.get("pathvars") or {}) and config["results"] != KEYS["results"]:
        problems.add("results", config["results"], "pathvars names the folder of the results too; remove one of the two")
    with disk_in_words(problems, "results", config["results"]):
        if any(path.exists() and not path.is_dir() for path in (Path(config["results"]), *Path(config["results"]).parents)):
            problems.add("results", config["results"], "expected a folder, or a path to make one at; a file is there")
    if max(config["cutoffs"]) > config["top_k"]:
        lower = [cutoff for cutoff in config["cutoffs"] if cutoff <= config["top_k"]] or [config["top_k"]]
        allowed = f"a cutoff can be at most top_k, which is {config['top_k']}; raise top_k, or set cutoffs: {lower}"
        problems.add("cutoffs", config["cutoffs"], allowed)
    _check_extra_judgements(experiment, problems)
    for check in (extension.check for extension in extensions() if extension.check):
        check(experiment, problems)
    _check_references(experiment, problems)
    if experiment.main_measure:
        check_measure(experiment, "main_measure", experiment.main_measure, problems)
    used = experiment.needed_systems
    check_dependencies(experiment.systems, used, config["top_k"], problems)
    runs = [(name, experiment.datasets[dataset]) for name, dataset in experiment.needed_runs]
    check_tuning(runs, experiment.systems, experiment.rows, problems)
    _check_systems(experiment, used, problems)
    _check_own_candidates(experiment, problems)
    _check_training_data(experiment, problems)
    own = list((config["custom"] or {}).get("datasets") or {})
    check_shared_texts(own, experiment.rows, "custom.datasets", problems)
    check_sources(experiment, problems)


def _check_extra_judgements(experiment: Experiment, problems: Problems) -> None:
    """Check that further judgements are of a corpus, and exist."""
    for name, path in experiment.config["extra_judgements"].items():
        key = f"extra_judgements.{name}"
        if name not in experiment.datasets:
            allowed = f"expected a dataset without forums, or a forum{nearest(name, experiment.datasets)}"
            problems.add(key, name, allowed)
        with disk_in_words(problems, key, path):
            if not Path(path).expanduser().is_file():
                problems.add(key, path, "expected an existing file")


def _check_references(experiment: Experiment, problems: Problems) -> None:
    """Check that folders of results of others have some of a configured task."""
    for folder in experiment.config["references"]:
        with disk_in_words(problems, "references", folder):
            if not experiment.reference_files(folder):
                tasks = ", ".join(experiment.reference_tasks) or "none: no configured dataset is one"
                problems.add("references", folder, f"there is no <model>/<revision>/<task>.json of a configured task ({tasks})")


def check_rule_names(named: Iterable[str], rules: Collection[str]) -> None:
    """Raise ConfigError for names in ``set-resources`` or ``set-threads`` that no rule has: their values would count nowhere."""
    lines = [f"found {name!r}, which is no rule{nearest(name, rules)}" for name in sorted({*named} - {*rules})]
    Problems([f"set-resources, set-threads: {line}" for line in lines]).raise_if_any("the profile or the command line")


def check_planned(experiment: Experiment, rules: Set[str]) -> None:
    """Check what only some rules need, once it is known which rules will run; raise ConfigError before they do."""
    for check in (extension.planned for extension in extensions() if extension.planned):
        check(experiment, rules)


def check_installed(experiment: Experiment, jobs: Iterable[PlannedJob]) -> None:
    """Check that what planned jobs compute with is installed: the packages of extras are no requirement of all else.

    Raise ConfigError with all that is missing, before any job runs.
    """
    jobs, lines = list(jobs), dict[str, str]()
    for name in dict.fromkeys(name for name, _ in experiment.needed_runs):
        family, settings = experiment.family(name), experiment.systems[name].settings
        rules = {stage.rule for stage in family.stages if stage.computes}
        for extra in family.extras(settings):
            missing = [module for module in MODULES[extra] if importlib.util.find_spec(module) is None]
            about = (None, name, experiment.encoder_of(name))
            computing = (job.rule in rules or (job.uses_gpu and family.has_model) for job in jobs if job.system in about)
            if missing and any(computing):
                needs = (
                    f"computes with {', '.join(missing)}, not installed here; install it with: pip install 'beirflow[{extra}]'"
                )
                lines.setdefault(extra, f"{name} is {family.name} and {needs}")
    if lines:
        raise ConfigError("\n  ".join(lines.values()))


def check_measure(experiment: Experiment, key: str, value: str, problems: Problems) -> None:
    """Check that a measure is known, at one of the cutoffs, and defined on all chosen datasets."""
    known = {name: each for name, each in MEASURES.items() if each.ranks_systems}
    if (name := name_of(value)) not in known:
        names = ", ".join(f"{key} ({each.needs.words})" if each.needs else key for key, each in known.items())
        with_cutoff = [f"{each}@{cutoff_of(value)}" for each in known]
        problems.add(key, value, f"expected a measure with a cutoff, such as NDCG@10: {names}{nearest(value, with_cutoff)}")
        return
    if cutoff_of(value) not in experiment.config["cutoffs"]:
        problems.add(key, value, f"expected a measure at one of the cutoffs, {experiment.config['cutoffs']}; add it to these")
    if needs := known[name].needs:
        for dataset in map(experiment.datasets.__getitem__, experiment.chosen_datasets):
            layout = dataset.form.layout if isinstance(dataset.form, HubForm) else None if dataset.path is None else needs.layout
            if layout != needs.layout:
                problems.add(key, value, f"{dataset.row} does not state what this measure compares; name another")


def _check_systems(experiment: Experiment, used: Iterable[str], problems: Problems) -> None:
    """Check that every system that will run can be used here, on every dataset that it will run on."""
    for name in used:
        system, family = experiment.systems[name], experiment.family(name)
        corpora = [experiment.datasets[dataset] for other, dataset in experiment.needed_runs if other == name]
        origin = f"custom.systems.{name}" if name not in catalogue_systems() else f"systems.{name}"
        with disk_in_words(problems, origin, name):
            if wrong := family.problem(system.settings):
                problems.add(f"{origin}.{wrong.key}", wrong.value, wrong.problem)
        with disk_in_words(problems, origin, system.name):
            check_run_files(origin, system, dict.fromkeys(corpus.whole_name for corpus in corpora), problems)
        for wrong in family.problems_on(system.settings, dict.fromkeys(corpus.whole_row for corpus in corpora)):
            problems.add(f"{origin if wrong.system is None else f'custom.systems.{wrong.system}'}.{wrong.key}", *wrong[1:3])


def _check_training_data(experiment: Experiment, problems: Problems) -> None:
    """Check that the training data of the user's own systems are known datasets."""
    known = [row for row, corpora in experiment.rows.items() if corpora[0].part_of is None]
    for name, system in experiment.systems.items():
        for dataset in system.trained_on.datasets or ():
            if dataset not in known:
                allowed = f"{choices(dataset, known)}; name other training data in `source`"
                problems.add(f"custom.systems.{name}.trained_on.datasets.{dataset}", dataset, allowed)


def _check_own_candidates(experiment: Experiment, problems: Problems) -> None:
    """Check that every system that will run can rank given candidates, if queries of a dataset have some."""
    able = [name for name, family in FAMILIES.items() if family.own_candidates]
    for name, corpus in experiment.needed_runs:
        dataset, system = experiment.datasets[corpus], experiment.systems[name]
        if experiment.family(name).only_candidates(system.settings) and not experiment.states_candidates(corpus):
            for reader in experiment.needed_systems:
                for key, read in experiment.family(reader).reads(experiment.systems[reader].settings).systems.items():
                    if read == name:
                        allowed = f"queries of {dataset.row} have no candidates, so {reader} needs a first stage, such as bm25"
                        problems.add(f"custom.systems.{reader}.{key}", name, allowed)
        if isinstance(dataset.form, SamplesForm) and system.family not in able:
            allowed = f"each query of {dataset.row} ranks only its own candidates, which systems of {', '.join(able)} can do"
            problems.add(f"systems.{name}", system.family, allowed)
        reads_lists = experiment.family(name).reads_query_lists(system.settings)
        if isinstance(dataset.form, SamplesForm) and dataset.form.query_lists and not reads_lists:
            allowed = f"queries of {dataset.row} are lists of texts, and only dense systems average their vectors"
            problems.add(f"systems.{name}", system.family, allowed)
