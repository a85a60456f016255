"""Facts of records and of the manifest that were changed, with every digest made again; sources and models are here."""

import io
from dataclasses import asdict
from typing import Any

import pandas as pd
import pytest

from beirflow.audit.again.summary_check import check_summary
from beirflow.audit.checks import NOT_CHECKED, Check
from beirflow.audit.chain.facts import as_json
from beirflow.audit.facts import provenance
from beirflow.audit.facts.provenance import check_provenance
from beirflow.config.load import load_experiment
from forger import FAILED, PASSED, WARNING, Forger, named, put

MANIFEST, METRICS, RUN = "manifest.json", "metrics/tiny/small.json", "runs/tiny/small.json"

Facts = dict[str, tuple[Any, str]]
"""By keys of a record, a forged value, and what the audit says of it."""

OF_RECORDS: dict[str, Facts] = {
    "metrics/second/small.json": {
        "seconds index": (0.0001, '"index": 0.0001'),
        "counts documents": (6_000_000, "documents 6000000"),
        "counts self_matches_dropped": (7, '"self_matches_dropped": 7'),
        "counts tokens": (1, '"tokens": 1'),
        "split": ("dev", "split dev"),
        "official_data": (True, "official_data true"),
    },
    "runs/tiny/more.json": {
        "seconds index": (0.0001, '"index": 0.0001}'),
        "counts tokens": (1, '"tokens": 1'),
        "made torch": ("9.9", '"torch": "9.9"'),
        "made device": ("NVIDIA H100", '"device": "NVIDIA H100"'),
        "made precision": ("bfloat16", "precision bfloat16"),
        "top_k": (3, "top_k 3"),
        "system": ("second", "system second"),
        "bytes index": (1, '"index": 1}'),
    },
    "corpora/stack-tex/corpus.json": {
        "official": (True, "official true"),
        "split": ("dev", "split dev"),
        "counts documents": (31, "documents 31"),
        "counts distinct_texts": (30, "distinct_texts 30"),
        "counts positives": (1, '"positives": 1'),
        "characters mean": (1.5, '"mean": 1.5'),
        "chunks": (3, "chunks 3"),
        "documents_footer_sha256": ("0" * 64, "documents_footer_sha256 " + "0" * 64),
    },
    "models/tiny.json": {
        "revision": ("f" * 40, "revision " + "f" * 40),
        "model": ("openai/better", "model openai/better"),
        "files model.safetensors": ("0" * 64, "model.safetensors " + "0" * 64),
    },
    "embeddings/second/small/chunk-1.json": {
        "made precision": ("bfloat16", "precision bfloat16"),
        "rows": (7, "rows 7"),
        "dim": (8, "[7, 8, "),
        "bytes index": (9, 'bytes {"index": 9}'),
        "system": ("tiny", "system tiny"),
    },
    "metrics/tiny/stack-android.json": {"seconds evaluate": (-5.0, "has -5.0 as seconds / evaluate")},
    "runs/second/stack-tex.json": {"format": (99, "has the format 99")},
    "embeddings/second/more/chunk-1.json": {"made torch": ("9.9", '"9.9"'), "seconds index": (7e6, '"index": 7000000.')},
    "corpora/more/corpus.json": {"source_sha256 corpus.jsonl": ("1" * 64, "1" * 64)},
}

OF_SETTINGS: dict[str, Facts] = {
    MANIFEST: {
        "systems tiny settings weights_sha256": ("0" * 64, "weights_sha256 of tiny " + "0" * 64),
        "systems tiny settings revision": ("f" * 40, "revision of tiny " + "f" * 40),
        "systems tiny settings model": ("openai/better", "model of tiny openai/better"),
        "systems tiny settings pooling": ("cls", "pooling of tiny cls"),
        "systems tiny settings query_prefix": ("query: ", "query_prefix of tiny query: "),
        "systems tiny settings max_length": (512, "max_length of tiny 512"),
        "systems tiny settings similarity": ("cosine", "similarity of tiny cosine"),
        "systems second family": ("lexical", "family of second lexical"),
        "datasets small 0 drop_self_matches": (False, "drop_self_matches of small false"),
        "datasets small 0 split": ("dev", "split of small dev"),
        "datasets stack": ([], "corpora of stack []"),
    }
}

