"""Fetch a dataset from a hub at a pinned revision: only the necessary files, each compared with that revision."""

import hashlib
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from beirflow.core.addresses import keep_secrets_of_hub, without_credentials
from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError, DownloadError, cause_of
from beirflow.core.records import Job, write_record
from beirflow.data.sources.forms import CORPUS, HubForm
from beirflow.data.sources.hub_layout import CARD, files_of

logger = logging.getLogger(__name__)

CARD_BYTES = 1 << 24


def fetch_dataset(*, form: Mapping[str, Any], split: str, output_path: str, job: Job) -> None:
    """Fetch the files of a dataset to this machine, and record their digests.

    ``form`` has the fields of ``HubForm``; without a revision, the record has that of the newest commit. It does not say where
    the files are, which the cache of the hub's library knows. Raises DataError if it is no dataset for retrieval in a layout that
    is known, DownloadError if it cannot be fetched, or a file is not that of the revision.
    """
    wanted = HubForm(**form)
    repositories = {place: _Repository(*place) for place in map(wanted.place, wanted.roles)}
    files: dict[str, dict[str, str]] = {}
    for role in wanted.roles:
        hub = repositories[wanted.place(role)]
        names = files_of(role, hub.listed, hub.card(), subset=wanted.subset, split=split, where=hub.where, layout=wanted.layout)
        files[role] = {name: hub.fetch(name) for name in names}
        logger.info("%s: the %s is %s", hub.where, role, ", ".join(names))
    revision = repositories[wanted.place(CORPUS)].revision
    write_record(output_path, job, inputs={}, outputs={}, **{**form, "revision": revision}, split=split, files=files)


class _Repository:
    """A dataset on the hub at a revision, the newest without one."""

    def __init__(self, hub: str, revision: str) -> None:
        from huggingface_hub import HfApi, RepoFile

        keep_secrets_of_hub()
        logging.getLogger("huggingface_hub.utils._http").setLevel(logging.ERROR)  # two lines for each attempt
        self.hub, self.where = hub, f"{hub} at {revision or 'its newest commit'}"
        try:
            self.revision = revision or str(HfApi().dataset_info(hub).sha)
            self.where = f"{hub} at {self.revision}"
            tree = HfApi().list_repo_tree(hub, recursive=True, revision=self.revision, repo_type="dataset")
            self.listed = {entry.path: entry for entry in tree if isinstance(entry, RepoFile)}
        except Exception as error:  # the HTTP library below huggingface_hub differs between versions
            raise self._failed(cause_of(error)) from error

    def card(self) -> str:
        """Return the card; empty if there is none."""
        if CARD not in self.listed:
            return ""
        if self.listed[CARD].size > CARD_BYTES:
            raise DataError(f"{self.where}: {CARD} has {self.listed[CARD].size:,} bytes, too many for the card of a dataset")
        return self._download(CARD).read_text(encoding="utf-8", errors="replace")

    def fetch(self, name: str) -> str:
        """Fetch a file, compare it with that of the revision, and return its sha256."""
        path, entry = self._download(name), self.listed[name]
        digest, size = file_digest(path), path.stat().st_size
        # A hub knows the sha256 of large files, and of others only the name that git gives them.
        same = digest == entry.lfs.sha256 if entry.lfs else _blob_id(path) == entry.blob_id
        if size != entry.size or not same:
            problem = f"{name} has {size:,} bytes and the sha256 {digest}, which is not the file of this revision"
            raise self._failed(f"{problem}; delete {path.resolve()}")
        return digest

    def _download(self, name: str) -> Path:
        from huggingface_hub import hf_hub_download

        try:
            return Path(hf_hub_download(self.hub, name, repo_type="dataset", revision=self.revision))
        except Exception as error:
            raise self._failed(f"{name}: {cause_of(error)}") from error

    def _failed(self, problem: str) -> DownloadError:
        todo = "check HF_ENDPOINT, the network and, for a dataset that is not public, HF_TOKEN"
        return DownloadError(f"the dataset {self.where} could not be fetched ({without_credentials(problem)}); {todo}")


def _blob_id(path: Path) -> str:
    """Return the name that git gives to a file."""
    digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: digest).hexdigest()
