"""The settings of an approximate system and of the index that it searches, and the optional library that has such indexes."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from beirflow.core.errors import ConfigError


class Kind(NamedTuple):
    """The settings of a kind of index."""

    built: Mapping[str, str]  # settings that decide over the index, by their short names in the name of the index
    searched: str | None = None  # setting of the search that trades time for quality; None where there is none
    short: str = ""  # its short name in the names of systems


KINDS = {
    "hnsw": Kind({"m": "m", "ef_construction": "ef"}, "ef_search", "ef"),
    "ivf-flat": Kind({"nlist": "nlist"}, "nprobe", "nprobe"),
    "ivf-pq": Kind({"nlist": "nlist", "m": "m", "bits": "bits"}, "nprobe", "nprobe"),
    "sq": Kind({"bits": "bits"}, "rescore", "rescore"),
    "binary": Kind({}, "rescore", "rescore"),
}
"""Kinds of indexes by their names in the configuration."""

DEFAULT_BITS = 8  # bits of a code of product quantisation, or of a quantised dimension


@dataclass(frozen=True)
class IndexSettings:
    """The settings that decide over an index."""

    index: str  # "hnsw", "ivf-flat", "ivf-pq", "sq" or "binary"
    m: int | None = None  # neighbours of a node of "hnsw", or sub-vectors of "ivf-pq"
    ef_construction: int | None = None  # candidates for the neighbours of a node of "hnsw"
    nlist: int | None = None  # lists of "ivf-flat" and "ivf-pq"
    bits: int | None = None  # of the code of a sub-vector of "ivf-pq", or of a dimension of "sq"
    seed: int = 0  # of every random number
    build_threads: int = 1  # with more than one, the index may differ from one build to the next

    @property
    def name(self) -> str:
        """Name of the index in paths, with every setting, such as ``hnsw-m16-ef500-seed0``."""
        parts = [f"{short}{getattr(self, key)}" for key, short in KINDS[self.index].built.items()]
        threads = [f"threads{self.build_threads}"] if self.build_threads > 1 else []
        return "-".join([self.index, *parts, f"seed{self.seed}", *threads])

    @property
    def factory(self) -> str:
        """Description of the index for ``faiss.index_factory``, which makes all but ``binary``."""
        return {
            "hnsw": f"HNSW{self.m},Flat",
            "ivf-flat": f"IVF{self.nlist},Flat",
            # Without "np", faiss also orders the codes for a search by Hamming distances: 25 times the time of the training.
            "ivf-pq": f"IVF{self.nlist},PQ{self.m}x{self.bits}np",
            "sq": f"SQ{'fp16' if self.bits == 16 else self.bits}",
        }[self.index]


@dataclass(frozen=True)
class ApproximateSettings:
    """A dense system whose vectors are searched by an approximate index. The schema checks the allowed values.

    Other fields are those of :class:`IndexSettings`.
    """

    name: str
    approximate: str  # name of the dense system
    index: str
    m: int | None = None
    ef_construction: int | None = None
    ef_search: int | None = None  # candidates of a search of "hnsw"
    nlist: int | None = None
    nprobe: int | None = None  # lists that a search of "ivf-flat" or "ivf-pq" visits
    bits: int | None = None
    seed: int = 0
    build_threads: int = 1
    rescore: int = 1  # times the documents that are kept, the candidates that the index finds and exact scores rank

    def __post_init__(self) -> None:
        """Fill in the bits of the kinds that have some."""
        if self.bits is None and "bits" in KINDS[self.index].built:
            object.__setattr__(self, "bits", DEFAULT_BITS)

    @property
    def built(self) -> IndexSettings:
        """Settings that decide over the index."""
        return IndexSettings(**{field.name: getattr(self, field.name) for field in fields(IndexSettings)})


def faiss_library() -> Any:
    """Import faiss, an optional requirement. Raises ConfigError if it is not installed."""
    try:
        import faiss
    except ImportError as error:
        raise ConfigError(
            f"an approximate index is computed by faiss, which is not installed here ({error}); install it with:"
            " pip install 'beirflow[faiss]', or remove the approximate systems"
        ) from error
    return faiss
