"""Runs in TREC form, with the header of Open Runs and without: repro_eval reads it, and other tools compute our measures."""

import gzip
import json
import shutil
import sys
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ir_measures
import pandas as pd
import pyarrow.parquet as pq
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from approximate_results import IVF_FLAT
from beirflow.config.families import FAMILIES
from beirflow.config.load import load_experiment
from beirflow.core.errors import DataError
from beirflow.core.layout import CORPUS, MANIFEST, METRICS, PER_QUERY, QRELS, QUERIES, RUN, RUN_RECORD, SUMMARY
from beirflow.core.records import read_json
from beirflow.extensions.exchange.open_run import header_of, write_open_run
from beirflow.extensions.exchange.predictions import write_predictions
from beirflow.ranking.run_file import write_trec
from beirflow.ranking.run_rows import HEADER_END
from results_maker import Made, make_results, run_rules, with_systems
from results_of_families import families_config
from shared_folders import shared_results

CUTOFFS = (1, 10, 20)
OF_FAMILIES = ("words", "expanded", "masked", "tokens", "theirs", "far", "fused", "crossed")
OF_DENSE = ("tiny", "flat")
TREC_EVAL = {"NDCG": "ndcg_cut", "MAP": "map_cut", "Recall": "recall", "P": "P"}
IR_MEASURES = {"NDCG": "nDCG", "MAP": "AP", "Recall": "R", "P": "P", "Accuracy": "Success"}
"""Those that ir_measures has from trec_eval; RR with a cutoff it has from MS MARCO's script, which breaks ties another way."""

NO_LINE = "q7"
"""A judged query for which the imported run has no document."""


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
        queries_path=f"{results}/corpora/small/queries.parquet",
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


