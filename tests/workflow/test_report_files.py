"""The derived files, through Snakemake: the report, the BEIR paper, and a crate whose instructions make its results again."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from beirflow.core.digests import file_digest
from beirflow.report.registry import EMPTY, functions
from workflow_runs import REPORTED, Workflow


def test_scores_inspection_and_figures_are_made_from_a_finished_run_and_nothing_before_them(
    reported_once: Workflow, lexical_once: Workflow
) -> None:
    own = ("collect_scores", "compare_systems", "collect_costs", "describe_systems", "inspect_dataset", "draw_figures")
    own += ("tabulate_figures", "export_tables", "write_report")
    assert reported_once.ran() == lexical_once.ran() | dict.fromkeys(own, 1)
    means = reported_once.read("metrics/tiny/small.json")["measures"]
    scores = pd.read_parquet(reported_once.result("scores.parquet"))
    assert scores.groupby("measure", observed=True)["value"].mean().to_dict() == pytest.approx(means, abs=1e-12)
    inspection = reported_once.read("inspection/small.json")
    assert inspection["sample"]["how"] == "all queries"
    assert inspection["lengths"]["all"]["n"] == 30
    costs = pd.read_csv(reported_once.result("cost.csv"))
    assert (costs["index_bytes"] > 0).all()
    assert (costs["peak_memory_bytes"] > 1e7).all()
    figures, frames, tables = (len(functions(kind)) for kind in ("figure", "frame", "table"))
    assert len(list(reported_once.result("figures").iterdir())) == 2 * figures + frames
    page = reported_once.result("report.html").read_text(encoding="utf-8")
    for said in (f"{means['NDCG@10']:.4f}</td>", "lexical", "lucene-english", "ascending"):
        assert said in page, said
    drawn = [path for path in reported_once.result("figures").glob("*.svg") if f'<g id="{EMPTY}">' not in path.read_text()]
    assert 3 < page.count('src="data:image/svg+xml') == len(drawn) < figures  # with one system there is nothing to compare
    recorded = reported_once.read("report.json")["outputs"]
    assert len(recorded) == 2 * figures + frames + 2 * tables + 1 + len(
        (
            "report.html",
            "scores.parquet",
            "significance.csv",
            "uncertainty.csv",
            "cost.csv",
            "systems.csv",
            "inspection/small.json",
        )
    )
    assert all(file_digest(reported_once.result(name)) == digest for name, digest in recorded.items())
    assert reported_once.planned(*REPORTED, "results/summary.csv") == {}


PAGE = "results/beir_paper/index.html"
COUNTED = ("inspect_dataset",)
OWN = (
    *("count_corpus", "describe_corpora", "measure_overlap", "tabulate_lengths", "measure_bias", "judge_findings"),
    *("draw_beir_paper", "write_beir_paper", "measure_latency", "tabulate_efficiency"),
)


def test_a_part_is_a_target_of_its_own_and_nothing_before_it_is_made_again(finished_lexical: Workflow) -> None:
    assert finished_lexical.planned("results/beir_paper/overlap.csv") == {"count_corpus": 1, "measure_overlap": 1}
    assert finished_lexical.planned(PAGE) == dict.fromkeys((*COUNTED, *OWN), 1)


@pytest.mark.long
def test_a_copy_of_a_crate_makes_its_results_again(finished_lexical: Workflow, tmp_path: Path) -> None:
    finished_lexical.run("results/ro-crate-metadata.json")
    crate = Path(shutil.copytree(finished_lexical.result(""), tmp_path / "crate"))
    commands = re.findall(r"^ {4}(export .*|snakemake .*)$", (crate / "README.md").read_text(), re.MULTILINE)
    script = "\n".join(commands).replace("snakemake ", f"{shlex.quote(sys.executable)} -m snakemake ", 1)
    done = subprocess.run(
        ["sh", "-c", script], cwd=crate, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    made = [pd.read_csv(folder / "summary.csv") for folder in (crate, crate / "again/results")]
    measures = [name for name in made[0].columns if "@" in name]
    assert {"NDCG@10", "MRR@10"} <= set(measures)
    pd.testing.assert_frame_equal(made[0][measures], made[1][measures], check_exact=True)
