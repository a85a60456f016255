"""Forgeries of what the newer families store, with every digest made again; models and sources are here."""

import json
import shutil
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beirflow.audit.again.for_reading import check_files_for_reading
from beirflow.audit.facts.outside import SOURCES, check_outside
from beirflow.config.load import load_experiment
from beirflow.core import layout
from beirflow.core.digests import file_digest
from beirflow.core.records import Job
from beirflow.evaluation.systems import describe_systems
from beirflow.families.expansions.files import write_expansion
from beirflow.families.late_interaction import vectors
from beirflow.families.late_interaction.vectors import TokenVectors, in_rows
from beirflow.families.postings.columns import ColumnWriter
from beirflow.families.sparse import files as weights
from beirflow.families.sparse.files import Rows
from forger import FAILED, NOT_CHECKED, PASSED, WARNING, Forger, named, put
from tiny_sparse import TERMS

ALL = 1000


def test_nothing_is_noticed_where_nobody_touched_them(families: Forger) -> None:
    assert families.noticed(ALL) == []
    assert Forger(families.results).noticed(ALL) == []


class Relevant:
    """Relevant documents, by rows of the queries and of the documents of each chunk."""

    def __init__(self, forger: Forger) -> None:
        corpus = forger.path("corpora/small")
        queries = pq.read_table(corpus / "queries.parquet")["query_id"].to_pylist()
        self.qrels = {(row["query_id"], row["doc_id"]) for row in pq.read_table(corpus / "qrels.parquet").to_pylist()}
        file = pq.ParquetFile(corpus / "documents.parquet")
        self.chunks: list[list[str]] = [
            file.read_row_group(number, ["doc_id"])["doc_id"].to_pylist() for number in range(file.metadata.num_row_groups)
        ]
        self.queries = queries

    def rivals(self, chunk: int) -> Iterator[tuple[int, int]]:
        """Rows of all queries and of the documents that are relevant to nothing."""
        relevant = {doc_id for _, doc_id in self.qrels}
        rows = [row for row, doc_id in enumerate(self.chunks[chunk]) if doc_id not in relevant]
        return product(range(len(self.queries)), rows)

    def pairs(self, chunk: int) -> Iterator[tuple[int, int]]:
        """Rows of queries and of documents."""
        ids = self.chunks[chunk]
        return ((self.queries.index(query), ids.index(doc_id)) for query, doc_id in sorted(self.qrels) if doc_id in ids)


Pairs = Callable[[Relevant, int], Iterator[tuple[int, int]]]
"""Rows of queries and documents of a chunk whose scores are moved."""


def lift_pairs(forger: Forger) -> None:
    """Relevant pairs get a little more, less than rounding may change."""
    relevant = Relevant(forger).qrels

    def lifted(pairs: Any) -> Any:
        those = [pair in relevant for pair in zip(pairs["query_id"], pairs["doc_id"], strict=True)]
        return pairs.assign(score=(pairs["score"] + np.where(those, 8e-4, 0)).astype(np.float32))

    forger.edit_table("pairs/crossed/small/block-0.parquet", lifted)


def lower_rivals(forger: Forger) -> None:
    """Documents that are relevant to nothing get a little less, at most what rounding may change."""
    relevant = {doc_id for _, doc_id in Relevant(forger).qrels}

    def lowered(pairs: Any) -> Any:
        score = pairs["score"] - np.where(pairs["doc_id"].isin(relevant), 0, 9e-4 * np.maximum(1, pairs["score"].abs()))
        return pairs.assign(score=score.astype(np.float32))

    forger.edit_table("pairs/crossed/small/block-0.parquet", lowered)


def move_tokens(forger: Forger, step: float = 1e-4, pairs: Pairs = Relevant.pairs) -> None:
    """The tokens that score best for a query to which their document is relevant are moved towards the query's."""
    folder, relevant = forger.path("tokens/tokens/small"), Relevant(forger)
    queries = in_rows(vectors.read_segments(folder / "queries.arrow"), len(relevant.queries))
    for chunk, ids in enumerate(relevant.chunks):
        path = folder / f"chunk-{chunk}.arrow"
        stored = in_rows(vectors.read_segments(path), len(ids))
        found = stored.vectors.astype(np.float64)
        for query, row in pairs(relevant, chunk):
            asked = queries.vectors[slice(*queries.starts[query : query + 2])].astype(np.float64)
            own = found[slice(*stored.starts[row : row + 2])]
            best = (asked @ own.T).argmax(axis=1)
            np.add.at(own, best, step * asked)
            own /= np.linalg.norm(own, axis=1, keepdims=True)
        path.unlink()
        with path.open("wb") as sink, vectors.SegmentWriter(sink, np.arange(len(ids))) as writer:
            writer.add(TokenVectors(stored.counts, found.astype(np.float16)))


