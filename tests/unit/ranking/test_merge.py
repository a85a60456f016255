"""The merged run of many chunks is the run of one chunk, row by row."""

import resource
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import steps
from beir_writer import write_corpus_record
from beirflow.core import layout
from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.core.layout import record_of
from beirflow.core.records import Job, read_json, write_json, write_record
from beirflow.families.dense.search import search_chunk
from beirflow.ranking import merge
from beirflow.ranking.searched import Retrieval

Row = tuple[str, str, float, int]


class Corpus:
    """Documents and queries with vectors, and their runs in a folder."""

    def __init__(self, folder: Path, documents: dict[str, list[float]], queries: dict[str, list[float]]) -> None:
        self.folder, self.documents, self.job = folder, documents, Job(folder, "merge_chunks/toy/here", "c0de")
        self.queries = {name: queries[name] for name in sorted(queries, key=str.encode)}
        pq.write_table(pa.table({"query_id": pa.array(self.queries, pa.string())}), folder / "queries.parquet")
        write_record(folder / "model.json", Job(folder), inputs={}, outputs={})
        self.made = {"precision": "float32", "device": "cpu", "torch": "2"}
        self.store_queries()

    def store_queries(self) -> None:
        """Vectors of the queries, as they would be encoded now."""
        self._store("queries", list(self.queries.values()), "queries.parquet", "queries")

    def _store(self, name: str, vectors: list[list[float]], source: str, stage: str) -> None:
        dim = len(next(iter(self.documents.values())))
        path = self.folder / f"{name}.npy"
        np.save(path, np.array(vectors, np.float32).reshape(-1, dim))
        write_record(
            path.with_suffix(".json"),
            Job(self.folder, f"encode/{name}"),
            inputs={self.folder / name: file_digest(self.folder / name) for name in ("model.json", source)},
            outputs={path: file_digest(path)},
            made=self.made,
            seconds={"load": 1.0, stage: 2.0},
            sizes={stage: 1000},
            counts={"tokens": 10 * len(vectors), f"truncated_{stage.replace('index', 'documents')}": 1},
            system="toy",
        )

    def retrieve(self, chunks: list[list[str]], k: int, threads: int = 1) -> dict[str, Any]:
        """Search chunks of document ids; the arguments to merge what is found."""
        paths = self.deal(chunks)
        for number, chunk in enumerate(chunks):
            self.search(paths, number, chunk, k, threads)
        return {
            "queries": paths["queries_path"],
            "documents": paths["documents_path"],
            "system": "toy",
            "dataset": "here",
            "candidates": [self.candidates(number) for number in range(len(chunks))],
            "top_k": k,
            "run_settings": {"similarity": "dot"},
        }

    def candidates(self, number: int) -> str:
        """The candidates of a chunk."""
        return str(self.folder / layout.CANDIDATES(system="toy", dataset="here", chunk=number))

    def merge(self, arguments: dict[str, Any]) -> pa.Table:
        """Merge what was found; the run."""
        outputs = [str(self.folder / name) for name in ("run.parquet", "run.json")]
        steps.run(merge.merge_chunks, self.job, outputs, **arguments)
        return pq.read_table(outputs[0])

    def record(self) -> dict[str, Any]:
        """The record of the run."""
        return read_json(self.folder / "run.json")

    def deal(self, chunks: list[list[str]]) -> dict[str, str]:
        """Write the documents in chunks; the paths of queries and documents."""
        documents = str(self.folder / "documents.parquet")
        with pq.ParquetWriter(documents, pa.schema([("doc_id", pa.string())])) as writer:
            for chunk in chunks:
                writer.write_table(pa.table({"doc_id": pa.array(chunk, pa.string())}), row_group_size=max(1, len(chunk)))
        write_corpus_record(self.folder)
        return {"queries_path": str(self.folder / "queries.parquet"), "documents_path": documents}

    def search(self, paths: dict[str, str], number: int, chunk: list[str], k: int, threads: int = 1) -> None:
        """Encode a chunk and search it."""
        self._store(f"chunk-{number}", [self.documents[doc_id] for doc_id in chunk], "documents.parquet", "index")
        steps.run(
            search_chunk,
            Job(self.folder, f"search_chunk/{number}", "5ea4c4"),
            [self.candidates(number), str(layout.record_of(self.candidates(number)))],
            model=str(self.folder / "model.json"),
            query_vectors=str(self.folder / "queries.npy"),
            chunk_vectors=str(self.folder / f"chunk-{number}.npy"),
            chunk=number,
            similarity="dot",
            retrieval=Retrieval(k, drop_self_matches=True),
            device="cpu",
            threads=threads,
            **{name.removesuffix("_path"): path for name, path in paths.items()},
        )

    def run(self, chunks: list[list[str]], k: int) -> pa.Table:
        return self.merge(self.retrieve(chunks, k))

    def brute_force(self, k: int) -> list[Row]:
        """Scores by Python, sorted as the rule reads."""
        rows: list[Row] = []
        for query_id, query in self.queries.items():
            scores = {
                name: float(np.float32(np.dot(query, vector))) for name, vector in self.documents.items() if name != query_id
            }
            best = sorted(scores, key=lambda name: (scores[name], name.encode()), reverse=True)[:k]
            rows += [(query_id, name, scores[name], place) for place, name in enumerate(best, start=1)]
        return rows


