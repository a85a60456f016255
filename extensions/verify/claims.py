"""Claims of others, read as data: MTEB's results and predictions, runs, folders of results, model cards, ``.eval_results``."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from beirflow.audit.folder.listing import list_folder, printable
from beirflow.core import layout
from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.core.outside_json import LARGEST_JSON, parse_json
from beirflow.core.outside_yaml import parse_yaml
from beirflow.core.patterns import is_safe
from beirflow.ranking.run_rows import HEADER_START, OF_MTEB
from beirflow.report.references import mteb_name

RUN_SUFFIXES = (".trec", ".run", ".res", ".txt", ".tsv", ".gz", ".parquet")
OF_YAML = (".yaml", ".yml", ".md")
CARD = "README.md"
EVAL_RESULTS = ".eval_results"
LARGEST_YAML = 10 << 20  # bytes of a model card or of .eval_results
PERCENT = 100.0


@dataclass(frozen=True)
class Task:
    """The dataset, split and measure of a claim."""

    dataset: str  # its name here
    name: str  # its name in MTEB, or the same
    split: str
    measure: str


@dataclass
class Claim:
    """A claimed run, a claimed value, or both."""

    run: str | None = None
    value: float | None = None
    files: dict[str, str] = field(default_factory=dict)  # sha256 by path of what was read
    says: dict[str, Any] = field(default_factory=dict)  # what they say of model and data; recorded, and not believed
    folder: str | None = None  # a folder of results of beirflow
    system: str | None = None  # its system
    entry: dict[str, Any] | None = None  # the configuration of that system; None for one of the catalogue

    def add_value(self, path: Path, value: Any, unit: float = 1.0) -> None:
        """Add a claimed mean. Raise DataError for one that is no mean of a measure, or another than claimed before."""
        allowed = "from 0 to 1" if unit == 1.0 else f"from 0 to {unit:g}, in percent"
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= unit:  # nor is NaN
            raise DataError(f"{path}: the claimed value is {value!r}; expected a number {allowed}")
        if self.value is not None and not math.isclose(self.value, value / unit, abs_tol=1e-4):
            raise DataError(f"{path}: claims {value / unit:.5f}, another file {self.value:.5f}; name the one to verify")
        self.value = value / unit if self.value is None else self.value

    def add_run(self, path: Path) -> None:
        """Add a claimed run. Raise DataError for a second one."""
        if self.run is not None:
            raise DataError(f"{path}: a second run, beside {self.run}; name the one to verify")
        self.run = str(path.absolute())


def read_claim(words: Sequence[str], task: Task, model: str | None, value: float | None) -> Claim:
    """Read what is claimed of a task from files and folders. Raise DataError if there is nothing, or something impossible."""
    claim = Claim()
    for path in map(Path, words):
        if (path / layout.MANIFEST).is_file():
            _read_results(claim, path, task, model)
            continue
        for file in _files(path, task):
            if file.suffix in OF_YAML:
                _check_size(file, LARGEST_YAML)
            claim.files[str(file)] = file_digest(file)
            _read_file(claim, file, task)
    if value is not None:
        claim.add_value(Path("--value"), value)
    if claim.run is None and claim.value is None:
        where = ", ".join(words) or "no file is named, and"
        wanted = f"a run, {task.name}_predictions.json, {task.name}.json or {EVAL_RESULTS}; or give --value"
        raise DataError(f"{where}: nothing is claimed of {task.dataset} ({task.name} in MTEB); expected {wanted}")
    return claim


def _files(path: Path, task: Task) -> Iterator[Path]:
    """Yield a file, or those of a folder that may be about a task; no link is followed."""
    if path.is_file():
        yield path
        return
    if not path.is_dir():
        raise DataError(f"{path}: there is no such file or folder")
    listing = list_folder(path)
    for name in listing.files:
        file = path / name
        of_mteb = file.name in (f"{task.name}.json", f"{task.name}_predictions.json")
        of_run = file.name.partition(".")[0].lower() == task.dataset.lower() and file.suffix in RUN_SUFFIXES
        if of_mteb or of_run or file.name == CARD or file.parent.name == EVAL_RESULTS:
            yield file


def _read_file(claim: Claim, file: Path, task: Task) -> None:
    """Read one file of a claim; its name decides its kind, and of JSON the content."""
    if file.suffix in OF_YAML:
        _read_card(claim, file, task)
        return
    if file.suffix == ".json" and file.stat().st_size <= LARGEST_JSON:
        content = _parsed(file)
        if "scores" in content and "task_name" in content:
            _read_result(claim, file, content, task)
            return
        if isinstance(meta := content.get(OF_MTEB), Mapping):
            claim.says |= {f"predictions: {key}": printable(str(each)) for key, each in meta.items()}
    with file.open("rb") as stream:
        if stream.read(len(HEADER_START)) == HEADER_START:
            lines = iter(lambda: stream.readline(1 << 16), b"")
            own = [
                line[1:].strip().decode(errors="replace")
                for line, _ in zip(lines, range(10_000), strict=False)
                if line[:1] == b"#"
            ]
            claim.says["ir_metadata"] = [printable(line) for line in own if ":" in line][:100]
    claim.add_run(file)


def _check_size(file: Path, largest: int) -> None:
    if (size := file.stat().st_size) > largest:
        raise DataError(f"{file}: it has {size:,} bytes, expected at most {largest:,}")


def _parsed(file: Path) -> dict[str, Any]:
    _check_size(file, LARGEST_JSON)
    try:
        content = parse_json(file.read_bytes())
    except ValueError as error:
        raise DataError(f"{file}: expected JSON, found something else ({error})") from None
    if not isinstance(content, dict):
        raise DataError(f"{file}: expected a JSON object, found {type(content).__name__}")
    return content


def _read_result(claim: Claim, file: Path, content: Mapping[str, Any], task: Task) -> None:
    """Read the JSON of a task of MTEB."""
    if content["task_name"] != task.name:
        raise DataError(f"{file}: it is about {content['task_name']!r}; expected {task.name!r}, the task of {task.dataset}")
    entries = content["scores"].get(task.split) if isinstance(content["scores"], Mapping) else None
    if not isinstance(entries, list) or len(entries) != 1 or not isinstance(entries[0], Mapping):
        raise DataError(f"{file}: expected the scores of one subset of the split {task.split!r}; there are other ones")
    key = mteb_name(task.measure)
    if key not in entries[0]:
        raise DataError(f"{file}: there is no {key}, which is {task.measure} in MTEB")
    claim.add_value(file, entries[0][key])
    claim.says |= {key: printable(str(content[key])) for key in ("dataset_revision", "mteb_version") if content.get(key)}


def _read_card(claim: Claim, file: Path, task: Task) -> None:
    """Read ``.eval_results``, or the ``model-index`` of a model card: entries about the task, in percent."""
    text = file.read_text(encoding="utf-8", errors="replace")
    if file.suffix == ".md":
        text = text.removeprefix("---\n").partition("\n---")[0] if text.startswith("---\n") else ""
    try:
        content = parse_yaml(text)
    except (yaml.YAMLError, ValueError) as error:
        raise DataError(f"{file}: expected YAML, found something else ({str(error).partition(chr(10))[0]})") from None
    for entry in _mappings(content):
        of = entry.get("dataset")
        if isinstance(of, Mapping) and of.get("task_id") in (task.name, f"{task.name}_default_{task.split}"):
            claim.add_value(file, entry.get("value"), PERCENT)
    models = content.get("model-index") if isinstance(content, Mapping) else None
    for result in (each for model in _mappings(models) for each in _mappings(model.get("results"))):
        of = result.get("dataset")
        if isinstance(of, Mapping) and of.get("name") == f"MTEB {task.name}" and of.get("split", task.split) == task.split:
            for metric in _mappings(result.get("metrics")):
                if metric.get("type") == mteb_name(task.measure):
                    claim.add_value(file, metric.get("value"), PERCENT)


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    """Return the mappings in a list; none of anything else."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _read_results(claim: Claim, folder: Path, task: Task, model: str | None) -> None:
    """Read a folder of results of beirflow: the run of the system that has a model, and its mean."""
    if odd := list_folder(folder).odd:
        name, kind = next(iter(sorted(odd.items())))
        raise DataError(f"{folder}: {printable(name)} is {printable(kind)}; only plain files are read")
    manifest = _parsed(folder / layout.MANIFEST)
    systems = manifest.get("systems")
    if not isinstance(systems, Mapping) or not all(isinstance(each, Mapping) for each in systems.values()):
        raise DataError(f"{folder}/{layout.MANIFEST}: it names no systems")
    settings = {name: each.get("settings") for name, each in systems.items()}
    models = {name: each.get("model") if isinstance(each, Mapping) else None for name, each in settings.items()}
    names = [name for name in systems if name == model] or [name for name, own in models.items() if model in (None, own)]
    if len(names) != 1:
        found = ", ".join(f"{name} ({own})" for name, own in models.items())
        raise DataError(f"{folder}: {len(names)} systems with the model {model}; name one of {found} with --model")
    claim.folder, claim.system = str(folder.absolute()), names[0]
    patterns = (layout.RUN, layout.RUN_RECORD, layout.METRICS)
    run, record, means = (folder / each(system=names[0], dataset=task.dataset) for each in patterns)
    for path in (run, record, means):
        if not is_safe(path.relative_to(folder).as_posix()) or not path.is_file():
            raise DataError(f"{path}: there is no such file, so no result of {names[0]} on {task.dataset}")
        claim.files[str(path)] = file_digest(path)
    claim.add_run(run)
    made = _parsed(record).get("made")
    claim.says["precision"] = made.get("precision") if isinstance(made, Mapping) else None
    measures = _parsed(means).get("measures")
    claim.add_value(means, measures.get(task.measure) if isinstance(measures, Mapping) else None)
    configuration = manifest.get("configuration")
    custom = (configuration.get("custom") or {}) if isinstance(configuration, Mapping) else {}
    entries = custom.get("systems") if isinstance(custom, Mapping) else None
    entry = entries.get(names[0]) if isinstance(entries, Mapping) else None
    claim.entry = dict(entry) if isinstance(entry, Mapping) else None
