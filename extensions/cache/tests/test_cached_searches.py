"""What a search of a chunk found is taken by whoever searches the same with the same code, whatever they call it."""

import logging
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from beir_writer import write_beir
from beirflow import SNAKEFILE
from beirflow.config.load import load_experiment
from beirflow.core import layout
from beirflow.core.errors import VerdictError
from beirflow.core.layout import record_of
from beirflow.core.records import Job, read_json
from beirflow.extensions.cache import EXTENSION
from beirflow.extensions.exchange.compare import compare
from beirflow.ranking.candidates import COLUMNS, Candidates
from beirflow.run.rule_call import call_rule
from beirflow.run.rule_job import COMMAND, Named, RuleJob
from beirflow.run.rules_of_snakefile import rule_jobs
from beirflow.run.scratch import params_without
from cache_entries import (
    DAMAGED,
    change_fields,
    damage_content,
    damage_entry,
    files,
    lose_content,
    replace_content,
    silent_bucket,
)
from faults_at_work import filled, small_disk
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
        self.config = config_of(
            own, folder / "data", chunk_documents=20, top_k=10, cutoffs=[1, 10], cache=str(folder.parent / "cache")
        )
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


@pytest.mark.parametrize("are_kept", [False, True])
def test_runs_that_were_taken_stand_in_an_audit(users: tuple[User, User], tmp_path: Path, are_kept: bool) -> None:
    """With candidates, which are merged again then, and without them, as they are deleted after the merge."""
    second = users[1]
    ignored = None if are_kept else shutil.ignore_patterns("candidates")
    shutil.copytree(second.results, tmp_path / "results", ignore=ignored)
    forger = Forger(tmp_path / "results", load_experiment(second.config))
    assert [check.name for check in forger.noticed(sample=5)] == ["no file is left over"] * are_kept


def test_runs_that_were_taken_compare_as_equal_to_those_that_were_computed(users: tuple[User, User]) -> None:
    first = users[0]
    third = User(first.folder.with_name("third"), first.folder.with_name("models"), "")
    third.config["systems"] = ["words", "dense"]
    third.make(layout.SUMMARY)
    assert "taken" in read_json(third.path(layout.RUN_RECORD, "words"))
    with pytest.raises(VerdictError, match="Equal in all measures and rankings: words on data, dense on data"):
        compare(folder=str(first.results), other=str(third.results))  # which only lacks the other systems


class Again:
    """One search of the second user that is made again, with a cache of its entry alone, or with another place."""

    def __init__(self, user: User, system: str, folder: Path) -> None:
        self.user, self.folder, self.cache = user, folder, folder / "one"
        self.name = layout.CANDIDATES(system=user.systems[system], dataset=user.dataset, chunk=1)
        self.before = (user.results / self.name).read_bytes()
        self.entry = read_json(user.path(layout.CANDIDATES_RECORD, system, chunk=1))["taken"]["entry"]
        shutil.copytree(Path(user.config["cache"]) / self.entry, self.cache / self.entry)

    def make(self, place: str | Path | None = None, name: str = "results", **params: Any) -> dict[str, Any]:
        """Make candidates in a copy of the results, which are what they were; gives their record."""
        return self.jobs(place or self.cache, name, **params)[0]()

    def jobs(self, place: str | Path, *names: str, **params: Any) -> list[Callable[[], dict[str, Any]]]:
        """The same in several folders, by functions that wait to be called."""
        experiment = load_experiment({**self.user.config, "cache": str(place)})
        made = list[Callable[[], dict[str, Any]]]()
        for name in names:
            results = self.folder / name
            shutil.copytree(self.user.results, results, dirs_exist_ok=True)
            with rule_jobs(SNAKEFILE, experiment, results) as rules:
                rule = Cached(rules, results)
                job = rule.job(self.name)
            made.append(partial(self._made, rule, job, params))
        return made

    def _made(self, rules: Cached, job: Any, params: dict[str, Any]) -> dict[str, Any]:
        for name, value in params.items():
            setattr(job.params, name, value)
        rules.run(job)
        assert (rules.folder / self.name).read_bytes() == self.before
        return read_json(record_of(rules.folder / self.name))


@pytest.fixture
def again(users: tuple[User, User], tmp_path: Path, request: pytest.FixtureRequest) -> Again:
    parse_each_rule_file_once()
    return Again(users[1], getattr(request, "param", "words"), tmp_path)


def replace_hits(cache: Path, **columns: Callable[[np.ndarray], np.ndarray]) -> None:
    """Write other columns of hits, and an entry with their digest."""

    def change(path: Path) -> None:
        hits = pa.ipc.open_file(path.read_bytes()).read_all()
        changed = tuple(columns.get(name, np.copy)(hits[name].to_numpy()) for name in COLUMNS.names)
        with path.open("wb") as stream:
            Candidates.write(stream, changed)

    replace_content(cache, change)


