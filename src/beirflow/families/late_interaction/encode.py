"""Token vectors of the queries and of each chunk of documents."""

from collections.abc import Generator
from functools import partial
from typing import Any, TypeAlias

from beirflow.core.artifact import Made, step
from beirflow.data.corpus_files import Documents, Queries
from beirflow.data.document_text import Kind
from beirflow.families.late_interaction.encoder import encoder_of
from beirflow.families.late_interaction.settings import LateSettings
from beirflow.families.late_interaction.vectors import Segment, TokenVectorFile, in_segments
from beirflow.families.texts import Texts, represented
from beirflow.models.computing.model_settings import Computing, checked_meanwhile
from beirflow.models.model_files import check_model
from beirflow.models.model_record import ModelRecord

TokenEncoding: TypeAlias = Computing[LateSettings]
"""Settings of a job that encodes tokens; those of the system are for the dataset."""


@step(TokenVectorFile, stage="queries")
def encode_query_tokens(queries: Queries, model: ModelRecord, encoding: TokenEncoding) -> Made:
    """Encode the tokens of the queries of a dataset.

    Raises ModelError if the model cannot be loaded, or computes a value that is not finite; DeviceError if the GPU fails or has
    too little memory; DataError if the model is not the one that was recorded.
    """
    return _encode(Texts.of("queries", queries.read(["query_id", "text"])), encoding)


@step(TokenVectorFile, stage="index")
def encode_tokens(documents: Documents, model: ModelRecord, chunk: int, encoding: TokenEncoding) -> Made:
    """Encode the tokens of the documents of one chunk, like :func:`encode_query_tokens`; write vectors while others compute."""
    return _encode(Texts.of("documents", documents.texts(chunk)), encoding)


def _encode(texts: Texts, encoding: TokenEncoding) -> Made:
    def encode(encoder: Any) -> Generator[Segment, None, dict[str, Any]]:
        """Yield segments of token vectors; return fields of the record."""
        tokens = dim = 0
        for segment in in_segments(encoder.windows(texts.different), texts.indices):
            count, dim = segment.texts.vectors.shape
            tokens += count
            yield segment
        return {"dim": dim, "encoder": encoder.described(), "counts": {f"vectors_of_{texts.kind}": tokens}}

    return represented(texts, encoding, partial(load_encoder, encoding, texts.kind), encode, saves_memory="document_length")


def load_encoder(encoding: TokenEncoding, kind: Kind) -> Any:
    """Load the encoder of one kind of text, while the digests of its files are compared.

    Raises ModelError if the model cannot be loaded.
    """
    with checked_meanwhile(partial(check_model, encoding.settings, encoding.model_path)):
        return encoder_of(encoding.settings, kind, **encoding.on)
