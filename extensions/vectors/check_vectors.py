"""Check the vectors of a dataset as a whole, before any is taken: shapes, ids, digests."""

import logging
from dataclasses import dataclass

import numpy as np

from beirflow.core.artifact import Made, step
from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.data.corpus_files import Documents, Queries
from beirflow.extensions.vectors.given import Place, open_vectors, rows_of
from beirflow.extensions.vectors.layout import FILES
from beirflow.ranking.searched import read_every_id

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class GivenFiles:
    """The files of a dataset."""

    document_vectors_path: str
    document_ids_path: str
    query_vectors_path: str
    query_ids_path: str


@step(None, stage="")  # the time that the vectors took is not known
def check_vectors(queries: Queries, documents: Documents, files: GivenFiles, system: str, states: dict[str, str | None]) -> Made:
    """Record the digests, the shapes and the types of the vectors of a dataset, whose texts must have one each.

    Vectors of other texts, such as queries of another split, are counted and not read. ``states`` start the job again where a
    file is another. Raises DataError for files that are no vectors, of which texts have none, or of different dimensions.
    """
    paths = vars(files).values()
    places = {"documents": Place(*[*paths][:2]), "queries": Place(*[*paths][2:])}
    ids = {"documents": read_every_id(str(documents.path))[0], "queries": queries.read(["query_id"])["query_id"].combine_chunks()}
    digests = dict(zip(FILES, map(file_digest, paths), strict=True))
    shapes, counts = {}, {}
    for kind, place in places.items():
        given = open_vectors(place)
        rows_of(place, given, ids[kind], kind)
        counts[f"vectors_of_other_{kind}"] = len(given.ids) - len(ids[kind])
        shapes[kind] = {"rows": len(given.ids), "dim": given.vectors.shape[1], "type": given.vectors.dtype.name}
    if len({shape["dim"] for shape in shapes.values()}) > 1:
        dims = " but ".join(f"{places[kind].vectors} has {shape['dim']} dimensions" for kind, shape in shapes.items())
        raise DataError(f"{dims}; vectors of queries and documents are compared, so both must be of one model")
    for kind, place in places.items():
        if other := counts[f"vectors_of_other_{kind}"]:
            logger.warning(
                "%s: %d vectors are of no text among the %s of %s", place.vectors, other, kind, documents.names["dataset"]
            )
    made = {"numpy": np.__version__}
    return Made(None, system=system, dataset=documents.names["dataset"], files=digests, vectors=shapes, counts=counts, made=made)