def rows_of(run: pa.Table) -> list[Row]:
    return list(zip(*(column.to_pylist() for column in run), strict=True))


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    """50 documents with 10 different vectors, so that nearly every cut goes through a tie; three ids are queries as well."""
    rng = np.random.default_rng(3)
    vectors = rng.integers(-2, 3, (10, 3)).astype(float)
    documents = {f"d{i}" if i % 3 else f"é{i}": vectors[i % 10].tolist() for i in rng.permutation(50)}
    queries = {name: rng.integers(-2, 3, 3).astype(float).tolist() for name in ["q", "Q", "é0", "d1", "q10", "q2", "d2", "Ж"]}
    return Corpus(tmp_path, documents, queries)


def dealt(names: list[str], chunks: int) -> list[list[str]]:
    return [names[number::chunks] for number in range(chunks)]


@pytest.mark.parametrize("block", [1, 8])
def test_the_run_does_not_depend_on_blocks(corpus: Corpus, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(merge, "RUN_ROWS", block)
    monkeypatch.setattr(merge, "CANDIDATES", block)
    run = corpus.run(dealt(list(corpus.documents), 3), 9)
    assert rows_of(run) == corpus.brute_force(9)


def test_more_chunks_than_files_may_be_open_are_merged(corpus: Corpus) -> None:
    arguments = corpus.retrieve(dealt(list(corpus.documents), 30), 5)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(list(Path("/dev/fd").iterdir())) + 20, hard))
    try:
        run = corpus.merge(arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert rows_of(run) == corpus.brute_force(5)


def test_the_record_names_what_the_run_was_made_from(corpus: Corpus) -> None:
    corpus.merge(corpus.retrieve(dealt(list(corpus.documents), 2), 4))
    record = corpus.record()
    seconds = record.pop("seconds")
    assert (seconds["load"], seconds["queries"], seconds["index"]) == (3, 2, 4)
    assert list(seconds) == ["load", "queries", "index", "search", "merge"]
    assert min(seconds.values()) > 0
    expected = {
        "system": "toy",
        "dataset": "here",
        "top_k": 4,
        "settings": {"similarity": "dot"},
        "ties": "descending",
        "jobs": ["encode/chunk-0", "encode/chunk-1", "encode/queries", "search_chunk/0", "search_chunk/1"],
        "made": {**corpus.made, "search_code": "5ea4c4"},
        "bytes": {"queries": 1000, "index": 2000},
        "counts": {"tokens": 10 * (8 + 50), "truncated_queries": 1, "truncated_documents": 2, "self_matches_dropped": 3},
    }
    assert {key: record[key] for key in expected} == expected
    vectors = {f"{name}.{kind}" for name in ("queries", "chunk-0", "chunk-1") for kind in ("npy", "json")}
    assert set(record["inputs"]) == {"model.json", "queries.parquet", "documents.parquet", *vectors}


@pytest.fixture
def arguments(corpus: Corpus) -> dict[str, Any]:
    """The arguments to merge three chunks, cut at 4."""
    return corpus.retrieve(dealt(list(corpus.documents), 3), 4)


def rewrite(path: str, **changes: Any) -> None:
    """Write a record of candidates that says something else of where they come from."""
    write_json(record_of(path), read_json(record_of(path)) | changes)


def refused(corpus: Corpus, arguments: dict[str, Any]) -> str:
    """Give the error of candidates that cannot be merged; nothing is written then."""
    with pytest.raises(DataError) as caught:
        corpus.merge(arguments)
    assert not list(corpus.folder.glob("run.*"))
    return str(caught.value)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"top_k": 5}, "it was made from the top_k 5, but 4 is used here"),
        ({"ties": "ascending"}, "it was made from the ties ascending, but descending is used here"),
    ],
)
def test_candidates_of_something_else_are_refused_with_the_command_that_helps(
    corpus: Corpus, arguments: dict[str, Any], changes: dict[str, Any], says: str
) -> None:
    odd = arguments["candidates"][1]
    rewrite(odd, **changes)
    said = refused(corpus, arguments)
    assert said.startswith(f"{record_of(odd)}: {says}")
    assert said.endswith(f"rm {record_of(odd)}")


