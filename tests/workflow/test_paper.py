"""The BEIR paper through Snakemake: parts are targets of their own, and the whole is made from a finished run."""

import pandas as pd
import pytest
from beirflow.files.digests import file_digest
from beirflow.files.records import read_json
from workflow_runs import Workflow

PAGE = "results/paper/index.html"
COUNTED = ("compare_systems", "collect_costs", "inspect_dataset")
OWN = (
    *("tabulate_paper", "count_corpus", "describe_corpora", "check_claims", "compare_with_baseline"),
    *("measure_overlap", "tabulate_lengths", "measure_bias", "draw_paper", "write_paper"),
    *("measure_latency", "tabulate_efficiency"),
)


def test_a_part_is_a_target_of_its_own_and_nothing_before_it_is_made_again(finished_lexical: Workflow) -> None:
    assert finished_lexical.planned("results/paper/overlap.csv") == {"count_corpus": 1, "measure_overlap": 1}
    assert finished_lexical.planned(PAGE) == dict.fromkeys((*COUNTED, *OWN), 1)


@pytest.mark.long
def test_the_whole_paper_is_made_from_a_finished_run(finished_lexical: Workflow) -> None:
    finished_lexical.run(PAGE)
    recorded = read_json(finished_lexical.result("paper/index.json"))["outputs"]
    assert len(recorded) == 12 + 2 * 5 + 2 + 1 + 1
    assert all(file_digest(finished_lexical.result(name)) == digest for name, digest in recorded.items())
    table = pd.read_csv(finished_lexical.result("paper/table-2.csv")).set_index("dataset")
    means = read_json(finished_lexical.result("metrics/tiny/small.json"))["measures"]
    assert table.loc["small", "here tiny"] == pytest.approx(means["NDCG@10"], abs=1e-15)
    statistics = pd.read_csv(finished_lexical.result("paper/table-1.csv")).set_index("dataset")
    assert statistics.loc["small", "documents"] == 30
    efficiency = pd.read_csv(finished_lexical.result("paper/efficiency.csv")).set_index("system")
    assert 0 < efficiency.loc["tiny", "cpu_ms"] <= efficiency.loc["tiny", "cpu_p95_ms"]
    assert (efficiency.loc["tiny", "documents"], efficiency.loc["tiny", "threads"]) == (30, 2)
    claims = pd.read_csv(finished_lexical.result("paper/claims.csv"))
    assert set(claims.query("source == 'here'")["verdict"]) == {"not enough systems", "not enough datasets"}
    assert finished_lexical.planned(PAGE) == {}
