"""The runner of steps: it opens and verifies what a step reads, writes what it makes, and records what that was made from.

Its rule is the same for every step: each file has the digest in its record; inputs that name a common file behind them name one
digest of it; facts that several state are equal.
"""

import inspect
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import is_dataclass
from typing import Any, NamedTuple, get_args, get_origin

from beirflow.core.artifact import Artifact, Step
from beirflow.core.records import Job, write_record
from beirflow.core.verified import checked_while_read, damaged
from beirflow.core.writing import DigestingWriter, atomic_path
from beirflow.run.rule_job import OWN, TRIGGER, RuleJob


class Call(NamedTuple):
    """A call of a step."""

    step: Step
    arguments: Mapping[str, Any]  # by name
    opened: Sequence[Artifact]  # those among them that are files


def run_step(step: Step, rule: RuleJob, job: Job) -> None:
    """Run a step as the job of a rule, whose first output is what the step makes, and whose last is the record of it.

    Raises DataError if an input is damaged or does not belong to the others; TypeError if the rule does not fit the step.
    """
    params = {key: value for key, value in rule.params.items() if key not in OWN and not TRIGGER.fullmatch(key)}
    output, record_path = rule.output[0], rule.output[-1]
    call = _call(step, dict(rule.input.items()), {**dict(rule.wildcards.items()), **params, "threads": rule.threads})
    if unused := params.keys() - call.arguments.keys():
        raise TypeError(f"rule {rule.rule}: {step.name} takes no {', '.join(sorted(unused))} of the params")
    for each in call.opened:
        if each.name != job.below(each.path):
            raise damaged(each.record_path, f"it is the record {each.record['path']}")
    start, outputs, sizes = time.perf_counter(), {}, None
    if step.makes is None:
        with _verified(call):
            made = step(**call.arguments)
    else:
        with atomic_path(output) as partial, DigestingWriter(partial) as stream:
            with _verified(call):
                made = step(**call.arguments)
                step.makes.write(stream, made.content)
            outputs[output] = stream.digest()
            sizes = {step.stage: partial.stat().st_size} if step.makes.represents else None
    seconds = {**made.facts.pop("seconds", {}), **({step.stage: time.perf_counter() - start} if step.stage else {})}
    inputs = {job.results / name: digest for name, digest in step.inputs(call.opened).items()}
    write_record(record_path, job, inputs=inputs, outputs=outputs, seconds=seconds, **{"sizes": sizes, **made.facts})


def files_of(step: Step) -> dict[str, tuple[type[Artifact], bool]]:
    """Return the kind of file that each parameter of a step takes, and whether it takes several."""
    found = {}
    for name, parameter in inspect.signature(step.function).parameters.items():
        for kind in (parameter.annotation, *get_args(parameter.annotation)):
            if isinstance(kind, type) and issubclass(kind, Artifact):
                found[name] = kind, get_origin(parameter.annotation) is Sequence
    return found


def _call(step: Step, inputs: Mapping[str, Any], values: Mapping[str, Any]) -> Call:
    """Open the inputs of a step by the names of its parameters, and take its other arguments from values by name."""
    arguments: dict[str, Any] = {}
    opened: list[Artifact] = []
    files = files_of(step)
    for name, parameter in inspect.signature(step.function).parameters.items():
        if name in files:
            kind, several = files[name]
            paths = inputs.get(name, ())
            found = [kind(path) for path in ([paths] if isinstance(paths, str) else paths)]
            opened += found
            arguments[name] = found if several else next(iter(found), None)
        elif name in values:
            arguments[name] = _value(parameter.annotation, values[name])
        elif parameter.default is inspect.Parameter.empty:
            raise TypeError(f"{step.name} needs {name}")
    return Call(step, arguments, opened)


def _value(kind: Any, value: Any) -> Any:
    """Return a value of params or a wildcard: a mapping as the object that it stands for, and digits as a number."""
    if isinstance(value, Mapping) and isinstance(kind, type) and (is_dataclass(kind) or hasattr(kind, "_fields")):
        return kind(**value)
    return int(value) if kind is int else value


@contextmanager
def _verified(call: Call) -> Iterator[None]:
    """Check that inputs are whole and belong together; those that are large while the block reads them."""
    _check_agreement(call)
    for each in call.opened:
        if not each.large:
            each.check()
    with checked_while_read({str(each.path): each.digest for each in call.opened if each.large}):
        yield


def _check_agreement(call: Call) -> None:
    """Raise DataError unless inputs name one digest of each file behind them, and one value of each fact of ``same``."""
    digests: dict[str, str] = {}
    for each in call.opened:
        digests |= each.here
    for each in call.opened:
        for name, digest in {**each.record.get("inputs", {}), **each.record.get("outputs", {})}.items():
            if (expected := digests.setdefault(name, digest)) != digest:
                raise damaged(each.record_path, f"it was made from the {name} {digest}, but {expected} is used here")
    facts = {fact: call.arguments[fact] for fact in call.step.same if fact in call.arguments}
    for each in call.opened:
        for fact in call.step.same:
            if fact in each.record and (expected := facts.setdefault(fact, each.record[fact])) != each.record[fact]:
                raise damaged(each.record_path, f"it was made from the {fact} {each.record[fact]}, but {expected} is used here")
