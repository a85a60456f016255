"""Check of the stored vectors of a dense system: sampled texts are encoded again by the model, in other batches."""

from typing import Any, ClassVar

import numpy as np

from beirflow.core.layout import CHUNK_VECTORS, QUERY_VECTORS
from beirflow.data.sources.query_lists import texts_of
from beirflow.families.dense.run_check import DenseRunCheck
from beirflow.families.form import form_in
from beirflow.families.spot_checks.representation_check import RepresentationCheck, TextSample
from beirflow.families.spot_checks.spot_check import MODEL_PLACE, Finding, NotHereError, SpotCheck, Subject, compare_distances
from beirflow.models.encoders.load import load_encoder
from beirflow.models.encoders.query_lists import windows_of
from beirflow.models.model_places import next_to_record
from beirflow.models.settings import EncoderSettings

TOLERANCE = {"float32": 1e-4, "float16": 1e-2, "bfloat16": 5e-2, "int8": 2e-1, "unknown": 5e-2}
"""Largest length of the difference of two vectors over that of the stored one, by precision.

Wider than what was measured, because devices and larger models differ more: all-MiniLM-L6-v2 on a CPU, in other batches, at
most 8e-7 in float32, 7e-4 in float16, 5e-3 in bfloat16; against the vectors in float32, 2e-3 and 1.2e-2. paraphrase-MiniLM-L3-v2,
quantised to int8 with scales that depend on the batch: at most 1.1e-1."""


ENCODER_PLACE = (*MODEL_PLACE, "query_model", "query_revision", "encoder", "arguments")
"""Settings of the encoder that are those of the person who audits."""


def spot_checks(subject: Subject, sample: int, random: np.random.Generator) -> list[SpotCheck]:
    """Plan the checks of a dense system on one corpus; before them those of what its encoder was made from."""
    settings = subject.system.settings.for_dataset(subject.row or subject.dataset, subject.whole)
    of_form = form.checks(subject, sample, random) if (form := form_in(vars(settings))) else []
    return [*of_form, *VectorCheck(subject, settings, sample, random).checks()]


class VectorCheck(DenseRunCheck, RepresentationCheck[np.ndarray]):
    """The checks of the vectors of one system for one corpus."""

    made = "encoded", "vectors"
    of_queries, of_chunk = QUERY_VECTORS, CHUNK_VECTORS
    load = staticmethod(load_encoder)
    tolerance = TOLERANCE
    least_drift: ClassVar = {**dict.fromkeys(TOLERANCE, 1e-5), "float32": 2e-6}  # over the lengths of both vectors
    most_others = 2000  # a product of two vectors costs little

    @property
    def precision(self) -> str:
        """Precision in which the texts were encoded."""
        return self.subject.precision(TOLERANCE, own=self.settings.has_own_precision)

    @property
    def separator(self) -> str | None:
        """Separator of title and text."""
        return self.model_settings().between

    def stored_chunk(self, chunk: int, rows: np.ndarray) -> np.ndarray:
        """Read the vectors of some documents of a chunk."""
        return np.asarray(self._chunk(chunk)[rows])

    def join(self, parts: list[np.ndarray]) -> np.ndarray:
        """Join the vectors of several parts."""
        return np.concatenate(parts)

    def represent(self, sample: TextSample[np.ndarray]) -> np.ndarray:
        """Encode the texts again."""
        return np.concatenate([vectors for _, vectors in windows_of(self.model(sample.kind), sample.texts, sample.kind)])

    @property
    def model_precision(self) -> str:
        """Precision in which the encoder is asked to compute."""
        return "auto" if self.model_settings().has_own_precision else self.precision

    def batch_of(self, texts: TextSample[Any], row: int) -> np.ndarray:
        """Return the rows of the texts of a batch. Raises NotHereError if queries are lists, whose texts are other rows."""
        if texts.kind == "queries" and any(len(texts_of(each)) > 1 for each in texts.texts):
            raise NotHereError("queries that are lists of texts are not made again in the same batches")
        return np.asarray(self.model(texts.kind).batch_of(texts.texts, texts.kind, row))

    def compare(self, sample: TextSample[np.ndarray], again: np.ndarray) -> Finding:
        """Compare vectors one by one."""
        lengths = np.maximum(np.linalg.norm(sample.stored, axis=1), 1e-30)
        apart = np.linalg.norm(again - sample.stored, axis=1) / lengths
        problem = f"{self.subject.name}: {len(apart)} {sample.kind}"
        unit = " of a vector's length"
        return compare_distances(problem, apart, unit, TOLERANCE, self.precision, lambda worst: repr(sample.ids[worst]))

    def scores(self, queries: np.ndarray, documents: np.ndarray) -> np.ndarray:
        """Score documents for queries."""
        return np.asarray(self._searched(queries) @ self._searched(documents).T)

    def lengths(self, queries: np.ndarray, documents: np.ndarray) -> np.ndarray:
        """Return the products of the lengths of searched vectors."""
        return np.outer(*(np.linalg.norm(self._searched(each), axis=1) for each in (queries, documents)))

    def model_settings(self) -> EncoderSettings:
        """Return the settings of the model that was made for the dataset, which is in the results, or of the auditor's model."""
        if self.settings.form:
            return next_to_record(self.settings.used_encoding, self.subject.results / self.settings.model_record(**self.names))
        return self.subject.with_model_of_here(self.settings.encoding, ENCODER_PLACE)
