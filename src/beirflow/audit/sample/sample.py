"""Recompute a sample of every run by its rules (:mod:`beirflow.audit.sample.rebuild`), and compare it with the stored one.

Some queries and documents of each corpus are sampled. The sampled queries are encoded and searched twice:

- in a *pool*, a small corpus of the sampled documents, those judged for the sampled queries, and the first ones of every run for
  them, all of which are encoded again: so the hits of a run are scored again, together with their competitors;
- in the whole corpus, with the stored representations of its documents, where these are here.
"""

import math
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.audit.chain import Chain
from beirflow.audit.checks import NOT_CHECKED, PASSED, UNREADABLE, Check
from beirflow.audit.configured import Configured
from beirflow.audit.folder.reading import check_unpacked, part, read_columns
from beirflow.audit.sample.rebuild import FROM_RUNS, PRECISIONS, CorpusSample, Rebuild, is_chunked, names_in, rebuild
from beirflow.config.main_measure import cutoff_of, main_measure
from beirflow.core import layout
from beirflow.core.errors import BeirflowError, DataError
from beirflow.core.progress import Progress
from beirflow.core.records import made_in
from beirflow.evaluation.measures import measure
from beirflow.evaluation.paired_tests import confidence_interval, randomisation_test
from beirflow.families.rows import distance, rows_of

NAME = "samples are recomputed"
POOL = "recomputed rankings of a pool match the runs"
WHOLE = "recomputed rankings of the whole corpus match the runs"
TEXTS = "recomputed representations match the stored ones"
WRITTEN = "recomputed expansions match the stored ones"

CHANCE = 1e-3  # p below which a stored mean that exceeds the recomputed one fails
ROUNDING = 1e-6  # tolerance between two scores of the same representations, relative to the largest
GROWTH = 4  # tolerance of a score relative to the distance of the representations of its query
MOST_INDEXED = 20_000  # maximum documents of which an index is rebuilt; no stored one is opened, since faiss trusts it
SAME_FOUND = 0.98  # minimum share of the hits of an index that a rebuilt one finds: processors round differently
OTHER_TEXTS = 0.02  # maximum share of written texts that differ: a draw may fall between two roundings
HALF_PRECISION = 0.5  # the same in half precision, and maximum distance of word weights


def check_samples(chain: Chain, configured: Configured, sample: int, seed: int) -> Iterator[Check]:
    """Recompute a sample of queries and documents of every corpus; ``configured`` has the places of the auditor."""
    if not sample:
        found = "the sample is 0: no output of a model or a search was recomputed, so a consistent forgery would not be detected"
        yield Check(NAME, NOT_CHECKED, found, repair="snakemake --cores 2 --config 'command={audit: {sample: 100}}' -- audit")
        return
    random, runs = np.random.default_rng(seed), chain.runs
    with Progress("recompute samples", 3 * len(runs), "runs") as progress:
        for dataset in dict.fromkeys(dataset for _, dataset in runs):
            systems = [system for system, other in runs if other == dataset]
            try:
                _check_sizes(chain, dataset)
                drawn = CorpusSample.of(chain, configured, dataset, systems, sample, random)
                yield from _check_corpus(chain, configured, drawn, progress)
            except UNREADABLE as error:
                results = [(system, dataset) for system in systems]
                yield chain.unreadable(NAME, layout.CORPUS(dataset=dataset), error, results)


def _check_sizes(chain: Chain, dataset: str) -> None:
    """Raise RecordError for a file that unpacks to more than its size allows, while memory is limited."""
    for path in chain.claims:
        if path.endswith((".arrow", ".parquet")) and names_in(path).get("dataset") == dataset and chain.listing.files.get(path):
            check_unpacked(chain.folder / path, path)


