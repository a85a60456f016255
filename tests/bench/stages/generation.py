"""A T5 writes queries for documents, ours beside the loop of beir."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench.child import report, timed_call

WORDS = 32_124
FACTOR, CONSTANT, CANDIDATES, SHIFT = 0.3, 20.0, 10, 1.0

BATCH = 32
"""Documents that beir takes at a time by default."""

STANDARD_ERRORS = 5.0
"""Difference allowed between the mean lengths."""


def inputs(folder: Path, documents: int) -> None:
    """Write a T5 of the small size with random weights, and documents as long as BEIR's, longest first, as in a chunk."""
    from bench.gpu.workload import token_counts

    folder.mkdir(parents=True)
    save_model(folder / "model")
    rng, lengths = np.random.default_rng(documents), token_counts(documents) - 2
    texts = [" ".join(f"w{number}" for number in rng.integers(0, WORDS, length)) for length in lengths.tolist()]
    (folder / "texts.json").write_text(json.dumps(texts))


def save_model(folder: Path) -> None:
    """Save a T5 of the small size with random weights, and a tokenizer whose words are w0, w1, …"""
    from transformers import T5ForConditionalGeneration

    from tiny_expanders import save_tiny_t5

    words = [f"w{number}" for number in range(WORDS)]
    sizes = {"d_model": 512, "d_kv": 64, "d_ff": 2048, "num_layers": 6, "num_heads": 8, "initializer_factor": FACTOR}
    save_tiny_t5(folder, words=words, positions=512, tie_word_embeddings=False, **sizes)
    model = T5ForConditionalGeneration.from_pretrained(folder).eval()
    with torch.no_grad():
        model.lm_head.weight.normal_(0, model.config.d_model**-0.5)
        end_with_the_first_coordinate(model)
    model.save_pretrained(folder)


def end_with_the_first_coordinate(model: Any) -> None:
    """Make the first coordinate of hidden states nearly constant, and let the logit of the end depend on it alone.

    The speed of a model depends on its sizes and on the tokens of its queries. So the token that ends a query has about the
    probability of one of the ten from which the next is drawn, in every place: queries have some nine tokens.
    """
    model.shared.weight[:, 0] = CONSTANT
    model.lm_head.weight[:, 0] = 0
    end = model.config.eos_token_id
    model.lm_head.weight[end] = 0
    tokens = torch.arange(4, 4 + 256).view(16, 16)
    hidden = model(input_ids=tokens, decoder_input_ids=tokens, output_hidden_states=True).decoder_hidden_states[-1]
    likely = model.lm_head(hidden).topk(CANDIDATES).values.mean()
    model.lm_head.weight[end, 0] = (likely + SHIFT) / hidden[:, :, 0].mean()


def ours(output: Path, source: Path, queries: int, longest: int, threads: int) -> None:
    """Write; the model is loaded before the time begins."""
    from beirflow.extensions.expansions.writer import QueryWriter
    from beirflow.families.expansions.settings import WrittenQueries

    torch.set_num_threads(threads)
    texts = json.loads((source / "texts.json").read_text())
    settings = WrittenQueries(str(source / "model"), queries=queries, query_length=longest)
    writer = QueryWriter(settings, source / "model", device="cpu", precision="float32", token_budget="auto")
    ids, written = [f"d{number}" for number in range(len(texts))], [[""]] * len(texts)
    with timed_call():
        for part in writer.parts(ids, texts):
            for row, value in zip(part.rows.tolist(), part.values, strict=True):
                written[row] = list(value)
    (output / "queries.json").write_text(json.dumps(written))


def peer_generate(output: Path, source: Path, queries: int, longest: int, threads: int) -> None:
    """Write with the loop that beir's QueryGenerator and QGenModel are, around ``generate`` of transformers.

    beir leaves out the attention mask, and transformers 5 does not put it in: its model would read padding. So the loop is
    written here, with the mask.
    """
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    texts = json.loads((source / "texts.json").read_text())
    tokenizer = AutoTokenizer.from_pretrained(source / "model")
    model = AutoModelForSeq2SeqLM.from_pretrained(source / "model").eval()
    drawn = {"do_sample": True, "top_k": 10, "top_p": 1.0, "max_length": longest, "num_return_sequences": queries}
    written: list[str] = []
    with timed_call(), torch.no_grad():
        for start in range(0, len(texts), BATCH):
            tokens = tokenizer(texts[start : start + BATCH], padding=True, truncation=True, return_tensors="pt")
            written += tokenizer.batch_decode(model.generate(**tokens, **drawn), skip_special_tokens=True)
    of_documents = [written[start : start + queries] for start in range(0, len(written), queries)]
    (output / "queries.json").write_text(json.dumps(of_documents))


def check(queries: int, *folders: Path) -> None:
    """Compare queries that were drawn independently: as many for each document, and on the whole as long."""
    sides = [json.loads((folder / "queries.json").read_text()) for folder in folders]
    if len({len(side) for side in sides}) != 1:
        sys.exit(f"the sides wrote for {' and '.join(str(len(side)) for side in sides)} documents")
    if any(len(of_document) > queries for side in sides for of_document in side):
        sys.exit(f"a document has more than {queries} queries")
    lengths = [np.array([len(query.split()) for of_document in side for query in of_document if query]) for side in sides]
    means, errors = [each.mean() for each in lengths], [each.std() / len(each) ** 0.5 for each in lengths]
    if not abs(means[0] - means[1]) <= STANDARD_ERRORS * float(np.hypot(*errors)):
        sys.exit(f"queries have {means[0]:.2f} and {means[1]:.2f} words on average")
    mine = f"{len(sides[0])} documents, {len(lengths[0]):,} queries of {means[0]:.1f} words on average"
    report(agree=f"{mine}; the peer's, drawn by other numbers, {len(lengths[1]):,} of {means[1]:.1f}")
