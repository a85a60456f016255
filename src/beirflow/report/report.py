"""The report: all measurements on one page, from the table of results down to single queries."""

import gzip
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from beirflow.core.csv_files import read_named_csv
from beirflow.core.digests import file_digest
from beirflow.core.extensions import extensions
from beirflow.core.layout import MANIFEST, record_of
from beirflow.core.records import Job, read_json
from beirflow.evaluation.scores import most_documents
from beirflow.report import leaderboard as boards
from beirflow.report import tables
from beirflow.report.pages import counted, embedded, listed, record_derived_files, write_page
from beirflow.report.registry import FIGURES, TEMPLATES
from beirflow.run.by_name import by_name

NOTHING: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
MOST_NAMED = 4  # maximum number of systems that the first sentence names


@dataclass(frozen=True)
class ReportFiles:
    """Files that a report shows, and other derived files, which its record names.

    ``means_paths`` are of every system on every dataset and every forum, some named twice; next to each SVG of ``figure_paths``
    is its PDF; ``matches_paths`` are those of some systems on every corpus.
    """

    summary_path: str
    means_paths: Sequence[str]
    inspection_paths: Sequence[str]
    comparison_path: str
    uncertainty_path: str
    nanobeir_path: str
    costs_path: str
    systems_path: str
    figure_paths: Sequence[str]
    manifest_path: str
    matches_paths: Sequence[str] = ()
    other_paths: Sequence[str] = ()
    references_path: str | None = None


def write_report(
    *, files: ReportFiles, report_path: str, baseline: str, additions: Mapping[str, Mapping[str, Any]] = NOTHING, job: Job
) -> None:
    """Write the page, and a record of it and of all other derived files.

    ``additions`` has the names of functions that return a further table of costs, or None, and a note; with their arguments
    besides the costs.
    """
    summary = read_named_csv(files.summary_path)
    means = [read_json(path) for path in dict.fromkeys(files.means_paths)]
    manifest = read_json(files.manifest_path)
    settings, costs = read_named_csv(files.systems_path), read_named_csv(files.costs_path)
    systems, sources = list(dict.fromkeys(record["system"] for record in means)), tables.Sources()
    comparison, measures = read_named_csv(files.comparison_path), tables.main_measures(summary)
    uncertainty, nanobeir = read_named_csv(files.uncertainty_path), read_named_csv(files.nanobeir_path)
    marks = {measure: boards.significance_marks(comparison, measure, baseline) for measure in measures}
    published = [boards.published_table(summary, measure, sources) for measure in measures]
    datasets = _datasets(means)
    references = read_named_csv(files.references_path) if files.references_path else None
    rows = summary[summary["split"].notna()]["dataset"].nunique()
    results = []
    for measure in measures:
        results += [boards.leaderboard(summary, measure, marks[measure], references)]
        results += filter(None, [boards.ranks_table(uncertainty, measure), boards.nanobeir_table(nanobeir, measure)])
    results += [own] if (own := boards.own_leaderboard(summary, measures[0])) else []
    heading = f"{counted(len(systems), 'system')} on {counted(rows, 'dataset')}"
    values = {
        "title": f"beirflow: {heading}",
        "heading": heading,
        "lead": _lead(systems, datasets, manifest),
        "results": results,
        "notes": boards.notes(summary, any(marks.values()), baseline, uncertainty, references),
        "kinds": boards.kind_tables(summary, measures[0]),
        "published": list(filter(None, published)),
        "sources": sources.lines(),
        "holes": tables.holes_table(summary),
        "systems": tables.systems_table(settings),
        "settings": tables.settings_table(settings),
        "datasets": tables.datasets_table(summary),
        "notes_of_extensions": [extension.note for extension in extensions() if extension.note],
        "bibtex": tables.bibtex(summary["dataset"]),
        "significance": tables.significance_table(comparison),
        "uncertainty": boards.uncertainty_table(uncertainty),
        "cost": tables.cost_table(costs),
        "beside_cost": [by_name(name)(costs, **values) for name, values in additions.items()],
        "figures": [_figure(Path(path), Path(report_path).parent) for path in files.figure_paths],
        "index": {
            "systems": systems,
            "ranked": [row[0].text for row in results[0].rows if row[0].text in systems],
            "baseline": baseline,
            "measure": measures[0].partition("@")[0],
            "datasets": datasets,
        },
        "inspections": [(Path(path).stem, _packed(path)) for path in files.inspection_paths],
        "matches": [(Path(path).parent.name, Path(path).stem, _packed(path)) for path in files.matches_paths],
        "provenance": _provenance(manifest, files.manifest_path),
        "manifest": json.dumps(manifest, indent=2, ensure_ascii=False),
    }
    write_page("report.html.j2", report_path, values, scripts=("tables.js", "pair.js", "report.js"))
    data = files.comparison_path, files.uncertainty_path, files.nanobeir_path, files.costs_path, files.systems_path
    shown = [*files.inspection_paths, *files.matches_paths, *data, *files.figure_paths]
    record_path = str(record_of(report_path))
    written = [report_path, *shown, *files.other_paths, *filter(None, [files.references_path])]
    record_derived_files(paths=written, manifest_path=files.manifest_path, record_path=record_path, job=job)


