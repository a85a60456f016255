"""A file of the results that is not what was written never becomes a number: whoever reads it says so, and how to repair it."""

import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pyarrow.parquet as pq
import pytest

from beir_writer import write_beir
from beirflow.config.load import load_experiment
from beirflow.core import layout
from beirflow.core.errors import DataError
from results_maker import Here, all_rules, run_rules
from tiny_bert import save_tiny_bert
from workflow_runs import small_dataset, tiny_system, words

pytestmark = pytest.mark.usefixtures("threads_as_before")

CORPUS, DOCUMENTS, QUERIES = "corpora/{d}/corpus.json", "corpora/{d}/documents.parquet", "corpora/{d}/queries.parquet"
QUERY_VECTORS, VECTORS = "embeddings/{s}/{d}/queries.npy", "embeddings/{s}/{d}/chunk-1.npy"
MATCHES, REUSED, CANDIDATES = "corpora/more/shared.parquet", "embeddings/{s}/more/chunk-1.npy", "candidates/{s}/{d}/chunk-1.arrow"
RUN, METRICS, FORUM_METRICS = "runs/{s}/{d}.parquet", "metrics/{s}/{d}.json", "metrics/{s}/row-{d}.json"

READERS: dict[str, list[str]] = {
    CORPUS: [QUERY_VECTORS, VECTORS, MATCHES, CANDIDATES, RUN, METRICS],
    DOCUMENTS: [VECTORS, MATCHES, CANDIDATES, RUN],
    QUERIES: [QUERY_VECTORS, CANDIDATES, RUN],
    "corpora/{d}/qrels.parquet": [METRICS],
    MATCHES: [REUSED],
    "models/{s}.json": [QUERY_VECTORS, VECTORS, REUSED, CANDIDATES],
    QUERY_VECTORS: [CANDIDATES],
    "embeddings/{s}/{d}/queries.json": [CANDIDATES],
    VECTORS: [CANDIDATES, REUSED],
    "embeddings/{s}/{d}/chunk-1.json": [CANDIDATES, REUSED],
    CANDIDATES: [RUN],
    "candidates/{s}/{d}/chunk-1.json": [RUN],
    RUN: [METRICS, "runs/{s}/{d}.trec.gz"],
    "runs/{s}/{d}.json": [METRICS, "runs/{s}/{d}.trec.gz"],
    METRICS: ["summary.csv"],
    FORUM_METRICS: ["metrics/{s}/row.json"],
}
"""Every kind of file that a later step reads, and a file that each of these steps makes."""

SOME_BYTES_UNREAD = (DOCUMENTS, MATCHES)

REPAIR = re.compile(r" rm ([^\s;]+)")


class Finished(NamedTuple):
    """A folder of results with every file in place, and the job that makes each."""

    folder: Path
    system: str
    dataset: str
    jobs: Mapping[Path, SimpleNamespace]
    rules: Here

    def path(self, name: str) -> Path:
        """A file; ``{s}`` and ``{d}`` stand for the names of system and dataset."""
        return self.folder / name.format(s=self.system, d=self.dataset)

    def make(self, path: Path) -> None:
        """Make a file again, and those that its job makes with it."""
        self.rules.run(self.jobs[path])


def dataset(folder: Path, seed: int) -> Path:
    """Thirty documents of different lengths."""
    texts = {f"d{i:03}": words(seed + i, 3 + i % 17) for i in range(30)}
    return write_beir(
        folder,
        texts,
        {f"q{i}": words(seed + 900 + i, 5) for i in range(4)},
        {f"q{i}": {f"d{i:03}": 1 + bool(seed)} for i in range(4)},
    )


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Finished:
    """Results whose files tests may damage: there is a copy of them."""
    finished = finish(tmp_path_factory.mktemp("original"), tiny_bert, "tiny", "small", seed=0)
    shutil.copytree(finished.folder, finished.folder.with_name("whole"))
    return finished


