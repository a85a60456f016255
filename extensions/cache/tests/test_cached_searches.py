"""What a search of a chunk found is taken by whoever searches the same with the same code, whatever they call it."""

import logging
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from beir_writer import write_beir
from beirflow import SNAKEFILE
from beirflow.audit.scratch import params_without
from beirflow.config.load import load_experiment
from beirflow.core import layout
from beirflow.core.records import Job, read_json
from beirflow.extensions.cache import EXTENSION
from beirflow.run.rule_call import call_rule
from beirflow.run.rule_job import COMMAND, Named, RuleJob
from beirflow.run.rules_of_snakefile import rule_jobs
from forger import Forger
from results_maker import Here
from results_of_families import write_given
from tiny_colbert import save_colbert
from tiny_sparse import save_masked_lm
from warm_snakemake import parse_each_rule_file_once
from workflow_runs import config_of, tiny_system, words

pytestmark = pytest.mark.usefixtures("threads_as_before")

DOCUMENTS, QUERIES = 30, 12  # of which eight are drawn


class Cached(Here):
    """Results of jobs that take from the cache of the configuration, and keep there."""

    def run(self, job: Any) -> None:
        for path in map(Path, job.output):
            path.parent.mkdir(parents=True, exist_ok=True)
        params, outputs = params_without(job.params, COMMAND), Named(job.output, dict(job.output.items()))
        names = [dict(each.items()) for each in (job.input, params, job.wildcards)]
        rule = RuleJob(job.rule, names[0], outputs, *names[1:], job.config, 1, [])
        parts = (f"{key}-{value}" if key == "chunk" else value for key, value in names[2].items())
        call_rule(rule, Job(self.folder, "/".join([job.rule, *parts]), names[1].get("code", "")), [EXTENSION.store])


class User:
    """One who evaluates systems of every kind that searches chunks, in a folder and under names of their own."""

    def __init__(self, folder: Path, models: Path, mark: str) -> None:
        self.folder, self.results, self.dataset = folder, folder / "results", f"{mark}data"
        shutil.copytree(models, folder / "models")
        texts = {f"d{i:03}": words(i - 1 if i % 3 == 1 else i, 3 + i % 17) for i in range(DOCUMENTS)}
        asked = {("d003" if i == 0 else f"q{i}"): words(900 + i, 5) for i in range(QUERIES)}
        write_beir(folder / "data", texts, asked, {query: {f"d{i:03}": 1} for i, query in enumerate(asked)})
        write_given(models, self.dataset, DOCUMENTS, 0)
        systems: dict[str, dict[str, Any]] = {
            "words": {"family": "lexical"},
            "expanded": {"family": "lexical", "expansion": {"path": str(models / "{dataset}.jsonl")}},
            "masked": {"family": "sparse", "model": str(folder / "models/splade")},
            "tokens": {"family": "late-interaction", "model": str(folder / "models/colbert")},
            "dense": tiny_system(folder / "models/bert"),
            "bytes": {"variant_of": f"{mark}dense", "vectors": "int8", "dimensions": 20},
        }
        own = {f"{mark}{name}": system for name, system in systems.items()}
        self.config = config_of(own, folder / "data", chunk_documents=20, top_k=10, cutoffs=[1, 10], cache=str(folder.parent / "cache"))
        self.config |= {"datasets": [self.dataset]}
        self.config["custom"]["datasets"] = {self.dataset: {"path": str(folder / "data")}}
        self.systems = {name: f"{mark}{name}" for name in systems}

    def make(self, *paths: str) -> None:
        """Make files, and what they are made from."""
        parse_each_rule_file_once()
        experiment = load_experiment(self.config)
        with rule_jobs(SNAKEFILE, experiment, self.results) as rules:
            for path in paths:
                Cached(rules, self.results).make(path)

    def path(self, pattern: Any, system: str, **names: Any) -> Path:
        """A file of a system."""
        return self.results / pattern(system=self.systems[system], dataset=self.dataset, **names)


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> tuple[User, User]:
    """Two who evaluate the same one after the other."""
    folder = tmp_path_factory.mktemp("group")
    shutil.copytree(tiny_bert, folder / "models/bert")
    save_masked_lm(folder / "models/splade")
    save_colbert(folder / "models/colbert")
    both = User(folder / "first", folder / "models", ""), User(folder / "second", folder / "models", "our-")
    for user in both:
        user.make(layout.SUMMARY)
    return both


SYSTEMS = ("words", "expanded", "masked", "tokens", "dense", "bytes")


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_second_user_takes_what_the_first_one_found(users: tuple[User, User], system: str) -> None:
    first, second = users
    found = [each.path(layout.CANDIDATES, system, chunk=1).read_bytes() for each in users]
    assert found[0] == found[1]
    computed, taken = (read_json(each.path(layout.RUN_RECORD, system)) for each in users)
    assert "taken" not in computed
    searched = {layout.CANDIDATES_RECORD(system=second.systems[system], dataset=second.dataset, chunk=chunk) for chunk in (0, 1)}
    assert searched <= taken["taken"].keys()
    assert {each["place"] for each in taken["taken"].values()} == {second.config["cache"]}
    same = ("made", "counts", "bytes", "top_k", "ties", "self_matches")
    assert [taken.get(key) for key in same] == [computed.get(key) for key in same]
    assert first.path(layout.RUN, system).read_bytes() == second.path(layout.RUN, system).read_bytes()
    # Nothing in it names what others call theirs.
    assert not [path for path in taken["inputs"] if not (second.results / path).exists()]
    assert {job.split("/")[2] for job in taken["jobs"] if job.count("/") > 2} <= {second.dataset}


def test_runs_that_were_taken_stand_in_an_audit(users: tuple[User, User], tmp_path: Path) -> None:
    second = users[1]
    shutil.copytree(second.results, tmp_path / "results", ignore=shutil.ignore_patterns("candidates"))
    forger = Forger(tmp_path / "results", load_experiment(second.config))
    assert forger.noticed(sample=5) == []
