"""Check that every record names all that its file was made from, and has all keys of such a record and no others.

A fact that a record leaves out is compared with nothing: without its digest, a file could be replaced or removed. A key that no
writer knows is compared with nothing either, and could state anything.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from functools import cached_property
from typing import Any

from beirflow.audit.chain.chain import Chain
from beirflow.audit.chain.checks import Check
from beirflow.audit.chain.facts import Comparison
from beirflow.audit.chain.reading import part
from beirflow.audit.facts.stated import ADDED, StatedSystem, stated_system
from beirflow.config.manifest import TUNED_ON
from beirflow.core import layout
from beirflow.core.layout import record_of
from beirflow.core.patterns import Pattern
from beirflow.core.records import OF_EVERY_RECORD
from beirflow.data.catalogue.dataset import Dataset
from beirflow.data.corpus_files import FOOTER, OWN_CANDIDATES, RELEVANT_FROM
from beirflow.families.family import FIRST_STAGES, ITS_MODEL, Record
from beirflow.families.system import System

OF_ALL = (layout.CORPUS, layout.RUN_RECORD, layout.METRICS)  # records that are the same whatever made a run
EXPANDED = ("seconds", "bytes", "counts", "rows", "expansion", "kind")
OF_A_CORPUS = ("counts", "split", "chunks", "official", "characters", "source_sha256")
OF_SOME_CORPORA = (FOOTER, OWN_CANDIDATES, RELEVANT_FROM, "assumed", "part_of", "sample", "document_sample")
OF_A_RUN = ("made", "seconds", "counts", "system", "dataset", "top_k", "settings")
OF_SOME_RUNS = ("bytes", "jobs", "ties", "first_stages", "parts", "tuned", "below", "depth", "source_sha256", "reproducible")
OF_METRICS = ("seconds", "counts", "system", "dataset", "measures")
OF_A_MODEL = (
    *("query_model", "query_revision", "encoder", "arguments", "card"),
    *("made", "seconds", "bytes", "counts", "system"),
)

RECORDS = (
    Record(layout.CORPUS, (), (layout.DOCUMENTS, layout.QUERIES, layout.QRELS), OF_A_CORPUS, OF_SOME_CORPORA),
    Record(layout.MODEL, (), (), ("model", "revision", "files"), OF_A_MODEL),
    Record(layout.EXPANSION_MODEL, (), (), ("model", "revision", "files")),
    Record(
        layout.EXPANSION_RECORD,
        (layout.DOCUMENTS, layout.EXPANSION_MODEL),
        (layout.EXPANSION,),
        EXPANDED,
        ("made", "made_by", "expansion_source_sha256"),
    ),
    Record(layout.RUN_RECORD, (layout.DOCUMENTS, layout.QUERIES, FIRST_STAGES), (layout.RUN,), OF_A_RUN, OF_SOME_RUNS),
    Record(
        layout.METRICS,
        (layout.RUN, layout.RUN_RECORD, layout.QRELS, layout.CORPUS),
        (layout.PER_QUERY,),
        OF_METRICS,
        ("assumed", "forums", "official_data", "precisions", "split"),
    ),
)
"""Records that no family states."""

AVERAGE = Record(layout.METRICS, (), (), (*OF_METRICS, "split", "forums"), ("assumed", "official_data", "precisions"))
"""The record of the metrics of a dataset of forums."""

OF_THE_MANIFEST = (
    "configuration",
    "systems",
    "datasets",
    TUNED_ON,
    "published_sha256",
    "repository",
    "environment",
    "made_by",
    "written",
)


def check_made_from(chain: Chain) -> list[Check]:
    """Look for files that records should name, and for facts that they should state."""
    facts, expected = Comparison(chain, "records leave nothing out"), _Expected(chain)
    facts.each([path for path, record in chain.records.items() if record is not None], expected.compare)
    facts.each([layout.MANIFEST], _check_manifest)
    return facts.finished()


def _check_manifest(facts: Comparison, path: str) -> None:
    """Look for keys that no manifest has, in it and in what it says of systems and datasets."""
    manifest = facts.chain.manifest
    corpora = (corpus for key in ("datasets", TUNED_ON) for row in manifest.get(key, {}).values() for corpus in row)
    _name_further(facts, path, manifest, OF_THE_MANIFEST)
    for kind, entries in ((System, manifest["systems"].values()), (Dataset, corpora)):
        for entry in entries:
            _name_further(facts, f"{path}, {entry.get('name')}", entry, [field.name for field in fields(kind)])


def _name_further(facts: Comparison, path: str, record: Mapping[str, Any], known: Iterable[str]) -> None:
    """Name the keys that no such record has: nothing says whether they are true."""
    if further := sorted(record.keys() - {*OF_EVERY_RECORD, *known}):
        facts.not_compared(f"{path}: {', '.join(further)}, which beirflow does not write and nothing confirms")


def _has_jobs(owner: StatedSystem | None) -> bool:
    """Test whether runs of a system are made by several jobs, not read from a file."""
    return owner is not None and (not owner.family.direct or bool(owner.family.reads(owner.settings).systems))


class _Expected:
    """Expected inputs, outputs and keys of records."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self._owners: dict[str | None, list[StatedSystem]] = {}
        self._averages = {path for path, result in chain.means.items() if result not in chain.evaluated}

    def _owner_of(self, names: Mapping[str, str]) -> StatedSystem | None:
        """Return the system that something with these names in its path is of: before a variant of it, the system itself."""
        dataset = names.get("dataset") if names.get("dataset") in self.chain.corpora else None
        if dataset not in self._owners:
            systems = (stated_system(self.chain, name, dataset) for name in part(self.chain.manifest, "systems", kind=dict))
            self._owners[dataset] = [system for system in systems if system]
        found = [owner for owner in self._owners[dataset] if owner.stores(names)]
        return next((owner for owner in found if owner.name == names.get("system")), found[0] if found else None)

    @cached_property
    def records(self) -> list[Record]:
        """Records of all systems, and those that families state."""
        return [*RECORDS, *(record for family in self.chain.setup.families.values() for record in family.records)]

    def compare(self, facts: Comparison, path: str) -> None:
        """Look for what a record leaves out."""
        record = self.chain.record(path)
        kinds = [kind for kind in self.records if kind.pattern.names_in(path) is not None]
        kinds = [AVERAGE] if path in self._averages else kinds
        if kinds:
            _name_further(facts, path, record, [key for kind in kinds for key in (*kind.keys, *kind.optional)])
        for kind in kinds:
            names = kind.pattern.names_in(path) or {}
            owner = self._owner_of(names)
            if owner is None and kind.pattern not in OF_ALL:  # of a family that is not known here
                continue
            inputs = [each for pattern in kind.inputs for each in self._paths(pattern, names, owner)]
            if owner and kind.pattern == layout.RUN_RECORD:
                inputs += [*self._of_the_system(owner, names, record), *self._of_tuning(owner, record)]
            for key, expected in (("inputs", inputs), ("outputs", [pattern(**names) for pattern in kind.outputs])):
                lacks = sorted(set(expected) - part(record, key, kind=dict).keys())
                facts.same(path, f"{key}, which lack", lacks, [], "what such a file is made from and holds")
            needed = (*kind.keys, "job", *(["jobs"] if kind.pattern == layout.RUN_RECORD and _has_jobs(owner) else []))
            missing = [key for key in needed if key not in record]
            facts.same(path, "too little, which lacks", missing, [], "what such records say")

    def _paths(self, pattern: Pattern, names: Mapping[str, Any], owner: StatedSystem | None) -> Iterator[str]:
        """Yield the files of one kind that something is made from; those of all chunks, where it is not of one itself."""
        if pattern == ITS_MODEL:
            if owner and (of_model := owner.family.model_record(owner.settings)):
                yield of_model(**{**names, **owner.in_paths})
            return
        if pattern == FIRST_STAGES:
            yield from self._of_first_stages(owner, names["dataset"]) if owner else ()
            return
        if pattern in (*ADDED, layout.EXPANSION_MODEL):
            added = owner and owner.added
            if not added or (pattern == layout.EXPANSION_MODEL and added.path is not None):
                return
            names = {**names, "expansion": added.name}
        every = "{chunk}" in pattern and "chunk" not in names
        chunks = part(self.chain.record(layout.CORPUS(dataset=names["dataset"])), "chunks", kind=int) if every else 1
        for chunk in range(chunks):
            yield pattern(**({**names, "chunk": chunk} if every else names))

    @staticmethod
    def _of_first_stages(owner: StatedSystem, dataset: str) -> list[str]:
        """Return the runs that a system reads, with their records."""
        systems = owner.family.reads(owner.settings).systems.values()
        return [pattern(system=system, dataset=dataset) for system in systems for pattern in (layout.RUN, layout.RUN_RECORD)]

    def _of_tuning(self, owner: StatedSystem, record: Mapping[str, Any]) -> list[str]:
        """Return the files that settings were tuned with: queries and judgements of another corpus, and the runs on it."""
        if owner.family.tuned_on(owner.settings) is None:
            return []
        on = part(record, "tuned", "on", kind=str)
        return [
            *(pattern(dataset=on) for pattern in (layout.QUERIES, layout.QRELS, layout.CORPUS)),
            *self._of_first_stages(owner, on),
        ]

    def _of_the_system(self, owner: StatedSystem, names: Mapping[str, str], record: Mapping[str, Any]) -> Iterator[str]:
        """Yield the files of a family's own that a run is made from, each with its record and with what that names."""
        for pattern in (*owner.family.searched(owner.settings), *owner.family.stored):
            blocks = sum(pattern.names_in(name) is not None for name in part(record, "inputs", kind=dict))
            for block in range(max(1, blocks) if "{block}" in pattern else 1):
                for path in self._paths(pattern, {**names, **owner.in_paths, "block": block}, owner):
                    yield from (path, of_path := record_of(path).as_posix())
                    yield from (self.chain.records.get(of_path) or {}).get("inputs", ())
