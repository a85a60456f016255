"""A file of the results that is not what was written never becomes a number: whoever reads it says so, and how to repair it."""

import re
import shutil
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from beir_writer import write_beir
from beirflow.files.errors import DataError
from step_by_step import Results
from tiny_bert import save_tiny_bert
from workflow_runs import small_dataset, words

pytestmark = pytest.mark.usefixtures("threads_as_before")

READERS: dict[str, list[str]] = {
    "corpora/{d}/corpus.json": ["encode queries", "encode 1", "match", "search 1", "merge", "evaluate"],
    "corpora/{d}/documents.parquet": ["encode 1", "match", "search 1", "merge"],
    "corpora/{d}/queries.parquet": ["encode queries", "search 1", "merge"],
    "corpora/{d}/qrels.parquet": ["evaluate"],
    "corpora/more/shared.parquet": ["reuse"],
    "models/{s}.json": ["encode queries", "encode 1", "reuse", "search 1"],
    "embeddings/{s}/{d}/queries.npy": ["search 1"],
    "embeddings/{s}/{d}/queries.json": ["search 1"],
    "embeddings/{s}/{d}/chunk-1.npy": ["search 1", "reuse"],
    "embeddings/{s}/{d}/chunk-1.json": ["search 1", "reuse"],
    "candidates/{s}/{d}/chunk-1.npz": ["merge"],
    "runs/{s}/{d}.parquet": ["evaluate", "trec"],
    "runs/{s}/{d}.json": ["evaluate", "trec"],
    "metrics/{s}/{d}.json": ["average", "summarize"],
}
"""Every kind of file that a later step reads, and the steps that do."""

SOME_BYTES_UNREAD = ("corpora/{d}/documents.parquet", "corpora/more/shared.parquet", "candidates/{s}/{d}/chunk-1.npz")

REPAIR = re.compile(r" rm ([^\s;]+)")

MAKERS = {
    "corpora/{d}/": "prepare {d}",
    "corpora/more/shared": "match",
    "models/": "fetch",
    "embeddings/{s}/{d}/queries": "encode queries",
    "embeddings/{s}/{d}/chunk-?": "encode ?",
    "candidates/": "search ?",
    "runs/": "merge",
    "metrics/": "evaluate",
}
"""The step that makes a file, by the beginning of its name."""


class Finished(Results):
    """Results with every file in place."""

    def __init__(self, folder: Path, model: Path, names: tuple[str, str], sources: list[Path]) -> None:
        super().__init__(folder, model, *names)
        self.sources, self.jobs = sources, self.steps(sources)

    def copy(self, folder: Path) -> "Finished":
        """The same in another folder, which a test may damage."""
        shutil.copytree(self.folder, folder)
        return Finished(folder, Path(self.system.model), (self.system.name, self.dataset), self.sources)

    def make(self, path: Path) -> None:
        """Make a file again, as Snakemake does where one is missing."""
        chunk = re.sub(r".*chunk-(\d).*", r"\1", path.name)
        makers = {name.replace("?", chunk): step.replace("?", chunk) for name, step in MAKERS.items()}
        (step,) = [step for name, step in makers.items() if str(path).startswith(str(self.path(name)))]
        self.jobs[step]()


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
    """Not to be changed."""
    folder = tmp_path_factory.mktemp("original")
    return finish(folder, tiny_bert, "tiny", "small", seed=0)


@pytest.fixture(scope="session")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Another model on another corpus of the same size."""
    folder = tmp_path_factory.mktemp("foreign")
    return finish(folder, save_tiny_bert(folder / "model", seed=1), "other", "others", seed=5000)


def finish(folder: Path, model: Path, system: str, name: str, seed: int) -> Finished:
    results = Finished(
        folder / "results", model, (system, name), [dataset(folder / "in", seed), small_dataset(folder / "more", 36)]
    )
    for run in results.jobs.values():
        run()
    return results


@pytest.fixture
def results(original: Finished, tmp_path: Path) -> Finished:
    """A copy that a test may damage."""
    return original.copy(tmp_path / "results")


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


def refusal(results: Finished, step: str) -> str:
    """Give the message of a step that does not take a file."""
    with pytest.raises(DataError) as caught:
        results.jobs[step]()
    return str(caught.value)


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_refused_by_every_step_that_reads_it(results: Finished, name: str) -> None:
    path = results.path(name)
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], whole[:-1], b"", b"garbage" * 100, b"{}", b"[" * 100_000):
        path.write_bytes(content)
        for step in READERS[name]:
            said = refusal(results, step)
            assert said.startswith(f"{path}: ")
            assert said.endswith(f"rm {path}")


@pytest.mark.parametrize("name", READERS)
def test_a_flipped_bit_is_refused_or_changes_nothing(results: Finished, original: Finished, name: str) -> None:
    """Nothing in bytes that nobody reads, such as the time in an archive or the pages of another chunk."""
    path = results.path(name)
    whole = path.read_bytes()
    expected = outcome(original)
    for position in flips(path):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        for step in READERS[name]:
            with (
                pytest.raises(DataError, match=re.escape(f" rm {path}")) if name not in SOME_BYTES_UNREAD else suppress(DataError)
            ):
                results.jobs[step]()
        path.write_bytes(whole)
        assert outcome(results) == expected


@pytest.mark.parametrize("with_record", [False, True])
@pytest.mark.parametrize("name", READERS)
def test_a_file_of_another_model_and_corpus_is_refused_and_the_commands_repair_it(
    results: Finished, original: Finished, foreign: Finished, name: str, with_record: bool
) -> None:
    """With its record, so that the two agree with each other. A command that changes nothing has another one behind it."""
    expected = outcome(original)
    for step in READERS[name]:
        for taken in [name, *([name.rpartition(".")[0] + ".json"] if with_record else [])]:
            if foreign.path(taken).exists():
                shutil.copy(foreign.path(taken), results.path(taken))
        said, removed, tried = refusal(results, step), list[Path](), set[str]()
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
                results.jobs[step]()
                said = ""
            except DataError as error:
                said = str(error)
    assert outcome(results) == expected


@pytest.mark.parametrize("name", ["queries", "chunk-1"])
@pytest.mark.parametrize("content", [b"", b"{}", b"garbage" * 100])
def test_a_merge_refuses_candidates_whose_vectors_have_another_record_now(results: Finished, name: str, content: bytes) -> None:
    """It reads no record of vectors, but compares those that are there with what was searched; the repair leads to the rest."""
    record = results.path(f"embeddings/{{s}}/{{d}}/{name}.json")
    record.write_bytes(content)
    chunk = 0 if name == "queries" else 1
    candidates = results.path(f"candidates/{{s}}/{{d}}/chunk-{chunk}.npz")
    said = refusal(results, "merge")
    assert said.startswith(f"{candidates}: found candidates from embeddings/tiny/small/{name}.json ")
    assert said.endswith(f"rm {candidates}")
    assert refusal(results, f"search {chunk}").endswith(f"rm {record}")


def outcome(results: Finished) -> dict[str, bytes]:
    """All files but those that hold times."""
    files = [
        path for path in results.folder.rglob("*") if path.suffix in (".parquet", ".npy", ".gz") or path.name == "corpus.json"
    ]
    return {str(path.relative_to(results.folder)): path.read_bytes() for path in files}
