"""Files of results as large as one likes, in the forms that the report reads, with numbers that are made up."""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from beirflow.core.csv_files import read_named_csv
from beirflow.core.digests import file_digest
from beirflow.core.records import Job, write_json, write_record
from beirflow.evaluation.summary import summarize
from beirflow.ranking.measures import all_measures
from beirflow.report.analysis.inspection import matched_words
from beirflow.report.analysis.shown_queries import query_scores
from beirflow.report.registry import functions
from beirflow.report.report import write_report
from beirflow.report.results import Results

CUTOFFS = (1, 3, 5, 10, 100, 1000)
MEASURES = [name for name, each in all_measures.MEASURES.items() if not each.needs]
WORDS = ("retrieval", "of", "passages", "about", "heat", "in", "water", "and", "the", "growth", "of", "cells", "under", "light")
MANIFEST = {
    "written": "2026-01-02T03:04:05+00:00",
    "repository": {"commit": "c0ffee", "clean": False},
    "environment": {"python": "3.11.7", "platform": "Linux", "packages": {"torch": "2.13.0", "scipy": None}},
    "inputs": {},
    "outputs": {"summary.csv": "5" * 64},
}
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 320" width="640" height="320"><rect width="640" height="320" '
    'fill="#fff"/><path d="M60 260H600" stroke="#333"/><text x="300" y="160">{name}</text></svg>'
)

MATCHES = [["<b>cat</b>", "<b>cat</b>", 1.256], ["dog", "puppy", 0.5], ["it", "", 0.25], ["too", "little", 0.001]]
"""Of each hit of a system."""


def results_of(**frames: Any) -> Results:
    """Results that have these frames, as if they had been read, and no other."""
    made = Results("nowhere", input_paths=[])
    nothing = {"significance": ["measure", "system_a", "system_b", "dataset"], "uncertainty": ["measure", "resampled", "dataset"]}
    vars(made).update({name: pd.DataFrame(columns=columns) for name, columns in nothing.items()} | frames)
    return made


