"""Expected costs: nothing for finished files, the measured cost for similar ones, and never more disk than said."""

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from beirflow.config.datasets import corpus_size
from beirflow.config.estimate import estimate, highest_disk
from beirflow.config.expected_cost import STAGES, Part, measured_rates, parts_of
from beirflow.config.experiment import Experiment
from beirflow.config.families import FAMILIES
from beirflow.config.guess import TWO_CORES, Device, device_of, guessed_seconds, job_work, start_warning
from beirflow.config.load import load_experiment
from beirflow.core.layout import record_of
from beirflow.core.records import Job, write_record
from beirflow.run.gpus import Gpu
from beirflow.run.overall import START
from results_maker import Made, make_results
from results_of_families import families_config
from workflow_rules import workflow_rules

GB = 1e9
HUB = {"model": "some/model", "revision": "0" * 40}


def disk_of(config: dict[str, Any], results: Path) -> dict[str, float]:
    experiment = load_experiment(config)
    sizes, parts = left_to_do(experiment, results)
    return highest_disk(experiment, sizes, parts, cores=8)


def left_to_do(experiment: Experiment, results: Path) -> tuple[dict[str, Any], list[Part]]:
    sizes = {name: corpus_size(experiment, results, name) for name in experiment.chosen_datasets}
    rates = {system: measured_rates(experiment, results, system) for system in experiment.needed_systems}
    return sizes, parts_of(experiment, results, sizes, rates)


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
    sizes, parts = left_to_do(experiment, tmp_path)
    done, left, other, again = parts
    assert (done.seconds, done.jobs, done.done) == (0.0, 0, 1.0)
    size = sizes["scifact"]
    index = 10.0 * size.documents * size.words / (1000 * 100)
    search = 1.0 * size.documents * size.queries / (1000 * 100)
    assert left.seconds == pytest.approx(index + search + 2.0 * 300 * 1000 / (100 * 1000) + START * left.jobs)
    assert other.seconds is None
    assert again.jobs == left.jobs - 2  # what BM25 indexed is not indexed again
    assert again.index == 0


def test_the_text_says_what_is_not_known_and_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finish(tmp_path, "bm25", "nfcorpus", 3633, 323, index=1.0)
    config = {"systems": ["bm25", "contriever", "splade-v3", "deepct-bert-base"], "datasets": ["nfcorpus", "scifact"]}
    text = estimate(experiment=load_experiment(config), results=tmp_path, configured=" --configfile my.yaml")
    expected = [
        "Time: ",
        "without downloads, without the preparation",
        "guess, for contriever, deepct-bert-base, splade-v3: by parameters, tokens and this CPU",
        "The time of bm25 is that of nfcorpus.",
        "768 dimensions",
    ]
    expected += [
        "counts as done here; its jobs are listed by: snakemake --cores all --configfile my.yaml --dry-run -- summary",
        "Download: 3 MB, and the models of contriever, splade-v3, deepct-bert-base where",
        "Jobs: 40 with the summary",
        "free here",
    ]
    expected += [
        f"--cores all --configfile my.yaml -- {tmp_path}/metrics/{{contriever,splade-v3,deepct-bert-base}}/nfcorpus.json"
    ]
    assert [part for part in expected if part not in text] == []
    monkeypatch.setattr("beirflow.config.estimate._free", lambda results: 10**9)
    monkeypatch.setattr("os.getloadavg", lambda: (2.0 * (os.cpu_count() or 1), 0.0, 0.0))
    config = {"systems": ["bm25", "contriever", "splade-v3"], "keep_archives": False}
    text = estimate(experiment=load_experiment(config), results=tmp_path)
    assert re.search(r"splade-v3 +all 15 +no", text)
    assert "This machine is busy: " in text
    assert "THIS MAY NOT FIT. Set keep_representations: false, or write elsewhere" in text


