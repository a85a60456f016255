"""Recompute a sample of every run by its rules (:mod:`beirflow.audit.sample.rebuild`), and compare it with the stored one.

Some queries and documents of each corpus are sampled. The sampled queries are encoded and searched twice:

- in a *pool*, a small corpus of the sampled documents, those judged for the sampled queries, and the first ones of every run for
  them, all of which are encoded again: so the hits of a run are scored again, together with their competitors;
- in the whole corpus, with the stored representations of its documents, where these are here.
"""

import math
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
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
from beirflow.audit.sample.rebuild import (
    FROM_RUNS,
    PRECISIONS,
    CorpusSample,
    Rebuild,
    is_chunked,
    names_in,
    pattern_of,
    rebuild,
    with_chunk,
)
from beirflow.audit.sample.representations import distance, rows_of
from beirflow.config.main_measure import cutoff_of, main_measure
from beirflow.core import layout
from beirflow.core.errors import BeirflowError, DataError
from beirflow.core.progress import Progress
from beirflow.core.records import made_in
from beirflow.evaluation.measures import measure
from beirflow.evaluation.paired_tests import confidence_interval, randomisation_test

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
    random, by_corpus = np.random.default_rng(seed), dict[str, list[str]]()
    for system, dataset in chain.runs:
        by_corpus.setdefault(dataset, []).append(system)
    with Progress("recompute samples", 3 * len(chain.runs), "runs") as progress:
        for dataset, systems in by_corpus.items():
            try:
                _check_sizes(chain, dataset)
                drawn = CorpusSample.of(chain, configured, dataset, systems, sample, random)
                yield from _check_corpus(chain, configured, drawn, progress)
            except UNREADABLE as error:
                results = [(system, dataset) for system in systems]
                yield chain.unreadable(NAME, layout.CORPUS(dataset=dataset), error, results)


def _check_sizes(chain: Chain, dataset: str) -> None:
    """Raise RecordError for a representation that unpacks to more than its size allows, while memory is limited."""
    for path in chain.claims:
        if path.endswith(".arrow") and names_in(path).get("dataset") == dataset and chain.listing.files.get(path):
            check_unpacked(chain.folder / path, path)


def _check_corpus(chain: Chain, configured: Configured, drawn: CorpusSample, progress: Progress) -> Iterator[Check]:
    """Check every run of a corpus, in one scratch folder after another: Snakemake reads rules for one experiment at a time."""
    for ids, kinds_of_checks in (
        (drawn.pool, (SampledRuns.check_run, SampledRuns.check_texts)),
        (None, (SampledRuns.check_run,)),
        (drawn.documents, (SampledRuns.check_additions,)),
    ):
        with rebuild(SampledRuns, chain, configured, drawn, ids) as again:
            for system in drawn.runs:
                for check in kinds_of_checks if system not in configured.unknown else ():
                    checks = _guarded(chain, system, drawn.dataset, partial(check, again, system))
                    yield from again.place.renamed(checks, chain.folder)
                progress.advance(1)


def _guarded(chain: Chain, system: str, dataset: str, check: Callable[[], Iterator[Check]]) -> list[Check]:
    """Collect the checks of a run, or the reason why they cannot be made."""
    result, checks = (system, dataset), list[Check]()
    try:
        with chain.limits.lifted():
            checks.extend(check())
    except BeirflowError as error:
        checks.append(Check(NAME, NOT_CHECKED, f"{system} on {dataset}: {error}", results=(result,)))
    except UNREADABLE as error:
        checks.append(chain.unreadable(NAME, layout.RUN_RECORD(system=system, dataset=dataset), error, [result]))
    return checks


