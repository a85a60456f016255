"""Indexes: the same bytes every time, from the vectors that were recorded, and what faiss cannot build."""

import logging
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from approximate_results import KINDS
from beirflow.config.load import load_experiment
from beirflow.core.digests import file_digest
from beirflow.core.errors import ConfigError
from beirflow.core.layout import CHUNK_VECTORS, INDEX
from beirflow.core.records import read_json
from beirflow.families.approximate.build_index import trained_index
from beirflow.families.approximate.settings import ApproximateSettings, faiss_library
from beirflow.run.code_version import PACKAGE
from forger import Forger
from results_maker import Made, run_rules, with_systems
from workflow_rules import rule_modules

faiss: Any = pytest.importorskip("faiss")

pytestmark = pytest.mark.usefixtures("threads_as_before")

RNG = np.random.default_rng(5)
VECTORS = RNG.standard_normal((600, 16)).astype(np.float32)
SETTINGS = {
    "hnsw": ApproximateSettings("own", "dense", "hnsw", m=8, ef_construction=40),
    "flat": ApproximateSettings("own", "dense", "ivf-flat", nlist=12),
    "pq": ApproximateSettings("own", "dense", "ivf-pq", nlist=6, m=4, bits=5),
    "sq": ApproximateSettings("own", "dense", "sq", bits=8),
}


def packed(settings: ApproximateSettings, vectors: np.ndarray = VECTORS) -> bytes:
    return bytes(faiss.serialize_index(trained_index(settings, vectors)).tobytes())


@pytest.mark.parametrize("kind", SETTINGS)
def test_two_builds_in_two_processes_are_byte_identical_and_another_seed_is_not(kind: str, tmp_path: Path) -> None:
    np.save(tmp_path / "vectors.npy", VECTORS)
    program = (
        "import sys, numpy, faiss; from beirflow.families.approximate.build_index import trained_index;"
        "from beirflow.families.approximate.settings import ApproximateSettings;"
        f"index = trained_index(ApproximateSettings(**{asdict(SETTINGS[kind])}), numpy.load(sys.argv[1]));"
        "sys.stdout.buffer.write(faiss.serialize_index(index).tobytes())"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "vectors.npy")]
    other = subprocess.run(command, cwd=PACKAGE.parent, capture_output=True, check=True)
    assert other.stdout == packed(SETTINGS[kind])
    assert (other.stdout == packed(replace(SETTINGS[kind], seed=1))) is (kind == "sq")  # which draws no number


@pytest.mark.parametrize("kind", SETTINGS)
def test_an_index_is_the_one_that_faiss_builds(kind: str) -> None:
    settings = SETTINGS[kind]
    if kind == "hnsw":
        expected = faiss.IndexHNSWFlat(16, 8, faiss.METRIC_INNER_PRODUCT)
        expected.hnsw.efConstruction, expected.hnsw.rng = 40, faiss.RandomGenerator(0)
    elif kind == "sq":
        expected = faiss.IndexScalarQuantizer(16, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT)
    else:
        lists = faiss.IndexFlatIP(16)
        inner = faiss.METRIC_INNER_PRODUCT
        expected = faiss.IndexIVFPQ(lists, 16, 6, 4, 5, inner) if kind == "pq" else faiss.IndexIVFFlat(lists, 16, 12, inner)
        expected.cp.seed, expected.cp.spherical = 0, True
        if kind == "pq":
            expected.pq.cp.seed = 0
    faiss.omp_set_num_threads(1)
    expected.train(VECTORS)
    expected.add(VECTORS)
    queries = RNG.standard_normal((20, 16)).astype(np.float32)
    found, reference = (index.search(queries, 10) for index in (trained_index(settings, VECTORS), expected))
    np.testing.assert_array_equal(found[1], reference[1])
    np.testing.assert_array_equal(found[0], reference[0])


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("pq", {"m": 5}, r"m: found 5, which does not divide the 16 dimensions; allowed are .*4, 8"),
        ("flat", {"nlist": 601}, "nlist: found 601 lists, but the corpus has 600 documents; use fewer lists"),
        ("pq", {"bits": 10}, "bits: found 10, which are 1024 codes, but the corpus has 600 documents"),
    ],
)
def test_what_faiss_cannot_build_is_refused(kind: str, changes: dict[str, int], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        trained_index(replace(SETTINGS[kind], **changes), VECTORS)


def test_too_few_training_vectors_are_a_warning(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
    with caplog.at_level(logging.WARNING):
        trained_index(SETTINGS["flat"], VECTORS)
        assert caplog.messages == []
        trained_index(replace(SETTINGS["flat"], nlist=50), VECTORS)
    assert "600 documents train 50 centroids, fewer than 39 for each" in caplog.text
    assert capfd.readouterr().err == ""


def test_the_record_says_what_was_built_and_from_what_and_that_several_threads_may_build_another_index(
    results_once: Made, tmp_path: Path
) -> None:
    config = with_systems(results_once.config, {**KINDS, "threads": {**KINDS["hnsw"], "build_threads": 2}})
    forger, experiment = Forger.of(Made(results_once.results, config), tmp_path), load_experiment(config)
    names = {name: experiment.in_paths(name, "small")["index"] for name in experiment.chosen_systems[2:]}
    paths = {name: INDEX(system="second", dataset="small", index=index) for name, index in names.items()}
    run_rules(forger.results, experiment, list(paths.values()))
    vectors = {CHUNK_VECTORS(system="second", dataset="small", chunk=chunk) for chunk in range(2)}
    for name, path in paths.items():
        file = forger.results / path
        record = read_json(file.with_suffix(".json"))
        assert record["outputs"] == {path: file_digest(file)}
        assert record["bytes"]["index"] == record["counts"]["approximate_index_bytes"] == file.stat().st_size
        assert vectors <= set(record["inputs"])
        assert (record["rows"], record["dim"], record["similarity"]) == (30, 32, "cosine")
        assert record["reproducible"] is not name.startswith("threads")
        assert record["made"]["faiss"] == faiss.__version__
        assert set(record["seconds"]) == {"build"}


def test_a_missing_library_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ConfigError, match=r"pip install 'beirflow\[faiss\]'"):
        faiss_library()


def test_an_edit_to_the_search_builds_no_index_again_and_the_other_way_round() -> None:
    build, search = (
        {name.removeprefix("families.approximate.") for name in rule_modules(rule) if name.startswith("families.approximate.")}
        for rule in ("build_index", "search_approximate")
    )
    assert build == {"build_index", "settings"}
    assert search == {"search_approximate", "exact_share", "neighbours", "settings"}
