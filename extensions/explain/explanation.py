"""Explanation of the difference between a result and published ones: possible causes from records, and measured conventions.

The same run is evaluated under other conventions, one at a time: the table shows how far each alone moves the result, and whether
that leads to the published score.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from beirflow.core.errors import DataError
from beirflow.core.layout import record_of
from beirflow.core.records import Job, output_digest, read_json
from beirflow.data.catalogue.catalogue import PUBLISHED, Reference, load_catalogue
from beirflow.data.corpus_files import Documents, read_table
from beirflow.evaluation.conventions import differ
from beirflow.evaluation.scores import read_means
from beirflow.evaluation.systems import SettingValue, in_words, settings_and_origins
from beirflow.extensions.explain.variations import OTHER_NAMES, Means, Variations
from beirflow.ranking.run_file import read_run
from beirflow.ranking.searched import SELF_MATCHES
from beirflow.report.pages import Cell, Column, Table, counted, number, words, write_page

SETTINGS = [words("setting"), words("value", "prose"), words("source")]
LED = " with: "  # before the conventions that lead to a published score

CAVEAT = "A convention that leads to a published score need not be that of its source: compare the note and place of the source."


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
    system, dataset = means["system"], means["dataset"]
    references = load_catalogue().references(system, dataset)
    if not references:
        raise DataError(f"workflow/catalogue/published.yaml has no score of {system} on {dataset}; choose another result")
    ours = {name: means["measures"][name] for name in PUBLISHED if name in means["measures"]}
    variations = Variations(run, read_table(qrels_path), run_record.get(SELF_MATCHES, {}), list(ours))
    with Documents(documents_path) as file:
        documents = file.read(range(len(file.sizes)), ["doc_id", "title_bytes"])
    varied = dict(variations.of_the_run(_own_documents(run, documents)))
    varied |= variations.of_judgements(extra_path) if extra_path else {}
    for name, (how, other) in OTHER_NAMES.items():
        varied[how] = {name: means["measures"][other]} if other in means["measures"] else {}
    sentences = list(filter(None, (_sentence(each, means, varied) for each in references)))
    if any(LED in sentence for sentence in sentences):
        sentences.append(CAVEAT)
    values = {
        "title": f"{system} on {dataset}: measured and published",
        "sentences": sentences,
        "tables": [_published_table(references, means), _varied_table(ours, varied, run)],
        "known": list(_known(means, documents, run_record.get("made"), extra_path)),
        "sources": list(dict.fromkeys(map(_source_in_words, references))),
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


def _sentence(reference: Reference, means: Mapping[str, Any], varied: Mapping[str, Means]) -> str:
    """Return the difference of a published score to ours, and the conventions that alone explain it; empty without ours."""
    name, published, ours = reference.measure, reference.value, means["measures"].get(reference.measure)
    value = reference.ours(means)
    if value is None or ours is None:
        return ""
    sentence = f"{name}: measured {ours:.4f}"
    if differ(reference.conventions):
        sentence += f", as {reference.conventions} evaluates {value:.4f}"
    if reference.computed != name:
        sentence += f", {reference.computed}, which the source prints as {name}, {value:.4f}"
    sentence += f", {reference.source} {published:.{reference.decimals}f}"
    within = reference.tolerance(means.get("precisions", []), of_forums="forums" in means)
    if barred := "not evaluated on the official data" if means["official_data"] is False else reference.barred:
        return f"{sentence}; not comparable: {barred}"
    if abs(value - published) <= within:
        return f"{sentence}; equal within {within:.5f}"
    apart = {how: abs(each[name] - published) for how, each in varied.items() if name in each}
    close = sorted((how for how in apart if apart[how] <= within), key=apart.__getitem__)  # the nearest first
    led = f"equal within {within:.5f}{LED}{'; '.join(close)}" if close else "no convention below explains it alone"
    return f"{sentence}, {value - published:+.4f}; {led}"


def _source_in_words(reference: Reference) -> str:
    entry = reference.entry
    return f"{entry['source']}: {'; '.join(entry[key] for key in ('citation', 'version', 'place', 'note') if key in entry)}"


def _published_table(references: Sequence[Reference], means: Mapping[str, Any]) -> Table:
    rows = [
        [
            *map(Cell, (each.source, each.entry.get("precision", "not stated"), each.conventions, each.measure)),
            *map(number, (each.value, each.ours(means), means["measures"].get(each.measure))),
        ]
        for each in references
    ]
    columns = [
        *map(words, ("source", "precision", "conventions", "measure")),
        *map(Column, ("published", "as the source", "ours")),
    ]
    here = ", ".join(means.get("precisions", [])) or "no model computed"
    caption = f"Published scores, ours as the source evaluates, and ours by the ranking rule; precision here: {here}"
    return Table("published", "Published", caption, columns, rows)


def _pair(shown: float | None, value: float | None, minus: float | None) -> tuple[Cell, Cell]:
    """Return the cells of a value and of a difference."""
    return number(shown), number(None if value is None or minus is None else value - minus, "+z.4f")


def _varied_table(ours: Means, varied: Mapping[str, Means], run: pa.Table) -> Table:
    columns = [words("convention"), *(Column(label) for name in ours for label in (name, "change"))]
    rows = [
        [Cell(how), *(cell for name in ours for cell in _pair(means.get(name), means.get(name), ours.get(name)))]
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