@dataclass
class SampledRuns(Rebuild):
    """Recomputed runs of the sampled queries, and their comparison with the stored ones."""

    compared: set[str] = field(default_factory=set)  # compared representations and expansions

    def check_run(self, system: str) -> Iterator[Check]:
        """Recompute the run of a system and compare it; skip one that is made from other runs or a file alone."""
        self.system, path = system, layout.RUN(system=system, dataset=self.drawn.dataset)
        inputs = self.inputs(path)
        if all(name.startswith(FROM_RUNS) for name in inputs):
            return  # the replay covers it
        if self.ids is None and not any(map(is_chunked, self.ancestors(path))):
            return  # it has no stored representations
        is_approximate = any(layout.INDEX.names_in(name) is not None for name in inputs)
        if is_approximate and self.ids is None and len(self.drawn.every) > MOST_INDEXED:
            raise DataError(f"an index of {len(self.drawn.every):,} documents is not rebuilt; at most {MOST_INDEXED:,} are")
        shutil.rmtree(self.place.folder / layout.RUN.folder(), ignore_errors=True)  # other systems' runs are the stored ones
        self.obtain(path)
        again = pq.read_table(self.place.folder / path)
        yield self._compare(path, again, is_approximate=is_approximate)

    def _compare(self, path: str, again: pa.Table, *, is_approximate: bool) -> Check:
        stored, top_k = self.drawn.runs[self.system], part(self.chain.manifest, "configuration", "top_k", kind=int)
        hits = _side_by_side(stored, again, top_k)
        if self.ids is not None:  # later documents may not be in the pool
            hits = hits[hits["rank"].isna() | (hits["rank"] <= self.drawn.first)]
        lost = float(hits["score_again"].isna().sum() / max(1, hits["score"].notna().sum()))
        if is_approximate:
            hits = hits.dropna()
        tolerance = self._tolerance if self.ids is not None else self._tolerance_of_queries(path)
        found, problems = f"{self.name}: {len(self.drawn.queries)} queries, {len(hits)} hits", list[str]()
        if len(hits):
            worst = hits.iloc[int(hits["apart"].to_numpy().argmax())]
            found += f" at most {worst['apart']:.1e} of the largest score apart"
            if not worst["apart"] <= tolerance:  # nor is it a number
                problems.append(f"document {worst['doc_id']!r} of the query {worst['query_id']!r} {_in_words(worst)}")
        if is_approximate and self.ids is None and lost > 1 - SAME_FOUND:
            problems.append(f"{lost:.1%} of the hits are not found")
        gain, sure = self._gain(stored, again)
        problems += ["the stored mean is higher than chance allows"] if sure else []
        found = "; ".join([found, *problems, *([gain] if gain else [])])
        name, result = (POOL if self.ids is not None else WHOLE), ((self.system, self.drawn.dataset),)
        if problems:
            expected = f"scores at most {tolerance:.0e} apart, and no higher {self._measure}"
            return self.chain.failed(name, path, found, expected, result)
        return Check(name, PASSED, found, results=result)

    @property
    def _measure(self) -> str:
        return main_measure(self.chain.manifest["configuration"])

    def _gain(self, stored: pa.Table, again: pa.Table) -> tuple[str, bool]:
        """Return the difference of the main measure in words, and whether the stored run is significantly better."""
        runs = (measure(run, self.drawn.qrels, [cutoff_of(self._measure)], ranked=True) for run in (stored, again))
        first, second = (run.get(self._measure, pd.Series(dtype=float)).to_numpy() for run in runs)
        known = np.isfinite(first) & np.isfinite(second)
        if known.sum() < 2:
            return "", False
        first, second = first[known], second[known]
        low, high = confidence_interval([first - second])
        chance = randomisation_test((first - second)[:, None])[0]
        words = f"{self._measure} {first.mean():.4f}, recomputed {second.mean():.4f}, difference {low:+.4f} to {high:+.4f} (95 %)"
        return words, bool(chance < CHANCE and first.mean() > second.mean())

    @property
    def _precision(self) -> str:
        """Least precise of the precisions of the run; empty without a model."""
        made = made_in(self.chain.record(layout.RUN_RECORD(system=self.system, dataset=self.drawn.dataset)), "precision")
        return max(made, key=lambda each: PRECISIONS.index(each) if each in PRECISIONS else len(PRECISIONS), default="")

    @property
    def _tolerance(self) -> float:
        experiment = self.configured.experiment
        settings = experiment.systems[self.system].settings
        return experiment.family(self.system).tolerance(settings, self._precision) if self._precision else 0.0

    def _tolerance_of_queries(self, path: str) -> float:
        """Return the tolerance of scores with stored documents and recomputed queries."""
        made = [name for name in self._represented(path) if not is_chunked(name)]
        apart = [self._distances(name)[2].max(initial=0.0) for name in made]
        return min(self._tolerance, GROWTH * max(apart, default=0.0)) + ROUNDING

    def _represented(self, path: str) -> list[str]:
        """List the representations of a run that were recomputed here."""
        files = {name: self.place.folder / name for name in sorted(self.ancestors(path))}
        return [
            name
            for name, file in files.items()
            if file.suffix in (".npy", ".arrow") and not name.startswith(layout.CANDIDATES.folder())
            if file.is_file() and not file.is_symlink()
        ]

    def check_texts(self, system: str) -> Iterator[Check]:
        """Compare the representations of the sampled documents and queries with the stored ones."""
        for path in self._represented(layout.RUN(system=system, dataset=self.drawn.dataset)):
            if path not in self.compared:
                self.compared.add(path)
                yield self._judged(TEXTS, *self._distances(path), self._tolerance)

    def _distances(self, path: str) -> tuple[list[str], pa.Array, np.ndarray]:
        """Return the stored files of a recomputed one, the ids of the sampled texts, and the distances of their rows."""
        if is_chunked(path):
            ids, every, here = self.drawn.documents, self.drawn.every, self.drawn.pool
            paths = [with_chunk(pattern_of(path), path, chunk) for chunk in range(part(self.corpus, "chunks", kind=int))]
            with pq.ParquetFile(self.chain.file(layout.DOCUMENTS(dataset=self.drawn.dataset))) as file:
                sizes = [file.metadata.row_group(chunk).num_rows for chunk in range(file.metadata.num_row_groups)]
        else:
            ids = here = self.drawn.queries["query_id"].combine_chunks()
            name = layout.QUERIES(dataset=self.drawn.dataset)
            every = read_columns(self.chain.file(name), name, ["query_id"])["query_id"].combine_chunks()
            paths, sizes = [path], [len(every)]
        rows = pc.index_in(ids, value_set=every).to_numpy().astype(np.int64)
        again = rows_of(self.place.folder / path, pc.index_in(ids, value_set=here).to_numpy().astype(np.int64))
        stored: list[Any] = [None] * len(rows)
        for name, start, size in zip(paths, np.cumsum([0, *sizes[:-1]]), sizes, strict=True):
            inside = np.flatnonzero((rows >= start) & (rows < start + size))
            for place, row in zip(inside.tolist(), rows_of(self.chain.file(name), rows[inside] - start), strict=True):
                stored[place] = row
        return paths, ids, np.array([distance(*both) for both in zip(stored, again, strict=True)])

    def _judged(self, name: str, paths: list[str], ids: pa.Array, apart: np.ndarray, most: float) -> Check:
        """Return the check that no distance exceeds a maximum."""
        kind = f"{len(ids)} rows of {paths[0]}{' and the other chunks' if len(paths) > 1 else ''}"
        found = f"{self.name}: {kind}, at most {apart.max(initial=0.0):.1e} of their length apart"
        if apart.max(initial=0.0) <= most:
            return Check(name, PASSED, found, f"at most {most:.0e}")
        found += f" ({ids[int(np.argmax(apart))].as_py()!r})"
        return self.chain.failed(name, paths[0], found, f"at most {most:.0e}")

    def check_additions(self, system: str) -> Iterator[Check]:
        """Recompute the expansions of the sampled documents of a system, and compare them."""
        self.system = system
        for path in sorted(self.ancestors(layout.RUN(system=system, dataset=self.drawn.dataset))):
            if layout.EXPANSION.names_in(path) is None or path in self.compared or not self.place.job(path).computes:
                continue
            self.compared.add(path)
            self.obtain(path, is_written=True)
            again, stored = pq.read_table(self.place.folder / path), self.additions(path)
            ids, texts = again["doc_id"].combine_chunks(), "weights" not in again.column_names
            # Which documents are expanded depends on the whole corpus, so those without an expansion are not compared.
            pairs = [_entries(before, after) for before, after in zip(stored.to_pylist(), again.to_pylist(), strict=True)]
            apart = np.array([distance(*pair) if len(pair[0][0]) or not texts else 0.0 for pair in pairs])
            tolerance = self._tolerance if self._precision == "float32" else HALF_PRECISION
            if texts:  # each differing text counts twice in the squared distance
                apart, tolerance = np.array([np.mean(apart**2) / 2]), max(tolerance, OTHER_TEXTS)
            yield self._judged(WRITTEN, [path], ids, apart, tolerance)


def _entries(*rows: Mapping[str, Any]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the expansion of a document in several versions: texts or words, and their counts or weights."""
    versions = []
    for row in rows:
        columns = [value for key, value in row.items() if key != "doc_id"]
        keys, values = columns if len(columns) == 2 else (columns[0], np.ones(len(columns[0])))
        versions.append((np.array(keys, object), np.array(values, np.float64)))
    return versions


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
