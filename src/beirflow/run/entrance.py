"""Call the entrance of a rule: the function of the package that makes its outputs, with arguments taken by name from the rule.

A rule names its entrance in its ``params``, ``entrance="beirflow.ranking.merge:merge_chunks"``; others name one of their own
package, ``beirflow_<name>``. The arguments are:

- ``<name>_path`` and ``<name>_folder``: the input or output of that name; None, where the parameter allows it, for an empty list;
- ``<name>_paths``: the list of inputs of that name or its plural, else of outputs;
- ``output_path``: the first output, with its record beside it;
- ``folder``: the folder of the first output, the results for a rule without outputs; ``results``: the folder of all results;
- ``job``, ``threads``, ``config``, and the keys of the configuration in :data:`EXECUTION`;
- any other name: the value in ``params`` or the wildcard of that name, or the key of that name in a mapping in ``params`` that no
  parameter takes as a whole.

A parameter whose type is a dataclass or a named tuple is built from the mapping of its name in ``params``; without one, from its
fields, each looked up as above. To give an entrance fewer parameters, group them in a frozen dataclass: the rule stays as it is.

A value ``"beirflow.module:function"`` in ``params`` is that function where the parameter is callable. With ``()`` behind it, the
function makes the argument, before all other sources, from arguments found in the same way.

A parameter without a source or with two different ones is an error, and so is an entry of ``params`` that nothing takes, except
those that only make a job run again: their names end in ``code``, ``state`` or ``states``.
"""

import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Generic, NamedTuple, Union, get_args, get_origin

from beirflow.core.artifact import Step
from beirflow.core.records import Job
from beirflow.run.by_name import FUNCTION, by_name
from beirflow.run.job import job
from beirflow.run.rule_job import OWN, TRIGGER
from beirflow.run.runner import run_step

EXECUTION = ("device", "token_budget", "jobs_per_gpu")
"""Keys of the configuration that any entrance may take. They change how a job computes; what it makes depends on ``params``."""

MAKER = re.compile(rf"({FUNCTION})\(\)")  # a function of the package that makes an argument, by its module and its name


def run_entrance(snakemake: Any) -> None:
    """Run the job of a rule from Snakemake's ``snakemake`` object: call its entrance, and print what it returns."""
    with job(snakemake) as this:
        if (text := call_entrance(snakemake, this)) is not None:
            try:
                print(text, flush=True)
            except BrokenPipeError:  # nobody reads what a person reads in the results, too
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python fails once more when it ends


def call_entrance(snakemake: Any, this: Job) -> Any:
    """Return the value of the entrance for Snakemake's object of that name, or one with the same attributes."""
    entrance = by_name(snakemake.params.get("entrance"))
    if isinstance(entrance, Step):
        return run_step(entrance, snakemake, this)
    return entrance(**Sources(snakemake, this).arguments(entrance))


class Parameter(NamedTuple):
    """A parameter of a function, or a field of a class."""

    name: str  # its name
    kind: Any  # its type without None; the class itself of a generic one
    types: Mapping[Any, Any]  # by type variable of that class, the type that stands for it
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
    """Yield the parameters of a function or class; ``types`` are the types that stand for type variables."""
    for name, parameter in inspect.signature(function).parameters.items():
        kind = (types or {}).get(parameter.annotation, parameter.annotation)
        if get_origin(kind) in (Union, UnionType):
            kinds = [each for each in get_args(kind) if each is not NoneType]
            kind = kinds[0] if len(kinds) == 1 else kind
        origin = get_origin(kind) or kind
        is_generic = isinstance(origin, type) and issubclass(origin, Generic)
        own_types = dict(zip(origin.__parameters__, get_args(kind), strict=False)) if is_generic else {}
        yield Parameter(name, origin, own_types, parameter.default)


