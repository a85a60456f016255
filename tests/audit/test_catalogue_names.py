"""A folder that defines a dataset or a system of the catalogue itself is compared with the catalogue."""

import zipfile
from dataclasses import asdict
from typing import Any

import pytest
from beirflow.audit.chain.facts import Comparison
from beirflow.audit.facts.configured import check_configured
from beirflow.audit.facts.outside import check_outside
from beirflow.audit.facts.recorded import check_record

from beirflow.audit.checks import FAILED
from beirflow.core import layout
from beirflow.core.layout import MANIFEST
from beirflow.data.catalogue.catalogue import load_catalogue
from beirflow.data.catalogue.own_datasets import custom_dataset
from forger import Forger

OWN_DEFINITIONS = {
    "arguana": {"path": "/theirs/arguana", "drop_self_matches": False},
    "nfcorpus": {"path": "/theirs/nfcorpus", "split": "dev"},
}


@pytest.mark.parametrize(("row", "key"), [("arguana", "drop_self_matches"), ("nfcorpus", "split")])
def test_a_dataset_of_the_catalogue_that_a_folder_defines_is_compared_with_the_catalogue(
    elsewhere: Forger, row: str, key: str
) -> None:
    entry = OWN_DEFINITIONS[row]
    (corpus,) = custom_dataset(row, entry)

    def define(manifest: dict[str, Any]) -> None:
        manifest["configuration"]["datasets"].append(row)
        manifest["configuration"]["custom"]["datasets"][row] = entry
        manifest["datasets"][row] = [asdict(corpus) | {"files": {}}]

    elsewhere.edit(MANIFEST, define)
    failed = [check for check in check_configured(elsewhere.followed()) if check.status == FAILED]
    (known,) = load_catalogue().datasets[row]
    (found,) = [check for check in failed if f"{key} of {row}" in check.found]
    assert found.expected == f"{str(getattr(known, key)).replace('True', 'true')}, by the catalogue here"


@pytest.mark.parametrize(
    ("kind", "name", "problem"),
    [
        ("datasets", "nfcorpus", "another dataset or forum has this name"),
        ("datasets", "cqadupstack-tex", "another dataset or forum has this name"),
        ("datasets", "nfcorpus.sample-50", "the name of a split or a sample"),
        ("systems", "bm25", "the catalogue has a system of this name"),
    ],
)
def test_a_name_of_the_catalogue_in_the_definitions_of_a_folder_fails(
    elsewhere: Forger, kind: str, name: str, problem: str
) -> None:
    entry = {"path": "/theirs"} if kind == "datasets" else {"family": "lexical"}
    elsewhere.edit(MANIFEST, lambda manifest: manifest["configuration"]["custom"][kind].update({name: entry}))
    chain = elsewhere.followed()
    chain.records[MANIFEST] = chain.manifest
    facts = Comparison(chain, "records say the same")
    check_record(facts, MANIFEST)
    assert any(name in check.found and problem in check.found for check in facts.checks if check.status == FAILED)


def test_an_archive_among_the_results_is_a_source_only_if_it_is_that_of_the_catalogue(forger: Forger) -> None:
    archive, corpus = layout.ARCHIVE(archive="nfcorpus"), layout.CORPUS(dataset="nfcorpus")
    forger.path(archive).parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(forger.path(archive), "w") as file:
        file.writestr("nfcorpus/corpus.jsonl", '{"_id": "d", "title": "", "text": "half of it"}\n')
        file.writestr("nfcorpus/queries.jsonl", '{"_id": "q", "text": "a query"}\n')
        file.writestr("nfcorpus/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq\td\t1\n")
    chain = forger.followed()
    (configured,) = [check for check in check_configured(chain) if archive in check.files]
    md5 = load_catalogue().datasets["nfcorpus"][0].md5
    assert (configured.status, configured.expected) == (FAILED, f"{md5}, by the catalogue here")
    chain.claims[corpus] = []
    chain.records[corpus] = {"split": "test", "source_sha256": {}}
    (check,) = [check for check in check_outside(chain) if archive in check.files]
    assert check.status == FAILED
    assert f"that of the catalogue is {md5}" in check.found
