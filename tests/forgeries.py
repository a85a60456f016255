"""Forgeries of results of every family, and of what is made from them for readers; every digest is made again afterwards."""

import gzip
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from beirflow.files import layout
from beirflow.files.digests import file_digest
from forger import Forger, put
from results_maker import run_rules

Forge = Callable[[Forger], None]


class Forgery(NamedTuple):
    """A forgery, and what an audit says of it where models and sources are here and everything is made again.

    Attributes:
        name: The family or the file, a colon, and what is forged.
        forge: Forges.
        seen: Expression that a line ``status: name: found`` of the audit matches, or a line of the facts that it compared with
            nothing.
    """

    name: str
    forge: Forge
    seen: str


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


def relevant_first(system: str, places: int = 2) -> Forge:
    """Put relevant documents in the first places of a run, whose scores stay."""

    def forge(forger: Forger) -> None:
        best = relevant(forger)

        def change(run: pd.DataFrame) -> pd.DataFrame:
            for query, rows in run.groupby("query_id"):
                ids = best[str(query)][:places]
                others = [doc_id for doc_id in rows["doc_id"] if doc_id not in ids]
                run.loc[rows.index, "doc_id"] = [*ids, *others][: len(rows)]
            return in_order(run)

        forger.edit_table(layout.RUN(system=system, dataset="small"), change)
        finish(forger, system)

    return forge


def moved_run(system: str, change: Callable[[pd.DataFrame], pd.DataFrame], name: str = "small") -> Forge:
    """Change a run, and measure it again."""

    def forge(forger: Forger) -> None:
        forger.edit_table(layout.RUN(system=system, dataset=name), lambda run: in_order(change(run)))
        finish(forger, system)

    return forge


def run_of(other: str, system: str, **facts: Any) -> Forge:
    """Give a system the run of another, which is better."""

    def forge(forger: Forger) -> None:
        run = forger.path(layout.RUN(system=other, dataset="small")).read_bytes()
        forger.replace(layout.RUN(system=system, dataset="small"), run)
        if facts:
            forger.edit(layout.RUN_RECORD(system=system, dataset="small"), **facts)
        finish(forger, system)

    return forge


def fact(name: str, *keys: Any, value: Any, system: str | None = None) -> Forge:
    """Change a fact of a record, and what repeats it of a system's run."""

    def forge(forger: Forger) -> None:
        (path,) = forger.results.glob(name)
        forger.edit(path.relative_to(forger.results).as_posix(), put(*keys, value=value))
        finish(forger, system) if system else forger.digest_summary_again()

    return forge


def remade(forger: Forger, gone: Iterable[str], targets: Iterable[str], system: str) -> None:
    """Make files and a system's run again by their rules, from what lies there now."""
    forger.digest_again()
    mine = [layout.RUN(system=system, dataset="small"), layout.RUN_RECORD(system=system, dataset="small")]
    for path in [path for pattern in (*gone, *mine) for path in forger.results.glob(pattern)]:
        path.unlink()
    run_rules(forger.results, forger.experiment, [*targets, mine[0]])
    for path in forger.results.glob("candidates/*/*/*"):
        path.unlink()


def with_words_of_queries(system: str, *gone: str) -> Forge:
    """Index, encode or weigh relevant documents with the words of their queries behind them; the corpus stays as it was."""

    def forge(forger: Forger) -> None:
        path = layout.DOCUMENTS(dataset="small")
        record = layout.CORPUS(dataset="small")
        honest, said = forger.path(path).read_bytes(), forger.path(record).read_bytes()
        queries = dict(zip(*pq.read_table(forger.path(layout.QUERIES(dataset="small"))).to_pydict().values(), strict=False))
        asked = {doc_id: queries[query] for query, ids in relevant(forger).items() for doc_id in ids}
        forger.edit_table(
            path,
            lambda rows: rows.assign(
                text=[
                    f"{text} {asked.get(doc_id, '')}".strip() for doc_id, text in zip(rows["doc_id"], rows["text"], strict=True)
                ]
            ),
        )
        remade(forger, gone, [], system)
        forger.replace(path, honest)
        forger.replace(record, said)
        finish(forger, system)

    return forge


