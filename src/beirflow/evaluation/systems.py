"""Description of every system, ``systems.csv`` of ``docs/files.md``: its settings, its model, and the values in its records."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from beirflow.core.csv_files import write_csv
from beirflow.core.digests import file_digest
from beirflow.core.extensions import additions_to, forms
from beirflow.core.layout import EXPANSION_MODEL, MODEL, MODEL_OF_DATASET_RECORD
from beirflow.core.records import ASSUMED, Job, read_json
from beirflow.run.by_name import by_name

COLUMNS = ("system", "setting", "dataset", "value", "said_by", "model_says")

CONFIGURATION, OF_MODEL, RECORD = "configuration", "model", "record"  # origins of a value
TRUNCATED = "truncated_"  # prefix of the counts of cut texts
PROMPTS = {"queries": "query_prefix", "documents": "document_prefix"}  # by kind of text, the setting of its prompt
SCORERS = ("dense", "late")  # settings of a reranker that hold a whole system, which scores for it
OF_ALL_DATASETS = ("instructions", "tasks", "analyzers")  # settings with an entry for each dataset; records have the used one
ADDED = ("expansion", "weights", *forms(), *SCORERS)  # settings with settings of their own, all of which are named
MADE = ("precision", "device", "lossy", ASSUMED)  # facts of a run about its system; ``cost.csv`` has the rest
Values = dict[str, Any]  # by setting


class SettingValue(NamedTuple):
    """The value of one setting, on one corpus or, if that is empty, on all."""

    setting: str
    value: Any
    said_by: str
    dataset: str = ""
    model_says: Any = None


def describe_systems(
    *, systems: Mapping[str, Mapping[str, Any]], record_paths: Sequence[str], systems_path: str, job: Job
) -> None:
    """Write ``systems.csv`` from the settings of every system and the records of all its runs.

    Records that the runs name are read from the results of the job, as far as they are still there. Raise DataError if a record
    was changed after it was written.
    """
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in systems}
    for path in record_paths:
        run = read_json(path)
        runs[run["system"]].append(run)
    rows = [
        {"system": name, **fact._asdict(), "value": in_words(fact.value), "model_says": in_words(fact.model_says)}
        for name, settings in systems.items()
        for fact in settings_and_origins(settings, runs[name], job.results)
    ]
    write_csv(pd.DataFrame(rows, columns=list(COLUMNS)), systems_path)


def in_words(value: Any) -> str | None:
    """Return the value of a setting as text; None if there is none."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {in_words(each)}" for key, each in value.items() if each is not None)
    return ", ".join(str(in_words(each)) for each in value) if isinstance(value, list | tuple) else str(value)


def settings_and_origins(settings: Mapping[str, Any], runs: Sequence[Mapping[str, Any]], results: Path) -> Iterator[SettingValue]:
    """Yield the known facts of a system: used values win over the configuration, and that over the model's files."""
    model: Mapping[str, Any] = {}
    used: dict[str, list[SettingValue]] = {}
    for run in runs:
        records = _records(run, results)
        own = next((record for path, record in records.items() if _is_model(path)), {})
        model = own or model
        # The record of a class has a key of this name too, its class.
        encoded = [record for path, record in records.items() if "encoder" in record and not _is_model(path)]
        facts = _of_run(run, encoded)
        for fact in (*facts, *_of_model(own, run["dataset"])):
            used.setdefault(fact.setting, []).append(fact)
    card = _of_card(model["card"]) if "card" in model else {}
    # In the order of the settings; the instructions of all datasets are left out, since those that were used are in the prompts.
    by_setting: dict[str, list[SettingValue]] = {name: [] for name in settings if name != "name"}
    by_setting |= {name: [SettingValue(name, value, OF_MODEL)] for name, value in card.items()}
    by_setting |= {
        name: [SettingValue(name, _own(settings, name), CONFIGURATION)]
        for name, value in settings.items()
        if name != "name" and value is not None and (name in ADDED or not isinstance(value, Mapping))
    }
    by_setting |= {name: _joined(facts, len(runs)) for name, facts in used.items()}
    for fact in (fact for facts in by_setting.values() for fact in facts if fact.value is not None):
        also = card.get(fact.setting, card.get(_setting(fact.setting))) if fact.said_by == CONFIGURATION else None
        yield fact._replace(model_says=also)


def _own(settings: Mapping[str, Any], name: str) -> Any:
    """Return the value of a setting; of the system that a reranker scores with, only what differs from the reranker's."""
    value = settings[name]
    if name not in SCORERS:
        return value
    own = {key: each for key, each in value.items() if each not in (None, "", {}) and each != settings.get(key)}
    return {key: each for key, each in own.items() if key not in OF_ALL_DATASETS}


def _is_model(path: str) -> bool:
    """Test whether a path is that of the record of a model, a system's own or one that adds something to documents."""
    return any(pattern.names_in(path) is not None for pattern in (MODEL, MODEL_OF_DATASET_RECORD, EXPANSION_MODEL))


