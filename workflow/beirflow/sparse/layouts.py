"""Read from a model folder how texts are weighed: plain folders, and those of sentence-transformers' SparseEncoder.

Settings of a folder that are not supported are refused, so that no system has other weights than its authors meant.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from beirflow.files.errors import ModelError
from beirflow.models.model_json import MODULES
from beirflow.models.model_layout import PATTERNS
from beirflow.sparse.parts import Part, Parts, check_model, weights_in
from beirflow.sparse.settings import USUAL_LENGTHS, SparseSettings
from beirflow.sparse.sparse_encoder import parts_of_sparse_encoder

SPARTA_TERMS = 2000


def read_parts(settings: SparseSettings, folder: Path, query_folder: Path | None) -> Parts:
    """Read the steps that weigh a system's texts.

    Args:
        settings: The system; what it says goes before what the folder says.
        folder: Of the model.
        query_folder: Of the queries' own model, or None.

    Returns:
        The parts.

    Raises:
        ModelError: The folder is not complete, or asks for something that is not understood.
    """
    try:
        documents, queries = _parts(settings, folder, settings.weights)
        if query_folder:
            queries = _parts(settings, query_folder, settings.query_weights).queries
        elif settings.queries == "tokens":
            kind = "counts" if settings.head == "sparta" else "tokens"
            queries = replace(documents, kind=kind, weights=(), most_terms=None, prefix=queries.prefix)
    except ModelError as error:
        raise ModelError(f"system {settings.name}: {error}") from error
    both = {key: value for key in ("pooling", "activation", "most_terms") if (value := getattr(settings, key)) is not None}
    lengths = settings.max_length, settings.query_max_length or settings.max_length
    prefixes = settings.document_prefix, settings.query_prefix
    documents, queries = (
        replace(
            part,
            **(both if part.kind in ("splade", "unicoil", "sparta") else {}),
            max_length=part.max_length if length is None else length,
            prefix=part.prefix if prefix is None else prefix,
        )
        for part, length, prefix in zip((documents, queries), lengths, prefixes, strict=True)
    )
    added = {key: getattr(settings, key) for key in USUAL_LENGTHS}
    return Parts(replace(documents, **added), queries)


def files_of(folder: Path, parts: Sequence[Part]) -> list[Path]:
    """The files below a folder that make a model what it is: descriptions, tokenizers and weights."""
    parts = [part for part in parts if part.folder.is_relative_to(folder)]
    described = {path for each in (folder, *(folder.glob("*/"))) for pattern in PATTERNS for path in each.glob(pattern)}
    used = {path for part in parts for pattern in PATTERNS for path in part.folder.glob(pattern)}
    return sorted(described | used | {path for part in parts for path in part.weights})


def _parts(settings: SparseSettings, folder: Path, weights: str) -> Parts:
    """The parts of one folder, without what the settings say."""
    if settings.head == "splade" and (folder / MODULES).is_file():
        return parts_of_sparse_encoder(settings, folder, weights)
    check_model(folder)
    most = SPARTA_TERMS if settings.head == "sparta" else None
    part = Part(settings.head, folder, weights_in(folder, weights), most_terms=most)
    queries = replace(part, kind="counts", weights=(), most_terms=None) if settings.head == "sparta" else part
    return Parts(part, queries)
