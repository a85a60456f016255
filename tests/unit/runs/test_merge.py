"""The merged run of many chunks is the run of one chunk, row by row."""

import resource
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from beir_writer import write_corpus_record
from beirflow.dense import merge
from beirflow.dense.search import search_chunk
from beirflow.files.digests import file_digest
from beirflow.files.errors import DataError
from beirflow.files.records import read_json, write_json
from beirflow.runs.run_file import RUN
from hypothesis import given, settings
from hypothesis import strategies as st

Row = tuple[str, str, float, int]


class Corpus:
    """Documents and queries with vectors, and their runs in a folder."""

    def __init__(self, folder: Path, documents: dict[str, list[float]], queries: dict[str, list[float]]) -> None:
        self.folder, self.documents = folder, documents
        self.queries = {name: queries[name] for name in sorted(queries, key=str.encode)}
        pq.write_table(pa.table({"query_id": pa.array(self.queries, pa.string())}), folder / "queries.parquet")
        write_json(folder / "model.json", {})
        self._store("queries", list(self.queries.values()), "queries.parquet")

    def _store(self, name: str, vectors: list[list[float]], source: str, **changes: Any) -> None:
        dim = len(next(iter(self.documents.values())))
        np.save(self.folder / f"{name}.npy", np.array(vectors, np.float32).reshape(-1, dim))
        record = {
            "system": "toy",
            "precision": "float32",
            "dim": dim,
            "device": "cpu",
            "torch": "2",
            "transformers": "5",
            "tokens": 10 * len(vectors),
            "rows": len(vectors),
            "truncated_texts": 1,
            "seconds": {"load": 1.0, "encode": 2.0},
            "sha256": file_digest(self.folder / f"{name}.npy"),
            "from_sha256": {"model": file_digest(self.folder / "model.json"), source: file_digest(self.folder / source)},
        }
        write_json(self.folder / f"{name}.json", record | changes)

    def retrieve(self, chunks: list[list[str]], k: int, threads: int = 1) -> dict[str, Any]:
        """Search chunks of document ids; the arguments to merge what is found."""
        documents = str(self.folder / "documents.parquet")
        with pq.ParquetWriter(documents, pa.schema([("doc_id", pa.string())])) as writer:
            for chunk in chunks:
                writer.write_table(pa.table({"doc_id": pa.array(chunk, pa.string())}), row_group_size=max(1, len(chunk)))
        write_corpus_record(self.folder)
        paths: dict[str, Any] = {
            "system": "toy",
            "queries_path": str(self.folder / "queries.parquet"),
            "documents_path": documents,
            "model_path": str(self.folder / "model.json"),
        }
        for number, chunk in enumerate(chunks):
            self._store(f"chunk-{number}", [self.documents[doc_id] for doc_id in chunk], "documents.parquet")
            search_chunk(
                chunk=number,
                query_vectors_path=str(self.folder / "queries.npy"),
                chunk_vectors_path=str(self.folder / f"chunk-{number}.npy"),
                output_path=str(self.folder / f"chunk-{number}.npz"),
                similarity="dot",
                top_k=k,
                drop_self_matches=True,
                device="cpu",
                threads=threads,
                **paths,
            )
        return paths | {
            "candidate_paths": [str(self.folder / f"chunk-{number}.npz") for number in range(len(chunks))],
            "query_record_path": str(self.folder / "queries.json"),
            "chunk_record_paths": [str(self.folder / f"chunk-{number}.json") for number in range(len(chunks))],
            "top_k": k,
            "run_path": str(self.folder / "run.parquet"),
            "record_path": str(self.folder / "run.json"),
        }

    def run(self, chunks: list[list[str]], k: int) -> pa.Table:
        arguments = self.retrieve(chunks, k)
        merge.merge_chunks(**arguments)
        return pq.read_table(arguments["run_path"])

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


