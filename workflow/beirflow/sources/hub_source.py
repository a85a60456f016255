"""A dataset from a hub, as the lines of a dataset in BEIR form."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from beirflow.files.digests import file_digest
from beirflow.files.errors import DataError
from beirflow.files.records import read_json
from beirflow.sources import source
from beirflow.sources.forms import CORPUS, QRELS, QUERIES, HubForm
from beirflow.sources.hub_files import Row, judgement_lines, row_of_line, rows_of_parquet, stream_of_lines, text_line
from beirflow.sources.json_lines import lines_in
from beirflow.sources.source import Block, DatasetSource, blocks_of

OTHER_TASKS = ("instruction", "excluded_ids")
"""Columns of queries that change what is relevant; a query without a value in them is a plain one."""

COLUMNS = {
    CORPUS: ("_id", "id", "title", "text"),
    QUERIES: ("_id", "id", "text", *OTHER_TASKS),
    QRELS: ("query-id", "corpus-id", "score"),
}


class HubSource(DatasetSource):
    """Dataset of a hub, from the record of what was fetched; DataError if that is something else."""

    def __init__(self, path: str | Path, form: HubForm) -> None:
        super().__init__(path)
        self.form = form
        self._files = fetched_files(path, form)
        self._without_score = 0

    def where(self, name: str) -> str:
        """Return the name in messages of the part with the documents, the queries or the judgements."""
        role = _role(name)
        hub, files = self.form.place(role)[0], list(self._files[role])
        return f"{hub}/{files[0]}" if len(files) == 1 else f"{hub}, {role}"

    def blocks(self, name: str) -> Iterator[Block]:
        """Yield the lines of one of the three files of BEIR, numbered by lines or rows of their origin."""
        role = _role(name)
        hub, revision = self.form.place(role)
        self._without_score = 0
        for file, digest in self._files[role].items():
            path, where = fetched_file(hub, revision, file), f"{hub}/{file}"
            actual = file_digest(path)
            if actual != digest:
                raise DataError(f"{path}: the sha256 is {actual}, but {self.path} says {digest}; delete both and run again")
            self.digests[f"{hub}/{file}" if hub != self.form.hub else file] = digest
            if file.endswith(".tsv"):
                with stream_of_lines(path, where) as stream:
                    yield from source.read_blocks(stream, where)
            else:
                yield from blocks_of(self._lines(role, where, path))
        if self._without_score:
            self.assumed["judgements_without_score"] = f"{self._without_score}, taken for 1"

    def _lines(self, role: str, where: str, path: Path) -> Iterator[tuple[int, bytes]]:
        """Yield the rows of a file as lines in BEIR form."""
        for number, row in _rows(path, where, role):
            here = f"{where}:{number}"
            if role == QRELS:
                lines, scored = judgement_lines(here, row)
                self._without_score += not scored
                yield from ((number, line) for line in lines)
                continue
            for column in OTHER_TASKS if role == QUERIES else ():
                if row.get(column):
                    problem = f"the query has a value in the column {column!r}, which changes what is relevant"
                    raise DataError(f"{here}: {problem}; this is not a plain retrieval dataset")
            yield number, text_line(here, row, titled=role == CORPUS)


def _role(name: str) -> str:
    return {source.CORPUS: CORPUS, source.QUERIES: QUERIES}.get(name, QRELS)


def _rows(path: Path, where: str, role: str) -> Iterator[tuple[int, Row]]:
    """Yield the rows of a file."""
    if path.suffix == ".parquet":
        yield from rows_of_parquet(path, where, COLUMNS[role])
        return
    with stream_of_lines(path, where) as stream:
        for numbers, block in source.read_blocks(stream, where):
            for number, line in lines_in(numbers, block):
                yield number, row_of_line(where, number, line)


def fetched_files(path: str | Path, form: HubForm) -> dict[str, dict[str, str]]:
    """Return by role the sha256 of each fetched file by its name there; DataError if the record is of another form."""
    record = read_json(path)
    expected: dict[str, Any] = {"hub": form.hub, "revision": form.revision, "subset": form.subset}
    recorded = {key: record.get(key) for key in expected}
    if recorded != expected:
        raise DataError(f"{path}: this is the record of {recorded}, expected was {expected}; delete it and run again")
    return {role: dict(record["files"][role]) for role in COLUMNS}


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


def is_here(path: str | Path, form: HubForm) -> bool:
    """Test whether all fetched files are still on this machine; False too if the record is missing or of something else."""
    try:
        for role, files in fetched_files(path, form).items():
            for name in files:
                fetched_file(*form.place(role), name)
    except (OSError, DataError, KeyError, TypeError):
        return False
    return True