OF_THE_CONFIGURATION: dict[str, Facts] = {
    MANIFEST: {
        "configuration top_k": (1000, "1000, by manifest.json"),
        "configuration precision": ("bfloat16", "bfloat16, by manifest.json"),
        "configuration cutoffs": ([1, 10], "and 22 measures"),
        "configuration chunk_documents": (1000, "chunk_documents 1000"),
        "configuration custom systems tiny pooling": ("cls", "pooling of tiny mean"),
        "configuration systems": (["bge-large"], '["bge-large"], by the configuration'),
        "configuration datasets": (["msmarco"], '["msmarco"], by the configuration'),
    }
}

ALONE: list[dict[str, Facts]] = [
    {MANIFEST: {"configuration cutoffs": ([0], "has the cutoffs [0]")}},
    {MANIFEST: {"written": ("2199-01-01T00:00:00+00:00", "which is to come")}},
    {MANIFEST: {"format": (99, "has the format 99")}},
]
"""Facts after which nothing else is compared."""


@pytest.mark.parametrize("forged", [OF_RECORDS, OF_SETTINGS, OF_THE_CONFIGURATION, *ALONE])
def test_facts_that_were_changed_are_found_and_their_file_named(forger: Forger, forged: dict[str, Facts]) -> None:
    for name, facts in forged.items():
        for keys, (value, _) in facts.items():
            forger.edit(name, put(*(int(key) if key.isdigit() else key for key in keys.split()), value=value))
    forger.digest_summary_again()
    failed = forger.failed()
    texts = {name: [f"{check.found}; {check.expected}" for check in failed if of_record(check, name)] for name in forged}
    missed = [
        (name, keys)
        for name, facts in forged.items()
        for keys, (_, says) in facts.items()
        if not any(says in text for text in texts[name])
    ]
    assert missed == []


def of_record(check: Check, name: str) -> bool:
    """Test whether a check is about a record; also by what runs sum up of vectors, and by the measures of the cutoffs."""
    by_its_run = name.startswith("embeddings/") and name.replace("embeddings", "runs").rpartition("/")[0] in check.found
    of_measures = name == MANIFEST and (MANIFEST in check.expected or "measures" in check.expected)
    return name in check.files or by_its_run or of_measures


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


def test_a_key_of_the_configuration_that_nothing_here_defines_is_named_and_fails_nothing(forger: Forger) -> None:
    forger.edit(MANIFEST, put("configuration", "better", value=True))
    forger.digest_summary_again()
    checks = forger.checks()
    assert [check.found for check in checks if check.status == FAILED] == []
    says = "better: keys of the configuration that need the extension that defines them"
    assert [check.status for check in checks if says in check.found] == [NOT_CHECKED]


def test_a_commit_that_is_not_here_is_a_warning(forger: Forger) -> None:
    for commit in ("deadbeef" * 5, "--help"):
        forger.edit(MANIFEST, lambda manifest, commit=commit: manifest["repository"].update(commit=commit, clean=True))
        (found,) = [check for check in check_provenance(forger.followed()) if check.name == "the code of the results is known"]
        assert (found.status, commit in found.found) == ("warning", True)


def test_other_versions_than_those_of_the_run_are_a_warning(forger: Forger) -> None:
    forger.edit(MANIFEST, lambda manifest: manifest["environment"]["packages"].update(torch="1.0"))
    assert [check.name for check in forger.noticed()] == ["versions of packages agree"]


