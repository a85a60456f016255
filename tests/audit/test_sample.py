"""A sample made again finds what was lifted, pushed or left out, and passes what nobody touched."""

import copy
import json
import random
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beirflow.audit.chain import Chain
from beirflow.audit.checks import FAILED, NOT_CHECKED, PASSED, Check
from beirflow.audit.configured import configured_experiment
from beirflow.audit.replay.replay import NAME, SOURCES
from beirflow.audit.sample.sample import WHOLE, check_samples
from beirflow.config.load import load_experiment
from beirflow.core.records import read_json
from beirflow.evaluation.measures import measure
from forger import Forger, named
from forgeries import in_order, relevant_first, rivals_of_zeros, towards_relevant, with_words_of_queries
from results_maker import Made, make_results
from results_of_everything import make_everything
from tiny_bert import save_tiny_bert
from tiny_colbert import save_colbert
from tiny_cross_encoder import save_cross_encoder
from tiny_expanders import save_deepct, save_tiny_t5
from tiny_sparse import save_masked_lm
from workflow_runs import config_of, tiny_system, words, write_beir

pytest.importorskip("faiss")

SEARCHED = {"words", "written", "given", "deepct", "dense", "int8", "genq", "sparse", "late", "crossed", "graph"}


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make_everything(tmp_path_factory.mktemp("everything"))


FOUND_BY = {
    **dict.fromkeys(("words", "given", "deepct", "dense", "int8", "genq", "vectors", "sparse", "late", "graph"), WHOLE),
    **dict.fromkeys(("crossed", "fused"), NAME),  # which do not follow from stored pairs and runs; all others are searched again
    "theirs": SOURCES,
}
"""Systems of all families, and of forms of dense systems, with the name of the check that finds their lifted run."""