@pytest.fixture(scope="session")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Another model on another corpus of the same size."""
    folder = tmp_path_factory.mktemp("foreign")
    return finish(folder, save_tiny_bert(folder / "model", seed=1), "other", "others", seed=5000)


def finish(folder: Path, model: Path, system: str, name: str, seed: int) -> Finished:
    """Results of one system on a dataset, one that has some of its texts, and one with the same texts as its only forum."""
    source, results = dataset(folder / "row" / name, seed), folder / "results"
    datasets = {
        name: {"path": str(source)},
        "more": {"path": str(small_dataset(folder / "more", 36)), "shares_texts_with": name},
        "row": {"path": str(source.parent), "forums": [name]},
    }
    own = {"systems": {system: tiny_system(model)}, "datasets": datasets}
    settings = {"precision": "float32", "device": "cpu", "chunk_documents": 10, "top_k": 20, "cutoffs": [1, 10, 20]}
    experiment = load_experiment({"systems": [system], "datasets": list(datasets), **settings, "custom": own})
    run_rules(results, experiment, [layout.SUMMARY, layout.TREC_RUN(system=system, dataset=name)])
    with all_rules(results, experiment) as rules:
        jobs = {path: rules.job(str(path.relative_to(results))) for path in results.rglob("*") if path.is_file()}
    return Finished(results, system, name, {path: job for path, job in jobs.items() if job}, rules)


@pytest.fixture
def results(original: Finished) -> Finished:
    """Whole results, which a test may damage."""
    shutil.rmtree(original.folder)
    shutil.copytree(original.folder.with_name("whole"), original.folder)
    return original


def flips(path: Path) -> list[int]:
    """Choose places for a flipped bit that everybody reads who reads the file."""
    size = path.stat().st_size
    if path.name != "documents.parquet":
        return [*range(0, size, max(1, size // 12)), size - 1]
    groups = pq.ParquetFile(path).metadata
    pages = groups.row_group(1).column(0)
    first = pages.data_page_offset
    footer = size - 8 - groups.serialized_size
    return [*range(first, first + pages.total_compressed_size, 17), *range(footer, size, 40), size - 1]


def refusal(results: Finished, made: str) -> str:
    """Give the message of a step that does not take a file."""
    with pytest.raises(DataError) as caught:
        results.make(results.path(made))
    return str(caught.value)


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_refused_by_every_step_that_reads_it(results: Finished, name: str) -> None:
    path = results.path(name)
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], whole[:-1], b"", b"garbage" * 100, b"{}", b"[" * 100_000):
        path.write_bytes(content)
        for made in READERS[name]:
            said = refusal(results, made)
            assert said.startswith(f"{path}: ")
            assert said.endswith(f"rm {path}")


@pytest.mark.parametrize("name", READERS)
def test_a_flipped_bit_is_refused_or_changes_nothing(results: Finished, name: str) -> None:
    """Nothing in bytes that nobody reads, such as the pages of another chunk."""
    path = results.path(name)
    whole = path.read_bytes()
    expected = outcome(results)
    for position in flips(path):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        for made in READERS[name]:
            with (
                pytest.raises(DataError, match=re.escape(f" rm {path}")) if name not in SOME_BYTES_UNREAD else suppress(DataError)
            ):
                results.make(results.path(made))
        path.write_bytes(whole)
        assert outcome(results) == expected


@pytest.mark.parametrize("with_record", [False, True])
@pytest.mark.parametrize("name", READERS)
def test_a_file_of_another_model_and_corpus_is_refused_and_the_commands_repair_it(
    results: Finished, foreign: Finished, name: str, with_record: bool
) -> None:
    """With its record, so that the two agree with each other. A command that changes nothing has another one behind it."""
    expected = outcome(results)
    for made in READERS[name]:
        for taken in [name, *([name.rpartition(".")[0] + ".json"] if with_record else [])]:
            if foreign.path(taken).exists():
                shutil.copy(foreign.path(taken), results.path(taken))
        said, removed, tried = refusal(results, made), list[Path](), set[str]()
        while said:
            command = next(command for command in REPAIR.findall(said) if command not in tried)
            tried.add(command)
            named = list(Path(command).parent.glob(Path(command).name))
            for path in named:
                path.unlink()
            removed = [*named, *removed]
            try:
                for path in removed:
                    if not path.exists():
                        results.make(path)
                results.make(results.path(made))
                said = ""
            except DataError as error:
                said = str(error)
    assert outcome(results) == expected


def outcome(results: Finished) -> dict[str, bytes]:
    """All files but those that hold times."""
    files = [
        path for path in results.folder.rglob("*") if path.suffix in (".parquet", ".npy", ".gz") or path.name == "corpus.json"
    ]
    return {str(path.relative_to(results.folder)): path.read_bytes() for path in files}
