"""The steps that make expansions: chunks change nothing, a job that was ended goes on, and records say what was done."""

import re
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

import orjson
import pyarrow.parquet as pq
import pytest

from beirflow.core.layout import DOCUMENTS, EXPANSION, EXPANSION_MODEL, EXPANSION_RECORD
from beirflow.extensions.expansions import making
from beirflow.extensions.expansions.layout import EXPANSION_LOG
from beirflow.extensions.expansions.loading import TextReader
from beirflow.extensions.expansions.making import ExpansionLog, Making
from beirflow.extensions.expansions.word_weigher import weigh_words
from beirflow.extensions.expansions.writer import write_queries
from beirflow.families.expansions.files import ExpansionFile
from beirflow.families.expansions.settings import Expansion, WordWeights, WrittenQueries
from beirflow.models.model_files import fetch_model
from lexical_results import LexicalResults
from listening import heard
from tiny_expanders import save_deepct, save_tiny_t5
from workflow_runs import words

CORPUS = [(f"d{i}", words(i, i % 3), words(50 + i, 2 + 5 * i % 23)) for i in range(12)] + [("empty", "", " ")]
STEPS = {"queries": write_queries, "weights": weigh_words}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    return {"queries": save_tiny_t5(folder / "t5"), "weights": save_deepct(folder / "bert")}


def expansion(models: dict[str, Path], kind: str, **settings: Any) -> Expansion:
    folder = str(models[kind])
    return WrittenQueries(folder, **{"queries": 3, "query_length": 8, **settings}) if kind == "queries" else WordWeights(folder)


def corpus(folder: Path, size: int) -> LexicalResults:
    return LexicalResults(folder, CORPUS, {"q": "w1"}, size=size)


def make(made: LexicalResults, wanted: Expansion, chunk: int = 0, budget: int = 60, precision: str = "float32") -> Path:
    """Make the expansion of a chunk; gives its path."""
    model, path = (made.path(pattern, expansion=wanted.name, chunk=chunk) for pattern in (EXPANSION_MODEL, EXPANSION))
    if not Path(model).exists():
        fetch_model(system=wanted.as_model(), configured=None, output_path=model, job=made.job("fetch_expansion_model"))
    how = Making(wanted, model, precision=precision, device="cpu", token_budget=budget)
    STEPS[wanted.kind](
        making=how, documents_path=made.path(DOCUMENTS), chunk=chunk, output_path=path, job=made.job(f"make/{wanted.kind}")
    )
    return Path(path)


def rows_of(path: Path) -> dict[str, Any]:
    return {row.pop("doc_id"): row for row in pq.read_table(path).to_pylist()}


@pytest.mark.parametrize("kind", ["queries", "weights"])
def test_an_expansion_depends_on_no_chunk_or_batch(tmp_path: Path, models: dict[str, Path], kind: str) -> None:
    wanted = expansion(models, kind)
    whole = corpus(tmp_path / "whole", 1000)
    expected = rows_of(make(whole, wanted))
    assert set(expected) == {doc_id for doc_id, _, _ in CORPUS}
    assert not any(expected["empty"].values())
    parts = corpus(tmp_path / "parts", 5)
    found = [rows_of(make(parts, wanted, chunk, budget=20)) for chunk in range(parts.chunks)]
    together = {doc_id: row for part in found for doc_id, row in part.items()}
    if kind == "queries":
        assert together == expected
    for doc_id, row in together.items():
        assert row.keys() == expected[doc_id].keys()
        assert row.get("words") == expected[doc_id].get("words")
        assert row.get("weights", []) == pytest.approx(expected[doc_id].get("weights", []), abs=1.5e-5)


@pytest.mark.parametrize("kind", ["queries", "weights"])
def test_the_record_says_with_what_and_from_what(tmp_path: Path, models: dict[str, Path], kind: str) -> None:
    wanted, made = expansion(models, kind), corpus(tmp_path, 1000)
    rows = rows_of(make(made, wanted))
    record = made.record(EXPANSION_RECORD, expansion=wanted.name, chunk=0)
    assert set(record["inputs"]) == {"corpora/small/documents.parquet", f"expansions/{wanted.name}/model.json"}
    assert (record["expansion"], record["kind"], record["rows"]) == (wanted.name, kind, len(CORPUS))
    assert record["made_by"] == wanted.made_by
    assert record["made"]["precision"] == "float32"
    assert {"load", "expand"} == set(record["seconds"])
    added = "queries" if kind == "queries" else "words"
    assert record["counts"][f"added_{kind}"] == sum(len(row[added]) for row in rows.values()) > 0
    assert record["counts"]["documents_without_text"] == 1
    assert not Path(made.path(EXPANSION_LOG, expansion=wanted.name, chunk=0)).exists()


class EndedError(Exception):
    """An error that ends a job."""


