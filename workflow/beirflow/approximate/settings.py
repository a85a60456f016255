"""The settings of an approximate system, and of the index that it searches."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


class Kind(NamedTuple):
    """The settings of a kind of index.

    Attributes:
        built: Settings that decide over the index, by their short names in the name of the index.
        searched: The setting of the search that trades time for quality; None where there is none.
        short: Its short name in the names of systems.
    """

    built: Mapping[str, str]
    searched: str | None = None
    short: str = ""


KINDS = {
    "hnsw": Kind({"m": "m", "ef_construction": "ef"}, "ef_search", "ef"),
    "ivf-flat": Kind({"nlist": "nlist"}, "nprobe", "nprobe"),
    "ivf-pq": Kind({"nlist": "nlist", "m": "m", "bits": "bits"}, "nprobe", "nprobe"),
    "sq": Kind({"bits": "bits"}),
}
"""By name of the kind in the configuration."""

DEFAULT_BITS = 8
"""Bits of a code of product quantisation, or of a quantised dimension."""


@dataclass(frozen=True)
class IndexSettings:
    """The settings that decide over an index.

    Attributes:
        index: ``hnsw``, ``ivf-flat``, ``ivf-pq`` or ``sq``.
        m: Neighbours of a node of ``hnsw``, or sub-vectors of ``ivf-pq``.
        ef_construction: Candidates for the neighbours of a node of ``hnsw``.
        nlist: Lists of ``ivf-flat`` and ``ivf-pq``.
        bits: Bits of the code of a sub-vector of ``ivf-pq``, or of a dimension of ``sq``.
        seed: Seed of every random number.
        build_threads: Threads that build the index; with more than one, it may differ from one build to the next.
    """

    index: str
    m: int | None = None
    ef_construction: int | None = None
    nlist: int | None = None
    bits: int | None = None
    seed: int = 0
    build_threads: int = 1

    @property
    def name(self) -> str:
        """Name of the index in paths, with every setting, such as ``hnsw-m16-ef500-seed0``."""
        parts = [f"{short}{getattr(self, key)}" for key, short in KINDS[self.index].built.items()]
        threads = [f"threads{self.build_threads}"] if self.build_threads > 1 else []
        return "-".join([self.index, *parts, f"seed{self.seed}", *threads])

    @property
    def factory(self) -> str:
        """Description of the index for ``faiss.index_factory``."""
        of_a_dimension = "fp16" if self.bits == 16 else self.bits
        return {
            "hnsw": f"HNSW{self.m},Flat",
            "ivf-flat": f"IVF{self.nlist},Flat",
            # Without "np", faiss also orders the codes for a search by Hamming distances: 25 times the time of the training.
            "ivf-pq": f"IVF{self.nlist},PQ{self.m}x{self.bits}np",
            "sq": f"SQ{of_a_dimension}",
        }[self.index]


@dataclass(frozen=True)
class ApproximateSettings:
    """A dense system whose vectors are searched by an approximate index. The schema checks the allowed values.

    Attributes:
        name: Name of the system.
        approximate: Name of the dense system.
        index: As in :class:`IndexSettings`, like all that follow but two.
        m: See there.
        ef_construction: See there.
        ef_search: Candidates of a search of ``hnsw``.
        nlist: See there.
        nprobe: Lists that a search of ``ivf-flat`` or ``ivf-pq`` visits.
        bits: See there.
        seed: See there.
        build_threads: See there.
    """

    name: str
    approximate: str
    index: str
    m: int | None = None
    ef_construction: int | None = None
    ef_search: int | None = None
    nlist: int | None = None
    nprobe: int | None = None
    bits: int | None = None
    seed: int = 0
    build_threads: int = 1

    def __post_init__(self) -> None:
        """Fill in the bits of the kinds that have some."""
        if self.bits is None and "bits" in KINDS[self.index].built:
            object.__setattr__(self, "bits", DEFAULT_BITS)

    @property
    def built(self) -> IndexSettings:
        """The settings that decide over the index."""
        return IndexSettings(self.index, self.m, self.ef_construction, self.nlist, self.bits, self.seed, self.build_threads)


def split_entry(name: str, entry: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Split an entry whose search setting is a list into one system for each value.

    Args:
        name: Name of the entry.
        entry: Its settings, which the schema has checked.

    Returns:
        The entries by name, such as ``minilm-hnsw-ef-100``; the entry itself where it has one value.
    """
    kind = KINDS[entry["index"]]
    values = entry.get(kind.searched or "")
    if not isinstance(values, list):
        return {name: entry}
    return {f"{name}-{kind.short}-{value}": {**entry, str(kind.searched): value} for value in values}
