"""Call the function of a rule, which makes its outputs, with arguments taken by name from the rule.

A rule names its function in its ``params``, ``function="beirflow.ranking.merge:merge_chunks"``; rules of others name one of their
own package, ``beirflow_<name>``. The arguments are:

- for a parameter that takes an :class:`~beirflow.core.artifact.Artifact`, or a sequence of them: the inputs of its name, opened;
- ``<name>_path`` and ``<name>_folder``: the input or output of that name; None, where the parameter allows it, for an empty list;
- ``<name>_paths``: the list of inputs of that name or its plural, else of outputs;
- ``output_path``: the first output, next to its record;
- ``input_paths``: all inputs with names;
- ``folder``: the folder of the first output, the results for a rule without outputs; ``results``: the folder of all results;
- ``job``, ``threads``, ``config``, and the keys of the configuration in :data:`EXECUTION`;
- any other name: the value in ``params`` or the wildcard of that name, or the key of that name in a mapping in ``params`` that no
  parameter takes as a whole.

A parameter whose type is a dataclass or a named tuple is built from the mapping of its name in ``params``; without one, from its
fields, each looked up as above. To give a function fewer parameters, group them in a frozen dataclass: the rule stays as it is.

A value ``"beirflow.module:function"`` in ``params`` is that function where the parameter is callable. With ``()`` behind it, the
function makes the argument, before all other sources, from arguments found in the same way.

A parameter without a source or with two different ones is an error, and so is an entry of ``params`` that nothing takes, except
those that only make a job run again: their names end in ``code``, ``state`` or ``states``.
"""

import inspect
import os
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Generic, NamedTuple, Union, get_args, get_origin

from beirflow.core.artifact import Artifact, Made, Step
from beirflow.core.extensions import Store, extensions
from beirflow.core.records import Job, write_record
from beirflow.core.verified import checked_while_read, damaged
from beirflow.core.writing import DigestingWriter, atomic_path
from beirflow.run.by_name import FUNCTION, by_name
from beirflow.run.interrupts import repeat_swallowed_interrupts
from beirflow.run.job import job
from beirflow.run.rule_job import OWN, TRIGGER, RuleJob, read_job

# Arrow would import it in the middle of a job, and take a signal to stop that comes meanwhile for an import that failed.
with suppress(ImportError):  # not in the environment of every rule
    import pandas  # noqa: F401

EXECUTION = ("device", "token_budget", "jobs_per_gpu")
"""Keys of the configuration that any of these functions may take: how a job computes. ``params`` determine its results."""

MAKER = re.compile(rf"({FUNCTION})\(\)")  # a function of the package that makes an argument, by its module and its name


def main(path: str, threads: str, log: str) -> None:
    """Run the job of a rule from the file that the rule's command names."""
    repeat_swallowed_interrupts()
    run_rule(read_job(path, int(threads), log))


def run_rule(snakemake: Any) -> None:
    """Run the job of a rule from Snakemake's ``snakemake`` object: call its function, and print what it returns."""
    with job(snakemake) as this:
        if (text := call_rule(snakemake, this, [each.store for each in extensions() if each.store])) is not None:
            try:
                print(text, flush=True)
            except BrokenPipeError:  # nobody reads what a person reads in the results, too
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python fails once more when it ends


def call_rule(snakemake: Any, this: Job, stores: Sequence[Store] = ()) -> Any:
    """Return the value of the function for Snakemake's object of that name, or one with the same attributes.

    Without ``stores``, as in an audit, everything is computed.
    """
    function = by_name(snakemake.params.get("function"))
    if isinstance(function, Step):
        return run_step(function, snakemake, this, stores)
    return function(**Sources(snakemake, this).arguments(function))


class Work(NamedTuple):
    """A step that makes an artifact, with all that it needs."""

    step: Step
    makes: type[Artifact]
    rule: RuleJob
    arguments: Mapping[str, Any]  # of its function, by name
    opened: Sequence[Artifact]  # the files among them

    def compute(self, path: Path, **others: Any) -> tuple[Made, str]:
        """Compute the artifact and write it to a path; return it with the digest of the file.

        ``others`` replace arguments.
        """
        with DigestingWriter(path) as stream, _whole(self.opened):
            made = self.step(**{**self.arguments, **others})
            self.makes.write(stream, made.content)
            return made, stream.digest()


