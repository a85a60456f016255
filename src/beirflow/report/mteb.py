"""Results in the forms of MTEB and the hub: ours are written, and published ones of others read, which nothing here verified.

The forms are the JSON of a task, ``model-index`` of a model card, and files of ``.eval_results``. ``docs/files.md`` describes
them and ``references.csv``.
"""

import hashlib
import json
import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from beirflow.core.csv_files import write_csv
from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.core.records import read_json
from beirflow.core.writing import write_text
from beirflow.evaluation.scores import read_means
from beirflow.evaluation.summary import PUBLISHED

logger = logging.getLogger(__name__)

MEASURES = {"NDCG": "ndcg", "MAP": "map", "Recall": "recall", "P": "precision", "MRR": "mrr", "Accuracy": "hit_rate"}
"""By measure of ours, its name in MTEB."""

MAIN = "NDCG@10"  # MTEB's main score of retrieval
LANGUAGES = {"English": "eng-Latn"}  # by name in the catalogue, the code in MTEB


def export_mteb(*, task: str, language: str, means_path: str, corpus_paths: Sequence[str], result_path: str) -> None:
    """Write the results of one system on one task; ``corpus_paths`` are of its corpora: one, or one a forum.

    Raise DataError if the data are not BEIR's, or NDCG@10 was not measured.
    """
    means = read_means(means_path)
    if means["official_data"] is False:
        raise DataError(
            f"{means_path}: {means['dataset']} was not evaluated on the data of BEIR, so these are no results of the task {task}"
            " of MTEB; the log of prepare_corpus says what differs"
        )
    measures = means["measures"]
    if MAIN not in measures:
        problem = f"has {', '.join(measures)}, and the main score of MTEB is {MAIN}"
        raise DataError(f"{means_path} {problem}; add 10 to the cutoffs of the configuration")
    scores = {
        **{mteb_name(measure): value for measure, value in measures.items() if measure.partition("@")[0] in MEASURES},
        "main_score": measures[MAIN],
        "hf_subset": "default",
        "languages": [LANGUAGES[language]],
    }
    result = {
        "dataset_revision": revision([read_json(path) for path in corpus_paths]),
        "task_name": task,
        "mteb_version": None,
        "scores": {means["split"]: [scores]},
        "evaluation_time": sum(means["seconds"].values()),
        "kg_co2_emissions": None,
        "date": None,
    }
    write_text(result_path, json.dumps(result, indent=2, allow_nan=False) + "\n")


def revision(corpora: Sequence[Mapping[str, Any]]) -> str:
    """Return a digest of the digests of all source files, in the order of their names, in place of a revision."""
    files = sorted(item for corpus in corpora for item in corpus["source_sha256"].items())
    lines = "".join(f"{digest}  {name}\n" for name, digest in files)
    return f"beir-sha256-{hashlib.sha256(lines.encode()).hexdigest()}"


def mteb_name(measure: str) -> str:
    """Return the name of a measure in MTEB, of those in :data:`MEASURES`."""
    name, _, k = measure.partition("@")
    return f"{MEASURES[name]}_at_{k}"


def write_model_index(
    *,
    system: str,
    result_paths: Sequence[str],
    datasets: Mapping[str, str],
    left_out: Sequence[str],
    index_path: str,
    eval_result_paths: Sequence[str],
) -> None:
    """Write the block of a model card with the results of one system, and its ``.eval_results``; values are percentages.

    ``datasets`` has by task the name of its data in model cards, ``left_out`` the configured datasets that are no tasks, and
    ``eval_result_paths`` a file for each task with a repository of its own, named after it. Raise DataError if there is no task
    at all, which no model card may say.
    """
    if not result_paths:
        raise DataError(
            f"{index_path}: no configured dataset is a task of MTEB, so there is nothing to say of {', '.join(left_out)};"
            " datasets of the catalogue are tasks, but not their samples and other splits"
        )
    results = [json.loads(Path(path).read_bytes()) for path in result_paths]
    entries = [_entry(result, datasets[result["task_name"]]) for result in results]
    notes = ["Measured by beirflow on the files of BEIR, not on the copies that the hub has of them."]
    notes += [f"Left out, since MTEB has no such task: {', '.join(left_out)}."] if left_out else []
    block = yaml.safe_dump({"model-index": [{"name": system, "results": entries}]}, sort_keys=False)
    write_text(index_path, "".join(f"# {line}\n" for line in notes) + block)
    by_task = {result["task_name"]: result for result in results}
    for path in eval_result_paths:
        task = Path(path).stem
        write_text(path, yaml.safe_dump(_eval_results(by_task[task], datasets[task]), sort_keys=False))


