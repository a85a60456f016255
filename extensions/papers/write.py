"""The file of a paper from finished results, so that others can verify the table of a group."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from beirflow.config.main_measure import main_measure
from beirflow.config.systems import catalogue_systems
from beirflow.core.digests import file_digest
from beirflow.core.keys import settings_of_a_class
from beirflow.core.layout import MANIFEST, METRICS
from beirflow.core.records import read_json
from beirflow.core.verified import check_digest
from beirflow.data.catalogue.catalogue import PUBLISHED, load_catalogue
from beirflow.data.catalogue.choice import corpora_named
from beirflow.evaluation.scores import read_means

DECIMALS = 4
PLACE = METRICS.replace("{", "<").replace("}", ">")  # of the values in the results

Means = Mapping[tuple[str, str], Mapping[str, Any]]  # by system and dataset


def paper_of_results(folder: Path, name: str, title: str) -> str:
    """Return the file of a paper with the values of finished results.

    Systems and datasets that the catalogue lacks are there as the configuration defines them. Raises DataError if results were
    changed after they were written.
    """
    manifest = read_json(folder / MANIFEST)
    configuration, custom = manifest["configuration"], manifest["configuration"].get("custom") or {}
    means = _means(folder, manifest["inputs"])
    computed = next(iter(means.values()))["measures"]
    measures = [each for each in dict.fromkeys((main_measure(configuration), *PUBLISHED)) if each in computed]
    known = load_catalogue().known_datasets
    content = {
        "title": title,
        "citation": f"Results of {manifest['written'].partition('T')[0]}, with their manifest",
        "measures": measures,
        "decimals": DECIMALS,
        "precision": configuration["precision"],
        "sources": {"results": {"manifest": file_digest(folder / MANIFEST), "place": PLACE}},
        "datasets": {
            row: custom.get("datasets", {}).get(row, {"path": corpora[0]["path"]})
            for row, corpora in manifest["datasets"].items()
            if corpora_named(row, known) is None
        },
        "systems": {system: _entry(system, custom, means, measures) for system in configuration["systems"]},
    }
    text = yaml.safe_dump({key: value for key, value in content.items() if value}, sort_keys=False, allow_unicode=True, width=120)
    return (
        f"# Values of finished results as a paper. To compare other results with them: beirflow paper {name}.yaml\n"
        "# Findings that are comparisons: findings: [{says: …, compare: a above b on at least 9 of 13}]\n"
        f"{text}"
    )


def _means(folder: Path, digests: Mapping[str, str]) -> Means:
    """Return the records of metrics that a manifest names."""
    found = {}
    for path, digest in digests.items():
        check_digest(folder / path, digest, folder / MANIFEST)
        means = read_means(str(folder / path))
        found[means["system"], means["dataset"]] = means
    return found


def _entry(system: str, custom: Mapping[str, Any], means: Means, measures: Iterable[str]) -> dict[str, Any]:
    """Return what the file says of a system."""
    scores = {
        dataset: [round(each["measures"][measure], DECIMALS) for measure in measures]
        for (name, dataset), each in means.items()
        if name == system
    }
    own = custom.get("systems", {}).get(system)
    if system in catalogue_systems():
        entry: dict[str, Any] = {"system": system}
    elif settings_of_a_class(own):
        entry = {"needs": "a class of its authors" + (f": {own['encoder']}" if "encoder" in own else "")}
    elif own:
        entry = {"settings": dict(own)}
    else:
        entry = {"needs": "settings that the manifest has, for systems that differ in their seed"}
    return {**entry, "scores": scores}
