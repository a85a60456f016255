"""Results in a folder as frames: for notebooks and scripts, and for the jobs that make tables, figures and pages of them."""

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from os import PathLike
from os.path import relpath
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.config.main_measure import TABULATED
from beirflow.core import layout
from beirflow.core.csv_files import read_named_csv
from beirflow.core.errors import DataError
from beirflow.core.patterns import Pattern
from beirflow.core.records import output_digest, read_json
from beirflow.core.verified import reading
from beirflow.data.catalogue.schema import nearest
from beirflow.data.corpus_files import read_table
from beirflow.evaluation.scores import long_form, read_means, read_per_query
from beirflow.evaluation.summary import trained
from beirflow.ranking.run_file import read_run
from beirflow.report.analysis.document_scan import query_texts, texts_of
from beirflow.report.analysis.lengths import Lengths, added_up, by_name

MOST_NAMES = 8  # maximum number of names in a message


Means = Mapping[tuple[str, str], Mapping[str, float]]  # by system and dataset, the measures

Blocks = Sequence[Sequence[str]]
"""Datasets whose ranks are averaged, grouped by corpus, without those that any compared system was trained on."""


def _read_csv(path: Path) -> pd.DataFrame:
    return read_named_csv(str(path))


def _csv(pattern: Pattern) -> cached_property[pd.DataFrame]:
    """Return the attribute of a CSV."""
    return cached_property(lambda results: results.read(pattern, _read_csv))


