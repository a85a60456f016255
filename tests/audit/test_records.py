"""Facts of records and of the manifest that were changed, with every digest made again; sources and models are here."""

import io
from dataclasses import asdict
from typing import Any

import pandas as pd
import pytest
from beirflow.audit.chain.facts import as_json
from beirflow.experiment.load import load_experiment
from forger import FAILED, Forger, named, put

MANIFEST, METRICS, RUN = "manifest.json", "metrics/tiny/small.json", "runs/tiny/small.json"
CORPUS, MODEL, VECTORS = "corpora/small/corpus.json", "models/tiny.json", "embeddings/tiny/small/chunk-1.json"

OF_METRICS = {
    "seconds index": (0.0001, '"index": 0.0001'),
    "counts documents": (6_000_000, "documents 6000000"),
    "counts self_matches_dropped": (7, '"self_matches_dropped": 7'),
    "counts tokens": (1, '"tokens": 1'),
    "split": ("dev", "split dev"),
    "official_data": (True, "official_data true"),
}

OF_THE_RUN = {
    "seconds index": (0.0001, '"index": 0.0001}'),
    "counts tokens": (1, '"tokens": 1'),
    "made torch": ("9.9", '"torch": "9.9"'),
    "made device": ("NVIDIA H100", '"device": "NVIDIA H100"'),
    "made precision": ("bfloat16", "precision bfloat16"),
    "top_k": (3, "top_k 3"),
    "system": ("second", "system second"),
    "bytes index": (1, '"index": 1}'),
}

OF_THE_CORPUS = {
    "official": (True, "official true"),
    "split": ("dev", "split dev"),
    "counts documents": (31, "documents 31"),
    "counts distinct_texts": (30, "distinct_texts 30"),
    "counts positives": (1, '"positives": 1'),
    "characters mean": (1.5, '"mean": 1.5'),
    "chunks": (3, "chunks 3"),
    "documents_footer_sha256": ("0" * 64, "documents_footer_sha256 " + "0" * 64),
}

OF_THE_MODEL = {
    "revision": ("f" * 40, "revision " + "f" * 40),
    "model": ("openai/better", "model openai/better"),
    "files model.safetensors": ("0" * 64, "model.safetensors " + "0" * 64),
}

OF_THE_VECTORS = {
    "made precision": ("bfloat16", "precision bfloat16"),
    "rows": (7, "rows 7"),
    "dim": (8, "[7, 8, "),
    "made torch": ("9.9", '"9.9"'),
    "bytes index": (9, 'bytes {"index": 9}'),
    "seconds index": (7e6, '"index": 7000000.'),
    "system": ("second", "system second"),
}

OF_A_SYSTEM = {
    "weights_sha256": ("0" * 64, "weights_sha256 of tiny " + "0" * 64),
    "revision": ("f" * 40, "revision of tiny " + "f" * 40),
    "model": ("openai/better", "model of tiny openai/better"),
    "pooling": ("cls", "pooling of tiny cls"),
    "query_prefix": ("query: ", "query_prefix of tiny query: "),
    "max_length": (512, "max_length of tiny 512"),
    "similarity": ("cosine", "similarity of tiny cosine"),
}

OF_THE_MANIFEST = {
    "configuration top_k": (1000, "1000, by manifest.json"),
    "configuration precision": ("bfloat16", "bfloat16, by manifest.json"),
    "configuration cutoffs": ([1, 10], "and 20 measures"),
    "configuration chunk_documents": (1000, "chunk_documents 1000"),
    "configuration custom systems tiny pooling": ("cls", "pooling of tiny mean"),
    "datasets small 0 drop_self_matches": (False, "drop_self_matches of small false"),
    "datasets small 0 split": ("dev", "split of small dev"),
    "datasets stack": ([], "corpora of stack []"),
}

OF_THE_CHOICE = {
    "configuration systems": (["bge-large"], '["bge-large"], by the configuration'),
    "configuration datasets": (["msmarco"], '["msmarco"], by the configuration'),
}

