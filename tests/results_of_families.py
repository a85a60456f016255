"""Results of the families that no other fixture of the audit has."""

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tiny_colbert import save_colbert
from tiny_cross_encoder import save_cross_encoder
from tiny_sparse import save_masked_lm
from workflow_runs import config_of, small_dataset, words

TUNED = {"family": "fusion", "of": ["words", "masked"], "method": "sum", "normalize": "min-max"}


def everything_stated(documents: int, queries: int) -> dict[str, dict[str, Any]]:
    """All that queries can state: pairs of a topic, candidates, of which q0 excludes some, and nuggets."""
    ids = [f"d{i:03}" for i in range(documents)]
    stated = {
        f"q{i}": {
            "candidate_ids": [*random.Random(i).sample(ids, documents * 5 // 8), ids[3 * i], ids[3 * i + 2], "nowhere"],
            "topic_id": f"t{i // 2}",
            "nuggets": [[ids[3 * i]], [ids[3 * i], ids[3 * i + 2]], []],
        }
        for i in range(queries)
    }
    for i in range(0, queries, 2):
        stated[f"q{i}"]["changed_ids"] = [ids[3 * i + 2]]
    stated["q0"]["excluded_ids"] = ["d003", "d010", "d044", "nowhere"]
    return stated


HITS = 30
"""Documents of each query in the run from elsewhere."""


def write_given(folder: Path, name: str, documents: int, queries: int) -> None:
    """Write what users give for a dataset: a run from elsewhere, and queries for its documents."""
    rows = (f"q{q} Q0 d{d:03} {1 + d} {(q * 31 + d * 7) % 11 / 2} them\n" for q in range(queries) for d in range(HITS))
    (folder / f"{name}.trec").write_text("".join(rows))
    lines = ({"_id": f"d{i:03}", "queries": [words(i, 3), words(i + 7, 2)]} for i in range(documents))
    (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def write_vectors(folder: Path, name: str, documents: int, queries: int) -> Path:
    """Write vectors from elsewhere for a dataset, some of which are equal; the folder of all datasets."""
    for kind, count in (("documents", documents), ("queries", queries)):
        (folder / "vectors" / name).mkdir(parents=True, exist_ok=True)
        vectors = np.random.default_rng(count).integers(-3, 4, (count // 2 + 1, 8)).repeat(2, axis=0)[:count]
        np.save(folder / "vectors" / name / f"{kind}.npy", vectors.astype(np.float32))
        ids = (f"d{number:03}" if kind == "documents" else f"q{number}" for number in range(count))
        (folder / "vectors" / name / f"{kind}.txt").write_text("".join(f"{each}\n" for each in ids))
    return folder / "vectors"


def config_with_dev(folder: Path, own: Mapping[str, Mapping[str, Any]], **changes: Any) -> dict[str, Any]:
    """Configuration of systems on ``small`` in chunks, some of which ``dev`` decides."""
    config = config_of(own, folder / "small", **{"chunk_documents": 25, "top_k": 40, **changes})
    config["custom"]["datasets"]["dev"] = {"path": str(folder / "dev")}
    return config


def families_config(folder: Path, **changes: Any) -> dict[str, Any]:
    """A system of each family on one dataset in chunks, fused with weights that another dataset decides; models are written."""
    small_dataset(folder / "small", 60, 8, stated=everything_stated(60, 8))
    small_dataset(folder / "dev", 34, 11)
    systems = {
        "words": {"family": "lexical"},
        "expanded": {"family": "lexical", "expansion": {"path": str(folder / "{dataset}.jsonl")}},
        "masked": {"family": "sparse", "model": str(save_masked_lm(folder / "splade"))},
        "tokens": {"family": "late-interaction", "model": str(save_colbert(folder / "colbert"))},
        "theirs": {"family": "run", "run": str(folder / "{dataset}.trec")},
        "far": {"vectors": str(write_vectors(folder, "small", 60, 8)), "similarity": "dot"},
        "fused": {**TUNED, "weights": {"tune": {"dataset": "dev", "step": 0.2}}},
        "crossed": {"family": "rerank", "first": "tokens", "depth": 40, "model": str(save_cross_encoder(folder / "crossed"))},
    }
    for name, documents in (("small", 60), ("dev", 34)):
        write_given(folder, name, documents, 8)
    return config_with_dev(folder, systems, **{"systems": [*systems, "candidates"], **changes})
