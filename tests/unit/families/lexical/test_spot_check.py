"""A sample that is made again agrees with what is stored, and anything else does not."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import steps
from beirflow.core.errors import DataError
from beirflow.core.layout import POSTINGS, POSTINGS_RECORD, STATISTICS, STATISTICS_RECORD
from beirflow.core.records import read_json, write_json
from beirflow.families.lexical import FAMILY, LexicalSettings, run_check
from beirflow.families.lexical.postings import ChunkPostings, read_postings
from beirflow.families.lexical.spot_check import PostingsCheck, spot_checks
from beirflow.families.postings.names import ENGLISH
from beirflow.families.spot_checks.spot_check import Finding, NotHereError, Subject
from beirflow.families.system import System
from lexical_results import DATASET, LexicalResults, damage
from spot_checked import planned

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
    system = System(settings.name, FAMILY.name, settings)
    return Subject(made.results, system, None, DATASET, {}, TOP_K, drop_self_matches=True, chunks=made.chunks, config={})


ALL = planned(spot_checks, run_check.follows)


def documents_and_ranks(subject: Subject, sample: int = EVERYTHING) -> tuple[Finding, Finding]:
    """Give the findings of the checks of documents and of ranks."""
    documents, statistics, ranks = ALL(subject, sample, np.random.default_rng(1))
    folder = f"postings/{ENGLISH}/{DATASET}"
    paths = [folder, f"{folder}/statistics.parquet", f"runs/{subject.system.name}/{DATASET}.parquet"]
    assert [check.path for check in (documents, statistics, ranks)] == paths
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
    postings = read_postings(path, ENGLISH)
    values = getattr(postings, column).copy()
    values[place] += by
    steps.write(ChunkPostings, path, (replace(postings, **{column: values}), ENGLISH))


@pytest.mark.parametrize(("settings", "block"), [(MULTIFIELD, 1), *((variant, 16_384) for variant in VARIANTS)])
def test_what_was_not_touched_passes(
    made: LexicalResults, settings: LexicalSettings, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_check, "BLOCK_ROWS", block)
    documents, ranks = documents_and_ranks(subject_of(made, settings))
    assert documents.passed, documents
    assert documents.found == f"{settings.name} on small: 23 documents, every term as often as in the postings"
    assert ranks.passed, ranks
    assert ranks.found == f"{settings.name} on small: 4 queries, every rank as in runs/{settings.name}/small.parquet"


@pytest.mark.parametrize("scale", ["sqrt", "none"])
def test_documents_whose_words_all_count_nothing_pass(scale: str, tmp_path: Path) -> None:
    """They are without text, though their words have weights above 0."""
    settings = LexicalSettings("weighted", weights={"path": str(tmp_path / "given.jsonl"), "scale": scale})  # type: ignore[arg-type]
    made = LexicalResults(tmp_path, CORPUS, QUERIES, size=8, top_k=TOP_K)
    added = {doc_id: {"cats": 0.00002 * (i % 2), "dogs": i / 1000 * (i % 3), " ": 1} for i, (doc_id, *_) in enumerate(CORPUS)}
    made.give(settings, added).index_all(settings.index).run(settings)
    names = {"analyzer": settings.index.name}
    without = made.record(STATISTICS_RECORD, **names)["statistics"]["without_text"]
    assert 0 < without < len(CORPUS)
    finding = PostingsCheck(subject_of(made, settings), settings, EVERYTHING, np.random.default_rng(1)).check_documents()
    assert finding.passed, finding


def test_a_sample_is_as_large_as_it_was_asked_for(made: LexicalResults) -> None:
    documents, ranks = documents_and_ranks(subject_of(made), 3)
    assert "3 documents," in documents.found
    assert "3 queries," in ranks.found


def of_another_document(made: LexicalResults) -> None:
    postings = read_postings(made.path(POSTINGS, chunk=0), ENGLISH)
    alone = int(np.flatnonzero(postings.frequencies < len(postings.text_lengths))[0])
    first = int(postings.starts[alone])
    others = set(range(len(postings.text_lengths))) - set(postings.rows[first : postings.starts[alone + 1]].tolist())
    change_postings(made, 0, "rows", first, min(others) - int(postings.rows[first]))


def filled(made: LexicalResults) -> None:
    for chunk in range(made.chunks):
        postings = read_postings(made.path(POSTINGS, chunk=chunk), ENGLISH)
        filled = replace(postings, text_filled=np.ones_like(postings.text_filled))
        steps.write(ChunkPostings, made.path(POSTINGS, chunk=chunk), (filled, ENGLISH))


def longer(made: LexicalResults) -> None:
    path = made.path(POSTINGS, chunk=0)
    postings = read_postings(path, ENGLISH)
    steps.write(ChunkPostings, path, (replace(postings, text_lengths=postings.text_lengths + np.int32(7)), ENGLISH))


def record_again(made: LexicalResults) -> None:
    """Write the digests of what was changed into the records, as whoever changed it would."""
    digests: dict[str, str] = {}
    for pattern, record, names in (
        *((POSTINGS, POSTINGS_RECORD, {"chunk": chunk}) for chunk in range(made.chunks)),
        (STATISTICS, STATISTICS_RECORD, {}),
    ):
        path, content = Path(made.path(record, **names)), made.record(record, **names)
        digests |= made.digests(made.path(pattern, **names))
        write_json(
            path,
            content | {key: {name: digests.get(name, of) for name, of in content[key].items()} for key in ("inputs", "outputs")},
        )
        digests |= made.digests(str(path))


def change_frequencies(made: LexicalResults, column: str, by: int) -> None:
    path = made.path(STATISTICS)
    table = pq.read_table(path)
    more = pa.array([count + by for count in table[column].to_pylist()])
    pq.write_table(table.set_column(table.schema.names.index(column), column, more), path)


def change_counts(made: LexicalResults, key: str) -> None:
    path = Path(made.path(STATISTICS_RECORD))
    record = read_json(path)
    of = record["statistics"] if key != "fields" else record["statistics"]["fields"]["contents"]
    of["terms" if key == "fields" else key] += 1
    write_json(path, record)


def in_its_last_bit(made: LexicalResults) -> None:
    best = pq.read_table(made.results / f"runs/bm25/{DATASET}.parquet", filters=[("query_id", "==", "q2")])["score"][0].as_py()
    change_run(made, "q2", {"score": float(np.nextafter(np.float32(best), np.float32(np.inf)))})


def hits_of_stop_words(made: LexicalResults) -> None:
    for query in ("q2", "q1"):
        change_run(made, query, {"query_id": "stop"}, rank=TOP_K)


DOCUMENTS, SUMS, RANKS = range(3)
OTHERS = r"bm25 on small: the postings of the document '\S+' are others"
FORGERIES: list[tuple[Callable[[LexicalResults], None], int, str]] = [
    *((partial(change_postings, chunk=1, column=f"{of}_counts", place=0, by=1), DOCUMENTS, OTHERS) for of in ("title", "text")),
    (of_another_document, DOCUMENTS, OTHERS),
    (filled, DOCUMENTS, OTHERS),
    (longer, RANKS, "has the score"),
    (partial(change_postings, chunk=1, column="text_lengths", place=0, by=-1), SUMS, "has other statistics"),
    # Although the run was made with them.
    *((partial(change_frequencies, column=of, by=1), SUMS, "has other terms, or") for of in ("contents", "title", "text")),
    (partial(change_frequencies, column="contents", by=1), RANKS, "has the score"),
    *(
        (partial(change_counts, key=key), SUMS, "has other statistics")
        for key in ("documents", "without_text", "terms", "fields")
    ),
    (partial(change_run, query="q2", change=None, rank=TOP_K), RANKS, "parquet: query 'q2' has 5 documents, expected 6"),
    (hits_of_stop_words, RANKS, "query 'q1' has 5 documents"),
    (in_its_last_bit, RANKS, r"query 'q2' has the score \S+ for '\S+', expected "),
]


@pytest.mark.parametrize(("forge", "number", "says"), FORGERIES)
def test_what_was_changed_is_found(made: LexicalResults, forge: Callable[[LexicalResults], None], number: int, says: str) -> None:
    forge(made)
    record_again(made)
    finding = ALL(subject_of(made), EVERYTHING, np.random.default_rng(1))[number].run()
    assert not finding.passed
    assert re.search(says, finding.found), finding


def test_statistics_that_nobody_touched_are_those_of_the_postings(made: LexicalResults) -> None:
    finding = ALL(subject_of(made, MULTIFIELD), EVERYTHING, np.random.default_rng(1))[SUMS].run()
    assert finding.passed, finding
    assert finding.found == "bm25-multifield on small: 7 terms of 23 documents"


def test_statistics_of_some_chunks_alone_are_not_those_of_the_corpus(made: LexicalResults) -> None:
    """Their record names no other chunk, and what it names gives them."""
    subject = subject_of(made)
    made.chunks = 1
    made.sum()
    finding = ALL(subject, EVERYTHING, np.random.default_rng(1))[SUMS].run()
    assert not finding.passed
    assert (finding.found.endswith("statistics.parquet counts 8 documents"), finding.expected) == (True, "the 23 of the corpus")


@pytest.mark.parametrize(("pattern", "chunk"), [(POSTINGS, 1), (STATISTICS, None)])
def test_statistics_are_not_added_up_again_of_a_file_that_is_not_the_recorded_one(
    made: LexicalResults, pattern: str, chunk: int | None
) -> None:
    """An audit compares digests by itself."""
    damage(made.path(pattern, chunk=chunk))
    with pytest.raises(DataError, match="sha256"):
        ALL(subject_of(made), EVERYTHING, np.random.default_rng(1))[SUMS].run()


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
def test_without_postings_only_hits_are_checked(made: LexicalResults, pattern: str) -> None:
    missing = Path(made.path(pattern, chunk=2))
    missing.unlink()
    documents, *hits, statistics, ranks = ALL(subject_of(made), EVERYTHING, np.random.default_rng(1))
    named = f"^{missing.relative_to(made.results)} is not here$"
    for check in (statistics, ranks):
        with pytest.raises(NotHereError, match=named):
            check.run()
    if pattern == POSTINGS:
        with pytest.raises(NotHereError, match=named):
            documents.run()
        assert [check.run().passed for check in hits] == [True]
    else:
        assert documents.run().passed
        assert hits == []
