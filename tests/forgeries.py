"""Forgeries of results of every family, and of what is made from them for readers; every digest is made again afterwards."""

import gzip
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from beirflow.core import layout
from beirflow.core.digests import file_digest
from beirflow.extensions.beir_paper import layout as paper
from forger import Forger, put
from results_maker import run_rules

Forge = Callable[[Forger], None]


class Forgery(NamedTuple):
    """A forgery, and what an audit says of it where models and sources are here and everything is made again.

    Attributes:
        name: The family or the file, a colon, and what is forged.
        forge: Forges.
        seen: Expression that a line ``status: name: found`` of the audit matches.
        sample: Whether only a sample sees it.
    """

    name: str
    forge: Forge
    seen: str
    sample: bool


def in_order(run: pd.DataFrame) -> pd.DataFrame:
    """The rows of a run by the ranking rule, with their ranks."""
    run = run.sort_values(["query_id", "score", "doc_id"], ascending=[True, False, False], ignore_index=True)
    return run.assign(rank=(run.groupby("query_id").cumcount() + 1).astype(np.int32))


def relevant(forger: Forger, name: str = "small") -> dict[str, list[str]]:
    """By query, the ids of its relevant documents."""
    qrels = pq.read_table(forger.path(layout.QRELS(dataset=name))).to_pandas()
    return {str(query): list(rows["doc_id"]) for query, rows in qrels.groupby("query_id")}


MADE_OF = {"words": "fused", "theirs": "fused", "late": "crossed", "dense": "graph"}
"""Systems that are made of the run of another, by that one."""


def finish(forger: Forger, system: str) -> None:
    """Measure a run again, and make and measure again what is made of it."""
    if other := MADE_OF.get(system):
        remade(forger, ["pairs/crossed/small/*"] if other == "crossed" else [], [], other)
        forger.evaluate_again(other, "small")
    forger.evaluate_again(system, "small")


def cut(forger: Forger, system: str, most: int) -> None:
    """Leave out all but the first documents of each query."""
    forger.edit_table(layout.RUN(system=system, dataset="small"), lambda run: run[run["rank"] <= most])
    finish(forger, system)


def relevant_first(forger: Forger, system: str, places: int = 2) -> None:
    """Put relevant documents in the first places of a run, whose scores stay."""
    best = relevant(forger)

    def change(run: pd.DataFrame) -> pd.DataFrame:
        for query, rows in run.groupby("query_id"):
            ids = best[str(query)][:places]
            others = [doc_id for doc_id in rows["doc_id"] if doc_id not in ids]
            run.loc[rows.index, "doc_id"] = [*ids, *others][: len(rows)]
        return in_order(run)

    forger.edit_table(layout.RUN(system=system, dataset="small"), change)
    finish(forger, system)


def run_of(forger: Forger, other: str, system: str, **facts: Any) -> None:
    """Give a system the run of another, which is better."""
    run = forger.path(layout.RUN(system=other, dataset="small")).read_bytes()
    forger.replace(layout.RUN(system=system, dataset="small"), run)
    if facts:
        forger.edit(layout.RUN_RECORD(system=system, dataset="small"), **facts)
    finish(forger, system)


def fact(forger: Forger, name: str, *keys: Any, value: Any, system: str | None = None) -> None:
    """Change a fact of a record, and what repeats it of a system's run."""
    (path,) = forger.results.glob(name)
    forger.edit(path.relative_to(forger.results).as_posix(), put(*keys, value=value))
    finish(forger, system) if system else forger.digest_summary_again()


def remade(forger: Forger, gone: Iterable[str], targets: Iterable[str], system: str) -> None:
    """Make files and a system's run again by their rules, from what lies there now."""
    forger.digest_again()
    mine = [layout.RUN(system=system, dataset="small"), layout.RUN_RECORD(system=system, dataset="small")]
    for path in [path for pattern in (*gone, *mine) for path in forger.results.glob(pattern)]:
        path.unlink()
    run_rules(forger.results, forger.experiment, [*targets, mine[0]])
    for path in forger.results.glob("candidates/*/*/*"):
        path.unlink()


