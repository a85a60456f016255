"""The family of learned sparse systems: its rules, files and checks."""

from pathlib import Path

from beirflow.core import layout
from beirflow.core.digests import file_state
from beirflow.core.patterns import Pattern
from beirflow.families.expansions.models import model_problem as expansion_problem
from beirflow.families.family import Family
from beirflow.families.sparse.layouts import HEAD_SETTINGS, SPECIAL_TOKENS, read_parts
from beirflow.families.sparse.settings import USUAL_LENGTHS, SparseSettings
from beirflow.families.stage import DOCUMENTS, MODEL, QUERIES, Stage, Task, own, precision, searches
from beirflow.families.system import Setting
from beirflow.models.model_files import model_files
from beirflow.models.model_places import model_problem, problem_with, towers

DOCUMENT_BYTES = 1500.0  # bytes of the weights of a document: some two hundred terms


def _files(task: Task) -> list[str]:
    """Return the files of the models of documents and queries."""
    return [str(path) for path in model_files(task.own)]


class SparseFamily(Family):
    """Systems that weigh the terms of a vocabulary."""

    name = "sparse"
    settings = SparseSettings
    has_expansion = True
    answers = "beirflow.families.sparse.answers:open_answers"
    representations = (layout.TERM_WEIGHTS,)
    stages = (
        Stage(
            "fetch_sparse_model",
            "beirflow.models.model_files:fetch_model",
            "resolve the model files of {wildcards.system}",
            reads={"files": _files},
            makes={"model": layout.MODEL},
            params={
                "settings": own(
                    *("pooling", "activation", "max_length", "query_max_length", "most_terms"),
                    *("query_prefix", "document_prefix", "quantize", "ties"),
                    *("expansion", "text_length", "expansion_length"),
                ),
                "model_states": lambda task: [*map(file_state, _files(task))],
                "configured": lambda _: None,
            },
            makers={"system": "beirflow.families.sparse.settings:SparseSettings()"},
            env="encode",
            downloads=True,
        ),
        Stage(
            "weigh_queries",
            "beirflow.families.sparse.weigh:weigh_queries",
            "weigh the queries of {wildcards.dataset} with {wildcards.system}",
            reads=QUERIES | MODEL,
            makes={"weights": layout.QUERY_WEIGHTS},
            params={
                "settings": own(
                    *("ties", "weights_sha256", "document_prefix"), *("expansion", "text_length", "expansion_length")
                ),
                "precision": precision,
            },
            gpu=True,
            priority=1,
        ),
        Stage(
            "weigh_chunk",
            "beirflow.families.sparse.weigh:weigh_chunk",
            "weigh chunk {wildcards.chunk} of {wildcards.dataset} with {wildcards.system}",
            reads=DOCUMENTS | MODEL | {"expansion": layout.EXPANSION},
            makes={"weights": layout.TERM_WEIGHTS},
            params={
                # Its name, and not where its model is.
                "expansion_state": lambda task: task.experiment.expansions.of_system(task.own.name),
                "settings": own("ties", "weights_sha256", "query_prefix", "query_max_length", "expansion"),
                "precision": precision,
            },
            gpu=True,
            represents=True,
        ),
        searches(
            "search_weights",
            "beirflow.families.sparse.search:search_weights",
            reads={
                **MODEL,
                "query_weights": layout.QUERY_WEIGHTS,
                "chunk_weights": layout.TERM_WEIGHTS,
                "expansion": layout.EXPANSION,
            },
            params={"settings": own()},
            env="encode",
        ),
    )

    def tolerance(self, settings: SparseSettings, precision: str) -> float:
        """Return the tolerance of the precision, and of quantized weights that of rounding to integers."""
        return super().tolerance(settings, precision) + (0.0 if settings.quantize == "none" else 2e-2)

    def problem(self, settings: SparseSettings) -> Setting | None:
        """Return why the system cannot run: contradictory settings or a missing model; None if it can."""
        if settings.head == "unicoil":
            for key, value in settings.explicit(*HEAD_SETTINGS).items():
                return Setting(key, value, "uniCOIL gives each token one weight and ignores this; remove the key")
        added = settings.expansion
        if added is None:
            for key, length in settings.explicit(*USUAL_LENGTHS).items():
                return Setting(key, length, "the documents have no expansion; remove the key, or name an expansion")
            return _problem_of_models(settings)
        if settings.head != "unicoil":
            todo = f"a model with head: {settings.head} adds terms itself; expected head: unicoil"
            return Setting("expansion", added.name, todo)
        longest = (settings.text_length or 0) + (settings.expansion_length or 0) + SPECIAL_TOKENS
        if settings.max_length is not None and longest > settings.max_length:
            todo = "lower text_length or expansion_length"
            lengths = f"text_length {settings.text_length}, expansion_length {settings.expansion_length}"
            needs = f"{lengths} and {SPECIAL_TOKENS} special tokens are {longest}"
            return Setting("max_length", settings.max_length, f"{needs}; {todo}, or raise it")
        if problem := expansion_problem(added):
            return Setting("expansion.model", added.model, problem)
        return _problem_of_models(settings)

    def given_files(self, settings: SparseSettings, dataset: str) -> dict[str, Path]:
        """Return the given file with additions to the documents of a corpus; none where a model writes them."""
        path = settings.expansion and settings.expansion.file(dataset)
        return {"expansion.path": path} if path else {}

    def model_files(self, settings: SparseSettings) -> list[Path]:
        """Return the files of the models of documents and queries."""
        return model_files(settings)

    def model_record(self, settings: SparseSettings) -> Pattern:
        """Return the path of the record of the models."""
        return layout.MODEL

    def stored_bytes(self, settings: SparseSettings, documents: int, words: float) -> float:
        """Return the bytes of the weights of documents."""
        return DOCUMENT_BYTES * documents

    def matches(self, settings: SparseSettings) -> str | None:
        """Return the function for the terms that two texts share; None with generated queries, or without a tokenizer here."""
        return None if settings.expansion or settings.encoder else "beirflow.families.sparse.matches:match_terms"


def _problem_of_models(settings: SparseSettings) -> Setting | None:
    """Return why the models of a system cannot be used, judged by the disk alone; None if they can."""
    if settings.query_model is not None and (settings.queries == "tokens" or settings.head == "sparta"):
        todo = "the tokens of queries weigh 1, so no model reads them; remove the key"
        return Setting("query_model", settings.query_model, todo)
    if problem := problem_with(settings, lambda: read_parts(settings)):
        of_queries = settings.query_model and model_problem(settings) and not model_problem(towers(settings)[0])
        own = "encoder" if settings.encoder else "model"
        key, value = ("query_model", settings.query_model) if of_queries else (own, settings.source)
        return Setting(key, value, problem.removeprefix(f"system {settings.name}: "))
    return None


FAMILY = SparseFamily()
