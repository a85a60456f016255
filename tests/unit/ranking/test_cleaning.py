"""Representations that have been searched may be deleted, and nothing else is."""

from pathlib import Path

from beirflow.core.records import Job, write_record
from beirflow.ranking.cleaning import clean_representations


def test_only_chunks_that_a_run_was_made_from_are_deleted(tmp_path: Path) -> None:
    results, job = tmp_path / "results", Job(tmp_path / "results")
    names = "embeddings/a/d/chunk-0.npy postings/english/d/chunk-0.arrow postings/s/d/weights-0.arrow"
    others_names = (
        "embeddings/a/d/chunk-1.npy embeddings/a/d/chunk-0.json embeddings/a/d/queries.npy"
        " postings/english/d/statistics.parquet corpora/d/documents.parquet"
    )
    searched, others = ([results / name for name in text.split()] for text in (names, others_names))
    outside = tmp_path / "outside.npy"
    outside.write_bytes(b"1234")
    for path in (*searched, *others):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"1234")
    link = results / "embeddings/a/d/chunk-7.npy"
    link.symlink_to(outside)
    (results / "runs/a").mkdir(parents=True)
    inputs = dict.fromkeys((*searched, link, others[2]), "0")
    write_record(results / "runs/a/d.json", job, inputs=inputs, outputs={})
    said = clean_representations(results)
    assert "deleted 3 files" in said
    assert "1 that no run used are kept" in said
    assert [path for path in searched if path.exists()] == []
    assert [path for path in others if not path.exists()] == []
    assert outside.exists()
    assert link.is_symlink()
    assert "deleted 0 files" in clean_representations(results)
