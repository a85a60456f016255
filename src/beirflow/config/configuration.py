"""The keys of the configuration, those of extensions too."""

import re
from collections import Counter
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, make_dataclass
from functools import reduce
from operator import getitem
from typing import Annotated, Any, Literal

from annotated_types import Interval, MinLen
from pydantic import create_model

from beirflow.config.models import STRICT, fields_of, keys_of, system_model
from beirflow.config.own_dataset_keys import OwnDataset
from beirflow.config.wrong_keys import errors_of, place_of, problems_of
from beirflow.core.extensions import commands, extensions
from beirflow.core.keys import (
    LEFT_OUT,
    STATED,
    UNIQUE,
    AnyDigest,
    As,
    Count,
    Measure,
    Name,
    Natural,
    OrNull,
    Price,
    Text,
    Texts,
    matching,
)
from beirflow.data.catalogue.schema import Problems

Auto = Literal["auto"]
Names = Annotated[list[str], MinLen(1), UNIQUE]
Url: Any = matching(r"https?://[^/\s]\S*", "an http or https URL")
FolderName: Any = matching(r"[^\n\0]+", "the name of a folder")
ReferenceFolder: Any = matching(r"[^<>{}\n]+", "a folder whose name has no braces, <, > or line feeds")
Folder: Any = matching(
    r"(?!~)(?![./]*$)(?!(?:\./)*(?:\.git|\.snakemake|workflow)(?:/|$))[^{}<>\n\0]+",
    "a folder of its own, such as results/mine, without ~, and without braces, which would be wildcards, or line feeds",
)


@dataclass(frozen=True)
class Properties:
    """Properties of datasets of the catalogue, which the chosen ones have in common."""

    collection: Texts = LEFT_OUT
    """Collections, or one, among whose members the others choose; BEIR's fifteen unless stated."""
    licence: Literal["commercial"] = LEFT_OUT
    """Only datasets whose licence allows commercial use."""
    task: Texts = LEFT_OUT
    """Tasks of the BEIR paper, or one."""
    domain: Texts = LEFT_OUT
    """Domains of the BEIR paper, or one."""
    language: Texts = LEFT_OUT
    """Languages, or one."""
    split: str = LEFT_OUT
    """Only datasets with this split of judgements, evaluated on it."""
    largest: Count = LEFT_OUT
    """The most documents of a dataset."""


@dataclass(frozen=True)
class Custom:
    """Your own systems and datasets."""

    systems: Annotated[Mapping[str, Any], As(dict[Name, system_model()])] = LEFT_OUT
    """Same keys as workflow/catalogue/systems.yaml."""
    datasets: Annotated[Mapping[str, Any], As(dict[Name, OwnDataset])] = LEFT_OUT
    """Datasets by name."""


@dataclass(frozen=True)
class Prices:
    """Prices of the machine of the jobs and of storage, in one currency."""

    hour: Price = LEFT_OUT
    """Price of an hour of the machine."""
    gigabyte_month: Price = LEFT_OUT
    """Price of a gigabyte (10^9 bytes) stored for a month."""


@dataclass(frozen=True)
class AuditOptions:
    """Options of the audit."""

    folder: OrNull[FolderName] = None
    """A folder of results by others that is read in place of your own."""
    output: OrNull[FolderName] = None
    """The folder of page and log; for results by others in audits/ unless stated."""
    sample: Natural = 0
    """Documents and queries of each corpus that are encoded and searched again; 0 for none."""
    manifest_sha256: OrNull[AnyDigest] = None
    """The published sha256 of manifest.json; null if none was published."""
    manifest_signature: OrNull[Text] = None
    """A detached OpenSSH signature of manifest.json, made with ssh-keygen -Y sign -n file."""
    allowed_signers: OrNull[Text] = None
    """The file of accepted signers, in the format of ssh-keygen's ALLOWED SIGNERS."""


@dataclass(frozen=True)
class EstimateOptions:
    """Options of the estimate of a run."""

    on: Text = LEFT_OUT
    """Hardware that is estimated for, such as 4xH100 or cpu:16; this machine unless given."""


OPTIONS = {"audit": AuditOptions, "estimate": EstimateOptions}
OPTIONS |= {name: command.options for name, command in commands().items() if command.options}
"""Classes of the options of commands, by name."""

Command = make_dataclass("Command", [(name, kind, LEFT_OUT) for name, kind in OPTIONS.items()], frozen=True)


@dataclass(frozen=True)
class PathVars:
    """Snakemake's own names of paths."""

    results: Folder = LEFT_OUT
    """Folder of all results."""


