"""A reranker may name a system in place of a model, and has its model and settings then."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from beirflow.config.experiment import Experiment
from beirflow.config.load import load_experiment
from beirflow.config.systems import catalogue_systems
from beirflow.core.errors import ConfigError
from beirflow.families.rerank.settings import RerankSettings
from tiny_bert import save_tiny_bert
from tiny_colbert import save_colbert
from tiny_expanders import save_tiny_t5
from workflow_rules import params_of


@pytest.fixture
def systems(tmp_path: Path) -> dict[str, dict[str, Any]]:
    return {
        "mine": {"model": str(save_tiny_bert(tmp_path / "bert")), "pooling": "mean", "similarity": "cosine"},
        "tokens": {"family": "late-interaction", "model": str(save_colbert(tmp_path / "late")), "query_lengths": {"scifact": 9}},
        "bits": {"variant_of": "mine", "vectors": "binary"},
        "taught": {"base": "mine", "train": {"generator": str(save_tiny_t5(tmp_path / "t5"))}},
    }


def loaded(systems: dict[str, Any], **reranker: Any) -> Experiment:
    again = {"family": "rerank", "first": "bm25", **reranker}
    return load_experiment({"systems": "again", "datasets": ["scifact"], "custom": {"systems": {**systems, "again": again}}})


def test_it_has_the_model_and_the_settings_of_a_dense_system(systems: dict[str, dict[str, Any]]) -> None:
    experiment = loaded(systems, model="mine", depth=50)
    settings: RerankSettings = experiment.systems["again"].settings
    assert settings.dense == experiment.systems["mine"].settings
    assert (settings.late, settings.model, settings.first, settings.depth) == (None, systems["mine"]["model"], "bm25", 50)
    assert experiment.model_settings("again")["model"] == systems["mine"]["model"]
    assert experiment.configured_settings("again") == ["pooling", "similarity"]
    assert experiment.needed_systems == ["again", "bm25"]
    parameters = params_of(experiment, "score_pairs", system="again", dataset="scifact")["settings"]
    assert RerankSettings(**parameters, below="drop") == settings.for_dataset("scifact")


def test_it_has_the_lengths_of_a_system_of_late_interaction_by_dataset(systems: dict[str, dict[str, Any]]) -> None:
    settings = loaded(systems, model="tokens").systems["again"].settings
    assert settings.dense is None
    assert settings.late.query_lengths == {"scifact": 9}
    assert settings.for_dataset("scifact").late.query_length == 9
    assert loaded(systems, model="tokens").configured_settings("again") is None


@pytest.mark.parametrize(
    ("reranker", "expected"),
    [
        *(
            ({"model": name}, f"systems.again.model: found '{name}'; this system cannot score pairs; name a folder")
            for name in ("bm25", "bits", "taught", "again")
        ),
        ({"model": "mine", "max_length": 9}, "systems.again.max_length: found 9; the system mine defines its model"),
        ({"model": "mine", "instruction": "Find"}, "systems.again.instruction: found 'Find'; the system mine defines its model"),
    ],
)
def test_what_scores_no_pairs_or_has_settings_twice_is_refused(
    systems: dict[str, dict[str, Any]], reranker: dict[str, Any], expected: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(expected)):
        loaded(systems, **reranker)
    # What its system lacks is said, too.
    del systems["mine"]["pooling"]
    with pytest.raises(ConfigError, match=r"again\.model: found 'mine'.*pooling"):
        loaded(systems, model="mine")


def with_base(**systems: Any) -> Experiment:
    return load_experiment({"systems": list(systems), "datasets": "scifact", "custom": {"systems": systems}})


def test_any_setting_of_a_known_system_is_changed_in_one_line(systems: dict[str, dict[str, Any]]) -> None:
    experiment = with_base(
        short={"base": "bge-small-en-v1.5", "max_length": 256},
        shorter={"base": "short", "query_prefix": ""},
        other={"base": "bm25", "k1": 1.5},
        deep={"base": "bm25-minilm-l6-ce", "depth": 500},
        **{name: systems[name] for name in ("mine", "taught")},
    )
    known, made = catalogue_systems(), {name: system.settings for name, system in experiment.systems.items()}
    assert made["short"] == replace(known["bge-small-en-v1.5"].settings, name="short", max_length=256)
    assert made["shorter"] == replace(made["short"], name="shorter", query_prefix="")
    assert made["other"] == replace(known["bm25"].settings, name="other", k1=1.5)
    assert made["deep"] == replace(known["bm25-minilm-l6-ce"].settings, name="deep", depth=500)
    assert made["taught"].train
    # Another model has none of the revisions and digests of the first.
    moved = (
        with_base(moved={"base": "all-minilm-l6-v2", "model": systems["mine"]["model"], "max_length": 32})
        .systems["moved"]
        .settings
    )
    assert (moved.revision, moved.offline, moved.weights_sha256, moved.pooling) == (None, None, None, "mean")


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (
            {"base": "bge-smal-en-v1.5", "max_length": 9},
            "custom.systems.x.base: found 'bge-smal-en-v1.5'; did you mean 'bge-small-en",
        ),
        ({"base": "x", "max_length": 9}, "custom.systems.x.base: found 'x'; "),
        ({"base": "bm25", "max_len": 9}, "custom.systems.x.max_len: found 'max_len'; no such key here"),
        ({"base": ["bm25"]}, "custom.systems.x.base: found ['bm25']; "),
        ({"base": "bm25", "seeds": [1, 2]}, "custom.systems.x.seeds: found [1, 2]; only systems that draw something have seeds"),
        ({"family": "lexical", "expansion": {"path": "/q.jsonl"}, "seeds": [1, 2]}, "only systems that draw something"),
        ({"base": "doct5query-t5-base", "seeds": [1, 1]}, "found [1, 1]; expected a list of at least two different"),
        ({"base": "doct5query-t5-base", "seeds": 3}, "found 3; expected a list of at least two different"),
        ({"base": "doct5query-t5-base", "seeds": [1, -1]}, "expansion.seed: found -1; expected at least 0"),
    ],
)
def test_a_base_that_is_not_there_or_lacks_the_setting_and_seeds_of_what_draws_nothing_are_refused(
    entry: dict[str, Any], expected: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(expected)):
        with_base(x=entry)


def test_a_system_with_seeds_is_one_system_a_seed(systems: dict[str, dict[str, Any]]) -> None:
    custom = {**systems, "thrice": {"base": "taught", "seeds": [1, 2, 3]}}
    experiment = load_experiment({"systems": ["bm25", "thrice"], "datasets": ["scifact"], "custom": {"systems": custom}})
    assert experiment.chosen_systems == ["bm25", "thrice-seed-1", "thrice-seed-2", "thrice-seed-3"]
    one, two = (experiment.systems[f"thrice-seed-{seed}"].settings for seed in (1, 2))
    assert (two.train.seed, two.train.added.seed) == (2, 2)
    assert replace(two, name=one.name, train=replace(two.train, seed=1)) == one
    written = {"family": "lexical", "expansion": {"model": systems["taught"]["train"]["generator"]}, "seeds": [0, 5]}
    experiment = load_experiment({"systems": "d2q", "datasets": ["scifact"], "custom": {"systems": {"d2q": written}}})
    assert [experiment.systems[name].settings.expansion.seed for name in experiment.chosen_systems] == [0, 5]
