"""Samples of results, and the files of a system on a corpus, for spot checks."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beirflow.core.layout import DOCUMENTS, QRELS, QUERIES, RUN
from beirflow.families.spot_checks.spot_check import NotHereError, Subject, compare_counts, draw
from beirflow.families.system import System

IDS = [f"d{number}" for number in range(20)]
TOP_K = 5
RUN_PATH = RUN(system="toy", dataset="small")


@pytest.mark.parametrize(("total", "sample"), [(10, 3), (10, 10), (3, 10), (1, 1), (0, 5), (5, 0)])
def test_a_sample_has_every_item_at_most_once_in_ascending_order(total: int, sample: int) -> None:
    drawn = draw(total, sample, np.random.default_rng(0))
    assert drawn.tolist() == sorted(set(drawn.tolist()) & set(range(total)))
    assert len(drawn) == min(total, sample)


def subject_of(folder: Path, chunks: int) -> Subject:
    return Subject(
        folder, System("toy", "none", None), None, "small", {}, TOP_K, drop_self_matches=True, chunks=chunks, config={}
    )


def test_a_subject_reads_what_it_is_asked_for(tmp_path: Path) -> None:
    documents, queries = (tmp_path / pattern(dataset="small") for pattern in (DOCUMENTS, QUERIES))
    documents.parent.mkdir(parents=True)
    pq.write_table(pa.table({"doc_id": IDS[:5], "text": list("abcde")}), documents, row_group_size=3)
    pq.write_table(pa.table({"query_id": ["q"], "text": ["?"]}), queries)
    subject = subject_of(tmp_path, 2)
    assert [subject.doc_ids(chunk).to_pylist() for chunk in range(2)] == [IDS[:3], IDS[3:5]]
    assert subject.documents(1).to_pydict() == {"doc_id": IDS[3:5], "text": ["d", "e"]}
    assert subject.queries["query_id"].to_pylist() == ["q"]


def test_a_subject_follows_no_link_below_the_results_which_may_be_behind_one(tmp_path: Path) -> None:
    (tmp_path / "real/runs").mkdir(parents=True)
    (tmp_path / "real/runs/a").write_text("")
    (tmp_path / "real/link").symlink_to("runs")
    (tmp_path / "real/runs/b").symlink_to("a")
    (tmp_path / "results").symlink_to("real")
    subject = subject_of(tmp_path / "results", 1)
    assert subject.file("runs/a") == tmp_path / "results/runs/a"
    for path, says in (("link/a", "behind a link"), ("runs/b", "behind a link"), ("runs/c", "is not here")):
        with pytest.raises(NotHereError, match=f"{path} .*{says}|{path} {says}"):
            subject.file(path)


def test_half_of_the_documents_are_drawn_where_forging_pays(tmp_path: Path) -> None:
    """Relevant ones and their rivals, of 1000; the rest is drawn from all others, and a large sample is everything."""
    names = {path: tmp_path / path for path in (DOCUMENTS(dataset="small"), QRELS(dataset="small"), RUN_PATH)}
    for path in names.values():
        path.parent.mkdir(parents=True, exist_ok=True)
    ids = [f"d{number:04}" for number in range(1000)]
    pq.write_table(pa.table({"doc_id": ids}), names[DOCUMENTS(dataset="small")], row_group_size=300)
    those = [*range(3, 20, 5), 900]
    qrels = {"query_id": ["q"] * 6, "doc_id": [*(ids[row] for row in those), ids[901]], "score": [1] * 5 + [0]}
    pq.write_table(pa.table(qrels), names[QRELS(dataset="small")])
    ranks = pa.table({"query_id": ["q"] * 20, "doc_id": ids[:20], "rank": list(range(1, 21))})
    pq.write_table(ranks, names[RUN_PATH])
    subject = subject_of(tmp_path, 4)
    important = {*those, *range(2, 20, 5), *range(4, 20, 5)}
    for sample in (8, 22, 100, 1000, 5000):
        parts = subject.draw_documents(sample, np.random.default_rng(sample))
        rows = [300 * chunk + row for chunk, part in enumerate(parts) for row in part.tolist()]
        assert rows == sorted(set(rows))
        assert subject.take_documents(parts)["doc_id"].to_pylist() == [ids[row] for row in rows]
        assert len(rows) == min(sample, 1000)
        assert len(important & set(rows)) >= min(sample // 2, len(important))


@pytest.mark.parametrize(
    ("cut", "recorded", "passed"),
    [
        ((47, 100), (47, 100), True),
        ((47, 100), (46, 100), False),  # all were drawn
        ((1, 20), (0, 5000), False),
        ((0, 20), (5000, 5000), False),
        ((23, 50), (470, 1000), True),
        ((23, 50), (200, 1000), False),  # 10 are likely; 23 or more have a probability of 1e-5
        ((0, 0), (0, 0), True),
        ((0, 1), (2, 1), False),
    ],
)
def test_as_many_drawn_texts_are_cut_as_the_record_makes_likely(
    cut: tuple[int, int], recorded: tuple[int, int], passed: bool
) -> None:
    assert compare_counts("a on b", "documents", cut, recorded).passed is passed
