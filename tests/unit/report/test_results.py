"""Results in a folder as frames: what is in the files, and what is refused."""

import shlex
import shutil
from pathlib import Path

import pandas as pd
import pytest

import beirflow
from beirflow.config import readers
from beirflow.config.load import load_experiment
from beirflow.core import layout
from beirflow.core.csv_files import read_named_csv
from beirflow.core.errors import DataError
from beirflow.core.records import Job, write_record
from report_files import results_of
from results_maker import Made

SYSTEMS = ["bm25", "bm25-multifield"]


@pytest.fixture
def changed(demo_results: Made, tmp_path: Path) -> Path:
    """A copy of the results that a test may change, below a folder with a blank."""
    return Path(shutil.copytree(demo_results.results, tmp_path / "my results"))


def test_tables_are_those_of_the_files_and_means_those_of_the_summary(demo_results: Made) -> None:
    results, folder = beirflow.Results(demo_results.results), demo_results.results
    for frame, name in (
        (results.summary, "summary.csv"),
        (results.significance, "significance.csv"),
        (results.uncertainty, "uncertainty.csv"),
        (results.costs, "cost.csv"),
    ):
        assert frame.equals(read_named_csv(str(folder / name)))
    assert list(results.means.index) == [(name, "kitchen") for name in SYSTEMS]
    summary = pd.read_csv(folder / "summary.csv").set_index(["system", "dataset"])
    for name in ("NDCG@10", "P@10", "Hole@10"):
        assert results.means[name].to_dict() == summary.loc[[*results.means.index], name].to_dict()
    assert repr(results) == f"Results({str(folder)!r}): 2 systems: bm25, bm25-multifield; 1 datasets: kitchen"


def test_scores_of_queries_are_those_of_scores_parquet_with_or_without_it(changed: Path) -> None:
    expected = pd.read_parquet(changed / "scores.parquet").rename(columns={"query_id": "query"})
    key = ["system", "dataset", "query", "measure"]
    (changed / "scores.parquet").rename(changed.parent / "scores.parquet")
    scores = beirflow.Results(changed).scores
    assert list(scores.columns) == [*key, "value"]
    assert {str(kind) for kind in scores[key].dtypes} == {"category"}
    assert scores.astype(dict.fromkeys(key, str)).equals(expected.astype(dict.fromkeys(key, str)))
    shutil.move(changed.parent / "scores.parquet", changed / "scores.parquet")
    shutil.rmtree(changed / "metrics")
    again = beirflow.Results(changed).scores
    assert again.astype(dict.fromkeys(key, str)).equals(expected.astype(dict.fromkeys(key, str)))


def test_hits_have_ranks_grades_and_texts(demo_results: Made) -> None:
    results, folder = beirflow.Results(demo_results.results), demo_results.results
    hits = results.hits("bm25", "kitchen")
    run = pd.read_parquet(folder / "runs/bm25/kitchen.parquet")
    assert hits[["query", "document", "score", "rank"]].to_numpy().tolist() == run.to_numpy().tolist()
    qrels = pd.read_parquet(folder / "corpora/kitchen/qrels.parquet").set_index(["query_id", "doc_id"])["score"].to_dict()
    judged = hits.dropna(subset="grade")
    assert {(query, document): grade for query, document, grade in judged[["query", "document", "grade"]].to_numpy()} == {
        pair: grade for pair, grade in qrels.items() if pair in {*zip(run["query_id"], run["doc_id"], strict=True)}
    }
    assert 0 < len(judged) < len(hits)
    few = results.hits("bm25", "kitchen", k=2, texts=True)
    assert few[[*hits.columns]].equals(hits[hits["rank"] <= 2].reset_index(drop=True))
    demo = Path(__file__).parents[2] / "data/demo/kitchen"
    documents, queries = (pd.read_json(demo / f"{name}.jsonl", lines=True, dtype=False) for name in ("corpus", "queries"))
    expected = few.merge(documents, left_on="document", right_on="_id", suffixes=("", "_expected"))
    assert (expected["text"] == expected["text_expected"]).all()
    assert (expected["title"] == expected["title_expected"].fillna("")).all()
    assert few["query_text"].tolist() == few["query"].map(queries.set_index("_id")["text"]).tolist()