def _check_corpus(chain: Chain, configured: Configured, drawn: CorpusSample, progress: Progress) -> Iterator[Check]:
    """Check every run of a corpus, in one scratch folder after another: Snakemake reads rules for one experiment at a time."""
    for ids, checks in (
        (drawn.pool, (_check_run, _check_texts)),
        (None, (_check_run,)),
        (drawn.documents, (_check_additions,)),
    ):
        with rebuild(chain, configured, drawn, ids) as again:
            for again.system in drawn.runs:
                for check in checks if again.system not in configured.unknown else ():
                    yield from (each.renamed(again.place.folder, chain.folder) for each in _guarded(again, check))
                progress.advance(1)


def _guarded(again: Rebuild, check: Callable[[Rebuild], Iterator[Check]]) -> list[Check]:
    """Collect the checks of a run, or the reason why they cannot be made."""
    chain, result, checks = again.chain, (again.system, again.drawn.dataset), list[Check]()
    try:
        with chain.limits.lifted():
            checks.extend(check(again))
    except BeirflowError as error:
        checks.append(Check(NAME, NOT_CHECKED, f"{again.name}: {error}", results=(result,)))
    except UNREADABLE as error:
        path = layout.RUN_RECORD(system=again.system, dataset=again.drawn.dataset)
        checks.append(chain.unreadable(NAME, path, error, [result]))
    return checks


def _check_run(again: Rebuild) -> Iterator[Check]:
    """Recompute the run of a system and compare it; skip one that is made from other runs or a file alone."""
    path = layout.RUN(system=again.system, dataset=again.drawn.dataset)
    inputs = again.inputs(path)
    if all(name.startswith(FROM_RUNS) for name in inputs):
        return  # the replay covers it
    if again.ids is None and not any(map(is_chunked, again.ancestors(path))):
        return  # it has no stored representations
    is_approximate = any(layout.INDEX.names_in(name) is not None for name in inputs)
    if is_approximate and again.ids is None and len(again.drawn.every) > MOST_INDEXED:
        raise DataError(f"an index of {len(again.drawn.every):,} documents is not rebuilt; at most {MOST_INDEXED:,} are")
    shutil.rmtree(again.place.folder / layout.RUN.folder(), ignore_errors=True)  # other systems' runs are the stored ones
    again.obtain(path)
    yield _compared(again, path, is_approximate=is_approximate)


def _compared(again: Rebuild, path: str, *, is_approximate: bool) -> Check:
    """Compare a recomputed run with the stored one."""
    stored, found_again = again.drawn.runs[again.system], pq.read_table(again.place.folder / path)
    hits = _side_by_side(stored, found_again, part(again.chain.manifest, "configuration", "top_k", kind=int))
    if again.ids is not None:  # later documents may not be in the pool
        hits = hits[hits["rank"].isna() | (hits["rank"] <= again.drawn.first)]
    lost = float(hits["score_again"].isna().sum() / max(1, hits["score"].notna().sum()))
    if is_approximate:
        hits = hits.dropna()
    tolerance = _tolerance(again) if again.ids is not None else _tolerance_of_queries(again, path)
    found, problems = f"{again.name}: {len(again.drawn.queries)} queries, {len(hits)} hits", list[str]()
    if len(hits):
        worst = hits.iloc[int(hits["apart"].to_numpy().argmax())]
        found += f" at most {worst['apart']:.1e} of the largest score apart"
        if not worst["apart"] <= tolerance:  # nor is it a number
            problems.append(f"document {worst['doc_id']!r} of the query {worst['query_id']!r} {_in_words(worst)}")
    if is_approximate and again.ids is None and lost > 1 - SAME_FOUND:
        problems.append(f"{lost:.1%} of the hits are not found")
    name = main_measure(again.chain.manifest["configuration"])
    gain, sure = _gain(name, again.drawn.qrels, stored, found_again)
    problems += ["the stored mean is higher than chance allows"] if sure else []
    found = "; ".join([found, *problems, *([gain] if gain else [])])
    check, result = (POOL if again.ids is not None else WHOLE), ((again.system, again.drawn.dataset),)
    if problems:
        return again.chain.failed(check, path, found, f"scores at most {tolerance:.0e} apart, and no higher {name}", result)
    return Check(check, PASSED, found, results=result)


