"""Latency and throughput, warm; a slow answer shows in the percentiles, and what cannot be measured says why."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import bootstrap

from beirflow.config.families import FAMILIES
from beirflow.core.digests import file_digest
from beirflow.core.layout import LATENCY, POSTINGS, RUN_RECORD
from beirflow.core.records import Job, read_json
from beirflow.evaluation import latency as module
from beirflow.evaluation.latency import measure_latency, milliseconds, time_answers
from beirflow.families import answers
from beirflow.families.fusion.settings import FusionSettings
from beirflow.families.lexical import LexicalSettings
from beirflow.ranking.ranking import Hits, no_hits
from call_with_fields import call
from latencies import write_latency
from lexical_results import DATASET, LexicalResults

SETTINGS = LexicalSettings("bm25")
QUERIES = {f"q{number}": f"w{number}" for number in range(12)}


def single(queries: Sequence[str]) -> list[list[str]]:
    return [[query] for query in queries]


class Clock:
    """A clock that moves only while queries are answered."""

    def __init__(self) -> None:
        self.seconds, self.asked = 0.0, list[str]()

    def __call__(self) -> float:
        return self.seconds

    def answering(self, takes: Callable[[str], float]) -> Callable[[Sequence[str]], Hits]:
        """Answers to batches that take as long as a function of each query says."""

        def answer(queries: Sequence[str]) -> Hits:
            self.asked += queries
            self.seconds += sum(map(takes, queries))
            return no_hits()

        return answer


def test_a_slow_answer_shows_in_the_95th_percentile_and_not_in_the_median() -> None:
    clock, queries = Clock(), [str(number) for number in range(100)]
    answer = clock.answering(lambda query: 1.0 if int(query) % 10 == 9 else 0.01)
    found = milliseconds(time_answers(answer, ["100", "101"], single(queries), clock))
    expected = {"p50_ms": 10, "p50_low_ms": 10, "p50_high_ms": 10, "p95_ms": 1000, "mean_ms": 109}
    assert found == {name: pytest.approx(value) for name, value in expected.items()}
    assert clock.asked == ["100", "101", *queries * 3]  # further queries are answered once before
    few = milliseconds(np.array([[0.001, 0.002]]))
    assert (few["p50_ms"], few["p95_ms"]) == (pytest.approx(1.5), None)  # no query is beyond the 95th percentile
    assert milliseconds(np.arange(1, 101)[None])["p95_ms"] == pytest.approx(95_050)


def test_a_query_has_the_median_of_its_repetitions_and_the_median_an_interval_over_queries() -> None:
    seconds = np.random.default_rng(0).lognormal(size=(1, 150))
    found = milliseconds(np.concatenate([seconds, seconds * 0 + 1000, seconds * 0]))  # one repetition was disturbed, one not
    assert found["p50_ms"] == pytest.approx(1000 * np.median(seconds))
    interval = bootstrap(seconds, np.median, method="percentile", rng=1, n_resamples=2000).confidence_interval
    assert (found["p50_low_ms"], found["p50_high_ms"]) == pytest.approx((1000 * interval.low, 1000 * interval.high), rel=0.05)


def test_queries_that_take_long_are_fewer_and_never_less_than_some() -> None:
    clock, queries = Clock(), [str(number) for number in range(100)]
    assert time_answers(clock.answering(lambda _: 100.0), queries[:10], single(queries), clock).tolist() == [[100.0] * 5]
    assert clock.asked == ["0", *queries[:5]]
    clock = Clock()
    assert time_answers(clock.answering(lambda _: 10.0), [], single(queries), clock).shape == (1, 31)
    clock = Clock()
    found = time_answers(clock.answering(lambda _: 10.0), [], single(queries[:20]), clock)
    assert (found.shape, np.isnan(found).sum()) == ((2, 20), 9)
    clock = Clock()  # of a system that loads something at the first query, which is not measured
    answer = clock.answering(lambda _: 0.0 if clock.asked[1:] else 50.0)
    assert time_answers(answer, ["c"], single("ab"), clock).tolist() == [[0.0, 0.0]] * 3


@pytest.fixture
def made(tmp_path: Path) -> LexicalResults:
    corpus = [(f"d{i}", "", f"w{i % 12} w{i % 5}") for i in range(30)]
    made = LexicalResults(tmp_path, corpus, QUERIES, size=20, top_k=10).index_all()
    made.run(SETTINGS)
    return made


def used_system(family: str, settings: dict[str, Any]) -> dict[str, Any]:
    """A system as the parameters of the rule state it."""
    known = FAMILIES[family]
    kind = f"{known.settings.__module__}:{known.settings.__name__}"
    has_models = known.model_record(known.settings(**settings)) is not None
    return {"family": family, "kind": kind, "settings": settings, "answers": known.answers, "has_models": has_models}


def measured(made: LexicalResults, system: str = "bm25", threads: int = 1, **systems: Any) -> dict[str, Any]:
    entries = {"bm25": used_system("lexical", asdict(SETTINGS)), **systems}
    path = made.results / LATENCY(system=system, dataset=DATASET)
    path.parent.mkdir(parents=True, exist_ok=True)
    asked = {"system": system, "systems": entries, "dataset": DATASET, "top_k": 10, "output_path": str(path)}
    job = Job(made.results, f"measure_latency/{system}/{DATASET}", "c0de")
    call(measure_latency, **asked, **dict.fromkeys(("precision", "device", "token_budget"), "auto"), threads=threads, job=job)
    return read_json(path)


def test_a_record_says_what_was_measured_on_what(made: LexicalResults, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_QUERIES", 5)
    record = measured(made, threads=2)
    cpu = record["devices"]["cpu"]
    assert cpu["p50_ms"] > 0
    assert cpu["p50_low_ms"] <= cpu["p50_ms"] <= cpu["p50_high_ms"]
    assert 0 < cpu["encode_p50_ms"] < cpu["p50_ms"]
    assert (cpu["queries"], cpu["repetitions"], cpu["where"]) == (5, 3, {"postings": "cpu"})
    assert {name: each["threads"] for name, each in record["devices"].items()} == {"cpu": 2, "cpu_1_thread": 1}
    assert record["warm_up"] == 6  # others than those that are measured
    assert record["load"].keys() == {"before", "after", "cores", "others"}
    rates = [cpu[f"batch_{name}queries_per_second"] for name in ("low_", "", "high_")]
    assert 0 < rates[0] <= rates[1] <= rates[2]
    assert cpu["batch_encode_queries_per_second"] > cpu["batch_queries_per_second"]
    assert record["reasons"] == {"cuda": "nothing of it computes on one"}
    assert (record["documents"], record["of_queries"], record["top_k"], record["threads"]) == (30, 12, 10, 2)
    assert len(set(record["queries"])) == 5
    assert record["queries"] != sorted(record["queries"])  # drawn
    assert set(record["queries"]) < set(QUERIES)
    other = LexicalSettings("other", k1=2.0)
    made.run(other)
    assert measured(made, "other", other=used_system("lexical", asdict(other)))["queries"] == record["queries"]
    assert record["bytes"] == {"index": made.record(RUN_RECORD, system="bm25")["bytes"]["index"]}
    for chunk in (0, 1):
        path = made.path(POSTINGS, chunk=chunk)
        assert record["inputs"][made.job("x").below(path)] == file_digest(path)
    assert record.keys() == read_json(write_latency(made.results, "other", DATASET)).keys()


def test_what_cannot_be_measured_says_why(made: LexicalResults, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers.psutil, "virtual_memory", lambda: SimpleNamespace(available=1000))
    record = measured(made)
    assert record["devices"] == {}
    assert record["reasons"]["cpu"].endswith("GB are free")
    assert record["bytes"]["index"] > 0


@pytest.mark.parametrize("message", ["CUDA out of memory. Tried to", "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling"])
def test_too_little_memory_of_a_device_is_a_reason(made: LexicalResults, monkeypatch: pytest.MonkeyPatch, message: str) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError(message)

    monkeypatch.setattr(module, "time_answers", fail)
    assert measured(made)["reasons"]["cpu"].endswith(f"besides the model: {message}")


def test_a_system_that_needs_a_run_of_elsewhere_is_not_measured(made: LexicalResults) -> None:
    record = made.results / RUN_RECORD(system="fused", dataset=DATASET)
    record.parent.mkdir()
    record.write_bytes((made.results / RUN_RECORD(system="bm25", dataset=DATASET)).read_bytes())
    fused = used_system("fusion", asdict(FusionSettings("fused", ["bm25", "theirs"])))
    theirs = used_system("run", {"name": "theirs", "run": "/runs/small.trec"})
    found = measured(made, "fused", fused=fused, theirs=theirs)
    assert found["reasons"]["cpu"] == "theirs was made outside, so it cannot answer queries"
