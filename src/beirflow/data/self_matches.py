"""Documents that have the id of a query: dropped as the query itself, or kept if ids are numbered independently."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.core.errors import DataError
from beirflow.core.losses import OWN_ID, of_all
from beirflow.data.corpus_reader import DOCUMENTS, read_batches
from beirflow.data.sources.hub_source import HubSource
from beirflow.data.sources.json_lines import short
from beirflow.data.sources.source import DatasetSource
from beirflow.data.unreachable import relevant_rows


@dataclass(frozen=True)
class SelfMatches:
    """The treatment of documents with the id of a query, which changes no file of the corpus."""

    drop: bool = True  # whether they are dropped
    # ``configuration`` or ``catalogue``; None for the default, which is right only where such a document is its own query
    stated_by: str | None = None
    dataset: str = ""  # the name under which a configuration states it


def check_self_matches(
    source: DatasetSource,
    where: str,
    policy: SelfMatches,
    is_other: bool,
    qrels: pa.Table,
    queries: pa.Table,
    lost: Mapping[str, np.ndarray],
) -> None:
    """Refuse to drop relevant documents of which only the number is that of the query, unless somebody stated it.

    The catalogue states it of the data that it knows; ``is_other`` is true where these are others.
    """
    if not policy.drop or OWN_ID not in lost or policy.stated_by == "configuration" or (policy.stated_by and not is_other):
        return
    own = qrels["doc_id"].take(pa.array(lost[OWN_ID]))
    own_queries = queries.filter(pc.is_in(queries["query_id"], value_set=own.combine_chunks()))
    text_of = dict(zip(own_queries["query_id"].to_pylist(), map(_plain, own_queries["text"].to_pylist()), strict=True))
    others: dict[str, str] = {}
    for batch in read_batches(source):
        rows = batch.documents.filter(pc.is_in(batch.documents["doc_id"], value_set=own.combine_chunks()))
        for doc_id, text, title_bytes in zip(*(rows[name].to_pylist() for name in DOCUMENTS.names), strict=True):
            title, rest = text.encode()[:title_bytes].decode(), text.encode()[title_bytes:].decode()
            if text_of[doc_id] not in map(_plain, (text, title, rest)):
                others[doc_id] = text
    if not others:
        return
    first = min(others, key=str.encode)
    problem = (
        f"{of_all(len(others), len(relevant_rows(qrels)))} relevant documents have the id of their query, but not its text"
        f" (first {first!r}): query {short(text_of[first])}, document {short(others[first])}"
    )
    if policy.stated_by:
        place = (
            "under custom.datasets for a dataset with a name of its own, since these are not the data that the catalogue knows"
        )
    else:
        with_path = "" if isinstance(source, HubSource) else f", next to 'path: {source.path}'"
        place = f"under custom.datasets.{policy.dataset}{with_path}"
    raise DataError(
        f"{where}: {problem}. By default, a document with the id of a query is taken for that query and dropped, so no system"
        f" could find these. Write {place}: 'drop_self_matches: false' to keep them, where queries and documents are numbered"
        " independently, or 'drop_self_matches: true' to drop them nevertheless"
    )


def _plain(text: str) -> str:
    """Return a text without what does not matter where a query is compared with the document of its id."""
    return " ".join(text.casefold().split())