def run_step(step: Step, rule: RuleJob, job: Job, stores: Sequence[Store] = ()) -> None:
    """Run a step as the job of a rule, whose first output is what the step makes, and whose last is the record of it.

    Of ``stores``, the first that has the file gives it, and all others are offered a computed one.

    Each input must have the digest in its record; inputs that name a common file behind them name one digest of it; facts that
    several state are equal. Raises DataError if an input is damaged or does not belong to the others; TypeError if the rule does
    not fit the step.
    """
    sources = Sources(rule, job)
    arguments, output, record_path = sources.arguments(step.function), rule.output[0], rule.output[-1]
    for each in sources.opened:
        if each.name != job.below(each.path):
            raise damaged(each.record_path, f"it is the record {each.record['path']}")
    _check_agreement(step, arguments, sources.opened)
    start, outputs, sizes = time.perf_counter(), {}, None
    work = Work(step, step.makes, rule, arguments, sources.opened) if step.makes else None
    if work is None:
        with _whole(sources.opened):
            made = step(**arguments)
    else:
        with atomic_path(output) as partial:
            taken = next(filter(None, (store.take(work, partial) for store in stores)), None)
            made, outputs[output] = taken or work.compute(partial)
            sizes = {step.stage: partial.stat().st_size} if work.makes.represents else None
    seconds = dict(made.fields.pop("seconds", {}))
    if step.stage:
        seconds.setdefault(step.stage, time.perf_counter() - start)
    named = step.inputs([*sources.opened, *made.fields.pop("read", ())])
    inputs = {job.results / name: digest for name, digest in named.items()}
    fields = {"seconds": seconds, "sizes": sizes, **made.fields}
    write_record(record_path, job, inputs=inputs, outputs=outputs, **fields)
    for store in stores if work else ():
        store.keep(work, Path(output), fields)


@contextmanager
def _whole(opened: Sequence[Artifact]) -> Iterator[None]:
    """Check that inputs are whole; those that are large while the block reads them."""
    for each in opened:
        if not each.large:
            each.check()
    with checked_while_read({str(each.path): each.digest for each in opened if each.large}):
        yield


def _check_agreement(step: Step, arguments: Mapping[str, Any], opened: Sequence[Artifact]) -> None:
    """Raise DataError unless inputs name one digest of each file behind them, and one value of each fact of ``same``."""
    digests: dict[str, str] = {}
    for each in opened:
        digests |= each.here
    facts = {fact: arguments[fact] for fact in step.same if fact in arguments}
    for each in opened:
        for name, digest in {**each.record.get("inputs", {}), **each.record.get("outputs", {})}.items():
            if (expected := digests.setdefault(name, digest)) != digest:
                raise damaged(each.record_path, f"it was made from the {name} {digest}, but {expected} is used here")
        for fact in [fact for fact in step.same if fact in each.record]:
            if (expected := facts.setdefault(fact, each.record[fact])) != each.record[fact]:
                raise damaged(each.record_path, f"it was made from the {fact} {each.record[fact]}, but {expected} is used here")


class Parameter(NamedTuple):
    """A parameter of a function, or a field of a class."""

    name: str  # its name
    kind: Any  # its type without None; the class itself of a generic one
    types: Mapping[Any, Any]  # by type variable of that class, its type
    artifact: type[Artifact] | None  # kind of file that it takes, or a sequence of them
    default: Any  # what it is without a source; ``inspect.Parameter.empty`` if it needs one

    @property
    def is_object(self) -> bool:
        """Test whether it is a dataclass or a named tuple."""
        return isinstance(self.kind, type) and (is_dataclass(self.kind) or hasattr(self.kind, "_fields"))

    def value(self, given: Any) -> Any:
        """Convert what a rule gives: a mapping to the class, and digits to a number."""
        if self.is_object and isinstance(given, Mapping):
            return self.kind(**given)
        # Wildcards are texts.
        return int(given) if self.kind is int and isinstance(given, str) else given


def parameters_of(function: Callable[..., Any], types: Mapping[Any, Any] | None = None) -> Iterator[Parameter]:
    """Yield the parameters of a function or class; ``types`` has the types of type variables."""
    for name, parameter in inspect.signature(function).parameters.items():
        kind = (types or {}).get(parameter.annotation, parameter.annotation)
        if get_origin(kind) in (Union, UnionType):
            kinds = [each for each in get_args(kind) if each is not NoneType]
            kind = kinds[0] if len(kinds) == 1 else kind
        origin = get_origin(kind) or kind
        is_generic = isinstance(origin, type) and issubclass(origin, Generic)
        own_types = dict(zip(origin.__parameters__, get_args(kind), strict=False)) if is_generic else {}
        named = (parameter.annotation, *get_args(parameter.annotation))
        artifact = next((each for each in named if isinstance(each, type) and issubclass(each, Artifact)), None)
        yield Parameter(name, origin, own_types, artifact, parameter.default)


