"""Exports for other tools are made again, too: the crate with its instructions, and runs with a header."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from beirflow.audit.checks import Check
from beirflow.audit.configured import configured_experiment
from beirflow.audit.replay.replay import check_replay
from beirflow.core import layout
from beirflow.core.errors import DataError
from beirflow.data.catalogue.catalogue import MtebTask, load_catalogue
from beirflow.extensions.exchange.crate import export_crate
from beirflow.extensions.exchange.layout import (
    CRATE,
    CRATE_CODE,
    CRATE_CONFIGURATION,
    CRATE_README,
    EVAL_RESULT,
    MODEL_INDEX,
    MTEB_RESULT,
)
from beirflow.extensions.exchange.open_run import write_open_run
from forger import FAILED, NOT_CHECKED, PASSED, Forger, named
from results_maker import Made, run_rules

RUN = "open-runs/tiny/small.trec.gz"
EXPORTED = (CRATE, CRATE_README, CRATE_CONFIGURATION, RUN)


@pytest.fixture(scope="session")
def original_exports(original: Made, tmp_path_factory: pytest.TempPathFactory) -> Made:
    forger = Forger.of(original, tmp_path_factory.mktemp("exports"))
    manifest = str(forger.path("manifest.json"))
    crate, readme = str(forger.path(CRATE)), str(forger.path(CRATE_README))
    export_crate(manifest_path=manifest, crate_path=crate, code_folder=str(forger.path(CRATE_CODE)), readme_path=readme)
    forger.path("code/.snakemake_timestamp").touch()  # as Snakemake does in a folder that it knows
    forger.path(RUN).parent.mkdir(parents=True)
    write_open_run(
        run_path=str(forger.path("runs/tiny/small.parquet")),
        record_path=str(forger.path("runs/tiny/small.json")),
        corpus_path=str(forger.path("corpora/small/corpus.json")),
        queries_path=str(forger.path("corpora/small/queries.parquet")),
        manifest_path=manifest,
        output_path=str(forger.path(RUN)),
    )
    return Made(forger.results, original.config)


@pytest.fixture
def exported(original_exports: Made, tmp_path: Path) -> Forger:
    return Forger.of(original_exports, tmp_path)


def checks_of(exported: Forger) -> list[Check]:
    chain = exported.followed()
    return list(check_replay(chain, configured_experiment(chain, exported.experiment)))


def passed(checks: list[Check]) -> set[str]:
    """The rules of jobs that made files again as they are."""
    return {check.found.partition(":")[0] for check in checks if check.status == PASSED}


def instead(name: str, old: bytes, new: bytes) -> Callable[[Forger], str]:
    def change(exported: Forger) -> str:
        content = exported.path(name).read_bytes()
        assert old in content
        exported.replace(name, content.replace(old, new, 1))
        return name

    return change


def other_header(exported: Forger) -> str:
    lines = gzip.decompress(exported.path(RUN).read_bytes())
    exported.replace(RUN, gzip.compress(lines.replace(b"mean", b"last", 1)))
    return RUN


def bomb(exported: Forger) -> str:
    exported.replace(RUN, gzip.compress(b"0" * (1 << 26)))
    return RUN


def cut(exported: Forger) -> str:
    exported.replace(RUN, exported.path(RUN).read_bytes()[:-9])
    return RUN


def test_untouched_exports_are_what_the_results_give(exported: Forger) -> None:
    checks = checks_of(exported)
    assert passed(checks) >= {"export_crate", "open_run"}
    assert not [check for name in EXPORTED for check in named(checks, name)]


OTHER_WORDS = [
    instead(CRATE, b"model.safetensors", b"other.safetensors"),
    instead(CRATE_README, b"pip install", b"pip install --index-url https://example.org"),
    other_header,
]
OTHER_CONFIGURATION = instead(CRATE_CONFIGURATION, b"top_k: 20", b"top_k: 1000")


@pytest.mark.parametrize("changes", [OTHER_WORDS, [OTHER_CONFIGURATION, bomb], [cut]], ids=["words", "bomb", "cut"])
def test_exports_that_say_something_else_are_found(exported: Forger, changes: list[Callable[[Forger], str]]) -> None:
    names = [change(exported) for change in changes]
    checks = checks_of(exported)
    assert [name for name in names if FAILED not in [check.status for check in named(checks, name)]] == []


def crate_with_report(reported: Forger) -> list[str]:
    """A crate that describes the report as well; what it lists."""
    paths = {
        "manifest_path": "manifest.json",
        "crate_path": CRATE,
        "code_folder": "code",
        "readme_path": CRATE_README,
    }
    places = {key: str(reported.path(path)) for key, path in paths.items()}
    export_crate(**places, page_paths=[str(reported.path(layout.REPORT_RECORD))])
    graph = json.loads(reported.path(CRATE).read_text())["@graph"]
    return [entity["@id"] for entity in graph if entity["@type"] == "File"]


def test_a_crate_with_the_report_is_made_again_with_it(reported: Forger) -> None:
    assert {"report.html", "report.json", "significance.csv", "inspection/small.json"} <= set(crate_with_report(reported))
    assert not named(checks_of(reported), CRATE)
    reported.edit(layout.REPORT_RECORD, outputs=reported.read(layout.REPORT_RECORD)["outputs"] | {"report.html": "0" * 64})
    assert FAILED in [check.status for check in named(checks_of(reported), CRATE)]


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        ({"inputs": {"manifest.json": "0" * 64}}, "was made from other results"),
        ({"outputs": {"figures/none.svg": "0" * 64}}, "names figures/none.svg, which is not there"),
    ],
)
def test_no_crate_describes_a_report_of_other_results_or_half_of_one(reported: Forger, facts: dict[str, Any], found: str) -> None:
    reported.edit(layout.REPORT_RECORD, **facts)
    with pytest.raises(DataError, match=found):
        crate_with_report(reported)
    assert not reported.path(CRATE).exists()


def test_what_nothing_makes_again_is_listed_but_for_the_code_that_the_crate_has_digests_of(exported: Forger) -> None:
    exported.replace("gate.json", b"{}")
    listed = {path for check in checks_of(exported) if check.status == NOT_CHECKED for path in check.files}
    assert "gate.json" in listed
    assert not listed & {"code/workflow/Snakefile", *EXPORTED}


def test_results_in_the_forms_of_mteb_are_made_again(reported: Forger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(load_catalogue().mteb, "small", MtebTask("Small", "mteb/small", "English"))
    names = [MTEB_RESULT(system="tiny", task="Small"), MODEL_INDEX(system="tiny")]
    names += [EVAL_RESULT(system="tiny", task="Small")]
    run_rules(reported.results, reported.experiment, names)
    assert passed(checks_of(reported)) >= {"export_mteb", "write_model_index"}
    score = json.loads(reported.path(names[0]).read_text())["scores"]["test"][0]["main_score"]
    for name, shown in zip(names, (score, round(100 * score, 10), round(100 * score, 5)), strict=True):
        reported.replace(name, reported.path(name).read_text().replace(f"{shown}", "0.99", 1).encode())
    checks = checks_of(reported)
    assert [check.status for name in names for check in named(checks, name)] == [FAILED] * 3
