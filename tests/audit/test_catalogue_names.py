"""A folder that defines a dataset or a system of the catalogue itself is compared with the catalogue."""

from dataclasses import asdict
from typing import Any

import pytest

from beirflow.audit.checks import FAILED
from beirflow.audit.configured import check_configured
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
    failed = [check for check in check_configured(elsewhere.followed(), elsewhere.experiment) if check.status == FAILED]
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
    failed = [check for check in check_configured(elsewhere.followed(), elsewhere.experiment) if check.status == FAILED]
    assert any(name in check.found and problem in check.found for check in failed)


def test_an_archive_among_the_results_is_a_source_only_if_it_is_that_of_the_catalogue(forger: Forger) -> None:
    archive = layout.ARCHIVE(archive="nfcorpus")
    forger.path(archive).parent.mkdir(exist_ok=True)
    forger.path(archive).write_bytes(b"half of it")
    checks = check_configured(forger.followed(), forger.experiment)
    (found,) = [check for check in checks if archive in check.files]
    md5 = load_catalogue().datasets["nfcorpus"][0].md5
    assert (found.status, found.expected) == (FAILED, f"{md5}, by the catalogue here")
