"""The likely cause of a difference: ways to compute scores, each tried on a part of the sample, and patterns of differences."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from beirflow.config.experiment import Experiment
from beirflow.extensions.verify.compare import Comparison
from beirflow.extensions.verify.recompute import Pool, Scores, recompute
from beirflow.families.system import System

QUERIES, HITS = 12, 8  # of the part on which causes are tried: queries, and documents of each
FITS = 0.9  # share of hits that agree with the cause that is named
BETTER = 0.1  # by how much that is more than without it

NOISE = 3e-2  # largest median difference of scores that precision explains
EXACT = 1e-4  # difference below which scores are equal, which noise leaves to few
FEW = 0.3  # share of hits up to which single rows were changed
ROWS = 3  # hits of a document that must differ, all of them, for its text to be another one

PROMPTS = (
    ("", ""),
    ("query: ", "passage: "),
    ("query: ", ""),
    ("search_query: ", "search_document: "),
    ("Represent this sentence for searching relevant passages: ", ""),
)
POOLINGS = ("mean", "cls", "lasttoken", "max")
LENGTHS = (32, 64, 128, 256, 384, 512)


@dataclass(frozen=True)
class Cause:
    """A cause, and how well it fits."""

    name: str  # prompt, pooling, precision, length, title, normalisation, version of the data, changed rows; empty for none
    words: str  # what was found
    tried: Mapping[str, float | str]  # share of hits that agree by what was tried, or why it was not possible


def find_cause(
    experiment: Experiment,
    name: str,
    pool: Pool,
    claimed: pd.DataFrame,
    found: Comparison,
    compared: Callable[[Scores, str], Comparison],
) -> Cause:
    """Return the likely cause of the differences of a comparison; ``compared`` repeats it with other scores.

    ``claimed`` are the claimed hits, which tell documents that are in none of them from those that only one query lacks.
    """
    queries = found.wrong_queries[:QUERIES]
    hits = found.hits[found.hits["query_id"].isin(queries)]
    # Those that differ, and some that do not.
    first = hits.sort_values("wrong", ascending=False, kind="stable").groupby("query_id").head(HITS)
    documents = pd.concat([first["doc_id"], found.left_out.loc[found.left_out["query_id"].isin(queries), "doc_id"][:HITS]])
    part = pool.of(queries, documents.unique().tolist())
    tried: dict[str, float | str] = {}
    for label, scores in _recomputed(experiment, name, part):
        tried[label] = scores if isinstance(scores, str) else compared(scores, found.by).agreeing
    shares = {label: share for label, share in tried.items() if not isinstance(share, str)}
    before = shares.pop(AS_IS, 0.0)
    best = max(shares, key=lambda label: shares[label], default="")
    if best and shares[best] >= FITS and shares[best] >= before + BETTER:
        return Cause(best.partition(":")[0], f"{best} ({shares[best]:.0%} of the hits tried agree, {before:.0%} without)", tried)
    return replace(_pattern(found, claimed), tried=tried)


AS_IS = "as the files of the model say"


def _recomputed(experiment: Experiment, name: str, pool: Pool) -> Iterator[tuple[str, Scores | str]]:
    """Yield scores of a pool by every way that is tried, with its name."""
    system = experiment.systems[name]
    ways: dict[str, dict[str, Any]] = {AS_IS: {}, **dict(_ways(system.settings))}
    labels = {f"{name}-{number}" if number else name: label for number, label in enumerate(ways)}
    systems = {each: _changed(system, each, ways[label]) for each, label in labels.items()}
    for each, scores in recompute(experiment, pool, systems, "float32"):
        yield labels[each], scores
    for label, other, precision in (
        ("title: none", pool.without_titles, "float32"),
        ("precision: bfloat16", pool, "bfloat16"),
        ("precision: float16", pool, "float16"),
    ):
        for _, scores in recompute(experiment, other, {name: system}, precision):
            yield label, scores


def _changed(system: System, name: str, changes: Mapping[str, Any]) -> System:
    return replace(system, name=name, settings=replace(system.settings, name=name, **changes))


def _ways(settings: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield changes of settings that systems have, by the name of the cause."""
    for query, document in PROMPTS if hasattr(settings, "document_prefix") else ():
        yield f"prompt: {query!r} and {document!r}", {"query_prefix": query, "document_prefix": document}
    for pooling in POOLINGS if hasattr(settings, "pooling") else ():
        yield f"pooling: {pooling}", {"pooling": pooling}
    for length in LENGTHS if hasattr(settings, "max_length") else ():
        yield f"length: {length} tokens", {"max_length": length}
    if hasattr(settings, "normalize"):
        yield "normalisation: none, dot product", {"normalize": False, "similarity": "dot"}
        yield "normalisation: unit length, or cosine", {"normalize": True, "similarity": "cosine"}
    if hasattr(settings, "title_separator"):
        yield "title: separated by a line feed", {"title_separator": "\n"}
    if hasattr(settings, "variant_of"):
        yield "precision: int8 vectors", {"variant_of": settings.name, "vectors": "int8"}


def _pattern(found: Comparison, claimed: pd.DataFrame) -> Cause:
    """Return the cause that the places of the differences show."""
    hits, missing = found.hits, found.left_out
    wrong = hits["wrong"]
    lost = missing[~missing["doc_id"].isin(claimed["doc_id"])]["doc_id"]
    if len(missing) > wrong.sum() and len(lost.unique()) > 1 and len(lost) > len(missing) / 2:
        words = f"{lost.nunique()} drawn documents are in no claimed ranking, although they score high enough for {len(lost)}"
        return Cause("version of the data", f"{words}: the run was made without them", {})
    by_document = hits.groupby("doc_id")["wrong"].agg(["sum", "size"])
    others = by_document[(by_document["sum"] >= ROWS) & (by_document["sum"] == by_document["size"])]
    explained = float(others["sum"].sum() / max(1, wrong.sum()))
    if wrong.mean() < 0.5 and explained >= FITS:
        words = f"{len(others)} documents score otherwise for every query: their texts were other ones"
        return Cause("version of the data", words, {})
    by_score = hits["apart"][np.isfinite(hits["apart"])]
    if found.by == "score" and len(by_score) and by_score.median() <= NOISE and (by_score < EXACT).mean() < FEW < wrong.mean():
        words = f"nearly every score differs a little, in the median by {by_score.median():.1e} of the largest"
        return Cause("precision", f"{words}, as by rounding (half precision, int8)", {})
    if wrong.mean() <= FEW and (wrong.any() or len(missing)):
        queries = found.wrong_queries
        words = f"single rows of {len(queries)} queries differ, such as of {queries[0]!r}, and all others agree"
        left = f", and {len(missing)} documents that score high enough are left out" if len(missing) else ""
        return Cause("changed rows", f"{words}{left}: they were changed, or computed otherwise", {})
    return Cause("", "none of the causes that were tried fits", {})
