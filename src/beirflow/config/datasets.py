"""The datasets of an experiment for the rules: locations, sizes, chunks."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from beirflow.core.digests import file_state
from beirflow.core.errors import BeirflowError, ConfigError
from beirflow.core.layout import ARCHIVE, CORPUS, HUB_DATASET, RESULTS
from beirflow.core.records import read_json
from beirflow.data.catalogue.catalogue import Catalogue
from beirflow.data.catalogue.choice import self_matches_named
from beirflow.data.catalogue.dataset import Dataset
from beirflow.data.catalogue.own_datasets import place_in
from beirflow.data.corpus_files import EXCLUDED_PAIRS, RELEVANT_PAIRS
from beirflow.data.counts import count_judged_queries, has_candidates, known_documents
from beirflow.data.sources.archives import is_archive
from beirflow.data.sources.beir_files import required_files
from beirflow.data.sources.forms import HubForm

NO_COPY = "{name} {reason}; choose another, or, to use your own copy, put it in BEIR form into the folder {name} of data_dir"

BLOCK_QUERIES = 256
"""Queries of a job that scores pairs: with a hundred documents each, half an hour of two CPU cores, and seconds of a GPU."""

CHARACTERS_PER_WORD = 7.0  # English with its spaces: 6.8 on NFCorpus, 7.0 on SciFact
UNPACKED = 3.0  # size of a corpus relative to its archive
DOCUMENTS, WORDS, QUERY_WORDS, QUERIES = 5_000, 120.0, 10.0, 100  # assumed if the size of a corpus is not stated


# Counting reads whole files, and rules ask for the same numbers again and again.
_counted, _judged = cache(known_documents), cache(count_judged_queries)


@dataclass(frozen=True)
class Datasets:
    """Known and configured datasets."""

    config: Mapping[str, Any]  # the configuration with every default filled in
    catalogue: Catalogue  # what the project knows
    rows: Mapping[str, tuple[Dataset, ...]]  # every known dataset by name with its corpora, those of the configuration included
    datasets: Mapping[str, Dataset]  # every known corpus by name: datasets, and forums as ``<dataset>-<forum>``

    @cached_property
    def chosen_rows(self) -> dict[str, list[str]]:
        """Return by configured dataset, a row of the summary, the names of its corpora: one, or one a forum."""
        chosen = list(self.catalogue.datasets) if self.config["datasets"] == "all" else self.config["datasets"]
        return {row: [dataset.name for dataset in self.rows[row]] for row in chosen}

    @cached_property
    def chosen_datasets(self) -> list[str]:
        """Return the names of the configured corpora: datasets, and forums in place of a dataset that has them."""
        return [name for names in self.chosen_rows.values() for name in names]

    @property
    def mteb_datasets(self) -> list[str]:
        """Return the configured datasets and forums that are tasks of MTEB; a part of a dataset's queries is none."""
        names = [name for row, corpora in self.chosen_rows.items() for name in dict.fromkeys((row, *corpora))]
        return [name for name in names if name in self.catalogue.mteb]

    @property
    def reference_tasks(self) -> dict[str, tuple[str, str]]:
        """Return by task of MTEB the configured dataset and its evaluated split; of a dataset of forums, the tasks of these.

        What MTEB stores of such a dataset as a whole may be a mean of fewer forums.
        """
        forums, mteb = self.rows_of_forums, {*self.mteb_datasets}
        corpora = {row: forums.get(row, [row]) for row in self.chosen_rows if row in mteb}
        return {
            self.catalogue.mteb[name].name: (row, self.rows[row][0].split) for row, names in corpora.items() for name in names
        }

    def reference_files(self, folder: str) -> list[str]:
        """Return the results of configured tasks in a folder of MTEB's layout: of one revision, of one model, or of many."""
        below = Path(folder).expanduser()
        patterns = [f"{level}{task}.json" for task in self.reference_tasks for level in ("", "*/", "*/*/")]
        return [str(path.absolute()) for pattern in patterns for path in sorted(below.glob(pattern))]

    @property
    def references(self) -> list[str]:
        """Return the results of others that the leaderboard shows."""
        return [path for folder in self.config["references"] for path in self.reference_files(folder)]

    @cached_property
    def extra_judgements(self) -> dict[str, str]:
        """Return by configured corpus the file of its further judgements."""
        files: Mapping[str, str] = self.config["extra_judgements"]
        return {name: str(Path(files[name]).expanduser()) for name in self.chosen_datasets if name in files}

    @property
    def rows_of_forums(self) -> dict[str, list[str]]:
        """Return by dataset that has forums, configured or not, the names of its corpora."""
        return {row: [forum.name for forum in corpora] for row, corpora in self.rows.items() if corpora[0].forum}

    def folder(self, name: str) -> str | None:
        """Return the place of a dataset on this machine: the user's own, or that in ``data_dir``; None without one."""
        dataset = self.datasets[name]
        if dataset.path is not None:
            return str(Path(dataset.path).expanduser())
        if self.config["data_dir"] is None or isinstance(dataset.form, HubForm):
            return None
        return place_in(self.config["data_dir"], dataset.whole_row)

    def source_files(self, name: str) -> list[str]:
        """Return the inputs of ``prepare_corpus``: files of the folder, the archive or file, or the record of a hub."""
        folder, dataset = self.folder(name), self.datasets[name]
        if isinstance(dataset.form, HubForm):
            return [HUB_DATASET.below(RESULTS).format(dataset=name)]
        if folder is None and dataset.own_copy:
            raise ConfigError(NO_COPY.format(name=dataset.whole_row, reason=dataset.reason or "may not be redistributed"))
        if folder is None:
            return [ARCHIVE.below(RESULTS).format(archive=dataset.archive)]
        return [folder] if dataset.form or is_archive(folder) else required_files(Path(folder), dataset.forum, dataset.split)

    def source_states(self, name: str) -> list[str | None]:
        """Return the present states of these files; none of an archive that is downloaded, which is checked by its md5."""
        return [file_state(path) for path in self.source_files(name)] if self.folder(name) else []

    def documents(self, name: str) -> int | None:
        """Return the most documents that the corpus can have, those of a sample; None if a hub has it, unstated."""
        whole, sample = self.source_documents(name), self.datasets[name].sample_documents
        return min(whole, sample) if whole and sample else whole

    def source_documents(self, name: str) -> int | None:
        """Return the number of documents of its source, counted once if nobody states it; None if a hub has it, unstated."""
        dataset = self.datasets[name]
        if dataset.documents is not None or isinstance(dataset.form, HubForm):
            return dataset.documents
        return _counted(str(self.folder(name)), dataset.forum, dataset.form)

    def states_candidates(self, name: str) -> bool:
        """Test whether queries of a corpus have candidates, as far as this machine has them; in BEIR form, the queries say it."""
        dataset, folder = self.datasets[name], self.folder(name)
        if dataset.form:
            return dataset.form.own_candidates
        return dataset.path is not None and has_candidates(str(folder), dataset.forum)

    def chunks(self, name: str) -> int:
        """Return the number of chunks, known before anything is downloaded: one if the documents are not counted."""
        return max(1, math.ceil((self.documents(name) or 0) / self.config["chunk_documents"]))

    def archive(self, name: str) -> dict[str, Any]:
        """Return the properties of an official archive, as arguments of ``download_dataset``: ``md5`` and ``size``, in bytes."""
        dataset = next(dataset for dataset in self.datasets.values() if dataset.archive == name)
        return {"md5": dataset.md5, "size": dataset.archive_bytes}

    @property
    def hub_datasets(self) -> list[str]:
        """Return the names of all known corpora that are on a hub."""
        return [name for name, dataset in self.datasets.items() if isinstance(dataset.form, HubForm)]

    def on_hub(self, name: str) -> dict[str, Any]:
        """Return the place of a corpus on a hub, as arguments of ``fetch_dataset``: ``form`` and ``split``."""
        dataset = self.datasets[name]
        return {"form": asdict(dataset.form) if dataset.form else None, "split": dataset.split}

    def query_blocks(self, name: str) -> int:
        """Return the number of blocks of a corpus's queries for jobs that score pairs, known beforehand."""
        sample = self.datasets[name].sample_queries
        queries = self.datasets[name].queries or sample or self.judged_queries(name) or 1
        return max(1, math.ceil(min(queries, sample or queries) / BLOCK_QUERIES))

    def judged_queries(self, name: str) -> int | None:
        """Return the number of judged queries of the split, samples aside; None if only a download tells it."""
        dataset = self.datasets[name]
        if dataset.queries is not None or self.folder(name) is None:  # a hub is not asked before the job that fetches it
            return dataset.queries
        return _judged(str(self.folder(name)), dataset.forum, dataset.split, dataset.form)

    def corpus_settings(self, name: str) -> dict[str, Any]:
        """Return the settings that determine a prepared corpus: arguments of ``prepare_corpus``, all but the paths."""
        dataset, documents = self.datasets[name], self.source_documents(name)
        most = {} if documents else {"most": self.config["chunk_documents"]}
        counted = {key: count for key in (EXCLUDED_PAIRS, RELEVANT_PAIRS) if (count := getattr(dataset, key))}
        return {
            "forum": dataset.forum,
            "split": dataset.split,
            "chunks": self.chunks(name),
            "expected": {"documents": documents, "queries": dataset.queries, "files": dict(dataset.files), **most, **counted},
            "form": asdict(dataset.form) if dataset.form else None,
            "part_of": dataset.part_of,
            "relevant_from": dataset.relevant_from,
            "sample": {"queries": dataset.sample_queries, "seed": dataset.sample_seed} if dataset.sample_queries else None,
            "document_sample": (
                {"documents": dataset.sample_documents, "seed": dataset.documents_seed} if dataset.sample_documents else None
            ),
        }

    def self_matches(self, name: str) -> dict[str, Any]:
        """Return the treatment of documents with the id of a query, with its origin: the argument of ``prepare_corpus``."""
        dataset, own = self.datasets[name], ((self.config["custom"] or {}).get("datasets") or {})
        entry = own.get(dataset.whole_row)
        known = entry is None or "drop_self_matches" in entry or self_matches_named(dataset.row)
        by_configuration = known and (entry is not None or self_matches_named(dataset.row))
        stated_by = "configuration" if by_configuration else "catalogue" if known else None
        return {"drop": dataset.drop_self_matches, "stated_by": stated_by, "dataset": dataset.whole_row}

    def retrieval(self, name: str) -> dict[str, Any]:
        """Return the settings that decide how many documents a search keeps, whatever the family: ``top_k`` and self matches."""
        return {"drop_self_matches": self.datasets[name].drop_self_matches, "top_k": self.config["top_k"]}