def move_weights(forger: Forger, step: float = 9e-5, pairs: Pairs = Relevant.pairs) -> None:
    """Documents weigh the terms of the queries to which they are relevant a little more."""
    folder, relevant = forger.path("postings/masked/small"), Relevant(forger)
    asked = spread(weights.read_queries(folder / "queries.arrow", "none"))
    for chunk, ids in enumerate(relevant.chunks):
        path, found = folder / f"weights-{chunk}.arrow", np.zeros((len(ids), TERMS))
        (segment,) = weights.read_segments(path, "none")
        terms = np.repeat(segment.terms, np.diff(segment.starts))
        found[segment.rows, terms] = segment.weights
        for query, row in pairs(relevant, chunk):
            found[row] += step * np.linalg.norm(found[row]) * asked[query] / np.linalg.norm(asked[query])
        found = np.maximum(found, 0)
        rows, terms = np.nonzero(found)
        path.unlink()
        with path.open("wb") as sink, weights.SegmentWriter(sink, "none") as writer:
            writer.add(Rows.of(len(ids), rows, terms, found[rows, terms].astype(np.float32)))


def lower_rival_tokens(forger: Forger) -> None:
    """The tokens of documents that are relevant to nothing are moved away from the queries."""
    move_tokens(forger, -2e-5, Relevant.rivals)


def lower_rival_weights(forger: Forger) -> None:
    """Documents that are relevant to nothing weigh the terms of queries a little less."""
    move_weights(forger, -1e-5, Relevant.rivals)


def spread(rows: Rows) -> np.ndarray:
    found = np.zeros((len(rows.counts), TERMS))
    found[np.repeat(np.arange(len(rows.counts)), rows.counts), rows.terms] = rows.weights
    return found


AGAIN = (
    "pairs scored again have the stored scores",
    "documents encoded again have the stored vectors",
    "documents weighed again have the stored weights",
)


@pytest.mark.parametrize(
    "forged",
    [(lift_pairs, move_tokens, move_weights), (lower_rivals, lower_rival_tokens, lower_rival_weights)],
    ids=["more", "less"],
)
def test_no_tolerance_has_room_for_scores_that_move_towards_what_is_relevant(families: Forger, forged: Any) -> None:
    for forge in forged:
        forge(families)
    families.digest_summary_again()
    found = {check.name: check.found for check in families.failed(ALL) if check.name in AGAIN}
    assert {name: "all in one direction" in found.get(name, "") for name in AGAIN} == dict.fromkeys(AGAIN, True), found


def test_a_score_of_late_interaction_that_moved_by_one_bit_is_found(families: Forger) -> None:
    """Searches sum in float64: a score one step higher could put a relevant document before others with the same text."""
    run = "runs/tokens/small.parquet"
    families.edit_table(run, lambda rows: rows.assign(score=np.nextafter(rows["score"].to_numpy(), np.float32(np.inf))))
    families.evaluate_again("tokens", "small")
    found = named(families.failed(ALL), run)
    assert [check.name for check in found] == ["queries searched again have the recorded ranks"]


def test_another_number_of_cut_texts_is_found_by_a_sample(families: Forger) -> None:
    """It stands in the summary, and everything above the records of the representations repeats it."""
    kinds = {}
    for path in sorted(families.results.rglob("*.json")):
        name = path.relative_to(families.results).as_posix()
        counts = (
            families.read(name).get("counts", {}) if name.startswith(("embeddings/", "postings/", "tokens/", "pairs/")) else {}
        )
        for key in {"truncated_documents", "truncated_pairs"} & counts.keys():
            families.edit(name, put("counts", key, value=0 if counts[key] else 1))
            kinds[name.partition("/")[0]] = key
    families.digest_again()
    checks = families.checks(ALL)
    for what in ("documents", "pairs"):
        cut = [check.status for check in checks if check.name == f"as many {what} are cut as recorded"]
        assert set(cut) == {FAILED}, what
    assert {"pairs": "truncated_pairs"}.items() <= kinds.items()
    assert len(kinds) >= 3


