"""Runs and judgements from anywhere: the numbers of the pipeline and of trec_eval, in every form, and what is refused."""

import argparse
import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import beirflow
from beirflow.cli import evaluate as command
from beirflow.core import layout
from beirflow.core.errors import BeirflowError, ConfigError, DataError
from beirflow.core.records import read_json
from results_maker import Made

RUN = {"q1": {"d1": 3.0, "d2": 2.0, "d10": 2.0, "d9": 1.5}, "q2": {"d3": -1.0, "q2": -2.5}, "unjudged": {"d1": 1.0}}
QRELS = {"q1": {"d2": 2, "d1": 0, "d10": 1}, "q2": {"q2": 1, "d4": 1}, "q3": {"d1": 1}}
MEASURES = ["NDCG@10", "MAP@3", "Recall@2", "P@1", "MRR@10", "Hole@5"]

# By hand: the ranking of q1 is d1, d2, d10 (equal scores: the higher id first), d9; of q2 d3, q2; q3 has no result.
BY_HAND = {
    "NDCG@10": ((2 / np.log2(3) + 1 / 2) / (2 + 1 / np.log2(3)) + (1 / np.log2(3)) / (1 + 1 / np.log2(3))) / 3,
    "MAP@3": ((1 / 2 + 2 / 3) / 2 + (1 / 2) / 2) / 3,
    "Recall@2": (1 / 2 + 1 / 2) / 3,
    "P@1": 0.0,
    "MRR@10": (1 / 2 + 1 / 2) / 3,
    "Hole@5": (1 / 5 + 1 / 5) / 3,
}


def triples(nested: dict[str, dict[str, Any]]) -> list[tuple[str, str, Any]]:
    return [(query, document, value) for query, documents in nested.items() for document, value in documents.items()]


def frame(nested: dict[str, dict[str, Any]], *names: str) -> pd.DataFrame:
    return pd.DataFrame(triples(nested), columns=list(names)).assign(extra="x")


def written(path: Path, content: str | bytes) -> Path:
    raw = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    return path


def as_parquet(table: pd.DataFrame, path: Path) -> Path:
    table.to_parquet(path)
    return path


TREC_RUN = "# a comment\n" + "".join(f"{query} Q0 {doc} 1 {score!r} tag\n" for query, doc, score in triples(RUN))
TREC_QRELS = "".join(f"{query} 0 {doc} {grade}\n" for query, doc, grade in triples(QRELS))
TSV = "query-id\tcorpus-id\tscore\n" + "".join(f"{query}\t{doc}\t{grade}\n" for query, doc, grade in triples(QRELS))

RUNS: dict[str, Callable[[Path], Any]] = {
    "mapping": lambda _: RUN,
    "frame": lambda _: frame(RUN, "query", "document", "score"),
    "frame of ir_measures": lambda _: frame(RUN, "query_id", "doc_id", "score").astype({"score": "float32"}),
    "frame of PyTerrier": lambda _: frame(RUN, "qid", "docno", "score").sample(frac=1, random_state=0),
    "rows": lambda _: (ir_measures.ScoredDoc(*each) for each in triples(RUN)),
    "TREC": lambda folder: written(folder / "run.txt", TREC_RUN),
    "TREC, gzipped": lambda folder: str(written(folder / "run.trec.gz", TREC_RUN)),
    "JSON": lambda folder: written(folder / "run.json", "\n " + json.dumps(RUN)),
    "JSON, gzipped": lambda folder: written(folder / "run.json.gz", json.dumps(RUN)),
    "JSON of MTEB 2": lambda folder: written(
        folder / "run.json", json.dumps({"mteb_model_meta": {"name": "a"}, "default": {"test": RUN}})
    ),
    "Parquet": lambda folder: as_parquet(frame(RUN, "query_id", "doc_id", "score"), folder / "run.parquet"),
}