def test_what_is_not_given_is_that_of_the_configuration(demo_results: Made) -> None:
    results, experiment = beirflow.Results(demo_results.results), load_experiment(demo_results.config)
    assert results.baseline == readers.baseline(experiment) == "bm25"
    assert results.main_measure == experiment.main_measure
    assert results.rows == experiment.chosen_rows == {"kitchen": ["kitchen"]}
    assert results.blocks == readers.blocks(experiment)
    assert results.system_names == list(experiment.chosen_systems) == SYSTEMS
    assert beirflow.Results(demo_results.results, blocks=[]).blocks == []
    # Datasets of the same texts are one block, and one that a system was trained on is none.
    corpora = {name: [{"row": name, "part_of": None, "shares_texts_with": None}] for name in ("a", "b", "c", "d.dev")}
    corpora["b"][0]["shares_texts_with"], corpora["d.dev"][0]["part_of"] = "a", "a"
    summary = pd.DataFrame(
        {"system": "x", "dataset": [*corpora], "split": "test", "trained_on": ["no", "no", "train", "not stated"]}
    )
    assert results_of(manifest={"datasets": corpora}, summary=summary).blocks == [["a", "b", "d.dev"]]


def test_a_job_reads_no_other_file_than_its_inputs(demo_results: Made) -> None:
    job = beirflow.Results(demo_results.results, input_paths=[str(demo_results.results / "summary.csv")])
    assert job.summary.equals(beirflow.Results(demo_results.results).summary)
    assert (job.references, job.records) == (None, {})
    with pytest.raises(LookupError, match="whose rule does not name it as an input"):
        job.significance  # noqa: B018


def test_a_missing_file_is_named_with_the_command_that_makes_it(changed: Path) -> None:
    results = beirflow.Results(changed)
    with pytest.raises(DataError, match=r"systems\.csv is not there\. Make it, with the --configfile") as caught:
        results.systems  # noqa: B018
    assert shlex.split(str(caught.value))[-1] == f"{changed}/systems.csv"
    assert "snakemake --cores 8 -- '/" in str(caught.value)
    shutil.rmtree(changed / "corpora")
    assert list(results.hits("bm25", "kitchen").columns) == ["query", "document", "score", "rank"]
    with pytest.raises(DataError, match=r"corpora/kitchen/queries\.parquet is not there"):
        results.hits("bm25", "kitchen", texts=True)


def test_a_run_that_is_not_there_is_refused_with_those_that_are(changed: Path) -> None:
    job, path = Job(changed, code="a"), layout.METRICS(system="bm25", dataset="stack")
    facts = {"system": "bm25", "dataset": "stack", "forums": ["stack-tex", "stack-unix"], "measures": {"NDCG@10": 0.5}}
    write_record(changed / path, job, inputs={}, outputs={}, **facts)
    results = beirflow.Results(changed)
    assert results.means.loc[("bm25", "stack"), "NDCG@10"] == 0.5
    for names, message in {
        ("bm52", "kitchen"): "no run of 'bm52' on 'kitchen'; 2 systems with runs: bm25, bm25-multifield; did you mean 'bm25'",
        ("bm25", "kichen"): "no run of 'bm25' on 'kichen'; 1 datasets with runs: kitchen; did you mean 'kitchen'",
        ("bm25", "stack"): "no run of 'bm25' on 'stack', which is the mean of stack-tex, stack-unix; name one of these",
    }.items():
        with pytest.raises(DataError, match=message):
            results.hits(*names)


def test_a_folder_without_results_is_refused_with_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    (tmp_path / ".hidden").touch()
    for folder, found in {
        tmp_path: "1 entries: notes.txt",
        tmp_path / "nowhere": "no such folder",
        tmp_path / "notes.txt": "a file",
    }.items():
        with pytest.raises(DataError, match=r"expected a folder of results, with summary\.csv or metrics/") as caught:
            beirflow.Results(folder)
        assert str(caught.value).startswith(f"{folder}: ")
        assert str(caught.value).endswith(f"; found {found}")


@pytest.mark.parametrize(
    ("path", "read"),
    [
        ("metrics/bm25/kitchen.json", lambda results: results.means),
        ("metrics/bm25/kitchen.parquet", lambda results: results.scores),
        ("runs/bm25/kitchen.parquet", lambda results: results.hits("bm25", "kitchen")),
        ("corpora/kitchen/qrels.parquet", lambda results: results.hits("bm25", "kitchen")),
        ("corpora/kitchen/queries.parquet", lambda results: results.hits("bm25", "kitchen", texts=True)),
    ],
)
def test_a_file_that_was_changed_is_refused(path: str, read: object, changed: Path) -> None:
    content = bytearray((changed / path).read_bytes())
    content[len(content) // 2] ^= 1
    (changed / path).write_bytes(content)
    with pytest.raises(DataError, match="the file was damaged or replaced after it was written"):
        read(beirflow.Results(changed))  # type: ignore[operator]