def array(name: str, change: Callable[[np.ndarray], np.ndarray], system: str, *gone: str) -> Forge:
    """Change stored vectors, and search again."""

    def forge(forger: Forger) -> None:
        forger.edit_array(name, change)
        remade(forger, gone, [], system)
        finish(forger, system)

    return forge


def towards_relevant(forger: Forger) -> None:
    """Move the vectors of queries a little towards those of their relevant documents."""
    ids = pq.read_table(forger.path(layout.DOCUMENTS(dataset="small")))["doc_id"].to_pylist()
    stored = np.concatenate([np.load(forger.path(f"embeddings/dense/small/chunk-{chunk}.npy")) for chunk in range(3)])
    asked = pq.read_table(forger.path(layout.QUERIES(dataset="small")))["query_id"].to_pylist()
    best = relevant(forger)
    rows = np.array([stored[[ids.index(doc_id) for doc_id in best[query]]].mean(axis=0) for query in asked])
    array("embeddings/dense/small/queries.npy", lambda found: (found + 0.3 * rows).astype(found.dtype), "dense")(forger)


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


def expansion_exchanged(system: str) -> Forge:
    """Give each document what a model or a file adds to the one before it, and search again."""

    def forge(forger: Forger) -> None:
        exchanged(forger, system)
        index = forger.experiment.systems[system].settings.index.name
        remade(forger, [f"postings/{index}/small/*"], [], system)
        finish(forger, system)

    return forge


def training_queries_exchanged(forger: Forger) -> None:
    """Train on queries of other documents, it says; the weights stay."""
    exchanged(forger, "genq")
    forger.digest_summary_again()


def untrained(forger: Forger) -> None:
    """Put the weights that training began with in the place of the trained ones; what is said of the training stays."""
    base = forger.experiment.config["custom"]["systems"]["genq"]["base"]["model"]
    name = "models/genq/small/model.safetensors"
    forger.replace(name, Path(base, "model.safetensors").read_bytes())
    digest = file_digest(forger.path(name))
    forger.edit("models/genq/small.json", put("files", "model.safetensors", value=digest))
    remade(forger, ["embeddings/genq/small/*"], [], "genq")
    forger.evaluate_again("genq", "small")


def recorded(forger: Forger) -> None:
    """Make the records of both pages again."""
    for record in (layout.REPORT_RECORD, layout.PAPER_RECORD):
        outputs = {path: file_digest(forger.path(path)) for path in forger.read(record)["outputs"]}
        forger.edit(record, outputs=outputs)


def text(name: str, old: str, new: str, count: int = 1) -> Forge:
    """Replace a text in a file for reading, and make the records of the pages again."""

    def forge(forger: Forger) -> None:
        found = forger.path(name).read_bytes().decode()
        assert old in found, (name, old)
        forger.replace(name, found.replace(old, new, count).encode())
        recorded(forger)

    return forge


def packed(change: Callable[[bytes], bytes], name: str = "open-runs/words/small.trec.gz") -> Forge:
    """Replace the bytes of an exported run."""

    def forge(forger: Forger) -> None:
        forger.replace(name, change(forger.path(name).read_bytes()))

    return forge


def table(name: str, change: Callable[[pa.Table], pa.Table], **options: Any) -> Forge:
    """Replace a Parquet file for reading."""

    def forge(forger: Forger) -> None:
        rows = change(pq.read_table(forger.path(name)))
        forger.path(name).unlink()
        pq.write_table(rows, forger.path(name), **options)
        recorded(forger)

    return forge


def cell(name: str, column: str, value: Any) -> Forge:
    """Replace the first cell of a column, and make the records of the pages again."""

    def forge(forger: Forger) -> None:
        rows = pd.read_csv(forger.path(name), dtype=str, keep_default_na=False)
        rows.loc[0, column] = str(value)
        forger.replace(name, rows.to_csv(index=False, lineterminator="\n").encode())
        recorded(forger)

    return forge