def _of_model(model: Mapping[str, Any], corpus: str) -> Iterator[SettingValue]:
    """Yield the digest of a model that was used on a corpus, and what extensions say of it, from its record."""
    if "files" in model:
        # Of the lines of sha256sum, so that a user can compute the same.
        lines = "".join(f"{model['files'][name]}  {name}\n" for name in sorted(model["files"], key=str.encode))
        yield SettingValue("model_sha256", hashlib.sha256(lines.encode()).hexdigest(), RECORD, corpus)
    for name in additions_to("describe_systems", {}):
        yield from (SettingValue(setting, value, RECORD, corpus) for setting, value in by_name(name)(model))


def _records(run: Mapping[str, Any], results: Path) -> dict[str, dict[str, Any]]:
    """Return by path the records that a run was made from, if they are still there and unchanged."""
    named = {path: digest for path, digest in run["inputs"].items() if path.endswith(".json")}
    here = [path for path, digest in named.items() if (results / path).is_file() and file_digest(results / path) == digest]
    return {path: read_json(results / path) for path in here}


def _of_run(run: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> Iterator[SettingValue]:
    """Yield the settings used on one corpus, from the records of the run and of its representations."""
    corpus, by_kind, overridden = run["dataset"], dict[str, Values](), set[str]()
    for record in records:
        kind, encoder = "queries" if "queries" in record["seconds"] else "documents", record["encoder"]
        by_kind[kind] = _encoding(kind, encoder)
        overridden |= set(encoder.get("overridden", ()))
    otherwise = OF_MODEL if any("steps" in record["encoder"] for record in records) else RECORD
    for name, value in _of_both(by_kind).items():
        yield SettingValue(name, value, CONFIGURATION if _setting(name) in overridden else otherwise, corpus)
    made, counts = run.get("made", {}), run.get("counts", {})
    known: Values = {
        "dim": next((record["dim"] for record in records if "dim" in record), None),
        **{name: made.get(name) for name in MADE},
    }
    known |= {name: count for name, count in counts.items() if name.startswith(TRUNCATED)}
    if tuned := run.get("tuned"):
        best = f"{max(point['score'] for point in tuned['grid']):.4f} of {tuned['queries']} queries"
        on = f"{tuned['on']}: {tuned['measure']} {best}, the best of {len(tuned['grid'])} weights"
        known |= {"weights": tuned["chosen"], "tuned_on": on}
    for name, value in known.items():
        yield SettingValue(name, value, RECORD, corpus)


def _of_card(card: Mapping[str, Any]) -> Values:
    """Return the statements of a model's files, by the configuration's names for them."""
    by_kind = {}
    for kind, steps in card["steps"].items():
        first = {"dimensions": card["dimensions"], "max_length": steps[0]["settings"].get("max_length")}
        by_kind[kind] = _encoding(kind, {"steps": steps, "prompt": card["prompts"][kind], **first})
    by_name = _of_both(by_kind) | {"similarity": card["similarity"]}
    return {name: value for name, value in by_name.items() if value is not None and name not in card["open"]}


def _encoding(kind: str, encoder: Mapping[str, Any]) -> Values:
    """Return the steps from one kind of text to a vector, by the configuration's names for them; other facts keep their names."""
    values = {key: value for key, value in encoder.items() if key not in ("steps", "prompt", "overridden")}
    if "prompt" in encoder:
        values[PROMPTS[kind]] = encoder["prompt"]
    if steps := encoder.get("steps"):
        values["pooling"] = next((step["settings"].get("modes") for step in steps if step["kind"] == "pooling"), None)
        values["normalize"] = any(step["kind"] == "normalize" for step in steps)
        values["steps"] = " > ".join(" ".join(filter(None, (step["kind"], in_words(step["settings"])))) for step in steps)
    return values


def _of_both(by_kind: Mapping[str, Values]) -> Values:
    """Return the values of queries and documents together; by kind of text if they differ."""
    together: Values = {}
    for name in dict.fromkeys(name for values in by_kind.values() for name in values):
        values = {kind: each[name] for kind, each in by_kind.items() if name in each}
        same = all(value == next(iter(values.values())) for value in values.values())
        together |= {name: next(iter(values.values()))} if same else {f"{name} of {kind}": each for kind, each in values.items()}
    return together


def _setting(name: str) -> str:
    """Return the key of the configuration for a value, which may be that of one kind of text."""
    return name.partition(" of ")[0]


def _joined(facts: Sequence[SettingValue], corpora: int) -> list[SettingValue]:
    """Return one fact if all corpora have the same value; counts, which are sums, stay apart."""
    first = facts[0]
    # A value on only some of the corpora is not that of all.
    alike = len(facts) == corpora and all(fact.value == first.value and fact.said_by == first.said_by for fact in facts)
    return [first._replace(dataset="")] if alike and not first.setting.startswith(TRUNCATED) else list(facts)
