"""Do the records of representations match their files and their corpus?"""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from beirflow.audit.chain.chain import Chain
from beirflow.audit.chain.checks import RecordError
from beirflow.audit.chain.facts import Comparison, as_json
from beirflow.audit.chain.reading import part
from beirflow.audit.facts.expansions import added_by
from beirflow.audit.facts.first_stages import settings_of
from beirflow.files import layout
from beirflow.models.settings import ONNX

PATH = re.compile(
    r"[^/]+/(?P<owner>[^/]+)/(?P<dataset>[^/]+)/(?:(?:chunk|weights)-(?P<chunk>\d+)|(?P<queries>queries)|statistics)\.json"
)
"""Path of the record of a chunk or of the queries, in every family; the owner is a system, an analyzer or a model."""


def check_representation(facts: Comparison, path: str) -> None:
    """Compare a record of a representation with the files that it names."""
    record, found = facts.chain.record(path), PATH.fullmatch(path)
    sizes = [facts.chain.listing.files[name] for name in part(record, "outputs", kind=dict) if name in facts.chain.listing.files]
    if len(sizes) == len(record["outputs"]) and "bytes" in record:
        facts.same(path, "bytes", sum(record["bytes"].values()), sum(sizes), "the sizes of its files")
    for key in ("system", "analyzer", "expansion"):
        if key in record and found:
            facts.same(path, key, record[key], found["owner"], "its path")
    precision, wanted = record.get("made", {}).get("precision"), configured_precision(facts.chain, record.get("system", ""))
    if wanted and precision is not None:
        facts.same(path, "precision", precision, wanted, layout.MANIFEST, "made/precision")
        facts.chain.note(layout.MANIFEST, "configuration/precision", wanted, path)
    if found and "statistics" in record:
        _check_statistics(facts, path, record["statistics"], layout.CORPUS(dataset=found["dataset"]))
    if found and "rows" in record:
        facts.same(path, "rows", record["rows"], *_rows(facts, found))
    if found and found["chunk"] and "weighed" in record:
        _check_added(facts, path, record, found.groupdict())
    for name in record["outputs"]:
        if name in facts.chain.listing.files and any(
            pattern.names_in(name) for pattern in (layout.CHUNK_VECTORS, layout.QUERY_VECTORS)
        ):
            _check_array(facts, path, name, record)


def _check_added(facts: Comparison, path: str, record: Mapping[str, Any], names: Mapping[str, Any]) -> None:
    """Documents were weighed with what their system adds to them, and with nothing where it adds nothing."""
    system, patterns = part(record, "system", kind=str), (layout.EXPANSION, layout.EXPANSION_RECORD)
    if system not in facts.chain.manifest["systems"]:
        return
    added = added_by(facts.chain, system)
    expected = [each(expansion=added.name, dataset=names["dataset"], chunk=names["chunk"]) for each in patterns] if added else []
    said = [name for name in part(record, "inputs", kind=dict) if any(each.names_in(name) for each in patterns)]
    facts.same(path, "expansions among its inputs", sorted(said), sorted(expected), layout.MANIFEST)
    facts.same(path, "weighed / added", record["weighed"].get("added"), added.name if added else None, layout.MANIFEST)


def _check_statistics(facts: Comparison, path: str, statistics: Mapping[str, Any], corpus: str) -> None:
    """Statistics are of all documents; a sample says whether they are those of the postings."""
    documents = statistics["documents"]
    facts.same(path, "statistics / documents", documents, part(facts.chain.record(corpus), "counts", "documents"), corpus)


def check_what_is_added(facts: Comparison, path: str) -> None:
    """Compare the record of an expansion with the settings of the systems that add it."""
    record, names = facts.chain.record(path), layout.EXPANSION_RECORD.names_in(path) or {}
    for added in map(partial(added_by, facts.chain), facts.chain.manifest["systems"]):
        if added and added.name == names["expansion"]:
            facts.same(path, "kind", record.get("kind"), added.kind, layout.MANIFEST)
            if added.path is None:
                facts.same(path, "made_by", record.get("made_by"), as_json(added.made_by), layout.MANIFEST)


def check_model_of_expansion(facts: Comparison, path: str) -> None:
    """Compare the record of the model of an expansion with the settings of the systems that add it."""
    record, names = facts.chain.record(path), layout.EXPANSION_MODEL.names_in(path) or {}
    for added in map(partial(added_by, facts.chain), facts.chain.manifest["systems"]):
        if added and added.name == names["expansion"]:
            model = added.as_model()
            facts.same(path, "model", record.get("model"), model.model, layout.MANIFEST)
            facts.same(path, "revision", record.get("revision"), model.revision, layout.MANIFEST)


def configured_precision(chain: Chain, name: str) -> str | None:
    """Return the precision that the configuration asks of a system, or of the one whose vectors or runs it uses.

    None stands for what the machine, an ONNX graph or a class of the user's own decides.
    """
    configured = chain.manifest["configuration"]["precision"]
    return None if configured == "auto" or _has_own_precision(chain, name) else configured


def _has_own_precision(chain: Chain, name: str) -> bool:
    system = chain.manifest["systems"].get(name, {})
    settings, family = system.get("settings", {}), chain.setup.families.get(str(system.get("family")))
    reads = family.reads(settings_of(chain, name)).systems.values() if family else ()
    others = [settings.get("variant_of"), *reads]
    own = bool(settings.get("encoder")) or str(settings.get("weights", "")).endswith(ONNX)
    return own or any(_has_own_precision(chain, other) for other in others if other)


def _rows(facts: Comparison, found: "re.Match[str]") -> tuple[int, str]:
    """Return the number of rows of a representation of a chunk, or of queries, and its source."""
    if found["queries"]:
        corpus = layout.CORPUS(dataset=found["dataset"])
        return part(facts.chain.record(corpus), "counts", "queries"), f"{corpus} and {layout.QUERIES(dataset=found['dataset'])}"
    documents = layout.DOCUMENTS(dataset=found["dataset"])
    metadata = pq.read_metadata(facts.chain.file(documents))
    if int(found["chunk"]) >= metadata.num_row_groups:
        raise RecordError(f"is of chunk {found['chunk']}, but {documents} has {metadata.num_row_groups}")
    return metadata.row_group(int(found["chunk"])).num_rows, documents


def _check_array(facts: Comparison, path: str, name: str, record: dict[str, Any]) -> None:
    """An array has the rows and dimensions that its record says; only its header is read."""
    try:
        array = np.load(facts.chain.file(name), mmap_mode="r", allow_pickle=False)
        form = [list(array.shape), str(array.dtype)]
    except (ValueError, OSError, EOFError) as error:
        raise RecordError(f"is no array ({str(error)[:100]})", name) from error
    facts.chain.note(path, "dim", record.get("dim"), name)
    facts.same(name, "shape and type", form, [[record.get("rows"), record.get("dim")], "float32"], path)
