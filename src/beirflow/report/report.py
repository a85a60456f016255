"""The report: all measurements on one page, from the table of results down to single queries."""

import gzip
import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from beirflow.core.digests import file_digest
from beirflow.core.extensions import extensions
from beirflow.core.kinds import is_derived
from beirflow.core.layout import FIGURE_DATA, FIGURE_PDF, FIGURE_SVG, INSPECTION, MANIFEST, MATCHES, record_of
from beirflow.core.records import Job
from beirflow.evaluation.scores import most_documents
from beirflow.report.pages import TEMPLATES, Table, counted, embedded, listed, record_derived_files, write_page
from beirflow.report.registry import EMPTY, functions, registered
from beirflow.report.results import Results
from beirflow.report.tables import bibtex
from beirflow.report.verdict import verdict

MOST_NAMED = 4  # maximum number of systems that the first sentence names


def write_report(*, shared: Results, report_path: str, job: Job) -> None:
    """Write the page, and a record of it and of all derived files among the inputs."""
    sections, datasets = _sections(shared), _datasets(shared)
    heading = f"{counted(len(shared.system_names), 'system')} on {counted(len(shared.rows), 'dataset')}"
    ranked = [row[0].text for row in sections["results"]["leaderboard"][0].rows]
    manifest_path = shared.folder / MANIFEST
    values = {
        "title": f"beirflow: {heading}",
        "heading": heading,
        "verdict": verdict(shared),
        "lead": _lead(shared.system_names, datasets, shared.manifest),
        "sections": sections,
        "notes_of_extensions": [extension.note for extension in extensions() if extension.note],
        "bibtex": bibtex(shared.summary["dataset"]),
        "figures": list(filter(None, (_figure(name, shared) for name in functions("figure")))),
        "index": {
            "systems": shared.system_names,
            "ranked": [name for name in ranked if name in shared.system_names],
            "baseline": shared.baseline,
            "measure": shared.main_measure.partition("@")[0],
            "datasets": datasets,
        },
        "inspections": [(names["dataset"], _packed(path)) for path, names in shared.paths(INSPECTION).items()],
        "matches": [(names["system"], names["dataset"], _packed(path)) for path, names in shared.paths(MATCHES).items()],
        "provenance": _provenance(shared.manifest, manifest_path),
        "manifest": json.dumps(shared.manifest, indent=2, ensure_ascii=False),
    }
    write_page("report.html.j2", report_path, values, scripts=("tables.js", "pair.js", "report.js"))
    derived = [str(shared.folder / path) for path in shared.inputs or () if is_derived(path)]
    record_derived_files(
        paths=[report_path, *derived], manifest_path=str(manifest_path), record_path=str(record_of(report_path)), job=job
    )


def _sections(results: Results) -> dict[str, dict[str, list[Table]]]:
    """Return the tables by section and function; of several of a function, all but the first have a number in their name."""
    sections: dict[str, dict[str, list[Table]]] = {}
    for name, made in registered("table").items():
        tables = sections.setdefault(made.section, {})[name] = []
        for place, table in enumerate(made(results) if made.section else (), 1):
            tables.append(replace(table, name=f"{name}-table" if place == 1 else f"{name}-table-{place}"))
    return sections


def _datasets(results: Results) -> list[dict[str, Any]]:
    """Return every dataset, each followed by its forums, with all measures of all systems, and the lengths of short runs."""
    found = []
    for name in dict.fromkeys(name for row, corpora in results.rows.items() for name in (row, *corpora)):
        records = {system: results.records[system, name] for system in results.system_names}
        first = records[results.system_names[0]]
        most = {system: most_documents(record) for system, record in records.items()}
        entry = {
            "name": name,
            "split": first["split"],
            "counts": {kind: first["counts"][kind] for kind in ("documents", "queries", "judgements") if kind in first["counts"]},
            "measures": {system: record["measures"] for system, record in records.items()},
            "most": {system: documents for system, documents in most.items() if documents is not None},
        }
        found.append(entry | ({"forums": first["forums"]} if "forums" in first else {}))
    return found


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


def _figure(name: str, results: Results) -> dict[str, Any] | None:
    """Return a figure for the template, with title, texts, and links to its other files; None if nothing is drawn in it."""
    svg = results.read(FIGURE_SVG, lambda path: path, figure=name)
    if f'<g id="{EMPTY}">' in svg.read_text(encoding="utf-8"):
        return None
    texts, _, caption = (TEMPLATES / f"{name}.rst").read_text(encoding="utf-8").partition("\n\n")
    title, alt = (line.partition(": ")[2] for line in texts.splitlines())
    links = [pattern(figure=name) for pattern in (FIGURE_PDF, FIGURE_DATA) if results.has(pattern, figure=name)]
    return {**embedded(title, alt, svg), "name": name, "caption": caption.replace("``", ""), "links": links}


def _packed(path: Path) -> str:
    """Return a file as gzip in base64: a third of the size, and never markup."""
    # No time in the header, so that equal files give equal pages.
    return b64encode(gzip.compress(path.read_bytes(), compresslevel=6, mtime=0)).decode()


def _provenance(manifest: Mapping[str, Any], manifest_path: Path) -> list[tuple[str, str]]:
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
