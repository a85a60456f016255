"""Results with a system of each family and of each kind that no other fixture of the audit has, by the rules that make them."""

import shutil
from pathlib import Path
from typing import Any

from beirflow.config.load import load_experiment
from beirflow.core import layout
from beirflow.extensions.choice import layout as choice
from beirflow.extensions.exchange import layout as exchanged
from beirflow.extensions.judging import layout as judging
from results_maker import Made, make_paper, make_report, run_rules
from results_of_families import config_with_dev, write_given
from tiny_bert import save_tiny_bert
from tiny_colbert import save_colbert
from tiny_cross_encoder import save_cross_encoder
from tiny_expanders import save_deepct, save_tiny_t5
from tiny_sparse import save_masked_lm
from workflow_runs import small_dataset, tiny_system


def everything_config(folder: Path) -> dict[str, Any]:
    """A system of each kind on one dataset in chunks, fused with weights that another dataset decides; models are written."""
    sizes = {"small": (60, 8), "dev": (34, 11)}
    for name, (documents, queries) in sizes.items():
        small_dataset(folder / name, documents, queries)
        write_given(folder, name, documents, queries)
    t5 = {"model": str(save_tiny_t5(folder / "t5")), "queries": 4, "query_length": 8}
    bert = tiny_system(save_tiny_bert(folder / "bert"))
    train = {"generator": t5["model"], "queries": 2, "query_length": 8, "documents": 40, "batch": 8}
    systems = {
        "words": {"family": "lexical"},
        "written": {"family": "lexical", "expansion": t5},
        "given": {"family": "lexical", "expansion": {"path": f"{folder}/{{dataset}}.jsonl"}},
        "deepct": {"family": "lexical", "weights": {"model": str(save_deepct(folder / "deepct"))}},
        "dense": bert,
        "int8": {"variant_of": "dense", "vectors": "int8"},
        "genq": {"family": "dense", "base": bert, "train": train},
        "sparse": {"family": "sparse", "model": str(save_masked_lm(folder / "splade"))},
        "late": {"family": "late-interaction", "model": str(save_colbert(folder / "colbert"))},
        "theirs": {"family": "run", "run": f"{folder}/{{dataset}}.trec"},
        "fused": {
            "family": "fusion",
            "of": ["words", "theirs"],
            "method": "sum",
            "normalize": "min-max",
            "weights": {"tune": {"dataset": "dev", "step": 0.2}},
        },
        "crossed": {"family": "rerank", "first": "late", "depth": 20, "model": str(save_cross_encoder(folder / "crossed"))},
        "graph": {"approximate": "dense", "index": "hnsw", "m": 4, "ef_construction": 20, "ef_search": 12},
    }
    return config_with_dev(folder, systems)


def make_everything(folder: Path) -> Made:
    """Results with a report, the pages of the paper, and exports; figures are none, and latencies are invented."""
    made = Made(folder / "results", everything_config(folder))
    experiment = load_experiment(made.config)
    run_rules(made.results, experiment, [layout.SUMMARY])
    shutil.rmtree(made.results / "candidates")
    make_report(made.results, experiment)
    make_paper(made.results, experiment)
    exports = [
        exchanged.OPEN_RUN(system="words", dataset="small"),
        layout.TREC_RUN(system="late", dataset="small"),
        judging.POOL(dataset="small"),
    ]
    run_rules(made.results, experiment, [exchanged.CRATE, choice.PAGE, *exports])
    return made
