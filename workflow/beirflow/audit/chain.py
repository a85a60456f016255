"""The chain of digests: who names whom, from the manifest down to the models.

Paths are made from the names of systems and datasets, never taken from a file, so that nothing outside the folder is looked at.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from beirflow.audit.checks import UNREADABLE, Check, Number, RecordError, damaged
from beirflow.experiment.manifest import NAME as MANIFEST

SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
SHA256 = re.compile(r"[0-9a-f]{64}")
METRICS = re.compile(r"metrics/([^/]+)/([^/]+)\.json")
OTHER_VECTORS = re.compile(r"([^/]+)/(chunk-\d+\.npy)")


@dataclass(frozen=True)
class Claim:
    """What a record says about another file."""

    sha256: str
    by: str


@dataclass
class Chain:
    """Everything that the manifest leads to.

    Attributes:
        folder: The results.
        shown: How the folder is called in commands.
        manifest: The root.
        claims: By file, what records say of it.
        numbers: By file, the systems and datasets that depend on it.
        records: By path, the JSON files that could be read.
        evaluated: Systems and corpora that have a run, each with the row of the summary that it belongs to.
        problems: Records that cannot be read or lack something.
    """

    folder: Path
    shown: str
    manifest: Mapping[str, Any]
    claims: dict[str, list[Claim]] = field(default_factory=dict)
    numbers: dict[str, set[Number]] = field(default_factory=dict)
    records: dict[str, Any] = field(default_factory=dict)
    evaluated: dict[tuple[str, str], str] = field(default_factory=dict)
    problems: list[Check] = field(default_factory=list)

    @property
    def corpora(self) -> dict[str, Mapping[str, Any]]:
        """By name, the corpora that the manifest names: fields of :class:`~beirflow.experiment.catalogue.Dataset`."""
        return {corpus["name"]: corpus for corpora in part(self.manifest, "datasets", kind=dict).values() for corpus in corpora}

    def again(self, *paths: str, goal: str = "summary.csv") -> str:
        """The commands that make files again, and after them what is made from them."""
        names = [f"{self.shown}/{path}" for path in paths]
        goals = dict.fromkeys([*names, f"{self.shown}/{goal}"])
        return f"rm -f {' '.join(names)}; snakemake --cores 2 {' '.join(goals)}"

    def claim(self, path: str, sha256: Any, by: str, number: Number) -> None:
        """Note that the record ``by`` says the digest of ``path``."""
        if not isinstance(sha256, str) or not SHA256.fullmatch(sha256):
            raise RecordError(f"the sha256 of {path} is {sha256!r}")
        found = Claim(sha256, by)
        if found not in self.claims.setdefault(path, []):
            self.claims[path].append(found)
        self.numbers.setdefault(path, set()).add(number)

    def read(self, path: str, number: Number, *, optional: bool = False) -> Any:
        """A record, or None where it is missing or cannot be read; what is wrong with it is noted once."""
        if path not in self.records:
            try:
                self.records[path] = read_record(self.folder / path)
            except UNREADABLE as error:
                self.records[path] = None
                # A missing file is noted where digests are compared.
                if not isinstance(error, FileNotFoundError) and not optional:
                    self._note(path, error, number)
        return self.records[path]

    def _note(self, path: str, error: Exception, number: Number) -> None:
        numbers = self.numbers.get(path, set()) | {number}
        self.problems.append(damaged("records can be read", path, error, numbers, self.again(path)))

    def follow(self) -> None:
        """Walk from the manifest to every file that it leads to."""
        self.claim("summary.csv", part(self.manifest, "from_sha256", "summary.csv"), MANIFEST, ("all systems", "all datasets"))
        for path, digest in part(self.manifest, "from_sha256", "metrics", kind=dict).items():
            found = METRICS.fullmatch(path)
            if not found or not all(SAFE_NAME.fullmatch(name) for name in found.groups()):
                raise RecordError(f"names {path!r}, which is no file of metrics of these results")
            number = (found[1], found[2])
            self.claim(path, digest, MANIFEST, number)
            self._attempt(path, number, self._metrics(number, found[2]))

    def _attempt(self, path: str, number: Number, claims: Iterator[tuple[str, Any]]) -> None:
        """Note what a record says, until it turns out not to be what it should be."""
        try:
            for name, digest in claims:
                self.claim(name, digest, path, number)
        except (RecordError, *UNREADABLE) as error:
            self._note(path, error, number)

    def _metrics(self, number: Number, dataset: str) -> Iterator[tuple[str, Any]]:
        """What the metrics of a corpus, or of a dataset of forums, say."""
        system = number[0]
        record = self.read(f"metrics/{system}/{dataset}.json", number)
        if record is None:
            return
        origins = part(record, "from_sha256", kind=dict)
        if "sha256" not in record and dataset == number[1]:
            for forum, digest in origins.items():
                if forum == dataset:
                    raise RecordError("is named as a forum of itself")
                path = f"metrics/{system}/{_safe(forum)}.json"
                yield path, digest
                self._attempt(path, number, self._metrics(number, forum))
            return
        self.evaluated[system, dataset] = number[1]
        yield f"metrics/{system}/{dataset}.parquet", part(record, "sha256")
        yield f"runs/{system}/{dataset}.parquet", part(origins, "run")
        yield f"runs/{system}/{dataset}.json", part(origins, "run record")
        yield f"corpora/{dataset}/qrels.parquet", part(origins, "qrels.parquet")
        yield f"corpora/{dataset}/corpus.json", part(origins, "corpus.json")
        self._attempt(f"corpora/{dataset}/corpus.json", number, self._corpus(number, dataset))
        self._attempt(f"runs/{system}/{dataset}.json", number, self._run(number, dataset))

    def _corpus(self, number: Number, dataset: str) -> Iterator[tuple[str, Any]]:
        record = self.read(f"corpora/{dataset}/corpus.json", number)
        if record is not None:
            for name in ("documents.parquet", "queries.parquet", "qrels.parquet"):
                yield f"corpora/{dataset}/{name}", part(record, "sha256", name)

    def _run(self, number: Number, dataset: str) -> Iterator[tuple[str, Any]]:
        system = number[0]
        record = self.read(f"runs/{system}/{dataset}.json", number)
        if record is None:
            return
        origins, vectors = part(record, "from_sha256", kind=dict), f"embeddings/{system}/{dataset}"
        yield f"runs/{system}/{dataset}.parquet", part(record, "sha256")
        yield f"models/{system}.json", part(origins, "model")
        for name in ("queries.parquet", "documents.parquet"):
            yield f"corpora/{dataset}/{name}", part(origins, name)
        yield f"{vectors}/queries.npy", part(origins, "queries.npy")
        yield f"{vectors}/queries.json", part(origins, "queries.json")
        for kind, suffix in (("chunks", "npy"), ("chunk records", "json")):
            for chunk, digest in enumerate(part(origins, kind, kind=list)):
                yield f"{vectors}/chunk-{chunk}.{suffix}", digest
        self.read(f"models/{system}.json", number)
        for stem in ("queries", *(f"chunk-{chunk}" for chunk in range(len(origins["chunk records"])))):
            path = f"{vectors}/{stem}.json"
            self._attempt(path, number, self._vectors(number, dataset, stem))

    def _vectors(self, number: Number, dataset: str, stem: str) -> Iterator[tuple[str, Any]]:
        system = number[0]
        record = self.read(f"embeddings/{system}/{dataset}/{stem}.json", number)
        if record is None:
            return
        yield f"embeddings/{system}/{dataset}/{stem}.npy", part(record, "sha256")
        for name, digest in part(record, "from_sha256", kind=dict).items():
            if other := OTHER_VECTORS.fullmatch(name):
                yield f"embeddings/{system}/{_safe(other[1])}/{other[2]}", digest
            elif name == "model":
                yield f"models/{system}.json", digest
            elif name in ("documents.parquet", "queries.parquet", "shared.parquet"):
                yield f"corpora/{dataset}/{name}", digest
            else:
                raise RecordError(f"names {name!r}, which is not known here")


def read_record(path: Path) -> Any:
    """Read a JSON object.

    Args:
        path: The file.

    Returns:
        The object.

    Raises:
        ValueError: It is not JSON, or not an object.
    """
    record = json.loads(path.read_bytes())
    if not isinstance(record, dict):
        raise ValueError(f"a JSON object was expected, found {type(record).__name__}")
    return record


def part(record: Any, *keys: str, kind: type = object) -> Any:
    """What stands in a record below some keys.

    Args:
        record: The record.
        *keys: From the outside to the inside.
        kind: What it must be.

    Returns:
        The value.

    Raises:
        RecordError: Nothing stands there, or something of another kind.
    """
    for key in keys:
        if not isinstance(record, dict) or key not in record:
            raise RecordError(f"nothing stands under {' / '.join(keys)}")
        record = record[key]
    if not isinstance(record, kind):
        raise RecordError(f"{' / '.join(keys)} is {type(record).__name__}, expected {kind.__name__}")
    return record


def _safe(name: str) -> str:
    if not SAFE_NAME.fullmatch(name):
        raise RecordError(f"{name!r} is no name of a dataset")
    return name
