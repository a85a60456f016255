"""Results that nobody forged pass, with every step of the verdict, here and elsewhere."""

from pathlib import Path

import pytest

from beirflow.config.load import load_experiment
from forger import Forger, put
from results_maker import make_results
from workflow_runs import config_of, tiny_system


def test_nothing_is_noticed_in_results_that_nobody_touched(reported: Forger) -> None:
    assert reported.noticed(sample=5) == []


def test_digests_that_are_made_again_without_a_change_change_nothing(forger: Forger) -> None:
    forger.evaluate_again("tiny", "small", "stack-tex")
    assert [check for check in forger.failed() if not check.name.startswith("files for reading")] == []


def test_nothing_is_noticed_elsewhere(elsewhere: Forger) -> None:
    assert elsewhere.noticed() == []


@pytest.mark.usefixtures("threads_as_before")
def test_variants_may_search_fewer_dimensions_than_their_encoder_keeps(tiny_bert: Path, small: Path, tmp_path: Path) -> None:
    systems = {
        "kept": tiny_system(tiny_bert, dimensions=16),
        "signs": {"variant_of": "kept", "vectors": "binary"},
        "bytes": {"variant_of": "kept", "vectors": "int8", "dimensions": 8},
    }
    made = make_results(tmp_path / "results", config_of(systems, small))
    forger = Forger(made.results, load_experiment(made.config))
    assert forger.noticed(sample=5) == []
    forger.edit("runs/bytes/small.json", put("made", "dimensions", value="16"))
    forger.digest_summary_again()
    assert [check.found for check in forger.failed()] == ["runs/bytes/small.json says made / dimensions 16"]
