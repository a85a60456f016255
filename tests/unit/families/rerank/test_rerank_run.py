"""Pairs are scored once and kept, and the run is ranked by them; whatever the blocks."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import steps
from beir_writer import write_corpus_record
from beirflow.core.errors import DataError
from beirflow.core.layout import record_of
from beirflow.core.records import ASSUMED, Job, made_in, read_json
from beirflow.families.dense.settings import DenseSettings
from beirflow.families.late_interaction.settings import LateSettings
from beirflow.families.rerank.rerank_run import rerank_run
from beirflow.families.rerank.rerank_run import reranked as rerank_rows
from beirflow.families.rerank.score_pairs import Scoring, score_pairs, texts_of
from beirflow.families.rerank.scorers.dense_pairs import DensePairs
from beirflow.families.rerank.scorers.late_pairs import LatePairs
from beirflow.families.rerank.settings import RerankSettings
from beirflow.models.model_files import fetch_model
from beirflow.ranking.run_file import NewRun
from loaded_scorers import loaded
from run_results import DATASET, RunResults, Scores, change_rows
from tiny_answers import save_tiny_monot5, save_tiny_qwen3
from tiny_bert import save_tiny_bert
from tiny_colbert import save_colbert
from tiny_cross_encoder import save_cross_encoder
from workflow_runs import words

DOCUMENTS = {f"d{i}": words(i - (i % 4 == 1), 3 + (i - (i % 4 == 1)) % 7) for i in range(24)}
"""Every fourth text twice."""
QUERIES = {f"q{i}": words(100 + i, 4) for i in range(7)}
BLOCKS = 2

pytestmark = pytest.mark.usefixtures("threads_as_before")


def first_stage(seed: int = 0) -> Scores:
    """Nothing for one query, one document for another, fifteen for the others."""
    random = np.random.default_rng(seed)
    counts = dict(zip(QUERIES, (15, 15, 0, 1, 15, 15, 15), strict=True))
    return {q: {f"d{i}": float(s) for s, i in enumerate(random.permutation(24)[:n])} for q, n in counts.items() if n}


class Reranked:
    """Results with a first stage and a tiny cross-encoder."""

    def __init__(self, folder: Path, model: Path, kind: str | None = None) -> None:
        self.made = RunResults(folder, DOCUMENTS, QUERIES, chunk=9, qrels={query: {"d0": 1} for query in QUERIES})
        self.made.write_run("first", first_stage())
        self.settings = RerankSettings("crossed", str(model), first="first", depth=5, kind=kind)
        self.model_path = str(folder / "models/crossed.json")
        fetch_model(system=self.settings, configured=None, output_path=self.model_path, job=self.made.job)

    def pairs_paths(self, blocks: int = BLOCKS) -> list[str]:
        return [str(self.made.results / f"pairs/crossed/{DATASET}/block-{block}.parquet") for block in range(blocks)]

    def score(self, blocks: int = BLOCKS, code: str = "c0de", precision: str = "float32", scorer: str | None = None) -> Any:
        """Score all blocks; the pairs, and how many of them were reused."""
        for block, path in enumerate(self.pairs_paths(blocks)):
            steps.run(
                score_pairs,
                Job(self.made.results, f"score_pairs/crossed/small/block-{block}", code),
                [path, str(record_of(path))],
                queries=self.made.queries_path,
                documents=self.made.documents_path,
                first_run=self.made.paths("first")["run_path"],
                model=self.model_path,
                scoring=Scoring(self.settings, self.model_path, precision=precision, device="cpu"),
                block=block,
                blocks=blocks,
                scorer_code=scorer,
            )
        counts = [read_json(Path(path).with_suffix(".json"))["counts"] for path in self.pairs_paths(blocks)]
        return tuple(sum(each[key] for each in counts) for key in ("pairs", "pairs_reused"))

    def change(self, **settings: Any) -> None:
        self.settings = replace(self.settings, **settings)

    def rank(self, blocks: int = BLOCKS) -> list[tuple[str, str, float, int]]:
        steps.run(
            rerank_run,
            Job(self.made.results, "rerank_run/crossed/small", "c0de"),
            [*self.made.paths("crossed").values()],
            corpus=self.made.corpus_path,
            first_run=self.made.paths("first")["run_path"],
            pairs=self.pairs_paths(blocks),
            settings=self.settings,
            run=NewRun(self.settings.name, DATASET, 20, {}),
        )
        return self.made.run("crossed")

    def expected(self) -> dict[tuple[str, str], float]:
        """The score of every pair, each alone."""
        model = loaded(Path(self.settings.model))
        pairs = [(query, doc_id) for query, found in first_stage().items() for doc_id in found]
        return {pair: float(model.scores([(QUERIES[pair[0]], DOCUMENTS[pair[1]])])[0]) for pair in pairs}


@pytest.fixture
def reranked(tmp_path: Path, tiny_cross: Path) -> Reranked:
    return Reranked(tmp_path / "results", tiny_cross)


@pytest.fixture
def finished(reranked: Reranked) -> Reranked:
    reranked.score()
    reranked.rank()
    return reranked


def first_documents(query: str, start: int, end: int) -> list[str]:
    found = first_stage()[query]
    return sorted(found, key=lambda doc_id: -found[doc_id])[start:end]


@pytest.mark.parametrize("below", ["drop", "keep"])
def test_the_first_documents_are_ranked_by_the_model_and_the_others_stay_behind(reranked: Reranked, below: Any) -> None:
    reranked.change(below=below)
    assert reranked.score() == (5 * 5 + 1, 0)
    rows, scores = reranked.rank(), reranked.expected()
    for query in first_stage():
        mine = [row for row in rows if row[0] == query]
        head = first_documents(query, 0, 5)
        ordered = sorted(sorted(head, key=str.encode, reverse=True), key=lambda doc_id: -round(scores[query, doc_id], 4))
        assert [row[1] for row in mine[:5]] == ordered
        np.testing.assert_allclose([row[2] for row in mine[:5]], [scores[query, doc_id] for doc_id in ordered], atol=1e-5)
        assert [row[1] for row in mine[5:]] == (first_documents(query, 5, 20) if below == "keep" else [])
        assert all(a[2] > b[2] for a, b in pairwise(mine[4:]))
    record = read_json(reranked.made.paths("crossed")["record_path"])
    assert (record["first_stages"], record["depth"], record["below"]) == (["first"], 5, below)
    assert (record["counts"]["pairs"], record["made"]["precision"]) == (26, "float32")
    assert set(record["seconds"]) == {"search", "load", "rerank", "merge"}
    assert {name.partition("/")[0] for name in record["inputs"]} == {"corpora", "models", "pairs", "runs"}


def test_titles_and_texts_are_separated_as_a_dense_system_wants_them(tmp_path: Path) -> None:
    columns = [["a", "b"], pa.array(["T x", "y "], pa.large_string()), pa.array([1, 0], pa.int32())]
    pq.write_table(pa.table(columns, names=["doc_id", "text", "title_bytes"]), tmp_path / "documents.parquet")
    write_corpus_record(tmp_path)
    found = {each: texts_of(f"{tmp_path}/documents.parquet", pa.array(["b", "a", "b"]), each) for each in (None, " [SEP] ")}
    assert found == {None: {"a": "T x", "b": "y"}, " [SEP] ": {"a": "T [SEP] x", "b": "[SEP] y"}}


def test_the_number_of_blocks_changes_no_rank_and_equal_texts_tie(reranked: Reranked) -> None:
    reranked.change(depth=15)
    reranked.score()
    rows = reranked.rank()
    reranked.score(blocks=1)
    again = reranked.rank(blocks=1)
    assert [row[:2] for row in again] == [row[:2] for row in rows]
    np.testing.assert_allclose([row[2] for row in again], [row[2] for row in rows], atol=1e-5)
    scores = {row[:2]: row[2] for row in again}
    twins = [(q, f"d{i}") for q in QUERIES for i in range(1, 24, 4) if {(q, f"d{i}"), (q, f"d{i - 1}")} <= set(scores)]
    assert len(twins) > 5
    assert all(scores[q, name] == scores[q, f"d{int(name[1:]) - 1}"] for q, name in twins)


def test_a_greater_depth_only_adds_pairs_and_a_changed_first_stage_only_what_is_new(reranked: Reranked) -> None:
    reranked.score()
    before = pq.read_table(reranked.pairs_paths()[0]).to_pylist()
    reranked.change(depth=9)
    assert reranked.score() == (5 * 9 + 1, 26)
    assert all(row in pq.read_table(reranked.pairs_paths()[0]).to_pylist() for row in before)
    assert reranked.score() == (46, 46)
    new = {f"d{i}" for i in range(15, 24)} - set(first_documents("q0", 0, 9))
    reranked.made.write_run("first", first_stage() | {"q0": {f"d{i}": float(i) for i in range(24)}})
    assert reranked.score() == (46, 46 - len(new))
    reranked.change(depth=2)
    assert reranked.score() == (11, 11)


def test_what_was_assumed_of_a_model_is_in_the_record_of_the_run_also_where_scores_are_reused(tmp_path: Path) -> None:
    made = Reranked(tmp_path / "results", save_cross_encoder(tmp_path / "model", labels=2))
    for reused in (0, 26):
        assert made.score() == (26, reused)
        made.rank()
        record = read_json(made.made.results / f"runs/crossed/{DATASET}.json")
        assert made_in(record, ASSUMED) == [
            "crossed: of the two labels of its model, which have no names, the second means relevant"
        ]


def test_language_models_add_pairs_too_and_another_instruction_scores_all_again(tmp_path: Path) -> None:
    asked = Reranked(tmp_path / "monot5", save_tiny_monot5(tmp_path / "models/monot5"), "monot5")
    judged = Reranked(tmp_path / "qwen3", save_tiny_qwen3(tmp_path / "models/qwen3"), "qwen3-reranker")
    for made in (asked, judged):
        assert made.score() == (26, 0)
        made.change(depth=9)
        assert made.score() == (46, 26)
    judged.change(instruction="Find w3")
    assert judged.score() == (46, 0)


def test_a_system_that_encodes_scores_pairs_by_its_own_similarity(tmp_path: Path) -> None:
    cosine = DenseSettings("mine", str(save_tiny_bert(tmp_path / "models/bert")), pooling="mean", similarity="cosine")
    late = LateSettings("mine", str(save_colbert(tmp_path / "models/colbert")))
    on: dict[str, Any] = {"device": "cpu", "precision": "float32", "token_budget": "auto"}
    for key, own, scorer in (("dense", cosine, DensePairs(cosine, **on)), ("late", late, LatePairs(late, **on))):
        made = Reranked(tmp_path / key, Path(own.model))
        made.change(**{key: own})
        assert made.score() == (26, 0)
        assert made.score(scorer="5c0e") == (26, 0)
        made.change(depth=15)
        assert made.score(scorer="5c0e") == (76, 26)
        rows = made.rank()
        assert read_json(made.made.paths("crossed")["record_path"])["made"]["scorer_code"] == "5c0e"
        expected = scorer.scores([(QUERIES[query], DOCUMENTS[doc_id]) for query, doc_id, *_ in rows])
        np.testing.assert_allclose([score for *_, score, _ in rows], expected, rtol=2e-3)


def test_another_similarity_scores_all_again(tmp_path: Path) -> None:
    made = Reranked(tmp_path / "results", save_tiny_bert(tmp_path / "bert"))
    for similarity, reused in (("cosine", 0), ("dot", 0), ("dot", 26)):
        made.change(dense=DenseSettings("mine", made.settings.model, pooling="mean", similarity=similarity))
        assert made.score() == (26, reused)


def test_scores_of_before_are_not_used_where_they_may_be_others(reranked: Reranked) -> None:
    reranked.score()
    assert reranked.score(code="other") == (26, 0)
    assert reranked.score(precision="bfloat16") == (26, 0)
    assert reranked.score() == (26, 0)
    reranked.change(max_length=9)
    for again in (
        lambda path: None,
        lambda path: change_rows(path, lambda rows: [{**row, "score": 9.0} for row in rows]),
        lambda path: path.with_suffix(".json").unlink(),
    ):
        for path in map(Path, reranked.pairs_paths()):
            again(path)
        assert reranked.score() == (26, 0)
        assert reranked.score() == (26, 26)


def test_pairs_of_another_run_or_depth_are_refused(finished: Reranked) -> None:
    finished.change(depth=4)
    with pytest.raises(DataError, match="found block 0 of 2 to the depth 5"):
        finished.rank()
    finished.change(depth=5)
    finished.made.write_run("first", first_stage(1))
    with pytest.raises(DataError, match=r"it was made from the runs/first/small\.parquet"):
        finished.rank()


def test_pairs_of_other_documents_than_the_first_ones_are_refused(finished: Reranked) -> None:
    run = pq.read_table(finished.made.paths("first")["run_path"])
    pairs = pa.concat_tables(map(pq.read_table, finished.pairs_paths()))
    with pytest.raises(DataError, match="its first documents are not those whose pairs were scored"):
        rerank_rows(finished.settings, run, pairs.slice(1), "a.parquet", 20)


def test_a_first_stage_that_found_nothing_is_an_empty_run(reranked: Reranked) -> None:
    reranked.made.write_run("first", {})
    assert reranked.score() == (0, 0)
    assert reranked.rank() == []


def test_all_candidates_are_scored_where_each_query_has_its_own(reranked: Reranked) -> None:
    rows = {query: list(found) for query, found in first_stage().items()}
    qrels = Path(reranked.made.queries_path).with_name("qrels.parquet")
    columns = [[query for query, found in rows.items() for _ in found], [doc_id for found in rows.values() for doc_id in found]]
    pq.write_table(pa.table([*columns, [0] * len(columns[0])], names=["query_id", "doc_id", "score"]), qrels)
    write_corpus_record(qrels.parent, reranked.made.results, chunks=3, own_candidates=True)
    reranked.made.write_run("first", first_stage())
    with pytest.raises(DataError, match="a query has 15 candidates, all of which are scored, but depth is 5; set 'depth: 15'"):
        reranked.score()
    reranked.change(depth=15)
    reranked.score()
    assert {(query, doc_id) for query, doc_id, _, _ in reranked.rank()} == set(zip(*columns, strict=True))
