"""Sparse systems with an expansion in the configuration: what they may say, and what is said when they say something else."""

from pathlib import Path
from typing import Any

import pytest

from beirflow.config.load import load_experiment
from beirflow.core.errors import ConfigError
from beirflow.families.lexical import LexicalSettings
from tiny_bert import save_tiny_bert

HUB = {"model": "owner/name", "revision": "0" * 40}
UNICOIL = {"family": "sparse", "head": "unicoil", **HUB}


OWN_QUERIES = {"query_model": "x/y", "query_revision": "1" * 40}


def loaded(entry: dict[str, Any], **more: Any) -> Any:
    return load_experiment({"systems": ["mine"], "datasets": ["scifact"], "custom": {"systems": {"mine": entry, **more}}})


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"expansion": HUB, "head": "splade"}, "mine.expansion: .* a model with head: splade adds terms itself"),
        ({"text_length": 400}, "mine.text_length: found 400; the documents have no expansion"),
        ({"expansion_length": 9}, "mine.expansion_length: found 9; the documents have no expansion"),
        ({"expansion": HUB, "max_length": 502}, "mine.max_length: found 502; .* and 3 special tokens are 503; lower text_length"),
        ({"expansion": {"model": "/nowhere"}}, "mine.expansion.model: found '/nowhere'; nothing is there"),
        ({"expansion": {"path": "/nowhere.jsonl"}}, "mine.expansion.path: found '/nowhere.jsonl'; there is no file /nowhere"),
        ({"expansion": HUB | {"join": "append"}}, "mine.expansion.join: found 'join'; no such key here, allowed are model, "),
        ({"expansion": {"path": "/x.jsonl", "queries": 3}}, "mine.expansion.queries: found 'queries'"),
        ({"expansion": {"queries": 3}}, "mine.expansion.model: missing; this key is required"),
        ({"most_terms": 9}, "mine.most_terms: found 9; uniCOIL gives each token one weight"),
        ({"pooling": "sum"}, "mine.pooling: found 'sum'; uniCOIL gives each token one weight"),
        ({"pooling": "maxx"}, r"mine.pooling: found 'maxx'; allowed are max, sum; did you mean 'max'\?"),
        ({"expansion": HUB, "expansion_length": 0}, "mine.expansion_length: found 0; .* at least 1"),
        ({"revision": ...}, "mine.model: found 'owner/name'; .* needs 'revision'"),
        ({"query_model": "x/y"}, "mine.query_model: found 'x/y'; .* needs 'query_revision'"),
        ({**OWN_QUERIES, "queries": "tokens"}, "mine.query_model: .*remove the key"),
        ({**OWN_QUERIES, "head": "sparta"}, "mine.query_model: .*remove the key"),
    ],
)
def test_what_means_nothing_or_cannot_be_used_is_refused(entry: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        loaded({key: value for key, value in (UNICOIL | entry).items() if value is not ...})


def test_a_model_that_writes_no_queries_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"mine.expansion.model: .* queries are written by a T5"):
        loaded({**UNICOIL, "expansion": {"model": str(save_tiny_bert(tmp_path))}})


def test_an_expansion_is_that_of_a_lexical_system_with_the_same_settings() -> None:
    experiment = loaded({**UNICOIL, "expansion": HUB | {"queries": 5}}, plain=UNICOIL)
    lexical = LexicalSettings("other", expansion=HUB | {"queries": 5})  # type: ignore[arg-type]
    assert experiment.expansions.of_system("mine") == [lexical.index.expansion]
    assert experiment.expansions.of_system("plain") == []
    others = load_experiment({}).expansions.of_kind("queries")
    assert experiment.expansions.of_kind("queries") == [*others, lexical.index.expansion]
    found = experiment.settings("mine")
    assert (found["text_length"], found["expansion_length"], found["expansion"]["join"]) == (400, 100, "inject")
    assert experiment.settings("plain")["text_length"] is None