class Sources:
    """Values of a rule's job, by the names of the parameters that take them."""

    def __init__(self, snakemake: Any, this: Job) -> None:
        self._rule, self._function = snakemake.rule, snakemake.params.get("function")
        first = next(iter(snakemake.output), None)
        given = {"job": this, "results": this.results, "threads": snakemake.threads, "config": snakemake.config}
        inputs = ([found] if isinstance(found, str) else found for _, found in snakemake.input.items())
        given["input_paths"] = [path for paths in inputs for path in paths]
        given |= {key: snakemake.config[key] for key in EXECUTION if key in snakemake.config}
        given |= {"output_path": first, "folder": str(Path(first).parent)} if first else {"folder": str(this.results)}
        params = {key: value for key, value in snakemake.params.items() if key not in OWN}
        self._sources: dict[str, dict[str, Any]] = defaultdict(dict)  # values of a parameter, by source
        for source, values in (("the job", given), ("params", params), ("wildcards", snakemake.wildcards)):
            for name, value in values.items():
                self._sources[name][source] = value
        for source, files in (("input", snakemake.input), ("output", snakemake.output)):
            for name, found in files.items():
                self._add_files(f"{source}.{name}", name, [found] if isinstance(found, str) else [*found])
        self._taken: set[tuple[str, str]] = set()
        self.opened: list[Artifact] = []  # inputs among the arguments

    def _add_files(self, source: str, name: str, paths: list[str]) -> None:
        """Add the files of a name, which a parameter takes all or, if there is one, as the only one."""
        for each in (name, name.removesuffix("s"), re.sub("ies$", "y", name)):
            if not self._sources[f"{each}_paths"] or (each == name and source.startswith("input")):
                self._sources[f"{each}_paths"] = {source: paths}
        for suffix in ("path", "folder") if paths else ():
            self._sources[f"{name}_{suffix}"][source] = paths[0] if len(paths) == 1 else paths

    def arguments(self, function: Callable[..., Any]) -> dict[str, Any]:
        """Return the arguments of a function by name.

        Raises TypeError if a parameter has no source or two different ones, or if nothing takes an entry of ``params``.
        """
        whole = {*self._names(parameters_of(function), frozenset())}
        params = {name: sources["params"] for name, sources in self._sources.items() if "params" in sources}
        groups = {key: each for key, each in params.items() if isinstance(each, Mapping) and key not in whole}
        for group, values in groups.items():
            for name, value in values.items():
                self._sources[name][f"params.{group}"] = value
        arguments = self._filled(parameters_of(function), frozenset())
        offered = {(name, "params") for name in params.keys() - groups if not TRIGGER.fullmatch(name)}
        offered |= {(name, f"params.{group}") for group, values in groups.items() for name in values}
        if unused := sorted(f"{source}.{name}".removeprefix("params.") for name, source in offered - self._taken):
            raise TypeError(f"rule {self._rule}: {self._function} takes no {', '.join(unused)} of the params")
        return arguments

    def _names(self, parameters: Iterator[Parameter], made: frozenset[str]) -> Iterator[str]:
        """Yield the names that are looked up for parameters, those of fields and of functions in ``params`` included."""
        for parameter in parameters:
            yield parameter.name
            if maker := self._maker(parameter, made):
                yield from self._names(parameters_of(maker), made | {parameter.name})
            elif parameter.is_object and not {"params", "the job"} & self._sources[parameter.name].keys():
                yield from self._names(parameters_of(parameter.kind, parameter.types), made)

    def _maker(self, parameter: Parameter, made: frozenset[str]) -> Callable[..., Any] | None:
        """Return the function in ``params`` that makes the argument for a parameter, if it is not being called already."""
        named = MAKER.fullmatch(str(self._sources[parameter.name].get("params")))
        return by_name(named[1]) if named and parameter.name not in made else None

    def _filled(self, parameters: Iterator[Parameter], made: frozenset[str]) -> dict[str, Any]:
        """Return the arguments for parameters, without those that keep their defaults."""
        values = {parameter.name: self._value(parameter, made) for parameter in parameters}
        return {name: value for name, value in values.items() if value is not inspect.Parameter.empty}

    def _value(self, parameter: Parameter, made: frozenset[str]) -> Any:
        """Return the value of a parameter; ``empty`` where it keeps its default."""
        name = parameter.name
        if parameter.artifact:
            opened = [parameter.artifact(path) for path in self._sources[f"{name}_paths"].get(f"input.{name}", ())]
            self.opened += opened
            return opened if parameter.kind is Sequence else next(iter(opened), None)
        if maker := self._maker(parameter, made):
            self._taken.add((name, "params"))
            return maker(**self._filled(parameters_of(maker), made | {name}))
        hidden = {*(["params"] if name in made else []), *([] if parameter.kind in (str, int) else ["wildcards"])}
        sources = {source: value for source, value in self._sources[name].items() if source not in hidden}
        self._taken |= {(name, source) for source in sources}
        values = [by_name(value) if parameter.kind is Callable else parameter.value(value) for value in sources.values()]
        problem = "has no source"
        # Equal values may come from two sources, e.g. a system from params and wildcards.
        if any(value != values[0] for value in values[1:]):
            problem = f"has two different sources, {' and '.join(sources)}"
        elif values:
            return values[0]
        elif parameter.default is not inspect.Parameter.empty:
            return inspect.Parameter.empty
        elif parameter.is_object:
            return parameter.kind(**self._filled(parameters_of(parameter.kind, parameter.types), made))
        raise TypeError(f"rule {self._rule}: the parameter {name} of {self._function} {problem}")