def note(name: str, *keys: Any, value: Any) -> Forge:
    """Change a record for reading, and make the records of the pages again."""

    def forge(forger: Forger) -> None:
        forger.edit(name, put(*keys, value=value))
        recorded(forger)

    return forge


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


def another_index(forger: Forger) -> None:
    """Put something else in the place of an index."""
    forger.replace("indexes/dense/small/hnsw-m4-ef20-seed0.faiss", b"no index")
    forger.digest_summary_again()


def further_jobs(forger: Forger) -> None:
    """Name a job that there was not."""
    name = "runs/sparse/small.json"
    fact(name, "jobs", value=[*forger.read(name)["jobs"], "verify/sparse/small"], system="sparse")(forger)


CHUNKS, RUN = "embeddings/dense/small/chunk*", "runs/{}/small.json"
GOING = "postings/lucene-english"
ZERO_ROWS = array(
    "embeddings/dense/small/chunk-1.npy", lambda found: np.where(np.arange(len(found))[:, None] % 3 == 1, 0, found), "dense"
)
AGAIN, SEARCHED = "failed: documents {} again have the stored", "failed: queries searched again have the recorded ranks: runs/{}/"
NAMED = r"uncompared: {}: .*\b{}"

RESULTS = [
    Forgery("lexical: relevant documents first", relevant_first("words"), SEARCHED.format("words")),
    Forgery("lexical: postings of other documents", with_words_of_queries("words", f"{GOING}/small/*"), AGAIN.format("analysed")),
    Forgery("lexical: other statistics", other_statistics, "failed: statistics added up again"),
    Forgery("lexical: another k1 in the manifest", another_k1, "failed: .*k1 of words 1.2"),
    Forgery(
        "docT5query: queries of other documents",
        expansion_exchanged("written"),
        "failed: queries written again .*written on",
    ),
    Forgery(
        "given expansion: those of other documents",
        expansion_exchanged("given"),
        "failed: expansions are those of their files",
    ),
    Forgery(
        "DeepCT: weights of other documents",
        expansion_exchanged("deepct"),
        "failed: words weighed again",
    ),
    Forgery("dense: vectors of other texts", with_words_of_queries("dense", CHUNKS), AGAIN.format("encoded")),
    Forgery("dense: queries moved towards relevant documents", towards_relevant, "failed: queries encoded again"),
    Forgery("dense: the vectors of rivals are 0", ZERO_ROWS, AGAIN.format("encoded")),
    Forgery("variant: relevant documents first", relevant_first("int8"), SEARCHED.format("int8")),
    Forgery(
        "variant: ranges of other vectors",
        array("embeddings/dense/small/ranges-all.npy", lambda found: found * 1.7, "int8"),
        SEARCHED.format("int8"),
    ),
    Forgery(
        "variant: fewer bytes",
        fact(RUN.format("int8"), "bytes", "index", value=3, system="int8"),
        "not checked: .*int8.*bytes are those of compressed vectors",
    ),
    Forgery("GenQ: weights that were not trained", untrained, "not checked: .*the training of genq on small was not made again"),
    Forgery(
        "GenQ: losses that fall",
        fact("models/genq/small.json", "training", "losses", value=[3.0, 2.0]),
        NAMED.format("models/.*", "training/losses"),
    ),
    Forgery(
        "GenQ: fewer steps",
        fact("models/genq/small.json", "counts", "training_steps", value=1),
        "failed: .*models/genq/small.json says counts / training_pairs",
    ),
    Forgery("GenQ: queries of other documents", training_queries_exchanged, "failed: queries written again .*genq on"),
    Forgery(
        "sparse: weights of other texts",
        with_words_of_queries("sparse", "postings/sparse/small/weights*"),
        AGAIN.format("weighed"),
    ),
    Forgery("sparse: relevant documents first", relevant_first("sparse"), SEARCHED.format("sparse")),
    Forgery(
        "sparse: fewer terms of queries",
        fact("postings/sparse/small/queries.json", "counts", "terms_of_queries", value=9),
        "failed: .*runs/sparse/small.json says counts",
    ),
    Forgery(
        "late interaction: tokens of other texts",
        with_words_of_queries("late", "tokens/late/small/chunk*"),
        "failed: documents encoded again .*late on",
    ),
    Forgery("late interaction: relevant documents first", relevant_first("late"), SEARCHED.format("late")),
    Forgery("reranker: other scores of pairs", other_pairs, "failed: pairs scored again"),
    Forgery(
        "reranker: relevant documents first",
        relevant_first("crossed"),
        "failed: queries ranked again have the recorded ranks: runs/crossed/",
    ),
    Forgery(
        "reranker: fewer pairs",
        fact("pairs/crossed/small/block-0.json", "counts", "pairs", value=7),
        "failed: .*runs/crossed/small.json says counts",
    ),
    Forgery("imported run: relevant documents first", relevant_first("theirs"), "failed: queries read again"),
    Forgery(
        "imported run: another file",
        fact(RUN.format("theirs"), "source_sha256", value="0" * 64),
        "failed: runs of elsewhere are those that were read",
    ),
    Forgery(
        "imported run: its order was that of its scores",
        fact(RUN.format("theirs"), "counts", "queries_ranked_otherwise", value=0, system="theirs"),
        NAMED.format("runs/.*", "counts/queries_ranked_otherwise"),
    ),
    Forgery("fusion: weights that won by invented scores", better_grid, "failed: weights tuned again"),
    Forgery("fusion: the best weights left out", fewer_weights, "failed: weights tuned again .*weights were tried"),
    Forgery(
        "fusion: tuned on other judgements",
        other_judgements_for_tuning,
        "failed: corpora are those of their source: corpora/dev/qrels",
    ),
    Forgery(
        "fusion: tuned on what is evaluated",
        fact(RUN.format("fused"), "tuned", "on", value="small"),
        "failed: systems are tuned on other queries",
    ),
    Forgery("approximate: rivals left out", rivals_left_out, "failed: an index built again finds the same documents"),
    Forgery(
        "approximate: the exact run",
        run_of("dense", "graph", counts__exact_10_found=80, counts__incomplete_queries=0),
        "failed: an index built again finds the same documents",
    ),
    Forgery(
        "approximate: relevant documents first",
        relevant_first("graph"),
        "failed: documents found by an index have their exact scores",
    ),
    Forgery(
        "approximate: more exact hits",
        fact(RUN.format("graph"), "counts", "exact_10_found", value=80, system="graph"),
        "failed: exact hits are those of the two runs",
    ),
    Forgery("approximate: another index", another_index, "failed: .*hnsw-m4-ef20-seed0.json says bytes"),
    Forgery(
        "approximate: a faster search",
        fact(RUN.format("graph"), "seconds", "search", value=1e-6, system="graph"),
        NAMED.format("runs/.*", "seconds/search"),
    ),
    Forgery(
        "model: another similarity on its card",
        fact("models/dense.json", "card", "similarity", value="cosine"),
        "failed: .*models/dense.json says similarity cosine",
    ),
    Forgery(
        "model: other steps on its card",
        fact("models/dense.json", "card", "steps", "queries", 0, "settings", "max_length", value=512),
        NAMED.format("models/.*", "card"),
    ),
    Forgery(
        "run: jobs left out",
        fact(RUN.format("dense"), "jobs", value=["encode_chunk/dense/small/chunk-0"], system="dense"),
        "failed: .*runs/dense/small.json says jobs, which lack",
    ),
    Forgery("run: a further job", further_jobs, NAMED.format("runs/.*", "jobs")),
    Forgery(
        "metrics: two queries exchanged",
        swapped_queries,
        "failed: measures of every query are what the run gives: metrics/words/",
    ),
    Forgery(
        "metrics: a better mean",
        fact("metrics/sparse/small.json", "measures", "NDCG@10", value=0.5),
        "failed: means are what they are means of: metrics/sparse/",
    ),
    Forgery(
        "metrics: an assumption that there was not",
        fact("metrics/dense/small.json", "assumed", value=["by hand"]),
        "failed: .*metrics/dense/small.json says assumed",
    ),
    Forgery(
        "metrics: a faster evaluation",
        fact("metrics/late/small.json", "seconds", "evaluate", value=1e-9),
        NAMED.format("metrics/.*", "seconds/evaluate"),
    ),
    Forgery(
        "manifest: another processor",
        fact("manifest.json", "environment", "processor", value="A faster one"),
        NAMED.format("manifest.json", "environment/"),
    ),
    Forgery(
        "manifest: earlier",
        fact("manifest.json", "written", value="2020-01-01T00:00:00+00:00"),
        NAMED.format("manifest.json", "written"),
    ),
    Forgery(
        "manifest: another catalogue", fact("manifest.json", "published_sha256", value="0" * 64), "warning: .*another catalogue"
    ),
    Forgery(
        "manifest: another user",
        fact("manifest.json", "made_by", "user", value="a laboratory"),
        NAMED.format("manifest.json", "made_by"),
    ),
    Forgery(
        "manifest: a further system",
        fact("manifest.json", "configuration", "custom", "systems", "gpt", value={"family": "lexical"}),
        NAMED.format("manifest.json", "configuration/custom/systems/gpt"),
    ),
    Forgery(
        "manifest: another main measure",
        fact("manifest.json", "configuration", "main_measure", value="Recall@10"),
        "failed: the summary is what the metrics give: summary.csv: columns",
    ),
    Forgery(
        "corpus: official data",
        fact("corpora/small/corpus.json", "official", value=True),
        "failed: .*metrics/words/small.json says official_data",
    ),
    Forgery(
        "corpus: shorter documents",
        fact("corpora/small/corpus.json", "characters", "mean", value=9.0),
        "failed: .*corpus.json says characters",
    ),
]
"""Of results, those that may stand in one folder together by the order of their families."""