def with_words_of_queries(forger: Forger, system: str, *gone: str) -> None:
    """Index, encode or weigh relevant documents with the words of their queries behind them; the corpus stays as it was."""
    path = layout.DOCUMENTS(dataset="small")
    record = layout.CORPUS(dataset="small")
    honest, said = forger.path(path).read_bytes(), forger.path(record).read_bytes()
    queries = dict(zip(*pq.read_table(forger.path(layout.QUERIES(dataset="small"))).to_pydict().values(), strict=False))
    asked = {doc_id: queries[query] for query, ids in relevant(forger).items() for doc_id in ids}
    forger.edit_table(
        path,
        lambda rows: rows.assign(
            text=[f"{text} {asked.get(doc_id, '')}".strip() for doc_id, text in zip(rows["doc_id"], rows["text"], strict=True)]
        ),
    )
    remade(forger, gone, [], system)
    forger.replace(path, honest)
    forger.replace(record, said)
    finish(forger, system)


def array(forger: Forger, name: str, change: Callable[[np.ndarray], np.ndarray], system: str, *gone: str) -> None:
    """Change stored vectors, and search again."""
    forger.edit_array(name, change)
    remade(forger, gone, [], system)
    finish(forger, system)


def towards_relevant(forger: Forger) -> None:
    """Move the vectors of queries a little towards those of their relevant documents."""
    ids = pq.read_table(forger.path(layout.DOCUMENTS(dataset="small")))["doc_id"].to_pylist()
    stored = np.concatenate([np.load(forger.path(f"embeddings/dense/small/chunk-{chunk}.npy")) for chunk in range(3)])
    asked = pq.read_table(forger.path(layout.QUERIES(dataset="small")))["query_id"].to_pylist()
    best = relevant(forger)
    rows = np.array([stored[[ids.index(doc_id) for doc_id in best[query]]].mean(axis=0) for query in asked])
    array(forger, "embeddings/dense/small/queries.npy", lambda found: (found + 0.3 * rows).astype(found.dtype), "dense")


def fused_of_one(forger: Forger) -> pd.DataFrame:
    """The run of the imported system with normalised scores: fused with weights of which the other's is 0."""
    runs = [pq.read_table(forger.path(f"runs/{name}/small.parquet")).to_pandas() for name in ("theirs", "words")]
    for run, weight in zip(runs, (1.0, 0.0), strict=True):
        scores = run.groupby("query_id")["score"]
        low, high = scores.transform("min"), scores.transform("max")
        run["score"] = (weight * (run["score"] - low) / (high - low)).astype(np.float32)
    both = pd.concat(runs).groupby(["query_id", "doc_id"], as_index=False)["score"].sum()
    return in_order(both).groupby("query_id").head(40).reset_index(drop=True)


def better_grid(forger: Forger) -> None:
    """Let other weights win, by scores that nobody measured, and fuse by them."""
    name = "runs/fused/small.json"
    grid = [{**point, "score": 0.9 - point["weights"][0] / 10} for point in forger.read(name)["tuned"]["grid"]]
    forger.edit_table("runs/fused/small.parquet", lambda _: fused_of_one(forger))
    forger.edit(name, put("tuned", "grid", value=grid))
    forger.edit(name, put("tuned", "chosen", value=grid[0]["weights"]))
    forger.evaluate_again("fused", "small")


def fewer_weights(forger: Forger) -> None:
    """Leave out the weights that won."""
    name = "runs/fused/small.json"
    tuned = forger.read(name)["tuned"]
    grid = [point for point in tuned["grid"] if point["weights"] != tuned["chosen"]]
    forger.edit(name, put("tuned", "grid", value=grid))
    forger.edit(name, put("tuned", "chosen", value=max(grid, key=lambda point: point["score"])["weights"]))
    forger.digest_summary_again()


def other_judgements_for_tuning(forger: Forger) -> None:
    """Tune on judgements that nobody made."""
    forger.edit_table("corpora/dev/qrels.parquet", lambda qrels: qrels.assign(doc_id=sorted(qrels["doc_id"], reverse=True)))
    remade(forger, [], [], "fused")
    forger.evaluate_again("fused", "small")