@pytest.mark.parametrize("k", [1, 13, 1000])
@pytest.mark.parametrize("chunks", [2, 7, 53])
def test_the_run_of_many_chunks_is_the_run_of_one(corpus: Corpus, chunks: int, k: int) -> None:
    names = list(corpus.documents)
    one = corpus.run([names], k)
    assert rows_of(one) == corpus.brute_force(k)
    assert corpus.run(dealt(names[::-1], chunks), k).equals(one)


def test_rows_are_sorted_by_query_in_byte_order_and_rank_from_1(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge, "RUN_ROWS", 3)
    run = corpus.run(dealt(list(corpus.documents), 4), 5)
    assert run.schema == RUN
    expected = [(name, rank) for name in ["Q", "d1", "d2", "q", "q10", "q2", "é0", "Ж"] for rank in range(1, 6)]
    assert list(zip(run["query_id"].to_pylist(), run["rank"].to_pylist(), strict=True)) == expected


@pytest.mark.parametrize("block", [1, 7, 8, 9])
def test_the_run_does_not_depend_on_blocks(corpus: Corpus, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(merge, "RUN_ROWS", block)
    monkeypatch.setattr(merge, "CANDIDATES", block)
    assert rows_of(corpus.run(dealt(list(corpus.documents), 3), 9)) == corpus.brute_force(9)


def test_more_chunks_than_files_may_be_open_are_merged(corpus: Corpus) -> None:
    arguments = corpus.retrieve(dealt(list(corpus.documents), 50), 5)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(list(Path("/dev/fd").iterdir())) + 20, hard))
    try:
        merge.merge_chunks(**arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert rows_of(pq.read_table(arguments["run_path"])) == corpus.brute_force(5)


@pytest.mark.parametrize("candidates", [1, 1000])
def test_ties_across_chunks_are_ranked_by_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, candidates: int) -> None:
    monkeypatch.setattr(merge, "CANDIDATES", candidates)
    corpus = Corpus(tmp_path, {name: [1.0] for name in "abcd"}, {"q": [0.5]})
    run = corpus.run([["a", "d"], ["c"], ["b"]], 3)
    assert rows_of(run) == [("q", "d", 0.5, 1), ("q", "c", 0.5, 2), ("q", "b", 0.5, 3)]


def test_a_query_without_candidates_has_no_row(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, {"only": [1.0]}, {"a": [2.0], "only": [2.0], "z": [3.0]})
    assert rows_of(corpus.run([["only"]], 10)) == [("a", "only", 2.0, 1), ("z", "only", 3.0, 1)]


def test_a_run_without_any_hit_is_an_empty_table(tmp_path: Path) -> None:
    run = Corpus(tmp_path, {"only": [1.0]}, {"only": [2.0]}).run([["only"]], 10)
    assert (run.num_rows, run.schema) == (0, RUN)


def test_repetition_and_threads_change_no_byte(corpus: Corpus) -> None:
    chunks = dealt(list(corpus.documents), 5)
    written = []
    for threads in (1, 2):
        arguments = corpus.retrieve(chunks, 20, threads)
        merge.merge_chunks(**arguments)
        written.append(Path(arguments["run_path"]).read_bytes())
    assert written[0] == written[1]


def test_the_record_names_what_the_run_was_made_from(corpus: Corpus) -> None:
    arguments = corpus.retrieve(dealt(list(corpus.documents), 2), 4)
    merge.merge_chunks(**arguments)
    record = read_json(arguments["record_path"])
    assert record["sha256"] == file_digest(arguments["run_path"])
    assert record["from_sha256"] == {
        **{name: file_digest(corpus.folder / name) for name in ("queries.parquet", "documents.parquet")},
        "model": file_digest(corpus.folder / "model.json"),
        "queries.npy": file_digest(corpus.folder / "queries.npy"),
        "chunks": [file_digest(corpus.folder / f"chunk-{number}.npy") for number in range(2)],
        "queries.json": file_digest(corpus.folder / "queries.json"),
        "chunk records": [file_digest(corpus.folder / f"chunk-{number}.json") for number in range(2)],
    }
    assert (record["system"], record["precision"], record["top_k"], record["self_matches_dropped"]) == ("toy", "float32", 4, 3)
    assert (record["tokens"], record["truncated_documents"]) == (10 * 50, 2)
    assert (record["seconds"]["load"], record["seconds"]["encode_queries"], record["seconds"]["encode_documents"]) == (3, 2, 4)


