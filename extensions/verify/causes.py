"""The likely cause of a difference: ways to compute scores, each tried on a part of the sample, and patterns of differences."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.compute as pc

from beirflow.config.experiment import Experiment
from beirflow.extensions.verify.compare import SCORE, Comparison
from beirflow.extensions.verify.recompute import Pool, Scores, recompute
from beirflow.families.system import System

QUERIES, HITS = 4, 3  # of the part on which causes are tried: queries, and documents of each
FITS = 0.9  # share of hits that agree with the cause that is named
BETTER = 0.1  # by how much that is more than without it

NOISE = 5e-3  # largest median difference of scores that precision explains: bfloat16 makes 1e-3, no prompt or title 1e-2
NEAR = 0.3  # mean difference of scores up to which a length may be near the right one
EXACT = 1e-4  # difference below which scores are equal, which noise leaves to few
FEW = 0.3  # share of hits up to which single rows were changed
ROWS = 3  # hits of a document, all of which differ if its text is another one; fewer tell nothing

PROMPTS = (
    ("", ""),
    ("query: ", "passage: "),
    ("query: ", ""),
    ("search_query: ", "search_document: "),
    ("Represent this sentence for searching relevant passages: ", ""),
)
POOLINGS = ("mean", "cls", "lasttoken", "max")
SHORTEST = 3  # power of two, in tokens, at which lengths begin


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
    trial = _Trial(experiment, name, pool.of(queries, documents.unique().tolist()), lambda scores: compared(scores, found.by))
    if hits["wrong"].any():  # of documents that are left out no way to compute scores is the cause
        trial.add_all()
    shares = dict(trial.shares)
    before, best = shares.pop(AS_IS, 0.0), trial.best
    tried = trial.shares | trial.problems
    if best >= max(FITS, before + BETTER):
        fit = [label for label, share in shares.items() if share == best]
        words = f"{', or '.join(fit)} ({best:.0%} of the hits tried agree, {before:.0%} without)"
        return Cause(fit[0].partition(":")[0], words, tried)
    return replace(_pattern(found, claimed), tried=tried)


AS_IS = "as the files of the model say"


class _Trial:
    """Ways to compute the scores of a pool, and the share of the claimed hits that agree with each."""

    def __init__(self, experiment: Experiment, name: str, pool: Pool, compared: Callable[[Scores], Comparison]) -> None:
        self._experiment, self._system, self._pool, self._compared = experiment, experiment.systems[name], pool, compared
        self.shares: dict[str, float] = {}
        self.problems: dict[str, str] = {}  # of ways that are not possible

    @property
    def best(self) -> float:
        """The largest share."""
        return max(self.shares.values(), default=0.0)

    def add_all(self) -> None:
        """Try all ways."""
        settings = self._system.settings
        self._add({AS_IS: {}, **dict(_ways(settings))})
        self._add({"title: none": {}}, pool=self._pool.without_titles)
        for precision in ("bfloat16", "float16"):
            self._add({f"precision: {precision}": {}}, precision)
        if "max_length" in vars(settings):
            self._add_lengths()

    def _add(
        self, ways: Mapping[str, Mapping[str, Any]], precision: str = "float32", pool: Pool | None = None
    ) -> dict[str, Comparison]:
        """Try ways, changes of settings by what they are; return the comparisons of those that are possible."""
        own, systems = self._system, dict[str, System]()
        for number, changes in enumerate(ways.values()):
            name = f"{own.name}-{number}" if changes else own.name
            systems[name] = replace(own, name=name, settings=replace(own.settings, name=name, **changes))
        found: dict[str, Comparison] = {}
        for label, (_, scores) in zip(ways, recompute(self._experiment, pool or self._pool, systems, precision), strict=False):
            if isinstance(scores, str):
                self.problems[label] = scores
                continue
            found[label] = self._compared(scores)
            self.shares[label] = found[label].agreeing
        return found

    def _add_lengths(self) -> None:
        """Try lengths, each twice the one before, then, while nothing fits, those between the nearest and its neighbours."""
        longest = pc.max(pc.utf8_length(self._pool.documents["text"])).as_py()  # no text has more tokens
        lengths, apart = [1 << power for power in range(SHORTEST, longest.bit_length() + 1)], dict[int, float]()
        while lengths:
            labels = {f"length: {each} tokens": each for each in lengths}
            found = self._add({label: {"max_length": each} for label, each in labels.items()})
            for label, each in labels.items():
                apart[each] = float(found[label].hits["apart"].clip(upper=1).mean()) if label in found else np.inf
            known = sorted(apart)
            place = known.index(min(known, key=apart.__getitem__))
            hopeless = self.best >= FITS or apart[known[place]] > NEAR
            around = [] if hopeless else known[max(0, place - 1) : place + 2]
            lengths = [(low + high) // 2 for low, high in pairwise(around) if high - low > 1 and np.isfinite(apart[high])]


def _ways(settings: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield changes of settings that systems have, by the name of the cause."""
    known = vars(settings)
    for query, document in PROMPTS if "document_prefix" in known else ():
        yield f"prompt: {query!r} and {document!r}", {"query_prefix": query, "document_prefix": document}
    for pooling in POOLINGS if "pooling" in known else ():
        yield f"pooling: {pooling}", {"pooling": pooling}
    if "normalize" in known:
        yield "normalisation: none, dot product", {"normalize": False, "similarity": "dot"}
        yield "normalisation: unit length, or cosine", {"normalize": True, "similarity": "cosine"}
    if "title_separator" in known:
        yield "title: separated by a line feed", {"title_separator": "\n"}
    if "variant_of" in known:
        yield "precision: int8 vectors", {"variant_of": settings.name, "vectors": "int8"}