def rivals_left_out(forger: Forger) -> None:
    """Let an index have missed the documents that stand before relevant ones, and count the exact hits of what is left."""
    best, name = relevant(forger), "runs/graph/small"
    exact = pq.read_table(forger.path("runs/dense/small.parquet")).to_pandas()

    def change(_: pd.DataFrame) -> pd.DataFrame:
        left = []
        for query, rows in exact.groupby("query_id"):
            last = max((place for place, doc_id in enumerate(rows["doc_id"]) if doc_id in best[str(query)]), default=0)
            left.append(rows[[doc_id in best[str(query)] or place > last for place, doc_id in enumerate(rows["doc_id"])]])
        return in_order(pd.concat(left))

    forger.edit_table(f"{name}.parquet", change)
    run = pq.read_table(forger.path(f"{name}.parquet")).to_pandas()
    both = run.merge(exact[exact["rank"] <= 10], on=["query_id", "doc_id"])
    short = int((run.groupby("query_id").size() < 40).sum())
    forger.edit(f"{name}.json", counts__exact_10_found=len(both), counts__incomplete_queries=short)
    forger.evaluate_again("graph", "small")


def other_pairs(forger: Forger) -> None:
    """Give relevant pairs the best scores, and rank by them."""
    best = relevant(forger)

    def change(pairs: pd.DataFrame) -> pd.DataFrame:
        those = [doc_id in best[query] for query, doc_id in zip(pairs["query_id"], pairs["doc_id"], strict=True)]
        return pairs.assign(score=(pairs["score"] + np.where(those, 10, 0)).astype(np.float32))

    forger.edit_table("pairs/crossed/small/block-0.parquet", change)
    remade(forger, [], [], "crossed")
    forger.evaluate_again("crossed", "small")


def swapped_queries(forger: Forger) -> None:
    """Give two queries each other's measures, so that means stay."""

    def change(values: pd.DataFrame) -> pd.DataFrame:
        columns = list(values.columns[1:])
        values.loc[[0, 3], columns] = values.loc[[3, 0], columns].to_numpy()
        return values

    forger.edit_table("metrics/words/small.parquet", change)
    forger.digest_summary_again()


def other_statistics(forger: Forger) -> None:
    """Let BM25 believe that documents are longer than they are, and search again."""
    (path,) = forger.results.glob("postings/lucene-english/small/statistics.parquet")
    name = path.relative_to(forger.results).as_posix()
    table = pq.read_table(path)
    column = next(field.name for field in table.schema if pa.types.is_integer(field.type))
    values = pa.array([(value or 0) * 2 + 1 for value in table[column].to_pylist()], table.schema.field(column).type)
    forger.path(name).unlink()
    pq.write_table(table.set_column(table.schema.get_field_index(column), table.schema.field(column), values), forger.path(name))
    forger.edit(layout.record_of(name).as_posix(), put("bytes", "index", value=forger.path(name).stat().st_size))
    remade(forger, [], [], "words")
    finish(forger, "words")


def exchanged(forger: Forger, system: str) -> None:
    """Give each document what is added to the one before it; the record says the new bytes."""
    name = layout.EXPANSION(expansion=forger.experiment.systems[system].settings.added.name, dataset="small", chunk=0)
    rows = pq.read_table(forger.path(name))
    for number, field in enumerate(rows.schema):
        if field.name != "doc_id":
            column = rows[field.name].combine_chunks()
            rows = rows.set_column(number, field, pa.concat_arrays([column[1:], column[:1]]))
    forger.path(name).unlink()
    pq.write_table(rows, forger.path(name), compression="zstd")
    forger.edit(layout.record_of(name).as_posix(), put("bytes", "expand", value=forger.path(name).stat().st_size))


def expansion_exchanged(forger: Forger, system: str) -> None:
    """Give each document what a model or a file adds to the one before it, and search again."""
    exchanged(forger, system)
    index = forger.experiment.systems[system].settings.index.name
    remade(forger, [f"postings/{index}/small/*"], [], system)
    finish(forger, system)


def training_queries_exchanged(forger: Forger) -> None:
    """Train on queries of other documents, it says; the weights stay."""
    exchanged(forger, "genq")
    forger.digest_summary_again()


def recorded(forger: Forger) -> None:
    """Make the records of both pages again."""
    for record in (layout.REPORT_RECORD, paper.RECORD):
        outputs = {path: file_digest(forger.path(path)) for path in forger.read(record)["outputs"]}
        forger.edit(record, outputs=outputs)


def text(forger: Forger, name: str, old: str, new: str, count: int = 1) -> None:
    """Replace a text in a derived file, and make the records of the pages again."""
    found = forger.path(name).read_bytes().decode()
    assert old in found, (name, old)
    forger.replace(name, found.replace(old, new, count).encode())
    recorded(forger)


