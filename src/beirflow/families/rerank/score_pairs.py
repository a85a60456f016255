"""Score the pairs of a block of queries, reusing stored scores."""

import time
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.core.artifact import Made, step
from beirflow.core.errors import DataError
from beirflow.core.records import Job
from beirflow.data.corpus_files import Documents, Queries
from beirflow.data.document_text import as_read
from beirflow.data.own_candidates import own_candidates
from beirflow.families.first_stages import FirstRun
from beirflow.families.rerank.pairs import SCORER_CODE, Pairs, kept_scores, pairs_of_block
from beirflow.families.rerank.scorers.load import load_scorer
from beirflow.families.rerank.settings import RerankSettings
from beirflow.models.computing.made import made_with
from beirflow.models.computing.model_settings import Computing, checked_meanwhile
from beirflow.models.model_files import check_model
from beirflow.models.model_record import ModelRecord
from beirflow.models.settings import ModelSettings
from beirflow.run.devices import choose_device, choose_precision

BATCH_DOCUMENTS = 8192  # documents that are read at once

COLUMNS = ["doc_id", "text", "title_bytes"]

OF_THE_MODEL = {"instructions", "tasks", *(field.name for field in fields(ModelSettings))}
"""Settings that locate a model, whose digests identify it better; and tables of which a dataset has one entry."""


Scoring: TypeAlias = Computing[RerankSettings]  # settings of a job that scores pairs


@dataclass(frozen=True)
class Block:
    """A block of the queries of a dataset."""

    block: int  # its number
    blocks: int  # their number
    output_path: str  # where an earlier job may have left scores
    scorer_code: str | None = None  # digest of the code that is imported by name to score pairs


@step(Pairs, stage="rerank")
def score_pairs(
    queries: Queries, documents: Documents, first_run: FirstRun, model: ModelRecord, scoring: Scoring, of: Block, job: Job
) -> Made:
    """Score the first documents of each query of a block; keep earlier scores if texts, model, precision and code are the same.

    Raises ModelError if the model cannot be loaded, or computes a value that is not finite; DeviceError if the GPU fails or has
    too little memory; DataError if queries have candidates of their own below the depth.
    """
    settings, run, query_table = scoring.settings, first_run.read(), queries.read()
    _check_depth(queries, run, settings)
    pairs = pairs_of_block(run, query_table["query_id"].combine_chunks(), settings.depth, of.block, of.blocks)
    scoring.use_threads()
    with scoring.gpu(saves_memory="lower max_length"):
        same, texts = _same(scoring), {**queries.named, **documents.named, **model.named}
        scores, made = kept_scores(of.output_path, pairs, {**same, "code": job.code, SCORER_CODE: of.scorer_code, **texts})
        missing = np.isnan(scores)  # a model's score is always finite
        counts, seconds = {"pairs": len(scores), "pairs_reused": int((~missing).sum())}, {"load": 0.0, "rerank": 0.0}
        if missing.any():
            new = pairs.filter(pa.array(missing))
            scores[missing], made, more, seconds, computation = _score(scoring, new, query_table, documents.path)
            same |= {"computation": computation} if computation and missing.all() else {}
            made |= {SCORER_CODE: of.scorer_code} if of.scorer_code else {}
            counts |= more
    made = made or {"precision": same["precision"], **made_with(choose_device(scoring.device))}
    where = {"system": settings.name, "depth": settings.depth, "block": of.block, "blocks": of.blocks}
    return Made((pairs, scores), made=made, seconds=seconds, counts=counts, **same, **where)


def _same(scoring: Scoring) -> dict[str, Any]:
    """Return the settings that must be unchanged to reuse scores, for the record; besides the inputs and the code."""
    settings = scoring.settings
    chosen = "float32" if settings.encoder else scoring.precision
    precision = str(choose_precision(chosen, choose_device(scoring.device))).removeprefix("torch.")
    same = {"precision": precision, "max_length": settings.max_length, "purpose": settings.instruction}
    if settings.encoder_settings is None:
        return same
    own = asdict(settings.encoder_settings)
    return {**same, "scoring": {key: value for key, value in own.items() if key not in OF_THE_MODEL}}


def _check_depth(queries: Queries, run: pa.Table, settings: RerankSettings) -> None:
    """Check that all candidates are scored if queries have candidates of their own."""
    if own_candidates(queries.path)[0] is not None and (most := pc.max(run["rank"]).as_py()) > settings.depth:
        problem = f"a query has {most} candidates, all of which are scored, but depth is {settings.depth}"
        raise DataError(f"system {settings.name}: {problem}; set 'depth: {most}' or more")


def _score(
    scoring: Scoring, pairs: pa.Table, queries: pa.Table, documents_path: Path
) -> tuple[np.ndarray, dict[str, str], dict[str, int], dict[str, float], dict[str, Any]]:
    """Score some pairs, each two texts once; return scores, float32, ``made``, counts, seconds and ``computation``."""
    start = time.perf_counter()
    with checked_meanwhile(partial(check_model, scoring.settings, scoring.model_path)):
        model = load_scorer(scoring.settings, **scoring.on)
    loaded = time.perf_counter()
    of_queries = dict(zip(queries["query_id"].to_pylist(), queries["text"].to_pylist(), strict=True))
    of_documents = texts_of(documents_path, pairs["doc_id"].combine_chunks(), scoring.settings.separator)
    texts = [
        (of_queries[query], of_documents[document])
        for query, document in zip(pairs["query_id"].to_pylist(), pairs["doc_id"].to_pylist(), strict=True)
    ]
    # Different documents may have one text; equal pairs then tie whatever their batches.
    number = {pair: place for place, pair in enumerate(dict.fromkeys(texts))}
    scores = model.scores(list(number))[[number[pair] for pair in texts]]
    seconds = {"load": loaded - start, "rerank": time.perf_counter() - loaded}
    return scores, model.made(), model.counts(), seconds, model.computation()


def texts_of(documents_path: str | Path, doc_ids: pa.Array, separator: str | None) -> dict[str, str]:
    """Read the texts of some documents by id, a little of the corpus at a time; without a separator as they are stored."""
    wanted, text_of = pc.unique(doc_ids), dict[str, str]()
    with Documents(documents_path, piecewise=True) as file:
        for chunk in range(len(file.sizes)):
            for batch in file.batches(chunk, COLUMNS, BATCH_DOCUMENTS):
                here = pa.Table.from_batches([batch.filter(pc.is_in(batch["doc_id"], value_set=wanted))])
                chosen = as_read(here, separator)
                text_of |= zip(chosen["doc_id"].to_pylist(), chosen["text"].to_pylist(), strict=True)
    return text_of
