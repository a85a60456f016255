"""The family of late-interaction systems, as the experiment sees it."""

from pathlib import Path
from typing import Any, ClassVar

from beirflow.core import layout
from beirflow.families.family import TOKENS_PER_WORD, Family
from beirflow.families.late_interaction.card import system_card
from beirflow.families.late_interaction.settings import LateSettings
from beirflow.families.stage import DOCUMENTS, MODEL, QUERIES, Stage, precision, searches, settings_on
from beirflow.families.system import Setting
from beirflow.models.card import check_open
from beirflow.models.model_files import model_files
from beirflow.models.model_places import model_folder, problem_with

DIMENSIONS = 128  # dimensions of token vectors, until a system has run


class LateFamily(Family):
    """Systems with one vector for each token."""

    name = "late-interaction"
    settings = LateSettings
    by_dataset = True
    has_model = True
    own_candidates = True
    answers = "beirflow.families.late_interaction.answers:open_answers"
    representations = (layout.TOKEN_VECTORS,)
    stages = (
        Stage(
            "encode_query_tokens",
            "beirflow.families.late_interaction.encode:encode_query_tokens",
            "encode the tokens of the queries of {wildcards.dataset} with {wildcards.system}",
            reads=QUERIES | MODEL,
            makes={"vectors": layout.QUERY_TOKEN_VECTORS},
            params={"settings": settings_on("weights_sha256", "document_length", "pool_factor"), "precision": precision},
            gpu=True,
        ),
        Stage(
            "encode_tokens",
            "beirflow.families.late_interaction.encode:encode_tokens",
            "encode the tokens of chunk {wildcards.chunk} of {wildcards.dataset} with {wildcards.system}",
            reads=DOCUMENTS | MODEL,
            makes={"vectors": layout.TOKEN_VECTORS},
            params={"settings": settings_on("weights_sha256", "query_length"), "precision": precision},
            gpu=True,
            represents=True,
        ),
        searches(
            "search_tokens",
            "beirflow.families.late_interaction.search:search_tokens",
            reads=MODEL | {"query_vectors": layout.QUERY_TOKEN_VECTORS, "chunk_vectors": layout.TOKEN_VECTORS},
            params={},
            gpu=True,
        ),
    )

    # Of a text, some of whose many vectors are short before they are normalised.
    within: ClassVar = {**Family.within, "bfloat16": 2e-1}

    def tolerance(self, settings: LateSettings, precision: str) -> float:
        """Return the same, and room for other vectors that become one, where two are as near as two others."""
        return super().tolerance(settings, precision) + (0.2 if settings.pool_factor else 0.0)

    def problem(self, settings: LateSettings) -> Setting | None:
        """Return why the model of a system cannot be used."""

        def read() -> None:
            """Read the card; ModelError if it leaves a setting open."""
            check_open(system_card(model_folder(settings), settings).open)

        problem = problem_with(settings, read)
        return Setting("encoder" if settings.encoder else "model", settings.source, problem) if problem else None

    def scorer(self, settings: LateSettings) -> dict[str, Any]:
        """Return the settings of a reranker with this model."""
        return {"late": settings}

    def model_files(self, settings: LateSettings) -> list[Path]:
        """Return the files of the model."""
        return model_files(settings)

    def stored_bytes(self, settings: LateSettings, documents: int, words: float) -> float:
        """Return the bytes of one float16 vector for each token, or for each group of pooled tokens."""
        tokens = words * TOKENS_PER_WORD
        kept = min(tokens, settings.document_length or tokens) / (settings.pool_factor or 1)
        return 2.0 * DIMENSIONS * kept * documents

    def matches(self, settings: LateSettings) -> str | None:
        """Return the function for the most similar tokens of two texts; None where vectors are pooled, or tokens unknown."""
        return None if settings.pool_factor or settings.encoder else "beirflow.families.late_interaction.matches:match_tokens"


FAMILY = LateFamily()