def _gain(name: str, qrels: pa.Table, *runs: pa.Table) -> tuple[str, bool]:
    """Return the difference of a measure of two runs in words, and whether the first is significantly better."""
    measured = (measure(run, qrels, [cutoff_of(name)], ranked=True) for run in runs)
    first, second = (run.get(name, pd.Series(dtype=float)).to_numpy() for run in measured)
    known = np.isfinite(first) & np.isfinite(second)
    if known.sum() < 2:
        return "", False
    first, second = first[known], second[known]
    low, high = confidence_interval([first - second])
    chance = randomisation_test((first - second)[:, None])[0]
    words = f"{name} {first.mean():.4f}, recomputed {second.mean():.4f}, difference {low:+.4f} to {high:+.4f} (95 %)"
    return words, bool(chance < CHANCE and first.mean() > second.mean())


def _precision(again: Rebuild) -> str:
    """Return the least precise of the precisions of a run; empty without a model."""
    made = made_in(again.chain.record(layout.RUN_RECORD(system=again.system, dataset=again.drawn.dataset)), "precision")
    return max(made, key=lambda each: PRECISIONS.index(each) if each in PRECISIONS else len(PRECISIONS), default="")


def _tolerance(again: Rebuild) -> float:
    experiment, precision = again.configured.experiment, _precision(again)
    settings = experiment.systems[again.system].settings
    return experiment.family(again.system).tolerance(settings, precision) if precision else 0.0


def _tolerance_of_queries(again: Rebuild, path: str) -> float:
    """Return the tolerance of scores with stored documents and recomputed queries."""
    made = [name for name in _represented(again, path) if not is_chunked(name)]
    apart = [_distances(again, name)[1].max(initial=0.0) for name in made]
    return min(_tolerance(again), GROWTH * max(apart, default=0.0)) + ROUNDING


def _represented(again: Rebuild, path: str) -> list[str]:
    """List the representations of a run that were recomputed here."""
    here = [name for name in sorted(again.ancestors(path)) if not name.startswith(layout.CANDIDATES.folder())]
    files = ((name, again.place.folder / name) for name in here if name.endswith((".npy", ".arrow")))
    return [name for name, file in files if file.is_file() and not file.is_symlink()]


def _check_texts(again: Rebuild) -> Iterator[Check]:
    """Compare the representations of the sampled documents and queries with the stored ones."""
    for path in _represented(again, layout.RUN(system=again.system, dataset=again.drawn.dataset)):
        if path not in again.compared:
            again.compared.add(path)
            yield _judged(again, TEXTS, path, *_distances(again, path), _tolerance(again))


def _distances(again: Rebuild, path: str) -> tuple[pa.Array, np.ndarray]:
    """Return the ids of the sampled texts of a recomputed file, and the distances of their rows from the stored ones."""
    chain, drawn = again.chain, again.drawn
    if is_chunked(path):
        ids, every, here = drawn.documents, drawn.every, again.ids
        with pq.ParquetFile(chain.file(layout.DOCUMENTS(dataset=drawn.dataset))) as file:
            sizes = [file.metadata.row_group(chunk).num_rows for chunk in range(file.metadata.num_row_groups)]
    else:
        ids = here = drawn.queries["query_id"].combine_chunks()
        name = layout.QUERIES(dataset=drawn.dataset)
        every = read_columns(chain.file(name), name, ["query_id"])["query_id"].combine_chunks()
        sizes = [len(every)]
    rows = pc.index_in(ids, value_set=every).to_numpy().astype(np.int64)
    found = rows_of(again.place.folder / path, pc.index_in(ids, value_set=here).to_numpy().astype(np.int64))
    stored: list[Any] = [None] * len(rows)
    for name, start, size in zip(again.stored(path), np.cumsum([0, *sizes[:-1]]), sizes, strict=True):
        inside = np.flatnonzero((rows >= start) & (rows < start + size))
        for place, row in zip(inside.tolist(), rows_of(chain.file(name), rows[inside] - start), strict=True):
            stored[place] = row
    return ids, np.array([distance(*both) for both in zip(stored, found, strict=True)])


