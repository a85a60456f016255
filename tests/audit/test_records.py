"""Facts of records and of the manifest that were changed, with every digest made again; sources and models are here."""

import io
from typing import Any

import pandas as pd
import pytest
from forger import FAILED, Forger, named, put

MANIFEST, METRICS, RUN = "manifest.json", "metrics/tiny/small.json", "runs/tiny/small.json"


OF_METRICS = {
    "seconds": put("seconds", "index", value=0.0001),
    "counts": put("counts", "documents", value=6_000_000),
    "self matches": put("counts", "self_matches_dropped", value=7),
    "tokens": put("counts", "tokens", value=1),
    "split": put("split", value="dev"),
    "official": put("official_data", value=True),
    "negative time": put("seconds", "evaluate", value=-5.0),
}

OF_THE_RUN = {
    "seconds": put("seconds", "index", value=0.0001),
    "tokens": put("counts", "tokens", value=1),
    "torch": put("made", "torch", value="9.9"),
    "device": put("made", "device", value="NVIDIA H100"),
    "precision": put("made", "precision", value="bfloat16"),
    "top_k": put("top_k", value=3),
    "system": put("system", value="second"),
    "bytes": put("bytes", "index", value=1),
    "format": put("format", value=99),
}

OF_THE_CORPUS = {
    "official": put("official", value=True),
    "split": put("split", value="dev"),
    "documents": put("counts", "documents", value=31),
    "distinct": put("counts", "distinct_texts", value=30),
    "positives": put("counts", "positives", value=1),
    "characters": put("characters", "mean", value=1.5),
    "chunks": put("chunks", value=3),
    "footer": put("documents_footer_sha256", value="0" * 64),
    "source": put("source_sha256", "corpus.jsonl", value="0" * 64),
}

OF_THE_MODEL = {
    "revision": put("revision", value="f" * 40),
    "model": put("model", value="openai/better"),
    "weights": put("files", "model.safetensors", value="0" * 64),
}

OF_THE_VECTORS = {
    "precision": put("made", "precision", value="bfloat16"),
    "rows": put("rows", value=7),
    "dim": put("dim", value=7),
    "torch": put("made", "torch", value="9.9"),
    "bytes": put("bytes", "index", value=7),
    "seconds": put("seconds", "index", value=0.0),
    "system": put("system", value="second"),
}

OF_THE_MANIFEST = {
    "weights": put("systems", "tiny", "settings", "weights_sha256", value="0" * 64),
    "revision": put("systems", "tiny", "settings", "revision", value="f" * 40),
    "model": put("systems", "tiny", "settings", "model", value="openai/better"),
    "pooling": put("systems", "tiny", "settings", "pooling", value="cls"),
    "prefix": put("systems", "tiny", "settings", "query_prefix", value="query: "),
    "length": put("systems", "tiny", "settings", "max_length", value=512),
    "similarity": put("systems", "tiny", "settings", "similarity", value="cosine"),
    "family": put("systems", "tiny", "family", value="lexical"),
    "top_k": put("configuration", "top_k", value=1000),
    "precision": put("configuration", "precision", value="bfloat16"),
    "systems": put("configuration", "systems", value=["bge-large"]),
    "datasets": put("configuration", "datasets", value=["msmarco"]),
    "cutoffs": put("configuration", "cutoffs", value=[1, 10]),
    "no cutoffs": put("configuration", "cutoffs", value=[0]),
    "chunks": put("configuration", "chunk_documents", value=1000),
    "unknown key": put("configuration", "better", value=True),
    "self matches": put("datasets", "small", 0, "drop_self_matches", value=False),
    "split": put("datasets", "small", 0, "split", value="dev"),
    "to come": put("written", value="2199-01-01T00:00:00+00:00"),
    "newer": put("format", value=99),
    "forums": put("datasets", "stack", value=[]),
    "custom": put("configuration", "custom", "systems", "tiny", "pooling", value="cls"),
}

EVERY = {
    **{(METRICS, name): edit for name, edit in OF_METRICS.items()},
    **{(RUN, name): edit for name, edit in OF_THE_RUN.items()},
    **{("corpora/small/corpus.json", name): edit for name, edit in OF_THE_CORPUS.items()},
    **{("models/tiny.json", name): edit for name, edit in OF_THE_MODEL.items()},
    **{("embeddings/tiny/small/chunk-1.json", name): edit for name, edit in OF_THE_VECTORS.items()},
    **{(MANIFEST, name): edit for name, edit in OF_THE_MANIFEST.items()},
}


@pytest.mark.parametrize(("name", "fact"), EVERY)
def test_a_fact_that_was_changed_is_found_and_its_file_named(forger: Forger, name: str, fact: str) -> None:
    forger.edit(name, EVERY[name, fact])
    forger.digest_summary_again()
    found = forger.failed()
    assert found, fact
    if name in (METRICS, RUN, "corpora/small/corpus.json"):  # of two that do not agree, another may be named
        assert named(found, name)