@pytest.fixture(scope="module")
def folders(results_once: Made, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By system, one or more of each family, the folder of its results on the corpus ``small``."""

    def make(folder: Path) -> Made:
        config = families_config(folder)
        theirs = folder / "small.trec"
        theirs.write_text("".join(line for line in theirs.read_text().splitlines(True) if not line.startswith(NO_LINE)))
        return make_results(folder / "results", config)

    results = shared_results(tmp_path_factory, "families-for-open-runs", make).results
    approximate = Path(shutil.copytree(results_once.results, tmp_path_factory.mktemp("flat") / "approximate"))
    config = with_systems(results_once.config, {"flat": IVF_FLAT}, systems=["flat"], datasets=["small"])
    run_rules(approximate, load_experiment(config), [SUMMARY])
    return dict.fromkeys(OF_FAMILIES, results) | {"tiny": results_once.results, "flat": approximate}


def as_trec(results: Path, system: str, output: Path) -> str:
    paths = {"run_path": RUN, "record_path": RUN_RECORD, "queries_path": QUERIES}
    of_run = {key: str(results / path(system=system, dataset="small")) for key, path in paths.items()}
    write_trec(**of_run, output_path=str(output), tag=system)
    return gzip.decompress(output.read_bytes()).decode()


def as_open_run(results: Path, system: str, output: Path) -> str:
    """Without its header, which no tool but repro_eval reads."""
    paths = {"run_path": RUN, "record_path": RUN_RECORD, "queries_path": QUERIES, "corpus_path": CORPUS}
    of_run = {key: str(results / path(system=system, dataset="small")) for key, path in paths.items()}
    write_open_run(**of_run, manifest_path=str(results / MANIFEST), output_path=str(output))
    return gzip.decompress(output.read_bytes()).decode().partition(HEADER_END.decode() + "\n")[2]


def as_predictions(results: Path, system: str, output: Path) -> str:
    """In the lines of a TREC run, from which pytrec_eval makes this dictionary again."""
    paths = {"run_path": RUN, "record_path": RUN_RECORD, "queries_path": QUERIES}
    of_run = {key: str(results / path(system=system, dataset="small")) for key, path in paths.items()}
    write_predictions(**of_run, output_path=str(output), system=system, depth=max(CUTOFFS))
    predictions = json.loads(output.read_bytes())
    assert max(map(len, predictions.values())) <= max(CUTOFFS)
    assert [query for query, found in predictions.items() if not found] == ([NO_LINE] if system == "theirs" else [])
    rows = [(query, *hit) for query, found in predictions.items() for hit in found.items()]
    return "".join(f"{query} Q0 {document} 1 {score!r} {system}\n" for query, document, score in rows)


def stored(results: Path, system: str) -> pd.DataFrame:
    """The measures of every judged query, which the summary is the mean of."""
    return pd.read_parquet(results / PER_QUERY(system=system, dataset="small")).set_index("query_id")


def qrels_of(results: Path) -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = {}
    for row in pq.read_table(results / QRELS(dataset="small")).to_pylist():
        qrels.setdefault(row["query_id"], {})[row["doc_id"]] = row["score"]
    return qrels


@pytest.mark.parametrize("export", [as_trec, as_open_run, as_predictions])
@pytest.mark.parametrize("system", [*OF_FAMILIES, *OF_DENSE])
def test_other_tools_compute_the_stored_measures_from_an_exported_run(
    folders: dict[str, Path], tmp_path: Path, system: str, export: Callable[[Path, str, Path], str]
) -> None:
    results = folders[system]
    text, expected, qrels = export(results, system, tmp_path / "run.trec.gz"), stored(results, system), qrels_of(results)
    lines = [line.split() for line in text.splitlines()]
    assert len({(line[0], line[4]) for line in lines}) < len(lines)  # some tie
    every = {f"{name}.{','.join(map(str, CUTOFFS))}" for name in TREC_EVAL.values()}
    by_trec_eval = pytrec_eval.RelevanceEvaluator(qrels, every).evaluate(pytrec_eval.parse_run(text.splitlines()))
    asked = {f"{ours}@{k}": ir_measures.parse_measure(f"{theirs}@{k}") for ours, theirs in IR_MEASURES.items() for k in CUTOFFS}
    found = ir_measures.calc(list(asked.values()), qrels, list(ir_measures.read_trec_run(text)))
    by_ir_measures = {(each.query_id, each.measure): each.value for each in found.per_query}
    assert set(expected.index) - set(by_trec_eval) == ({NO_LINE} if system == "theirs" else set())
    for query in expected.index:
        of_query = expected.loc[query]
        for ours, theirs in TREC_EVAL.items():
            for k in CUTOFFS:
                assert by_trec_eval.get(query, {}).get(f"{theirs}_{k}", 0.0) == of_query[f"{ours}@{k}"], (query, ours, k)
        assert {name: by_ir_measures[query, each] for name, each in asked.items()} == of_query[list(asked)].to_dict()
    means = json.loads((results / METRICS(system=system, dataset="small")).read_text())["measures"]
    assert {name: found.aggregated[each] for name, each in asked.items()} == pytest.approx({name: means[name] for name in asked})


def test_the_exported_runs_are_of_every_family(folders: dict[str, Path]) -> None:
    manifests = [read_json(results / MANIFEST)["systems"] for results in folders.values()]
    assert {systems[name]["family"] for name, systems in zip(folders, manifests, strict=True)} == set(FAMILIES)


def test_the_header_of_an_open_run_names_judged_queries_without_a_line(
    folders: dict[str, Path], tmp_path: Path, reader: Any
) -> None:
    for system, names in (("theirs", [NO_LINE]), ("words", None)):
        as_open_run(folders[system], system, tmp_path / "run.trec.gz")
        (tmp_path / "run.trec").write_bytes(gzip.decompress((tmp_path / "run.trec.gz").read_bytes()))
        metadata = reader.read_metadata(str(tmp_path / "run.trec"))
        assert metadata["data"]["test collection"].get("judged queries without a line") == names
