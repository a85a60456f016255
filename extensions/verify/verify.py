"""Verify a claimed result: draw a sample, compute it again, compare, and write the statement and its page."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.audit.audit import SEED_BITS, run_checks
from beirflow.audit.checks import EVERYTHING, FAILED, PASSED
from beirflow.config.experiment import Experiment
from beirflow.config.main_measure import cutoff_of
from beirflow.core.errors import DataError, VerdictError
from beirflow.core.records import read_json, write_json
from beirflow.data.corpus_files import relevant_from
from beirflow.evaluation.measures import measure
from beirflow.evaluation.paired_tests import confidence_interval
from beirflow.extensions.verify.causes import Cause, find_cause
from beirflow.extensions.verify.compare import ORDER, Comparison, compare, is_of_ranks
from beirflow.extensions.verify.draw import Sample, draw, hidden_error, queries_needed
from beirflow.extensions.verify.layout import PAGE, STATEMENT
from beirflow.extensions.verify.recompute import Pool, Scores, check_family, recompute
from beirflow.report.pages import write_page
from beirflow.run.provenance import environment

CONSISTENT, INCONSISTENT, UNDECIDED = "consistent", "inconsistent", "undecided"

FORMAT = 1  # of the statement
ROUNDED = 6e-5  # most by which a claimed mean, printed with four decimals or more, may differ from that of its run
LEAST_QUERIES = 20  # of an estimate without a run
SHOWN = 20  # differences on the page and in the statement
AUDITED = 50  # most queries and documents of a corpus that the audit of a folder makes again


@dataclass(frozen=True)
class Request:
    """Settings of a verification, and its claim as :class:`~beirflow.extensions.verify.claims.Claim` has it."""

    system: str
    claim: Mapping[str, Any]
    share: float = 0.01
    margin: float = 0.005
    seed: int | None = None


@dataclass(frozen=True)
class Files:
    """Files of the prepared corpus, runs on it, and the record of the model."""

    documents_path: str
    queries_path: str
    qrels_path: str
    corpus_path: str
    bm25_path: str
    model_path: str
    claimed_path: str | None = None


@dataclass(frozen=True)
class Corpus:
    """Tables of the prepared corpus, and runs on it."""

    queries: pa.Table
    qrels: pa.Table
    doc_ids: np.ndarray
    bm25: pa.Table
    claimed: pa.Table | None

    @classmethod
    def of(cls, files: Files) -> "Corpus":
        """Read the tables, of documents their ids alone."""
        doc_ids = pq.read_table(files.documents_path, columns=["doc_id"])["doc_id"].to_numpy()
        queries, qrels, bm25 = map(pq.read_table, (files.queries_path, files.qrels_path, files.bm25_path))
        return cls(queries, qrels, doc_ids, bm25, pq.read_table(files.claimed_path) if files.claimed_path else None)


@dataclass
class Findings:
    """Verdict, its sentence, and the figures behind it."""

    verdict: str
    sentence: str
    figures: dict[str, Any] = field(default_factory=dict)
    cause: Cause | None = None
    differences: list[dict[str, Any]] = field(default_factory=list)


def verify(*, folder: str, experiment: Experiment, request: Request, files: Files) -> str:
    """Verify a claim, and write ``statement.json`` and ``verification.html`` into ``folder``; return the verdict in a sentence.

    Raises VerdictError for any other verdict than "consistent", after both files have been written; DataError for a claim that
    cannot be verified, without a verdict.
    """
    check_family(experiment, request.system)
    dataset, name = experiment.chosen_datasets[0], experiment.main_measure
    corpus, record, model = Corpus.of(files), read_json(files.corpus_path), read_json(files.model_path)
    seed = secrets.randbits(SEED_BITS) if request.seed is None else request.seed
    random, cutoff = np.random.default_rng(seed), cutoff_of(name)
    sample = draw(random, corpus.queries["query_id"].to_pylist(), corpus.doc_ids, *_nearby(corpus, cutoff, random), request.share)
    documents = pq.read_table(files.documents_path, filters=pc.field("doc_id").isin(sample.pool))
    pool = Pool(dataset, record, corpus.queries, corpus.qrels, documents).of(sample.queries, sample.pool)
    precision = "float32" if experiment.config["precision"] == "auto" else experiment.config["precision"]
    ((_, scores),) = recompute(experiment, pool, {request.system: experiment.systems[request.system]}, precision)
    if isinstance(scores, str):
        raise DataError(scores)
    if corpus.claimed is None:
        findings = _estimate(corpus, request, sample, scores, name)
    else:
        findings = _compared(experiment, corpus, request, sample, pool, scores, name)
        add_audit(findings, experiment, request, dataset, seed)
    statement = {
        "format": FORMAT,
        "verdict": findings.verdict,
        "sentence": findings.sentence,
        "measure": name,
        "claim": dict(request.claim),
        "model": {key: model.get(key) for key in ("model", "revision", "files")}
        | {"system": request.system, "precision": precision},
        "dataset": {"name": dataset, "official": record.get("official"), "sha256": record["source_sha256"]},
        "sample": {
            "seed": seed,
            "share": request.share,
            "documents": len(sample.pool),
            "of documents": len(corpus.doc_ids),
            "drawn at random": sample.random,
            "queries": len(sample.queries),
            "of queries": corpus.queries.num_rows,
            "whole queries": sample.whole,
        },
        "figures": findings.figures,
        "cause": findings.cause and vars(findings.cause),
        "differences": findings.differences[:SHOWN],
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "environment": environment(),
    }
    write_json(Path(folder) / STATEMENT, statement)
    write_page("verification.html.j2", Path(folder) / PAGE, statement | {"title": f"Verification: {findings.verdict}"})
    text = f"{findings.sentence}\nStatement: {Path(folder) / STATEMENT}; page: {Path(folder) / PAGE}"
    if findings.verdict != CONSISTENT:
        raise VerdictError(text)
    return text


def _nearby(corpus: Corpus, cutoff: int, random: np.random.Generator) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return by query the relevant documents among the claimed first ones, and all documents around it."""
    qrels = corpus.qrels.filter(pc.field("score") >= relevant_from(corpus.qrels)).select(["query_id", "doc_id"]).to_pandas()
    known = qrels[qrels["doc_id"].isin(corpus.doc_ids)]
    some = known.sample(frac=1, random_state=random).groupby("query_id").head(cutoff)
    first = [
        run.filter(pc.field("rank") <= cutoff).select(["query_id", "doc_id"]).to_pandas()
        for run in (corpus.claimed, corpus.bm25)
        if run is not None
    ]
    found = first[0].merge(known) if corpus.claimed is not None else known[:0]
    around = pd.concat([*first, some]).drop_duplicates()
    by_query = [each.groupby("query_id")["doc_id"].agg(list).to_dict() for each in (found, around)]
    return by_query[0], by_query[1]


