"""A model as judge, against a server on the loopback that grades by a rule; its agreement, beside scikit-learn's."""

import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import kendalltau
from sklearn.metrics import cohen_kappa_score

from beirflow.config.load import load_experiment
from beirflow.core.errors import ConfigError, ModelError
from beirflow.core.records import read_json
from beirflow.evaluation.measures import measure
from beirflow.extensions.judging.agreement import _tau, agreement, confusion_of, kappa, kappa_interval
from beirflow.extensions.judging.judge import PROMPT, JudgeSettings, grade_in, judge_pool
from beirflow.extensions.judging.page import write_judge_page
from beirflow.extensions.judging.pool import pool_unjudged
from beirflow.extensions.judging.relatives import family_words
from beirflow.models import json_server
from call_with_fields import call
from http_servers import Server, posted, send
from results_writer import write_metrics, write_run
from run_results import RunResults

DOCUMENTS = {f"d{number}": f"text {number}" for number in range(12)}
QUERIES = {"q0": "first?", "q1": "second?"}
QRELS = {"q0": {"d0": 2, "d1": 0, "d2": 1}, "q1": {"d9": 1, "d3": 0}}
RUNS = {"x": {"q0": ["d1", "d5", "d0"], "q1": ["d9", "d4"]}, "y": {"q0": ["d0", "d6"], "q1": ["d3", "d9"]}}
POOL = {("q0", "d5"), ("q0", "d6"), ("q1", "d4")}

GRADES = {"0": 2, "1": 1, "2": 1, "9": 1, "3": 0, "5": 1, "6": 0}
"""By number of the document, the judge's; it says nothing readable of document 4."""


class Service(Server):
    """A chat server that keeps its requests, and fails after some answers."""

    def __init__(self) -> None:
        super().__init__()
        self.url += "/v1"
        self.asked: list[dict[str, Any]] = []
        self.fails_after = 1000

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        body = posted(request)
        self.asked.append(body | {"path": request.path, "key": request.headers.get("Authorization")})
        document = re.search(r"text (\d+)\n", body["messages"][0]["content"])
        text = f"<think>perhaps 2 or 1</think> {GRADES.get(document[1], 'I would say 1 or 2')}"
        answer = {"model": "judge-2026", "choices": [{"message": {"content": text}}]}
        answer["usage"] = {"prompt_tokens": 100, "completion_tokens": 10}
        send(request, json.dumps(answer).encode(), 401 if len(self.asked) > self.fails_after else 200)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(json_server, "FIRST_WAIT", 0.01)
    with Service() as state:
        yield state


@dataclass
class Judged:
    """Results of two systems with a pool, to be judged."""

    folder: Path
    results: RunResults
    runs: list[str]
    means: list[str]

    def paths(self, *names: str) -> dict[str, str]:
        files = {"sample": "judge/small-sample.jsonl", "judged": "judge/small.jsonl", "record": "judge/small.json"}
        return {f"{name}_path": str(self.folder / files[name]) for name in names}

    def judge(self, url: str, **settings: Any) -> str:
        (self.folder / "judge").mkdir(exist_ok=True)
        judge = JudgeSettings(url=url, model="judge", requests_at_once=1, **settings)
        pool = {"pool_path": str(self.folder / "pool.jsonl"), "judge": judge}
        paths = {**self.results.corpus_paths, **self.paths("sample", "judged", "record")}
        said: str = call(judge_pool, dataset="small", **paths, **pool, job=self.results.job)
        return said

    def lines(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in Path(self.paths(name)[f"{name}_path"]).read_text().splitlines()]


@pytest.fixture
def made(tmp_path: Path) -> Judged:
    results = RunResults(tmp_path, DOCUMENTS, QUERIES, qrels=QRELS)
    runs, means = [], []
    for system, ranked in RUNS.items():
        run = tmp_path / f"runs/{system}/small.parquet"
        means.append(write_metrics(tmp_path, system, "small", {"NDCG@10": [0.5] * 2}, inputs={run: write_run(run, ranked)})[0])
        runs.append(str(run))
    pool = {"pool_path": str(tmp_path / "pool.jsonl"), "record_path": str(tmp_path / "pool.json"), "pool_depth": 3}
    read = {"run_paths": runs, "means_paths": means}
    call(pool_unjudged, dataset="small", **results.corpus_paths, **read, **pool, job=results.job)
    return Judged(tmp_path, results, runs, means)