@dataclass(frozen=True)
class CorpusSize:
    """Size of a corpus."""

    name: str  # its name
    documents: int  # number of documents
    queries: int  # number of judged queries, those of a sample only
    words: float  # mean words of a document
    query_words: float  # mean words of a query
    chunks: int  # number of chunks
    prepared: bool  # whether it is prepared already
    download: int  # bytes of the archive that has to be downloaded, 0 if none; forums of a dataset share one
    archive: str  # name of that archive, empty if there is none


def corpus_size(datasets: Datasets, results: Path, name: str) -> CorpusSize:
    """Return the size of a corpus: from its record if it is prepared, else as the catalogue states it, else by its source."""
    dataset, made = datasets.datasets[name], _record(results / CORPUS(dataset=name))
    prepared = bool(made)
    known = datasets.catalogue.words.get(dataset.whole_row)
    if made:
        documents, queries = made["counts"]["documents"], made["counts"]["queries"]
        words = made["characters"]["mean"] / CHARACTERS_PER_WORD
    else:
        documents, queries = datasets.documents(name) or DOCUMENTS, dataset.queries or QUERIES
        of_source = datasets.source_documents(name) or DOCUMENTS
        words = known["documents"] if known else _words_of_source(datasets, name) / of_source
    archive = dataset.archive if datasets.folder(name) is None else None
    needed = archive is not None and not prepared and not (results / ARCHIVE(archive=archive)).is_file()
    return CorpusSize(
        name=name,
        documents=documents,
        queries=min(queries, dataset.sample_queries or queries),
        words=words,
        query_words=known["queries"] if known else QUERY_WORDS,
        chunks=datasets.chunks(name),
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


def _words_of_source(datasets: Datasets, name: str) -> float:
    """Return the words of all documents of a user's dataset, by the size of its file; of one on a hub, the default."""
    if isinstance(datasets.datasets[name].form, HubForm):
        return WORDS * (datasets.source_documents(name) or DOCUMENTS)
    folder = Path(datasets.folder(name) or "")
    if is_archive(folder):
        forums = len(datasets.rows[datasets.datasets[name].row])
        return folder.stat().st_size * UNPACKED / CHARACTERS_PER_WORD / forums
    return Path(datasets.source_files(name)[0]).stat().st_size / CHARACTERS_PER_WORD
