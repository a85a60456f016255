"""The family of dense systems, as the experiment sees it."""

from collections.abc import Iterable
from dataclasses import asdict, make_dataclass
from pathlib import Path
from typing import Any

from beirflow.core import layout
from beirflow.core.extensions import forms
from beirflow.core.patterns import Pattern
from beirflow.families.dense.settings import DenseSettings, Formed, Variant
from beirflow.families.family import Family
from beirflow.families.form import Form, form_in
from beirflow.families.stage import (
    DOCUMENTS,
    MODEL,
    QUERIES,
    Question,
    Stage,
    Task,
    precision,
    searches,
    similarity,
)
from beirflow.families.system import Setting
from beirflow.models.model_files import model_card, model_files
from beirflow.models.model_places import problem_with
from beirflow.models.settings import INSTRUCTION

DIMENSIONS = 768  # dimensions of vectors, until a system has run

STEPS = {"int8": 2e-2, "binary": 2e-1}
"""By type of compressed vectors, how far scores may be apart where a value falls between two of them, over the largest score."""


def _encoding(*unused: str) -> Question:
    """Ask for the settings that determine vectors; of two kinds of text, ``unused`` are those of the other."""
    unused = ("weights_sha256", *unused)
    return lambda task: {key: value for key, value in asdict(task.settings.used_encoding).items() if key not in unused}


def _of_int8(pattern: Pattern) -> Question:
    """Ask for files of variants that store eight bits a dimension."""
    return lambda task: task.files(pattern) if task.own.vectors == "int8" else []


def _shared_texts(task: Task) -> list[str]:
    """Return the file with the places of the texts that another dataset has too."""
    return task.files(layout.SHARED) if task.files_with_shared_texts(layout.DOCUMENTS) else []