def test_statistics_of_postings_that_were_deleted_are_compared_if_all_documents_are_analysed(families: Forger) -> None:
    """Of a term in no query, so that no score follows from them."""
    record = layout.STATISTICS_RECORD(analyzer="lucene-english", dataset="small")
    path = layout.STATISTICS(analyzer="lucene-english", dataset="small")
    queries = " ".join(pq.read_table(families.path("corpora/small/queries.parquet"))["text"].to_pylist())
    for chunk in families.path(path).parent.glob("chunk-*.arrow"):
        chunk.unlink()
    assert families.failed(ALL) == []

    def more(table: Any) -> Any:
        unused = next(row for row, term in enumerate(table["term"]) if term not in queries and table["contents"][row] > 1)
        return table.assign(contents=[each - (row == unused) for row, each in enumerate(table["contents"])])

    families.edit_table(path, more)
    families.digest_again()
    assert families.path(record).is_file()
    found = {check.name: check.found for check in families.failed(ALL)}
    assert path in found["hits analysed again have the recorded scores"]


def test_a_file_that_is_another_now_is_found(families: Forger, tmp_path: Path) -> None:
    source = tmp_path / "small.jsonl"
    config = json.loads(json.dumps(families.experiment.config["custom"]))
    given = Path(config["systems"]["expanded"]["expansion"]["path"].replace("{dataset}", "small"))
    source.write_text(given.read_text().replace("w", "v"))
    config["systems"]["expanded"]["expansion"]["path"] = str(tmp_path / "{dataset}.jsonl")
    other = load_experiment({**families.experiment.config, "custom": config, "systems": ["expanded"]})
    (found,) = Forger(families.results, other).failed()
    assert (found.name, file_digest(source) in found.found) == ("expansions are those of their files", True)


def test_an_expansion_from_two_versions_of_a_file_is_found_without_the_file(families: Forger) -> None:
    (path,) = families.results.glob("expansions/*/small/chunk-1.json")
    name = path.relative_to(families.results).as_posix()
    families.edit(name, expansion_source_sha256="0" * 64)
    families.digest_summary_again()
    custom = {**families.experiment.config["custom"], "systems": {}}
    elsewhere = load_experiment({**families.experiment.config, "custom": custom, "systems": ["bm25"]})
    found = [check for check in Forger(families.results, elsewhere).failed() if name in check.found]
    assert [(check.name, "0" * 64 in check.found) for check in found] == [("records say the same", True)]


def moved_to(families: Forger, folder: Path) -> Forger:
    """The same results, where another machine has sources and models in other places."""
    custom = json.dumps(families.experiment.config["custom"])
    place = Path(json.loads(custom)["datasets"]["small"]["path"]).parent
    shutil.copytree(place, folder, ignore=shutil.ignore_patterns("results"))
    config = {**families.experiment.config, "custom": json.loads(custom.replace(str(place), str(folder)))}
    return Forger(families.results, load_experiment(config))


def test_another_machine_has_models_runs_and_expansions_elsewhere(families: Forger, tmp_path: Path) -> None:
    checks = moved_to(families, tmp_path / "elsewhere").checks(ALL)
    assert [check for check in checks if check.status in (FAILED, WARNING) and "code" not in check.name.split()] == []
    assert {check.name for check in checks if check.status == NOT_CHECKED and "not here" in check.found} == set()


def test_a_run_on_a_dataset_that_is_not_known_here_is_not_checked(families: Forger) -> None:
    custom = families.experiment.config["custom"]
    known = {"systems": {"theirs": custom["systems"]["theirs"]}, "datasets": {"other": custom["datasets"]["small"]}}
    config = {"systems": ["bm25"], "datasets": ["other"], "custom": known}
    assert Forger(families.results, load_experiment(config)).noticed() == []


