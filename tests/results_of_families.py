"""Results of the families that no other fixture of the audit has, in this process, by the functions that the rules call."""

import json
import random
import shutil
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from beirflow.evaluation.measures import measure
from beirflow.expansions.given import read_given
from beirflow.experiment.experiment import Experiment
from beirflow.experiment.load import load_experiment
from beirflow.files import layout
from beirflow.files.layout import Pattern
from beirflow.files.records import Job
from beirflow.fusion.fuse_runs import fuse_runs
from beirflow.imported.import_run import import_run
from beirflow.jobs.code_version import code_version
from beirflow.late.encode import TokenEncoding, encode_query_tokens, encode_tokens
from beirflow.late.search import search_tokens
from beirflow.lexical.index_chunk import index_chunk
from beirflow.lexical.search_index import search_index
from beirflow.lexical.statistics import sum_statistics
from beirflow.models.model_files import fetch_model
from beirflow.models.settings import ModelSettings
from beirflow.rerank.rerank_run import rerank_run
from beirflow.rerank.score_pairs import Scoring, score_pairs
from beirflow.runs.merge import merge_chunks
from beirflow.sparse.model_folders import fetch_sparse_model
from beirflow.sparse.search import search_weights
from beirflow.sparse.weigh import Weighing, weigh_chunk, weigh_queries
from by_name import call
from results_maker import Made, evaluate, prepare, write_summary
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


def make_families(results: Path, config: Mapping[str, Any]) -> Made:
    """Everything that ``snakemake results/summary.csv`` would leave, but logs and benchmarks."""
    experiment = load_experiment(config)
    for name in dict.fromkeys(name for _, name in experiment.needed_runs):
        prepare(results, experiment, name)
    for system, name in sorted(experiment.needed_runs, key=lambda run: experiment.systems[run[0]].family in ("fusion", "rerank")):
        _Maker(results, experiment, system, name).make()
    for system in experiment.chosen_systems:
        for name in experiment.chosen_datasets:
            evaluate(results, experiment, system, name)
    shutil.rmtree(results / "candidates")
    write_summary(results, experiment)
    return Made(results, dict(config))