def interrupted(folder: Path, monkeypatch: pytest.MonkeyPatch, wanted: Expansion, parts: int) -> tuple[LexicalResults, Path]:
    """A corpus whose job was ended after some parts, and its log."""
    made, whole = corpus(folder, 1000), TextReader.parts

    def some(*arguments: Any) -> Iterator[Any]:
        yield from islice(whole(*arguments), parts)
        raise EndedError

    with monkeypatch.context() as context:
        context.setattr(TextReader, "parts", some)
        with pytest.raises(EndedError):
            make(made, wanted)
    return made, Path(made.path(EXPANSION_LOG, expansion=wanted.name, chunk=0))


def batches_in(log: Path) -> list[dict[str, Any]]:
    """Read the batches of a log, right or wrong."""
    return [orjson.loads(batch) for batch in re.findall(rb'\{"rows".*\n', log.read_bytes())]


@pytest.mark.parametrize("torn", [b"", b'{"rows": [3'])
def test_a_job_goes_on_where_one_before_it_was_ended(
    tmp_path: Path, models: dict[str, Path], monkeypatch: pytest.MonkeyPatch, torn: bytes
) -> None:
    wanted = expansion(models, "queries")
    made, log = interrupted(tmp_path / "ended", monkeypatch, wanted, 3)
    before = {row for batch in batches_in(log) for row in batch["rows"]}
    assert len(batches_in(log)) == 3
    log.write_bytes(log.read_bytes() + torn)
    seen = heard(monkeypatch, TextReader, "_forward", lambda _, window, doc_ids, rows: (window.start + rows).tolist())
    found = make(made, wanted)
    assert before
    assert sorted(chain(before, *seen)) == list(range(len(CORPUS)))
    monkeypatch.undo()
    undisturbed = corpus(tmp_path / "undisturbed", 1000)
    assert found.read_bytes() == make(undisturbed, wanted).read_bytes()
    one, other = (each.record(EXPANSION_RECORD, expansion=wanted.name, chunk=0) for each in (made, undisturbed))
    assert (one["counts"], one["outputs"]) == (other["counts"], other["outputs"])


@pytest.mark.parametrize("drawn", [None, 7])
def test_queries_are_written_to_the_disk_some_documents_at_a_time(
    tmp_path: Path, models: dict[str, Path], monkeypatch: pytest.MonkeyPatch, drawn: int | None
) -> None:
    wanted = expansion(models, "queries", documents=drawn)
    expected = rows_of(make(corpus(tmp_path / "whole", 1000), wanted))
    read = heard(monkeypatch, ExpansionLog, "values_of", lambda _, rows: len(rows))
    monkeypatch.setattr(making, "WINDOW_ROWS", 4)
    made = corpus(tmp_path / "windows", 1000)
    path = make(made, wanted)
    assert rows_of(path) == expected
    assert sum(1 for row in expected.values() if row["queries"]) <= (drawn or len(CORPUS))
    assert max(read) <= 4
    assert sum(read) == (drawn or len(CORPUS))
    batches = ExpansionFile(path).batches(2)
    assert [len(batch) for batch in batches] == [2] * 6 + [1]


def test_what_another_model_or_setting_has_begun_is_not_kept(
    tmp_path: Path, models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = expansion(models, "queries", seed=1)
    made, log = interrupted(tmp_path, monkeypatch, begun, 2)
    wanted = expansion(models, "queries")
    other = Path(made.path(EXPANSION_LOG, expansion=wanted.name, chunk=0))
    other.parent.mkdir(parents=True)
    log.rename(other)
    undisturbed = corpus(tmp_path / "undisturbed", 1000)
    assert make(made, wanted).read_bytes() == make(undisturbed, wanted).read_bytes()


def test_a_name_says_what_is_made_and_not_how_it_is_used() -> None:
    one = WrittenQueries("castorini/doc2query-t5-base-msmarco", "0" * 40)
    assert one.name.startswith("doc2query-t5-base-msmarco-")
    assert WrittenQueries(one.model, one.revision, join="field", offline="package:x/y").name == one.name
    others = [{"queries": 39}, {"seed": 1}, {"top_k": 9}, {"top_p": 0.9}, {"max_length": 511}, {"query_length": 63}]
    names = {WrittenQueries(one.model, one.revision, **other).name for other in others}  # type: ignore[arg-type]
    assert len(names | {one.name, WrittenQueries(one.model, "1" * 40).name}) == len(others) + 2
    assert WordWeights("/models/deepct/", scale="none").name == WordWeights("/models/deepct/").name
    assert WordWeights(path="/x/{dataset}.jsonl").name.startswith("given-")
    assert WordWeights(path="/x/{dataset}.jsonl").name != WrittenQueries(path="/x/{dataset}.jsonl").name
    assert WrittenQueries(path="/x/T5 of {dataset}.jsonl.gz").name.startswith("T5-of-")