def test_the_record_counts_what_was_taken_over_and_names_what_that_was_made_with(corpus: Corpus) -> None:
    arguments = corpus.retrieve(dealt(list(corpus.documents), 3), 4)
    merge.merge_chunks(**arguments)
    assert read_json(arguments["record_path"])["documents_taken_over"] == 0
    for number, made in enumerate([{"device": [], "torch": [], "transformers": []}, {"device": ["H200"], "torch": ["1", "3"]}]):
        path = Path(arguments["chunk_record_paths"][number])
        write_json(path, read_json(path) | {"taken_over": {"documents": 5 * number + 2, **made}})
    merge.merge_chunks(**arguments)
    record = read_json(arguments["record_path"])
    assert record["documents_taken_over"] == 2 + 7
    assert (record["devices"], record["torch"], record["transformers"]) == (["H200", "cpu"], ["1", "2", "3"], ["5"])


@pytest.mark.parametrize(
    "change",
    [
        {"precision": "bfloat16"},
        {"system": "other"},
        {"from_sha256": {"model": "other"}},
        {"from_sha256": {"documents.parquet": "another version"}},
    ],
)
def test_chunks_that_were_encoded_differently_are_refused_by_name(corpus: Corpus, change: dict[str, Any]) -> None:
    arguments = corpus.retrieve(dealt(list(corpus.documents), 3), 4)
    odd = Path(arguments["chunk_record_paths"][1])
    record = read_json(odd)
    from_sha256 = record["from_sha256"] | change.get("from_sha256", {})
    write_json(odd, record | change | {"from_sha256": from_sha256})
    with pytest.raises(DataError) as caught:
        merge.merge_chunks(**arguments)
    assert str(caught.value).startswith(f"{odd}: ")
    assert f"rm {odd.parent}/" in str(caught.value)
    assert not Path(arguments["run_path"]).exists()


def test_vectors_of_another_number_of_documents_are_refused(corpus: Corpus) -> None:
    arguments = corpus.retrieve(dealt(list(corpus.documents), 3), 4)
    odd = Path(arguments["chunk_record_paths"][1])
    write_json(odd, read_json(odd) | {"rows": 4})
    with pytest.raises(DataError, match=r"documents\.parquet: chunks of .* but vectors for .*; delete the vectors"):
        merge.merge_chunks(**arguments)


def test_vectors_of_fewer_chunks_than_the_corpus_has_are_refused(corpus: Corpus) -> None:
    arguments = corpus.retrieve(dealt(list(corpus.documents), 3), 4)
    for name in ("candidate_paths", "chunk_record_paths"):
        arguments[name] = arguments[name][:1]
    with pytest.raises(DataError, match="but vectors for"):
        merge.merge_chunks(**arguments)
    assert not Path(arguments["run_path"]).exists()


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_corpus_in_any_chunks_has_the_run_of_brute_force(data: st.DataObject) -> None:
    ids = st.text("aZé1Ж", min_size=1, max_size=3)
    vectors = st.sampled_from([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.5], [0.0, 0.0]])
    documents = data.draw(st.dictionaries(ids, vectors, min_size=1, max_size=25))
    queries = data.draw(st.dictionaries(ids, vectors, min_size=1, max_size=4))
    k = data.draw(st.integers(1, 6))
    chunk_of = data.draw(st.lists(st.integers(0, 4), min_size=len(documents), max_size=len(documents)))
    chunks = [[name for name, chunk in zip(documents, chunk_of, strict=True) if chunk == number] for number in range(5)]
    with tempfile.TemporaryDirectory() as folder:
        corpus = Corpus(Path(folder), documents, queries)
        assert rows_of(corpus.run(chunks, k)) == corpus.brute_force(k)
