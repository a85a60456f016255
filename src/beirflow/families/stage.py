"""The stages of families: what each reads and makes, what it gets from the experiment, and where it runs.

One loop of the workflow makes a rule of each (``workflow/rules/families.smk``). Inputs and parameters of a job are functions of a
:class:`Task`; nothing here computes, and no job imports it.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from typing import Any

from beirflow.core import layout
from beirflow.core.layout import record_of
from beirflow.core.patterns import Pattern, patterns_in
from beirflow.families.postings.names import modules_of
from beirflow.run.code_version import code_of

PATTERNS = patterns_in(layout)
RESULTS_OF_ONE = (layout.CANDIDATES, layout.PAIRS, layout.RUN)  # results that no other system shares

QUERIES = {"queries": layout.QUERIES, "corpus": layout.CORPUS}
DOCUMENTS = {"documents": layout.DOCUMENTS, "corpus": layout.CORPUS}
TEXTS = QUERIES | DOCUMENTS
MODEL = {"model": layout.MODEL}


@dataclass(frozen=True)
class Task:
    """A job of a stage in a plan: the experiment, and the wildcards of the job by name."""

    experiment: Any
    wildcards: Mapping[str, str]

    @property
    def about(self) -> tuple[str, str]:
        """System and dataset."""
        return self.wildcards["system"], self.wildcards["dataset"]

    @property
    def own(self) -> Any:
        """Settings of the system, the same for all datasets."""
        return self.experiment.systems[self.wildcards["system"]].settings

    @property
    def settings(self) -> Any:
        """Settings of the system as they are for the dataset."""
        return self.experiment.settings_for(*self.about)

    @property
    def index(self) -> Any:
        """Settings of the index of an analyzer."""
        return self.experiment.expansions.indexes[self.wildcards["analyzer"]]

    def files(self, pattern: Pattern) -> list[str]:
        """Return the files of what represents a system's texts: all chunks and blocks unless the job is about one."""
        names = dict(self.wildcards)
        if "system" in names:
            names |= self.experiment.in_paths(*self.about)
        return self._filled(pattern, names)

    def all_files(self, pattern: Pattern) -> list[str]:
        """Return the same of the system itself, though another may represent its texts."""
        return self._filled(pattern, self.wildcards)

    def files_of_first_stages(self, pattern: Pattern) -> list[str]:
        """Return the same of the systems whose runs the system is made from."""
        names = [dict(self.wildcards) | {"system": name} for name in self.experiment.first_stages(self.wildcards["system"])]
        return [file for each in names for file in self._filled(pattern, each)]

    def files_with_shared_texts(self, pattern: Pattern) -> list[str]:
        """Return the same of the dataset whose texts this one shares, for a system that reuses what represents them."""
        other = self.experiment.shared_with(self.wildcards["dataset"], self.wildcards.get("system"))
        names = {key: value for key, value in self.wildcards.items() if key != "chunk"}
        return self._filled(pattern, names | {"dataset": other}) if other else []

    def _filled(self, pattern: Pattern, names: Mapping[str, Any]) -> list[str]:
        if pattern == layout.MODEL:  # which some families have elsewhere
            pattern = self.experiment.family(names["system"]).model_record(self.experiment.systems[names["system"]].settings)
        missing = [name for name in re.findall(r"\{(\w+)\}", pattern) if name not in names]
        values = product(*(self._all(name, names) for name in missing))
        path = pattern.below(layout.RESULTS)
        return [path.format(**names, **dict(zip(missing, each, strict=True))) for each in values]

    def _all(self, name: str, names: Mapping[str, Any]) -> Sequence[Any]:
        """Return the chunks or blocks of a dataset, or the expansion of a system or an index."""
        experiment, dataset = self.experiment, names["dataset"]
        if name == "expansion":
            expansions = experiment.expansions
            return expansions.of_system(names["system"]) if "system" in names else expansions.of_index(names["analyzer"])
        return range({"chunk": experiment.chunks, "block": experiment.query_blocks}[name](dataset))


Question = Callable[[Task], Any]


class First(Pattern):
    """A pattern of files of the systems whose runs a system is made from."""

    __slots__ = ()


Input = Pattern | Question