def other_columns(path: Path) -> None:
    with pa.ipc.new_file(path, schema := pa.schema([("query", pa.int64())])) as writer:
        writer.write_table(pa.table([[0]], schema=schema))


OTHER = "queries that were drawn find other documents, or the same with other scores, here"
NOT_HITS = "it has hits of other queries or documents, or none that are sorted"
OTHER_FACTS = "the entry has other facts than the step records"


@pytest.mark.parametrize("again", SYSTEMS, indirect=True)
def test_scores_that_a_search_does_not_find_are_not_taken(again: Again, caplog: pytest.LogCaptureFixture) -> None:
    replace_hits(again.cache, score=lambda scores: np.nextafter(scores, np.float32(np.inf)))
    assert "taken" not in again.make()
    assert OTHER in caplog.text


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (damage_content, "is damaged: its sha256 is"),
        (damage_entry, "entry.json is damaged"),
        (lose_content, "No such file or directory"),
        (partial(replace_hits, query=lambda query: query + 1), NOT_HITS),
        (partial(replace_hits, query=lambda query: query[::-1]), NOT_HITS),
        (partial(replace_hits, row=lambda row: row + 1000), NOT_HITS),
        (partial(replace_hits, row=lambda row: row - 1000), NOT_HITS),
        (partial(replace_hits, score=lambda score: score + np.float32(np.nan)), NOT_HITS),
        (partial(replace_hits, row=lambda row: (row + 1) % 10), OTHER),
        (partial(replace_content, change=other_columns), "it has other columns than candidates"),
        (partial(replace_content, change=lambda path: path.write_bytes(b"")), "it cannot be read"),
        (partial(change_fields, ties="any"), OTHER_FACTS),
        (partial(change_fields, made={"vectors": "int8"}), OTHER_FACTS),
        (partial(change_fields, self_matches={f"q{i}": 1.0 for i in range(QUERIES)}), OTHER_FACTS),
        (partial(change_fields, self_matches={"d003": "much"}), OTHER_FACTS),
        (partial(change_fields, read=["a file"]), OTHER_FACTS),
        (partial(change_fields, counts={"self_matches_dropped": -1}), "numbers that are none"),
        (partial(change_fields, seconds={}), "the entry has other seconds than the step records"),
    ],
)
def test_what_is_no_sound_search_is_computed_here(
    again: Again, caplog: pytest.LogCaptureFixture, spoil: Callable[[Path], None], reason: str
) -> None:
    spoil(again.cache)
    assert "taken" not in again.make()
    (warning,) = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    assert reason in warning
    assert ("taken" in again.make()) == (spoil in DAMAGED)


def test_names_in_an_entry_are_not_believed(again: Again) -> None:
    change_fields(again.cache, sources={"embeddings/theirs/chunk-0.json": {"seconds": {"index": 1e9}}}, system="theirs")
    record = again.make()
    assert record["taken"] == {"place": str(again.cache), "entry": again.entry}
    assert {path.split("/")[2] for path in record["sources"]} == {again.user.dataset}


@pytest.mark.parametrize("params", [{"code": "of-a-later-version"}, {"retrieval": {"top_k": 10, "drop_self_matches": False}}])
def test_a_search_by_other_code_or_settings_is_another_entry(again: Again, params: dict[str, Any]) -> None:
    job = again.jobs(again.cache, "results", **params)[0]
    again.before = b""
    with suppress(AssertionError):  # other settings may find others
        job()
    assert len(files(again.cache, "entry.json")) == 2


def test_a_full_cache_costs_a_search_a_warning(again: Again, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with small_disk(tmp_path / "disk", "64k") as disk, filled(disk, 0):
        assert "taken" not in again.make(disk)
        assert not [path for path in disk.rglob("*") if path.is_file() and path.name != "filler-of-test"]
    assert "others cannot take this file from there" in caplog.text


def test_two_who_search_the_same_leave_one_sound_entry(again: Again, tmp_path: Path) -> None:
    jobs = again.jobs(tmp_path / "new", "a", "b")
    with ThreadPoolExecutor(2) as both:
        list(both.map(lambda job: job(), jobs))
    assert len(files(tmp_path / "new", "*")) == 2
    assert "taken" in again.make(tmp_path / "new", "c")


@pytest.mark.long
def test_a_bucket_that_does_not_answer_costs_a_search_time_and_warnings(
    again: Again, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with silent_bucket(monkeypatch) as place:
        assert "taken" not in again.make(place)
    assert len([each for each in caplog.records if each.levelno == logging.WARNING]) == 2