def _eval_results(result: Mapping[str, Any], dataset: str) -> list[dict[str, Any]]:
    """Return the entries of one task for the folder ``.eval_results`` of a model's repository."""
    ((split, (scores,)),) = result["scores"].items()
    name, value = result["task_name"], round(100 * scores["main_score"], 5)
    notes = "Measured by beirflow on the files of BEIR, not on the copies that the hub has of them"
    ids = (f"{name}_{scores['hf_subset']}_{split}", name)
    return [{"dataset": {"id": dataset, "task_id": each}, "value": value, "notes": notes} for each in ids]


def _entry(result: Mapping[str, Any], dataset: str) -> dict[str, Any]:
    """Return the entry of one task in a model card."""
    ((split, (scores,)),) = result["scores"].items()
    names = ["main_score", *map(mteb_name, PUBLISHED)]
    return {
        "task": {"type": "Retrieval"},
        "dataset": {"type": dataset, "name": f"MTEB {result['task_name']}", "config": "default", "split": split},
        # A hundred times a float may end in digits that were not measured, as 100 * 0.29 does.
        "metrics": [{"type": name, "value": round(100 * scores[name], 10)} for name in names if name in scores],
    }


def collect_references(
    *, reference_paths: Sequence[str], tasks: Mapping[str, Sequence[str]], measures: Sequence[str], table_path: str
) -> None:
    """Write ``references.csv`` from the JSON of tasks; ``tasks`` has by task the dataset and its evaluated split.

    A dataset of several tasks has their mean, if all of them are there. Raise DataError if a file is no result of its task, or a
    score is no fraction.
    """
    found: dict[tuple[str, Path, str], dict[str, dict[str, Any]]] = {}
    for path in map(Path, dict.fromkeys(reference_paths)):
        if (row := _reference(path, tasks[path.stem], measures)) is None:
            continue
        found.setdefault((row["model"], path.parent, row["dataset"]), {})[path.stem] = row
    rows = []
    for (_, folder, dataset), parts in found.items():
        wanted = sum(name == dataset for name, _ in tasks.values())
        if len(parts) == wanted:
            rows.append(_mean_of([*parts.values()]))
        else:
            few = "%s: results of %d of %d forums of %s; a mean of fewer is not comparable, so it is left out"
            logger.warning(few, folder, len(parts), wanted, dataset)
    columns = ("model", "revision", "dataset", "mteb_version", "dataset_revision", "sha256", *measures)
    write_csv(pd.DataFrame(rows, columns=list(columns)), table_path)


def _mean_of(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the row of a dataset from those of its tasks: means of measures that all have, and what they say otherwise."""
    row: dict[str, Any] = {}
    for key, value in parts[0].items():
        values = [part.get(key) for part in parts]
        if isinstance(value, str):
            row[key] = " ".join(dict.fromkeys(map(str, values)))
        elif None not in values:
            row[key] = sum(map(float, values)) / len(values)  # type: ignore[arg-type]
    return row


def _reference(path: Path, of_task: Sequence[str], measures: Sequence[str]) -> dict[str, Any] | None:
    """Return the row of a file; None, with a warning, for one in an older form of MTEB's."""
    dataset, split = of_task
    try:
        result = json.loads(path.read_bytes())
        if "scores" not in result and split in result:
            problem = "it is in an older form of MTEB's, without 'scores', and is left out"
            logger.warning("%s: %s; to have it shown, evaluate again with a newer MTEB", path, problem)
            return None
        (scores,) = (each for each in result["scores"][split] if each["hf_subset"] == "default")
        versions = {key: str(result.get(key) or "") for key in ("mteb_version", "dataset_revision")}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"it has no {error}" if isinstance(error, KeyError) else repr(error)
        problem = f"it is no result of {path.stem} on the split {split} as MTEB writes it ({reason})"
        raise DataError(f"{path}: {problem}; remove it, or name another folder in references") from error
    names = {measure: mteb_name(measure) for measure in measures if measure.partition("@")[0] in MEASURES}
    values = {measure: scores[name] for measure, name in names.items() if name in scores}
    for measure, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or not 0 <= value <= 1:
            raise DataError(f"{path}: {names[measure]} is {value!r}, and a fraction was expected; remove it from references")
    model = path.parts[-3].replace("__", "/")
    return {"model": model, "revision": path.parts[-2], "dataset": dataset, **versions, "sha256": file_digest(path), **values}