def _up_to_scale(hits: pd.DataFrame) -> np.ndarray:
    """Return the differences of scores relative to the largest, once the claimed ones are on the scale of the others."""
    both = hits[["claimed", "recomputed"]].dropna().to_numpy(np.float64)
    if len(both) < ROWS or np.ptp(both[:, 0]) == 0:
        return np.empty(0)
    slope, start = np.polyfit(both[:, 0], both[:, 1], 1)
    return np.abs(slope * both[:, 0] + start - both[:, 1]) / np.abs(both[:, 1]).max()


def _pattern(found: Comparison, claimed: pd.DataFrame) -> Cause:
    """Return the cause that the places of the differences show."""
    hits, missing = found.hits, found.left_out
    wrong = hits["wrong"]
    lost = missing[~missing["doc_id"].isin(claimed["doc_id"])]["doc_id"]
    if len(missing) > wrong.sum() and len(lost.unique()) > 1 and len(lost) > len(missing) / 2:
        words = f"{lost.nunique()} drawn documents are in no claimed ranking, although they score high enough for {len(lost)}"
        return Cause("version of the data", f"{words}: the run was made without them", {})
    by_document = hits.groupby("doc_id")["wrong"].agg(["sum", "size"])
    told = by_document[by_document["size"] >= ROWS]
    others = told[told["sum"] == told["size"]]
    explained = float(others["sum"].sum() / max(1, told["sum"].sum()))
    if wrong.mean() < 0.5 and explained >= FITS:
        words = f"{len(others)} documents score otherwise for every query: their texts were other ones"
        return Cause("version of the data", words, {})
    apart = _up_to_scale(hits)
    if found.by == SCORE and len(apart) and np.median(apart) <= NOISE and (apart < EXACT).mean() < FEW < wrong.mean():
        words = f"nearly every score differs a little, in the median by {np.median(apart):.1e} of the largest"
        return Cause("precision", f"{words}, as by rounding (half precision, int8)", {})
    if wrong.mean() <= FEW and (wrong.any() or len(missing)):
        queries = found.wrong_queries
        words = f"single rows of {len(queries)} queries differ, such as of {queries[0]!r}, and all others agree"
        left = f", and {len(missing)} documents that score high enough are left out" if len(missing) else ""
        return Cause("changed rows", f"{words}{left}: they were changed, or computed otherwise", {})
    return Cause("", "none of the causes that were tried fits", {})
