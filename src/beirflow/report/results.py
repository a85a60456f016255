"""Results in a folder as frames, for notebooks and scripts."""

import shlex
from collections.abc import Callable, Mapping
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.core import layout
from beirflow.core.csv_files import read_named_csv
from beirflow.core.errors import DataError
from beirflow.core.patterns import Pattern
from beirflow.core.records import output_digest, read_json
from beirflow.core.verified import reading
from beirflow.data.catalogue.schema import nearest
from beirflow.data.corpus_files import read_table
from beirflow.evaluation.scores import long_form, read_means, read_per_query
from beirflow.ranking.run_file import read_run
from beirflow.report.analysis.document_scan import query_texts, texts_of

MOST_NAMES = 8  # maximum number of names in a message


class Results:
    """A folder of results, read only.

    A frame is read when it is first used, and then kept; for newer results, open the folder again. Metrics and runs are compared
    with the digests in their records. ``docs/files.md`` describes the columns of the tables.

    Args:
        folder: The folder that the workflow writes, ``results`` by default.

    Raises:
        DataError: The folder has no results, or those of another format; or, from an attribute, the file behind it was changed
            after it was written, or is missing, with the command that makes it.

    Example:
        >>> results = beirflow.Results("results")
        >>> results.means["NDCG@10"].unstack("system")
        >>> results.hits("bm25", "scifact", k=10, texts=True)
    """

    def __init__(self, folder: str | PathLike[str] = "results") -> None:
        self.folder = Path(folder).expanduser()
        if not (self.folder / layout.SUMMARY).is_file() and not self._files(layout.METRICS):
            expected = f"expected a folder of results, with {layout.SUMMARY} or {layout.METRICS}"
            raise DataError(f"{self.folder}: {expected}; found {_content(self.folder)}")
        if (manifest := self.folder / layout.MANIFEST).is_file():
            read_json(manifest)  # tables state no format of their own

    def __repr__(self) -> str:
        pairs = self._files(layout.METRICS)
        systems, datasets = (sorted({each[key] for each in pairs.values()}) for key in ("system", "dataset"))
        return f"Results({str(self.folder)!r}): {_some(systems, 'systems')}; {_some(datasets, 'datasets')}"

    @cached_property
    def means(self) -> pd.DataFrame:
        """Every measure of every system on every dataset: index ``system`` and ``dataset``, a float64 column a measure.

        A dataset of forums has the mean of its forums, which have rows of their own.
        """
        found = [read_means(str(path)) for path in self._files(layout.METRICS)]
        index = pd.MultiIndex.from_tuples([(each["system"], each["dataset"]) for each in found], names=["system", "dataset"])
        return pd.DataFrame([each["measures"] for each in found], index=index, dtype=float)

    @cached_property
    def scores(self) -> pd.DataFrame:
        """Every measure of every query: ``system``, ``dataset``, ``query``, ``measure``, categories, and ``value``, float64."""
        paths = {path: self.folder / layout.METRICS(**names) for path, names in self._files(layout.PER_QUERY).items()}
        if paths:
            tables = [long_form(*read_per_query(str(means), str(path))) for path, means in paths.items()]
            table = pa.concat_tables(tables)
        else:
            table = self._read(layout.SCORES, pq.read_table)
        frame: pd.DataFrame = table.unify_dictionaries().to_pandas()
        return frame.rename(columns={"query_id": "query"})

    @cached_property
    def summary(self) -> pd.DataFrame:
        """``summary.csv``: the shown measures of every system on every dataset, published scores, and averages."""
        return self._csv(layout.SUMMARY)

    @cached_property
    def significance(self) -> pd.DataFrame:
        """``significance.csv``: every two systems on every dataset, with interval, p and effect size."""
        return self._csv(layout.SIGNIFICANCE)

    @cached_property
    def uncertainty(self) -> pd.DataFrame:
        """``uncertainty.csv``: intervals of means and ranks."""
        return self._csv(layout.UNCERTAINTY)

    @cached_property
    def costs(self) -> pd.DataFrame:
        """``cost.csv``: seconds, memory and bytes of every system on every dataset."""
        return self._csv(layout.COST)

    @cached_property
    def systems(self) -> pd.DataFrame:
        """``systems.csv``: every setting of every system, with its source."""
        return self._csv(layout.SYSTEMS)

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
            queries = self._read(layout.QUERIES, query_texts, dataset=dataset)
            documents = self._read(layout.DOCUMENTS, lambda file: texts_of(str(file), {*hits["document"]}), dataset=dataset)
            for kind, known in (("query", queries), ("document", documents)):
                if others := {*hits[kind]} - known.keys():
                    problem = f"the corpus of {dataset} has no {kind} {min(others)!r}, so the run is of another one"
                    raise DataError(f"{path}: {problem}; make it again: rm {shlex.quote(str(path))}")
            hits["query_text"] = hits["query"].map(queries)
            for place, name in enumerate(("title", "text")):
                hits[name] = [documents[document][place] for document in hits["document"]]
        return hits

    def _files(self, pattern: Pattern) -> dict[Path, dict[str, str]]:
        """Return the files of a pattern with their names in it, in order of the paths."""
        paths = sorted(self.folder.glob(pattern.folder() + "**/*"))
        named = {path: pattern.names_in(path.relative_to(self.folder).as_posix()) for path in paths}
        return {path: names for path, names in named.items() if names}

    def _csv(self, name: str) -> pd.DataFrame:
        return self._read(name, lambda path: read_named_csv(str(path)))

    def _read(self, pattern: str, read: Callable[[Path], Any], **names: str) -> Any:
        """Read a file; DataError with the command that makes it if it is missing or damaged."""
        path = self.folder / pattern.format(**names)
        if not path.is_file():
            command = f"snakemake --cores 8 -- {shlex.quote(str(path))}"
            raise DataError(f"{path} is not there. Make it, with the --configfile of these results if they have one: {command}")
        with reading(path):
            return read(path)

    def _no_run(self, system: str, dataset: str) -> DataError:
        """Return the error for a run that is not there."""
        runs = list(self._files(layout.RUN).values())
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


def _content(folder: Path) -> str:
    """Return the content of a folder in words."""
    if not folder.is_dir():
        return "a file" if folder.exists() else "no such folder"
    return _some(sorted(path.name for path in folder.iterdir() if not path.name.startswith(".")), "entries")


def _some(names: list[str], kind: str) -> str:
    """Return the number of names, and the first of them."""
    more = ", …" if len(names) > MOST_NAMES else ""
    return f"{len(names)} {kind}{': ' if names else ''}{', '.join(names[:MOST_NAMES])}{more}"
