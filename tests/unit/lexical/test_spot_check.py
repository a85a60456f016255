"""A sample that is made again agrees with what is stored, and anything else does not."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from beirflow.files.layout import POSTINGS, STATISTICS, STATISTICS_RECORD
from beirflow.files.records import read_json, write_json
from beirflow.lexical import spot_check
from beirflow.lexical.family import FAMILY
from beirflow.lexical.postings import read_postings, write_postings
from beirflow.lexical.settings import ANALYZER, LexicalSettings
from beirflow.lexical.spot_check import spot_checks
from beirflow.runs.family import System
from beirflow.runs.spot_check import Finding, NotHereError, Subject
from lexical_results import DATASET, LexicalResults

FLAT, MULTIFIELD = LexicalSettings("bm25"), LexicalSettings("bm25-multifield", fields=("title", "text"))
VARIANTS = [
    FLAT,
    MULTIFIELD,
    LexicalSettings("slow", k1=1000, b=1),
    LexicalSettings("rounded-to-0", k1=1e9, b=1),
    LexicalSettings("counted-once", k1=0, ties="descending"),
    LexicalSettings("titles", fields=("title",)),
]
CORPUS = [
    *((f"d{i}", "cats" if i % 3 else "", f"dogs {'running ' * (i % 5)} w{i % 4}") for i in range(20)),
    ("no-text", "cats and dogs", " "),
    ("empty", "", ""),
    ("q1", "", "cats of w1"),
]
QUERIES = {"q1": "cats w1 w1", "q2": "running dogs", "stop": "the of", "unknown": "zebra"}
EVERYTHING = 1000
TOP_K = 6


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> LexicalResults:
    """Runs of all variants, from three chunks."""
    made = LexicalResults(tmp_path_factory.mktemp("made"), CORPUS, QUERIES, size=8, top_k=TOP_K).index_all()
    for settings in VARIANTS:
        made.run(settings)
    return made


@pytest.fixture
def made(made_once: LexicalResults, tmp_path: Path) -> LexicalResults:
    """The same, to be changed."""
    return made_once.copied(tmp_path)


def subject_of(made: LexicalResults, settings: LexicalSettings = FLAT) -> Subject:
    return Subject(
        results=made.results,
        system=System(settings.name, FAMILY.name, settings),
        here=None,
        dataset=DATASET,
        made={},
        top_k=TOP_K,
        drop_self_matches=True,
        chunks=made.chunks,
        config={},
    )


def documents_and_ranks(subject: Subject, sample: int = EVERYTHING) -> tuple[Finding, Finding]:
    """What the checks of documents and of ranks find."""
    documents, statistics, ranks = spot_checks(subject, sample, np.random.default_rng(1))
    assert documents.path == f"postings/{ANALYZER}/{DATASET}"
    assert statistics.path == f"postings/{ANALYZER}/{DATASET}/statistics.parquet"
    assert ranks.path == f"runs/{subject.system.name}/{DATASET}.parquet"
    return documents.run(), ranks.run()


def change_run(made: LexicalResults, query: str, change: dict[str, object] | None, rank: int = 1) -> None:
    """Change a row of the run of FLAT, or drop it."""
    path = made.results / f"runs/bm25/{DATASET}.parquet"
    table = pq.read_table(path)
    rows = table.to_pylist()
    (number,) = [i for i, row in enumerate(rows) if (row["query_id"], row["rank"]) == (query, rank)]
    rows = rows[:number] + ([] if change is None else [rows[number] | change]) + rows[number + 1 :]
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)


def change_postings(made: LexicalResults, chunk: int, column: str, place: int, by: int) -> None:
    path = made.path(POSTINGS, chunk=chunk)
    postings = read_postings(path, ANALYZER)
    values = getattr(postings, column).copy()
    values[place] += by
    write_postings(path, replace(postings, **{column: values}), ANALYZER)


@pytest.mark.parametrize("block", [1, 16_384])
@pytest.mark.parametrize("settings", VARIANTS, ids=lambda settings: settings.name)
def test_what_was_not_touched_passes(
    made: LexicalResults, settings: LexicalSettings, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spot_check, "BLOCK_ROWS", block)
    documents, ranks = documents_and_ranks(subject_of(made, settings))
    assert documents.passed, documents
    assert documents.found == f"{settings.name} on small: 23 documents, every term as often as in the postings"
    assert ranks.passed, ranks
    assert ranks.found == f"{settings.name} on small: 4 queries, every rank as in runs/{settings.name}/small.parquet"


def test_a_sample_is_as_large_as_it_was_asked_for(made: LexicalResults) -> None:
    documents, ranks = documents_and_ranks(subject_of(made), 3)
    assert "3 documents," in documents.found
    assert "3 queries," in ranks.found


@pytest.mark.parametrize("column", ["title_counts", "text_counts"])
def test_a_changed_count_of_a_posting_is_found(made: LexicalResults, column: str) -> None:
    change_postings(made, 1, column, 0, 1)
    documents, _ = documents_and_ranks(subject_of(made))
    assert not documents.passed
    assert re.fullmatch(r"bm25 on small: the postings of the document '\S+' are others", documents.found)
    assert documents.expected == "the terms of its title and its text"


def test_a_posting_of_another_document_is_found(made: LexicalResults) -> None:
    postings = read_postings(made.path(POSTINGS, chunk=0), ANALYZER)
    alone = int(np.flatnonzero(postings.frequencies < len(postings.text_lengths))[0])
    first = int(postings.starts[alone])
    others = set(range(len(postings.text_lengths))) - set(postings.rows[first : postings.starts[alone + 1]].tolist())
    change_postings(made, 0, "rows", first, min(others) - int(postings.rows[first]))
    assert not documents_and_ranks(subject_of(made))[0].passed


def test_changed_lengths_are_found_in_the_scores(made: LexicalResults) -> None:
    postings = read_postings(made.path(POSTINGS, chunk=0), ANALYZER)
    longer = replace(postings, text_lengths=postings.text_lengths + np.int32(7))
    write_postings(made.path(POSTINGS, chunk=0), longer, ANALYZER)
    documents, ranks = documents_and_ranks(subject_of(made))
    assert documents.passed
    assert not ranks.passed


def statistics_of(made: LexicalResults, settings: LexicalSettings = FLAT) -> Finding:
    """What the check of the statistics finds."""
    return spot_checks(subject_of(made, settings), EVERYTHING, np.random.default_rng(1))[1].run()


def test_statistics_that_nobody_touched_are_those_of_the_postings(made: LexicalResults) -> None:
    finding = statistics_of(made, MULTIFIELD)
    assert finding.passed, finding
    assert "of 23 documents" in finding.found


@pytest.mark.parametrize("column", ["contents", "title", "text"])
def test_frequencies_that_are_not_those_of_the_postings_are_found_although_the_run_was_made_with_them(
    made: LexicalResults, column: str
) -> None:
    path = made.path(STATISTICS)
    table = pq.read_table(path)
    number = table.schema.names.index(column)
    pq.write_table(table.set_column(number, column, pa.array([1] * len(table))), path)
    assert not statistics_of(made).passed


@pytest.mark.parametrize("key", ["documents", "without_text", "terms", "fields"])
def test_counts_that_are_not_those_of_the_postings_are_found(made: LexicalResults, key: str) -> None:
    path = Path(made.path(STATISTICS_RECORD))
    record = read_json(path)
    if key == "fields":
        record["statistics"]["fields"]["contents"]["terms"] += 100
    else:
        record["statistics"][key] += 1
    write_json(path, record)
    finding = statistics_of(made)
    assert (finding.passed, key in finding.found) == (False, True)


def test_lengths_that_are_not_those_of_the_terms_are_found(made: LexicalResults) -> None:
    change_postings(made, 1, "text_lengths", 0, -1)
    finding = statistics_of(made)
    assert (finding.passed, "document 0 of chunk 1 has the length" in finding.found) == (False, True)


def test_a_document_that_is_said_to_have_a_text_is_found(made: LexicalResults) -> None:
    for chunk in range(made.chunks):
        postings = read_postings(made.path(POSTINGS, chunk=chunk), ANALYZER)
        filled = replace(postings, text_filled=np.ones_like(postings.text_filled))
        write_postings(made.path(POSTINGS, chunk=chunk), filled, ANALYZER)
    assert not documents_and_ranks(subject_of(made))[0].passed


def test_another_number_of_documents_with_a_term_is_found_in_the_scores(made: LexicalResults) -> None:
    path = made.path(STATISTICS)
    table = pq.read_table(path)
    pq.write_table(table.set_column(1, "contents", pa.array([count + 1 for count in table["contents"].to_pylist()])), path)
    _, ranks = documents_and_ranks(subject_of(made))
    assert not ranks.passed
    assert "has the score" in ranks.found


def test_a_truncated_run_is_found(made: LexicalResults) -> None:
    change_run(made, "q2", None, rank=TOP_K)
    _, ranks = documents_and_ranks(subject_of(made))
    assert ranks == Finding(
        False, "runs/bm25/small.parquet: query 'q2' has 5 documents, expected 6", "exact search over all documents"
    )


def test_a_dropped_query_is_found(made: LexicalResults) -> None:
    for rank in range(1, TOP_K + 1):
        change_run(made, "q1", None, rank)
    _, ranks = documents_and_ranks(subject_of(made))
    assert not ranks.passed
    assert "query 'q1' has 0 documents, expected 6" in ranks.found


def test_hits_of_a_query_without_a_term_are_found(made: LexicalResults) -> None:
    change_run(made, "q2", {"query_id": "stop"}, rank=TOP_K)
    change_run(made, "q1", {"query_id": "stop"}, rank=TOP_K)
    subject = subject_of(made)
    everything = spot_checks(subject, EVERYTHING, np.random.default_rng(1))[2].run()
    assert not everything.passed


def test_a_score_that_differs_in_its_last_bit_is_found(made: LexicalResults) -> None:
    run = made.results / f"runs/bm25/{DATASET}.parquet"
    best = np.float32(pq.read_table(run, filters=[("query_id", "==", "q2")])["score"][0].as_py())
    change_run(made, "q2", {"score": float(np.nextafter(best, np.float32(np.inf)))})
    _, ranks = documents_and_ranks(subject_of(made))
    assert not ranks.passed
    assert re.search(rf"query 'q2' has the score \S+ for '\S+', expected {re.escape(repr(float(best)))}", ranks.found)


def test_a_document_that_was_left_out_is_found(made: LexicalResults) -> None:
    """The worst of the documents that match stands where the best was, with its true score."""
    whole = LexicalResults(made.results.parent / "whole", CORPUS, QUERIES, size=8).index_all()
    worst = pq.read_table(whole.run(FLAT), filters=[("query_id", "==", "q2")]).to_pylist()[-1]
    change_run(made, "q2", {key: worst[key] for key in ("doc_id", "score")})
    _, ranks = documents_and_ranks(subject_of(made))
    assert not ranks.passed
    assert f"query 'q2' has {worst['doc_id']!r} with the score" in ranks.found


def test_the_document_of_the_query_is_found_where_it_was_to_be_dropped(made: LexicalResults) -> None:
    made.run(FLAT, drop=False)
    _, ranks = documents_and_ranks(subject_of(made))
    assert not ranks.passed
    assert "query 'q1'" in ranks.found
    assert documents_and_ranks(replace(subject_of(made), drop_self_matches=False))[1].passed


def test_a_run_with_other_settings_is_found(made: LexicalResults) -> None:
    _, ranks = documents_and_ranks(subject_of(made, replace(FLAT, b=0.5)))
    assert not ranks.passed


@pytest.mark.parametrize("pattern", [POSTINGS, STATISTICS, STATISTICS_RECORD])
def test_without_postings_nothing_is_checked(made: LexicalResults, pattern: str) -> None:
    missing = Path(made.path(pattern, chunk=2))
    missing.unlink()
    documents, statistics, ranks = spot_checks(subject_of(made), EVERYTHING, np.random.default_rng(1))
    named = f"^{missing.relative_to(made.results)} is not here$"
    for check in (statistics, ranks):
        with pytest.raises(NotHereError, match=named):
            check.run()
    if pattern == POSTINGS:
        with pytest.raises(NotHereError, match=named):
            documents.run()
    else:
        assert documents.run().passed
