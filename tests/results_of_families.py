"""Results of the families that no other fixture of the audit has."""

import json
import random
from pathlib import Path
from typing import Any

from tiny_colbert import save_colbert
from tiny_cross_encoder import save_cross_encoder
from tiny_sparse import save_masked_lm
from workflow_runs import small_dataset, words

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
        "fused": {**TUNED, "weights": {"tune": {"dataset": "dev", "step": 0.2}}},
        "crossed": {"family": "rerank", "first": "tokens", "depth": 40, "model": str(save_cross_encoder(folder / "crossed"))},
    }
    for name, documents in (("small", 60), ("dev", 34)):
        lines = ({"_id": f"d{i:03}", "queries": [words(i, 3), words(i + 7, 2)]} for i in range(documents))
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        rows = (f"q{q} Q0 d{d:03} {1 + d} {(q * 31 + d * 7) % 11 / 2} them\n" for q in range(8) for d in range(30))
        (folder / f"{name}.trec").write_text("".join(rows))
    config = {
        "systems": [*systems, "candidates"],
        "datasets": ["small"],
        "precision": "float32",
        "device": "cpu",
        "chunk_documents": 25,
        "top_k": 40,
        "cutoffs": [1, 10, 20],
        "custom": {"systems": systems, "datasets": {name: {"path": str(folder / name)} for name in ("small", "dev")}},
    }
    return config | changes