def test_a_commit_that_is_not_here_is_a_warning(forger: Forger) -> None:
    forger.edit(MANIFEST, lambda manifest: manifest["repository"].update(commit="deadbeef" * 5, clean=True))
    (found,) = [check for check in forger.checks() if check.name == "the code of the results is known"]
    assert (found.status, "deadbeef" in found.found) == ("warning", True)
    forger.edit(MANIFEST, lambda manifest: manifest["repository"].update(commit="--help", clean=True))
    assert [check.status for check in forger.checks() if check.name == "the code of the results is known"] == ["warning"]


def test_other_versions_than_those_of_the_run_are_a_warning(forger: Forger) -> None:
    forger.edit(MANIFEST, lambda manifest: manifest["environment"]["packages"].update(torch="1.0"))
    assert [check.name for check in forger.noticed()] == ["versions of packages agree"]


def test_the_build_that_torch_names_and_the_package_index_does_not_is_no_other_version(forger: Forger) -> None:
    version = forger.read(MANIFEST)["environment"]["packages"]["torch"].partition("+")[0]
    forger.edit(MANIFEST, lambda manifest: manifest["environment"]["packages"].update(torch=version))
    forger.edit(RUN, lambda record: record["made"].update(torch=f"{version}+cu130"))
    assert "versions of packages agree" not in [check.name for check in forger.noticed()]
    forger.edit(MANIFEST, lambda manifest: manifest["environment"]["packages"].update(torch=f"{version}+cpu"))
    assert "versions of packages agree" in [check.name for check in forger.noticed()]


def test_a_dataset_that_was_left_out_is_found(elsewhere: Forger) -> None:
    """Cherry picking: the hard dataset has never been, says every file but the configuration."""
    manifest = elsewhere.read(MANIFEST)
    del manifest["datasets"]["small"]
    manifest["inputs"] = {path: digest for path, digest in manifest["inputs"].items() if not path.endswith("/small.json")}
    elsewhere.edit(MANIFEST, lambda record: record.update(datasets=manifest["datasets"], inputs=manifest["inputs"]))
    elsewhere.digest_summary_again()
    assert any("datasets" in check.found for check in named(elsewhere.failed(), MANIFEST))


def test_a_forum_that_was_left_out_is_found(elsewhere: Forger) -> None:
    def one_forum(metrics: dict[str, Any]) -> None:
        forum = elsewhere.read("metrics/tiny/stack-tex.json")
        metrics.update(
            inputs={path: digest for path, digest in metrics["inputs"].items() if "tex" in path},
            **{key: forum[key] for key in ("measures", "counts", "seconds")},
            forums=["stack-tex"],
        )

    elsewhere.edit("metrics/tiny/stack.json", one_forum)
    elsewhere.edit("metrics/second/stack.json", one_forum)
    elsewhere.edit(MANIFEST, lambda manifest: manifest["datasets"]["stack"].pop(0))
    elsewhere.digest_summary_again()
    assert any("corpora of stack" in check.found for check in named(elsewhere.failed(), MANIFEST))


def test_averages_and_times_are_made_again_when_the_catalogue_is_another(elsewhere: Forger) -> None:
    elsewhere.edit(MANIFEST, published_sha256="0" * 64)
    (warning,) = [check for check in elsewhere.noticed() if "summary" in check.name]
    assert (warning.status, "another catalogue" in warning.found) == ("warning", True)
    text = elsewhere.path("summary.csv").read_text()
    for column in ("NDCG@10", "seconds", "documents"):
        table = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
        table.loc[len(table) - 1, column] = "0.9999"
        elsewhere.replace("summary.csv", table.to_csv(index=False).encode())
        elsewhere.digest_again()
        assert [check.status for check in named(elsewhere.failed(), "summary.csv")] == [FAILED], column


def test_other_line_ends_of_the_summary_are_found(elsewhere: Forger) -> None:
    elsewhere.replace("summary.csv", elsewhere.path("summary.csv").read_bytes().replace(b"\n", b"\r\n"))
    elsewhere.digest_again()
    assert named(elsewhere.failed(), "summary.csv")


@pytest.mark.parametrize("name", [RUN, METRICS, "corpora/small/corpus.json", "models/tiny.json", MANIFEST])
def test_a_record_whose_own_digest_is_wrong_is_found(elsewhere: Forger, name: str) -> None:
    own = elsewhere.path(name).read_bytes()
    place = own.rindex(b'"record_sha256": "') + 18
    elsewhere.replace(name, own[:place] + b"0" * 64 + own[place + 64 :])
    elsewhere.digest_again(but=name)
    assert named(elsewhere.failed(), name)
