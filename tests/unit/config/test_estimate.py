"""Expected costs: nothing for finished files, the measured cost for similar ones, and never more disk than said."""

import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from beirflow.config.datasets import corpus_size
from beirflow.config.estimate import Plan, estimate, highest_disk
from beirflow.config.families import FAMILIES
from beirflow.config.hours import Device, seconds_of
from beirflow.config.load import load_experiment
from beirflow.core.layout import record_of
from beirflow.core.records import Job, write_record
from beirflow.run.overall import START
from results_maker import Made, make_results
from results_of_families import families_config

GB = 1e9
HUB = {"model": "some/model", "revision": "0" * 40}


def disk_of(config: dict[str, Any], results: Path) -> dict[str, float]:
    return highest_disk(Plan(load_experiment(config), results), cores=8)


def finish(results: Path, system: str, dataset: str, documents: int, queries: int, **seconds: float) -> None:
    """The records that a run of BM25 leaves."""
    job, counts = Job(results), {"documents": documents, "queries": queries}
    corpus = {"characters": {"mean": 700.0}, "counts": counts}
    write_record(results / f"corpora/{dataset}/corpus.json", job, inputs={}, outputs={}, **corpus)
    write_record(results / f"runs/{system}/{dataset}.json", job, inputs={}, outputs={}, counts={"tokens": 0}, sizes={"index": 9})
    write_record(results / f"metrics/{system}/{dataset}.json", job, inputs={}, outputs={}, counts=counts, seconds=seconds)


def test_all_of_beir_with_vectors_of_768_dimensions_fits_into_40_gigabytes_where_little_is_kept(tmp_path: Path) -> None:
    kept = disk_of({"systems": "contriever"}, tmp_path)
    assert kept["representations"] == pytest.approx(33.9e6 * 768 * 4, rel=0.01)
    assert kept["archives"] == pytest.approx(11.2 * GB, rel=0.01)
    gone = disk_of({"systems": "contriever", "keep_representations": False, "keep_archives": False}, tmp_path)
    assert sum(gone.values()) < 40 * GB
    # Those of fever, whose texts climate-fever has too, and a chunk of 500,000.
    assert gone["representations"] == pytest.approx((5_416_568 + 491_213) * 768 * 4, rel=0.01)
    # A forum downloads the archive of all once.
    assert disk_of({"systems": "bm25", "datasets": "cqadupstack"}, tmp_path)["archives"] == 5_343_728_040


def test_what_is_done_costs_nothing_and_what_is_alike_costs_in_proportion(tmp_path: Path) -> None:
    finish(tmp_path, "bm25", "nfcorpus", 1000, 100, index=10.0, search=1.0, evaluate=2.0)
    experiment = load_experiment({"systems": ["bm25", "bm25-multifield"], "datasets": ["nfcorpus", "scifact"]})
    plan = Plan(experiment, tmp_path)
    done, left, other, again = plan.parts
    assert (done.seconds, done.jobs, done.done) == (0.0, 0, 1.0)
    device, rules = Device("two cores", 3e11), ("index_chunk", "search_index", "merge_chunks", "evaluate_run")
    of_each = [
        sum(seconds_of(experiment, rule, "bm25", plan.sizes[name], device) for rule in rules) for name in ("nfcorpus", "scifact")
    ]
    assert left.seconds == pytest.approx(13.0 * of_each[1] / of_each[0] + START * left.jobs)
    assert [*plan.paces] == ["bm25"]
    assert other.jobs == left.jobs
    assert again.jobs == left.jobs - 1  # what BM25 indexed is not indexed again
    assert again.index == 0


def test_the_text_says_what_is_not_known_and_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finish(tmp_path, "bm25", "nfcorpus", 3633, 323, index=1.0)
    config = {"systems": ["bm25", "contriever", "splade-v3", "deepct-bert-base"], "datasets": ["nfcorpus", "scifact"]}
    text = estimate(experiment=load_experiment(config), results=tmp_path, configured=" --configfile my.yaml")
    expected = [
        "Time: ",
        "It is a guess within a factor of a few for contriever, splade-v3, deepct-bert-base.",
        "Download: 3 MB, and the models of contriever, splade-v3, deepct-bert-base where",
        "Jobs: 40 with the summary",
        "free here",
        f"--cores all --configfile my.yaml -- {tmp_path}/metrics/{{contriever,splade-v3,deepct-bert-base}}/nfcorpus.json",
    ]
    assert [part for part in expected if part not in text] == []
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=10**9))
    config = {"systems": ["bm25", "contriever", "splade-v3"], "keep_archives": False}
    text = estimate(experiment=load_experiment(config), results=tmp_path)
    assert re.search(r"splade-v3 +0%", text)
    assert "THIS MAY NOT FIT. Set keep_representations: false, or write elsewhere" in text


def test_a_collection_that_is_not_here_is_planned_from_its_counts_with_its_bill(tmp_path: Path) -> None:
    config = {"systems": ["bm25", "contriever", "colbertv2"], "datasets": "msmarco-v2.1-segmented", "device": "cpu"}
    text = estimate(experiment=load_experiment(config), results=tmp_path)
    assert "113,520,750" in text
    assert "Jobs: 1,379 with the summary" in text  # 228 chunks, each represented and searched; the corpus is prepared once
    assert not re.search("(?i)price|bill", text)
    experiment = load_experiment(config | {"prices": {"hour": 3600.0, "gigabyte_month": 2.0}})
    parts = Plan(experiment, tmp_path).parts
    stored = [2 * part.index / GB for part in parts]
    assert stored[1] == pytest.approx(2 * 113_520_750 * 768 * 4 / GB, rel=0.01)
    text = estimate(experiment=experiment, results=tmp_path)
    rows = [f"{part.seconds:,.2f} +{each:,.2f}\n" for part, each in zip(parts, stored, strict=True)]
    assert [each for each in (*rows, f"Bill: time .*, a month of indexes {sum(stored):,.2f}") if not re.search(each, text)] == []
    text = estimate(experiment=load_experiment(config | {"prices": {"gigabyte_month": 2.0}}), results=tmp_path)
    assert f"Bill: a month of indexes {sum(stored):,.2f}" in text