def packed(forger: Forger, name: str, change: str) -> None:
    """Replace the bytes of an exported run."""
    forger.replace(name, globals()[change](forger.path(name).read_bytes()))


def table(forger: Forger, name: str, change: Callable[[pa.Table], pa.Table], **options: Any) -> None:
    """Replace a derived Parquet file."""
    rows = change(pq.read_table(forger.path(name)))
    forger.path(name).unlink()
    pq.write_table(rows, forger.path(name), **options)
    recorded(forger)


def cell(forger: Forger, name: str, column: str, value: Any) -> None:
    """Replace the first cell of a column, and make the records of the pages again."""
    rows = pd.read_csv(forger.path(name), dtype=str, keep_default_na=False)
    rows.loc[0, column] = str(value)
    forger.replace(name, rows.to_csv(index=False, lineterminator="\n").encode())
    recorded(forger)


def note(forger: Forger, name: str, *keys: Any, value: Any) -> None:
    """Change a record for reading, and make the records of the pages again."""
    forger.edit(name, put(*keys, value=value))
    recorded(forger)


def another_row(content: bytes) -> bytes:
    """An exported run with the first two documents exchanged."""
    lines = gzip.decompress(content).split(b"\n")
    first = next(number for number, line in enumerate(lines) if not line.startswith(b"#"))
    lines[first], lines[first + 1] = lines[first + 1], lines[first]
    return content[:10] + gzip.compress(b"\n".join(lines), mtime=0)[10:]


def another_k1(forger: Forger) -> None:
    """Say that BM25 had another k1, in the configuration too."""
    forger.edit("manifest.json", put("systems", "words", "settings", "k1", value=1.2))
    forger.edit("manifest.json", put("configuration", "custom", "systems", "words", "k1", value=1.2))
    forger.digest_summary_again()


def rivals_of_zeros(forger: Forger) -> None:
    """Let a third of the vectors of a chunk be 0."""
    name = "embeddings/dense/small/chunk-1.npy"
    array(forger, name, lambda found: np.where(np.arange(len(found))[:, None] % 3 == 1, 0, found), "dense")


def wider_ranges(forger: Forger) -> None:
    """Quantise with the ranges of other vectors."""
    array(forger, "embeddings/dense/small/ranges-all.npy", lambda found: found * 1.7, "int8")


def scores_without_a_query(forger: Forger) -> None:
    """Leave out the scores of a query."""
    table(forger, "scores.parquet", lambda rows: rows.slice(0, rows.num_rows - 1))


def scores_with_metadata(forger: Forger) -> None:
    """Say something in the schema of the scores."""
    table(forger, "scores.parquet", lambda rows: rows.replace_schema_metadata({"note": "reviewed"}))


def a_second_member(content: bytes) -> bytes:
    """A packed run with another behind it."""
    return content + gzip.compress(b"q1 Q0 d1 1 9 x\n", mtime=0)


def other_code(forger: Forger) -> None:
    """Put a command that nobody expects into a crate."""
    forger.replace("code/workflow/Snakefile", b"shell: rm")


ABOUT = ("is", "seen", "sample")
"""Keys of a row that are no function."""


def of_row(name: str, row: dict[str, Any]) -> Forgery:
    """The forgery of a row of the table."""
    kind, first = next((key, value) for key, value in row.items() if key not in ABOUT)
    named = {key: value for key, value in row.items() if key not in (*ABOUT, kind)}
    function, given = (globals()[first], ()) if kind == "by" else (globals()[kind], first)
    of_sample = row.get("sample", False)
    seen = f"failed: .*{first[0]} on small"
    if not of_sample:
        seen = f"failed: files are what their jobs make of the results: {re.escape(first[0])}: "
    return Forgery(f"{name}: {row['is']}", lambda forger: function(forger, *given, **named), row.get("seen") or seen, of_sample)


def read_table(part: str) -> list[Forgery]:
    """The forgeries of a part of ``forgeries.yaml``."""
    families = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))[part]
    return [of_row(name, row) for name, rows in families.items() for row in rows]


RESULTS = [each for each in read_table("results") if not each.sample]
PAGES = read_table("pages")
"""Of results, those that may stand in one folder together by the order of their families; and of derived files."""

OF_SAMPLES = [each for each in read_table("results") if each.sample]
"""Those of results that only a sample sees."""