def test_runs_that_are_made_of_others_keep_self_matches_where_these_do(families: Forger) -> None:
    """Their records count none; an audit of right results failed wherever a dataset keeps them, as several of BEIR's do."""
    config = json.loads(json.dumps(families.experiment.config))
    config["custom"]["datasets"]["small"]["drop_self_matches"] = False
    families.edit("manifest.json", put("configuration", "custom", value=config["custom"]))
    families.edit("manifest.json", put("datasets", "small", 0, "drop_self_matches", value=False))
    for system in families.experiment.chosen_systems:
        families.edit(f"runs/{system}/small.json", put("settings", "dataset", "drop_self_matches", value=False))
    families.digest_summary_again()
    assert Forger(families.results, load_experiment(config)).noticed() == []


@pytest.mark.parametrize(("keys", "value"), [(("tuned", "queries_left_out"), 0), (("tuned", "measure"), "MAP@10")])
def test_what_tuning_left_out_and_maximised_is_compared(families: Forger, keys: tuple[str, ...], value: Any) -> None:
    families.edit("runs/fused/small.json", put(*keys, value=value))
    families.digest_summary_again()
    (found,) = families.failed()
    assert "those whose text is not evaluated, by NDCG@10" in found.expected


def test_a_comparison_with_other_results_is_listed_as_not_compared(families: Forger) -> None:
    families.replace("comparison.html", b"<p>Reproduced in every digit.")
    checks = check_files_for_reading(families.followed())
    listed = [check for check in checks if check.status == NOT_CHECKED and "comparison.html" in check.files]
    assert [check.name for check in listed] == ["files for reading"]


def test_the_table_of_systems_is_made_again_where_one_was_tuned(families: Forger) -> None:
    """Its run names the corpus that it was tuned on, which was not looked for, so that nothing was compared."""
    experiment, table = families.experiment, families.path("systems.csv")
    settings = {name: experiment.described(name) for name in experiment.chosen_systems}
    records = [str(families.path(f"runs/{name}/small.json")) for name in experiment.chosen_systems]
    describe_systems(systems=settings, record_paths=records, systems_path=str(table), job=Job(families.results))
    assert [check.status for check in named(check_files_for_reading(families.followed()), "systems.csv")] == [PASSED]
    families.replace("systems.csv", table.read_bytes().replace(b"min-max", b"z-score"))
    (found,) = named(check_files_for_reading(families.followed()), "systems.csv")
    assert found.status in (FAILED, WARNING)  # by the code's commit


def test_every_family_ranks_candidates_only(families: Forger) -> None:
    corpus = families.path("corpora/small")
    queries = pq.read_table(corpus / "queries.parquet").to_pandas().set_index("query_id")
    systems = json.loads(families.path("manifest.json").read_text())["systems"]
    for system in systems:
        run = pq.read_table(families.path(f"runs/{system}/small.parquet"))
        for query, ids in run.to_pandas().groupby("query_id")["doc_id"]:
            expected = set(queries.loc[query, "candidate_ids"]) - set(queries.loc[query, "excluded_ids"])
            assert set(ids) <= expected, system
            if system in ("tokens", "candidates"):
                assert [*ids] == [each for each in queries.loc[query, "candidate_ids"] if each in {*ids}] or system == "tokens"
                assert set(ids) == expected - {"nowhere"}, system
    means = json.loads(families.path("metrics/candidates/small.json").read_text())["measures"]
    assert {"p-MRR@20", "alpha-nDCG@10", "coverage@20"} <= means.keys()
    assert not any(name.startswith("robustness") for name in means)


STATED = [
    *(("queries", column) for column in ("candidate_ids", "excluded_ids")),
    *(("qrels", column) for column in ("topic_id", "changed", "nuggets")),
]


def test_what_queries_state_is_compared_with_their_source(families: Forger) -> None:
    chain = families.followed()
    for file, column in STATED:
        name = f"corpora/small/{file}.parquet"
        honest, table = families.path(name).read_bytes(), pq.read_table(families.path(name))
        turned = table[column].combine_chunks().take(pa.array(range(len(table))[::-1]))
        place = table.column_names.index(column)
        families.path(name).unlink()
        pq.write_table(table.set_column(place, table.schema.field(place), turned), families.path(name))
        failed = [check for check in check_outside(chain) if check.status == FAILED]
        assert [(check.name, check.files) for check in failed] == [(SOURCES, (name,))], column
        families.replace(name, honest)
    assert [check for check in check_outside(chain) if check.status == FAILED] == []


