"""What the report says of datasets, and how they are cited."""

import re

import pandas as pd
import pytest
from beirflow.catalogue.catalogue import load_catalogue
from beirflow.report.dataset_tables import BEIR, bibtex, citations, datasets_table, of_catalogue

SUMMARY = pd.DataFrame(
    {
        "system": ["a", "a", "b", "a", "a"],
        "dataset": ["scifact", "mine", "scifact", "nfcorpus.dev.sample-50-seed-7", "mean of 3"],
        "split": ["test", "test", "test", "dev", None],
        "documents": [5183, 60, 5183, 3633, 8876],
        "queries": [300, 18, 300, 50, 368],
    }
)


def test_every_dataset_of_the_catalogue_is_cited_and_every_entry_is_whole() -> None:
    assert set(citations()) == {BEIR, *load_catalogue().known_datasets}
    for name, entry in citations().items():
        assert entry.count("{") == entry.count("}"), name
        fields = dict(re.findall(r"^  (\w+) = \{(.*)\},?$", entry, re.MULTILINE))
        assert {"author", "title", "year"} <= set(fields), name
        assert re.fullmatch(r"(19|20)\d\d", fields["year"]), name


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("nfcorpus", "nfcorpus"),
        ("nfcorpus.dev", "nfcorpus"),
        ("scifact.sample-50", "scifact"),
        ("nfcorpus.dev.sample-50-seed-7", "nfcorpus"),
        ("nfcorpus.mine", None),
        ("my-nfcorpus", None),
        ("mean of 3", None),
    ],
)
def test_splits_and_samples_are_of_their_dataset_and_others_are_not(name: str, known: str | None) -> None:
    assert of_catalogue(name) == known


def test_a_dataset_has_one_row_with_its_licence_and_its_entry() -> None:
    rows = [[cell.text for cell in row] for row in datasets_table(SUMMARY).rows]
    assert [row[0] for row in rows] == ["scifact", "mine", "nfcorpus.dev.sample-50-seed-7"]
    assert rows[0][:4] == ["scifact", "test", "5,183", "300"]
    assert rows[0][-2:] == [load_catalogue().datasets["scifact"][0].licence, "scifact"]
    assert rows[1][4:] == ["", "", "", ""]
    assert rows[2][-1] == "nfcorpus"


def test_bibtex_has_beir_and_each_dataset_once_and_nothing_for_others() -> None:
    text = bibtex(SUMMARY["dataset"])
    assert re.findall(r"^@\w+\{([\w-]+),", text, re.MULTILINE) == ["beir", "scifact", "nfcorpus"]
    assert bibtex(["mine"]) == ""
