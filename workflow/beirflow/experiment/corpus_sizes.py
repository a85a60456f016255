"""Sizes of corpora, known or guessed before the download, for the estimate."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beirflow.experiment.experiment import Experiment
from beirflow.files.errors import BeirflowError
from beirflow.files.layout import ARCHIVE, CORPUS
from beirflow.files.records import read_json
from beirflow.sources.archives import is_archive
from beirflow.sources.forms import HubForm

CHARACTERS_PER_WORD = 7.0
"""Of English with its spaces, as measured on NFCorpus and SciFact: 6.8 and 7.0."""

UNPACKED = 3.0
"""Times as large as its archive is a corpus."""

DOCUMENTS, WORDS, QUERY_WORDS, QUERIES = 5_000, 120.0, 10.0, 100
"""Assumed sizes of corpora for which nobody states any."""


@dataclass(frozen=True)
class CorpusSize:
    """Size of a corpus.

    Attributes:
        name: Its name.
        documents: Number of documents.
        queries: Number of judged queries, those of a sample only.
        words: Mean words of a document.
        query_words: Mean words of a query.
        chunks: Number of chunks.
        prepared: Whether it is prepared already.
        download: Bytes of the archive that has to be downloaded, 0 if none; forums of a dataset share one.
        archive: Name of that archive, empty if there is none.
    """

    name: str
    documents: int
    queries: int
    words: float
    query_words: float
    chunks: int
    prepared: bool
    download: int
    archive: str


def corpus_size(experiment: Experiment, results: Path, name: str) -> CorpusSize:
    """Return the size of a corpus: from its record if it is prepared, else as the catalogue states it, else by its source."""
    dataset, made = experiment.datasets[name], _record(results / CORPUS(dataset=name))
    prepared = bool(made)
    stated = experiment.catalogue.words.get(dataset.whole_row)
    if made:
        documents, queries = made["counts"]["documents"], made["counts"]["queries"]
        words = made["characters"]["mean"] / CHARACTERS_PER_WORD
    else:
        documents, queries = experiment.documents(name) or DOCUMENTS, dataset.queries or QUERIES
        of_source = experiment.source_documents(name) or DOCUMENTS
        words = stated["documents"] if stated else _words_of_source(experiment, name) / of_source
    archive = dataset.archive if experiment.folder(name) is None else None
    needed = archive is not None and not prepared and not (results / ARCHIVE(archive=archive)).is_file()
    return CorpusSize(
        name=name,
        documents=documents,
        queries=min(queries, dataset.sample_queries or queries),
        words=words,
        query_words=stated["queries"] if stated else QUERY_WORDS,
        chunks=experiment.chunks(name),
        prepared=prepared,
        download=dataset.archive_bytes or 0 if needed else 0,
        archive=archive or "",
    )


def _record(path: Path) -> dict[str, Any]:
    """Return the record of a corpus; empty without a readable one, about which other steps complain."""
    try:
        made = read_json(path)
        return made if {"counts", "characters"} <= made.keys() else {}
    except (OSError, BeirflowError):
        return {}


def _words_of_source(experiment: Experiment, name: str) -> float:
    """Return the words of all documents of a user's dataset, by the size of its file; of one on a hub, the default."""
    if isinstance(experiment.datasets[name].form, HubForm):
        return WORDS * (experiment.source_documents(name) or DOCUMENTS)
    folder = Path(experiment.folder(name) or "")
    if is_archive(folder):
        forums = len(experiment.rows[experiment.datasets[name].row])
        return folder.stat().st_size * UNPACKED / CHARACTERS_PER_WORD / forums
    return Path(experiment.source_files(name)[0]).stat().st_size / CHARACTERS_PER_WORD