def _judged(again: Rebuild, name: str, path: str, ids: pa.Array, apart: np.ndarray, most: float) -> Check:
    """Return the check that no distance exceeds a maximum."""
    first, *others = again.stored(path)
    rows = f"{len(ids)} rows of {first}{' and the other chunks' if others else ''}"
    found = f"{again.name}: {rows}, at most {apart.max(initial=0.0):.1e} of their length apart"
    if apart.max(initial=0.0) <= most:
        return Check(name, PASSED, found, f"at most {most:.0e}")
    return again.chain.failed(name, first, f"{found} ({ids[int(np.argmax(apart))].as_py()!r})", f"at most {most:.0e}")


def _check_additions(again: Rebuild) -> Iterator[Check]:
    """Recompute the expansions of the sampled documents of a system, and compare them."""
    for path in sorted(again.ancestors(layout.RUN(system=again.system, dataset=again.drawn.dataset))):
        if layout.EXPANSION.names_in(path) is None or path in again.compared or not again.place.job(path).computes:
            continue
        again.compared.add(path)
        again.obtain(path, is_written=True)
        ids, apart = _distances(again, path)
        tolerance = _tolerance(again) if _precision(again) == "float32" else HALF_PRECISION
        if "queries" in (stored := again.additions(path)).column_names:
            # Which documents are expanded depends on the whole corpus, so those without an expansion are not compared.
            apart = np.where(pc.list_value_length(stored["queries"]).to_numpy() > 0, apart, 0.0)
            # Each differing text counts twice in the squared distance.
            apart, tolerance = np.array([np.mean(apart**2) / 2]), max(tolerance, OTHER_TEXTS)
        yield _judged(again, WRITTEN, path, ids, apart, tolerance)


def _side_by_side(stored: pa.Table, again: pa.Table, top_k: int) -> pd.DataFrame:
    """Return the hits of two runs of the same queries, with the distance of their scores relative to the query's largest score.

    A hit that one run lacks is as far as it exceeds the last hit there; infinitely far if that run has fewer than k hits.
    """
    # As objects: pandas merges no columns of strings that are both empty.
    runs = [run.to_pandas().astype({"query_id": object, "doc_id": object}) for run in (stored, again)]
    hits = runs[0].merge(runs[1], how="outer", on=["query_id", "doc_id"], suffixes=("", "_again"))
    by_query = [run.groupby("query_id")["score"] for run in runs]
    least = [scores.min().where(scores.size() >= top_k, -np.inf) for scores in by_query]
    (last, last_again) = (hits["query_id"].map(each).fillna(-np.inf) for each in least)
    scale = hits[["score", "score_again"]].abs().max(axis=1).groupby(hits["query_id"]).transform("max").clip(lower=1e-30)
    apart = (hits["score"] - hits["score_again"]).abs()
    beyond = (hits["score"] - last_again).where(hits["score_again"].isna(), hits["score_again"] - last).clip(lower=0)
    return hits.assign(apart=apart.fillna(beyond) / scale)


def _in_words(hit: pd.Series) -> str:
    """Describe how a hit differs."""
    if math.isnan(hit["score_again"]):
        return f"has the score {hit['score']:.6g} and is not found when recomputed"
    if math.isnan(hit["score"]):
        return f"is missing, and has the recomputed score {hit['score_again']:.6g}"
    return f"has the score {hit['score']:.6g}, recomputed {hit['score_again']:.6g}"
