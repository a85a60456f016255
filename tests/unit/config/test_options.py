"""Options of commands, which a configuration has below ``command``."""

from typing import Any

import pytest

from beirflow.config.from_manifest import experiment_of
from beirflow.config.load import load_experiment
from beirflow.extensions.explain.published import explanations
from refusals import problems_of

BM25 = {"systems": "bm25", "datasets": "nfcorpus"}


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("audit", "command: found 'audit'; expected keys with values or null"),
        ({"audit": None}, "command.audit: found nothing; expected keys with values"),
        ({"audit": {"sample": "many"}}, "command.audit.sample: found 'many'; expected a whole number"),
        ({"audit": {"sample": -1}}, "command.audit.sample: found -1; expected at least 0"),
        (
            {"audit": {"samples": 1}},
            "command.audit.samples: found 'samples'; no such key here, allowed are folder, output, sample,",
        ),
        ({"audit": {"folder": "a\nb"}}, "command.audit.folder: found 'a\\nb'; "),
        (
            {"explain": {"result": "bm25/scifact"}},
            "command.explain.result: found 'bm25/scifact'; allowed are null and bm25/nfcorpus",
        ),
        ({"leaderboard": {"folders": "/a"}}, "command.leaderboard.folders: found '/a'; expected a list"),
    ],
)
def test_wrong_options_are_refused_with_what_is_allowed(command: Any, problem: str) -> None:
    (found,) = problems_of({**BM25, "command": command})
    assert found.startswith(problem)


def test_options_decide_nothing_in_the_manifest_and_are_none_unless_given() -> None:
    plain, given = load_experiment(BM25), load_experiment({**BM25, "command": {"audit": {"sample": 5}}})
    assert given.configured == plain.configured
    assert (plain.options("audit"), given.options("audit"), given.options("compare")) == ({}, {"sample": 5}, {})
    stated = experiment_of(
        {**plain.configured, "configuration": {**plain.configured["configuration"], "command": "x"}}, {}, given
    )
    assert stated.options("audit") == {}


def test_the_explained_result_is_the_one_of_the_command_or_each_with_a_published_score() -> None:
    two = {"systems": "bm25", "datasets": ["nfcorpus", "scifact"]}
    pages = [f"<results>/explanations/bm25/{name}.html" for name in two["datasets"]]
    assert explanations(load_experiment(two)) == pages
    assert explanations(load_experiment({**two, "command": {"explain": {"result": "bm25/scifact"}}})) == pages[1:]