@dataclass
class ReportFiles:
    """A folder of results; names in ``hostile`` are used as texts and document ids as well."""

    folder: Path
    systems: Sequence[str]
    rows: dict[str, Sequence[str]]
    queries: int = 3
    of: int = 10_000
    judged: int = 3
    hostile: Sequence[str] = ()
    inputs: list[str] = field(default_factory=list)

    def write(self) -> Path:
        """Write everything, and the report of it."""
        pick = random.Random(7)
        rows, corpora = self._metrics(pick)
        names = ("summary", "significance", "uncertainty", "cost")
        summary, comparison, uncertainty, costs = (str(self.folder / f"{name}.csv") for name in names)
        summarize(means_paths=rows, summary_path=summary, trained_on={system: {} for system in self.systems})
        self._comparison(pick).to_csv(comparison, index=False)
        self._uncertainty(read_named_csv(summary), pick).to_csv(uncertainty, index=False)
        self._costs(pick).to_csv(costs, index=False)
        self._settings().to_csv(self.folder / "systems.csv", index=False)
        write_json(self.folder / "manifest.json", MANIFEST)
        others = [str(self.folder / name) for name in ("systems.csv", "manifest.json")]
        inspections = self._inspections(pick)
        inputs = [summary, *rows, *corpora, *inspections, *self._matches(inspections), comparison, uncertainty, costs, *others]
        per_query = self.folder.glob("metrics/*/*.parquet")
        self.inputs = [*inputs, *map(str, sorted(per_query)), *self._figures()]
        return self.report()

    def results(self) -> Results:
        """The results that a job gets."""
        return Results(self.folder, input_paths=self.inputs, baseline=self.systems[0])

    def report(self) -> Path:
        """Write the report of the files that are there."""
        write_report(shared=self.results(), report_path=str(self.folder / "report.html"), job=Job(self.folder))
        return self.folder / "report.html"

    def _metrics(self, pick: random.Random) -> tuple[list[str], list[str]]:
        """Paths of the means of all rows, and of all corpora."""
        found: tuple[list[str], list[str]] = ([], [])
        for system in self.systems:
            for row, names in self.rows.items():
                for name in dict.fromkeys([row, *names]):
                    path = str(self.folder / f"metrics/{system}/{name}.json")
                    forums = list(names) if list(names) != [row] and name == row else []
                    means: dict[str, Any] = {
                        "inputs": {self.folder / f"metrics/{system}/{forum}.json": "0" * 64 for forum in forums},
                        "outputs": {},
                        "system": system,
                        "dataset": name,
                        "split": "test",
                        "official_data": None,
                        "measures": {f"{measure}@{k}": pick.random() for measure in MEASURES for k in CUTOFFS},
                        "counts": {"documents": pick.randrange(10**6), "queries": self.of, "judgements": 5 * self.of},
                        "seconds": {"index": 100 * pick.random(), "search": pick.random()},
                        "precisions": [],
                        "assumed": [],
                        **({"forums": forums} if forums else {}),
                    }
                    if name in names:
                        means["outputs"] = self._per_query(path)
                    write_record(path, Job(self.folder), **means)
                    if name == row:
                        found[0].append(path)
                    if name in names:
                        found[1].append(path)
        return found

    def _per_query(self, means_path: str) -> dict[str, str]:
        """Write the values of a few queries of a corpus; a third of them are 0. Return their digest."""
        path = Path(means_path).with_suffix(".parquet")
        path.parent.mkdir(parents=True, exist_ok=True)
        values = np.random.default_rng([*means_path.encode()[-20:]]).random(30)
        pq.write_table(pa.table({"query_id": [f"q{i}" for i in range(30)], "NDCG@10": np.where(values < 1 / 3, 0, values)}), path)
        return {str(path): file_digest(path)}

    def _uncertainty(self, summary: pd.DataFrame, pick: random.Random) -> pd.DataFrame:
        table = summary[["dataset", "system"]].assign(measure="NDCG@10", resampled="queries", mean=summary["NDCG@10"])
        table["rank"] = table.groupby("dataset")["mean"].rank(ascending=False)
        table = table.assign(
            low=table["mean"] - 0.01, high=table["mean"] + 0.01, rank_low=table["rank"], rank_high=table["rank"] + 1
        )
        return table.assign(first=pick.random(), groups="a", detectable=0.02)

    def _comparison(self, pick: random.Random) -> pd.DataFrame:
        pairs = [(row, a, b) for row in self.rows for a, b in combinations(self.systems, 2)]
        table = pd.DataFrame(pairs, columns=["dataset", "system_a", "system_b"]).assign(measure="NDCG@10", queries=self.of)
        for name in ("mean_a", "mean_b", "difference", "low", "high", "effect_size"):
            table[name] = [pick.uniform(-0.1, 0.1) for _ in pairs]
        table["p"], table["p_holm"] = [pick.random() for _ in pairs], [pick.choice((0.001, 1.0)) for _ in pairs]
        return table.assign(detectable=0.02)

    def _costs(self, pick: random.Random) -> pd.DataFrame:
        stages = ("load", "queries", "index", "search", "merge", "evaluate")
        names = [*(f"{stage}_seconds" for stage in stages), "seconds", "documents_per_second", "index_bytes"]
        return pd.DataFrame(
            {
                "system": system,
                "dataset": row,
                "documents": pick.randrange(10**6),
                "queries": self.of,
                **{name: 1e6 * pick.random() for name in names},
                "documents_reused": 0,
                "peak_memory_bytes": None,
                "precision": "float32",
                "devices": "cpu",
            }
            for system in self.systems
            for row in self.rows
        )

    def _settings(self) -> pd.DataFrame:
        """Every system reads the same model, each with a prompt of its own; one has a prompt for every dataset."""
        of_all = [
            ("family", "dense", "configuration", None),
            ("model", "example/an-encoder-of-some-length", "configuration", None),
            ("revision", "0123456789abcdef0123456789abcdef01234567", "configuration", None),
            ("pooling", "cls", "configuration", "mean"),
            ("max_length", "512", "model", None),
            ("similarity", "cosine", "model", None),
            ("document_prefix", "", "configuration", None),
            ("precision", "float32", "record", None),
            ("model_sha256", "7" * 64, "record", None),
        ]
        rows = []
        for system in self.systems:
            rows += [(system, name, "", *others) for name, *others in of_all]
            prompts = list(self.rows) if system == self.systems[-1] else [""]
            rows += [(system, "query_prefix", row, f"{system} {row}: ", "configuration", None) for row in prompts]
            rows += [(system, "truncated_documents", row, "1200", "record", None) for row in self.rows]
        return pd.DataFrame(rows, columns=["system", "setting", "dataset", "value", "said_by", "model_says"])

    def _inspections(self, pick: random.Random) -> list[str]:
        """One file a corpus, all with the same queries, since making them takes longest."""
        names = [*self.hostile, *(f"doc-{i}" for i in range(50 * self.queries))]
        texts = {name: {"title": self._words(pick, 4), "text": self._words(pick, 80)} for name in names}
        texts |= {name: {"title": "", "text": name} for name in self.hostile}
        histogram = {"mean": 40.5, "n": 1000, "quantiles": {"5": 3, "25": 20, "50": 38, "75": 60, "95": 101}}
        queries = [self._query(pick, i, names) for i in range(self.queries)]
        unseen = {f"unseen-{i}": self._words(pick, 9) for i in range(4 * self.queries)}
        scores = {
            system: np.array([query["values"][system] for query in queries] + [pick.choice((0.2, 0.5, 0.8)) for _ in unseen])
            for system in self.systems
        }
        ids, texts_of_queries = zip(*[(query["id"], query["text"]) for query in queries], *unseen.items(), strict=True)
        content = {
            "split": "test",
            "documents": 10**6,
            "measure": "NDCG@10",
            "cutoff": 10,
            "depth": 10,
            "systems": list(self.systems),
            "sample": {"shown": self.queries, "of": self.of, "how": "the worst, and others drawn at random"},
            "queries": queries,
            "texts": texts,
            "scores": query_scores(ids, texts_of_queries, scores, range(self.queries)),
            "lengths": {
                "unit": "words",
                "all": histogram,
                "relevant": histogram,
                "retrieved": dict.fromkeys(self.systems, histogram),
            },
        }
        shared = json.dumps(content, ensure_ascii=False).removeprefix("{")
        paths = [self.folder / f"inspection/{name}.json" for names in self.rows.values() for name in names]
        for path in paths:
            path.parent.mkdir(exist_ok=True)
            path.write_text(f'{{"dataset": {json.dumps(path.stem)}, {shared}', encoding="utf-8")
        return [str(path) for path in paths]

    def _matches(self, inspection_paths: Sequence[str]) -> list[str]:
        """Write the matches of the hits of the last system."""
        queries = json.loads(Path(inspection_paths[0]).read_text(encoding="utf-8"))["queries"]
        hits = {query["id"]: [hit["doc_id"] for hit in query["hits"][self.systems[-1]]] for query in queries}
        content = json.dumps({"queries": {query_id: dict.fromkeys(of, MATCHES) for query_id, of in hits.items()}})
        paths = [self.folder / f"matches/{self.systems[-1]}/{Path(path).name}" for path in inspection_paths]
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        return [str(path) for path in paths]

    def _query(self, pick: random.Random, i: int, names: Sequence[str]) -> dict[str, Any]:
        judged = [
            {
                "doc_id": name,
                "grade": pick.choice((2, 1, 0)),
                "ranks": {system: pick.choice((1, 7, None)) for system in self.systems},
            }
            for name in [*self.hostile, *pick.sample(names, self.judged)]
        ]
        hits = {
            system: [
                {"doc_id": name, "score": pick.random(), "grade": pick.choice((1, 0, None))}
                for name in [*self.hostile, *pick.sample(names, 10)][:10]
            ]
            for system in self.systems
        }
        hostile = self.hostile[i] if i < len(self.hostile) else None
        text = hostile or self._words(pick, 9)
        return {
            "id": hostile or f"query-{i}",
            "text": text,
            "relevant": self.judged,
            "values": {system: pick.random() for system in self.systems},
            "judged_total": self.judged + 40,
            "words": matched_words(text, WORDS),
            "judged": judged,
            "hits": hits,
        }

    def _words(self, pick: random.Random, count: int) -> str:
        return " ".join(pick.choices(WORDS, k=count))

    def _figures(self) -> list[str]:
        folder = self.folder / "figures"
        folder.mkdir(parents=True, exist_ok=True)
        for name in functions("figure"):
            (folder / f"{name}.svg").write_text(SVG.format(name=name))
            (folder / f"{name}.pdf").write_bytes(b"%PDF-1.4\n")
        for name in functions("frame"):
            (folder / f"{name}.csv").write_text("system\n")
        return [str(path) for path in sorted(folder.iterdir())]
