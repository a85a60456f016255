"""Published scores beside ours."""

from collections.abc import Iterator, Mapping
from typing import Any

from beirflow.data.catalogue.catalogue import PUBLISHED, load_catalogue
from beirflow.report.pages import SYSTEM, Cell, Notes, Table, number, number_columns
from beirflow.report.registry import table
from beirflow.report.results import Results


class Sources(Notes):
    """Lettered citations of published scores."""

    def cite(self, system: str, source: object) -> str:
        """Return the letter of a source of a system; none for an unknown source."""
        for entry in load_catalogue().published.get(system, ()):
            if entry["source"] == source:
                more = f"; {entry['note']}" if "note" in entry else ""
                return self.letter(f"{entry['citation']}; version: {entry['version']}; values: {entry['place']}{more}")
        return ""


@table("results")
def published(results: Results) -> Iterator[Table]:
    """Yield the published scores of each measure with ours, where any is comparable."""
    summary = results.summary
    for measure in (name for name in dict.fromkeys((*results.main_measures, *PUBLISHED)) if f"published_{name}" in summary):
        compared, sources = summary[summary[f"published_{measure}"].notna()], Sources()
        if compared.empty:
            continue
        datasets, rows = list(compared["dataset"].unique()), []
        for system, part in compared.groupby("system", sort=False):
            by_dataset: dict[str, Mapping[Any, Any]] = {row["dataset"]: row for row in part.to_dict("records")}
            cells = [_published(by_dataset.get(name), str(system), measure, sources) for name in datasets]
            rows.append([Cell(str(system)), *cells])
        columns = [SYSTEM, *number_columns(datasets)]
        caption = f"Published {measure}, ours as the source evaluates, and ours; columns sort by the second minus the first"
        yield Table("", f"{measure}: published scores", caption, columns, rows, close=True, notes=sources.lines())


def _published(row: Mapping[Any, Any] | None, system: str, measure: str, sources: Sources) -> Cell:
    if row is None:
        return Cell("")
    values = [row[name] for name in (f"published_{measure}", f"as_source_{measure}", measure)]
    note = sources.cite(system, row[f"source_{measure}"])
    return Cell("\n".join(number(value).text for value in values), float(values[1] - values[0]), note=note)
