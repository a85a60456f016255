"""The sample of an audit: what is stored is found as it is, and what somebody changed is found out."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from beirflow.families.lexical.spot_check import spot_checks
from beirflow.families.spot_checks.spot_check import Finding, NotHereError, Subject

from beirflow.core.layout import DOCUMENTS, EXPANSION, EXPANSION_MODEL, record_of
from beirflow.core.records import read_json, write_json
from beirflow.extensions.expansions.making import Making, make_expansion
from beirflow.extensions.expansions.word_weigher import WordWeigher
from beirflow.extensions.expansions.writer import QueryWriter
from beirflow.families.expansions.files import write_expansion
from beirflow.families.expansions.settings import Expansion
from beirflow.families.lexical import LexicalSettings
from beirflow.families.system import System
from beirflow.models.model_files import fetch_model
from lexical_results import DATASET, LexicalResults
from tiny_expanders import save_deepct, save_tiny_t5
from workflow_runs import words

CORPUS = [(f"d{i}", words(i, i % 3), words(50 + i, 2 + 5 * i % 23)) for i in range(8)] + [("empty", "", " ")]
QUERIES = {f"q{i}": words(90 + i, 4) for i in range(3)}


def run_of(folder: Path, queries: dict[str, str] = QUERIES, **settings: Any) -> tuple[LexicalResults, LexicalSettings]:
    """A run in two chunks, with what a model adds to the documents; the first is relevant to the first query, and so on."""
    system, judgements = LexicalSettings("mine", **settings), {query: {f"d{i}": 1} for i, query in enumerate(queries)}
    made, added = LexicalResults(folder, CORPUS, queries, size=5, top_k=9, judgements=judgements), system.added
    model = made.path(EXPANSION_MODEL, expansion=added.name)
    fetch_model(system=added.as_model(), said=None, output_path=model, job=made.job("fetch_expansion_model"))
    for chunk in range(made.chunks):
        make_expansion(
            load=QueryWriter if added.kind == "queries" else WordWeigher,
            making=Making(added, model, precision="float32", device="cpu"),
            documents_path=made.path(DOCUMENTS),
            chunk=chunk,
            output_path=made.path(EXPANSION, expansion=added.name, chunk=chunk),
            job=made.job("make"),
        )
    made.index_all(system.index).run(system)
    return made, system


def checked(
    made: LexicalResults, system: LexicalSettings, here: LexicalSettings | None = None, sample: int = 9
) -> dict[str, Finding]:
    """Give the sample's findings, by check."""
    systems = [System("mine", "lexical", each) for each in (system, here or system)]
    config = {"device": "cpu", "token_budget": 40, "jobs_per_gpu": 1}
    made_with, chunks = {"precision": "float32"}, made.chunks
    subject = Subject(
        made.results, *systems, DATASET, made_with, made.top_k, drop_self_matches=True, chunks=chunks, config=config
    )
    return {check.name: check.run() for check in spot_checks(subject, sample, np.random.default_rng(1))}


def model_of(folder: Path, key: str) -> str:
    """A tiny model that makes an expansion or weights."""
    return str((save_tiny_t5 if key == "expansion" else save_deepct)(folder / "model"))


def forge(made: LexicalResults, added: Expansion) -> None:
    """Exchange what is added to the documents of a chunk."""
    path = made.path(EXPANSION, expansion=added.name, chunk=1)
    table = pq.read_table(path).to_pydict()
    if added.kind == "queries":
        table["queries"] = [[*queries[:-1], "forged"] for queries in table["queries"]]
    else:
        table["weights"] = [[2 * weight for weight in weights] for weights in table["weights"]]
    write_expansion(path, added.kind, [list(table.values())])


CASES: dict[str, dict[str, Any]] = {
    "appended": {"expansion": {"queries": 3, "query_length": 8}},
    "field": {"expansion": {"queries": 3, "query_length": 8, "join": "field"}},
    "weighted": {"weights": {"scale": "none"}},
}
LONGER = {"expansion": {"queries": 6, "query_length": 8}}
MANY = {"expansion": {"queries": 60, "query_length": 8}}


