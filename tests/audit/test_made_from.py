"""Whoever leaves something out of a record, so that nothing names a file or says a fact any more, is found out."""

import os
import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from beirflow.core.errors import DataError
from forger import NOT_CHECKED, Forger, best_last, named, put
from results_maker import Made, average

LEFT_OUT = 5
"""Of what records say, in each of two folders of results."""

SEED = int(os.environ.get("BEIRFLOW_FACT_SEED", "1"))
"""Of what is drawn; `pytest -m long` leaves out one of each kind."""

PARTS = 8
"""Tests that share the kinds."""

OF_USE = ("inputs", "outputs", "code", "path")
"""Keys of all records: digests are left out one by one, the code is a warning, and the path is looked at by itself."""

OPTIONAL = ("ties", "query_model", "query_revision", "card", "made_by", "bytes", "scoring", "computation")
"""Keys that not every record of a kind has."""


class Place(NamedTuple):
    """Something that a record says: a digest, or all that it says by one key."""

    record: str
    key: str
    file: str | None = None

    @property
    def kind(self) -> tuple[str, ...]:
        """Name the part of a place that all places of the same meaning share."""
        folder, _, rest = self.record.partition("/")
        name = "".join(letter for letter in Path(rest).name if not letter.isdigit())
        of_file = "".join(letter for letter in self.file or "" if not letter.isdigit()).split("/")
        return (folder, name if folder in ("embeddings", "postings", "tokens") else "", self.key, of_file[0], of_file[-1][-8:])


def is_shared(record: str, file: str) -> bool:
    """Tell if texts of another dataset are among the inputs: vectors are the same, wherever they are taken from."""
    return file.endswith("shared.parquet") or ("/small/" in file and "/more" in record)


def places(forger: Forger) -> list[Place]:
    found = []
    for path in sorted(forger.results.rglob("*.json")):
        name = path.relative_to(forger.results).as_posix()
        record = forger.read(name)
        if name != "manifest.json":
            named = {key: [file for file in record.get(key, {}) if not is_shared(name, file)] for key in ("inputs", "outputs")}
            found += [Place(name, key, file) for key, files in named.items() for file in files]
            # An empty list, as of assumptions, says what a record without it says.
            found += [Place(name, key) for key, each in record.items() if key not in (*OF_USE, *OPTIONAL) and each != []]
    return found


def leave_out(forger: Forger, place: Place) -> None:
    """Take something out of a record; a file that nothing names any more is deleted."""

    def change(record: dict[str, Any]) -> None:
        del (record if place.file is None else record[place.key])[place.file or place.key]

    forger.edit(place.record, change)
    if place.file and not any(f'"{place.file}":' in path.read_text() for path in forger.results.rglob("*.json")):
        forger.path(place.file).unlink(missing_ok=True)
    try:
        forger.digest_summary_again()
    except (DataError, KeyError, TypeError, ValueError, OSError):  # of metrics that no summary can be made of
        forger.digest_again()


def noticed_together(original: Made, folder: Path, found: Sequence[Place]) -> set[Place]:
    """Places that an audit of all of them names; one may hide another."""
    forger = Forger.of(original, folder)
    for place in found:
        leave_out(forger, place)
    texts = [check.found for check in forger.noticed() if " lack" in check.found]
    return {place for place in found if any(place.record in text and f'"{place.file or place.key}"' in text for text in texts)}


def missed(original: Made, folder: Path, found: Sequence[Place]) -> list[Place]:
    """List the inputs that can be left out without being noticed."""
    unnoticed, together = [], noticed_together(original, folder / "together", found)
    for number, place in enumerate(place for place in found if place not in together):
        forger = Forger.of(original, folder / str(number))
        leave_out(forger, place)
        if not forger.noticed():
            unnoticed.append(place)
        shutil.rmtree(folder / str(number))
    return unnoticed


ORIGINALS = ("original_of_families", "original_of_runs")


