"""Systems that are asked for one query at a time, by what measures their latency."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from beirflow.config.families import FAMILIES
from beirflow.core.records import Job
from beirflow.evaluation import latency
from beirflow.families.system import System
from beirflow.run.hardware import ModelHardware
from lexical_results import Row


def answered(results: Path, dataset: str, systems: Sequence[System], top_k: int, **on: Any) -> list[Row]:
    """The answers of the first system to all queries, as rows of a run; the others are those that it is made from."""
    with patch.object(latency, "WARM_UP", 0):  # so that all queries are those that are measured
        asking = latency.Asking({each.name: _entry(each) for each in systems}, dataset, Job(results))
    how = ModelHardware(**{"device": "cpu", "precision": "float32", **on})
    opened = asking.opener(how, top_k)(systems[0].name)
    rows: list[Row] = []
    for query_id, text in zip(asking.query_ids, asking.texts, strict=True):
        query, row, score = opened.answer([text])
        assert not query.any()
        doc_ids = asking.doc_ids.take(row).to_pylist()
        rows += [(query_id, *found, rank) for rank, found in enumerate(zip(doc_ids, score.tolist(), strict=True), 1)]
    numbers, together, scores = opened.answer(asking.texts)
    in_batch = [asking.query_ids[number] for number in numbers], asking.doc_ids.take(together).to_pylist()
    assert [*zip(*in_batch, strict=True)] == [row[:2] for row in rows]
    # Queries of other lengths in a batch change the last digits of what a model computes.
    assert np.allclose(scores, scores_of(rows), rtol=1e-5, atol=1e-6)
    return sorted(rows, key=lambda row: (row[0].encode(), row[3]))


def _entry(system: System) -> dict[str, Any]:
    """A system as the rule that measures latency states it."""
    family, kind = FAMILIES[system.family], type(system.settings)
    return {
        "family": system.family,
        "kind": f"{kind.__module__}:{kind.__qualname__}",
        "settings": asdict(system.settings),
        "answers": family.answers,
        "has_models": family.model_record(system.settings) is not None,
    }


def without_scores(rows: Sequence[Row]) -> list[tuple[str, str, int]]:
    """Queries, documents and ranks."""
    return [(query, document, rank) for query, document, _, rank in rows]


def scores_of(rows: Sequence[Row]) -> list[float]:
    """Scores, which differ in their last digits where queries are encoded in other batches."""
    return [score for _, _, score, _ in rows]