TOGETHER = [
    *((METRICS, OF_METRICS), (RUN, OF_THE_RUN), (CORPUS, OF_THE_CORPUS), (MODEL, OF_THE_MODEL), (VECTORS, OF_THE_VECTORS)),
    (MANIFEST, {f"systems tiny settings {key}": fact for key, fact in OF_A_SYSTEM.items()}),
    *((MANIFEST, OF_THE_MANIFEST), (MANIFEST, OF_THE_CHOICE)),
]

ALONE = [
    (METRICS, "seconds evaluate", -5.0, "has -5.0 as seconds / evaluate"),
    (RUN, "format", 99, "has the format 99"),
    (CORPUS, "source_sha256 corpus.jsonl", "1" * 64, "1" * 64),
    (MANIFEST, "systems tiny family", "lexical", "family of tiny lexical"),
    (MANIFEST, "configuration cutoffs", [0], "has the cutoffs [0]"),
    (MANIFEST, "configuration better", True, "found 'better'"),
    (MANIFEST, "written", "2199-01-01T00:00:00+00:00", "which is to come"),
    (MANIFEST, "format", 99, "has the format 99"),
]
"""Facts after which others are not compared."""


@pytest.mark.parametrize(("name", "facts"), [*TOGETHER, *((name, {keys: fact}) for name, keys, *fact in ALONE)])
def test_facts_that_were_changed_are_found_and_their_file_named(forger: Forger, name: str, facts: dict[str, Any]) -> None:
    for keys, (value, _) in facts.items():
        forger.edit(name, put(*(int(key) if key.isdigit() else key for key in keys.split()), value=value))
    forger.digest_summary_again()
    failed = forger.failed()
    texts = [f"{check.found}; {check.expected}" for check in failed]
    assert [keys for keys, (_, says) in facts.items() if not any(says in text for text in texts)] == []
    assert named(failed, name) or name == CORPUS


def test_bytes_of_an_index_that_are_said_to_be_of_queries_are_found(elsewhere: Forger) -> None:
    """The sizes of the files stay in all, but those of the index, which costs show, do not."""
    record = "embeddings/tiny/small/chunk-0.json"
    size = elsewhere.read(record)["bytes"]["index"]
    elsewhere.edit(record, put("bytes", value={"queries": size}))
    sizes = elsewhere.read("runs/tiny/small.json")["bytes"]
    elsewhere.edit("runs/tiny/small.json", bytes__index=sizes["index"] - size, bytes__queries=sizes["queries"] + size)
    elsewhere.digest_summary_again()
    (found,) = named(elsewhere.failed(), record)
    assert found.found == f'{record} says bytes {{"queries": {size}}}'


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
    lines = enumerate(text.splitlines(keepends=True))
    twice = "".join(f"{'0.9999' if number else 'NDCG@10'},{line}" for number, line in lines)
    for other in (twice, text.rstrip("\n") + ",0.9999\n"):  # a column that stands twice, a further cell
        elsewhere.replace("summary.csv", other.encode())
        elsewhere.digest_again()
        assert FAILED in [check.status for check in named(elsewhere.failed(), "summary.csv")]


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


def test_another_model_of_an_expansion_with_a_revision_is_found(elsewhere: Forger) -> None:
    """Where a hub has it, its name is no place on a machine, whatever model the system itself has."""
    entries = [
        {"family": "lexical", "expansion": {"model": f"z/t5-{size}", "revision": "a" * 40, "queries": 4}}
        for size in ("base", "large")
    ]
    stated, here = (load_experiment({"systems": "more", "custom": {"systems": {"more": entry}}}) for entry in entries)
    elsewhere.experiment = here
    elsewhere.edit("manifest.json", put("systems", "more", value=as_json(asdict(stated.systems["more"]))))
    elsewhere.edit("manifest.json", put("configuration", "custom", "systems", "more", value=entries[0]))
    elsewhere.digest_again()
    assert any(
        check.found.startswith('manifest.json says expansion of more {"model": "z/t5-base"') for check in elsewhere.failed()
    )
