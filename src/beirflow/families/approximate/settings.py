"""The settings of an approximate system and of the index that it searches, and the optional library that has such indexes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from annotated_types import Interval

from beirflow.core.artifact import Artifact, Stream
from beirflow.core.errors import ConfigError
from beirflow.core.keys import HIDDEN, Keys, Name, Several, UpToMillion
from beirflow.core.layout import INDEX


class Kind(NamedTuple):
    """The settings of a kind of index."""

    built: Mapping[str, str]  # settings that determine the index, by their short names in the name of the index
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


OF_AN_INDEX = ("index", "m", "ef_construction", "nlist", "bits", "seed", "build_threads")
"""Settings that determine an index."""

_OF_ALL = ("approximate", "index")
_MAY = ("seed", "build_threads")


@dataclass(frozen=True)
class ApproximateSettings:
    """An index of faiss over the vectors of a dense system. A list of search settings makes a system of each."""

    name: Annotated[str, HIDDEN]
    approximate: Name
    """The dense system whose vectors are searched, one with vectors of its own."""
    index: Literal["hnsw", "ivf-flat", "ivf-pq", "sq", "binary"]
    """hnsw, a graph of neighbours; ivf-flat, lists of near vectors; ivf-pq, the same with product quantisation; sq, quantised
    dimensions, all of which are searched; binary, signs of the dimensions, all of which are searched."""
    m: Annotated[int, Interval(ge=2, le=2048)] | None = None
    """Of hnsw: neighbours of a document; of ivf-pq: parts of a vector, which divide its dimensions."""
    ef_construction: UpToMillion | None = None
    """Of hnsw: candidates when the graph is built."""
    ef_search: UpToMillion | None = None
    """Of hnsw: candidates of a search, which finds at most these; one number or several."""
    nlist: Annotated[int, Interval(ge=1, le=10_000_000)] | None = None
    """Of ivf-flat and ivf-pq: number of lists."""
    nprobe: UpToMillion | None = None
    """Of ivf-flat and ivf-pq: lists that a search visits; one number or several."""
    bits: Annotated[int, Interval(ge=1, le=16)] | None = None
    """Of ivf-pq: bits of the code of a part; of sq: bits of a dimension. 8 unless stated."""
    seed: Annotated[int, Interval(ge=0, le=2**31 - 1)] = 0
    """Of every random number."""
    build_threads: Annotated[int, Interval(ge=1, le=1024)] = 1
    """Threads that build the index. With more than one, it may differ from one build to the next, and its record says so."""
    rescore: UpToMillion = 1
    """Of ivf-pq, sq and binary: the index finds this many times the documents that are kept, and their exact scores decide. One
    number, or of sq and binary several."""

    without: ClassVar = ("trained_on",)
    kinds: ClassVar = {
        "index: hnsw": Keys((*_OF_ALL, "m", "ef_construction", "ef_search"), _MAY, types={"ef_search": Several}),
        "index: ivf-flat": Keys((*_OF_ALL, "nlist", "nprobe"), _MAY, types={"nprobe": Several}),
        "index: ivf-pq": Keys(
            (*_OF_ALL, "nlist", "m", "nprobe"),
            (*_MAY, "bits", "rescore"),
            types={"nprobe": Several, "bits": Annotated[int, Interval(ge=1, le=12)]},
        ),
        "index: sq": Keys(_OF_ALL, (*_MAY, "bits", "rescore"), types={"rescore": Several, "bits": Literal[4, 6, 8, 16]}),
        "index: binary": Keys(_OF_ALL, (*_MAY, "rescore"), types={"rescore": Several}),
        "index": Keys(_OF_ALL, types={"ef_search": Several, "nprobe": Several, "rescore": Several}),
    }

    def __post_init__(self) -> None:
        """Fill in the bits of the kinds that have some."""
        if self.bits is None and "bits" in KINDS[self.index].built:
            object.__setattr__(self, "bits", DEFAULT_BITS)

    @property
    def built(self) -> dict[str, Any]:
        """Settings that determine the index."""
        return {key: getattr(self, key) for key in OF_AN_INDEX}

    @property
    def in_paths(self) -> str:
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


class IndexFile(Artifact):
    """An index on disk, in faiss's own form."""

    pattern = INDEX

    @staticmethod
    def write(stream: Stream, data: tuple[Any, Callable[[int], None]]) -> None:
        """Write an index, and tell its size."""
        (index, tell), faiss, size = data, faiss_library(), 0

        def write(block: bytes) -> int:
            """Write a block and count its bytes."""
            nonlocal size
            size += len(block)
            return stream.write(block)

        faiss.write_index(index, faiss.PyCallbackIOWriter(write))
        tell(size)