class _Maker:
    """Makes the run of one system on one corpus."""

    def __init__(self, results: Path, experiment: Experiment, system: str, name: str) -> None:
        self.results, self.experiment, self.system, self.name = results, experiment, system, name
        self.settings: Any = experiment.systems[system].settings
        self.whole = experiment.datasets[name].whole_name
        self.chunks = range(experiment.chunks(name))
        self.retrieval = experiment.retrieval(name)

    def make(self) -> None:
        family = self.experiment.systems[self.system].family
        making = {"lexical": self._lexical, "sparse": self._sparse, "late-interaction": self._late, "run": self._import}
        (making | {"fusion": self._fuse, "rerank": self._rerank})[family]()

    def path(self, pattern: Pattern, **names: Any) -> str:
        path = self.results / pattern(**{"system": self.system, "dataset": self.name, **names})
        path.parent.mkdir(parents=True, exist_ok=True)
        return str(path)

    def job(self, rule: str) -> Job:
        return Job(self.results, rule, code_version(rule))

    def corpus(self, *keys: str) -> dict[str, str]:
        patterns = {"documents": layout.DOCUMENTS, "queries": layout.QUERIES}
        return {f"{key}_path": self.path(patterns[key]) for key in keys or patterns}

    @property
    def _run(self) -> dict[str, str]:
        return {
            "system": self.system,
            "dataset": self.name,
            "run_path": self.path(layout.RUN),
            "record_path": self.path(layout.RUN_RECORD),
        }

    def _merge(self) -> None:
        paths = [self.path(layout.CANDIDATES, chunk=chunk) for chunk in self.chunks]
        top_k = self.retrieval["top_k"]
        told = {"candidate_paths": paths, "top_k": top_k}
        call(merge_chunks, **told, **self.corpus(), **self._run, job=self.job("merge_chunks"))

    def _lexical(self) -> None:
        index, statistics = self.settings.index, partial(self.path, layout.STATISTICS, analyzer=self.settings.index.name)
        postings = [self.path(layout.POSTINGS, analyzer=index.name, chunk=chunk) for chunk in self.chunks]
        added = self.settings.added
        expansions = [self.path(layout.EXPANSION, expansion=added.name, chunk=each) if added else None for each in self.chunks]
        for chunk, (path, expansion) in enumerate(zip(postings, expansions, strict=True)):
            if added and expansion:
                source = str(added.file(self.whole))
                told = {"given": added, "source_path": source, "chunk": chunk, "output_path": expansion}
                read_given(**told, **self.corpus("documents"), job=self.job("read_given"))
            told = {"chunk": chunk, "index": index, "expansion_path": expansion, "output_path": path}
            index_chunk(**told, **self.corpus("documents"), job=self.job("index_chunk"))
        sum_statistics(postings_paths=postings, index=index, output_path=statistics(), job=self.job("sum_statistics"))
        for chunk, (path, expansion) in enumerate(zip(postings, expansions, strict=True)):
            told = {"postings_path": path, "statistics_path": statistics(), "expansion_path": expansion, "chunk": chunk}
            output = self.path(layout.CANDIDATES, chunk=chunk)
            call(
                search_index,
                settings=self.settings,
                system=self.system,
                **told,
                **self.corpus(),
                output_path=output,
                **self.retrieval,
                job=self.job("search_index"),
            )
        self._merge()

    def _sparse(self) -> None:
        model, queries = self.path(layout.MODEL), self.path(layout.QUERY_WEIGHTS)
        fetch_sparse_model(settings=self.settings, output_path=model, job=self.job("fetch_sparse_model"))
        weighing = Weighing(self.settings, model, precision="float32", device="cpu")
        weigh_queries(**self.corpus("queries"), output_path=queries, weighing=weighing, job=self.job("weigh_queries"))
        for chunk in self.chunks:
            path, output = self.path(layout.TERM_WEIGHTS, chunk=chunk), self.path(layout.CANDIDATES, chunk=chunk)
            weigh_chunk(**self.corpus("documents"), chunk=chunk, output_path=path, weighing=weighing, job=self.job("weigh_chunk"))
            told = {"query_weights_path": queries, "chunk_weights_path": path, "model_path": model, "chunk": chunk}
            told |= {**self.corpus(), **self.retrieval, "output_path": output, "system": self.system}
            call(search_weights, settings=self.settings, **told, job=self.job("search_weights"))
        self._merge()

    def _late(self) -> None:
        model, queries = self.path(layout.MODEL), self.path(layout.QUERY_TOKEN_VECTORS)
        fetch_model(system=self.settings, said=None, output_path=model, job=self.job("fetch_model"))
        encoding = TokenEncoding(self.settings.for_dataset(self.name), model, precision="float32", device="cpu")
        encode_query_tokens(**self.corpus("queries"), output_path=queries, encoding=encoding, job=self.job("encode_query_tokens"))
        for chunk in self.chunks:
            path, output = self.path(layout.TOKEN_VECTORS, chunk=chunk), self.path(layout.CANDIDATES, chunk=chunk)
            told = {**self.corpus("documents"), "chunk": chunk, "output_path": path}
            encode_tokens(**told, encoding=encoding, job=self.job("encode_tokens"))
            told = {"query_vectors_path": queries, "chunk_vectors_path": path, "model_path": model, "chunk": chunk}
            told |= {**self.corpus(), **self.retrieval, "output_path": output, "device": "cpu"}
            call(search_tokens, system=self.system, **told, job=self.job("search_tokens"))
        self._merge()

    def _import(self) -> None:
        source = self.path(layout.QUERIES) if self.settings.of_the_dataset else str(self.settings.path(self.whole))
        call(import_run, source_path=source, **self.corpus(), **self.retrieval, **self._run, job=self.job("import_run"))

    def _fuse(self) -> None:
        call(
            fuse_runs,
            settings=self.settings,
            run_paths=[self.path(layout.RUN, system=system) for system in self.settings.of],
            corpus_path=self.path(layout.CORPUS),
            tuned_on=self.experiment.tuned_on(self.system, self.name),
            measure=measure,
            main_measure="NDCG@10",
            top_k=self.retrieval["top_k"],
            **self._run,
            job=self.job("fuse_runs"),
        )

    def _rerank(self) -> None:
        settings, model = self.settings.for_dataset(self.name), self.path(layout.MODEL)
        fetch = ModelSettings(**self.experiment.model_settings(self.system))
        fetch_model(system=fetch, said=None, output_path=model, job=self.job("fetch_model"))
        first = {"first_run_path": self.path(layout.RUN, system=settings.first), "corpus_path": self.path(layout.CORPUS)}
        pairs = self.path(layout.PAIRS, block=0)
        scoring = Scoring(settings, model, precision="float32", device="cpu")
        told = {"first_run_path": first["first_run_path"], **self.corpus(), "block": 0, "blocks": 1, "output_path": pairs}
        call(score_pairs, scoring=scoring, **told, job=self.job("score_pairs"))
        told = {**first, "pairs_paths": [pairs], "top_k": self.retrieval["top_k"]}
        call(rerank_run, settings=settings, **told, **self._run, job=self.job("rerank_run"))
