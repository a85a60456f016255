"""The family of late-interaction systems, as the experiment sees it."""

from typing import Any

from beirflow.files.errors import ModelError
from beirflow.files.layout import QUERY_TOKEN_VECTORS, TOKEN_VECTORS
from beirflow.late.card import with_lengths
from beirflow.late.card_files import read_token_card
from beirflow.late.settings import LateSettings
from beirflow.models.model_files import model_digests, model_files
from beirflow.models.model_places import is_local, model_folder, model_problem
from beirflow.runs.family import TOKENS_PER_WORD, Family, Setting, Stage


def problem(settings: Any) -> Setting | None:
    """What keeps the model of a system from being used."""
    found = model_problem(settings)
    if found is None and is_local(settings):
        try:
            found = with_lengths(read_token_card(model_folder(settings)), settings).problem()
        except ModelError as error:
            found = str(error)
    return Setting("model", settings.model, found) if found else None


def matches(settings: LateSettings) -> str | None:
    """What finds the tokens of two texts that are most alike; nothing where a vector is that of several tokens."""
    return None if settings.pool_factor else "beirflow.late.matches:match_tokens"


DIMENSIONS = 128
"""Dimensions of token vectors, until a system has run."""


def stored_bytes(settings: LateSettings, documents: int, words: float) -> float:
    """Return the bytes of one float16 vector for each token, or for each group of pooled tokens."""
    tokens = words * TOKENS_PER_WORD
    kept = min(tokens, settings.document_length or tokens) / (settings.pool_factor or 1)
    return 2.0 * DIMENSIONS * kept * documents


FAMILY = Family(
    name="late-interaction",
    settings=LateSettings,
    problem=problem,
    model_files=model_files,
    has_model=True,
    model_digests=model_digests,
    scores_all=True,
    own_candidates=True,
    spot_checks="beirflow.late.spot_check:spot_checks",
    answers="beirflow.late.answers:open_answers",
    matches=matches,
    searched=lambda _: (TOKEN_VECTORS,),
    stored=(QUERY_TOKEN_VECTORS,),
    represents=Stage("encode_tokens", chunked=True, word=2e-4),
    searches=Stage("search_tokens", chunked=True, pair=3e-5),
    other_stages=(Stage("encode_query_tokens", query=2e-3),),
    stored_bytes=stored_bytes,
    assumed_size=f"token vectors of {DIMENSIONS} dimensions",
)
