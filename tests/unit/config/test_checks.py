"""Checks of what a configuration needs."""

import re
from pathlib import Path

import pytest
import yaml

from beirflow.config import checks
from beirflow.config.checks import check_installed, check_rule_names
from beirflow.config.load import load_experiment
from beirflow.core.errors import ConfigError


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
    rules = {
        name
        for path in profile.parents[3].glob("*/**/rules/*.smk")
        for name in re.findall(r"^rule (\w+):", path.read_text(), re.M)
    }
    check_rule_names(yaml.safe_load(profile.read_text())["set-resources"], rules)