def _values(run: pa.Table, qrels: pa.Table, name: str) -> "pd.Series[float]":
    """Return the values of a measure by query; 0 for a query without results."""
    return measure(run, qrels, [cutoff_of(name)], ranked=True).set_index("query_id")[name]


def _compared(
    experiment: Experiment, corpus: Corpus, request: Request, sample: Sample, pool: Pool, scores: Scores, name: str
) -> Findings:
    """Compare a claimed run with the recomputed scores, and its measures with what is claimed."""
    run = corpus.claimed
    assert run is not None  # noqa: S101 - for the type checker
    values = _values(run, corpus.qrels, name)
    family, settings = experiment.family(request.system), experiment.systems[request.system].settings
    tolerance, by = family.tolerance(settings, scores.precision), ORDER if is_of_ranks(run) else ""
    depth = int(pc.max(run["rank"]).as_py())

    def compared(others: Scores, by: str = by) -> Comparison:
        """Compare the queries of the run that other scores have."""
        part = run.filter(pc.is_in(run["query_id"], value_set=others.query_ids))
        return compare(part, depth, others, tolerance, by)

    found = compared(scores)
    if found.hits.empty:
        raise DataError("the claimed run has no hit for the drawn queries in the drawn documents; give a larger --share")
    figures = _figures(values, found, request, sample)
    figures |= _side_by_side(values, corpus.qrels, sample, scores, name)
    claimed, wrong = request.claim.get("value"), found.wrong_queries
    findings = Findings(CONSISTENT, "", figures, differences=_differences(found))
    what = f"{name} {values.mean():.5f} of {len(values)} queries"
    if claimed is not None and not abs(values.mean() - claimed) <= ROUNDED:
        findings.verdict = INCONSISTENT
        findings.sentence = f"Inconsistent: the run has the {what}, and {claimed:.5f} is claimed."
    if wrong:
        findings.verdict = INCONSISTENT
        hits = run.select(["query_id", "doc_id"]).to_pandas()
        findings.cause = find_cause(experiment, request.system, pool, hits, found, compared)
        cause = findings.cause
        likely = f"Likely cause: {cause.name}, {cause.words}." if cause.name else f"The cause is unknown: {cause.words}."
        problem = f"{len(wrong)} of {len(sample.queries)} drawn queries differ"
        share = f"{1 - found.agreeing:.1%} of the hits compared in their {found.by}, {len(found.left_out)} documents left out"
        findings.sentence = f"{findings.sentence or 'Inconsistent:'} {problem} ({share}). {likely}"
    if findings.verdict == INCONSISTENT:
        return findings
    hidden = f"an error of more than {figures['hidden error']:.4f} would have been found with 99 %"
    compared_with = f"{len(sample.queries)} of {len(values)} queries with {len(found.hits):,} hits agree in their {found.by}"
    if figures["hidden error"] >= request.margin:
        needed = queries_needed(values.to_numpy(), request.margin)
        todo = f"at least {needed} queries must be checked, and {len(sample.queries)} were; give a larger --share"
        findings.verdict = UNDECIDED
        findings.sentence = f"Undecided: {compared_with}, but only {hidden}; for {request.margin:g}, {todo}."
    else:
        findings.sentence = f"Consistent: {what} follows from the run, {compared_with}, and {hidden}."
    return findings


