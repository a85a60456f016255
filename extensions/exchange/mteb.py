"""Results in the forms of MTEB and the hub: JSON of a task, ``model-index`` of a model card, and files of ``.eval_results``."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from beirflow.config.main_measure import TABULATED
from beirflow.core.errors import DataError
from beirflow.core.records import read_json
from beirflow.core.writing import write_text
from beirflow.evaluation.scores import read_means
from beirflow.report.references import mteb_name

MAIN = "NDCG@10"  # MTEB's main score of retrieval


def export_mteb(*, task: str, languages: Sequence[str], means_path: str, corpus_paths: Sequence[str], result_path: str) -> None:
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
        **{name: value for measure, value in measures.items() if (name := mteb_name(measure))},
        "main_score": measures[MAIN],
        "hf_subset": "default",
        "languages": list(languages),
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


def export_task(
    *, task: str, dataset: str, own: Mapping[str, Any], split: str, corpus_paths: Sequence[str], task_path: str
) -> None:
    """Write the metadata of a task of one's own, in the fields of MTEB's TaskMetadata; ``own`` are its keys."""
    fields = {
        "name": task,
        "description": own["description"],
        "type": "Retrieval",
        "category": own.get("category", "t2t"),
        "modalities": ["text"],
        "dataset": {"path": dataset, "revision": revision([read_json(path) for path in corpus_paths])},
        "eval_splits": [split],
        "eval_langs": list(own["languages"]),
        "main_score": mteb_name(MAIN),
        **own.get("metadata", {}),
    }
    write_text(task_path, json.dumps(fields, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def revision(corpora: Sequence[Mapping[str, Any]]) -> str:
    """Return a digest of the digests of all source files, in the order of their names, in place of a revision."""
    files = sorted(item for corpus in corpora for item in corpus["source_sha256"].items())
    lines = "".join(f"{digest}  {name}\n" for name, digest in files)
    return f"beir-sha256-{hashlib.sha256(lines.encode()).hexdigest()}"


def write_model_index(
    *,
    system: str,
    result_paths: Sequence[str],
    datasets: Mapping[str, str],
    left_out: Sequence[str],
    own: Sequence[str],
    index_path: str,
    eval_result_paths: Sequence[str],
) -> None:
    """Write the block of a model card with the results of one system, and its ``.eval_results``; values are percentages.

    ``datasets`` has by task the name of its data in model cards, ``left_out`` the configured datasets that are no tasks, ``own``
    the names of tasks of one's own, and ``eval_result_paths`` a file for each task with a repository of its own, named after it.
    Raise DataError if there is no task at all, which no model card may say.
    """
    if not result_paths:
        raise DataError(
            f"{index_path}: no configured dataset is a task of MTEB, so there is nothing to say of {', '.join(left_out)};"
            " datasets of the catalogue are tasks, but not their samples and other splits"
        )
    results = [json.loads(Path(path).read_bytes()) for path in result_paths]
    entries = [_entry(result, datasets[result["task_name"]]) for result in results]
    notes = ["Measured by beirflow on the files of BEIR, not on their copies on the hub."]
    notes += [f"Tasks of our own, measured on our files: {', '.join(own)}."] if own else []
    notes += [f"Left out, not a task of MTEB: {', '.join(left_out)}."] if left_out else []
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
    notes = "Measured by beirflow on the files of BEIR, not on their copies on the hub"
    ids = (f"{name}_{scores['hf_subset']}_{split}", name)
    return [{"dataset": {"id": dataset, "task_id": each}, "value": value, "notes": notes} for each in ids]


def _entry(result: Mapping[str, Any], dataset: str) -> dict[str, Any]:
    """Return the entry of one task in a model card."""
    ((split, (scores,)),) = result["scores"].items()
    names = ["main_score", *map(mteb_name, TABULATED)]
    return {
        "task": {"type": "Retrieval"},
        "dataset": {"type": dataset, "name": f"MTEB {result['task_name']}", "config": "default", "split": split},
        # A hundred times a float may end in digits that were not measured, as 100 * 0.29 does.
        "metrics": [{"type": name, "value": round(100 * scores[name], 10)} for name in names if name in scores],
    }