@pytest.mark.parametrize("case", CASES)
def test_what_is_stored_passes_and_what_was_changed_fails(tmp_path: Path, case: str) -> None:
    ((key, given),) = CASES[case].items()
    made, system = run_of(tmp_path, **{key: {"model": model_of(tmp_path, key), **given}})
    findings = checked(made, system)
    assert len(findings) == 2
    assert all(finding.passed for finding in findings.values()), findings
    assert system.added is not None
    forge(made, system.added)
    failed = {name for name, finding in checked(made, system).items() if not finding.passed}
    again = "queries written again are the stored ones" if key == "expansion" else "words weighed again have the stored weights"
    assert failed == {again, "documents analysed again have the stored postings"}
    with pytest.raises(NotHereError, match="not known here where the model of mine is"):
        checked(made, system, LexicalSettings("mine"))
    Path(made.path(EXPANSION, expansion=system.added.name, chunk=1)).unlink()
    with pytest.raises(NotHereError, match=r"chunk-1\.parquet is not here"):
        checked(made, system)


def favour(
    made: LexicalResults, added: Expansion, queries: dict[str, str], ending: str = "", precision: str = "float16", number: int = 2
) -> None:
    """Say in which precision it was made, and add a little of their queries to documents that are relevant to them."""
    wanted = {f"d{i}": " ".join(word + ending for word in text.split()) for i, text in enumerate(queries.values())}
    for chunk in range(made.chunks):
        path = Path(made.path(EXPANSION, expansion=added.name, chunk=chunk))
        record = read_json(record_of(path))
        write_json(record_of(path), {**record, "made": {**record["made"], "precision": precision}})
        rows = pq.read_table(path).to_pylist()
        for row in rows:
            if row["doc_id"] in wanted and added.kind == "queries":
                row["queries"][:number] = [wanted[row["doc_id"]]] * number
            elif row["doc_id"] in wanted:
                weights = dict(zip(row["words"], row["weights"], strict=True))
                little = 0.004 * sum(weight**2 for weight in weights.values()) ** 0.5
                weights |= {word: weights.get(word, 0.0) + little for word in wanted[row["doc_id"]].split()}
                row.update(words=list(weights), weights=list(weights.values()))
        write_expansion(path, added.kind, [[[row[key] for row in rows] for key in rows[0]]])


@pytest.mark.parametrize("case", ["longer", "weighted"])
def test_no_tolerance_has_room_for_the_words_of_relevant_queries(tmp_path: Path, case: str) -> None:
    ((key, given),) = (CASES | {"longer": LONGER})[case].items()
    queries = {f"q{i}": words(90 + i, 4) for i in range(8)}
    made, system = run_of(tmp_path, queries, **{key: {"model": model_of(tmp_path, key), **given}})
    added = system.added
    assert added is not None
    favour(made, added, {})
    finding = next(iter(checked(made, system).values()))
    assert finding.passed, finding
    for ending in ("", "s") if key == "expansion" else ("",):
        favour(made, added, queries, ending)
        finding = next(iter(checked(made, system).values()))
        says = "nearer to queries to which" if key == "expansion" else "all in one direction"
        assert (finding.passed, says in finding.found) == (False, True), finding


def test_one_of_sixty_queries_is_seen_in_float32(tmp_path: Path) -> None:
    """Fewer than may differ: the inflected words of a query to which the document is relevant."""
    queries = {f"q{i}": words(90 + i, 4) for i in range(8)}
    made, system = run_of(tmp_path, queries, expansion={"model": model_of(tmp_path, "expansion"), **MANY["expansion"]})
    assert system.added is not None
    favour(made, system.added, queries, "s", "float32", 1)
    finding = next(iter(checked(made, system).values()))
    assert "8 of 470 queries are others" in finding.found
    assert (finding.passed, "nearer to queries to which" in finding.found) == (False, True)


def test_the_whole_sample_is_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "CORPUS", [(f"d{i}", "", words(i, 5)) for i in range(40)])
    model = str(save_tiny_t5(tmp_path / "model"))
    made, system = run_of(tmp_path, expansion={"model": model, "queries": 1, "query_length": 4})
    finding = checked(made, system, sample=30)["queries written again are the stored ones"]
    assert finding.passed
    assert "30 documents" in finding.found
