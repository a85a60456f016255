"""A dataset from a hub, as the lines of a dataset in BEIR form.

Its files are JSON lines, also gzipped, Parquet, or judgements in columns; each is hostile until checked.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.core.records import read_json
from beirflow.data.sources import forms, source
from beirflow.data.sources.beir_files import judgement_line
from beirflow.data.sources.hub_layout import CARD, LAYOUTS, files_of
from beirflow.data.sources.json_lines import (
    grade_of,
    id_of,
    is_id,
    is_list_of,
    is_object,
    lines_in,
    objects_in,
    value_of,
    wrong_value,
)
from beirflow.data.sources.source import Block, DatasetSource, blocks_of, stream_of_lines

BATCH_ROWS = 2048  # rows of a Parquet file that are read at a time

COLUMNS = {
    forms.CORPUS: ("_id", "id", "title", "text"),
    forms.QUERIES: ("_id", "id", "text", forms.INSTRUCTION, forms.EXCLUDED),
    forms.QRELS: ("query-id", "corpus-id", "score"),
    forms.TOP_RANKED: ("query-id", "corpus-ids"),
    forms.INSTRUCTION: ("query-id", forms.INSTRUCTION),
    forms.QREL_DIFF: ("query-id", "corpus-ids"),
}

SUPPORTS, SUPPORTS_NOT = "relevant_corpus_ids", "non_relevant_corpus_ids"  # documents of a nugget of FreshStack
ORIGINAL, ALTERED = "-og", "-changed"  # ends of the ids of the two queries of a topic, in FollowIR
COMMIT, REVISION = re.compile(r"[0-9a-f]{40}"), "revision"
NOTHING = ["N/A"]  # list of ids that means an empty one, in BRIGHT

Row = dict[str, Any]


class HubSource(DatasetSource):
    """Dataset of a hub, from the record of what was fetched; DataError if that is something else."""

    def __init__(
        self,
        path: str | Path,
        form: forms.HubForm,
        split: str | None = None,
        files: dict[str, dict[str, str]] | None = None,
    ) -> None:
        super().__init__(path)
        if not form.revision:
            form = pinned(form, read_json(path))
            self.assumed[REVISION] = f"{form.hub} at {form.revision}, its newest commit when it was fetched"
        self.form, self.split = form, str(read_json(path).get("split")) if split is None else split
        self.files = fetched_files(path, form) if files is None else files  # by role and name, the sha256 of each file
        self._without_score = 0
        self._with_nuggets = form.layout == "freshstack"

    @classmethod
    def in_cache(cls, form: forms.HubForm, split: str) -> "HubSource":
        """Open a dataset with the files that its layout names in the cache of the hub's library, whatever any record names.

        Raises DataError if parts of it are not there.
        """
        return cls(cache_folder(*form.place(forms.CORPUS)), form, split, cached_files(form, split))

    def where(self, name: str) -> str:
        """Return the name in messages of the part with the documents, the queries or the judgements."""
        role = _role(name)
        hub, files = self.form.place(role)[0], list(self.files[role])
        return f"{hub}/{files[0]}" if len(files) == 1 else f"{hub}, {role}"

    def blocks(self, name: str) -> Iterator[Block]:
        """Yield the lines of one of the three files of BEIR, numbered by lines or rows of their origin."""
        role = _role(name)
        self._without_score = 0
        fields = self._query_fields() if role == forms.QUERIES else {}
        for where, path in self._fetched(role):
            if path.suffix == ".tsv":
                with stream_of_lines(path, where) as stream:
                    yield from source.read_blocks(stream, where)
            else:
                yield from blocks_of(self._lines(role, where, path, fields))
        if self._without_score:
            self.assumed["judgements_without_score"] = f"{self._without_score}, taken for 1"

    def _fetched(self, role: str) -> Iterator[tuple[str, Path]]:
        """Yield the name in messages and the path of the files of a part, each the one that was recorded."""
        hub, revision = self.form.place(role)
        for file, digest in self.files[role].items():
            path = fetched_file(hub, revision, file)
            actual = file_digest(path)
            if actual != digest:
                raise DataError(f"{path}: the sha256 is {actual}, but {self.path} says {digest}; delete both and run again")
            self.digests[self._label(hub, file)] = digest
            yield f"{hub}/{file}", path

    def _label(self, hub: str, file: str) -> str:
        return f"{hub}/{file}" if hub != self.form.hub else file

    def _query_fields(self) -> dict[str, Row]:
        """Return by id of a query what other parts than the queries state of it."""
        fields: dict[str, Row] = {}
        for part in self.form.roles[len(forms.ROLES) :]:
            for where, path in self._fetched(part):
                for number, row in self._rows(path, where, part):
                    here, query = f"{where}:{number}", id_of(f"{where}:{number}", row, "query-id")
                    for each, facts in _of_part(here, part, query, row).items():
                        if repeated := facts.keys() & fields.setdefault(each, {}).keys():
                            raise DataError(f"{here}: the query {each!r} has {min(repeated)} a second time; one was expected")
                        fields[each] |= facts
        return fields

    def _lines(self, role: str, where: str, path: Path, fields: Mapping[str, Row]) -> Iterator[tuple[int, bytes]]:
        """Yield the rows of a file as lines in BEIR form."""
        for number, row in self._rows(path, where, role):
            here = f"{where}:{number}"
            if role == forms.CORPUS:
                yield number, orjson.dumps(text_of(here, row) | {"title": row.get("title")})
            elif role == forms.QUERIES:
                yield number, orjson.dumps(self._query(here, row, fields))
            elif self._with_nuggets:
                grades = _grades(here, row)
                query = id_of(here, row, "query-id")
                yield from ((number, judgement_line(query, doc_id, grade)) for doc_id, grade in grades.items())
            else:
                lines, scored = judgement_lines(here, row)
                self._without_score += not scored
                yield from ((number, line) for line in lines)

    def _query(self, where: str, row: Row, fields: Mapping[str, Row]) -> Row:
        """Return a query with all its fields; DataError if its instruction would be ignored, or has two texts."""
        query = text_of(where, row)
        more = {key: row[key] for key in (forms.INSTRUCTION, forms.EXCLUDED) if row.get(key)}
        if forms.INSTRUCTION in more and forms.INSTRUCTION not in self.form.roles:
            problem = f"the query has a value in the column {forms.INSTRUCTION!r}, which changes what is relevant"
            raise DataError(f"{where}: {problem}; this is not a plain retrieval dataset")
        of_parts = fields.get(query["_id"], {})
        if forms.INSTRUCTION in more and more[forms.INSTRUCTION] != of_parts.get(forms.INSTRUCTION, more[forms.INSTRUCTION]):
            raise DataError(
                f"{where}: the instruction of {query['_id']!r} is not the one of the config {forms.INSTRUCTION!r}; keep one"
            )
        if self.form.layout == "instructir":
            more[forms.TOPIC] = query["_id"].partition("_")[0]
        if self._with_nuggets:
            more[forms.NUGGETS] = [_ids(where, nugget, SUPPORTS) for nugget in _nuggets(where, row)]
        return query | more | of_parts

    def _rows(self, path: Path, where: str, role: str) -> Iterator[tuple[int, Row]]:
        """Yield the rows of a file that are of the split, with our names of the columns."""
        wanted = (*COLUMNS[role], forms.NUGGETS) if self._with_nuggets else COLUMNS[role]
        if self.form.layout is None:
            yield from _rows(path, where, wanted)
            return
        layout = LAYOUTS[self.form.layout]
        theirs = {name: layout.columns.get(role, {}).get(name, name) for name in wanted}
        columns = [each for names in theirs.values() for each in ([names] if isinstance(names, str) else names)]
        for number, row in _rows(path, where, (*dict.fromkeys(columns), *filter(None, [layout.length]))):
            if layout.length and str(row.get(layout.length)) != self.split:
                continue
            renamed = {ours: row[name] for ours, name in theirs.items() if name in row}
            for ours, names in ((ours, names) for ours, names in theirs.items() if not isinstance(names, str)):
                texts = [row.get(name) for name in names]
                renamed[ours] = " ".join(map(str, texts)) if all(isinstance(text, str) for text in texts) else None
            yield number, {name: [] if value == NOTHING else value for name, value in renamed.items()}


def _of_part(where: str, part: str, query: str, row: Row) -> dict[str, Row]:
    """Return by query what a row of a further part states: of the query, or for changed documents of both of its topic."""
    if part == forms.INSTRUCTION:
        return {query: {forms.INSTRUCTION: row[forms.INSTRUCTION]} if row.get(forms.INSTRUCTION) else {}}
    ids = _ids(where, row, "corpus-ids")
    if part == forms.TOP_RANKED:
        return {query: {forms.CANDIDATES: ids}}
    return {f"{query}{ORIGINAL}": {forms.TOPIC: query, forms.CHANGED: ids}, f"{query}{ALTERED}": {forms.TOPIC: query}}


def _nuggets(where: str, row: Row) -> list[Row]:
    """Return the nuggets of a query."""
    nuggets: list[Row] = value_of(where, row, forms.NUGGETS, "a list of objects", is_list_of(is_object))
    return nuggets


def _grades(where: str, row: Row) -> dict[str, int]:
    """Return the judged documents of a query, each with the number of nuggets that it supports, as FreshStack counts."""
    grades: dict[str, int] = {}
    for nugget in _nuggets(where, row):
        supporting = set(_ids(where, nugget, SUPPORTS))
        for doc_id in dict.fromkeys((*_ids(where, nugget, SUPPORTS), *_ids(where, nugget, SUPPORTS_NOT))):
            grades[doc_id] = grades.get(doc_id, 0) + (doc_id in supporting)
    return grades


def _ids(where: str, row: Row, name: str) -> list[str]:
    """Return a list of ids as texts; DataError if it is none."""
    return list(map(str, value_of(where, row, name, "a list of ids of documents", is_list_of(is_id))))


def _role(name: str) -> str:
    return {source.CORPUS: forms.CORPUS, source.QUERIES: forms.QUERIES}.get(name, forms.QRELS)


def _rows(path: Path, where: str, columns: Sequence[str]) -> Iterator[tuple[int, Row]]:
    """Yield the rows of a file, at least with those of the columns that it has; ``query_id`` is ``query-id``, as in BEIR form."""
    written = {name: name.replace("-", "_") for name in columns if "-" in name}
    rows = rows_of_parquet(path, where, (*columns, *written.values())) if path.suffix == ".parquet" else _json_rows(path, where)
    for number, row in rows:
        yield number, row | {name: row[other] for name, other in written.items() if name not in row and other in row}


def _json_rows(path: Path, where: str) -> Iterator[tuple[int, Row]]:
    with stream_of_lines(path, where) as stream:
        for numbers, block in source.read_blocks(stream, where):
            yield from objects_in(where, lines_in(numbers, block))


def pinned(form: forms.HubForm, record: Mapping[str, Any]) -> forms.HubForm:
    """Return a form with the commit that its record names, where its own is not known; DataError if that is none."""
    if not form.revision and not COMMIT.fullmatch(revision := str(record.get(REVISION))):
        raise DataError(
            f"{form.hub}: its record names the commit {revision!r}; delete the record below results/data and run again"
        )
    return form if form.revision else replace(form, revision=revision)


def fetched_files(path: str | Path, form: forms.HubForm) -> dict[str, dict[str, str]]:
    """Return by role the sha256 of each fetched file by its name there; DataError if the record is of another form."""
    record = read_json(path)
    expected: dict[str, Any] = {"hub": form.hub, "revision": form.revision, "subset": form.subset, "layout": form.layout}
    recorded = {key: record.get(key) for key in expected}
    if recorded != expected:
        raise DataError(f"{path}: this is the record of {recorded}, expected was {expected}; delete it and run again")
    return {role: dict(record["files"][role]) for role in form.roles}


def fetched_file(hub: str, revision: str, name: str) -> Path:
    """Return the path of a fetched file in the cache of the hub's library; DataError if it is not there any more."""
    from huggingface_hub import hf_hub_download

    try:
        return Path(hf_hub_download(hub, name, repo_type="dataset", revision=revision, local_files_only=True))
    except Exception as error:  # its exceptions differ between versions
        todo = (
            "it was fetched to HF_HOME; set that as it was, or delete the record of the dataset below results/data and run again"
        )
        raise DataError(f"{hub}/{name} at {revision} is no longer on this machine; {todo}") from error