@pytest.mark.parametrize("original", ORIGINALS)
def test_whatever_is_left_out_of_a_record_is_noticed(original: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    made = request.getfixturevalue(original)
    every = places(Forger.of(made, tmp_path / "all"))
    assert missed(made, tmp_path, random.Random(SEED).sample(every, LEFT_OUT)) == [], SEED


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("original", ORIGINALS)
def test_one_of_each_kind_that_is_left_out_is_noticed(
    original: str, part: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    made = request.getfixturevalue(original)
    kinds = {place.kind: place for place in places(Forger.of(made, tmp_path / "all"))}
    assert missed(made, tmp_path, list(kinds.values())[part::PARTS]) == []


def test_metrics_of_a_forum_that_name_no_run_are_recomputed_all_the_same(forger: Forger) -> None:
    """They were taken for an average of other metrics, so that any numbers passed, with sources, models and a sample of all."""
    path = "metrics/tiny/stack-tex.json"

    def perfect(record: dict[str, Any]) -> None:
        del record["inputs"]["runs/tiny/stack-tex.parquet"]
        record["measures"] = dict.fromkeys(record["measures"], 1.0)

    forger.edit(path, perfect)
    average(forger.results, forger.experiment, "tiny", "stack")
    forger.digest_summary_again()
    found = {check.name for check in named(forger.failed(), path)}
    assert found == {"records leave nothing out", "means are what they are means of"}


def test_a_reranker_cannot_do_without_the_scores_of_its_pairs(made_of_runs: Forger) -> None:
    """Without pairs its run followed from nothing that could be made again."""
    run, pairs = "runs/reranked/small", "pairs/reranked/small"

    made_of_runs.edit_table(f"{run}.parquet", best_last)
    files = [name for name in made_of_runs.read(f"{run}.json")["inputs"] if name.startswith(pairs)]
    made_of_runs.edit(f"{run}.json", lambda record: [record["inputs"].pop(name) for name in files])
    shutil.rmtree(made_of_runs.path(pairs))
    made_of_runs.evaluate_again("reranked", "small")
    (found,) = [check for check in named(made_of_runs.failed(), f"{run}.json") if check.name == "records leave nothing out"]
    assert f"{pairs}/block-0.json" in found.found


def test_a_run_names_every_chunk_that_it_searched(forger: Forger) -> None:
    """The vectors of one were removed, which was "not here, perhaps deleted" at most; documents of it could have any score."""
    run, chunk = "runs/tiny/small", "embeddings/tiny/small/chunk-1"
    forger.edit(f"{run}.json", lambda record: [record["inputs"].pop(f"{chunk}.{kind}") for kind in ("npy", "json")])
    forger.edit_table(f"{run}.parquet", lambda rows: rows.assign(score=rows["score"] + np.float32(1)))
    forger.evaluate_again("tiny", "small")
    assert any(f"{chunk}.npy" in check.found for check in named(forger.failed(), f"{run}.json"))


def test_a_tuned_run_names_what_it_was_tuned_on(original_of_families: Made, tmp_path: Path) -> None:
    """Without it no weight could be measured again, so that any would do."""
    forger, run = Forger.of(original_of_families, tmp_path), "runs/fused/small.json"
    forger.edit(run, lambda record: [record["inputs"].pop(name) for name in [*record["inputs"]] if "dev" in name])
    for path in ("runs/words/dev", "runs/masked/dev"):
        for kind in ("json", "parquet"):
            forger.path(f"{path}.{kind}").unlink()
    for folder in ("postings/words", "postings/masked", "postings/lucene-english", "corpora"):
        shutil.rmtree(forger.path(f"{folder}/dev"), ignore_errors=True)
    forger.digest_summary_again()
    assert any("runs/masked/dev.parquet" in check.found for check in named(forger.failed(), run))


def test_a_system_needs_nothing_of_a_variant_that_stands_before_it(forger: Forger) -> None:
    """The ranges that int8 needs of a corpus were looked for in the records of the system whose vectors it takes."""

    def put_first(manifest: dict[str, Any]) -> None:
        tiny = manifest["systems"]["tiny"]
        variant = {**tiny, "settings": {**tiny["settings"], "name": "a", "variant_of": "tiny", "vectors": "int8"}}
        manifest["systems"] = {"a": variant, **manifest["systems"]}

    forger.edit("manifest.json", put_first)
    assert [check for check in forger.failed() if check.name == "records leave nothing out"] == []


FURTHER: list[tuple[str, tuple[Any, ...], Any]] = [
    ("manifest.json", ("artifact_badge",), "Results Reproduced v1.1"),
    ("manifest.json", ("systems", "tiny", "parameters"), 7),
    ("manifest.json", ("datasets", "small", 0, "contamination"), "none"),
    ("metrics/tiny/small.json", ("p_value",), 0.001),
    ("metrics/tiny/stack.json", ("p_value",), 0.001),
    ("runs/tiny/small.json", ("reviewed_by",), "somebody"),
    ("models/tiny.json", ("trained_on",), "no data of BEIR"),
    ("embeddings/tiny/small/chunk-0.json", ("certified_by",), "somebody"),
]


def test_facts_that_beirflow_does_not_write_are_named_in_the_verdict(forger: Forger) -> None:
    for name, keys, value in FURTHER:
        forger.edit(name, put(*keys, value=value))
    forger.digest_summary_again()
    texts = [check.found for check in forger.checks() if check.status == NOT_CHECKED]
    lines = [text for text in texts if text.endswith(", which beirflow does not write and nothing confirms")]
    assert [(name, keys) for name, keys, _ in FURTHER if not any(name in line and keys[-1] in line for line in lines)] == []


@pytest.mark.parametrize("results", ["families", "forger", "made_of_runs"])
def test_honest_records_have_no_further_facts(results: str, request: pytest.FixtureRequest) -> None:
    honest: Forger = request.getfixturevalue(results)
    assert not [check.found for check in honest.checks() if "which beirflow does not write" in check.found]