class Sources:
    """Values of a rule's job, by the names of the parameters that take them."""

    def __init__(self, snakemake: Any, this: Job) -> None:
        self._rule = snakemake.rule
        self._inputs, self._outputs = dict(snakemake.input.items()), dict(snakemake.output.items())
        self._first_output, self._results = next(iter(snakemake.output), None), this.results
        self._params = {key: value for key, value in snakemake.params.items() if key not in OWN}
        self._wildcards = dict(snakemake.wildcards.items())
        self._given = {"job": this, "results": this.results, "threads": snakemake.threads, "config": snakemake.config}
        self._given |= {key: snakemake.config[key] for key in EXECUTION if key in snakemake.config}
        self._entrance = snakemake.params.get("entrance")
        self._taken: set[str] = set()
        self._groups: dict[str, Mapping[str, Any]] = {}

    def arguments(self, entrance: Callable[..., Any]) -> dict[str, Any]:
        """Return the arguments of the entrance by name.

        Raises TypeError if a parameter has no source or two different ones, or if nothing takes an entry of ``params``.
        """
        whole = self.wanted_names(entrance)
        self._groups = {key: each for key, each in self._params.items() if isinstance(each, Mapping) and key not in whole}
        arguments = self._filled(parameters_of(entrance), frozenset())
        offered = [key for key in self._params if key not in self._groups and not TRIGGER.fullmatch(key)]
        offered += [f"{group}.{key}" for group, values in self._groups.items() for key in values]
        if unused := [key for key in offered if key not in self._taken]:
            raise TypeError(f"rule {self._rule}: {self._entrance} takes no {', '.join(unused)} of the params")
        return arguments

    def wanted_names(self, entrance: Callable[..., Any]) -> set[str]:
        """Return the names that are looked up for an entrance, those of fields and of functions in ``params`` included."""
        return set(self._names(parameters_of(entrance), frozenset()))

    def _names(self, parameters: Iterator[Parameter], made: frozenset[str]) -> Iterator[str]:
        for parameter in parameters:
            yield parameter.name
            if maker := self._maker(parameter, made):
                yield from self._names(parameters_of(maker), made | {parameter.name})
            elif parameter.is_object and parameter.name not in (*self._params, *self._given):
                yield from self._names(parameters_of(parameter.kind, parameter.types), made)

    def _maker(self, parameter: Parameter, made: frozenset[str]) -> Callable[..., Any] | None:
        """Return the function in ``params`` that makes the argument for a parameter, if it is not being called already."""
        named = None if parameter.name in made else MAKER.fullmatch(str(self._params.get(parameter.name)))
        return by_name(named[1]) if named else None

    def _filled(self, parameters: Iterator[Parameter], made: frozenset[str]) -> dict[str, Any]:
        """Return the arguments for parameters, without those that keep their defaults."""
        values = {parameter.name: self._value(parameter, made) for parameter in parameters}
        return {name: value for name, value in values.items() if value is not inspect.Parameter.empty}

    def _value(self, parameter: Parameter, made: frozenset[str]) -> Any:
        """Return the value of a parameter; ``empty`` where it keeps its default."""
        if maker := self._maker(parameter, made):
            self._taken.add(parameter.name)
            return maker(**self._filled(parameters_of(maker), made | {parameter.name}))
        sources = self._values(parameter, made)
        values = list(sources.values())
        # Equal values may come from two sources, e.g. a system from params and wildcards.
        if any(value != values[0] for value in values[1:]):
            raise self._error(parameter, f"has two different sources, {' and '.join(sources)}")
        if values:
            return by_name(values[0]) if parameter.kind is Callable else parameter.value(values[0])
        if parameter.default is not inspect.Parameter.empty:
            return inspect.Parameter.empty
        if parameter.is_object:
            return parameter.kind(**self._filled(parameters_of(parameter.kind, parameter.types), made))
        raise self._error(parameter, "has no source")

    def _values(self, parameter: Parameter, made: frozenset[str]) -> dict[str, Any]:
        """Return the values for a parameter by the names of their sources."""
        name = parameter.name
        sources = {"the job": self._given[name]} if name in self._given else {}
        if name in self._params and name not in made:
            self._taken.add(name)
            sources["params"] = self._params[name]
        for group, values in self._groups.items():
            if name in values:
                self._taken.add(f"{group}.{name}")
                sources[f"params.{group}"] = values[name]
        if name in self._wildcards and parameter.kind in (str, int):
            sources["wildcards"] = parameter.value(self._wildcards[name])
        return sources | self._paths(parameter)

    def _paths(self, parameter: Parameter) -> dict[str, Any]:
        """Return the files for a parameter by whether they are inputs or outputs."""
        if parameter.name == "folder":
            return {"output": str(Path(self._first_output).parent if self._first_output else self._results)}
        if parameter.name == "output_path":
            return {"output": self._first_output} if self._first_output else {}
        name, _, suffix = parameter.name.rpartition("_")
        both = (("input", self._inputs), ("output", self._outputs))
        if suffix == "paths":
            names = (name, f"{name}s", f"{name.removesuffix('y')}ies")
            named = ({f"{kind}.{each}": files[each] for each in names if each in files} for kind, files in both)
            by_source = next(filter(None, named), {})
            return {source: [files] if isinstance(files, str) else list(files) for source, files in by_source.items()}
        if suffix not in ("path", "folder"):
            return {}
        by_source = {f"{kind}.{name}": files[name] for kind, files in both if name in files}
        for source, files in by_source.items():
            if not isinstance(files, str) and len(files) > 1:
                raise self._error(parameter, f"is one path, but {source} has {len(files)}")
        return {source: files if isinstance(files, str) else files[0] for source, files in by_source.items() if files}

    def _error(self, parameter: Parameter, problem: str) -> TypeError:
        return TypeError(f"rule {self._rule}: the parameter {parameter.name} of {self._entrance} {problem}")
