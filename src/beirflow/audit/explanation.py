"""Explanation of the difference between a result and published ones: possible causes from records, and measured conventions.

The same run is evaluated under other conventions, one at a time: the table shows how far each alone moves the result, and whether
that leads to the published score.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.audit.anserini_scores import as_read
from beirflow.config.main_measure import PUBLISHED
from beirflow.core.errors import DataError
from beirflow.core.layout import record_of
from beirflow.core.records import Job, output_digest, read_json
from beirflow.data.catalogue.catalogue import load_catalogue, tolerance
from beirflow.data.corpus_files import Documents, read_table
from beirflow.evaluation.extra_judgements import read_extra, with_extra
from beirflow.evaluation.measures import measure
from beirflow.evaluation.scores import read_means
from beirflow.evaluation.systems import SettingValue, in_words, settings_and_origins
from beirflow.ranking.run_file import RUN, read_run
from beirflow.report.pages import Cell, Column, Table, counted, number, words, write_page

CUTOFFS = (10, 100)  # those of PUBLISHED

OTHER_NAMES = {
    "NDCG@10": ("gains of 2^grade − 1 (NDCG_exp@10)", "NDCG_exp@10"),
    "Recall@100": ("recall of at most 100 documents (R_cap@100)", "R_cap@100"),
}
"""By measure, another one that some sources print under the same name: description, and our name."""

SETTINGS = [words("setting"), words("value", "prose"), words("source")]
LED = " with: "  # before the conventions that lead to a published score

CAVEAT = "A convention that leads to a published score need not be that of its source: compare the note and place of the source."

SELF_MATCH = 1e30  # score above those of a run

Means = Mapping[str, float]


def explain(
    *,
    run_path: str,
    qrels_path: str,
    documents_path: str,
    means_path: str,
    settings: Mapping[str, Any],
    page_path: str,
    job: Job,
    extra_path: str | None = None,
) -> str:
    """Write the page on the difference between a result and the published scores.

    The run is beside its record; ``settings`` has ``family`` and settings of the system, and ``extra_path`` is a file of
    further judgements, if there is one. Returns the differences, and the conventions that lead to a published score, for the
    terminal. Raises DataError without a published score of this system on this dataset, or if a file does not match its record.
    """
    means, run_record_path = read_means(means_path), str(record_of(run_path))
    run_record = read_json(run_record_path)
    run = read_run(run_path, output_digest(run_record, run_path), run_record_path)
    system, dataset, precisions = means["system"], means["dataset"], means.get("precisions", [])
    sources = [source for source in load_catalogue().published.get(system, ()) if dataset in source["scores"]]
    if not sources:
        raise DataError(f"workflow/catalogue/published.yaml has no score of {system} on {dataset}; choose another result")
    ours = {name: means["measures"][name] for name in PUBLISHED if name in means["measures"]}
    qrels = read_table(qrels_path)
    with Documents(documents_path) as file:
        documents = file.read(range(len(file.sizes)), ["doc_id", "title_bytes"])
    varied = dict(_variations(run, qrels, _own_documents(run, documents)))
    if extra_path:
        varied |= _other_judgements(run.to_pandas(), qrels, extra_path)
    for name, (how, other) in OTHER_NAMES.items():
        varied[how] = {name: means["measures"][other]} if other in means["measures"] else {}
    sentences = [
        sentence
        for source in sources
        for sentence in _differences(ours, varied, source, means, tolerance(source["decimals"], precisions))
    ]
    if any(LED in sentence for sentence in sentences):
        sentences.append(CAVEAT)
    values = {
        "title": f"{system} on {dataset}: measured and published",
        "sentences": sentences,
        "tables": [_published_table(ours, sources, dataset, precisions), _varied_table(ours, varied, run)],
        "known": list(_known(means, documents, run_record.get("made"), extra_path)),
        "sources": [
            f"{source['source']}: {'; '.join(source[key] for key in ('citation', 'version', 'place', 'note') if key in source)}"
            for source in sources
        ],
        "settings": _settings_table(settings_and_origins(settings, [run_record], job.results)),
    }
    write_page("explanation.html.j2", page_path, values)
    return "\n".join([*sentences, f"The page: {page_path}"])


def _settings_table(settings: Iterable[SettingValue]) -> Table:
    rows = [list(map(Cell, (each.setting, in_words(each.value) or "", each.said_by))) for each in settings]
    return Table("settings", "Settings", "Settings of the system and their sources", SETTINGS, rows)


def _own_documents(run: pa.Table, documents: pa.Table) -> set[str]:
    """Return the ids of queries whose document of the same id was not retrieved."""
    retrieved = run.filter(pc.equal(run["query_id"], run["doc_id"]))["query_id"]
    return set(run["query_id"].unique().to_pylist()) & set(documents["doc_id"].to_pylist()) - set(retrieved.to_pylist())


def _variations(run: pa.Table, qrels: pa.Table, own: set[str]) -> Iterator[tuple[str, Means]]:
    """Evaluate a run under other conventions; ``own`` are the ids of queries whose document of the same id was dropped."""
    table = run.select(["query_id", "doc_id", "score"]).to_pandas()
    yield "default", _means(table, qrels)
    yield "scores as Anserini writes and trec_eval 9 reads them", _means(as_read(table), qrels)
    # Ranks as scores, so that no tie is left to the ranking rule.
    by_id = table.sort_values(["query_id", "score", "doc_id"], ascending=[True, False, True], kind="stable")
    by_id["score"] = -by_id.groupby("query_id").cumcount()
    yield "ties by document id, ascending", _means(by_id, qrels)
    # Many run files have four decimals, so that close scores tie.
    yield "scores rounded to 4 decimals", _means(table.assign(score=table["score"].round(4)), qrels)
    if own:
        kept = pd.DataFrame({"query_id": sorted(own), "doc_id": sorted(own), "score": SELF_MATCH})
        yield "self matches kept, on rank 1", _means(pd.concat([table, kept]), qrels)
    judged = qrels.select(["query_id", "doc_id"]).to_pandas()
    yield "without documents that are not judged for their query", _means(table.merge(judged), qrels)
    yield "mean over queries with results only", _means(table, _of_queries(qrels, run["query_id"]))
    relevant = qrels.filter(pc.greater(qrels["score"], 0))["query_id"]
    yield "mean over queries with a relevant document only", _means(table, _of_queries(qrels, relevant))


def _other_judgements(run: pd.DataFrame, qrels: pa.Table, path: str) -> dict[str, Means]:
    """Evaluate a run with further judgements added and, if some are repeated (perhaps another version), with them alone."""
    extra = read_extra(path, qrels)
    every = with_extra(qrels, extra)
    added = every.num_rows - qrels.num_rows
    words = f"with the judgements of {path}"
    if added == extra.num_rows:
        return {f"{words} as well": _means(run, every)}
    of_both = f"which count for the {counted(extra.num_rows - added, 'pair')} of both"
    return {f"{words} as well, {of_both}": _means(run, every), f"{words} alone": _means(run, extra)}


def _of_queries(qrels: pa.Table, query_ids: pa.ChunkedArray) -> pa.Table:
    return qrels.filter(pc.is_in(qrels["query_id"], value_set=query_ids.unique()))


def _means(run: pd.DataFrame, qrels: pa.Table) -> Means:
    columns = {name: pa.array(run[name], RUN.field(name).type) for name in ("query_id", "doc_id", "score")}
    scores = measure(pa.table(columns), qrels, CUTOFFS)
    return {name: float(scores[name].mean()) for name in PUBLISHED}


def _differences(
    ours: Means, varied: Mapping[str, Means], source: Mapping[str, Any], means: Mapping[str, Any], within: float
) -> Iterator[str]:
    """Yield for each published score the difference to ours, and the conventions that alone explain it."""
    dataset = means["dataset"]
    barred = source.get("not_comparable", {}).get(dataset, {"measures": (), "reason": ""})
    if means["official_data"] is False:
        barred = {"measures": PUBLISHED, "reason": "not evaluated on the official data"}
    for name, published in zip(PUBLISHED, source["scores"][dataset], strict=False):
        if published is None or name not in ours:
            continue
        sentence = f"{name}: measured {ours[name]:.4f}, {source['source']} {published:.{source['decimals']}f}"
        if name in barred["measures"]:
            yield f"{sentence}; not comparable: {barred['reason']}"
        elif abs(ours[name] - published) <= within:
            yield f"{sentence}; equal within {within:.4f}"
        else:
            apart = {how: abs(each[name] - published) for how, each in varied.items() if name in each}
            close = sorted((how for how in apart if apart[how] <= within), key=apart.__getitem__)  # the nearest first
            led = f"equal within {within:.4f}{LED}{'; '.join(close)}" if close else "no convention below explains it alone"
            yield f"{sentence}, {ours[name] - published:+.4f}; {led}"


def _published_table(ours: Means, sources: Sequence[Mapping[str, Any]], dataset: str, precisions: Sequence[str]) -> Table:
    rows = []
    for source in sources:
        rows.append([Cell(source["source"]), Cell(source.get("precision", "not stated"))])
        for name, score in zip(PUBLISHED, [*source["scores"][dataset], None], strict=False):
            rows[-1] += _pair(score, ours.get(name), score)
    columns = list(map(words, ("source", "precision")))
    scores = [Column(label) for name in PUBLISHED for label in (name, "ours − theirs")]
    here = ", ".join(precisions) or "no model computed"
    return Table("published", "Published", f"Published scores; precision here: {here}", [*columns, *scores], rows)


def _pair(shown: float | None, value: float | None, minus: float | None) -> tuple[Cell, Cell]:
    """Return the cells of a value and of a difference."""
    return number(shown), number(None if value is None or minus is None else value - minus, "+z.4f")


def _varied_table(ours: Means, varied: Mapping[str, Means], run: pa.Table) -> Table:
    columns = [words("convention"), *(Column(label) for name in PUBLISHED for label in (name, "change"))]
    rows = [
        [Cell(how), *(cell for name in PUBLISHED for cell in _pair(means.get(name), means.get(name), ours.get(name)))]
        for how, means in varied.items()
    ]
    caption = f"The same run of {counted(run.num_rows, 'row')}, evaluated under other conventions, one at a time"
    return Table("varied", "Measured", caption, columns, rows)


def _known(
    means: Mapping[str, Any], documents: pa.Table, made: Mapping[str, Any] | None, extra_path: str | None
) -> Iterator[str]:
    """Yield what the records know that may move a result."""
    counts = means["counts"]
    official = "official data" if means["official_data"] else "not known to be the official data"
    yield f"Split {means['split']}; {official}."
    for key, value in counts.items():
        if key.startswith("truncated_"):
            whole = counts.get(key.removeprefix("truncated_"))
            share = f" of {whole:,}, {value / whole:.1%}" if whole else ""
            yield f"Truncated at the maximum length: {value:,} {key.removeprefix('truncated_')}{share}."
    yield f"Self matches dropped: {counts.get('self_matches_dropped', 0):,}."
    yield f"Judgements of documents that the corpus lacks: {counts['judgements_without_document']:,} of {counts['judgements']:,}."
    if not extra_path:
        yield "Judgements of another version: none here; name a file in extra_judgements to measure their effect."
    yield f"Queries without results: {counts['queries_without_results']:,} of {counts['queries']:,}; they score 0."
    yield from (f"Assumed: {sentence}." for sentence in means.get("assumed", ()))
    titled = f"{pc.sum(pc.greater(documents['title_bytes'], 0)).as_py() or 0:,} of {documents.num_rows:,}"
    yield f"Documents with a title: {titled}; it precedes the text, unless fields separate them."
    if made:
        yield f"Computed with: {'; '.join(f'{name} {in_words(value)}' for name, value in made.items())}."
