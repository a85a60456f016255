"""The merged run of many chunks is the run of one chunk, row by row."""

import re
import resource
import tempfile
from collections.abc import Callable
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
from beirflow.data.corpus_files import Documents
from beirflow.families.dense.search import search_chunk
from beirflow.ranking import merge
from beirflow.ranking.run_file import RUN
from by_name import call
from lexical_results import damage

Row = tuple[str, str, float, int]


class Corpus:
    """Documents and queries with vectors, and their runs in a folder."""

    def __init__(self, folder: Path, documents: dict[str, list[float]], queries: dict[str, list[float]]) -> None:
        self.folder, self.documents, self.job = folder, documents, Job(folder, "merge_chunks/toy/here", "c0de")
        self.queries = {name: queries[name] for name in sorted(queries, key=str.encode)}
        pq.write_table(pa.table({"query_id": pa.array(self.queries, pa.string())}), folder / "queries.parquet")
        write_json(folder / "model.json", {})
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
        call(
            search_chunk,
            system="toy",
            model_path=str(self.folder / "model.json"),
            chunk=number,
            query_vectors_path=str(self.folder / "queries.npy"),
            chunk_vectors_path=str(self.folder / f"chunk-{number}.npy"),
            output_path=self.candidates(number),
            similarity="dot",
            top_k=k,
            drop_self_matches=True,
            job=Job(self.folder, f"search_chunk/{number}", "5ea4c4"),
            device="cpu",
            threads=threads,
            **paths,
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


def test_ids_are_read_a_chunk_at_a_time(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a hundred million documents are longer than 2 GiB, which no array of strings holds."""
    read, arguments = [], corpus.retrieve(dealt(list(corpus.documents), 3), 5)
    whole = Documents.read
    monkeypatch.setattr(Documents, "read", lambda file, chunks, *columns: read.append(chunks) or whole(file, chunks, *columns))
    corpus.merge(arguments)
    assert read == [[0], [1], [2]]


def test_more_chunks_than_files_may_be_open_are_merged(corpus: Corpus) -> None:
    arguments = corpus.retrieve(dealt(list(corpus.documents), 30), 5)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(list(Path("/dev/fd").iterdir())) + 20, hard))
    try:
        run = corpus.merge(arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert rows_of(run) == corpus.brute_force(5)


def test_repetition_and_threads_change_no_byte(corpus: Corpus) -> None:
    chunks = dealt(list(corpus.documents), 5)
    written = []
    for threads in (1, 2):
        corpus.merge(corpus.retrieve(chunks, 20, threads))
        written.append((corpus.folder / "run.parquet").read_bytes())
    assert written[0] == written[1]


def test_the_record_names_what_the_run_was_made_from(corpus: Corpus) -> None:
    corpus.merge(corpus.retrieve(dealt(list(corpus.documents), 2), 4))
    record = corpus.record()
    seconds = record.pop("seconds")
    assert (seconds["load"], seconds["queries"], seconds["index"]) == (3, 2, 4)
    assert list(seconds) == ["load", "queries", "index", "search", "merge"]
    assert min(seconds.values()) > 0
    names = [f"{name}.{kind}" for name in ("queries", "chunk-0", "chunk-1") for kind in ("npy", "json")]
    assert record == {
        "path": "run.json",
        "system": "toy",
        "dataset": "here",
        "top_k": 4,
        "settings": {"similarity": "dot"},
        "ties": "descending",
        "jobs": ["encode/chunk-0", "encode/chunk-1", "encode/queries", "search_chunk/0", "search_chunk/1"],
        "made": {**corpus.made, "search_code": "5ea4c4"},
        "bytes": {"queries": 1000, "index": 2000},
        "counts": {"tokens": 10 * (8 + 50), "truncated_queries": 1, "truncated_documents": 2, "self_matches_dropped": 3},
        "inputs": {
            name: file_digest(corpus.folder / name) for name in ("model.json", "queries.parquet", "documents.parquet", *names)
        },
        "outputs": {"run.parquet": file_digest(corpus.folder / "run.parquet")},
        "job": "merge_chunks/toy/here",
        "code": "c0de",
        "format": 1,
    }


@pytest.fixture
def arguments(corpus: Corpus) -> dict[str, Any]:
    """The arguments to merge three chunks, cut at 4."""
    return corpus.retrieve(dealt(list(corpus.documents), 3), 4)


def rewrite(path: str, **changes: Any) -> None:
    """Write a record of candidates that says something else of where they come from."""
    write_json(record_of(path), read_json(record_of(path)) | changes)


def test_the_record_counts_what_was_reused_and_names_all_that_vectors_were_made_with(
    corpus: Corpus, arguments: dict[str, Any]
) -> None:
    corpus.merge(arguments)
    assert "documents_reused" not in corpus.record()["counts"]
    for number, made in enumerate([{}, {"device": ["H200", "cpu"], "torch": ["1", "3"]}]):
        path = corpus.folder / f"chunk-{number}.json"
        record = read_json(path)
        write_json(path, record | {"made": record["made"] | made, "counts": {"documents_reused": 5 * number + 2}})
        found = read_json(record_of(arguments["candidates"][number]))
        source = {key: read_json(path)[key] for key in ("made", "counts")}
        changes = {
            "inputs": {**found["inputs"], path.name: file_digest(path)},
            "sources": {**found["sources"], path.name: source},
            "made": {"search": number},
        }
        rewrite(arguments["candidates"][number], **changes)
    corpus.merge(arguments)
    record = corpus.record()
    assert record["counts"]["documents_reused"] == 2 + 7
    several = {"device": ["H200", "cpu"], "torch": ["1", "2", "3"], "search": [0, 1]}
    assert record["made"] == {**corpus.made, **several, "search_code": "5ea4c4"}


def another_precision(corpus: Corpus) -> None:
    corpus.made = {**corpus.made, "precision": "bfloat16"}
    corpus.store_queries()


def another_model(corpus: Corpus) -> None:
    write_json(corpus.folder / "model.json", {"model": "another"})
    corpus.store_queries()


def other_queries(corpus: Corpus) -> None:
    corpus.queries = {name: vector[::-1] for name, vector in corpus.queries.items()}
    corpus.store_queries()


@pytest.mark.parametrize("change", [another_precision, another_model, other_queries])
def test_chunks_that_were_searched_with_other_vectors_are_refused_by_name(
    corpus: Corpus, change: Callable[[Corpus], None]
) -> None:
    """One chunk is encoded and searched again after a change that each chunk by itself agrees with."""
    chunks = dealt(list(corpus.documents), 3)
    arguments = corpus.retrieve(chunks, 4)
    change(corpus)
    paths = {f"{name}_path": arguments[name] for name in ("queries", "documents")}
    corpus.search(paths, 1, chunks[1], 4)
    records = [str(record_of(path)) for path in arguments["candidates"]]
    assert refused(corpus, arguments).startswith(f"{records[0]}: it was made from the queries.")
    (corpus.folder / "queries.json").unlink()  # what is stored of texts may be deleted
    assert re.match(rf"{re.escape(records[1])}: it was made from the (queries|model)\.", refused(corpus, arguments))


def refused(corpus: Corpus, arguments: dict[str, Any]) -> str:
    """Give the error of candidates that cannot be merged; nothing is written then."""
    with pytest.raises(DataError) as caught:
        corpus.merge(arguments)
    assert not list(corpus.folder.glob("run.*"))
    return str(caught.value)


ZEROS = "0" * 64


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"top_k": 5}, "it was made from the top_k 5, but 4 is used here"),
        ({"ties": "ascending"}, "it was made from the ties ascending, but descending is used here"),
        *(
            ({name: ZEROS}, f"it was made from the {name} {ZEROS}, but ")
            for name in ("documents.parquet", "queries.parquet", "queries.npy", "queries.json")
        ),
    ],
)
def test_candidates_of_something_else_are_refused_with_the_command_that_helps(
    corpus: Corpus, arguments: dict[str, Any], changes: dict[str, Any], says: str
) -> None:
    odd = arguments["candidates"][1]
    if ZEROS in changes.values():
        changes = {"inputs": {**read_json(record_of(odd))["inputs"], **changes}}
    rewrite(odd, **changes)
    said = refused(corpus, arguments)
    assert said.startswith(f"{record_of(odd)}: {says}")
    assert said.endswith(f"rm {record_of(odd)}")


def test_candidates_of_another_chunk_or_system_are_refused(corpus: Corpus, arguments: dict[str, Any]) -> None:
    odd, other = (Path(arguments["candidates"][number]) for number in (1, 2))
    whole = {path: path.read_bytes() for path in (odd, record_of(odd))}
    for path, of in ((odd, other), (record_of(odd), record_of(other))):
        path.write_bytes(of.read_bytes())
    assert refused(corpus, arguments).startswith(f"{odd}: its record is candidates/toy/here/chunk-2.json, which does not name it")
    for path, content in whole.items():
        path.write_bytes(content)
    record, named = read_json(record_of(odd)), "candidates/other/here/chunk-1"
    write_json(record_of(odd), record | {"path": f"{named}.json", "outputs": {f"{named}.arrow": file_digest(odd)}})
    assert refused(corpus, arguments).startswith(f"{record_of(odd)}: it is the record {named}.json")


@pytest.mark.parametrize("kind", [".arrow", ".json"])
def test_candidates_that_were_damaged_are_refused(corpus: Corpus, arguments: dict[str, Any], kind: str) -> None:
    path = Path(arguments["candidates"][1]).with_suffix(kind)
    damage(path)
    said = refused(corpus, arguments)
    assert said.startswith(f"{path}: ")
    assert said.endswith(f"rm {path}")


def test_candidates_of_another_corpus_are_refused_whatever_is_left_of_it(corpus: Corpus) -> None:
    names = list(corpus.documents)
    arguments = corpus.retrieve(dealt(names, 3), 4)
    corpus.deal(dealt(names[::-1], 3))
    for kind in ("npy", "json"):
        for path in corpus.folder.glob(f"chunk-*.{kind}"):
            path.unlink()
    found = refused(corpus, arguments)
    assert found.startswith(f"{record_of(arguments['candidates'][0])}: it was made from the documents.parquet ")


def test_vectors_that_were_encoded_again_since_the_search_are_refused(corpus: Corpus, arguments: dict[str, Any]) -> None:
    """Their record is another, if only for its times."""
    path = corpus.folder / "chunk-1.json"
    write_json(path, read_json(path) | {"seconds": {"load": 9.0, "index": 9.0}})
    found = refused(corpus, arguments)
    assert found.startswith(f"{record_of(arguments['candidates'][1])}: it was made from the chunk-1.json ")


@pytest.mark.parametrize("given", [[0], [0, 1], [0, 1, 2, 0], [0, 2, 1], [0, 1, 1]])
def test_candidates_of_other_chunks_than_the_corpus_has_are_refused(
    corpus: Corpus, arguments: dict[str, Any], given: list[int]
) -> None:
    arguments["candidates"] = [arguments["candidates"][number] for number in given]
    chunks = ", ".join(map(str, given))
    said = f"{arguments['documents']}: 3 chunks, but candidates of the chunks {chunks}; search all chunks again"
    assert refused(corpus, arguments) == said


def test_vectors_need_not_be_there(corpus: Corpus, arguments: dict[str, Any]) -> None:
    """The merge reads candidates, queries and documents alone."""
    for path in [*corpus.folder.glob("*.npy"), *corpus.folder.glob("chunk-*.json"), *corpus.folder.glob("model.json")]:
        path.unlink()
    assert rows_of(corpus.merge(arguments)) == corpus.brute_force(4)


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
