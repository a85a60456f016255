"""All steps of the workflow as function calls on the workflow's own files, without Snakemake, which takes seconds to start."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from beir_writer import match_corpora
from beirflow.datasets.prepare import Preparation, prepare_corpus
from beirflow.dense.encode import Encoding, encode_chunk, encode_queries
from beirflow.dense.search import search_chunk
from beirflow.evaluation.evaluate import average_forums, evaluate_run
from beirflow.evaluation.summary import summarize
from beirflow.files.records import Job
from beirflow.models.model_files import fetch_model
from beirflow.models.settings import EncoderSettings
from beirflow.runs.merge import merge_chunks
from beirflow.runs.run_file import write_trec
from by_name import call

CHUNKS = 3
CPU = {"device": "cpu", "threads": 1}


class Results:
    """The folder ``results/`` of one system on one dataset, and a second dataset that has some of its texts."""

    def __init__(self, folder: Path, model: Path, system: str = "tiny", dataset: str = "small") -> None:
        self.job = Job(folder)
        self.folder, self.system, self.dataset = (
            folder,
            EncoderSettings(name=system, model=str(model), max_length=64, pooling="mean"),
            dataset,
        )

    def path(self, name: str) -> Path:
        """A file; ``{s}`` and ``{d}`` stand for the names of system and dataset."""
        return self.folder / name.format(s=self.system.name, d=self.dataset)

    def paths(self, **names: str) -> dict[str, str]:
        """Arguments that are paths."""
        return {f"{argument}_path": str(self.path(name)) for argument, name in names.items()}

    def steps(self, sources: Sequence[Path]) -> dict[str, Callable[[], Any]]:
        """Every job, in an order in which they can run; the sources are those of the dataset and of the other."""
        prepare = {
            f"prepare {name}": partial(self._prepare, name, path) for name, path in zip(("{d}", "more"), sources, strict=False)
        }
        shared = (
            {"match": partial(match_corpora, self.path("corpora/more"), self.path("corpora/{d}"))} if len(sources) > 1 else {}
        )
        return {
            **prepare,
            "fetch": partial(
                fetch_model,
                system=self.system,
                said=["pooling", "similarity"],
                job=self.job,
                **self.paths(output="models/{s}.json"),
            ),
            "encode queries": self._encode_queries,
            **{f"encode {chunk}": partial(self._encode_chunk, chunk) for chunk in range(CHUNKS)},
            **shared,
            **({"reuse": self._reuse} if shared else {}),
            **{f"search {chunk}": partial(self._search, chunk) for chunk in range(CHUNKS)},
            "merge": self._merge,
            "evaluate": self._evaluate,
            "trec": self._trec,
            "average": self._average,
            "summarize": self._summarize,
        }

    def _prepare(self, name: str, source: Path) -> None:
        expected: dict[str, Any] = {"documents": None, "queries": None, "files": {}}
        where = self.paths(**{key: f"corpora/{name}/{key}.parquet" for key in ("documents", "queries")})
        settings = Preparation(forum=None, split="test", chunks=CHUNKS, expected=expected)
        call(prepare_corpus, source_path=str(source), settings=settings, job=self.job, **where)

    def _encoding(self, dataset: str, output: str) -> dict[str, Any]:
        encoding = Encoding(self.system, str(self.path("models/{s}.json")), precision="float32", token_budget=512, **CPU)
        return {**self.paths(output=f"embeddings/{{s}}/{dataset}/{output}"), "encoding": encoding, "job": self.job}

    def _encode_queries(self) -> None:
        encode_queries(**self.paths(queries="corpora/{d}/queries.parquet"), **self._encoding("{d}", "queries.npy"))

    def _encode_chunk(self, chunk: int) -> None:
        documents = self.paths(documents="corpora/{d}/documents.parquet")
        encode_chunk(**documents, chunk=chunk, **self._encoding("{d}", f"chunk-{chunk}.npy"))

    def _reuse(self) -> None:
        vectors = [str(self.path(f"embeddings/{{s}}/{{d}}/chunk-{chunk}.npy")) for chunk in range(CHUNKS)]
        documents = self.paths(documents="corpora/more/documents.parquet")
        shared = [str(self.path("corpora/more/shared.parquet")), *vectors]
        encode_chunk(**documents, chunk=1, shared_paths=shared, **self._encoding("more", "chunk-1.npy"))

    def _search(self, chunk: int) -> None:
        call(
            search_chunk,
            system=self.system.name,
            chunk=chunk,
            similarity="dot",
            top_k=20,
            drop_self_matches=True,
            job=self.job,
            **CPU,
            **self.paths(
                queries="corpora/{d}/queries.parquet",
                documents="corpora/{d}/documents.parquet",
                model="models/{s}.json",
                query_vectors="embeddings/{s}/{d}/queries.npy",
                chunk_vectors=f"embeddings/{{s}}/{{d}}/chunk-{chunk}.npy",
                output=f"candidates/{{s}}/{{d}}/chunk-{chunk}.npz",
            ),
        )

    def _merge(self) -> None:
        call(
            merge_chunks,
            system=self.system.name,
            dataset=self.dataset,
            candidate_paths=[str(self.path(f"candidates/{{s}}/{{d}}/chunk-{chunk}.npz")) for chunk in range(CHUNKS)],
            top_k=20,
            job=self.job,
            **self.paths(
                queries="corpora/{d}/queries.parquet",
                documents="corpora/{d}/documents.parquet",
                run="runs/{s}/{d}.parquet",
                record="runs/{s}/{d}.json",
            ),
        )

    def _evaluate(self) -> None:
        call(
            evaluate_run,
            system=self.system.name,
            dataset=self.dataset,
            cutoffs=[1, 10, 20],
            job=self.job,
            **self.paths(
                run="runs/{s}/{d}.parquet",
                qrels="corpora/{d}/qrels.parquet",
                per_query="metrics/{s}/{d}.parquet",
                means="metrics/{s}/{d}.json",
            ),
        )

    def _trec(self) -> None:
        paths = {"run": "runs/{s}/{d}.parquet", "record": "runs/{s}/{d}.json", "output": "runs/{s}/{d}.trec.gz"}
        write_trec(**self.paths(**paths, queries="corpora/{d}/queries.parquet"), tag=self.system.name)

    def _average(self) -> None:
        paths = {"forum_paths": [str(self.path("metrics/{s}/{d}.json"))], **self.paths(means="metrics/{s}/row.json")}
        average_forums(dataset="row", job=self.job, **paths)

    def _summarize(self) -> None:
        summarize(means_paths=[str(self.path("metrics/{s}/{d}.json"))], **self.paths(summary="summary.csv"))