def test_an_estimate_elsewhere_has_nothing_of_this_machine(tmp_path: Path) -> None:
    config: dict[str, Any] = {"systems": ["bm25", "contriever"], "datasets": "nq", "prices": {"hour": 3600.0}}
    experiment = load_experiment(config)
    text = estimate(experiment=experiment, results=tmp_path, configured=" --configfile my.yaml", on="4xH100")
    assert re.search(
        r"Time: .* on 4 × H100, one job after another on each GPU or on the CPU, without downloads.\nIt is a guess ", text
    )
    # Two jobs share a GPU with so much memory.
    assert f"snakemake --cores all --configfile my.yaml --resources gpu=8 -- {tmp_path}/summary.csv" in text
    assert not re.search("this CPU|free here|FIT|To measure", text)
    one, four, six, many = (Plan(experiment, tmp_path, f"{gpus}xH100").parts[1].seconds for gpus in (1, 4, 6, 600))
    assert 2.5 < one / four < 4
    assert six == many  # no more than there are chunks


def test_a_corpus_of_ones_own_is_as_large_as_its_file(tmp_path: Path, small: Path) -> None:
    config = {"systems": "bm25", "datasets": ["mine.sample-3"], "custom": {"datasets": {"mine": {"path": str(small)}}}}
    experiment = load_experiment(config)
    size = corpus_size(experiment, tmp_path, "mine.sample-3")
    assert (size.documents, size.queries, size.download, size.prepared) == (30, 3, 0, False)
    assert size.words == pytest.approx((small / "corpus.jsonl").stat().st_size / 30 / 7.0)


def test_what_a_model_adds_to_documents_is_made_once_for_all_systems_that_use_it(tmp_path: Path) -> None:
    written, systems = {**HUB, "queries": 3}, {"weighed": {"family": "lexical", "weights": HUB}}
    systems |= {name: {"family": "lexical", "expansion": {**written, "join": name}} for name in ("append", "field")}
    config = {"systems": [*systems, "bm25"], "datasets": ["scifact"], "custom": {"systems": systems}}
    experiment = load_experiment(config)
    weighed, append, field, plain = Plan(experiment, tmp_path).parts
    assert (weighed.jobs, append.jobs, field.jobs) == (plain.jobs + 1, plain.jobs + 1, plain.jobs)
    assert append.seconds > 100 * field.seconds
    assert weighed.seconds > 10 * plain.seconds
    [name] = experiment.expansions.of_system("append")
    write_record(tmp_path / f"expansions/{name}/scifact/chunk-0.json", Job(tmp_path), inputs={}, outputs={})
    found = Plan(experiment, tmp_path).parts[1]
    assert (found.seconds, found.jobs) == (field.seconds, field.jobs)


def test_a_training_has_jobs_and_bytes_of_its_own(tmp_path: Path) -> None:
    systems = {"encoder": HUB, "genq": {"base": "encoder", "train": {"generator": HUB, "documents": 2000}}}
    config = {"systems": ["encoder", "genq"], "datasets": ["scifact"], "custom": {"systems": systems}}
    plain, trained = Plan(load_experiment(config), tmp_path).parts
    assert trained.jobs == plain.jobs + 2  # queries of its one chunk, and the training
    assert disk_of(config, tmp_path)["models"] == 4 * 5e8  # the one that is made, and its checkpoint
    assert trained.seconds > 2 * plain.seconds


def test_late_interaction_stores_a_vector_for_each_token(tmp_path: Path) -> None:
    # 8.8 million passages of 56 words: 1.3 tokens a word, 128 dimensions of 2 bytes.
    config = {"systems": "colbertv2", "datasets": "msmarco"}
    assert disk_of(config, tmp_path)["representations"] == pytest.approx(8_841_823 * 56 * 1.3 * 256, rel=0.02)
    write_record(tmp_path / "tokens/colbertv2/msmarco/chunk-0.json", Job(tmp_path), inputs={}, outputs={}, rows=1)
    [part] = Plan(load_experiment(config), tmp_path).parts
    assert 0 < part.done < 1


@pytest.fixture(scope="module")
def families(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("families")
    config = families_config(folder, systems=["words", "masked", "tokens"], chunk_documents=40)
    return make_results(folder / "results", config)


@pytest.mark.parametrize("system", ["words", "masked", "tokens"])
def test_the_bytes_of_a_corpus_follow_from_its_first_chunk(families: Made, tmp_path: Path, system: str) -> None:
    experiment, results = load_experiment(families.config), tmp_path / "results"
    shutil.copytree(families.results, results)
    made = experiment.systems[system]
    pattern = FAMILIES[made.family].searched(made.settings)[0]
    names = {**experiment.in_paths(system, "small"), "dataset": "small"}
    chunks = [results / pattern(**names, chunk=chunk) for chunk in range(experiment.chunks("small"))]
    stored = sum(path.stat().st_size for path in chunks)
    for path in (*map(record_of, chunks[1:]), results / f"metrics/{system}/small.json"):
        path.unlink()
    part = next(part for part in Plan(experiment, results).parts if (part.system, part.corpus) == (system, "small"))
    assert part.done == pytest.approx(1 / len(chunks))
    # A file of so few documents is half header; on NFCorpus the estimate is within 1 %.
    assert part.index == pytest.approx(stored, rel=0.15)