class Results:
    """A folder of results, read only.

    A frame is read when it is first used, and then kept; for newer results, open the folder again. Metrics and runs are compared
    with the digests in their records. ``docs/files.md`` describes the columns of the tables.

    Args:
        folder: The folder that the workflow writes, ``results`` by default.
        baseline: The system that others are compared with; by default that of the configuration.
        main_measure: By which systems are ranked; by default that of the summary.
        input_paths: The files that a job may read, its inputs; by default all in the folder.
        rows: The corpora of every dataset; by default the forums of each, or the dataset itself.
        blocks: The datasets of average ranks, see :data:`Blocks`; by default those of the configuration.

    Raises:
        DataError: The folder has no results, or those of another format; or, from an attribute, the file behind it was changed
            after it was written, or is missing, with the command that makes it.

    Example:
        >>> results = beirflow.Results("results")
        >>> results.means["NDCG@10"].unstack("system")
        >>> results.hits("bm25", "scifact", k=10, texts=True)
    """

    def __init__(
        self,
        folder: str | PathLike[str] = "results",
        *,
        baseline: str = "",
        main_measure: str = "",
        input_paths: Sequence[str] | None = None,
        rows: Mapping[str, Sequence[str]] | None = None,
        blocks: Blocks | None = None,
    ) -> None:
        self.folder = Path(folder).expanduser()
        self.inputs = None if input_paths is None else {Path(relpath(path, folder)).as_posix(): None for path in input_paths}
        given = {"baseline": baseline, "main_measure": main_measure, "rows": rows, "blocks": blocks}
        vars(self).update({name: value for name, value in given.items() if value not in ("", None)})  # in place of properties
        if self.inputs is not None:
            return
        if not (self.folder / layout.SUMMARY).is_file() and not self.paths(layout.METRICS):
            expected = f"expected a folder of results, with {layout.SUMMARY} or {layout.METRICS}"
            raise DataError(f"{self.folder}: {expected}; found {_content(self.folder)}")
        if self.has(layout.MANIFEST):
            _ = self.manifest  # tables state no format of their own

    def __repr__(self) -> str:
        pairs = self.paths(layout.METRICS)
        systems, datasets = (sorted({each[key] for each in pairs.values()}) for key in ("system", "dataset"))
        return f"Results({str(self.folder)!r}): {_some(systems, 'systems')}; {_some(datasets, 'datasets')}"

    @cached_property
    def records(self) -> dict[tuple[str, str], dict[str, Any]]:
        """The record of the means of every system on every dataset and forum, by both names."""
        found = (read_means(str(path)) for path in self.paths(layout.METRICS))
        return {(each["system"], each["dataset"]): each for each in found}

    @cached_property
    def means(self) -> pd.DataFrame:
        """Every measure of every system on every dataset: index ``system`` and ``dataset``, a float64 column a measure.

        A dataset of forums has the mean of its forums, which have rows of their own.
        """
        index = pd.MultiIndex.from_tuples([*self.records], names=["system", "dataset"])
        return pd.DataFrame([each["measures"] for each in self.records.values()], index=index, dtype=float)

    @cached_property
    def measures(self) -> Means:
        """The same by system and dataset, without forums that are no datasets of their own."""
        return {key: each["measures"] for key, each in self.records.items() if key[1] in self.rows}

    @cached_property
    def rows(self) -> Mapping[str, Sequence[str]]:
        """The corpora of every dataset of the summary: its forums, or itself."""
        datasets, first = self.summary[self.summary["split"].notna()]["dataset"].unique(), self.system_names[0]
        return {name: self.records[first, name].get("forums", [name]) for name in datasets}

    @cached_property
    def system_names(self) -> list[str]:
        """Names of all systems of the summary; without one, of all that were evaluated."""
        names = self.summary["system"] if self.has(layout.SUMMARY) else (system for system, _ in self.records)
        return list(dict.fromkeys(names))

    @cached_property
    def baseline(self) -> str:
        """Name of the system that others are compared with."""
        return str(self.manifest["configuration"].get("baseline") or self.system_names[0])

    @cached_property
    def main_measure(self) -> str:
        """Name of the measure by which systems are ranked: the first of the summary."""
        return self.main_measures[0]

    @cached_property
    def main_measures(self) -> list[str]:
        """Names of the measures with tables of their own: the main one first."""
        return main_measures(self.summary)

    @cached_property
    def blocks(self) -> Blocks:
        """Datasets whose ranks are averaged, see :data:`Blocks`."""
        seen, by_texts = {dataset for _, dataset in trained(self.summary)}, dict[str, list[str]]()
        for row, corpora in self.manifest["datasets"].items():
            if row not in seen:
                texts = corpora[0]["shares_texts_with"] or corpora[0]["part_of"] or corpora[0]["row"]
                by_texts.setdefault(texts, []).append(row)
        return list(by_texts.values())

    @cached_property
    def scores(self) -> pd.DataFrame:
        """Every measure of every query: ``system``, ``dataset``, ``query``, ``measure``, categories, and ``value``, float64."""
        paths = {path: self.folder / layout.METRICS(**names) for path, names in self.paths(layout.PER_QUERY).items()}
        if paths:
            tables = [long_form(*read_per_query(str(means), str(path))) for path, means in paths.items()]
            table = pa.concat_tables(tables)
        else:
            table = self.read(layout.SCORES, pq.read_table)
        frame: pd.DataFrame = table.unify_dictionaries().to_pandas()
        return frame.rename(columns={"query_id": "query"})

    summary = _csv(layout.SUMMARY)
    """``summary.csv``: the shown measures of every system on every dataset, published scores, and averages."""

    significance = _csv(layout.SIGNIFICANCE)
    """``significance.csv``: every two systems on every dataset, with interval, p and effect size."""

    uncertainty = _csv(layout.UNCERTAINTY)
    """``uncertainty.csv``: intervals of means and ranks."""

    costs = _csv(layout.COST)
    """``cost.csv``: seconds, memory and bytes of every system on every dataset."""

    systems = _csv(layout.SYSTEMS)
    """``systems.csv``: every setting of every system, with its source."""

    @cached_property
    def references(self) -> pd.DataFrame | None:
        """``references.csv``: unverified results of others; None without any."""
        return self.read(layout.REFERENCES, _read_csv) if self.has(layout.REFERENCES) else None

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """``manifest.json``: configuration, code, environment and digests."""
        return self.read(layout.MANIFEST, read_json)

    @cached_property
    def per_query(self) -> dict[tuple[str, str], np.ndarray]:
        """Main measure of every query by system and dataset, of all forums together, float64."""
        of_corpus = {}
        for path, names in self.paths(layout.PER_QUERY).items():
            means = self.folder / layout.METRICS(**names)
            _, table = read_per_query(str(means), str(path), [self.main_measure])
            of_corpus[names["system"], names["dataset"]] = table[0].to_numpy()
        return {
            (system, row): np.concatenate([of_corpus[system, corpus] for corpus in corpora])
            for system in self.system_names
            for row, corpora in self.rows.items()
        }

    @cached_property
    def lengths(self) -> dict[str, Lengths]:
        """Lengths in words by dataset, of all documents, of the relevant ones and of the first hits of every system."""
        found = map(read_json, self.paths(layout.INSPECTION))
        of_corpus = {each["dataset"]: by_name(each["lengths"]) for each in found}
        return {row: added_up([of_corpus[corpus] for corpus in corpora]) for row, corpora in self.rows.items()}

    def hits(self, system: str, dataset: str, k: int | None = None, *, texts: bool = False) -> pd.DataFrame:
        """Read the run of a system on a dataset, or on one of its forums.

        Args:
            system: Its name.
            dataset: Its name.
            k: The number of ranks; all if None.
            texts: Also read texts of queries and documents from the prepared corpus.

        Returns:
            ``query`` and ``document``, their ids, ``score``, float32, ``rank`` from 1, and ``grade``, Int64, missing where the
            document is not judged for the query; with ``texts`` also ``query_text``, ``title`` and ``text``. Sorted by query and
            rank. Without ``qrels.parquet`` there is no ``grade``.

        Raises:
            DataError: There is no such run, or no corpus for its texts, or a file was changed after it was written.
        """
        names = {"system": system, "dataset": dataset}
        path, record_path = (self.folder / pattern(**names) for pattern in (layout.RUN, layout.RUN_RECORD))
        if not path.is_file():
            raise self._no_run(system, dataset)
        run = read_run(str(path), output_digest(read_json(record_path), path), str(record_path))
        if k is not None:
            run = run.filter(pc.less_equal(run["rank"], k))
        hits: pd.DataFrame = run.rename_columns(["query", "document", "score", "rank"]).to_pandas()
        qrels = self.folder / layout.QRELS(dataset=dataset)
        if qrels.is_file():
            judged = read_table(qrels, ["query_id", "doc_id", "score"]).rename_columns(["query", "document", "grade"]).to_pandas()
            hits = hits.merge(judged.astype({"grade": "Int64"}), "left", on=["query", "document"])
        if texts:
            queries = self.read(layout.QUERIES, query_texts, dataset=dataset)
            documents = self.texts(dataset, hits["document"])
            for kind, known in (("query", queries), ("document", documents.index)):
                if others := {*hits[kind]}.difference(known):
                    problem = f"the corpus of {dataset} has no {kind} {min(others)!r}, so the run is of another one"
                    raise DataError(f"{path}: {problem}; make it again: rm {shlex.quote(str(path))}")
            hits = hits.assign(query_text=hits["query"].map(queries)).join(documents, on="document")
        return hits

    def texts(self, dataset: str, documents: Iterable[str]) -> pd.DataFrame:
        """Return ``title`` and ``text`` of some documents of a prepared corpus, or of one of its forums, by id."""
        found = self.read(layout.DOCUMENTS, lambda file: texts_of(str(file), {*documents}), dataset=dataset)
        return pd.DataFrame.from_dict(found, orient="index", columns=["title", "text"], dtype=str)

    def paths(self, pattern: Pattern) -> dict[Path, dict[str, str]]:
        """Return the files of a pattern with their names in it: of a job in the order of its inputs, else of their paths."""
        if self.inputs is None:
            found = [path.relative_to(self.folder).as_posix() for path in sorted(self.folder.glob(f"{pattern.folder()}**/*"))]
        else:
            found = [*self.inputs]
        named = {path: pattern.names_in(path) for path in found}
        return {self.folder / path: names for path, names in named.items() if names is not None}

    def has(self, pattern: Pattern, **names: str) -> bool:
        """Test whether a file is there and may be read."""
        path = pattern(**names)
        return (self.folder / path).is_file() if self.inputs is None else path in self.inputs

    def read(self, pattern: Pattern, read: Callable[[Path], Any], **names: str) -> Any:
        """Read a file with a function; DataError with the command that makes it if it is missing or damaged."""
        path = self.folder / pattern(**names)
        if not self.has(pattern, **names):
            if self.inputs is not None:
                raise LookupError(f"{path} is read by a job whose rule does not name it as an input")
            command = f"snakemake --cores 8 -- {shlex.quote(str(path))}"
            raise DataError(f"{path} is not there. Make it, with the --configfile of these results if they have one: {command}")
        with reading(path):
            return read(path)

    def _no_run(self, system: str, dataset: str) -> DataError:
        """Return the error for a run that is not there."""
        runs = list(self.paths(layout.RUN).values())
        where = f"{self.folder}: there is no run of {system!r} on {dataset!r}"
        forums: Mapping[str, Any] = {}
        if (means := self.folder / layout.METRICS(system=system, dataset=dataset)).is_file():
            forums = read_means(str(means))
        if forums.get("forums"):
            return DataError(f"{where}, which is the mean of {', '.join(forums['forums'])}; name one of these")
        for key, value in (("system", system), ("dataset", dataset)):
            if value not in (known := sorted({each[key] for each in runs})):
                return DataError(f"{where}; {_some(known, f'{key}s with runs')}{nearest(value, known)}")
        path = self.folder / layout.RUN(system=system, dataset=dataset)
        return DataError(f"{where}. Make it: snakemake --cores 8 -- {shlex.quote(str(path))}")


def of_job(
    *,
    results: Path,
    input_paths: Sequence[str],
    baseline: str = "",
    main_measure: str = "",
    rows: Mapping[str, Sequence[str]] | None = None,
    blocks: Blocks | None = None,
) -> Results:
    """Return the results that a job may read, its inputs."""
    return Results(results, baseline=baseline, main_measure=main_measure, input_paths=input_paths, rows=rows, blocks=blocks)


def main_measures(summary: pd.DataFrame) -> list[str]:
    """Return the measures of a summary with their own tables: the main one first."""
    names = [str(name) for name in summary.columns if "@" in str(name)]
    return list(dict.fromkeys([names[0], *(name for name in TABULATED if name in names)]))


def _content(folder: Path) -> str:
    """Return the content of a folder in words."""
    if not folder.is_dir():
        return "a file" if folder.exists() else "no such folder"
    return _some(sorted(path.name for path in folder.iterdir() if not path.name.startswith(".")), "entries")


def _some(names: list[str], kind: str) -> str:
    """Return the number of names, and the first of them."""
    more = ", …" if len(names) > MOST_NAMES else ""
    return f"{len(names)} {kind}{': ' if names else ''}{', '.join(names[:MOST_NAMES])}{more}"