SHOWN = "failed: files for reading show the results: {}: "

PAGES = [
    Forgery("summary: a better mean", cell("summary.csv", "NDCG@10", 0.9), "failed: the summary is what the metrics give"),
    Forgery(
        "summary: a look-alike of a name",
        text("summary.csv", "words,", "w\u043erds,"),
        "failed: the summary is what the metrics give: .*line 2",
    ),
    Forgery("significance: another interval", cell("significance.csv", "low", 0.01), SHOWN.format("significance.csv")),
    Forgery(
        "significance: a byte order mark",
        text("significance.csv", "dataset,", "\ufeffdataset,"),
        SHOWN.format("significance.csv"),
    ),
    Forgery("significance: a larger effect", cell("significance.csv", "effect_size", 0.9), SHOWN.format("significance.csv")),
    Forgery("cost: a smaller index", cell("cost.csv", "index_bytes", 1.0), SHOWN.format("cost.csv")),
    Forgery("cost: energy that nothing counted", cell("cost.csv", "gpu_joules", 1.0), "not checked: .*cost.csv .*gpu_joules"),
    Forgery("cost: other line ends", text("cost.csv", "\n", "\r\n", -1), SHOWN.format("cost.csv")),
    Forgery("systems: another setting", text("systems.csv", "words,k1,,0.9", "words,k1,,0.8"), SHOWN.format("systems.csv")),
    Forgery(
        "systems: a formula",
        text("systems.csv", "lexical,configuration", '"=HYPERLINK(""x"")",configuration'),
        SHOWN.format("systems.csv"),
    ),
    Forgery(
        "scores: a query left out",
        table("scores.parquet", lambda rows: rows.slice(0, rows.num_rows - 1)),
        SHOWN.format("scores.parquet"),
    ),
    Forgery(
        "scores: metadata",
        table("scores.parquet", lambda rows: rows.replace_schema_metadata({"note": "reviewed"})),
        SHOWN.format("scores.parquet"),
    ),
    Forgery(
        "latency: faster",
        note("latency/words/small.json", "devices", "cpu", "p50_ms", value=0.001),
        SHOWN.format("paper/efficiency.csv"),
    ),
    Forgery(
        "report: a row hidden by style",
        text("report.html", "</style>", "tr:nth-child(2){display:none}</style>"),
        SHOWN.format("report.html"),
    ),
    Forgery(
        "report: a script behind the end",
        text("report.html", "</html>", "</html><script>rank()</script>"),
        SHOWN.format("report.html"),
    ),
    Forgery(
        "report: another figure",
        text("figures/pareto.svg", "<desc>", "<desc>of others "),
        "not checked: files for reading: .*figures",
    ),
    Forgery(
        "inspection: more relevant documents",
        note("inspection/small.json", "queries", 0, "relevant", value=3),
        SHOWN.format("inspection/small.json"),
    ),
    Forgery(
        "matches: a further fact",
        note("matches/sparse/small.json", "note", value="semantic"),
        "not checked: files for reading: .*not made again",
    ),
    Forgery(
        "leaderboard: a row switched off",
        text("tables/leaderboard.tex", "\\midrule", "\\midrule\\iffalse"),
        SHOWN.format("tables/leaderboard.tex"),
    ),
    Forgery(
        "leaderboard: a row in a comment",
        text("tables/leaderboard.md", "| words", "<!-- | words"),
        SHOWN.format("tables/leaderboard.md"),
    ),
    Forgery("tables: another name", text("tables/systems.md", "words", "w0rds"), SHOWN.format("tables/systems.md")),
    Forgery("figures: another front", text("figures/pareto.csv", "False,False", "True,True"), SHOWN.format("figures/pareto.csv")),
    Forgery(
        "figures: another order",
        cell("figures/critical_difference.csv", "average_rank", 0.5),
        SHOWN.format("figures/critical_difference.csv"),
    ),
    Forgery("paper: another verdict", text("paper/claims.csv", "not enough datasets", "holds"), SHOWN.format("paper/claims.csv")),
    Forgery("paper: another latency", cell("paper/efficiency.csv", "cpu_ms", 1.0), SHOWN.format("paper/efficiency.csv")),
    Forgery("paper: another printed score", text("paper/table-2.csv", "0.228", "0.128"), SHOWN.format("paper/table-2.csv")),
    Forgery(
        "paper: a page that hides",
        text("paper/index.html", "</style>", "td{display:none}</style>"),
        SHOWN.format("paper/index.html"),
    ),
    Forgery(
        "paper: shorter documents", cell("paper/lengths-medians.csv", "median", 1.0), SHOWN.format("paper/lengths-medians.csv")
    ),
    Forgery(
        "crate: another author",
        text("ro-crate-metadata.json", '"@graph"', '"author": "x", "@graph"'),
        SHOWN.format("ro-crate-metadata.json"),
    ),
    Forgery("crate: other instructions", text("README.md", "snakemake", "sh x; snakemake"), SHOWN.format("README.md")),
    Forgery(
        "crate: another configuration",
        text("code/configuration.yaml", "top_k: 40", "top_k: 4"),
        SHOWN.format("code/configuration.yaml"),
    ),
    Forgery(
        "crate: other code", lambda forger: forger.replace("code/Snakefile", b"shell: rm"), SHOWN.format("ro-crate-metadata.json")
    ),
    Forgery(
        "pool: a document left out",
        text("pool/small.jsonl", "\n", "", 1),
        "not checked: files for reading: .*not compared with anything",
    ),
    Forgery("open run: another order", packed(another_row), SHOWN.format("open-runs/words/small.trec.gz")),
    Forgery(
        "open run: a second member",
        packed(lambda content: content + gzip.compress(b"q1 Q0 d1 1 9 x\n", mtime=0)),
        SHOWN.format("open-runs/words/small.trec.gz"),
    ),
    Forgery(
        "open run: a name in the header",
        packed(lambda content: content[:3] + b"\x08" + content[4:10] + b"x\0" + content[10:]),
        SHOWN.format("open-runs/words/small.trec.gz"),
    ),
    Forgery("TREC run: another order", packed(another_row, "runs/late/small.trec.gz"), "failed: runs in TREC form say the same"),
]
"""Of files for reading."""
