"""The family of approximate systems, as the experiment sees it."""

from collections.abc import Mapping
from typing import Any

from beirflow.core import layout
from beirflow.families.approximate.settings import KINDS, ApproximateSettings
from beirflow.families.dense.settings import DenseSettings
from beirflow.families.family import Family, Reads
from beirflow.families.stage import DOCUMENTS, MODEL, TEXTS, First, Stage, Task, own, retrieval, run_settings, similarity
from beirflow.families.system import Setting, System

DIMENSIONS = 384  # assumed dimensions of vectors, which are not known before they are encoded

FLOAT_BYTES = 4.0

LINK_BYTES = 8.0  # bytes of a neighbour in the lowest layer of HNSW, which has twice ``m`` of four bytes

ID_BYTES = 8.0


def _built(task: Task) -> dict[str, Any]:
    """Return the settings of the index that a job builds, under its name."""
    base, index = task.wildcards["system"], task.wildcards["index"]
    systems = (each.settings for each in task.experiment.systems.values() if each.family == ApproximateFamily.name)
    built = next(settings.built for settings in systems if settings.in_paths == index)
    return {"name": index, "approximate": base, **built}


class ApproximateFamily(Family):
    """Indexes of faiss over the vectors of dense systems."""

    name = "approximate"
    settings = ApproximateSettings
    implied_by = "approximate"
    direct = True
    answers = "beirflow.families.approximate.answers:open_answers"
    representations = (layout.INDEX,)
    stages = (
        Stage(
            "build_index",
            "beirflow.families.approximate.build_index:build_index",
            "build the index {wildcards.index} of {wildcards.dataset} with the vectors of {wildcards.system}",
            reads=DOCUMENTS | MODEL | {"vectors": layout.CHUNK_VECTORS},
            makes={"index": layout.INDEX},
            params={"settings": _built, "similarity": similarity},
            env="encode",
            threads=lambda task: int(_built(task)["build_threads"]),
            represents=True,
        ),
        Stage(
            "search_approximate",
            "beirflow.families.approximate.search_approximate:search_approximate",
            "search {wildcards.dataset} with {wildcards.system}",
            reads={
                **TEXTS,
                "model": First(layout.MODEL),
                "query_vectors": First(layout.QUERY_VECTORS),
                "chunk_vectors": First(layout.CHUNK_VECTORS),
                "index": layout.INDEX,
                "exact_run": First(layout.RUN),
            },
            makes={"run": layout.RUN},
            params={
                "settings": own(),
                "similarity": lambda task: task.experiment.systems[task.own.approximate].settings.similarity,
                "retrieval": retrieval,
                "run_settings": run_settings,
            },
            env="encode",
            threads=None,
        ),
    )

    def extras(self, settings: ApproximateSettings) -> list[str]:
        """Return the extra of faiss."""
        return ["faiss"]

    def learns(self, settings: ApproximateSettings) -> bool:
        """Deny it: the vectors are those of another system."""
        return False

    def split_entry(self, name: str, entry: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
        """Return an entry for each value of its search setting, such as ``minilm-hnsw-ef-100``, if that is a list."""
        kind = KINDS[entry["index"]]
        values = entry.get(kind.searched or "")
        if not isinstance(values, list):
            return {name: entry}
        return {f"{name}-{kind.short}-{value}": {**entry, str(kind.searched): value} for value in values}

    def problem(self, settings: ApproximateSettings) -> Setting | None:
        """Return a setting that the index cannot have."""
        if settings.nprobe is not None and settings.nlist is not None and settings.nprobe > settings.nlist:
            return Setting("nprobe", settings.nprobe, f"the index has {settings.nlist} lists (nlist); visit at most these")
        return None

    def reads(self, settings: ApproximateSettings) -> Reads:
        """Return the dense system, whose exact run the found documents are compared with."""
        return Reads({"approximate": settings.approximate})

    def unreadable(self, settings: ApproximateSettings, other: System) -> str | None:
        """Return why no index can be built over the vectors of a system; None if one can."""
        if not isinstance(other.settings, DenseSettings):  # vectors from elsewhere have a similarity too
            dense = "similarity" in vars(other.settings)
            return None if dense else f"this is a system of the family {other.family}; name a dense one"
        if other.settings.variant_of:
            return f"this searches compressed vectors; name {other.settings.variant_of}, and let the index compress"
        return "this has a model for each dataset; name a dense system with one model" if other.settings.form else None

    def in_paths(self, settings: ApproximateSettings) -> dict[str, str]:
        """Return the dense system and the name of the index."""
        return {"system": settings.approximate, "index": settings.in_paths}

    def stored_bytes(self, settings: ApproximateSettings, documents: int, words: float) -> float:
        """Return the bytes of the index of a number of documents."""
        vector = FLOAT_BYTES * DIMENSIONS
        of_a_document = {
            "hnsw": vector + LINK_BYTES * (settings.m or 0),
            "ivf-flat": vector + ID_BYTES,
            "ivf-pq": (settings.m or 0) * (settings.bits or 0) / 8 + ID_BYTES,
            "sq": DIMENSIONS * (settings.bits or 0) / 8,
            "binary": DIMENSIONS / 8,
        }
        return of_a_document[settings.index] * documents + vector * (settings.nlist or 0)


FAMILY = ApproximateFamily()