def test_a_judge_grades_a_sample_of_judged_pairs_and_then_the_pool(
    made: Judged, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", "s3cret")
    said = made.judge(service.url, key_variable="JUDGE_KEY", sample=100, prompt_price=3.0, completion_price=15.0)
    assert said == "judge judged 5 pairs of people and 3 of the pool; 1 answers have no grade"
    sample, judged = made.lines("sample"), made.lines("judged")
    assert {(line["query_id"], line["doc_id"], line["people"]) for line in sample} == {
        (query, document, grade) for query, grades in QRELS.items() for document, grade in grades.items()
    }
    assert {(line["query_id"], line["doc_id"]) for line in judged} == POOL
    for line in (*sample, *judged):
        assert line["grade"] == GRADES.get(line["doc_id"][1:])
        assert (line["judge"], line["prompt_tokens"], "perhaps" in line["answer"]) == ("judge", 100, True)
    first = service.asked[0]
    assert (first["path"], first["key"], first["model"], first["temperature"]) == (
        "/v1/chat/completions",
        "Bearer s3cret",
        "judge",
        0,
    )
    assert "The grades are 0, 1, 2: 0 if" in first["messages"][0]["content"]
    record = read_json(made.folder / "judge/small.json")
    assert (record["judge"], record["served_models"], record["prompt"]) == ("judge", ["judge-2026"], PROMPT)
    assert record["tokens"] == {"prompt_tokens": 800, "completion_tokens": 80}
    assert record["cost"] == pytest.approx((800 * 3 + 80 * 15) / 1e6)
    assert record["counts"] == {"sample": 5, "pool": 3, "unreadable": 1}
    assert "s3cret" not in (made.folder / "judge/small.json").read_text()


def test_no_answer_is_asked_twice_though_the_job_ended_in_between(made: Judged, service: Service) -> None:
    service.fails_after = 4
    with pytest.raises(ModelError, match="status 401"):
        made.judge(service.url)
    assert not (made.folder / "judge/small.jsonl").exists()
    service.fails_after = 1000
    made.judge(service.url)
    assert len(service.asked) == 5 + 3 + 1
    before = made.lines("judged")
    made.judge(service.url)
    assert (len(service.asked), made.lines("judged")) == (5 + 3 + 1, before)
    made.judge(service.url, parameters={"temperature": 1})  # another judge, so to speak
    assert len(service.asked) == 2 * (5 + 3) + 1


def test_the_page_shows_agreement_with_people_and_the_systems_under_both(made: Judged, service: Service) -> None:
    made.judge(service.url)
    page = made.folder / "judge/small.html"
    told = {"run_paths": made.runs, "means_paths": made.means, "main_measure": "NDCG@10", "page_path": str(page)}
    paths = made.paths("sample", "judged", "record")
    qrels = Path(made.results.corpus_paths["queries_path"]).with_name("qrels.parquet")
    call(write_judge_page, **told, **paths, qrels_path=str(qrels), job=made.results.job)
    text = " ".join(re.sub(r"<[^>]+>", " ", html.unescape(page.read_text())).split())
    sample = made.lines("sample")
    people, judge = ([line[key] for line in sample] for key in ("people", "grade"))
    assert f"Cohen's kappa of grades {cohen_kappa_score(people, judge):.4f}" in text
    relevant = cohen_kappa_score(np.array(people) > 0, np.array(judge) > 0)
    assert f"(grade above 0) {relevant:.4f}".replace("-", "−") in text
    # The order of two systems says nothing: by chance it is the same in every second case.
    assert "human grades, sample; judge, sample undefined" in text
    for words in (
        "judge, on the server judge-2026 (a model, no human)",
        "Human grades, sample",
        "Judgements of the dataset and the judge",
    ):
        assert words in text


@pytest.mark.parametrize(
    ("answer", "grade"),
    [
        ("2", 2),
        ("Grade: 1.", 1),
        ("<think>0 or 2</think>\n0", 0),
        ("1 or 2", None),
        ("3", None),
        ("relevant", None),
        ("-1", None),
    ],
)
def test_an_answer_has_a_grade_if_it_names_one_alone(answer: str, grade: int | None) -> None:
    assert grade_in(answer, [0, 1, 2]) == grade


def test_kappa_is_that_of_scikit_learn_and_not_defined_without_choice() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        people, judge = rng.integers(0, 3, (2, 30))
        assert kappa(confusion_of(people, judge, [0, 1, 2])) == pytest.approx(cohen_kappa_score(people, judge))
    assert kappa(confusion_of(np.ones(5), np.ones(5), [0, 1])) is None
    assert kappa(np.zeros((2, 2), int)) is None


def test_tau_counts_pairs_of_systems_in_the_same_and_in_the_other_order() -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        scores = rng.integers(0, 5, (6, 2)).astype(float)  # some are equal
        signs = [np.sign(one - other) for one, other in combinations(scores, 2)]
        differ = [sum(sign[side] != 0 for sign in signs) for side in (0, 1)]
        assert _tau(scores) == pytest.approx(sum(sign.prod() for sign in signs) / np.sqrt(differ[0] * differ[1]))
    assert _tau(scores[:2]) is None


def ranked(query: int, quality: float, rng: np.random.Generator) -> list[str]:
    """Rank thirty documents, of which the first ten are relevant, by a system of some quality."""
    scores = quality * (np.arange(30) < 10) + rng.normal(size=30)
    return [f"d{query}-{place}" for place in np.argsort(-scores)]


def some_systems(folder: Path, count: int, step: float) -> tuple[dict[str, pa.Table], pa.Table]:
    """Return runs of systems on thirty queries, from bad to good, and the judgements of people, most of which are 1."""
    rng, runs = np.random.default_rng(5), {}
    for number in range(count):
        path = folder / f"{number}.parquet"
        write_run(path, {f"q{query}": ranked(query, step * number, rng) for query in range(30)})
        runs[f"s{number}"] = pq.read_table(path)
    rows = [(f"q{query}", f"d{query}-{place}", int(place < 10)) for query in range(30) for place in range(15)]
    query_ids, doc_ids, grades = zip(*rows, strict=True)
    return runs, pa.table({"query_id": query_ids, "doc_id": doc_ids, "score": pa.array(grades, pa.int32())})


def judged(qrels: pa.Table, grades: np.ndarray) -> list[dict[str, Any]]:
    """Return a sample of 200 pairs that people judged, with a judge's grades."""
    lines = [qrels.slice(place, 1).to_pylist()[0] for place in np.random.default_rng(8).permutation(len(qrels))[: len(grades)]]
    return [{**line, "people": line["score"], "grade": int(grade)} for line, grade in zip(lines, grades, strict=True)]


def test_tau_of_a_judge_who_guesses_is_high_and_not_above_chance(tmp_path: Path) -> None:
    runs, qrels = some_systems(tmp_path, 5, 0.5)
    guessed = np.random.default_rng(2).permutation(np.repeat([1, 0], [150, 50]))
    found = agreement(judged(qrels, guessed), [], runs, qrels, "NDCG@10")
    orders = found.orders["sample"]
    assert abs(found.kappa) < 0.15
    assert orders.tau > 0.7  # since the sample decides which documents count
    assert orders.random == pytest.approx(orders.tau, abs=0.25)
    assert (orders.above_chance, orders.p > 0.05, orders.highest >= orders.random) == (False, True, True)
    # Nothing of the pool is judged, so that its judge changes nothing: that is what chance gives.
    pool = found.orders["pool"]
    assert (pool.tau, pool.random, pool.p, pool.above_chance) == (pytest.approx(1), pytest.approx(1), 1, False)


def test_tau_of_a_judge_who_judges_as_people_do_is_above_chance(tmp_path: Path) -> None:
    runs, qrels = some_systems(tmp_path, 7, 0.05)
    sample = judged(qrels, np.zeros(len(qrels)))
    sample = [{**line, "grade": line["people"]} for line in sample]
    found = agreement(sample, [], runs, qrels, "NDCG@10")
    orders = found.orders["sample"]
    assert (found.kappa, orders.tau, found.intervals[0]) == (1, pytest.approx(1), None)
    assert (orders.p, orders.above_chance, orders.highest < 1) == (1 / 40, True, True)


def test_tau_by_chance_is_that_of_permuted_grades(tmp_path: Path) -> None:
    runs, qrels = some_systems(tmp_path, 4, 0.5)
    sample = judged(qrels, np.array([1, 1, 0]))
    orders = agreement(sample, [], runs, qrels, "NDCG@10").orders["sample"]
    measured = []
    for grades in ([1, 1, 0], [1, 0, 1], [0, 1, 1]):  # all that there are
        both = []
        for key in ("people", "grade"):
            lines = [{**line, "grade": grade} for line, grade in zip(sample, grades, strict=True)]
            table = {name: [line[of] for line in lines] for name, of in (("query_id",) * 2, ("doc_id",) * 2, ("score", key))}
            table = pa.table(table).cast(qrels.schema)
            both.append([measure(run, table, [10])["NDCG@10"].mean() for run in runs.values()])
        measured.append(kendalltau(*both).statistic)
    known = [each for each in measured if not np.isnan(each)]
    assert min(known) - 1e-9 <= orders.random <= max(known) + 1e-9
    assert orders.tau == pytest.approx(measured[0])


def test_the_interval_of_kappa_is_near_that_of_its_standard_error() -> None:
    confusion = np.array([[60, 20, 5], [15, 70, 25], [5, 10, 90]])
    shares = confusion / confusion.sum()
    rows, columns, n = shares.sum(axis=1), shares.sum(axis=0), confusion.sum()
    observed, expected = np.trace(shares), rows @ columns
    estimate = (observed - expected) / (1 - expected)
    # Fleiss, Cohen and Everitt 1969, formula 13.
    same = sum(shares[i, i] * (1 - (rows[i] + columns[i]) * (1 - estimate)) ** 2 for i in range(3))
    pairs = ((i, j) for i in range(3) for j in range(3) if i != j)
    other = (1 - estimate) ** 2 * sum(shares[i, j] * (columns[i] + rows[j]) ** 2 for i, j in pairs)
    error = np.sqrt((same + other - (estimate - expected * (1 - estimate)) ** 2) / n) / (1 - expected)
    assert kappa_interval(confusion) == pytest.approx((estimate - 1.96 * error, estimate + 1.96 * error), abs=0.004)
    assert kappa_interval(np.array([[3, 0], [0, 0]])) is None
    assert kappa_interval(np.zeros((2, 2), int)) is None


@pytest.mark.parametrize(
    ("judge", "system", "refused"),
    [
        ({"model": "Qwen/Qwen3-8B"}, "qwen3-embedding-0.6b", True),
        ({"model": "mistralai/Mistral-7B-Instruct-v0.3"}, "e5-mistral-7b-instruct", True),
        ({"model": "meta-llama/Llama-3.1-8B-Instruct"}, "qwen3-embedding-0.6b", False),
        ({"model": "house-model", "family": ["bge"]}, "bge-small-en-v1.5", True),
        ({"model": "BAAI/something", "family": ["other"]}, "bge-small-en-v1.5", False),
    ],
)
def test_a_judge_of_the_family_of_a_ranked_system_is_refused(judge: dict[str, Any], system: str, refused: bool) -> None:
    config = {"systems": [system], "datasets": ["scifact"], "judge": {"url": "http://localhost/v1", **judge}}
    if refused:
        with pytest.raises(ConfigError, match=rf"judge.model: .*{system} ranks with .* would favour"):
            load_experiment(config)
    else:
        load_experiment(config)


def test_words_that_say_nothing_of_a_family_are_left_out() -> None:
    assert family_words("meta-llama/Llama-3.1-8B-Instruct") == ["meta", "llama", "llama"]
    with pytest.raises(ConfigError, match="no word of this name says its family"):
        load_experiment({"systems": ["bm25"], "datasets": ["scifact"], "judge": {"url": "http://localhost/v1", "model": "base"}})


def test_a_secret_in_the_address_is_refused_and_not_repeated() -> None:
    config = {"systems": ["bm25"], "datasets": ["scifact"], "judge": {"url": "http://me:se%40cret@host/v1", "model": "llama"}}
    with pytest.raises(ConfigError, match=r"judge: found {'url': 'http://host/v1'.*\$\{NAME\}") as refused:
        load_experiment(config)
    assert "cret" not in str(refused.value)