class DenseFamily(Family):
    """Systems with one vector for each text."""

    name = "dense"
    settings = DenseSettings
    implied_by = "variant_of"
    by_dataset = has_card = has_expansion = True
    has_model = True
    own_candidates = True
    answers = "beirflow.families.dense.answers:open_answers"
    stages = (
        Stage(
            "encode_queries",
            "beirflow.families.dense.encode:encode_queries",
            "encode the queries of {wildcards.dataset} with {wildcards.system}",
            reads=QUERIES | MODEL,
            makes={"vectors": layout.QUERY_VECTORS},
            params={"settings": _encoding("document_prefix", "title_separator"), "precision": precision},
            priority=1,
            gpu=True,
        ),
        Stage(
            "encode_chunk",
            "beirflow.families.dense.encode:encode_chunk",
            "encode chunk {wildcards.chunk} of {wildcards.dataset} with {wildcards.system}",
            reads={
                **DOCUMENTS,
                **MODEL,
                "shared_texts": _shared_texts,
                "shared_vectors": lambda task: task.files_with_shared_texts(layout.CHUNK_VECTORS),
                "shared_records": lambda task: task.files_with_shared_texts(layout.CHUNK_VECTORS_RECORD),
            },
            makes={"vectors": layout.CHUNK_VECTORS},
            params={"settings": _encoding("query_prefix"), "precision": precision},
            represents=True,
            gpu=True,
        ),
        Stage(
            "find_ranges",
            "beirflow.families.dense.ranges:find_ranges",
            "compute the int8 quantization ranges of {wildcards.dataset} with {wildcards.system}",
            reads=DOCUMENTS | MODEL | {"chunk_vectors": layout.CHUNK_VECTORS},
            makes={"ranges": layout.RANGES},
            params={"similarity": similarity},
            makers={"dimensions": "beirflow.families.dense.ranges:dimensions_of()"},
            of_variants=True,
        ),
        searches(
            "search_chunk",
            "beirflow.families.dense.search:search_chunk",
            reads={
                **MODEL,
                "query_vectors": layout.QUERY_VECTORS,
                "chunk_vectors": layout.CHUNK_VECTORS,
                "ranges": _of_int8(layout.RANGES),
                "ranges_record": _of_int8(layout.RANGES_RECORD),
            },
            params={"similarity": similarity, "variant": lambda task: task.own.variant},
            gpu=True,
        ),
    )

    @property
    def entries(self) -> dict[str, type[Any]]:
        """Return the classes of the keys of variants, of systems with a form, and of others."""
        made = [(key, form.settings()) for key, form in forms().items()]
        formed = make_dataclass("Formed", made, bases=(Formed,), frozen=True)
        return {"variant_of": Variant, "base": formed, "": self.settings}

    def tolerance(self, settings: DenseSettings, precision: str) -> float:
        """Return the same, and the step of the values of compressed vectors."""
        return super().tolerance(settings, precision) + STEPS.get(settings.vectors, 0.0)

    def problem(self, settings: DenseSettings) -> Setting | None:
        """Return why the model of a system cannot be used, or made."""
        if (form := self.form(settings)) and (unmade := form.problem(settings)):
            return unmade
        problem = problem_with(settings, lambda: model_card(settings, settings.similarity))
        return Setting("encoder" if settings.encoder else "model", settings.source, problem) if problem else None

    def problems_on(self, settings: DenseSettings, datasets: Iterable[str]) -> list[Setting]:
        """Return the datasets whose queries need an instruction that is missing."""
        todo = "need an instruction: describe their purpose in the words of the model's card"
        needed = datasets if INSTRUCTION in (settings.query_prefix or "") else ()
        missing = [dataset for dataset in needed if dataset not in settings.instructions]
        return [Setting(f"instructions.{dataset}", None, f"queries of {dataset} {todo}") for dataset in missing]

    def reads_query_lists(self, settings: DenseSettings) -> bool:
        """Test whether a query may be a list of texts: its vector is their mean."""
        return True

    def compared(self, settings: DenseSettings) -> tuple[str, str] | None:
        """Return the name of the vectors, those of the encoder unless they are compressed, and the similarity, where stated."""
        vectors = f"{self.in_paths(settings)} {settings.vectors}"
        return (vectors, settings.similarity) if settings.similarity else None

    def scorer(self, settings: DenseSettings) -> dict[str, Any]:
        """Return the settings of a reranker with this model, which is the same for all datasets and compares all of a vector."""
        return {} if settings.variant_of or settings.form else {"dense": settings}

    def in_paths(self, settings: DenseSettings) -> dict[str, str]:
        """Return the encoder of a system, and the dimensions that are searched."""
        dimensions = str(settings.stored_dimensions or layout.ALL_DIMENSIONS)
        return {"system": settings.variant_of or settings.name, "dimensions": dimensions}

    def searched(self, settings: DenseSettings) -> tuple[Pattern, ...]:
        """Return the vectors of every chunk, and the ranges of the corpus."""
        return (layout.CHUNK_VECTORS, layout.CHUNK_VECTORS_RECORD, *((layout.RANGES,) if settings.vectors == "int8" else ()))

    def given_files(self, settings: DenseSettings, dataset: str) -> dict[str, Path]:
        """Return the files that an encoder is made from for a dataset."""
        return form.given_files(dataset) if (form := self.form(settings)) else {}

    def model_files(self, settings: DenseSettings) -> list[Path]:
        """Return the files of the encoder."""
        return model_files(settings)

    def model_record(self, settings: DenseSettings) -> Pattern:
        """Return the path of the record of the model, which may be made for each dataset."""
        return settings.model_record

    def form(self, settings: DenseSettings) -> Form | None:
        """Return the form in which the encoder is made for each dataset."""
        return form_in(vars(settings))

    def reuses(self, settings: DenseSettings) -> bool:
        """Test whether texts that are equal with a space after the title have the same vectors in two datasets."""
        return settings.form is None and settings.encoding.between is None

    def stored_bytes(self, settings: DenseSettings, documents: int, words: float) -> float:
        """Return the bytes of one float32 vector for each document."""
        return 4.0 * (settings.stored_dimensions or DIMENSIONS) * documents


FAMILY = DenseFamily()
