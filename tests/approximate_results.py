"""Results of approximate systems beside those of the dense systems of a folder, by the functions that the rules call."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from beirflow.approximate.build_index import build_index
from beirflow.approximate.search_approximate import Searched, search_approximate
from beirflow.experiment.experiment import Experiment
from beirflow.experiment.load import load_experiment
from beirflow.files import layout
from beirflow.files.records import Job
from beirflow.runs.run_file import NewRun
from results_maker import Config

HNSW = {"approximate": "second", "index": "hnsw", "m": 4, "ef_construction": 20, "ef_search": [6, 12]}
IVF_FLAT = {"approximate": "second", "index": "ivf-flat", "nlist": 4, "nprobe": 2}
IVF_PQ = {"approximate": "second", "index": "ivf-pq", "nlist": 3, "m": 8, "bits": 3, "nprobe": 2}
SQ = {"approximate": "second", "index": "sq", "bits": 4}
SIGNS = {"approximate": "second", "index": "binary", "rescore": 2}
KINDS = {"hnsw": HNSW, "flat": IVF_FLAT, "pq": IVF_PQ, "sq": SQ, "signs": SIGNS}


def with_systems(config: Config, own: Mapping[str, Mapping[str, Any]], **changes: Any) -> Config:
    """A configuration with more systems."""
    custom = config["custom"]
    systems = {"systems": [*config["systems"], *own], "custom": {**custom, "systems": {**custom["systems"], **own}}}
    return {**config, **systems, **changes}


def make_approximate(results: Path, config: Config, system: str, dataset: str = "small", threads: int = 1) -> Experiment:
    """Build the index of a system, unless it is there, and search it."""
    experiment = load_experiment(config)
    settings = experiment.systems[system].settings
    (dense,) = experiment.first_stages(system)
    names = {"system": dense, "dataset": dataset, "index": settings.built.name}

    def path(pattern: layout.Pattern, **others: Any) -> str:
        return str(results / pattern(**{**names, **others}))

    vectors = [path(layout.CHUNK_VECTORS, chunk=chunk) for chunk in range(experiment.chunks(dataset))]
    similarity = experiment.settings(dense)["similarity"]
    if not Path(path(layout.INDEX)).is_file():
        build_index(
            system=dense,
            settings=settings.built,
            similarity=similarity,
            documents_path=path(layout.DOCUMENTS),
            model_path=path(layout.MODEL),
            vectors_paths=vectors,
            index_path=path(layout.INDEX),
            job=Job(results, f"build_index/{dense}/{dataset}/{settings.built.name}", "b"),
        )
    retrieval, run_path = experiment.retrieval(dataset), path(layout.RUN, system=system)
    search_approximate(
        settings=settings,
        run=NewRun(system, dataset, retrieval["top_k"], run_path, str(layout.record_of(run_path))),
        drop_self_matches=retrieval["drop_self_matches"],
        similarity=similarity,
        paths=Searched(
            queries_path=path(layout.QUERIES),
            documents_path=path(layout.DOCUMENTS),
            model_path=path(layout.MODEL),
            query_vectors_path=path(layout.QUERY_VECTORS),
            chunk_vectors_paths=vectors,
            index_path=path(layout.INDEX),
            exact_run_path=path(layout.RUN),
        ),
        threads=threads,
        job=Job(results, f"search_approximate/{system}/{dataset}", "a"),
    )
    return experiment