def lucenes_order(rows: Any) -> Any:
    """As an older version wrote runs."""
    rows = rows.sort_values(["query_id", "score", "doc_id"], ascending=[True, False, True], ignore_index=True)
    return rows.assign(rank=(rows.groupby("query_id").cumcount() + 1).astype(np.int32))


def add_words_of_queries(forger: Forger, path: Path) -> None:
    """Add the words of queries to the documents that are relevant to them; the record names the real file."""
    table = pq.read_table(path).to_pydict()
    for _, row in Relevant(forger).pairs(1):
        table["queries"][row] = [*table["queries"][row], "the words of a query"]
    path.unlink()
    write_expansion(path, "queries", list(zip(*[[each] for each in table.values()], strict=True)))


def fill_memory(forger: Forger) -> None:
    """Put small files that unpack to more than memory in the place of columns and a table."""
    bomb = forger.results / "bomb"
    with bomb.open("wb") as sink, ColumnWriter(sink, {}) as writer:
        writer.write({"counts": np.zeros(1 << 27, np.uint8)})
    for name in (TOKENS, POSTINGS):
        forger.replace(name, bomb.read_bytes())
    bomb.unlink()
    rows = pq.read_table(forger.path(PAIRS)).slice(0, 1).take(pa.array(np.zeros(1 << 21, np.int64)))
    forger.path(PAIRS).unlink()
    pq.write_table(rows, forger.path(PAIRS), compression="zstd")


TOKENS, POSTINGS = "tokens/tokens/small/chunk-1.arrow", "postings/lucene-english/small/chunk-0.arrow"
PAIRS = "pairs/crossed/small/block-0.parquet"

SAYS = {
    "runs/tokens/small.json": "ties ascending",
    "runs/words/small.json": "ties descending",
    "runs/words/small.parquet": "is out of order",
    "runs/expanded/small.parquet": "not its candidates",
    "runs/theirs/small.parquet": "queries read again have the recorded ranks",
    "runs/theirs/small.json": "a file as source_sha256",
    "metrics/masked/small.parquet": "for p-MRR@",
    "expansions/*/small/chunk-0.json": "says kind weights",
    "expansions/*/small/chunk-1.json": "a file as expansion_source_sha256",
    "expansions/*/small/chunk-1.parquet": "expansions are those of their files: ",
    TOKENS: "unpack to more than",
    POSTINGS: "unpack to more than",
    PAIRS: "would unpack to 2,097,152 rows",
}
"""By pattern of a file that is forged, what the audit says of it."""


def test_forgeries_of_files_of_every_family_are_found(families: Forger) -> None:
    families.edit("runs/tokens/small.json", ties="ascending")
    families.edit("runs/words/small.json", ties="descending")
    families.edit_table("runs/words/small.parquet", lucenes_order)
    families.edit_table("runs/expanded/small.parquet", lambda rows: rows.assign(doc_id=["d044", *rows["doc_id"][1:]]))
    families.edit_table("runs/theirs/small.parquet", lambda rows: rows.assign(score=(rows["score"] + 1).astype(np.float32)))
    families.edit("runs/theirs/small.json", lambda record: record.pop("source_sha256"))
    families.edit_table("metrics/masked/small.parquet", lambda rows: rows.assign(**{"p-MRR@10": rows["p-MRR@10"] + 0.1}))
    (given,) = (path.relative_to(families.results) for path in families.results.glob("expansions/*/small"))
    families.edit(f"{given}/chunk-0.json", kind="weights")
    families.edit(f"{given}/chunk-1.json", lambda record: record.pop("expansion_source_sha256"))
    add_words_of_queries(families, families.path(f"{given}/chunk-1.parquet"))
    fill_memory(families)
    families.digest_again()
    failed = families.failed(2)
    names = {name: str(next(families.results.glob(name)).relative_to(families.results)) for name in SAYS}
    found = {key: [f"{check.name}: {check.found}" for check in named(failed, name)] for key, name in names.items()}
    assert {key: found[key] for key, says in SAYS.items() if not any(says in text for text in found[key])} == {}