def test_a_record_of_other_code_is_found_where_the_checkout_is_at_the_commit(
    forger: Forger, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = {"commit": "c" * 40, "clean": True}
    monkeypatch.setattr(provenance, "code_state", lambda: state)
    forger.edit(MANIFEST, put("repository", value=state))
    name = "records were written by the code of the commit"
    for others in ((), ("metrics/tiny/stack-tex.json",)):
        for other in others:
            forger.edit(other, put("code", value="0" * 16))
        (check,) = [check for check in check_provenance(forger.followed()) if check.name == name]
        assert (check.status, check.files) == (FAILED if others else PASSED, others)


def test_the_build_that_torch_names_and_the_package_index_does_not_is_no_other_version(forger: Forger) -> None:
    version = forger.read(MANIFEST)["environment"]["packages"]["torch"].partition("+")[0]
    forger.edit(RUN, lambda record: record["made"].update(torch=f"{version}+cu130"))
    for installed, status in ((version, PASSED), (f"{version}+cpu", WARNING)):
        forger.edit(MANIFEST, put("environment", "packages", "torch", value=installed))
        checks = check_provenance(forger.followed())
        assert [check.status for check in checks if check.name == "versions of packages agree"] == [status]


def test_a_dataset_and_a_forum_that_were_left_out_are_found(elsewhere: Forger) -> None:
    """Cherry picking: the hard dataset has never been, says every file but the configuration."""
    forum = elsewhere.read("metrics/tiny/stack-tex.json")

    def one_forum(metrics: dict[str, Any]) -> None:
        metrics.update(
            inputs={path: digest for path, digest in metrics["inputs"].items() if "tex" in path},
            **{key: forum[key] for key in ("measures", "counts", "seconds")},
            forums=["stack-tex"],
        )

    def leave_out(manifest: dict[str, Any]) -> None:
        del manifest["datasets"]["small"]
        manifest["inputs"] = {path: digest for path, digest in manifest["inputs"].items() if not path.endswith("/small.json")}
        manifest["datasets"]["stack"].pop(0)

    for system in ("tiny", "second"):
        elsewhere.edit(f"metrics/{system}/stack.json", one_forum)
    elsewhere.edit(MANIFEST, leave_out)
    elsewhere.digest_summary_again()
    found = [check.found for check in named(elsewhere.failed(), MANIFEST)]
    assert [says for says in ("says names of datasets", "corpora of stack") if not any(says in each for each in found)] == []


def test_averages_and_times_are_made_again_when_the_catalogue_is_another(elsewhere: Forger) -> None:
    elsewhere.edit(MANIFEST, published_sha256="0" * 64)
    (warning,) = [check for check in elsewhere.noticed() if "summary" in check.name]
    assert (warning.status, "another catalogue" in warning.found) == ("warning", True)
    text = elsewhere.path("summary.csv").read_bytes().decode()
    forged = {}
    for column in ("NDCG@10", "seconds", "documents"):
        table = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
        table.loc[len(table) - 1, column] = "0.9999"
        forged[column] = table.to_csv(index=False, lineterminator="\n")
    lines = enumerate(text.splitlines(keepends=True))
    forged["a column twice"] = "".join(f"{'0.9999' if number else 'NDCG@10'},{line}" for number, line in lines)
    forged["a further cell"] = text.rstrip("\n") + ",0.9999\n"
    forged["other line ends"] = text.replace("\n", "\r\n")
    chain = elsewhere.followed()
    for what, content in forged.items():
        elsewhere.replace("summary.csv", content.encode())
        assert [check.status for check in check_summary(chain)] == [FAILED], what


def test_records_whose_own_digests_are_wrong_are_found(elsewhere: Forger) -> None:
    names = ["runs/second/small.json", "metrics/second/more.json", "corpora/stack-tex/corpus.json", "models/tiny.json", MANIFEST]
    for name in names:  # none is made from another
        own = elsewhere.path(name).read_bytes()
        place = own.rindex(b'"record_sha256": "') + 18
        elsewhere.replace(name, own[:place] + b"0" * 64 + own[place + 64 :])
    elsewhere.digest_again(but=MANIFEST)
    failed = elsewhere.failed()
    assert [name for name in names if not any(" own record_sha256, " in check.found for check in named(failed, name))] == []


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
