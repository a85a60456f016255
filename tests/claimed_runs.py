"""Claimed runs, verified in this process."""

import json
import shutil
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from beirflow.config.load import load_experiment
from beirflow.core import layout
from beirflow.core.errors import VerdictError
from beirflow.core.records import read_json
from beirflow.extensions.verify.layout import PAGE, STATEMENT
from beirflow.extensions.verify.verify import Files, Request, verify
from results_maker import run_rules

Run = dict[str, dict[str, float]]


def verified(
    made: Path, config: Mapping[str, Any], system: str, folder: Path, run: Run | str | None, **request: Any
) -> dict[str, Any]:
    """Verify a claim, a run or the text of a file with one, about a system on the dataset "small"; give the statement back.

    ``made`` are results with the prepared corpus, BM25's run and the record of the model.
    """
    results, file = folder / "results", folder / "run.txt"
    given = deepcopy(dict(config)) | {"systems": [system, "bm25"], "datasets": ["small"]}
    shutil.copytree(made, results, ignore=shutil.ignore_patterns("embeddings", "postings", "candidates"))
    if run is not None:
        file.write_text(run if isinstance(run, str) else json.dumps({"default": {"test": run}}))
        given["systems"] = ["claimed", *given["systems"]]
        given["custom"]["systems"]["claimed"] = {"run": str(file)}
    experiment = load_experiment(given)
    corpus = ("documents", "queries", "qrels", "corpus")
    at = {f"{name}_path": str(results / getattr(layout, name.upper())(dataset="small")) for name in corpus}
    at |= {"bm25_path": str(results / layout.RUN(system="bm25", dataset="small"))}
    at |= {"model_path": str(results / layout.MODEL(system=system))}
    if run is not None:
        at["claimed_path"] = str(results / layout.RUN(system="claimed", dataset="small"))
        run_rules(results, experiment, [layout.RUN(system="claimed", dataset="small")])
    settings = Request(**{"system": system, "claim": {}, "share": 1.0, "seed": 3, **request})
    try:
        verify(folder=str(results), experiment=experiment, request=settings, files=Files(**at))
    except VerdictError:
        assert read_json(results / STATEMENT)["verdict"] != "consistent"
    else:
        assert read_json(results / STATEMENT)["verdict"] == "consistent"
    statement = read_json(results / STATEMENT)
    page = (results / PAGE).read_text()
    assert page.index("<h1>") < page.index(statement["sentence"].partition(":")[0]) < page.index("<h2>")
    return statement