def cache_folder(hub: str, revision: str) -> Path:
    """Return the folder of a dataset at a revision in the cache of the hub's library, which may not be there."""
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE) / f"datasets--{hub.replace('/', '--')}" / "snapshots" / revision


def cached_files(form: forms.HubForm, split: str) -> dict[str, dict[str, str]]:
    """Return by role the sha256 of each file that the layout names among those in the cache, by its name there.

    Raises DataError if the files of a part are not there.
    """
    files: dict[str, dict[str, str]] = {}
    for role in form.roles:
        hub, revision = form.place(role)
        folder, where = cache_folder(hub, revision), f"{hub} at {revision}"
        names = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file()]
        card = (folder / CARD).read_text(encoding="utf-8", errors="replace") if CARD in names else ""
        own = files_of(role, names, card, subset=form.subset, split=split, where=where, layout=form.layout, is_cache=True)
        files[role] = {name: file_digest(folder / name) for name in own}
    return files


def rows_of_parquet(path: Path, where: str, columns: Sequence[str]) -> Iterator[tuple[int, Row]]:
    """Yield number, from 1, and values of each row of a Parquet file, of those of the columns that it has.

    Raises DataError if the file is damaged, or if a column is neither of texts nor of numbers.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    def usable(kind: Any) -> bool:
        """Test whether values of an Arrow type can be read."""
        text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
        tests = (*text, pa.types.is_integer, pa.types.is_floating, pa.types.is_null)
        return any(test(getattr(kind, "value_type", kind)) for test in tests)  # of lists and dictionaries, their values

    number = 0
    try:
        with pq.ParquetFile(path) as file:
            here = [name for name in columns if name in file.schema_arrow.names]
            for name in here:
                if not usable(kind := file.schema_arrow.field(name).type) and name != forms.NUGGETS:
                    raise DataError(f"{where}: the column {name!r} holds {kind}; texts or numbers were expected")
            for batch in file.iter_batches(BATCH_ROWS, columns=here):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{where}: no Parquet file that can be read, after row {number} ({str(error)[:200]})") from error


def text_of(where: str, row: Row) -> Row:
    """Return id and text of a document or query in BEIR form; DataError if it has no id."""
    return {"_id": id_of(where, row, "_id" if "_id" in row else "id"), "text": row.get("text")}


def judgement_lines(where: str, row: Row) -> tuple[list[bytes], bool]:
    """Return the judgements of a row, of one document or of a list, as lines in BEIR form, and whether the row had a score.

    The score is 1 where there is none. Raises DataError if an id is missing, or if the score is no whole number.
    """
    query_id, score, doc_ids = id_of(where, row, "query-id"), row.get("score"), row.get("corpus-id")
    grade = 1 if score is None else grade_of(score)
    if grade is None:
        raise DataError(f"{where}: {wrong_value(row, 'score', 'an integer')}")
    ids = _ids(where, row, "corpus-id") if isinstance(doc_ids, list) else [id_of(where, row, "corpus-id")]
    return [judgement_line(query_id, doc_id, grade) for doc_id in ids], score is not None