@dataclass(frozen=True)
class Stage:
    """A step of a family, which runs as a rule of the workflow.

    Files that have a record are inputs and outputs with it, ``<name>_record``; the record of what a stage makes is ``record``.
    """

    rule: str
    function: str  # step function that a job calls, "beirflow.families.<family>.<module>:<function>"
    message: str  # what a job does, with wildcards as Snakemake has them
    reads: Mapping[str, Input]  # files by name; a question returns paths, which may be outside the results
    makes: Mapping[str, Pattern]
    params: Mapping[str, Question] = field(default_factory=dict)  # by name, arguments of the step function
    makers: Mapping[str, str] = field(default_factory=dict)  # by argument, the function that makes it or is it
    env: str = "data"  # file of envs/ with what it imports, unless it computes on a GPU
    threads: int | Question | None = 1  # None for as many as a job that computes on a GPU has
    gpu: bool = False  # whether it computes on a GPU, where there is one
    priority: int = 0
    represents: bool = False  # whether it makes what is searched, which only the configuration keeps
    of_variants: bool = False  # whether only some variants of systems need it
    updates: bool = False  # whether it finds what an earlier job made, and reuses it
    downloads: bool = False  # whether it needs a network, and so the submitting host
    outside: bool = False  # whether it reads files outside the results

    @property
    def computes(self) -> bool:
        """Test whether it imports what models or indexes are computed with."""
        return self.gpu or self.env == "encode"

    @property
    def made(self) -> Pattern:
        """The first file that it makes."""
        return next(iter(self.makes.values()))

    @property
    def wildcards(self) -> list[str]:
        """The names in its paths."""
        return re.findall(r"\{(\w+)\}", self.made)

    @property
    def log(self) -> str:
        """The path of its log, below the folder of its rule."""
        parts = {name: f"{name}-{{{name}}}" if name in ("chunk", "block") else f"{{{name}}}" for name in self.wildcards}
        return f"{'/'.join(parts.values())}.log"

    @property
    def inputs(self) -> dict[str, Input]:
        """All that it reads: a pattern that its wildcards fill in, or what returns the paths of a job."""
        found = dict[str, Input]()
        for name, files in self.reads.items():
            found[name] = _question(files)
            if isinstance(files, Pattern) and (record := _record(files)):
                found[f"{name}_record"] = _question(type(files)(record))
        return found

    @property
    def outputs(self) -> dict[str, Pattern]:
        """All that it makes: the record last."""
        record = _record(self.made)
        return {**self.makes, "record": record} if record else dict(self.makes)


def _question(files: Input) -> Input:
    """Return a pattern that the wildcards of a job fill in, or the question for its files."""
    if isinstance(files, First):
        return lambda task: task.files_of_first_stages(files)
    if isinstance(files, Pattern) and re.findall(r"\{(\w+)\}", files) != ["dataset"]:
        return lambda task: task.files(files)
    return files


def _record(pattern: Pattern) -> Pattern | None:
    """Return the record of a kind of file; None for a record, and for the files of a corpus, which have one for all."""
    return next((each for each in PATTERNS if each != pattern and each == str(record_of(pattern))), None)


# What stages ask for.


def own(*unused: str) -> Question:
    """Ask for the settings of the system, without ``unused``, which do not change what a stage makes."""
    return lambda task: task.experiment.settings(task.wildcards["system"], *unused)


def settings_on(*unused: str) -> Question:
    """Ask for the settings as they are for the dataset, without ``unused``."""
    return lambda task: {key: value for key, value in asdict(task.settings).items() if key not in unused}


def similarity(task: Task) -> Any:
    """Return the similarity of the vectors of the system."""
    return task.own.similarity


def precision(task: Task) -> Any:
    """Return the precision in which models compute."""
    return task.experiment.config["precision"]


def top_k(task: Task) -> Any:
    """Return the number of documents that a run has for a query."""
    return task.experiment.config["top_k"]


def retrieval(task: Task) -> Any:
    """Return the settings that determine the number of documents that a search keeps."""
    return task.experiment.retrieval(task.wildcards["dataset"])


def run_settings(task: Task) -> Any:
    """Return the settings that determine a run, for its record."""
    return task.experiment.run_settings(*task.about)


def code_by_name(task: Task) -> str | None:
    """Return the digest of the code that the stages of the system import by name for the dataset."""
    return digest_of(task.experiment.family(task.wildcards["system"]).by_name(task.settings))


def analyzer_code(names: Iterable[str]) -> str | None:
    """Return the digest of the code of analyzers, which is imported by name; None without those of extensions."""
    return digest_of([module for name in names for module in modules_of(name)])


def digest_of(modules: Sequence[str]) -> str | None:
    """Return the digest of code that is imported by name; None if there is none."""
    return code_of(modules) if modules else None


def searches(rule: str, function: str, reads: Mapping[str, Input], params: Mapping[str, Question], **where: Any) -> Stage:
    """Return the stage that searches a chunk, before the next one is represented: few are on disk if they are not kept."""
    message = "search chunk {wildcards.chunk} of {wildcards.dataset} with {wildcards.system}"
    made, params = {"candidates": layout.CANDIDATES}, {**params, "retrieval": retrieval}
    return Stage(rule, function, message, reads={**TEXTS, **reads}, makes=made, params=params, priority=1, **where)