@pytest.mark.parametrize("given", [[0, 1], [0, 2, 1], [0, 1, 1]])
def test_candidates_of_other_chunks_than_the_corpus_has_are_refused(
    corpus: Corpus, arguments: dict[str, Any], given: list[int]
) -> None:
    arguments["candidates"] = [arguments["candidates"][number] for number in given]
    chunks = ", ".join(map(str, given))
    said = f"{arguments['documents']}: 3 chunks, but candidates of the chunks {chunks}; search all chunks again"
    assert refused(corpus, arguments) == said


def test_what_chunks_share_is_counted_once_whatever_found_the_candidates(corpus: Corpus, arguments: dict[str, Any]) -> None:
    """A family without vectors and without records of its own: its run says what it was found in and how long that took."""
    for path in arguments["candidates"]:
        found = read_json(record_of(path))["inputs"]
        inputs = {name: found[name] for name in ("queries.parquet", "documents.parquet")}
        counts = {"self_matches_dropped": 1}
        rewrite(path, inputs=inputs, sources={}, seconds={"search": 0.5}, made={}, counts=counts, code="c", job="j")
    corpus.merge(arguments)
    record = corpus.record()
    assert record["inputs"] == inputs
    assert (record["made"], record.get("bytes"), record["jobs"]) == ({"search_code": "c"}, {}, ["j"])
    assert record["counts"] == {"self_matches_dropped": 3}
    assert (set(record["seconds"]), record["seconds"]["search"]) == ({"search", "merge"}, 1.5)


@settings(max_examples=15)
@given(st.data())
def test_any_corpus_in_any_chunks_has_the_run_of_brute_force(data: st.DataObject) -> None:
    ids = st.text("aZé1Ж", min_size=1, max_size=3)
    vectors = st.sampled_from([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.5], [0.0, 0.0]])
    documents = data.draw(st.dictionaries(ids, vectors, min_size=1, max_size=25))
    queries = data.draw(st.dictionaries(ids, vectors, min_size=1, max_size=4))
    k = data.draw(st.integers(1, 6))
    chunk_of = data.draw(st.lists(st.integers(0, 3), min_size=len(documents), max_size=len(documents)))
    chunks = [[name for name, chunk in zip(documents, chunk_of, strict=True) if chunk == number] for number in range(4)]
    with tempfile.TemporaryDirectory() as folder:
        corpus = Corpus(Path(folder), documents, queries)
        assert rows_of(corpus.run(chunks, k)) == corpus.brute_force(k)