JUDGEMENTS: dict[str, Callable[[Path], Any]] = {
    "mapping": lambda _: QRELS,
    "frame": lambda _: frame(QRELS, "query", "document", "grade"),
    "frame with floats": lambda _: frame(QRELS, "query_id", "doc_id", "relevance").astype({"relevance": float}),
    "frame of BEIR": lambda _: frame(QRELS, "query-id", "corpus-id", "score"),
    "frame of PyTerrier": lambda _: frame(QRELS, "qid", "docno", "label"),
    "rows": lambda _: [ir_measures.Qrel(*each) for each in triples(QRELS)],
    "TREC": lambda folder: written(folder / "qrels", TREC_QRELS),
    "TREC, tabs, comment, gzipped": lambda folder: written(folder / "q.gz", "# by hand\n" + TREC_QRELS.replace(" ", "\t")),
    "BEIR": lambda folder: written(folder / "test.tsv", TSV),
    "BEIR without a header, gzipped": lambda folder: written(folder / "test.tsv.gz", TSV.partition("\n")[2]),
    "Parquet": lambda folder: as_parquet(frame(QRELS, "query_id", "doc_id", "score"), folder / "qrels.parquet"),
}


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_every_form_of_a_run_has_the_values_of_the_formulas(run: Callable[[Path], Any], tmp_path: Path) -> None:
    found = beirflow.evaluate(run(tmp_path), QRELS, MEASURES)
    assert found.mean.to_dict() == pytest.approx(BY_HAND, abs=1e-15)
    assert list(found.per_query.index) == ["q1", "q2", "q3"]
    assert list(found.per_query.columns) == MEASURES
    assert (found.per_query.loc["q3"] == 0).all()


@pytest.mark.parametrize("qrels", JUDGEMENTS.values(), ids=JUDGEMENTS)
def test_every_form_of_judgements_has_the_same_values(qrels: Callable[[Path], Any], tmp_path: Path) -> None:
    found = beirflow.evaluate(RUN, qrels(tmp_path), MEASURES)
    assert found.per_query.equals(beirflow.evaluate(RUN, QRELS, MEASURES).per_query)


def test_ids_may_be_integers() -> None:
    found = beirflow.evaluate({1: {10: 1.0, np.int64(2): 1.0}}, frame({"1": {"2": 1}}, "query", "document", "grade"), "MRR@10")
    assert found.mean.to_dict() == {"MRR@10": 1.0}  # "2" is before "10" in descending order of bytes


def test_runs_of_the_pipeline_have_the_numbers_of_its_metrics_bit_for_bit(results_once: Made) -> None:
    results, seen = results_once.results, 0
    for path in results.glob("metrics/*/*.parquet"):
        means, expected = read_json(path.with_suffix(".json")), pd.read_parquet(path).set_index("query_id")
        names = {"system": path.parent.name, "dataset": path.stem}
        run, qrels = (results / pattern(**names) for pattern in (layout.RUN, layout.QRELS))
        found = beirflow.evaluate(run, qrels, list(means["measures"]))
        assert found.mean.to_dict() == means["measures"]
        assert found.per_query.equals(expected.rename_axis("query"))
        if (trec := results / layout.TREC_RUN(**names)).exists():
            seen += 1
            table = pq.read_table(run).to_pandas()
            for form in (trec, table, table.groupby("query_id")[["doc_id", "score"]].apply(lambda of: dict(of.to_numpy()))):
                assert beirflow.evaluate(dict(form) if isinstance(form, pd.Series) else form, qrels).mean.equals(
                    beirflow.evaluate(run, qrels).mean
                )
    assert seen


def test_the_grade_from_which_documents_are_relevant_is_that_of_a_file_that_says_one(tmp_path: Path) -> None:
    table = pa.table({"query_id": ["q1", "q1"], "doc_id": ["d1", "d2"], "score": [1, 2]}, metadata={"relevant_from": "2"})
    pq.write_table(table, tmp_path / "qrels.parquet")
    run = {"q1": {"d1": 2.0, "d2": 1.0}}
    assert beirflow.evaluate(run, tmp_path / "qrels.parquet", "MRR@10").mean["MRR@10"] == 1 / 2
    assert beirflow.evaluate(run, tmp_path / "qrels.parquet", "MRR@10", relevant_from=1).mean["MRR@10"] == 1


BAD_RUNS = {
    "q1 Q0 d1 1 2 tag\n\nq1 Q0 d1 2 1 tag\n": r"run:3: found the document 'd1' again for the query 'q1', as in line 1",
    "nobody Q0 d1 1 2 tag\n": r"run: none of its 1 rows is of a query with judgements, such as 'q1'",
    '{"q1": {"d1": 1, "d1": 2}}': r"run: found the key 'd1' twice in one object of the run; keep one of them",
    '{"q1": {"d1": 1}, "q1": {"d2": 2}}': r"run: found the key 'q1' twice in one object of the run; keep one of them",
    '{"q1": {"d1": NaN}}': r"run: the score of the document 'd1' for the query 'q1' must be a finite number .*, found nan",
    '{"q1": ["d1"]}': r"run: expected a mapping {query: {document: score}}; found \['d1'\] for the query 'q1'",
    '{"en": {"test": {"q1": {"d1": 1}}}, "de": {}}': r"run: found several runs, en, de; give one of them",
}