def write_elsewhere(folder: Path, judged: Mapping[str, Mapping[str, int]], documents: list[str]) -> None:
    """Write a run, vectors and queries of documents from elsewhere, all of which know something of the relevant documents."""
    draw, vectors = random.Random(5), np.random.default_rng(5).normal(size=(len(documents), 16))
    best = {query: [documents.index(doc_id) for doc_id in those] for query, those in judged.items()}
    asked = np.array([vectors[those].mean(axis=0) for those in best.values()])
    asked += np.random.default_rng(6).normal(size=asked.shape)
    (folder / "vectors/small").mkdir(parents=True)
    for name, rows, ids in (("documents", vectors, documents), ("queries", asked, [*judged])):
        np.save(folder / f"vectors/small/{name}.npy", rows.astype(np.float32))
        (folder / f"vectors/small/{name}.txt").write_text("".join(f"{each}\n" for each in ids))
    lines = [
        f"{query} Q0 {doc_id} 1 {draw.random() + (doc_id in those) / 2} them\n"
        for query, those in judged.items()
        for doc_id in [*those, *draw.sample(sorted({*documents} - {*those}), 98)]
    ]
    (folder / "small.trec").write_text("".join(lines))
    added = ({"_id": doc_id, "queries": [words(i, 3), words(i + 7, 2)]} for i, doc_id in enumerate(documents))
    (folder / "small.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in added))


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Results in bfloat16 of a system of each family for 300 queries, each with some words of a relevant document."""
    folder, draw = tmp_path_factory.mktemp("many"), random.Random(3)
    texts = {f"d{i:03}": words(i, 8 + i % 9) for i in range(900)}
    queries = {}
    for i in range(300):
        own = texts[f"d{3 * i:03}"].split()
        queries[f"q{i:03}"] = " ".join([*draw.sample(own, max(4, len(own) * 2 // 3)), words(5000 + i, 2)])
    judged = {f"q{i:03}": {f"d{3 * i:03}": 1, f"d{3 * i + 2:03}": 1} for i in range(300)}
    write_beir(folder / "small", texts, queries, judged)
    write_elsewhere(folder, judged, [*texts])
    bert = tiny_system(save_tiny_bert(folder / "bert"))
    train = {"generator": str(save_tiny_t5(folder / "t5")), "queries": 2, "query_length": 8, "documents": 40, "batch": 8}
    systems = {
        "words": {"family": "lexical"},
        "given": {"family": "lexical", "expansion": {"path": f"{folder}/{{dataset}}.jsonl"}},
        "deepct": {"family": "lexical", "weights": {"model": str(save_deepct(folder / "deepct"))}},
        "dense": bert,
        "int8": {"variant_of": "dense", "vectors": "int8"},
        "genq": {"family": "dense", "base": bert, "train": train},
        "vectors": {"vectors": str(folder / "vectors"), "similarity": "dot"},
        "sparse": {"family": "sparse", "model": str(save_masked_lm(folder / "splade"))},
        "late": {"family": "late-interaction", "model": str(save_colbert(folder / "colbert"))},
        "crossed": {"family": "rerank", "first": "late", "depth": 100, "model": str(save_cross_encoder(folder / "crossed"))},
        "graph": {"approximate": "dense", "index": "hnsw", "m": 8, "ef_construction": 40, "ef_search": 100},
        "theirs": {"family": "run", "run": f"{folder}/{{dataset}}.trec"},
        "fused": {"family": "fusion", "of": ["words", "theirs"], "method": "sum", "normalize": "min-max"},
    }
    assert systems.keys() == FOUND_BY.keys()
    config = config_of(systems, folder / "small", chunk_documents=400, top_k=200, precision="bfloat16")
    return make_results(folder / "results", config)


def sampled(forger: Forger, sample: int, only: str = "") -> list[Check]:
    """The checks of a sample, of one system if it is named."""
    chain = Chain(forger.results, read_json(forger.path("manifest.json")))
    with chain.limits:
        chain.follow()
        if only:
            chain.claims = {path: by for path, by in chain.claims.items() if not path.startswith("runs/") or f"/{only}/" in path}
        return list(check_samples(chain, configured_experiment(chain, forger.experiment), sample, 1))


def systems_of(checks: list[Check]) -> set[str]:
    return {check.found.partition(" on ")[0] for check in checks}


@pytest.mark.parametrize("sample", [5, 1000])
def test_what_nobody_touched_passes_for_every_family(everything: Made, tmp_path: Path, sample: int) -> None:
    checks = sampled(Forger.of(everything, tmp_path), sample)
    assert [check for check in checks if check.status != PASSED] == []
    assert systems_of(checks) == SEARCHED


def test_without_a_sample_nothing_is_made_again(everything: Made, tmp_path: Path) -> None:
    (check,) = sampled(Forger.of(everything, tmp_path), 0)
    assert check.status == NOT_CHECKED
    assert "audit: {sample: 100}" in check.repair


@pytest.mark.parametrize("precision", ["auto", "float32"])
def test_results_in_half_precision_pass_in_any(many: Made, tmp_path: Path, precision: str) -> None:
    forger = Forger.of(many, tmp_path)
    forger.experiment = load_experiment({**many.config, "precision": precision})
    checks = sampled(forger, 50)
    assert [check for check in checks if check.status != PASSED] == []
    assert systems_of(checks) == FOUND_BY.keys() - {"theirs", "fused"}  # which only the replay makes again


def lift(forger: Forger, system: str, gain: float) -> None:
    """Raise scores of relevant documents until NDCG@10 has risen by ``gain``; those of models within their tolerance."""
    path, qrels = f"runs/{system}/small.parquet", pq.read_table(forger.path("corpora/small/qrels.parquet"))
    stored = pq.read_table(forger.path(path))
    run = stored.to_pandas()
    judged = set(zip(*(qrels[name].to_pylist() for name in ("query_id", "doc_id")), strict=True))
    are_relevant = np.array([pair in judged for pair in zip(run["query_id"], run["doc_id"], strict=True)])
    largest = run.groupby("query_id")["score"].transform(lambda scores: scores.abs().max())
    family = forger.experiment.family(system)
    is_exact = not family.has_model or system == "vectors"
    within = 0.5 if is_exact else 0.9 * family.tolerance(forger.experiment.systems[system].settings, "bfloat16")
    order = np.random.default_rng(0).permutation(sorted({*run["query_id"]}))

    def ndcg(table: pa.Table) -> float:
        return float(measure(table, qrels, [10], ranked=True)["NDCG@10"].mean())

    for queries in (10, 20, 40, 80, 150, 300):
        up = are_relevant & run["query_id"].isin(order[:queries]).to_numpy()
        lifted = in_order(run.assign(score=(run["score"] + np.where(up, within * largest, 0)).astype(np.float32)))
        if ndcg(pa.Table.from_pandas(lifted, stored.schema, preserve_index=False)) - ndcg(stored) >= gain:
            forger.edit_table(path, lambda _, lifted=lifted: lifted)  # type: ignore[misc]
            return
    raise AssertionError(f"{system} cannot be lifted")


@pytest.fixture(scope="module")
def lifted(many: Made, tmp_path_factory: pytest.TempPathFactory) -> list[Check]:
    """What fails in a sample of 50 of 300 queries where every run was lifted, and all digests were made again."""
    forger = Forger.of(many, tmp_path_factory.mktemp("lifted"))
    for system in FOUND_BY:
        lift(forger, system, 0.02)
        forger.evaluate_again(system, "small")
    return forger.failed(50)


@pytest.mark.parametrize(("system", "name"), FOUND_BY.items())
def test_relevant_documents_lifted_within_the_rounding_of_half_precision_are_found(
    lifted: list[Check], system: str, name: str
) -> None:
    assert name in {check.name for check in named(lifted, f"runs/{system}/small.parquet")}


def infinite(run: pd.DataFrame) -> pd.DataFrame:
    return run.assign(score=run["score"].where(run["rank"] > 1, np.float32("inf")))


def bomb(forger: Forger) -> None:
    """Let a few bytes unpack to a gigabyte."""
    path, table = forger.path("tokens/late/small/chunk-0.arrow"), pa.table({"vectors": np.zeros(300_000_000, np.float32)})
    path.unlink()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema, options=options) as file:
        file.write_table(table)


FORGED: list[tuple[str, Callable[[Forger], object]]] = [
    ("dense", rivals_of_zeros),
    ("dense", towards_relevant),
    ("dense", lambda forger: forger.edit_table("runs/dense/small.parquet", infinite)),
    ("words", lambda forger: with_words_of_queries(forger, "words", "postings/lucene-english/small/*")),
    ("int8", lambda forger: relevant_first(forger, "int8")),
    ("graph", lambda forger: relevant_first(forger, "graph")),  # whose exact system's run is needed
]


@pytest.mark.parametrize(("system", "forge"), FORGED)
def test_forged_representations_and_runs_are_found(
    everything: Made, tmp_path: Path, system: str, forge: Callable[[Forger], object]
) -> None:
    forger = Forger.of(everything, tmp_path)
    forge(forger)
    checks = sampled(forger, 1000, "" if system == "graph" else system)
    assert system in systems_of([check for check in checks if check.status == FAILED])


def test_a_representation_that_would_fill_memory_is_refused_in_a_sentence(everything: Made, tmp_path: Path) -> None:
    forger = Forger.of(everything, tmp_path)
    bomb(forger)
    (check,) = sampled(forger, 5, "late")
    assert (check.status, check.files) == (FAILED, ("tokens/late/small/chunk-0.arrow",))


def test_a_model_in_another_folder_is_the_same(everything: Made, tmp_path: Path) -> None:
    config = copy.deepcopy(everything.config)
    systems = config["custom"]["systems"]
    systems["dense"]["model"] = shutil.copytree(systems["dense"]["model"], tmp_path / "moved").as_posix()
    forger = Forger.of(everything, tmp_path)
    forger.experiment = load_experiment(config)
    assert forger.failed(5) == []
