"""Token vectors of the queries and of each chunk of documents."""

from functools import partial
from typing import Any, TypeAlias

from beirflow.core.errors import ModelError
from beirflow.core.records import Job
from beirflow.core.writing import DigestingWriter
from beirflow.data.corpus_files import sources_of
from beirflow.data.document_text import Kind
from beirflow.families.late_interaction.encoder import TokenEncoder
from beirflow.families.late_interaction.settings import LateSettings
from beirflow.families.late_interaction.vectors import SegmentWriter
from beirflow.families.represent import Texts, document_texts, query_texts, represent
from beirflow.models.computing.arrival import NotFiniteError
from beirflow.models.computing.model_settings import Computing, checked_meanwhile
from beirflow.models.model_files import check_model
from beirflow.models.model_places import model_folder

TokenEncoding: TypeAlias = Computing[LateSettings]
"""Settings of a job that encodes tokens; those of the system are for the dataset."""


def encode_query_tokens(*, queries_path: str, output_path: str, encoding: TokenEncoding, job: Job) -> None:
    """Encode the tokens of the queries of a dataset, each distinct text once.

    Raises ModelError if the model cannot be loaded, or computes a value that is not finite; DeviceError if the GPU fails or has
    too little memory; DataError if a file is not the one that was recorded.
    """
    _encode(query_texts(queries_path), output_path, encoding, job)


def encode_tokens(*, documents_path: str, chunk: int, output_path: str, encoding: TokenEncoding, job: Job) -> None:
    """Encode the tokens of the documents of one chunk, like :func:`encode_query_tokens`; write vectors while others compute."""
    _encode(document_texts(documents_path, chunk), output_path, encoding, job)


def _encode(texts: Texts, output_path: str, encoding: TokenEncoding, job: Job) -> None:
    encoding.use_threads()

    def compute(encoder: TokenEncoder, stream: DigestingWriter) -> dict[str, Any]:
        distinct, indices = texts.distinct()
        try:
            with SegmentWriter(stream, indices) as writer:
                for vectors in encoder.windows(distinct):
                    writer.add(vectors)
        except NotFiniteError as error:
            message = f"a vector of {texts.name_of(error.row)} holds infinity or not-a-number"
            raise ModelError(f"system {encoding.settings.name}: {message}; use precision float32, or look at its text") from error
        counts = {"tokens": encoder.tokens, f"truncated_{texts.kind}": encoder.truncated}
        return {
            "made": encoder.made(),
            "computation": encoder.computation(),
            "counts": {**counts, f"vectors_of_{texts.kind}": writer.tokens},
            "distinct_texts": len(distinct),
            "dim": writer.dim,
            "encoder": encoder.described(),
        }

    represent(
        texts,
        output_path,
        job,
        system=encoding.settings.name,
        inputs=sources_of(job, texts.source_path, encoding.model_path),
        gpu=encoding.gpu(saves_memory="lower token_budget or document_length"),
        load=partial(load_encoder, encoding, texts.kind),
        compute=compute,
    )


def load_encoder(encoding: TokenEncoding, kind: Kind) -> TokenEncoder:
    """Load the encoder of one kind of text, while the digests of its files are compared.

    Raises ModelError if the model cannot be loaded.
    """
    with checked_meanwhile(partial(check_model, encoding.settings, encoding.model_path)):
        return TokenEncoder(encoding.settings, model_folder(encoding.settings), kind, **encoding.on)
