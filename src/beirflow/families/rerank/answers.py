"""A reranker that answers queries: its first stage answers, and the model scores the first documents."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from beirflow.core.layout import MODEL
from beirflow.data.corpus_files import Documents
from beirflow.data.document_text import as_read
from beirflow.families.answers import Opened, SearchRequest, as_hits, as_run
from beirflow.families.rerank.rerank_run import reranked
from beirflow.families.rerank.scorers.load import load_scorer
from beirflow.families.rerank.settings import RerankSettings
from beirflow.models.model_files import check_model
from beirflow.ranking.ranking import Hits

IN_MEMORY = 3.0  # memory of documents relative to disk, where they are compressed


def open_answers(request: SearchRequest) -> Opened:
    """Open a reranker with its first stage and the texts of all documents in memory.

    Raises NoAnswerError if its first stage cannot answer.
    """
    settings: RerankSettings = request.system.settings
    first = request.open(settings.first)
    check_model(settings, request.file(MODEL))  # the latency is that of the model of the run
    model = load_scorer(settings, **request.on)
    request.make_room([request.documents_path], IN_MEMORY)
    with Documents(request.documents_path) as file:
        table = file.read(range(len(file.sizes)), ["doc_id", "text", "title_bytes"])
    # In one piece: of several, all would be copied to take some.
    texts = as_read(table, settings.separator)["text"].combine_chunks()

    def answer(queries: Sequence[str]) -> Hits:
        """Rerank the hits of the first stage."""
        hits = first.answer(queries)
        run = as_run(hits, request.doc_ids)
        read = pc.less_equal(run["rank"], settings.depth)
        numbers, rows = (each[read.to_numpy()].tolist() for each in hits[:2])
        scores = model.scores(
            [(queries[n], text) for n, text in zip(numbers, texts.take(pa.array(rows, pa.int64())).to_pylist(), strict=True)]
        )
        pairs = run.filter(read).select(["query_id", "doc_id"]).append_column("score", pa.array(scores, pa.float32()))
        query_ids, doc_ids, found, _ = reranked(settings, run, pairs, request.documents_path, request.top_k)
        return as_hits(query_ids, doc_ids, found, [(run, hits)])

    where = {**{f"{what} of {settings.first}": place for what, place in first.where.items()}, "model": request.device}
    return Opened(answer, where, model.made())
