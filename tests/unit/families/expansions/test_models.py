"""Expansions without the extension that makes them: refused, and given ones as before."""

from typing import Any

import pytest

from beirflow.config.load import load_experiment
from beirflow.core.errors import ConfigError

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
