"""Analyzers of other languages in the configuration, and the code that jobs depend on."""

from pathlib import Path
from typing import Any

import pytest

from beirflow.config.load import load_experiment
from beirflow.config.rule_inputs import answering_code
from beirflow.core.errors import ConfigError
from beirflow.families.stage import Task, analyzer_code, code_by_name
from beirflow.run import code_version
from beirflow.run.code_version import code_of
from workflow_rules import rule_modules, workflow_rules


def test_texts_are_analyzed_in_the_language_of_their_dataset_unless_an_analyzer_is_stated() -> None:
    """As Anserini is configured for each language of MIRACL, whose Swahili and Yoruba are not stemmed."""
    chosen = ["miracl.fi", "miracl.sw", "beir-nl.scifact", "scifact"]
    stated = {"family": "lexical", "analyzer": "lucene-spanish"}
    experiment = load_experiment({"systems": ["bm25", "mine"], "datasets": chosen, "custom": {"systems": {"mine": stated}}})
    found = [experiment.settings_for("bm25", dataset).analyzer for dataset in chosen]
    assert found == ["lucene-finnish", "lucene-swahili", "lucene-dutch", "lucene-english"]
    assert [experiment.analyzers(dataset) for dataset in chosen] == [[each, "lucene-spanish"] for each in found]
    assert load_experiment({"systems": "contriever", "datasets": chosen[:1]}).analyzers(chosen[0]) == ["lucene-english"]
    assert experiment.in_paths("bm25", "miracl.fi") == {"system": "bm25", "analyzer": "lucene-finnish"}
    assert experiment.expansions.indexes["lucene-finnish"].analyzer == "lucene-finnish"
    assert {experiment.settings_for("mine", dataset).analyzer for dataset in chosen} == {"lucene-spanish"}


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (
            {"datasets": ["miracl.ja"]},
            "bm25.analyzer: found 'lucene-japanese'; that of the language of miracl.ja; .*Kuromoji.; none is here",
        ),
        ({"datasets": ["beir-pl.scifact"]}, "the language of beir-pl.scifact; .*Stempel.* State another analyzer"),
        ({"datasets": "hakari"}, "NanoDBPedia and 12 others; there is none. Leave such datasets out, or state another analyzer"),
        ({"analyzer": "lucene-thai"}, "mine.analyzer: found 'lucene-thai'.*dictionary of Java; none is here"),
        ({"analyzer": "lucene-finish"}, "found 'lucene-finish'; allowed are lucene-english, .*lucene-yoruba.*'lucene-finnish'"),
    ],
)
def test_what_cannot_be_analyzed_is_refused(config: dict[str, Any], said: str) -> None:
    datasets = config.pop("datasets", ["scifact"])
    systems = {"mine": {"family": "lexical", **config}} if config else {}
    with pytest.raises(ConfigError, match=said):
        load_experiment({"systems": list(systems) or ["bm25"], "datasets": datasets, "custom": {"systems": systems}})


def test_jobs_of_other_languages_alone_depend_on_their_code() -> None:
    chains = "extensions.languages.chains"
    rules = {rule: rule_modules(rule) for rule in workflow_rules()}
    assert not [rule for rule, names in rules.items() if any(name.startswith("extensions.languages") for name in names)]
    analysing = {rule for rule, names in rules.items() if "families.postings.analyzer" in names}
    assert analysing == {"index_chunk", "search_index", "inspect_dataset"}  # beside what answers a query
    experiment = load_experiment({"systems": ["bm25"], "datasets": ["miracl.fi", "scifact"]})
    code = code_of([f"beirflow.{chains}"])
    tasks = [Task(experiment, {"system": "bm25", "dataset": dataset}) for dataset in ("miracl.fi", "scifact")]
    assert [*map(code_by_name, tasks)] == [code, None]
    assert [analyzer_code(experiment.analyzers(dataset)) for dataset in ("miracl.fi", "scifact")] == [code, None]
    assert answering_code(experiment, "bm25", "miracl.fi") != answering_code(experiment, "bm25", "scifact")
    reached = code_version.reached_modules(Path(code_version.PACKAGE, *chains.split(".")).with_suffix(".py"))
    assert {"extensions.languages.stemmers", "extensions.languages.names", "families.postings.grammar"} <= reached
