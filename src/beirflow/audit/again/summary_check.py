"""The summary, made again from the metrics: every row, every average, every difference."""

from collections.abc import Mapping, Sequence
from typing import Any

from beirflow.audit.chain.chain import Chain
from beirflow.audit.chain.checks import NOT_CHECKED, PASSED, UNREADABLE, WARNING, Check, RecordError
from beirflow.audit.chain.reading import part
from beirflow.audit.chain.setup import Setup
from beirflow.config.main_measure import main_measure
from beirflow.core.csv_files import csv_text, read_cells
from beirflow.core.digests import file_digest
from beirflow.core.layout import MANIFEST, SUMMARY
from beirflow.data.catalogue.schema import CATALOGUE
from beirflow.evaluation.summary import PUBLISHED, TRAINED_ON, TrainedOn, kept_self_matches, summary_table

NAME = "the summary is what the metrics give"

FROM_THE_CATALOGUE = tuple(f"{kind}_{measure}" for measure in PUBLISHED for kind in ("published", "difference", "source"))
"""Columns that no other file of the results gives."""


def check_summary(chain: Chain) -> list[Check]:
    """Make the summary again and compare; a warning if its published scores come from another catalogue."""
    try:
        if list(part(chain.manifest, "outputs", kind=dict)) != [SUMMARY]:
            raise RecordError(f"names {', '.join(chain.manifest['outputs'])} as its outputs, expected {SUMMARY}", MANIFEST)
        written = chain.file(SUMMARY).read_bytes().decode("utf-8")
        unknown, trained_on = unknown_families(chain.setup, chain.manifest), stated_training(chain.setup, chain.manifest)
        paths = [str(chain.file(name)) for name in chain.means]
        kept = kept_self_matches(part(chain.manifest, "datasets", kind=dict))
        made = csv_text(summary_table(paths, main_measure(chain.manifest["configuration"]), trained_on, kept))
        same_catalogue = part(chain.manifest, "published_sha256") == file_digest(CATALOGUE / "published.yaml")
        if same_catalogue:
            chain.note(MANIFEST, "published_sha256", None, "the catalogue here")
        left_out = (*(() if same_catalogue else FROM_THE_CATALOGUE), *((TRAINED_ON,) if unknown else ()))
        differs = _difference(written, made, left_out)
        for column in set(read_cells(written)[0]).difference(left_out):
            chain.note(SUMMARY, column, None, "the metrics")
    except UNREADABLE as error:
        return [chain.unreadable(NAME, SUMMARY, error)]
    if differs:
        found, expected, *row = differs
        mine = [result for result in chain.means.values() if result in row]
        return [chain.failed(NAME, SUMMARY, f"{SUMMARY}: {found}", expected, mine or None)]
    problem = f"column {TRAINED_ON} of {SUMMARY}: nothing here knows the family {', '.join(unknown)}"
    not_compared = [Check(NAME, NOT_CHECKED, problem, files=(SUMMARY,))] if unknown else []
    rows = f"{made.count(chr(10)) - 1} rows"
    if not same_catalogue:
        problem = (
            f"{rows} agree, but for published scores, which were made with another catalogue than the one here and not compared"
        )
        return [Check(NAME, WARNING, problem, "the catalogue that the manifest names", (SUMMARY,)), *not_compared]
    agree = "the same text" if not unknown else "the same but for a column"
    return [Check(NAME, PASSED, f"{rows}, {agree}", files=(SUMMARY,)), *not_compared]


def unknown_families(setup: Setup, manifest: Mapping[str, Any]) -> list[str]:
    """Return the families of the systems of a manifest that are not known here."""
    return sorted({setup.unknown_in(entry) for entry in part(manifest, "systems", kind=dict).values()} - {""})


def stated_training(setup: Setup, manifest: Mapping[str, Any]) -> TrainedOn:
    """Return the training data of the systems of a manifest; none if nothing here knows the family of one."""
    return {} if unknown_families(setup, manifest) else setup.as_stated(manifest, {}).in_domain


def _difference(written: str, made: str, left_out: Sequence[str]) -> tuple[Any, ...]:
    """Return what was found where two tables first differ, what was expected, and whose row it is; empty without that."""
    (names, *found_rows), (expected_names, *expected_rows) = (read_cells(text) for text in (written, made))
    if names != expected_names:
        return f"columns {', '.join(names)}", ", ".join(expected_names)
    here, there = ([dict(zip(names, row, strict=True)) for row in rows] for rows in (found_rows, expected_rows))
    for line, (found, expected) in enumerate(zip(here, there, strict=False), 2):
        for column, value in expected.items():
            if column not in left_out and found[column] != value:
                where = f"line {line}: {column} of {found['system']} on {found['dataset']} is {found[column]}"
                return where, f"{value or 'nothing'}, by its metrics", (found["system"], found["dataset"])
    if len(here) != len(there):
        return f"{len(here)} rows", f"{len(there)}, by the metrics that {MANIFEST} names"
    return ()
