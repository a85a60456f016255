"""Documents of a sparse system were weighed with the expansion that its settings name, or the audit says so."""

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from beirflow.audit.chain import Chain
from beirflow.audit.checks import FAILED, Check
from beirflow.audit.chain.facts import Comparison, as_json
from beirflow.audit.facts.recorded import check_record
from beirflow.config.load import load_experiment
from beirflow.core.layout import CORPUS, TERM_WEIGHTS_RECORD
from beirflow.core.records import read_json
from beirflow.families.sparse.settings import SparseSettings
from model_results import SparseResults
from tiny_sparse import save_unicoil

RECORD = TERM_WEIGHTS_RECORD(system="u", dataset="small", chunk=1)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SparseSettings]:
    folder = tmp_path_factory.mktemp("added")
    given: Any = {"path": "/given/{dataset}.jsonl"}
    model = str(save_unicoil(folder / "model"))
    settings = SparseSettings("u", model=model, head="unicoil", expansion=given, text_length=20, expansion_length=8)
    corpus = [(f"d{i}", "", f"w{i}") for i in range(4)]
    results = SparseResults(folder, corpus, {"q": "w1"}, size=2).give(settings, {doc_id: ["w9"] for doc_id, *_ in corpus})
    results.fetch(settings)
    results.make(settings, 1)
    return results.results, settings


def failed(results: Path, settings: SparseSettings, change: Callable[[dict[str, Any]], object] = dict) -> list[Check]:
    """List the faults of the record of a chunk after a change."""
    record = read_json(results / RECORD)
    change(record)
    records = {RECORD: record, CORPUS(dataset="small"): read_json(results / CORPUS(dataset="small"))}
    systems = {"u": {"name": "u", "family": "sparse", "settings": as_json(asdict(settings))}}
    manifest = {"systems": systems, "configuration": {"precision": "float32"}}
    facts = Comparison(Chain(results, manifest, records=records, audited_with=load_experiment({})), "records say the same")
    facts.each([RECORD], check_record)
    return [check for check in facts.finished() if check.status == FAILED]


def test_weights_with_the_expansion_of_their_system_pass(made: tuple[Path, SparseSettings]) -> None:
    assert failed(*made) == []


def test_weights_with_another_expansion_or_none_are_found(made: tuple[Path, SparseSettings]) -> None:
    results, settings = made
    other: Any = {"path": "/others/{dataset}.jsonl"}
    for wrong in (replace(settings, expansion=other), SparseSettings("u", model=settings.model, head="unicoil")):
        named, inputs = failed(results, wrong)[-2:]
        assert "says expansions among its inputs" in inputs.found
        assert "says weighed / added" in named.found

    def of_another_chunk(record: dict[str, Any]) -> None:
        record["inputs"] = {name.replace("chunk-1", "chunk-0"): digest for name, digest in record["inputs"].items()}

    check = failed(results, settings, of_another_chunk)[-1]
    assert "chunk-0.parquet" in check.found
    assert "chunk-1.parquet" in check.expected