BAD_QRELS = {
    "q1 0 d1 1\n\nq1 0 d1 2\n": r"qrels:3: found the score 2 for query 'q1' and document 'd1', but line 1 says 1",
    "q1 0 d1 2000\n": r"qrels:1: a score of at most 1000 was expected, found 2000",
    "q1 d1 1\n": r"qrels:1: expected query id, document id and score between tabs, found 'q1 d1 1'",
}


BAD_FILES = [(name, *each) for name, bad in (("run", BAD_RUNS), ("qrels", BAD_QRELS)) for each in bad.items()]


@pytest.mark.parametrize(("name", "content", "message"), BAD_FILES)
def test_a_file_without_a_run_or_judgements_is_refused_with_its_line(
    name: str, content: str, message: str, tmp_path: Path
) -> None:
    path = written(tmp_path / name, content)
    with pytest.raises(DataError, match=message) as caught:
        beirflow.evaluate(*((path, QRELS) if name == "run" else (RUN, path)))
    assert str(caught.value).startswith(str(path))


BAD_VALUES: list[tuple[Any, Any, str]] = [
    ({"q1": {"d1": float("nan")}}, QRELS, "run: the score of the document 'd1' for the query 'q1' must be a finite number"),
    ({"q1": {"d1": 1e39}}, QRELS, "must be a finite number of float32, found 1e[+]39"),
    ({"q1": {"d1": 10**400}}, QRELS, "must be a finite number of float32, found 1000"),
    ({"q1": {"d1": True}}, QRELS, "must be a finite number of float32, found True"),
    ({"q1": {"d1": "1"}}, QRELS, "must be a finite number of float32, found '1'"),
    ({"q1": {1: 1.0, "1": 2.0}}, QRELS, "found the document '1' again for the query 'q1'"),
    ({"q1": {"": 1.0}}, QRELS, "the id of a document must be a text that is not empty, or an integer; found ''"),
    ({1.5: {"d1": 1.0}}, QRELS, "the id of a query must be a text that is not empty, or an integer; found 1.5"),
    ({"\ud800": {"d1": 1.0}}, QRELS, "the id of a query must be a text"),
    (frame(RUN, "query", "document", "value"), QRELS, "expected a mapping .*; found the columns 'query, document, value, extra'"),
    ([1], QRELS, "expected a mapping .*; found list of 1"),
    (7, QRELS, "expected a mapping .*; found 7"),
    ({"q1": {}}, QRELS, "run: the run is empty"),
    (RUN, {}, "qrels: no judgements"),
    (RUN, {"q1": {"d1": 0.5}}, "the grade of the document 'd1' for the query 'q1' must be an integer, found 0.5"),
    (RUN, {"q1": {"d1": None}}, "must be an integer, found None"),
    ("no-such-run.trec", QRELS, "no-such-run.trec: expected a file with a run, found no such file"),
    (RUN, "/", "/: expected a file with judgements, found a folder"),
]


