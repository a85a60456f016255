"""Claims about a tiny model on a small corpus, honest and not: the verdict and the cause are right."""

import json
import os
import random
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from beir_writer import write_beir
from beirflow.config.load import load_experiment
from beirflow.core import layout
from beirflow.core.errors import DataError
from beirflow.core.records import read_json
from beirflow.extensions.verify import causes
from beirflow.extensions.verify import verify as verify_module
from beirflow.extensions.verify.claims import Task, read_claim
from beirflow.extensions.verify.layout import STATEMENT
from beirflow.extensions.verify.verify import Findings, Request, add_audit
from claimed_runs import Run, verified
from forger import Forger, put
from results_maker import Made, run_rules
from vocabulary import WORDS
from warm_snakemake import run_warm
from workflow_runs import config_of, tiny_system, words
from zoo import change_json

DOCUMENTS, QUERIES = 120, 24

CHANGES: dict[str, dict[str, Any]] = {
    "pooling": {"pooling": "cls"},
    "length": {"max_length": 32},
    "normalisation": {"normalize": False, "similarity": "dot"},
    "prompt": {"query_prefix": "", "document_prefix": ""},
}
"""By cause, the settings of the system that made the run in place of those of the model."""


def system(model: Path, **changes: Any) -> dict[str, Any]:
    prompts = {"query_prefix": f"{WORDS[0]} {WORDS[1]} ", "document_prefix": f"{WORDS[2]} "}
    return tiny_system(model, **{"similarity": "cosine", "normalize": True, **prompts, **changes})


class Claims:
    """Runs of a model, of the same with other settings and on other data, and what a verification needs."""

    def __init__(self, folder: Path, model: Path) -> None:
        texts = {f"d{i:03}": {"title": words(i, 3), "text": words(500 + i, 10 + i % 50)} for i in range(DOCUMENTS)}
        asked = {f"q{i:02}": words(2000 + i, 6) for i in range(QUERIES)}
        draw = random.Random(1)
        qrels = {query: dict.fromkeys(draw.sample([*texts], 3), 1) for query in asked}
        edited = {
            key: {**each, "text": words(9000 + i, 20)} if i % 8 == 0 else each for i, (key, each) in enumerate(texts.items())
        }
        for name, documents in (
            ("small", texts),
            ("untitled", {key: {**each, "title": ""} for key, each in texts.items()}),
            ("edited", edited),
        ):
            write_beir(folder / name, documents, asked, qrels)
        datasets = {name: {"path": str(folder / name)} for name in ("small", "untitled", "edited")}
        systems = {"tiny": system(model), **{name: system(model, **each) for name, each in CHANGES.items()}}
        config = config_of(systems, folder / "small", chunk_documents=1000, top_k=100, cutoffs=[1, 10, 100])
        config |= {"systems": [*systems, "bm25"], "datasets": [*datasets], "custom": {"systems": systems, "datasets": datasets}}
        self.config, self.folder, self.results = config, folder, folder / "results"
        pairs = [(name, "small") for name in (*systems, "bm25")] + [("tiny", "untitled"), ("tiny", "edited")]
        runs = [layout.RUN(system=name, dataset=dataset) for name, dataset in pairs]
        run_rules(self.results, load_experiment(config), [*runs, layout.METRICS(system="tiny", dataset="small")])
        self.mean = read_json(self.results / "metrics/tiny/small.json")["measures"]["NDCG@10"]
        self.qrels = qrels

    def run(self, name: str = "tiny", dataset: str = "small") -> Run:
        table = pq.read_table(self.results / layout.RUN(system=name, dataset=dataset))
        run: Run = {}
        for query, document, score in zip(*(table[key].to_pylist() for key in ("query_id", "doc_id", "score")), strict=True):
            run.setdefault(query, {})[document] = score
        return run

    def verified(self, folder: Path, run: Run | str | None, **request: Any) -> dict[str, Any]:
        """Verify a claim about the tiny model, and give the statement back."""
        return verified(self.results, self.config, "tiny", folder, run, **request)