def test_a_collection_that_is_not_here_is_planned_from_its_counts_with_its_bill(tmp_path: Path) -> None:
    config = {"systems": ["bm25", "contriever", "colbertv2"], "datasets": "msmarco-v2.1-segmented", "device": "cpu"}
    text = estimate(experiment=load_experiment(config), results=tmp_path)
    assert "113,520,750" in text
    assert "Jobs: 1,379 with the summary" in text  # 228 chunks, each represented and searched; the corpus is prepared once
    assert not re.search("(?i)price|bill", text)
    experiment = load_experiment(config | {"prices": {"hour": 3600.0, "gigabyte_month": 2.0}})
    sizes, parts = left_to_do(experiment, tmp_path)
    seconds = [guessed_seconds(experiment, part, sizes[part.corpus], device_of(experiment)) for part in parts]
    stored = [2 * part.index / GB for part in parts]
    assert stored[1] == pytest.approx(2 * 113_520_750 * 768 * 4 / GB, rel=0.01)
    bill = f"Bill: time {sum(seconds):,.2f}, a month of indexes {sum(stored):,.2f}"
    text = estimate(experiment=experiment, results=tmp_path)
    rows = [f"{a:,.2f} +{b:,.2f}\n" for a, b in zip(seconds, stored, strict=True)]
    assert [each for each in (*rows, bill) if not re.search(each, text)] == []
    text = estimate(experiment=load_experiment(config | {"prices": {"gigabyte_month": 2.0}}), results=tmp_path)
    assert f"Bill: a month of indexes {sum(stored):,.2f}" in text


def test_a_corpus_of_ones_own_is_as_large_as_its_file(tmp_path: Path, small: Path) -> None:
    config = {"systems": "bm25", "datasets": ["mine.sample-3"], "custom": {"datasets": {"mine": {"path": str(small)}}}}
    experiment = load_experiment(config)
    size = corpus_size(experiment, tmp_path, "mine.sample-3")
    assert (size.documents, size.queries, size.download, size.prepared) == (30, 3, 0, False)
    assert size.words == pytest.approx((small / "corpus.jsonl").stat().st_size / 30 / 7.0)


def test_what_a_model_adds_to_documents_costs_in_proportion_and_once_for_all_systems_that_use_it(tmp_path: Path) -> None:
    written, systems = {**HUB, "queries": 3}, {"weighed": {"family": "lexical", "weights": HUB}}
    systems |= {name: {"family": "lexical", "expansion": {**written, "join": name}} for name in ("append", "field")}
    for system in systems:
        finish(tmp_path, system, "nfcorpus", 1000, 100, expand=30.0, search=0.0)
    config = {"systems": [*systems, "bm25"], "datasets": ["nfcorpus", "scifact"], "custom": {"systems": systems}}
    experiment = load_experiment(config)
    sizes, parts = left_to_do(experiment, tmp_path)
    weighed, append, field, plain = (part for part in parts if part.corpus == "scifact")
    size, each = sizes["scifact"], START
    assert append.seconds == pytest.approx(30.0 * size.documents / 1000 + each * append.jobs)
    assert weighed.seconds == pytest.approx(30.0 * size.documents * size.words / (1000 * 100) + each * weighed.jobs)
    assert field.seconds == pytest.approx(each * field.jobs)
    assert (weighed.jobs, append.jobs, field.jobs) == (plain.jobs + 1, plain.jobs + 1, plain.jobs)
    [name] = experiment.expansions.of_system("append")
    write_record(tmp_path / f"expansions/{name}/scifact/chunk-0.json", Job(tmp_path), inputs={}, outputs={})
    found = {part.system: part for part in left_to_do(experiment, tmp_path)[1] if part.corpus == "scifact"}
    assert (found["append"].seconds, found["append"].jobs) == (field.seconds, field.jobs)


def test_a_reranker_that_names_an_encoder_reads_a_document_once_for_a_block_of_queries(tmp_path: Path) -> None:
    both = {"family": "rerank", "first": "bm25", "depth": 100}
    systems = {"apart": {**both, "model": "encoder"}, "pairs": {**both, **HUB}, "encoder": HUB}
    config = {"systems": ["apart", "pairs"], "datasets": "scifact", "custom": {"systems": systems}}
    sizes, parts = left_to_do(load_experiment(config), tmp_path)
    size, read = sizes["scifact"], {part.system: part.tokens for part in parts}
    assert read["apart"] == pytest.approx(1.3 * (2 * size.documents * size.words + 300 * size.query_words))
    assert read["pairs"] == pytest.approx(1.3 * 300 * 100 * (size.words + size.query_words))