@pytest.mark.parametrize(("run", "qrels", "message"), BAD_VALUES)
def test_values_that_are_no_run_or_no_judgements_are_refused(run: Any, qrels: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        beirflow.evaluate(run, qrels)


@pytest.mark.parametrize(
    ("measures", "message"),
    [
        ("ndcg@10", "'ndcg@10' is no measure .*; did you mean 'NDCG@10'"),
        ("NDCG", "found 'NDCG', expected a name and a cutoff"),
        (["NDCG@10", "P@0"], "found 'P@0', expected a name and a cutoff from 1 to 100,000"),
        ("P@100001", "found 'P@100001'"),
        ([], "measures: found none"),
    ],
)
def test_an_unknown_measure_is_refused(measures: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        beirflow.evaluate(RUN, QRELS, measures)


def test_what_the_numbers_do_not_show_is_in_the_notes() -> None:
    found = beirflow.evaluate(RUN, QRELS, ["NDCG@3"])
    assert found.notes == (
        "1 of 3 judged queries have no result and count 0.",
        "1 rows of the run are of queries without judgements and do not count.",
        "1 results have the id of their query; they count. Remove them if they are the query itself.",
    )
    assert all(note in repr(found) and note in found._repr_html_() for note in found.notes)
    cut = {query: {f"d{i}": float(-i) for i in range(5)} for query in QRELS}
    assert beirflow.evaluate(cut, QRELS, ["P@5"]).notes == ()
    expected = ("The results of most queries end at rank 5, before the cutoff of P@6, MRR@10.",)
    assert beirflow.evaluate(cut, QRELS, ["P@5", "P@6", "MRR@10"]).notes == expected
    (note,) = beirflow.evaluate({"q": {"MED-1": 1.0}}, {"q": {"1": 1}}, "P@1").notes
    assert note.startswith("No result is a judged document: do both have the same ids? 'MED-1', and '1' is judged.")
    (note,) = beirflow.evaluate({"q": {"1": 1.0}}, {"q": {"1": 1}}, "P@1", relevant_from=2).notes
    assert note.startswith("None of the 1 judged documents is relevant")
    (note,) = beirflow.evaluate({"q": {"1": 1.0, "2": 1 + 1e-12}}, {"q": {"1": 1}}, "P@1").notes
    assert note.startswith("1 scores that differ are equal as float32")


def test_ranks_of_a_file_that_contradict_its_scores_are_noted(tmp_path: Path) -> None:
    run = written(tmp_path / "run", "q1 Q0 d1 1 1 t\nq1 Q0 d2 2 2 t\n")
    assert any(note.startswith("The ranks of 1 queries contradict") for note in beirflow.evaluate(run, QRELS).notes)


def run_command(*arguments: object) -> int:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return command.main(parser.parse_args([str(each) for each in arguments]))


def test_the_command_prints_the_means(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, qrels = written(tmp_path / "a run", TREC_RUN), written(tmp_path / "qrels", TREC_QRELS)
    assert run_command(run, qrels, "--measures", "NDCG@10", "P@1") == 0
    printed = capsys.readouterr()
    assert printed.out == f"NDCG@10\tall\t{BY_HAND['NDCG@10']:.4f}\nP@1    \tall\t0.0000\n"
    assert "1 of 3 judged queries have no result and count 0." in printed.err
    assert run_command(run, qrels, "--measures", "MRR@10", "--per-query") == 0
    assert re.findall(r"^MRR@10\t(\w+)\t(.*)$", capsys.readouterr().out, re.MULTILINE) == [
        *(("all", "0.3333"), ("q1", "0.5000"), ("q2", "0.5000"), ("q3", "0.0000"))
    ]


def test_the_command_writes_every_digit_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, qrels = written(tmp_path / "run", TREC_RUN), written(tmp_path / "qrels", TREC_QRELS)
    assert run_command(run, qrels, "--json", "--per-query", "--relevant-from", 2, "-o", tmp_path / "out/values.json") == 0
    assert capsys.readouterr().out == ""
    content, expected = json.loads((tmp_path / "out/values.json").read_text()), beirflow.evaluate(RUN, QRELS, relevant_from=2)
    assert content["mean"] == expected.mean.to_dict()
    assert content["queries"] == 3
    assert pd.DataFrame(content["per_query"]).T.rename_axis("query").equals(expected.per_query)
    assert content["notes"] == list(expected.notes)


def test_the_command_refuses_a_file_that_is_no_run_and_writes_nothing(tmp_path: Path) -> None:
    qrels = written(tmp_path / "qrels", TREC_QRELS)
    with pytest.raises(BeirflowError, match=r"qrels:1: expected a line of a TREC run"):
        run_command(qrels, qrels, "-o", tmp_path / "out.json")
    assert [path.name for path in tmp_path.iterdir()] == ["qrels"]


@pytest.mark.parametrize("name", ["run", "qrels"])
def test_the_command_does_not_write_over_what_it_evaluates(tmp_path: Path, name: str) -> None:
    run, qrels = written(tmp_path / "run", TREC_RUN), written(tmp_path / "qrels", TREC_QRELS)
    with pytest.raises(BeirflowError, match=r"this is a file that is evaluated; name another"):
        run_command(run, qrels, "-o", tmp_path / "." / name)
    assert (Path(run).read_text(), Path(qrels).read_text()) == (TREC_RUN, TREC_QRELS)
