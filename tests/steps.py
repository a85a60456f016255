"""Jobs of steps, run in this process by the runner as those of rules are."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from beirflow.core.artifact import Artifact, Step, Stream
from beirflow.core.digests import file_digest
from beirflow.core.layout import record_of
from beirflow.core.records import Job, write_record
from beirflow.run.rule_call import parameters_of, run_step
from beirflow.run.rule_job import Named, RuleJob


class TextFile(Artifact):
    """A text file, for kinds of the tests."""

    def read(self) -> str:
        """Return the text."""
        return self.path.read_text()

    @staticmethod
    def write(stream: Stream, data: str) -> None:
        """Write the text."""
        stream.write(data.encode())


def run(step: Step, job: Job, outputs: Sequence[str], *, threads: int = 1, **arguments: Any) -> None:
    """Run a step; its arguments are paths where it takes files, else what the rule has in its params."""
    files = [*_files_of(step.function)]
    inputs = {name: arguments.pop(name) for name in files if arguments.get(name) is not None}
    params = {name: value for name, value in arguments.items() if name not in files} | {"function": step.name}
    run_step(step, RuleJob("a", inputs, Named(outputs, {}), params, {}, {}, threads, []), job)


def _files_of(function: Callable[..., Any]) -> Iterator[str]:
    """Yield the names of parameters that take files, those of fields included."""
    for each in parameters_of(function):
        if each.artifact:
            yield each.name
        elif each.is_object:
            yield from _files_of(each.kind)


def write_recorded(
    kind: type[Artifact], path: str | Path, data: Any, job: Job, *, inputs: Mapping[str, str], **fields: Any
) -> None:
    """Write a file of a kind and its record; ``inputs`` by path below the results."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    write(kind, path, data)
    named = {job.results / name: digest for name, digest in inputs.items()}
    write_record(record_of(path), job, inputs=named, outputs={path: file_digest(path)}, **fields)


def write(kind: type[Artifact], path: str | Path, data: Any) -> None:
    """Write a file of a kind without a record."""
    with Path(path).open("wb") as stream:
        kind.write(stream, data)