def _datasets(means: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return every dataset, each followed by its forums, with all measures of all systems, and the lengths of short runs."""
    datasets: dict[str, dict[str, Any]] = {}
    for record in means:
        kept = {name: record["counts"][name] for name in ("documents", "queries", "judgements") if name in record["counts"]}
        entry = {"name": record["dataset"], "split": record["split"], "counts": kept, "measures": {}, "most": {}}
        entry |= {"forums": record["forums"]} if "forums" in record else {}
        entry = datasets.setdefault(record["dataset"], entry)
        entry["measures"][record["system"]] = record["measures"]
        if (most := most_documents(record)) is not None:
            entry["most"][record["system"]] = most
    of_a_row = {forum for entry in datasets.values() for forum in entry.get("forums", ())}
    rows = [entry for name, entry in datasets.items() if name not in of_a_row]
    return [datasets[name] for entry in rows for name in (entry["name"], *entry.get("forums", ()))]


def _lead(systems: Sequence[str], datasets: Sequence[Mapping[str, Any]], manifest: Mapping[str, Any]) -> str:
    """Return the first sentence of the page: the systems, the size of the data and the date."""
    corpora = [entry for entry in datasets if "forums" not in entry]
    documents, queries = (sum(entry["counts"][key] for entry in corpora) for key in ("documents", "queries"))
    size = f"{counted(documents, 'document')} and {counted(queries, 'judged query', 'judged queries')}"
    data = f"{counted(len(corpora), 'corpus', 'corpora')} with {size}"
    named = listed(systems) if len(systems) <= MOST_NAMED else counted(len(systems), "system")
    parts = [entry["name"] for entry in corpora if re.search(r"\.(documents|sample)-", entry["name"])]
    sampled = f" Samples, not whole datasets: {listed(parts)}." if parts else ""
    return f"Retrieval quality of {named} on {data}.{sampled} Generated {manifest['written'].partition('T')[0]}."


def _figure(path: Path, folder: Path) -> dict[str, Any]:
    """Return a figure for the template, with its caption and links to its other files."""
    figure = FIGURES[path.stem]
    caption = (TEMPLATES / f"{path.stem}.rst").read_text(encoding="utf-8").replace("``", "")
    others = [path.with_suffix(".pdf"), *([path.with_name(f"{figure.table}.csv")] if figure.table else [])]
    links = [other.relative_to(folder).as_posix() for other in others if other.is_relative_to(folder)]
    return {**embedded(figure, path), "caption": caption, "links": links}


def _packed(path: str) -> str:
    """Return a file as gzip in base64: a third of the size, and never markup."""
    # No time in the header, so that equal files give equal pages.
    return b64encode(gzip.compress(Path(path).read_bytes(), compresslevel=6, mtime=0)).decode()


def _provenance(manifest: Mapping[str, Any], manifest_path: str) -> list[tuple[str, str]]:
    """Return the main fields of the manifest, and its digest."""
    repository, environment = manifest["repository"], manifest["environment"]
    clean = {True: "clean", False: "with uncommitted changes", None: "unknown whether clean"}
    packages = ", ".join(f"{name} {version}" for name, version in environment["packages"].items() if version)
    return [
        ("Written", manifest["written"]),
        (
            "Code",
            f"commit {repository['commit']}, {clean[repository['clean']]}" if repository["commit"] else "commit unknown",
        ),
        ("Python", f"{environment['python']} on {environment['platform']}"),
        ("Packages", packages),
        (str(MANIFEST), f"sha256 {file_digest(manifest_path)}; its digests lead to every other file"),
    ]