@dataclass(frozen=True)
class Configuration:
    """The experiment, config.yaml. Every key has a default, so a file of your own names only what it changes."""

    systems: Annotated[Any, As(Text | Names)] = field(default_factory=lambda: ["contriever"])
    """Names from workflow/catalogue/systems.yaml or from custom.systems, or a single one."""
    datasets: Annotated[Any, As(Text | Names | Annotated[Properties, STATED])] = "all"
    """Names from workflow/catalogue/datasets.yaml, collections.yaml (a collection is all its members, <collection>.<member> one)
    or from custom.datasets, or a single one; "all" is the fifteen of BEIR; or what those of the catalogue have in common.
    <name>.<split> is another split, <name>.documents-<n> a sample of its documents, which <name>.documents-<n>-seed-<s> draws
    otherwise, and <name>.sample-<n> a sample of its queries."""
    sample_queries: OrNull[Count] = None
    """Judged queries of each corpus to evaluate on, chosen by sample_seed, for a quick look; null for all."""
    sample_seed: Natural | Annotated[list[Natural], MinLen(1), UNIQUE] = 0
    """Seed of the sample of queries; a list for one sample a seed."""
    data_dir: OrNull[Text] = None
    """Folder that holds BEIR folders <name>/corpus.jsonl or archives <name>.zip; a dataset found there is not downloaded."""
    mirrors: list[Url] = field(default_factory=list)
    """Base URLs that are tried before the official host, <base>/<name>.zip; ${NAME} is an environment variable, for a password or
    a token."""
    top_k: Annotated[int, Interval(ge=1, le=100_000)] = 1000
    """Documents kept for each query."""
    cutoffs: Annotated[list[Count], MinLen(1), UNIQUE] = field(default_factory=lambda: [1, 3, 5, 10, 100, 1000])
    """The k of the measures at k; none above top_k."""
    main_measure: OrNull[Measure] = None
    """The measure and cutoff by which systems are ranked, compared, drawn and tuned; null for NDCG@10."""
    chunk_documents: Count = 500_000
    """Maximum number of documents per chunk. A chunk is one job, one file, and the work lost if the job dies."""
    keep_representations: bool = True
    """Whether vectors, postings and term weights of chunks stay after their search."""
    keep_archives: bool = True
    """Whether a downloaded archive stays after its datasets are prepared."""
    device: Literal["auto", "cuda", "mps", "cpu"] = "auto"
    """Where to compute. auto is cuda if available, and never mps."""
    precision: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Precision of models. auto is bfloat16 if the device supports it, else float32, as on mps."""
    token_budget: Auto | Count = "auto"
    """Tokens per batch, padding included. auto depends on the device. Halved if memory runs out."""
    jobs_per_gpu: Auto | Annotated[int, Interval(ge=1, le=16)] = "auto"
    """Jobs that compute on a GPU at a time; where all GPUs are taken, a job waits. auto is 2 from 40 GB of memory on, else 1."""
    prices: Annotated[Mapping[str, float], As(Prices)] = field(default_factory=dict)
    """What the machine of the jobs and storage cost, in one currency, for the bill of estimate, and for comparisons of costs."""
    baseline: OrNull[str] = None
    """The configured system that figures and report compare the others with. null is the first of systems."""
    figure_width: Annotated[float, Interval(ge=3, le=14)] = 7.2
    """Inches of a figure; one whose names need more is wider."""
    figure_font: Text = "DejaVu Sans"
    """Font family of the figures, installed on the machine that draws them."""
    extra_judgements: dict[str, Text] = field(default_factory=dict)
    """By dataset or forum, a file of additional judgements, TREC qrels, BEIR's TSV or a filled pool, for the paper's table of
    holes and for explain."""
    references: list[ReferenceFolder] = field(default_factory=list)
    """Folders of published results of others in MTEB's layout, <model>/<revision>/<task>.json, or one of these models or
    revisions."""
    command: Annotated[Any, As(OrNull[Command])] = None
    """Options of a command, which decide no result; the command beirflow writes them."""
    custom: Annotated[Mapping[str, Any], As(OrNull[Custom])] = field(default_factory=dict)
    """Your own systems and datasets."""
    results: Folder = "results"
    """Folder of all results."""
    pathvars: PathVars = LEFT_OUT
    """Snakemake's own name of the same, {results: results/mine}."""


CLASSES: tuple[Any, ...] = (Configuration, *(extension.keys for extension in extensions() if extension.keys))

KEYS: dict[str, Any] = {key: default for kind in CLASSES for key, (_, default) in keys_of(kind).items()}
"""Default of every key of the configuration; None where it has none."""

_FIELDS: dict[str, Any] = {key: each for kind in CLASSES for key, each in fields_of(kind).items()}
MODEL = create_model("Configuration", __config__=STRICT, **_FIELDS)

NUMBER = re.compile(r"[+-]?[0-9]{1,18}(\.[0-9]*)?([eE][+-]?[0-9]{1,3})?")
"""A number as people type it. Below a key, Snakemake's command line has only texts; so has YAML for 1e-6, without a point."""


def defaults() -> dict[str, Any]:
    """Return the default of each key that has one."""
    return {key: deepcopy(default) for key, default in KEYS.items() if key != "pathvars"}


def problems_with(config: Mapping[str, Any]) -> Problems:
    """Return the problems of the keys and the values of a configuration."""
    return problems_of(config, MODEL, KEYS)


def with_types(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration in which texts have the types that its keys want: numbers, booleans, and lists between commas."""
    typed: dict[str, Any] = deepcopy(dict(config))
    for key in ("systems", "datasets"):
        if isinstance(value := typed.get(key), str) and "," in value:
            typed[key] = _parts(value)
    for _ in range(2):  # a list, then what is in it
        errors = [(place_of(error["loc"], MODEL).path, error) for error in errors_of(typed, MODEL)]
        alone = {path for path, number in Counter(path for path, _ in errors).items() if number == 1}
        for path, error in errors:
            value = _mended(error["input"], error["type"], alone=len(path) == 1 and path in alone)
            if value is not None and (not isinstance(value, list) or len(path) == 1 or path[0] == "command"):
                reduce(getitem, path[:-1], typed)[path[-1]] = value
    return typed


def _mended(value: Any, error: str, *, alone: bool) -> Any:
    """Convert a value to the expected type; None if it has no meaning in it. ``alone``, it may be a list's only entry."""
    if error == "list_type" and isinstance(value, str) and (alone or "," in value):
        return _parts(value)
    if error == "list_type" and alone and isinstance(value, int) and not isinstance(value, bool):
        return [value]
    if error == "bool_type":
        return {"true": True, "false": False}.get(str(value).lower())
    if isinstance(value, str) and error in ("int_type", "float_type") and (number := NUMBER.fullmatch(value)):
        return float(value) if number[1] or number[2] else int(value)
    return None


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
