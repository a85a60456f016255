"""Expansions without the extension that makes them: refused, not checked, and given ones as before."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from beirflow.config.load import load_experiment
from beirflow.core.errors import ConfigError
from beirflow.families.expansions.settings import WordWeights, WrittenQueries
from beirflow.families.expansions.spot_check import expansion_checks
from beirflow.families.spot_checks.spot_check import NotHereError

NEEDED = r"{} from a model need an extension that makes them \(docs/extensions\.md\)"


@pytest.fixture(autouse=True)
def no_extension(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beirflow.families.expansions.models.extensions", lambda: ())


def loaded(*systems: str, **own: Any) -> Any:
    return load_experiment({"systems": list(systems), "datasets": ["scifact"], "custom": {"systems": own}})


@pytest.mark.parametrize(
    ("system", "own", "key", "kind"),
    [
        ("doct5query-t5-base", {}, "expansion", "queries"),
        ("deepct-bert-base", {}, "weights", "weights"),
        ("mine", {"family": "sparse", "head": "unicoil", "model": "m", "expansion": {"model": "t5"}}, "expansion", "queries"),
    ],
)
def test_a_system_that_needs_the_extension_is_refused_with_what_it_needs(
    system: str, own: dict[str, Any], key: str, kind: str
) -> None:
    with pytest.raises(ConfigError, match=rf"{system}\.{key}\.model: found '.*'; {NEEDED.format(kind)}; or name a file"):
        loaded(system, **({"mine": own} if own else {}))


def test_given_expansions_and_all_others_are_planned(tmp_path: Any) -> None:
    (tmp_path / "scifact.jsonl").write_text("")
    given = {"family": "lexical", "expansion": {"path": f"{tmp_path}/{{dataset}}.jsonl"}}
    experiment = loaded("bm25", "contriever", "mine", mine=given)
    assert experiment.expansions.of_kind("given") == experiment.expansions.of_system("mine")


@pytest.mark.parametrize("added", [WrittenQueries("t5"), WordWeights("bert")])
def test_what_was_made_by_the_extension_is_not_checked(added: Any) -> None:
    subject: Any = SimpleNamespace(system=SimpleNamespace(settings=SimpleNamespace(added=added)), dataset="small")
    (check,) = expansion_checks(subject, 4, np.random.default_rng(0), str.split)
    assert check.path == f"expansions/{added.name}/small"
    with pytest.raises(NotHereError, match=NEEDED.format(added.kind)):
        check.run()
