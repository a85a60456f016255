"""The experiment: the configuration, checked and joined with the catalogue, as the rules see it."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from beirflow.datasets.archives import is_archive
from beirflow.datasets.beir_files import required_files
from beirflow.datasets.document_count import known_documents
from beirflow.datasets.hub_layout import HubForm
from beirflow.datasets.opening import Form
from beirflow.datasets.query_count import count_judged_queries
from beirflow.dense.settings import OF_A_VARIANT, DenseSettings
from beirflow.experiment.catalogue import Catalogue, Dataset, check_shared_texts, load_catalogue, make_systems
from beirflow.experiment.choice import check_own_names, chosen_names, corpora_named
from beirflow.experiment.dependencies import check_dependencies, check_run_files, needed
from beirflow.experiment.expansions import Expansions
from beirflow.experiment.families import FAMILIES
from beirflow.experiment.own_datasets import check_own_datasets, custom_dataset
from beirflow.experiment.schema import Problems, defaults, nearest, problems_with, with_booleans
from beirflow.files.digests import file_state
from beirflow.files.errors import ConfigError
from beirflow.files.layout import ALL_DIMENSIONS, ARCHIVE, HUB_DATASET, MODEL, TRAINED_MODEL_RECORD
from beirflow.models.settings import ModelSettings
from beirflow.runs.family import System

RESULTS = "<results>"
"""The folder of all results, as Snakemake fills it in."""

CONFIGURATION = "the configuration (config.yaml, --configfile, --config)"
"""How messages call it."""

NO_COPY = "nobody may hand out {name}; to use a copy of your own, put it in BEIR form into the folder {name} of data_dir"

BLOCK_QUERIES = 256
"""Of a job that scores pairs: with a hundred documents each, half an hour of a CPU with two cores, and seconds of a GPU."""

MOST_THREADS = 8
"""Of a job that encodes or searches."""


NOT_OF_VECTORS = ("similarity", "instructions", "weights_sha256", "train", *OF_A_VARIANT)
"""Settings of a dense system that change no vector, or change it as the record of the model says."""


@dataclass(frozen=True)
class Experiment:
    """What is known and what is asked for.

    Attributes:
        config: The configuration with every default filled in.
        catalogue: What the project knows.
        systems: Every known system by name, those of the configuration included.
        rows: Every known dataset by name with its corpora, those of the configuration included.
        datasets: Every known corpus by name: datasets, and forums as ``<dataset>-<forum>``.
    """

    config: Mapping[str, Any]
    catalogue: Catalogue
    systems: Mapping[str, System]
    rows: Mapping[str, tuple[Dataset, ...]]
    datasets: Mapping[str, Dataset]

    @property
    def chosen_systems(self) -> list[str]:
        """Names of the configured systems."""
        return list(self.config["systems"])

    @property
    def needed_systems(self) -> list[str]:
        """Names of the configured systems, and after them of those whose runs they are made from."""
        return needed(self.chosen_systems, self.systems)

    @property
    def baseline(self) -> str:
        """The configured system that the others are compared with."""
        return self.config["baseline"] or self.chosen_systems[0]

    @property
    def chosen_rows(self) -> dict[str, list[str]]:
        """By configured dataset, which is a row of the summary, the names of its corpora: one, or one a forum."""
        chosen = list(self.catalogue.datasets) if self.config["datasets"] == "all" else self.config["datasets"]
        return {row: [dataset.name for dataset in self.rows[row]] for row in chosen}

    @property
    def chosen_datasets(self) -> list[str]:
        """Names of the configured corpora: datasets, and forums in place of a dataset that has them."""
        return [name for names in self.chosen_rows.values() for name in names]

    @property
    def mteb_datasets(self) -> list[str]:
        """Names of the configured datasets and forums that are tasks of MTEB; a part of a dataset's queries is none."""
        names = [name for row, corpora in self.chosen_rows.items() for name in dict.fromkeys((row, *corpora))]
        return [name for name in names if name in self.catalogue.mteb]

    @property
    def extra_judgements(self) -> dict[str, str]:
        """By configured corpus, the file of its further judgements."""
        files: Mapping[str, str] = self.config["extra_judgements"]
        return {name: str(Path(files[name]).expanduser()) for name in self.chosen_datasets if name in files}

    @property
    def rows_of_forums(self) -> dict[str, list[str]]:
        """By dataset that has forums, configured or not, the names of its corpora."""
        return {row: [forum.name for forum in corpora] for row, corpora in self.rows.items() if corpora[0].forum}

    def shared_with(self, name: str, system: str | None = None) -> str | None:
        """The dataset whose vectors a dataset reuses for equal texts; None unless both are configured.

        Args:
            name: Name of the dataset.
            system: Whose vectors; one that is trained for each dataset has others for equal texts. Any other if None.

        Returns:
            Name of the other dataset.
        """
        other, chosen = self.datasets[name].shares_texts_with, self.chosen_rows
        if name not in chosen or other is None or (system is not None and self.is_trained(system)):
            return None
        return next((row for row in chosen if self.rows[row][0].whole_row == other), None)

    def folder(self, name: str) -> str | None:
        """Where a dataset is already: the folder, archive or file of the user's own, or its folder in ``data_dir``, or None."""
        dataset = self.datasets[name]
        if dataset.path is not None:
            return str(Path(dataset.path).expanduser())
        if self.config["data_dir"] is None or isinstance(dataset.form, HubForm):
            return None
        folder = Path(self.config["data_dir"]).expanduser() / dataset.whole_row
        return str(folder) if folder.is_dir() else None

    def source_files(self, name: str) -> list[str]:
        """The files that ``prepare_corpus`` depends on: those of the folder, the archive or file, or the record of a hub."""
        folder, dataset = self.folder(name), self.datasets[name]
        if isinstance(dataset.form, HubForm):
            return [HUB_DATASET.below(RESULTS).format(dataset=name)]
        if folder is None and dataset.own_copy:
            raise ConfigError(NO_COPY.format(name=dataset.whole_row))
        if folder is None:
            return [ARCHIVE.below(RESULTS).format(archive=dataset.archive)]
        return [folder] if dataset.form or is_archive(folder) else required_files(Path(folder), dataset.forum, dataset.split)

    def source_states(self, name: str) -> list[str]:
        """The states of these files as they are now; none of an archive that is downloaded, which is checked by its md5."""
        return [file_state(path) for path in self.source_files(name)] if self.folder(name) else []

    def documents(self, name: str) -> int | None:
        """Number of documents that the corpus must have; counted once if nobody states it. None where a hub has it, unstated."""
        dataset = self.datasets[name]
        if dataset.documents is not None or isinstance(dataset.form, HubForm):
            return dataset.documents
        return _counted(str(self.folder(name)), dataset.forum, dataset.form)

    def chunks(self, name: str) -> int:
        """Number of chunks of the corpus, known before anything is downloaded: one where the documents are not counted."""
        return max(1, math.ceil((self.documents(name) or 0) / self.config["chunk_documents"]))

    def archive(self, name: str) -> dict[str, Any]:
        """What an official archive must be, as arguments of ``download_dataset``: ``md5`` and ``size``, in bytes."""
        dataset = next(dataset for dataset in self.datasets.values() if dataset.archive == name)
        return {"md5": dataset.md5, "size": dataset.archive_bytes}

    @property
    def hub_datasets(self) -> list[str]:
        """Names of all known corpora that are on a hub."""
        return [name for name, dataset in self.datasets.items() if isinstance(dataset.form, HubForm)]

    def on_hub(self, name: str) -> dict[str, Any]:
        """Where a corpus is on a hub, as arguments of ``fetch_dataset``: ``form`` and ``split``."""
        dataset = self.datasets[name]
        return {"form": asdict(dataset.form) if dataset.form else None, "split": dataset.split}

    def query_blocks(self, name: str) -> int:
        """Number of blocks that the queries of a corpus are divided into for what scores pairs, known beforehand."""
        dataset = self.datasets[name]
        queries = dataset.queries or dataset.sample_queries
        if queries is None and isinstance(dataset.form, HubForm):
            return 1
        if queries is None:
            queries = _judged(str(self.folder(name)), dataset.forum, dataset.split, dataset.form)
        return max(1, math.ceil(min(queries, dataset.sample_queries or queries) / BLOCK_QUERIES))

    def corpus_settings(self, name: str) -> dict[str, Any]:
        """The settings that determine a prepared corpus, as arguments of ``prepare_corpus``.

        Args:
            name: Name of the corpus.

        Returns:
            Keyword arguments, all but the paths.
        """
        dataset, documents = self.datasets[name], self.documents(name)
        most = {} if documents else {"most": self.config["chunk_documents"]}
        return {
            "forum": dataset.forum,
            "split": dataset.split,
            "chunks": self.chunks(name),
            "expected": {"documents": documents, "queries": dataset.queries, "files": dict(dataset.files), **most},
            "form": asdict(dataset.form) if dataset.form else None,
            "part_of": dataset.part_of,
            "sample": {"queries": dataset.sample_queries, "seed": dataset.sample_seed} if dataset.sample_queries else None,
        }

    def settings(self, system: str, *unused: str) -> dict[str, Any]:
        """The settings of a system, as the parameters of a rule.

        Args:
            system: Name of the system.
            *unused: Settings that do not change what the rule makes, so that a change of them reruns nothing.

        Returns:
            The other settings by name.
        """
        return {key: value for key, value in asdict(self.systems[system].settings).items() if key not in unused}

    def settings_on(self, system: str, dataset: str, *unused: str) -> dict[str, Any]:
        """The settings of a system as they are for one corpus, without those that are not used."""
        settings = self.systems[system].settings.for_dataset(self.datasets[dataset].whole_row)
        return {key: value for key, value in asdict(settings).items() if key not in unused}

    def encoding(self, system: str, dataset: str, *unused: str) -> dict[str, Any]:
        """The settings that determine the vectors of a system; a change of any other setting re-encodes nothing.

        Args:
            system: Name of the system.
            dataset: Name of the corpus, whose queries may have an instruction of their own.
            *unused: Settings for the other kind of text.

        Returns:
            ``encoder``, fields of :class:`~beirflow.models.settings.EncoderSettings`, and ``precision``.
        """
        settings = self.systems[system].settings.for_dataset(self.datasets[dataset].whole_row)
        found = asdict(settings.trained if settings.train else settings)
        encoder = {key: value for key, value in found.items() if key not in (*NOT_OF_VECTORS, *unused)}
        return {"encoder": encoder, "precision": self.config["precision"]}

    def training(self, system: str, dataset: str) -> dict[str, Any]:
        """The settings that determine the encoder that is trained for a corpus.

        Args:
            system: Name of the system.
            dataset: Name of the corpus.

        Returns:
            ``encoder``, fields of the encoder that it begins as; ``similarity``; and ``train``, fields of
            :class:`~beirflow.training.settings.Training`.
        """
        settings = self.settings_on(system, dataset)
        encoder = {key: value for key, value in settings.items() if key not in NOT_OF_VECTORS}
        return {"encoder": encoder, **{key: settings[key] for key in ("similarity", "train")}}

    def is_trained(self, system: str) -> bool:
        """Whether the encoder of a system is trained for each dataset."""
        return getattr(self.systems[system].settings, "train", None) is not None

    @property
    def trained_systems(self) -> list[str]:
        """Names of all known systems whose encoders are trained, without variants of them."""
        return [name for name in self.systems if self.is_trained(name) and self.encoder_of(name) == name]

    def model_record(self, system: str, dataset: str) -> str:
        """The record of the model that a system uses on a dataset: its own, or that of the system that it is a variant of."""
        pattern = TRAINED_MODEL_RECORD if self.is_trained(system) else MODEL
        return pattern.below(RESULTS).format(system=self.encoder_of(system), dataset=dataset)

    def encoder_of(self, system: str) -> str:
        """The system whose model and representations a system uses: its own, unless it is a variant of another."""
        return self.settings(system).get("variant_of") or system

    def variant(self, system: str) -> dict[str, Any]:
        """How a dense system compresses the vectors that it searches, and whose they are."""
        settings = self.settings(system)
        return {key.removeprefix("stored_"): settings[key] for key in OF_A_VARIANT}

    def in_paths(self, system: str) -> dict[str, Any]:
        """What paths may have of a system: its settings, and as ``system`` the one that encodes for it."""
        settings = self.settings(system)
        dimensions = settings.get("stored_dimensions") or ALL_DIMENSIONS
        found = {**settings, "system": self.encoder_of(system), "dimensions": dimensions}
        index = getattr(self.systems[system].settings, "index", None)
        return found if index is None else {**found, "analyzer": index.name}

    @cached_property
    def expansions(self) -> Expansions:
        """What is added to documents, and the indexes of lexical systems."""
        return Expansions(self.systems.values())

    def retrieval(self, name: str) -> dict[str, Any]:
        """What determines how many documents of a corpus a search keeps, whatever the family: ``top_k`` and self matches."""
        return {"drop_self_matches": self.datasets[name].drop_self_matches, "top_k": self.config["top_k"]}

    def systems_of(self, *families: str) -> list[str]:
        """Names of all known systems of some families, configured or not."""
        return [name for name, system in self.systems.items() if system.family in families]

    @property
    def merged_systems(self) -> list[str]:
        """Names of all known systems whose runs are merged from the candidates of chunks."""
        return [name for name, system in self.systems.items() if not FAMILIES[system.family].direct]

    def first_stages(self, system: str) -> list[str]:
        """Names of the systems whose runs a system is made from, in the order of its settings."""
        found = self.systems[system]
        return list(FAMILIES[found.family].reads(found.settings).systems.values())

    def run_file(self, system: str, dataset: str) -> str | None:
        """The file outside the results that holds the run of a system on a corpus; None where the run is made here."""
        found = self.systems[system]
        path = FAMILIES[found.family].source(found.settings, self.datasets[dataset].whole_name)
        return None if path is None else str(path)

    def run_state(self, system: str, dataset: str) -> str | None:
        """The state of that file as it is now."""
        path = self.run_file(system, dataset)
        return None if path is None else file_state(path)

    def model_settings(self, system: str) -> dict[str, Any]:
        """Where a system's model is: fields of :class:`~beirflow.models.settings.ModelSettings`."""
        settings = self.settings(system)
        return {field.name: settings[field.name] for field in fields(ModelSettings)}

    def said(self, system: str) -> list[str] | None:
        """Names of the settings of an encoder that the configuration says; None for a family whose models have no card."""
        return getattr(self.systems[system].settings, "said", None)

    @property
    def systems_with_models(self) -> list[str]:
        """Names of all known systems that have a model of their own."""
        return [name for name, each in self.systems.items() if FAMILIES[each.family].has_model and self.encoder_of(name) == name]

    def model_files(self, system: str) -> list[str]:
        """The files of a system's model that need no hub."""
        found = self.systems[system]
        return [str(path) for path in FAMILIES[found.family].model_files(found.settings)]

    def model_states(self, system: str) -> list[str]:
        """The states of these files as they are now."""
        return [file_state(path) for path in self.model_files(system)]

    def gpu_share(self, limits: Mapping[str, Any]) -> tuple[int, int | None]:
        """What a job that may compute on a GPU asks Snakemake for.

        Args:
            limits: Snakemake's own: ``_cores`` and, where it is limited, ``gpu``, which is how many such jobs run at once.

        Returns:
            Threads, so few that all these jobs find cores; and how many of ``gpu`` it takes, None where that is not limited:
            an executor of a cluster would ask for a GPU, which a profile decides.
        """
        gpus, cores = (limits[name].value if name in limits else None for name in ("gpu", "_cores"))
        if self.config["device"] == "cpu" or gpus is None:
            return MOST_THREADS, None
        return max(1, min(MOST_THREADS, (cores or MOST_THREADS) // max(1, gpus))), 1

    def urls(self, archive: str) -> list[str]:
        """Where the archive is looked for, in order: the mirrors, then the official host."""
        return [f"{base.rstrip('/')}/{archive}.zip" for base in [*self.config["mirrors"], self.catalogue.host]]


@cache
def _counted(source: str, forum: str | None, form: Form | None) -> int:
    return known_documents(source, forum, form)


@cache
def _judged(source: str, forum: str | None, split: str, form: Form | None) -> int:
    return count_judged_queries(source, forum, split, form)


def load_experiment(config: Mapping[str, Any]) -> Experiment:
    """Check the configuration and join it with the catalogue.

    Args:
        config: What Snakemake read from ``config.yaml`` and from the command line.

    Returns:
        The experiment; nothing is read or written but the catalogue and the presence of files.

    Raises:
        ConfigError: An unknown key or name, a value that is not allowed, or a combination that is impossible; the message
            lists every problem with the key's path, what was found, what is allowed and the nearest name.
    """
    config = with_booleans(config, "config")
    problems_with(config, "config").raise_if_any(CONFIGURATION)
    config = {**defaults("config"), **config}
    catalogue = load_catalogue()
    custom = config["custom"] or {}
    problems = Problems()
    systems = config["systems"]
    config |= {
        "systems": [systems] if isinstance(systems, str) else systems,
        "datasets": chosen_names(config, catalogue, problems),
    }
    systems = make_systems(custom.get("systems") or {}, catalogue.systems, "custom.systems", problems)
    problems.raise_if_any(CONFIGURATION)  # of variants, which are no systems then
    check_own_datasets(custom.get("datasets") or {}, problems)
    rows = {name: custom_dataset(name, entry) for name, entry in (custom.get("datasets") or {}).items()}
    _check_names(config, catalogue, systems, rows, problems)
    _check_baseline(config, problems)
    problems.raise_if_any(CONFIGURATION)
    all_rows = {**catalogue.known_datasets, **rows}
    chosen = [] if config["datasets"] == "all" else config["datasets"]
    all_rows |= {name: corpora for name in chosen if (corpora := corpora_named(name, all_rows))}
    experiment = Experiment(
        config=config,
        catalogue=catalogue,
        systems={**catalogue.systems, **systems},
        rows=all_rows,
        datasets={dataset.name: dataset for datasets in all_rows.values() for dataset in datasets},
    )
    _check_combinations(experiment, problems)
    problems.raise_if_any(CONFIGURATION)
    return experiment


def _check_names(
    config: Mapping[str, Any],
    catalogue: Catalogue,
    systems: Mapping[str, System],
    rows: Mapping[str, tuple[Dataset, ...]],
    problems: Problems,
) -> None:
    """Every name is defined, and defined once."""
    for name in systems:
        if name in catalogue.systems:
            problems.add(f"custom.systems.{name}", name, "the catalogue has a system of this name; choose another")
    known = catalogue.known_datasets
    taken = {corpus.name for corpora in known.values() for corpus in corpora} | set(known)
    for row, corpora in rows.items():
        for name in {row, *(corpus.name for corpus in corpora)}:
            if name in taken:
                problems.add(f"custom.datasets.{row}", name, "another dataset or forum has this name; choose another")
            taken.add(name)
    check_own_names(rows, catalogue, problems)
    known_systems = [*catalogue.systems, *systems]
    for i, name in enumerate(config["systems"]):
        if name not in known_systems:
            allowed = f"allowed are {', '.join(known_systems)}, or define it under custom.systems{nearest(name, known_systems)}"
            problems.add(f"systems.{i}", name, allowed)
    known_rows = {**catalogue.known_datasets, **rows}
    for i, name in enumerate([] if config["datasets"] == "all" else config["datasets"]):
        if corpora_named(name, known_rows) is None:
            problems.add(f"datasets.{i}", name, _allowed_datasets(name, known_rows))


def _allowed_datasets(name: str, rows: Mapping[str, tuple[Dataset, ...]]) -> str:
    """What a dataset that is not known can be instead."""
    whole = name.rpartition(".")[0]
    if whole in rows:
        usual = rows[whole][0]
        others = ", ".join(f"{whole}.{each}" for each in usual.other_splits)
        return f"{whole} is evaluated on {usual.split}; " + (
            f"its other splits are {others}" if others else "it has no other splits"
        )
    return f"allowed are {', '.join(rows)}, or define it under custom.datasets{nearest(name, rows)}"


def _check_baseline(config: Mapping[str, Any], problems: Problems) -> None:
    """The others can be compared with a system that has results."""
    chosen = config["systems"]
    if config["baseline"] not in (None, *chosen):
        allowed = f"allowed are null and the configured systems, {', '.join(chosen)}{nearest(config['baseline'], chosen)}"
        problems.add("baseline", config["baseline"], allowed)


def _check_combinations(experiment: Experiment, problems: Problems) -> None:
    """What is defined can also be done together."""
    config = experiment.config
    for cutoff in config["cutoffs"]:
        if cutoff > config["top_k"]:
            allowed = f"a cutoff can be at most top_k, which is {config['top_k']}; raise top_k or drop the cutoff"
            problems.add("cutoffs", cutoff, allowed)
    _check_extra_judgements(experiment, problems)
    used = experiment.needed_systems
    check_dependencies(experiment.systems, used, config["top_k"], problems)
    _check_systems(experiment, used, problems)
    _check_own_candidates(experiment, used, problems)
    own = list((config["custom"] or {}).get("datasets") or {})
    check_shared_texts(own, experiment.rows, "custom.datasets", problems)
    with _disk_in_words(problems, "data_dir", config["data_dir"]):
        if config["data_dir"] is not None and not Path(config["data_dir"]).expanduser().is_dir():
            there = Path(config["data_dir"]).expanduser().absolute()
            problems.add(
                "data_dir", config["data_dir"], f"a folder that exists is needed, or null to download; there is no {there}"
            )
    unusable = any(line.startswith("data_dir:") for line in problems.lines)
    for dataset in map(experiment.datasets.__getitem__, experiment.chosen_datasets):
        if dataset.path is None and unusable:
            continue
        if isinstance(dataset.form, HubForm):
            continue
        key = "data_dir" if dataset.path is None else f"custom.datasets.{dataset.whole_row}.path"
        value = dataset.path or config["data_dir"]
        with _disk_in_words(problems, key, value):
            if problem := _source_problem(experiment, dataset):
                problems.add(key, value, problem)


def _check_extra_judgements(experiment: Experiment, problems: Problems) -> None:
    """Further judgements are of a corpus, and there."""
    for name, path in experiment.config["extra_judgements"].items():
        key = f"extra_judgements.{name}"
        if name not in experiment.datasets:
            problems.add(key, name, f"the name of a dataset without forums, or of a forum{nearest(name, experiment.datasets)}")
        with _disk_in_words(problems, key, path):
            if not Path(path).expanduser().is_file():
                problems.add(key, path, "a file that exists is needed")


def _check_systems(experiment: Experiment, used: Iterable[str], problems: Problems) -> None:
    """Every system that will run can be used here, on every configured dataset."""
    for name in used:
        system = experiment.systems[name]
        origin = f"custom.systems.{name}" if name not in experiment.catalogue.systems else f"systems.{name}"
        with _disk_in_words(problems, origin, name):
            if wrong := FAMILIES[system.family].problem(system.settings):
                problems.add(f"{origin}.{wrong.key}", wrong.value, wrong.problem)
        check_run_files(origin, system, [experiment.datasets[each].whole_name for each in experiment.chosen_datasets], problems)
        dense = getattr(system.settings, "dense", system.settings)
        if isinstance(dense, DenseSettings):
            where = origin if dense is system.settings else f"custom.systems.{dense.name}"
            rows = dict.fromkeys(experiment.rows[row][0].whole_row for row in experiment.chosen_rows)
            for row in dense.without_instruction(rows):
                allowed = f"queries of {row} need an instruction: say what they are for, in words that the model's card uses"
                problems.add(f"{where}.instructions.{row}", None, allowed)


def _check_own_candidates(experiment: Experiment, used: Iterable[str], problems: Problems) -> None:
    """Where a query ranks only its own candidates, every system that will run can do that."""
    able = [name for name, family in FAMILIES.items() if family.own_candidates]
    for dataset in map(experiment.datasets.__getitem__, experiment.chosen_datasets):
        for name in used if dataset.form and dataset.form.own_candidates else ():
            family = experiment.systems[name].family
            if family not in able:
                allowed = f"each query of {dataset.row} ranks only its own candidates, which systems of {', '.join(able)} can do"
                problems.add(f"systems.{name}", family, allowed)


def _source_problem(experiment: Experiment, dataset: Dataset) -> str | None:
    """What keeps the source of a dataset from being read, as far as a look at its files can tell."""
    folder = experiment.folder(dataset.name)
    if dataset.path is not None and not Path(folder or "").exists():
        what = "a file" if dataset.form else "a folder or a .zip"
        return f"{what} that exists is needed, and there is no {Path(folder or '').absolute()}"
    if folder is None:
        return NO_COPY.format(name=dataset.whole_row) if dataset.own_copy else None
    if found := re.search(r"[{}<>\n]", folder):
        return f"Snakemake would not take {found[0]!r} in a path for itself; rename the folder, or name a link to it"
    for path in experiment.source_files(dataset.name):
        with Path(path).open("rb"):
            """What can be opened can be read."""
    return None


@contextmanager
def _disk_in_words(problems: Problems, key: str, value: Any) -> Iterator[None]:
    """Note what the disk refuses when it is looked at, such as a folder of another user or the home of nobody."""
    try:
        yield
    except ConfigError as error:
        problems.add(key, value, str(error))
    except (OSError, RuntimeError) as error:
        problems.add(key, value, f"it cannot be read ({error}); let the user who runs this read it, or name another")
