"""Results with a corpus and runs that tests write down, for what reads runs and makes others of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from beir_writer import write_corpus_record
from beirflow.core.digests import file_digest
from beirflow.core.layout import CORPUS, DOCUMENTS, QRELS, QUERIES, RUN, RUN_RECORD
from beirflow.core.records import Job, write_record
from beirflow.data.corpus_reader import DOCUMENTS as DOCUMENT_COLUMNS
from beirflow.ranking.run_file import RUN as RUN_COLUMNS

DATASET = "small"

Scores = Mapping[str, Mapping[str, float]]


class RunResults:
    """A folder of results: documents in chunks, queries, and whatever runs are written."""

    def __init__(
        self,
        results: Path,
        documents: Mapping[str, str],
        queries: Mapping[str, str],
        chunk: int = 10,
        dataset: str = DATASET,
        qrels: Mapping[str, Mapping[str, int]] | None = None,
    ) -> None:
        self.results, self.dataset, self.job = results, dataset, Job(results, "test/job", "c0de")
        self.documents_path, self.queries_path = (str(results / path(dataset=dataset)) for path in (DOCUMENTS, QUERIES))
        Path(self.documents_path).parent.mkdir(parents=True)
        table = pa.table([list(documents), list(documents.values()), [0] * len(documents)], schema=DOCUMENT_COLUMNS)
        pq.write_table(table, self.documents_path, row_group_size=chunk)
        ids = sorted(queries, key=str.encode)
        pq.write_table(
            pa.table({"query_id": ids, "text": pa.array([queries[name] for name in ids], pa.large_string())}), self.queries_path
        )
        if qrels is not None:
            rows = [(query, doc_id, grade) for query, grades in qrels.items() for doc_id, grade in grades.items()]
            columns = [list(column) for column in zip(*sorted(rows), strict=True)]
            pq.write_table(pa.table(columns, names=["query_id", "doc_id", "score"]), results / QRELS(dataset=dataset))
        self.chunks = -(-len(documents) // chunk)
        write_corpus_record(Path(self.documents_path).parent, results, chunks=self.chunks)
        self.corpus_path = str(results / CORPUS(dataset=dataset))
        self.corpus_paths = {"queries_path": self.queries_path, "documents_path": self.documents_path}

    def paths(self, system: str) -> dict[str, str]:
        """Run and record of a system."""
        names = {"system": system, "dataset": self.dataset}
        return {"run_path": str(self.results / RUN(**names)), "record_path": str(self.results / RUN_RECORD(**names))}

    def write_run(self, system: str, scores: Scores, **fields: Any) -> str:
        """A run of a system by the ranking rule, and its record; the path of the run."""
        paths = self.paths(system)
        Path(paths["run_path"]).parent.mkdir(parents=True, exist_ok=True)
        rows = ranked(scores)
        columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], [], []]
        pq.write_table(pa.table(columns, schema=RUN_COLUMNS), paths["run_path"])
        write_record(
            paths["record_path"],
            Job(self.results, f"made/{system}", "c0de"),
            inputs={path: file_digest(path) for path in self.corpus_paths.values()},
            outputs={paths["run_path"]: file_digest(paths["run_path"])},
            **{"made": {"python": "3"}, "seconds": {"search": 1.0}, "sizes": {"index": 5}, "counts": {}, **fields},
            system=system,
            dataset=self.dataset,
        )
        return paths["run_path"]

    def run(self, system: str) -> list[tuple[str, str, float, int]]:
        """The rows of a run."""
        return [tuple(row.values()) for row in pq.read_table(self.paths(system)["run_path"]).to_pylist()]


def ranked(scores: Scores, k: int | None = None) -> list[tuple[str, str, float, int]]:
    """Rows of a run: query, document, score and rank, by the ranking rule in plain Python."""
    rows = []
    for query in sorted(scores, key=str.encode):
        ids = sorted(scores[query], key=str.encode, reverse=True)
        ids.sort(key=lambda doc_id: -scores[query][doc_id])
        rows += [(query, doc_id, scores[query][doc_id], rank) for rank, doc_id in enumerate(ids[:k], 1)]
    return rows


def change_rows(path: str | Path, change: Any) -> None:
    """Rewrite a run with its rows changed by a function of the list of them."""
    table = pq.read_table(path)
    pq.write_table(pa.Table.from_pylist(change(table.to_pylist()), schema=table.schema), path)


def ids(count: int, prefix: str = "d") -> Sequence[str]:
    """That many ids."""
    return [f"{prefix}{number}" for number in range(count)]
