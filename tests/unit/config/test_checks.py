"""Checks of what a configuration needs."""

from pathlib import Path

import pytest
import yaml

from beirflow.config import checks
from beirflow.config.checks import check_installed, check_rule_names
from beirflow.config.load import load_experiment
from beirflow.core.errors import ConfigError
from beirflow.ranking.measures.all_measures import MEASURES
from workflow_rules import workflow_rules


@pytest.mark.parametrize(
    ("systems", "named"), [(["my-encoder"], "my-encoder"), ([None], "my-encoder"), (["bm25"], None), ([], None)]
)
def test_a_system_with_a_model_needs_the_packages_of_models(
    systems: list[str | None], named: str | None, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {"my-encoder": {"model": str(tiny_bert), "pooling": "mean", "similarity": "dot"}}
    experiment = load_experiment({"systems": ["bm25", *own], "datasets": ["scifact"], "custom": {"systems": own}})
    check_installed(experiment, systems)
    monkeypatch.setattr(checks, "OF_MODEL_CODE", ("json", "no_such_package"))
    if named is None:
        check_installed(experiment, systems)
        return
    with pytest.raises(ConfigError) as raised:
        check_installed(experiment, systems)
    assert str(raised.value) == (
        "my-encoder is dense, which computes with a model, and no_such_package cannot be imported here; install what models need"
        " with: pip install 'beirflow[models]'"
    )


def test_a_name_that_no_rule_has_is_refused_with_the_nearest() -> None:
    rules = ["encode_chunk", "search_chunk"]
    check_rule_names({"encode_chunk"}, rules)
    with pytest.raises(ConfigError) as refusal:
        check_rule_names({"encode_chunks", "qqq", "search_chunk"}, rules)
    assert str(refusal.value).splitlines()[1:] == [
        "  set-resources, set-threads: found 'encode_chunks', which is no rule; did you mean 'encode_chunk'?",
        "  set-resources, set-threads: found 'qqq', which is no rule",
    ]


def test_the_profile_for_slurm_names_only_rules() -> None:
    profile = Path(__file__).parents[3] / "workflow/profiles/slurm/profile.yaml"
    check_rule_names(yaml.safe_load(profile.read_text())["set-resources"], workflow_rules())


@pytest.mark.parametrize(
    ("key", "measure", "expected"),
    [
        ("main_measure", "NDGC@10", r"'NDGC@10'; expected a measure with a cutoff, .*did you mean 'NDCG@10'\?"),
        ("main_measure", "Hole@10", r"'Hole@10'; expected a measure"),  # no system is ranked by what nobody judged
        ("main_measure", "NDCG", r"'NDCG'; expected a measure with a cutoff, such as NDCG@10"),
        ("main_measure", "NDCG@7", r"'NDCG@7'; expected a measure at one of the cutoffs"),
        ("gate", {"measure": "recall@100"}, r"gate\.measure: found 'recall@100'; .*did you mean 'Recall@100'\?"),
    ],
)
def test_a_measure_is_one_that_ranks_systems(key: str, measure: object, expected: str) -> None:
    with pytest.raises(ConfigError, match=expected) as refused:
        load_experiment({"systems": "bm25", "datasets": "scifact", key: measure})
    assert len(str(refused.value).splitlines()) == 2


@pytest.mark.parametrize("name", [name for name, each in MEASURES.items() if each.ranks_systems and not each.needs])
def test_any_measure_of_every_dataset_can_be_the_main_one(name: str) -> None:
    assert load_experiment({"systems": "bm25", "datasets": "scifact", "main_measure": f"{name}@10"}).main_measure == f"{name}@10"
