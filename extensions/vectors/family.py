"""The family of given vectors: they are checked and copied in the order of the corpus, then the dense family searches them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from beirflow.core import layout
from beirflow.core.digests import file_state
from beirflow.core.patterns import Pattern
from beirflow.extensions.vectors.layout import (
    DOCUMENT_IDS,
    DOCUMENT_VECTORS,
    GIVEN_VECTORS,
    QUERY_IDS,
    QUERY_VECTORS,
)
from beirflow.extensions.vectors.settings import VectorsKeys, VectorsSettings
from beirflow.families.family import Family
from beirflow.families.stage import DOCUMENTS, MODEL, QUERIES, TEXTS, Question, Stage, Task, searches, similarity
from beirflow.families.system import System


def _files(task: Task) -> dict[str, Path]:
    """Return the files outside the results that hold the vectors of a dataset."""
    settings: VectorsSettings = task.own
    return settings.files(task.experiment.datasets[task.wildcards["dataset"]].whole_name)


def _given(name: str) -> Question:
    """Ask for one of these files."""
    return lambda task: [str(_files(task)[name])]


class VectorsFamily(Family):
    """Systems whose vectors somebody computed elsewhere."""

    name = "vectors"
    settings = VectorsSettings
    implied_by = "vectors"
    own_candidates = True
    within: ClassVar = {"unknown": 0.0}  # what is read again is the same
    representations = (layout.CHUNK_VECTORS,)
    stages = (
        Stage(
            "check_vectors",
            "beirflow.extensions.vectors.check_vectors:check_vectors",
            "check the vectors of {wildcards.system} for {wildcards.dataset}",
            reads={
                **TEXTS,
                "document_vectors": _given(DOCUMENT_VECTORS),
                "document_ids": _given(DOCUMENT_IDS),
                "query_vectors": _given(QUERY_VECTORS),
                "query_ids": _given(QUERY_IDS),
            },
            makes={"record": GIVEN_VECTORS},
            params={"states": lambda task: {name: file_state(path) for name, path in _files(task).items()}},
            outside=True,
        ),
        Stage(
            "take_query_vectors",
            "beirflow.extensions.vectors.take_vectors:take_query_vectors",
            "take the vectors of the queries of {wildcards.dataset} from {wildcards.system}",
            reads={**QUERIES, **MODEL, "vectors_in": _given(QUERY_VECTORS), "ids_in": _given(QUERY_IDS)},
            makes={"vectors": layout.QUERY_VECTORS},
            priority=1,
            outside=True,
        ),
        Stage(
            "take_chunk_vectors",
            "beirflow.extensions.vectors.take_vectors:take_chunk_vectors",
            "take the vectors of chunk {wildcards.chunk} of {wildcards.dataset} from {wildcards.system}",
            reads={**DOCUMENTS, **MODEL, "vectors_in": _given(DOCUMENT_VECTORS), "ids_in": _given(DOCUMENT_IDS)},
            makes={"vectors": layout.CHUNK_VECTORS},
            represents=True,
            outside=True,
        ),
        searches(
            "search_vectors",
            "beirflow.families.dense.search:search_chunk",
            reads={**MODEL, "query_vectors": layout.QUERY_VECTORS, "chunk_vectors": layout.CHUNK_VECTORS},
            params={"similarity": similarity},
            gpu=True,
        ),
    )

    @property
    def entries(self) -> dict[str, type[Any]]:
        """Return the class of the keys of its entries."""
        return {"": VectorsKeys}

    def system(self, name: str, entry: Mapping[str, Any]) -> System:
        """Make a system from its entry in a configuration, or from its settings in a manifest."""
        return super().system(name, {"path" if key == "vectors" else key: value for key, value in entry.items()})

    def reads_query_lists(self, settings: VectorsSettings) -> bool:
        """Test whether a query may be a list of texts: its text is not read."""
        return True

    def compared(self, settings: VectorsSettings) -> tuple[str, str]:
        """Return the name of the vectors, and the similarity."""
        return f"{self.in_paths(settings)} float32", settings.similarity

    def run_settings(self, settings: VectorsSettings, *about: Any) -> dict[str, Any]:
        """Return the settings that determine a run: no precision, since nothing is computed with a model."""
        return {key: value for key, value in super().run_settings(settings, *about).items() if key != "precision"}

    def given_files(self, settings: VectorsSettings, dataset: str) -> dict[str, Path]:
        """Return the first file of a dataset that is missing; one of them if all are there."""
        files = [*settings.files(dataset).values()]
        return {"vectors": next((path for path in files if not path.is_file()), files[0])}

    def model_record(self, settings: VectorsSettings) -> Pattern:
        """Return the path of the record of the vectors of a dataset, in place of that of a model."""
        return GIVEN_VECTORS


FAMILY = VectorsFamily()