def _figures(values: "pd.Series[float]", found: Comparison, request: Request, sample: Sample) -> dict[str, Any]:
    apart = found.hits["apart"].to_numpy(np.float64)
    finite = apart[np.isfinite(apart)]
    return {
        "claimed": request.claim.get("value"),
        "of the run": float(values.mean()),
        "compared by": found.by,
        "hits compared": len(found.hits),
        "hits that agree": found.agreeing,
        "documents left out": len(found.left_out),
        "tolerance": found.tolerance,
        "median difference": float(np.median(finite)) if len(finite) else None,
        "largest difference": float(finite.max()) if len(finite) else None,
        "queries that differ": len(found.wrong_queries),
        "hidden error": hidden_error(values.to_numpy(), len(sample.queries)),
    }


def _side_by_side(values: "pd.Series[float]", qrels: pa.Table, sample: Sample, scores: Scores, name: str) -> dict[str, Any]:
    """Return the main measure of the whole queries, claimed and recomputed, with the interval of the difference."""
    whole = sample.queries[: sample.whole]
    again = _values(_first(scores, whole, name), qrels.filter(pc.field("query_id").isin(whole)), name)
    claimed = values.loc[again.index]
    low, high = confidence_interval([(claimed - again).to_numpy()]) if len(again) > 1 else (None, None)
    means = {"claimed, drawn queries": float(claimed.mean()), "recomputed, drawn queries": float(again.mean())}
    return {**means, "difference, low": low, "difference, high": high}