def test_a_training_costs_in_proportion_to_its_pairs_and_has_jobs_of_its_own(tmp_path: Path) -> None:
    systems = {"encoder": HUB, "genq": {"base": "encoder", "train": {"generator": HUB, "documents": 2000}}}
    finish(tmp_path, "genq", "nfcorpus", 1000, 100, expand=30.0, train=50.0)
    finish(tmp_path, "encoder", "nfcorpus", 1000, 100, search=0.0)
    config = {"systems": ["encoder", "genq"], "datasets": ["nfcorpus", "scifact"], "custom": {"systems": systems}}
    _, parts = left_to_do(load_experiment(config), tmp_path)
    plain, trained = (part for part in parts if part.corpus == "scifact")
    assert trained.jobs == plain.jobs + 2  # queries of its one chunk, and the training
    assert disk_of(config, tmp_path)["models"] == 4 * 5e8  # the one that is left, and its checkpoint
    assert trained.seconds == pytest.approx((30.0 + 50.0) * 2000 / 1000 + START * trained.jobs)


def test_late_interaction_stores_a_vector_for_each_token(tmp_path: Path) -> None:
    # 8.8 million passages of 56 words: 1.3 tokens a word, 128 dimensions of 2 bytes.
    config = {"systems": "colbertv2", "datasets": "msmarco"}
    assert disk_of(config, tmp_path)["representations"] == pytest.approx(8_841_823 * 56 * 1.3 * 256, rel=0.02)
    write_record(tmp_path / "tokens/colbertv2/msmarco/chunk-0.json", Job(tmp_path), inputs={}, outputs={}, rows=1)
    [part] = left_to_do(load_experiment(config), tmp_path)[1]
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
    part = next(part for part in left_to_do(experiment, results)[1] if (part.system, part.corpus) == (system, "small"))
    assert part.done == pytest.approx(1 / len(chunks))
    # A file of so few documents is half header; on NFCorpus the estimate is within 1 %.
    assert part.index == pytest.approx(stored, rel=0.15)


def test_a_chunk_is_expected_to_take_what_its_documents_are(tmp_path: Path) -> None:
    experiment = load_experiment({"systems": "contriever", "datasets": ["nq", "scifact"]})
    jobs = {
        i: ("encode_chunk", {"system": "contriever", "dataset": name, "chunk": "0"}) for i, name in ((1, "nq"), (2, "scifact"))
    }
    jobs |= {i: (rule, {"dataset": "scifact"}) for i, rule in ((3, "evaluate_run"), (5, "measure_latency"))}
    found = job_work(experiment, tmp_path, jobs | {4: ("summarize", {})})
    assert found[1].documents == 2_681_468 / 6
    assert found[2].documents == 5_183
    assert found[1].seconds > 20 * found[2].seconds > 20 * found[3].seconds
    assert (found[3].evaluates, found[3].documents, found[4].seconds) == (True, 0, START)
    assert found[5].seconds == 60 + START


def test_a_record_that_cannot_be_read_stops_no_run(tmp_path: Path) -> None:
    record = tmp_path / "corpora/scifact/corpus.json"
    record.parent.mkdir(parents=True)
    record.write_text("{")
    experiment = load_experiment({"systems": "bm25", "datasets": "scifact"})
    assert job_work(experiment, tmp_path, {1: ("index_chunk", {"dataset": "scifact"})})[1].documents == 5_183


def test_a_training_is_expected_to_take_what_its_documents_are_at_most_those_that_are_drawn(tmp_path: Path) -> None:
    experiment = load_experiment({"systems": "bm25", "datasets": ["nq", "scifact"]})
    jobs = {i: ("train_encoder", {"system": "genq", "dataset": name}) for i, name in enumerate(("nq", "scifact"))}
    found = job_work(experiment, tmp_path, jobs)
    assert found[0].seconds > 5 * found[1].seconds > 100
    assert found[0].seconds < 100_000


CHUNKED = {name: family for name, family in FAMILIES.items() if family.represents}


@pytest.mark.parametrize("name", CHUNKED)
def test_progress_counts_the_documents_and_the_time_of_every_family_that_stores_chunks(tmp_path: Path, name: str) -> None:
    family = CHUNKED[name]
    assert family.searches
    experiment = load_experiment({"systems": "bm25", "datasets": ["nq", "scifact"]})
    rules = [family.represents.rule, family.searches.rule]
    jobs = {2 * i + j: (rule, {"dataset": name}) for i, rule in enumerate(rules) for j, name in enumerate(("nq", "scifact"))}
    large, small, large_search, small_search = (job_work(experiment, tmp_path, jobs)[number] for number in range(4))
    assert (large.documents, small.documents) == (2_681_468 / 6, 5_183)
    assert large.seconds > small.seconds > START
    assert large_search.seconds > small_search.seconds > START
    assert large_search.documents == 0


