"""The manifest names what the summary was made from, by digest; and the main measure."""

from pathlib import Path

from beirflow.config.load import load_experiment
from beirflow.config.main_measure import cutoff_of, main_measure
from beirflow.core.digests import file_digest
from beirflow.core.records import Job, read_json, write_json
from beirflow.evaluation.conclusion import Configured, conclude
from results_writer import write_metrics

CONFIGURATION = {
    *("baseline", "carbon_intensity", "chunk_documents", "custom", "cutoffs", "data_dir", "datasets", "device"),
    *("extra_judgements", "jobs_per_gpu", "keep_archives", "keep_representations", "main_measure", "mirrors"),
    *("near_duplicates", "precision", "sample_queries", "sample_seed", "systems", "token_budget", "top_k"),
}
"""Keys of the configuration that a manifest states."""


def test_files_are_named_by_digest_and_the_configuration_is_whole_without_passwords(tmp_path: Path) -> None:
    write_json(tmp_path / "published.yaml", {})
    means_path, _ = write_metrics(tmp_path, "contriever", "scifact", {"NDCG@10": [0.25]}, official_data=None)
    mirrors = ["http://me:se@cret@host/beir?token=secret"]
    config = {"systems": ["contriever"], "datasets": ["scifact", "cqadupstack"], "mirrors": mirrors}
    said = conclude(
        means_paths=[means_path],
        summary_path=str(tmp_path / "summary.csv"),
        published_path=str(tmp_path / "published.yaml"),
        configured=Configured(load_experiment(config).configured, [], ""),
        main_measure="NDCG@10",
        trained_on={"contriever": {}},
        manifest_path=str(tmp_path / "manifest.json"),
        job=Job(tmp_path, "summarize", "abc"),
    )
    assert "scifact (test), documents: 100, queries: 1\n" in said
    manifest = read_json(tmp_path / "manifest.json")
    metrics = "metrics/contriever/scifact.json"
    assert manifest["inputs"] == {metrics: file_digest(tmp_path / metrics)}
    assert manifest["outputs"] == {"summary.csv": file_digest(tmp_path / "summary.csv")}
    assert manifest["published_sha256"] == file_digest(tmp_path / "published.yaml")
    assert [manifest[key] for key in ("path", "job", "code")] == ["manifest.json", "summarize", "abc"]
    assert manifest["configuration"]["mirrors"] == ["http://host/beir?token=…"]
    assert manifest["configuration"]["top_k"] == 1000
    assert set(manifest["configuration"]) == CONFIGURATION
    assert manifest["systems"]["contriever"]["family"] == "dense"
    assert manifest["systems"]["contriever"]["settings"]["revision"]
    forums = [corpus["name"] for corpus in manifest["datasets"]["cqadupstack"]]
    assert forums[:2] == ["cqadupstack-android", "cqadupstack-english"]


def test_the_main_measure_is_the_configured_one_or_ndcg_at_10_or_at_the_nearest_cutoff() -> None:
    assert main_measure({"cutoffs": [10, 100], "main_measure": "Recall@100"}) == "Recall@100"
    for cutoffs, cutoff in (([1, 10, 100], 10), ([1, 20], 1), ([5, 15], 5), ([100], 100), ([8, 11], 11)):
        assert main_measure({"cutoffs": cutoffs}) == f"NDCG@{cutoff}"
        assert cutoff_of(main_measure({"cutoffs": cutoffs, "main_measure": None})) == cutoff
