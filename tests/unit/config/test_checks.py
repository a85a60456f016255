"""Checks of what a configuration needs."""

from pathlib import Path

import pytest

from beirflow.config import checks
from beirflow.config.checks import check_installed
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
