"""The summary: a row a dataset, averages that say of what, and published scores where they may be compared."""

import csv
import hashlib
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.core.records import write_json
from beirflow.data.catalogue.catalogue import load_catalogue
from beirflow.data.catalogue.schema import CATALOGUE
from beirflow.evaluation.scores import read_means
from beirflow.evaluation.summary import COMPARED, ending_early, summarize, summary_table
from beirflow.evaluation.terminal import WIDTH, for_terminal
from beirflow.report.leaderboard import scores_table

MEASURES = {"NDCG@10": 0.5, "Recall@100": 0.75, "MAP@100": 0.4, "R_cap@100": 0.8, "MRR@10": 0.6, "P@10": 0.1, "Hole@10": 0.3}
FIFTEEN = list(yaml.safe_load((CATALOGUE / "datasets.yaml").read_text(encoding="utf-8"))["datasets"])
SECONDS = {"load": 1.0, "queries": 2.0, "index": 10.0, "search": 3.0, "merge": 4.0, "evaluate": 5.0}

Rows = dict[tuple[str, str], dict[str, str]]


class Results:
    """Metrics in a folder, and the summary of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.paths: dict[tuple[str, str], str] = {}

    def add(self, system: str, dataset: str, *, ndcg: float = 0.5, queries: int = 10, **changes: Any) -> None:
        means = {
            "system": system,
            "dataset": dataset,
            "split": "test",
            "official_data": None,
            "measures": MEASURES | {"F1@10": 0.2, "NDCG@10": ndcg},
            "counts": {"documents": 1000, "queries": queries, "retrieved": 1},
            "seconds": SECONDS,
            "precisions": [],
            "assumed": [],
        }
        self.paths[system, dataset] = str(self.folder / f"metrics/{system}/{dataset}.json")
        write_json(self.paths[system, dataset], means | changes)

    def write(self, main_measure: str = "NDCG@10", kept: Collection[str] = ()) -> str:
        summary_path = str(self.folder / "summary.csv")
        paths = list(self.paths.values())
        return for_terminal(summarize(means_paths=paths, summary_path=summary_path, main_measure=main_measure, kept=kept))

    def summary(self, main_measure: str = "NDCG@10") -> Rows:
        """The rows of ``summary.csv`` as text, by system and dataset."""
        self.write(main_measure)
        with (self.folder / "summary.csv").open(encoding="utf-8", newline="") as stream:
            return {(row["system"], row["dataset"]): row for row in csv.DictReader(stream)}


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results(tmp_path)


def test_a_system_and_dataset_has_a_row_in_full_precision(results: Results) -> None:
    results.add("toy", "scifact", ndcg=1 / 3)
    row = results.summary()["toy", "scifact"]
    assert row["NDCG@10"] == repr(1 / 3)
    assert {name: float(value) for name, value in row.items() if name in (*MEASURES, "F1@10")} == MEASURES | {"NDCG@10": 1 / 3}
    assert (row["split"], row["documents"], row["queries"]) == ("test", "1000", "10")
    assert float(row["documents_per_second"]) == 1000 / 10
    assert float(row["seconds"]) == 1 + 2 + 10 + 3 + 4 + 5
    assert row["metrics_sha256"] == file_digest(results.paths["toy", "scifact"])
    digest = file_digest(results.folder / "summary.csv")
    assert list(results.summary()) == [("toy", "scifact")]  # a single dataset has no average
    assert file_digest(results.folder / "summary.csv") == digest
    # A system that indexes nothing has no speed.
    results.add("toy", "scifact", seconds={"search": 3.0, "merge": 4.0})
    row = results.summary()["toy", "scifact"]
    assert (row["documents_per_second"], float(row["seconds"])) == ("", 7)


def test_an_average_names_its_datasets_and_weighs_them_alike(results: Results) -> None:
    results.add("toy", "scifact", ndcg=0.25, queries=1)
    results.add("toy", "nfcorpus", ndcg=0.75, queries=999)
    summary = results.summary()
    assert list(summary) == [("toy", "scifact"), ("toy", "nfcorpus"), ("toy", "mean of 2 (scifact, nfcorpus)")]
    row = summary["toy", "mean of 2 (scifact, nfcorpus)"]
    assert float(row["NDCG@10"]) == (0.25 + 0.75) / 2
    assert (row["documents"], row["queries"], float(row["documents_per_second"])) == ("2000", "1000", 2000 / 20)
    assert row["split"] == row["published_NDCG@10"] == row["difference_NDCG@10"] == row["source_NDCG@10"] == ""
    digests = "".join(file_digest(path) for path in results.paths.values())
    assert row["metrics_sha256"] == hashlib.sha256(digests.encode()).hexdigest()


FOURTEEN, THIRTEEN = "mean of 14 (BEIR without msmarco)", "mean of 13 (BEIR without msmarco and cqadupstack)"
MEMBERS = [name for name in FIFTEEN if name not in ("msmarco", "cqadupstack")]


def mean_of(*names: str) -> str:
    return f"mean of {len(names)} ({', '.join(names)})"


@pytest.mark.parametrize(
    ("names", "averages"),
    [
        (FIFTEEN, ["mean of 15 (BEIR)", FOURTEEN, THIRTEEN]),
        (FIFTEEN[1:], [FOURTEEN, THIRTEEN]),
        (FIFTEEN[:-1], [mean_of(*FIFTEEN[:-1])]),
        ([*MEMBERS, "mine"], [THIRTEEN, mean_of(*MEMBERS, "mine")]),
    ],
)
def test_averages_of_the_literature_need_all_their_datasets(results: Results, names: list[str], averages: list[str]) -> None:
    values = {name: i / 16 for i, name in enumerate([*FIFTEEN, "mine"])}
    for name in names:
        results.add("toy", name, ndcg=values[name])
    summary = results.summary()
    assert [name for _, name in summary][len(names) :] == averages
    for label in averages:
        members = [name for name in FIFTEEN if f"without {name}" not in label and f"and {name}" not in label]
        members = members if "BEIR" in label else names
        expected = sum(values[name] for name in members) / len(members)
        assert float(summary["toy", label]["NDCG@10"]) == pytest.approx(expected, abs=1e-15)


def test_a_published_score_stands_beside_ours_with_its_source(results: Results) -> None:
    published = {
        ("contriever", "scifact", "NDCG@10"): (0.6493, "pyserini"),
        ("contriever", "msmarco", "NDCG@10"): (0.206, "paper"),
        ("contriever", "trec-covid", "Recall@100"): (0.0368, "pyserini"),
        ("contriever", "webis-touche2020", "NDCG@10"): (0.1668, "pyserini"),
        ("tas-b", "scifact", "NDCG@10"): (0.643, "paper"),
        ("tas-b", "webis-touche2020", "NDCG@10"): (0.162, "paper"),  # both of version 2 of the judgements
    }
    for system, dataset, _ in published:
        results.add(system, dataset, ndcg=0.75)
    summary = results.summary()
    for (system, dataset, measure), (value, source) in published.items():
        row = summary[system, dataset]
        assert (float(row[f"published_{measure}"]), row[f"source_{measure}"]) == (value, source)
        assert float(row[f"difference_{measure}"]) == pytest.approx(0.75 - value, abs=1e-15)
        assert float(row[f"as_source_{measure}"]) == 0.75
    assert summary["contriever", "scifact"]["conventions_NDCG@10"] == "pyserini-vectors"


def test_a_score_stands_as_its_source_evaluates_and_under_the_name_that_it_prints(results: Results) -> None:
    under = {"anserini": {"NDCG@10": 0.3218, "Recall@100": 0.25, "Recall@1000": 0.37}}
    results.add("bm25", "nfcorpus", conventions=under, measures=MEASURES | {"NDCG@10": 0.3206, "Recall@1000": 0.36})
    results.add("contriever", "trec-covid")
    row = results.summary()["bm25", "nfcorpus"]
    for measure, ours, theirs, printed in (("NDCG@10", 0.3206, 0.3218, 0.3218), ("Recall@1000", 0.36, 0.37, 0.3704)):
        assert [float(row[f"{kind}{measure}"]) for kind in ("", "as_source_", "published_")] == [ours, theirs, printed]
        assert row[f"conventions_{measure}"] == "anserini"
    means = read_means(results.paths["contriever", "trec-covid"])
    of_recall = [each for each in load_catalogue().references("contriever", "trec-covid") if each.measure == "Recall@100"]
    values = {each.source: each.ours(means) for each in of_recall}
    assert (values["pyserini"], values["paper"]) == (MEASURES["Recall@100"], MEASURES["R_cap@100"])


def test_a_published_score_has_the_tolerance_of_the_precision_in_which_ours_was_made(results: Results) -> None:
    for system, precisions, expected in (("contriever", ["bfloat16"], 0.00385), ("bm25", [], 0.00005)):
        results.add(system, "scifact", precisions=precisions)
        assert float(results.summary()[system, "scifact"]["tolerance_NDCG@10"]) == pytest.approx(expected, abs=1e-12)


def test_a_score_that_must_not_be_compared_leaves_its_columns_blank(results: Results) -> None:
    results.add("contriever", "msmarco")  # for columns at all
    for system, dataset, measure, official in (
        ("tas-b", "scifact", "Recall@100", None),  # the paper is silent
        ("my-system", "scifact", "NDCG@10", True),
        ("deepct", "scifact", "NDCG@10", True),  # called as in the paper, with whatever settings
        ("contriever", "my-corpus", "NDCG@10", None),
        ("contriever", "scifact", "NDCG@10", False),
        ("contriever", "cqadupstack", "NDCG@10", False),
    ):
        results.add(system, dataset, official_data=official)
        row = results.summary()[system, dataset]
        assert [row[f"{kind}{measure}"] for kind in COMPARED] == [""] * len(COMPARED)


def test_one_dataset_has_measures_in_columns_rounded_and_without_digests(results: Results) -> None:
    results.add("other", "scifact")
    results.add("contriever", "scifact", ndcg=2 / 3)
    about, header, row, other, *below = results.write().splitlines()
    assert about == "scifact (test), documents: 1,000, queries: 10"
    assert header.split() == ["NDCG@10", "published", "Δ", "Recall@100", "MAP@100", "R_cap@100", "MRR@10", "P@10", "Hole@10"]
    assert row.split()[:5] == ["contriever", "0.6667", "0.6493", f"{2 / 3 - 0.6493:+.4f}", "0.7500"]
    assert other.split()[:3] == ["other", "0.5000", "0.7500"]  # the best first
    assert "seconds" in below[-1]
    assert not {"metrics_sha256", "source_NDCG@10", "pyserini"} & set("\n".join(below).split())


@pytest.mark.parametrize(("as_source", "shown"), [(0.32181, ["0.3218"]), (0.32056, [])])
def test_our_value_as_the_source_evaluates_is_shown_where_it_is_another(as_source: float, shown: list[str]) -> None:
    row = {"system": "bm25", "dataset": "nfcorpus", "split": "test", "documents": 3633, "queries": 323, "NDCG@10": 0.32055}
    row |= {"published_NDCG@10": 0.3218, "as_source_NDCG@10": as_source, "difference_NDCG@10": -0.00125}
    _, header, line = for_terminal(pd.DataFrame([row])).splitlines()[:3]
    assert line.split() == ["bm25", "0.3206", "0.3218", *shown, "-0.0013"]
    assert ("as source" in header) == bool(shown)
    both = pd.DataFrame([row, row | {"dataset": "scifact", "as_source_NDCG@10": 0.32055}, {**row, "system": "other"}])
    assert ("  as source" in for_terminal(both)) == bool(shown)


def test_datasets_are_columns_of_the_main_measure_and_the_best_mean_is_first(results: Results) -> None:
    for number in range(13):
        for dataset in ("scifact", "nfcorpus", "fiqa", "arguana"):
            results.add(f"encoder-{number}", dataset, ndcg=(number + len(dataset)) / 32)
    results.add("contriever", "scifact", ndcg=0.64929)
    results.add("contriever", "nfcorpus", ndcg=0.001)
    header, *rows = (line.split() for line in results.write().split("\nmean of")[0].splitlines())
    assert header == ["NDCG@10", "mean", "of", "4", "mean", "of", "2", "scifact", "nfcorpus", "fiqa", "arguana"]
    assert [row[0] for row in rows] == [f"encoder-{number}" for number in reversed(range(13))] + ["contriever", "Δ"]
    assert rows[0] == ["encoder-12", "0.5781", "0.5938", "0.6250", "0.5000", "0.5938"]
    assert rows[-1] == ["Δ", "published", "+0.0000", f"{0.001 - 0.3173:+.4f}"]  # and not −0.0000


def test_many_datasets_are_blocks_of_columns_that_fit_a_line_each_with_the_systems(results: Results) -> None:
    for dataset in FIFTEEN[:12]:
        results.add("contriever", dataset, precisions=["bfloat16"])
        results.add("multilingual-e5-large-instruct", dataset, precisions=["bfloat16", "float32"])
        for number in range(10):
            results.add("bm25" if not number else f"encoder-{number}", dataset, precisions=[])
    printed = results.write()
    assert max(map(len, printed.splitlines())) <= WIDTH
    *blocks, last = (block.splitlines() for block in printed.split("\nmean of")[0].split("\n\n"))
    assert all([row.split()[0] for row in block] == [row.split()[0] for row in last] for block in blocks)
    assert len(last) == 1 + 12 + 3  # a header, the systems, and differences of three of them
    assert " ".join(block[0] for block in (*blocks, last)).split()[1:4] == ["mean", "of", "12"]
    assert [name for block in (*blocks, last) for name in block[0].split() if name in FIFTEEN] == FIFTEEN[:12]
    assert last[0].split()[-1] == "precision"
    assert printed.endswith("documents_per_second, seconds")
    summary = results.summary()
    mean = mean_of(*FIFTEEN[:12])
    precisions = [summary[name, mean]["precision"] for name in ("contriever", "multilingual-e5-large-instruct", "bm25")]
    assert precisions == ["bfloat16", "bfloat16; float32", ""]


def test_what_was_assumed_has_a_column_and_is_printed_once_below_the_table(results: Results) -> None:
    results.add("toy", "scifact", assumed=["toy: labels are swapped", "toy: a is b"])
    results.add("toy", "nfcorpus", assumed=["toy: a is b"])
    results.add("other", "scifact", assumed=[])
    summary = results.summary()
    assert summary["toy", "scifact"]["assumed"] == "toy: labels are swapped; toy: a is b"
    assert summary["toy", "nfcorpus"]["assumed"] == "toy: a is b"
    assert summary["toy", "mean of 2 (scifact, nfcorpus)"]["assumed"] == "toy: labels are swapped; toy: a is b"
    assert summary["other", "scifact"]["assumed"] == ""
    printed = results.write()
    said = "Assumed (not specified in the model files or the catalogue):"
    assert printed.endswith(f"\n\n{said}\n  - toy: labels are swapped\n  - toy: a is b")
    assert (printed.count("toy: a is b"), "assumed" in printed) == (1, False)
    # Read from the file, as the table of a run with nothing to do.
    assert for_terminal(pd.read_csv(results.folder / "summary.csv")) == printed


def test_the_terminal_leaves_the_table_as_it_is() -> None:
    def of(names: list[str], values: list[float | None]) -> pd.DataFrame:
        splits = [None if "mean" in name else "test" for name in names]
        return pd.DataFrame({"system": "s", "dataset": names, "split": splits, "NDCG@10": values, "metrics_sha256": "x"})

    table = of(["a", "b"], [2 / 3, None])
    before = table.copy(deep=True)
    assert for_terminal(table).split() == ["s", "NDCG@10", "a", "0.6667", "b"]
    pd.testing.assert_frame_equal(table, before)
    # The datasets of a mean are below the table, unless two means would have one name.
    lines = for_terminal(of(["a", "b", "mean of 2 (a, b)"], [0.5, 0.25, 0.375])).splitlines()
    assert [line.split() for line in lines[4:]] == [["mean", "of", "2", "0.3750"], ["mean", "of", "2:", "a,", "b"]]
    names = ["mean of 2 (a, b)", "mean of 2 (b, c)"]
    lines = for_terminal(of(names, [0.5, 0.25])).splitlines()
    assert [line.rpartition("  ")[0].strip() for line in lines[2:]] == names


def test_training_data_are_shown_by_pair_and_a_zero_shot_mean_leaves_out_what_anybody_was_trained_on(results: Results) -> None:
    for system in ("seen", "unseen", "secret"):
        for place, name in enumerate(("nq", "scifact", "fiqa")):
            results.add(system, name, ndcg=place / 4)
    trained_on = {"seen": {"nq": "train"}, "unseen": {}, "secret": None}
    paths = list(results.paths.values())
    table = summary_table(paths, trained_on=trained_on)
    assert list(table.columns[:4]) == ["system", "dataset", "split", "trained_on"]
    of = {(row["system"], row["dataset"]): row for row in table.to_dict("records")}
    every, unseen = "mean of 3 (nq, scifact, fiqa)", "zero-shot mean of 2 (scifact, fiqa)"
    assert [of["seen", name]["trained_on"] for name in ("nq", "scifact", every, unseen)] == ["train", "no", "1 of 3", "0 of 2"]
    assert [of["unseen", name]["trained_on"] for name in ("nq", every, unseen)] == ["no", "0 of 3", "0 of 2"]
    assert [of["secret", name]["trained_on"] for name in ("nq", every, unseen)] == ["not stated"] * 3
    assert [of["unseen", name]["NDCG@10"] for name in (every, unseen)] == [0.25, 0.375]
    # Nothing is said where nothing is known, and no mean is named twice where nobody was trained on anything.
    assert "trained_on" not in summary_table(paths)
    assert not [name for _, name in results.summary() if "zero-shot" in name]
    assert "zero-shot mean of 2: scifact, fiqa" in for_terminal(table)


def test_a_dataset_has_its_own_measure_and_a_mean_of_several_is_refused_unless_its_authors_take_it(results: Results) -> None:
    lengths = {name: MEASURES | {"NDCG@1": 0.25} for name in ("needle", "passkey")}
    others = ("narrativeqa", "qmsum", "summ-screen-fd", "2wikimqa")
    for name in (*others, *lengths):
        results.add("toy", f"longembed.{name}", measures=lengths.get(name, MEASURES))
    rows = results.summary()
    assert (rows["toy", "longembed.needle"]["own_measure"], rows["toy", "longembed.needle"]["own_score"]) == ("NDCG@1", "0.25")
    assert rows["toy", "longembed.qmsum"]["own_measure"] == ""
    (mean,) = (row for (_, name), row in rows.items() if name.startswith("mean of"))
    assert mean["own_measure"] == "NDCG@10, NDCG@1"
    assert float(mean["own_score"]) == pytest.approx((4 * 0.5 + 2 * 0.25) / 6)
    results.add("toy", "followir.core17", measures=MEASURES | {"p-MRR@1000": 0.1})
    results.add("toy", "mfollowir.fas")
    rows = results.summary()
    assert rows["toy", "mfollowir.fas"]["own_score"] == ""  # its cutoff is not configured
    last = [row for (_, name), row in rows.items() if name.startswith("mean of 8")]
    assert [row["own_measure"] for row in last] == ["not averaged: NDCG@10, NDCG@1, p-MRR@1000"]
    assert last[0]["own_score"] == ""


def test_lengths_and_the_share_of_cut_documents_are_beside_the_scores(results: Results) -> None:
    counts = {"documents": 1000, "queries": 10, "retrieved": 1}
    results.add("toy", "scifact", counts={**counts, "characters": 50_000, "truncated_documents": 250})
    results.add(
        "ce", "scifact", counts={**counts, "characters": 50_000, "truncated_documents": 1, "truncated_pairs": 5, "pairs": 20}
    )
    results.add("bm25", "scifact", counts=counts)
    rows = results.summary()
    shown = [
        (rows[name, "scifact"]["characters_per_document"], rows[name, "scifact"]["truncated_share"]) for name in ("toy", "ce")
    ]
    assert shown == [("50.0", "0.25"), ("50.0", "0.25")]
    assert rows["bm25", "scifact"]["truncated_share"] == ""


def test_a_run_with_fewer_documents_a_query_than_a_cutoff_is_named_with_their_number(results: Results) -> None:
    counts = {"documents": 1000, "queries": 10, "retrieved": 1}
    for system, found in (("bm25", (1000, 1000)), ("rerank", (50, 1000)), ("tiny", (20, 5))):
        for dataset, most in zip(("scifact", "nfcorpus"), found, strict=True):
            results.add(system, dataset, counts={**counts, "retrieved_limit": most})
    table, printed = results.summary(), " ".join(results.write().split())
    mean = next(dataset for _, dataset in table if "mean of 2" in dataset)
    known = {key: row["most_documents"] for key, row in table.items()}
    assert known == {
        **dict.fromkeys([("bm25", "scifact"), ("bm25", "nfcorpus"), ("bm25", mean), ("rerank", "nfcorpus")], ""),
        **dict.fromkeys([("rerank", "scifact"), ("rerank", mean)], "50"),
        ("tiny", "scifact"): "20",
        ("tiny", "nfcorpus"): "5",
        ("tiny", mean): "5",
    }
    said = "of runs with fewer documents per query, which are not tested:"
    assert f"Recall@100 {said} rerank (50), tiny (5, 20)." in printed
    assert f"NDCG@10 {said} tiny (5)." in printed
    assert "published Recall@100 of" not in printed
    table = pd.read_csv(results.folder / "summary.csv")
    assert ending_early(table, "NDCG@5") == {}
    assert ending_early(table, "NDCG@10") == {("tiny", "nfcorpus"): 5, ("tiny", mean): 5}
    results.paths.clear()
    for dataset in ("scifact", "nfcorpus"):
        results.add("bm25", dataset, counts={**counts, "retrieved_limit": 1000})
    assert "most_documents" not in results.summary()["bm25", "scifact"]
    assert "fewer documents per query" not in results.write()


def test_seeds_have_a_row_of_their_mean_with_the_deviation_beside_their_own_rows(results: Results) -> None:
    samples = ["fiqa.sample-5", "fiqa.sample-5-seed-7"]
    for seed, values in {1: (0.25, 0.5), 2: (0.5, 0.25), 9: (0.75, 0.75)}.items():
        for dataset, ndcg in zip(samples, values, strict=True):
            results.add(f"genq-seed-{seed}", dataset, ndcg=ndcg)
    results.add("bm25", samples[0], ndcg=0.5)
    rows, mean = results.summary(), f"mean of 2 seeds of fiqa.sample-5 ({', '.join(samples)})"
    over = "genq (mean of 3 seeds)"
    assert [name for system, name in rows if system == over] == [*samples, mean]
    assert [rows[over, name]["seeds"] for name in (*samples, mean)] == ["3"] * 3
    found = [(float(rows[over, name]["NDCG@10"]), float(rows[over, name]["deviation_NDCG@10"])) for name in (*samples, mean)]
    assert found == [(0.5, 0.25), (0.5, 0.25), (0.5, pytest.approx(np.std([0.375, 0.375, 0.75], ddof=1)))]
    assert (rows[over, samples[0]]["documents"], rows[over, mean]["queries"]) == ("1000", "20")
    of_samples = rows["genq-seed-1", mean]
    assert (of_samples["seeds"], float(of_samples["NDCG@10"])) == ("2", 0.375)
    assert float(of_samples["deviation_NDCG@10"]) == pytest.approx(0.25 / 2**0.5)
    assert rows["genq-seed-1", samples[0]]["seeds"] == rows["bm25", samples[0]]["seeds"] == ""
    table = scores_table(pd.read_csv(results.folder / "summary.csv"), "NDCG@10")
    shown = {row[0].text: [f"{cell.text} {cell.below}".rstrip() for cell in row[1:]] for row in table.rows}
    assert shown[over] == ["0.5000 ± 0.2165", "0.5000 ± 0.2500", "0.5000 ± 0.2500"]
    assert shown["genq-seed-9"] == ["0.7500 ± 0.0000", "0.7500", "0.7500"]
    assert ["deviation", "0.2165", "0.2500", "0.2500"] in [line.split() for line in results.write().splitlines()]


LOST = "3 of 9 relevant documents cannot be found by any system: 1 not in the corpus, 2 dropped as self matches"
COUNTED = {"documents": 1000, "queries": 10, "relevant": 9, "relevant_without_document": 1, "relevant_self_match": 2}


def test_relevant_documents_that_no_system_can_find_are_named_where_there_are_some(results: Results) -> None:
    results.add("toy", "whole", counts=COUNTED | {"relevant_without_document": 0, "relevant_self_match": 0})
    assert "unreachable" not in results.summary()["toy", "whole"]
    assert "Relevant documents that no system can find" not in results.write()
    results.add("toy", "mine", counts=COUNTED)
    results.add("toy", "zero", counts=COUNTED | {"relevant": 0, "relevant_without_document": 0, "relevant_self_match": 0})
    summary, shown = results.summary(), " ".join(results.write().split())
    assert summary["toy", "whole"]["unreachable"] == ""
    assert summary["toy", "mine"]["unreachable"].startswith(LOST)
    assert summary["toy", "zero"]["unreachable"] == "no judged document is relevant, so no score means anything"
    mean = summary["toy", "mean of 3 (whole, mine, zero)"]["unreachable"]
    assert mean.startswith(f"mine: {LOST}")
    assert "; zero: no judged document is relevant" in mean
    assert f"Relevant documents that no system can find: - mine: {LOST}" in shown
    # A document that is its own query is lost only where self matches are dropped.
    shown = results.write(kept={"mine"})
    assert "mine: 1 of 9 relevant documents cannot be found by any system: 1 not in the corpus" in shown
    assert "self matches" not in shown


def test_a_dataset_without_the_main_measure_is_named(results: Results) -> None:
    results.add("toy", "topics", measures=MEASURES | {"robustness@10": 0.5})
    assert results.summary("robustness@10")["toy", "topics"]["robustness@10"] == "0.5"
    results.add("toy", "none")
    with pytest.raises(DataError, match=r"toy/none\.json: found no robustness@10, the main measure, but NDCG@10, "):
        results.write("robustness@10")