@pytest.mark.parametrize("system", ["contriever", "all-minilm-l6-v2", "splade-v3", "colbertv2", "bm25"])
@pytest.mark.parametrize("gpu", [[], ["NVIDIA H100 80GB HBM3"]])
def test_progress_and_estimate_agree_on_the_time_of_a_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str, gpu: list[str]
) -> None:
    monkeypatch.setattr("beirflow.config.guess.list_gpus", lambda: [Gpu(0, name, "GPU-0", "GPU-0", "GPU-0") for name in gpu])
    monkeypatch.setattr("beirflow.config.guess.os.cpu_count", lambda: 2)
    experiment = load_experiment({"systems": system, "datasets": "nq"})
    sizes, (part,) = left_to_do(experiment, tmp_path)
    size, jobs, family = sizes["nq"], dict[int, tuple[str, dict[str, str]]](), experiment.family(system)
    for stage in (*family.stages, *(STAGES[rule] for rule in ("merge_chunks", "evaluate_run"))):
        for _ in range(size.chunks if stage.chunked else 1):
            jobs[len(jobs)] = stage.rule, {"system": system, "dataset": "nq"}
    planned = sum(each.seconds for each in job_work(experiment, tmp_path, jobs).values())
    assert 1 / 2.5 < planned / guessed_seconds(experiment, part, size, device_of(experiment)) < 2.5


def test_every_stage_is_a_rule() -> None:
    assert set(STAGES) <= set(workflow_rules())


def test_a_guess_has_the_time_of_what_models_add_to_documents(tmp_path: Path) -> None:
    systems = ["bm25", "deepct-bert-base", "doct5query-t5-base"]
    sizes, parts = left_to_do(experiment := load_experiment({"systems": systems, "datasets": "scifact"}), tmp_path)
    size = sizes["scifact"]
    bm25, weighed, written = (guessed_seconds(experiment, part, size, Device("two cores", TWO_CORES)) for part in parts)
    assert weighed - bm25 - START == pytest.approx(STAGES["weigh_words"].word * size.documents * size.words)
    assert written - bm25 - START == pytest.approx(STAGES["write_queries"].word * size.documents * size.words)


def test_the_time_of_a_system_that_has_not_run_is_guessed_from_parameters_tokens_and_the_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = load_experiment({"systems": "contriever"})
    sizes, parts = left_to_do(experiment, tmp_path)
    tokens = sum(part.tokens or 0 for part in parts)
    pairs = sum(size.queries * size.documents for size in sizes.values())
    known = ("NVIDIA H100 80GB HBM3", 989e12, 3.35), ("NVIDIA L40S", 362e12, 0.864), ("NVIDIA L4", 121e12, 0.3)
    for name, peak, bandwidth in (*known, ("Quadro", 125e12, 0.6)):
        gpu = Gpu(0, name, "GPU-0", "GPU-0", "GPU-0")
        monkeypatch.setattr("beirflow.config.guess.list_gpus", lambda gpu=gpu: [gpu])
        device = device_of(experiment)
        assert device.name == name
        seconds = sum(guessed_seconds(experiment, part, sizes[part.corpus], device) for part in parts)
        jobs = sum(part.jobs for part in parts)
        searched = 2.1e-10 * 4.8 / bandwidth * pairs
        assert seconds == pytest.approx(2 * 1.1e8 * tokens / (0.22 * peak) + searched + jobs * START)
        warning = start_warning(experiment, tmp_path, 1e6, " --configfile my.yaml")
        assert (f" on {name} (guess)" in warning) == (seconds >= 7200)
    assert start_warning(experiment, tmp_path, 60.0, "") == ""
    on_cpu = load_experiment({"systems": "contriever", "device": "cpu"})
    assert device_of(on_cpu).name.startswith("this CPU with ")
    assert "days on this CPU" in start_warning(on_cpu, tmp_path, 1e6, "")
