"""Runs with the header of Open Runs: repro_eval reads it, and what follows is the run in TREC form."""

import gzip
import shutil
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import pytest
from beirflow.exchange.open_run import header_of, write_open_run
from beirflow.files.errors import DataError
from beirflow.files.records import read_json
from hypothesis import given
from hypothesis import strategies as st
from results_maker import Made


@pytest.fixture(scope="module")
def reader() -> Any:
    """repro_eval's; it imports a part of setuptools that is no longer there, and that reading does not need."""
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        patch.setitem(sys.modules, "pkg_resources", types.ModuleType("pkg_resources"))
        from repro_eval.metadata import MetadataHandler
    return MetadataHandler


@pytest.fixture
def results(results_once: Made, tmp_path: Path) -> Path:
    return Path(shutil.copytree(results_once.results, tmp_path / "results"))


def write(results: Path) -> Path:
    """The open run of tiny on small, unpacked."""
    write_open_run(
        run_path=f"{results}/runs/tiny/small.parquet",
        record_path=f"{results}/runs/tiny/small.json",
        corpus_path=f"{results}/corpora/small/corpus.json",
        manifest_path=f"{results}/manifest.json",
        output_path=f"{results}/open.trec.gz",
    )
    unpacked = results / "open.trec"
    unpacked.write_bytes(gzip.decompress((results / "open.trec.gz").read_bytes()))
    return unpacked


def test_the_package_of_the_field_reads_where_a_run_comes_from(results: Path, reader: Any) -> None:
    metadata = reader.read_metadata(str(write(results)))
    record, corpus = read_json(results / "runs/tiny/small.json"), read_json(results / "corpora/small/corpus.json")
    manifest = read_json(results / "manifest.json")
    assert list(metadata) == ["tag", "platform", "research goal", "implementation", "method", "actor", "data"]
    assert metadata["tag"] == "tiny"
    assert metadata["data"]["test collection"]["name"] == "small"
    assert metadata["data"]["test collection"]["sha256"] == corpus["source_sha256"]
    assert metadata["data"]["sha256 of this run as Parquet"] == record["outputs"]
    assert metadata["platform"]["hardware"]["device"] == record["made"]["device"]
    assert metadata["research goal"]["evaluation"]["baseline"] == ["tiny"]
    assert metadata["implementation"]["source"].get("commit") == manifest["repository"]["commit"]
    (retrieval,) = metadata["method"]["retrieval"]
    assert (retrieval["pooling"], retrieval["max_length"], retrieval["precision"]) == ("mean", 64, "float32")


def test_after_the_header_it_is_the_run_in_trec_form(results: Path, reader: Any) -> None:
    path = write(results)
    lines = path.read_text().splitlines(keepends=True)
    plain = gzip.decompress((results / "runs/tiny/small.trec.gz").read_bytes()).decode()
    assert "".join(line for line in lines if not line.startswith("#")) == plain
    assert lines.index("# ir_metadata.end\n") == sum(line.startswith("#") for line in lines) - 1
    run = reader.strip_metadata(str(path))
    assert sum(map(len, run.values())) == len(plain.splitlines())


def test_the_same_records_give_the_same_file(results: Path) -> None:
    before = write(results).read_bytes()
    assert write(results).read_bytes() == before


@given(st.text())
def test_no_text_breaks_out_of_the_header(text: str) -> None:
    lines = header_of({"prefix": text, text: [text]}).split("\n")
    assert lines.pop() == ""
    assert all(line.startswith("#") and line.isascii() and line.isprintable() for line in lines)


def test_a_run_without_its_records_is_not_described(results: Path) -> None:
    (results / "corpora/small/corpus.json").write_text("{}")
    with pytest.raises(DataError, match=r"cannot be described: .*snakemake --cores 1 audit"):
        write(results)