def _first(scores: Scores, queries: list[str], name: str) -> pa.Table:
    """Return the first documents of some queries in the recomputed run."""
    run = scores.run.filter(pc.field("rank") <= cutoff_of(name))
    return run.filter(pc.field("query_id").isin(queries))


def _differences(found: Comparison) -> list[dict[str, Any]]:
    """Return the largest differences, and documents that are left out."""
    hits = found.hits[found.hits["wrong"]].sort_values("apart", ascending=False).head(SHOWN)
    columns = ["query_id", "doc_id", "rank", "claimed", "recomputed"]
    rows = pd.concat([hits[columns], found.left_out.head(SHOWN).reindex(columns=columns)])
    return [{str(key): None if value != value else value for key, value in row.items()} for row in rows.to_dict("records")]


def _estimate(corpus: Corpus, request: Request, sample: Sample, scores: Scores, name: str) -> Findings:
    """Estimate the mean of the model from whole queries, and compare a claim without a run with it."""
    whole, claimed = sample.queries[: sample.whole], float(request.claim["value"])
    drawn = _values(_first(scores, whole, name), corpus.qrels.filter(pc.field("query_id").isin(whole)), name)
    bm25 = _values(corpus.bm25, corpus.qrels, name)
    # What BM25 has on the drawn queries beyond its known mean says how easy these are.
    own = bm25.loc[drawn.index]
    slope = float(np.cov(drawn, own)[0, 1] / own.var()) if len(drawn) > 2 and own.var() > 0 else 0.0
    adjusted = (drawn - slope * (own - bm25.mean())).to_numpy()
    low, high = confidence_interval([adjusted], 0.99) if len(drawn) > 1 else (0.0, 1.0)
    is_whole = len(sample.pool) == len(corpus.doc_ids)
    if is_whole and len(drawn) == len(bm25):
        low = high = float(drawn.mean())
    middle = float(adjusted.mean())
    bias = "none" if is_whole else "too high: fewer documents compete than in the whole corpus"
    figures = {"claimed": claimed, "estimate": middle, "low": low, "high": high, "bias": bias, "queries": len(drawn)}
    interval = f"{low:.4f} to {high:.4f} with 99 %, from {len(drawn)} queries; bias: {bias}"
    words = f"{claimed:.5f} is claimed, and an estimate of {name} is {middle:.4f} ({interval})."
    if len(drawn) < min(LEAST_QUERIES, len(bm25)):
        few = f"{len(drawn)} queries are too few, expected {LEAST_QUERIES}; give a larger --share"
        return Findings(UNDECIDED, f"Undecided: {few}.", figures)
    if claimed > high + ROUNDED or (is_whole and claimed < low - ROUNDED):
        return Findings(INCONSISTENT, f"Inconsistent: {words}", figures)
    if claimed < low - ROUNDED:
        return Findings(UNDECIDED, f"Undecided, since the bias may be why: {words} A run would tell more.", figures)
    return Findings(CONSISTENT, f"Consistent as far as an estimate can tell: {words}", figures)


def add_audit(findings: Findings, experiment: Experiment, request: Request, dataset: str, seed: int) -> None:
    """Add what the audit of a folder of results finds about the result, with a sample of it."""
    if not (folder := request.claim.get("folder")):
        return
    _, sections = run_checks(Path(folder), experiment, AUDITED, seed)
    about = {(request.claim["system"], dataset), EVERYTHING}
    checks = [check for section in sections.values() for check in section]
    failed = [check for check in checks if check.status == FAILED and about & {*check.results}]
    sampled = [check.found for check in sections.get("sample", ()) if check.status == PASSED]
    findings.figures |= {"audit, failed": [f"{each.name}: {each.found}" for each in failed], "audit, sample": sampled}
    if failed:
        before = findings.sentence if findings.verdict == INCONSISTENT else "Inconsistent:"
        findings.sentence = f"{before} The audit of {folder} fails: {failed[0].name}: {failed[0].found}."
        findings.verdict = INCONSISTENT