@pytest.fixture(scope="module")
def claims(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Claims:
    return Claims(tmp_path_factory.mktemp("claims"), tiny_bert)


def in_trec_form(run: Run, *, of_ranks: bool) -> str:
    lines = []
    for query, documents in run.items():
        for rank, (document, score) in enumerate(documents.items(), 1):
            lines.append(f"{query} Q0 {document} {rank} {1 / rank if of_ranks else f'{100 * score:.5f}'} tag")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("form", ["scores", "ranks", "another scale"])
def test_an_honest_run_is_consistent(claims: Claims, tmp_path: Path, form: str) -> None:
    run = claims.run() if form == "scores" else in_trec_form(claims.run(), of_ranks=form == "ranks")
    statement = claims.verified(tmp_path, run, claim={"value": claims.mean})
    figures = statement["figures"]
    assert statement["verdict"] == "consistent"
    assert figures["compared by"] == ("score" if form == "scores" else "order")
    assert (figures["hits that agree"], figures["documents left out"], figures["hidden error"]) == (1, 0, 0)
    assert figures["of the run"] == pytest.approx(claims.mean, abs=1e-12)
    assert figures["recomputed, drawn queries"] == figures["claimed, drawn queries"]
    assert (figures["difference, low"], figures["difference, high"]) == (0, 0)
    assert statement["model"]["files"]["model.safetensors"]


def test_few_queries_are_undecided_and_the_needed_number_is_named(claims: Claims, tmp_path: Path) -> None:
    statement = claims.verified(tmp_path, claims.run(), share=0.05)
    assert statement["verdict"] == "undecided"
    assert statement["sample"]["documents"] <= 0.05 * DOCUMENTS + 25
    assert "queries must be checked" in statement["sentence"]


@pytest.mark.parametrize("cause", [*CHANGES, "title", "version of the data"])
def test_a_run_of_other_settings_is_inconsistent_and_the_cause_is_named(claims: Claims, tmp_path: Path, cause: str) -> None:
    dataset = {"title": "untitled", "version of the data": "edited"}.get(cause, "small")
    run = claims.run(cause if cause in CHANGES else "tiny", dataset)
    # Ranks alone tell a cause, too.
    statement = claims.verified(tmp_path, in_trec_form(run, of_ranks=True) if cause == "pooling" else run, share=0.5)
    assert statement["verdict"] == "inconsistent"
    assert statement["cause"]["name"] == cause, statement["cause"]


def rounded(run: Run) -> Run:
    """Give scores with the noise of low precision."""
    draw = random.Random(4)
    return {query: {each: score * (1 + draw.gauss(0, 0.004)) for each, score in hits.items()} for query, hits in run.items()}


def moved_up(run: Run, qrels: dict[str, dict[str, int]]) -> Run:
    """Put a relevant document first, for three queries."""
    first = {query: next(each for each in hits if qrels[query].get(each)) for query, hits in [*run.items()][:3]}
    return {query: hits | ({first[query]: 2.0} if query in first else {}) for query, hits in run.items()}


def dropped(run: Run, qrels: dict[str, dict[str, int]]) -> Run:
    """Leave out what ranks before the first relevant document, for three queries; the scores of all others are right."""
    some = [*run][:3]
    first = {query: max(score for each, score in run[query].items() if qrels[query].get(each)) for query in some}
    return {query: {each: score for each, score in hits.items() if score <= first.get(query, 9)} for query, hits in run.items()}


@pytest.mark.parametrize("forged", ["moved up", "dropped", "rounded"])
def test_forged_rows_are_told_from_noise(claims: Claims, tmp_path: Path, forged: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(causes, "recompute", lambda *_: iter(()))  # the ways that are tried have a test of their own
    run = claims.run()
    run = rounded(run) if forged == "rounded" else (moved_up if forged == "moved up" else dropped)(run, claims.qrels)
    statement = claims.verified(tmp_path, run)
    assert statement["verdict"] == "inconsistent"
    assert statement["cause"]["name"] == ("precision" if forged == "rounded" else "changed rows"), statement
    if forged != "rounded":
        assert statement["figures"]["queries that differ"] == 3
        figures = statement["figures"]
        gained = figures["claimed, drawn queries"] - figures["recomputed, drawn queries"]
        assert gained > 0
        assert figures["difference, low"] <= gained <= figures["difference, high"]


def test_a_mean_that_does_not_follow_from_the_run_is_inconsistent(claims: Claims, tmp_path: Path) -> None:
    statement = claims.verified(tmp_path, claims.run(), claim={"value": claims.mean + 0.005})
    assert (statement["verdict"], statement["cause"]) == ("inconsistent", None)
    assert "is claimed" in statement["sentence"]


@pytest.mark.parametrize(
    ("off", "share", "verdict"),
    [(0, 1, "consistent"), (0.01, 1, "inconsistent"), (0.5, 0.99, "inconsistent"), (-0.5, 0.99, "undecided")],
)
def test_a_claim_without_a_run_is_estimated(
    claims: Claims, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, off: float, share: float, verdict: str
) -> None:
    monkeypatch.setattr(verify_module, "LEAST_QUERIES", 5)
    statement = claims.verified(tmp_path, None, claim={"value": claims.mean + off}, share=share)
    assert statement["verdict"] == verdict, statement["sentence"]
    assert (statement["figures"]["bias"] == "none") == (share == 1)


@pytest.mark.parametrize("forged", [None, {"q99": {"d000": 1.0}}, {"q01": {"d999": 1.0}}, {"q01": {"d000": float("nan")}}])
def test_a_run_of_other_data_has_no_verdict(claims: Claims, tmp_path: Path, forged: Run | None) -> None:
    with pytest.raises(DataError):
        claims.verified(tmp_path, "no run" if forged is None else forged)
    assert not (tmp_path / "results" / STATEMENT).exists()


@pytest.mark.parametrize("forged", [False, True])
def test_the_audit_of_a_folder_is_part_of_the_verdict(forger: Forger, original: Made, forged: bool) -> None:
    task = Task("small", "small", "test", "NDCG@10")
    claim = read_claim([str(forger.results)], task, "tiny", None)
    assert (claim.run, claim.system) == (str(forger.results / layout.RUN(system="tiny", dataset="small")), "tiny")
    assert (claim.entry, claim.says["precision"]) == (original.config["custom"]["systems"]["tiny"], "float32")
    assert claim.value == forger.read("metrics/tiny/small.json")["measures"]["NDCG@10"]
    if forged:
        forger.edit("metrics/tiny/small.json", put("measures", "NDCG@10", value=0.99))
    findings = Findings("consistent", "Consistent.")
    request = Request("tiny", {"folder": claim.folder, "system": claim.system})
    add_audit(findings, load_experiment(original.config), request, "small", 1)
    assert findings.verdict == ("inconsistent" if forged else "consistent"), findings
    assert findings.figures["audit, sample"]


def beirflow_verify(claims: Claims, folder: Path, claim: str, *options: str) -> tuple[int, str, dict[str, Any] | None]:
    """Type a command about the tiny model; give its exit status, what it printed, and its statement."""
    config = {"custom": {"systems": {"tiny": claims.config["custom"]["systems"]["tiny"]}}, "device": "cpu"}
    (folder / "my.yaml").write_text(yaml.safe_dump(config))
    words = ["verify", claim, "--dataset", f"{claims.folder}/small", "--share", "1", "--configfile", "my.yaml"]
    words += options if "--model" in options else ("--model", "tiny", *options)
    status, output = run_warm(words, folder, {**os.environ, "PWD": str(folder)}, command=True)
    statement = folder / "verification" / STATEMENT
    return status, output, read_json(statement) if statement.exists() else None


def test_the_command_verifies_runs_and_folders_and_refuses_in_a_sentence(claims: Claims, tmp_path: Path, tiny_bert: Path) -> None:
    """A run in TREC form with ir_metadata, MTEB's results with predictions, a run of another version, a refused model."""
    header = "# ir_metadata.start\n# tag: theirs\n# ir_metadata.end\n"
    (tmp_path / "run.trec").write_text(header + in_trec_form(claims.run(), of_ranks=False))
    status, output, statement = beirflow_verify(claims, tmp_path, "run.trec", "--value", str(claims.mean))
    assert (status, "Consistent: " in output) == (0, True), output
    assert statement
    assert statement["claim"]["says"]["ir_metadata"][0].startswith("tag: theirs")
    (tmp_path / "mteb").mkdir()
    (tmp_path / "mteb/small_predictions.json").write_text(json.dumps({"default": {"test": claims.run()}}))
    scores = {"test": [{"hf_subset": "default", "ndcg_at_10": claims.mean + 0.01}]}
    (tmp_path / "mteb/small.json").write_text(json.dumps({"task_name": "small", "scores": scores}))
    status, output, statement = beirflow_verify(claims, tmp_path, "mteb")
    assert (status, "Inconsistent: the run has the NDCG@10" in output) == (1, True), output
    assert statement
    assert statement["claim"]["value"] == pytest.approx(claims.mean + 0.01)
    (tmp_path / "other.trec").write_text(in_trec_form(claims.run(), of_ranks=False).replace(" d000 ", " of-a-later-version "))
    status, output, statement = beirflow_verify(claims, tmp_path, "other.trec")
    assert (status != 0, statement, "of-a-later-version" in output) == (True, None, True), output
    change_json(shutil.copytree(tiny_bert, tmp_path / "code") / "config.json", auto_map={"AutoModel": "model.Model"})
    status, output, statement = beirflow_verify(claims, tmp_path, "run.trec", "--model", "./code")
    assert (status != 0, statement, "auto_map" in output) == (True, None, True), output
